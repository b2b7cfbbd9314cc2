"""The process of a command: its standard streams, SIGTERM, and errors that nobody expected."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

__all__ = [
    "StandardOutputError",
    "describe_failure",
    "discard_output",
    "exit_on_sigterm",
    "guard_streams",
]

_DEBUG = "FOVEAL_DEBUG"
_TERMINATED = 128 + signal.SIGTERM


class StandardOutputError(Exception):
    """Standard output cannot be written: it is full or closed."""


class _Output(io.FileIO):
    """Standard output, whose errors are not mistaken for those of a file."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise StandardOutputError(f"standard output cannot be written: {reason}") from None


class _Messages(io.FileIO):
    """Standard error; a message that cannot be written is dropped, the exit code remains."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def guard_streams() -> None:
    """Open standard streams that the caller closed, and report errors of standard output.

    A closed stream would leave its number to the next file that is opened. The null device takes
    it: where data would be lost it is opened so that using it fails.
    """
    closed = {
        0: (sys.stdin, os.O_WRONLY),
        1: (sys.stdout, os.O_RDONLY),
        2: (sys.stderr, os.O_WRONLY),
    }
    for number, (stream, flags) in closed.items():
        if stream is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)  # noqa: FBT003 - as of any standard stream
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    # Not where a test or a caller has put a stream of its own.
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Output(1, "w", closefd=False), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Messages(2, "w", closefd=False), sys.stderr, "backslashreplace")


def _text(raw: io.FileIO, like: Any, errors: str = "strict") -> io.TextIOWrapper:
    """Return a text stream with encoding and buffering of another, which may be None."""
    if like is not None:
        like.flush()
    unbuffered = getattr(like, "write_through", False)  # PYTHONUNBUFFERED
    stream: Any = raw if unbuffered else io.BufferedWriter(raw)
    return io.TextIOWrapper(
        stream,
        encoding=getattr(like, "encoding", "utf-8"),
        errors=getattr(like, "errors", errors),
        line_buffering=raw.fileno() == 2 or raw.isatty(),
        write_through=unbuffered,
    )


def discard_output() -> None:
    """Lead standard output to nowhere, so that Python does not complain when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """End a command on SIGTERM as on an interruption: clean-ups run, other processes end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_signal: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(_TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def describe_failure(error: MemoryError | OSError) -> str:
    """Say what the system refused; in debug mode also print where."""
    if os.environ.get(_DEBUG, "0") not in ("", "0"):
        traceback.print_exception(error)
    if isinstance(error, MemoryError):
        reason = "foveal: not enough memory for this command"
    elif error.filename is not None:
        reason = f"{error.filename}: {error.strerror}"
    else:
        reason = f"foveal: {error.strerror or error}"
    return f"{reason} ({_DEBUG}=1 shows the traceback)"
