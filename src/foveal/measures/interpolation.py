"""Interpolated precision: the best value at a level of recall or beyond, in whole numbers."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import numpy.typing as npt

from foveal.spans import Ints

__all__ = ["best_from", "least", "levels", "rank_reaching", "ranks_reaching", "reaches"]

Floats = npt.NDArray[np.float64]


def best_from(values: Floats) -> Floats:
    """The largest value at each rank or later, and a final 0 for levels never reached.

    >>> best_from(np.array([0.5, 0.25, 0.75])).tolist()
    [0.75, 0.75, 0.75, 0.0]
    """
    best = np.zeros(len(values) + 1)
    np.maximum.accumulate(values[::-1], out=best[:-1][::-1])
    return best


def least(total: int, level: Decimal | None) -> int:
    """The smallest whole number that is `level` of `total`.

    In whole numbers: as doubles, a recall of exactly .29 would fall short of itself.
    """
    numerator, denominator = (level or Decimal(0)).as_integer_ratio()
    return -(-numerator * total // denominator)


def reaches(found: Ints, total: int, level: Decimal | None) -> npt.NDArray[np.bool_]:
    """Whether each number is `level` of `total` or more.

    >>> reaches(np.array([28, 29]), 100, Decimal("0.29")).tolist()
    [False, True]
    """
    return found >= least(total, level)


def rank_reaching(found: Ints, total: int, level: Decimal | None) -> int:
    """The first rank (from 0) at which `found` is `level` of `total`."""
    return int(np.searchsorted(found, least(total, level)))


def levels(total: Ints, steps: int) -> Ints:
    """The smallest whole numbers that are 0, 1/steps, ..., 1 of each total, in a last dimension.

    >>> levels(np.array([7, 8]), 4).tolist()
    [[0, 2, 4, 6, 7], [0, 2, 4, 6, 8]]
    """
    return -(-np.arange(steps + 1) * total[..., None] // steps)


def ranks_reaching(found: Ints, total: int, steps: int) -> Ints:
    """The ranks that reach 0, 1/steps, ..., 1 of `total`."""
    return np.searchsorted(found, levels(np.array(total), steps))
