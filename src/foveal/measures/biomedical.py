"""Measures of the TREC Genomics tracks of 2006 and 2007 and of BioASQ task B, to the digit."""

from __future__ import annotations

import numpy as np
import polars as pl

from foveal import spans
from foveal.measures.alignment import Alignment, Bools, Floats, Gold, TopicView
from foveal.measures.characters import PrecisionRecall, TopicCounts, rank_results, sum_first
from foveal.measures.chunk_retrieval import (
    Marked,
    Meetings,
    find_meetings,
    list_marked,
    meet_marked,
)
from foveal.measures.measure import Choice, Cutoff, Example, Measure
from foveal.measures.run_figures import AveragePrecision
from foveal.spans import Ints

_TRACK = "TREC 2007 Genomics track (Hersh et al.), trecgen2007_score.py"
_PASSAGES = "D1:20-40 D2:0-50 D3:0-40 D1:70-80"


class _Genomics(Measure):
    section = "30"
    source = _TRACK


def _meet_first(topic: TopicView) -> Meetings:
    """Return the first marked passage that each result overlaps, in the order of passages."""
    found = topic.alignment.cached(find_meetings).select_topic(topic)
    overlaps = found.common > 0
    one, first = np.unique(found.one[overlaps], return_index=True)
    return Meetings(one, found.other[overlaps][first], found.common[overlaps][first])


class GenomicsDocument(_Genomics, AveragePrecision):
    """Average precision of documents, each at its first passage."""

    name = "gen_document"
    aliases = ("DOCUMENT",)
    formula = "gen_document = AP = (1/Nrel) sum over ranks r of rel(r) P[r]"
    example = Example("D3:0-40 D1:20-40 D2:0-25", 0.5833)


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
    example = Example(_PASSAGES, 0.8889)
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
        every = own.select_topic(topic)
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
    example = Example(_PASSAGES, 0.9167)
    ideal = None
    unsound = (
        "one character of a passage shows all of its aspects, and results that repeat known "
        "aspects cost nothing"
    )

    def score_topic(self, topic: TopicView) -> float:
        own = topic.alignment.gold.cached(list_marked)
        every = own.select_topic(topic)
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
    example = Example(_PASSAGES, 0.8504)

    def score_topic(self, topic: TopicView) -> float:
        alignment, first = topic.alignment, topic.slice.start
        start, end, owner = topic.pieces
        judgements = alignment.gold.judgements
        relevant = Marked(judgements.row, judgements.start, judgements.end)
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


# -- BioASQ: snippets ----


_SNIPPETS = "D3:0-40 D1:30-50 D2:0-50 D1:45-75"
_TOUCHING = (
    "the offset behind a snippet counts as one more character of it, so that snippets which only "
    "touch overlap (ends=exclusive counts characters)"
)
_MOST = 10  # snippets that a system may return for a question


def _merge_snippets(alignment: Alignment, rank: int | None, more: int) -> tuple[Ints, ...]:
    """Merge the first results that overlap; a span is `more` characters longer than it says.

    Returns the bounds of topics among the snippets; their sizes and their overlap with golden ones;
    and the first result of each.
    """
    run, judgements = alignment.run, alignment.gold.judgements
    # Twice the offsets: [0, 10] and [11, 20] stay apart, [0, 10] and [10, 20] meet.
    start = 2 * np.maximum(run.start, 0)
    end = 2 * alignment.end + more
    if rank is not None:
        end = np.where(rank_results(alignment) < rank, end, start)
    placed, until = spans.put_on_axis(start, end, run.documents.number)
    merged, merged_end = spans.union(placed, until)
    real = np.flatnonzero(until > placed)
    member = np.searchsorted(merged, placed[real], side="right") - 1
    snippet, first = np.unique(member, return_index=True)
    order = np.argsort(first)
    snippet, head = snippet[order], real[first[order]]
    shift = (placed - start)[head]
    start = (merged[snippet] - shift) // 2
    end = (merged_end[snippet] - shift - more) // 2
    golden = Marked(judgements.row, judgements.start, judgements.end + more)
    met = meet_marked(golden, alignment.row[head], start, end + more)
    overlap = np.bincount(met.one, met.common, len(head)).astype(np.int64)
    return np.searchsorted(head, run.bounds), end - start + more, overlap, head


class _Bioasq(PrecisionRecall):
    section = "30"
    source = "BioASQ, Evaluation-Measures (EvaluatorTask1b, phase A)"
    cutoff = Cutoff.RANK_OPTIONAL

    ends = Choice(
        "inclusive|exclusive",
        "whether the end of a span is its last character, as the program takes it",
    )

    def find_snippets(self, alignment: Alignment) -> tuple[Ints, ...]:
        return alignment.cached(_merge_snippets, self.rank, int(self.ends == "inclusive"))

    def count_totals(self, alignment: Alignment) -> TopicCounts:
        bounds, size, overlap, _ = self.find_snippets(alignment)
        sought = alignment.gold.trel
        if self.ends == "inclusive":
            sought = sought + alignment.gold.cached(_count_golden)
        return TopicCounts(sum_first(overlap, bounds), sum_first(size, bounds), sought)


