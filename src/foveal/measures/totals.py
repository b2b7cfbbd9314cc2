"""Sums over the first results of every topic, to a rank or within a budget of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.errors import InputError
from foveal.measures.alignment import Alignment, Floats, Overlap
from foveal.measures.base import Choice, Measure, OptionalNumber
from foveal.model import UNKNOWN
from foveal.spans import Ints

__all__ = [
    "BUDGET",
    "UNIT",
    "UNITS",
    "PrecisionRecall",
    "Readings",
    "TopicCounts",
    "rank_results",
    "readings",
    "sum_first",
]

UNITS = ("characters", "tokens", "results")
"""Units of a budget."""
BUDGET = OptionalNumber("none", "how much is read; the result that crosses it is cut", whole=True)
"""The parameter that limits how much is read from the top."""
UNIT = Choice(
    *UNITS,
    description="of the budget; in tokens, a result is cut in proportion to its characters",
)
"""The parameter that says what the budget counts."""
_SLACK = 1e-6
"""Part of a character or token: the tokens of a piece are a rounded share of its result's."""


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


class TopicCounts(NamedTuple):
    """Amounts found and read on each topic of a run, and sought on each judged topic."""

    found: Ints | Floats
    read: Ints
    sought: Ints


class PrecisionRecall(Measure):
    """A family of precision, recall and F, undefined where nothing is sought."""

    def count_totals(self, alignment: Alignment) -> TopicCounts:
        """Count what was found, read and sought, mostly characters."""
        raise NotImplementedError  # pragma: no cover - every family defines it

    def precision(self, alignment: Alignment) -> Floats:
        found, read, sought = self.count_totals(alignment)
        values = alignment.spread_topics(found / np.maximum(read, 1))
        return np.where(sought > 0, values, np.nan)

    def recall(self, alignment: Alignment) -> Floats:
        found, _, sought = self.count_totals(alignment)
        values = alignment.spread_topics(found) / np.maximum(sought, 1)
        return np.where(sought > 0, values, np.nan)

    def f_score(self, alignment: Alignment, beta: float = 1.0) -> Floats:
        """Return the weighted harmonic mean of precision and recall; 0 if either is."""
        p, r = self.precision(alignment), self.recall(alignment)
        product, weight = (1 + beta**2) * p * r, beta**2
        return np.divide(product, weight * p + r, out=np.zeros_like(p), where=product != 0)


class Readings(NamedTuple):
    """Text read of every topic of a run (rows) within every budget (columns)."""

    found: Ints
    """Relevant characters."""
    read: Ints
    """Characters."""
    whole: Ints
    """Results that are read to their ends."""


def readings(
    alignment: Alignment, budgets: Sequence[int] | Ints, unit: str, rank: int | None = None
) -> Readings:
    """Return what is read within each budget; the result that crosses it is read in part.

    One pass over the run for all topics and budgets: costs are summed over the whole run, and a
    budget is a place on that axis, counted from the first result of its topic. Where only new text
    counts (`Overlap.UNION`), text that an earlier result covered costs nothing; a budget of
    results counts a repeated one all the same.

    Parameters
    ----------
    budgets : whole numbers
    unit : {"characters", "tokens", "results"}
    rank : int, optional
        No results after this rank are read.
    """
    run, allowed = alignment.run, np.asarray(budgets)
    low, high = run.bounds[:-1, None], run.bounds[1:, None]
    if rank is not None:
        high = np.minimum(high, low + rank)
    if unit == "results":
        at = np.minimum(low + allowed, high)
        read_before, found_before = alignment.totals[:2]
        return Readings(
            found_before[at] - found_before[low], read_before[at] - read_before[low], at - low
        )
    if alignment.overlap is Overlap.UNION:
        start, end, owner = alignment.pieces
        found = alignment.count_highlighted(owner, start, end)
    else:
        start, end, owner = run.start, alignment.end, np.arange(len(run))
        found = alignment.full_rsize
    size = np.maximum(end - start, 0)
    cost: Ints | Floats = size
    if unit == "tokens":
        tokens = np.full(len(run), UNKNOWN) if run.tokens is None else run.tokens
        if (tokens == UNKNOWN).any():
            raise InputError.at(
                "run.tokens",
                run.source.path,
                int(run.line[tokens == UNKNOWN][0]),
                "the result says nothing of its tokens; a budget in tokens takes the field tokens "
                "of every result (JSON Lines, Parquet), or foveal.with_tokens counts them in the "
                "texts",
            )
        cost = tokens
        if alignment.overlap is Overlap.UNION:
            cost = tokens[owner] * size / np.maximum(alignment.full_size[owner], 1)
    first, last = np.searchsorted(owner, low), np.searchsorted(owner, high)
    paid, read_before, found_before = (
        np.concatenate([np.zeros(1, column.dtype), np.cumsum(column)])
        for column in (cost, size, found)
    )
    goal = paid[first] + allowed
    within = np.searchsorted(paid[1:], goal + (_SLACK if paid.dtype == float else 0), side="right")
    at = np.clip(within, first, last)
    # The part in which the budget ends, where the list does not end before.
    row, column = np.nonzero(at < last)
    part = at[row, column]
    left = np.maximum(goal[row, column] - paid[part], 0)
    share = left * size[part] / np.maximum(cost[part], _SLACK)
    cut = np.minimum(np.floor(share + _SLACK).astype(np.int64), size[part])
    more_found, more_read = np.zeros_like(at), np.zeros_like(at)
    more_read[row, column] = cut
    more_found[row, column] = alignment.count_highlighted(
        owner[part], start[part], start[part] + cut
    )
    ends = np.broadcast_to(high, at.shape).copy()
    ends[row, column] = owner[part]
    return Readings(
        found_before[at] - found_before[first] + more_found,
        read_before[at] - read_before[first] + more_read,
        ends - low,
    )
