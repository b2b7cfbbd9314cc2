"""rejected and accepted: unanswerable topics in files and Python, and what they leave unchanged."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.errors import InputError
from foveal.formats import Source, read_judgements, read_run
from foveal.formats.jsonl import write_judgements, write_run
from foveal.formats.losses import judgement_losses, run_losses
from foveal.measures import all_measures
from foveal.model import Judgements, Run

RELEVANT = {"topic": "1", "doc": "d", "length": 90, "spans": [{"start": 0, "end": 50}]}
RESULT = {"topic": "1", "doc": "d", "start": 0, "end": 30}
UNANSWERABLE = {"topic": "9", "answerable": False}
NOTHING: dict[str, Any] = {"topic": "9", "results": []}


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def judged(*rows: dict[str, Any], path: str = "j.jsonl") -> Judgements:
    return read_judgements(Source.of_text(lines(*rows), path))


def returned(*rows: dict[str, Any]) -> Run:
    return read_run(Source.of_text(lines(*rows), "r.jsonl"))


# -- scores --------------------------------------------------------------------------------------

ANSWERABLE = {
    "1": {"d": {"spans": [(0, 50)], "length": 90}},
    "2": {"d": {"spans": [(20, 40)], "length": 90}},
    "3": {"d": {"spans": [], "length": 90}},
}
TOPICS = ("1", "2", "3", "7", "8", "9")


@given(st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 2), min_size=1))
@settings(max_examples=60)
def test_fast_equals_naive(counts: dict[str, int]) -> None:
    truth = foveal.judgements_of(ANSWERABLE, unanswerable=("7", "8", "9"))
    results = {topic: [("d", 0, 9), ("d", 9, 20)][:n] for topic, n in counts.items()}
    found = foveal.evaluate(Run.from_results(results), truth, ["rejected", "accepted"])
    rejected = [float(not counts.get(topic)) for topic in "789"]
    accepted = [float(bool(counts.get(topic))) for topic in "123"]
    assert found.values[0, 3:, 0].tolist() == rejected
    assert found.values[0, :3, 1].tolist() == accepted
    assert np.isnan(found.values[0, :3, 0]).all()
    assert np.isnan(found.values[0, 3:, 1]).all()
    assert found["run", "rejected"] == pytest.approx(sum(rejected) / 3)
    assert found["run", "accepted"] == pytest.approx(sum(accepted) / 3)


@pytest.mark.parametrize("undefined", ["skip", "zero"])
@pytest.mark.parametrize("others", [{}, {"8": [("d", 0, 9)], "9": []}])
def test_scores_of_the_other_topics_are_unchanged(
    undefined: str, others: dict[str, list[tuple[str, int, int]]]
) -> None:
    """Every measure that these judgements suit, always defined or not."""
    results = {"1": [("d", 0, 30)], "3": [("d", 5, 9)]}
    before = Judgements.from_highlights(ANSWERABLE)
    after = foveal.judgements_of(ANSWERABLE, unanswerable=("8", "9"))
    scored = 0
    for measure in all_measures():
        own = (
            measure @ (0.1 if measure.cutoff.of_recall else 5)
            if measure.cutoff.required
            else (measure)
        )
        try:
            one = foveal.evaluate(Run.from_results(results), before, own, undefined=undefined)
        except InputError:
            continue  # elements, entry points, grades or aspects, which are not judged here
        two = foveal.evaluate(Run.from_results(results | others), after, own, undefined=undefined)
        if own.name == "rejected":
            assert two["run", "rejected"] == (0.5 if others else 1)
            continue
        scored += 1
        assert np.array_equal(one.values[0], two.values[0, :3], equal_nan=True), own
        assert np.array_equal(one.overall, two.overall, equal_nan=True), own
        if undefined == "skip":
            assert np.isnan(two.values[0, 3:]).all(), own
    assert scored > 40


def test_unanswerable_topics_cause_no_warning() -> None:
    truth = foveal.judgements_of({"1": ANSWERABLE["1"]}, unanswerable=["9"])
    run = Run.from_results({"1": [("d", 0, 9)]})
    measures = ["charR", "rejected", "accepted"]
    assert not foveal.evaluate(run, truth, measures).meta["warnings"]
    others = foveal.evaluate(run, truth.for_topics("1"), measures)
    assert others.meta["warnings"] == ["rejected: no topic is declared unanswerable"]
    assert math.isnan(others["run", "rejected"])


def test_a_topic_listed_without_results_is_in_the_run() -> None:
    truth = judged(RELEVANT, UNANSWERABLE, {"topic": "8", "answerable": False})
    found = foveal.evaluate(returned(RESULT, NOTHING), truth, ["rejected", "charR"], topics="run")
    assert found.aggregate()["r"] == {"rejected": 1, "charR": 0.6}
    assert found.meta["topics"]["runs"]["r"]["averaged"] == {"rejected": 1, "charR": 1}


def test_a_run_that_returns_nothing_at_all() -> None:
    found = foveal.evaluate(
        returned(NOTHING), judged(RELEVANT, UNANSWERABLE), ["rejected", "accepted", "charR"]
    )
    assert found.aggregate()["r"] == {"rejected": 1, "accepted": 0, "charR": 0}


# -- files ---------------------------------------------------------------------------------------


def test_files_are_read_written_merged_and_selected() -> None:
    one = judged(RELEVANT, path="one.jsonl")
    two = judged(UNANSWERABLE, {"topic": "8", "spans": []}, path="two.jsonl")
    merged = Judgements.merged([two, one])
    assert (merged.topics, merged.unanswerable) == (("1", "8", "9"), {"9"})
    again = read_judgements(Source.of_text(write_judgements(merged), "k.jsonl"))
    assert (again.topics, again.unanswerable) == (merged.topics, merged.unanswerable)
    assert merged.for_topics(["1", "8"]).unanswerable == frozenset()
    assert merged.combined().for_topics(["9"]).unanswerable == {"9"}
    run = returned(RESULT, NOTHING)
    written = read_run(Source.of_text(write_run(run), "s.jsonl"))
    assert written.topics_without_results == run.topics_without_results == ("9",)
    assert read_run(Source.of_text(write_run(returned(NOTHING)), "s.jsonl")).topics == ()


def test_an_unanswerable_topic_may_have_judged_documents() -> None:
    truth = judged(RELEVANT, {**UNANSWERABLE, "doc": "d", "spans": []})
    assert (truth.unanswerable, truth.topics_without_documents) == ({"9"}, ())
    again = read_judgements(Source.of_text(write_judgements(truth), "k.jsonl"))
    assert (again.unanswerable, len(again)) == ({"9"}, 2)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"topic": "9", "answerable": "no"}, "json.value"),
        ({"topic": "9", "answerable": 0}, "json.value"),
        ({"topic": "1", "answerable": False}, "judgements.answerable"),
        ({"topic": "9", "answerable": False, "docid": "d"}, "doc.missing"),
        ({"answerable": False}, "topic.missing"),
        ({"topic": "all", "answerable": False}, "topic.reserved"),
    ],
)
def test_wrong_judgements_are_refused(row: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as caught:
        judged(RELEVANT, row)
    assert code in [problem.code for problem in caught.value.problems]
    assert all(problem.line in (1, 2) for problem in caught.value.problems)


def test_files_must_not_contradict_each_other() -> None:
    with pytest.raises(InputError) as caught:
        judged(RELEVANT, UNANSWERABLE, {"topic": "9", "answerable": True})
    assert [(p.code, p.line) for p in caught.value.problems] == [("judgements.answerable", 3)]
    with pytest.raises(InputError) as caught:
        Judgements.merged([judged(RELEVANT), judged({"topic": "1", "answerable": False})])
    assert [(p.code, p.line) for p in caught.value.problems] == [("judgements.answerable", 1)]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"topic": "9", "results": [RESULT]}, "run.results"),
        ({"topic": "9", "results": ["d"]}, "run.results"),
        ({"topic": "9", "results": "none"}, "json.value"),
        ({"topic": "9", "results": 0}, "json.value"),
        ({"topic": "9", "results": [], "doc": "d"}, "run.results"),
        ({"topic": "1", "results": []}, "run.results"),
        ({"results": []}, "topic.missing"),
        ({"topic": "all", "results": []}, "topic.reserved"),
    ],
)
def test_wrong_runs_are_refused(row: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as caught:
        returned(RESULT, row)
    assert [(p.code, p.line) for p in caught.value.problems] == [(code, 2)]


def test_other_formats_lose_them() -> None:
    truth, run = judged(RELEVANT, UNANSWERABLE), returned(RESULT, NOTHING)
    assert judgement_losses(truth, "fol") == ["unanswerable topics: 1"]
    assert judgement_losses(truth, "jsonl") == []
    assert "topics without results: 1" in run_losses(run, "results offsets name")
    assert run_losses(run, "results offsets name topics") == []
