"""A file too large for memory, cut into groups of whole topics: bytes, topics and line numbers.

One pass finds the topics, how large they are and where their lines stand. If they stand together, a
slice is a few places of the file. If they do not, a second pass brings the lines of every group
together in a temporary file. What is compressed goes to a temporary file decompressed. Such files
have no name, so that nothing of them is left whatever happens.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple
from weakref import finalize

import numpy as np
import polars as pl

from foveal.errors import InputError
from foveal.formats.fields import first_lines
from foveal.formats.objects import header_of, parse_objects
from foveal.formats.source import Source, Whole
from foveal.formats.streams import CHUNK, Stream, compression
from foveal.model import Provenance
from foveal.spans import Ints

__all__ = ["CHUNK", "MOST_PLACES", "OPTIONAL", "LineSlices", "groups_of", "read_at", "spooled"]

MOST_PLACES = 1 << 18
"""Places of topics in a file up to which slices are read from there."""

_TOPIC = r"^[ \t\x0b\x0c\r]*([^ \t\x0b\x0c\r#][^ \t\x0b\x0c\r]*)"
"""The first field of a line that is neither blank nor a comment."""

OPTIONAL: dict[str, Any] = {
    "rank": pl.Int64,
    "score": pl.Float64,
    "tokens": pl.Int64,
    "xpath": pl.String,
    "start": pl.Int64,
    "bep": pl.Int64,
}
"""Fields of a result of which it matters whether any result of the file has them, or all."""


class _Place(NamedTuple):
    """Lines that stand together, in order: where they are and their numbers."""

    offset: int
    size: int
    lines: int
    first: int
    """The number of the first line, or where the numbers are kept."""


def groups_of(sizes: Mapping[str, int], room: int) -> list[tuple[str, ...]]:
    """Topics in groups of at most `room` bytes, in their order; a larger topic stands alone.

    >>> groups_of({"1": 30, "2": 60, "3": 20, "4": 500}, 100)
    [('1', '2'), ('3',), ('4',)]
    """
    groups: list[list[str]] = []
    free = 0
    for topic, size in sizes.items():
        if size > free or not groups:
            groups.append([])
            free = max(room, size)
        groups[-1].append(topic)
        free -= size
    return [tuple(group) for group in groups]


class LineSlices:
    """The slices of a file of lines.

    Parameters
    ----------
    path : path
    check : callable, optional
        Is shown the head of the file, and refuses what is of no use.
    chunk : int
        Bytes that are looked at together.
    places : int
        How many places of topics are remembered before lines are brought together instead.
    look_for : frozenset of bytes
        What may stand in the file, for `words`.

    Attributes
    ----------
    head : Source
        The first lines, which tell the format.
    topics : dict of str to int
        Bytes of each topic, in the order in which they first come.
    is_json : bool
    together : bool
        Whether the lines of each topic stand together.
    whole : Whole
        What all slices have to know; of no lines.
    words : frozenset of bytes
        Names of JSON that stand anywhere in the file, of those that were looked for.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        check: Callable[[Source], object] | None = None,
        chunk: int = CHUNK,
        places: int = MOST_PLACES,
        look_for: frozenset[bytes] = frozenset(),
    ) -> None:
        self._path, self._chunk, self._most = path, chunk, places
        self._open: list[IO[bytes]] = []
        finalize(self, _close, self._open)
        self._copy = self._spool() if compression(path) else None
        self._numbers: IO[bytes] | None = None
        self._slices: list[list[_Place]] = []
        self.topics: dict[str, int] = {}
        self.words: frozenset[bytes] = frozenset()
        self._prefix, self.is_json, self._check = b"", False, check
        self._places: list[pl.DataFrame] | None = []
        stream = Stream(path)
        self.head = Source(stream.name, b"", "")
        blocks, last, kept, found = 0, None, 0, dict.fromkeys(("", *OPTIONAL), 0)
        for data, offset, line in self._lines(stream.chunks(chunk), first=True):
            own = _topics(data, line, last, found, json=self.is_json)
            self.words |= {word for word in look_for - self.words if word in data}
            names = own["topic"].to_list()
            blocks += len(names) - (names[0] == last)
            last, kept = names[-1], kept + len(names)
            for topic, size in (
                own.group_by("topic", maintain_order=True).agg(pl.col("size").sum()).rows()
            ):
                self.topics[topic] = self.topics.get(topic, 0) + size
            if self._places is not None:
                self._places.append(own.with_columns(pl.col("offset") + offset))
                self._places = self._places if kept <= self._most else None
        self._shift = stream.shift if self._copy is None else 0
        self.provenance = Provenance(stream.name, stream.sha256)
        self.together = blocks == len(self.topics)
        objects = found.pop("")
        self.whole = Whole(
            np.zeros(0, dtype=np.int64),
            frozenset(name for name, number in found.items() if number),
            frozenset(name for name, number in found.items() if 0 < number < objects),
        )

    def _lines(self, chunks: Iterator[bytes], *, first: bool) -> Iterator[tuple[bytes, int, int]]:
        """Chunks of lines without the header, with their offset and first line."""
        offset, line = 0, 1
        for data in chunks:
            start = 0
            if not offset:
                if first:
                    self._look_at(data, chunks)
                start = len(self._prefix)
            if first:
                _check_utf8(self.head.path, data, line)
                if self._copy is not None:
                    _write(self._copy, data, self._path)
            line += data.count(b"\n", 0, start)
            if start < len(data):
                yield data[start:], offset + start, line
            line += data.count(b"\n", start)
            offset += len(data)

    def _look_at(self, data: bytes, rest: Iterator[bytes]) -> None:
        """Keep the head of the file, and the header that belongs to every slice."""
        self.head = Source(self.head.path, data, "")
        try:
            if self._check is not None:
                self._check(self.head)
        except InputError:
            for _ in rest:  # that a file is damaged is said before what it holds
                pass
            raise
        self.is_json = data.lstrip().startswith((b"{", b"#")) and _is_json(data)
        header, number = header_of(self.head) if self.is_json else ({}, 0)
        if header:
            end = 0
            for _ in range(number):
                end = data.find(b"\n", end) + 1 or len(data)
            self._prefix = data[:end]

    def split(self, groups: Sequence[Collection[str]]) -> None:
        """Prepare a slice for each group of topics."""
        group_of = {topic: i for i, topics in enumerate(groups) for topic in topics}
        self._slices = [[] for _ in groups]
        if self._places is None:
            self._bring_together(group_of)
            return
        for own in self._places:
            for topic, offset, size, lines, first in own.select(
                "topic", "offset", "size", "lines", "line"
            ).iter_rows():
                if topic in group_of:
                    place = _Place(offset + self._shift, size, lines, first)
                    self._slices[group_of[topic]].append(place)

    def _bring_together(self, group_of: Mapping[str, int]) -> None:
        """Copy the lines to a temporary file, chunk by chunk in the order of their groups."""
        copy, self._numbers = self._spool(), self._spool()
        if self._copy is None:
            chunks = Stream(self._path).chunks(self._chunk)
        else:
            chunks = _chunks_of(self._copy, self._chunk)
        at, count, last = 0, 0, None
        for data, _, line in self._lines(chunks, first=False):
            lines = _split(data)
            own = _topics(data, line, last, {}, json=self.is_json, lines=lines)
            last = own["topic"][-1]
            code = own["topic"].replace_strict(group_of, default=-1, return_dtype=pl.Int64)
            group = np.repeat(code.to_numpy(), own["lines"].to_numpy())
            order = np.argsort(group, kind="stable")
            order = order[group[order] >= 0]
            if not len(order):
                continue
            moved = lines.gather(order)
            numbers = order.astype(np.int64) + line
            _write(copy, (moved.str.join("\n")[0] + "\n").encode(), self._path)
            _write(self._numbers, numbers.tobytes(), self._path)
            size = moved.str.len_bytes().to_numpy().astype(np.int64) + 1
            present, first = np.unique(group[order], return_index=True)
            for which, low, high in zip(
                present.tolist(), first, [*first[1:], len(order)], strict=True
            ):
                extent = int(size[low:high].sum())
                self._slices[which].append(_Place(at, extent, int(high - low), count))
                at, count = at + extent, count + int(high - low)
        if self._copy is not None:
            self._copy.close()
        self._copy = copy

    def source(self, number: int) -> Source:
        """One slice, as a source that knows the lines of the file."""
        places = self._slices[number]
        parts, lines = [self._prefix], [np.arange(1, self._prefix.count(b"\n") + 1)]
        with ExitStack() as stack:
            stream = self._copy or stack.enter_context(Path(self._path).open("rb"))
            for place in places:
                data = read_at(stream, place.size, place.offset)
                parts.append(data if data.endswith(b"\n") else data + b"\n")
                lines.append(self._numbers_of(place))
        whole = Whole(np.concatenate(lines).astype(np.int64), self.whole.given, self.whole.ragged)
        return Source(
            self.provenance.path, b"".join(parts), str(self.provenance.sha256), whole=whole
        )

    def _numbers_of(self, place: _Place) -> Ints:
        if self._numbers is None:
            return np.arange(place.first, place.first + place.lines, dtype=np.int64)
        data = read_at(self._numbers, 8 * place.lines, 8 * place.first)
        return np.frombuffer(data, dtype=np.int64)

    def _spool(self) -> IO[bytes]:
        """A temporary file without a name."""
        self._open.append(spooled(self._path, iter(()), named=False))
        return self._open[-1]

    def close(self) -> None:
        """Give up the temporary files."""
        _close(self._open)


