"""The fast measures agree with the naive ones on random campaigns, for every parameter."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest
from hypothesis import given, settings

import campaigns
import naive
from foveal.measures import Cutoff, Measure, all_measures, parse_measure
from foveal.measures.measure import Choice
from scoring import score

RANKS = (1, 2, 3, 7, 30)
NUMBERS = {
    "alpha": (0, 0.5),
    "beta": (0.25, 2),
    "n": (10, 7.5),
    "irr": (1, 6),
    "T": (1, 5),
    "budget": (1, 17),
    "points": (2, 11),
    "A": (0.01, 10),
    "L": (25,),
}


def _variants(measure: Measure) -> list[Measure]:
    """The measure with each parameter changed in turn, at each cut-off."""
    settled = [measure]
    for parameter in measure.parameters:
        choice = isinstance(parameter, Choice)
        values: tuple[Any, ...] = parameter.options[1:] if choice else NUMBERS[parameter.name]
        settled += [measure(**{parameter.name: value}) for value in values]
    if "score" in {p.name for p in measure.parameters}:
        settled += [measure(score="BEP", n=6), measure(score="T2I", irr=4)]
        settled += [measure(score="T2I", irr=4, stop="consecutive")]
    if measure.name.startswith("T2I"):
        settled += [
            measure(T=3, mode=m, reread=r) for m in ("first", "read") for r in ("cost", "skip")
        ]
    if "unit" in {p.name for p in measure.parameters}:
        settled += [measure(budget=n, unit="results") for n in (1, 3)]
    if measure.name == "HiP":
        settled += [measure(alpha=0.5, rval="printed")]
    settled = [m for m in settled if m.settings.get("trel") is None]
    if measure.cutoff is Cutoff.NONE:
        return settled
    levels: tuple[Any, ...] = RANKS
    if measure.cutoff is Cutoff.RECALL:
        levels = ("0", "0.01", "0.29", "0.333", "0.5", "1")
    at = [m @ level for m in settled for level in levels]
    return at if measure.cutoff.required else [*settled, *at]


def _naive_value(measure: Measure, campaign: campaigns.Campaign, *, union: bool) -> float:
    function = getattr(naive, measure.name)
    keywords: dict[str, Any] = dict(measure.settings)
    if measure.at is not None:
        keywords["x" if measure.cutoff is Cutoff.RECALL else "k"] = (
            str(measure.at) if measure.cutoff is Cutoff.RECALL else int(measure.at)
        )
    accepted = inspect.signature(function).parameters
    if measure.name in ("charP", "charR"):
        keywords.pop("beta", None)  # the family shares it; it weighs recall in charF only
    takes_options = "options" in accepted
    if "policy" in accepted or (takes_options and not measure.name.startswith("T2I")):
        keywords["policy"] = "union" if union else "allow"
    if measure.name.startswith("T2I"):
        keywords["lengths"] = {campaigns.UNJUDGED: campaigns.UNJUDGED_LENGTH}
    results, documents = campaign
    if measure.name == "BEPD":  # L=auto is the mean over the documents of all topics
        lengths = [doc.length for doc in documents.values()]
        keywords.setdefault("L", sum(lengths, campaigns.UNJUDGED_LENGTH) / (len(lengths) + 1))
    return float(function(results, documents, **keywords))


OF_TEXT = [m for m in all_measures() if not m.structural and hasattr(naive, m.name)]
"""Measures of elements and of user models are compared with oracles of their own."""


@pytest.mark.parametrize("measure", OF_TEXT, ids=lambda m: m.name)
@settings(max_examples=30)
@given(campaign=campaigns.campaigns())
def test_fast_equals_naive(measure: Measure, campaign: campaigns.Campaign) -> None:
    views = {union: campaigns.view(*campaign, union=union) for union in (False, True)}
    for variant in _variants(measure):
        for union, topic in views.items():
            fast, slow = score(variant, topic), _naive_value(variant, campaign, union=union)
            same = math.isnan(fast) if math.isnan(slow) else abs(fast - slow) < 1e-12
            assert same, f"{variant} union={union}: fast {fast}, naive {slow}"


def test_every_variant_is_a_real_measure() -> None:
    for measure in OF_TEXT:
        for variant in _variants(measure):
            assert parse_measure(variant.label) == variant
