"""Builds that end early: the index appears only when it is complete, and nothing else is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from foveal.collection import Collection, build_index, sources
from timeouts import WAIT_LIMIT, finished, started, until

BATCHES = 20


@pytest.mark.parametrize("batches", [1, 4])
@pytest.mark.parametrize("older", [False, True])
def test_an_interrupted_build_leaves_nothing(
    batches: int, older: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sources, "_BATCH_FILES", 5)
    source, output = tmp_path / "source", tmp_path / "x"
    source.mkdir()
    for i in range(30):
        (source / f"{i:03}.xml").write_text(f"<a>{i}</a>")
    if older:
        build_index(source / "003.xml", output)
    seen = 0

    def stop(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == batches:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_index(source, output, progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source"] + ["x"] * older
    assert not older or len(Collection.open(output)) == 1
    assert len(build_index(source, output)) == 30


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of which each fills a batch."""
    folder = tmp_path_factory.mktemp("large") / "source"
    folder.mkdir()
    text = "a long text without end " * 180_000
    for i in range(BATCHES):
        (folder / f"{i:02}.xml").write_text(f"<a><n{i % 9}>{i}</n{i % 9}>{text}</a>")
    return folder


@pytest.fixture(scope="module")
def large_index(large: Path) -> bytes:
    build_index(large, large.with_name("index"))
    return large.with_name("index").read_bytes()


def test_a_worker_that_is_killed_costs_nothing(
    large: Path, large_index: bytes, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "foveal", "index", str(large), "-o", str(tmp_path / "x")]
    with started([*command, "-w", "2"], stderr=subprocess.PIPE) as build:
        until(lambda: [*tmp_path.glob(".x.*")] or build.poll() is not None, "a first batch")
        assert build.returncode is None
        found: list[int] = []

        def list_workers() -> bool:
            found[:] = [
                int(child)
                for children in Path(f"/proc/{build.pid}/task").glob("*/children")
                for child in children.read_text().split()
                if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()
            ]
            return bool(found) or build.poll() is not None

        if not [*Path(f"/proc/{build.pid}/task").glob("*/children")]:
            pytest.skip("the system does not list the children of a process")
        until(list_workers, "a worker")
        if found:
            os.kill(found[0], signal.SIGKILL)
        _, error = build.communicate(timeout=WAIT_LIMIT)
    assert build.returncode == 0, error
    assert (tmp_path / "x").read_bytes() == large_index
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


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
    """At its beginning, in the middle, or when it is assembled: an error, and no trace."""
    room = int(len(large_index) * share)
    (tmp_path / "x").write_bytes(large_index)
    command = ["index", str(large), "-o", str(tmp_path / "x"), "-w", "1"]
    done = finished([sys.executable, "-c", LIMITED, str(room), *command])
    assert done.returncode == 2
    assert done.stderr == f"{tmp_path / 'x'}: cannot be read or written: File too large\n"
    assert (tmp_path / "x").read_bytes() == large_index
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
