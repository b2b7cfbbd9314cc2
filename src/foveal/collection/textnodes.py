"""The text nodes of a document: the stretches of text between tags, and whose they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foveal.spans import Ints

__all__ = ["TextNodes", "text_nodes"]


class TextNodes(NamedTuple):
    """Text nodes in document order.

    Parameters
    ----------
    start : int64 array
        Where each begins; the next begins where it ends.
    owner : int64 array
        The element that it is a child of.
    ordinal : int64 array
        Its number among the text nodes of that element, from 1.
    """

    start: Ints
    owner: Ints
    ordinal: Ints


def text_nodes(start: Ints, end: Ints) -> TextNodes:
    """The text nodes of one document, given its elements, parents before their children.

    >>> text_nodes(np.array([0, 2, 4]), np.array([9, 4, 4]))  # <a>..<b>..</b><c/>.....</a>
    TextNodes(start=array([0, 2, 4]), owner=array([0, 1, 0]), ordinal=array([1, 1, 2]))
    """
    # Every tag splits the text around it, also that of an empty element.
    edges = np.unique(np.concatenate([start, end]))
    owner = np.zeros(max(len(edges) - 1, 0), dtype=np.int64)
    first, last = np.searchsorted(edges, start).tolist(), np.searchsorted(edges, end).tolist()
    for element, (a, b) in enumerate(zip(first, last, strict=True)):
        owner[a:b] = element  # over its parent's
    order = np.argsort(owner, kind="stable")
    opens = np.diff(owner[order], prepend=-1) != 0
    number = np.arange(len(owner))
    ordinal = np.empty(len(owner), dtype=np.int64)
    ordinal[order] = number - np.maximum.accumulate(np.where(opens, number, 0)) + 1
    return TextNodes(edges[:-1], owner, ordinal)
