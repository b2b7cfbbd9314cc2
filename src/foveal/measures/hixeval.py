"""HiXEval: precision and recall in highlighted characters, with a price alpha on repeated text."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import Alignment, Floats, Overlap
from foveal.measures.base import Choice, Cutoff, Example, Need, Number
from foveal.measures.totals import PrecisionRecall, TopicCounts, sum_first

__all__ = ["HiXEvalF", "HiXEvalPrecision", "HiXEvalRecall"]


class _HiXEval(PrecisionRecall):
    section = "11"
    source = "Pehcevski and Piwowarski, Evaluation Metrics (HiXEval)"
    cutoff = Cutoff.RANK
    ideal = None

    alpha = Number(1.0, "how much of a repeated character's value is lost", high=1.0)
    trel = Choice(
        "documents",
        "elements",
        description="relevant characters in all: of the documents, or summed over their elements",
    )
    rval = Choice(
        "general",
        "printed",
        description="value of a partly seen result: less what was covered before, or as printed "
        "less the values of earlier results inside it",
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        return (*super().needs, *([Need.ELEMENTS] if self.trel == "elements" else []))

    def totals(self, alignment: Alignment) -> TopicCounts:
        gold, bounds = alignment.gold, alignment.run.bounds
        return TopicCounts(
            sum_first(alignment.cached(_value_results, self.alpha, self.rval), bounds, self.rank),
            sum_first(alignment.size, bounds, self.rank),
            gold.trel if self.trel == "documents" else gold.element_size,
        )


def _value_results(alignment: Alignment, alpha: float, rval: str) -> Floats:
    """Return rval of each result: its relevant characters, less alpha times those seen before."""
    if rval == "general" or alignment.overlap is Overlap.UNION:
        return alignment.rsize - alpha * (alignment.rsize - alignment.new_rsize)
    # As printed: less alpha times the values of earlier results inside it.
    run, end, new = alignment.run, alignment.end, alignment.new_size
    values = alignment.rsize.astype(np.float64)
    for i in np.flatnonzero(new < alignment.size).tolist():
        if new[i] == 0:
            values[i] *= 1 - alpha
        else:
            earlier = slice(int(run.first[i]), i)  # from the first result of the same document on
            inside = run.documents.number[earlier] == run.documents.number[i]
            inside &= (run.start[earlier] >= run.start[i]) & (end[earlier] <= end[i])
            values[i] -= alpha * values[earlier][inside].sum()
    return values


class HiXEvalPrecision(_HiXEval):
    """Share of the returned text that is relevant and, as far as alpha says, new.

    The size of repeated text counts again, so that returning it lowers precision.
    """

    name = "HiP"
    formula = "P[k] = sum rval(i) / sum size(i), i <= k; rval = rsize - alpha * (rsize seen before)"
    example = Example("D1:20-40 D1:0-60 D1:0-100", 0.375, "HiP@2")

    score_topics = _HiXEval.precision


class HiXEvalRecall(_HiXEval):
    """Share of the relevant text that is returned; with alpha = 0 repeated text counts again."""

    name = "HiR"
    formula = "R[k] = sum rval(i) / Trel, i <= k"
    example = Example("D1:20-40 D1:0-60 D1:0-100", 0.3333, "HiR@2")
    range = (0.0, None)

    score_topics = _HiXEval.recall


class HiXEvalF(_HiXEval):
    """Harmonic mean of HiP and HiR."""

    name = "HiF"
    formula = "F[k] = 2 P[k] R[k] / (P[k] + R[k])"
    example = Example("D1:20-40 D1:0-60 D1:0-100", 0.3529, "HiF@2")
    range = (0.0, None)

    score_topics = _HiXEval.f_score


MEASURES = (HiXEvalPrecision, HiXEvalRecall, HiXEvalF)
