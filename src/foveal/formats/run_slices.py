"""Runs too large for memory, as several small runs that together have all their topics."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Protocol

import numpy as np
import polars as pl

from foveal.formats import elements, fol, parquet, run_reader, trec_genomics
from foveal.formats.fields import first_lines
from foveal.formats.markup import is_xml
from foveal.formats.slices import CHUNK, MOST_PLACES, OPTIONAL, LineSlices, spooled
from foveal.formats.source import Source, Whole
from foveal.formats.streams import Stream, compression, head_of
from foveal.model import Provenance, Run

__all__ = ["HeldRun", "RunSlices", "is_sliceable", "open_run"]

_HEAD = 1 << 16
_NAME = 5
"""The field of a line that names the run."""
_ROW = "number of the row"
_OPEN_FILES = Path("/proc/self/fd")
"""Where Linux names the open files of a process, also those that were never given a name."""


class RunSlices(Protocol):
    """A run that is read by groups of topics."""

    @property
    def provenance(self) -> Provenance: ...
    @property
    def topics(self) -> Mapping[str, int]:
        """Bytes of each topic, in the order in which they first come."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the run as a whole."""

    @property
    def whole(self) -> Whole:
        """What all slices have to know."""

    def split(self, groups: Sequence[Collection[str]]) -> None:
        """Prepare a slice for each group of topics."""

    def run(self, number: int) -> Run:
        """One slice, with lines and name of the whole run."""

    def close(self) -> None: ...


def is_sliceable(path: str | Path) -> bool:
    """Whether a file can be read in slices: XML and JSON arrays cannot."""
    head = Source(str(path), head_of(path, _HEAD), "")
    return not is_xml(head) and not head.data.lstrip().startswith(b"[")


@contextmanager
def open_run(
    path: str | Path, *, chunk: int = CHUNK, places: int = MOST_PLACES
) -> Iterator[RunSlices]:
    """The slices of a run, as long as they are needed."""
    if head_of(path, _HEAD).startswith(parquet.MAGIC):
        slices: RunSlices = _TableRun(path)
    else:
        slices = _LineRun(path, chunk=chunk, places=places)
    try:
        yield slices
    finally:
        slices.close()


class HeldRun:
    """A run in memory, cut all the same."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._groups: Sequence[Collection[str]] = ()
        self.provenance = run.source
        self.topics = dict(zip(run.topics, np.diff(run.bounds).tolist(), strict=True))
        self.notes = run.notes
        self.whole = Whole(np.zeros(0, dtype=np.int64))

    def split(self, groups: Sequence[Collection[str]]) -> None:
        self._groups = groups

    def run(self, number: int) -> Run:
        own = np.array([topic in self._groups[number] for topic in self._run.topics], dtype=bool)
        return replace(self._run.take(own[self._run.topic]), notes=())

    def close(self) -> None:
        pass


class _LineRun(LineSlices):
    """A run of lines: of fields or JSON."""

    def __init__(self, path: str | Path, *, chunk: int, places: int) -> None:
        super().__init__(path, check=run_reader, chunk=chunk, places=places)
        self._reader = run_reader(self.head)
        self._named = self._reader in (fol.read_run, elements.read_run)

    @property
    def notes(self) -> tuple[str, ...]:
        return (fol.GROUPED,) if self._named and not self.together else ()

    def run(self, number: int) -> Run:
        run: Run = self._reader(self.source(number))
        if self._reader is trec_genomics.read_run:
            run = replace(run, name=trec_genomics.run_name(self.head))
        elif not self.is_json:
            first = first_lines(self.head.data)[0][1].split()
            run = replace(run, name=first[_NAME].decode())
        return replace(run, notes=tuple(note for note in run.notes if note != fol.GROUPED))


class _TableRun:
    """A run in a Parquet or Arrow file, of which only the rows of a slice are read."""

    notes: tuple[str, ...] = ()

    def __init__(self, path: str | Path) -> None:
        stream = Stream(path)
        self._copy: IO[bytes] | None = None
        if compression(path):
            self._copy = spooled(path, stream.pieces(), named=not _OPEN_FILES.is_dir())
        else:
            for _ in stream.pieces():  # for the hash
                pass
        self.provenance = Provenance(stream.name, stream.sha256)
        self._place = str(path) if self._copy is None else _name_of(self._copy)
        self._arrow = head_of(path, _HEAD).startswith(b"ARROW1")
        self._groups: Sequence[Collection[str]] = ()
        with self._reading():
            self._rows = pl.scan_ipc(self._place) if self._arrow else pl.scan_parquet(self._place)
            schema = self._rows.collect_schema()
        # Says which columns are missing, or of the wrong type.
        parquet.frame_to_run(schema.to_frame(), self._source(np.zeros(0, dtype=np.int64)))
        self._topic = pl.col("topic").cast(pl.String, strict=False)
        known = [name for name in OPTIONAL if name in schema]
        with self._reading():
            numbers = self._rows.select(pl.len(), *(pl.col(name).count() for name in known))
            rows, *counts = numbers.collect(engine="streaming").row(0)
            sizes = self._rows.select(topic=self._topic).with_row_index(_ROW)
            topics = sizes.group_by("topic").agg(pl.len(), first=pl.col(_ROW).min()).sort("first")
            found = topics.collect(engine="streaming")
            sample = self._rows.head(1000).collect()
            self._names = self._run_names(schema)
        given = dict(zip(known, counts, strict=True))
        self.whole = Whole(
            np.zeros(0, dtype=np.int64),
            frozenset(name for name, number in given.items() if number),
            frozenset(name for name, number in given.items() if 0 < number < rows),
        )
        bytes_each = max(1, sample.estimated_size() // max(1, len(sample)))
        self.topics = {
            topic: bytes_each * number
            for topic, number in found.select("topic", "len").drop_nulls("topic").rows()
        }

    def _run_names(self, schema: pl.Schema) -> list[str] | None:
        if "run" not in schema:
            return []
        names = self._rows.select(pl.col("run").cast(pl.String, strict=False).drop_nulls().unique())
        return list(names.collect(engine="streaming")["run"].to_list())

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with parquet.damage_said(self._source(np.zeros(0, dtype=np.int64)), arrow=self._arrow):
            yield

    def _source(self, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Source:
        given = getattr(self, "whole", Whole(rows))
        path, sha256 = self.provenance.path, str(self.provenance.sha256)
        return Source(path, b"", sha256, whole=Whole(rows + 1, given.given, given.ragged))

    def split(self, groups: Sequence[Collection[str]]) -> None:
        self._groups = groups

    def run(self, number: int) -> Run:
        own = self._topic.is_in(list(self._groups[number]))
        # Rows without a topic are read with the first slice, which refuses them.
        wanted = own | self._topic.is_null() if not number else own
        with self._reading():
            frame = (
                self._rows.with_row_index(_ROW)
                .filter(wanted)
                .collect(engine="streaming")
                .sort(_ROW)
            )
        rows = frame[_ROW].cast(pl.Int64).to_numpy()
        return parquet.frame_to_run(frame.drop(_ROW), self._source(rows), names=self._names)

    def close(self) -> None:
        if self._copy is not None:
            self._copy.close()


def _name_of(copy: IO[bytes]) -> str:
    """Return a path to a temporary file; one without a name disappears however the process ends."""
    return str(_OPEN_FILES / str(copy.fileno())) if _OPEN_FILES.is_dir() else copy.name
