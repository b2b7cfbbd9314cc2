"""Split files larger than memory into groups of topics, which are read one after the other.

A reader sees a group as a `Source` that knows the numbers of its lines. Temporary files are made
where TMPDIR says; they have no name, so that nothing is left of them however a process ends.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source, read_chunks, read_head
from foveal.formats.base import Format, Kind, Parsed, detect_format
from foveal.formats.lines import GROUPED
from foveal.formats.objects import header_of, parse_objects
from foveal.formats.rows import drop_undecodable
from foveal.spans import Ints

__all__ = ["Spool", "TopicFile", "split_file"]

LINE_FORMATS = ("fol", "elements", "trec", "jsonl")
"""Formats whose lines can be split: each names its topic and is read by itself."""
_HEAD = 1 << 16
CHUNK = 1 << 22
"""Bytes of lines that are sorted together."""

_WORD = r"^[ \t\x0b\x0c\r]*([^ \t\x0b\x0c\r#][^ \t\x0b\x0c\r]*)"
"""The first field of a line that is neither blank nor a comment."""
_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("topic", "xpath"), pl.String),
    **dict.fromkeys(("rank", "start", "bep"), pl.Int64),
    "score": pl.Float64,
}
"""The topic, and fields for which it matters if any result of a JSON Lines run has them."""


def split_file(
    path: str | Path, name: str | Path, kind: Kind, groups: dict[str, int], count: int
) -> TopicFile | None:
    """Split a run or judgements into groups; None if the lines are not of `LINE_FORMATS`."""
    head = Source(os.fsencode(name).decode(errors="replace"), read_head(path, _HEAD), None)
    if head.data.lstrip().startswith(b"["):  # a JSON array
        return None
    form = detect_format(head, kind)
    return TopicFile(path, head, form, groups, count) if form.name in LINE_FORMATS else None


class Spool:
    """A temporary file without a name that bytes are appended to."""

    def __init__(self, what: str) -> None:
        self._what, self._size = what, 0
        self._file = self._attempt(tempfile.TemporaryFile)
        self.close = finalize(self, self._file.close)

    def _attempt(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except OSError as error:
            text = (
                f"too large for memory, and a temporary copy in {tempfile.gettempdir()} cannot be "
                f"written: {error.strerror}; TMPDIR names another place, --memory allows more"
            )
            raise InputError.at("file.temporary", self._what, None, text) from None

    def append(self, data: bytes) -> tuple[int, int]:
        """Append bytes; return where they begin and end."""
        self._attempt(self._file.write, data)
        self._attempt(self._file.flush)
        self._size += len(data)
        return self._size - len(data), self._size

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes of a range; threads may do so at the same time."""
        parts = []
        while start < end and (data := os.pread(self._file.fileno(), end - start, start)):
            parts.append(data)  # the system returns two gigabytes at most
            start += len(data)
        return b"".join(parts)


class TopicFile(Spool):
    """The lines of a run or of judgements, sorted into groups of topics.

    `head` has the first lines of the file, under the name that the user typed. `groups` tells the
    group of each topic, a number below `count`; new topics are added, each to the smallest group.
    """

    def __init__(
        self, path: str | Path, head: Source, form: Format, groups: dict[str, int], count: int
    ) -> None:
        super().__init__(head.path)
        self.groups, self._form = groups, form
        self._chunks = list[tuple[int, Ints, Ints]]()
        self.sizes = np.zeros(count, dtype=np.int64)
        """Bytes of each group."""
        self.topics: dict[str, None] = {}
        """Topics in the order of their first lines."""
        self.counts = Counter[str]()
        """Number of objects of JSON Lines that have each of `_FIELDS`."""
        self.problems: list[Problem] = []
        """The lines that are not UTF-8."""
        header_line = header_of(head)[1] if form.name == "jsonl" else 0
        self._header = head.data.split(b"\n")[:header_line]
        digest, line, blocks, last = hashlib.sha256(), 1, 0, None
        for data in read_chunks(path, CHUNK, digest):
            number = np.arange(line, line + data.count(b"\n") + 1, dtype=np.int64)
            line = int(number[-1])
            source, undecodable = drop_undecodable(replace(head, data=data, lines=number))
            self.problems += undecodable
            lines = pl.Series([source.data.decode()]).str.split("\n").explode()
            topic = lines.str.extract(_WORD)
            kept = topic.is_not_null() & pl.Series(number > header_line)
            if not kept.any():
                continue
            lines, topic, number = lines.filter(kept), topic.filter(kept), number[kept.to_numpy()]
            topic = self._find_topics(lines) if form.name == "jsonl" else topic
            blocks += int(topic.ne_missing(topic.shift(1, fill_value=last)).sum())
            last = topic[-1]
            sized = pl.DataFrame({"topic": topic, "size": lines.str.len_bytes().cast(pl.Int64) + 1})
            own = dict[str, int]()
            for name, size in sized.group_by("topic", maintain_order=True).sum().iter_rows():
                own[name] = groups.setdefault(name, int(self.sizes.argmin()))
                self.sizes[own[name]] += size
            self.topics |= dict.fromkeys(own)
            group = topic.replace_strict(own, return_dtype=pl.Int64).to_numpy()
            order = np.argsort(group, kind="stable")
            text = lines[order].str.join("\n").item().encode() + b"\n"
            start, end = self.append(number[order].tobytes() + text)
            first = np.searchsorted(group[order], np.arange(count + 1))
            offset = np.append(0, np.cumsum(sized["size"].to_numpy()[order]))[first]
            self._chunks.append((start, first, offset + end - len(text)))
        self.notes = (
            (GROUPED,) if form.name in ("fol", "elements") and blocks != len(self.topics) else ()
        )
        """The note about topics whose lines are not together."""
        self._last = line
        self._whole = replace(head, sha256=digest.hexdigest(), given=frozenset(+self.counts))
        self.source = self._whole.provenance

    def _find_topics(self, lines: pl.Series) -> pl.Series:
        """Return the topics of JSON objects, empty where there is none; count their fields."""
        data = lines.str.join("\n").item().encode()
        frame = parse_objects(data, _FIELDS)
        if frame is None or len(frame) != len(lines):  # a line is wrong; its reader says which
            paths = (
                pl.col("line").str.json_path_match(f"$.{name}").alias(name) for name in _FIELDS
            )
            frame = lines.to_frame("line").select(paths)
        self.counts.update({column.name: column.count() for column in frame})
        self.counts["elements"] += data.count(b'"elements"')
        return frame["topic"].fill_null("")

    def has_in_part(self, field: str) -> bool:
        """Return True if some results of JSON Lines have a field and others lack it."""
        return 0 < self.counts[field] < self.counts["topic"]

    def parse(self, group: int) -> Parsed:
        """Parse the lines of a group by the file's own format."""
        texts = [line + b"\n" for line in self._header]
        numbers = [np.arange(1, len(texts) + 1)]
        for at, first, offset in self._chunks:
            i, j = first[group : group + 2].tolist()
            if i < j:
                numbers.append(np.frombuffer(self.read(at + 8 * i, at + 8 * j), np.int64))
                texts.append(self.read(*offset[group : group + 2].tolist()))
        lines = np.concatenate([*numbers, [self._last]])  # also nothing has a line
        return self._form.parse(replace(self._whole, data=b"".join(texts), lines=lines))
