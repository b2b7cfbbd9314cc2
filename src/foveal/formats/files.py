"""Writing files completely or not at all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from foveal.errors import InputError

__all__ = ["write_file", "write_folder"]


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write `content`, leaving an existing file untouched if anything goes wrong.

    ``-`` is standard output.
    """
    data = content.encode() if isinstance(content, str) else content
    if str(path) == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    target = Path(path).resolve()  # a link stays, the file it points to is replaced
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
    """Write files into a folder that is new, empty or holds earlier ones of the same names.

    A new folder appears with all its files or not at all.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InputError.at(str(path), None, "is a file; expected a folder for several files")
    try:
        if not folder.exists():
            _new_folder(folder, files)
            return
        other = sorted(found.name for found in folder.iterdir() if found.name not in files)
    except OSError as error:
        raise InputError.at(str(path), None, f"cannot be written: {error.strerror}") from None
    if other:
        raise InputError.at(
            str(path), None, f"the folder holds {other[0]!r}; expected a new or an empty one"
        )
    for name, content in files.items():
        write_file(folder / name, content)


def _new_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Make a folder beside its place and move it there when it is whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".foveal-"))
    try:
        for name, content in files.items():
            (temporary / name).write_text(content, encoding="utf-8", newline="")
        temporary.chmod(0o777 & ~_umask())
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


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
