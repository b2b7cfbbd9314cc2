"""XML files as columns: every element with its line, attributes and text, read safely.

Expat's calls only take notes (which tag, after how many pieces of text, after how many closings);
depth and text are worked out from the notes with arrays. Nothing a file names is ever fetched: the
standard named entities are declared as if a DTD did, and any other external entity is refused.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html.entities import name2codepoint
from typing import Any
from xml.parsers import expat

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.files.source import UTF32, Source, is_xml
from foveal.spans import Ints

__all__ = [
    "BLANKS",
    "Markup",
    "escaped",
    "escaped_lines",
    "explain_encoding",
    "has_root",
    "is_xml",
    "read_markup",
    "root_tag",
    "unfit",
]

BLANKS = " \t\r\n"
"""White space of XML; other blanks are part of names."""

MAX_DEPTH = 1000
MAX_ATTRIBUTE = 1_000_000
MAX_MARKUP = 4_000_000
"""Bytes of one tag, comment or instruction: all of it is kept until it ends."""
_CHUNK = 1 << 19

_ENCODINGS = re.compile(
    r"ascii|utf-8(-sig)?|utf-(16|32)(-[lb]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|kz1048|ptcp154|tis-620|"
    r"hp-roman8|mac-\w+|big5(hkscs)?|euc_\w+|gb(k|2312|18030)|iso2022_kr|johab|shift_jis\w*"
)
"""Names of Python's codecs in which documents are written."""

_PREDEFINED = ("lt", "gt", "amp", "quot", "apos")
_ENTITIES = "".join(
    f'<!ENTITY {name} "&#{point};">'
    for name, point in name2codepoint.items()
    if name not in _PREDEFINED
).encode()
_REFERENCE = re.compile(rb"&([A-Za-z_:][\w:.-]*);")
_ENTITY = re.compile(rb"<!ENTITY\s+([A-Za-z_:][\w:.-]*)\s")
_VALUE = re.compile(rb"=\s*(?:\"[^\"<]*&[^\"<]*\"|'[^'<]*&[^'<]*')")
_SPECIAL = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\t": "&#9;",
    "\n": "&#10;",
    "\r": "&#13;",
}
_UNFIT = r"^[ \t\r\n]|[ \t\r\n]$|^$|[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"


class _RefusedError(Exception):
    """What a file may not hold; the place is added by who parses."""


class _FoundError(Exception):
    """The name of the root element, known before the file is read to its end."""


@dataclass(frozen=True, eq=False)
class Markup:
    """The elements of one file in document order, numbered from 0.

    Tags are asked for in lower case with hyphens, however the file spells them.

    >>> markup = read_markup(Source.of_text("<a><b_c x='1'> y </b_c></a>"))
    >>> markup.tags, markup.line.tolist(), markup.texts(markup.named("b-c"))
    (['a', 'b_c'], [1, 1], [' y '])
    """

    source: Source
    tags: list[str]
    line: Ints
    attributes: dict[int, dict[str, str]]
    pieces: list[str]
    """All text, in order."""
    opened: Ints
    """Pieces of text before each opening tag."""
    closed: Ints
    """Closing tags before each opening tag."""
    ended: Ints
    """Pieces of text before each closing tag."""

    @cached_property
    def depth(self) -> Ints:
        """Elements around each element."""
        return np.arange(len(self.tags)) - self.closed

    @cached_property
    def closing(self) -> Ints:
        """The closing tag of each element: at any depth openings and closings alternate."""
        number = np.arange(len(self.tags))
        before = np.searchsorted(self.closed, number, side="right")
        closing = np.empty(len(number), dtype=np.int64)
        # Depths are small numbers, which sort in one pass.
        order = np.argsort(self.depth.astype(np.int16), kind="stable")
        closing[order] = np.argsort((before - number - 1).astype(np.int16), kind="stable")
        return closing

    @cached_property
    def _by_tag(self) -> dict[str, Ints]:
        spelled = {tag: i for i, tag in enumerate(set(self.tags))}
        code = np.fromiter(map(spelled.__getitem__, self.tags), np.int64, len(self.tags))
        named: dict[str, list[int]] = {}
        for tag, i in spelled.items():
            named.setdefault(_normal(tag), []).append(i)
        return {tag: np.flatnonzero(np.isin(code, codes)) for tag, codes in named.items()}

    def named(self, *tags: str) -> Ints:
        """The numbers of the elements with one of these tags."""
        found = [self._by_tag[tag] for tag in tags if tag in self._by_tag]
        if len(found) == 1:
            return found[0]
        return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *found]))

    def owner(self, parents: Ints, children: Ints) -> Ints:
        """For each child the position in `parents` of the one around it, -1 if there is none."""
        owner = np.searchsorted(parents, children, side="right") - 1
        if not len(parents):
            return owner
        # The parent that opened last before the child may have ended before it, too.
        ended = self.closing[parents[owner]] < self.closed[children]
        return np.where(ended, -1, owner)

    def texts(self, numbers: Ints) -> list[str]:
        """All text within each element."""
        first, last = self.opened[numbers].tolist(), self.ended[self.closing[numbers]].tolist()
        pieces = self.pieces
        return [
            pieces[i] if j - i == 1 else "".join(pieces[i:j])
            for i, j in zip(first, last, strict=True)
        ]

    def values(self, numbers: Ints, *names: str) -> list[str | None]:
        """The first of these attributes that each element has; hyphens may be underscores."""
        spelled = [*names, *(name.replace("-", "_") for name in names if "-" in name)]
        found: list[str | None] = []
        for number in numbers.tolist():
            own = self.attributes.get(number, {})
            found.append(next((own[name] for name in spelled if name in own), None))
        return found


