"""Documents as assessors see them: the text and its elements in document order."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from foveal.collection import Collection, Markup
from foveal.spans import Ints


@dataclass(frozen=True)
class AssessedDocument:
    """One document.

    Parameters
    ----------
    name, title, text : str
    length : int
        Characters (code points) of the text.
    digest : str
        The hash of the text in the index.
    sha256 : str
        The hash by which pages and the server compare texts.
    markup : bytes, optional
        Tags and attributes as `store_markup` writes them; campaigns of earlier versions have none.
    """

    name: str
    title: str
    text: str
    length: int
    digest: str
    sha256: str
    markup: bytes | None = None


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements of one document, parents before their children, in the order of the text.

    Parameters
    ----------
    path : tuple of str
        XPaths with all ordinals.
    parent : int64 array
        Number of the parent; -1 for the root.
    start, end : int64 arrays
    tag : tuple of str
    ordinal : int64 array
    attributes : mapping
        Attributes that pages use, by the number of their element; an index has none.
    """

    path: tuple[str, ...]
    parent: Ints
    start: Ints
    end: Ints
    tag: tuple[str, ...]
    ordinal: Ints
    attributes: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.path)

    @cached_property
    def number(self) -> dict[str, int]:
        """Number of each element by path."""
        return {path: i for i, path in enumerate(self.path)}

    def around(self, start: int, end: int) -> int:
        """Return the smallest element that encloses a span; the deepest if several are equal."""
        size = np.where((self.start <= start) & (self.end >= end), self.end - self.start, np.inf)
        return len(size) - 1 - int(np.argmin(size[::-1]))


def read_elements(collection: Collection, doc: str) -> Elements:
    """Return the elements of a document; raise KeyError if the collection lacks the document.

    Empty elements of different tags at one place come in any order, which the index does not keep.
    """
    trees = collection.trees(pl.Series([doc], dtype=pl.String))
    if not len(trees.path):
        raise KeyError(doc)
    order = _document_order(trees.parent, trees.start, trees.end)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    parent = trees.parent[order]
    path = tuple(collection.xpaths(trees.path[order]).to_list())
    steps = [one[one.rindex("/") + 1 : -1].rpartition("[") for one in path]
    return Elements(
        path=path,
        parent=np.where(parent < 0, -1, place[parent]),
        start=trees.start[order],
        end=trees.end[order],
        tag=tuple(tag for tag, _, _ in steps),
        ordinal=np.array([int(ordinal) for _, _, ordinal in steps], dtype=np.int64),
    )


def make_elements(markup: Markup) -> Elements:
    """Return the elements of a document that was just parsed, with attributes."""
    parent, ordinal, path = _walk(markup.tags, markup.level.tolist())
    return Elements(
        tuple(path), parent, markup.start, markup.end, markup.tags, ordinal, markup.attributes
    )


def store_markup(markup: Markup) -> bytes:
    """Return the tags and attributes of a document in compressed form; an index has the spans."""
    tags = {tag: i for i, tag in enumerate(dict.fromkeys(markup.tags))}
    content = {
        "tags": list(tags),
        "tag": [tags[tag] for tag in markup.tags],
        "level": markup.level.tolist(),
        "attributes": markup.attributes,
    }
    return zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 6)


def add_markup(elements: Elements, stored: bytes) -> Elements:
    """Return the elements of an index with attributes, and in the exact order of the source.

    Raises KeyError if the document had other elements when its mark-up was stored.
    """
    content = json.loads(zlib.decompress(stored))
    tags = tuple(content["tags"][i] for i in content["tag"])
    parent, ordinal, path = _walk(tags, content["level"])
    order = [elements.number[own] for own in path]
    if len(order) != len(elements):
        raise KeyError(elements.path[0])
    attributes = {int(number): own for number, own in content["attributes"].items()}
    start, end = elements.start[order], elements.end[order]
    return Elements(tuple(path), parent, start, end, tags, ordinal, attributes)


def _walk(tags: Sequence[str], levels: Sequence[int]) -> tuple[Ints, Ints, list[str]]:
    """Return parent, ordinal and path of elements, from their tags and levels in document order."""
    parent: list[int] = []
    ordinal: list[int] = []
    path: list[str] = []
    above: list[int] = []
    counts: list[dict[str, int]] = [{}]  # of the children of each open element, by tag
    for i, (tag, level) in enumerate(zip(tags, levels, strict=True)):
        del above[level - 1 :], counts[level:]
        counts[-1][tag] = number = counts[-1].get(tag, 0) + 1
        parent.append(above[-1] if above else -1)
        ordinal.append(number)
        path.append(f"{path[above[-1]] if above else ''}/{tag}[{number}]")
        above.append(i)
        counts.append({})
    return np.array(parent, dtype=np.int64), np.array(ordinal, dtype=np.int64), path


def _document_order(parent: Ints, start: Ints, end: Ints) -> Ints:
    """Return the elements of a tree in document order: siblings by their place in the text."""
    children: list[list[int]] = [[] for _ in range(len(parent) + 1)]
    # Pushed in reverse order, since a stack returns the last first.
    by_place: Sequence[int] = np.lexsort((np.arange(len(parent)), end, start))[::-1].tolist()
    above = parent.tolist()
    for i in by_place:
        children[above[i]].append(i)
    order: list[int] = []
    waiting = list(children[-1])
    while waiting:
        i = waiting.pop()
        order.append(i)
        waiting += children[i]
    return np.array(order, dtype=np.int64)


def page_digest(text: str) -> str:
    """Return the SHA-256 of a text as a browser computes it.

    A browser writes a lone surrogate, which JSON can hold, as U+FFFD.

    >>> page_digest("a") == hashlib.sha256(b"a").hexdigest()
    True
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
    return hashlib.sha256(data).hexdigest()
