"""answered, evR, evRR, slotR, slotsAll: do the results hold what a topic needs?

That is one of its sets of spans, or a span for each of its slots.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from foveal import spans
from foveal.measures.alignment import Bools, Floats, Gold, Overlap, TopicView
from foveal.measures.characters import BUDGET, UNIT, readings
from foveal.measures.chunk_retrieval import unite_spans
from foveal.measures.measure import Choice, Cutoff, Example, Measure, Need, Number
from foveal.spans import Ints

_NEVER = np.iinfo(np.int64).max
_SHARE = Number(1.0, "share of a passage that must be found of it", low=0.001, high=1)
Limit = tuple[tuple[int, ...], str, int | None]  # the further arguments of `readings`


class SetPassages(NamedTuple):
    """The passages of all evidence sets or slots, topic by topic and set by set.

    Within a set and a document they are disjoint: spans that overlap or touch are one passage.
    """

    bounds: Ints  # where the passages of each topic begin, and the end
    set: Ints
    start: Ints  # on the axis of `Gold`, as `end` is
    end: Ints
    weight: Floats


class _BudgetedMeasure(Measure):
    """A measure of what the first results hold, or what fits into a budget."""

    section = "12"
    source = "Foveal; alternatives and conjunctions as in annotated question answering"
    cutoff = Cutoff.RANK_OPTIONAL

    budget = BUDGET
    unit = UNIT

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need.TEXT, Need.RELEVANT_SPANS if self.budget is None else Need.SPANS)

    @property
    def limit(self) -> Limit | None:
        """The budget with its unit and rank; None if all results are read."""
        return None if self.budget is None else ((int(self.budget),), self.unit, self.rank)


def _find_evidence(
    topic: TopicView, limit: Limit | None, listing: Callable[..., SetPassages], *key: str
) -> tuple[SetPassages, tuple[Ints, Ints, Ints]]:
    """Return the passages of a topic, sets numbered from 0, and what results cover of them.

    That is, by passage and then by result: passage, result, and characters covered first.
    ``listing(gold, *key)`` returns the passages of all topics.
    """
    gold = topic.alignment.gold
    whole = gold.cached(listing, *key)
    own = slice(int(whole.bounds[topic.at]), int(whole.bounds[topic.at + 1]))
    number = np.unique(whole.set[own], return_inverse=True)[1]
    bounds = np.array([0, len(number)])
    passages = SetPassages(bounds, number, whole.start[own], whole.end[own], whole.weight[own])
    pieces = topic.pieces if limit is None else _read_pieces(topic, limit)
    row = topic.row[pieces.owner]
    base, extent = gold.base[row], gold.extent[row]
    start = base + np.minimum(pieces.start, extent)
    end = base + np.minimum(pieces.end, extent)
    kept = np.flatnonzero((row >= 0) & (end > start))
    kept = kept[np.argsort(start[kept])]
    start, end, owner = start[kept], end[kept], pieces.owner[kept]
    passage, piece = spans.pair_overlaps(passages.start, passages.end, start, end)
    size = np.minimum(passages.end[passage], end[piece])
    size -= np.maximum(passages.start[passage], start[piece])
    order = np.lexsort((owner[piece], passage))
    return passages, (passage[order], owner[piece][order], size[order])


def _read_pieces(topic: TopicView, limit: Limit) -> spans.Pieces:
    """Return the new text among the results read within a budget."""
    if topic.place is None:
        return topic.pieces
    read = int(topic.alignment.cached(readings, *limit).read[topic.place, 0])
    start, end, owner = topic.start, topic.end, np.arange(topic.n)
    if topic.alignment.overlap is Overlap.UNION:
        start, end, owner = topic.pieces
    size = np.maximum(end - start, 0)
    end = start + np.clip(read - (np.cumsum(size) - size), 0, size)
    head = topic.alignment.run.first[topic.slice][owner]
    head = np.searchsorted(np.unique(head), head)
    left, right = spans.put_on_axis(start, end, head)
    pieces = spans.find_new_text(left, right)
    shift = (left - np.maximum(start, 0))[pieces.owner]
    return spans.Pieces(pieces.start - shift, pieces.end - shift, owner[pieces.owner])


class _Complete(_BudgetedMeasure):
    share = _SHARE

    def find_completion(self, topic: TopicView) -> int | None:
        """Return the rank from 1 at which a set is first complete; None if none ever is."""
        rank = topic.cached(_complete_set, self.share, self.limit)
        return rank if rank <= (topic.n if self.rank is None else self.rank) else None


def _complete_set(topic: TopicView, share: float, limit: Limit | None) -> int:
    """Return the rank from 1 at which a set is first complete; `_NEVER` if none ever is."""
    own, rank = _rank_passages(topic, share, limit, _list_passages, "none")
    of_set = np.zeros(int(own.set.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(of_set, own.set, rank)
    return int(of_set.min(initial=_NEVER))


def _rank_passages(
    topic: TopicView,
    share: float,
    limit: Limit | None,
    listing: Callable[..., SetPassages],
    *key: str,
) -> tuple[SetPassages, Ints]:
    """Return the passages of a topic and the rank from 1 at which each is found, else `_NEVER`."""
    own, (passage, result, size) = topic.cached(_find_evidence, limit, listing, *key)
    found, last = find_covering(own.end - own.start, share, passage, result, size)
    rank = np.full(len(own.start), _NEVER)
    rank[found] = last + 1
    return own, rank


def find_covering(
    length: Ints, share: float, passage: Ints, result: Ints, size: Ints
) -> tuple[Ints, Ints]:
    """Return the passages covered to `share` by results, and the result that completes each.

    `size` characters of a `passage` are first covered by a `result`.

    >>> found = find_covering(np.array([10, 10]), 0.5, *np.array([[1, 0, 1], [4, 2, 3], [3, 4, 2]]))
    >>> [x.tolist() for x in found]
    [[1], [4]]
    """
    order = np.lexsort((result, passage))
    passage, result, size = passage[order], result[order], size[order]
    seen = np.concatenate([[0], np.cumsum(size)])
    every = np.arange(len(length))
    low, high = np.searchsorted(passage, every), np.searchsorted(passage, every, side="right")
    # Characters needed are whole numbers: .07 of 100 are 7, not 8.
    numerator, denominator = Decimal(repr(share)).as_integer_ratio()
    needed = np.array([-(-n * numerator // denominator) for n in length.tolist()], dtype=np.int64)
    # The first place at which all that is needed of a passage has been seen.
    at = np.searchsorted(seen, seen[low] + needed) - 1
    found = np.flatnonzero(at < high)
    return found, result[at[found]]


class Answered(_Complete):
    """1 if the results hold all the text needed to answer, else 0.

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
        return float(self.find_completion(topic) is not None)


