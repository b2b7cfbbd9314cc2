"""Figures of a run: its ranking of documents, its repetitions, and how much it returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from foveal.measures.alignment import Alignment, Bools, Floats, Gold, TopicView
from foveal.measures.characters import sum_first
from foveal.measures.measure import Cutoff, Example, Measure, Need
from foveal.spans import Ints

_RANKED = "D3:0-40 D1:20-40 D2:0-25"
_REPEATS = "D1:20-40 D1:0-60 D1:60-80 D2:0-50 D1:0-20"
_RUN = "D1:20-40 D2:0-50 D3:0-40 D1:60-100"


# -- P, R and AP on documents, each document at its first result -------------------------------


def count_relevant(alignment: Alignment, rank: int | None = None) -> Ints:
    """Count the relevant documents among the first of each topic of the run."""
    return sum_first(alignment.relevant_documents, alignment.document_bounds, rank)


class _DocumentLevel(Measure):
    section = "17"
    source = "Pehcevski, Thom and Kamps, eqs 9-10; classic"

    needs = ()


class PrecisionAtRank(_DocumentLevel):
    """Share of relevant documents among the first k.

    Documents are ranked by their first result; a document is relevant if it holds any relevant
    text, unjudged ones are not. A list shorter than k is still divided by k. The score is 0 where
    no document is relevant. It counts documents. charP@k counts the text of the first k results.
    """

    name = "P"
    aliases = ("Precision",)
    cutoff = Cutoff.RANK
    always_defined = True
    formula = "P[k] = (relevant documents among the first k) / k"
    example = Example(_RANKED, 0.5, "P@2")
    ideal = None

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.spread_topics(count_relevant(alignment, self.rank)) / (self.rank or 1)


class RecallAtRank(_DocumentLevel):
    """Share of the relevant documents that are among the first k.

    It counts documents: one is found as soon as any part of it is returned. charR@k counts the
    relevant text in the first k results.
    """

    name = "R"
    aliases: ClassVar[tuple[str, ...]] = ("Recall",)
    cutoff = Cutoff.RANK
    formula = "R[k] = (relevant documents among the first k) / Nrel"
    example = Example(_RANKED, 0.5, "R@2")
    ideal = None

    def score_topics(self, alignment: Alignment) -> Floats:
        found = alignment.fill_topics(count_relevant(alignment, self.rank))
        return found / np.maximum(alignment.gold.nrel, 1)


class AveragePrecision(_DocumentLevel):
    """Mean over the relevant documents of the precision at their rank; 0 for those not found."""

    name = "AP"
    aliases: ClassVar[tuple[str, ...]] = ("MAP",)
    formula = "AP = (1/Nrel) sum over ranks r of rel(r) P[r]"
    example = Example(_RANKED, 0.5833)

    def score_topics(self, alignment: Alignment) -> Floats:
        relevant = np.flatnonzero(alignment.relevant_documents)
        bounds = alignment.document_bounds
        own = np.searchsorted(relevant, bounds)  # the relevant documents of each topic
        counts = np.diff(own)
        hits = np.arange(len(relevant)) - np.repeat(own[:-1], counts) + 1
        ranks = relevant - np.repeat(bounds[:-1], counts) + 1
        found = alignment.fill_topics(sum_first(hits / ranks, own))
        return found / np.maximum(alignment.gold.nrel, 1)


# -- topics that the run answers ----------------------------------------------------------------


class _Answering(Measure):
    section = "17"
    source = "Foveal; as unanswerable questions of SQuAD 2.0 (Rajpurkar et al., ACL 2018)"
    always_defined = True
    ideal = None

    needs = ()

    def score_topics(self, alignment: Alignment) -> Floats:
        """Return 1 where the run returns anything, else 0, or for `rejected` the reverse.

        An answer returns something if it has a sentence, though it may cite nothing.
        """
        answered = alignment.spread_topics(np.minimum(np.diff(alignment.run.bounds), 1))
        if alignment.run.answers is not None:
            counts = alignment.run.answers.count(alignment.gold.topics)
            answered = np.minimum(counts["sentences"].to_numpy(), 1)
        return 1 - answered if self.on_unanswerable else answered


class Rejected(_Answering):
    """1 if the run returns nothing for an unanswerable topic, else 0.

    Judgements declare the topics that no document answers. On all others it is undefined, so that
    the mean is the share of the unanswerable topics that the run rejects.
    """

    name = "rejected"
    formula = "rejected = 1 if the run returns nothing for an unanswerable topic, else 0"
    example = Example("", 1)
    on_unanswerable = True
    axioms: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("document", "touching", "missing"), "it is about topics with nothing to find"
    )

    def notes(self, gold: Gold) -> tuple[str, ...]:
        return () if gold.unanswerable.any() else ("no topic is declared unanswerable",)


class Accepted(_Answering):
    """1 if the run returns anything for an answerable topic, else 0.

    It is undefined on topics that the judgements declare unanswerable. A run that returns something
    for every topic accepts all of them, and rejects none.
    """

    name = "accepted"
    formula = "accepted = 1 if the run returns anything for an answerable topic, else 0"
    example = Example("D3:0-40", 1)
    axioms: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("document", "touching"), "it does not look at what is returned"
    )


# -- overlap indicators ------------------------------------------------------------------------


class _OverlapIndicator(Measure):
    section = "18"
    source = "Lalmas and Tombros, overview of INEX 2002-2006"
    cutoff = Cutoff.RANK_OPTIONAL
    always_defined = True
    ideal = None
    higher_is_better = False

    needs = (Need.SPANS,)

    def score_topic(self, topic: TopicView) -> float:
        if not topic.n:
            return 0.0
        low, n = topic.slice.start, min(topic.n, self.rank or topic.n)
        return float(self.mark_results(topic.alignment, slice(low, low + n)).mean())

    def mark_results(self, alignment: Alignment, top: slice) -> Bools | Floats:
        """Return how far each of the first results of a topic overlaps others."""
        raise NotImplementedError  # pragma: no cover - every indicator defines it or score_topics


class SetOverlap(_OverlapIndicator):
    """Share of results that intersect another result of the run, whatever the order.

    A repeat of the very same result is not another one. A zero-length result intersects one
    whose extent holds its position.
    """

    name = "SetOverlap"
    formula = "(results that intersect another result) / results"
    example = Example(_REPEATS, 0.6)

    def mark_results(self, alignment: Alignment, top: slice) -> Bools:
        place = [position[top] for position in alignment.axis]
        if alignment.run.xpath is not None:
            place.append(alignment.run.xpath[top].rank("dense").fill_null(0).to_numpy())
        distinct, which = np.unique(np.stack(place), axis=1, return_inverse=True)
        start, end = distinct[0], distinct[1]
        meets = np.zeros(len(start), dtype=bool)
        real = np.flatnonzero(end > start)  # sorted by start: np.unique sorts by rows in order
        if len(real) > 1:
            reach = np.maximum.accumulate(end[real])
            meets[real[1:]] |= start[real[1:]] < reach[:-1]
            meets[real[:-1]] |= start[real[1:]] < end[real[:-1]]
        for i in np.flatnonzero(end == start).tolist():
            holds = (start <= start[i]) & (start[i] < end)
            meets |= holds
            meets[i] |= holds.any()
        return meets[which.ravel()]


class ListOverlap(_OverlapIndicator):
    """Share of results that overlap or repeat an earlier result."""

    name = "ListOverlap"
    formula = "(results that overlap an earlier result) / results"
    example = Example(_REPEATS, 0.4)

    def mark_results(self, alignment: Alignment, top: slice) -> Bools:
        start, end = (position[top] for position in alignment.axis)
        meets = alignment.new_size[top] < alignment.full_size[top]
        for i in np.flatnonzero(end == start).tolist():
            same = (start[:i] == start[i]) & (end[:i] == end[i])
            meets[i] |= bool((same | ((start[:i] <= start[i]) & (start[i] < end[:i]))).any())
            meets[i + 1 :] |= (start[i + 1 :] <= start[i]) & (start[i] < end[i + 1 :])
        return meets


class MeanOverlap(_OverlapIndicator):
    """Mean share of a result that earlier results had covered."""

    name = "MeanOverlap"
    formula = "mean of overlap(i) = |e_i covered by earlier results| / |e_i|"
    example = Example(_REPEATS, 0.2667)

    def mark_results(self, alignment: Alignment, top: slice) -> Floats:
        start, end = (position[top] for position in alignment.axis)
        size, new = alignment.full_size[top], alignment.new_size[top]
        share = (size - new) / np.maximum(size, 1)
        for i in np.flatnonzero(end == start).tolist():
            if ((start[:i] <= start[i]) & (start[i] < end[:i])).any():
                share[i] = 1.0  # it holds nothing, at a position that an earlier result covers
        return share


class Redundancy(_OverlapIndicator):
    """Share of the returned text that had been returned before."""

    name = "Redundancy"
    formula = "1 - |union of results| / sum size(i)"
    example = Example(_REPEATS, 0.2353)

    def score_topics(self, alignment: Alignment) -> Floats:
        bounds = alignment.run.bounds
        size = sum_first(alignment.full_size, bounds, self.rank)
        new = sum_first(alignment.new_size, bounds, self.rank)
        return alignment.spread_topics(np.where(size > 0, 1 - new / np.maximum(size, 1), 0.0))


# -- counts ------------------------------------------------------------------------------------


class JudgedShare(Measure):
    """Share of the first k results that are from judged documents.

    A low share says that the other scores of the run are guesses: unjudged text counts as not
    relevant.
    """

    name = "judged"
    section = "29"
    cutoff = Cutoff.RANK
    formula = "judged[k] = (results of judged documents among the first k) / min(k, results)"
    source = "practice; ir_measures has the same for documents"
    example = Example("D1:20-40 D9:0-10", 0.5, "judged@2")
    always_defined = True

    needs = ()

    def score_topics(self, alignment: Alignment) -> Floats:
        bounds = alignment.run.bounds
        results = np.minimum(np.diff(bounds), self.rank or 1)
        return alignment.spread_topics(sum_first(alignment.row >= 0, bounds, self.rank) / results)


class _Count(Measure):
    """A count, defined on every topic and summed over topics."""

    section = "29"
    source = "trec_eval and inex_eval 3.1"
    summed = True
    always_defined = True
    range = (0.0, None)
    ideal = None
    higher_is_better = None
    needs: tuple[Need, ...] = ()


class DocumentsReturned(_Count):
    """Distinct documents returned."""

    name = "num_ret"
    formula = "number of documents with a result"
    example = Example(_RUN, 3)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.spread_topics(np.diff(alignment.document_bounds))


class DocumentsRelevant(_Count):
    """Relevant documents of the topic."""

    name = "num_rel"
    formula = "number of documents with relevant text"
    example = Example(_RUN, 2)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.gold.nrel.astype(np.float64)


class DocumentsRelevantReturned(_Count):
    """Relevant documents returned, whether or not their results hit the relevant text."""

    name = "num_rel_ret"
    formula = "number of documents with a result and with relevant text"
    example = Example(_RUN, 2)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.spread_topics(count_relevant(alignment))


class CharactersReturned(_Count):
    """Characters returned."""

    name = "ret_size"
    formula = "sum size(i)"
    example = Example(_RUN, 150)
    needs = (Need.SPANS,)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.spread_topics(sum_first(alignment.size, alignment.run.bounds))


class CharactersRelevant(_Count):
    """Relevant characters of the topic."""

    name = "rel_size"
    formula = "Trel"
    example = Example(_RUN, 90)
    needs = (Need.TEXT,)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.gold.trel.astype(np.float64)


class CharactersRelevantReturned(_Count):
    """Relevant characters returned."""

    name = "rel_ret_size"
    formula = "sum rsize(i)"
    example = Example(_RUN, 80)
    needs = (Need.TEXT, Need.SPANS)

    def score_topics(self, alignment: Alignment) -> Floats:
        return alignment.spread_topics(sum_first(alignment.rsize, alignment.run.bounds))
