"""XML files as a table of elements, each with its line, attributes and text, read safely."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple
from xml.parsers.expat import XMLParserType

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.files.source import Source, is_xml
from foveal.files.xml import DocumentError, parse_xml
from foveal.spans import Ints

BLANKS = " \t\r\n"  # white space of XML; other blanks are part of names
# The root element of nearly all files, in encodings that contain ASCII.
_FIRST_TAG = re.compile(
    rb"\s*(?:<\?xml [^<>]*\?>\s*)?(?:<!--(?:[^-]|-[^-])*-->\s*|<!DOCTYPE [^\[\]<>]*>\s*)*"
    rb"<([A-Za-z_][A-Za-z0-9_.-]*)[\s/>]"
)
_ESCAPES: dict[str, Any] = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_ESCAPES |= {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff"
_FIT = rf"^[^{_CONTROLS}{BLANKS}]([^{_CONTROLS}]*[^{_CONTROLS}{BLANKS}])?$"
XPATH = rf"^/[^{BLANKS}]+$"


class ElementTable(NamedTuple):
    """The elements of one file in document order, numbered from 0.

    Functions take tags in lower case with hyphens, however the file spells them.
    """

    source: Source
    tags: list[str]
    line: Ints
    attributes: dict[int, dict[str, str]]
    depth: Ints  # number of elements around each
    end: Ints  # the number of the first element that begins after the end of each
    by_tag: dict[str, list[int]]  # the elements with each tag, as the file spells it
    pieces: list[str]  # all text, in order
    pieces_before: tuple[list[int], list[int]]  # pieces before opening and closing tags

    def named(self, *tags: str) -> Ints:
        """Return the numbers of the elements with one of these tags."""
        found = (own for tag, own in self.by_tag.items() if normalise_tag(tag) in tags)
        return np.sort(np.array([*chain(*found)], dtype=np.int64))

    def owner(self, parents: Ints, children: Ints) -> Ints:
        """Return for each child the position in `parents` of the one around it, or -1."""
        owner = np.searchsorted(parents, children, side="right") - 1
        if not len(parents):
            return owner
        # The parent that opened last before the child may have ended before it, too.
        return np.where(self.end[parents[owner]] <= children, -1, owner)

    def inside(self, parents: Ints, *tags: str) -> tuple[Ints, Ints]:
        """Return the elements with these tags inside `parents`, and the position of each parent."""
        numbers = self.named(*tags)
        owner = self.owner(parents, numbers)
        return numbers[owner >= 0], owner[owner >= 0]

    def texts(self, numbers: Iterable[int]) -> list[str]:
        """Return all text within each element."""
        opened, closed = self.pieces_before
        return ["".join(self.pieces[opened[i] : closed[i]]) for i in numbers]

    def values(self, numbers: Iterable[int], *names: str) -> list[str | None]:
        """Return the first of these attributes of each element; hyphens may be underscores."""
        spelled = [*names, *(name.replace("-", "_") for name in names if "-" in name)]
        attributes = (self.attributes.get(number, {}) for number in numbers)
        return [next((own[name] for name in spelled if name in own), None) for own in attributes]


def normalise_tag(tag: str) -> str:
    """Return a tag in lower case with hyphens."""
    return tag.lower().replace("_", "-")


def root_tag(source: Source) -> str:
    """Return the tag of the root element, in lower case with hyphens; refuse malformed XML."""
    found = _FIRST_TAG.match(source.data)
    return normalise_tag(found[1].decode() if found else read_markup(source).tags[0])


def find_root(source: Source) -> str:
    """Return the tag of the root element; an empty text if the file is not XML."""
    try:
        return root_tag(source) if is_xml(source) else ""
    except InputError:
        return ""


def read_markup(source: Source) -> ElementTable:
    """Parse a file into its elements; malformed XML is an error with line and column."""
    tags, pieces, unclosed = list[str](), list[str](), list[int]()
    attributes: dict[int, dict[str, str]] = {}
    by_tag: dict[str, list[int]] = defaultdict(list)
    lines, depths, ends, opened, closed = (list[int]() for _ in range(5))
    parsers = list[XMLParserType]()

    def opening(tag: str, own: dict[str, str]) -> None:
        number = len(tags)
        if own:
            attributes[number] = own
        tags.append(tag)
        by_tag[tag].append(number)
        lines.append(parsers[0].CurrentLineNumber)
        depths.append(len(unclosed))
        opened.append(len(pieces))
        unclosed.append(number)
        ends.append(0)
        closed.append(0)

    def closing(_tag: str) -> None:
        number = unclosed.pop()
        ends[number] = len(tags)
        closed[number] = len(pieces)

    # Expat would refuse an XML declaration after empty lines.
    data = source.data.lstrip(BLANKS.encode())
    skipped = source.data.count(b"\n", 0, len(source.data) - len(data))
    try:
        parse_xml(data, opening, closing, pieces.append, on_parser=parsers.append)
    except DocumentError as error:
        message = f"not valid XML, column {error.column}: {error.message}"
        raise source.error(error.code, (error.line or 1) + skipped, message) from None
    line, depth, end = (np.array(column, dtype=np.int64) for column in (lines, depths, ends))
    text = pieces, (opened, closed)
    return ElementTable(source, tags, line + skipped, attributes, depth, end, by_tag, *text)


def escape_xml(text: str | pl.Expr) -> Any:
    """Return text as XML writes it, in elements and in attributes."""
    if isinstance(text, str):
        return text.translate(str.maketrans(_ESCAPES))
    return text.str.replace_many(_ESCAPES)


def write_attributes(values: Mapping[str, str | None]) -> str:
    """Return attributes as a tag has them after its name, without those that are None."""
    return "".join(f' {n}="{escape_xml(own)}"' for n, own in values.items() if own is not None)


def escape_xml_lines(text: str) -> str:
    """Return the text of an element as XML writes it, with its lines unchanged."""
    return str(escape_xml(text)).replace("&#10;", "\n").replace("&#9;", "\t")


def refuse_unfit(path: str, line: int | None, *columns: pl.Series, fit: str = _FIT) -> None:
    """Refuse to write a name that XML cannot hold: empty, with blanks around it or controls."""
    for column in columns:
        if len(unfit := column.filter(~column.str.contains(fit))):
            message = f"{unfit[0]!r} cannot be written in XML; JSON Lines can hold it"
            raise InputError.at("write.unfit", path, line, message)
