"""The index file: a header and flat arrays, memory-mapped; documented in docs/index-format.md.

A file is written completely or not at all. Opening checks the magic, the version, the header's
hash and the file's size, so that a damaged or foreign file is refused at once. An array is hashed
when it is first used, once; `verify` hashes all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import weakref
from collections.abc import Mapping
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from foveal.errors import InputError
from foveal.files.source import is_stream

__all__ = [
    "MAGIC",
    "VERSION",
    "IndexSections",
    "identity",
    "is_index",
    "open_sections",
    "sync_folder",
    "write_sections",
]

MAGIC = b"FOVEALIX"
VERSION = 1
_PREFIX = struct.Struct("<8sII16s")
"""Magic, version, length of the header, hash of the header."""
_ALIGNMENT = 64
_BLOCK = 1 << 20
"""Bytes that are read or hashed at once."""


class IndexSections(dict[str, npt.NDArray[Any]]):
    """The memory-mapped arrays of an index by their names; each is hashed when it is first used.

    Changes in an array would give wrong results that look right, so a damaged one is refused.
    Everything is read from the file that was opened, although another one may have taken its name.

    Attributes
    ----------
    layout : mapping
        Type, offset, size and hash of each section.
    identity : str
        As of the function.
    """

    def __init__(
        self, path: Path, stream: FileIO, start: int, layout: Mapping[str, Any], identity: str
    ) -> None:
        super().__init__()
        self._path = path
        self._stream = stream
        weakref.finalize(self, stream.close)
        self._start = start
        self.layout = layout
        self.identity = identity

    @cached_property
    def _raw(self) -> npt.NDArray[np.uint8]:
        # The map holds the file open itself; with both, half as many indexes could be open.
        with self._stream:
            return np.memmap(self._stream, dtype=np.uint8, mode="r")

    def __missing__(self, name: str) -> npt.NDArray[Any]:
        entry = self.layout[name]
        first = self._start + entry["offset"]
        data = self._raw[first : first + entry["bytes"]]
        if _hash(data.data).hex() != entry["hash"]:
            self._refuse(name)
        # A plain array: memmap's own class takes its time at every slice.
        self[name] = data.view(np.ndarray).view(entry["dtype"])
        return self[name]

    def _refuse(self, name: str) -> NoReturn:
        message = f"the index is damaged: section {name} differs"
        raise InputError.at("index.damaged", str(self._path), None, message)

    def verify(self) -> None:
        """Hash every section, in little memory; raises if one differs."""
        for name, entry in self.layout.items():
            digest = hashlib.blake2b(digest_size=16)
            for first in range(0, entry["bytes"], _BLOCK):
                size = min(entry["bytes"] - first, _BLOCK)
                digest.update(self._read(name, first, size).data)
            if digest.hexdigest() != entry["hash"]:
                self._refuse(name)

    def size(self, name: str) -> int:
        """Return how many numbers a section has."""
        entry = self.layout[name]
        return int(entry["bytes"] // np.dtype(entry["dtype"]).itemsize)

    def read(self, name: str, first: int, after: int) -> npt.NDArray[Any]:
        """Read some numbers of a section as they are on the disk, unchecked.

        Unlike mapped ones they leave the memory when they are no longer used.
        """
        entry = self.layout[name]
        kind = np.dtype(entry["dtype"])
        return self._read(name, first * kind.itemsize, (after - first) * kind.itemsize).view(kind)

    def _read(self, name: str, first: int, size: int) -> npt.NDArray[np.uint8]:
        """Read some bytes of a section; raises if the file has become shorter."""
        first += self._start + self.layout[name]["offset"]
        if self._stream.closed:
            return np.array(self._raw[first : first + size])
        self._stream.seek(first)
        data = np.empty(size, dtype=np.uint8)
        left = data
        while len(left):  # the system reads two gigabytes at most
            read = self._stream.readinto(left.data)
            if not read:
                self._refuse(name)
            left = left[read:]
        return data


def _hash(data: bytes | memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _aligned(size: int) -> int:
    """Return the next multiple of the alignment."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def write_sections(
    path: Path, header: Mapping[str, Any], sections: Mapping[str, Path | Any]
) -> None:
    """Write header and sections; a section is an array, or a pair (file of raw data, dtype)."""
    layout: dict[str, Any] = {}
    offset = 0
    for name, section in sections.items():
        dtype, size = _measure(section)
        layout[name] = {"dtype": dtype, "offset": offset, "bytes": size, "hash": ""}
        offset += _aligned(size)
    temporary = path.with_name(f".{path.name}.new")
    try:
        with temporary.open("wb") as stream:
            head = _header(header, layout)  # its length does not change when hashes are filled in
            start = _aligned(_PREFIX.size + len(head))
            for name, section in sections.items():
                stream.seek(start + layout[name]["offset"])
                layout[name]["hash"] = _copy(section, stream)
            stream.truncate(start + offset)
            head = _header(header, layout)
            stream.seek(0)
            stream.write(_PREFIX.pack(MAGIC, VERSION, len(head), _hash(head)))
            stream.write(head)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Bring the names of files to the disk, where the system can do that."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _header(header: Mapping[str, Any], layout: Mapping[str, Any]) -> bytes:
    padded = {name: {**entry, "hash": entry["hash"] or "0" * 32} for name, entry in layout.items()}
    return json.dumps({**header, "sections": padded}, ensure_ascii=False).encode()


