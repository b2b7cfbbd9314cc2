"""GR, EPRUM, EPRUMk and PRUM: recall and precision of the readers of the user model."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from foveal.measures.alignment import Floats, TopicView
from foveal.measures.characters import count_needed
from foveal.measures.measure import Choice, Cutoff, Example, Flag
from foveal.measures.user_model import (
    Hits,
    UserModel,
    WeightedUserModel,
    find_distributions,
    find_leads,
    find_unseen,
)
from foveal.recall import QUANTISATIONS
from foveal.spans import Ints

_GRID = 1000
_EXACT = 1e-9
_TOLERANCE = 1e-12


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

    score_topic = WeightedUserModel.compute_recall


def compute_expected_precision(
    hits: Hits,
    units: Ints,
    shortest: Ints,
    *,
    of_means: bool = False,
    ideality: Floats | None = None,
) -> Floats:
    """Return EPRUM for readers who want 1, 2, ... units; what is never reached counts 0.

    `units` is what each target counts, `shortest` how many ranks the best list needs for 1, 2, ...
    units, `ideality` the probability of each target that it counts at all. With `of_means` it is
    divided by the expected rank instead of averaging the ratio: 0 unless reaching is certain.
    """
    total, reached = np.zeros(len(shortest)), np.zeros(0)
    for ranks, seen, _ in find_distributions(hits, units, ideality):
        # The probabilities that a rank is the first with 1, 2, ... units seen; units that cannot
        # have been seen by then have no column.
        at_least = np.zeros((len(ranks) + 1, seen.shape[1] - 1))
        at_least[0, : len(reached)] = reached
        at_least[1:] = np.cumsum(seen[:, :0:-1], axis=1)[:, ::-1]
        first, reached = np.diff(at_least, axis=0), at_least[-1]
        wanted = min(first.shape[1], len(total))
        rank = ranks[:, None]
        value = rank if of_means else np.minimum(1.0, shortest[:wanted] / rank)
        total[:wanted] += (value * first[:, :wanted]).sum(axis=0)
    if not of_means:
        return total
    missed = find_unseen(hits, len(units))
    sure = (missed == 0) if ideality is None else (missed == 0) & (ideality == 1)
    certain = np.arange(1, len(total) + 1) <= units[sure].sum()
    return np.where(certain, np.minimum(1.0, shortest / np.maximum(total, _TOLERANCE)), 0.0)


def round_to_units(weight: Floats) -> Ints:
    """Return weights as multiples of a unit that divides them all, else of 1/1000 of their sum.

    >>> round_to_units(np.array([1, 0.5, 0.5])).tolist()
    [2, 1, 1]
    >>> round_to_units(np.array([0.3, 0.7001])).tolist()
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


def _count_ranks(gain: Floats, wanted: Floats) -> Ints:
    """Return how many ranks of a list with these cumulated gains give what is wanted."""
    ranks: Ints = np.searchsorted(gain, wanted - _TOLERANCE * gain[-1]) + 1
    return ranks


class _AtUnits(UserModel):
    """Precision of readers who want a share of all units, or without a cut-off a mean of it."""

    cutoff = Cutoff.RECALL_OPTIONAL

    def score_units(self, topic: TopicView) -> Floats:
        """Return the precision of readers who want 1, 2, ... units."""
        raise NotImplementedError  # pragma: no cover - both measures define it

    def average(self, topic: TopicView, by_units: Floats) -> float:  # noqa: ARG002 - for EPRUM
        """Return the score without a cut-off."""
        return float(by_units.mean())

    def score_topic(self, topic: TopicView) -> float:
        by_units = topic.cached(_score_units, type(self)(self.settings))
        if self.at is None:
            return self.average(topic, by_units)
        return float(by_units[max(count_needed(len(by_units), self.at), 1) - 1])


def _score_units(topic: TopicView, measure: _AtUnits) -> Floats:
    """Return the precision by units of a measure without its cut-off."""
    return measure.score_units(topic)


class _BestListMeasure(WeightedUserModel):
    ideal_ = Choice(
        "list|greedy",
        "the best list: the targets by weight, or in the order in which they show most "
        "that is new, counting what they lead to",
    )
    ratio = Choice(
        "expected|of_means", "expectation of the ratio, or ratio to the expected rank (EPRUM only)"
    )

    def cumulate_best_gains(self, topic: TopicView, weight: Floats) -> Floats:
        """Return the cumulated gain of the best list, for targets of these weights."""
        gain = np.cumsum(np.sort(weight)[::-1])
        if self.ideal_ == "list":
            return gain
        places = self.find_targets(topic).places
        leads = find_leads(topic, places, places, self.find_reader(topic))
        return np.maximum(gain, np.cumsum(_list_greedily(places.row, weight, *leads)))


def _list_greedily(row: Ints, weight: Floats, at: Ints, target: Ints, p: Floats) -> Floats:
    """Return what each rank adds to a list that always continues with the most expected new gain.

    Only targets are candidates: where targets do not overlap, no other place leads to more. What is
    shown in one document changes nothing in another, so each has its own list; gains only fall
    along a list, so sorting merges them.
    """
    bounds = np.append(np.flatnonzero(np.diff(row, prepend=-1)), len(row)).tolist()
    hits = np.searchsorted(at, bounds).tolist()
    gains: list[float] = []
    for i, (low, high) in enumerate(pairwise(bounds)):
        if high - low == 1:
            gains.append(float(weight[low]))
            continue
        own = slice(hits[i], hits[i + 1])
        leads = np.zeros((high - low, high - low))
        leads[at[own] - low, target[own] - low] = p[own]
        left = weight[low:high].copy()
        for _ in range(high - low):
            new = leads @ left
            best = int(new.argmax())
            gains.append(float(new[best]))
            left *= 1 - leads[best]
            leads[best] = 0.0  # a place is listed once
    return np.sort(gains)[::-1]


