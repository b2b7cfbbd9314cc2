"""inex_eval: precision as a reader of a weakly ordered list meets it (INEX 2002 to 2004)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import UsageError
from foveal.measures.alignment import Gold, TopicView
from foveal.measures.base import Choice, Cutoff, Example, Measure, Need, OptionalNumber
from foveal.measures.gains import (
    Settings,
    first_returned,
    forest_of,
    ideal_gains,
    nodes,
    recall_base,
    run_gains,
)
from foveal.measures.xcg import LEVELS, POINTS
from foveal.recall.quantisation import MEAN7, QUANTISATIONS, dimensions, find_quantisation

__all__ = ["InexEval", "InexEvalNg", "encyclopedia", "precall"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
_TOLERANCE = 1e-9
"""Relevance is summed; what a level falls short by less than this is rounding."""


def precall(
    relevant: Floats, rest: Floats, total: float, levels: Floats, *, ceiling: bool = False
) -> Floats:
    """P(rel|retr) at levels of recall, from the relevant and other mass of each group of ties.

    >>> relevant, rest = np.array([1.0, 1, 1]), np.array([0.0, 2, 0])
    >>> precall(relevant, rest, 4, np.array([0.25, 0.5, 0.75, 1])).round(4).tolist()
    [1.0, 0.6667, 0.6, 0.0]
    """
    if not len(relevant):
        return np.zeros(len(levels))
    target = _targets(total, levels, ceiling=ceiling)
    found, wasted = np.cumsum(relevant), np.cumsum(rest)
    final = np.searchsorted(found, target - _TOLERANCE * total)
    # At recall 0 nothing is wanted yet: the value is that of the first bit of relevance.
    begin = target == 0
    final = np.where(begin, np.searchsorted(found, 0, side="right"), final)
    reached = final < len(found)
    final = np.minimum(final, len(found) - 1)
    before, waste = (found - relevant)[final], (wasted - rest)[final]
    per_unit = rest[final] / (relevant[final] + 1)
    effort = waste + np.maximum(target - before, 0.0) * per_unit
    precision = target / np.where(begin, 1.0, target + effort)
    precision = np.where(begin, np.where(waste > 0, 0.0, 1 / (1 + per_unit)), precision)
    return np.where(reached, precision, 0.0)


def _targets(total: float, levels: Floats, *, ceiling: bool) -> Floats:
    """The relevance to find for each level."""
    target = levels * total
    return np.ceil(target - _TOLERANCE) if ceiling else target


def encyclopedia(worth: Floats, total: float, levels: Floats, *, ceiling: bool = False) -> Floats:
    """Precision at levels of recall as the relevance found over the rank that reaches it."""
    found = np.cumsum(worth)
    target = _targets(total, levels, ceiling=ceiling)
    rank = np.searchsorted(found, target - _TOLERANCE * total)
    return np.where(rank < len(found), target / (rank + 1), 0.0)


class InexEval(Measure):
    """Precision at 100 levels of recall over weakly ordered elements, and its mean.

    The reader goes through groups of tied results in random order until a share of all relevance
    is found. Without a cut-off, the mean over the levels .01 to 1.
    """

    name = "inex_eval"
    aliases = ("precall",)
    section = "4"
    structural = True
    ideal = None
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = (*(f"{p / 100:.2f}" for p in range(1, 100)), "1")
    formula = "P(x) = t / (t + esl), t = x n, esl = j + s i / (r + 1)"
    source = "Raghavan, Bollmann and Jung 1989; Goevert and Kazai 2002"
    example = Example("D2:/a D1:/a/s[1]/p[2] D3:/a D1:/a/s[2]", 0.4099)

    quant = Choice(
        "gen",
        *(name for name in QUANTISATIONS if name != "gen"),
        "mean7",
        description="what an assessed element is worth, scaled to [0, 1]; mean7: the mean of the "
        "scores by the seven functions of 2004",
    )
    form = Choice(
        "precall",
        "encyclopedia",
        description="expected search length over ties, or relevance over the rank that reaches it",
    )
    points = Choice(
        "intuitive",
        "ceiling",
        description="levels between natural recall points as they are, or at the next whole one",
    )
    unretrieved = Choice(
        "none",
        "random_tail",
        description="what was not returned is never found, or found in random order at the end",
    )
    collection_size = OptionalNumber(
        "auto", "unretrieved=random_tail: elements in the collection", whole=True
    )
    base = Choice(
        "full",
        "ideal",
        description="every relevant element counts, or only ideal ones and all others are worth 0",
    )
    tie = Choice(
        "ascendant",
        "deeper",
        description="base=ideal: of equals on a path, the higher or the deeper one is ideal",
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        tail = self.unretrieved == "random_tail" and self.collection_size is None
        return (
            Need.STRUCTURE,
            Need.ELEMENT_RESULTS,
            *((Need.COLLECTION_SIZE,) if tail else ()),
        )

    @property
    def functions(self) -> tuple[str, ...]:
        return MEAN7 if self.quant == "mean7" else (self.quant,)

    @property
    def averages(self) -> tuple[Measure, ...]:
        return tuple(self(quant=name) for name in MEAN7) if self.quant == "mean7" else ()

    def check(self) -> None:
        super().check()
        if self.form == "encyclopedia" and self.unretrieved == "random_tail":
            raise UsageError(
                f"{self}: form=encyclopedia has no groups of ties, and so no random tail"
            )

    def check_gold(self, judged: Gold) -> None:
        if judged.forest is not None:
            for name in self.functions:
                find_quantisation(name, judged.forest.assessed.scale)

    def is_defined(self, topic: TopicView) -> bool:
        judged = topic.alignment.gold
        return any(len(ideal_gains(judged, self._gains(f), topic.at)) for f in self.functions)

    def score_topic(self, topic: TopicView) -> float:
        if not topic.n:
            return 0.0  # a topic that was not answered, whatever a random list would find
        if self.at is not None and self.at not in POINTS:
            return float(np.mean(self._curves(topic, np.array([float(self.at)]))))
        key = ("inex_eval", self.key)
        curves = topic.memo(key, lambda: self._curves(topic, LEVELS))
        if self.at is None:
            return float(np.mean([curve.mean() for curve in curves]))
        return float(np.mean([curve[POINTS[self.at]] for curve in curves]))

    def _curves(self, topic: TopicView, levels: Floats) -> list[Floats]:
        """Precision at levels of recall, function by function."""
        judged, curves = topic.alignment.gold, []
        for function in self.functions:
            total = float(ideal_gains(judged, self._gains(function), topic.at).sum())
            if total > 0:  # a function under which nothing is relevant has no score to average
                worth = self._worth(topic, function)
                curves.append(self._precision(topic, worth, total, levels))
        return curves

    def _gains(self, function: str) -> Settings:
        """Return the settings whose ideal list holds the elements of the recall base."""
        overlap = "on" if self.base == "ideal" else "off"
        return Settings(quant=function, overlap=overlap, tie=self.tie, normalise=True)

    def _worth(self, topic: TopicView, function: str) -> Floats:
        """Return what each result is worth; outside the recall base 0."""
        alignment, settings = topic.alignment, self._gains(function)
        worth = run_gains(alignment, settings._replace(overlap="off"), again=topic.again)
        worth = worth[topic.slice]
        if self.base == "full":
            return worth
        node = nodes(alignment)[topic.slice]
        ideal = recall_base(alignment.gold, settings).ideal
        return np.where((node >= 0) & ideal[node], worth, 0.0)

    def _precision(self, topic: TopicView, worth: Floats, total: float, levels: Floats) -> Floats:
        ceiling = self.points == "ceiling"
        if self.form == "encyclopedia":
            return encyclopedia(worth, total, levels, ceiling=ceiling)
        groups = int(topic.ties[-1]) + 1 if topic.n else 0
        relevant = np.bincount(topic.ties, worth, groups).astype(np.float64)
        rest = np.bincount(topic.ties, 1 - worth, groups).astype(np.float64)
        if self.unretrieved == "random_tail":
            size = self.collection_size or topic.alignment.gold.collection_elements
            assert size is not None
            left = max(total - float(worth.sum()), 0.0)
            relevant = np.append(relevant, left)
            rest = np.append(rest, max(size - _distinct(topic) - left, 0.0))
        return precall(relevant, rest, total, levels, ceiling=ceiling)


def _distinct(topic: TopicView) -> int:
    """How many different elements that hold text were returned."""
    alignment = topic.alignment

    def calculate() -> Bools:
        run = alignment.run
        path = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
        element = pl.DataFrame({"doc": run.first, "path": path})
        fresh: Bools = (
            element.select(pl.struct("doc", "path").is_first_distinct()).to_series().to_numpy()
        )
        empty: Bools = alignment.placed & (alignment.size == 0)
        return np.asarray(fresh & ~empty, dtype=bool)

    return int(alignment.memo("distinct elements", calculate)[topic.slice].sum())


Floats = npt.NDArray[np.float64]
_TOLERANCE = 1e-12


class InexEvalNg(Measure):
    """Precision and recall in the space of concepts that topic and elements share.

    Variant o counts of every element only the share that earlier results did not cover, variant s
    counts all of it. Without a cut-off, the mean of precision over the recall levels .01 to 1.
    """

    name = "inex_eval_ng"
    section = "5"
    structural = True
    ideal = None
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = (*(f"{p / 100:.2f}" for p in range(1, 100)), "1")
    formula = "P = sum spec size f / sum size f, R = sum exh f / sum exh of all; f = 1 - overlap"
    source = "Goevert, Fuhr, Lalmas and Kazai 2006"
    example = Example("D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]", 0.3173)

    variant = Choice("o", "s", description="text seen before is left out, or counted again")
    quant = Choice(
        "gen", "strict", description="grades rescaled to [0, 1], or only the highest counts"
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.STRUCTURE, Need.ELEMENT_RESULTS, Need.SPANS)

    def check_gold(self, judged: Gold) -> None:
        if judged.forest is not None:
            dimensions(self.quant, judged.forest.assessed)

    def _assessed(self, judged: Gold) -> tuple[Floats, Floats, Floats]:
        """Exhaustivity and specificity of each element; total exhaustivity of each topic."""

        def calculate() -> tuple[Floats, Floats, Floats]:
            forest = judged.forest
            assert forest is not None
            exhaustivity, specificity = dimensions(self.quant, forest.assessed)
            counts = forest.counts & (forest.size != 0)
            exhaustivity = np.where(counts, exhaustivity, 0.0)
            specificity = np.where(counts, specificity, 0.0)
            topic = judged.judgements.topic[forest.row]
            total = np.zeros(len(judged.judgements.topics))
            np.add.at(total, topic, exhaustivity)
            return exhaustivity, specificity, total

        return judged.memo(("ng", self.quant), calculate)

    def is_defined(self, topic: TopicView) -> bool:
        return bool(self._assessed(topic.alignment.gold)[2][topic.at] > 0)

    def _points(self, topic: TopicView) -> tuple[Floats, Floats]:
        """Recall and precision at every rank."""
        alignment = topic.alignment
        exhaustivity, specificity, total = self._assessed(alignment.gold)
        node = nodes(alignment)[topic.slice]
        fresh = first_returned(alignment)[topic.slice]
        known = (node >= 0) & (len(forest_of(alignment)) > 0)
        exh = np.where(known & fresh, exhaustivity[node], 0.0) if known.any() else node * 0.0
        spec = np.where(known, specificity[node], 0.0) if known.any() else node * 0.0
        size = alignment.size[topic.slice]
        weight = alignment.new_size[topic.slice] if self.variant == "o" else size
        share = weight / np.maximum(size, 1)
        recall = np.cumsum(exh * share) / total[topic.at]
        read = np.cumsum(weight)
        return recall, np.cumsum(spec * weight) / np.maximum(read, 1)

    def score_topic(self, topic: TopicView) -> float:
        key = ("inex_eval_ng", self.key)
        recall, precision = topic.memo(key, lambda: self._points(topic))
        levels = LEVELS if self.at is None else np.array([float(self.at)])
        at = np.searchsorted(recall, levels - _TOLERANCE)
        return float(np.append(precision, 0.0)[at].mean())


MEASURES = (InexEval, InexEvalNg)
