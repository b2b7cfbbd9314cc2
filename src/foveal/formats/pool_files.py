"""Pools as JSON Lines: documents, spans or elements to assess, their order and their runs."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.atomic import write_file
from foveal.files.source import Source
from foveal.formats.base import JSON_FORMATS, Format, Parsed, json_kind
from foveal.formats.checks import Defects, check_given, check_names, check_required, check_xpaths
from foveal.formats.objects import header_of, header_problems, read_objects
from foveal.lookup import number_rows, sort_topics
from foveal.model.run import ALL

__all__ = [
    "FORMAT",
    "FORMATS",
    "POOL_COLUMNS",
    "UNITS",
    "Pool",
    "parse_pool",
    "pool_lines",
    "read_pool",
    "write_pool",
]

FORMAT = JSON_FORMATS["pool"][0]
UNITS = ("document", "span", "element")
"""Kinds of things that are pooled, one per line."""

POOL_COLUMNS: dict[str, Any] = {
    "topic": pl.String,
    "doc": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
    "xpath": pl.String,
    "priority": pl.Int64,
    "rank": pl.Int64,
    "relevant": pl.Boolean,
    "runs": pl.List(pl.Struct({"run": pl.String, "rank": pl.Int64})),
    "support": pl.List(
        pl.Struct(
            {
                "run": pl.String,
                "rank": pl.Int64,
                "start": pl.Int64,
                "end": pl.Int64,
                "xpath": pl.String,
            }
        )
    ),
}
"""The columns of `Pool.entries`, which are the fields of a line."""

_OPTIONAL = ("start", "end", "xpath", "relevant", "support")


@dataclass(frozen=True, eq=False)
class Pool:
    """Documents, spans or elements to assess.

    Parameters
    ----------
    entries : polars.DataFrame
        A row for each unit, topics in canonical order and by priority within them, with the
        columns of `POOL_COLUMNS`. ``priority`` counts from 1 in each topic. ``runs`` are those
        that return the unit, each with the unit's place among the units of its list; ``rank`` is
        the best of these. ``support`` holds the results that runs returned of a document, each
        with its place in the list of its run. Offsets are null for a whole document, and where
        only an XPath is known.
    unit : {"document", "span", "element"}
    header : mapping
        How the pool was made.
    """

    entries: pl.DataFrame
    unit: str = UNITS[0]
    header: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<Pool: {len(self.topics)} topics, {len(self)} {self.unit}s>"

    def _repr_html_(self) -> str:
        return f"<p>{repr(self)[1:-1]}</p>{self.entries.head(10)._repr_html_()}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that have something to assess, in canonical order."""
        return sort_topics(self.entries["topic"].unique().to_list())

    @property
    def sizes(self) -> dict[str, int]:
        """Topic to the number of its units."""
        counts = dict(self.entries.group_by("topic").len().iter_rows())
        return {topic: counts[topic] for topic in self.topics}

    def topic(self, name: str) -> pl.DataFrame:
        """Return the units of one topic, by priority."""
        return self.entries.filter(pl.col("topic") == name).sort("priority")


def pool_lines(pool: Pool) -> str:
    """Return the pool as JSON Lines; columns without any value are left out."""
    header = {
        "type": "header",
        "format": FORMAT,
        "version": 1,
        "unit": "codepoint",
        "end": "exclusive",
        "pooled": pool.unit,
        **pool.header,
    }
    entries = pool.entries
    entries = entries.drop(name for name in _OPTIONAL if entries[name].null_count() == len(entries))
    if "support" in entries.columns:
        inner = entries["support"].explode().drop_nulls().struct.unnest()
        kept = [name for name in inner.columns if inner[name].null_count() < len(inner)]
        fields = pl.struct(pl.element().struct.field(name) for name in kept)
        entries = entries.with_columns(pl.col("support").list.eval(fields))
    lines = io.BytesIO()
    entries.write_ndjson(lines)
    return json.dumps(header, ensure_ascii=False) + "\n" + lines.getvalue().decode()


def write_pool(pool: Pool, path: str | Path) -> None:
    """Write a pool, completely or not at all; ``-`` is standard output."""
    write_file(path, pool_lines(pool))


