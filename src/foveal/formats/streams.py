"""Files as a stream of decompressed pieces, for those that are too large to be held at once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from foveal.formats.source import (
    CODECS,
    codec_of,
    decompress,
    explain_os_error,
    given_limit,
    limit_bytes,
    limit_for,
)

__all__ = ["CHUNK", "Stream", "compression", "given_limit", "head_of", "limit_bytes"]

CHUNK = 1 << 24
"""Bytes of lines that are looked at together."""

_PIECE = 1 << 18
_BOM = b"\xef\xbb\xbf"


def compression(path: str | Path) -> str | None:
    """The kind of compression by a file's first bytes; None if it is not compressed."""
    with _opened(path) as stream:
        return codec_of(stream.read(max(map(len, CODECS))))


def head_of(path: str | Path, size: int = CHUNK) -> bytes:
    """The first bytes of the content, decompressed; whole lines, but for a single longer one."""
    found = bytearray()
    for piece in Stream(path).pieces():
        found += piece
        if len(found) >= size:
            return bytes(found[: found.rfind(b"\n", 0, size) + 1 or size])
    return bytes(found)


class Stream:
    """One pass over a file, which also finds its hash.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: str | Path) -> None:
        self.name = os.fsencode(str(path)).decode(errors="replace")
        self._path = path
        self._digest = hashlib.sha256()
        self.shift = 0
        """Bytes before the first line: a byte order mark."""

    @property
    def sha256(self) -> str:
        """The hash of the bytes of the file, once all have passed."""
        return self._digest.hexdigest()

    def pieces(self) -> Iterator[bytes]:
        """The content without a byte order mark, in pieces as they come."""
        start = b""
        at_start = True
        for piece in self._decoded():
            if not at_start:
                yield piece
                continue
            start += piece
            if len(start) < len(_BOM):
                continue
            at_start = False
            self.shift = len(_BOM) if start.startswith(_BOM) else 0
            yield start[self.shift :]
        if at_start and start:
            yield start

    def chunks(self, size: int) -> Iterator[bytes]:
        """The content in chunks of whole lines; the last line may lack its end."""
        rest = bytearray()
        for piece in self.pieces():
            rest += piece
            if len(rest) < size:
                continue
            end = rest.rfind(b"\n") + 1
            if end:
                yield bytes(rest[:end])
                del rest[:end]
        if rest:
            yield bytes(rest)

    def _decoded(self) -> Iterator[bytes]:
        with _opened(self._path) as stream:
            size = os.fstat(stream.fileno()).st_size
            start = self._read(stream)
            raw = chain([start], iter(lambda: self._read(stream), b""))
            codec = codec_of(start)
            if codec is None:
                yield from raw
            else:
                yield from decompress(raw, self.name, codec, limit_for(size, at_once=False))

    def _read(self, stream: BinaryIO) -> bytes:
        try:
            raw = stream.read(_PIECE)
        except OSError as error:
            raise explain_os_error(error, self.name) from None
        self._digest.update(raw)
        return raw


def _opened(path: str | Path) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise explain_os_error(error, str(path)) from None
