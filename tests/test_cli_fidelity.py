"""``foveal simulate`` and ``foveal fidelity``: files and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

import toy_elements
from command import QRELS, assert_refused, call
from foveal.collection import build_index

OTHER = "two Q0 D1 30 100 0 0:30\ntwo Q0 D2 20 50 0 5:20\ntwo Q0 D3 0 40\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy collection with two topics of two relevant documents."""
    monkeypatch.chdir(tmp_path)
    build_index(toy_elements.write_documents(tmp_path), tmp_path / "index")
    (tmp_path / "qrels").write_text(QRELS + OTHER)
    return tmp_path


# -- simulate ------------------------------------------------------------------------------------


def test_the_files_can_be_evaluated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also without the collection: results are offsets."""
    call(capsys, "simulate", "-j", "qrels", "-C", "index", "-o", "made")
    files = [str(path) for path in sorted((folder / "made").iterdir())]
    by_offset = call(capsys, "evaluate", *files, "-j", "qrels", "-t", "2006.RelevantInContext")
    assert by_offset.code == 0, by_offset.err
    placed = call(
        capsys, "evaluate", *files, "-j", "qrels", "-t", "2006.RelevantInContext", "-C", "index"
    )
    assert placed.out == by_offset.out
    assert "SR\tall\tAgP\t1.0" in by_offset.out.splitlines()


def test_without_an_index(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "simulate", "-j", "qrels", "-o", "made")
    assert outcome.code == 0
    assert outcome.err == (
        "warning: no collection (--collection): runs of SL, SS, SST are left out\n"
        "8 runs of 2 topics written to made\n"
    )
    assert len(list((folder / "made").iterdir())) == 8


def test_nothing_of_others_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "made").mkdir()
    (folder / "made" / "thesis.tex").write_text("precious")
    outcome = call(capsys, "simulate", "-j", "qrels", "-o", "made")
    assert outcome.code == 2
    assert outcome.err.startswith("made: the folder holds 'thesis.tex'")
    assert [p.name for p in (folder / "made").iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_used_is_refused_before_anything_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "made").write_text("")
    outcome = call(capsys, "simulate", "-j", "nowhere", "-o", "made")
    assert_refused(outcome, "made: is a file; expected a folder for several files")


# -- fidelity ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-m", "AgP", "--snap"], "--snap would change the simulated runs"),
        (["-m", "AgP", "--max-results", "9"], "--max-results would change the simulated runs"),
        (["-m", "BEPD", "-m", "AgP"], "BEPD takes one result of each document"),
    ],
)
def test_what_makes_a_trial_unfair_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    outcome = call(capsys, "fidelity", "-j", "qrels", "-C", "index", "-o", "out", *args)
    assert_refused(outcome, f"foveal: {message}")


def test_without_an_index_s_and_sld_are_tried(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, "fidelity", "-j", "qrels", "-m", "AgP")
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 1 + 4 + 8
    assert "runs of SL, SS, SST are left out" in outcome.err


def test_wrong_use(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_refused(
        call(capsys, "fidelity", "-m", "AP"), "foveal: no judgements given (--judgements)"
    )
    outcome = call(capsys, "fidelity", "-j", "qrels", "-m", "noSuch@10")
    assert outcome.code == 2
