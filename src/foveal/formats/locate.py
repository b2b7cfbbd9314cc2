"""Spans given by their text, located in documents: exactly, else however characters are written."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.errors import Problem, UsageError, shorten_list
from foveal.formats.objects import GIVE_TEXTS
from foveal.formats.rows import MAX_OFFSET, raise_problems

Place = tuple[int, int]

# How a place was found: by its offsets, near them, or by a quote; or it was not.
GIVEN, MOVED, EXACT, NORMALISED, EMPTY = "given", "moved", "exact", "normalised", "empty"
NEAR = 100  # characters by which a quote may be moved
# Soft hyphens and characters without width, which text extraction adds and drops.
_IGNORED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
# Curly quotation marks and dashes, and the character of a keyboard for each.
_SAME = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-")
)


def occurrences(text: str, wanted: str) -> Iterator[int]:
    """Yield the starts of a text in another, overlapping ones too."""
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def shorten_text(text: str) -> str:
    """Return the beginning of a text in quotation marks, for a message."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


class Normalised:
    r"""A text in which white space and ways to write a character do not matter.

    Characters are decomposed (NFKD), so that ligatures, composed and decomposed accents and wide
    forms are equal. Curly quotation marks are straight, and dashes are hyphens. White space of any
    length is one blank; soft hyphens and characters without width are left out. Places refer to
    the original characters.

    >>> text = Normalised("The e\u0301le\u0300ve  of\nthe ﬁrst")
    >>> text.text == unicodedata.normalize("NFKD", "The élève of the first")
    True
    >>> text.find("élève of"), text.find("first"), text.find("irst")
    ([(4, 15)], [(20, 24)], [])
    """

    def __init__(self, text: str) -> None:
        written = {ord(character): _decompose(character) for character in {*text}}
        lengths = {point: len(own) for point, own in written.items()}
        source = np.repeat(np.arange(len(text)), [lengths[ord(own)] for own in text])
        spelled = text.translate(written)
        is_blank = np.frombuffer(spelled.encode("utf-32-le", "surrogatepass"), "<u4") == ord(" ")
        self._source = source[~is_blank | ~np.append([False], is_blank[:-1])[: len(is_blank)]]
        self.text = re.sub(" +", " ", spelled)

    def find(self, wanted: str) -> list[Place]:
        """Return all places of a text in the original, from its first to its last character."""
        own, found, source = normalise(wanted), [], self._source
        for at in occurrences(self.text, own):
            until = at + len(own)
            is_whole = at == 0 or source[at - 1] < source[at]
            if until < len(source):  # neither a ligature nor an accent is cut
                is_whole &= source[until - 1] < source[until]
                is_whole &= not unicodedata.combining(self.text[until])
            if is_whole:
                found.append((int(source[at]), int(source[until - 1]) + 1))
        return found


def normalise(text: str) -> str:
    """Return a text stripped and normalised, ready to search in normalised texts."""
    return str(Normalised(text).text).strip(" ")


def _decompose(character: str) -> str:
    if character in _IGNORED:
        return ""
    if character.isspace():
        return " "
    return unicodedata.normalize("NFKD", character.translate(_SAME)).translate(_SAME)


