"""Expat with safe settings: nothing is fetched, and limits end hostile documents.

Everything that parses XML comes through `parse_xml`. A document may have a DOCTYPE with a system
identifier and an internal subset; neither files nor addresses that it names are opened. The
standard named entities (`&eacute;`) are declared as if its DTD did, unless it declares them itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html.entities import html5
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from foveal.errors import Problem

BYTES_PER_ELEMENT = 16  # a longer document may have one more element for each so many bytes
MARKUP = 4_000_000  # bytes of one tag, comment or declaration
_CHUNK = 1 << 19  # bytes that are parsed between two checks of it

_BROKEN_OFF = "the document breaks off here, before its root element is closed"
_CLEARER = {expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]: _BROKEN_OFF}
_REFERENCE = re.compile(rb"&(?!(?:lt|gt|amp|quot|apos);)([^\s#;&<>]+);")
Opening = Callable[[str, Any], object]  # a handler of opening tags
Closing = Callable[[str], object]  # a handler of closing tags or text


class DocumentError(Exception):
    """A document that cannot be read: the error, with line and column where known."""

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

    Expat itself refuses entities that make a document a hundred times as long.
    """

    depth: int = 1000  # elements within elements, and entities that refer to entities
    attribute: int = 1_000_000  # characters of one attribute value
    elements: int = 1_000_000  # of any document; a long one may have more
    size: int = 1 << 30  # bytes of a document after decompression


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
    on_parser: Callable[[expat.XMLParserType], object] = id,
) -> None:
    """Parse a document; raises `DocumentError` where it is malformed or exceeds a limit.

    The document is in UTF-8, UTF-16 or a declared encoding of one byte per character. `opening`,
    `closing` and `text` are called as expat calls its handlers. With `listed_attributes` attributes
    are a list of names and values, without those that a DTD adds. `on_parser` is called first with
    the parser, which knows the line.
    """
    limits = limits or Limits()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.ordered_attributes = parser.specified_attributes = listed_attributes
    referred = {*_REFERENCE.findall(data)}
    if referred:
        # Every document has a DTD now; the standard entities it refers to are read in its stead.
        # What they do not declare is reported to us.
        parser.UseForeignDTD(True)  # noqa: FBT003 - expat's signature
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
    names = sorted(name.decode(errors="replace") for name in referred)
    standard = "".join(
        f'<!ENTITY {name} "{"".join(f"&#38;#{ord(c)};" for c in html5[f"{name};"])}">'
        for name in names
        if f"{name};" in html5
    ).encode()
    declarations = 0

    def fail(message: str, code: str = "xml.limit") -> NoReturn:
        place = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
        raise DocumentError(code, message, *place)

    def count_declaration(*_: Any) -> None:
        # Expat calls itself for entities within entities, and visits attributes at each element.
        nonlocal declarations
        declarations += 1
        if declarations > limits.depth:
            fail(f"more than {limits.depth} attributes and nested entities are declared")

    def check_declared_entity(*declared: Any) -> None:
        if declared[2] is not None and ("&" in declared[2] or "%" in declared[2]):
            count_declaration()

    def refuse_entity(name: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat's signature
        if not is_parameter:
            fail(f"entity &{name}; is not declared and not a standard one", "xml.entity")

    def replace_external(context: str | None, _base: object, *names: str | None) -> int:
        # Read the standard entities in place of a DTD or parameter entity; refuse all else.
        if context is not None:
            message = f"the text refers to the external entity {names[0] or names[1]!r}"
            fail(f"{message}; nothing is fetched", "xml.entity")
        declarations = parser.ExternalEntityParserCreate(context)
        declarations.EntityDeclHandler = None  # these are ours
        declarations.Parse(standard, True)  # noqa: FBT003 - expat's signature
        return 1

    # Most documents are too small to exceed a limit: a check at each tag would cost a tenth.
    fewest, tags = min(limits.depth, limits.elements), data.count(b"<")
    opens_many = tags > fewest and tags - data.count(b"</") > fewest
    may_declare = b"<!ENTITY" in data or b"\0" in data[:4]  # UTF-16 hides it
    if opens_many or len(data) > limits.attribute or may_declare:
        opening, closing = _watch(len(data), limits, fail, opening, closing)
    handlers = {
        "StartElementHandler": opening,
        "EndElementHandler": closing,
        "CharacterDataHandler": text,
        "SkippedEntityHandler": refuse_entity,
        "ExternalEntityRefHandler": replace_external,
        "EntityDeclHandler": check_declared_entity,
        "AttlistDeclHandler": count_declaration,
    }
    for name, handler in handlers.items():
        setattr(parser, name, handler)
    on_parser(parser)
    try:
        for begin in range(0, max(len(data), 1), _CHUNK):
            end = begin + _CHUNK
            parser.Parse(memoryview(data)[begin:end], end >= len(data))
            # Expat keeps a tag, comment or declaration until it ends.
            if end - parser.CurrentByteIndex > max(MARKUP, 4 * limits.attribute) and end < len(
                data
            ):
                fail(f"a tag, comment or declaration has more than {MARKUP} bytes")
    except expat.ExpatError as error:
        message = _CLEARER.get(error.code) or expat.errors.messages[error.code]
        raise DocumentError("xml.malformed", message, error.lineno, error.offset + 1) from None
    except (LookupError, ValueError):
        message = "the declared encoding is not read; expected UTF-8, UTF-16, ISO-8859-1 or another"
        message += " of one byte per character"
        raise DocumentError("xml.encoding", message, 1, 1) from None
    finally:
        # The handlers and the parser hold each other, and the text; release it now.
        for name in handlers:
            setattr(parser, name, None)


def _watch(
    size: int,
    limits: Limits,
    fail: Callable[[str], NoReturn],
    opening: Opening,
    closing: Closing | None,
) -> tuple[Opening, Closing]:
    """Return handlers that check depth, attributes and number of elements, and call these."""
    most, depth, elements = limits.elements + size // BYTES_PER_ELEMENT, 0, 0

    def watch_opening(tag: str, attributes: Any) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if depth > limits.depth:
            fail(f"elements are nested more than {limits.depth} deep")
        if elements > most:
            fail(f"more than {most} elements in a document of {size} bytes")
        values = attributes if type(attributes) is list else attributes.values()
        if values and max(map(len, values)) > limits.attribute:
            fail(f"an attribute of <{tag}> has more than {limits.attribute} characters")
        opening(tag, attributes)

    def watch_closing(tag: str) -> None:
        nonlocal depth
        depth -= 1
        if closing is not None:
            closing(tag)

    return watch_opening, watch_closing
