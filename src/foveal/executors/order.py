"""Map a function over tasks on any executor, with results in the order of the tasks."""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from foveal.errors import FovealError, UsageError

__all__ = ["Call", "LostTaskError", "SharingExecutor", "Submit", "cores", "count_workers"]
__all__ += ["map_in_order", "refuse_forks", "run_task"]

Result = TypeVar("Result")
Submit = Callable[[Any], Future[Any]]


class LostTaskError(FovealError):
    """A task that ended its worker each time it was tried."""


class Call:
    """A task under way, which can be submitted again if its worker dies."""

    def __init__(self, task: Any, submit: Submit) -> None:
        self.task, self._submit = task, submit
        self.attempts = 0
        self.submit()

    def submit(self) -> None:
        """Submit the task; an executor that is broken shows in the future."""
        self.attempts += 1
        try:
            self.future = self._submit(self.task)
        except BrokenExecutor as error:
            self.future = Future()
            self.future.set_exception(error)

    @property
    def label(self) -> str:
        """Name of the task in messages."""
        return str(getattr(self.task, "label", None) or self.task)


class SharingExecutor(Executor):
    """Base of Foveal's own executors, which send a shared object once to each worker."""

    def sharing(self, function: Callable[..., Any], shared: Any) -> AbstractContextManager[Submit]:
        """Yield a function that submits a task to be called with the shared object."""
        raise NotImplementedError

    def fetch_first(self, calls: deque[Call]) -> Any:
        """Return the result of the first call, after calls whose worker died are repeated."""
        raise NotImplementedError

    def cancel(self, calls: deque[Call]) -> None:
        """Cancel calls whose results nobody wants any more."""
        for call in calls:
            call.future.cancel()


def cores() -> int:
    """Return the number of cores this process may use; on shared machines not all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_workers(executor: Executor) -> int:
    """Return how many tasks an executor runs at a time; if unknown, the number of cores.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> count_workers(ThreadPoolExecutor(3))
    3
    """
    known = getattr(executor, "workers", None) or getattr(executor, "_max_workers", None)
    return known if isinstance(known, int) and known > 0 else cores()


def refuse_forks(executor: Executor) -> None:
    """Refuse an executor that forks this process: the copies lack the threads of Polars."""
    if isinstance(executor, ProcessPoolExecutor):
        context = executor._mp_context
        if context is not None and context.get_start_method() == "fork":
            raise UsageError(
                "the executor forks its processes, which would hang; expected one such as "
                "foveal.executors.Processes(4), or mp_context=get_context('spawn')"
            )


def map_in_order(
    executor: Executor | None,
    function: Callable[..., Result],
    tasks: Iterable[Any],
    *,
    shared: Any = None,
    ahead: int | None = None,
) -> Iterator[Result]:
    """Yield the results of a function in the order of its tasks, whichever is ready first.

    Parameters
    ----------
    executor : concurrent.futures.Executor, optional
        Where the function is called; by default here.
    function : callable
        Called as ``function(task)``, or as ``function(shared, task)`` if `shared` is given.
    tasks : iterable
        Taken only as fast as results are consumed, so that tasks may hold data. An attribute
        `label`, or else ``str(task)``, names a task in messages.
    shared : object, optional
        Sent once to each worker of Foveal's own executors, and with each task to others.
    ahead : int, optional
        Largest number of tasks under way; by default two per worker, so that none is idle.

    Raises the error of the first task in order that fails, and cancels the tasks after it.

    >>> list(map_in_order(None, pow, [1, 2, 3], shared=2))
    [2, 4, 8]
    """
    first = () if shared is None else (shared,)
    if executor is None:
        yield from (function(*first, task) for task in tasks)
        return
    own = executor if isinstance(executor, SharingExecutor) else None

    def submit_all(task: Any) -> Future[Result]:
        return executor.submit(function, *first, task)

    def fetch() -> Result:
        result: Result = own.fetch_first(calls) if own else calls[0].future.result()
        calls.popleft()
        return result

    calls: deque[Call] = deque()
    with own.sharing(function, shared) if own else nullcontext(submit_all) as submit:
        try:
            for task in tasks:
                calls.append(Call(task, submit))
                while len(calls) >= max(2 * count_workers(executor) if ahead is None else ahead, 1):
                    yield fetch()
            while calls:
                yield fetch()
        except BrokenExecutor as error:
            raise FovealError(
                "a worker was ended, perhaps for want of memory, and the executor cannot replace it"
            ) from error
        finally:
            if own:
                own.cancel(calls)
            else:
                for call in calls:
                    call.future.cancel()


_loading = Lock()
_loaded: dict[str, Any] = {}
"""The last shared object of this worker."""


def run_task(function: Callable[..., Any], key: str, source: Path | bytes | None, task: Any) -> Any:
    """Call a function in a worker, which unpickles the shared object of that key once.

    An error that does not survive pickling is replaced with one that does.

    >>> run_task(pow, "key", pickle.dumps(2), 3)
    8
    """
    try:
        if source is None:
            return function(task)
        with _loading:  # a worker of a cluster may have several threads
            if key not in _loaded:
                _loaded.clear()
                pickled = source if isinstance(source, bytes) else source.read_bytes()
                _loaded[key] = pickle.loads(pickled)  # noqa: S301 - from our own client
            shared = _loaded[key]
        return function(shared, task)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
        except Exception:
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        raise
