"""Expat with safe settings: nothing is fetched, and limits end hostile documents.

Everything that parses XML comes through `parse_xml`. A document may have a DOCTYPE with a system
identifier and an internal subset; neither files nor addresses that it names are opened. The
standard named entities (`&eacute;`) are declared as if its DTD did, unless it declares them itself.
"""

from __future__ import annotations

import codecs
import re
from codecs import BOM_UTF32_BE, BOM_UTF32_LE
from collections import Counter
from collections.abc import Callable
from html.entities import html5
from itertools import islice
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from foveal.errors import Problem

BYTES_PER_ELEMENT = 16
"""A longer document may have one more element for each so many bytes."""
MARKUP = 4_000_000
"""Bytes of one tag, comment or instruction, and of everything before the root element."""
ATTRIBUTES = 1000
"""Attributes that a document may declare for one tag: expat visits them at each element."""
NAME = 1000
"""Characters of the name of a tag or an attribute."""
NAMES = 100_000
"""Distinct names of tags, attributes and entities in one document."""

_CHUNK = 1 << 19
"""Bytes that are parsed between two checks of the limits."""
_ENCODINGS = re.compile(
    r"ascii|utf-8(-sig)?|utf-(16|32)(-[lb]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|kz1048|ptcp154|tis-620|"
    r"hp-roman8|mac-\w+|big5(hkscs)?|euc_\w+|gb(k|2312|18030)|iso2022_kr|johab|shift_jis\w*"
)
"""Names of Python's codecs in which documents are written.

Python also has codecs for data that are not text, or that expand a little text to a lot."""
_DECLARED_ENCODING = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)""")
_UTF32 = {
    BOM_UTF32_LE: "utf-32",
    BOM_UTF32_BE: "utf-32",
    b"<\0\0\0": "utf-32-le",
    b"\0\0\0<": "utf-32-be",
}
"""First bytes of documents in UTF-32."""
_PREDEFINED = frozenset(("lt", "gt", "amp", "quot", "apos"))
_REFERENCE = re.compile(rb"&(?!(?:lt|gt|amp|quot|apos);)([^\s#;&<>]+);")


class DocumentError(Exception):
    """A document that cannot be read: what is wrong, with line and column where known."""

    def __init__(
        self, code: str, message: str, line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(code, message, line, column)
        self.code, self.message, self.line, self.column = code, message, line, column

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        return f"line {self.line}, column {self.column}: {self.message}"

    def at(self, place: str) -> Problem:
        """Return the problem of the document at this place."""
        if self.line is None:
            return Problem(self.code, place, None, self.message)
        return Problem(self.code, place, self.line, f"column {self.column}: {self.message}")


class Limits(NamedTuple):
    """Bounds that a document must keep to be read.

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
        Bytes of a document after decompression.
    """

    depth: int = 1000
    attribute: int = 1_000_000
    expansion: int = 1_000_000
    elements: int = 1_000_000
    size: int = 1 << 30

    def max_elements(self, size: int) -> int:
        """Return how many elements a document of `size` bytes may have.

        >>> Limits().max_elements(32_000_000)
        3000000
        """
        return self.elements + size // BYTES_PER_ELEMENT

    @property
    def markup(self) -> int:
        """Bytes of one tag; longer attributes need longer tags."""
        return max(MARKUP, 4 * self.attribute)


def is_standard_entity(name: str) -> bool:
    """Return True for the predefined entities of XML and the named ones of HTML.

    >>> is_standard_entity("eacute"), is_standard_entity("apos"), is_standard_entity("foo")
    (True, True, False)
    """
    return name in _PREDEFINED or f"{name};" in html5


def explain_undecodable(error: UnicodeDecodeError, encoding: str) -> DocumentError:
    """Return the error of bytes that are not text, with line and column of the first such byte."""
    before = error.object[: error.start].decode(error.encoding, errors="replace")
    message = f"byte 0x{error.object[error.start]:02x} is not {encoding}"
    place = before.count("\n") + 1, len(before) - before.rfind("\n")
    return DocumentError("xml.encoding", message, *place)


def parse_xml(
    data: bytes,
    opening: Callable[[str, Any], object],
    closing: Callable[[str], object] | None = None,
    text: Callable[[str], object] | None = None,
    *,
    limits: Limits | None = None,
    watch: bool = True,
    listed_attributes: bool = False,
    on_parser: Callable[[expat.XMLParserType], object] | None = None,
) -> None:
    """Parse a document; raises `DocumentError` where it is malformed or exceeds a limit.

    Parameters
    ----------
    data : bytes
        In any usual encoding, which a declaration or a byte order mark tells.
    opening, closing, text : callable
        Called as expat calls its handlers.
    limits : Limits, optional
    watch : bool
        Check depth, attribute lengths and number of elements. A caller that checks them saves the
        time; in documents with entities of their own they are always checked.
    listed_attributes : bool
        Pass attributes as a list of names and values, without those that a DTD adds.
    on_parser : callable, optional
        Called first with the parser, which knows the line.
    """
    handlers, limits = (opening, closing, text), limits or Limits()
    # Expat takes UTF-32 for UTF-16.
    encoding = next((codec for begin, codec in _UTF32.items() if data.startswith(begin)), None)
    try:
        if encoding is None:
            parser = _SafeParser(data, handlers, limits, watch=watch, listed=listed_attributes)
            return parser.run(on_parser)
    except ValueError:
        pass  # several bytes per character: expat leaves these encodings to us, before any tag
    if encoding is None:
        declared = _DECLARED_ENCODING.match(data)
        encoding = declared[1].decode() if declared else "utf-8"
    try:
        data = data.decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise explain_undecodable(error, encoding) from None
    except UnicodeError as error:  # of codecs that refuse everything
        message = f"cannot be read as {encoding}: {error}"
        raise DocumentError("xml.encoding", message, 1, 1) from None
    parser = _SafeParser(data, handlers, limits, "utf-8", watch=watch, listed=listed_attributes)
    return parser.run(on_parser)


_Handlers = tuple[
    Callable[[str, Any], object],
    Callable[[str], object] | None,
    Callable[[str], object] | None,
]
"""Functions for opening tags, closing tags and text."""


class _SafeParser:
    """One document on its way through expat."""

    def __init__(
        self,
        data: bytes,
        handlers: _Handlers,
        limits: Limits,
        encoding: str | None = None,
        *,
        watch: bool,
        listed: bool,
    ) -> None:
        self.data, self.handlers, self.limits, self.listed = data, handlers, limits, listed
        self.has_root = self.has_entities = self.is_watched = False
        self.text_left = len(data) + limits.expansion
        """Characters that text and tags may still have."""
        self.nested_entities = 0
        self.declared_attributes: Counter[str] = Counter()
        self.names: dict[str, Any] = {}
        self.parser = parser = expat.ParserCreate(encoding, None, self.names)
        parser.buffer_text = True
        parser.ordered_attributes = parser.specified_attributes = listed
        plain = data.translate(None, b"\0") if b"\0" in data[:4] else data  # UTF-16
        referred = {*_REFERENCE.findall(plain)} if b"&" in plain else set()
        if referred:
            # Every document has a DTD now; the standard entities it refers to are read in its
            # stead. What they do not declare is reported to us.
            parser.UseForeignDTD(True)  # noqa: FBT003 - expat's signature
            parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
        self.standard = "".join(
            f'<!ENTITY {name} "{"".join(f"&#38;#{ord(c)};" for c in html5[f"{name};"])}">'
            for name in (name.decode(errors="replace") for name in sorted(referred))
            if f"{name};" in html5
        ).encode()
        self.calls: dict[str, Callable[..., Any] | None] = {
            "XmlDeclHandler": self._check_encoding,
            "StartElementHandler": self._open_root,
            "EndElementHandler": handlers[1],
            "CharacterDataHandler": handlers[2],
            "SkippedEntityHandler": self._refuse_entity,
            "ExternalEntityRefHandler": self._replace_external,
            "AttlistDeclHandler": self._check_declared_attributes,
            "EntityDeclHandler": self._check_declared_entity,
        }
        for name, handler in self.calls.items():
            setattr(parser, name, handler)
        # Most documents are too small to exceed a limit: a check at each tag would cost a tenth.
        fewest, tags = min(limits.depth, limits.elements), data.count(b"<")
        opens_many = tags > fewest and tags - data.count(b"</") > fewest
        if watch and (opens_many or len(data) > limits.attribute):
            self._watch_tags()

    def run(self, on_parser: Callable[[expat.XMLParserType], object] | None) -> None:
        """Parse chunk by chunk, so that nothing grows unseen."""
        data, parser, limits, names = memoryview(self.data), self.parser, self.limits, self.names
        seen = 0
        try:
            if on_parser is not None:
                on_parser(parser)
            for begin in range(0, max(len(data), 1), _CHUNK):
                end = begin + _CHUNK
                try:
                    parser.Parse(data[begin:end], end >= len(data))
                except expat.ExpatError as error:
                    message, place = expat.errors.messages[error.code], (error.lineno, error.offset)
                    if message == expat.errors.XML_ERROR_NO_ELEMENTS and self.has_root:
                        message = "the document breaks off here, before its root element is closed"
                    raise DocumentError("xml.malformed", message, place[0], place[1] + 1) from None
                for name in islice(names, seen, None):
                    if name is not None and len(name) > NAME:
                        message = f"the name '{name[:20]}...' has more than {NAME} characters"
                        raise DocumentError("xml.limit", message)
                seen = len(names)
                if seen > NAMES:
                    self._fail(f"more than {NAMES} different names of tags and attributes")
                if end < len(data):
                    # Expat keeps a tag, comment or declaration until it ends.
                    if end - parser.CurrentByteIndex > limits.markup:
                        message = (
                            f"a tag, comment or declaration has more than {limits.markup} bytes"
                        )
                        self._fail(message)
                    if end > limits.markup and not self.has_root:
                        self._fail(f"no element begins within the first {limits.markup} bytes")
        finally:
            # The handlers and the parser hold each other, and the text; release it now.
            for name in self.calls:
                setattr(parser, name, None)
            del self.parser, self.calls

    def _fail(self, message: str, code: str = "xml.limit") -> NoReturn:
        parser = self.parser
        raise DocumentError(code, message, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    # -- handlers -------------------------------------------------------------------------------

    def _open_root(self, tag: str, attributes: Any) -> None:
        self.has_root = True
        self.parser.StartElementHandler = self.handlers[0]
        self.handlers[0](tag, attributes)

    def _watch_tags(self) -> None:
        """From here on, check depth, attributes and number of elements."""
        opening, closing, text = self.handlers
        limits, size, listed = self.limits, len(self.data), self.listed
        most, depth, elements = limits.max_elements(size), 0, 0

        def watch_opening(tag: str, attributes: Any) -> None:
            nonlocal depth, elements
            depth += 1
            elements += 1
            if depth > limits.depth:
                self._fail(f"elements are nested more than {limits.depth} deep")
            if elements > most:
                self._fail(f"more than {most} elements in a document of {size} bytes")
            values = attributes if listed else attributes.values()
            if values and max(map(len, values)) > limits.attribute:
                self._fail(f"an attribute of <{tag}> has more than {limits.attribute} characters")
            if self.has_entities:
                self._spend(len("</>") + len(tag) + sum(map(len, values)))
            opening(tag, attributes)

        def watch_closing(tag: str) -> None:
            nonlocal depth
            depth -= 1
            if closing is not None:
                closing(tag)

        self.is_watched = True
        self.handlers = watch_opening, watch_closing, text
        self.parser.EndElementHandler = watch_closing

    def _spend(self, characters: int) -> None:
        """Count characters against those of the document and of what entities may add.

        Expat's own protection lets 8 MB pass, and more than that in large documents.
        """
        self.text_left -= characters
        if self.text_left < 0:
            most = self.limits.expansion
            self._fail(f"entities add more than {most} characters to the document")

    def _watch_text(self, piece: str) -> None:
        self._spend(len(piece))
        if self.handlers[2] is not None:
            self.handlers[2](piece)

    def _check_declared_entity(
        self,
        _name: str,
        _parameter: bool,  # noqa: FBT001 - expat's signature
        value: str | None,
        *_: object,
    ) -> None:
        """Bound what entities add, and how deep they lie in each other: expat calls itself."""
        if not self.has_entities:
            self.has_entities = True
            self.parser.CharacterDataHandler = self._watch_text
            if not self.is_watched:
                self._watch_tags()
        if value is not None and ("&" in value or "%" in value):
            self.nested_entities += 1
            if self.nested_entities > self.limits.depth:
                self._fail(f"more than {self.limits.depth} entities refer to entities")

    def _check_declared_attributes(self, tag: str, *_: object) -> None:
        self.declared_attributes[tag] += 1
        if self.declared_attributes[tag] > ATTRIBUTES:
            self._fail(f"more than {ATTRIBUTES} attributes are declared for <{tag}>")

    def _check_encoding(self, _version: str, encoding: str | None, _standalone: int) -> None:
        try:
            name = codecs.lookup(encoding or "utf-8").name
        except (LookupError, ValueError):
            name = ""
        if not _ENCODINGS.fullmatch(name):
            expected = "UTF-8, UTF-16, ISO-8859-1 or another usual encoding of text"
            self._fail(f"encoding {encoding!r} is not read; expected {expected}", "xml.encoding")

    def _refuse_entity(self, name: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat's
        if not is_parameter:
            self._fail(f"entity &{name}; is not declared and not a standard one", "xml.entity")

    def _replace_external(
        self, context: str | None, _base: str | None, system: str | None, public: str | None
    ) -> int:
        """Read the standard entities in place of a DTD or parameter entity; refuse all else."""
        if context is not None:
            message = f"the text refers to the external entity {system or public!r}"
            self._fail(f"{message}; nothing is fetched", "xml.entity")
        declarations = self.parser.ExternalEntityParserCreate(context)
        declarations.EntityDeclHandler = None  # these are ours
        declarations.Parse(self.standard, True)  # noqa: FBT003 - expat's signature
        return 1
