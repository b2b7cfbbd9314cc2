"""Pooling: choose the documents, spans or elements of runs to assess, and their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.adapters import runs_of
from foveal.collection import Collection as Index
from foveal.collection.placement import place_elements, place_judgements, place_run
from foveal.errors import InputError, Problem, UsageError, plural, shorten_list
from foveal.formats import read_judgements, read_run
from foveal.formats.pool_files import POOL_COLUMNS, UNITS, Pool
from foveal.formats.xpaths import is_root
from foveal.lookup import sort_topics
from foveal.measures.alignment import Alignment, Gold
from foveal.model import Judgements, Run
from foveal.model.result_object import Result
from foveal.model.run import distinguish_names
from foveal.model.tables import Table, format_cell
from foveal.spans import Ints

RunLike = Run | str | Path

RELEVANT, NOT_RELEVANT, UNJUDGED = 1, 0, -1
DEPTH = 100
"""Depth of pools if neither a depth nor a budget is given."""
BETA = 0.1
"""Learning rate of `hedge`."""
_KEYS = {
    "document": ("topic", "doc"),
    "span": ("topic", "doc", "start", "end"),
    "element": ("topic", "doc", "xpath"),
}
"""The columns that identify a unit."""
_IS_JUDGED = pl.col("known") != UNJUDGED


class Pooling(NamedTuple):
    """A pool, its statistics and warnings."""

    pool: Pool
    statistics: PoolStatistics
    warnings: tuple[str, ...]


def pool(
    runs: RunLike | Sequence[RunLike],
    *,
    strategy: str = "depth",
    unit: str = UNITS[0],
    depth: int | None = None,
    budget: int | None = None,
    judgements: Judgements | str | Path | Sequence[str | Path] | None = None,
    assessors: str = "union",
    topics: Collection[str] | None = None,
    collection: str | Path | None = None,
    snap: bool = False,
) -> Pooling:
    """Choose units of runs to assess.

    Parameters
    ----------
    runs : Run, path, or a sequence of them
    strategy : {"depth", "round-robin", "move-to-front", "hedge"}
        See `STRATEGIES`.
    unit : {"document", "span", "element"}
        The unit of pooling: results of one document, with the same offsets, or with the same
        XPath, are one unit.
    depth : int, optional
        Number of units of each run to choose from; by default 100, or with a budget (but not with
        the strategy ``depth``) all of them.
    budget : int, optional
        Maximum number of units of each topic.
    judgements : Judgements, path, or a sequence of paths, optional
        Existing judgements: left out of the pool, and used by the last two strategies.
    assessors : str
        How to combine several assessors of a document: ``union``, ``majority``, ``intersection``
        or the name of one.
    topics : collection of str, optional
        Topics to pool; by default all.
    collection : path, optional
        A collection index, which resolves XPaths to offsets and offsets to XPaths.
    snap : bool
        Replace a result that is not an element with the smallest enclosing element.

    Examples
    --------
    >>> a = Run.from_results({"1": [("D1", 0, 5), ("D1", 9, 12), ("D2", 0, 5)]}, name="a")
    >>> b = Run.from_results({"1": [("D3", 0, 5), ("D2", 0, 9)]}, name="b")
    >>> pool([a, b], depth=1).pool.entries["doc"].to_list()
    ['D1', 'D3']
    """
    for what, value, known in (("strategy", strategy, STRATEGIES), ("unit", unit, UNITS)):
        if value not in known:
            raise UsageError(f"unknown {what} {value!r}; expected {' or '.join(known)}")
    for what, number in (("depth", depth), ("budget", budget)):
        if number is not None and number < 1:
            raise UsageError(f"{what} {number}; expected a whole number from 1")
    if depth is None and (budget is None or strategy == "depth"):
        depth = DEPTH
    index = None if collection is None else Index.open(collection)
    truth = None
    if judgements is not None:
        truth = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
        truth = truth if index is None else place_judgements(truth, index)
        truth = truth.combined(assessors)
    loaded = [run if isinstance(run, Run) else read_run(run) for run in runs_of(runs)]
    if not loaded:
        raise UsageError("no run given")
    if index is not None:
        is_element = unit == "element"
        loaded = [
            place_elements(run, index, snap=snap) if is_element else place_run(run, index)
            for run in loaded
        ]
    if topics is not None:
        loaded = [
            run.take(np.array([name in topics for name in run.topics], dtype=bool)[run.topic])
            for run in loaded
        ]
    every = sort_topics(topic for run in loaded for topic in run.topics)
    if missing := sort_topics({*(topics or ())} - {*every}):
        raise UsageError(f"no run has a result for topic {shorten_list(missing)}")
    names = distinguish_names((run.name, run.source) for run in loaded)
    units, returned = _collect_units(loaded, names, unit, depth, every, truth)
    chosen = [pl.DataFrame(schema={"unit": pl.Int64, "priority": pl.Int64})]
    for low, lists in _divide(units, returned, len(names)):
        order = choose_units(strategy, lists, budget) + low
        chosen.append(pl.DataFrame({"unit": order, "priority": np.arange(1, len(order) + 1)}))
    pooled = pl.concat(chosen)
    sources = [("run", run.source) for run in loaded]
    sources += [] if truth is None else [("judgements", source) for source in truth.sources]
    header: dict[str, Any] = {
        "strategy": strategy,
        "depth": depth,
        "budget": budget,
        **({} if truth is None else {"judged": "left out", "assessors": assessors}),
        "runs": list(names),
        "foveal": __version__,
        "inputs": [{"kind": kind, "path": s.path, "sha256": s.sha256} for kind, s in sources],
    }
    entries = _list_entries(units, returned, pooled)
    if unit == "document":
        entries = _add_support(entries, loaded, names)
    warnings = [f"{n}: {note}" for n, run in zip(names, loaded, strict=True) for note in run.notes]
    if truth is not None:
        warnings += truth.notes
        if not set(truth.topics) & set(every):
            warnings.append("the judgements have no topic in common with the runs")
    elif strategy in ("move-to-front", "hedge"):
        warnings.append(f"{strategy} learns from judgements, and there are none (--judgements)")
    is_pooled = pl.col("unit").is_in(pooled["unit"].implode())
    statistics = PoolStatistics(
        unit,
        _describe_runs(returned.with_columns(pooled=is_pooled), loaded, names),
        units.group_by("topic", maintain_order=True)
        .agg(
            pl.len().alias("returned"),
            _IS_JUDGED.sum().alias("judged"),
            is_pooled.sum().alias("pooled"),
        )
        .with_columns(pl.col("topic").cast(pl.String)),
        {"version": __version__, **header},
    )
    return Pooling(Pool(entries, unit, header), statistics, tuple(warnings))


# -- strategies -------------------------------------------------------------------------------


class Lists(NamedTuple):
    """The lists of all runs for one topic.

    `rank` (unit, run) is the place of a unit in the list of a run, from 1; 0 if the run lacks it.
    `known` is the judgement of each unit: `RELEVANT`, `NOT_RELEVANT` or `UNJUDGED`.
    """

    rank: Ints
    known: Ints


def choose_units(strategy: str, lists: Lists, budget: int | None = None) -> Ints:
    """Return the unjudged units that a strategy chooses, in the order of assessing.

    All strategies are deterministic. Units that one does not distinguish keep their order.
    """
    order: Ints = STRATEGIES[strategy](lists)
    order = order[lists.known[order] == UNJUDGED]
    return order[:budget]


def order_by_depth(lists: Lists) -> Ints:
    """Order all units by their best rank, then by the number of runs that return them."""
    returned = lists.rank > 0
    best = lists.rank.min(axis=1, initial=np.iinfo(np.int64).max, where=returned)
    return np.lexsort((-returned.sum(axis=1), best))


def round_robin(lists: Lists) -> Ints:
    """Take the first unit of each run, then the second of each run, and so on, every unit once.

    Each round begins with another run, so that a budget that ends within a round does not always
    favour the same run.
    """
    rank, runs = lists.rank, lists.rank.shape[1]
    turn = (rank - 1) * runs + (np.arange(runs) - (rank - 1)) % runs
    first = turn.min(axis=1, initial=np.iinfo(np.int64).max, where=rank > 0)
    return np.argsort(first, kind="stable")


def move_to_front(lists: Lists) -> Ints:
    """Continue with a run while its units are relevant; a non-relevant one lowers its priority.

    The run with the highest priority has the turn; among equals the one that has waited longest.
    It takes its next unit that no run took before. If that is relevant, it takes another; if not,
    its priority falls by one and the turn ends. An unjudged unit ends the turn at no cost, so that
    without judgements runs take turns with their next new unit.

    References
    ----------
    Cormack, Palmer, Clarke: Efficient construction of large test collections. SIGIR 1998.
    """
    lines = []
    for column in lists.rank.T:  # the units of each run in its order
        own = np.flatnonzero(column)
        lines.append(iter(own[np.argsort(column[own], kind="stable")].tolist()))
    waiting = [(0, 0, run) for run in range(len(lines))]  # penalties, last turn, run
    heapify(waiting)
    known = lists.known.tolist()
    order: dict[int, None] = {}
    clock = 0
    while waiting:
        penalties, _, run = heappop(waiting)
        for unit in lines[run]:
            if unit in order:
                continue
            order[unit] = None
            if known[unit] != RELEVANT:
                clock += 1
                heappush(waiting, (penalties + (known[unit] == NOT_RELEVANT), clock, run))
                break
    return np.array(list(order), dtype=np.int64)


def hedge(lists: Lists) -> Ints:
    """Prefer units that many runs rank high, weighting runs by their success on judged units.

    At rank r of a run a unit is worth ln(Z/r)/2, where Z is one more than the length of the
    topic's longest list; it is worth nothing to a run that lacks it. This worth is the loss of the
    run if the unit is not relevant, and its gain if it is. A loss l multiplies the weight of the
    run by `BETA` ** l. The unit with the greatest weighted worth comes next.

    All judgements are known from the start. Without any, all weights are equal.

    References
    ----------
    Aslam, Pavlu, Savell: A unified model for metasearch, pooling, and system evaluation. CIKM 2003.
    """
    order = order_by_depth(lists)  # decides between equals
    rank, known = lists.rank[order], lists.known[order]
    longest = int(rank.max(initial=0)) + 1
    worth = np.where(rank > 0, 0.5 * np.log(longest / np.maximum(rank, 1)), 0.0)
    # The loss of a run on each unit is its worth with this sign; negative is a gain.
    sign = np.select([known == RELEVANT, known == NOT_RELEVANT], [-1.0, 1.0], 0.0)
    power = (sign @ worth) * math.log(BETA)
    weight = np.exp(power - power.max(initial=-np.inf))  # relative to the greatest power of beta
    total = weight.sum()
    # Twelve decimals are compared, so that the order of additions does not decide about the pool.
    score = np.round(worth @ (weight / total if total else weight), 12)
    return np.asarray(order[np.argsort(-score, kind="stable")])


STRATEGIES: dict[str, Callable[[Lists], Ints]] = {
    "depth": order_by_depth,
    "round-robin": round_robin,
    "move-to-front": move_to_front,
    "hedge": hedge,
}
"""Name to strategy: the units of one topic in the order of assessing, for `choose_units`."""


# -- units of runs ----------------------------------------------------------------------------


def _collect_units(
    runs: Sequence[Run],
    names: Sequence[str],
    unit: str,
    depth: int | None,
    topics: Sequence[str],
    judgements: Judgements | None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the distinct units, by topic and name, and the ranks of units in runs."""
    judged = None if judgements is None else Gold(judgements)
    keys = list(_KEYS[unit])
    nearest = []
    for name, run in zip(names, runs, strict=True):
        results = _list_results(run, unit, pl.Enum(topics), judged)
        own = results.unique(keys, keep="first", maintain_order=True)
        named = pl.lit(name, dtype=pl.Enum(names))
        own = own.with_columns(run=named, rank=pl.int_range(1, pl.len() + 1).over("topic"))
        nearest.append(own if depth is None else own.filter(pl.col("rank") <= depth))
    every = pl.concat(nearest)
    # A unit that one run does not locate may be judged by way of another run.
    units = every.group_by(keys).agg(pl.col("known").max()).sort(keys)
    units = units.with_columns(unit=pl.int_range(pl.len(), dtype=pl.Int64))
    returned = every.drop("known").join(units, on=keys, how="left", nulls_equal=True)
    return units, returned.select("unit", "run", "rank", "known").sort("unit", "rank", "run")


