"""Documents as elements: the path, start and end of each on the axis of its document's text.

The text is XPath ``string(/*)``: the character data of the root element in document order,
entities resolved, comments and processing instructions left out.

The parser's calls only take notes (which tag, after how many pieces of text). The tree is worked
out with arrays, from the notes of a whole batch of documents at once.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import compress, count, islice, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.files.xml import CHUNK, DocumentError, Limits, parse_xml
from foveal.spans import Ints

__all__ = ["WHITESPACE", "Batch", "PathTable", "Recorder", "distinct", "text_digest"]

Bools = npt.NDArray[np.bool_]

WHITESPACE = ("keep", "merge", "strip")
"""How white space counts: as it is, runs as one, or not in text nodes that hold nothing else."""
DIGEST = 16
"""Bytes of the hash of a text."""
PATHS = 10_000_000
"""Characters that the paths of all elements of any document may have together."""
PATHS_PER_BYTE = 16
"""A longer document may have so many more for each of its bytes."""

_BLANK = " \t\n\r"
"""White space as XML defines it; a no-break space is not white space."""
_BLANKS = re.compile(f"[{_BLANK}]+")


class PathTable(NamedTuple):
    """Distinct paths by number: path ``i`` is the ``ordinal[i]``-th ``tags[tag[i]]`` child of path
    ``parent[i]`` (-1: the document itself). A parent comes before its children.
    """

    parent: Ints
    tag: Ints
    ordinal: Ints
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Batch:
    """The elements of some documents: the document, path, start and end of each."""

    documents: tuple[str, ...]
    lengths: Ints
    digests: bytes
    document: Ints
    path: Ints
    start: Ints
    end: Ints
    paths: PathTable

    def only(self, kept: Bools) -> Batch:
        """Return the batch without some of the documents."""
        if kept.all():
            return self
        own = kept[self.document]
        digests = np.frombuffer(self.digests, dtype=np.uint8).reshape(-1, DIGEST)
        return replace(
            self,
            documents=tuple(compress(self.documents, kept)),
            lengths=self.lengths[kept],
            digests=digests[kept].tobytes(),
            document=(np.cumsum(kept) - 1)[self.document[own]],
            path=self.path[own],
            start=self.start[own],
            end=self.end[own],
        )


def text_digest(text: str) -> bytes:
    """Return the hash by which a document's text is recognised."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()


