"""Sources of documents: a directory, an archive or one file; XML, text or JSON Lines.

Work is cut into batches of a few megabytes, always in the same order and at the same places.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from operator import truediv
from pathlib import Path, PurePosixPath
from typing import IO, Any

from foveal.collection.parsing import Recorder
from foveal.errors import InputError
from foveal.files.source import BOM, decompress, explain_os_error, find_codec
from foveal.files.xml import DocumentError, Limits, explain_undecodable

XML, TEXT, LINE = "xml", "text", "line"
_KINDS = {
    **dict.fromkeys((".xml", ".nxml", ".tei"), XML),
    **dict.fromkeys((".txt", ".text", ".md", ".markdown"), TEXT),
    **dict.fromkeys((".jsonl", ".ndjson"), LINE),
}
_HEAD = 256
_BATCH_BYTES = 4 << 20
_BATCH_FILES = 2000
_BLOCK = 1 << 20  # bytes that are read at once
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, OSError)


@dataclass(frozen=True)
class Item:
    """One document: its name, its kind, its bytes (None if they are too many), and its place."""

    name: str
    kind: str
    data: bytes | None
    place: str

    def is_named_inside(self, name_tag: str | None) -> bool:
        """Return True if the document has its name from within, not from where it lies."""
        return self.kind == LINE or (self.kind == XML and name_tag is not None)

    def record(self, recorder: Recorder, name_tag: str | None) -> str:
        """Add the document to a recorder, as its kind demands, and return its text."""
        if self.data is None:
            message = f"the document has more than {recorder.limits.size} bytes"
            raise DocumentError("document.size", message)
        try:
            if self.kind == XML:
                return recorder.add(self.name, self.data, name_tag=name_tag)
            if self.kind == LINE:
                return recorder.add(*_parse_line(self.data))
            return recorder.add(self.name, self.data.removeprefix(BOM).decode())
        except UnicodeDecodeError as error:
            raise explain_undecodable(error, "UTF-8") from None


@dataclass(frozen=True)
class Task:
    """A batch of documents, or of names of files below a directory: a worker reads their bytes."""

    root: Path
    done: float  # the share of the source that is behind when this batch is
    documents: tuple[Item | str, ...]

    @property
    def label(self) -> str:
        """The name of the batch in messages."""
        first = self.documents[0]
        return f"indexing of {getattr(first, 'place', first)} and what follows it"

    def read(self, most: int) -> Iterator[Item]:
        """Yield the documents of the batch; they may have `most` bytes."""
        for document in self.documents:
            if isinstance(document, Item):
                yield document
                continue
            kind = _kind(document)
            assert kind is not None  # others are not listed
            with open(f"{self.root}/{document}", "rb") as stream:  # noqa: PTH123 - faster than Path
                yield from _read_documents(document, kind, stream, most)


class DocumentSource:
    """A collection as it lies on the disk: `size` is its bytes there.

    `passed_over` counts the files that are not documents by their kind, and `folder` is the path of
    the folders that hold everything in an archive. Of an archive both are known in the end.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name, self.folder = path, path.name, ""
        self.passed_over: Counter[str] = Counter()
        self.files: list[tuple[str, int]] = []
        self.is_archive = False
        try:
            if not path.exists():
                raise InputError.at("file.missing", str(path), None, "no such file or directory")
            if path.is_dir():
                self._form = "directory"
                self.files = sorted(self._scan())
                self.size = sum(size for _, size in self.files)
                return
            self.size = path.stat().st_size
            archive = form = None
            if path.is_file():  # and not a pipe or device
                archive = "zip" if zipfile.is_zipfile(path) else "tar" if _is_tar(path) else None
                form = archive or _find_kind(path)
            if form is None:
                expected = "a directory, zip, tar, XML, text or JSON Lines file"
                message = f"is not a collection; expected {expected}"
                raise InputError.at("collection.format", str(path), None, message)
            self._form, self.is_archive = form, archive is not None
        except OSError as error:
            raise explain_os_error(error, str(error.filename or path)) from None

    def _scan(self) -> Iterator[tuple[str, int]]:
        """Yield name and size of the documents below the directory."""

        def fail(error: OSError) -> None:
            raise error

        for folder, folders, names in os.walk(self.path, onerror=fail):
            prefix = os.path.relpath(folder, self.path) + "/"
            # A link may lead back, so that its documents would come twice or without end.
            links = sum(os.path.islink(f"{folder}/{name}") for name in folders)  # noqa: PTH114
            self.passed_over += Counter({"links to directories": links})
            for name in names:
                path = f"{folder}/{name}"
                if not os.path.isfile(path):  # noqa: PTH113 - there may be millions
                    self.passed_over["no files"] += 1
                elif self._recognise(name):
                    yield prefix.removeprefix("./") + name, os.stat(path).st_size  # noqa: PTH116

    def tasks(self, most: int = Limits().size) -> Iterator[Task]:
        """Yield the batches, in a fixed order; documents may have `most` bytes."""
        batch: list[Item | str] = []
        size, done, folders = 0, 0.0, None
        try:
            for document, length, done in self._list_documents(most):
                if isinstance(document, Item):
                    place = str(PurePosixPath(document.place)).split("/")[:-1]
                    both: Any = [place if folders is None else folders, place]
                    folders = os.path.commonprefix(both)  # noqa: RUF071 - of lists, not of texts
                batch.append(document)
                size += length
                if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
                    yield Task(self.path, done, tuple(batch))
                    batch, size = [], 0
        except (*_DAMAGE, RuntimeError, NotImplementedError, InputError) as error:
            reason = error.problems[0].text if isinstance(error, InputError) else error
            text = f"damaged archive: {reason}"
            raise InputError.at("file.compression", str(self.path), None, text) from None
        if batch:
            yield Task(self.path, done, tuple(batch))
        if self.is_archive:
            self.folder = "".join(f"{name}/" for name in folders or ())

    def _list_documents(self, most: int) -> Iterator[tuple[Item | str, int, float]]:
        """Yield each document, its bytes and the share of the source behind it."""
        before = 0
        for name, length in self.files:
            before += length
            yield name, length, before / max(self.size, 1)
        members = () if self._form == "directory" else self._open_members()
        for member, kind, stream, measure in members:
            own = kind or self._recognise(member)
            if own is not None:
                for item in _read_documents(member.removeprefix("./"), own, stream, most):
                    yield item, len(item.data or b""), measure()

    def _open_members(self) -> Iterator[tuple[str, str | None, Any, Callable[[], float]]]:
        """Yield the files of an archive, or the only file.

        Each comes with its name, its kind if that is known, its content, and a function that
        returns the share of the source that was read.
        """
        if self._form == "zip":
            with zipfile.ZipFile(self.path) as archive:
                members = sorted(m for m in archive.namelist() if m[-1] != "/")
                for number, member in enumerate(members, 1):
                    with archive.open(member) as stream:
                        yield member, None, stream, partial(truediv, number, len(members))
            return
        with self.path.open("rb") as raw:
            if self._form != "tar":
                stream = _expand(raw, self.path)
                name = self.path.name if stream is raw else self.path.stem
                yield name, self._form, stream, lambda: raw.tell() / max(self.size, 1)
                return
            with tarfile.open(fileobj=_expand(raw, self.path), mode="r|") as archive:
                for entry in archive:
                    content = archive.extractfile(entry) if entry.isfile() else None
                    if content is not None:
                        yield entry.name, None, content, lambda: raw.tell() / max(self.size, 1)
                    elif not entry.isdir():
                        self.passed_over["no files"] += 1

    def _recognise(self, member: str) -> str | None:
        """Return the kind of a file by its extension; count a file that has none."""
        kind = _kind(member)
        if kind is None:
            path = PurePosixPath(member)
            reason = "hidden files" if path.name.startswith(".") else path.suffix.lower()
            # .1016 is not an extension
            self.passed_over[reason if re.search("[a-z]", reason) else "without extension"] += 1
        return kind


