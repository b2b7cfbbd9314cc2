"""A topic scores the same, to the last bit, alone and among the other topics of a run.

What measures calculate for all topics of a run at once is compared with runs of one topic, and
those with the naive measures elsewhere.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.measures import parse_measures
from foveal.measures.alignment import Alignment, Gold, Overlap, TopicView
from foveal.measures.characters import sum_first
from foveal.measures.in_context import AverageGeneralisedPrecision
from foveal.measures.measure import Choice
from foveal.measures.xcg import NormalisedGain
from foveal.model import UNKNOWN, Judgements, Run
from foveal.recall.forest import QUANTISATIONS
from toy_elements import A2, P1, P2, P4, S1, judgement_lines, judgements
from toy_elements import run as element_run

TOPICS = ("1", "2", "3", "4")
DOCS = ("a", "b", "c", "a document with a long name")
LENGTH = 40
MEASURES = [
    measure
    for name in (
        "iP@0.00", "iP@0.01", "iP@0.29", "iP@1", "iP(budget=30)@0.1", "AiP", "AiP(points=7)",
        "AgP", "AgP(beta=0.25)", "AgP(score=BEP,n=9)", "AgP(score=T2I,irr=4)", "gP@3", "gP@9",
        "AgPw", "AgPw(form=interpolated)", "igP@0.5", "charP", "charR", "charF(budget=9)",
        "charF(beta=2)@3", "AP", "P@2", "R@3", "gR@2", "gRw@2", "judged@2", "BEPD",
        "HiF(alpha=0.3)@5", "HiF(alpha=0.3,rval=printed)@5", "T2I(T=9)", "Redundancy@3",
        "T2IcharP(T=9,mode=read)@3", "evR@3", "ce_iou@3", "eraser_iou_f1@3", "bio_ap@3", "bio_f1",
        "gen_passage2", "squad_f1@3", "nDCG(unit=passage)@2", "RR(unit=passage)",
        "Rprec(unit=passage)", "RBP(unit=passage)", "slotR@3", "slotsAll",
    )
    for measure in parse_measures(name)
]  # fmt: skip

spans = st.tuples(st.integers(0, LENGTH), st.integers(0, LENGTH)).map(sorted)
whole = st.just([0, UNKNOWN])
results = st.lists(st.tuples(st.sampled_from((*DOCS, "unjudged")), spans | spans | whole))
document = st.fixed_dictionaries(
    {"spans": st.lists(spans.map(tuple), max_size=4), "length": st.just(LENGTH)},
    optional={"bep": st.integers(0, LENGTH)},
)
truths = st.fixed_dictionaries(
    {topic: st.dictionaries(st.sampled_from(DOCS), document, min_size=1) for topic in TOPICS[:3]}
)
runs = st.dictionaries(st.sampled_from(TOPICS), results, max_size=4)


def run_of(ranked: dict[str, list[tuple[str, list[int]]]]) -> Run:
    """A run; a whole document that nobody judged is empty, as its length is not known."""
    rows = [
        (topic, doc, start, 0 if end < 0 and doc == "unjudged" else end)
        for topic, own in ranked.items()
        for doc, (start, end) in own
    ]
    schema = {"topic": pl.String, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
    return Run.from_frame(pl.DataFrame(rows, schema=schema, orient="row"), name="r")


@pytest.mark.parametrize("overlap", [Overlap.UNCHANGED, Overlap.UNION])
@settings(max_examples=60)
@given(truth=truths, ranked=runs)
def test_topics_do_not_see_each_other(
    truth: dict[str, dict[str, Any]],
    ranked: dict[str, list[tuple[str, list[int]]]],
    overlap: Overlap,
) -> None:
    gold = Gold(Judgements.from_highlights(truth).combined())
    whole = Alignment(run_of(ranked), gold, overlap)
    found = {measure: measure.score_topics(whole).tolist() for measure in MEASURES}
    for i, topic in enumerate(gold.topics):
        alone = Alignment(run_of({topic: ranked.get(topic, [])}), gold, overlap)
        for measure in MEASURES:
            expected = float(measure.score_topics(alone)[i])
            assert found[measure][i].hex() == expected.hex(), measure


def test_a_subclass_cannot_score_topic_by_topic_if_its_base_scores_all_at_once() -> None:
    kind = type(parse_measures("AiP")[0])
    mixin = type("Mixin", (), {"score_topic": lambda self, topic: 0.25})
    for bases, own in (((kind,), vars(mixin)), ((mixin, kind), {})):
        with pytest.raises(TypeError, match="define score_topics"):
            type("Other", bases, {n: v for n, v in own.items() if n == "score_topic"})


def test_a_topic_that_the_run_does_not_have_scores_nothing() -> None:
    truth = {topic: {"a": {"spans": [(0, 9)], "length": 9, "bep": 0}} for topic in ("1", "2")}
    gold = Gold(Judgements.from_highlights(truth).combined())
    run = Alignment(run_of({"2": [("a", [0, 9])]}), gold)
    assert {float(measure.score_topics(run)[0]) for measure in MEASURES} == {0.0}
    assert parse_measures("AiP")[0].score_topics(run).tolist() == [0.0, 1.0]


def test_sums_are_those_of_slices_to_the_last_bit() -> None:
    chance = np.random.default_rng(7)
    counts = np.array([0, 1, 7, 8, 9, 130, 0, 1000, 5000, 0])
    bounds = np.concatenate([[0], np.cumsum(counts)])
    values = chance.random(int(bounds[-1]))
    for rank in (None, 1, 8, 129, 4097):
        tops = [values[low:high][:rank] for low, high in pairwise(bounds.tolist())]
        assert sum_first(values, bounds, rank).tolist() == [float(top.sum()) for top in tops]


# -- measures of others that build on ours -------------------------------------------------------


class OwnPrecision(AverageGeneralisedPrecision):
    def generalised_precision(self, alignment: Alignment) -> Any:
        return super().generalised_precision(alignment) * 0 + 0.5


class Halved(NormalisedGain):
    def gain_lists(self, topic: TopicView) -> Any:
        gains, ideal = super().gain_lists(topic)
        return gains / 2, ideal


class Undefined(NormalisedGain):
    def is_defined(self, topic: TopicView) -> bool:
        return False


def test_what_a_measure_has_of_its_own_counts() -> None:
    spans = {"spans": [(0, 50)], "length": 50}
    truth = {"1": {"a": spans, "b": spans}, "2": {"a": {"spans": [], "length": 50}}}
    run = run_of({"1": [("a", [0, 40])], "2": [("a", [0, 3])]})
    gold = Gold(Judgements.from_highlights(truth).combined())
    scores = OwnPrecision().score_topics(Alignment(run, gold))
    assert scores[0] == 0.25
    assert math.isnan(scores[1])


def test_gains_of_its_own_count_and_are_not_taken_for_those_of_others(tmp_path: Path) -> None:
    (tmp_path / "truth").write_text(judgements(judgement_lines("2006", spans=False), "2006"))
    (tmp_path / "run").write_text(element_run([P4, P1, P2, S1, A2]))
    measures = [NormalisedGain() @ 3, Halved() @ 3, Undefined() @ 3]
    found = foveal.evaluate(tmp_path / "run", tmp_path / "truth", measures)
    gain, half, undefined = found.overall[0].tolist()
    assert 0 < half == gain / 2
    assert math.isnan(undefined)


def _of(quant: str) -> type[NormalisedGain]:
    options = "|".join([quant, *(name for name in QUANTISATIONS if name != quant)])
    return type(f"Of{quant}", (NormalisedGain,), {"quant": Choice(options, "")})


def test_a_class_with_other_defaults_is_another_measure(tmp_path: Path) -> None:
    (tmp_path / "truth").write_text(judgements(judgement_lines("2003", spans=False), "2003"))
    (tmp_path / "run").write_text(element_run([P4, P1, P2, S1, A2]))
    asked = [_of("gen")() @ 3, _of("strict")() @ 3, "nxCG(quant=gen)@3", "nxCG(quant=strict)@3"]
    values = [
        foveal.evaluate(tmp_path / "run", tmp_path / "truth", chosen).overall[0].tolist()
        for chosen in (asked[:2], asked[1::-1], asked[2:])
    ]
    assert repr(values[0]) == repr(values[1][::-1]) == repr(values[2])
    assert values[0][0] > 0