class EvidenceRecall(_BudgetedMeasure):
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

    weight = Choice("none|grade", "whether characters count by their grade")

    def score_topic(self, topic: TopicView) -> float:
        key = self.limit, _list_passages, self.weight
        own, (passage, result, size) = topic.cached(_find_evidence, *key)
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
        rank = self.find_completion(topic)
        return 0.0 if rank is None else 1 / rank


def _list_passages(gold: Gold, weight: str) -> SetPassages:
    """Return the passages of all sets; with ``weight=grade`` as a layer for every grade."""
    truth = gold.judgements
    if truth.evidence is None:
        row, start, end, group = truth.row, truth.start, truth.end, truth.topic[truth.row]
        grade = np.ones(len(row))
    else:
        row, group, start, end, grade = (
            truth.evidence[c].to_numpy() for c in truth.evidence.columns
        )
    if weight == "none":
        grade = np.ones(len(row))
    # A layer weighs what its grade adds to the one below.
    levels = np.unique(grade) if len(grade) else np.ones(1)
    layers = []
    for level, added in zip(levels, np.diff(levels, prepend=0.0), strict=True):
        kept = grade >= level
        united = _unite_passages(row[kept], group[kept], start[kept], end[kept])
        layers.append((*united, np.full(len(united[0]), added)))
    row, group, start, end, added = (np.concatenate(column) for column in zip(*layers, strict=True))
    return _arrange_passages(gold, row, group, start, end, added)


