"""The benchmark's campaign is valid, repeatable, and the benchmark runs to its end."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from benchmarks.campaign import KINDS, Files, Size
from benchmarks.generate import generate
from benchmarks.guard import BOUND, ratio
from benchmarks.outcome import Outcome
from benchmarks.passages import PRESETS
from benchmarks.processes import measure
from benchmarks.references import MissingError, official, trec_eval_on

import foveal
from benchmark_commands import ROOT, benchmark, environment

TINY = Size(topics=3, results=20, runs=2, documents=400, judged=30, short=50)
MEASURES = {
    "context": ["iP@0.01", "AgP"],
    "focused": ["iP@0.01", "AiP"],
    "entries": ["AgP(score=BEP)"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return generate(tmp_path_factory.mktemp("bench") / "tiny", TINY)


def test_sizes_are_as_asked(files: Files) -> None:
    for kind in KINDS:
        runs = [foveal.read_run(path) for path in files.runs_of(kind)]
        assert [run.name for run in runs] == ["system0001", "system0002"]
        assert all(np.diff(run.bounds).tolist() == [20, 20, 20] for run in runs)
        for run in runs:
            assert run.score is not None
            assert all((np.diff(run.score[low : low + 20]) <= 0).all() for low in (0, 20, 40))
    assert len(foveal.read_run(files.short_run)) == 50
    judgements = foveal.read_judgements(files.judgements)
    assert len(judgements) == 3 * 30
    assert 0 < judgements.relevant.sum() < len(judgements)


@pytest.mark.parametrize("kind", MEASURES)
def test_runs_are_what_their_task_asks_for(files: Files, kind: str) -> None:
    # iP refuses overlap, AgP results of a document that are not together, and with best entry
    # points a second result of one; results past the end of a judged document are always refused.
    results = foveal.evaluate(files.runs_of(kind), files.judgements, MEASURES[kind])
    (unjudged,) = results.meta["warnings"]
    assert unjudged.startswith("unjudged results count as not relevant; judged@10 on topics with")
    for scores in results.aggregate().values():
        assert all(0 < value <= 1 for value in scores.values())
    results = foveal.evaluate(files.runs_of(kind), files.judgements, task=PRESETS[kind])
    assert np.isfinite(results.overall).all()


def test_kinds_differ_in_what_they_are_named_for(files: Files) -> None:
    with pytest.raises(foveal.InputError, match="interleaved"):
        foveal.evaluate(files.runs_of("focused"), files.judgements, "AgP")
    with pytest.raises(foveal.InputError, match="overlap"):
        foveal.evaluate(files.runs_of("thorough"), files.judgements, "iP@0.01")
    foveal.evaluate(files.runs_of("thorough"), files.judgements, task=PRESETS["thorough"])
    for path in files.runs_of("entries"):
        run = foveal.read_run(path)
        assert len(np.unique(run.first)) == len(run)
    for kind in ("context", "focused", "thorough"):
        run = foveal.read_run(files.runs_of(kind)[0])
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
    shared = generate(tmp_path / "shared", TINY, workers=2)
    assert content(shared.root) == content(files.root)
    other = generate(tmp_path / "other", Size(**(vars(TINY) | {"seed": 1})))
    assert other.runs[0].read_bytes() != files.runs[0].read_bytes()


def test_files_that_are_there_are_not_overwritten(files: Files) -> None:
    with pytest.raises(FileExistsError):
        generate(files.root, TINY)


def test_too_few_documents_are_refused() -> None:
    with pytest.raises(ValueError, match="10 documents are too few"):
        Size(documents=10)


def test_kinds_that_there_are_not_are_refused() -> None:
    with pytest.raises(ValueError, match="5 kinds of runs, but there are 4"):
        Size(kinds=5)


# -- the benchmark -----------------------------------------------------------------------------

COUNTS_LINES = """
import java.nio.file.*;

