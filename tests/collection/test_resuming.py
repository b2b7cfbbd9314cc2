"""Builds that were interrupted: they go on where they stopped, or start afresh where they must."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from time import sleep
from typing import IO

import pytest

from foveal.collection import BuildOptions, Collection, build_index, sources
from foveal.collection import partial as partial_module
from foveal.collection.partial import Partial
from foveal.errors import InputError
from inputs import refusal
from patience import PATIENCE, finished, started, until

DOCUMENTS = 60
BATCHES = 20


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
    other = Partial(tmp_path / "x", "other")
    message = f"{tmp_path / '.x.partial'}: another build of the same index is at work"
    assert refusal(build_index, source, tmp_path / "x", OPTIONS) == message
    other.close()
    resume(source, tmp_path / "x")


# -- killed at any moment --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A batch is full with one long text; there are as many as documents of such."""
    folder = tmp_path_factory.mktemp("large") / "source"
    folder.mkdir()
    text = "a long text without end " * 180_000
    for i in range(BATCHES):
        (folder / f"{i:02}.xml").write_text(f"<a><n{i % 9}>{i}</n{i % 9}>{text}</a>")
        (folder / f"{i:02}-.xml").write_text(f"<a>{'<b>x</b>' * 300}</a>")
    return folder


def batches_of(partial: Path) -> int:
    try:
        return int(json.loads((partial / "state.json").read_bytes())["batches"])
    except FileNotFoundError:
        return 0


@pytest.fixture(scope="module")
def large_index(large: Path) -> bytes:
    """What a build of it that nobody disturbs comes to."""
    build_index(large, large.with_name("index"))
    return large.with_name("index").read_bytes()


def building(source: Path, output: Path, workers: int) -> list[str]:
    """The command, as from the shell."""
    command = [sys.executable, "-m", "foveal", "index", str(source), "-o", str(output)]
    return [*command, "-w", str(workers)]


def reach(partial: Path, batches: int, build: subprocess.Popen[bytes]) -> None:
    """Wait until so many batches are done; a build that ends before that is none to interrupt."""
    until(lambda: batches_of(partial) >= batches or build.poll() is not None, f"batch {batches}")
    assert build.returncode is None


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_again_and_again(
    workers: int, large: Path, large_index: bytes, tmp_path: Path
) -> None:
    """SIGKILL after a random while: nothing is lost, nothing comes twice, nobody lives on.

    First to the process that was started alone, then to its whole group.
    """
    random = Random(workers)
    output, partial = tmp_path / "x", tmp_path / ".x.partial"
    command = building(large, output, workers)
    reached = [0]
    for kill in (os.kill, os.killpg):
        with started(command, stderr=subprocess.PIPE) as build:
            reach(partial, reached[-1] + random.randint(1, 3), build)
            sleep(random.random() / 50)
            kill(build.pid, signal.SIGKILL)
            build.communicate(timeout=PATIENCE)  # which waits for all who could still write there
        assert build.returncode == -signal.SIGKILL
        assert not output.exists()
        reached.append(batches_of(partial))
    assert 0 < reached[1] < reached[2]
    done = finished(command)
    assert done.returncode == 0, done.stderr
    assert output.read_bytes() == large_index
    assert len(set(Collection.open(output))) == 2 * BATCHES
    assert list(tmp_path.iterdir()) == [output]


def test_a_worker_that_is_killed_costs_nothing(
    large: Path, large_index: bytes, tmp_path: Path
) -> None:
    with started(building(large, tmp_path / "x", 2), stderr=subprocess.PIPE) as build:
        reach(tmp_path / ".x.partial", 1, build)
        found = [
            int(child)
            for children in Path(f"/proc/{build.pid}/task").glob("*/children")
            for child in children.read_text().split()
            if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()
        ]
        if not found:
            pytest.skip("the system does not list the children of a process")
        os.kill(found[0], signal.SIGKILL)
        _, error = build.communicate(timeout=PATIENCE)
    assert build.returncode == 0, error
    assert (tmp_path / "x").read_bytes() == large_index


# -- loss of power ---------------------------------------------------------------------------------


def test_after_a_loss_of_power_only_what_was_on_the_disk_counts(
    source: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The newest state is there, but some of what it tells of is not: zeros stand in its place."""
    monkeypatch.setattr(partial_module, "_BATCHES_PER_SYNC", 4)
    partial = interrupt(source, tmp_path / "x", 7)
    size = json.loads((partial / "synced.json").read_bytes())["sizes"]["start"]
    data = (partial / "start").read_bytes()
    assert len(data) > size
    (partial / "start").write_bytes(data[:size] + bytes(len(data) - size))
    assert resume(source, tmp_path / "x") == DOCUMENTS - 5 * 4
    assert (tmp_path / "x").read_bytes() == whole


def test_what_is_damaged_on_the_disk_is_done_again(
    source: Path, whole: bytes, tmp_path: Path
) -> None:
    partial = interrupt(source, tmp_path / "x", 3)
    data = bytearray((partial / "path").read_bytes())
    data[0] ^= 1
    (partial / "path").write_bytes(data)
    assert resume(source, tmp_path / "x") == DOCUMENTS
    assert (tmp_path / "x").read_bytes() == whole


# -- a full disk -----------------------------------------------------------------------------------

LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from foveal.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_no_room_for_the_index(
    share: float, large: Path, large_index: bytes, tmp_path: Path
) -> None:
    """At its beginning, in the middle, or when it is assembled: told, and no trace but the work."""
    room = int(len(large_index) * share)
    before = "an older index"
    (tmp_path / "x").write_text(before)
    command = ["index", str(large), "-o", str(tmp_path / "x"), "-w", "1"]
    done = finished([sys.executable, "-c", LIMITED, str(room), *command])
    assert done.returncode == 2
    assert done.stderr == f"{tmp_path / 'x'}: cannot be read or written: File too large\n"
    assert (tmp_path / "x").read_text() == before
    kept = batches_of(tmp_path / ".x.partial")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".x.partial"] * (kept > 0) + ["x"]
    assert resume(large, tmp_path / "x", BuildOptions()) == 2 * (BATCHES - kept)
    assert (tmp_path / "x").read_bytes() == large_index


def test_another_build_may_begin_while_one_clears_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clear, begun = shutil.rmtree, list[Partial]()

    def begin_another(path: Path, **options: bool) -> None:
        if path.exists() and not begun:
            begun.append(Partial(tmp_path / "x", "two"))
        clear(path, **options)

    first = Partial(tmp_path / "x", "one")
    monkeypatch.setattr(shutil, "rmtree", begin_another)
    first.remove()
    first.close()
    assert [path.name for path in tmp_path.iterdir()] == [begun[0].folder.name]
    begun[0].save()
    begun[0].remove()
    begun[0].close()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_cleared_away_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, times = partial_module._locked, list[Path]()

    def clear_away(path: Path) -> IO[bytes]:
        times.append(path)
        if len(times) == 1:
            path.parent.rmdir()  # before the file is there
        stream = lock(path)
        if len(times) == 2:
            shutil.rmtree(path.parent)  # after
        return stream

    monkeypatch.setattr(partial_module, "_locked", clear_away)
    build = Partial(tmp_path / "x", "one")
    assert len(times) == 3
    assert os.path.samestat(os.fstat(build.lock.fileno()), (build.folder / "lock").stat())
    assert "at work" in refusal(lock, build.folder / "lock")
    build.remove()
    build.close()
