"""``--dask``: a cluster on loopback gives the bytes of one process, or a clear word."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import foveal
from command import assert_refused, call
from crossings_commands import COMMANDS, EVALUATE, RUNS, copy_campaign
from dask_cluster import DaskCluster
from executor_tasks import (
    Gate,
    Loaded,
    Named,
    die,
    refuse,
    refuse_at_length,
    square,
    wait_for,
    who_loaded,
)
from foveal.errors import FovealError, InputError, Problem
from foveal.executors import LostTaskError, map_in_order
from foveal.executors.cluster import Cluster, connect
from timeouts import finished, until

pytest.importorskip("distributed")

HERE = str(Path(__file__).parent)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_campaign(tmp_path_factory.mktemp("dask"))


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A scheduler and two workers, in folders other than that of the client."""
    cluster = DaskCluster(tmp_path_factory.mktemp("dask") / "cluster")
    try:
        for _ in range(2):
            cluster.worker({"PYTHONPATH": HERE})
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def cluster(dask: DaskCluster) -> Iterator[Cluster]:
    with connect(dask.address) as connected:
        until(lambda: connected.workers == 2, "the start of two workers")
        yield connected


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


# -- the same bytes ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_bytes_are_those_of_one_process(
    here: Path,
    dask: DaskCluster,
    cluster: Cluster,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
) -> None:
    expected = call(capsys, *command)
    assert expected.code in (0, 2)
    assert call(capsys, *command, "--dask", dask.address) == expected


