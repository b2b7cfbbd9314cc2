"""Checks that every reader shares: offsets, scores and names that no format may hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.fields import MAX_OFFSET
from foveal.model import UNKNOWN
from foveal.model.run import ALL
from foveal.spans import Ints

__all__ = [
    "RESERVED",
    "TOO_FAR",
    "Defects",
    "check_beps",
    "check_given",
    "check_lengths",
    "check_names",
    "check_ranks",
    "check_required",
    "check_scores",
    "check_spans",
    "check_tokens",
    "check_xpaths",
]

Bools = npt.NDArray[np.bool_]
RESERVED = f"a topic may not be called {ALL!r}: results use it for the mean"
TOO_FAR = f"is past {MAX_OFFSET}; no document is that long"
_NEGATIVE = "{} {{}} is negative; expected an offset from 0"


class Defects(NamedTuple):
    """Makes problems of the rows of a file, whose lines it knows."""

    source: Source
    line: Ints

    def at(
        self, code: str, rows: Bools | Ints, message: str, *values: Ints | pl.Series
    ) -> Iterator[Problem]:
        """Yield a problem for each marked row; ``{}`` in the message takes the row's values."""
        for row in (np.flatnonzero(rows) if rows.dtype == bool else rows).tolist():
            text = message.format(*(value[row] for value in values))
            yield Problem(code, self.source.path, int(self.line[row]), text)

    def raise_if(self, problems: list[Problem]) -> None:
        """Raise the problems in line order, if there are any."""
        if problems:
            raise InputError(sorted(problems, key=lambda problem: problem.line or 0))


def check_spans(defects: Defects, start: Ints, end: Ints) -> list[Problem]:
    """Find offsets that are negative, absurd or the wrong way round; ends may be `UNKNOWN`."""
    if not len(start) or (
        start.min() >= 0 and end.max() <= MAX_OFFSET and bool((end >= start).all())
    ):
        return []
    unknown = (end == UNKNOWN) & (start <= 0) & (start >= UNKNOWN)
    negative = (start < 0) & ~unknown
    far = np.maximum(start, end)
    absurd = (far > MAX_OFFSET) & ~negative
    backwards = (end < start) & ~negative & ~unknown & ~absurd
    return [
        *defects.at("span.offset", negative, _NEGATIVE.format("start"), start),
        *defects.at("span.offset", backwards, "end {1} is before start {0}", start, end),
        *defects.at("span.offset", absurd, f"offset {{}} {TOO_FAR}", far),
    ]


def check_given(defects: Defects, start: pl.Series, end: pl.Series) -> list[Problem]:
    """Find impossible offsets, null where the file has none; both or none must be there."""
    first, last = start.is_not_null().to_numpy(), end.is_not_null().to_numpy()
    message = "start and end belong together; one is missing"
    problems = [*defects.at("span.incomplete", first ^ last, message)]
    for what, column in (("start", start), ("end", end)):
        problems += _check_above(defects, column, _NEGATIVE.format(what), "span.offset")
        absurd = (column > MAX_OFFSET).fill_null(value=False).to_numpy()
        problems += defects.at("span.offset", absurd, f"{what} {{}} {TOO_FAR}", column)
    return problems


def _check_above(defects: Defects, column: pl.Series, message: str, code: str) -> Iterator[Problem]:
    """Find values below 0."""
    return defects.at(code, (column < 0).fill_null(value=False).to_numpy(), message, column)


def check_ranks(defects: Defects, rank: pl.Series) -> list[Problem]:
    """Find ranks below 0; some count from 0, most from 1."""
    message = "rank {} is negative; expected a whole number"
    return [*_check_above(defects, rank, message, "run.rank")]


def check_beps(defects: Defects, bep: pl.Series) -> list[Problem]:
    """Find best entry points below 0."""
    return [*_check_above(defects, bep, _NEGATIVE.format("best entry point"), "span.offset")]


def check_tokens(defects: Defects, tokens: pl.Series) -> list[Problem]:
    """Find numbers of tokens below 0."""
    message = "tokens {} is negative; expected a number from 0"
    return [*_check_above(defects, tokens, message, "run.tokens")]


def check_scores(defects: Defects, score: npt.NDArray[np.float64]) -> list[Problem]:
    """Find scores that are not finite numbers."""
    if np.isfinite(score).all():
        return []
    text = pl.Series(score).cast(pl.String)
    message = "score {} is not a finite number"
    return [*defects.at("run.score", ~np.isfinite(score), message, text)]


def check_required(defects: Defects, frame: pl.DataFrame) -> list[Problem]:
    """Find rows without a topic or a document."""
    problems: list[Problem] = []
    for name in ("topic", "doc"):
        absent = (frame[name].fill_null("") == "").to_numpy()
        problems += defects.at(f"{name}.missing", absent, f"{name} is missing")
    return problems


def check_xpaths(defects: Defects, xpath: pl.Series) -> list[Problem]:
    """Find paths that do not start at the root."""
    bad = ~xpath.str.starts_with("/").fill_null(value=True).to_numpy()
    message = "{!r} is not an XPath; expected /path[1]/of[1]/element[2]"
    return [*defects.at("run.xpath", bad, message, xpath)]


def check_names(defects: Defects, topic: pl.Series) -> list[Problem]:
    """Find a topic called ``all``, which would be mistaken for the mean.

    Rows that follow each other share a problem. Comments may be between them.
    """
    if not (topic == ALL).any():
        return []
    reserved = (topic == ALL).fill_null(value=False).to_numpy()
    follows = np.ones(len(defects.line) - 1, dtype=bool)
    lines = defects.source.lines
    if lines is not None:  # a part of a file: its lines may be apart
        jump = np.cumsum(np.concatenate([[0], np.diff(lines) != 1]))
        block = jump[np.searchsorted(lines, defects.line)]
        follows = block[1:] == block[:-1]
    opens = reserved & ~np.concatenate([[False], reserved[:-1] & follows])
    return [*defects.at("topic.reserved", opens, RESERVED)]


def check_lengths(defects: Defects, rows: pl.DataFrame, row: Ints, end: Ints) -> None:
    """Refuse impossible lengths and best entry points, and spans past the end of documents."""
    length = rows["length"].fill_null(UNKNOWN).to_numpy()
    bep = rows["bep"].fill_null(UNKNOWN).to_numpy()
    reach = np.zeros(len(rows), dtype=np.int64)
    np.maximum.at(reach, row, end)
    known = length >= 0
    problems = list[Problem]()
    for name, what, offset in (("length", "length", length), ("bep", "best entry point", bep)):
        negative = rows[name].is_not_null().to_numpy() & (offset < 0)
        problems += defects.at(f"judgements.{name}", negative, f"{what} {{}} is negative", offset)
    for name, what, offset in (("length", "length", length), ("bep", "best entry point", bep)):
        far = offset > MAX_OFFSET
        problems += defects.at(f"judgements.{name}", far, f"{what} {{}} {TOO_FAR}", offset)
    past = known & (reach > length)
    message = "a span ends at {}, past the document's length {}"
    problems += defects.at("judgements.length", past, message, reach, length)
    message = "best entry point {} is past the document's length {}"
    problems += defects.at("judgements.bep", known & (bep > length), message, bep, length)
    defects.raise_if(problems)
