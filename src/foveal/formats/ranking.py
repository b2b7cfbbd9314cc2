"""Runs from named columns: which rows are possible, their place, order and cost.

The order is that of ranks, else of descending scores, else of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from foveal.errors import Problem, Tally
from foveal.files.source import Source
from foveal.formats.base import Parsed
from foveal.formats.checks import (
    Defects,
    check_beps,
    check_given,
    check_names,
    check_ranks,
    check_required,
    check_scores,
    check_spans,
    check_tokens,
    check_xpaths,
    is_root,
)
from foveal.formats.fields import MAX_OFFSET, RowTable
from foveal.formats.xpaths import canonical_paths
from foveal.model import UNKNOWN, Run
from foveal.model.run import ALL
from foveal.spans import Ints

__all__ = ["RESULT_COLUMNS", "parse_results", "ranked", "unscored", "with_costs"]

RESULT_COLUMNS = {
    "topic": pl.String,
    "doc": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "start": pl.Int64,
    "end": pl.Int64,
    "xpath": pl.String,
    "text": pl.String,
    "bep": pl.Int64,
    "tokens": pl.Int64,
}
"""The fields of a result in JSON Lines and columnar files."""
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
"""Marks rows in which `_check_fields` and `check_required` find a problem."""


def parse_results(
    table: RowTable,
    source: Source,
    *,
    name: str,
    task: str | None = None,
    inclusive: bool = False,
    unit: str = "codepoint",
    texts: Mapping[str, str] | None = None,
) -> Parsed:
    """Return the run of the good rows, in order within topics, and the problems of the others.

    A result is given by offsets, an entry point or a path; else it is the whole document.
    """
    if table.frame.select(_IS_ODD.any()).item():
        table = table.without(check_required(Defects(source, table.line), table.frame))
        table = table.without(_check_fields(Defects(source, table.line), table.frame))
    given = table.frame.select(
        start=pl.coalesce("start", "bep"),
        end=pl.coalesce(pl.col("end") + int(inclusive), "bep"),
    ).fill_null(UNKNOWN)
    start, end = given["start"].to_numpy().copy(), given["end"].to_numpy()
    if (start < 0).any():
        by_path = table.frame["xpath"].is_not_null().to_numpy()
        start[(start < 0) & (~by_path | is_root(table.frame["xpath"]))] = 0
    problems = check_spans(Defects(source, table.line), start, end)
    placed = (pl.Series("start", start), pl.Series("end", end))
    xpath = canonical_paths(table.frame["xpath"])
    table = table._replace(frame=table.frame.with_columns(xpath, *placed)).without(problems)
    if unit != "codepoint":
        from foveal.formats.objects import to_codepoints

        for column in ("start", "end"):
            own, doc = table.frame[column].to_numpy(), table.frame["doc"]
            points, problems = to_codepoints(own, doc, unit, texts, Defects(source, table.line))
            if problems:  # the other offsets are no better
                return Parsed(None, [*table.problems, *problems])
            table = table._replace(frame=table.frame.with_columns(pl.Series(column, points)))
    table = table.without(_check_order(Defects(source, table.line), table.frame))
    defects = Defects(source, table.line)
    if table.frame["tokens"].null_count() < len(table.frame):
        table = table.without(check_tokens(defects, table.frame["tokens"]))
        defects = Defects(source, table.line)
    if table.problems and not len(table.frame):
        return Parsed(None, [*table.problems])
    run = ranked(table.frame, table.line, defects, name=name, task=task)
    return Parsed(with_costs(run, table.frame["tokens"], defects), [*table.problems])


def _check_fields(defects: Defects, frame: pl.DataFrame) -> list[Problem]:
    """Find names, ranks, scores, paths and offsets that are impossible, and texts alone."""
    from foveal.formats.locate import GIVE_TEXTS

    return [
        *check_names(defects, frame["topic"]),
        *check_ranks(defects, frame["rank"]),
        *check_scores(defects, frame["score"].fill_null(0.0).to_numpy()),
        *check_xpaths(defects, frame["xpath"]),
        *check_given(defects, frame["start"], frame["end"]),
        *check_beps(defects, frame["bep"]),
        *defects.at(
            "run.text_alone",
            frame.select(_TEXT_ALONE).to_series().to_numpy(),
            "a result given by its text alone cannot be placed; give start and end, or "
            f"{GIVE_TEXTS}",
        ),
    ]


def _is_given(defects: Defects, frame: pl.DataFrame, name: str) -> bool:
    """Return True if any result of the file has this field."""
    return name in frame.columns and (
        name in defects.source.given or frame[name].null_count() < len(frame)
    )


def _check_order(defects: Defects, frame: pl.DataFrame) -> Iterator[Problem]:
    """Find results without a rank, or if no result has one, without a score."""
    for column in ("rank", "score"):
        if _is_given(defects, frame, column):
            message = f"{column} is missing here, but other results have one"
            missing = frame[column].is_null().to_numpy()
            return defects.at(f"run.{column}_missing", missing, message)
    return iter(())


def ranked(
    frame: pl.DataFrame, line: Ints, defects: Defects, *, name: str, task: str | None = None
) -> Run:
    """Return a run from rows with optional ``rank`` and ``score``, put in order within topics."""
    defects.raise_if([*_check_order(defects, frame)])
    frame = frame.with_columns(pl.Series("line", line))
    optional = [name for name in ("rank", "score", "xpath") if _is_given(defects, frame, name)]
    order = next((name for name in ("rank", "score") if name in optional), None)
    if order is not None:
        first = frame["topic"].unique(maintain_order=True)
        place = pl.DataFrame({"topic": first, "place": np.arange(len(first))})
        frame = frame.join(place, on="topic", maintain_order="left").sort(
            "place", order, descending=[False, order == "score"], maintain_order=True
        )
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
    defects.raise_if(check_tokens(defects, tokens))
    # The run is in rank order by now, but a result still knows its line.
    known = tokens.fill_null(UNKNOWN).to_numpy()
    return replace(run, tokens=known[np.searchsorted(defects.line, run.line)])
