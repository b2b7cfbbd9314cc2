"""Read a run to its end whatever is wrong with it: every bad line, and the run of the others.

A reader refuses a file at the first kind of defect. Here the refused lines are taken out and the
rest is read again until nothing is refused. XML that is not well-formed is not read at all.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple
from xml.parsers import expat

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats import found_kind, read_run
from foveal.formats.base import JSON_FORMATS
from foveal.formats.checks import RESERVED
from foveal.formats.fields import normalised
from foveal.formats.fol import GROUPED
from foveal.formats.jsonl import header_problems
from foveal.formats.markup import BLANKS, Markup, escape_xml, is_xml, read_markup
from foveal.formats.objects import header_of
from foveal.formats.parquet import MAGIC
from foveal.formats.trec_genomics import is_run_line
from foveal.model import Run
from foveal.model.results import ALL
from foveal.spans import Ints

__all__ = ["Reading", "find_other_names", "find_repeated_topics", "list_notes", "read_tolerantly"]

_UNREAD_TOPIC = "the results of the topic are not looked at"
_NAME = 5
"""The field of the run's name in formats of lines."""
_GENOMICS = r"^[^ ]+ [^ ]+ [0-9]+ [^ ]+ [0-9]+ [0-9]+ [^ ]+$"
_RESERVED_TOPIC = re.compile(rb"^\s*%b\s|\"topic\"\s*:\s*\"%b\"" % (ALL.encode(), ALL.encode()))
_FRAMES = ("inex-submission", "topic", "result")
_ON_LINE = re.compile(r"\bon line (\d+)")


class Reading(NamedTuple):
    """The readable part of a file.

    `run` holds the good results, None if there are none; `source` is without the bad lines, and
    the other lines keep their numbers.
    """

    source: Source
    run: Run | None
    problems: list[Problem]


def read_tolerantly(source: Source) -> Reading:
    """Return the run of all good lines of a file, and everything wrong with the others.

    >>> lines = "1 Q0 d 1 9 mine 0 4", "1 Q0 d 2 x mine 4 2", "1 Q0 e 3 7 mine -5 2"
    >>> reading = read_tolerantly(Source.of_text(chr(10).join(lines), "a.run"))
    >>> len(reading.run)
    1
    >>> for problem in reading.problems:
    ...     print(problem)
    a.run:2: score 'x' is not a number
    a.run:3: start -5 is negative; expected an offset from 0
    """
    if is_xml(source):
        return _read_submission(source)
    left, found = _drop_bad_bytes(source)
    run, left, found = _read_repeatedly(left, found, _drop_lines)
    problems = _merge_problems((problem, 0) for problem in found)
    if run is None and _has_fields(source) and found_kind(source) == "judgements":
        # One bad line of judgements is enough; XML and JSON name the kind themselves.
        hint = "no line is one of a run; these may be judgements"
        problems = [Problem("unclassified", source.path, None, hint), *problems[:1]]
    return Reading(left, run, problems)


def _read_submission(source: Source) -> Reading:
    """Do the same for XML, where results are taken out, not lines."""
    try:
        return Reading(source, read_run(source), [])
    except InputError:
        pass
    try:
        submission = _Submission(source)
    except InputError as error:
        return Reading(source, None, list(error.problems))
    run, _, found = _read_repeatedly(submission.source, [], submission.drop)
    if run is not None:
        notes = (
            _ON_LINE.sub(lambda line: f"on line {submission.line[int(line[1]) - 1]}", note)
            for note in run.notes
        )
        run = replace(run, line=submission.line[run.line - 1], notes=tuple(notes))
    return Reading(source, run, _merge_problems(map(submission.find_original, found)))


def _read_repeatedly(
    source: Source,
    found: list[Problem],
    drop: Callable[[Source, list[Problem]], tuple[Source, list[Problem]]],
) -> tuple[Run | None, Source, list[Problem]]:
    """Read a source without the bad parts that `drop` removes; it may add to their problems."""
    while True:
        try:
            return read_run(source), source, found
        except InputError as error:
            # That nothing is left after dropping lines is not a problem of the file.
            new = _find_odd_opening(source) or [
                problem
                for problem in error.problems
                if not found or not problem.text.startswith("the run is empty")
            ]
        rest, more = drop(source, new)
        found = [*found, *new, *more]
        if rest.data == source.data:
            return None, source, found
        source = rest


