"""How good a run can be that returns units of a division, each whole and none over another.

What is computed, for one topic with Trel relevant characters and units of s(i) characters with
r(i) relevant ones, of share r(i) / s(i):

* Precision: the precision of a list is the mean of the shares of its units, weighted by their
  sizes, so the largest share is the best. Exact.
* F: 2 R / (S + Trel) is a quotient of sums. At its largest value v, adding a unit helps if and
  only if 2 r(i) > v s(i) (Dinkelbach), so that the best set is a prefix of the list by share.
  Exact; of units that overlap, the set is found by scheduling intervals for a rising v, which is
  exact as well.
* Precision at a level of recall, and recall within a budget: the best set is a knapsack. Both sides
  are given: what the list by share reaches, and a bound above.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal import spans
from foveal.spans import Coverage, Ints

__all__ = ["Bounds", "Units", "best_f", "best_precision_at", "best_recall_within"]

Floats = npt.NDArray[np.float64]


class Units(NamedTuple):
    """The units that hold relevant text of one topic, on one axis."""

    start: Ints
    end: Ints
    relevant: Ints
    """Relevant characters of each unit."""

    @property
    def size(self) -> Ints:
        return self.end - self.start

    def by_share(self) -> Units:
        """The most relevant ones first; of equal share, the larger."""
        order = np.lexsort((-self.relevant, -self.relevant / self.size))
        return Units(*(column[order] for column in self))

    def apart(self) -> Units:
        """Without those that overlap an earlier one."""
        keep = spans.disjoint(self.start, self.end)
        return Units(*(column[keep] for column in self))


class Bounds(NamedTuple):
    """What some run reaches, and what none exceeds."""

    reached: Floats
    bound: Floats


def best_f(units: Units, total: int) -> float:
    """The largest F of a set of units that do not overlap.

    >>> units = Units(np.array([0, 10, 30]), np.array([10, 30, 60]), np.array([10, 10, 3]))
    >>> round(best_f(units, 23), 4)
    0.7547
    """
    ordered = units.by_share()
    if len(spans.conflicts(units.start, units.end)[0]):
        return _scheduled(ordered, total)
    found, read = np.cumsum(ordered.relevant), np.cumsum(ordered.size)
    return float((2 * found / (read + total)).max(initial=0.0))


def _scheduled(units: Units, total: int) -> float:
    """Dinkelbach's method in whole numbers: F as a fraction that rises until no set is better."""
    start, end = units.start.tolist(), units.end.tolist()
    above, below = 0, 1
    while True:
        worth = (2 * below * units.relevant - above * units.size).tolist()
        chosen = _best_intervals(start, end, worth)
        found = sum(int(units.relevant[i]) for i in chosen)
        read = sum(end[i] - start[i] for i in chosen)
        if 2 * found * below <= above * (read + total):
            return above / below
        above, below = 2 * found, read + total


def _best_intervals(start: Sequence[int], end: Sequence[int], worth: Sequence[int]) -> list[int]:
    """Intervals that do not overlap, with the largest sum of worths."""
    order = sorted(range(len(start)), key=lambda i: end[i])
    ends = [end[i] for i in order]
    best = [0]
    taken: list[int | None] = []
    for k, i in enumerate(order):
        before = bisect_right(ends, start[i], 0, k)
        with_it = best[before] + worth[i]
        taken.append(before if with_it > best[-1] else None)
        best.append(max(with_it, best[-1]))
    chosen, k = [], len(order)
    while k:
        before_k = taken[k - 1]
        if before_k is None:
            k -= 1
        else:
            chosen.append(order[k - 1])
            k = before_k
    return chosen


