"""Spans placed in the texts of documents: located by a quote, or compared with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from foveal.errors import InputError, Problem, UsageError, counted
from foveal.formats import Source, read_run
from foveal.formats.base import JSON_FORMATS
from foveal.formats.fields import MAX_OFFSET
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
    occurrences,
    shorten_text,
)
from foveal.formats.objects import header_of, header_problems, parse_lines
from foveal.model import Run

__all__ = [
    "ABSENT",
    "AMBIGUOUS",
    "EXACT",
    "NEAR",
    "NORMALISED",
    "NO_DOCUMENT",
    "Aligner",
    "Found",
    "Normalised",
    "TextPlacer",
    "TextSpan",
    "UnplacedSpanError",
    "align",
    "documents_needed",
    "locate_results",
]

NEAR = 100
"""Characters by which a quote may be moved."""
_SIMILAR = 0.7
_COMPARED = 500
"""Characters of a quote that are compared with the text for similarity."""
_CODES = {
    AMBIGUOUS: "span.ambiguous",
    ABSENT: "span.not_found",
    NO_DOCUMENT: "span.unknown_document",
}


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A span as its source gives it: by offsets, by a quote, or by both.

    Parameters
    ----------
    doc : str, optional
        None if only the quote says which document it is.
    start, end : int, optional
        A span with a start and no end goes on for the length of its quote; without a quote, to the
        end of its document.
    quote, prefix, suffix : str, optional
        The text of the span, and the text before and after it.
    within : TextSpan, optional
        The span that this one refines: offsets count from its start.
    is_paragraph : bool
        A quote that occurs several times is the first of them if all are whole paragraphs.
    is_loose : bool
        The quote may differ from the text in white space and ways to write a character.
    """

    doc: str | None
    start: int | None = None
    end: int | None = None
    quote: str | None = None
    prefix: str | None = None
    suffix: str | None = None
    within: TextSpan | None = None
    is_paragraph: bool = False
    is_loose: bool = False


