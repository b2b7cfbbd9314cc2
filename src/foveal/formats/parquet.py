"""Parquet and Arrow files (and any data frame): one row per result."""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from threading import Lock

import numpy as np
import polars as pl

from foveal.errors import Problem
from foveal.files.source import Source
from foveal.formats.base import MAGIC, Format, Parsed, lazy_losses
from foveal.formats.objects import UNKNOWN_FIELD
from foveal.formats.ranking import RESULT_COLUMNS, parse_results
from foveal.formats.rows import Defects, RowTable
from foveal.model import Run

_COLUMNS = RESULT_COLUMNS | {"run": pl.String}
_STDERR = 2
_PANIC = re.compile(rb"\n?thread '[^\n]* panicked at .*", re.DOTALL)
_ALONE = Lock()  # standard error belongs to the whole process: one redirection at a time
_WORDS = {pl.Int64: "whole number", pl.Float64: "number", pl.String: "name"}


def parse_run(source: Source) -> Parsed:
    """Parse columns ``topic doc`` with ``start end``, ``xpath`` or ``bep``, ``rank score tokens``.

    A column ``run`` names the run. Lines in messages are row numbers from 1.
    """
    arrow, content = source.data.startswith(b"ARROW1"), io.BytesIO(source.data)
    kind, reason = "Arrow" if arrow else "Parquet", "its columns cannot be decoded"
    try:
        with without_panics():
            frame = pl.read_ipc(content) if arrow else pl.read_parquet(content)
    except (pl.exceptions.PanicException, pl.exceptions.PolarsError, OSError) as error:
        if not isinstance(error, pl.exceptions.PanicException):
            reason = str(error).partition("\n")[0]
        raise source.error("file.damaged", None, f"damaged {kind} file: {reason}") from None
    missing = [name for name in ("topic", "doc") if name not in frame.columns]
    if missing:
        message = f"column {missing[0]} is missing; found {', '.join(frame.columns)}"
        raise source.error("run.columns", None, message)
    table = _cast_columns(frame, source)
    # A frame of a run shows a whole document as start 0 without end.
    whole = ((table.frame["start"] == 0) & table.frame["end"].is_null()).fill_null(value=False)
    table = table._replace(frame=table.frame.with_columns(table.frame["start"].set(whole, None)))
    names = table.frame["run"].drop_nulls().unique().to_list()
    parsed = parse_results(table, source, name=names[0] if names else source.stem)
    if len(names) > 1:
        message = f"holds {len(names)} runs ({', '.join(sorted(names)[:3])}, ...); expected one"
        return Parsed(None, [*parsed.problems, Problem("run.name", source.path, None, message)])
    if parsed.content is None:
        return parsed
    unread = {UNKNOWN_FIELD + c.name: c.count() for c in frame if c.name not in _COLUMNS}
    unread["texts of results"] = table.frame["text"].count()
    kept = {what: n for what, n in unread.items() if n}
    return parsed._replace(content=replace(parsed.content, unread=kept or None))


def _cast_columns(frame: pl.DataFrame, source: Source) -> RowTable:
    """Return the columns of a run in their types, null where the file has none."""
    line = source.numbered(np.arange(1, len(frame) + 1, dtype=np.int64))
    columns, problems = dict[str, pl.Series](), list[Problem]()
    for name, kind in _COLUMNS.items():
        given = frame[name] if name in frame.columns else pl.repeat(None, len(frame), eager=True)
        try:
            column = given.cast(kind, strict=False)
        except pl.exceptions.PolarsError:
            message = f"column {name} is of type {given.dtype}; expected {_WORDS[kind]}s"
            raise source.error("run.columns", None, message) from None
        if kind == pl.Int64 and given.dtype.is_float():
            column = column.set(given != given.round(), None)
        lost = (column.is_null() & given.is_not_null()).to_numpy()
        message = f"{name} {{}} is not a {_WORDS[kind]}"
        problems += Defects(source, line).at("run.columns", lost, message, given)
        columns[name] = column
    return RowTable(pl.DataFrame(columns), line).without(problems)


@contextmanager
def without_panics() -> Iterator[None]:
    """Hold standard error back while a file is read, and print it afterwards without panics.

    Polars prints a trace before it raises the error of a damaged file. Output of other threads in
    the meantime is late, never lost.
    """
    with _ALONE, ExitStack() as stack:
        try:
            held = stack.enter_context(tempfile.TemporaryFile())
            kept = os.dup(_STDERR)
        except OSError:  # no temporary file, or no standard error
            yield
            return
        stack.callback(os.close, kept)
        os.dup2(held.fileno(), _STDERR)
        try:
            yield
        finally:
            os.dup2(kept, _STDERR)
            held.seek(0)
            with suppress(OSError):  # standard error is full or closed
                os.write(kept, _PANIC.sub(b"", held.read()))


def write_run(run: Run) -> bytes:
    """Write the run as Parquet, with its name in the column ``run``."""
    buffer = io.BytesIO()
    run.to_frame().with_columns(run=pl.lit(run.name)).write_parquet(buffer)
    return buffer.getvalue()


FORMATS = (
    Format(
        "parquet",
        "run",
        """Parquet and Arrow files: one row per result.

The columns are those of [JSON Lines](#run-jsonl): `topic` and `doc`; `start` and `end`, `xpath` or
`bep`; optionally `rank`, `score`, `tokens` and `run`. The order follows the same rule. In messages,
the line is the number of the row.""",
        "",
        lambda source: source.data.startswith(MAGIC),
        parse_run,
        write_run,
        lazy_losses("run_losses", keeps="results offsets xpaths tokens name"),
    ),
)
