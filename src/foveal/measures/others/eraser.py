"""IOU-F1 of rationales as ERASER has it: results that match a marked span well enough."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import Alignment
from foveal.measures.base import Cutoff, Example, Number
from foveal.measures.others.marked import find_meetings, list_marked
from foveal.measures.totals import PrecisionRecall, TopicCounts, sum_first

__all__ = ["EraserF1", "EraserPrecision", "EraserRecall"]

_RUN = "D1:10-35 D3:0-40 D2:0-30 D2:0-50"


class _Eraser(PrecisionRecall):
    section = "30"
    source = (
        "ERASER (DeYoung et al., ACL 2020), partial_match_score; there in tokens, here in the "
        "characters of spans, over all documents of a topic"
    )
    cutoff = Cutoff.RANK_OPTIONAL

    threshold = Number(0.5, "the least intersection over union that is a match", high=1)

    def totals(self, alignment: Alignment) -> TopicCounts:
        """Count results that match, distinct results and distinct marked spans."""
        run, bounds = alignment.run, alignment.run.bounds
        among = alignment.gold.cached(list_marked)
        met = alignment.cached(find_meetings)
        union = alignment.full_size[met.one] + among.size[met.other] - met.common
        best = np.zeros(len(run))
        np.maximum.at(best, met.one, met.common / np.maximum(union, 1))
        place = np.stack([run.documents.number, run.start, alignment.end])
        first = np.zeros(len(run), dtype=bool)  # which results repeat none before them
        first[np.unique(place, axis=1, return_index=True)[1]] = True
        matches = sum_first(first & (best >= self.threshold), bounds, self.rank)
        results = sum_first(first, bounds, self.rank)
        spans = np.unique(np.stack([among.row, among.start, among.end]), axis=1)
        topic = alignment.gold.judgements.topic[spans[0]]
        return TopicCounts(
            matches, results, np.bincount(topic, minlength=len(alignment.gold.topics))
        )


class EraserPrecision(_Eraser):
    """Share of the results that match a marked span: intersection over union of a half or more."""

    name = "eraser_iou_p"
    formula = "eraser_iou_p = (results with max IOU >= threshold) / results"
    example = Example(_RUN, 0.75)
    ideal = None
    unsound = "a result next to a good one of the same span is as good, however much it repeats"

    score_topics = _Eraser.precision


class EraserRecall(_Eraser):
    """Results that match a marked span, by the marked spans."""

    name = "eraser_iou_r"
    formula = "eraser_iou_r = (results with max IOU >= threshold) / marked spans"
    example = Example(_RUN, 1.0)
    range = (0.0, None)
    ideal = None
    unsound = "it counts results, not spans found: two that match one span make up for a missed one"

    score_topics = _Eraser.recall


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

    score_topics = _Eraser.f_score


MEASURES = (EraserPrecision, EraserRecall, EraserF1)
