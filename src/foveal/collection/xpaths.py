"""XPaths as INEX wrote them: elements, attributes, points in text, and ranges between two.

A result or passage names its place by one path, or by two separated by a blank: where it starts
and where it ends. ``PATH/text()[k].n`` is the position before the n-th character (from 0) of the
k-th text node of PATH. Ordinals may be left out where they are 1.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.spans import Ints

__all__ = ["Points", "canonical", "owners", "parse_ranges"]

_STEP = re.compile(r"/(?P<name>[^/\[\]@()\s]+)(?:\[(?P<ordinal>[1-9]\d*)\])?")
_STEPS = r"^(?:/[^/\[\]@()\s]+(?:\[[1-9][0-9]*\])?)+$"
_POINT = (
    r"^(?<element>.*?)(?:(?<text>/text\(\)(?:\[(?<node>[1-9][0-9]*)\])?(?:\.(?<offset>[0-9]+))?)"
    r"|(?<attribute>/@[^/\[\]@()\s]+(?:\[1\])?))?$"
)
_BEYOND = 1 << 62
"""Stands for numbers that no text node and no offset has."""


class Points(NamedTuple):
    """Places: elements, and in them a text node and an offset where the path goes on that far."""

    element: pl.Series
    """Paths with every ordinal, null where they are malformed."""
    node: Ints
    """The number of the text node, 0 where there is none."""
    offset: Ints
    """-1 where there is none."""
    attribute: npt.NDArray[np.bool_]

    @property
    def inner(self) -> npt.NDArray[np.bool_]:
        """Which are places in an element, not the element itself."""
        return (self.node > 0) | self.attribute


def canonical(path: str) -> str | None:
    """The path of an element with every ordinal, None if it is not of this form.

    >>> canonical("/article/bdy[1]/sec[2]")
    '/article[1]/bdy[1]/sec[2]'
    """
    steps: list[str] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        steps.append(f"/{step['name']}[{step['ordinal'] or 1}]")
        at = step.end()
    return "".join(steps) or None


def parse_ranges(paths: pl.Series) -> tuple[Points, Points]:
    """Start and end of places, the same twice where it is one path.

    >>> first, last = parse_ranges(pl.Series(["/a/p /a/p[3]/text().2", "/a/p[2]/@id", "//p"]))
    >>> first.element.to_list(), last.element.to_list()
    (['/a[1]/p[1]', '/a[1]/p[2]', None], ['/a[1]/p[3]', '/a[1]/p[2]', None])
    >>> last.node.tolist(), last.offset.tolist(), last.attribute.tolist()
    ([1, 0, 0], [2, -1, -1], [False, True, False])
    """
    parts = pl.DataFrame({"parts": paths.fill_null("")}).select(
        pl.col("parts").str.extract_all(r"\S+")
    )["parts"]
    count = parts.list.len()
    parts = parts.set(~count.is_in([1, 2]), None)
    first = _points(parts.list.get(0, null_on_oob=True))
    if (count < 2).all():
        return first, first
    return first, _points(parts.list.get(-1, null_on_oob=True))


def owners(paths: pl.Series) -> pl.Series:
    """The elements of attributes and of points in text, null for places of any other kind.

    Such a place has no extent, and where elements meet only its path tells which one is meant.

    >>> owners(pl.Series(["/a/p/@id", "/a/p/text()[2].5", "/a/p", "/a/p/text()"])).to_list()
    ['/a[1]/p[1]', '/a[1]/p[1]', None, None]
    """
    points = _points(paths.str.strip_chars())
    without_extent = pl.Series(points.attribute | (points.offset >= 0), dtype=pl.Boolean)
    return points.element.set(~without_extent, None)


def _points(paths: pl.Series) -> Points:
    """Paths that may end in a text node, an offset or an attribute."""
    found = pl.DataFrame({"path": paths}).select(pl.col("path").str.extract_groups(_POINT))
    found = found.unnest("path")
    has_text = found["text"].is_not_null()
    # A step without its ordinal ends in something else than a bracket.
    element = found.select(
        pl.when(pl.col("element").str.contains(_STEPS)).then(
            pl.col("element").str.replace_all(r"([^\]/])(/|$)", "${1}[1]${2}")
        )
    )["element"]
    node = _numbers(found["node"], 1)
    return Points(
        element,
        np.where(has_text.to_numpy(), node, 0),
        _numbers(found["offset"], -1),
        found["attribute"].is_not_null().to_numpy(),
    )


def _numbers(texts: pl.Series, default: int) -> Ints:
    numbers = texts.cast(pl.Int64, strict=False).fill_null(_BEYOND).to_numpy()
    return np.where(texts.is_null().to_numpy(), default, np.minimum(numbers, _BEYOND))