def _merge_problems(problems: Iterable[tuple[Problem, int]]) -> list[Problem]:
    """Return one problem for each place; a column above 0 is part of the place."""
    found: dict[tuple[str, int | None, int], dict[str, None]] = {}
    for problem, column in problems:
        found.setdefault((problem.file, problem.line, column), {})[problem.text] = None
    return [
        Problem(
            "unclassified",
            file,
            line,
            (f"column {column + 1}: " if column else "") + "; ".join(messages),
        )
        for (file, line, column), messages in found.items()
    ]


# -- lines -------------------------------------------------------------------------------------


def _has_fields(source: Source) -> bool:
    """Return True for lines of fields; False for XML, JSON and columnar files."""
    number, first = source.head
    return bool(number) and not first.startswith((b"{", *MAGIC)) and not is_xml(source)


def _field_rows(source: Source) -> tuple[pl.Series, list[int]] | None:
    """Return the lines of fields and their numbers; None if the format has no fields."""
    if not _has_fields(source):
        return None
    rows, numbers = normalised(source.data)
    return pl.Series(rows, dtype=pl.String), numbers


def _has_run_fields(rows: pl.Series) -> pl.Series:
    """Mark lines with as many fields as those of a run; seven are elements or TREC Genomics."""
    fields = rows.str.count_matches(" ") + 1
    seven = rows.str.contains(r" /[^ ]*$") | rows.str.contains(_GENOMICS)
    return fields.is_in([6, 8]) | ((fields == 7) & seven)


def _find_odd_opening(source: Source) -> list[Problem]:
    """Find first lines with other fields than most: they disguise the format of the file.

    >>> lines = "1 Q0 d 1 9 mine", "1 Q0 d 2 8 mine 4 2", "1 Q0 e 3 7 mine 0 2"
    >>> print(*_find_odd_opening(Source.of_text(chr(10).join(lines), "a.run")))
    a.run:1: 6 fields found, but most lines have 8
    """
    found = _field_rows(source)
    if found is None:
        return []
    rows, numbers = found
    fields = rows.str.count_matches(" ") + 1
    known = fields.filter(_has_run_fields(rows))
    if not len(known):
        return []
    most = int(known.mode(maintain_order=True)[0])
    opening = int((fields == most).arg_max() or 0)
    return [
        Problem(
            "unclassified", source.path, number, f"{count} fields found, but most lines have {most}"
        )
        for count, number in zip(fields.head(opening), numbers[:opening], strict=True)
    ]


def _blank_lines(source: Source, lines: Iterable[int]) -> Source:
    content = source.data.split(b"\n")
    for number in lines:
        content[number - 1] = b""
    return replace(source, data=b"\n".join(content))


def _drop_bad_bytes(source: Source) -> tuple[Source, list[Problem]]:
    """Return the lines that are UTF-8, and the others as problems."""
    if source.data.isascii() or source.data.startswith(MAGIC):
        return source, []
    found = []
    for number, line in enumerate(source.data.split(b"\n"), 1):
        try:
            replace(source, data=line).check_utf8()
        except InputError as error:
            found.append(error.problems[0]._replace(line=number))
    return _blank_lines(source, [problem.line or 0 for problem in found]), found


def _drop_lines(source: Source, problems: list[Problem]) -> tuple[Source, list[Problem]]:
    """Return the source without the lines of these problems, or unchanged if that is impossible."""
    lines = {problem.line for problem in problems if problem.line is not None}
    if any(problem.text == RESERVED for problem in problems):  # reported only once
        rows = enumerate(source.data.split(b"\n"), 1)
        lines |= {number for number, row in rows if _RESERVED_TOPIC.search(row)}
    if not lines or source.data.startswith(MAGIC):
        return source, []
    found = _field_rows(source)
    if found is not None:
        # If no line looks like one of a run, the problem of the first is enough.
        return (_blank_lines(source, lines) if _has_run_fields(found[0]).any() else source), []
    if found_kind(source) not in {None, "run"}:
        return source, []
    header, number = header_of(source)
    rest = _blank_lines(source, lines)
    bad = header_problems(header, JSON_FORMATS["run"])
    if number in lines and bad:  # keep what is right in the header
        kept = json.dumps({name: value for name, value in header.items() if name not in bad})
        content = rest.data.split(b"\n")
        content[number - 1] = kept.encode()
        rest = replace(rest, data=b"\n".join(content))
    return rest, []


