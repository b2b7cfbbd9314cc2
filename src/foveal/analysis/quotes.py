"""Where a quoted span of a document is today: in place, elsewhere, in several places, nearly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from foveal.formats.locate import Normalised, Place, closest_places, occurrences, similarity

__all__ = [
    "AMBIGUOUS",
    "CHANGED",
    "EXACT",
    "KINDS",
    "LOST",
    "MOVED",
    "NO_QUOTE",
    "Quotations",
    "Quote",
    "Quoted",
]

EXACT = "exact"
MOVED = "moved"
AMBIGUOUS = "ambiguous"
CHANGED = "changed"
LOST = "lost"
NO_QUOTE = "no quote"
KINDS = (EXACT, MOVED, AMBIGUOUS, CHANGED, LOST, NO_QUOTE)


class Quote(NamedTuple):
    """A span with what it is said to hold."""

    start: int
    end: int
    quote: str | None = None
    prefix: str | None = None
    suffix: str | None = None


class Quoted(NamedTuple):
    """What became of a span."""

    kind: str
    places: tuple[Place, ...] = ()
    """Where it is: one place, several if it is ambiguous, none if it is lost."""
    similarity: float | None = None
    """Of the quote and the text at its place, where they differ."""
    note: str = ""


class Quotations:
    """A document in which quotes are looked for.

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
        """What became of a span."""
        here = (span.start, span.end)
        if not span.quote:
            beyond = span.end > len(self.text)
            note = f"ends past the {len(self.text)} characters of the document" if beyond else ""
            return Quoted(NO_QUOTE, () if beyond else (here,), note=note)
        places = self._places(span.quote)
        if here in places:
            return self._in_place(span, places)
        if len(places) == 1:
            if self._strange(span, places[0]):
                return Quoted(AMBIGUOUS, places, note="the text around it is another")
            return Quoted(MOVED, places)
        if places:
            return self._chosen(span, places)
        return self._nearly(span)

    def _places(self, quote: str) -> tuple[Place, ...]:
        return tuple((at, at + len(quote)) for at in occurrences(self.text, quote))

    def _agrees(self, span: Quote, place: Place) -> tuple[bool, bool]:
        """Whether what is said to stand before and after a span does at a place."""
        prefix, suffix = span.prefix or "", span.suffix or ""
        before = place[0] >= len(prefix) and self.text.startswith(prefix, place[0] - len(prefix))
        return before, self.text.startswith(suffix, place[1])

    def _strange(self, span: Quote, place: Place) -> bool:
        """Whether a place has nothing of the context: the same words, said somewhere else."""
        prefix, suffix = span.prefix or "", span.suffix or ""
        before = self.text[max(place[0] - len(prefix), 0) : place[0]]
        after = self.text[place[1] : place[1] + len(suffix)]
        sides = [(said, there) for said, there in ((prefix, before), (suffix, after)) if said]
        return bool(sides) and all(
            similarity(said, there) < self.similarity for said, there in sides
        )

    def _in_place(self, span: Quote, places: Sequence[Place]) -> Quoted:
        """A quote that is at its offset, though perhaps by chance: its context may be elsewhere."""
        here = (span.start, span.end)
        if all(self._agrees(span, here)):
            return Quoted(EXACT, (here,))
        better = tuple(place for place in places if all(self._agrees(span, place)))
        if len(better) == 1:
            return Quoted(MOVED, better, note="chosen by its context")
        if better:
            return Quoted(AMBIGUOUS, tuple(places), note="its context is elsewhere, several times")
        return Quoted(EXACT, (here,), note="the text around it has changed")

    def _chosen(self, span: Quote, places: tuple[Place, ...]) -> Quoted:
        """One of several places, if the context tells which; nearness to the old place does not."""
        agreeing = [self._agrees(span, place) for place in places]
        both = [place for place, own in zip(places, agreeing, strict=True) if all(own)]
        one = [
            place
            for place, own in zip(places, agreeing, strict=True)
            if (own[0] and span.prefix) or (own[1] and span.suffix)
        ]
        for fitting in (both, one) if span.prefix or span.suffix else ():
            if len(fitting) == 1:
                return Quoted(MOVED, (fitting[0],), note="chosen by its context")
            if fitting:
                break
        return Quoted(AMBIGUOUS, places)

    # -- quotes that are not there as they were ---------------------------------------------------

    def _nearly(self, span: Quote) -> Quoted:
        """The place most like a quote, if any is like enough."""
        quote = span.quote or ""
        alike = tuple(self._normalised.find(quote))
        note = "white space or characters are written otherwise" if alike else ""
        if (span.start, span.end) in alike:
            return Quoted(EXACT, ((span.start, span.end),), note=note)
        if len(alike) > 1:
            choice = self._chosen(span, alike)
            if choice.kind == AMBIGUOUS:
                return choice._replace(note=note)
            alike = choice.places
        near = [*closest_places(self.text, quote), *self._between(span), (span.start, span.end)]
        candidates = alike or tuple(dict.fromkeys(near))
        scored = [(similarity(quote, self.text[a:b]), (a, b)) for a, b in candidates if a < b]
        best = max((score for score, _ in scored), default=0.0)
        # Written otherwise it is the same text, however few of a short quote's characters agree.
        if best < self.similarity and not alike:
            return Quoted(LOST, similarity=best)
        first, *more = (place for score, place in scored if score == best)
        apart = [place for place in more if place[0] >= first[1] or place[1] <= first[0]]
        if apart:
            places = tuple(sorted((first, *apart)))
            return Quoted(AMBIGUOUS, places, best, "several places are equally like it")
        return Quoted(CHANGED, (first,), best, note)

    def _between(self, span: Quote) -> Iterable[Place]:
        """What stands where the quote did, between the text before it and the text after it."""
        if not (span.prefix and span.suffix):
            return
        before, after = self._places(span.prefix), self._places(span.suffix)
        if len(before) == 1 and len(after) == 1 and before[0][1] < after[0][0]:
            yield before[0][1], after[0][0]
