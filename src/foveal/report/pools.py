"""Statistics of pools for reading and for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from foveal.analysis.pooling import PoolStatistics
from foveal.errors import UsageError, counted
from foveal.formats.result_files import separated
from foveal.report.grids import Grid

__all__ = ["growth_figure", "pool_data", "pool_grids", "pool_json", "pool_rows", "summary"]

Row = tuple[str, str, str, float]


def summary(statistics: PoolStatistics) -> str:
    """The pool in one line."""
    size = statistics.topics["pooled"].to_numpy()
    if not size.sum():
        return f"nothing to assess: no {statistics.unit} is left"
    judged = int(statistics.topics["judged"].sum())
    before = f"; {judged} judged before" if judged else ""
    return (
        f"{counted(size.sum(), statistics.unit)} of {counted(len(statistics.names), 'run')} to "
        f"assess for {counted((size > 0).sum(), 'topic')} "
        f"(min {size.min()}, mean {size.mean():.1f}, max {size.max()}){before}"
    )


def pool_grids(statistics: PoolStatistics, *, per_topic: bool = False) -> list[Grid]:
    """Tables of the runs, their overlap, the growth of the pool, and on request the topics."""
    depth = statistics.depth
    what = f"all {statistics.unit}s" if depth is None else f"the first {depth} {statistics.unit}s"
    deeper = f"; all of topic {', '.join(statistics.deeper)}" if statistics.deeper else ""
    grids = [
        _runs(statistics, f"What the runs bring: {what} of each topic{deeper}"),
        _matrix(
            statistics,
            statistics.jaccard,
            "Overlap of runs: shared of what either returns (Jaccard), mean over topics",
        ),
        _matrix(
            statistics,
            statistics.shared,
            "Overlap of runs: share of the row's that the column's run returns too",
        ),
        _growth(statistics),
    ]
    return [*grids, _topics(statistics)] if per_topic else grids


def _runs(statistics: PoolStatistics, title: str) -> Grid:
    rows = [
        (run, *map(str, counts), _number(covered))
        for run, *counts, covered in statistics.runs.iter_rows()
    ]
    return Grid(
        ("run", "topics", "returned", "judged", "pooled", "unique", "covered"),
        tuple(rows),
        title=title,
        notes=(
            f"{summary(statistics)}.",
            "unique: in the pool through this run alone; covered: share judged once the pool is.",
        ),
    )


def _matrix(statistics: PoolStatistics, values: Any, title: str) -> Grid:
    """Rows have the names of the runs, columns their numbers: names do not fit side by side."""
    numbers = range(1, len(statistics.names) + 1)
    rows = tuple(
        (f"{i} {name}", *map(_number, own))
        for i, name, own in zip(numbers, statistics.names, values.tolist(), strict=True)
    )
    return Grid(("run", *map(str, numbers)), rows, title=title)


def _growth(statistics: PoolStatistics) -> Grid:
    names = ["depth", statistics.unit + "s", "per topic"]
    frame = statistics.growth
    if not frame["relevant"].sum():
        frame = frame.drop("relevant")
    else:
        names.append("known relevant")
    rows = (
        (str(depth), str(units), f"{mean:.1f}", *map(str, rest))
        for depth, units, mean, *rest in frame.iter_rows()
    )
    return Grid(tuple(names), tuple(rows), title="Growth: what all runs return to a depth")


def _topics(statistics: PoolStatistics) -> Grid:
    rows = [(topic, *map(str, counts)) for topic, *counts in statistics.topics.iter_rows()]
    return Grid(("topic", "returned", "judged", "pooled"), tuple(rows), title="Topics")


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def pool_rows(statistics: PoolStatistics) -> Iterator[Row]:
    """Tidy rows: name of the figure, whose it is, beside which run or at which depth, value.

    A figure of a topic comes as ``topic.pooled``, of a run as ``run.unique``, of two runs as
    ``jaccard`` and ``shared``, of a depth as ``growth.units``.
    """
    for kind, frame in (
        ("topic", statistics.topics),
        ("run", statistics.runs),
        ("growth", statistics.growth),
    ):
        for name, *values in frame.iter_rows():
            for column, value in zip(frame.columns[1:], values, strict=True):
                yield f"{kind}.{column}", str(name), "", value
    for kind, matrix in (("jaccard", statistics.jaccard), ("shared", statistics.shared)):
        for run, own in zip(statistics.names, matrix.tolist(), strict=True):
            for other, value in zip(statistics.names, own, strict=True):
                yield kind, run, other, value


def pool_data(statistics: PoolStatistics, form: str) -> str:
    """The tidy rows as tsv or csv."""
    return separated(("figure", "of", "with", "value"), pool_rows(statistics), form)


def pool_json(statistics: PoolStatistics, meta: Mapping[str, Any]) -> str:
    """All figures, and in `meta` how the pool was made."""
    size = statistics.topics["pooled"].to_numpy()
    whole = {
        "meta": dict(meta),
        "unit": statistics.unit,
        "depth": statistics.depth,
        "size": {
            "total": int(size.sum()),
            "min": int(size.min()),
            "mean": float(size.mean()),
            "max": int(size.max()),
        },
        "topics": statistics.topics.to_dicts(),
        "runs": statistics.runs.to_dicts(),
        "overlap": {
            "runs": list(statistics.names),
            "jaccard": _nulled(statistics.jaccard),
            "shared": _nulled(statistics.shared),
        },
        "growth": statistics.growth.to_dicts(),
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _nulled(matrix: np.ndarray[Any, Any]) -> list[list[float | None]]:
    """Rows of numbers, None where two runs have no topic that tells."""
    return [[None if math.isnan(value) else value for value in row] for row in matrix.tolist()]


def growth_figure(statistics: PoolStatistics) -> Any:
    """How a pool grows with its depth, as a matplotlib Figure (``foveal[plot]`` is needed).

    Where judgements are known, a second curve has what is relevant.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(
            "figures need matplotlib; install it with pip install matplotlib"
        ) from None
    growth = statistics.growth
    drawn = Figure(figsize=(6, 4), dpi=150, layout="constrained")
    axis = drawn.subplots()
    depth, units = growth["depth"].to_list(), growth["units"].to_list()
    axis.plot(depth, units, label=f"{statistics.unit}s", marker="o", markersize=4)
    if growth["relevant"].sum():
        relevant = growth["relevant"].to_list()
        axis.plot(depth, relevant, label="known relevant", marker="^", markersize=4)
    axis.set_xlabel("depth")
    axis.set_ylabel(f"{statistics.unit}s of all topics")
    axis.set_ylim(bottom=0)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    return drawn
