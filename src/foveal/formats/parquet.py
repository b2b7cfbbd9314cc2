"""Parquet and Arrow files (and any data frame): one row per result."""

from __future__ import annotations

import io

import numpy as np
import polars as pl

from foveal.errors import Problem
from foveal.formats.checks import Defects, check_names, check_scores, check_spans
from foveal.formats.ranking import ranked
from foveal.formats.source import Source
from foveal.model import UNKNOWN, Run

__all__ = ["frame_to_run", "read_run", "write_run"]

_KINDS = {
    "topic": pl.String,
    "doc": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "start": pl.Int64,
    "end": pl.Int64,
    "xpath": pl.String,
    "run": pl.String,
}


def read_run(source: Source) -> Run:
    """A run from a Parquet or Arrow file; lines in messages are row numbers from 1."""
    try:
        if source.data.startswith(b"ARROW1"):
            frame = pl.read_ipc(io.BytesIO(source.data))
        else:
            frame = pl.read_parquet(io.BytesIO(source.data))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise source.error(None, f"damaged file: {str(error).splitlines()[0]}") from None
    return frame_to_run(frame, source)


def frame_to_run(frame: pl.DataFrame, source: Source) -> Run:
    """A run from columns ``topic doc`` with ``start end`` or ``xpath``, and ``rank score run``."""
    missing = [name for name in ("topic", "doc") if name not in frame.columns]
    if missing:
        raise source.error(
            None, f"column {missing[0]} is missing; found {', '.join(frame.columns)}"
        )
    if ("start" in frame.columns) != ("end" in frame.columns):
        raise source.error(None, "columns start and end belong together; one is missing")
    line = np.arange(1, len(frame) + 1, dtype=np.int64)
    defects = Defects(source, line)
    problems: list[Problem] = []
    columns = {}
    for name, kind in _KINDS.items():
        if name not in frame.columns:
            continue
        column = frame[name].cast(kind, strict=False)
        if kind == pl.Int64 and frame[name].dtype.is_float():
            column = column.set(frame[name] != frame[name].round(), None)
        bad = (column.is_null() & frame[name].is_not_null()).to_numpy()
        problems += defects.at(bad, f"{name} {{}} is not a {_WORDS[kind]}", frame[name])
        if name in ("topic", "doc"):
            problems += defects.at(frame[name].is_null().to_numpy(), f"{name} is missing")
        columns[name] = column
    defects.raise_if(problems)
    table = pl.DataFrame(columns)
    problems = check_names(defects, table["topic"])
    if "score" in columns:
        problems += check_scores(defects, table["score"].fill_null(0.0).to_numpy())
    nowhere = pl.Series(np.full(len(table), UNKNOWN, dtype=np.int64))
    start = table["start"].fill_null(UNKNOWN) if "start" in columns else nowhere
    end = table["end"].fill_null(UNKNOWN) if "end" in columns else nowhere
    given = table["start"].is_not_null() if "start" in columns else nowhere >= 0
    problems += defects.at((given & (start < 0)).to_numpy(), "start {} is negative", start)
    by_path = table["xpath"].is_not_null() if "xpath" in columns else nowhere >= 0
    start = start.set(~given & ~by_path, 0)
    defects.raise_if(problems)
    defects.raise_if(check_spans(defects, start.to_numpy(), end.to_numpy()))
    names = table["run"].drop_nulls().unique().to_list() if "run" in columns else []
    if len(names) > 1:
        raise source.error(
            None, f"holds {len(names)} runs ({', '.join(sorted(names)[:3])}, ...); expected one"
        )
    table = table.with_columns(start.alias("start"), end.alias("end"))
    return ranked(table, line, defects, name=names[0] if names else source.stem)


_WORDS = {pl.Int64: "whole number", pl.Float64: "number", pl.String: "text"}


def write_run(run: Run) -> bytes:
    """The run as Parquet, with its name in the column ``run``."""
    buffer = io.BytesIO()
    run.to_frame().with_columns(run=pl.lit(run.name)).write_parquet(buffer)
    return buffer.getvalue()
