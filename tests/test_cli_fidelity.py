"""``foveal simulate`` and ``foveal fidelity``: files, tables, words and exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import toy_elements
from command import QRELS, assert_refused, call
from foveal.collection import build_index

NAMES = [f"{p}{r}" for p in ("S", "SL", "SLD", "SS", "SST") for r in ("R", "RS", "RI", "RSI")]
OTHER = "two Q0 D1 30 100 0 0:30\ntwo Q0 D2 20 50 0 5:20\ntwo Q0 D3 0 40\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy collection with two topics of two relevant documents."""
    monkeypatch.chdir(tmp_path)
    build_index(toy_elements.write_documents(tmp_path), tmp_path / "index")
    (tmp_path / "qrels").write_text(QRELS + OTHER)
    return tmp_path


# -- simulate ------------------------------------------------------------------------------------


def test_twenty_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "simulate", "-j", "qrels", "-C", "index", "-o", "made")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.splitlines()[-1] == "20 runs of 2 topics written to made"
    assert sorted(p.name for p in (folder / "made").iterdir()) == sorted(
        f"{name}.jsonl" for name in NAMES
    )
    lines = [json.loads(line) for line in (folder / "made/SLRI.jsonl").read_text().splitlines()]
    assert lines[0]["run"] == "SLRI"
    whole = {"topic": "toy", "doc": "D3", "rank": 1, "start": 0, "end": 40, "xpath": "/a[1]"}
    assert lines[1] == whole
    assert lines[2]["doc"] == "D2"


