"""Judgements: construction, immutability, restriction, assessors, several files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal import InputError, Judgements, UsageError
from inputs import highlights, read_judgements, text_source

TOY: dict[str, dict[str, Any]] = {
    "10": {"D1": {"spans": [(10, 40), (70, 80)], "length": 100, "bep": 10}},
    "9": {"D2": {"spans": [(0, 50)], "length": 50}, "D3": {"spans": []}},
}


def test_judgements_are_made_of_highlighted_spans() -> None:
    judgements = Judgements.from_highlights(TOY)
    assert judgements.topics == ("9", "10")
    assert judgements.doc.to_list() == ["D1", "D2", "D3"]
    assert judgements.relevant.tolist() == [True, True, False]
    assert judgements.rel_size.tolist() == [40, 50, 0]
    assert judgements.length.tolist() == [100, 50, -1]
    assert judgements.bep.tolist() == [10, -1, -1]
    assert judgements.row.tolist() == [0, 0, 1]
    assert repr(judgements) == "<Judgements: 2 topics, 3 documents judged, 2 relevant>"


def test_no_judgements_at_all_are_possible() -> None:
    nothing = Judgements.from_highlights({})
    assert (len(nothing), nothing.topics, len(nothing.to_frame())) == (0, (), 0)
    assert len(nothing.combined()) == 0


def test_columns_cannot_be_written() -> None:
    judgements = read_judgements('{"topic":"1","doc":"D","spans":[{"start":0,"end":5}]}')
    for name in ("topic", "length", "bep", "relevant", "bounds", "start", "end", "line", "file"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(judgements, name)[0] = 0
    assert judgements.grade is not None
    with pytest.raises(ValueError, match="read-only"):
        judgements.grade[0] = 0
    with pytest.raises(AttributeError):
        judgements.has_text = False  # type: ignore[misc]


def test_only_some_topics() -> None:
    judgements = Judgements.from_highlights(TOY)
    assert judgements.for_topics(["9", "unknown"]).doc.to_list() == ["D2", "D3"]
    assert judgements.for_topics(["9"]).topics == ("9",)
    assert len(judgements.for_topics([])) == 0


def test_one_assessor_is_asked_for_by_name() -> None:
    judgements = read_judgements(
        '{"topic":"1","doc":"A","assessor":"ann","spans":[{"start":0,"end":5}]}\n'
        '{"topic":"1","doc":"A","assessor":"bob","spans":[{"start":3,"end":9}]}\n'
        '{"topic":"1","doc":"B","spans":[{"start":0,"end":1}]}\n'
    )
    assert highlights(judgements.combined("bob")) == [("1", "A", 3, 9)]
    with pytest.raises(UsageError, match=r"no assessor 'eve' in the judgements \(ann, bob\)"):
        judgements.combined("eve")
    with pytest.raises(UsageError, match="none is named"):
        Judgements.from_highlights(TOY).combined("ann")


def test_the_first_best_entry_point_and_the_known_length_are_taken() -> None:
    judgements = read_judgements(
        '{"topic":"1","doc":"A","assessor":"a","bep":7,"spans":[{"start":7,"end":9}]}\n'
        '{"topic":"1","doc":"A","assessor":"b","bep":3,"length":20,"spans":[{"start":3,"end":8}]}\n'
        '{"topic":"1","doc":"A","assessor":"c","spans":[]}\n'
    )
    for policy, bep in (("union", 3), ("majority", 7)):  # two assessors share [7, 8)
        united = judgements.combined(policy)
        assert united.bep.tolist() == [bep]
        assert united.length.tolist() == [20]
    assert judgements.combined("intersection").bep.tolist() == [-1]


assessments = st.dictionaries(
    st.tuples(st.sampled_from("12"), st.sampled_from("AB"), st.sampled_from("xyz")),
    st.lists(
        st.tuples(st.integers(0, 25), st.integers(0, 25), st.sampled_from([0, 1, 2])), max_size=4
    ),
    min_size=1,
)
Assessments = dict[tuple[str, str, str], list[tuple[int, int, int]]]


def as_judgements(
    given: Assessments, beps: Mapping[tuple[str, str, str], int] = MappingProxyType({})
) -> Judgements:
    lines = [
        f'{{"topic":"{topic}","doc":"{doc}","assessor":"{assessor}",'
        + (f'"bep":{beps[topic, doc, assessor]},' if (topic, doc, assessor) in beps else "")
        + '"spans":['
        + ",".join(
            f'{{"start":{min(a, b)},"end":{max(a, b)},"grade":{grade}}}' for a, b, grade in spans
        )
        + "]}"
        for (topic, doc, assessor), spans in given.items()
    ]
    return read_judgements("\n".join(lines))


def characters(spans: list[tuple[int, int, int]]) -> set[int]:
    return {at for a, b, grade in spans if grade for at in range(min(a, b), max(a, b))}


NEEDED = {
    "union": lambda assessors: 1,
    "majority": lambda assessors: assessors // 2 + 1,
    "intersection": lambda assessors: assessors,
}


@pytest.mark.parametrize("policy", NEEDED)
@settings(max_examples=100)
@given(given_spans=assessments)
def test_assessors_combine_character_by_character(policy: str, given_spans: Assessments) -> None:
    combined = as_judgements(given_spans).combined(policy)
    found: dict[tuple[str, str], set[int]] = {}
    for topic, doc, start, end in highlights(combined):
        text = found.setdefault((topic, doc), set())
        if start is not None and end is not None:
            assert start < end
            assert not text & set(range(start, end + 1))  # disjoint, touching ones united
            text |= set(range(start, end))
    expected = {}
    for topic, doc in {(topic, doc) for topic, doc, _ in given_spans}:
        votes = [characters(s) for (t, d, _), s in given_spans.items() if (t, d) == (topic, doc)]
        enough = NEEDED[policy](len(votes))
        expected[topic, doc] = {
            at for at in range(25) if sum(at in vote for vote in votes) >= enough
        }
    assert found == expected
    topics = [combined.topics[code] for code in combined.topic.tolist()]
    keys = list(zip(topics, combined.doc, strict=True))
    assert combined.relevant.tolist() == [bool(expected[key]) for key in keys]


@pytest.mark.parametrize("policy", NEEDED)
@settings(max_examples=100)
@given(given_spans=assessments, data=st.data())
def test_votes_decide_which_best_entry_points_remain(
    policy: str, given_spans: Assessments, data: st.DataObject
) -> None:
    """The earliest inside the remaining text; without a vote the earliest of all."""
    beps = data.draw(st.dictionaries(st.sampled_from(list(given_spans)), st.integers(0, 26)))
    combined = as_judgements(given_spans, beps).combined(policy)
    for row, (code, doc) in enumerate(zip(combined.topic.tolist(), combined.doc, strict=True)):
        topic = combined.topics[code]
        own = [at for key, at in beps.items() if key[:2] == (topic, doc)]
        votes = [characters(spans) for key, spans in given_spans.items() if key[:2] == (topic, doc)]
        enough = NEEDED[policy](len(votes))
        text = {at for at in range(27) if sum(at in vote for vote in votes) >= enough}
        remaining = [at for at in own if text and (enough == 1 or at in text)]
        assert combined.bep[row] == min(remaining, default=-1)


@settings(max_examples=50)
@given(assessments)
def test_one_assessor_is_the_union_of_the_spans_of_that_one(given_spans: Assessments) -> None:
    name = min(assessor for _, _, assessor in given_spans)
    alone = {key: spans for key, spans in given_spans.items() if key[2] == name}
    expected = highlights(as_judgements(alone).combined())
    assert highlights(as_judgements(given_spans).combined(name)) == expected


def merged(*parts: tuple[str, str]) -> Judgements:
    return foveal.read_judgements([text_source(text, path) for path, text in parts])


def test_files_are_merged_with_their_lines_sources_quotes_and_elements() -> None:
    one = '{"topic":"2","doc":"A","spans":[{"start":0,"end":5,"quote":"five!"}]}'
    element = '{"xpath":"/b","size":2,"rsize":2}'
    two = f'\n{{"topic":"1","doc":"B","spans":[{{"start":1,"end":3}}],"elements":[{element}]}}'
    both = merged(("one.jsonl", one), ("two.jsonl", two))
    assert both.topics == ("1", "2")
    assert highlights(both) == [("2", "A", 0, 5), ("1", "B", 1, 3)]
    assert [source.path for source in both.sources] == ["one.jsonl", "two.jsonl"]
    assert str(both.problem("judgements.test", 1, "wrong")) == "two.jsonl:2: wrong"
    assert both.assessors == ()  # no document has two
    assert not both.several_assessors
    assert both.quotes is not None
    assert both.quotes["quote"].to_list() == ["five!", None]
    assert both.elements is not None
    assert both.elements.select("row", "xpath").rows() == [(1, "/b[1]")]


def test_columns_of_spans_are_merged_with_files_that_lack_them() -> None:
    span = '{"start":0,"end":5,"quote":"five!","sets":["x"],"aspects":["u"]}'
    lines = {
        "full": f'{{"topic":"2","doc":"A","spans":[{span}]}}',
        "bare": '{"topic":"1","doc":"B","spans":[{"start":1,"end":3}]}',
        "none": '{"topic":"1","doc":"C","spans":[]}',
    }
    for order in permutations(lines.items()):
        both = merged(*order)
        at = both.start.tolist().index(0)
        assert both.quotes is not None
        assert both.sets is not None
        assert both.aspects is not None
        assert both.quotes.rows()[at] == ("five!", None, None)
        assert both.quotes.rows()[1 - at] == (None, None, None)
        assert [both.sets.to_list()[i] for i in (at, 1 - at)] == [["x"], None]
        assert [both.aspects.to_list()[i] for i in (at, 1 - at)] == [["u"], None]


def test_merged_files_keep_what_their_headers_share() -> None:
    header = '{{"type":"header","format":"foveal-judgements","collection":"c","scale":"{}"}}\n'
    line = '{"topic":"1","doc":"A","spans":[]}'
    both = merged(("a", header.format(2005) + line), ("b", header.format(2006) + line))
    assert both.header == {"collection": "c"}


def test_one_assessor_in_two_files_judges_a_document_once() -> None:
    line = '{"topic":"1","doc":"A","assessor":"ann","spans":[]}'
    with pytest.raises(InputError) as refused:
        merged(("a", line), ("b", line))
    ((code, file, number, text),) = refused.value.problems
    assert (code, file, number) == ("judgements.repeated", "b", 1)
    assert "line 1 of a;" in text


def test_two_lengths_of_a_document_are_refused_where_lengths_count() -> None:
    judgements = read_judgements("1 Q0 A 0 90\n1 Q0 B 0 50\n2 Q0 A 0 100\n")
    with pytest.raises(InputError) as refused:
        judgements.check_lengths()
    assert str(refused.value) == "x:3: document 'A' is 100 characters long here, but 90 on line 1"
    assert refused.value.problems[0].code == "judgements.length"
    names, rows, lengths, _ = judgements.documents
    assert names.to_list() == ["A", "B"]
    assert lengths.tolist() == [90, 50]
    assert [names[row] for row in rows.tolist()] == judgements.doc.to_list()


def test_a_span_past_the_length_that_another_line_gives_is_refused() -> None:
    judged = {"1": {"A": {"length": 90}}, "2": {"A": {"spans": [(80, 91)]}}}
    with pytest.raises(InputError) as refused:
        Judgements.from_highlights(judged).check_lengths()
    assert [(p.code, p.line) for p in refused.value.problems] == [("judgements.span", 2)]


def test_files_that_count_white_space_differently_are_not_merged() -> None:
    header = '{{"type":"header","format":"foveal-judgements","whitespace":"{}"}}\n'
    line = '{"topic":"1","doc":"A","spans":[]}'
    with pytest.raises(InputError) as refused:
        merged(("a", header.format("keep") + line), ("b", header.format("merge") + line))
    assert [(p.code, p.file) for p in refused.value.problems] == [("judgements.mixed", "b")]


def test_chosen_rows_keep_every_column() -> None:
    every = replace(
        Judgements.from_highlights(TOY),  # three rows with 2, 1 and 0 spans
        grade=np.array([1.0, 2.0, 3.0]),
        declared=np.array([4, 5, 6]),
        assessor=pl.Series(["ann", "bob", "eve"]),
        quotes=pl.DataFrame({"quote": ["a", "b", "c"]}),
        sets=pl.Series([["x"], None, ["y"]]),
        aspects=pl.Series([["u"], [], ["v"]]),
        elements=pl.DataFrame({"row": [0, 1, 2], "xpath": ["/a", "/b", "/c"]}),
        places=pl.DataFrame({"row": [1, 1], "start": ["/b", "/d"]}),
        evidence=pl.DataFrame({"row": [0, 1], "set": [7, 8]}),
    )
    some = every.only(np.array([False, True, True]))
    assert (some.topics, some.doc.to_list(), some.line.tolist()) == (("9",), ["D2", "D3"], [2, 3])
    assert (some.bounds.tolist(), some.start.tolist(), some.end.tolist()) == ([0, 1, 1], [0], [50])
    for name, expected in {
        "grade": [3.0],
        "declared": [5, 6],
        "assessor": ["bob", "eve"],
        "sets": [["y"]],
        "aspects": [["v"]],
    }.items():
        assert list(map(to_list, getattr(some, name))) == expected
    for name, rows in {
        "quotes": [("c",)],
        "elements": [(0, "/b"), (1, "/c")],
        "places": [(0, "/b"), (0, "/d")],
        "evidence": [(0, 8)],
    }.items():
        assert getattr(some, name).rows() == rows


def to_list(value: Any) -> Any:
    return value.to_list() if isinstance(value, pl.Series) else value
