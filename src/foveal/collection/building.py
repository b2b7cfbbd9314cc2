"""Building an index: batches parsed in parallel, written in order, resumed after interruption."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import asdict, dataclass, field
from itertools import compress, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from foveal._version import __version__
from foveal.collection.elements import WHITESPACE, Batch, Bools, DocumentError, Limits, Recorder
from foveal.collection.safety import not_in_encoding
from foveal.collection.sources import LINE, XML, Item, Source, Task, document_of_line, read_items
from foveal.collection.storage import write_sections
from foveal.errors import FovealError, InputError, Problem, UsageError
from foveal.spans import Ints

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
"""The arrays that grow while an index is built, and the types they have in it."""
_PATHS = ("path_parent", "path_tag", "path_ordinal")
_PLACES = "doc_places"
"""Where each document was found, in JSON, a line each: two of one name are both to be told."""
_MOST_CHARACTERS = (1 << 32) - 1
_TOLD = 100
"""Failures beyond those allowed after which a build looks for no more."""


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
    passed_over: tuple[tuple[str, int], ...] = ()
    """What in the source is no document, and how many of each."""


@dataclass(frozen=True)
class _Parsed:
    batch: Batch
    places: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]
    named_inside: bool
    """Whether a document has its name from within, not from where it lies."""
    size: int
    done: float


def add_item(item: Item, recorder: Recorder, name_tag: str | None) -> None:
    """Have a document of a source recorded, whatever its kind."""
    if item.kind == XML:
        recorder.add(item.name, item.data, name_tag=name_tag)
    elif item.kind == LINE:
        recorder.add_text(*document_of_line(item.data))
    else:
        try:
            text = item.data.decode()
        except UnicodeDecodeError as error:
            raise not_in_encoding(error, "UTF-8") from None
        recorder.add_text(item.name, text)


def _parse(task: Task, options: BuildOptions) -> _Parsed:
    """Parse one batch; runs in any process."""
    recorder = Recorder(whitespace=options.whitespace, limits=options.limits)
    failures, places, size, named_inside = [], [], 0, options.name_tag is not None
    for item in read_items(task):
        size += len(item.data)
        named_inside |= item.kind == LINE
        # A file name that is not UTF-8 must not spoil the message that mentions it.
        place = os.fsencode(item.place).decode(errors="replace")
        try:
            add_item(item, recorder, options.name_tag)
        except DocumentError as error:
            failures.append(error.placed(place))
        else:
            places.append(place)
    batch = recorder.batch()
    return _Parsed(batch, tuple(places), tuple(failures), named_inside, size, task.done)


def _in_order(
    tasks: Iterator[Task], options: BuildOptions, executor: Executor | None, ahead: int
) -> Iterator[_Parsed]:
    """Parsed batches in the order of the tasks, a few ahead, never all at once."""
    if executor is None:
        for task in tasks:
            yield _parse(task, options)
        return
    waiting: deque[Future[_Parsed]] = deque()
    try:
        for task in tasks:
            waiting.append(executor.submit(_parse, task, options))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenExecutor:
        raise FovealError(
            "a process of the build was ended, perhaps for want of memory; "
            "the same command goes on where it stopped"
        ) from None
    finally:
        for future in waiting:
            future.cancel()


class _Partial:
    """The unfinished index beside the output: raw arrays and a state that says what is whole."""

    def __init__(self, output: Path, identity: str) -> None:
        self.folder = output.with_name(f".{output.name}.partial")
        self.identity = identity
        self.tags: dict[str, int] = {}
        self.known: dict[int, int] = {}
        """The number of each path, by its parent and step in one number."""
        self.names: set[str] = set()
        self.failures: list[tuple[str, str]] = []
        self.batches = 0
        self.characters = 0
        self.named_inside = False
        self.folder.mkdir(exist_ok=True)
        self.lock = _locked(self.folder / "lock")
        mode = "ab" if self._resume() else "wb"
        self.files = {name: (self.folder / name).open(mode) for name in (*_RAW, _PLACES)}

    def _resume(self) -> bool:
        """Go back to the last whole batch of an earlier attempt at the same thing."""
        try:
            state = json.loads((self.folder / "state.json").read_bytes())
            if state["identity"] != self.identity:
                return False
            for name in (*_RAW, _PLACES):
                size = state["sizes"][name]
                if (self.folder / name).stat().st_size < size:
                    return False
                os.truncate(self.folder / name, size)
        except (OSError, ValueError, KeyError, TypeError):
            return False
        self.tags = {tag: i for i, tag in enumerate(state["tags"])}
        self.failures = [(place, message) for place, message in state["failures"]]
        self.batches, self.characters = state["batches"], state["characters"]
        self.named_inside = state["named_inside"]
        parent, tag, ordinal = (self._read(name).astype(np.int64) for name in _PATHS)
        rows = zip((parent + 1).tolist(), _steps(tag, ordinal).tolist(), strict=True)
        self.known = {above << 64 | step: number for number, (above, step) in enumerate(rows)}
        self.names = set(self._read_names())
        return True

    def _read(self, name: str) -> np.ndarray[Any, Any]:
        return np.fromfile(self.folder / name, dtype=_RAW[name])

    def _read_names(self) -> list[str]:
        return (self.folder / "doc_names").read_bytes().decode().split("\n")[:-1]

    def add(self, parsed: _Parsed) -> None:
        """Append one batch and note that it is whole."""
        kept, twice = self._new_names(parsed)
        batch = parsed.batch.only(kept)
        path = self._global_paths(batch)[batch.path]
        order = np.argsort(batch.document << 32 | path)
        columns = {
            "path": path[order],
            "start": batch.start[order],
            "end": batch.end[order],
            "doc_elements": np.bincount(batch.document, minlength=len(batch.documents)),
            "doc_length": batch.lengths,
        }
        for name, column in columns.items():
            self.files[name].write(column.astype(_RAW[name]).tobytes())
        self.files["doc_digest"].write(b"".join(batch.digests))
        self.files["doc_names"].write("".join(f"{name}\n" for name in batch.documents).encode())
        places = "".join(f"{json.dumps(place)}\n" for place in compress(parsed.places, kept))
        self.files[_PLACES].write(places.encode())
        self.failures += [*parsed.failures, *twice]
        self.characters += int(batch.lengths.sum())
        self.named_inside |= parsed.named_inside
        self.batches += 1
        self._save()

    def _new_names(self, parsed: _Parsed) -> tuple[Bools, list[tuple[str, str]]]:
        """Which documents may stay, and what is wrong with those whose name or length is not."""
        names, places = parsed.batch.documents, parsed.places
        kept = parsed.batch.lengths <= _MOST_CHARACTERS
        failures = [
            (places[i], f"the document has more than {_MOST_CHARACTERS} characters")
            for i in np.flatnonzero(~kept).tolist()
        ]
        here: dict[str, str] = {}
        twice: list[int] = []
        for i in np.flatnonzero(kept).tolist():
            if names[i] in self.names:
                twice.append(i)
            else:
                self.names.add(names[i])
                here[names[i]] = places[i]
        kept[twice] = False
        here |= self._places_of({names[i] for i in twice} - set(here))
        failures += [
            (
                places[i],
                f"is called {names[i]!r} like {here[names[i]]}; expected one document of each name",
            )
            for i in twice
        ]
        return kept, failures

    def _places_of(self, names: set[str]) -> dict[str, str]:
        """Where the documents of these names are, which came in earlier batches."""
        if not names:
            return {}
        lines = (self.folder / _PLACES).read_text(encoding="utf-8").split("\n")[:-1]
        rows = zip(self._read_names(), lines, strict=True)
        return {name: json.loads(line) for name, line in rows if name in names}

    def _global_paths(self, batch: Batch) -> Ints:
        """Number the batch's paths in the index, adding those not known yet."""
        codes = [self.tags.setdefault(name, len(self.tags)) for name in batch.tags]
        tag = np.array(codes, dtype=np.int64)[batch.tag]
        step = _steps(tag, batch.ordinal)
        number = [-1]  # of the document itself, then of each path
        known, before = self.known, len(self.known)
        new: list[int] = []
        for i, (parent, step_) in enumerate(zip(batch.parent.tolist(), step.tolist(), strict=True)):
            found = known.setdefault((number[parent + 1] + 1) << 64 | step_, len(known))
            if found == before + len(new):
                new.append(i)
            number.append(found)
        numbers = np.array(number, dtype=np.int64)
        columns = numbers[batch.parent[new] + 1], tag[new], batch.ordinal[new]
        for name, column in zip(_PATHS, columns, strict=True):
            self.files[name].write(column.astype(_RAW[name]).tobytes())
        return numbers[1:]

    def _save(self) -> None:
        for stream in self.files.values():
            stream.flush()
        state = {
            "identity": self.identity,
            "batches": self.batches,
            "characters": self.characters,
            "named_inside": self.named_inside,
            "tags": list(self.tags),
            "failures": self.failures,
            "sizes": {name: stream.tell() for name, stream in self.files.items()},
        }
        temporary = self.folder / "state.new"
        temporary.write_text(json.dumps(state), encoding="utf-8")
        temporary.replace(self.folder / "state.json")

    def close(self) -> None:
        for stream in (*self.files.values(), self.lock):
            stream.close()

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.folder)

    def finish(self, output: Path, options: BuildOptions, source: Source) -> Summary:
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
            passed_over=tuple(sorted(source.passed_over.items())),
        )
        header = {
            "foveal": __version__,
            "source": source.path.name,
            "whitespace": options.whitespace,
            **asdict(summary),
            "tags": list(self.tags),
        }
        bounds = np.concatenate([np.zeros(1, np.uint64), np.cumsum(counts, dtype=np.uint64)])
        sections: dict[str, Any] = {"doc_bounds": bounds}
        sections |= {n: (self.folder / n, kind) for n, kind in _RAW.items() if n != "doc_elements"}
        if source.archive and not self.named_inside:
            names = _without_common_folder(self._read_names())
            text = "".join(f"{name}\n" for name in names).encode()
            sections["doc_names"] = np.frombuffer(text, dtype=np.uint8)
        # In the folder, so that whatever happens no trace stays beside the output.
        whole = self.folder / "index"
        write_sections(whole, header, sections)
        whole.replace(output)
        self.remove()
        return summary


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
            raise InputError.at(str(path.parent), None, message) from None
    return stream


