"""Anchors of judged spans: find quotes in the present text of documents, and repair offsets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.errors import InputError, Problem, UsageError, plural
from foveal.formats.locate import Normalised, Place, occurrences
from foveal.model import UNKNOWN, Judgements
from foveal.model.result_object import Result
from foveal.model.tables import Table

KINDS = ("exact", "moved", "ambiguous", "changed", "lost", "no quote")
EXACT, MOVED, AMBIGUOUS, CHANGED, LOST, NO_QUOTE = KINDS
CONTEXT = 32
"""Characters before and after a span that are kept as its context."""
_QUOTES = ("quote", "prefix", "suffix")
_LONG = 1000  # longer texts are compared by words, which takes a hundredth of the time


class Quote(NamedTuple):
    """A span with its expected text and context."""

    start: int
    end: int
    quote: str | None = None
    prefix: str | None = None
    suffix: str | None = None


class Quoted(NamedTuple):
    """The present state of a span."""

    kind: str
    places: tuple[Place, ...] = ()
    """Its place; several if it is ambiguous, none if it is lost."""
    similarity: float | None = None
    """Similarity of the quote and the text at its place, if they differ."""
    note: str = ""

    @property
    def is_sound(self) -> bool:
        """True if the span has its quote, or without one is within its document."""
        return self.kind == EXACT or (self.kind == NO_QUOTE and bool(self.places))


class Repair(NamedTuple):
    """Repaired judgements, and a problem for everything that could not be repaired.

    The numbers are those of spans and best entry points moved, and of quotes added.
    """

    judgements: Judgements
    spans: int
    entry_points: int
    quotes: int
    left: tuple[Problem, ...]


class Quotations:
    """A document to find quotes in.

    >>> text = Quotations("It was cold. It was dark. Nobody came.")
    >>> text.find(Quote(13, 15, "It"))
    Quoted(kind='exact', places=((13, 15),), similarity=None, note='')
    >>> text.find(Quote(0, 6, "Nobody")).places
    ((26, 32),)
    >>> text.find(Quote(5, 11, "It was")).kind
    'ambiguous'
    >>> text.find(Quote(5, 11, "It was", suffix=" dark"))
    Quoted(kind='moved', places=((13, 19),), similarity=None, note='chosen by its context')
    """

    def __init__(self, text: str, *, similarity: float = 0.7) -> None:
        self.text = text
        self.similarity = similarity

    @cached_property
    def _normalised(self) -> Normalised:
        return Normalised(self.text)

    def find(self, span: Quote) -> Quoted:
        """Find the present place of a span."""
        here, quote = (span.start, span.end), span.quote
        if not quote:
            inside = span.end <= len(self.text)
            note = "" if inside else f"ends past the {len(self.text)} characters of the document"
            return Quoted(NO_QUOTE, (here,) if inside else (), note=note)
        places = tuple((at, at + len(quote)) for at in occurrences(self.text, quote))
        if not places:
            return self._find_similar(quote, here)
        context = sum(map(bool, (span.prefix, span.suffix)))
        # How many sides of the context fit decides; the distance to the old place does not.
        fits = {place: self._count_fitting(span, place) for place in places}
        most = max(fits.values())
        chosen = tuple(place for place, number in fits.items() if number == most)
        if here in places and (here in chosen or most < context):
            note = "the text around it has changed" if fits[here] < context else ""
            return Quoted(EXACT, (here,), note=note)
        if len(chosen) > 1:
            return Quoted(AMBIGUOUS, places)
        if len(places) > 1:
            return Quoted(MOVED, chosen, note="chosen by its context")
        if context and not self._count_fitting(span, places[0], self.similarity):
            return Quoted(AMBIGUOUS, places, note="the text around it is another")
        return Quoted(MOVED, places)

    def _count_fitting(self, span: Quote, place: Place, least: float = 1.0) -> int:
        """Count the sides of a span's context that are around a place, or similar text."""
        prefix, suffix, (start, end) = span.prefix or "", span.suffix or "", place
        before = self.text[max(start - len(prefix), 0) : start]
        pairs = ((prefix, before), (suffix, self.text[end : end + len(suffix)]))
        return sum(
            bool(side) and (side == there or (least < 1 and similarity(side, there) >= least))
            for side, there in pairs
        )

    def _find_similar(self, quote: str, here: Place) -> Quoted:
        """Find the place most similar to a quote that does not occur literally."""
        alike = tuple(self._normalised.find(quote))
        note = "white space or characters are written otherwise" if alike else ""
        if here in alike:
            return Quoted(EXACT, (here,), note=note)
        candidates = alike or dict.fromkeys([*closest_places(self.text, quote), here])
        scored = [(similarity(quote, self.text[a:b]), (a, b)) for a, b in candidates if a < b]
        best = max((score for score, _ in scored), default=0.0)
        # An equal text after normalisation counts, however few characters agree literally.
        if best < self.similarity and not alike:
            return Quoted(LOST, similarity=best)
        first, *more = alike or (place for score, place in scored if score == best)
        apart = [place for place in more if place[0] >= first[1] or place[1] <= first[0]]
        if apart:
            note = "several places are equally like it"
            return Quoted(AMBIGUOUS, tuple(sorted((first, *apart))), best, note)
        return Quoted(CHANGED, (first,), best, note)


