"""answered, evR, evRR: is what answers the topic all there, whichever set of spans that is."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal import spans
from foveal.measures.alignment import Gold, TopicView
from foveal.measures.base import Choice, Cutoff, Example, Measure, Need, Number
from foveal.measures.reading import budget_parameter, read_of, unit_parameter
from foveal.model.evidence import meetings
from foveal.spans import Ints

__all__ = ["Answered", "EvidenceRecall", "EvidenceReciprocalRank"]

Floats = npt.NDArray[np.float64]
_NEVER = np.iinfo(np.int64).max


class Passages(NamedTuple):
    """The passages of all evidence sets, topic by topic and set by set.

    Within a set and a document they are disjoint: spans that overlap or touch are one passage.
    """

    bounds: Ints
    """Where the passages of each topic begin, and the end."""
    set: Ints
    start: Ints
    """On the axis of `Gold`, as `end` is."""
    end: Ints
    weight: Floats


class Covered(NamedTuple):
    """Characters of passages that results cover first, by passage and then by result."""

    passage: Ints
    result: Ints
    size: Ints


class _Evidence(Measure):
    section = "12"
    source = "Foveal; alternatives and conjunctions as in annotated question answering"
    cutoff = Cutoff.RANK_OPTIONAL

    budget = budget_parameter()
    unit = unit_parameter()

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.TEXT, Need.RELEVANT_SPANS if self.budget is None else Need.SPANS)

    def notes(self, judged: Gold) -> tuple[str, ...]:
        own = _passages(judged, graded=False)
        if len(np.unique(own.set)) > np.count_nonzero(np.diff(own.bounds)):
            return ()
        return (f"{self.name}: no topic has more than one evidence set, of all its relevant text",)

    def seen(self, topic: TopicView, *, graded: bool = False) -> tuple[Passages, Covered]:
        """The passages of a topic, and what of them the results within the budget cover."""
        within = None if self.budget is None else (self.budget, self.unit, self.rank)

        def calculate() -> tuple[Passages, Covered]:
            own = self._passages(topic, graded=graded)
            return own, self._covered(topic, own)

        return topic.memo(("evidence", graded, within), calculate)

    def _passages(self, topic: TopicView, *, graded: bool) -> Passages:
        """The passages of one topic, its sets numbered from 0."""
        whole = _passages(topic.alignment.gold, graded=graded)
        own = slice(int(whole.bounds[topic.at]), int(whole.bounds[topic.at + 1]))
        number = np.unique(whole.set[own], return_inverse=True)[1]
        return Passages(
            np.array([0, own.stop - own.start]),
            number,
            whole.start[own],
            whole.end[own],
            whole.weight[own],
        )

    def _covered(self, topic: TopicView, passages: Passages) -> Covered:
        """What the results within the budget cover of passages, each character once."""
        pieces = topic.pieces
        if self.budget is not None:
            pieces = _first(topic, read_of(topic, int(self.budget), self.unit, self.rank).read)
        judged, row = topic.alignment.gold, topic.row[pieces.owner]
        base, extent = judged.base[row], judged.extent[row]
        start = base + np.minimum(pieces.start, extent)
        end = base + np.minimum(pieces.end, extent)
        kept = np.flatnonzero((row >= 0) & (end > start))
        kept = kept[np.argsort(start[kept])]
        start, end, owner = start[kept], end[kept], pieces.owner[kept]
        passage, piece = meetings(passages.start, passages.end, start, end)
        size = np.minimum(passages.end[passage], end[piece])
        size -= np.maximum(passages.start[passage], start[piece])
        order = np.lexsort((owner[piece], passage))
        return Covered(passage[order], owner[piece][order], size[order])


class _Complete(_Evidence):
    share = Number(1.0, "share of a passage that must be found of it", low=0.001, high=1)

    def complete(self, topic: TopicView) -> int:
        """The rank from 1 at which a set is first complete; a huge number if none ever is."""
        within = None if self.budget is None else self.rank
        key = ("complete", self.share, self.budget, self.unit, within)
        return topic.memo(key, lambda: self._complete(topic))

    def _complete(self, topic: TopicView) -> int:
        own, (passage, result, size) = self.seen(topic)
        seen = np.concatenate([[0], np.cumsum(size)])
        low, high = (
            np.searchsorted(passage, np.arange(len(own.start)), side=side)
            for side in ("left", "right")
        )
        # The first place at which all of a passage that is needed has been seen.
        at = np.searchsorted(seen, seen[low] + _needed(own.end - own.start, self.share)) - 1
        found = at < high
        rank = np.full(len(found), _NEVER)
        rank[found] = result[at[found]] + 1
        of_set = np.zeros(int(own.set.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(of_set, own.set, rank)
        return int(of_set.min(initial=_NEVER))


class Answered(_Complete):
    """Whether the results hold all that is needed to answer: 1 or 0.

    Judgements may say which spans belong together. A topic is answered when every passage of one
    of its evidence sets has been found, in whatever results and documents; another set would have
    done as well. Without sets, all relevant text is needed. Over topics, the mean is the share of
    them that can be answered from the first k results, or from what fits into a budget.
    """

    name = "answered"
    formula = (
        "answered[k] = 1 if a set S has covered(p) >= share size(p) for all p in S, else 0; "
        "covered(p): characters of passage p in the first k results"
    )
    example = Example("D1:0-100 D3:0-40 D2:0-50", 1, "answered@3")

    def score_topic(self, topic: TopicView) -> float:
        rank = self.complete(topic)
        return float(rank <= (topic.n if self.rank is None else self.rank))


class EvidenceRecall(_Evidence):
    """The largest share of an evidence set that the results hold, in characters.

    It tells how near a topic is to being answered, where `answered` is still 0. With one set it is
    the recall of relevant text, charR, whatever is returned twice.
    """

    name = "evR"
    formula = (
        "evR[k] = max over sets S of sum w(c) over characters c of S in the first k results / "
        "sum w(c) over c in S; w(c) = 1, or with weight=grade the highest grade c has in S"
    )
    example = Example("D1:20-40 D2:0-50 D3:0-40 D1:60-100", 0.8889)

    weight = Choice("none", "grade", description="whether characters count by their grade")

    def score_topic(self, topic: TopicView) -> float:
        own, (passage, result, size) = self.seen(topic, graded=self.weight == "grade")
        if self.rank is not None:
            size = np.where(result < self.rank, size, 0)
        found = np.bincount(passage, size, len(own.start))
        length = own.end - own.start
        total = np.bincount(own.set, length * own.weight)
        share = np.bincount(own.set, found * own.weight) / total
        # Sums of grades are rounded; a set is complete when its characters are.
        missing = np.bincount(own.set, length - found)
        return float(np.where(missing == 0, 1.0, np.minimum(share, 1.0)).max())


class EvidenceReciprocalRank(_Complete):
    """One over the rank of the result with which an evidence set is first complete; 0 if none is.

    A reader who goes through the results from the top has the answer there. Where one span
    answers, it is the reciprocal rank of the first result that finishes such a span.
    """

    name = "evRR"
    formula = "evRR = 1 / min{k: answered[k] = 1}"
    example = Example("D1:0-100 D3:0-40 D2:0-50", 0.3333)
    ideal = None

    def score_topic(self, topic: TopicView) -> float:
        rank = self.complete(topic)
        return 1 / rank if rank <= (topic.n if self.rank is None else self.rank) else 0.0


def _first(topic: TopicView, read: int) -> spans.Pieces:
    """What is new in the first characters of a topic, as its overlap policy counts them."""
    start, end, owner = topic.parts
    size = np.maximum(end - start, 0)
    end = start + np.clip(read - (np.cumsum(size) - size), 0, size)
    head = topic.alignment.run.first[topic.slice][owner]
    head = np.searchsorted(np.unique(head), head)
    left, right = spans.side_by_side(start, end, head)
    pieces = spans.newly_covered(left, right)
    shift = (left - np.maximum(start, 0))[pieces.owner]
    return spans.Pieces(pieces.start - shift, pieces.end - shift, owner[pieces.owner])


def _needed(size: Ints, share: float) -> Ints:
    """Characters that are a share of each size, in whole numbers: .07 of 100 are 7, not 8."""
    numerator, denominator = Decimal(repr(share)).as_integer_ratio()
    return np.array([-(-n * numerator // denominator) for n in size.tolist()], dtype=np.int64)


def _passages(judged: Gold, *, graded: bool) -> Passages:
    return judged.memo(("evidence", graded), lambda: _prepared(judged, graded=graded))


def _prepared(judged: Gold, *, graded: bool) -> Passages:
    """The passages of all sets. Of graded ones, a layer for every grade, as thick as it adds."""
    truth = judged.judgements
    if truth.evidence is None:
        row, start, end, group = truth.row, truth.start, truth.end, truth.topic[truth.row]
        grade = np.ones(len(row))
    else:
        row, group, start, end, grade = (
            truth.evidence[c].to_numpy() for c in truth.evidence.columns
        )
    levels = np.unique(grade) if graded else np.zeros(1)
    parts = []
    for level, added in zip(levels, np.diff(levels, prepend=0.0) if graded else [1.0], strict=True):
        kept = grade >= level
        layer = _united(row[kept], group[kept], start[kept], end[kept])
        parts.append((*layer, np.full(len(layer[0]), added)))
    row, group, start, end, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    topic = truth.topic[row]
    order = np.lexsort((start, row, group, topic))
    base = judged.base[row][order]
    bounds = np.searchsorted(topic[order], np.arange(len(truth.topics) + 1))
    return Passages(bounds, group[order], start[order] + base, end[order] + base, weight[order])


def _united(row: Ints, group: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Row, set, start and end of the text of each set in each document."""
    _, head, code = np.unique(
        np.stack([group, row]), axis=1, return_index=True, return_inverse=True
    )
    code = code.reshape(-1)
    extent = np.zeros(len(head), dtype=np.int64)
    np.maximum.at(extent, code, end)
    base = spans.lay_out(extent)
    start, end = spans.union(start + base[code], end + base[code])
    own = np.searchsorted(base, start, side="right") - 1
    return row[head[own]], group[head[own]], start - base[own], end - base[own]


MEASURES = (Answered, EvidenceRecall, EvidenceReciprocalRank)
