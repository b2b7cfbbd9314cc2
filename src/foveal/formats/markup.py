"""XML files as columns: every element with its line, attributes and text, read safely.

The parser's calls only take notes (which tag, after how many pieces of text, after how many
closings); depth and text are worked out from the notes with arrays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.parsers.expat import XMLParserType

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.files.source import Source, is_xml
from foveal.files.xml import DocumentError, Limits, is_standard_entity, parse_xml
from foveal.spans import Ints

__all__ = [
    "BLANKS",
    "Markup",
    "escape_xml",
    "escape_xml_lines",
    "find_root",
    "find_unfit",
    "is_xml",
    "read_markup",
    "root_tag",
]

BLANKS = " \t\r\n"
"""White space of XML; other blanks are part of names."""

_FIRST_TAG = re.compile(
    rb"\s*(?:<\?xml [^<>]*\?>\s*)?(?:<!--(?:[^-]|-[^-])*-->\s*|<!DOCTYPE [^\[\]<>]*>\s*)*"
    rb"<([A-Za-z_][A-Za-z0-9_.-]*)[\s/>]"
)
"""The root element of nearly all files, in encodings that contain ASCII."""
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


class Markup(NamedTuple):
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
    depth: Ints
    """Elements around each element."""
    closing: Ints
    """The closing tag of each element."""
    by_tag: dict[str, Ints]
    """The elements with each tag."""

    def named(self, *tags: str) -> Ints:
        """Return the numbers of the elements with one of these tags."""
        found = [self.by_tag[tag] for tag in tags if tag in self.by_tag]
        if len(found) == 1:
            return found[0]
        return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *found]))

    def owner(self, parents: Ints, children: Ints) -> Ints:
        """Return for each child the position in `parents` of the one around it, or -1."""
        owner = np.searchsorted(parents, children, side="right") - 1
        if not len(parents):
            return owner
        # The parent that opened last before the child may have ended before it, too.
        ended = self.closing[parents[owner]] < self.closed[children]
        return np.where(ended, -1, owner)

    def texts(self, numbers: Ints) -> list[str]:
        """Return all text within each element."""
        first, last = self.opened[numbers].tolist(), self.ended[self.closing[numbers]].tolist()
        pieces = self.pieces
        return [
            pieces[i] if j - i == 1 else "".join(pieces[i:j])
            for i, j in zip(first, last, strict=True)
        ]

    def values(self, numbers: Ints, *names: str) -> list[str | None]:
        """Return the first of these attributes of each element; hyphens may be underscores."""
        spelled = [*names, *(name.replace("-", "_") for name in names if "-" in name)]
        found: list[str | None] = []
        for number in numbers.tolist():
            own = self.attributes.get(number, {})
            found.append(next((own[name] for name in spelled if name in own), None))
        return found


def root_tag(source: Source) -> str:
    """Return the tag of the root element, in lower case with hyphens; refuse malformed XML."""
    found = _FIRST_TAG.match(source.data)
    tag = found[1].decode() if found else read_markup(source).tags[0]
    return tag.lower().replace("_", "-")


def find_root(source: Source) -> str:
    """Return the tag of the root element; an empty text if the file is not XML."""
    try:
        return root_tag(source) if is_xml(source) else ""
    except InputError:
        return ""


def read_markup(source: Source) -> Markup:
    """Parse a file into its elements; malformed XML is an error with line and column."""
    tags: list[str] = []
    pieces: list[str] = []
    attributes: dict[int, dict[str, str]] = {}
    notes: tuple[list[int], ...] = ([], [], [], [])
    lines, opened, closed, ended = notes
    note_tag, note_line = tags.append, lines.append
    note_opened, note_closed, note_ended = opened.append, closed.append, ended.append
    parsers, deepest = list[XMLParserType](), Limits().depth

    def opening(tag: str, own: dict[str, str]) -> None:
        closed_here, line = len(ended), parsers[-1].CurrentLineNumber
        if len(tags) - closed_here >= deepest:
            message = f"elements are nested more than {deepest} deep"
            raise DocumentError("xml.limit", message, line)
        if own:
            attributes[len(tags)] = own
        note_tag(tag)
        note_line(line)
        note_opened(len(pieces))
        note_closed(closed_here)

    def closing(_tag: str) -> None:
        note_ended(len(pieces))

    # Expat would refuse an XML declaration after empty lines.
    data = source.data.lstrip(BLANKS.encode())
    skipped = source.data.count(b"\n", 0, len(source.data) - len(data))
    try:
        parse_xml(data, opening, closing, pieces.append, watch=False, on_parser=parsers.append)
    except DocumentError as error:
        message = error.message
        if error.column is not None:
            message = f"not valid XML, column {error.column}: {message}"
        raise source.error(error.code, (error.line or 1) + skipped, message) from None
    line, before_opening, closed_before, before_closing = (
        np.fromiter(note, dtype=np.int64, count=len(note)) for note in notes
    )
    number = np.arange(len(tags))
    depth = number - closed_before
    # At any depth openings and closings alternate. Small numbers such as depths sort in one pass.
    opened_before = np.searchsorted(closed_before, number, side="right")
    closings = np.empty(len(tags), dtype=np.int64)
    closings[np.argsort(depth.astype(np.int16), kind="stable")] = np.argsort(
        (opened_before - number - 1).astype(np.int16), kind="stable"
    )
    spelled = {tag: i for i, tag in enumerate(set(tags))}
    code = np.fromiter(map(spelled.__getitem__, tags), np.int64, len(tags))
    codes: dict[str, list[int]] = {}
    for tag, i in spelled.items():
        codes.setdefault(tag.lower().replace("_", "-"), []).append(i)
    by_tag = {tag: np.flatnonzero(np.isin(code, own)) for tag, own in codes.items()}
    markup = Markup(
        source,
        tags,
        line + skipped,
        attributes,
        pieces,
        before_opening,
        closed_before,
        before_closing,
        depth,
        closings,
        by_tag,
    )
    if attributes and (b"&" in data or len(data) > Limits().attribute):
        _check_attributes(markup)
    return markup


def _check_attributes(markup: Markup) -> None:
    """Refuse attributes that are too long, or that refer to unknown entities.

    Expat drops an undeclared entity from an attribute silently.
    """
    source, most = markup.source, Limits().attribute
    data = source.data
    if len(data) > most:
        for number, own in markup.attributes.items():
            if any(len(value) > most for value in own.values()):
                message = f"an attribute of <{markup.tags[number]}> has more than {most} characters"
                raise source.error("xml.limit", int(markup.line[number]), message)
    declared = {name.decode() for name in _ENTITY.findall(data)}
    for value in _VALUE.finditer(data):
        for name in (found.decode() for found in _REFERENCE.findall(value[0])):
            if name not in declared and not is_standard_entity(name):
                line = data.count(b"\n", 0, value.start()) + 1
                message = f"not valid XML: entity &{name}; is not declared and not a standard one"
                raise source.error("xml.entity", line, message)


def escape_xml(text: str | pl.Expr) -> Any:
    """Return text as XML writes it, in elements and in attributes."""
    for character, written in _SPECIAL.items():
        if isinstance(text, str):
            text = text.replace(character, written)
        else:
            text = text.str.replace_all(character, written, literal=True)
    return text


def escape_xml_lines(text: str) -> str:
    """Return the text of an element as XML writes it, with its lines unchanged."""
    return str(escape_xml(text)).replace("&#10;", "\n").replace("&#9;", "\t")


def find_unfit(names: pl.Series | Sequence[str]) -> str | None:
    """Return the first name that XML cannot hold: empty, with blanks around it or controls."""
    column = pl.Series(names, dtype=pl.String)
    found = column.filter(column.str.contains(_UNFIT))
    return found[0] if len(found) else None
