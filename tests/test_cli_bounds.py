"""--bounds of evaluate, compare and report, and the preset for RAG, from the shell."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command import assert_refused, call, evaluate, write_toy

# D9 is not judged: 15 characters, of 65 that are read.
RUN = """\
toy Q0 D2 1 3 open 0 50
toy Q0 D9 2 2 open 0 15
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in: judgements in qrels, a judged run in run, one with open text in open."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "open").write_text(RUN)
    return write_toy(tmp_path)


@pytest.mark.usefixtures("folder")
def test_evaluate_writes_bounds_in_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("evaluate", "run", "open", "-j", "qrels", "-m", "charP", "-m", "answered", "--bounds")
    tsv = [line.split("\t") for line in call(capsys, *args, "-f", "tsv").out.splitlines()]
    assert tsv[0] == ["run", "topic", "measure", "value", "low", "high"]
    assert tsv[3] == ["open", "all", "charP", repr(50 / 65), repr(50 / 65), "1.0"]
    assert tsv[4][4:] == ["nan", "nan"]
    csv = call(capsys, *args, "-f", "csv").out.splitlines()
    assert csv == [",".join(row) for row in tsv]
    saved = json.loads(call(capsys, *args, "-f", "json").out)
    assert saved["results"][-2]["high"] == 1.0
    assert saved["results"][-1]["high"] is None
    assert saved["meta"]["bounds"] == {"charP": "exact", "answered": "none"}
    for form in ("table", "markdown", "latex", "html"):
        text = call(capsys, *args, "-f", form).out
        assert re.search(r"open\W.*0\.7692\W.*0\.7692\W.*1\.0000\W.*exact", text), form


@pytest.mark.usefixtures("folder")
def test_compare_says_what_is_certain(capsys: pytest.CaptureFixture[str]) -> None:
    Path("qrels").write_text(
        "".join(Path("qrels").read_text().replace("toy", topic) for topic in ("1", "2"))
    )
    for name in ("run", "open"):
        text = Path(name).read_text()
        Path(name).write_text("".join(text.replace("toy", topic) for topic in ("1", "2")))
    args = ("run", "open", "-j", "qrels", "-m", "charR", "-m", "charP", "--bounds", "-f", "json")
    done = call(capsys, "compare", *args)
    recall, precision = json.loads(done.out)["pairs"]
    assert recall["certainly_better"] == "mine"
    assert recall["least_difference"] == pytest.approx((70 - 50 - 15) / 105)
    assert precision["certainly_better"] is None
    # Saved results with bounds are compared by them, too.
    shown = ("run", "open", "-j", "qrels", "-m", "charR", "--bounds", "-f", "json", "-o", "s.json")
    call(capsys, "evaluate", *shown)
    again = json.loads(call(capsys, "compare", "s.json", "-f", "json").out)["pairs"][0]
    assert again["least_difference"] <= recall["least_difference"]


@pytest.mark.usefixtures("folder")
def test_the_report_shows_bounds_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("report", "run", "open", "-j", "qrels", "-m", "charP")
    assert "unjudged text" not in call(capsys, *args).out
    page = call(capsys, *args, "--bounds").out
    row = "<td>charP</td><td>open</td><td>0.7692</td><td>0.7692</td><td>1.0000</td><td>exact</td>"
    assert row in page


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("more", [("--config", "c.prop"), ("-m", "AP", "--memory", "1G")])
def test_bounds_are_refused_with_what_cannot_have_them(
    capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    assert_refused(evaluate(capsys, "run", "-j", "qrels", "--bounds", *more), "foveal: ")


@pytest.mark.usefixtures("folder")
def test_bounds_take_a_baseline_that_is_scored(capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "evaluate", "run", "-j", "qrels", "-m", "charP", "-f", "json", "-o", "saved.json")
    args = ("compare", "open", "-j", "qrels", "-m", "charP", "--bounds", "--baseline", "saved.json")
    assert_refused(call(capsys, *args), "foveal: --bounds")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_without_a_measure_the_preset_for_rag_is_used(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    default = call(capsys, command, "run", "-j", "qrels")
    asked = call(capsys, command, "run", "-j", "qrels", "-t", "rag")
    assert default.code == asked.code == 0
    assert "-t rag" in default.err
    assert "no measure" not in asked.err
    if command == "evaluate":
        assert default.out == asked.out
