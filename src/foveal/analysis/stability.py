"""Stability of measures: swaps under topic sampling, and discriminative power."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.analysis.rankings import (
    SAMPLES,
    SEED,
    Given,
    Progress,
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
"""Greatest share of swaps of a safe difference."""
_CHUNK = 4_000_000
"""Differences in memory at once."""


class Swaps(NamedTuple):
    """Swaps among pairs of runs between pairs of topic sets of one size.

    Parameters
    ----------
    size : int
        Topics in each of the two disjoint sets.
    rate : float
        Share of swaps among the comparisons.
    comparisons, swaps, ties : int
        Numbers of pairs of runs over all samples: all, in opposite order on the two sets, and tied
        on a set, which is not a swap.
    safe_difference : float
        Smallest difference of means on one set that is swapped on the other in at most 5 % of
        cases, in steps of 0.01; ``nan`` if none is large enough.
    """

    size: int
    rate: float
    comparisons: int
    swaps: int
    ties: int
    safe_difference: float


class Power(NamedTuple):
    """Pairs of runs whose difference a paired t-test finds significant, and their share."""

    share: float
    significant: int
    pairs: int
    topics: int


def swap_rate(scores: ScoreMatrix, size: int, *, samples: int = SAMPLES, seed: int = SEED) -> Swaps:
    """Count how often two sets of `size` topics disagree about the better of two runs.

    Two disjoint sets are drawn at random, `samples` times, and all pairs compared on both.

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
    runs, topics = scores.values.shape
    if runs < 2:
        raise UsageError(f"{scores.measure}: {runs} run given; expected at least two to compare")
    if not 1 <= size <= topics // 2:
        raise UsageError(
            f"{scores.measure}: two disjoint sets of {size} topics cannot be drawn from {topics}; "
            f"expected a size from 1 to {topics // 2}"
        )
    one, two = sample_means(scores, size, samples, seed)
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
    # The lower end of the first class from which on all classes have few swaps.
    unsafe = np.flatnonzero(swapped > _SAFE * seen)
    safe = int(unsafe[-1]) + 1 if len(unsafe) else 0
    difference = round(safe * _BIN, 2) if seen[safe:].any() else float("nan")
    number, swaps = int(seen.sum()), int(swapped.sum())
    return Swaps(size, swaps / number, number, swaps, ties, difference)


def swap_rates(
    scores: ScoreMatrix,
    sizes: Sequence[int] | None = None,
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> list[Swaps]:
    """Return swap rates for sizes of topic sets; by default ten up to half of the topics."""
    half = len(scores.topics) // 2
    if half < 1:
        raise UsageError(
            f"{scores.measure}: {len(scores.topics)} topic to sample from; expected at least two"
        )
    if sizes is None:
        sizes = np.unique(np.linspace(1, half, min(half, _POINTS)).round().astype(int)).tolist()
    return [swap_rate(scores, size, samples=samples, seed=seed) for size in sizes]


def discriminative_power(scores: ScoreMatrix, *, alpha: float = 0.05, tails: int = 1) -> Power:
    """Count the pairs of runs that differ significantly by a paired t-test.

    The test is one-tailed by default, the better mean against the worse, and uncorrected: the
    figure compares measures on the same runs, and does not judge single pairs. A pair with a
    constant difference is significant; one that never differs is not.

    References
    ----------
    Sakai, SIGIR 2006.

    Examples
    --------
    >>> values = np.array([[0.9, 0.8, 0.7], [0.1, 0.3, 0.2], [0.1, 0.3, 0.2]])
    >>> discriminative_power(ScoreMatrix("AP", ("a", "b", "c"), ("1", "2", "3"), values)).share
    0.6666666666666666
    """
    runs, topics = scores.values.shape
    if runs < 2:
        raise UsageError(f"{scores.measure}: {runs} run given; expected at least two to compare")
    if topics < 2:
        raise UsageError(f"{scores.measure}: a t-test over {topics} topic; expected at least two")
    if tails not in (1, 2):
        raise UsageError(f"a test with {tails} tails; expected 1 or 2")
    if not 0 < alpha < 1:
        raise UsageError(f"a level of significance of {alpha}; expected one between 0 and 1")
    significant = 0
    for i in range(runs - 1):  # one run after the other, which bounds memory
        others = np.arange(i + 1, runs)
        differences = paired_differences(scores.values, np.full_like(others, i), others)
        significant += int(np.count_nonzero(t_test(differences, tails=tails) < alpha))
    pairs = runs * (runs - 1) // 2
    return Power(significant / pairs, significant, pairs, topics)


# -- over all measures and tasks ---------------------------------------------------------------


def _list_matrices(given: Given, warnings: list[str] | None) -> list[tuple[str, ScoreMatrix]]:
    """Return the scores of every measure with values by topic, of every task with two runs."""
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
    """Return the swap rate of every measure in every task, for each size of topic sets.

    Measures without values on two topics and means of other measures are left out, with a note in
    `warnings`.
    """
    rows = []
    sizes = [sizes] if isinstance(sizes, int) else sizes
    for task, scores in _list_matrices(results, warnings):
        found = swap_rates(scores, sizes, samples=samples, seed=seed)
        rows += [(task, scores.measure, *own) for own in found]
        if progress is not None:
            progress()
    columns = ("size", "swap_rate", "comparisons", "swaps", "ties", "safe_difference")
    return _tabulate(rows, columns)


def power_of(
    results: Given,
    *,
    alpha: float = 0.05,
    tails: int = 1,
    warnings: list[str] | None = None,
) -> pl.DataFrame:
    """Return the discriminative power of every measure in every task.

    Measures without values on two topics and means of other measures are left out, with a note in
    `warnings`.
    """
    rows = [
        (task, scores.measure, *discriminative_power(scores, alpha=alpha, tails=tails))
        for task, scores in _list_matrices(results, warnings)
    ]
    return _tabulate(rows, ("discriminative_power", "significant", "pairs", "topics"))


def _tabulate(rows: Sequence[tuple[Any, ...]], columns: Sequence[str]) -> pl.DataFrame:
    """Return a frame of task, measure and these columns; shares and differences are floats."""
    floats = ("swap_rate", "safe_difference", "discriminative_power")
    types = {name: pl.Float64 if name in floats else pl.Int64 for name in columns}
    schema = {"task": pl.String, "measure": pl.String, **types}
    return pl.DataFrame(rows, schema=schema, orient="row")
