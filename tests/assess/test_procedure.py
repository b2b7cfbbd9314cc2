"""The procedures of 2006, 2005 and 2003: what is missing, what follows, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assess.campaigns import tree
from foveal.assess.actions import (
    Action,
    EntryPoint,
    Grade,
    Highlight,
    RefusedError,
    Replace,
    State,
    apply_action,
)
from foveal.assess.documents import Elements
from foveal.assess.procedure import (
    EXHAUSTIVITY,
    infer_grades,
    is_relevant,
    list_missing,
    mark_elements_to_grade,
    refuse,
)

ARTICLE = tree(
    ("/a[1]", 0, 100),
    ("/a[1]/s[1]", 0, 50),
    ("/a[1]/s[1]/p[1]", 0, 20),
    ("/a[1]/s[1]/p[2]", 20, 50),
    ("/a[1]/s[1]/p[2]/b[1]", 30, 30),
    ("/a[1]/s[2]", 50, 100),
    ("/a[1]/s[2]/p[1]", 60, 90),
)
A, S1, P1, P2, B, S2, P3 = ARTICLE.path


def graded(spans: tuple[tuple[int, int], ...] = ((10, 30),), **grades: str) -> State:
    """2005: spans, a BEP, and exhaustivity by the names above."""
    names = globals()
    return State(
        spans, spans[0][0], {names[name]: {"exhaustivity": value} for name, value in grades.items()}
    )


def both(exhaustivity: str, specificity: str) -> dict[str, str]:
    return {"exhaustivity": exhaustivity, "specificity": specificity}


def grade(path: str, value: str) -> Action:
    return Grade(path=path, grade={"exhaustivity": value})


def refusal(procedure: str, state: State, action: Action) -> str:
    with pytest.raises(RefusedError) as refused:
        refuse(procedure, state, action, ARTICLE)
    return str(refused.value)


# -- 2006 -----------------------------------------------------------------------------------------


def test_2006_wants_an_entry_point_with_relevant_text_and_only_then() -> None:
    assert list_missing("2006", State(), ARTICLE) == []
    assert list_missing("2006", State(((3, 9),), 50), ARTICLE) == []
    (lacking,) = list_missing("2006", State(((3, 9),)), ARTICLE)
    assert "best entry point is missing" in lacking.reason
    (lacking,) = list_missing("2006", State(bep=3), ARTICLE)
    assert "no relevant text" in lacking.reason


def test_2006_has_no_grades() -> None:
    assert "has no grades" in refusal("2006", State(), grade(A, "2"))
    assert infer_grades("2006", State(((3, 9),), 3), ARTICLE) == {}
    assert is_relevant("2006", State(((3, 9),)))
    assert not is_relevant("2006", State(bep=3))


# -- 2005 -----------------------------------------------------------------------------------------


def test_2005_asks_for_every_element_in_or_around_the_highlights() -> None:
    state = graded()
    wanted = mark_elements_to_grade("2005", state, ARTICLE)
    assert [path for path, own in zip(ARTICLE.path, wanted, strict=True) if own] == [A, S1, P1, P2]
    assert [one.path for one in list_missing("2005", state, ARTICLE)] == [A, S1, P1, P2]


def test_2005_grades_of_elements_without_highlights_do_not_count() -> None:
    state = graded(P1="1", P2="1", P3="2")
    assert infer_grades("2005", state, ARTICLE)[A] == {"exhaustivity": "1"}
    refuse("2005", state, grade(A, "1"), ARTICLE)


@pytest.mark.parametrize(
    ("grades", "path", "value"),
    [
        ({"P1": "2"}, S1, "1"),
        ({"P1": "2"}, A, "0"),
        ({"P1": "1"}, S1, "?"),
        ({"P1": "?"}, S1, "0"),
        ({"S1": "1"}, P2, "2"),
        ({"A": "?"}, P2, "1"),
    ],
)
def test_2005_an_element_is_at_least_as_exhaustive_as_its_parts(
    grades: dict[str, str], path: str, value: str
) -> None:
    said = refusal("2005", graded(**grades), grade(path, value))
    assert "at least as exhaustive as its parts" in said


def test_2005_refuses_what_is_no_grade_and_what_has_no_text() -> None:
    state = graded()
    assert "'3' is not a grade of 2005" in refusal("2005", state, grade(P1, "3"))
    assert "no element '/a[1]/q[1]'" in refusal("2005", state, grade("/a[1]/q[1]", "1"))
    assert "no highlighted text" in refusal("2005", state, grade(P3, "1"))
    assert "no highlighted text" in refusal("2005", state, grade(B, "1"))
    two = Grade(path=P1, grade=both("1", "1"))
    assert "graded by exhaustivity; found exhaustivity and specificity" in refusal(
        "2005", state, two
    )
    refuse("2005", graded(P1="2", S1="2"), Grade(path=P1, grade={}), ARTICLE)


# -- 2003 -----------------------------------------------------------------------------------------


def test_2003_asks_for_the_pooled_elements_and_knows_no_highlights() -> None:
    state = State(grades={P1: both("2", "3")})
    assert [one.path for one in list_missing("2003", state, ARTICLE, [P1, S2])] == [S2]
    assert list_missing("2003", state, ARTICLE, [P1]) == []
    assert is_relevant("2003", state)
    assert not is_relevant("2003", State(grades={P1: both("0", "0")}))
    for action in (Highlight(0, 3), EntryPoint(3)):
        assert "no highlights" in refusal("2003", State(), action)
    said = refusal("2003", State(), Replace(state=State(((0, 3),))))
    assert "has no highlights" in said


def test_2003_specificity_of_an_element_does_not_follow_from_its_parts() -> None:
    state = State(grades={P1: both("2", "3")})
    assert infer_grades("2003", state, ARTICLE)[S1] == {"exhaustivity": "2"}
    (lacking,) = list_missing("2003", state, ARTICLE, [S1])
    assert lacking.reason == f"{S1} has no grade of specificity"


def test_2003_nothing_relevant_in_an_element_settles_what_is_in_it() -> None:
    state = State(grades={S2: both("0", "0")})
    assert infer_grades("2003", state, ARTICLE)[P3] == both("0", "0")
    assert list_missing("2003", state, ARTICLE, [S2, P3]) == []


@pytest.mark.parametrize("pair", [("0", "1"), ("2", "0")])
def test_2003_not_exhaustive_and_not_specific_come_together(pair: tuple[str, str]) -> None:
    said = refusal("2003", State(), Grade(path=P1, grade=both(*pair)))
    assert "both are 0 or neither is" in said


def test_a_state_that_replaces_all_is_looked_at_grade_by_grade() -> None:
    wrong = Replace(state=graded(S1="1", P1="2"))
    assert "at least as exhaustive" in refusal("2005", State(), wrong)
    refuse("2005", State(), Replace(state=graded(S1="2", P1="2")), ARTICLE)


# -- properties -----------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> Elements:
    """Nested elements on a text of 12 characters."""
    rows = [("/e[1]", 0, 12)]
    for _ in range(draw(st.integers(0, 7))):
        parent, start, end = rows[draw(st.integers(0, len(rows) - 1))]
        below = [row for row in rows if row[0].rpartition("/")[0] == parent]
        first = max([start, *(row[2] for row in below)])
        if first < end:
            rows.append((f"{parent}/e[{len(below) + 1}]", first, draw(st.integers(first, end))))
    return tree(*rows)


def naive(state: State, elements: Elements) -> dict[str, str]:
    """2005, by the definition: element by element, each looking at all others."""
    order = EXHAUSTIVITY["2005"]
    lit = {c for start, end in state.spans for c in range(start, end)}
    live = {
        path
        for path, start, end in zip(elements.path, elements.start, elements.end, strict=True)
        if lit & set(range(start, end))
    }
    given = {p: g["exhaustivity"] for p, g in state.grades.items() if p in live}
    known = {}
    for path in sorted(live):
        around = [p for p in given if path.startswith(f"{p}/") and given[p] in ("0", "?")]
        inside = [given[p] for p in given if p.startswith(f"{path}/")]
        if path in given:
            known[path] = given[path]
        elif inside:
            known[path] = max(inside, key=order.index)
        elif around:
            known[path] = given[max(around, key=len)]
    return known


@given(trees(), st.data())
@settings(max_examples=60)
def test_inference_is_that_of_the_definition_and_keeps_the_rules(
    elements: Elements, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, 11))
    state = State(((start, data.draw(st.integers(start + 1, 12))),), start)
    for _ in range(6):
        action = grade(
            data.draw(st.sampled_from(elements.path)), data.draw(st.sampled_from("0?12"))
        )
        try:
            refuse("2005", state, action, elements)
        except RefusedError:
            continue
        state = apply_action(state, action)
    found = {p: own["exhaustivity"] for p, own in infer_grades("2005", state, elements).items()}
    assert found == naive(state, elements)
    order = EXHAUSTIVITY["2005"]
    for path, value in found.items():
        for inner, other in found.items():
            if inner.startswith(f"{path}/"):
                assert order.index(value) >= order.index(other)
    lacking = {one.path for one in list_missing("2005", state, elements)}
    live = np.flatnonzero(mark_elements_to_grade("2005", state, elements)).tolist()
    assert lacking == {elements.path[i] for i in live} - set(found)


def test_2005_what_surrounds_an_element_counts_though_its_sibling_is_graded() -> None:
    elements = tree(
        *[("/e[1]", 0, 9), ("/e[1]/e[1]", 0, 2)],
        *[("/e[1]/e[1]/e[1]", 0, 1), ("/e[1]/e[1]/e[2]", 1, 2)],
    )
    grades = {"/e[1]": {"exhaustivity": "?"}, "/e[1]/e[1]/e[1]": {"exhaustivity": "0"}}
    state = State(((0, 2),), 0, grades=grades)
    found = {p: own["exhaustivity"] for p, own in infer_grades("2005", state, elements).items()}
    assert found == naive(state, elements)
    assert (found["/e[1]/e[1]"], found["/e[1]/e[1]/e[2]"]) == ("0", "?")


# -- highlights that go and come back ------------------------------------------------------------


def test_2005_a_grade_that_comes_back_with_its_text_has_to_fit() -> None:
    """P1 was graded and lost its text; S1 was graded meanwhile; then P1 is highlighted again."""
    meanwhile = graded(((30, 40),), P1="2", S1="1", P2="1", A="1")
    assert list_missing("2005", meanwhile, ARTICLE) == []
    back = graded(((10, 15), (30, 40)), P1="2", S1="1", P2="1", A="1")
    (found,) = list_missing("2005", back, ARTICLE)
    assert found.path == S1
    assert f"{S1} cannot have exhaustivity 1, since its part {P1} has 2" in found.reason
    mended = graded(((10, 15), (30, 40)), P1="2", S1="2", P2="1", A="2")
    assert list_missing("2005", mended, ARTICLE) == []


def test_2005_a_state_may_hold_grades_of_text_that_is_no_longer_highlighted() -> None:
    """As an assessor leaves it behind; what is no grade is refused all the same."""
    stale = graded(((30, 40),), P1="2", S1="1")
    refuse("2005", State(), Replace(state=stale), ARTICLE)
    wrong = graded(((30, 40),), P1="7")
    assert "not a grade of 2005" in refusal("2005", State(), Replace(state=wrong))
    inner = graded(((10, 15),), P1="2", S1="1")
    assert "at least as exhaustive" in refusal("2005", State(), Replace(state=inner))
