"""Precision, recall, F1 and average precision of snippets as BioASQ task B has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from foveal import spans
from foveal.measures.alignment import Alignment, Bools, Gold, TopicView
from foveal.measures.base import Choice, Cutoff, Example, Measure
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

    size: Ints
    overlap: Ints
    in_golden_article: Bools
    golden: int
    """Golden snippets after merging."""
    golden_size: int


class _Bioasq(Measure):
    section = "30"
    source = "BioASQ, Evaluation-Measures (EvaluatorTask1b, phase A)"
    cutoff = Cutoff.RANK_OPTIONAL

    ends = Choice(
        "inclusive",
        "exclusive",
        description="whether the end of a span is its last character, as the program takes it",
    )

    def snippets(self, topic: TopicView) -> _Snippets:
        return topic.memo(("bioasq", self.rank, self.ends), lambda: self._snippets(topic))

    def _snippets(self, topic: TopicView) -> _Snippets:
        more = int(self.ends == "inclusive")
        judgements = topic.alignment.gold.judgements
        n = topic.n if self.rank is None else min(self.rank, topic.n)
        # Twice the offsets: [0, 10] and [11, 20] stay apart, [0, 10] and [10, 20] meet.
        start = 2 * np.maximum(topic.start[:n], 0)
        end = 2 * topic.end[:n] + more
        document = topic.documents.of_result[:n]
        placed, until = spans.side_by_side(start, end, document)
        merged, merged_end = spans.union(placed, until)
        member = np.searchsorted(merged, placed, side="right") - 1
        real = until > placed
        heads, first = np.unique(member[real], return_index=True)
        order = heads[np.argsort(first, kind="stable")]
        head = np.flatnonzero(real)[np.sort(first)]
        shift = (placed - start)[head]
        start = (merged[order] - shift) // 2
        end = (merged_end[order] - shift - more) // 2
        row = topic.row[head]
        overlap = _overlap(
            start, end + more, row, judgements.start, judgements.end + more, judgements.bounds
        )
        alignment, judged = topic.alignment, topic.alignment.gold
        relevant = alignment.memo("golden articles", lambda: _in_golden_article(alignment))
        golden = int(judged.memo("golden snippets", lambda: _golden(judged))[topic.at])
        size = topic.trel + golden * more
        return _Snippets(end - start + more, overlap, relevant[topic.slice][head], golden, size)

    def precision(self, topic: TopicView) -> float:
        found = self.snippets(topic)
        read = int(found.size.sum())
        return int(found.overlap.sum()) / read if read else 0.0

    def recall(self, topic: TopicView) -> float:
        found = self.snippets(topic)
        return int(found.overlap.sum()) / found.golden_size


def _golden(judged: Gold) -> Ints:
    """Golden snippets of each topic, those that touch as one."""
    judgements = judged.judgements
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
            "topic": alignment.judged_topic[run.topic[run.heads]],
            "article": _articles(run.doc.gather(run.heads)),
        }
    ).join(
        golden.with_columns(found=True), on=["topic", "article"], how="left", maintain_order="left"
    )
    found: Bools = returned["found"].fill_null(value=False).to_numpy()[run.head_of]
    return found


def _articles(docs: pl.Series) -> pl.Series:
    """Return the article of each document: its name without the section, ``ARTICLE/SECTION``."""
    return docs.str.replace(r"^(.+)/[^/]*$", "$1")


def _overlap(
    start: Ints, end: Ints, row: Ints, golden: Ints, golden_end: Ints, bounds: Ints
) -> Ints:
    """Return the number of characters that each snippet shares with golden ones."""
    known = np.flatnonzero(row >= 0)
    counts = np.zeros(len(row), dtype=np.int64)
    counts[known] = bounds[row[known] + 1] - bounds[row[known]]
    one = np.repeat(np.arange(len(row)), counts)
    step = np.arange(len(one)) - np.repeat(np.cumsum(counts) - counts, counts)
    other = bounds[row[one]] + step
    common = np.minimum(end[one], golden_end[other]) - np.maximum(start[one], golden[other])
    return np.bincount(one, np.maximum(common, 0), len(row)).astype(np.int64)


class BioasqPrecision(_Bioasq):
    """Share of the returned characters that are in golden snippets, overlap merged first."""

    name = "bio_precision"
    formula = "bio_precision = sum |snippet, golden| / sum |snippet|; |[b,e]| = e - b + 1"
    example = Example(_RUN, 0.4928)
    unsound = _TOUCHING

    def score_topic(self, topic: TopicView) -> float:
        return self.precision(topic)


class BioasqRecall(_Bioasq):
    """Share of the golden characters that are in returned snippets, overlap merged first."""

    name = "bio_recall"
    formula = "bio_recall = sum |snippet, golden| / sum |golden|; |[b,e]| = e - b + 1"
    example = Example(_RUN, 0.7312)
    unsound = _TOUCHING

    def score_topic(self, topic: TopicView) -> float:
        return self.recall(topic)


class BioasqF1(_Bioasq):
    """Harmonic mean of the two; the official measure of snippets since 2021."""

    name = "bio_f1"
    formula = "bio_f1 = 2 P R / (P + R)"
    example = Example(_RUN, 0.5887)
    unsound = _TOUCHING

    def score_topic(self, topic: TopicView) -> float:
        p, r = self.precision(topic), self.recall(topic)
        return 2 * p * r / (p + r) if p + r else 0.0


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

    def score_topic(self, topic: TopicView) -> float:
        found = self.snippets(topic)
        hit = found.in_golden_article if self.relevance == "article" else found.overlap > 0
        precision = np.cumsum(found.overlap) / np.maximum(np.cumsum(found.size), 1)
        divisor = {"2": found.golden, "3": _MOST, "5": _MOST}
        return float(precision[hit].sum()) / divisor.get(self.version, min(_MOST, found.golden))


MEASURES = (BioasqPrecision, BioasqRecall, BioasqF1, BioasqAveragePrecision)
