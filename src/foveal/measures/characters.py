"""Precision and recall in characters: HiXEval, interpolated precision, and charP, charR, charF."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.errors import InputError
from foveal.measures.alignment import Alignment, Floats, Gold, Overlap, TopicView
from foveal.measures.measure import Choice, Cutoff, Example, Measure, Need, Number, OverlapRule
from foveal.model import UNKNOWN
from foveal.spans import Ints

_RUN = "D1:20-40 D2:0-50 D3:0-40 D1:60-100"
_REPEATS = "D1:20-40 D1:0-60 D1:0-100"
_CELLS = 1 << 18  # levels of recall looked up together: 2 MB, or 2,500 topics of 101 levels


# -- sums over the first results of every topic, to a rank or within a budget of text ----------


UNITS = ("characters", "tokens", "results")
BUDGET = Number[float | None](
    None, "how much is read; the result that crosses it is cut", low=1, whole=True, word="none"
)
UNIT = Choice(
    "|".join(UNITS), "of the budget; in tokens, a result is cut in proportion to its characters"
)
# Part of a character or token: the tokens of a piece are a rounded share of its result's.
_SLACK = 1e-6


def rank_results(alignment: Alignment) -> Ints:
    """Return the rank of each result within its topic, from 0."""
    bounds = alignment.run.bounds
    return np.arange(len(alignment.run)) - np.repeat(bounds[:-1], np.diff(bounds))


def sum_first(values: npt.NDArray[Any], bounds: Ints, rank: int | None = None) -> npt.NDArray[Any]:
    """Sum the first values of each topic, as ``values[low:high].sum()`` to the last bit.

    >>> sum_first(np.array([0.5, 1.0, 2.0, 3.0]), np.array([0, 3, 3, 4]), rank=2).tolist()
    [1.5, 0.0, 3.0]
    """
    low, high = bounds[:-1], bounds[1:]
    if rank is not None:
        high = np.minimum(high, low + rank)
    if values.dtype != np.float64:  # differences of sums of whole numbers are exact
        before: Ints = np.concatenate([[0], np.cumsum(values)])
        return before[high] - before[low]
    # `reduceat` adds the sum of all further values to the first of a slice, `sum` adds all to 0.
    # A zero before each slice makes the two the same, and no slice empty.
    padded = np.append(np.insert(values, low, 0.0), 0.0)
    step = np.arange(len(low))
    cuts = np.column_stack([low + step, high + step + 1]).ravel()
    sums: Floats = np.add.reduceat(padded, cuts)[::2]
    return sums


class TopicCounts(NamedTuple):
    """Amounts found and read, by topic or result of a run, and sought on each judged topic."""

    found: npt.NDArray[Any]
    read: npt.NDArray[Any]
    sought: Ints


class PrecisionRecall(Measure):
    """Precision, recall or their weighted harmonic mean F, undefined where nothing is sought."""

    figure: ClassVar[str]
    """The one of the three that a measure is; a parameter beta is the weight of recall in F."""

    def count_results(self, alignment: Alignment) -> TopicCounts:
        """Return what each result of the run finds and costs, and what each topic seeks."""
        raise NotImplementedError  # pragma: no cover - every family defines it or count_totals

    def count_totals(self, alignment: Alignment) -> TopicCounts:
        """Return what was found, read and sought on each topic, mostly characters."""
        found, read, sought = self.count_results(alignment)
        found, read = (sum_first(v, alignment.run.bounds, self.rank) for v in (found, read))
        return TopicCounts(found, read, sought)

    def score_topics(self, alignment: Alignment) -> Floats:
        found, read, sought = self.count_totals(alignment)
        p = alignment.spread_topics(found / np.maximum(read, 1))
        r = alignment.spread_topics(found) / np.maximum(sought, 1)
        weight = float(vars(self).get("beta", 1.0)) ** 2
        product = (1 + weight) * p * r
        f = np.divide(product, weight * p + r, out=np.zeros_like(p), where=product != 0)
        values = {"precision": p, "recall": r, "F": f}[self.figure]
        return np.where(sought > 0, values, np.nan)


class Readings(NamedTuple):
    """Text read of every topic of a run (rows) within every budget (columns)."""

    found: Ints  # relevant characters
    read: Ints  # characters
    whole: Ints  # results that are read to their ends


def readings(
    alignment: Alignment, budgets: Sequence[int] | Ints, unit: str, rank: int | None = None
) -> Readings:
    """Return what is read within each budget; the result that crosses it is read in part.

    One pass over the run for all topics and budgets: costs are summed over the whole run, and a
    budget is a place on that axis, counted from the first result of its topic. Where only new text
    counts (`Overlap.UNION`), text that an earlier result covered costs nothing; a budget of
    results counts a repeated one all the same. No results after `rank` are read.
    """
    run, allowed = alignment.run, np.asarray(budgets)
    low, high = run.bounds[:-1, None], run.bounds[1:, None]
    if rank is not None:
        high = np.minimum(high, low + rank)
    if unit == "results":
        at = np.minimum(low + allowed, high)
        read_before, found_before = alignment.totals[:2]
        return Readings(
            found_before[at] - found_before[low], read_before[at] - read_before[low], at - low
        )
    if alignment.overlap is Overlap.UNION:
        start, end, owner = alignment.pieces
        found = alignment.count_highlighted(owner, start, end)
    else:
        start, end, owner = run.start, alignment.end, np.arange(len(run))
        found = alignment.full_rsize
    size = np.maximum(end - start, 0)
    cost: Ints | Floats = size
    if unit == "tokens":
        tokens = np.full(len(run), UNKNOWN) if run.tokens is None else run.tokens
        if (tokens == UNKNOWN).any():
            raise InputError.at(
                "run.tokens",
                run.source.path,
                int(run.line[tokens == UNKNOWN][0]),
                "the result says nothing of its tokens; a budget in tokens takes the field tokens "
                "of every result (JSON Lines, Parquet), or foveal.with_tokens counts them in the "
                "texts",
            )
        cost = tokens
        if alignment.overlap is Overlap.UNION:
            cost = tokens[owner] * size / np.maximum(alignment.full_size[owner], 1)
    first, last = np.searchsorted(owner, low), np.searchsorted(owner, high)
    paid, read_before, found_before = (
        np.concatenate([np.zeros(1, column.dtype), np.cumsum(column)])
        for column in (cost, size, found)
    )
    goal = paid[first] + allowed
    within = np.searchsorted(paid[1:], goal + (_SLACK if paid.dtype == float else 0), side="right")
    at = np.clip(within, first, last)
    # The part in which the budget ends, where the list does not end before.
    row, column = np.nonzero(at < last)
    part = at[row, column]
    left = np.maximum(goal[row, column] - paid[part], 0)
    share = left * size[part] / np.maximum(cost[part], _SLACK)
    cut = np.minimum(np.floor(share + _SLACK).astype(np.int64), size[part])
    more_found, more_read = np.zeros_like(at), np.zeros_like(at)
    more_read[row, column] = cut
    more_found[row, column] = alignment.count_highlighted(
        owner[part], start[part], start[part] + cut
    )
    ends = np.broadcast_to(high, at.shape).copy()
    ends[row, column] = owner[part]
    return Readings(
        found_before[at] - found_before[first] + more_found,
        read_before[at] - read_before[first] + more_read,
        ends - low,
    )


# -- HiXEval: a price alpha on repeated text ---------------------------------------------------


class _HiXEval(PrecisionRecall):
    section = "11"
    source = "Pehcevski and Piwowarski, Evaluation Metrics (HiXEval)"
    cutoff = Cutoff.RANK
    ideal = None

    alpha = Number(1.0, "how much of a repeated character's value is lost", high=1.0)
    trel = Choice(
        "documents|elements",
        "relevant characters in all: of the documents, or summed over their elements",
    )
    rval = Choice(
        "general|printed",
        "value of a partly seen result: less what was covered before, or as printed "
        "less the values of earlier results inside it",
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        return (*super().needs, *([Need.ELEMENTS] if self.trel == "elements" else []))

    def count_results(self, alignment: Alignment) -> TopicCounts:
        value, gold = alignment.cached(_value_results, self.alpha, self.rval), alignment.gold
        trel = gold.trel if self.trel == "documents" else gold.element_size
        return TopicCounts(value, alignment.size, trel)


def _value_results(alignment: Alignment, alpha: float, rval: str) -> Floats:
    """Return rval of each result: its relevant characters, less alpha times those seen before."""
    if rval == "general" or alignment.overlap is Overlap.UNION:
        return alignment.rsize - alpha * (alignment.rsize - alignment.new_rsize)
    # As printed: less alpha times the values of earlier results inside it.
    run, end, new = alignment.run, alignment.end, alignment.new_size
    values = alignment.rsize.astype(np.float64)
    for i in np.flatnonzero(new < alignment.size).tolist():
        if new[i] == 0:
            values[i] *= 1 - alpha
        else:
            earlier = slice(int(run.first[i]), i)  # from the first result of the same document on
            inside = run.documents.number[earlier] == run.documents.number[i]
            inside &= (run.start[earlier] >= run.start[i]) & (end[earlier] <= end[i])
            values[i] -= alpha * values[earlier][inside].sum()
    return values


class HiXEvalPrecision(_HiXEval):
    """Share of the returned text that is relevant and, as far as alpha says, new.

    The size of repeated text counts again, so that returning it lowers precision.
    """

    name = "HiP"
    formula = "P[k] = sum rval(i) / sum size(i), i <= k; rval = rsize - alpha * (rsize seen before)"
    example = Example(_REPEATS, 0.375, "HiP@2")
    figure = "precision"


class HiXEvalRecall(_HiXEval):
    """Share of the relevant text that is returned; with alpha = 0 repeated text counts again."""

    name = "HiR"
    formula = "R[k] = sum rval(i) / Trel, i <= k"
    example = Example(_REPEATS, 0.3333, "HiR@2")
    range = (0.0, None)
    figure = "recall"


class HiXEvalF(_HiXEval):
    """Harmonic mean of HiP and HiR."""

    name = "HiF"
    formula = "F[k] = 2 P[k] R[k] / (P[k] + R[k])"
    example = Example(_REPEATS, 0.3529, "HiF@2")
    range = (0.0, None)
    figure = "F"


# -- interpolated precision: the best value at a level of recall or beyond ---------------------


def count_needed(total: int, level: Decimal | None) -> int:
    """Return the smallest whole number that is `level` of `total`.

    In whole numbers: as doubles, a recall of exactly .29 would fall short of itself.

    >>> count_needed(100, Decimal("0.29"))
    29
    """
    numerator, denominator = (level or Decimal(0)).as_integer_ratio()
    return -(-numerator * total // denominator)


def _interpolate(alignment: Alignment, reached: Ints, topics: slice = slice(None)) -> Floats:
    """Return the best P[r] of each topic of the run at or after the ranks that reach `reached`.

    `reached` and the result have a row for each of these topics of the run: numbers of relevant
    characters, and the precision of the best rank that has found as many, 0 where none has. All
    topics are searched at once: over the whole run, the number found never falls either.
    """
    bounds = alignment.run.bounds
    low, high = bounds[:-1][topics, None], bounds[1:][topics, None]
    number = np.arange(len(bounds) - 1)[topics, None]
    total = alignment.totals.found_before
    at = np.searchsorted(total[1:], total[low] + reached)
    # Each topic is preceded by the zeros that end the topics before it.
    best: Floats = alignment.cached(_find_best_precisions)[np.clip(at, low, high) + number]
    return best


def _find_best_precisions(alignment: Alignment) -> Floats:
    """Return the best P[r] at each rank or later, topic by topic, each with a final 0."""
    precision, bounds = alignment.totals.precision, alignment.run.bounds.tolist()
    best = np.zeros(len(precision) + len(bounds) - 1)
    for i, (low, high) in enumerate(pairwise(bounds)):
        own = best[low + i : high + i]
        np.maximum.accumulate(precision[low:high][::-1], out=own[::-1])
    return best


def best_precisions_within(topic: TopicView, level: Decimal | None, read: Readings) -> Floats:
    """Return the best precision at a level of recall or beyond, within each of several budgets.

    A reader looks back at the end of every result, and where the budget ends. `read` is one row.
    """
    found, size, whole = read
    needed = count_needed(topic.trel, level)
    at_end = np.where(found >= needed, found / np.maximum(size, 1), 0.0)
    first = int(np.searchsorted(topic.found, needed))
    best = np.maximum.accumulate(np.append(0.0, topic.precision[first:]))
    return np.maximum(at_end, best[np.maximum(whole - first, 0)])


def _count_needed(gold: Gold, level: Decimal) -> Ints:
    """Return the fewest characters that are this share of the relevant ones of each topic."""
    return np.array([count_needed(total, level) for total in gold.trel.tolist()], dtype=np.int64)


class InterpolatedPrecision(Measure):
    """The best precision a reader meets at recall x or beyond, both in characters.

    ``iP@0.01`` was the official figure of the Focused task. It rewards precision early: the
    first percent of the relevant text decides. Within a budget, what comes after it is not seen,
    and a level of recall that is not reached by then counts 0.
    """

    name = "iP"
    section = "12"
    cutoff = Cutoff.RECALL
    curve = tuple(f"{j / 100:.2f}" for j in range(101))
    overlap_rule = OverlapRule.ERROR
    formula = (
        "iP[x] = max P[r] over ranks with R[r] >= x; P = sum rsize / sum size, R = sum rsize / Trel"
    )
    source = "INEX 2007 evaluation measures"
    example = Example(_RUN, 0.5333, "iP@0.80")

    budget = BUDGET
    unit = UNIT

    def score_topics(self, alignment: Alignment) -> Floats:
        if self.budget is None:
            reached = alignment.gold.cached(_count_needed, self.at)[alignment.judged_topic]
            return alignment.fill_topics(_interpolate(alignment, reached[:, None])[:, 0])
        read = alignment.cached(readings, (int(self.budget),), self.unit)
        values = np.zeros(len(alignment.run.topics))
        for i, name in enumerate(alignment.run.topics):
            own = Readings(*(column[i] for column in read))
            values[i] = best_precisions_within(alignment.topic(name), self.at, own)[0]
        return alignment.fill_topics(values)


class AverageInterpolatedPrecision(Measure):
    """Interpolated precision averaged over 101 levels of recall: 0, .01, ..., 1.

    Its mean over topics is MAiP, the overall figure of the Focused task.
    """

    name = "AiP"
    aliases = ("MAiP",)
    section = "12"
    overlap_rule = OverlapRule.ERROR
    formula = "AiP = (1/101) sum of iP[j/100], j = 0..100"
    source = "INEX 2007 evaluation measures"
    example = Example(_RUN, 0.8304)

    points = Number(
        101, "number of recall levels, 0 and 1 included", low=2, high=100_001, whole=True
    )

    def score_topics(self, alignment: Alignment) -> Floats:
        trel = alignment.gold.trel[alignment.judged_topic]
        values = np.zeros(len(trel))
        step = max(_CELLS // self.points, 1)
        for low in range(0, len(trel), step):
            some = slice(low, low + step)
            # The smallest whole numbers that are 0, 1/100, ..., 1 of the relevant characters.
            reached = -(-np.arange(self.points) * trel[some, None] // (self.points - 1))
            values[some] = _interpolate(alignment, reached, some).mean(axis=1)
        return alignment.fill_topics(values)


# -- the returned text as a set of characters: whole, to a rank or within a budget -------------


class _Characters(PrecisionRecall):
    section = "12"
    source = "INEX 2007 and later (char_prec, char_rec); Restricted Focused 2010 for the budget"
    cutoff = Cutoff.RANK_OPTIONAL
    overlap_rule = OverlapRule.ERROR

    budget = BUDGET
    unit = UNIT
    beta = Number(1.0, "charF: weight of recall")

    def count_results(self, alignment: Alignment) -> TopicCounts:
        return TopicCounts(alignment.rsize, alignment.size, alignment.gold.trel)

    def count_totals(self, alignment: Alignment) -> TopicCounts:
        if self.budget is None:
            return super().count_totals(alignment)
        within = alignment.cached(readings, (int(self.budget),), self.unit, self.rank)
        return TopicCounts(within.found[:, 0], within.read[:, 0], alignment.gold.trel)


class CharacterPrecision(_Characters):
    """Share of the returned characters that are relevant."""

    name = "charP"
    aliases = ("char_prec",)
    formula = "charP = sum rsize(i) / sum size(i)"
    example = Example(_RUN, 0.5333)
    figure = "precision"


class CharacterRecall(_Characters):
    """Share of the relevant characters that are returned."""

    name = "charR"
    aliases = ("char_rec",)
    formula = "charR = sum rsize(i) / Trel"
    example = Example(_RUN, 0.8889)
    figure = "recall"


class CharacterF(_Characters):
    """Weighted harmonic mean of charP and charR."""

    name = "charF"
    aliases = ("char_f1",)
    formula = "charF = (1 + beta^2) P R / (beta^2 P + R)"
    example = Example(_RUN, 0.6667)
    figure = "F"
