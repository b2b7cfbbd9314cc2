"""Submissions with mistakes: every result on lines of its own, so that one can be taken out alone.

Readers name what is wrong by line, and expat ends at the first mistake of markup. Here a submission
is laid out anew: wherever several results share a line, each gets its own, and results that are not
closed are taken out before expat sees them. Tags are found in one pass from the beginning to the
end, past comments, character data and instructions, in which a tag means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection as Lines
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from foveal.errors import InputError, Problem
from foveal.formats import Source
from foveal.formats.markup import check_markup
from foveal.model import Run
from foveal.model.results import ALL
from foveal.spans import Ints

__all__ = ["Submission", "in_utf8", "laid_out", "topics_again"]

_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")
_ENCODING = re.compile(r"^(<\?xml[^>]*?)(\sencoding\s*=\s*(?:\"[^\"]*\"|'[^']*'))")
_ANY_TAG, _TOPIC_TAG = (
    re.compile(rb"<!--|<!\[CDATA\[|<\?|<!DOCTYPE|<(/?)(%b)(?=[\s/>])" % names, re.IGNORECASE)
    for names in (rb"result|topic|inex[-_]submission", rb"topic")
)
_ENDS = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_SUBSET = re.compile(rb"\]\s*>")
_TAG = re.compile(rb"<(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*>")
_ID = re.compile(rb"\s(?:topic[-_]id|id)\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')", re.IGNORECASE)
_NOT_BREAK = re.compile(rb"[^\n]")
_COLUMN = re.compile(r"^not valid XML, column (\d+)")
_ON_LINE = re.compile(r"\bon line (\d+)")
_INVALID = "not valid XML: "


class _Tag(NamedTuple):
    """An opening or closing tag: where it is, and which element it is of."""

    start: int
    end: int
    name: bytes
    closes: bool
    empty: bool


@dataclass(frozen=True)
class Submission:
    """A submission laid out anew, and where its results and topics are.

    `source` holds it with line feeds before results that shared a line. `line` and `column` are
    the places of its lines in the file: the number, and how many bytes stand before it there.
    """

    source: Source
    line: Ints
    column: Ints
    results: Ints
    topics: Ints
    problems: list[Problem] = field(default_factory=list)
    """What is wrong with the markup that is taken out already."""

    def told(self, problem: Problem) -> Problem:
        """The problem at its place in the file."""
        if problem.line is None or not 0 < problem.line <= len(self.line):
            return problem
        before = int(self.column[problem.line - 1])
        message = _COLUMN.sub(
            lambda found: f"not valid XML, column {int(found[1]) + before}", problem.message
        )
        if before and message == problem.message:
            message = f"column {before + 1}: {message}"
        return Problem(problem.file, int(self.line[problem.line - 1]), message)

    def read(self, run: Run) -> Run:
        """The run with the lines of the file."""
        notes = (
            _ON_LINE.sub(lambda found: f"on line {self.line[int(found[1]) - 1]}", note)
            for note in run.notes
        )
        return replace(run, line=self.line[run.line - 1], notes=tuple(notes))

    def without(self, source: Source, lines: Lines[int]) -> tuple[Source, list[int]]:
        """The source without the results on these lines, or the topics if there is no result.

        The lines for which a whole topic had to go come with it.
        """
        left = np.array(sorted(lines), dtype=np.int64)
        breaks = _breaks(source.data)
        taken, in_topics = [], left
        for elements in (self.results, self.topics):
            # The bad lines from the first to the last of each element.
            first, last = (np.searchsorted(breaks, elements) + 1).T
            opens, closes = np.searchsorted(left, first), np.searchsorted(left, last, side="right")
            taken += elements[opens < closes].tolist()
            inside = np.zeros(len(left) + 1, dtype=np.int64)
            np.add.at(inside, opens, 1)
            np.add.at(inside, closes, -1)
            covered = np.cumsum(inside)[:-1] > 0
            left, in_topics = left[~covered], left[covered]
        return replace(source, data=_blanked(source.data, taken)), in_topics.tolist()

    def without_reserved(self, source: Source) -> Source:
        """The source without topics whose name is that of the mean."""
        named = [
            span for span in self.topics.tolist() if _topic_id(source.data, span[0]) == ALL.encode()
        ]
        return replace(source, data=_blanked(source.data, named))


def in_utf8(source: Source) -> Source:
    """The submission as UTF-8 if it is UTF-16; unchanged if it is not or cannot be read."""
    if not source.data.startswith(_UTF16):
        return source
    by_order = "utf-16-le" if source.data.startswith(b"<\0") else "utf-16-be"
    known = source.data.startswith(_UTF16[:2])
    try:
        text = source.data.decode("utf-16" if known else by_order)
    except UnicodeDecodeError:
        return source
    # Columns stay what they were.
    text = _ENCODING.sub(lambda found: found[1] + " " * len(found[2]), text, count=1)
    return replace(source, data=text.encode())


def laid_out(source: Source) -> Submission:
    """Results on lines of their own; those that are not closed are named and taken out.

    >>> text = "<inex-submission><topic id='1'><result>a</result><result>b</result></topic>"
    >>> layout = laid_out(Source.of_text(text, "s.xml"))
    >>> print(layout.source.data.decode())
    <inex-submission>
    <topic id='1'>
    <result>a</result>
    <result>b</result>
    </topic></inex-submission>
    >>> print(*map(layout.told, layout.problems))
    s.xml:1: column 68: not valid XML: the file breaks off before </inex-submission>
    """
    data = source.data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    tags, whole = _tags(data)
    data, tags, line, column = _spread(data, tags)
    anew = replace(source, data=data)
    try:
        check_markup(anew)
    except InputError:
        return _mended(anew, tags, line, column, whole=whole)
    results, topics = (_outermost(tags, name) for name in (b"result", b"topic"))
    return Submission(anew, line, column, results, topics)


def topics_again(source: Source) -> Iterator[Problem]:
    """Topics of a submission that have more than one element.

    >>> text = "<inex-submission><topic id='1'/>" + chr(10) + "<topic id='1'/></inex-submission>"
    >>> print(*topics_again(Source.of_text(text, "s.xml")))
    s.xml:2: a second <topic> of '1', first on line 1; expected one for each topic
    """
    first: dict[bytes, int] = {}
    line = at = 0
    for tag in _tags(source.data, _TOPIC_TAG)[0]:
        name = _topic_id(source.data, tag.start)
        if tag.closes or name is None:
            continue
        line, at = line + source.data.count(b"\n", at, tag.start), tag.start
        if name in first:
            said = f"a second <topic> of {name.decode(errors='replace')!r}, first on line "
            message = f"{said}{first[name]}; expected one for each topic"
            yield Problem(source.path, line + 1, message)
        first.setdefault(name, line + 1)


def _topic_id(data: bytes, start: int) -> bytes | None:
    tag = _TAG.match(data, start)
    found = None if tag is None else _ID.search(tag[0])
    return None if found is None else (found[1] or found[2] or b"").strip()


def _tags(data: bytes, token: re.Pattern[bytes] = _ANY_TAG) -> tuple[list[_Tag], bool]:
    """The tags of results, topics and the root, and whether nothing hides the end of the file."""
    tags, at = [], 0
    while (found := token.search(data, at)) is not None:
        opening = found[0].upper()
        if found[2] is not None:
            tag = _TAG.match(data, found.start())
            at = found.end() if tag is None else tag.end()
            empty = tag is not None and data[at - 2 : at - 1] == b"/"
            name = found[2].lower().replace(b"_", b"-")
            tags.append(_Tag(found.start(), at, name, bool(found[1]), empty))
        elif opening == b"<!DOCTYPE":
            close, subset = data.find(b">", found.end()), data.find(b"[", found.end())
            ended = _SUBSET.search(data, subset) if 0 <= subset < close else None
            at = max(close + 1 if ended is None else ended.end(), found.end())
        else:
            ending = _ENDS[opening]
            close = data.find(ending, found.end())
            if close < 0:
                return tags, False
            at = close + len(ending)
    return tags, True


def _spread(data: bytes, tags: list[_Tag]) -> tuple[bytes, list[_Tag], Ints, Ints]:
    """A line feed before every tag that opens a result or topic, or follows one, on its line."""
    cuts: list[int] = []
    line_of, shares = -1, False
    breaks = _breaks(data)
    for tag, here in zip(
        tags, np.searchsorted(breaks, [tag.start for tag in tags]).tolist(), strict=True
    ):
        ends_result = tag.closes and tag.name == b"result"
        if shares and here == line_of and not ends_result:
            cuts.append(tag.start)
        line_of, shares = here, True
    parts = [data[i:j] for i, j in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    at = np.array(cuts, dtype=np.int64)
    moved = [
        tag._replace(start=tag.start + int(n), end=tag.end + int(n))
        for tag, n in zip(
            tags, np.searchsorted(at, [tag.start for tag in tags], side="right"), strict=True
        )
    ]
    starts = np.sort(np.concatenate([[0], breaks + 1, at]))
    number = np.searchsorted(breaks, starts) + 1
    begins = np.concatenate([[0], breaks + 1])[number - 1]
    return b"\n".join(parts), moved, number, starts - begins


def _outermost(tags: list[_Tag], name: bytes) -> Ints:
    """The extents of the elements of this name that are in no other, in well-formed markup."""
    found, depth, start = [], 0, 0
    for tag in tags:
        if tag.name != name:
            continue
        if not tag.closes and not depth:
            start = tag.start
        depth += -1 if tag.closes else int(not tag.empty)
        if not depth:
            found.append((start, tag.end))
    return _array(found)


@dataclass
class _Balance:
    """What closes what, in markup that may not be well-formed: a result ends at the next tag."""

    found: dict[bytes, list[tuple[int, int]]]
    wrong: list[tuple[int, int, str]]
    opened: dict[bytes, int]
    """Where the elements begin that are still open at the end of the file."""

    @classmethod
    def of(cls, tags: list[_Tag]) -> _Balance:
        balance = cls({b"result": [], b"topic": []}, [], {})
        for tag in tags:
            result = balance.opened.get(b"result")
            ends = tag.closes and tag.name == b"result"
            if result is not None and not ends:
                balance.wrong.append((result, tag.start, "<result> is not closed"))
                del balance.opened[b"result"]
            if ends and result is None:
                balance.wrong.append((tag.start, tag.end, "</result> without <result>"))
            else:
                balance._take(tag)
        return balance

    def _take(self, tag: _Tag) -> None:
        if not tag.closes and not tag.empty:
            self.opened[tag.name] = tag.start
            return
        start = self.opened.pop(tag.name, None) if tag.closes else tag.start
        if start is not None and tag.name in self.found:
            self.found[tag.name].append((start, tag.end))


def _mended(
    source: Source, tags: list[_Tag], line: Ints, column: Ints, *, whole: bool
) -> Submission:
    """The markup without results that are not closed, and with the end that it may lack."""
    data, balance = source.data, _Balance.of(tags)
    wrong, tail = balance.wrong, b""
    if whole and b"inex-submission" in balance.opened:
        tail = b"".join(
            b"</%b>" % data[start + 1 :].split(maxsplit=1)[0].partition(b">")[0]
            for name, start in reversed(balance.opened.items())
            if name != b"result"
        )
        balance.found[b"topic"] += [
            (start, len(data)) for name, start in balance.opened.items() if name == b"topic"
        ]
        last = data.rfind(b"<")
        cut = last if last > data.rfind(b">") else len(data.rstrip())
        begin = min(balance.opened.get(b"result", cut), cut)
        wrong.append((begin, len(data), "the file breaks off before </inex-submission>"))
    breaks = _breaks(data)
    return Submission(
        replace(source, data=_blanked(data, [(start, end) for start, end, _ in wrong]) + tail),
        line,
        column,
        results=_array(balance.found[b"result"]),
        topics=_array(balance.found[b"topic"]),
        problems=[
            Problem(source.path, int(np.searchsorted(breaks, start)) + 1, _INVALID + message)
            for start, _, message in wrong
        ],
    )


def _breaks(data: bytes) -> Ints:
    return np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))


def _array(found: list[tuple[int, int]]) -> Ints:
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _blanked(data: bytes, extents: Iterable[Sequence[int]]) -> bytes:
    """The data with blanks in these extents, lines where they are."""
    parts: list[bytes] = []
    at = 0
    for start, end in sorted(map(tuple, extents)):
        if start >= at:
            parts += [data[at:start], _NOT_BREAK.sub(b" ", data[start:end])]
            at = end
    return b"".join([*parts, data[at:]])
