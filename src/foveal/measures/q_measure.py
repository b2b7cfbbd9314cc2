"""Sakai's Q-measure and R-measure on the gains of elements."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import TopicView
from foveal.measures.base import Choice, Example
from foveal.measures.xcg import XCG, cumulated, flat

__all__ = ["QMeasure", "RMeasure"]

Floats = npt.NDArray[np.float64]
_RUN = "D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]"


def _bonus(gains: Floats) -> Floats:
    """Gains with one more for every result that gains."""
    return np.where(gains > 0, gains + 1, 0.0)


class _Sakai(XCG):
    divisor = Choice(
        "max",
        "n",
        description="divide by the number of elements to find, or of ranks that gain if there "
        "are more; or always by the former",
    )
    form = Choice(
        "sakai",
        "printed",
        description="as Sakai defines it, or as the INEX 2005 paper prints it (an ideal run does "
        "not reach 1 then)",
    )

    def with_bonus(self, topic: TopicView) -> Floats:
        """cbg: gains with the bonus summed up, once for both measures."""
        key = ("cbg", self.settings_of_gains(topic.alignment.gold))
        return topic.memo(key, lambda: cumulated(_bonus(self.gains(topic))))


class QMeasure(_Sakai):
    """Q-measure: gain with a bonus for every hit, over the ideal gain and the rank."""

    name = "Q"
    aliases = ("Q-measure",)
    section = "9"
    formula = "Q = 1/R * sum over gaining ranks j of cbg(j) / (cig(j) + j)"
    source = "Sakai 2004; Kazai and Lalmas, INEX 2005 evaluation measures"
    example = Example(_RUN, 0.8472, "Q(overlap=on)")

    def score_topic(self, topic: TopicView) -> float:
        gains, ideal = self.gains(topic), self.ideal_gains(topic)
        rank = np.flatnonzero(gains > 0) + 1
        best = self.ideal_curve(topic) if self.form == "sakai" else cumulated(_bonus(ideal))
        at_best = best[np.minimum(rank, len(ideal))]
        total = float((self.with_bonus(topic)[rank] / (at_best + rank)).sum())
        n = len(ideal)
        return total / (max(n, len(rank)) if self.divisor == "max" else n)


class RMeasure(_Sakai):
    """R-measure: gain with a bonus for every hit at rank R, the number of elements to find."""

    name = "Rmeasure"
    aliases = ("R-measure",)
    section = "9"
    formula = "Rmeasure = cbg(R) / (cig(R) + R)"
    source = "Sakai 2004; Kazai and Lalmas, INEX 2005 evaluation measures"
    example = Example(_RUN, 0.7, "Rmeasure(overlap=on)")

    def score_topic(self, topic: TopicView) -> float:
        ideal = self.ideal_gains(topic)
        n = len(ideal)
        gained = flat(self.with_bonus(topic), n)
        return gained / ((float(ideal.sum()) if self.form == "sakai" else gained) + n)
