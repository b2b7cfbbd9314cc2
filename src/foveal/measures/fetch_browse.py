"""Fetch & Browse (INEX 2005): are the right documents fetched, and the right elements in each?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.measures.base import Choice, Cutoff, Example, Need
from foveal.measures.gains import (
    GainSettings,
    Ideal,
    choose_elements,
    compute_gains,
    compute_worth,
    forest_of,
    group_by_topic,
)
from foveal.measures.xcg import (
    LEVELS,
    AtRecall,
    EffortPrecision,
    MeanEffortPrecision,
    NaturalPoints,
    find_points,
    interpolate,
)
from foveal.recall.quantisation import QUANTISATIONS, find_quantisation
from foveal.spans import Ints

__all__ = ["FetchBrowseArticle", "FetchBrowseElement"]

Floats = npt.NDArray[np.float64]
_TOLERANCE = 1e-12
_SCORE = "without a cut-off: the mean over natural points, or over 100 levels"


class FetchBrowseArticle(AtRecall):
    """Effort-precision over documents, in the order of their first results.

    With a cut-off, effort-precision at that level of gain-recall.
    """

    name = "FBarticle"
    section = "10"
    structural = True
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = EffortPrecision.curve
    formula = "FBarticle = MAep over the documents by first result; gain of a document = q(root)"
    source = "Kazai and Lalmas, INEX 2005 evaluation measures, 6.3"
    example = Example("D2:/a/p[1] D1:/a/s[1]/p[2] D3:/a/p[1] D1:/a/s[2]", 1.0)

    score = Choice("MAep", "iMAep", description=_SCORE)
    quant = Choice(*QUANTISATIONS, description="what an assessed element is worth")
    article_gain = Choice(
        "auto",
        "self",
        "max",
        description="a document is worth its root, or where that is 0 its best element; only its "
        "root; always its best element",
    )
    ideal_ = Choice(
        "line", "step", description="the ideal curve is read on straight lines, or in steps"
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.STRUCTURE,)

    def check_gold(self, gold: Gold) -> None:
        if gold.forest is not None:
            find_quantisation(self.quant, gold.forest.assessed.scale)

    def _ideal_list(self, topic: TopicView) -> Ideal:
        """Return the gains of the relevant documents of a topic, best first."""
        gold = topic.alignment.gold
        return gold.cached(_list_ideal_documents, self.quant, self.article_gain)[topic.at]

    def _points(self, topic: TopicView) -> NaturalPoints:
        """Return the natural recall points of the documents in order of their first results."""
        row = topic.documents.row
        value = topic.alignment.gold.cached(_value_documents, self.quant, self.article_gain)
        gains = np.where(row >= 0, value[row], 0.0) if len(value) else np.zeros(len(row))
        curve = self._ideal_list(topic).curve
        return find_points(gains, np.array([0, len(gains)]), [curve], self.ideal_)[0]

    def is_defined(self, topic: TopicView) -> bool:
        return len(self._ideal_list(topic).gains) > 0

    def curve_at(self, topic: TopicView, levels: Floats) -> Sequence[Floats]:
        return [interpolate(self._points(topic), self._ideal_list(topic).curve, levels)]

    def average(self, topic: TopicView) -> float:
        if self.score == "iMAep":
            return super().average(topic)
        return self._points(topic).mean(len(self._ideal_list(topic).gains))


def _value_documents(gold: Gold, quant: str, article_gain: str) -> Floats:
    """Return the worth of each judged document."""
    forest, worth = forest_of(gold), gold.cached(compute_worth, quant, False)  # noqa: FBT003
    most, root = np.zeros((2, len(gold.judgements)))
    np.maximum.at(most, forest.row, worth)
    top = forest.parent < 0
    root[forest.row[top]] = worth[top]
    by_rule = {"auto": np.where(root > 0, root, most), "self": root, "max": most}
    return by_rule[article_gain]


def _list_ideal_documents(gold: Gold, quant: str, article_gain: str) -> list[Ideal]:
    """Return the ideal list of documents of each topic."""
    value = gold.cached(_value_documents, quant, article_gain)
    row = np.flatnonzero(value > 0)
    return group_by_topic(gold, row, value[row])


class FetchBrowseElement(MeanEffortPrecision):
    """Effort-precision over the elements of each document, averaged over documents.

    With a cut-off, effort-precision at that level of the gain-recall of each document.
    """

    name = "FBelement"
    aliases = ()
    section = "10"
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = EffortPrecision.curve
    formula = "FBelement = mean over clusters (documents) of MAep on the document's own recall base"
    source = "Kazai and Lalmas, INEX 2005 evaluation measures, 6.3"
    example = Example("D2:/a/p[1] D1:/a/s[1]/p[2] D3:/a/p[1] D1:/a/s[2]", 0.3125)

    score = Choice("MAep", "iMAep", description=_SCORE, first=True)
    clusters = Choice(
        "retrieved_relevant",
        "all_relevant",
        "retrieved",
        description="the documents averaged over: relevant ones that were retrieved, all relevant "
        "ones, or all retrieved ones",
    )

    @classmethod
    def score_curve(cls, measures: Sequence[Self], alignment: Alignment) -> Floats:
        one, gold = measures[0], alignment.gold
        settings = one.gain_settings(gold)
        n = gold.cached(_list_ideal_elements, settings).n
        points = alignment.cached(_find_document_points, settings, one.ideal_)
        cut = np.array([measure.at is not None for measure in measures])
        # With a cut-off, ep is summed over the documents of each topic; else scores of documents.
        row, ep = points.interpolate(np.array([float(m.at) for m in measures if m.at is not None]))
        summed = np.zeros((len(gold.topics), ep.shape[1]))
        np.add.at(summed, gold.judgements.topic[row], ep)
        of_document = points.mean(one.divisor)
        if one.score == "iMAep" and not cut.all():
            row, ep = points.interpolate(LEVELS)
            of_document = np.zeros(len(n))
            of_document[row] = ep.mean(axis=1)
        relevant = np.bincount(gold.judgements.topic[n > 0], minlength=len(gold.topics))
        scores = np.full((len(gold.topics), len(measures)), np.nan)
        for topic in map(alignment.topic, gold.topics):
            if not one.is_defined(topic):
                continue
            retrieved = topic.documents.row[topic.documents.row >= 0]
            retrieved = retrieved[n[retrieved] > 0]
            number = {
                "retrieved_relevant": len(retrieved),
                "retrieved": len(topic.documents.head),
                "all_relevant": int(relevant[topic.at]),
            }[one.clusters]
            if number:
                scores[topic.at, cut] = summed[topic.at] / number
                scores[topic.at, ~cut] = of_document[retrieved].sum() / number
            else:
                scores[topic.at] = 0.0
        return scores

    def score_topics(self, alignment: Alignment) -> Floats:
        return self.score_curve([self], alignment)[:, 0]


# -- effort-precision of many short lists at once ----------------------------------------------


class _IdealLists(NamedTuple):
    """The ideal lists of all judged documents, one after the other."""

    n: Ints
    """Number of elements in each document's list."""
    first: Ints
    """Where each document's curve begins."""
    curve: Floats
    """The cumulated gains of the lists, each from rank 0 on."""

    def find_rank(self, row: Ints, gained: Floats, mode: str) -> Floats:
        """Return the ranks at which the lists of documents reach gains; see `find_ideal_rank`."""
        low, high = self.first[row], self.first[row + 1]
        if mode == "step":
            slack = _TOLERANCE * self.curve[high - 1]
            at = _search(self.curve, low, high, gained - slack, after=False) - low
            return np.asarray(np.clip(at, 1, self.n[row]), dtype=np.float64)
        at = _search(self.curve, low, high, gained, after=True) - 1
        return _read_line(gained, at, high - 1, self.curve, at - low, at - low + 1)


