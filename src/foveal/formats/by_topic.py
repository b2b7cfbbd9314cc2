"""Files too large for memory, sorted by topic, so that groups of topics are read one by one.

Readers see a part of a file as a `Source` that knows the numbers of its lines. Temporary files are
made where TMPDIR says; they have no name, so that nothing is left of them however a process ends.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError
from foveal.files.source import Source, read_blocks, read_chunks
from foveal.formats import detect_format
from foveal.formats.base import Kind
from foveal.formats.fol import GROUPED
from foveal.formats.objects import header_of, parse_objects
from foveal.model.run import Run
from foveal.spans import Ints

__all__ = ["BUCKETS", "Range", "Spool", "TopicFile", "pack"]

CHUNK = 1 << 23
"""Bytes of lines that are sorted together."""
BUCKETS = 4096
"""Parts into which lines are sorted; topics share one if there are more of them."""
Range = tuple[int, int]
"""Where something begins and ends: bytes of a temporary file, or the buckets of a group."""

_TOPIC = r"^[ \t\x0b\x0c\r]*([^ \t\x0b\x0c\r#][^ \t\x0b\x0c\r]*)"
"""The first field of a line that is neither blank nor a comment."""
_FIELDS: dict[str, Any] = {
    "topic": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "xpath": pl.String,
    "start": pl.Int64,
    "bep": pl.Int64,
}
"""The topic, and fields for which it matters if any result of a JSON Lines run has them."""
Small = npt.NDArray[np.int32]


class Spool:
    """A temporary file without a name that bytes are appended to."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.size = 0
        try:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise self._explain(error) from None
        self.close = finalize(self, self._file.close)

    def _explain(self, error: OSError) -> InputError:
        return InputError.at(
            "file.temporary",
            self._what,
            None,
            f"too large for memory, and a temporary copy in {tempfile.gettempdir()} cannot be "
            f"written: {error.strerror}; TMPDIR names another place, --memory allows more",
        )

    def append(self, data: bytes) -> Range:
        """Append bytes; return where they begin and end."""
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise self._explain(error) from None
        self.size += len(data)
        return self.size - len(data), self.size

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes of a range; threads may do so at the same time."""
        parts = []
        while start < end and (data := os.pread(self._file.fileno(), end - start, start)):
            parts.append(data)  # the system returns two gigabytes at most
            start += len(data)
        return b"".join(parts)


class TopicFile:
    """The lines of a run or of judgements, sorted by topic in a temporary file.

    Parameters
    ----------
    path : path
    kind : {"run", "judgements"}
    codes : dict of str to int
        Numbers of topics; those of new topics are added. A topic is in bucket ``code % BUCKETS``.
    name : str, optional
        The path as the user typed it.
    """

    def __init__(
        self,
        path: str | Path,
        kind: Kind,
        codes: dict[str, int],
        *,
        name: str | None = None,
    ) -> None:
        self._kind, self.codes, digest = kind, codes, hashlib.sha256()
        shown = os.fsencode(path).decode(errors="replace") if name is None else name
        self.source = Source(shown, b"", None)
        self._spool = Spool(self.source.path)
        self.sizes = np.zeros(BUCKETS, dtype=np.int64)
        """Bytes of each bucket."""
        self.topics: dict[str, None] = {}
        """Topics in the order of their first lines."""
        self.has_elements = False
        """True if judgements list elements."""
        self._chunks: list[tuple[int, int, Small, Small, Small]] = []
        self._counts = dict.fromkeys(_FIELDS, 0)
        self._prefix, self._last, self._blocks = b"", None, 0
        line = 1
        for chunk in read_chunks(path, CHUNK, digest):
            data = self._read_head(chunk, path) if line == 1 else chunk
            line += chunk[: len(chunk) - len(data)].count(b"\n")
            count = data.count(b"\n") + (not data.endswith(b"\n"))
            numbers = np.arange(line, line + count, dtype=np.int64)
            replace(self.source, data=data, lines=np.append(numbers, line + count)).check_utf8()
            self._add(data, numbers)
            line += count
        if line == 1 and not self._prefix:
            detect_format(self.source, kind)  # refuses an empty file
        self.source = replace(self.source, sha256=digest.hexdigest())

    def _read_head(self, data: bytes, path: str | Path) -> bytes:
        """Find the format and the header, which belongs to every group; return the lines after."""
        head = replace(self.source, data=data)
        try:
            self._format = detect_format(head, self._kind)
        except InputError:
            # That a file is damaged is reported before its content.
            for _ in read_blocks(path):
                pass
            raise
        self.form = self._format.name
        self.is_json = self.form == "jsonl"
        lines = data.split(b"\n", header_of(head)[1] if self.is_json else 0)
        self._prefix = b"".join(line + b"\n" for line in lines[:-1])
        return lines[-1]

    def _add(self, data: bytes, numbers: Ints) -> None:
        """Append the lines of a chunk, sorted by bucket.

        A line without a topic goes with the one before it; its reader ignores or refuses it.
        """
        if not len(numbers) or not data:
            return
        lines = pl.Series([data.decode().removesuffix("\n")]).str.split("\n").explode()
        if self.is_json:
            frame = _find_fields(data, lines)
            topic = frame["topic"]
            for name in _FIELDS:
                self._counts[name] += frame[name].count()
            self.has_elements |= b'"elements"' in data
        else:
            topic = lines.str.extract(_TOPIC)
        if topic.null_count():
            before = pl.Series([self._last], dtype=pl.String)
            topic = pl.concat([before, topic]).fill_null(strategy="forward")[1:]
            topic = topic.fill_null(strategy="backward").fill_null("")
        names = topic.unique(maintain_order=True).to_list()
        self.topics |= dict.fromkeys(names)
        for name in names:
            self.codes.setdefault(name, len(self.codes))
        own = [self.codes[name] for name in names]
        code = topic.replace_strict(names, own, return_dtype=pl.Int64).to_numpy()
        self._blocks += int((code[1:] != code[:-1]).sum()) + (topic[0] != self._last)
        self._last = topic[-1]
        bucket = code % BUCKETS
        size = lines.str.len_bytes().to_numpy().astype(np.int64) + 1
        self.sizes += np.bincount(bucket, size, BUCKETS).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        if (bucket[1:] < bucket[:-1]).any():
            lines, bucket, numbers, size = lines[order], bucket[order], numbers[order], size[order]
        present, first = np.unique(bucket, return_index=True)
        starts = np.concatenate([[0], np.cumsum(size)])
        first = np.append(first, len(bucket))
        text_at, _ = self._spool.append((lines.str.join("\n")[0] + "\n").encode())
        numbers_at, _ = self._spool.append(numbers.tobytes())
        small = (present.astype(np.int32), first.astype(np.int32), starts[first].astype(np.int32))
        self._chunks.append((text_at, numbers_at, *small))

    @property
    def notes(self) -> tuple[str, ...]:
        """The note about topics whose lines are not together."""
        apart = self.form in ("fol", "elements") and self._blocks != len(self.topics)
        return (GROUPED,) if apart else ()

    def has_in_part(self, field: str) -> bool:
        """Return True if some results have an optional field and others lack it."""
        return 0 < self._counts[field] < self._counts["topic"]

    @property
    def has_spans_and_paths(self) -> bool:
        """True if some results are spans and others paths.

        Without a collection, overlap then shows in the paths of all results, of all topics.
        """
        some_spans = self.has_in_part("start") or self.has_in_part("bep")
        return self._counts["xpath"] > 0 and some_spans

    def read(self, low: int, high: int) -> Any:
        """Read the lines of these buckets by the file's own reader."""
        parts = [self._prefix]
        numbers = [np.arange(1, self._prefix.count(b"\n") + 1)]
        for text_at, numbers_at, present, first, start in self._chunks:
            i, j = np.searchsorted(present, (low, high))
            if i == j:
                continue
            data = self._spool.read(text_at + int(start[i]), text_at + int(start[j]))
            place = numbers_at + 8 * int(first[i]), numbers_at + 8 * int(first[j])
            own = np.frombuffer(self._spool.read(*place), dtype=np.int64)
            if (own[1:] < own[:-1]).any():
                order, unsorted = np.argsort(own), data.split(b"\n")
                own, data = own[order], b"".join(unsorted[k] + b"\n" for k in order.tolist())
            parts.append(data)
            numbers.append(own)
        given = frozenset(name for name, count in self._counts.items() if count)
        lines, data = np.concatenate(numbers).astype(np.int64), b"".join(parts)
        source = replace(self.source, data=data, lines=lines, given=given)
        return self._format.parse(source).checked()

    def close(self) -> None:
        """Give up the temporary file."""
        self._spool.close()

    def read_run(self, low: int, high: int) -> Run:
        """Read the results of these buckets; there may be none."""
        if not self.sizes[low:high].any():
            return Run.from_results({})
        run: Run = self.read(low, high)
        return replace(run, score=None) if self.has_in_part("score") else run


