"""JSON Lines as columns: the header, a row for each object, and what is wrong with a line.

Good files go straight through the columnar parser; comments and blank lines are taken out only
where there are any, and lines are looked at one by one only where one of them is wrong.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.fields import Table

__all__ = [
    "ENDS",
    "UNITS",
    "declared_units",
    "explain_json",
    "header_of",
    "header_problems",
    "loads",
    "parse_lines",
    "parse_objects",
    "read_objects",
]

UNITS = ("codepoint", "byte", "utf16")
"""What offsets may count, as a header declares it."""
ENDS = ("exclusive", "inclusive")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_LARGEST = sys.float_info.max


def loads(line: bytes) -> Any:
    """A JSON value; whatever keeps it from being one is a ValueError."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(explain_json(error)) from None


def explain_json(error: ValueError | RecursionError) -> str:
    """Say why `json` refused a text; which line of a file it was, only the file tells."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} in column {error.colno}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return str(error)
    return f"a whole number has more than {sys.get_int_max_str_digits()} digits"


def parse_lines(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbered lines that are JSON objects; the reader reports all others."""
    for number, line in lines:
        try:
            record = loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield number, record


def header_of(source: Source) -> tuple[dict[str, Any], int]:
    """Return the header object and its line; an empty one on line 0 if the file has none."""
    number, text = source.head
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        return {}, 0  # reported with the other lines
    if isinstance(header, dict) and header.get("type") == "header":
        return header, number
    return {}, 0


def header_problems(header: Mapping[str, Any], allowed: tuple[str, ...]) -> dict[str, str]:
    """Return what is wrong with a header of one of the `allowed` formats, by the entry's name.

    >>> header_problems({"type": "header", "unit": "codepoint", "version": 2}, ("foveal-run",))
    {'version': 'version 2 is not known; expected 1'}
    """
    found: dict[str, str] = {}
    known: dict[str, tuple[str, ...]] = {"format": allowed, "unit": UNITS, "end": ENDS}
    for name, options in known.items():
        if header.get(name, options[0]) not in options:
            found[name] = f"header says {name} {header[name]!r}; expected {' or '.join(options)}"
    for name in ("run", "task"):
        value = header.get(name)
        if value is not None and (not isinstance(value, str) or _CONTROL.search(value)):
            found[name] = f"header says {name} {value!r}; expected text without control characters"
    if header.get("version", 1) != 1:
        found["version"] = f"version {header['version']!r} is not known; expected 1"
    return found


def declared_units(
    source: Source, header: Mapping[str, Any], line: int, allowed: tuple[str, ...]
) -> tuple[str, str]:
    """Return unit and kind of end that the header declares, checked."""
    problems = header_problems(header, allowed)
    if problems:
        raise InputError(
            Problem("unclassified", source.path, line, message) for message in problems.values()
        )
    return header.get("unit", UNITS[0]), header.get("end", ENDS[0])


def read_objects(source: Source, schema: Mapping[str, Any], header_line: int) -> Table:
    """Return the objects after the header as columns."""
    source.check_utf8()
    data = source.data
    for _ in range(header_line):
        data = data.partition(b"\n")[2]
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    frame = parse_objects(data, schema)
    if frame is not None and len(frame) == count:
        numbers = np.arange(header_line + 1, header_line + count + 1, dtype=np.int64)
        return Table(frame, source.numbered(numbers))
    lines = [
        (number, line)
        for number, line in enumerate(data.split(b"\n"), header_line + 1)
        if line.strip() and not line.lstrip().startswith(b"#")
    ]
    if frame is None:
        frame = parse_objects(b"\n".join(line for _, line in lines), schema)
    numbers = source.numbered(np.array([number for number, _ in lines], dtype=np.int64))
    if frame is None or len(frame) != len(lines):
        numbered = zip(numbers.tolist(), (line for _, line in lines), strict=True)
        raise InputError(_defects(source, list(numbered), schema))
    return Table(frame, numbers)


def parse_objects(data: bytes, schema: Mapping[str, Any]) -> pl.DataFrame | None:
    """Return the objects as columns, or None if any line does not fit the schema."""
    if not data.strip():
        return pl.DataFrame(schema=schema)
    given = _given(data, schema)
    try:
        frame = pl.read_ndjson(data, schema=given)
    except pl.exceptions.PolarsError:
        return None
    return frame.select(
        # Not strictly: objects without a field have null there.
        pl.col(name).cast(kind, strict=False)
        if name in given
        else pl.lit(None, dtype=kind).alias(name)
        for name, kind in schema.items()
    )


def _given(data: bytes, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that any object has, and of lists of objects those of theirs.

    The parser takes its time for each field that it is told of, for each object without it, too:
    17 MB of assessed elements, which may have 16 fields and have 6, take half as long.

    >>> spans = pl.List(pl.Struct({"start": pl.Int64, "grade": pl.Float64}))
    >>> schema = {"topic": pl.String, "bep": pl.Int64, "spans": spans}
    >>> _given(b'{"topic": "1", "spans": [{"start": 5}]}', schema)
    {'topic': String, 'spans': List(Struct({'start': Int64}))}
    """
    if b"\\" in data:  # a name may be written in other ways
        return dict(schema)
    found = {name: kind for name, kind in schema.items() if f'"{name}"'.encode() in data}
    for name, kind in found.items():
        if isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct):
            inner = _given(data, {field.name: field.dtype for field in kind.inner.fields})
            found[name] = pl.List(pl.Struct(inner))
    return found or dict(schema)


def _defects(
    source: Source, lines: list[tuple[int, bytes]], schema: Mapping[str, Any]
) -> list[Problem]:
    """What is wrong with each line that does not parse."""
    problems = []
    for number, line in lines:
        try:
            value = loads(line)
        except ValueError as error:
            problems.append(
                Problem("unclassified", source.path, number, f"not valid JSON: {error}")
            )
            continue
        if not isinstance(value, dict):
            problems.append(Problem("unclassified", source.path, number, "not a JSON object"))
            continue
        message = _misfit(value, schema)
        if message:
            problems.append(Problem("unclassified", source.path, number, message))
    # What Python reads and the columnar parser does not: numbers without end, NaN.
    problems = problems or [
        Problem(
            "unclassified", source.path, number, "not valid JSON: a number or a name cannot be read"
        )
        for number, line in lines
        if parse_objects(line, schema) is None
    ]
    return problems or [
        Problem("unclassified", source.path, None, "cannot be read; expected an object per line")
    ]


def _misfit(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    for name, kind in schema.items():
        item = value.get(name)
        if item is None:
            continue
        if isinstance(kind, pl.List):
            if not isinstance(item, list) or not all(isinstance(x, dict) for x in item):
                return f"{name} is not a list of objects"
            assert isinstance(kind.inner, pl.Struct)
            fields = kind.inner.to_schema()
            inner = next((m for m in (_misfit(x, fields) for x in item) if m), None)
            if inner:
                return f"in {name}: {inner}"
        elif kind == pl.Int64:
            if type(item) is not int or abs(item) >= 1 << 63:
                return f"{name} {json.dumps(item)} is not a whole number"
        elif kind == pl.Float64 and (
            type(item) not in (int, float) or not -_LARGEST <= item <= _LARGEST
        ):
            return f"{name} {json.dumps(item)} is not a finite number"
    return None
