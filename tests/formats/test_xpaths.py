"""Paths of elements with every ordinal, whoever wrote them."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.formats.xpaths import ELEMENT, canonical, canonical_paths, is_root
from inputs import read_run


def one(path: str) -> str:
    return str(canonical_paths(pl.Series([path]))[0])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/article", "/article[1]"),
        ("/article/sec[2]/p", "/article[1]/sec[2]/p[1]"),
        ("/a/m:math/é", "/a[1]/m:math[1]/é[1]"),
        ("/a[1]/b[12]", "/a[1]/b[12]"),
    ],
)
def test_a_missing_ordinal_is_1(path: str, expected: str) -> None:
    assert one(path) == expected
    assert canonical(path) == expected


@pytest.mark.parametrize(
    "path",
    [
        "/a/text()[1].5",
        "/a/p/text()",
        "/a/@id",
        "/a/b /a/c",
        "/a/text()[1].0 /a/b",
        "/a//b",
        "/a/",
        "/a[0]/b",
        "/a[@x = 1]/b",
        "/",
        "",
        "a/b",
    ],
)
def test_what_is_no_element_stays_as_it_is(path: str) -> None:
    assert one(path) == path


def test_null_stays_null() -> None:
    assert canonical_paths(pl.Series(["/a", None], dtype=pl.String)).to_list() == ["/a[1]", None]
    assert canonical_paths(pl.Series([], dtype=pl.String)).to_list() == []


@settings(max_examples=60)
@given(st.lists(st.text("/[]()@. 012ab:é", max_size=12)))
def test_it_is_what_the_parser_of_paths_says(paths: list[str]) -> None:
    expected = [canonical(path) or path for path in paths]
    found = canonical_paths(pl.Series(paths, dtype=pl.String))
    assert found.to_list() == expected
    assert canonical_paths(found).to_list() == expected


@pytest.mark.parametrize(
    "text",
    [
        "1 Q0 D 1 2 r /a/sec\n1 Q0 D 2 1 r /a[1]/sec[1]\n",
        '{"topic":"1","doc":"D","xpath":"/a/sec"}\n{"topic":"1","doc":"D","xpath":"/a[1]/sec[1]"}\n',
        (
            '<inex-submission><topic topic-id="1">'
            "<result><file>D</file><path>/a/sec</path></result>"
            "<result><file>D</file><path>/a[1]/sec[1]</path></result></topic></inex-submission>"
        ),
    ],
    ids=["lines", "json", "xml"],
)
def test_two_ways_to_write_a_path_are_one_result(text: str) -> None:
    run = read_run(text)
    assert run.xpath is not None
    assert run.xpath.to_list() == ["/a[1]/sec[1]"] * 2
    assert run.duplicates[1].tolist() == [1]


STEPS = st.sampled_from(
    ["/a[1]", "/b[12]", "/a", "b[1]", "/", "]", "\n/a[1]", "/é[2]", "/text()[1]"]
)
PATHS = st.lists(st.lists(STEPS, max_size=4).map("".join) | st.none(), max_size=6)


def written_out(path: str | None) -> str | None:
    """The path with every ordinal, step by step."""
    if path is None or re.fullmatch(ELEMENT[1:-1], path) is None:
        return path
    steps = path[1:].split("/")
    return "".join(f"/{step}" if step.endswith("]") else f"/{step}[1]" for step in steps)


@settings(max_examples=60)
@given(PATHS)
def test_a_path_is_the_same_alone_and_among_others(paths: list[str | None]) -> None:
    found = canonical_paths(pl.Series(paths, dtype=pl.String)).to_list()
    assert found == [written_out(path) for path in paths]


def test_a_slash_that_is_missing_does_not_hide_an_ordinal_that_is() -> None:
    """Together these paths have as many slashes after other characters as there are paths."""
    assert canonical_paths(pl.Series(["a[1]", "/a/b[1]"])).to_list() == ["a[1]", "/a[1]/b[1]"]


@settings(max_examples=60)
@given(PATHS)
def test_a_root_is_known_whatever_path_comes_first(paths: list[str | None]) -> None:
    found = is_root(pl.Series(paths, dtype=pl.String)).tolist()
    root = re.compile(r"/[^/\[\]@()\s]+(\[1\])?")
    assert found == [path is not None and root.fullmatch(path) is not None for path in paths]
