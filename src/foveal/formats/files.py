"""Writing files completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from foveal.errors import InputError

__all__ = ["write_file"]


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write `content`, leaving an existing file untouched if anything goes wrong."""
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    if target.is_dir():
        raise InputError.at(str(path), None, "is a directory; expected a file name")
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError.at(str(path), None, f"cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    except OSError as error:
        raise InputError.at(str(path), None, f"cannot be written: {error.strerror}") from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
