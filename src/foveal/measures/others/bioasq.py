"""Precision, recall, F1 and average precision of snippets as BioASQ task B has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foveal import spans
from foveal.measures.base import Choice, Cutoff, Example, Measure
from foveal.measures.view import Bools, Judged, Topic
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
    in_golden_document: Bools
    golden: int
    """Golden snippets after merging."""
    golden_size: int


class _Bioasq(Measure):
    section = "30"
    place = 3
    source = "BioASQ, Evaluation-Measures (EvaluatorTask1b, phase A)"
    cutoff = Cutoff.RANK_OPTIONAL

    ends = Choice(
        "inclusive",
        "exclusive",
        description="whether the end of a span is its last character, as the program takes it",
    )

    def snippets(self, topic: Topic) -> _Snippets:
        return topic.memo(("bioasq", self.rank, self.ends), lambda: self._snippets(topic))

    def _snippets(self, topic: Topic) -> _Snippets:
        more = int(self.ends == "inclusive")
        judgements = topic.alignment.judged.judgements
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
        overlap, known = _overlap(
            start, end + more, row, judgements.start, judgements.end + more, judgements.bounds
        )
        judged = topic.alignment.judged
        golden = int(judged.memo("golden snippets", lambda: _golden(judged))[topic.at])
        size = topic.trel + golden * more
        return _Snippets(end - start + more, overlap, known, golden, size)

    def precision(self, topic: Topic) -> float:
        found = self.snippets(topic)
        read = int(found.size.sum())
        return int(found.overlap.sum()) / read if read else 0.0

    def recall(self, topic: Topic) -> float:
        found = self.snippets(topic)
        return int(found.overlap.sum()) / found.golden_size


def _golden(judged: Judged) -> Ints:
    """Golden snippets of each topic, those that touch as one."""
    judgements = judged.judgements
    topic = judgements.topic[judgements.row]
    return np.bincount(topic, minlength=len(judgements.topics)).astype(np.int64)


def _overlap(
    start: Ints, end: Ints, row: Ints, golden: Ints, golden_end: Ints, bounds: Ints
) -> tuple[Ints, Bools]:
    """Characters that each snippet shares with the golden ones, and whether its row has any."""
    known = np.flatnonzero(row >= 0)
    counts = np.zeros(len(row), dtype=np.int64)
    counts[known] = bounds[row[known] + 1] - bounds[row[known]]
    one = np.repeat(np.arange(len(row)), counts)
    step = np.arange(len(one)) - np.repeat(np.cumsum(counts) - counts, counts)
    other = bounds[row[one]] + step
    common = np.minimum(end[one], golden_end[other]) - np.maximum(start[one], golden[other])
    return np.bincount(one, np.maximum(common, 0), len(row)).astype(np.int64), counts > 0


class BioasqPrecision(_Bioasq):
    """Share of the returned characters that are in golden snippets, overlap merged first."""

    name = "bio_precision"
    formula = "bio_precision = sum |snippet, golden| / sum |snippet|; |[b,e]| = e - b + 1"
    example = Example(_RUN, 0.4928)
    unsound = _TOUCHING

    def calculate(self, topic: Topic) -> float:
        return self.precision(topic)


class BioasqRecall(_Bioasq):
    """Share of the golden characters that are in returned snippets, overlap merged first."""

    name = "bio_recall"
    formula = "bio_recall = sum |snippet, golden| / sum |golden|; |[b,e]| = e - b + 1"
    example = Example(_RUN, 0.7312)
    unsound = _TOUCHING

    def calculate(self, topic: Topic) -> float:
        return self.recall(topic)


class BioasqF1(_Bioasq):
    """Harmonic mean of the two; the official measure of snippets since 2021."""

    name = "bio_f1"
    formula = "bio_f1 = 2 P R / (P + R)"
    example = Example(_RUN, 0.5887)
    unsound = _TOUCHING

    def calculate(self, topic: Topic) -> float:
        p, r = self.precision(topic), self.recall(topic)
        return 2 * p * r / (p + r) if p + r else 0.0


class BioasqAveragePrecision(_Bioasq):
    """Sum of the precision in characters at each relevant snippet, by the golden snippets.

    A snippet is relevant if its document has a golden one: the program compares their places and
    does not use the answer. `version` is the year's divisor: 8 the golden snippets, at most 10;
    3 always 10; 2 the golden snippets.
    """

    name = "bio_ap"
    aliases = ("bio_map",)
    formula = "bio_ap = sum over relevant snippets i of P[i] / min(10, golden snippets)"
    example = Example(_RUN, 0.2294)
    range = (0.0, None)
    ideal = None
    unsound = (
        "several snippets of one golden snippet are all relevant, so that the sum passes 1, and "
        "any snippet of a golden document is relevant without a character in common"
    )

    version = Choice("8", "3", "2", description="BioASQ 8 and later, 3 to 7, or 1 and 2")
    relevance = Choice(
        "document",
        "overlap",
        description="a snippet is relevant in a golden document, or if it overlaps a snippet there",
    )

    def calculate(self, topic: Topic) -> float:
        found = self.snippets(topic)
        hit = found.in_golden_document if self.relevance == "document" else found.overlap > 0
        precision = np.cumsum(found.overlap) / np.maximum(np.cumsum(found.size), 1)
        divisor = {"8": min(_MOST, found.golden), "3": _MOST, "2": found.golden}[self.version]
        return float(precision[hit].sum()) / divisor
