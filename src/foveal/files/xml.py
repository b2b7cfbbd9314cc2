"""Expat with safe settings: nothing is fetched, and limits end hostile documents.

Everything that parses XML comes through `parse_xml`. A document may have a DOCTYPE with a system
identifier and an internal subset; neither files nor addresses that it names are opened. The
standard named entities (`&eacute;`) are declared as if its DTD did, unless it declares them itself.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable
from html.entities import html5
from itertools import islice
from json import detect_encoding
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from foveal.errors import Problem

BYTES_PER_ELEMENT = 16  # a longer document may have one more element for each so many bytes
MARKUP = 4_000_000  # bytes of one tag or comment, and of everything before the root element
ATTRIBUTES = 1000  # attributes declared for one tag: expat visits them at each element
NAME = 1000  # characters of the name of a tag or an attribute
NAMES = 100_000  # distinct names of tags, attributes and entities in one document
_CHUNK = 1 << 19  # bytes that are parsed between two checks of the limits

# Python's codecs in which documents are written. It also has codecs for data that are not text, or
# that expand a little text to a lot.
_ENCODINGS = re.compile(
    r"ascii|utf-8(-sig)?|utf-(16|32)(-[lb]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|kz1048|ptcp154|tis-620|"
    r"hp-roman8|mac-\w+|big5(hkscs)?|euc_\w+|gb(k|2312|18030)|iso2022_kr|johab|shift_jis\w*"
)
_OF_EXPAT = ("utf-8", "us-ascii", "iso-8859-1")
_DECLARED = re.compile(rb"""(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']""")
Opening = Callable[[str, Any], object]  # a handler of opening tags
Closing = Callable[[str], object]  # a handler of closing tags or text
Handlers = tuple[Opening, Closing | None, Closing | None]
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
        message = self.message if self.line is None else f"column {self.column}: {self.message}"
        return Problem(self.code, place, self.line, message)


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
    opening: Opening,
    closing: Closing | None = None,
    text: Closing | None = None,
    *,
    limits: Limits | None = None,
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
    listed_attributes : bool
        Pass attributes as a list of names and values, without those that a DTD adds.
    on_parser : callable, optional
        Called first with the parser, which knows the line.
    """
    first = detect_encoding(data[:4])  # by a byte order mark, or zeros beside "<"
    encoding: str | None = None if first.startswith("utf-8") else first
    if encoding is not None:
        data = _to_utf8(data, encoding)
    declared = _DECLARED.match(data)
    if declared is not None and (name := declared[1].decode()).lower() not in _OF_EXPAT:
        try:
            codec = codecs.lookup(name).name
        except (LookupError, ValueError):
            codec = ""
        if not _ENCODINGS.fullmatch(codec):
            expected = "UTF-8, UTF-16, ISO-8859-1 or another usual encoding of text"
            message = f"encoding {name!r} is not read; expected {expected}"
            raise DocumentError("xml.encoding", message, 1, 1)
        data, encoding = (data if encoding else _to_utf8(data, name)), name
    handlers = (opening, closing, text)
    safe = _SafeParser(data, encoding and "utf-8", limits or Limits(), handlers)
    safe.parser.ordered_attributes = safe.parser.specified_attributes = listed_attributes
    if on_parser is not None:
        on_parser(safe.parser)
    safe.run()


def _to_utf8(data: bytes, encoding: str) -> bytes:
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise explain_undecodable(error, encoding) from None
    except UnicodeError as error:  # of codecs that refuse everything
        message = f"cannot be read as {encoding}: {error}"
        raise DocumentError("xml.encoding", message, 1, 1) from None


class _SafeParser:
    """One document on its way through expat."""

    def __init__(
        self, data: bytes, encoding: str | None, limits: Limits, handlers: Handlers
    ) -> None:
        self.data, self.limits, self.has_root, self.nested_entities = data, limits, False, 0
        self.declared_attributes: Counter[str] = Counter()
        self.names: dict[str, Any] = {}
        self.parser = parser = expat.ParserCreate(encoding, None, self.names)
        parser.buffer_text = True
        referred = {*_REFERENCE.findall(data)} if b"&" in data else set()
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
        # Most documents are too small to exceed a limit: a check at each tag would cost a tenth.
        fewest, tags = min(limits.depth, limits.elements), data.count(b"<")
        opens_many = tags > fewest and tags - data.count(b"</") > fewest
        if opens_many or len(data) > limits.attribute or b"<!ENTITY" in data:
            handlers = self._watch(*handlers)
        self.opening, closing, text = handlers
        self.calls: dict[str, Callable[..., Any] | None] = {
            "StartElementHandler": self._open_root,
            "EndElementHandler": closing,
            "CharacterDataHandler": text,
            "SkippedEntityHandler": self._refuse_entity,
            "ExternalEntityRefHandler": self._replace_external,
            "AttlistDeclHandler": self._check_declared_attributes,
            "EntityDeclHandler": self._check_declared_entity,
        }
        for name, handler in self.calls.items():
            setattr(parser, name, handler)

    def run(self) -> None:
        """Parse chunk by chunk, so that nothing grows unseen."""
        data, parser, names, seen = memoryview(self.data), self.parser, self.names, 0
        longest = max(MARKUP, 4 * self.limits.attribute)  # longer attributes need longer tags
        try:
            for begin in range(0, max(len(data), 1), _CHUNK):
                end = begin + _CHUNK
                parser.Parse(data[begin:end], end >= len(data))
                for name in islice(names, seen, None):
                    if name is not None and len(name) > NAME:
                        message = f"the name '{name[:20]}...' has more than {NAME} characters"
                        raise DocumentError("xml.limit", message)
                seen = len(names)
                if seen > NAMES:
                    self._fail(f"more than {NAMES} different names of tags and attributes")
                if end >= len(data):
                    break
                # Expat keeps a tag, comment or declaration until it ends.
                if end - parser.CurrentByteIndex > longest:
                    self._fail(f"a tag, comment or declaration has more than {longest} bytes")
                if end > longest and not self.has_root:
                    self._fail(f"no element begins within the first {longest} bytes")
        except expat.ExpatError as error:
            message = expat.errors.messages[error.code]
            if message == expat.errors.XML_ERROR_NO_ELEMENTS and self.has_root:
                message = "the document breaks off here, before its root element is closed"
            place = error.lineno, error.offset + 1
            raise DocumentError("xml.malformed", message, *place) from None
        finally:
            # The handlers and the parser hold each other, and the text; release it now.
            for name in self.calls:
                setattr(parser, name, None)
            del self.parser, self.calls

    def _fail(self, message: str, code: str = "xml.limit") -> NoReturn:
        parser = self.parser
        raise DocumentError(code, message, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

    def _watch(self, opening: Opening, closing: Closing | None, text: Closing | None) -> Handlers:
        """Return handlers that check depth, attributes, elements and expansion, and call these."""
        limits, size, has_entities = self.limits, len(self.data), b"<!ENTITY" in self.data
        most, depth, elements = limits.elements + size // BYTES_PER_ELEMENT, 0, 0
        text_left = size + limits.expansion

        def spend(characters: int) -> None:
            # Expat's own protection lets 8 MB pass, and more than that in large documents.
            nonlocal text_left
            text_left -= characters
            if text_left < 0:
                self._fail(f"entities add more than {limits.expansion} characters to the document")

        def watch_opening(tag: str, attributes: Any) -> None:
            nonlocal depth, elements
            depth += 1
            elements += 1
            if depth > limits.depth:
                self._fail(f"elements are nested more than {limits.depth} deep")
            if elements > most:
                self._fail(f"more than {most} elements in a document of {size} bytes")
            values = attributes if type(attributes) is list else attributes.values()
            if values and max(map(len, values)) > limits.attribute:
                self._fail(f"an attribute of <{tag}> has more than {limits.attribute} characters")
            if has_entities:
                spend(len("</>") + len(tag) + sum(map(len, values)))
            opening(tag, attributes)

        def watch_closing(tag: str) -> None:
            nonlocal depth
            depth -= 1
            if closing is not None:
                closing(tag)

        def watch_text(piece: str) -> None:
            spend(len(piece))
            if text is not None:
                text(piece)

        return watch_opening, watch_closing, watch_text if has_entities else text

    # -- handlers -------------------------------------------------------------------------------

    def _open_root(self, tag: str, attributes: Any) -> None:
        self.has_root = True
        self.parser.StartElementHandler = self.opening
        self.opening(tag, attributes)

    def _check_declared_entity(self, *declared: Any) -> None:
        """Bound how deep entities lie in each other: expat calls itself."""
        value: str | None = declared[2]
        if value is not None and ("&" in value or "%" in value):
            self.nested_entities += 1
            if self.nested_entities > self.limits.depth:
                self._fail(f"more than {self.limits.depth} entities refer to entities")

    def _check_declared_attributes(self, tag: str, *_: object) -> None:
        self.declared_attributes[tag] += 1
        if self.declared_attributes[tag] > ATTRIBUTES:
            self._fail(f"more than {ATTRIBUTES} attributes are declared for <{tag}>")

    def _refuse_entity(self, name: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat's
        if not is_parameter:
            self._fail(f"entity &{name}; is not declared and not a standard one", "xml.entity")

    def _replace_external(self, context: str | None, _base: object, *names: str | None) -> int:
        """Read the standard entities in place of a DTD or parameter entity; refuse all else."""
        if context is not None:
            message = f"the text refers to the external entity {names[0] or names[1]!r}"
            self._fail(f"{message}; nothing is fetched", "xml.entity")
        declarations = self.parser.ExternalEntityParserCreate(context)
        declarations.EntityDeclHandler = None  # these are ours
        declarations.Parse(self.standard, True)  # noqa: FBT003 - expat's signature
        return 1
