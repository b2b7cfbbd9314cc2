"""``foveal compare``: runs and saved results, baselines, what is refused."""

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


def test_csv_quotes_what_tsv_cannot_hold(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(folder / "odd.json", {"a\tb": X, 'say "c,d"': Y})
    outcome = call(capsys, "compare", "odd.json", "-f", "csv")
    (row,) = csv.DictReader(io.StringIO(outcome.out))
    assert (row["run"], row["other"]) == ("a\tb", 'say "c,d"')
    refused = call(capsys, "compare", "odd.json", "-f", "tsv")
    assert_refused(refused, "foveal: 'a\\tb' cannot be a field of tsv")


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


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("saved.json", "-m", "P@5"), "no measure 'P@5' in the results; they hold AP"),
        (
            ("saved.json", "-t", "2009.Focused"),
            "without judgements (--judgements) the files are saved",
        ),
        (("one.json",), "AP: not compared, all runs have scores on 1 topic, and two are needed"),
        (("alone.json",), "only one run to compare (x); expected at least two"),
        ((RUNS[0], *JUDGED, "-m", "AP"), "only one run to compare (articles)"),
        (("saved.json", "--show", "means", "-f", "csv"), "--show chooses tables, and csv holds"),
    ],
)
def test_wrong_use_is_refused(
    args: tuple[str, ...], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(folder / "one.json", {"x": X[:1], "y": Y[:1]})
    save(folder / "alone.json", {"x": X})
    assert_refused(call(capsys, "compare", *args, "-o", "out"), f"foveal: {message}")


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


def test_the_baseline_of_saved_results_may_be_the_file_of_a_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = call(capsys, "evaluate", *RUNS, *JUDGED, "-m", "AiP", "-f", "json", "-o", "all.json")
    assert done.code == 0, done.err
    by_file = rows(capsys, "all.json", "--baseline", RUNS[1])
    assert by_file == rows(capsys, "all.json", "--baseline", Path(RUNS[1]).stem)
    assert {row["other"] for row in by_file} == {Path(RUNS[1]).stem}
