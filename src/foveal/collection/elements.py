"""XML documents as elements: the path, start and end of each on the axis of its document's text.

The text is XPath ``string(/*)``: the character data of the root element in document order,
entities resolved, comments and processing instructions left out. Nothing a document names is ever
fetched, and limits end hostile documents early.

Expat's calls only take notes (which tag, after how many pieces of text, after how many closings);
the tree is worked out from the notes of a whole batch of documents at once, with arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from html.entities import name2codepoint
from xml.parsers import expat

import numpy as np

from foveal.spans import Ints

__all__ = ["WHITESPACE", "Batch", "DocumentError", "Limits", "Recorder", "text_digest"]

WHITESPACE = ("keep", "merge", "strip")
"""How white space counts: as it is, runs as one, or not in text nodes that hold nothing else."""


class DocumentError(Exception):
    """A document that cannot be indexed: what is wrong, line and column where known."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message, line, column)
        self.message, self.line, self.column = message, line, column

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        return f"line {self.line}, column {self.column}: {self.message}"


@dataclass(frozen=True)
class Limits:
    """Where a document stops being one.

    Parameters
    ----------
    depth : int
        Elements within elements.
    attribute : int
        Characters of one attribute value.
    """

    depth: int = 1000
    attribute: int = 1_000_000


@dataclass(frozen=True)
class Batch:
    """The elements of some documents, in document order.

    Paths are numbered within the batch: path ``i`` is the ``ordinal[i]``-th ``tags[tag[i]]`` child
    of ``parent[i]`` (-1: the document itself), and a parent comes before its children.
    """

    documents: tuple[str, ...]
    lengths: Ints
    digests: tuple[bytes, ...]
    bounds: Ints
    path: Ints
    start: Ints
    end: Ints
    parent: Ints
    tag: Ints
    ordinal: Ints
    tags: tuple[str, ...]


