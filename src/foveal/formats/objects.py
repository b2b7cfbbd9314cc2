"""JSON Lines as columns: the header, a row for each object, and what is wrong with a line.

Good files go straight through the columnar parser. Comments and blank lines are taken out only
where there are any, and lines are looked at one by one only where one of them is wrong.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from foveal.errors import Problem
from foveal.files.source import Source
from foveal.formats.fields import RowTable, drop_undecodable
from foveal.spans import Ints

if TYPE_CHECKING:
    from foveal.formats.checks import Defects

__all__ = [
    "ENDS",
    "UNITS",
    "UNKNOWN_FIELD",
    "check_counted",
    "explain_json",
    "header_of",
    "header_problems",
    "loads",
    "parse_lines",
    "parse_objects",
    "read_objects",
    "tabulate_objects",
    "to_codepoints",
    "unknown_attributes",
    "unknown_fields",
]

UNKNOWN_FIELD = "fields not known: "
"""Precedes the name of such a field where losses are listed."""
UNITS = ("codepoint", "byte", "utf16")
"""Units of offsets that a header may declare."""
ENDS = ("exclusive", "inclusive")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_LARGEST = sys.float_info.max


def loads(line: bytes) -> Any:
    """Return a JSON value; raise ValueError for anything that is not one."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(explain_json(error)) from None


def explain_json(error: ValueError | RecursionError) -> str:
    """Say why `json` refused a text, without the number of the line."""
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


