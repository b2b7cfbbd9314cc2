"""The unfinished index: what a build has done so far, on the disk so that it can go on from there.

Each batch is appended to raw arrays beside the output, and then a state is written that says how
much of them is whole. Whatever ends the build, the next one cuts them back to that and goes on.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import astuple, dataclass
from itertools import compress, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from foveal.collection.numbering import Numbers, PathNumbers, join_paths
from foveal.collection.parsing import Batch, Bools
from foveal.collection.storage import sync_folder, write_sections
from foveal.errors import InputError, Problem
from foveal.spans import Ints

__all__ = ["Block", "Parsed", "Partial"]

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
_PATHS = ("path_parent", "path_tag", "path_ordinal")
_PLACES = "doc_places"
"""Where each document was found, and whether its name is from within, in JSON, a line each.

Two of one name are both to be told; and only names that are places lose a common folder."""
_TAGS = "tags"
"""The tags by their numbers, a line each; a batch writes only those that are new."""
_FILES = (*_RAW, _PLACES, _TAGS)
_MOST_CHARACTERS = (1 << 32) - 1
_BATCHES_PER_SYNC = 64
"""Batches after which all is brought to the disk: a quarter of a gigabyte of documents."""
_READ = 1 << 20


@dataclass(frozen=True)
class Parsed:
    """A batch of documents as whoever parsed it sends it back."""

    batch: Batch
    places: tuple[str, ...]
    inside: tuple[bool, ...]
    """Whether each document has its name from within, not from where it lies."""
    failures: tuple[tuple[str, str], ...]
    size: int
    done: float


@dataclass(frozen=True)
class Block:
    """Some documents of another index, with paths by the numbers they have there."""

    documents: tuple[str, ...]
    lengths: Ints
    digests: bytes
    counts: Ints
    """Elements of each document."""
    path: Ints
    start: Ints
    end: Ints
    done: float

    def only(self, kept: Bools) -> Block:
        """The same without some of the documents."""
        if kept.all():
            return self
        own = np.repeat(kept, self.counts)
        digests = np.frombuffer(self.digests, dtype=np.uint8).reshape(-1, 16)
        return Block(
            tuple(compress(self.documents, kept)),
            self.lengths[kept],
            digests[kept].tobytes(),
            self.counts[kept],
            self.path[own],
            self.start[own],
            self.end[own],
            self.done,
        )


@dataclass
class _Begin:
    """Where in the index a source begins."""

    documents: int
    batches: int
    failures: int
    apart: bool
    """Whether names that are places lose a folder later, and mean nothing to others until then."""

    def key(self, name: str, *, inside: bool) -> int:
        """The hash by which a document's name is known."""
        return hash((self.documents, name)) if self.apart and not inside else hash(name)


