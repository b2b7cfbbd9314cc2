"""XPaths as INEX wrote them, and the paths of elements with every ordinal."""

from __future__ import annotations

import re
from typing import NamedTuple

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.formats.xpaths import (
    ELEMENT,
    Points,
    canonical,
    canonical_paths,
    is_root,
    parse_ranges,
)
from inputs import read_run


def one(path: str) -> str:
    return str(canonical_paths(pl.Series([path]))[0])


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


@settings(max_examples=60)
@given(PATHS)
def test_a_root_is_known_whatever_path_comes_first(paths: list[str | None]) -> None:
    found = is_root(pl.Series(paths, dtype=pl.String)).to_list()
    root = re.compile(r"/[^/\[\]@()\s]+(\[1\])?")
    assert found == [path is not None and root.fullmatch(path) is not None for path in paths]


# -- points and ranges ---------------------------------------------------------------------------


class Point(NamedTuple):
    """One of `Points`."""

    element: str
    node: int = 0
    offset: int = -1
    attribute: bool = False


def one_by_one(points: Points) -> list[Point | None]:
    return [
        None if element is None else Point(element, node, offset, attribute)
        for element, node, offset, attribute in zip(
            points.element,
            points.node.tolist(),
            points.offset.tolist(),
            points.attribute.tolist(),
            strict=True,
        )
    ]


def parse_range(path: str | None) -> tuple[Point | None, Point | None]:
    first, last = parse_ranges(pl.Series([path], dtype=pl.String))
    return one_by_one(first)[0], one_by_one(last)[0]


NO_ELEMENTS = "/ a /a/ //a /a[0] /a[01] /a[-1] /a[] /a[1][2] /a[1]b /a/@id /a/text() /a/p/text()"
NO_ELEMENTS += " /a/text()[1].5 /a//b /a[0]/b a/b"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a", "/a[1]"),
        ("/a[1]/b[12]/c", "/a[1]/b[12]/c[1]"),
        ("/m:math/x-1.y/é", "/m:math[1]/x-1.y[1]/é[1]"),
        ("/*[1]", "/*[1]"),  # no element is called so
        *((path, None) for path in ("", "/a b", "/a/b /a/c", "/a[@x = 1]/b", *NO_ELEMENTS.split())),
    ],
)
def test_canonical(path: str, expected: str | None) -> None:
    assert canonical(path) == expected
    assert one(path) == (expected or path)


NO_POINTS = "/text() /@id /a/text()[0] /a/text()[1]. /a/text()[1].-1 /a/text()[1]/b /a/@id/b"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a", Point("/a[1]")),
        ("/a/text()", Point("/a[1]", 1)),
        ("/a/text()[3]", Point("/a[1]", 3)),
        ("/a/text()[3].0", Point("/a[1]", 3, 0)),
        ("/a/text().17", Point("/a[1]", 1, 17)),
        ("/a/@id", Point("/a[1]", attribute=True)),
        ("/a[2]/@xlink:href[1]", Point("/a[2]", attribute=True)),
        *((path, None) for path in NO_POINTS.split()),
    ],
)
def test_a_point(path: str, expected: Point | None) -> None:
    assert parse_range(path) == (expected, expected)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a", (Point("/a[1]"), Point("/a[1]"))),
        (" /a\t/b[2] ", (Point("/a[1]"), Point("/b[2]"))),
        ("/a/text() /b/@id", (Point("/a[1]", 1), Point("/b[1]", attribute=True))),
        ("/a /b /c", (None, None)),
        ("/a b", (Point("/a[1]"), None)),
        ("//a /b", (None, Point("/b[1]"))),
        ("", (None, None)),
        (None, (None, None)),
    ],
)
def test_a_range(path: str | None, expected: object) -> None:
    assert parse_range(path) == expected


def test_numbers_of_any_length_are_read() -> None:
    ((_, node, offset, _), _) = parse_range(f"/a/text()[{10**30}].{10**40}")
    assert node == offset > 1 << 32


TEXT = re.compile(r"(.*)/text\(\)(?:\[([1-9]\d*)\])?(?:\.(\d+))?")
ATTRIBUTE = re.compile(r"(.*)/@[^/\[\]@()\s]+(?:\[1\])?")


def naive(path: str) -> Point | None:
    """One path, step by step."""
    text, attribute = TEXT.fullmatch(path), ATTRIBUTE.fullmatch(path)
    element = canonical(text[1] if text else attribute[1] if attribute else path)
    if element is None:
        return None
    if text is None:
        return Point(element, attribute=attribute is not None)
    return Point(element, int(text[2] or 1), -1 if text[3] is None else int(text[3]))


PIECES = ("/", "a", "é", "/b", "[1]", "[12]", "[0]", "/text()", ".3", ".0", "/@i", "@", "[", " ")


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), max_size=20))
def test_many_at_once_are_what_each_is(paths: list[str]) -> None:
    first, last = parse_ranges(pl.Series(paths, dtype=pl.String))
    for path, opens, closes in zip(paths, one_by_one(first), one_by_one(last), strict=True):
        parts = path.split()
        if len(parts) in (1, 2):
            assert (opens, closes) == (naive(parts[0]), naive(parts[-1]))
        else:
            assert (opens, closes) == (None, None)
