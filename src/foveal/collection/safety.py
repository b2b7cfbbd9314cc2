"""What keeps documents harmless: limits, entities that resolve without fetching, encodings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html.entities import html5
from typing import NoReturn

__all__ = [
    "DocumentError",
    "Fail",
    "Limits",
    "external_entity",
    "standard_entity",
    "transcoded",
]

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
    """

    depth: int = 1000
    attribute: int = 1_000_000
    expansion: int = 1_000_000


def transcoded(data: bytes) -> bytes:
    """The document in UTF-8, from the encoding that it declares."""
    declared = _ENCODING.match(data)
    encoding = declared[1].decode() if declared else "utf-8"
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise DocumentError(f"not {encoding} at byte {error.start}") from None
    except UnicodeError as error:  # of codecs that refuse everything
        raise DocumentError(f"cannot be read as {encoding}: {error}") from None


def standard_entity(pieces: list[str], fail: Fail) -> Callable[[str, bool], None]:
    """Puts the standard named entities into the text; others that are not declared fail."""

    def entity(name: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat's signature
        if is_parameter:
            return
        if f"{name};" not in html5:
            fail(f"entity &{name}; is not declared and not a standard one")
        pieces.append(html5[f"{name};"])

    return entity


def external_entity(fail: Fail) -> Callable[..., int]:
    """Fails at any entity that would have to be fetched."""

    def entity(_context: str, _base: str | None, system: str | None, public: str | None) -> int:
        fail(f"the text refers to the external entity {(system or public)!r}; nothing is fetched")

    return entity
