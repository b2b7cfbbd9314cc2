"""A call and its outcome as bytes, so that errors cross from one process to another whole."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any

from foveal.errors import FovealError

__all__ = ["answer", "name_of", "order", "outcome"]


def order(function: Callable[..., Any], args: Any, kwargs: Any) -> bytes:
    """A call to send."""
    return _pickled((function, args, kwargs))


def answer(ordered: bytes) -> bytes:
    """Do what was ordered; the value, or the error and where it arose.

    >>> outcome(answer(order(divmod, (7, 2), {})))
    (3, 1)
    """
    try:
        function, args, kwargs = pickle.loads(ordered)  # noqa: S301 - from our own client
        return _pickled((function(*args, **kwargs), None, ""))
    except BaseException as error:
        return _refused(error)


def _refused(error: BaseException) -> bytes:
    """An error as it is, if it survives pickling."""
    trace = traceback.format_exc()
    # Where Dask is loaded, errors are pickled with their frames, and a deep one would not survive.
    error = error.with_traceback(None)
    error.__cause__ = error.__context__ = None
    try:
        answered = _pickled((None, error, trace))
        pickle.loads(answered)  # noqa: S301 - made in the line before
    except Exception:
        return _pickled((None, RuntimeError(f"{type(error).__name__}: {error}"), trace))
    return answered


def outcome(answered: bytes) -> Any:
    """The value of a call; its error is raised here, with a note of where it arose if it is ours.

    >>> outcome(answer(order(divmod, (7, 0), {})))
    Traceback (most recent call last):
    ZeroDivisionError: integer division or modulo by zero
    ...
    """
    value, error, trace = pickle.loads(answered)  # noqa: S301 - from our own worker
    if error is None:
        return value
    if not isinstance(error, FovealError):
        error.add_note(f"In another process:\n{trace}")
    raise error


def name_of(function: Callable[..., Any], args: Any) -> str:
    """What a task is called in messages: what it says of itself, else the function it calls."""
    label = getattr(args[0], "label", None) if args else None
    return str(label or getattr(function, "__name__", None) or "a task")


def _pickled(what: Any) -> bytes:
    return pickle.dumps(what, protocol=pickle.HIGHEST_PROTOCOL)
