"""Scores side by side: the runs on the topics that count for all of them, by one measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foveal.errors import UsageError
from foveal.measures import parse_measure
from foveal.model import Results

__all__ = ["Aligned", "align", "higher_is_better"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Aligned:
    """What paired tests and rank correlations start from.

    Parameters
    ----------
    measure : str
    runs, topics : tuple of str
        The axes of `values`.
    values : float64 array (run, topic)
        Never ``nan``.
    left_out : tuple of str
        Topics that some run is not counted on, or has no defined score on.
    higher_is_better : bool
        Whether a greater value is the better one.
    """

    measure: str
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    values: Floats
    left_out: tuple[str, ...] = ()
    higher_is_better: bool = True

    @property
    def means(self) -> Floats:
        """The mean of each run over the topics that all share."""
        return np.asarray(self.values.mean(axis=1), dtype=np.float64)


def higher_is_better(label: str) -> bool:
    """Of a measure by its label; of one that only counts, and of a user's own column, yes.

    >>> higher_is_better("AiP"), higher_is_better("T2Ieffort@3"), higher_is_better("my own")
    (True, False, True)
    """
    try:
        return parse_measure(label).higher_is_better is not False
    except UsageError:
        return True


def align(results: Results, measure: str, runs: Sequence[str] | None = None) -> Aligned:
    """The scores of runs by a measure, topics matched by their ids.

    Examples
    --------
    >>> saved = Results.from_tidy(
    ...     [("a", "1", "AP", 0.5), ("a", "2", "AP", 0.25), ("b", "2", "AP", 1.0)], {}
    ... )
    >>> both = align(saved, "AP")
    >>> both.topics, both.values.tolist(), both.left_out
    (('2',), [[0.25], [1.0]], ('1',))
    """
    part = results.only([measure])
    chosen = part.runs if runs is None else tuple(runs)
    for run in chosen:
        if run not in part.runs:
            known = ", ".join(part.runs[:5]) + (", ..." if len(part.runs) > 5 else "")
            raise UsageError(f"no run {run!r} in the results; they hold {known}")
    at = [part.runs.index(run) for run in chosen]
    values = part.values[at, :, 0]
    shared = np.logical_and.reduce(~np.isnan(values) & part.counted[at])
    return Aligned(
        measure=part.measures[0],
        runs=chosen,
        topics=tuple(t for t, kept in zip(part.topics, shared, strict=True) if kept),
        values=np.ascontiguousarray(values[:, shared]),
        left_out=tuple(t for t, kept in zip(part.topics, shared, strict=True) if not kept),
        higher_is_better=higher_is_better(part.measures[0]),
    )
