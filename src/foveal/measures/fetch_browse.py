"""Fetch & Browse (INEX 2005): are the right documents fetched, and the right elements in each?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.measures.alignment import Gold, TopicView
from foveal.measures.base import Choice, Cutoff, Example, Measure, Need
from foveal.measures.gains import Settings, recall_base, run_gains, worth
from foveal.measures.xcg import (
    LEVELS,
    POINTS,
    EffortPrecision,
    MeanEffortPrecision,
    at_recall,
    mean_ep,
)
from foveal.recall.quantisation import QUANTISATIONS, find_quantisation
from foveal.spans import Ints

__all__ = ["FetchBrowseArticle", "FetchBrowseElement"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
_TOLERANCE = 1e-12
_SCORE = "without a cut-off: the mean over natural points, or over 100 levels"


class FetchBrowseArticle(Measure):
    """Effort-precision over documents, in the order of their first results.

    With a cut-off, effort-precision at that level of gain-recall.
    """

    name = "FBarticle"
    section = "10"
    structural = True
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = EffortPrecision.curve
    formula = "FBarticle = MAep over the documents by first result; gain of a document = q(root)"
    source = "Kazai and Lalmas, INEX 2005 evaluation measures, 6.3"
    example = Example("D2:/a/p[1] D1:/a/s[1]/p[2] D3:/a/p[1] D1:/a/s[2]", 1.0)

    score = Choice("MAep", "iMAep", description=_SCORE)
    quant = Choice(*QUANTISATIONS, description="what an assessed element is worth")
    article_gain = Choice(
        "auto",
        "self",
        "max",
        description="a document is worth its root, or where that is 0 its best element; only its "
        "root; always its best element",
    )
    ideal_ = Choice(
        "line", "step", description="the ideal curve is read on straight lines, or in steps"
    )

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.STRUCTURE,)

    def check_gold(self, judged: Gold) -> None:
        if judged.forest is not None:
            find_quantisation(self.quant, judged.forest.assessed.scale)

    def _documents(self, judged: Gold) -> Floats:
        """What each judged document is worth."""

        def calculate() -> Floats:
            forest = judged.forest
            assert forest is not None
            value = worth(judged, Settings(quant=self.quant))
            most = np.zeros(len(judged.judgements))
            np.maximum.at(most, forest.row, value)
            if self.article_gain == "max":
                return most
            root = np.zeros(len(judged.judgements))
            top = forest.parent < 0
            root[forest.row[top]] = value[top]
            return root if self.article_gain == "self" else np.where(root > 0, root, most)

        return judged.memo(("articles", self.quant, self.article_gain), calculate)

    def _ideal(self, topic: TopicView) -> Floats:
        """The gains of the documents of a topic, decreasing."""
        judged = topic.alignment.gold

        def by_topic() -> list[Floats]:
            value = self._documents(judged)
            chosen = np.flatnonzero(value > 0)
            owner = judged.judgements.topic[chosen]
            order = np.lexsort((-value[chosen], owner))
            ends = np.searchsorted(owner[order], np.arange(1, len(judged.judgements.topics)))
            return np.split(value[chosen][order], ends)

        return judged.memo(("ideal articles", self.quant, self.article_gain), by_topic)[topic.at]

    def is_defined(self, topic: TopicView) -> bool:
        return len(self._ideal(topic)) > 0

    def _gains(self, topic: TopicView) -> Floats:
        """Return what each retrieved document is worth."""
        row, value = topic.documents.row, self._documents(topic.alignment.gold)
        return np.where(row >= 0, value[row], 0.0) if len(value) else np.zeros(len(row))

    def _ep(self, topic: TopicView, levels: Floats) -> Floats:
        """Return effort-precision at levels of gain-recall."""
        gains, ideal = self._gains(topic), self._ideal(topic)
        return at_recall(levels, gains, ideal, ideal=self.ideal_, between="line")

    def score_topic(self, topic: TopicView) -> float:
        if self.at is None and self.score == "MAep":
            return mean_ep(self._gains(topic), self._ideal(topic), ideal=self.ideal_)
        if self.at is not None and self.at not in POINTS:
            return float(self._ep(topic, np.array([float(self.at)]))[0])
        key = ("FBarticle", self.quant, self.article_gain, self.ideal_)
        ep = topic.memo(key, lambda: self._ep(topic, LEVELS))
        return float(ep.mean() if self.at is None else ep[POINTS[self.at]])


class FetchBrowseElement(MeanEffortPrecision):
    """Effort-precision over the elements of each document, averaged over documents.

    With a cut-off, effort-precision at that level of the gain-recall of each document.
    """

    name = "FBelement"
    aliases = ()
    section = "10"
    cutoff = Cutoff.RECALL_OPTIONAL
    curve = EffortPrecision.curve
    formula = "FBelement = mean over clusters (documents) of MAep on the document's own recall base"
    source = "Kazai and Lalmas, INEX 2005 evaluation measures, 6.3"
    example = Example("D2:/a/p[1] D1:/a/s[1]/p[2] D3:/a/p[1] D1:/a/s[2]", 0.3125)

    score = Choice("MAep", "iMAep", description=_SCORE, first=True)
    clusters = Choice(
        "retrieved_relevant",
        "all_relevant",
        "retrieved",
        description="the documents averaged over: relevant ones that were retrieved, all relevant "
        "ones, or all retrieved ones",
    )

    def _bases(self, judged: Gold) -> Bases:
        settings = self.settings_of_gains(judged)
        focused = settings.overlap == "on" and (settings.base, settings.tie)

        def calculate() -> Bases:
            forest = judged.forest
            assert forest is not None
            value = worth(judged, settings)
            wanted = recall_base(judged, settings).ideal if focused else value > 0
            chosen = np.flatnonzero(wanted)
            order = chosen[np.lexsort((-value[chosen], forest.row[chosen]))]
            return Bases.of(forest.row[order], value[order], len(judged.judgements))

        key = ("clusters", settings.quant, settings.normalise, focused)
        return judged.memo(key, calculate)

    def _points(self, topic: TopicView) -> Points:
        """Return the natural recall points of every judged document, whatever its topic."""
        alignment, judged = topic.alignment, topic.alignment.gold

        def calculate() -> Points:
            gains = run_gains(alignment, self.settings_of_gains(judged), again=topic.again)
            return Points.of(alignment.row, gains, self._bases(judged), self.ideal_)

        key = ("FBelement", self.gains_key(judged), self.ideal_, topic.again)
        return alignment.memo(key, calculate)

    def _scores(self, topic: TopicView) -> Floats:
        """Return the score of every judged document, whatever its topic."""

        def calculate() -> Floats:
            points = self._points(topic)
            if self.score == "MAep":
                return points.means(self.divisor)
            score = np.zeros(len(points.bases.n))
            row, ep = points.at_levels(LEVELS)
            score[row] = ep.mean(axis=1)
            return score

        return topic.alignment.memo(("FBelement scores", self.key, topic.again), calculate)

    def _ep(self, topic: TopicView) -> float:
        """Return effort-precision at the cut-off, summed over the documents of the topic."""
        assert self.at is not None
        alignment, judgements = topic.alignment, topic.alignment.gold.judgements
        levels = LEVELS if self.at in POINTS else np.array([float(self.at)])

        def by_topic() -> Floats:
            row, ep = self._points(topic).at_levels(levels)
            total = np.zeros((len(judgements.topics), len(levels)))
            np.add.at(total, judgements.topic[row], ep)
            return total

        gains = self.gains_key(alignment.gold)
        key = ("FBelement ep", gains, self.ideal_, topic.again, levels.tobytes())
        return float(alignment.memo(key, by_topic)[topic.at, POINTS.get(self.at, 0)])

    def is_defined(self, topic: TopicView) -> bool:
        return len(self.ideal_gains(topic)) > 0

    def score_topic(self, topic: TopicView) -> float:
        documents, n = topic.documents, self._bases(topic.alignment.gold).n
        retrieved = documents.row[documents.row >= 0]
        retrieved = retrieved[n[retrieved] > 0]
        if self.clusters == "retrieved_relevant":
            number = len(retrieved)
        elif self.clusters == "retrieved":
            number = len(documents.head)
        else:
            own = topic.alignment.gold.judgements.topic == topic.at
            number = int((n[own] > 0).sum())
        if not number:
            return 0.0
        if self.at is not None:
            return self._ep(topic) / number
        return float(self._scores(topic)[retrieved].sum()) / number


# -- effort-precision of many short lists at once ----------------------------------------------


class Bases(NamedTuple):
    """The ideal lists of all judged documents, one after the other."""

    n: Ints
    """How many elements each document's list has."""
    first: Ints
    """Where each document's curve begins."""
    curve: Floats
    """The cumulated gains of the lists, each from rank 0 on."""

    @classmethod
    def of(cls, row: Ints, gain: Floats, rows: int) -> Bases:
        """From the ideal gains of documents, sorted by document, then descending."""
        n = np.bincount(row, minlength=rows)
        first = np.concatenate([[0], np.cumsum(n + 1)])
        curve = np.zeros(first[-1])
        curve[np.arange(len(row)) + row + 1] = _summed(row, gain)
        return cls(n, first, curve)

    @property
    def total(self) -> Floats:
        """All that there is to gain in each document."""
        return self.curve[self.first[1:] - 1]

    def rank(self, row: Ints, gained: Floats, mode: str) -> Floats:
        """The rank at which the list of each document reaches a gain; see `effort`."""
        low, high = self.first[row], self.first[row + 1]
        if mode == "step":
            slack = _TOLERANCE * self.curve[high - 1]
            at = _search(self.curve, low, high, gained - slack, after=False) - low
            return np.asarray(np.clip(at, 1, self.n[row]), dtype=np.float64)
        at = _search(self.curve, low, high, gained, after=True) - 1
        return _on_line(gained, at, high - 1, self.curve, at - low, at - low + 1)


