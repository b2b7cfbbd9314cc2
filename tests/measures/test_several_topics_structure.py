"""Measures of elements on several topics of unequal length, at several cut-offs in one evaluation.

Each topic must score what the naive measures give it alone.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import foveal
import naive_structure
import toy_elements
import trees
from foveal.collection import build_index
from foveal.measures import Cutoff, Measure
from measures.test_against_naive_structure import MEASURES, naive_value, same, variants
from measures.test_worked_examples_structure import TOY
from toy_elements import A2, P1, P2, P4, S1

RANKS = ((1, 2, 5, 9, 40), (1, 3), (2,))
"""Cut-offs beyond the longest list, and such that all end before it."""
LEVELS = ("0.01", "0.25", "0.333", "0.5", "1")
TOPICS = ("2", "3", "10", "a")


class Campaign(NamedTuple):
    """Campaigns by topic, over one collection of documents."""

    topics: dict[str, trees.Campaign]
    documents: dict[str, naive_structure.Document]


@st.composite
def campaigns(draw: st.DrawFn, scale: naive_structure.Scale) -> Campaign:
    """Two to four topics of up to ten results; some share their documents and judgements."""
    drawn: list[dict[str, naive_structure.Document]] = []
    topics: dict[str, trees.Campaign] = {}
    for topic in TOPICS[: draw(st.integers(2, 4))]:
        if not drawn or draw(st.integers(0, 3)):
            own = draw(trees.collections(scale))
            drawn.append({f"{name}-{len(drawn)}": document for name, document in own.items()})
        results = draw(trees.runs(drawn[-1], max_results=draw(st.sampled_from([0, 1, 3, 8]))))
        topics[topic] = trees.Campaign(results, drawn[-1])
    every = [result for campaign in topics.values() for result in campaign.results]
    assume(every)
    if any(result.rsv is None for result in every):  # scores are for all results or for none
        topics = {
            topic: trees.Campaign([r._replace(rsv=None) for r in own.results], own.documents)
            for topic, own in topics.items()
        }
    return Campaign(topics, {name: d for own in drawn for name, d in own.items()})


def evaluate(campaign: Campaign, measures: list[Measure]) -> dict[str, list[float]]:
    """Return the scores of each topic, all topics and measures in one evaluation."""
    truth, run = [], []
    for topic, own in campaign.topics.items():
        truth += trees.judgement_objects(own.documents, topic)[bool(truth) :]
        run += trees.run_objects(own.results, topic)[bool(run) :]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "truth.jsonl").write_text(trees.json_lines(truth))
        (folder / "run.jsonl").write_text(trees.json_lines(run))
        (folder / "documents").mkdir()
        for file, text in trees.xml_files(campaign.documents).items():
            (folder / "documents" / file).write_text(text)
        build_index(folder / "documents", folder / "index")
        found = foveal.evaluate(
            folder / "run.jsonl", folder / "truth.jsonl", measures, collection=folder / "index"
        )
    assert [str(measure) for measure in found.measures] == [str(measure) for measure in measures]
    return {topic: found.values[0, i].tolist() for i, topic in enumerate(found.topics)}


def at_every_cutoff(measure: Measure, ranks: tuple[int, ...]) -> list[Measure]:
    if measure.cutoff is Cutoff.NONE:
        return [measure]
    at = ranks if measure.cutoff is Cutoff.RANK else LEVELS
    every = [type(measure)(measure.settings) @ point for point in at]
    return every if measure.cutoff.required else [type(measure)(measure.settings), *every]


@settings(max_examples=30)
@given(data=st.data())
def test_topics_score_as_if_alone(data: st.DataObject) -> None:
    scale = data.draw(st.sampled_from(trees.SCALES))
    campaign = data.draw(campaigns(scale))
    ranks = data.draw(st.sampled_from(RANKS))
    chosen: list[Measure] = []
    for measure in MEASURES:
        if measure.name == "inex_eval_ng" and scale in ("2002", "2006"):
            continue
        variant = data.draw(variants(measure, scale))
        if variant.settings.get("unretrieved") == "random_tail":
            variant = variant(collection_size=60)  # auto counts the elements of all topics
        chosen += at_every_cutoff(variant, ranks)
    chosen = list(dict.fromkeys(chosen))
    found = evaluate(campaign, chosen)
    assert set(found) == set(campaign.topics)
    for topic, own in campaign.topics.items():
        for measure, fast in zip(chosen, found[topic], strict=True):
            slow = naive_value(measure, own)
            assert same(fast, slow), f"topic {topic}, {measure}: fast {fast}, naive {slow}"


@settings(max_examples=20)
@given(data=st.data())
def test_inex_eval_at_recall_0_is_that_of_the_first_bit(data: st.DataObject) -> None:
    scale = data.draw(st.sampled_from(trees.SCALES))
    campaign = data.draw(campaigns(scale))
    measure = foveal.parse_measure("inex_eval") @ 0
    found = evaluate(campaign, [measure])
    for topic, own in campaign.topics.items():
        limit = naive_structure.inex_eval(own.results, own.documents, x="1e-12")
        (value,) = found[topic]
        assert math.isnan(value) if math.isnan(limit) else abs(value - limit) < 1e-9


@pytest.mark.parametrize("variant", ["o", "s"])
def test_elements_that_a_structured_topic_leaves_out_are_not_specific(
    variant: Literal["o", "s"], tmp_path: Path
) -> None:
    """Filtering judgements by --cas scores like judgements that lack the other elements."""
    build_index(toy_elements.write_documents(tmp_path), tmp_path / "index")
    lines = toy_elements.judgement_lines("2003", spans=False)
    (tmp_path / "all").write_text(toy_elements.judgements(lines, "2003"))
    for line in lines:
        line["elements"] = [e for e in line["elements"] if "/p[" in e["xpath"]]
    (tmp_path / "paragraphs").write_text(toy_elements.judgements(lines, "2003"))
    ranked = [S1, P4, A2, P2, P1]
    (tmp_path / "run").write_text(toy_elements.run(ranked))
    (tmp_path / "topics").write_text('{"topic": "1", "castitle": "//p[about(., x)]"}\n')
    documents = {
        line["doc"]: naive_structure.Document(
            TOY[line["doc"]].tree,
            grades={e["xpath"]: (e["exhaustivity"], e["specificity"]) for e in line["elements"]},
            scale="2003",
        )
        for line in lines
    }
    results = [naive_structure.Result(*result.split()) for result in ranked]
    levels = (None, "0.1", "0.3")
    expected = [
        naive_structure.inex_eval_ng(results, documents, variant=variant, x=x) for x in levels
    ]
    assert 0 < expected[0] < 1
    asked = [f"inex_eval_ng(variant={variant})" + (f"@{x}" if x else "") for x in levels]
    cas = {"cas": "SV", "topics_file": str(tmp_path / "topics")}
    for truth, options in (("paragraphs", {}), ("all", cas)):
        found = foveal.evaluate(
            tmp_path / "run", tmp_path / truth, asked, collection=tmp_path / "index", **options
        )
        assert found.overall[0].tolist() == pytest.approx(expected, abs=1e-12)
