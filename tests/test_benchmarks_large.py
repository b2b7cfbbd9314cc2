"""The benchmarks of rankings, of one short run and of runs larger than memory."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from benchmarks import larger, ranking_files, rankings, starting
from benchmarks.large_run import LargeSize
from benchmarks.large_run import generate as generate_large
from benchmarks.outcome import Outcome

import foveal
from benchmark_commands import ROOT, benchmark

TINY = ["--topics=4", "--results=30", "--documents=500", "--judged=20", "--repeats=1"]


def rows(found: Outcome) -> dict[str, list[str]]:
    """Return the cells of the only table, by its first column."""
    (table,) = found.tables
    return {row[0]: list(row[1:]) for row in table.rows}


def test_rankings_have_the_same_scores_by_both_programs(tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    done = benchmark("benchmarks.rankings", *TINY, "--json", str(raw))
    found = Outcome.from_json(raw.read_text())
    assert set(found.measurements) == {"polars", "foveal", "pytrec_eval"}
    assert any(
        fact.startswith("16 scores of both programs differ by at most") for fact in found.facts
    )
    assert found.aims[0].text == "CPU time, Foveal / pytrec_eval"
    assert "The aim is set for the default size." in done.stdout


def test_different_scores_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = ranking_files.RankingSize(topics=2, results=20, documents=500, judged=10)
    files = ranking_files.generate(tmp_path / "rankings", size)
    assert "differ by at most" in rankings.compare_scores(files)
    first = files.document_runs[0]
    scores = rankings.score_by_pytrec_eval(files.document_judgements, first)
    scores["1"]["map"] += 1e-6
    monkeypatch.setattr(rankings, "score_by_pytrec_eval", lambda *_: scores)
    with pytest.raises(RuntimeError, match="differs from that of pytrec_eval by 1e-06"):
        rankings.compare_scores(files)
    scores["1"]["map"] = math.nan
    with pytest.raises(RuntimeError, match="by nan"):
        rankings.compare_scores(files)
    monkeypatch.setattr(rankings, "score_by_pytrec_eval", lambda *_: {"1": scores["1"]})
    with pytest.raises(RuntimeError, match="different topics"):
        rankings.compare_scores(files)


def test_a_short_run_is_compared_with_an_earlier_checkout(tmp_path: Path) -> None:
    program = tmp_path / "before" / ".venv" / "bin" / "foveal"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m foveal "$@"\n')
    program.chmod(0o755)
    raw = tmp_path / "raw.json"
    sizes = ["--short=200", "--judged=20", "--repeats=1", "--json", str(raw)]
    benchmark("benchmarks.starting", *sizes)
    alone = Outcome.from_json(raw.read_text())
    assert set(alone.measurements) == {"imports", "now"}
    assert not alone.aims
    done = benchmark("benchmarks.starting", *sizes, "--before", str(tmp_path / "before"))
    found = Outcome.from_json(raw.read_text())
    assert set(found.measurements) == {"imports", "now", "before"}
    assert len(found.aims) == 2
    assert rows(found)["the same, by the earlier checkout"][1] == "1.00"
    assert str(ROOT) not in done.stdout


def test_an_earlier_checkout_without_a_program_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        starting.main(["--before", str(tmp_path)])
    assert "--before: no .venv/bin/foveal in this checkout" in capsys.readouterr().err


def test_a_run_larger_than_memory_is_measured_with_and_without_a_limit(tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    sizes = ["--topics=15", "--results=100", "--judged=20", "--memory=20K", "--json", str(raw)]
    benchmark("benchmarks.larger", *sizes)
    found = Outcome.from_json(raw.read_text())
    assert set(found.measurements) == {"imports", "limited", "at once"}
    assert found.facts[0].startswith("15 topics x 100 results: 1,500 passages")
    (aim,) = found.aims
    (limited,), (imports,) = (found.measurements[name] for name in ("limited", "imports"))
    assert aim.value == pytest.approx(limited["megabytes"] / (imports["megabytes"] + 0.02048))


def test_a_large_run_is_written_in_pieces_and_can_be_scored(tmp_path: Path) -> None:
    # More topics than a piece holds.
    size = LargeSize(topics=23, results=50, documents=1000, judged=20)
    files = generate_large(tmp_path / "large", size)
    (path,) = files.runs
    run = foveal.read_run(path)
    assert len(run) == size.lines
    assert len(run.topics) == 23
    assert not run.notes
    assert foveal.evaluate(path, files.judgements, "AiP").overall[0, 0] > 0


@pytest.mark.parametrize("wrong", ["500", "much", "M", ""])
def test_a_memory_that_is_not_a_size_is_refused(
    wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        larger.main(["--memory", wrong])
    assert "--memory must be a size such as 500M" in capsys.readouterr().err


def test_passages_alone(tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    sizes = ["--topics=3", "--results=20", "--runs=2", "--kinds=1", "--repeats=1"]
    benchmark("benchmarks.passages", *sizes, "--campaign-only", "--json", str(raw))
    found = Outcome.from_json(raw.read_text())
    assert set(found.measurements) == {"polars context", "measures", "2009.RelevantInContext"}
    assert len(found.tables) == 1
