"""AgPw (AgP'): average generalised precision that weighs documents by their relevant text."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import TopicView
from foveal.measures.base import Choice, Example
from foveal.measures.context import InContext
from foveal.measures.gr_context import generalised_recall
from foveal.measures.interpolation import best_from, ranks_reaching

__all__ = ["WeightedAverageGeneralisedPrecision"]


class WeightedAverageGeneralisedPrecision(InContext):
    """AgP with documents weighted by how much relevant text they hold.

    Form 8 weighs the gP at each relevant document; it can prefer a list with two documents
    swapped behind a non-relevant one. Form 11 multiplies the final weighted recall by the plain
    mean of those gP. ``interpolated`` is the mean of the best gP at 11 levels of weighted recall.
    """

    name = "AgPw"
    aliases = ("AgP'", "MAgP'")
    section = "13.2"
    place = 3
    formula = (
        "form=8: sum of (Trel(d_j)/Trel) gP[j]; form=11: gR'[end] * mean of gP[j] over retrieved "
        "relevant j; interpolated: mean over x = 0, .1, ..., 1 of max gP[r] with gR'[r] >= x"
    )
    source = "Pehcevski, Thom and Kamps, eqs 8 and 11"
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.3679)

    form = Choice("8", "11", "interpolated", description="which equation", first=True)

    def score_topic(self, topic: TopicView) -> float:
        gp = self.generalised_precision(topic)
        at = np.flatnonzero(topic.documents.relevant)
        if not len(at):
            return 0.0
        weight = topic.documents.rel_size[at]
        if self.form == "8":
            return float((weight * gp[at]).sum()) / topic.trel
        if self.form == "11":
            return int(weight.sum()) / topic.trel * float(gp[at].mean())
        found, total = generalised_recall(topic, weighted=True)
        return float(best_from(gp)[ranks_reaching(found, total, 10)].mean())
