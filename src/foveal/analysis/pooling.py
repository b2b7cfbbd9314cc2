"""Pooling: choose the documents, spans or elements of runs to assess, and their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.adapters import runs_of
from foveal.analysis.pool_strategies import RELEVANT, STRATEGIES, UNJUDGED, Lists, choose_units
from foveal.collection import Collection
from foveal.collection.placement import place_elements, place_judgements, place_run
from foveal.errors import InputError, Problem, UsageError, counted, some
from foveal.formats import read_judgements, read_run
from foveal.formats.pool_files import POOL_COLUMNS, UNITS, Pool
from foveal.formats.xpaths import is_root
from foveal.lookup import number_rows, sort_topics
from foveal.measures.alignment import Alignment, Gold
from foveal.model import Judgements, Run
from foveal.model.graphs import Axis, Graph, Line
from foveal.model.result_object import Result
from foveal.model.run import distinguish_names
from foveal.model.tables import Table
from foveal.spans import Ints

__all__ = ["DEPTH", "OTHERS", "PoolStatistics", "Pooling", "pool"]

Floats = npt.NDArray[np.float64]
RunLike = Run | str | Path

DEPTH = 100
"""Depth of pools if neither a depth nor a budget is given."""
OTHERS = ""
"""The key for all other topics in a mapping of budgets."""
_UNGUIDED = {
    "move-to-front": "runs take turns with their next new unit",
    "hedge": "all runs have the same weight",
}
"""Strategies that learn from judgements, and their behaviour without."""
_SHOWN_EMPTY = ("depth", "budget")
"""Entries of the header that are there even if they have no value."""
_KEYS = {
    "document": ("topic", "doc"),
    "span": ("topic", "doc", "start", "end"),
    "element": ("topic", "doc", "xpath"),
}
"""The columns that identify a unit; topics are numbered."""
_GROWTH = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 1500)
"""Depths at which the size of the pool is reported."""


def pool(
    runs: RunLike | Sequence[RunLike],
    *,
    strategy: str = "depth",
    unit: str = UNITS[0],
    depth: int | None = None,
    budget: int | Mapping[str, int] | None = None,
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
        See `STRATEGIES`.
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
    budgets = {OTHERS: budget} if isinstance(budget, int) else dict(budget or {})
    _check_options(strategy, unit, depth, beta, budgets)
    index = None if collection is None else Collection.open(collection)
    truth, notes = _combine_judgements(judgements, index, assessors)
    given = runs_of(runs)
    if not given:
        raise UsageError("no run given")
    advance = progress or (lambda _done, _of: None)
    loaded = []
    for item in given:
        run = item if isinstance(item, Run) else read_run(item)
        if index is not None:
            element = unit == "element"
            run = place_elements(run, index, snap=snap) if element else place_run(run, index)
        loaded.append(run)
        advance(len(loaded), 2 * len(given))
    if topics is not None:
        loaded = _select_topics(loaded, set(topics))
    every = sort_topics(topic for run in loaded for topic in run.topics)
    for topic in budgets:
        if topic != OTHERS and topic not in every:
            raise UsageError(f"a budget for topic {topic!r}, which no run has a result for")
    deeper: tuple[str, ...] = ()
    if depth is not None or strategy == "depth":
        depth = depth or DEPTH
    elif OTHERS not in budgets and not (every and set(every) <= set(budgets)):
        # A budget replaces the depth, but only for its own topics.
        depth, deeper = DEPTH, sort_topics(budgets)
    depths = dict.fromkeys(every, depth) | dict.fromkeys(deeper)
    candidates = _collect_candidates(loaded, unit, depths, truth)
    chosen: list[Ints] = [np.zeros(0, dtype=np.int64)]
    for i, topic in enumerate(every):
        lists = candidates.lists(i)._replace(
            budget=budgets.get(topic, budgets.get(OTHERS)), include_judged=include_judged, beta=beta
        )
        chosen.append(choose_units(strategy, lists) + candidates.bounds[i])
        advance(len(given) + len(given) * (i + 1) // len(every), 2 * len(given))
    sources = [("run", run.source) for run in loaded]
    sources += [] if truth is None else [("judgements", source) for source in truth.sources]
    header = {
        "strategy": strategy,
        "depth": depth,
        "topic_depths": dict.fromkeys(deeper),
        "budget": budgets.pop(OTHERS, None),
        "topic_budgets": budgets,
        "beta": beta if strategy == "hedge" else None,
        "judged": None if truth is None else "included" if include_judged else "left out",
        "assessors": assessors,
        "runs": list(candidates.names),
        "foveal": __version__,
        "inputs": [
            {"kind": kind, "path": source.path, "sha256": source.sha256} for kind, source in sources
        ],
    }
    header = {name: value for name, value in header.items() if value or name in _SHOWN_EMPTY}
    entries = _list_entries(candidates, chosen)
    if truth is None or not include_judged:
        entries = entries.with_columns(relevant=pl.lit(None, dtype=pl.Boolean))
    if support and unit == UNITS[0]:
        entries = _add_support(entries, candidates)
    warnings = [
        f"{name}: {note}"
        for name, run in zip(candidates.names, loaded, strict=True)
        for note in run.notes
    ]
    if truth is not None:
        warnings += truth.notes
        if not set(truth.topics) & set(every):
            warnings.append("the judgements have no topic in common with the runs")
    elif strategy in _UNGUIDED:
        warnings.append(f"{strategy} without judgements (--judgements): {_UNGUIDED[strategy]}")
    made = Pool(entries.select(*POOL_COLUMNS), unit, header)
    return Pooling(made, candidates, np.concatenate(chosen), depth, deeper, (*warnings, *notes))


def _check_options(
    strategy: str, unit: str, depth: int | None, beta: float, budgets: Mapping[str, int]
) -> None:
    for name, value, known in (("strategy", strategy, STRATEGIES), ("unit", unit, UNITS)):
        if value not in known:
            raise UsageError(f"unknown {name} {value!r}; expected {' or '.join(known)}")
    if not 0 < beta < 1:
        raise UsageError(f"beta {beta} is not between 0 and 1")
    numbers = {
        f"budget {n} of topic {topic}" if topic else f"budget {n}": n
        for topic, n in budgets.items()
    }
    for text, number in ({f"depth {depth}": DEPTH if depth is None else depth} | numbers).items():
        if number < 1:
            raise UsageError(f"{text}; expected a whole number from 1")


def _select_topics(runs: Sequence[Run], wanted: set[str]) -> list[Run]:
    """Return runs with the results of these topics alone."""
    if missing := sort_topics(wanted.difference(*(run.topics for run in runs))):
        raise UsageError(f"no run has a result for topic {some(missing)}")
    return [
        run.take(np.array([topic in wanted for topic in run.topics], dtype=bool)[run.topic])
        for run in runs
    ]


def _combine_judgements(
    judgements: Judgements | str | Path | Sequence[str | Path] | None,
    index: Collection | None,
    assessors: str | None,
) -> tuple[Judgements | None, list[str]]:
    """Return the judgements as one set, and a note if several assessors were combined."""
    if assessors == "each":
        raise UsageError("a pool takes one set of judgements; choose how assessors count")
    if judgements is None:
        if assessors is not None:
            raise UsageError("--assessors is about judgements, and there are none (--judgements)")
        return None, []
    if not isinstance(judgements, Judgements):
        judgements = read_judgements(judgements)
    if index is not None:
        judgements = place_judgements(judgements, index)
    notes = []
    if assessors is None and judgements.several_assessors:
        notes.append(
            f"{len(judgements.assessors)} assessors, several for some documents: what one of them "
            "found relevant is (--assessors chooses otherwise)"
        )
    return judgements.combined(assessors or "union"), notes


def _list_entries(candidates: Candidates, chosen: Sequence[Ints]) -> pl.DataFrame:
    """Return a row for each unit of the pool, topic by topic, without its support."""
    number = np.concatenate(chosen)
    position = np.full(len(candidates.units), -1, dtype=np.int64)
    position[number] = np.arange(len(number))
    names = pl.Series(candidates.names, dtype=pl.String)
    returned = pl.DataFrame(
        {
            "entry": position[candidates.of],
            "run": names.gather(candidates.by),
            "rank": candidates.rank,
            "by": candidates.by,
        }
    ).filter(pl.col("entry") >= 0)
    units = candidates.units[number]
    known = units["known"]
    units = units.with_columns(
        pl.Series(candidates.topics, dtype=pl.String).gather(units["topic"]).alias("topic"),
        pl.Series("priority", np.concatenate([np.arange(1, len(own) + 1) for own in chosen])),
        pl.Series("rank", candidates.best[number]),
        _gather_structs(returned, "runs", ("run", "rank")),
        pl.when(known >= 0).then(known == RELEVANT).alias("relevant"),
    ).drop("known")
    if candidates.unit == "span":  # a whole document has no end
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
        results = pl.DataFrame(
            {
                "topic": pl.Series(run.topics, dtype=pl.String).gather(run.topic),
                "doc": run.doc,
                "rank": run.position,
                "start": run.start,
                "end": run.end,
            }
        ).with_columns(xpath.alias("xpath"), run=pl.lit(name), by=pl.lit(i))
        has_end = pl.col("end") >= 0
        parts.append(
            results.join(numbered, on=["topic", "doc"], how="inner").with_columns(
                pl.when(has_end).then(place).alias(place) for place in ("start", "end")
            )
        )
    columns = ("run", "rank", "start", "end", "xpath")
    return entries.with_columns(_gather_structs(pl.concat(parts), "support", columns))


def _gather_structs(rows: pl.DataFrame, name: str, columns: Sequence[str]) -> pl.Series:
    """Return the rows of each entry by rank and run, as a list of structs."""
    ordered = rows.sort("entry", "rank", "by").group_by("entry", maintain_order=True)
    return ordered.agg(pl.struct(columns).alias(name))[name].cast(POOL_COLUMNS[name])


# -- units of runs ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Candidates:
    """The units that runs return, up to some depth."""

    unit: str
    """One of ``document``, ``span``, ``element``."""
    runs: tuple[Run, ...]
    names: tuple[str, ...]
    """The runs' names, each once."""
    topics: tuple[str, ...]
    """In canonical order."""
    units: pl.DataFrame
    """The distinct units, sorted by the columns that identify them: ``topic`` (a number), ``doc``
    and for spans and elements their place. ``known`` is the judgement."""
    of: Ints
    by: Ints
    rank: Ints
    """The number of a unit, that of a run which returns it, and its place among that run's units of
    the topic, from 1."""

    @cached_property
    def known(self) -> Ints:
        """The judgement of each unit: relevant, not relevant or unjudged."""
        return self.units["known"].to_numpy()

    @cached_property
    def bounds(self) -> Ints:
        """The first unit of each topic, and the end of the last."""
        topic = self.units["topic"].to_numpy()
        return np.searchsorted(topic, np.arange(len(self.topics) + 1))

    @cached_property
    def best(self) -> Ints:
        """The best rank of each unit."""
        best = np.full(len(self.units), np.iinfo(np.int64).max)
        np.minimum.at(best, self.of, self.rank)
        return best

    def lists(self, topic: int) -> Lists:
        """Return the lists of the runs for the topic of this number."""
        low, high = self.bounds[topic : topic + 2].tolist()
        first, last = np.searchsorted(self.of, [low, high]).tolist()
        rank = np.zeros((high - low, len(self.runs)), dtype=np.int64)
        rank[self.of[first:last] - low, self.by[first:last]] = self.rank[first:last]
        return Lists(rank, self.known[low:high])


