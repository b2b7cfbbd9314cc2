"""What every measure of elements must be, on random trees with a collection behind them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_structure
import structures
import trees
from foveal.measures import Measure, all_measures
from naive_structure import Document, Result
from scoring import score

EVERY = [
    measure if not measure.cutoff.required else measure @ ("0.3" if measure.name == "ep" else "3")
    for measure in all_measures()
    if measure.structural
]
SCALED = {"2002": "gen", "2003": "gen", "2005": "spec", "2006": "spec"}


def fitted(measure: Measure, documents: dict[str, Document]) -> Measure:
    """The measure with a quantisation of the judgements' scale."""
    known = {parameter.name for parameter in measure.parameters}
    scale = documents["D1"].scale
    if measure.name == "inex_eval_ng":
        return measure
    return measure(quant=SCALED[scale]) if "quant" in known else measure


def known_to(scale: naive_structure.Scale) -> list[Measure]:
    """The measures that are defined on the scale."""
    early = scale in ("2003", "2005")
    return [measure for measure in EVERY if early or measure.name != "inex_eval_ng"]


# Indexing a collection takes longer than all measures on it: each is for all of them.


@given(campaign=trees.campaigns())
@settings(max_examples=60)
def test_values_stay_in_range_and_come_twice(campaign: trees.Campaign) -> None:
    with structures.view(campaign) as topic:
        chosen = [fitted(m, campaign.documents) for m in known_to(campaign.documents["D1"].scale)]
        values = [score(measure, topic) for measure in chosen]
        again = [score(measure, topic) for measure in reversed(chosen)]
    for measure, value, repeated in zip(chosen, values, reversed(again), strict=True):
        low, high = measure.range
        within = low <= value <= (math.inf if high is None else high + 1e-12)
        assert math.isnan(value) or within, f"{measure}: {value}"
        same = value == repeated or (math.isnan(value) and math.isnan(repeated))
        assert same, f"{measure}: {value}, then {repeated}"


@given(campaign=trees.campaigns())
@settings(max_examples=40)
def test_a_topic_without_results_scores_zero(campaign: trees.Campaign) -> None:
    documents = campaign.documents
    with structures.view(trees.Campaign([], documents)) as topic:
        for measure in known_to(documents["D1"].scale):
            value = score(fitted(measure, documents), topic)
            assert math.isnan(value) or value == 0, f"{measure}: {value}"


@given(campaign=trees.campaigns())
@settings(max_examples=40)
def test_nothing_relevant_is_undefined(campaign: trees.Campaign) -> None:
    barren = {
        name: Document(document.tree, scale=document.scale, judged=document.judged)
        for name, document in campaign.documents.items()
    }
    with structures.view(trees.Campaign(campaign.results, barren)) as topic:
        for measure in known_to(barren["D1"].scale):
            value = score(fitted(measure, barren), topic)
            assert math.isnan(value), f"{measure}: {value}"


def ideal_run(documents: dict[str, Document], *, focused: bool) -> list[Result]:
    """The elements of the recall base, best first; documents by what their roots are worth."""
    worth = naive_structure.quantised(documents, SCALED[documents["D1"].scale])
    base = naive_structure.ideal_base(documents, worth) if focused else worth
    wanted = sorted((key for key in base if worth[key] > 0), key=lambda key: -worth[key])
    return [Result(doc, xpath) for doc, xpath in wanted]


IDEAL = ("nxCG", "MAnxCG", "MAep", "iMAep", "Q", "Rmeasure", "FBelement")


@pytest.mark.parametrize("overlap", ["off", "on"])
@given(documents=st.sampled_from(trees.SCALES).flatmap(trees.collections))
@settings(max_examples=40)
def test_an_ideal_run_scores_one(overlap: str, documents: dict[str, Document]) -> None:
    results = ideal_run(documents, focused=overlap == "on")
    with structures.view(trees.Campaign(results, documents)) as topic:
        for measure in (measure for measure in EVERY if measure.name in IDEAL):
            value = score(fitted(measure, documents)(overlap=overlap), topic)
            one = math.isnan(value) or value == pytest.approx(1, abs=1e-12)
            assert one, f"{measure}: {value}"


@given(documents=st.sampled_from(trees.SCALES).flatmap(trees.collections))
@settings(max_examples=15)
def test_an_ideal_list_of_articles_scores_one(documents: dict[str, Document]) -> None:
    measure = next(measure for measure in EVERY if measure.name == "FBarticle")
    worth = naive_structure.quantised(documents, SCALED[documents["D1"].scale])
    roots = {name: worth.get((name, f"/{doc.tree.tag}[1]"), 0) for name, doc in documents.items()}
    best = {name: max((w for (d, _), w in worth.items() if d == name), default=0) for name in roots}
    order = sorted(roots, key=lambda name: -(roots[name] or best[name]))
    results = [Result(name, f"/{documents[name].tree.tag}[1]") for name in order if best[name]]
    with structures.view(trees.Campaign(results, documents)) as topic:
        value = score(fitted(measure, documents), topic)
    assert math.isnan(value) or value == pytest.approx(1, abs=1e-12)
