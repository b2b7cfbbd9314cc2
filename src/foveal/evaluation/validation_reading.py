"""Reading a run to its end whatever is wrong with it: every bad line, and the run of the others.

Readers refuse a file at the first kind of defect they meet. Here the lines they refuse are taken
out, numbers of the others unchanged, and the rest is read again until nothing is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection as Lines
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.evaluation.validation_markup import Submission, in_utf8, laid_out
from foveal.formats import Source, found_kind, read_run
from foveal.formats.checks import RESERVED
from foveal.formats.fields import first_lines, normalised
from foveal.formats.fol import GROUPED
from foveal.formats.jsonl import FORMATS, header_problems
from foveal.formats.markup import is_xml
from foveal.formats.objects import header_of
from foveal.formats.parquet import MAGIC
from foveal.formats.trec_genomics import is_run_line
from foveal.model import Run
from foveal.model.results import ALL

__all__ = ["Reading", "declared_at", "names_apart", "noted", "read_through"]

_PASSES = 30
"""How often a file is read: kinds of defects are few, but XML names one syntax error at a time."""

_ENOUGH = "the file is not looked at any further; expected fewer mistakes in its markup"
_MARKUP = ("not valid XML", "elements are nested")
_UNREAD = "results are not looked at; the mistake in the markup is in none of them"
_UNREAD_TOPIC = "the results of the topic are not looked at"

_NAME = 5
"""The field of the run's name in formats of lines."""

_GENOMICS = r"^[^ ]+ [^ ]+ [0-9]+ [^ ]+ [0-9]+ [0-9]+ [^ ]+$"
_RESERVED_FIELD = re.compile(rb"^\s*%b\s.*$" % ALL.encode())
_RESERVED_VALUE = re.compile(rb"^.*\"topic\"\s*:\s*\"%b\".*$" % ALL.encode())
_ROOT = re.compile(rb"<inex[-_]submission[\s>]", re.IGNORECASE)
_ON_LINE = re.compile(r"\bon line (\d+)")


class Reading(NamedTuple):
    """What could be read of a file.

    `run` is made of the good lines, None if nothing can be made of them; `source` holds these
    lines only, at their numbers.
    """

    source: Source
    run: Run | None
    problems: list[Problem]


def read_through(source: Source) -> Reading:
    """The run of all good lines of a file, and everything that is wrong with the others.

    >>> lines = "1 Q0 d 1 9 mine 0 4", "1 Q0 d 2 x mine 4 2", "1 Q0 e 3 7 mine -5 2"
    >>> reading = read_through(Source.of_text(chr(10).join(lines), "a.run"))
    >>> len(reading.run)
    1
    >>> for problem in reading.problems:
    ...     print(problem)
    a.run:2: score 'x' is not a number
    a.run:3: start -5 is negative; expected an offset from 0
    """
    if is_xml(source):
        return _read_submission(in_utf8(source))
    left, found = _without_bad_bytes(source)
    for _ in range(_PASSES):
        try:
            return Reading(left, read_run(left), _by_line(found))
        except InputError as error:
            new = _odd_opening(left) or _new(error, found)
        found += new
        rest = left
        if any(problem.message == RESERVED for problem in new):
            rest = _without_reserved(left)
        rest = _without(rest, {problem.line for problem in new if problem.line is not None})
        if rest.data == left.data:
            return Reading(left, None, _mistaken(source, _by_line(found)))
        left = rest
    return Reading(left, None, _by_line([*found, Problem(source.path, None, _ENOUGH)]))


def _read_submission(source: Source) -> Reading:
    """The same for XML, where it is results that are taken out, not lines."""
    try:
        return Reading(source, read_run(source), [])
    except InputError:
        layout = laid_out(source)
    left, found = layout.source, layout.problems
    for _ in range(_PASSES):
        try:
            run = layout.read(read_run(left))
        except InputError as error:
            new = _new(error, found)
        else:
            return Reading(source, run, _at_their_places(found, layout))
        found = [*found, *new]
        rest = left
        if any(problem.message == RESERVED for problem in new):
            rest = layout.without_reserved(left)
        lines = {problem.line for problem in new if problem.line is not None}
        rest, of_topics = layout.without(rest, lines)
        found += [Problem(source.path, line, _UNREAD_TOPIC) for line in of_topics]
        if rest.data == left.data:
            if any(problem.message.startswith(_MARKUP) for problem in new):
                found.append(Problem(source.path, None, _UNREAD))
            return Reading(source, None, _at_their_places(found, layout))
        left = rest
    found.append(Problem(source.path, None, _ENOUGH))
    return Reading(source, None, _at_their_places(found, layout))


def _at_their_places(found: list[Problem], layout: Submission) -> list[Problem]:
    return [layout.told(problem) for problem in _by_line(found)]


def _new(error: InputError, found: list[Problem]) -> list[Problem]:
    """The problems of one more reading; that nothing is left of the run is no news."""
    return [p for p in error.problems if not found or not p.message.startswith("the run is empty")]


def _mistaken(source: Source, found: list[Problem]) -> list[Problem]:
    """Of judgements taken for a run one problem is enough; XML and JSON say it themselves."""
    if not _has_fields(source) or found_kind(source) != "judgements":
        return found
    return [
        Problem(source.path, None, "no line is one of a run; these may be judgements"),
        *found[:1],
    ]


def _by_line(problems: Iterable[Problem]) -> list[Problem]:
    """Each line once, with all that is wrong with it."""
    found: dict[tuple[str, int | None], dict[str, None]] = {}
    for problem in problems:
        found.setdefault((problem.file, problem.line), {})[problem.message] = None
    return [Problem(file, line, "; ".join(said)) for (file, line), said in found.items()]


# -- taking lines out --------------------------------------------------------------------------


