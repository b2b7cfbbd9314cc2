"""Input files as bytes: their names, compression, encoding and hash."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Protocol

import numpy as np

from foveal.errors import InputError, UsageError
from foveal.spans import Ints

__all__ = [
    "STDIN",
    "Provenance",
    "Source",
    "decompress",
    "explain_os_error",
    "find_codec",
    "first_lines",
    "given_limit",
    "is_stream",
    "is_xml",
    "limit_bytes",
    "list_files",
    "read_blocks",
    "read_chunks",
    "read_codec",
    "read_head",
]

STDIN = "-"
BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"^[^\S\n]*([^\s#][^\n]*)", re.MULTILINE)
"""A line that is neither blank nor a comment."""
_ARRAY = re.compile(rb"\s*\[\s*[{\]]")
"""The beginning of a JSON array of objects."""
UTF32 = (b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"<\0\0\0", b"\0\0\0<")
"""First bytes of XML in UTF-32."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The file behind a run or a judgement set; data made in Python has no hash."""

    path: str
    sha256: str | None = None

    @property
    def stem(self) -> str:
        """The file's name without its directory, compression and extension.

        >>> Provenance("runs/system.2.run.gz").stem
        'system.2'
        """
        name = PurePath(self.path)
        if name.suffix in (".gz", ".bz2", ".xz", ".zst"):
            name = name.with_suffix("")
        return name.stem or self.path


@dataclass(frozen=True)
class Source:
    """The decompressed bytes of one input, with the name and hash of its file.

    >>> Source.of_text("1 Q0 D1 1 0.5 r 0 20", "a.run").stem
    'a'

    Parameters
    ----------
    path : str
    data : bytes
    sha256 : str, optional
        The hash of the file, if it was asked for.
    thorough : bool
        True if readers shall count unknown fields, which takes longer.
    lines : int64 array, optional
        If the bytes are only a part of a file: the number in the file of each line, ascending.
    given : frozenset of str
        Optional fields that other parts of the file have.
    """

    path: str
    data: bytes
    sha256: str | None
    thorough: bool = False
    lines: Ints | None = None
    given: frozenset[str] = frozenset()

    @classmethod
    def open(cls, path: str | Path, *, thorough: bool = False, hashed: bool = True) -> Source:
        """Read a file, or standard input for ``-``; decompress it by its first bytes."""
        name = "<stdin>" if str(path) == STDIN else str(path)
        try:
            if str(path) != STDIN:
                raw = Path(path).read_bytes()
            elif sys.stdin is None:  # Python sets it to None if it was closed from the start
                raise OSError(errno.EBADF, "closed")
            else:
                raw = sys.stdin.buffer.read()
        except OSError as error:
            raise explain_os_error(error, name) from None
        # A name that is not UTF-8 must not spoil the output that mentions it.
        name = os.fsencode(name).decode(errors="replace")
        digest = hashlib.sha256(raw).hexdigest() if hashed else None
        for magic, codec in CODECS.items():
            if raw.startswith(magic):
                raw = b"".join(decompress([raw], name, codec, _find_limit(len(raw), at_once=True)))
                break
        return cls(name, raw.removeprefix(BOM), digest, thorough)

    @classmethod
    def of_text(cls, text: str, path: str = "<text>", *, thorough: bool = False) -> Source:
        data = text.encode()
        return cls(path, data, hashlib.sha256(data).hexdigest(), thorough)

    @cached_property
    def head(self) -> tuple[int, bytes]:
        """The first line that is neither blank nor a comment, with its number; 0 if none is."""
        first = _LINE.search(self.data)
        if first is None:
            return 0, b""
        return self.data.count(b"\n", 0, first.start(1)) + 1, first[1].rstrip()

    @property
    def stem(self) -> str:
        """The file's name without its directory, compression and extension."""
        return self.provenance.stem

    @property
    def provenance(self) -> Provenance:
        return Provenance(self.path, self.sha256)

    def in_lines(self) -> Source:
        """Return the source with the items of a JSON array one per line; others unchanged.

        An item has the number of the line it begins on. If several begin on one line, the later
        ones have the numbers after it.

        >>> Source.of_text('[{"topic": "1"}, {"topic": "2"}]').in_lines().data.splitlines()
        [b'{"topic": "1"}', b'{"topic": "2"}']
        """
        if not _ARRAY.match(self.data):
            return self
        self.check_utf8()
        text = self.data.decode()
        try:
            number = len(json.loads(text))
        except json.JSONDecodeError as error:
            message = f"not a valid JSON array: {error.msg} in column {error.colno}"
            raise self.error("json.syntax", error.lineno, message) from None
        except (RecursionError, ValueError):
            message = "a JSON array with a value that cannot be read; expected JSON Lines"
            raise self.error("json.syntax", None, message) from None
        decoder, rows = json.JSONDecoder(), list[str]()
        end = text.index("[") + 1
        before = text.count("\n", 0, end)  # lines before the item
        for _ in range(number):
            start = end
            while text[start].isspace() or text[start] == ",":
                before += text[start] == "\n"
                start += 1
            rows += [""] * (before - len(rows))
            end = decoder.raw_decode(text, start)[1]
            rows.append(text[start:end].replace("\r", " ").replace("\n", " "))
            before += text.count("\n", start, end)
        return replace(self, data="\n".join(rows).encode())

    def error(self, code: str, line: int | None, text: str) -> InputError:
        return InputError.at(code, self.path, line, text)

    def numbered(self, lines: Ints) -> Ints:
        """Return the numbers in the file of lines of these bytes, which may be a part of it."""
        return lines if self.lines is None else self.lines[lines - 1]

    def place(self, line: int) -> int:
        """Return the number among the lines of these bytes of a line of the file."""
        return line if self.lines is None else int(np.searchsorted(self.lines, line)) + 1

    def check_utf8(self) -> None:
        """Refuse bytes that are not UTF-8, naming the line."""
        if self.data.isascii():
            return
        try:
            self.data.decode()
        except UnicodeDecodeError as error:
            line = int(self.numbered(np.array(self.data.count(b"\n", 0, error.start) + 1)))
            raise self.error(
                "file.encoding",
                line,
                f"byte 0x{self.data[error.start]:02x} is not valid UTF-8; expected UTF-8 text",
            ) from None


