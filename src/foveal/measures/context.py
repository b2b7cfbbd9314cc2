"""The score of each document in the in-context tasks, shared by gP, AgP, AgPw and igP.

``F``: precision and recall of the returned parts within the document. ``BEP``: distance of the
returned entry point from the best one. ``T2I``: what a reader with limited patience finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import Alignment, Documents, TopicView
from foveal.measures.base import Choice, Measure, Need, Number, OverlapRule, Whole

__all__ = ["InContext", "reading_score"]

Floats = npt.NDArray[np.float64]
Span = tuple[int, int]


class InContext(Measure):
    """A measure over documents ranked by their first result, each with a score in [0, 1]."""

    grouped = True

    score = Choice("F", "BEP", "T2I", description="how a document is scored")
    beta = Number(1.0, "score=F: weight of recall")
    n = Number(500, "score=BEP: distance in characters at which the score is 0", low=1)
    irr = Whole(300, "score=T2I: irrelevant characters after which the reader stops")
    stop = Choice(
        "total",
        "consecutive",
        description="score=T2I: the irrelevant characters count in all, or only in a row",
    )

    @property
    def overlap_rule(self) -> OverlapRule:
        return OverlapRule.ONE_PER_DOCUMENT if self.score == "BEP" else OverlapRule.ERROR

    @property
    def needs(self) -> tuple[Need, ...]:
        if self.score == "BEP":
            return (Need.TEXT, Need.RELEVANT_STARTS, Need.BEP)
        extra = (Need.RELEVANT_LENGTHS,) if self.score == "T2I" else ()
        return (Need.TEXT, Need.RELEVANT_SPANS, *extra)

    def document_scores(self, topic: TopicView) -> Floats:
        """S(d) of the documents in rank order; 0 where nothing is relevant."""
        if self.score == "T2I":
            key = ("S", "T2I", self.irr, self.stop)
            return topic.memo(key, lambda: _t2i_scores(topic, self.irr, self.stop))
        return self._run_scores(topic.alignment, union=topic.union)[topic.own_documents]

    def _run_scores(self, run: Alignment, *, union: bool) -> Floats:
        """S(d) of the documents of all topics by F or BEP: each depends on nothing but itself."""
        if self.score == "F":
            key, by = ("S", "F", self.beta, union), self.beta
            return run.memo(key, lambda: _f_scores(run.documents(union=union), by))
        return run.memo(("S", "BEP", self.n), lambda: _bep_scores(run, self.n))

    def generalised_precision(self, topic: TopicView) -> Floats:
        """gP[r] at every rank of the list."""
        if self.score == "T2I":
            scores = self.document_scores(topic)
            return np.cumsum(scores) / np.arange(1, len(scores) + 1)
        return self.run_precision(topic.alignment, union=topic.union)[topic.own_documents]

    def run_precision(self, run: Alignment, *, union: bool) -> Floats:
        """gP[r] by F or BEP at every rank of every topic of the run."""
        key = ("gP", self.score, self.beta, self.n, union)
        return run.memo(key, lambda: self._run_precision(run, union=union))

    def _run_precision(self, run: Alignment, *, union: bool) -> Floats:
        scores, bounds = self._run_scores(run, union=union), run.document_bounds
        total = np.empty(len(scores))
        # Not as differences of one sum over all topics: those are not exact.
        for low, high in pairwise(bounds.tolist()):
            np.cumsum(scores[low:high], out=total[low:high])
        before = np.repeat(bounds[:-1], np.diff(bounds))
        return total / (np.arange(1, len(scores) + 1) - before)


def _f_scores(docs: Documents, beta: float) -> Floats:
    scores = np.zeros(len(docs.head))
    hit = docs.rsize > 0
    p = docs.rsize[hit] / docs.size[hit]
    r = docs.rsize[hit] / docs.rel_size[hit]
    weight = beta**2
    scores[hit] = (1 + weight) * p * r / (weight * p + r)
    return scores


def _bep_scores(run: Alignment, n: float) -> Floats:
    docs = run.documents(union=False)
    scores = np.zeros(len(docs.head))
    bep = run.gold.judgements.bep
    known = np.flatnonzero(docs.relevant)
    known = known[bep[docs.row[known]] >= 0]
    distance = np.abs(run.run.start[docs.head[known]] - bep[docs.row[known]])
    scores[known] = np.maximum(n - distance, 0) / n
    return scores


def _t2i_scores(topic: TopicView, patience: int, stop: str) -> Floats:
    docs = topic.documents
    scores = np.zeros(len(docs.head))
    length = topic.alignment.gold.length
    parts = topic.parts
    of_part = docs.of_result[parts.owner]
    order = np.lexsort((parts.end, parts.start, of_part))
    of_part = of_part[order]
    wanted = np.flatnonzero(docs.relevant)
    first, last = np.searchsorted(of_part, wanted), np.searchsorted(of_part, wanted, side="right")
    starts, ends = parts.start[order].tolist(), parts.end[order].tolist()
    for d, low, high in zip(wanted.tolist(), first.tolist(), last.tolist(), strict=True):
        row = int(docs.row[d])
        scores[d] = reading_score(
            list(zip(starts[low:high], ends[low:high], strict=True)),
            topic.passages(row),
            int(length[row]),
            patience,
            consecutive=stop == "consecutive",
        )
    return scores


def reading_score(
    parts: Sequence[Span],
    passages: Sequence[Span],
    length: int,
    patience: int,
    *,
    consecutive: bool = False,
) -> float:
    """Share of relevant text in what a reader of limited patience reads of a document.

    The reader takes the returned parts in offset order, then the rest of the document from its
    beginning, and stops after `patience` irrelevant characters, in all or `consecutive` ones.

    >>> round(reading_score([(20, 40), (60, 100)], [(10, 40), (70, 80)], 100, 15), 4)
    0.6667
    """
    relevant = irrelevant = streak = 0
    read = [part for part in parts if part[0] < part[1]]
    for start, end in [*read, *_gaps(parts, length)]:
        for size, useful in _stretches(start, end, passages):
            if useful:
                relevant += size
                streak = 0
                continue
            spent = streak if consecutive else irrelevant
            step = min(size, patience - spent)
            irrelevant += step
            streak += step
            if spent + step >= patience:
                return relevant / (relevant + irrelevant)
    return relevant / (relevant + irrelevant) if relevant else 0.0


def _gaps(parts: Sequence[Span], length: int) -> list[Span]:
    """What the parts (sorted by start) leave of the document."""
    gaps, reached = [], 0
    for start, end in parts:
        if start > reached:
            gaps.append((reached, min(start, length)))
        reached = max(reached, end)
    gaps.append((reached, length))
    return [(a, b) for a, b in gaps if a < b]


def _stretches(start: int, end: int, passages: Sequence[Span]) -> list[tuple[int, bool]]:
    """[start, end) cut at the borders of the passages: (size, relevant) in order."""
    found = []
    for a, b in passages:
        if b <= start:
            continue
        if a >= end:
            break
        if a > start:
            found.append((a - start, False))
            start = a
        found.append((min(b, end) - start, True))
        start = min(b, end)
    if start < end:
        found.append((end - start, False))
    return found
