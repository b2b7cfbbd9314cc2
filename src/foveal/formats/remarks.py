"""Remarks on the file of a run: oddities that readers accept."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from foveal.errors import Note, Problem, Tally
from foveal.files.source import Source
from foveal.formats.base import head_fields
from foveal.formats.lines import split_fields
from foveal.formats.markup import Markup
from foveal.formats.rows import drop_undecodable
from foveal.formats.trec_genomics import is_run_line
from foveal.model import Run
from foveal.spans import Ints

_RANK, _NAME = 3, 5  # fields of a line; in TREC Genomics the name is one further


def _field(source: Source, run: Run, at: int) -> tuple[pl.Series, Ints]:
    """Return a field of the lines of the run's results, and the numbers of the lines."""
    frame, line, _ = split_fields(drop_undecodable(source)[0], map(str, range(at + 2)))
    read = np.isin(line, run.line)
    return frame[str(at)].filter(read), line[read]


def line_ranks(source: Source, run: Run) -> Ints | None:
    """Return the fourth fields of a run of lines, ordered as `run`; None if not all are ranks."""
    if not head_fields(source):
        return None
    field, line = _field(source, run, _RANK)
    rank = field.cast(pl.Int64, strict=False)
    return None if rank.null_count() else rank.to_numpy()[np.searchsorted(line, run.line)]


def find_other_names(source: Source, run: Run) -> Iterator[Problem]:
    """Find names of the run other than the one on its first line, each where it first occurs."""
    fields = head_fields(source)
    at = _NAME + is_run_line(fields)
    if len(fields) <= at:  # no line has a name
        return
    name, line = _field(source, run, at)
    for row in name.is_first_distinct().arg_true().to_list()[1:]:
        text = f"the run is called {name[row]!r} here, but {name[0]!r} on line {line[0]}"
        text += "; expected one run in a file"
        yield Problem("run.name", source.path, int(line[row]), text)


def find_repeated_topics(markup: Markup) -> Iterator[Problem]:
    """Find topics of a submission that have more than one element.

    >>> text = "<inex-submission><topic id='1'/>" + chr(10) + "<topic id='1'/></inex-submission>"
    >>> from foveal.formats.markup import read_markup
    >>> print(*find_repeated_topics(read_markup(Source.of_text(text, "s.xml"))))
    s.xml:2: a second <topic> of '1', first on line 1; expected one for each topic
    """
    topics, first = markup.named("topic"), dict[str, int]()
    names = markup.values(topics, "topic-id", "id")
    for given, line in zip(names, markup.line[topics].tolist(), strict=True):
        name = (given or "").strip()
        if name in first:
            text = f"a second <topic> of {name!r}, first on line {first[name]}"
            text += "; expected one for each topic"
            yield Problem("run.repeated_topic", markup.source.path, line, text)
        elif given is not None:
            first[name] = line


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
        seen: dict[int, int] = {}
        for number, at in zip(topic[opens].tolist(), line[opens].tolist(), strict=True):
            if seen.setdefault(number, at) != at:
                text = f"topic {run.topics[number]!r} comes back after another one, first on line "
                text += f"{seen[number]}; the lines of a topic do not stand together"
                yield Problem("run.grouping", path, at, text)
