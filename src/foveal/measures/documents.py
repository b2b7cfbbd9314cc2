"""P, R and AP on documents: the classic measures, each document at its first result."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example, Measure, Need

__all__ = ["AveragePrecision", "PrecisionAtRank", "RecallAtRank"]

_PTK = "Pehcevski, Thom and Kamps, eqs 9-10; classic"


class _DocumentLevel(Measure):
    section = "17"
    source = _PTK

    @property
    def needs(self) -> tuple[Need, ...]:
        return ()

    @staticmethod
    def hits(topic: TopicView) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Relevant documents found up to each document rank."""
        return topic.memo("hits", lambda: np.cumsum(topic.documents.relevant))


class PrecisionAtRank(_DocumentLevel):
    """Share of relevant documents among the first k.

    Documents are ranked by their first result; a document is relevant if it holds any relevant
    text, unjudged ones are not. A list shorter than k is still divided by k. The score is 0 where
    no document is relevant. It counts documents. charP@k counts the text of the first k results.
    """

    name = "P"
    aliases = ("Precision",)
    cutoff = Cutoff.RANK
    always_defined = True
    formula = "P[k] = (relevant documents among the first k) / k"
    example = Example("D3:0-40 D1:20-40 D2:0-25", 0.5, "P@2")
    ideal = None

    def score_topic(self, topic: TopicView) -> float:
        k = self.rank or 1
        return int(topic.documents.relevant[:k].sum()) / k


class RecallAtRank(_DocumentLevel):
    """Share of the relevant documents that are among the first k.

    It counts documents: one is found as soon as any part of it is returned. charR@k counts the
    relevant text in the first k results.
    """

    name = "R"
    aliases = ("Recall",)
    cutoff = Cutoff.RANK
    formula = "R[k] = (relevant documents among the first k) / Nrel"
    example = Example("D3:0-40 D1:20-40 D2:0-25", 0.5, "R@2")
    ideal = None

    def score_topic(self, topic: TopicView) -> float:
        return int(topic.documents.relevant[: self.rank].sum()) / topic.relevant_documents


class AveragePrecision(_DocumentLevel):
    """Mean over the relevant documents of the precision at their rank; 0 for those not found."""

    name = "AP"
    aliases = ("MAP",)
    formula = "AP = (1/Nrel) sum over ranks r of rel(r) P[r]"
    example = Example("D3:0-40 D1:20-40 D2:0-25", 0.5833)

    def score_topic(self, topic: TopicView) -> float:
        at = np.flatnonzero(topic.documents.relevant)
        return float((self.hits(topic)[at] / (at + 1)).sum()) / topic.relevant_documents


MEASURES = (PrecisionAtRank, RecallAtRank, AveragePrecision)
