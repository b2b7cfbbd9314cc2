"""Order and identity: how topics are listed, which rows are of one group."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.model.hashing import HashOf, first_of_hash, hash_of_rows
from foveal.spans import Ints

__all__ = ["changes", "first_of_group", "topic_order"]


def first_of_group(keys: pl.DataFrame, hash_of: HashOf = hash_of_rows) -> Ints:
    """For each row, the number of the first row with the same keys.

    >>> first_of_group(pl.DataFrame({"doc": ["a", "b", "a"]})).tolist()
    [0, 1, 0]
    """
    keys = keys.rechunk()
    first = first_of_hash(hash_of(keys))
    if all(_same(column, first) for column in keys):
        return first
    exact = keys.with_row_index("row").select(pl.col("row").min().over(keys.columns))
    return exact.to_series().cast(pl.Int64).to_numpy()


def changes(column: pl.Series) -> npt.NDArray[np.bool_]:
    """Which rows have another value than the row before them; the first has.

    >>> changes(pl.Series(["a", "a", "b", None, None])).tolist()
    [True, False, True, True, False]
    """
    differs = np.ones(len(column), dtype=bool)
    at, last = 0, None
    # Piece by piece as the parser made them: to join them takes longer than to compare.
    for piece in column.get_chunks():
        if at and len(piece):
            differs[at] = piece[0] != last
        here, before = piece[1:], piece[:-1]
        # Six times as fast as the comparison that knows of missing values.
        other = here.ne_missing(before) if piece.null_count() else here != before
        differs[at + 1 : at + len(piece)] = other.to_numpy()
        at, last = at + len(piece), piece[-1] if len(piece) else last
    return differs


def _same(column: pl.Series, first: Ints) -> bool:
    """Whether every row has the value of the row that is said to be the first of its group."""
    if column.dtype.is_integer() and not column.null_count():
        values = column.to_numpy()
        return bool((values[first] == values).all())
    again = np.flatnonzero(first != np.arange(len(first)))
    return column.gather(again).eq_missing(column.gather(first[again])).all()


def topic_order(topics: Iterable[str]) -> tuple[str, ...]:
    """Distinct topics in their canonical order.

    >>> topic_order(["10", "9", "9"])
    ('9', '10')
    >>> topic_order(["t10", "t9"])
    ('t10', 't9')
    """
    distinct = set(topics)
    if all(topic.isascii() and topic.isdigit() for topic in distinct):
        return tuple(sorted(distinct, key=_numerically))
    return tuple(sorted(distinct))


def _numerically(digits: str) -> tuple[int, str, str]:
    """Return a key that sorts digits as numbers, however many: int() takes 4,300 at most."""
    value = digits.lstrip("0")
    return len(value), value, digits
