"""Completion in Python, printed results, and messages for those who use Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import foveal
from command import QRELS, RUN, call


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
    with pytest.raises(foveal.UsageError, match="a rank cut-off") as caught:
        foveal.evaluate(*inputs, "P")
    outcome = call(capsys, "evaluate", inputs[0], "-j", inputs[1], "-m", "P")
    assert outcome.err == f"foveal: {caught.value}\n"
    with pytest.raises(foveal.InputError, match="--collection INDEX") as missing:
        foveal.evaluate(*inputs, "nxCG@1")
    outcome = call(capsys, "evaluate", inputs[0], "-j", inputs[1], "-m", "nxCG@1")
    assert outcome.err == f"{missing.value}\n"


def test_plot_names_the_unknown_graph(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "plot", "foo", "my.run", "-o", "x.svg")
    assert outcome.code == 2
    assert "'foo'" in outcome.err
    assert "nxcg" in outcome.err
