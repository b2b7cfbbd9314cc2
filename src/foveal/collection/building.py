"""Build an index: batches parsed in parallel, written in order; indexes merged and extended."""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from foveal._version import __version__
from foveal.collection.index_writer import IndexWriter
from foveal.collection.parsing import DIGEST, WHITESPACE, Batch, PathTable, Recorder
from foveal.collection.sources import NO_MEMORY, DocumentSource, Task, read_items
from foveal.collection.storage import identity, is_index, open_sections
from foveal.errors import FovealError, InputError, Problem, UsageError
from foveal.executors import map_in_order
from foveal.files.xml import DocumentError, Limits
from foveal.spans import Ints

__all__ = ["BuildOptions", "IndexSource", "Shard", "Summary", "build_index", "open_sources"]

_MOST_FAILURES = 100
"""Failures beyond those allowed after which a build stops."""
_BLOCK_ELEMENTS = 500_000
_BLOCK_DOCUMENTS = 20_000


@dataclass(frozen=True)
class BuildOptions:
    """Options that decide the bytes of an index.

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
class Shard:
    """One of several shares of the sources, all of about the same size.

    Batches are dealt out in their order, so that the shares one after the other are the whole.

    >>> Shard.parse("3/8")
    Shard(number=3, of=8)
    """

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise UsageError(
                f"shard {self.number}/{self.of} is none; expected the number of a shard and how "
                "many there are, such as 3/8"
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard written as ``K/N``."""
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text, re.ASCII)
        if found is None:
            raise UsageError(
                f"shard {text!r} is none; expected the number of a shard and how many there are, "
                "such as 3/8"
            )
        return cls(int(found[1]), int(found[2]))

    def share_of(self, begun: float) -> int:
        """Return the share in which a batch begins, by how much of the sources is before it.

        >>> [Shard(1, 4).share_of(begun) for begun in (0.0, 0.2, 0.25, 1.0)]
        [1, 1, 2, 4]
        """
        return min(int(begun * self.of) + 1, self.of)


@dataclass(frozen=True)
class Summary:
    """The contents of an index, and the documents that failed."""

    documents: int
    elements: int
    paths: int
    tags: int
    characters: int
    failures: tuple[tuple[str, str], ...]
    passed_over: tuple[tuple[str, int], ...] = ()
    """Kinds of files in the source that are not documents, and how many of each."""


# -- indexes as sources ----------------------------------------------------------------------------


class IndexSource:
    """An index whose documents become part of another one; nothing is parsed again.

    Attributes
    ----------
    path : Path
    header : mapping
    size : int
        Bytes on the disk.
    passed_over : Counter
    failures : tuple
        Where documents failed when it was built, and why.
    """

    is_archive = False
    folders = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header, self._sections = open_sections(path)
        self.size = path.stat().st_size
        self.passed_over = Counter(dict(self.header["passed_over"]))
        self.failures = tuple((place, text) for place, text in self.header["failures"])

    def check_unchanged(self) -> None:
        """Refuse if another file has replaced it: appending would lose the documents of that."""
        try:
            same = identity(self.path) == self._sections.identity
        except (OSError, struct.error):
            same = False
        if not same:
            message = "changed since this command began; start again"
            raise InputError.at("index.changed", str(self.path), None, message)

    def verify(self) -> None:
        """Hash the whole index: damaged data must not get a valid hash in another one."""
        self._sections.verify()

    def _read_all(self, name: str) -> Ints:
        return self._sections.read(name, 0, self._sections.size(name)).astype(np.int64)

    def read_paths(self) -> PathTable:
        parent, tag, ordinal = map(self._read_all, ("path_parent", "path_tag", "path_ordinal"))
        return PathTable(parent, tag, ordinal, tuple(self.header["tags"]))

    def read_batches(self, paths: PathTable) -> Iterator[tuple[Batch, float]]:
        """Yield the documents in batches, with the share of the index that is done then."""
        bounds, names, read = self._read_all("doc_bounds"), self._read_names(), self._sections.read
        first, documents = 0, len(bounds) - 1
        while first < documents:
            full = int(np.searchsorted(bounds, bounds[first] + _BLOCK_ELEMENTS))
            after = min(max(full, first + 1), first + _BLOCK_DOCUMENTS, documents)
            low, high = int(bounds[first]), int(bounds[after])
            batch = Batch(
                documents=tuple(next(names) for _ in range(after - first)),
                lengths=read("doc_length", first, after).astype(np.int64),
                digests=read("doc_digest", DIGEST * first, DIGEST * after).tobytes(),
                document=np.repeat(np.arange(after - first), np.diff(bounds[first : after + 1])),
                path=read("path", low, high),
                start=read("start", low, high),
                end=read("end", low, high),
                paths=paths,
            )
            yield batch, after / documents
            first = after

    def _read_names(self) -> Iterator[str]:
        size, begun = self._sections.size("doc_names"), b""
        for first in range(0, size, 1 << 20):
            data = self._sections.read("doc_names", first, min(first + (1 << 20), size))
            *lines, begun = (begun + data.tobytes()).split(b"\n")
            yield from (line.decode() for line in lines)


