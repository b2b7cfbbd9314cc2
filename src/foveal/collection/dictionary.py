"""Texts looked up again and again: what was found once is remembered.

The runs of a campaign name the same documents and elements over and over. A table of those that
were met before answers for nearly all of them; only new ones are searched for, each once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl

from foveal.model.hashing import Lexicon
from foveal.spans import Ints

__all__ = ["Dictionary"]

_MOST = 1_000_000
"""Texts that are remembered; with more of them one begins anew, so that memory stays bounded."""


class _Known(NamedTuple):
    names: Lexicon
    number: Ints


class Dictionary:
    """The numbers of texts, each of which `search` is asked for once.

    >>> asked = []
    >>> def search(texts):
    ...     asked.extend(texts)
    ...     return texts.str.len_chars().to_numpy().astype(np.int64)
    >>> lengths = Dictionary(search)
    >>> lengths(pl.Series(["a", "bcd", "a"])).tolist(), lengths(pl.Series(["ef", "bcd"])).tolist()
    ([1, 3, 1], [2, 3])
    >>> asked
    ['a', 'bcd', 'ef']
    """

    def __init__(self, search: Callable[[pl.Series], Ints], most: int = _MOST) -> None:
        self._search, self._most = search, most
        self._known = _nothing()

    def __call__(self, texts: pl.Series) -> Ints:
        """The number of each text; null is the empty text."""
        texts = texts.cast(pl.String).fill_null("").rechunk()
        known = self._known
        at = known.names.find(texts)
        new = np.flatnonzero(at < 0)
        if len(new):
            met = texts.gather(new)
            known = self._learned(known, met.unique(maintain_order=True))
            at[new] = known.names.find(met)
        return known.number[at]

    def _learned(self, known: _Known, texts: pl.Series) -> _Known:
        """What is known and these.

        Nothing is changed, so threads need not wait for each other: of two that learn at the same
        time one is forgotten, and what it has learned is searched for again.
        """
        learned = _Known(
            known.names.with_names(texts), np.concatenate([known.number, self._search(texts)])
        )
        self._known = learned if len(learned.number) <= self._most else _nothing()
        return learned


def _nothing() -> _Known:
    return _Known(Lexicon(), np.zeros(0, dtype=np.int64))
