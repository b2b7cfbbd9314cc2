"""Runs kept as columns, so that scoring them again skips parsing.

An entry is found by what was read: the hash of the file's bytes, the version that read it, and
whatever else changes what a reader makes of them. It carries a checksum; one that is damaged, cut
off or of another kind is as good as none. The folder may be deleted at any time.
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
"""Of an entry. Raised whenever what stands below changes."""
_MAGIC = b"foveal run\n"
_CHECK = 4
_SIZE = 8
_COLUMNS = ("doc", "start", "end", "line", "score", "rank", "xpath", "length", "tokens", "element")
_ABOUT = ("name", "topics", "bounds", "task", "notes", "header", "unread")
_OTHER = ("source",)
"""What a run holds that the file at hand tells."""


class CacheWarning(UserWarning):
    """A run could not be kept; it was scored all the same."""


class RunCache:
    """A folder of runs that were read before.

    Parameters
    ----------
    folder : path
        It is made when the first run is kept. Several processes may use it at once: entries appear
        complete, and whoever comes second replaces one by the same.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path_of(self, source: Source) -> Path:
        """Where the run of this file is kept.

        The name of the file counts where a format does not name its runs, what is not known is
        counted only on request, and another version may read otherwise.
        """
        told = (_LAYOUT, __version__, pl.__version__, source.thorough, source.stem, source.sha256)
        key = hashlib.sha256(json.dumps(told).encode()).hexdigest()
        return self.folder / key[:2] / f"{key[2:]}.run"

    def find(self, source: Source) -> Run | None:
        """The run as it was read, or None."""
        try:
            data = self.path_of(source).read_bytes()
        except OSError:
            return None
        try:
            return _run_of(data, source)
        except (ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
            return None

    def keep(self, source: Source, run: Run) -> None:
        """Keep a run; where that fails, or would not give back the same, nothing is kept."""
        data = _entry(run)
        if data is None:
            return
        path = self.path_of(source)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, data)
        except OSError as error:
            warnings.warn(self._said(error), CacheWarning, stacklevel=3)

    @property
    def refusal(self) -> str | None:
        """Why nothing can be kept in the folder, which is made; None: it can."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.folder).close()
        except OSError as error:
            return self._said(error)
        return None

    def _said(self, error: OSError) -> str:
        # The same text for all runs, so that Python shows it once.
        return f"{self.folder}: runs are not cached: {error.strerror}"


def _replace(path: Path, data: bytes) -> None:
    """Let a file appear complete. It need not be on the disk yet: the checksum notices that."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".foveal-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _entry(run: Run) -> bytes | None:
    """The bytes of a run, or None if they would not give it back."""
    about = {name: getattr(run, name) for name in _ABOUT}
    about |= {"topics": list(run.topics), "bounds": run.bounds.tolist(), "notes": [*run.notes]}
    if any(run.source.path in note for note in run.notes):
        return None  # a file of the same bytes elsewhere would be called by this name
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
    """The run of an entry; ValueError or the like if it is none."""
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
