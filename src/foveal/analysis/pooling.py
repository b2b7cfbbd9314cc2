"""Strategies of pooling: which of a topic's results are assessed, and in what order.

All of them are deterministic functions of the lists of one topic. Units that are alike in
everything that a strategy looks at stay in the order they are given in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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
"""Scores that differ by less are equal: how a processor adds must not decide what is assessed."""


class Lists(NamedTuple):
    """What the runs return for one topic."""

    rank: Ints
    """(unit, run): the place of a unit in the list of a run, from 1; 0 if the run lacks it."""
    known: Ints
    """What is known of each unit: `RELEVANT`, `NOT_RELEVANT` or `UNJUDGED`."""


@dataclass(frozen=True)
class Terms:
    """How much may be pooled.

    Parameters
    ----------
    budget : int, optional
        How many units are taken at most.
    include_judged : bool
        Gold units are taken as well and use up the budget, as if they were judged only now.
        Otherwise they only steer.
    beta : float
        How fast `hedge` learns: the factor on the weight of a run for a loss of 1.
    """

    budget: int | None = None
    include_judged: bool = False
    beta: float = 0.1


def by_depth(lists: Lists, terms: Terms) -> Ints:
    """Everything that any run returns, by the best rank; then what more runs return.

    >>> ranks = np.array([[2, 1], [1, 0], [0, 2]])
    >>> by_depth(Lists(ranks, np.full(3, UNJUDGED)), Terms()).tolist()
    [0, 1, 2]
    """
    return _allowed(_depth_order(lists.rank), lists, terms)


def round_robin(lists: Lists, terms: Terms) -> Ints:
    """The first of each run, the second of each run, and so on, every unit once.

    In each round another run begins, so that a budget which ends within a round does not favour
    the same run every time.

    >>> ranks = np.array([[1, 0], [2, 0], [0, 1], [0, 2]])
    >>> round_robin(Lists(ranks, np.full(4, UNJUDGED)), Terms()).tolist()
    [0, 2, 3, 1]
    """
    rank = lists.rank
    runs = rank.shape[1]
    turn = (rank - 1) * runs + (np.arange(runs) - (rank - 1)) % runs
    first = turn.min(axis=1, initial=np.iinfo(np.int64).max, where=rank > 0)
    return _allowed(np.argsort(first, kind="stable"), lists, terms)


def move_to_front(lists: Lists, terms: Terms) -> Ints:
    """A run goes on while its units are relevant; one that is not costs it priority.

    The run with the highest priority has the turn; of equals the one that has waited longest. It
    takes its next unit that no run took before. If that is relevant, it takes another; if not, its
    priority falls by one and the turn passes on. What is not judged passes the turn on and costs
    nothing, so that without judgements runs take turns with their next new unit.

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
    lines = [_by_rank(column) for column in lists.rank.T]
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
            continue  # the list has come to its end
        clock += 1
        heappush(waiting, (penalties + (found == NOT_RELEVANT), clock, run))
    return np.array(chosen, dtype=np.int64)


def hedge(lists: Lists, terms: Terms) -> Ints:
    """What the runs agree on, weighted by how well they did on what is judged.

    At rank r of a run a unit is worth ln(Z/r)/2, where Z is one more than the length of the
    topic's longest list; it is worth nothing to a run that lacks it. That worth is the loss of the
    run if the unit turns out not relevant, and its gain if it is. A loss l multiplies the weight
    of the run by beta**l. The unit with the greatest weighted worth comes next.

    All judgements are known from the start, and those who return what was judged relevant have
    the say. With `Terms.include_judged` they come to light one by one, as in the experiments of
    the paper. Without any, all weights are equal.

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
        chosen = _replayed(worth, known, terms)
        return np.asarray(order[chosen])
    score = _weighted(worth, _losses(worth, known), terms.beta)
    best = np.argsort(-score, kind="stable")
    return _allowed(order[best], lists, terms)


def _replayed(worth: Floats, known: Ints, terms: Terms) -> list[int]:
    """Units in the order they are judged in, each judgement known from then on."""
    losses = np.zeros(worth.shape[1])
    score = _weighted(worth, losses, terms.beta)
    wanted = len(known) if terms.budget is None else min(terms.budget, len(known))
    chosen: list[int] = []
    for _ in range(wanted):
        unit = int(np.argmax(score))
        chosen.append(unit)
        if known[unit] != UNJUDGED:
            losses += worth[unit] * (1 if known[unit] == NOT_RELEVANT else -1)
            score = _weighted(worth, losses, terms.beta)
            score[chosen] = -np.inf
        score[unit] = -np.inf
    return chosen


def _losses(worth: Floats, known: Ints) -> Floats:
    """The loss of each run on everything judged; negative where it did well."""
    sign = np.select([known == RELEVANT, known == NOT_RELEVANT], [-1.0, 1.0], 0.0)
    return np.asarray(sign @ worth, dtype=np.float64)


def _weighted(worth: Floats, losses: Floats, beta: float) -> Floats:
    """The worth of units over all runs; the powers of beta are taken relative to the greatest."""
    power = losses * math.log(beta)
    weight = np.exp(power - power.max(initial=-np.inf))
    total = weight.sum()
    score: Floats = np.round(worth @ (weight / total if total else weight), _DECIMALS)
    return score


def _depth_order(rank: Ints) -> Ints:
    """By best rank, then by the number of runs, then as given."""
    best = rank.min(axis=1, initial=np.iinfo(np.int64).max, where=rank > 0)
    return np.lexsort((-(rank > 0).sum(axis=1), best))


def _by_rank(column: Ints) -> Iterator[int]:
    """The units of one run in its order."""
    own = np.flatnonzero(column)
    return iter(own[np.argsort(column[own], kind="stable")].tolist())


def _allowed(order: Ints, lists: Lists, terms: Terms) -> Ints:
    """The first units of an order that the terms allow."""
    if not terms.include_judged:
        order = order[lists.known[order] == UNJUDGED]
    return order[: terms.budget]


STRATEGIES: dict[str, Callable[[Lists, Terms], Ints]] = {
    "depth": by_depth,
    "round-robin": round_robin,
    "move-to-front": move_to_front,
    "hedge": hedge,
}
"""Name of a strategy and what chooses by it."""
