"""GR: the share of the targets that a reader has seen after k results (the user model's recall)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Self

import numpy as np

from foveal.measures.alignment import TopicView
from foveal.measures.base import Choice, Cutoff, Example, Flag
from foveal.measures.user_model import (
    Floats,
    Hits,
    Ideality,
    Targets,
    UserModel,
    WeightedUserModel,
    arrivals,
    distributions,
    unseen,
)
from foveal.recall import QUANTISATIONS
from foveal.spans import Ints

__all__ = [
    "ExpectedPrecision",
    "ExpectedPrecisionAtRank",
    "PrecisionWithUserModel",
    "UserRecall",
    "expected_precision",
    "in_units",
    "precision_of_readers",
]


class UserRecall(WeightedUserModel):
    """Expected share of the targets that a reader of the first k results gets to see.

    The reader also sees what is near a result: by default a best entry point is found the more
    likely the nearer a result starts to it.
    """

    name = "GR"
    section = "15.2"
    cutoff = Cutoff.RANK
    formula = "GR(k) = sum of w(x) P(x seen by rank k) / sum of w(x)"
    source = "Pehcevski and Piwowarski, section 3.5"
    example = Example("D1:20-40 D3:0-40 D2:25-50", 0.7903, "GR@3")

    def score_topic(self, topic: TopicView) -> float:
        return expected_recall(self, topic)


def expected_recall(measure: WeightedUserModel, topic: TopicView) -> float:
    """The expected share of the targets' weight that is seen by the cut-off's rank."""
    weight = measure.sought(topic).weight
    missed = unseen(measure.hits(topic).until(measure.rank or 1), len(weight))
    return float(np.dot(weight, 1 - missed) / weight.sum())


_GRID = 1000
_EXACT = 1e-9
_TOLERANCE = 1e-12


def expected_precision(
    hits: Hits,
    units: Ints,
    shortest: Ints,
    *,
    of_means: bool = False,
    ideality: Floats | None = None,
) -> Floats:
    """EPRUM for readers who want 1, 2, ... units; what is never reached counts 0.

    Parameters
    ----------
    hits : Hits
    units : int64 array
        What each target counts.
    shortest : int64 array
        How many ranks the best list needs for 1, 2, ... units.
    of_means : bool
        Divide by the expected rank instead of averaging the ratio: 0 unless reaching is certain.
    ideality : float64 array, optional
        The probability of each target that it counts at all.

    Examples
    --------
    >>> hits = Hits.from_matrix([[1, 0], [0, 0], [0, 1]])
    >>> expected_precision(hits, np.array([1, 1]), np.array([1, 2])).tolist()
    [1.0, 0.6666666666666666]
    """
    total = np.zeros(len(shortest))
    for ranks, first in arrivals(hits, units, ideality):
        wanted = min(first.shape[1], len(total))
        rank = ranks[:, None]
        value = rank if of_means else np.minimum(1.0, shortest[:wanted] / rank)
        total[:wanted] += (value * first[:, :wanted]).sum(axis=0)
    if not of_means:
        return total
    missed = unseen(hits, len(units))
    sure = (missed == 0) if ideality is None else (missed == 0) & (ideality == 1)
    certain = np.arange(1, len(total) + 1) <= units[sure].sum()
    return np.where(certain, np.minimum(1.0, shortest / np.maximum(total, _TOLERANCE)), 0.0)


def in_units(weight: Floats) -> Ints:
    """Weights as whole numbers of a unit that divides them all, else of a thousandth of their sum.

    >>> in_units(np.array([1, 0.5, 0.5])).tolist(), in_units(np.array([2.0, 2.0])).tolist()
    ([2, 1, 1], [1, 1])
    >>> in_units(np.array([0.3, 0.7001])).tolist()
    [300, 700]
    """
    least = float(weight.min())
    largest = max(_GRID, len(weight))
    for parts in range(1, int(largest * least / weight.sum()) + 1):
        units = weight * (parts / least)
        whole = np.rint(units)
        if np.all(np.abs(units - whole) <= _EXACT * whole):
            return whole.astype(np.int64)
    # However little a target weighs, seeing it must count.
    grid: Floats = np.maximum(np.rint(weight * (_GRID / weight.sum())), 1)
    return grid.astype(np.int64)


def _after(gain: Floats, wanted: Floats) -> Ints:
    """How many ranks of a list with these cumulated gains it takes to have what is wanted."""
    ranks: Ints = np.searchsorted(gain, wanted - _TOLERANCE * gain[-1]) + 1
    return ranks


class _Expected(WeightedUserModel):
    ideal_ = Choice(
        "list",
        "greedy",
        description="the best list: the targets by weight, or in the order in which they show most "
        "that is new, counting what they lead to",
    )
    ratio = Choice(
        "expected",
        "of_means",
        description="expectation of the ratio, or ratio to the expected rank (EPRUM only)",
    )

    def best_gains(self, topic: TopicView, weight: Floats) -> Floats:
        """Cumulated gain of the best list, for targets of these weights."""
        gain = np.cumsum(np.sort(weight)[::-1])
        if self.ideal_ == "list":
            return gain
        targets = self.sought(topic)
        ways = self.ways(topic, targets.places)
        return np.maximum(gain, np.cumsum(_greedy_gains(Targets(targets.places, weight), *ways)))


def _greedy_gains(targets: Targets, at: Ints, target: Ints, p: Floats) -> Floats:
    """What each rank of the list adds that always continues with the most expected new gain.

    Only targets are candidates: where targets do not overlap, no other place leads to more. What is
    shown in one document changes nothing in another, so each has its own list; gains only fall
    along a list, so sorting merges them.
    """
    row = targets.places.row
    bounds = np.append(np.flatnonzero(np.diff(row, prepend=-1)), len(row)).tolist()
    hits = np.searchsorted(at, bounds).tolist()
    gains: list[float] = []
    for i, (low, high) in enumerate(pairwise(bounds)):
        if high - low == 1:
            gains.append(float(targets.weight[low]))
            continue
        own = slice(hits[i], hits[i + 1])
        leads = np.zeros((high - low, high - low))
        leads[at[own] - low, target[own] - low] = p[own]
        left = targets.weight[low:high].copy()
        for _ in range(high - low):
            new = leads @ left
            best = int(new.argmax())
            gains.append(float(new[best]))
            left *= 1 - leads[best]
            leads[best] = 0.0  # a place is listed once
    return np.sort(gains)[::-1]


class ExpectedPrecision(_Expected):
    """How short the best list to a given recall is, relative to how far this list must be read.

    The rank at which a reader has seen enough targets is uncertain; the value is the expectation of
    the ratio of both lengths, 0 for readers who never see enough. Without ``@`` it is the mean over
    1, 2, ..., all targets, which is average precision if every result leads to itself only. With
    best entry points as targets it was a measure of the Best in Context task.
    """

    name = "EPRUM"
    section = "15.3"
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = (*(f"{j / 100:.2f}" for j in range(1, 100)), "1")
    formula = (
        "Prec(r) = E[min(1, s_r / K_r)]; K_r = rank at which r targets are seen, s_r = at best"
    )
    source = "Piwowarski and Dupret 2006; INEX 2006 evaluation measures, section 7"
    example = Example("D1:20-40 D3:0-40 D2:25-50", 0.6545)

    random_ideal = Flag(
        default=False,
        description="weights are probabilities of being a target at all, not degrees",
    )

    @property
    def ideality(self) -> Ideality:
        return Ideality(self.weight, self.quant, probable=self.random_ideal)

    def score_topic(self, topic: TopicView) -> float:
        by_units = self.by_units(topic)
        if self.at is not None:
            return float(by_units[self.units_at(len(by_units)) - 1])
        if self.random_ideal:
            return float(by_units.mean())
        weight = self.sought(topic).weight
        # The natural points of recall are those where the best list shows its next target.
        units = np.sort(in_units(weight))[::-1]
        return float(np.dot(units, by_units[np.cumsum(units) - 1]) / units.sum())

    @classmethod
    def together(cls, measures: Sequence[Self]) -> Callable[[TopicView], Sequence[float]]:
        if any(measure.at is None for measure in measures):
            return super().together(measures)
        one = measures[0]

        @cache
        def at(most: int) -> Ints:
            return np.array([measure.units_at(most) - 1 for measure in measures])

        def values(topic: TopicView) -> Sequence[float]:
            if not one.is_defined(topic):
                return [float("nan")] * len(measures)
            by_units = one.by_units(topic)
            found: list[float] = by_units[at(len(by_units))].tolist()
            return found

        return values

    def by_units(self, topic: TopicView) -> Floats:
        """Precision for readers who want 1, 2, ... units."""
        return topic.memo(("EPRUM", self.key), lambda: self._by_units(topic))

    def _by_units(self, topic: TopicView) -> Floats:
        weight = self.sought(topic).weight
        units, ideality = in_units(weight), None
        most = int(units.sum())
        if self.random_ideal:
            units, ideality = np.ones(len(weight), dtype=np.int64), weight
            most = math.ceil(weight.sum() - _EXACT)
        best = self.best_gains(topic, units.astype(np.float64))
        return expected_precision(
            self.hits(topic),
            units,
            _after(best, np.arange(1.0, most + 1)),
            of_means=self.ratio == "of_means",
            ideality=ideality,
        )


class ExpectedPrecisionAtRank(_Expected):
    """How short the best list with the recall of the first k results is, relative to k.

    With equal weights this is the expected number of targets seen by rank k over k, at most 1.
    """

    name = "EPRUMk"
    section = "15.3"
    cutoff = Cutoff.RANK
    formula = "s(GR(k)) / k; s = ranks of the best list that give this recall"
    source = "INEX 2006 evaluation measures, section 7"
    example = Example("D1:20-40 D3:0-40 D2:25-50", 0.5269, "EPRUMk@3")

    rounding = Choice(
        "line", "ceil", description="ranks of the best list: a straight line between, or the next"
    )

    def score_topic(self, topic: TopicView) -> float:
        weight = self.sought(topic).weight
        gain = self.best_gains(topic, weight)
        wanted = expected_recall(self, topic) * gain[-1]
        if self.rounding == "ceil":
            ranks = float(_after(gain, np.array([wanted]))[0]) if wanted > 0 else 0.0
        else:
            full = int(_after(gain, gain[-1:])[0])  # later ranks add nothing
            ranks = float(np.interp(wanted, np.append(0.0, gain[:full]), np.arange(full + 1)))
        return min(1.0, ranks / (self.rank or 1))


def precision_of_readers(hits: Hits, n: int, results: int, *, read_on: bool = True) -> Floats:
    """PRUM for readers who stop once they have seen 1, 2, ..., `n` targets.

    Unless `read_on`, it is multiplied by the probability that so many are ever seen.

    >>> precision_of_readers(Hits.from_matrix([[1, 0], [0, 0], [0, 1]]), 2, 3).tolist()
    [1.0, 0.6666666666666666]
    """
    fresh, read = np.zeros(n), np.zeros(n)
    searching = np.ones(n)  # P(F < r): who seeks r targets has not seen them yet
    since = 0
    for block in distributions(hits, np.ones(n, dtype=np.int64), still=True):
        before = np.vstack([searching, _fewer(block.seen, n)])
        read += np.diff(block.rank, prepend=since) @ before[:-1]
        fresh += (before[:-1] - _fewer(block.still, n)).sum(axis=0)
        searching, since = before[-1], int(block.rank[-1])
    read += (results - since) * searching
    found = np.ones(n) if read_on else 1 - searching
    return np.divide(fresh * found, read, out=np.zeros(n), where=read > 0)


def _fewer(distributions: Floats, n: int) -> Floats:
    """The probabilities of fewer than 1, 2, ..., n, in each row."""
    fewer = np.empty((len(distributions), n))
    known = np.cumsum(distributions, axis=1)[:, :n]
    fewer[:, : known.shape[1]] = known
    fewer[:, known.shape[1] :] = known[:, -1:]
    return fewer


class PrecisionWithUserModel(UserModel):
    """How often a result that the reader consults shows a target not seen before.

    The reader stops as soon as the wanted share of the targets has been seen, or at the end of the
    list. Without ``@`` it is the mean over 1, 2, ..., all targets.
    """

    name = "PRUM"
    section = "15.4"
    cutoff = Cutoff.RECALL_OPTIONAL
    formula = "PRUM(r) = sum over k of P(F_(k-1) < r, F_k > F_(k-1)) / sum over k of P(F_(k-1) < r)"
    source = "Piwowarski, Gallinari and Dupret 2007; Pehcevski and Piwowarski, section 3.5"
    example = Example("D1:20-40 D3:0-40 D2:25-50", 0.5269, "PRUM@1.0")

    quant = Choice(*QUANTISATIONS, description="targets=ideal: the quantisation function")
    unreached = Choice(
        "read_on",
        "zero",
        description="readers who never see enough: read to the end, or count as failures",
    )

    @property
    def ideality(self) -> Ideality:
        return Ideality(quant=self.quant)

    def score_topic(self, topic: TopicView) -> float:
        n = self.sought(topic).n
        by_number = self.by_number(topic)
        return float(by_number.mean() if self.at is None else by_number[self.units_at(n) - 1])

    def by_number(self, topic: TopicView) -> Floats:
        """PRUM for readers who seek 1, 2, ... targets."""
        key = ("PRUM", self.key)
        return topic.memo(
            key,
            lambda: precision_of_readers(
                self.hits(topic),
                self.sought(topic).n,
                topic.n,
                read_on=self.unreached == "read_on",
            ),
        )


MEASURES = (UserRecall, ExpectedPrecision, ExpectedPrecisionAtRank, PrecisionWithUserModel)
