"""Remarks on the file of a run: oddities that readers accept."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from foveal.errors import Note, Problem, Tally
from foveal.files.source import Source
from foveal.formats import head_fields
from foveal.formats.lines import split_fields
from foveal.formats.markup import Markup
from foveal.formats.rows import RowRule, check_rules
from foveal.formats.trec_genomics import is_run_line
from foveal.model import Run
from foveal.spans import Ints

_RANK, _NAME = 3, 5  # fields of a line; in TREC Genomics the name is one further


def _read_field(source: Source, run: Run, at: int) -> pl.DataFrame:
    """Return a field of the lines of the run's results as ``name``, and ``line``."""
    frame, _ = split_fields(source, map(str, range(at + 2)))
    return frame.select("line", name=str(at)).filter(np.isin(frame["line"], run.line))


def line_ranks(source: Source, run: Run) -> Ints | None:
    """Return the fourth fields of a run of lines, ordered as `run`; None if not all are ranks."""
    if not head_fields(source):
        return None
    frame = _read_field(source, run, _RANK)
    rank = frame["name"].cast(pl.Int64, strict=False)
    return None if rank.null_count() else rank.to_numpy()[np.searchsorted(frame["line"], run.line)]


def find_other_names(source: Source, run: Run) -> list[Problem]:
    """Find names of the run other than the one on its first line, each where it first occurs."""
    fields = head_fields(source)
    at = _NAME + is_run_line(fields)
    if len(fields) <= at:  # no line has a name
        return []
    frame = _read_field(source, run, at)
    first = frame["name"][0]
    is_other = pl.col("name").is_first_distinct() & (pl.col("name") != first)
    text = f"the run is called {{name}} here, but {first!r} before; expected one run in a file"
    return check_rules(source.path, frame, [RowRule("run.name", is_other, text)])


def find_repeated_topics(markup: Markup) -> list[Problem]:
    """Find topics of a submission that have more than one element."""
    topics = markup.named("topic")
    names = pl.Series("name", markup.values(topics, "topic-id", "id"), dtype=pl.String)
    frame, name = names.to_frame().with_columns(line=markup.line[topics]), pl.col("name")
    text = "a second <topic> of {name}; expected one for each topic"
    is_again = ~name.str.strip_chars().is_first_distinct() & name.is_not_null()
    rule = RowRule("run.repeated_topic", is_again, text)
    return check_rules(markup.source.path, frame, [rule])


def list_notes(run: Run) -> Iterator[Problem]:
    """List the warnings of the reader, with their lines."""
    path = run.source.path
    for note in run.notes:
        if not (isinstance(note, Note) and note.code == "run.grouping"):
            first = note.items[0] if isinstance(note, Tally) and note.items else None
            yield Problem("run.note", path, first[0] if isinstance(first, tuple) else first, note)
            continue
        order = np.argsort(run.line, kind="stable")
        topic, line = run.topic[order], run.line[order]
        opens = np.flatnonzero(np.diff(topic, prepend=-1))
        for at in opens[~pl.Series(topic[opens]).is_first_distinct().to_numpy()].tolist():
            text = f"topic {run.topics[topic[at]]!r} comes back after another one; the lines of a "
            yield Problem("run.grouping", path, int(line[at]), f"{text}topic are not together")