def explain_encoding(declared: str | None) -> str | None:
    """Say why an encoding that a file declares is not read; None if it is.

    Python has codecs for much that is not text, or from which little text expands to a lot.

    >>> explain_encoding("ISO-8859-1"), explain_encoding(None)
    (None, None)
    """
    if declared is None:
        return None
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):
        name = ""
    if _ENCODINGS.fullmatch(name):
        return None
    return (
        f"encoding {declared!r} is not read; expected UTF-8, UTF-16, ISO-8859-1 or another usual "
        "encoding of text"
    )


def root_tag(source: Source) -> str:
    """The tag of the root element, without reading further."""

    def opening(tag: str, _attributes: dict[str, str]) -> None:
        raise _FoundError(tag)

    parser = _parser()
    parser.StartElementHandler = opening
    try:
        _parse(parser, source)
    except _FoundError as found:
        return _normal(str(found))
    raise source.error("xml.malformed", None, "the file holds no element")


def has_root(source: Source, *tags: str) -> bool:
    """Return True if the file is XML and its root element has one of these tags."""
    try:
        return is_xml(source) and root_tag(source) in tags
    except InputError:
        return False


def read_markup(source: Source) -> Markup:
    """Parse a file into its elements; malformed XML is an error with line and column."""
    tags: list[str] = []
    pieces: list[str] = []
    attributes: dict[int, dict[str, str]] = {}
    notes: tuple[list[int], ...] = ([], [], [], [])
    lines, opened, closed, ended = notes
    tag_noted, line_noted = tags.append, lines.append
    opened_after, closed_before, ended_after = opened.append, closed.append, ended.append
    parser = _parser()
    skipped = _skipped_lines(source)

    def opening(tag: str, own: dict[str, str]) -> None:
        closed_here = len(ended)
        if len(tags) - closed_here >= MAX_DEPTH:
            raise source.error(
                "xml.limit",
                parser.CurrentLineNumber + skipped,
                f"elements are nested more than {MAX_DEPTH} deep",
            )
        if own:
            attributes[len(tags)] = own
        tag_noted(tag)
        line_noted(parser.CurrentLineNumber)
        opened_after(len(pieces))
        closed_before(closed_here)

    def closing(_tag: str) -> None:
        ended_after(len(pieces))

    parser.StartElementHandler = opening
    parser.EndElementHandler = closing
    parser.CharacterDataHandler = pieces.append
    _parse(parser, source)
    line, *counts = (np.fromiter(note, dtype=np.int64, count=len(note)) for note in notes)
    markup = Markup(source, tags, line + skipped, attributes, pieces, *counts)
    _check_limits(markup)
    return markup


def _normal(tag: str) -> str:
    return tag.lower().replace("_", "-")


def _skipped_lines(source: Source) -> int:
    """Empty lines before the first tag: expat would refuse an XML declaration after them."""
    blank = len(source.data) - len(source.data.lstrip(BLANKS.encode()))
    return source.data.count(b"\n", 0, blank)


