"""XML documents as elements: the path, start and end of each on the axis of its document's text.

The text is XPath ``string(/*)``: the character data of the root element in document order,
entities resolved, comments and processing instructions left out. Nothing a document names is ever
fetched, and limits end hostile documents early, while they are parsed.

Expat's calls only take notes (which tag, after how many pieces of text); `foveal.collection.trees`
works the tree out from the notes of a whole batch of documents at once.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import compress, count, islice
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from foveal.collection.safety import (
    NAMES,
    DocumentError,
    Fail,
    Limits,
    check_names,
    check_paths,
    check_pending,
    declared_attribute,
    external_entity,
    in_utf32,
    standard_entity,
    transcoded,
)
from foveal.collection.trees import distinct, levels, number_paths, parents, tree
from foveal.formats.markup import explain_encoding
from foveal.spans import Ints

__all__ = ["WHITESPACE", "Batch", "DocumentError", "Limits", "Recorder", "text_digest"]

Bools = npt.NDArray[np.bool_]

WHITESPACE = ("keep", "merge", "strip")
"""How white space counts: as it is, runs as one, or not in text nodes that hold nothing else."""

_BLANK = " \t\n\r"
"""White space as XML defines it; a no-break space is none."""
_BLANKS = re.compile(f"[{_BLANK}]+")

_CHUNK = 1 << 19
"""Bytes that are parsed between two looks at what they made."""
_SMALL = 1 << 20
"""Bytes of a document that cannot do much harm: its elements are looked at when it is parsed."""


@dataclass(frozen=True)
class Batch:
    """The elements of some documents, level by level, in document order within a level.

    Paths are numbered within the batch: path ``i`` is the ``ordinal[i]``-th ``tags[tag[i]]`` child
    of ``parent[i]`` (-1: the document itself), and a parent comes before its children.
    """

    documents: tuple[str, ...]
    lengths: Ints
    digests: tuple[bytes, ...]
    document: Ints
    path: Ints
    start: Ints
    end: Ints
    parent: Ints
    tag: Ints
    ordinal: Ints
    tags: tuple[str, ...]

    def only(self, kept: Bools) -> Batch:
        """The same without some of the documents, and without the paths that only they have."""
        if kept.all():
            return self
        own = kept[self.document]
        used = np.zeros(len(self.parent), dtype=bool)
        used[self.path[own]] = True
        number = np.cumsum(used) - 1
        return replace(
            self,
            documents=tuple(compress(self.documents, kept)),
            lengths=self.lengths[kept],
            digests=tuple(compress(self.digests, kept)),
            document=(np.cumsum(kept) - 1)[self.document[own]],
            path=number[self.path[own]],
            start=self.start[own],
            end=self.end[own],
            parent=np.where(self.parent < 0, -1, number[self.parent])[used],
            tag=self.tag[used],
            ordinal=self.ordinal[used],
        )


def text_digest(text: str) -> bytes:
    """The hash by which a document's text is recognised."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Recorder:
    """Takes notes of documents, one after the other, and turns them into a batch.

    Texts themselves are not kept; `on_text` is called with the text of each document.

    >>> recorder = Recorder()
    >>> recorder.add("d", b"<a>x<b>yz</b><b/></a>")
    >>> batch = recorder.batch()
    >>> batch.start.tolist(), batch.end.tolist(), batch.ordinal[batch.path].tolist()
    ([0, 1, 3], [3, 3, 3], [1, 1, 2])
    """

    def __init__(
        self,
        *,
        whitespace: str = "keep",
        limits: Limits | None = None,
        on_text: Callable[[str], object] | None = None,
    ) -> None:
        self.whitespace = whitespace
        self.limits = limits or Limits()
        self.on_text = on_text
        self._clear()

    def _clear(self) -> None:
        """Begin a batch."""
        self._names: list[str] = []
        self._digests: list[bytes] = []
        self._codes: defaultdict[str, int] = defaultdict(count().__next__)
        """A number for every tag."""
        self._name_sizes = array("q")
        """Characters of each tag."""
        self._longest_name = 0
        self._tags = array("q")
        """The tag of each opening."""
        self._marks = array("q")
        """Pieces of the document's text before each tag; the complement where the tag closes."""
        self._sizes = array("q")
        """Characters of each piece of text."""
        self._first_tag = [0]
        self._first_piece = [0]

    def add(self, name: str, data: bytes, *, name_tag: str | None = None) -> None:
        """Parse one document; a document that fails leaves no trace.

        With `name_tag`, the text of the first such element is the document's name instead.
        """
        known = len(self._codes)
        try:
            pieces = self._parse(data)
            self._check_paths(len(data))
            if name_tag is not None:
                name = self._named(name_tag, pieces)
            _check_name(name)
            self._add_text(name, pieces)
        except (DocumentError, MemoryError):
            self._forget(known)
            raise

    def _forget(self, known: int) -> None:
        """Take back the notes of the last document, and the tags beyond those known before it."""
        del self._tags[self._first_tag[-1] :]
        del self._marks[2 * self._first_tag[-1] :]
        del self._sizes[self._first_piece[-1] :]
        del self._name_sizes[known:]
        while len(self._codes) > known:
            self._codes.popitem()
        self._codes.default_factory = count(known).__next__

    def add_text(self, name: str, text: str) -> None:
        """A document of plain text: one element that holds it all."""
        _check_name(name)
        known = len(self._codes)
        self._tags.append(self._codes["text"])
        self._marks.extend((0, ~1))
        try:
            self._add_text(name, [text])
        except MemoryError:
            self._forget(known)
            raise

    def _add_text(self, name: str, pieces: list[str]) -> None:
        pieces = self._counted(pieces)
        self._sizes.extend(map(len, pieces))
        text = "".join(pieces)
        digest = text_digest(text)
        if self.on_text is not None:
            self.on_text(text)
        # From here on nothing takes memory worth mentioning: the document is noted as a whole.
        self._names.append(name)
        self._digests.append(digest)
        self._first_tag.append(len(self._tags))
        self._first_piece.append(len(self._sizes))

    def _parse(self, data: bytes) -> list[str]:
        known = len(self._codes)
        encoding = in_utf32(data)
        try:
            if encoding is None:
                return self._checked(data)
        except ValueError:  # of several bytes per character, which expat leaves to others
            self._forget(known)
        return self._checked(transcoded(data, encoding), "utf-8")

    def _checked(self, data: bytes, encoding: str | None = None) -> list[str]:
        """The text of a document that keeps to the limits.

        A small one is parsed without looking, and once more only if it turns out to be wrong: to
        tell where.
        """
        known = len(self._codes)
        careful = len(data) > min(_SMALL, self.limits.attribute)
        failure = None
        try:
            pieces = self._run_expat(data, encoding, careful=careful)
        except DocumentError as error:
            failure = error
        if not careful and self._is_excessive(len(data)):
            self._forget(known)
            return self._run_expat(data, encoding, careful=True)
        if failure is not None:
            raise failure
        return pieces

    def _run_expat(self, data: bytes, encoding: str | None, *, careful: bool) -> list[str]:
        pieces: list[str] = []
        names: dict[str, Any] = {}
        parser = expat.ParserCreate(encoding, None, names)

        def fail(message: str) -> NoReturn:
            raise DocumentError(message, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)

        def declared(_version: str, encoding: str | None, _standalone: int) -> None:
            problem = explain_encoding(encoding)
            if problem is not None:
                fail(problem)

        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.specified_attributes = True
        # Undeclared entities are reported instead of refused, as if a DTD that is never read
        # might declare them; no external entity is opened.
        parser.UseForeignDTD(True)  # noqa: FBT003 - expat's signature
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        watched = self._watched(pieces, len(data), fail)
        opening, closing = watched if careful else (self._opening(pieces), self._closing(pieces))
        handlers: dict[str, Callable[..., Any]] = {
            "XmlDeclHandler": declared,
            "StartElementHandler": opening,
            "EndElementHandler": closing,
            "CharacterDataHandler": pieces.append,
            "SkippedEntityHandler": standard_entity(pieces, self._marks, data, fail),
            "ExternalEntityRefHandler": external_entity(fail),
            "AttlistDeclHandler": declared_attribute(fail),
            "EntityDeclHandler": self._entity_declared(parser, pieces, watched, len(data), fail),
        }
        for name, handler in handlers.items():
            setattr(parser, name, handler)
        try:
            self._feed(parser, data, names, fail)
        finally:
            for name in handlers:  # which hold the parser that holds them
                setattr(parser, name, None)
        return pieces

    def _feed(
        self, parser: expat.XMLParserType, data: bytes, names: dict[str, Any], fail: Fail
    ) -> None:
        """Parse a document bit by bit, so that nothing grows unseen."""
        first, seen = self._first_tag[-1], 0
        view = memoryview(data)
        for begin in range(0, max(len(data), 1), _CHUNK):
            end = begin + _CHUNK
            try:
                parser.Parse(view[begin:end], end >= len(data))
            except expat.ExpatError as error:
                message = expat.errors.messages[error.code]
                if message == expat.errors.XML_ERROR_NO_ELEMENTS and len(self._tags) > first:
                    message = "the document breaks off here, before its root element is closed"
                raise DocumentError(message, error.lineno, error.offset + 1) from None
            finally:
                check_names(islice(names, seen, None), data, fail)
            if len(names) > NAMES:
                fail(f"more than {NAMES} different names of tags, attributes and entities")
            seen = len(names)
            if end < len(data):
                check_pending(data, parser.CurrentByteIndex, end, self.limits, fail)
                if end > self.limits.markup and len(self._tags) == first:
                    fail(f"no element begins within the first {self.limits.markup} bytes")

    def _opening(self, pieces: list[str]) -> Callable[[str, list[str]], None]:
        """Notes an element."""
        mark, note, codes = self._marks.append, self._tags.append, self._codes

        def opening(tag: str, _attributes: list[str]) -> None:
            mark(len(pieces))
            note(codes[tag])

        return opening

    def _closing(self, pieces: list[str]) -> Callable[[str], None]:
        mark = self._marks.append

        def closing(_tag: str) -> None:
            mark(~len(pieces))

        return closing

    def _watched(
        self, pieces: list[str], size: int, fail: Fail
    ) -> tuple[Callable[[str, list[str]], None], Callable[[str], None]]:
        """Notes elements, and refuses them where they are too deep, too long or too many."""
        tags, limits = self._tags, self.limits
        mark, note, codes = self._marks.append, tags.append, self._codes
        deepest, longest, most = limits.depth, limits.attribute, limits.elements_of(size)
        last = self._first_tag[-1] + most
        depth = 0

        def opening(tag: str, attributes: list[str]) -> None:
            nonlocal depth
            depth += 1
            if depth > deepest:
                fail(f"elements are nested more than {deepest} deep")
            if attributes and max(map(len, attributes)) > longest:
                fail(f"an attribute of <{tag}> has more than {longest} characters")
            if len(tags) >= last:
                fail(f"more than {most} elements in a document of {size} bytes")
            mark(len(pieces))
            note(codes[tag])

        def closing(_tag: str) -> None:
            nonlocal depth
            depth -= 1
            mark(~len(pieces))

        return opening, closing

    def _is_excessive(self, size: int) -> bool:
        """Whether the last document has more elements, or deeper ones, than it may."""
        elements = len(self._tags) - self._first_tag[-1]
        if elements <= self.limits.depth:
            return elements > self.limits.elements_of(size)
        deepest = int(levels(self._marks_of_last() < 0).max())
        return deepest > self.limits.depth or elements > self.limits.elements_of(size)

    def _entity_declared(
        self,
        parser: expat.XMLParserType,
        pieces: list[str],
        watched: tuple[Callable[[str, list[str]], None], Callable[[str], None]],
        size: int,
        fail: Fail,
    ) -> Callable[..., None]:
        """From its first entity on, watch what entities make of a document.

        Expat's own protection lets 8 MB pass, and more than that in large documents; and it calls
        itself for an entity within an entity, until the stack ends.
        """
        left, nested = size + self.limits.expansion, 0
        opening, closing = watched

        def spend(characters: int) -> None:
            nonlocal left
            left -= characters
            if left < 0:
                most = self.limits.expansion
                fail(f"entities add more than {most} characters to the document")

        def watched_opening(tag: str, attributes: list[str]) -> None:
            spend(len("</>") + len(tag) + sum(map(len, attributes)))
            opening(tag, attributes)

        def watched_text(text: str) -> None:
            spend(len(text))
            pieces.append(text)

        def declared(_name: str, _parameter: bool, value: str | None, *_: object) -> None:  # noqa: FBT001 - expat's signature
            nonlocal nested
            parser.StartElementHandler, parser.EndElementHandler = watched_opening, closing
            parser.CharacterDataHandler = watched_text
            nested += value is not None and "&" in value
            if nested > self.limits.depth:
                fail(f"more than {self.limits.depth} entities refer to entities")

        return declared

    def _check_paths(self, size: int) -> None:
        """Refuse the last document if its paths are too long when all of them are written."""
        new = islice(reversed(self._codes), len(self._codes) - len(self._name_sizes))
        added = [len(tag) for tag in new]
        self._name_sizes.extend(reversed(added))
        self._longest_name = max([self._longest_name, *added])
        elements = len(self._tags) - self._first_tag[-1]
        most = self.limits.paths_of(size)
        longest = elements * (self._longest_name + len(f"/[{elements}]"))
        # Most documents have too few elements for such paths, and most others are too flat.
        if longest * min(elements, self.limits.depth) <= most:
            return
        marks = self._marks_of_last()
        if longest * int(levels(marks < 0).max()) > most:
            tag = np.array(self._tags[self._first_tag[-1] :], dtype=np.int64)
            check_paths(marks, tag, np.array(self._name_sizes, dtype=np.int64), most)

    def _marks_of_last(self) -> Ints:
        return np.array(self._marks[2 * self._first_tag[-1] :], dtype=np.int64)

    def _named(self, tag: str, pieces: list[str]) -> str:
        """The text of the first element of that tag."""
        first = self._first_tag[-1]
        try:
            number = self._tags.index(self._codes[tag], first) - first
        except ValueError:
            raise DocumentError(f"no <{tag}> element to name the document by") from None
        marks = self._marks_of_last()
        opened = np.flatnonzero(marks >= 0)[number]
        levels = np.cumsum(np.where(marks < 0, -1, 1))[opened:]
        closed = opened + np.argmax(levels < levels[0])
        name = "".join(pieces[marks[opened] : ~marks[closed]]).strip()
        if not name:
            raise DocumentError(f"the first <{tag}> element holds no name")
        return name

    def _counted(self, pieces: list[str]) -> list[str]:
        """The pieces of the last document as its white space counts; as many as there were."""
        if self.whitespace == "keep":
            return pieces
        if self.whitespace == "merge":
            return _merged(pieces)
        marks = self._marks_of_last()
        node = np.unique(np.where(marks < 0, ~marks, marks))
        of_piece = np.searchsorted(node, np.arange(len(pieces)), side="right").tolist()
        full = {n for n, piece in zip(of_piece, pieces, strict=True) if piece.strip(_BLANK)}
        return [p if n in full else "" for n, p in zip(of_piece, pieces, strict=True)]

    def batch(self) -> Batch:
        """What was recorded so far; the recorder is empty afterwards."""
        first_tag = np.array(self._first_tag, dtype=np.int64)
        first_piece = np.array(self._first_piece, dtype=np.int64)
        positions = np.zeros(len(self._sizes) + 1, dtype=np.int64)
        np.cumsum(np.array(self._sizes, dtype=np.int64), out=positions[1:])
        base = positions[first_piece]
        of_element = np.repeat(np.arange(len(self._names)), np.diff(first_tag))
        marks = np.array(self._marks, dtype=np.int64)
        closes = marks < 0
        opening, closing, level = tree(closes)
        # The number of an element in document order is that of openings before it.
        number = (np.cumsum(~closes) - 1)[opening]
        document = of_element[number]
        codes, tag = distinct(np.array(self._tags, dtype=np.int64))
        tags = list(self._codes)
        path, table = number_paths(parents(opening, level), tag[number], level, len(codes))
        piece, origin = first_piece[document], base[document]
        batch = Batch(
            documents=tuple(self._names),
            lengths=np.diff(base),
            digests=tuple(self._digests),
            document=document,
            path=path,
            start=positions[piece + marks[opening]] - origin,
            end=positions[piece + ~marks[closing]] - origin,
            parent=table[0],
            tag=table[1],
            ordinal=table[2],
            tags=tuple(tags[code] for code in codes.tolist()),
        )
        self._clear()
        return batch


def _check_name(name: str) -> None:
    if not name:
        raise DocumentError("the document's name is empty")
    if "\n" in name:
        raise DocumentError("the document's name holds a line break")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DocumentError("the document's name is not UTF-8") from None


def _merged(pieces: list[str]) -> list[str]:
    """White space as single blanks, also across the tags between text nodes."""
    merged, after_blank = [], False
    for piece in pieces:
        text = _BLANKS.sub(" ", piece)
        merged.append(text.removeprefix(" ") if after_blank else text)
        after_blank = text.endswith(" ") if text else after_blank
    return merged
