"""An open index: from documents and XPaths to spans and back, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.collection.storage import open_sections, verify
from foveal.collection.xpaths import Point, canonical, parse_point, split_range
from foveal.model import UNKNOWN
from foveal.spans import Ints

__all__ = ["Collection", "Element", "Resolved"]

Bools = npt.NDArray[np.bool_]

NO_DOCUMENT = "document {doc!r} is not in the collection"
NO_PATH = "document {doc!r} has no element {xpath!r}"
NO_PLACE = "{xpath!r} is no place in document {doc!r}"


class Element(NamedTuple):
    """One element of a document."""

    xpath: str
    start: int
    end: int


class Resolved(NamedTuple):
    """Spans of (document, XPath) pairs, and what is wrong with those that have none."""

    start: Ints
    end: Ints
    problem: dict[int, str]


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

    def __init__(self, path: str, header: dict[str, Any], sections: dict[str, Any]) -> None:
        self.path = path
        self.header = header
        self._sections = sections
        self._bounds: Ints = sections["doc_bounds"].astype(np.int64)
        self._parent: Ints = sections["path_parent"]

    @classmethod
    def open(cls, path: str | Path) -> Collection:
        """Open an index; refuses what is damaged or no index."""
        header, sections = open_sections(Path(path))
        return cls(str(path), header, sections)

    def verify(self) -> None:
        """Hash the whole file; raises if anything in it has changed."""
        verify(Path(self.path))

    def __repr__(self) -> str:
        return f"<Collection {self.path!r}: {len(self)} documents, {self.elements} elements>"

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @property
    def elements(self) -> int:
        return int(self._bounds[-1])

    @property
    def whitespace(self) -> str:
        return str(self.header["whitespace"])

    @property
    def mean_length(self) -> float:
        """Mean length of the documents; nan without any."""
        length = self._sections["doc_length"]
        return float(length.mean()) if len(length) else float("nan")

    # -- names and codes ------------------------------------------------------------------------

    @cached_property
    def documents(self) -> pl.DataFrame:
        """Documents with their number and length: columns doc, code, length."""
        names = self._sections["doc_names"].tobytes().decode().split("\n")[:-1]
        return pl.DataFrame(
            {
                "doc": pl.Series(names, dtype=pl.String),
                "code": np.arange(len(names)),
                "length": self._sections["doc_length"].astype(np.int64),
            }
        )

    @cached_property
    def paths(self) -> pl.DataFrame:
        """Distinct paths with their number: columns xpath, path."""
        tags = self.header["tags"]
        texts: list[str] = []
        columns = (self._sections[n].tolist() for n in ("path_parent", "path_tag", "path_ordinal"))
        for parent, tag, ordinal in zip(*columns, strict=True):
            above = texts[parent] if parent >= 0 else ""
            texts.append(f"{above}/{tags[tag]}[{ordinal}]")
        return pl.DataFrame(
            {"xpath": pl.Series(texts, dtype=pl.String), "path": np.arange(len(texts))}
        )

    def _codes(self, names: pl.Series, table: pl.DataFrame, key: str, code: str) -> Ints:
        found = pl.DataFrame({key: names}).join(table, on=key, how="left", maintain_order="left")
        return found[code].fill_null(UNKNOWN).to_numpy().astype(np.int64)

    def lengths(self, docs: pl.Series) -> Ints:
        """Lengths of documents, `UNKNOWN` for those not in the collection."""
        return self._codes(docs, self.documents, "doc", "length")

    # -- XPath to span --------------------------------------------------------------------------

    def find(self, doc: Ints, path: Ints) -> Ints:
        """The element of each document and path (numbers), `UNKNOWN` where there is none.

        Elements are sorted by document and path, so this is a binary search in each document's
        part, all of them at once.
        """
        known = (doc >= 0) & (path >= 0)
        low = np.where(known, self._bounds[doc], 0)
        high = np.where(known, self._bounds[doc + 1], 0)
        end, column = high.copy(), self._sections["path"]
        while (low < high).any():
            middle = (low + high) >> 1
            below = (low < high) & (column[np.minimum(middle, len(column) - 1)] < path)
            low = np.where(below, middle + 1, low)
            high = np.where(below | (low >= high), high, middle)
        at = np.minimum(low, max(len(column) - 1, 0))
        hit = known & (low < end) & (column[at] == path) if len(column) else known & False
        return np.where(hit, at, UNKNOWN)

    def resolve(self, docs: pl.Series, xpaths: pl.Series) -> Resolved:
        """The span of each document and XPath; repeated paths are looked up once."""
        distinct = xpaths.unique(maintain_order=True)
        plain = distinct.map_elements(canonical, return_dtype=pl.String, skip_nulls=True)
        table = pl.DataFrame({"written": distinct, "xpath": plain}).join(
            self.paths, on="xpath", how="left", maintain_order="left"
        )
        doc = self._codes(docs, self.documents, "doc", "code")
        path = self._codes(xpaths, table.rename({"written": "key"}), "key", "path")
        element = self.find(doc, path)
        start, end = self._spans(element)
        problem: dict[int, str] = {}
        for i in np.flatnonzero(element < 0).tolist():
            if doc[i] < 0:
                problem[i] = NO_DOCUMENT.format(doc=docs[i])
                continue
            span = self._place(int(doc[i]), str(xpaths[i]))
            if isinstance(span, str):
                problem[i] = span.format(doc=docs[i], xpath=xpaths[i])
            else:
                start[i], end[i] = span
        return Resolved(start, end, problem)

    def _spans(self, element: Ints) -> tuple[Ints, Ints]:
        at = np.maximum(element, 0)
        if not self.elements:
            return np.full(len(at), UNKNOWN), np.full(len(at), UNKNOWN)
        start = np.where(element < 0, UNKNOWN, self._sections["start"][at])
        end = np.where(element < 0, UNKNOWN, self._sections["end"][at])
        return start.astype(np.int64), end.astype(np.int64)

    def _place(self, doc: int, xpath: str) -> tuple[int, int] | str:
        """A range, point or attribute; or what is wrong with it."""
        first, last = split_range(xpath)
        points = [parse_point(first), parse_point(last) if last else None]
        if points[0] is None or (last and points[1] is None):
            return NO_PLACE
        opening = self._point_span(doc, points[0])
        closing = self._point_span(doc, points[1]) if points[1] else opening
        if opening is None or closing is None:
            return NO_PATH if all(p is None or p.node is None for p in points) else NO_PLACE
        span = opening[0], closing[0] if points[1] and points[1].offset is not None else closing[1]
        return span if span[0] <= span[1] else NO_PLACE

    def _point_span(self, doc: int, point: Point) -> tuple[int, int] | None:
        path = self._codes(pl.Series([point.element]), self.paths, "xpath", "path")
        element = int(self.find(np.array([doc]), path)[0])
        if element < 0:
            return None
        start, end = int(self._sections["start"][element]), int(self._sections["end"][element])
        if point.attribute:
            return start, start  # an attribute has no text of its own; it stands at its element
        if point.node is None:
            return start, end
        nodes = self._text_nodes(doc, int(path[0]), start, end)
        if point.node > len(nodes):
            return None
        node_start, node_end = nodes[point.node - 1]
        if point.offset is None:
            return node_start, node_end
        at = node_start + point.offset
        return (at, at) if at <= node_end else None

    def _text_nodes(self, doc: int, path: int, start: int, end: int) -> list[tuple[int, int]]:
        """The stretches of an element's own text between its children."""
        own = slice(int(self._bounds[doc]), int(self._bounds[doc + 1]))
        children = self._parent[self._sections["path"][own]] == path
        spans = sorted(
            zip(
                self._sections["start"][own][children].tolist(),
                self._sections["end"][own][children].tolist(),
                strict=True,
            )
        )
        nodes, reached = [], start
        for child_start, child_end in spans:
            if child_start > reached:
                nodes.append((reached, child_start))
            reached = max(reached, child_end)
        return [*nodes, (reached, end)] if reached < end else nodes

    # -- the way back ---------------------------------------------------------------------------

    def _document(self, doc: str) -> tuple[int, slice]:
        code = int(self._codes(pl.Series([doc]), self.documents, "doc", "code")[0])
        if code < 0:
            raise KeyError(doc)
        return code, slice(int(self._bounds[code]), int(self._bounds[code + 1]))

    def _elements(self, own: slice, chosen: Bools) -> list[Element]:
        """The chosen elements of a document, outermost first, then by place."""
        path = self._sections["path"][own][chosen]
        start = self._sections["start"][own][chosen].astype(np.int64)
        end = self._sections["end"][own][chosen].astype(np.int64)
        texts = self.paths["xpath"].gather(path.astype(np.int64)).to_list()
        depth = np.array([text.count("/") for text in texts], dtype=np.int64)
        order = np.lexsort((depth, -end, start))
        return [Element(texts[i], int(start[i]), int(end[i])) for i in order.tolist()]

    def element(self, doc: str, xpath: str) -> Element:
        """One element; raises KeyError if there is none."""
        resolved = self.resolve(pl.Series([doc]), pl.Series([xpath]))
        path = canonical(xpath)
        if resolved.problem or path is None:
            raise KeyError(resolved.problem.get(0, xpath))
        return Element(path, int(resolved.start[0]), int(resolved.end[0]))

    def all_elements(self, doc: str) -> list[Element]:
        """Every element of a document, in document order."""
        _, own = self._document(doc)
        return self._elements(own, np.ones(own.stop - own.start, dtype=bool))

    def elements_inside(self, doc: str, start: int, end: int) -> list[Element]:
        """The elements that lie wholly in ``[start, end)``."""
        _, own = self._document(doc)
        inside = (self._sections["start"][own] >= start) & (self._sections["end"][own] <= end)
        return self._elements(own, inside)

    def smallest_around(self, doc: str, start: int, end: int) -> Element:
        """The smallest element that holds ``[start, end)``; of equals the deepest."""
        _, own = self._document(doc)
        around = (self._sections["start"][own] <= start) & (self._sections["end"][own] >= end)
        found = self._elements(own, around)
        if not found:
            raise KeyError(f"no element of {doc!r} holds [{start},{end})")
        return min(found, key=lambda e: (e.end - e.start, -e.xpath.count("/")))

    def ancestors(self, doc: str, xpath: str) -> list[Element]:
        """The elements above one, from the root down."""
        path = self.element(doc, xpath).xpath
        steps = path.split("/")[1:]
        return [self.element(doc, f"/{'/'.join(steps[:n])}") for n in range(1, len(steps))]

    def children(self, doc: str, xpath: str) -> list[Element]:
        """The elements just below one, in document order."""
        path = self.element(doc, xpath).xpath
        number = self._codes(pl.Series([path]), self.paths, "xpath", "path")[0]
        _, own = self._document(doc)
        return self._elements(own, self._parent[self._sections["path"][own]] == number)

    def __iter__(self) -> Iterator[str]:
        return iter(self.documents["doc"])