# -- submissions -------------------------------------------------------------------------------


class _Submission:
    """A well-formed submission, written again with each tag on a line of its own.

    A line is then one tag of one element, so that a result can be taken out alone wherever the
    lines of the file end.
    """

    def __init__(self, source: Source) -> None:
        self.original = source
        self.markup = markup = read_markup(source)
        number = np.arange(len(markup.tags))
        # Tags are numbered in order: each comes after the openings and closings before it.
        self.opens = number + markup.closed
        self.closes = markup.closing + np.searchsorted(markup.closed, markup.closing, side="right")
        self.element = np.empty(2 * len(number), dtype=np.int64)
        self.element[self.opens] = self.element[self.closes] = number
        self.line: Ints = markup.line[self.element]
        text_from = np.full(2 * len(number) + 1, len(markup.pieces))
        text_from[self.opens] = markup.opened
        text_from[self.closes] = markup.ended[markup.closing]
        self.frames = np.union1d([0], markup.named("result", "topic"))
        self.tags = [""] * (2 * len(number))
        places = zip(self.opens.tolist(), self.closes.tolist(), strict=True)
        for i, (tag, (opens, closes)) in enumerate(zip(markup.tags, places, strict=True)):
            own = markup.attributes.get(i, {})
            attributes = "".join(f' {name}="{escape_xml(value)}"' for name, value in own.items())
            # A line feed inside a tag ends its line without becoming part of the text.
            self.tags[opens] = f"<{tag}{attributes}\n>"
            self.tags[closes] = f"</{tag}\n>"
        for at in np.flatnonzero(np.diff(text_from)).tolist():
            self.tags[at] += escape_xml("".join(markup.pieces[text_from[at] : text_from[at + 1]]))

    @property
    def source(self) -> Source:
        return replace(self.original, data="".join(self.tags).encode())

    def drop(self, source: Source, problems: list[Problem]) -> tuple[Source, list[Problem]]:
        """Take out the results with these problems, or the topics if they are in no result.

        Returns a problem for each topic whose results are lost.
        """
        lines = np.unique([problem.line for problem in problems if problem.line is not None])
        tags = lines.astype(np.int64) - 1
        result, topic = (self._find_enclosing(name)[tags] for name in ("result", "topic"))
        topic[result >= 0] = -1
        dropped = {*result[result >= 0].tolist(), *topic[topic >= 0].tolist()}
        if any(problem.text == RESERVED for problem in problems):  # reported only once
            topics = self.markup.named("topic")
            names = zip(topics.tolist(), self.markup.values(topics, "topic-id", "id"), strict=True)
            dropped |= {number for number, name in names if name == ALL}
        for number in dropped:
            for tag in range(self.opens[number], self.closes[number] + 1):
                self.tags[tag] = "\n"
        lost = lines[topic >= 0].tolist()
        return self.source, [
            Problem("unclassified", source.path, line, _UNREAD_TOPIC) for line in lost
        ]

    def _find_enclosing(self, name: str) -> Ints:
        """Return for each tag the outermost element of this name around it, or -1."""
        around = np.full(len(self.tags), -1, dtype=np.int64)
        for number in reversed(self.markup.named(name).tolist()):
            around[self.opens[number] : self.closes[number] + 1] = number
        return around

    def find_original(self, problem: Problem) -> tuple[Problem, int]:
        """Return the problem with the line of the file, and the column of its result or topic.

        The column is 0 if no other result or topic is on the line before it.
        """
        if problem.line is None:
            return problem, 0
        line, number = int(self.line[problem.line - 1]), int(self.element[problem.line - 1])
        frame = int(self.frames[np.searchsorted(self.frames, number, side="right") - 1])
        on_line = self.markup.line[frame] == line
        return problem._replace(line=line), self.columns[frame] if on_line else 0

    @cached_property
    def columns(self) -> list[int]:
        """The column of each result or topic that shares its line with an earlier one, else 0."""
        columns: list[int] = []
        frames = {tag for tag in set(self.markup.tags) if tag.lower().replace("_", "-") in _FRAMES}
        # The file is known to be safe, and without handlers for entities nothing is fetched.
        parser = expat.ParserCreate()
        parser.UseForeignDTD(True)  # noqa: FBT003 - expat's signature
        last = 0

        def opening(tag: str, _attributes: dict[str, str]) -> None:
            columns.append(parser.CurrentColumnNumber if parser.CurrentLineNumber == last else 0)
            closing(tag)

        def closing(tag: str) -> None:
            nonlocal last
            if tag in frames:
                last = parser.CurrentLineNumber

        parser.StartElementHandler, parser.EndElementHandler = opening, closing
        data = self.original.data.lstrip(BLANKS.encode())
        for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):  # not a column
            data = data.removeprefix(mark)
        parser.Parse(data, True)  # noqa: FBT003 - expat's signature
        return columns


