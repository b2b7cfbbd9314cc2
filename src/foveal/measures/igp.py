"""igP: interpolated generalised precision at a level of document recall."""

from __future__ import annotations

from foveal.measures.alignment import TopicView
from foveal.measures.base import Choice, Cutoff, Example
from foveal.measures.context import InContext
from foveal.measures.gr_context import generalised_recall
from foveal.measures.interpolation import best_from, rank_reaching

__all__ = ["InterpolatedGeneralisedPrecision"]


class InterpolatedGeneralisedPrecision(InContext):
    """The best generalised precision at recall x or beyond; igP@curve gives the 11 points."""

    name = "igP"
    section = "13.2"
    place = 4
    cutoff = Cutoff.RECALL
    curve = tuple(f"{j / 10:.1f}" for j in range(11))
    formula = "igP[x] = max gP[r] over ranks with gR[r] >= x"
    source = "Pehcevski, Thom and Kamps, 11-point graph; inex_eval 3.1"
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.4222, "igP@0.5")

    recall = Choice("gR", "gRw", description="recall in documents, or in relevant characters")

    def score_topic(self, topic: TopicView) -> float:
        found, total = generalised_recall(topic, weighted=self.recall == "gRw")
        best = best_from(self.generalised_precision(topic))
        return float(best[rank_reaching(found, total, self.at)])
