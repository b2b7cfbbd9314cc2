"""The XCG family: cumulated gains, effort-precision, Q and R measure (INEX 2005 and 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self

import numpy as np

from foveal.measures.alignment import Alignment, Floats, Gold, TopicView
from foveal.measures.gains import GainSettings, Ideal, compute_gains, knows_own_text, list_ideals
from foveal.measures.measure import Choice, Cutoff, Example, Flag, Measure, Need, Number
from foveal.recall.forest import QUANTISATIONS, find_quantisation
from foveal.spans import Ints

LEVELS = np.arange(1, 101) / 100  # the levels of recall that curves and means over levels have
CURVE = (*(f"{p / 100:.2f}" for p in range(1, 100)), "1")  # the same as cut-offs
DIVISOR = Choice(
    "max|n",
    "divide by the number of elements to find, or of ranks that gain if there "
    "are more; or always by the former",
)
TOLERANCE = 1e-12  # differences below this share of the total gain are rounding
_RUN = "D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]"


def cumulate(gains: Floats) -> Floats:
    """Sum up gains from rank 0, where there is nothing, on."""
    return np.concatenate([[0.0], np.cumsum(gains)])


class Curves(NamedTuple):
    """Gains summed from rank 0, where there is nothing, on."""

    xCG: Floats  # noqa: N815 - the names of the papers
    xCI: Floats  # noqa: N815 - the names of the papers

    def divide_at(self, ranks: Ints) -> Floats:
        """Return xCG / xCI at some ranks; both curves stay flat after their ends."""
        run, ideal = (curve[np.minimum(ranks, len(curve) - 1)] for curve in self)
        return run / ideal


class XCG(Measure):
    """A measure of cumulated gain over elements that may be nested."""

    structural = True
    source = "Kazai and Lalmas, INEX 2005 evaluation measures"

    quant = Choice("|".join(QUANTISATIONS), "what an assessed element is worth")
    overlap = Choice(
        "off|on",
        "off: every element counts by itself; on: what was seen before gains nothing, "
        "near misses of an ideal element share its gain",
    )
    alpha = Number(1.0, "overlap=on: how much text seen before is discounted", high=1.0)
    base = Choice("ideal|maxsum", "overlap=on: the ideal elements by paths, or by largest sum")
    tie = Choice(
        "ascendant|deeper", "overlap=on: of equals on a path, the higher or the deeper one is ideal"
    )
    norm = Choice(
        "subtree|overlap|none",
        "overlap=on: results in an ideal element share its gain; so do those that "
        "hold it; or nothing is shared",
    )
    mixed = Choice(
        "text|ignore", "overlap=on: text directly inside a partly seen element counts, or not"
    )
    formula_ = Choice(
        "inex2005|encyclopedia",
        "overlap=on: a partly seen element is worth the rest of its parts, or "
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
        sizes = (Need.ELEMENT_SIZES,) if self.overlap == "on" else ()
        return (Need.STRUCTURE, Need.ELEMENT_RESULTS, *sizes)

    def check_gold(self, gold: Gold) -> None:
        if gold.forest is not None:
            find_quantisation(self.quant, gold.forest.assessed.scale)

    def notes(self, gold: Gold) -> tuple[str, ...]:
        if self.overlap == "off" or self.mixed == "ignore" or knows_own_text(gold, self.quant):
            return ()
        note = (
            "the text directly inside elements is not known without a collection; "
            "partly seen elements are scored with mixed=ignore"
        )
        return (note,)

    @cached_property
    def gain_settings(self) -> GainSettings:
        """The parameters that change gains."""
        return GainSettings._make(getattr(self, name) for name in GainSettings._fields)

    def find_ideal(self, topic: TopicView) -> Ideal:
        """Return the ideal list with xI and xCI."""
        return topic.alignment.gold.cached(list_ideals, self.gain_settings)[topic.at]

    def gain_lists(self, topic: TopicView) -> tuple[Floats, Ideal]:
        """Return xG, the gain of each result, and the ideal list."""
        gains = topic.alignment.cached(compute_gains, self.gain_settings)
        return gains[topic.slice], self.find_ideal(topic)

    def is_defined(self, topic: TopicView) -> bool:
        return len(self.find_ideal(topic).gains) > 0


class Cumulated(XCG):
    """A measure of the curves of cumulated gain."""

    def curves(self, topic: TopicView) -> Curves:
        """Return the cumulated gains of the run and of the ideal list."""
        gains, ideal = self.gain_lists(topic)
        return Curves(cumulate(gains), ideal.curve)


# -- at ranks ----------------------------------------------------------------------------------


class TotalGain(Cumulated):
    """Extended cumulated gain: what the first k results bring together."""

    name = "xCG"
    section = "6"
    cutoff = Cutoff.RANK
    formula = "xCG@k = sum of xG[i] over i <= k"
    range = (0.0, None)
    ideal = None
    example = Example(_RUN, 2.25, "xCG@4")

    def score_topic(self, topic: TopicView) -> float:
        return float(self.gain_lists(topic)[0][: self.rank].sum())


class NormalisedGain(Cumulated):
    """Normalised extended cumulated gain: xCG@k as a share of that of the ideal list."""

    name = "nxCG"
    section = "7"
    cutoff = Cutoff.RANK
    formula = "nxCG@k = xCG[k] / xCI[k]"
    curve = tuple(str(15 * p) for p in range(1, 101))
    example = Example(_RUN, 0.875, "nxCG(overlap=on)@4")

    @classmethod
    def score_curve(cls, measures: Sequence[Self], alignment: Alignment) -> Floats:
        one, ranks = measures[0], np.array([measure.rank or 1 for measure in measures])
        scores = np.full((len(alignment.gold.topics), len(measures)), np.nan)
        for view in map(alignment.topic, alignment.gold.topics):
            if one.is_defined(view):
                scores[view.at] = cls.summarise(one.curves(view), ranks)
        return scores

    def score_topics(self, alignment: Alignment) -> Floats:
        return self.score_curve([self], alignment)[:, 0]

    @staticmethod
    def summarise(curves: Curves, ranks: Ints) -> Floats:
        """Return the scores at ranks from the curves of a topic."""
        return curves.divide_at(ranks)


class MeanNormalisedGain(NormalisedGain):
    """The mean of nxCG over the ranks up to k."""

    name = "MAnxCG"
    aliases = ("MAxCG",)
    curve = ()
    formula = "MAnxCG@k = mean of nxCG@j over j = 1..k"
    example = Example(_RUN, 0.7812, "MAnxCG(overlap=on)@4")

    @staticmethod
    def summarise(curves: Curves, ranks: Ints) -> Floats:
        shares = curves.divide_at(np.arange(1, ranks.max() + 1))
        return np.array([shares[:k].mean() for k in ranks])


class GainRecall(Cumulated):
    """Gain-recall: xCG at rank k as a share of all that there is to gain."""

    name = "gr"
    section = "8"
    cutoff = Cutoff.RANK
    formula = "gr@k = xCG[k] / xCI[n]"
    example = Example(_RUN, 0.875, "gr(overlap=on)@4")

    def score_topic(self, topic: TopicView) -> float:
        gains, ideal = self.gain_lists(topic)
        return float(gains[: self.rank].sum()) / float(ideal.gains.sum())


# -- effort-precision --------------------------------------------------------------------------


class NaturalPoints(NamedTuple):
    """The natural recall points of a list: the ranks at which it gains."""

    rank: Floats
    gain: Floats
    gained: Floats  # xCG there
    ep: Floats


def _find_ideal_step(gained: Floats, ideal: Floats) -> Floats:
    """Return the whole ranks at which an ideal curve reaches gains."""
    slack = TOLERANCE * ideal[-1]
    found: Floats = np.searchsorted(ideal, gained - slack).astype(np.float64)
    return np.clip(found, 1, len(ideal) - 1)


def find_points(gains: Floats, ideal: Floats, mode: str = "line") -> NaturalPoints:
    """Return effort-precision at every rank that gains.

    `ideal` is the cumulated gain of the ideal list, read on straight lines between its ranks, or
    with ``mode="step"`` in steps.

    >>> points = find_points(np.array([0.5, 0, 1]), np.array([0, 1, 1.5]))
    >>> points.rank.tolist(), points.ep.round(4).tolist()
    ([1.0, 3.0], [0.5, 0.6667])
    """
    at = np.flatnonzero(gains > 0)
    rank, gain = (at + 1).astype(np.float64), gains[at]
    # What gains nothing changes no sum: those of the others alone are the same to the last bit.
    gained = np.cumsum(gain)
    if mode == "step":
        return NaturalPoints(rank, gain, gained, _find_ideal_step(gained, ideal) / rank)
    ideal_rank = np.interp(gained, ideal, np.arange(len(ideal)))
    return NaturalPoints(rank, gain, gained, ideal_rank / rank)


def interpolate(
    points: NaturalPoints, ideal: Floats, levels: Floats, between: str = "line"
) -> Floats:
    """Return effort-precision at levels of gain-recall; 0 where the list does not come so far.

    Between natural recall points, ``line`` draws straight lines of ep, ``curve`` reads run and
    ideal list on straight lines and ``step`` both in steps: a mixture could exceed 1. So it
    matters only to ``line`` how the points were found.
    """
    if not len(points.rank):
        return np.zeros(len(levels))
    wanted, slack = levels * ideal[-1], TOLERANCE * ideal[-1]
    reached = wanted <= points.gained[-1] + slack
    if between == "line":
        ep = np.interp(wanted, points.gained, points.ep)
    elif between == "curve":
        # Before anything is gained both curves are at rank 0: the value is that of the first bit.
        target = np.clip(wanted, slack, points.gained[-1])
        at = np.minimum(np.searchsorted(points.gained, target - slack), len(points.rank) - 1)
        missing = np.maximum(points.gained[at] - target, 0.0)
        needed = points.rank[at] - missing / points.gain[at]
        ep = np.interp(target, ideal, np.arange(len(ideal))) / needed
    else:
        at = np.minimum(np.searchsorted(points.gained, wanted - slack), len(points.rank) - 1)
        ep = _find_ideal_step(np.maximum(wanted, slack), ideal) / points.rank[at]
    return np.where(reached, ep, 0.0)


class AtRecall(Measure):
    """Precision at levels of recall, or without a cut-off its mean over the levels .01 to 1."""

    def curve_at(self, topic: TopicView, levels: Floats) -> Sequence[Floats]:
        """Return precision at levels of recall: one curve, or several to average."""
        raise NotImplementedError  # pragma: no cover - every measure defines it

    def average(self, topic: TopicView) -> float:
        """Return the score without a cut-off."""
        return float(np.mean([curve.mean() for curve in self.curve_at(topic, LEVELS)]))

    @classmethod
    def score_curve(cls, measures: Sequence[Self], alignment: Alignment) -> Floats:
        one, levels = measures[0], np.array([float(m.at) for m in measures if m.at is not None])
        cut = np.array([measure.at is not None for measure in measures])
        scores = np.full((len(alignment.gold.topics), len(measures)), np.nan)
        for view in map(alignment.topic, alignment.gold.topics):
            if not one.is_defined(view):
                continue
            if len(levels):
                curves = one.curve_at(view, levels)
                mean = np.mean(curves, axis=0) if len(curves) > 1 else curves[0]
                scores[view.at, cut] = mean
            if len(levels) < len(measures):
                scores[view.at, ~cut] = one.average(view)
        return scores

    def score_topics(self, alignment: Alignment) -> Floats:
        return self.score_curve([self], alignment)[:, 0]


class _EffortMeasure(Cumulated):
    ideal_ = Choice(
        "line|step", "the ideal curve is read on straight lines between ranks, or in steps"
    )

    def points(self, topic: TopicView) -> NaturalPoints:
        """Return the natural recall points; measures of the same gains share them."""
        if topic.place is None:
            return NaturalPoints(*[np.zeros(0)] * 4)
        found = topic.alignment.cached(_find_run_points, self.gain_settings, self.ideal_)
        return found[topic.place]


def _find_run_points(
    alignment: Alignment, settings: GainSettings, mode: str
) -> list[NaturalPoints]:
    """Return the natural recall points of each topic of a run."""
    gains = alignment.cached(compute_gains, settings)
    ideals = alignment.gold.cached(list_ideals, settings)
    topics = zip(pairwise(alignment.run.bounds.tolist()), alignment.judged_topic, strict=True)
    return [find_points(gains[slice(*own)], ideals[topic].curve, mode) for own, topic in topics]


class _Interpolated(AtRecall, _EffortMeasure):
    between = Choice(
        "line|curve|step",
        "between natural recall points: straight lines of ep, lines of both gain curves, or steps",
    )

    def curve_at(self, topic: TopicView, levels: Floats) -> Sequence[Floats]:
        curve = self.find_ideal(topic).curve
        return [interpolate(self.points(topic), curve, levels, self.between)]


class EffortPrecision(_Interpolated):
    """Effort-precision at a level of gain-recall."""

    name = "ep"
    section = "8"
    cutoff = Cutoff.RECALL
    curve = CURVE
    formula = "ep@x = rank of the ideal list at gain x / rank of the run at gain x"
    example = Example(_RUN, 0.75, "ep(overlap=on)@0.5")


class MeanEffortPrecision(_EffortMeasure):
    """Mean average effort-precision over the natural recall points of the run."""

    name = "MAep"
    aliases: ClassVar[tuple[str, ...]] = ("Aep",)
    section = "8"
    formula = "MAep = sum of ep at ranks that gain / max(n, number of such ranks)"
    example = Example(_RUN, 0.7083, "MAep(overlap=on)")

    divisor = DIVISOR

    def score_topic(self, topic: TopicView) -> float:
        ep, n = self.points(topic).ep, len(self.find_ideal(topic).gains)
        return float(ep.sum()) / (max(n, len(ep)) if self.divisor == "max" else n)


class InterpolatedMeanEffortPrecision(_Interpolated):
    """The mean of effort-precision at 100 levels of gain-recall."""

    name = "iMAep"
    section = "8"
    formula = "iMAep = mean of ep@x over x = .01, .02, ..., 1"
    example = Example(_RUN, 0.5991, "iMAep(overlap=on)")


# -- Q and R measure ---------------------------------------------------------------------------


def _add_bonus(gains: Floats) -> Floats:
    """Add 1 to every gain that is not 0."""
    return np.where(gains > 0, gains + 1, 0.0)


class QMeasure(XCG):
    """Q-measure: gain with a bonus for every hit, over the ideal gain and the rank."""

    name = "Q"
    aliases = ("Q-measure",)
    section = "9"
    formula = "Q = 1/R * sum over gaining ranks j of cbg(j) / (cig(j) + j)"
    source = "Sakai 2004; Kazai and Lalmas, INEX 2005 evaluation measures"
    example = Example(_RUN, 0.8472, "Q(overlap=on)")

    divisor = DIVISOR
    form = Choice(
        "sakai|printed",
        "as Sakai defines it, or as the INEX 2005 paper prints it (an ideal run does "
        "not reach 1 then)",
    )

    def score_topic(self, topic: TopicView) -> float:
        gains, ideal = self.gain_lists(topic)
        n, rank = len(ideal.gains), np.flatnonzero(gains > 0) + 1
        best = ideal.curve if self.form == "sakai" else cumulate(_add_bonus(ideal.gains))
        gained = cumulate(_add_bonus(gains))[rank]
        total = float((gained / (best[np.minimum(rank, n)] + rank)).sum())
        return total / (max(n, len(rank)) if self.divisor == "max" else n)


class RMeasure(XCG):
    """R-measure: gain with a bonus for every hit at rank R, the number of elements to find."""

    name = "Rmeasure"
    aliases = ("R-measure",)
    section = "9"
    formula = "Rmeasure = cbg(R) / (cig(R) + R)"
    source = "Sakai 2004; Kazai and Lalmas, INEX 2005 evaluation measures"
    example = Example(_RUN, 0.7, "Rmeasure(overlap=on)")

    divisor = QMeasure.divisor
    form = QMeasure.form

    def score_topic(self, topic: TopicView) -> float:
        gains, ideal = self.gain_lists(topic)
        n = len(ideal.gains)
        gained = float(cumulate(_add_bonus(gains)[:n])[-1])
        return gained / ((float(ideal.gains.sum()) if self.form == "sakai" else gained) + n)
