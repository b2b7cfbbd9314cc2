"""``foveal compare``: tables for people, rows for programs, saved results, what is refused."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from command import assert_refused, call

X = (0.42, 0.10, 0.55, 0.31, 0.70, 0.25)
Y = (0.40, 0.12, 0.45, 0.22, 0.61, 0.25)
CAMPAIGN = Path(__file__).resolve().parents[1] / "examples" / "crossings"
RUNS = tuple(str(path) for path in sorted((CAMPAIGN / "runs").glob("*.jsonl")))
JUDGED = ("-j", str(CAMPAIGN / "judgements.jsonl"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of x, y and of z, which is far better, in saved.json."""
    monkeypatch.chdir(tmp_path)
    scores = {"x": X, "y": Y, "z": tuple(v + 0.2 + t / 100 for t, v in enumerate(X))}
    save(tmp_path / "saved.json", scores)
    return tmp_path


def save(path: Path, scores: dict[str, tuple[float, ...]], measure: str = "AP") -> None:
    rows = [
        {"run": run, "topic": str(t), "measure": measure, "value": value}
        for run, values in scores.items()
        for t, value in enumerate(values, 1)
    ]
    path.write_text(json.dumps({"meta": {}, "results": rows}))


def rows(capsys: pytest.CaptureFixture[str], *args: str) -> list[dict[str, str]]:
    outcome = call(capsys, "compare", *args, "-f", "tsv")
    assert outcome.code == 0, outcome.err
    return list(csv.DictReader(io.StringIO(outcome.out), delimiter="\t"))


