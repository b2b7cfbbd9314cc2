"""Extents of results for finding overlap: on the text, or by paths where no place is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from foveal import spans
from foveal.formats.xpaths import ELEMENT
from foveal.model import Run
from foveal.spans import Ints

__all__ = ["extents"]


def extents(run: Run) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Start and end of each result on one axis, and which results have them.

    Results with offsets are where they are. If none has, elements lie within each other as their
    paths say; on that axis two results overlap if one is within the other.

    >>> import polars as pl
    >>> places = {"topic": ["1"] * 3, "doc": ["d"] * 3, "start": [-1] * 3, "end": [-1] * 3}
    >>> frame = pl.DataFrame({**places, "xpath": ["/a[1]/p[2]", "/a[1]/p[2]/b[1]", "/a[1]/p[1]"]})
    >>> [column.tolist() for column in extents(Run.from_frame(frame, name="r"))]
    [[3, 4, 1], [6, 5, 2], [True, True, True]]
    """
    placed = (run.start >= 0) & (run.end >= 0)
    if placed.any():
        rows = np.flatnonzero(placed)
        start, end = np.zeros((2, len(run)), dtype=np.int64)
        start[rows], end[rows] = spans.side_by_side(run.start[rows], run.end[rows], run.first[rows])
        return start, end, placed
    known: npt.NDArray[np.bool_] = run.start == 0
    if run.xpath is not None:
        known = known | run.xpath.str.contains(ELEMENT).fill_null(value=False).to_numpy()
    return *run.nesting, known
