"""An index while it grows: raw arrays in a folder beside the output, assembled at the end.

A large collection has millions of names and paths. An entry of a dict takes two hundred bytes; in
sorted arrays it takes twelve, and a whole batch is looked up at once.
"""

from __future__ import annotations

import json
import secrets
import shutil
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from foveal.collection.parsing import Batch, Bools, PathTable, distinct
from foveal.collection.storage import sync_folder, write_sections
from foveal.errors import InputError, Problem
from foveal.model import UNKNOWN
from foveal.spans import Ints

__all__ = ["IndexWriter", "PathNumbers", "SortedNumbers"]

_RAW = {
    "path": "<u4",
    "start": "<u4",
    "end": "<u4",
    "doc_elements": "<u4",
    "doc_length": "<u4",
    "doc_digest": "|u1",
    "doc_names": "|u1",
    "path_parent": "<i4",
    "path_tag": "<u4",
    "path_ordinal": "<u4",
}
"""The arrays that grow while an index is built, and the types they have in it."""
_PLACES = "doc_places"
"""Where each document was found, and whether its name is from within, in JSON, a line each.

Both places of a name that occurs twice are reported, and only names that are places lose a common
folder."""
_MOST_CHARACTERS = (1 << 32) - 1
_STEP_BITS = 31
_GROWTH = 8
"""Ratio of the sizes of sorted runs; each key is copied a few times altogether."""


class SortedNumbers:
    """Whole numbers (keys), each with a number of its own.

    They lie in a few sorted runs, the larger ones first; a new run takes in those before it that
    are not much larger.

    >>> numbers = SortedNumbers()
    >>> numbers.add(np.array([7, 3]), np.array([0, 1]))
    >>> numbers.find(np.array([3, 4, 7])).tolist()
    [1, -1, 0]
    """

    def __init__(self) -> None:
        self._runs: list[tuple[Ints, npt.NDArray[np.uint32]]] = []

    def add(self, keys: Ints, numbers: Ints) -> None:
        """Add new keys with their numbers."""
        if not len(keys):
            return
        order = np.argsort(keys)
        run = keys[order], numbers[order].astype(np.uint32)
        while self._runs and len(self._runs[-1][0]) < _GROWTH * len(run[0]):
            before = self._runs.pop()
            at = np.searchsorted(before[0], run[0])
            run = np.insert(before[0], at, run[0]), np.insert(before[1], at, run[1])
        self._runs.append(run)

    def find(self, keys: Ints) -> Ints:
        """Return the number of each key, `UNKNOWN` for those that are not there."""
        found = np.full(len(keys), UNKNOWN, dtype=np.int64)
        left = np.argsort(keys)  # neighbours are looked up next to each other: kinder to caches
        for known, numbers in self._runs:
            at = np.minimum(np.searchsorted(known, keys[left]), len(known) - 1)
            hit = known[at] == keys[left]
            found[left[hit]] = numbers[at[hit]]
            left = left[~hit]
        return found


