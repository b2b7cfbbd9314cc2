"""The ideal recall base: of the relevant elements, those that a focused system should return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.model import UNKNOWN
from foveal.recall.forest import Forest
from foveal.spans import Ints

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
_TOLERANCE = 1e-12


class Base(NamedTuple):
    """An ideal recall base over the elements of a forest."""

    ideal: Bools  # no two of these elements overlap
    over: Ints  # the ideal element that each element is or lies in, or `UNKNOWN`
    holds: Bools  # elements with an ideal one somewhere below them


def ideal_base(
    forest: Forest, worth: Floats, *, base: str = "ideal", tie: str = "ascendant"
) -> Base:
    """Return the ideal recall base for the `worth` of each element.

    Parameters
    ----------
    forest : Forest
    worth : float array
    base : {"ideal", "maxsum"}
        On every path from the root to a relevant element without relevant ones below, the element
        that is worth most, less those inside another such element; or the elements without overlap
        that are worth most in all.
    tie : {"ascendant", "deeper"}
        Which of two that are worth the same is taken: the higher or the deeper one.
    """
    higher = tie == "ascendant"
    if base == "maxsum":
        candidate = _choose_by_sum(forest, worth, higher=higher)
    else:
        candidate = _choose_by_path(forest, worth, higher=higher)
    # Drop candidates inside another one.
    parent = forest.parent
    over = np.where(candidate, np.arange(len(forest)), UNKNOWN)
    for level in forest.levels[1:]:
        above = over[parent[level]]
        over[level] = np.where(above < 0, over[level], above)
    ideal = over == np.arange(len(forest))
    holds = np.zeros(len(forest), dtype=bool)
    for level in reversed(forest.levels[1:]):
        holds[parent[level[ideal[level] | holds[level]]]] = True
    return Base(ideal, over, holds)


def _choose_by_path(forest: Forest, worth: Floats, *, higher: bool) -> Bools:
    parent, relevant = forest.parent, worth > 0
    leads_on = np.zeros(len(forest), dtype=bool)  # something relevant is below
    for level in reversed(forest.levels[1:]):
        below = level[relevant[level] | leads_on[level]]
        leads_on[parent[below]] = True
    best = np.where(relevant, np.arange(len(forest)), UNKNOWN)
    for level in forest.levels[1:]:
        above = best[parent[level]]
        most = np.where(above < 0, 0.0, worth[above])
        beaten = worth[level] > most if higher else (worth[level] >= most) & relevant[level]
        best[level] = np.where(beaten, level, above)
    winner = np.zeros(len(forest), dtype=bool)
    winner[best[relevant & ~leads_on]] = True
    return winner


def _choose_by_sum(forest: Forest, worth: Floats, *, higher: bool) -> Bools:
    parent = forest.parent
    below = np.zeros(len(forest))  # the most that the elements below can be worth together
    wins = np.zeros(len(forest), dtype=bool)
    for level in reversed(forest.levels):
        own, rest = worth[level], below[level]
        slack = _TOLERANCE * np.maximum(own, rest)
        wins[level] = (own > 0) & ((own >= rest - slack) if higher else (own > rest + slack))
        inner = level[parent[level] >= 0]
        np.add.at(below, parent[inner], np.where(wins[inner], worth[inner], below[inner]))
    return wins
