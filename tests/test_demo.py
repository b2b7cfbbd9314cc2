"""``foveal demo``: a campaign from documents to report, with commands that can be pasted."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import foveal
from command import Outcome, assert_refused, call
from foveal.cli import main
from foveal.cli.demo import find_examples

ROOT = Path(__file__).resolve().parents[1]
CAMPAIGN = ROOT / "examples" / "crossings"
MADE = ("crossings.fvx", "focused.json", "thorough.json", "report.html")
SOUND = "1 Q0 fords 1 2 mine 0 200\n2 Q0 tidal-causeways 1 2 mine 0 300\n"
BASH = shutil.which("bash")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(base: Path) -> Outcome:
    """What the demo printed in ``my demo`` under `base`, a name that a shell would split."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.chdir(base), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        main(["demo", "--full", "-o", "my demo", "--no-open"])
        out.flush()
    return Outcome(0, out.buffer.getvalue().decode(), err.getvalue())  # type: ignore[attr-defined]


def commands(printed: str) -> list[str]:
    """Lines after ``$`` with those that continue them."""
    return re.findall(r"^\$ ((?:.*\\\n)*.*)$", printed, re.MULTILINE)


def environment(**more: str) -> dict[str, str]:
    found = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {"PATH": found, "COLUMNS": "100"} | more


# -- what it does --------------------------------------------------------------------------------


def test_it_goes_from_documents_to_a_report(demo: Outcome, base: Path) -> None:
    done = [line.split()[1] for line in commands(demo.out)[1:]]
    assert done == [
        *("index", "validate", "evaluate", "evaluate", "evaluate", "compare", "evaluate"),
        *("compare", "fidelity", "report"),
    ]
    presets = set(re.findall(r"-t (\S+)", demo.out))
    assert presets == {"2009.Focused", "2005.CO.Thorough", "2009.RelevantInContext"}
    assert all((base / "my demo" / "crossings" / name).stat().st_size for name in MADE)
    assert "The report is 'my demo'/crossings/report.html" in demo.out


def test_what_is_printed_fits_a_terminal(demo: Outcome) -> None:
    verdicts = re.compile(r"(AiP|AP) (passes|sees|does not see)")  # sentences, not tables
    lines = [line for line in demo.out.splitlines() if not verdicts.match(line)]
    assert max(map(len, lines)) <= 100
    assert len(lines) < 150


def test_each_command_prints_one_line_of_warnings(demo: Outcome) -> None:
    said = [line for line in demo.err.splitlines() if line.startswith("warning: ")]
    assert 2 < len(said) < len(commands(demo.out))
    assert said[-1].endswith(" more; -v shows all)")  # of the report