def _count_golden(gold: Gold) -> Ints:
    """Count the golden snippets of each topic, those that touch as one."""
    judgements = gold.judgements
    topic = judgements.topic[judgements.row]
    return np.bincount(topic, minlength=len(judgements.topics)).astype(np.int64)


def _find_in_golden_articles(alignment: Alignment) -> Bools:
    """Mark the results whose article has a golden snippet for the topic, in any section."""
    judgements, run = alignment.gold.judgements, alignment.run
    rows, heads = np.flatnonzero(judgements.relevant), run.documents.first_rows
    golden = _list_articles(judgements.topic[rows], judgements.doc.gather(rows))
    returned = _list_articles(alignment.judged_topic[run.topic[heads]], run.doc.gather(heads))
    hit = returned.with_row_index("head").join(golden, on=golden.columns, how="semi")["head"]
    found = np.zeros(len(heads), dtype=bool)
    found[hit.to_numpy()] = True
    return found[run.documents.number]


def _list_articles(topic: Ints, docs: pl.Series) -> pl.DataFrame:
    """Return the article of each document: its name without the section, ``ARTICLE/SECTION``."""
    return pl.DataFrame({"topic": topic, "article": docs.str.replace(r"^(.+)/[^/]*$", "$1")})


class BioasqPrecision(_Bioasq):
    """Share of the returned characters that are in golden snippets, overlap merged first."""

    name = "bio_precision"
    formula = "bio_precision = sum |snippet, golden| / sum |snippet|; |[b,e]| = e - b + 1"
    example = Example(_SNIPPETS, 0.4928)
    unsound = _TOUCHING
    figure = "precision"


class BioasqRecall(_Bioasq):
    """Share of the golden characters that are in returned snippets, overlap merged first."""

    name = "bio_recall"
    formula = "bio_recall = sum |snippet, golden| / sum |golden|; |[b,e]| = e - b + 1"
    example = Example(_SNIPPETS, 0.7312)
    unsound = _TOUCHING
    figure = "recall"


class BioasqF1(_Bioasq):
    """Harmonic mean of the two; the official measure of snippets since 2021."""

    name = "bio_f1"
    formula = "bio_f1 = 2 P R / (P + R)"
    example = Example(_SNIPPETS, 0.5887)
    unsound = _TOUCHING
    figure = "F"


class BioasqAveragePrecision(_Bioasq):
    """Sum of the precision in characters at each relevant snippet, by the golden snippets.

    A snippet is relevant if its article has a golden snippet, in whatever section. The article of a
    document `ARTICLE/SECTION` is the part before the last slash; a document without a slash is an
    article of its own. `version` is the option `-e` of the official program and sets the divisor: 8
    and 9 the number of golden snippets, at most 10; 3 and 5 always 10; 2 the number of golden
    snippets. Questions without golden snippets count as 0 in all versions but 9
    (`--undefined zero`).
    """

    name = "bio_ap"
    aliases = ("bio_map",)
    formula = "bio_ap = sum over relevant snippets i of P[i] / min(10, golden snippets)"
    example = Example(_SNIPPETS, 0.2294)
    range = (0.0, None)
    ideal = None
    unsound = (
        "several snippets of one golden snippet are all relevant, so that the sum passes 1, and "
        "any snippet of a golden article is relevant without a character in common "
        "(relevance=overlap)"
    )

    version = Choice("8|9|5|3|2", "BioASQ 8, 9 and later, 5 to 7, 3 and 4, or 1 and 2")
    relevance = Choice(
        "article|overlap",
        "a snippet is relevant if its article has a golden one, or if it overlaps one",
    )

    def score_topics(self, alignment: Alignment) -> Floats:
        bounds, size, overlap, head = self.find_snippets(alignment)
        if self.relevance == "article":
            hit = np.flatnonzero(alignment.cached(_find_in_golden_articles)[head])
        else:
            hit = np.flatnonzero(overlap)
        topic = alignment.run.topic[head[hit]]
        found, read = (
            before[hit + 1] - before[bounds[topic]]
            for before in (np.concatenate([[0], np.cumsum(v)]) for v in (overlap, size))
        )
        total = sum_first(found / np.maximum(read, 1), np.searchsorted(hit, bounds))
        golden = alignment.gold.cached(_count_golden)
        if self.version in ("3", "5"):
            divisor = np.full_like(golden, _MOST)
        else:
            divisor = golden if self.version == "2" else np.minimum(golden, _MOST)
        return alignment.fill_topics(total) / np.maximum(divisor, 1)
