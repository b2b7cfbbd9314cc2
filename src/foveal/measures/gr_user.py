"""GR: the share of the targets that a reader has seen after k results (the user model's recall)."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example
from foveal.measures.user_model import WeightedUserModel, unseen

__all__ = ["UserRecall"]


class UserRecall(WeightedUserModel):
    """Expected share of the targets that a reader of the first k results gets to see.

    The reader also sees what is near a result: by default a best entry point is found the more
    likely the nearer a result starts to it.
    """

    name = "GR"
    section = "15.2"
    cutoff = Cutoff.RANK
    formula = "GR(k) = sum of w(x) P(x seen by rank k) / sum of w(x)"
    source = "Pehcevski and Piwowarski, section 3.5"
    example = Example("D1:20-40 D3:0-40 D2:25-50", 0.7903, "GR@3")

    def score_topic(self, topic: TopicView) -> float:
        return expected_recall(self, topic)


def expected_recall(measure: WeightedUserModel, topic: TopicView) -> float:
    """The expected share of the targets' weight that is seen by the cut-off's rank."""
    weight = measure.sought(topic).weight
    missed = unseen(measure.hits(topic).until(measure.rank or 1), len(weight))
    return float(np.dot(weight, 1 - missed) / weight.sum())
