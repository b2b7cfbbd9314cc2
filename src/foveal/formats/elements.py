"""INEX elements in TREC clothes: runs of 7 fields, the last an XPath."""

from __future__ import annotations

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.files.source import Source
from foveal.formats.base import Format, head_fields, parse_with
from foveal.formats.checks import (
    Bools,
    Defects,
    check_names,
    check_scores,
    check_xpaths,
    is_root,
)
from foveal.formats.detection import LINE_FORMS
from foveal.formats.fields import read_fields
from foveal.formats.fol import GROUPED
from foveal.formats.xpaths import PATHS, canonical_paths
from foveal.lookup import CachedTextFunction
from foveal.model import UNKNOWN, Run
from foveal.spans import Ints

__all__ = ["FORMATS", "read_run", "write_run"]

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
    """Read an element run; the order of the lines is the ranking, a collection gives the places."""
    table = read_fields(
        source, _SCHEMA, ("topic", "doc", "score", "xpath"), form=LINE_FORMS["elements"]
    )
    frame, defects = table.frame, Defects(source, table.line)
    score, xpath = frame["score"].to_numpy(), frame["xpath"].rechunk()
    coded = PATHS.number_repeated(xpath)
    problems = check_names(defects, frame["topic"])
    problems += check_scores(defects, score)
    traits = None if coded is None else _traits(coded)
    if traits is None or (traits == _ODD).any():
        coded = traits = None
        problems += check_xpaths(defects, xpath)
    defects.raise_if(problems)
    start, end = (np.full(len(frame), UNKNOWN, dtype=np.int64) for _ in range(2))
    start[is_root(xpath) if traits is None else traits == _ROOT] = 0
    start.flags.writeable = end.flags.writeable = False
    run = Run.from_columns(
        topic=frame["topic"],
        doc=frame["doc"],
        start=start,
        end=end,
        line=table.line,
        score=score,
        xpath=canonical_paths(xpath) if coded is None else xpath,
        name=source.head[1].split()[5].decode(),
        source=source.provenance,
        note_grouping=GROUPED,
    )
    if coded is not None and run.xpath is not None and np.array_equal(run.line, table.line):
        PATHS.remember(run.xpath, coded)  # a collection looks them up
    return run


_PLAIN, _ROOT, _ODD = 0, 1, 2


def _of_paths(xpath: pl.Series) -> Ints:
    """What the reader must know of a path: whether it is a root's, or not yet as it should be."""
    odd: Bools = (canonical_paths(xpath) != xpath).to_numpy()
    odd |= ~xpath.str.starts_with("/").to_numpy()
    return np.where(odd, _ODD, np.where(is_root(xpath), _ROOT, _PLAIN))


_traits = CachedTextFunction(_of_paths)


def write_run(run: Run) -> str:
    """Write the run in 7 fields; every result must have an XPath."""
    from foveal.formats.lines import as_lines, one_word

    absent = np.ones(len(run), dtype=bool) if run.xpath is None else run.xpath.is_null().to_numpy()
    if absent.any():
        line = int(run.line[absent][0])
        raise InputError.at(
            "unclassified",
            run.source.path,
            line,
            "result has no XPath; this format needs one, a collection can tell it (-C)",
        )
    score = pl.col("score") if run.score is not None else -pl.col("rank")
    fields = ("topic", pl.lit("Q0"), "doc", "rank", score, one_word(run.name), "xpath")
    return as_lines(run.to_frame(), fields, run.source.path)


def _is_run(source: Source) -> bool:
    fields = head_fields(source)
    return len(fields) == 7 and fields[6].startswith(b"/")


FORMATS = (
    Format(
        "elements",
        "run",
        "INEX elements: 7 fields, the last an XPath.",
        "289 Q0 9996 1 0.9999 mine /article[1]/body[1]/section[2]/p[1]\n",
        _is_run,
        parse_with(read_run),
        write_run,
    ),
)