def _unite_passages(row: Ints, group: Ints, start: Ints, end: Ints) -> tuple[Ints, ...]:
    """Return row, group, start and end of passages: spans of a row and group that meet are one."""
    both = np.stack([group, row])
    _, head, code = np.unique(both, axis=1, return_index=True, return_inverse=True)
    own, low, high = unite_spans(code.reshape(-1), start, end)
    head = head[own]
    return row[head], group[head], low, high


def _arrange_passages(
    gold: Gold, row: Ints, group: Ints, start: Ints, end: Ints, weight: Floats
) -> SetPassages:
    """Return passages topic by topic and group by group, on the axis of `gold`."""
    truth = gold.judgements
    topic = truth.topic[row]
    order = np.lexsort((start, row, group, topic))
    base = gold.base[row][order]
    bounds = np.searchsorted(topic[order], np.arange(len(truth.topics) + 1))
    return SetPassages(bounds, group[order], start[order] + base, end[order] + base, weight[order])


# -- slots ----------------------------------------------------------------------------------------


def _list_slot_passages(gold: Gold) -> SetPassages:
    """Return the passages that can fill each slot.

    In a topic without slots every gold passage is a slot of its own.
    """
    from foveal.measures.ranking import merge_passages  # which is built on this module

    truth, own = gold.judgements, gold.cached(merge_passages)
    columns = [own.row, np.arange(len(own.row)), own.start, own.end]
    if truth.alternatives is not None:
        table = (truth.alternatives[name].to_numpy() for name in ("row", "slot", "start", "end"))
        named = _unite_passages(*table)
        rest = ~np.isin(truth.topic[own.row], truth.topic[named[0]])
        shift = 1 + int(named[1].max(initial=-1))  # numbers after those of named slots
        others = own.row[rest], np.flatnonzero(rest) + shift, own.start[rest], own.end[rest]
        columns = [*map(np.concatenate, zip(named, others, strict=True))]
    row, slot, start, end = columns
    return _arrange_passages(gold, row, slot, start, end, np.ones(len(row)))


class _SlotMeasure(_BudgetedMeasure):
    source = "Foveal; several facts, each from alternative passages, as in multi-hop questions"

    share = _SHARE

    def notes(self, gold: Gold) -> tuple[str, ...]:
        if gold.judgements.alternatives is not None:
            return ()
        return ("no topic has slots; each of its relevant passages is one",)

    def find_slots(self, topic: TopicView) -> Bools:
        """Return which slots of a topic are found."""
        own, rank = _rank_passages(topic, self.share, self.limit, _list_slot_passages)
        filled = np.zeros(int(own.set.max(initial=-1)) + 1, dtype=bool)
        filled[own.set[rank <= (topic.n if self.rank is None else self.rank)]] = True
        return filled


class SlotRecall(_SlotMeasure):
    """Share of the slots of a topic that the results fill.

    A topic may need several things, each of which several passages can give. Judgements name these
    slots in their spans. A slot is filled when any one of its passages has been found, in one
    result or in several; more of its passages add nothing. Spans without a slot do not count in a
    topic that has slots. In a topic without slots every relevant passage is one.
    """

    name = "slotR"
    formula = (
        "slotR[k] = slots with a passage p, covered(p) >= share size(p), / slots; "
        "covered(p): characters of passage p in the first k results"
    )
    example = Example("D1:20-40 D2:0-50 D1:60-100", 0.6667)

    def score_topic(self, topic: TopicView) -> float:
        return float(self.find_slots(topic).mean())


class AllSlots(_SlotMeasure):
    """1 if the results fill all slots of a topic, else 0.

    Over topics, the mean is the share of them that can be answered. It equals `answered` if every
    choice of one passage for each slot is written as an evidence set.
    """

    name = "slotsAll"
    formula = "slotsAll[k] = 1 if slotR[k] = 1, else 0"
    example = Example("D1:0-100 D3:0-40 D2:0-50", 1, "slotsAll@3")

    def score_topic(self, topic: TopicView) -> float:
        return float(self.find_slots(topic).all())