def _split(data: bytes) -> pl.Series:
    """The lines of a chunk; what follows the last end of line is one more only if it is any."""
    text = data.decode()
    return pl.Series([text.removesuffix("\n")]).str.split("\n").explode()


def _topics(
    data: bytes,
    line: int,
    last: str | None,
    found: dict[str, int],
    *,
    json: bool,
    lines: pl.Series | None = None,
) -> pl.DataFrame:
    """Blocks of lines of one topic: ``topic offset size lines line``.

    A line that has no topic goes with the one before it, so that what is wrong with it is said
    where its slice is read. `last` is the topic before the first line; in `found` the optional
    fields of JSON objects are counted.
    """
    lines = _split(data) if lines is None else lines
    topic = _json_topics(data, lines, found) if json else lines.str.extract(_TOPIC)
    if topic.null_count():
        before = pl.Series([last], dtype=pl.String)
        topic = pl.concat([before, topic]).fill_null(strategy="forward")[1:]
        topic = topic.fill_null(strategy="backward").fill_null("")
    blocks = topic.rle()
    number = blocks.struct.field("len").to_numpy().astype(np.int64)
    opens = np.cumsum(number) - number
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")) + 1
    starts = np.concatenate([[0], ends, [len(data)]])
    offset = starts[opens]
    return pl.DataFrame(
        {
            "topic": blocks.struct.field("value"),
            "offset": offset,
            "size": np.diff(np.append(offset, len(data))),
            "lines": number,
            "line": opens + line,
        }
    )


