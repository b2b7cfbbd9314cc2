"""Fetch & Browse (INEX 2005): are the right documents fetched, and the right elements in each?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import numpy as np

from foveal.measures.alignment import Alignment, Floats, Gold, TopicView
from foveal.measures.base import Choice, Cutoff, Example, Need
from foveal.measures.gains import (
    GainSettings,
    Ideal,
    compute_gains,
    compute_worth,
    list_ideals,
    sort_lists,
)
from foveal.measures.xcg import (
    CURVE,
    LEVELS,
    TOLERANCE,
    AtRecall,
    MeanEffortPrecision,
    NaturalPoints,
    find_points,
    interpolate,
)
from foveal.recall.forest import QUANTISATIONS, find_quantisation
from foveal.spans import Ints

_RUN = "D2:/a/p[1] D1:/a/s[1]/p[2] D3:/a/p[1] D1:/a/s[2]"
_SCORE = "without a cut-off: the mean over natural points, or over 100 levels"


class FetchBrowseArticle(AtRecall):
    """Effort-precision over documents, in the order of their first results.

    With a cut-off, effort-precision at that level of gain-recall.
    """

    name = "FBarticle"
    section = "10"
    structural = True
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = CURVE
    formula = "FBarticle = MAep over the documents by first result; gain of a document = q(root)"
    source = "Kazai and Lalmas, INEX 2005 evaluation measures, 6.3"
    example = Example(_RUN, 1.0)

    score = Choice("MAep|iMAep", _SCORE)
    quant = Choice("|".join(QUANTISATIONS), "what an assessed element is worth")
    article_gain = Choice(
        "auto|self|max",
        "a document is worth its root, or where that is 0 its best element; only its "
        "root; always its best element",
    )
    ideal_ = Choice("line|step", "the ideal curve is read on straight lines, or in steps")

    needs = (Need.STRUCTURE,)

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
        return find_points(gains, curve, self.ideal_)

    def is_defined(self, topic: TopicView) -> bool:
        return len(self._ideal_list(topic).gains) > 0

    def curve_at(self, topic: TopicView, levels: Floats) -> Sequence[Floats]:
        return [interpolate(self._points(topic), self._ideal_list(topic).curve, levels)]

    def average(self, topic: TopicView) -> float:
        if self.score == "iMAep":
            return super().average(topic)
        ep = self._points(topic).ep
        return float(ep.sum()) / max(len(self._ideal_list(topic).gains), len(ep))


def _value_documents(gold: Gold, quant: str, article_gain: str) -> Floats:
    """Return the worth of each judged document."""
    forest, worth = gold.trees, gold.cached(compute_worth, quant, False)  # noqa: FBT003
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
    return sort_lists(gold.judgements.topic[row], value[row], len(gold.topics))


class FetchBrowseElement(MeanEffortPrecision):
    """Effort-precision over the elements of each document, averaged over documents.

    With a cut-off, effort-precision at that level of the gain-recall of each document.
    """

    name = "FBelement"
    aliases = ()
    section = "10"
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = CURVE
    formula = "FBelement = mean over clusters (documents) of MAep on the document's own recall base"
    source = "Kazai and Lalmas, INEX 2005 evaluation measures, 6.3"
    example = Example(_RUN, 0.3125)

    score = Choice("MAep|iMAep", _SCORE, first=True)
    clusters = Choice(
        "retrieved_relevant|all_relevant|retrieved",
        "the documents averaged over: relevant ones that were retrieved, all relevant "
        "ones, or all retrieved ones",
    )

    @classmethod
    def score_curve(cls, measures: Sequence[Self], alignment: Alignment) -> Floats:
        one, gold = measures[0], alignment.gold
        n, first, ideal = gold.cached(_list_ideal_elements, one.gain_settings)
        row, points = alignment.cached(_find_document_points, one.gain_settings, one.ideal_)
        cut = np.array([measure.at is not None for measure in measures])
        levels = np.array([float(m.at) for m in measures if m.at is not None])
        by = np.maximum(n, np.bincount(row, minlength=len(n))) if one.divisor == "max" else n
        of_document = np.bincount(row, points.ep, len(n)) / np.maximum(by, 1)
        # With a cut-off, ep is summed over the documents of each topic; else scores of documents.
        summed = np.zeros((len(gold.topics), len(levels)))
        if len(levels) or one.score == "iMAep":
            heads = np.flatnonzero(np.diff(row, prepend=-1))
            for low, high in pairwise([*heads.tolist(), len(row)]):
                document = row[low]
                own = NaturalPoints(*(column[low:high] for column in points))
                curve = ideal[first[document] : first[document + 1]]
                if len(levels):
                    summed[gold.judgements.topic[document]] += interpolate(own, curve, levels)
                if one.score == "iMAep":
                    of_document[document] = interpolate(own, curve, LEVELS).mean()
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


def _list_ideal_elements(gold: Gold, settings: GainSettings) -> tuple[Ints, Ints, Floats]:
    """Return the length of each judged document's ideal list, and their curves on end.

    The curve of cumulated gains of document i, from rank 0 on, is ``curve[first[i]:first[i + 1]]``.
    """
    lists = list_ideals(gold, settings, "documents")
    n = np.array([len(one.gains) for one in lists])
    first = np.concatenate([[0], np.cumsum(n + 1)])
    return n, first, np.concatenate([one.curve for one in lists])


def _find_document_points(
    alignment: Alignment, settings: GainSettings, mode: str
) -> tuple[Ints, NaturalPoints]:
    """Return the natural recall points of all documents, one after the other, with their rows.

    The rank of a result is that in its document. For one document, the numbers are those of
    `find_points` to the last bit.
    """
    row, gains = alignment.row, alignment.cached(compute_gains, settings)
    order = np.argsort(row, kind="stable")
    rank = np.arange(1.0, len(row) + 1) - np.searchsorted(row[order], row[order])
    gaining = np.flatnonzero(gains[order] > 0)
    row, rank, gain = row[order][gaining], rank[gaining], gains[order][gaining]
    # Running sums of each document: all take a turn at once, so that no rounding is carried on.
    gained = gain.copy()
    head = np.flatnonzero(np.diff(row, prepend=-1))
    members = np.diff(np.append(head, len(row)))
    turn = 1
    while len(head):
        more = members > turn
        head, members = head[more], members[more]
        gained[head + turn] += gained[head + turn - 1]
        turn += 1
    # The ranks at which the ideal lists reach these gains, as in `find_points`.
    n, first, curve = alignment.gold.cached(_list_ideal_elements, settings)
    low, last = first[row], first[row + 1] - 1
    if mode == "step":
        at = _search(curve, low, last + 1, gained - TOLERANCE * curve[last], after=False) - low
        ideal_rank = np.clip(at, 1, n[row]).astype(np.float64)
    else:
        at = _search(curve, low, last + 1, gained, after=True) - 1
        inner = at < last
        width = curve[np.where(inner, at + 1, at)] - curve[at]
        slope = np.divide(1, width, out=np.zeros(len(at)), where=inner)
        ideal_rank = slope * (gained - curve[at]) + (at - low)
    return row, NaturalPoints(rank, gain, gained, ideal_rank / rank)


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