# -- spans in documents ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A span as its source gives it: by offsets, by a quote, or by both.

    A span with a start and no end goes on for the length of its quote; without a quote, to the end
    of its document.
    """

    doc: str | None  # None if only the quote says which document it is
    start: int | None = None
    end: int | None = None
    quote: str | None = None
    prefix: str | None = None  # the text before the quote
    suffix: str | None = None  # the text after it
    within: TextSpan | None = None  # the span that this one refines: offsets count from its start
    is_loose: bool = False  # white space and ways to write a character of the quote do not matter
    together: Sequence[str] | None = None  # the quotes that show which document it is


class PlacedSpan(NamedTuple):
    """The place of a span and how it was found; a judged document has no start and end."""

    doc: str
    start: int | None
    end: int | None
    how: str = GIVEN


class UnplacedSpanError(Exception):
    """A span without a place: the code of the problem, and the message."""


class TextLocator:
    """The texts of documents, in which spans get their place: offsets are checked, quotes found.

    It looks for the exact characters first, then with white space and characters normalised. A
    text that occurs more than once in its document has a place only if its context decides.

    Offsets in documents without text are taken as they are. A quote without one place is an error,
    or becomes an empty span if `unplaced` is ``empty``. With `repair` a quote that is not at its
    offset moves to the only place within 100 characters.

    >>> locator = TextLocator({"d": "To be, or not to be."}, repair=True)
    >>> locator.find("d", "or not"), locator.find("d", "be")
    ([(7, 13)], [(3, 5), (17, 19)])
    >>> locator.find("d", "be", prefix="not to ")
    [(17, 19)]
    >>> locator.place(TextSpan("d", quote="be,  or"))
    PlacedSpan(doc='d', start=3, end=9, how='normalised')
    >>> locator.place(TextSpan("d", 6, quote="or not"))
    PlacedSpan(doc='d', start=7, end=13, how='moved')
    """

    def __init__(
        self, texts: Mapping[str, str] | None, *, unplaced: str = "error", repair: bool = False
    ) -> None:
        if texts is not None and not isinstance(texts, Mapping):
            found = type(texts).__name__
            raise UsageError(f"texts is a {found}; expected a mapping of documents to texts")
        if unplaced not in ("error", "empty"):
            raise UsageError(f"unplaced {unplaced!r} is not one of error, empty")
        self.texts, self.unplaced, self.repair = texts, unplaced, repair
        self._found: dict[tuple[str, str, Place], list[Place]] = {}
        self._normalised: dict[str, Normalised] = {}

    def text(self, doc: str) -> str | None:
        """Return the text of a document, None if it is not known."""
        return None if self.texts is None else self.texts.get(doc)

    def find(
        self,
        doc: str,
        text: str,
        *,
        prefix: str | None = None,
        suffix: str | None = None,
        outer: Place = (0, MAX_OFFSET),
    ) -> list[Place]:
        """Return the places of a text in a document or a part; context chooses among several."""
        whole = self.text(doc)
        if whole is None or not text.strip():
            return []
        key = (doc, text, outer)
        if key not in self._found:
            low, high = outer
            exact = [(at, at + len(text)) for at in occurrences(whole, text)]
            places = [own for own in exact if low <= own[0] and own[1] <= high]
            if not places:
                if doc not in self._normalised:
                    self._normalised[doc] = Normalised(whole)
                loose = self._normalised[doc].find(text)
                places = [own for own in loose if low <= own[0] and own[1] <= high]
            self._found[key] = places
        places = self._found[key]
        if len(places) == 1 or not (prefix or suffix):
            return places
        before, after = normalise(prefix or ""), normalise(suffix or "")
        room = 2 * max(len(prefix or ""), len(suffix or "")) + 100
        fitting = [
            (start, end)
            for start, end in places
            if normalise(whole[max(start - room, 0) : start]).endswith(before)
            and normalise(whole[end : end + room]).startswith(after)
        ]
        return fitting if len(fitting) == 1 else places

    def find_document(self, quotes: Sequence[str]) -> str:
        """Return the only document that holds all these quotes."""
        if self.texts is None:
            raise UnplacedSpanError("span.needs_text", f"a quote names no document; {GIVE_TEXTS}")
        docs = [*self.texts]
        for quote in quotes:
            exact = [doc for doc in docs if quote.strip() and quote in self.texts[doc]]
            docs = exact or [doc for doc in docs if self.find(doc, quote)]
        # A document may be known by two names.
        docs = [*{id(self.texts[doc]): doc for doc in reversed(docs)}.values()][::-1]
        if len(docs) == 1:
            return docs[0]
        code, number = "span.not_found", "no document holds"
        if docs:
            code, number = "span.ambiguous", f"several documents ({shorten_list(docs)}) hold"
        shown = ", ".join(map(shorten_text, quotes))
        raise UnplacedSpanError(code, f"doc is missing, and {number} {shown}; give doc")

    def place(self, span: TextSpan) -> PlacedSpan:
        """Return the place of a span; raise `UnplacedSpanError` if it has none.

        A quote with offsets is compared with the text there.
        """
        doc, quote = span.doc, span.quote
        if doc == "":
            raise UnplacedSpanError("gold.structure", "the document has no name")
        if span.start is None and quote is None and doc is not None:
            return PlacedSpan(doc, None, None)
        doc = self.find_document(span.together or [quote or ""]) if doc is None else doc
        outer = (0, MAX_OFFSET)
        if span.within is not None:
            _, start, end, _ = self.place(span.within)
            outer = start or 0, end or 0
        if span.start is None:
            return self._locate(span, doc, outer)
        text, start = self.text(doc), outer[0] + span.start
        if span.end is not None:
            end = outer[0] + span.end
        elif quote is None and text is None:
            message = f"it goes on to the end of document {doc!r}; give its text (--texts)"
            raise UnplacedSpanError("span.needs_text", message)
        else:
            end = len(text or "") if quote is None else start + len(quote)
        if text is not None and quote is not None:
            there = text[max(start, 0) : max(end, 0)]
            is_same = there == quote and start >= 0
            if not is_same and not (span.is_loose and normalise(there) == normalise(quote)):
                places = sorted(occurrences(text, quote), key=lambda at: abs(at - start))
                near = [at for at in places if abs(at - start) <= NEAR]
                if self.repair and len(near) == 1:
                    return PlacedSpan(doc, near[0], near[0] + len(quote), MOVED)
                message = f"the span [{start},{end}) of document {doc!r} holds "
                message += f"{shorten_text(there)}; expected {shorten_text(quote)}"
                if places:
                    message += f", which is at [{places[0]},{places[0] + len(quote)})"
                raise UnplacedSpanError("span.quote", message)
        if not 0 <= start <= end <= MAX_OFFSET:
            message = f"[{start},{end}) is not a span; expected 0 <= start <= end <= {MAX_OFFSET}"
            raise UnplacedSpanError("span.offset", message)
        if end > min(outer[1], MAX_OFFSET if text is None else len(text)):
            past = f"the {len(text or '')} characters of document {doc!r}"
            past = "the span that it refines" if end > outer[1] else past
            raise UnplacedSpanError("span.past_end", f"[{start},{end}) ends past {past}")
        return PlacedSpan(doc, start, end)

    def _locate(self, span: TextSpan, doc: str, outer: Place) -> PlacedSpan:
        """Return the place of a quote in its document or a part of it."""
        quote, text = span.quote or "", self.text(doc)
        if self.texts is None:
            message = f"a span of document {doc!r} has a quote and no offsets; {GIVE_TEXTS}"
            raise UnplacedSpanError("span.needs_text", message)
        places = self.find(doc, quote, prefix=span.prefix, suffix=span.suffix, outer=outer)
        if text is not None and len(places) == 1:
            how = EXACT if text[slice(*places[0])] == quote else NORMALISED
            return PlacedSpan(doc, *places[0], how)
        if self.unplaced == "empty":
            return PlacedSpan(doc, 0, 0, EMPTY)
        shown = f"the text {shorten_text(quote)} is"
        if text is None:
            code, message = "span.unknown_document", f"document {doc!r} is not among the texts"
        elif not places:
            code, message = "span.not_found", f"{shown} not in document {doc!r}"
        else:
            where = f"{len(places)} times, at {shorten_list([str(start) for start, _ in places])}"
            code, message = "span.ambiguous", f"{shown} in document {doc!r} {where}; "
            message += "give start and end, or the prefix or suffix of a quote"
        raise UnplacedSpanError(code, message)

    def place_all(
        self, spans: Iterable[tuple[int, str, TextSpan]], path: str, dropped: Collection[str] = ()
    ) -> list[PlacedSpan | None]:
        """Return the places of spans, given with their line and the beginning of messages.

        Spans with a problem of the codes `dropped` are None; all other problems are raised.
        """
        placed, problems = list[PlacedSpan | None](), list[Problem]()
        for line, where, span in spans:
            try:
                placed.append(self.place(span))
            except UnplacedSpanError as error:
                placed.append(None)
                code, message = error.args
                if code not in dropped:
                    problems.append(Problem(code, path, line, f"{where}{message}"))
        raise_problems(problems)
        return placed


def place_rows(
    frame: pl.DataFrame,
    path: str,
    locator: TextLocator,
    is_asked: pl.Series | None = None,
    where: str = "",
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return rows with ``doc``, ``start``, ``end`` and ``size`` of the document; and notes.

    Rows have ``line``, ``doc``, ``start``, ``end``, ``text``, and maybe ``prefix`` and ``suffix``.
    All texts of an ``object`` without ``doc`` are looked for in the same document. Rows that are
    not asked for stay as they are. `where` begins messages, with names of columns to be filled in.
    """
    frame = frame.with_columns(size=pl.lit(None, dtype=pl.Int64)).with_row_index("at")
    asked = frame if is_asked is None else frame.filter(is_asked)
    if "object" in frame.columns:
        unnamed = asked.filter(pl.col("doc").fill_null("") == "")
        quotes = unnamed.group_by("object").agg(together="text")
        asked = asked.join(quotes, on="object", how="left", maintain_order="left")
    spans = []
    for row in asked.iter_rows(named=True):
        names = ("start", "end", "prefix", "suffix", "together")
        given: dict[str, Any] = {name: row.get(name) for name in names}
        span = TextSpan(row["doc"] or None, quote=row["text"], **given)
        spans.append((row["line"], where.format(**row), span))
    placed: list[Any] = locator.place_all(spans, path)
    found = pl.DataFrame(
        [(*own[:3], len(locator.text(own.doc) or "")) for own in placed],
        schema={"doc": pl.String, "start": pl.Int64, "end": pl.Int64, "size": pl.Int64},
        orient="row",
    )
    frame = frame.update(found.with_columns(asked["at"]), on="at").sort("at").drop("at")
    how = Counter(own.how for own in placed)
    notes = {
        "spans located only with white space and characters normalised": how[NORMALISED],
        "texts without a place of their own in their document, left empty": how[EMPTY],
    }
    return frame, tuple(f"{text}: {number}" for text, number in notes.items() if number)
