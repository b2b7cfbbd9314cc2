"""Several index files that open as one collection: the shards of it, each left where it is.

Everything is as if the files had been merged, to the numbers of documents and paths; only the
numbers of elements (`find`) are those of the files, one file after the other, and empty elements of
different tags at one place, which have no order, may come in another. What is asked of documents
goes to the files that hold them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from foveal.collection.lookup import NO_DOCUMENT, Bools, Collection, Element, Resolved, Trees
from foveal.collection.merging import arranged
from foveal.collection.numbering import PathNumbers, depths, join_paths
from foveal.collection.paths import Paths
from foveal.errors import InputError, Problem
from foveal.model import UNKNOWN, Provenance
from foveal.spans import Ints

__all__ = ["INDEX", "Several", "index_files"]

INDEX = ".fvx"
"""What the files of a directory must end in to be taken as indexes."""
_NO_DOCUMENTS = {"doc": pl.String, "code": pl.Int64, "length": pl.Int64}


class _Joined(NamedTuple):
    """The paths of all files, and the number of each file's own ones among them."""

    paths: Paths
    columns: tuple[Ints, Ints, Ints]
    numbers: list[Ints]
    back: list[Ints]
    """For each file, its own number of every path, `UNKNOWN` where it has none."""
    sorted: list[bool]
    """Whether a file has its paths in the same order."""


def index_files(folder: Path) -> list[Path]:
    """The indexes of a folder; hidden files are none of them."""
    return sorted(f for f in folder.iterdir() if f.suffix == INDEX and f.name[0] != ".")


