"""Do judged spans still hold their text: every span looked up in its document, and mended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.analysis.quotes import (
    AMBIGUOUS,
    CHANGED,
    EXACT,
    KINDS,
    LOST,
    MOVED,
    NO_QUOTE,
    Quotations,
    Quote,
    Quoted,
)
from foveal.errors import InputError, UsageError, counted
from foveal.model import UNKNOWN, Judgements
from foveal.spans import Ints

__all__ = ["CONTEXT", "Anchors", "Document", "Repair", "verify"]

CONTEXT = 32
"""Characters before and after a span that are kept as its context."""
_QUOTES = ("quote", "prefix", "suffix")


class Document(NamedTuple):
    """A document that judgements are about, as it is now."""

    length: int
    as_indexed: bool | None
    """Whether its text has the hash that the index has of it."""


@dataclass(frozen=True)
class Repair:
    """Judgements with what could be mended mended, and a line about everything else."""

    judgements: Judgements
    spans: int
    """Spans that were moved."""
    entry_points: int
    """Best entry points that were moved with them."""
    quotes: int
    """Spans that got a quote."""
    left: tuple[str, ...]
    """What is as it was and should not be, with the place it was read at."""


@dataclass(frozen=True)
class Anchors:
    """What became of every judged span.

    Attributes
    ----------
    judgements : Judgements
    found : tuple of Quoted
        For each span, in the order of the judgements.
    documents : mapping of str to Document
        Those whose text was there.
    """

    judgements: Judgements
    found: tuple[Quoted, ...]
    documents: Mapping[str, Document]
    quoted: Mapping[int, tuple[str, str, str]]
    """Quote, prefix and suffix for spans that have none, by their number."""

    @property
    def counts(self) -> dict[str, int]:
        """How many spans there are of each kind."""
        kinds = [own.kind for own in self.found]
        return {kind: kinds.count(kind) for kind in KINDS}

    @property
    def unchecked(self) -> int:
        """Spans without a quote, of which only the offsets could be looked at."""
        return sum(own.kind == NO_QUOTE and bool(own.places) for own in self.found)

    @property
    def sound(self) -> bool:
        """Whether every span holds its quote, or without one is within its document."""
        return all(own.kind == EXACT or (own.kind == NO_QUOTE and own.places) for own in self.found)

    def shift(self, span: int) -> int | None:
        """By how much a span moved; None if that is not known."""
        own = self.found[span]
        if own.kind not in (EXACT, MOVED):
            return None
        return own.places[0][0] - int(self.judgements.start[span])

    def _bare(self, span: int) -> bool:
        return self.found[span].kind == NO_QUOTE

    def rows(self) -> Iterator[dict[str, Any]]:
        """A record for each span, in the order of the judgements."""
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
                "places": [list(place) for place in own.places],
                "note": own.note,
            }

    def drift(self) -> Iterator[dict[str, Any]]:
        """A record for each document: how its spans fared, and by how much they moved.

        ``outside`` counts spans without a quote that are not within the document.
        """
        truth = self.judgements
        spans: dict[str, list[int]] = {doc: [] for doc in truth.doc.unique(maintain_order=True)}
        for span, row in enumerate(truth.row.tolist()):
            spans[truth.doc[row]].append(span)
        for doc, own in spans.items():
            document = self.documents.get(doc)
            kinds = [self.found[span].kind for span in own]
            shifts = [shift for span in own if (shift := self.shift(span)) is not None]
            yield {
                "doc": doc,
                "length": None if document is None else document.length,
                "as_indexed": None if document is None else document.as_indexed,
                "spans": len(own),
                **{kind: kinds.count(kind) for kind in KINDS},
                "outside": sum(not self.found[span].places for span in own if self._bare(span)),
                "shifts": sorted(set(shifts)),
            }

    def to_json(self) -> str:
        """Everything that was found."""
        whole = {
            "counts": self.counts,
            "sound": self.sound,
            "documents": [*self.drift()],
            "spans": [*self.rows()],
        }
        return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"

    # -- mending ---------------------------------------------------------------------------------

    def repaired(self, *, quote: bool = False) -> Repair:
        """The judgements with moved spans where they are now, and entry points moved with them.

        Nothing is guessed: what is ambiguous, changed or lost stays as it is and is listed. A
        length is that of the document now, and left out where something would lie beyond it.

        Parameters
        ----------
        quote : bool
            Give a quote and context to spans that have none, in documents that are as they were.
        """
        truth, start, end = (
            self.judgements,
            self.judgements.start.copy(),
            self.judgements.end.copy(),
        )
        left = [*self._unmended()]
        moved = [span for span, own in enumerate(self.found) if own.kind == MOVED]
        for span in moved:
            start[span], end[span] = self.found[span].places[0]
        bep, entries = truth.bep.copy(), 0
        for row in np.flatnonzero(truth.bep >= 0).tolist():
            shift = self._entry_shift(row)
            if shift is None:
                problem = f"best entry point {truth.bep[row]} of document {truth.doc[row]!r}"
                why = "no mended spans around it tell where it is now"
                left.append(
                    str(truth.problem("unclassified", row, f"{problem} left as it is: {why}"))
                )
            else:
                bep[row] += shift
                entries += shift != 0
        texts = self._trusted() if quote else {}
        mended = replace(
            truth,
            start=start,
            end=end,
            bep=bep,
            length=self._lengths(end, bep),
            quotes=self._quotes(texts),
            declared=None,
        )
        return Repair(mended, len(moved), entries, len(texts), tuple(left))

    @cached_property
    def _drifted(self) -> frozenset[str]:
        """Documents that are not what was judged, as their other spans or the index tell."""
        truth = self.judgements
        other = {doc for doc, own in self.documents.items() if own.as_indexed is False}
        return frozenset(other).union(
            truth.doc[row]
            for row, own in zip(truth.row.tolist(), self.found, strict=True)
            if own.kind not in (EXACT, NO_QUOTE)
        )

    def _trusted(self) -> dict[int, tuple[str, str, str]]:
        """Quotes for spans without one; in a document that drifted they would be of other text."""
        doc, row = self.judgements.doc, self.judgements.row
        return {s: own for s, own in self.quoted.items() if doc[int(row[s])] not in self._drifted}

    def _unmended(self) -> Iterator[str]:
        """Spans that stay where they are although they should not, or may not."""
        truth = self.judgements
        for span, own in enumerate(self.found):
            row = int(truth.row[span])
            unsure = own.kind == NO_QUOTE and bool(own.places) and truth.doc[row] in self._drifted
            if own.kind in (EXACT, MOVED) or (own.kind == NO_QUOTE and own.places and not unsure):
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
            yield str(truth.problem("unclassified", row, f"{what} left as it is: {told}{note}"))

    def _entry_shift(self, row: int) -> int | None:
        """By how much a best entry point moved, as the spans around it tell; None if they do not.

        Within a span it moves with it. Between spans that moved alike it moves as they did: text
        that was put in or taken out lies before or after them.
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
        before = max((s for s in own if truth.end[s] < bep), key=lambda s: truth.end[s], default=-1)
        after = min(
            (s for s in own if truth.start[s] > bep), key=lambda s: truth.start[s], default=-1
        )
        if before < 0 and after >= 0 and shifts[after] == 0:
            return 0
        if before < 0 or after < 0 or shifts[before] != shifts[after]:
            return None
        return shifts[before]

    def _lengths(self, end: Ints, bep: Ints) -> Ints:
        """The lengths of the documents now, `UNKNOWN` where what is kept would not fit."""
        truth = self.judgements
        reach = np.maximum(bep, 0)
        np.maximum.at(reach, truth.row, end)
        length = truth.length.copy()
        for row, doc in enumerate(truth.doc):
            document = self.documents.get(doc)
            if document is not None and truth.length[row] >= 0:
                length[row] = document.length
        # All rows of a document say the same length, or none does.
        unfit = {doc for doc, own, far in zip(truth.doc, length, reach, strict=True) if far > own}
        return np.array(
            [UNKNOWN if doc in unfit else own for doc, own in zip(truth.doc, length, strict=True)],
            dtype=np.int64,
        )

    def _quotes(self, texts: Mapping[int, tuple[str, str, str]]) -> pl.DataFrame | None:
        """The quotes of all spans, with these for some of them."""
        truth = self.judgements
        if not texts:
            return truth.quotes
        schema = dict.fromkeys(_QUOTES, pl.String)
        rows = [(None,) * 3] * len(truth.start) if truth.quotes is None else truth.quotes.rows()
        return pl.DataFrame(
            [texts.get(span, row) for span, row in enumerate(rows)], schema=schema, orient="row"
        )


