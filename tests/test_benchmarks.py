"""Every benchmark runs to its end at a tiny size, on files that are good."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.__main__ import BENCHMARKS
from benchmarks.campaign import KINDS, Size
from benchmarks.generate import generate
from benchmarks.outcome import Outcome
from benchmarks.passages import PRESETS

import foveal
from benchmark_commands import ROOT, benchmark

RUNS = ["--topics=3", "--results=20", "--runs=2", "--repeats=1"]
TINY = {
    "passages": [*RUNS, "--kinds=2"],
    "rankings": ["--topics=4", "--results=30", "--documents=500", "--judged=20", "--repeats=1"],
    "starting": ["--short=200", "--judged=20", "--repeats=1"],
    "larger": ["--topics=15", "--results=100", "--judged=20", "--memory=20K"],
    "growth": ["--runs=20", "--divide=10", "--points=2", "--only=judged", "--repeats=1"],
    "scaling": RUNS,
    "structure": [
        *("--topics=2", "--results=20", "--runs=1", "--documents=60", "--judged=10"),
        *("--relevant=5", "--points=0", "--only=focused_gen5", "--repeats=1"),
    ],
    "t2i": ["--results=1000", "--points=2", "--repeats=1"],
    "assess_load": ["--assessors=2", "--rate=120", "--minutes=0.04"],
}


@pytest.mark.untraced
@pytest.mark.parametrize("module", TINY)
def test_a_benchmark_runs_to_its_end(module: str, tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    done = benchmark(f"benchmarks.{module}", *TINY[module], "--json", str(raw))
    found = Outcome.from_json(raw.read_text())
    assert found.measurements
    assert found.markdown() == done.stdout
    assert str(ROOT) not in done.stdout


@pytest.mark.untraced
def test_one_command_writes_one_report(tmp_path: Path) -> None:
    output = tmp_path / "out" / "report.md"
    options = ("--short", "--repeats", "1", "--only", "indexing,chunkers", "--output", str(output))
    done = benchmark("benchmarks", *options)
    assert output.read_text() == done.stdout
    assert "\n## Chunkers\n" in done.stdout
    assert set(BENCHMARKS) >= {"indexing", "chunkers"}


def test_runs_are_what_their_task_asks_for(tmp_path: Path) -> None:
    size = Size(topics=3, results=20, runs=2, documents=400, judged=30, short=50)
    files = generate(tmp_path / "campaign", size)
    for kind in KINDS:
        results = foveal.evaluate(files.runs_of(kind), files.judgements, task=PRESETS[kind])
        assert np.isfinite(results.overall).all()
