"""Any executor: results in order, a bounded number under way, workers that die replaced."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from executor_tasks import (
    Gate,
    Loaded,
    Named,
    die,
    die_once,
    die_while_sending,
    fail_at,
    loaded,
    pid_when,
    square,
    threads_of_polars,
    who_loaded,
)
from foveal.errors import FovealError, InputError, Problem, UsageError
from foveal.executors import LostTaskError, Processes, count_cores, map_in_order
from timeouts import WAIT_LIMIT, started, until


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as pool:
        yield pool


class Late(Executor):
    """An executor of a user: here, but each task only when its result is asked for or it ends."""

    def __init__(self) -> None:
        self.under_way: list[Future[Any]] = []
        self.most = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = _Lazy(fn, args, kwargs)
        self.under_way = [one for one in self.under_way if not one.done()] + [future]
        self.most = max(self.most, len(self.under_way))
        return future


class _Lazy(Future[Any]):
    def __init__(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> None:
        super().__init__()
        self.call = fn, args, kwargs

    def result(self, timeout: float | None = None) -> Any:
        fn, args, kwargs = self.call
        self.set_running_or_notify_cancel()
        try:
            self.set_result(fn(*args, **kwargs))
        except BaseException as error:
            self.set_exception(error)
        return super().result(timeout)


# -- in order ----------------------------------------------------------------------------------


@given(st.lists(st.integers()), st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=40)
def test_results_are_in_the_order_of_tasks(numbers: list[int], ahead: int, workers: int) -> None:
    expected = [square(number) for number in numbers]
    assert list(map_in_order(None, square, numbers)) == expected
    with ThreadPoolExecutor(workers) as threads:
        assert list(map_in_order(threads, square, numbers, ahead=ahead)) == expected
        assert list(map_in_order(threads, square, numbers)) == expected


@given(st.integers(0, 30), st.integers(1, 6))
@settings(max_examples=40)
def test_no_more_than_so_many_are_under_way(tasks: int, ahead: int) -> None:
    executor = Late()
    assert list(map_in_order(executor, square, range(tasks), ahead=ahead)) == [
        n * n for n in range(tasks)
    ]
    assert executor.most == min(tasks, ahead)


def test_tasks_are_taken_only_as_results_are() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = map_in_order(Late(), square, tasks(), ahead=3)
    next(results)
    assert taken == [0, 1, 2]
    next(results)
    assert taken == [0, 1, 2, 3]


def test_the_first_error_in_order_is_raised_whatever_fails_first(processes: Processes) -> None:
    with ThreadPoolExecutor(4) as threads:
        for executor in (None, threads, processes):
            found: list[int] = []
            with pytest.raises(InputError, match=r"^a\.run:3: is bad$"):
                found.extend(map_in_order(executor, fail_at, range(8), ahead=8))
            assert found == [0, 1, 2]


def test_what_comes_after_an_error_is_cancelled() -> None:
    executor = Late()
    with pytest.raises(InputError):
        list(map_in_order(executor, fail_at, range(100), ahead=6))
    assert [future.cancelled() for future in executor.under_way] == [False] + [True] * 5


def test_an_executor_that_breaks_for_good_is_said() -> None:
    class Broken(Late):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            raise BrokenExecutor("gone")

    with pytest.raises(FovealError, match="a worker was killed"):
        list(map_in_order(Broken(), square, [1]))


def test_a_shared_object_reaches_every_task(processes: Processes) -> None:
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
    ):
        for executor in (None, Late(), threads, pool, processes):
            assert list(map_in_order(executor, pow, range(4), shared=2)) == [1, 2, 4, 8]
            assert list(map_in_order(executor, pow, range(4), shared=3)) == [1, 3, 9, 27]


def test_a_shared_object_is_sent_once_to_each_worker(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, folder = tmp_path / "room", tmp_path / "loaded"
    room.mkdir()
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    found = []
    for task, worker in map_in_order(processes, who_loaded, range(12), shared=Loaded(folder)):
        assert len(list(room.glob("*/*"))) == 1
        found.append((task, worker))
    assert [task for task, _ in found] == list(range(12))
    workers = {str(worker) for _, worker in found}
    assert str(os.getpid()) not in workers
    assert sorted(path.stem for path in folder.iterdir()) == sorted(workers)
    assert list(room.iterdir()) == []


# -- errors that travel ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        InputError(
            [
                Problem("run.bad", "a.run", 3, "score 'x' is not a number"),
                Problem("run.bad", "b", None, "é"),
            ]
        ),
        UsageError("no measure given"),
        FovealError("a message"),
        LostTaskError("task: given up"),
        FileNotFoundError(2, "No such file or directory", "a.run"),
    ],
)
def test_errors_are_whole_on_the_other_side(error: Exception) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert back.__dict__ == error.__dict__


def test_what_cannot_be_sent_is_the_callers_error(processes: Processes) -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        processes.submit(lambda: 1).result()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        list(map_in_order(processes, pow, [1], shared=lambda: 1))
    assert processes.submit(square, 3).result() == 9


# -- processes that die ------------------------------------------------------------------------


def test_processes_that_start_early_have_imported_what_they_need() -> None:
    with Processes(1, preload="foveal.nexi") as pool:
        assert pool.submit(loaded, "foveal.nexi").result()
    with Processes(1) as pool:
        assert not pool.submit(loaded, "foveal.nexi").result()


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    with Processes(count_cores(), preload="polars") as pool:
        assert pool.submit(threads_of_polars).result() == 1
    monkeypatch.setenv("POLARS_MAX_THREADS", "3")  # who says it himself is left alone
    with Processes(1, preload="polars") as pool:
        assert pool.submit(threads_of_polars).result() == 3


def test_a_worker_that_is_killed_costs_a_retry(processes: Processes, tmp_path: Path) -> None:
    assert list(map_in_order(processes, die_once, [str(tmp_path)])) == ["second"]
    assert list(map_in_order(processes, square, range(5))) == [0, 1, 4, 9, 16]


def test_a_worker_that_is_killed_from_outside(processes: Processes, tmp_path: Path) -> None:
    with Gate(processes, tmp_path) as gate:
        assert list(map_in_order(gate, pow, range(8), shared=2)) == [2**n for n in range(8)]
    assert gate.killed


def test_a_task_that_always_kills_its_worker_is_named(processes: Processes) -> None:
    done: list[int] = []
    with pytest.raises(LostTaskError) as caught:
        done.extend(map_in_order(processes, die, map(Named, range(6))))
    assert done == [0, 1, 2]
    assert str(caught.value) == (
        "task 3: given up, as the process at work on it was ended 3 times (exit code -9, perhaps "
        "for lack of memory)"
    )
    with pytest.raises(LostTaskError, match=r"^\(9,\): .* 3 times \(exit code 9\)$"):
        list(map_in_order(processes, leave, [(9,)]))
    assert processes.submit(square, 4).result() == 16


def leave(task: tuple[int]) -> None:
    os._exit(task[0])


def test_a_worker_that_dies_while_it_sends_a_result(processes: Processes, tmp_path: Path) -> None:
    send = partial(die_while_sending, str(tmp_path))
    sizes = [10_000_000, 3]
    assert [len(sent) for sent in map_in_order(processes, send, sizes)] == sizes


def test_large_tasks_that_wait_when_a_worker_dies(processes: Processes, tmp_path: Path) -> None:
    with Gate(processes, tmp_path) as gate:
        sizes = [5_000_000] * 6
        assert list(map_in_order(gate, len, map(bytes, sizes), ahead=6)) == sizes
    assert gate.killed


def test_an_executor_that_is_broken_already_is_replaced(tmp_path: Path) -> None:
    with Processes(1) as pool:
        with pytest.raises(BrokenExecutor):
            pool.submit(die, 3).result()
        assert list(map_in_order(pool, square, range(3))) == [0, 1, 4]


def test_who_leaves_by_an_error_does_not_wait(tmp_path: Path) -> None:
    endless: list[Future[int]] = []

    def leave() -> None:
        with Processes(1) as pool:
            endless.append(pool.submit(pid_when, str(tmp_path)))
            until((tmp_path / "at").exists, "the task")
            raise KeyError

    with pytest.raises(KeyError):
        leave()
    assert endless[0].exception() is not None
    assert not _alive(int((tmp_path / "at").read_text()))


def test_no_process_and_no_thread_is_left() -> None:
    before = threading.active_count()
    with Processes(2) as pool:
        pids = {pool.submit(os.getpid).result() for _ in range(4)}
    assert not any(map(_alive, pids))
    assert threading.active_count() == before


SCRIPT = """
import sys
from foveal.executors import Processes
from executor_tasks import pid_when
if __name__ == "__main__":
    with Processes(1) as pool:
        pool.submit(pid_when, sys.argv[1]).result()
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_parent(end: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with started(
        [sys.executable, str(tmp_path / "script.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        stderr=subprocess.PIPE,
        text=True,
    ) as parent:
        until((tmp_path / "at").exists, "the task")
        worker = int((tmp_path / "at").read_text())
        if end is signal.SIGINT:  # as a terminal does, to all of them
            os.kill(worker, end)
        parent.send_signal(end)
        _, said = parent.communicate(timeout=WAIT_LIMIT)
        assert said.count("Traceback") == (end is signal.SIGINT), said  # of the parent alone
        until(lambda: not _alive(worker), "the end of the process")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def test_processes_that_would_hang_are_refused() -> None:
    with (
        ProcessPoolExecutor(1, mp_context=get_context("fork")) as forking,
        pytest.raises(UsageError, match=r"forks its processes, which would hang; expected one"),
    ):
        foveal.evaluate({"1": [("d", 0, 9)]}, {"1": [("d", 0, 9)]}, "charR", executor=forking)


def test_an_error_while_processes_start_is_not_hidden() -> None:
    """They start in threads, so that it comes before, during or after the start."""

    def leave() -> None:
        with Processes(2) as pool:
            for number in (-1, -2):
                pool.submit(abs, number)
            raise KeyError

    for _ in range(10):
        with pytest.raises(KeyError):
            leave()
