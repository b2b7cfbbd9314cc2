"""What results cost in tokens, counted in their texts by any tokeniser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import replace

import numpy as np

from foveal.errors import InputError, UsageError
from foveal.model import UNKNOWN, Run

__all__ = ["with_tokens"]

Tokeniser = Callable[[str], "float | Sized"]


def with_tokens(run: Run, tokeniser: Tokeniser, texts: Mapping[str, str]) -> Run:
    """The run with the tokens of every result.

    Parameters
    ----------
    run : Run
        With offsets; a whole document is all of its text.
    tokeniser : callable
        Takes a text and returns how many tokens it is, or the tokens themselves (anything with a
        length): ``encoding.encode``, ``str.split``, ``lambda text: len(text) / 4``. A number that
        is not whole is rounded up. Equal spans are counted once.
    texts : mapping of document to text
        In the code points that the offsets count.

    Examples
    --------
    >>> run = Run.from_results({"1": [("D1", 0, 9), ("D1", 10, 14)]})
    >>> with_tokens(run, str.split, {"D1": "three two ones"}).tokens.tolist()
    [2, 1]
    """
    known: dict[tuple[str, int, int], int] = {}
    tokens = np.zeros(len(run), dtype=np.int64)
    places = zip(run.doc.to_list(), run.start.tolist(), run.end.tolist(), strict=True)
    for i, (doc, start, end) in enumerate(places):
        if (doc, start, end) not in known:
            known[doc, start, end] = _count(tokeniser, _text(run, i, texts))
        tokens[i] = known[doc, start, end]
    return replace(run, tokens=tokens)


def _text(run: Run, i: int, texts: Mapping[str, str]) -> str:
    doc, start, end = run.doc[i], int(run.start[i]), int(run.end[i])
    line = int(run.line[i])
    if doc not in texts:
        raise InputError.at(
            "unclassified", run.source.path, line, f"no text of document {doc!r} is given"
        )
    if start == UNKNOWN:
        raise InputError.at(
            "unclassified",
            run.source.path,
            line,
            "the result has no offsets; tokens are counted in the text",
        )
    text = texts[doc]
    if end > len(text):
        raise InputError.at(
            "unclassified",
            run.source.path,
            line,
            f"the result ends at {end}, past the {len(text)} characters of document {doc!r}",
        )
    return text[start:] if end == UNKNOWN else text[start:end]


def _count(tokeniser: Tokeniser, text: str) -> int:
    found = tokeniser(text)
    # The parts of a mapping or text are no tokens: a tokeniser may return {"input_ids": [...]}.
    if isinstance(found, Sized) and not isinstance(found, (Mapping, str, bytes)):
        return len(found)
    number = np.nan if isinstance(found, (Sized, bool)) else found
    if not (isinstance(number, (int, float, np.number)) and 0 <= number < np.inf):
        raise UsageError(
            f"the tokeniser returns {found!r:.60}; expected a number of tokens from 0, or the "
            "tokens"
        )
    return int(np.ceil(number))
