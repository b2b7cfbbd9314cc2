"""Keep standard error free of the traces that Polars prints about damaged files.

Polars 2.1 still prints them before it raises.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock

_STDERR = 2
_PANIC = re.compile(rb"\n?thread '[^\n]* panicked at .*", re.DOTALL)
_ALONE = Lock()
"""Standard error belongs to the whole process: one redirection at a time."""


@contextmanager
def without_panics() -> Iterator[None]:
    """Hold standard error back while a file is read; all of it but panics is printed afterwards.

    A thread that panics prints its place and a trace before the error can be caught. Output of
    other threads in the meantime is late, never lost.
    """
    with _ALONE, ExitStack() as stack:
        try:
            held = stack.enter_context(tempfile.TemporaryFile())
            kept = os.dup(_STDERR)
        except OSError:  # no temporary file, or no standard error
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