def _collect_candidates(
    runs: Sequence[Run],
    unit: str,
    depths: Mapping[str, int | None],
    judgements: Judgements | None,
) -> Candidates:
    """Collect the first units of each run on each topic; a depth of None is the whole list."""
    names = distinguish_names((run.name, run.source) for run in runs)
    judged = None if judgements is None else Gold(judgements)
    every = pl.concat(
        _list_units(run, unit, depths, judged).with_columns(run=pl.lit(i))
        for i, run in enumerate(runs)
    )
    keys = list(_KEYS[unit])
    # A unit that one run does not locate may be judged by way of another run.
    units = every.group_by(keys).agg(pl.col("known").max()).sort(keys)
    numbered = units.select(*keys, of=pl.int_range(pl.len(), dtype=pl.Int64))
    found = every.drop("known").join(numbered, on=keys, how="left", nulls_equal=True)
    found = found.select("of", "run", "rank").sort("of", "run")
    columns = (found[name].cast(pl.Int64).to_numpy() for name in ("of", "run", "rank"))
    return Candidates(unit, tuple(runs), names, tuple(depths), units, *columns)


def _list_units(
    run: Run, unit: str, depths: Mapping[str, int | None], judged: Gold | None
) -> pl.DataFrame:
    """Return the distinct units of one run with their ranks and judgements."""
    numbers = {topic: i for i, topic in enumerate(depths)}
    topic = np.array([numbers[name] for name in run.topics], dtype=np.int64)[run.topic]
    columns: dict[str, Any] = {"topic": topic, "doc": run.doc}
    if unit == "span":
        xpath = pl.Series(["this result"] * len(run)) if run.xpath is None else run.xpath
        _refuse_results(
            run,
            run.start < 0,
            "run.unresolved",
            lambda i: (
                f"the place of {xpath[i]!r} in {run.doc[i]!r} is not known; a collection "
                "(--collection) tells it"
            ),
        )
        columns |= {"start": run.start, "end": run.end}
    elif unit == "element":
        columns["xpath"] = _list_paths(run)
    head = number_rows(*columns.values()).first_rows
    first = np.searchsorted(head, run.bounds)  # heads before each topic
    rank = np.arange(len(head)) - first[run.topic[head]] + 1
    limits = [len(run) if depths[name] is None else depths[name] for name in run.topics]
    near = rank <= np.array(limits, dtype=np.int64)[run.topic[head]]
    head, rank = head[near], rank[near]
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
    return pl.DataFrame(columns)[head].with_columns(
        rank=pl.Series(rank), known=pl.Series(known[head])
    )


