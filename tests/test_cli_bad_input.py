"""Bad input: exit code 2, ``file:line: message``, nothing written, never a traceback."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from command import RUN, assert_refused, call, evaluate, write_toy


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with good judgements in qrels and a good run in run."""
    monkeypatch.chdir(tmp_path)
    return write_toy(tmp_path)


def test_two_runs_of_one_name_are_refused_unless_their_stems_differ(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a/x.run", "b/x.run", "b/y.run"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(RUN)
    outcome = evaluate(capsys, "a/x.run", "b/x.run", "-j", "qrels", "-m", "AP")
    assert_refused(outcome, "b/x.run: run name 'x' is already used by a/x.run")
    outcome = call(capsys, "evaluate", "a/x.run", "b/y.run", "-j", "qrels", "-m", "AP", "-f", "tsv")
    assert [line.split("\t")[0] for line in outcome.out.splitlines()[1:]] == ["x", "y"]


def test_unreadable_files_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = gzip.compress(b"".join(b"toy Q0 D%d 1 1 mine 0 9\n" % i for i in range(9999)))
    (folder / "latin").write_bytes(RUN.encode() + b"toy Q0 caf\xe9 1 1 mine 0 9\n")
    (folder / "short.gz").write_bytes(packed[: len(packed) // 2])
    (folder / "damaged.gz").write_bytes(packed[:20] + bytes(len(packed) - 20))
    for name, message in (
        ("latin", "latin:3: byte 0xe9 is not valid UTF-8; expected UTF-8 text"),
        ("short.gz", "short.gz:"),
        ("damaged.gz", "damaged.gz: damaged gzip data: "),
        ("missing", "missing: no such file"),
        (".", ".: is a directory; expected a file"),
    ):
        outcome = evaluate(capsys, name, "-j", "qrels", "-m", "AP")
        assert_refused(outcome, message)
        assert ("the file is truncated" in outcome.err) == (name == "short.gz")
    assert_refused(evaluate(capsys, "run", "-j", "no", "-m", "AP"), "no: no such file")
    outcome = evaluate(capsys, "run", "-j", "qrels", "-m", "AP", "--only-topics", "@no")
    assert_refused(outcome, "no: no such file")


def test_at_most_20_problems_are_listed_and_the_others_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run").write_text(RUN + "bad\n" * 33)
    outcome = evaluate(capsys, "run", "-j", "qrels", "-m", "AP")
    lines = [f"run:{line}: 1 fields found, expected 8" for line in range(3, 23)]
    assert_refused(outcome, *lines, "... and 13 more problems")


def test_an_output_that_cannot_be_written_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, *["evaluate", "run", "-j", "qrels", "-m", "AP", "-o", "no/such/folder"])
    assert outcome.code == 2
    assert outcome.err == "no/such/folder: cannot be written: No such file or directory\n"


def test_an_existing_output_survives_bad_input(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "kept").write_text("precious")
    outcome = call(capsys, *["evaluate", "missing", "-j", "qrels", "-m", "AP", "-o", "kept"])
    assert outcome.code == 2
    assert (folder / "kept").read_text() == "precious"


PASSAGES = """\
<assessments pool="7" topic="1">
<file name="d">
<best-entry-point path="/a[1]/p[2]"/>
<passage start="/a[1]/p[1]/text()[1].0" end="/a[1]/p[1]/text()[1].10" size="10"/>
</file></assessments>
"""


@pytest.mark.parametrize(("measure", "line"), [("AgP", 4), ("charR", 4), ("BEPD(L=9)", 3)])
def test_passages_given_as_xpaths_ask_for_a_collection(
    folder: Path, capsys: pytest.CaptureFixture[str], measure: str, line: int
) -> None:
    (folder / "pool.xml").write_text(PASSAGES)
    (folder / "passages.run").write_text("1 Q0 d 1 1 mine 0 10\n")
    outcome = evaluate(capsys, "passages.run", "-j", "pool.xml", "-m", measure)
    assert_refused(outcome, f"pool.xml:{line}: {measure} needs")
    assert "XPaths" in outcome.err
    assert "--collection INDEX" in outcome.err
