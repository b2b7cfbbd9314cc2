"""Precision and recall as the program of LegalBench-RAG has them."""

from __future__ import annotations

from foveal.measures.alignment import Alignment
from foveal.measures.base import Cutoff, Example
from foveal.measures.totals import PrecisionRecall, TopicCounts, sum_first

__all__ = ["LegalBenchPrecision", "LegalBenchRecall"]


class _LegalBench(PrecisionRecall):
    section = "30"
    source = (
        "LegalBench-RAG (Pipitone and Houir Alami, 2024), run_benchmark.py; charP and charR with "
        "--overlap union count each character once"
    )
    cutoff = Cutoff.RANK_OPTIONAL

    def totals(self, alignment: Alignment) -> TopicCounts:
        bounds = alignment.run.bounds
        found = sum_first(alignment.full_rsize, bounds, self.rank)
        read = sum_first(alignment.full_size, bounds, self.rank)
        return TopicCounts(found, read, alignment.gold.trel)


class LegalBenchPrecision(_LegalBench):
    """Share of the returned characters that are relevant, repeated ones counted again."""

    name = "lbr_precision"
    formula = "lbr_precision = sum rsize(i) / sum size(i)"
    example = Example("D2:0-50 D2:25-50 D1:0-100", 0.6571)
    unsound = (
        "text that is returned again counts again, so that repeating a good chunk raises the score"
    )

    score_topics = _LegalBench.precision


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

    score_topics = _LegalBench.recall


MEASURES = (LegalBenchPrecision, LegalBenchRecall)
