"""Checks of the messages that clients send.

A message with a wrong type, an unknown field or a number out of bounds is refused, with the value
found. The pages of the server never send one.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from foveal.assess.actions import Action, Replace
from foveal.assess.security import Refusal

__all__ = ["EVENTS", "ActionMessage", "action_message", "fields", "flag", "name", "text"]

EVENTS = ("view", "time", "cues", "setting")
"""Events that pages report in addition to actions."""

_MOST_NUMBER = 2**53
"""The numbers of JavaScript are exact below this."""
_MOST_NAME = 2000
_UUID = re.compile(r"[0-9A-Za-z_-]{8,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ActionMessage:
    """An action with the version and text that the page showed.

    Parameters
    ----------
    uuid : str
        Identifies the action, so that a repeated message does nothing.
    base : int
        The version that the page showed.
    length, digest : int and str
        Length and hash of the text that the page shows, computed by the page.
    at : str or None
        The time in the browser.
    action : Action
    """

    uuid: str
    base: int
    length: int
    digest: str
    at: str | None
    action: Action


def _make_refusal(what: str, found: Any, expected: str) -> Refusal:
    shown = repr(found)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return Refusal(422, "message", f"{what} is {shown}; expected {expected}.")


def fields(data: Any, *, needed: Set[str], optional: Set[str] = frozenset()) -> dict[str, Any]:
    """Return an object that has these fields and no others; refuse anything else."""
    if not isinstance(data, dict):
        raise _make_refusal("A part of the request", data, "an object")
    if missing := sorted(needed - data.keys()):
        raise Refusal(422, "message", f"The request lacks {', '.join(missing)}.")
    if unknown := sorted(data.keys() - needed - optional):
        raise _make_refusal("A field", unknown[0], f"one of {', '.join(sorted(needed | optional))}")
    return data


def _check_number(what: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST_NUMBER:
        raise _make_refusal(what, value, "a whole number from 0")
    return value


def text(what: str, value: Any, most: int) -> str:
    """Return a text of at most `most` characters; refuse anything else."""
    if not isinstance(value, str) or len(value) > most:
        raise _make_refusal(what, value, f"a text of at most {most} characters")
    return value


def name(what: str, value: Any) -> str:
    """Return the name of a document, topic or user; refuse anything else."""
    if not isinstance(value, str) or not 0 < len(value) <= _MOST_NAME:
        raise _make_refusal(what, value, "a name")
    return value


def flag(what: str, value: Any) -> bool:
    """Return a boolean; refuse anything else."""
    if not isinstance(value, bool):
        raise _make_refusal(what, value, "true or false")
    return value


def action_message(data: Any) -> ActionMessage:
    """Return a checked message with an action.

    >>> message = {"uuid": "0123-4567", "base": 3, "length": 90, "digest": "0" * 64, "at": None}
    >>> action_message(message | {"action": {"kind": "highlight", "start": 2, "end": 9}}).action.end
    9
    """
    needed = {"uuid", "base", "length", "digest", "action"}
    found = fields(data, needed=needed, optional={"at", "campaign"})
    uuid, digest, at = found["uuid"], found["digest"], found.get("at")
    if not isinstance(uuid, str) or not _UUID.fullmatch(uuid):
        raise _make_refusal("uuid", uuid, "8 to 64 letters, digits, - and _")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise _make_refusal("digest", digest, "64 hexadecimal digits")
    if isinstance(at, int | float) and not isinstance(at, bool):
        at = repr(at)
    action = Action.from_json(found["action"])
    if isinstance(action, Replace):  # only the server decides whether a document is complete
        action = Replace(replace(action.state, validated=False))
    return ActionMessage(
        uuid,
        _check_number("base", found["base"]),
        _check_number("length", found["length"]),
        digest,
        None if at is None else text("at", at, 64),
        action,
    )
