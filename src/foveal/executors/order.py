"""Results in the order of their tasks from any executor, with a bounded number under way."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import TypeVar

from foveal.errors import FovealError, UsageError

__all__ = ["cores", "in_order", "refuse_forks", "workers_of"]

Task = TypeVar("Task")
Result = TypeVar("Result")

_PER_WORKER = 2
"""Tasks under way for each worker: one at work, and one that waits so that nobody idles."""


def cores() -> int:
    """The cores that this process may use: on shared machines fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers_of(executor: Executor) -> int:
    """How many tasks an executor works on at a time.

    Ours say it in `workers`, those of the standard library in an attribute that every version has
    had; of others it is not known, and this machine is the measure.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> workers_of(ThreadPoolExecutor(3))
    3
    """
    known = getattr(executor, "workers", None) or getattr(executor, "_max_workers", None)
    return known if isinstance(known, int) and known > 0 else cores()


def refuse_forks(executor: Executor) -> None:
    """Refuse processes that are copies of this one: without its threads, Polars waits for ever."""
    from concurrent.futures import ProcessPoolExecutor

    if isinstance(executor, ProcessPoolExecutor):
        context = executor._mp_context
        if context is not None and context.get_start_method() == "fork":
            raise UsageError(
                "the executor forks its processes, which would hang; expected one such as "
                "foveal.executors.Processes(4), or mp_context=get_context('spawn')"
            )


def in_order(
    executor: Executor | None,
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    ahead: int | None = None,
) -> Iterator[Result]:
    """What a function makes of tasks, in their order whatever is ready first.

    Parameters
    ----------
    executor : concurrent.futures.Executor, optional
        Where the function is called; without one it is called here.
    function : callable
    tasks : iterable
        Taken only as fast as results are wanted, so that tasks may hold data.
    ahead : int, optional
        Most tasks to keep under way; by default two for each worker that there is at the time.

    Raises whatever the first task in order that fails raises; tasks after it are cancelled.

    >>> list(in_order(None, str.upper, "abc"))
    ['A', 'B', 'C']
    """
    if executor is None:
        yield from map(function, tasks)
        return
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            waiting.append(executor.submit(function, task))
            most = _PER_WORKER * workers_of(executor) if ahead is None else ahead
            while len(waiting) >= max(most, 1):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenExecutor as error:
        raise FovealError(
            "a worker was ended, perhaps for want of memory, and the executor cannot replace it"
        ) from error
    finally:
        for future in waiting:
            future.cancel()
