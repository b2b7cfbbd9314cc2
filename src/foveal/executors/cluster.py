"""A Dask cluster as an executor; Dask is imported only here, and only when it is needed."""

from __future__ import annotations

import json
import logging
import pickle
import re
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

from foveal._version import __version__
from foveal.errors import FovealError, InputError, UsageError, counted, some
from foveal.executors.order import Call, LostTaskError, SharingExecutor, Submit, run_task

__all__ = ["Cluster", "connect"]

P = ParamSpec("P")
T = TypeVar("T")
Versions = dict[str, str | None]

_ADDRESS = re.compile(r"(?:[a-z]+://)?(?:[^\s:/\[\]]+|\[[0-9a-fA-F:.]+\]):\d+/?")
_FORMS = "expected one as in tcp://10.0.0.1:8786, or file: and the path of a scheduler file"
_LOGGERS = ("distributed", "distributed.client", "distributed.core", "tornado.application")
_AWAY_SECONDS = 5
"""How long the scheduler may be unreachable."""


@contextmanager
def connect(address: str, *, timeout: float = 10, wait: float = 60) -> Iterator[Cluster]:
    """Connect to a Dask cluster, and yield an executor for ``executor=`` of `foveal.evaluate`.

    Parameters
    ----------
    address : str
        Of the scheduler, as in ``tcp://10.0.0.1:8786``, or ``file:PATH`` of its scheduler file.
    timeout : float
        Seconds in which the scheduler must answer.
    wait : float
        Seconds in which there must be a worker.

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
        stack.enter_context(
            dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})
        )
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter(
            "ignore", import_module("distributed.versions").VersionMismatchWarning
        )
        for logger in map(logging.getLogger, _LOGGERS):
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        try:
            client = distributed.Client(where, timeout=timeout, set_as_default=False)
        except (OSError, TimeoutError):
            raise FovealError(
                f"no Dask scheduler answers at {where} within {timeout:g} s; expected the address "
                "that 'dask scheduler' prints, as in tcp://10.0.0.1:8786"
            ) from None
        except (ValueError, TypeError) as error:
            raise UsageError(
                f"{address!r} is no address of a Dask scheduler: {error}; {_FORMS}"
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
        executor = client.get_executor(pure=False)
        stack.callback(executor.shutdown, wait=False)
        yield Cluster(client, executor, where)


def _find_scheduler(address: str) -> str:
    """Return the address of a scheduler, from its file if that is given."""
    where = address
    if address.startswith("file:"):
        path = address.removeprefix("file:")
        try:
            where = str(json.loads(Path(path).read_bytes())["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = f"is no Dask scheduler file: {type(error).__name__}: {error}"
            if isinstance(error, FileNotFoundError):
                reason = "no such file; expected a Dask scheduler file"
            raise InputError.at(path, None, reason) from None
    if not _ADDRESS.fullmatch(where):
        raise UsageError(f"{address!r} is no address of a Dask scheduler; {_FORMS}")
    return where


def _compare_versions(client: Any, where: str) -> None:
    """Refuse a cluster whose versions differ; its scheduler unpickles tasks too."""

    def select(found: dict[str, Any]) -> Versions:
        packages = found["packages"]
        python = ".".join(packages["python"].split(".")[:2])
        return {"Python": python, "distributed": packages["distributed"]}

    def find_versions() -> Versions:
        # Dask sends this function as code: Foveal may not be installed there.
        from importlib import import_module

        found: Versions = {}
        for name in ("foveal", "numpy", "polars"):
            try:
                found[name] = str(import_module(name).__version__)
            except ImportError:
                found[name] = None
        return found

    found = client.get_versions()
    scheduler, workers = select(found["scheduler"]), found["workers"].items()
    workers = {worker: select(own) for worker, own in workers if own}
    _refuse_other_versions(select(found["client"]), scheduler, workers, where)
    # Only now: code of another version of Python may crash the process that it is sent to.
    scheduler = {"foveal": client.run_on_scheduler(find_versions)["foveal"]}
    _refuse_other_versions(find_versions(), scheduler, client.run(find_versions), where)


def _refuse_other_versions(
    here: Versions, scheduler: Versions, workers: dict[str, Versions], where: str = ""
) -> None:
    others = {f"the Dask scheduler at {where}": scheduler}
    others |= {f"Dask worker {address}": versions for address, versions in workers.items()}
    wrong = [
        f"{name} has {f'no {package}' if version is None else f'{package} {version}'}, "
        f"expected {here[package]} as here"
        for name, versions in others.items()
        for package, version in versions.items()
        if version != here[package]
    ]
    if wrong:
        raise FovealError(f"{some(wrong, 3)}; install the same versions everywhere")


class Cluster(SharingExecutor):
    """The workers of a Dask cluster; made by `connect`."""

    def __init__(self, client: Any, executor: Executor, address: str) -> None:
        self._client, self._executor, self._address = client, executor, address

    @property
    def workers(self) -> int:
        """Threads of all workers present."""
        try:
            return sum(self._client.nthreads().values())
        except OSError:  # the scheduler is gone, as the next result will tell
            return 1

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit a call, as to Dask's own executor."""
        return self._executor.submit(fn, *args, **kwargs)

    @contextmanager
    def sharing(self, function: Callable[..., Any], shared: Any) -> Iterator[Submit]:
        """Yield a function that submits a task; Dask brings `shared` to each worker once.

        It is made by a task of its own, which Dask repeats if all workers that hold it are gone.
        Scattered data would be lost with them.
        """
        key = uuid4().hex
        source = None
        if shared is not None:
            source = self._client.submit(bytes, pickle.dumps(shared), pure=False)
        # As bytes, because Dask looks for its own objects in tuples, lists and dictionaries.
        yield lambda task: self._executor.submit(
            _work, __version__, pickle.dumps((function, task)), key, source
        )

    def fetch_first(self, calls: deque[Call]) -> Any:
        """Return the result of the first call; Dask repeats those whose worker died."""
        call, away = calls[0], 0
        while away < _AWAY_SECONDS and not wait([call.future], timeout=1).done:
            away = 0 if self._client.status == "running" else away + 1
        if away == _AWAY_SECONDS or call.future.cancelled():
            raise FovealError(f"the Dask scheduler at {self._address} is gone; start again")
        try:
            answer = call.future.result()
        except FovealError:
            raise
        except import_module("distributed.scheduler").KilledWorker as killed:
            raise LostTaskError(
                f"{call.label}: given up, as {counted(killed.allowed_failures + 1, 'Dask worker')} "
                f"ended while at work on it, the last {killed.last_worker.address}; perhaps for "
                "want of memory"
            ) from None
        except Exception as other:
            raise FovealError(
                f"{call.label}: a Dask worker could not take it ({type(other).__name__}: {other}); "
                f"is foveal {__version__} installed there?"
            ) from other
        worker, result, error = pickle.loads(answer)  # noqa: S301 - from our own worker
        if error is not None:
            raise _explain_missing_file(error, worker)
        return result


