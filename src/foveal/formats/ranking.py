"""The order of results where the file names it: rank, else descending score, else file order.

In formats of lines the order of the lines or the scores decide; the ranks they give are only looked
at to find out whether they agree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from foveal.errors import Tally
from foveal.formats.checks import Defects
from foveal.formats.fields import first_lines, normalised
from foveal.formats.source import Source
from foveal.model import UNKNOWN, Run
from foveal.spans import Ints

__all__ = ["line_ranks", "ranked", "unscored"]

_FIELDS = (6, 7, 8)
_RANK = 3


def ranked(
    frame: pl.DataFrame, line: Ints, defects: Defects, *, name: str, task: str | None = None
) -> Run:
    """A run from rows with optional ``rank`` and ``score``, put in order within topics."""
    frame = frame.with_columns(pl.Series("line", line))
    for column, descending in (("rank", False), ("score", True)):
        if column not in frame.columns or not _given(column, frame, defects.source):
            continue
        missing = frame[column].is_null().to_numpy()
        defects.raise_if(
            [*defects.at(missing, f"{column} is missing here, but other results have one")]
        )
        first = frame["topic"].unique(maintain_order=True)
        place = pl.DataFrame({"topic": first, "place": np.arange(len(first))})
        frame = frame.join(place, on="topic", maintain_order="left").sort(
            "place", column, descending=[False, descending], maintain_order=True
        )
        break
    optional = [
        name
        for name in ("rank", "score", "xpath")
        if name in frame.columns and frame[name].null_count() < len(frame)
    ]
    notes: tuple[str, ...] = ()
    if _scored_in_part(frame, defects.source):
        optional = [name for name in optional if name != "score"]
        lines = frame.filter(pl.col("score").is_null())["line"]
        notes = (Tally(unscored, len(lines), [lines.min()]),) if len(lines) else ()
    return Run.from_frame(
        frame.select("topic", "doc", "start", "end", "line", *optional),
        name=name,
        source=defects.source.provenance,
        task=task,
        notes=notes,
    )


def unscored(number: int, first: Sequence[int]) -> str:
    """What is said of `number` results without a score where others have one."""
    note = f"results without a score, so that all scores are left out: {number}"
    return f"{note}, the first on line {min(first)}"


def _given(column: str, frame: pl.DataFrame, source: Source) -> bool:
    """Whether any result of the file has this column."""
    here = frame[column].null_count() < len(frame)
    return here or (source.whole is not None and column in source.whole.given)


def _scored_in_part(frame: pl.DataFrame, source: Source) -> bool:
    """Whether some results of the file have a score and others have none."""
    if source.whole is not None:
        return "score" in source.whole.ragged
    return "score" in frame.columns and 0 < frame["score"].null_count() < len(frame)


def line_ranks(source: Source, run: Run) -> Ints | None:
    """The fourth fields of a run of lines, in the order of `run`; None if they are no ranks."""
    first = first_lines(source.data)
    if not first or len(first[0][1].split()) not in _FIELDS or first[0][1][:1] in (b"<", b"{"):
        return None
    rows, numbers = normalised(source.data)
    field = pl.Series(rows, dtype=pl.String).str.splitn(" ", _RANK + 2).struct[_RANK]
    rank = field.cast(pl.Int64, strict=False)
    if rank.null_count():
        return None
    of_line = np.full(int(run.line.max(initial=0)) + 1, UNKNOWN, dtype=np.int64)
    of_line[np.array(numbers, dtype=np.int64)] = rank.to_numpy()
    return of_line[run.line]
