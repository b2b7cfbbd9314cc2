"""Building an index: batches parsed in parallel, written in order, resumed after interruption."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from foveal._version import __version__
from foveal.collection.elements import WHITESPACE, Batch, DocumentError, Limits, Recorder
from foveal.collection.sources import (
    TEXT,
    XML,
    Task,
    fingerprint,
    is_archive,
    read_items,
    tasks_of,
)
from foveal.collection.storage import write_sections
from foveal.errors import InputError, Problem, UsageError

__all__ = ["BuildOptions", "Summary", "build_index"]

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
_MOST_CHARACTERS = (1 << 32) - 1


@dataclass(frozen=True)
class BuildOptions:
    """What decides the bytes of an index.

    Parameters
    ----------
    whitespace : {"keep", "merge", "strip"}
    name_tag : str, optional
        Name documents by the text of their first such element instead of by their path.
    max_errors : int
        Documents that may fail before the build does.
    limits : Limits
    """

    whitespace: str = "keep"
    name_tag: str | None = None
    max_errors: int = 0
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.whitespace not in WHITESPACE:
            raise UsageError(
                f"white space {self.whitespace!r} is not one of {', '.join(WHITESPACE)}"
            )


@dataclass(frozen=True)
class Summary:
    """What an index holds, and which documents it does not."""

    documents: int
    elements: int
    paths: int
    tags: int
    characters: int
    failures: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Parsed:
    batch: Batch
    places: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]
    size: int


def _parse(task: Task, options: BuildOptions) -> _Parsed:
    """Parse one batch; runs in any process."""
    recorder = Recorder(whitespace=options.whitespace, limits=options.limits)
    failures, places, size = [], [], 0
    for item in read_items(task):
        size += len(item.data)
        try:
            if "\n" in item.name:
                raise DocumentError("the document's name holds a line break")
            if item.kind == XML:
                recorder.add(item.name, item.data, name_tag=options.name_tag)
            elif item.kind == TEXT:
                recorder.add_text(item.name, item.data.decode("utf-8-sig"))
        except DocumentError as error:
            failures.append((item.place, str(error)))
        except UnicodeDecodeError as error:
            failures.append((item.place, f"not UTF-8 at byte {error.start}"))
        else:
            places.append(item.place)
    return _Parsed(recorder.batch(), tuple(places), tuple(failures), size)


def _in_order(
    tasks: Iterable[Task], options: BuildOptions, executor: Executor | None, ahead: int
) -> Iterator[_Parsed]:
    """Parsed batches in the order of the tasks, a few ahead, never all at once."""
    if executor is None:
        for task in tasks:
            yield _parse(task, options)
        return
    waiting: deque[Future[_Parsed]] = deque()
    for task in tasks:
        waiting.append(executor.submit(_parse, task, options))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


class _Partial:
    """The unfinished index beside the output: raw arrays and a state that says what is whole."""

    def __init__(self, output: Path, identity: str) -> None:
        self.folder = output.with_name(f".{output.name}.partial")
        self.identity = identity
        self.tags: dict[str, int] = {}
        self.known: dict[tuple[int, int, int], int] = {}
        self.names: dict[str, str] = {}
        self.failures: list[tuple[str, str]] = []
        self.batches = 0
        self.characters = 0
        if not self._resume():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
        self.files = {name: (self.folder / name).open("ab") for name in _RAW}

    def _resume(self) -> bool:
        """Go back to the last whole batch of an earlier attempt at the same thing."""
        try:
            state = json.loads((self.folder / "state.json").read_bytes())
        except (OSError, ValueError):
            return False
        if state["identity"] != self.identity:
            return False
        for name, size in state["sizes"].items():
            os.truncate(self.folder / name, size)
        self.tags = {tag: i for i, tag in enumerate(state["tags"])}
        self.failures = [(place, message) for place, message in state["failures"]]
        self.batches, self.characters = state["batches"], state["characters"]
        columns = [
            self._read(name).tolist() for name in ("path_parent", "path_tag", "path_ordinal")
        ]
        self.known = {key: i for i, key in enumerate(zip(*columns, strict=True))}
        text = (self.folder / "doc_names").read_text(encoding="utf-8")
        self.names = dict.fromkeys(text.splitlines(), "an earlier attempt")
        return True

    def _read(self, name: str) -> np.ndarray[Any, Any]:
        return np.fromfile(self.folder / name, dtype=_RAW[name])

    def add(self, parsed: _Parsed) -> None:
        """Append one batch and note that it is whole."""
        batch = parsed.batch
        if len(batch.lengths) and batch.lengths.max() > _MOST_CHARACTERS:
            raise InputError.at(parsed.places[0], None, "a document has more than 2^32 characters")
        self._check_names(parsed)
        path = self._global_paths(batch)[batch.path]
        of_element = np.repeat(np.arange(len(batch.documents)), np.diff(batch.bounds))
        order = np.lexsort((path, of_element))
        columns = {
            "path": path[order],
            "start": batch.start[order],
            "end": batch.end[order],
            "doc_elements": np.diff(batch.bounds),
            "doc_length": batch.lengths,
        }
        for name, column in columns.items():
            self.files[name].write(column.astype(_RAW[name]).tobytes())
        self.files["doc_digest"].write(b"".join(batch.digests))
        self.files["doc_names"].write("".join(f"{name}\n" for name in batch.documents).encode())
        self.failures += parsed.failures
        self.characters += int(batch.lengths.sum())
        self.batches += 1
        self._save()

    def _check_names(self, parsed: _Parsed) -> None:
        twice = []
        for name, place in zip(parsed.batch.documents, parsed.places, strict=True):
            if name in self.names:
                message = f"document {name!r} is already in {self.names[name]}"
                twice.append(Problem(place, None, f"{message}; expected one of each name"))
            self.names[name] = place
        if twice:
            raise InputError(twice)

    def _global_paths(self, batch: Batch) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Number the batch's paths in the index, adding those not known yet."""
        tag = [self.tags.setdefault(name, len(self.tags)) for name in batch.tags]
        number = np.empty(len(batch.parent), dtype=np.int64)
        new: list[tuple[int, int, int]] = []
        rows = zip(batch.parent.tolist(), batch.tag.tolist(), batch.ordinal.tolist(), strict=True)
        for i, (parent, code, ordinal) in enumerate(rows):
            key = (int(number[parent]) if parent >= 0 else -1, tag[code], ordinal)
            found = self.known.get(key)
            if found is None:
                found = self.known[key] = len(self.known)
                new.append(key)
            number[i] = found
        table = np.array(new, dtype=np.int64).reshape(-1, 3)
        for name, column in zip(("path_parent", "path_tag", "path_ordinal"), table.T, strict=True):
            self.files[name].write(column.astype(_RAW[name]).tobytes())
        return number

    def _save(self) -> None:
        for stream in self.files.values():
            stream.flush()
        state = {
            "identity": self.identity,
            "batches": self.batches,
            "characters": self.characters,
            "tags": list(self.tags),
            "failures": self.failures,
            "sizes": {name: stream.tell() for name, stream in self.files.items()},
        }
        temporary = self.folder / "state.new"
        temporary.write_text(json.dumps(state), encoding="utf-8")
        temporary.replace(self.folder / "state.json")

    def _below_common_folder(self) -> np.ndarray[Any, Any]:
        text = (self.folder / "doc_names").read_text(encoding="utf-8")
        names = _without_common_folder(text.split("\n")[:-1])
        return np.frombuffer("".join(f"{name}\n" for name in names).encode(), dtype=np.uint8)

    def finish(self, output: Path, options: BuildOptions, source: str, *, archive: bool) -> Summary:
        """Assemble the index and clear away."""
        for stream in self.files.values():
            stream.close()
        counts = self._read("doc_elements").astype(np.uint64)
        summary = Summary(
            documents=len(counts),
            elements=int(counts.sum()),
            paths=len(self.known),
            tags=len(self.tags),
            characters=self.characters,
            failures=tuple(self.failures),
        )
        header = {
            "foveal": __version__,
            "source": source,
            "whitespace": options.whitespace,
            "tags": list(self.tags),
            **{k: v for k, v in asdict(summary).items() if k != "tags"},
        }
        bounds = np.concatenate([np.zeros(1, np.uint64), np.cumsum(counts, dtype=np.uint64)])
        sections: dict[str, Any] = {"doc_bounds": bounds}
        sections |= {n: (self.folder / n, kind) for n, kind in _RAW.items() if n != "doc_elements"}
        if archive:
            sections["doc_names"] = self._below_common_folder()
        write_sections(output, header, sections)
        shutil.rmtree(self.folder)
        return summary


