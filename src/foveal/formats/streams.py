"""Files as a stream of decompressed pieces, for those that are too large to be held at once."""

from __future__ import annotations

import bz2
import hashlib
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from foveal.errors import InputError

__all__ = ["CHUNK", "Stream", "compression", "head_of"]

CHUNK = 1 << 24
"""Bytes of lines that are looked at together."""

_PIECE = 1 << 18
_BOM = b"\xef\xbb\xbf"


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd() -> _Decoder:
    import zstandard

    decoder: _Decoder = zstandard.ZstdDecompressor().decompressobj()
    return decoder


_CODECS: dict[bytes, tuple[str, Callable[[], _Decoder], bytes]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=31), b"\x00"),
    b"BZh": ("bzip2", bz2.BZ2Decompressor, b"\x00"),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMADecompressor, b"\x00"),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd, b""),
}
"""How compressed data begin: their kind, what decodes them, padding allowed between their parts."""


def compression(path: str | Path) -> str | None:
    """The kind of compression by a file's first bytes; None if it is not compressed."""
    with _opened(path) as stream:
        start = stream.read(max(map(len, _CODECS)))
    return next((kind for magic, (kind, *_) in _CODECS.items() if start.startswith(magic)), None)


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
            raw = self._read(stream)
            known = (codec for magic, codec in _CODECS.items() if raw.startswith(magic))
            codec = next(known, None)
            if codec is None:
                while raw:
                    yield raw
                    raw = self._read(stream)
                return
            yield from self._decompressed(stream, raw, *codec)

    def _decompressed(
        self,
        stream: BinaryIO,
        raw: bytes,
        kind: str,
        decoder_of: Callable[[], _Decoder],
        padding: bytes,
    ) -> Iterator[bytes]:
        decoder: _Decoder | None = None
        lines = 0
        while raw:
            if decoder is None:
                raw = raw.lstrip(padding) if padding else raw
                decoder = decoder_of() if raw else None
            if decoder is not None:
                try:
                    piece = decoder.decompress(raw)
                except Exception as error:  # each library has its own family of them
                    raise InputError.at(self.name, None, f"damaged {kind} data: {error}") from None
                lines += piece.count(b"\n")
                yield piece
                if decoder.eof:
                    raw, decoder = decoder.unused_data, None
                    if raw:
                        continue
            raw = self._read(stream)
        if decoder is not None:
            raise InputError.at(
                self.name, lines + 1, f"the {kind} data break off here; the file is truncated"
            )

    def _read(self, stream: BinaryIO) -> bytes:
        try:
            raw = stream.read(_PIECE)
        except OSError as error:
            raise InputError.at(self.name, None, f"cannot be read: {error.strerror}") from None
        self._digest.update(raw)
        return raw


def _opened(path: str | Path) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except FileNotFoundError:
        raise InputError.at(str(path), None, "no such file") from None
    except IsADirectoryError:
        raise InputError.at(str(path), None, "is a directory; expected a file") from None
    except OSError as error:
        raise InputError.at(str(path), None, f"cannot be read: {error.strerror}") from None
