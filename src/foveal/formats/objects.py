"""JSON Lines as columns: the header, a row for each object, and what is wrong with a line.

Good files go straight through the columnar parser. Lines are decoded one by one only where there
are comments, blank lines or something wrong.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any, TypedDict

import msgspec
import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats import JSON_FORMATS, JsonKind
from foveal.formats.rows import RowTable, number_lines, raise_problems

UNKNOWN_FIELD = "unknown field "  # precedes the name of such a field in lists of losses
GIVE_TEXTS = (
    "give the texts of the documents (--texts PATH, or --collection INDEX with --documents SOURCE; "
    "in Python texts=), to 'foveal convert' first if a command has no such option"
)
# Unit of offsets to the last character that takes one unit, two units and so on.
_LAST_CHARACTERS = {"byte": (0x7F, 0x7FF, 0xFFFF), "utf16": (0xFFFF,)}
_HEADER: dict[str, Collection[str]] = {  # entries of every header, and their values
    "unit": ("codepoint", *_LAST_CHARACTERS),
    "end": ("exclusive", "inclusive"),
    "version": ("1",),
}
OFFSETS = {"unit": "codepoint", "end": "exclusive"}  # in the headers of files we write
CODEPOINTS = {name: (value,) for name, value in OFFSETS.items()}  # of files with no other offsets
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def loads(line: bytes, decode: Callable[[bytes], Any] = msgspec.json.decode) -> Any:
    """Return a JSON value; raise ValueError for anything else."""
    try:
        return decode(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None


_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


# -- the header ------------------------------------------------------------------------------------


def find_header(source: Source) -> tuple[dict[str, Any], int]:
    """Return the header object and its line; an empty one on line 0 if the file has none."""
    number, line = source.head
    with suppress(ValueError):
        header: dict[str, Any] = loads(line, _decode_object)
        if header.get("type") == "header":
            return header, number
    return {}, 0


def read_header(source: Source, **allowed: Collection[str]) -> tuple[dict[str, Any], int]:
    """Return the header object and its line; refuse values that are not among those `allowed`."""
    header, line = find_header(source)
    expected = {
        name: " or ".join(values)
        for name, values in (_HEADER | allowed).items()
        if name in header and str(header[name]) not in values
    }
    for name in ("run", "task", "retrieved"):
        value = header.get(name, "")
        if not isinstance(value, str | None) or _CONTROL.search(value or ""):
            expected[name] = "text without control characters"
    raise_problems(
        Problem("json.header", source.path, line, f"header says {n} {header[n]!r}; expected {text}")
        for n, text in expected.items()
    )
    return header, line


def write_objects(
    kind: JsonKind, about: Mapping[str, Any], records: Iterable[Mapping[str, Any]]
) -> str:
    """Return a header and a line for each object, without the values that are None."""
    header = {"type": "header", "format": JSON_FORMATS[kind][0], "version": 1, **about}
    return "".join(
        json.dumps({k: v for k, v in own.items() if v is not None}, ensure_ascii=False) + "\n"
        for own in (header, *records)
    )


# -- objects ---------------------------------------------------------------------------------------


def tabulate_objects(source: Source, schema: Mapping[str, Any], header_line: int) -> RowTable:
    """Return the objects after the header as columns, and the problems of bad lines."""
    source, problems = source.drop_undecodable()
    data = b"".join(source.data.split(b"\n", header_line)[header_line:])
    line = number_lines(source, data.count(b"\n") + (not data.endswith(b"\n")), header_line + 1)
    frame = parse_objects(data, schema)
    if frame is not None and len(frame) == len(line):
        return RowTable(frame.with_columns(line), problems)
    decode, good = msgspec.json.Decoder(_find_type(pl.Struct(schema))).decode, dict[int, bytes]()
    for number, text in zip(line, data.split(b"\n"), strict=False):
        if not text.strip() or text.lstrip().startswith(b"#"):
            continue
        try:
            loads(text, decode)
            good[number] = text
        except msgspec.ValidationError as error:
            problems += (Problem("json.value", source.path, number, str(error)),)
        except ValueError as error:
            message = f"not valid JSON: {error}"
            problems += (Problem("json.syntax", source.path, number, message),)
    frame = parse_objects(b"\n".join(good.values()), schema)
    if frame is None or len(frame) != len(good):
        message = "cannot be read; expected an object per line"
        problems += (Problem("json.syntax", source.path, None, message),)
        frame, good = pl.DataFrame(schema=schema), {}
    return RowTable(frame.with_columns(pl.Series("line", [*good], dtype=pl.Int64)), problems)


def parse_objects(data: bytes, schema: Mapping[str, Any]) -> pl.DataFrame | None:
    """Return the objects as columns, or None if any line does not fit the schema."""
    if not data or data.isspace():
        return pl.DataFrame(schema=schema)
    given = pl.Struct(schema)
    if b"\\u" not in data:  # else a name may be written in other ways
        # The parser spends time on each field of its schema, also where objects lack it: 17 MB of
        # assessed elements, which may have 16 fields and have 6, take half as long.
        given = _drop_absent(given, data)
    try:
        frame = pl.read_ndjson(data, schema=given.to_schema())
    except pl.exceptions.PolarsError:
        return None
    return frame.select(
        # Not strictly: objects without a field have null there.
        (pl.col(name) if name in frame.columns else pl.lit(None))
        .cast(kind, strict=False)
        .alias(name)
        for name, kind in schema.items()
    )


def _drop_absent(kind: Any, data: bytes) -> Any:
    """Return a type without the fields of objects that `data` does not name."""
    if isinstance(kind, pl.List):
        return pl.List(_drop_absent(kind.inner, data))
    if not isinstance(kind, pl.Struct):
        return kind
    given = [field for field in kind.fields if f'"{field.name}"'.encode() in data] or kind.fields
    return pl.Struct([pl.Field(own.name, _drop_absent(own.dtype, data)) for own in given])


def _find_type(kind: Any) -> Any:
    """Return the type of values of a column, as msgspec checks it; any value can be a text."""
    if isinstance(kind, pl.Struct):
        return TypedDict(  # type: ignore[operator]
            "Object", {own.name: _find_type(own.dtype) | None for own in kind.fields}, total=False
        )
    if isinstance(kind, pl.List):
        return list[_find_type(kind.inner)]  # type: ignore[misc]
    if kind == pl.Int64:
        return Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
    return {pl.Float64: float, pl.Boolean: bool}.get(kind, Any)


# -- fields that no reader knows -------------------------------------------------------------------


def count_unknown_fields(source: Source, known: Collection[str], header_line: int) -> Counter[str]:
    """Count the fields of objects that are not `known`, as losses list them.

    It takes as long as reading, and is done for thorough sources only.
    """
    names: Counter[str] = Counter()
    for line in source.data.split(b"\n")[header_line:] if source.thorough else ():
        with suppress(ValueError):  # a blank line, a comment or a bad line
            names.update(name for name in loads(line, _decode_object) if name not in known)
    return Counter({UNKNOWN_FIELD + name: count for name, count in names.items()})


# -- units of offsets ------------------------------------------------------------------------------


def to_codepoints(
    frame: pl.DataFrame,
    columns: Iterable[str],
    unit: str,
    texts: Mapping[str, str] | None,
    path: str,
) -> pl.DataFrame:
    """Return rows with offsets in code points; null, 0 and negative ones (not known) stay.

    Rows have ``doc`` and ``line``.
    """
    if unit == "codepoint":
        return frame
    problems = list[Problem]()
    for column in columns:
        rows = frame.select("doc", "line", at=column).with_row_index().filter(pl.col("at") > 0)
        if len(rows) and texts is None:
            message = f"offsets are declared as {unit}, which only texts can convert; {GIVE_TEXTS}"
            raise InputError.at("json.unit", path, rows["line"][0], message)
        result = frame[column].clone()
        for (name,), own in rows.group_by(["doc"], maintain_order=True):
            if texts is None or name not in texts:
                message = f"document {name!r} is not among the texts"
                problems.append(Problem("texts.missing", path, own["line"][0], message))
                continue
            # The units before each character of the text, and those of all of it.
            points = np.frombuffer(texts[str(name)].encode("utf-32-le", "surrogatepass"), np.uint32)
            width = 1 + sum(points > last for last in _LAST_CHARACTERS[unit])
            starts, at = np.append(0, np.cumsum(width, dtype=np.int64)), own["at"].to_numpy()
            found = np.searchsorted(starts, at)
            result.scatter(own["index"], found)
            is_wrong = starts[np.minimum(found, len(starts) - 1)] != at
            for _, _, line, offset in own.filter(is_wrong).iter_rows():
                message = f"{unit} offset {offset} is not between two characters of document "
                problems.append(Problem("span.offset", path, line, f"{message}{name!r}"))
        frame = frame.with_columns(result)
        raise_problems(problems)
    return frame
