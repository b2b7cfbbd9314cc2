"""``foveal index`` and ``foveal evaluate -C`` as the shell sees them."""

from __future__ import annotations

import gzip
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from command import Outcome, at_terminal, call
from foveal.collection import Collection

FOVEAL = [sys.executable, "-m", "foveal"]
SUMMARY = """\
documents  2
elements   4
paths      3
tags       2
characters 9
failures   0
"""


@pytest.fixture(autouse=True)
def articles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "articles"
    folder.mkdir()
    (folder / "one.xml").write_text("<a><p>one</p><p>two</p></a>")
    (folder / "two.xml").write_text("<a>two</a>")
    return folder


def index(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    return call(capsys, "index", *args)


def test_the_summary_is_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = index(capsys, "articles", "-o", "x.fvx")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith(SUMMARY)
    size = Path("x.fvx").stat().st_size
    assert re.fullmatch(
        rf"index      x\.fvx, {size} bytes, \d+\.\d s\n", outcome.err[len(SUMMARY) :]
    )
    assert list(Collection.open("x.fvx")) == ["one", "two"]
    assert sorted(path.name for path in Path().iterdir()) == ["articles", "x.fvx"]


def test_the_summary_says_what_was_not_taken(
    articles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.pdf", "b.pdf", ".c.xml", "Makefile"):
        (articles / name).write_text("x")
    outcome = index(capsys, "articles", "-o", "x")
    kinds = ".pdf 2, hidden files 1, without extension 1"
    assert f"failures   0\nnot taken  4: {kinds}\nindex " in outcome.err


def test_failures_are_listed_or_end_the_build(
    articles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (articles / "bad.xml").write_text("<a>\n<b></a>")
    message = "bad.xml:2: column 6: mismatched tag"
    outcome = index(capsys, "articles", "-o", "x")
    assert outcome == Outcome(2, "", f"{message}\n")
    assert not Path("x").exists()
    outcome = index(capsys, "articles", "-o", "x", "--max-errors", "1")
    assert (outcome.code, outcome.out) == (0, "")
    assert "failures   1\n" in outcome.err
    assert outcome.err.endswith(f"\n  {message}\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere", "-o", "x"], "nowhere: no such file or directory"),
        (["articles", "-o", "no/x"], "no/x: its directory does not exist"),
        (["articles", "-o", "articles"], "articles: is a directory; expected a file name"),
        (["articles/one.xml", "-o", "articles"], "articles: is a directory; expected a file name"),
        (
            ["articles/one.xml", "-o", "articles/one.xml"],
            "articles/one.xml: exists and is not an index",
        ),
        (["articles", "-o", "x", "--max-bytes", "26"], "one.xml: the document has more than 26 by"),
        (["articles", "-o", "x", "--name-from", "id"], "one.xml: no <id> element to name the doc"),
        (["articles", "-o", "x", "--max-depth", "1"], "one.xml:1: column 4: elements are nest"),
        (
            ["articles", "-o", "x", "--max-elements", "1"],
            "one.xml:1: column 14: more than 2 elements",
        ),
    ],
)
def test_what_goes_wrong_is_one_line_and_exit_code_2(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = index(capsys, *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(message)
    assert "Traceback" not in outcome.err
    assert not Path("x").exists()


def test_options_reach_the_index(articles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (articles / "one.xml").write_text("<a> <id>7</id>  x</a>")
    (articles / "two.xml").write_text("<a><id>8</id></a>")
    options = ["--whitespace", "merge", "--name-from", "id"]
    assert index(capsys, "articles", "-o", "x", *options).code == 0
    collection = Collection.open("x")
    assert collection.whitespace == "merge"
    assert collection.documents.rows() == [("7", 4), ("8", 1)]


def test_a_terminal_shows_progress(articles: Path) -> None:
    _, shown = at_terminal("index", "articles", "-o", "x")
    assert re.search(r"indexing .*100%.*\ndocuments  2\n", shown, re.DOTALL)
    (articles / "bad.xml").write_text("<")
    _, shown = at_terminal("index", "articles", "-o", "x")
    assert shown.endswith("\nbad.xml:1: column 1: unclosed token\n")


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_ends_quietly_and_leaves_nothing(
    sent: signal.Signals, code: int, articles: Path
) -> None:
    text = "<p>some <b>text</b></p>" * 4000
    for i in range(200):
        (articles / f"{i}.xml").write_text(f"<a>{text}</a>")
    command = [*FOVEAL, "index", "articles", "-o", "x", "-w", "2"]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    began = monotonic()
    while not [*Path().glob(".x.*")] and child.poll() is None and monotonic() - began < 60:
        sleep(0.01)
    os.killpg(child.pid, sent)  # as a terminal does, to all processes
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (code, b"")
    assert err == b"" or sent == signal.SIGTERM
    assert not [*Path().glob(".x*")]
    assert not Path("x").exists()


# -- shards, several sources, checks --------------------------------------------------------------


def test_verify_tells_what_is_whole_and_what_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    index(capsys, "articles", "-o", "x.fvx")
    whole = "x.fvx: whole, 2 documents, 4 elements\n"
    assert index(capsys, "--verify", "x.fvx") == Outcome(0, whole, "")
    data = bytearray(Path("x.fvx").read_bytes())
    data[-64] ^= 1
    Path("y.fvx").write_bytes(data)
    Path("z.fvx").write_bytes(data[:100])
    Path("folder").mkdir()
    outcome = index(capsys, "--verify", "y.fvx", "x.fvx", "z.fvx", "folder", "articles/one.xml")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines() == [
        "y.fvx: the index is damaged: section path_ordinal differs",
        whole.rstrip(),
        "z.fvx: the index is damaged: its header is not whole",
        (
            "folder: is a directory; expected an index file (merge the shards of a collection with "
            "foveal index SHARD... -o INDEX)"
        ),
        "articles/one.xml: is not a collection index of Foveal",
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-o", "x"], "Error: "),
        (["articles", "-o", "x", "--whitespace", "none"], "Error: "),
        (["articles", "-o", "x", "--max-errors", "-1"], "Error: "),
        (["articles", "-o", "x", "-w", "0"], "Error: "),
        (["articles"], "the index needs a file to write to; expected -o INDEX"),
        (["articles", "-o", "x", "--shard", "3/2"], "'3/2' is not a shard; expected the number"),
        (["articles", "-o", "x", "--shard", "half"], "'half' is not a shard; expected the number"),
        (["--verify", "x", "-o", "y"], "--verify builds nothing; expected only indexes with it"),
    ],
)
def test_wrong_use(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = index(capsys, *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert sorted(path.name for path in Path().iterdir()) == ["articles"]


# -- evaluate -C ----------------------------------------------------------------------------------


def test_statistics_of_a_folder_of_judgements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "qrels.txt").write_text("1 Q0 d1 10 100 0 0:10\n")
    done = call(capsys, "stats", str(tmp_path / "q"))
    assert done.code == 0, done.err
    assert f"{tmp_path / 'q'}\tjudgements\ttopics\t\t1\n" in done.out


@pytest.mark.parametrize("name", ["docs", "docs.json", "docs.gz"])
def test_json_lines_are_recognised_without_their_extension(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = '\n{"doc": "a", "text": "hello"}\n{"doc": "b", "text": "all"}\n'
    data = text.encode()
    Path(name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    outcome = call(capsys, "index", name, "-o", "index")
    assert outcome.code == 0, outcome
    found = dict(line.split()[:2] for line in outcome.err.splitlines())
    assert (found["documents"], found["characters"]) == ("2", "8")
    Path("bad").write_text('{"name": "a"}\n')
    outcome = call(capsys, "index", "bad", "-o", "other")
    assert outcome.code != 0
    assert "bad:1: " in outcome.err
    assert not Path("other").exists()
