"""Files as a stream of decompressed pieces, for those that are too large to be held at once."""

from __future__ import annotations

import bz2
import hashlib
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from foveal.errors import InputError
from foveal.executors.memory import free_memory, parse_size

__all__ = [
    "CHUNK",
    "Stream",
    "codec_of",
    "compression",
    "decompress",
    "given_limit",
    "head_of",
    "limit_bytes",
    "limit_for",
]

CHUNK = 1 << 24
"""Bytes of lines that are looked at together."""

_PIECE = 1 << 18
_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 12
"""Bytes of compressed data that are expanded at once, to 128 MB at most (bzip2: see `_expand`)."""
_EXPANDED = 1 << 24
"""Bytes that bzip2 data are expanded to at once."""
_AT_LEAST = 1 << 30
"""Bytes that any compressed file may grow to: as many as a document of a collection may have."""
_TIMES = 100
"""How many times larger a long file may grow: ten or twenty times is usual."""


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


class _Codec(NamedTuple):
    """A kind of compression."""

    kind: str
    decoder: Callable[[], _Decoder]
    padding: bytes
    """What may fill the room between two compressed parts."""


_CODECS = {
    b"\x1f\x8b": _Codec("gzip", lambda: zlib.decompressobj(wbits=31), b"\x00"),
    b"BZh": _Codec("bzip2", bz2.BZ2Decompressor, b"\x00"),
    b"\xfd7zXZ\x00": _Codec("xz", lzma.LZMADecompressor, b"\x00"),
    b"\x28\xb5\x2f\xfd": _Codec("zstd", _zstd, b""),
}
"""The first bytes of compressed data, and their kind."""

_LIMIT: ContextVar[int | None] = ContextVar("limit_bytes", default=None)


@contextmanager
def limit_bytes(size: int | str | None) -> Iterator[None]:
    """Limit what each compressed file may grow to, as long as the block lasts.

    Parameters
    ----------
    size : int or str, optional
        Bytes, or a size such as ``"2G"``. None leaves the default: 1 GiB or 100 times the size of
        the file, whichever is more, but no more than the free memory for a file that is read at
        once.

    >>> with limit_bytes("2G"):
    ...     given_limit()
    2147483648
    """
    token = _LIMIT.set(_LIMIT.get() if size is None else parse_size(str(size), "limit"))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def given_limit() -> int | None:
    """Return the limit set by `limit_bytes`; None if there is none."""
    return _LIMIT.get()


def limit_for(size: int, *, at_once: bool) -> int:
    """Return what a compressed file of `size` bytes may grow to."""
    given = _LIMIT.get()
    if given is not None:
        return given
    most = max(_AT_LEAST, _TIMES * size)
    return min(most, free_memory()) if at_once else most


def codec_of(start: bytes) -> _Codec | None:
    """Return the kind of compression by the first bytes of a file; None if it has none."""
    return next((codec for magic, codec in _CODECS.items() if start.startswith(magic)), None)


def decompress(raw: Iterable[bytes], name: str, codec: _Codec, limit: int) -> Iterator[bytes]:
    """Decompress a file piece by piece, and refuse it when it grows beyond `limit` bytes."""
    decoder: _Decoder | None = None
    size = lines = 0
    blocks = (piece[at : at + _BLOCK] for piece in raw for at in range(0, len(piece), _BLOCK))
    for block in blocks:
        rest = block
        while rest:
            if decoder is None:
                rest = rest.lstrip(codec.padding) if codec.padding else rest
                if not rest:
                    break
                decoder = codec.decoder()
            for data in _expand(decoder, rest, name, codec):
                size += len(data)
                if size > limit:
                    raise InputError.at(
                        name,
                        None,
                        f"the {codec.kind} data grow to more than {limit} bytes; if they are what "
                        "they should be, allow more with --max-bytes (Python: foveal.limit_bytes)",
                    )
                lines += data.count(b"\n")
                yield data
            rest = b""
            if decoder.eof:
                rest, decoder = decoder.unused_data, None
    if decoder is not None:
        raise InputError.at(
            name, lines + 1, f"the {codec.kind} data break off here; the file is truncated"
        )


def _expand(decoder: _Decoder, data: bytes, name: str, codec: _Codec) -> Iterator[bytes]:
    """Yield what compressed data expand to; bzip2, which can grow a millionfold, in pieces."""
    try:
        if not isinstance(decoder, bz2.BZ2Decompressor):
            yield decoder.decompress(data)
            return
        yield decoder.decompress(data, _EXPANDED)
        while not (decoder.eof or decoder.needs_input):
            yield decoder.decompress(b"", _EXPANDED)
    except MemoryError:
        raise
    except Exception as error:  # each library has its own family of them
        raise InputError.at(name, None, f"damaged {codec.kind} data: {error}") from None


def compression(path: str | Path) -> str | None:
    """The kind of compression by a file's first bytes; None if it is not compressed."""
    with _opened(path) as stream:
        codec = codec_of(stream.read(max(map(len, _CODECS))))
    return None if codec is None else codec.kind


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
