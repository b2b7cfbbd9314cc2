"""Runs from named columns, of any format, and Parquet and Arrow files: one row per result."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem, Tally, shorten_list
from foveal.files.source import Source
from foveal.formats import MAGIC, Format, Parsed, lazy_losses
from foveal.formats.objects import GIVE_TEXTS, UNKNOWN_FIELD, to_codepoints
from foveal.formats.rows import (
    NAME_RULES,
    RULES,
    RowRule,
    RowTable,
    check_rules,
    list_offset_rules,
    number_lines,
)
from foveal.formats.xpaths import canonical_paths, is_root
from foveal.lookup import number_rows
from foveal.model import UNKNOWN, Run

# The fields of a result in JSON Lines and columnar files.
RESULT_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("topic", "doc", "xpath", "text"), pl.String),
    **dict.fromkeys(("rank", "start", "end", "bep", "tokens"), pl.Int64),
    "score": pl.Float64,
}
_PLACES = pl.col("start", "end", "xpath", "bep")
TEXT_ALONE = pl.col("text").is_not_null() & pl.all_horizontal(_PLACES.is_null())
_RULES = [*NAME_RULES, *(RULES[name] for name in ("rank", "tokens", "bep", "score", "xpath"))]
_NO_TEXTS = RowRule(
    "run.text_alone",
    TEXT_ALONE,
    f"a result given by its text alone cannot be placed; give start and end, or {GIVE_TEXTS}",
)


def parse_results(
    table: RowTable,
    source: Source,
    *,
    name: str,
    task: str | None = None,
    inclusive: bool = False,
    unit: str = "codepoint",
    texts: Mapping[str, str] | None = None,
) -> Parsed:
    """Return the run of the good rows, in order within topics, and the problems of the others.

    The order is that of ranks, else of descending scores, else of the file. A result is given by
    offsets, an entry point or a path; else it is the whole document.
    """
    rules = [*_RULES, *list_offset_rules(inclusive=inclusive)]
    if texts is None:
        rules.append(_NO_TEXTS)
    table = table.check(source.path, rules)
    given = [c for c in ("rank", "score") if c in source.given or table.frame[c].count()]
    for order in given[:1]:  # all results must have what orders them
        message = f"{order} is missing here, but other results have one"
        rule = RowRule(f"run.{order}_missing", pl.col(order).is_null(), message)
        table = table.check(source.path, [rule])
    frame, problems = table
    if problems and not len(frame):
        return Parsed(None, [*problems])
    bare = frame.select(TEXT_ALONE).to_series()
    no_path = frame["xpath"].is_null() | is_root(frame["xpath"])
    frame = frame.with_columns(
        canonical_paths(frame["xpath"]),
        start=pl.coalesce("start", "bep"),
        end=pl.coalesce(pl.col("end") + int(inclusive), "bep"),
    )
    notes = tuple[str, ...]()
    try:
        frame = to_codepoints(frame, ("start", "end"), unit, texts, source.path)
        if bare.any():
            from foveal.formats.locate import TextLocator, place_rows

            frame, notes = place_rows(frame, source.path, TextLocator(texts), bare)
    except InputError as error:
        return Parsed(None, [*problems, *error.problems])
    whole = pl.when(no_path).then(0).otherwise(UNKNOWN)
    frame = frame.with_columns(pl.col("start").fill_null(whole), pl.col("end").fill_null(UNKNOWN))
    if given:
        key = frame["rank"] if "rank" in given else -frame["score"]
        frame = frame[np.lexsort((key.to_numpy(), number_rows(frame["topic"]).number))]
    optional = ["rank", "score", "xpath", "tokens"]
    optional = [c for c in optional if c in source.given or frame[c].count()]
    if "score" in optional and frame["score"].null_count():
        optional.remove("score")
        lines = frame.filter(pl.col("score").is_null())["line"]
        notes = (Tally(describe_unscored, len(lines), [lines.min()]), *notes)
    columns = frame.select("topic", "doc", "start", "end", "line", *optional)
    run = Run.from_frame(columns, name=name, source=source.provenance, task=task, notes=notes)
    return Parsed(run, [*problems])


def describe_unscored(number: int, first: Sequence[int]) -> str:
    """Return the note that `number` results have no score where others have one."""
    note = f"results without a score, so that all scores are left out: {number}"
    return f"{note}, the first on line {min(first)}"


# -- Parquet and Arrow -----------------------------------------------------------------------------

_COLUMNS = RESULT_COLUMNS | {"run": pl.String}
_STDERR = 2
_ALONE = Lock()  # standard error belongs to the whole process: one redirection at a time
_WORDS = {pl.Int64: "whole number", pl.Float64: "number", pl.String: "name"}


def parse_run(source: Source) -> Parsed:
    """Parse columns ``topic doc`` with ``start end``, ``xpath`` or ``bep``, ``rank score tokens``.

    A column ``run`` names the run. Lines in messages are row numbers from 1.
    """
    content = io.BytesIO(source.data)
    read = pl.read_ipc if source.data.startswith(b"ARROW1") else pl.read_parquet
    try:
        with catch_panics():
            frame = read(content)
    except (pl.exceptions.PanicException, pl.exceptions.PolarsError, OSError):
        message = "damaged Parquet or Arrow file: its columns cannot be decoded"
        raise source.error("file.damaged", None, message) from None
    missing = [name for name in ("topic", "doc") if name not in frame.columns]
    if missing:
        message = f"column {missing[0]} is missing; found {', '.join(frame.columns)}"
        raise source.error("run.columns", None, message)
    table = _cast_columns(frame, source)
    # A frame of a run shows a whole document as start 0 without end.
    whole = ((table.frame["start"] == 0) & table.frame["end"].is_null()).fill_null(value=False)
    table = table._replace(frame=table.frame.with_columns(table.frame["start"].set(whole, None)))
    names = table.frame["run"].drop_nulls().unique().sort().to_list()
    parsed = parse_results(table, source, name=names[0] if names else source.stem)
    if len(names) > 1:
        message = f"holds {len(names)} runs ({shorten_list(names)}); expected one"
        return Parsed(None, [*parsed.problems, Problem("run.name", source.path, None, message)])
    if parsed.content is None:
        return parsed
    unread = {UNKNOWN_FIELD + c.name: c.count() for c in frame if c.name not in _COLUMNS}
    unread["texts of results"] = table.frame["text"].count()
    return parsed._replace(content=replace(parsed.content, unread=+Counter(unread) or None))


def _cast_columns(frame: pl.DataFrame, source: Source) -> RowTable:
    """Return the columns of a run in their types, null where the file has none."""
    line = number_lines(source, len(frame))
    columns, rules = {"line": line}, list[RowRule]()
    for name, kind in _COLUMNS.items():
        given = frame.get_column(name, default=pl.repeat(None, len(frame), eager=True))
        try:
            column = given.cast(kind, strict=False)
        except pl.exceptions.PolarsError:
            message = f"column {name} is of type {given.dtype}; expected {_WORDS[kind]}s"
            raise source.error("run.columns", None, message) from None
        if kind == pl.Int64 and given.dtype.is_float():
            column = column.set(given != given.round(), None)
        message = f"{name} {{{name}}} is not a {_WORDS[kind]}"
        rules.append(RowRule("run.columns", column.is_null() & given.is_not_null(), message))
        columns[name] = column
    problems = check_rules(source.path, frame.with_columns(line), rules)
    return RowTable(pl.DataFrame(columns)).without(problems)


@contextmanager
def catch_panics() -> Iterator[None]:
    """Drop what is printed to standard error, where Polars prints a trace of a damaged file."""
    with _ALONE, Path(os.devnull).open("wb") as nothing, ExitStack() as stack:
        with suppress(OSError):  # no standard error
            kept = os.dup(_STDERR)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, _STDERR)
            os.dup2(nothing.fileno(), _STDERR)
        yield


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
