"""Documents as elements: the path, start and end of each on the axis of its document's text.

The text is XPath ``string(/*)``: the character data of the root element in document order,
entities resolved, comments and processing instructions left out.

The parser only notes which tag comes after how many pieces of text. The trees are worked out with
arrays, for a whole batch of documents at once.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np

from foveal.errors import Problem
from foveal.files.xml import DocumentError, Limits, parse_xml
from foveal.spans import Bools, Ints

# White space counts as it is, runs as one, or not in text nodes that hold nothing else.
WHITESPACE = ("keep", "merge", "strip")
DIGEST = 16  # bytes of the hash of a text

_MOST_CHARACTERS = (1 << 32) - 1
_BLANK = " \t\n\r"  # white space as XML defines it, without the no-break space
_BLANKS = re.compile(f"[{_BLANK}]+")
_BAD_NAME = re.compile("\\A\\Z|[\n\ud800-\udfff]")  # empty, of several lines, or not UTF-8


class PathTable(NamedTuple):
    """Distinct paths by number: path ``i`` is the ``ordinal[i]``-th ``tags[tag[i]]`` child of path
    ``parent[i]`` (-1: the document itself). A parent comes before its children.
    """

    parent: Ints
    tag: Ints
    ordinal: Ints
    tags: tuple[str, ...]


class Batch(NamedTuple):
    """The elements of some documents: the document, path, start and end of each.

    While an index is built, a batch also knows where its documents and failures come from,
    which documents have their name from within, how many bytes were read, and the share of the
    source that is behind when this batch is.
    """

    documents: tuple[str, ...]
    lengths: Ints
    digests: bytes
    document: Ints
    path: Ints
    start: Ints
    end: Ints
    paths: PathTable
    places: Sequence[str] = ()
    named_inside: Sequence[bool] = ()
    failures: Sequence[Problem] = ()
    size: int = 0
    done: float = 1.0


class Markup(NamedTuple):
    """The elements of one document in document order, with the attributes that were kept.

    The root has level 1; `attributes` belong to the number of an element.
    """

    tags: tuple[str, ...]
    level: Ints
    start: Ints
    end: Ints
    attributes: Mapping[int, Mapping[str, str]]


Keep = Callable[[str, Sequence[str]], Mapping[str, str] | None]
"""From a tag and its attributes (names and values in turn) to the attributes to keep."""


def text_digest(text: str) -> bytes:
    """Return the hash by which a document's text is recognised."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()


class Recorder:
    """Records documents, one after the other, and turns them into a batch; texts are not kept.

    With `keep`, `markup` returns attributes, too.
    """

    def __init__(
        self, *, whitespace: str = "keep", limits: Limits | None = None, keep: Keep | None = None
    ) -> None:
        self.whitespace, self.limits, self.keep = whitespace, limits or Limits(), keep
        self._kept: dict[int, Mapping[str, str]] = {}  # attributes, by element of the last document
        self._names: list[str] = []
        self._digests: list[bytes] = []
        self._codes: defaultdict[str, int] = defaultdict(count().__next__)  # numbers of tags
        self._tags = array("q")  # the tag of each opening
        # Pieces of the document's text before each tag; the complement where the tag closes.
        self._marks = array("q")
        self._sizes = array("q")  # characters of each piece of text
        self._first_tag, self._first_piece = [0], [0]

    def add(self, name: str, data: bytes | str, *, name_tag: str | None = None) -> str:
        """Add an XML document, or a text as one element, and return its text.

        With `name_tag`, the text of the first such element is the name of an XML document instead.
        A document that fails leaves no trace.
        """
        pieces: list[str] = []
        mark, note, codes, keep = self._marks.append, self._tags.append, self._codes, self.keep
        self._kept = {}

        def opening(tag: str, attributes: list[str]) -> None:
            if keep is not None and attributes and (kept := keep(tag, attributes)):
                self._kept[len(self._tags) - self._first_tag[-1]] = kept
            mark(len(pieces))
            note(codes[tag])

        def closing(_tag: str) -> None:
            mark(~len(pieces))

        try:
            if isinstance(data, str):
                opening("text", [])
                pieces = [data]
                closing("text")
            else:
                handlers = (opening, closing, pieces.append)
                parse_xml(data, *handlers, limits=self.limits, listed_attributes=True)
                name = name if name_tag is None else self._find_name(name_tag, pieces)
            return self._add_text(name, pieces)
        except DocumentError:
            del self._tags[self._first_tag[-1] :]
            del self._marks[2 * self._first_tag[-1] :]
            del self._sizes[self._first_piece[-1] :]
            raise

    def _add_text(self, name: str, pieces: list[str]) -> str:
        if _BAD_NAME.search(name):
            message = "the document's name is empty, holds a line break or is not UTF-8"
            raise DocumentError("document.name", message)
        if self.whitespace == "merge":
            # White space becomes single blanks, also across the tags between pieces.
            after_blank = False
            for i, piece in enumerate(pieces):
                text = _BLANKS.sub(" ", piece)
                pieces[i] = text.removeprefix(" ") if after_blank else text
                after_blank = text.endswith(" ") if text else after_blank
        elif self.whitespace == "strip":
            marks = np.array(self._marks[2 * self._first_tag[-1] :], dtype=np.int64)
            node = np.unique(np.where(marks < 0, ~marks, marks))
            of_piece = np.searchsorted(node, np.arange(len(pieces)), side="right").tolist()
            full = {n for n, piece in zip(of_piece, pieces, strict=True) if piece.strip(_BLANK)}
            pieces = [p if n in full else "" for n, p in zip(of_piece, pieces, strict=True)]
        self._sizes.extend(map(len, pieces))
        text = "".join(pieces)
        if len(text) > _MOST_CHARACTERS:
            message = f"the document has more than {_MOST_CHARACTERS} characters"
            raise DocumentError("document.size", message)
        self._digests.append(text_digest(text))
        self._names.append(name)
        self._first_tag.append(len(self._tags))
        self._first_piece.append(len(self._sizes))
        return text

    def _find_name(self, tag: str, pieces: list[str]) -> str:
        """Return the text of the first element of that tag."""
        first = self._first_tag[-1]
        try:
            number = self._tags.index(self._codes[tag], first) - first
        except ValueError:
            message = f"no <{tag}> element to name the document by"
            raise DocumentError("document.name", message) from None
        marks = np.array(self._marks[2 * first :], dtype=np.int64)
        opening, closing, _ = _tree(marks < 0)
        own = np.argsort(opening)[number]
        return "".join(pieces[marks[opening[own]] : ~marks[closing[own]]]).strip()

    def markup(self) -> Markup:
        """Return the elements of the last document in document order."""
        marks = np.array(self._marks[2 * self._first_tag[-2] :], dtype=np.int64)
        opening, closing, level = _tree(marks < 0)
        order = np.argsort(opening)
        positions = np.concatenate([[0], np.cumsum(self._sizes[self._first_piece[-2] :])])
        tags = list(self._codes)
        return Markup(
            tuple(tags[code] for code in self._tags[self._first_tag[-2] :]),
            level[order],
            positions[marks[opening[order]]],
            positions[~marks[closing[order]]],
            self._kept,
        )

    def batch(self) -> Batch:
        """Return the documents recorded since the recorder was made.

        Elements come level by level, in document order within a level.
        """
        first_piece = np.array(self._first_piece)
        positions = np.concatenate([[0], np.cumsum(self._sizes)])
        base = positions[first_piece]
        of_element = np.repeat(np.arange(len(self._names)), np.diff(self._first_tag))
        marks = np.array(self._marks, dtype=np.int64)
        closes = marks < 0
        opening, closing, level = _tree(closes)
        # The number of an element in document order is that of openings before it.
        number = (np.cumsum(~closes) - 1)[opening]
        document = of_element[number]
        codes, tag = distinct(np.array(self._tags, dtype=np.int64))
        tags = list(self._codes)
        # The parent of an element is the last one before it that is one level up.
        span = opening.max(initial=0) + 1
        place = level * span + opening
        parent = np.where(level > 1, np.searchsorted(place, place - span) - 1, -1)
        path, table = _number_paths(parent, tag[number], level, len(codes))
        piece, origin = first_piece[document], base[document]
        return Batch(
            documents=tuple(self._names),
            lengths=np.diff(base),
            digests=b"".join(self._digests),
            document=document,
            path=path,
            start=positions[piece + marks[opening]] - origin,
            end=positions[piece + ~marks[closing]] - origin,
            paths=PathTable(*table, tuple(tags[code] for code in codes.tolist())),
        )


