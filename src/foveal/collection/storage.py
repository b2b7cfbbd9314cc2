"""The index file: a header and flat arrays, memory-mapped; documented in docs/index-format.md.

Opening checks the magic, the version, the header's hash and the file's size, so that a damaged or
foreign file is refused at once. An array is hashed when it is first used; `verify` hashes all.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from foveal.errors import InputError
from foveal.files.source import explain_os_error, is_stream

MAGIC = b"FOVEALIX"
VERSION = 1
_PREFIX = struct.Struct("<8sII16s")  # magic, version, length of the header, hash of the header
_ALIGNMENT = 64


class IndexSections(dict[str, npt.NDArray[Any]]):
    """The memory-mapped arrays of an index by their names; a damaged one is refused when used.

    Everything is read from the file that was opened, although another one may have taken its name.
    `layout` has type, offset, size and hash of each; `identity` is the sha256 of the header.
    """

    def __init__(
        self, path: Path, data: npt.NDArray[Any], layout: Mapping[str, Any], identity: str
    ) -> None:
        super().__init__()
        self._path, self._data, self.layout, self.identity = path, data, layout, identity

    def __missing__(self, name: str) -> npt.NDArray[Any]:
        entry = self.layout[name]
        data = self._data[entry["offset"] : entry["offset"] + entry["bytes"]]
        if _hash(data) != entry["hash"]:
            message = f"the index is damaged: section {name} differs"
            raise InputError.at("index.damaged", str(self._path), None, message)
        self[name] = data.view(entry["dtype"])
        return self[name]

    def verify(self) -> None:
        """Hash every section; raises if one differs."""
        for name in self.layout:
            self.__missing__(name)


def _hash(data: Any) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _round_up(size: int) -> int:
    """Return the next multiple of the alignment."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def write_sections(
    path: Path, header: Mapping[str, Any], sections: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write a new index file; it is on the disk when the function returns."""
    layout: dict[str, Any] = {}
    offset = 0
    for name, section in sections.items():
        dtype, size = section.dtype.newbyteorder("<").str, section.nbytes
        layout[name] = {"dtype": dtype, "offset": offset, "bytes": size, "hash": _hash(section)}
        offset += _round_up(size)
    head = json.dumps({**header, "sections": layout}, ensure_ascii=False).encode()
    start = _round_up(_PREFIX.size + len(head))
    with path.open("wb") as stream:
        stream.write(_PREFIX.pack(MAGIC, VERSION, len(head), bytes.fromhex(_hash(head))) + head)
        for name, section in sections.items():
            stream.seek(start + layout[name]["offset"])
            stream.write(section.data)
        stream.truncate(start + offset)
        stream.flush()
        os.fsync(stream.fileno())


def open_sections(path: Path) -> tuple[dict[str, Any], IndexSections]:
    """Return header and memory-mapped arrays of an index file."""

    def refuse(code: str, message: str) -> InputError:
        return InputError.at(code, str(path), None, message)

    if is_stream(path):
        raise refuse("file.stream", "is a pipe or a device; expected an index file")
    try:
        with path.open("rb") as stream:
            prefix = stream.read(_PREFIX.size)
            if len(prefix) < _PREFIX.size or not prefix.startswith(MAGIC):
                raise refuse("index.format", "is not a collection index of Foveal")
            _, version, length, expected = _PREFIX.unpack(prefix)
            if version != VERSION:
                message = f"index of version {version}, expected {VERSION}; build it anew"
                raise refuse("index.version", message)
            head = stream.read(length)
            if len(head) < length or bytes.fromhex(_hash(head)) != expected:
                raise refuse("index.damaged", "the index is damaged: its header is not whole")
            header = json.loads(head)
            layout = header.pop("sections")
            start = _round_up(_PREFIX.size + length)
            size = os.fstat(stream.fileno()).st_size
            expected_size = start + sum(_round_up(entry["bytes"]) for entry in layout.values())
            if size != expected_size:
                message = f"the index is damaged: it has {size} bytes, expected {expected_size}"
                raise refuse("index.damaged", message)
            # A plain array: the class of memmap takes its time at every slice.
            data = np.memmap(stream, dtype=np.uint8, mode="r").view(np.ndarray)[start:]
    except OSError as error:
        raise explain_os_error(error, str(path)) from None
    return header, IndexSections(path, data, layout, hashlib.sha256(prefix + head).hexdigest())


def is_index(path: Path) -> bool:
    """Return True if this is a file that begins as an index does."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise explain_os_error(error, str(path)) from None
