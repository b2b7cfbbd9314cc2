"""Text nodes: the stretches of text of an element between its tags and those of its children."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foveal.model import UNKNOWN
from foveal.spans import Ints

__all__ = ["TextNodes", "text_nodes"]


class TextNodes(NamedTuple):
    """The text nodes of some elements, element after element.

    Parameters
    ----------
    start, end : int64 array
        Where each begins and ends.
    owner : int64 array
        The element that it is a child of.
    """

    start: Ints
    end: Ints
    owner: Ints

    def ordinals(self) -> Ints:
        """The number of each among the text nodes of its element, from 1."""
        return np.arange(len(self.owner)) - np.searchsorted(self.owner, self.owner) + 1

    def find(self, element: Ints, number: Ints) -> Ints:
        """The text node of that number in each element, `UNKNOWN` where it has fewer."""
        at = np.searchsorted(self.owner, element) + np.minimum(number, len(self.owner) + 1) - 1
        return np.where(at < np.searchsorted(self.owner, element, side="right"), at, UNKNOWN)


def text_nodes(
    start: Ints, end: Ints, parent: Ints, child_start: Ints, child_end: Ints
) -> TextNodes:
    """The text nodes of elements, given where their children are.

    Parameters
    ----------
    start, end : int64 array
        The elements.
    parent : int64 array
        For each child the number of its element; children come in any order.
    child_start, child_end : int64 array

    Examples
    --------
    ``<a>..<b>..</b><c/>.....</a>``:

    >>> text_nodes(*map(np.array, ([0], [9], [0, 0], [2, 4], [4, 4])))
    TextNodes(start=array([0, 4]), end=array([2, 9]), owner=array([0, 0]))
    """
    order = np.lexsort((child_end, child_start, parent))
    parent = parent[order]
    children = np.bincount(parent, minlength=len(start))
    element = np.arange(len(start))
    # One gap before each child, and one more after the last; also an empty child divides the text.
    before = np.arange(len(parent)) + parent
    after = np.cumsum(children) + element
    gap_start, gap_end = np.empty((2, len(parent) + len(start)), dtype=np.int64)
    gap_start[after - children], gap_start[before + 1] = start, child_end[order]
    gap_end[before], gap_end[after] = child_start[order], end
    full = gap_start < gap_end
    owner = np.repeat(element, children + 1)
    return TextNodes(gap_start[full], gap_end[full], owner[full])
