"""Checks that every reader shares: offsets, scores and names that no format may hold."""

from __future__ import annotations

import re
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
    "check_given",
    "check_lengths",
    "check_names",
    "check_ranks",
    "check_required",
    "check_scores",
    "check_spans",
    "check_xpaths",
    "is_root",
]

Bools = npt.NDArray[np.bool_]
RESERVED = f"a topic may not be called {ALL!r}: results use it for the mean"
"""Said once for all results of such a topic that stand together."""
_ROOT = r"^/[^/\[\]@()\s]+(?:\[1\])?$"
_ROOT_OF = re.compile("/[^/]+/")
"""The first step of a path that has more."""
TOO_FAR = f"is past {MAX_OFFSET}; no document is that long"


class Defects(NamedTuple):
    """Collects what is wrong with rows of one file, in line order, and raises it."""

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
        if problems:
            raise InputError(sorted(problems, key=lambda problem: problem.line or 0))


def check_spans(defects: Defects, start: Ints, end: Ints) -> list[Problem]:
    """Offsets that are negative, absurd or the wrong way round; `UNKNOWN` ends are allowed."""
    if not len(start) or (
        start.min() >= 0 and end.max() <= MAX_OFFSET and bool((end >= start).all())
    ):
        return []
    unknown = (end == UNKNOWN) & (start <= 0) & (start >= UNKNOWN)
    negative = (start < 0) & ~unknown
    problems = [
        *defects.at(
            "unclassified", negative, "start {} is negative; expected an offset from 0", start
        )
    ]
    far = np.maximum(start, end)
    absurd = (far > MAX_OFFSET) & ~negative
    backwards = (end < start) & ~negative & ~unknown & ~absurd
    problems += defects.at("unclassified", backwards, "end {1} is before start {0}", start, end)
    problems += defects.at("unclassified", absurd, f"offset {{}} {TOO_FAR}", far)
    return problems


def check_scores(defects: Defects, score: npt.NDArray[np.float64]) -> list[Problem]:
    """Scores that are not finite numbers."""
    if np.isfinite(score).all():
        return []
    return [
        *defects.at(
            "unclassified",
            ~np.isfinite(score),
            "score {} is not a finite number",
            pl.Series(score).cast(pl.String),
        )
    ]


def check_ranks(defects: Defects, rank: pl.Series) -> list[Problem]:
    """Ranks below 0; some count from 0, most from 1."""
    negative = (rank < 0).fill_null(value=False).to_numpy()
    return [
        *defects.at("unclassified", negative, "rank {} is negative; expected a whole number", rank)
    ]


def check_required(defects: Defects, frame: pl.DataFrame) -> list[Problem]:
    """Rows without a topic or a document."""
    problems: list[Problem] = []
    for name in ("topic", "doc"):
        absent = (frame[name].fill_null("") == "").to_numpy()
        problems += defects.at("unclassified", absent, f"{name} is missing")
    return problems


def check_given(defects: Defects, start: pl.Series, end: pl.Series) -> list[Problem]:
    """Offsets as a file gives them, null where it does not: both or none, possible ones."""
    first, last = start.is_not_null().to_numpy(), end.is_not_null().to_numpy()
    problems = [
        *defects.at("unclassified", first ^ last, "start and end belong together; one is missing")
    ]
    for what, column in (("start", start), ("end", end)):
        negative = (column < 0).fill_null(value=False).to_numpy()
        problems += defects.at(
            "unclassified", negative, f"{what} {{}} is negative; expected an offset from 0", column
        )
        absurd = (column > MAX_OFFSET).fill_null(value=False).to_numpy()
        problems += defects.at("unclassified", absurd, f"{what} {{}} {TOO_FAR}", column)
    return problems


def check_xpaths(defects: Defects, xpath: pl.Series) -> list[Problem]:
    """Paths that do not start at the root."""
    bad = ~xpath.str.starts_with("/").fill_null(value=True).to_numpy()
    return [
        *defects.at(
            "unclassified", bad, "{!r} is not an XPath; expected /path[1]/of[1]/element[2]", xpath
        )
    ]


def is_root(xpath: pl.Series) -> Bools:
    """Paths of the root element: the whole document whatever its length.

    >>> is_root(pl.Series(["/a[1]/b[1]", "/a[1]", "/a", "/b[1]", "/a[2]", None])).tolist()
    [False, True, True, True, False, False]
    """
    root = np.zeros(len(xpath), dtype=bool)
    # Nearly all go down from one root: what begins like that needs no further look.
    begin = _ROOT_OF.match(str(xpath[0])) if len(xpath) else None
    if begin is None:
        rows, left = np.arange(len(xpath)), xpath
    else:
        inside = xpath.str.starts_with(begin.group()).fill_null(value=True).to_numpy()
        rows = np.flatnonzero(~inside)
        left = xpath.gather(rows)
    root[rows] = left.str.contains(_ROOT).fill_null(value=False).to_numpy()
    return root


def check_names(defects: Defects, topic: pl.Series) -> list[Problem]:
    """A topic called ``all`` would be mistaken for the mean."""
    if not (topic == ALL).any():
        return []
    reserved = (topic == ALL).fill_null(value=False).to_numpy()
    opens = reserved & ~np.concatenate([[False], reserved[:-1] & _adjacent(defects)])
    return [*defects.at("unclassified", opens, RESERVED)]


def _adjacent(defects: Defects) -> Bools:
    """Return for each row but the first if at most comments are between it and the one before."""
    lines = defects.source.lines
    if lines is None:
        return np.ones(len(defects.line) - 1, dtype=bool)
    jump = np.cumsum(np.concatenate([[0], np.diff(lines) != 1]))
    block = jump[np.searchsorted(lines, defects.line)]
    follows: Bools = block[1:] == block[:-1]
    return follows


def check_lengths(defects: Defects, rows: pl.DataFrame, row: Ints, end: Ints) -> None:
    """Lengths and best entry points that are impossible, and spans past the end."""
    length = rows["length"].fill_null(UNKNOWN).to_numpy()
    bep = rows["bep"].fill_null(UNKNOWN).to_numpy()
    reach = np.zeros(len(rows), dtype=np.int64)
    np.maximum.at(reach, row, end)
    known = length >= 0
    given = rows["length"].is_not_null().to_numpy()
    problems = [*defects.at("unclassified", given & ~known, "length {} is negative", length)]
    given = rows["bep"].is_not_null().to_numpy()
    problems += defects.at(
        "unclassified", given & (bep < 0), "best entry point {} is negative", bep
    )
    for what, offset in (("length", length), ("best entry point", bep)):
        problems += defects.at(
            "unclassified", offset > MAX_OFFSET, f"{what} {{}} {TOO_FAR}", offset
        )
    problems += defects.at(
        "unclassified",
        known & (reach > length),
        "a span ends at {}, past the document's length {}",
        reach,
        length,
    )
    problems += defects.at(
        "unclassified",
        known & (bep > length),
        "best entry point {} is past the document's length {}",
        bep,
        length,
    )
    defects.raise_if(problems)
