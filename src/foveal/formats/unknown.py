"""Fields of JSON Lines that no reader knows: which they are, and how often they come.

Only who converts wants to hear of them, and to count them takes a fifth of the time of reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from foveal.files.source import Source
from foveal.formats.objects import loads

__all__ = ["UNKNOWN_FIELD", "unknown_attributes", "unknown_fields"]

UNKNOWN_FIELD = "fields not known: "
"""Stands before the name of such a field in what a file says that is not kept."""

_SAMPLE = 100
"""Lines that show most names that any line has."""


def unknown_fields(source: Source, frame: pl.DataFrame, header_line: int) -> dict[str, int]:
    """The fields of objects that have no column in `frame`; those of lists as ``spans.name``.

    They are counted in thorough sources only. Nearly all files hold what we know and nothing else,
    and then there are as many colons after names as values. Where there are not, the names of some
    lines tell as a rule; if their counts do not explain the colons, either, every line is looked
    at.

    >>> lines = '{"topic": "1", "note": "a"}', '{"topic": "2", "note": "b"}'
    >>> source = Source.of_text(chr(10).join(lines), thorough=True)
    >>> unknown_fields(source, pl.DataFrame({"topic": ["1", "2"]}), 0)
    {'fields not known: note': 2}
    """
    if not source.thorough:
        return {}
    data, at = source.data, 0
    for _ in range(header_line):
        at = data.find(b"\n", at) + 1
    told = data.count(b'":', at) + data.count(b'" :', at) - _values(frame)
    if not told:
        return {}
    end = at
    for _ in range(_SAMPLE):
        end = data.find(b"\n", end) + 1 or len(data)
    names = _names(data[at:end].split(b"\n"), frame.schema)
    counts = {name: _keys(data, name.rpartition(".")[2], at) for name in names}
    if sum(counts.values()) != told:
        counts = _names(data[at:].split(b"\n"), frame.schema)
    return {UNKNOWN_FIELD + name: count for name, count in counts.items()}


def unknown_attributes(found: Iterable[Mapping[str, str]], known: frozenset[str]) -> dict[str, int]:
    """The attributes of elements that are not among these; hyphens may be underscores."""
    names = Counter(
        name
        for own in found
        if not own.keys() <= known
        for name in own
        if name.replace("_", "-") not in known
    )
    return {UNKNOWN_FIELD + name: count for name, count in names.items()}


def _keys(data: bytes, name: str, at: int) -> int:
    quoted = b'"%b"' % name.encode()
    return data.count(quoted + b":", at) + data.count(quoted + b" :", at)


def _values(frame: pl.DataFrame) -> int:
    """Values of the columns, and of what the objects in their lists hold."""
    total = 0
    for column in frame:
        total += column.count()
        if isinstance(column.dtype, pl.List):
            inner = column.drop_nulls().explode().drop_nulls()
            total += _values(inner.struct.unnest()) if len(inner) else 0
    return total


def _names(lines: Iterable[bytes], schema: Mapping[str, Any]) -> dict[str, int]:
    """Names that the schema does not have, with their numbers."""
    names: Counter[str] = Counter()
    for line in lines:
        try:
            value = loads(line)
        except ValueError:
            continue  # a comment, or nothing
        names.update(_unknown(value, schema))
    return dict(names)


def _unknown(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    for name, item in value.items() if isinstance(value, dict) else ():
        kind = schema.get(name)
        if kind is None:
            yield name
        elif isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct):
            for each in item or ():
                yield from (f"{name}.{own}" for own in _unknown(each, kind.inner.to_schema()))
