"""gP: generalised precision of a ranking of documents, each scored by its returned parts."""

from __future__ import annotations

from foveal.measures.alignment import TopicView
from foveal.measures.base import Choice, Cutoff, Example
from foveal.measures.context import InContext

__all__ = ["GeneralisedPrecision"]


class GeneralisedPrecision(InContext):
    """Mean score of the first k documents.

    A document scores between 0 and 1 by how well its returned parts match its relevant text
    (F), how near the entry point is (BEP), or what a reader finds (T2I).
    """

    name = "gP"
    section = "13.2"
    cutoff = Cutoff.RANK
    curve = ("1", "2", "3", "5", "10", "25", "50")
    formula = "gP[k] = (1/k) sum of S(d_j), j <= k"
    source = "INEX 2006 evaluation measures, section 6; Pehcevski, Thom and Kamps, eq 4"
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.3, "gP@2")
    ideal = None

    short = Choice(
        "pad", "last", description="beyond a short list: divide by k, or keep the last value"
    )

    def score_topic(self, topic: TopicView) -> float:
        scores = self.document_scores(topic)
        k = self.rank or 1
        if self.short == "last":
            k = min(k, max(len(scores), 1))
        return float(scores[:k].sum()) / k