def _read_documents(member: str, kind: str, stream: IO[bytes], most: int) -> Iterator[Item]:
    """Yield the documents of a file: the whole of it, or its lines."""
    in_lines = kind == LINE
    read_block = stream.readline if in_lines else stream.read
    for number in count(1):
        blocks, size = list[bytes](), 0
        # No more is kept than the limit: a few bytes expand to anything.
        while block := read_block(_BLOCK):
            size += len(block)
            if size <= most:
                blocks.append(block)
            if block.endswith(b"\n") if in_lines else size > most:
                break
        data = b"".join(blocks) if size <= most else None
        if not in_lines:
            yield Item(find_name(member), kind, data, member)
        elif data is None or data.strip():
            yield Item("", LINE, data, f"{member}:{number}")
        if not in_lines or not size:
            return


def _parse_line(line: bytes) -> tuple[str, str]:
    """Return name and text of a document in JSON Lines."""
    try:
        record = json.loads(line.removeprefix(BOM))
        name, text = record["doc"], record["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        name = text = None
    if not isinstance(name, str) or not isinstance(text, str):
        message = 'not a document; expected {"doc": NAME, "text": TEXT} in UTF-8'
        raise DocumentError("document.json", message)
    return name, text


def _kind(member: str) -> str | None:
    """Return what a file holds, by its extension; None if that does not tell."""
    name = member.rpartition("/")[2]
    return None if name.startswith(".") else _KINDS.get(os.path.splitext(name)[1].lower())  # noqa: PTH122


def find_name(member: str) -> str:
    """Return the name of the document in a file: its path without a known extension."""
    return str(PurePosixPath(member).with_suffix("") if _kind(member) else PurePosixPath(member))


def _find_kind(path: Path) -> str | None:
    """Return the kind of a single file, which may be compressed; None if it is not a document."""
    kind = _kind(path.name) or _kind(path.stem)
    if kind is not None:
        return kind
    with path.open("rb") as raw:
        try:
            head = _expand(raw, path).read(_HEAD)
        except InputError:
            return None
    # A byte order mark, and the zeros of UTF-16, may come first.
    first = head.translate(None, b"\0\xfe\xff").removeprefix(BOM).lstrip()[:1]
    return {b"{": LINE, b"<": XML}.get(first)


def _expand(raw: IO[bytes], path: Path) -> IO[bytes]:
    """Return the content of a file; compression shows in its first bytes."""
    codec = find_codec(raw.read(_HEAD))
    raw.seek(0)
    if codec is None:
        return raw
    blocks = decompress(iter(lambda: raw.read(_BLOCK), b""), str(path), codec)
    return io.BufferedReader(_Blocks(blocks))


class _Blocks(io.RawIOBase):
    """Blocks of bytes as one stream."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._left = blocks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = memoryview(block)
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


def _is_tar(path: Path) -> bool:
    try:
        with path.open("rb") as raw, tarfile.open(fileobj=_expand(raw, path), mode="r|") as archive:
            return archive.next() is not None
    except (*_DAMAGE, InputError, ValueError, RuntimeError):
        return False
