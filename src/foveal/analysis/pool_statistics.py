"""What a pool owes to its runs: sizes, contributions, overlap, growth with depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.analysis.pool_candidates import Candidates
from foveal.analysis.pooling import RELEVANT, UNJUDGED
from foveal.spans import Ints

__all__ = ["PoolStatistics"]

Floats = npt.NDArray[np.float64]

_GROWTH = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 1500)
"""Depths at which the size of the pool is told."""


@dataclass(frozen=True, eq=False)
class PoolStatistics:
    """How large a pool is, who contributes to it, how alike the runs are.

    Everything is about the units to the depth of the pool.

    Parameters
    ----------
    unit : str
    depth : int, optional
        None: the whole lists.
    topics : polars.DataFrame
        For each topic what the runs ``returned``, how much of it was ``judged`` before, and how
        much is in the pool (``pooled``).
    runs : polars.DataFrame
        For each run the same, and ``unique``, what only this run brought into the pool;
        ``covered`` is the share of the run's units that are judged once the pool is.
    jaccard : float64 array (run, run)
        What two runs share of what either of them returns; the mean over topics.
    shared : float64 array (run, run)
        The share of the first run's units that the second one returns too; the mean over topics.
    growth : polars.DataFrame
        The number of distinct units to some ``depth``: ``units``, the mean ``per_topic`` and how
        many are judged ``relevant``.
    deeper : tuple of str
        Topics with a budget of their own, for which lists were looked at to their ends.
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

    @classmethod
    def of(
        cls,
        found: Candidates,
        chosen: Ints,
        depth: int | None = None,
        deeper: tuple[str, ...] = (),
    ) -> PoolStatistics:
        """Of a pool that holds the `chosen` units of what was found to a depth."""
        pooled = np.zeros(len(found.units), dtype=bool)
        pooled[chosen] = True
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
        jaccard, shared = _overlaps(found)
        return cls(
            unit=found.unit,
            depth=depth,
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
            growth=_growth(found),
            deeper=deeper,
        )


def _overlaps(found: Candidates) -> tuple[Floats, Floats]:
    """Jaccard coefficients and shares, the mean over the topics on which they are defined."""
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


def _growth(found: Candidates) -> pl.DataFrame:
    """Distinct units by depth, up to the deepest list."""
    deepest = int(found.best.max(initial=0))
    depths = [depth for depth in _GROWTH if depth < deepest] + ([deepest] if deepest else [])
    best = np.sort(found.best)
    units = np.searchsorted(best, depths, side="right")
    relevant = np.searchsorted(np.sort(found.best[found.known == RELEVANT]), depths, side="right")
    return pl.DataFrame(
        {
            "depth": pl.Series(depths, dtype=pl.Int64),
            "units": pl.Series(units, dtype=pl.Int64),
            "per_topic": units / max(len(found.topics), 1),
            "relevant": pl.Series(relevant, dtype=pl.Int64),
        }
    )
