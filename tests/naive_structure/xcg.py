"""Measures of cumulated gain: nxCG, ep/gr, Q and R, Fetch & Browse (sections 7 to 10)."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from inspect import signature
from itertools import pairwise
from typing import Any, Literal

from naive_structure.quantisation import quantised
from naive_structure.trees import (
    NAN,
    ZERO,
    Documents,
    Number,
    Results,
    cumulate,
    keys_of,
    mean,
    percents,
    rank_of,
    recall_point,
)
from naive_structure.xcg_gains import decreasing, gains

Gains = Sequence[Fraction]

# --------------------------------------------------------------------------------------------
# Cumulated gain (section 7)
# --------------------------------------------------------------------------------------------


def of_gains(function: Callable[..., Fraction]) -> Callable[..., float]:
    """Return the measure that is this function of the gains of a run and of an ideal run."""
    own = signature(function).parameters.keys()

    def measure(results: Results, documents: Documents, **options: Any) -> float:
        given = {name: value for name, value in options.items() if name in own}
        rest = {name: value for name, value in options.items() if name not in own}
        xG, xI = gains(results, documents, **rest)
        return float(function(xG, xI, **given)) if xI else NAN

    return measure


@of_gains
def xCG(xG: Gains, xI: Gains, *, k: int) -> Fraction:
    """The gain cumulated in the first k results."""
    return cumulate(xG, rank_of(k))


def nxcg(xG: Gains, xI: Gains, k: int) -> Fraction:
    """xCG[k] / xCI[k], relative to an ideal run ([S05] eq 5)."""
    return cumulate(xG, rank_of(k)) / cumulate(xI, k)


nxCG = of_gains(nxcg)


@of_gains
def MAnxCG(xG: Gains, xI: Gains, *, k: int) -> Fraction:
    """The mean of nxCG over the ranks 1 to k ([S05] eq 6)."""
    return mean([nxcg(xG, xI, j) for j in range(1, rank_of(k) + 1)])


# --------------------------------------------------------------------------------------------
# Effort-precision and gain-recall (section 8)
# --------------------------------------------------------------------------------------------

IdealSide = Literal["line", "step"]
Between = Literal["line", "curve", "step"]
Divisor = Literal["max", "n"]


def _effort(gain: Fraction, values: Gains, side: IdealSide) -> Fraction:
    """How far a list is to be read until its cumulated gain is ``gain`` (> 0).

    ``step``: the first rank that reaches it; ``line``: the place on the straight line between that
    rank and the one before. A list that never reaches it is read to its end.
    """
    reached = ZERO
    for m, value in enumerate(values, start=1):
        if reached + value >= gain:
            return Fraction(m) if side == "step" else m - 1 + (gain - reached) / value
        reached += value
    return Fraction(len(values))


def natural_points(
    xG: Gains, xI: Gains, ideal: IdealSide = "line"
) -> list[tuple[int, Fraction, Fraction]]:
    """(rank, gr, ep) of every rank that gains."""
    points = []
    for k, gain in enumerate(xG, start=1):
        if gain > 0:
            cumulated = cumulate(xG, k)
            points.append((k, cumulated / sum(xI), _effort(cumulated, xI, ideal) / k))
    return points


def effort_precision(
    xG: Gains, xI: Gains, *, x: Number, ideal: IdealSide = "line", between: Between = "line"
) -> Fraction:
    """Effort-precision at gain-recall x; 0 beyond what the run reaches."""
    x = recall_point(x)
    gain = x * sum(xI)
    if sum(xG, ZERO) < gain:
        return ZERO
    if between == "curve":
        return _effort(gain, xI, "line") / _effort(gain, xG, "line")
    if between == "step":
        return _effort(gain, xI, "step") / _effort(gain, xG, "step")
    points = natural_points(xG, xI, ideal)
    if x <= points[0][1]:
        return points[0][2]
    for (_, before, low), (_, after, high) in pairwise(points):
        if x <= after:
            return low + (high - low) * (x - before) / (after - before)
    raise AssertionError("the last natural point has all the gain")


def average_effort_precision(
    xG: Gains, xI: Gains, *, ideal: IdealSide = "line", divisor: Divisor = "max"
) -> Fraction:
    """Effort-precision averaged over the natural recall points: the sum / D."""
    points = natural_points(xG, xI, ideal)
    d = max(len(xI), len(points)) if divisor == "max" else len(xI)
    return sum((precision for _, _, precision in points), ZERO) / d


def interpolated_effort_precision(
    xG: Gains, xI: Gains, *, ideal: IdealSide = "line", between: Between = "line"
) -> Fraction:
    """Effort-precision averaged over 100 recall points."""
    return mean([effort_precision(xG, xI, x=x, ideal=ideal, between=between) for x in percents()])


@of_gains
def gr(xG: Gains, xI: Gains, *, k: int) -> Fraction:
    """Gain-recall xCG[k] / xCI[n]."""
    return cumulate(xG, rank_of(k)) / sum(xI)


ep = of_gains(effort_precision)
MAep = of_gains(average_effort_precision)
iMAep = of_gains(interpolated_effort_precision)


# --------------------------------------------------------------------------------------------
# Q and R measures (section 9)
# --------------------------------------------------------------------------------------------

Form = Literal["sakai", "printed"]


def _with_bonus(values: Gains) -> list[Fraction]:
    """bg: one more for everything that gains."""
    return [value + 1 if value > 0 else ZERO for value in values]


@of_gains
def Q(xG: Gains, xI: Gains, *, divisor: Divisor = "max", form: Form = "sakai") -> Fraction:
    """Sakai's Q-measure: (1/D) sum over gaining ranks j of cbg(j) / (cig(j) + j)."""
    ideal = xI if form == "sakai" else _with_bonus(xI)
    bonus = _with_bonus(xG)
    ranks = [j for j, gain in enumerate(xG, start=1) if gain > 0]
    total = sum((cumulate(bonus, j) / (cumulate(ideal, j) + j) for j in ranks), ZERO)
    return total / (max(len(xI), len(ranks)) if divisor == "max" else len(xI))


