"""A Dask cluster as an executor; Dask is imported only here, and only when it is needed."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from foveal.errors import FovealError, InputError, UsageError, plural, shorten_list
from foveal.executors.processes import LostTaskError, Sharing, run_task

T = TypeVar("T")

_LOGGERS = ("distributed", "distributed.client", "distributed.core", "tornado.application")
_PACKAGES = ["distributed", "foveal", "numpy", "polars"]


@contextmanager
def connect(address: str, *, timeout: float = 10, wait: float = 60) -> Iterator[Cluster]:
    """Connect to a Dask cluster, and yield an executor for ``executor=`` of `foveal.evaluate`.

    The address is that of the scheduler, as in ``tcp://10.0.0.1:8786``, or ``file:PATH`` of its
    scheduler file. It must answer within `timeout` seconds and have a worker within `wait` seconds.
    """
    try:
        dask, distributed = import_module("dask"), import_module("distributed")
    except ImportError as error:
        raise UsageError(
            f"--dask takes the package {error.name}, which is not installed; install the extra: "
            'pip install -e ".[dask]" in the clone of Foveal'
        ) from None
    where = address
    try:
        if address.startswith("file:"):
            where = str(json.loads(Path(address.removeprefix("file:")).read_bytes())["address"])
        distributed.comm.get_address_host_port(where)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{address!r} is not the address of a Dask scheduler: {error}; expected one such as "
            "tcp://10.0.0.1:8786, or file: and the path of a scheduler file"
        ) from None
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
            raise FovealError(f"no Dask scheduler answers at {where} in {timeout:g} s") from None
        stack.callback(client.close)
        try:
            client.wait_for_workers(1, timeout=wait)
        except TimeoutError:
            raise FovealError(f"no worker joins the scheduler {where} in {wait:g} s") from None
        # The scheduler unpickles tasks too, so that its versions must be the same.
        found = client.get_versions(packages=_PACKAGES)
        sides = {f"the Dask scheduler at {where}": found["scheduler"]}
        sides |= {f"Dask worker {worker}": side for worker, side in found["workers"].items()}
        wrong = [
            f"{name} has {package} {side['packages'][package]}, expected {ours}"
            for name, side in sides.items()
            for package, ours in found["client"]["packages"].items()
            if package in _PACKAGES and side["packages"][package] != ours
        ]
        if wrong:
            raise FovealError(f"{shorten_list(wrong, 3)}; install the same versions everywhere")
        yield Cluster(client, where)


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
        return self._executor.submit(fn, *args, **kwargs)

    @contextmanager
    def sharing(self, call: Callable[[Any], T]) -> Iterator[Sharing[T]]:
        """Yield functions that submit a task and wait for its result; workers get `call` once."""
        # Made by a task, which Dask repeats if all workers are gone: scattered data would be lost.
        source = self.client.submit(bytes, pickle.dumps(call), pure=False)
        # As bytes, because Dask looks for its own objects in tuples, lists and dictionaries.
        yield lambda task: self.submit(_work, source, pickle.dumps(task)), self._wait_for

    def _wait_for(self, future: Future[Any], task: Any) -> Any:
        """Return the result of a task, which Dask repeats if its worker dies."""
        try:
            worker, result, error = future.result()
        except CancelledError:
            raise FovealError(
                f"the Dask scheduler at {self.address} is gone; start again"
            ) from None
        except import_module("distributed").KilledWorker as killed:
            workers = plural(killed.allowed_failures + 1, "Dask worker")
            last = f"the last {killed.last_worker.address}; perhaps for lack of memory"
            raise LostTaskError.from_task(
                task, f"{workers} ended while at work on it, {last}"
            ) from None
        if error is None:
            return result
        missing = error.filename if isinstance(error, FileNotFoundError) else None
        if isinstance(error, InputError):
            missing = next((p.file for p in error.problems if p.code == "file.missing"), None)
        if missing and Path(missing).exists():  # here, but not on the worker
            reason = f"no such file on worker {worker}; a cluster must see the same files"
            raise InputError.at("file.missing", str(missing), None, reason)
        raise error


def _work(source: bytes, task: bytes) -> Any:
    """Return this worker's address, and a result or an error, which Dask would shorten."""
    worker = import_module("distributed").get_worker().address
    try:
        return worker, run_task(source, pickle.loads(task)), None  # noqa: S301 - from our client
    except Exception as error:
        if not isinstance(error, FovealError):
            error.add_note(f"On Dask worker {worker}:\n{traceback.format_exc()}")
        error.__cause__ = error.__context__ = None  # Dask would send them, and cannot send all
        return worker, None, error.with_traceback(None)
