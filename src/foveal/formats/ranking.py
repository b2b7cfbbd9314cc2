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
)
from foveal.formats.fields import MAX_OFFSET, RowTable
from foveal.formats.xpaths import canonical_paths, is_root
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
    placed = (pl.Series("start", start), pl.Series("end", end))
    xpath = canonical_paths(table.frame["xpath"])
    table = table._replace(frame=table.frame.with_columns(xpath, *placed))
    if (end < start).any() or end.max(initial=0) > MAX_OFFSET:
        table = table.without(check_spans(Defects(source, table.line), start, end))
    if unit != "codepoint":
        from foveal.formats.objects import to_codepoints

        for column in ("start", "end"):
            own, doc = table.frame[column].to_numpy(), table.frame["doc"]
            points, problems = to_codepoints(own, doc, unit, texts, Defects(source, table.line))
            if problems:  # the other offsets are no better
                return Parsed(None, [*table.problems, *problems])
            table = table._replace(frame=table.frame.with_columns(pl.Series(column, points)))
    for order in ("rank", "score"):
        absent = table.frame[order].null_count()
        if absent < len(table.frame) or order in source.given:
            if absent:
                missing = find_unordered(Defects(source, table.line), table.frame[order])
                table = table.without(missing)
            break
    has_costs = table.frame["tokens"].count() > 0
    if has_costs:
        table = table.without(check_tokens(Defects(source, table.line), table.frame["tokens"]))
    if table.problems and not len(table.frame):
        return Parsed(None, [*table.problems])
    defects = Defects(source, table.line)
    run = ranked(table.frame, table.line, defects, name=name, task=task)
    if has_costs:
        run = with_costs(run, table.frame["tokens"], defects)
    return Parsed(run, [*table.problems])


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


def find_unordered(defects: Defects, order: pl.Series) -> Iterator[Problem]:
    """Find results without the rank or score by which the others are ordered."""
    message = f"{order.name} is missing here, but other results have one"
    return defects.at(f"run.{order.name}_missing", order.is_null().to_numpy(), message)


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
    order = next((name for name in ("rank", "score") if name in optional), None)
    if order is not None:
        if frame[order].null_count():
            defects.raise_if([*find_unordered(defects, frame[order])])
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
