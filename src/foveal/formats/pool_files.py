"""Pools as JSON Lines: documents, spans or elements to assess, their order and their runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from foveal.files.atomic import write_file
from foveal.files.source import Source
from foveal.formats import JSON_FORMATS, Format, json_kind, parse_with
from foveal.formats.objects import CODEPOINTS, OFFSETS, find_header, read_header, tabulate_objects
from foveal.formats.rows import NAME_RULES, RULES, RowRule, list_offset_rules
from foveal.lookup import sort_topics

FORMAT = JSON_FORMATS["pool"][0]
UNITS = ("document", "span", "element")  # what is pooled, one per line

_RUN = {"run": pl.String, "rank": pl.Int64}
_PLACE = {"start": pl.Int64, "end": pl.Int64, "xpath": pl.String}
POOL_COLUMNS: dict[str, Any] = {  # of `Pool.entries`, which are the fields of a line
    "topic": pl.String,
    "doc": pl.String,
    **_PLACE,
    "priority": pl.Int64,
    "rank": pl.Int64,
    "relevant": pl.Boolean,
    "runs": pl.List(pl.Struct(_RUN)),
    "support": pl.List(pl.Struct(_RUN | _PLACE)),
}
_OPTIONAL = ("start", "end", "xpath", "relevant", "support")


_RULES = (
    *NAME_RULES,
    *(
        RowRule(f"pool.{name}", pl.col(name).fill_null(0) < 1, f"{name} {{{name}}}; expected 1 on")
        for name in ("priority", "rank")
    ),
    RowRule(
        "pool.runs",
        pl.col("runs").list.len().fill_null(0) == 0,
        "runs is missing; expected who returned it, and where",
    ),
    *list_offset_rules(),
    RULES["xpath"],
    RowRule(
        "pool.repeated",
        ~pl.struct("topic", "priority").is_first_distinct(),
        "a second priority {priority} for topic {topic}; expected each once",
    ),
)


@dataclass(frozen=True, eq=False)
class Pool:
    """Documents, spans or elements to assess.

    `entries` has a row for each unit, topics in canonical order and by priority within them, with
    the columns of `POOL_COLUMNS`. ``priority`` counts from 1 in each topic. ``runs`` are those that
    return the unit, each with the unit's place among the units of its list; ``rank`` is the best of
    these. ``support`` holds the results that runs returned of a document, each with its place in
    the list of its run. Offsets are null for a whole document, and where only an XPath is known.
    The header says how the pool was made.
    """

    entries: pl.DataFrame
    unit: str = UNITS[0]
    header: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<Pool: {len(self.topics)} topics, {len(self)} {self.unit}s>"

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
    header = {"type": "header", "format": FORMAT, "version": 1, **OFFSETS}
    header |= {"pooled": pool.unit, **pool.header}
    entries = pool.entries
    entries = entries.drop(name for name in _OPTIONAL if not entries[name].count())
    if "support" in entries.columns:
        inner = entries["support"].explode().drop_nulls().struct.unnest()
        fields = (pl.element().struct.field(column.name) for column in inner if column.count())
        entries = entries.with_columns(pl.col("support").list.eval(pl.struct(fields)))
    return json.dumps(header, ensure_ascii=False) + "\n" + entries.write_ndjson()


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
    source = Source.of(path)
    if not find_header(source)[0]:
        message = f"this is not a pool; expected a first line with format {FORMAT!r}"
        raise source.error("pool.format", None, message)
    header, line = read_header(source, format=(FORMAT,), **CODEPOINTS)
    pooled = header.get("pooled", UNITS[0])
    if pooled not in UNITS:
        message = f"header says pooled {pooled!r}; expected {' or '.join(UNITS)}"
        raise source.error("pool.header", line, message)
    unit = {"span": ("start", "end"), "element": ("xpath",)}.get(pooled, ())
    repeated = RowRule(
        "pool.repeated",
        ~pl.struct("topic", "doc", *unit).is_first_distinct(),
        f"a second {pooled} of document {{doc}} for topic {{topic}}; expected each once",
    )
    table = tabulate_objects(source, POOL_COLUMNS, line).check(source.path, [*_RULES, repeated])
    entries = table.require_valid().frame.drop("line")
    place = {topic: i for i, topic in enumerate(sort_topics(entries["topic"].to_list()))}
    entries = entries.sort(pl.col("topic").replace_strict(place, return_dtype=pl.Int64), "priority")
    known = ("type", "format", "version", "unit", "end", "pooled")
    kept = {name: value for name, value in header.items() if name not in known}
    return Pool(entries, pooled, kept)


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
        parse_with(read_pool),
        pool_lines,
    ),
)
