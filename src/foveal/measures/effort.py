"""Effort-precision: the rank an ideal list needs for a gain, against the rank the run needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import Alignment, TopicView
from foveal.measures.base import Choice, Cutoff, Example
from foveal.measures.nxcg import Cumulated, Curves
from foveal.measures.xcg import cumulated
from foveal.spans import Ints

__all__ = [
    "LEVELS",
    "POINTS",
    "EffortPrecision",
    "InterpolatedMeanEffortPrecision",
    "MeanEffortPrecision",
    "Natural",
    "at_recall",
    "mean_ep",
    "natural_points",
]

Floats = npt.NDArray[np.float64]
_RUN = "D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]"
LEVELS = np.arange(1, 101) / 100
"""The levels of recall that curves and means over levels have."""
POINTS = {Decimal(point) / 100: point - 1 for point in range(1, 101)}
"""Level to its place among `LEVELS`."""
_TOLERANCE = 1e-12


class Natural(NamedTuple):
    """The natural recall points of a run: the ranks at which it gains."""

    rank: Floats
    gained: Floats
    """xCG there."""
    ep: Floats


def _ideal_rank(gained: Floats, ideal: Floats, mode: str) -> Floats:
    """The rank at which the ideal curve reaches these gains, on straight lines or in steps."""
    if mode == "line":
        return np.interp(gained, ideal, np.arange(len(ideal)))
    slack = _TOLERANCE * ideal[-1]
    found: Floats = np.searchsorted(ideal, gained - slack).astype(np.float64)
    return np.clip(found, 1, len(ideal) - 1)


def natural_points(gains: Floats, ideal_gains: Floats, ideal: str = "line") -> Natural:
    """Effort-precision at every rank that gains."""
    return _natural(gains, Curves(cumulated(gains), cumulated(ideal_gains)), ideal)


def _natural(gains: Floats, curves: Curves, ideal: str) -> Natural:
    rank = np.flatnonzero(gains > 0) + 1
    gained = curves.xCG[rank]
    ep = _ideal_rank(gained, curves.xCI, ideal) / rank
    return Natural(rank.astype(np.float64), gained, ep)


def mean_ep(
    gains: Floats, ideal_gains: Floats, *, ideal: str = "line", divisor: str = "max"
) -> float:
    """The mean of effort-precision over natural recall points and what was never found."""
    return _mean(natural_points(gains, ideal_gains, ideal), len(ideal_gains), divisor)


def _mean(points: Natural, n: int, divisor: str) -> float:
    return float(points.ep.sum()) / (max(n, len(points.rank)) if divisor == "max" else n)


def at_recall(
    levels: Floats, gains: Floats, ideal_gains: Floats, *, ideal: str, between: str
) -> Floats:
    """Effort-precision at levels of gain-recall; 0 where the run does not come so far.

    Between natural recall points, ``curve`` reads run and ideal list on straight lines and
    ``step`` both in steps: a mixture could exceed 1. So `ideal` matters to ``line`` only.
    """
    points = natural_points(gains, ideal_gains, ideal)
    return _at_levels(levels, gains, points, cumulated(ideal_gains), between)


def _at_levels(
    levels: Floats, gains: Floats, points: Natural, curve: Floats, between: str
) -> Floats:
    """As `at_recall`, from the natural recall points of the run and the curve of the ideal list."""
    if not len(points.rank):
        return np.zeros(len(levels))
    wanted, slack = levels * curve[-1], _TOLERANCE * curve[-1]
    reached = wanted <= points.gained[-1] + slack
    if between == "line":
        ep = np.interp(wanted, points.gained, points.ep)
    elif between == "curve":
        # Before anything is gained both curves are at rank 0: the value is that of the first bit.
        target = np.clip(wanted, slack, points.gained[-1])
        at = np.minimum(np.searchsorted(points.gained, target - slack), len(points.rank) - 1)
        missing = np.maximum(points.gained[at] - target, 0.0)
        needed = points.rank[at] - missing / gains[gains > 0][at]
        ep = _ideal_rank(target, curve, "line") / needed
    else:
        at = np.minimum(np.searchsorted(points.gained, wanted - slack), len(points.rank) - 1)
        ep = _ideal_rank(np.maximum(wanted, slack), curve, "step") / points.rank[at]
    return np.where(reached, ep, 0.0)


class _Effort(Cumulated):
    ideal_ = Choice(
        "line",
        "step",
        description="the ideal curve is read on straight lines between ranks, or in steps",
    )

    def points(self, topic: TopicView) -> Natural:
        """The natural recall points."""
        points, bounds = self.points_of_run(topic.alignment, again=topic.again)
        low, high = (0, 0) if topic.place is None else bounds[topic.place : topic.place + 2]
        return Natural(*(column[low:high] for column in points))

    def points_of_run(self, run: Alignment, *, again: bool) -> tuple[Natural, Ints]:
        """The natural recall points of all topics, and their bounds as those of the run.

        Once for all measures of these gains.
        """
        key = ("points", self.gains_key(run.gold), self.ideal_, again)
        return run.memo(key, lambda: self._points_of_run(run, again=again))

    def _points_of_run(self, run: Alignment, *, again: bool) -> tuple[Natural, Ints]:
        gains, ideal = self.gains_of_run(run, again=again), self.ideal_curves(run.gold)
        at = np.flatnonzero(gains > 0)
        bounds = np.searchsorted(at, run.run.bounds)
        rank = (at + 1 - np.repeat(run.run.bounds[:-1], np.diff(bounds))).astype(np.float64)
        # What gains nothing changes no sum: those of the others alone are the same to the last bit.
        gained, ideal_rank, gains = np.empty(len(at)), np.zeros(len(at)), gains[at]
        owners = zip(pairwise(bounds.tolist()), run.judged_topic.tolist(), strict=True)
        for (low, high), topic in owners:
            own = np.cumsum(gains[low:high], out=gained[low:high])
            if len(own) and len(ideal[topic]) > 1:
                ideal_rank[low:high] = _ideal_rank(own, ideal[topic], self.ideal_)
        return Natural(rank, gained, ideal_rank / rank), bounds


class _Interpolated(_Effort):
    between = Choice(
        "line",
        "curve",
        "step",
        description="between natural recall points: straight lines of ep, lines of both gain "
        "curves, or steps",
    )

    def ep(self, topic: TopicView, levels: Floats) -> Floats:
        """Effort-precision at levels of gain-recall."""
        gains, curve = self.gains(topic), self.ideal_curve(topic)
        return _at_levels(levels, gains, self.points(topic), curve, self.between)

    def ep_at_all_levels(self, topic: TopicView) -> Floats:
        """Effort-precision at .01, .02, ..., 1, calculated once for all points of the curve."""
        if self.between != "line":
            key = ("ep", self.gains_key(topic.alignment.gold), self.ideal_, self.between)
            return topic.memo(key, lambda: self.ep(topic, LEVELS))
        if topic.place is None:
            return np.zeros(len(LEVELS))
        run, again = topic.alignment, topic.again
        of_all = ("ep", self.gains_key(run.gold), self.ideal_, again)
        own: Floats = run.memo(of_all, lambda: self._on_lines(run, again=again))[topic.place]
        return own

    def _on_lines(self, run: Alignment, *, again: bool) -> Floats:
        """As `ep` at all levels, of each topic of a run: between its points on straight lines."""
        points, bounds = self.points_of_run(run, again=again)
        curves = self.ideal_curves(run.gold)
        total = np.array([curves[topic][-1] for topic in run.judged_topic.tolist()])
        wanted, ep = LEVELS * total[:, None], np.zeros((len(total), len(LEVELS)))
        for i, (low, high) in enumerate(pairwise(bounds.tolist())):
            if low < high:
                ep[i] = np.interp(wanted[i], points.gained[low:high], points.ep[low:high])
        last = np.append(0.0, points.gained)[bounds[1:]]  # where there are no points, ep is 0
        return np.where(wanted <= (last + _TOLERANCE * total)[:, None], ep, 0.0)


class EffortPrecision(_Interpolated):
    """Effort-precision at a level of gain-recall."""

    name = "ep"
    section = "8"
    cutoff = Cutoff.RECALL
    curve = (*(f"{p / 100:.2f}" for p in range(1, 100)), "1")
    formula = "ep@x = rank of the ideal list at gain x / rank of the run at gain x"
    example = Example(_RUN, 0.75, "ep(overlap=on)@0.5")

    def score_topic(self, topic: TopicView) -> float:
        assert self.at is not None
        point = POINTS.get(self.at)
        if point is not None:
            return float(self.ep_at_all_levels(topic)[point])
        return float(self.ep(topic, np.array([float(self.at)]))[0])

    @classmethod
    def together(cls, measures: Sequence[Self]) -> Callable[[TopicView], Sequence[float]]:
        points = [POINTS.get(measure.at or Decimal(0)) for measure in measures]
        if None in points:
            return super().together(measures)
        one, at = measures[0], np.array(points)

        def values(topic: TopicView) -> Sequence[float]:
            if not one.defined(topic):
                return [float("nan")] * len(at)
            found: list[float] = one.ep_at_all_levels(topic)[at].tolist()
            return found

        return values


class MeanEffortPrecision(_Effort):
    """Mean average effort-precision over the natural recall points of the run."""

    name = "MAep"
    aliases: ClassVar[tuple[str, ...]] = ("Aep",)
    section = "8"
    place = 1
    formula = "MAep = sum of ep at ranks that gain / max(n, number of such ranks)"
    example = Example(_RUN, 0.7083, "MAep(overlap=on)")

    divisor = Choice(
        "max",
        "n",
        description="divide by the number of elements to find, or of ranks that gain if there "
        "are more; or always by the former",
    )

    def score_topic(self, topic: TopicView) -> float:
        return _mean(self.points(topic), len(self.ideal_gains(topic)), self.divisor)


class InterpolatedMeanEffortPrecision(_Interpolated):
    """The mean of effort-precision at 100 levels of gain-recall."""

    name = "iMAep"
    section = "8"
    place = 2
    formula = "iMAep = mean of ep@x over x = .01, .02, ..., 1"
    example = Example(_RUN, 0.5991, "iMAep(overlap=on)")

    def score_topic(self, topic: TopicView) -> float:
        return float(self.ep_at_all_levels(topic).mean())