def test_the_files_can_be_evaluated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also without the collection: results are offsets."""
    call(capsys, "simulate", "-j", "qrels", "-C", "index", "-o", "made")
    files = [str(path) for path in sorted((folder / "made").iterdir())]
    by_offset = call(capsys, "evaluate", *files, "-j", "qrels", "-t", "2006.RelevantInContext")
    assert by_offset.code == 0, by_offset.err
    placed = call(
        capsys, "evaluate", *files, "-j", "qrels", "-t", "2006.RelevantInContext", "-C", "index"
    )
    assert placed.out == by_offset.out
    assert "SR\tall\tAgP\t1.0" in by_offset.out.splitlines()


def test_without_an_index(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "simulate", "-j", "qrels", "-o", "made")
    assert outcome.code == 0
    assert outcome.err == (
        "warning: no collection (--collection): runs of SL, SS, SST are left out\n"
        "8 runs of 2 topics written to made\n"
    )
    assert len(list((folder / "made").iterdir())) == 8


def test_runs_of_some_topics(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "simulate", "-j", "qrels", "-o", "made", "--only-topics", "two")
    assert outcome.err.endswith("8 runs of 1 topics written to made\n")


def test_the_same_files_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("simulate", "-j", "qrels", "-C", "index", "-o")
    call(capsys, *args, "one")
    call(capsys, *args, "two")
    for path in (folder / "one").iterdir():
        assert path.read_bytes() == (folder / "two" / path.name).read_bytes()


def test_nothing_of_others_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "made").mkdir()
    (folder / "made" / "thesis.tex").write_text("precious")
    outcome = call(capsys, "simulate", "-j", "qrels", "-o", "made")
    assert outcome.code == 2
    assert outcome.err.startswith("made: the folder holds 'thesis.tex'")
    assert [p.name for p in (folder / "made").iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_used_is_refused_before_anything_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "made").write_text("")
    outcome = call(capsys, "simulate", "-j", "nowhere", "-o", "made")
    assert_refused(outcome, "made: is a file; expected a folder for several files")


# -- fidelity ------------------------------------------------------------------------------------


def test_the_three_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "fidelity", "-j", "qrels", "-C", "index", "-f", "table")
    assert outcome.code == 1  # AgP' is among the measures
    lines = outcome.out.splitlines()
    assert lines[0] == "Scores of 20 runs, means over 2 topics, best in bold"
    assert lines[2].split()[:8] == ["run", "gP@1", "gP@2", "gP@10", "gR@1", "gR@2", "gR@10", "AgP"]
    assert [line.split()[0] for line in lines[4:24]] == NAMES
    assert "Expected orderings" in lines
    (row,) = [line.split() for line in lines if line.startswith("AgPw     SRI >= SRSI")]
    assert row == ["AgPw", "SRI", ">=", "SRSI", "every", "-2.59", "0", "0", "2", "0.1772", "broken"]
    rows = [line.split() for line in lines]
    assert ["AP", "parts", "passes", "0", "16", "0", "0", "0"] in rows
    (whole,) = [row for row in rows if row[:2] == ["AgPw", "all"]]
    assert (whole[2], whole[5]) == ("fails", "1")
    assert lines[-1].endswith("broken by AgPw (SRI >= SRSI).")


def test_a_measure_that_passes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "fidelity", "-j", "qrels", "-C", "index", "-m", "AgP")
    assert outcome.code == 0
    rows = list(csv.DictReader(io.StringIO(outcome.out), delimiter="\t"))
    assert len(rows) == 36
    assert rows[0]["better"] == "SR"
    assert (rows[0]["expected"], rows[0]["verdict"], rows[0]["losses"]) == ("every", "holds", "0")
    assert float(rows[0]["difference"]) > 0
    assert outcome.err.splitlines()[-1] == "All orderings that must hold on every topic hold."


def test_json_holds_everything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("fidelity", "-j", "qrels", "-C", "index", "-m", "AP", "-m", "gP@1", "-f", "json")
    outcome = call(capsys, *args)
    found = json.loads(outcome.out)
    assert [v["measure"] for v in found["verdicts"]] == [*5 * ["AP"], *5 * ["gP@1"]]
    assert len(found["scores"]) == 20 * 2
    assert len(found["orderings"]) == 36 * 2
    assert found["meta"]["tolerance"] == 1e-12
    judged = found["meta"]["inputs"][0]
    assert (judged["kind"], judged["path"], len(judged["sha256"])) == ("judgements", "qrels", 64)
    assert call(capsys, *args).out == outcome.out


@pytest.mark.parametrize(
    ("form", "beginning"),
    [("markdown", "**Scores of"), ("latex", "% \\usepackage"), ("html", "<!DOCTYPE html>")],
)
def test_documents(
    folder: Path, capsys: pytest.CaptureFixture[str], form: str, beginning: str
) -> None:
    args = ("fidelity", "-j", "qrels", "-C", "index", "-m", "AgP", "-f", form, "-o", "out")
    assert call(capsys, *args).code == 0
    text = (folder / "out").read_text()
    assert text.startswith(beginning)
    if form == "latex":
        labels = re.findall(r"\\label\{(.*)\}", text)
        assert labels == ["tab:scores", "tab:orderings", "tab:verdict"]


def test_one_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("fidelity", "-j", "qrels", "-C", "index", "-m", "AgP", "--table")
    scores = call(capsys, *args, "scores").out.splitlines()
    assert (scores[0], scores[1]) == ("run\ttopic\tmeasure\tvalue", "SR\tall\tAgP\t1.0")
    verdict = call(capsys, *args, "verdict", "-f", "csv").out.splitlines()
    assert verdict[1].startswith("AgP,all,true,")
    shown = call(capsys, *args, "verdict", "-f", "table").out
    assert shown.startswith("Verdict\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-m", "AgP", "--snap"], "--snap would change the simulated runs"),
        (["-m", "AgP", "--max-results", "9"], "--max-results would change the simulated runs"),
        (["-m", "BEPD", "-m", "AgP"], "BEPD takes one result of each document"),
    ],
)
def test_what_makes_a_trial_unfair_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    outcome = call(capsys, "fidelity", "-j", "qrels", "-C", "index", "-o", "out", *args)
    assert_refused(outcome, f"foveal: {message}")


def test_without_an_index_s_and_sld_are_tried(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, "fidelity", "-j", "qrels", "-m", "AgP")
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 1 + 4 + 8
    assert "runs of SL, SS, SST are left out" in outcome.err


def test_wrong_use(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_refused(
        call(capsys, "fidelity", "-m", "AP"), "foveal: no judgements given (--judgements)"
    )
    outcome = call(capsys, "fidelity", "-j", "qrels", "-m", "noSuch@10")
    assert outcome.code == 2


@pytest.mark.parametrize("name", ["simulate", "fidelity"])
def test_help_has_an_example(capsys: pytest.CaptureFixture[str], name: str) -> None:
    text = call(capsys, name, "--help").out
    assert f"foveal {name} -j qrels.jsonl" in " ".join(text.split())