def _list_results(run: Run, unit: str, topics: pl.Enum, judged: Gold | None) -> pl.DataFrame:
    """Return topic, unit and judgement of each result."""
    topic = pl.Series(run.topics, dtype=topics).gather(run.topic)
    columns: dict[str, Any] = {"topic": topic, "doc": run.doc}
    wrong, code = np.zeros(len(run), dtype=bool), "run.unresolved"
    if unit == "span":
        columns |= {"start": run.start, "end": run.end}
        wrong = run.start < 0
    elif unit == "element":
        paths = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
        if run.length is None:  # on a collection all whole documents have the path of their root
            is_whole = is_root(paths)
            paths = paths.to_frame("path").select(pl.when(~is_whole).then("path")).to_series()
        columns["xpath"] = paths
        wrong = paths.is_null().to_numpy() & ~((run.start == 0) & (run.end < 0))
        code = "run.no_xpath"
    if wrong.any():
        text = f"the {unit} of this result is not known; give a collection (--collection)"
        raise InputError(
            Problem(code, run.source.path, line, text) for line in run.line[wrong].tolist()
        )
    known = np.full(len(run), UNJUDGED, dtype=np.int64)
    if judged is not None:
        inside = np.array([name in judged.topic_at for name in run.topics], dtype=bool)[run.topic]
        if inside.any():
            alignment = Alignment(run, judged)
            relevant = judged.judgements.relevant[alignment.row]
            if unit != "document" and judged.judgements.has_text:
                # All relevant text of a judged document is highlighted: no span is unjudged.
                relevant = np.where(alignment.placed, alignment.rsize > 0, relevant)
            known[inside] = np.where(alignment.row >= 0, relevant.astype(np.int64), UNJUDGED)
    return pl.DataFrame({**columns, "known": known})


