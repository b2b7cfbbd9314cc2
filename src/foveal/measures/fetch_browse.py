"""Fetch & Browse (INEX 2005): are the right documents fetched, and the right elements in each?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from foveal.measures.alignment import Alignment, Floats, Gold, TopicView
from foveal.measures.gains import (
    Ideal,
    compute_gains,
    compute_worth,
    list_ideals,
    sort_lists,
)
from foveal.measures.measure import Choice, Cutoff, Example, Need
from foveal.measures.xcg import (
    CURVE,
    LEVELS,
    AtRecall,
    MeanEffortPrecision,
    NaturalPoints,
    find_points,
    interpolate,
)
from foveal.recall.forest import QUANTISATIONS, find_quantisation

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
        ideals = gold.cached(list_ideals, one.gain_settings, "documents")
        gains = alignment.cached(compute_gains, one.gain_settings)
        has_ideals = np.array([len(own.gains) > 0 for own in ideals], dtype=bool)
        relevant = np.bincount(gold.judgements.topic[has_ideals], minlength=len(gold.topics))
        cut = np.array([measure.at is not None for measure in measures])
        levels = np.array([float(m.at) for m in measures if m.at is not None])
        scores = np.full((len(gold.topics), len(measures)), np.nan)
        for topic in map(alignment.topic, gold.topics):
            if not one.is_defined(topic):
                continue
            docs = topic.documents
            order = np.argsort(docs.of_result, kind="stable")
            ends = np.searchsorted(docs.of_result[order], np.arange(1, len(docs.head)))
            by_document = np.split(gains[topic.slice][order], ends)
            averages, curves = list[float](), dict[int, Floats]()
            for row, own in zip(docs.row.tolist(), by_document, strict=bool(topic.n)):
                if row < 0 or not has_ideals[row]:
                    continue
                points = find_points(own, ideals[row].curve, one.ideal_)
                if len(levels):
                    curves[row] = interpolate(points, ideals[row].curve, levels)
                if one.score == "iMAep":
                    averages.append(float(interpolate(points, ideals[row].curve, LEVELS).mean()))
                else:
                    n, hits = len(ideals[row].gains), len(points.ep)
                    n = max(n, hits) if one.divisor == "max" else n
                    averages.append(sum(points.ep.tolist()) / n)
            number = {
                "retrieved_relevant": len(averages),
                "retrieved": len(docs.head),
                "all_relevant": int(relevant[topic.at]),
            }[one.clusters]
            scores[topic.at] = 0.0
            if number and averages:
                in_order = (curves[row] for row in sorted(curves))
                scores[topic.at, cut] = sum(in_order, np.zeros(len(levels))) / number
                scores[topic.at, ~cut] = np.sum(averages) / number
        return scores

    def score_topics(self, alignment: Alignment) -> Floats:
        return self.score_curve([self], alignment)[:, 0]