def _is_json(data: bytes) -> bool:
    first = first_lines(data)
    return bool(first) and first[0][1].startswith(b"{")


def _json_topics(data: bytes, lines: pl.Series, found: dict[str, int]) -> pl.Series:
    """The topic of each line that is an object with one; null for others."""
    frame = parse_objects(data, {"topic": pl.String, **OPTIONAL})
    if frame is not None and len(frame) == len(lines):
        _count(frame, found)
        return frame["topic"]
    stripped = lines.str.strip_chars()
    objects = ((stripped != "") & ~stripped.str.starts_with("#")).arg_true()
    kept = lines.gather(objects)
    frame = parse_objects((kept.str.join("\n")[0] or "").encode(), {"topic": pl.String, **OPTIONAL})
    if frame is None or len(frame) != len(kept):
        own = [parse_objects(text.encode(), {"topic": pl.String}) for text in kept]
        names = [None if one is None or not len(one) else one["topic"][0] for one in own]
        frame = pl.DataFrame({"topic": pl.Series(names, dtype=pl.String)})
    _count(frame, found)
    topic = np.full(len(lines), None, dtype=object)
    topic[objects.to_numpy()] = frame["topic"].to_list()
    return pl.Series(topic.tolist(), dtype=pl.String)


def _count(frame: pl.DataFrame, found: dict[str, int]) -> None:
    """Count the objects, under no name, and the fields they have."""
    for name in found:
        column = frame["topic"] if not name else frame.get_column(name, default=None)
        if column is not None:
            found[name] += column.count() if name else len(column)


def _check_utf8(path: str, data: bytes, line: int) -> None:
    """Refuse bytes that are not UTF-8, as `Source` does, with the line of the file."""
    lines = np.arange(line, line + data.count(b"\n") + 1, dtype=np.int64)
    Source(path, data, "", whole=Whole(lines)).check_utf8()


def _close(streams: list[IO[bytes]]) -> None:
    for stream in streams:
        stream.close()


def spooled(path: str | Path, pieces: Iterator[bytes], *, named: bool) -> IO[bytes]:
    """The content of a file in a temporary one; a name is only for those who cannot do without."""
    try:
        copy: IO[bytes] = (
            tempfile.NamedTemporaryFile(prefix="foveal-")  # noqa: SIM115 - closed by who asked
            if named
            else tempfile.TemporaryFile()  # noqa: SIM115 - as above
        )
    except OSError as error:
        raise _full(path, error) from None
    for piece in pieces:
        _write(copy, piece, path)
    return copy


def _write(stream: IO[bytes], data: bytes, path: str | Path) -> None:
    try:
        stream.write(data)
        stream.flush()
    except OSError as error:
        raise _full(path, error) from None


def _full(path: str | Path, error: OSError) -> InputError:
    return InputError.at(
        str(path),
        None,
        f"too large for memory, and a temporary copy in {tempfile.gettempdir()} cannot be "
        f"written: {error.strerror}; TMPDIR names another place, --memory allows more",
    )


def read_at(stream: IO[bytes], size: int, offset: int) -> bytes:
    """Bytes of a file; one call of the system gives two gigabytes at most."""
    parts = []
    while size > 0:
        data = os.pread(stream.fileno(), size, offset)
        if not data:
            break
        parts.append(data)
        size, offset = size - len(data), offset + len(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _chunks_of(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """A temporary copy in chunks of whole lines."""
    stream.seek(0)
    while data := stream.read(size):
        rest = b"" if data.endswith(b"\n") else stream.readline()
        yield data + rest