class Points(NamedTuple):
    """The natural recall points of all documents of a run, one document after the other."""

    bases: Bases
    row: Ints
    gained: Floats
    ep: Floats

    @classmethod
    def of(cls, row: Ints, gains: Floats, bases: Bases, mode: str) -> Points:
        """Effort-precision at every result that gains; its rank is that in its document."""
        order = np.argsort(row, kind="stable")
        rank = np.arange(len(row)) - np.searchsorted(row[order], row[order]) + 1
        gaining = np.flatnonzero(gains[order] > 0)
        own, gained = row[order][gaining], _summed(row[order][gaining], gains[order][gaining])
        return cls(bases, own, gained, bases.rank(own, gained, mode) / rank[gaining])

    def means(self, divisor: str) -> Floats:
        """The MAep of every document."""
        n, rows = self.bases.n, len(self.bases.n)
        found = np.bincount(self.row, minlength=rows)
        by = np.maximum(n, found) if divisor == "max" else n
        total: Floats = np.bincount(self.row, self.ep, rows).astype(np.float64)
        return total / np.maximum(by, 1)

    def at_levels(self, levels: Floats) -> tuple[Ints, Floats]:
        """Return the documents that gain, and their ep at levels, on lines between points."""
        if not len(self.row):
            return self.row, np.zeros((0, len(levels)))
        row, first = np.unique(self.row, return_index=True)
        total, last = self.bases.total[row, None], np.append(first[1:], len(self.row)) - 1
        wanted = levels * total
        # How many points of its document each level has passed.
        place = np.repeat(np.arange(len(row)), last + 1 - first) * len(levels)
        level = _search(wanted.ravel(), place, place + len(levels), self.gained, after=False)
        inside = level < place + len(levels)
        passed = np.bincount(level[inside], minlength=wanted.size).reshape(wanted.shape)
        at = first[:, None] + np.cumsum(passed, axis=1) - 1
        before = at < first[:, None]
        at = np.maximum(at, first[:, None])
        end = np.broadcast_to(last[:, None], at.shape)
        after = np.minimum(at + 1, end)
        ep = _on_line(wanted, at, end, self.gained, self.ep[at], self.ep[after])
        ep = np.where(before, self.ep[first][:, None], ep)
        reached = wanted <= self.gained[last][:, None] + _TOLERANCE * total
        return row, np.where(reached, ep, 0.0)


