"""Measures of cumulated gain: nxCG, ep/gr, Q and R, Fetch & Browse (sections 7 to 10)."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Literal, Unpack

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
    one_of,
    percents,
    rank_of,
    recall_point,
)
from naive_structure.xcg_gains import GainOptions, decreasing, gains

# --------------------------------------------------------------------------------------------
# Cumulated gain (section 7)
# --------------------------------------------------------------------------------------------


def nxcg(xG: Sequence[Fraction], xI: Sequence[Fraction], k: int) -> Fraction:
    """xCG[k] / xCI[k]."""
    return cumulate(xG, k) / cumulate(xI, k)


def xCG(results: Results, documents: Documents, *, k: int, **options: Unpack[GainOptions]) -> float:
    """The gain cumulated in the first k results."""
    xG, xI = gains(results, documents, **options)
    return float(cumulate(xG, rank_of(k))) if xI else NAN


def nxCG(
    results: Results, documents: Documents, *, k: int, **options: Unpack[GainOptions]
) -> float:
    """xCG[k] relative to an ideal run ([S05] eq 5)."""
    xG, xI = gains(results, documents, **options)
    return float(nxcg(xG, xI, rank_of(k))) if xI else NAN


def MAnxCG(
    results: Results, documents: Documents, *, k: int, **options: Unpack[GainOptions]
) -> float:
    """The mean of nxCG over the ranks 1 to k ([S05] eq 6)."""
    xG, xI = gains(results, documents, **options)
    return float(mean([nxcg(xG, xI, j) for j in range(1, rank_of(k) + 1)])) if xI else NAN


# --------------------------------------------------------------------------------------------
# Effort-precision and gain-recall (section 8)
# --------------------------------------------------------------------------------------------

IdealSide = Literal["line", "step"]
Between = Literal["line", "curve", "step"]
Divisor = Literal["max", "n"]


def _effort(gain: Fraction, values: Sequence[Fraction], side: IdealSide) -> Fraction:
    """How far a list is to be read until its cumulated gain is ``gain`` (> 0).

    ``step``: the first rank that reaches it; ``line``: the place on the straight line between that
    rank and the one before. A list that never reaches it is read to its end.
    """
    one_of(side, "line", "step")
    reached = ZERO
    for m, value in enumerate(values, start=1):
        if reached + value >= gain:
            return Fraction(m) if side == "step" else m - 1 + (gain - reached) / value
        reached += value
    return Fraction(len(values))


def natural_points(
    xG: Sequence[Fraction], xI: Sequence[Fraction], ideal: IdealSide = "line"
) -> list[tuple[int, Fraction, Fraction]]:
    """(rank, gr, ep) of every rank that gains."""
    points = []
    for k, gain in enumerate(xG, start=1):
        if gain > 0:
            cumulated = cumulate(xG, k)
            points.append((k, cumulated / sum(xI), _effort(cumulated, xI, ideal) / k))
    return points


def effort_precision(
    xG: Sequence[Fraction],
    xI: Sequence[Fraction],
    x: Fraction,
    *,
    ideal: IdealSide = "line",
    between: Between = "line",
) -> Fraction:
    """Effort-precision at gain-recall x; 0 beyond what the run reaches."""
    one_of(ideal, "line", "step")
    one_of(between, "line", "curve", "step")
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
    xG: Sequence[Fraction],
    xI: Sequence[Fraction],
    *,
    ideal: IdealSide = "line",
    divisor: Divisor = "max",
) -> Fraction:
    """Sum of ep over the natural points / D."""
    one_of(divisor, "max", "n")
    points = natural_points(xG, xI, ideal)
    d = max(len(xI), len(points)) if divisor == "max" else len(xI)
    return sum((precision for _, _, precision in points), ZERO) / d


def interpolated_effort_precision(
    xG: Sequence[Fraction],
    xI: Sequence[Fraction],
    *,
    ideal: IdealSide = "line",
    between: Between = "line",
) -> Fraction:
    """The mean of ep over 100 recall points."""
    return mean([effort_precision(xG, xI, x, ideal=ideal, between=between) for x in percents()])


def gr(results: Results, documents: Documents, *, k: int, **options: Unpack[GainOptions]) -> float:
    """Gain-recall xCG[k] / xCI[n]."""
    xG, xI = gains(results, documents, **options)
    return float(cumulate(xG, rank_of(k)) / sum(xI)) if xI else NAN


def ep(
    results: Results,
    documents: Documents,
    *,
    x: Number,
    ideal: IdealSide = "line",
    between: Between = "line",
    **options: Unpack[GainOptions],
) -> float:
    """Effort-precision at gain-recall x."""
    xG, xI = gains(results, documents, **options)
    at = recall_point(x)
    return float(effort_precision(xG, xI, at, ideal=ideal, between=between)) if xI else NAN


def MAep(
    results: Results,
    documents: Documents,
    *,
    ideal: IdealSide = "line",
    divisor: Divisor = "max",
    **options: Unpack[GainOptions],
) -> float:
    """Effort-precision averaged over the natural recall points."""
    xG, xI = gains(results, documents, **options)
    return float(average_effort_precision(xG, xI, ideal=ideal, divisor=divisor)) if xI else NAN


def iMAep(
    results: Results,
    documents: Documents,
    *,
    ideal: IdealSide = "line",
    between: Between = "line",
    **options: Unpack[GainOptions],
) -> float:
    """Effort-precision averaged over 100 recall points."""
    xG, xI = gains(results, documents, **options)
    return float(interpolated_effort_precision(xG, xI, ideal=ideal, between=between)) if xI else NAN


# --------------------------------------------------------------------------------------------
# Q and R measures (section 9)
# --------------------------------------------------------------------------------------------

Form = Literal["sakai", "printed"]


def _with_bonus(values: Sequence[Fraction]) -> list[Fraction]:
    """bg: one more for everything that gains."""
    return [value + 1 if value > 0 else ZERO for value in values]


def q_measure(
    xG: Sequence[Fraction],
    xI: Sequence[Fraction],
    *,
    divisor: Divisor = "max",
    form: Form = "sakai",
) -> Fraction:
    """(1/D) sum over gaining ranks j of cbg(j) / (cig(j) + j)."""
    one_of(divisor, "max", "n")
    one_of(form, "sakai", "printed")
    ideal = xI if form == "sakai" else _with_bonus(xI)
    bonus = _with_bonus(xG)
    ranks = [j for j, gain in enumerate(xG, start=1) if gain > 0]
    total = sum((cumulate(bonus, j) / (cumulate(ideal, j) + j) for j in ranks), ZERO)
    return total / (max(len(xI), len(ranks)) if divisor == "max" else len(xI))


def r_measure(xG: Sequence[Fraction], xI: Sequence[Fraction], *, form: Form = "sakai") -> Fraction:
    """cbg(R) / (cig(R) + R), or as printed with cbg(R) in both places."""
    one_of(form, "sakai", "printed")
    r = len(xI)
    found = cumulate(_with_bonus(xG), r)
    return found / ((sum(xI) if form == "sakai" else found) + r)


def Q(
    results: Results,
    documents: Documents,
    *,
    divisor: Divisor = "max",
    form: Form = "sakai",
    **options: Unpack[GainOptions],
) -> float:
    """Sakai's Q-measure."""
    xG, xI = gains(results, documents, **options)
    return float(q_measure(xG, xI, divisor=divisor, form=form)) if xI else NAN


