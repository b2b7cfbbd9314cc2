"""``foveal pool``: where the pool goes, options, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Outcome, assert_refused, call
from foveal.formats.pool_files import read_pool

FIRST = """\
7 Q0 a 1 9 first 0 10
7 Q0 a 2 8 first 20 10
7 Q0 b 3 7 first 0 10
8 Q0 c 1 9 first 0 10
"""
SECOND = """\
7 Q0 d 1 9 second 0 10
7 Q0 b 2 8 second 5 10
"""
ELEMENTS = "7 Q0 a 1 9 third /x[1]/p[1]\n"
QRELS = """\
7 Q0 a 10 50 0 0:10
7 Q0 d 0 50
"""
SUMMARY = "4 documents of 2 runs to assess for 2 topics (min 1, mean 2.0, max 3).\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"1.run": FIRST, "2.run": SECOND, "3.run": ELEMENTS, "q": QRELS}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def pooled(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    outcome = call(capsys, "pool", "1.run", "2.run", *args)
    assert outcome.code == 0, outcome.err
    return outcome


def docs(text: str) -> list[tuple[str, str]]:
    """Topic and document of each line."""
    entries = map(json.loads, text.splitlines()[1:])
    return [(entry["topic"], entry["doc"]) for entry in entries]


def test_the_pool_goes_to_standard_output_and_a_summary_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome = pooled(capsys)
    assert docs(outcome.out) == [("7", "a"), ("7", "d"), ("7", "b"), ("8", "c")]
    assert outcome.err == SUMMARY
    assert pooled(capsys, "-o", "-").out == outcome.out


def test_a_pool_in_a_file_can_be_read_again(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = pooled(capsys, "-o", "pool.jsonl", "--depth", "1")
    assert outcome.out == ""
    found = read_pool("pool.jsonl")
    assert found.sizes == {"7": 2, "8": 1}
    assert found.header["runs"] == ["first", "second"]
    assert [source["path"] for source in found.header["inputs"]] == ["1.run", "2.run"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--strategy", "round-robin", "--budget", "1"], ["7a", "8c"]),
        (["--only-topics", "8"], ["8c"]),
        (["--only-topics", "@topics"], ["8c"]),
        (["-j", "q"], ["7b", "8c"]),
        (["-j", "q", "--strategy", "hedge"], ["7b", "8c"]),
        (["--unit", "span", "--only-topics", "7", "--depth", "1"], ["7a", "7d"]),
    ],
)
def test_options(capsys: pytest.CaptureFixture[str], args: list[str], expected: list[str]) -> None:
    Path("topics").write_text("8\n")
    assert ["".join(pair) for pair in docs(pooled(capsys, *args).out)] == expected


def test_a_pool_without_anything_new_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = pooled(capsys, "-j", "q", "--only-topics", "7", "--depth", "1")
    assert docs(outcome.out) == []
    assert outcome.err == "Nothing to assess: no document is left.\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--stats", "-"], "foveal: pool and statistics cannot go to one place"),
        (["--stats", "out", "-o", "out"], "foveal: pool and statistics cannot go to one place"),
        (["-o", "out", "--assessors", "x", "-j", "q"], "foveal: no assessor 'x' in the judgements"),
        (["-o", "out", "--only-topics", "9"], "foveal: no run has a result for topic 9"),
        (["-o", "out", "--unit", "element"], "1.run:1: the element of this result is not known"),
        (["-o", "out", "1.run"], "1.run: run name '1' is already used by 1.run"),
    ],
)
def test_wrong_use_is_refused_and_leaves_nothing(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["1.run"] if "element" not in args else ["3.run", "1.run"]
    outcome = call(capsys, "pool", *run, *args)
    first = Outcome(outcome.code, outcome.out, outcome.err.partition("\n")[0])
    assert_refused(first, message)


@pytest.mark.parametrize(
    ("args", "place"),
    [
        (["-o", "./1.run"], "./1.run"),
        (["-o", "q", "-j", "q"], "q"),
        (["--stats", "2.run"], "2.run"),
        (["-o", "judged/q", "-j", "judged"], "judged/q"),
    ],
)
def test_nothing_that_is_read_is_written_over(
    args: list[str], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("judged").mkdir()
    Path("judged/q").write_text(QRELS)
    before = Path(place).read_text()
    outcome = call(capsys, "pool", "1.run", "2.run", *args)
    assert_refused(outcome, f"foveal: {place} is read by this command")
    assert Path(place).read_text() == before


def test_a_new_file_beside_judgements_is_possible(capsys: pytest.CaptureFixture[str]) -> None:
    Path("judged").mkdir()
    Path("judged/q").write_text(QRELS)
    pooled(capsys, "-j", "judged", "-o", "judged/pool")
    assert Path("judged/pool").exists()


def test_a_file_that_cannot_be_read_leaves_the_old_pool(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("pool").write_text("old")
    outcome = call(capsys, "pool", "1.run", "none.run", "-o", "pool")
    assert (outcome.code, outcome.err) == (2, "none.run: no such file\n")
    assert Path("pool").read_text() == "old"
