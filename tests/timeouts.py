"""Wait for other processes with a time limit, and end them with their test."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest

__all__ = ["WAIT_LIMIT", "finished", "limited", "started", "until"]

WAIT_LIMIT = 90.0
"""Seconds after which a test gives up on another process; nothing is measured by them."""
LIMIT = 300.0
"""Seconds after which a test has failed, whatever it waits for."""


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for another process."""
    last = time.monotonic() + WAIT_LIMIT
    while not true():
        assert time.monotonic() < last, f"{what} does not happen"
        time.sleep(0.01)


@contextmanager
def limited(what: str, seconds: float = LIMIT) -> Iterator[None]:
    """Fail, by a signal that interrupts any wait, when something takes longer than so many seconds.

    Without such signals, as on Windows, nothing is limited.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def fail(*_: object) -> None:
        pytest.fail(f"{what} is not done after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process in a group of its own, which is ended with all that it started."""
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def finished(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """What a command said, when it and all that it started have ended."""
    pipe = subprocess.PIPE
    with started(command, stdout=pipe, stderr=pipe, text=True, **options) as process:
        out, err = process.communicate(timeout=LIMIT)
    return subprocess.CompletedProcess(command, process.returncode, out, err)
