"""``foveal budget`` and ``foveal project`` at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import assert_refused, call, write_toy

CHUNKS = """\
{"doc": "D1", "start": 0, "end": 40}
{"doc": "D1", "start": 40, "end": 100}
{"doc": "D2", "start": 0, "end": 50}
"""
PRICED = """\
{"topic": "toy", "doc": "D1", "rank": 1, "start": 0, "end": 40, "tokens": 10}
{"topic": "toy", "doc": "D2", "rank": 2, "start": 0, "end": 50, "tokens": 10}
"""


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_toy(tmp_path)
    (tmp_path / "chunks.jsonl").write_text(CHUNKS)
    (tmp_path / "priced.jsonl").write_text(PRICED)
    monkeypatch.chdir(tmp_path)


# -- budget ------------------------------------------------------------------------------------


def test_rows_are_those_of_evaluate(capsys: pytest.CaptureFixture[str]) -> None:
    budget = call(
        capsys, "budget", "priced.jsonl", "-j", "qrels", "--unit", "tokens", "--at", "5,15", "-q"
    )
    names = ("charR(budget=5,unit=tokens)", "charR(budget=15,unit=tokens)")
    measures = [part for name in names for part in ("-m", name)]
    assert (
        budget.out == call(capsys, "evaluate", "priced.jsonl", "-j", "qrels", *measures, "-q").out
    )


def test_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    done = call(capsys, "budget", "run", "priced.jsonl", "-j", "qrels", "-o", "budget.svg")
    assert done.code == 0
    assert "<svg" in Path("budget.svg").read_text()
    assert "No run beats mine at any budget" in done.err


def test_budgets_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "budget", "run", "-j", "qrels", "--at", "5,x")
    assert done.code == 2
    assert "'5,x' is not a list of budgets; expected 250,500,1000" in done.err
    assert_refused(call(capsys, "budget", "run", "-o", "out"), "foveal: runs are scored against")


# -- project -----------------------------------------------------------------------------------


def test_qrels_gains_and_units(capsys: pytest.CaptureFixture[str]) -> None:
    common = ("project", "-j", "qrels", "--division", "chunks.jsonl")
    graded = call(capsys, *common, "-f", "qrels", "--grades", "4").out
    assert graded == "toy 0 D1:0-40 3\ntoy 0 D1:40-100 1\ntoy 0 D2:0-50 4\n"
    assert call(capsys, *common, "-f", "qrels", "--threshold", "0.8").out == "toy 0 D2:0-50 1\n"
    gains = call(capsys, *common, "-f", "gains").out.splitlines()
    assert gains[1] == "toy\tD1:0-40\t40\t30\t0.75"
    assert call(capsys, *common, "-f", "units", "-o", "units.jsonl").code == 0
    again = call(capsys, "project", "-j", "qrels", "--division", "units.jsonl", "-f", "qrels")
    assert again.out == "toy 0 D1:0-40 1\ntoy 0 D1:40-100 1\ntoy 0 D2:0-50 1\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "foveal: no division given; expected --division, --window or --tags"),
        (("--tags", "p"), "foveal: --tags takes a collection (--collection)"),
        (("--window", "5", "--window", "9", "-f", "qrels"), "foveal: qrels are of one division"),
        (("--division", "absent.jsonl"), "absent.jsonl: "),
        (
            ("--window", "5", "--grades", "2"),
            "foveal: --grades is for qrels, which was not requested",
        ),
    ],
)
def test_wrong_use_of_project(
    capsys: pytest.CaptureFixture[str], args: tuple[str, ...], said: str
) -> None:
    assert_refused(call(capsys, "project", "-j", "qrels", *args, "-o", "out"), said)


def test_windows_need_lengths(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare.jsonl").write_text('{"topic": "1", "doc": "D", "spans": [{"start": 0, "end": 5}]}\n')
    done = call(capsys, "project", "-j", "bare.jsonl", "--window", "5", "-o", "out")
    assert_refused(done, "foveal: windows end with document 'D', whose length is unknown")
    done = call(capsys, "project", "-j", "bare.jsonl", "--window", "5/0")
    assert "'5/0' is not a window; expected SIZE or SIZE/STEP" in done.err


def test_a_curve_is_of_one_measure(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "budget", "run", "-j", "qrels", "-m", "charR", "-m", "charP")
    assert_refused(outcome, "foveal: a budget curve is of one measure")
