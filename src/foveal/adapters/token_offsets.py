"""Runs and judgements in tokens instead of characters, for measures that count words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.model import Judgements, Run
from foveal.spans import Ints

Spans = TypeVar("Spans", bound=Run | Judgements)
# From a text to the places of its tokens, in their order.
Tokenise = Callable[[str], Iterable[tuple[int, int]]]

_WORD = re.compile(r"[^\W_]+(?:[^\w\s]+[^\W_]+)*")
_ARTICLES = frozenset(["a", "an", "the"])


def words(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of words, without articles and punctuation around them, as SQuAD counts.

    >>> text = "The cat's pyjamas, (an essay)."
    >>> [text[a:b] for a, b in words(text)]
    ["cat's", 'pyjamas', 'essay']
    """
    for found in _WORD.finditer(text):
        if found.group().lower() not in _ARTICLES:
            yield found.span()


def in_tokens(given: Spans, texts: Mapping[str, str], tokenise: Tokenise = words) -> Spans:
    """Return a run or judgements whose offsets number the tokens of each document.

    A span holds the tokens that it shares at least one character with. Any measure of text then
    counts tokens; convert both run and judgements, with the same `tokenise`.

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
    path = given.source.path if isinstance(given, Run) else given.sources[0].path
    tokens: dict[str, tuple[Ints, Ints]] = {}
    for doc in given.doc.unique(maintain_order=True).to_list():
        if doc not in texts:
            message = f"document {doc!r} is not among the texts"
            raise InputError.at("span.unknown_document", path, None, message)
        found = np.array([*tokenise(texts[doc])], dtype=np.int64).reshape(-1, 2)
        tokens[doc] = found[:, 0], found[:, 1]

    def count(doc: pl.Series, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Return spans of characters as spans of tokens; unknown offsets stay unknown."""
        first, last = start.copy(), end.copy()
        rows = pl.DataFrame({"doc": doc, "row": np.arange(len(doc))})
        for (name,), group in rows.group_by("doc"):
            opens, closes = tokens[str(name)]
            own = group["row"].to_numpy()
            first[own] = np.searchsorted(closes, start[own], side="right")
            last[own] = np.maximum(np.searchsorted(opens, end[own]), first[own])
        first[start < 0], last[end < 0] = start[start < 0], end[end < 0]
        return first, last

    length = np.array([len(tokens[doc][0]) for doc in given.doc], dtype=np.int64)
    if isinstance(given, Run):
        start, end = count(given.doc, given.start, given.end)
        return replace(given, start=start, end=end, length=length)
    start, end = count(given.doc.gather(given.row), given.start, given.end)
    bep, _ = count(given.doc, given.bep, given.bep)
    bare = replace(given, quotes=None, declared=None)
    return replace(bare, start=start, end=end, bep=bep, length=length)