def _list_ideal_elements(gold: Gold, settings: GainSettings) -> _IdealLists:
    """Return the ideal list of each judged document."""
    element, worth = choose_elements(gold, settings)
    row = forest_of(gold).row[element]
    order = np.lexsort((-worth, row))
    row, worth = row[order], worth[order]
    n = np.bincount(row, minlength=len(gold.judgements))
    first = np.concatenate([[0], np.cumsum(n + 1)])
    curve = np.zeros(first[-1])
    curve[np.arange(len(row)) + row + 1] = _sum_groups(row, worth)
    return _IdealLists(n, first, curve)


class _DocumentPoints(NamedTuple):
    """The natural recall points of all documents of a run, one document after the other."""

    ideal: _IdealLists
    row: Ints
    gained: Floats
    ep: Floats

    def mean(self, divisor: str) -> Floats:
        """Return the MAep of every document."""
        n, rows = self.ideal.n, len(self.ideal.n)
        found = np.bincount(self.row, minlength=rows)
        by = np.maximum(n, found) if divisor == "max" else n
        total: Floats = np.bincount(self.row, self.ep, rows).astype(np.float64)
        return total / np.maximum(by, 1)

    def interpolate(self, levels: Floats) -> tuple[Ints, Floats]:
        """Return the documents that gain, and their ep at levels, on lines between points."""
        row, first = np.unique(self.row, return_index=True)
        if not len(row) or not len(levels):
            return row, np.zeros((len(row), len(levels)))
        last = np.append(first[1:], len(self.row)) - 1
        total = self.ideal.curve[self.ideal.first[row + 1] - 1][:, None]
        increasing = np.argsort(levels, kind="stable")
        wanted = levels[increasing] * total
        # How many points of its document each level has passed.
        place = np.repeat(np.arange(len(row)), last + 1 - first) * len(levels)
        level = _search(wanted.ravel(), place, place + len(levels), self.gained, after=False)
        inside = level < place + len(levels)
        passed = np.bincount(level[inside], minlength=wanted.size).reshape(wanted.shape)
        at = first[:, None] + np.cumsum(passed, axis=1) - 1
        before = at < first[:, None]
        at = np.maximum(at, first[:, None])
        end = np.broadcast_to(last[:, None], at.shape)
        after = np.minimum(at + 1, end)
        ep = _read_line(wanted, at, end, self.gained, self.ep[at], self.ep[after])
        ep = np.where(before, self.ep[first][:, None], ep)
        reached = wanted <= self.gained[last][:, None] + _TOLERANCE * total
        found = np.empty_like(ep)
        found[:, increasing] = np.where(reached, ep, 0.0)
        return row, found


