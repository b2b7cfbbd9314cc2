"""Hostile numbers, names, streams and signals end in one line, and leave nothing behind."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import foveal
from command import Outcome, call, write_toy
from timeouts import finished, started, until

HERE = Path(__file__).parent
DIGITS = "9" * 5000
LONG = "n" * 5000
ANSWER = f'{{"text":"a","answer_start":{DIGITS}}}'
QUESTION = f'{{"id":"1","question":"q","answers":[{ANSWER}]}}'
SQUAD = f'{{"data":[{{"title":"a","paragraphs":[{{"context":"abc","qas":[{QUESTION}]}}]}}]}}'
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="needs /dev/full, /proc and the limits of Linux"
)
SCORE = ("evaluate", "run", "-j", "qrels", "-m", "charP")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_toy(tmp_path)


def foveal_process(*args: str, **options: Any) -> CompletedProcess[str]:
    return finished([sys.executable, "-m", "foveal", *args], **options)


def redirected(redirection: str, *args: str) -> CompletedProcess[str]:
    command = shlex.join([sys.executable, "-m", "foveal", *args])
    return finished(["sh", "-c", f"exec {command} {redirection}"])


def assert_one_line(done: CompletedProcess[str] | Outcome, code: int = 2) -> str:
    """Exit code and one line on standard error; returns the line."""
    error = done.err if isinstance(done, Outcome) else done.stderr
    found = done.code if isinstance(done, Outcome) else done.returncode
    assert found == code, error[-2000:]
    lines = error.splitlines()
    assert len(lines) == 1, error[-2000:]
    return lines[0]


# -- numbers ------------------------------------------------------------------------------------


def test_topics_of_5000_digits_are_sorted_as_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = [DIGITS, "10", "9", "09"]
    lines = [f"{topic} Q0 D1 40 100 10 10:30 70:10\n" for topic in topics]
    (folder / "qrels").write_text("".join(lines))
    lines = [f"{topic} Q0 D1 1 3 mine 20 20\n" for topic in topics]
    (folder / "run").write_text("".join(lines))
    outcome = call(capsys, *SCORE, "-q", "-f", "tsv")
    assert outcome.code == 0
    found = [line.split("\t")[1] for line in outcome.out.splitlines()[1:]]
    assert found == ["09", "9", "10", DIGITS, "all"]


@pytest.mark.parametrize(
    ("text", "args"),
    [
        (f"toy Q0 D1 1 3 mine 20 {DIGITS}\n", ("evaluate", "x", "-j", "qrels", "-m", "charP")),
        (f"toy Q0 D1 40 {DIGITS} 10 10:30\n", ("evaluate", "run", "-j", "x", "-m", "charP")),
        (
            f'{{"topic":"toy","doc":"D1","start":0,"end":{DIGITS}}}\n',
            ("evaluate", "x", "-j", "qrels", "-m", "charP"),
        ),
        (
            f'{{"topic":"toy","doc":"D1","spans":[{{"start":0,"end":{DIGITS}}}]}}\n',
            ("evaluate", "run", "-j", "x", "-m", "charP"),
        ),
        (
            f'{{"topic":"1","title":"a","more":{DIGITS}}}\n',
            ("convert", "x", "out", "--to", "jsonl"),
        ),
        (
            SQUAD,
            ("convert", "x", "out", "--from", "squad", "--to", "jsonl"),
        ),
        (
            f'question,references,corpus_id\nq,"[{{""start_index"":{DIGITS}}}]",c\n',
            ("convert", "x", "out", "--from", "chunking-evaluation", "--to", "jsonl"),
        ),
        (
            f"200\t123\t{DIGITS}\t5\ta\n",
            ("convert", "x", "out", "--from", "trec-genomics", "--to", "jsonl"),
        ),
        (f'{{"meta":{{"a":{DIGITS}}},"results":[]}}', ("compare", "x")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value[:9],
)
def test_a_number_of_5000_digits_in_a_file_is_refused(
    text: str, args: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "x").write_text(text)
    line = assert_one_line(call(capsys, *args))
    assert line.startswith("x:")


@pytest.mark.parametrize(
    "args",
    [
        ("index", "qrels", "-o", "out", "--shard", f"{DIGITS}/{DIGITS}"),
        ("project", "-j", "qrels", "--window", DIGITS),
        ("budget", "run", "-j", "qrels", "--at", DIGITS),
        ("pool", "run", "-o", "out", "--budget", DIGITS),
        (*SCORE, "--memory", DIGITS),
        (*SCORE, "--max-bytes", DIGITS),
    ],
    ids=lambda args: args[0],
)
def test_a_number_of_5000_digits_as_an_option_is_refused(
    args: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, *args)
    assert outcome.code == 2
    assert "expected" in outcome.err or "not a valid integer" in outcome.err


def test_a_python_number_of_5000_digits_is_refused() -> None:
    for results in ([("D1", 0, 10**5000)], [{"doc": "D1", "score": 10**5000}]):
        with pytest.raises(foveal.InputError):
            foveal.run_of({"1": results})


# -- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        ("evaluate", LONG, "-j", "qrels", "-m", "charP"),
        ("evaluate", "run", "-j", LONG, "-m", "charP"),
        (*SCORE, "-o", LONG),
        ("pool", "run", "-o", LONG),
        ("convert", "run", LONG, "--to", "jsonl"),
        ("validate", "run", "--topics-file", LONG),
        ("simulate", "-j", "qrels", "-o", LONG),
    ],
)
def test_a_name_that_is_too_long_is_refused(
    args: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = assert_one_line(call(capsys, *args))
    assert line.startswith(LONG)
    assert "File name too long" in line
    assert sorted(path.name for path in folder.iterdir()) == ["qrels", "run"]


@pytest.mark.parametrize(
    "args",
    [
        (*SCORE, "-o", "loop"),
        ("convert", "run", "loop", "--to", "jsonl"),
        ("pool", "run", "-o", "loop"),
        ("index", "page.xml", "-o", "loop"),
    ],
    ids=lambda args: args[0],
)
def test_an_output_that_is_a_loop_of_links_is_refused(
    args: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "page.xml").write_text("<a>text</a>")
    (folder / "loop").symlink_to("pool")
    (folder / "pool").symlink_to("loop")
    assert assert_one_line(call(capsys, *args)).startswith("loop: ")
    assert (folder / "loop").is_symlink()
    assert len(list(folder.iterdir())) == 5


def test_a_pipe_is_not_a_collection(folder: Path) -> None:
    os.mkfifo("pipe")
    for args in (
        ("index", "pipe", "-o", "out"),
        ("index", "--verify", "pipe"),
        (*SCORE, "-C", "pipe"),
    ):
        done = foveal_process(*args)
        assert done.returncode == (1 if "--verify" in args else 2)
        assert f"{done.stdout}{done.stderr}".startswith("pipe: ")
    assert not Path("out").exists()


# -- standard streams and memory ----------------------------------------------------------------


@pytest.mark.parametrize("args", [SCORE, ("measures",), ("--help",)], ids=lambda args: args[0])
def test_an_output_on_a_full_disk_is_an_error(args: Sequence[str], folder: Path) -> None:
    line = assert_one_line(redirected(">/dev/full", *args))
    assert line.startswith("foveal: No space left on device")


def test_what_goes_to_a_file_needs_no_standard_stream(folder: Path) -> None:
    expected = redirected("", *SCORE).stdout
    assert redirected("<&- >&- 2>&-", *SCORE, "-o", "out").returncode == 0
    assert (folder / "out").read_text() == expected
    done = redirected("2>&-", *SCORE)
    assert (done.returncode, done.stdout) == (0, expected)
    assert redirected("2>&-", "evaluate", "no", "-j", "qrels").returncode == 2


def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    command = shlex.join([sys.executable, "-m", "foveal", "measures"])
    done = finished(["bash", "-c", f"set -o pipefail; {command} | head -c 1"])
    assert (done.returncode, len(done.stdout), done.stderr) == (0, 1, "")


def test_too_little_memory_is_said_and_debug_mode_shows_where(folder: Path) -> None:
    with (folder / "huge").open("wb") as file:
        file.truncate(64 << 30)  # of nothing: it takes no room on the disk
    code = (
        "import resource, sys; from foveal.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30)); main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "convert", "huge", "out", "--to", "jsonl"]
    line = assert_one_line(finished(command, env={**os.environ, "FOVEAL_DEBUG": ""}))
    assert "memory" in line
    assert "FOVEAL_DEBUG=1" in line
    shown = finished(command, env={**os.environ, "FOVEAL_DEBUG": "1"})
    assert shown.returncode == 2
    assert shown.stderr.startswith("Traceback")
    assert shown.stderr.splitlines()[-1] == line


# -- full disks and SIGTERM ---------------------------------------------------------------------


def test_a_summary_on_a_full_disk_leaves_no_file(folder: Path) -> None:
    """No file can have more than 100 bytes."""
    command = [sys.executable, str(HERE / "full_disk.py"), *SCORE, "--fail-under", "charP=0.1"]
    done = finished([*command, "--summary", "new.md"])
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("new.md: ")
    (folder / "old.md").write_text("# Before\n")
    assert finished([*command, "--summary", "old.md"]).returncode == 2
    assert (folder / "old.md").read_text() == "# Before\n"
    assert sorted(path.name for path in folder.iterdir()) == ["old.md", "qrels", "run"]


def test_a_summary_is_added_to_what_is_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "old.md").write_text("# Before\n")
    for _ in range(2):
        assert call(capsys, *SCORE, "--fail-under", "charP=0.1", "--summary", "old.md").code == 0
    text = (folder / "old.md").read_text()
    assert text.startswith("# Before\n")
    assert text.count("charP") >= 2


def test_sigterm_leaves_nothing_of_an_index_that_has_not_begun(folder: Path) -> None:
    (folder / "long.xml").write_text(f"<a>{'<b>text</b>' * 1_500_000}</a>")
    command = [sys.executable, "-m", "foveal", "index", "long.xml", "-o", "out"]
    with started(command) as process:
        until(lambda: any(folder.glob(".out*/*")), "the beginning of the index")
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM
    assert not list(folder.glob("*out*"))
    assert not list(folder.glob(".*"))
