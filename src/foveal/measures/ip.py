"""iP: interpolated precision at a level of recall, in characters (INEX 2007 and later)."""

from __future__ import annotations

from foveal.measures.base import Cutoff, Example, Measure, Overlap
from foveal.measures.interpolation import Floats, best_from, rank_reaching
from foveal.measures.view import Topic

__all__ = ["InterpolatedPrecision", "best_precision_from"]


def best_precision_from(topic: Topic) -> Floats:
    """The best P[r] at each rank or later."""
    return topic.memo("best precision from", lambda: best_from(topic.precision))


class InterpolatedPrecision(Measure):
    """The best precision a reader meets at recall x or beyond, both in characters.

    ``iP@0.01`` was the official figure of the Focused task. It rewards precision early: the
    first percent of the relevant text decides.
    """

    name = "iP"
    section = "12"
    cutoff = Cutoff.RECALL
    curve = tuple(f"{j / 100:.2f}" for j in range(101))
    formula = (
        "iP[x] = max P[r] over ranks with R[r] >= x; P = sum rsize / sum size, R = sum rsize / Trel"
    )
    source = "INEX 2007 evaluation measures"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.5333, "iP@0.80")

    @property
    def overlap(self) -> Overlap:
        return Overlap.ERROR

    def calculate(self, topic: Topic) -> float:
        return float(best_precision_from(topic)[rank_reaching(topic.found, topic.trel, self.at)])
