"""How much of a run's top nobody has judged: what every evaluation says of its runs.

Unjudged text counts as not relevant, so a run that returns much of it is scored too low. Where the
judgements list only what is relevant, everything else is unjudged by design, and a warning would
say nothing: then the figures are only kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import Alignment
from foveal.model import Judgements

__all__ = [
    "TOP",
    "UNJUDGED_COUNTS",
    "judged_share",
    "judged_shares",
    "lists_not_relevant",
    "unjudged_meta",
    "unjudged_warning",
]

TOP = 10
"""The ranks that are looked at."""

UNJUDGED_COUNTS = "unjudged results count as not relevant"
"""How the warning begins."""

_SHOWN = 5


def judged_share(alignment: Alignment, k: int = TOP) -> float:
    """Share of the first k results that are of judged documents, the mean over the run's topics.

    This is ``judged@k`` over the topics that are in the run. A judged topic without results, which
    the measure scores 0, says nothing about what is unjudged.

    >>> from foveal.measures.alignment import Gold
    >>> from foveal.model import Run
    >>> truth = Judgements.from_highlights({"1": {"D1": {"spans": [(0, 9)], "length": 9}}})
    >>> run = Run.from_results({"1": [("D1", 0, 5), ("D2", 0, 5)]})
    >>> judged_share(Alignment(run, Gold(truth)))
    0.5
    """
    shares = judged_shares(alignment, k)
    known = shares[~np.isnan(shares)]
    return float(known.mean()) if len(known) else float("nan")


def judged_shares(alignment: Alignment, k: int = TOP) -> npt.NDArray[np.float64]:
    """As `judged_share`, for each topic of the run; nan for one without results."""
    bounds = alignment.run.bounds
    sizes = np.minimum(np.diff(bounds), k)
    top = np.arange(min(k, int(sizes.max(initial=0))))
    rows = np.minimum(bounds[:-1, None] + top, len(alignment.row) - 1)
    seen = ((alignment.row[rows] >= 0) & (top < sizes[:, None])).sum(axis=1)
    shares: npt.NDArray[np.float64] = np.where(sizes > 0, seen, np.nan) / np.maximum(sizes, 1)
    return shares


def lists_not_relevant(judgements: Judgements) -> bool:
    """Whether most topics have a document that was judged not relevant.

    Then assessors looked at a pool, and what is not listed was not looked at.

    >>> listed = {"D1": {"spans": [(0, 9)], "length": 9}}
    >>> lists_not_relevant(Judgements.from_highlights({"1": listed}))
    False
    >>> lists_not_relevant(Judgements.from_highlights({"1": listed | {"D2": {"spans": []}}}))
    True
    """
    topics = len(np.unique(judgements.topic[~judgements.relevant]))
    return 2 * topics > len(judgements.topics)


def unjudged_warning(shares: Mapping[str, float], judgements: Judgements) -> str | None:
    """One line on all runs that return unjudged documents on top, the worst first; or none.

    >>> pooled = {"D1": {"spans": [(0, 9)], "length": 9}, "D2": {"spans": [], "length": 9}}
    >>> truth = Judgements.from_highlights({"1": pooled})
    >>> print(unjudged_warning({"a": 1.0, "b": 0.85, "c": 0.5}, truth))
    unjudged results count as not relevant; judged@10 on topics with results: c 0.50, b 0.85
    >>> unjudged_warning({"a": 1.0}, truth) is None
    True
    """
    low = sorted((share, run) for run, share in shares.items() if share < 1)
    if not low or not lists_not_relevant(judgements):
        return None
    shown = ", ".join(f"{run} {_below(share)}" for share, run in low[:_SHOWN])
    more = f" and {len(low) - _SHOWN} more runs" if len(low) > _SHOWN else ""
    return f"{UNJUDGED_COUNTS}; judged@{TOP} on topics with results: {shown}{more}"


def unjudged_meta(shares: Mapping[str, float]) -> dict[str, Any]:
    """What an evaluation keeps of all runs; None where a run has no result for a judged topic.

    The measure ``judged@10`` is over all judged topics, so the figures have another name.

    >>> unjudged_meta({"a": 0.5, "b": float("nan")})
    {'k': 10, 'judged': {'a': 0.5, 'b': None}}
    """
    judged = {run: None if math.isnan(share) else share for run, share in shares.items()}
    return {"k": TOP, "judged": judged}


def _below(share: float) -> str:
    """Two decimals, cut off: a share below 1 must not read 1.00.

    >>> _below(0.29), _below(0.999)
    ('0.29', '0.99')
    """
    return f"{math.floor(round(100 * share, 6)) / 100:.2f}"
