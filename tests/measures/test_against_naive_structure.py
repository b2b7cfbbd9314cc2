"""Measures of elements agree with the naive ones on random trees, for all their parameters."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_structure
import structures
import trees
from foveal.errors import UsageError
from foveal.measures import Cutoff, Measure, all_measures
from foveal.measures.measure import Choice, Flag
from foveal.recall.forest import QUANTISATIONS, find_quantisation
from scoring import score

MEASURES = [measure for measure in all_measures() if measure.structural]
NUMBERS: dict[str, list[Any]] = {
    "alpha": [0, 0.25, 0.5, 1],
    "collection_size": ["auto", 60, 1000],
}
LEVELS = ["0.01", "0.29", "0.333", "0.5", "0.77", "1"]
VARIANTS = 6
"""Settings compared on each campaign; indexing it takes as long as scoring it."""


def fits(quant: str, scale: str) -> bool:
    if quant in ("strict", "gen"):
        return True
    if quant == "mean7":
        return scale == "2003"
    try:
        find_quantisation(quant, scale)
    except UsageError:
        return False
    return True


@st.composite
def variants(draw: st.DrawFn, measure: Measure, scale: str) -> Measure:
    """The measure with every parameter drawn, and its cut-off."""
    chosen: dict[str, Any] = {}
    for parameter in measure.parameters:
        if parameter.name == "quant":
            assert isinstance(parameter, Choice)
            chosen["quant"] = draw(
                st.sampled_from([q for q in parameter.options if fits(q, scale)])
            )
        elif isinstance(parameter, Choice):
            chosen[parameter.name] = draw(st.sampled_from(parameter.options))
        elif isinstance(parameter, Flag):
            chosen[parameter.name] = draw(st.booleans())
        else:
            chosen[parameter.name] = draw(st.sampled_from(NUMBERS[parameter.name]))
    if chosen.get("form") == "encyclopedia":
        chosen["unretrieved"] = "none"
        if measure.name != "inex_eval":
            chosen.pop("unretrieved")
    settled = measure(**chosen)
    if measure.cutoff is Cutoff.NONE:
        return settled
    if measure.cutoff is Cutoff.RANK:
        return settled @ draw(st.integers(1, 12))
    at = draw(st.sampled_from(LEVELS if measure.cutoff.required else [None, *LEVELS]))
    return settled if at is None else settled @ at


def naive_value(measure: Measure, campaign: trees.Campaign) -> float:
    keywords: dict[str, Any] = dict(measure.settings)
    if keywords.get("collection_size", "") is None:
        keywords["collection_size"] = "auto"
    if measure.at is not None:
        by_rank = measure.cutoff is Cutoff.RANK
        keywords["k" if by_rank else "x"] = int(measure.at) if by_rank else str(measure.at)
    function = getattr(naive_structure, measure.name)
    return float(function(campaign.results, campaign.documents, **keywords))


def same(fast: float, slow: float) -> bool:
    return math.isnan(fast) if math.isnan(slow) else abs(fast - slow) < 1e-12


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
@settings(max_examples=25)
@given(data=st.data())
def test_fast_equals_naive(measure: Measure, data: st.DataObject) -> None:
    scales = ("2003", "2005") if measure.name == "inex_eval_ng" else trees.SCALES
    campaign = data.draw(trees.campaigns(scales=scales))
    scale = campaign.documents["D1"].scale
    with structures.view(campaign) as topic:
        for _ in range(VARIANTS):
            variant = data.draw(variants(measure, scale))
            fast, slow = score(variant, topic), naive_value(variant, campaign)
            assert same(fast, slow), f"{variant}: fast {fast}, naive {slow}"


@pytest.mark.parametrize("name", ["nxCG", "MAep", "Q", "FBelement"])
@settings(max_examples=25)
@given(data=st.data())
def test_assessments_alone_are_enough(name: str, data: st.DataObject) -> None:
    """Without a collection the assessed sizes tell the same, but for text directly in elements."""
    measure = next(measure for measure in MEASURES if measure.name == name)
    campaign = data.draw(trees.campaigns(scales=("2005", "2006")))
    with structures.view(campaign, with_collection=False) as topic:
        for _ in range(VARIANTS):
            variant = data.draw(variants(measure, campaign.documents["D1"].scale))
            counted = find_quantisation(variant.quant, campaign.documents["D1"].scale)
            expected = variant if counted.name == "spec" else variant(mixed="ignore")
            fast, slow = score(variant, topic), naive_value(expected, campaign)
            assert same(fast, slow), f"{variant}: fast {fast}, naive {slow}"


def test_every_quantisation_is_compared_on_some_scale() -> None:
    assert all(any(fits(quant, scale) for scale in trees.SCALES) for quant in QUANTISATIONS)