class PathNumbers:
    """The paths of an index: each is a step below another, and numbered in order of arrival.

    >>> paths = PathNumbers()
    >>> parent, tag, ordinal = np.array([-1, 0]), np.array([0, 1]), np.array([1, 2])
    >>> [column.tolist() for column in paths.number(parent, tag, ordinal)]
    [[0, 1], [0, 1]]
    >>> parent, tag, ordinal = np.array([-1, 0, 0]), np.array([0, 1, 1]), np.array([1, 1, 2])
    >>> [column.tolist() for column in paths.number(parent, tag, ordinal)]
    [[0, 2, 1], [1]]
    """

    def __init__(self) -> None:
        self._known = SortedNumbers()
        self._steps: dict[int, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def number(self, parent: Ints, tag: Ints, ordinal: Ints) -> tuple[Ints, Ints]:
        """Return the number of each path, and which of them are new.

        A parent comes before its children and is given by its place among these paths, -1 for
        none. New ones get the next numbers, in the order in which they come.
        """
        # A number for each tag and ordinal, so that path and step fit into one number.
        different, which = distinct(tag.astype(np.int64) << 32 | ordinal.astype(np.int64))
        known = self._steps
        numbers = [known.setdefault(step, len(known)) for step in different.tolist()]
        step = np.array(numbers, dtype=np.int64)[which]
        parent = parent.astype(np.int64)
        number = np.full(len(parent), UNKNOWN, dtype=np.int64)

        def keys(rows: Ints) -> Ints:
            above = parent[rows]
            numbered = np.where(above < 0, UNKNOWN, number[above]) if len(rows) else above
            return (numbered + 1) << _STEP_BITS | step[rows]

        depth = _depths(parent)
        order = np.argsort(depth, kind="stable")
        bounds = np.searchsorted(depth[order], np.arange(int(depth.max(initial=-1)) + 2))
        for first, last in pairwise(bounds.tolist()):
            level = order[first:last]
            above = np.where(parent[level] < 0, UNKNOWN, number[parent[level]])
            # Below a path that is new everything is.
            old = level[(above >= 0) | (parent[level] < 0)]
            number[old] = self._known.find(keys(old))
        new = np.flatnonzero(number < 0)
        number[new] = self._count + np.arange(len(new))
        self._known.add(keys(new), number[new])
        self._count += len(new)
        return number, new


def _depths(parent: Ints) -> Ints:
    """Return how many paths are above each; parents come before their children."""
    depth = np.zeros(len(parent), dtype=np.int64)
    left = np.flatnonzero(parent >= 0)
    above = parent[left]
    while len(left):
        depth[left] += 1
        above = parent[above]
        left, above = left[above >= 0], above[above >= 0]
    return depth


@dataclass
class _SourceStart:
    """Where in the index the documents and failures of a source begin."""

    documents: int
    failures: int
    is_archive: bool
    """Names that are places lose a folder later, and mean nothing to other sources until then."""


class IndexWriter:
    """Raw arrays in a folder of their own beside the output; `close` removes it."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.tags: dict[str, int] = {}
        self.paths = PathNumbers()
        self.names = SortedNumbers()
        """The number of each document, by the hash of its name."""
        self.failures: list[Problem] = []
        self.starts: list[_SourceStart] = []
        self.batches = self.documents = self.elements = self.characters = 0
        # The name is known before the folder exists: `close` removes it at any interruption.
        self.folder = output.with_name(f".{output.name}.{secrets.token_hex(4)}")
        self.files: dict[str, BinaryIO] = {}

    def open(self) -> None:
        """Make the folder and its files."""
        self.folder.mkdir(mode=0o700)
        for name in (*_RAW, _PLACES):
            self.files[name] = (self.folder / name).open("wb")

    def close(self) -> None:
        """Leave nothing but the index behind."""
        for stream in self.files.values():
            with suppress(OSError):  # on a full disk this fails once more
                stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def begin_source(self, *, is_archive: bool) -> None:
        """Note that the documents of the next source follow."""
        self.starts.append(_SourceStart(self.documents, len(self.failures), is_archive))

    def add(
        self,
        batch: Batch,
        places: Sequence[str],
        inside: Sequence[bool],
        numbers: Ints | None = None,
    ) -> None:
        """Append a batch, but for documents whose name is taken.

        Parameters
        ----------
        batch : Batch
        places : sequence of str
            Where each document was found.
        inside : sequence of bool
            True for a document whose name is from within, not from where it lies.
        numbers : array of int, optional
            The numbers that `add_paths` gave to the paths of the batch; by default those that its
            documents have are added now.
        """
        kept = self._check_names(batch, places, inside)
        batch = batch.only(kept)
        if numbers is None:
            used = np.ones(len(batch.paths.parent), dtype=bool)
            if not kept.all():
                used[:] = False
                used[batch.path] = True
            own = np.cumsum(used) - 1
            parent = np.where(batch.paths.parent < 0, UNKNOWN, own[batch.paths.parent])[used]
            tag, ordinal = batch.paths.tag[used], batch.paths.ordinal[used]
            added = self.add_paths(PathTable(parent, tag, ordinal, batch.paths.tags))
            numbers = added[own] if len(added) else added
        path, start, end = numbers[batch.path], batch.start, batch.end
        order = batch.document << 32 | path
        if not (order[1:] > order[:-1]).all():
            rows = np.argsort(order, kind="stable")
            path, start, end = path[rows], start[rows], end[rows]
        columns = {
            "path": path,
            "start": start,
            "end": end,
            "doc_elements": np.bincount(batch.document, minlength=len(batch.documents)),
            "doc_length": batch.lengths,
        }
        for name, column in columns.items():
            self.files[name].write(column.astype(_RAW[name]).tobytes())
        self.files["doc_digest"].write(batch.digests)
        self.files["doc_names"].write("".join(f"{name}\n" for name in batch.documents).encode())
        rows_kept = compress(zip(places, inside, strict=True), kept)
        self.files[_PLACES].write("".join(f"{json.dumps(row)}\n" for row in rows_kept).encode())
        self.elements += len(path)
        self.characters += int(batch.lengths.sum())
        self.batches += 1

    def add_paths(self, paths: PathTable) -> Ints:
        """Return the numbers of paths in the index, adding those that are new."""
        codes = [self.tags.setdefault(name, len(self.tags)) for name in paths.tags]
        tag = np.array(codes, dtype=np.int64)[paths.tag]
        number, new = self.paths.number(paths.parent, tag, paths.ordinal)
        above = paths.parent[new]
        parent = np.where(above < 0, UNKNOWN, number[above]) if len(new) else above
        columns = {"path_parent": parent, "path_tag": tag[new], "path_ordinal": paths.ordinal[new]}
        for name, column in columns.items():
            self.files[name].write(column.astype(_RAW[name]).tobytes())
        return number

    def _check_names(self, batch: Batch, places: Sequence[str], inside: Sequence[bool]) -> Bools:
        """Return which documents may stay; the others are failures: too long, or a name twice."""
        names, start = batch.documents, self.starts[-1]
        kept = batch.lengths <= _MOST_CHARACTERS
        for i in np.flatnonzero(~kept).tolist():
            message = f"the document has more than {_MOST_CHARACTERS} characters"
            self.failures.append(Problem("document.size", places[i], None, message))
        # In an archive a place and a name from within are only the same without its folders.
        own_names = [
            (name, start.is_archive and not own) for name, own in zip(names, inside, strict=True)
        ]
        hashes = (
            hash((start.documents, name)) if is_place else hash(name)
            for name, is_place in own_names
        )
        keys = np.fromiter(hashes, np.int64, len(names))
        earlier = self.names.find(keys)
        known: dict[int, tuple[str, str]] = {}
        asked = set(earlier[earlier >= 0].tolist())
        if asked:
            rows = enumerate(self._read_documents())
            known = {i: (name, place) for i, (_, name, place, _) in rows if i in asked}
        here: dict[tuple[str, bool], str] = {}
        for i in np.flatnonzero(kept).tolist():
            name, place = known.get(int(earlier[i]), (None, ""))
            if own_names[i] in here or names[i] == name:  # else another name of the same hash
                first = here.get(own_names[i], place)
                self.failures.append(_report_twice(places[i], names[i], first))
                kept[i] = False
            else:
                here[own_names[i]] = places[i]
        added = int(kept.sum())
        self.names.add(keys[kept], self.documents + np.arange(added))
        self.documents += added
        return kept

    def _read_documents(self) -> Iterator[tuple[int, str, str, bool]]:
        """Yield source, name, place of each document, and whether its name is from within."""
        self.files["doc_names"].flush()
        self.files[_PLACES].flush()
        source = -1
        with (
            (self.folder / "doc_names").open("rb") as names,
            (self.folder / _PLACES).open("rb") as places,
        ):
            for row, (name, line) in enumerate(zip(names, places, strict=True)):
                while source + 1 < len(self.starts) and self.starts[source + 1].documents <= row:
                    source += 1
                place, inside = json.loads(line)
                yield source, name[:-1].decode(), place, inside

    def list_failures(self, source: int) -> list[tuple[str, str]]:
        """Return where documents of a source failed, and why."""
        bounds = [*(start.failures for start in self.starts), len(self.failures)]
        failures = self.failures[bounds[source] : bounds[source + 1]]
        return [(p.file if p.line is None else f"{p.file}:{p.line}", p.text) for p in failures]

    def finish(self, header: Mapping[str, Any], folders: Sequence[str | None]) -> None:
        """Assemble the index and put it in place.

        Parameters
        ----------
        header : mapping
        folders : sequence of str or None
            For each source that is an archive, the folders that hold everything in it: names that
            are places lose them.
        """
        if any(folder is not None for folder in folders):
            self._cut_names([folder or "" for folder in folders])
        for stream in self.files.values():
            stream.close()
        counts = np.fromfile(self.folder / "doc_elements", dtype=_RAW["doc_elements"])
        bounds = np.concatenate([np.zeros(1, np.uint64), np.cumsum(counts, dtype=np.uint64)])
        sections: dict[str, Any] = {"doc_bounds": bounds}
        sections |= {n: (self.folder / n, kind) for n, kind in _RAW.items() if n != "doc_elements"}
        whole = self.folder / "index"
        write_sections(whole, header, sections)
        whole.replace(self.output)
        sync_folder(self.output.parent)

    def _cut_names(self, folders: Sequence[str]) -> None:
        """Write the names without the folders that hold everything, where they are places."""

        def cut() -> Iterator[tuple[str, str]]:
            for source, name, place, inside in self._read_documents():
                yield name if inside else name.removeprefix(folders[source]), place

        keys = array("q")
        with (self.folder / "cut_names").open("wb") as stream:
            for name, _ in cut():
                keys.append(hash(name))
                stream.write(f"{name}\n".encode())
        if len(np.unique(np.frombuffer(keys, dtype=np.int64))) < len(keys):
            found: dict[str, str] = {}
            problems: list[Problem] = []
            for name, place in cut():
                if name in found:
                    problems.append(_report_twice(place, name, found[name]))
                found[name] = place
            if problems:
                raise InputError(problems)
        self.files["doc_names"].close()
        (self.folder / "cut_names").replace(self.folder / "doc_names")


def _report_twice(place: str, name: str, first: str) -> Problem:
    message = f"is called {name!r} like {first}; expected one document of each name"
    return Problem("document.duplicate", place, None, message)
