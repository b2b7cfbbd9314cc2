"""Results given by their text alone, placed in their documents: found once, or said to be not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Source
from foveal.formats import read_run
from foveal.formats.base import JSON_FORMATS
from foveal.formats.locate import (
    ABSENT,
    AMBIGUOUS,
    EXACT,
    NO_DOCUMENT,
    NORMALISED,
    Aligner,
    Found,
    Normalised,
    in_unit,
)
from foveal.formats.objects import declared_units, header_of, parse_lines
from foveal.model import Run

__all__ = [
    "ABSENT",
    "AMBIGUOUS",
    "EXACT",
    "NORMALISED",
    "NO_DOCUMENT",
    "Aligner",
    "Found",
    "Normalised",
    "align",
    "documents_needed",
]

_POLICIES = {"ambiguous": ("error", "first", "empty"), "missing": ("error", "empty")}


def align(
    run: str | Path | Source,
    texts: Mapping[str, str] | Aligner,
    *,
    ambiguous: str = "error",
    missing: str = "error",
) -> Run:
    """Read a run of JSON Lines in which results may be given by their `text` alone.

    Parameters
    ----------
    run : path or Source
        Results with places keep them; a run of another format is read as it is.
    texts : mapping of str to str, or Aligner
        The text of each document. An aligner remembers what it found for the next run.
    ambiguous : {"error", "first", "empty"}
        A text that is in its document more than once is an error; or it is taken for the first of
        its places, or for a result that keeps its rank and holds nothing. Both are noted.
    missing : {"error", "empty"}
        The same for a text that is not in its document.

    Examples
    --------
    >>> line = '{"topic": "1", "doc": "d", "text": "or not"}'
    >>> run = align(Source.of_text(line, "a.jsonl"), {"d": "To be, or not to be."})
    >>> run.start.tolist(), run.end.tolist(), run.notes
    ([7], [13], ('results given by their text, placed in their documents: 1',))
    """
    for name, policy in (("ambiguous", ambiguous), ("missing", missing)):
        if policy not in _POLICIES[name]:
            raise UsageError(f"{name} {policy!r} is not one of {', '.join(_POLICIES[name])}")
    source = run if isinstance(run, Source) else Source.open(run)
    aligner = texts if isinstance(texts, Aligner) else Aligner(texts)
    placed = _Placed(source, aligner, ambiguous, missing)
    read = read_run(replace(source, data=placed.data), texts=aligner.texts)
    return replace(read, notes=(*read.notes, *placed.notes()))


def documents_needed(source: Source) -> frozenset[str]:
    """The documents whose texts it takes to place the results of a run.

    Those of results given by their text alone; all, where offsets count bytes or UTF-16 units.
    """
    if not _is_lines(source):
        return frozenset()
    foreign = header_of(source)[0].get("unit", "codepoint") != "codepoint"
    records = (record for _, record in (_records(source) if foreign else _by_text(source)))
    return frozenset(doc for record in records if isinstance(doc := record.get("doc"), str))


def _is_lines(source: Source) -> bool:
    return source.data.lstrip().startswith((b"{", b"#"))


def _records(source: Source, holding: bytes = b"") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects on lines that hold some bytes, with their lines counted from 0."""
    lines = enumerate(source.data.split(b"\n"))
    return parse_lines((number, line) for number, line in lines if holding in line)


def _by_text(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Lines and objects of results that have a text and no place."""
    if not _is_lines(source):
        return
    for number, record in _records(source, b'"text"'):
        places = (record.get(name) for name in ("start", "end", "xpath", "bep"))
        if isinstance(record.get("text"), str) and all(place is None for place in places):
            yield number, record


class _Placed:
    """The lines of a run with the places of its texts filled in, none moved to another line."""

    def __init__(self, source: Source, aligner: Aligner, ambiguous: str, missing: str) -> None:
        self.counts = dict.fromkeys((EXACT, NORMALISED, AMBIGUOUS, ABSENT, NO_DOCUMENT), 0)
        self.first: dict[str, int] = {}
        self.ambiguous = ambiguous
        lines, problems = source.data.split(b"\n"), list[Problem]()
        rows = [*_by_text(source)]
        unit, kind = (
            declared_units(source, *header_of(source), JSON_FORMATS["run"]) if rows else ("", "")
        )
        for number, record in rows:
            doc, text = record.get("doc"), record["text"]
            if not isinstance(doc, str):
                continue  # the reader will ask for it
            found = aligner.find(doc, text)
            self.counts[found.how] += 1
            self.first.setdefault(found.how, number + 1)
            policy = ambiguous if found.how == AMBIGUOUS else missing
            if not found.placed and policy == "error":
                problems.append(
                    Problem("unclassified", source.path, number + 1, aligner.message(doc, text))
                )
                continue
            if found.placed or policy == "first":
                start, end = in_unit(aligner.texts[doc], found.places[0], unit)
                record |= {"start": start, "end": end - (kind == "inclusive")}
            else:
                record["bep"] = 0  # a point, which holds nothing
            lines[number] = json.dumps(record).encode()
        if problems:
            raise InputError(problems)
        self.data = b"\n".join(lines)

    def notes(self) -> Iterator[str]:
        """What was done, for whoever relies on the offsets."""
        count = self.counts
        placed = count[EXACT] + count[NORMALISED]
        if placed:
            some = f" ({count[NORMALISED]} only with white space and characters normalised)"
            yield (
                f"results given by their text, placed in their documents: {placed}"
                f"{some if count[NORMALISED] else ''}"
            )
        done = "taken at the first place" if self.ambiguous == "first" else "left empty"
        for how, what in (
            (AMBIGUOUS, f"in its document more than once, {done}"),
            (ABSENT, "not in its document, left empty"),
            (NO_DOCUMENT, "of a document without text, left empty"),
        ):
            if count[how]:
                line = self.first[how]
                yield f"results whose text is {what}: {count[how]}, the first on line {line}"
