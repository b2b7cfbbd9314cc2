"""What actions lead to, against a model that has one flag for every character."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.assess.actions import (
    Accept,
    Action,
    Adjust,
    AnyAction,
    Decision,
    EntryPoint,
    Grade,
    Highlight,
    History,
    Redo,
    RefusedError,
    Reject,
    Replace,
    SetNote,
    State,
    Undo,
    Unhighlight,
    add_span,
    apply_action,
    remove_span,
)

LENGTH = 24


@st.composite
def actions(draw: st.DrawFn) -> Action:
    kind = draw(st.sampled_from(get_args(AnyAction)))
    if kind in (Highlight, Unhighlight):
        start = draw(st.integers(0, LENGTH - 1))
        return kind(start, draw(st.integers(start + 1, LENGTH)))
    if issubclass(kind, Decision):
        span = draw(st.sampled_from([(2, 6), (4, 9), (12, 20)]))
        return kind(*span, (span[0] + 1, span[1] + 2)) if kind is Adjust else kind(*span)
    if kind is EntryPoint:
        return kind(draw(st.none() | st.integers(0, LENGTH - 1)))
    if kind is Grade:
        grade = draw(st.sampled_from([{}, {"exhaustivity": "1"}, {"exhaustivity": "2"}]))
        return kind(draw(st.sampled_from(["/a[1]", "/a[1]/b[1]"])), grade)
    if kind is SetNote:
        return kind(draw(st.text(max_size=3)))
    if kind is Replace:
        return kind(State(((2, 5), (9, 12)), 3, validated=draw(st.booleans())))
    return kind()


class Characters:
    """The same as `History`, with a list of flags instead of spans."""

    def __init__(self) -> None:
        self.past = [([False] * LENGTH, None, {}, False, {})]
        self.undone = []
        self.note = ""

    def add(self, action: Action) -> None:
        before = self.past[-1]
        flags, bep, grades, validated = list(before[0]), before[1], dict(before[2]), before[3]
        decided = dict(before[4])
        if action.kind == "undo":
            self.undone.append(self.past.pop())
            return
        if action.kind == "redo":
            self.past.append(self.undone.pop())
            return
        if action.kind == "note":
            self.note = action.text
            return
        if action.kind in ("highlight", "unhighlight"):
            flags[action.start : action.end] = [action.kind == "highlight"] * (
                action.end - action.start
            )
        elif isinstance(action, Decision):
            suggestion = (action.start, action.end)
            for span, lit in ((decided.get(suggestion), False), (action.result, True)):
                if span is not None:
                    flags[slice(*span)] = [lit] * (span[1] - span[0])
            decided[suggestion] = action.result
        elif action.kind == "bep":
            bep = action.start
        elif action.kind == "grade":
            grades.pop(action.path, None)
            if action.grade:
                grades[action.path] = dict(action.grade)
        elif action.kind == "replace":
            flags = [any(s <= i < e for s, e in action.state.spans) for i in range(LENGTH)]
            bep, grades, validated = action.state.bep, {}, action.state.validated
            decided = {}
            self.note = action.state.note
        if action.kind in ("validate", "invalidate"):
            validated = action.kind == "validate"
        elif action.kind != "replace" and (flags, bep, grades) != before[:3]:
            validated = False
        self.undone.clear()
        self.past.append((flags, bep, grades, validated, decided))


def flags_of(state: State) -> list[bool]:
    return [any(start <= i < end for start, end in state.spans) for i in range(LENGTH)]


@given(st.lists(actions(), max_size=30))
@settings(max_examples=60)
def test_history_is_the_model_with_a_flag_for_each_character(log: list[Action]) -> None:
    history, model = History(), Characters()
    done = []
    for action in log:
        if (action.kind == "undo" and not history.can_undo) or (
            action.kind == "redo" and not history.can_redo
        ):
            with pytest.raises(RefusedError):
                history.add(action)
            continue
        history.add(action)
        model.add(action)
        done.append(action)
        state = history.state
        decided = {(one.start, one.end): one.result for one in state.decisions}
        seen = (flags_of(state), state.bep, state.grades, state.validated, decided)
        assert seen == model.past[-1]
        assert list(decided) == sorted(decided)
        assert state.note == model.note
        assert all(s < e for s, e in state.spans)
        assert all(one[1] < other[0] for one, other in pairwise(state.spans))
        assert (history.can_undo, history.can_redo) == (len(model.past) > 1, bool(model.undone))
    assert history.version == len(done)
    # A log that was written and read again leads to the same.
    again = History(Action.from_json(action.to_json()) for action in done)
    assert (again.state, again.version, again.can_redo) == (
        history.state,
        history.version,
        history.can_redo,
    )


@given(st.lists(actions(), max_size=12))
@settings(max_examples=30)
def test_undoing_all_and_redoing_all_leads_back(log: list[Action]) -> None:
    history = History(a for a in log if a.kind not in ("undo", "redo", "replace"))
    end, steps = history.state, 0
    while history.can_undo:
        history.add(Undo())
        steps += 1
    assert history.state == State(note=end.note)
    for _ in range(steps):
        history.add(Redo())
    assert history.state == end
    assert not history.can_redo


def test_touching_highlights_become_one_and_parting_them_makes_two() -> None:
    assert add_span(((0, 4),), 4, 8) == ((0, 8),)
    assert add_span(((0, 3), (5, 8)), 3, 5) == ((0, 8),)
    assert remove_span(((0, 8),), 3, 5) == ((0, 3), (5, 8))
    assert remove_span(((0, 8),), 0, 8) == ()
    assert remove_span(((0, 8),), 8, 9) == ((0, 8),)


def test_any_change_takes_the_guarantee_back_and_a_note_does_not() -> None:
    state = State(((0, 4),), 0, validated=True)
    assert not apply_action(state, Highlight(6, 8)).validated
    assert not apply_action(state, EntryPoint()).validated
    assert apply_action(state, SetNote(text="why")).validated
    assert apply_action(state, Highlight(0, 4)).validated  # it changes nothing


def test_a_decision_that_changes_no_text_leaves_the_guarantee() -> None:
    state = State(((0, 4),), 0, validated=True)
    assert apply_action(state, Reject(6, 8)).validated
    assert apply_action(state, Accept(1, 3)).validated
    assert not apply_action(state, Accept(3, 8)).validated
    assert not apply_action(
        apply_action(state, Accept(0, 4)), Reject(0, 4)
    ).validated  # another mind


def test_undo_takes_back_a_highlight_and_keeps_the_note() -> None:
    history = History([Highlight(0, 2), SetNote(text="odd"), Undo()])
    assert history.state == State(note="odd")


@pytest.mark.parametrize(
    ("action", "number"),
    [
        (Highlight(5, 5), "5"),
        (Highlight(-1, 5), "-1"),
        (Unhighlight(5, LENGTH + 1), "25"),
        (EntryPoint(LENGTH), "24"),
        (Accept(9, 25), "25"),
        (Adjust(2, 4, (7, 5)), "7 to 5"),
        (Replace(State(decisions=(Reject(2, 4),))), "suggestion"),
        (SetNote("x" * 20_001), "20001"),
        (Replace(State(((3, 5), (5, 8)))), "8"),
        (Replace(State(((7, 9), (1, 2)))), "2"),
        (Replace(State(((7, LENGTH + 1),))), "25"),
        (Replace(State(bep=-1)), "-1"),
        (Replace(State(note="x" * 20_001)), "20001"),
    ],
)
def test_an_action_that_the_text_does_not_allow_is_refused(action: Action, number: str) -> None:
    with pytest.raises(RefusedError, match=number):
        action.check(LENGTH)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "highlight",
        {},
        {"kind": 3},
        {"kind": "paint"},
        {"kind": "\ud800"},
        {"kind": "highlight", "start": 5},
        {"kind": "highlight", "start": "3", "end": 5},
        {"kind": "highlight", "start": True, "end": 2},
        {"kind": "highlight", "start": 1.0, "end": 2},
        {"kind": "highlight", "start": 1, "end": 2, "text": "x"},
        {"kind": "highlight", "start": 1, "end": 2, "\ud800": "x"},
        {"kind": "undo", "end": 3},
        {"kind": "grade", "grade": {"exhaustivity": "1"}},
        {"kind": "grade", "path": ["/a"]},
        {"kind": "grade", "path": "/a", "grade": "2"},
        {"kind": "grade", "path": "/a", "grade": {"exhaustivity": 2}},
        {"kind": "replace"},
        {"kind": "replace", "state": []},
        {"kind": "replace", "state": State().to_json() | {"spans": [[1, 2, 3]]}},
        {"kind": "replace", "state": State().to_json() | {"spans": [[1, True]]}},
        {"kind": "replace", "state": State().to_json() | {"spans": 5}},
        {"kind": "replace", "state": State().to_json() | {"validated": 1}},
        {"kind": "replace", "state": State().to_json() | {"grades": {"/a": 1}}},
    ],
)
def test_data_that_is_not_an_action_is_refused(data: object) -> None:
    with pytest.raises(RefusedError):
        Action.from_json(data)


@pytest.mark.parametrize(
    "logged",
    [
        {"kind": "highlight", "start": 3, "end": 9},
        {"kind": "unhighlight", "start": 3, "end": 9},
        {"kind": "bep", "start": 3},
        {"kind": "bep"},
        {"kind": "grade", "path": "/a[1]", "grade": {"exhaustivity": "2"}},
        {"kind": "grade", "path": "/a[1]", "grade": {}},
        {"kind": "note", "text": "half \ud83d"},
        {"kind": "validate"},
        {"kind": "invalidate"},
        {
            "kind": "replace",
            "state": {"spans": [], "bep": None, "grades": {}, "note": "", "validated": False},
        },
        {"kind": "accept", "start": 3, "end": 9},
        {"kind": "adjust", "start": 3, "end": 9, "highlight": [5, 9]},
        {"kind": "reject", "start": 3, "end": 9},
        {"kind": "undo"},
        {"kind": "redo"},
    ],
)
def test_the_form_of_logged_actions_never_changes(logged: dict) -> None:
    """Campaigns of all earlier versions of Foveal must open."""
    assert json.loads(json.dumps(Action.from_json(logged).to_json())) == logged


def test_an_action_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Highlight(1, 2).start = 0
