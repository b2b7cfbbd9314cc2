"""AgP: average generalised precision, the overall figure of the in-context tasks (MAgP)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from foveal.measures.alignment import Alignment, TopicView
from foveal.measures.base import Example
from foveal.measures.context import Floats, InContext

__all__ = ["AverageGeneralisedPrecision"]


class AverageGeneralisedPrecision(InContext):
    """Generalised precision averaged over the ranks of the relevant documents.

    Relevant documents that are not returned count 0; one whose returned parts miss the relevant
    text still counts as found, with the gP at its rank. With scores of 0 and 1 this is AP.
    """

    name = "AgP"
    aliases = ("MAgP",)
    section = "13.2"
    place = 2
    formula = "AgP = (1/Nrel) sum over ranks j of rel(d_j) gP[j]"
    source = "INEX 2006 evaluation measures, section 6; Pehcevski, Thom and Kamps, eq 7"
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.3611)

    def of_run(self, run: Alignment, *, union: bool) -> Floats | None:
        if self.score == "T2I":
            return None
        gained, bounds = self.run_precision(run, union=union), run.document_bounds.tolist()
        relevant = run.documents(union=union).relevant
        # Topic by topic: another order of the sums would be other last digits.
        sums = [float(gained[a:b][relevant[a:b]].sum()) for a, b in pairwise(bounds)]
        return np.array(sums) / np.maximum(run.gold.nrel[run.judged_topic], 1)

    def score_topic(self, topic: TopicView) -> float:
        gained = self.generalised_precision(topic)[topic.relevant]
        return float(gained.sum()) / topic.relevant_documents
