"""BEPD: nearness of returned entry points to the best ones (Best in Context, 2006)."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import Alignment, Floats
from foveal.measures.base import Example, Measure, Need, Number, OptionalNumber, OverlapRule
from foveal.measures.totals import sum_first

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

    def score_topics(self, alignment: Alignment) -> Floats:
        gold, head, row = alignment.gold, alignment.run.documents.first_rows, alignment.document_row
        bep = gold.judgements.bep
        known = np.flatnonzero(alignment.relevant_documents)
        known = known[bep[row[known]] >= 0]
        distance = np.abs(alignment.run.start[head[known]] - bep[row[known]])
        scale = self.A * (gold.mean_length if self.L is None else self.L)
        own = np.searchsorted(known, alignment.document_bounds)
        near = alignment.spread_topics(sum_first(scale / (scale + distance), own))
        return np.where(gold.beps > 0, near / np.maximum(gold.beps, 1), np.nan)


MEASURES = (BestEntryPointDistance,)
