"""slotR, slotsAll: how much of what a topic needs do the results hold?"""

from __future__ import annotations

import numpy as np

from foveal.measures.alignment import Bools, Gold, TopicView
from foveal.measures.evidence_sets import (
    NEVER,
    SHARE,
    BudgetedMeasure,
    Limit,
    SetPassages,
    arrange_passages,
    rank_passages,
    unite_passages,
)
from foveal.measures.measure import Example
from foveal.measures.ranking import merge_passages
from foveal.spans import Ints


def list_slot_passages(gold: Gold) -> SetPassages:
    """Return the passages that can fill each slot.

    In a topic without slots every gold passage is a slot of its own.
    """
    truth, own = gold.judgements, gold.cached(merge_passages)
    columns = [own.row, np.arange(len(own.row)), own.start, own.end]
    if truth.alternatives is not None:
        table = (truth.alternatives[name].to_numpy() for name in ("row", "slot", "start", "end"))
        named = unite_passages(*table)
        rest = ~np.isin(truth.topic[own.row], truth.topic[named[0]])
        shift = 1 + int(named[1].max(initial=-1))  # numbers after those of named slots
        others = own.row[rest], np.flatnonzero(rest) + shift, own.start[rest], own.end[rest]
        columns = [*map(np.concatenate, zip(named, others, strict=True))]
    row, slot, start, end = columns
    return arrange_passages(gold, row, slot, start, end, np.ones(len(row)))


def _rank_slots(topic: TopicView, share: float, limit: Limit | None) -> Ints:
    """Return the rank from 1 at which each slot of a topic is filled, `NEVER` if it is not."""
    passages = topic.alignment.gold.cached(list_slot_passages)
    own, rank = rank_passages(topic, passages, share, limit)
    of_slot = np.full(int(own.set.max(initial=-1)) + 1, NEVER)
    np.minimum.at(of_slot, own.set, rank)
    return of_slot


class _SlotMeasure(BudgetedMeasure):
    source = "Foveal; several facts, each from alternative passages, as in multi-hop questions"

    share = SHARE

    def notes(self, gold: Gold) -> tuple[str, ...]:
        if gold.judgements.alternatives is not None:
            return ()
        return ("no topic has slots; each of its relevant passages is one",)

    def find_slots(self, topic: TopicView) -> Bools:
        """Return which slots of a topic are found."""
        rank = topic.cached(_rank_slots, self.share, self.limit)
        found: Bools = rank <= (topic.n if self.rank is None else self.rank)
        return found


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
    """Whether the results fill all slots of a topic: 1 or 0.

    Over topics, the mean is the share of them that can be answered. It equals `answered` if every
    choice of one passage for each slot is written as an evidence set.
    """

    name = "slotsAll"
    formula = "slotsAll[k] = 1 if slotR[k] = 1, else 0"
    example = Example("D1:0-100 D3:0-40 D2:0-50", 1, "slotsAll@3")

    def score_topic(self, topic: TopicView) -> float:
        return float(self.find_slots(topic).all())
