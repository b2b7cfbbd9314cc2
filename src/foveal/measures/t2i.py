"""T2I: results as entry points for a reader who tolerates a limited amount of irrelevant text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from foveal.measures.alignment import TopicView
from foveal.measures.base import Choice, Cutoff, Example, Measure, Need, Whole
from foveal.spans import Ints

__all__ = ["ToleranceToIrrelevance"]

_RUN = "D1:0-20 D3:0-40 D2:25-50 D1:60-100"
Span = tuple[int, int]


class Readings(NamedTuple):
    """What the reader meets at each rank."""

    new: Ints
    """Passages found for the first time."""
    useful: Ints
    """Relevant characters read for the first time."""
    read: Ints
    """Characters read."""


class _Reader:
    """The reader's memory of one document: its passages, which were found, what was read."""

    def __init__(self, passages: list[Span], length: int) -> None:
        self.passages = passages
        self.found = [False] * len(passages)
        self.length = length
        self.seen_start: list[int] = []
        self.seen_end: list[int] = []

    def stretches(self, start: int) -> Iterator[tuple[int, int, bool, int]]:
        """From `start` to the end, as far as asked: (from, to, read before, passage or -1)."""
        p = bisect_right(self.passages, (start, self.length)) - 1
        s = bisect_right(self.seen_start, start) - 1
        while start < self.length:
            while p + 1 < len(self.passages) and self.passages[p + 1][0] <= start:
                p += 1
            while s + 1 < len(self.seen_start) and self.seen_start[s + 1] <= start:
                s += 1
            inside = p >= 0 and start < self.passages[p][1]
            seen = s >= 0 and start < self.seen_end[s]
            borders = [self.length]
            borders += [self.passages[p][1]] if inside else []
            borders += [self.seen_end[s]] if seen else []
            borders += [self.passages[p + 1][0]] if p + 1 < len(self.passages) else []
            borders += [self.seen_start[s + 1]] if s + 1 < len(self.seen_start) else []
            end = min(borders)
            yield start, end, seen, p if inside else -1
            start = end

    def remember(self, start: int, end: int) -> None:
        """What lies in [start, end) has been read."""
        low = bisect_left(self.seen_end, start)
        high = bisect_right(self.seen_start, end)
        if low < high:
            start, end = min(start, self.seen_start[low]), max(end, self.seen_end[high - 1])
        self.seen_start[low:high], self.seen_end[low:high] = [start], [end]

    def enter(self, start: int, patience: int, *, first: bool, skip: bool) -> tuple[int, int, int]:
        """Read on from `start`; returns (new passages, useful characters, characters read)."""
        new = useful = read = streak = 0
        stop = start
        for a, b, seen, at in self.stretches(start):
            if seen and skip:
                continue
            if at >= 0 and not seen:
                stop = a + 1 if first else b
                useful += stop - a
                new += not self.found[at]
                self.found[at] = True
                streak = 0
            else:
                stop = min(b, a + patience - streak)
                streak += stop - a
            read += stop - a
            if streak >= patience or (first and useful):
                break
        if stop > start:
            self.remember(start, stop)
        return new, useful, read