def _is_lines(source: Source) -> bool:
    """Whether the file is of lines with fields or objects, not XML or columns."""
    return not source.data.startswith(MAGIC) and not is_xml(source)


def _has_fields(source: Source) -> bool:
    first = first_lines(source.data)
    return bool(first) and _is_lines(source) and not first[0][1].startswith(b"{")


def _rows(source: Source) -> tuple[pl.Series, list[int]] | None:
    """The lines of fields and their numbers; None if the format has no fields."""
    if not _has_fields(source):
        return None
    rows, numbers = normalised(source.data)
    return pl.Series(rows, dtype=pl.String), numbers


def _shaped(rows: pl.Series) -> pl.Series:
    """Which lines have as many fields as those of a run; seven are elements or TREC Genomics."""
    fields = rows.str.count_matches(" ") + 1
    seven = rows.str.contains(r" /[^ ]*$") | rows.str.contains(_GENOMICS)
    return fields.is_in([6, 8]) | ((fields == 7) & seven)


def _without_bad_bytes(source: Source) -> tuple[Source, list[Problem]]:
    """The lines that are UTF-8, and the others as problems."""
    if source.data.isascii() or not _is_lines(source):
        return source, []
    found = []
    for number, line in enumerate(source.data.split(b"\n"), 1):
        try:
            replace(source, data=line).check_utf8()
        except InputError as error:
            found.append(error.problems[0]._replace(line=number))
    return _without_lines(source, [problem.line or 0 for problem in found]), found


def _odd_opening(source: Source) -> list[Problem]:
    """First lines with other fields than most: by them the file is taken for another format.

    >>> lines = "1 Q0 d 1 9 mine", "1 Q0 d 2 8 mine 4 2", "1 Q0 e 3 7 mine 0 2"
    >>> [str(problem) for problem in _odd_opening(Source.of_text(chr(10).join(lines), "a.run"))]
    ['a.run:1: 6 fields found, but most lines have 8']
    """
    found = _rows(source)
    if found is None:
        return []
    rows, numbers = found
    fields = rows.str.count_matches(" ") + 1
    known = fields.filter(_shaped(rows))
    if not len(known):
        return []
    most = int(known.mode(maintain_order=True)[0])
    opening = int((fields == most).arg_max() or 0)
    return [
        Problem(source.path, number, f"{count} fields found, but most lines have {most}")
        for count, number in zip(fields.head(opening), numbers[:opening], strict=True)
    ]


def _without(source: Source, lines: Lines[int]) -> Source:
    """The source without these lines, or unchanged if they cannot be taken out."""
    if not lines or source.data.startswith(MAGIC):
        return source
    rows = _rows(source)
    if rows is not None:
        # Where no line is like those of a run, the first one speaks for all.
        return _without_lines(source, lines) if _shaped(rows[0]).any() else source
    if found_kind(source) not in {None, "run"}:
        return source
    header, number = header_of(source)
    rest = _without_lines(source, lines)
    if number not in lines:
        return rest
    bad = header_problems(header, FORMATS)
    kept = json.dumps({name: value for name, value in header.items() if name not in bad})
    content = rest.data.split(b"\n")
    content[number - 1] = kept.encode() if bad else b""
    return replace(rest, data=b"\n".join(content))


def _without_lines(source: Source, lines: Iterable[int]) -> Source:
    content = source.data.split(b"\n")
    for number in lines:
        content[number - 1] = b""
    return replace(source, data=b"\n".join(content))


def _without_reserved(source: Source) -> Source:
    """The source without all results of the topic that may not be; its name is said once."""
    pattern = _RESERVED_FIELD if _has_fields(source) else _RESERVED_VALUE
    rows = source.data.split(b"\n")
    return replace(source, data=b"\n".join(pattern.sub(b"", row) for row in rows))


# -- what readers accept -----------------------------------------------------------------------


def declared_at(source: Source) -> int | None:
    """The line on which a run says what it is: a header or the root element."""
    if source.data.startswith(MAGIC):
        return None
    if is_xml(source):
        root = _ROOT.search(source.data)
        return None if root is None else source.data.count(b"\n", 0, root.start()) + 1
    return header_of(source)[1] or None


def names_apart(source: Source) -> Iterator[Problem]:
    """Names of the run that are not the one on the first line, each where it first stands.

    >>> lines = "1 Q0 d 1 9 mine", "1 Q0 e 2 8 yours"
    >>> print(*names_apart(Source.of_text(chr(10).join(lines), "a.run")))
    a.run:2: the run is called 'yours' here, but 'mine' on line 1; expected one run in a file
    """
    found = _rows(source)
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
            source.path,
            numbers[row],
            f"the run is called {name[row]!r} here, but {name[0]!r} on line {numbers[0]}; "
            "expected one run in a file",
        )


def noted(run: Run) -> Iterator[Problem]:
    """What the reader warned of, with lines."""
    for note in run.notes:
        if note == GROUPED:
            yield from _apart(run)
            continue
        line = _ON_LINE.search(note)
        yield Problem(run.source.path, int(line[1]) if line else None, note)


def _apart(run: Run) -> Iterator[Problem]:
    """The lines on which a topic comes back after others."""
    order = np.argsort(run.line, kind="stable")
    topic, line = run.topic[order], run.line[order]
    opens = np.flatnonzero(np.concatenate([[True], topic[1:] != topic[:-1]]))
    first: dict[int, int] = {}
    for number, at in zip(topic[opens].tolist(), line[opens].tolist(), strict=True):
        if number in first:
            yield Problem(
                run.source.path,
                at,
                f"topic {run.topics[number]!r} comes back after another one, first on line "
                f"{first[number]}; the lines of a topic do not stand together",
            )
        first.setdefault(number, at)
