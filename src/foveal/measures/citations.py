"""citeValid, citeP, citeR, citeF, cited, overcite, utilisation, completeness: citations of answers.

The results of a run of answers are its valid citations.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from foveal import spans
from foveal.lookup import number_rows
from foveal.measures.alignment import Alignment, Floats
from foveal.measures.characters import sum_first
from foveal.measures.measure import Example, Measure, Need
from foveal.model.answers import AnswerCounts
from foveal.spans import Ints

_ANSWER = "D1:20-40 - D2:0-50,D3:0-40 ?"


def count_answers(alignment: Alignment) -> AnswerCounts:
    """Count sentences and citations of the judged topics."""
    assert alignment.run.answers is not None  # Need.ANSWERS
    return alignment.run.answers.count(alignment.gold.topics)


def _sum_results(alignment: Alignment, values: Floats | Ints) -> Floats:
    """Sum values of results on the judged topics."""
    return alignment.spread_topics(sum_first(values, alignment.run.bounds))


def _divide(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """Divide; nan where there is nothing to divide by."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


class _CitationMeasure(Measure):
    section = "answers"
    source = "Foveal; citation precision and recall as in ALCE (Gao et al., EMNLP 2023), in text"
    ideal = None

    needs: ClassVar[tuple[Need, ...]] = (Need.ANSWERS, Need.TEXT, Need.SPANS)


class CitationValidity(_CitationMeasure):
    """Share of the citations that exist: their quote or range is in the cited document.

    It is undefined for an answer without citations. Ranges are checked against the texts of the
    documents, or the lengths that judgements or a collection give; quotes need the texts.
    """

    name = "citeValid"
    formula = "citeValid = valid citations / citations"
    example = Example(_ANSWER, 0.75)
    always_defined = True

    needs = (Need.ANSWERS,)

    def score_topics(self, alignment: Alignment) -> Floats:
        valid = alignment.spread_topics(np.diff(alignment.run.bounds))
        return _divide(valid, count_answers(alignment).citations)


class CitationPrecision(_CitationMeasure):
    """Share of the cited text that is relevant.

    Text that is cited twice counts once. It is 0 for an answer that cites nothing valid.
    """

    name = "citeP"
    formula = "citeP = |C and G| / |C|; C: text of valid citations, G: relevant text, in characters"
    example = Example(_ANSWER, 0.6364)

    def score_topics(self, alignment: Alignment) -> Floats:
        found = _sum_results(alignment, alignment.new_rsize)
        read = _sum_results(alignment, alignment.new_size)
        return np.where(alignment.gold.nrel == 0, np.nan, found / np.maximum(read, 1))


class CitationRecall(_CitationMeasure):
    """Share of the relevant text that is cited; 0 for an answer that cites nothing valid."""

    name = "citeR"
    formula = "citeR = |C and G| / |G|; C: text of valid citations, G: relevant text, in characters"
    example = Example(_ANSWER, 0.7778)

    def score_topics(self, alignment: Alignment) -> Floats:
        return _divide(_sum_results(alignment, alignment.new_rsize), alignment.gold.trel)


class CitationF(_CitationMeasure):
    """Harmonic mean of citeP and citeR."""

    name = "citeF"
    formula = "citeF = 2 citeP citeR / (citeP + citeR), 0 if both are 0"
    example = Example(_ANSWER, 0.7)

    def score_topics(self, alignment: Alignment) -> Floats:
        found = _sum_results(alignment, alignment.new_rsize)
        read = _sum_results(alignment, alignment.new_size)
        total = read + alignment.gold.trel
        return np.where(alignment.gold.nrel == 0, np.nan, 2 * found / np.maximum(total, 1))


class Cited(_CitationMeasure):
    """Share of the sentences that have a citation, valid or not; 0 without an answer."""

    name = "cited"
    formula = "cited = sentences with a citation / sentences"
    example = Example(_ANSWER, 0.75)
    always_defined = True

    needs = (Need.ANSWERS,)

    def score_topics(self, alignment: Alignment) -> Floats:
        counts = count_answers(alignment)
        return counts.cited / np.maximum(counts.sentences, 1)


