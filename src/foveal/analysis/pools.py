"""Pools of runs: what of all that the runs return is to be assessed, and in what order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.analysis.pool_candidates import Candidates
from foveal.analysis.pool_statistics import PoolStatistics
from foveal.analysis.pooling import RELEVANT, STRATEGIES, Terms
from foveal.collection import Collection
from foveal.collection.placement import place_elements, place_judgements, place_run
from foveal.errors import UsageError
from foveal.formats import read_judgements, read_run
from foveal.formats.pool_files import POOL_COLUMNS, UNITS, Pool
from foveal.model import Judgements, Run
from foveal.model.hashing import topic_order
from foveal.spans import Ints

__all__ = ["DEPTH", "OTHERS", "Pooling", "pool"]

DEPTH = 100
"""How deep pools go where neither a depth nor a budget is given."""

_LEARN = {
    "move-to-front": "runs take turns with their next new unit",
    "hedge": "all runs have the same weight",
}
"""Strategies that learn from judgements, and what they do without."""

RunLike = Run | str | Path
Budget = int | Mapping[str, int]

OTHERS = ""
"""In a mapping of budgets the name of all topics that it does not name."""


@dataclass(frozen=True, eq=False)
class Pooling:
    """A pool, and what the runs have to do with it."""

    pool: Pool
    candidates: Candidates
    chosen: Ints
    """The numbers of the units in the pool, in its order."""
    depth: int | None = None
    deeper: tuple[str, ...] = ()
    """Topics with a budget of their own, for which lists were looked at to their ends."""
    warnings: tuple[str, ...] = ()

    @cached_property
    def statistics(self) -> PoolStatistics:
        """Sizes, contributions and overlap of the runs, growth with depth."""
        return PoolStatistics.of(self.candidates, self.chosen, self.depth, self.deeper)


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
    """Choose from runs what is to be assessed.

    Parameters
    ----------
    runs : Run, path, or a sequence of them
    strategy : {"depth", "round-robin", "move-to-front", "hedge"}
        See `foveal.analysis.pooling`.
    unit : {"document", "span", "element"}
        What is pooled. Results of one document are one unit, or those with the same offsets, or
        those with the same XPath.
    depth : int, optional
        How many units of each run are looked at; by default 100, or for a topic with a budget (but
        not for the strategy ``depth``) all of them.
    budget : int or mapping of topic to int, optional
        How many units each topic gets at most. Topics that a mapping leaves out are pooled as if
        there were no budget, unless it has one for the empty name, which is that of all others.
    judgements : Judgements, path, or a sequence of paths, optional
        What is judged already: left out of the pool, and used by the last two strategies.
    assessors : str, optional
        What counts where several assessors judged a document: ``union`` (the default),
        ``majority``, ``intersection`` or the name of one.
    include_judged : bool
        Pool judged units too, as if they were judged only now.
    beta : float
        How fast ``hedge`` learns, between 0 and 1; the other strategies do not look at it.
    topics : iterable of str, optional
        Only these.
    collection : path, optional
        A collection index, which gives places to XPaths and XPaths to places.
    snap : bool
        With a collection, take for a result that is no element the smallest around it.
    support : bool
        List with each document what the runs returned of it.
    progress : callable, optional
        Called with how many steps are done and how many there are: half of them are reading runs,
        half choosing.

    Examples
    --------
    >>> a = Run.from_results({"1": [("D1", 0, 5), ("D1", 9, 12), ("D2", 0, 5)]}, name="a")
    >>> b = Run.from_results({"1": [("D3", 0, 5), ("D2", 0, 9)]}, name="b")
    >>> pool([a, b], depth=1).pool.entries["doc"].to_list()
    ['D1', 'D3']
    """
    terms = _terms(strategy, depth, budget, include_judged=include_judged, beta=beta)
    budgets = {OTHERS: budget} if isinstance(budget, int) else dict(budget or {})
    given = [runs] if isinstance(runs, (Run, str, Path)) else list(runs)
    wanted = None if topics is None else frozenset(topics)
    notes: list[str] = []
    truth = _truth(judgements, collection, assessors, notes)
    loaded = []
    for run in given:
        loaded.append(_load(run, unit, collection, snap=snap))
        if progress is not None:
            progress(len(loaded), 2 * len(given))
    every = {t for run in loaded for t in run.topics if wanted is None or t in wanted}
    depth, deeper = _depths(every, strategy, depth, budgets)
    candidates = Candidates.collect(
        loaded,
        unit=unit,
        depth=dict.fromkeys(every, depth) | dict.fromkeys(deeper) if deeper else depth,
        judgements=truth,
        topics=wanted,
    )
    _check_budget(budgets, candidates.topics)
    chosen, priority = _choose(candidates, strategy, terms, budgets, progress)
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
    entries = _entries(candidates, chosen, priority)
    if not (truth is not None and include_judged):
        entries = entries.with_columns(relevant=pl.lit(None, dtype=pl.Boolean))
    if support and unit == UNITS[0]:
        entries = _with_support(entries, candidates)
    return Pooling(
        Pool(entries.select(*POOL_COLUMNS), unit, header),
        candidates,
        chosen,
        depth,
        deeper,
        (*_warnings(candidates, strategy, truth), *notes),
    )


def _terms(
    strategy: str,
    depth: int | None,
    budget: Budget | None,
    *,
    include_judged: bool,
    beta: float,
) -> Terms:
    """What can be told to be wrong before anything is read."""
    if strategy not in STRATEGIES:
        raise UsageError(f"unknown strategy {strategy!r}; expected {' or '.join(STRATEGIES)}")
    if not 0 < beta < 1:
        raise UsageError(f"beta {beta} is not between 0 and 1")
    if depth is not None and depth < 1:
        raise UsageError(f"depth {depth}; expected a whole number from 1")
    for topic, number in (budget if isinstance(budget, Mapping) else {"": budget}).items():
        if number is not None and number < 1:
            where = f" of topic {topic}" if topic else ""
            raise UsageError(f"budget {number}{where}; expected a whole number from 1")
    return Terms(include_judged=include_judged, beta=beta)


def _depths(
    topics: AbstractSet[str], strategy: str, depth: int | None, budgets: Mapping[str, int]
) -> tuple[int | None, tuple[str, ...]]:
    """How deep lists are looked at, and the topics for which they are to their ends instead.

    A budget says when to stop, so that no depth need say it; but it speaks of its own topics only.
    """
    if depth is not None or strategy == "depth":
        return depth or DEPTH, ()
    if OTHERS in budgets or (topics and topics <= set(budgets)):
        return None, ()
    return DEPTH, topic_order(budgets)


def _check_budget(budgets: Mapping[str, int], topics: Sequence[str]) -> None:
    for topic in budgets:
        if topic != OTHERS and topic not in topics:
            raise UsageError(f"a budget for topic {topic!r}, which no run has a result for")


def _warnings(
    candidates: Candidates, strategy: str, judgements: Judgements | None
) -> Iterator[str]:
    """What the readers noted, and what makes a strategy less than it could be."""
    for name, run in zip(candidates.names, candidates.runs, strict=True):
        yield from (f"{name}: {note}" for note in run.notes)
    if judgements is None:
        if strategy in _LEARN:
            yield f"{strategy} without judgements (-j): {_LEARN[strategy]}"
        return
    yield from judgements.notes
    if not set(judgements.topics) & set(candidates.topics):
        yield "the judgements have no topic in common with the runs"


def _truth(
    judgements: Judgements | str | Path | Sequence[str | Path] | None,
    collection: str | Path | None,
    assessors: str | None,
    notes: list[str],
) -> Judgements | None:
    """The judgements as one set; that several assessors were put together is noted."""
    if assessors == "each":
        raise UsageError("a pool takes one set of judgements; choose how assessors count")
    if judgements is None:
        if assessors is not None:
            raise UsageError("--assessors is about judgements, and there are none (-j)")
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


def _load(run: RunLike, unit: str, collection: str | Path | None, *, snap: bool) -> Run:
    """The run, on the text of the collection where there is one."""
    if not isinstance(run, Run):
        run = read_run(run)
    if collection is None:
        return run
    index = Collection.open(collection)
    if unit == "element":
        return place_elements(run, index, snap=snap)
    return place_run(run, index)


def _choose(
    candidates: Candidates,
    strategy: str,
    terms: Terms,
    budgets: Mapping[str, int],
    progress: Callable[[int, int], None] | None,
) -> tuple[Ints, Ints]:
    """The units of the pool, topic by topic, and their priorities."""
    chosen: list[Ints] = []
    half = len(candidates.runs)
    for i, topic in enumerate(candidates.topics):
        limits = replace(terms, budget=budgets.get(topic, budgets.get(OTHERS)))
        chosen.append(STRATEGIES[strategy](candidates.lists(i), limits) + candidates.bounds[i])
        if progress is not None:
            progress(half + half * (i + 1) // len(candidates.topics), 2 * half)
    none = np.zeros(0, dtype=np.int64)
    priority = [np.arange(1, len(own) + 1) for own in chosen]
    return np.concatenate([none, *chosen]), np.concatenate([none, *priority])


def _entries(candidates: Candidates, chosen: Ints, priority: Ints) -> pl.DataFrame:
    """A row for each unit of the pool, without its support."""
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


def _with_support(entries: pl.DataFrame, candidates: Candidates) -> pl.DataFrame:
    """With each document all results that runs returned of it, by rank."""
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
