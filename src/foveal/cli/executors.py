"""The executor of a command: this process, several (-w), or a cluster (--dask)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

import click

from foveal.errors import UsageError
from foveal.executors import Processes, count_cores

__all__ = ["executor"]


@contextmanager
def executor(
    workers: int | None,
    *,
    worth: bool,
    ahead: str | None = None,
    most: int | None = None,
) -> Iterator[Executor | None]:
    """Yield the executor that the options of the command ask for; None for this process.

    Parameters
    ----------
    workers : int, optional
        As given; by default one process per core if the work is `worth` starting them.
    worth : bool
    ahead : str, optional
        The module that tasks need: processes start at once and import it.
    most : int, optional
        Number of tasks: more processes are of no use.
    """
    address: str | None = click.get_current_context().params.get("dask")
    if address is not None:
        if workers is not None:
            raise UsageError("-w is for processes here, --dask for a cluster; give one of them")
        from foveal.executors.cluster import connect

        with connect(address) as cluster:
            yield cluster
        return
    if workers is None:
        workers = count_cores() if worth else 1
    workers = min(workers, most or workers)
    if workers == 1:
        yield None
        return
    with Processes(workers, preload=ahead) as processes:
        yield processes