def first_lines(data: bytes, n: int = 1) -> list[tuple[int, bytes]]:
    """Return the first lines that are neither blank nor comments, with their numbers."""
    found: list[tuple[int, bytes]] = []
    at, number = 0, 1
    for line in islice(_LINE.finditer(data), n):
        number += data.count(b"\n", at, line.start(1))
        at = line.start(1)
        found.append((number, line[1].rstrip()))
    return found


def is_xml(source: Source) -> bool:
    """Return True if the file starts as XML does, in any encoding."""
    start = source.data[:1000].lstrip()
    return start.startswith((b"<", b"\xff\xfe", b"\xfe\xff", b"\x00<", *UTF32))


def list_files(
    paths: str | Path | Source | Sequence[str | Path | Source], what: str
) -> list[str | Path | Source]:
    """Return files in their order; a directory or a pattern is replaced by its files, sorted."""
    if isinstance(paths, (str, Path, Source)):
        paths = [paths]
    found: list[str | Path | Source] = []
    for path in paths:
        if isinstance(path, Source):
            found.append(path)
            continue
        place = Path(path)
        try:
            is_folder = place.is_dir()
        except OSError as error:  # a name that is too long
            raise explain_os_error(error, str(path)) from None
        if is_folder:
            inside = sorted(p for p in place.rglob("*") if p.is_file() and p.name[0] != ".")
            if not inside:
                raise InputError.at(
                    "file.empty_directory", str(path), None, "the directory holds no file"
                )
            found += inside
        elif set("*?[") & set(str(path)) and not place.exists():
            root = Path(place.anchor)
            fitting = sorted(p for p in root.glob(str(place.relative_to(root))) if p.is_file())
            if not fitting:
                raise InputError.at("file.missing", str(path), None, "no file fits this pattern")
            found += fitting
        else:
            found.append(path)
    if not found:
        raise UsageError(f"no {what} given")
    return found


def is_stream(path: str | Path) -> bool:
    """Return True for a file that can be read only once: standard input, a pipe, a device.

    >>> is_stream("-"), is_stream("no such file")
    (True, False)
    """
    if str(path) == STDIN:
        return True
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):  # reported when it is read
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def explain_os_error(error: OSError, name: str) -> InputError:
    """Return the error of a file that cannot be opened or read."""
    code, message = "file.unreadable", f"cannot be read: {error.strerror}"
    if isinstance(error, FileNotFoundError):
        code, message = "file.missing", "no such file"
    elif isinstance(error, IsADirectoryError):
        code, message = "file.is_directory", "is a directory; expected a file"
    elif name == "<stdin>" and error.errno == errno.EBADF:
        message = "cannot be read: it is closed"
    return InputError.at(code, name, None, message)


# -- files that are too large to be held at once ---------------------------------------------------

_PIECE = 1 << 18


def read_blocks(path: str | Path, digest: Any = None) -> Iterator[bytes]:
    """Yield the content of a file, decompressed and without a byte order mark, in blocks.

    Parameters
    ----------
    path : path
    digest : hash object of `hashlib`, optional
        It is updated with the bytes of the file as they are on the disk.
    """
    name = os.fsencode(str(path)).decode(errors="replace")

    def read() -> Iterator[bytes]:
        try:
            while raw := stream.read(_PIECE):
                if digest is not None:
                    digest.update(raw)
                yield raw
        except OSError as error:
            raise explain_os_error(error, name) from None

    with _open(path) as stream:
        blocks, limit = read(), _find_limit(os.fstat(stream.fileno()).st_size, at_once=False)
        start = next(blocks, b"")
        blocks, codec = chain([start], blocks), find_codec(start)
        if codec is not None:
            blocks, start = decompress(blocks, name, codec, limit), b""
            while len(start) < len(BOM) and (block := next(blocks, b"")):
                start += block
            blocks = chain([start], blocks)
        yield next(blocks).removeprefix(BOM)
        yield from blocks


