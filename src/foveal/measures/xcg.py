"""What the XCG measures share: their parameters, and the cumulated gains of run and ideal list."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.measures.base import Choice, Cutoff, Example, Flag, Measure, Need, Number
from foveal.measures.gains import Settings, ideal_gains, run_gains
from foveal.model import Run
from foveal.recall.quantisation import QUANTISATIONS, find_quantisation
from foveal.spans import Ints

__all__ = [
    "LEVELS",
    "POINTS",
    "XCG",
    "Cumulated",
    "EffortPrecision",
    "GainRecall",
    "InterpolatedMeanEffortPrecision",
    "MeanEffortPrecision",
    "MeanNormalisedGain",
    "Natural",
    "NormalisedGain",
    "QMeasure",
    "RMeasure",
    "TotalGain",
    "at_recall",
    "cumulated",
    "flat",
    "mean_ep",
    "natural_points",
]

Floats = npt.NDArray[np.float64]


def cumulated(gains: Floats) -> Floats:
    """Gains summed from rank 0, where there is nothing, on."""
    return np.concatenate([[0.0], np.cumsum(gains)])


def flat(curve: Floats, rank: int) -> float:
    """A cumulated curve at a rank; it stays flat after its end."""
    return float(curve[min(rank, len(curve) - 1)])


class XCG(Measure):
    """A measure of cumulated gain over elements that may be nested."""

    structural = True
    source = "Kazai and Lalmas, INEX 2005 evaluation measures"

    quant = Choice(*QUANTISATIONS, description="what an assessed element is worth")
    overlap_ = Choice(
        "off",
        "on",
        description="off: every element counts by itself; on: what was seen before gains nothing, "
        "near misses of an ideal element share its gain",
    )
    alpha = Number(1.0, "overlap=on: how much text seen before is discounted", high=1.0)
    base = Choice(
        "ideal", "maxsum", description="overlap=on: the ideal elements by paths, or by largest sum"
    )
    tie = Choice(
        "ascendant",
        "deeper",
        description="overlap=on: of equals on a path, the higher or the deeper one is ideal",
    )
    norm = Choice(
        "subtree",
        "overlap",
        "none",
        description="overlap=on: results in an ideal element share its gain; so do those that "
        "hold it; or nothing is shared",
    )
    mixed = Choice(
        "text",
        "ignore",
        description="overlap=on: text directly inside a partly seen element counts, or not",
    )
    formula_ = Choice(
        "inex2005",
        "encyclopedia",
        description="overlap=on: a partly seen element is worth what is left of its parts, or "
        "what its retrieved parts gained",
    )
    clamp = Flag(
        default=True,
        description="overlap=on: a partly seen element is never worth more than an unseen one",
    )
    normalise = Flag(
        default=False, description="divide gains by the largest the quantisation gives"
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        sizes = (Need.ELEMENT_SIZES,) if self.overlap_ == "on" else ()
        return (Need.STRUCTURE, Need.ELEMENT_RESULTS, *sizes)

    def check_gold(self, judged: Gold) -> None:
        if judged.forest is not None:
            find_quantisation(self.quant, judged.forest.assessed.scale)

    def notes(self, judged: Gold) -> tuple[str, ...]:
        if judged.forest is None or self.settings_of_gains(judged).mixed == self.mixed:
            return ()
        note = (
            f"{self.name}: the text directly inside elements is not known without a collection; "
            "partly seen elements are scored with mixed=ignore"
        )
        return (note,)

    def settings_of_gains(self, judged: Gold) -> Settings:
        """The parameters that change gains, and what they are on these judgements."""
        key = ("settings of gains", type(self), self.key)
        return judged.memo(key, lambda: self._settings_of_gains(judged))

    def _settings_of_gains(self, judged: Gold) -> Settings:
        """As `settings_of_gains`.

        What the text directly inside an element is worth takes a collection, except where worth is
        counted in highlighted characters.
        """
        assert judged.forest is not None
        mixed = self.mixed
        if self.overlap_ == "on" and not judged.forest.complete and mixed == "text":
            function = find_quantisation(self.quant, judged.forest.assessed.scale)
            mixed = "text" if function.name == "spec" else "ignore"
        return Settings(
            self.quant,
            self.overlap_,
            self.alpha,
            self.base,
            self.tie,
            self.norm,
            mixed,
            self.formula_,
            self.clamp,
            self.normalise,
        )

    def gains_key(self, judged: Gold) -> Hashable:
        """What gains and ideal gains depend on: a class may have its own."""
        own = (type(self).gains, type(self).ideal_gains)
        return own, self.settings_of_gains(judged)

    def gains_of_run(self, run: Alignment, *, again: bool) -> Floats:
        """xG: the gain of each result, those of all topics at once."""
        if type(self).gains is XCG.gains:
            return run_gains(run, self.settings_of_gains(run.gold), again=again)
        own = [self.gains(run.topic(topic, again=again)) for topic in run.run.topics]
        return np.concatenate([np.zeros(0), *own])

    def gains(self, topic: TopicView) -> Floats:
        """xG: the gain of each result."""
        settings = self.settings_of_gains(topic.alignment.gold)
        return run_gains(topic.alignment, settings, again=topic.again)[topic.slice]

    def ideal_gains(self, topic: TopicView) -> Floats:
        """xI: the gains of the ideal list."""
        judged = topic.alignment.gold
        return ideal_gains(judged, self.settings_of_gains(judged), topic.at)

    def ideal_curves(self, judged: Gold) -> list[Floats]:
        """The xCI of each judged topic: gains of its ideal list summed up, once for all runs."""
        return judged.memo(("xCI", self.gains_key(judged)), lambda: self._ideal_curves(judged))

    def _ideal_curves(self, judged: Gold) -> list[Floats]:
        nothing = Alignment(Run.from_results({}), judged)
        topics = map(nothing.topic, judged.judgements.topics)
        return [cumulated(self.ideal_gains(topic)) for topic in topics]

    def ideal_curve(self, topic: TopicView) -> Floats:
        """xCI: the gains of the ideal list summed up."""
        return self.ideal_curves(topic.alignment.gold)[topic.at]

    def curve_of_run(self, topic: TopicView) -> Floats:
        """xCG: the gains of the results summed up, once for all measures of these gains."""
        key = ("xCG", self.gains_key(topic.alignment.gold))
        return topic.memo(key, lambda: cumulated(self.gains(topic)))

    def is_defined(self, topic: TopicView) -> bool:
        return len(self.ideal_gains(topic)) > 0


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
            if not one.is_defined(topic):
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
            if not one.is_defined(topic):
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
            if not one.is_defined(topic):
                return [float("nan")] * len(at)
            found: list[float] = one.ep_at_all_levels(topic)[at].tolist()
            return found

        return values


class MeanEffortPrecision(_Effort):
    """Mean average effort-precision over the natural recall points of the run."""

    name = "MAep"
    aliases: ClassVar[tuple[str, ...]] = ("Aep",)
    section = "8"
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
    formula = "iMAep = mean of ep@x over x = .01, .02, ..., 1"
    example = Example(_RUN, 0.5991, "iMAep(overlap=on)")

    def score_topic(self, topic: TopicView) -> float:
        return float(self.ep_at_all_levels(topic).mean())


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


MEASURES = (
    TotalGain,
    NormalisedGain,
    MeanNormalisedGain,
    EffortPrecision,
    GainRecall,
    MeanEffortPrecision,
    InterpolatedMeanEffortPrecision,
    QMeasure,
    RMeasure,
)
