"""Processes on this machine; one that dies is replaced, and its task done again.

A pool of the standard library is lost with the first of its processes, and does not tell which task
that one was at. Here each process has a pipe of its own: when it breaks, the task is known.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from queue import LifoQueue
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from foveal.errors import FovealError, counted
from foveal.executors.calls import answer, name_of, order, outcome
from foveal.executors.memory import keep_freed_memory
from foveal.executors.order import cores

__all__ = ["LostTaskError", "Processes"]

P = ParamSpec("P")
T = TypeVar("T")

_ATTEMPTS = 3
_SPAWN = get_context("spawn")
"""Copies of a process that has threads, as Polars does, may hang; so processes start afresh."""


class LostTaskError(FovealError):
    """A task whose process ended, time and again, before it was done."""


class Processes(Executor):
    """An executor of local processes that outlives them.

    Parameters
    ----------
    workers : int
        Most processes; each is started when there is work for it, unless `ahead` is given.
    attempts : int
        How often a task is tried that ends its process.
    here : bool
        Whether this process is one of them: tasks that it works on need not travel.
    ahead : str, optional
        A module that tasks need. Processes start at once and import it, while the client is still
        busy with what comes before the first task.

    Left by an error, it does not wait for tasks that nobody wants any more, except for the one that
    this process itself is at.

    Examples
    --------
    As processes import the program that starts them, a script is to be guarded by
    ``if __name__ == "__main__":``.

    >>> with Processes(2) as processes:
    ...     list(processes.map(abs, [-1, 2]))
    [1, 2]
    """

    def __init__(
        self,
        workers: int,
        *,
        attempts: int = _ATTEMPTS,
        here: bool = False,
        ahead: str | None = None,
    ) -> None:
        self.workers = workers
        self._attempts = attempts
        self._ending = threading.Event()
        self._threads = ThreadPoolExecutor(workers, "foveal", initializer=_leave_interrupts)
        # The one that worked last is taken first: the others may not be needed.
        self._idle: LifoQueue[_Process | _Here] = LifoQueue()
        self._all = [_Process(ahead, workers) for _ in range(workers - here)]
        for process in self._all:
            self._idle.put(process)
            if ahead is not None:
                process.start()
        if here:
            self._idle.put(_Here())

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function called in some process; as for any executor."""
        return self._threads.submit(self._done, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - of Executor
        """End the processes when they have done what was submitted."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        if wait:
            for process in self._all:
                process.end()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._ending.set()
            for process in self._all:
                process.kill()
        self.shutdown(cancel_futures=kind is not None)

    def _done(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        process = self._idle.get()
        try:
            for _ in range(self._attempts):
                if self._ending.is_set():
                    break
                try:
                    return process.call(function, args, kwargs)
                except _EndedError as ended:
                    reason = str(ended)
            else:
                raise LostTaskError(
                    f"{name_of(function, args)}: given up, as the process at work on it was ended "
                    f"{counted(self._attempts, 'time')} ({reason})"
                )
            raise LostTaskError(f"{name_of(function, args)}: not done, as work was given up")
        finally:
            self._idle.put(process)


class _EndedError(Exception):
    """The process ended before it answered; the message says how."""


class _Here:
    """The process of the client, to which nothing is sent."""

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The function's value."""
        return function(*args, **kwargs)


class _Process:
    """One process and the pipe to it; started when it is first called, and again after its end.

    It imports the module `ahead` first, and shares the cores with so many `others`.
    """

    _starting = threading.Lock()

    def __init__(self, ahead: str | None, others: int) -> None:
        self._ahead = ahead
        self._others = others
        self._pipe: Connection | None = None
        self._process: Any = None

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The function's value there; its error is raised here."""
        # Before anything is sent: what cannot be pickled is no fault of the process.
        ordered = order(function, args, kwargs)
        if self._pipe is None:
            self.start()
        assert self._pipe is not None
        try:
            self._pipe.send_bytes(ordered)
            answered = self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise _EndedError(self._bury()) from None
        return outcome(answered)

    def start(self) -> None:
        here, there = _SPAWN.Pipe()
        args = (there, self._ahead, self._others)
        # Not by several threads at once: a pipe must not be inherited by the wrong process.
        with self._starting:
            process = _SPAWN.Process(target=_serve, args=args, daemon=True)
            process.start()
            self._process = process
        there.close()
        self._pipe = here

    def _bury(self) -> str:
        """Forget a process that has ended, and say how it did."""
        self._process.join()
        code = self._process.exitcode
        self._forget()
        if code is None or code >= 0:
            return f"exit code {code}"
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"by {name}" + (", perhaps for want of memory" if name == "SIGKILL" else "")

    def kill(self) -> None:
        """End the process now; a call under way learns of it."""
        with self._starting:  # a process that is about to start cannot be ended yet
            process = self._process
        if process is not None:
            with suppress(ValueError):  # it has ended meanwhile
                process.kill()

    def end(self) -> None:
        """Let the process go when it has nothing to do."""
        if self._pipe is not None:
            self._pipe.close()
            self._process.join()
            self._forget()

    def _forget(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        self._process.close()
        self._pipe = self._process = None


def _leave_interrupts() -> None:
    """Processes inherit the mask of the thread that starts them: interruptions are for the main."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _follow_parent() -> None:
    """Leave an interruption to the parent, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _share_cores(processes: int) -> None:
    """Let Polars use this process's share of the cores only, unless it is loaded or told already.

    It starts a thread for each core. With a process for each core they get in each other's way.
    """
    if "polars" not in sys.modules:
        os.environ.setdefault("POLARS_MAX_THREADS", str(max(cores() // processes, 1)))


def _serve(pipe: Connection, ahead: str | None, processes: int) -> None:
    """Work on what comes through the pipe until it is closed."""
    _follow_parent()
    keep_freed_memory()
    _share_cores(processes)
    if ahead is not None:
        import_module(ahead)
    while True:
        try:
            ordered = pipe.recv_bytes()
        except EOFError:
            os._exit(0)  # at once: to take down all that was imported takes a tenth of a second
        pipe.send_bytes(answer(ordered))
