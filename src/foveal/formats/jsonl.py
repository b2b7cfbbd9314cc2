"""JSON Lines: runs and judgements, one object per line, an optional header first."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from foveal.formats.checks import (
    Defects,
    check_given,
    check_lengths,
    check_names,
    check_required,
    check_spans,
)
from foveal.formats.grades import relevant_rows
from foveal.formats.lines import check_rows
from foveal.formats.objects import header_of, read_objects
from foveal.formats.placing import check_results, places
from foveal.formats.ranking import ranked
from foveal.formats.source import Source
from foveal.formats.units import ENDS, UNITS, to_codepoints
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Ints

__all__ = [
    "JUDGEMENT_FORMATS",
    "RUN_FORMATS",
    "read_judgements",
    "read_run",
    "write_judgements",
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
}
_SPAN: dict[str, Any] = {
    "start": pl.Int64,
    "end": pl.Int64,
    "grade": pl.Float64,
    "assessor": pl.String,
    "quote": pl.String,
    "prefix": pl.String,
    "suffix": pl.String,
}
_ELEMENT: dict[str, Any] = {
    "xpath": pl.String,
    "exhaustivity": pl.String,
    "specificity": pl.String,
    "relevance": pl.String,
    "coverage": pl.String,
    "size": pl.Int64,
    "rsize": pl.Int64,
}
_JUDGEMENT: dict[str, Any] = {
    "topic": pl.String,
    "doc": pl.String,
    "length": pl.Int64,
    "bep": pl.Int64,
    "assessor": pl.String,
    "spans": pl.List(pl.Struct(_SPAN)),
    "elements": pl.List(pl.Struct(_ELEMENT)),
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
RUN_FORMATS = ("foveal-run", "focused-run")
JUDGEMENT_FORMATS = ("foveal-judgements", "focused-qrels")


def _declared(
    source: Source, header: Mapping[str, Any], line: int, allowed: tuple[str, ...]
) -> tuple[str, str]:
    """Unit and kind of end that the header declares, checked."""
    known: dict[str, tuple[str, ...]] = {"format": allowed, "unit": UNITS, "end": ENDS}
    for name, options in known.items():
        if header.get(name, options[0]) not in options:
            raise source.error(
                line, f"header says {name} {header[name]!r}; expected {' or '.join(options)}"
            )
    for name in ("run", "task"):
        value = header.get(name)
        if value is not None and (not isinstance(value, str) or _CONTROL.search(value)):
            raise source.error(
                line, f"header says {name} {value!r}; expected text without control characters"
            )
    if header.get("version", 1) != 1:
        raise source.error(line, f"version {header['version']!r} is not known; expected 1")
    return header.get("unit", UNITS[0]), header.get("end", ENDS[0])


def read_run(source: Source, *, texts: Mapping[str, str] | None = None) -> Run:
    """A run, ordered by rank, else by descending score, else as in the file."""
    header, header_line = header_of(source)
    unit, end_kind = _declared(source, header, header_line, RUN_FORMATS)
    table = read_objects(source, _RUN, header_line)
    frame, defects = table.frame, Defects(source, table.line)
    check_results(defects, frame)
    start, end = places(frame, inclusive=end_kind == "inclusive")
    defects.raise_if(check_spans(defects, start, end))
    if unit != "codepoint":
        start = to_codepoints(start, frame["doc"], unit, texts, defects)
        end = to_codepoints(end, frame["doc"], unit, texts, defects)
    run = ranked(
        frame.with_columns(pl.Series("start", start), pl.Series("end", end)),
        table.line,
        defects,
        name=str(header.get("run") or source.stem),
        task=header.get("task"),
    )
    whole = (end < 0) & (start == 0)
    return replace(run, notes=(*run.notes, *_misread(source, table.line[whole])))


def _misread(source: Source, lines: Ints) -> list[str]:
    """Whole documents whose line holds fields that Foveal does not know may be meant as spans."""
    if not len(lines):
        return []
    text = source.data.split(b"\n", int(lines[0]))[int(lines[0]) - 1]
    unknown = [name for name in json.loads(text) if name not in _RUN]
    if not unknown:
        return []
    where = f"not understood on line {int(lines[0])}: {', '.join(unknown[:5])}"
    return [f"results without start and end, taken as whole documents: {len(lines)}; {where}"]


def write_run(run: Run) -> str:
    """The run with a header; everything that Foveal knows of a run is kept."""
    header = {"type": "header", "format": RUN_FORMATS[0], "version": 1, "run": run.name}
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


def read_judgements(source: Source, *, texts: Mapping[str, str] | None = None) -> Judgements:
    """Judgements with spans, best entry points, assessors and elements."""
    header, header_line = header_of(source)
    unit, end_kind = _declared(source, header, header_line, JUDGEMENT_FORMATS)
    table = read_objects(source, _JUDGEMENT, header_line)
    frame, defects = table.frame, Defects(source, table.line)
    problems = check_required(defects, frame)
    problems += check_names(defects, frame["topic"].fill_null(""))
    problems += defects.at(
        frame["spans"].is_null().to_numpy() & frame["elements"].is_null().to_numpy(),
        'spans is missing; a document without relevant text has "spans":[]',
    )
    defects.raise_if(problems)

    # One row per topic, document and assessor: spans may name another assessor than the line.
    rows = frame.select("topic", "doc", "length", "bep", "assessor").with_columns(
        line=pl.Series(table.line), place=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    flat = (
        frame.select(
            "spans", place=pl.int_range(pl.len(), dtype=pl.Int64), line_assessor="assessor"
        )
        .explode("spans")
        .drop_nulls("spans")
        .unnest("spans")
        .with_columns(assessor=pl.coalesce("assessor", "line_assessor"))
        .sort("place", "assessor", maintain_order=True)
    )
    rows = _split_by_assessor(rows, flat)
    flat = flat.join(
        rows.with_row_index("row").select("row", "place", "assessor"),
        on=["place", "assessor"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    ).sort("row", maintain_order=True)

    inner = Defects(source, table.line[flat["place"].to_numpy()])
    missing = flat["start"].is_null() | flat["end"].is_null()
    inner.raise_if([*inner.at(missing.to_numpy(), "a span lacks its start or end")])
    inner.raise_if(check_given(inner, flat["start"], flat["end"]))
    start, end = flat["start"].to_numpy().copy(), flat["end"].to_numpy().copy()
    end += end_kind == "inclusive"
    inner.raise_if(check_spans(inner, start, end))
    if unit != "codepoint":
        docs = rows["doc"].gather(flat["row"])
        start = to_codepoints(start, docs, unit, texts, inner)
        end = to_codepoints(end, docs, unit, texts, inner)
        outer = Defects(source, rows["line"].to_numpy())
        convert: Callable[[str], Ints] = lambda name: to_codepoints(  # noqa: E731
            rows[name].fill_null(UNKNOWN).to_numpy(), rows["doc"], unit, texts, outer
        )
        rows = rows.with_columns(
            pl.Series("length", convert("length")), pl.Series("bep", convert("bep"))
        )
    check_lengths(Defects(source, rows["line"].to_numpy()), rows, flat["row"].to_numpy(), end)
    quotes = flat.select("quote", "prefix", "suffix")
    known = [name for name in ("collection", "scale", "whitespace") if name in header]
    elements = _elements(frame, rows)
    has_text = bool(frame["spans"].is_not_null().any())
    if not has_text:
        relevant = relevant_rows(elements, len(rows), header.get("scale"))
        rows = rows.with_columns(relevant=pl.Series(relevant))
    judgements = Judgements.from_rows(
        rows,
        np.bincount(flat["row"].to_numpy(), minlength=len(rows)).astype(np.int64),
        start,
        end,
        source=source.provenance,
        grade=flat["grade"].fill_null(1.0).to_numpy(),
        quotes=None
        if all(quotes[c].null_count() == len(quotes) for c in quotes.columns)
        else quotes,
        has_text=has_text,
        elements=elements,
        header={name: header[name] for name in known},
    )
    judgements.check_distinct()
    return judgements


def _split_by_assessor(rows: pl.DataFrame, flat: pl.DataFrame) -> pl.DataFrame:
    """A row for each assessor of a line; a line whose spans name none keeps its own."""
    named = flat.select("place", "assessor").unique(maintain_order=True)
    with_spans = rows.drop("assessor").join(named, on="place", how="inner", maintain_order="left")
    without = rows.join(named.select("place"), on="place", how="anti", maintain_order="left")
    both = pl.concat([with_spans, without.select(with_spans.columns)])
    return both.sort("place", maintain_order=True)


def _elements(frame: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame | None:
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    flat = frame.select("elements", place=place).explode("elements").drop_nulls("elements")
    if not len(flat):
        return None
    first = rows.with_row_index("row").group_by("place", maintain_order=True).first()
    first = first.select("place", pl.col("row").cast(pl.Int64))
    return flat.unnest("elements").join(first, on="place", maintain_order="left").drop("place")


def write_judgements(judgements: Judgements) -> str:
    """Judgements with a header, one line per topic, document and assessor; nothing is lost."""
    _check_writable(judgements)
    lines = [
        json.dumps(
            {
                "type": "header",
                "format": JUDGEMENT_FORMATS[0],
                "version": 1,
                "unit": "codepoint",
                "end": "exclusive",
                **(judgements.header or {}),
            },
            ensure_ascii=False,
        )
    ]
    elements = (
        {}
        if judgements.elements is None
        else judgements.elements.partition_by("row", as_dict=True, include_key=False)
    )
    quotes = None if judgements.quotes is None else judgements.quotes.to_dicts()
    for i in range(len(judgements)):
        own = range(int(judgements.bounds[i]), int(judgements.bounds[i + 1]))
        record: dict[str, Any] = {
            "topic": judgements.topics[judgements.topic[i]],
            "doc": judgements.doc[i],
        }
        for name in ("length", "bep"):
            value = int(getattr(judgements, name)[i])
            if value >= 0:
                record[name] = value
        if judgements.assessor is not None and judgements.assessor[i] is not None:
            record["assessor"] = judgements.assessor[i]
        if judgements.has_text:
            record["spans"] = [_span(judgements, k, quotes) for k in own]
        if (i,) in elements:
            record["elements"] = [
                {name: value for name, value in row.items() if value is not None}
                for row in elements[i,].to_dicts()
            ]
        elif not judgements.has_text:
            record["elements"] = []
        lines.append(json.dumps(record, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def _check_writable(judgements: Judgements) -> None:
    """Refuse relevance that neither spans nor elements tell."""
    if judgements.has_text:
        return
    if judgements.places is not None:
        by_path = np.isin(np.arange(len(judgements)), judgements.places["row"].to_numpy())
        what = "a passage or entry point given as an XPath, which a collection must place first"
        check_rows(judgements, by_path, what, instead="INEX XML")
    scale = (judgements.header or {}).get("scale")
    told = relevant_rows(judgements.elements, len(judgements), scale)
    check_rows(
        judgements, judgements.relevant & ~told, "relevant as a whole document", instead="TREC"
    )


def _span(judgements: Judgements, k: int, quotes: list[dict[str, Any]] | None) -> dict[str, Any]:
    span: dict[str, Any] = {"start": int(judgements.start[k]), "end": int(judgements.end[k])}
    if judgements.grade is not None:
        grade = float(judgements.grade[k])
        span["grade"] = int(grade) if grade.is_integer() else grade
    if quotes is not None:
        span |= {name: value for name, value in quotes[k].items() if value is not None}
    return span