def read_pool(path: str | Path | Source) -> Pool:
    r"""Read a pool.

    >>> text = '{"type":"header","format":"foveal-pool","version":1,"pooled":"document"}'
    >>> text += '\n{"topic":"7","doc":"d1","priority":1,"rank":2,"runs":[{"run":"a","rank":2}]}'
    >>> pool = read_pool(Source.of_text(text))
    >>> pool, pool.entries["rank"].to_list()
    (<Pool: 1 topics, 1 documents>, [2])
    """
    pool: Pool = parse_pool(path if isinstance(path, Source) else Source.open(path)).checked()
    return pool


def parse_pool(source: Source) -> Parsed:
    """Return the pool of the good lines, and the problems of the others."""
    header, line = header_of(source)
    try:
        if not header:
            message = f"this is no pool; expected a first line with format {FORMAT!r}"
            raise source.error("pool.format", None, message)
        if wrong := header_problems(source, header, line, (FORMAT,)):
            raise InputError(wrong.values())
        unit, end = header.get("unit", "codepoint"), header.get("end", "exclusive")
        if (unit, end) != ("codepoint", "exclusive"):
            message = f"offsets are {unit}, {end}; expected codepoint, exclusive"
            raise source.error("pool.header", line, message)
        pooled = header.get("pooled", UNITS[0])
        if pooled not in UNITS:
            message = f"header says pooled {pooled!r}; expected {' or '.join(UNITS)}"
            raise source.error("pool.header", line, message)
        table = read_objects(source, POOL_COLUMNS, line)
    except InputError as error:
        return Parsed(None, [*error.problems])
    problems = _find_problems(Defects(source, table.line), table.frame, pooled)
    bad = np.isin(table.line, [problem.line or 0 for problem in problems])
    entries = table.frame.filter(~pl.Series(bad) & (table.frame["topic"] != ALL))
    if problems and not len(entries):
        return Parsed(None, problems)
    topics = sort_topics(entries["topic"].to_list())
    place = pl.DataFrame({"topic": topics, "place": range(len(topics))}, schema=_PLACES)
    entries = entries.join(place, on="topic", maintain_order="left").sort("place", "priority")
    known = ("type", "format", "version", "unit", "end", "pooled")
    kept = {name: value for name, value in header.items() if name not in known}
    return Parsed(Pool(entries.drop("place"), pooled, kept), problems)


_PLACES = {"topic": pl.String, "place": pl.Int64}


def _find_problems(defects: Defects, entries: pl.DataFrame, pooled: str) -> list[Problem]:
    """Find entries that lack something, have an impossible value, or repeat another."""
    problems = check_required(defects, entries)
    problems += check_names(defects, entries["topic"].fill_null(""))
    for name in ("priority", "rank"):
        wrong = (entries[name].fill_null(0) < 1).to_numpy()
        message = f"{name} {{}}; expected a whole number from 1"
        problems += defects.at(f"pool.{name}", wrong, message, entries[name])
    bare = (entries["runs"].list.len().fill_null(0) == 0).to_numpy()
    message = "runs is missing; expected who returned it, and where"
    problems += defects.at("pool.runs", bare, message)
    start, end = entries["start"], entries["end"]
    problems += check_given(defects, start, end)
    problems += check_xpaths(defects, entries["xpath"])
    backwards = (end < start).fill_null(value=False).to_numpy()
    problems += defects.at("span.offset", backwards, "end {1} is before start {0}", start, end)
    if problems:
        return problems
    unit = ["topic", "doc", *({"span": ["start", "end"], "element": ["xpath"]}.get(pooled, []))]
    for keys, what in ((unit, f"the {pooled}"), (["topic", "priority"], "the priority")):
        first_rows, number = number_rows(*entries.select(keys))
        first = first_rows[number]
        again = np.flatnonzero(first != np.arange(len(first)))
        message = f"{what} of line {{}} again; expected each once"
        problems += defects.at("pool.repeated", again, message, defects.line[first])
    return problems


FORMATS = (
    Format(
        "jsonl",
        "pool",
        """Pools of documents, spans or elements to assess, as JSON Lines.

A header with the format `foveal-pool` says how the pool was made and what a line is (`pooled`).
Each line has `topic`, `doc`, `priority` and `rank` from 1, and `runs`, the runs that returned it
with its place in each. Spans have `start` and `end`, elements an `xpath`; `support` lists results
that runs returned of a document.""",
        '{"type":"header","format":"foveal-pool","version":1,"pooled":"document"}\n'
        '{"topic":"7","doc":"d1","priority":1,"rank":2,"runs":[{"run":"a","rank":2}]}\n',
        lambda source: json_kind(source) == "pool",
        parse_pool,
        pool_lines,
    ),
)