def test_foveal_index_on_a_cluster(
    here: Path, dask: DaskCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "there.fvx"
    assert call(capsys, "index", "documents", "-o", str(output), "--dask", dask.address).code == 0
    assert output.read_bytes() == Path("crossings.fvx").read_bytes()


def test_a_shared_object_is_sent_once_to_each_worker(cluster: Cluster, tmp_path: Path) -> None:
    found = list(map_in_order(cluster, who_loaded, range(12), shared=Loaded(tmp_path)))
    assert [task for task, _ in found] == list(range(12))
    workers = {str(worker) for _, worker in found}
    assert str(os.getpid()) not in workers
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(workers)


# -- errors ------------------------------------------------------------------------------------


def test_errors_arrive_whole(cluster: Cluster) -> None:
    with pytest.raises(InputError) as caught:
        list(map_in_order(cluster, refuse, [7]))
    assert caught.value.problems == (
        Problem("run.bad", "a.run", 7, "is bad"),
        Problem("run.bad", "b.run", None, "is worse"),
    )
    with pytest.raises(InputError) as caught:
        list(map_in_order(cluster, refuse_at_length, [20_000]))
    assert caught.value.problems == (Problem("run.bad", "a.run", 1, "x" * 20_000),)


def test_an_unforeseen_error_says_where_it_arose(cluster: Cluster) -> None:
    with pytest.raises(TypeError) as caught:
        list(map_in_order(cluster, square, ["x"]))
    assert "in square" in caught.value.__notes__[0]


def test_a_run_that_only_the_client_sees(
    here: Path, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name below /proc/self is that of another file in each process."""
    runs = Path("/proc/self/cwd/runs")
    if not runs.exists():
        pytest.skip("there is no /proc")
    with pytest.raises(InputError) as caught:
        foveal.evaluate(runs / "focused.jsonl", "judgements.jsonl", "AiP", executor=cluster)
    said = str(caught.value)
    assert said.startswith(f"{runs}/focused.jsonl: no such file on worker tcp://127.0.0.1:")


# -- workers that die --------------------------------------------------------------------------


def test_a_worker_is_killed_while_it_scores(
    here: Path, dask: DaskCluster, cluster: Cluster, tmp_path: Path
) -> None:
    expected = foveal.evaluate(list(RUNS[:4]), "judgements.jsonl", "charP", overlap="drop")
    with Gate(cluster, tmp_path) as gate:
        found = foveal.evaluate(
            list(RUNS[:4]), "judgements.jsonl", "charP", overlap="drop", executor=gate
        )
    assert found.to_json() == expected.to_json()
    assert gate.killed in [process.pid for process in dask.processes]
    dask.worker({"PYTHONPATH": HERE})
    until(lambda: cluster.workers == 2, "the start of another worker")


def test_a_shared_object_survives_all_workers(tmp_path: Path) -> None:
    """A queue may bring new workers when all are gone."""
    own = DaskCluster(tmp_path / "own")
    try:
        first = own.worker({"PYTHONPATH": HERE})
        with connect(own.address) as cluster:
            results = map_in_order(cluster, pow, range(6), shared=2, ahead=2)
            assert next(results) == 1
            first.kill()
            until(lambda: cluster.workers == 0, "the end of the worker")
            own.worker({"PYTHONPATH": HERE})
            assert list(results) == [2, 4, 8, 16, 32]
    finally:
        own.close()


def test_a_task_that_kills_every_worker_is_named(tmp_path: Path) -> None:
    own = DaskCluster(
        tmp_path / "own", {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0", "PYTHONPATH": HERE}
    )
    try:
        own.worker({"PYTHONPATH": HERE})
        with (
            connect(own.address) as cluster,
            pytest.raises(LostTaskError, match=r"^task 3: given up, as 1 Dask worker ended"),
        ):
            list(map_in_order(cluster, die, [Named(3)]))
    finally:
        own.close()


# -- clusters that are none --------------------------------------------------------------------


def test_nobody_listens(here: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound but not listening: nobody answers there
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(FovealError) as caught, connect(address, timeout=0.5):
            pass
    assert str(caught.value).startswith(f"no Dask scheduler answers at {address} in 0.5 s")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nonsense://x", "foveal: 'nonsense://x' is not the address of a Dask scheduler: "),
        ("nonsense://x:1", "foveal: 'nonsense://x:1' is not the address of a Dask scheduler: "),
        ("127.0.0.1", "foveal: '127.0.0.1' is not the address of a Dask scheduler: missing port"),
        ("file:no.json", "foveal: 'file:no.json' is not the address of a Dask scheduler: "),
        (
            "file:judgements.jsonl",
            "foveal: 'file:judgements.jsonl' is not the address of a Dask scheduler: ",
        ),
    ],
)
def test_what_is_no_address(
    here: Path, capsys: pytest.CaptureFixture[str], address: str, said: str
) -> None:
    assert_refused(call(capsys, *EVALUATE, "-o", "out", "--dask", address), said)
    assert_refused(call(capsys, "index", "documents", "-o", "out", "--dask", address), said)


def test_no_worker(tmp_path: Path) -> None:
    own = DaskCluster(tmp_path / "own")
    try:
        with (
            pytest.raises(FovealError, match=r"no worker joins the scheduler .* in 0\.2 s"),
            connect(own.address, wait=0.2),
        ):
            pass
    finally:
        own.close()


# -- versions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "has"), [("Version: 9.9\n", r"foveal 9\.9"), ("", "foveal None")]
)
def test_another_version_is_refused(tmp_path: Path, metadata: str, has: str) -> None:
    """The worker finds the metadata of another Foveal, or of one without a version, first."""
    installed = tmp_path / "site" / "foveal-9.9.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text(metadata)
    own = DaskCluster(tmp_path / "own")
    try:
        own.worker({"PYTHONPATH": str(installed.parent)})
        said = rf"^Dask worker tcp://127\.0\.0\.1:\d+ has {has}, expected {foveal.__version__}; "
        said += "install the same versions everywhere$"
        with pytest.raises(FovealError, match=said), connect(own.address):
            pass
    finally:
        own.close()


# -- the end -----------------------------------------------------------------------------------


def test_a_scheduler_that_goes_is_said(tmp_path: Path) -> None:
    own = DaskCluster(tmp_path / "own")
    try:
        own.worker({"PYTHONPATH": HERE})
        address = json.loads(own.file.read_text())["address"]
        with connect(own.address) as cluster:

            def tasks() -> Iterator[str]:
                yield str(tmp_path)
                own.processes[0].kill()
                yield str(tmp_path)

            with pytest.raises(FovealError, match=f"the Dask scheduler at {address} is gone"):
                list(map_in_order(cluster, wait_for, tasks()))
    finally:
        own.close()


def test_a_full_disk_leaves_no_index(
    here: Path, dask: DaskCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What workers have parsed finds no room here: said in a line, and nothing is half-written."""
    output = tmp_path / "there.fvx"
    output.write_bytes(b"FOVEALIX")  # an index: no other file is replaced
    command = ("index", "documents", "-o", str(output), "--dask", dask.address)
    done = finished([sys.executable, str(Path(HERE) / "full_disk.py"), *command])
    assert done.returncode == 2
    assert done.stderr == f"{output}: cannot be read or written: File too large\n"
    assert output.read_bytes() == b"FOVEALIX"
    assert list(tmp_path.iterdir()) == [output]
    assert call(capsys, *command).code == 0
    assert output.read_bytes() == Path("crossings.fvx").read_bytes()
