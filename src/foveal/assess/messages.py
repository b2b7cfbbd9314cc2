"""What clients send, checked for shape before anything acts on it.

A wrong type, an unknown field or a number out of bounds is a request that no page of ours makes;
it is refused with what was found, and goes no further.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Any

from foveal.assess.actions import Action
from foveal.assess.security import Refusal

__all__ = ["EVENTS", "ActionMessage", "action_message", "fields", "flag", "name", "text"]

EVENTS = ("view", "time", "cues", "setting")
"""What pages report besides actions."""

_MOST_NUMBER = 2**53
"""Beyond it the numbers of JavaScript are not exact."""
_MOST_NAME = 2000
_UUID = re.compile(r"[0-9A-Za-z_-]{8,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ActionMessage:
    """An action and what the page knew when it was made.

    Parameters
    ----------
    uuid : str
        Of the action, so that a repeated message does nothing.
    base : int
        The version that the page showed.
    length, digest : int and str
        Of the text that the page shows, as it counts and hashes it itself.
    at : str or None
        The time of the browser.
    action : Action
    """

    uuid: str
    base: int
    length: int
    digest: str
    at: str | None
    action: Action


def _wrong(what: str, found: Any, expected: str) -> Refusal:
    shown = repr(found)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return Refusal(422, "message", f"{what} is {shown}; expected {expected}.")


def fields(data: Any, *, needed: Set[str], optional: Set[str] = frozenset()) -> dict[str, Any]:
    """An object with these fields and no others."""
    if not isinstance(data, dict):
        raise _wrong("A part of the request", data, "an object")
    if missing := sorted(needed - data.keys()):
        raise Refusal(422, "message", f"The request lacks {', '.join(missing)}.")
    if unknown := sorted(data.keys() - needed - optional):
        raise _wrong("A field", unknown[0], f"one of {', '.join(sorted(needed | optional))}")
    return data


def _number(what: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST_NUMBER:
        raise _wrong(what, value, "a whole number from 0")
    return value


def text(what: str, value: Any, most: int) -> str:
    """A text of at most so many characters."""
    if not isinstance(value, str) or len(value) > most:
        raise _wrong(what, value, f"a text of at most {most} characters")
    return value


def name(what: str, value: Any) -> str:
    """The name of a document, a topic or a user."""
    if not isinstance(value, str) or not 0 < len(value) <= _MOST_NAME:
        raise _wrong(what, value, "a name")
    return value


def flag(what: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise _wrong(what, value, "true or false")
    return value


def action_message(data: Any) -> ActionMessage:
    """A message with an action.

    >>> message = {"uuid": "0123-4567", "base": 3, "length": 90, "digest": "0" * 64, "at": None}
    >>> action_message(message | {"action": {"kind": "highlight", "start": 2, "end": 9}}).action.end
    9
    """
    needed = {"uuid", "base", "length", "digest", "action"}
    found = fields(data, needed=needed, optional={"at", "campaign"})
    uuid, digest, at = found["uuid"], found["digest"], found.get("at")
    if not isinstance(uuid, str) or not _UUID.fullmatch(uuid):
        raise _wrong("uuid", uuid, "8 to 64 letters, digits, - and _")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise _wrong("digest", digest, "64 hexadecimal digits")
    if isinstance(at, int | float) and not isinstance(at, bool):
        at = repr(at)
    action = Action.from_json(found["action"])
    if action.state is not None:  # only the rules can say that a document is complete
        action = replace(action, state=replace(action.state, validated=False))
    return ActionMessage(
        uuid,
        _number("base", found["base"]),
        _number("length", found["length"]),
        digest,
        None if at is None else text("at", at, 64),
        action,
    )
