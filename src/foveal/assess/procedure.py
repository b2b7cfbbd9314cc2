"""The assessment procedures: what an assessor must provide, and which grades are inferred.

2006 needs highlights and a best entry point. 2005 also needs the exhaustivity of every element
with highlighted text. 2003 (and 2004) has no highlights: it needs exhaustivity and specificity of
every pooled element. In both, an element is at least as exhaustive as its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.assess.actions import (
    Action,
    Decision,
    EntryPoint,
    Grade,
    Highlight,
    RefusedError,
    Replace,
    State,
)
from foveal.assess.documents import Elements
from foveal.spans import Coverage

PROCEDURES = ("2006", "2005", "2003")
"""The first is the default."""

EXHAUSTIVITY: Mapping[str, tuple[str, ...]] = {
    "2006": (),
    "2005": ("0", "?", "1", "2"),
    "2003": ("0", "1", "2", "3"),
}
"""Grades of exhaustivity from weak to strong; ``?`` means too small."""
GRADES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "2006": {},
    "2005": {"exhaustivity": EXHAUSTIVITY["2005"]},
    "2003": {"exhaustivity": EXHAUSTIVITY["2003"], "specificity": EXHAUSTIVITY["2003"]},
}
"""Scales by which elements are graded, with the values from weak to strong."""

_NONE = "0"
_DOWNWARD = (_NONE, "?")
"""Grades that the parts of an element inherit."""
_UNKNOWN = -1
Bools = npt.NDArray[np.bool_]


class Missing(NamedTuple):
    """A reason why a document cannot be validated."""

    reason: str
    path: str | None = None
    """Path of the element concerned, or None."""


def mark_elements_to_grade(
    procedure: str, state: State, elements: Elements, pooled: Iterable[str] = ()
) -> Bools:
    """Return a mask of the elements to grade.

    These are elements with highlighted text in 2005, pooled elements in 2003.
    """
    wanted = np.zeros(len(elements), dtype=bool)
    if procedure == "2005":
        pairs = np.array(state.spans, dtype=np.int64).reshape(-1, 2)
        text = Coverage(pairs[:, 0], pairs[:, 1])
        wanted = text.within(elements.start, elements.end) > 0
    elif procedure == "2003":
        wanted[[elements.number[path] for path in pooled]] = True
    return wanted


def is_relevant(procedure: str, state: State) -> bool:
    """Return True if the document holds anything relevant."""
    if procedure == "2003":
        return any(grade.get("exhaustivity", _NONE) != _NONE for grade in state.grades.values())
    return bool(state.spans)


def list_missing(
    procedure: str, state: State, elements: Elements, pooled: Iterable[str] = ()
) -> list[Missing]:
    """Return the reasons why a document cannot be validated; an empty list if it can.

    Parameters
    ----------
    procedure : str
        One of `PROCEDURES`.
    state : State
    elements : Elements
        All elements of the document.
    pooled : iterable of str
        Paths of the elements that runs returned; used in 2003 only.
    """
    found: list[Missing] = []
    if procedure != "2003":
        if state.spans and state.bep is None:
            found.append(
                Missing("relevant text is highlighted, but the best entry point is missing")
            )
        if state.bep is not None and not state.spans:
            found.append(Missing("there is a best entry point, but no relevant text"))
    wanted = np.flatnonzero(mark_elements_to_grade(procedure, state, elements, pooled)).tolist()
    known, order = infer_grades(procedure, state, elements), EXHAUSTIVITY[procedure]
    for i in wanted:
        path = elements.path[i]
        lacking = [name for name in GRADES[procedure] if name not in known.get(path, {})]
        if lacking:
            found.append(Missing(f"{path} has no grade of {' and '.join(lacking)}", path))
    # A restored highlight restores old grades, too, which may contradict newer ones.
    for i in wanted:
        inner, outer = elements.path[i], elements.path[max(int(elements.parent[i]), 0)]
        own, around = known.get(inner, {}), known.get(outer, {})
        if "exhaustivity" in own and "exhaustivity" in around:
            rank, above = (order.index(grade["exhaustivity"]) for grade in (own, around))
            if rank > above:
                found.append(Missing(_describe_contradiction(outer, around, inner, own), outer))
    return found


def infer_grades(procedure: str, state: State, elements: Elements) -> dict[str, dict[str, str]]:
    """Return the grades of elements: given ones, and those inferred from them.

    An element without a grade is as exhaustive as its most exhaustive part. The parts of an element
    that is not exhaustive, or too small, inherit this grade. In 2005 only elements with highlighted
    text count: others may have lost it after grading. Specificity is never inferred upward, since
    it depends on the whole content of an element; in 2005 and 2006 the highlights determine it.
    """
    order = EXHAUSTIVITY[procedure]
    if not order:
        return {}
    known: list[Mapping[str, str]] = [{}] * len(elements)
    live = mark_elements_to_grade(procedure, state, elements)
    for path, grade in state.grades.items():
        i = elements.number.get(path)
        if i is not None and (procedure != "2005" or live[i]):
            known[i] = grade
    rank = [order.index(g["exhaustivity"]) if "exhaustivity" in g else _UNKNOWN for g in known]
    given = [own >= 0 for own in rank]
    forced = [own and order[at] in _DOWNWARD for own, at in zip(given, rank, strict=True)]
    parent = elements.parent.tolist()
    # Parents come before their children: go upward, then downward.
    for i in range(len(parent) - 1, 0, -1):
        above = parent[i]
        if rank[i] > rank[above] and not given[above]:
            rank[above] = rank[i]
    # A part whose own parts are graded passes on the grade around it, not theirs.
    passed = [at if own else _UNKNOWN for own, at in zip(forced, rank, strict=True)]
    for i in range(1, len(parent)):
        if not forced[i]:
            passed[i] = passed[parent[i]]
        if rank[i] < 0 and passed[i] >= 0 and (procedure != "2005" or live[i]):
            rank[i], forced[i] = passed[i], True
    found: dict[str, dict[str, str]] = {}
    for i, own in enumerate(rank):
        if own >= 0:
            # An element that inherits "not exhaustive" is not specific either.
            both = {"specificity": _NONE} if procedure == "2003" and forced[i] else {}
            found[elements.path[i]] = {"exhaustivity": order[own], **both, **known[i]}
    return found


def refuse(procedure: str, state: State, action: Action, elements: Elements) -> None:
    """Raise `RefusedError` for an action that breaks the rules of the procedure."""
    if isinstance(action, Replace):
        new = action.state
        if procedure == "2003" and (new.spans or new.bep is not None):
            raise RefusedError("a campaign that grades elements has no highlights or entry points")
        live = mark_elements_to_grade(procedure, new, elements)
        for path, grade in new.grades.items():
            number = elements.number.get(path)
            if procedure == "2005" and grade and number is not None and not live[number]:
                _refuse_values(procedure, grade)  # no longer highlighted: it does not count
            else:
                _refuse_grade(procedure, new, path, grade, elements)
    elif procedure == "2003" and isinstance(action, Highlight | EntryPoint | Decision):
        raise RefusedError(
            "this campaign grades elements (procedure 2003); it has no highlights and no best "
            "entry point"
        )
    elif isinstance(action, Grade):
        _refuse_grade(procedure, state, action.path, action.grade, elements)


def _refuse_grade(
    procedure: str, state: State, path: str, grade: Mapping[str, str], elements: Elements
) -> None:
    """Refuse a grade that breaks a rule, or that contradicts the grade of another element."""
    if not GRADES[procedure]:
        raise RefusedError(
            f"this campaign has no grades (procedure {procedure}); highlight relevant text"
        )
    number = elements.number.get(path)
    if number is None:
        raise RefusedError(f"the document has no element {path!r}")
    if not grade:
        return
    _refuse_values(procedure, grade)
    live = mark_elements_to_grade(procedure, state, elements) if procedure == "2005" else None
    if live is not None and not live[number]:
        raise RefusedError(f"{path} holds no highlighted text and cannot be graded")
    order = EXHAUSTIVITY[procedure]
    rank = order.index(grade["exhaustivity"])
    for other, theirs in state.grades.items():
        i = elements.number.get(other)
        if i is None or i == number or (live is not None and not live[i]):
            continue
        above = order.index(theirs["exhaustivity"])
        if above > rank and other.startswith(f"{path}/"):
            raise RefusedError(_describe_contradiction(path, grade, other, theirs))
        if above < rank and path.startswith(f"{other}/"):
            raise RefusedError(_describe_contradiction(other, theirs, path, grade))


def _refuse_values(procedure: str, grade: Mapping[str, str]) -> None:
    """Refuse grades that are missing, not on the scale, or inconsistent."""
    scale = GRADES[procedure]
    if set(grade) != set(scale):
        raise RefusedError(
            f"an element is graded by {' and '.join(scale)}; found {' and '.join(grade)}"
        )
    for name, value in grade.items():
        if value not in scale[name]:
            raise RefusedError(
                f"{name} {value!r:.20} is not a grade of {procedure}; expected one of "
                f"{', '.join(scale[name])}"
            )
    if procedure == "2003" and (grade["exhaustivity"] == _NONE) != (grade["specificity"] == _NONE):
        raise RefusedError(
            f"exhaustivity {grade['exhaustivity']} contradicts specificity "
            f"{grade['specificity']}: both are 0 or neither is"
        )


def _describe_contradiction(
    outer: str, grade: Mapping[str, str], inner: str, other: Mapping[str, str]
) -> str:
    return (
        f"{outer} cannot have exhaustivity {grade['exhaustivity']}, since its part {inner} has "
        f"{other['exhaustivity']}: an element is at least as exhaustive as its parts"
    )
