"""What keeps documents harmless: limits, entities that resolve without fetching, encodings."""

from __future__ import annotations

import re
from array import array
from codecs import BOM_UTF32_BE, BOM_UTF32_LE
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html.entities import html5
from typing import NoReturn

import numpy as np

from foveal.collection.trees import ordinals, parents, tree
from foveal.spans import Ints

__all__ = [
    "ATTRIBUTE",
    "ATTRIBUTES",
    "BYTES",
    "BYTES_PER_ELEMENT",
    "DEPTH",
    "ELEMENTS",
    "EXPANSION",
    "MARKUP",
    "NAME",
    "NAMES",
    "NO_MEMORY",
    "PATHS",
    "PATHS_PER_BYTE",
    "DocumentError",
    "Fail",
    "Limits",
    "check_names",
    "check_paths",
    "check_pending",
    "declared_attribute",
    "external_entity",
    "in_utf32",
    "not_in_encoding",
    "standard_entity",
    "transcoded",
]

BYTES = 1 << 30
"""Bytes of a document, when whatever compresses it is taken off."""
DEPTH = 1000
"""Elements within elements, and entities that refer to entities."""
ATTRIBUTE = 1_000_000
"""Characters of an attribute value."""
ATTRIBUTES = 1000
"""Attributes that a document may declare for one tag: expat goes through them at each element."""
EXPANSION = 1_000_000
"""Characters that entities may add to a document."""
ELEMENTS = 1_000_000
"""Elements that any document may have, however short it is."""
BYTES_PER_ELEMENT = 16
"""A longer document may have one more element for each so many bytes."""
NAME = 1000
"""Characters of the name of a tag or an attribute."""
NAMES = 100_000
"""Different names of tags, attributes and entities in one document."""
MARKUP = 4_000_000
"""Bytes of one tag, comment or instruction, and of all that comes before the root element."""
PATHS = 10_000_000
"""Characters that the paths of all elements of any document may have together."""
PATHS_PER_BYTE = 16
"""A longer document may have so many more for each of its bytes."""
NO_MEMORY = "the document takes more memory than there is"

_JOIN = 4096
"""Pieces of text between two tags from which they are made one."""
_VALUE = re.compile(rb"""=\s*(?:"[^"]*|'[^']*)""")
_SUBSET = re.compile(rb"<!DOCTYPE[^\[>]*\[(.*?)\]\s*>", re.DOTALL)
_PARAMETER = re.compile(rb"<!--.*?-->|\"[^\"]*\"|'[^']*'|%([^\s%;&<>\"']+);", re.DOTALL)
_ENCODING = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)""")

Fail = Callable[[str], NoReturn]
"""Ends a document with a message, at the place where its parser is."""


class DocumentError(Exception):
    """A document that cannot be indexed: what is wrong, line and column where known."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message, line, column)
        self.message, self.line, self.column = message, line, column

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        return f"line {self.line}, column {self.column}: {self.message}"

    def placed(self, place: str) -> tuple[str, str]:
        """Where in which document, and what: the two parts of ``place:line: message``."""
        if self.line is None:
            return place, self.message
        return f"{place}:{self.line}", f"column {self.column}: {self.message}"


@dataclass(frozen=True)
class Limits:
    """Where a document stops being one.

    Parameters
    ----------
    depth : int
        Elements within elements, and entities that refer to entities.
    attribute : int
        Characters of one attribute value.
    expansion : int
        Characters that entities may add to a document.
    elements : int
        Elements that any document may have; a long one may have more.
    size : int
        Bytes of a document.
    """

    depth: int = DEPTH
    attribute: int = ATTRIBUTE
    expansion: int = EXPANSION
    elements: int = ELEMENTS
    size: int = BYTES

    def elements_of(self, size: int) -> int:
        """How many elements a document of so many bytes may have.

        >>> Limits().elements_of(32_000_000)
        3000000
        """
        return self.elements + size // BYTES_PER_ELEMENT

    def paths_of(self, size: int) -> int:
        """How many characters the paths of a document of so many bytes may have together.

        >>> Limits().paths_of(1000)
        10016000
        """
        return PATHS + PATHS_PER_BYTE * size

    @property
    def markup(self) -> int:
        """Bytes of one tag; whoever allows longer attributes allows longer tags."""
        return max(MARKUP, 4 * self.attribute)


def check_pending(data: bytes, begin: int, end: int, limits: Limits, fail: Fail) -> None:
    """Refuse markup that is too long before it is whole: all of it would be kept till then."""
    if end - begin <= limits.markup:
        return
    found = data[begin:end]
    head = found[:1000].replace(b"\0", b"")  # of UTF-16
    if head.startswith(b"<!--"):
        what = "a comment"
    elif head.startswith(b"<?"):
        what = "a processing instruction"
    elif head.startswith(b"<") and not head.startswith(b"<!"):
        tag = re.split(rb"[\s/>]", head[1:31], maxsplit=1)[0].decode(errors="replace")
        if max(map(len, _VALUE.findall(found)), default=0) > limits.attribute:
            fail(f"an attribute of <{tag}> has more than {limits.attribute} characters")
        what = f"the tag <{tag}>"
    else:
        what = "a declaration"
    fail(f"{what} has more than {limits.markup} bytes")


