"""Runs from named columns: which rows are possible, their place, order and cost.

The order is that of ranks, else of descending scores, else of the file. In formats of lines the
order of the lines or the scores decide; the ranks they give are only compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from foveal.errors import Tally
from foveal.files.source import Source
from foveal.formats.checks import (
    Defects,
    check_given,
    check_names,
    check_ranks,
    check_required,
    check_scores,
    check_spans,
    check_xpaths,
    is_root,
)
from foveal.formats.fields import MAX_OFFSET, normalised
from foveal.model import UNKNOWN, Run
from foveal.model.run import ALL
from foveal.spans import Ints

__all__ = ["line_ranks", "place_results", "ranked", "unscored", "with_costs"]

_FIELDS = (6, 7, 8)
_RANK = 3

_TEXT_ALONE = pl.col("text").is_not_null() & pl.all_horizontal(
    pl.col("start", "xpath", "bep").is_null()
)
_IS_ODD = pl.any_horizontal(
    pl.col("topic", "doc").is_null(),
    pl.col("topic", "doc") == "",
    pl.col("topic") == ALL,
    pl.col("rank", "bep", "start", "end") < 0,
    pl.col("start", "end") > MAX_OFFSET,
    pl.col("start").is_null() != pl.col("end").is_null(),
    ~pl.col("score").is_finite(),
    ~pl.col("xpath").str.starts_with("/"),
    _TEXT_ALONE,
)
"""Anything that `place_results` has a message for."""


def place_results(frame: pl.DataFrame, defects: Defects, *, inclusive: bool) -> tuple[Ints, Ints]:
    """Return start and end of each result: offsets, an entry point, a path, or the document.

    Names, scores, paths and offsets that are not possible are refused.
    """
    if frame.select(_IS_ODD.any()).item():
        from foveal.formats.locate import GIVE_TEXTS

        defects.raise_if(check_required(defects, frame))
        problems = check_names(defects, frame["topic"])
        problems += check_ranks(defects, frame["rank"])
        problems += check_scores(defects, frame["score"].fill_null(0.0).to_numpy())
        problems += check_xpaths(defects, frame["xpath"])
        problems += check_given(defects, frame["start"], frame["end"])
        problems += defects.at(
            "unclassified",
            (frame["bep"] < 0).fill_null(value=False).to_numpy(),
            "best entry point {} is negative; expected an offset from 0",
            frame["bep"],
        )
        problems += defects.at(
            "unclassified",
            frame.select(_TEXT_ALONE).to_series().to_numpy(),
            "a result given by its text alone cannot be placed; give start and end, or "
            f"{GIVE_TEXTS}",
        )
        defects.raise_if(problems)
    given = frame.select(
        start=pl.coalesce("start", "bep"),
        end=pl.coalesce(pl.col("end") + int(inclusive), "bep"),
    ).fill_null(UNKNOWN)
    start, end = given["start"].to_numpy().copy(), given["end"].to_numpy().copy()
    if (start < 0).any():
        by_path = frame["xpath"].is_not_null().to_numpy()
        start[(start < 0) & (~by_path | is_root(frame["xpath"]))] = 0
    defects.raise_if(check_spans(defects, start, end))
    return start, end


def ranked(
    frame: pl.DataFrame, line: Ints, defects: Defects, *, name: str, task: str | None = None
) -> Run:
    """Return a run from rows with optional ``rank`` and ``score``, put in order within topics."""
    frame, given = frame.with_columns(pl.Series("line", line)), defects.source.given
    optional = [
        name
        for name in ("rank", "score", "xpath")
        if name in frame.columns and (name in given or frame[name].null_count() < len(frame))
    ]
    for column, descending in (("rank", False), ("score", True)):
        if column not in optional:
            continue
        if frame[column].null_count():
            missing = frame[column].is_null().to_numpy()
            message = f"{column} is missing here, but other results have one"
            defects.raise_if([*defects.at("unclassified", missing, message)])
        first = frame["topic"].unique(maintain_order=True)
        place = pl.DataFrame({"topic": first, "place": np.arange(len(first))})
        frame = frame.join(place, on="topic", maintain_order="left").sort(
            "place", column, descending=[False, descending], maintain_order=True
        )
        break
    notes: tuple[str, ...] = ()
    if "score" in optional and frame["score"].null_count():
        optional.remove("score")
        lines = frame.filter(pl.col("score").is_null())["line"]
        notes = (Tally(unscored, len(lines), [lines.min()]),)
    return Run.from_frame(
        frame.select("topic", "doc", "start", "end", "line", *optional),
        name=name,
        source=defects.source.provenance,
        task=task,
        notes=notes,
    )


def unscored(number: int, first: Sequence[int]) -> str:
    """Say that `number` results have no score where others have one."""
    note = f"results without a score, so that all scores are left out: {number}"
    return f"{note}, the first on line {min(first)}"


def with_costs(run: Run, tokens: pl.Series, defects: Defects) -> Run:
    """Return the run with the tokens of its rows.

    `tokens` and the lines of `defects` are in the order of the file.
    """
    if tokens.null_count() == len(tokens):
        return run
    negative = (tokens < 0).fill_null(value=False).to_numpy()
    defects.raise_if(
        [
            *defects.at(
                "unclassified", negative, "tokens {} is negative; expected a number from 0", tokens
            )
        ]
    )
    # The run is in rank order by now, but a result still knows its line.
    known = tokens.fill_null(UNKNOWN).to_numpy()
    return replace(run, tokens=known[np.searchsorted(defects.line, run.line)])


def line_ranks(source: Source, run: Run) -> Ints | None:
    """Return the fourth fields of a run of lines, ordered as `run`; None if not all are ranks."""
    _, first = source.head
    if len(first.split()) not in _FIELDS or first[:1] in (b"<", b"{"):
        return None
    rows, numbers = normalised(source.data)
    field = pl.Series(rows, dtype=pl.String).str.splitn(" ", _RANK + 2).struct[_RANK]
    rank = field.cast(pl.Int64, strict=False)
    if rank.null_count():
        return None
    of_line = np.full(int(run.line.max(initial=0)) + 1, UNKNOWN, dtype=np.int64)
    of_line[np.array(numbers, dtype=np.int64)] = rank.to_numpy()
    return of_line[run.line]
