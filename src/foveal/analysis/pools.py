"""Pools of runs: what of all that the runs return is to be assessed, and in what order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.analysis.pool_candidates import Candidates
from foveal.analysis.pool_statistics import PoolStatistics
from foveal.analysis.pooling import RELEVANT, STRATEGIES, Terms
from foveal.campaign.elements import place_elements
from foveal.campaign.placing import place_judgements, place_run
from foveal.collection import Collection
from foveal.errors import UsageError
from foveal.formats import read_judgements, read_run
from foveal.formats.pools import POOL_COLUMNS, UNITS, Pool
from foveal.model import Judgements, Run
from foveal.spans import Ints

__all__ = ["DEPTH", "Pooling", "pool"]

DEPTH = 100
"""How deep pools go where neither a depth nor a budget is given."""

_LEARN = {
    "move-to-front": "runs take turns with their next new unit",
    "hedge": "all runs have the same weight",
}
"""Strategies that learn from judgements, and what they do without."""

RunLike = Run | str | Path
Budget = int | Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Pooling:
    """A pool, and what the runs have to do with it."""

    pool: Pool
    candidates: Candidates
    chosen: Ints
    """The numbers of the units in the pool, in its order."""
    depth: int | None = None
    warnings: tuple[str, ...] = ()

    @cached_property
    def statistics(self) -> PoolStatistics:
        """Sizes, contributions and overlap of the runs, growth with depth."""
        return PoolStatistics.of(self.candidates, self.chosen, self.depth)


def pool(
    runs: RunLike | Sequence[RunLike],
    *,
    strategy: str = "depth",
    unit: str = UNITS[0],
    depth: int | None = None,
    budget: Budget | None = None,
    judgements: Judgements | str | Path | Sequence[str | Path] | None = None,
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
        How many units of each run are looked at; by default 100, or with a budget (but not for the
        strategy ``depth``) all of them.
    budget : int or mapping of topic to int, optional
        How many units each topic gets at most; topics that a mapping leaves out have no limit.
    judgements : Judgements, path, or a sequence of paths, optional
        What is judged already: left out of the pool, and used by the last two strategies.
    include_judged : bool
        Pool judged units too, as if they were judged only now.
    beta : float
        How fast ``hedge`` learns, between 0 and 1.
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
    if depth is None and (budget is None or strategy == "depth"):
        depth = DEPTH
    given = [runs] if isinstance(runs, (Run, str, Path)) else list(runs)
    truth = _truth(judgements, collection)
    loaded = []
    for run in given:
        loaded.append(_load(run, unit, collection, snap=snap))
        if progress is not None:
            progress(len(loaded), 2 * len(given))
    candidates = Candidates.collect(loaded, unit=unit, depth=depth, judgements=truth, topics=topics)
    _check_budget(budget, candidates.topics)
    chosen, priority = _choose(candidates, strategy, terms, budget, progress)
    sources = [("run", run.source) for run in candidates.runs]
    sources += [] if truth is None else [("judgements", source) for source in truth.sources]
    header = {
        "strategy": strategy,
        "depth": depth,
        "budget": budget if budget is None or isinstance(budget, int) else dict(budget),
        **({"beta": beta} if strategy == "hedge" else {}),
        **({} if truth is None else {"judged": "included" if include_judged else "left out"}),
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
        tuple(_warnings(candidates, strategy, truth)),
    )


def _terms(
    strategy: str, depth: int | None, budget: Budget | None, *, include_judged: bool, beta: float
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


def _check_budget(budget: Budget | None, topics: Sequence[str]) -> None:
    for topic in budget if isinstance(budget, Mapping) else ():
        if topic not in topics:
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
) -> Judgements | None:
    if judgements is None:
        return None
    if not isinstance(judgements, Judgements):
        judgements = read_judgements(judgements)
    if collection is not None:
        judgements = place_judgements(judgements, Collection.open(collection))
    return judgements.combined()


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
    budget: Budget | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[Ints, Ints]:
    """The units of the pool, topic by topic, and their priorities."""
    chosen: list[Ints] = []
    half = len(candidates.runs)
    for i, topic in enumerate(candidates.topics):
        own = budget.get(topic) if isinstance(budget, Mapping) else budget
        limits = replace(terms, budget=own)
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
