"""Where documents come from: a directory, an archive or one file; XML, text or JSON Lines.

Work is cut into batches of a few megabytes, always in the same order and at the same places, so
that an interrupted build can go on where it stopped. A batch of a directory or zip file holds
names only: whoever works on it reads the bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from foveal.errors import InputError

__all__ = ["Item", "Task", "fingerprint", "is_archive", "read_items", "tasks_of"]

XML, TEXT, LINES = "xml", "text", "jsonl"
_KINDS = {
    ".xml": XML,
    ".nxml": XML,
    ".tei": XML,
    ".txt": TEXT,
    ".text": TEXT,
    ".md": TEXT,
    ".markdown": TEXT,
    ".jsonl": LINES,
    ".ndjson": LINES,
}
_BATCH_BYTES = 4 << 20
_BATCH_FILES = 2000


@dataclass(frozen=True)
class Item:
    """One document: its name, its kind, its bytes, and where it was found."""

    name: str
    kind: str
    data: bytes
    place: str


@dataclass(frozen=True)
class Task:
    """A batch of documents: files to read, members of a zip file, or the bytes themselves."""

    root: Path
    members: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()


def _kind(name: str) -> str | None:
    return _KINDS.get(PurePosixPath(name).suffix.lower())


def _name(member: str) -> str:
    """The document's name: the path below the root without extension."""
    path = PurePosixPath(member)
    return str(path.with_suffix("")) if path.suffix else str(path)


def tasks_of(source: Path) -> Iterator[Task]:
    """The batches of a source, in a fixed order."""
    if source.is_dir():
        yield from _grouped(source, _files_below(source))
    elif not source.exists():
        raise InputError.at(str(source), None, "no such file or directory")
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            members = [(m.filename, m.file_size) for m in archive.infolist() if not m.is_dir()]
        yield from _grouped(source, sorted((n, s) for n, s in members if _kind(n)))
    elif _is_tar(source):
        yield from _batched(source, _tar_items(source))
    elif (kind := _kind(source.name)) == LINES:
        yield from _batched(source, _line_items(source.read_bytes(), str(source)))
    elif kind is not None:
        yield Task(source.parent, (source.name,))
    else:
        raise InputError.at(
            str(source),
            None,
            "is no collection; expected a directory, zip, tar, XML, text or JSON Lines file",
        )


def _files_below(root: Path) -> list[tuple[str, int]]:
    files = [
        (str(path.relative_to(root).as_posix()), path.stat().st_size)
        for path in root.rglob("*")
        if _kind(path.name) and path.is_file() and not path.name.startswith(".")
    ]
    if not files:
        raise InputError.at(str(root), None, f"holds no document ({', '.join(_KINDS)})")
    return sorted(files)


def _grouped(root: Path, files: list[tuple[str, int]]) -> Iterator[Task]:
    members: list[str] = []
    size = 0
    for name, length in files:
        members.append(name)
        size += length
        if size >= _BATCH_BYTES or len(members) >= _BATCH_FILES:
            yield Task(root, tuple(members))
            members, size = [], 0
    if members:
        yield Task(root, tuple(members))


def _batched(root: Path, items: Iterator[Item]) -> Iterator[Task]:
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += len(item.data)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield Task(root, items=tuple(batch))
            batch, size = [], 0
    if batch:
        yield Task(root, items=tuple(batch))


def read_items(task: Task) -> Iterator[Item]:
    """The documents of a batch."""
    yield from task.items
    if not task.members:
        return
    if task.root.is_dir():
        for member in task.members:
            yield from _items(member, (task.root / member).read_bytes(), member)
    else:
        with zipfile.ZipFile(task.root) as archive:
            for member in task.members:
                yield from _items(member, archive.read(member), member)


def _items(member: str, data: bytes, place: str) -> Iterator[Item]:
    kind = _kind(member)
    if kind == LINES:
        yield from _line_items(data, place)
    elif kind is not None:
        yield Item(_name(member), kind, data, place)


def _line_items(data: bytes, place: str) -> Iterator[Item]:
    """JSON Lines: one object per document with ``doc`` and ``text``."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            name, text = record["doc"], record["text"]
        except (ValueError, KeyError, TypeError):
            raise InputError.at(
                place, number, 'not a document; expected {"doc": NAME, "text": TEXT}'
            ) from None
        if not isinstance(name, str) or not isinstance(text, str):
            raise InputError.at(place, number, "doc and text are not both strings")
        yield Item(name, TEXT, text.encode("utf-8", "surrogatepass"), f"{place}:{number}")


_ZSTD = b"\x28\xb5\x2f\xfd"


@contextmanager
def _tar(source: Path) -> Iterator[tarfile.TarFile]:
    with source.open("rb") as raw:
        stream: IO[bytes] = raw
        if raw.read(4) == _ZSTD:
            import zstandard

            raw.seek(0)
            stream = zstandard.ZstdDecompressor().stream_reader(raw)
        else:
            raw.seek(0)
        with tarfile.open(fileobj=stream, mode="r|*") as archive:
            yield archive


def _is_tar(source: Path) -> bool:
    try:
        with _tar(source) as archive:
            return archive.next() is not None
    except (tarfile.TarError, OSError, EOFError, ValueError):
        return False


def _tar_items(source: Path) -> Iterator[Item]:
    try:
        with _tar(source) as archive:
            for member in archive:
                if member.isfile() and _kind(member.name):
                    stream = archive.extractfile(member)
                    assert stream is not None
                    yield from _items(member.name.removeprefix("./"), stream.read(), member.name)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputError.at(str(source), None, f"damaged archive: {error}") from None


def is_archive(source: Path) -> bool:
    """Whether documents are members of a zip or tar file."""
    return source.is_file() and (zipfile.is_zipfile(source) or _is_tar(source))


def fingerprint(source: Path) -> str:
    """Tells whether a source is still the one that a build began with."""
    digest = hashlib.blake2b(digest_size=16)
    if source.is_dir():
        for name, size in _files_below(source):
            digest.update(f"{name}\0{size}\0{(source / name).stat().st_mtime_ns}\n".encode())
    else:
        status = source.stat()
        digest.update(f"{source.name}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    return digest.hexdigest()
