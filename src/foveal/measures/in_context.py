"""gP, gR, AgP, igP, BEPD: measures of the in-context tasks, on documents by their first result.

The score S(d) of a document is one of three. ``F``: precision and recall of the returned parts
within the document. ``BEP``: distance of the returned entry point from the best one. ``T2I``: what
a reader with limited patience finds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from foveal.measures.alignment import Alignment, Floats, Overlap, TopicView
from foveal.measures.characters import count_needed, sum_first
from foveal.measures.measure import Choice, Cutoff, Example, Measure, Need, Number, OverlapRule
from foveal.measures.run_figures import RecallAtRank
from foveal.spans import Ints

Span = tuple[int, int]
_RUN = "D3:0-40 D1:20-40 D1:60-100 D2:0-25"


class InContext(Measure):
    """A measure over documents ranked by their first result, each with a score in [0, 1]."""

    grouped = True

    score = Choice("F|BEP|T2I", "how a document is scored")
    beta = Number(1.0, "score=F: weight of recall")
    n = Number(500, "score=BEP: distance in characters at which the score is 0", low=1)
    irr = Number(
        300, "score=T2I: irrelevant characters after which the reader stops", low=1, whole=True
    )
    stop = Choice(
        "total|consecutive", "score=T2I: the irrelevant characters count in all, or only in a row"
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

    @property
    def _scoring(self) -> tuple[str, float, float, int, str]:
        return self.score, self.beta, self.n, self.irr, self.stop

    def generalised_precision(self, alignment: Alignment) -> Floats:
        """Return gP[r] at every rank of every topic of the run."""
        return alignment.cached(_average_scores, *self._scoring)


def _score_documents(
    alignment: Alignment, score: str, beta: float, n: float, irr: int, stop: str
) -> Floats:
    """Return S(d) of the documents of all topics, in rank order; 0 where not relevant."""
    scores = np.zeros(len(alignment.run.documents.first_rows))
    if score == "F":
        docs = alignment.documents
        hit = docs.rsize > 0
        p = docs.rsize[hit] / docs.size[hit]
        r = docs.rsize[hit] / docs.rel_size[hit]
        weight = beta**2
        scores[hit] = (1 + weight) * p * r / (weight * p + r)
        return scores
    if score == "BEP":
        known, distance = _find_distances(alignment)
        scores[known] = np.maximum(n - distance, 0) / n
        return scores
    start, end, owner = alignment.run.start, alignment.end, np.arange(len(alignment.run))
    if alignment.overlap is Overlap.UNION:
        start, end, owner = alignment.pieces
    document = alignment.run.documents.number[owner]
    order = np.lexsort((end, start, document))
    relevant = np.flatnonzero(alignment.relevant_documents)
    first = np.searchsorted(document[order], relevant).tolist()
    last = np.searchsorted(document[order], relevant, side="right").tolist()
    parts = list(zip(start[order].tolist(), end[order].tolist(), strict=True))
    for d, low, high in zip(relevant.tolist(), first, last, strict=True):
        row = int(alignment.document_row[d])
        passages, length = alignment.gold.judgements.passages(row), int(alignment.gold.length[row])
        consecutive = stop == "consecutive"
        scores[d] = reading_score(parts[low:high], passages, length, irr, consecutive=consecutive)
    return scores


def _find_distances(alignment: Alignment) -> tuple[Ints, Ints]:
    """Return the documents with a best entry point, and the distance of their first results."""
    head, row = alignment.run.documents.first_rows, alignment.document_row
    bep = alignment.gold.judgements.bep
    known = np.flatnonzero(alignment.relevant_documents)
    known = known[bep[row[known]] >= 0]
    return known, np.abs(alignment.run.start[head[known]] - bep[row[known]])


def _average_scores(alignment: Alignment, *scoring: Hashable) -> Floats:
    """Return the mean score of the first documents of a topic, at every rank."""
    scores, bounds = alignment.cached(_score_documents, *scoring), alignment.document_bounds
    total = np.empty(len(scores))
    # Not as differences of one sum over all topics: those are not exact.
    for low, high in pairwise(bounds.tolist()):
        np.cumsum(scores[low:high], out=total[low:high])
    before = np.repeat(bounds[:-1], np.diff(bounds))
    return total / (np.arange(1, len(scores) + 1) - before)


def reading_score(
    parts: Sequence[Span],
    passages: Sequence[Span],
    length: int,
    patience: int,
    *,
    consecutive: bool = False,
) -> float:
    """Return the share of relevant text in what a reader of limited patience reads.

    The reader takes the returned parts in offset order, then the rest of the document from its
    beginning, and stops after `patience` irrelevant characters, in all or `consecutive` ones.

    >>> round(reading_score([(20, 40), (60, 100)], [(10, 40), (70, 80)], 100, 15), 4)
    0.6667
    """
    text = [part for part in parts if part[0] < part[1]]
    reached = 0
    for start, end in [*parts, (length, length)]:  # the gaps that the parts leave
        if min(start, length) > reached:
            text.append((reached, min(start, length)))
        reached = max(reached, end)
    relevant = irrelevant = streak = 0
    for start, end in text:
        for size, useful in _cut_stretches(start, end, passages):
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


def _cut_stretches(start: int, end: int, passages: Sequence[Span]) -> Iterator[tuple[int, bool]]:
    """Cut [start, end) at the borders of the passages: (size, relevant) in order."""
    for a, b in passages:
        if a < end and b > start:
            if a > start:
                yield a - start, False
            yield min(b, end) - max(a, start), True
            start = min(b, end)
    if start < end:
        yield end - start, False


def _find_best_after(values: Floats) -> Floats:
    """Return the largest value at each rank or later, and a final 0 for levels never reached."""
    return np.append(np.maximum.accumulate(values[::-1])[::-1], 0.0)


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
    example = Example(_RUN, 0.3, "gP@2")
    ideal = None

    short = Choice("pad|last", "beyond a short list: divide by k, or keep the last value")

    def score_topics(self, alignment: Alignment) -> Floats:
        k, bounds = self.rank or 1, alignment.document_bounds
        total = sum_first(alignment.cached(_score_documents, *self._scoring), bounds, k)
        ranks = np.minimum(np.diff(bounds), k) if self.short == "last" else k
        return alignment.fill_topics(total / ranks)


class GeneralisedRecall(RecallAtRank):
    """Share of the relevant documents among the first k."""

    name = "gR"
    aliases = ()
    section = "13.2"
    grouped = True
    formula = "gR[k] = (1/Nrel) sum of rel(d_j), j <= k"
    source = "Pehcevski, Thom and Kamps, eqs 5-6"
    example = Example(_RUN, 0.5, "gR@2")


class WeightedGeneralisedRecall(Measure):
    """Share of the relevant text that the first k documents hold, returned or not."""

    name = "gRw"
    aliases = ("gR'",)
    section = "13.2"
    cutoff = Cutoff.RANK
    grouped = True
    formula = "gR'[k] = (1/Trel) sum of Trel(d_j), j <= k"
    source = "Pehcevski, Thom and Kamps, eqs 5-6"
    example = Example(_RUN, 0.4444, "gRw@2")
    ideal = None

    needs = (Need.TEXT,)

    def score_topics(self, alignment: Alignment) -> Floats:
        found = sum_first(alignment.documents.rel_size, alignment.document_bounds, self.rank)
        return alignment.fill_topics(found) / np.maximum(alignment.gold.trel, 1)


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
    example = Example(_RUN, 0.3611)

    def score_topics(self, alignment: Alignment) -> Floats:
        relevant = np.flatnonzero(alignment.relevant_documents)
        own = np.searchsorted(relevant, alignment.document_bounds)
        gained = sum_first(self.generalised_precision(alignment)[relevant], own)
        return alignment.fill_topics(gained) / np.maximum(alignment.gold.nrel, 1)


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
    example = Example(_RUN, 0.3679)

    form = Choice("8|11|interpolated", "which equation", first=True)

    def score_topic(self, topic: TopicView) -> float:
        gp = self.generalised_precision(topic.alignment)[topic.own_documents]
        at = np.flatnonzero(topic.documents.relevant)
        if not len(at):
            return 0.0
        weight = topic.documents.rel_size[at]
        if self.form == "8":
            return float((weight * gp[at]).sum()) / topic.trel
        if self.form == "11":
            return int(weight.sum()) / topic.trel * float(gp[at].mean())
        levels = -(-np.arange(11) * topic.trel // 10)
        at = np.searchsorted(np.cumsum(topic.documents.rel_size), levels)
        return float(_find_best_after(gp)[at].mean())


class InterpolatedGeneralisedPrecision(InContext):
    """The best generalised precision at recall x or beyond; igP@curve gives the 11 points."""

    name = "igP"
    section = "13.2"
    cutoff = Cutoff.RECALL
    curve = tuple(f"{j / 10:.1f}" for j in range(11))
    formula = "igP[x] = max gP[r] over ranks with gR[r] >= x"
    source = "Pehcevski, Thom and Kamps, 11-point graph; inex_eval 3.1"
    example = Example(_RUN, 0.4222, "igP@0.5")

    recall = Choice("gR|gRw", "recall in documents, or in relevant characters")

    def score_topic(self, topic: TopicView) -> float:
        # A relevant document counts as found even if the returned parts miss its relevant text.
        if self.recall == "gRw":
            found, total = np.cumsum(topic.documents.rel_size), topic.trel
        else:
            found, total = np.cumsum(topic.documents.relevant), topic.relevant_documents
        best = _find_best_after(self.generalised_precision(topic.alignment)[topic.own_documents])
        return float(best[np.searchsorted(found, count_needed(total, self.at))])


class BestEntryPointDistance(Measure):
    """Mean proximity of the returned entry points to the best entry points.

    Set-based: order does not matter and documents without a best entry point cost nothing. The
    larger A, the less distance matters.
    """

    name = "BEPD"
    section = "14.1"
    overlap_rule = OverlapRule.ONE_PER_DOCUMENT
    formula = "BEPD = (1/#BEPs) sum of A L / (A L + |start(x) - BEP|)"
    source = "INEX 2006 evaluation measures, section 7"
    example = Example("D1:20-40 D3:0-40 D2:25-50", 0.7903)
    ideal = None

    A = Number(1.0, "tolerance of distance, in mean document lengths", low=1e-9)
    L = Number[float | None](
        None, "mean document length; auto: of the collection, else as judged", low=1e-9, word="auto"
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.RELEVANT_STARTS, Need.BEP, *([Need.MEAN_LENGTH] if self.L is None else []))

    def score_topics(self, alignment: Alignment) -> Floats:
        gold, (known, distance) = alignment.gold, _find_distances(alignment)
        scale = self.A * (gold.mean_length if self.L is None else self.L)
        own = np.searchsorted(known, alignment.document_bounds)
        near = alignment.spread_topics(sum_first(scale / (scale + distance), own))
        return np.where(gold.beps > 0, near / np.maximum(gold.beps, 1), np.nan)