def _divide(units: pl.DataFrame, returned: pl.DataFrame, runs: int) -> Iterator[tuple[int, Lists]]:
    """Yield the first unit of each topic and the lists of the runs."""
    of, rank = returned["unit"].to_numpy(), returned["rank"].to_numpy()
    by = returned["run"].to_physical().to_numpy()
    low = 0
    for size in units.group_by("topic", maintain_order=True).len()["len"].to_list():
        own = slice(*np.searchsorted(of, [low, low + size]).tolist())
        ranks = np.zeros((size, runs), dtype=np.int64)
        ranks[of[own] - low, by[own]] = rank[own]
        yield low, Lists(ranks, units["known"][low : low + size].to_numpy())
        low += size


# -- the pool ---------------------------------------------------------------------------------


def _list_entries(
    units: pl.DataFrame, returned: pl.DataFrame, pooled: pl.DataFrame
) -> pl.DataFrame:
    """Return a row for each unit of the pool, topic by topic, without its support."""
    runs = returned.group_by("unit").agg(runs=pl.struct("run", "rank"), rank=pl.col("rank").first())
    entries = pooled.join(units, on="unit", how="left", maintain_order="left")
    entries = entries.join(runs, on="unit", how="left", maintain_order="left")
    if "end" in entries.columns:
        entries = _clear_open_ends(entries)
    return entries.select(
        (pl.col(name) if name in entries.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in POOL_COLUMNS.items()
    )


def _clear_open_ends(results: pl.DataFrame) -> pl.DataFrame:
    """Return results with null offsets for whole documents, which have no end."""
    has_end = pl.col("end") >= 0
    return results.with_columns(pl.when(has_end).then(n).alias(n) for n in ("start", "end"))


def _add_support(entries: pl.DataFrame, runs: Sequence[Run], names: Sequence[str]) -> pl.DataFrame:
    """Add to each document all results that runs returned of it, by rank."""
    pooled = entries.select("topic", "doc", entry=pl.int_range(pl.len()))
    parts = []
    for name, run in zip(names, runs, strict=True):
        topic = pl.Series(run.topics, dtype=pl.String).gather(run.topic)
        places = {"rank": run.position, "start": run.start, "end": run.end}
        results = pl.DataFrame({"topic": topic, "doc": run.doc, **places})
        xpath = pl.lit(None, dtype=pl.String) if run.xpath is None else run.xpath
        results = results.with_columns(xpath.alias("xpath"), run=pl.lit(name, dtype=pl.Enum(names)))
        parts.append(_clear_open_ends(results.join(pooled, on=["topic", "doc"])))
    ordered = pl.concat(parts).sort("entry", "rank", "run")
    support = ordered.group_by("entry", maintain_order=True).agg(
        support=pl.struct("run", "rank", "start", "end", "xpath")
    )
    return entries.with_columns(support["support"].cast(POOL_COLUMNS["support"]))


# -- statistics -------------------------------------------------------------------------------


def _describe_runs(
    returned: pl.DataFrame, runs: Sequence[Run], names: Sequence[str]
) -> pl.DataFrame:
    """Return what each run brings to the pool."""
    unique = pl.col("pooled") & (pl.len().over("unit") == 1)
    counts = returned.with_columns(unique=unique, run=pl.col("run").cast(pl.String))
    described = counts.group_by("run").agg(
        pl.len().alias("returned"),
        _IS_JUDGED.sum().alias("judged"),
        pl.col("pooled", "unique").sum(),
        (pl.col("pooled") | _IS_JUDGED).mean().alias("covered"),
    )
    every = pl.DataFrame({"run": names, "topics": [len(run.topics) for run in runs]})
    return every.join(described, on="run", how="left", maintain_order="left").fill_null(0)


@dataclass(frozen=True, eq=False, repr=False)
class PoolStatistics(Result):
    """Size of a pool and contributions of the runs, up to the depth of the pool.

    `runs` holds for each run its ``topics`` and units ``returned``, ``judged`` before, ``pooled``,
    and ``unique``, pooled through this run alone; ``covered`` is the share of the run's units that
    are judged once the pool is. `topics` holds for each topic the numbers of units ``returned``,
    ``judged`` and ``pooled``. `meta` is the header of the pool.
    """

    unit: str
    runs: pl.DataFrame
    topics: pl.DataFrame
    meta: Mapping[str, Any]

    def summary(self) -> str:
        """Return the size of the pool in a sentence."""
        size = self.topics["pooled"].to_numpy()
        if not size.sum():
            return f"Nothing to assess: no {self.unit} is left."
        return (
            f"{plural(size.sum(), self.unit)} of {plural(len(self.runs), 'run')} to assess for "
            f"{plural((size > 0).sum(), 'topic')} (min {size.min()}, mean {size.mean():.1f}, max "
            f"{size.max()})."
        )

    def rows(self, *, per_topic: bool = False) -> list[dict[str, Any]]:
        """Return a row for each run, or for each topic."""
        return (self.topics if per_topic else self.runs).to_dicts()

    def parts(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "topics": self.topics.to_dicts(),
            "runs": self.runs.to_dicts(),
        }

    def tables(self, *, per_topic: bool = False) -> list[Table]:
        """Return a table of the runs, and on request one of the topics."""
        depth = self.meta["depth"]
        which = "all" if depth is None else f"the first {depth}"
        title = f"Contributions of the runs: {which} {self.unit}s of each topic"
        note = "unique: pooled through this run alone; covered: share judged once the pool is."
        tables = [_tabulate(self.runs, title, note)]
        if per_topic:
            tables.append(_tabulate(self.topics, "Topics"))
        return tables


def _tabulate(frame: pl.DataFrame, title: str, *notes: str) -> Table:
    """Return a table of names, whole numbers and numbers with decimals."""
    return Table(
        tuple(frame.columns),
        tuple(tuple(map(format_cell, row)) for row in frame.rows()),
        title=title,
        notes=notes,
    )
