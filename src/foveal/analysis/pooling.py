"""Pooling: choose the documents, spans or elements of runs to assess, and their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.analysis.pool_strategies import RELEVANT, STRATEGIES, UNJUDGED, Lists, Terms
from foveal.collection import Collection
from foveal.collection.placement import place_elements, place_judgements, place_run
from foveal.errors import InputError, Problem, UsageError, some
from foveal.formats import read_judgements, read_run
from foveal.formats.pool_files import POOL_COLUMNS, UNITS, Pool
from foveal.formats.xpaths import is_root
from foveal.lookup import number_rows, sort_topics
from foveal.measures.alignment import Alignment, Gold
from foveal.model import Judgements, Run
from foveal.model.run import distinguish_names
from foveal.spans import Ints

if TYPE_CHECKING:
    from foveal.analysis.pool_statistics import PoolStatistics

__all__ = ["DEPTH", "OTHERS", "Candidates", "Pooling", "pool"]

DEPTH = 100
"""Depth of pools if neither a depth nor a budget is given."""
OTHERS = ""
"""The key for all other topics in a mapping of budgets."""
_LEARN = {
    "move-to-front": "runs take turns with their next new unit",
    "hedge": "all runs have the same weight",
}
"""Strategies that learn from judgements, and their behaviour without."""
_KEYS = {
    "document": ("topic", "doc"),
    "span": ("topic", "doc", "start", "end"),
    "element": ("topic", "doc", "xpath"),
}
"""The columns that identify a unit; topics are numbered."""


Floats = npt.NDArray[np.float64]
Depth = int | Mapping[str, int | None] | None
RunLike = Run | str | Path
Budget = int | Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Pooling:
    """A pool with the units it was chosen from."""

    pool: Pool
    candidates: Candidates
    chosen: Ints
    """The numbers of the units in the pool, in its order."""
    depth: int | None = None
    deeper: tuple[str, ...] = ()
    """Topics with a budget of their own, for which whole lists were used."""
    warnings: tuple[str, ...] = ()

    @cached_property
    def statistics(self) -> PoolStatistics:
        """Sizes, contributions and overlap of the runs, growth with depth."""
        from foveal.analysis.pool_statistics import describe_pool

        return describe_pool(self)


def pool(
    runs: RunLike | Sequence[RunLike],
    *,
    strategy: str = "depth",
    unit: str = UNITS[0],
    depth: int | None = None,
    budget: Budget | None = None,
    judgements: Judgements | str | Path | Sequence[str | Path] | None = None,
    assessors: str | None = None,
    include_judged: bool = False,
    beta: float = 0.1,
    topics: Iterable[str] | None = None,
    collection: str | Path | None = None,
    snap: bool = False,
    support: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Pooling:
    """Choose units of runs to assess.

    Parameters
    ----------
    runs : Run, path, or a sequence of them
    strategy : {"depth", "round-robin", "move-to-front", "hedge"}
        See `foveal.analysis.pool_strategies`.
    unit : {"document", "span", "element"}
        The unit of pooling: results of one document, with the same offsets, or with the same
        XPath, are one unit.
    depth : int, optional
        Number of units of each run to choose from; by default 100, or for a topic with a budget
        (but not with the strategy ``depth``) all of them.
    budget : int or mapping of topic to int, optional
        Maximum number of units of each topic. Topics missing from a mapping have no budget, unless
        it has one for the empty name, which applies to all others.
    judgements : Judgements, path, or a sequence of paths, optional
        Existing judgements: left out of the pool, and used by the last two strategies.
    assessors : str, optional
        How to combine several assessors of a document: ``union`` (the default), ``majority``,
        ``intersection`` or the name of one.
    include_judged : bool
        Pool judged units, too, as if they were judged only now.
    beta : float
        Learning rate of ``hedge``, between 0 and 1; other strategies ignore it.
    topics : iterable of str, optional
        Topics to pool; by default all.
    collection : path, optional
        A collection index, which resolves XPaths to offsets and offsets to XPaths.
    snap : bool
        With a collection, replace a result that is not an element with the smallest enclosing
        element.
    support : bool
        List with each document the results that the runs returned of it.
    progress : callable, optional
        Called with the number of steps done and of all steps: half are reading runs, half
        choosing.

    Examples
    --------
    >>> a = Run.from_results({"1": [("D1", 0, 5), ("D1", 9, 12), ("D2", 0, 5)]}, name="a")
    >>> b = Run.from_results({"1": [("D3", 0, 5), ("D2", 0, 9)]}, name="b")
    >>> pool([a, b], depth=1).pool.entries["doc"].to_list()
    ['D1', 'D3']
    """
    if strategy not in STRATEGIES:
        raise UsageError(f"unknown strategy {strategy!r}; expected {' or '.join(STRATEGIES)}")
    if not 0 < beta < 1:
        raise UsageError(f"beta {beta} is not between 0 and 1")
    if depth is not None and depth < 1:
        raise UsageError(f"depth {depth}; expected a whole number from 1")
    budgets = {OTHERS: budget} if isinstance(budget, int) else dict(budget or {})
    for topic, number in budgets.items():
        if number < 1:
            where = f" of topic {topic}" if topic else ""
            raise UsageError(f"budget {number}{where}; expected a whole number from 1")
    given = [runs] if isinstance(runs, (Run, str, Path)) else list(runs)
    wanted = None if topics is None else frozenset(topics)
    notes: list[str] = []
    truth = _combine_judgements(judgements, collection, assessors, notes)
    loaded = []
    for item in given:
        run = item if isinstance(item, Run) else read_run(item)
        if collection is not None:
            index = Collection.open(collection)
            element = unit == "element"
            run = place_elements(run, index, snap=snap) if element else place_run(run, index)
        loaded.append(run)
        if progress is not None:
            progress(len(loaded), 2 * len(given))
    every = {t for run in loaded for t in run.topics if wanted is None or t in wanted}
    deeper: tuple[str, ...] = ()  # topics whose lists are used to their ends
    if depth is not None or strategy == "depth":
        depth = depth or DEPTH
    elif OTHERS not in budgets and not (every and every <= set(budgets)):
        # A budget replaces the depth, but only for its own topics.
        depth, deeper = DEPTH, sort_topics(budgets)
    candidates = Candidates.collect(
        loaded,
        unit=unit,
        depth=dict.fromkeys(every, depth) | dict.fromkeys(deeper) if deeper else depth,
        judgements=truth,
        topics=wanted,
    )
    chosen, priority = _choose_units(
        candidates, strategy, Terms(None, include_judged, beta), budgets, progress
    )
    sources = [("run", run.source) for run in candidates.runs]
    sources += [] if truth is None else [("judgements", source) for source in truth.sources]
    header = {
        "strategy": strategy,
        "depth": depth,
        **({"topic_depths": dict.fromkeys(deeper)} if deeper else {}),
        "budget": budgets.pop(OTHERS, None),
        **({"topic_budgets": budgets} if budgets else {}),
        **({"beta": beta} if strategy == "hedge" else {}),
        **({} if truth is None else {"judged": "included" if include_judged else "left out"}),
        **({} if assessors is None else {"assessors": assessors}),
        "runs": list(candidates.names),
        "foveal": __version__,
        "inputs": [
            {"kind": kind, "path": source.path, "sha256": source.sha256} for kind, source in sources
        ],
    }
    entries = _list_entries(candidates, chosen, priority)
    if not (truth is not None and include_judged):
        entries = entries.with_columns(relevant=pl.lit(None, dtype=pl.Boolean))
    if support and unit == UNITS[0]:
        entries = _add_support(entries, candidates)
    warnings = [
        f"{name}: {note}"
        for name, run in zip(candidates.names, candidates.runs, strict=True)
        for note in run.notes
    ]
    if truth is not None:
        warnings += truth.notes
        if not set(truth.topics) & set(candidates.topics):
            warnings.append("the judgements have no topic in common with the runs")
    elif strategy in _LEARN:
        warnings.append(f"{strategy} without judgements (--judgements): {_LEARN[strategy]}")
    return Pooling(
        Pool(entries.select(*POOL_COLUMNS), unit, header),
        candidates,
        chosen,
        depth,
        deeper,
        (*warnings, *notes),
    )


def _choose_units(
    candidates: Candidates,
    strategy: str,
    terms: Terms,
    budgets: Mapping[str, int],
    progress: Callable[[int, int], None] | None,
) -> tuple[Ints, Ints]:
    """Return the units of the pool, topic by topic, and their priorities."""
    for topic in budgets:
        if topic != OTHERS and topic not in candidates.topics:
            raise UsageError(f"a budget for topic {topic!r}, which no run has a result for")
    chosen: list[Ints] = [np.zeros(0, dtype=np.int64)]
    half = len(candidates.runs)
    for i, topic in enumerate(candidates.topics):
        limits = replace(terms, budget=budgets.get(topic, budgets.get(OTHERS)))
        chosen.append(STRATEGIES[strategy](candidates.lists(i), limits) + candidates.bounds[i])
        if progress is not None:
            progress(half + half * (i + 1) // len(candidates.topics), 2 * half)
    priority = [np.arange(1, len(own) + 1) for own in chosen]
    return np.concatenate(chosen), np.concatenate(priority)


def _combine_judgements(
    judgements: Judgements | str | Path | Sequence[str | Path] | None,
    collection: str | Path | None,
    assessors: str | None,
    notes: list[str],
) -> Judgements | None:
    """Return the judgements as one set; note that several assessors were combined."""
    if assessors == "each":
        raise UsageError("a pool takes one set of judgements; choose how assessors count")
    if judgements is None:
        if assessors is not None:
            raise UsageError("--assessors is about judgements, and there are none (--judgements)")
        return None
    if not isinstance(judgements, Judgements):
        judgements = read_judgements(judgements)
    if collection is not None:
        judgements = place_judgements(judgements, Collection.open(collection))
    if assessors is None and judgements.several_assessors:
        notes.append(
            f"{len(judgements.assessors)} assessors, several for some documents: what one of them "
            "found relevant is (--assessors chooses otherwise)"
        )
    return judgements.combined(assessors or "union")


def _list_entries(candidates: Candidates, chosen: Ints, priority: Ints) -> pl.DataFrame:
    """Return a row for each unit of the pool, without its support."""
    position = np.full(len(candidates.units), -1, dtype=np.int64)
    position[chosen] = np.arange(len(chosen))
    there = position[candidates.of] >= 0
    names = pl.Series(candidates.names, dtype=pl.String)
    runs = (
        pl.DataFrame(
            {
                "entry": position[candidates.of[there]],
                "run": names.gather(candidates.by[there]),
                "rank": candidates.rank[there],
                "by": candidates.by[there],
            }
        )
        .sort("entry", "rank", "by")
        .group_by("entry", maintain_order=True)
        .agg(runs=pl.struct("run", "rank"))
    )
    units = candidates.units[chosen]
    topics = pl.Series(candidates.topics, dtype=pl.String).gather(units["topic"])
    known = units["known"]
    units = units.with_columns(
        topics.alias("topic"),
        pl.Series("priority", priority),
        pl.Series("rank", candidates.best[chosen]),
        runs["runs"].cast(POOL_COLUMNS["runs"]),
        pl.when(known >= 0).then(known == RELEVANT).alias("relevant"),
    ).drop("known")
    if candidates.unit == "span":  # a whole document without an end
        whole = pl.col("end") < 0
        units = units.with_columns(
            pl.when(~whole).then(name).alias(name) for name in ("start", "end")
        )
    return units.with_columns(
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in POOL_COLUMNS.items()
        if name not in units.columns
    )


def _add_support(entries: pl.DataFrame, candidates: Candidates) -> pl.DataFrame:
    """Add to each document all results that runs returned of it, by rank."""
    numbered = entries.select("topic", "doc", entry=pl.int_range(pl.len(), dtype=pl.Int64))
    parts = []
    for i, (name, run) in enumerate(zip(candidates.names, candidates.runs, strict=True)):
        xpath = pl.lit(None, dtype=pl.String) if run.xpath is None else run.xpath
        whole = pl.col("end").is_null()
        results = pl.DataFrame(
            {
                "topic": pl.Series(run.topics, dtype=pl.String).gather(run.topic),
                "doc": run.doc,
                "rank": run.position,
                "start": run.start,
                "end": run.end,
            }
        ).with_columns(xpath.alias("xpath"), run=pl.lit(name), by=pl.lit(i))
        results = results.join(numbered, on=["topic", "doc"], how="inner")
        results = results.with_columns(pl.when(pl.col("end") >= 0).then("end").alias("end"))
        parts.append(results.with_columns(start=pl.when(~whole).then("start")))
    support = (
        pl.concat(parts)
        .sort("entry", "rank", "by")
        .group_by("entry", maintain_order=True)
        .agg(support=pl.struct("run", "rank", "start", "end", "xpath"))
    )
    return entries.with_columns(support["support"].cast(POOL_COLUMNS["support"]))


# -- units of runs ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Candidates:
    """The units that runs return, up to some depth.

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
        and for spans and elements their place. ``known`` is the judgement.
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
        """Collect the first `depth` units of each run on each topic.

        A mapping has a depth for each topic, None for whole lists. `judgements` are combined ones;
        `topics` leaves out all others.
        """
        if unit not in UNITS:
            raise UsageError(f"unknown unit {unit!r}; expected {' or '.join(UNITS)}")
        if not runs:
            raise UsageError("no run given")
        names = distinguish_names((run.name, run.source) for run in runs)
        if topics is not None:
            wanted = set(topics)
            missing = sort_topics(wanted - {topic for run in runs for topic in run.topics})
            if missing:
                raise UsageError(f"no run has a result for topic {some(missing)}")
            runs = [
                run.take(np.array([topic in wanted for topic in run.topics], dtype=bool)[run.topic])
                for run in runs
            ]
        order = sort_topics(topic for run in runs for topic in run.topics)
        number = {topic: i for i, topic in enumerate(order)}
        judged = None if judgements is None else Gold(judgements)
        every = pl.concat(
            _list_units(run, unit, depth, number, judged).with_columns(run=pl.lit(i))
            for i, run in enumerate(runs)
        )
        keys = list(_KEYS[unit])
        # A unit that one run does not locate may be judged by way of another run.
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
        """The judgement of each unit: relevant, not relevant or unjudged."""
        return self.units["known"].to_numpy()

    @cached_property
    def bounds(self) -> Ints:
        """The first unit of each topic, and the end of the last."""
        topic = self.units["topic"].to_numpy()
        return np.searchsorted(topic, np.arange(len(self.topics) + 1))

    def lists(self, topic: int) -> Lists:
        """Return the lists of the runs for the topic of this number."""
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


