"""Fetch & Browse (INEX 2005): are the right documents fetched, and the right elements in each?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foveal.measures.base import Choice, Example, Measure, Need
from foveal.measures.effort import MeanEffortPrecision, at_recall, mean_ep
from foveal.measures.gains import Settings, recall_base, worth
from foveal.measures.view import Judged, Topic
from foveal.recall.quantisation import QUANTISATIONS, find_quantisation

__all__ = ["FetchBrowseArticle", "FetchBrowseElement"]

Floats = npt.NDArray[np.float64]
_LEVELS = np.arange(1, 101) / 100


def _score(gains: Floats, ideal_gains: Floats, score: str, ideal: str, divisor: str) -> float:
    if score == "MAep":
        return mean_ep(gains, ideal_gains, ideal=ideal, divisor=divisor)
    ep = at_recall(_LEVELS, gains, ideal_gains, ideal=ideal, between="line")
    return float(ep.mean())


class FetchBrowseArticle(Measure):
    """Effort-precision over documents: each result stands for its article, repeats left out."""

    name = "FBarticle"
    section = "10"
    structural = True
    formula = "FBarticle = MAep over the documents by first result; gain of a document = q(root)"
    source = "Kazai and Lalmas, INEX 2005 evaluation measures, 6.3; METRICS 10"
    example = Example("D2:/a/p[1] D1:/a/s[1]/p[2] D3:/a/p[1] D1:/a/s[2]", 1.0)

    score = Choice("MAep", "iMAep", description="the mean over natural points, or over 100 levels")
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

    def check_judged(self, judged: Judged) -> None:
        if judged.forest is not None:
            find_quantisation(self.quant, judged.forest.assessed.scale)

    def _documents(self, judged: Judged) -> Floats:
        """What each judged document is worth."""

        def calculate() -> Floats:
            forest = judged.forest
            assert forest is not None
            value = worth(judged, Settings(quant=self.quant))
            most = np.zeros(len(judged.judgements))
            np.maximum.at(most, forest.row, value)
            if self.article_gain == "max":
                return most
            root = np.zeros(len(judged.judgements))
            top = forest.parent < 0
            root[forest.row[top]] = value[top]
            return root if self.article_gain == "self" else np.where(root > 0, root, most)

        return judged.memo(("articles", self.quant, self.article_gain), calculate)

    def _ideal(self, topic: Topic) -> Floats:
        judged = topic.alignment.judged
        value = self._documents(judged)[judged.judgements.topic == topic.at]
        return np.sort(value[value > 0])[::-1]

    def defined(self, topic: Topic) -> bool:
        return len(self._ideal(topic)) > 0

    def calculate(self, topic: Topic) -> float:
        row = topic.documents.row
        value = self._documents(topic.alignment.judged)
        gains = np.where(row >= 0, value[row], 0.0) if len(value) else np.zeros(len(row))
        return _score(gains, self._ideal(topic), self.score, self.ideal_, "max")


class FetchBrowseElement(MeanEffortPrecision):
    """Effort-precision over the elements of each document, averaged over documents."""

    name = "FBelement"
    aliases = ()
    section = "10"
    formula = "FBelement = mean over clusters (documents) of MAep on the document's own recall base"
    source = "Kazai and Lalmas, INEX 2005 evaluation measures, 6.3; METRICS 10"
    example = Example("D2:/a/p[1] D1:/a/s[1]/p[2] D3:/a/p[1] D1:/a/s[2]", 0.3125)

    score = Choice(
        "MAep",
        "iMAep",
        description="the mean over natural points, or over 100 levels",
        first=True,
    )
    clusters = Choice(
        "retrieved_relevant",
        "all_relevant",
        "retrieved",
        description="the documents averaged over: relevant ones that were retrieved, all relevant "
        "ones, or all retrieved ones",
    )

    def _bases(self, judged: Judged) -> dict[int, Floats]:
        """The ideal gains of each document that has any, by judgement."""
        settings = self.settings_of_gains(judged)
        focused = settings.overlap == "on" and (settings.base, settings.tie)

        def calculate() -> dict[int, Floats]:
            forest = judged.forest
            assert forest is not None
            value = worth(judged, settings)
            wanted = recall_base(judged, settings).ideal if focused else value > 0
            chosen = np.flatnonzero(wanted)
            order = chosen[np.lexsort((-value[chosen], forest.row[chosen]))]
            row, first = np.unique(forest.row[order], return_index=True)
            parts = np.split(value[order], first[1:])
            return dict(zip(row.tolist(), parts, strict=bool(len(row))))

        key = ("clusters", settings.quant, settings.normalise, focused)
        return judged.memo(key, calculate)

    def calculate(self, topic: Topic) -> float:
        judged = topic.alignment.judged
        bases, gains, documents = self._bases(judged), self.gains(topic), topic.documents
        order = np.argsort(documents.of_result, kind="stable")
        ends = np.searchsorted(documents.of_result[order], np.arange(1, len(documents.head)))
        scores = [
            _score(gains[own], bases[row], self.score, self.ideal_, self.divisor)
            for row, own in zip(documents.row.tolist(), np.split(order, ends), strict=False)
            if row in bases
        ]
        if self.clusters == "retrieved_relevant":
            number = len(scores)
        elif self.clusters == "retrieved":
            number = len(documents.head)
        else:
            relevant = np.fromiter(bases, dtype=np.int64, count=len(bases))
            number = int((judged.judgements.topic[relevant] == topic.at).sum())
        return sum(scores) / number if number else 0.0
