"""Processes of this machine as an executor; workers that die are replaced.

The pool of the standard library is lost with the first worker that dies, and cannot tell which task
was to blame. Unfinished tasks are then submitted once more to a new pool. If that is lost too, they
run one at a time, so that the task to blame is known.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

from foveal.executors.memory import keep_freed_memory
from foveal.executors.order import Call, LostTaskError, SharingExecutor, Submit, cores, run_task

__all__ = ["Processes"]

P = ParamSpec("P")
T = TypeVar("T")


class Processes(SharingExecutor):
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
        # Signals interrupt the main thread only, so this one starts and ends whole processes.
        self._starter = ThreadPoolExecutor(1, "foveal", initializer=_block_interrupts)
        if preload is not None:
            pool = self._make_pool(workers)
            for _ in range(workers):
                self._starter.submit(pool.submit, int)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit a call, as to any executor."""
        pool = self._pool or self._make_pool(self.workers)
        return self._starter.submit(pool.submit, fn, *args, **kwargs).result()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - of Executor
        """End the workers when they have done what was submitted."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._starter.shutdown(wait=wait)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            self._kill()
        self.shutdown()

    @contextmanager
    def sharing(self, function: Callable[..., Any], shared: Any) -> Iterator[Submit]:
        """Yield a function that submits a task; workers read `shared` from a temporary file."""
        key = uuid4().hex
        source: Path | bytes | None = None
        with ExitStack() as stack:
            if shared is not None:
                source = pickle.dumps(shared, protocol=pickle.HIGHEST_PROTOCOL)
                with suppress(OSError):  # no room for a file: then it is sent with each task
                    folder = TemporaryDirectory(prefix="foveal-", ignore_cleanup_errors=True)
                    path = Path(stack.enter_context(folder)) / "shared"
                    path.write_bytes(source)
                    source = path
            yield lambda task: self.submit(run_task, function, key, source, task)

    def fetch_first(self, calls: deque[Call]) -> Any:
        """Return the result of the first call; if the pool is lost, repeat all lost calls."""
        while self._is_lost(calls[0]):
            alone = calls[0].attempts > 1
            self._kill()  # now all lost calls are known
            if alone:
                self._make_pool(1)
            for call in [call for call in calls if self._is_lost(call)]:
                call.submit()
                if alone and self._is_lost(call):
                    self._kill()
                    code = self._exit_codes[0]
                    known = -code in set(signal.Signals)
                    reason = f"by {signal.Signals(-code).name}" if known else f"exit code {code}"
                    reason += ", perhaps for want of memory" if -code == signal.SIGKILL else ""
                    call.future = Future()
                    call.future.set_exception(
                        LostTaskError(
                            f"{call.label}: given up, as the process at work on it was ended "
                            f"{call.attempts} times ({reason})"
                        )
                    )
                    break
            if alone:
                self._kill()
        return calls[0].future.result()

    def cancel(self, calls: deque[Call]) -> None:
        """End the workers if any of the calls is still under way.

        The pool fails if it breaks while it holds cancelled calls, so none is ever cancelled.
        """
        if not all(call.future.done() for call in calls):
            self._kill()

    def _is_lost(self, call: Call) -> bool:
        """Wait for a call; return True if the pool broke before it was done."""
        while not wait([call.future], timeout=1).done:
            # If a worker dies while it sends a result, the pool waits for the rest for ever.
            processes = list(self._pool._processes.values()) if self._pool else []
            if not all(process.is_alive() for process in processes):
                self._kill()
        return isinstance(call.future.exception(), BrokenProcessPool)

    def _make_pool(self, workers: int) -> ProcessPoolExecutor:
        self._pool = ProcessPoolExecutor(
            workers,
            mp_context=get_context("spawn"),
            initializer=_start_worker,
            initargs=(workers, self._preload),
        )
        return self._pool

    def _kill(self) -> None:
        """End all workers at once; the next call starts others."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            self._exit_codes = self._starter.submit(_kill_workers, pool).result()


def _kill_workers(pool: ProcessPoolExecutor) -> list[int]:
    """End the workers of a pool, and return their exit codes."""
    queue: Any = pool._result_queue
    processes = list(pool._processes.values())
    for process in processes:
        process.kill()
    queue._writer.close()  # so that the pool does not wait for the rest of a result
    pool.shutdown()
    return [process.exitcode or 0 for process in processes]


def _block_interrupts() -> None:
    """Keep SIGINT from this thread, and from the processes that it starts."""
    if hasattr(signal, "pthread_sigmask"):
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
        os.environ.setdefault("POLARS_MAX_THREADS", str(max(cores() // workers, 1)))
    if preload is not None:
        import_module(preload)