def _list_units(
    run: Run, unit: str, depth: Depth, number: Mapping[str, int], judged: Gold | None
) -> pl.DataFrame:
    """Return the distinct units of one run with their ranks and judgements."""
    topic = np.array([number[name] for name in run.topics], dtype=np.int64)[run.topic]
    columns: dict[str, Any] = {"topic": topic, "doc": run.doc}
    if unit == "span":
        if len(nowhere := np.flatnonzero(run.start < 0)):
            xpath = pl.Series(["this result"] * len(run)) if run.xpath is None else run.xpath
            raise InputError(
                Problem(
                    "run.unresolved",
                    run.source.path,
                    int(run.line[i]),
                    f"the place of {xpath[i]!r} in {run.doc[i]!r} is not known; a collection "
                    "(--collection) tells it",
                )
                for i in nowhere.tolist()
            )
        columns |= {"start": run.start, "end": run.end}
    elif unit == "element":
        columns["xpath"] = _list_paths(run)
    head = number_rows(*columns.values()).first_rows
    first = np.searchsorted(head, run.bounds)  # heads before each topic
    rank = np.arange(len(head)) - first[run.topic[head]] + 1
    if depth is not None:
        of_topic = [depth.get(t) if isinstance(depth, Mapping) else depth for t in run.topics]
        deepest = np.array([len(run) if k is None else k for k in of_topic], dtype=np.int64)
        near = rank <= deepest[run.topic[head]]
        head, rank = head[near], rank[near]
    known = np.full(len(run), UNJUDGED, dtype=np.int64)
    if judged is not None:
        known = _look_up_judgements(run, judged, spans=unit != "document")
    return pl.DataFrame(columns)[head].with_columns(
        rank=pl.Series(rank), known=pl.Series(known[head])
    )


def _look_up_judgements(run: Run, judged: Gold, *, spans: bool) -> Ints:
    """Return the judgement of each result: of its document, or of its text if that is known.

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


def _list_paths(run: Run) -> pl.Series:
    """Return the XPath of each result; null for a whole document."""
    paths = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
    if run.length is None:  # on a collection all whole documents have the path of their root
        root = pl.Series(is_root(paths))
        paths = paths.to_frame("path").select(pl.when(~root).then("path")).to_series()
    bare = np.flatnonzero(paths.is_null().to_numpy() & ~((run.start == 0) & (run.end < 0)))
    if len(bare):
        raise InputError(
            Problem(
                "run.no_xpath",
                run.source.path,
                int(run.line[i]),
                f"[{run.start[i]},{run.end[i]}) of {run.doc[i]!r} has no XPath; a collection "
                "(--collection) tells which element it is",
            )
            for i in bare.tolist()
        )
    return paths


# -- statistics --------------------------------------------------------------------------------