def _list_paths(run: Run) -> pl.Series:
    """Return the XPath of each result; null for a whole document."""
    paths = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
    if run.length is None:  # on a collection all whole documents have the path of their root
        root = pl.Series(is_root(paths))
        paths = paths.to_frame("path").select(pl.when(~root).then("path")).to_series()
    _refuse_results(
        run,
        paths.is_null().to_numpy() & ~((run.start == 0) & (run.end < 0)),
        "run.no_xpath",
        lambda i: (
            f"[{run.start[i]},{run.end[i]}) of {run.doc[i]!r} has no XPath; a collection "
            "(--collection) tells which element it is"
        ),
    )
    return paths


def _refuse_results(
    run: Run, wrong: npt.NDArray[np.bool_], code: str, text: Callable[[int], str]
) -> None:
    """Raise a problem for each result that lacks the place of its unit."""
    if wrong.any():
        raise InputError(
            Problem(code, run.source.path, int(run.line[i]), text(i))
            for i in np.flatnonzero(wrong).tolist()
        )


# -- the pool and its statistics ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pooling:
    """A pool with the units it was chosen from."""

    pool: Pool
    candidates: Candidates
    chosen: Ints
    """The numbers of the units in the pool, in its order."""
    depth: int | None = None
    """Number of units of each run that were looked at; None: the whole lists."""
    deeper: tuple[str, ...] = ()
    """Topics with a budget of their own, for which whole lists were used."""
    warnings: tuple[str, ...] = ()

    @cached_property
    def statistics(self) -> PoolStatistics:
        """Sizes, contributions and overlap of the runs, growth with depth."""
        return PoolStatistics(self)


