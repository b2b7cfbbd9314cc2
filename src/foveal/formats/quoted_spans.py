"""Gold spans given by their quote: offsets from the texts, and lines that are one quote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.locate import GIVE_TEXTS, NORMALISED, Aligner, in_unit
from foveal.formats.objects import header_of, parse_lines

__all__ = ["documents_needed", "locate_quotes"]

_OF_SPAN = ("start", "end", "grade", "quote", "prefix", "suffix", "sets", "aspects")
"""Fields of a span, which a line that is one quote has itself."""


class _UnplacedError(Exception):
    """Why the spans of a line have no offsets."""


def locate_quotes(
    source: Source, texts: Mapping[str, str] | None, *, unit: str, inclusive: bool
) -> tuple[Source, tuple[str, ...]]:
    """Return the source with spans on every line and offsets in every span; and notes.

    A line ``{"topic", "doc", "quote"}`` becomes a line with one span. Such lines of the same topic,
    document and assessor become one line.

    >>> line = '{"topic": "1", "spans": [{"quote": "or not"}]}'
    >>> texts = {"d": "be, or not"}
    >>> found, _ = locate_quotes(Source.of_text(line), texts, unit="codepoint", inclusive=False)
    >>> json.loads(found.data)["doc"], json.loads(found.data)["spans"]
    ('d', [{'quote': 'or not', 'start': 4, 'end': 10}])
    """
    changes = [*_lines_to_change(source)]
    if not changes:
        return source, ()
    aligner = None if texts is None else Aligner(texts)
    lines, problems, how = source.data.split(b"\n"), list[Problem](), list[str]()
    first: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}
    for number, record in changes:
        single = _is_single(record)
        if single:
            span = {name: record.pop(name) for name in _OF_SPAN if name in record}
            record["spans"] = [span]
        try:
            how += _locate(record, aligner, unit, inclusive=inclusive)
            lines[number] = b""
            place, joined = number, record
            if single:
                key = tuple(str(record.get(name)) for name in ("topic", "doc", "assessor"))
                place, other = first.get(key, (number, {}))
                joined = _join(other, record)
                first[key] = place, joined
            lines[place] = json.dumps(joined).encode()
        except _UnplacedError as error:
            line = int(source.numbered(np.array([number + 1]))[0])
            problems.append(Problem("unclassified", source.path, line, str(error)))
    if problems:
        raise InputError(problems)
    loose = how.count(NORMALISED)
    some = f" ({loose} only with white space and characters normalised)" if loose else ""
    notes = (f"spans located by their quote: {len(how)}{some}",) if how else ()
    return replace(source, data=b"\n".join(lines)), notes


def documents_needed(source: Source) -> tuple[frozenset[str], bool]:
    """Return the documents whose texts judgements need, and whether they need all documents.

    These are the documents of spans without offsets, or all judged documents if the header
    declares offsets in bytes or UTF-16 units. A quote without ``doc`` may be in any document.
    """
    if not source.data.lstrip().startswith((b"{", b"#")):
        return frozenset(), False
    foreign = header_of(source)[0].get("unit", "codepoint") != "codepoint"
    quoted = [record for _, record in _lines_to_change(source) if _without_offsets(record)]
    every = any(not record.get("doc") for record in quoted)
    everything = parse_lines(enumerate(source.data.split(b"\n")))
    judged = (record for _, record in everything) if foreign else quoted
    return frozenset(doc for own in judged if isinstance(doc := own.get("doc"), str)), every


def _lines_to_change(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines, counted from 0, that are one quote or have a quote without offsets."""
    if b'"quote"' not in source.data:
        return
    # Mostly all spans have offsets. Parse only lines with fewer starts than objects inside.
    lines = (
        (number, line)
        for number, line in enumerate(source.data.split(b"\n"))
        if b'"quote"' in line
        and (
            b'"spans"' not in line
            or line.count(b'"start":') < line.count(b"{") - 1
            or b"null" in line
        )
    )
    for number, record in parse_lines(lines):
        if _is_single(record) or _without_offsets(record):
            yield number, record


def _is_single(record: Mapping[str, Any]) -> bool:
    """Return True for a line that is one quote, without a list of spans."""
    quote = record.get("quote")
    return isinstance(quote, str) and "spans" not in record and "elements" not in record


def _without_offsets(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the spans of a line that have a quote and no offsets."""
    spans = [record] if _is_single(record) else record.get("spans")
    return [
        span
        for span in (spans if isinstance(spans, list) else ())
        if isinstance(span, dict)
        and isinstance(span.get("quote"), str)
        and span.get("start") is None
        and span.get("end") is None
    ]


def _locate(
    record: dict[str, Any], aligner: Aligner | None, unit: str, *, inclusive: bool
) -> Iterator[str]:
    """Give offsets to the spans of a line; yield how each was found."""
    spans = _without_offsets(record)
    if not spans:
        return
    if aligner is None:
        raise _UnplacedError(f"a span has a quote and no offsets; {GIVE_TEXTS}")
    if record.get("doc") in (None, ""):
        record["doc"] = _find_document([span["quote"] for span in spans], aligner)
    doc = record["doc"]
    if not isinstance(doc, str):
        raise _UnplacedError(f"doc {json.dumps(doc)} is not a name; expected text")
    for span in spans:
        context = {n: own for n in ("prefix", "suffix") if isinstance(own := span.get(n), str)}
        found = aligner.find(doc, span["quote"], **context)
        if not found.placed:
            remedy = "give prefix or suffix, or start and end"
            message = aligner.message(doc, span["quote"], what="quote", remedy=remedy)
            raise _UnplacedError(message)
        start, end = in_unit(aligner.texts[doc], found.places[0], unit)
        span |= {"start": start, "end": end - inclusive}
        yield found.how
    if record.get("length") is None:
        whole = aligner.texts[doc]
        record["length"] = in_unit(whole, (0, len(whole)), unit)[1]


def _find_document(quotes: list[str], aligner: Aligner) -> str:
    """Return the only document that holds all these quotes."""
    held = [aligner.holders(quote) for quote in quotes]
    common = [doc for doc in held[0] if all(doc in docs for docs in held)]
    if len(common) == 1:
        return common[0]
    raise _UnplacedError(aligner.message_without_document(quotes, held, common))


def _join(first: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return two lines about the same document as one, with the spans of both."""
    for name in ("length", "bep"):
        values = [own[name] for own in (first, record) if own.get(name) is not None]
        if len(values) == 2 and values[0] != values[1]:
            raise _UnplacedError(
                f"{name} {values[1]} differs from {values[0]}, given before for the same topic and "
                "document; expected one value"
            )
    return {**record, **first, "spans": [*first.get("spans", ()), *record["spans"]]}
