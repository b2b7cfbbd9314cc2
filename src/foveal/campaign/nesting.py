"""Extents of results for finding overlap: on the text, or by paths where no place is known."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal import spans
from foveal.formats.xpaths import ELEMENT
from foveal.model import Run
from foveal.spans import Ints

__all__ = ["extents"]

_LAST = "\U0010ffff"


def extents(run: Run) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Start and end of each result on one axis, and which results have them.

    Results with offsets are where they are. If none has, elements lie within each other as their
    paths say; on that axis two results overlap if one is within the other.

    >>> places = {"topic": ["1"] * 3, "doc": ["d"] * 3, "start": [-1] * 3, "end": [-1] * 3}
    >>> frame = pl.DataFrame({**places, "xpath": ["/a[1]/p[2]", "/a[1]/p[2]/b[1]", "/a[1]/p[1]"]})
    >>> [column.tolist() for column in extents(Run.from_frame(frame, name="r"))]
    [[1, 2, 0], [3, 3, 1], [True, True, True]]
    """
    placed = (run.start >= 0) & (run.end >= 0)
    if placed.any():
        rows = np.flatnonzero(placed)
        start, end = np.zeros((2, len(run)), dtype=np.int64)
        start[rows], end[rows] = spans.side_by_side(run.start[rows], run.end[rows], run.first[rows])
        return start, end, placed
    whole = pl.Series(run.start == 0)
    xpath = pl.Series([None] * len(run), dtype=pl.String) if run.xpath is None else run.xpath
    known = (whole | xpath.str.contains(ELEMENT)).fill_null(value=False).to_numpy()
    paths = xpath.set(whole, "").to_list()
    # With a sign of its own after each step, what lies within a path begins with it.
    keys = [
        (first, "".join(f"{step}\0" for step in (path or "").split("/")[1:]))
        for first, path in zip(run.first.tolist(), paths, strict=True)
    ]
    axis = sorted({key for key, yes in zip(keys, known.tolist(), strict=True) if yes})
    start = np.array([bisect_left(axis, key) for key in keys], dtype=np.int64)
    end = np.array([bisect_left(axis, (first, path + _LAST)) for first, path in keys])
    return start, end.astype(np.int64), known