def open_sources(
    paths: Sequence[Path | DocumentSource | IndexSource],
) -> list[DocumentSource | IndexSource]:
    """Open the sources of documents; indexes are recognised, and shards put in their order."""
    found: dict[str, DocumentSource | IndexSource] = {}
    for path in paths:
        opened = path
        if isinstance(opened, Path):
            opened = IndexSource(opened) if is_index(opened) else DocumentSource(opened)
        if found.setdefault(str(opened.path), opened) is not opened:
            message = "is given twice as a source"
            raise InputError.at("collection.source", str(opened.path), None, message)
    order = _arrange_shards({path: getattr(source, "header", {}) for path, source in found.items()})
    return [found[path] for path in order]


def _arrange_shards(headers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return sources in the order in which they make one index, by their headers.

    Shards come in the order of their numbers, at the place of the first of them; all of them must
    be there.

    >>> one = {"source": "a", "shard": {"number": 1, "of": 2, "batches": [0, 7]}}
    >>> two = {"source": "a", "shard": {"number": 2, "of": 2, "batches": [7, 9]}}
    >>> _arrange_shards({"2.fvx": two, "x.fvx": {"source": "x"}, "1.fvx": one})
    ['1.fvx', '2.fvx', 'x.fvx']
    """
    sets: dict[tuple[str, int], dict[int, str]] = {}
    places: list[str | tuple[str, int]] = []
    for path, header in headers.items():
        shard = header.get("shard")
        if shard is None:
            places.append(path)
            continue
        key = header["source"], shard["of"]
        if key not in sets:
            places.append(key)
        other = sets.setdefault(key, {}).setdefault(shard["number"], path)
        if other != path:
            message = f"is shard {_name_shard(header)} like {other}; expected one of each"
            raise InputError.at("index.shards", path, None, message)
    order: list[str] = []
    for place in places:
        order += [place] if isinstance(place, str) else _check_shards(sets[place], headers)
    return order


def _check_shards(shards: Mapping[int, str], headers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the shards of a source in their order; raises unless they are all and fit."""
    numbers = sorted(shards)
    first = headers[shards[numbers[0]]]
    missing = [str(n) for n in range(1, first["shard"]["of"] + 1) if n not in shards]
    if missing:
        message = (
            f"is shard {_name_shard(first)}, but not there: {', '.join(missing)}; expected all"
        )
        raise InputError.at("index.shards", shards[numbers[0]], None, message)
    after = first["shard"]["batches"][0]
    for number in numbers:
        shard, name = headers[shards[number]]["shard"], _name_shard(headers[shards[number]])
        begin, end = shard["batches"]
        difference = None
        if shard.get("cut_from") != first["shard"].get("cut_from"):
            difference = f"is of other documents or options than {shards[1]}"
        elif begin != after:
            difference = f"begins with batch {begin}, expected {after}"
        if difference is not None:
            message = f"shard {name} {difference}: the shards were not cut from the same source"
            raise InputError.at("index.shards", shards[number], None, message)
        after = end
    return [shards[number] for number in numbers]


def _name_shard(header: Mapping[str, Any]) -> str:
    return f"{header['shard']['number']}/{header['shard']['of']} of {header['source']!r}"


# -- parsing, in any process -----------------------------------------------------------------------


class _Parsed(NamedTuple):
    """A parsed batch of documents as a worker returns it."""

    batch: Batch
    places: tuple[str, ...]
    inside: tuple[bool, ...]
    """True for a document whose name is from within, not from where it lies."""
    failures: tuple[Problem, ...]
    size: int
    done: float


def _parse(task: Task, options: BuildOptions, within: str = "") -> _Parsed:
    """Parse one batch, all places of which begin with `within`."""
    sizes: list[int] = []
    without: set[int] = set()
    while True:
        try:
            return _try_parse(task, options, within, without, sizes)
        except MemoryError:
            # Together they take too much. Leave the largest out; the others may fit.
            left = [i for i in range(len(sizes)) if i not in without]
            if not left:
                raise
            without.add(max(left, key=sizes.__getitem__))


def _try_parse(
    task: Task, options: BuildOptions, within: str, without: set[int], sizes: list[int]
) -> _Parsed:
    """Parse a batch without some documents, and note the size of each."""
    recorder = Recorder(whitespace=options.whitespace, limits=options.limits)
    failures, places, inside = [], [], []
    sizes.clear()
    for number, item in enumerate(read_items(task)):
        sizes.append(len(item.data))
        # A file name that is not UTF-8 must not spoil the message that mentions it.
        place = os.fsencode(within + item.place).decode(errors="replace")
        try:
            if number in without:
                raise DocumentError("document.memory", NO_MEMORY)
            item.record(recorder, options.name_tag)
        except DocumentError as error:
            failures.append(error.at(place))
        else:
            places.append(place)
            inside.append(item.is_named_inside(options.name_tag))
    batch = recorder.batch()
    return _Parsed(batch, tuple(places), tuple(inside), tuple(failures), sum(sizes), task.done)


# -- building --------------------------------------------------------------------------------------


def build_index(
    source: Path | DocumentSource | Sequence[Path | DocumentSource | IndexSource],
    output: Path,
    options: BuildOptions | None = None,
    *,
    shard: Shard | None = None,
    executor: Executor | None = None,
    ahead: int | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> Summary:
    """Index a collection.

    Parameters
    ----------
    source : Path, or a sequence of them
        Directory, zip, tar (gz, bz2, xz, zst), or one XML, text or JSON Lines file. The documents
        of an index are taken over as they are; an index may also be the output.
    output : Path
        The index file; it appears only when it is complete.
    options : BuildOptions, optional
    shard : Shard, optional
        Index only this share of the sources.
    executor : concurrent.futures.Executor, optional
        Where batches are parsed; by default here.
    ahead : int, optional
        Batches to keep under way in the executor; by default two for each of its workers.
    progress : callable, optional
        Called after each batch with its documents, its bytes and the share of the work done.
    """
    try:
        given = [source] if isinstance(source, Path | DocumentSource) else source
        build = _Build(open_sources(given), output, options or BuildOptions(), shard)
        with closing(IndexWriter(output)) as writer:
            writer.open()
            for documents, size, done in build.grow(writer, executor, ahead):
                if len(writer.failures) > build.options.max_errors + _MOST_FAILURES:
                    break
                if progress is not None:
                    progress(documents, size, done)
            return build.finish(writer)
    except OSError as error:
        place, reason = error.filename or output, error.strerror or error
        message = f"cannot be read or written: {reason}"
        raise InputError.at("file.unreadable", str(place), None, message) from None
    except MemoryError:
        raise FovealError(
            "the build takes more memory than there is; with fewer processes it takes less"
        ) from None


class _Build:
    """One index from its sources."""

    def __init__(
        self,
        sources: Sequence[DocumentSource | IndexSource],
        output: Path,
        options: BuildOptions,
        shard: Shard | None,
    ) -> None:
        self.sources, self.options = sources, options
        self.shard, self.is_shard = shard or Shard(1, 1), shard is not None
        self.batches = [0, 0]
        """Batches of all sources before this shard, and before the next one."""
        problem = None
        if output.is_dir():
            problem = "is a directory; expected a file name"
        elif Path(os.path.realpath(output)).is_symlink():
            problem = "is a loop of links; expected a file name"
        elif not output.parent.is_dir():
            problem = "its directory does not exist"
        for source in sources:
            if isinstance(source, IndexSource):
                self._check_index(source)
            elif source.would_take(output):
                is_dir = source.path.is_dir()
                what = "is a document of the source" if is_dir else "is the source itself"
                problem = f"{what}; expected another place for the index"
        if problem is not None:
            raise InputError.at("index.output", str(output), None, problem)

    def _check_index(self, source: IndexSource) -> None:
        if self.is_shard:
            message = "is an index; expected documents, of which a shard can be taken"
            raise InputError.at("index.shards", str(source.path), None, message)
        found, expected = source.header["whitespace"], self.options.whitespace
        if found != expected:
            message = f"was built with white space {found!r}, expected {expected!r} as the others"
            raise InputError.at("index.whitespace", str(source.path), None, message)

    def grow(
        self, writer: IndexWriter, executor: Executor | None, ahead: int | None
    ) -> Iterator[tuple[int, int, float]]:
        """Add batch after batch; yield documents and bytes of each, and the share that is done."""
        total = max(sum(source.size for source in self.sources), 1)
        before = 0
        for source in self.sources:
            writer.begin_source(is_archive=source.is_archive)
            if isinstance(source, IndexSource):
                source.check_unchanged()
                source.verify()
                paths, place = source.read_paths(), str(source.path)
                numbers = writer.add_paths(paths)
                for batch, share in source.read_batches(paths):
                    documents = len(batch.documents)
                    writer.add(batch, [place] * documents, [True] * documents, numbers)
                    yield documents, 12 * len(batch.path), (before + share * source.size) / total
            else:
                tasks = self._select_tasks(source, before, total)
                parse = partial(_parse, options=self.options, within=self._place_prefix(source))
                for parsed in map_in_order(executor, parse, tasks, ahead=ahead):
                    writer.failures += parsed.failures
                    writer.add(parsed.batch, parsed.places, parsed.inside)
                    yield len(parsed.places) + len(parsed.failures), parsed.size, parsed.done
            before += source.size

    def _place_prefix(self, source: DocumentSource) -> str:
        """Return what places of a source begin with, to tell them from those of other sources.

        That is the name of the source where it is enough: the index must not depend on where the
        sources lie.
        """
        if len(self.sources) == 1:
            return ""
        same_name = sum(other.path.name == source.path.name for other in self.sources) > 1
        path = source.path if same_name else Path(source.path.name)
        if not source.is_archive and not source.path.is_dir():
            path = path.parent  # the place of a document in one file begins with the file
        return "" if path == Path() else f"{path}/"

    def _select_tasks(self, source: DocumentSource, before: int, total: int) -> Iterator[Task]:
        """Yield the batches of a source that are in this shard, by the share of all sources."""
        number, of = self.shard.number, self.shard.of
        begun = before / total
        for task in source.tasks(self.options.limits.size):
            done = (before + task.done * source.size) / total
            share = self.shard.share_of(begun)
            begun = done
            self.batches[0] += share < number
            self.batches[1] += share <= number
            if share == number:
                # A worker of a cluster may be in another folder.
                share_done = min(done * of - (number - 1), 1.0)
                yield replace(task, root=task.root.absolute(), done=share_done)
            elif share > number and not source.is_archive:
                return  # of an archive all places must be seen: names lose folders of all

    def finish(self, writer: IndexWriter) -> Summary:
        """Complete the index with its header, and put it in place."""
        if len(writer.failures) > self.options.max_errors:
            raise InputError(writer.failures)
        if writer.batches == 0 and not self.is_shard:
            place = str(self.sources[0].path)
            raise InputError.at("collection.empty", place, None, "holds no document")
        failures: list[tuple[str, str]] = []
        passed_over: Counter[str] = Counter()
        names: dict[str, None] = {}
        for number, source in enumerate(self.sources):
            if isinstance(source, IndexSource):
                if os.path.realpath(source.path) == os.path.realpath(writer.output):
                    source.check_unchanged()
                names[str(source.header["source"])] = None
                failures += source.failures
            else:
                names[source.path.name] = None
            failures += writer.list_failures(number)
            # Each shard goes through all of them; together they must not count more.
            passed_over += source.passed_over if self.shard.number == 1 else Counter()
        summary = Summary(
            documents=writer.documents,
            elements=writer.elements,
            paths=len(writer.paths),
            tags=len(writer.tags),
            characters=writer.characters,
            failures=tuple(failures),
            passed_over=tuple(sorted(passed_over.items())),
        )
        header = {
            "foveal": __version__,
            "source": ", ".join(names),
            "whitespace": self.options.whitespace,
            **asdict(summary),
            "tags": list(writer.tags),
        }
        if self.is_shard:
            own = {"batches": self.batches, "cut_from": self._identify_sources()}
            header["shard"] = asdict(self.shard) | own
        folders = [
            "".join(f"{folder}/" for folder in source.folders or ()) if source.is_archive else None
            for source in self.sources
        ]
        writer.finish(header, folders)
        return summary

    def _identify_sources(self) -> str:
        """Return what must be the same for shards to be of one index, wherever they are built.

        Times are not in it: copies of the sources on other machines have others.
        """
        contents = [s.contents for s in self.sources if isinstance(s, DocumentSource)]
        options = self.options
        text = f"{contents}{options.whitespace}{options.name_tag!r}{options.limits!r}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
