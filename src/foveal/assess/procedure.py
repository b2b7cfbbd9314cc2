"""The assessment procedures of the years: what is asked of a document, and what follows from it.

2006 asks for highlights and a best entry point. 2005 asks besides how exhaustive every element is
that holds highlighted text; 2003 (and 2004) knows no highlights and asks for exhaustivity and
specificity of every pooled element. In both, an element is at least as exhaustive as what is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.assess.actions import Action, RefusedError, State
from foveal.assess.documents import Elements
from foveal.spans import Coverage

__all__ = [
    "EXHAUSTIVITY",
    "GRADES",
    "PROCEDURES",
    "Missing",
    "asked",
    "inferred",
    "missing",
    "refuse",
    "relevant",
]

PROCEDURES = ("2006", "2005", "2003")
"""The first is the default."""

EXHAUSTIVITY: Mapping[str, tuple[str, ...]] = {
    "2006": (),
    "2005": ("0", "?", "1", "2"),
    "2003": ("0", "1", "2", "3"),
}
"""The grades of exhaustivity from weak to strong; ``?`` is too small to say."""
GRADES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "2006": {},
    "2005": {"exhaustivity": EXHAUSTIVITY["2005"]},
    "2003": {"exhaustivity": EXHAUSTIVITY["2003"], "specificity": EXHAUSTIVITY["2003"]},
}
"""What an element is graded by, with the values from weak to strong."""

_HIGHLIGHTING = ("highlight", "unhighlight", "bep")
_NONE = "0"
_DOWNWARD = (_NONE, "?")
"""Grades that the parts of an element have if it has them."""
_UNKNOWN = -1
Bools = npt.NDArray[np.bool_]


class Missing(NamedTuple):
    """One thing that keeps a document from being validated."""

    reason: str
    path: str | None = None
    """The element it is about, if it is about one."""


def asked(procedure: str, state: State, elements: Elements, pooled: Iterable[str] = ()) -> Bools:
    """Which elements a procedure wants to have graded.

    In 2005 those that hold highlighted text, in 2003 the pooled ones.
    """
    wanted = np.zeros(len(elements), dtype=bool)
    if procedure == "2005":
        pairs = np.array(state.spans, dtype=np.int64).reshape(-1, 2)
        text = Coverage(pairs[:, 0], pairs[:, 1])
        wanted = text.within(elements.start, elements.end) > 0
    elif procedure == "2003":
        wanted[[elements.number[path] for path in pooled]] = True
    return wanted


def relevant(procedure: str, state: State) -> bool:
    """Whether the document holds anything relevant."""
    if procedure == "2003":
        return any(grade.get("exhaustivity", _NONE) != _NONE for grade in state.grades.values())
    return bool(state.spans)


def missing(
    procedure: str, state: State, elements: Elements, pooled: Iterable[str] = ()
) -> list[Missing]:
    """What keeps a document from being validated; nothing if it may be.

    Parameters
    ----------
    procedure : str
        One of `PROCEDURES`.
    state : State
    elements : Elements
        Those of the document.
    pooled : iterable of str
        Paths of the elements that runs returned; only 2003 asks for them.
    """
    found: list[Missing] = []
    if procedure != "2003":
        if state.spans and state.bep is None:
            found.append(Missing("relevant text is highlighted, but there is no best entry point"))
        if state.bep is not None and not state.spans:
            found.append(Missing("there is a best entry point, but no relevant text"))
    wanted = asked(procedure, state, elements, pooled)
    if wanted.any():
        known, needed = inferred(procedure, state, elements), GRADES[procedure]
        for i in np.flatnonzero(wanted).tolist():
            path = elements.path[i]
            lacking = [name for name in needed if name not in known.get(path, {})]
            if lacking:
                found.append(Missing(f"{path} has no grade of {' and '.join(lacking)}", path))
        found += _contradicted(procedure, np.flatnonzero(wanted).tolist(), known, elements)
    return found


def _contradicted(
    procedure: str, among: Iterable[int], known: Mapping[str, Mapping[str, str]], elements: Elements
) -> Iterator[Missing]:
    """Elements below a part of theirs: a highlight that comes back brings its old grade along."""
    order = EXHAUSTIVITY[procedure]
    for i in among:
        inner, outer = elements.path[i], elements.path[max(int(elements.parent[i]), 0)]
        own, around = known.get(inner, {}), known.get(outer, {})
        if "exhaustivity" in own and "exhaustivity" in around:
            ranks = [order.index(grade["exhaustivity"]) for grade in (own, around)]
            if ranks[0] > ranks[1]:
                yield Missing(_contradiction(outer, around, inner, own), outer)


def inferred(procedure: str, state: State, elements: Elements) -> dict[str, dict[str, str]]:
    """The grades of elements: those that were given, and those that follow from them.

    An element that was not graded is as exhaustive as the most exhaustive part of it; the parts of
    one that is not exhaustive, or too small, are so too. In 2005 only elements with highlighted
    text count: others may have lost it after they were graded. Specificity is never inferred upward
    (it depends on all that is in an element), and in 2005 and 2006 the highlights tell it.
    """
    order = EXHAUSTIVITY[procedure]
    if not order:
        return {}
    known: list[Mapping[str, str]] = [{}] * len(elements)
    live = asked(procedure, state, elements)
    for path, grade in state.grades.items():
        i = elements.number.get(path)
        if i is not None and (procedure != "2005" or live[i]):
            known[i] = grade
    rank = [order.index(g["exhaustivity"]) if "exhaustivity" in g else _UNKNOWN for g in known]
    given = [own >= 0 for own in rank]
    forced = [own and order[at] in _DOWNWARD for own, at in zip(given, rank, strict=True)]
    parent = elements.parent.tolist()
    # Children come after their parents, so this is upward and then downward.
    for i in range(len(parent) - 1, 0, -1):
        above = parent[i]
        if rank[i] > rank[above] and not given[above]:
            rank[above] = rank[i]
    for i in range(1, len(parent)):
        above = parent[i]
        if rank[i] < 0 and forced[above] and (procedure != "2005" or live[i]):
            rank[i], forced[i] = rank[above], True
    found: dict[str, dict[str, str]] = {}
    for i, own in enumerate(rank):
        if own >= 0:
            # What is forced to be not exhaustive is not specific either.
            both = {"specificity": _NONE} if procedure == "2003" and forced[i] else {}
            found[elements.path[i]] = {"exhaustivity": order[own], **both, **known[i]}
    return found


def refuse(procedure: str, state: State, action: Action, elements: Elements) -> None:
    """Raise `RefusedError` for an action that breaks the rules of the procedure."""
    if action.kind == "replace" and action.state is not None:
        _refuse_state(procedure, action.state, elements)
    elif procedure == "2003" and action.kind in _HIGHLIGHTING:
        raise RefusedError(
            "this campaign grades elements (procedure 2003); it has no highlights and no best "
            "entry point"
        )
    elif action.kind == "grade" and action.path is not None:
        _refuse_grade(procedure, state, action.path, action.grade or {}, elements)


def _refuse_state(procedure: str, state: State, elements: Elements) -> None:
    """Refuse a whole state, looking at each of its grades."""
    if procedure == "2003" and (state.spans or state.bep is not None):
        raise RefusedError("highlights and entry points have no place in a campaign of elements")
    live = asked(procedure, state, elements)
    for path, grade in state.grades.items():
        number = elements.number.get(path)
        if procedure == "2005" and grade and number is not None and not live[number]:
            _refuse_values(procedure, grade)  # of text that is no longer highlighted: not counted
        else:
            _refuse_grade(procedure, state, path, grade, elements)


def _refuse_grade(
    procedure: str, state: State, path: str, grade: Mapping[str, str], elements: Elements
) -> None:
    scale = GRADES[procedure]
    if not scale:
        raise RefusedError(
            f"this campaign has no grades (procedure {procedure}); highlight what is relevant"
        )
    number = elements.number.get(path)
    if number is None:
        raise RefusedError(f"the document has no element {path!r}")
    if not grade:
        return
    _refuse_values(procedure, grade)
    if procedure == "2005" and not asked(procedure, state, elements)[number]:
        raise RefusedError(f"{path} holds no highlighted text; only what does is graded")
    _refuse_place(procedure, state, number, grade, elements)


def _refuse_values(procedure: str, grade: Mapping[str, str]) -> None:
    """Refuse grades that the scale does not have, lacks, or that do not go together."""
    scale = GRADES[procedure]
    if set(grade) != set(scale):
        raise RefusedError(
            f"an element is graded by {' and '.join(scale)}; found {' and '.join(grade)}"
        )
    for name, value in grade.items():
        if value not in scale[name]:
            raise RefusedError(
                f"{name} {value!r:.20} is no grade of {procedure}; expected one of "
                f"{', '.join(scale[name])}"
            )
    if procedure == "2003" and (grade["exhaustivity"] == _NONE) != (grade["specificity"] == _NONE):
        raise RefusedError(
            f"exhaustivity {grade['exhaustivity']} does not go with specificity "
            f"{grade['specificity']}: both are 0 or neither is"
        )


def _refuse_place(
    procedure: str, state: State, number: int, grade: Mapping[str, str], elements: Elements
) -> None:
    """Refuse a grade above that of an element around, or below that of one within."""
    order = EXHAUSTIVITY[procedure]
    rank = order.index(grade["exhaustivity"])
    live = asked(procedure, state, elements) if procedure == "2005" else None
    for path, other in state.grades.items():
        i = elements.number.get(path)
        if i is None or i == number or (live is not None and not live[i]):
            continue
        theirs = order.index(other["exhaustivity"])
        if theirs > rank and _within(elements, i, number):
            raise RefusedError(_contradiction(elements.path[number], grade, path, other))
        if theirs < rank and _within(elements, number, i):
            raise RefusedError(_contradiction(path, other, elements.path[number], grade))


def _within(elements: Elements, inner: int, outer: int) -> bool:
    """Whether an element lies in another; its path tells."""
    return elements.path[inner].startswith(f"{elements.path[outer]}/")


def _contradiction(
    outer: str, grade: Mapping[str, str], inner: str, other: Mapping[str, str]
) -> str:
    return (
        f"{outer} cannot be of exhaustivity {grade['exhaustivity']} with {inner} of "
        f"{other['exhaustivity']} in it: an element is at least as exhaustive as its parts"
    )
