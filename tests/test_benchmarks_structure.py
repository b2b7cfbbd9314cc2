"""The campaign of trees is what it says, and the benchmark of structure runs to its end."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks.structure_tasks import FAMILIES, READINGS, work
from benchmarks.tree_campaign import Files, Size
from benchmarks.trees import DEPTH, generate

import foveal
from benchmark_commands import ROOT, benchmark
from foveal.collection import Collection

TINY = Size(topics=3, results=30, runs=4, documents=80, elements=40, relevant=8, judged=15)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return generate(tmp_path_factory.mktemp("bench") / "tiny", TINY)


def test_sizes_are_as_asked(files: Files) -> None:
    for path in (*files.runs, *files.entries):
        assert np.diff(foveal.read_run(path).bounds).tolist() == [30, 30, 30]
    assert len(files.runs) == len(files.entries) == len(files.submissions) == 4
    judgements = foveal.read_judgements(files.judgements)
    assert len(judgements) == 3 * 15
    assert judgements.relevant.sum() == (judgements.bep >= 0).sum() == 3 * 8
    collection = Collection.open(files.index)
    assert len(collection) == 80
    assert 20 * 80 <= collection.elements <= 80 * 80
    assert 4 <= collection.path_depths().max() <= DEPTH + 1


def test_assessments_say_what_the_collection_says(files: Files) -> None:
    # Sizes are counted by the generator; a collection counts them again from the documents.
    judgements = foveal.read_judgements(files.judgements)
    elements, collection = judgements.elements, Collection.open(files.index)
    assert elements is not None
    docs = judgements.doc.gather(elements["row"])
    found = collection.resolve(docs, elements["xpath"])
    assert not found.problem
    assert (found.end - found.start).tolist() == elements["size"].to_list()
    assert (elements["rsize"] > 0).all()
    assert (elements["rsize"] <= elements["size"]).all()
    measures = ["MAep(overlap=on)", "nxCG(quant=gen5)@10", "FBelement(quant=strict5)"]
    scores = {
        recompute: foveal.evaluate(
            files.runs, files.judgements, measures, collection=files.index, recompute=recompute
        ).aggregate()
        for recompute in (False, True)
    }
    assert scores[False] == scores[True]


def test_all_elements_with_highlighted_text_are_assessed(files: Files) -> None:
    thorough = ["MAep", "nxCG(quant=strict5)@10"]
    alone = foveal.evaluate(files.runs, files.judgements, thorough)
    with_collection = foveal.evaluate(
        files.runs, files.judgements, thorough, collection=files.index
    )
    assert alone.aggregate() == with_collection.aggregate()
    assert 0 < alone.aggregate()["thorough01"]["MAep"] < 1


def test_exhaustivity_never_grows_downwards(files: Files) -> None:
    elements = foveal.read_judgements(files.judgements).elements
    assert elements is not None
    grades = elements.filter(pl.col("exhaustivity") != "?").select(
        "row", "xpath", own=pl.col("exhaustivity").cast(pl.Int64)
    )
    above = pl.col("xpath").str.replace(r"/[^/]*$", "")
    both = grades.with_columns(above=above).join(
        grades, left_on=["row", "above"], right_on=["row", "xpath"], suffix="_above"
    )
    assert len(both) > 20
    assert (both["own"] <= both["own_above"]).all()
    assert set(elements["exhaustivity"]) == {"1", "2", "?"}


def test_runs_are_of_the_character_they_claim(files: Files) -> None:
    runs = {path.stem: foveal.read_run(path) for path in files.runs}
    assert list(runs) == ["browse01", "focused01", "noisy01", "thorough01"]
    measure = "SetOverlap"
    shares = foveal.evaluate(files.runs, files.judgements, measure, collection=files.index)
    overlap = {run: scores[measure] for run, scores in shares.aggregate().items()}
    assert overlap["focused01"] == 0 < overlap["thorough01"]
    assert len(runs["browse01"].documents.reopened_rows) == 0
    assert len(runs["thorough01"].documents.reopened_rows) > 0
    for name, run in runs.items():
        assert run.score is not None
        steps = [np.diff(run.score[low:high]) for low, high in pairwise(run.bounds.tolist())]
        assert (np.concatenate(steps) <= 0).all()
        if name == "noisy01":
            assert (np.concatenate(steps) == 0).any()


def test_entry_points_are_one_per_document(files: Files) -> None:
    for path in files.entries:
        assert not len(foveal.read_run(path).repeats)


def test_both_formats_hold_the_same_results(files: Files) -> None:
    for path in files.submissions:
        xml, fields = (
            foveal.read_run(path),
            foveal.read_run(path.parent.parent / "elements" / f"{path.stem}.run"),
        )
        for name in ("doc", "xpath"):
            assert getattr(xml, name).to_list() == getattr(fields, name).to_list()
        assert xml.score is not None
        assert fields.score is not None
        assert xml.score.tolist() == fields.score.tolist()


def test_same_seed_same_bytes(files: Files, tmp_path: Path) -> None:
    def content(root: Path) -> dict[str, bytes]:
        paths = (path for path in root.rglob("*") if path.is_file() and path != Files(root).index)
        return {str(path.relative_to(root)): path.read_bytes() for path in paths}

    assert content(generate(tmp_path / "again", TINY).root) == content(files.root)
    other = generate(tmp_path / "other", Size(**(vars(TINY) | {"seed": 1})))
    assert other.runs[0].read_bytes() != files.runs[0].read_bytes()


def test_files_that_are_there_are_not_overwritten(files: Files) -> None:
    with pytest.raises(FileExistsError):
        generate(files.root, TINY)


def test_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="10 documents are too few"):
        Size(documents=10)
    with pytest.raises(ValueError, match="600 relevant documents, but only 500 judged"):
        Size(relevant=600)


@pytest.mark.parametrize("name", [*READINGS, *FAMILIES])
def test_every_task_has_its_work(files: Files, name: str) -> None:
    done = work(name, files)()
    if name in FAMILIES:
        assert isinstance(done, foveal.Results)
        assert np.isfinite(done.overall).all()
        again = work(name, files, read_before=True)()
        assert isinstance(again, foveal.Results)
        assert again.aggregate() == done.aggregate()


def test_benchmark_runs_to_its_end(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    sizes = [f"--{name}={value}" for name, value in vars(TINY).items()]
    only = ["--only", "thorough_spec", "--points", "0"]
    done = benchmark("benchmarks.structure", *sizes, *only, "--output", str(report))
    head = "| task | seconds | CPU seconds | of Polars | of reading | alone | peak MB |"
    assert head in done.stdout
    assert "| Thorough XCG, `quant=spec` |" in done.stdout
    assert "3 topics x 30 results x 4 runs of elements, 360 in all; 80 documents" in done.stdout
    assert report.read_text() == done.stdout
    assert str(ROOT) not in done.stdout
