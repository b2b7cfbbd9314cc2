"""How far a measure can be trusted: swaps under topic sampling, and discriminative power."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.analysis.rankings import (
    SAMPLES,
    SEED,
    Given,
    drop_unsampled,
    results_of_tasks,
    sample_means,
)
from foveal.analysis.score_matrix import ScoreMatrix
from foveal.analysis.significance import paired_differences, t_test
from foveal.errors import UsageError

__all__ = [
    "Power",
    "Swaps",
    "discriminative_power",
    "power_of",
    "swap_rate",
    "swap_rates",
    "swaps_of",
]

_POINTS = 10
"""Sizes of topic sets on a curve, unless the user names them."""
_BIN = 0.01
"""Width of the classes of differences, as Voorhees and Buckley have it."""
_SAFE = 0.05
"""Most swaps that are accepted of a difference that counts as safe."""
_CHUNK = 4_000_000
"""Differences held at once."""

Floats = npt.NDArray[np.float64]
Progress = Callable[[], None]


@dataclass(frozen=True)
class Swaps:
    """Swaps among pairs of runs between pairs of topic sets of one size.

    Parameters
    ----------
    size : int
        Topics in each of the two disjoint sets.
    comparisons, swaps, ties : int
        Pairs of runs over all samples; those in opposite order on the two sets; those that a set
        leaves tied, which are no swaps.
    safe_difference : float
        Difference of means on one set from which at most 5 % are swapped on the other, in steps
        of 0.01; ``nan`` where none is large enough.
    """

    size: int
    comparisons: int
    swaps: int
    ties: int
    safe_difference: float

    @property
    def rate(self) -> float:
        return self.swaps / self.comparisons


@dataclass(frozen=True)
class Power:
    """Pairs of runs whose difference a paired t-test finds significant."""

    pairs: int
    significant: int
    topics: int

    @property
    def share(self) -> float:
        return self.significant / self.pairs


def swap_rate(
    aligned: ScoreMatrix, size: int, *, samples: int = SAMPLES, seed: int = SEED
) -> Swaps:
    """How often two sets of `size` topics disagree on which of two runs is the better one.

    Two disjoint sets are drawn at random, `samples` times, and every two runs compared on both.

    References
    ----------
    Voorhees and Buckley, SIGIR 2002.

    Examples
    --------
    A run that is better on every topic is better on every set of topics:

    >>> both = ScoreMatrix("AP", ("a", "b"), ("1", "2", "3"), np.array([[3, 2, 4], [1, 1, 2.0]]))
    >>> swap_rate(both, 1).rate
    0.0
    """
    runs, topics = aligned.values.shape
    if runs < 2:
        raise UsageError(f"{aligned.measure}: {runs} run given; expected at least two to compare")
    if not 1 <= size <= topics // 2:
        raise UsageError(
            f"{aligned.measure}: two disjoint sets of {size} topics cannot be drawn from {topics}; "
            f"expected a size from 1 to {topics // 2}"
        )
    one, two = sample_means(aligned, size, samples, seed)
    first, second = np.triu_indices(runs, 1)
    # Swaps by the class of their difference; measures without bound share the last classes.
    widest = float(np.ptp(one, axis=1).max(initial=0.0))
    bins = min(int(widest / _BIN), 10_000) + 1
    seen, swapped = np.zeros(bins, np.int64), np.zeros(bins, np.int64)
    ties, step = 0, max(1, _CHUNK // len(first))
    for start in range(0, samples, step):
        here = one[start : start + step, first] - one[start : start + step, second]
        there = two[start : start + step, first] - two[start : start + step, second]
        # 1e-9: a difference of 0.03 may be stored as slightly less.
        kind = np.minimum((np.abs(here) / _BIN + 1e-9).astype(np.int64), bins - 1)
        opposite = here * there < 0
        seen += np.bincount(kind.ravel(), minlength=bins)
        swapped += np.bincount(kind[opposite], minlength=bins)
        ties += int(np.count_nonzero((here == 0) | (there == 0)))
    return Swaps(size, int(seen.sum()), int(swapped.sum()), ties, _safe(seen, swapped))


def _safe(seen: npt.NDArray[np.int64], swapped: npt.NDArray[np.int64]) -> float:
    """The lower end of the first class from which all classes up keep to the accepted rate."""
    unsafe = np.flatnonzero(swapped > _SAFE * seen)
    first = 0 if not len(unsafe) else int(unsafe[-1]) + 1
    return round(first * _BIN, 2) if seen[first:].any() else float("nan")


def swap_rates(
    aligned: ScoreMatrix,
    sizes: Sequence[int] | None = None,
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> list[Swaps]:
    """The swap rate for several sizes of topic sets; by default ten up to half of the topics."""
    half = len(aligned.topics) // 2
    if half < 1:
        raise UsageError(
            f"{aligned.measure}: {len(aligned.topics)} topic to sample from; expected at least two"
        )
    if sizes is None:
        sizes = np.unique(np.linspace(1, half, min(half, _POINTS)).round().astype(int)).tolist()
    return [swap_rate(aligned, size, samples=samples, seed=seed) for size in sizes]


def discriminative_power(aligned: ScoreMatrix, *, alpha: float = 0.05, tails: int = 1) -> Power:
    """Of how many pairs of runs a paired t-test says that they differ.

    One-tailed, the better mean against the worse, and uncorrected unless told otherwise: the
    figure compares measures on the same runs, it is no statement about any single pair. A pair
    that differs by the same amount on every topic is significant; one that never differs is not.

    References
    ----------
    Sakai, SIGIR 2006.

    Examples
    --------
    >>> values = np.array([[0.9, 0.8, 0.7], [0.1, 0.3, 0.2], [0.1, 0.3, 0.2]])
    >>> discriminative_power(ScoreMatrix("AP", ("a", "b", "c"), ("1", "2", "3"), values)).share
    0.6666666666666666
    """
    runs, topics = aligned.values.shape
    if runs < 2:
        raise UsageError(f"{aligned.measure}: {runs} run given; expected at least two to compare")
    if topics < 2:
        raise UsageError(f"{aligned.measure}: a t-test over {topics} topic; expected at least two")
    if tails not in (1, 2):
        raise UsageError(f"a test with {tails} tails; expected 1 or 2")
    if not 0 < alpha < 1:
        raise UsageError(f"a level of significance of {alpha}; expected one between 0 and 1")
    significant = 0
    for i in range(runs - 1):
        others = np.arange(i + 1, runs)
        differences = paired_differences(aligned.values, np.full_like(others, i), others)
        significant += int(np.count_nonzero(t_test(differences, tails=tails) < alpha))
    return Power(runs * (runs - 1) // 2, significant, topics)


# -- over all measures and tasks ---------------------------------------------------------------


def _aligned(given: Given, warnings: list[str] | None) -> list[tuple[str, ScoreMatrix]]:
    """Every measure that has values on topics, of every task with runs to compare."""
    said: list[str] = []
    tasks = {
        task: part for task, part in results_of_tasks(given, said).items() if len(part.runs) >= 2
    }
    found = [
        (task, ScoreMatrix.from_results(results, label))
        for task, results in drop_unsampled(tasks, 2, said).items()
        for label in results.measures
    ]
    if warnings is not None:
        warnings += said
    return found


def swaps_of(
    results: Given,
    *,
    sizes: int | Sequence[int] | None = None,
    samples: int = SAMPLES,
    seed: int = SEED,
    progress: Progress | None = None,
    warnings: list[str] | None = None,
) -> pl.DataFrame:
    """The swap rate of every measure in every task, for each size of topic sets.

    A measure without values on two topics is left out, and so is a mean of other measures; both
    are said in `warnings`.
    """
    rows = []
    sizes = [sizes] if isinstance(sizes, int) else sizes
    for task, aligned in _aligned(results, warnings):
        for found in swap_rates(aligned, sizes, samples=samples, seed=seed):
            counts = (found.comparisons, found.swaps, found.ties)
            rows.append(
                (task, aligned.measure, found.size, found.rate, *counts, found.safe_difference)
            )
        if progress is not None:
            progress()
    schema = {
        "task": pl.String,
        "measure": pl.String,
        "size": pl.Int64,
        "swap_rate": pl.Float64,
        "comparisons": pl.Int64,
        "swaps": pl.Int64,
        "ties": pl.Int64,
        "safe_difference": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def power_of(
    results: Given,
    *,
    alpha: float = 0.05,
    tails: int = 1,
    warnings: list[str] | None = None,
) -> pl.DataFrame:
    """The discriminative power of every measure in every task.

    A measure without values on two topics is left out, and so is a mean of other measures; both
    are said in `warnings`.
    """
    rows = []
    for task, aligned in _aligned(results, warnings):
        found = discriminative_power(aligned, alpha=alpha, tails=tails)
        rows.append(
            (task, aligned.measure, found.share, found.significant, found.pairs, found.topics)
        )
    schema = {
        "task": pl.String,
        "measure": pl.String,
        "discriminative_power": pl.Float64,
        "significant": pl.Int64,
        "pairs": pl.Int64,
        "topics": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