# -- what readers accept -----------------------------------------------------------------------


def find_repeated_topics(markup: Markup) -> Iterator[Problem]:
    """Find topics of a submission that have more than one element.

    >>> text = "<inex-submission><topic id='1'/>" + chr(10) + "<topic id='1'/></inex-submission>"
    >>> print(*find_repeated_topics(read_markup(Source.of_text(text, "s.xml"))))
    s.xml:2: a second <topic> of '1', first on line 1; expected one for each topic
    """
    topics = markup.named("topic")
    first: dict[str, int] = {}
    for given, line in zip(
        markup.values(topics, "topic-id", "id"), markup.line[topics].tolist(), strict=True
    ):
        if given is None:
            continue
        name = given.strip()
        if name in first:
            message = f"a second <topic> of {name!r}, first on line {first[name]}"
            yield Problem(
                "unclassified", markup.source.path, line, f"{message}; expected one for each topic"
            )
        first.setdefault(name, line)


def find_other_names(source: Source) -> Iterator[Problem]:
    """Find names of the run other than the one on the first line, each where it first occurs.

    >>> lines = "1 Q0 d 1 9 mine", "1 Q0 e 2 8 yours"
    >>> print(*find_other_names(Source.of_text(chr(10).join(lines), "a.run")))
    a.run:2: the run is called 'yours' here, but 'mine' on line 1; expected one run in a file
    """
    found = _field_rows(source)
    if found is None:
        return
    rows, numbers = found
    at = _NAME
    if is_run_line(rows[0].encode().split()):  # of TREC Genomics: the tag is last, or absent
        at = len(rows[0].split()) - 1
        if at == _NAME:
            return
    name = rows.str.splitn(" ", at + 2).struct[at]
    for row in name.is_first_distinct().arg_true().to_list()[1:]:
        yield Problem(
            "unclassified",
            source.path,
            numbers[row],
            f"the run is called {name[row]!r} here, but {name[0]!r} on line {numbers[0]}; "
            "expected one run in a file",
        )


def list_notes(run: Run) -> Iterator[Problem]:
    """List the warnings of the reader, with their lines."""
    for note in run.notes:
        if note != GROUPED:
            line = _ON_LINE.search(note)
            yield Problem("unclassified", run.source.path, int(line[1]) if line else None, note)
            continue
        # Each line on which a topic comes back after others.
        order = np.argsort(run.line, kind="stable")
        topic, line_of = run.topic[order], run.line[order]
        opens = np.flatnonzero(np.concatenate([[True], topic[1:] != topic[:-1]]))
        first: dict[int, int] = {}
        for number, at in zip(topic[opens].tolist(), line_of[opens].tolist(), strict=True):
            if number in first:
                yield Problem(
                    "unclassified",
                    run.source.path,
                    at,
                    f"topic {run.topics[number]!r} comes back after another one, first on line "
                    f"{first[number]}; the lines of a topic do not stand together",
                )
            first.setdefault(number, at)