@of_gains
def Rmeasure(xG: Gains, xI: Gains, *, divisor: Divisor = "max", form: Form = "sakai") -> Fraction:
    """Sakai's R-measure: cbg(R) / (cig(R) + R), or as printed with cbg(R) in both places.

    It divides by nothing that ``divisor`` could change.
    """
    r = len(xI)
    found = cumulate(_with_bonus(xG), r)
    return found / ((sum(xI) if form == "sakai" else found) + r)


# --------------------------------------------------------------------------------------------
# Fetch & Browse (section 10)
# --------------------------------------------------------------------------------------------

Score = Literal["MAep", "iMAep"]


def _score(
    xG: Gains,
    xI: Gains,
    score: Score,
    ideal: IdealSide,
    divisor: Divisor = "max",
    x: Number | None = None,
) -> Fraction:
    """MAep or iMAep, or where gain-recall x is given ep there."""
    if x is not None:
        return effort_precision(xG, xI, x=x, ideal=ideal)
    if score == "MAep":
        return average_effort_precision(xG, xI, ideal=ideal, divisor=divisor)
    return interpolated_effort_precision(xG, xI, ideal=ideal)


def retrieved_docs(results: Results) -> list[str]:
    """The documents of a run in the order of their first results."""
    return list(dict.fromkeys(result[0] for result in results))


def FBarticle(
    results: Results,
    documents: Documents,
    *,
    x: Number | None = None,
    score: Score = "MAep",
    quant: str = "spec",
    article_gain: Literal["auto", "self", "max"] = "auto",
    ideal: IdealSide = "line",
) -> float:
    """How well whole documents are fetched."""
    keys_of(results, documents)
    q = quantised(documents, quant)
    gain: dict[str, Fraction] = {}
    for name, document in documents.items():
        own = q[name, f"/{document.tree.tag}[1]"]
        largest = max(value for key, value in q.items() if key[0] == name)
        if article_gain == "max" or (article_gain == "auto" and own == 0):
            own = largest
        gain[name] = own
    xI = decreasing(value for value in gain.values() if value > 0)
    if not xI:
        return NAN
    xG = [gain[name] for name in retrieved_docs(results)]
    return float(_score(xG, xI, score, ideal, x=x))


def FBelement(
    results: Results,
    documents: Documents,
    *,
    x: Number | None = None,
    score: Score = "MAep",
    ideal: IdealSide = "line",
    divisor: Divisor = "max",
    clusters: Literal["retrieved_relevant", "all_relevant", "retrieved"] = "retrieved_relevant",
    **options: Any,
) -> float:
    """How well the fetched documents are browsed: the mean over them, each by itself."""
    keys_of(results, documents)
    scores: dict[str, Fraction | None] = {}  # None where nothing is relevant
    for name, document in documents.items():
        alone = {name: document}
        inside = [result for result in results if result[0] == name]
        if document.judged:
            xG, xI = gains(inside, alone, **options)
            scores[name] = _score(xG, xI, score, ideal, divisor, x) if xI else None
        else:
            scores[name] = None
    relevant = [name for name, value in scores.items() if value is not None]
    if not relevant:
        return NAN
    retrieved = retrieved_docs(results)
    if clusters == "retrieved":
        chosen = retrieved
    elif clusters == "all_relevant":
        chosen = relevant
    else:
        chosen = [name for name in retrieved if name in relevant]
    return float(mean([scores[name] or ZERO for name in chosen])) if chosen else 0.0
