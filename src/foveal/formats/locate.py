"""Spans given by their text, located in documents: exactly, else however characters are written."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np

from foveal.errors import Problem, UsageError, counted, some
from foveal.formats.objects import GIVE_TEXTS
from foveal.formats.rows import MAX_OFFSET, raise_problems

Place = tuple[int, int]

EXACT, NORMALISED, AMBIGUOUS = "exact", "normalised", "ambiguous"
ABSENT, NO_DOCUMENT = "absent", "no document"
GIVEN, MOVED = "given", "moved"
NEAR = 100  # characters by which a quote may be moved
_CODES = {
    AMBIGUOUS: "span.ambiguous",
    ABSENT: "span.not_found",
    NO_DOCUMENT: "span.unknown_document",
}
# Soft hyphens and characters without width, which text extraction adds and drops.
_IGNORED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
# Curly quotation marks and dashes, and the character of a keyboard for each.
_SAME = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-")
)
_LONG = 1000  # longer texts are compared by words, which takes a hundredth of the time


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
    """Return a text without white space around it, as it is searched for in normalised texts."""
    return str(Normalised(text).text).strip(" ")


def _decompose(character: str) -> str:
    if character in _IGNORED:
        return ""
    if character.isspace():
        return " "
    return unicodedata.normalize("NFKD", character.translate(_SAME)).translate(_SAME)


# -- spans in documents ----------------------------------------------------------------------------


class Match(NamedTuple):
    """The places of a text in a document; `how` is `EXACT`, `NORMALISED`, `AMBIGUOUS` and so on."""

    how: str
    places: tuple[Place, ...] = ()


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


class PlacedSpan(NamedTuple):
    """The place of a span, and how it was found: `GIVEN`, `MOVED`, or as a `Match`.

    A judged document, given without offsets and quote, has no start and end.
    """

    doc: str
    start: int | None
    end: int | None
    how: str = GIVEN


class UnplacedSpanError(Exception):
    """A span without a place, with the code of the problem."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(eq=False)
