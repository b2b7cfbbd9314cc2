"""The measures of chunking_evaluation: recall, precision, IoU and precision-omega of chunkers."""

from __future__ import annotations

import numpy as np

from foveal import spans
from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example, Measure
from foveal.measures.others.marked import marked, meetings, met

__all__ = [
    "ChunkingIoU",
    "ChunkingPrecision",
    "ChunkingPrecisionOmega",
    "ChunkingRecall",
]

_RUN = "D1:20-40 D2:0-50 D3:0-40 D1:30-50"
_TWICE = (
    "text that overlapping chunks repeat is found once but read every time, so that the same text "
    "scores less the more its chunks overlap"
)


class _ChunkingEvaluation(Measure):
    section = "30"
    source = (
        "chunking_evaluation 0.1 (Smith and Troynikov, Evaluating Chunking Strategies for "
        "Retrieval, Chroma 2024)"
    )
    cutoff = Cutoff.RANK_OPTIONAL

    def found(self, topic: TopicView) -> int:
        """Relevant characters returned, each once."""
        return int(topic.new_rsize[: self.rank].sum())

    def read(self, topic: TopicView) -> int:
        """Characters returned, each as often as it is."""
        return int(topic.alignment.size[topic.slice][: self.rank].sum())

    @staticmethod
    def sought(topic: TopicView) -> int:
        """Characters of the references, those that two of them share twice."""
        own = marked(topic.alignment.gold)
        return int(own.size[own.of(topic)].sum())

    def covered(self, topic: TopicView) -> int:
        """Characters of the references that are returned, those that two share twice."""
        if self.sought(topic) == topic.trel:
            return self.found(topic)
        alignment, pieces = topic.alignment, topic.alignment.pieces
        last = topic.slice.stop if self.rank is None else topic.slice.start + self.rank
        last = min(last, topic.slice.stop)
        own = (pieces.owner >= topic.slice.start) & (pieces.owner < last)
        row = alignment.row[pieces.owner[own]]
        among = marked(alignment.gold)
        return int(met(among, row, pieces.start[own], pieces.end[own]).common.sum())


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

    def score_topic(self, topic: TopicView) -> float:
        return self.found(topic) / self.sought(topic)


class ChunkingPrecision(_ChunkingEvaluation):
    """Relevant characters in the chunks, each once, by the sum of the chunks' lengths."""

    name = "ce_precision"
    formula = "ce_precision = |relevant characters returned| / sum size(i)"
    example = Example(_RUN, 0.5385)
    unsound = _TWICE

    def score_topic(self, topic: TopicView) -> float:
        read = self.read(topic)
        return self.found(topic) / read if read else 0.0


class ChunkingIoU(_ChunkingEvaluation):
    """Relevant characters in the chunks by the characters read or missed.

    It is called intersection over union, but the chunks are added up and not united.
    """

    name = "ce_iou"
    formula = "ce_iou = |relevant characters returned| / (sum size(i) + characters missed)"
    example = Example(_RUN, 0.4667)
    unsound = _TWICE

    def score_topic(self, topic: TopicView) -> float:
        missed = self.sought(topic) - self.covered(topic)
        union = self.read(topic) + missed
        return self.found(topic) / union if union else 0.0


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
        meeting = meetings(alignment).of(topic, self.rank)
        chunk = np.unique(meeting.one)
        if not len(chunk):
            return 0.0
        own = marked(alignment.gold)
        number = own.of(topic)
        row = np.searchsorted(own.bounds, number, side="right") - 1
        start = np.concatenate([topic.start[chunk], own.start[number]])
        end = np.concatenate([topic.end[chunk], own.end[number]])
        _, group = np.unique(np.concatenate([topic.row[chunk], row]), return_inverse=True)
        start, end = spans.union(*spans.side_by_side(start, end, group))
        return self.found(topic) / int((end - start).sum())


MEASURES = (ChunkingRecall, ChunkingPrecision, ChunkingIoU, ChunkingPrecisionOmega)