def _work(version: str, pickled: bytes, key: str, source: bytes | None) -> bytes:
    """Return on a worker its address, and the result of a task or its error, as bytes.

    Dask would shorten an error that is raised, and wait for ever for one it cannot unpickle.
    """
    worker = import_module("distributed").get_worker().address
    result = failure = None
    if version != __version__:  # it joined after the versions were compared
        _refuse_other_versions({"foveal": version}, {}, {worker: {"foveal": __version__}})
    try:
        function, task = pickle.loads(pickled)  # noqa: S301 - from our own client
        result = run_task(function, key, source, task)
    except Exception as error:
        if not isinstance(error, FovealError):
            error.add_note(f"On Dask worker {worker}:\n{traceback.format_exc()}")
        failure = error.with_traceback(None)
        failure.__cause__ = failure.__context__ = None
    return pickle.dumps((worker, result, failure), protocol=pickle.HIGHEST_PROTOCOL)


def _explain_missing_file(error: Exception, worker: str) -> Exception:
    """Return an error, reworded if the file is missing on the worker but exists here."""
    reason = f"no such file on worker {worker}; a cluster must see the same files"
    if isinstance(error, FileNotFoundError) and error.filename and Path(error.filename).exists():
        return InputError.at(str(error.filename), None, reason)
    if isinstance(error, InputError):
        problems = [
            problem._replace(message=reason)
            if problem.message == "no such file" and Path(problem.file).exists()
            else problem
            for problem in error.problems
        ]
        return InputError(problems, summary=error.summary)
    return error