@pytest.mark.skipif(BASH is None, reason="no bash to paste into")
def test_the_commands_work_when_pasted(
    demo: Outcome,
    base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A shell finds the words, and each command then prints what the demo shows."""
    place = tmp_path / "my demo" / "crossings"
    shutil.copytree(CAMPAIGN, place, ignore=shutil.ignore_patterns(*MADE))
    words = r"""foveal() { printf '%s\0' "$@"; echo; }"""
    pasted = subprocess.run(
        [str(BASH), "-e", "-c", "\n".join([words, *commands(demo.out)])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    monkeypatch.chdir(place)
    rest = iter(demo.out.splitlines())
    calls = [line.split("\0")[:-1] for line in pasted.stdout.splitlines()]
    assert len(calls) == len(commands(demo.out)) - 1  # the first is cd
    for args in calls:
        outcome = call(capsys, *args)
        assert outcome.code == 0, outcome.err
        assert all(line in rest for line in outcome.out.splitlines()), args  # in this order
    for name in MADE[1:]:
        assert Path(name).read_bytes() == (base / "my demo" / "crossings" / name).read_bytes(), name


def test_the_report_holds_the_scores_of_evaluate(demo: Outcome, base: Path) -> None:
    page = (base / "my demo" / "crossings" / "report.html").read_text()
    start = page.index('<script type="application/json" id="data">')
    text = page[page.index(">", start) + 1 : page.index("</script>", start)]
    data = json.loads(text)
    scores = foveal.evaluate(
        sorted((CAMPAIGN / "runs").iterdir()),
        CAMPAIGN / "judgements.jsonl",
        task="2009.Focused",
        collection=base / "my demo" / "crossings" / "crossings.fvx",
        overlap="drop",
    )
    assert tuple(data["runs"]) == scores.runs
    assert data["overall"] == scores.overall.tolist()
    for run in scores.runs:
        shown = "  ".join(f"{scores[run, m]:{len(m)}.4f}" for m in scores.measures[:4])
        assert re.search(rf"^{run} +{shown}", demo.out, re.MULTILINE)


def test_two_stories_fit_a_screen_and_a_half_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = call(capsys, "demo")
    assert outcome.code == 0, outcome.err
    first, _, second = outcome.out.partition("\n2. ")
    for story in (first, second):
        lines = story.splitlines()
        assert len(lines) <= 60
        assert max(map(len, lines)) <= 100
    done = [line.split()[1] for line in commands(outcome.out) if line.startswith("foveal ")]
    assert done == ["evaluate", "compare", "index", "evaluate", "report"]
    assert (tmp_path / "foveal-demo" / "crossings" / "report.html").stat().st_size


# -- its directory -------------------------------------------------------------------------------


def test_a_second_demo_restores_the_example_and_takes_in_own_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "foveal-demo" / "crossings"
    (folder / "runs").mkdir(parents=True)
    (folder.parent / ".foveal-demo").touch()  # as after a demo that was interrupted
    (folder / "runs" / "mine.run").write_text(SOUND)
    (folder / "topics.jsonl").write_text("damaged")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("BROWSER", f"touch {tmp_path}/opened")
    outcome = call(capsys, "demo", "--full")
    assert outcome.code == 0, outcome.err
    assert not (tmp_path / "opened").exists()  # this is no terminal
    assert (folder / "topics.jsonl").read_bytes() == (CAMPAIGN / "topics.jsonl").read_bytes()
    assert (folder / "runs" / "mine.run").read_text() == SOUND
    saved = foveal.read_results(folder / "focused.json")
    assert len(saved.runs) == 9
    assert f"mine         {saved['mine', 'iP@0.00']:.4f}" in outcome.out


@pytest.mark.parametrize("content", ["file", "folder"])
def test_a_directory_of_others_is_left_alone(
    content: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "mine"
    if content == "folder":
        target.mkdir()
        (target / "thesis.tex").write_text("years of work")
    else:
        target.write_text("years of work")
    outcome = call(capsys, "demo", "-o", "mine")
    assert_refused(
        outcome, "foveal: mine holds files" if content == "folder" else "foveal: mine is"
    )
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [
        "thesis.tex" if content == "folder" else "mine"
    ]


def test_a_directory_that_cannot_be_made_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert_refused(call(capsys, "demo", "-o", "file/x"), "file/x: Not a directory")


def test_a_step_that_fails_ends_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = tmp_path / "foveal-demo" / "crossings" / "runs"
    runs.mkdir(parents=True)
    (tmp_path / "foveal-demo" / ".foveal-demo").touch()
    (runs / "mine.run").write_text("1 Q0 fords 1 high mine 0 200\n")
    outcome = call(capsys, "demo", "--full", "--no-open")
    assert outcome.code == 1
    assert commands(outcome.out)[-1].startswith("foveal validate ")
    assert "runs/mine.run:1: score 'high' is not a finite number" in outcome.out + outcome.err
    assert "This command ended with exit code 1, and the demo with it.\n" in outcome.err
    assert "take it out" in outcome.err
    assert not (runs.parent / "report.html").exists()


# -- where it comes from and where it is shown ---------------------------------------------------


def test_a_checkout_has_the_campaign_in_its_examples() -> None:
    assert find_examples() == CAMPAIGN.parent


def test_an_installed_package_brings_the_campaign_along(tmp_path: Path) -> None:
    """Laid out as the wheel is, and its report in a browser."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    shutil.copytree(ROOT / "src" / "foveal", tmp_path / "site" / "foveal")
    for source, target in wheel["force-include"].items():
        shutil.copytree(ROOT / source, tmp_path / "site" / target)
    topics = tmp_path / "site" / "foveal" / "examples" / "crossings" / "topics.jsonl"
    topics.write_text(topics.read_text() + "\n")
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> "{tmp_path}/opened"\n')
    browser.chmod(0o755)
    more = {"PYTHONPATH": str(tmp_path / "site"), "BROWSER": f"{browser} %s"}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        words = (sys.executable, "-m", "foveal", "demo", *words)
        return subprocess.run(
            words,
            cwd=tmp_path,
            env=environment(**more),
            capture_output=True,
            text=True,
            timeout=120,
        )

    done = run("--open")
    assert done.returncode == 0, done.stderr
    made = tmp_path / "foveal-demo" / "crossings"
    assert (made / "topics.jsonl").read_text() == topics.read_text()
    report = (made / "report.html").as_uri()
    assert (tmp_path / "opened").read_text().split() == [report]

    shutil.rmtree(topics.parent / "runs")
    missing = run()
    assert missing.returncode == 2
    assert missing.stderr.startswith("foveal: the examples are missing from this install")
