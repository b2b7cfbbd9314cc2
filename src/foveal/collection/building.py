"""Build an index: batches parsed in parallel, written in order; indexes merged and extended."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from foveal._version import __version__
from foveal.collection.element_index import Collection
from foveal.collection.parsing import DIGEST, WHITESPACE, Batch, PathTable, Recorder
from foveal.collection.sources import DocumentSource, Task
from foveal.collection.storage import is_index, write_sections
from foveal.errors import InputError, Problem, UsageError
from foveal.executors import map_in_order
from foveal.files.xml import DocumentError, Limits
from foveal.spans import Ints

_MOST_FAILURES = 100  # beyond those allowed, after which a build stops
_BLOCK_ELEMENTS = 500_000  # elements of an index that are taken over at once
_STEP_BITS = 63  # of a tag and an ordinal in one number
# The arrays that grow while an index is built, and their types.
_RAW = dict.fromkeys(("path", "start", "end", "doc_elements", "doc_length"), "<u4")
_RAW["doc_digest"] = "|u1"


@dataclass(frozen=True)
class BuildOptions:
    """Options that decide the bytes of an index.

    `name_tag` names documents by their first element with this tag instead of their path;
    `max_errors` is the number of documents that may fail before the build does.
    """

    whitespace: str = "keep"
    name_tag: str | None = None
    max_errors: int = 0
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.whitespace not in WHITESPACE:
            expected = ", ".join(WHITESPACE)
            raise UsageError(f"white space {self.whitespace!r} is not one of {expected}")


@dataclass(frozen=True)
class Shard:
    """One of several shares of the sources, of about the same size; in their order the whole.

    >>> Shard.parse("3/8")
    Shard(number=3, of=8)
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard written as ``K/N``."""
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text, re.ASCII)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            expected = "the number of a shard and how many there are, such as 3/8"
            raise UsageError(f"{text!r} is not a shard; expected {expected}")
        return cls(int(found[1]), int(found[2]))


def open_sources(
    paths: Sequence[Path | DocumentSource | Collection],
) -> list[DocumentSource | Collection]:
    """Open the sources of documents; indexes are recognised, and shards put in their order."""
    # All shards of a source are at the place of the first of them.
    groups: dict[Any, list[Any]] = {}
    for path in paths:
        source = path
        if isinstance(source, Path):
            source = Collection.open(source) if is_index(source) else DocumentSource(source)
        header = source.header if isinstance(source, Collection) else {}
        shard = header.get("shard")
        key = (header["source"], shard["of"], shard["cut_from"]) if shard else source
        groups.setdefault(key, []).append(source)
    for key, group in groups.items():
        if isinstance(key, tuple):
            group.sort(key=lambda index: index.header["shard"]["number"])
            numbers = [index.header["shard"]["number"] for index in group]
            if numbers != [*range(1, key[1] + 1)]:
                given = f"the shards {', '.join(map(str, numbers))} of {key[1]} of {key[0]!r}"
                text = f"{given}; expected each of them once, of the same documents and options"
                raise InputError.at("index.shards", group[0].path, None, text)
    return [source for group in groups.values() for source in group]


def build_index(
    source: Path | DocumentSource | Sequence[Path | DocumentSource | Collection],
    output: Path,
    options: BuildOptions | None = None,
    *,
    shard: Shard | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> Collection:
    """Index a collection, and return the open index.

    A source is a directory, a zip or tar file (gz, bz2, xz, zst), or one XML, text or JSON Lines
    file. The documents of an index are taken over as they are; an index may also be the `output`,
    which appears only when it is complete. Of a `shard`, only this share of the sources is indexed.
    Batches are parsed by the `executor`, by default here; `progress` is called after each with its
    documents, its bytes and the share of the work done.
    """
    options, own = options or BuildOptions(), shard or Shard(1, 1)
    try:
        sources = open_sources([source] if isinstance(source, Path | DocumentSource) else source)
        _check_sources(sources, output, options, shard)
        total, before = max(sum(one.size for one in sources), 1), 0
        with ExitStack() as stack:
            writer = _IndexWriter(output, stack)
            for one in sources:
                first = len(writer.names)
                if isinstance(one, Collection):
                    parsed = _read_batches(one)
                    writer.failed += one.header["failures"]
                    passed_over = Counter(dict(one.header.get("passed_over", ())))
                else:
                    # The places of several sources begin with the name of each.
                    is_file = not (one.is_archive or one.path.is_dir())
                    within = "" if is_file or len(sources) == 1 else f"{one.path.name}/"
                    tasks = _select_tasks(one, own, options.limits.size, before, total)
                    parse = partial(_parse, options=options, within=within)
                    parsed, passed_over = map_in_order(executor, parse, tasks), one.passed_over
                for batch in parsed:
                    writer.add(batch)
                    if len(writer.failures) > options.max_errors + _MOST_FAILURES:
                        raise InputError(writer.failures)
                    if progress is not None:
                        done = (before + batch.done * one.size) / total * own.of - own.number + 1
                        documents = len(batch.places) + len(batch.failures)
                        progress(documents, batch.size, min(done, 1.0))
                before += one.size
                # Cut the folders that hold everything off names, but not off those from within.
                folder = one.folder if isinstance(one, DocumentSource) else ""
                for i in range(first, len(writer.names)) if folder else ():
                    if not writer.named_inside[i]:
                        writer.names[i] = writer.names[i].removeprefix(folder)
                # Each shard goes through all of them; together they must not count more.
                writer.passed_over += passed_over if own.number == 1 else Counter()
            duplicates = writer.find_duplicates()
            if duplicates or len(writer.failures) > options.max_errors:
                raise InputError([*writer.failures, *duplicates])
            if not (writer.names or writer.failed or writer.failures or shard):
                place = str(sources[0].path)
                raise InputError.at("collection.empty", place, None, "holds no document")
            names = ", ".join(dict.fromkeys(one.name for one in sources))
            rule = options.whitespace
            header = {"foveal": __version__, "source": names, "whitespace": rule}
            cut: dict[str, Any] = {}
            if shard is not None:
                # Times are not compared: copies of the sources on other machines have others.
                contents = [x.files or x.size for x in sources if isinstance(x, DocumentSource)]
                rules = f"{contents}{rule}{options.name_tag!r}{options.limits!r}"
                cut_from = hashlib.blake2b(os.fsencode(rules), digest_size=16).hexdigest()
                cut = {"shard": asdict(shard) | {"cut_from": cut_from}}
            return writer.finish(header, cut)
    except OSError as error:
        place, reason = str(error.filename or output), error.strerror or error
        message = f"cannot be read or written: {reason}"
        raise InputError.at("file.unreadable", place, None, message) from None


def _check_sources(
    sources: Sequence[DocumentSource | Collection],
    output: Path,
    options: BuildOptions,
    shard: Shard | None,
) -> None:
    """Refuse sources that do not fit, and an output that would take the place of other data."""
    wrong = [
        (output.is_dir(), "is a directory; expected a file name"),
        (Path(os.path.realpath(output)).is_symlink(), "is a loop of links; expected a file name"),
        (not output.parent.is_dir(), "its directory does not exist"),
        (
            output.exists() and not output.is_dir() and not is_index(output),
            "exists and is not an index; expected another place for the index",
        ),
    ]
    problems = [Problem("index.output", str(output), None, text) for found, text in wrong if found]
    for source in sources:
        if not isinstance(source, Collection):
            continue
        place, found, expected = source.path, source.whitespace, options.whitespace
        if shard is not None:
            text = "is an index; only documents can be sharded"
            problems.append(Problem("index.shards", place, None, text))
        if found != expected:
            text = f"was built with white space {found!r}, expected {expected!r} as the others"
            problems.append(Problem("index.whitespace", place, None, text))
    if problems:
        raise InputError(problems)


def _read_batches(index: Collection) -> Iterator[Batch]:
    """Yield the documents of an index in batches, all with the same paths."""
    sections, bounds = index.sections, index.bounds
    names, lengths = index.documents
    blocks = np.searchsorted(bounds, np.arange(0, bounds[-1], _BLOCK_ELEMENTS))
    for first, after in pairwise(np.unique([*blocks, len(names)]).tolist()):
        own, documents = slice(int(bounds[first]), int(bounds[after])), after - first
        yield Batch(
            documents=tuple(names[first:after]),
            lengths=lengths[first:after].to_numpy(),
            digests=sections["doc_digest"][DIGEST * first : DIGEST * after].tobytes(),
            document=np.repeat(np.arange(documents), np.diff(bounds[first : after + 1])),
            path=sections["path"][own],
            start=sections["start"][own],
            end=sections["end"][own],
            paths=index.paths.table,
            places=[index.path] * documents,
            named_inside=[True] * documents,
            size=12 * (own.stop - own.start),
            done=own.stop / index.elements,
        )


def _select_tasks(
    source: DocumentSource, shard: Shard, most: int, before: int, total: int
) -> Iterator[Task]:
    """Yield the batches of a source that begin in a shard, by the share of all sources."""
    begun = before / total
    for task in source.tasks(most):
        share = min(int(begun * shard.of) + 1, shard.of)
        begun = (before + task.done * source.size) / total
        if share == shard.number:
            yield replace(task, root=task.root.absolute())  # a worker may be in another folder
        elif share > shard.number and not source.is_archive:
            return  # of an archive all places must be seen: names lose folders of all


def _parse(task: Task, options: BuildOptions, within: str) -> Batch:
    """Parse one batch, where every place begins with `within`."""
    recorder = Recorder(whitespace=options.whitespace, limits=options.limits)
    places, named_inside, failures, size = list[str](), list[bool](), list[Problem](), 0
    for item in task.read(options.limits.size):
        size += len(item.data or b"")
        # A file name that is not UTF-8 must not spoil the message that mentions it.
        place = os.fsencode(within + item.place).decode(errors="replace")
        try:
            item.record(recorder, options.name_tag)
        except DocumentError as error:
            failures.append(error.at(place))
        else:
            places.append(place)
            named_inside.append(item.is_named_inside(options.name_tag))
    return recorder.batch()._replace(
        places=places, named_inside=named_inside, failures=failures, size=size, done=task.done
    )


class _IndexWriter:
    """An index while it grows: raw arrays in a folder next to the output, which `stack` removes."""

    def __init__(self, output: Path, stack: ExitStack) -> None:
        self.output = output
        self.names: list[str] = []
        self.named_inside = bytearray()  # 1 for a document whose name is from within
        self.tags: dict[str, int] = {}
        # A number for each path (from 1 on) by parent, tag and ordinal in one number, in the order
        # in which they come.
        self.paths: dict[int, int] = {}
        self.numbered: tuple[PathTable | None, Ints] = (None, np.zeros(0, np.int64))
        self.failures: list[Problem] = []
        # Where documents failed, and why, in indexes taken over.
        self.failed: list[Sequence[str]] = []
        self.passed_over: Counter[str] = Counter()
        prefix = f".{output.name}."
        folder = TemporaryDirectory(prefix=prefix, dir=output.parent, ignore_cleanup_errors=True)
        self.folder = Path(stack.enter_context(folder))
        self.files: dict[str, BinaryIO] = {
            name: stack.enter_context((self.folder / name).open("wb")) for name in (*_RAW, "places")
        }

    def number_paths(self, paths: PathTable) -> Ints:
        """Return the numbers of paths in the index, adding those that are new."""
        if self.numbered[0] is not paths:
            tags = [self.tags.setdefault(tag, len(self.tags)) for tag in paths.tags]
            steps = (np.array(tags, dtype=np.int64)[paths.tag] << 32 | paths.ordinal).tolist()
            known, found = self.paths, [0]  # of the document, then of each path; from 1 on
            for above, step in zip((paths.parent + 1).tolist(), steps, strict=True):
                found.append(known.setdefault(found[above] << _STEP_BITS | step, len(known) + 1))
            self.numbered = paths, np.array(found[1:], dtype=np.int64) - 1
        return self.numbered[1]

    def add(self, batch: Batch) -> None:
        """Append a batch."""
        self.failures += batch.failures
        path, start, end = self.number_paths(batch.paths)[batch.path], batch.start, batch.end
        order = batch.document << 32 | path
        if not (order[1:] > order[:-1]).all():
            rows = np.argsort(order, kind="stable")
            path, start, end = path[rows], start[rows], end[rows]
        columns: dict[str, npt.NDArray[Any]] = {
            "path": path,
            "start": start,
            "end": end,
            "doc_elements": np.bincount(batch.document, minlength=len(batch.documents)),
            "doc_length": batch.lengths,
            "doc_digest": np.frombuffer(batch.digests, dtype=np.uint8),
        }
        for name, column in columns.items():
            self.files[name].write(column.astype(_RAW[name]).tobytes())
        self.files["places"].write("".join(f"{place}\0" for place in batch.places).encode())
        self.names += batch.documents
        self.named_inside += bytes(batch.named_inside)

    def find_duplicates(self) -> list[Problem]:
        """Return a problem for each document whose name is taken."""
        if len(set(self.names)) == len(self.names):
            return []
        self.files["places"].flush()
        places = (self.folder / "places").read_bytes().decode().split("\0")
        first: dict[str, int] = {}
        found: list[Problem] = []
        for i, name in enumerate(self.names):
            if first.setdefault(name, i) != i:
                message = f"is called {name!r} like {places[first[name]]}"
                text = f"{message}; expected one document of each name"
                found.append(Problem("document.duplicate", places[i], None, text))
        return found

    def finish(self, header: Mapping[str, Any], shard: Mapping[str, Any]) -> Collection:
        """Assemble the index, put it in place and open it."""
        columns: dict[str, npt.NDArray[Any]] = {}
        for name, kind in _RAW.items():
            self.files[name].close()
            file = self.folder / name
            columns[name] = np.memmap(file, kind, "r") if file.stat().st_size else np.zeros(0, kind)
        n, mask = len(self.paths), (1 << _STEP_BITS) - 1
        parent = np.fromiter((key >> _STEP_BITS for key in self.paths), np.int64, n) - 1
        steps = np.fromiter((key & mask for key in self.paths), np.int64, n)
        counts = columns.pop("doc_elements")
        bounds = np.concatenate([np.zeros(1, np.uint64), np.cumsum(counts, dtype=np.uint64)])
        sections = {
            "doc_bounds": bounds,
            **columns,
            "doc_names": np.frombuffer("\n".join([*self.names, ""]).encode(), dtype=np.uint8),
            "path_parent": parent.astype("<i4"),
            "path_tag": (steps >> 32).astype("<u4"),
            "path_ordinal": (steps & 0xFFFFFFFF).astype("<u4"),
        }
        failed = (
            (p.file if p.line is None else f"{p.file}:{p.line}", p.text) for p in self.failures
        )
        counted = {
            "documents": len(self.names),
            "elements": int(bounds[-1]),
            "paths": n,
            "tags": [*self.tags],
            "characters": int(columns["doc_length"].sum(dtype=np.int64)),
            "failures": [*self.failed, *failed],
            "passed_over": sorted(self.passed_over.items()),
        }
        whole = self.folder / "index"
        write_sections(whole, {**header, **counted, **shard}, sections)
        whole.replace(self.output)
        return Collection.open(self.output)
