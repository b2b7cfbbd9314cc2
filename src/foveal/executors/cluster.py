"""A Dask cluster as an executor: reached, compared with what is here, its errors put plainly.

Nothing else in Foveal knows of Dask, and nothing here loads it before a cluster is asked for.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, InvalidStateError
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from foveal._version import __version__
from foveal.errors import FovealError, InputError, Problem, UsageError, counted, some
from foveal.executors.calls import answer, name_of, order, outcome
from foveal.executors.processes import LostTaskError

__all__ = ["Cluster", "connect"]

P = ParamSpec("P")
T = TypeVar("T")

_FILE = "file:"
_PACKAGES = ("foveal", "numpy", "polars")
"""What decides the numbers, besides Python; pickles of one may not be read by another."""
_CARRIER = "distributed"
_PATIENCE = 5
"""Seconds for which a scheduler may be away."""
_OWN_WARNING = "distributed.admin.large-graph-warning-threshold"


@contextlib.contextmanager
def connect(address: str, *, timeout: float = 10, wait: float = 60) -> Iterator[Cluster]:
    """An executor whose workers are those of a Dask cluster.

    Parameters
    ----------
    address : str
        Of the scheduler, as in ``tcp://10.0.0.1:8786``, or ``file:PATH`` of its scheduler file.
    timeout : float
        Seconds in which the scheduler must answer.
    wait : float
        Seconds in which there must be a worker.

    Raises `FovealError` if there is no such cluster, or it has other versions than there are here.
    """
    try:
        dask, distributed = import_module("dask"), import_module(_CARRIER)
    except ImportError as error:
        raise UsageError(
            f"a cluster (--dask) takes the package {_CARRIER}, and {error.name} is not installed; "
            'install the extra: pip install -e ".[dask]" in the clone of Foveal'
        ) from None
    where = _checked(_address(address), address)
    with _quiet(), dask.config.set({_OWN_WARNING: "1 TB"}):
        try:
            client = distributed.Client(where, timeout=timeout, set_as_default=False)
        except (OSError, TimeoutError):
            raise FovealError(
                f"no Dask scheduler answers at {where} within {timeout:g} s; expected the address "
                "that 'dask scheduler' prints, as in tcp://10.0.0.1:8786"
            ) from None
        except (ValueError, TypeError) as error:
            raise UsageError(
                f"{address!r} is no address of a Dask scheduler: {error}; expected one as in "
                "tcp://10.0.0.1:8786, or file: and the path of a scheduler file"
            ) from None
        try:
            _await_worker(client, where, wait)
            _compare(client, where)
            with client.get_executor(pure=False) as inner:
                cluster = Cluster(client, inner, where)
                watcher = threading.Thread(target=cluster.watch, daemon=True)
                watcher.start()
                try:
                    yield cluster
                except BaseException:
                    inner.shutdown(wait=False)
                    raise
                finally:
                    cluster.ended.set()
                    watcher.join()
        finally:
            client.close()


def _address(text: str) -> str:
    """The address of a scheduler, from its file if that is what is given."""
    if not text.startswith(_FILE):
        return text
    path = text.removeprefix(_FILE)
    try:
        return str(json.loads(Path(path).read_bytes())["address"])
    except FileNotFoundError:
        raise InputError.at(path, None, "no such file; expected a Dask scheduler file") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError.at(
            path, None, f"is no Dask scheduler file: {type(error).__name__}: {error}"
        ) from None


_ADDRESS = re.compile(r"(?:[a-z]+://)?(?:[^\s:/\[\]]+|\[[0-9a-fA-F:.]+\]):\d+/?")


def _checked(where: str, given: str) -> str:
    """Refuse what is no address before anything waits for it."""
    if not _ADDRESS.fullmatch(where):
        raise UsageError(
            f"{given!r} is no address of a Dask scheduler; expected one as in tcp://10.0.0.1:8786, "
            "or file: and the path of a scheduler file"
        )
    return where


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What Dask would say to the terminal by itself is said in our messages, or is no matter."""
    logger = logging.getLogger(_CARRIER)
    loggers = [logger, *(logging.getLogger(f"{_CARRIER}.{name}") for name in ("client", "core"))]
    loggers.append(logging.getLogger("tornado.application"))
    before = [one.level for one in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", category=import_module(f"{_CARRIER}.versions").VersionMismatchWarning
        )
        try:
            for one in loggers:
                one.setLevel(logging.CRITICAL + 1)
            yield
        finally:
            for one, level in zip(loggers, before, strict=True):
                one.setLevel(level)


def _await_worker(client: Any, where: str, wait: float) -> None:
    try:
        client.wait_for_workers(1, timeout=wait)
    except TimeoutError:
        raise FovealError(
            f"the Dask scheduler at {where} has no worker, and none came within {wait:g} s; start "
            f"workers, as with 'dask worker {where}'"
        ) from None


# -- versions ----------------------------------------------------------------------------------


def _compare(client: Any, where: str) -> None:
    """Refuse a cluster with other versions; the scheduler too unpacks what is sent to workers."""
    found = client.get_versions()
    scheduler = f"the Dask scheduler at {where}"
    carried = {scheduler: found["scheduler"]} | {
        f"Dask worker {worker}": own for worker, own in found["workers"].items()
    }
    here = _carrier(found["client"])
    _refuse_others(here, {name: _carrier(own) for name, own in carried.items() if own})
    # Only now: code of another version of Python may end the process that it is sent to.
    probe = _probe(_PACKAGES)
    own = client.run(probe)
    others = {f"Dask worker {worker}": versions for worker, versions in own.items()}
    others[scheduler] = {"foveal": client.run_on_scheduler(probe)["foveal"]}
    _refuse_others(probe(), others)


