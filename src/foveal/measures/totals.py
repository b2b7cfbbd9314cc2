"""Sums over the first results of every topic, and precision, recall and F made from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import Alignment, Floats
from foveal.measures.base import Measure
from foveal.spans import Ints

__all__ = ["PrecisionRecall", "TopicCounts", "rank_results", "sum_first"]


class TopicCounts(NamedTuple):
    """Amounts found and read on each topic of a run, and sought on each judged topic."""

    found: Ints | Floats
    read: Ints
    sought: Ints


class PrecisionRecall(Measure):
    """A family of precision, recall and F, undefined where nothing is sought."""

    def totals(self, alignment: Alignment) -> TopicCounts:
        """Count what was found, read and sought, mostly characters."""
        raise NotImplementedError  # pragma: no cover - every family defines it

    def precision(self, alignment: Alignment) -> Floats:
        found, read, sought = self.totals(alignment)
        values = alignment.spread_topics(found / np.maximum(read, 1))
        return np.where(sought > 0, values, np.nan)

    def recall(self, alignment: Alignment) -> Floats:
        found, _, sought = self.totals(alignment)
        values = alignment.spread_topics(found) / np.maximum(sought, 1)
        return np.where(sought > 0, values, np.nan)

    def f_score(self, alignment: Alignment, beta: float = 1.0) -> Floats:
        """Return the weighted harmonic mean of precision and recall; 0 if either is."""
        p, r = self.precision(alignment), self.recall(alignment)
        product, weight = (1 + beta**2) * p * r, beta**2
        return np.divide(product, weight * p + r, out=np.zeros_like(p), where=product != 0)


def rank_results(alignment: Alignment) -> Ints:
    """Return the rank of each result within its topic, from 0."""
    bounds = alignment.run.bounds
    return np.arange(len(alignment.run)) - np.repeat(bounds[:-1], np.diff(bounds))


def sum_first(values: npt.NDArray[Any], bounds: Ints, rank: int | None = None) -> npt.NDArray[Any]:
    """Sum the first values of each topic, as ``values[low:high].sum()`` to the last bit.

    >>> sum_first(np.array([0.5, 1.0, 2.0, 3.0]), np.array([0, 3, 3, 4]), rank=2).tolist()
    [1.5, 0.0, 3.0]
    """
    low, high = bounds[:-1], bounds[1:]
    if rank is not None:
        high = np.minimum(high, low + rank)
    if values.dtype != np.float64:  # differences of sums of whole numbers are exact
        before: Ints = np.concatenate([[0], np.cumsum(values)])
        return before[high] - before[low]
    # `reduceat` adds the sum of all further values to the first of a slice, `sum` adds all to 0.
    # A zero before each slice makes the two the same, and no slice empty.
    padded = np.append(np.insert(values, low, 0.0), 0.0)
    step = np.arange(len(low))
    cuts = np.column_stack([low + step, high + step + 1]).ravel()
    sums: Floats = np.add.reduceat(padded, cuts)[::2]
    return sums
