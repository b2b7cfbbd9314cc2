"""JSON Lines judgements: spans, grades, assessors, elements, what is refused."""

from __future__ import annotations

import json

import pytest

import foveal
from foveal.formats import jsonl
from inputs import fault, highlights, read_judgements, refusal

HEADER = '{"type":"header","format":"foveal-judgements","version":1}'
LINE = '{"topic":"1","doc":"D1","length":100,"bep":10,"spans":[{"start":10,"end":40}]}'


def judged(*objects: dict[str, object]) -> foveal.Judgements:
    return read_judgements("".join(json.dumps(item) + "\n" for item in objects))


def span(start: int, end: int, **more: object) -> dict[str, object]:
    return {"start": start, "end": end, **more}


@pytest.mark.parametrize("form", ["foveal-judgements", "focused-qrels"])
def test_both_header_names_are_known(form: str) -> None:
    judgements = read_judgements(f'{{"type":"header","format":"{form}"}}\n{LINE}\n')
    assert highlights(judgements) == [("1", "D1", 10, 40)]
    assert judgements.line.tolist() == [2]


def test_spans_of_grade_0_are_judged_not_relevant() -> None:
    judgements = judged(
        {"topic": "1", "doc": "A", "spans": [span(0, 9, grade=0), span(20, 25, grade=0.0)]},
        {"topic": "1", "doc": "B", "spans": [span(0, 9, grade=0), span(5, 12, grade=2)]},
        {"topic": "1", "doc": "C", "spans": [span(0, 9)]},
    )
    assert judgements.relevant.tolist() == [False, True, True]
    united = judgements.combined()
    assert highlights(united) == [("1", "A", None, None), ("1", "B", 5, 12), ("1", "C", 0, 9)]


def test_a_field_that_few_have_or_that_is_written_in_another_way_is_read() -> None:
    plain = judged(
        *({"topic": "1", "doc": f"D{i}", "spans": [span(3, 9)]} for i in range(50)),
        {"topic": "1", "doc": "B", "spans": [span(0, 5, grade=0)]},
    )
    assert plain.relevant.tolist() == [True] * 50 + [False]
    escaped = '{"topic":"1","doc":"A","spans":[{"start":0,"end":5,"gr\\u0061de":0}]}'
    assert read_judgements(escaped + "\n").relevant.tolist() == [False]


def test_an_assessor_may_stand_on_a_span_and_the_line_speaks_for_the_others() -> None:
    judgements = judged(
        {
            "topic": "1",
            "doc": "A",
            "assessor": "zoe",
            "spans": [span(0, 5, assessor="bob"), span(3, 9, assessor=6), span(7, 9)],
        }
    )
    assert judgements.assessors == ("6", "bob", "zoe")
    assert highlights(judgements.of_assessor("bob")) == [("1", "A", 0, 5)]
    assert highlights(judgements.of_assessor("6")) == [("1", "A", 3, 9)]
    assert highlights(judgements.of_assessor("zoe")) == [("1", "A", 7, 9)]
    assert highlights(judgements.combined()) == [("1", "A", 0, 9)]


def test_elements_alone_are_judgements() -> None:
    element = {"xpath": "/a", "size": 9, "rsize": 3}
    judgements = judged(
        {"topic": "1", "doc": "A", "elements": [element]},
        {"topic": "1", "doc": "B", "elements": [element | {"rsize": 0}]},
        {"topic": "1", "doc": "C", "elements": []},
    )
    assert judgements.relevant.tolist() == [True, False, False]
    assert not judgements.has_text


SIZES: dict[str, object] = {"size": 9, "rsize": 3}
UNGRADED = {"xpath": "/a", **SIZES}


@pytest.mark.parametrize(
    ("grades", "scale"),
    [
        ({"relevance": 2, "coverage": "L"}, "2002"),
        ({"exhaustivity": 3, "specificity": "1"}, "2003"),
        ({"exhaustivity": "?", **SIZES}, "2005"),
        (SIZES, "2006"),
    ],
)
def test_the_scale_is_the_declared_one_else_the_grades_tell(
    grades: dict[str, object], scale: str
) -> None:
    line = {"topic": "1", "doc": "A", "elements": [{"xpath": "/a", **grades}]}
    for declared in ({}, {"scale": scale}, {"scale": int(scale)}):
        judgements = judged({"type": "header", "format": "foveal-judgements", **declared}, line)
        assert judgements.header == {"scale": scale}


def test_unknown_grades_are_not_judged() -> None:
    unknown = {"xpath": "/a", "exhaustivity": "U", "specificity": "U"}
    known = {"xpath": "/b", "exhaustivity": 1, "specificity": 1}
    judgements = judged(
        {"topic": "1", "doc": "A", "elements": [unknown]},
        {"topic": "1", "doc": "B", "elements": [unknown, known]},
    )
    assert judgements.doc.to_list() == ["B"]
    assert judgements.elements is not None
    assert judgements.elements.select("row", "xpath").rows() == [(0, "/b[1]")]
    assert judgements.unread == {"elements of unknown grade (U)": 2}


