"""Results given by their text alone, placed in their documents: found once, or said to be not."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foveal.errors import InputError, Problem, UsageError, counted
from foveal.formats import Source, read_run
from foveal.formats.jsonl import FORMATS, declared_units
from foveal.formats.objects import header_of, loads
from foveal.model import Run
from foveal.spans import Ints

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

EXACT = "exact"
NORMALISED = "normalised"
AMBIGUOUS = "ambiguous"
ABSENT = "absent"
NO_DOCUMENT = "no document"

_POLICIES = {"ambiguous": ("error", "first", "empty"), "missing": ("error", "empty")}
_IGNORED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
"""Soft hyphens and marks without width, which extraction adds and drops at will."""
_SHOWN = 40
"""Characters of a text, and places of it, that a message quotes."""
_PLACES = 5


class Found(NamedTuple):
    """Where a text is in a document, and how that was found out."""

    how: str
    """`EXACT`, `NORMALISED`, `AMBIGUOUS`, `ABSENT` or `NO_DOCUMENT`."""
    places: tuple[tuple[int, int], ...] = ()
    """One place, or all of them where the text is ambiguous."""

    @property
    def placed(self) -> bool:
        return self.how in (EXACT, NORMALISED)


class Normalised:
    r"""A text in which white space and ways to write a character do not matter.

    Characters are decomposed (NFKD), so that ligatures, composed and decomposed accents and wide
    forms are alike; white space of any length is one blank; soft hyphens and characters without
    width are left out. Every place has its way back to the characters it came from.

    >>> text = Normalised("The e\u0301le\u0300ve  of\nthe ﬁrst")
    >>> text.text == unicodedata.normalize("NFKD", "The élève of the first")
    True
    >>> text.find("élève of"), text.find("first"), text.find("irst")
    ([(4, 15)], [(20, 24)], [])
    """

    def __init__(self, text: str) -> None:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        distinct, which = np.unique(points, return_inverse=True)
        written = [_decomposed(chr(point)) for point in distinct.tolist()]
        table = _points("".join(written))
        width = np.array([len(own) for own in written], dtype=np.int64)
        first = np.cumsum(width) - width
        source = np.repeat(np.arange(len(points)), width[which])
        sizes = width[which]
        inner = np.arange(len(source)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        points = table[first[which][source] + inner] if len(source) else table[:0]
        points, source = _reordered(points, source)
        blank = points == ord(" ")
        again = np.zeros(len(points), dtype=bool)
        again[1:] = blank[1:] & blank[:-1]
        points, self._source = points[~again], source[~again]
        self.text = points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")

    @cached_property
    def _clean(self) -> Ints:
        """The source before which each place stands, `-1` inside what was one character.

        A place is clean if all that comes after it was written after all that comes before it.
        """
        before = np.concatenate([[-1], np.maximum.accumulate(self._source)])
        after = np.minimum.accumulate(self._source[::-1])[::-1]
        end = self._source.max(initial=-1) + 1
        clean: Ints = np.where(before < np.append(after, end), np.append(after, end), -1)
        return clean

    def find(self, wanted: str) -> list[tuple[int, int]]:
        """All places of a text in the original, from its first to its last character."""
        own = Normalised(wanted).text.strip(" ")
        found = []
        for at in _occurrences(self.text, own):
            until = at + len(own)
            cut = until < len(self.text) and unicodedata.combining(self.text[until])
            if self._clean[at] >= 0 and self._clean[until] >= 0 and not cut:
                # What is left out or blank after the last character does not belong to it.
                end = int(self._source[at:until].max()) + 1
                found.append((int(self._clean[at]), end))
        return found


def _decomposed(character: str) -> str:
    """What stands for a character in a normalised text; all white space is a blank."""
    if character in _IGNORED:
        return ""
    if character.isspace():
        return " "
    return unicodedata.normalize("NFKD", character)


def _points(text: str) -> Ints:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)


def _reordered(points: Ints, source: Ints) -> tuple[Ints, Ints]:
    """The marks after each character in canonical order, as they may be written in any."""
    distinct, which = np.unique(points, return_inverse=True)
    rank = np.array([unicodedata.combining(chr(p)) for p in distinct.tolist()], dtype=np.int64)
    if not rank.any():
        return points, source
    marks = rank[which]
    order = np.lexsort((np.arange(len(points)), marks, np.cumsum(marks == 0)))
    return points[order], source[order]


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    """Where a text occurs, also where it overlaps itself."""
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


@dataclass(frozen=True)
class Aligner:
    """Finds texts in documents; what was looked for before is not looked for again.

    First the very characters, then white space and characters normalised. A text that is in its
    document more than once has no place here: which one is meant, only who retrieved it knows.

    Parameters
    ----------
    texts : mapping of str to str
        The text of each document.

    Examples
    --------
    >>> aligner = Aligner({"d": "To be, or not to be."})
    >>> aligner.find("d", "or not")
    Found(how='exact', places=((7, 13),))
    >>> aligner.find("d", "be,  or")
    Found(how='normalised', places=((3, 9),))
    >>> aligner.find("d", "be").how, aligner.find("d", "is").how, aligner.find("e", "be").how
    ('ambiguous', 'absent', 'no document')
    """

    texts: Mapping[str, str]
    _found: dict[tuple[str, str], Found] = field(default_factory=dict, repr=False)
    _normalised: dict[str, Normalised] = field(default_factory=dict, repr=False)

    def find(self, doc: str, text: str) -> Found:
        """Where a text is in a document."""
        key = doc, text
        if key not in self._found:
            self._found[key] = self._look(doc, text)
        return self._found[key]

    def _look(self, doc: str, text: str) -> Found:
        if doc not in self.texts:
            return Found(NO_DOCUMENT)
        if not text.strip():
            return Found(ABSENT)
        whole = self.texts[doc]
        places = tuple((at, at + len(text)) for at in _occurrences(whole, text))
        how = EXACT
        if not places:
            if doc not in self._normalised:
                self._normalised[doc] = Normalised(whole)
            places, how = tuple(self._normalised[doc].find(text)), NORMALISED
        if len(places) == 1:
            return Found(how, places)
        return Found(AMBIGUOUS, places) if places else Found(ABSENT)

    def message(self, doc: str, text: str) -> str:
        """Why a text has no place in its document."""
        found = self.find(doc, text)
        if found.how == NO_DOCUMENT:
            return f"document {doc!r} is not among the texts"
        if not text.strip():
            return "the text of the result is empty; expected words of its document"
        quoted = repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
        if found.how == ABSENT:
            size = counted(len(self.texts[doc]), "character")
            return f"the text {quoted} is not in document {doc!r} of {size}"
        where = ", ".join(str(start) for start, _ in found.places[:_PLACES])
        more = ", ..." if len(found.places) > _PLACES else ""
        return (
            f"the text {quoted} is in document {doc!r} {len(found.places)} times, at "
            f"{where}{more}; give start and end"
        )


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
    """Lines from 0 and their objects; what is none, the reader will complain about."""
    for number, line in enumerate(source.data.split(b"\n")):
        if holding not in line:
            continue
        try:
            record = loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield number, record


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
        unit, kind = declared_units(source, *header_of(source), FORMATS) if rows else ("", "")
        for number, record in rows:
            doc, text = record.get("doc"), record["text"]
            if not isinstance(doc, str):
                continue  # the reader will ask for it
            found = aligner.find(doc, text)
            self.counts[found.how] += 1
            self.first.setdefault(found.how, number + 1)
            policy = ambiguous if found.how == AMBIGUOUS else missing
            if not found.placed and policy == "error":
                problems.append(Problem(source.path, number + 1, aligner.message(doc, text)))
                continue
            if found.placed or policy == "first":
                start, end = _in_unit(aligner.texts[doc], found.places[0], unit)
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


def _in_unit(text: str, place: tuple[int, int], unit: str) -> tuple[int, int]:
    """A place as the header of the file counts, with an exclusive end."""
    start, end = place
    if unit == "byte":
        return len(text[:start].encode()), len(text[:end].encode())
    if unit == "utf16":
        return len(text[:start].encode("utf-16-le")) // 2, len(text[:end].encode("utf-16-le")) // 2
    return start, end
