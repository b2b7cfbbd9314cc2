"""Offsets in bytes and UTF-16 units, inclusive ends: converted given the texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inputs import highlights, read_judgements, read_run, refusal, results

TEXTS = {
    "d": "né 𝄞 fin"
}  # code points n é _ 𝄞 _ f i n; bytes 1 2 1 4 1 1 1 1; UTF-16 1 1 1 2 1 ...


def run_text(unit: str, end: str, start: int, stop: int) -> str:
    header = {"type": "header", "format": "foveal-run", "unit": unit, "end": end}
    result = {"topic": "1", "doc": "d", "start": start, "end": stop}
    return f"{json.dumps(header)}\n{json.dumps(result)}\n"


@pytest.mark.parametrize(
    ("unit", "end", "start", "stop"),
    [
        ("codepoint", "exclusive", 1, 4),
        ("codepoint", "inclusive", 1, 3),
        ("byte", "exclusive", 1, 8),
        ("byte", "inclusive", 1, 7),
        ("utf16", "exclusive", 1, 5),
        ("utf16", "inclusive", 1, 4),
    ],
)
def test_a_result_is_the_same_in_every_unit(unit: str, end: str, start: int, stop: int) -> None:
    assert results(read_run(run_text(unit, end, start, stop), TEXTS)) == [("1", "d", 1, 4)]


def test_judgements_convert_spans_length_and_best_entry_point() -> None:
    judgements = read_judgements(
        '{"type":"header","format":"foveal-judgements","unit":"byte","end":"inclusive"}\n'
        '{"topic":"1","doc":"d","length":12,"bep":4,"spans":[{"start":4,"end":7}]}\n',
        TEXTS,
    )
    assert highlights(judgements) == [("1", "d", 3, 4)]
    assert judgements.bep.tolist() == [3]
    assert judgements.length.tolist() == [8]


def test_whole_documents_and_paths_need_no_text() -> None:
    run = read_run(
        '{"type":"header","format":"foveal-run","unit":"byte"}\n'
        '{"topic":"1","doc":"elsewhere"}\n{"topic":"1","doc":"e","xpath":"/a/b"}\n',
        TEXTS,
    )
    assert results(run) == [("1", "elsewhere", 0, None), ("1", "e", None, None)]


@pytest.mark.parametrize(
    ("start", "stop", "message"),
    [
        (2, 8, "byte offset 2 is not between two characters of document 'd'"),
        (1, 6, "byte offset 6 is not between two characters of document 'd'"),
        (1, 13, "byte offset 13 is not between two characters of document 'd'"),
    ],
)
def test_an_offset_that_is_no_character_is_named(start: int, stop: int, message: str) -> None:
    assert refusal(read_run, run_text("byte", "exclusive", start, stop), TEXTS) == f"x:2: {message}"


def test_a_unit_other_than_code_points_needs_the_texts() -> None:
    text = run_text("utf16", "exclusive", 0, 1)
    assert "offsets are declared as utf16" in refusal(read_run, text)
    assert refusal(read_run, text, {}) == "x:2: document 'd' is not among the texts"


@settings(max_examples=50)
@given(st.text(min_size=1), st.data())
def test_conversion_agrees_with_encoding_the_text_before_the_offset(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    for unit, size in (
        ("byte", lambda part: len(part.encode())),
        ("utf16", lambda part: len(part.encode("utf-16-le")) // 2),
    ):
        foreign = run_text(unit, "exclusive", size(text[:start]), size(text[:stop]))
        assert results(read_run(foreign, {"d": text})) == [("1", "d", start, stop)]
