"""Coefficients of agreement for many groups at once: kappa, unitised alpha, entry points, grades.

They are computed from sums and lengths, never per character. An undefined coefficient is ``nan``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.spans import Ints

__all__ = [
    "REACH",
    "AgreementTables",
    "GroupedLengths",
    "distances",
    "expected_disagreement",
    "ranges",
    "ratio",
    "sums",
    "weighted_kappa",
]

Floats = npt.NDArray[np.float64]

REACH = (0, 100, 500, 1000)
"""Distances in characters within which best entry points are counted as close."""


def sums(values: npt.NDArray[Any], group: Ints, groups: int) -> Floats:
    """Return the sum of each group."""
    return np.bincount(group, values, groups).astype(np.float64)


def ratio(above: Floats, below: Floats) -> Floats:
    """Return the quotient, nan where the divisor is 0."""
    quotient: Floats = np.full(len(below), np.nan)
    np.divide(above, below, out=quotient, where=below > 0)
    return quotient


def ranges(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Concatenate the ranges ``left[i]:right[i]``; return the i of each number, and the numbers.

    >>> [x.tolist() for x in ranges(np.array([5, 0, 2]), np.array([7, 0, 3]))]
    [[0, 0, 2], [5, 6, 2]]
    """
    count = right - left
    owner = np.repeat(np.arange(len(left), dtype=np.int64), count)
    before = np.cumsum(count) - count
    return owner, np.arange(len(owner), dtype=np.int64) - before[owner] + left[owner]


class AgreementTables(NamedTuple):
    """Two-by-two tables: numbers of items: all, and marked by the first, second and both."""

    total: Floats
    first: Floats
    second: Floats
    both: Floats

    def pooled(self, group: Ints, groups: int) -> AgreementTables:
        """Return the sum of the tables of each group."""
        return AgreementTables(*(sums(column, group, groups) for column in self))

    def agreement(self, group: Ints, groups: int) -> tuple[Floats, Floats]:
        """Return observed agreement and kappa of each group of tables.

        With A and B marked by either and C by both of n items, A + B - 2C are observed to differ
        and (A(n-B) + B(n-A))/n expected to; both are summed over the tables of a group, and kappa
        is 1 - observed/expected. For one table this is Cohen's kappa. The order of the two
        assessors does not matter.

        >>> one = AgreementTables(*(np.array([x]) for x in (100.0, 40.0, 30.0, 20.0)))
        >>> observed, kappa = one.agreement(np.array([0]), 1)
        >>> observed.tolist(), kappa.round(4).tolist()
        ([0.7], [0.3478])
        """
        differ = sums(self.first + self.second - 2 * self.both, group, groups)
        total = sums(self.total, group, groups)
        cross = self.first * (self.total - self.second) + self.second * (self.total - self.first)
        chance = np.divide(cross, self.total, out=0 * self.total, where=self.total > 0)
        return 1 - ratio(differ, total), 1 - ratio(differ, sums(chance, group, groups))


class GroupedLengths(NamedTuple):
    """Lengths of units, or of the gaps between them, with their groups."""

    length: Ints
    group: Ints


