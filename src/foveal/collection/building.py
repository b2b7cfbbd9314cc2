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
from itertools import compress, islice, takewhile
from pathlib import Path
from typing import IO, Any

import numpy as np

from foveal._version import __version__
from foveal.collection.elements import WHITESPACE, Batch, Bools, DocumentError, Limits, Recorder
from foveal.collection.safety import NO_MEMORY, not_in_encoding
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
"""Where each document was found, and whether its name is from within, in JSON, a line each.

Two of one name are both to be told; and only names that are places lose a common folder."""
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
    inside: tuple[bool, ...]
    """Whether each document has its name from within, not from where it lies."""
    failures: tuple[tuple[str, str], ...]
    folder: tuple[str, ...] | None
    """The folders that hold everything, None without any."""
    size: int
    done: float


def add_item(item: Item, recorder: Recorder, name_tag: str | None) -> None:
    """Have a document of a source recorded, whatever its kind."""
    if item.problem is not None:
        raise DocumentError(item.problem)
    try:
        if item.kind == XML:
            recorder.add(item.name, item.data, name_tag=name_tag)
        elif item.kind == LINE:
            recorder.add_text(*document_of_line(item.data))
        else:
            recorder.add_text(item.name, item.data.decode())
    except UnicodeDecodeError as error:
        raise not_in_encoding(error, "UTF-8") from None
    except MemoryError:
        raise DocumentError(NO_MEMORY) from None


def named_inside(item: Item, name_tag: str | None) -> bool:
    """Whether a document has its name from within, not from where it lies."""
    return item.kind == LINE or (item.kind == XML and name_tag is not None)


def shared(folder: tuple[str, ...] | None, other: tuple[str, ...]) -> tuple[str, ...]:
    """The folders that two places have in common; of one alone, its own.

    >>> shared(("wiki", "a"), ("wiki", "b")), shared(None, ("wiki",))
    (('wiki',), ('wiki',))
    """
    if folder is None:
        return other
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(folder, other, strict=False))
    return tuple(name for name, _ in pairs)


def _parse(task: Task, options: BuildOptions) -> _Parsed:
    """Parse one batch; runs in any process."""
    sizes: list[int] = []
    without: set[int] = set()
    while True:
        try:
            return _attempt(task, options, without, sizes)
        except MemoryError:
            # Together they take too much. The largest is to blame; the others may do without it.
            left = [i for i in range(len(sizes)) if i not in without]
            if not left:
                raise
            without.add(max(left, key=sizes.__getitem__))


def _attempt(task: Task, options: BuildOptions, without: set[int], sizes: list[int]) -> _Parsed:
    """Parse a batch but for some documents, and note the size of each."""
    recorder = Recorder(whitespace=options.whitespace, limits=options.limits)
    failures, places, inside, folder = [], [], [], None
    sizes.clear()
    for number, item in enumerate(read_items(task)):
        sizes.append(len(item.data))
        folder = shared(folder, item.folder)
        # A file name that is not UTF-8 must not spoil the message that mentions it.
        place = os.fsencode(item.place).decode(errors="replace")
        try:
            if number in without:
                raise DocumentError(NO_MEMORY)
            add_item(item, recorder, options.name_tag)
        except DocumentError as error:
            failures.append(error.placed(place))
        else:
            places.append(place)
            inside.append(named_inside(item, options.name_tag))
    batch = recorder.batch()
    return _Parsed(
        batch, tuple(places), tuple(inside), tuple(failures), folder, sum(sizes), task.done
    )


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
        self.common: tuple[str, ...] | None = None
        """The folders that hold everything so far."""
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
        self.common = None if state["common"] is None else tuple(state["common"])
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
        rows = compress(zip(parsed.places, parsed.inside, strict=True), kept)
        self.files[_PLACES].write("".join(f"{json.dumps(row)}\n" for row in rows).encode())
        self.failures += [*parsed.failures, *twice]
        self.characters += int(batch.lengths.sum())
        if parsed.folder is not None:
            self.common = shared(self.common, parsed.folder)
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
        failures += [(places[i], _twice(names[i], here[names[i]])) for i in twice]
        return kept, failures

    def _read_places(self) -> Iterator[tuple[str, bool]]:
        """Where each document was found, and whether its name is from within."""
        with (self.folder / _PLACES).open("rb") as lines:
            for line in lines:
                place, inside = json.loads(line)
                yield place, inside

    def _places_of(self, names: set[str]) -> dict[str, str]:
        """Where the documents of these names are, which came in earlier batches."""
        if not names:
            return {}
        rows = zip(self._read_names(), self._read_places(), strict=True)
        return {name: place for name, (place, _) in rows if name in names}

    def _names_in_archive(self) -> list[str]:
        """The names without the folders that hold everything, where they are places."""
        prefix = "".join(f"{folder}/" for folder in self.common or ())
        found: dict[str, str] = {}
        problems: list[Problem] = []
        for name, (place, inside) in zip(self._read_names(), self._read_places(), strict=True):
            cut = name if inside else name.removeprefix(prefix)
            if cut in found:  # one is a place, the other from within
                problems.append(Problem(place, None, _twice(cut, found[cut])))
            found[cut] = place
        if problems:
            raise InputError(problems)
        return list(found)

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
            "common": self.common,
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
        if source.archive:
            text = "".join(f"{name}\n" for name in self._names_in_archive()).encode()
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


def _twice(name: str, place: str) -> str:
    return f"is called {name!r} like {place}; expected one document of each name"


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
    except MemoryError:
        raise FovealError(
            "the build takes more memory than there is; with fewer processes it takes less, "
            "and the same command goes on where it stopped"
        ) from None


def _check_output(source: Source, output: Path) -> None:
    """Refuse an output that cannot be, or that would take the place of what is indexed."""
    if output.is_dir():
        raise InputError.at(str(output), None, "is a directory; expected a file name")
    if not output.parent.is_dir():
        raise InputError.at(str(output), None, "its directory does not exist")
    if source.would_take(output):
        what = "is a document of the source" if source.path.is_dir() else "is the source itself"
        raise InputError.at(str(output), None, f"{what}; expected another place for the index")


def _build(
    source: Source,
    output: Path,
    options: BuildOptions,
    executor: Executor | None,
    ahead: int,
    progress: Callable[[int, int, float], None] | None,
) -> Summary:
    _check_output(source, output)
    identity = hashlib.blake2b(f"{source.fingerprint}{options!r}{__version__}".encode())
    partial = _Partial(output, identity.hexdigest())
    tasks = islice(source.tasks(options.limits.size), partial.batches, None)
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
    except BaseException:
        if not partial.batches:  # nothing to go on with
            partial.remove()
        raise
    finally:
        partial.close()