def _find_fields(data: bytes, lines: pl.Series) -> pl.DataFrame:
    """Return the topic and optional fields of each line, null in lines that are not objects."""
    frame = parse_objects(data, _FIELDS)
    if frame is None or len(frame) != len(lines):
        objects = lines.set(lines.str.contains(r"^\s*(#|$)"), "{}")
        frame = parse_objects(objects.str.join("\n")[0].encode(), _FIELDS)
    if frame is None or len(frame) != len(lines):  # a line is wrong; its reader says which
        paths = (pl.col("line").str.json_path_match(f"$.{name}").alias(name) for name in _FIELDS)
        frame = lines.to_frame("line").select(paths)
    return frame


def pack(sizes: Ints, room: int, low: int = 0, high: int = BUCKETS) -> list[Range]:
    """Return ranges of buckets of at most `room` bytes; a larger bucket is alone.

    >>> pack(np.array([30, 60, 0, 20, 500]), 100, 0, 5)
    [(0, 3), (3, 4), (4, 5)]
    """
    starts, total = [low], 0
    for bucket in np.flatnonzero(sizes[low:high]).tolist():
        size = int(sizes[low + bucket])
        if total and total + size > room:
            starts.append(low + bucket)
            total = 0
        total += size
    return list(zip(starts, [*starts[1:], high], strict=True))
