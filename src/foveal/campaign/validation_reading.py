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
from foveal.formats import Source, found_kind, read_run
from foveal.formats.checks import RESERVED
from foveal.formats.fields import first_lines, normalised
from foveal.formats.fol import GROUPED
from foveal.formats.jsonl import FORMATS, header_problems
from foveal.formats.markup import is_xml
from foveal.formats.objects import header_of
from foveal.formats.parquet import MAGIC
from foveal.model import Run
from foveal.model.results import ALL

__all__ = ["Reading", "declared_at", "names_apart", "noted", "read_through"]

_PASSES = 30
"""How often a file is read: kinds of defects are few, but XML names one syntax error at a time."""

_NAME = 5
"""The field of the run's name in formats of lines."""

_RESULT, _TOPIC = (
    re.compile(rb"<%b(?:\s[^>]*?)?(?:/>|>.*?</%b\s*>)" % (tag, tag), re.DOTALL | re.IGNORECASE)
    for tag in (b"result", b"topic")
)
_RESERVED_TOPIC = re.compile(
    rb"<topic\s[^>]*id\s*=\s*[\"']%b[\"'].*?</topic\s*>" % ALL.encode(), re.DOTALL | re.IGNORECASE
)
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
    more = "the file is not looked at any further; expected fewer mistakes in its markup"
    return Reading(left, None, _by_line([*found, Problem(source.path, None, more)]))


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
    """Which lines have as many fields as those of a run; seven of them end in a path."""
    fields = rows.str.count_matches(" ") + 1
    return fields.is_in([6, 8]) | ((fields == 7) & rows.str.contains(r" /[^ ]*$"))


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
    if is_xml(source):
        return _without_results(source, lines)
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
    data = source.data
    if is_xml(source):
        return replace(source, data=_RESERVED_TOPIC.sub(_blank, data))
    pattern = _RESERVED_FIELD if _has_fields(source) else _RESERVED_VALUE
    return replace(source, data=b"\n".join(pattern.sub(b"", row) for row in data.split(b"\n")))


def _blank(found: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\n]", b" ", found[0])


def _without_results(source: Source, lines: Lines[int]) -> Source:
    """XML without the results on these lines, or without the topics where there is no result."""
    data, left = source.data, np.array(sorted(lines), dtype=np.int64)
    for pattern in (_RESULT, _TOPIC):
        breaks = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
        spans = np.array([found.span() for found in pattern.finditer(data)]).reshape(-1, 2)
        # The bad lines from the first to the last of each element.
        first, last = (np.searchsorted(breaks, spans) + 1).T
        opens, closes = np.searchsorted(left, first), np.searchsorted(left, last, side="right")
        parts, at, done = [], 0, np.zeros(len(left), dtype=bool)
        for i in np.flatnonzero(opens < closes).tolist():
            start, end = spans[i].tolist()
            parts += [data[at:start], re.sub(rb"[^\n]", b" ", data[start:end])]
            at = end
            done[opens[i] : closes[i]] = True
        data, left = b"".join([*parts, data[at:]]), left[~done]
    return replace(source, data=data)


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
    name = rows.str.splitn(" ", _NAME + 2).struct[_NAME]
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
