"""Gates: good enough, and no worse than before; on the command line and in test suites."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from command import assert_refused, call
from foveal import Judgements, Results, Run, UsageError, compare, evaluate, read_results
from foveal.bridges.gates import (
    Check,
    check_bounds,
    check_not_worse,
    join_baseline,
    parse_bounds,
    summary,
)
from foveal.bridges.testing import assert_at_least, assert_not_worse

TOPICS = [str(t) for t in range(1, 9)]
QRELS = "".join(f"{t} Q0 D 20 50 0 0:20\n" for t in TOPICS)
TRUTH = Judgements.from_highlights(
    {t: {"D": {"length": 50, "spans": [(0, 20)]}} for t in TOPICS}, name="truth"
)


def returned(name: str, ends: list[int]) -> Run:
    """A run that returns the first characters of the document, so many for each topic."""
    rows = {t: [("D", 0, end)] for t, end in zip(TOPICS, ends, strict=True)}
    return Run.from_results(rows, name=name)


OLD = returned("old", [18, 16, 14, 18, 16, 14, 18, 16])
WORSE = returned("new", [16, 14, 13, 16, 13, 12, 17, 14])
MIXED = returned("new", [19, 15, 13, 19, 14, 15, 18, 15])
"""A little worse on average, better and worse on about as many topics."""


def write_run(path: Path, run: Run) -> None:
    ends = zip(run.topics, run.end.tolist(), strict=True)
    path.write_text("".join(f"{t} Q0 D 1 1 {run.name} 0 {end}\n" for t, end in ends))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "qrels").write_text(QRELS)
    for name, run in (("old", OLD), ("worse", WORSE), ("mixed", MIXED)):
        write_run(tmp_path / f"{name}.run", run)
    return tmp_path


# -- bounds --------------------------------------------------------------------------------------


def test_bounds_take_any_spelling_of_a_measure() -> None:
    assert parse_bounds(["MAiP=.3", "gP(beta=0.25)@10=0.2"]) == {
        "AiP": 0.3,
        "gP(beta=0.25)@10": 0.2,
    }
    assert parse_bounds(["gP(beta=0.25)@10"], default=0.0) == {"gP(beta=0.25)@10": 0.0}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["AiP"], "cannot read 'AiP'; expected measure=number"),
        (["AiP=much"], "cannot read 'AiP=much'"),
        (["AiP=nan"], "cannot read 'AiP=nan'"),
        (["AiP=0.1", "MAiP=0.2"], "AiP is given two bounds: 0.1 and 0.2"),
        (["nothing=0.1"], "unknown measure 'nothing'"),
    ],
)
def test_bounds_that_cannot_be_read(texts: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_bounds(texts)


def test_the_mean_decides_and_the_interval_is_said() -> None:
    results = evaluate(OLD, TRUTH, ["charR", "ret_size", "Redundancy"])
    mean = results["old", "charR"]
    low, high = (
        check_bounds(results, {"charR": mean + 0.01}),
        check_bounds(results, {"charR": mean}),
    )
    assert [check.passed for check in (*low, *high)] == [False, True]
    assert low[0].sentence.startswith(
        f"old: charR {mean:.4f} is below {mean + 0.01:g} (95 % interv"
    )
    assert low[0].sentence.endswith("8 topics)")
    (count,) = check_bounds(results, {"ret_size": 1.0})
    assert count.sentence == "old: ret_size 130.0000 is at least 1 (8 topics)"  # a sum, no mean


def test_no_score_is_not_good_enough() -> None:
    truth = Judgements.from_highlights({t: {"D": {"length": 50}} for t in TOPICS})
    (check,) = check_bounds(evaluate(OLD, truth, "charR"), {"charR": 0.0})
    assert not check.passed
    assert "has no score" in check.sentence


# -- a baseline ----------------------------------------------------------------------------------


def checked(new: Run, margin: float = 0.0, *, significantly: bool = True) -> Check:
    found = compare([new, OLD], TRUTH, "charR", baseline="old")
    (check,) = check_not_worse(found, {"charR": margin}, significantly=significantly)
    return check


def test_significance_and_margin_both_decide() -> None:
    assert not checked(WORSE).passed
    assert checked(WORSE, 0.2).passed
    assert checked(MIXED).passed
    assert not checked(MIXED, significantly=False).passed
    assert checked(MIXED, 0.1, significantly=False).passed
    assert "significantly worse than old's" in checked(WORSE).sentence
    assert "but by no more than 0.2" in checked(WORSE, 0.2).sentence
    assert "but not significantly" in checked(MIXED).sentence
    assert "no worse than old's" in checked(returned("new", OLD.end.tolist())).sentence


def test_what_is_less_is_better_is_worse_when_it_rises() -> None:
    rows = [("old", t, "T2Ieffort@3", 10.0 + int(t)) for t in TOPICS]
    rows += [("new", t, "T2Ieffort@3", 15.0 + 1.1 * int(t)) for t in TOPICS]
    found = compare(Results.from_tidy(rows, {}), baseline="old")
    assert not check_not_worse(found, {"all": 0.0})[0].passed
    backwards = compare(Results.from_tidy(rows, {}), baseline="new")
    assert check_not_worse(backwards, {"all": 0.0})[0].passed


def test_a_saved_run_of_the_same_name_gets_another() -> None:
    saved = evaluate(returned("new", OLD.end.tolist()), TRUTH, ["charR", "charP"])
    joined, name = join_baseline(evaluate(WORSE, TRUTH, "charR"), saved, "main.json")
    assert name == "new (baseline)"
    assert joined.runs == ("new", "new (baseline)")
    assert joined.measures == ("charR",)


def test_a_saved_file_must_hold_the_baseline() -> None:
    several = evaluate([OLD, returned("other", [1] * 8)], TRUTH, "charR")
    with pytest.raises(UsageError, match=r"main.json holds 2 runs, old, other"):
        join_baseline(evaluate(WORSE, TRUTH, "charR"), several, "main.json")
    own = evaluate(returned("old", [9] * 8), TRUTH, "charR")
    assert join_baseline(own, several, "main.json")[1] == "old (baseline)"
    with pytest.raises(UsageError, match="none in common"):
        join_baseline(evaluate(WORSE, TRUTH, "charP"), evaluate(OLD, TRUTH, "charR"), "main.json")


# -- assertions ----------------------------------------------------------------------------------


def test_assertions_hand_on_what_they_found() -> None:
    assert assert_at_least(OLD, TRUTH, {"charR": 0.5})["old", "charR"] > 0.5
    found = assert_not_worse(MIXED, TRUTH, ["charR", "AiP"], baseline=OLD)
    assert (found.baseline, found.runs) == ("old", ("new", "old"))


def test_any_spelling_and_own_columns_will_do() -> None:
    results = evaluate(OLD, TRUTH, "AiP")
    bound = np.float64(0.99)
    with pytest.raises(AssertionError, match="old: AiP"):
        assert_at_least(results, bounds={"MAiP": bound})
    own = Results.from_tidy(
        [(r, t, "mine", v) for r, v in (("a", 0.5), ("b", 0.4)) for t in "12"], {}
    )
    found = compare(own, baseline="a")
    assert not check_not_worse(found, {"mine": 0.0})[0].passed
    assert check_not_worse(found, {"all": 0.0, "mine": 0.2})[0].passed


@pytest.mark.parametrize("form", ["results", "file", "run", "path"])
def test_a_baseline_in_any_form(folder: Path, form: str) -> None:
    results = evaluate(OLD, TRUTH, "charR")
    (folder / "main.json").write_text(results.to_json())
    forms = {"results": results, "file": "main.json", "run": OLD, "path": Path("old.run")}
    with pytest.raises(AssertionError, match="significantly worse"):
        assert_not_worse(WORSE, TRUTH, "charR", baseline=forms[form])
    assert_not_worse(WORSE, TRUTH, "charR", baseline=forms[form], margin={"charR": 0.2})


def test_results_are_not_scored_again() -> None:
    results = evaluate(WORSE, TRUTH, ["charR", "charP"])
    with pytest.raises(AssertionError, match="charR"):
        assert_not_worse(results, measures="charR", baseline=evaluate(OLD, TRUTH, "charR"))
    with pytest.raises(UsageError, match="leave out judgements"):
        assert_at_least(results, TRUTH, {"charR": 0.1})
    with pytest.raises(UsageError, match="no bounds given"):
        assert_at_least(results)
    with pytest.raises(UsageError, match="runs need judgements"):
        assert_at_least(OLD, None, {"charR": 0.1})


# -- evaluate ------------------------------------------------------------------------------------


def test_fail_under_is_refused_before_scoring(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for args, message in (
        (("--fail-under", "charR"), "foveal: cannot read 'charR'; expected measure=number"),
        (("-m", "AiP", "--summary", "github"), "foveal: --summary github: $GITHUB_STEP_SUMMARY is"),
        (("-m", "AiP", "--summary", "qrels"), "foveal: qrels is read by this command"),
    ):
        assert_refused(call(capsys, "evaluate", "old.run", "-j", "qrels", *args), message)
    (folder / "c.prop").write_text("")
    outcome = call(capsys, "evaluate", "--config", "c.prop", "--fail-under", "AiP=0.1")
    assert_refused(outcome, "foveal: --config names the measures; leave out")


# -- compare -------------------------------------------------------------------------------------


def test_fail_if_worse_than_saved_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The usual case: the run of today under the name it had when the results were saved."""
    write_run(folder / "before.run", returned("new", OLD.end.tolist()))
    measures = ("-m", "charR", "-m", "AiP")
    call(
        capsys, "evaluate", "before.run", "-j", "qrels", *measures, "-f", "json", "-o", "main.json"
    )
    base = ("compare", "worse.run", "-j", "qrels", *measures, "--baseline", "main.json")
    failed = call(capsys, *base, "--fail-if-worse", "all=0.01")
    assert failed.code == 1
    assert len(failed.err.splitlines()) == 4
    assert "worse than new (baseline)'s 0.8125" in failed.err
    call(capsys, "evaluate", "mixed.run", "-j", "qrels", *measures, "-f", "json", "-o", "now.json")
    saved = ("compare", "now.json", "--baseline", "main.json", "--fail-if-worse", "charR")
    assert call(capsys, *saved).code == 0
    assert call(capsys, *saved, "--worse", "at-all").code == 1
    assert read_results("main.json").runs == ("new",)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--fail-if-worse", "charR"], "foveal: --fail-if-worse compares with a baseline"),
        (
            ["--baseline", "old.run", "--fail-if-worse", "charR=-1"],
            "foveal: --fail-if-worse M=X says how much worse a run may be",
        ),
        (["--baseline", "old.run", "--worse", "at-all"], "foveal: --worse is for --fail-if-worse"),
        (["--baseline", "bad.json"], "bad.json"),
    ],
)
def test_gates_that_make_no_sense(
    folder: Path, capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    (folder / "bad.json").write_text("{}")
    outcome = call(capsys, "compare", "worse.run", "-j", "qrels", "-m", "charR", *args)
    assert_refused(outcome, message)


# -- the summary ---------------------------------------------------------------------------------


def test_the_summary_is_appended_where_github_wants_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "step.md"))
    (folder / "step.md").write_text("# Build\n\n")
    args = ("-j", "qrels", "--summary", "github", "-f", "json", "-o", "out.json")
    assert call(capsys, "evaluate", "old.run", "--fail-under", "charR=0.9", *args).code == 1
    assert call(capsys, "evaluate", "old.run", "--fail-under", "charR=0.8", *args).code == 0
    text = (folder / "step.md").read_text()
    assert text.startswith("# Build\n\n## :x: Scores: 1 of 1 checks failed\n")
    assert "- :x: old: charR 0.8125 is below 0.9" in text
    assert "## :white_check_mark: Scores: all checks passed\n" in text
    assert "| old | 0.8125 |\n" in text
    assert json.loads((folder / "out.json").read_text())["meta"]["measures"] == ["charR"]


def test_names_cannot_break_the_summary() -> None:
    check = Check("a|b", "AP", False, "a|b <img>: AP *0.1*")
    text = summary("S", [check, Check("c", "AP", True, "fine")], [], ["odd | <b>"])
    assert "<img>" not in text
    assert "<b>" not in text
    assert text.index(":x: a") < text.index(":white_check_mark: fine")


def test_a_summary_that_cannot_be_written_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(
        capsys, "evaluate", "old.run", "-j", "qrels", "-m", "charR", "--summary", "no/where.md"
    )
    assert outcome.code == 2
    assert outcome.err.startswith("no/where.md: cannot be written")
