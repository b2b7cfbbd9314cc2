"""Map tasks in order on any executor; processes of this machine, which are replaced if they die."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache, partial
from importlib import import_module
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from foveal.errors import FovealError, UsageError
from foveal.files.memory import keep_freed_memory

T = TypeVar("T")
Sharing = tuple[Callable[[Any], Future[T]], Callable[[Future[T], Any], T]]

_ATTEMPTS = 3  # number of times that a task may end its worker


class LostTaskError(FovealError):
    """A task that ended its worker each time it was tried."""

    @classmethod
    def from_task(cls, task: Any, reason: str) -> LostTaskError:
        return cls(f"{getattr(task, 'label', None) or task}: given up, as {reason}")


def count_cores() -> int:
    """Return the number of cores this process may use; on shared machines not all."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def map_in_order(
    executor: Executor | None,
    function: Callable[..., T],
    tasks: Iterable[Any],
    *,
    shared: Any = None,
    ahead: int | None = None,
) -> Iterator[T]:
    """Yield the results of a function in the order of its tasks, whichever is ready first.

    The function is called as ``function(task)``, or as ``function(shared, task)``. `shared` is sent
    once to each worker of Foveal's own executors, and with each task to others. Without an executor
    everything runs here. At most `ahead` tasks are under way, by default two per worker; others are
    taken as results are consumed. The first task in order that fails raises its error, and the
    tasks after it are cancelled. Messages name a task by its `label`, or else ``str(task)``.

    >>> list(map_in_order(None, pow, [1, 2, 3], shared=2))
    [2, 4, 8]
    """
    call = function if shared is None else partial(function, shared)
    if executor is None:
        yield from map(call, tasks)
        return
    context = executor._mp_context if isinstance(executor, futures.ProcessPoolExecutor) else None
    if context is not None and context.get_start_method() == "fork":  # without Polars' threads
        raise UsageError(
            "the executor forks its processes, which would hang; expected one such as "
            "foveal.executors.Processes(4), or mp_context=get_context('spawn')"
        )
    if hasattr(executor, "sharing"):  # one of Foveal's own
        sharing = executor.sharing(call)
    else:
        submit = partial(executor.submit, call)
        sharing = nullcontext((submit, lambda future, _task: future.result()))
    calls: deque[tuple[Future[T], Any]] = deque()
    try:
        with sharing as (submit, wait_for):
            for task in tasks:
                calls.append((submit(task), task))
                workers = getattr(executor, "workers", 0) or getattr(executor, "_max_workers", 0)
                while len(calls) >= (ahead or 2 * (workers or count_cores())):
                    yield wait_for(*calls.popleft())
            while calls:
                yield wait_for(*calls.popleft())
    except futures.BrokenExecutor as error:
        raise FovealError(
            "a worker was killed, perhaps for lack of memory, and the executor cannot replace it"
        ) from error
    finally:
        for future, _ in calls:
            future.cancel()


