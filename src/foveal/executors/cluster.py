"""A Dask cluster as an executor; Dask is imported only here, and only when it is needed."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from foveal.errors import FovealError, InputError, UsageError, counted, some
from foveal.executors.processes import LostTaskError, name_task, run_task

T = TypeVar("T")

_LOGGERS = ("distributed", "distributed.client", "distributed.core", "tornado.application")
_AWAY_SECONDS = 5
"""Time for which the scheduler may be unreachable."""


@contextmanager
def connect(address: str, *, timeout: float = 10, wait: float = 60) -> Iterator[Cluster]:
    """Connect to a Dask cluster, and yield an executor for ``executor=`` of `foveal.evaluate`.

    The address is that of the scheduler, as in ``tcp://10.0.0.1:8786``, or ``file:PATH`` of its
    scheduler file. The scheduler must answer within `timeout` seconds, and there must be a worker
    within `wait` seconds.

    Raises `FovealError` if there is no such cluster, or its versions differ from those here.
    """
    try:
        dask, distributed = import_module("dask"), import_module("distributed")
    except ImportError as error:
        raise UsageError(
            f"a cluster (--dask) takes the package distributed, and {error.name} is not installed; "
            'install the extra: pip install -e ".[dask]" in the clone of Foveal'
        ) from None
    where = _find_scheduler(address)
    with ExitStack() as stack:
        # Our messages replace what Dask writes to the terminal.
        quiet = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})
        stack.enter_context(quiet)
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
        for logger in map(logging.getLogger, _LOGGERS):
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        try:
            client = distributed.Client(where, timeout=timeout, set_as_default=False)
        except OSError:
            raise FovealError(
                f"no Dask scheduler answers at {where} within {timeout:g} s; expected the address "
                "that 'dask scheduler' prints, as in tcp://10.0.0.1:8786"
            ) from None
        stack.callback(client.close)
        try:
            client.wait_for_workers(1, timeout=wait)
        except TimeoutError:
            raise FovealError(
                f"the Dask scheduler at {where} has no worker, and none came within {wait:g} s; "
                f"start workers, as with 'dask worker {where}'"
            ) from None
        _compare_versions(client, where)
        yield Cluster(client, where)


def _find_scheduler(address: str) -> str:
    """Return the address of a scheduler, from its file if that is given."""
    where = address
    if address.startswith("file:"):
        path = address.removeprefix("file:")
        try:
            where = str(json.loads(Path(path).read_bytes())["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = f"is not a Dask scheduler file: {type(error).__name__}: {error}"
            if isinstance(error, FileNotFoundError):
                reason = "no such file; expected a Dask scheduler file"
            raise InputError.at("cluster.scheduler_file", path, None, reason) from None
    try:
        import_module("distributed.comm").get_address_host_port(where)
    except ValueError as error:
        raise UsageError(
            f"{address!r} is not the address of a Dask scheduler: {error}; expected one such as "
            "tcp://10.0.0.1:8786, or file: and the path of a scheduler file"
        ) from None
    return where


def _compare_versions(client: Any, where: str) -> None:
    """Refuse a cluster whose versions differ; its scheduler unpickles tasks too."""
    packages = ["python", "distributed", "foveal", "numpy", "polars"]
    found = client.get_versions(packages=packages[2:])
    sides = {f"Dask worker {worker}": side for worker, side in found["workers"].items()}
    wrong = []
    for name, side in {f"the Dask scheduler at {where}": found["scheduler"], **sides}.items():
        for package in packages:
            theirs, ours = (one["packages"][package] for one in (side, found["client"]))
            if package == "python":  # releases of one version go together
                theirs, ours = (".".join(one.split(".")[:2]) for one in (theirs, ours))
            if theirs != ours:
                has = f"no {package}" if theirs is None else f"{package} {theirs}"
                wrong.append(f"{name} has {has}, expected {ours} as here")
    if wrong:
        raise FovealError(f"{some(wrong, 3)}; install the same versions everywhere")


class Cluster(Executor):
    """The workers of a Dask cluster; made by `connect`."""

    def __init__(self, client: Any, address: str) -> None:
        self.client, self.address = client, address
        self._executor: Executor = client.get_executor(pure=False)

    @property
    def workers(self) -> int:
        """Threads of all workers present."""
        try:
            return sum(self.client.nthreads().values())
        except OSError:  # the scheduler is gone, as the next result will tell
            return 1

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Submit a call, as to Dask's own executor."""
        return self._executor.submit(fn, *args, **kwargs)

    @contextmanager
    def sharing(
        self, function: Callable[..., Any], shared: Any
    ) -> Iterator[tuple[Callable[[Any], Future[Any]], Callable[[Future[Any], Any], Any]]]:
        """Yield two functions: one submits a task, the other waits for its result.

        Dask brings `shared` to each worker once. It is made by a task of its own, which Dask
        repeats if all workers that hold it are gone; scattered data would be lost with them.
        """
        source = None
        if shared is not None:
            source = self.client.submit(bytes, pickle.dumps(shared), pure=False)
        # As bytes, because Dask looks for its own objects in tuples, lists and dictionaries.
        yield (
            lambda task: self.submit(_work, pickle.dumps((function, task)), source),
            self._wait_for,
        )

    def _wait_for(self, future: Future[Any], task: Any) -> Any:
        """Return the result of a task, which Dask repeats if its worker dies."""
        away = 0
        while away < _AWAY_SECONDS and not wait([future], timeout=1).done:
            away = 0 if self.client.status == "running" else away + 1
        if away == _AWAY_SECONDS or future.cancelled():
            raise FovealError(f"the Dask scheduler at {self.address} is gone; start again")
        try:
            worker, result, error = future.result()
        except import_module("distributed").KilledWorker as killed:
            raise LostTaskError(
                f"{name_task(task)}: given up, as "
                f"{counted(killed.allowed_failures + 1, 'Dask worker')} ended while at work on it, "
                f"the last {killed.last_worker.address}; perhaps for want of memory"
            ) from None
        if error is not None:
            raise _explain_missing_file(error, worker)
        return result


def _work(pickled: bytes, source: bytes | None) -> tuple[str, Any, Exception | None]:
    """Return the address of this worker and the result of a task, or its error.

    Dask would shorten an error that is raised.
    """
    worker = import_module("distributed").get_worker().address
    try:
        function, task = pickle.loads(pickled)  # noqa: S301 - from our own client
        return worker, run_task(function, source, task), None
    except Exception as error:
        if not isinstance(error, FovealError):
            error.add_note(f"On Dask worker {worker}:\n{traceback.format_exc()}")
        error.__cause__ = error.__context__ = None  # Dask would send them, and cannot send all
        return worker, None, error.with_traceback(None)


def _explain_missing_file(error: Exception, worker: str) -> Exception:
    """Return an error, reworded if a file is missing on the worker but exists here."""
    missing = error.filename if isinstance(error, FileNotFoundError) else None
    if isinstance(error, InputError):
        missing = next((own.file for own in error.problems if own.code == "file.missing"), None)
    if not missing or not Path(missing).exists():
        return error
    reason = f"no such file on worker {worker}; a cluster must see the same files"
    return InputError.at("file.missing", str(missing), None, reason)
