"""Measures of chunk retrieval as chunking_evaluation and LegalBench-RAG compute them, to the digit.

Measures of other tools have names of their own, so that scores can be compared. Where one misleads,
its declaration says why (`Measure.unsound`).
"""

from __future__ import annotations

import numpy as np

from foveal import spans
from foveal.measures.alignment import Alignment, Floats, Gold, TopicView
from foveal.measures.base import Cutoff, Example
from foveal.measures.marked_spans import find_meetings, list_marked, meet_marked
from foveal.measures.totals import PrecisionRecall, TopicCounts, sum_first
from foveal.spans import Ints

_RUN = "D1:20-40 D2:0-50 D3:0-40 D1:30-50"
_TWICE = (
    "text that overlapping chunks repeat is found once but read every time, so that the same text "
    "scores less the more its chunks overlap"
)


class _ChunkingEvaluation(PrecisionRecall):
    section = "30"
    source = (
        "chunking_evaluation 0.1 (Smith and Troynikov, Evaluating Chunking Strategies for "
        "Retrieval, Chroma 2024)"
    )
    cutoff = Cutoff.RANK_OPTIONAL

    def count_totals(self, alignment: Alignment) -> TopicCounts:
        """Count found characters once, read ones as often as returned, shared references twice."""
        bounds = alignment.run.bounds
        found = sum_first(alignment.new_rsize, bounds, self.rank)
        read = sum_first(alignment.full_size, bounds, self.rank)
        return TopicCounts(found, read, alignment.gold.cached(_sum_references))


def _sum_references(gold: Gold) -> Ints:
    """Sum the lengths of the references of each topic."""
    among = gold.cached(list_marked)
    return sum_first(among.size[among.order], among.topics)


class ChunkingRecall(_ChunkingEvaluation):
    """Share of the references' characters that are in the chunks."""

    name = "ce_recall"
    formula = "ce_recall = |relevant characters returned| / sum of the references' lengths"
    example = Example(_RUN, 0.7778)
    ideal = None
    unsound = (
        "characters that two references share are asked for twice and found once: with such "
        "references even the whole text scores below 1"
    )

    score_topics = _ChunkingEvaluation.recall


class ChunkingPrecision(_ChunkingEvaluation):
    """Relevant characters in the chunks, each once, by the sum of the chunks' lengths."""

    name = "ce_precision"
    formula = "ce_precision = |relevant characters returned| / sum size(i)"
    example = Example(_RUN, 0.5385)
    unsound = _TWICE

    score_topics = _ChunkingEvaluation.precision


class ChunkingIoU(_ChunkingEvaluation):
    """Relevant characters in the chunks by the characters read or missed.

    It is called intersection over union, but the chunks are added up and not united.
    """

    name = "ce_iou"
    formula = "ce_iou = |relevant characters returned| / (sum size(i) + characters missed)"
    example = Example(_RUN, 0.4667)
    unsound = _TWICE

    def score_topics(self, alignment: Alignment) -> Floats:
        found, read, sought = self.count_totals(alignment)
        sought = sought[alignment.judged_topic]
        # Characters of the references that are returned, those that two of them share twice.
        covered = found.copy()
        shared = sought != alignment.gold.trel[alignment.judged_topic]
        if shared.any():
            start, end, owner = alignment.pieces
            topic = alignment.run.topic[owner]
            top = shared[topic]
            if self.rank is not None:
                top &= owner < alignment.run.bounds[topic] + self.rank
            start, end, owner = start[top], end[top], owner[top]
            among = alignment.gold.cached(list_marked)
            met = meet_marked(among, alignment.row[owner], start, end)
            topic = topic[top][met.one]
            covered[shared] = np.bincount(topic, met.common, len(covered))[shared]
        return alignment.fill_topics(found / np.maximum(read + sought - covered, 1))


class ChunkingPrecisionOmega(_ChunkingEvaluation):
    """The precision of a division itself: if exactly the chunks with relevant text came back.

    The run is to return every chunk of the division; chunks that hold nothing relevant drop out,
    and the order does not matter.
    """

    name = "ce_precision_omega"
    formula = (
        "ce_precision_omega = |relevant characters returned| / "
        "|chunks that meet a reference, united with the references|"
    )
    example = Example(_RUN, 0.7)
    unsound = (
        "a chunk that only touches a reference counts as if it held some of it; and it says "
        "nothing of what a retriever finds"
    )

    def score_topic(self, topic: TopicView) -> float:
        alignment = topic.alignment
        meeting = alignment.cached(find_meetings).select_topic(topic, self.rank)
        chunk = np.unique(meeting.one)
        if not len(chunk):
            return 0.0
        own = alignment.gold.cached(list_marked)
        number = own.select_topic(topic)
        row = own.row[number]
        start = np.concatenate([topic.start[chunk], own.start[number]])
        end = np.concatenate([topic.end[chunk], own.end[number]])
        _, group = np.unique(np.concatenate([topic.row[chunk], row]), return_inverse=True)
        start, end = spans.union(*spans.side_by_side(start, end, group))
        return int(topic.new_rsize[: self.rank].sum()) / int((end - start).sum())


class _LegalBench(PrecisionRecall):
    section = "30"
    source = (
        "LegalBench-RAG (Pipitone and Houir Alami, 2024), run_benchmark.py; charP and charR with "
        "--overlap union count each character once"
    )
    cutoff = Cutoff.RANK_OPTIONAL

    def count_totals(self, alignment: Alignment) -> TopicCounts:
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