class Recorder:
    """Records documents, one after the other, and turns them into a batch.

    Texts themselves are not kept; `on_text` is called with the text of each document.

    >>> recorder = Recorder()
    >>> recorder.add("d", b"<a>x<b>yz</b><b/></a>")
    >>> batch = recorder.batch()
    >>> batch.start.tolist(), batch.end.tolist(), batch.paths.ordinal[batch.path].tolist()
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
        self._longest_tag = 0
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
            self._check_paths(len(data), known)
            if name_tag is not None:
                name = self._find_name(name_tag, pieces)
            _check_name(name)
            self._add_text(name, pieces)
        except (DocumentError, MemoryError):
            self._forget(known)
            raise

    def add_text(self, name: str, text: str) -> None:
        """Add a document of plain text: one element that holds it all."""
        _check_name(name)
        known = len(self._codes)
        self._tags.append(self._codes["text"])
        self._marks.extend((0, ~1))
        try:
            self._add_text(name, [text])
        except MemoryError:
            self._forget(known)
            raise

    def _forget(self, known: int) -> None:
        """Take back the notes of the last document, and the tags beyond those known before it."""
        del self._tags[self._first_tag[-1] :]
        del self._marks[2 * self._first_tag[-1] :]
        del self._sizes[self._first_piece[-1] :]
        while len(self._codes) > known:
            self._codes.popitem()
        self._codes.default_factory = count(known).__next__

    def _parse(self, data: bytes) -> list[str]:
        """Note the tags of a document, and return the pieces of its text.

        Documents are parsed without checks at each tag, and once more only if one exceeds a limit:
        to tell where.
        """
        known = len(self._codes)
        watch = len(data) > self.limits.attribute < 2 * CHUNK
        try:
            pieces = self._run_parser(data, watch=watch)
            excessive = not watch and self._is_excessive(len(data))
        except DocumentError as error:
            excessive = error.code == "xml.limit" or self._is_excessive(len(data))
            if watch or not excessive:
                raise
        if excessive:
            self._forget(known)
            pieces = self._run_parser(data, watch=True)
        return pieces

    def _run_parser(self, data: bytes, *, watch: bool) -> list[str]:
        pieces: list[str] = []
        first, limits = self._first_tag[-1], self.limits
        tags, marks, most = self._tags, self._marks, limits.max_elements(len(data))
        mark, note, codes = self._marks.append, self._tags.append, self._codes

        def opening(tag: str, _attributes: list[str]) -> None:
            mark(len(pieces))
            note(codes[tag])

        def closing(_tag: str) -> None:
            mark(~len(pieces))

        def check_chunk(pending: int) -> None:
            depth = 2 * len(tags) - len(marks)
            if (
                depth > limits.depth
                or len(tags) - first > most
                or pending > limits.attribute - CHUNK
            ):
                raise DocumentError("xml.limit", "a limit is exceeded")

        parse_xml(
            data,
            opening,
            closing,
            pieces.append,
            limits=self.limits,
            watch=watch,
            listed_attributes=True,
            on_chunk=None if watch else check_chunk,
        )
        return pieces

    def _add_text(self, name: str, pieces: list[str]) -> None:
        if self.whitespace == "merge":
            pieces = _merge_blanks(pieces)
        elif self.whitespace == "strip":
            marks = self._last_marks()
            node = np.unique(np.where(marks < 0, ~marks, marks))
            of_piece = np.searchsorted(node, np.arange(len(pieces)), side="right").tolist()
            full = {n for n, piece in zip(of_piece, pieces, strict=True) if piece.strip(_BLANK)}
            pieces = [p if n in full else "" for n, p in zip(of_piece, pieces, strict=True)]
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

    def _last_marks(self) -> Ints:
        """Return the marks of the last document."""
        return np.array(self._marks[2 * self._first_tag[-1] :], dtype=np.int64)

    def _is_excessive(self, size: int) -> bool:
        """Return True if the last document has too many elements, or too deep ones."""
        elements, limits = len(self._tags) - self._first_tag[-1], self.limits
        if elements > limits.max_elements(size):
            return True
        return elements > limits.depth and int(_levels(self._last_marks() < 0).max()) > limits.depth

    def _check_paths(self, size: int, known: int) -> None:
        """Refuse a document whose elements are few and short, but whose paths are endless.

        Each path repeats those of all elements above it: a million leaves below a thousand
        elements make gigabytes of paths of a document of megabytes.
        """
        new = islice(reversed(self._codes), len(self._codes) - known)
        self._longest_tag = max(self._longest_tag, *map(len, new), 0)
        elements = len(self._tags) - self._first_tag[-1]
        most = PATHS + PATHS_PER_BYTE * size
        longest = elements * (self._longest_tag + len(f"/[{elements}]"))
        # Most documents have too few elements for such paths, and most others are too flat.
        if longest * min(elements, self.limits.depth) <= most:
            return
        marks = self._last_marks()
        if longest * int(_levels(marks < 0).max()) <= most:
            return
        name_sizes = np.array([len(tag) for tag in self._codes], dtype=np.int64)
        opening, closing, level = _tree(marks < 0)
        tag = np.array(self._tags[self._first_tag[-1] :], dtype=np.int64)
        own = tag[(np.cumsum(marks >= 0) - 1)[opening]]
        ordinal = _ordinals(_parents(opening, level), own, len(name_sizes))
        digits = np.searchsorted(10 ** np.arange(1, 19), ordinal, side="right") + 1
        # A step is in the paths of its element and of all below it.
        below = (closing - opening + 1) // 2
        if int(((name_sizes[own] + len("/[]") + digits) * below).sum()) > most:
            message = f"the paths of its elements have more than {most} characters together"
            raise DocumentError("xml.limit", message)

    def _find_name(self, tag: str, pieces: list[str]) -> str:
        """Return the text of the first element of that tag."""
        first = self._first_tag[-1]
        try:
            number = self._tags.index(self._codes[tag], first) - first
        except ValueError:
            message = f"no <{tag}> element to name the document by"
            raise DocumentError("document.name", message) from None
        marks = self._last_marks()
        opened = np.flatnonzero(marks >= 0)[number]
        levels = np.cumsum(np.where(marks < 0, -1, 1))[opened:]
        closed = opened + np.argmax(levels < levels[0])
        name = "".join(pieces[marks[opened] : ~marks[closed]]).strip()
        if not name:
            raise DocumentError("document.name", f"the first <{tag}> element holds no name")
        return name

    def batch(self) -> Batch:
        """Return what was recorded so far; the recorder is empty afterwards.

        Elements come level by level, in document order within a level.
        """
        first_tag = np.array(self._first_tag, dtype=np.int64)
        first_piece = np.array(self._first_piece, dtype=np.int64)
        positions = np.zeros(len(self._sizes) + 1, dtype=np.int64)
        np.cumsum(np.array(self._sizes, dtype=np.int64), out=positions[1:])
        base = positions[first_piece]
        of_element = np.repeat(np.arange(len(self._names)), np.diff(first_tag))
        marks = np.array(self._marks, dtype=np.int64)
        closes = marks < 0
        opening, closing, level = _tree(closes)
        # The number of an element in document order is that of openings before it.
        number = (np.cumsum(~closes) - 1)[opening]
        document = of_element[number]
        codes, tag = distinct(np.array(self._tags, dtype=np.int64))
        tags = list(self._codes)
        path, table = _number_paths(_parents(opening, level), tag[number], level, len(codes))
        piece, origin = first_piece[document], base[document]
        batch = Batch(
            documents=tuple(self._names),
            lengths=np.diff(base),
            digests=b"".join(self._digests),
            document=document,
            path=path,
            start=positions[piece + marks[opening]] - origin,
            end=positions[piece + ~marks[closing]] - origin,
            paths=PathTable(*table, tuple(tags[code] for code in codes.tolist())),
        )
        self._clear()
        return batch


def _check_name(name: str) -> None:
    if not name:
        raise DocumentError("document.name", "the document's name is empty")
    if "\n" in name:
        raise DocumentError("document.name", "the document's name holds a line break")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DocumentError("document.name", "the document's name is not UTF-8") from None


def _merge_blanks(pieces: list[str]) -> list[str]:
    """Return pieces with white space as single blanks, also across the tags between them."""
    merged, after_blank = [], False
    for piece in pieces:
        text = _BLANKS.sub(" ", piece)
        merged.append(text.removeprefix(" ") if after_blank else text)
        after_blank = text.endswith(" ") if text else after_blank
    return merged


# -- trees: tags in document order, which the parser has checked to be nested properly -------------


def _levels(closes: Bools) -> Ints:
    """Return the depth of each tag, from 1; a closing tag is as deep as the opening one."""
    return np.cumsum(np.where(closes, -1, 1)) + closes


def _tree(closes: Bools) -> tuple[Ints, Ints, Ints]:
    """Return opening tag, closing tag and level of every element, level by level.

    At any level opening and closing tags alternate.
    """
    level = _levels(closes)
    # Small numbers are sorted much faster.
    order = np.argsort(level.astype(np.min_scalar_type(level.max(initial=0))), kind="stable")
    return order[::2], order[1::2], level[order[::2]]


def _parents(opening: Ints, level: Ints) -> Ints:
    """Return the parent of each element, -1 for roots: the last element one level up before it."""
    place = level * (opening.max(initial=0) + 1) + opening
    above = np.searchsorted(place, place - opening.max(initial=0) - 1) - 1
    return np.where(level > 1, above, -1)


def distinct(values: Ints) -> tuple[Ints, Ints]:
    """Return the distinct values in order, and the number of each value among them.

    `numpy.unique` takes many times as long for large arrays.
    """
    order = np.argsort(values)
    ordered = values[order]
    opens = np.ones(len(values), dtype=bool)
    opens[1:] = ordered[1:] != ordered[:-1]
    number = np.empty(len(values), dtype=np.int64)
    number[order] = np.cumsum(opens) - 1
    return ordered[opens], number


def _number_paths(
    parent: Ints, tag: Ints, level: Ints, tags: int
) -> tuple[Ints, tuple[Ints, Ints, Ints]]:
    """Number the distinct paths level by level: the path of each element, and the table."""
    ordinal = _ordinals(parent, tag, tags)
    most = int(ordinal.max(initial=0)) + 1
    steps, step = distinct(tag * most + ordinal)
    path = np.empty(len(parent), dtype=np.int64)
    bounds = np.flatnonzero(np.diff(level, prepend=0, append=0))
    keys, known = [], 0
    for first, last in pairwise(bounds.tolist()):
        here = slice(first, last)
        above = path[parent[here]] if first else np.full(last, -1, dtype=np.int64)
        new, number = distinct((above + 1) * len(steps) + step[here])
        path[here] = known + number
        keys.append(new)
        known += len(new)
    key = np.concatenate(keys) if keys else np.zeros(0, dtype=np.int64)
    above, of_path = np.divmod(key, max(len(steps), 1))
    return path, (above - 1, steps[of_path] // most, steps[of_path] % most)


def _ordinals(parent: Ints, tag: Ints, tags: int) -> Ints:
    """Return the position of each element among its siblings of the same tag, from 1."""
    # Roots of different documents are not siblings.
    number = np.arange(len(parent))
    key = np.where(parent < 0, -1 - number, parent) * max(tags, 1) + tag
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    opens = np.ones(len(key), dtype=bool)
    opens[1:] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(opens, number, 0))
    ordinal = np.empty(len(key), dtype=np.int64)
    ordinal[order] = number - first + 1
    return ordinal
