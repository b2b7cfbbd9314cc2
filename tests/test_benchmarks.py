"""The benchmark's campaign is valid, repeatable, and the benchmark runs to its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.campaign import Files, Size
from benchmarks.generate import generate

import foveal

ROOT = Path(__file__).parent.parent
TINY = Size(topics=3, results=20, runs=2, documents=400, judged=30, short=50)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return generate(tmp_path_factory.mktemp("bench") / "tiny", TINY)


def test_sizes_are_as_asked(files: Files) -> None:
    runs = [foveal.read_run(path) for path in files.runs]
    assert [run.name for run in runs] == ["system01", "system02"]
    assert all(np.diff(run.bounds).tolist() == [20, 20, 20] for run in runs)
    assert len(foveal.read_run(files.short_run)) == 50
    judgements = foveal.read_judgements(files.judgements)
    assert len(judgements) == 3 * 30
    assert 0 < judgements.relevant.sum() < len(judgements)


def test_results_neither_overlap_nor_leave_their_document(files: Files) -> None:
    # iP refuses overlap, and results past the end of a judged document are always refused.
    results = foveal.evaluate(files.runs, files.judgements, ["iP@0.01", "AiP"])
    (unjudged,) = results.meta["warnings"]
    assert unjudged.startswith(
        "unjudged results count as not relevant; judged@10 on topics with results: system01 0.8"
    )
    assert all(0 < scores["iP@0.01"] <= 1 for scores in results.aggregate().values())


def test_documents_have_several_passages(files: Files) -> None:
    run = foveal.read_run(files.runs[0])
    assert len(np.unique(run.first)) < len(run)


def test_trec_files_hold_the_same_documents(files: Files) -> None:
    for passages, documents in zip(files.runs, files.document_runs, strict=True):
        run, ranking = foveal.read_run(passages), foveal.read_run(documents)
        heads = np.flatnonzero(run.first == np.arange(len(run)))
        assert ranking.doc.to_list() == run.doc.gather(heads).to_list()
    by_passages = foveal.evaluate(files.runs, files.judgements, "AP").aggregate()
    by_documents = foveal.evaluate(files.document_runs, files.document_judgements, "AP").aggregate()
    assert by_passages == by_documents


def test_same_seed_same_bytes(files: Files, tmp_path: Path) -> None:
    def content(root: Path) -> dict[str, bytes]:
        paths = (path for path in root.rglob("*") if path.is_file())
        return {str(path.relative_to(root)): path.read_bytes() for path in paths}

    assert content(generate(tmp_path / "again", TINY).root) == content(files.root)
    other = generate(tmp_path / "other", Size(**(vars(TINY) | {"seed": 1})))
    assert other.runs[0].read_bytes() != files.runs[0].read_bytes()


def test_files_that_are_there_are_not_overwritten(files: Files) -> None:
    with pytest.raises(FileExistsError):
        generate(files.root, TINY)


def test_too_few_documents_are_refused() -> None:
    with pytest.raises(ValueError, match="10 documents are too few"):
        Size(documents=10)


def test_benchmark_runs_to_its_end(tmp_path: Path) -> None:
    report = tmp_path / "RESULTS.md"
    sizes = ["--topics", "3", "--results", "20", "--runs", "2", "--repeats", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *sizes, "--output", str(report)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "| task | seconds | ratio | CPU seconds | peak MB |" in done.stdout
    assert "| `foveal evaluate` from the shell |" in done.stdout
    assert "120 passages" in done.stdout
    assert report.read_text() == done.stdout
    assert str(ROOT) not in done.stdout
