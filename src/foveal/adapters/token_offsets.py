"""Runs and judgements in tokens instead of characters, for measures that count words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.model import Judgements, Run
from foveal.spans import Ints

Spans = TypeVar("Spans", bound=Run | Judgements)
# From a text to the places of its tokens, in their order.
Tokenise = Callable[[str], Iterable[tuple[int, int]]]

_WORD = re.compile(r"[^\W_]+(?:[^\w\s]+[^\W_]+)*")


def words(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of words, without articles and punctuation around them, as SQuAD counts.

    >>> text = "The cat's pyjamas, (an essay)."
    >>> [text[a:b] for a, b in words(text)]
    ["cat's", 'pyjamas', 'essay']
    """
    found = _WORD.finditer(text)
    return (own.span() for own in found if own.group().lower() not in ("a", "an", "the"))


def in_tokens(given: Spans, texts: Mapping[str, str], tokenise: Tokenise = words) -> Spans:
    """Return a run or judgements whose offsets number the tokens of each document.

    A span holds the tokens that it shares at least one character with. Any measure of text then
    counts tokens; convert both run and judgements, with the same function from a text to the
    (start, end) of its tokens. `texts` has the text of every document that occurs.

    >>> texts = {"d": "In the year 1066, the Normans came."}
    >>> run = Run.from_results({"1": [("d", 7, 29)]})
    >>> in_tokens(run, texts).start.tolist(), in_tokens(run, texts).end.tolist()
    ([1], [4])
    """
    tokens: dict[str, Ints] = {}
    for doc in given.doc.unique(maintain_order=True).to_list():
        if doc not in texts:
            path = given.source.path if isinstance(given, Run) else given.sources[0].path
            message = f"document {doc!r} is not among the texts"
            raise InputError.at("span.unknown_document", path, None, message)
        tokens[doc] = np.array([*tokenise(texts[doc])], dtype=np.int64).reshape(-1, 2)

    def count(docs: pl.Series, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Return spans of characters as spans of tokens; unknown offsets stay unknown."""
        first, last = start.copy(), end.copy()
        for row, doc in enumerate(docs):
            opens, closes = tokens[doc].T
            if start[row] >= 0:
                first[row] = np.searchsorted(closes, start[row], side="right")
            if end[row] >= 0:
                last[row] = max(np.searchsorted(opens, end[row]), first[row])
        return first, last

    changed: dict[str, Any] = {"length": np.array([len(tokens[doc]) for doc in given.doc], int)}
    docs = given.doc if isinstance(given, Run) else given.doc.gather(given.row)
    changed["start"], changed["end"] = count(docs, given.start, given.end)
    if isinstance(given, Judgements):
        changed["bep"], _ = count(given.doc, given.bep, given.bep)
        changed |= {"quotes": None, "declared": None}
    return given.with_columns(**changed)  # type: ignore[return-value]