class PoolStatistics(Result):
    """Size of a pool, contributions of the runs, and their overlap, up to the depth of the pool.

    Attributes
    ----------
    topics : polars.DataFrame
        For each topic the numbers of units ``returned`` by runs, ``judged`` before, and
        ``pooled``.
    runs : polars.DataFrame
        For each run the same, and ``unique``, units in the pool by this run alone; ``covered`` is
        the share of the run's units that are judged once the pool is.
    jaccard : float64 array (run, run)
        Shared units over units of either run; the mean over topics.
    shared : float64 array (run, run)
        Share of the first run's units that the second returns, too; the mean over topics.
    growth : polars.DataFrame
        For each ``depth`` the number of distinct ``units``, the mean ``per_topic`` and the number
        judged ``relevant``.
    meta : mapping
        The header of the pool: how it was made.
    """

    def __init__(self, made: Pooling) -> None:
        found = made.candidates
        self.unit, self.names = found.unit, found.names
        self.depth, self.deeper = made.depth, made.deeper
        self.meta = {"version": __version__, **made.pool.header}
        pooled = np.zeros(len(found.units), dtype=bool)
        pooled[made.chosen] = True
        judged = found.known != UNJUDGED
        alone = np.bincount(found.of, minlength=len(found.units)) == 1
        kinds = {"returned": np.ones_like(judged), "judged": judged, "pooled": pooled}
        topic, n = found.units["topic"].to_numpy(), len(found.topics)
        counts = {name: np.bincount(topic[of], minlength=n) for name, of in kinds.items()}
        topics = pl.Series(found.topics, dtype=pl.String)
        self.topics = pl.DataFrame({"topic": topics, **counts})
        kinds |= {"unique": pooled & alone, "covered": pooled | judged}
        m = len(found.runs)
        counts = {
            name: np.bincount(found.by[of[found.of]], minlength=m) for name, of in kinds.items()
        }
        self.runs = pl.DataFrame(
            {
                "run": pl.Series(found.names, dtype=pl.String),
                "topics": [len(run.topics) for run in found.runs],
                **counts,
                "covered": counts["covered"] / np.maximum(counts["returned"], 1),
            }
        )
        deepest = int(found.best.max(initial=0))
        depths = [step for step in _GROWTH if step < deepest] + ([deepest] if deepest else [])
        units, relevant = (
            np.searchsorted(np.sort(best), depths, side="right")
            for best in (found.best, found.best[found.known == RELEVANT])
        )
        self.growth = pl.DataFrame(
            {"depth": depths, "units": units, "per_topic": units / max(n, 1), "relevant": relevant},
            schema_overrides={"depth": pl.Int64},
        )
        self.jaccard, self.shared = _measure_overlap(found)

    def summary(self) -> str:
        """Return the size of the pool in a sentence."""
        size = self.topics["pooled"].to_numpy()
        if not size.sum():
            return f"Nothing to assess: no {self.unit} is left."
        judged = int(self.topics["judged"].sum())
        before = f"; {judged} judged before" if judged else ""
        return (
            f"{counted(size.sum(), self.unit)} of {counted(len(self.names), 'run')} to "
            f"assess for {counted((size > 0).sum(), 'topic')} "
            f"(min {size.min()}, mean {size.mean():.1f}, max {size.max()}){before}."
        )

    def parts(self) -> dict[str, Any]:
        """Return all figures."""
        size = self.topics["pooled"]
        return {
            "unit": self.unit,
            "depth": self.depth,
            "size": {
                "total": size.sum(),
                "min": size.min(),
                "mean": size.mean(),
                "max": size.max(),
            },
            "topics": self.topics.to_dicts(),
            "runs": self.runs.to_dicts(),
            "overlap": {
                "runs": self.names,
                "jaccard": self.jaccard.tolist(),
                "shared": self.shared.tolist(),
            },
            "growth": self.growth.to_dicts(),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield name of the figure, its topic, run or depth, the other run, and the value.

        A figure of a topic is called ``topic.pooled``, of a run ``run.unique``, of two runs
        ``jaccard`` or ``shared``, of a depth ``growth.units``.
        """
        figures = [
            (f"{kind}.{column}", str(name), "", value)
            for kind, frame in (("topic", self.topics), ("run", self.runs), ("growth", self.growth))
            for name, *values in frame.iter_rows()
            for column, value in zip(frame.columns[1:], values, strict=True)
        ]
        figures += [
            (kind, run, other, value)
            for kind, matrix in (("jaccard", self.jaccard), ("shared", self.shared))
            for run, own in zip(self.names, matrix.tolist(), strict=True)
            for other, value in zip(self.names, own, strict=True)
        ]
        for row in figures:
            yield dict(zip(("figure", "of", "with", "value"), row, strict=True))

    def tables(self, *, per_topic: bool = False) -> list[Table]:
        """Return tables of runs, their overlap, the growth of the pool, and on request topics."""
        depth = "all" if self.depth is None else f"the first {self.depth}"
        deeper = f"; all of topic {', '.join(self.deeper)}" if self.deeper else ""
        tables = [
            _tabulate(
                self.runs.columns,
                self.runs.rows(),
                f"Contributions of the runs: {depth} {self.unit}s of each topic{deeper}",
                "unique: pooled through this run alone; covered: share judged once the pool is.",
            )
        ]
        for matrix, title in (
            (self.jaccard, "Jaccard coefficient, mean over topics"),
            (self.shared, "share of the row's units that the column's run returns too"),
        ):
            rows = [(run, *own) for run, own in zip(self.names, matrix.tolist(), strict=True)]
            tables.append(_tabulate(("run", *self.names), rows, f"Overlap of runs: {title}"))
        growth = self.growth if self.growth["relevant"].sum() else self.growth.drop("relevant")
        header = ("depth", f"{self.unit}s", "per topic", "known relevant")[: growth.width]
        title = "Growth: units that all runs return to a depth"
        tables.append(_tabulate(header, growth.rows(), title, digits=1))
        if per_topic:
            tables.append(_tabulate(self.topics.columns, self.topics.rows(), "Topics"))
        return tables

    def graphs(self) -> list[Graph]:
        """Return the growth of the pool with its depth, and of its known relevant units."""
        depth, units, relevant = (
            self.growth[name].to_numpy().astype(np.float64)
            for name in ("depth", "units", "relevant")
        )
        lines = [Line(f"{self.unit}s", depth, units, series=0)]
        if relevant.any():
            lines.append(Line("known relevant", depth, relevant, series=1))
        up = Axis(f"{self.unit}s of all topics", low=0.0)
        return [Graph("growth", "Growth of the pool", Axis("depth", low=0.0), up, tuple(lines))]


def _tabulate(
    header: Sequence[str], rows: Iterable[Sequence[Any]], title: str, *notes: str, digits: int = 4
) -> Table:
    """Return a table of names, whole numbers and numbers with decimals."""
    cells = tuple(
        tuple(
            f"{cell:.{digits}f}".replace("nan", "-") if isinstance(cell, float) else str(cell)
            for cell in row
        )
        for row in rows
    )
    return Table(tuple(header), cells, title=title, notes=notes)


def _measure_overlap(found: Candidates) -> tuple[Floats, Floats]:
    """Return Jaccard coefficients and shares, means over the topics that define them."""
    m = len(found.runs)
    jaccard, shared, either, own = np.zeros((4, m, m))
    for topic in range(len(found.topics)):
        there = (found.lists(topic).rank > 0).astype(np.float64)
        both = there.T @ there
        size = np.diag(both)
        union = size[:, None] + size - both
        jaccard += both / np.maximum(union, 1)
        shared += both / np.maximum(size[:, None], 1)
        either += union > 0
        own += size[:, None] > 0
    with np.errstate(invalid="ignore"):
        return jaccard / either, shared / own