def _on_line(x: Floats, at: Ints, last: Ints, xs: Floats, low: Any, high: Any) -> Floats:
    """The value at `x` on the line from ``(xs[at], low)`` to the next point, where `high` is."""
    inner = at < last
    begin, end = xs[at], xs[np.where(inner, at + 1, at)]
    slope = np.divide(high - low, end - begin, out=np.zeros(x.shape), where=inner)
    return np.asarray(slope * (x - begin) + low, dtype=np.float64)


def _summed(group: Ints, values: Floats) -> Floats:
    """Running sums within groups that stand together, each as if it were alone.

    All groups take a turn at once: no rounding is carried from one to the next.
    """
    total = values.copy()
    head = np.flatnonzero(np.diff(group, prepend=-1))
    members = np.diff(np.append(head, len(group)))
    turn = 1
    while len(head):
        more = members > turn
        head, members = head[more], members[more]
        total[head + turn] += total[head + turn - 1]
        turn += 1
    return total


def _search(values: Floats, low: Ints, high: Ints, wanted: Floats, *, after: bool) -> Ints:
    """Where in its own sorted part of `values` each wanted one belongs: before or after equals."""
    low, high = low.copy(), high.copy()
    left = np.flatnonzero(low < high)
    while len(left):
        middle = (low[left] + high[left]) >> 1
        right = (values[middle] <= wanted[left]) if after else (values[middle] < wanted[left])
        low[left[right]] = middle[right] + 1
        high[left[~right]] = middle[~right]
        left = left[low[left] < high[left]]
    return low


MEASURES = (FetchBrowseArticle, FetchBrowseElement)
