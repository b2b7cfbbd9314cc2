"""Pooling strategies: which of a topic's results are assessed, and in what order."""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.spans import Ints

__all__ = ["NOT_RELEVANT", "RELEVANT", "STRATEGIES", "UNJUDGED", "Lists", "choose_units"]

Floats = npt.NDArray[np.float64]

RELEVANT, NOT_RELEVANT, UNJUDGED = 1, 0, -1


class Lists(NamedTuple):
    """The lists of all runs for one topic."""

    rank: Ints
    """(unit, run): the place of a unit in the list of a run, from 1; 0 if the run lacks it."""
    known: Ints
    """The judgement of each unit: `RELEVANT`, `NOT_RELEVANT` or `UNJUDGED`."""
    beta: float = 0.1
    """Learning rate of `hedge`: the factor on the weight of a run for a loss of 1."""


def choose_units(strategy: str, lists: Lists, budget: int | None = None) -> Ints:
    """Return the unjudged units that a strategy chooses, in the order of assessing.

    All strategies are deterministic. Units that one does not distinguish keep their order.

    >>> ranks = np.array([[1, 0], [2, 0], [0, 1], [0, 2]])
    >>> choose_units("round-robin", Lists(ranks, np.full(4, UNJUDGED)), budget=3).tolist()
    [0, 2, 3]
    """
    order: Ints = STRATEGIES[strategy](lists)
    order = order[lists.known[order] == UNJUDGED]
    return order[:budget]


def by_depth(lists: Lists) -> Ints:
    """Order all units by their best rank, then by the number of runs that return them.

    >>> by_depth(Lists(np.array([[2, 1], [1, 0], [0, 2]]), np.full(3, UNJUDGED))).tolist()
    [0, 1, 2]
    """
    returned = lists.rank > 0
    best = lists.rank.min(axis=1, initial=np.iinfo(np.int64).max, where=returned)
    return np.lexsort((-returned.sum(axis=1), best))


def round_robin(lists: Lists) -> Ints:
    """Take the first unit of each run, then the second of each run, and so on, every unit once.

    Each round begins with another run, so that a budget that ends within a round does not always
    favour the same run.
    """
    rank, runs = lists.rank, lists.rank.shape[1]
    turn = (rank - 1) * runs + (np.arange(runs) - (rank - 1)) % runs
    first = turn.min(axis=1, initial=np.iinfo(np.int64).max, where=rank > 0)
    return np.argsort(first, kind="stable")


def move_to_front(lists: Lists) -> Ints:
    """Continue with a run while its units are relevant; a non-relevant one lowers its priority.

    The run with the highest priority has the turn; among equals the one that has waited longest.
    It takes its next unit that no run took before. If that is relevant, it takes another; if not,
    its priority falls by one and the turn ends. An unjudged unit ends the turn at no cost, so that
    without judgements runs take turns with their next new unit.

    References
    ----------
    Cormack, Palmer, Clarke: Efficient construction of large test collections. SIGIR 1998.

    Examples
    --------
    >>> ranks = np.array([[1, 0], [2, 0], [3, 0], [0, 1], [0, 2]])
    >>> known = np.array([RELEVANT, NOT_RELEVANT, RELEVANT, RELEVANT, RELEVANT])
    >>> move_to_front(Lists(ranks, known)).tolist()
    [0, 1, 3, 4, 2]
    """
    lines = []
    for column in lists.rank.T:  # the units of each run in its order
        own = np.flatnonzero(column)
        lines.append(iter(own[np.argsort(column[own], kind="stable")].tolist()))
    waiting = [(0, 0, run) for run in range(len(lines))]  # penalties, last turn, run
    heapify(waiting)
    known = lists.known.tolist()
    order: dict[int, None] = {}
    clock = 0
    while waiting:
        penalties, _, run = heappop(waiting)
        for unit in lines[run]:
            if unit in order:
                continue
            order[unit] = None
            if known[unit] != RELEVANT:
                clock += 1
                heappush(waiting, (penalties + (known[unit] == NOT_RELEVANT), clock, run))
                break
    return np.array(list(order), dtype=np.int64)


def hedge(lists: Lists) -> Ints:
    """Prefer units that many runs rank high, weighting runs by their success on judged units.

    At rank r of a run a unit is worth ln(Z/r)/2, where Z is one more than the length of the
    topic's longest list; it is worth nothing to a run that lacks it. This worth is the loss of the
    run if the unit is not relevant, and its gain if it is. A loss l multiplies the weight of the
    run by beta**l. The unit with the greatest weighted worth comes next.

    All judgements are known from the start. Without any, all weights are equal.

    References
    ----------
    Aslam, Pavlu, Savell: A unified model for metasearch, pooling, and system evaluation. CIKM 2003.

    Examples
    --------
    >>> ranks = np.array([[1, 0], [0, 1], [2, 0], [0, 2]])
    >>> known = np.array([RELEVANT, NOT_RELEVANT, UNJUDGED, UNJUDGED])
    >>> hedge(Lists(ranks, known)).tolist()
    [0, 2, 1, 3]
    """
    order = by_depth(lists)  # decides between equals
    rank, known = lists.rank[order], lists.known[order]
    longest = int(rank.max(initial=0)) + 1
    worth = np.where(rank > 0, 0.5 * np.log(longest / np.maximum(rank, 1)), 0.0)
    # The loss of a run on each unit is its worth with this sign; negative is a gain.
    sign = np.select([known == RELEVANT, known == NOT_RELEVANT], [-1.0, 1.0], 0.0)
    power = (sign @ worth) * math.log(lists.beta)
    weight = np.exp(power - power.max(initial=-np.inf))  # relative to the greatest power of beta
    total = weight.sum()
    # Twelve decimals are compared, so that the order of additions does not decide about the pool.
    score = np.round(worth @ (weight / total if total else weight), 12)
    return np.asarray(order[np.argsort(-score, kind="stable")])


STRATEGIES: dict[str, Callable[[Lists], Ints]] = {
    "depth": by_depth,
    "round-robin": round_robin,
    "move-to-front": move_to_front,
    "hedge": hedge,
}
"""Name to strategy: the units of one topic in the order of assessing, for `choose_units`."""
