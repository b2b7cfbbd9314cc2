"""Data frames as rows: columns under their usual names, of Polars or pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from foveal.adapters.frameworks import USUAL
from foveal.adapters.rows import COLUMNS
from foveal.errors import UsageError, some

__all__ = ["frame_of", "frame_rows", "runs_in"]

_KIND = "row"
_LARGEST = float(1 << 62)


def frame_of(table: Any) -> pl.DataFrame | None:
    """A Polars or pandas frame as one of Polars; None for anything else.

    Only columns that could be ours are looked at. pandas is not imported, and neither is pyarrow,
    which Polars would want for it.
    """
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, pl.DataFrame):
        return table
    if not (hasattr(table, "columns") and hasattr(table, "iloc")):
        return None
    return pl.DataFrame({str(name): _column(table[name]) for name in table.columns}, strict=False)


def _column(series: Any) -> pl.Series:
    """A column of pandas, with null where it has NaN, None or NA."""
    values = series.to_numpy()
    if values.dtype.kind in "iu":
        return pl.Series(values)
    if values.dtype.kind == "f":
        return pl.Series(values).fill_nan(None)
    absent = series.isna().tolist()
    kept = [None if gone else value for gone, value in zip(absent, series.tolist(), strict=True)]
    return pl.Series(kept, strict=False)


def runs_in(frame: pl.DataFrame) -> list[str]:
    """The names in the column ``run``, in their order; none without it.

    >>> runs_in(pl.DataFrame({"run": ["b", "a", "b"]}))
    ['b', 'a']
    """
    if "run" not in frame.columns:
        return []
    given = _converted(frame, "run", "run", pl.String)
    if given.null_count():
        raise UsageError(
            f"row {given.is_null().arg_true()[0] + 1} of the frame has no name in the column "
            "'run'; expected one in each row, or no such column"
        )
    names: list[str] = given.unique(maintain_order=True).to_list()
    return names


def frame_rows(
    frame: pl.DataFrame, columns: tuple[str, ...], doc: str | None = None
) -> pl.DataFrame:
    """The `columns` of a frame under our names, null where it has none.

    >>> frame_rows(pl.DataFrame({"qid": [7], "docno": ["d1"]}), ("doc", "start")).to_dicts()
    [{'topic': '7', 'doc': 'd1', 'start': None, 'kind': 'row', 'line': 1}]
    """
    own: list[pl.Series] = []
    for column in ("topic", *columns):
        names = (doc,) if column == "doc" and doc is not None else USUAL[column]
        found = next((name for name in names if name in frame.columns), None)
        if found is not None:
            own.append(_converted(frame, found, column, COLUMNS[column]))
        elif column in ("topic", "doc"):
            raise UsageError(
                f"the frame has no column for the {column}: {some(frame.columns)}; expected "
                f"{' or '.join(names[:5])}"
            )
        else:
            own.append(pl.Series(column, [None] * len(frame), dtype=COLUMNS[column]))
    line = np.arange(1, len(frame) + 1, dtype=np.int64)
    kind = pl.Series("kind", [_KIND], dtype=pl.String).new_from_index(0, len(frame))
    return pl.DataFrame([*own, kind, pl.Series("line", line)])


def _converted(frame: pl.DataFrame, name: str, column: str, kind: Any) -> pl.Series:
    """A column in our type; numbers that only look like ours are refused with the first of them."""
    given = frame[name].alias(column)
    if given.dtype == pl.Null:
        return given.cast(kind)
    expected = "a number"
    if kind == pl.String:
        textual = given.dtype in (pl.String, pl.Categorical, pl.Enum) or given.dtype.is_integer()
        if textual:
            return given.cast(pl.String)
        expected = "text or whole numbers"
    elif kind == pl.Int64:
        if given.dtype.is_integer() or given.dtype.is_float():
            return _whole(given, name)
        expected = "whole numbers"
    elif kind == pl.Float64 and given.dtype.is_numeric():
        return given.cast(pl.Float64)
    elif isinstance(kind, pl.List) and given.dtype == kind:
        return given
    raise UsageError(f"column {name!r} holds {given.dtype}; expected {expected}")


def _whole(given: pl.Series, name: str) -> pl.Series:
    """Numbers of any type as whole ones; those that are none, or too large, are refused."""
    if given.dtype.is_float():
        given = given.fill_nan(None)
        broken = given.filter((given != given.floor()) | ~(given.abs() < _LARGEST))
    else:
        broken = given.filter(given.cast(pl.Int64, strict=False).is_null() & given.is_not_null())
    if len(broken):
        raise UsageError(f"column {name!r} holds {broken[0]}; expected whole numbers")
    return given.cast(pl.Int64)
