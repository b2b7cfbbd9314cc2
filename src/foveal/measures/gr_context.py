"""gR and gRw: generalised recall of documents, plain and weighted by their relevant text."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example, Measure, Need

__all__ = ["GeneralisedRecall", "WeightedGeneralisedRecall", "generalised_recall"]

_SOURCE = "Pehcevski, Thom and Kamps, eqs 5-6"


def generalised_recall(
    topic: TopicView, *, weighted: bool
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], int]:
    """What is found up to each document rank and in all: documents, or their relevant characters.

    A relevant document counts as found even if the returned parts miss its relevant text.
    """
    docs = topic.documents
    if weighted:
        return np.cumsum(docs.rel_size), topic.trel
    return np.cumsum(docs.relevant), topic.relevant_documents


class GeneralisedRecall(Measure):
    """Share of the relevant documents among the first k."""

    name = "gR"
    section = "13.2"
    place = 1
    cutoff = Cutoff.RANK
    grouped = True
    formula = "gR[k] = (1/Nrel) sum of rel(d_j), j <= k"
    source = _SOURCE
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.5, "gR@2")
    ideal = None

    @property
    def needs(self) -> tuple[Need, ...]:
        return ()

    def score_topic(self, topic: TopicView) -> float:
        return int(topic.documents.relevant[: self.rank].sum()) / topic.relevant_documents


class WeightedGeneralisedRecall(Measure):
    """Share of the relevant text that the first k documents hold, returned or not."""

    name = "gRw"
    aliases = ("gR'",)
    section = "13.2"
    place = 1
    cutoff = Cutoff.RANK
    grouped = True
    formula = "gR'[k] = (1/Trel) sum of Trel(d_j), j <= k"
    source = _SOURCE
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.4444, "gRw@2")
    ideal = None

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.TEXT,)

    def score_topic(self, topic: TopicView) -> float:
        return int(topic.documents.rel_size[: self.rank].sum()) / topic.trel
