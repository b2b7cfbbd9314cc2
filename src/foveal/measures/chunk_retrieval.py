"""Measures of chunk retrieval as chunking_evaluation and LegalBench-RAG compute them, to the digit.

Measures of other tools have names of their own, so that scores can be compared. Where one misleads,
its declaration says why (`Measure.unsound`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from foveal import spans
from foveal.measures.alignment import Alignment, Floats, Gold, TopicView, match_pairs
from foveal.measures.characters import PrecisionRecall, TopicCounts
from foveal.measures.measure import Cutoff, Example, Measure
from foveal.spans import Ints

_RUN = "D1:20-40 D2:0-50 D3:0-40 D1:30-50"
_TWICE = (
    "text that overlapping chunks repeat is found once but read every time, so that the same text "
    "scores less the more its chunks overlap"
)


# -- relevant spans as they were marked, overlapping ones too, and the results that meet them ----
# Our own measures treat relevant text as a set of characters. Other tools look at every marked
# span by itself, in the order of their file.


class Marked(NamedTuple):
    """Marked spans that hold text, row by row."""

    row: Ints  # the judgement of each span
    start: Ints
    end: Ints
    aspects: pl.Series | None = None
    sets: pl.Series | None = None

    @property
    def size(self) -> Ints:
        return self.end - self.start

    def select_topic(self, topic: TopicView) -> Ints:
        """Return the numbers of a topic's spans."""
        return np.flatnonzero(topic.alignment.gold.judgements.topic[self.row] == topic.at)


class Meetings(NamedTuple):
    """Pairs of a span and a marked span that meet, and their common characters; 0 if they touch."""

    one: Ints
    other: Ints
    common: Ints

    def select_topic(self, topic: TopicView, rank: int | None = None) -> Meetings:
        """Return those of the first results of a topic, which count from 0."""
        first = topic.slice.start
        last = topic.slice.stop if rank is None else min(topic.slice.stop, first + rank)
        low, high = np.searchsorted(self.one, [first, last])
        own = slice(int(low), int(high))
        return Meetings(self.one[own] - first, self.other[own], self.common[own])


def list_marked(gold: Gold) -> Marked:
    """Return the spans as marked; united ones where several assessors marked a document."""
    judgements = gold.judgements.given or gold.judgements
    keep = judgements.end > judgements.start
    if judgements.grade is not None:
        keep &= judgements.grade > 0
    kept = pl.Series(keep)
    return Marked(
        judgements.row[keep],
        judgements.start[keep],
        judgements.end[keep],
        None if judgements.aspects is None else judgements.aspects.filter(kept),
        None if judgements.sets is None else judgements.sets.filter(kept),
    )


def unite_spans(group: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Return group, start and end of the text of each group: spans that meet become one."""
    extent = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(extent, group, end)
    base = spans.lay_out(extent)
    start, end = spans.union(start + base[group], end + base[group])
    own = np.searchsorted(base, start, side="right") - 1
    return own, start - base[own], end - base[own]


def find_meetings(alignment: Alignment) -> Meetings:
    """Return every result with every marked span of its document that it overlaps or touches.

    In the order of results, and for each in that of the marked spans.
    """
    among = alignment.gold.cached(list_marked)
    return meet_marked(among, alignment.row, alignment.run.start, alignment.end)


def meet_marked(among: Marked, row: Ints, start: Ints, end: Ints) -> Meetings:
    """Return spans in these rows (`UNKNOWN` if unjudged) with the marked ones that they meet.

    >>> among = Marked(np.array([0, 0]), np.array([10, 70]), np.array([40, 80]))
    >>> found = meet_marked(among, np.array([0, -1]), np.array([30, 0]), np.array([75, 99]))
    >>> [x.tolist() for x in found]
    [[0, 0], [0, 1], [10, 5]]
    """
    known = np.flatnonzero(row >= 0)
    i, other = match_pairs(row[known], among.row)
    one = known[i]
    common = np.minimum(end[one], among.end[other]) - np.maximum(start[one], among.start[other])
    meet = common >= 0
    return Meetings(one[meet], other[meet], common[meet])


# -- chunking_evaluation and LegalBench-RAG -----------------------------------------------------


class _ChunkingEvaluation(PrecisionRecall):
    section = "30"
    source = (
        "chunking_evaluation 0.1 (Smith and Troynikov, Evaluating Chunking Strategies for "
        "Retrieval, Chroma 2024)"
    )
    cutoff = Cutoff.RANK_OPTIONAL

    def count_results(self, alignment: Alignment) -> TopicCounts:
        """Count found characters once, read ones as often as returned, shared references twice."""
        references = alignment.gold.cached(_sum_references)
        return TopicCounts(alignment.new_rsize, alignment.full_size, references)


def _sum_references(gold: Gold) -> Ints:
    """Sum the lengths of the references of each topic."""
    among = gold.cached(list_marked)
    topic = gold.judgements.topic[among.row]
    return np.bincount(topic, among.size, len(gold.topics)).astype(np.int64)


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
    figure = "recall"


class ChunkingPrecision(_ChunkingEvaluation):
    """Relevant characters in the chunks, each once, by the sum of the chunks' lengths."""

    name = "ce_precision"
    formula = "ce_precision = |relevant characters returned| / sum size(i)"
    example = Example(_RUN, 0.5385)
    unsound = _TWICE
    figure = "precision"


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

    score_topics = Measure.score_topics

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
        start, end = spans.union(*spans.put_on_axis(start, end, group))
        return int(topic.new_rsize[: self.rank].sum()) / int((end - start).sum())


class _LegalBench(PrecisionRecall):
    section = "30"
    source = (
        "LegalBench-RAG (Pipitone and Houir Alami, 2024), run_benchmark.py; charP and charR with "
        "--overlap union count each character once"
    )
    cutoff = Cutoff.RANK_OPTIONAL

    def count_results(self, alignment: Alignment) -> TopicCounts:
        return TopicCounts(alignment.full_rsize, alignment.full_size, alignment.gold.trel)


class LegalBenchPrecision(_LegalBench):
    """Share of the returned characters that are relevant, repeated ones counted again."""

    name = "lbr_precision"
    formula = "lbr_precision = sum rsize(i) / sum size(i)"
    example = Example("D2:0-50 D2:25-50 D1:0-100", 0.6571)
    unsound = (
        "text that is returned again counts again, so that repeating a good chunk raises the score"
    )
    figure = "precision"


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
    figure = "recall"
