"""Foreign offset units: bytes of UTF-8 and UTF-16 units, converted given the documents' text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.checks import Defects
from foveal.formats.locate import GIVE_TEXTS
from foveal.formats.objects import ENDS, UNITS
from foveal.spans import Ints

__all__ = ["check_counted", "to_codepoints"]


def _starts(text: str, unit: str) -> Ints:
    """The offset in `unit` of every code point of the text, and of its end."""
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    if unit == "utf16":
        width = 1 + (points > 0xFFFF)
    else:
        width = 1 + (points > 0x7F) + (points > 0x7FF) + (points > 0xFFFF)
    return np.concatenate([[0], np.cumsum(width)]).astype(np.int64)


def to_codepoints(
    offset: Ints, doc: pl.Series, unit: str, texts: Mapping[str, str] | None, defects: Defects
) -> Ints:
    """Offsets in code points; 0 is 0 in every unit, and negative ones (not known) stay.

    >>> from foveal.files.source import Source
    >>> where = Defects(Source.of_text("", "a.jsonl"), np.array([1]))
    >>> to_codepoints(np.array([6]), pl.Series(["d"]), "byte", {"d": "né 𝄞"}, where)
    Traceback (most recent call last):
    ...
    foveal.errors.InputError: a.jsonl:1: byte offset 6 falls inside a character of document 'd'
    >>> to_codepoints(np.array([8]), pl.Series(["d"]), "byte", {"d": "né 𝄞"}, where).tolist()
    [4]
    """
    if unit == "codepoint" or not (offset > 0).any():
        return offset
    if texts is None:
        raise InputError.at(
            "unclassified",
            defects.source.path,
            int(defects.line[offset > 0][0]),
            f"offsets are declared as {unit}, which only texts can convert; {GIVE_TEXTS}",
        )
    result = offset.copy()
    problems: list[Problem] = []
    rows = pl.DataFrame({"doc": doc, "row": np.arange(len(doc))})
    for (name,), group in rows.group_by(["doc"], maintain_order=True):
        own = group["row"].to_numpy()
        own = own[offset[own] > 0]
        if name not in texts:
            problems += defects.at(
                "unclassified", own[:1], f"document {name!r} is not among the texts"
            )
            continue
        starts = _starts(texts[str(name)], unit)
        at = np.searchsorted(starts, offset[own])
        past = own[offset[own] > starts[-1]]
        problems += defects.at(
            "unclassified", past, f"{unit} offset {{}} is past the end of document {name!r}", offset
        )
        inside = starts[np.minimum(at, len(starts) - 1)] != offset[own]
        problems += defects.at(
            "unclassified",
            np.setdiff1d(own[inside], past),
            f"{unit} offset {{}} falls inside a character of document {name!r}",
            offset,
        )
        result[own] = at
    defects.raise_if(problems)
    return result


def check_counted(source: Source, header: Mapping[str, Any], line: int) -> None:
    """Refuse a file that declares offsets in other units than its reader takes."""
    unit, end = header.get("unit", UNITS[0]), header.get("end", ENDS[0])
    if (unit, end) != (UNITS[0], ENDS[0]):
        raise source.error(
            "unclassified",
            line,
            f"offsets here are code points with an exclusive end; the header says {unit!r} and "
            f"{end!r}",
        )
