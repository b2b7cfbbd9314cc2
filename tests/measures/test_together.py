"""All points of a curve at once, and elements by their numbers: the same as one by one, by name."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import structures
import trees
from foveal.measures import Measure, parse_measures
from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.measures.gains import nodes
from foveal.measures.toy import judgements, parse_run
from foveal.model import Run
from foveal.recall import Forest

CURVES = ("nxCG", "nxCG(overlap=on)", "ep", "ep(between=curve)", "EPRUM(targets=passages)")
LISTS: dict[str, list[Measure]] = {
    **{text: list(parse_measures(f"{text}@curve")) for text in CURVES},
    # A level between those of the curve, several of one rank, and out of order.
    "ep, any level": [m for at in ("0.005", "0.3", "1", "0") for m in parse_measures(f"ep@{at}")],
    "nxCG, any rank": [m for at in (900, 1, 7, 1) for m in parse_measures(f"nxCG@{at}")],
}


def one_by_one(measures: list[Measure], topic: TopicView) -> list[float]:
    return [measure.value(topic) for measure in measures]


def same(some: list[float], others: list[float]) -> bool:
    """To the last bit; nan is nan."""
    pairs = zip(some, others, strict=True)
    return all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in pairs)


@settings(max_examples=40)
@given(trees.campaigns(scales=("2006",)))
def test_together_is_one_by_one(campaign: trees.Campaign) -> None:
    with structures.view(campaign) as topic:
        for measures in LISTS.values():
            together = type(measures[0]).together(measures)
            assert same([*together(topic)], one_by_one(measures, topic))


@pytest.mark.parametrize("name", LISTS)
def test_a_topic_without_results_and_one_with_nothing_to_find(name: str) -> None:
    measures, truth = LISTS[name], judgements()
    run = Run.from_frame(parse_run("D1:/a/s[1] D3:/a"), name="mine")
    elsewhere = replace(run, topics=("other",))
    forest = Forest.from_assessments(truth)
    nothing = forest.only(np.zeros(len(forest), dtype=bool))
    for trees_, own in ((forest, run), (forest, elsewhere), (nothing, run)):
        topic = Alignment(own, Gold(truth, forest=trees_)).topic("toy")
        values = one_by_one(measures, topic)
        assert same([*type(measures[0]).together(measures)(topic)], values)
        assert math.isnan(values[0]) == (trees_ is nothing and "EPRUM" not in name)


@settings(max_examples=40)
@given(trees.campaigns())
def test_elements_by_number_are_those_by_name(campaign: trees.Campaign) -> None:
    with structures.view(campaign) as topic:
        alignment = topic.alignment
        assert alignment.run.element is not None
        by_name = Alignment(replace(alignment.run, element=None), alignment.gold)
        assert nodes(alignment).tolist() == nodes(by_name).tolist()