@dataclass(frozen=True)
class Anchors(Result):
    """The present state of every judged span, in the order of the judgements.

    `lengths` are the present lengths of the documents whose text is known, and `changed` those
    whose text has another hash than the index stores. `quoted` holds quote, prefix and suffix for
    spans that have none, by their number.
    """

    judgements: Judgements
    found: tuple[Quoted, ...]
    lengths: Mapping[str, int]
    changed: frozenset[str]
    quoted: Mapping[int, tuple[str, str, str]]
    meta: Mapping[str, Any] = field(default_factory=lambda: {"version": __version__})

    @property
    def counts(self) -> dict[str, int]:
        """The number of spans of each kind."""
        kinds = [own.kind for own in self.found]
        return {kind: kinds.count(kind) for kind in KINDS}

    @property
    def unchecked(self) -> int:
        """The number of spans without a quote, whose offsets alone were checked."""
        return sum(own.kind == NO_QUOTE and own.is_sound for own in self.found)

    @property
    def is_sound(self) -> bool:
        """True if every span has its quote, or without one is within its document."""
        return all(own.is_sound for own in self.found)

    def shift(self, span: int) -> int | None:
        """Return by how many characters a span moved; None if unknown."""
        own = self.found[span]
        if own.kind not in (EXACT, MOVED):
            return None
        return own.places[0][0] - int(self.judgements.start[span])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a record for each span, in the order of the judgements."""
        truth = self.judgements
        for span, (row, own) in enumerate(zip(truth.row.tolist(), self.found, strict=True)):
            one = own.places[0] if len(own.places) == 1 else (None, None)
            yield {
                "file": truth.sources[truth.file[row]].path,
                "line": int(truth.line[row]),
                "topic": truth.topics[truth.topic[row]],
                "doc": truth.doc[row],
                "start": int(truth.start[span]),
                "end": int(truth.end[span]),
                "kind": own.kind,
                "now_start": one[0],
                "now_end": one[1],
                "shift": self.shift(span),
                "similarity": own.similarity,
                "note": own.note,
            }

    def parts(self) -> dict[str, Any]:
        """Return counts and spans, with all places of each span."""
        spans = zip(self.rows(), self.found, strict=True)
        return {
            "counts": self.counts,
            "sound": self.is_sound,
            "spans": [row | {"places": own.places} for row, own in spans],
        }

    def summary(self) -> str:
        """Return how many spans still have their text."""
        state = "All" if self.is_sound else "Not all"
        found = ", ".join(f"{number} {kind}" for kind, number in self.counts.items() if number)
        return f"{state} judged text is in its place: {plural(len(self.found), 'span')}, {found}."

    def tables(self) -> list[Table]:
        """Return how many spans are of each kind, and the spans that are not in their place."""
        counts = (str(len(self.found)), *map(str, self.counts.values()))
        note = "Of spans without a quote only the offsets are checked (--quote adds quotes)."
        title = "Gold spans and the text they quote"
        notes = (note,) if self.unchecked else ()
        tables = [Table(("spans", *KINDS), (counts,), labels=0, title=title, notes=notes)]
        rows = []
        for row, own in zip(self.rows(), self.found, strict=True):
            if not own.is_sound:
                where, span = f"{row['file']}:{row['line']}", f"[{row['start']},{row['end']})"
                now = ", ".join(f"[{a},{b})" for a, b in own.places) or "-"
                alike = "" if own.similarity is None else f"{own.similarity:.2f}"
                rows.append((where, row["topic"], row["doc"], span, own.kind, now, alike, own.note))
        if rows:
            header = ("read at", "topic", "document", "span", "is", "now", "similarity", "note")
            tables.append(Table(header, tuple(rows), labels=3, title="Spans that are not exact"))
        return tables

    # -- repair ----------------------------------------------------------------------------------

    def repair(self, *, quote: bool = False) -> Repair:
        """Move spans to their present places, and entry points with them.

        Nothing is guessed: ambiguous, changed and lost spans stay as they are and are listed. A
        length is that of the present document, or unknown if a span would lie beyond it.

        Parameters
        ----------
        quote : bool
            Add a quote and context to spans without one, in documents that did not change.
        """
        truth = self.judgements
        columns = (truth.start, truth.end, truth.bep, truth.length)
        start, end, bep, length = (column.copy() for column in columns)
        # Documents that changed since they were judged, by their other spans or the index.
        owners = [truth.doc[row] for row in truth.row.tolist()]
        kept = (EXACT, NO_QUOTE)
        drifted = {owners[i] for i, own in enumerate(self.found) if own.kind not in kept}
        drifted |= self.changed
        left = []
        moved = 0
        for span, own in enumerate(self.found):
            if own.kind == MOVED:
                start[span], end[span] = own.places[0]
                moved += 1
            elif not own.is_sound or (own.kind == NO_QUOTE and owners[span] in drifted):
                where = ", ".join(f"[{a},{b})" for a, b in own.places)
                reason = f"{own.kind}, perhaps at {where}" if where else own.kind
                if own.kind == NO_QUOTE:
                    reason = own.note or "no quote, and the document has changed"
                what = f"span [{start[span]},{end[span]}) of document {owners[span]!r}"
                text = f"{what} not moved: {reason}"
                left.append(truth.problem("anchors.span", int(truth.row[span]), text))
        for row in np.flatnonzero(truth.bep >= 0).tolist():
            shift = self._shift_entry(row)
            if shift is None:
                what = f"best entry point {bep[row]} of document {truth.doc[row]!r} not moved"
                text = f"{what}: the spans around it do not show its new place"
                left.append(truth.problem("anchors.bep", row, text))
            bep[row] += shift or 0
        reach = np.maximum(bep, 0)
        np.maximum.at(reach, truth.row, end)
        for row, doc in enumerate(truth.doc):
            if doc in self.lengths and truth.length[row] >= 0:
                length[row] = self.lengths[doc]
        # All rows of a document have the same length, or none has one.
        unfit = truth.doc.filter(pl.Series(reach > length)).unique()
        length[truth.doc.is_in(unfit.implode()).to_numpy()] = UNKNOWN
        # A quote from a document that changed would be of other text.
        added = {s: own for s, own in self.quoted.items() if quote and owners[s] not in drifted}
        quotes = truth.quotes
        if added:
            rows = [(None,) * 3] * len(start) if quotes is None else quotes.rows()
            rows = [added.get(span, row) for span, row in enumerate(rows)]
            quotes = pl.DataFrame(rows, dict.fromkeys(_QUOTES, pl.String), orient="row")
        mended = truth.with_columns(
            start=start, end=end, bep=bep, length=length, quotes=quotes, declared=None
        )
        return Repair(mended, moved, int((bep != truth.bep).sum()), len(added), tuple(left))

    def _shift_entry(self, row: int) -> int | None:
        """Return by how much a best entry point moved with its spans; None if they disagree.

        The span around it decides, else all spans of the document.
        """
        truth, bep = self.judgements, int(self.judgements.bep[row])
        own = range(int(truth.bounds[row]), int(truth.bounds[row + 1]))
        if all(self.found[span].kind in (EXACT, NO_QUOTE) for span in own):
            return 0
        inside = [span for span in own if truth.start[span] <= bep < truth.end[span]]
        shifts = {self.shift(span) for span in inside or own}
        return shifts.pop() if len(shifts) == 1 else None


def verify(
    judgements: Judgements,
    texts: Iterable[tuple[str, str, bool | None]] | Mapping[str, str],
    *,
    similarity: float = 0.7,
) -> Anchors:
    """Find every judged span in the present text of its document.

    Parameters
    ----------
    judgements : Judgements
        Judgements with quotes, prefixes and suffixes to check (JSON Lines).
    texts : mapping of document to text, or iterable of (document, text, as_indexed)
        `as_indexed` is True if the text has the hash of an index, None without an index.
    similarity : float
        Minimum similarity of a changed quote, from 0 to 1.

    Examples
    --------
    >>> from foveal.formats import read_judgements
    >>> from foveal.files.source import Source
    >>> line = '{"topic":"1","doc":"d","spans":[{"start":0,"end":5,"quote":"to be"}]}'
    >>> truth = read_judgements(Source.of_text(line, "j.jsonl"))
    >>> anchors = verify(truth, {"d": "Is it to be or not?"})
    >>> anchors.counts["moved"], anchors.repair().judgements.start.tolist()
    (1, [6])
    """
    path = judgements.sources[0].path
    if not judgements.has_text:
        text = "no span has offsets; judgements by XPath get them with 'convert --collection INDEX'"
        raise InputError.at("judgements.no_text", path, None, text)
    if not 0 < similarity <= 1:
        raise UsageError(f"similarity {similarity} is not possible; expected above 0 up to 1")
    given = ((d, t, None) for d, t in texts.items()) if isinstance(texts, Mapping) else texts
    spans: dict[str, list[int]] = {doc: [] for doc in judgements.doc}
    for span, row in enumerate(judgements.row.tolist()):
        spans[judgements.doc[row]].append(span)
    found = [Quoted(LOST, note="its document is not there")] * len(judgements.start)
    quotes = [(None,) * 3] * len(found)
    if judgements.quotes is not None:
        quotes = judgements.quotes.select(*_QUOTES).rows()
    lengths: dict[str, int] = {}
    changed = set[str]()
    quoted: dict[int, tuple[str, str, str]] = {}
    for doc, text, as_indexed in given:
        if doc not in spans:
            continue
        lengths[doc] = len(text)
        if as_indexed is False:
            changed.add(doc)
        there = Quotations(text, similarity=similarity)
        for span in spans[doc]:
            start, end = int(judgements.start[span]), int(judgements.end[span])
            found[span] = there.find(Quote(start, end, *quotes[span]))
            if found[span].kind == NO_QUOTE and found[span].places and start < end:
                before, after = text[max(start - CONTEXT, 0) : start], text[end : end + CONTEXT]
                quoted[span] = (text[start:end], before, after)
    if not lengths and len(judgements):
        names = f"{plural(len(spans), 'judged document')} ({judgements.doc[0]}, ...)"
        text = f"none of the {names} is among the texts; their documents or names are others"
        raise InputError.at("anchors.mismatch", path, None, text)
    return Anchors(judgements, tuple(found), lengths, frozenset(changed), quoted)


def closest_places(text: str, quote: str) -> Iterator[Place]:
    """Yield up to three places where many pieces of a quote are about as far apart as in it."""
    size = min(16, max(3, len(quote) // 4))
    last = max(len(quote) - size, 0)
    slack = max(len(quote) // 4, 8)
    votes, begins = Counter[int](), dict[int, int]()
    for offset in sorted({last * i // 23 for i in range(24)}):
        found = [*occurrences(text, quote[offset : offset + size])]
        for start in found if len(found) <= 50 else ():  # a common piece says nothing
            votes[(start - offset) // slack] += 1
            begins.setdefault((start - offset) // slack, start - offset)
    wanted = _split(quote, quote)
    for bucket, _ in votes.most_common(3):
        low = max(begins[bucket] - slack, 0)
        there = _split(text[low : begins[bucket] + len(quote) + slack], quote)
        blocks = SequenceMatcher(None, wanted, there, autojunk=False).get_matching_blocks()[:-1]
        if blocks:
            first, (a, b, length) = blocks[0], blocks[-1]
            start = low + len("".join(there[: first.b])) - len("".join(wanted[: first.a]))
            end = low + len("".join(there[: b + length])) + len("".join(wanted[a + length :]))
            yield max(start, 0), min(end, len(text))


def similarity(quote: str, text: str) -> float:
    """Return how much a quote and a text have in common, from 0 to 1."""
    return SequenceMatcher(None, _split(quote, quote), _split(text, quote), autojunk=False).ratio()


def _split(text: str, quote: str) -> list[str]:
    """Return the characters of a text, or its words if the quote is long."""
    return re.findall(r"\w+|\W", text) if len(quote) > _LONG else list(text)
