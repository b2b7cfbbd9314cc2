"""IOU-F1 of rationales as ERASER has it: results that match a marked span well enough."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import TopicView
from foveal.measures.base import Cutoff, Example, Measure, Number
from foveal.measures.others.marked import marked, meetings

__all__ = ["EraserF1", "EraserPrecision", "EraserRecall"]

_RUN = "D1:10-35 D3:0-40 D2:0-30 D2:0-50"


class _Eraser(Measure):
    section = "30"
    source = (
        "ERASER (DeYoung et al., ACL 2020), partial_match_score; there in tokens, here in the "
        "characters of spans, over all documents of a topic"
    )
    cutoff = Cutoff.RANK_OPTIONAL

    threshold = Number(0.5, "the least intersection over union that is a match", high=1)

    def counts(self, topic: TopicView) -> tuple[int, int, int]:
        """(results that match, distinct results, distinct marked spans)."""
        key = ("eraser", self.rank, self.threshold)
        return topic.memo(key, lambda: self._counts(topic))

    def _counts(self, topic: TopicView) -> tuple[int, int, int]:
        alignment = topic.alignment
        n = topic.n if self.rank is None else min(self.rank, topic.n)
        one = np.stack([topic.documents.of_result[:n], topic.start[:n], topic.end[:n]])
        _, first = np.unique(one, axis=1, return_index=True)
        own = marked(alignment.gold)
        found = meetings(alignment).of(topic, self.rank)
        size = alignment.size[topic.slice]
        union = size[found.one] + own.size[found.other] - found.common
        best = np.zeros(n)
        np.maximum.at(best, found.one, found.common / np.maximum(union, 1))
        every = own.of(topic)
        row = np.searchsorted(own.bounds, every, side="right") - 1
        spans = np.unique(np.stack([row, own.start[every], own.end[every]]), axis=1)
        return int((best[first] >= self.threshold).sum()), len(first), spans.shape[1]

    def precision(self, topic: TopicView) -> float:
        matches, results, _ = self.counts(topic)
        return matches / results if results else 0.0

    def recall(self, topic: TopicView) -> float:
        matches, _, spans = self.counts(topic)
        return matches / spans


class EraserPrecision(_Eraser):
    """Share of the results that match a marked span: intersection over union of a half or more."""

    name = "eraser_iou_p"
    formula = "eraser_iou_p = (results with max IOU >= threshold) / results"
    example = Example(_RUN, 0.75)
    ideal = None
    unsound = "a result next to a good one of the same span is as good, however much it repeats"

    def score_topic(self, topic: TopicView) -> float:
        return self.precision(topic)


class EraserRecall(_Eraser):
    """Results that match a marked span, by the marked spans."""

    name = "eraser_iou_r"
    formula = "eraser_iou_r = (results with max IOU >= threshold) / marked spans"
    example = Example(_RUN, 1.0)
    range = (0.0, None)
    ideal = None
    unsound = "it counts results, not spans found: two that match one span make up for a missed one"

    def score_topic(self, topic: TopicView) -> float:
        return self.recall(topic)


class EraserF1(_Eraser):
    """Harmonic mean of the two."""

    name = "eraser_iou_f1"
    formula = "eraser_iou_f1 = 2 P R / (P + R)"
    example = Example(_RUN, 0.8571)
    range = (0.0, None)
    ideal = None
    unsound = (
        "its recall counts results, not spans found, and passes 1 if several match one span; a "
        "span cut in three pieces is found by none of them"
    )

    def score_topic(self, topic: TopicView) -> float:
        p, r = self.precision(topic), self.recall(topic)
        return 2 * p * r / (p + r) if p + r else 0.0


MEASURES = (EraserPrecision, EraserRecall, EraserF1)
