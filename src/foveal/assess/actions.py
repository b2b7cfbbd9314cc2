"""The actions of an assessor on a document, and the state that a log of actions leads to.

An assessment is the log of its actions; this module computes the state from the log, by pure
functions. Undo and redo are actions like any other, nothing is ever overwritten, and any earlier
state can be computed again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from foveal.errors import FovealError

Spans = tuple[tuple[int, int], ...]

_MOST_NOTE = 20_000


class RefusedError(FovealError):
    """An action that was refused, with the reason for the assessor."""


class State(msgspec.Struct, frozen=True):
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
    decisions : tuple of Decision
        The last decision on each suggestion, in the order of the suggestions.
    """

    spans: Spans = ()
    bep: int | None = None
    grades: Mapping[str, Mapping[str, str]] = {}
    note: str = ""
    validated: bool = False
    decisions: tuple[AnyDecision, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON, for pages and for the database; decisions only if any."""
        found = {**msgspec.to_builtins(self), "spans": [list(span) for span in self.spans]}
        if not self.decisions:
            del found["decisions"]
        return found

    @staticmethod
    def from_json(data: object) -> State:
        """Return the state that `to_json` wrote; refuse anything else."""
        state: State = _convert(data, State)
        return state

    def check(self, length: int) -> None:
        """Refuse a state that no actions lead to on a text of this length."""
        reached = -1
        for start, end in self.spans:
            if not reached < start < end <= length:
                raise RefusedError(
                    f"{start} to {end} is not a span after the previous one in a text of {length} "
                    "characters"
                )
            reached = end
        EntryPoint(self.bep).check(length)
        SetNote(self.note).check(length)
        if self.decisions:
            raise RefusedError("a decision on a suggestion is an action of its own")


class Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """One action of an assessor; `kind` is its name in the log and in messages."""

    @property
    def kind(self) -> str:
        return str(self.__struct_config__.tag)

    def check(self, length: int) -> None:
        """Refuse an action that is invalid on a text of this length, in any state."""

    def apply(self, state: State) -> State:
        """Return the state after the action."""
        raise NotImplementedError  # undo and redo need the history

    def to_json(self) -> dict[str, Any]:
        """Return the action as JSON, for the log."""
        action: dict[str, Any] = msgspec.to_builtins(self)
        return action

    @staticmethod
    def from_json(data: object) -> Action:
        """Return the action that `to_json` wrote or a page sent; refuse anything else.

        >>> Action.from_json({"kind": "highlight", "start": 3, "end": 9})
        Highlight(start=3, end=9)
        """
        action: Action = _convert(data, AnyAction)
        return action


class Highlight(Action, frozen=True, tag="highlight"):
    """Mark a span as relevant."""

    start: int
    end: int

    def check(self, length: int) -> None:
        if not 0 <= self.start < self.end <= length:
            raise RefusedError(
                f"cannot {self.kind} {self.start} to {self.end} in a text of {length} characters"
            )

    def apply(self, state: State) -> State:
        return replace(state, spans=add_span(state.spans, self.start, self.end))


class Unhighlight(Highlight, frozen=True, tag="unhighlight"):
    """Take a span out of the relevant text."""

    def apply(self, state: State) -> State:
        return replace(state, spans=remove_span(state.spans, self.start, self.end))


class EntryPoint(Action, frozen=True, tag="bep", omit_defaults=True):
    """Set the best entry point, or remove it (None)."""

    start: int | None = None

    def check(self, length: int) -> None:
        if self.start is not None and not 0 <= self.start < length:
            raise RefusedError(f"a text of {length} characters has no entry point at {self.start}")

    def apply(self, state: State) -> State:
        return replace(state, bep=self.start)


class Grade(Action, frozen=True, tag="grade"):
    """Grade the element at an XPath, as in ``{"exhaustivity": "2"}``; {} removes its grades."""

    path: str
    grade: Mapping[str, str] = {}

    def apply(self, state: State) -> State:
        grades = {**state.grades, self.path: self.grade}
        if not self.grade:
            del grades[self.path]
        return replace(state, grades=grades)


class SetNote(Action, frozen=True, tag="note"):
    """Replace the note on the document."""

    text: str = ""

    def check(self, length: int) -> None:  # noqa: ARG002
        if len(self.text) > _MOST_NOTE:
            raise RefusedError(
                f"a note of {len(self.text)} characters; expected at most {_MOST_NOTE}"
            )

    def apply(self, state: State) -> State:
        return replace(state, note=self.text)


class Validate(Action, frozen=True, tag="validate"):
    """Declare the assessment complete."""

    def apply(self, state: State) -> State:
        return replace(state, validated=True)


class Invalidate(Action, frozen=True, tag="invalidate"):
    """Take the declaration back."""

    def apply(self, state: State) -> State:
        return replace(state, validated=False)


class Replace(Action, frozen=True, tag="replace"):
    """Set the whole state; imports and adjudications begin with it."""

    state: State

    def check(self, length: int) -> None:
        self.state.check(length)

    def apply(self, state: State) -> State:  # noqa: ARG002
        return self.state

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "state": self.state.to_json()}


class Decision(Action, frozen=True):
    """A decision on the suggestion to highlight a span."""

    start: int
    end: int

    @property
    def result(self) -> tuple[int, int] | None:
        """The span that is highlighted, or None."""
        return (self.start, self.end)

    def check(self, length: int) -> None:
        if self.result is not None:
            Highlight(*self.result).check(length)

    def apply(self, state: State) -> State:
        spans, decisions = state.spans, [self]
        for earlier in state.decisions:
            if (earlier.start, earlier.end) != (self.start, self.end):
                decisions.append(earlier)
            elif earlier.result is not None:  # the assessor has changed their mind
                spans = remove_span(spans, *earlier.result)
        if self.result is not None:
            spans = add_span(spans, *self.result)
        decisions.sort(key=lambda decision: (decision.start, decision.end))
        return replace(state, spans=spans, decisions=tuple(decisions))


class Accept(Decision, frozen=True, tag="accept"):
    """Highlight what is suggested."""


class Adjust(Decision, frozen=True, tag="adjust"):
    """Highlight another span instead of the suggested one."""

    highlight: tuple[int, int]

    @property
    def result(self) -> tuple[int, int] | None:
        return self.highlight


class Reject(Decision, frozen=True, tag="reject"):
    """Do not highlight what is suggested."""

    @property
    def result(self) -> tuple[int, int] | None:
        return None


class Undo(Action, frozen=True, tag="undo"):
    """Go back to the state before the last action that changed it."""


class Redo(Action, frozen=True, tag="redo"):
    """Take back the last undo."""


AnyAction = (
    Highlight
    | Unhighlight
    | EntryPoint
    | Grade
    | SetNote
    | Validate
    | Invalidate
    | Replace
    | Accept
    | Adjust
    | Reject
    | Undo
    | Redo
)
AnyDecision = Accept | Adjust | Reject


def _convert(data: object, kind: Any) -> Any:
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise RefusedError(f"not an action or state: {error}") from None


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


def apply_action(state: State, action: Action) -> State:
    """Return the state after one action; a judgement makes a validated document open again."""
    new = action.apply(state)
    same = (new.spans, new.bep, new.grades) == (state.spans, state.bep, state.grades)
    if same or isinstance(action, Replace):
        return new
    return replace(new, validated=False)


class History:
    """The actions on one document in order, with undo and redo.

    Undo leaves notes alone: an assessor who takes back a highlight keeps the note.

    >>> history = History([Highlight(0, 9), EntryPoint(3), Undo()])
    >>> history.state.spans, history.state.bep
    (((0, 9),), None)
    >>> history.add(Redo())
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

    def next(self, action: Action) -> State:
        """Return the state that an action would lead to."""
        if isinstance(action, Undo):
            if not self.can_undo:
                raise RefusedError("nothing to undo")
            return replace(self._states[-2], note=self.state.note)
        if isinstance(action, Redo):
            if not self.can_redo:
                raise RefusedError("nothing to redo")
            return replace(self._undone[-1], note=self.state.note)
        return apply_action(self.state, action)

    def add(self, action: Action) -> None:
        """Append an action, which makes a new version."""
        state = self.next(action)
        match action:
            case Undo():
                self._undone.append(self._states.pop())
                self._states[-1] = state
            case Redo():
                self._undone.pop()
                self._states.append(state)
            case SetNote():
                self._states[-1] = state
            case _:
                self._undone.clear()
                self._states.append(state)
        self.version += 1
