"""JSON Lines judgements: spans, grades, assessors, elements, what is refused."""

from __future__ import annotations

import json

import pytest

import foveal
from foveal.formats import jsonl
from inputs import highlights, read_judgements, refusal
from shared_data import DATA

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


def test_length_and_best_entry_point_may_be_absent() -> None:
    judgements = judged(
        {"topic": "1", "doc": "A", "length": 50, "bep": 3, "spans": [span(3, 9)]},
        {"topic": "1", "doc": "B", "spans": []},
    )
    assert judgements.length.tolist() == [50, -1]
    assert judgements.bep.tolist() == [3, -1]
    assert judgements.relevant.tolist() == [True, False]


def test_spans_of_grade_0_are_judged_not_relevant() -> None:
    judgements = judged(
        {"topic": "1", "doc": "A", "spans": [span(0, 9, grade=0), span(20, 25, grade=0.0)]},
        {"topic": "1", "doc": "B", "spans": [span(0, 9, grade=0), span(5, 12, grade=2)]},
        {"topic": "1", "doc": "C", "spans": [span(0, 9)]},
    )
    assert judgements.relevant.tolist() == [False, True, True]
    united = judgements.combined()
    assert highlights(united) == [("1", "A", None, None), ("1", "B", 5, 12), ("1", "C", 0, 9)]


def test_overlapping_and_repeated_spans_count_once() -> None:
    judgements = judged({"topic": "1", "doc": "A", "spans": [span(5, 9), span(0, 6), span(5, 9)]})
    assert len(judgements.start) == 3
    assert highlights(judgements.combined()) == [("1", "A", 0, 9)]


def test_an_assessor_may_stand_on_the_line() -> None:
    judgements = judged(
        {"topic": "1", "doc": "A", "assessor": "ann", "spans": [span(0, 5)]},
        {"topic": "1", "doc": "A", "assessor": "bob", "spans": []},
    )
    assert judgements.assessors == ("ann", "bob")
    assert judgements.several_assessors
    assert highlights(judgements.of_assessor("bob")) == [("1", "A", None, None)]


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


def test_elements_are_kept_with_the_judgement_they_belong_to() -> None:
    element = {"xpath": "/article[1]", "exhaustivity": 2, "size": 9120, "rsize": 131}
    unsure = {"xpath": "/article[1]/p[1]", "exhaustivity": "?", "size": 400, "rsize": 400}
    judgements = judged(
        {"topic": "1", "doc": "A", "spans": []},
        {"topic": "1", "doc": "B", "spans": [span(0, 131)], "elements": [element, unsure]},
    )
    assert judgements.elements is not None
    assert judgements.elements.select("row", "xpath", "exhaustivity", "size", "rsize").rows() == [
        (1, "/article[1]", "2", 9120, 131),
        (1, "/article[1]/p[1]", "?", 400, 400),
    ]


def test_elements_alone_are_judgements() -> None:
    judgements = judged({"topic": "1", "doc": "A", "elements": [{"xpath": "/a", "rsize": 3}]})
    assert judgements.elements is not None
    assert len(judgements) == 1


def test_nothing_is_lost_in_a_round_trip() -> None:
    text = (
        '{"type": "header", "format": "foveal-judgements", "version": 1, "unit": "codepoint", '
        '"end": "exclusive", "collection": "c", "scale": "2006"}\n'
        '{"topic": "t", "doc": "é 𝄞", "length": 99, "bep": 4, "assessor": "a", "spans": '
        '[{"start": 4, "end": 9, "grade": 2, "quote": "fünf!", "prefix": "x"}, '
        '{"start": 5, "end": 6, "grade": 0.5}], "elements": [{"xpath": "/a[1]", '
        '"exhaustivity": "?", "size": 99, "rsize": 5}]}\n'
        '{"topic": "t", "doc": "é 𝄞", "assessor": "b", "spans": []}\n'
    )
    assert jsonl.write_judgements(read_judgements(text)) == text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"doc":"D","spans":[]}', "topic is missing"),
        ('{"topic":"1","spans":[]}', "doc is missing"),
        ('{"topic":"1","doc":"D"}', "spans is missing; a document without relevant text has"),
        ('{"topic":"all","doc":"D","spans":[]}', "a topic may not be called 'all'"),
        ('{"topic":"1","doc":"D","spans":5}', "spans is not a list of objects"),
        ('{"topic":"1","doc":"D","spans":[[1,2]]}', "spans is not a list of objects"),
        ('{"topic":"1","doc":"D","spans":[{"start":1}]}', "a span lacks its start or end"),
        ('{"topic":"1","doc":"D","spans":[{"start":5,"end":1}]}', "end 1 is before start 5"),
        ('{"topic":"1","doc":"D","spans":[{"start":-5,"end":1}]}', "start -5 is negative"),
        ('{"topic":"1","doc":"D","spans":[{"start":0,"end":-1}]}', "end -1 is negative"),
        (
            '{"topic":"1","doc":"D","spans":[{"start":"a","end":1}]}',
            'in spans: start "a" is not a whole number',
        ),
        (
            '{"topic":"1","doc":"D","spans":[{"start":0,"end":1,"grade":"high"}]}',
            'in spans: grade "high" is not a finite number',
        ),
        (
            '{"topic":"1","doc":"D","length":9,"spans":[{"start":0,"end":10}]}',
            "a span ends at 10, past the document's length 9",
        ),
        ('{"topic":"1","doc":"D","length":-9,"spans":[]}', "length -9 is negative"),
        ('{"topic":"1","doc":"D","length":4611686018427387904,"spans":[]}', "length 46116860184"),
        ('{"topic":"1","doc":"D","bep":-9,"spans":[]}', "best entry point -9 is negative"),
        (
            '{"topic":"1","doc":"D","length":8,"bep":9,"spans":[]}',
            "best entry point 9 is past the document's length 8",
        ),
        (
            '{"topic":"1","doc":"D","spans":[],"elements":[{"xpath":"/a","size":"9"}]}',
            'in elements: size "9" is not a whole number',
        ),
        ('{"topic":"1","doc":"D1","spans":[]}', "topic '1', document 'D1' is already judged on"),
        ('{"topic":"1"', "not valid JSON"),
    ],
)
def test_a_bad_line_is_named(line: str, message: str) -> None:
    assert refusal(read_judgements, f"{HEADER}\n{LINE}\n\n{line}\n").startswith(f"x:4: {message}")


def test_a_second_line_of_an_assessor_names_the_first() -> None:
    text = "".join(f'{{"topic":"1","doc":"A","assessor":"{name}","spans":[]}}\n' for name in "aba")
    message = refusal(read_judgements, text)
    assert message.startswith("x:3: topic '1', document 'A' is already judged on line 1")


@pytest.mark.parametrize("text", [HEADER, f"{HEADER}\n# nothing\n"])
def test_a_header_alone_is_empty_judgements(text: str) -> None:
    assert refusal(read_judgements, text) == "x: the judgements are empty: no document is judged"


@pytest.mark.skipif(
    not (DATA / "evidence_inference_v2").exists(), reason="the real data are not beside the project"
)
def test_the_real_judgements_are_read_span_by_span() -> None:
    path = DATA / "evidence_inference_v2" / "xml_qrels.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    expected = [
        (line["topic"], line["doc"], span["start"], span["end"])
        for line in lines
        for span in line["spans"]
    ]
    judgements = foveal.read_judgements(path)
    assert sorted(highlights(judgements)) == sorted(expected)
    assert judgements.several_assessors
