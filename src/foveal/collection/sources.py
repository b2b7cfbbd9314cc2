"""Where documents come from: a directory, an archive or one file; XML, text or JSON Lines.

Work is cut into batches of a few megabytes, always in the same order and at the same places. A
batch of a directory holds names only: the worker that parses it reads the bytes.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count, takewhile
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self

import zstandard

from foveal.collection.parsing import Recorder
from foveal.errors import InputError
from foveal.files.xml import BYTES, DocumentError, explain_undecodable

__all__ = [
    "LINE",
    "TEXT",
    "XML",
    "DocumentSource",
    "Item",
    "Task",
    "name_of",
    "read_items",
    "shared_folder",
]

XML, TEXT, LINE = "xml", "text", "line"
NO_MEMORY = "the document takes more memory than there is"
_KINDS = {
    ".xml": XML,
    ".nxml": XML,
    ".tei": XML,
    ".txt": TEXT,
    ".text": TEXT,
    ".md": TEXT,
    ".markdown": TEXT,
    ".jsonl": LINE,
    ".ndjson": LINE,
}
HIDDEN, LINKED, NO_FILE = "hidden files", "links to directories", "no files"
BARE = "files without extension that are no XML"
"""What is passed over in a source, besides files of other extensions."""
_HEAD = 256
_XML_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<(?:[?]xml\s|!DOCTYPE\s(?!\s*html)|!--|(?!html)[A-Za-z_:])",
    re.IGNORECASE,
)
_BATCH_BYTES = 4 << 20
_BATCH_FILES = 2000
_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20
"""Bytes of a document that are read at once: more may never come."""
_TAR_NAME = 1 << 20
"""Bytes of the name and other properties of a member of a tar file, which are read at once."""
_ZSTANDARD_BLOCK = 1 << 12
"""Bytes of zstd data that are expanded at once, to 128 MB at most."""


@dataclass(frozen=True)
class Item:
    """One document: its name, its kind, its bytes, and where it was found.

    >>> Item("co/r1", XML, b"<a/>", "co/r1.xml").folder
    ('co',)
    """

    name: str
    kind: str
    data: bytes
    place: str
    problem: str | None = None
    """Why there are no bytes, if there are none."""

    @property
    def folder(self) -> tuple[str, ...]:
        """The folders that its file lies in."""
        return tuple(str(PurePosixPath(self.place)).split("/")[:-1])

    def is_named_inside(self, name_tag: str | None) -> bool:
        """Return True if the document has its name from within, not from where it lies."""
        return self.kind == LINE or (self.kind == XML and name_tag is not None)

    def record(self, recorder: Recorder, name_tag: str | None) -> None:
        """Add the document to a recorder, as its kind demands."""
        if self.problem is not None:
            raise DocumentError("document.size", self.problem)
        try:
            if self.kind == XML:
                recorder.add(self.name, self.data, name_tag=name_tag)
            elif self.kind == LINE:
                recorder.add_text(*_parse_line(self.data))
            else:
                recorder.add_text(self.name, self.data.decode())
        except UnicodeDecodeError as error:
            raise explain_undecodable(error, "UTF-8") from None
        except MemoryError:
            raise DocumentError("document.memory", NO_MEMORY) from None


@dataclass(frozen=True)
class Task:
    """A batch of documents: files to read below a directory, or the bytes themselves."""

    root: Path
    done: float
    """The share of the source that is behind when this batch is."""
    members: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    most: int = BYTES
    """Bytes that a document may have."""

    @property
    def label(self) -> str:
        """For messages."""
        first = next(iter([*self.members, *(item.place for item in self.items)]), "no document")
        return f"indexing of {first} and what follows it"


def _kind(member: str) -> str | None:
    """What a file holds, by its extension; None if that does not tell."""
    name = member.rpartition("/")[2]
    return None if name.startswith(".") else _KINDS.get(_suffix(name).lower())


def _suffix(name: str) -> str:
    """The extension of a name, as `pathlib` has it, which takes ten times as long.

    >>> [_suffix(name) for name in ("r7108.xml", "a.tar.gz", "r7108", "v1.", ".xml")]
    ['.xml', '.gz', '', '', '']
    """
    dot = name.rfind(".")
    return name[dot:] if 0 < dot < len(name) - 1 else ""


def name_of(member: str) -> str:
    """The name of the document in a file: its path without the extension, if it has a known one.

    >>> name_of("co/r7108.xml"), name_of("co/r7108"), name_of("v1.2")
    ('co/r7108', 'co/r7108', 'v1.2')
    """
    return str(PurePosixPath(member).with_suffix("") if _kind(member) else PurePosixPath(member))


def _is_bare(member: str) -> bool:
    """Whether a file has no extension; one without a letter is none (``10.1016``)."""
    path = PurePosixPath(member)
    return not path.name.startswith(".") and not re.search(r"[^\W\d_]", path.suffix)


def _may_be_document(member: str) -> bool:
    return _kind(member) is not None or _is_bare(member)


def _begins_as_xml(head: bytes) -> bool:
    """Whether these first bytes are of an XML document, in any encoding."""
    return _XML_HEAD.match(head.translate(None, b"\0\xfe\xff")) is not None


def _reason(member: str) -> str:
    """Why a file is passed over."""
    path = PurePosixPath(member)
    if path.name.startswith("."):
        return HIDDEN
    return BARE if _is_bare(member) else path.suffix.lower()


def shared_folder(folder: tuple[str, ...] | None, other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders that two places have in common; of one alone, its own.

    >>> shared_folder(("wiki", "a"), ("wiki", "b")), shared_folder(None, ("wiki",))
    (('wiki',), ('wiki',))
    """
    if folder is None:
        return other
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(folder, other, strict=False))
    return tuple(name for name, _ in pairs)