def _find_document_points(
    alignment: Alignment, settings: GainSettings, mode: str
) -> _DocumentPoints:
    """Return ep at every result that gains; its rank is that in its document."""
    row, gains = alignment.row, alignment.cached(compute_gains, settings)
    ideal = alignment.gold.cached(_list_ideal_elements, settings)
    order = np.argsort(row, kind="stable")
    rank = np.arange(len(row)) - np.searchsorted(row[order], row[order]) + 1
    gaining = np.flatnonzero(gains[order] > 0)
    own = row[order][gaining]
    gained = _sum_groups(own, gains[order][gaining])
    ep = ideal.find_rank(own, gained, mode) / rank[gaining]
    return _DocumentPoints(ideal, own, gained, ep)


def _read_line(x: Floats, at: Ints, last: Ints, xs: Floats, low: Any, high: Any) -> Floats:
    """Return the value at `x` on the line from ``(xs[at], low)`` to the next point, at `high`."""
    inner = at < last
    begin, end = xs[at], xs[np.where(inner, at + 1, at)]
    slope = np.divide(high - low, end - begin, out=np.zeros(x.shape), where=inner)
    return np.asarray(slope * (x - begin) + low, dtype=np.float64)


def _sum_groups(group: Ints, values: Floats) -> Floats:
    """Return running sums within adjacent groups, each as if it were alone.

    All groups take a turn at once: no rounding is carried from one to the next.
    """
    total = values.copy()
    head = np.flatnonzero(np.diff(group, prepend=-1))
    members = np.diff(np.append(head, len(group)))
    turn = 1
    while len(head):
        more = members > turn
        head, members = head[more], members[more]
        total[head + turn] += total[head + turn - 1]
        turn += 1
    return total


def _search(values: Floats, low: Ints, high: Ints, wanted: Floats, *, after: bool) -> Ints:
    """Find where in its own sorted part of `values` each belongs: before or after equals."""
    low, high = low.copy(), high.copy()
    left = np.flatnonzero(low < high)
    while len(left):
        middle = (low[left] + high[left]) >> 1
        right = (values[middle] <= wanted[left]) if after else (values[middle] < wanted[left])
        low[left[right]] = middle[right] + 1
        high[left[~right]] = middle[~right]
        left = left[low[left] < high[left]]
    return low


MEASURES = (FetchBrowseArticle, FetchBrowseElement)