public class CountsLines {
    public static void main(String[] arguments) throws Exception {
        if (!arguments[0].equals("-f")) System.exit(3);
        for (int i = 1; i < arguments.length; i++)
            System.out.println(arguments[i] + Files.readAllLines(Path.of(arguments[i])).size());
    }
}
"""


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Java program that takes what the official evaluator takes, and reads it."""
    if shutil.which("javac") is None or shutil.which("jar") is None:
        pytest.skip("javac and jar are not installed, which make a Java program to compare with")
    folder = tmp_path_factory.mktemp("java")
    (folder / "CountsLines.java").write_text(COUNTS_LINES)
    subprocess.run(["javac", "CountsLines.java"], cwd=folder, check=True)
    pack = ["jar", "--create", "--file=counts.jar", "--main-class=CountsLines", "CountsLines.class"]
    subprocess.run(pack, cwd=folder, check=True)
    return folder / "counts.jar"


def test_the_official_evaluator_is_called_as_it_is_documented(
    files: Files, jar: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FOVEAL_OFFICIAL_JAR", str(jar))
    command = official("-f", files.judgements, files.runs_of("focused"))
    said = subprocess.run(command.arguments, capture_output=True, text=True, check=True).stdout
    runs = "".join(f"{path}60\n" for path in files.runs_of("focused"))
    assert said == f"{files.judgements}90\n{runs}"
    monkeypatch.setenv("FOVEAL_OFFICIAL_CLASS", "CountsLines")
    by_class = official("-f", files.judgements, files.runs_of("focused")).arguments
    assert list(by_class[1:4]) == ["-cp", str(jar), "CountsLines"]
    wrong = official("-x", files.judgements, files.runs_of("focused"))
    with pytest.raises(RuntimeError, match="ended with 3"):
        measure(wrong, os.environ)


def test_what_is_not_there_is_said(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREC_EVAL", "no-such-program")
    with pytest.raises(MissingError, match="TREC_EVAL may name it"):
        trec_eval_on(files.document_judgements, files.document_runs)
    monkeypatch.delenv("FOVEAL_OFFICIAL_JAR", raising=False)
    with pytest.raises(MissingError, match="FOVEAL_OFFICIAL_JAR may name its jar"):
        official("-f", files.judgements, files.runs)
    monkeypatch.setenv("FOVEAL_OFFICIAL_JAR", "no-such.jar")
    with pytest.raises(MissingError, match="names no file"):
        official("-f", files.judgements, files.runs)


def test_benchmark_runs_to_its_end(jar: Path, tmp_path: Path) -> None:
    report, raw, program = (tmp_path / name for name in ("RESULTS.md", "raw.json", "trec_eval"))
    program.write_text('#!/bin/sh\n[ "$1 $2 $3 $4" = "-m map -m P.10" ] && cat "$5" "$6"\n')
    program.chmod(0o755)
    sizes = ["--topics=3", "--results=20", "--runs=2", "--kinds=2", "--repeats=1"]
    done = benchmark(
        *("benchmarks.passages", *sizes, "--output", str(report), "--json", str(raw)),
        variables={"FOVEAL_OFFICIAL_JAR": str(jar), "TREC_EVAL": str(program)},
    )
    head = "| task | seconds | of reading | CPU seconds | of reading | peak MB | processes |"
    assert head in done.stdout
    rows = [f"`foveal evaluate -t {PRESETS[kind]}`" for kind in KINDS[:2]]
    rows += ["ir_measures, the same", "trec_eval, map and P.10", "the official Java evaluator"]
    for row in rows:
        assert f"\n| {row}" in done.stdout
    assert "120 passages of a kind" in done.stdout
    assert "Not compared" not in done.stdout
    assert "The aims are set for the default size." in done.stdout
    assert report.read_text() == done.stdout
    assert str(ROOT) not in done.stdout
    found = Outcome.from_json(raw.read_text())
    assert found.markdown() == done.stdout
    assert all(own["megabytes"] > 5 for reports in found.measurements.values() for own in reports)


# -- what a build watches ----------------------------------------------------------------------


def test_scoring_has_not_become_much_slower_than_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    # CPU seconds, the least of several: another process on the machine makes neither of them less.
    found = ratio()
    assert found["ratio"] < BOUND, f"scoring took {found['ratio']:.1f} times reading, see README"
