"""Parquet and Arrow files (and any data frame): one row per result."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import polars as pl

from foveal.errors import Problem
from foveal.files.source import Source
from foveal.formats.base import Format, parse_with
from foveal.formats.checks import Defects
from foveal.formats.detection import MAGIC
from foveal.formats.panics import without_panics
from foveal.formats.ranking import place_results, ranked, with_costs
from foveal.formats.unknown import UNKNOWN_FIELD
from foveal.formats.xpaths import canonical_paths
from foveal.model import Run

__all__ = ["FORMATS", "MAGIC", "damage_said", "frame_to_run", "read_run", "write_run"]

_KINDS = {
    "topic": pl.String,
    "doc": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "start": pl.Int64,
    "end": pl.Int64,
    "xpath": pl.String,
    "text": pl.String,
    "bep": pl.Int64,
    "tokens": pl.Int64,
    "run": pl.String,
}


def read_run(source: Source) -> Run:
    """A run from a Parquet or Arrow file; lines in messages are row numbers from 1."""
    arrow = source.data.startswith(b"ARROW1")
    with damage_said(source, arrow=arrow):
        content = io.BytesIO(source.data)
        frame = pl.read_ipc(content) if arrow else pl.read_parquet(content)
    return frame_to_run(frame, source)


@contextmanager
def damage_said(source: Source, *, arrow: bool) -> Iterator[None]:
    """What keeps a table from being read, said of its file."""
    kind = "Arrow" if arrow else "Parquet"
    try:
        with without_panics():
            yield
    except pl.exceptions.PanicException:
        raise source.error(
            "unclassified", None, f"damaged {kind} file: its columns cannot be decoded"
        ) from None
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise source.error("unclassified", None, f"damaged {kind} file: {reason}") from None


def frame_to_run(frame: pl.DataFrame, source: Source) -> Run:
    """A run from columns ``topic doc`` with ``start end`` or ``xpath``, ``rank score run``, and
    ``tokens``.
    """
    missing = [name for name in ("topic", "doc") if name not in frame.columns]
    if missing:
        raise source.error(
            "unclassified",
            None,
            f"column {missing[0]} is missing; found {', '.join(frame.columns)}",
        )
    defects = Defects(source, source.numbered(np.arange(1, len(frame) + 1, dtype=np.int64)))
    table = _typed(frame, defects)
    # A frame of a run shows a whole document as start 0 without end.
    whole = (table["start"] == 0) & table["end"].is_null()
    table = table.with_columns(table["start"].set(whole.fill_null(value=False), None))
    start, end = place_results(table, defects, inclusive=False)
    names = table["run"].drop_nulls().unique().to_list()
    if len(names) > 1:
        raise source.error(
            "unclassified",
            None,
            f"holds {len(names)} runs ({', '.join(sorted(names)[:3])}, ...); expected one",
        )
    run = ranked(
        table.with_columns(
            canonical_paths(table["xpath"]), pl.Series("start", start), pl.Series("end", end)
        ),
        defects.line,
        defects,
        name=names[0] if names else source.stem,
    )
    run = with_costs(run, table["tokens"], defects)
    unread = {UNKNOWN_FIELD + c.name: c.count() for c in frame if c.name not in _KINDS}
    unread["texts of results"] = table["text"].count()
    return replace(run, unread={what: n for what, n in unread.items() if n} or None)


def _typed(frame: pl.DataFrame, defects: Defects) -> pl.DataFrame:
    """The columns of a run in their types, null where the file has none."""
    columns: dict[str, pl.Series] = {}
    problems: list[Problem] = []
    for name, kind in _KINDS.items():
        if name not in frame.columns:
            columns[name] = pl.Series(name, [None] * len(frame), dtype=kind)
            continue
        given = frame[name]
        word = f"{name} {{}} is not a {_WORDS[kind]}"
        try:
            column = given.cast(kind, strict=False)
        except pl.exceptions.PolarsError:
            raise defects.source.error(
                "unclassified",
                None,
                f"column {name} is of type {given.dtype}; expected {_WORDS[kind]}s",
            ) from None
        if kind == pl.Int64 and given.dtype.is_float():
            column = column.set(given != given.round(), None)
        problems += defects.at(
            "unclassified", (column.is_null() & given.is_not_null()).to_numpy(), word, given
        )
        columns[name] = column
    defects.raise_if(problems)
    return pl.DataFrame(columns)


_WORDS = {pl.Int64: "whole number", pl.Float64: "number", pl.String: "name"}


def write_run(run: Run) -> bytes:
    """The run as Parquet, with its name in the column ``run``."""
    buffer = io.BytesIO()
    run.to_frame().with_columns(run=pl.lit(run.name)).write_parquet(buffer)
    return buffer.getvalue()


FORMATS = (
    Format(
        "parquet",
        "run",
        "Parquet and Arrow files: one row per result.",
        "",
        lambda source: source.data.startswith(MAGIC),
        parse_with(read_run),
        write_run,
    ),
)