class _Files:
    """Names and sizes of many files in little memory: a million take some thirty megabytes.

    >>> files = _Files([("a.xml", 3), ("b.xml", 4)])
    >>> list(files), files.size
    ([('a.xml', 3), ('b.xml', 4)], 7)
    """

    def __init__(self, files: Iterable[tuple[str, int]] = ()) -> None:
        self._names = bytearray()
        self._sizes = array("q")
        contents = hashlib.blake2b(digest_size=16)
        for name, size in files:
            raw = os.fsencode(name) + b"\0"
            contents.update(raw + f"{size}\n".encode())
            self._names += raw
            self._sizes.append(size)
        self.size = sum(self._sizes)
        self.contents = contents.hexdigest()

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        at = 0
        for size in self._sizes:
            after = self._names.index(0, at)
            yield os.fsdecode(bytes(self._names[at:after])), size
            at = after + 1


class DocumentSource:
    """A collection as it lies on the disk.

    Attributes
    ----------
    path : Path
    is_archive : bool
        True if documents are members of a zip or tar file.
    contents : str
        Tells whether another machine sees the same documents, by their names and sizes; of an
        archive, when all batches are out, and of one file by its size alone.
    size : int
        Bytes on the disk.
    passed_over : Counter
        What is no document, and how many of each; of an archive, when all batches are out.
    folders : tuple of str
        The folders that hold everything in an archive, when all batches are out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = _Files()
        self.passed_over: Counter[str] = Counter()
        self.folders: tuple[str, ...] | None = None
        self._tasks: Callable[[int], Iterator[Task]] = self._directory_tasks
        self.is_archive = False
        try:
            self._look()
        except OSError as error:
            place, reason = error.filename or path, error.strerror or error
            message = f"cannot be read: {reason}"
            raise InputError.at("file.unreadable", str(place), None, message) from None

    def _look(self) -> None:
        path = self.path
        if not path.exists():
            raise InputError.at("file.missing", str(path), None, "no such file or directory")
        if path.is_dir():
            self._files = self._scan()
            self.size, self.contents = self._files.size, self._files.contents
            return
        if not path.is_file():
            raise InputError.at(
                "file.stream",
                str(path),
                None,
                "is a pipe or a device, which can be read only once; expected a file or directory",
            )
        self.size = path.stat().st_size
        self.contents = str(self.size)
        if zipfile.is_zipfile(path):
            self.is_archive, self._tasks = True, self._zip_tasks
        elif _is_tar(path):
            self.is_archive, self._tasks = True, self._tar_tasks
        elif self._kind_of_file() is not None:
            self._tasks = self._file_tasks
        else:
            raise InputError.at(
                "collection.format",
                str(path),
                None,
                "is no collection; expected a directory, zip, tar, XML, text or JSON Lines file",
            )

    def tasks(self, most: int = BYTES) -> Iterator[Task]:
        """The batches, in a fixed order; documents of more bytes than `most` come as problems."""
        return self._tasks(most)

    def would_take(self, path: Path) -> bool:
        """Whether a file is one of the documents, or would be if there were one of that name."""
        if not self.path.is_dir():
            return path.exists() and path.samefile(self.path)
        # Only a file of that name can be it, whatever links lead there.
        named = (m for m, _ in self._files if m.rpartition("/")[2] == path.name)
        if path.exists() and any(path.samefile(self.path / member) for member in named):
            return True
        within = self.path.resolve() in path.parent.resolve().joinpath(path.name).parents
        return within and _kind(path.name) is not None

    def _kind_of_file(self) -> str | None:
        """The kind of a single file, which may be compressed."""
        kind = _kind(self.path.name) or _kind(self.path.stem)
        if kind is not None:
            return kind
        with self.path.open("rb") as raw:
            try:
                head = _decompressed(raw).read(_HEAD)
            except (*_DAMAGE, MemoryError):
                return None
        if head.removeprefix(_BOM).lstrip().startswith(b"{"):
            return LINE
        bare = _is_bare(self.path.name) or _is_bare(self.path.stem)
        return XML if bare and _begins_as_xml(head) else None

    def _scan(self) -> _Files:
        """Find the documents below the directory, in the order of their names."""
        # Links wait until all real directories are known, so that what a link shows again is not
        # taken twice; directories above the source would lead back into it.
        above = [self.path.resolve(), *self.path.resolve().parents]
        known = {_identity(folder.stat()) for folder in above}
        links: list[tuple[Path, str]] = []
        real = _Files(self._walk(self.path, "", known, links))
        linked: list[tuple[str, int]] = []
        while links:
            later: list[tuple[Path, str]] = []
            for folder, prefix in sorted(links):
                identity = _identity(folder.stat())
                if identity in known:
                    self.passed_over[LINKED] += 1
                else:
                    known.add(identity)
                    linked += self._walk(folder, prefix, known, later)
            links = later
        files = _Files(sorted(chain(real, linked))) if linked else real
        if not len(files):
            raise InputError.at(
                "collection.empty", str(self.path), None, f"holds no document ({', '.join(_KINDS)})"
            )
        return files

    def _walk(
        self, root: Path, prefix: str, known: set[tuple[int, int]], links: list[tuple[Path, str]]
    ) -> Iterator[tuple[str, int]]:
        """Yield name and size of the documents below a directory, in the order of their names.

        Notes links to directories, with their names.
        """
        # A folder stands among its neighbours as its name with a slash: so the paths are sorted
        # although nobody ever sees all of them.
        open_folders = [iter(self._entries(root, prefix, links))]
        while open_folders:
            entry = next(open_folders[-1], None)
            if entry is None:
                open_folders.pop()
                continue
            name, size, folder = entry
            if folder is None:
                yield name, size
                continue
            identity = _identity(folder.stat())  # scandir knows none on Windows
            if identity not in known:
                known.add(identity)
                open_folders.append(iter(self._entries(folder, name, links)))

    def _entries(
        self, folder: Path, prefix: str, links: list[tuple[Path, str]]
    ) -> list[tuple[str, int, Path | None]]:
        """Return the documents and folders of a directory, sorted; folders with their path."""
        found: list[tuple[str, int, Path | None]] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                name = f"{prefix}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    found.append((f"{name}/", 0, Path(entry.path)))
                elif entry.is_dir():
                    links.append((Path(entry.path), f"{name}/"))
                elif not entry.is_file():  # also a link that leads nowhere
                    self.passed_over[NO_FILE] += 1
                elif _kind(name) or (_is_bare(name) and _file_is_xml(Path(entry.path))):
                    found.append((name, entry.stat().st_size, None))
                else:
                    self.passed_over[_reason(name)] += 1
        found.sort(key=itemgetter(0))
        return found

    def _directory_tasks(self, most: int) -> Iterator[Task]:
        members: list[str] = []
        size = behind = 0
        for name, length in self._files:
            members.append(name)
            size += length
            if size >= _BATCH_BYTES or len(members) >= _BATCH_FILES:
                behind += size
                done = behind / max(self.size, 1)
                yield Task(self.path, done, tuple(members), most=most)
                members, size = [], 0
        if members:
            yield Task(self.path, 1.0, tuple(members), most=most)

    def _batched(self, items: Iterator[tuple[Item, float]]) -> Iterator[Task]:
        """Batches of documents that come with the share of the source behind each."""
        batch: list[Item] = []
        size, done = 0, 0.0
        self.folders = None
        contents = hashlib.blake2b(digest_size=16)
        for item, done in items:
            contents.update(os.fsencode(item.place) + f"\0{len(item.data)}\n".encode())
            self.folders = shared_folder(self.folders, item.folder)
            batch.append(item)
            size += len(item.data)
            if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
                yield Task(self.path, done, items=tuple(batch))
                batch, size = [], 0
        if batch:
            yield Task(self.path, done, items=tuple(batch))
        if self.is_archive:  # one file is not read to its end for every shard
            self.contents = contents.hexdigest()

    def _zip_tasks(self, most: int) -> Iterator[Task]:
        def items() -> Iterator[tuple[Item, float]]:
            self.passed_over.clear()
            with zipfile.ZipFile(self.path) as archive:
                members = sorted(m for m in archive.namelist() if m[-1] != "/")
                for number, member in enumerate(members, 1):
                    if not _may_be_document(member):
                        self.passed_over[_reason(member)] += 1
                        continue
                    with archive.open(member) as stream:
                        for item in self._member_items(member, stream, most):
                            yield item, number / len(members)

        return self._batched(self._unharmed(items()))

    def _tar_tasks(self, most: int) -> Iterator[Task]:
        def items() -> Iterator[tuple[Item, float]]:
            with (
                self.path.open("rb") as raw,
                tarfile.open(fileobj=_decompressed(raw), mode="r|", tarinfo=_TarInfo) as archive,
            ):
                self.passed_over.clear()
                for member in archive:
                    if member.isfile():
                        stream = archive.extractfile(member)
                        assert stream is not None
                        for item in self._member_items(member.name, stream, most):
                            yield item, raw.tell() / self.size
                    elif not member.isdir():
                        self.passed_over[NO_FILE] += 1

        return self._batched(self._unharmed(items()))

    def _member_items(self, member: str, stream: IO[bytes], most: int) -> Iterator[Item]:
        """The documents of a file in an archive."""
        head = b"" if _kind(member) or not _is_bare(member) else stream.read(_HEAD)
        if _kind(member) or _begins_as_xml(head):
            yield from _items(member.removeprefix("./"), stream, most, head)
        else:
            self.passed_over[_reason(member)] += 1

    def _file_tasks(self, most: int) -> Iterator[Task]:
        def items() -> Iterator[tuple[Item, float]]:
            name = self.path.name
            if _kind(name) is None and not _is_bare(name):  # compressed
                name = self.path.stem
            with self.path.open("rb") as raw:
                stream = _decompressed(raw)
                if self._kind_of_file() == LINE:
                    for item in _line_items(stream, self.path.name, most):
                        yield item, raw.tell() / self.size
                else:
                    for item in _items(name, stream, most):
                        yield item, 1.0

        return self._batched(self._unharmed(items()))

    def _unharmed(self, items: Iterator[tuple[Item, float]]) -> Iterator[tuple[Item, float]]:
        try:
            yield from items
        except MemoryError:
            message = "the archive takes more memory than there is"
            raise InputError.at("file.memory", str(self.path), None, message) from None
        except (*_DAMAGE, RuntimeError, NotImplementedError) as error:
            raise InputError.at(
                "file.compression", str(self.path), None, f"damaged archive: {error}"
            ) from None


def read_items(task: Task) -> Iterator[Item]:
    """The documents of a batch."""
    yield from task.items
    for member in task.members:
        try:
            with (task.root / member).open("rb") as stream:
                yield from _items(member, stream, task.most)
        except MemoryError:
            yield Item(name_of(member), _kind(member) or XML, b"", member, NO_MEMORY)


def _items(member: str, stream: IO[bytes], most: int = BYTES, head: bytes = b"") -> Iterator[Item]:
    """The documents of a file, of which `head` was read already; lines come one by one."""
    kind = _kind(member) or XML
    if kind == LINE:
        yield from _line_items(stream, member, most)
        return
    document = _Bytes(most)
    document.add(head)
    while document.problem is None and (block := stream.read(_BLOCK)):
        document.add(block)
    data, problem = document.whole()
    data = data.removeprefix(_BOM) if kind == TEXT else data
    yield Item(name_of(member), kind, data, member, problem)


class _Bytes:
    """A document that comes bit by bit, and may be too much: a few bytes expand to anything.

    Memory ends here and not within whoever reads an archive, who would lose his place in it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._data = bytearray()
        self.size = 0
        self.problem: str | None = None

    def add(self, block: bytes) -> None:
        """One more bit; it is not kept if that is too much."""
        self.size += len(block)
        if self.size > self._most:
            self._drop(f"the document has more than {self._most} bytes")
        elif self.problem is None:
            try:
                self._data += block
            except MemoryError:
                self._drop(NO_MEMORY)

    def whole(self) -> tuple[bytes, str | None]:
        """All of it, or what is wrong."""
        try:
            return bytes(self._data), self.problem
        except MemoryError:
            self._drop(NO_MEMORY)
        return b"", self.problem

    def _drop(self, problem: str) -> None:
        self._data = bytearray()
        self.problem = problem


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _file_is_xml(path: Path) -> bool:
    with path.open("rb") as stream:
        return _begins_as_xml(stream.read(_HEAD))