class ExpectedPrecision(_AtUnits, _BestListMeasure):
    """Length of the best list for a given recall, relative to the part of this list to be read.

    The rank at which a reader has seen enough targets is uncertain; the value is the expectation of
    the ratio of both lengths, 0 for readers who never see enough. Without ``@`` it is the mean over
    1, 2, ..., all targets, which is average precision if every result leads to itself only. With
    best entry points as targets it was a measure of the Best in Context task.
    """

    name = "EPRUM"
    section = "15.3"
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

    def average(self, topic: TopicView, by_units: Floats) -> float:
        if self.random_ideal:
            return float(by_units.mean())
        # The natural points of recall are those where the best list shows its next target.
        units = np.sort(round_to_units(self.find_targets(topic).weight))[::-1]
        return float(np.dot(units, by_units[np.cumsum(units) - 1]) / units.sum())

    def score_units(self, topic: TopicView) -> Floats:
        weight = self.find_targets(topic).weight
        units, ideality = round_to_units(weight), None
        most = int(units.sum())
        if self.random_ideal:
            units, ideality = np.ones(len(weight), dtype=np.int64), weight
            most = math.ceil(weight.sum() - _EXACT)
        best = self.cumulate_best_gains(topic, units.astype(np.float64))
        return compute_expected_precision(
            self.find_hits(topic),
            units,
            _count_ranks(best, np.arange(1.0, most + 1)),
            of_means=self.ratio == "of_means",
            ideality=ideality,
        )


class ExpectedPrecisionAtRank(_BestListMeasure):
    """Length of the best list with the recall of the first k results, divided by k.

    With equal weights this is the expected number of targets seen by rank k over k, at most 1.
    """

    name = "EPRUMk"
    section = "15.3"
    cutoff = Cutoff.RANK
    formula = "s(GR(k)) / k; s = ranks of the best list that give this recall"
    source = "INEX 2006 evaluation measures, section 7"
    example = Example("D1:20-40 D3:0-40 D2:25-50", 0.5269, "EPRUMk@3")

    rounding = Choice("line|ceil", "ranks of the best list: a straight line between, or the next")

    def score_topic(self, topic: TopicView) -> float:
        weight = self.find_targets(topic).weight
        gain = self.cumulate_best_gains(topic, weight)
        wanted = self.compute_recall(topic) * gain[-1]
        if self.rounding == "ceil":
            ranks = float(_count_ranks(gain, np.array([wanted]))[0]) if wanted > 0 else 0.0
        else:
            full = int(_count_ranks(gain, gain[-1:])[0])  # later ranks add nothing
            ranks = float(np.interp(wanted, np.append(0.0, gain[:full]), np.arange(full + 1)))
        return min(1.0, ranks / (self.rank or 1))


def compute_reader_precision(hits: Hits, n: int, results: int, *, read_on: bool = True) -> Floats:
    """Return PRUM for readers who stop once they have seen 1, 2, ..., `n` targets.

    Unless `read_on`, it is multiplied by the probability that so many are ever seen.
    """
    fresh, read = np.zeros(n), np.zeros(n)
    searching = np.ones(n)  # P(F < r): who seeks r targets has not seen them yet
    since = 0
    for ranks, seen, still in find_distributions(hits, np.ones(n, dtype=np.int64), still=True):
        before = np.vstack([searching, _cumulate(seen, n)])
        read += np.diff(ranks, prepend=since) @ before[:-1]
        fresh += (before[:-1] - _cumulate(still, n)).sum(axis=0)
        searching, since = before[-1], int(ranks[-1])
    read += (results - since) * searching
    found = np.ones(n) if read_on else 1 - searching
    return np.divide(fresh * found, read, out=np.zeros(n), where=read > 0)


def _cumulate(distributions: Floats, n: int) -> Floats:
    """Return the probabilities of fewer than 1, 2, ..., n, in each row."""
    fewer = np.empty((len(distributions), n))
    known = np.cumsum(distributions, axis=1)[:, :n]
    fewer[:, : known.shape[1]] = known
    fewer[:, known.shape[1] :] = known[:, -1:]
    return fewer


class PrecisionWithUserModel(_AtUnits):
    """Probability that a result the reader consults shows a target not seen before.

    The reader stops as soon as the wanted share of the targets has been seen, or at the end of the
    list. Without ``@`` it is the mean over 1, 2, ..., all targets.
    """

    name = "PRUM"
    section = "15.4"
    formula = "PRUM(r) = sum over k of P(F_(k-1) < r, F_k > F_(k-1)) / sum over k of P(F_(k-1) < r)"
    source = "Piwowarski, Gallinari and Dupret 2007; Pehcevski and Piwowarski, section 3.5"
    example = Example("D1:20-40 D3:0-40 D2:25-50", 0.5269, "PRUM@1.0")

    quant = Choice("|".join(QUANTISATIONS), "targets=ideal: the quantisation function")
    unreached = Choice(
        "read_on|zero", "readers who never see enough: read to the end, or count as failures"
    )

    def score_units(self, topic: TopicView) -> Floats:
        n, read_on = len(self.find_targets(topic).weight), self.unreached == "read_on"
        return compute_reader_precision(self.find_hits(topic), n, topic.n, read_on=read_on)
