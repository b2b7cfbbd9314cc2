"""INEX elements in TREC clothes: runs of 7 fields, the last an XPath."""

from __future__ import annotations

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.formats.checks import Defects, check_names, check_scores, check_xpaths, is_root
from foveal.formats.fields import first_lines, read_fields
from foveal.formats.fol import GROUPED
from foveal.formats.lines import as_lines, one_word
from foveal.formats.source import Source
from foveal.formats.xpaths import canonical_paths
from foveal.model import UNKNOWN, Run

__all__ = ["read_run", "write_run"]

FORM = "topic Q0 doc rank rsv runid /path[1]/of[1]/element[2]"

_SCHEMA = {
    "topic": pl.String,
    "Q0": pl.String,
    "doc": pl.String,
    "rank": pl.String,
    "score": pl.Float64,
    "run": pl.String,
    "xpath": pl.String,
}


def read_run(source: Source) -> Run:
    """An element run; the order of the lines is the ranking, a collection gives the places."""
    table = read_fields(source, _SCHEMA, ("topic", "doc", "score", "xpath"), form=FORM)
    frame, defects = table.frame, Defects(source, table.line)
    problems = check_names(defects, frame["topic"])
    problems += check_scores(defects, frame["score"].to_numpy())
    problems += check_xpaths(defects, frame["xpath"])
    defects.raise_if(problems)
    frame = frame.with_columns(
        canonical_paths(frame["xpath"]),
        pl.Series("start", np.where(is_root(frame["xpath"]), 0, UNKNOWN)),
        pl.Series("end", np.full(len(frame), UNKNOWN, dtype=np.int64)),
        pl.Series("line", table.line),
    )
    name = first_lines(source.data)[0][1].split()[5].decode()
    return Run.from_frame(frame, name=name, source=source.provenance, note_grouping=GROUPED)


def write_run(run: Run) -> str:
    """The run in 7 fields; every result must have an XPath."""
    absent = np.ones(len(run), dtype=bool) if run.xpath is None else run.xpath.is_null().to_numpy()
    if absent.any():
        line = int(run.line[absent][0])
        raise InputError.at(
            run.source.path,
            line,
            "result has no XPath; this format needs one, a collection can tell it (-C)",
        )
    score = pl.col("score") if run.score is not None else -pl.col("rank")
    fields = ("topic", pl.lit("Q0"), "doc", "rank", score, one_word(run.name), "xpath")
    return as_lines(run.to_frame(), fields, run.source.path)
