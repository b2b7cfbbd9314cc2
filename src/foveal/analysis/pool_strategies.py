"""Pooling strategies: which of a topic's results are assessed, and in what order.

All of them are deterministic functions of the lists of one topic. Units that a strategy does not
distinguish keep the order they are given in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.spans import Ints

__all__ = [
    "NOT_RELEVANT",
    "RELEVANT",
    "STRATEGIES",
    "UNJUDGED",
    "Lists",
    "Terms",
    "by_depth",
    "hedge",
    "move_to_front",
    "round_robin",
]

Floats = npt.NDArray[np.float64]

RELEVANT, NOT_RELEVANT, UNJUDGED = 1, 0, -1

_DECIMALS = 12
"""Decimals of scores compared, so that the order of additions does not decide about the pool."""


class Lists(NamedTuple):
    """The lists of all runs for one topic."""

    rank: Ints
    """(unit, run): the place of a unit in the list of a run, from 1; 0 if the run lacks it."""
    known: Ints
    """The judgement of each unit: `RELEVANT`, `NOT_RELEVANT` or `UNJUDGED`."""


@dataclass(frozen=True)
class Terms:
    """Limits and settings of a strategy.

    Parameters
    ----------
    budget : int, optional
        Maximum number of units.
    include_judged : bool
        Take judged units, too, which use up the budget, as if they were judged only now.
        Otherwise they only guide the strategy.
    beta : float
        Learning rate of `hedge`: the factor on the weight of a run for a loss of 1.
    """

    budget: int | None = None
    include_judged: bool = False
    beta: float = 0.1


def by_depth(lists: Lists, terms: Terms) -> Ints:
    """Order all units by their best rank, then by the number of runs that return them.

    >>> ranks = np.array([[2, 1], [1, 0], [0, 2]])
    >>> by_depth(Lists(ranks, np.full(3, UNJUDGED)), Terms()).tolist()
    [0, 1, 2]
    """
    return _apply_limits(_depth_order(lists.rank), lists, terms)


def round_robin(lists: Lists, terms: Terms) -> Ints:
    """Take the first unit of each run, then the second of each run, and so on, every unit once.

    Each round begins with another run, so that a budget that ends within a round does not always
    favour the same run.

    >>> ranks = np.array([[1, 0], [2, 0], [0, 1], [0, 2]])
    >>> round_robin(Lists(ranks, np.full(4, UNJUDGED)), Terms()).tolist()
    [0, 2, 3, 1]
    """
    rank = lists.rank
    runs = rank.shape[1]
    turn = (rank - 1) * runs + (np.arange(runs) - (rank - 1)) % runs
    first = turn.min(axis=1, initial=np.iinfo(np.int64).max, where=rank > 0)
    return _apply_limits(np.argsort(first, kind="stable"), lists, terms)


def move_to_front(lists: Lists, terms: Terms) -> Ints:
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
    >>> move_to_front(Lists(ranks, known), Terms(include_judged=True)).tolist()
    [0, 1, 3, 4, 2]
    """
    lines = []
    for column in lists.rank.T:  # the units of each run in its order
        own = np.flatnonzero(column)
        lines.append(iter(own[np.argsort(column[own], kind="stable")].tolist()))
    waiting = [(0, 0, run) for run in range(len(lines))]  # penalties, last turn, run
    heapify(waiting)
    taken = np.zeros(len(lists.known), dtype=bool)
    chosen: list[int] = []
    clock = 0
    while waiting and (terms.budget is None or len(chosen) < terms.budget):
        penalties, _, run = heappop(waiting)
        found = UNJUDGED
        for unit in lines[run]:
            if taken[unit]:
                continue
            taken[unit] = True
            found = int(lists.known[unit])
            if terms.include_judged or found == UNJUDGED:
                chosen.append(unit)
            if found != RELEVANT or len(chosen) == terms.budget:
                break
        else:
            continue  # the list is at its end
        clock += 1
        heappush(waiting, (penalties + (found == NOT_RELEVANT), clock, run))
    return np.array(chosen, dtype=np.int64)


def hedge(lists: Lists, terms: Terms) -> Ints:
    """Prefer units that many runs rank high, weighting runs by their success on judged units.

    At rank r of a run a unit is worth ln(Z/r)/2, where Z is one more than the length of the
    topic's longest list; it is worth nothing to a run that lacks it. This worth is the loss of the
    run if the unit is not relevant, and its gain if it is. A loss l multiplies the weight of the
    run by beta**l. The unit with the greatest weighted worth comes next.

    All judgements are known from the start. With `Terms.include_judged` they become known one by
    one, as in the experiments of the paper. Without any, all weights are equal.

    References
    ----------
    Aslam, Pavlu, Savell: A unified model for metasearch, pooling, and system evaluation. CIKM 2003.

    Examples
    --------
    >>> ranks = np.array([[1, 0], [0, 1], [2, 0], [0, 2]])
    >>> known = np.array([RELEVANT, NOT_RELEVANT, UNJUDGED, UNJUDGED])
    >>> hedge(Lists(ranks, known), Terms()).tolist()
    [2, 3]
    """
    order = _depth_order(lists.rank)  # decides between equals
    rank, known = lists.rank[order], lists.known[order]
    longest = int(rank.max(initial=0)) + 1
    worth = np.where(rank > 0, 0.5 * np.log(longest / np.maximum(rank, 1)), 0.0)
    if terms.include_judged:
        return np.asarray(order[_replay_judging(worth, known, terms)])
    # The loss of each run on everything judged; negative for a gain.
    sign = np.select([known == RELEVANT, known == NOT_RELEVANT], [-1.0, 1.0], 0.0)
    best = np.argsort(-_weigh(worth, sign @ worth, terms.beta), kind="stable")
    return _apply_limits(order[best], lists, terms)


def _replay_judging(worth: Floats, known: Ints, terms: Terms) -> list[int]:
    """Return units in the order of judging; each judgement changes the weights that follow."""
    losses = np.zeros(worth.shape[1])
    score = _weigh(worth, losses, terms.beta)
    wanted = len(known) if terms.budget is None else min(terms.budget, len(known))
    chosen: list[int] = []
    for _ in range(wanted):
        unit = int(np.argmax(score))
        chosen.append(unit)
        if known[unit] != UNJUDGED:
            losses += worth[unit] * (1 if known[unit] == NOT_RELEVANT else -1)
            score = _weigh(worth, losses, terms.beta)
            score[chosen] = -np.inf
        score[unit] = -np.inf
    return chosen


def _weigh(worth: Floats, losses: Floats, beta: float) -> Floats:
    """Return the weighted worth of units; powers of beta are relative to the greatest."""
    power = losses * math.log(beta)
    weight = np.exp(power - power.max(initial=-np.inf))
    total = weight.sum()
    score: Floats = np.round(worth @ (weight / total if total else weight), _DECIMALS)
    return score


def _depth_order(rank: Ints) -> Ints:
    """Sort by best rank, then by the number of runs, then as given."""
    best = rank.min(axis=1, initial=np.iinfo(np.int64).max, where=rank > 0)
    return np.lexsort((-(rank > 0).sum(axis=1), best))


def _apply_limits(order: Ints, lists: Lists, terms: Terms) -> Ints:
    """Return the first units of an order within the limits."""
    if not terms.include_judged:
        order = order[lists.known[order] == UNJUDGED]
    return order[: terms.budget]


STRATEGIES: dict[str, Callable[[Lists, Terms], Ints]] = {
    "depth": by_depth,
    "round-robin": round_robin,
    "move-to-front": move_to_front,
    "hedge": hedge,
}
"""Name to strategy."""
