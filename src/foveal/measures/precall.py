"""inex_eval and inex_eval_ng: precision at levels of recall over elements (INEX 2002 to 2004)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from foveal.errors import UsageError
from foveal.lookup import find_first_hashes
from foveal.measures.alignment import Alignment, Bools, Floats, Gold, TopicView
from foveal.measures.gains import (
    GainSettings,
    choose_ideals,
    compute_gains,
    find_elements,
    list_ideals,
)
from foveal.measures.measure import Choice, Cutoff, Example, Measure, Need, Number
from foveal.measures.xcg import CURVE, AtRecall
from foveal.recall.forest import MEAN7, QUANTISATIONS, find_quantisation, quantise_dimensions

_TOLERANCE = 1e-9  # relevance is summed; what a level falls short by less than this is rounding
_SHARE_TOLERANCE = 1e-12


def precall(relevant: Floats, rest: Floats, total: float, target: Floats) -> Floats:
    """Return P(rel|retr) where `target` of `total` relevance is found.

    `relevant` and `rest` are the relevant and other mass of each group of ties.

    >>> relevant, rest = np.array([1.0, 1, 1]), np.array([0.0, 2, 0])
    >>> precall(relevant, rest, 4, np.array([1.0, 2, 3, 4])).round(4).tolist()
    [1.0, 0.6667, 0.6, 0.0]
    """
    if not len(relevant):
        return np.zeros(len(target))
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


class InexEval(AtRecall):
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
    curve = CURVE
    formula = "P(x) = t / (t + esl), t = x n, esl = j + s i / (r + 1)"
    source = "Raghavan, Bollmann and Jung 1989; Goevert and Kazai 2002"
    example = Example("D2:/a D1:/a/s[1]/p[2] D3:/a D1:/a/s[2]", 0.4099)

    quant = Choice(
        "|".join(["gen", *(name for name in QUANTISATIONS if name != "gen"), "mean7"]),
        "what an assessed element is worth, scaled to [0, 1]; mean7: the mean of the "
        "scores by the seven functions of 2004",
    )
    form = Choice(
        "precall|encyclopedia",
        "expected search length over ties, or relevance over the rank that reaches it",
    )
    points = Choice(
        "intuitive|ceiling",
        "levels between natural recall points as they are, or at the next whole one",
    )
    unretrieved = Choice(
        "none|random_tail",
        "what was not returned is never found, or found in random order at the end",
    )
    collection_size = Number[float | None](
        None, "unretrieved=random_tail: elements in the collection", low=1, whole=True, word="auto"
    )
    base = Choice(
        "full|ideal", "every relevant element counts, or only ideal ones and all others are worth 0"
    )
    tie = Choice(
        "ascendant|deeper", "base=ideal: of equals on a path, the higher or the deeper one is ideal"
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        tail = self.unretrieved == "random_tail" and self.collection_size is None
        size = (Need.COLLECTION_SIZE,) if tail else ()
        return (Need.STRUCTURE, Need.ELEMENT_RESULTS, *size)

    @property
    def averages(self) -> tuple[Measure, ...]:
        return tuple(self(quant=name) for name in MEAN7) if self.quant == "mean7" else ()

    def check(self) -> None:
        super().check()
        if self.form == "encyclopedia" and self.unretrieved == "random_tail":
            raise UsageError(
                f"{self}: form=encyclopedia has no groups of ties, and so no random tail"
            )

    def check_gold(self, gold: Gold) -> None:
        if gold.forest is not None:
            for settings in self.gain_settings:
                find_quantisation(settings.quant, gold.forest.assessed.scale)

    @property
    def gain_settings(self) -> list[GainSettings]:
        """The settings whose ideal lists are the recall bases, one for each quantisation."""
        overlap = "on" if self.base == "ideal" else "off"
        functions = MEAN7 if self.quant == "mean7" else (self.quant,)
        return [GainSettings(f, normalise=True, overlap=overlap, tie=self.tie) for f in functions]

    def is_defined(self, topic: TopicView) -> bool:
        gold = topic.alignment.gold
        return any(
            len(gold.cached(list_ideals, settings)[topic.at].gains)
            for settings in self.gain_settings
        )

    def curve_at(self, topic: TopicView, levels: Floats) -> Sequence[Floats]:
        if not topic.n:  # a topic that was not answered, whatever a random list would find
            return [np.zeros(len(levels))]
        curves, gold = [], topic.alignment.gold
        for settings in self.gain_settings:
            total = float(gold.cached(list_ideals, settings)[topic.at].gains.sum())
            if total > 0:  # a function under which nothing is relevant has no score to average
                target = levels * total
                if self.points == "ceiling":
                    target = np.ceil(target - _TOLERANCE)
                curves.append(self._find_precision(topic, settings, total, target))
        return curves

    def _find_precision(
        self, topic: TopicView, settings: GainSettings, total: float, target: Floats
    ) -> Floats:
        """Return precision where `target` of the topic's `total` relevance is found."""
        alignment, gold = topic.alignment, topic.alignment.gold
        worth = alignment.cached(compute_gains, settings._replace(overlap="off"))[topic.slice]
        if self.base == "ideal":
            node = alignment.cached(find_elements)[topic.slice]
            ideal = gold.cached(choose_ideals, settings.quant, "ideal", self.tie).ideal
            worth = np.where((node >= 0) & ideal[node], worth, 0.0)
        if self.form == "encyclopedia":
            found = np.cumsum(worth)
            rank = np.searchsorted(found, target - _TOLERANCE * total)
            return np.where(rank < len(found), target / (rank + 1), 0.0)
        groups = int(topic.ties[-1]) + 1
        relevant = np.bincount(topic.ties, worth, groups).astype(np.float64)
        rest = np.bincount(topic.ties, 1 - worth, groups).astype(np.float64)
        if self.unretrieved == "random_tail":
            size = self.collection_size or gold.collection_elements
            assert size is not None
            left = max(total - float(worth.sum()), 0.0)
            distinct = int(alignment.cached(_find_distinct)[topic.slice].sum())
            relevant = np.append(relevant, left)
            rest = np.append(rest, max(size - distinct - left, 0.0))
        return precall(relevant, rest, total, target)