def _steps(tag: Ints, ordinal: Ints) -> Ints:
    """Tag and ordinal in one number."""
    return tag << 32 | ordinal


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
    source: Path | Source,
    output: Path,
    options: BuildOptions | None = None,
    *,
    executor: Executor | None = None,
    ahead: int = 4,
    progress: Callable[[int, int, float], None] | None = None,
) -> Summary:
    """Index a collection.

    Parameters
    ----------
    source : Path or Source
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
        Called after each batch with its documents, its bytes and the share of the source behind.
    """
    try:
        opened = source if isinstance(source, Source) else Source(source)
        return _build(opened, output, options or BuildOptions(), executor, ahead, progress)
    except OSError as error:
        place, reason = error.filename or output, error.strerror or error
        raise InputError.at(str(place), None, f"cannot be read or written: {reason}") from None


def _build(
    source: Source,
    output: Path,
    options: BuildOptions,
    executor: Executor | None,
    ahead: int,
    progress: Callable[[int, int, float], None] | None,
) -> Summary:
    if output.is_dir():
        raise InputError.at(str(output), None, "is a directory; expected a file name")
    if not output.parent.is_dir():
        raise InputError.at(str(output), None, "its directory does not exist")
    identity = hashlib.blake2b(f"{source.fingerprint}{options!r}{__version__}".encode())
    partial = _Partial(output, identity.hexdigest())
    tasks = islice(source.tasks(), partial.batches, None)
    try:
        for parsed in _in_order(tasks, options, executor, ahead):
            partial.add(parsed)
            if len(partial.failures) > options.max_errors + _TOLD:
                break
            if progress is not None:
                progress(len(parsed.places) + len(parsed.failures), parsed.size, parsed.done)
        if len(partial.failures) > options.max_errors:
            raise InputError(Problem(place, None, text) for place, text in partial.failures)
        if partial.batches == 0:
            raise InputError.at(str(source.path), None, "holds no document")
        return partial.finish(output, options, source)
    except InputError:
        partial.remove()
        raise
    finally:
        partial.close()
