"""judged: how much of a run's top was seen by an assessor."""

from __future__ import annotations

from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example, Measure, Need

__all__ = ["JudgedShare"]


class JudgedShare(Measure):
    """Share of the first k results that are from judged documents.

    A low share says that the other scores of the run are guesses: unjudged text counts as not
    relevant.
    """

    name = "judged"
    section = "29"
    cutoff = Cutoff.RANK
    formula = "judged[k] = (results of judged documents among the first k) / min(k, results)"
    source = "practice; ir_measures has the same for documents"
    example = Example("D1:20-40 D9:0-10", 0.5, "judged@2")
    always_defined = True

    @property
    def needs(self) -> tuple[Need, ...]:
        return ()

    def score_topic(self, topic: TopicView) -> float:
        top = topic.row[: self.rank]
        return float((top >= 0).mean()) if len(top) else 0.0
