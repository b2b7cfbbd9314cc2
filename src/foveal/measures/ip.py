"""iP: interpolated precision at a level of recall, in characters (INEX 2007 and later)."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from foveal.measures.base import Cutoff, Example, Measure, Overlap
from foveal.measures.interpolation import Floats, best_from, rank_reaching, reaches
from foveal.measures.reading import Readings, budget_parameter, read_of, unit_parameter
from foveal.measures.view import Topic

__all__ = ["InterpolatedPrecision", "best_precision_from", "best_precisions_within"]


def best_precision_from(topic: Topic) -> Floats:
    """The best P[r] at each rank or later."""
    return topic.memo("best precision from", lambda: best_from(topic.precision))


def best_precisions_within(topic: Topic, level: Decimal | None, read: Readings) -> Floats:
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
    def overlap(self) -> Overlap:
        return Overlap.ERROR

    def calculate(self, topic: Topic) -> float:
        if self.budget is not None:
            within = read_of(topic, int(self.budget), self.unit)
            read = Readings(*(np.array([value]) for value in within))
            return float(best_precisions_within(topic, self.at, read)[0])
        return float(best_precision_from(topic)[rank_reaching(topic.found, topic.trel, self.at)])
