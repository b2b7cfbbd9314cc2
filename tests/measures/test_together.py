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
from foveal.measures.gains import find_elements
from foveal.measures.toy import judgements, parse_run
from foveal.model import Run
from foveal.recall import Forest
from scoring import score

CURVES = (
    "nxCG",
    "nxCG(overlap=on)",
    "ep",
    "ep(between=curve)",
    "inex_eval",
    "FBarticle",
    "FBelement",
    "EPRUM(targets=passages)",
)
LISTS: dict[str, list[Measure]] = {
    **{text: list(parse_measures(f"{text}@curve")) for text in CURVES},
    # A level between those of the curve, several of one rank, and out of order.
    "ep, any level": [m for at in ("0.005", "0.3", "1", "0") for m in parse_measures(f"ep@{at}")],
    "FBelement, any level": [
        m for text in ("@0.7", "", "@0.2", "@0.005") for m in parse_measures(f"FBelement{text}")
    ],
    "inex_eval, any level": [
        m for text in ("@0.7", "", "@0.2", "@0.005") for m in parse_measures(f"inex_eval{text}")
    ],
    "MAnxCG, any rank": [m for at in (9, 1, 7, 1) for m in parse_measures(f"MAnxCG@{at}")],
    "PRUM, any level": [
        m
        for text in ("@0.7", "", "@0.2", "@0")
        for m in parse_measures(f"PRUM(targets=passages){text}")
    ],
    "nxCG, any rank": [m for at in (900, 1, 7, 1) for m in parse_measures(f"nxCG@{at}")],
}


def one_by_one(measures: list[Measure], topic: TopicView) -> list[float]:
    return [score(measure, topic) for measure in measures]


def same(some: list[float], others: list[float]) -> bool:
    """To the last bit; nan is nan."""
    pairs = zip(some, others, strict=True)
    return all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in pairs)


@settings(max_examples=40)
@given(trees.campaigns(scales=("2006",)))
def test_together_is_one_by_one(campaign: trees.Campaign) -> None:
    with structures.view(campaign) as topic:
        for measures in LISTS.values():
            together = type(measures[0]).score_curve(measures, topic.alignment)[topic.at]
            assert same(together.tolist(), one_by_one(measures, topic))


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
        together = type(measures[0]).score_curve(measures, topic.alignment)[topic.at]
        assert same(together.tolist(), values)
        assert math.isnan(values[0]) == (trees_ is nothing and "PRUM" not in name)


@settings(max_examples=40)
@given(trees.campaigns())
def test_elements_by_number_are_those_by_name(campaign: trees.Campaign) -> None:
    with structures.view(campaign) as topic:
        alignment = topic.alignment
        assert alignment.run.element is not None
        by_name = Alignment(replace(alignment.run, element=None), alignment.gold)
        assert find_elements(alignment).tolist() == find_elements(by_name).tolist()
