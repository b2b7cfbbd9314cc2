"""Input files as bytes: their names, compression, encoding and hash."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import chain
from math import inf
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from foveal.errors import InputError, Problem, UsageError
from foveal.files.memory import free_memory, parse_size
from foveal.spans import Ints

STDIN = "-"
BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"^[^\S\n]*([^\s#][^\n]*)", re.MULTILINE)  # neither blank nor a comment
_ARRAY = re.compile(rb"\s*\[\s*[{\]]")  # the beginning of a JSON array of objects
# The beginning of XML, also in UTF-16 and UTF-32.
_XML = re.compile(rb"(?:\xff\xfe|\0*\xfe\xff)?[\0\s]*<")
# The beginning of text in UTF-16, with a byte order mark or with two ASCII characters.
_UTF16 = re.compile(rb"\xff\xfe|\xfe\xff|(?:\0[\s -~]){2}|(?:[\s -~]\0){2}")
_METADATA = re.compile(rb"(?ms)^#\s*ir_metadata\.start\s*\n(.*?)^#\s*ir_metadata\.end")


@dataclass(frozen=True, slots=True)
class Provenance:
    """The file behind a run or a judgement set; data made in Python has no hash.

    `metadata` is the text of an `ir_metadata <https://www.ir-metadata.org>`_ header, which is YAML.
    """

    path: str
    sha256: str | None = None
    metadata: str | None = None

    @property
    def stem(self) -> str:
        """The file's name without its directory, compression and extension."""
        name = PurePath(self.path)
        if name.suffix in (".gz", ".bz2", ".xz", ".zst"):
            name = name.with_suffix("")
        return name.stem or self.path


@dataclass(frozen=True)
class Source:
    """The decompressed bytes of one input, with the name and hash of its file."""

    path: str
    data: bytes
    sha256: str | None  # the hash of the file, if requested
    thorough: bool = False  # readers shall count unknown fields, which takes longer
    # If the bytes are only a part of a file: the number in the file of each line, ascending, and
    # optional fields that other parts have.
    lines: Ints | None = None
    given: frozenset[str] = frozenset()

    @classmethod
    def open(cls, path: str | Path, *, thorough: bool = False, hashed: bool = True) -> Source:
        """Read a file, or standard input for ``-``; decompress it by its first bytes."""
        digest = hashlib.sha256() if hashed else None
        data = b"".join(read_blocks(path, digest, at_once=True))
        return cls(show_name(path), data, digest.hexdigest() if digest else None, thorough)

    @classmethod
    def of(cls, given: str | Path | Source, **options: bool) -> Source:
        """Return a source unchanged; open a path with these options."""
        return given if isinstance(given, Source) else cls.open(given, **options)

    @classmethod
    def of_text(cls, text: str, path: str = "<text>", *, thorough: bool = False) -> Source:
        data = text.encode()
        return cls(path, data, hashlib.sha256(data).hexdigest(), thorough)

    @cached_property
    def head(self) -> tuple[int, bytes]:
        """The first line that is neither blank nor a comment, with its number; 0 if none is."""
        line = _LINE.search(self.data)
        if line is None:
            return 0, b""
        return self.data.count(b"\n", 0, line.start(1)) + 1, line[1].rstrip()

    @property
    def stem(self) -> str:
        """The file's name without its directory, compression and extension."""
        return self.provenance.stem

    @cached_property
    def provenance(self) -> Provenance:
        """The file, and its ir_metadata if comments before the first line hold some."""
        found = None
        if self.data.startswith(b"#"):
            first = _LINE.search(self.data)
            found = _METADATA.search(self.data, 0, first.start() if first else len(self.data))
        text = re.sub(rb"(?m)^# ?", b"", found[1]).decode(errors="replace") if found else None
        return Provenance(self.path, self.sha256, text)

    def in_lines(self) -> Source:
        """Return the source with the items of a JSON array one per line; others unchanged.

        An item has the number of the line it begins on, or the next free one.
        """
        if not _ARRAY.match(self.data):
            return self
        import msgspec

        try:
            items = msgspec.json.decode(self.data, type=list[msgspec.Raw])
        except (msgspec.DecodeError, RecursionError):
            text = "not a valid JSON array; expected JSON Lines, one object per line"
            raise self.error("json.syntax", None, text) from None
        rows, end, before = list[bytes](), 0, 0  # the lines before the item
        for item in map(bytes, items):
            start = self.data.index(item, end)
            before += self.data.count(b"\n", end, start)
            rows += [b""] * (before - len(rows))
            rows.append(item.replace(b"\r", b" ").replace(b"\n", b" "))
            before += item.count(b"\n")
            end = start + len(item)
        return replace(self, data=b"\n".join(rows))

    def error(self, code: str, line: int | None, text: str) -> InputError:
        return InputError.at(code, self.path, line, text)

    def number(self, line: int) -> int:
        """Return the number in the file of a line of these bytes, which may be a part of it."""
        return line if self.lines is None else int(self.lines[line - 1])

    def place(self, line: int) -> int:
        """Return the number among the lines of these bytes of a line of the file."""
        return line if self.lines is None else int(np.searchsorted(self.lines, line)) + 1

    def drop_undecodable(self) -> tuple[Source, tuple[Problem, ...]]:
        """Return the source with lines that are not UTF-8 left blank, and a problem for each."""
        try:
            if not self.data.isascii():
                self.data.decode()
            return self, ()
        except UnicodeDecodeError:
            lines, problems = self.data.split(b"\n"), list[Problem]()
        for at, line in enumerate(lines):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                text = f"byte 0x{line[error.start]:02x} is not valid UTF-8; expected UTF-8 text"
                problems.append(Problem("file.encoding", self.path, self.number(at + 1), text))
                lines[at] = b""
        return replace(self, data=b"\n".join(lines)), tuple(problems)

    def check_utf8(self) -> None:
        """Refuse lines that are not UTF-8."""
        if problems := self.drop_undecodable()[1]:
            raise InputError(problems)