def check_names(names: Iterable[str | None], data: bytes, fail: Fail) -> None:
    """Refuse tags and attributes with names that no one gave them to be read."""
    for name in names:
        if name is not None and len(name) > NAME:
            message = f"the name '{name[:20]}...' has more than {NAME} characters"
            at = data.find(name[: NAME + 1].encode())
            if at < 0:  # in another encoding
                fail(message)
            line, column = _place(data[:at].decode(errors="replace"))
            raise DocumentError(message, line, column)


def check_paths(marks: Ints, tag: Ints, name_sizes: Ints, most: int) -> None:
    """Refuse a document whose elements are few and short, but whose paths are endless.

    Each path repeats those of all elements above it: a million leaves below a thousand elements
    make gigabytes of paths of a document of megabytes.

    Parameters
    ----------
    marks : array of int
        All tags in document order; closing ones are negative.
    tag, name_sizes : array of int
        The tag of each element, and the characters of each tag.
    most : int
        Characters that are accepted.
    """
    opening, closing, level = tree(marks < 0)
    own = tag[(np.cumsum(marks >= 0) - 1)[opening]]
    ordinal = ordinals(parents(opening, level), own, len(name_sizes))
    step = name_sizes[own] + len("/[]") + _digits(ordinal)
    # A step stands in the paths of its element and of all below it.
    below = (closing - opening + 1) // 2
    if int((step * below).sum()) > most:
        raise DocumentError(f"the paths of its elements have more than {most} characters together")


def _digits(numbers: Ints) -> Ints:
    """How many digits numbers have that are not 0."""
    return np.searchsorted(10 ** np.arange(1, 19), numbers, side="right") + 1


def _place(before: str) -> tuple[int, int]:
    """Line and column of what comes after this text."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def not_in_encoding(error: UnicodeDecodeError, encoding: str) -> DocumentError:
    """What is wrong with bytes that are no text, with line and column of the first such byte."""
    before = error.object[: error.start].decode(error.encoding, errors="replace")
    wrong = error.object[error.start]
    return DocumentError(f"byte 0x{wrong:02x} is not {encoding}", *_place(before))


def in_utf32(data: bytes) -> str | None:
    """The codec of a document in UTF-32, which expat takes for UTF-16 and then for rubbish."""
    if data.startswith((BOM_UTF32_LE, BOM_UTF32_BE)):
        return "utf-32"
    if data.startswith(b"<\0\0\0"):
        return "utf-32-le"
    return "utf-32-be" if data.startswith(b"\0\0\0<") else None


def transcoded(data: bytes, encoding: str | None = None) -> bytes:
    """The document in UTF-8, from the encoding that is given or that it declares."""
    if encoding is None:
        declared = _ENCODING.match(data)
        encoding = declared[1].decode() if declared else "utf-8"
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise not_in_encoding(error, encoding) from None
    except UnicodeError as error:  # of codecs that refuse everything
        raise DocumentError(f"cannot be read as {encoding}: {error}", 1, 1) from None


def standard_entity(
    pieces: list[str], marks: array[int], data: bytes, fail: Fail
) -> Callable[[str, bool], None]:
    """Puts the standard named entities into the text; others that are not declared fail.

    An entity makes two pieces of one text. Where there are thousands they are joined again, for a
    piece takes ten times the memory of the entity; `marks` says which ones no tag divides.
    """
    joined = 0

    def entity(name: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat's signature
        nonlocal joined
        if is_parameter:
            return
        if f"{name};" not in html5:
            fail(f"entity &{name}; is not declared and not a standard one{_unread(data)}")
        pieces.append(html5[f"{name};"])
        if len(pieces) - joined > _JOIN:
            first = max(joined, marks[-1], ~marks[-1])
            pieces[first:] = ["".join(pieces[first:])]
            joined = len(pieces)

    return entity


def _unread(data: bytes) -> str:
    """What may have kept an entity from being declared: a parameter entity before it."""
    subset = _SUBSET.search(data)
    names = [name for name in _PARAMETER.findall(subset[1]) if name] if subset else []
    if not names:
        return ""
    name = names[0].decode(errors="replace")
    return f"; parameter entities such as %{name}; are not read, nor what is declared after them"


def declared_attribute(fail: Fail) -> Callable[..., None]:
    """Fails where an internal subset declares too many attributes for one tag."""
    declared: Counter[str] = Counter()

    def attribute(tag: str, *_: object) -> None:
        declared[tag] += 1
        if declared[tag] > ATTRIBUTES:
            fail(f"more than {ATTRIBUTES} attributes are declared for <{tag}>")

    return attribute


def external_entity(fail: Fail) -> Callable[..., int]:
    """Fails at any entity that would have to be fetched."""

    def entity(_context: str, _base: str | None, system: str | None, public: str | None) -> int:
        fail(f"the text refers to the external entity {(system or public)!r}; nothing is fetched")

    return entity
