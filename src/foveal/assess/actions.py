"""The actions of an assessor on a document, and the state that a log of actions leads to.

An assessment is the log of its actions; this module computes the state from the log, by pure
functions. Undo and redo are actions like any other, nothing is ever overwritten, and any earlier
state can be computed again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from foveal.errors import FovealError

__all__ = [
    "KINDS",
    "Action",
    "History",
    "RefusedError",
    "State",
    "add_span",
    "after",
    "check",
    "remove_span",
]

Spans = tuple[tuple[int, int], ...]

KINDS = (
    "highlight",
    "unhighlight",
    "bep",
    "grade",
    "note",
    "validate",
    "invalidate",
    "replace",
    "undo",
    "redo",
)
"""Kinds of actions on a document."""

_FIELDS: Mapping[str, frozenset[str]] = {
    "highlight": frozenset({"start", "end"}),
    "unhighlight": frozenset({"start", "end"}),
    "bep": frozenset({"start"}),
    "grade": frozenset({"path", "grade"}),
    "note": frozenset({"text"}),
    "replace": frozenset({"state"}),
}
"""Fields of an action besides its kind; others are refused, since the log keeps all of them."""
_SILENT = ("note", "validate", "invalidate")
"""Actions that leave a validated document validated."""
_MOST_NOTE = 20_000
_NAMES: Mapping[type, str] = {
    int: "a whole number",
    str: "a text",
    bool: "true or false",
    list: "a list",
}
"""Names of types in messages about a wrong type."""


class RefusedError(FovealError):
    """An action that was refused, with the reason for the assessor."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action of an assessor.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    start, end : int, optional
        The span of ``highlight`` and ``unhighlight``; ``bep`` has its offset in `start`, or none
        to remove it.
    path : str, optional
        The canonical XPath of the element that ``grade`` grades.
    grade : mapping, optional
        Its grades, as in ``{"exhaustivity": "2"}``; an empty mapping removes them.
    text : str, optional
        The text of a ``note``.
    state : State, optional
        The state that ``replace`` sets; imports and adjudications begin with it.
    """

    kind: str
    start: int | None = None
    end: int | None = None
    path: str | None = None
    grade: Mapping[str, str] | None = None
    text: str | None = None
    state: State | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are set, for the log."""
        given: dict[str, Any] = {
            name: value
            for name in ("kind", "start", "end", "path", "text")
            if (value := getattr(self, name)) is not None
        }
        if self.grade is not None:
            given["grade"] = dict(self.grade)
        if self.state is not None:
            given["state"] = self.state.to_json()
        return given

    @classmethod
    def from_json(cls, data: object) -> Action:
        """Return the action that `to_json` wrote or a page sent; refuse anything else.

        >>> Action.from_json({"kind": "highlight", "start": 3, "end": 9})
        Action(kind='highlight', start=3, end=9, path=None, grade=None, text=None, state=None)
        """
        fields = _check_object(data, "an action")
        grade, state = fields.get("grade"), fields.get("state")
        return cls(
            kind=_read_field(fields, "kind", str),
            start=_read_optional(fields, "start", int),
            end=_read_optional(fields, "end", int),
            path=_read_optional(fields, "path", str),
            grade=None if grade is None else _read_grades(grade),
            text=_read_optional(fields, "text", str),
            state=None if state is None else State.from_json(_check_object(state, "a state")),
        )


@dataclass(frozen=True, slots=True)
class State:
    """The assessment of a document at one time.

    Parameters
    ----------
    spans : tuple of pairs
        Highlighted text, in code points: disjoint, in order, not touching.
    bep : int, optional
        The best entry point.
    grades : mapping
        XPath to the grades that the assessor gave; inferred ones are not included.
    note : str
    validated : bool
        True if the assessor has declared the assessment complete.
    """

    spans: Spans = ()
    bep: int | None = None
    grades: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    note: str = ""
    validated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON, for pages and for the log."""
        return {
            "spans": [list(span) for span in self.spans],
            "bep": self.bep,
            "grades": {path: dict(grade) for path, grade in self.grades.items()},
            "note": self.note,
            "validated": self.validated,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> State:
        """Return the state that `to_json` wrote; refuse anything else."""
        spans = _read_field(data, "spans", list)
        if not all(
            isinstance(span, list) and [type(at) for at in span] == [int] * 2 for span in spans
        ):
            raise RefusedError("spans are not pairs of offsets")
        grades = _check_object(data.get("grades"), "the grades")
        return cls(
            spans=tuple((start, end) for start, end in spans),
            bep=_read_optional(data, "bep", int),
            grades=MappingProxyType({path: _read_grades(own) for path, own in grades.items()}),
            note=_read_field(data, "note", str),
            validated=_read_field(data, "validated", bool),
        )


_T = TypeVar("_T")


def _check_object(data: object, what: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in data):
        raise RefusedError(f"{what} is not an object")
    return data


def _read_field(data: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """Return a field of exactly this type: JSON's true does not count as a number."""
    value = data.get(name)
    if type(value) is not kind:
        raise RefusedError(f"{name} is {value!r:.100}; expected {_NAMES[kind]}")
    return value


def _read_optional(data: Mapping[str, Any], name: str, kind: type[_T]) -> _T | None:
    return None if data.get(name) is None else _read_field(data, name, kind)


def _read_grades(data: object) -> dict[str, str]:
    grades = _check_object(data, "a grade")
    return {name: _read_field(grades, name, str) for name in grades}


