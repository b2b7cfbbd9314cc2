"""``foveal correlate``: from runs or saved results to tables, data and heat maps."""

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


def test_a_directory_of_runs_in_one_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = correlate(capsys, "runs", "-j", "qrels", *MEASURES)
    found = rows(outcome)
    assert [(row["statistic"], row["first"], row["second"]) for row in found] == [
        ("tau_b", "AP", "AiP"),
        ("tau_b", "AP", "gP@2"),
        ("tau_b", "AiP", "gP@2"),
    ]
    assert all(-1 <= float(row["value"]) <= 1 and row["count"] == "1" for row in found)


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


def test_quantisations_of_2005(tmp_path: Path, monkeypatch, capsys) -> None:
    """Two presets by quantisation: one cell for each pair, ten measures and two tasks behind it."""
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    judged = []
    for topic in TOPICS:
        for doc in range(4):
            grade, size = 1 + (doc + int(topic)) % 2, 20 * (doc + 1)
            element = {"exhaustivity": grade, "size": size, "rsize": size if doc else 10}
            element["xpath"] = "/article[1]"
            judged.append({"topic": topic, "doc": f"D{doc}", "elements": [element]})
    Path("assessed").write_text("".join(json.dumps(line) + "\n" for line in judged))
    for task in ("CO.Thorough", "CO.Focussed"):
        for name, order in SYSTEMS.items():
            header = {"type": "header", "format": "foveal-run", "version": 1, "task": task}
            lines = [header | {"run": f"{name}.{task}"}]
            lines += [
                {"topic": topic, "doc": f"D{doc}", "xpath": "/article[1]"}
                for topic in TOPICS
                for doc in order[: len(name)]
            ]
            text = "".join(json.dumps(line) + "\n" for line in lines)
            Path(f"runs/{name}.{task}.jsonl").write_text(text)
    presets = ("-t", "2005.CO.Thorough", "-t", "2005.CO.Focussed")
    outcome = correlate(capsys, "runs", "-j", "assessed", *presets, "--by", "quant", "-f", "json")
    found = json.loads(outcome.out)["correlations"]
    pairs = [(row["row"], row["column"]) for row in found]
    assert pairs == [("gen5", "strict5"), ("gen5", "genLifted"), ("strict5", "genLifted")]
    assert {row["count"] + row["undefined"] for row in found} == {20}
    by_measure = correlate(capsys, "runs", "-j", "assessed", *presets, "-f", "json")
    found = json.loads(by_measure.out)["correlations"]
    assert len(found) == 45
    assert {row["count"] + row["undefined"] for row in found} == {6}


# -- output ------------------------------------------------------------------------------------


def test_a_table_marks_what_is_equivalent_and_what_differs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = correlate(capsys, "runs", "-j", "qrels", "-m", "AP", "-m", "R@2", "-f", "table").out
    assert out.splitlines()[0] == "Kendall's tau b by measure: 4 runs"
    assert "= from 0.9: equivalent rankings; ! below 0.8: noticeable differences" in out


