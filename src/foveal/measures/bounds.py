"""Bounds of scores: the least and the greatest value that unjudged text may turn them into.

U are the documents that are not judged for their topic and that any of the runs returns, within
the cut-off or budget of a measure, or their text. A completion of the judgements declares any part
of U relevant, with a grade of at most the highest one judged. The bounds of a score are its least
and greatest value over all completions. They are *exact* where some completion reaches them, and
*proven* where no completion passes them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl

from foveal.lookup import gather, number_rows
from foveal.measures.alignment import Alignment, Floats, Overlap, TopicView
from foveal.measures.characters import PrecisionRecall, readings
from foveal.measures.chunk_retrieval import unite_spans
from foveal.measures.measure import Measure
from foveal.measures.ranking import (
    NormalizedDCG,
    RankedMeasure,
    Ranking,
    rank_documents,
    rank_passages,
    sort_grades,
)
from foveal.measures.run_figures import count_relevant
from foveal.spans import Ints

Marked = tuple[Ints, Ints, Ints]  # numbers of unjudged documents, and spans in them
Least = Callable[[int, int], Floats]


class ScoreBounds(NamedTuple):
    """Bounds of the scores (run, topic) by one measure, on all judged topics."""

    low: Floats
    high: Floats
    is_exact: bool
    least: Least | None = None
    """Function of the numbers of two runs: the least difference of their scores on each topic over
    all completions that they share. None: the low bound of the one less the high one of the other.
    """

    def find_least(self, run: int, other: int) -> Floats:
        """Return the least difference of two runs on each topic, the first minus the second."""
        if self.least is not None:
            return self.least(run, other)
        return cast("Floats", self.low[run] - self.high[other])


class Unjudged:
    """The unjudged documents that several runs return, and their text, numbered over all runs.

    Parameters
    ----------
    alignments : sequence of Alignment
        Of all runs with the same judgements, under one treatment of overlap.
    """

    def __init__(self, alignments: Sequence[Alignment]) -> None:
        # Scores are defined also where nothing is relevant; the caller leaves such topics out.
        gold = copy.copy(alignments[0].gold)
        gold.nrel = np.maximum(gold.nrel, 1)
        self.gold, self.topics = gold, len(gold.topics)
        self.alignments = [copy.copy(own) for own in alignments]
        for own in self.alignments:
            own.gold = gold
        topics, names, places = [], [], []
        for own in self.alignments:
            documents = own.run.documents
            place = np.flatnonzero(~own.cached(rank_documents).judged)
            heads = documents.first_rows[place]
            topics.append(own.judged_topic[own.run.topic[heads]])
            names.append(gather(own.run.doc, heads))
            places.append(place)
        topic = np.concatenate(topics)
        first, number = number_rows(topic, pl.concat(names))
        self.topic = topic[first]
        self.numbers: list[Ints] = []
        """For each run the number of each of its documents, in their order; -1 if judged."""
        at = 0
        for own, place in zip(self.alignments, places, strict=True):
            numbers = np.full(len(own.document_row), -1, dtype=np.int64)
            numbers[place] = number[at : at + len(place)]
            self.numbers.append(numbers)
            at += len(place)
        self.repeats_text = any(
            own.overlap is not Overlap.UNION and len(own.conflicts[0]) for own in alignments
        )
        """True if text that is returned again counts again."""

    def list_documents(self, i: int, rank: int | None) -> tuple[Ints, Ints]:
        """Return the unjudged documents of a run to a rank: their numbers and ranks from 0."""
        found = self.alignments[i].cached(rank_documents)
        kept = np.flatnonzero(self.numbers[i] >= 0)
        kept = kept if rank is None else kept[found.rank[kept] < rank]
        return self.numbers[i][kept], found.rank[kept]

    def mark_documents(self, i: int, rank: int | None) -> Marked:
        """Return the unjudged documents of a run to a rank, each as a span of length 1."""
        number, _ = self.list_documents(i, rank)
        return number, np.zeros_like(number), np.ones_like(number)

    def mark_text(self, i: int, measure: Measure) -> Marked:
        """Return the unjudged text that a run returns within the rank or budget of a measure."""
        own = self.alignments[i]
        start, end, owner = own.pieces
        rank = None if measure.cutoff.of_recall else measure.rank
        budget = vars(measure).get("budget")
        if budget is not None:
            read = own.cached(readings, (int(budget),), vars(measure)["unit"], rank).read[:, 0]
            size, topic = end - start, own.run.topic[owner]
            before = np.cumsum(size) - size
            first = np.append(before, 0)[np.searchsorted(topic, np.arange(len(read)))]
            end = start + np.clip(read[topic] - (before - first[topic]), 0, size)
        kept = end > start
        if rank is not None:
            kept &= owner - own.run.bounds[own.run.topic[owner]] < rank
        number = self.numbers[i][own.run.documents.number[owner]]
        kept &= number >= 0
        return number[kept], start[kept], end[kept]

    def count(self, marked: Sequence[Marked]) -> Ints:
        """Count what some runs return together, on each topic."""
        return _count_spans(self.topic, self.topics, marked)

    def count_relevant(self) -> Ints:
        """Count the relevant documents of each topic."""
        judged = self.gold.judgements
        return np.bincount(judged.topic[judged.relevant], minlength=self.topics)


def _count_spans(topic: Ints, topics: int, marked: Sequence[Marked]) -> Ints:
    number, start, end = (np.concatenate(column) for column in zip(*marked, strict=True))
    number, start, end = unite_spans(number, start, end)
    return np.bincount(topic[number], end - start, topics).astype(np.int64)


def _divide(one: Any, other: Any) -> Floats:
    """Divide; nothing by nothing is 0."""
    out = np.zeros(np.broadcast_shapes(np.shape(one), np.shape(other)))
    return cast("Floats", np.divide(one, other, out=out, where=np.not_equal(other, 0)))


# -- sets of characters or documents: precision, recall and F ----------------------------------


class _Sets(NamedTuple):
    """Amounts of every run on every topic, and the unjudged part of what it read."""

    found: Floats  # (run, topic), as `read` and `own` are
    read: Floats
    sought: Ints  # (topic,), as `total` is
    own: Ints  # unjudged amount
    total: Ints  # unjudged amount of all runs together
    marked: Sequence[Marked]
    topic: Ints  # of every unjudged document

    def count_either(self, i: int, j: int) -> Ints:
        """Count the unjudged amount of two runs together."""
        return _count_spans(self.topic, len(self.sought), [self.marked[i], self.marked[j]])


def _make_sets(
    unjudged: Unjudged, found: list[Floats], read: list[Floats], sought: Ints, marked: list[Marked]
) -> _Sets:
    own = np.stack([unjudged.count([part]) for part in marked])
    total = unjudged.count(marked)
    return _Sets(np.stack(found), np.stack(read), sought, own, total, marked, unjudged.topic)


def _bound_text(measure: Measure, unjudged: Unjudged) -> ScoreBounds | None:
    if unjudged.repeats_text:
        return None
    settings, found, read = vars(measure), [], []
    for own in unjudged.alignments:
        counts = cast("PrecisionRecall", measure).count_totals(own)
        found.append(own.spread_topics(counts.found))
        read.append(own.spread_topics(counts.read))
    marked = [unjudged.mark_text(i, measure) for i in range(len(found))]
    sets = _make_sets(unjudged, found, read, unjudged.gold.trel, marked)
    return _bound_sets(sets, cast("PrecisionRecall", measure).figure, settings["beta"])


def _bound_documents(measure: Measure, unjudged: Unjudged) -> ScoreBounds:
    rank = measure.rank
    found = [own.spread_topics(count_relevant(own, rank)) for own in unjudged.alignments]
    marked = [unjudged.mark_documents(i, rank) for i in range(len(found))]
    read = [np.full(unjudged.topics, float(rank or 1))] * len(found)
    sets = _make_sets(unjudged, found, read, unjudged.count_relevant(), marked)
    return _bound_sets(sets, "precision" if measure.name == "P" else "recall")


def _bound_sets(sets: _Sets, figure: str, beta: float = 1.0) -> ScoreBounds:
    """Bound precision, recall or F: what a run read is relevant at best, and the rest at worst."""
    found, read, sought, own, total = sets[:5]
    if figure == "precision":
        low, high = _divide(found, read), _divide(found + own, read)
        return ScoreBounds(low, high, is_exact=True, least=partial(_least_precision, sets))
    if figure == "recall":
        low, high = _divide(found, sought + total - own), _divide(found + own, sought + own)
        return ScoreBounds(low, high, is_exact=True, least=partial(_least_recall, sets))
    weight = beta**2
    low = _divide((1 + weight) * found, weight * (sought + total - own) + read)
    high = _divide((1 + weight) * (found + own), weight * (sought + own) + read)
    return ScoreBounds(low, high, is_exact=True)


def _least_precision(sets: _Sets, i: int, j: int) -> Floats:
    """Relevant is what only the other run read, and what weighs more in its precision."""
    either = sets.count_either(i, j)
    only, shared = either - sets.own[i], sets.own[i] + sets.own[j] - either
    one, other = (_divide(1.0, sets.read[k]) for k in (i, j))
    least = sets.found[i] * one - sets.found[j] * other
    return cast("Floats", least - only * other + shared * np.minimum(one - other, 0))


def _least_recall(sets: _Sets, i: int, j: int) -> Floats:
    """Relevant is what only the other run read, and if it leads all that both or neither read."""
    either = sets.count_either(i, j)
    only = either - sets.own[i]
    lead, sought = sets.found[i] - sets.found[j] - only, sets.sought + only
    rest = sets.own[i] + sets.own[j] - either + sets.total - either
    return _divide(lead, np.where(lead > 0, sought + rest, sought))


# -- rankings: RR, Success, RBP, ERR and nDCG --------------------------------------------------


def _bound_ranking(measure: Measure, unjudged: Unjudged) -> ScoreBounds | None:
    """Bound a score that is greatest where all unjudged entries of a ranking are relevant."""
    ranked = cast("RankedMeasure", measure)
    by_passage, is_first_hit = ranked.unit == "passage", ranked.name in ("RR", "Success")
    largest = float(ranked.list_sought(unjudged.gold).grade.max(initial=0.0))
    highest = max(1.0, largest)
    share = _divide_ideals(ranked, unjudged, highest) if isinstance(ranked, NormalizedDCG) else 1.0
    if ranked.judged_only or share is None:
        return None
    low, high = np.zeros((2, len(unjudged.alignments), unjudged.topics))
    for i, own in enumerate(unjudged.alignments):
        if by_passage:  # a result may be relevant if it has text of its own
            found = own.cached(rank_passages, ranked.share)
            is_open = ~found.judged & ((own.new_size > 0) | ~own.placed)
        else:
            found = own.cached(rank_documents)
            is_open = ~found.judged
        best = found._replace(grade=np.where(is_open, highest, found.grade))
        low[i] = ranked.score_ranking(found.keep_first(ranked.rank), own) * share
        high[i] = np.minimum(ranked.score_ranking(best.keep_first(ranked.rank), own), 1.0)
    # Neighbouring passages would be one, and nDCG has another ideal list in every completion.
    is_exact = is_first_hit or not (by_passage or isinstance(ranked, NormalizedDCG))
    least = None
    if is_first_hit and not by_passage:
        gains = []
        for i in range(len(low)):
            number, rank = unjudged.list_documents(i, ranked.rank)
            gains.append((number, 1 / (rank + 1) if ranked.name == "RR" else np.ones(len(rank))))
        least = partial(_least_first_hit, low, gains, unjudged.topic)
    return ScoreBounds(low, high, is_exact=is_exact, least=least)


def _divide_ideals(measure: NormalizedDCG, unjudged: Unjudged, highest: float) -> Floats | None:
    """Return the gain of the ideal list by that of the best one of all completions."""
    sought, topics = measure.list_sought(unjudged.gold), np.arange(unjudged.topics)
    number = np.arange(len(unjudged.topic))
    if measure.unit == "document":
        runs = range(len(unjudged.alignments))
        number = np.concatenate([unjudged.list_documents(i, measure.rank)[0] for i in runs])
    elif measure.rank is None:  # any number of passages
        return None
    added = np.bincount(unjudged.topic[np.unique(number)], minlength=len(topics))
    if measure.unit == "passage":
        added = np.where(added > 0, measure.rank or 0, 0)
    topic = np.concatenate([np.repeat(topics, np.diff(sought.bounds)), np.repeat(topics, added)])
    grade = np.concatenate([sought.grade, np.full(int(added.sum()), highest)])
    gains = []
    for bounds, grades in (sought, sort_grades(topic, grade, len(topics))):
        ideal = Ranking(bounds, grades, np.ones(len(grades), dtype=bool))
        gains.append(measure.sum_gains(ideal.keep_first(measure.rank)))
    return _divide(*gains)


def _least_first_hit(
    scores: Floats, gains: Sequence[tuple[Ints, Floats]], topic: Ints, i: int, j: int
) -> Floats:
    """One relevant document of the other run is enough: the one with which it leads most.

    `gains` are the numbers of unjudged documents of every run, and the score each of them gives.
    """
    (number, gain), (other, theirs) = gains[i], gains[j]
    own = np.zeros(len(topic))
    own[number] = gain
    least, at = scores[i] - scores[j], topic[other]
    lead = np.maximum(scores[i][at], own[other]) - np.maximum(scores[j][at], theirs)
    np.minimum.at(least, at, lead)
    return cast("Floats", least)


# -- average precision of documents ------------------------------------------------------------


def _bound_average_precision(measure: Measure, unjudged: Unjudged) -> ScoreBounds:
    """Try every number of relevant documents: at the top of the unjudged ones, or at their end.

    The sum of the precisions is one of 1 / rank over all pairs of relevant documents, by the deeper
    of the two: of so many documents it is greatest for the topmost and least for the deepest.
    """
    del measure
    runs, topics = len(unjudged.alignments), unjudged.topics
    total = unjudged.count([unjudged.mark_documents(i, None) for i in range(runs)])
    sought, (low, high) = unjudged.count_relevant(), np.zeros((2, runs, topics))
    for i, own in enumerate(unjudged.alignments):
        for t, ends in zip(own.judged_topic.tolist(), pairwise(own.document_bounds), strict=True):
            relevant = np.flatnonzero(own.relevant_documents[slice(*ends)]) + 1
            unknown = np.flatnonzero(unjudged.numbers[i][slice(*ends)] >= 0) + 1
            start = float((np.arange(1, len(relevant) + 1) / relevant).sum())
            # What a document adds with the relevant ones, itself among them, and with those of
            # `unknown` above it, or below.
            above = np.searchsorted(relevant, unknown)
            below = np.append(np.cumsum((1 / relevant)[::-1])[::-1], 0.0)[above]
            each = (1 + above) / unknown + below
            deeper = np.cumsum(1 / unknown[::-1]) - 1 / unknown[::-1]
            number = np.arange(len(unknown) + 1)
            top = start + np.append(0.0, np.cumsum(each + number[:-1] / unknown))
            deep = start + np.append(0.0, np.cumsum(each[::-1] + deeper))
            rest = int(total[t]) - len(unknown)
            high[i, t] = _divide(top, sought[t] + number).max()
            low[i, t] = _divide(deep, sought[t] + number + rest).min()
    return ScoreBounds(low, high, is_exact=True)


# -- interpolated precision --------------------------------------------------------------------


def _bound_interpolated(measure: Measure, unjudged: Unjudged) -> ScoreBounds | None:
    """Bound the best precision at each level of recall, and its mean.

    A rank surely reaches a level if it does with all unjudged text after it and in other runs
    relevant; it may reach it with all that it has read relevant.
    """
    if unjudged.repeats_text or vars(measure).get("budget") is not None:
        return None
    if measure.name == "iP":
        numerator, denominator = cast("Any", measure.at).as_integer_ratio()
        levels = np.array([numerator])
    else:
        denominator = vars(measure)["points"] - 1
        levels = np.arange(denominator + 1)
    marked = [unjudged.mark_text(i, measure) for i in range(len(unjudged.alignments))]
    total = unjudged.count(marked)
    low, high = np.zeros((2, len(marked), unjudged.topics))
    for i, own in enumerate(unjudged.alignments):
        is_open = unjudged.numbers[i][own.run.documents.number] >= 0
        sizes = np.where(is_open, own.size, 0)
        for name in own.run.topics:
            topic: TopicView = own.topic(name)
            found, read = topic.found, np.maximum(topic.read, 1)
            may = np.cumsum(sizes[topic.slice])
            rest = int(total[topic.at]) - may
            for scores, got, all_ in (
                (low, found, topic.trel + rest),
                (high, found + may, topic.trel + may),
            ):
                reached = got * denominator >= levels[:, None] * all_
                best = np.where(reached, got / read, 0.0).max(axis=1, initial=0.0)
                scores[i, topic.at] = best.mean()
    return ScoreBounds(low, high, is_exact=False)


def _bound_constant(measure: Measure, unjudged: Unjudged) -> ScoreBounds:
    """Return the scores of a measure that does not depend on relevance."""
    scores = np.stack([measure.score_topics(own) for own in unjudged.alignments])
    return ScoreBounds(scores, scores, is_exact=True)


# -- all measures ------------------------------------------------------------------------------

BOUNDED: dict[str, Callable[[Measure, Unjudged], ScoreBounds | None]] = {
    **dict.fromkeys(("charP", "charR", "charF"), _bound_text),
    **dict.fromkeys(("P", "R"), _bound_documents),
    **dict.fromkeys(("RR", "Success", "RBP", "ERR", "nDCG"), _bound_ranking),
    **dict.fromkeys(("iP", "AiP"), _bound_interpolated),
    **dict.fromkeys(("SetOverlap", "ListOverlap", "MeanOverlap"), _bound_constant),
    **dict.fromkeys(("Redundancy", "num_ret", "ret_size"), _bound_constant),
    "AP": _bound_average_precision,
}
"""Measures with bounds, and the function that computes them."""


def bound_scores(measure: Measure, unjudged: Unjudged) -> ScoreBounds | None:
    """Return the bounds of the scores of all runs; None if none are known for the measure."""
    function = BOUNDED.get(measure.name)
    return None if function is None else function(measure, unjudged)
