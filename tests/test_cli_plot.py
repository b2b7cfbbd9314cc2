"""``foveal plot``: numbers that evaluate prints, files of every kind, and what is refused."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from examples.make_crossings import CAMPAIGN

from command import assert_refused, call, write_toy
from foveal.collection import build_index
from foveal.measures import Measure, parse_measure

TWO = ("runs/focused.jsonl", "runs/noisy.jsonl")
GRADED = ("-j", "assessments", "-C", "index")
TEXT = ("-j", "judgements.jsonl", "-C", "index")
OTHERS = {
    "ep": GRADED,
    "nxcg": (*GRADED, "--ranks", "20"),
    "inex_eval": (*GRADED, "-m", "inex_eval(quant=gen5)"),
    "ip": TEXT,
    "gpgr": (*TEXT, "--regroup", "-t", "2009.RelevantInContext"),
    "eprum": (*TEXT, "--overlap", "drop"),
    "bepd": (*TEXT, "--overlap", "drop"),
    "effort": TEXT,
    "overlap": TEXT,
}
"""Graphs whose every point is a score, each with what it is drawn of."""
MEASURES = {
    "ep": "ep",
    "nxcg": "nxCG",
    "inex_eval": "inex_eval(quant=gen5)",
    "ip": "iP",
    "gpgr": "igP(beta=0.25)",
    "eprum": "EPRUM",
    "overlap": "ListOverlap",
}


@pytest.fixture(scope="module")
def crossings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plot") / "crossings"
    shutil.copytree(CAMPAIGN, folder)
    build_index(folder / "documents", folder / "index")
    return folder


@pytest.fixture
def campaign(crossings: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(crossings)
    return crossings


def data(path: Path) -> dict[str, dict[float, float]]:
    """The blocks of a file of gnuplot data by their first comment, or a mark of several such."""
    found: dict[str, dict[float, float]] = {}
    for block in path.read_text().split("\n\n\n"):
        lines = block.splitlines()
        (end,) = [i for i, line in enumerate(lines) if line.startswith("# index ")]
        name = lines[end - 1].removeprefix("# ")
        name = f"{name}, again" if name in found else name
        rows = [line.partition("#")[0].split() for line in lines[end + 1 :]]
        found[name] = {float(x): float(y) for x, y in rows}
    return found


def scores(
    capsys: pytest.CaptureFixture[str], *args: str, measures: list[str]
) -> dict[tuple[str, Measure], float]:
    """What ``foveal evaluate`` prints on topic all."""
    named = [part for measure in measures for part in ("-m", measure)]
    outcome = call(capsys, "evaluate", *args, *named, "-f", "tsv")
    assert outcome.code == 0, outcome.err
    rows = csv.DictReader(io.StringIO(outcome.out), delimiter="\t")
    return {(row["run"], parse_measure(row["measure"])): float(row["value"]) for row in rows}


@pytest.mark.parametrize("graph", OTHERS)
def test_numbers_are_those_of_evaluate(
    graph: str, campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = OTHERS[graph]
    outcome = call(capsys, "plot", graph, *TWO, *options, "-o", "out.dat")
    assert (outcome.code, outcome.out) == (0, "")
    found = data(campaign / "out.dat")
    assert list(found)[:2] == ["focused", "noisy"]

    points = {(name, x): measure_at(graph, name, x) for name, own in found.items() for x in own}
    wanted = list(dict.fromkeys(map(str, points.values())))[::7]  # every seventh, to be quick
    asked = [part for part in options if part not in ("--ranks", "20", "-m", MEASURES.get(graph))]
    printed = scores(capsys, *TWO, *asked, measures=wanted)
    compared = 0
    for (name, x), measure in points.items():
        if str(measure) in wanted:
            assert found[name][x] == printed[name.partition(",")[0], measure], measure
            compared += 1
    assert compared == 2 * len(wanted) > 0


def measure_at(graph: str, name: str, x: float) -> Measure:
    """The measure whose score is drawn at a place of the axis."""
    if graph == "bepd":
        return parse_measure(f"BEPD(A={x!r})")
    if graph == "effort":  # recall comes first
        return parse_measure(f"{'charP' if name.endswith('again') else 'charR'}(budget={x:.0f})")
    return parse_measure(f"{MEASURES[graph]}@{x:g}")


def test_gains_of_one_topic(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = (*TWO, *GRADED, "-m", "nxCG(quant=gen5,overlap=on)")
    outcome = call(capsys, "plot", "gain", *args, "--topic", "2", "-o", "g.dat")
    assert outcome.code == 0, outcome.err
    assert outcome.err == "ep is read on straight lines between ranks: ep(between=curve).\n"
    inside = "(quant=gen5,overlap=on"
    measures = [f"nxCG{inside})@10", f"ep{inside},between=curve)@0.5", f"xCG{inside})@10"]
    printed = scores(capsys, *TWO, *GRADED, "--only-topics", "2", measures=measures)
    found = data(campaign / "g.dat")
    for run in ("focused", "noisy"):
        nxcg, ep, xcg = (printed[run, parse_measure(text)] for text in measures)
        curve = found[f"{run}: nxCG@10 {nxcg:.4f}, ep@0.5 {ep:.4f}"]
        assert curve[10.0] == pytest.approx(xcg, rel=1e-12)
        assert found["ideal"][10.0] == pytest.approx(xcg / nxcg, rel=1e-12)


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_pictures(form: str, campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "plot", "ip", *TWO, *TEXT, "-o", f"ip.{form}", "--title", "Mine")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    content = (campaign / f"ip.{form}").read_bytes()
    assert content.startswith({"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[form])
    if form == "svg":
        told = {child.tag.rpartition("}")[2]: child.text for child in ET.fromstring(content)}
        assert told["title"] == "Mine"
        assert "focused: " in (told["desc"] or "")


def test_saved_results_are_drawn_without_scoring(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call(
        capsys, "evaluate", *TWO, *TEXT, "-m", "iP@curve", "-m", "AiP", "-f", "json", "-o", "s.json"
    )
    call(capsys, "plot", "ip", *TWO, *TEXT, "--topic", "3", "-o", "scored.dat")
    outcome = call(capsys, "plot", "ip", "s.json", "--topic", "3", "-o", "saved.dat")
    assert outcome.code == 0, outcome.err
    assert (campaign / "saved.dat").read_text() == (campaign / "scored.dat").read_text()
    # Of several measures the first; by name any.
    for args, label in (((), "iP@0.00"), (("-m", "AiP"), "AiP")):
        outcome = call(capsys, "plot", "topics", "s.json", *args, "-o", "t.dat")
        assert outcome.code == 0, outcome.err
        assert f": {label}\n" in (campaign / "t.dat").read_text()
    outcome = call(capsys, "plot", "ep", "s.json", "-o", "out")
    assert_refused(outcome, "foveal: out: a graph is written as")
    outcome = call(capsys, "plot", "ep", "s.json", "-o", "no.dat")
    assert_refused(outcome, "foveal: the results hold no point of the graph ep (ep@curve)")
    outcome = call(capsys, "plot", "gain", "s.json", "-o", "no.dat")
    assert_refused(outcome, "foveal: the graph gain is not made of scores; give --judgements")
    outcome = call(capsys, "plot", "ip", "s.json", "-m", "iP(beta=1)", "-o", "no.dat")
    assert_refused(outcome, "foveal: iP has no parameter 'beta'")


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_toy(tmp_path)


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (("lengths", "--topic", "1", "-o", "o.dat"), "foveal: the graph lengths is about all"),
        (("topics", "--topic", "1", "-o", "out.dat"), "foveal: the graph topics is about all"),
        (("ip", "--topic", "9", "-o", "out.dat"), "foveal: no topic '9' in the results; they hold"),
        (("ip", "-m", "AiP", "-o", "out.dat"), "foveal: the graph ip does not draw 'AiP'"),
        (("ip", "-t", "2009.Focused", "-t", "2009.Thorough", "-o", "o.dat"), "foveal: one task"),
    ],
)
def test_what_is_refused(
    args: tuple[str, ...], line: str, toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, "plot", args[0], "run", "-j", "qrels", *args[1:])
    assert_refused(outcome, line)
    assert sorted(path.name for path in toy.iterdir()) == ["qrels", "run"]


def test_gnuplot_needs_no_matplotlib(toy: Path) -> None:
    """Without the extra, pictures are refused before anything is scored, and data is written."""
    script = "import sys; sys.modules['matplotlib'] = None; from foveal.cli import main; main()"
    command = [sys.executable, "-c", script, "plot", "ip", "run", "-j", "qrels", "-o"]
    done = subprocess.run([*command, "out.dat"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (toy / "out.dat").exists()
    done = subprocess.run([*command, "out.svg"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("foveal: pictures need matplotlib; install it with pip install")
    assert not (toy / "out.svg").exists()


@pytest.mark.parametrize("suffix", ["png", "svg", "PDF"])
def test_scores_are_not_written_into_a_picture(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(write_toy(tmp_path))
    args = ("evaluate", "run", "-j", "qrels", "-m", "charP", "-o", f"x.{suffix}")
    outcome = call(capsys, *args)
    assert outcome.code == 2
    assert "'foveal plot'" in outcome.err
    assert not Path(f"x.{suffix}").exists()
    assert call(capsys, *args, "-f", "tsv").code == 0
