"""Scores at budgets: curves, their area, who leads where, and how sure that is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaigns
import foveal
from foveal.analysis.budgets import BudgetCurves
from foveal.errors import InputError, UsageError
from foveal.model import Results
from shared_data import DATA

CHUNKERS = DATA / "chunking_evaluation"
needs_chunkers = pytest.mark.skipif(
    not CHUNKERS.exists(), reason="the chunking_evaluation data are not beside the project"
)
TRUTH = foveal.Judgements.from_highlights(
    {
        "1": {"D": {"spans": [(30, 50)], "length": 90}},
        "2": {"D": {"spans": [(0, 10)], "length": 90}},
    }
)
SMALL = foveal.Run.from_results(
    {"1": [("D", 40, 50), ("D", 60, 70), ("D", 30, 40)], "2": [("D", 0, 10)]}, name="small"
)
LARGE = foveal.Run.from_results({"1": [("D", 20, 60)], "2": [("D", 0, 40)]}, name="large")


def of_curves(*means: list[float], budgets: list[int]) -> BudgetCurves:
    """Curves of runs a, b, ... on two topics with the same scores."""
    values = np.repeat(np.array(means)[:, None, :], 2, axis=1)
    runs = tuple("abcd"[: len(means)])
    counted = np.ones(values.shape[:2], dtype=bool)
    names = tuple(f"charR(budget={budget},unit=tokens)" for budget in budgets)
    results = Results(runs, ("1", "2"), names, values, counted, np.array(means))
    return BudgetCurves("charR", "tokens", np.array(budgets), results)


# -- worked examples ---------------------------------------------------------------------------


def test_budgets_end_where_new_text_does() -> None:
    twice = {"1": [{"doc": "D", "start": 0, "end": 50, "tokens": 10}] * 3}
    run = foveal.run_of(twice)
    ends = {
        rule: foveal.budget_curves(run, TRUTH, unit="tokens", overlap=rule).budgets[-1]
        for rule in ("union", "allow")
    }
    assert ends == {"union": 10, "allow": 30}


def test_curves_of_python_objects() -> None:
    found = {"1": [("D", 20, 60)], "2": [("D", 0, 40)]}
    truth = {"1": [("D", 30, 50)], "2": [("D", 0, 10)]}
    curves = foveal.budget_curves(found, truth, budgets=[10, 20, 30])
    assert curves.mean.tolist() == [[0.5, 0.75, 1.0]]
    same = foveal.budget_curves(LARGE, TRUTH, budgets=[10, 20, 30])
    assert np.array_equal(curves.results.values, same.results.values)


def test_area_is_the_mean_height() -> None:
    curves = of_curves([0.0, 1.0, 1.0], [0.5, 0.5, 0.5], budgets=[100, 200, 400])
    assert curves.area == pytest.approx({"a": (50 + 200) / 300, "b": 0.5})
    assert of_curves([0.25], budgets=[100]).area == {"a": 0.25}


def test_runs_cross_on_straight_lines() -> None:
    curves = of_curves([0.2, 0.4, 0.6], [0.3, 0.4, 0.5], budgets=[100, 200, 300])
    (crossing,) = curves.crossings("a", "b")
    assert crossing == ("b", "a", 200.0, 100.0, 300.0)
    curves = of_curves([0.2, 0.6], [0.3, 0.4], budgets=[100, 400])
    (crossing,) = curves.crossings("b", "a")
    assert (crossing.below, crossing.above) == ("b", "a")
    assert crossing.at == pytest.approx(200.0)


def test_who_leads_stays_in_the_lead_where_another_is_as_good() -> None:
    curves = of_curves([0.2, 0.4, 0.5], [0.3, 0.4, 0.4], budgets=[100, 200, 300])
    assert curves.leaders == (("b", 100, 200), ("a", 300, 300))
    summary = curves.summary()
    assert summary.startswith(
        "b is better below 200 tokens, a above; from 100 to 300 this may be chance."
    )


def test_a_crossing_that_few_topics_support_is_not_sure() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.5, (12, 1))
    values = np.stack([noise + np.array([0.01, 0.0, -0.01]), np.zeros((12, 3))])
    values -= noise.mean() * np.array([1, 0])[:, None, None]
    curves = of_curves([0.0] * 3, [0.0] * 3, budgets=[1, 2, 3])
    topics = tuple(map(str, range(12)))
    results = replace(curves.results, values=values, overall=values.mean(axis=1), topics=topics)
    curves = replace(curves, results=results)
    (crossing,) = curves.crossings("a", "b")
    assert (crossing.low, crossing.high) == (1, 3)
    assert crossing == curves.crossings("a", "b")[0]  # the same topics are drawn each time
    assert "from 1 to 3 this may be chance" in curves.summary()


def test_one_run_or_one_leader_is_said_so() -> None:
    assert of_curves([0.1, 0.2], budgets=[1, 2]).summary() == ""
    both = of_curves([0.1, 0.2], [0.0, 0.1], budgets=[1, 2])
    assert both.summary() == "No run beats a at any budget from 1 to 2 tokens."


# -- what evaluate says ------------------------------------------------------------------------


@pytest.mark.parametrize("overlap", ["drop", "union", "allow"])
@pytest.mark.parametrize("measure", ["charR", "charP", "charF(beta=2)", "charR@2", "iP@0.29"])
@settings(max_examples=10)
@given(
    campaign=campaigns.campaigns(),
    budgets=st.lists(st.integers(1, 70), min_size=1, max_size=4),
    unit=st.sampled_from(["characters", "tokens", "results"]),
)
def test_every_point_is_a_score(
    measure: str, overlap: str, campaign: campaigns.Campaign, budgets: list[int], unit: str
) -> None:
    results, documents = campaign
    if not results:
        return
    run = foveal.Run.from_results({"t": results}, name="mine")
    run = replace(run, tokens=np.arange(3, len(run) + 3))
    truth = campaigns.judgements_of(documents)
    curves = foveal.budget_curves(
        run, truth, measure, budgets=budgets, unit=unit, overlap=overlap
    ).results
    scores = foveal.evaluate(run, truth, list(curves.measures), overlap=overlap)
    assert curves.measures == scores.measures
    np.testing.assert_allclose(curves.values, scores.values, atol=1e-12)
    np.testing.assert_allclose(curves.overall, scores.overall, atol=1e-12)


@pytest.mark.parametrize("policy", ["judged", "run", "both"])
def test_topics_count_as_in_an_evaluation(policy: str) -> None:
    runs = [SMALL, foveal.Run.from_results({"1": [("D", 30, 50)]}, name="half")]
    curves = foveal.budget_curves(runs, TRUTH, budgets=[5, 20], topics=policy).results
    scores = foveal.evaluate(runs, TRUTH, list(curves.measures), topics=policy)
    np.testing.assert_allclose(curves.overall, scores.overall)
    assert curves.counted.tolist() == scores.counted.tolist()


def test_budgets_end_where_half_of_the_topics_of_a_run_do() -> None:
    curves = foveal.budget_curves([SMALL, LARGE], TRUTH)
    assert curves.budgets[-1] == 20  # 30 and 10 characters of small, 40 and 40 of large
    assert len(foveal.budget_curves([LARGE], TRUTH, up_to=1000).budgets) == 20


# -- tokens -------------------------------------------------------------------------------------


def test_tokens_are_counted_by_any_tokeniser() -> None:
    texts = {"D": "ab cd " * 15}
    assert foveal.with_tokens(LARGE, str.split, texts).tokens.tolist() == [13, 14]
    assert foveal.with_tokens(LARGE, lambda text: len(text) / 3, texts).tokens.tolist() == [14, 14]
    assert foveal.with_tokens(LARGE, len, texts).tokens.tolist() == [40, 40]
    whole = replace(LARGE, start=np.zeros(2, np.int64), end=np.full(2, -1))
    assert foveal.with_tokens(whole, len, texts).tokens.tolist() == [90, 90]


def test_equal_spans_are_counted_once() -> None:
    seen: list[str] = []

    def tokenise(text: str) -> list[str]:
        seen.append(text)
        return text.split()

    run = foveal.Run.from_results({"1": [("D", 0, 3)], "2": [("D", 0, 3), ("D", 4, 6)]})
    assert foveal.with_tokens(run, tokenise, {"D": "a b c d"}).tokens.tolist() == [2, 2, 1]
    assert seen == ["a b", "c "]


@pytest.mark.parametrize(
    "returned", [-1, float("nan"), float("inf"), None, "ab", {"input_ids": [1, 2]}]
)
def test_a_tokeniser_that_counts_nothing_is_refused(returned: object) -> None:
    with pytest.raises(UsageError, match="expected the tokens or their number"):
        foveal.with_tokens(LARGE, lambda _: returned, {"D": "x" * 90})  # type: ignore[arg-type]


def test_texts_must_hold_the_results() -> None:
    with pytest.raises(InputError, match="large:1: no text of document 'D' is given"):
        foveal.with_tokens(LARGE, len, {})
    with pytest.raises(InputError, match="ends at 60, past the 50 characters of 'D'"):
        foveal.with_tokens(LARGE, len, {"D": "x" * 50})
    nowhere = replace(LARGE, start=np.full(2, -1), end=np.full(2, -1))
    with pytest.raises(InputError, match="the result has no offsets"):
        foveal.with_tokens(nowhere, len, {"D": "x" * 50})


# -- wrong use ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"measure": "AP"}, "AP has no curve; expected charR, charP, charF or iP@x, no budget"),
        ({"measure": "charR(budget=5)"}, "charR(budget=5) has no curve"),
        ({"unit": "words"}, "unit 'words' is not one of characters, tokens, results"),
        ({"budgets": []}, "whole numbers from 1, and at least one"),
        ({"budgets": [0, 5]}, "whole numbers from 1"),
        ({"budgets": [1.5]}, "whole numbers from 1"),
        ({"up_to": 0}, "up_to 0 is not possible"),
    ],
)
def test_what_has_no_curve_is_refused(options: dict[str, object], expected: str) -> None:
    with pytest.raises(UsageError) as refused:
        foveal.budget_curves(SMALL, TRUTH, **options)  # type: ignore[arg-type]
    assert expected in str(refused.value)


# -- the reference data ------------------------------------------------------------------------


@needs_chunkers
def test_chunkers_of_the_reference_data_cross() -> None:
    """The figures that docs/compare-chunkers-fairly.md states."""
    reference = CHUNKERS / "reference"
    runs = [reference / f"run_bm25_{name}.jsonl" for name in ("rcts-400-0", "rcts-800-400")]
    truth = CHUNKERS / "focused" / "qrels.jsonl"
    curves = foveal.budget_curves(runs, truth, up_to=6800, overlap="union")
    small, large = curves.runs
    (crossing,) = curves.crossings(small, large)
    assert (crossing.below, crossing.above) == (small, large)
    assert round(crossing.at) == 640
    assert (crossing.low, crossing.high) == (340.0, 1020.0)
    assert [f"{area:.4f}" for area in curves.area.values()] == ["0.7216", "0.7984"]
    at_five = foveal.evaluate(runs, truth, ["charP@5", "charR@5"], overlap="union")
    assert at_five[small, "charP@5"] > at_five[large, "charP@5"]
    assert at_five[small, "charR@5"] < at_five[large, "charR@5"]
