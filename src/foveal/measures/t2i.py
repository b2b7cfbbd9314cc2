"""T2I: results as entry points for a reader who tolerates a limited amount of irrelevant text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from foveal.measures.alignment import Alignment, Floats, Gold
from foveal.measures.characters import rank_results, sum_first
from foveal.measures.measure import Choice, Cutoff, Example, Measure, Need, Number
from foveal.spans import Ints

_RUN = "D1:0-20 D3:0-40 D2:25-50 D1:60-100"
Span = tuple[int, int]


class _PatientReader:
    """The reader's memory of one document: its passages, which were found, what was read."""

    def __init__(self, passages: list[Span], length: int) -> None:
        self.passages = passages
        self.found = [False] * len(passages)
        self.length = length
        self.seen_start: list[int] = []
        self.seen_end: list[int] = []

    def cut_stretches(self, start: int) -> Iterator[tuple[int, int, bool, int]]:
        """Yield the text from `start` on as (from, to, read before, passage or -1)."""
        borders = {start, self.length}.union(*self.passages, self.seen_start, self.seen_end)
        for a, b in pairwise(sorted(x for x in borders if start <= x <= self.length)):
            p = bisect_right(self.passages, (a, self.length)) - 1
            s = bisect_right(self.seen_start, a) - 1
            seen = s >= 0 and a < self.seen_end[s]
            yield a, b, seen, p if p >= 0 and a < self.passages[p][1] else -1

    def remember(self, start: int, end: int) -> None:
        """Remember that [start, end) has been read."""
        low = bisect_left(self.seen_end, start)
        high = bisect_right(self.seen_start, end)
        if low < high:
            start, end = min(start, self.seen_start[low]), max(end, self.seen_end[high - 1])
        self.seen_start[low:high], self.seen_end[low:high] = [start], [end]

    def enter(self, start: int, patience: int, *, first: bool, skip: bool) -> tuple[int, int, int]:
        """Read on from `start`; return (new passages, useful characters, characters read)."""
        new = useful = read = streak = 0
        stop = start
        for a, b, seen, at in self.cut_stretches(start):
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


def _enter_results(
    alignment: Alignment, patience: int, mode: str, reread: str
) -> tuple[Ints, Ints, Ints]:
    """Let the reader start at each result in turn.

    Returns the passages found for the first time at each, the relevant characters read for the
    first time, and the characters read.
    """
    gold, run = alignment.gold, alignment.run
    # Where nothing is relevant, the reader spends the patience or meets the document's end.
    # Unknown lengths matter to no measure that does not declare Need.LENGTHS.
    read = np.clip(alignment.length - run.start, 0, patience)
    new, useful = np.zeros_like(read), np.zeros_like(read)
    relevant = alignment.relevant
    simple = ~relevant & (reread == "cost")
    start, document = run.start.tolist(), run.documents.number.tolist()
    readers: dict[int, _PatientReader] = {}
    far = max(start, default=0) + patience * len(run)  # beyond what any reading can reach
    for i in np.flatnonzero(~simple).tolist():
        reader = readers.get(document[i])
        if reader is None:
            row = int(alignment.row[i])
            passages = gold.judgements.passages(row) if relevant[i] else []
            known = int(gold.length[row]) if relevant[i] else int(alignment.length[i])
            reader = readers[document[i]] = _PatientReader(passages, known if known >= 0 else far)
        new[i], useful[i], read[i] = reader.enter(
            start[i], patience, first=mode == "first", skip=reread == "skip"
        )
    return new, useful, read


def _count_passages(gold: Gold) -> Ints:
    """Count the relevant passages of each topic."""
    judgements = gold.judgements
    owner = np.repeat(judgements.topic, np.diff(judgements.bounds))
    return np.bincount(owner, minlength=len(judgements.topics))


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

    T = Number(
        300, "useless characters in a row after which the reader gives up", low=1, whole=True
    )
    mode = Choice("first|read", "stop at the first relevant text, or read on")
    reread = Choice("cost|skip", "text read before: costs patience, or is skipped")

    needs: tuple[Need, ...] = (Need.TEXT, Need.RELEVANT_STARTS, Need.RELEVANT_LENGTHS)

    def find_entries(self, alignment: Alignment) -> tuple[Ints, Ints, Ints]:
        """Return new passages, useful characters and characters read at each result."""
        return alignment.cached(_enter_results, self.T, self.mode, self.reread)

    def score_topics(self, alignment: Alignment) -> Floats:
        (new, _, _), bounds = self.find_entries(alignment), alignment.run.bounds
        hits = np.cumsum(new > 0)
        before = np.append(0, hits)[bounds[:-1]]
        hits = hits - np.repeat(before, np.diff(bounds))
        found = sum_first(new * (hits / (rank_results(alignment) + 1)), bounds)
        return alignment.fill_topics(found) / np.maximum(alignment.gold.cached(_count_passages), 1)


class _AtRank(ToleranceToIrrelevance):
    cutoff = Cutoff.RANK
    ideal = None

    def sum_top(self, alignment: Alignment) -> tuple[Ints, Ints, Ints, Ints]:
        """Sum hits, new passages, useful characters and characters read up to the rank."""
        new, useful, read = self.find_entries(alignment)
        hits, found, useful, read = (
            sum_first(values, alignment.run.bounds, self.rank)
            for values in (new > 0, new, useful, read)
        )
        return hits, found, useful, read


class EntryPrecision(_AtRank):
    """Share of the first k entry points that lead to a passage not found before."""

    name = "T2IP"
    formula = "hits(k) / k"
    example = Example(_RUN, 0.6667, "T2IP(T=15)@3")

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.fill_topics(self.sum_top(alignment)[0] / (self.rank or 1))


class EntryRecall(_AtRank):
    """Share of the relevant passages found from the first k entry points."""

    name = "T2IR"
    formula = "found(k) / #passages"
    example = Example(_RUN, 0.6667, "T2IR(T=15)@3")

    def score_topics(self, alignment: Alignment) -> Floats:
        found = alignment.fill_topics(self.sum_top(alignment)[1])
        return found / np.maximum(alignment.gold.cached(_count_passages), 1)


class EntryEffort(_AtRank):
    """Characters read from the first k entry points."""

    name = "T2Ieffort"
    formula = "sum of characters read, ranks <= k"
    example = Example(_RUN, 27, "T2Ieffort(T=15)@3")
    higher_is_better = False
    range = (0.0, None)
    needs = (*ToleranceToIrrelevance.needs, Need.LENGTHS)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.fill_topics(self.sum_top(alignment)[3])


class EntryCharacterPrecision(_AtRank):
    """Share of the characters read that are relevant and new."""

    name = "T2IcharP"
    formula = "useful(k) / read(k)"
    example = Example(_RUN, 0.5, "T2IcharP(T=15,mode=read)@4")
    needs = (*ToleranceToIrrelevance.needs, Need.LENGTHS)

    def score_topics(self, alignment: Alignment) -> Floats:
        _, _, useful, read = self.sum_top(alignment)
        return alignment.fill_topics(useful / np.maximum(read, 1))


class EntryCharacterRecall(_AtRank):
    """Share of the relevant characters that are read."""

    name = "T2IcharR"
    formula = "useful(k) / Trel"
    example = Example(_RUN, 0.7222, "T2IcharR(T=15,mode=read)@4")

    def score_topics(self, alignment: Alignment) -> Floats:
        useful = alignment.fill_topics(self.sum_top(alignment)[2])
        return useful / np.maximum(alignment.gold.trel, 1)