class TextLocator(Mapping[str, str]):
    """The texts of documents, in which spans get their place: offsets are checked, quotes found.

    It looks for the exact characters first, then with white space and characters normalised. A
    text that occurs more than once in its document has a place only if its context decides.

    Offsets in documents without text are taken as they are. By `ambiguous` a text that occurs more
    than once is an error, is taken at its first place, or becomes an empty span; `missing` is the
    same for one that does not occur. With `repair` a quote that is not at its offset moves to the
    only place within 100 characters.

    >>> locator = TextLocator({"d": "To be, or not to be."}, repair=True)
    >>> locator.find("d", "or not"), locator.find("d", "is").how
    (Match(how='exact', places=((7, 13),)), 'absent')
    >>> locator.find("d", "be").how, locator.find("d", "be", prefix="not to ").places
    ('ambiguous', ((17, 19),))
    >>> locator.place(TextSpan("d", quote="be,  or"))
    PlacedSpan(doc='d', start=3, end=9, how='normalised')
    >>> locator.place(TextSpan("d", 6, quote="or not"))
    PlacedSpan(doc='d', start=7, end=13, how='moved')
    """

    texts: Mapping[str, str] | None
    ambiguous: str = "error"
    missing: str = "error"
    repair: bool = False
    _found: dict[Any, list[Place]] = field(default_factory=dict, repr=False)
    _normalised: dict[str, Normalised] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.texts is not None and not isinstance(self.texts, Mapping):
            found = type(self.texts).__name__
            raise UsageError(f"texts is a {found}; expected a mapping of documents to texts")
        allowed = {"ambiguous": ("error", "first", "empty"), "missing": ("error", "empty")}
        for name, words in allowed.items():
            if getattr(self, name) not in words:
                raise UsageError(f"{name} {getattr(self, name)!r} is not one of {', '.join(words)}")

    def __getitem__(self, doc: str) -> str:
        return (self.texts or {})[doc]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts or ())

    def __len__(self) -> int:
        return len(self.texts or ())

    def find(
        self,
        doc: str,
        text: str,
        *,
        prefix: str | None = None,
        suffix: str | None = None,
        within: Place | None = None,
    ) -> Match:
        """Return the places of a text in a document or a part of it; context chooses among them."""
        whole = self.get(doc)
        if whole is None:
            return Match(NO_DOCUMENT)
        key = (doc, text, within)
        if key not in self._found:
            low, high = within or (0, len(whole))
            places = [(at, at + len(text)) for at in occurrences(whole, text) if text.strip()]
            places = [own for own in places if low <= own[0] and own[1] <= high]
            if not places and text.strip():
                if doc not in self._normalised:
                    self._normalised[doc] = Normalised(whole)
                loose = self._normalised[doc].find(text)
                places = [own for own in loose if low <= own[0] and own[1] <= high]
            self._found[key] = places
        places = self._found[key]
        if len(places) > 1 and (prefix or suffix):
            before, after = normalise(prefix or ""), normalise(suffix or "")
            room = 2 * max(len(prefix or ""), len(suffix or "")) + 100
            fitting = [
                (start, end)
                for start, end in places
                if normalise(whole[max(start - room, 0) : start]).endswith(before)
                and normalise(whole[end : end + room]).startswith(after)
            ]
            places = fitting if len(fitting) == 1 else places
        if len(places) != 1:
            return Match(AMBIGUOUS if places else ABSENT, tuple(places))
        return Match(EXACT if whole[slice(*places[0])] == text else NORMALISED, tuple(places))

    def find_document(self, quotes: Sequence[str]) -> str:
        """Return the only document that holds all these quotes."""
        if self.texts is None:
            message = f"a quote names no document; {GIVE_TEXTS}"
            raise UnplacedSpanError("span.needs_text", message)
        docs = [*self.texts]
        for quote in quotes:
            exact = [doc for doc in docs if quote.strip() and quote in self.texts[doc]]
            docs = exact or [doc for doc in docs if self.find(doc, quote).places]
        # A document may be known by two names.
        docs = [*{id(self.texts[doc]): doc for doc in reversed(docs)}.values()][::-1]
        if len(docs) == 1:
            return docs[0]
        shown = ", ".join(map(shorten_text, quotes))
        if docs:
            message = f"doc is missing, and several documents hold {shown}: {some(docs)}; give doc"
            raise UnplacedSpanError("span.ambiguous", message)
        message = f"doc is missing, and no document holds {shown}"
        raise UnplacedSpanError("span.not_found", message)

    def place(self, span: TextSpan) -> PlacedSpan:
        """Return the place of a span; raise `UnplacedSpanError` if it has none.

        A quote with offsets is compared with the text there.
        """
        doc, quote = span.doc, span.quote
        if doc == "":
            raise UnplacedSpanError("gold.structure", "the document has no name")
        if span.start is None and quote is None and doc is not None:
            return PlacedSpan(doc, None, None)
        doc = self.find_document([quote or ""]) if doc is None else doc
        within, low = None, 0
        if span.within is not None:
            outer = self.place(span.within)
            within = low, _ = outer.start or 0, outer.end or 0
        if span.start is None:
            return self._locate(span, doc, within)
        text, start = self.get(doc), low + span.start
        if span.end is not None:
            end = low + span.end
        elif quote is not None:
            end = start + len(quote)
        elif text is not None:
            end = len(text)
        else:
            message = f"it goes on to the end of document {doc!r}; give its text (--texts)"
            raise UnplacedSpanError("span.needs_text", message)
        if within is not None and end > within[1]:
            message = f"it ends {counted(end - within[1], 'character')} after what it refines"
            raise UnplacedSpanError("span.past_end", message)
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
        if text is not None and end > len(text):
            message = f"the span [{start},{end}) ends past the {len(text)} characters of document "
            raise UnplacedSpanError("span.past_end", f"{message}{doc!r}")
        return PlacedSpan(doc, start, end)

    def _locate(self, span: TextSpan, doc: str, within: Place | None) -> PlacedSpan:
        """Return the place of a quote in its document or a part of it."""
        text = span.quote or ""
        if self.texts is None:
            message = f"a span of document {doc!r} has a quote and no offsets; {GIVE_TEXTS}"
            raise UnplacedSpanError("span.needs_text", message)
        found = self.find(doc, text, prefix=span.prefix, suffix=span.suffix, within=within)
        policy = self.ambiguous if found.how == AMBIGUOUS else self.missing
        if found.how in (EXACT, NORMALISED) or policy == "first":
            return PlacedSpan(doc, *found.places[0], found.how)
        if policy == "empty":
            return PlacedSpan(doc, 0, 0, found.how)
        message = f"the text {shorten_text(text)} is not in document {doc!r}"
        if found.how == NO_DOCUMENT:
            message = f"document {doc!r} is not among the texts"
        elif found.how == AMBIGUOUS:
            where = some([str(start) for start, _ in found.places])
            message = f"the text {shorten_text(text)} is in document {doc!r} {len(found.places)} "
            message += f"times, at {where}; give start and end, or the prefix or suffix of a quote"
        raise UnplacedSpanError(_CODES[found.how], message)

    def place_all(
        self,
        spans: Iterable[tuple[int, str, TextSpan]],
        path: str,
        dropped: Collection[str] = (),
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
                if error.code not in dropped:
                    problems.append(Problem(error.code, path, line, f"{where}{error}"))
        raise_problems(problems)
        return placed

    def describe(self, placed: Iterable[PlacedSpan | None]) -> tuple[str, ...]:
        """Return notes on spans located by their text: how many were found in each way."""
        count = Counter(own.how for own in placed if own is not None)
        done = "taken at the first place" if self.ambiguous == "first" else "left empty"
        notes = {
            "spans located by their text": count[EXACT] + count[NORMALISED],
            "spans located only with white space and characters normalised": count[NORMALISED],
            f"texts that occur more than once in their document, {done}": count[AMBIGUOUS],
            "texts that are not in their document, left empty": count[ABSENT],
            "texts of documents that are not known, left empty": count[NO_DOCUMENT],
        }
        return tuple(f"{text}: {number}" for text, number in notes.items() if number)


# -- similar passages ------------------------------------------------------------------------------


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
