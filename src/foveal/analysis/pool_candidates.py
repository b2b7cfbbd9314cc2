"""What runs return, as the units that a pool is made of: documents, spans or elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from foveal.analysis.pooling import UNJUDGED, Lists
from foveal.errors import InputError, Problem, UsageError, some
from foveal.formats.checks import is_root
from foveal.formats.pool_files import UNITS
from foveal.measures.alignment import Alignment, Gold
from foveal.model import Judgements, Run
from foveal.model.hashing import first_of_group, topic_order
from foveal.model.run import distinct_names
from foveal.spans import Ints

__all__ = ["Candidates", "Depth"]

Depth = int | Mapping[str, int | None] | None

_KEYS = {
    "document": ("topic", "doc"),
    "span": ("topic", "doc", "start", "end"),
    "element": ("topic", "doc", "xpath"),
}
"""What makes a unit the same in two runs; topics are numbered."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The units that runs return, to some depth.

    Parameters
    ----------
    unit : {"document", "span", "element"}
    runs : tuple of Run
    names : tuple of str
        The runs' names, each once.
    topics : tuple of str
        In canonical order.
    units : polars.DataFrame
        The distinct units, sorted by the columns that identify them: ``topic`` (a number), ``doc``
        and for spans and elements their place. ``known`` tells which are judged, and how.
    of, by, rank : int64 arrays
        The number of a unit, that of a run which returns it, and its place among that run's units
        of the topic, from 1.
    """

    unit: str
    runs: tuple[Run, ...]
    names: tuple[str, ...]
    topics: tuple[str, ...]
    units: pl.DataFrame
    of: Ints
    by: Ints
    rank: Ints

    @classmethod
    def collect(
        cls,
        runs: Sequence[Run],
        *,
        unit: str = UNITS[0],
        depth: Depth = None,
        judgements: Judgements | None = None,
        topics: Iterable[str] | None = None,
    ) -> Candidates:
        """The first `depth` units of each run on each topic.

        A mapping has a depth for each topic, None where lists are looked at to their ends.
        `judgements` are combined ones; `topics` leaves out all others.
        """
        if unit not in UNITS:
            raise UsageError(f"unknown unit {unit!r}; expected {' or '.join(UNITS)}")
        if not runs:
            raise UsageError("no run given")
        names = distinct_names((run.name, run.source) for run in runs)
        runs = _on_topics(runs, topics)
        order = topic_order(topic for run in runs for topic in run.topics)
        number = {topic: i for i, topic in enumerate(order)}
        judged = None if judgements is None else Gold(judgements)
        every = pl.concat(
            _units(run, unit, depth, number, judged).with_columns(run=pl.lit(i))
            for i, run in enumerate(runs)
        )
        keys = list(_KEYS[unit])
        # A unit that some run cannot place is judged by another that can.
        units = every.group_by(keys).agg(pl.col("known").max()).sort(keys)
        found = every.drop("known").join(
            units.select(*keys, of=pl.int_range(pl.len(), dtype=pl.Int64)),
            on=keys,
            how="left",
            nulls_equal=True,
        )
        found = found.select("of", "run", "rank").sort("of", "run")
        columns = (found[name].cast(pl.Int64).to_numpy() for name in ("of", "run", "rank"))
        return cls(unit, tuple(runs), names, order, units, *columns)

    @cached_property
    def known(self) -> Ints:
        """What is known of each unit: relevant, not relevant, unjudged."""
        return self.units["known"].to_numpy()

    @cached_property
    def bounds(self) -> Ints:
        """Where the units of each topic begin, and of the last one end."""
        topic = self.units["topic"].to_numpy()
        return np.searchsorted(topic, np.arange(len(self.topics) + 1))

    def lists(self, topic: int) -> Lists:
        """What the runs return for the topic of this number."""
        low, high = self.bounds[topic : topic + 2].tolist()
        first, last = np.searchsorted(self.of, [low, high]).tolist()
        rank = np.zeros((high - low, len(self.runs)), dtype=np.int64)
        rank[self.of[first:last] - low, self.by[first:last]] = self.rank[first:last]
        return Lists(rank, self.known[low:high])

    @cached_property
    def best(self) -> Ints:
        """The best rank of each unit."""
        best = np.full(len(self.units), np.iinfo(np.int64).max)
        np.minimum.at(best, self.of, self.rank)
        return best


def _on_topics(runs: Sequence[Run], topics: Iterable[str] | None) -> list[Run]:
    """The runs on these topics alone; a topic that no run has is an error."""
    if topics is None:
        return list(runs)
    wanted = set(topics)
    there = {topic for run in runs for topic in run.topics}
    missing = topic_order(wanted - there)
    if missing:
        raise UsageError(f"no run has a result for topic {some(missing)}")
    return [
        run.take(np.array([topic in wanted for topic in run.topics], dtype=bool)[run.topic])
        for run in runs
    ]


def _units(
    run: Run, unit: str, depth: Depth, number: Mapping[str, int], judged: Gold | None
) -> pl.DataFrame:
    """The distinct units of one run with their ranks, and what is known of them."""
    topic = np.array([number[name] for name in run.topics], dtype=np.int64)[run.topic]
    columns: dict[str, Any] = {"topic": topic, "doc": run.doc}
    if unit == "span":
        _check_places(run)
        columns |= {"start": run.start, "end": run.end}
    elif unit == "element":
        columns["xpath"] = _paths(run)
    table = pl.DataFrame(columns)
    head = np.flatnonzero(first_of_group(table) == np.arange(len(run)))
    first = np.searchsorted(head, run.bounds)  # heads before each topic
    rank = np.arange(len(head)) - first[run.topic[head]] + 1
    if depth is not None:
        of_topic = [depth.get(t) if isinstance(depth, Mapping) else depth for t in run.topics]
        deepest = np.array([len(run) if k is None else k for k in of_topic], dtype=np.int64)
        near = rank <= deepest[run.topic[head]]
        head, rank = head[near], rank[near]
    known = np.full(len(run), UNJUDGED, dtype=np.int64)
    if judged is not None:
        known = _known(run, judged, spans=unit != "document")
    return table[head].with_columns(rank=pl.Series(rank), known=pl.Series(known[head]))


def _known(run: Run, judged: Gold, *, spans: bool) -> Ints:
    """What judgements say of each result: of its document, or of the text in it where it is known.

    All relevant text of a judged document is highlighted, so that none of its spans is unjudged.
    """
    known = np.full(len(run), UNJUDGED, dtype=np.int64)
    inside = np.array([topic in judged.topic_at for topic in run.topics], dtype=bool)[run.topic]
    if not inside.any():
        return known
    alignment = Alignment(run, judged)
    relevant = judged.judgements.relevant[alignment.row]
    if spans and judged.judgements.has_text:
        relevant = np.where(alignment.placed, alignment.rsize > 0, relevant)
    known[inside] = np.where(alignment.row >= 0, relevant.astype(np.int64), UNJUDGED)
    return known


def _check_places(run: Run) -> None:
    nowhere = np.flatnonzero(run.start < 0)
    if len(nowhere):
        raise InputError(
            Problem(
                "unclassified",
                run.source.path,
                int(run.line[i]),
                f"the place of {run.xpath[i] if run.xpath is not None else 'this result'!r} in "
                f"{run.doc[i]!r} is not known; a collection (-C) tells it",
            )
            for i in nowhere.tolist()
        )


def _paths(run: Run) -> pl.Series:
    """The XPath of each result; a whole document has none, however it is named."""
    paths = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
    if run.length is None:  # on a collection all whole documents have the path of their root
        root = pl.Series(is_root(paths))
        paths = paths.to_frame("path").select(pl.when(~root).then("path")).to_series()
    bare = np.flatnonzero(paths.is_null().to_numpy() & ~((run.start == 0) & (run.end < 0)))
    if len(bare):
        raise InputError(
            Problem(
                "unclassified",
                run.source.path,
                int(run.line[i]),
                f"[{run.start[i]},{run.end[i]}) of {run.doc[i]!r} has no XPath; a collection (-C) "
                "tells which element it is",
            )
            for i in bare.tolist()
        )
    return paths