def first_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are neither blank nor comments, with their numbers."""
    at, number = 0, 1
    for line in _LINE.finditer(data):
        number += data.count(b"\n", at, line.start(1))
        at = line.start(1)
        yield number, line[1].rstrip()


def is_xml(source: Source) -> bool:
    """Return True if the file starts as XML does, in any encoding."""
    return _XML.match(source.data) is not None


# -- names -----------------------------------------------------------------------------------------


def list_files(
    paths: str | Path | Source | Sequence[str | Path | Source], what: str
) -> list[str | Path | Source]:
    """Return files in their order; a directory or a pattern is replaced by its files, sorted."""
    found: list[str | Path | Source] = []
    for path in [paths] if isinstance(paths, (str, Path, Source)) else paths:
        if isinstance(path, Source):
            found.append(path)
            continue
        place = Path(path)
        inside: Iterable[Path] | None = None
        try:
            if place.is_dir():
                inside = (p for p in place.rglob("*") if p.name[0] != ".")
                code, message = "file.empty_directory", "the directory holds no file"
            elif set("*?[") & set(str(path)) and not place.exists():
                inside = Path(place.anchor).glob(str(place.relative_to(place.anchor)))
                code, message = "file.missing", "no file fits this pattern"
            files = [path] if inside is None else sorted(p for p in inside if p.is_file())
        except OSError as error:  # a name that is too long
            raise explain_os_error(error, str(path)) from None
        if not files:
            raise InputError.at(code, str(path), None, message)
        found += files
    if not found:
        raise UsageError(f"no {what} given")
    return found


def is_stream(path: str | Path) -> bool:
    """Return True for a file that can be read only once: standard input, a pipe, a device."""
    try:
        mode = stat.S_IFIFO if str(path) == STDIN else Path(path).stat().st_mode
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
    return InputError.at(code, name, None, message)


# -- reading ---------------------------------------------------------------------------------------


def show_name(path: str | Path) -> str:
    """Return the name of a file for messages; one that is not text has replacement characters."""
    return "<stdin>" if str(path) == STDIN else os.fsencode(path).decode(errors="replace")


def read_blocks(path: str | Path, digest: Any = None, *, at_once: bool = False) -> Iterator[bytes]:
    """Yield the content of a file, decompressed and without a byte order mark, in blocks.

    `digest`, a hash object of `hashlib`, is updated with the bytes as they are on the disk. A file
    that is read `at_once` must fit into memory.
    """
    name = show_name(path)
    blocks = _read_raw(path, name, -1 if at_once else 1 << 18, digest)
    start = next(blocks, b"")
    codec, limit = find_codec(start), given_limit()
    if codec is not None:
        if limit is None:
            size = len(start) if at_once else Path(path).stat().st_size
            limit = max(_AT_LEAST, _TIMES * size)
            limit = min(limit, free_memory()) if at_once else limit
        blocks, start = decompress(chain([start], blocks), name, codec, limit), b""
        while len(start) < len(BOM) and (block := next(blocks, b"")):
            start += block
    if _UTF16.match(start) and not _XML.match(start):
        raise InputError.at("file.encoding", name, None, "the file is UTF-16; expected UTF-8 text")
    yield start.removeprefix(BOM)
    yield from blocks


def _read_raw(path: str | Path, name: str, size: int, digest: Any = None) -> Iterator[bytes]:
    """Yield the bytes of a file or of standard input as they are; `size` -1 is all at once."""
    try:
        if str(path) == STDIN and sys.stdin is None:  # it was closed from the start
            raise OSError(errno.EBADF, "it is closed")
        with nullcontext(sys.stdin.buffer) if str(path) == STDIN else Path(path).open("rb") as file:
            while raw := file.read(size):
                if digest is not None:
                    digest.update(raw)
                yield raw
    except OSError as error:
        raise explain_os_error(error, name) from None


def read_chunks(path: str | Path, size: int, digest: Any = None) -> Iterator[bytes]:
    """Yield the content of a file in chunks of whole lines; the last line may lack its end."""
    rest = bytearray()
    for block in read_blocks(path, digest):
        rest += block
        end = rest.rfind(b"\n") + 1 if len(rest) >= size else 0
        if end:
            yield bytes(rest[:end])
            del rest[:end]
    if rest:
        yield bytes(rest)


def read_head(path: str | Path, size: int) -> bytes:
    """Return the first bytes of the content in whole lines, at least so many if it has them."""
    return next(read_chunks(path, size), b"")


# -- compression -----------------------------------------------------------------------------------

# The first bytes of compressed data, and its codec.
CODECS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_DECODERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: import_module("zlib").decompressobj(wbits=31),
    "bzip2": lambda: import_module("bz2").BZ2Decompressor(),
    "xz": lambda: import_module("lzma").LZMADecompressor(),
    "zstd": lambda: import_module("zstandard").ZstdDecompressor().decompressobj(),
}
# Bytes of compressed data that are expanded at once, to 128 MB at most; bzip2 can grow a
# millionfold, so that it and xz are expanded piece by piece.
_BLOCK, _EXPANDED = 1 << 12, 1 << 24
# Any compressed file may grow to as many bytes as a document of a collection may have, a long file
# to so many times its size; ten or twenty times is usual.
_AT_LEAST, _TIMES = 1 << 30, 100

_LIMIT: ContextVar[int | None] = ContextVar("limit_bytes", default=None)
given_limit = _LIMIT.get  # returns the limit set by `limit_bytes`; None if there is none


@contextmanager
def limit_bytes(size: int | str | None) -> Iterator[None]:
    """Limit what each compressed file may grow to, in bytes or as ``"2G"``, within the block.

    None leaves the default: 1 GiB or 100 times the size of the file, whichever is more, but no more
    than the free memory for a file that is read at once.

    >>> with limit_bytes("2G"):
    ...     given_limit()
    2147483648
    """
    token = _LIMIT.set(_LIMIT.get() if size is None else parse_size(str(size), "limit"))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def find_codec(start: bytes) -> str | None:
    """Return the kind of compression by the first bytes of a file; None if it has none."""
    return next((codec for magic, codec in CODECS.items() if start.startswith(magic)), None)


def read_codec(path: str | Path) -> str | None:
    """Return the kind of compression of a file; None if it has none."""
    return find_codec(next(_read_raw(path, str(path), max(map(len, CODECS))), b""))


def decompress(raw: Iterable[bytes], name: str, codec: str, limit: float = inf) -> Iterator[bytes]:
    """Decompress blocks of a file one by one; refuse a file that grows beyond `limit` bytes."""
    decoder: Any = None
    size = lines = 0
    most = (_EXPANDED,) if codec in ("bzip2", "xz") else ()
    for block in (piece[at : at + _BLOCK] for piece in raw for at in range(0, len(piece), _BLOCK)):
        rest = block
        while rest or not getattr(decoder, "needs_input", True):
            if decoder is None:
                # Zeros may fill the gap between two compressed parts.
                rest = rest if codec == "zstd" else rest.lstrip(b"\x00")
                if not rest:
                    break
                decoder = _DECODERS[codec]()
            try:
                data = decoder.decompress(rest, *most)
            except MemoryError:
                raise
            except Exception as error:  # each library has its own exceptions
                text = f"damaged {codec} data: {error}"
                raise InputError.at("file.compression", name, None, text) from None
            size += len(data)
            lines += data.count(b"\n")
            if size > limit:
                text = f"the {codec} data grow to more than {limit} bytes; allow more with "
                text += "--max-bytes (Python: foveal.limit_bytes)"
                raise InputError.at("file.limit", name, None, text)
            yield data
            rest, decoder = (decoder.unused_data, None) if decoder.eof else (b"", decoder)
    if decoder is not None:
        text = f"the {codec} data end too early; the file is truncated"
        raise InputError.at("file.compression", name, lines + 1, text)
