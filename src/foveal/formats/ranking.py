"""The order of results where the file names it: rank, else descending score, else file order."""

from __future__ import annotations

import numpy as np
import polars as pl

from foveal.formats.checks import Defects
from foveal.model import Run
from foveal.spans import Ints

__all__ = ["ranked"]


def ranked(
    frame: pl.DataFrame, line: Ints, defects: Defects, *, name: str, task: str | None = None
) -> Run:
    """A run from rows with optional ``rank`` and ``score``, put in order within topics."""
    frame = frame.with_columns(pl.Series("line", line))
    for column, descending in (("rank", False), ("score", True)):
        if column not in frame.columns or frame[column].null_count() == len(frame):
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
        for name in ("score", "xpath")
        if name in frame.columns and frame[name].null_count() < len(frame)
    ]
    if "score" in optional and frame["score"].null_count():
        optional.remove("score")
    return Run.from_frame(
        frame.select("topic", "doc", "start", "end", "line", *optional),
        name=name,
        source=defects.source.provenance,
        task=task,
    )
