"""Line formats: white-space separated fields as columns, with the line of every row.

Regular files (one blank or tab between fields, no comments) go straight through the columnar
parser. Anything irregular is normalised first, and what is wrong is found and named afterwards,
so that good files never pay for bad ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.formats.source import Source
from foveal.spans import Ints

__all__ = ["MAX_OFFSET", "Table", "first_lines", "normalised", "read_fields"]

MAX_OFFSET = 1 << 40
"""Offsets beyond this are a mistake: no document has a million million characters."""

_BLANKS = re.compile(r"[ \t\x0b\x0c\r]+")
_BLOCK = 1 << 18
"""Bytes looked at together; what fits into the cache is fastest."""


@dataclass(frozen=True)
class Table:
    """The rows of a file as columns, and the line each row stands on."""

    frame: pl.DataFrame
    line: Ints


def first_lines(data: bytes, n: int = 1) -> list[tuple[int, bytes]]:
    """The first lines that are neither blank nor comments, with their numbers."""
    found: list[tuple[int, bytes]] = []
    position, number = 0, 0
    while position < len(data) and len(found) < n:
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end
        number += 1
        line = data[position:end].strip()
        if line and not line.startswith(b"#"):
            found.append((number, line))
        position = end + 1
    return found


def read_fields(
    source: Source, schema: dict[str, Any], keep: tuple[str, ...], *, form: str
) -> Table:
    """The columns `keep` of a file whose lines have the fields of `schema`.

    `form` shows the expected line in messages.
    """
    source.check_utf8()
    first = first_lines(source.data)
    if not first:
        return Table(_parse(b"", schema, keep, " "), np.zeros(0, dtype=np.int64))
    separator = b"\t" if first[0][1].count(b"\t") == len(schema) - 1 else b" "
    frame = _try_parse(source.data, schema, keep, separator)
    if frame is not None:
        line = source.numbered(np.arange(1, len(frame) + 1, dtype=np.int64))
        line.flags.writeable = False
        return Table(frame, line)
    rows, found = normalised(source.data)
    numbers = source.numbered(np.array(found, dtype=np.int64))
    frame = _try_parse("\n".join(rows).encode(), schema, keep, b" ")
    if frame is None:
        raise InputError(_defects(source, rows, numbers.tolist(), schema, form))
    return Table(frame, numbers)


def _try_parse(
    data: bytes, schema: dict[str, Any], keep: tuple[str, ...], separator: bytes
) -> pl.DataFrame | None:
    """The columns, or None if any line is not of the expected shape."""
    last = next(reversed(schema))
    read = keep if last in keep else (*keep, last)
    try:
        frame = _parse(data, schema, read, separator.decode())
    except (pl.exceptions.PolarsError, OverflowError):
        return None
    # A short line leaves its last field null, an empty field any; a comment line that happens to
    # parse shows in its first field. Fields too many are not noticed by the parser.
    if any(frame[name].null_count() for name in read):
        return None
    if b"#" in data and frame[keep[0]].str.starts_with("#").any():
        return None
    if not _is_regular(data, separator, len(frame) * (len(schema) - 1)):
        return None
    return frame.select(keep)


def _is_regular(data: bytes, separator: bytes, expected: int) -> bool:
    """Whether blanks are separators only, each stands alone, and there are as many as expected."""
    if any(blank in data for blank in (b" ", b"\t", b"\x0b", b"\x0c") if blank != separator):
        return False
    symbols, found = np.frombuffer(data, dtype=np.uint8), 0
    for at in range(0, len(symbols), _BLOCK):
        blank = symbols[at : at + _BLOCK + 1] == separator[0]
        if (blank[1:] & blank[:-1]).any():
            return False
        found += int(np.count_nonzero(blank[:_BLOCK]))
    return found == expected


def _parse(
    data: bytes, schema: dict[str, Any], keep: tuple[str, ...], separator: str
) -> pl.DataFrame:
    if not data:
        return pl.DataFrame(schema={name: schema[name] for name in keep})
    names = list(schema)
    return pl.read_csv(
        data,
        has_header=False,
        separator=separator,
        quote_char=None,
        schema=schema,
        columns=[names.index(name) for name in keep],
    )


def normalised(data: bytes) -> tuple[list[str], list[int]]:
    """Lines with single blanks, without comments and blank lines, and their numbers."""
    lines = data.decode().removesuffix("\n").split("\n")
    if _is_normal(data):
        return lines, list(range(1, len(lines) + 1))
    rows, numbers = [], []
    for number, line in enumerate(lines, 1):
        row = _BLANKS.sub(" ", line).strip(" ")
        if row and not row.startswith("#"):
            rows.append(row)
            numbers.append(number)
    return rows, numbers


def _is_normal(data: bytes) -> bool:
    """Whether nothing is to be done: single blanks between fields, no comment, no blank line."""
    symbols = np.frombuffer(data, dtype=np.uint8)
    blank = symbols <= ord(" ")
    other = (symbols < ord(" ")) & (symbols != ord("\n"))
    at_the_edge = not len(data) or blank[0] or data.endswith(b" ")
    return not (at_the_edge or other.any() or (blank[1:] & blank[:-1]).any() or b"#" in data)


def _defects(
    source: Source, rows: list[str], numbers: list[int], schema: dict[str, Any], form: str
) -> list[Problem]:
    """What is wrong with each line that does not parse."""
    problems = []
    for row, number in zip(rows, numbers, strict=True):
        message = _defect(row.split(" "), schema, form)
        if message:
            problems.append(Problem(source.path, number, message))
    return problems or [Problem(source.path, None, f"cannot be read; expected lines of {form}")]


def _defect(fields: list[str], schema: dict[str, Any], form: str) -> str | None:
    if len(fields) != len(schema):
        return f"{len(fields)} fields found, expected {len(schema)}: {form}"
    for (name, kind), text in zip(schema.items(), fields, strict=True):
        if kind == pl.Int64 and not _is(int, text):
            return f"{name} {text!r} is not a whole number"
        if kind == pl.Float64 and not _is(float, text):
            return f"{name} {text!r} is not a number"
    return None


def _is(kind: type[int] | type[float], text: str) -> bool:
    if "_" in text or not text.isascii():
        return False
    try:
        value = kind(text)
    except ValueError:
        return False
    return kind is float or abs(value) < 1 << 63
