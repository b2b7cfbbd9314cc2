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
from foveal.measures.base import Choice, Cutoff, Example, Measure, Need, Number, OverlapRule, Whole
from foveal.measures.interpolated import best_from, rank_reaching, ranks_reaching

__all__ = [
    "AverageGeneralisedPrecision",
    "GeneralisedPrecision",
    "GeneralisedRecall",
    "InContext",
    "InterpolatedGeneralisedPrecision",
    "WeightedAverageGeneralisedPrecision",
    "WeightedGeneralisedRecall",
    "generalised_recall",
    "reading_score",
]

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


class GeneralisedPrecision(InContext):
    """Mean score of the first k documents.

    A document scores between 0 and 1 by how well its returned parts match its relevant text
    (F), how near the entry point is (BEP), or what a reader finds (T2I).
    """

    name = "gP"
    section = "13.2"
    cutoff = Cutoff.RANK
    curve = ("1", "2", "3", "5", "10", "25", "50")
    formula = "gP[k] = (1/k) sum of S(d_j), j <= k"
    source = "INEX 2006 evaluation measures, section 6; Pehcevski, Thom and Kamps, eq 4"
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.3, "gP@2")
    ideal = None

    short = Choice(
        "pad", "last", description="beyond a short list: divide by k, or keep the last value"
    )

    def score_topic(self, topic: TopicView) -> float:
        scores = self.document_scores(topic)
        k = self.rank or 1
        if self.short == "last":
            k = min(k, max(len(scores), 1))
        return float(scores[:k].sum()) / k


_SOURCE = "Pehcevski, Thom and Kamps, eqs 5-6"


def generalised_recall(
    topic: TopicView, *, weighted: bool
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], int]:
    """What is found up to each document rank and in all: documents, or their relevant characters.

    A relevant document counts as found even if the returned parts miss its relevant text.
    """
    docs = topic.documents
    if weighted:
        return np.cumsum(docs.rel_size), topic.trel
    return np.cumsum(docs.relevant), topic.relevant_documents


class GeneralisedRecall(Measure):
    """Share of the relevant documents among the first k."""

    name = "gR"
    section = "13.2"
    cutoff = Cutoff.RANK
    grouped = True
    formula = "gR[k] = (1/Nrel) sum of rel(d_j), j <= k"
    source = _SOURCE
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.5, "gR@2")
    ideal = None

    @property
    def needs(self) -> tuple[Need, ...]:
        return ()

    def score_topic(self, topic: TopicView) -> float:
        return int(topic.documents.relevant[: self.rank].sum()) / topic.relevant_documents


class WeightedGeneralisedRecall(Measure):
    """Share of the relevant text that the first k documents hold, returned or not."""

    name = "gRw"
    aliases = ("gR'",)
    section = "13.2"
    cutoff = Cutoff.RANK
    grouped = True
    formula = "gR'[k] = (1/Trel) sum of Trel(d_j), j <= k"
    source = _SOURCE
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.4444, "gRw@2")
    ideal = None

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.TEXT,)

    def score_topic(self, topic: TopicView) -> float:
        return int(topic.documents.rel_size[: self.rank].sum()) / topic.trel


class AverageGeneralisedPrecision(InContext):
    """Generalised precision averaged over the ranks of the relevant documents.

    Relevant documents that are not returned count 0; one whose returned parts miss the relevant
    text still counts as found, with the gP at its rank. With scores of 0 and 1 this is AP.
    """

    name = "AgP"
    aliases = ("MAgP",)
    section = "13.2"
    formula = "AgP = (1/Nrel) sum over ranks j of rel(d_j) gP[j]"
    source = "INEX 2006 evaluation measures, section 6; Pehcevski, Thom and Kamps, eq 7"
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.3611)

    def of_run(self, run: Alignment, *, union: bool) -> Floats | None:
        if self.score == "T2I":
            return None
        gained, bounds = self.run_precision(run, union=union), run.document_bounds.tolist()
        relevant = run.documents(union=union).relevant
        # Topic by topic: another order of the sums would be other last digits.
        sums = [float(gained[a:b][relevant[a:b]].sum()) for a, b in pairwise(bounds)]
        return np.array(sums) / np.maximum(run.gold.nrel[run.judged_topic], 1)

    def score_topic(self, topic: TopicView) -> float:
        gained = self.generalised_precision(topic)[topic.relevant]
        return float(gained.sum()) / topic.relevant_documents


class WeightedAverageGeneralisedPrecision(InContext):
    """AgP with documents weighted by how much relevant text they hold.

    Form 8 weighs the gP at each relevant document; it can prefer a list with two documents
    swapped behind a non-relevant one. Form 11 multiplies the final weighted recall by the plain
    mean of those gP. ``interpolated`` is the mean of the best gP at 11 levels of weighted recall.
    """

    name = "AgPw"
    aliases = ("AgP'", "MAgP'")
    section = "13.2"
    formula = (
        "form=8: sum of (Trel(d_j)/Trel) gP[j]; form=11: gR'[end] * mean of gP[j] over retrieved "
        "relevant j; interpolated: mean over x = 0, .1, ..., 1 of max gP[r] with gR'[r] >= x"
    )
    source = "Pehcevski, Thom and Kamps, eqs 8 and 11"
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.3679)

    form = Choice("8", "11", "interpolated", description="which equation", first=True)

    def score_topic(self, topic: TopicView) -> float:
        gp = self.generalised_precision(topic)
        at = np.flatnonzero(topic.documents.relevant)
        if not len(at):
            return 0.0
        weight = topic.documents.rel_size[at]
        if self.form == "8":
            return float((weight * gp[at]).sum()) / topic.trel
        if self.form == "11":
            return int(weight.sum()) / topic.trel * float(gp[at].mean())
        found, total = generalised_recall(topic, weighted=True)
        return float(best_from(gp)[ranks_reaching(found, total, 10)].mean())


class InterpolatedGeneralisedPrecision(InContext):
    """The best generalised precision at recall x or beyond; igP@curve gives the 11 points."""

    name = "igP"
    section = "13.2"
    cutoff = Cutoff.RECALL
    curve = tuple(f"{j / 10:.1f}" for j in range(11))
    formula = "igP[x] = max gP[r] over ranks with gR[r] >= x"
    source = "Pehcevski, Thom and Kamps, 11-point graph; inex_eval 3.1"
    example = Example("D3:0-40 D1:20-40 D1:60-100 D2:0-25", 0.4222, "igP@0.5")

    recall = Choice("gR", "gRw", description="recall in documents, or in relevant characters")

    def score_topic(self, topic: TopicView) -> float:
        found, total = generalised_recall(topic, weighted=self.recall == "gRw")
        best = best_from(self.generalised_precision(topic))
        return float(best[rank_reaching(found, total, self.at)])


MEASURES = (
    GeneralisedPrecision,
    GeneralisedRecall,
    WeightedGeneralisedRecall,
    AverageGeneralisedPrecision,
    WeightedAverageGeneralisedPrecision,
    InterpolatedGeneralisedPrecision,
)
