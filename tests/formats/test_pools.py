"""Pools as JSON Lines: written and read again, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.analysis.pooling import pool
from foveal.formats.pool_files import Pool, pool_lines, read_pool, write_pool
from inputs import fault, text_source

HEADER = {"type": "header", "format": "foveal-pool", "version": 1, "pooled": "document"}
ENTRY = {"topic": "7", "doc": "d", "priority": 1, "rank": 2, "runs": [{"run": "a", "rank": 2}]}


def lines(*objects: dict[str, object]) -> str:
    return "".join(json.dumps(item) + "\n" for item in objects)


def read(*entries: dict[str, object], **header: object) -> Pool:
    return read_pool(text_source(lines(HEADER | header, *(ENTRY | entry for entry in entries))))


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
spans = st.tuples(names, st.integers(0, 99), st.integers(100, 199))
topics = st.dictionaries(
    names.filter(lambda name: name != "all"), st.lists(spans, min_size=1, max_size=5), min_size=1
)


@given(topics, topics, st.sampled_from(["document", "span"]))
@settings(max_examples=40)
def test_a_pool_is_the_same_when_it_is_read_again(first, second, unit: str) -> None:
    runs = [
        foveal.Run.from_results(first, name="eins"),
        foveal.Run.from_results(second, name="zw\u00f6lf \U0001d11e"),
    ]
    made = pool(runs, unit=unit).pool
    again = read_pool(text_source(pool_lines(made)))
    assert again.entries.equals(made.entries)
    assert (again.unit, again.header) == (made.unit, made.header)
    assert pool_lines(again) == pool_lines(made)


def test_elements_and_what_is_known_of_them_are_kept(tmp_path: Path) -> None:
    place = {"doc": "d", "runs": [{"run": "r", "rank": 1}], "rank": 1}
    entries = [
        {"topic": "t", "xpath": "/a[1]/b[2]", "priority": 1, "relevant": True, **place},
        {"topic": "t", "xpath": "/a[1]/b[1]", "priority": 2, **place},
    ]
    made = read(*entries, pooled="element")
    write_pool(made, tmp_path / "pool.jsonl")
    again = read_pool(tmp_path / "pool.jsonl")
    assert again.entries.equals(made.entries)
    assert again.entries.select("xpath", "relevant").rows() == [
        ("/a[1]/b[2]", True),
        ("/a[1]/b[1]", None),
    ]


def test_a_line_is_a_document_with_its_runs_and_their_results() -> None:
    run = foveal.Run.from_results({"7": [("d", 3, 9)]}, name="a")
    header, entry = map(json.loads, pool_lines(pool(run, depth=5).pool).splitlines())
    place = {"run": "a", "rank": 1}
    about = {"topic": "7", "doc": "d", "priority": 1, "rank": 1, "runs": [place]}
    assert entry == about | {"support": [place | {"start": 3, "end": 9}]}
    assert header["format"] == "foveal-pool"
    assert (header["strategy"], header["depth"], header["runs"]) == ("depth", 5, ["a"])


def test_entries_come_by_topic_and_priority_whatever_the_file_says() -> None:
    found = read(
        {"topic": "10"},
        {"topic": "9", "priority": 2, "doc": "x"},
        {"topic": "9", "priority": 1, "doc": "y"},
    )
    order = found.entries.select("topic", "doc").rows()
    assert order == [("9", "y"), ("9", "x"), ("10", "d")]
    assert found.sizes == {"9": 2, "10": 1}
    assert found.topic("9")["doc"].to_list() == ["y", "x"]


def test_a_pool_may_be_empty() -> None:
    assert len(read()) == 0
    assert len(read_pool(text_source(pool_lines(read())))) == 0


def test_a_wrong_entry_is_refused_at_its_line() -> None:
    """All wrong entries of a file are reported together."""
    wrong: list[tuple[dict[str, object], str]] = [
        ({"topic": None}, "topic.missing"),
        ({"doc": ""}, "doc.missing"),
        ({"topic": "all"}, "topic.reserved"),
        ({"priority": 0}, "pool.priority"),
        ({"rank": None}, "pool.rank"),
        ({"rank": "first"}, "json.value"),
        ({"runs": []}, "pool.runs"),
        ({"runs": {"a": 1}}, "json.value"),
        ({"start": 3}, "span.incomplete"),
        ({"start": 9, "end": 3}, "span.offset"),
        ({"start": -1, "end": 3}, "span.offset"),
        ({"xpath": "b[1]"}, "run.xpath"),
    ]
    entries = [{"doc": f"d{i}", "priority": i + 2, **own} for i, (own, _) in enumerate(wrong)]
    with pytest.raises(foveal.InputError) as caught:
        read({}, *entries)
    found = [(problem.line, problem.code) for problem in caught.value.problems]
    assert found == [(line, code) for line, (_, code) in enumerate(wrong, 3)]


def test_what_stands_twice_is_refused() -> None:
    for again in ({"priority": 2}, {"doc": "e"}):
        assert fault(read, {}, again) == ("pool.repeated", 3)
    spans = [{"start": 0, "end": 5}, {"start": 0, "end": 6, "priority": 2}]
    assert len(read(*spans, pooled="span")) == 2


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "pool.format", None),
        (lines(ENTRY), "pool.format", None),
        (lines(HEADER | {"format": "foveal-run"}), "json.header", 1),
        (lines(HEADER | {"version": 2}), "json.header", 1),
        (lines(HEADER | {"unit": "byte"}), "json.header", 1),
        (lines(HEADER | {"pooled": "word"}), "pool.header", 1),
        (lines(HEADER) + "{", "json.syntax", 2),
    ],
)
def test_other_files_are_refused(text: str, code: str, line: int | None) -> None:
    assert fault(read_pool, text_source(text)) == (code, line)
