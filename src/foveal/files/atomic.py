"""Write files and folders completely or not at all."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from foveal.errors import InputError, escape_controls


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write `content`, leaving an existing file untouched if anything goes wrong.

    ``-`` is standard output.
    """
    write_files({path: content})


def write_files(files: Mapping[str | Path, str | bytes]) -> None:
    """Write several files, all of them or none; standard output, pipes and devices come last."""
    ready: list[tuple[Path, Path, str | Path]] = []
    streams: list[tuple[str | Path, bytes]] = []
    try:
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            with _explain_failure(path):
                target = Path(os.path.realpath(path))  # of a link, the file that it points to
                if target.is_symlink():
                    text = "is a loop of links; expected a file name"
                    raise InputError.at("file.unwritable", str(path), None, text)
                if str(path) != "-" and target.is_dir():
                    text = "is a directory; expected a file name"
                    raise InputError.at("file.is_directory", str(path), None, text)
                if str(path) == "-" or (target.exists() and not target.is_file()):
                    streams.append((path, data))  # it cannot be replaced
                    continue
                temporary = target.parent / f".foveal-{secrets.token_hex(8)}"
                with temporary.open("xb") as stream:
                    ready.append((temporary, target, path))
                    if target.exists():
                        temporary.chmod(target.stat().st_mode)
                    stream.write(data)
                    stream.flush()
                    os.fsync(stream.fileno())
        for temporary, target, path in ready:
            with _explain_failure(path):
                temporary.replace(target)
    finally:
        for temporary, *_ in ready:
            temporary.unlink(missing_ok=True)
    for path, data in streams:
        if str(path) == "-":
            sys.stdout.flush()
            sys.stdout.buffer.write(_terminal_safe(data) if sys.stdout.isatty() else data)
            continue
        with _explain_failure(path), Path(path).open("wb") as stream:
            stream.write(_terminal_safe(data) if stream.isatty() else data)


def _terminal_safe(data: bytes) -> bytes:
    """Escape control characters of data that a terminal shows."""
    return escape_controls(data.decode(errors="surrogateescape"), keep="\n\t").encode()


def same_file(one: str | Path, other: str | Path) -> bool:
    """Return True if two paths, however they are spelled, lead to one file."""
    first, second = Path(one), Path(other)
    if first.exists() and second.exists():
        return first.samefile(second)
    return os.path.realpath(first) == os.path.realpath(second)


def write_folder(
    path: str | Path, files: Mapping[str, str], *, replaceable: Collection[str] = ()
) -> None:
    """Write files by name into a folder, all of them or none; a new one appears when it is full.

    An existing folder may hold only files that are `replaceable`.
    """
    check_folder(path, replaceable=replaceable)
    folder = Path(path)
    if folder.exists():
        write_files({folder / name: content for name, content in files.items()})
        return
    with _explain_failure(path):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".foveal-") as outer:
            temporary = Path(outer, folder.name)
            temporary.mkdir()
            for name, content in files.items():
                (temporary / name).write_text(content, encoding="utf-8", newline="")
            temporary.replace(folder)


def check_folder(path: str | Path, *, replaceable: Collection[str] = ()) -> None:
    """Refuse what `write_folder` would refuse, before there is anything to write."""
    folder = Path(path)
    if not folder.exists():
        return
    if not folder.is_dir():
        text = "is a file; expected a folder for several files"
        raise InputError.at("file.not_a_directory", str(path), None, text)
    with _explain_failure(path):
        other = sorted({found.name for found in folder.iterdir()}.difference(replaceable))
    if other:
        text = f"the folder holds {other[0]!r}; expected a new or an empty one"
        raise InputError.at("file.directory_not_empty", str(path), None, text)


@contextmanager
def _explain_failure(path: str | Path) -> Iterator[None]:
    """Report errors of the system under the name that the user gave."""
    try:
        yield
    except OSError as error:
        text = f"cannot be written: {error.strerror}"
        raise InputError.at("file.unwritable", str(path), None, text) from None
