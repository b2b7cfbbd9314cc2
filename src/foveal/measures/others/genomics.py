"""DOCUMENT, PASSAGE, ASPECT and PASSAGE2 of the TREC Genomics tracks of 2006 and 2007."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import Alignment, Floats, TopicView
from foveal.measures.base import Example, Measure
from foveal.measures.documents import AveragePrecision
from foveal.measures.others.marked import Meetings, find_meetings, list_marked, meet_marked

__all__ = ["GenomicsAspect", "GenomicsDocument", "GenomicsPassage", "GenomicsPassage2"]

_TRACK = "TREC 2007 Genomics track (Hersh et al.), trecgen2007_score.py"
_RUN = "D1:20-40 D2:0-50 D3:0-40 D1:70-80"


class _Genomics(Measure):
    section = "30"
    source = _TRACK


def _meet_first(topic: TopicView) -> Meetings:
    """Return the first marked passage that each result overlaps, in the order of passages."""
    found = topic.alignment.cached(find_meetings).of_topic(topic)
    overlaps = found.common > 0
    one, first = np.unique(found.one[overlaps], return_index=True)
    return Meetings(one, found.other[overlaps][first], found.common[overlaps][first])


class GenomicsDocument(_Genomics):
    """Average precision of documents, each at its first passage."""

    name = "gen_document"
    aliases = ("DOCUMENT",)
    formula = "gen_document = AP = (1/Nrel) sum over ranks r of rel(r) P[r]"
    example = Example("D3:0-40 D1:20-40 D2:0-25", 0.5833)

    needs = ()

    def score_topics(self, alignment: Alignment) -> Floats:
        return AveragePrecision().score_topics(alignment)


class GenomicsPassage(_Genomics):
    """Average of the precision in characters at each result that meets a marked passage.

    A result takes part with the first marked passage that it overlaps, and is relevant whether
    or not that was found before. Marked passages that are never found add a zero each.
    """

    name = "gen_passage"
    aliases = ("PASSAGE",)
    formula = (
        "gen_passage = sum over relevant results i of (sum rel(1..i) / sum size(1..i)) / "
        "(relevant results + passages not found); rel(i) = characters of i in the first passage met"
    )
    source = f"{_TRACK}; the measure of 2006"
    example = Example(_RUN, 0.8889)
    ideal = None
    unsound = (
        "a passage counts once for every result that meets it: cut in pieces, or returned again, "
        "it outweighs the passages that were not found"
    )

    def score_topic(self, topic: TopicView) -> float:
        first = _meet_first(topic)
        read = np.cumsum(topic.alignment.full_size[topic.slice])
        precision = np.cumsum(first.common) / read[first.one]
        own = topic.alignment.gold.cached(list_marked)
        every = own.of_topic(topic)
        # Passages marked twice are one.
        same = np.stack([own.row[every], own.start[every], own.end[every]])
        _, number = np.unique(same, axis=1, return_inverse=True)
        found = np.isin(every, first.other)
        missed = number.max() + 1 - len(np.unique(number[found]))
        return float(precision.sum()) / (len(first.one) + int(missed))


class GenomicsAspect(_Genomics):
    """Average precision over the aspects of a topic, each at the first result that shows it.

    A result shows the aspects of the first marked passage that it overlaps. Results without any
    lower precision, those that show none but known ones do not. A passage that has no aspects is
    an aspect of its own.
    """

    name = "gen_aspect"
    aliases = ("ASPECT",)
    formula = (
        "gen_aspect = (1/aspects) sum over results i with new aspects of new(i) n(i) / "
        "(n(i) + results before i that meet no passage); n(i) = results with new aspects up to i"
    )
    example = Example(_RUN, 0.9167)
    ideal = None
    unsound = (
        "one character of a passage shows all of its aspects, and results that repeat known "
        "aspects cost nothing"
    )

    def score_topic(self, topic: TopicView) -> float:
        own = topic.alignment.gold.cached(list_marked)
        every = own.of_topic(topic)
        named = [None] * len(every) if own.aspects is None else own.aspects.gather(every).to_list()
        # No aspect of a file holds a line break.
        aspects = {
            span: frozenset(names or [f"\n{span}"])
            for span, names in zip(every.tolist(), named, strict=True)
        }
        first = _meet_first(topic)
        known: set[str] = set()
        hits, total = 0, 0.0
        pairs = zip(first.one.tolist(), first.other.tolist(), strict=True)
        for met_before, (result, span) in enumerate(pairs):
            new = aspects[span] - known
            if new:
                hits += 1
                total += len(new) * hits / (hits + result - met_before)
                known |= new
        return total / len(frozenset().union(*aspects.values()))


class GenomicsPassage2(_Genomics):
    """Average precision with every character as a document, in the order of the results.

    Relevant characters that were returned before are passed over; others count again.
    """

    name = "gen_passage2"
    aliases = ("PASSAGE2",)
    formula = (
        "gen_passage2 = (1/Trel) sum over new relevant characters c of "
        "(new relevant characters up to c) / (characters up to c less relevant ones seen before)"
    )
    example = Example(_RUN, 0.8504)

    def score_topic(self, topic: TopicView) -> float:
        alignment, first = topic.alignment, topic.slice.start
        start, end, owner = topic.pieces
        judgements = alignment.gold.judgements
        relevant = alignment.gold.cached(list_marked)._replace(
            start=judgements.start, end=judgements.end, bounds=judgements.bounds
        )
        found = meet_marked(relevant, topic.row[owner], start, end)
        overlaps = found.common > 0
        piece, passage, size = (column[overlaps] for column in found)
        if not len(size):
            return 0.0
        owner = owner[piece]
        start = np.maximum(start[piece], relevant.start[passage])
        order = np.lexsort((start, owner))
        owner, start, size = owner[order], start[order], size[order]
        # What counts of each result, and of the results before it.
        seen = alignment.full_rsize[topic.slice] - topic.new_rsize
        counts = alignment.full_size[topic.slice] - seen
        before = (np.cumsum(counts) - counts)[owner]
        # Within its result: what lies before a piece, less what of that was seen before.
        opening = topic.start[owner]
        new = np.cumsum(size) - size
        new_here = new - new[np.searchsorted(owner, owner)]
        seen_here = alignment.count_highlighted(owner + first, opening, start) - new_here
        before = before + (start - opening) - seen_here
        hits = np.arange(1, int(size.sum()) + 1)
        read = np.repeat(before - new, size) + hits
        return float((hits / read).sum()) / topic.trel


MEASURES = (GenomicsDocument, GenomicsPassage, GenomicsAspect, GenomicsPassage2)
