"""Runs kept as columns, so that scoring them again skips parsing.

The key of an entry is the hash of the file's bytes, the version of the reader, and everything else
that changes the result of reading. An entry has a checksum; a damaged one is ignored. The folder
may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import warnings
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.errors import InputError, Note
from foveal.files.atomic import write_file
from foveal.files.source import Source
from foveal.model import Run

_LAYOUT = 3  # version of the layout of entries; raise it with every change below
_CHECK = 8  # hexadecimal digits of the checksum that an entry begins with


class CacheWarning(UserWarning):
    """A run could not be kept; it was scored all the same."""


class RunCache:
    """A folder of runs that were read before.

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
        read = (_LAYOUT, __version__, pl.__version__, source.thorough, source.stem, source.sha256)
        key = hashlib.sha256(json.dumps(read).encode()).hexdigest()
        return self.folder / key[:2] / f"{key[2:]}.run"

    def find(self, source: Source) -> Run | None:
        """Return the run as it was read, or None."""
        try:
            data = self.path_of(source).read_bytes()
            if int(data[:_CHECK], 16) != zlib.crc32(memoryview(data)[_CHECK:]):
                return None
            end = data.index(b"\n")
            about: dict[str, Any] = json.loads(data[_CHECK:end])
            frame = pl.read_ipc(io.BytesIO(memoryview(data)[end + 1 :]))
        except (OSError, ValueError, pl.exceptions.PolarsError):
            return None
        notes = tuple(Note(code, text) if code else text for code, text in about["notes"])
        about |= {"topics": tuple(about["topics"]), "notes": notes}
        about |= {"bounds": np.array(about["bounds"], dtype=np.int64), "source": source.provenance}
        for column in frame.rechunk():
            about[column.name] = column if column.dtype == pl.String else column.to_numpy()
        return Run(**about)

    def keep(self, source: Source, run: Run) -> None:
        """Keep a run, unless that fails or its entry would not give back the same run."""
        if any(run.source.path in note for note in run.notes):
            return  # a file of the same bytes elsewhere would get this name
        names = {field.name for field in fields(run)} - {"columns", "source"}
        about = {name: getattr(run, name) for name in names}
        about |= {"topics": list(run.topics), "bounds": run.bounds.tolist()}
        about["notes"] = [[getattr(note, "code", None), note] for note in run.notes]
        path, table = self.path_of(source), io.BytesIO()
        try:
            text = json.dumps(about)
            if json.loads(text) != about:
                return
            pl.DataFrame(run.columns).write_ipc(table, compression="uncompressed")
            body = b"".join([text.encode(), b"\n", table.getbuffer()])
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, b"%08x%b" % (zlib.crc32(body), body))
        except (TypeError, ValueError):  # no JSON
            return
        except (OSError, InputError) as error:
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

    def _explain(self, error: OSError | InputError) -> str:
        # The same text for all runs, so that Python shows it once.
        reason = error.strerror if isinstance(error, OSError) else error.problems[0].text
        return f"{self.folder}: runs are not cached: {reason}"
