"""JSON Lines runs: one object per result, an optional header first."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from foveal.errors import Tally
from foveal.files.source import Source
from foveal.formats.base import Format, json_kind, parse_with
from foveal.formats.checks import Defects
from foveal.formats.detection import JSON_FORMATS
from foveal.formats.objects import declared_units, header_of, header_problems, read_objects
from foveal.formats.ranking import place_results, ranked, with_costs
from foveal.formats.xpaths import canonical_paths
from foveal.model import Run
from foveal.spans import Ints

__all__ = [
    "FORMATS",
    "declared_units",
    "header_problems",
    "read_run",
    "taken_whole",
    "write_run",
]

_RUN: dict[str, Any] = {
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
    "type": pl.String,
}


def read_run(source: Source, *, texts: Mapping[str, str] | None = None) -> Run:
    """Read a run, ordered by rank, else by descending score, else as in the file."""
    header, header_line = header_of(source)
    unit, end_kind = declared_units(source, header, header_line, JSON_FORMATS["run"])
    table = read_objects(source, _RUN, header_line)
    frame, defects = table.frame, Defects(source, table.line)
    again = (frame["type"] == "header").fill_null(value=False)
    if again.any():
        problems = defects.at(
            "unclassified", again.to_numpy(), "a second header; expected one run in a file"
        )
        defects.raise_if([*problems])
    start, end = place_results(frame, defects, inclusive=end_kind == "inclusive")
    if unit != "codepoint":
        from foveal.formats.units import to_codepoints

        start = to_codepoints(start, frame["doc"], unit, texts, defects)
        end = to_codepoints(end, frame["doc"], unit, texts, defects)
    run = ranked(
        frame.with_columns(
            canonical_paths(frame["xpath"]), pl.Series("start", start), pl.Series("end", end)
        ),
        table.line,
        defects,
        name=str(header.get("run") or source.stem),
        task=header.get("task"),
    )
    run = with_costs(run, frame["tokens"], defects)
    notes, unread = run.notes, dict[str, int]()
    whole = (end < 0) & (start == 0)
    if whole.any():
        notes += _note_whole_documents(source, table.line[whole])
    if source.thorough:
        from foveal.formats.unknown import unknown_fields

        unread = unknown_fields(source, frame, header_line)
    if frame["text"].count():
        unread["texts of results"] = frame["text"].count()
    return replace(run, notes=notes, unread=unread or None)


def _note_whole_documents(source: Source, lines: Ints) -> tuple[str, ...]:
    """Return a note if the first of these results has unknown fields: they may be its span."""
    place = source.place(int(lines[0]))
    text = source.data.split(b"\n", place)[place - 1]
    unknown = [name for name in json.loads(text) if name not in _RUN]
    found = Tally(taken_whole, len(lines), [(int(lines[0]), unknown)])
    # The first such result of the file may be in another part of it.
    return (found,) if found or source.lines is not None else ()


def taken_whole(number: int, firsts: Sequence[tuple[int, list[str]]]) -> str:
    """Say that `number` results are whole documents, the first of which has unknown fields."""
    line, unknown = min(firsts)
    if not unknown:
        return ""
    where = f"not understood on line {line}: {', '.join(unknown[:5])}"
    return f"results without start and end, taken as whole documents: {number}; {where}"


def write_run(run: Run) -> str:
    """The run with a header; everything that Foveal knows of a run is kept."""
    header = {"type": "header", "format": JSON_FORMATS["run"][0], "version": 1, "run": run.name}
    if run.task is not None:
        header["task"] = run.task
    header |= {"unit": "codepoint", "end": "exclusive"}
    frame = run.to_frame()
    whole = pl.col("end").is_null()
    frame = frame.with_columns(start=pl.when(~whole).then("start"))
    return _objects(header, frame)


def _objects(header: Mapping[str, Any], frame: pl.DataFrame) -> str:
    """Header and rows as lines; nulls are left out."""
    lines = [json.dumps(header, ensure_ascii=False)]
    for row in frame.iter_rows(named=True):
        kept = {name: value for name, value in row.items() if value is not None}
        lines.append(json.dumps(kept, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


FORMATS = (
    Format(
        "jsonl",
        "run",
        "JSON Lines: one object per result.",
        '{"topic": "1", "doc": "fords", "score": 7.5, "start": 100, "end": 400}\n',
        lambda source: json_kind(source) == "run",
        parse_with(read_run),
        write_run,
        uses_texts=True,
    ),
)
