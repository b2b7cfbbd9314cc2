"""What tests have workers do, in processes that have this folder in their path."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, Self

from foveal.errors import InputError, Problem
from patience import until

__all__ = [
    "Gate",
    "Named",
    "die",
    "die_once",
    "fail_at",
    "loaded",
    "pid_when",
    "read",
    "refuse",
    "square",
    "threads_of_polars",
    "wait_for",
]


class Named(int):
    """A task that says what it is called."""

    @property
    def label(self) -> str:
        return f"task {int(self)}"


class Gate(Executor):
    """An executor whose first task is held, until who works on it has been killed."""

    def __init__(self, inner: Executor, folder: Path) -> None:
        self.inner, self.folder = inner, folder
        self.killed: int | None = None
        self._killer = threading.Thread(target=self._kill, daemon=True)

    def __enter__(self) -> Self:
        self._killer.start()
        return self

    def __exit__(self, *_: object) -> None:
        (self.folder / "go").touch()
        (self.folder / "at").touch()
        self._killer.join()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._killer.is_alive():
            return self.inner.submit(_held, str(self.folder), fn, *args, **kwargs)
        return self.inner.submit(fn, *args, **kwargs)

    def _kill(self) -> None:
        until((self.folder / "at").exists, "the first task")
        victim = (self.folder / "at").read_text()
        if victim:  # else nothing was ever submitted
            os.kill(int(victim), signal.SIGKILL)
            self.killed = int(victim)
        (self.folder / "go").touch()


def _held(folder: str, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    pid_when(folder)
    return fn(*args, **kwargs)


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
    raise InputError([Problem("a.run", line, "is bad"), Problem("b.run", None, "is worse")])


def fail_at(number: int) -> int:
    """Fail at 5 at once, and at 3 later."""
    if number == 3:
        time.sleep(0.2)
    if number in (3, 5):
        raise InputError.at("a.run", number, "is bad")
    return number


def read(path: str) -> str:
    return Path(path).read_text()
