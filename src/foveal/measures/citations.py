"""citeValid, citeP, citeR, citeF, cited, overcite, utilisation, completeness: citations of answers.

The results of a run of answers are its valid citations.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from foveal import spans
from foveal.lookup import number_rows
from foveal.measures.alignment import Alignment, Bools, Floats
from foveal.measures.characters import PrecisionRecall, TopicCounts, sum_first
from foveal.measures.measure import Example, Measure, Need
from foveal.spans import Ints

_WHERE = "C: text of valid citations, G: relevant text, R: retrieved text, in characters"
_ANSWER = "D1:20-40 - D2:0-50,D3:0-40 D4:0-9"


def count_answers(alignment: Alignment, what: str) -> Floats:
    """Count the sentences, those cited or the citations of the judged topics."""
    assert alignment.run.answers is not None  # Need.ANSWERS
    return alignment.run.answers.count(alignment.gold.topics)[what].to_numpy()


def _sum_results(alignment: Alignment, values: Ints | Bools) -> Floats:
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
        return _divide(valid, count_answers(alignment, "citations"))


class _CitedText(PrecisionRecall, _CitationMeasure):
    def count_results(self, alignment: Alignment) -> TopicCounts:
        return TopicCounts(alignment.new_rsize, alignment.new_size, alignment.gold.trel)


class CitationPrecision(_CitedText):
    """Share of the cited text that is relevant.

    Text that is cited twice counts once. It is 0 for an answer that cites nothing valid.
    """

    name = "citeP"
    formula = f"citeP = |C and G| / |C|; {_WHERE}"
    example = Example(_ANSWER, 0.6364)
    figure = "precision"


class CitationRecall(_CitedText):
    """Share of the relevant text that is cited; 0 for an answer that cites nothing valid."""

    name = "citeR"
    formula = f"citeR = |C and G| / |G|; {_WHERE}"
    example = Example(_ANSWER, 0.7778)
    figure = "recall"


class CitationF(_CitedText):
    """Harmonic mean of citeP and citeR."""

    name = "citeF"
    formula = "citeF = 2 citeP citeR / (citeP + citeR), 0 if both are 0"
    example = Example(_ANSWER, 0.7)
    figure = "F"


class Cited(_CitationMeasure):
    """Share of the sentences that have a citation, valid or not; 0 without an answer."""

    name = "cited"
    formula = "cited = sentences with a citation / sentences"
    example = Example(_ANSWER, 0.75)
    always_defined = True

    needs = (Need.ANSWERS,)

    def score_topics(self, alignment: Alignment) -> Floats:
        sentences = count_answers(alignment, "sentences")
        return count_answers(alignment, "cited") / np.maximum(sentences, 1)


class Overcitation(_CitationMeasure):
    """Share of the citations without relevant text, invalid ones among them.

    It is undefined for an answer without citations. Low is good.
    """

    name = "overcite"
    formula = "overcite = citations without relevant text / citations"
    example = Example(_ANSWER, 0.5)
    higher_is_better = False

    def score_topics(self, alignment: Alignment) -> Floats:
        citations = count_answers(alignment, "citations")
        useful = _sum_results(alignment, alignment.full_rsize > 0)
        share = _divide(citations - useful, citations)
        return np.where(alignment.gold.nrel == 0, np.nan, share)


def share_retrieved(alignment: Alignment, *, relevant: bool) -> Floats:
    """Return the share of the retrieved text that is cited, or of its relevant part."""
    run, gold = alignment.run, alignment.gold
    assert run.retrieved is not None  # Need.RETRIEVED
    other = Alignment(run.retrieved, gold)
    one, two = alignment.pieces, other.pieces
    # Both on one axis, on which each is disjoint.
    topic = np.concatenate(
        [own.judged_topic[own.run.topic[own.pieces.owner]] for own in (alignment, other)]
    )
    doc = pl.concat([run.doc.gather(one.owner), other.run.doc.gather(two.owner)])
    start, end = (np.concatenate([one[at], two[at]]) for at in (0, 1))
    low, high = spans.put_on_axis(start, end, number_rows(topic, doc).number)
    n = len(one.start)
    order = n + np.argsort(low[n:])
    cited, found = spans.pair_overlaps(low[:n], high[:n], low[order], high[order])
    left = np.maximum(low[cited], low[order[found]])
    right = np.minimum(high[cited], high[order[found]])
    both, retrieved = right - left, other.new_size
    if relevant:
        shift = (start - low)[cited]
        both = alignment.count_highlighted(one.owner[cited], left + shift, right + shift)
        retrieved = other.new_rsize
    shared = np.bincount(topic[cited], both, len(gold.topics))
    return _divide(shared, _sum_results(other, retrieved))


class Utilisation(_CitationMeasure):
    """Share of the retrieved text that the answer cites.

    It takes the run that the answers were made from (``--retrieved``), and is undefined where that
    returns nothing.
    """

    name = "utilisation"
    formula = f"utilisation = |C and R| / |R|; {_WHERE}"
    example = Example(f"{_ANSWER} | D1:0-60 D2:0-50", 0.6364)
    always_defined = True

    needs = (Need.ANSWERS, Need.RETRIEVED, Need.SPANS)

    def score_topics(self, alignment: Alignment) -> Floats:
        return share_retrieved(alignment, relevant=False)


class Completeness(_CitationMeasure):
    """Share of the relevant text among the retrieved text that the answer cites.

    It takes the run that the answers were made from (``--retrieved``), and is undefined where that
    returns nothing relevant.
    """

    name = "completeness"
    formula = f"completeness = |C and G and R| / |G and R|; {_WHERE}"
    example = Example(f"{_ANSWER} | D1:0-60 D2:0-50", 0.875)

    needs = (Need.ANSWERS, Need.RETRIEVED, Need.TEXT, Need.SPANS)

    def score_topics(self, alignment: Alignment) -> Floats:
        return share_retrieved(alignment, relevant=True)
