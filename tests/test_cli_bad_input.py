"""Bad input: exit code 2, ``file:line: message``, nothing written, never a traceback."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from command import QRELS, RUN, assert_refused, call, evaluate, write_toy


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with good judgements in qrels and a good run in run."""
    monkeypatch.chdir(tmp_path)
    return write_toy(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("toy Q0 D3 3 1 mine 0", "7 fields found, expected 8: topic Q0 doc rank rsv runid start"),
        ("toy Q0 D3 3 1 mine 0 5 5", "9 fields found, expected 8: topic Q0 doc rank rsv runid"),
        ("toy Q0 D3 3 high mine 0 5", "score 'high' is not a finite number"),
        ("toy Q0 D3 3 NaN mine 0 5", "score 'NaN' is not a finite number"),
        ("toy Q0 D3 3 inf mine 0 5", "score 'inf' is not a finite number"),
        (
            "toy Q0 D3 3 1 mine -4 5",
            "start -4 is not a whole number from 0 to 1099511627776",
        ),
        ("toy Q0 D3 3 1 mine four 5", "start 'four' is not a whole number"),
        ("toy Q0 D3 3 1 mine 4 -5", "length -5 is not a whole number from"),
        ("toy Q0 D3 3 1 mine 4 five", "length 'five' is not a whole number"),
        ("all Q0 D3 3 1 mine 4 5", "a topic may not be called 'all'"),
        (
            "toy Q0 D3 3 1 mine 30 20",
            "the result ends at 50, past the end of document 'D3' of 40 characters (--lenient",
        ),
        ("toy Q0 D1 3 1 mine 20 20", "repeats the result on line 1 (topic 'toy', document 'D1')"),
        ("toy Q0 D1 3 1 mine 30 20", "overlaps the result on line 1 (topic 'toy', document 'D1')"),
    ],
)
def test_a_bad_result_is_named_with_its_line(
    line: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run").write_text(f"{RUN}# comment\n{line}\n")
    outcome = evaluate(capsys, "run", "-j", "qrels", "-m", "iP@0.01")
    assert_refused(outcome, f"run:4: {message}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("toy Q0 D4 40", "fewer than 5 fields; expected topic Q0 doc relchars doclen"),
        ("toy Q0 D4 many 40", "relevant characters 'many' is not a whole number from"),
        ("toy Q0 D1 0 100", "topic 'toy', document 'D1' is already judged on line 1"),
        ("toy Q0 D2 50 50 0 0:50", "topic 'toy', document 'D2' is already judged on line 2"),
        ("toy Q0 D4 30 40 0 0:20", "30 relevant characters, but the passages hold 20"),
        ("toy Q0 D4 30 20 0 0:20", "30 relevant characters, but the passages hold 20"),
        ("toy Q0 D4 20 40 0 30:20", "a passage ends past the document's length 40"),
        ("new Q0 D1 0 90", "document 'D1' is 90 characters long here, but 100 on line 1"),
    ],
)
def test_a_bad_judgement_is_named_with_its_line(
    line: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "qrels").write_text(f"{QRELS}{line}\n")
    outcome = evaluate(capsys, "run", "-j", "qrels", "-m", "iP@0.01")
    assert_refused(outcome, f"qrels:4: {message}")


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
