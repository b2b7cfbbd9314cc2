"""Answers and rationales: IOU-F1 as ERASER has it and F1 as SQuAD has it, on spans."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import Alignment, TopicView
from foveal.measures.characters import PrecisionRecall, TopicCounts
from foveal.measures.chunk_retrieval import (
    Marked,
    find_meetings,
    list_marked,
    meet_marked,
    unite_spans,
)
from foveal.measures.measure import Cutoff, Example, Measure, Number

_RUN = "D1:10-35 D3:0-40 D2:0-30 D2:0-50"


class _Eraser(PrecisionRecall):
    section = "30"
    source = (
        "ERASER (DeYoung et al., ACL 2020), partial_match_score; there in tokens, here in the "
        "characters of spans, over all documents of a topic"
    )
    cutoff = Cutoff.RANK_OPTIONAL

    threshold = Number(0.5, "the least intersection over union that is a match", high=1)

    def count_results(self, alignment: Alignment) -> TopicCounts:
        """Count results that match, distinct results and distinct marked spans."""
        run, gold = alignment.run, alignment.gold
        among = gold.cached(list_marked)
        met = alignment.cached(find_meetings)
        union = alignment.full_size[met.one] + among.size[met.other] - met.common
        best = np.zeros(len(run))
        np.maximum.at(best, met.one, met.common / np.maximum(union, 1))
        place = np.stack([run.documents.number, run.start, alignment.end])
        first = np.zeros(len(run), dtype=bool)  # which results repeat none before them
        first[np.unique(place, axis=1, return_index=True)[1]] = True
        spans = np.unique(np.stack([among.row, among.start, among.end]), axis=1)
        sought = np.bincount(gold.judgements.topic[spans[0]], minlength=len(gold.topics))
        return TopicCounts(first & (best >= self.threshold), first, sought)


class EraserPrecision(_Eraser):
    """Share of the results that match a marked span: intersection over union of a half or more."""

    name = "eraser_iou_p"
    formula = "eraser_iou_p = (results with max IOU >= threshold) / results"
    example = Example(_RUN, 0.75)
    ideal = None
    unsound = "a result next to a good one of the same span is as good, however much it repeats"
    figure = "precision"


class EraserRecall(_Eraser):
    """Results that match a marked span, by the marked spans."""

    name = "eraser_iou_r"
    formula = "eraser_iou_r = (results with max IOU >= threshold) / marked spans"
    example = Example(_RUN, 1.0)
    range = (0.0, None)
    ideal = None
    unsound = "it counts results, not spans found: two that match one span make up for a missed one"
    figure = "recall"


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
    figure = "F"


class SquadF1(Measure):
    """F1 of the returned text with the answer that fits it best.

    Answers are the evidence sets of the topic; without any, all relevant spans are one answer.
    The units are those of the spans: characters, or tokens if run and judgements were brought to
    them (`foveal.adapters.token_offsets`). The original compares the words as strings, wherever
    they stand; here they must be the words that were marked.
    """

    name = "squad_f1"
    section = "30"
    cutoff = Cutoff.RANK_OPTIONAL
    formula = "squad_f1 = max over answers a of 2 |returned, a| / (|returned| + |a|)"
    source = "SQuAD (Rajpurkar et al., EMNLP 2016), evaluate-v1.1; on places instead of strings"
    example = Example("D1:20-40 D2:0-50", 0.875, "squad_f1@2")

    def score_topic(self, topic: TopicView) -> float:
        start, end, owner = topic.pieces
        n = len(owner) if self.rank is None else int(np.searchsorted(owner, self.rank))
        start, end, row = start[:n], end[:n], topic.row[owner[:n]]
        returned = int((end - start).sum())
        among = topic.alignment.gold.cached(list_marked)
        every = among.select_topic(topic)
        sets = [] if among.sets is None else among.sets.gather(every).to_list()
        names = dict.fromkeys(name for own in sets for name in own or [])
        # A span without sets is part of every answer.
        answers = [every[[not own or name in own for own in sets]] for name in names]
        best = 0.0
        for spans in answers or [every]:
            answer = Marked(*unite_spans(among.row[spans], among.start[spans], among.end[spans]))
            common = int(meet_marked(answer, row, start, end).common.sum())
            best = max(best, 2 * common / (returned + int(answer.size.sum())))
        return best
