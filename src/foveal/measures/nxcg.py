"""Cumulated gain at a rank: xCG, gr, nxCG and its mean over ranks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foveal.measures.base import Cutoff, Example
from foveal.measures.view import Topic
from foveal.measures.xcg import XCG, cumulated, flat

__all__ = ["GainRecall", "MeanNormalisedGain", "NormalisedGain", "TotalGain"]

Floats = npt.NDArray[np.float64]
_RUN = "D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]"


class _AtRank(XCG):
    cutoff = Cutoff.RANK

    def at_rank(self) -> int:
        assert self.rank is not None
        return self.rank


class TotalGain(_AtRank):
    """Extended cumulated gain: what the first k results bring together."""

    name = "xCG"
    section = "6"
    formula = "xCG@k = sum of xG[i] over i <= k"
    range = (0.0, None)
    ideal = None
    example = Example(_RUN, 2.25, "xCG@4")

    def calculate(self, topic: Topic) -> float:
        return float(self.gains(topic)[: self.at_rank()].sum())


class NormalisedGain(_AtRank):
    """Normalised extended cumulated gain: xCG@k as a share of that of the ideal list."""

    name = "nxCG"
    section = "7"
    formula = "nxCG@k = xCG[k] / xCI[k]"
    curve = tuple(str(15 * p) for p in range(1, 101))
    example = Example(_RUN, 0.875, "nxCG(overlap=on)@4")

    def calculate(self, topic: Topic) -> float:
        k = self.at_rank()
        gained = flat(cumulated(self.gains(topic)), k)
        return gained / flat(cumulated(self.ideal_gains(topic)), k)


class MeanNormalisedGain(_AtRank):
    """The mean of nxCG over the ranks up to k."""

    name = "MAnxCG"
    aliases = ("MAxCG",)
    section = "7"
    formula = "MAnxCG@k = mean of nxCG@j over j = 1..k"
    example = Example(_RUN, 0.7812, "MAnxCG(overlap=on)@4")

    def calculate(self, topic: Topic) -> float:
        k = self.at_rank()
        return float(np.mean(_to(self.gains(topic), k) / _to(self.ideal_gains(topic), k)))


def _to(gains: Floats, k: int) -> Floats:
    """The cumulated gains at ranks 1 to k, flat after their end."""
    curve = cumulated(gains)[1 : k + 1]
    last = curve[-1] if len(curve) else 0.0
    return np.concatenate([curve, np.full(k - len(curve), last)])


class GainRecall(_AtRank):
    """Gain-recall: xCG at rank k as a share of all that there is to gain."""

    name = "gr"
    section = "8"
    formula = "gr@k = xCG[k] / xCI[n]"
    example = Example(_RUN, 0.875, "gr(overlap=on)@4")

    def calculate(self, topic: Topic) -> float:
        gained = float(self.gains(topic)[: self.at_rank()].sum())
        return gained / float(self.ideal_gains(topic).sum())