def Rmeasure(
    results: Results,
    documents: Documents,
    *,
    divisor: Divisor = "max",
    form: Form = "sakai",
    **options: Unpack[GainOptions],
) -> float:
    """Sakai's R-measure. It divides by nothing that ``divisor`` could change."""
    one_of(divisor, "max", "n")
    xG, xI = gains(results, documents, **options)
    return float(r_measure(xG, xI, form=form)) if xI else NAN


# --------------------------------------------------------------------------------------------
# Fetch & Browse (section 10)
# --------------------------------------------------------------------------------------------

Score = Literal["MAep", "iMAep"]


def _score(
    xG: Sequence[Fraction],
    xI: Sequence[Fraction],
    score: Score,
    ideal: IdealSide,
    divisor: Divisor = "max",
    x: Number | None = None,
) -> Fraction:
    """MAep or iMAep, or where gain-recall x is given ep there."""
    one_of(score, "MAep", "iMAep")
    one_of(divisor, "max", "n")
    if x is not None:
        return effort_precision(xG, xI, recall_point(x), ideal=ideal)
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
    one_of(article_gain, "auto", "self", "max")
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
    **options: Unpack[GainOptions],
) -> float:
    """How well the fetched documents are browsed: the mean over them, each by itself."""
    one_of(clusters, "retrieved_relevant", "all_relevant", "retrieved")
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
