"""An open index: from documents and XPaths to spans and back, many at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.collection.parsing import PathTable, distinct
from foveal.collection.sources import find_name
from foveal.collection.storage import IndexSections, open_sections
from foveal.errors import InputError
from foveal.formats.xpaths import PATHS, Points, canonical, parse_ranges
from foveal.lookup import CachedTextFunction, KeyTable, number_rows
from foveal.model import UNKNOWN, Provenance
from foveal.spans import Bools, Ints, argsort, lay_out

NO_DOCUMENT = "document {doc!r} is not in the collection"
_NO_PATH = "document {doc!r} has no element {xpath!r}"
_NO_PLACE = "{xpath!r} is not a place in document {doc!r}"
_MERGED = "{xpath!r} counts the characters of a text node, but the index merges white space"
_PROBLEMS = ("", NO_DOCUMENT, _NO_PATH, _NO_PLACE, _MERGED)

_FEW_ELEMENTS = 1 << 22  # looked up by slots of their own, which take 16 to 24 bytes each
_AT_ONCE = 1_000_000  # elements of documents whose text nodes are worked out together


class PathIndex:
    """Paths as an index has them: the parent of each, and tag and ordinal of its last step.

    They turn from numbers to XPaths and back without writing all of them: together they may take
    many times the memory of the rest of the index.
    """

    def __init__(self, table: PathTable) -> None:
        self.table = table
        # Returns the number of each XPath with every ordinal, `UNKNOWN` for absent ones.
        self.numbers = CachedTextFunction(self._search, PATHS)

    def texts(self, numbers: Ints) -> pl.Series:
        """Return the XPaths of these numbers."""
        parents, tag, ordinal, tags = self.table
        asked, which = np.unique(numbers, return_inverse=True)
        levels, above = [asked], asked
        while len(above):
            above = np.unique(parents[above])
            above = above[above >= 0]
            levels.append(above)
        needed = np.unique(np.concatenate(levels))
        columns = (needed, parents[needed], tag[needed], ordinal[needed])
        texts = {-1: ""}
        # A parent has a smaller number than its children, so it is written before them.
        for number, parent, t, k in zip(*(column.tolist() for column in columns), strict=True):
            texts[number] = f"{texts[parent]}/{tags[t]}[{k}]"
        written = pl.Series("xpath", [*texts.values()][1:], dtype=pl.String)
        return written.gather(np.searchsorted(needed, asked)[which])

    def _search(self, xpaths: pl.Series) -> Ints:
        """Return the numbers of distinct XPaths: down from the root, one step of all at a time."""
        rooted = np.flatnonzero(xpaths.str.starts_with("/").to_numpy())
        parts = xpaths.gather(rooted).str.slice(1).str.split("/")
        depth = parts.list.len().to_numpy().astype(np.int64)
        steps, paths = self._keys
        step, first = steps.find(parts.explode()), np.cumsum(depth) - depth
        found, left = np.full(len(rooted), UNKNOWN), np.arange(len(rooted))
        for level in range(int(depth.max(initial=0))):
            left = left[depth[left] > level]
            own = step[first[left] + level]
            key = (found[left] + 1) * len(steps.keys) + own
            found[left] = np.where(own < 0, UNKNOWN, paths.find(key.view(np.uint64)))
            left = left[found[left] >= 0]
        number = np.full(len(xpaths), UNKNOWN)
        number[rooted] = found
        return number

    @cached_property
    def _keys(self) -> tuple[KeyTable, KeyTable]:
        """The distinct last steps, such as ``p[2]``; the paths by parent and step in one number."""
        parent, tag, ordinal, tags = self.table
        steps, step = distinct(tag.astype(np.int64) << 32 | ordinal)
        pairs = zip((steps >> 32).tolist(), (steps & 0xFFFFFFFF).tolist(), strict=True)
        texts = pl.Series([f"{tags[t]}[{k}]" for t, k in pairs], dtype=pl.String)
        keys = (parent.astype(np.int64) + 1) * len(steps) + step
        return KeyTable(texts), KeyTable(keys.view(np.uint64))


class Element(NamedTuple):
    """One element of a document."""

    xpath: str
    start: int
    end: int


class Resolved(NamedTuple):
    """Spans of (document, XPath) pairs, and the problem of each pair without one.

    `element` is the number of each among its document's elements; `UNKNOWN` where the path is not
    that of an element with every ordinal.
    """

    start: Ints
    end: Ints
    problem: dict[int, str]
    element: Ints


class Trees(NamedTuple):
    """All elements of some documents, tree after tree, parents before their children.

    The elements of the i-th document are ``bounds[i]:bounds[i + 1]``.
    """

    bounds: Ints
    path: Ints
    parent: Ints
    start: Ints
    end: Ints

    def text_nodes(self, elements: Ints | slice = slice(None)) -> tuple[Ints, Ints, Ints]:
        """Return start, end and element of the text nodes of these elements, in order of elements.

        Other elements are not divided by their children.
        """
        asked = np.zeros(len(self.path), dtype=bool)
        asked[elements] = True
        child = np.flatnonzero((self.parent >= 0) & asked[self.parent])
        child = child[np.lexsort((self.end[child], self.start[child], self.parent[child]))]
        parent, element = self.parent[child], np.arange(len(self.path))
        children = np.bincount(parent, minlength=len(element))
        # One gap before each child, and one after the last; also an empty child divides the text.
        before, after = np.arange(len(child)) + parent, np.cumsum(children) + element
        start, end = np.empty((2, len(child) + len(element)), dtype=np.int64)
        start[after - children], start[before + 1] = self.start, self.end[child]
        end[before], end[after] = self.start[child], self.end
        full = start < end
        return start[full], end[full], np.repeat(element, children + 1)[full]

    def find_enclosing(self, tree: Ints, start: Ints, end: Ints) -> Ints:
        """Return the smallest element that holds each span, `UNKNOWN` where none does.

        Of equals it is the deepest. A place without extent is held by the element of the character
        after it, at the end of the text of the last; in a document without text, by the root.
        """
        found, length = np.full(len(tree), UNKNOWN), self.end[self.bounds[tree]]
        empty = start == end
        last = empty & (start == length)
        first = np.where(last & (length > 0), start - 1, start)
        after = np.where(empty & ~last, end + 1, end)
        asked = zip(tree.tolist(), first.tolist(), after.tolist(), strict=True)
        for i, (number, first, after) in enumerate(asked):
            own = slice(int(self.bounds[number]), int(self.bounds[number + 1]))
            starts, ends = self.start[own], self.end[own]
            around = np.flatnonzero((starts <= first) & (ends >= after))
            if len(around):
                size = (ends - starts)[around]
                # Children come after their parents.
                deepest = around[len(size) - 1 - np.argmin(size[::-1])]
                found[i] = own.start + (deepest if ends[0] else 0)
        return found


class Collection:
    """A collection index.

    >>> import tempfile, pathlib
    >>> from foveal.collection import build_index
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "d.xml").write_text("<a><p>one </p><p>two</p></a>")
    >>> _ = build_index(folder, folder / "index")
    >>> collection = Collection.open(folder / "index")
    >>> collection.element("d", "/a/p[2]")
    Element(xpath='/a[1]/p[2]', start=4, end=7)
    """

    def __init__(self, path: str, header: dict[str, Any], sections: IndexSections) -> None:
        self.path, self.header, self.name = path, header, str(header["source"])
        self.size = sum(section["bytes"] for section in sections.layout.values())
        self.whitespace = str(header["whitespace"])
        self.elements = int(header["elements"])
        # The hash is that of the header, which holds those of all else.
        self.source = Provenance(path, sections.identity)
        self.sections, self._asked = sections, 0
        # Returns the numbers of documents by name, `UNKNOWN` for those not in the collection.
        self.numbers = CachedTextFunction(self._search)

    @classmethod
    def open(cls, path: str | Path) -> Collection:
        """Open an index; refuses other files. A damaged part is refused when it is used."""
        if os.path.isdir(path):  # noqa: PTH112 - Path's raises if a name is too long
            message = (
                "is a directory; expected an index file (merge the shards of a collection with "
                "foveal index SHARD... -o INDEX)"
            )
            raise InputError.at("index.directory", str(path), None, message)
        header, sections = open_sections(Path(path))
        return cls(str(path), header, sections)

    def verify(self) -> None:
        """Hash the whole file; raises if anything in it has changed."""
        self.sections.verify()

    @cached_property
    def bounds(self) -> Ints:
        """The elements of document ``i`` are ``bounds[i]:bounds[i + 1]``."""
        return self.sections["doc_bounds"].astype(np.int64)

    def __repr__(self) -> str:
        return f"<Collection {self.path!r}: {len(self)} documents, {self.elements} elements>"

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def count_nonempty(self) -> int:
        """Return how many elements hold at least one character."""
        return int(np.count_nonzero(self.sections["end"] > self.sections["start"]))

    @property
    def mean_length(self) -> float:
        """Mean length of the documents; nan without any."""
        return float(self._lengths[:-1].mean()) if len(self) else float("nan")

    @cached_property
    def documents(self) -> pl.DataFrame:
        """Documents in the order of their numbers: columns doc and length."""
        names = self.sections["doc_names"].tobytes().decode().split("\n")[:-1]
        columns = {"doc": pl.Series(names, dtype=pl.String), "length": self._lengths[:-1]}
        return pl.DataFrame(columns)

    @cached_property
    def _names(self) -> KeyTable:
        return KeyTable(self.documents["doc"])

    def _search(self, names: pl.Series) -> Ints:
        """Return the numbers of documents; an unknown name is tried without a file's extension."""
        number = self._names.find(names)
        unknown = np.flatnonzero(number < 0)
        short = [find_name(doc) if "." in doc else doc for doc in names.gather(unknown)]
        number[unknown] = self._names.find(pl.Series(short, dtype=pl.String))
        return number

    @cached_property
    def paths(self) -> PathIndex:
        """The distinct paths of all elements."""
        parent, tag, ordinal = (self.sections[f"path_{n}"] for n in ("parent", "tag", "ordinal"))
        return PathIndex(PathTable(parent, tag, ordinal, tuple(self.header["tags"])))

    def xpaths(self, paths: Ints | None = None) -> pl.Series:
        """Return the XPaths of paths by their numbers; of all, which may be many."""
        return self.paths.texts(np.arange(len(self.paths.table.parent)) if paths is None else paths)

    def path_counts(self) -> Ints:
        """Return how many elements have each path."""
        return np.bincount(self.sections["path"], minlength=len(self.paths.table.parent))

    def path_depths(self) -> Ints:
        """Return the depth of each path; the root's is 1."""
        depth = [0]  # of the document
        for parent in self.paths.table.parent.tolist():  # a parent comes before its children
            depth.append(depth[parent + 1] + 1)
        return np.array(depth[1:], dtype=np.int64)

    def path_tags(self) -> list[str]:
        """Return the tag of each path."""
        return [self.header["tags"][tag] for tag in self.sections["path_tag"].tolist()]

    @cached_property
    def _lengths(self) -> Ints:
        """The length of each document, and last `UNKNOWN`: that of the number -1."""
        return np.append(self.sections["doc_length"].astype(np.int64), UNKNOWN)

    def lengths(self, docs: pl.Series | Ints) -> Ints:
        """Return the lengths of documents by name or number, `UNKNOWN` for unknown ones."""
        return self._lengths[docs if isinstance(docs, np.ndarray) else self.numbers(docs)]

    def digests(self) -> dict[str, bytes]:
        """Return the hash of each document's text, of 16 bytes."""
        raw = self.sections["doc_digest"].tobytes()
        return {doc: raw[16 * i : 16 * i + 16] for i, doc in enumerate(self)}

    def find(self, doc: Ints, path: Ints) -> Ints:
        """Return the element of each document and path (numbers), `UNKNOWN` for no element.

        Once as many were asked for as there are elements, each element gets a slot, which pays for
        itself within a few runs; a large collection does without.
        """
        self._asked += len(doc)
        if self.elements > min(self._asked, _FEW_ELEMENTS):
            return self._find_in_order(doc, path)
        found = self._slots.find((doc * len(self.paths.table.parent) + path).view(np.uint64))
        # With the other, a number that is not known may look like a pair.
        found[np.flatnonzero((doc < 0) | (path < 0))] = UNKNOWN
        return found

    @cached_property
    def _slots(self) -> KeyTable:
        """A hash table of elements by one number for each pair of document and path."""
        doc = np.repeat(np.arange(len(self)), np.diff(self.bounds))
        keys = doc * len(self.paths.table.parent) + self.sections["path"]
        return KeyTable(keys.view(np.uint64))

    def _find_in_order(self, doc: Ints, path: Ints) -> Ints:
        """Find elements by binary search: they are sorted by document and path.

        All searches run at once, document after document to stay in the processor's cache.
        """
        column, found = self.sections["path"], np.full(len(doc), UNKNOWN)
        known = np.flatnonzero((doc >= 0) & (path >= 0))
        known = known[argsort(doc[known])]
        own, wanted = doc[known], path[known].astype(column.dtype)
        at, end = self.bounds[own], self.bounds[own + 1]
        last = len(column) - 1
        # From the widest step down: on to the last element whose path is not past the wanted one.
        for power in reversed(range(int((end - at).max(initial=0)).bit_length())):
            further = at + (1 << power)
            inside = further < end
            np.minimum(further, last, out=further)
            inside &= column[further] <= wanted
            np.copyto(at, further, where=inside)
        hit = (column[at] == wanted) & (at < end)
        found[known[hit]] = at[hit]
        return found

    def resolve(self, docs: pl.Series, xpaths: pl.Series, doc: Ints | None = None) -> Resolved:
        """Return the span of each document and XPath; `doc` are the documents' numbers if known."""
        doc = self.numbers(docs) if doc is None else doc
        path = self.paths.numbers(xpaths)
        element = self.find(doc, path)
        start, end = self._spans(element)
        if (element >= 0).all():  # so it mostly is
            return Resolved(start, end, {}, element - self.bounds[doc])
        place = np.where(element < 0, UNKNOWN, element - self.bounds[np.maximum(doc, 0)])
        wrong = np.select([doc < 0, (element < 0) & (path >= 0)], [1, 2], 0)
        # The other paths are not elements with every ordinal.
        left = np.flatnonzero((doc >= 0) & (path < 0))
        if len(left):
            start[left], end[left], wrong[left] = self._places(doc[left], xpaths.gather(left))
        problem = {
            i: _PROBLEMS[wrong[i]].format(doc=docs[i], xpath=xpaths[i])
            for i in np.flatnonzero(wrong).tolist()
        }
        return Resolved(start, end, problem, place)

    def _places(self, doc: Ints, xpaths: pl.Series) -> tuple[Ints, Ints, Ints]:
        """Resolve elements, ranges, points and attributes in all their spellings.

        Also returns which of `_PROBLEMS` each has.
        """
        numbered = number_rows(xpaths)
        opens, closes = parse_ranges(xpaths.gather(numbered.first_rows))
        first = opens.gather(numbered.number)
        opening = closing = self.find(doc, self.paths.numbers(first.element))
        start, end = self._inside(doc, opening, first)
        since, last = start, first
        if closes is not opens:
            last = closes.gather(numbered.number)
            closing = self.find(doc, self.paths.numbers(last.element))
            since, end = self._inside(doc, closing, last)
        malformed = (first.element.is_null() | last.element.is_null()).to_numpy()
        # A last element that is not empty and ends where the first begins: they are swapped.
        misplaced = (start < 0) | (end < 0) | (start > end) | ((start == end) & (since < end))
        missing = (opening < 0) | (closing < 0)
        in_text = (first.node > 0) | (last.node > 0)
        inner = in_text | first.attribute | last.attribute
        merged = in_text & (self.whitespace == "merge")
        wrong = np.select(
            [malformed | (missing & inner), missing, merged, misplaced], [3, 2, 4, 3], 0
        )
        start[wrong > 0] = end[wrong > 0] = UNKNOWN
        return start, end, wrong

    def _spans(self, element: Ints) -> tuple[Ints, Ints]:
        """Return where elements start and end, `UNKNOWN` for unknown ones."""
        start, end = np.full((2, len(element)), UNKNOWN)
        known = np.flatnonzero(element >= 0)
        start[known] = self.sections["start"][element[known]]
        end[known] = self.sections["end"][element[known]]
        return start, end

    def _inside(self, doc: Ints, element: Ints, points: Points) -> tuple[Ints, Ints]:
        """Return where points of elements start and end, `UNKNOWN` for no such place."""
        start, end = self._spans(element)
        # An attribute has no text of its own; it is at the start of its element.
        end = np.where(points.attribute, start, end)
        asked = np.flatnonzero((points.node > 0) & (element >= 0))
        for rows, trees, tree in self._trees_in_parts(doc[asked]):
            at = asked[rows]
            own = element[at] - self.bounds[doc[at]] + trees.bounds[tree]
            begins, ends, owner = trees.text_nodes(own)
            node = np.searchsorted(owner, own) + np.minimum(points.node[at], len(owner) + 1) - 1
            node[node >= np.searchsorted(owner, own, side="right")] = UNKNOWN  # it has fewer
            start[at], end[at] = np.append(begins, UNKNOWN)[node], np.append(ends, UNKNOWN)[node]
        offset = points.offset
        inside = (start >= 0) & (offset <= end - start)
        point = np.where(inside, start + offset, UNKNOWN)
        return np.where(offset < 0, start, point), np.where(offset < 0, end, point)

    def trees(self, docs: pl.Series | Ints) -> Trees:
        """Return the elements of these documents, by name or number; unknown ones have none."""
        code = docs if isinstance(docs, np.ndarray) else self.numbers(docs)
        known = code >= 0
        first = np.where(known, self.bounds[code], 0)
        counts = np.where(known, self.bounds[code + 1] - first, 0)
        bounds = np.concatenate([[0], np.cumsum(counts)])
        element = np.arange(bounds[-1]) + np.repeat(first - bounds[:-1], counts)
        path = self.sections["path"][element].astype(np.int64)
        # Elements are sorted by document and path.
        above, base = self.paths.table.parent[path], np.repeat(np.arange(len(code)), counts)
        base *= len(self.paths.table.parent)
        parent = np.where(above < 0, UNKNOWN, np.searchsorted(base + path, base + above))
        return Trees(bounds, path, parent, *self._spans(element))

    def _trees_in_parts(self, doc: Ints) -> Iterator[tuple[Ints, Trees, Ints]]:
        """Yield trees of as many of these documents as fit into memory at once.

        With them come the rows of `doc` that they serve, and the tree of each.
        """
        docs, which = np.unique(doc, return_inverse=True)
        part = np.cumsum(self.bounds[docs + 1] - self.bounds[docs]) // _AT_ONCE
        for number in np.unique(part).tolist():
            rows, own = np.flatnonzero(part[which] == number), np.flatnonzero(part == number)
            yield rows, self.trees(docs[own]), which[rows] - own[0]

    def _tree(self, doc: str) -> Trees:
        """Return the elements of one document; raises KeyError without it."""
        trees = self.trees(pl.Series([doc]))
        if not len(trees.path):
            raise KeyError(doc)
        return trees

    def element(self, doc: str, xpath: str) -> Element:
        """Return one element; raises KeyError without it."""
        resolved = self.resolve(pl.Series([doc]), pl.Series([xpath]))
        path = canonical(xpath)
        if resolved.problem or path is None:
            raise KeyError(resolved.problem.get(0, xpath))
        return Element(path, int(resolved.start[0]), int(resolved.end[0]))

    def all_elements(self, doc: str) -> list[Element]:
        """Return every element of a document, in document order.

        Empty elements of different tags at one place come in any order: the index keeps none.
        """
        tree = self._tree(doc)
        start, end = tree.start.tolist(), tree.end.tolist()
        trails: list[tuple[tuple[int, int, int], ...]] = []
        for i, parent in enumerate(tree.parent.tolist()):
            above = trails[parent] if parent >= 0 else ()
            trails.append((*above, (start[i], end[i], i)))
        order = sorted(range(len(trails)), key=trails.__getitem__)
        texts = self.xpaths(tree.path[order])
        return [Element(x, start[i], end[i]) for x, i in zip(texts, order, strict=True)]

    def smallest_around(self, doc: str, start: int, end: int) -> Element:
        """Return the smallest element that holds ``[start, end)``, as `Trees.find_enclosing`."""
        tree = self._tree(doc)
        (at,) = tree.find_enclosing(np.array([0]), np.array([start]), np.array([end]))
        if at < 0:
            raise KeyError(f"no element of {doc!r} holds [{start},{end})")
        return Element(self.xpaths(tree.path[[at]])[0], int(tree.start[at]), int(tree.end[at]))

    def points(self, docs: pl.Series, offset: Ints, closing: Bools) -> list[str]:
        """Return XPath points: in the text node after each offset, or before it if `closing`.

        At the end of the text the point is in the last text node; a document without text has its
        root instead.
        """
        doc = self.numbers(docs)
        length = self.lengths(doc)
        outside = np.flatnonzero((offset < 0) | (offset > length))
        if len(outside):
            raise KeyError(f"no text of {docs[int(outside[0])]!r} at {offset[outside[0]]}")
        before = np.maximum(offset - (closing | (offset == length)), 0)
        path, ordinal, within = np.empty((3, len(doc)), dtype=np.int64)
        for rows, trees, tree in self._trees_in_parts(doc):
            root = trees.bounds[:-1]
            path[rows], ordinal[rows] = trees.path[root[tree]], 0
            (start, _, owner), base = trees.text_nodes(), lay_out(trees.end[root])
            starts = start + base[np.searchsorted(root, owner, side="right") - 1]
            order, has_text = np.argsort(starts), length[rows] > 0
            own, place = rows[has_text], before[rows] + base[tree]
            node = order[np.searchsorted(starts[order], place[has_text], side="right") - 1]
            path[own], within[own] = trees.path[owner[node]], offset[own] - start[node]
            ordinal[own] = node - np.searchsorted(owner, owner[node]) + 1
        columns = (self.xpaths(path), ordinal.tolist(), within.tolist())
        return [f"{x}/text()[{k}].{n}" if k else x for x, k, n in zip(*columns, strict=True)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.documents["doc"])


def open_cached(path: str | Path) -> Collection:
    """Return the index at this path, the same object as long as the file is the same."""
    try:
        # These change when a file is replaced or rewritten.
        fact = Path(path).stat()
        identity = fact.st_dev, fact.st_ino, fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns
    except OSError:
        return Collection.open(path)  # which raises the error
    return _open_identified(str(path), identity)


@lru_cache(maxsize=4)
def _open_identified(path: str, identity: tuple[int, ...]) -> Collection:  # noqa: ARG001 - a key
    return Collection.open(path)
