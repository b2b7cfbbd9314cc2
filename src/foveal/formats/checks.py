"""Checks that every reader shares: offsets, scores and names that no format may hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem
from foveal.formats.fields import MAX_OFFSET
from foveal.formats.source import Source
from foveal.model import UNKNOWN
from foveal.model.results import ALL
from foveal.spans import Ints

__all__ = ["Defects", "check_names", "check_scores", "check_spans"]

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Defects:
    """Collects what is wrong with rows of one file, in line order, and raises it."""

    source: Source
    line: Ints

    def at(self, rows: Bools | Ints, message: str, *values: Ints | pl.Series) -> Iterator[Problem]:
        """A problem for each marked row; ``{}`` in the message takes the row's values."""
        for row in (np.flatnonzero(rows) if rows.dtype == bool else rows).tolist():
            text = message.format(*(value[row] for value in values))
            yield Problem(self.source.path, int(self.line[row]), text)

    def raise_if(self, problems: list[Problem]) -> None:
        if problems:
            raise InputError(sorted(problems, key=lambda problem: problem.line or 0))


def check_spans(
    defects: Defects, start: Ints, end: Ints, *, length_given: bool = False
) -> list[Problem]:
    """Offsets that are negative, absurd or the wrong way round; `UNKNOWN` ends are allowed."""
    if not len(start) or (
        start.min() >= 0 and end.max() <= MAX_OFFSET and bool((end >= start).all())
    ):
        return []
    unknown = (end == UNKNOWN) & (start <= 0) & (start >= UNKNOWN) & (not length_given)
    negative = (start < 0) & ~unknown
    problems = [*defects.at(negative, "start {} is negative; expected an offset from 0", start)]
    backwards = (end < start) & ~negative & ~unknown
    if length_given:
        length = end - start
        problems += defects.at(backwards, "length {} is negative", length)
    else:
        problems += defects.at(backwards, "end {1} is before start {0}", start, end)
    problems += defects.at(
        (end > MAX_OFFSET) & ~negative,
        f"offset {{}} is past {MAX_OFFSET}; no document is that long",
        end,
    )
    return problems


def check_scores(defects: Defects, score: npt.NDArray[np.float64]) -> list[Problem]:
    """Scores that are not finite numbers."""
    if np.isfinite(score).all():
        return []
    return [
        *defects.at(
            ~np.isfinite(score), "score {} is not a finite number", pl.Series(score).cast(pl.String)
        )
    ]


def check_names(defects: Defects, topic: pl.Series) -> list[Problem]:
    """A topic called ``all`` would be mistaken for the mean."""
    names = topic.rle()
    reserved = (names.struct.field("value") == ALL).to_numpy()
    if not reserved.any():
        return []
    first = np.cumsum(names.struct.field("len").to_numpy())[reserved] - 1
    return [*defects.at(first, f"a topic may not be called {ALL!r}: results use it for the mean")]
