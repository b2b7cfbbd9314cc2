"""``foveal correlate``: runs or saved results, tasks, heat maps, what is refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from command import Outcome, call

TOPICS = ("1", "2", "3", "4")
SYSTEMS = {"good": (0, 1, 2, 3), "fair": (1, 0, 3, 2), "poor": (3, 2, 1, 0), "odd": (2, 3, 0, 1)}
"""Run to the order in which it returns documents."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four documents, of which topic t finds the first t relevant to the half."""
    monkeypatch.chdir(tmp_path)
    lines = []
    for topic in TOPICS:
        for doc in range(4):
            spans = f" 0 {10 * doc}:50" if doc < int(topic) else ""
            lines.append(f"{topic} Q0 D{doc} {50 if spans else 0} 100{spans}\n")
    (tmp_path / "qrels").write_text("".join(lines))
    (tmp_path / "runs").mkdir()
    for name, order in SYSTEMS.items():
        write_run(tmp_path / "runs" / f"{name}.jsonl", name, order, None)
    return tmp_path


def write_run(path: Path, name: str, order: tuple[int, ...], task: str | None) -> None:
    header = {"type": "header", "format": "foveal-run", "version": 1, "run": name}
    header |= {} if task is None else {"task": task}
    results = [
        {"topic": topic, "doc": f"D{doc}", "start": 5 * doc, "end": 60}
        for topic in TOPICS
        for doc in order
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, *results]))


def correlate(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    outcome = call(capsys, "correlate", *args)
    assert outcome.code == 0, outcome.err
    return outcome


def rows(outcome: Outcome) -> list[dict[str, str]]:
    header, *lines = (line.split("\t") for line in outcome.out.splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


MEASURES = ("-m", "AP", "-m", "AiP", "-m", "gP@2")


def test_saved_results_give_what_runs_give(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = sorted(str(path) for path in Path("runs").iterdir())
    call(capsys, "evaluate", *paths, "-j", "qrels", *MEASURES, "-f", "json", "-o", "all.json")
    for name, part in (("one", paths[:2]), ("two", paths[2:])):
        call(capsys, "evaluate", *part, "-j", "qrels", *MEASURES, "-f", "json", "-o", name)
    scored = correlate(capsys, "runs", "-j", "qrels", *MEASURES, "-c", "all").out
    assert correlate(capsys, "all.json", "-c", "all").out == scored
    assert correlate(capsys, "one", "two", "-c", "all").out == scored
    chosen = correlate(capsys, "all.json", "-m", "AP", "-m", "AiP").out
    assert len(chosen.splitlines()) == 2


def test_runs_are_grouped_by_the_task_they_declare(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, order in SYSTEMS.items():
        write_run(folder / "runs" / f"{name}.jsonl", name, order, "Focused")
        write_run(folder / "runs" / f"{name}2.jsonl", f"{name}2", order, "AllInContext")
    write_run(folder / "runs" / "best.jsonl", "best", SYSTEMS["good"], "BestInContext")
    both = ("-t", "2009.Focused", "-t", "2009.RelevantInContext")
    outcome = correlate(capsys, "runs", "-j", "qrels", *both, "-m", "AP", "-f", "json")
    saved = json.loads(outcome.out)
    assert {task: len(runs) for task, runs in saved["meta"]["tasks"].items()} == {
        "2009.Focused": 4,
        "2009.RelevantInContext": 4,
    }
    assert "left out that declare no task of --task, 1: best" in outcome.err
    counts = {(row["row"], row["column"]): row["count"] for row in saved["correlations"]}
    assert counts["iP@0.01", "AP"] == 1
    assert ("iP@0.01", "AgP(beta=0.25)") not in counts  # never in one task
    # Without -t all declared tasks count; the one with a single run is said.
    outcome = correlate(capsys, "runs", "-j", "qrels", "-m", "AP", "-m", "AiP")
    assert rows(outcome)[0]["count"] == "2"
    assert "BestInContext: nothing to rank, a single run: best" in outcome.err


# -- pictures ----------------------------------------------------------------------------------


def test_a_heat_map_has_a_text_alternative(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("runs", "-j", "qrels", *MEASURES, "-c", "tau_b", "-c", "tau_ap")
    correlate(capsys, *args, "-o", "map.svg")
    first = Path("map.svg").read_bytes()
    picture = ET.fromstring(first)
    space = "{http://www.w3.org/2000/svg}"
    assert picture.get("role") == "img"
    assert "AP and AiP: " in picture.find(f"{space}desc").text
    correlate(capsys, *args, "-o", "map.svg")
    assert Path("map.svg").read_bytes() == first


# -- wrong use ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("-m", "AP"), "a correlation needs at least two measures"),
        (("-m", "AP", "-m", "AiP", "--by", "quant"), "at least two quantisations of a measure"),
        ((*MEASURES, "-t", "2005.SSCAS", "-t", "2005.SVCAS"), "no run declares a task of --task"),
        ((*MEASURES, "--seed", "9"), "--seed is for --by topics, which was not requested"),
        (
            (*MEASURES, "--by", "topics", "--only-topics", "1"),
            "not used, no values on two topics that all runs share: AP, AiP, gP@2",
        ),
    ],
)
def test_wrong_use(
    args: tuple[str, ...], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, "correlate", "runs", "-j", "qrels", *args, "-o", "out")
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.out == ""
    assert not Path("out").exists()


def test_saved_results_are_not_scored_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = ("runs/good.jsonl", "runs/poor.jsonl")
    call(capsys, "evaluate", *runs, "-j", "qrels", *MEASURES, "-f", "json", "-o", "all.json")
    for option in (("-t", "2009.Focused"), ("--lenient",), ("--topics", "run")):
        outcome = call(capsys, "correlate", "all.json", *option)
        assert outcome.code == 2
        assert "leave out the options of scoring" in outcome.err
    outcome = call(capsys, "correlate", "all.json", "-m", "AP", "-m", "gP@5")
    assert "no measure 'gP@5' in the results" in outcome.err
    outcome = call(capsys, "correlate", "runs")
    assert outcome.code == 2
    assert "these are not saved results" in outcome.err


def test_an_empty_directory_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("none").mkdir()
    outcome = call(capsys, "correlate", "none", "-j", "qrels", *MEASURES)
    assert outcome.err == "none: the directory holds no file\n"


# -- saved results, tasks and options ----------------------------------------------------------


def test_warnings_of_saved_results_are_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = sorted(str(path) for path in Path("runs").iterdir())
    args = ("-j", "qrels", *MEASURES, "-f", "json", "-o")
    call(capsys, "evaluate", *paths[:2], *args, "one.json")
    call(capsys, "evaluate", *paths[2:], "--only-topics", "1,2", *args, "two.json")
    saved = json.loads(Path("one.json").read_text())
    saved["meta"]["warnings"] = ["fair: something odd"]
    Path("one.json").write_text(json.dumps(saved))
    outcome = correlate(capsys, "one.json", "two.json")
    assert "warning: fair: something odd\n" in outcome.err
    assert "warning: results scored with different options: fair, good; odd, poor\n" in outcome.err
    meta = json.loads(correlate(capsys, "one.json", "two.json", "-f", "json").out)["meta"]
    assert "fair: something odd" in meta["warnings"]
