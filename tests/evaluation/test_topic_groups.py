"""Groups of topics: files, means by group, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import foveal
from foveal.errors import InputError, UsageError
from foveal.evaluation.topic_groups import add_groups, read_groups
from foveal.files.source import Source
from foveal.model import Judgements, Results, Run

TRUTH = Judgements.from_highlights(
    {topic: {"d": {"spans": [(0, 10)], "length": 100}} for topic in "123456"}
)
RUN = Run.from_results({t: [("d", 0, 10 * int(t))] for t in "123456"}, name="mine")


def score(groups: object, measures: object = ("charP", "num_ret")) -> Results:
    return foveal.evaluate(RUN, TRUTH, measures, groups=groups)


def test_mean_of_a_group_is_the_mean_over_its_topics() -> None:
    results = score({"low": ["1", "2"], "high": ["5", "6", "1"]})
    expected = {t: 1 / int(t) for t in "123456"}
    assert results["mine", "charP"] == pytest.approx(np.mean(list(expected.values())))
    assert results["mine", "charP[low]"] == pytest.approx((expected["1"] + expected["2"]) / 2)
    high = np.mean([expected[t] for t in "156"])
    assert results["mine", "charP[high]"] == pytest.approx(high)
    assert np.isnan(results["mine", "charP[high]", "3"])
    assert results["mine", "charP[high]", "5"] == expected["5"]


def test_counts_are_summed_in_a_group_too() -> None:
    results = score({"low": ["1", "2"]})
    assert results["mine", "num_ret"] == 6
    assert results["mine", "num_ret[low]"] == 2


def test_group_columns_follow_their_measure() -> None:
    results = score({"a": ["1"], "b": ["2"]})
    assert results.measures[:3] == ("charP", "charP[a]", "charP[b]")
    assert results.meta["groups"] == {"a": ["1"], "b": ["2"]}


def test_lower_is_better_holds_for_groups() -> None:
    results = score({"a": ["1", "2"]}, ["Redundancy"])
    assert results.lower_is_better == {"Redundancy", "Redundancy[a]"}


def test_results_with_groups_can_be_saved_and_read_back() -> None:
    results = score({"a": ["1", "2"]})
    again = Results.from_json(results.to_json())
    assert again["mine", "charP[a]"] == results["mine", "charP[a]"]


def test_an_evaluation_with_groups_can_be_pickled(tmp_path) -> None:
    path = tmp_path / "groups.tsv"
    path.write_text("1\ta\n2\ta\n")
    evaluation = pickle.loads(pickle.dumps(foveal.Evaluation(TRUTH, ["charP"], groups=path)))
    path.unlink()  # it was read when the evaluation was made
    assert "charP[a]" in evaluation.results([evaluation.score(RUN)]).measures


@pytest.mark.parametrize(
    "text",
    [
        "topic\tgroup\n# comment\n\n1\ta\n2\ta\n1\tb\n",
        '{"topic": "1", "groups": ["a", "b"]}\n{"topic": 2, "groups": "a", "other": 1}\n',
    ],
)
def test_both_forms_of_files(text: str) -> None:
    assert read_groups(Source.of_text(text)) == {"a": ("1", "2"), "b": ("1",)}


@pytest.mark.parametrize(
    "line",
    [
        "1",
        "1\ta\tb",
        "1\t",
        "\ta",
        "1\tall",
        '{"topic": "1"}',
        '{"topic": 1.5, "groups": "a"}',
        '{"topic": true, "groups": "a"}',
        '{"topic": "1", "groups": [1]}',
        '{"topic": "1", ',
    ],
)
def test_bad_lines_are_named(line: str) -> None:
    with pytest.raises(InputError) as caught:
        read_groups(Source.of_text(f"1\ta\n{line}\n", "groups.tsv"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.line) == ("groups.line", 2)


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(InputError):
        read_groups(Source.of_text("# nothing\n"))


def test_groups_without_scored_topics_are_left_out_with_a_warning() -> None:
    results = score({"a": ["1", "2", "77"], "b": ["78"]})
    assert "charP[b]" not in results.measures
    assert sum("77, 78" in warning for warning in results.meta["warnings"]) == 1


def test_groups_that_share_no_topic_with_the_results_are_refused() -> None:
    with pytest.raises(UsageError, match="77"):
        add_groups(score(None), {"a": ["77"]})
