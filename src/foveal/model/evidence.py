"""Evidence sets: which judged spans answer a topic together, and which are alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from foveal import spans
from foveal.spans import Ints

if TYPE_CHECKING:
    from foveal.model.judgements import Judgements

__all__ = ["EVIDENCE_COLUMNS", "evidence_of", "is_graded", "meetings"]

EVIDENCE_COLUMNS: dict[str, type[pl.DataType]] = {
    "row": pl.Int64,
    "set": pl.Int64,
    "start": pl.Int64,
    "end": pl.Int64,
    "grade": pl.Float64,
}
"""The columns of `Judgements.evidence`."""

_KEY = ("topic", "assessor")


def evidence_of(
    judgements: Judgements, pair: Ints, bounds: Ints, start: Ints, end: Ints
) -> pl.DataFrame | None:
    """The spans of every set, pointing to the combined rows; None if no span says more than that.

    A set belongs to the assessor who made it, and runs over all documents of the topic. What an
    assessor does not give to any set belongs to all of his; who makes no set where others do has
    one, of all his spans. A topic in which nobody makes one has a single set of all its text.

    Parameters
    ----------
    judgements : Judgements
        As read, with a row for each assessor.
    pair : int64 array
        The combined row of each row.
    bounds, start, end : int64 arrays
        The text of the combined rows that the assessors agree on; sets are cut to it.
    """
    if judgements.evidence is not None:
        row = pair[judgements.evidence["row"].to_numpy()]
        return judgements.evidence.with_columns(row=pl.Series(row, dtype=pl.Int64))
    if judgements.sets is None and not is_graded(judgements):
        return None
    listed = _listed(judgements, pair)
    named = listed.explode("sets", keep_nulls=True, empty_as_null=True)
    own = named.drop_nulls("sets").select(*_KEY, "sets").unique(maintain_order=True)
    # In a topic without any set all assessors have one in common.
    alone = ~pl.col("topic").is_in(own["topic"].unique().to_list())
    named = named.with_columns(assessor=pl.when(~alone).then("assessor"))
    everywhere = named.filter(pl.col("sets").is_null()).drop("sets")
    spread = everywhere.join(own, on=_KEY, how="left", nulls_equal=True, maintain_order="left")
    table = pl.concat([named.drop_nulls("sets"), spread.select(named.columns)]).with_columns(
        set=pl.struct(*_KEY, "sets").rank("dense").cast(pl.Int64) - 1
    )
    table = table.sort("set", "row", "start", "end", "grade").unique(maintain_order=True)
    return _cut(table.select(*EVIDENCE_COLUMNS), bounds, start, end)


def is_graded(judgements: Judgements) -> bool:
    """Whether relevant spans have different grades."""
    grade = judgements.grade
    return grade is not None and bool(((grade > 0) & (grade != 1)).any())


def _listed(judgements: Judgements, pair: Ints) -> pl.DataFrame:
    """The relevant spans with their topic, assessor, sets and combined row."""
    row = judgements.row
    grade = np.ones(len(row)) if judgements.grade is None else judgements.grade
    assessor, sets = judgements.assessor, judgements.sets
    nobody = pl.Series([None] * len(row), dtype=pl.String)
    return pl.DataFrame(
        {
            "topic": judgements.topic[row],
            "assessor": nobody if assessor is None else assessor.gather(row),
            "sets": pl.Series([None] * len(row), dtype=pl.List(pl.String))
            if sets is None
            else sets,
            "row": pair[row],
            "start": judgements.start,
            "end": judgements.end,
            "grade": grade,
        }
    ).filter((pl.col("grade") > 0) & (pl.col("end") > pl.col("start")))


def _cut(table: pl.DataFrame, bounds: Ints, start: Ints, end: Ints) -> pl.DataFrame:
    """The spans cut to the agreed text; what is not agreed on is no evidence."""
    row, first, last = (table[name].to_numpy() for name in ("row", "start", "end"))
    owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    extent = np.zeros(len(bounds) - 1, dtype=np.int64)
    np.maximum.at(extent, owner, end)
    np.maximum.at(extent, row, last)
    base = spans.lay_out(extent)
    span, text = meetings(
        first + base[row], last + base[row], start + base[owner], end + base[owner]
    )
    return table[span].with_columns(
        start=pl.Series(np.maximum(first[span], start[text]), dtype=pl.Int64),
        end=pl.Series(np.minimum(last[span], end[text]), dtype=pl.Int64),
    )


def meetings(start: Ints, end: Ints, other_start: Ints, other_end: Ints) -> tuple[Ints, Ints]:
    """Pairs of spans that share text, the others being disjoint and sorted; ordered by the first.

    >>> start, end = np.array([0, 5]), np.array([6, 30])
    >>> [x.tolist() for x in meetings(start, end, np.array([2, 8, 30]), np.array([7, 9, 40]))]
    [[0, 1, 1], [0, 0, 1]]
    """
    low = np.searchsorted(other_end, start, side="right")
    count = np.maximum(np.searchsorted(other_start, end) - low, 0)
    one = np.repeat(np.arange(len(start)), count)
    return one, np.arange(len(one)) + np.repeat(low - (np.cumsum(count) - count), count)
