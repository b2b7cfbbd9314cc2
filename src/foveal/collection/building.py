"""Building an index: batches parsed in parallel, written in order, resumed after interruption."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self

from foveal._version import __version__
from foveal.collection.merging import IndexSource, arranged
from foveal.collection.parsing import WHITESPACE, Recorder
from foveal.collection.partial import Parsed, Partial
from foveal.collection.sources import (
    LINE,
    NO_MEMORY,
    XML,
    Item,
    Source,
    Task,
    document_of_line,
    read_items,
)
from foveal.collection.storage import is_index
from foveal.errors import FovealError, InputError, Problem, UsageError
from foveal.executors import map_in_order
from foveal.files.xml import DocumentError, Limits, explain_undecodable

__all__ = ["BuildOptions", "Shard", "Summary", "build_index", "open_sources"]

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
class Shard:
    """One of so many shares of the sources, each about as large as the others.

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
        """From the way it is written."""
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text, re.ASCII)
        if found is None:
            raise UsageError(
                f"shard {text!r} is none; expected the number of a shard and how many there are, "
                "such as 3/8"
            )
        return cls(int(found[1]), int(found[2]))

    def share_of(self, begun: float) -> int:
        """The number of the share in which a batch begins, by how much of the sources is before it.

        >>> [Shard(1, 4).share_of(begun) for begun in (0.0, 0.2, 0.25, 1.0)]
        [1, 1, 2, 4]
        """
        return min(int(begun * self.of) + 1, self.of)


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


def add_item(item: Item, recorder: Recorder, name_tag: str | None) -> None:
    """Have a document of a source recorded, whatever its kind."""
    if item.problem is not None:
        raise DocumentError("document.size", item.problem)
    try:
        if item.kind == XML:
            recorder.add(item.name, item.data, name_tag=name_tag)
        elif item.kind == LINE:
            recorder.add_text(*document_of_line(item.data))
        else:
            recorder.add_text(item.name, item.data.decode())
    except UnicodeDecodeError as error:
        raise explain_undecodable(error, "UTF-8") from None
    except MemoryError:
        raise DocumentError("document.memory", NO_MEMORY) from None


def named_inside(item: Item, name_tag: str | None) -> bool:
    """Whether a document has its name from within, not from where it lies."""
    return item.kind == LINE or (item.kind == XML and name_tag is not None)


def _parse(task: Task, options: BuildOptions, within: str = "") -> Parsed:
    """Parse one batch, all places of which begin with `within`; runs in any process."""
    sizes: list[int] = []
    without: set[int] = set()
    while True:
        try:
            return _attempt(task, options, within, without, sizes)
        except MemoryError:
            # Together they take too much. The largest is to blame; the others may do without it.
            left = [i for i in range(len(sizes)) if i not in without]
            if not left:
                raise
            without.add(max(left, key=sizes.__getitem__))


def _attempt(
    task: Task, options: BuildOptions, within: str, without: set[int], sizes: list[int]
) -> Parsed:
    """Parse a batch but for some documents, and note the size of each."""
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
            add_item(item, recorder, options.name_tag)
        except DocumentError as error:
            failures.append(error.placed(place))
        else:
            places.append(place)
            inside.append(named_inside(item, options.name_tag))
    batch = recorder.batch()
    return Parsed(batch, tuple(places), tuple(inside), tuple(failures), sum(sizes), task.done)


def open_sources(paths: Sequence[Path | Source | IndexSource]) -> list[Source | IndexSource]:
    """What documents come from; indexes are recognised, and shards put in their order."""
    found: dict[str, Source | IndexSource] = {}
    for path in paths:
        opened = _opened(path) if isinstance(path, Path) else path
        if found.setdefault(str(opened.path), opened) is not opened:
            raise InputError.at(
                "unclassified", str(opened.path), None, "is given twice as a source"
            )
    order = arranged({path: getattr(source, "header", {}) for path, source in found.items()})
    return [found[path] for path in order]


def _opened(path: Path) -> Source | IndexSource:
    return IndexSource(path) if is_index(path) else Source(path)


