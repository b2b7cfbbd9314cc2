"""The messages that clients send, and their checks.

A message with a wrong type, an unknown field or a number out of bounds is refused with the place of
the error. The pages of the server never send one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request

from foveal.assess.security import Refusal

_DEEPEST = 12
"""Deepest nesting of a JSON body; pages send four levels."""

Name = Annotated[str, Meta(min_length=1, max_length=2000)]
"""The name of a document, topic or user."""
Secret = Annotated[str, Meta(max_length=1024)]
Count = Annotated[int, Meta(ge=0, lt=2**53)]
"""A whole number; those of JavaScript are exact below this."""

_T = TypeVar("_T")


class Message(Struct, forbid_unknown_fields=True, frozen=True):
    """A body of a request."""


class Nothing(Message, frozen=True):
    """A body without fields."""


class ActionMessage(Message, frozen=True):
    """An action with the version and text that the page showed.

    Parameters
    ----------
    uuid : str
        Identifies the action, so that a repeated message does nothing.
    base : int
        The version that the page showed.
    length, digest : int and str
        Length and hash of the text that the page shows, computed by the page.
    action : mapping
        The fields of an `foveal.assess.actions.Action`.
    at : str, int or float, optional
        The time in the browser.
    campaign : str
        The identity of the campaign that the page belongs to.
    """

    uuid: Annotated[str, Meta(pattern="^[0-9A-Za-z_-]{8,64}$")]
    base: Count
    length: Count
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    action: dict[str, Any]
    at: Annotated[str, Meta(max_length=64)] | int | float | None = None
    campaign: str = ""


class NewDocument(Message, frozen=True):
    """A document to add to a pool."""

    doc: Name


class Event(Message, frozen=True):
    """An event that a page reports in addition to actions."""

    kind: Literal["view", "time", "cues", "setting"]
    doc: Name | None = None
    payload: dict[str, Any] | None = None


class Setting(Message, frozen=True):
    """A setting of an assessor for a topic."""

    key: Annotated[str, Meta(min_length=1, max_length=64)]
    value: Any


class Cue(Message, frozen=True):
    """A word or regular expression to colour in texts."""

    pattern: Annotated[str, Meta(max_length=500)]
    colour: Literal["blue", "orange", "green", "pink", "purple", "red"] = "blue"
    style: Literal["background", "underline", "text"] = "underline"
    on: bool = True


class Assignment(Message, frozen=True):
    """A topic that is given to an assessor, or taken back."""

    topic: Name
    assessor: Name
    assigned: bool


class Invitation(Message, frozen=True):
    """A user to invite."""

    name: Name


class UserFile(Message, frozen=True):
    """Users to add: lines of name, role and topics."""

    csv: str
    invite: bool = False


class AboutChange(Message, frozen=True):
    """A new title and new guidelines of the campaign."""

    title: str
    guidelines: str


class NewToken(Message, frozen=True):
    """A token of the API to create."""

    label: Annotated[str, Meta(max_length=100)]


class JoinQuestion(Message, frozen=True):
    """The token of an invitation."""

    token: Secret


class Join(Message, frozen=True):
    """The token of an invitation, and the password that the invited person chose."""

    token: Secret
    password: Secret


class PasswordChange(Message, frozen=True):
    """The present and the new password of a user."""

    old: Secret
    new: Secret


class UserChange(Message, frozen=True):
    """A new account, or a change of one."""

    name: Name
    role: Literal["assessor", "organiser"] | None = None
    password: Secret | None = None
    topics: tuple[Name, ...] = ()
    """Topics to assign, in addition to others."""


def convert(data: Any, kind: type[_T]) -> _T:
    """Return data of JSON as a checked message.

    >>> convert({"pattern": "ferry"}, Cue).style
    'underline'
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise Refusal(422, "message", f"{error}.") from None


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


def read_json(request: Request, kind: type[_T]) -> _T:
    """Return the body of a request as a checked message."""
    if (given := _media_type(request)) != "application/json":
        raise Refusal(
            400, "type", f"The body is {given or 'untyped'!r}; expected application/json."
        )
    try:
        data = msgspec.json.decode(request.state.body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Refusal(400, "json", "The body is not JSON in UTF-8.") from error
    if not isinstance(data, dict):
        raise Refusal(400, "json", "The body is not a JSON object.")
    _check_depth(data)
    return convert(data, kind)


def _check_depth(data: Any) -> None:
    """Refuse deep nesting, and text with null characters."""
    level = [data]
    for _ in range(_DEEPEST):
        deeper: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                deeper += value.keys()
                deeper += value.values()
            elif isinstance(value, list):
                deeper += value
            elif isinstance(value, str) and "\0" in value:
                raise Refusal(400, "json", "A text holds invalid characters.")
        level = deeper
        if not level:
            return
    raise Refusal(400, "json", f"The body is nested more than {_DEEPEST} deep.")


def is_form(request: Request) -> bool:
    """Return True if the body of a request is a form."""
    return _media_type(request) == "application/x-www-form-urlencoded"


def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; the first value of each name counts."""
    if not is_form(request):
        raise Refusal(400, "type", "Expected a form.")
    try:
        pairs = parse_qsl(
            request.state.body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=50,
        )
    except ValueError as error:
        raise Refusal(400, "form", "The form cannot be read.") from error
    return dict(reversed(pairs))