def _parser() -> expat.XMLParserType:
    """A parser that fetches nothing."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    # Every file has a DTD now; in its stead the table of standard entities is read.
    parser.UseForeignDTD(True)  # noqa: FBT003 - expat's signature
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)

    def external(
        context: str | None, _base: str | None, system: str | None, public: str | None
    ) -> int:
        if context is not None:
            raise _RefusedError(
                f"the text refers to the external entity {(system or public)!r}; nothing is fetched"
            )
        parser.ExternalEntityParserCreate(context).Parse(_ENTITIES, True)  # noqa: FBT003 - expat's signature
        return 1

    parser.ExternalEntityRefHandler = external
    parser.SkippedEntityHandler = _undeclared
    parser.XmlDeclHandler = _declared
    return parser


def _declared(_version: str, encoding: str | None, _standalone: int) -> None:
    problem = explain_encoding(encoding)
    if problem is not None:
        raise _RefusedError(problem)


def _undeclared(name: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat's signature
    if not is_parameter:
        raise _RefusedError(f"entity &{name}; is not declared and not a standard one")


def _parse(parser: expat.XMLParserType, source: Source) -> None:
    if source.data.startswith(UTF32):
        raise source.error(
            "xml.encoding", 1, "is in UTF-32, which is not read; expected UTF-8 or UTF-16"
        )
    data = memoryview(source.data.lstrip(BLANKS.encode()))
    try:
        for begin in range(0, max(len(data), 1), _CHUNK):
            end = begin + _CHUNK
            parser.Parse(data[begin:end], end >= len(data))
            if end - parser.CurrentByteIndex > MAX_MARKUP and end < len(data):
                raise _RefusedError(f"markup of more than {MAX_MARKUP} bytes")
    except expat.ExpatError as error:
        raise _malformed(
            source, error.lineno, error.offset, expat.errors.messages[error.code]
        ) from None
    except _RefusedError as error:
        raise _malformed(
            source, parser.CurrentLineNumber, parser.CurrentColumnNumber, str(error)
        ) from None
    except (LookupError, ValueError) as error:
        raise source.error("xml.encoding", 1, f"the encoding cannot be read: {error}") from None
    finally:
        # The handlers and the parser hold each other, and the text; let go of it now.
        parser.StartElementHandler = parser.EndElementHandler = parser.CharacterDataHandler = None
        parser.ExternalEntityRefHandler = None


def _malformed(source: Source, line: int, column: int, message: str) -> InputError:
    line += _skipped_lines(source)
    return source.error("xml.malformed", line, f"not valid XML, column {column + 1}: {message}")


def _check_limits(markup: Markup) -> None:
    source = markup.source
    if len(source.data) > MAX_ATTRIBUTE:
        for number, own in markup.attributes.items():
            if any(len(value) > MAX_ATTRIBUTE for value in own.values()):
                raise source.error(
                    "xml.limit",
                    int(markup.line[number]),
                    f"an attribute of <{markup.tags[number]}> has more than "
                    f"{MAX_ATTRIBUTE} characters",
                )
    _check_attribute_entities(source)


def _check_attribute_entities(source: Source) -> None:
    """Expat drops an undeclared entity from an attribute without a word; we do not."""
    data = source.data
    if b"&" not in data:
        return
    known = {name.encode() for name in (*name2codepoint, *_PREDEFINED)}
    known |= set(_ENTITY.findall(data))
    for value in _VALUE.finditer(data):
        unknown = [name for name in _REFERENCE.findall(value[0]) if name not in known]
        if unknown:
            line = data.count(b"\n", 0, value.start()) + 1
            message = f"entity &{unknown[0].decode()}; is not declared and not a standard one"
            raise source.error("xml.malformed", line, f"not valid XML: {message}")


def escaped(text: str | pl.Expr) -> Any:
    """Text as XML writes it, in elements and in attributes."""
    for character, written in _SPECIAL.items():
        if isinstance(text, str):
            text = text.replace(character, written)
        else:
            text = text.str.replace_all(character, written, literal=True)
    return text


def escaped_lines(text: str) -> str:
    """Text of an element, with its lines left as they are."""
    return str(escaped(text)).replace("&#10;", "\n").replace("&#9;", "\t")


def unfit(names: pl.Series | Sequence[str]) -> str | None:
    """The first name that XML cannot hold: empty, with blanks around it, with control signs."""
    column = pl.Series(names, dtype=pl.String)
    found = column.filter(column.str.contains(_UNFIT))
    return found[0] if len(found) else None