def _line_items(lines: IO[bytes], place: str, most: int) -> Iterator[Item]:
    for number in count(1):
        document = _Bytes(most)
        while block := lines.readline(_BLOCK):
            document.add(block)
            if block.endswith(b"\n"):
                break
        if not document.size:
            return
        line, problem = document.whole()
        if problem or line.strip():
            yield Item("", LINE, line, f"{place}:{number}", problem)


def _parse_line(line: bytes) -> tuple[str, str]:
    """Return name and text of a document in JSON Lines."""
    try:
        record = json.loads(line.removeprefix(_BOM))
        name, text = record["doc"], record["text"]
    except UnicodeDecodeError as error:
        wrong = explain_undecodable(error, "UTF-8")
        # The line is that of the file, which who reads it knows.
        raise DocumentError(wrong.code, f"column {wrong.column}: {wrong.message}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        message = 'not a document; expected {"doc": NAME, "text": TEXT}'
        raise DocumentError("document.json", message) from None
    if not isinstance(name, str) or not isinstance(text, str):
        raise DocumentError("document.json", "doc and text are not both strings")
    return name, text


class _Zstandard(io.RawIOBase):
    """The content of zstd data; unlike the package's own reader, refuses what breaks off."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._block, self._at = b"", 0
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if self._at == len(self._block):
                self._block, self._at = self._raw.read(1 << 17), 0
            some = self._block[self._at : self._at + _ZSTANDARD_BLOCK]
            if not some and self._frame.eof:
                return 0
            if not some:
                raise EOFError("the zstd data break off")
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            try:
                self._ready = memoryview(self._frame.decompress(some))
            except zstandard.ZstdError as error:
                raise OSError(str(error)) from None
            self._at += len(some) - len(self._frame.unused_data)
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


class _TarInfo(tarfile.TarInfo):
    """A member of a tar file; refuses names that are too long before they are read."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type in _TAR_NAMES and member.size > _TAR_NAME:
            raise tarfile.ReadError(f"a name of {member.size} bytes")
        return member


_TAR_NAMES = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_CODECS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": lambda raw: io.BufferedReader(_Zstandard(raw)),
}
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, OSError)


def _decompressed(raw: IO[bytes]) -> IO[bytes]:
    """The content; compression shows in the first bytes."""
    head = raw.read(6)
    raw.seek(0)
    for magic, codec in _CODECS.items():
        if head.startswith(magic):
            content: IO[bytes] = codec(raw)
            return content
    return raw


def _is_tar(path: Path) -> bool:
    try:
        with (
            path.open("rb") as raw,
            tarfile.open(fileobj=_decompressed(raw), mode="r|", tarinfo=_TarInfo) as archive,
        ):
            return archive.next() is not None
    except (*_DAMAGE, ValueError, RuntimeError, MemoryError):
        return False
