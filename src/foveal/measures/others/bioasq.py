"""Precision, recall, F1 and average precision of snippets as BioASQ task B has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from foveal import spans
from foveal.measures.alignment import Alignment, Bools, Floats, Gold
from foveal.measures.base import Choice, Cutoff, Example
from foveal.measures.others.marked import Marked, meet_marked
from foveal.measures.totals import (
    PrecisionRecall,
    TopicCounts,
    rank_results,
    sum_first,
)
from foveal.spans import Ints

__all__ = ["BioasqAveragePrecision", "BioasqF1", "BioasqPrecision", "BioasqRecall"]

_RUN = "D3:0-40 D1:30-50 D2:0-50 D1:45-75"
_TOUCHING = (
    "the offset behind a snippet counts as one more character of it, so that snippets which only "
    "touch overlap (ends=exclusive counts characters)"
)
_MOST = 10
"""Snippets that a system may return for a question."""


class _Snippets(NamedTuple):
    """Returned snippets in order, overlapping ones merged, and their overlap with golden ones."""

    bounds: Ints
    """First snippet of each topic of the run, and the number of snippets."""
    size: Ints
    overlap: Ints
    head: Ints
    """The first result of each snippet."""


def _merge_snippets(alignment: Alignment, rank: int | None, more: int) -> _Snippets:
    """Merge the first results that overlap; a span is `more` characters longer than it says."""
    run, judgements = alignment.run, alignment.gold.judgements
    # Twice the offsets: [0, 10] and [11, 20] stay apart, [0, 10] and [10, 20] meet.
    start = 2 * np.maximum(run.start, 0)
    end = 2 * alignment.end + more
    if rank is not None:
        end = np.where(rank_results(alignment) < rank, end, start)
    placed, until = spans.side_by_side(start, end, run.documents.number)
    merged, merged_end = spans.union(placed, until)
    real = np.flatnonzero(until > placed)
    member = np.searchsorted(merged, placed[real], side="right") - 1
    snippet, first = np.unique(member, return_index=True)
    order = np.argsort(first)
    snippet, head = snippet[order], real[first[order]]
    shift = (placed - start)[head]
    start = (merged[snippet] - shift) // 2
    end = (merged_end[snippet] - shift - more) // 2
    golden = Marked(
        judgements.start, judgements.end + more, judgements.bounds, judgements.row, judgements.row
    )
    met = meet_marked(golden, alignment.row[head], start, end + more)
    overlap = np.bincount(met.one, met.common, len(head)).astype(np.int64)
    return _Snippets(np.searchsorted(head, run.bounds), end - start + more, overlap, head)


class _Bioasq(PrecisionRecall):
    section = "30"
    source = "BioASQ, Evaluation-Measures (EvaluatorTask1b, phase A)"
    cutoff = Cutoff.RANK_OPTIONAL

    ends = Choice(
        "inclusive",
        "exclusive",
        description="whether the end of a span is its last character, as the program takes it",
    )

    def snippets(self, alignment: Alignment) -> _Snippets:
        return alignment.cached(_merge_snippets, self.rank, int(self.ends == "inclusive"))

    def totals(self, alignment: Alignment) -> TopicCounts:
        found, gold = self.snippets(alignment), alignment.gold
        overlap = sum_first(found.overlap, found.bounds)
        size = sum_first(found.size, found.bounds)
        more = gold.cached(_count_golden) if self.ends == "inclusive" else 0
        return TopicCounts(overlap, size, gold.trel + more)


def _count_golden(gold: Gold) -> Ints:
    """Count the golden snippets of each topic, those that touch as one."""
    judgements = gold.judgements
    topic = judgements.topic[judgements.row]
    return np.bincount(topic, minlength=len(judgements.topics)).astype(np.int64)


def _in_golden_article(alignment: Alignment) -> Bools:
    """Mark the results whose article has a golden snippet for the topic, in any section."""
    judgements, run = alignment.gold.judgements, alignment.run
    rows = np.flatnonzero(judgements.relevant)
    golden = pl.DataFrame(
        {"topic": judgements.topic[rows], "article": _articles(judgements.doc.gather(rows))}
    ).unique()
    returned = pl.DataFrame(
        {
            "topic": alignment.judged_topic[run.topic[run.documents.first_rows]],
            "article": _articles(run.doc.gather(run.documents.first_rows)),
        }
    ).join(
        golden.with_columns(found=True), on=["topic", "article"], how="left", maintain_order="left"
    )
    found: Bools = returned["found"].fill_null(value=False).to_numpy()[run.documents.number]
    return found


def _articles(docs: pl.Series) -> pl.Series:
    """Return the article of each document: its name without the section, ``ARTICLE/SECTION``."""
    return docs.str.replace(r"^(.+)/[^/]*$", "$1")


class BioasqPrecision(_Bioasq):
    """Share of the returned characters that are in golden snippets, overlap merged first."""

    name = "bio_precision"
    formula = "bio_precision = sum |snippet, golden| / sum |snippet|; |[b,e]| = e - b + 1"
    example = Example(_RUN, 0.4928)
    unsound = _TOUCHING

    score_topics = _Bioasq.precision


class BioasqRecall(_Bioasq):
    """Share of the golden characters that are in returned snippets, overlap merged first."""

    name = "bio_recall"
    formula = "bio_recall = sum |snippet, golden| / sum |golden|; |[b,e]| = e - b + 1"
    example = Example(_RUN, 0.7312)
    unsound = _TOUCHING

    score_topics = _Bioasq.recall


class BioasqF1(_Bioasq):
    """Harmonic mean of the two; the official measure of snippets since 2021."""

    name = "bio_f1"
    formula = "bio_f1 = 2 P R / (P + R)"
    example = Example(_RUN, 0.5887)
    unsound = _TOUCHING

    score_topics = _Bioasq.f_score


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
    example = Example(_RUN, 0.2294)
    range = (0.0, None)
    ideal = None
    unsound = (
        "several snippets of one golden snippet are all relevant, so that the sum passes 1, and "
        "any snippet of a golden article is relevant without a character in common "
        "(relevance=overlap)"
    )

    version = Choice(
        "8", "9", "5", "3", "2", description="BioASQ 8, 9 and later, 5 to 7, 3 and 4, or 1 and 2"
    )
    relevance = Choice(
        "article",
        "overlap",
        description="a snippet is relevant if its article has a golden one, or if it overlaps one",
    )

    def score_topics(self, alignment: Alignment) -> Floats:
        bounds, size, overlap, head = self.snippets(alignment)
        if self.relevance == "article":
            hit = np.flatnonzero(alignment.cached(_in_golden_article)[head])
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


MEASURES = (BioasqPrecision, BioasqRecall, BioasqF1, BioasqAveragePrecision)