def text_digest(text: str) -> bytes:
    """The hash by which a document's text is recognised."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Recorder:
    """Takes notes of documents, one after the other, and turns them into a batch.

    >>> recorder = Recorder()
    >>> recorder.add("d", b"<a>x<b>yz</b><b/></a>")
    >>> batch = recorder.batch()
    >>> batch.start.tolist(), batch.end.tolist(), batch.ordinal[batch.path].tolist()
    ([0, 1, 3], [3, 3, 3], [1, 1, 2])
    """

    def __init__(self, *, whitespace: str = "keep", limits: Limits | None = None) -> None:
        self.whitespace = whitespace
        self.limits = limits or Limits()
        self._names: list[str] = []
        self._digests: list[bytes] = []
        self._tags: list[str] = []
        self._opened_after: list[int] = []
        """Pieces of text before each opening tag."""
        self._closed_before: list[int] = []
        """Closing tags before each opening tag."""
        self._closed_after: list[int] = []
        """Pieces of text before each closing tag."""
        self._sizes: list[int] = []
        """Characters of each piece of text."""
        self._first_tag: list[int] = [0]
        self._first_piece: list[int] = [0]

    def __len__(self) -> int:
        return len(self._names)

    @property
    def elements(self) -> int:
        return len(self._tags)

    def add(self, name: str, data: bytes, *, name_tag: str | None = None) -> None:
        """Parse one document; a document that fails leaves no trace.

        With `name_tag`, the text of the first such element is the document's name instead.
        """
        before = [len(self._tags), len(self._closed_after)]
        try:
            pieces = self._parse(data)
            self._check_depth(*before)
            if name_tag is not None:
                name = self._named(name_tag, pieces, before[0])
        except DocumentError:
            for note in (self._tags, self._opened_after, self._closed_before):
                del note[before[0] :]
            del self._closed_after[before[1] :]
            raise
        self._add_text(name, self._counted(pieces, *before))

    def _named(self, tag: str, pieces: list[str], first_tag: int) -> str:
        try:
            at = self._tags.index(tag, first_tag)
        except ValueError:
            raise DocumentError(f"no <{tag}> element to name the document by") from None
        first, last = self._opened_after[at], self._closed_after[self._closed_before[at]]
        offset = len(self._sizes)
        name = "".join(pieces[first - offset : last - offset]).strip()
        if not name or "\n" in name:
            raise DocumentError(f"the first <{tag}> element holds no name")
        return name

    def add_text(self, name: str, text: str) -> None:
        """A document of plain text: one element that holds it all."""
        self._tags.append("text")
        self._opened_after.append(len(self._sizes))
        self._closed_before.append(len(self._closed_after))
        self._closed_after.append(len(self._sizes) + 1)
        self._add_text(name, [text])

    def _add_text(self, name: str, pieces: list[str]) -> None:
        self._names.append(name)
        self._sizes.extend(map(len, pieces))
        self._digests.append(text_digest("".join(pieces)))
        self._first_tag.append(len(self._tags))
        self._first_piece.append(len(self._sizes))

    def _parse(self, data: bytes) -> list[str]:
        pieces: list[str] = []
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.ordered_attributes = True
        # Undeclared entities are reported instead of refused, as if a DTD that is never read
        # might declare them; no external entity is opened.
        parser.UseForeignDTD(True)  # noqa: FBT003 - expat's signature
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartElementHandler = self._opening(pieces, check=len(data) > self.limits.attribute)
        parser.EndElementHandler = self._closing(pieces)
        parser.CharacterDataHandler = pieces.append
        parser.SkippedEntityHandler = _standard_entity(pieces)
        parser.ExternalEntityRefHandler = _refuse_external
        try:
            parser.Parse(data, True)  # noqa: FBT003
        except expat.ExpatError as error:
            message = expat.errors.messages[error.code]
            raise DocumentError(message, error.lineno, error.offset + 1) from None
        except DocumentError as error:
            line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1
            raise DocumentError(error.message, line, column) from None
        except LookupError as error:
            raise DocumentError(f"encoding not known: {error}", 1, 1) from None
        return pieces

    def _opening(self, pieces: list[str], *, check: bool) -> Callable[[str, list[str]], None]:
        tag_noted, after_noted = self._tags.append, self._opened_after.append
        closed_noted, closed = self._closed_before.append, self._closed_after
        offset = len(self._sizes)
        most = self.limits.attribute

        def opening(tag: str, _attributes: list[str]) -> None:
            tag_noted(tag)
            after_noted(offset + len(pieces))
            closed_noted(len(closed))

        def checked(tag: str, attributes: list[str]) -> None:
            if any(len(value) > most for value in attributes[1::2]):
                raise DocumentError(f"an attribute of <{tag}> has more than {most} characters")
            opening(tag, attributes)

        return checked if check else opening

    def _closing(self, pieces: list[str]) -> Callable[[str], None]:
        noted, offset = self._closed_after.append, len(self._sizes)

        def closing(_tag: str) -> None:
            noted(offset + len(pieces))

        return closing

    def _check_depth(self, first_tag: int, first_closed: int) -> None:
        closed = np.array(self._closed_before[first_tag:], dtype=np.int64) - first_closed
        depth = np.arange(len(closed)) - closed
        if len(depth) and depth.max() >= self.limits.depth:
            raise DocumentError(f"elements are nested more than {self.limits.depth} deep")

    def _counted(self, pieces: list[str], first_tag: int, first_closed: int) -> list[str]:
        """The pieces of one document as its white space counts; as many as there were."""
        if self.whitespace == "merge":
            return _merged(pieces)
        if self.whitespace == "keep":
            return pieces
        offset = len(self._sizes)
        notes = [*self._opened_after[first_tag:], *self._closed_after[first_closed:]]
        node = np.unique(np.array(notes, dtype=np.int64)) - offset
        of_piece = np.searchsorted(node, np.arange(len(pieces)), side="right")
        full = {n for n, piece in zip(of_piece.tolist(), pieces, strict=True) if piece.strip()}
        return [p if n in full else "" for n, p in zip(of_piece.tolist(), pieces, strict=True)]

    def batch(self) -> Batch:
        """What was recorded so far; the recorder is empty afterwards."""
        positions = np.concatenate([[0], np.cumsum(np.array(self._sizes, dtype=np.int64))])
        opened = np.array(self._opened_after, dtype=np.int64)
        closed_before = np.array(self._closed_before, dtype=np.int64)
        closed = np.array(self._closed_after, dtype=np.int64)
        bounds = np.array(self._first_tag, dtype=np.int64)
        base = positions[np.array(self._first_piece, dtype=np.int64)]
        of_element = np.repeat(np.arange(len(self._names)), np.diff(bounds))
        order, depth, closing = _tree(closed_before)
        codes = {tag: i for i, tag in enumerate(dict.fromkeys(self._tags))}
        tag = np.array([codes[name] for name in self._tags], dtype=np.int64)
        path, table = _paths(_parents(order, depth), tag, depth, len(codes))
        batch = Batch(
            documents=tuple(self._names),
            lengths=np.diff(base),
            digests=tuple(self._digests),
            bounds=bounds,
            path=path,
            start=positions[opened] - base[of_element],
            end=positions[closed[closing]] - base[of_element],
            parent=table[0],
            tag=table[1],
            ordinal=table[2],
            tags=tuple(codes),
        )
        self.__init__(whitespace=self.whitespace, limits=self.limits)  # type: ignore[misc]
        return batch


def _standard_entity(pieces: list[str]) -> Callable[[str, bool], None]:
    def entity(name: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat's signature
        if is_parameter:
            return
        if name not in name2codepoint:
            raise DocumentError(f"entity &{name}; is not declared and not a standard one")
        pieces.append(chr(name2codepoint[name]))

    return entity


def _refuse_external(
    _context: str | None, _base: str | None, system: str | None, public: str | None
) -> int:
    raise DocumentError(
        f"the text refers to the external entity {(system or public)!r}; nothing is fetched"
    )


def _merged(pieces: list[str]) -> list[str]:
    """White space as single blanks, also across the tags between text nodes."""
    merged, after_blank = [], False
    for piece in pieces:
        words = " ".join(piece.split())
        before = " " if piece[0].isspace() and not after_blank else ""
        after_blank = piece[-1].isspace()
        merged.append(f"{before}{words}{' ' if words and after_blank else ''}")
    return merged


def _tree(closed_before: Ints) -> tuple[Ints, Ints, Ints]:
    """Order of elements by depth, their depths, and the closing tag of each.

    At any depth openings and closings alternate, so the k-th opening at a depth belongs to the
    k-th closing there.
    """
    n = len(closed_before)
    number = np.arange(n)
    depth = number - closed_before
    opened_before = np.searchsorted(closed_before, number, side="right")
    closing_depth = opened_before - number - 1
    order = np.argsort(depth, kind="stable")
    closing = np.empty(n, dtype=np.int64)
    closing[order] = np.argsort(closing_depth, kind="stable")
    return order, depth, closing


def _parents(order: Ints, depth: Ints) -> Ints:
    """The parent of each element, -1 for roots: the last element one level up before it."""
    n = len(depth)
    place = depth[order] * n + order
    parent = np.searchsorted(place, (depth - 1) * n + np.arange(n)) - 1
    return np.where(depth > 0, order[np.maximum(parent, 0)] if n else parent, -1)


def _paths(parent: Ints, tag: Ints, depth: Ints, tags: int) -> tuple[Ints, tuple[Ints, Ints, Ints]]:
    """Number the distinct paths level by level: the path of each element, and the table."""
    ordinal = _ordinals(parent, tag, tags)
    path = np.full(len(parent), -1, dtype=np.int64)
    columns: list[tuple[Ints, Ints, Ints]] = []
    known = 0
    for level in range(int(depth.max(initial=-1)) + 1):
        here = np.flatnonzero(depth == level)
        above = path[parent[here]] if level else np.full(len(here), -1, dtype=np.int64)
        order = np.lexsort((ordinal[here], tag[here], above))
        key = np.stack([above[order], tag[here][order], ordinal[here][order]])
        opens = np.ones(len(here), dtype=bool)
        opens[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
        path[here[order]] = known + np.cumsum(opens) - 1
        columns.append((key[0][opens], key[1][opens], key[2][opens]))
        known += int(opens.sum())
    table = tuple(np.concatenate([c[i] for c in columns] or [parent]) for i in range(3))
    return path, (table[0], table[1], table[2])


def _ordinals(parent: Ints, tag: Ints, tags: int) -> Ints:
    """How many siblings of the same tag stand before each element, itself included."""
    # Roots of different documents are not siblings.
    family = np.where(parent < 0, -1 - np.arange(len(parent)), parent)
    key = family * max(tags, 1) + tag
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    opens = np.ones(len(key), dtype=bool)
    opens[1:] = sorted_key[1:] != sorted_key[:-1]
    number = np.arange(len(key))
    first = np.maximum.accumulate(np.where(opens, number, 0))
    ordinal = np.empty(len(key), dtype=np.int64)
    ordinal[order] = number - first + 1
    return ordinal
