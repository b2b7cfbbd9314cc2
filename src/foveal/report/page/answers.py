"""Which run is best, and is it sure: the answer by each measure, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foveal.analysis.comparison import Comparison, Pairs
from foveal.analysis.comparison import TestSettings as Settings
from foveal.analysis.score_matrix import round_noise as rounded
from foveal.errors import UsageError
from foveal.measures import parse_measure
from foveal.model import Results
from foveal.report.grids import Grid

__all__ = ["answer", "direction", "intervals", "rule"]

_TEST = "paired t-test, two-sided, Holm's correction over all pairs, alpha 0.05"


def direction(label: str) -> int:
    """1 where more is better, -1 where less is, 0 where neither is.

    >>> direction("AiP"), direction("T2Ieffort@3"), direction("num_ret")
    (1, -1, 0)
    """
    better = parse_measure(label).higher_is_better
    return 0 if better is None else 1 if better else -1


def rule() -> str:
    """What a significant difference is, in words."""
    return _TEST


def answer(results: Results, table: Grid, found: Comparison | None, label: str) -> dict[str, Any]:
    """A sentence on the best run by a measure, and whether it is sure: yes, no or unknown."""
    place = results.measures.index(label)
    values, sign = results.overall[:, place], direction(label)
    if not sign or np.isnan(values).all():
        return {"measure": label, "sure": "unknown", "text": f"{label} does not rank runs."}
    order = np.argsort(np.where(np.isnan(values), np.inf, -sign * values), kind="stable").tolist()

    def shown(i: int, more: str = "", cells: Sequence[str] | None = None) -> str:
        return (
            f"{results.runs[i]} ({table.rows[i][place + 1] if cells is None else cells[i]}{more})"
        )

    first = shown(order[0])
    topics = int(results.averaged[order[0], place])
    start = f"By {label}, over {topics} topic{'' if topics == 1 else 's'}, "
    if len(order) == 1:
        return {
            "measure": label,
            "sure": "unknown",
            "text": f"{start}{first} stands alone: there is no other run to compare it with.",
        }
    pairs = None if found is None else _pairs(found, label)
    if pairs is None:
        return {
            "measure": label,
            "sure": "unknown",
            "text": f"{start}{first} is best, before {shown(order[1])}; the difference could not "
            "be tested.",
        }
    ranked = pairs.order.tolist()
    adjusted = pairs.square(pairs.adjusted["t"], np.nan)[ranked[0]]
    alike = [i for i in ranked[1:] if not adjusted[i] < Settings().alpha]
    shared, cells = len(pairs.scores.topics), None
    if (results.averaged[:, place] != shared).any():
        # Each run's mean is of topics of its own there, and may order runs differently; the
        # sentence is about what was tested, and its numbers are those that were.
        start = f"By {label}, on the {shared} topics that all runs share, "
        cells = [f"{mean:.4f}" for mean in pairs.scores.means.tolist()]
    p = adjusted[ranked[1]]
    said = "; p < 0.0001" if p < 0.00005 else f"; p = {p:.4f}"
    best, second = shown(ranked[0], cells=cells), shown(ranked[1], said, cells)
    if ranked[1] not in alike:
        text = f"{start}{best} is best, and significantly better than the next, {second}."
        return {"measure": label, "sure": "yes", "text": text}
    others = len(alike) - 1
    more = "" if not others else f", nor from {others} other run{'s' if others > 1 else ''}"
    text = (
        f"{start}{best} is on top, but does not differ significantly from the next, {second}{more}."
    )
    return {"measure": label, "sure": "no", "text": text}


def _pairs(found: Comparison, label: str) -> Pairs | None:
    try:
        return found[label]
    except UsageError:  # not compared, which a warning says
        return None


def intervals(
    results: Results, found: Comparison | None, label: str
) -> tuple[list[str], list[list[float] | None], list[list[float | None]] | None]:
    """Letters and confidence interval of each run, and corrected p values of all pairs."""
    n = len(results.runs)
    pairs = None if found is None else _pairs(found, label)
    if found is None or pairs is None:
        return [""] * n, _alone(results, label), None
    letters = found.letters(label)
    square = pairs.square(pairs.adjusted["t"], np.nan).tolist()
    return (
        [letters[run] for run in results.runs],
        _limits(results, label),
        [[None if np.isnan(p) else p for p in row] for row in square],
    )


def _limits(results: Results, label: str) -> list[list[float] | None]:
    """Intervals of means by resampling topics, those that the mean of each run is of.

    Where all runs share their topics, these are the intervals of `compare`.
    """
    values = results.values[:, :, results.measures.index(label)]
    own = results.counted & ~np.isnan(values)
    found: list[list[float] | None] = [None] * len(values)
    for topics in np.unique(own, axis=0):
        if np.count_nonzero(topics) < 2:
            continue
        rows = np.flatnonzero((own == topics).all(axis=1))
        part = np.ascontiguousarray(values[np.ix_(rows, topics)])
        low, high = Settings().limits(rounded(part, np.abs(part).max(axis=1, keepdims=True)))
        for i, a, b in zip(rows.tolist(), low.tolist(), high.tolist(), strict=True):
            found[i] = [a, b]
    return found


def _alone(results: Results, label: str) -> list[list[float] | None]:
    """Intervals of runs that nothing was compared with."""
    if len(results.runs) == 1 and not np.isinf(results.values).any():
        return _limits(results, label)
    return [None] * len(results.runs)
