"""Where assessors differ, and what becomes final without a decision."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assess_site import make_campaign
from foveal.assess.actions import (
    Action,
    EntryPoint,
    Grade,
    Highlight,
    SetNote,
    Spans,
    State,
    Unhighlight,
    Validate,
    add_span,
)
from foveal.assess.adjudication import adopt_agreed, cases, differences, f1
from foveal.assess.messages import ActionMessage, convert
from foveal.assess.people import FINAL
from foveal.assess.security import Refusal
from foveal.assess.store import Campaign


@st.composite
def texts(draw: st.DrawFn) -> Spans:
    made: Spans = ()
    for start, length in draw(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)))):
        made = add_span(made, start, start + length)
    return made


@settings(max_examples=60)
@given(texts(), texts())
def test_f1_counts_characters(one: Spans, other: Spans) -> None:
    first, second = ({i for span in spans for i in range(*span)} for spans in (one, other))
    expected = 2 * len(first & second) / (len(first) + len(second)) if first | second else 1.0
    assert f1(one, other) == pytest.approx(expected)
    assert f1(one, other) == f1(other, one)


def test_what_differs_is_named() -> None:
    base = State(spans=((0, 9),), bep=0, grades={"/a[1]": {"exhaustivity": "2"}})
    noted = State(spans=((0, 9),), bep=0, grades={"/a[1]": {"exhaustivity": "2"}}, note="see p. 2")
    graded = State(spans=((0, 9),), bep=0, grades={"/a[1]": {"exhaustivity": "1"}})
    assert differences([base]) == ()
    assert differences([base, noted]) == ()
    assert differences([base, noted, graded]) == ("grades",)
    assert differences([base, State()]) == ("relevance", "grades")
    moved = State(spans=((0, 8),), bep=3, grades=base.grades)
    assert differences([base, moved]) == ("text", "entry point")


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign.open(make_campaign(tmp_path))


def judge(campaign: Campaign, name: str, topic: str, doc: str, *actions: Action) -> None:
    document = campaign.document(doc)
    version, _ = campaign.state(name, topic, doc)
    for i, action in enumerate(actions):
        campaign.act(
            name, topic, doc, f"{name}-{topic}-{doc}-{version + i}", version + i, action,
            length=document.length, digest=document.sha256,
        )  # fmt: skip


MARKED = (Highlight(7, 12), EntryPoint(7), Validate())


def test_only_what_all_have_validated_alike_becomes_final(campaign: Campaign) -> None:
    with campaign:
        for name in ("ann", "bob"):
            judge(campaign, name, "1", "bridges", *MARKED)
        judge(campaign, "ann", "1", "ferries", *MARKED)
        judge(campaign, "bob", "1", "ferries", Validate())
        judge(campaign, "ann", "2", "fords", *MARKED)  # bob has not yet
        found = {(case.topic, case.doc): case for case in cases(campaign)}
        assert found["1", "ferries"].differ == ("relevance",)
        assert found["1", "ferries"].f1 == 0.0
        assert not found["2", "fords"].complete
        assert adopt_agreed(campaign, "olga") == 1
        assert campaign.state(FINAL, "1", "bridges")[1].spans == ((7, 12),)
        assert campaign.state(FINAL, "1", "bridges")[1].validated
        campaign.unassign("2", "bob")  # then ann's word is all there is
        assert adopt_agreed(campaign, "olga") == 1
        assert adopt_agreed(campaign, "olga") == 0


def test_a_decision_that_was_begun_is_left_alone(campaign: Campaign) -> None:
    with campaign:
        for name in ("ann", "bob"):
            judge(campaign, name, "1", "bridges", *MARKED)
        judge(campaign, FINAL, "1", "bridges", SetNote(text="to think about"))
        assert adopt_agreed(campaign, "olga") == 0
        assert campaign.state(FINAL, "1", "bridges")[1].spans == ()


def test_what_is_no_longer_validated_is_no_case(campaign: Campaign) -> None:
    with campaign:
        judge(campaign, "ann", "1", "bridges", *MARKED)
        judge(campaign, "ann", "1", "bridges", Unhighlight(7, 9))
        assert cases(campaign) == []


def test_a_grade_left_behind_keeps_nothing_from_becoming_final(tmp_path: Path) -> None:
    """Somebody grades an element, and then takes its highlight away."""
    path = make_campaign(tmp_path, assessors=("ann",), procedure="2005")
    with Campaign.open(path) as campaign:
        grade = Grade(path="/article[1]", grade={"exhaustivity": "2"})
        judge(campaign, "ann", "1", "bridges", MARKED[0], grade, Unhighlight(7, 12))
        judge(campaign, "ann", "1", "bridges", Validate())
        judge(campaign, "ann", "1", "ferries", Validate())
        assert adopt_agreed(campaign, "olga") == 2
        assert campaign.state(FINAL, "1", "bridges")[1].validated


def test_no_page_can_name_an_action_as_adoptions_are(campaign: Campaign) -> None:
    """Or an assessor could be in the way of one, or learn that it took place."""
    with campaign:
        for name in ("ann", "bob"):
            judge(campaign, name, "1", "bridges", *MARKED)
        assert adopt_agreed(campaign, "olga") == 1
        query = "SELECT uuid FROM actions WHERE assessor = ?"
        (row,) = campaign.reading().execute(query, (FINAL,)).fetchall()
    message = {"base": 0, "length": 1, "digest": "0" * 64, "action": {"kind": "validate"}}
    assert convert({**message, "uuid": row["uuid"].replace(":", "-")[:64]}, ActionMessage).base == 0
    with pytest.raises(Refusal):
        convert({**message, "uuid": row["uuid"]}, ActionMessage)
