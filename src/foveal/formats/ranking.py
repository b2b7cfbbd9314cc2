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
    list_offset_rules,
)
from foveal.formats.xpaths import canonical_paths, is_root
from foveal.lookup import number_rows
from foveal.model import UNKNOWN, Run

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
    table = table.check(source.path, [*_RULES, *list_offset_rules(inclusive=inclusive)])
    given = [c for c in ("rank", "score") if c in source.given or table.frame[c].count()]
    for order in given[:1]:  # all results must have what orders them
        message = f"{order} is missing here, but other results have one"
        rule = RowRule(f"run.{order}_missing", pl.col(order).is_null(), message)
        table = table.check(source.path, [rule])
    frame, line, problems = table
    if problems and not len(frame):
        return Parsed(None, [*problems])
    no_path = frame["xpath"].is_null() | pl.Series(is_root(frame["xpath"]))
    frame = frame.with_columns(
        canonical_paths(frame["xpath"]),
        pl.Series("line", line),
        start=pl.coalesce("start", "bep", pl.when(no_path).then(0).otherwise(UNKNOWN)),
        end=pl.coalesce(pl.col("end") + int(inclusive), "bep", UNKNOWN),
    )
    try:
        frame = frame.with_columns(
            to_codepoints(frame[column], frame["doc"], unit, texts, Defects(source, line))
            for column in ("start", "end")
        )
    except InputError as error:
        return Parsed(None, [*problems, *error.problems])
    if given:
        key = frame["rank"] if "rank" in given else -frame["score"]
        frame = frame[np.lexsort((key.to_numpy(), number_rows(frame["topic"]).number))]
    optional = ["rank", "score", "xpath", "tokens"]
    optional = [c for c in optional if c in source.given or frame[c].count()]
    notes = tuple[str, ...]()
    if "score" in optional and frame["score"].null_count():
        optional.remove("score")
        lines = frame.filter(pl.col("score").is_null())["line"]
        notes = (Tally(unscored, len(lines), [lines.min()]),)
    columns = frame.select("topic", "doc", "start", "end", "line", *optional)
    run = Run.from_frame(columns, name=name, source=source.provenance, task=task, notes=notes)
    return Parsed(run, [*problems])


def unscored(number: int, first: Sequence[int]) -> str:
    """Return the note that `number` results have no score where others have one."""
    note = f"results without a score, so that all scores are left out: {number}"
    return f"{note}, the first on line {min(first)}"