def build_index(
    source: Path | Source | Sequence[Path | Source | IndexSource],
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
        Directory, zip, tar (gz, bz2, xz, zst), or one XML, text or JSON Lines file. An index is
        taken over as it is; one of them may be the output.
    output : Path
        The index file; nothing is left there unless the build succeeds. After an interruption
        the same call goes on where it stopped.
    options : BuildOptions, optional
    shard : Shard, optional
        Index only this share of the sources.
    executor : concurrent.futures.Executor, optional
        Where batches are parsed; by default here.
    ahead : int, optional
        Batches to keep under way in the executor; by default two for each of its workers.
    progress : callable, optional
        Called after each batch with its documents, its bytes and the share of the work behind.
    """
    try:
        given = [source] if isinstance(source, Path | Source) else source
        opened = open_sources(given)
        build = _Build(opened, output, options or BuildOptions(), shard)
        return build.run(executor, ahead, progress)
    except OSError as error:
        place, reason = error.filename or output, error.strerror or error
        raise InputError.at(
            "unclassified", str(place), None, f"cannot be read or written: {reason}"
        ) from None
    except MemoryError:
        raise FovealError(
            "the build takes more memory than there is; with fewer processes it takes less, "
            "and the same command goes on where it stopped"
        ) from None


class _Build:
    """One index from its sources."""

    def __init__(
        self,
        sources: Sequence[Source | IndexSource],
        output: Path,
        options: BuildOptions,
        shard: Shard | None,
    ) -> None:
        self.sources, self.output, self.options = sources, output, options
        self.shard = shard or Shard(1, 1)
        self.is_shard = shard is not None
        self.batches = [0, 0]
        """Batches of all sources before this shard, and before the next one."""
        self._check()

    def _check(self) -> None:
        """Refuse an output that cannot be, or sources that do not fit."""
        if self.output.is_dir():
            raise InputError.at(
                "unclassified", str(self.output), None, "is a directory; expected a file name"
            )
        if Path(os.path.realpath(self.output)).is_symlink():
            raise InputError.at(
                "unclassified", str(self.output), None, "is a loop of links; expected a file name"
            )
        if not self.output.parent.is_dir():
            raise InputError.at(
                "unclassified", str(self.output), None, "its directory does not exist"
            )
        for source in self.sources:
            if isinstance(source, IndexSource):
                self._check_index(source)
            elif source.would_take(self.output):
                is_dir = source.path.is_dir()
                what = "is a document of the source" if is_dir else "is the source itself"
                message = f"{what}; expected another place for the index"
                raise InputError.at("unclassified", str(self.output), None, message)

    def _check_index(self, source: IndexSource) -> None:
        if self.is_shard:
            message = "is an index; expected documents, of which a shard can be taken"
            raise InputError.at("unclassified", str(source.path), None, message)
        found, expected = source.header["whitespace"], self.options.whitespace
        if found != expected:
            message = f"was built with white space {found!r}, expected {expected!r} as the others"
            raise InputError.at("unclassified", str(source.path), None, message)

    def run(
        self,
        executor: Executor | None,
        ahead: int | None,
        progress: Callable[[int, int, float], None] | None,
    ) -> Summary:
        partial_index = Partial(self.output, self._identity())
        try:
            self._check_in_place()
            for documents, size, done in self._grow(partial_index, executor, ahead):
                if len(partial_index.failures) > self.options.max_errors + _TOLD:
                    break
                if progress is not None:
                    progress(documents, size, done)
            return self._finish(partial_index)
        except InputError:
            partial_index.remove()
            raise
        except FovealError as error:  # whoever parses has given up, not the documents
            if not partial_index.batches:
                partial_index.remove()
                raise
            message = f"{error}; the same command goes on where it stopped"
            raise FovealError(message) from error
        except BaseException:
            if not partial_index.batches:  # nothing to go on with
                partial_index.remove()
            raise
        finally:
            partial_index.close()

    def _check_in_place(self) -> None:
        """Now that no other build can change the output, see that none has: it may be a source."""
        for source in self.sources:
            if isinstance(source, IndexSource):
                source.check_in_place()

    def _identity(self) -> str:
        """What must be the same for a build to go on with what another one left."""
        prints = [source.fingerprint for source in self.sources]
        shard = self.shard if self.is_shard else None
        text = f"{prints}{self.options!r}{shard}{__version__}"
        return hashlib.blake2b(text.encode()).hexdigest()

    def _grow(
        self, index: Partial, executor: Executor | None, ahead: int | None
    ) -> Iterator[tuple[int, int, float]]:
        """Add batch after batch; of each its documents, its bytes and the share behind."""
        total = max(sum(source.size for source in self.sources), 1)
        before = 0
        for number, source in enumerate(self.sources):
            skipped = index.begin(number, apart=source.archive)
            if isinstance(source, IndexSource):
                source.verify()
                numbers = index.add_paths(*source.paths())
                for block in source.blocks(skipped):
                    index.add_block(block, str(source.path), numbers)
                    done = (before + block.done * source.size) / total
                    yield len(block.documents), 12 * len(block.path), done
            else:
                tasks = islice(self._own_tasks(source, before, total), skipped, None)
                parse = partial(_parse, options=self.options, within=self._within(source))
                for parsed in map_in_order(executor, parse, tasks, ahead=ahead):
                    index.add(parsed)
                    yield len(parsed.places) + len(parsed.failures), parsed.size, parsed.done
            before += source.size

    def _within(self, source: Source) -> str:
        """What the places of a source begin with, so that nobody takes them for those of another.

        The name of the source where that tells them apart: the index must not depend on where
        the sources lie.
        """
        if len(self.sources) == 1:
            return ""
        named_alike = sum(other.path.name == source.path.name for other in self.sources) > 1
        path = source.path if named_alike else Path(source.path.name)
        if not source.archive and not source.path.is_dir():
            path = path.parent  # the place of a document in one file begins with the file
        return "" if path == Path() else f"{path}/"

    def _cut_from(self) -> str:
        """What must be the same for shards to be of one index, whenever and wherever they are made.

        Times are not in it: copies of the sources on other machines have others.
        """
        contents = [source.contents for source in self.sources if isinstance(source, Source)]
        options = self.options
        text = f"{contents}{options.whitespace}{options.name_tag!r}{options.limits!r}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _own_tasks(self, source: Source, before: int, total: int) -> Iterator[Task]:
        """The batches of a source that are in this shard, by the share of all sources behind."""
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
            elif share > number and not source.archive:
                return  # of an archive all places must be seen: names lose folders of all

    def _finish(self, index: Partial) -> Summary:
        if len(index.failures) > self.options.max_errors:
            raise InputError(
                Problem("unclassified", place, None, text) for place, text in index.failures
            )
        if index.batches == 0 and not self.is_shard:
            raise InputError.at(
                "unclassified", str(self.sources[0].path), None, "holds no document"
            )
        failures: list[tuple[str, str]] = []
        passed_over: Counter[str] = Counter()
        for number, source in enumerate(self.sources):
            failures += source.failures if isinstance(source, IndexSource) else ()
            failures += index.own_failures(number)
            # Each shard goes through all of them; together they must not count more.
            passed_over += source.passed_over if self.shard.number == 1 else Counter()
        summary = Summary(
            documents=index.documents,
            elements=index.elements,
            paths=len(index.paths),
            tags=len(index.tags),
            characters=index.characters,
            failures=tuple(failures),
            passed_over=tuple(sorted(passed_over.items())),
        )
        names = dict.fromkeys(_source_name(source) for source in self.sources)
        header = {
            "foveal": __version__,
            "source": ", ".join(names),
            "whitespace": self.options.whitespace,
            **asdict(summary),
            "tags": list(index.tags),
        }
        if self.is_shard:
            own = {"batches": self.batches, "cut_from": self._cut_from()}
            header["shard"] = asdict(self.shard) | own
        folders = [
            "".join(f"{folder}/" for folder in source.folders or ()) if source.archive else None
            for source in self.sources
        ]
        index.finish(self.output, header, folders)
        return summary


def _source_name(source: Source | IndexSource) -> str:
    return str(source.header["source"]) if isinstance(source, IndexSource) else source.path.name
