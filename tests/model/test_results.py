"""Results: their views, their place in a notebook, saved and read again."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal import Results, UsageError

NAN = float("nan")


@pytest.fixture
def results() -> Results:
    """Two runs; run b is not counted on topic 10, run a is undefined there by AP."""
    return Results(
        ("a", "b"),
        ("9", "10"),
        ("AP", "num_ret"),
        np.array([[[0.5, 3.0], [NAN, 2.0]], [[0.25, 1.0], [NAN, NAN]]]),
        np.array([[True, True], [True, False]]),
        np.array([[0.5, 5.0], [0.25, 1.0]]),
        {"version": "1"},
    )


def test_one_value_is_asked_for_by_run_measure_and_topic(results: Results) -> None:
    assert results["a", "AP"] == 0.5
    assert results["a", "num_ret", "all"] == 5.0
    assert results["b", "AP", "9"] == 0.25
    assert np.isnan(results["a", "AP", "10"])


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (("c", "AP"), "no run 'c' in the results; they hold a, b"),
        (("a", "iP"), "no measure 'iP' in the results; they hold AP, num_ret"),
        (("a", "AP", "8"), "no topic '8' in the results; they hold 9, 10"),
    ],
)
def test_a_value_that_is_not_there_is_refused(
    results: Results, key: tuple[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        results[key]
    assert str(refused.value) == message


def test_the_aggregate_is_the_value_over_all_topics(results: Results) -> None:
    assert results.aggregate() == {
        "a": {"AP": 0.5, "num_ret": 5.0},
        "b": {"AP": 0.25, "num_ret": 1.0},
    }


def test_per_topic_values_are_those_of_counted_topics(results: Results) -> None:
    assert results.per_topic("num_ret") == {"a": {"9": 3.0, "10": 2.0}, "b": {"9": 1.0}}
    with pytest.raises(UsageError, match="no measure 'P@5'"):
        results.per_topic("P@5")


def test_averaged_counts_the_topics_behind_a_mean(results: Results) -> None:
    assert results.averaged.tolist() == [[1, 2], [1, 1]]


def test_the_tidy_view_has_a_row_per_run_topic_and_measure(results: Results) -> None:
    tidy = results.tidy()
    assert tidy.columns == ["run", "topic", "measure", "value"]
    assert [row[:3] for row in tidy.rows()] == [
        ("a", "9", "AP"),
        ("a", "9", "num_ret"),
        ("a", "10", "AP"),
        ("a", "10", "num_ret"),
        ("a", "all", "AP"),
        ("a", "all", "num_ret"),
        ("b", "9", "AP"),
        ("b", "9", "num_ret"),
        ("b", "all", "AP"),
        ("b", "all", "num_ret"),
    ]
    assert results.tidy(per_topic=False).equals(tidy.filter(pl.col("topic") == "all"))


def test_the_wide_view_has_a_column_per_measure(results: Results) -> None:
    assert results.wide().rows(named=True) == [
        {"run": "a", "AP": 0.5, "num_ret": 5.0},
        {"run": "b", "AP": 0.25, "num_ret": 1.0},
    ]
    assert results.wide(per_topic=True).select("run", "topic", "num_ret").rows() == [
        ("a", "9", 3.0),
        ("a", "10", 2.0),
        ("a", "all", 5.0),
        ("b", "9", 1.0),
        ("b", "all", 1.0),
    ]


def test_arrays_cannot_be_written(results: Results) -> None:
    for array in (results.values, results.counted, results.overall):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        results.runs = ()  # type: ignore[misc]


def test_the_json_form_is_documented_and_null_where_undefined(results: Results) -> None:
    saved = json.loads(results.to_json())
    assert set(saved) == {"meta", "results"}
    assert saved["meta"] == {"version": "1"}
    assert saved["results"][2] == {"run": "a", "topic": "10", "measure": "AP", "value": None}


def test_json_without_meta_is_read(results: Results) -> None:
    saved = json.loads(results.to_json())
    del saved["meta"]
    assert Results.from_json(json.dumps(saved)).tidy().equals(results.tidy())


def test_a_name_of_half_a_surrogate_pair_is_refused(results: Results) -> None:
    saved = results.to_json().replace('"a"', '"\\ud800"')
    with pytest.raises(ValueError, match="surrogate"):
        Results.from_json(saved)


names = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3, unique=True)
values = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60)
@given(
    names,
    names.filter(lambda topics: "all" not in topics),
    names.filter(lambda measures: not {"run", "topic"} & set(measures)),  # columns of wide()
    st.data(),
)
def test_saved_and_read_again_nothing_changes(
    runs: list[str], topics: list[str], measures: list[str], data: st.DataObject
) -> None:
    rows = [
        (run, topic, measure, data.draw(values))
        for run in runs
        for topic in [*topics, "all"]
        for measure in measures
    ]
    original = Results.from_tidy(rows, {"inputs": runs})
    again = Results.from_json(original.to_json())
    assert again.tidy().equals(original.tidy())
    assert again.wide(per_topic=True).equals(original.wide(per_topic=True))
    assert again.meta == original.meta
    assert (again.runs, again.topics, again.measures) == (
        original.runs,
        original.topics,
        original.measures,
    )


def test_topics_are_listed_by_number_if_all_are_numbers_else_by_code_point() -> None:
    def listed(*topics: str) -> tuple[str, ...]:
        return Results.from_tidy([("r", topic, "m", 1.0) for topic in topics], {}).topics

    assert listed("10", "9", "007") == ("007", "9", "10")
    assert listed("10", "9", "x") == ("10", "9", "x")
    assert listed("é", "z", "Z") == ("Z", "z", "é")


# -- chosen and joined -------------------------------------------------------------------------


def test_a_measure_named_twice_is_kept_once(results: Results) -> None:
    assert results.only(["num_ret", "AP", "num_ret"]).measures == ("num_ret", "AP")


def test_runs_can_be_chosen(results: Results) -> None:
    part = results.of_runs(["b"])
    assert part.runs == ("b",)
    assert list(part.rows()) == [row for row in results.rows() if row[0] == "b"]
    with pytest.raises(UsageError, match="no run 'c' in the results; they hold a, b"):
        results.of_runs(["c"])


def scored(run: str, judgements: str = "j1", **meta: object) -> Results:
    """One run on one topic, scored against judgements of this hash."""
    inputs = [
        {"kind": "judgements", "path": "qrels", "sha256": judgements},
        {"kind": "run", "path": f"{run}.run", "sha256": f"of {run}"},
    ]
    common = {"task": None, "options": {}, "inputs": inputs, "tasks": {run: "Focused"}}
    return Results.from_tidy([(run, "1", "AP", 0.5)], common | meta)


def test_joined_results_keep_all_inputs_and_what_they_agree_on() -> None:
    joined = Results.joined([scored("a", task="2009.Focused"), scored("b", task="2009.Focused")])
    assert [item["path"] for item in joined.meta["inputs"]] == ["qrels", "a.run", "b.run"]
    assert (joined.meta["task"], joined.meta["options"]) == ("2009.Focused", {})
    assert joined.meta["tasks"] == {"a": "Focused", "b": "Focused"}
    assert joined.meta["warnings"] == []
    again = Results.joined([joined, scored("c", task="2009.Focused")])
    assert len(again.meta["parts"]) == 3


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (scored("b", judgements="j2"), "with different judgements"),
        (scored("b", options={"topics": "run"}), "with different options"),
        (scored("b", task="2009.Focused"), "with different tasks"),
        (
            scored("b", inputs=[{"kind": "collection", "path": "c", "sha256": "h"}]),
            "with different collections",
        ),
    ],
)
def test_joined_results_list_different_settings(other: Results, what: str) -> None:
    parts = [scored("a"), other, scored("c")]
    assert Results.joined(parts).meta["warnings"] == [f"results scored {what}: a, c; b"]


def test_unknown_settings_count_as_equal() -> None:
    plain = Results.from_tidy([("b", "1", "AP", 0.5)], {})
    assert Results.joined([scored("a"), plain]).meta["warnings"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"results":[],"meta":5}', "Expected `object`, got `int` - at `$.meta`"),
        ('{"results":[{"run":"a"}]}', "Object missing required field `topic` - at `$.results[0]`"),
        (
            '{"results":[{"run":"a","topic":"5","measure":"m","value":"high"}]}',
            "Expected `float | null`, got `str` - at `$.results[0].value`",
        ),
        (
            '{"results":[{"run":"a","topic":"5","measure":"m","value":1' + "0" * 400 + "}]}",
            "Number out of range - at `$.results[0].value`",
        ),
    ],
)
def test_saved_results_with_errors_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        Results.from_json(text)
    assert str(refused.value).startswith(message)


def test_two_values_of_one_score_are_refused() -> None:
    rows = [("a", "1", "AP", 0.5), ("a", "1", "AP", 0.25)]
    with pytest.raises(UsageError, match=r"two results for run 'a', topic 1, measure AP: 0\.5 and"):
        Results.from_tidy(rows, {})
    nothing = float("nan")
    same = Results.from_tidy([("a", "1", "AP", nothing), ("a", "1", "AP", nothing)], {})
    assert same.runs == ("a",)
