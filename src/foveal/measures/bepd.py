"""BEPD: nearness of returned entry points to the best ones (Best in Context, 2006)."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import TopicView
from foveal.measures.base import Example, Measure, Need, Number, OptionalNumber, OverlapRule

__all__ = ["BestEntryPointDistance"]


class BestEntryPointDistance(Measure):
    """How near the returned entry points are to the best entry points, over all of these.

    Set-based: order does not matter and documents without a best entry point cost nothing. The
    larger A, the less distance matters.
    """

    name = "BEPD"
    section = "14.1"
    formula = "BEPD = (1/#BEPs) sum of A L / (A L + |start(x) - BEP|)"
    source = "INEX 2006 evaluation measures, section 7"
    example = Example("D1:20-40 D3:0-40 D2:25-50", 0.7903)
    ideal = None

    A = Number(1.0, "tolerance of distance, in mean document lengths", low=1e-9)
    L = OptionalNumber("auto", "mean document length; auto: of the collection, else as judged")

    @property
    def overlap_rule(self) -> OverlapRule:
        return OverlapRule.ONE_PER_DOCUMENT

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.RELEVANT_STARTS, Need.BEP, *([Need.MEAN_LENGTH] if self.L is None else []))

    def is_defined(self, topic: TopicView) -> bool:
        return topic.beps > 0

    def score_topic(self, topic: TopicView) -> float:
        bep = topic.alignment.gold.judgements.bep
        docs = topic.documents
        known = np.flatnonzero(docs.relevant)
        known = known[bep[docs.row[known]] >= 0]
        distance = np.abs(topic.start[docs.head[known]] - bep[docs.row[known]])
        scale = self.A * (topic.alignment.gold.mean_length if self.L is None else self.L)
        return float((scale / (scale + distance)).sum()) / topic.beps


MEASURES = (BestEntryPointDistance,)