def _find_distinct(alignment: Alignment) -> Bools:
    """Return which results are the first to return an element that holds text."""
    run = alignment.run
    path = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
    element = pl.DataFrame({"doc": run.first, "path": path}).to_struct()
    empty = alignment.placed & (alignment.full_size == 0)
    return np.asarray(element.is_first_distinct().to_numpy() & ~empty, dtype=bool)


class InexEvalNg(AtRecall):
    """Precision and recall in the space of concepts that topic and elements share.

    Variant o counts of every element only the share that earlier results did not cover, variant s
    counts all of it. Without a cut-off, the mean of precision over the recall levels .01 to 1.
    """

    name = "inex_eval_ng"
    section = "5"
    structural = True
    ideal = None
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = CURVE
    formula = "P = sum spec size f / sum size f, R = sum exh f / sum exh of all; f = 1 - overlap"
    source = "Goevert, Fuhr, Lalmas and Kazai 2006"
    example = Example("D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]", 0.3173)

    variant = Choice("o|s", "text seen before is left out, or counted again")
    quant = Choice("gen|strict", "grades rescaled to [0, 1], or only the highest counts")

    needs = (Need.STRUCTURE, Need.ELEMENT_RESULTS, Need.SPANS)

    def check_gold(self, gold: Gold) -> None:
        if gold.forest is not None:
            quantise_dimensions(self.quant, gold.forest.assessed)

    def is_defined(self, topic: TopicView) -> bool:
        return bool(topic.alignment.gold.cached(_find_dimensions, self.quant)[2][topic.at] > 0)

    def points(self, topic: TopicView) -> tuple[Floats, Floats]:
        """Return recall and precision at every rank."""
        alignment = topic.alignment
        exhaustivity, specificity, total = alignment.gold.cached(_find_dimensions, self.quant)
        node = alignment.cached(find_elements)[topic.slice]
        known = np.flatnonzero(node >= 0)
        exh, spec = np.zeros(topic.n), np.zeros(topic.n)
        spec[known] = specificity[node[known]]
        known = known[find_first_hashes(node[known].view(np.uint64)) == np.arange(len(known))]
        exh[known] = exhaustivity[node[known]]  # an element counts the first time
        size = alignment.full_size[topic.slice]
        weight = topic.new_size if self.variant == "o" else size
        recall = np.cumsum(exh * (weight / np.maximum(size, 1))) / total[topic.at]
        return recall, np.cumsum(spec * weight) / np.maximum(np.cumsum(weight), 1)

    def curve_at(self, topic: TopicView, levels: Floats) -> Sequence[Floats]:
        recall, precision = self.points(topic)
        return [np.append(precision, 0.0)[np.searchsorted(recall, levels - _SHARE_TOLERANCE)]]


def _find_dimensions(gold: Gold, quant: str) -> tuple[Floats, Floats, Floats]:
    """Return exhaustivity and specificity of elements, and the total exhaustivity of topics."""
    forest = gold.trees
    exhaustivity, specificity = quantise_dimensions(quant, forest.assessed)
    counts = forest.counts & (forest.size != 0)
    exhaustivity = np.where(counts, exhaustivity, 0.0)
    specificity = np.where(counts, specificity, 0.0)
    total = np.zeros(len(gold.topics))
    np.add.at(total, gold.judgements.topic[forest.row], exhaustivity)
    return exhaustivity, specificity, total
