"""Runs from named columns: which rows are possible, their place, order and cost.

The order is that of ranks, else of descending scores, else of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Tally
from foveal.files.source import Source
from foveal.formats.base import Parsed
from foveal.formats.objects import GIVE_TEXTS, to_codepoints
from foveal.formats.rows import (
    NAME_RULES,
    RULES,
    Defects,
    RowRule,
    RowTable,
    check_rules,
    list_offset_rules,
    raise_problems,
)
from foveal.formats.xpaths import canonical_paths, is_root
from foveal.lookup import number_rows
from foveal.model import UNKNOWN, Run
from foveal.spans import Ints

# The fields of a result in JSON Lines and columnar files.
RESULT_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("topic", "doc", "xpath", "text"), pl.String),
    **dict.fromkeys(("rank", "start", "end", "bep", "tokens"), pl.Int64),
    "score": pl.Float64,
}
_PLACES = pl.col("start", "end", "xpath", "bep")
_RULES = [
    *NAME_RULES,
    *(RULES[name] for name in ("rank", "tokens", "bep", "score", "xpath")),
    RowRule(
        "run.text_alone",
        pl.col("text").is_not_null() & pl.all_horizontal(_PLACES.is_null()),
        f"a result given by its text alone cannot be placed; give start and end, or {GIVE_TEXTS}",
    ),
]


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
    rules = [*_RULES, *list_offset_rules(inclusive=inclusive)]
    table = table.without(check_rules(source.path, table.line, table.frame, rules))
    rules = _list_order_rules(table.frame, source)
    table = table.without(check_rules(source.path, table.line, table.frame, rules))
    frame, problems = table.frame, [*table.problems]
    if problems and not len(frame):
        return Parsed(None, problems)
    no_path = frame["xpath"].is_null() | pl.Series(is_root(frame["xpath"]))
    frame = frame.with_columns(
        canonical_paths(frame["xpath"]),
        start=pl.coalesce("start", "bep", pl.when(no_path).then(0).otherwise(UNKNOWN)),
        end=pl.coalesce(pl.col("end") + int(inclusive), "bep", UNKNOWN),
    )
    defects = Defects(source, table.line)
    try:
        frame = frame.with_columns(
            to_codepoints(frame[column], frame["doc"], unit, texts, defects)
            for column in ("start", "end")
        )
    except InputError as error:
        return Parsed(None, [*problems, *error.problems])
    return Parsed(ranked(frame, table.line, defects, name=name, task=task), problems)


def _list_order_rules(frame: pl.DataFrame, source: Source) -> list[RowRule]:
    """Return the rule that all results have the rank or score by which they are ordered."""
    for name in ("rank", "score"):
        if frame[name].count() or name in source.given:
            message = f"{name} is missing here, but other results have one"
            return [RowRule(f"run.{name}_missing", pl.col(name).is_null(), message)]
    return []


def ranked(
    frame: pl.DataFrame, line: Ints, defects: Defects, *, name: str, task: str | None = None
) -> Run:
    """Return a run from rows with optional ``rank`` and ``score``, put in order within topics."""
    source, notes = defects.source, tuple[str, ...]()
    raise_problems(check_rules(source.path, line, frame, _list_order_rules(frame, source)))
    optional = [
        column
        for column in ("rank", "score", "xpath", "tokens")
        if column in frame.columns and (column in source.given or frame[column].count())
    ]
    frame = frame.with_columns(pl.Series("line", line))
    if "rank" in optional or "score" in optional:
        key = frame["rank"] if "rank" in optional else -frame["score"]
        topic = number_rows(frame["topic"]).number
        frame = frame[np.lexsort((key.to_numpy(), topic))]
    if "score" in optional and frame["score"].null_count():
        optional.remove("score")
        lines = frame.filter(pl.col("score").is_null())["line"]
        notes = (Tally(unscored, len(lines), [lines.min()]),)
    columns = frame.select("topic", "doc", "start", "end", "line", *optional)
    return Run.from_frame(columns, name=name, source=source.provenance, task=task, notes=notes)


def unscored(number: int, first: Sequence[int]) -> str:
    """Return the note that `number` results have no score where others have one."""
    note = f"results without a score, so that all scores are left out: {number}"
    return f"{note}, the first on line {min(first)}"
