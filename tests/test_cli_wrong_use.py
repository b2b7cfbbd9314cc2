"""Wrong use: unknown measures, impossible options, missing inputs, readers that go away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command import assert_refused, call, evaluate, write_toy


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with good judgements in qrels and a good run in run."""
    monkeypatch.chdir(tmp_path)
    return write_toy(tmp_path)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["evaluat"], "No such command 'evaluat'. (Did you mean one of: 'evaluate', "),
        (["evaluate", "run"], "Missing option '-j' / '--judgements'."),
        (["evaluate", "-j", "qrels"], "Missing argument 'RUN...'."),
        (["evaluate", "run", "-j", "qrels", "--overlap", "no"], "'no' is not one of 'error', "),
        (["evaluate", "run", "-j", "qrels", "--max-results", "0"], "0 is not in the range x>=1."),
        (["evaluate", "run", "-j", "qrels", "--measures", "AP"], "No such option"),
    ],
)
def test_a_wrong_command_line_is_explained(
    args: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, *args)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    "run", ["toy Q0 D1 1 1 mine /a[1]/b[1]\n", "toy Q0 D9 1 1 mine\n"], ids=["path", "document"]
)
def test_a_result_without_a_place_is_named_with_what_would_place_it(
    run: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run").write_text(run)
    outcome = evaluate(capsys, "run", "-j", "qrels", "-m", "iP@0.01")
    assert_refused(
        outcome, "run:1: iP@0.01 needs the place of every result; it takes start and end"
    )
    assert outcome.err.endswith("give it with --collection INDEX ('foveal index' makes one)\n")


def foveal(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "foveal", *args]
    return subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload,no-any-return]


def test_the_module_is_the_command(folder: Path) -> None:
    good = foveal("evaluate", "run", "-j", "qrels", "-m", "AP")
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout == "run\ttopic\tmeasure\tvalue\nmine\tall\tAP\t1.0\n"
    bad = foveal("evaluate", "missing", "-j", "qrels", "-m", "AP")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "missing: no such file\n"


def test_a_broken_pipe_ends_quietly(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        args = ("evaluate", "run", "-j", "qrels", "-m", "iP@curve", "-f", "json")  # fills a buffer
        ended = subprocess.run(
            [sys.executable, "-m", "foveal", *args],
            stdout=pipe,
            stderr=subprocess.PIPE,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_standard_input_is_read_once_whatever_the_workers(folder: Path) -> None:
    other = (folder / "run").read_text().replace("mine", "other")
    for workers in ("1", "2"):
        done = foveal("evaluate", "-", "run", "-j", "qrels", "-m", "AP", "-w", workers, input=other)
        assert done.returncode == 0, done.stderr
        assert [line.split("\t")[0] for line in done.stdout.splitlines()[1:]] == ["other", "mine"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run", "-j", "qrels", "-t", "2009.Focused", "-t", "2008.Focused"), "one task at a time"),
        (("-", "-", "-j", "qrels", "-m", "AP"), "standard input can be read only once"),
        (("-", "-j", "-", "-m", "AP"), "standard input can be read only once"),
    ],
)
def test_what_can_be_given_once_is_refused_twice(
    folder: Path, args: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, "evaluate", *args)
    assert outcome.code == 2
    assert message in outcome.err


def test_results_are_utf8_whatever_the_terminal(folder: Path) -> None:
    (folder / "accent").write_text("toy Q0 D1 1 1 café 20 20\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "foveal", "evaluate", "accent", "-j", "qrels", "-m", "AP"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=folder,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert "café\tall\tAP" in done.stdout.decode()


@pytest.mark.parametrize(
    ("args", "read"),
    [
        (("evaluate", "run", "-j", "qrels", "-m", "AP", "-o", "qrels"), "qrels"),
        (("evaluate", "run", "-j", "qrels", "-m", "AP", "-o", "./run"), "run"),
        (("compare", "runs", "-j", "qrels", "-m", "AP", "-o", "runs/a"), "runs/a"),
        (("correlate", "saved.json", "-o", "saved.json"), "saved.json"),
    ],
)
def test_nothing_that_is_read_is_written_over(
    args: tuple[str, ...],
    read: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_toy(tmp_path)
    two = "t2 Q0 D1 30 100 10 10:30\nt2 Q0 D3 0 40\n"
    (tmp_path / "qrels").write_text((tmp_path / "qrels").read_text() + two)
    (tmp_path / "runs").mkdir()
    for name, start in (("a", 20), ("b", 0), ("c", 60)):
        lines = [f"{topic} Q0 D1 1 3 {name} {start} 20\n" for topic in ("toy", "t2")]
        (tmp_path / "runs" / name).write_text("".join(lines))
    scored = ("-j", "qrels", "-m", "charP", "-m", "charR", "-f", "json", "-o", "saved.json")
    assert call(capsys, "evaluate", *(f"runs/{name}" for name in "abc"), *scored).code == 0
    before = (tmp_path / read).read_bytes()
    outcome = call(capsys, *args)
    assert outcome.code == 2
    assert "is read by this command; choose another file to write" in outcome.err
    assert (tmp_path / read).read_bytes() == before