@pytest.mark.parametrize(
    ("form", "piece"),
    [
        ("table", "Kendall's tau b by measure: 4 runs"),
        ("markdown", "| measure | AP |"),
        ("latex", r"\begin{tabular}"),
        ("html", "<table"),
        ("csv", "statistic,first,second,value,low,high,count,undefined\n"),
        ("json", '{"meta":'),
    ],
)
def test_every_format(
    form: str, piece: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("runs", "-j", "qrels", "-m", "AP", "-m", "AiP", "-f", form)
    assert piece in correlate(capsys, *args).out
    correlate(capsys, *args, "-o", "out")
    assert piece in Path("out").read_text()


def test_json_says_what_it_was_made_from(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("runs", "-j", "qrels", "-m", "AP", "-m", "AiP", "--by", "topics", "--samples", "20")
    meta = json.loads(correlate(capsys, *args, "--seed", "9", "-f", "json").out)["meta"]
    assert meta["options"]["samples"] == 20
    assert meta["options"]["seed"] == 9
    assert {item["kind"] for item in meta["inputs"]} == {"run", "judgements"}
    assert len(meta["inputs"]) == 5


def test_the_same_seed_gives_the_same_bytes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("runs", "-j", "qrels", *MEASURES, "--by", "topics", "-c", "all")
    args = (*args, "--samples", "50", "-f", "json", "--seed")
    first = correlate(capsys, *args, "5").out
    assert correlate(capsys, *args, "5").out == first
    assert correlate(capsys, *args, "6").out != first


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


@pytest.mark.parametrize(("name", "magic"), [("map.png", b"\x89PNG"), ("map.pdf", b"%PDF")])
def test_heat_maps_for_print(
    name: str, magic: bytes, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    args = ("runs", "-j", "qrels", *MEASURES, "-o", name)
    correlate(capsys, *args)
    first = Path(name).read_bytes()
    assert first.startswith(magic)
    correlate(capsys, *args)
    assert Path(name).read_bytes() == first


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
    call(
        capsys,
        "evaluate",
        "runs/good.jsonl",
        "runs/poor.jsonl",
        "-j",
        "qrels",
        *MEASURES,
        "-f",
        "json",
        "-o",
        "all.json",
    )
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


def two_tasks(folder: Path) -> list[str]:
    """Each system in two tasks, which declare them; in the second one another turns best."""
    for name, order in SYSTEMS.items():
        write_run(folder / "runs" / f"{name}.jsonl", name, order, "Focused")
        turned = order[1:] + order[:1]
        write_run(folder / "runs" / f"{name}2.jsonl", f"{name}2", turned, "Thorough")
    return sorted(str(path) for path in Path("runs").iterdir())


@pytest.mark.parametrize("by", ["measure", "topics"])
def test_saved_results_are_ranked_within_declared_tasks(
    by: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = two_tasks(folder)
    call(capsys, "evaluate", *paths, "-j", "qrels", *MEASURES, "-f", "json", "-o", "all.json")
    scored = correlate(capsys, "runs", "-j", "qrels", *MEASURES, "--by", by).out
    assert correlate(capsys, "all.json", "--by", by).out == scored
    saved = json.loads(correlate(capsys, "all.json", "-f", "json").out)
    assert {task: len(runs) for task, runs in saved["meta"]["tasks"].items()} == {
        "Focused": 4,
        "Thorough": 4,
    }
    assert saved["correlations"][0]["count"] == 2


def test_runs_without_a_task_are_not_mixed_in_silence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(folder / "runs" / "good.jsonl", "good", SYSTEMS["good"], "Focused")
    outcome = correlate(capsys, "runs", "-j", "qrels", *MEASURES)
    said = "warning: runs without a task are ranked with those of Focused, 3: fair, odd, poor\n"
    assert said in outcome.err


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


def test_measures_of_saved_results_are_found_and_counted_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = sorted(str(path) for path in Path("runs").iterdir())
    measures = ("-m", "iP@0.01", "-m", "AP")
    call(capsys, "evaluate", *paths, "-j", "qrels", *measures, "-f", "json", "-o", "all.json")
    saved = json.loads(Path("all.json").read_text())
    saved["results"] += [
        row | {"measure": "my own"} for row in saved["results"] if row["measure"] == "AP"
    ]
    Path("all.json").write_text(json.dumps(saved))
    args = ("-m", "iP@.01", "-m", "my own", "-m", "iP@0.01")
    (row,) = rows(correlate(capsys, "all.json", *args))
    assert (row["first"], row["second"], row["count"]) == ("iP@0.01", "my own", "1")


def test_results_by_assessor_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    span = {"start": 0, "end": 50}
    judged = [
        {"topic": t, "doc": "D1", "length": 100, "assessor": name, "spans": [span]}
        for t in TOPICS
        for name in "pq"
    ]
    Path("judged").write_text("".join(json.dumps(line) + "\n" for line in judged))
    each = ("-j", "judged", *MEASURES, "--assessors", "each")
    done = call(capsys, "evaluate", "runs/odd.jsonl", *each, "-f", "json", "-o", "each")
    assert done.code == 0, done.err
    for args in (("runs", *each), ("each",)):
        outcome = call(capsys, "correlate", *args)
        assert outcome.code == 2
        assert "choose union, majority, intersection or the name of one" in outcome.err
