"""Writing files completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from foveal.errors import InputError

__all__ = ["write_file"]


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write `content`, leaving an existing file untouched if anything goes wrong."""
    target = Path(path).resolve()  # a link stays, the file it points to is replaced
    data = content.encode() if isinstance(content, str) else content
    if target.is_dir():
        raise InputError.at(str(path), None, "is a directory; expected a file name")
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a pipe or device cannot be replaced
        else:
            _replace(target, data)
    except OSError as error:
        raise InputError.at(str(path), None, f"cannot be written: {error.strerror}") from None


def _replace(target: Path, data: bytes) -> None:
    """Put a complete new file in the place of `target`."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".foveal-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
