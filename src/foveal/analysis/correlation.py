"""Rank correlation coefficients: Kendall, AP correlation, Spearman, rank-biased overlap.

Rankings are given as scores, greater is better; equal scores are ties. If all systems of a ranking
are tied, or there are fewer than two, every coefficient is ``nan``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from math import isnan, nan, sqrt

import numpy as np
import numpy.typing as npt

from foveal.errors import UsageError

__all__ = [
    "COEFFICIENTS",
    "RBO_P",
    "coefficient",
    "kendall_tau_a",
    "kendall_tau_b",
    "rbo",
    "spearman",
    "tau_ap",
]

Scores = Sequence[float] | npt.NDArray[np.float64]
Coefficient = Callable[[Scores, Scores], float]

RBO_P = 0.9
"""Persistence of the reader of rankings: the first ten places carry 86 % of the weight."""


def _check_scores(x: Scores, y: Scores) -> tuple[list[float], list[float]] | None:
    """Return the scores as lists; None if one of them ties all systems."""
    first, second = np.asarray(x, np.float64).tolist(), np.asarray(y, np.float64).tolist()
    if len(first) != len(second):
        raise UsageError(
            f"two rankings of {len(first)} and {len(second)} systems; expected the same systems"
        )
    if any(map(isnan, first)) or any(map(isnan, second)):
        raise UsageError("a score is nan; expected a number for every system")
    return (first, second) if min(len(set(first)), len(set(second))) > 1 else None


def _agreements(upper: list[float], lower: list[float]) -> Iterator[tuple[int, int, int]]:
    """Count the agreements of two rankings, going down the first one.

    Yields for each system how many are strictly above it, and how many of them the second ranking
    puts above and below it. A sorted list of those above keeps this at n log n comparisons.
    """
    order = sorted(zip(upper, lower, strict=True), key=lambda pair: -pair[0])
    above: list[float] = []
    for _, tied in groupby(order, key=lambda pair: pair[0]):
        group = [score for _, score in tied]
        for score in group:
            yield len(above), len(above) - bisect_right(above, score), bisect_left(above, score)
        for score in group:
            insort(above, score)


def _surplus(x: list[float], y: list[float]) -> int:
    """Return the number of pairs in the same order minus that in opposite order."""
    return sum(agree - disagree for _, agree, disagree in _agreements(x, y))


def kendall_tau_a(x: Scores, y: Scores) -> float:
    """(C - D) / (n(n-1)/2): pairs in the same order less pairs in opposite order, over all pairs.

    A pair tied in either ranking counts as neither, so that rankings with ties do not reach 1.

    >>> kendall_tau_a([0.3, 0.5, 0.2, 0.9, 0.4], [0.35, 0.30, 0.1, 0.8, 0.42])
    0.6
    """
    if (scores := _check_scores(x, y)) is None:
        return nan
    first, second = scores
    return _surplus(first, second) / (len(first) * (len(first) - 1) / 2)


def kendall_tau_b(x: Scores, y: Scores) -> float:
    """Kendall's tau with the pairs that a ranking ties taken out of its share of the divisor.

    (C - D) / sqrt(pairs not tied in x · pairs not tied in y). Without ties it equals tau a; a
    ranking and itself have 1, ties or not.

    >>> kendall_tau_b([1, 2, 2, 3], [1, 2, 2, 3]), kendall_tau_a([1, 2, 2, 3], [1, 2, 2, 3])
    (1.0, 0.8333333333333334)
    """
    if (scores := _check_scores(x, y)) is None:
        return nan
    first, second = scores
    pairs = len(first) * (len(first) - 1) // 2
    untied = []
    for ranking in scores:
        _, counts = np.unique(ranking, return_counts=True)
        untied.append(pairs - int((counts * (counts - 1) // 2).sum()))
    return _surplus(first, second) / sqrt(untied[0] * untied[1])


def tau_ap(reference: Scores, estimate: Scores) -> float:
    """AP correlation: Kendall's tau with more weight on the top of the estimated ranking.

    Going down the estimate, the share of the systems above that the reference puts above as well,
    less the share that it puts below, averaged over all systems but the first. Not symmetric.

    Ties as in tau b: systems tied in the estimate are not held against each other, those tied at
    its top have nobody above and are left out of the mean, and a pair tied in the reference alone
    counts as neither. A ranking and itself have 1.

    References
    ----------
    Yilmaz, Aslam, Robertson, SIGIR 2008; ties for agreement after Urbano and Marrero, ICTIR 2017.

    Examples
    --------
    A swap at the top costs more than one at the bottom:

    >>> tau_ap([4, 3, 2, 1], [3, 4, 2, 1]), tau_ap([4, 3, 2, 1], [4, 3, 1, 2])
    (0.3333333333333333, 0.7777777777777778)
    """
    if (scores := _check_scores(reference, estimate)) is None:
        return nan
    wanted, found = scores
    shares = [
        (agree - disagree) / above for above, agree, disagree in _agreements(found, wanted) if above
    ]
    return sum(shares) / len(shares)


def _mean_ranks(scores: list[float]) -> npt.NDArray[np.float64]:
    """Ranks from the lowest score, ties sharing the mean of theirs."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place], dtype=np.float64)


