"""Writing files completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from foveal.errors import InputError

__all__ = ["write_file", "write_folder"]


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


def write_folder(path: str | Path, files: Mapping[str, str]) -> None:
    """Write files into a folder that is new, empty or holds earlier ones of the same names."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError.at(str(path), None, "is a file; expected a folder for several files")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        other = sorted(found.name for found in folder.iterdir() if found.name not in files)
    except OSError as error:
        raise InputError.at(str(path), None, f"cannot be written: {error.strerror}") from None
    if other:
        raise InputError.at(
            str(path), None, f"the folder holds {other[0]!r}; expected a new or an empty one"
        )
    for name, content in files.items():
        write_file(folder / name, content)


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
