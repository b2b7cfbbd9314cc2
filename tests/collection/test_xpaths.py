"""XPaths as INEX wrote them."""

from __future__ import annotations

import pytest

from foveal.collection.xpaths import Point, canonical, parse_point, parse_range


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a", "/a[1]"),
        ("/a[1]/b[12]/c", "/a[1]/b[12]/c[1]"),
        ("/m:math/x-1.y/é", "/m:math[1]/x-1.y[1]/é[1]"),
        ("", None),
        ("/", None),
        ("a", None),
        ("/a/", None),
        ("//a", None),
        ("/a[0]", None),
        ("/a[01]", None),
        ("/a[-1]", None),
        ("/a[]", None),
        ("/a[1][2]", None),
        ("/a[1]b", None),
        ("/a b", None),
        ("/*[1]", "/*[1]"),  # no element is called so
        ("/a/@id", None),
        ("/a/text()", None),
    ],
)
def test_canonical(path: str, expected: str | None) -> None:
    assert canonical(path) == expected


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
        ("/text()", None),
        ("/@id", None),
        ("/a/text()[0]", None),
        ("/a/text()[1].", None),
        ("/a/text()[1].-1", None),
        ("/a/text()[1]/b", None),
        ("/a/@id/b", None),
        ("/a/@id[2]", None),
    ],
)
def test_parse_point(path: str, expected: Point | None) -> None:
    assert parse_point(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a", (Point("/a[1]"), Point("/a[1]"))),
        (" /a\t/b[2] ", (Point("/a[1]"), Point("/b[2]"))),
        ("/a /b /c", None),
        ("/a b", None),
        ("", None),
    ],
)
def test_parse_range(path: str, expected: object) -> None:
    assert parse_range(path) == expected


def test_what_is_within_an_element() -> None:
    assert not Point("/a[1]").inner
    assert Point("/a[1]", 1).inner
    assert Point("/a[1]", attribute=True).inner