def verify(
    judgements: Judgements,
    texts: Iterable[tuple[str, str, bool | None]] | Mapping[str, str],
    *,
    similarity: float = 0.7,
) -> Anchors:
    """Look up every judged span in its document.

    Parameters
    ----------
    judgements : Judgements
        With quotes, prefixes and suffixes where they are to be checked (JSON Lines).
    texts : mapping of document to text, or texts one after the other
        A text comes as document, text, and whether an index has its hash (None without one).
    similarity : float
        From which a text counts as a changed quote, from 0 to 1.

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
            "unclassified",
            path,
            None,
            "no span has offsets; judgements by XPath get them with 'convert -C INDEX'",
        )
    if not 0 < similarity <= 1:
        raise UsageError(f"similarity {similarity} is not possible; expected above 0 up to 1")
    given = ((d, t, None) for d, t in texts.items()) if isinstance(texts, Mapping) else texts
    spans: dict[str, list[int]] = {doc: [] for doc in judgements.doc}
    for span, row in enumerate(judgements.row.tolist()):
        spans[judgements.doc[row]].append(span)
    found = [Quoted(LOST, note="its document is not there")] * len(judgements.start)
    quotes = (
        [(None, None, None)] * len(found)
        if judgements.quotes is None
        else judgements.quotes.select(*_QUOTES).rows()
    )
    documents: dict[str, Document] = {}
    quoted: dict[int, tuple[str, str, str]] = {}
    for doc, text, as_indexed in given:
        if doc not in spans:
            continue
        documents[doc] = Document(len(text), as_indexed)
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
            "unclassified",
            judgements.sources[0].path,
            None,
            f"none of the {counted(len(spans), 'judged document')} ({judgements.doc[0]}, ...) is "
            "among the texts; they are of other documents, or named otherwise",
        )
    return Anchors(judgements, tuple(found), documents, quoted)