def header_problems(
    source: Source, header: Mapping[str, Any], line: int, allowed: tuple[str, ...]
) -> dict[str, Problem]:
    """Return the problems of a header of one of the `allowed` formats, by the entry's name.

    >>> header = {"type": "header", "unit": "codepoint", "version": 2}
    >>> found = header_problems(Source.of_text("", "a.jsonl"), header, 1, ("foveal-run",))
    >>> print(found["version"])
    a.jsonl:1: version 2 is not known; expected 1
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
    return {name: Problem("json.header", source.path, line, text) for name, text in found.items()}


def check_counted(source: Source, header: Mapping[str, Any], line: int) -> None:
    """Refuse a file that declares offsets in other units than its reader takes."""
    unit, end = header.get("unit", UNITS[0]), header.get("end", ENDS[0])
    if (unit, end) != (UNITS[0], ENDS[0]):
        raise source.error(
            "json.unit",
            line,
            f"offsets here are code points with an exclusive end; the header says {unit!r} and "
            f"{end!r}",
        )


# -- objects ---------------------------------------------------------------------------------------


def read_objects(source: Source, schema: Mapping[str, Any], header_line: int) -> RowTable:
    """Return the objects after the header as columns; refuse a file with a bad line."""
    return tabulate_objects(source, schema, header_line).checked()


def tabulate_objects(source: Source, schema: Mapping[str, Any], header_line: int) -> RowTable:
    """Return the objects after the header as columns, and the problems of bad lines."""
    undecodable: tuple[Problem, ...] = ()
    if not source.data.isascii():
        source, undecodable = drop_undecodable(source)
    data = source.data
    for _ in range(header_line):
        data = data.partition(b"\n")[2]
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    frame = parse_objects(data, schema)
    if frame is not None and len(frame) == count:
        numbers = np.arange(header_line + 1, header_line + count + 1, dtype=np.int64)
        return RowTable(frame, source.numbered(numbers), undecodable)
    lines = [
        (number, line)
        for number, line in enumerate(data.split(b"\n"), header_line + 1)
        if line.strip() and not line.lstrip().startswith(b"#")
    ]
    if frame is None:
        frame = parse_objects(b"\n".join(line for _, line in lines), schema)
    numbers = source.numbered(np.array([number for number, _ in lines], dtype=np.int64))
    if frame is not None and len(frame) == len(lines):
        return RowTable(frame, numbers, undecodable)
    defects = [_find_defect(line, schema) for _, line in lines]
    if not any(code for code, _ in defects):
        # What Python reads and the columnar parser does not: numbers without end, NaN.
        odd = ("json.syntax", "not valid JSON: a number or a name cannot be read")
        defects = [odd if parse_objects(line, schema) is None else ("", "") for _, line in lines]
    problems = [
        Problem(code, source.path, number, text)
        for (code, text), number in zip(defects, numbers.tolist(), strict=True)
        if code
    ]
    is_good = [not code for code, _ in defects]
    good = [line for (_, line), own in zip(lines, is_good, strict=True) if own]
    frame = parse_objects(b"\n".join(good), schema)
    if frame is None or len(frame) != len(good) or not problems:
        text = "cannot be read; expected an object per line"
        problems = problems or [Problem("json.syntax", source.path, None, text)]
        frame, is_good = pl.DataFrame(schema=schema), [False] * len(lines)
    return RowTable(frame, numbers[np.array(is_good, dtype=bool)], (*undecodable, *problems))


def parse_objects(data: bytes, schema: Mapping[str, Any]) -> pl.DataFrame | None:
    """Return the objects as columns, or None if any line does not fit the schema."""
    if not data or data.isspace():
        return pl.DataFrame(schema=schema)
    given = dict(schema)
    if b"\\u" not in data:  # else a name may be written in other ways
        # The parser spends time on each field of its schema, also where objects lack it: 17 MB of
        # assessed elements, which may have 16 fields and have 6, take half as long.
        given = {name: kind for name, kind in schema.items() if f'"{name}"'.encode() in data}
        given = given or dict(schema)
        for name, kind in given.items():
            if isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct):
                inner = [own for own in kind.inner.fields if f'"{own.name}"'.encode() in data]
                given[name] = pl.List(pl.Struct(inner or kind.inner.fields))
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


def _find_defect(line: bytes, schema: Mapping[str, Any]) -> tuple[str, str]:
    """Return code and text of what is wrong with a line; empty ones if nothing is."""
    try:
        value = loads(line)
    except ValueError as error:
        return "json.syntax", f"not valid JSON: {error}"
    if not isinstance(value, dict):
        return "json.object", "not a JSON object"
    message = _misfit(value, schema)
    return ("json.value", message) if message else ("", "")


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


# -- fields that no reader knows -------------------------------------------------------------------


def unknown_fields(source: Source, frame: pl.DataFrame, header_line: int) -> dict[str, int]:
    """Count the fields of objects that have no column in `frame`; those of lists as ``spans.name``.

    Counting takes a fifth of the time of reading, so readers do it in thorough sources only. Nearly
    all files hold only known fields, and as many colons after names as values.

    >>> lines = '{"topic": "1", "note": "a"}', '{"topic": "2", "note": "b"}'
    >>> source = Source.of_text(chr(10).join(lines))
    >>> unknown_fields(source, pl.DataFrame({"topic": ["1", "2"]}), 0)
    {'fields not known: note': 2}
    """
    lines = source.data.split(b"\n", header_line)[-1]
    if lines.count(b'":') + lines.count(b'" :') == _count_values(frame):
        return {}
    names: Counter[str] = Counter()
    for _, record in parse_lines(enumerate(lines.split(b"\n"))):
        names.update(_unknown_names(record, frame.schema))
    return {UNKNOWN_FIELD + name: count for name, count in names.items()}


def unknown_attributes(found: Iterable[Mapping[str, str]], known: frozenset[str]) -> dict[str, int]:
    """Count the attributes of elements that are not known; hyphens may be underscores."""
    names = Counter(
        name
        for own in found
        if not own.keys() <= known
        for name in own
        if name.replace("_", "-") not in known
    )
    return {UNKNOWN_FIELD + name: count for name, count in names.items()}


def _count_values(frame: pl.DataFrame) -> int:
    """Count the values of the columns, and those of objects in their lists."""
    total = 0
    for column in frame:
        total += column.count()
        if isinstance(column.dtype, pl.List):
            inner = column.drop_nulls().explode().drop_nulls()
            total += _count_values(inner.struct.unnest()) if len(inner) else 0
    return total


def _unknown_names(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    for name, item in value.items() if isinstance(value, dict) else ():
        kind = schema.get(name)
        if kind is None:
            yield name
        elif isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct):
            for each in item or ():
                yield from (f"{name}.{own}" for own in _unknown_names(each, kind.inner.to_schema()))


# -- units of offsets ------------------------------------------------------------------------------


def to_codepoints(
    offset: Ints, doc: pl.Series, unit: str, texts: Mapping[str, str] | None, defects: Defects
) -> tuple[Ints, list[Problem]]:
    """Return offsets in code points, and problems; 0 and negative ones (not known) stay.

    >>> from foveal.formats.checks import Defects
    >>> where = Defects(Source.of_text("", "a.jsonl"), np.array([1]))
    >>> to_codepoints(np.array([8]), pl.Series(["d"]), "byte", {"d": "né 𝄞"}, where)
    (array([4]), [])
    >>> print(*to_codepoints(np.array([6]), pl.Series(["d"]), "byte", {"d": "né 𝄞"}, where)[1])
    a.jsonl:1: byte offset 6 falls inside a character of document 'd'
    """
    if unit == "codepoint" or not (offset > 0).any():
        return offset, []
    if texts is None:
        from foveal.formats.locate import GIVE_TEXTS

        message = f"offsets are declared as {unit}, which only texts can convert; {GIVE_TEXTS}"
        return offset, [*defects.at("json.unit", np.flatnonzero(offset > 0)[:1], message)]
    result, problems = offset.copy(), list[Problem]()
    rows = pl.DataFrame({"doc": doc, "row": np.arange(len(doc))})
    for (name,), group in rows.group_by(["doc"], maintain_order=True):
        own = group["row"].to_numpy()
        own = own[offset[own] > 0]
        if name not in texts:
            message = f"document {name!r} is not among the texts"
            problems += defects.at("texts.missing", own[:1], message)
            continue
        points = np.frombuffer(texts[str(name)].encode("utf-32-le"), dtype=np.uint32)
        width = 1 + (points > 0xFFFF)
        if unit == "byte":
            width += (points > 0x7F).astype(np.int64) + (points > 0x7FF)
        starts = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
        at = np.searchsorted(starts, offset[own])
        past = own[offset[own] > starts[-1]]
        message = f"{unit} offset {{}} is past the end of document {name!r}"
        problems += defects.at("span.offset", past, message, offset)
        inside = starts[np.minimum(at, len(starts) - 1)] != offset[own]
        message = f"{unit} offset {{}} falls inside a character of document {name!r}"
        problems += defects.at("span.offset", np.setdiff1d(own[inside], past), message, offset)
        result[own] = at
    return result, problems