class Partial:
    """Raw arrays beside the output, and a state that says what of them is whole."""

    def __init__(self, output: Path, identity: str) -> None:
        self.folder = output.with_name(f".{output.name}.partial")
        self.identity = identity
        self.lock = _locked_folder(self.folder)
        try:
            self._clear()
            mode = "ab" if self._resume() else "wb"
            self.files = {name: (self.folder / name).open(mode) for name in _FILES}
        except BaseException:
            if not (self.folder / "state.json").exists():  # nothing to go on with
                self.remove()
            self.lock.close()
            raise

    def _clear(self) -> None:
        self.tags: dict[str, int] = {}
        self.paths = PathNumbers()
        self.names = Numbers()
        """The number of each document, by the hash of its name."""
        self.failures: list[tuple[str, str]] = []
        self.begins: list[_Begin] = []
        self.batches = self.documents = self.elements = self.characters = 0
        self.sums = dict.fromkeys(_FILES, 0)

    # -- what is whole --------------------------------------------------------------------------

    def _resume(self) -> bool:
        """Go back to the last whole batch of an earlier attempt at the same thing."""
        # After a loss of power the disk may have the newest state, but not all that it tells of.
        for name in ("state.json", "synced.json"):
            with suppress(OSError, ValueError, KeyError, TypeError):
                if self._load(self.folder / name):
                    return True
            self._clear()
        return False

    def _load(self, state_file: Path) -> bool:
        state = json.loads(state_file.read_bytes())
        if state["identity"] != self.identity:
            return False
        sizes, self.sums = state["sizes"], {name: state["sums"][name] for name in _FILES}
        if any(_sum(self.folder / name, sizes[name]) != self.sums[name] for name in _FILES):
            return False
        self.failures = [(place, message) for place, message in state["failures"]]
        self.begins = [_Begin(*row) for row in state["begins"]]
        self.batches, self.characters = state["batches"], state["characters"]
        self.elements = state["elements"]
        for name in _FILES:
            os.truncate(self.folder / name, sizes[name])
        tags = (self.folder / _TAGS).read_bytes().decode().split("\n")[:-1]
        self.tags = {tag: i for i, tag in enumerate(tags)}
        self.paths.number(*(self._read(name).astype(np.int64) for name in _PATHS))
        self._know_names()
        return True

    def _know_names(self) -> None:
        """Take down the names of documents that are there already."""
        keys: list[int] = []
        for begin, name, _, inside in self._read_documents():
            keys.append(begin.key(name, inside=inside))
            if len(keys) == _READ:
                self._add_names(keys)
                keys = []
        self._add_names(keys)

    def _add_names(self, keys: Sequence[int]) -> None:
        numbers = self.documents + np.arange(len(keys))
        self.names.add(np.array(keys, dtype=np.int64), numbers)
        self.documents += len(keys)

    def _read(self, name: str) -> np.ndarray[Any, Any]:
        return np.fromfile(self.folder / name, dtype=_RAW[name])

    def _read_documents(self) -> Iterator[tuple[_Begin, str, str, bool]]:
        """Of each document its source, its name, its place, and whether its name is from within."""
        source = -1
        with (
            (self.folder / "doc_names").open("rb") as names,
            (self.folder / _PLACES).open("rb") as places,
        ):
            for row, (name, line) in enumerate(zip(names, places, strict=True)):
                while source + 1 < len(self.begins) and self.begins[source + 1].documents <= row:
                    source += 1
                place, inside = json.loads(line)
                yield self.begins[source], name[:-1].decode(), place, inside

    def save(self) -> None:
        """Note that everything so far is whole."""
        for stream in self.files.values():
            stream.flush()
        state = {
            "identity": self.identity,
            "batches": self.batches,
            "elements": self.elements,
            "characters": self.characters,
            "failures": self.failures,
            "begins": [astuple(begin) for begin in self.begins],
            "sizes": {name: stream.tell() for name, stream in self.files.items()},
            "sums": self.sums,
        }
        text = json.dumps(state)
        if self.batches % _BATCHES_PER_SYNC == 0:
            for stream in self.files.values():
                os.fsync(stream.fileno())
            self._replace("synced.json", text, sync=True)
        self._replace("state.json", text)

    def _replace(self, name: str, text: str, *, sync: bool = False) -> None:
        temporary = self.folder / f"{name}.new"
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        temporary.replace(self.folder / name)

    def close(self) -> None:
        for stream in (*self.files.values(), self.lock):
            # On a full disk this fails once more; what is not noted as whole does not count.
            with suppress(OSError):
                stream.close()

    def remove(self) -> None:
        """Leave nothing behind."""
        # Another build may begin as soon as the lock is gone, and must not find half a folder.
        away = self.folder.with_name(f"{self.folder.name}.old")
        shutil.rmtree(away, ignore_errors=True)
        with suppress(OSError):
            self.folder.rename(away)
            shutil.rmtree(away, ignore_errors=True)
            return
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- growing --------------------------------------------------------------------------------

    def begin(self, source: int, *, apart: bool = False) -> int:
        """What follows is of the source of this number; how many of its batches are there.

        With `apart`, documents that are called by their places may be called like others for now.
        """
        if source == len(self.begins):
            begin = _Begin(self.documents, self.batches, len(self.failures), apart)
            self.begins.append(begin)
        last = source + 1 == len(self.begins)
        after = self.batches if last else self.begins[source + 1].batches
        return after - self.begins[source].batches

    def add(self, parsed: Parsed) -> None:
        """Append one batch and note that it is whole."""
        kept, failures = self._new_names(parsed.batch, parsed.places, parsed.inside)
        batch = parsed.batch.only(kept)
        paths = batch.paths
        used = np.ones(len(paths.parent), dtype=bool)
        if not kept.all():  # paths that only other documents have are left out
            used[:] = False
            used[batch.path] = True
        own = np.cumsum(used) - 1
        above = np.where(paths.parent < 0, -1, own[paths.parent])[used]
        numbers = self.add_paths(paths.tags, (above, paths.tag[used], paths.ordinal[used]))
        path = numbers[own[batch.path]]
        self._append(
            batch,
            batch.digests,
            compress(zip(parsed.places, parsed.inside, strict=True), kept),
            np.bincount(batch.document, minlength=len(batch.documents)),
            (batch.document, path, batch.start, batch.end),
        )
        self._added((*parsed.failures, *failures))

    def add_block(self, block: Block, place: str, numbers: Ints) -> None:
        """Append documents of another index, whose paths have these numbers here."""
        size = len(block.documents)
        kept, failures = self._new_names(block, (place,) * size, (True,) * size)
        block = block.only(kept)
        document = np.repeat(np.arange(len(block.counts)), block.counts)
        self._append(
            block,
            block.digests,
            [(place, True)] * len(block.documents),
            block.counts,
            (document, numbers[block.path], block.start, block.end),
        )
        self._added(failures)

    def add_paths(self, tags: Sequence[str], columns: tuple[Ints, Ints, Ints]) -> Ints:
        """Number paths in the index, adding those not known yet."""
        known = len(self.tags)
        number, new = join_paths(self.paths, self.tags, tags, columns)
        new_tags = [*islice(reversed(self.tags), len(self.tags) - known)][::-1]
        self._write(_TAGS, "".join(f"{tag}\n" for tag in new_tags).encode())
        for name, column in zip(_PATHS, new, strict=True):
            self._write(name, column.astype(_RAW[name]).tobytes())
        return number

    def _append(
        self,
        added: Batch | Block,
        digests: bytes,
        places: Iterator[tuple[str, bool]] | list[tuple[str, bool]],
        counts: Ints,
        elements: tuple[Ints, Ints, Ints, Ints],
    ) -> None:
        document, path, start, end = elements
        place = document << 32 | path
        if not (place[1:] > place[:-1]).all():
            order = np.argsort(place, kind="stable")  # documents stand in order already
            path, start, end = path[order], start[order], end[order]
        columns = {
            "path": path,
            "start": start,
            "end": end,
            "doc_elements": counts,
            "doc_length": added.lengths,
        }
        for name, column in columns.items():
            self._write(name, column.astype(_RAW[name]).tobytes())
        self._write("doc_digest", digests)
        self._write("doc_names", "".join(f"{name}\n" for name in added.documents).encode())
        self._write(_PLACES, "".join(f"{json.dumps(row)}\n" for row in places).encode())
        self.elements += len(path)
        self.characters += int(added.lengths.sum())

    def _added(self, failures: Sequence[tuple[str, str]]) -> None:
        self.failures += failures
        self.batches += 1
        self.save()

    def _write(self, name: str, data: bytes) -> None:
        self.files[name].write(data)
        self.sums[name] = zlib.crc32(data, self.sums[name])

    def _new_names(
        self, added: Batch | Block, places: Sequence[str], inside: Sequence[bool]
    ) -> tuple[Bools, list[tuple[str, str]]]:
        """Which documents may stay, and what is wrong with those whose name or length is not."""
        names, begin = added.documents, self.begins[-1]
        kept = added.lengths <= _MOST_CHARACTERS
        failures = [
            (places[i], f"the document has more than {_MOST_CHARACTERS} characters")
            for i in np.flatnonzero(~kept).tolist()
        ]
        keys = [begin.key(name, inside=own) for name, own in zip(names, inside, strict=True)]
        earlier = self.names.find(np.array(keys, dtype=np.int64))
        known = self._documents_of(set(earlier[earlier >= 0].tolist()))
        # In an archive a place and a name from within are only the same without its folders.
        own_names = [
            (name, begin.apart and not own) for name, own in zip(names, inside, strict=True)
        ]
        here: dict[tuple[str, bool], str] = {}
        for i in np.flatnonzero(kept).tolist():
            name, place = known.get(int(earlier[i]), (None, ""))
            if own_names[i] in here or names[i] == name:  # else another name of the same hash
                failures.append((places[i], _twice(names[i], here.get(own_names[i], place))))
                kept[i] = False
            else:
                here[own_names[i]] = places[i]
        self._add_names(list(compress(keys, kept)))
        return kept, failures

    def _documents_of(self, numbers: set[int]) -> dict[int, tuple[str, str]]:
        """Names and places of documents that came in earlier batches."""
        if not numbers:
            return {}
        rows = enumerate(self._read_documents())
        return {i: (name, place) for i, (_, name, place, _) in rows if i in numbers}

    # -- the end --------------------------------------------------------------------------------

    def own_failures(self, source: int) -> list[tuple[str, str]]:
        """What was wrong with documents of a source."""
        bounds = [*(begin.failures for begin in self.begins), len(self.failures)]
        return self.failures[bounds[source] : bounds[source + 1]]

    def finish(
        self, output: Path, header: Mapping[str, Any], folders: Sequence[str | None]
    ) -> None:
        """Assemble the index and clear away.

        Parameters
        ----------
        output : Path
        header : mapping
        folders : sequence of str or None
            What names that are places lose at the beginning; for each source that is an archive.
        """
        for stream in self.files.values():
            stream.close()
        counts = self._read("doc_elements").astype(np.uint64)
        bounds = np.concatenate([np.zeros(1, np.uint64), np.cumsum(counts, dtype=np.uint64)])
        sections: dict[str, Any] = {"doc_bounds": bounds}
        sections |= {n: (self.folder / n, kind) for n, kind in _RAW.items() if n != "doc_elements"}
        if any(folder is not None for folder in folders):
            sections["doc_names"] = self._cut_names(folders), _RAW["doc_names"]
        # In the folder, so that whatever happens no trace stays beside the output.
        whole = self.folder / "index"
        write_sections(whole, header, sections)
        whole.replace(output)
        sync_folder(output.parent)
        self.remove()

    def _cut_names(self, folders: Sequence[str | None]) -> Path:
        """A file of the names without the folders that hold everything, where they are places."""
        keys = array("q")
        found = self.folder / "cut_names"
        with found.open("wb") as stream:
            for cut, _ in self._cut_documents(folders):
                keys.append(hash(cut))
                stream.write(f"{cut}\n".encode())
        if len(np.unique(np.frombuffer(keys, dtype=np.int64))) < len(keys):
            self._refuse_names(folders)
        return found

    def _cut_documents(self, folders: Sequence[str | None]) -> Iterator[tuple[str, str]]:
        """Name and place of each document, the name without the folders of its source."""
        lost = {id(begin): folder or "" for begin, folder in zip(self.begins, folders, strict=True)}
        for begin, name, place, inside in self._read_documents():
            yield name if inside else name.removeprefix(lost[id(begin)]), place

    def _refuse_names(self, folders: Sequence[str | None]) -> None:
        """Raise if names without folders are the same: of several sources, or one from within."""
        found: dict[str, str] = {}
        problems: list[Problem] = []
        for cut, place in self._cut_documents(folders):
            if cut in found:
                problems.append(Problem("unclassified", place, None, _twice(cut, found[cut])))
            found[cut] = place
        if problems:
            raise InputError(problems)


def _sum(path: Path, size: int) -> int:
    """The checksum of the first bytes of a file; raises ValueError if there are not as many."""
    found = 0
    with path.open("rb") as stream:
        while size > 0:
            block = stream.read(min(size, _READ))
            if not block:
                raise ValueError(f"{path} is too short")
            found = zlib.crc32(block, found)
            size -= len(block)
    return found


def _locked_folder(folder: Path) -> IO[bytes]:
    """Make a folder and lock it; if another build clears it away meanwhile, make it anew."""
    lock = folder / "lock"
    while True:
        folder.mkdir(exist_ok=True)
        with suppress(FileNotFoundError), ExitStack() as opened:
            stream = opened.enter_context(_locked(lock))
            if os.path.samestat(os.fstat(stream.fileno()), lock.stat()):
                opened.pop_all()
                return stream


def _locked(path: Path) -> IO[bytes]:
    """A file that only one build holds at a time, where the system can say so."""
    stream = path.open("wb")
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            message = "another build of the same index is at work"
            raise InputError.at("unclassified", str(path.parent), None, message) from None
    return stream


def _twice(name: str, place: str) -> str:
    return f"is called {name!r} like {place}; expected one document of each name"
