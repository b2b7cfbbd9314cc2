"""iP: interpolated precision at a level of recall, in characters (INEX 2007 and later)."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import numpy as np

from foveal.measures.alignment import Alignment, TopicView
from foveal.measures.base import Cutoff, Example, Measure, OverlapRule
from foveal.measures.interpolation import Floats, best_from, least, rank_reaching, reaches
from foveal.measures.reading import Readings, budget_parameter, read_of, unit_parameter
from foveal.spans import Ints

__all__ = ["InterpolatedPrecision", "best_precisions_within", "interpolated"]


def interpolated(
    run: Alignment, reached: Ints, *, union: bool, topics: slice = slice(None)
) -> Floats:
    """The best P[r] of each topic of the run from the ranks on that reach these numbers.

    `reached` and the result have a row for each of these topics of the run: relevant characters,
    and the precision of the best rank that has found as many, 0 where none has. All topics are
    searched through at once: over the whole run, what is found never falls either.
    """
    bounds = run.run.bounds
    low, high = bounds[:-1][topics, None], bounds[1:][topics, None]
    number = np.arange(len(bounds) - 1)[topics, None]
    total = run.found_before(union=union)
    at = np.searchsorted(total[1:], total[low] + reached)
    # Before each topic stand the zeros that close the topics before it.
    best: Floats = _best_precisions(run, union=union)[np.clip(at, low, high) + number]
    return best


def _best_precisions(run: Alignment, *, union: bool) -> Floats:
    """The best P[r] at each rank or later, topic by topic, each with a final 0."""

    def calculate() -> Floats:
        precision, bounds = run.precision(union=union), run.run.bounds.tolist()
        best = np.zeros(len(precision) + len(bounds) - 1)
        for i, (low, high) in enumerate(pairwise(bounds)):
            best[low + i : high + i + 1] = best_from(precision[low:high])
        return best

    return run.memo(("best precisions", union), calculate)


def best_precisions_within(topic: TopicView, level: Decimal | None, read: Readings) -> Floats:
    """The best precision at a level of recall or beyond, within each of several budgets.

    A reader looks back at the end of every result, and where the budget ends. `read` is one row.
    """
    found, size, whole = read
    at_end = np.where(reaches(found, topic.trel, level), found / np.maximum(size, 1), 0.0)
    first = rank_reaching(topic.found, topic.trel, level)
    best = np.maximum.accumulate(np.append(0.0, topic.precision[first:]))
    return np.maximum(at_end, best[np.maximum(whole - first, 0)])


class InterpolatedPrecision(Measure):
    """The best precision a reader meets at recall x or beyond, both in characters.

    ``iP@0.01`` was the official figure of the Focused task. It rewards precision early: the
    first percent of the relevant text decides. Within a budget, what comes after it is not seen,
    and a level of recall that is not reached by then counts 0.
    """

    name = "iP"
    section = "12"
    cutoff = Cutoff.RECALL
    curve = tuple(f"{j / 100:.2f}" for j in range(101))
    formula = (
        "iP[x] = max P[r] over ranks with R[r] >= x; P = sum rsize / sum size, R = sum rsize / Trel"
    )
    source = "INEX 2007 evaluation measures"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.5333, "iP@0.80")

    budget = budget_parameter()
    unit = unit_parameter()

    @property
    def overlap_rule(self) -> OverlapRule:
        return OverlapRule.ERROR

    def score_topic(self, topic: TopicView) -> float:
        if self.budget is not None:
            within = read_of(topic, int(self.budget), self.unit)
            read = Readings(*(np.array([value]) for value in within))
            return float(best_precisions_within(topic, self.at, read)[0])
        if topic.place is None:
            return 0.0
        return float(self._values(topic.alignment, union=topic.union)[topic.place])

    def of_run(self, run: Alignment, *, union: bool) -> Floats | None:
        return self._values(run, union=union) if self.budget is None else None

    def _values(self, run: Alignment, *, union: bool) -> Floats:
        """The scores of all topics of the run."""

        def calculate() -> Floats:
            judged = run.gold
            of_judged = judged.memo(
                ("least", self.at),
                lambda: np.array([least(int(total), self.at) for total in judged.trel]),
            )
            return interpolated(run, of_judged[run.judged_topic][:, None], union=union)[:, 0]

        return run.memo(("iP", self.at, union), calculate)