class Processes(Executor):
    """An executor of local processes, for example as ``executor=`` of `foveal.evaluate`.

    The processes share the cores. With `preload` they start at once and import that module while
    the client prepares. In `foveal.evaluate` and `map_in_order`, tasks survive the death of a
    worker. Leaving the ``with`` block by an error or Ctrl-C ends all workers at once. Workers
    import the program that starts them: guard a script by ``if __name__ == "__main__":``.

    >>> with Processes(2) as processes:
    ...     list(processes.map(abs, [-1, 2]))
    [1, 2]
    """

    def __init__(self, workers: int, *, preload: str | None = None) -> None:
        self.workers, self._preload = workers, preload
        self._pool: futures.ProcessPoolExecutor | None = None
        self._exit_code = 0
        # Signals interrupt the main thread only, so this one starts and ends whole processes.
        self._starter = futures.ThreadPoolExecutor(1, "foveal", _block_interrupts)
        for _ in range(workers if preload else 0):
            self._starter.submit(self._submit, int)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Submit a call, as to any executor; a pool that is broken is replaced."""
        return self._starter.submit(self._submit, fn, *args, **kwargs).result()

    def _submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if self._pool is None:
            self._pool = futures.ProcessPoolExecutor(
                self.workers,
                mp_context=get_context("spawn"),
                initializer=_start_worker,
                initargs=(self.workers, self._preload),
            )
        try:
            return self._pool.submit(fn, *args, **kwargs)
        except BrokenProcessPool:
            self._end_workers()
            return self._submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - of Executor
        """End the workers when they have done what was submitted."""
        self._starter.shutdown(wait=wait)
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            self.kill()
        self.shutdown()

    def kill(self) -> None:
        """End all workers at once; the next call starts others."""
        with suppress(RuntimeError):  # it was shut down
            self._starter.submit(self._end_workers).result()

    def _end_workers(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            queue: Any = pool._result_queue
            processes = list(pool._processes.values())
            for process in processes:
                process.kill()
            queue._writer.close()  # so that the pool does not wait for the rest of a result
            pool.shutdown()
            self._exit_code = next((process.exitcode or 0 for process in processes), 0)

    @contextmanager
    def sharing(self, call: Callable[[Any], T]) -> Iterator[Sharing[T]]:
        """Yield functions that submit a task and wait for its result; workers read `call` once."""
        with TemporaryDirectory(prefix="foveal-", ignore_cleanup_errors=True) as folder:
            source = Path(folder, "call")
            try:
                source.write_bytes(pickle.dumps(call))
            except OSError as error:
                raise FovealError(f"{source}: cannot be written: {error.strerror}") from None
            submit = partial(self.submit, run_task, source)
            try:
                yield submit, partial(self._wait_for, submit)
            except BaseException:
                self.kill()  # the other tasks under way
                raise

    def _wait_for(self, submit: Callable[[Any], Future[T]], future: Future[T], task: Any) -> T:
        """Return the result of a task, which is submitted again if it is lost.

        The pool of the standard library breaks with the first worker that dies, whichever task was
        to blame. Each lost task is repeated when its result is due; the second time it runs alone.
        """
        for attempt in range(_ATTEMPTS):
            future = submit(task) if attempt else future
            while not futures.wait([future], timeout=1).done:
                # If a worker dies while it sends a result, the pool waits for the rest for ever.
                processes = list(self._pool._processes.values()) if self._pool else []
                if not all(process.is_alive() for process in processes):
                    self.kill()
            if not isinstance(future.exception(), BrokenProcessPool):
                return future.result()
        self.kill()
        reason = ", perhaps for lack of memory" if self._exit_code == -signal.SIGKILL else ""
        ended = f"{_ATTEMPTS} times (exit code {self._exit_code}{reason})"
        raise LostTaskError.from_task(task, f"the process at work on it was ended {ended}")


def _block_interrupts() -> None:
    """Keep SIGINT from this thread and from the processes that it starts."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        resource_tracker.ensure_running()  # its start unblocks the signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


# -- in a worker -----------------------------------------------------------------------------------


def _start_worker(workers: int, preload: str | None) -> None:
    """Prepare a worker: it ends with its parent, and uses its share of the cores."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, args=[parent_process()], daemon=True).start()
    # Taking down all imported modules at the end would take a tenth of a second.
    Finalize(None, os._exit, args=(0,), exitpriority=0)
    keep_freed_memory()
    os.environ.setdefault("POLARS_MAX_THREADS", str(max(count_cores() // workers, 1)))
    if preload is not None:
        import_module(preload)


def _follow_parent(parent: Any) -> None:
    parent.join()
    os._exit(1)


_loading = threading.Lock()


@lru_cache(maxsize=1)
def _load(source: Path | bytes) -> Any:
    """Load the pickled function of all tasks, from our own client."""
    data = source if isinstance(source, bytes) else source.read_bytes()
    return pickle.loads(data)  # noqa: S301


def run_task(source: Path | bytes, task: Any) -> Any:
    """Call the pickled function, which a worker loads once, on a task."""
    with _loading:  # a worker of a cluster may have several threads
        call = _load(source)
    return call(task)