def add_span(spans: Spans, start: int, end: int) -> Spans:
    """Add a span to disjoint ones; merge it with those that it overlaps or touches.

    >>> add_span(((0, 4), (10, 12), (20, 30)), 4, 11)
    ((0, 12), (20, 30))
    """
    first = bisect_left(spans, start, key=lambda span: span[1])
    after = bisect_right(spans, end, key=lambda span: span[0])
    if first < after:
        start, end = min(start, spans[first][0]), max(end, spans[after - 1][1])
    return (*spans[:first], (start, end), *spans[after:])


def remove_span(spans: Spans, start: int, end: int) -> Spans:
    """Cut a span out of disjoint ones.

    >>> remove_span(((0, 10), (20, 30)), 5, 22)
    ((0, 5), (22, 30))
    """
    first = bisect_right(spans, start, key=lambda span: span[1])
    after = bisect_left(spans, end, key=lambda span: span[0])
    if first >= after:
        return spans
    left, right = (spans[first][0], start), (end, spans[after - 1][1])
    rest = tuple(span for span in (left, right) if span[0] < span[1])
    return (*spans[:first], *rest, *spans[after:])


def _apply(state: State, action: Action) -> State:
    """Return the state after one action other than undo and redo."""
    match action:
        case Action("highlight", start=int(start), end=int(end)):
            return replace(state, spans=add_span(state.spans, start, end))
        case Action("unhighlight", start=int(start), end=int(end)):
            return replace(state, spans=remove_span(state.spans, start, end))
        case Action("bep"):
            return replace(state, bep=action.start)
        case Action("grade", path=str(path)):
            grades = {**state.grades, path: dict(action.grade or {})}
            if not action.grade:
                del grades[path]
            return replace(state, grades=MappingProxyType(grades))
        case Action("note"):
            return replace(state, note=action.text or "")
        case Action("validate"):
            return replace(state, validated=True)
        case Action("invalidate"):
            return replace(state, validated=False)
        case Action("replace", state=State() as new):
            return new
    raise RefusedError(f"{action.kind!r} is not a complete action")


def after(state: State, action: Action) -> State:
    """Return the state after one action; a change makes a validated document open again."""
    new = _apply(state, action)
    if action.kind == "replace" or action.kind in _SILENT or new == state:
        return new
    return replace(new, validated=False)


def check(action: Action, length: int) -> None:
    """Refuse an action that is invalid on a text of this length, in any state."""
    if action.kind not in KINDS:
        raise RefusedError(f"unknown action {action.kind!r}; expected one of {', '.join(KINDS)}")
    given = action.to_json().keys() - {"kind"} - _FIELDS.get(action.kind, frozenset())
    if given:
        raise RefusedError(f"{action.kind!r} has no {' and no '.join(sorted(given))}")
    start, end = action.start, action.end
    if action.kind in ("highlight", "unhighlight"):
        if start is None or end is None or not 0 <= start < end <= length:
            raise RefusedError(
                f"cannot {action.kind} {start} to {end} in a text of {length} characters"
            )
    elif action.kind == "bep" and start is not None and not 0 <= start < length:
        raise RefusedError(f"a text of {length} characters has no entry point at {start}")
    elif action.kind == "note":
        _check_note(action.text or "")
    elif action.kind == "grade" and action.path is None:
        raise RefusedError("a grade needs the path of an element")
    elif action.kind == "replace":
        if action.state is None:
            raise RefusedError("a replacement needs the new state")
        _check_state(action.state, length)


def _check_note(note: str) -> None:
    if len(note) > _MOST_NOTE:
        raise RefusedError(f"a note of {len(note)} characters; expected at most {_MOST_NOTE}")


def _check_state(state: State, length: int) -> None:
    """Refuse a state that no actions lead to on a text of this length."""
    reached = -1
    for start, end in state.spans:
        if not reached < start < end <= length:
            raise RefusedError(
                f"{start} to {end} is not a span after the previous one in a text of {length} "
                "characters"
            )
        reached = end
    if state.bep is not None and not 0 <= state.bep < length:
        raise RefusedError(f"a text of {length} characters has no entry point at {state.bep}")
    _check_note(state.note)


class History:
    """The actions on one document in order, with undo and redo.

    Undo leaves notes alone: an assessor who takes back a highlight keeps the note.

    >>> history = History([Action("highlight", 0, 9), Action("bep", 3), Action("undo")])
    >>> history.state.spans, history.state.bep
    (((0, 9),), None)
    >>> history.add(Action("redo"))
    >>> history.state.bep
    3
    """

    def __init__(self, actions: Iterable[Action] = ()) -> None:
        self._states = [State()]
        self._undone: list[State] = []
        self.version = 0
        for action in actions:
            self.add(action)

    @property
    def state(self) -> State:
        """The state after all actions so far."""
        return self._states[-1]

    @property
    def can_undo(self) -> bool:
        return len(self._states) > 1

    @property
    def can_redo(self) -> bool:
        return bool(self._undone)

    def copy(self) -> History:
        """Return an independent copy."""
        other = History()
        other._states, other._undone = list(self._states), list(self._undone)
        other.version = self.version
        return other

    def next(self, action: Action) -> State:
        """Return the state that an action would lead to."""
        if action.kind == "undo":
            if not self.can_undo:
                raise RefusedError("nothing to undo")
            return replace(self._states[-2], note=self.state.note)
        if action.kind == "redo":
            if not self.can_redo:
                raise RefusedError("nothing to redo")
            return replace(self._undone[-1], note=self.state.note)
        return after(self.state, action)

    def add(self, action: Action) -> None:
        """Append an action, which makes a new version."""
        state = self.next(action)
        if action.kind == "undo":
            self._undone.append(self._states.pop())
            self._states[-1] = state
        elif action.kind == "redo":
            self._undone.pop()
            self._states.append(state)
        elif action.kind == "note":
            self._states[-1] = state
        else:
            self._undone.clear()
            self._states.append(state)
        self.version += 1