class ToleranceToIrrelevance(Measure):
    """Average precision of entry points for a reader who gives up after T useless characters.

    The reader starts at each result in turn and reads on until relevant text is found
    (``mode=first``) or for as long as it keeps coming (``mode=read``); text already read is
    useless. A result is a hit if it leads to a passage not found before.
    """

    name = "T2I"
    section = "16"
    formula = "AP = (1/#passages) sum over ranks k of |new passages at k| * hits(k)/k"
    source = "de Vries, Kazai and Lalmas 2004; Pehcevski and Piwowarski, section 3.4"
    example = Example(_RUN, 0.8056, "T2I(T=15)")

    T = Whole(300, "useless characters in a row after which the reader gives up")
    mode = Choice("first", "read", description="stop at the first relevant text, or read on")
    reread = Choice("cost", "skip", description="text read before: costs patience, or is skipped")

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.TEXT, Need.RELEVANT_STARTS, Need.RELEVANT_LENGTHS)

    def readings(self, topic: TopicView) -> Readings:
        key = ("readings", self.T, self.mode, self.reread)
        return topic.memo(key, lambda: self._readings(topic))

    def _readings(self, topic: TopicView) -> Readings:
        judged = topic.alignment.gold
        # Where nothing is relevant, the reader spends the patience or meets the document's end.
        # Unknown lengths matter to no measure that does not declare Need.LENGTHS.
        read = np.clip(topic.length - topic.start, 0, self.T)
        new, useful = np.zeros_like(read), np.zeros_like(read)
        relevant = topic.documents.relevant[topic.documents.of_result]
        simple = ~relevant & (self.reread == "cost")
        readers: dict[int, _Reader] = {}
        document = topic.documents.of_result.tolist()
        start, row_of = topic.start.tolist(), topic.row
        far = max(start, default=0) + self.T * topic.n  # beyond what any reading can reach
        for i in np.flatnonzero(~simple).tolist():
            reader = readers.get(document[i])
            if reader is None:
                row = int(row_of[i])
                passages = topic.passages(row) if relevant[i] else []
                known = int(judged.length[row]) if relevant[i] else int(topic.length[i])
                reader = readers[document[i]] = _Reader(passages, known if known >= 0 else far)
            new[i], useful[i], read[i] = reader.enter(
                start[i], self.T, first=self.mode == "first", skip=self.reread == "skip"
            )
        return Readings(new, useful, read)

    def passages(self, topic: TopicView) -> int:
        """Number of relevant passages of the topic."""
        judged = topic.alignment.gold

        def by_topic() -> Ints:
            judgements = judged.judgements
            owner = np.repeat(judgements.topic, np.diff(judgements.bounds))
            return np.bincount(owner, minlength=len(judgements.topics))

        return int(judged.memo("passages by topic", by_topic)[topic.at])

    def score_topic(self, topic: TopicView) -> float:
        new = self.readings(topic).new
        precision = np.cumsum(new > 0) / np.arange(1, topic.n + 1)
        return float((new * precision).sum()) / self.passages(topic)


class _AtRank(ToleranceToIrrelevance):
    cutoff = Cutoff.RANK
    ideal = None

    def top(self, topic: TopicView) -> Readings:
        return Readings(*(column[: self.rank] for column in self.readings(topic)))


class EntryPrecision(_AtRank):
    """Share of the first k entry points that lead to a passage not found before."""

    name = "T2IP"
    formula = "hits(k) / k"
    example = Example(_RUN, 0.6667, "T2IP(T=15)@3")

    def score_topic(self, topic: TopicView) -> float:
        return int((self.top(topic).new > 0).sum()) / (self.rank or 1)


class EntryRecall(_AtRank):
    """Share of the relevant passages found from the first k entry points."""

    name = "T2IR"
    formula = "found(k) / #passages"
    example = Example(_RUN, 0.6667, "T2IR(T=15)@3")

    def score_topic(self, topic: TopicView) -> float:
        return int(self.top(topic).new.sum()) / self.passages(topic)


class _Effort(_AtRank):
    @property
    def needs(self) -> tuple[Need, ...]:
        return (*super().needs, Need.LENGTHS)


class Effort(_Effort):
    """Characters read from the first k entry points."""

    name = "T2Ieffort"
    formula = "sum of characters read, ranks <= k"
    example = Example(_RUN, 27, "T2Ieffort(T=15)@3")
    higher_is_better = False
    range = (0.0, None)

    def score_topic(self, topic: TopicView) -> float:
        return int(self.top(topic).read.sum())


class EntryCharacterPrecision(_Effort):
    """Share of the characters read that are relevant and new."""

    name = "T2IcharP"
    formula = "useful(k) / read(k)"
    example = Example(_RUN, 0.5, "T2IcharP(T=15,mode=read)@4")

    def score_topic(self, topic: TopicView) -> float:
        top = self.top(topic)
        read = int(top.read.sum())
        return int(top.useful.sum()) / read if read else 0.0


class EntryCharacterRecall(_AtRank):
    """Share of the relevant characters that are read."""

    name = "T2IcharR"
    formula = "useful(k) / Trel"
    example = Example(_RUN, 0.7222, "T2IcharR(T=15,mode=read)@4")

    def score_topic(self, topic: TopicView) -> float:
        return int(self.top(topic).useful.sum()) / topic.trel


MEASURES = (
    ToleranceToIrrelevance,
    EntryPrecision,
    EntryRecall,
    Effort,
    EntryCharacterPrecision,
    EntryCharacterRecall,
)
