"""The distinct paths of an index: from numbers to XPaths and back, without writing all of them.

Together they may take many times the memory of the rest of the index, for each repeats those above
it; and few runs name more than a small part of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl

from foveal.collection.dictionary import Dictionary
from foveal.collection.parsing import distinct
from foveal.formats.xpaths import PATHS
from foveal.model import UNKNOWN
from foveal.model.hashing import OfTexts
from foveal.spans import Ints

__all__ = ["Paths"]


class Paths:
    """Paths as an index has them: the parent of each, and tag and ordinal of its last step.

    >>> paths = Paths(np.array([-1, 0, 0]), np.array([0, 1, 1]), np.array([1, 1, 2]), ["a", "p"])
    >>> paths.texts(np.array([2, 0])).to_list()
    ['/a[1]/p[2]', '/a[1]']
    >>> paths.numbers(pl.Series(["/a[1]/p[2]", "/a[1]/p[3]", "/a", None])).tolist()
    [2, -1, -1, -1]
    """

    def __init__(self, parent: Ints, tag: Ints, ordinal: Ints, tags: Sequence[str]) -> None:
        self._parent, self._tag, self._ordinal = parent, tag, ordinal
        self._tags = tags
        self._known = Dictionary(self._search)
        self._of_texts = OfTexts(self._search)

    def __len__(self) -> int:
        return len(self._parent)

    def texts(self, numbers: Ints) -> pl.Series:
        """The XPaths of these numbers."""
        asked, which = np.unique(numbers, return_inverse=True)
        needed = self._with_parents(asked)
        # A parent has a smaller number than its children, so it is written before them.
        above = np.searchsorted(needed, self._parent[needed]).tolist()
        tags, texts = self._tags, [""] * len(needed)
        columns = (self._parent[needed], self._tag[needed], self._ordinal[needed])
        rows = zip(above, *(column.tolist() for column in columns), strict=True)
        for i, (at, parent, tag, ordinal) in enumerate(rows):
            texts[i] = f"{texts[at] if parent >= 0 else ''}/{tags[tag]}[{ordinal}]"
        written = pl.Series("xpath", texts, dtype=pl.String)
        return written.gather(np.searchsorted(needed, asked)[which])

    def _with_parents(self, numbers: Ints) -> Ints:
        """These paths and all above them, sorted."""
        needed = [numbers]
        while len(numbers):
            above = self._parent[numbers]
            numbers = np.unique(above[above >= 0])
            needed.append(numbers)
        return np.unique(np.concatenate(needed))

    def numbers(self, xpaths: pl.Series) -> Ints:
        """The number of each XPath, `UNKNOWN` for those that no document has.

        Every ordinal must be there.
        """
        coded = PATHS.recall(xpaths)
        return self._known(xpaths) if coded is None else self._of_texts(coded)

    def _search(self, xpaths: pl.Series) -> Ints:
        """The numbers of distinct XPaths: down from the root, a step of all paths at a time."""
        rooted = np.flatnonzero(xpaths.str.starts_with("/").to_numpy())
        steps = xpaths.gather(rooted).str.slice(1).str.split("/")
        depth = steps.list.len().to_numpy().astype(np.int64)
        step = _looked_up(steps.explode().rename("step"), self._step_texts)
        first = np.cumsum(depth) - depth
        found = np.full(len(rooted), UNKNOWN)
        left = np.arange(len(rooted))
        for level in range(int(depth.max(initial=0))):
            left = left[depth[left] > level]
            found[left] = self._below(found[left], step[first[left] + level])
            left = left[found[left] >= 0]
        number = np.full(len(xpaths), UNKNOWN)
        number[rooted] = found
        return number

    def _below(self, parent: Ints, step: Ints) -> Ints:
        """The path one step below each, `UNKNOWN` where there is none."""
        keys, order = self._keys
        if not len(keys):
            return np.full(len(parent), UNKNOWN)
        key = np.where(step >= 0, (parent + 1) * len(self._steps[0]) + step, UNKNOWN)
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        return np.where(keys[at] == key, order[at], UNKNOWN)

    @cached_property
    def _steps(self) -> tuple[Ints, Ints]:
        """Tag and ordinal of the distinct last steps in one number, and which each path has."""
        return distinct(self._tag.astype(np.int64) << 32 | self._ordinal)

    @cached_property
    def _step_texts(self) -> pl.DataFrame:
        """The distinct steps as they are written, such as ``p[2]``."""
        tag, ordinal = (self._steps[0] >> 32).tolist(), (self._steps[0] & 0xFFFFFFFF).tolist()
        texts = [f"{self._tags[t]}[{k}]" for t, k in zip(tag, ordinal, strict=True)]
        return pl.DataFrame(
            {"step": pl.Series(texts, dtype=pl.String), "number": np.arange(len(texts))}
        )

    @cached_property
    def _keys(self) -> tuple[Ints, Ints]:
        """Parent and step of each path in one number, sorted, and whose they are."""
        steps, step = self._steps
        key = (self._parent.astype(np.int64) + 1) * len(steps) + step
        order = np.argsort(key)
        return key[order], order


def _looked_up(texts: pl.Series, table: pl.DataFrame) -> Ints:
    """The number of each text in a table, `UNKNOWN` where it is not there."""
    found = texts.to_frame().join(table, on=texts.name, how="left", maintain_order="left")
    return found["number"].fill_null(UNKNOWN).to_numpy().astype(np.int64)
