"""Completion in Python and in shells, printed results, and messages for those who use Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import foveal
from command import QRELS, RUN, call

BASH = shutil.which("bash")


def test_python_completes_public_names() -> None:
    assert set(foveal.__all__) <= set(dir(foveal))
    fresh = subprocess.run(
        [sys.executable, "-c", "import foveal; print(*dir(foveal))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"evaluate", "read_run", "Judgements"} <= set(fresh.stdout.split())
    assert "TYPE_CHECKING" not in fresh.stdout.split()


def complete(*words: str) -> list[str]:
    """What bash is offered for the last word."""
    environment = {
        **os.environ,
        "_FOVEAL_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["foveal", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "foveal"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("eva",), "plain,evaluate"),
        (("evaluate", "--over"), "plain,--overlap"),
        (("evaluate", "--overlap", "dr"), "plain,drop"),
        (("evaluate", "my.run", "-m", "char"), "plain,charP"),
        (("evaluate", "my.run", "-t", "2009.F"), "plain,2009.Focused"),
        (("evaluate", "my"), "file,my"),
        (("plot", "g"), "plain,gain"),
        (("measures", "Ai"), "plain,AiP"),
        (("assess", "ser"), "plain,serve"),
        (("assess", "serve", "my"), "file,my"),
    ],
)
def test_shells_complete(words: tuple[str, ...], offered: str) -> None:
    assert offered in complete(*words)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_completion_script_that_cannot_be_written_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "foveal"],
            env={**os.environ, "_FOVEAL_COMPLETE": "bash_source"},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)


@pytest.mark.skipif(BASH is None, reason="no bash")
def test_the_completion_script_works_in_bash(tmp_path: Path) -> None:
    script = (
        'eval "$(_FOVEAL_COMPLETE=bash_source foveal)"\n'
        "COMP_WORDS=(foveal evaluate my.run -m charP) COMP_CWORD=4\n"
        '_foveal_completion foveal\necho "${COMPREPLY[@]}"\n'
    )
    folder = str(Path(sys.executable).parent)
    done = subprocess.run(
        [str(BASH), "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["charP"]


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    return tmp_path


def test_printed_results_are_a_table(toy: Path) -> None:
    results = foveal.evaluate(toy / "run", toy / "qrels", ["charP", "charR", "num_ret"])
    header, _, row = str(results).splitlines()
    assert header.split() == ["run", *results.measures]
    assert row.split()[0] == "mine"
    assert float(row.split()[1]) == pytest.approx(results["mine", "charP"], abs=5e-5)
    assert repr(results).startswith("<Results: ")


def test_errors_in_python_are_those_of_commands(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = (str(toy / "run"), str(toy / "qrels"))
    with pytest.raises(foveal.UsageError, match=r"measures \(--measure\)") as caught:
        foveal.evaluate(*inputs)
    outcome = call(capsys, "evaluate", inputs[0], "-j", inputs[1])
    assert outcome.err == f"foveal: {caught.value}\n"
    with pytest.raises(foveal.InputError, match="--collection INDEX") as missing:
        foveal.evaluate(*inputs, "nxCG@1")
    outcome = call(capsys, "evaluate", inputs[0], "-j", inputs[1], "-m", "nxCG@1")
    assert outcome.err == f"{missing.value}\n"


def test_plot_names_the_unknown_graph(capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("my.run", "-o", "x.svg")):
        outcome = call(capsys, "plot", "foo", *more)
        assert outcome.code == 2
        assert "'foo'" in outcome.err
        assert "nxcg" in outcome.err
