"""Map a function over tasks on any executor, with results in the order of the tasks."""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import nullcontext
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from foveal.errors import FovealError, UsageError

Result = TypeVar("Result")


class LostTaskError(FovealError):
    """A task that ended its worker each time it was tried."""


def count_cores() -> int:
    """Return the number of cores this process may use; on shared machines not all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
    arguments = () if shared is None else (shared,)
    if executor is None:
        yield from (function(*arguments, task) for task in tasks)
        return
    if hasattr(executor, "sharing"):  # one of Foveal's own
        sharing = executor.sharing(function, shared)
    else:
        submit = partial(executor.submit, function, *arguments)
        sharing = nullcontext((submit, lambda future, _task: future.result()))
    calls: deque[tuple[Future[Result], Any]] = deque()
    try:
        with sharing as (submit, wait_for):
            for task in tasks:
                calls.append((submit(task), task))
                workers = getattr(executor, "workers", None) or getattr(
                    executor, "_max_workers", None
                )
                while len(calls) >= (ahead or 2 * (workers or count_cores())):
                    yield wait_for(*calls.popleft())
            while calls:
                yield wait_for(*calls.popleft())
    except BrokenExecutor as error:
        raise FovealError(
            "a worker was ended, perhaps for want of memory, and the executor cannot replace it"
        ) from error
    finally:
        for future, _ in calls:
            future.cancel()


def name_task(task: Any) -> str:
    """Return the name of a task in messages."""
    return str(getattr(task, "label", None) or task)


_loading = Lock()


@lru_cache(maxsize=1)
def _load(source: Path | bytes) -> Any:
    """Return the shared object of this worker."""
    return pickle.loads(source if isinstance(source, bytes) else source.read_bytes())  # noqa: S301 - from our own client


def run_task(function: Callable[..., Any], source: Path | bytes | None, task: Any) -> Any:
    """Call a function in a worker, which unpickles the shared object once.

    An error that does not survive pickling is replaced with one that does.

    >>> run_task(pow, pickle.dumps(2), 3)
    8
    """
    try:
        if source is None:
            return function(task)
        with _loading:  # a worker of a cluster may have several threads
            shared = _load(source)
        return function(shared, task)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
        except Exception:
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        raise
