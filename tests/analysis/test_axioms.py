"""Axioms: measures of this package pass or say why not, and measures that are wrong are caught."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal import evaluate
from foveal.analysis.axioms import (
    AXIOMS,
    LENGTHS,
    REASONS,
    TREES,
    TWINS,
    Axioms,
    ListKind,
    axioms,
    draw_campaigns,
)
from foveal.errors import UsageError
from foveal.measures import Measure, all_measures
from foveal.measures.alignment import TopicView
from foveal.model import Judgements, Run

FEW = 100
NAMES = [axiom.name for axiom in AXIOMS]


@cache
def everything() -> Axioms:
    return axioms()


# -- the measures there are ----------------------------------------------------------------------


@pytest.mark.parametrize("measure", all_measures(), ids=lambda measure: measure.name)
def test_measures_are_sound_or_say_why_not(measure: Measure) -> None:
    """Measures of other tools are kept as they are, but only under a mark."""
    own = [v for v in everything().verdicts if v.measure.partition("@")[0] == measure.label]
    assert [v.axiom for v in own] == NAMES
    failed = {v.axiom: v for v in own if v.verdict == "fails"}
    if measure.section == "30":  # a measure of another tool
        assert measure.unsound or not failed, failed
    else:
        assert not failed


@pytest.mark.parametrize(("name", "axiom"), REASONS)
def test_no_reason_excuses_what_holds(name: str, axiom: str) -> None:
    (verdict,) = [
        v for v in everything().verdicts if v.measure.partition("@")[0] == name and v.axiom == axiom
    ]
    assert verdict.verdict == "by design"
    assert verdict.reason == REASONS[name, axiom]


def test_every_axiom_is_tried_on_enough_campaigns() -> None:
    found = axioms(["charF", "AgP", "Q", "EPRUM"])
    tried = {(v.measure, v.axiom): v.campaigns for v in found.verdicts if v.campaigns}
    assert min(tried.values()) >= 20, tried


@pytest.mark.parametrize(
    ("measure", "axiom"),
    [
        ("HiR(alpha=0)@10", "duplicate"),  # repeated text counts again
        ("T2IcharR@10", "split"),
        ("AP", "touching"),
    ],
)
def test_counterexamples_are_what_they_say(measure: str, axiom: str) -> None:
    """The lists and judgements of a counterexample, scored in the ordinary way."""
    example = axioms(measure, campaigns=FEW)[measure, axiom]
    assert example.relevant is not None
    truth: dict[str, dict[str, object]] = {d: {"length": n} for d, n in LENGTHS.items()}
    for doc, start, end in read(example.relevant):
        truth[doc].setdefault("spans", []).append((start, end))  # type: ignore[attr-defined]
    judged = Judgements.from_highlights({"t": truth})
    lists = {example.list: example.score, example.changed_list: example.changed_score}
    for results, expected in lists.items():
        run = Run.from_results({"t": read(results)}, name="r")
        assert evaluate(run, judged, measure)["r", measure] == pytest.approx(expected, abs=1e-12)


def read(text: str) -> list[tuple[str, int, int]]:
    """Results as they are printed."""
    found = []
    for item in text.split():
        doc, _, place = item.partition(":")
        start, _, end = place.partition("-")
        found.append((doc, int(start), int(end)))
    return found


def test_the_known_flaws_of_other_tools_are_found() -> None:
    found = axioms(["HiR(alpha=0)@10", "lbr_recall", "gen_passage", "bio_f1", "eraser_iou_f1"])
    assert found["lbr_recall", "bounded"].verdict == "fails"
    assert found["lbr_recall", "duplicate"].verdict == "fails"
    assert found["gen_passage", "split"].verdict == "fails"
    assert found["eraser_iou_f1", "split"].verdict == "fails"
    assert found["bio_f1", "touching"].verdict == "fails"
    assert set(found.unsound) == {"lbr_recall", "gen_passage", "bio_f1", "eraser_iou_f1"}
    assert found["HiR(alpha=0)@10", "duplicate"].verdict == "fails"


# -- measures that are wrong, one for each axiom ---------------------------------------------------


class Wrong(Measure):
    """A measure of returned text that somebody got wrong."""

    formula = source = "none"
    calculation: Callable[[TopicView], float]

    def score_topic(self, topic: TopicView) -> float:
        return float(type(self).calculation(topic))


def wrong(name: str, calculation: Callable[[TopicView], float]) -> Measure:
    return type("Wrong_", (Wrong,), {"name": name, "calculation": staticmethod(calculation)})()


def recall(topic: TopicView) -> float:
    return topic.new_rsize.sum() / topic.trel


def relevant_results(topic: TopicView) -> float:
    return min(1.0, (topic.rsize > 0).sum() / 6)


def same_offsets(topic: TopicView) -> float:
    """Whether some result has the offsets of some relevant passage, of whatever document."""
    judgements = topic.alignment.gold.judgements
    rows = np.flatnonzero(judgements.topic == topic.at).tolist()
    spans = [span for row in rows for span in topic.passages(row)]
    pairs = zip(topic.start.tolist(), topic.end.tolist(), strict=True)
    return float(any(s < end and start < e for start, end in pairs for s, e in spans))


def meeting(topic: TopicView) -> float:
    """Whether some result overlaps or touches relevant text."""
    return float(
        any(
            s <= end and start <= e
            for row, start, end in zip(topic.row.tolist(), topic.start, topic.end, strict=True)
            for s, e in topic.passages(row)
        )
    )


WRONG: dict[str, Callable[[TopicView], float]] = {
    "bounded": lambda topic: topic.rsize.sum() / topic.trel,
    "duplicate": relevant_results,
    "split": relevant_results,
    "order": lambda topic: recall(topic) * (1 - topic.start[0] / 100 if topic.n else 0),
    "document": same_offsets,
    "touching": meeting,
    "missing": lambda topic: recall(topic) if topic.n else float("nan"),
    "ideal": lambda topic: 0.9 * recall(topic),
    "tail": lambda topic: recall(topic) * topic.n / 10,
    "swap": lambda topic: float(
        (topic.rsize * np.arange(1, topic.n + 1)).sum() / (10 * topic.trel)
    ),
}


@pytest.mark.parametrize("axiom", NAMES)
def test_a_measure_that_breaks_an_axiom_is_caught(axiom: str) -> None:
    found = axioms(wrong("Wrong", WRONG[axiom]), campaigns=FEW)
    verdict = found["Wrong", axiom]
    assert verdict.verdict == "fails"
    assert verdict.score is not None
    assert verdict in found.failed


def test_a_sound_measure_of_somebody_else_passes() -> None:
    found = axioms(wrong("Recall", recall))
    assert [v.verdict for v in found.verdicts] == ["holds"] * len(AXIOMS)


def test_a_measure_can_say_itself_what_it_means_to_break() -> None:
    measure = wrong("Wrong", WRONG["ideal"])
    type(measure).axioms = {"ideal": "nobody is perfect"}
    verdict = axioms(measure, campaigns=FEW)["Wrong", "ideal"]
    assert (verdict.verdict, verdict.reason) == ("by design", "nobody is perfect")


# -- what does not apply ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "axiom", "reason"),
    [
        ("Q", "split", "no list of its kind or length"),
        ("BEPD", "order", "no list of its kind or length"),
        ("xCG@10", "bounded", "it declares no full score"),
        ("num_ret", "tail", "it has no better direction"),
        ("Redundancy", "duplicate", "it measures repeated or read text"),
        ("gP@10", "ideal", "it declares no full score"),
        ("HiP@1", "split", "no list of its kind or length"),
    ],
)
def test_what_does_not_apply_says_why(measure: str, axiom: str, reason: str) -> None:
    verdict = axioms(measure, campaigns=FEW)[measure, axiom]
    assert verdict.verdict == "does not apply"
    assert reason in verdict.reason


def test_refusing_a_list_is_as_good_as_scoring_it_well() -> None:
    verdict = axioms("charP", campaigns=FEW)["charP", "duplicate"]
    assert (verdict.verdict, verdict.reason) == ("holds", "such lists are refused")
    allowed = axioms("HiP@10", campaigns=FEW)["HiP@10", "duplicate"]
    assert (allowed.verdict, allowed.reason) == ("holds", None)


# -- campaigns -------------------------------------------------------------------------------------


@given(st.sampled_from(list(ListKind)), st.integers(0, 50))
@settings(max_examples=20)
def test_campaigns_are_what_their_kind_says(kind: ListKind, seed: int) -> None:
    for campaign in draw_campaigns(kind, 20, seed):
        assert any(campaign.relevant.values())
        assert set(campaign.relevant) <= set(TWINS)
        results = campaign.results
        assert results
        assert all(0 <= r.start < r.end <= LENGTHS[r.doc] for r in results)
        pairs = [(a, b) for i, a in enumerate(results) for b in results[i + 1 :]]
        assert not any(a.overlaps(b) for a, b in pairs)
        docs = [r.doc for r in results]
        if kind is ListKind.ENTRIES:
            assert len(set(docs)) == len(docs)
        if kind is ListKind.GROUPED:
            changes = sum(a != b for a, b in pairwise(docs))
            assert changes == len(set(docs)) - 1
        if kind is ListKind.ELEMENTS:
            assert all(TREES[r.doc][r.xpath or ""] == (r.start, r.end) for r in results)
            for (doc, path), grade in campaign.exhaustivity.items():
                parent = path.rpartition("/")[0]
                assert not parent or campaign.exhaustivity[doc, parent] >= grade


# -- the result ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measures", "options", "message"),
    [
        ([], {}, "no measure given"),
        ("nothing_like_it", {}, "unknown measure"),
        ("charR", {"campaigns": 0}, "campaigns 0; expected"),
    ],
)
def test_wrong_use_is_said(measures: object, options: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        axioms(measures, **options)  # type: ignore[arg-type]
