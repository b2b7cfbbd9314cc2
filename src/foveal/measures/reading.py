"""Text read within budgets of characters, tokens or results, for all topics at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.errors import InputError
from foveal.measures.alignment import Alignment, Floats, Overlap
from foveal.measures.base import Choice, OptionalNumber
from foveal.model import UNKNOWN
from foveal.spans import Ints

__all__ = ["BUDGET", "UNIT", "UNITS", "Readings", "read_within", "readings"]

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


class Readings(NamedTuple):
    """Text read of every topic of a run (rows) within every budget (columns)."""

    found: Ints
    """Relevant characters."""
    read: Ints
    """Characters."""
    whole: Ints
    """Results that are read to their ends."""


def read_within(
    alignment: Alignment, budget: int, unit: str, rank: int | None = None
) -> tuple[Ints, Ints]:
    """Return relevant characters and characters read of each topic of a run within one budget."""
    found, read, _ = readings(alignment, np.array([budget]), unit, rank=rank)
    return found[:, 0], read[:, 0]


def readings(
    alignment: Alignment, budgets: Ints, unit: str, *, rank: int | None = None
) -> Readings:
    """Return what is read within each budget; the result that crosses it is read in part.

    One pass over the run for all topics and budgets: costs are summed over the whole run, and a
    budget is a place on that axis, counted from the first result of its topic. Where only new text
    counts (`Overlap.UNION`), text that an earlier result covered costs nothing; a budget of
    results counts a repeated one all the same.

    Parameters
    ----------
    budgets : int64 array
    unit : {"characters", "tokens", "results"}
    rank : int, optional
        No results after this rank are read.
    """
    run = alignment.run
    low, high = run.bounds[:-1, None], run.bounds[1:, None]
    if rank is not None:
        high = np.minimum(high, low + rank)
    if unit == "results":
        at = np.minimum(low + budgets, high)
        found, read = alignment.totals.found_before, alignment.totals.read_before
        return Readings(found[at] - found[low], read[at] - read[low], at - low)
    if alignment.overlap is Overlap.UNION:
        start, end, owner = alignment.pieces
        found = alignment.count_highlighted(owner, start, end)
    else:
        start, end, owner = run.start, alignment.end, np.arange(len(run))
        found = alignment.full_rsize
    size = np.maximum(end - start, 0)
    cost = size if unit == "characters" else _count_tokens(alignment, size, owner)
    first, last = np.searchsorted(owner, low), np.searchsorted(owner, high)
    paid, read_before, found_before = (_sum_before(column) for column in (cost, size, found))
    goal = paid[first] + budgets
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


def _count_tokens(alignment: Alignment, size: Ints, owner: Ints) -> Ints | Floats:
    """Return the tokens of each result, or where only new text counts of each piece of it."""
    run = alignment.run
    unknown = np.arange(len(run)) if run.tokens is None else np.flatnonzero(run.tokens == UNKNOWN)
    if len(unknown):
        raise InputError.at(
            "unclassified",
            run.source.path,
            int(run.line[unknown[0]]),
            "the result says nothing of its tokens; a budget in tokens takes the field tokens of "
            "every result (JSON Lines, Parquet), or foveal.with_tokens counts them in the texts",
        )
    assert run.tokens is not None
    if alignment.overlap is not Overlap.UNION:
        return run.tokens
    shares: Floats = run.tokens[owner] * size / np.maximum(alignment.full_size[owner], 1)
    return shares


def _sum_before(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the sum before each value, and their total."""
    return np.concatenate([np.zeros(1, column.dtype), np.cumsum(column)])