def expected_disagreement(units: GroupedLengths, gaps: GroupedLengths, size: Floats) -> Floats:
    """Return the denominator of Krippendorff's unitised alpha of each group, times its length.

    Every unit is placed on every other unit, and on every gap at least as long, in all ways:
    2 sum((N-1) (2l^3 - 3l^2 + l)/3 + l^2 sum(h - l + 1)) over n(n-1) - sum(l(l-1)), for N units of
    lengths l, gaps of lengths h >= l, and n, the lengths of all continua of all observers.

    Parameters
    ----------
    units, gaps : GroupedLengths
        Lengths above 0.
    size : float64 array
        n of each group.

    Examples
    --------
    Two observers of ten characters, who mark [0, 2) and [1, 4):

    >>> units = GroupedLengths(np.array([2, 3]), np.array([0, 0]))
    >>> gaps = GroupedLengths(np.array([8, 1, 6]), np.array([0, 0, 0]))
    >>> expected_disagreement(units, gaps, np.array([20.0])).round(6).tolist()
    [0.806452]
    """
    groups = len(size)
    length, group = units
    number = np.bincount(group, minlength=groups)
    # One sorted list of all gaps, group by group, finds the room for each unit.
    step = max(int(gaps.length.max(initial=0)), int(length.max(initial=0))) + 2
    order = np.argsort(gaps.group * step + gaps.length, kind="stable")
    keys = (gaps.group * step + gaps.length)[order]
    cumulated = np.concatenate([[0], np.cumsum(gaps.length[order])])
    left = np.searchsorted(keys, group * step + length)
    right = np.searchsorted(keys, (group + 1) * step)
    room = cumulated[right] - cumulated[left] - (right - left) * (length - 1)
    of_unit = length.astype(np.float64)  # cubes of long units do not fit in 64 bits
    on_units = (number[group] - 1) * (2 * of_unit**3 - 3 * of_unit**2 + of_unit) / 3
    above = 2 * sums(on_units + of_unit**2 * room, group, groups)
    return ratio(above, size * (size - 1) - sums(of_unit * (of_unit - 1), group, groups))


def distances(apart: Ints, group: Ints, groups: int) -> dict[str, Floats]:
    """Return the mean and median of distances, and the shares within `REACH`.

    >>> found = distances(np.array([0, 40, 700]), np.array([0, 0, 0]), 1)
    >>> {name: round(float(value[0]), 4) for name, value in found.items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'bep_mean': 246.6667, 'bep_median': 40.0, 'bep_0': 0.3333, 'bep_100': 0.6667,
     'bep_500': 0.6667, 'bep_1000': 1.0}
    """
    number = np.bincount(group, minlength=groups).astype(np.float64)
    order = np.lexsort((apart, group))
    end = np.cumsum(number).astype(np.int64)
    count = number.astype(np.int64)
    median = np.full(groups, np.nan)
    some = count > 0
    low, high = (end - count + (count - 1) // 2)[some], (end - count + count // 2)[some]
    median[some] = (apart[order[low]] + apart[order[high]]) / 2
    within = {f"bep_{r}": ratio(sums(apart <= r, group, groups), number) for r in REACH}
    mean = ratio(sums(apart, group, groups), number)
    return {"bep_mean": mean, "bep_median": median, **within}


def weighted_kappa(
    first: Ints, second: Ints, table: Ints, group: Ints, groups: int, grades: int
) -> Floats:
    """Return the linearly weighted kappa of graded items for each group of tables.

    1 - observed/expected, the sums of |a-b| as observed, and as expected of independent assessors
    who give each grade as often as these do.

    Parameters
    ----------
    first, second, table : int64 arrays
        Two grades below `grades` of each item, and its table.
    group : int64 array
        The group of each table.

    Examples
    --------
    >>> first, second = np.array([0, 1, 2, 2]), np.array([0, 2, 2, 1])
    >>> weighted_kappa(first, second, np.zeros(4, np.int64), np.array([0]), 1, 3).tolist()
    [0.4285714285714286]
    """
    tables = len(group)
    given = [
        np.bincount(table * grades + grade, minlength=tables * grades).reshape(tables, grades)
        for grade in (first, second)
    ]
    step = np.arange(grades)
    weights = np.abs(step[:, None] - step).astype(np.float64)
    cross = np.einsum("ti,ij,tj->t", given[0].astype(np.float64), weights, given[1])
    number = given[0].sum(axis=1).astype(np.float64)
    chance = np.divide(cross, number, out=np.zeros(tables), where=number > 0)
    differ = sums(np.abs(first - second), group[table], groups)
    return 1 - ratio(differ, sums(chance, group, groups))
