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
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from executor_tasks import (
    Named,
    die,
    die_once,
    fail_at,
    loaded,
    pid_when,
    refuse,
    square,
    threads_of_polars,
    wait_for,
)
from foveal.errors import FovealError, InputError, Problem, UsageError
from foveal.executors import LostTaskError, Processes, cores, in_order, workers_of
from foveal.executors.calls import answer, order, outcome
from patience import PATIENCE, started, until


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
    assert list(in_order(None, square, numbers)) == expected
    with ThreadPoolExecutor(workers) as threads:
        assert list(in_order(threads, square, numbers, ahead)) == expected
        assert list(in_order(threads, square, numbers)) == expected


@given(st.integers(0, 30), st.integers(1, 6))
@settings(max_examples=40)
def test_no_more_than_so_many_are_under_way(tasks: int, ahead: int) -> None:
    executor = Late()
    assert list(in_order(executor, square, range(tasks), ahead)) == [n * n for n in range(tasks)]
    assert executor.most == min(tasks, ahead)


def test_tasks_are_taken_only_as_results_are() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = in_order(Late(), square, tasks(), 3)
    next(results)
    assert taken == [0, 1, 2]
    next(results)
    assert taken == [0, 1, 2, 3]


def test_two_tasks_for_each_worker_unless_told() -> None:
    executor = Late()
    executor.workers = 3  # type: ignore[attr-defined]
    list(in_order(executor, square, range(20)))
    assert executor.most == 6


def test_the_first_error_in_order_is_raised_whatever_fails_first(processes: Processes) -> None:
    with ThreadPoolExecutor(4) as threads:
        for executor in (None, threads, processes):
            found: list[int] = []
            with pytest.raises(InputError, match=r"^a\.run:3: is bad$"):
                found.extend(in_order(executor, fail_at, range(8), 8))
            assert found == [0, 1, 2]


def test_what_comes_after_an_error_is_cancelled() -> None:
    executor = Late()
    with pytest.raises(InputError):
        list(in_order(executor, fail_at, range(100), 6))
    assert [future.cancelled() for future in executor.under_way] == [False] + [True] * 5


def test_an_executor_that_breaks_for_good_is_said() -> None:
    class Broken(Late):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            raise BrokenExecutor("gone")

    with pytest.raises(FovealError, match="a worker was ended"):
        list(in_order(Broken(), square, [1]))


def test_workers_of_executors(processes: Processes) -> None:
    assert workers_of(processes) == 2
    assert workers_of(Late()) >= 1
    with ThreadPoolExecutor(5) as threads:
        assert workers_of(threads) == 5


# -- errors that travel ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        InputError([Problem("a.run", 3, "score 'x' is not a number"), Problem("b", None, "é")]),
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


def test_all_problems_of_an_input_arrive(processes: Processes) -> None:
    with pytest.raises(InputError) as caught:
        processes.submit(refuse, 7).result()
    assert caught.value.problems == (
        Problem("a.run", 7, "is bad"),
        Problem("b.run", None, "is worse"),
    )


def test_an_unforeseen_error_says_where_it_arose(processes: Processes) -> None:
    with pytest.raises(TypeError) as caught:
        processes.submit(square, "x").result()  # type: ignore[arg-type]
    assert "in square" in caught.value.__notes__[0]


