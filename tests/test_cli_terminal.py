"""Names with control characters on a terminal, and names that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import foveal
from command import QRELS, at_terminal, call, write_toy

TITLE = "\x1b]0;owned\x07"
CLEAR = "\x1b[2J"
CSI = "\x9b2J"
BIDI = "\u202e\u2066"
NAME = f"r{TITLE}{CLEAR}{CSI}{BIDI}\x7f"
SHOWN = r"r\x1b]0;owned\x07\x1b[2J\x9b2J\u202e\u2066\x7f"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
STYLE = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
"""Sequences that Foveal and its progress bars write themselves."""


def assert_harmless(printed: str) -> None:
    assert not RAW.search(STYLE.sub("", printed.replace("\r", ""))), repr(printed)
    for sequence in (TITLE, CLEAR, CSI):
        assert sequence not in printed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Judgements and runs whose every name has control characters."""
    lines = [
        {"type": "header", "format": "foveal-judgements", "version": 1},
        *(
            {"topic": f"t{NAME}", "doc": f"d{NAME}", "length": 100, "assessor": f"{who}{NAME}"}
            | {"spans": [{"start": 0, "end": end}]}
            for who, end in (("a", 10), ("b", 20))
        ),
    ]
    (tmp_path / "qrels.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for run in ("one", "two"):
        line = f"t{NAME} Q0 d{NAME} 1 1 {run}{NAME} 0 20\n"
        (tmp_path / f"{run}.run").write_text(line, newline="")
    return tmp_path


MEASURED = ("one.run", "two.run", "-j", "qrels.jsonl", "-m", "charP", "-m", "charR")


@pytest.mark.parametrize("form", ["table", "tsv", "csv", "json", "jsonl", "markdown", "latex"])
def test_names_in_scores_are_escaped_on_a_terminal(form: str, folder: Path) -> None:
    code, printed = at_terminal("evaluate", *MEASURED, "-q", "-f", form, folder=folder)
    assert code == 0, printed
    assert_harmless(printed)
    if form in ("table", "tsv"):
        assert f"one{SHOWN}" in printed
        assert f"t{SHOWN}" in printed


def test_other_commands_and_places_on_a_terminal(folder: Path) -> None:
    odd = f"file{NAME}.run"
    (folder / odd).write_bytes((folder / "one.run").read_bytes())
    for args in (
        ("stats", odd, "qrels.jsonl"),
        ("validate", odd),
        ("compare", *MEASURED),
        ("agree", "-j", "qrels.jsonl", "-j", "qrels.jsonl"),
        ("pool", "one.run", "two.run", "-o", "-", "--stats", "/dev/stdout"),
        ("evaluate", *MEASURED, "-o", "-"),
        ("evaluate", *MEASURED, "-o", "/dev/stdout"),
    ):
        _, printed = at_terminal(*args, folder=folder)
        assert printed
        assert "Traceback" not in printed
        assert_harmless(printed)


def test_errors_and_warnings_are_escaped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = f"none{NAME}"
    judgements = str(folder / "qrels.jsonl")
    outcome = call(capsys, "evaluate", missing, "-j", judgements, "-m", "AP")
    assert outcome.code == 2
    assert outcome.err.startswith(f"none{SHOWN}: ")
    outcome = call(capsys, "evaluate", missing, f"--x{NAME}")
    assert outcome.code == 2
    assert_harmless(outcome.err)
    odd = folder / f"bad{NAME}.run"
    odd.write_text("1 Q0 d 1 high r 0 200\n")
    outcome = call(capsys, "evaluate", str(odd), "-j", judgements, "-m", "AP")
    assert outcome.code == 2
    assert f"bad{SHOWN}.run:1: " in outcome.err
    assert_harmless(outcome.err)
    outcome = call(capsys, "evaluate", str(folder / "one.run"), "-j", judgements, "-m", "charP")
    assert outcome.code == 0
    assert_harmless(outcome.err)


def test_messages_in_python_are_escaped(folder: Path) -> None:
    with pytest.raises(foveal.InputError) as caught:
        foveal.read_run(folder / f"none{NAME}")
    assert SHOWN in str(caught.value)
    results = foveal.evaluate(folder / "one.run", folder / "qrels.jsonl", "charP")
    with pytest.raises(foveal.FovealError) as refused:
        results[f"x{TITLE}", "charP"]
    assert_harmless(str(refused.value))
    assert_harmless(str(results))


def test_data_in_a_pipe_keeps_names_exactly(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    outcome = call(capsys, "evaluate", *MEASURED, "-f", "tsv")
    assert outcome.out.split("\n")[1].split("\t")[0] == f"one{NAME}"
    outcome = call(capsys, "evaluate", *MEASURED, "-f", "json")
    assert json.loads(outcome.out)["results"][0]["run"] == f"one{NAME}"
    assert call(capsys, "evaluate", *MEASURED, "-f", "csv", "-o", "out.csv").code == 0
    rows = list(csv.reader(io.StringIO((folder / "out.csv").read_text(), newline="")))
    assert rows[1][0] == f"one{NAME}"


# -- formulas --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-2+3", "@sum(1)"])
def test_a_spreadsheet_runs_no_name(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("toy Q0 D1 40 100 10 10:30 70:10\n-7 Q0 D1 40 100 10 10:30 70:10\n")
    Path("run").write_text(f"toy Q0 D1 1 3 {name} 0 20\n-7 Q0 D1 1 3 {name} 0 20\n")
    Path("other").write_text("toy Q0 D1 1 3 other 20 20\n")

    def rows(*args: str) -> list[list[str]]:
        outcome = call(capsys, *args, "-f", "csv")
        assert outcome.code == 0, outcome.err
        return list(csv.reader(io.StringIO(outcome.out, newline="")))

    scored = ("run", "other", "-j", "qrels", "-m", "charP")
    found = rows("evaluate", *scored, "-q")
    assert found[1][:2] == [f"'{name}", "-7"]  # a topic that is a number stays one
    compared = rows("compare", *scored)
    assert f"'{name}" in compared[1]
    assert any(cell.startswith("-") and float(cell) < 0 for row in compared[1:] for cell in row)


# -- tables and warnings ---------------------------------------------------------------------------


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    write_toy(tmp_path)
    (tmp_path / "qrels").write_text(QRELS + "other Q0 D1 40 100 10 10:30 70:10\n")
    (tmp_path / "long").write_text("toy Q0 D1 1 3 long 0 40\ntoy Q0 D9 2 2 long 0 40\n")
    return tmp_path


def test_a_table_has_no_curves(
    toy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(toy)
    curve = ("evaluate", "run", "-j", "qrels", "-m", "iP@curve")
    table = call(capsys, *curve, "-m", "iP@0.50", "-f", "table").out.splitlines()
    assert table[0].split() == ["run", "iP@0.50"]  # a point that was asked for by itself
    assert "iP@curve, 100 points" in table[-1]
    assert "-f tsv" in table[-1]
    (alone,) = call(capsys, *curve, "-f", "table").out.splitlines()
    assert "101 points" in alone
    assert len(call(capsys, *curve, "-f", "tsv").out.splitlines()) == 102


def test_a_terminal_shows_one_line_of_warnings_after_the_result(
    toy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(toy)
    args = ("evaluate", "run", "long", "-j", "qrels", "-m", "charP")
    every = [line for line in call(capsys, *args).err.splitlines() if "warning: " in line]
    assert len(every) > 1  # all of them where nobody looks on, as in the log of a build
    code, printed = at_terminal(*args, folder=toy)
    assert code == 0
    (line,) = [line for line in printed.splitlines() if "warning: " in line]
    assert (
        line == printed.splitlines()[-1] == f"{every[0]} (and {len(every) - 1} more; -v shows all)"
    )
    _, printed = at_terminal(*args, "-v", folder=toy)
    assert [line for line in printed.splitlines() if "warning: " in line] == every
    saved = json.loads(call(capsys, *args, "-f", "json").out)
    assert [f"warning: {text}" for text in saved["meta"]["warnings"]] == every
