"""The tree of elements, worked out from their tags with arrays, a batch of documents at once.

Tags come in document order; that they are nested properly the parser has seen to.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from foveal.spans import Ints

__all__ = ["distinct", "levels", "number_paths", "ordinals", "parents", "tree"]


def levels(closes: npt.NDArray[np.bool_]) -> Ints:
    """How deep each tag stands, from 1; a closing tag as deep as the opening one."""
    return np.cumsum(np.where(closes, -1, 1)) + closes


def tree(closes: npt.NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """Opening tag, closing tag and level of every element, level by level.

    At any level opening and closing tags alternate.
    """
    level = levels(closes)
    # Small numbers are sorted much faster.
    order = np.argsort(level.astype(np.min_scalar_type(level.max(initial=0))), kind="stable")
    return order[::2], order[1::2], level[order[::2]]


def parents(opening: Ints, level: Ints) -> Ints:
    """The parent of each element, -1 for roots: the last element one level up before it."""
    place = level * (opening.max(initial=0) + 1) + opening
    above = np.searchsorted(place, place - opening.max(initial=0) - 1) - 1
    return np.where(level > 1, above, -1)


def distinct(values: Ints) -> tuple[Ints, Ints]:
    """The distinct values in order, and the number of each value among them."""
    order = np.argsort(values)
    ordered = values[order]
    opens = np.ones(len(values), dtype=bool)
    opens[1:] = ordered[1:] != ordered[:-1]
    number = np.empty(len(values), dtype=np.int64)
    number[order] = np.cumsum(opens) - 1
    return ordered[opens], number


def number_paths(
    parent: Ints, tag: Ints, level: Ints, tags: int
) -> tuple[Ints, tuple[Ints, Ints, Ints]]:
    """Number the distinct paths level by level: the path of each element, and the table."""
    ordinal = ordinals(parent, tag, tags)
    most = int(ordinal.max(initial=0)) + 1
    steps, step = distinct(tag * most + ordinal)
    path = np.empty(len(parent), dtype=np.int64)
    bounds = np.flatnonzero(np.diff(level, prepend=0, append=0))
    keys, known = [], 0
    for first, last in pairwise(bounds.tolist()):
        here = slice(first, last)
        above = path[parent[here]] if first else np.full(last, -1, dtype=np.int64)
        new, number = distinct((above + 1) * len(steps) + step[here])
        path[here] = known + number
        keys.append(new)
        known += len(new)
    key = np.concatenate(keys) if keys else np.zeros(0, dtype=np.int64)
    above, of_path = np.divmod(key, max(len(steps), 1))
    return path, (above - 1, steps[of_path] // most, steps[of_path] % most)


def ordinals(parent: Ints, tag: Ints, tags: int) -> Ints:
    """How many siblings of the same tag stand before each element, itself included."""
    # Roots of different documents are not siblings.
    number = np.arange(len(parent))
    key = np.where(parent < 0, -1 - number, parent) * max(tags, 1) + tag
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    opens = np.ones(len(key), dtype=bool)
    opens[1:] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(opens, number, 0))
    ordinal = np.empty(len(key), dtype=np.int64)
    ordinal[order] = number - first + 1
    return ordinal