def _carrier(found: dict[str, Any]) -> dict[str, str | None]:
    """Python and the package that brings tasks, as Dask tells of them."""
    packages = found["packages"]
    python = ".".join(str(packages["python"]).split(".")[:2])
    return {"Python": python, _CARRIER: packages[_CARRIER]}


def _probe(packages: tuple[str, ...]) -> Callable[[], dict[str, str | None]]:
    """A function that tells of versions where Foveal may not be installed: it travels as code."""

    def versions() -> dict[str, str | None]:
        from importlib import import_module

        found: dict[str, str | None] = {}
        for name in packages:
            try:
                found[name] = str(import_module(name).__version__)
            except ImportError:
                found[name] = None
        return found

    return versions


def _refuse_others(here: dict[str, str | None], others: dict[str, dict[str, str | None]]) -> None:
    wrong = [
        f"{who} has {_have(package, version)}, expected {here[package]} as here"
        for who, versions in others.items()
        for package, version in versions.items()
        if version != here[package]
    ]
    if wrong:
        raise FovealError(f"{some(wrong, 3)}; install the same versions everywhere")


def _have(package: str, version: str | None) -> str:
    return f"no {package}" if version is None else f"{package} {version}"


# -- tasks -------------------------------------------------------------------------------------


class Cluster(Executor):
    """The workers of a Dask cluster; made by `connect`."""

    def __init__(self, client: Any, inner: Executor, address: str) -> None:
        self._client = client
        self._inner = inner
        self.address = address
        self.ended = threading.Event()
        """When nobody waits for results any more."""
        self._open: set[Future[Any]] = set()

    @property
    def workers(self) -> int:
        """Threads of all workers that there are at the moment."""
        return sum(self._client.nthreads().values())

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function called on some worker; as for any executor."""
        inner = self._inner.submit(_work, __version__, order(fn, args, kwargs))
        outer: _Outer[T] = _Outer(inner)
        self._open.add(outer)
        inner.add_done_callback(partial(self._pass_on, outer, name_of(fn, args)))
        return outer

    def watch(self) -> None:
        """Give up on open tasks when the scheduler has been away for some seconds.

        Dask leaves some of them open for ever: those whose results it was just fetching.
        """
        away = 0
        while away < _PATIENCE:
            if self.ended.wait(1):
                return
            away = 0 if self._client.status == "running" else away + 1
        for outer in list(self._open):
            with contextlib.suppress(InvalidStateError):  # it came after all
                outer.set_exception(self._gone())

    def _gone(self) -> FovealError:
        return FovealError(f"the Dask scheduler at {self.address} is gone; start again")

    def _pass_on(self, outer: Future[Any], name: str, inner: Future[tuple[str, bytes]]) -> None:
        self._open.discard(outer)
        if outer.done() or not outer.set_running_or_notify_cancel():
            return
        try:
            if inner.cancelled():
                raise self._gone()
            worker, answered = self._answered(name, inner)
            with _seen_from(worker):
                outer.set_result(outcome(answered))
        except BaseException as error:
            outer.set_exception(error)

    def _answered(self, name: str, inner: Future[tuple[str, bytes]]) -> tuple[str, bytes]:
        """Who answered what; here arise the errors that are not the task's own."""
        killed = import_module("distributed.scheduler").KilledWorker
        try:
            return inner.result()
        except FovealError:
            raise
        except killed as error:
            ended = counted(error.allowed_failures + 1, "Dask worker")
            raise LostTaskError(
                f"{name}: given up, as {ended} ended while at work on it, the last "
                f"{error.last_worker.address}; perhaps for want of memory"
            ) from None
        except Exception as error:
            raise FovealError(
                f"{name}: a Dask worker could not take it ({type(error).__name__}: {error}); is "
                f"foveal {__version__} installed there?"
            ) from error


class _Outer(Future[T]):
    """A future that takes the one behind it along when it is cancelled."""

    def __init__(self, inner: Future[Any]) -> None:
        super().__init__()
        self._inner = inner

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._inner.cancel()
        return cancelled


def _work(version: str, ordered: bytes) -> tuple[str, bytes]:
    """On a worker: who it is, and its answer. One that came after the comparison is asked here."""
    worker = import_module(_CARRIER).get_worker().address
    if version != __version__:
        _refuse_others({"foveal": version}, {f"Dask worker {worker}": {"foveal": __version__}})
    return worker, answer(ordered)


@contextlib.contextmanager
def _seen_from(worker: str) -> Iterator[None]:
    """A file that is here and not there is no mistake of who named it."""
    try:
        yield
    except FileNotFoundError as error:
        if error.filename is None or not Path(error.filename).exists():
            raise
        raise InputError.at(str(error.filename), None, _unseen(worker)) from None
    except InputError as error:
        raise InputError(
            problem._replace(message=_unseen(worker)) if _only_there(problem) else problem
            for problem in error.problems
        ) from None


def _only_there(problem: Problem) -> bool:
    return problem.message == "no such file" and Path(problem.file).exists()


def _unseen(worker: str) -> str:
    return f"no such file on worker {worker}; a cluster must see the same files"
