"""Builds that were interrupted: they go on where they stopped, or start afresh where they must."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from foveal.collection import BuildOptions, Collection, build_index, sources
from foveal.collection.building import _Partial
from foveal.errors import InputError
from inputs import refusal

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = 60


class Interrupted(Exception):
    """Ends a build after some batches, as a signal would."""


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_BATCH_FILES", 5)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    for i in range(DOCUMENTS):
        tag = f"t{i % 11}"
        (folder / f"{i:03}\x85.xml").write_text(f"<a><{tag}>{i}</{tag}>{'<p/>' * (i % 4)}</a>")
    (folder / "017\x85.xml").write_text("<a>broken")
    return folder


OPTIONS = BuildOptions(max_errors=1)


def interrupt(source: Path, output: Path, batches: int, options: BuildOptions = OPTIONS) -> Path:
    """Build some batches; the folder that is left."""

    def progress(*_: object) -> None:
        nonlocal batches
        batches -= 1
        if batches == 0:
            raise Interrupted

    with pytest.raises(Interrupted):
        build_index(source, output, options, progress=progress)
    assert not output.exists()
    return output.with_name(f".{output.name}.partial")


def resume(source: Path, output: Path, options: BuildOptions = OPTIONS) -> int:
    """Build the rest; how many documents were looked at."""
    seen = 0

    def progress(documents: int, *_: object) -> None:
        nonlocal seen
        seen += documents

    build_index(source, output, options, progress=progress)
    assert not output.with_name(f".{output.name}.partial").exists()
    return seen


@pytest.fixture
def whole(source: Path, tmp_path: Path) -> bytes:
    assert resume(source, tmp_path / "whole") == DOCUMENTS
    return (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("batches", [1, 4, 12])
def test_a_build_goes_on_where_it_stopped(
    batches: int, source: Path, whole: bytes, tmp_path: Path
) -> None:
    interrupt(source, tmp_path / "x", batches)
    assert resume(source, tmp_path / "x") == DOCUMENTS - 5 * batches
    assert (tmp_path / "x").read_bytes() == whole


def test_a_build_may_be_interrupted_again_and_again(
    source: Path, whole: bytes, tmp_path: Path
) -> None:
    for _ in range(11):
        interrupt(source, tmp_path / "x", 1)
    assert resume(source, tmp_path / "x") == 5
    assert (tmp_path / "x").read_bytes() == whole


def test_what_was_written_after_the_last_whole_batch_is_dropped(
    source: Path, whole: bytes, tmp_path: Path
) -> None:
    partial = interrupt(source, tmp_path / "x", 3)
    for path in partial.iterdir():
        if path.suffix != ".json":
            with path.open("ab") as stream:
                stream.write(b"half a batch")
    assert resume(source, tmp_path / "x") == DOCUMENTS - 15
    assert (tmp_path / "x").read_bytes() == whole


def test_an_archive_goes_on_too(source: Path, tmp_path: Path) -> None:
    import tarfile

    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        archive.add(source, "source")
    resume(tmp_path / "x.tar.gz", tmp_path / "whole")
    interrupt(tmp_path / "x.tar.gz", tmp_path / "x", 4)
    assert resume(tmp_path / "x.tar.gz", tmp_path / "x") == DOCUMENTS - 20
    assert (tmp_path / "x").read_bytes() == (tmp_path / "whole").read_bytes()


def test_an_interruption_while_the_index_is_assembled(
    source: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object) -> None:
        raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", interrupted)
        with pytest.raises(Interrupted):
            build_index(source, tmp_path / "x", OPTIONS)
    assert resume(source, tmp_path / "x") == 0
    assert (tmp_path / "x").read_bytes() == whole


def test_a_document_of_an_earlier_attempt_is_not_taken_twice(tmp_path: Path) -> None:
    source = tmp_path / "d.jsonl"
    lines = [json.dumps({"doc": f"d{i}", "text": "x"}) for i in range(20)]
    source.write_text("\n".join([*lines, lines[0]]))
    interrupt(source, tmp_path / "x", 2)
    message = "is called 'd0' like d.jsonl:1; expected one document of each name"
    summary = build_index(source, tmp_path / "x", OPTIONS)
    assert (summary.documents, summary.failures) == (20, (("d.jsonl:21", message),))


STATES = {
    "no state": lambda partial: (partial / "state.json").unlink(),
    "half a state": lambda partial: (partial / "state.json").write_text('{"identity": "'),
    "another thing": lambda partial: (partial / "state.json").write_text("[1, 2]"),
    "nothing in it": lambda partial: (partial / "state.json").write_text("{}"),
    "a file is gone": lambda partial: (partial / "start").unlink(),
    "a file is shorter": lambda partial: os.truncate(partial / "path", 4),
}


@pytest.mark.parametrize("name", STATES)
def test_a_damaged_attempt_is_started_afresh(
    name: str, source: Path, whole: bytes, tmp_path: Path
) -> None:
    partial = interrupt(source, tmp_path / "x", 3)
    STATES[name](partial)
    assert resume(source, tmp_path / "x") == DOCUMENTS
    assert (tmp_path / "x").read_bytes() == whole


def test_another_source_starts_afresh(source: Path, whole: bytes, tmp_path: Path) -> None:
    interrupt(source, tmp_path / "x", 3)
    changed = source / "003\x85.xml"
    os.utime(changed, (1, 1))
    assert resume(source, tmp_path / "x") == DOCUMENTS
    assert (tmp_path / "x").read_bytes() == whole
    interrupt(source, tmp_path / "y", 3)
    changed.unlink()
    assert resume(source, tmp_path / "y") == DOCUMENTS - 1
    interrupt(source, tmp_path / "z", 3)
    changed.write_text("<a/>")
    assert resume(source, tmp_path / "z") == DOCUMENTS


def test_other_options_start_afresh(source: Path, tmp_path: Path) -> None:
    interrupt(source, tmp_path / "x", 3)
    merged = BuildOptions(max_errors=1, whitespace="merge")
    assert resume(source, tmp_path / "x", merged) == DOCUMENTS
    assert Collection.open(tmp_path / "x").whitespace == "merge"


def test_failures_of_an_earlier_attempt_count(source: Path, tmp_path: Path) -> None:
    (source / "059\x85.xml").write_text("<b>broken")
    interrupt(source, tmp_path / "x", 5)
    with pytest.raises(InputError) as error:
        build_index(source, tmp_path / "x", OPTIONS)
    assert [problem.file for problem in error.value.problems] == ["017\x85.xml:1", "059\x85.xml:1"]
    assert not (tmp_path / ".x.partial").exists()


def test_two_builds_of_one_index_at_once(source: Path, tmp_path: Path) -> None:
    other = _Partial(tmp_path / "x", "other")
    message = f"{tmp_path / '.x.partial'}: another build of the same index is at work"
    assert refusal(build_index, source, tmp_path / "x", OPTIONS) == message
    other.close()
    resume(source, tmp_path / "x")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_build_that_was_killed(workers: int, tmp_path: Path) -> None:
    """From the shell: killed at its work, started again, as if nothing had happened."""
    folder = tmp_path / "source"
    folder.mkdir()
    text = "<p>some <b>text</b> of <i>no</i> meaning</p>" * 2000
    for i in range(250):
        (folder / f"{i}.xml").write_text(f"<a><n>{i}</n>{text}</a>")
    command = [sys.executable, "-m", "foveal", "index", str(folder), "-w", str(workers), "-o"]
    state = tmp_path / ".x.partial" / "state.json"
    build = subprocess.Popen([*command, str(tmp_path / "x")], stderr=subprocess.PIPE, cwd=ROOT)
    began = monotonic()
    while not state.exists() and build.poll() is None and monotonic() - began < 60:
        sleep(0.01)
    os.kill(build.pid, signal.SIGKILL)
    build.communicate(timeout=30)  # which waits for its processes: none may live on
    assert build.returncode == -signal.SIGKILL
    assert not (tmp_path / "x").exists()
    batches = json.loads(state.read_bytes())["batches"]
    assert batches >= 1
    for output in ("x", "whole"):
        done = subprocess.run([*command, str(tmp_path / output)], capture_output=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "x").read_bytes() == (tmp_path / "whole").read_bytes()
    assert len(set(Collection.open(tmp_path / "x"))) == 250
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "whole", "x"]