def read_chunks(path: str | Path, size: int, digest: Any = None) -> Iterator[bytes]:
    """Yield the content of a file in chunks of whole lines; the last line may lack its end."""
    rest = bytearray()
    for block in read_blocks(path, digest):
        rest += block
        if len(rest) < size:
            continue
        end = rest.rfind(b"\n") + 1
        if end:
            yield bytes(rest[:end])
            del rest[:end]
    if rest:
        yield bytes(rest)


def read_head(path: str | Path, size: int) -> bytes:
    """Return the first bytes of the content: whole lines, unless a single one is longer."""
    found = bytearray()
    for block in read_blocks(path):
        found += block
        if len(found) >= size:
            return bytes(found[: found.rfind(b"\n", 0, size) + 1 or size])
    return bytes(found)


def _open(path: str | Path) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise explain_os_error(error, str(path)) from None


# -- compression -----------------------------------------------------------------------------------

_BLOCK = 1 << 12
"""Bytes of compressed data that are expanded at once, to 128 MB at most (bzip2: see `_expand`)."""
_EXPANDED = 1 << 24
"""Bytes that bzip2 data are expanded to at once."""
_AT_LEAST = 1 << 30
"""Bytes that any compressed file may grow to: as many as a document of a collection may have."""
_TIMES = 100
"""Allowed growth of a long file, as a factor: ten or twenty is usual."""


CODECS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""The first bytes of compressed data, and the kind of compression."""


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _new_decoder(codec: str) -> _Decoder:
    decoder: _Decoder
    if codec == "gzip":
        import zlib

        decoder = zlib.decompressobj(wbits=31)
    elif codec == "bzip2":
        import bz2

        decoder = bz2.BZ2Decompressor()
    elif codec == "xz":
        import lzma

        decoder = lzma.LZMADecompressor()
    else:
        import zstandard

        decoder = zstandard.ZstdDecompressor().decompressobj()
    return decoder


_LIMIT: ContextVar[int | None] = ContextVar("limit_bytes", default=None)
given_limit = _LIMIT.get
"""Return the limit set by `limit_bytes`; None if there is none."""


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
    from foveal.files.memory import parse_size

    token = _LIMIT.set(_LIMIT.get() if size is None else parse_size(str(size), "limit"))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def _find_limit(size: int, *, at_once: bool) -> int:
    """Return the bytes that a compressed file of `size` bytes may grow to."""
    given = given_limit()
    if given is not None:
        return given
    most = max(_AT_LEAST, _TIMES * size)
    if not at_once:
        return most
    from foveal.files.memory import free_memory

    return min(most, free_memory())


def find_codec(start: bytes) -> str | None:
    """Return the kind of compression by the first bytes of a file; None if it has none.

    >>> find_codec(b"BZh91AY"), find_codec(b"1 Q0 ")
    ('bzip2', None)
    """
    return next((codec for magic, codec in CODECS.items() if start.startswith(magic)), None)


def read_codec(path: str | Path) -> str | None:
    """Return the kind of compression of a file; None if it has none."""
    with _open(path) as stream:
        return find_codec(stream.read(max(map(len, CODECS))))


def decompress(
    raw: Iterable[bytes], name: str, codec: str, limit: int | None = None
) -> Iterator[bytes]:
    """Decompress blocks of a file one by one; refuse a file that grows beyond `limit` bytes."""
    decoder: _Decoder | None = None
    size = lines = 0
    blocks = (piece[at : at + _BLOCK] for piece in raw for at in range(0, len(piece), _BLOCK))
    for block in blocks:
        rest = block
        while rest:
            if decoder is None:
                # Zeros may fill the gap between two compressed parts.
                rest = rest if codec == "zstd" else rest.lstrip(b"\x00")
                if not rest:
                    break
                decoder = _new_decoder(codec)
            for data in _expand(decoder, rest, name, codec):
                size += len(data)
                if limit is not None and size > limit:
                    raise InputError.at(
                        "file.limit",
                        name,
                        None,
                        f"the {codec} data grow to more than {limit} bytes; if they are what "
                        "they should be, allow more with --max-bytes (Python: foveal.limit_bytes)",
                    )
                lines += data.count(b"\n")
                yield data
            rest = b""
            if decoder.eof:
                rest, decoder = decoder.unused_data, None
    if decoder is not None:
        raise InputError.at(
            "file.compression",
            name,
            lines + 1,
            f"the {codec} data break off here; the file is truncated",
        )


def _expand(decoder: _Decoder, data: bytes, name: str, codec: str) -> Iterator[bytes]:
    """Yield the expansion of compressed data; of bzip2, which can grow a millionfold, in pieces."""
    try:
        if codec != "bzip2":
            yield decoder.decompress(data)
            return
        bounded: Any = decoder  # only this decoder takes the size of its output
        yield bounded.decompress(data, _EXPANDED)
        while not (bounded.eof or bounded.needs_input):
            yield bounded.decompress(b"", _EXPANDED)
    except MemoryError:
        raise
    except Exception as error:  # each library has its own exceptions
        text = f"damaged {codec} data: {error}"
        raise InputError.at("file.compression", name, None, text) from None