def _without_common_folder(names: list[str]) -> list[str]:
    """Names below the folder that holds them all: archives mostly have one.

    >>> _without_common_folder(["wiki/a/1", "wiki/b/2"])
    ['a/1', 'b/2']
    """
    while names and all("/" in name for name in names):
        folder = names[0].partition("/")[0] + "/"
        if not all(name.startswith(folder) for name in names):
            break
        names = [name.removeprefix(folder) for name in names]
    return names


def build_index(
    source: Path,
    output: Path,
    options: BuildOptions | None = None,
    *,
    executor: Executor | None = None,
    ahead: int = 4,
    progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Index a collection.

    Parameters
    ----------
    source : Path
        Directory, zip, tar (gz, bz2, xz, zst), or one XML, text or JSON Lines file.
    output : Path
        The index file; nothing is left there unless the build succeeds. After an interruption
        the same call goes on where it stopped.
    options : BuildOptions, optional
    executor : concurrent.futures.Executor, optional
        Where batches are parsed; by default here.
    ahead : int
        Batches to keep under way in the executor.
    progress : callable, optional
        Called with documents and bytes after each batch.
    """
    options = options or BuildOptions()
    if output.is_dir():
        raise InputError.at(str(output), None, "is a directory; expected a file name")
    if not output.parent.is_dir():
        raise InputError.at(str(output), None, "its directory does not exist")
    tasks = tasks_of(source)
    first = next(tasks, None)
    if first is None:
        raise InputError.at(str(source), None, "holds no document")
    identity = hashlib.blake2b(f"{fingerprint(source)}{options!r}{__version__}".encode())
    partial = _Partial(output, identity.hexdigest())

    def remaining() -> Iterator[Task]:
        for number, task in enumerate(_chain(first, tasks)):
            if number >= partial.batches:
                yield task

    for parsed in _in_order(remaining(), options, executor, ahead):
        partial.add(parsed)
        if len(partial.failures) > options.max_errors:
            shutil.rmtree(partial.folder)
            raise InputError(Problem(place, None, message) for place, message in partial.failures)
        if progress is not None:
            progress(len(parsed.places) + len(parsed.failures), parsed.size)
    archive = options.name_tag is None and is_archive(source)
    return partial.finish(output, options, source.name, archive=archive)


def _chain(first: Task, rest: Iterator[Task]) -> Iterator[Task]:
    yield first
    yield from rest
