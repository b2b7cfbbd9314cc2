"""Cumulated gain at a rank: xCG, gr, nxCG and its mean over ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.measures.base import Cutoff, Example
from foveal.measures.xcg import XCG, flat
from foveal.spans import Ints

__all__ = ["Cumulated", "GainRecall", "MeanNormalisedGain", "NormalisedGain", "TotalGain"]

Floats = npt.NDArray[np.float64]
_RUN = "D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]"


class Curves(NamedTuple):
    """Gains summed from rank 0, where there is nothing, on."""

    xCG: Floats  # noqa: N815 - the names of the papers
    xCI: Floats  # noqa: N815 - the names of the papers


class Cumulated(XCG):
    """What cut-offs and points of a curve share: the gains of a topic are summed up once."""

    def curves(self, topic: TopicView) -> Curves:
        """The cumulated gains of the run and of the ideal list."""
        return Curves(self.curve_of_run(topic), self.ideal_curve(topic))


class _AtRank(Cumulated):
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

    def score_topic(self, topic: TopicView) -> float:
        return float(self.gains(topic)[: self.at_rank()].sum())


class NormalisedGain(_AtRank):
    """Normalised extended cumulated gain: xCG@k as a share of that of the ideal list."""

    name = "nxCG"
    section = "7"
    formula = "nxCG@k = xCG[k] / xCI[k]"
    curve = tuple(str(15 * p) for p in range(1, 101))
    example = Example(_RUN, 0.875, "nxCG(overlap=on)@4")

    def score_topic(self, topic: TopicView) -> float:
        k, curves = self.at_rank(), self.curves(topic)
        return flat(curves.xCG, k) / flat(curves.xCI, k)

    @classmethod
    def together(cls, measures: Sequence[Self]) -> Callable[[TopicView], Sequence[float]]:
        one, ranks = measures[0], tuple(measure.at_rank() for measure in measures)

        def values(topic: TopicView) -> Sequence[float]:
            run, again = topic.alignment, topic.again
            if not one.defined(topic):
                return [float("nan")] * len(ranks)
            if topic.place is None:
                return [0.0] * len(ranks)
            key = ("nxCG", one.gains_key(run.gold), ranks, again)
            return run.memo(key, lambda: one._shares_at(run, ranks, again=again))[topic.place]

        return values

    def _shares_at(
        self, run: Alignment, ranks: tuple[int, ...], *, again: bool
    ) -> list[list[float]]:
        """The values at these ranks on each topic of a run; nan where there is nothing to find."""
        gains, bounds = self.gains_of_run(run, again=again), run.run.bounds
        sizes = np.diff(bounds)
        width = min(max(ranks), int(sizes.max(initial=0)))
        curves = np.zeros((len(sizes), width + 1))
        for curve, (low, high) in zip(curves, pairwise(bounds.tolist()), strict=True):
            n = min(high - low, width)
            np.cumsum(gains[low : low + n], out=curve[1 : n + 1])
        at = np.minimum(ranks, sizes[:, None])
        xcg = np.take_along_axis(curves, at, axis=1)
        xci = self._ideal_at(run.gold, ranks)[run.judged_topic]
        shares: list[list[float]] = (xcg / xci).tolist()
        return shares

    def _ideal_at(self, judged: Gold, ranks: tuple[int, ...]) -> Floats:
        """The xCI of each judged topic at these ranks; nan where there is nothing to find."""

        def calculate() -> Floats:
            ideal = np.full((len(judged.judgements.topics), len(ranks)), np.nan)
            for topic, curve in enumerate(self.ideal_curves(judged)):
                if len(curve) > 1:
                    ideal[topic] = _at(curve, np.array(ranks))
            return ideal

        return judged.memo(("xCI at", self.gains_key(judged), ranks), calculate)


class MeanNormalisedGain(_AtRank):
    """The mean of nxCG over the ranks up to k."""

    name = "MAnxCG"
    aliases = ("MAxCG",)
    section = "7"
    formula = "MAnxCG@k = mean of nxCG@j over j = 1..k"
    example = Example(_RUN, 0.7812, "MAnxCG(overlap=on)@4")

    def score_topic(self, topic: TopicView) -> float:
        return float(self._shares(topic, self.at_rank()).mean())

    def _shares(self, topic: TopicView, k: int) -> Floats:
        """The values of nxCG at the ranks up to k."""
        ranks, curves = np.arange(1, k + 1), self.curves(topic)
        return _at(curves.xCG, ranks) / _at(curves.xCI, ranks)

    @classmethod
    def together(cls, measures: Sequence[Self]) -> Callable[[TopicView], Sequence[float]]:
        one, ranks = measures[0], [measure.at_rank() for measure in measures]

        def values(topic: TopicView) -> Sequence[float]:
            if not one.defined(topic):
                return [float("nan")] * len(ranks)
            shares = one._shares(topic, max(ranks))
            return [float(shares[:k].mean()) for k in ranks]

        return values


def _at(curve: Floats, ranks: Ints) -> Floats:
    """A cumulated curve at some ranks; it stays flat after its end."""
    return curve[np.minimum(ranks, len(curve) - 1)]


class GainRecall(_AtRank):
    """Gain-recall: xCG at rank k as a share of all that there is to gain."""

    name = "gr"
    section = "8"
    formula = "gr@k = xCG[k] / xCI[n]"
    example = Example(_RUN, 0.875, "gr(overlap=on)@4")

    def score_topic(self, topic: TopicView) -> float:
        gained = float(self.gains(topic)[: self.at_rank()].sum())
        return gained / float(self.ideal_gains(topic).sum())
