"""Interpolated precision: the best value at a level of recall or beyond, in whole numbers."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import numpy as np

from foveal.measures.alignment import Alignment, Bools, Floats, Gold, TopicView
from foveal.measures.base import Cutoff, Example, Measure, OverlapRule, Whole
from foveal.measures.reading import BUDGET, UNIT, Readings, readings
from foveal.spans import Ints

__all__ = [
    "AverageInterpolatedPrecision",
    "InterpolatedPrecision",
    "best_from",
    "best_precisions_within",
    "interpolate",
    "least",
    "levels",
    "rank_reaching",
    "ranks_reaching",
    "reaches",
]


def best_from(values: Floats) -> Floats:
    """Return the largest value at each rank or later, and a final 0 for levels never reached.

    >>> best_from(np.array([0.5, 0.25, 0.75])).tolist()
    [0.75, 0.75, 0.75, 0.0]
    """
    best = np.zeros(len(values) + 1)
    np.maximum.accumulate(values[::-1], out=best[:-1][::-1])
    return best


def least(total: int, level: Decimal | None) -> int:
    """Return the smallest whole number that is `level` of `total`.

    In whole numbers: as doubles, a recall of exactly .29 would fall short of itself.
    """
    numerator, denominator = (level or Decimal(0)).as_integer_ratio()
    return -(-numerator * total // denominator)


def reaches(found: Ints, total: int, level: Decimal | None) -> Bools:
    """Return which numbers are `level` of `total` or more.

    >>> reaches(np.array([28, 29]), 100, Decimal("0.29")).tolist()
    [False, True]
    """
    return found >= least(total, level)


def rank_reaching(found: Ints, total: int, level: Decimal | None) -> int:
    """Return the first rank (from 0) at which `found` is `level` of `total`."""
    return int(np.searchsorted(found, least(total, level)))


def levels(total: Ints, steps: int) -> Ints:
    """Return the smallest whole numbers that are 0, 1/steps, ..., 1 of each total.

    >>> levels(np.array([7, 8]), 4).tolist()
    [[0, 2, 4, 6, 7], [0, 2, 4, 6, 8]]
    """
    return -(-np.arange(steps + 1) * total[..., None] // steps)


def ranks_reaching(found: Ints, total: int, steps: int) -> Ints:
    """Return the ranks that reach 0, 1/steps, ..., 1 of `total`."""
    return np.searchsorted(found, levels(np.array(total), steps))


def interpolate(alignment: Alignment, reached: Ints, topics: slice = slice(None)) -> Floats:
    """Return the best P[r] of each topic of the run at or after the ranks that reach `reached`.

    `reached` and the result have a row for each of these topics of the run: numbers of relevant
    characters, and the precision of the best rank that has found as many, 0 where none has. All
    topics are searched at once: over the whole run, the number found never falls either.
    """
    bounds = alignment.run.bounds
    low, high = bounds[:-1][topics, None], bounds[1:][topics, None]
    number = np.arange(len(bounds) - 1)[topics, None]
    total = alignment.totals.found_before
    at = np.searchsorted(total[1:], total[low] + reached)
    # Each topic is preceded by the zeros that end the topics before it.
    best: Floats = alignment.cached(_find_best_precisions)[np.clip(at, low, high) + number]
    return best


def _find_best_precisions(alignment: Alignment) -> Floats:
    """Return the best P[r] at each rank or later, topic by topic, each with a final 0."""
    precision, bounds = alignment.totals.precision, alignment.run.bounds.tolist()
    best = np.zeros(len(precision) + len(bounds) - 1)
    for i, (low, high) in enumerate(pairwise(bounds)):
        best[low + i : high + i + 1] = best_from(precision[low:high])
    return best


def best_precisions_within(topic: TopicView, level: Decimal | None, read: Readings) -> Floats:
    """Return the best precision at a level of recall or beyond, within each of several budgets.

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

    budget = BUDGET
    unit = UNIT

    @property
    def overlap_rule(self) -> OverlapRule:
        return OverlapRule.ERROR

    def score_topics(self, alignment: Alignment) -> Floats:
        if self.budget is None:
            reached = alignment.gold.cached(_find_least, self.at)[alignment.judged_topic]
            return alignment.fill_topics(interpolate(alignment, reached[:, None])[:, 0])
        read = readings(alignment, np.array([int(self.budget)]), self.unit)
        values = np.zeros(len(alignment.run.topics))
        for i, name in enumerate(alignment.run.topics):
            own = Readings(*(column[i] for column in read))
            values[i] = best_precisions_within(alignment.topic(name), self.at, own)[0]
        return alignment.fill_topics(values)


def _find_least(gold: Gold, level: Decimal) -> Ints:
    """Return the fewest characters that are this share of the relevant ones of each topic."""
    return np.array([least(total, level) for total in gold.trel.tolist()], dtype=np.int64)


_CELLS = 1 << 18
"""Levels of recall looked up together: 2 MB, or 2,500 topics of the usual 101 levels."""


class AverageInterpolatedPrecision(Measure):
    """Interpolated precision averaged over 101 levels of recall: 0, .01, ..., 1.

    Its mean over topics is MAiP, the overall figure of the Focused task.
    """

    name = "AiP"
    aliases = ("MAiP",)
    section = "12"
    formula = "AiP = (1/101) sum of iP[j/100], j = 0..100"
    source = "INEX 2007 evaluation measures"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.8304)

    points = Whole(101, "number of recall levels, 0 and 1 included", low=2, high=100_001)

    @property
    def overlap_rule(self) -> OverlapRule:
        return OverlapRule.ERROR

    def score_topics(self, alignment: Alignment) -> Floats:
        trel = alignment.gold.trel[alignment.judged_topic]
        values = np.zeros(len(trel))
        step = max(_CELLS // self.points, 1)
        for low in range(0, len(trel), step):
            some = slice(low, low + step)
            reached = levels(trel[some], self.points - 1)
            values[some] = interpolate(alignment, reached, some).mean(axis=1)
        return alignment.fill_topics(values)


MEASURES = (InterpolatedPrecision, AverageInterpolatedPrecision)