def test_saved_results_are_compared_without_scoring(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(capsys, "saved.json", "--correction", "none")
    assert [(row["run"], row["other"]) for row in found] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert float(found[0]["p"]) == pytest.approx(0.0826, abs=5e-5)
    assert [row["significant"] for row in found] == ["false", "true", "true"]


def test_runs_are_scored_and_equal_their_saved_results(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measures = ("-m", "AiP", "-m", "charP")
    done = call(capsys, "evaluate", *RUNS, *JUDGED, *measures, "-f", "json", "-o", "all.json")
    assert done.code == 0, done.err
    scored = call(capsys, "compare", *RUNS, *JUDGED, *measures)
    saved = call(capsys, "compare", "all.json")
    assert scored.out == saved.out
    assert len(scored.out.splitlines()) == 1 + 2 * 6
    one = call(capsys, "compare", "all.json", "-m", "charP")
    assert one.out.splitlines()[1:] == scored.out.splitlines()[7:]


def test_two_files_of_results_are_joined(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(folder / "x.json", {"x": X})
    save(folder / "y.json", {"y": Y})
    (row,) = rows(capsys, "x.json", "y.json")
    assert (row["run"], row["other"]) == ("x", "y")


def test_the_table_has_letters_ranks_pairs_and_summary(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, "compare", "saved.json", "-f", "table")
    assert outcome.err == ""
    tables, _, summary = outcome.out.rpartition("\n\n")
    assert " ".join(summary.split()) == (
        "z leads x by 0.23 AP; with 6 topics the difference is significant, p < 0.001."
    )
    lines = [line.split() for line in tables.splitlines() if line.strip(" -")]
    assert (
        [" ".join(words) for words in lines]
        == """\
Means over 6 topics, best in bold
run AP
x 0.3883 b
y 0.3417 b
z 0.6133 a
Runs that share a letter do not differ significantly:
t test, two-sided, correction: holm, alpha 0.05.
Ranks of the runs
measure run mean low high rank best
AP z 0.6133 0.4567 0.7783 1 1.00
AP x 0.3883 0.2350 0.5533 2 0.00
AP y 0.3417 0.2133 0.4784 3 0.00
low to high, rank: 95 % confidence intervals of the mean and of the rank
best: probability of being the best run (10000 resamples)
AP: run minus other, 6 topics
run other difference low high d w/t/l topics needed p corrected verdict
x y +0.0467 +0.0083 +0.0817 +0.88 4/1/1 13 0.0826 0.0826 inconclusive
x z -0.2250 -0.2383 -0.2117 -12.03 0/0/6 2 <0.0001 <0.0001* worse
y z -0.2717 -0.3117 -0.2267 -4.54 0/0/6 3 0.0001 0.0002* worse
low to high: 95 % confidence interval (percentiles of resamples)
d: mean of the differences in their standard deviations (Cohen)
w/t/l: topics on which the run is better, equal, worse; *: significant
topics needed: to show such an effect (power 0.8)
Pairs that differ
measure test topics pairs significant one-tailed
AP t 6 3 2 3
one-tailed: better mean against worse, t-test, not corrected, alpha 0.05
""".splitlines()
    )


def test_marks_against_a_baseline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(
        capsys, "compare", "saved.json", "--baseline", "x", "-f", "table", "--show", "means"
    )
    lines = outcome.out.splitlines()
    assert lines[4:7] == ["x    0.3883", "y    0.3417 -", "z    0.6133 +*"]
    assert lines[8] == "Against x: + better, - worse, = equal, * significant:"


def test_tables_can_be_chosen_and_many_pairs_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(folder / "many.json", {f"r{i}": (i / 50, 0.3, 0.1 * i) for i in range(11)})
    whole = call(capsys, "compare", "many.json", "-f", "table").out
    assert "Pairs that differ" in whole
    assert "run minus other" not in whole
    asked = call(capsys, "compare", "many.json", "--show", "pairs").out
    assert "run minus other" in asked
    assert "Pairs that differ" not in asked


@pytest.mark.parametrize(
    ("form", "bold"),
    [("markdown", "**0.6133**"), ("latex", r"\textbf{0.6133}"), ("html", "<b>0.6133</b>")],
)
def test_the_best_is_in_bold(
    form: str, bold: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = call(capsys, "compare", "saved.json", "-f", form, "-o", "out")
    assert (out.code, out.out) == (0, "")
    assert (folder / "out").read_text().count(bold) == 1


def test_json_says_how_it_was_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(
        capsys, "compare", *RUNS, *JUDGED, "-m", "AiP", "--seed", "9", "--baseline", RUNS[0],
        "-f", "json",
    )  # fmt: skip
    saved = json.loads(outcome.out)
    assert saved["meta"]["options"]["baseline"] == "articles"
    assert saved["meta"]["seed"] == 9
    assert {part["kind"] for part in saved["meta"]["scores"]["inputs"]} == {"judgements", "run"}
    assert {row["other"] for row in saved["pairs"]} == {"articles"}
    assert [row["mark"] for row in saved["runs"] if row["run"] == "articles"] == [None]


def test_csv_quotes_what_tsv_cannot_hold(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(folder / "odd.json", {"a\tb": X, 'say "c,d"': Y})
    outcome = call(capsys, "compare", "odd.json", "-f", "csv")
    (row,) = csv.DictReader(io.StringIO(outcome.out))
    assert (row["run"], row["other"]) == ("a\tb", 'say "c,d"')
    refused = call(capsys, "compare", "odd.json", "-f", "tsv")
    assert_refused(refused, "foveal: 'a\\tb' cannot be a field of tsv")


def test_identical_runs_need_no_number_of_topics(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(folder / "same.json", {"x": X, "again": X})
    (row,) = rows(capsys, "same.json")
    assert (row["p"], row["topics_needed"], row["better"]) == ("1.0", "none", "none")


def test_a_baseline_may_be_a_file_that_is_not_among_the_runs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(capsys, *RUNS[1:], *JUDGED, "-m", "AiP", "--baseline", RUNS[0])
    assert {row["other"] for row in found} == {"articles"}
    assert len(found) == 3
    assert found == rows(capsys, *RUNS, *JUDGED, "-m", "AiP", "--baseline", "articles")


def test_a_baseline_that_is_not_there_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, "compare", RUNS[0], *JUDGED, "-m", "AiP", "--baseline", "main.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "main.json: no such file; expected the baseline\n"


def test_several_tests_have_a_row_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests = ("t", "wilcoxon", "sign", "randomisation", "bootstrap")
    args = [arg for test in tests for arg in ("--test", test)]
    found = rows(capsys, "saved.json", *args, "--baseline", "x")
    assert [row["test"] for row in found] == [test for test in tests for _ in range(2)]
    table = call(capsys, "compare", "saved.json", *args, "--show", "pairs").out
    assert all(test in table for test in tests)


def test_the_same_seed_gives_the_same_bytes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("saved.json", "--test", "randomisation", "--test", "bootstrap", "-f", "json")
    first = call(capsys, "compare", *args, "--seed", "1").out
    assert call(capsys, "compare", *args, "--seed", "1").out == first
    other = call(capsys, "compare", *args, "--seed", "2").out
    assert json.loads(other)["pairs"] != json.loads(first)["pairs"]


def test_one_tail_halves_the_p_of_t(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("saved.json", "--correction", "none")
    two, one = rows(capsys, *args), rows(capsys, *args, "--alternative", "better")
    assert [float(row["p"]) for row in one] == [float(row["p"]) / 2 for row in two]


def test_topics_without_a_score_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(folder / "gap.json", {"x": X, "y": Y[:5]})
    outcome = call(capsys, "compare", "gap.json")
    warning, summary = outcome.err.splitlines()
    assert warning == "warning: AP: topics on which some run has no score, not compared, 1: 6"
    assert summary == (
        "x leads y by 0.056 AP; with 5 topics the difference may be chance, p = 0.078; "
        "about 10 topics would show it."
    )
    assert "\t5\t" in outcome.out.splitlines()[1]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("saved.json", "--baseline", "q"), "no run 'q' for the baseline; the runs are x, y, z"),
        (("saved.json", "-m", "P@5"), "no measure 'P@5' in the results; they hold AP"),
        (
            ("saved.json", "-t", "2009.Focused"),
            "without judgements (--judgements) the files are saved",
        ),
        (
            ("saved.json", "--topics", "run"),
            "without judgements (--judgements) the files are saved",
        ),
        (("one.json",), "AP: not compared, all runs have scores on 1 topic, and two are needed"),
        (("alone.json",), "only one run to compare (x); expected at least two"),
        ((RUNS[0], *JUDGED, "-m", "AP"), "only one run to compare (articles)"),
        (("saved.json", "--show", "means", "-f", "csv"), "--show chooses tables, and csv holds"),
        (
            ("saved.json", "--power", ".01"),
            "power 0.01 is not possible; expected a number between alpha and 1",
        ),
    ],
)
def test_wrong_use_is_refused(
    args: tuple[str, ...], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(folder / "one.json", {"x": X[:1], "y": Y[:1]})
    save(folder / "alone.json", {"x": X})
    assert_refused(call(capsys, "compare", *args, "-o", "out"), f"foveal: {message}")


def test_a_run_is_no_saved_result(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(CAMPAIGN / "runs" / "paragraphs.run")
    outcome = call(capsys, "compare", run, "-o", "out")
    assert_refused(outcome, f"{run}:1: these are not saved results")


# -- saved results -----------------------------------------------------------------------------


def evaluated(capsys: pytest.CaptureFixture[str], name: str, runs: tuple[str, ...], *more: str):
    done = call(capsys, "evaluate", *runs, *JUDGED, *more, "-f", "json", "-o", name)
    assert done.code == 0, done.err


def test_results_of_other_topics_are_joined_with_a_warning(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated(capsys, "a.json", RUNS[:2], "-m", "AiP")
    evaluated(capsys, "b.json", RUNS[2:], "-m", "AiP", "--topics", "run")
    outcome = call(capsys, "compare", "a.json", "b.json")
    assert outcome.code == 0
    assert "warning: results scored with different options: " in outcome.err


def test_a_directory_of_runs_or_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "runs").mkdir()
    for run in RUNS:
        shutil.copy(run, folder / "runs")
    whole = rows(capsys, "runs", *JUDGED, "-m", "AiP")
    assert len(whole) == 6
    (folder / "saved").mkdir()
    evaluated(capsys, "saved/a.json", RUNS[:2], "-m", "AiP")
    evaluated(capsys, "saved/b.json", RUNS[2:], "-m", "AiP")
    assert rows(capsys, "saved") == whole


def test_measures_of_saved_results_in_any_spelling_and_each_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(folder / "ip.json", {"x": X, "y": Y}, "iP@0.01")
    save(folder / "own.json", {"x": X, "y": Y}, "my own")
    (row,) = rows(capsys, "ip.json", "-m", "iP@.01", "-m", "iP@0.01")
    assert row["measure"] == "iP@0.01"
    (row,) = rows(capsys, "own.json", "-m", "my own")
    assert row["measure"] == "my own"


def test_measures_that_some_files_lack_are_named_and_the_others_compared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated(capsys, "a.json", RUNS[:2], "-m", "AiP", "-m", "charP")
    evaluated(capsys, "b.json", RUNS[2:], "-m", "AiP", "-m", "charR")
    outcome = call(capsys, "compare", "a.json", "b.json")
    assert {line.split("\t")[0] for line in outcome.out.splitlines()[1:]} == {"AiP"}
    said = "charP, charR: not compared, all runs have scores on 0 topics, and two are needed"
    assert said in outcome.err
    refused = call(capsys, "compare", "a.json", "b.json", "-m", "charP", "-o", "out")
    assert_refused(refused, "foveal: charP: not compared, all runs have scores on 0 topics")


def test_a_task_is_compared_without_the_points_of_its_curves(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = ("-t", "2006.BestInContext")
    args = ("--overlap", "drop", "--lenient")
    (folder / "runs").mkdir()
    for name, start in (("p", 0), ("q", 5)):
        lines = [f"{t} Q0 D1 1 1 {name} {start} 9" for t in "12"]
        (folder / "runs" / name).write_text("".join(f"{line}\n" for line in lines))
    (folder / "qrels").write_text("".join(f"{t} Q0 D1 10 20 0 0:10\n" for t in "12"))
    outcome = call(capsys, "compare", "runs", "-j", "qrels", *task, *args)
    assert outcome.code == 0, outcome.err
    measures = {line.split("\t")[0] for line in outcome.out.splitlines()[1:]}
    widths = ("", "(A=0.01)", "(A=0.1)", "(A=10)", "(A=100)")
    assert measures == {f"{name}{width}" for name in ("BEPD", "EPRUM") for width in widths}
    own = call(capsys, "compare", "runs", "-j", "qrels", *task, *args, "-m", "EPRUM@0.10")
    assert "EPRUM@0.10" in {line.split("\t")[0] for line in own.out.splitlines()}


def test_results_by_assessor_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = "foveal: with assessors 'each' every run is several"
    lines = Path(JUDGED[1]).read_text().splitlines()
    judged = [json.loads(line) for line in lines]
    judged = [line | {"assessor": name} for name in "pq" for line in judged if "doc" in line]
    (folder / "judged").write_text("".join(json.dumps(line) + "\n" for line in judged))
    scored = ("-j", "judged", "-m", "AiP", "--assessors", "each")
    assert_refused(call(capsys, "compare", *RUNS, *scored, "-o", "out"), message)
    done = call(capsys, "evaluate", *RUNS, *scored, "-f", "json", "-o", "each.json")
    assert done.code == 0, done.err
    assert_refused(call(capsys, "compare", "each.json", "-o", "out"), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"results":[]}', "bad.json: the saved results are empty: they hold no score of a run; "),
        ("[]", "bad.json: these are not saved results, as 'foveal evaluate -f json' writes them: "),
        ('{"meta":{"tasks":["a"]},"results":[]}', "bad.json: these are not saved results"),
        ('{"meta":{"inputs":[5]},"results":[]}', "bad.json: these are not saved results"),
        ('{"meta":{"parts":5},"results":[]}', "bad.json: these are not saved results"),
        ("{", "bad.json:1: these are not saved results, as 'foveal evaluate -f json' writes them"),
    ],
)
def test_bad_results_are_one_line(
    text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.json").write_text(text)
    for command in ("compare", "correlate"):
        assert_refused(call(capsys, command, "bad.json", "-o", "out"), message)


def test_forgotten_judgements_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "compare", *RUNS)
    assert outcome.err.endswith("; runs are scored against judgements, given with --judgements\n")
    assert "Error" not in outcome.err
    absent = call(capsys, "compare", "absent.json", "-o", "out")
    assert "--judgements" not in absent.err


def test_options_that_change_nothing_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = call(capsys, "compare", "saved.json", "--worse", "at-all", "-o", "out")
    assert_refused(refused, "foveal: --worse is for --fail-if-worse, which was not requested")
    used = ("--interval", "t", "--seed", "3", "--resamples", "9")  # for the ranks
    assert call(capsys, "compare", "saved.json", *used).code == 0


def test_a_margin_gives_verdicts_of_equivalence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(capsys, "saved.json", "--margin", "0.15")
    assert [row["verdict"] for row in found] == ["equivalent", "worse", "worse"]
    assert float(found[0]["p_equivalence_corrected"]) < 0.05
    table = call(capsys, "compare", "saved.json", "--margin", "0.15", "--show", "pairs").out
    assert "two one-sided t-tests, margin 0.15" in table
    outcome = call(capsys, "compare", "saved.json", "--margin", "0", "-o", "out")
    assert (outcome.code, (folder / "out").exists()) == (2, False)


def test_the_baseline_of_saved_results_may_be_the_file_of_a_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = call(capsys, "evaluate", *RUNS, *JUDGED, "-m", "AiP", "-f", "json", "-o", "all.json")
    assert done.code == 0, done.err
    by_file = rows(capsys, "all.json", "--baseline", RUNS[1])
    assert by_file == rows(capsys, "all.json", "--baseline", Path(RUNS[1]).stem)
    assert {row["other"] for row in by_file} == {Path(RUNS[1]).stem}
