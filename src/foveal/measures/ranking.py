"""Classic measures of ranked lists: nDCG, RR, Success, Rprec, Bpref, infAP, RBP and ERR.

A list ranks documents, each at its first result, or the results themselves, which then find gold
passages (``unit=passage``). Either way a list is a grade for every rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foveal import spans
from foveal.errors import UsageError
from foveal.measures.alignment import Alignment, Bools, Floats, Gold
from foveal.measures.characters import sum_first
from foveal.measures.chunk_retrieval import unite_spans
from foveal.measures.evidence_sets import find_covering
from foveal.measures.measure import Choice, Cutoff, Example, Flag, Measure, Need, Number
from foveal.spans import Ints

_RUN = "D3:0-40 D1:20-40 D2:0-25"
_PASSAGES = "D1:0-35 D1:20-50 D3:0-40 D2:0-50"
_TREC = "trec_eval; ir_measures has the same name"


class Ranking(NamedTuple):
    """The grade at every rank of every topic of a run."""

    bounds: Ints
    grade: Floats  # 0 where nothing relevant is found
    judged: Bools  # a grade below 0 marks documents of the pool that were not judged

    @property
    def rank(self) -> Ints:
        """Rank of each entry in its topic, from 0."""
        return np.arange(len(self.grade)) - np.repeat(self.bounds[:-1], np.diff(self.bounds))

    def keep(self, kept: Bools) -> Ranking:
        """Return the ranking of the entries that are kept."""
        bounds = np.concatenate([[0], np.cumsum(kept)])[self.bounds]
        return Ranking(bounds, self.grade[kept], self.judged[kept])

    def keep_first(self, rank: int | None) -> Ranking:
        """Return the ranking as far as a rank."""
        return self if rank is None else self.keep(self.rank < rank)


class Sought(NamedTuple):
    """The grades of all judged documents or gold passages, by topic and from the highest down."""

    bounds: Ints
    grade: Floats

    def count_grades(self, *, at_least: float) -> Ints:
        """Count those of at least this grade, on every judged topic."""
        counts: Ints = sum_first(self.grade >= at_least, self.bounds)
        return counts


# -- documents -----------------------------------------------------------------------------------


def grade_documents(gold: Gold) -> Floats:
    """Return the grade of each judged document: as given, else the highest grade of its spans."""
    judged = gold.judgements
    if judged.document_grade is not None:
        given = judged.document_grade
        return np.where(judged.relevant & (given <= 0), 1.0, given)
    grade = judged.relevant.astype(np.float64)
    if judged.evidence is not None:
        highest = np.zeros(len(grade))
        row, graded = (judged.evidence[name].to_numpy() for name in ("row", "grade"))
        np.maximum.at(highest, row, graded)
        grade = np.where(judged.relevant & (highest > 0), highest, grade)
    return grade


def rank_documents(alignment: Alignment) -> Ranking:
    """Rank documents by their first results."""
    row = alignment.document_row
    grade = np.append(alignment.gold.cached(grade_documents), 0.0)[row]
    return Ranking(alignment.document_bounds, grade, (row >= 0) & (grade >= 0))


def list_documents(gold: Gold) -> Sought:
    """Return the grades of the judged documents of each topic."""
    return sort_grades(gold.judgements.topic, gold.cached(grade_documents), len(gold.topics))


def sort_grades(topic: Ints, grade: Floats, topics: int) -> Sought:
    """Return grades by topic, from the highest down."""
    order = np.lexsort((-grade, topic))
    return Sought(np.searchsorted(topic[order], np.arange(topics + 1)), grade[order])


# -- passages ------------------------------------------------------------------------------------


class GoldPassages(NamedTuple):
    """Spans of one document and grade, merged where they overlap or touch, by row."""

    row: Ints
    start: Ints
    end: Ints
    grade: Floats


def merge_passages(gold: Gold) -> GoldPassages:
    """Return the gold passages of all topics."""
    judged = gold.judgements
    if judged.evidence is None:
        row, start, end = judged.row, judged.start, judged.end
        levels, level = np.ones(1), np.zeros(len(row), dtype=np.int64)
    else:
        row, start, end = (judged.evidence[c].to_numpy() for c in ("row", "start", "end"))
        levels, level = np.unique(judged.evidence["grade"].to_numpy(), return_inverse=True)
    own, start, end = unite_spans(row * len(levels) + level, start, end)
    return GoldPassages(own // len(levels), start, end, levels[own % len(levels)])


def rank_passages(alignment: Alignment, share: float) -> Ranking:
    """Rank results by the gold passages that they find.

    A passage is found by the result with which the results so far cover `share` of it. The grade of
    a result is the highest of the passages it finds.
    """
    gold, run = alignment.gold, alignment.run
    passages = gold.cached(merge_passages)
    pieces = alignment.pieces
    kept = np.flatnonzero(alignment.row[pieces.owner] >= 0)
    row, owner = alignment.row[pieces.owner[kept]], pieces.owner[kept]
    base, extent = gold.base[row], gold.extent[row]
    start = base + np.minimum(pieces.start[kept], extent)
    end = base + np.minimum(pieces.end[kept], extent)
    order = np.argsort(start)
    start, end, owner = start[order], end[order], owner[order]
    left, right = passages.start + gold.base[passages.row], passages.end + gold.base[passages.row]
    passage, piece = spans.pair_overlaps(left, right, start, end)
    size = np.minimum(right[passage], end[piece]) - np.maximum(left[passage], start[piece])
    found, owner = find_covering(right - left, share, passage, owner[piece], size)
    grade = np.zeros(len(run))
    np.maximum.at(grade, owner, passages.grade[found])
    return Ranking(run.bounds, grade, alignment.row >= 0)


def list_passages(gold: Gold) -> Sought:
    """Return the grades of the gold passages of each topic."""
    passages = gold.cached(merge_passages)
    return sort_grades(gold.judgements.topic[passages.row], passages.grade, len(gold.topics))


# -- measures ------------------------------------------------------------------------------------


class _Judged(Measure):
    """A measure of ranked documents that says itself what an unjudged document means."""

    section = "17"
    source = _TREC
    needs: tuple[Need, ...] = ()

    rel = Number(1.0, "lowest grade that counts as relevant", low=0.001)


class RankedMeasure(Measure):
    """A measure of ranked documents, or of results by the gold passages they find."""

    section = "17"
    source = _TREC

    judged_only = Flag(default=False, description="remove unjudged results first")
    unit = Choice("document|passage", "what is ranked and found")
    share = Number(0.5, "with unit=passage: share of a passage that finds it", low=0.001, high=1)

    @property
    def needs(self) -> tuple[Need, ...]:
        return () if self.unit == "document" else (Need.TEXT, Need.RELEVANT_SPANS)

    def rank_run(self, alignment: Alignment) -> Ranking:
        """Return the ranking as far as the cut-off."""
        return alignment.cached(_cut_ranking, self.unit, self.share, self.judged_only, self.rank)

    def list_sought(self, gold: Gold) -> Sought:
        return gold.cached(list_documents if self.unit == "document" else list_passages)

    def score_topics(self, alignment: Alignment) -> Floats:
        return self.score_ranking(self.rank_run(alignment), alignment)

    def score_ranking(self, found: Ranking, alignment: Alignment) -> Floats:
        """Return the score of a ranking of what the run returns on every judged topic."""
        raise NotImplementedError  # pragma: no cover - every measure of this kind defines it


def _cut_ranking(
    alignment: Alignment,
    unit: str,
    share: float,
    judged_only: bool,  # noqa: FBT001 - a key of the cache
    rank: int | None,
) -> Ranking:
    if unit == "document":
        found = alignment.cached(rank_documents)
    else:
        found = alignment.cached(rank_passages, share)
    if judged_only:
        found = found.keep(found.judged)
    return found.keep_first(rank)


class NormalizedDCG(RankedMeasure):
    """Discounted cumulative gain of the list by that of the ideal list.

    The gain of a document is its grade, and the ideal list has all judged documents by descending
    grade. With unit=passage the gain of a result is the highest grade of the gold passages it
    completes, and the ideal list has one passage at each rank: text that is returned again gains
    nothing, and no list beats the ideal.
    """

    name = "nDCG"
    aliases = ("ndcg",)
    cutoff = Cutoff.RANK_OPTIONAL
    formula = "nDCG[k] = DCG[k] / ideal DCG[k]; DCG[k] = sum_{i<=k} gain(i) / log2(i + 1)"
    source = f"Järvelin and Kekäläinen, TOIS 2002; {_TREC}"
    example = Example(_RUN, 0.6934)

    dcg = Choice("log2|exp-log2", "gain: the grade g, or 2^g - 1", first=True)

    def score_ranking(self, found: Ranking, alignment: Alignment) -> Floats:
        sought = self.list_sought(alignment.gold)
        ideal = Ranking(sought.bounds, sought.grade, np.ones(len(sought.grade), dtype=bool))
        dcg, best = self.sum_gains(found), self.sum_gains(ideal.keep_first(self.rank))
        return alignment.fill_topics(dcg / np.where(best > 0, best, 1.0)[alignment.judged_topic])

    def sum_gains(self, ranking: Ranking) -> Floats:
        """Return the discounted cumulative gain of each topic of a ranking."""
        gain = np.maximum(ranking.grade, 0.0)
        if self.dcg == "exp-log2":
            gain = np.exp2(gain) - 1
        return sum_first(gain / np.log2(ranking.rank + 2), ranking.bounds)


class _Binary(RankedMeasure):
    rel = Number(1.0, "lowest grade that counts as relevant", low=0.001)


class ReciprocalRank(_Binary):
    """One over the rank of the first relevant document or result; 0 if there is none."""

    name = "RR"
    aliases = ("MRR", "recip_rank")
    cutoff = Cutoff.RANK_OPTIONAL
    formula = "RR = 1 / (rank of the first relevant entry)"
    example = Example(_RUN, 0.5)

    def score_ranking(self, found: Ranking, alignment: Alignment) -> Floats:
        hits = np.flatnonzero(found.grade >= self.rel)
        first = np.searchsorted(hits, found.bounds[:-1])
        at = np.append(hits, len(found.grade))[first]
        rank = at - found.bounds[:-1] + 1
        return alignment.fill_topics(np.where(at < found.bounds[1:], 1 / rank, 0.0))


class Success(_Binary):
    """1 if there is a relevant document or result among the first k, else 0."""

    name = "Success"
    aliases = ("Hit", "hit_rate")
    cutoff = Cutoff.RANK
    formula = "Success[k] = 1 if any of the first k entries is relevant, else 0"
    example = Example(_RUN, 1, "Success@2")

    def score_ranking(self, found: Ranking, alignment: Alignment) -> Floats:
        hits = sum_first(found.grade >= self.rel, found.bounds)
        return alignment.fill_topics(np.minimum(hits, 1))


class PrecisionAtR(_Binary):
    """Precision at rank R, the number of relevant documents or gold passages."""

    name = "Rprec"
    formula = "Rprec = (relevant entries among the first R) / R"
    example = Example(_RUN, 0.5)

    def score_ranking(self, found: Ranking, alignment: Alignment) -> Floats:
        sought = self.list_sought(alignment.gold).count_grades(at_least=self.rel)
        own = sought[alignment.judged_topic]
        hits = (found.grade >= self.rel) & (found.rank < np.repeat(own, np.diff(found.bounds)))
        return alignment.fill_topics(sum_first(hits, found.bounds) / np.maximum(own, 1))


class RankBiasedPrecision(_Binary):
    """Expected share of relevant entries for a reader who goes on with probability p.

    It needs no ideal list. What the reader may still find, in unjudged entries and beyond the end
    of the list, is RBPres: the true score is between RBP and RBP + RBPres.
    """

    name = "RBP"
    cutoff = Cutoff.RANK_OPTIONAL
    formula = "RBP = (1 - p) sum_i p^(i-1) rel(i)"
    source = "Moffat and Zobel, TOIS 2008"
    example = Example(_RUN, 0.288)
    ideal = None

    p = Number(0.8, "probability of reading on", low=0.001, high=0.999999)

    def score_ranking(self, found: Ranking, alignment: Alignment) -> Floats:
        weight = np.where(found.grade >= self.rel, (1 - self.p) * self.p**found.rank, 0.0)
        return alignment.fill_topics(sum_first(weight, found.bounds))


class RankBiasedResidual(_Judged):
    """Most that RBP could gain if every unjudged document were relevant.

    That is the weight of all ranks after the last one and of unjudged documents.
    """

    name = "RBPres"
    cutoff = Cutoff.RANK_OPTIONAL
    formula = "RBPres = p^n + (1 - p) sum over unjudged i of p^(i-1); n: documents ranked"
    source = "Moffat and Zobel, TOIS 2008"
    example = Example("D3:0-40 D9:0-10 D2:0-25", 0.672)
    ideal = None
    higher_is_better = False

    p = Number(0.8, "probability of reading on", low=0.001, high=0.999999)

    def score_topics(self, alignment: Alignment) -> Floats:
        found = alignment.cached(rank_documents).keep_first(self.rank)
        weight = np.where(found.judged, 0.0, (1 - self.p) * self.p**found.rank)
        rest = sum_first(weight, found.bounds) + self.p ** np.diff(found.bounds)
        return alignment.fill_topics(rest - 1) + 1  # without results everything is left


class ExpectedReciprocalRank(RankedMeasure):
    """Expected reciprocal rank at which a reader is satisfied.

    A document of grade g satisfies with probability (2^g - 1) / 2^max_grade; readers stop at the
    first that does.
    """

    name = "ERR"
    cutoff = Cutoff.RANK
    formula = (
        "ERR[k] = sum_{i<=k} R(i)/i prod_{j<i} (1 - R(j)); R(i) = (2^grade(i) - 1) / 2^max_grade"
    )
    source = "Chapelle, Metzler, Zhang and Grinspan, CIKM 2009"
    example = Example(_RUN, 0.3333, "ERR@3")
    ideal = None

    max_grade = Number[float | None](
        None, "the highest grade there is; auto: the highest judged", word="auto"
    )

    def check_gold(self, gold: Gold) -> None:
        if self.max_grade is not None and self.max_grade < gold.highest_grade:
            raise UsageError(
                f"{self}: the judgements have a grade of {gold.highest_grade:g}; expected a "
                f"max_grade of {gold.highest_grade:g} or more"
            )

    def score_ranking(self, found: Ranking, alignment: Alignment) -> Floats:
        highest = alignment.gold.highest_grade if self.max_grade is None else self.max_grade
        satisfied = (np.exp2(np.maximum(found.grade, 0.0)) - 1) / 2**highest
        # The probability that nothing above satisfied: a row of ranks for each topic.
        counts, rank = np.diff(found.bounds), found.rank
        topic = np.repeat(np.arange(len(counts)), counts)
        going_on = np.ones((len(counts), int(counts.max(initial=0)) + 1))
        going_on[topic, rank + 1] = 1 - satisfied
        reached = np.cumprod(going_on, axis=1)[topic, rank]
        return alignment.fill_topics(sum_first(satisfied * reached / (rank + 1), found.bounds))


class BinaryPreference(_Judged):
    """Share of relevant documents that are ranked above judged documents that are not relevant.

    Unjudged documents are left out of account.
    """

    name = "Bpref"
    formula = (
        "Bpref = (1/R) sum over relevant documents found of 1 - min(n, R) / min(N, R); n: judged "
        "documents above it that are not relevant, of N in all"
    )
    source = f"Buckley and Voorhees, SIGIR 2004; {_TREC}"
    example = Example(_RUN, 0)

    def score_topics(self, alignment: Alignment) -> Floats:
        found, sought = alignment.cached(rank_documents), alignment.gold.cached(list_documents)
        relevant = sought.count_grades(at_least=self.rel)
        others = sought.count_grades(at_least=0.0) - relevant
        hits = np.flatnonzero(found.grade >= self.rel)
        against = found.judged & (found.grade < self.rel)
        above = _count_above(against, found.bounds)[hits]
        topic = np.repeat(alignment.judged_topic, np.diff(found.bounds))[hits]
        most = relevant[topic]
        worth = np.zeros(len(found.grade))
        worth[hits] = 1 - np.minimum(above, most) / np.maximum(np.minimum(others[topic], most), 1)
        own = np.maximum(relevant[alignment.judged_topic], 1)
        return alignment.fill_topics(sum_first(worth, found.bounds) / own)


class InferredAveragePrecision(_Judged):
    """Average precision estimated from judgements of a random sample of the pool.

    A grade of -1 marks a document of the pool that was not judged.
    """

    name = "infAP"
    formula = (
        "infAP = (1/R) sum over relevant documents at ranks i of "
        "1/i + (i-1)/i (in pool above / (i-1)) (relevant above + e) / (judged above + 2e); e = 1e-5"
    )
    source = f"Yilmaz and Aslam, CIKM 2006; {_TREC}"
    example = Example(_RUN, 0.5833)
    ideal = None

    def score_topics(self, alignment: Alignment) -> Floats:
        found, sought = alignment.cached(rank_documents), alignment.gold.cached(list_documents)
        relevant = found.grade >= self.rel
        hits = np.flatnonzero(relevant)
        pool, judged, better = (
            _count_above(mark, found.bounds)[hits]
            for mark in (alignment.document_row >= 0, found.judged, relevant)
        )
        place = found.rank[hits] + 1
        epsilon = 1e-5
        expected = pool / place * (better + epsilon) / (judged + 2 * epsilon)
        worth = np.zeros(len(found.grade))
        worth[hits] = 1 / place + np.where(place > 1, expected, 0.0)
        own = np.maximum(sought.count_grades(at_least=self.rel)[alignment.judged_topic], 1)
        return alignment.fill_topics(sum_first(worth, found.bounds) / own)


def _count_above(marked: Bools, bounds: Ints) -> Ints:
    """Count the marked entries above each one of its topic."""
    before: Ints = np.concatenate([[0], np.cumsum(marked)])
    return before[:-1] - np.repeat(before[bounds[:-1]], np.diff(bounds))