def test_elements_are_of_the_assessor_of_their_line_else_of_all_who_highlight() -> None:
    line: dict[str, object] = {
        "topic": "1",
        "doc": "A",
        "spans": [span(0, 3, assessor="ann"), span(0, 3, assessor="zoe")],
        "elements": [{"xpath": "/a", **SIZES}],
    }
    for assessor, rows in (("zoe", [1]), ("bob", [0, 1]), (None, [0, 1])):
        elements = judged(line | {"assessor": assessor}).elements
        assert elements is not None
        assert elements["row"].to_list() == rows


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("scale", "2004", "json.header"),
        ("scale", ["2005"], "json.header"),
        ("whitespace", "squeeze", "json.header"),
    ],
)
def test_a_header_that_says_something_else_is_refused(name: str, value: object, code: str) -> None:
    header = {"type": "header", "format": "foveal-judgements", name: value}
    found = fault(judged, header, {"topic": "1", "doc": "A", "spans": []})
    assert found == (code, 1)


@pytest.mark.parametrize(
    ("declared", "elements", "code"),
    [
        (None, [{}], "element.path"),
        (None, [{"xpath": "/a/b", **SIZES}, {"xpath": "/a[1]/b[1]", **SIZES}], "element.repeated"),
        (None, [{"xpath": "/a", "size": 9, "rsize": 10}], "element.size"),
        (None, [{"xpath": "/a"}], "element.size"),
        (None, [UNGRADED, {"xpath": "/b", "exhaustivity": 1, **SIZES}], "element.scale"),
        ("2005", [UNGRADED], "element.grade"),
        ("2006", [{"xpath": "/a", "exhaustivity": 2, **SIZES}], "element.grade"),
        ("2003", [{"xpath": "/a", "exhaustivity": 0, "specificity": 3}], "element.grade"),
    ],
)
def test_elements_that_contradict_themselves_or_their_scale(
    declared: str | None, elements: list[dict[str, object]], code: str
) -> None:
    header = {"type": "header", "format": "foveal-judgements", "version": 1}
    if declared:
        header["scale"] = declared
    empty: dict[str, object] = {"topic": "1", "doc": "A", "elements": []}
    found = fault(judged, header, empty, {"topic": "1", "doc": "B", "elements": elements})
    assert found == (code, 3)


def test_relevant_elements_need_relevant_spans_where_spans_are_given() -> None:
    elements = [{"xpath": "/a", **SIZES}]
    first: dict[str, object] = {"topic": "1", "doc": "A", "spans": []}
    line: dict[str, object] = {"topic": "1", "doc": "B", "elements": elements}
    for spans in (None, [], [span(4, 4)], [span(0, 4, grade=0)]):
        message = refusal(judged, first, line | {"spans": spans})
        assert message == "x:2: relevant elements, but no span is relevant"
    assert len(judged(first, line | {"spans": [span(0, 3)]})) == 2


def test_a_topic_without_a_judged_document_is_kept() -> None:
    judgements = judged(
        {"topic": "1", "doc": "A", "spans": [span(3, 9)]}, {"topic": "2", "spans": []}
    )
    assert judgements.topics == ("1", "2")
    assert highlights(judgements) == [("1", "A", 3, 9)]
    again = read_judgements(jsonl.write_judgements(judgements))
    assert (again.topics, highlights(again)) == (judgements.topics, highlights(judgements))
    assert judgements.for_topics(["2"]).topics == ("2",)
    assert judgements.for_topics(["1"]).topics == ("1",)
    elements = judged(
        {"topic": "1", "doc": "A", "elements": [{"xpath": "/a", "size": 9, "rsize": 9}]},
        {"topic": "2", "elements": []},
    )
    assert read_judgements(jsonl.write_judgements(elements)).topics == ("1", "2")


def test_nothing_is_lost_in_a_round_trip() -> None:
    text = (
        '{"type": "header", "format": "foveal-judgements", "version": 1, "unit": "codepoint", '
        '"end": "exclusive", "collection": "c", "scale": "2005"}\n'
        '{"topic": "t", "doc": "é 𝄞", "length": 99, "bep": 4, "assessor": "a", "spans": '
        '[{"start": 4, "end": 9, "grade": 2, "quote": "fünf!", "prefix": "x"}, '
        '{"start": 5, "end": 6, "grade": 0.5}], "elements": [{"xpath": "/a[1]", '
        '"exhaustivity": "?", "size": 99, "rsize": 5}]}\n'
        '{"topic": "t", "doc": "é 𝄞", "assessor": "b", "spans": []}\n'
    )
    assert jsonl.write_judgements(read_judgements(text)) == text


def test_documents_without_relevant_text_stay_judged_where_assessors_are_named() -> None:
    first = {"topic": "2", "doc": "d0", "spans": [span(2, 4, assessor="a")]}
    other = {"topic": "1", "doc": "d3", "length": 136, "spans": []}
    judgements = judged(first, other)
    assert sorted(judgements.topics) == ["1", "2"]
    assert sorted(judgements.doc.to_list()) == ["d0", "d3"]
