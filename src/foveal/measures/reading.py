"""What is read of a run within budgets of characters, tokens or results, for all topics at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.errors import InputError
from foveal.measures.alignment import Alignment, TopicView
from foveal.measures.base import Choice, OptionalNumber
from foveal.model import UNKNOWN
from foveal.spans import Ints

__all__ = [
    "ALL_RESULTS",
    "UNITS",
    "Read",
    "Readings",
    "budget_parameter",
    "read_of",
    "readings",
    "unit_parameter",
]

Floats = npt.NDArray[np.float64]
UNITS = ("characters", "tokens", "results")
"""What a budget can count."""
ALL_RESULTS = 1 << 40
"""A budget of results that no list exceeds."""
_SLACK = 1e-6
"""Of a character or token: under ``union`` the tokens of a piece are a share, which may be off."""


def budget_parameter() -> OptionalNumber:
    """How much is read from the top."""
    return OptionalNumber("none", "how much is read; the result that crosses it is cut", whole=True)


def unit_parameter() -> Choice:
    """What the budget counts."""
    return Choice(
        *UNITS,
        description="of the budget; in tokens, a result is cut in proportion to its characters",
    )


class Read(NamedTuple):
    """What is read of one topic within one budget."""

    found: int
    """Relevant characters."""
    read: int
    """Characters."""
    whole: int
    """Results that are read to their ends."""


class Readings(NamedTuple):
    """What is read of every topic of a run (rows) within every budget (columns)."""

    found: Ints
    read: Ints
    whole: Ints


def read_of(topic: TopicView, budget: int, unit: str, rank: int | None = None) -> Read:
    """What is read of a topic; all topics of the run are calculated together, once."""
    alignment, union = topic.alignment, topic.union
    place = alignment.place.get(topic.name)
    if place is None:
        return Read(0, 0, 0)
    return alignment.memo(
        ("read within", budget, unit, rank, union),
        lambda: _by_topic(readings(alignment, np.array([budget]), unit, union=union, rank=rank)),
    )[place]


def _by_topic(of_run: Readings) -> list[Read]:
    """One budget, topic by topic."""
    return [Read(*row) for row in zip(*(column[:, 0].tolist() for column in of_run), strict=True)]


def readings(
    alignment: Alignment, budgets: Ints, unit: str, *, union: bool, rank: int | None = None
) -> Readings:
    """What is read within each budget, the result that crosses it to the budget's end.

    One pass over the run for all topics and budgets: costs are cumulated over the whole run, and a
    budget is a place on that axis, from where the results of its topic begin.

    Parameters
    ----------
    budgets : int64 array
    unit : {"characters", "tokens", "results"}
    union : bool
        Whether only text that no earlier result covered is found, and paid for. In results, a
        repeated one counts all the same.
    rank : int, optional
        No results after this rank are read.
    """
    run = alignment.run
    low, high = run.bounds[:-1], run.bounds[1:]
    high = high if rank is None else np.minimum(high, low + rank)
    if unit == "results":
        return _first_results(alignment, low, high, budgets, union=union)
    if union:
        start, end, owner = alignment.pieces
    else:
        start, end, owner = run.start, alignment.end, np.arange(len(run))
    size = np.maximum(end - start, 0)
    cost = size if unit == "characters" else _tokens(alignment, size, owner, union=union)
    found = alignment.highlighted_in(owner, start, end) if union else alignment.rsize
    first, last = np.searchsorted(owner, low), np.searchsorted(owner, high)
    paid, read_before, found_before = (_cumulated(column) for column in (cost, size, found))
    goal = paid[first][:, None] + budgets
    within = np.searchsorted(paid[1:], goal + (_SLACK if paid.dtype == float else 0), side="right")
    at = np.clip(within, first[:, None], last[:, None])
    # The part in which the budget ends, where the list does not end before.
    row, column = np.nonzero(at < last[:, None])
    part = at[row, column]
    left = np.maximum(goal[row, column] - paid[part], 0)
    share = left * size[part] / np.maximum(cost[part], _SLACK)
    cut = np.minimum(np.floor(share + _SLACK).astype(np.int64), size[part])
    more_found = np.zeros(at.shape, dtype=np.int64)
    more_read = more_found.copy()
    more_read[row, column] = cut
    more_found[row, column] = alignment.highlighted_in(owner[part], start[part], start[part] + cut)
    ends = np.broadcast_to(high[:, None], at.shape).copy()
    ends[row, column] = owner[part]
    return Readings(
        found_before[at] - found_before[first][:, None] + more_found,
        read_before[at] - read_before[first][:, None] + more_read,
        ends - low[:, None],
    )


def _first_results(
    alignment: Alignment, low: Ints, high: Ints, budgets: Ints, *, union: bool
) -> Readings:
    """A budget of results is a rank."""
    at = np.minimum(low[:, None] + budgets, high[:, None])
    size, rsize = (
        (alignment.new_size, alignment.new_rsize) if union else (alignment.size, alignment.rsize)
    )
    found, read = _cumulated(rsize), _cumulated(size)
    first = low[:, None]
    return Readings(found[at] - found[first], read[at] - read[first], at - first)


def _tokens(alignment: Alignment, size: Ints, owner: Ints, *, union: bool) -> Ints | Floats:
    """What each part costs: the tokens of its result, or under ``union`` its share of them."""
    run = alignment.run
    unknown = np.arange(len(run)) if run.tokens is None else np.flatnonzero(run.tokens == UNKNOWN)
    if len(unknown):
        raise InputError.at(
            run.source.path,
            int(run.line[unknown[0]]),
            "the result says nothing of its tokens; a budget in tokens takes the field tokens of "
            "every result (JSON Lines, Parquet), or foveal.with_tokens counts them in the texts",
        )
    assert run.tokens is not None
    if not union:
        return run.tokens
    shares: Floats = run.tokens[owner] * size / np.maximum(alignment.size[owner], 1)
    return shares


def _cumulated(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The sum before each place, and at the end the whole."""
    return np.concatenate([np.zeros(1, column.dtype), np.cumsum(column)])
