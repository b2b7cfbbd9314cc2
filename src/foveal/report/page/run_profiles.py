"""Profiles of runs: scores, number, lengths and overlap of results, and those worth a look."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.analysis.gain_curves import cumulate_gains
from foveal.evaluation.evaluation import Evaluation, RunLike, Scores, score_aligned
from foveal.measures import Measure, parse_measure
from foveal.measures.alignment import Gold
from foveal.measures.xcg import Cumulated, Curves
from foveal.model import UNKNOWN, Run

__all__ = ["OVERLAP", "RunProfile", "profile_run"]

OVERLAP = ("ListOverlap", "MeanOverlap", "Redundancy")
"""The indicators of a profile, of the run as it is (``--overlap allow``)."""
_TOP = 10
"""Ranks whose results are shown even in documents that are not relevant."""
_BINS = 18
"""Bins of lengths, each twice as wide as the one before: up to 128 K characters and beyond."""


class RunProfile(NamedTuple):
    """The scores of one run, and what the page shows of its results."""

    scores: tuple[Scores, ...]
    returned: dict[str, Any]
    """Number and lengths of its results."""
    overlap: npt.NDArray[np.float64] | None
    """The indicators (topic, measure); None if the span of a result is unknown."""
    results: pl.DataFrame
    """Topic, doc, rank, start, end of results in relevant documents and at the top ranks."""
    curves: dict[str, Curves]
    """Cumulated gains by topic, if the page draws them."""


def profile_run(evaluation: Evaluation, run: RunLike, gains: Measure | None = None) -> RunProfile:
    """Read and align a run once: score it and keep what a page shows of it."""
    (aligned,) = evaluation.align(run)
    gold, unlimited = aligned.gold, aligned.unlimited
    judged = np.array([topic in gold.topic_at for topic in aligned.run.topics], dtype=bool)
    own = aligned.run.take(judged[aligned.run.topic])
    # Characters of each result, -1 where they are unknown.
    whole = own.length
    if whole is None:
        whole = np.append(gold.doc_length, UNKNOWN)[gold.docs.find(own.doc)]
    end = np.where((own.end < 0) & (own.start == 0), whole, own.end)
    lengths = np.where((end >= 0) & (own.start >= 0), end - own.start, -1)
    returned: dict[str, Any] = {
        "results": len(own),
        "topics": len(own.topics),
        "length": None,
        "histogram": None,
    }
    known = lengths[lengths >= 0]
    if len(known):
        quartiles = np.percentile(known, [0, 25, 50, 75, 100])
        returned["length"] = [round(float(value), 1) for value in (known.mean(), *quartiles)]
        bins = np.minimum(np.log2(np.maximum(known, 1)).astype(np.int64), _BINS - 1)
        returned["histogram"] = np.bincount(bins, minlength=_BINS).tolist()
    overlap = None
    if unlimited.placed.all():
        overlap = np.column_stack([parse_measure(name).score_topics(unlimited) for name in OVERLAP])
    return RunProfile(
        (score_aligned(aligned, evaluation.scored),),
        returned,
        overlap,
        _select_results(own, lengths, gold),
        cumulate_gains(aligned, gains) if isinstance(gains, Cumulated) else {},
    )


def _select_results(run: Run, lengths: npt.NDArray[np.int64], gold: Gold) -> pl.DataFrame:
    """Return the results in relevant documents, then the others at the top ranks."""
    judgements = gold.judgements
    topics = pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic)
    relevant = pl.DataFrame({"topic": topics, "doc": judgements.doc}).filter(
        pl.Series(judgements.relevant)
    )
    frame = pl.DataFrame(
        {
            "topic": pl.Series(run.topics, dtype=pl.String).gather(run.topic),
            "doc": run.doc,
            "rank": run.position,
            "start": np.where(lengths >= 0, run.start, -1),
            "end": np.where(lengths >= 0, run.start + lengths, -1),
        },
        schema_overrides=dict.fromkeys(("rank", "start", "end"), pl.Int64),
    )
    top = frame.filter(pl.col("rank") <= _TOP)
    found = frame.join(relevant, on=["topic", "doc"], how="semi")
    return pl.concat([found, top.join(relevant, on=["topic", "doc"], how="anti")])