class UnplacedSpanError(Exception):
    """A span without a place, with the code of the problem."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class TextPlacer:
    """Places spans in texts and counts how: the one place where offsets are found and checked.

    Parameters
    ----------
    texts : mapping of str to str, optional
        The text of each document.
    ambiguous : {"error", "first", "empty"}
        A quote that occurs more than once in its document is an error, is taken at its first
        place, or becomes an empty span.
    missing : {"error", "empty"}
        The same for a quote that does not occur.
    repair : bool
        Move a quote that is not at its offset to the only place within 100 characters.
    drop_mismatches : bool
        Drop spans whose quote does not match the text.
    is_partial : bool
        Accept documents without text; their quotes are not compared.
    what, remedy : str
        Name of the quotes in messages, and what to do about ambiguous ones.

    Examples
    --------
    >>> placer = TextPlacer({"d": "To be, or not to be."}, repair=True)
    >>> placer.place(TextSpan("d", quote="or not"))
    ('d', 7, 13)
    >>> placer.place(TextSpan("d", 6, quote="or not")), placer.counts["moved"]
    (('d', 7, 13), 1)
    """

    texts: Mapping[str, str] | None
    ambiguous: str = "error"
    missing: str = "error"
    repair: bool = False
    drop_mismatches: bool = False
    is_partial: bool = False
    what: str = "text"
    remedy: str = "give start and end"
    counts: Counter[str] = field(default_factory=Counter)
    """Spans by how they were found; quotes ``compared``, ``moved``, ``dropped``, ``movable``."""

    def __post_init__(self) -> None:
        if self.texts is not None and not isinstance(self.texts, Mapping):
            raise UsageError(
                f"texts is a {type(self.texts).__name__}; expected a mapping of documents to texts"
            )
        self.locator = Aligner({} if self.texts is None else self.texts)
        allowed = {"ambiguous": ("error", "first", "empty"), "missing": ("error", "empty")}
        for name, words in allowed.items():
            if getattr(self, name) not in words:
                raise UsageError(f"{name} {getattr(self, name)!r} is not one of {', '.join(words)}")

    def place(self, span: TextSpan) -> tuple[str, int, int] | None:
        """Return document, start and end of a span; None if it is dropped.

        Raises
        ------
        UnplacedSpanError
            If the span has no place, or another text is at its place.
        """
        doc = span.doc if span.doc is not None else self._find_document(span.quote or "")
        if doc is None:
            return None
        text = None if self.texts is None else self.texts.get(doc)
        if (
            text is None
            and self.texts is not None
            and not self.is_partial
            and span.start is not None
        ):
            raise UnplacedSpanError(
                "span.unknown_document", f"document {doc!r} is not among the texts"
            )
        low, high = 0, None
        if span.within is not None:
            outer = self.place(span.within)
            if outer is None:
                return None
            _, low, high = outer
        if span.start is None:
            found = self._locate(span, doc, low, high)
            return None if found is None else (doc, *found)
        start, end = low + span.start, span.end
        if end is None and span.quote is None and text is None:
            raise UnplacedSpanError(
                "span.needs_text",
                f"it goes on to the end of document {doc!r}; give its text (--texts)",
            )
        if end is None:
            end = len(text or "") if span.quote is None else start + len(span.quote)
        else:
            end += low
        if high is not None and end > high:
            beyond = counted(end - high, "character")
            raise UnplacedSpanError("span.past_end", f"it ends {beyond} after what it refines")
        if text is not None and span.quote is not None:
            self.counts["compared"] += 1
            there = text[max(start, 0) : max(end, 0)]
            same = there == span.quote and start >= 0
            if not same and span.is_loose:
                same = Normalised(there).text.strip() == Normalised(span.quote).text.strip()
            if not same:
                near = [at for at in occurrences(text, span.quote) if abs(at - start) <= NEAR]
                if self.repair and len(near) == 1:
                    self.counts["moved"] += 1
                    return doc, near[0], near[0] + len(span.quote)
                if self.drop_mismatches:
                    self.counts["dropped"] += 1
                    return None
                self.counts["movable"] += len(near) == 1
                message = _describe_mismatch(text, doc, start, end, span.quote, near)
                raise UnplacedSpanError("span.quote", message)
        if not 0 <= start <= end <= MAX_OFFSET:
            raise UnplacedSpanError(
                "span.offset", f"[{start},{end}) is not a span; expected 0 <= start <= end"
            )
        if text is not None and end > len(text):
            raise UnplacedSpanError(
                "span.past_end",
                f"the span [{start},{end}) ends past the {len(text)} characters of document "
                f"{doc!r}",
            )
        return doc, start, end

    def _find_document(self, quote: str) -> str | None:
        """Return the only document that holds a quote; None if the quote is dropped."""
        if self.texts is None:
            raise UnplacedSpanError(
                "span.needs_text", "the document is not named; give the texts (--texts)"
            )
        held = self.locator.holders(quote)
        if len(held) == 1:
            return held[0]
        if self.drop_mismatches:
            self.counts["dropped"] += 1
            return None
        message = self.locator.message_without_document([quote], [held], held)
        raise UnplacedSpanError("span.ambiguous" if held else "span.not_found", message)

    def _locate(
        self, span: TextSpan, doc: str, low: int, high: int | None
    ) -> tuple[int, int] | None:
        """Return the place of a quote in a part of its document; None if it is dropped."""
        quote = span.quote or ""
        if self.texts is None:
            raise UnplacedSpanError(
                "span.needs_text",
                f"a {self.what} without offsets needs the text of document {doc!r} (--texts)",
            )
        locator = self.locator
        if high is not None:
            locator = Aligner({doc: self.texts[doc][low:high]})
        context = {"prefix": span.prefix or "", "suffix": span.suffix or ""}
        found = locator.find(doc, quote, **context)
        if span.is_paragraph and found.how == AMBIGUOUS:
            whole = [place for place in found.places if _is_paragraph(self.texts[doc], *place)]
            if len(whole) in (1, len(found.places)):
                found = Found(EXACT, (whole[0],))
        self.counts[found.how] += 1
        policy = self.ambiguous if found.how == AMBIGUOUS else self.missing
        if found.placed or policy == "first":
            start, end = found.places[0]
            return low + start, low + end
        if policy == "empty":
            return 0, 0
        if self.drop_mismatches and found.how != NO_DOCUMENT:
            self.counts["dropped"] += 1
            return None
        message = locator.message(doc, quote, what=self.what, remedy=self.remedy)
        raise UnplacedSpanError(_CODES[found.how], message)

    def describe_located(self, first: Mapping[str, int] | None = None) -> Iterator[str]:
        """Yield notes on results that were placed by their text.

        `first` has the line of the first result of each kind, for messages.
        """
        count = self.counts
        located = count[EXACT] + count[NORMALISED]
        if located:
            loose = f" ({count[NORMALISED]} only with white space and characters normalised)"
            yield (
                f"results given by their text, placed in their documents: {located}"
                f"{loose if count[NORMALISED] else ''}"
            )
        done = "taken at the first place" if self.ambiguous == "first" else "left empty"
        for how, text in (
            (AMBIGUOUS, f"in its document more than once, {done}"),
            (ABSENT, "not in its document, left empty"),
            (NO_DOCUMENT, "of a document without text, left empty"),
        ):
            if count[how]:
                where = "" if first is None else f", the first on line {first[how]}"
                yield f"results whose text is {text}: {count[how]}{where}"


def _is_paragraph(text: str, start: int, end: int) -> bool:
    """Return True if a span begins and ends where a line does."""
    before, after = text[:start].rstrip(" "), text[end:].lstrip(" ")
    return (not before or before.endswith("\n")) and (not after or after.startswith("\n"))


def _describe_mismatch(
    text: str, doc: str, start: int, end: int, quote: str, near: list[int]
) -> str:
    """Describe a quote that is not at its offset, and where it is instead."""
    there = text[max(start, 0) : max(end, 0)]
    found = (
        f"the span [{start},{end}) of document {doc!r} holds {shorten_text(there)}; expected "
        f"{shorten_text(quote)}"
    )
    if len(near) > 1:
        return f"{found}, which occurs {len(near)} times within {NEAR} characters"
    places = near or sorted(occurrences(text, quote), key=lambda at: abs(at - start))
    if places:
        by = abs(places[0] - start)
        side = "later" if places[0] > start else "earlier"
        away = f", {counted(by, 'character')} {side}" if by else ""
        return f"{found}, which is at [{places[0]},{places[0] + len(quote)}){away}"
    matcher = SequenceMatcher(None, there[:_COMPARED], quote[:_COMPARED], autojunk=False)
    is_close = matcher.ratio() >= _SIMILAR
    return found if is_close else f"{found} (another version of the text?)"


# -- runs in JSON Lines ----------------------------------------------------------------------------


def locate_results(
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
        Results with offsets keep them; a run of another format is read as it is.
    texts : mapping of str to str, or Aligner
        The text of each document. A locator remembers what it found for the next run.
    ambiguous : {"error", "first", "empty"}
        A text that occurs more than once in its document is an error; or it is taken at its first
        place, or becomes a result that keeps its rank and holds nothing. Both are noted.
    missing : {"error", "empty"}
        The same for a text that is not in its document.

    Examples
    --------
    >>> line = '{"topic": "1", "doc": "d", "text": "or not"}'
    >>> run = locate_results(Source.of_text(line, "a.jsonl"), {"d": "To be, or not to be."})
    >>> run.start.tolist(), run.end.tolist(), run.notes
    ([7], [13], ('results given by their text, placed in their documents: 1',))
    """
    source = run if isinstance(run, Source) else Source.open(run)
    locator = texts if isinstance(texts, Aligner) else Aligner(texts)
    placer = TextPlacer(locator.texts, ambiguous, missing)
    placer.locator = locator
    lines, problems = source.data.split(b"\n"), list[Problem]()
    first: dict[str, int] = {}
    rows = [*_results_by_text(source)]
    header, header_line = header_of(source)
    wrong = header_problems(source, header, header_line, JSON_FORMATS["run"])
    if rows and wrong:
        raise InputError(wrong.values())
    unit, ends = header.get("unit", "codepoint"), header.get("end", "exclusive")
    for number, record in rows:
        doc, text = record.get("doc"), record["text"]
        if not isinstance(doc, str):
            continue  # the reader reports it
        first.setdefault(locator.find(doc, text).how, number + 1)
        try:
            placed = placer.place(TextSpan(doc, quote=text))
        except UnplacedSpanError as error:
            problems.append(Problem(error.code, source.path, number + 1, str(error)))
            continue
        assert placed is not None  # nothing is dropped
        if placed[1] == placed[2]:
            record["bep"] = 0  # a point, which holds nothing
        else:
            start, end = in_unit(locator.texts[doc], placed[1:], unit)
            record |= {"start": start, "end": end - (ends == "inclusive")}
        # No line moves, so that messages and the run name the lines of the file.
        lines[number] = json.dumps(record).encode()
    if problems:
        raise InputError(problems)
    read = read_run(replace(source, data=b"\n".join(lines)), texts=locator.texts)
    return replace(read, notes=(*read.notes, *placer.describe_located(first)))


align = locate_results
"""The name that `foveal` exports."""


def documents_needed(source: Source) -> frozenset[str]:
    """Return the documents whose texts are needed to place the results of a run.

    These are the documents of results given by their text alone, or all documents if the header
    declares offsets in bytes or UTF-16 units.
    """
    if not source.data.lstrip().startswith((b"{", b"#")):
        return frozenset()
    records = (record for _, record in _results_by_text(source))
    if header_of(source)[0].get("unit", "codepoint") != "codepoint":
        records = (record for _, record in parse_lines(enumerate(source.data.split(b"\n"))))
    return frozenset(doc for record in records if isinstance(doc := record.get("doc"), str))


def _results_by_text(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines, counted from 0, of results that have a text and no place."""
    if not source.data.lstrip().startswith((b"{", b"#")):
        return
    lines = enumerate(source.data.split(b"\n"))
    for number, record in parse_lines((n, line) for n, line in lines if b'"text"' in line):
        places = (record.get(name) for name in ("start", "end", "xpath", "bep"))
        if isinstance(record.get("text"), str) and all(place is None for place in places):
            yield number, record
