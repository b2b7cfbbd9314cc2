"""Processes of this machine as an executor; workers that die are replaced."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from foveal.executors.order import LostTaskError, count_cores, name_task, run_task
from foveal.files.memory import keep_freed_memory

T = TypeVar("T")

_ATTEMPTS = 3
"""Number of times that a task may end its worker."""


class Processes(Executor):
    """An executor of local processes, for example as ``executor=`` of `foveal.evaluate`.

    Parameters
    ----------
    workers : int
        Number of processes; they share the cores.
    preload : str, optional
        A module that tasks need. Workers then start at once and import it while the client
        prepares; by default they start with the first tasks.

    In `foveal.evaluate` and `map_in_order`, tasks survive the death of a worker; a plain `submit`
    is that of `concurrent.futures.ProcessPoolExecutor`. Leaving the ``with`` block by an error or
    Ctrl-C ends all workers at once. Workers import the program that starts them: guard a script
    by ``if __name__ == "__main__":``.

    >>> with Processes(2) as processes:
    ...     list(processes.map(abs, [-1, 2]))
    [1, 2]
    """

    def __init__(self, workers: int, *, preload: str | None = None) -> None:
        self.workers, self._preload = workers, preload
        self._pool: ProcessPoolExecutor | None = None
        self._exit_codes: list[int] = []
        self._is_shut_down = False
        # Signals interrupt the main thread only, so this one starts and ends whole processes.
        self._starter = ThreadPoolExecutor(1, "foveal", _block_interrupts)
        if preload is not None:
            for _ in range(workers):
                self._starter.submit(self._submit, int)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Submit a call, as to any executor; a pool that is broken is replaced."""
        try:
            return self._starter.submit(self._submit, fn, *args, **kwargs).result()
        except BrokenProcessPool:
            self.kill()
            return self.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - of Executor
        """End the workers when they have done what was submitted."""
        self._is_shut_down = True
        self._starter.shutdown(wait=wait)
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            self.kill()
        self.shutdown()

    @contextmanager
    def sharing(
        self, function: Callable[..., T], shared: Any
    ) -> Iterator[tuple[Callable[[Any], Future[T]], Callable[[Future[T], Any], T]]]:
        """Yield two functions: one submits a task, the other waits for its result.

        Workers read `shared` from a temporary file.
        """
        source: Path | bytes | None = None
        with ExitStack() as stack:
            if shared is not None:
                source = pickle.dumps(shared, protocol=pickle.HIGHEST_PROTOCOL)
                with suppress(OSError):  # no room for a file: then it is sent with each task
                    folder = TemporaryDirectory(prefix="foveal-", ignore_cleanup_errors=True)
                    path = Path(stack.enter_context(folder)) / "shared"
                    path.write_bytes(source)
                    source = path
            submit = partial(self.submit, run_task, function, source)
            try:
                yield submit, partial(self._wait_for, submit)
            except BaseException:
                self.kill()  # the other tasks under way
                raise

    def _wait_for(self, submit: Callable[[Any], Future[T]], future: Future[T], task: Any) -> T:
        """Return the result of a task, which is submitted again if it is lost.

        The pool of the standard library is lost with the first worker that dies, and does not tell
        which task was to blame. Each lost task is repeated when its result is due. If it is lost
        again, the pool is new and no other task is submitted until the result is there: it runs
        alone.
        """
        for _ in range(_ATTEMPTS - 1):
            if self._is_lost(future):
                future = submit(task)
        if not self._is_lost(future):
            return future.result()
        self.kill()
        code = self._exit_codes[0]
        known = -code in set(signal.Signals)
        reason = f"by {signal.Signals(-code).name}" if known else f"exit code {code}"
        reason += ", perhaps for want of memory" if -code == signal.SIGKILL else ""
        raise LostTaskError(
            f"{name_task(task)}: given up, as the process at work on it was ended "
            f"{_ATTEMPTS} times ({reason})"
        )

    def _is_lost(self, future: Future[Any]) -> bool:
        """Wait for a call; return True if the pool broke before it was done."""
        while not wait([future], timeout=1).done:
            # If a worker dies while it sends a result, the pool waits for the rest for ever.
            processes = list(self._pool._processes.values()) if self._pool else []
            if not all(process.is_alive() for process in processes):
                self.kill()
        return isinstance(future.exception(), BrokenProcessPool)

    def kill(self) -> None:
        """End all workers at once; the next call starts others."""

        def end_workers() -> None:
            pool, self._pool = self._pool, None
            if pool is not None:
                queue: Any = pool._result_queue
                processes = list(pool._processes.values())
                for process in processes:
                    process.kill()
                queue._writer.close()  # so that the pool does not wait for the rest of a result
                pool.shutdown()
                self._exit_codes = [process.exitcode or 0 for process in processes]

        if not self._is_shut_down:
            self._starter.submit(end_workers).result()

    def _submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Submit a call to the pool, which is made for the first one."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.workers,
                mp_context=get_context("spawn"),
                initializer=_start_worker,
                initargs=(self.workers, self._preload),
            )
        return self._pool.submit(fn, *args, **kwargs)


def _block_interrupts() -> None:
    """Keep SIGINT from this thread and from the processes that it starts."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        resource_tracker.ensure_running()  # its start unblocks the signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _start_worker(workers: int, preload: str | None) -> None:
    """Prepare a worker: it ends with its parent, and uses its share of the cores."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def follow_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow_parent, daemon=True).start()
    # Taking down all imported modules at the end would take a tenth of a second.
    Finalize(None, os._exit, args=(0,), exitpriority=0)
    keep_freed_memory()
    if "polars" not in sys.modules:
        os.environ.setdefault("POLARS_MAX_THREADS", str(max(count_cores() // workers, 1)))
    if preload is not None:
        import_module(preload)
