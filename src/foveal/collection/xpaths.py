"""XPaths as INEX wrote them: elements, attributes, points in text, and ranges between two.

A result or passage names its place by one path, or by two separated by a blank: where it starts
and where it ends. ``PATH/text()[k].n`` is the position before the n-th character (from 0) of the
k-th text node of PATH. Ordinals may be left out where they are 1.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Point", "canonical", "parse_point", "parse_range"]

_STEP = re.compile(r"/(?P<name>[^/\[\]@()\s]+)(?:\[(?P<ordinal>[1-9]\d*)\])?")
_TEXT = re.compile(r"/text\(\)(?:\[(?P<node>[1-9]\d*)\])?(?:\.(?P<offset>\d+))?$")
_ATTRIBUTE = re.compile(r"/@[^/\[\]@()\s]+(?:\[1\])?$")


class Point(NamedTuple):
    """An element, and in it a text node and an offset where the path goes on that far."""

    element: str
    node: int | None = None
    offset: int | None = None
    attribute: bool = False

    @property
    def inner(self) -> bool:
        """Whether this is a place in the element, not the element itself."""
        return self.node is not None or self.attribute


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


def parse_point(path: str) -> Point | None:
    """A path that may end in a text node, an offset or an attribute; None if malformed.

    >>> parse_point("/a/p[2]/text()[1].5")
    Point(element='/a[1]/p[2]', node=1, offset=5, attribute=False)
    """
    text, attribute = _TEXT.search(path), _ATTRIBUTE.search(path)
    end = text.start() if text else attribute.start() if attribute else len(path)
    element = canonical(path[:end])
    if element is None:
        return None
    if text is None:
        return Point(element, attribute=attribute is not None)
    offset = None if text["offset"] is None else int(text["offset"])
    return Point(element, int(text["node"] or 1), offset)


def parse_range(path: str) -> tuple[Point, Point] | None:
    """Start and end of a place, the same twice if it is one path; None if malformed.

    >>> parse_range("/a/p[1] /a/p[3]/text().2")
    (Point(element='/a[1]/p[1]', node=None, offset=None, attribute=False), \
Point(element='/a[1]/p[3]', node=1, offset=2, attribute=False))
    """
    points = [parse_point(part) for part in path.split()]
    if len(points) not in (1, 2) or points[0] is None or points[-1] is None:
        return None
    return points[0], points[-1]
