"""XPaths as INEX wrote them: elements, text nodes, points in text, attributes and ranges.

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

from foveal.lookup import CachedTextFunction, GrowingTable
from foveal.spans import Ints

_STEP = r"/[^/\[\]@()\s]+(?:\[[1-9][0-9]*\])?"
ELEMENT = f"^(?:{_STEP})+$"  # the path of an element, as it may be written: 1 need not be
_BARE = r"([^/\]])(/|$)"  # the end of a step without an ordinal
_ROOT = r"^/[^/\[\]@()\s]+(?:\[1\])?$"
_POINT = (
    r"^(?<element>.*?)(?:(?<text>/text\(\)(?:\[(?<node>[1-9][0-9]*)\])?(?:\.(?<offset>[0-9]+))?)"
    r"|(?<attribute>/@[^/\[\]@()\s]+(?:\[1\])?))?$"
)
_BEYOND = 1 << 62  # a number that no text node and no offset has


class Points(NamedTuple):
    """Places: elements, and in them a text node and an offset where the path goes on that far."""

    element: pl.Series  # paths with every ordinal, null where they are malformed
    node: Ints  # the number of the text node, 0 for none
    offset: Ints  # -1 for none
    attribute: npt.NDArray[np.bool_]

    def gather(self, rows: Ints) -> Points:
        """Return the points of these rows."""
        element, node, offset, attribute = self
        return Points(element.gather(rows), node[rows], offset[rows], attribute[rows])


def canonical_paths(paths: pl.Series) -> pl.Series:
    """Return paths of elements with every ordinal; points, attributes and ranges as they are.

    >>> canonical_paths(pl.Series(["/a/b[2]", "/a[1]", "/a/text()[1].5", "/a /b"])).to_list()
    ['/a[1]/b[2]', '/a[1]', '/a/text()[1].5', '/a /b']
    """
    change = _classify(paths) & _INCOMPLETE > 0
    if not change.any():
        return paths
    return paths.zip_with(pl.Series(~change), paths.str.replace_all(_BARE, "${1}[1]${2}"))


def is_root(xpath: pl.Series) -> pl.Series:
    """Mark paths of the root element: the whole document whatever its length."""
    return pl.Series(_classify(xpath) & _IS_ROOT > 0)


def is_relative(xpath: pl.Series) -> pl.Series:
    """Mark paths that do not begin at the root."""
    return pl.Series(_classify(xpath) & _IS_RELATIVE > 0)


def _find_flags(paths: pl.Series) -> pl.Series:
    """Return the flags of paths: an ordinal is missing, it is the root, it is relative."""
    incomplete = paths.str.contains(_BARE) & paths.str.contains(ELEMENT)
    is_root, is_relative = paths.str.contains(_ROOT), ~paths.str.starts_with("/")
    flags = incomplete.cast(pl.Int64) * _INCOMPLETE + is_root.cast(pl.Int64) * _IS_ROOT
    return flags + is_relative.cast(pl.Int64) * _IS_RELATIVE


_INCOMPLETE, _IS_ROOT, _IS_RELATIVE = 1, 2, 4
PATHS = GrowingTable()  # of all XPaths this process has read
_classify = CachedTextFunction(_find_flags, PATHS)


def canonical(path: str) -> str | None:
    """Return the path of an element with every ordinal, None if it is not of this form."""
    return str(canonical_paths(pl.Series([path]))[0]) if re.fullmatch(ELEMENT, path) else None


def parse_ranges(paths: pl.Series) -> tuple[Points, Points]:
    """Return start and end of places, the same twice where it is one path.

    >>> first, last = parse_ranges(pl.Series(["/a/p /a/p[3]/text().2", "/a/p[2]/@id", "//p"]))
    >>> first.element.to_list(), last.element.to_list()
    (['/a[1]/p[1]', '/a[1]/p[2]', None], ['/a[1]/p[3]', '/a[1]/p[2]', None])
    >>> last.node.tolist(), last.offset.tolist(), last.attribute.tolist()
    ([1, 0, 0], [2, -1, -1], [False, True, False])
    """
    parts = paths.fill_null("").str.extract_all(r"\S+")
    count = parts.list.len()
    parts = parts.set(~count.is_in([1, 2]), None)
    first = _parse_points(parts.list.get(0, null_on_oob=True))
    if (count < 2).all():
        return first, first
    return first, _parse_points(parts.list.get(-1, null_on_oob=True))


def owners(paths: pl.Series) -> pl.Series:
    """Return the elements of attributes and of points in text, null for other places.

    Such a place has no extent, and where elements meet only its path shows which one is meant.
    """
    points = _parse_points(paths.str.strip_chars())
    without_extent = pl.Series(points.attribute | (points.offset >= 0), dtype=pl.Boolean)
    return points.element.set(~without_extent, None)


def _parse_points(paths: pl.Series) -> Points:
    """Parse paths that may end in a text node, an offset or an attribute."""
    found = paths.str.extract_groups(_POINT).struct.unnest()
    element = found["element"]
    is_path = element.str.contains(ELEMENT).fill_null(value=False)
    node, offset = (
        found[name].cast(pl.Int64, strict=False).fill_null(_BEYOND).set(found[name].is_null(), none)
        for name, none in (("node", 1), ("offset", -1))
    )
    return Points(
        canonical_paths(element).set(~is_path, None),
        np.where(found["text"].is_null().to_numpy(), 0, node.to_numpy()),
        offset.to_numpy(),
        found["attribute"].is_not_null().to_numpy(),
    )
