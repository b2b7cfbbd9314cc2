"""AiP: the mean of interpolated precision over evenly spaced recall levels."""

from __future__ import annotations

from foveal.measures.base import Example, Measure, Overlap, Whole
from foveal.measures.interpolation import ranks_reaching
from foveal.measures.ip import best_precision_from
from foveal.measures.view import Topic

__all__ = ["AverageInterpolatedPrecision"]


class AverageInterpolatedPrecision(Measure):
    """Interpolated precision averaged over 101 levels of recall: 0, .01, ..., 1.

    Its mean over topics is MAiP, the overall figure of the Focused task.
    """

    name = "AiP"
    aliases = ("MAiP",)
    section = "12"
    place = 1
    formula = "AiP = (1/101) sum of iP[j/100], j = 0..100"
    source = "INEX 2007 evaluation measures"
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.8304)

    points = Whole(101, "number of recall levels, 0 and 1 included", low=2, high=100_001)

    @property
    def overlap(self) -> Overlap:
        return Overlap.ERROR

    def calculate(self, topic: Topic) -> float:
        ranks = ranks_reaching(topic.found, topic.trel, self.points - 1)
        return float(best_precision_from(topic)[ranks].mean())
