"""AiP: the mean of interpolated precision over evenly spaced recall levels."""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import Alignment, TopicView
from foveal.measures.base import Example, Measure, OverlapRule, Whole
from foveal.measures.interpolation import Floats, levels
from foveal.measures.ip import interpolated

__all__ = ["AverageInterpolatedPrecision"]

_CELLS = 1 << 18
"""Levels of all topics that are looked up together: 2 MB, 2,500 topics of the usual 101."""


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
    def overlap_rule(self) -> OverlapRule:
        return OverlapRule.ERROR

    def score_topic(self, topic: TopicView) -> float:
        if topic.place is None:
            return 0.0
        return float(self._values(topic.alignment, union=topic.union)[topic.place])

    def of_run(self, run: Alignment, *, union: bool) -> Floats:
        return self._values(run, union=union)

    def _values(self, run: Alignment, *, union: bool) -> Floats:
        """The scores of all topics of the run."""

        def calculate() -> Floats:
            trel = run.gold.trel[run.judged_topic]
            own = np.zeros(len(trel))
            step = max(_CELLS // self.points, 1)
            for low in range(0, len(trel), step):
                some = slice(low, low + step)
                reached = levels(trel[some], self.points - 1)
                own[some] = interpolated(run, reached, union=union, topics=some).mean(axis=1)
            return own

        return run.memo(("AiP", self.points, union), calculate)
