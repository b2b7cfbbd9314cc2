"""Runs and judgements with tokens for characters, for measures that count words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import overload

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.model import Judgements, Run
from foveal.spans import Ints

__all__ = ["Tokenise", "in_tokens", "words"]

Tokenise = Callable[[str], Iterable[tuple[int, int]]]
"""From a text to the places of its tokens, in their order."""

_WORD = re.compile(r"[^\W_]+(?:[^\w\s]+[^\W_]+)*")
_ARTICLES = frozenset(["a", "an", "the"])


def words(text: str) -> Iterator[tuple[int, int]]:
    """The places of words, without articles and the punctuation around them, as SQuAD counts.

    >>> text = "The cat's pyjamas, (an essay)."
    >>> [text[a:b] for a, b in words(text)]
    ["cat's", 'pyjamas', 'essay']
    """
    for found in _WORD.finditer(text):
        if found.group().lower() not in _ARTICLES:
            yield found.span()


@overload
def in_tokens(given: Run, texts: Mapping[str, str], tokenise: Tokenise = words) -> Run: ...
@overload
def in_tokens(
    given: Judgements, texts: Mapping[str, str], tokenise: Tokenise = words
) -> Judgements: ...
def in_tokens(
    given: Run | Judgements, texts: Mapping[str, str], tokenise: Tokenise = words
) -> Run | Judgements:
    """A run or judgements whose offsets number the tokens of each document.

    A span holds the tokens that it has at least one character of. Any measure of text then counts
    tokens; run and judgements must both be brought to the same ones.

    Parameters
    ----------
    given : Run or Judgements
    texts : mapping of str to str
        The text of every document that occurs.
    tokenise : callable
        From a text to the (start, end) of its tokens.

    Examples
    --------
    >>> texts = {"d": "In the year 1066, the Normans came."}
    >>> run = Run.from_results({"1": [("d", 7, 29)]})
    >>> in_tokens(run, texts).start.tolist(), in_tokens(run, texts).end.tolist()
    ([1], [4])
    """
    places = _Places(given, texts, tokenise)
    if isinstance(given, Run):
        start, end = places(given.doc, given.start, given.end)
        return replace(given, start=start, end=end, length=places.lengths(given.doc))
    doc = given.doc.gather(given.row)
    start, end = places(doc, given.start, given.end)
    bep, _ = places(given.doc, given.bep, given.bep)
    return replace(
        given,
        start=start,
        end=end,
        bep=bep,
        length=places.lengths(given.doc),
        quotes=None,
        declared=None,
    )


class _Places:
    """The tokens of the documents that occur."""

    def __init__(
        self, given: Run | Judgements, texts: Mapping[str, str], tokenise: Tokenise
    ) -> None:
        path = given.source.path if isinstance(given, Run) else given.sources[0].path
        self.tokens: dict[str, tuple[Ints, Ints]] = {}
        for doc in given.doc.unique(maintain_order=True).to_list():
            if doc not in texts:
                raise InputError.at(
                    "unclassified", path, None, f"document {doc!r} is not among the texts"
                )
            found = np.array([*tokenise(texts[doc])], dtype=np.int64).reshape(-1, 2)
            self.tokens[doc] = found[:, 0], found[:, 1]

    def __call__(self, doc: pl.Series, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Spans of characters as spans of tokens; what is not known stays so."""
        first, last = start.copy(), end.copy()
        rows = pl.DataFrame({"doc": doc, "row": np.arange(len(doc))})
        for (name,), group in rows.group_by("doc"):
            opens, closes = self.tokens[str(name)]
            own = group["row"].to_numpy()
            first[own] = np.searchsorted(closes, start[own], side="right")
            last[own] = np.maximum(np.searchsorted(opens, end[own]), first[own])
        first[start < 0], last[end < 0] = start[start < 0], end[end < 0]
        return first, last

    def lengths(self, doc: pl.Series) -> Ints:
        """How many tokens each document has."""
        return np.array([len(self.tokens[name][0]) for name in doc], dtype=np.int64)
