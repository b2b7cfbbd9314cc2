"""Line formats: white-space separated fields as columns, with the line of every row.

Regular files (one blank or tab between fields, no comments) go straight through the columnar
parser. Anything irregular is normalised first, and what is wrong is found and named afterwards,
so that good files never pay for bad ones.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source, first_lines
from foveal.spans import Ints

__all__ = ["MAX_OFFSET", "Table", "first_lines", "normalised", "read_fields"]

MAX_OFFSET = 1 << 40
"""Offsets beyond this are a mistake: no document has a million million characters."""

_BLANKS = re.compile(r"[ \t\x0b\x0c\r]+")
_BLOCK = 1 << 18
"""Bytes looked at together; what fits into the cache is fastest."""


class Table(NamedTuple):
    """The rows of a file as columns, and the line of each row."""

    frame: pl.DataFrame
    line: Ints


def read_fields(
    source: Source, schema: dict[str, Any], keep: tuple[str, ...], *, form: str
) -> Table:
    """Read the columns `keep` of a file whose lines have the fields of `schema`.

    `form` shows the expected line in messages.
    """
    source.check_utf8()
    data = source.data
    separator = b"\t" if source.head[1].count(b"\t") == len(schema) - 1 else b" "
    frame = _parse_fields(data, schema, keep, separator)
    if frame is not None:
        line = np.arange(1, len(frame) + 1, dtype=np.int64)
        line = line if source.lines is None else source.lines[: len(frame)]
        line.flags.writeable = False
        return Table(frame, line)
    rows, found = normalised(data)
    numbers = source.numbered(np.array(found, dtype=np.int64))
    frame = _parse_fields("\n".join(rows).encode(), schema, keep, b" ")
    if frame is None:
        raise InputError(_list_problems(source, rows, numbers.tolist(), schema, form))
    return Table(frame, numbers)


def _parse_fields(
    data: bytes, schema: dict[str, Any], keep: tuple[str, ...], separator: bytes
) -> pl.DataFrame | None:
    """Return the columns, or None if any line is not of the expected shape."""
    names = list(schema)
    read = keep if names[-1] in keep else (*keep, names[-1])
    if not data:
        return pl.DataFrame(schema={name: schema[name] for name in keep})
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            separator=separator.decode(),
            quote_char=None,
            schema=schema,
            columns=[names.index(name) for name in read],
        )
    except (pl.exceptions.PolarsError, OverflowError):
        return None
    # A short line leaves its last field null, an empty field any; a comment line that happens to
    # parse shows in its first field.
    if any(column.null_count() for column in frame):
        return None
    if b"#" in data and frame[keep[0]].str.starts_with("#").any():
        return None
    # The parser does not notice too many fields: there must be as many separators as expected, each
    # of them alone, and no other blanks.
    if any(blank in data for blank in (b" ", b"\t", b"\x0b", b"\x0c") if blank != separator):
        return None
    symbols, found = np.frombuffer(data, dtype=np.uint8), 0
    for at in range(0, len(symbols), _BLOCK):
        blank = symbols[at : at + _BLOCK + 1] == separator[0]
        if (blank[1:] & blank[:-1]).any():
            return None
        found += int(np.count_nonzero(blank[:_BLOCK]))
    return frame.select(keep) if found == len(frame) * (len(schema) - 1) else None


def normalised(data: bytes) -> tuple[list[str], list[int]]:
    """Return lines with single blanks, without comments and blank lines, and their numbers."""
    lines = data.decode().removesuffix("\n").split("\n")
    symbols = np.frombuffer(data, dtype=np.uint8)
    blank = symbols <= ord(" ")
    other = (symbols < ord(" ")) & (symbols != ord("\n"))
    at_the_edge = not len(data) or blank[0] or data.endswith(b" ")
    if not (at_the_edge or other.any() or (blank[1:] & blank[:-1]).any() or b"#" in data):
        return lines, list(range(1, len(lines) + 1))
    rows, numbers = [], []
    for number, line in enumerate(lines, 1):
        row = _BLANKS.sub(" ", line).strip(" ")
        if row and not row.startswith("#"):
            rows.append(row)
            numbers.append(number)
    return rows, numbers


def _list_problems(
    source: Source, rows: list[str], numbers: list[int], schema: dict[str, Any], form: str
) -> list[Problem]:
    """Return what is wrong with each line that does not parse."""
    problems = []
    for row, number in zip(rows, numbers, strict=True):
        message = _defect(row.split(" "), schema, form)
        if message:
            problems.append(Problem("unclassified", source.path, number, message))
    return problems or [
        Problem("unclassified", source.path, None, f"cannot be read; expected lines of {form}")
    ]


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
