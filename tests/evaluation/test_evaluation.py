"""`foveal.Evaluation`: prepared once, scores any number of runs, travels to other processes."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from examples.make_crossings import CAMPAIGN

import foveal
from foveal.collection import build_index
from foveal.measures.alignment import Alignment, Overlap
from foveal.report.page import report_page

RUNS = sorted(str(path) for path in (CAMPAIGN / "runs").iterdir())
TRUTH = str(CAMPAIGN / "judgements.jsonl")
FOCUSED = {"task": "2009.Focused", "overlap": "drop"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("index") / "crossings.fvx"
    build_index(CAMPAIGN / "documents", place)
    return place


def test_runs_scored_one_by_one_are_an_evaluation_of_all(index: Path) -> None:
    expected = foveal.evaluate(RUNS, TRUTH, collection=index, **FOCUSED)
    evaluation = foveal.Evaluation(TRUTH, collection=index, **FOCUSED)
    for _ in range(2):  # results add nothing to the evaluation
        scores = [evaluation.score(run) for run in RUNS]
        assert evaluation.results(scores).to_json() == expected.to_json()


def test_it_can_be_pickled_and_takes_the_collection_by_its_path(index: Path) -> None:
    evaluation = foveal.Evaluation(TRUTH, collection=index, task="2006.Thorough")
    copied = pickle.loads(pickle.dumps(evaluation))
    assert str(index).encode() in pickle.dumps(evaluation)
    assert len(pickle.dumps(evaluation)) < 40 * Path(TRUTH).stat().st_size
    for run in RUNS[:3]:
        (own,), (other,) = evaluation.score(run), copied.score(run)
        np.testing.assert_array_equal(own.values, other.values)
    results = copied.results([copied.score(run) for run in RUNS[:3]])
    expected = foveal.evaluate(RUNS[:3], TRUTH, collection=index, task="2006.Thorough")
    assert results.to_json() == expected.to_json()


def test_a_copy_in_another_directory_finds_the_files_of_the_first(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CAMPAIGN)
    name = f"runs/{Path(RUNS[0]).name}"
    evaluation = foveal.Evaluation("judgements.jsonl", collection=index, **FOCUSED)
    (here,), pickled = evaluation.score(name), pickle.dumps(evaluation)
    monkeypatch.chdir(tmp_path)
    copied = pickle.loads(pickled)
    (there,) = copied.score(name)
    assert there.source == here.source
    np.testing.assert_array_equal(there.values, here.values)
    with pytest.raises(foveal.InputError) as caught:
        copied.score("runs/none.run")
    assert caught.value.problems[0].file == "runs/none.run"


def test_a_run_is_aligned_with_the_judgements_of_each_assessor() -> None:
    spans = {"length": 50, "spans": [(0, 10)]}
    truth = foveal.judgements_of(
        [
            {"topic": "1", "doc": "d", "start": 0, "end": 10, "assessor": "ann"},
            {"topic": "1", "doc": "d", "start": 5, "end": 30, "assessor": "bob"},
        ]
    )
    run = foveal.Run.from_results({"1": [("d", 0, 20)]}, name="mine")
    evaluation = foveal.Evaluation(truth, "charR", assessors="each")
    aligned = evaluation.align(run)
    assert list(evaluation.assessors) == ["ann", "bob"]
    assert [int(own.alignment().rsize.sum()) for own in aligned] == [10, 15]
    results = evaluation.results([evaluation.score(run)])
    assert results.aggregate() == {"mine[ann]": {"charR": 1.0}, "mine[bob]": {"charR": 0.6}}
    assert foveal.Evaluation({"1": {"d": spans}}, "charR").score(run)[0].values.tolist() == [[1.0]]


def test_each_view_of_overlap_is_made_once() -> None:
    truth = foveal.Judgements.from_highlights({"1": {"d": {"length": 90, "spans": [(0, 40)]}}})
    run = foveal.Run.from_results({"1": [("d", 0, 20), ("d", 10, 30), ("d", 50, 60)]})
    (aligned,) = foveal.Evaluation(truth, "charP", overlap="allow").align(run)
    sizes = {overlap: aligned.alignment(overlap).size.tolist() for overlap in Overlap}
    assert sizes == {
        Overlap.UNCHANGED: [20, 20, 10],
        Overlap.UNION: [20, 10, 10],
        Overlap.DISJOINT: [20, 10],
        Overlap.FIRST_PER_DOCUMENT: [20],
        Overlap.COUNT_REPEATS: [20, 20, 10],
    }
    for overlap in Overlap:
        assert aligned.alignment(overlap) is aligned.alignment(overlap)


def test_a_report_aligns_each_run_once_for_each_view(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    init = Alignment.__init__

    def counting(self: Alignment, run: foveal.Run, *args: object) -> None:
        made.append(run.name)
        init(self, run, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Alignment, "__init__", counting)
    with ThreadPoolExecutor(1) as executor:
        report_page(RUNS, TRUTH, collection=index, executor=executor, **FOCUSED)
    names = {foveal.read_run(run).name for run in RUNS}
    assert set(made) == names
    assert {made.count(name) for name in names} == {1, 2}  # all results, and those left by `drop`


def test_scores_of_no_run_are_refused() -> None:
    evaluation = foveal.Evaluation({"1": [("d", 0, 9)]}, "charR")
    with pytest.raises(foveal.UsageError, match="no run given"):
        evaluation.results([])
    with pytest.raises(foveal.UsageError, match="no measure given"):
        foveal.Evaluation({"1": [("d", 0, 9)]})


@pytest.mark.parametrize("given", [{"1": [("d", 0, 4)]}, None, 3])
def test_a_run_that_is_not_one_is_refused(given: object) -> None:
    evaluation = foveal.Evaluation({"1": [("d", 0, 9)]}, "charR")
    with pytest.raises(foveal.UsageError, match=r"foveal\.run_of"):
        evaluation.score(given)  # type: ignore[arg-type]


def test_scores_of_another_evaluation_are_refused() -> None:
    truth, run = {"1": [("d", 0, 9)]}, foveal.Run.from_results({"1": [("d", 0, 4)]})
    evaluation = foveal.Evaluation(truth, "charR")
    other = foveal.Evaluation(truth, ["charR", "charP"])
    for wrong in (evaluation.score(run), [other.score(run)]):
        with pytest.raises(foveal.UsageError, match="one item per run"):
            evaluation.results(wrong)  # type: ignore[arg-type]