def best_precision_at(units: Units, total: int, levels: Floats) -> Bounds:
    """Precision at levels of recall or beyond.

    The bound lets the last unit be cut at its mean share: with units by share the text needed for
    some relevant characters is then as short as it can be, and precision falls as more are needed.
    """
    ordered = units.by_share()
    needed = np.ceil(levels * total - 1e-9)
    needed = np.maximum(needed, 1)
    found, read = _sums(ordered.relevant), _sums(ordered.size)
    shortest = np.interp(needed, found, read)
    bound = np.where(needed <= found[-1], needed / np.maximum(shortest, 1e-300), 0.0)
    own = ordered.apart()
    found, read = np.cumsum(own.relevant), np.cumsum(own.size)
    at = np.searchsorted(found, needed)
    known = np.minimum(at, max(len(found) - 1, 0))
    reached = np.where(at < len(found), found[known] / read[known], 0.0)
    return Bounds(reached, np.minimum(bound, 1.0))


def best_recall_within(
    units: Units, highlighted: Coverage, total: int, inside: int, budgets: Ints
) -> Bounds:
    """Recall within budgets of characters, where the unit that crosses a budget is cut there.

    Three bounds, of which the smallest is taken, beside the budget and all that lies `inside`
    units. Let g(i, x) be the relevant characters among the first x of unit i. First, each unit may
    be cut anywhere on the least concave line over g(i, .), and the steepest pieces are read first.
    Second, only one unit is cut: it adds at most the most that g(i, x) exceeds the share of x, and
    the others are a knapsack whose last unit is cut at its mean share.
    """
    ordered = units.by_share()
    own = ordered.apart()
    found, read = _sums(own.relevant), _sums(own.size)
    reached = np.zeros(len(budgets))
    for k, budget in enumerate(budgets.tolist()):
        at = int(np.searchsorted(read, budget, side="right")) - 1
        start, end = own.start[at:], own.end[at:]
        # Of the units that are left, the one whose beginning holds most is cut.
        cut = highlighted.within(start, np.minimum(start + (budget - read[at]), end))
        reached[k] = found[at] + cut.max(initial=0)
    mean_line = np.interp(budgets, _sums(ordered.size), _sums(ordered.relevant))
    length, gain, surplus = _prefixes(ordered, highlighted)
    steep = np.argsort(-gain / length, kind="stable")
    envelope = np.interp(budgets, _sums(length[steep]), _sums(gain[steep]))
    bound = np.minimum.reduce(
        [budgets, envelope, mean_line + surplus, np.full(len(budgets), inside)]
    )
    return Bounds(reached / total, bound / total)


def _prefixes(units: Units, highlighted: Coverage) -> tuple[Ints, Ints, float]:
    """Lengths and gains of the pieces of concave lines over all units, and the largest surplus."""
    lengths: list[int] = []
    gains: list[int] = []
    surplus = 0.0
    for start, end, relevant in zip(*(column.tolist() for column in units), strict=True):
        low = int(np.searchsorted(highlighted.end, start, side="right"))
        high = int(np.searchsorted(highlighted.start, end))
        knots = np.minimum(highlighted.end[low:high], end)
        gained = highlighted.within(np.full(len(knots), start), knots)
        places = (knots - start).tolist()
        points = [(0, 0), *zip(places, gained.tolist(), strict=True)]
        share = relevant / (end - start)
        surplus = max(surplus, *(g - share * x for x, g in points))
        hull: list[tuple[int, int]] = []
        for x, g in points:
            while len(hull) > 1 and _below(hull[-2], hull[-1], (x, g)):
                hull.pop()
            hull.append((x, g))
        for (x, g), (to, gain) in pairwise(hull):
            lengths.append(to - x)
            gains.append(gain - g)
    return np.array(lengths, dtype=np.int64), np.array(gains, dtype=np.int64), surplus


def _below(first: tuple[int, int], middle: tuple[int, int], last: tuple[int, int]) -> bool:
    """Whether the middle point lies on or below the line between the others."""
    wide, high = last[0] - first[0], last[1] - first[1]
    return (middle[1] - first[1]) * wide <= high * (middle[0] - first[0])


def _sums(column: Ints) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(column)])
