"""Anchors of judged spans: find quotes in the present text of documents, and repair offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.errors import InputError, UsageError, counted
from foveal.formats.locate import Normalised, Place, closest_places, occurrences, similarity
from foveal.model import UNKNOWN, Judgements
from foveal.model.result_object import Result
from foveal.model.tables import Table

__all__ = [
    "AMBIGUOUS",
    "CHANGED",
    "CONTEXT",
    "EXACT",
    "KINDS",
    "LOST",
    "MOVED",
    "NO_QUOTE",
    "Anchors",
    "Quotations",
    "Quote",
    "Quoted",
    "Repair",
    "TextState",
    "verify",
]

EXACT = "exact"
MOVED = "moved"
AMBIGUOUS = "ambiguous"
CHANGED = "changed"
LOST = "lost"
NO_QUOTE = "no quote"
KINDS = (EXACT, MOVED, AMBIGUOUS, CHANGED, LOST, NO_QUOTE)
CONTEXT = 32
"""Characters before and after a span that are kept as its context."""
_QUOTES = ("quote", "prefix", "suffix")
_BY_CONTEXT = "chosen by its context"
_MOST_PLACES = 4  # of a span in a table


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


class TextState(NamedTuple):
    """The present text of a judged document; nothing is known of one that is missing."""

    length: int | None = None
    as_indexed: bool | None = None
    """True if the text has the hash stored in the index."""


@dataclass(frozen=True)
class Repair:
    """Repaired judgements, and a line about everything that could not be repaired."""

    judgements: Judgements
    spans: int
    """Number of spans moved."""
    entry_points: int
    """Number of best entry points moved with them."""
    quotes: int
    """Number of spans that got a quote."""
    left: tuple[str, ...]
    """Problems that remain, with file and line."""


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
        here = (span.start, span.end)
        if not span.quote:
            beyond = span.end > len(self.text)
            note = f"ends past the {len(self.text)} characters of the document" if beyond else ""
            return Quoted(NO_QUOTE, () if beyond else (here,), note=note)
        places = self._list_places(span.quote)
        if here in places:
            # The quote may be at its offset by chance, and its context elsewhere.
            fitting = [place for place in places if all(self._fits(span, place))]
            if here in fitting:
                return Quoted(EXACT, (here,))
            if len(fitting) == 1:
                return Quoted(MOVED, tuple(fitting), note=_BY_CONTEXT)
            if fitting:
                return Quoted(AMBIGUOUS, places, note="its context is elsewhere, several times")
            return Quoted(EXACT, (here,), note="the text around it has changed")
        if len(places) > 1:
            return self._choose(span, places)
        if not places:
            return self._find_similar(span)
        ((start, end),) = places
        prefix, suffix = span.prefix or "", span.suffix or ""
        around = self.text[max(start - len(prefix), 0) : start], self.text[end : end + len(suffix)]
        alike = [
            similarity(expected, there) >= self.similarity
            for expected, there in zip((prefix, suffix), around, strict=True)
            if expected
        ]
        if alike and not any(alike):
            return Quoted(AMBIGUOUS, places, note="the text around it is another")
        return Quoted(MOVED, places)

    def _list_places(self, quote: str) -> tuple[Place, ...]:
        return tuple((at, at + len(quote)) for at in occurrences(self.text, quote))

    def _fits(self, span: Quote, place: Place) -> tuple[bool, bool]:
        """Compare the prefix and suffix of a span with the text around a place."""
        prefix, suffix = span.prefix or "", span.suffix or ""
        before = place[0] >= len(prefix) and self.text.startswith(prefix, place[0] - len(prefix))
        return before, self.text.startswith(suffix, place[1])

    def _choose(self, span: Quote, places: tuple[Place, ...]) -> Quoted:
        """Choose one of several places by the context; the distance to the old place is ignored."""
        fits = {place: self._fits(span, place) for place in places}
        both = [place for place, sides in fits.items() if all(sides)]
        one = [p for p, (b, a) in fits.items() if (b and span.prefix) or (a and span.suffix)]
        fitting = (both or one) if span.prefix or span.suffix else []
        if len(fitting) == 1:
            return Quoted(MOVED, (fitting[0],), note=_BY_CONTEXT)
        return Quoted(AMBIGUOUS, places)

    def _find_similar(self, span: Quote) -> Quoted:
        """Find the place most similar to a quote that does not occur literally."""
        quote, here = span.quote or "", (span.start, span.end)
        alike = tuple(self._normalised.find(quote))
        note = "white space or characters are written otherwise" if alike else ""
        if here in alike:
            return Quoted(EXACT, (here,), note=note)
        if len(alike) > 1:
            choice = self._choose(span, alike)
            if choice.kind == AMBIGUOUS:
                return choice._replace(note=note)
            alike = choice.places
        near = [*closest_places(self.text, quote)]
        if span.prefix and span.suffix:  # the text between the old context
            before, after = self._list_places(span.prefix), self._list_places(span.suffix)
            if len(before) == 1 and len(after) == 1 and before[0][1] < after[0][0]:
                near.append((before[0][1], after[0][0]))
        candidates = alike or tuple(dict.fromkeys([*near, here]))
        scored = [(similarity(quote, self.text[a:b]), (a, b)) for a, b in candidates if a < b]
        best = max((score for score, _ in scored), default=0.0)
        # An equal text after normalisation counts, however few characters agree literally.
        if best < self.similarity and not alike:
            return Quoted(LOST, similarity=best)
        first, *more = (place for score, place in scored if score == best)
        apart = [place for place in more if place[0] >= first[1] or place[1] <= first[0]]
        if apart:
            places = tuple(sorted((first, *apart)))
            return Quoted(AMBIGUOUS, places, best, "several places are equally like it")
        return Quoted(CHANGED, (first,), best, note)


@dataclass(frozen=True)
class Anchors(Result):
    """The present state of every judged span.

    Attributes
    ----------
    judgements : Judgements
    found : tuple of Quoted
        One for each span, in the order of the judgements.
    documents : mapping of str to TextState
        The documents whose text is known.
    """

    judgements: Judgements
    found: tuple[Quoted, ...]
    documents: Mapping[str, TextState]
    quoted: Mapping[int, tuple[str, str, str]]
    """Quote, prefix and suffix for spans that have none, by their number."""
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

    def drift(self) -> Iterator[dict[str, Any]]:
        """Yield a record for each document: kinds and shifts of its spans.

        ``outside`` counts spans without a quote that are not within the document.
        """
        for doc, own in _list_spans(self.judgements).items():
            document = self.documents.get(doc, TextState())
            kinds = [self.found[span].kind for span in own]
            yield {
                "doc": doc,
                **document._asdict(),
                "spans": len(own),
                **{kind: kinds.count(kind) for kind in KINDS},
                "outside": sum(self.found[s][:2] == (NO_QUOTE, ()) for s in own),
                "shifts": sorted({shift for s in own if (shift := self.shift(s)) is not None}),
            }

    def parts(self) -> dict[str, Any]:
        """Return counts, documents and spans, with all places of each span."""
        spans = zip(self.rows(), self.found, strict=True)
        return {
            "counts": self.counts,
            "sound": self.is_sound,
            "documents": list(self.drift()),
            "spans": [row | {"places": own.places} for row, own in spans],
        }

    def summary(self) -> str:
        """Return how many spans still have their text."""
        if not self.is_sound:
            found = ", ".join(f"{n} {kind}" for kind, n in self.counts.items() if n)
            number = counted(len(self.found), "span")
            return f"Not all judged text is in its place: of {number}, {found}."
        within = f"{counted(self.unchecked, 'span')} without a quote: only offsets were checked"
        if self.unchecked == len(self.found):
            return f"No text was compared. {within}."
        number = counted(len(self.found) - self.unchecked, "span")
        more = f" {within}." if self.unchecked else ""
        return f"All judged text is in its place: {number}.{more}"

    def tables(self) -> list[Table]:
        """Return how many spans are of each kind, changed documents, and spans not exact."""
        spans = counted(self.unchecked, "span")
        note = f"Only the offsets of {spans} could be checked: no quote (--quote adds quotes)."
        tables = [
            Table(
                ("spans", *KINDS),
                ((str(len(self.found)), *map(str, self.counts.values())),),
                labels=0,
                title="Gold spans and the text they quote",
                notes=(note,) if self.unchecked else (),
            )
        ]
        rows: list[tuple[str, ...]] = []
        for own in self.drift():
            beyond = own["spans"] - own[EXACT] - own[NO_QUOTE] + own["outside"]
            if beyond or own["as_indexed"] is False or own["length"] is None:
                shifts = dict.fromkeys(f"{n:+d}" for n in own["shifts"][:1] + own["shifts"][-1:])
                length = "missing" if own["length"] is None else str(own["length"])
                hashed = {None: "-", True: "same", False: "other"}[own["as_indexed"]]
                numbers = (str(own[name]) for name in ("spans", *KINDS))
                rows.append((own["doc"], length, hashed, *numbers, " to ".join(shifts) or "-"))
        if rows:
            columns = ("document", "length", "hash", "spans", *KINDS, "shift")
            title = "Documents with spans that are not exact, or with another text than was indexed"
            tables.append(Table(columns, tuple(rows), title=title))
        rows = []
        for row, found in zip(self.rows(), self.found, strict=True):
            if not found.is_sound:
                now = [f"[{a},{b})" for a, b in found.places[:_MOST_PLACES]] or ["-"]
                now += ["..."] if len(found.places) > _MOST_PLACES else []
                alike = found.similarity
                notes = ["" if alike is None else f"similarity {alike:.2f}", found.note]
                where = f"{row['file']}:{row['line']}"
                span = f"[{row['start']},{row['end']})"
                told = (row["topic"], row["doc"], span, found.kind, ", ".join(now))
                rows.append((where, *told, "; ".join(filter(None, notes))))
        if rows:
            header = ("read at", "topic", "document", "span", "is", "now", "")
            tables.append(Table(header, tuple(rows), labels=3, title="Spans that are not exact"))
        return tables

    # -- repair ----------------------------------------------------------------------------------

    def repaired(self, *, quote: bool = False) -> Repair:
        """Move spans to their present places, and entry points with them.

        Nothing is guessed: ambiguous, changed and lost spans stay as they are and are listed. A
        length is that of the present document, or unknown if a span would lie beyond it.

        Parameters
        ----------
        quote : bool
            Add a quote and context to spans without one, in documents that did not change.
        """
        truth = self.judgements
        start, end, bep, length = (
            column.copy() for column in (truth.start, truth.end, truth.bep, truth.length)
        )
        left = list(self._list_unrepaired())
        moved = [span for span, own in enumerate(self.found) if own.kind == MOVED]
        for span in moved:
            start[span], end[span] = self.found[span].places[0]
        entries = 0
        for row in np.flatnonzero(truth.bep >= 0).tolist():
            shift = self._shift_entry(row)
            if shift is None:
                text = (
                    f"best entry point {truth.bep[row]} of document {truth.doc[row]!r} left as it "
                    "is: no mended spans around it tell where it is now"
                )
                left.append(str(truth.problem("anchors.bep", row, text)))
            else:
                bep[row] += shift
                entries += shift != 0
        reach = np.maximum(bep, 0)
        np.maximum.at(reach, truth.row, end)
        for row, doc in enumerate(truth.doc):
            now = self.documents.get(doc, TextState()).length
            if now is not None and truth.length[row] >= 0:
                length[row] = now
        # All rows of a document have the same length, or none has one.
        unfit = truth.doc.filter(pl.Series(reach > length)).unique()
        length[truth.doc.is_in(unfit.implode()).to_numpy()] = UNKNOWN
        # A quote from a document that changed would be of other text.
        added = {
            span: own
            for span, own in self.quoted.items()
            if quote and truth.doc[int(truth.row[span])] not in self._drifted
        }
        quotes = truth.quotes
        if added:
            rows = [(None,) * 3] * len(truth.start) if quotes is None else quotes.rows()
            quotes = pl.DataFrame(
                [added.get(span, row) for span, row in enumerate(rows)],
                schema=dict.fromkeys(_QUOTES, pl.String),
                orient="row",
            )
        mended = truth.with_columns(
            start=start, end=end, bep=bep, length=length, quotes=quotes, declared=None
        )
        return Repair(mended, len(moved), entries, len(added), tuple(left))

    @cached_property
    def _drifted(self) -> frozenset[str]:
        """Documents that changed since they were judged, by their other spans or the index."""
        truth = self.judgements
        other = {doc for doc, own in self.documents.items() if own.as_indexed is False}
        return frozenset(other).union(
            truth.doc[row]
            for row, own in zip(truth.row.tolist(), self.found, strict=True)
            if own.kind not in (EXACT, NO_QUOTE)
        )

    def _list_unrepaired(self) -> Iterator[str]:
        """Yield a line about each span that stays although its place is wrong or doubtful."""
        truth = self.judgements
        for span, own in enumerate(self.found):
            row = int(truth.row[span])
            unsure = own.kind == NO_QUOTE and own.is_sound and truth.doc[row] in self._drifted
            if own.kind == MOVED or (own.is_sound and not unsure):
                continue
            what = f"span [{truth.start[span]},{truth.end[span]}) of document {truth.doc[row]!r}"
            where = ", ".join(f"[{a},{b})" for a, b in own.places)
            told = {
                AMBIGUOUS: f"ambiguous, it may be {where}",
                CHANGED: f"changed, at {where} is something like it ({own.similarity or 0:.2f})",
                LOST: "lost",
                NO_QUOTE: "without a quote",
            }[own.kind]
            why = "the document is not as it was" if unsure else own.note
            note = f" ({why})" if why else ""
            yield str(truth.problem("anchors.span", row, f"{what} left as it is: {told}{note}"))

    def _shift_entry(self, row: int) -> int | None:
        """Return by how much a best entry point moved with the spans around it; None if unknown.

        Within a span it moves with it. Between spans that moved equally it moves like them: text
        was inserted or deleted before or after them.
        """
        truth, bep = self.judgements, int(self.judgements.bep[row])
        own = range(int(truth.bounds[row]), int(truth.bounds[row + 1]))
        shifts = {span: self.shift(span) for span in own}
        if all(self.found[span].kind in (EXACT, NO_QUOTE) for span in own):
            return 0
        around = [s for s in own if truth.start[s] <= bep <= truth.end[s]]
        inside = {shifts[s] for s in around if bep < truth.end[s]} or {shifts[s] for s in around}
        if inside:
            return inside.pop() if len(inside) == 1 else None
        by_end, by_start = (sorted(own, key=ends.__getitem__) for ends in (truth.end, truth.start))
        before = [shifts[s] for s in by_end if truth.end[s] < bep][-1:]
        after = [shifts[s] for s in by_start if truth.start[s] > bep][:1]
        if not before and after == [0]:
            return 0
        return before[0] if before and before == after else None


def _list_spans(judgements: Judgements) -> dict[str, list[int]]:
    """Return the spans of each document."""
    docs = judgements.doc.to_list()
    spans: dict[str, list[int]] = {doc: [] for doc in docs}
    for span, row in enumerate(judgements.row.tolist()):
        spans[docs[row]].append(span)
    return spans


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
    >>> anchors.counts["moved"], anchors.repaired().judgements.start.tolist()
    (1, [6])
    """
    if not judgements.has_text:
        path = judgements.sources[0].path
        raise InputError.at(
            "judgements.no_text",
            path,
            None,
            "no span has offsets; judgements by XPath get them with 'convert --collection INDEX'",
        )
    if not 0 < similarity <= 1:
        raise UsageError(f"similarity {similarity} is not possible; expected above 0 up to 1")
    given = ((d, t, None) for d, t in texts.items()) if isinstance(texts, Mapping) else texts
    spans = _list_spans(judgements)
    found = [Quoted(LOST, note="its document is not there")] * len(judgements.start)
    quotes = (
        [(None, None, None)] * len(found)
        if judgements.quotes is None
        else judgements.quotes.select(*_QUOTES).rows()
    )
    documents: dict[str, TextState] = {}
    quoted: dict[int, tuple[str, str, str]] = {}
    for doc, text, as_indexed in given:
        if doc not in spans:
            continue
        documents[doc] = TextState(len(text), as_indexed)
        there = Quotations(text, similarity=similarity)
        for span in spans[doc]:
            start, end = int(judgements.start[span]), int(judgements.end[span])
            found[span] = there.find(Quote(start, end, *quotes[span]))
            if found[span].kind == NO_QUOTE and found[span].places and start < end:
                quoted[span] = (
                    text[start:end],
                    text[max(start - CONTEXT, 0) : start],
                    text[end : end + CONTEXT],
                )
    if not documents and len(judgements):
        raise InputError.at(
            "anchors.mismatch",
            judgements.sources[0].path,
            None,
            f"none of the {counted(len(spans), 'judged document')} ({judgements.doc[0]}, ...) is "
            "among the texts; they are of other documents, or named otherwise",
        )
    return Anchors(judgements, tuple(found), documents, quoted)
