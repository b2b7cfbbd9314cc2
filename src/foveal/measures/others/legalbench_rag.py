"""Precision and recall as the program of LegalBench-RAG has them."""

from __future__ import annotations

from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example, Measure

__all__ = ["LegalBenchPrecision", "LegalBenchRecall"]


class _LegalBench(Measure):
    section = "30"
    source = (
        "LegalBench-RAG (Pipitone and Houir Alami, 2024), run_benchmark.py; charP and charR with "
        "--overlap union count each character once"
    )
    cutoff = Cutoff.RANK_OPTIONAL

    def found(self, topic: TopicView) -> int:
        """Relevant characters returned, each as often as it is."""
        return int(topic.alignment.rsize[topic.slice][: self.rank].sum())


class LegalBenchPrecision(_LegalBench):
    """Share of the returned characters that are relevant, repeated ones counted again."""

    name = "lbr_precision"
    formula = "lbr_precision = sum rsize(i) / sum size(i)"
    example = Example("D2:0-50 D2:25-50 D1:0-100", 0.6571)
    unsound = (
        "text that is returned again counts again, so that repeating a good chunk raises the score"
    )

    def score_topic(self, topic: TopicView) -> float:
        read = int(topic.alignment.size[topic.slice][: self.rank].sum())
        return self.found(topic) / read if read else 0.0


class LegalBenchRecall(_LegalBench):
    """Relevant characters returned, repeated ones counted again, by those there are."""

    name = "lbr_recall"
    formula = "lbr_recall = sum rsize(i) / Trel"
    example = Example("D2:0-50 D2:25-50 D1:0-100", 1.2778)
    range = (0.0, None)
    unsound = (
        "relevant text that overlapping chunks repeat is found every time: recall passes 1, and "
        "a run gains by overlap alone"
    )

    def score_topic(self, topic: TopicView) -> float:
        return self.found(topic) / topic.trel


MEASURES = (LegalBenchPrecision, LegalBenchRecall)
