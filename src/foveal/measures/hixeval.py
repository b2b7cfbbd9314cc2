"""HiXEval: precision and recall in highlighted characters, with a price alpha on repeated text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import TopicView
from foveal.measures.base import Choice, Cutoff, Example, Measure, Need, Number

__all__ = ["HiXEvalF", "HiXEvalPrecision", "HiXEvalRecall"]

Floats = npt.NDArray[np.float64]


class _HiXEval(Measure):
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

    def is_defined(self, topic: TopicView) -> bool:
        return self.total(topic) > 0

    def total(self, topic: TopicView) -> int:
        """Relevant characters in all."""
        return topic.trel if self.trel == "documents" else topic.element_size

    def values(self, topic: TopicView) -> Floats:
        """Rval of each result."""
        key = ("rval", self.alpha, self.rval)
        if self.rval == "printed" and not topic.union:
            return topic.memo(key, lambda: _printed(topic, self.alpha))
        seen = topic.rsize - topic.new_rsize
        return topic.memo(key, lambda: topic.rsize - self.alpha * seen)

    def precision(self, topic: TopicView) -> float:
        size = int(topic.size[: self.rank].sum())
        return float(self.values(topic)[: self.rank].sum()) / size if size else 0.0

    def recall(self, topic: TopicView) -> float:
        return float(self.values(topic)[: self.rank].sum()) / self.total(topic)


def _printed(topic: TopicView, alpha: float) -> Floats:
    """Rval as printed: rsize, less alpha times the values of earlier results inside."""
    values = topic.rsize.astype(np.float64)
    new, size = topic.new_size, topic.size
    start, end, doc = topic.start, topic.end, topic.documents.of_result
    for i in np.flatnonzero(new < size).tolist():
        if new[i] == 0:
            values[i] *= 1 - alpha
        else:
            inside = (doc[:i] == doc[i]) & (start[:i] >= start[i]) & (end[:i] <= end[i])
            values[i] -= alpha * values[:i][inside].sum()
    return values


class HiXEvalPrecision(_HiXEval):
    """Share of the returned text that is relevant and, as far as alpha says, new.

    The size of repeated text counts again, so that returning it lowers precision.
    """

    name = "HiP"
    formula = "P[k] = sum rval(i) / sum size(i), i <= k; rval = rsize - alpha * (rsize seen before)"
    example = Example("D1:20-40 D1:0-60 D1:0-100", 0.375, "HiP@2")

    def score_topic(self, topic: TopicView) -> float:
        return self.precision(topic)


class HiXEvalRecall(_HiXEval):
    """Share of the relevant text that is returned; with alpha = 0 repeated text counts again."""

    name = "HiR"
    formula = "R[k] = sum rval(i) / Trel, i <= k"
    example = Example("D1:20-40 D1:0-60 D1:0-100", 0.3333, "HiR@2")
    range = (0.0, None)

    def score_topic(self, topic: TopicView) -> float:
        return self.recall(topic)


class HiXEvalF(_HiXEval):
    """Harmonic mean of HiP and HiR."""

    name = "HiF"
    formula = "F[k] = 2 P[k] R[k] / (P[k] + R[k])"
    example = Example("D1:20-40 D1:0-60 D1:0-100", 0.3529, "HiF@2")
    range = (0.0, None)

    def score_topic(self, topic: TopicView) -> float:
        p, r = self.precision(topic), self.recall(topic)
        return 2 * p * r / (p + r) if p + r else 0.0


MEASURES = (HiXEvalPrecision, HiXEvalRecall, HiXEvalF)