# -- trees: tags in document order, which the parser has checked to be nested properly -------------


def _tree(closes: Bools) -> tuple[Ints, Ints, Ints]:
    """Return opening tag, closing tag and level (from 1) of every element, level by level.

    At any level opening and closing tags alternate.
    """
    level = np.cumsum(np.where(closes, -1, 1)) + closes
    # Small numbers are sorted much faster.
    order = np.argsort(level.astype(np.min_scalar_type(level.max(initial=0))), kind="stable")
    return order[::2], order[1::2], level[order[::2]]


def distinct(values: Ints) -> tuple[Ints, Ints]:
    """Return the distinct values in order, and the number of each value among them.

    `numpy.unique` takes many times as long for large arrays.
    """
    order = np.argsort(values)
    in_order, opens = values[order], np.ones(len(values), dtype=bool)
    opens[1:] = in_order[1:] != in_order[:-1]
    number = np.empty(len(values), dtype=np.int64)
    number[order] = np.cumsum(opens) - 1
    return in_order[opens], number


def _number_paths(
    parent: Ints, tag: Ints, level: Ints, tags: int
) -> tuple[Ints, tuple[Ints, Ints, Ints]]:
    """Number the distinct paths level by level: the path of each element, and the table."""
    # The ordinal counts siblings of one tag; roots of different documents are not siblings.
    number = np.arange(len(parent))
    key = np.where(parent < 0, -1 - number, parent) * max(tags, 1) + tag
    order = np.argsort(key, kind="stable")
    opens = np.maximum.accumulate(np.where(np.diff(key[order], prepend=0) != 0, number, 0))
    ordinal = np.empty(len(key), dtype=np.int64)
    ordinal[order] = number - opens + 1
    most = int(ordinal.max(initial=0)) + 1
    steps, step = distinct(tag * most + ordinal)
    path = np.empty(len(parent), dtype=np.int64)
    bounds = np.flatnonzero(np.diff(level, prepend=0, append=0))
    keys, known = [np.zeros(0, dtype=np.int64)], 0
    for first, last in pairwise(bounds.tolist()):
        here = slice(first, last)
        above = path[parent[here]] + 1 if first else 0
        new, which = distinct(above * len(steps) + step[here])
        path[here] = known + which
        keys.append(new)
        known += len(new)
    above, of_path = np.divmod(np.concatenate(keys), max(len(steps), 1))
    return path, (above - 1, steps[of_path] // most, steps[of_path] % most)
