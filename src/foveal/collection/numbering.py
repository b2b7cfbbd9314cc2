"""Numbers for the names and paths of an index while it grows, in little memory.

A large collection has millions of both. An entry of a dict takes two hundred bytes; in sorted
arrays it takes twelve, and a whole batch is looked up at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from foveal.collection.parsing import distinct
from foveal.model import UNKNOWN
from foveal.spans import Ints

__all__ = ["Numbers", "PathNumbers", "depths", "join_paths"]

_STEP_BITS = 31
_GROWTH = 8
"""How many times larger a run is than the next; each key is copied a few times altogether."""


class Numbers:
    """Whole numbers (keys), each with a number of its own.

    They lie in a few sorted runs, the larger ones first; a new run takes in those before it that
    are not much larger.

    >>> numbers = Numbers()
    >>> numbers.add(np.array([7, 3]), np.array([0, 1]))
    >>> numbers.find(np.array([3, 4, 7])).tolist()
    [1, -1, 0]
    """

    def __init__(self) -> None:
        self._runs: list[tuple[Ints, npt.NDArray[np.uint32]]] = []

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._runs)

    def add(self, keys: Ints, numbers: Ints) -> None:
        """New keys with their numbers."""
        if not len(keys):
            return
        order = np.argsort(keys)
        run = keys[order], numbers[order].astype(np.uint32)
        while self._runs and len(self._runs[-1][0]) < _GROWTH * len(run[0]):
            before = self._runs.pop()
            at = np.searchsorted(before[0], run[0])
            run = np.insert(before[0], at, run[0]), np.insert(before[1], at, run[1])
        self._runs.append(run)

    def find(self, keys: Ints) -> Ints:
        """The number of each key, `UNKNOWN` for those that are not there."""
        found = np.full(len(keys), UNKNOWN, dtype=np.int64)
        left = np.argsort(keys)  # neighbours are looked up next to each other: kinder to caches
        for known, numbers in self._runs:
            at = np.minimum(np.searchsorted(known, keys[left]), len(known) - 1)
            hit = known[at] == keys[left]
            found[left[hit]] = numbers[at[hit]]
            left = left[~hit]
        return found


class PathNumbers:
    """The paths of an index: each is a step below another, and numbered as it comes.

    >>> paths = PathNumbers()
    >>> parent, tag, ordinal = np.array([-1, 0]), np.array([0, 1]), np.array([1, 2])
    >>> [column.tolist() for column in paths.number(parent, tag, ordinal)]
    [[0, 1], [0, 1]]
    >>> parent, tag, ordinal = np.array([-1, 0, 0]), np.array([0, 1, 1]), np.array([1, 1, 2])
    >>> [column.tolist() for column in paths.number(parent, tag, ordinal)]
    [[0, 2, 1], [1]]
    """

    def __init__(self) -> None:
        self._known = Numbers()
        self._steps: dict[int, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def number(self, parent: Ints, tag: Ints, ordinal: Ints) -> tuple[Ints, Ints]:
        """Number of each path, and which of them are new.

        A parent comes before its children and is given by its place among these paths, -1 for
        none. New ones get the next numbers, in the order in which they come.
        """
        step = self._numbered_steps(tag.astype(np.int64) << 32 | ordinal.astype(np.int64))
        parent = parent.astype(np.int64)
        number = np.full(len(parent), UNKNOWN, dtype=np.int64)
        for level in _levels(depths(parent)):
            above = np.where(parent[level] < 0, UNKNOWN, number[parent[level]])
            # Below a path that is new everything is.
            old = level[(above >= 0) | (parent[level] < 0)]
            number[old] = self._known.find(_keys(number, parent[old], step[old]))
        new = np.flatnonzero(number < 0)
        number[new] = self._count + np.arange(len(new))
        self._known.add(_keys(number, parent[new], step[new]), number[new])
        self._count += len(new)
        return number, new

    def _numbered_steps(self, steps: Ints) -> Ints:
        """A number for each tag and ordinal, so that path and step fit into one number."""
        different, which = distinct(steps)
        known = self._steps
        numbers = [known.setdefault(step, len(known)) for step in different.tolist()]
        return np.array(numbers, dtype=np.int64)[which]


def _keys(number: Ints, parent: Ints, step: Ints) -> Ints:
    """The number of a path's parent and its last step in one number."""
    above = np.where(parent < 0, UNKNOWN, number[parent]) if len(parent) else parent
    return (above + 1) << _STEP_BITS | step


def depths(parent: Ints) -> Ints:
    """How many paths are above each; parents come before their children.

    >>> depths(np.array([-1, 0, 1, 0, -1])).tolist()
    [0, 1, 2, 1, 0]
    """
    depth = np.zeros(len(parent), dtype=np.int64)
    left = np.flatnonzero(parent >= 0)
    above = parent[left]
    while len(left):
        depth[left] += 1
        above = parent[above]
        left, above = left[above >= 0], above[above >= 0]
    return depth


def _levels(depth: Ints) -> Iterator[Ints]:
    """The places of each depth, from the top."""
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[order], np.arange(int(depth.max(initial=-1)) + 2))
    for first, last in pairwise(bounds.tolist()):
        yield order[first:last]


def join_paths(
    paths: PathNumbers,
    tags: dict[str, int],
    own_tags: Sequence[str],
    columns: tuple[Ints, Ints, Ints],
) -> tuple[Ints, tuple[Ints, Ints, Ints]]:
    """Number paths with tags of their own among others: their numbers, and the new rows.

    Parameters
    ----------
    paths : PathNumbers
    tags : dict
        The number of each tag so far; new ones are added.
    own_tags : sequence of str
        What the tags of `columns` are called.
    columns : tuple of arrays
        Parent, tag and ordinal of each path.
    """
    parent, own_tag, ordinal = columns
    codes = [tags.setdefault(name, len(tags)) for name in own_tags]
    tag = np.array(codes, dtype=np.int64)[own_tag]
    number, new = paths.number(parent, tag, ordinal)
    above = parent[new]
    parents = np.where(above < 0, UNKNOWN, number[above]) if len(new) else above
    return number, (parents, tag[new], ordinal[new])
