"""Files as bytes: where they are, how they are compressed, what their hash is."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from foveal.errors import InputError
from foveal.formats.streams import codec_of, decompress, limit_for
from foveal.model import Provenance
from foveal.spans import Ints

__all__ = ["STDIN", "Source", "Whole", "is_stream"]

STDIN = "-"
_ARRAY = re.compile(rb"\s*\[\s*[{\]]")
"""The beginning of a JSON array of objects."""


@dataclass(frozen=True)
class Whole:
    """What only the whole file tells about a slice of it.

    Parameters
    ----------
    line : int64 array
        The line of the file that each line of the slice is.
    given : frozenset of str
        Optional fields that any result of the file has.
    ragged : frozenset of str
        Those of them that some results lack.
    """

    line: Ints
    given: frozenset[str] = frozenset()
    ragged: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Source:
    """The decompressed bytes of one input, with the name and hash of what was read.

    >>> Source.of_text("1 Q0 D1 1 0.5 r 0 20", "a.run").stem
    'a'

    Parameters
    ----------
    path : str
    data : bytes
    sha256 : str, optional
        Where it was asked for.
    thorough : bool
        Whether readers shall count fields that they do not know, which takes them longer.
    whole : Whole, optional
        Where the bytes are a slice of a file: what is known of the whole.
    """

    path: str
    data: bytes
    sha256: str | None
    thorough: bool = False
    whole: Whole | None = None

    @classmethod
    def open(cls, path: str | Path, *, thorough: bool = False, hashed: bool = True) -> Source:
        """Read a file, or standard input for ``-``."""
        name = str(path)
        if name == STDIN:
            raw, name = _read_stdin(), "<stdin>"
        else:
            raw = _read(Path(path))
        # A name that is not UTF-8 must not spoil the output that mentions it.
        name = os.fsencode(name).decode(errors="replace")
        digest = hashlib.sha256(raw).hexdigest() if hashed else None
        return cls(name, _decompressed(raw, name), digest, thorough)

    @classmethod
    def of_text(cls, text: str, path: str = "<text>", *, thorough: bool = False) -> Source:
        data = text.encode()
        return cls(path, data, hashlib.sha256(data).hexdigest(), thorough)

    @property
    def stem(self) -> str:
        """The file's name without its directory, compression and extension."""
        return self.provenance.stem

    @property
    def provenance(self) -> Provenance:
        return Provenance(self.path, self.sha256)

    def in_lines(self) -> Source:
        """Return the source with the items of a JSON array one per line; others as they are.

        An item has the number of the line it begins on. Of several on one line the later ones
        have the numbers after it.

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
            raise self.error(error.lineno, message) from None
        except (RecursionError, ValueError):
            message = "a JSON array with a value that cannot be read; expected JSON Lines"
            raise self.error(None, message) from None
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

    def error(self, line: int | None, message: str) -> InputError:
        return InputError.at(self.path, line, message)

    def numbered(self, lines: Ints) -> Ints:
        """The lines of the file for numbers of lines of these bytes, which may be a slice."""
        return lines if self.whole is None else self.whole.line[lines - 1]

    def place(self, line: int) -> int:
        """The number among the lines of these bytes of a line of the file."""
        if self.whole is None:
            return line
        return int(np.searchsorted(self.whole.line, line)) + 1

    def check_utf8(self) -> None:
        """Refuse bytes that are not UTF-8, naming the line."""
        if self.data.isascii():
            return
        try:
            self.data.decode()
        except UnicodeDecodeError as error:
            line = int(self.numbered(np.array(self.data.count(b"\n", 0, error.start) + 1)))
            raise self.error(
                line, f"byte 0x{self.data[error.start]:02x} is not valid UTF-8; expected UTF-8 text"
            ) from None


def is_stream(path: str | Path) -> bool:
    """Whether a file can be read only once, and by nobody else: standard input, a pipe, a device.

    >>> is_stream("-"), is_stream("no such file")
    (True, False)
    """
    if str(path) == STDIN:
        return True
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):  # said when it is read
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _read_stdin() -> bytes:
    try:
        if sys.stdin is None:  # as Python has it if it was closed from the start
            raise OSError(errno.EBADF, "closed")
        return sys.stdin.buffer.read()
    except OSError as error:
        reason = "it is closed" if error.errno == errno.EBADF else error.strerror
        raise InputError.at("<stdin>", None, f"cannot be read: {reason}") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError.at(str(path), None, "no such file") from None
    except IsADirectoryError:
        raise InputError.at(str(path), None, "is a directory; expected a file") from None
    except OSError as error:
        raise InputError.at(str(path), None, f"cannot be read: {error.strerror}") from None


def _decompressed(raw: bytes, name: str) -> bytes:
    """The content, whatever the extension says: compression shows in the first bytes."""
    codec = codec_of(raw)
    if codec is not None:
        limit = limit_for(len(raw), at_once=True)
        raw = b"".join(decompress([raw], name, codec, limit))
    return raw.removeprefix(b"\xef\xbb\xbf")