class _Stubborn(Exception):
    """It can be sent, but not be made again, even where Dask has its own way to send errors."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return int, (str(self),)


def _stubborn() -> None:
    raise _Stubborn(1, 2)


def test_an_error_that_does_not_survive_pickling_is_told_in_words() -> None:
    with pytest.raises(RuntimeError, match="_Stubborn: 1 and 2"):
        outcome(answer(order(_stubborn, (), {})))


def test_what_cannot_be_sent_is_the_callers_error(processes: Processes) -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        processes.submit(lambda: 1).result()
    assert processes.submit(square, 3).result() == 9


# -- processes that die ------------------------------------------------------------------------


def test_other_processes_do_the_work(processes: Processes) -> None:
    assert processes.submit(os.getpid).result() != os.getpid()


def test_this_process_may_be_one_of_them(tmp_path: Path) -> None:
    with Processes(2, here=True) as pool:
        held = pool.submit(pid_when, str(tmp_path))  # by this process, which is taken first
        other = pool.submit(os.getpid).result()
        (tmp_path / "go").touch()
        assert held.result() == os.getpid() != other
        assert pool.submit(lambda: 1).result() == 1  # which could not be sent
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result()


def test_one_process_that_is_this_one_starts_no_other() -> None:
    with Processes(1, here=True, ahead="foveal.spans") as pool:
        assert [pool.submit(os.getpid).result() for _ in range(3)] == [os.getpid()] * 3


def test_processes_that_start_ahead_have_imported_what_they_need() -> None:
    with Processes(1, ahead="foveal.nexi") as pool:
        process = pool._all[0]._process
        assert process is not None
        assert process.is_alive()
        assert pool.submit(loaded, "foveal.nexi").result()
        assert pool.submit(os.getpid).result() == process.pid
    with Processes(1) as pool:
        assert not pool.submit(loaded, "foveal.nexi").result()


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    with Processes(cores(), ahead="polars") as pool:
        assert pool.submit(threads_of_polars).result() == 1
    monkeypatch.setenv("POLARS_MAX_THREADS", "3")  # who says it himself is left alone
    with Processes(1, ahead="polars") as pool:
        assert pool.submit(threads_of_polars).result() == 3


def test_a_process_that_is_killed_costs_a_retry(processes: Processes, tmp_path: Path) -> None:
    assert processes.submit(die_once, str(tmp_path)).result() == "second"
    assert list(in_order(processes, square, range(5))) == [0, 1, 4, 9, 16]


def test_killed_from_outside_in_the_middle_of_a_job(processes: Processes, tmp_path: Path) -> None:
    waiting = processes.submit(pid_when, str(tmp_path))
    others = [processes.submit(square, number) for number in range(4)]
    until((tmp_path / "at").exists, "the task")
    victim = int((tmp_path / "at").read_text())
    (tmp_path / "at").unlink()
    os.kill(victim, signal.SIGKILL)
    until((tmp_path / "at").exists, "the second attempt")
    (tmp_path / "go").touch()
    assert waiting.result() == int((tmp_path / "at").read_text()) != victim
    assert [future.result() for future in others] == [0, 1, 4, 9]


def test_a_task_that_kills_time_and_again_is_named(processes: Processes) -> None:
    done: list[int] = []
    with pytest.raises(LostTaskError) as caught:
        done.extend(in_order(processes, die, map(Named, range(6))))
    assert done == [0, 1, 2]
    assert str(caught.value) == (
        "task 3: given up, as the process at work on it was ended 3 times (by SIGKILL, perhaps "
        "for want of memory)"
    )
    assert processes.submit(square, 4).result() == 16


def test_who_leaves_by_an_error_does_not_wait(tmp_path: Path) -> None:
    endless: list[Future[int]] = []

    def leave() -> None:
        with Processes(1) as pool:
            endless.append(pool.submit(pid_when, str(tmp_path)))
            until((tmp_path / "at").exists, "the task")
            raise KeyError

    with pytest.raises(KeyError):
        leave()
    with pytest.raises(LostTaskError):
        endless[0].result()
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
        _, said = parent.communicate(timeout=PATIENCE)
        assert said.count("Traceback") == (end is signal.SIGINT), said  # of the parent alone
        until(lambda: not _alive(worker), "the end of the process")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def test_one_that_waits_is_not_disturbed_by_others(tmp_path: Path, processes: Processes) -> None:
    waiting = processes.submit(wait_for, str(tmp_path))
    with pytest.raises(LostTaskError):
        processes.submit(die, Named(3)).result()
    assert not waiting.done()
    (tmp_path / "go").touch()
    assert waiting.result() > 0


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
