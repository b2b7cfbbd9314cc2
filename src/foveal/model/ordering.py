"""Order and identity: how topics are listed, which rows are of one group."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from foveal.spans import Ints

__all__ = ["first_of_group", "topic_order"]


def first_of_group(keys: pl.DataFrame) -> Ints:
    """For each row, the number of the first row with the same keys.

    >>> first_of_group(pl.DataFrame({"doc": ["a", "b", "a"]})).tolist()
    [0, 1, 0]
    """
    first = keys.with_row_index("row").select(pl.col("row").min().over(keys.columns))
    return first.to_series().cast(pl.Int64).to_numpy()


def topic_order(topics: Iterable[str]) -> tuple[str, ...]:
    """Distinct topics in their canonical order.

    >>> topic_order(["10", "9", "9"])
    ('9', '10')
    >>> topic_order(["t10", "t9"])
    ('t10', 't9')
    """
    distinct = set(topics)
    if all(topic.isascii() and topic.isdigit() for topic in distinct):
        return tuple(sorted(distinct, key=lambda topic: (int(topic), topic)))
    return tuple(sorted(distinct))
