"""XPaths of a collection: how INEX wrote places, and the distinct paths of an index.

A result or passage names its place by one path, or by two separated by a blank: where it starts
and where it ends. ``PATH/text()[k].n`` is the position before the n-th character (from 0) of the
k-th text node of PATH. Ordinals may be left out where they are 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.collection.parsing import distinct
from foveal.formats.xpaths import ELEMENT, canonical_paths
from foveal.lookup import CachedTextFunction
from foveal.model import UNKNOWN
from foveal.spans import Ints

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


def canonical(path: str) -> str | None:
    """Return the path of an element with every ordinal, None if it is not of this form.

    >>> canonical("/article/bdy[1]/sec[2]")
    '/article[1]/bdy[1]/sec[2]'
    """
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

    Such a place has no extent, and where elements meet only its path tells which one is meant.

    >>> owners(pl.Series(["/a/p/@id", "/a/p/text()[2].5", "/a/p", "/a/p/text()"])).to_list()
    ['/a[1]/p[1]', '/a[1]/p[1]', None, None]
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


# -- paths of an index -----------------------------------------------------------------------------


class PathIndex:
    """Paths as an index has them: the parent of each, and tag and ordinal of its last step.

    They turn from numbers to XPaths and back without writing all of them: together they may take
    many times the memory of the rest of the index.

    >>> parent, tag, ordinal = np.array([-1, 0, 0]), np.array([0, 1, 1]), np.array([1, 1, 2])
    >>> paths = PathIndex(parent, tag, ordinal, ["a", "p"])
    >>> paths.texts(np.array([2, 0])).to_list()
    ['/a[1]/p[2]', '/a[1]']
    >>> paths.numbers(pl.Series(["/a[1]/p[2]", "/a[1]/p[3]", "/a", None])).tolist()
    [2, -1, -1, -1]
    """

    def __init__(self, parent: Ints, tag: Ints, ordinal: Ints, tags: Sequence[str]) -> None:
        self._parent, self._tag, self._ordinal = parent, tag, ordinal
        self._tags = tags
        self.numbers = CachedTextFunction(self._search)
        """Returns the number of each XPath with every ordinal, `UNKNOWN` for absent ones."""

    def __len__(self) -> int:
        return len(self._parent)

    def texts(self, numbers: Ints) -> pl.Series:
        """Return the XPaths of these numbers."""
        asked, which = np.unique(numbers, return_inverse=True)
        levels, above = [asked], asked
        while len(above):
            parent = self._parent[above]
            above = np.unique(parent[parent >= 0])
            levels.append(above)
        needed = np.unique(np.concatenate(levels))
        # A parent has a smaller number than its children, so it is written before them.
        place = np.searchsorted(needed, self._parent[needed]).tolist()
        tags, texts = self._tags, [""] * len(needed)
        columns = (self._parent[needed], self._tag[needed], self._ordinal[needed])
        rows = zip(place, *(column.tolist() for column in columns), strict=True)
        for i, (at, parent, tag, ordinal) in enumerate(rows):
            texts[i] = f"{texts[at] if parent >= 0 else ''}/{tags[tag]}[{ordinal}]"
        written = pl.Series("xpath", texts, dtype=pl.String)
        return written.gather(np.searchsorted(needed, asked)[which])

    def _search(self, xpaths: pl.Series) -> Ints:
        """Return the numbers of distinct XPaths: down from the root, one step of all at a time."""
        if not len(self):
            return np.full(len(xpaths), UNKNOWN)
        rooted = np.flatnonzero(xpaths.str.starts_with("/").to_numpy())
        parts = xpaths.gather(rooted).str.slice(1).str.split("/")
        depth = parts.list.len().to_numpy().astype(np.int64)
        table = parts.explode().rename("step").to_frame()
        steps, keys, order = self._keys
        table = table.join(steps, on="step", how="left", maintain_order="left")
        step = table["number"].fill_null(UNKNOWN).to_numpy().astype(np.int64)
        first = np.cumsum(depth) - depth
        found = np.full(len(rooted), UNKNOWN)
        left = np.arange(len(rooted))
        for level in range(int(depth.max(initial=0))):
            left = left[depth[left] > level]
            own = step[first[left] + level]
            key = np.where(own >= 0, (found[left] + 1) * len(steps) + own, UNKNOWN)
            at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            found[left] = np.where(keys[at] == key, order[at], UNKNOWN)
            left = left[found[left] >= 0]
        number = np.full(len(xpaths), UNKNOWN)
        number[rooted] = found
        return number

    @cached_property
    def _keys(self) -> tuple[pl.DataFrame, Ints, Ints]:
        """The distinct last steps, such as ``p[2]``, with their numbers; parent and step of each
        path in one number, sorted, and whose they are.
        """
        steps, step = distinct(self._tag.astype(np.int64) << 32 | self._ordinal)
        pairs = zip((steps >> 32).tolist(), (steps & 0xFFFFFFFF).tolist(), strict=True)
        texts = pl.Series([f"{self._tags[t]}[{k}]" for t, k in pairs], dtype=pl.String)
        key = (self._parent.astype(np.int64) + 1) * len(steps) + step
        order = np.argsort(key)
        table = pl.DataFrame({"step": texts, "number": np.arange(len(steps))})
        return table, key[order], order
