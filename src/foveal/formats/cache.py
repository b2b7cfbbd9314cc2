"""Runs kept as columns, so that scoring them again skips parsing.

The key of an entry is the hash of the file's bytes, the version of the reader, and everything else
that changes the result of reading. An entry has a checksum; a damaged one is ignored. The folder
may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.files.source import Source
from foveal.model import Run

__all__ = ["CacheWarning", "RunCache"]

_LAYOUT = 1
"""Version of the layout of entries. Raise it with every change below."""
_MAGIC = b"foveal run\n"
_CHECK = 4
_SIZE = 8
_COLUMNS = ("doc", "start", "end", "line", "score", "rank", "xpath", "length", "tokens", "element")
_ABOUT = ("name", "topics", "bounds", "task", "notes", "header", "unread")
_OTHER = ("source",)
"""Fields of a run that come from the file at hand."""


class CacheWarning(UserWarning):
    """A run could not be kept; it was scored all the same."""


class RunCache:
    """A folder of runs that were read before.

    Parameters
    ----------
    folder : path
        It is made when the first run is kept. Several processes may use it at once: entries appear
        complete, and a second one replaces the first with the same bytes.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path_of(self, source: Source) -> Path:
        """Return the path of the entry for this file.

        The stem is part of the key because it names runs of formats without names, and `thorough`
        because unknown fields are counted only on request.
        """
        told = (_LAYOUT, __version__, pl.__version__, source.thorough, source.stem, source.sha256)
        key = hashlib.sha256(json.dumps(told).encode()).hexdigest()
        return self.folder / key[:2] / f"{key[2:]}.run"

    def find(self, source: Source) -> Run | None:
        """Return the run as it was read, or None."""
        try:
            data = self.path_of(source).read_bytes()
        except OSError:
            return None
        try:
            return _run_of(data, source)
        except (ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
            return None

    def keep(self, source: Source, run: Run) -> None:
        """Keep a run, unless that fails or its entry would not give back the same run."""
        data = _entry(run)
        if data is None:
            return
        path = self.path_of(source)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, data)
        except OSError as error:
            warnings.warn(self._explain(error), CacheWarning, stacklevel=3)

    @property
    def refusal(self) -> str | None:
        """The reason why nothing can be kept in the folder, which is created; None if it can."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.folder).close()
        except OSError as error:
            return self._explain(error)
        return None

    def _explain(self, error: OSError) -> str:
        # The same text for all runs, so that Python shows it once.
        return f"{self.folder}: runs are not cached: {error.strerror}"


def _replace(path: Path, data: bytes) -> None:
    """Write a file completely or not at all, without waiting for the disk: it has a checksum."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".foveal-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _entry(run: Run) -> bytes | None:
    """Return the bytes of a run, or None if they would not give it back."""
    about = {name: getattr(run, name) for name in _ABOUT}
    about |= {"topics": list(run.topics), "bounds": run.bounds.tolist(), "notes": [*run.notes]}
    if any(run.source.path in note for note in run.notes):
        return None  # a file of the same bytes elsewhere would get this name
    try:
        text = json.dumps(about).encode()
    except (TypeError, ValueError):
        return None
    if json.loads(text) != about:
        return None
    columns = {name: getattr(run, name) for name in _COLUMNS}
    frame = pl.DataFrame({name: column for name, column in columns.items() if column is not None})
    table = io.BytesIO()
    frame.write_ipc(table, compression="uncompressed")
    body = b"".join([len(text).to_bytes(_SIZE, "little"), text, table.getbuffer()])
    return b"".join([_MAGIC, zlib.crc32(body).to_bytes(_CHECK, "little"), body])


def _run_of(data: bytes, source: Source) -> Run:
    """Return the run of an entry; raise a ValueError or similar if it is not one."""
    view = memoryview(data)
    begin = len(_MAGIC) + _CHECK
    check, body = bytes(view[len(_MAGIC) : begin]), view[begin:]
    if view[: len(_MAGIC)] != _MAGIC or check != zlib.crc32(body).to_bytes(_CHECK, "little"):
        raise ValueError("damaged")
    size = int.from_bytes(body[:_SIZE], "little")
    about: dict[str, Any] = json.loads(bytes(body[_SIZE : _SIZE + size]))
    frame = pl.read_ipc(io.BytesIO(body[_SIZE + size :]))
    columns: dict[str, Any] = {
        name: column if column.dtype == pl.String else column.to_numpy()
        for name, column in zip(frame.columns, frame.rechunk(), strict=True)
    }
    about |= {"topics": tuple(about["topics"]), "notes": tuple(about["notes"])}
    about["bounds"] = np.array(about["bounds"], dtype=np.int64)
    return Run(**about, **columns, source=source.provenance)
