"""Statistics of pools: sizes, contributions of runs, their overlap, growth with depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.analysis.pool_strategies import RELEVANT, UNJUDGED
from foveal.analysis.pooling import Candidates, Pooling
from foveal.errors import counted
from foveal.model.graphs import Axis, Graph, Line
from foveal.model.result_object import Result
from foveal.model.tables import Table
from foveal.spans import Ints

__all__ = ["PoolStatistics", "describe_pool"]

Floats = npt.NDArray[np.float64]

_GROWTH = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 1500)
"""Depths at which the size of the pool is reported."""


@dataclass(frozen=True, eq=False)
class PoolStatistics(Result):
    """Size of a pool, contributions of the runs, and their overlap, up to the depth of the pool.

    Parameters
    ----------
    unit : str
    depth : int, optional
        None: the whole lists.
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
    deeper : tuple of str
        Topics with a budget of their own, for which whole lists were used.
    meta : mapping
        The header of the pool: how it was made.
    """

    unit: str
    depth: int | None
    names: tuple[str, ...]
    topics: pl.DataFrame
    runs: pl.DataFrame
    jaccard: Floats
    shared: Floats
    growth: pl.DataFrame
    deeper: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _sizes(self) -> Ints:
        """Number of pooled units of each topic."""
        return self.topics["pooled"].to_numpy()

    def summary(self) -> str:
        """Return the size of the pool in a sentence."""
        size = self._sizes
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
        size = self._sizes
        return {
            "unit": self.unit,
            "depth": self.depth,
            "size": {
                "total": int(size.sum()),
                "min": int(size.min()),
                "mean": float(size.mean()),
                "max": int(size.max()),
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

    def rows(self, *, per_topic: bool = False) -> Iterator[dict[str, Any]]:
        """Yield name of the figure, its topic, run or depth, the other run, and the value.

        A figure of a topic is called ``topic.pooled``, of a run ``run.unique``, of two runs
        ``jaccard`` or ``shared``, of a depth ``growth.units``.
        """
        del per_topic  # tables alone leave topics out
        frames = {"topic": self.topics, "run": self.runs, "growth": self.growth}
        for kind, frame in frames.items():
            for name, *values in frame.iter_rows():
                for column, value in zip(frame.columns[1:], values, strict=True):
                    yield _make_row(f"{kind}.{column}", str(name), "", value)
        for kind, matrix in (("jaccard", self.jaccard), ("shared", self.shared)):
            for run, own in zip(self.names, matrix.tolist(), strict=True):
                for other, value in zip(self.names, own, strict=True):
                    yield _make_row(kind, run, other, value)

    def tables(self, *, per_topic: bool = False) -> list[Table]:
        """Return tables of runs, their overlap, the growth of the pool, and on request topics."""
        units = (
            f"all {self.unit}s" if self.depth is None else f"the first {self.depth} {self.unit}s"
        )
        deeper = f"; all of topic {', '.join(self.deeper)}" if self.deeper else ""
        rows = [
            (run, *map(str, counts), _format_share(covered))
            for run, *counts, covered in self.runs.iter_rows()
        ]
        runs = Table(
            ("run", "topics", "returned", "judged", "pooled", "unique", "covered"),
            tuple(rows),
            title=f"Contributions of the runs: {units} of each topic{deeper}",
            notes=(
                "unique: pooled through this run alone; covered: share judged once the pool is.",
            ),
        )
        jaccard = "Overlap of runs: Jaccard coefficient, mean over topics"
        shared = "Overlap of runs: share of the row's units that the column's run returns too"
        growth, names = self.growth, ["depth", f"{self.unit}s", "per topic"]
        if growth["relevant"].sum():
            names.append("known relevant")
        else:
            growth = growth.drop("relevant")
        lines = (
            (str(depth), str(number), f"{mean:.1f}", *map(str, rest))
            for depth, number, mean, *rest in growth.iter_rows()
        )
        title = "Growth: units that all runs return to a depth"
        tables = [
            runs,
            self._tabulate_overlap(self.jaccard, jaccard),
            self._tabulate_overlap(self.shared, shared),
            Table(tuple(names), tuple(lines), title=title),
        ]
        if per_topic:
            topics = ((topic, *map(str, counts)) for topic, *counts in self.topics.iter_rows())
            header = ("topic", "returned", "judged", "pooled")
            tables.append(Table(header, tuple(topics), title="Topics"))
        return tables

    def _tabulate_overlap(self, values: Floats, title: str) -> Table:
        """Return a matrix of runs."""
        rows = tuple(
            (name, *map(_format_share, own))
            for name, own in zip(self.names, values.tolist(), strict=True)
        )
        return Table(("run", *self.names), rows, title=title)

    def graphs(self) -> list[Graph]:
        """Return the growth of the pool with its depth, and of its known relevant units."""
        depth = self.growth["depth"].to_numpy().astype(np.float64)
        lines = [Line(f"{self.unit}s", depth, self.growth["units"].to_numpy() * 1.0, series=0)]
        if self.growth["relevant"].sum():
            relevant = self.growth["relevant"].to_numpy() * 1.0
            lines.append(Line("known relevant", depth, relevant, series=1))
        up = Axis(f"{self.unit}s of all topics", low=0.0)
        return [Graph("growth", "Growth of the pool", Axis("depth", low=0.0), up, tuple(lines))]


def _make_row(figure: str, of: str, other: str, value: float) -> dict[str, Any]:
    return {"figure": figure, "of": of, "with": other, "value": value}


def _format_share(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"


def describe_pool(made: Pooling) -> PoolStatistics:
    """Count the units of a pool, the contributions of the runs and their overlap."""
    found = made.candidates
    pooled = np.zeros(len(found.units), dtype=bool)
    pooled[made.chosen] = True
    judged = found.known != UNJUDGED
    topic = found.units["topic"].to_numpy()
    n = len(found.topics)
    topics = {
        "returned": np.bincount(topic, minlength=n),
        "judged": np.bincount(topic[judged], minlength=n),
        "pooled": np.bincount(topic[pooled], minlength=n),
    }
    alone = np.bincount(found.of, minlength=len(found.units)) == 1
    m = len(found.runs)
    runs = {
        "returned": np.bincount(found.by, minlength=m),
        "judged": np.bincount(found.by[judged[found.of]], minlength=m),
        "pooled": np.bincount(found.by[pooled[found.of]], minlength=m),
        "unique": np.bincount(found.by[(pooled & alone)[found.of]], minlength=m),
    }
    covered = np.bincount(found.by[(pooled | judged)[found.of]], minlength=m)
    jaccard, shared = _measure_overlap(found)
    deepest = int(found.best.max(initial=0))
    depths = [step for step in _GROWTH if step < deepest] + ([deepest] if deepest else [])
    units, relevant = (
        np.searchsorted(np.sort(best), depths, side="right")
        for best in (found.best, found.best[found.known == RELEVANT])
    )
    growth = {
        "depth": pl.Series(depths, dtype=pl.Int64),
        "units": pl.Series(units, dtype=pl.Int64),
        "per_topic": units / max(n, 1),
        "relevant": pl.Series(relevant, dtype=pl.Int64),
    }
    return PoolStatistics(
        unit=found.unit,
        depth=made.depth,
        names=found.names,
        topics=pl.DataFrame({"topic": pl.Series(found.topics, dtype=pl.String), **topics}),
        runs=pl.DataFrame(
            {
                "run": pl.Series(found.names, dtype=pl.String),
                "topics": [len(run.topics) for run in found.runs],
                **runs,
                "covered": covered / np.maximum(runs["returned"], 1),
            }
        ),
        jaccard=jaccard,
        shared=shared,
        growth=pl.DataFrame(growth),
        deeper=made.deeper,
        meta={"version": __version__, **made.pool.header},
    )


def _measure_overlap(found: Candidates) -> tuple[Floats, Floats]:
    """Return Jaccard coefficients and shares, means over the topics that define them."""
    m = len(found.runs)
    jaccard, shared = np.zeros((m, m)), np.zeros((m, m))
    either, own = np.zeros((m, m)), np.zeros((m, m))
    for topic in range(len(found.topics)):
        there = (found.lists(topic).rank > 0).astype(np.float64)
        both = there.T @ there
        size = np.diag(both)
        union = size[:, None] + size - both
        jaccard += np.divide(both, union, out=np.zeros_like(both), where=union > 0)
        shared += np.divide(both, size[:, None], out=np.zeros_like(both), where=size[:, None] > 0)
        either += union > 0
        own += size[:, None] > 0
    with np.errstate(invalid="ignore"):
        return jaccard / either, shared / own