def spearman(x: Scores, y: Scores) -> float:
    """Pearson's correlation of the ranks; tied systems share the mean of their ranks.

    >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 4]), 10)
    0.8
    """
    if (scores := _check_scores(x, y)) is None:
        return nan
    first, second = scores
    middle = (len(first) + 1) / 2
    a, b = _mean_ranks(first) - middle, _mean_ranks(second) - middle
    return float(a @ b / sqrt(float(a @ a) * float(b @ b)))


def rbo(x: Scores, y: Scores, *, p: float = RBO_P) -> float:
    """Rank-biased overlap of two full rankings: 1 for equal ones, and never below 0.

    At each depth d the overlap of the two tops, 2·|both| / (|top of x| + |top of y|); the mean of
    them, weighted by p^(d-1). Below the last depth both hold everything, so the agreement there
    is 1 for ever (the extrapolated form for lists of equal length). Tied systems all enter at the
    first depth of their group.

    References
    ----------
    Webber, Moffat, Zobel, ACM TOIS 28(4), 2010.

    Examples
    --------
    >>> rbo([3, 2, 1], [3, 2, 1]), round(rbo([3, 2, 1], [2, 3, 1], p=0.5), 10)
    (1.0, 0.5)
    """
    if not 0 < p < 1:
        raise UsageError(f"the persistence of RBO is {p}; expected a number between 0 and 1")
    if (scores := _check_scores(x, y)) is None:
        return nan
    n = len(scores[0])
    entry = [n + 1 - _last_ranks(ranking) for ranking in scores]
    depth = np.arange(1, n + 1)
    tops = [np.cumsum(np.bincount(e, minlength=n + 1)[1:]) for e in entry]
    both = np.cumsum(np.bincount(np.maximum(*entry), minlength=n + 1)[1:])
    agreement = 2 * both / (tops[0] + tops[1])
    # 1 - (the weight of what is missing): exact for equal rankings, whatever p.
    return float(1 - (1 - p) * ((1 - agreement) * p ** (depth - 1)).sum())


def _last_ranks(scores: list[float]) -> npt.NDArray[np.int64]:
    """Ranks from the lowest score, ties sharing the greatest of theirs."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    return np.asarray(np.cumsum(counts)[place], dtype=np.int64)


COEFFICIENTS: dict[str, Coefficient] = {
    "tau_b": kendall_tau_b,
    "tau_a": kendall_tau_a,
    "tau_ap": tau_ap,
    "spearman": spearman,
    "rbo": rbo,
}
"""Name to function of two rankings; of `tau_ap` the first is the reference."""


def coefficient(name: str, *, rbo_p: float = RBO_P) -> Coefficient:
    """The coefficient of this name.

    >>> coefficient("tau_a")([1, 2, 3], [3, 2, 1])
    -1.0
    """
    if name not in COEFFICIENTS:
        raise UsageError(f"unknown coefficient {name!r}; expected {' or '.join(COEFFICIENTS)}")
    return partial(rbo, p=rbo_p) if name == "rbo" else COEFFICIENTS[name]
