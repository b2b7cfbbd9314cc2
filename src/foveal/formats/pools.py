"""Pools as JSON Lines: what is to be assessed, in which order, and which runs returned it.

A header says how the pool was made; every further line is one document, span or element of one
topic. With a document stand its support elements: all that the runs returned of it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import Problem
from foveal.files.atomic import write_file
from foveal.files.source import Source
from foveal.formats.base import JSON_FORMATS
from foveal.formats.checks import Defects, check_given, check_names, check_required, check_xpaths
from foveal.formats.objects import declared_units, header_of, read_objects
from foveal.model.hashing import first_of_group, topic_order

__all__ = ["FORMAT", "POOL_COLUMNS", "UNITS", "Pool", "pool_lines", "read_pool", "write_pool"]

FORMAT = JSON_FORMATS["pool"][0]
UNITS = ("document", "span", "element")
"""What is pooled: what one line of a pool is."""

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
    """What is to be assessed.

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
        return topic_order(self.entries["topic"].unique().to_list())

    @property
    def sizes(self) -> dict[str, int]:
        """Topic to the number of its units."""
        counts = dict(self.entries.group_by("topic").len().iter_rows())
        return {topic: counts[topic] for topic in self.topics}

    def topic(self, name: str) -> pl.DataFrame:
        """The units of one topic, by priority."""
        return self.entries.filter(pl.col("topic") == name).sort("priority")


def pool_lines(pool: Pool) -> str:
    """The pool as JSON Lines; columns without any value are left out."""
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
        entries = entries.with_columns(_shorter(entries["support"]))
    lines = io.BytesIO()
    entries.write_ndjson(lines)
    return json.dumps(header, ensure_ascii=False) + "\n" + lines.getvalue().decode()


def _shorter(support: pl.Series) -> pl.Series:
    """Support elements without the fields that none of them has."""
    inner = support.explode().drop_nulls().struct.unnest()
    kept = [name for name in inner.columns if inner[name].null_count() < len(inner)]
    frame = support.to_frame("support")
    return frame.select(
        pl.col("support").list.eval(pl.struct(pl.element().struct.field(name) for name in kept))
    ).to_series()


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
    source = path if isinstance(path, Source) else Source.open(path)
    header, line = header_of(source)
    if not header:
        raise source.error(
            "unclassified", None, f"this is no pool; expected a first line with format {FORMAT!r}"
        )
    unit, end = declared_units(source, header, line, (FORMAT,))
    if (unit, end) != ("codepoint", "exclusive"):
        raise source.error(
            "unclassified", line, f"offsets are {unit}, {end}; expected codepoint, exclusive"
        )
    pooled = header.get("pooled", UNITS[0])
    if pooled not in UNITS:
        raise source.error(
            "unclassified", line, f"header says pooled {pooled!r}; expected {' or '.join(UNITS)}"
        )
    table = read_objects(source, POOL_COLUMNS, line)
    defects = Defects(source, table.line)
    defects.raise_if(_problems(defects, table.frame, pooled))
    known = ("type", "format", "version", "unit", "end", "pooled")
    kept = {name: value for name, value in header.items() if name not in known}
    return Pool(_sorted(table.frame), pooled, kept)


def _problems(defects: Defects, entries: pl.DataFrame, pooled: str) -> list[Problem]:
    """What an entry lacks, holds but may not, or repeats."""
    problems = check_required(defects, entries)
    problems += check_names(defects, entries["topic"].fill_null(""))
    for name in ("priority", "rank"):
        wrong = (entries[name].fill_null(0) < 1).to_numpy()
        problems += defects.at(
            "unclassified", wrong, f"{name} {{}}; expected a whole number from 1", entries[name]
        )
    bare = entries["runs"].list.len().fill_null(0) == 0
    problems += defects.at(
        "unclassified", bare.to_numpy(), "runs is missing; expected who returned it, and where"
    )
    problems += check_given(defects, entries["start"], entries["end"])
    problems += check_xpaths(defects, entries["xpath"])
    backwards = (entries["end"] < entries["start"]).fill_null(value=False).to_numpy()
    problems += defects.at(
        "unclassified", backwards, "end {1} is before start {0}", entries["start"], entries["end"]
    )
    if problems:
        return problems
    unit = ["topic", "doc", *({"span": ["start", "end"], "element": ["xpath"]}.get(pooled, []))]
    for keys, what in ((unit, f"the {pooled}"), (["topic", "priority"], "the priority")):
        first = first_of_group(entries.select(keys))
        again = np.flatnonzero(first != np.arange(len(first)))
        before = defects.line[first]
        problems += defects.at(
            "unclassified", again, f"{what} of line {{}} again; expected each once", before
        )
    return problems


def _sorted(entries: pl.DataFrame) -> pl.DataFrame:
    order = {topic: i for i, topic in enumerate(topic_order(entries["topic"].to_list()))}
    place = np.array([order[topic] for topic in entries["topic"].to_list()], dtype=np.int64)
    return (
        entries.with_columns(place=pl.Series(place, dtype=pl.Int64))
        .sort("place", "priority")
        .drop("place")
    )
