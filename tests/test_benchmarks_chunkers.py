"""The benchmark of chunkers scores what it says."""

from __future__ import annotations

from argparse import Namespace

import pytest
from benchmarks.chunkers import LENGTHS, TASKS, campaign, main, outcome

import foveal


def test_the_campaign_is_of_the_size_asked_for() -> None:
    highlights, runs = campaign(6, 10, 12)
    assert len(highlights) == 6
    assert len(runs) == 10
    assert runs["chunks200-100"] != runs["chunks200-0"]
    for found in runs.values():
        assert [len(chunks) for chunks in found.values()] == [12] * 6
        for doc, start, end in (chunk for chunks in found.values() for chunk in chunks):
            assert 0 <= start < end <= LENGTHS[int(doc[1:])]
    assert campaign(6, 10, 12) == (highlights, runs)
    truth = foveal.Judgements.from_highlights(highlights)
    run = foveal.Run.from_results(runs["chunks500-0"], name="mine")
    assert 0 < foveal.evaluate(run, truth, "charR")["mine", "charR"] <= 1


def test_every_task_does_its_work() -> None:
    inputs = campaign(4, 2, 5)
    results = TASKS["evaluate"](*inputs)()
    assert isinstance(results, foveal.Results)
    assert len(results.runs) == 2
    curves = TASKS["budgets"](*inputs)()
    assert len(curves.results.runs) == 2
    assert len(curves.results.measures) == 20
    assert len(TASKS["ir_measures"](*inputs)()) == 2


@pytest.mark.parametrize(("cpu", "verdict"), [(0.99, "0.99 | met |"), (1.01, "1.01 | not met |")])
def test_the_aim_is_a_second(cpu: float, verdict: str) -> None:
    seconds = {"evaluate": (2.0, cpu), "budgets": (0.1, 0.1), "ir_measures": (0.5, 0.5)}
    times = {name: [{"inside": a, "inside_cpu": b}] for name, (a, b) in seconds.items()}
    options = Namespace(questions=472, chunkers=16, results=50, repeats=1)
    report = outcome(times, options, 0.1).markdown()
    assert f"| `foveal.evaluate` | under 1 CPU s | {verdict}\n" in report
    assert f"| 2.000 | {cpu:.3f} | {cpu / 0.5:.2f} |" in report
    assert "377,600 results" in report


@pytest.mark.parametrize("wrong", [["--questions", "0"], ["--chunkers", "99"], ["--repeats", "0"]])
def test_sizes_that_make_no_sense_are_refused(wrong: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(wrong)
