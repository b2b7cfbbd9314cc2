"""Keeps what threads of a reader print when they meet a damaged file from standard error."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock

__all__ = ["without_panics"]

_STDERR = 2
_PANIC = re.compile(rb"\n?thread '[^\n]* panicked at .*", re.DOTALL)
_ALONE = Lock()
"""Standard error belongs to the whole process: one redirection at a time."""


@contextmanager
def without_panics() -> Iterator[None]:
    """Hold standard error back while a file is read; all of it but panics is printed afterwards.

    A thread that panics prints where it did, and a trace, before anybody can catch the error.
    What other threads print in the meantime is only late, never lost.
    """
    with _ALONE, ExitStack() as stack:
        try:
            held = stack.enter_context(tempfile.TemporaryFile())
            kept = os.dup(_STDERR)
        except OSError:  # no place to hold it, or no standard error
            yield
            return
        stack.callback(os.close, kept)
        text = b""
        try:
            _flush()
            os.dup2(held.fileno(), _STDERR)
            try:
                yield
            finally:
                _flush()
                os.dup2(kept, _STDERR)
                held.seek(0)
                text = held.read()
        except BaseException:
            text = _PANIC.sub(b"", text)
            raise
        finally:
            if text:
                with suppress(OSError):  # standard error is full or closed
                    os.write(kept, text)


def _flush() -> None:
    if sys.stderr is not None and not sys.stderr.closed:
        sys.stderr.flush()
