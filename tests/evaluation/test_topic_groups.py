"""Groups of topics: files, means by group, and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import foveal
from command import Outcome, call
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


def test_an_evaluation_with_groups_can_be_pickled(tmp_path: Path) -> None:
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


# -- comparisons, gates, report ------------------------------------------------------------------


def make_runs() -> list[Run]:
    """Return two runs on 12 topics; the first is better on every topic."""
    return [
        Run.from_results(
            {str(t): [("d", 0, 10 * k + t % 3)] for t in range(1, 13)}, name=f"read{k}"
        )
        for k in (2, 5)
    ]


TWELVE = Judgements.from_highlights(
    {str(t): {"d": {"spans": [(0, 15)], "length": 100}} for t in range(1, 13)}
)
GROUPS = {"odd": list(map(str, range(1, 13, 2))), "few": ["1", "2", "3"]}


def test_comparisons_by_group_are_corrected_for_the_number_of_groups() -> None:
    found = foveal.compare(make_runs(), TWELVE, "charP", groups=GROUPS)
    by_measure = {pairs.measure: pairs for pairs in found.measures}
    odd = by_measure["charP[odd]"]
    assert odd.scores.topics == tuple(GROUPS["odd"])
    assert odd.adjusted["t"] == pytest.approx(np.minimum(2 * odd.p["t"], 1))
    alone = foveal.compare(
        make_runs(), TWELVE, "charP", only_topics=tuple(GROUPS["odd"]), confidence=0.975
    )
    assert odd.p["t"] == pytest.approx(alone.measures[0].p["t"])
    for column in ("low", "high"):
        assert odd.runs[column].to_list() == alone.measures[0].runs[column].to_list()
    assert not any("no score" in warning for warning in found.warnings)


def test_a_small_group_gets_no_verdict() -> None:
    found = foveal.compare(make_runs(), TWELVE, "charP", groups=GROUPS)
    verdicts = {row["measure"]: row["verdict"] for row in found.rows()}
    assert verdicts["charP"] == "better"
    assert verdicts["charP[few]"] == "too few topics"
    assert "Too few topics to say who leads by charP[few] (3)." in found.summary()


Foveal = Callable[..., Outcome]


@pytest.fixture
def run_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Foveal:
    """Write a campaign, and return a function that calls a command in its folder."""
    monkeypatch.chdir(tmp_path)
    for run in make_runs():
        foveal.write_run(run, f"{run.name}.jsonl", "jsonl")
    foveal.write_judgements(TWELVE, "truth.jsonl", "jsonl")
    lines = [f"{topic}\t{name}" for name, own in GROUPS.items() for topic in own]
    (tmp_path / "groups.tsv").write_text("\n".join(lines))
    return partial(call, capsys)


def test_gates_take_a_group(run_command: Foveal) -> None:
    asked = ["read2.jsonl", "-j", "truth.jsonl", "--groups", "groups.tsv"]
    good = run_command("evaluate", *asked, "--fail-under", "charP[odd]=0.5")
    assert good.code == 0
    assert run_command("evaluate", *asked, "--fail-under", "charP[odd]=0.9").code == 1
    wrong = run_command("evaluate", *asked, "--fail-under", "charP[even]=0.9")
    assert wrong.code == 2
    assert "charP[even]" in wrong.err


def test_groups_are_replaced_not_nested() -> None:
    results = add_groups(score({"a": ["1", "2"]}), {"a": ["3"], "b": ["4"]})
    assert results.measures[:3] == ("charP", "charP[a]", "charP[b]")
    assert results["mine", "charP[a]"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("saved", [[], ["--groups", "groups.tsv"]])
def test_a_saved_baseline_gets_the_groups_of_the_runs(
    run_command: Foveal, saved: list[str]
) -> None:
    asked = ["-j", "truth.jsonl", "-m", "charP"]
    done = run_command("evaluate", "read2.jsonl", *asked, *saved, "-f", "json", "-o", "old.json")
    assert done.code == 0
    gate = ["--groups", "groups.tsv", "--baseline", "old.json", "--fail-if-worse"]
    assert run_command("compare", "read5.jsonl", *asked, *gate, "charP[odd]").code == 1
    shown = run_command("compare", "read5.jsonl", *asked, *gate, "charP[few]")
    assert shown.code == 0
    assert "too few topics to say" in shown.err


def test_results_with_other_groups_are_joined_without_them() -> None:
    one = foveal.evaluate(make_runs()[0], TWELVE, "charP", groups=GROUPS)
    two = foveal.evaluate(make_runs()[1], TWELVE, "charP", groups={"odd": ["1", "3"]})
    joined = Results.joined([one, two])
    assert joined.measures == ("charP",)
    assert any("groups" in warning for warning in joined.meta["warnings"])
