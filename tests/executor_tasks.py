"""What tests have workers do, in processes that have this folder in their path."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

from foveal.errors import InputError, Problem
from foveal.executors import Processes
from foveal.executors.cluster import Cluster
from timeouts import until

__all__ = [
    "Gate",
    "Loaded",
    "Named",
    "Wrapped",
    "die",
    "die_once",
    "die_while_sending",
    "fail_at",
    "hold",
    "kill_at",
    "loaded",
    "pid_when",
    "refuse",
    "refuse_at_length",
    "square",
    "threads_of_polars",
    "wait_for",
    "who_loaded",
]


class Named(int):
    """A task that says what it is called."""

    @property
    def label(self) -> str:
        return f"task {int(self)}"


class Wrapped(Executor):
    """One of our executors that calls ``wrapper(function, *args)`` in its workers."""

    def __init__(self, inner: Processes | Cluster, wrapper: Callable[..., Any]) -> None:
        self.inner, self.wrapper = inner, wrapper

    @property
    def workers(self) -> int:
        return self.inner.workers

    def sharing(self, call: Callable[[Any], Any]) -> Any:
        return self.inner.sharing(partial(self.wrapper, call))


class Gate(Wrapped):
    """An executor whose tasks are held until the worker of the first one has been killed."""

    def __init__(self, inner: Processes | Cluster, folder: Path) -> None:
        super().__init__(inner, partial(hold, str(folder)))
        self.folder = folder
        self.killed: int | None = None
        self._killer = threading.Thread(target=self._kill, daemon=True)

    def __enter__(self) -> Self:
        self._killer.start()
        return self

    def __exit__(self, *_: object) -> None:
        (self.folder / "go").touch()
        (self.folder / "at").touch()
        self._killer.join()

    def _kill(self) -> None:
        until((self.folder / "at").exists, "the first task")
        victim = (self.folder / "at").read_text()
        if victim:  # else nothing was ever submitted
            os.kill(int(victim), signal.SIGKILL)
            self.killed = int(victim)
        (self.folder / "go").touch()


def hold(folder: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function when the word to go on has been given."""
    if not (Path(folder) / "go").exists():
        pid_when(folder)
    return function(*args)


def kill_at(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function, but end the worker if the task has that name."""
    if name in str(getattr(args[-1], "label", args[-1])):
        os.kill(os.getpid(), signal.SIGKILL)
    return function(*args)


class Loaded:
    """A shared object that leaves a file in a folder each time it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        (self.folder / f"{os.getpid()}.{time.monotonic_ns()}").touch()


def who_loaded(shared: Loaded, task: int) -> tuple[int, int]:
    """Return the task and the process that worked on it."""
    assert shared.folder.is_dir()
    time.sleep(0.05)
    return task, os.getpid()


def die_while_sending(folder: str, size: int) -> bytes:
    """Return a large result; the first worker dies when it has sent half of it."""
    from multiprocessing.connection import Connection

    send = Connection._send  # type: ignore[attr-defined]

    def send_half(self: Connection, data: bytes, *rest: Any) -> None:
        if len(data) < size:
            send(self, data, *rest)
        else:
            send(self, data[: size // 2], *rest)
            os.kill(os.getpid(), signal.SIGKILL)

    with suppress(FileExistsError):
        (Path(folder) / "first").touch(exist_ok=False)
        Connection._send = send_half  # type: ignore[attr-defined]
    return bytes(size)


def square(number: int) -> int:
    return number * number


def loaded(module: str) -> bool:
    return module in sys.modules


def threads_of_polars() -> int:
    import polars as pl

    return pl.thread_pool_size()


def die(number: int) -> int:
    """End the worker at one of the tasks."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_once(folder: str) -> str:
    """End the worker that comes first."""
    try:
        (Path(folder) / "first").touch(exist_ok=False)
    except FileExistsError:
        return "second"
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def pid_when(folder: str) -> int:
    """Say who works on it by a file named `at`, then wait for `go`."""
    place = Path(folder)
    own = place / f"at.{os.getpid()}"  # several may come at once
    own.write_text(str(os.getpid()))
    own.replace(place / "at")
    return wait_for(folder)


def wait_for(folder: str) -> int:
    until((Path(folder) / "go").exists, "the word to go on")
    return os.getpid()


def refuse(line: int) -> int:
    raise InputError(
        [Problem("run.bad", "a.run", line, "is bad"), Problem("run.bad", "b.run", None, "is worse")]
    )


def refuse_at_length(size: int) -> None:
    raise InputError.at("run.bad", "a.run", 1, "x" * size)


def fail_at(number: int) -> int:
    """Fail at 5 at once, and at 3 later."""
    if number == 3:
        time.sleep(0.2)
    if number in (3, 5):
        raise InputError.at("run.bad", "a.run", number, "is bad")
    return number