class Overcitation(_CitationMeasure):
    """Share of the citations without relevant text, invalid ones among them.

    It is undefined for an answer without citations. Low is good.
    """

    name = "overcite"
    formula = "overcite = citations without relevant text / citations"
    example = Example(_ANSWER, 0.5)
    higher_is_better = False

    def score_topics(self, alignment: Alignment) -> Floats:
        citations = count_answers(alignment).citations
        useful = _sum_results(alignment, np.minimum(alignment.full_rsize, 1))
        share = _divide(citations - useful, citations)
        return np.where(alignment.gold.nrel == 0, np.nan, share)


class Shared(NamedTuple):
    """Characters of the retrieved text on the judged topics, and how many of them are cited."""

    retrieved: Floats
    cited: Ints
    relevant: Floats
    relevant_cited: Ints


def share_retrieved(alignment: Alignment) -> Shared:
    """Compare the cited text with the text that the answers were made from."""
    run, gold = alignment.run, alignment.gold
    assert run.retrieved is not None  # Need.RETRIEVED
    other = Alignment(run.retrieved, gold)
    one, two = alignment.pieces, other.pieces
    # Both on one axis, on which each is disjoint.
    topic = np.concatenate(
        [own.judged_topic[own.run.topic[own.pieces.owner]] for own in (alignment, other)]
    )
    doc = pl.concat([run.doc.gather(one.owner), other.run.doc.gather(two.owner)])
    start, end = (
        np.concatenate([getattr(own, at) for own in (one, two)]) for at in ("start", "end")
    )
    low, high = spans.side_by_side(start, end, number_rows(topic, doc).number)
    n = len(one.start)
    order = n + np.argsort(low[n:])
    cited, found = spans.pair_overlaps(low[:n], high[:n], low[order], high[order])
    found = order[found]
    shift = (start - low)[cited]
    left = np.maximum(low[cited], low[found]) + shift
    right = np.minimum(high[cited], high[found]) + shift
    relevant = alignment.count_highlighted(one.owner[cited], left, right)
    n_topics = len(gold.topics)
    return Shared(
        _sum_results(other, other.new_size),
        np.bincount(topic[cited], right - left, n_topics).astype(np.int64),
        _sum_results(other, other.new_rsize),
        np.bincount(topic[cited], relevant, n_topics).astype(np.int64),
    )


class Utilisation(_CitationMeasure):
    """Share of the retrieved text that the answer cites.

    It takes the run that the answers were made from (``--retrieved``), and is undefined where that
    returns nothing.
    """

    name = "utilisation"
    formula = (
        "utilisation = |C and R| / |R|; C: text of valid citations, R: text of the results the "
        "answer was made from, in characters"
    )
    example = Example(f"{_ANSWER} | D1:0-60 D2:0-50", 0.6364)
    always_defined = True

    needs = (Need.ANSWERS, Need.RETRIEVED, Need.SPANS)

    def score_topics(self, alignment: Alignment) -> Floats:
        shared = alignment.cached(share_retrieved)
        return _divide(shared.cited, shared.retrieved)


class Completeness(_CitationMeasure):
    """Share of the relevant text among the retrieved text that the answer cites.

    It takes the run that the answers were made from (``--retrieved``), and is undefined where that
    returns nothing relevant.
    """

    name = "completeness"
    formula = (
        "completeness = |C and G and R| / |G and R|; C: text of valid citations, G: relevant "
        "text, R: text of the results the answer was made from, in characters"
    )
    example = Example(f"{_ANSWER} | D1:0-60 D2:0-50", 0.875)

    needs = (Need.ANSWERS, Need.RETRIEVED, Need.TEXT, Need.SPANS)

    def score_topics(self, alignment: Alignment) -> Floats:
        shared = alignment.cached(share_retrieved)
        return _divide(shared.relevant_cited, shared.relevant)
