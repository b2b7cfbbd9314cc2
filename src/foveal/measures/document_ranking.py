"""P, R and AP on documents: the classic measures, each document at its first result."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from foveal.measures.alignment import Alignment, Floats
from foveal.measures.base import Cutoff, Example, Measure
from foveal.measures.totals import sum_first
from foveal.spans import Ints

__all__ = ["AveragePrecision", "RecallAtRank", "count_relevant"]

_RUN = "D3:0-40 D1:20-40 D2:0-25"


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
    example = Example(_RUN, 0.5, "P@2")
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
    example = Example(_RUN, 0.5, "R@2")
    ideal = None

    def score_topics(self, alignment: Alignment) -> Floats:
        found = alignment.fill_topics(count_relevant(alignment, self.rank))
        return found / np.maximum(alignment.gold.nrel, 1)


class AveragePrecision(_DocumentLevel):
    """Mean over the relevant documents of the precision at their rank; 0 for those not found."""

    name = "AP"
    aliases: ClassVar[tuple[str, ...]] = ("MAP",)
    formula = "AP = (1/Nrel) sum over ranks r of rel(r) P[r]"
    example = Example(_RUN, 0.5833)

    def score_topics(self, alignment: Alignment) -> Floats:
        relevant = np.flatnonzero(alignment.relevant_documents)
        bounds = alignment.document_bounds
        own = np.searchsorted(relevant, bounds)  # the relevant documents of each topic
        counts = np.diff(own)
        hits = np.arange(len(relevant)) - np.repeat(own[:-1], counts) + 1
        ranks = relevant - np.repeat(bounds[:-1], counts) + 1
        found = alignment.fill_topics(sum_first(hits / ranks, own))
        return found / np.maximum(alignment.gold.nrel, 1)
