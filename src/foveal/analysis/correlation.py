"""Rank correlation coefficients: Kendall, AP correlation, Spearman, rank-biased overlap.

Rankings are given as scores, greater is better; equal scores are ties. If all systems of a ranking
are tied, or there are fewer than two, every coefficient is ``nan``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import nan, sqrt

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


def _compare_systems(
    x: Scores, y: Scores
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Return the signs of all differences of systems, (system, system), in both rankings.

    A sign is 1 where the system of the row is above that of the column. None if a ranking ties all
    systems.
    """
    first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(first) != len(second):
        raise UsageError(
            f"two rankings of {len(first)} and {len(second)} systems; expected the same systems"
        )
    if np.isnan(first).any() or np.isnan(second).any():
        raise UsageError("a score is nan; expected a number for every system")
    above = [(v[:, None] > v).astype(np.int64) - (v[:, None] < v) for v in (first, second)]
    return (above[0], above[1]) if above[0].any() and above[1].any() else None


def kendall_tau_a(x: Scores, y: Scores) -> float:
    """(C - D) / (n(n-1)/2): pairs in the same order less pairs in opposite order, over all pairs.

    A pair tied in either ranking counts as neither, so that rankings with ties do not reach 1.

    >>> kendall_tau_a([0.3, 0.5, 0.2, 0.9, 0.4], [0.35, 0.30, 0.1, 0.8, 0.42])
    0.6
    """
    if (signs := _compare_systems(x, y)) is None:
        return nan
    n = len(signs[0])
    return int((signs[0] * signs[1]).sum()) / (n * (n - 1))


def kendall_tau_b(x: Scores, y: Scores) -> float:
    """Kendall's tau with the pairs that a ranking ties taken out of its share of the divisor.

    (C - D) / sqrt(pairs not tied in x · pairs not tied in y). Without ties it equals tau a; a
    ranking and itself have 1, ties or not.

    >>> kendall_tau_b([1, 2, 2, 3], [1, 2, 2, 3]), kendall_tau_a([1, 2, 2, 3], [1, 2, 2, 3])
    (1.0, 0.8333333333333334)
    """
    if (signs := _compare_systems(x, y)) is None:
        return nan
    untied = [int(np.count_nonzero(ranking)) for ranking in signs]
    return int((signs[0] * signs[1]).sum()) / sqrt(untied[0] * untied[1])


def tau_ap(reference: Scores, estimate: Scores) -> float:
    """AP correlation: Kendall's tau with more weight on the top of the estimated ranking.

    Going down the estimate, the share of the systems above that the reference puts above as well,
    less the share that it puts below, averaged over all systems but the first. Not symmetric.

    Ties as in tau b: systems tied in the estimate are not compared with each other, those tied at
    its top have no system above and are left out of the mean, and a pair tied in the reference
    alone counts as neither. A ranking and itself have 1.

    References
    ----------
    Yilmaz, Aslam, Robertson, SIGIR 2008; ties for agreement after Urbano and Marrero, ICTIR 2017.

    Examples
    --------
    A swap at the top costs more than one at the bottom:

    >>> tau_ap([4, 3, 2, 1], [3, 4, 2, 1]), tau_ap([4, 3, 2, 1], [4, 3, 1, 2])
    (0.3333333333333333, 0.7777777777777778)
    """
    if (signs := _compare_systems(reference, estimate)) is None:
        return nan
    above = signs[1] < 0  # in the estimate, the column is above the row
    number = above.sum(axis=1)
    order = np.argsort(number, kind="stable")
    order = order[number[order] > 0]
    shares = -(signs[0] * above).sum(axis=1)[order] / number[order]
    return float(sum(shares.tolist()) / len(shares))


def spearman(x: Scores, y: Scores) -> float:
    """Pearson's correlation of the ranks; tied systems share the mean of their ranks.

    >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 4]), 10)
    0.8
    """
    if (signs := _compare_systems(x, y)) is None:
        return nan
    # A mean rank less the middle of all ranks is half the sum of its signs.
    a, b = (ranking.sum(axis=1) / 2 for ranking in signs)
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
    if (signs := _compare_systems(x, y)) is None:
        return nan
    first, second = ((ranking < 0).sum(axis=1) for ranking in signs)  # depths of entry, from 0
    depth = np.arange(len(first))
    tops = [np.searchsorted(np.sort(entry), depth, side="right") for entry in (first, second)]
    both = np.searchsorted(np.sort(np.maximum(first, second)), depth, side="right")
    agreement = 2 * both / (tops[0] + tops[1])
    # 1 - (the weight of what is missing): exact for equal rankings, whatever p.
    return float(1 - (1 - p) * ((1 - agreement) * p**depth).sum())


COEFFICIENTS: dict[str, Coefficient] = {
    "tau_b": kendall_tau_b,
    "tau_a": kendall_tau_a,
    "tau_ap": tau_ap,
    "spearman": spearman,
    "rbo": rbo,
}
"""Name to function of two rankings; the first is the reference of `tau_ap`."""


def coefficient(name: str, *, rbo_p: float = RBO_P) -> Coefficient:
    """Return the coefficient of this name.

    >>> coefficient("tau_a")([1, 2, 3], [3, 2, 1])
    -1.0
    """
    if name not in COEFFICIENTS:
        raise UsageError(f"unknown coefficient {name!r}; expected {' or '.join(COEFFICIENTS)}")
    return partial(rbo, p=rbo_p) if name == "rbo" else COEFFICIENTS[name]