class Several(Collection):
    """A collection in several index files.

    >>> import tempfile, pathlib
    >>> from foveal.collection import Shard, build_index
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "parts").mkdir()
    >>> _ = (folder / "d.jsonl").write_text('{"doc": "d", "text": "one"}')
    >>> for number in (1, 2):
    ...     output = folder / "parts" / f"{number}.fvx"
    ...     _ = build_index(folder / "d.jsonl", output, shard=Shard(number, 2))
    >>> Collection.open(folder / "parts").element("d", "/text[1]")
    Element(xpath='/text[1]', start=0, end=3)
    """

    def __init__(self, path: str, parts: Sequence[Collection]) -> None:
        self.path = path
        self.parts = tuple(parts)
        first = self.parts[0]
        for part in self.parts[1:]:
            if part.whitespace != first.whitespace:
                message = (
                    f"was built with white space {part.whitespace!r}, but {first.path} with "
                    f"{first.whitespace!r}; expected the same"
                )
                raise InputError.at("unclassified", part.path, None, message)
        headers = [part.header for part in self.parts]
        passed_over: Counter[str] = Counter()
        for header in headers:
            passed_over += Counter(dict(header["passed_over"]))
        self.header = {
            "foveal": first.header["foveal"],
            "source": ", ".join(dict.fromkeys(header["source"] for header in headers)),
            "whitespace": first.whitespace,
            "documents": sum(header["documents"] for header in headers),
            "elements": sum(header["elements"] for header in headers),
            "characters": sum(header["characters"] for header in headers),
            "failures": [failure for header in headers for failure in header["failures"]],
            "passed_over": [list(pair) for pair in sorted(passed_over.items())],
            "tags": list(dict.fromkeys(tag for header in headers for tag in header["tags"])),
        }

    @classmethod
    def open(cls, path: str | Path) -> Several:
        """Open the indexes of a directory as one."""
        files = index_files(Path(path))
        if not files:
            message = f"holds no index; expected files *{INDEX} of foveal index"
            raise InputError.at("unclassified", str(path), None, message)
        found = {str(file): Collection.open(file) for file in files}
        order = arranged({place: part.header for place, part in found.items()})
        return cls(str(path), [found[place] for place in order])

    @property
    def source(self) -> Provenance:
        """The directory; its hash is that of the hashes of the files."""
        digest = hashlib.sha256("".join(part.source.sha256 or "" for part in self.parts).encode())
        return Provenance(self.path, digest.hexdigest())

    def verify(self) -> None:
        """Hash all files; raises if anything in them has changed, with all that are damaged.

        So does a document that is in two of them.
        """
        problems: list[Problem] = []
        for part in self.parts:
            try:
                part.verify()
            except InputError as error:
                problems += error.problems
        if problems:
            raise InputError(problems)
        _ = self.documents

    def __len__(self) -> int:
        return int(self._documents_before[-1])

    def __iter__(self) -> Iterator[str]:
        return iter(self.documents["doc"])

    @cached_property
    def _documents_before(self) -> Ints:
        return _before(len(part) for part in self.parts)

    @cached_property
    def _elements_before(self) -> Ints:
        return _before(part.elements for part in self.parts)

    @property
    def elements(self) -> int:
        return int(self._elements_before[-1])

    def count_nonempty(self) -> int:
        """How many elements hold at least one character."""
        return sum(part.count_nonempty() for part in self.parts)

    @property
    def mean_length(self) -> float:
        """Mean length of the documents; nan without any."""
        length = self.documents["length"].to_numpy()
        return float(length.mean()) if len(length) else float("nan")

    # -- names and codes ------------------------------------------------------------------------

    @cached_property
    def documents(self) -> pl.DataFrame:
        """Documents with their number and length: columns doc, code, length."""
        tables = [part.documents for part in self.parts]
        joined = pl.concat([pl.DataFrame(schema=_NO_DOCUMENTS), *tables]).with_columns(
            code=np.arange(len(self))
        )
        twice = joined.filter(pl.col("doc").is_duplicated()).sort("doc", "code")
        if len(twice):
            raise InputError(self._twice(twice))
        return joined

    def _twice(self, rows: pl.DataFrame) -> Iterator[Problem]:
        """What to say of documents that are in more than one file."""
        where = self._part_of(rows["code"].to_numpy()).tolist()
        first: dict[str, str] = {}
        for doc, part in zip(rows["doc"], where, strict=True):
            here = self.parts[part].path
            if doc in first:
                message = f"holds document {doc!r} like {first[doc]}; expected one of each name"
                yield Problem("unclassified", here, None, message)
            first.setdefault(doc, here)

    def _part_of(self, code: Ints) -> Ints:
        """The file of each document; of none it is the first."""
        part = np.searchsorted(self._documents_before, np.maximum(code, 0), side="right") - 1
        return np.minimum(part, len(self.parts) - 1)

    def _by_part(self, code: Ints) -> Iterator[tuple[int, Collection, Ints]]:
        """Number, file and rows of each file that has some of these documents."""
        part = self._part_of(code)
        for number in np.unique(part[code >= 0]).tolist():
            yield number, self.parts[number], np.flatnonzero((part == number) & (code >= 0))

    def lengths_of(self, numbers: Ints) -> Ints:
        """Lengths of documents by their numbers, `UNKNOWN` for `UNKNOWN`."""
        found = np.full(len(numbers), UNKNOWN)
        for first, part, rows in self._by_part(numbers):
            found[rows] = part.lengths_of(numbers[rows] - self._documents_before[first])
        return found

    def digests(self) -> dict[str, bytes]:
        """The hash of each document's text, of 16 bytes."""
        return {doc: digest for part in self.parts for doc, digest in part.digests().items()}

    @cached_property
    def _joined(self) -> _Joined:
        known, tags = PathNumbers(), dict[str, int]()
        numbers: list[Ints] = []
        columns: list[tuple[Ints, Ints, Ints]] = []
        for part in self.parts:
            own, new = join_paths(known, tags, part.header["tags"], part.path_columns())
            numbers.append(own)
            columns.append(new)
        parent, tag, ordinal = (np.concatenate(column) for column in zip(*columns, strict=True))
        assert list(tags) == self.header["tags"]
        back = []
        for own in numbers:
            found = np.full(len(known), UNKNOWN, dtype=np.int64)
            found[own] = np.arange(len(own))
            back.append(found)
        paths = Paths(parent, tag, ordinal, self.header["tags"])
        in_order = [bool((own[1:] > own[:-1]).all()) for own in numbers]
        return _Joined(paths, (parent, tag, ordinal), numbers, back, in_order)

    @cached_property
    def paths(self) -> pl.DataFrame:
        """Distinct paths with their number: columns xpath, path."""
        numbers = np.arange(len(self._joined.paths))
        return pl.DataFrame({"xpath": self.xpaths(numbers), "path": numbers})

    def xpaths(self, paths: Ints) -> pl.Series:
        """The XPaths of paths by their numbers."""
        return self._joined.paths.texts(paths)

    def path_numbers(self, xpaths: pl.Series) -> Ints:
        """The way back: numbers of XPaths with all ordinals, `UNKNOWN` where none has it."""
        return self._joined.paths.numbers(xpaths)

    def path_counts(self) -> Ints:
        """How many elements have each path."""
        counts = np.zeros(len(self._joined.paths), dtype=np.int64)
        for part, own in zip(self.parts, self._joined.numbers, strict=True):
            counts[own] += part.path_counts()
        return counts

    def path_depths(self) -> Ints:
        """How deep each path goes; the root's is 1."""
        return depths(self._joined.columns[0]) + 1

    def path_tags(self) -> list[str]:
        """The tag of each path."""
        return [self.header["tags"][tag] for tag in self._joined.columns[1].tolist()]

    def path_columns(self) -> tuple[Ints, Ints, Ints]:
        """Parent of each path, tag (its place in the header) and ordinal of its last step."""
        return self._joined.columns

    # -- XPath to span --------------------------------------------------------------------------

    def find(self, doc: Ints, path: Ints) -> Ints:
        """The element of each document and path (numbers), `UNKNOWN` where there is none."""
        found = np.full(len(doc), UNKNOWN, dtype=np.int64)
        for number, part, rows in self._by_part(doc):
            asked = path[rows]
            back = self._joined.back[number]
            own = np.where(asked >= 0, back[np.maximum(asked, 0)], UNKNOWN)
            at = part.find(doc[rows] - self._documents_before[number], own)
            found[rows] = np.where(at < 0, UNKNOWN, at + self._elements_before[number])
        return found

    def resolve_numbered(self, docs: pl.Series, doc: Ints, xpaths: pl.Series) -> Resolved:
        """As `resolve`, for documents whose numbers are known."""
        start, end, element = (np.full(len(doc), UNKNOWN) for _ in range(3))
        foreign = np.flatnonzero(doc < 0)
        names = zip(foreign.tolist(), docs.gather(foreign), strict=True)
        problem = {row: NO_DOCUMENT.format(doc=name) for row, name in names}
        for number, part, rows in self._by_part(doc):
            own = doc[rows] - self._documents_before[number]
            some = part.resolve_numbered(docs.gather(rows), own, xpaths.gather(rows))
            start[rows], end[rows] = some.start, some.end
            element[rows] = self._places_of(number, docs.gather(rows), some.element)
            problem |= {int(rows[i]): message for i, message in some.problem.items()}
        return Resolved(start, end, dict(sorted(problem.items())), element)

    def _places_of(self, number: int, docs: pl.Series, element: Ints) -> Ints:
        """Which of all elements of its document each one of a file is, in the order of `trees`."""
        asked = np.flatnonzero(element >= 0)
        if self._joined.sorted[number] or not len(asked):
            return element
        distinct = docs.gather(asked).unique(maintain_order=True)
        table = pl.DataFrame({"doc": distinct, "number": np.arange(len(distinct))})
        some = pl.DataFrame({"doc": docs.gather(asked)})
        which = some.join(table, on="doc", maintain_order="left")["number"].to_numpy()
        trees = self.parts[number].trees(distinct)
        first = trees.bounds[which]
        found = element.copy()
        found[asked] = self._sorted(number, trees)[first + element[asked]] - first
        return found

    def _sorted(self, number: int, trees: Trees) -> Ints:
        """Where the elements of a file's trees stand when they are sorted by the joined paths."""
        tree = np.repeat(np.arange(len(trees.bounds) - 1), np.diff(trees.bounds))
        order = np.lexsort((self._joined.numbers[number][trees.path], tree))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return place

    # -- whole trees ----------------------------------------------------------------------------

    def trees(self, docs: pl.Series) -> Trees:
        """The elements of these documents; one that is not in the collection has none."""
        code = self.numbers(docs)
        counts = np.zeros(len(code), dtype=np.int64)
        found = []
        for number, part, rows in self._by_part(code):
            some = part.trees(docs.gather(rows))
            counts[rows] = np.diff(some.bounds)
            found.append((number, rows, some))
        bounds = np.concatenate([[0], np.cumsum(counts)])
        path, parent, start, end = (np.empty(bounds[-1], dtype=np.int64) for _ in range(4))
        for number, rows, some in found:
            shift = np.repeat(bounds[rows] - some.bounds[:-1], np.diff(some.bounds))
            place = self._sorted(number, some) + shift
            path[place] = self._joined.numbers[number][some.path]
            start[place], end[place] = some.start, some.end
            above = place[np.maximum(some.parent, 0)] if len(place) else some.parent
            parent[place] = np.where(some.parent < 0, UNKNOWN, above)
        return Trees(bounds, path, parent, start, end)

    # -- one document ---------------------------------------------------------------------------

    def _of(self, doc: str) -> Collection:
        """The file that holds a document."""
        code = self.numbers(pl.Series([doc], dtype=pl.String))
        if code[0] < 0:
            raise KeyError(doc)
        return self.parts[int(self._part_of(code)[0])]

    def element(self, doc: str, xpath: str) -> Element:
        """One element; raises KeyError if there is none."""
        try:
            part = self._of(doc)
        except KeyError:
            raise KeyError(NO_DOCUMENT.format(doc=doc)) from None
        return part.element(doc, xpath)

    def all_elements(self, doc: str) -> list[Element]:
        """Every element of a document, in document order."""
        return self._of(doc).all_elements(doc)

    def elements_inside(self, doc: str, start: int, end: int) -> list[Element]:
        """The elements that lie wholly in ``[start, end)``."""
        return self._of(doc).elements_inside(doc, start, end)

    def smallest_elements(self, doc: str, start: Ints, end: Ints) -> list[Element]:
        """As `smallest_around`, for many spans of one document."""
        return self._of(doc).smallest_elements(doc, start, end)

    def points(self, doc: str, offset: Ints, closing: Bools) -> list[str]:
        """XPath points of one document: in the text node after each offset, or before it."""
        return self._of(doc).points(doc, offset, closing)

    def children(self, doc: str, xpath: str) -> list[Element]:
        """The elements just below one, in document order."""
        return self._of(doc).children(doc, xpath)


def _before(sizes: Iterable[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(np.array(list(sizes), dtype=np.int64))])