def _measure(section: Any) -> tuple[str, int]:
    if isinstance(section, tuple):
        file, dtype = section
        return dtype, file.stat().st_size
    return section.dtype.newbyteorder("<").str, section.nbytes


def _copy(section: Any, stream: Any) -> str:
    digest = hashlib.blake2b(digest_size=16)
    if isinstance(section, tuple):
        with section[0].open("rb") as source:
            while block := source.read(_BLOCK):
                digest.update(block)
                stream.write(block)
    else:
        data = np.ascontiguousarray(section).tobytes()
        digest.update(data)
        stream.write(data)
    return digest.hexdigest()


def identity(path: Path) -> str:
    """Return the sha256 of the header, which holds the hashes of all sections."""
    with path.open("rb") as stream:
        prefix = stream.read(_PREFIX.size)
        return hashlib.sha256(prefix + stream.read(_PREFIX.unpack(prefix)[2])).hexdigest()


def open_sections(path: Path) -> tuple[dict[str, Any], IndexSections]:
    """Return header and memory-mapped arrays of an index file."""
    if is_stream(path):
        raise InputError.at(
            "file.stream", str(path), None, "is a pipe or a device; expected an index file"
        )
    try:
        stream = path.open("rb", buffering=0)  # nothing older than the disk
        try:
            return _open_sections(path, stream)
        except BaseException:
            stream.close()
            raise
    except IsADirectoryError:
        raise InputError.at(
            "index.directory", str(path), None, "is a directory; expected an index file"
        ) from None
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        code = "file.missing" if isinstance(error, FileNotFoundError) else "file.unreadable"
        raise InputError.at(code, str(path), None, f"cannot be read: {reason}") from None


def _open_sections(path: Path, stream: FileIO) -> tuple[dict[str, Any], IndexSections]:
    prefix = stream.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or not prefix.startswith(MAGIC):
        raise InputError.at("index.format", str(path), None, "is no collection index of Foveal")
    _, version, length, expected = _PREFIX.unpack(prefix)
    if version != VERSION:
        message = f"index of version {version}, expected {VERSION}; build it anew"
        raise InputError.at("index.version", str(path), None, message)
    head = stream.read(length)
    if len(head) < length or _hash(head) != expected:
        raise InputError.at(
            "index.damaged", str(path), None, "the index is damaged: its header is not whole"
        )
    # The first indexes did not say what was passed over.
    header = {"passed_over": [], **json.loads(head)}
    layout = header.pop("sections")
    start = _aligned(_PREFIX.size + length)
    size = os.fstat(stream.fileno()).st_size
    expected_size = start + sum(_aligned(e["bytes"]) for e in layout.values())
    if size != expected_size:
        message = f"the index is damaged: it has {size} bytes, expected {expected_size}"
        raise InputError.at("index.damaged", str(path), None, message)
    found = hashlib.sha256(prefix + head).hexdigest()
    return header, IndexSections(path, stream, start, layout, found)


def is_index(path: Path) -> bool:
    """Return True if a file begins as an index does."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise InputError.at(
            "file.unreadable", str(path), None, f"cannot be read: {error.strerror}"
        ) from None
