"""Quoted text located in documents: exactly, else ignoring how characters are written."""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from foveal.errors import InputError, Problem, counted, some
from foveal.files.source import Source
from foveal.formats.objects import header_of, parse_lines
from foveal.spans import Ints

__all__ = [
    "ABSENT",
    "AMBIGUOUS",
    "EXACT",
    "GIVE_TEXTS",
    "NORMALISED",
    "NO_DOCUMENT",
    "Aligner",
    "Found",
    "Normalised",
    "Place",
    "closest_places",
    "documents_needed",
    "in_unit",
    "locate_quotes",
    "occurrences",
    "similarity",
]

Place = tuple[int, int]

GIVE_TEXTS = (
    "give the texts of the documents (--texts PATH, or -C INDEX with --documents SOURCE; in Python "
    "texts=), to 'foveal convert' first if a command has no such option"
)
"""What to do where offsets cannot be found or converted without the texts."""

EXACT = "exact"
NORMALISED = "normalised"
AMBIGUOUS = "ambiguous"
ABSENT = "absent"
NO_DOCUMENT = "no document"

_IGNORED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
"""Soft hyphens and characters without width, which text extraction adds and drops."""
_SAME = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-")
)
"""Curly quotation marks and dashes, and the character of a keyboard for each."""
_SHOWN = 40
"""Characters of a text, and places of it, that a message quotes."""
_PLACES = 5
_SEEDS, _SEED = 24, 16
"""Number and length of the pieces of a quote that are searched for if the whole is not found."""
_OFTEN = 50
"""Places of a piece after which it says nothing about the place of the quote."""
_LONG = 1000
"""Characters from which texts are compared by words, which takes a hundredth of the time."""
_WORDS = re.compile(r"\w+|\W")
_CLOSE = 0.6
"""Similarity from which a message shows a passage as the closest one."""
_MOST_COMPARED = 20
"""Texts whose closest passage is searched for: no more messages than that are shown."""
_AROUND = 20
"""Equal characters that a message shows on each side of a difference."""
_LONGEST = 300
"""Characters of a marked passage in a message."""


class Found(NamedTuple):
    """The places of a text in a document, and how they were found."""

    how: str
    """`EXACT`, `NORMALISED`, `AMBIGUOUS`, `ABSENT` or `NO_DOCUMENT`."""
    places: tuple[Place, ...] = ()
    """One place, or all of them where the text is ambiguous."""

    @property
    def placed(self) -> bool:
        return self.how in (EXACT, NORMALISED)


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
        """The original offset of each place, `-1` inside what was one character.

        A place is clean if everything after it was written after everything before it.
        """
        before = np.concatenate([[-1], np.maximum.accumulate(self._source)])
        after = np.minimum.accumulate(self._source[::-1])[::-1]
        end = self._source.max(initial=-1) + 1
        clean: Ints = np.where(before < np.append(after, end), np.append(after, end), -1)
        return clean

    def origin(self, at: int) -> int:
        """Return the offset in the original of a character of the normalised text."""
        return int(self._source[at]) if at < len(self._source) else 0

    def find(self, wanted: str) -> list[Place]:
        """Return all places of a text in the original, from its first to its last character."""
        own = Normalised(wanted).text.strip(" ")
        found = []
        for at in occurrences(self.text, own):
            until = at + len(own)
            cut = until < len(self.text) and unicodedata.combining(self.text[until])
            if self._clean[at] >= 0 and self._clean[until] >= 0 and not cut:
                # Ignored characters and blanks after the last character are not part of it.
                end = int(self._source[at:until].max()) + 1
                found.append((int(self._clean[at]), end))
        return found


def _decomposed(character: str) -> str:
    """Return a character as it is in a normalised text; all white space is a blank."""
    if character in _IGNORED:
        return ""
    if character.isspace():
        return " "
    return unicodedata.normalize("NFKD", character.translate(_SAME)).translate(_SAME)


def _points(text: str) -> Ints:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)


def _reordered(points: Ints, source: Ints) -> tuple[Ints, Ints]:
    """Sort the combining marks after each character into their canonical order."""
    distinct, which = np.unique(points, return_inverse=True)
    rank = np.array([unicodedata.combining(chr(p)) for p in distinct.tolist()], dtype=np.int64)
    if not rank.any():
        return points, source
    marks = rank[which]
    order = np.lexsort((np.arange(len(points)), marks, np.cumsum(marks == 0)))
    return points[order], source[order]


def occurrences(text: str, wanted: str) -> Iterator[int]:
    """Yield the starts of a text in another, overlapping ones too."""
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


@dataclass(frozen=True)
class Aligner:
    """Finds texts in documents, and remembers what it found.

    It looks for the exact characters first, then with white space and characters normalised. A
    text that occurs more than once in its document has a place only if its context decides.

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
    >>> aligner.find("d", "be", prefix="not to ")
    Found(how='exact', places=((17, 19),))
    """

    texts: Mapping[str, str]
    _found: dict[tuple[str, str], Found] = field(default_factory=dict, repr=False)
    _normalised: dict[str, Normalised] = field(default_factory=dict, repr=False)
    _compared: list[str] = field(default_factory=list, repr=False)

    def find(self, doc: str, text: str, *, prefix: str = "", suffix: str = "") -> Found:
        """Return the places of a text in a document; context chooses among several."""
        key = doc, text
        if key not in self._found:
            self._found[key] = self._look(doc, text)
        found = self._found[key]
        if found.how != AMBIGUOUS or not (prefix or suffix):
            return found
        whole = self.texts[doc]
        fitting = tuple(
            (start, end)
            for start, end in found.places
            if _plain(whole[max(start - _reach(prefix), 0) : start]).endswith(_plain(prefix))
            and _plain(whole[end : end + _reach(suffix)]).startswith(_plain(suffix))
        )
        if len(fitting) != 1:
            return found
        exact = whole[slice(*fitting[0])] == text
        return Found(EXACT if exact else NORMALISED, fitting)

    def holders(self, text: str) -> list[str]:
        """Return the documents that hold a text, by exact characters if any does."""
        if not text.strip():
            return []
        exact = [doc for doc, whole in self.texts.items() if text in whole]
        held = exact or [doc for doc in self.texts if self.find(doc, text).places]
        # A document may be known by two names.
        return [*{id(self.texts[doc]): doc for doc in reversed(held)}.values()][::-1]

    def _look(self, doc: str, text: str) -> Found:
        if doc not in self.texts:
            return Found(NO_DOCUMENT)
        if not text.strip():
            return Found(ABSENT)
        places = tuple((at, at + len(text)) for at in occurrences(self.texts[doc], text))
        how = EXACT
        if not places:
            places, how = tuple(self._normal(doc).find(text)), NORMALISED
        if len(places) == 1:
            return Found(how, places)
        return Found(AMBIGUOUS, places) if places else Found(ABSENT)

    def _normal(self, doc: str) -> Normalised:
        if doc not in self._normalised:
            self._normalised[doc] = Normalised(self.texts[doc])
        return self._normalised[doc]

    def message(
        self, doc: str, text: str, *, what: str = "text", remedy: str = "give start and end"
    ) -> str:
        """Say why a text has no place in its document."""
        found = self.find(doc, text)
        if found.how == NO_DOCUMENT:
            return f"document {doc!r} is not among the texts"
        if not text.strip():
            return f"the {what} is empty; expected words of its document"
        quoted = shorten_text(text)
        if found.how == ABSENT:
            size = counted(len(self.texts[doc]), "character")
            said = f"the {what} {quoted} is not in document {doc!r} of {size}"
            return f"{said}{self._closest([doc], text, what)}"
        where = ", ".join(str(start) for start, _ in found.places[:_PLACES])
        more = ", ..." if len(found.places) > _PLACES else ""
        return (
            f"the {what} {quoted} is in document {doc!r} {len(found.places)} times, at "
            f"{where}{more}; {remedy}"
        )

    def message_without_document(
        self, texts: Sequence[str], held: Sequence[Sequence[str]], common: Sequence[str]
    ) -> str:
        """Say why quotes do not tell their document: none holds all of them, or several do."""
        for text, docs in zip(texts, held, strict=True):
            if not docs:
                number = counted(len({id(own) for own in self.texts.values()}), "document")
                said = f"doc is missing, and the quote {shorten_text(text)} is in none of {number}"
                return f"{said}{self._closest(self.texts, text, 'quote')}"
        if common:
            return (
                f"doc is missing, and {len(common)} documents hold the quote "
                f"{shorten_text(texts[0])}: {some(common)}; give doc"
            )
        where = (f"{shorten_text(t)} in {some(own)}" for t, own in zip(texts, held, strict=True))
        return (
            f"doc is missing, and no document holds all quotes of the line ({', '.join(where)}); "
            "expected a line for each document"
        )

    def _closest(self, docs: Collection[str], text: str, what: str) -> str:
        """Show the most similar passage with its differences marked; nothing if none is close."""
        if len(self._compared) == _MOST_COMPARED:
            return ""
        self._compared.append(text)
        own = _plain(text)
        best, shown = _CLOSE, ""
        for doc in docs:
            whole = self._normal(doc)
            part = _part_that_differs(own, whole.text)
            for start, end in closest_places(whole.text, part):
                passage = whole.text[start:end].strip()
                like = similarity(part, passage)
                if like >= best:
                    best = like
                    where = f"at {whole.origin(start)}" + (f" of {doc!r}" if len(docs) > 1 else "")
                    marked = _mark_differences(part, passage)
                    shown = f"; closest passage, {where} ([-{what}-], {{+document+}}): {marked!r}"
        return shown


def shorten_text(text: str) -> str:
    """Return the beginning of a text in quotation marks, for a message."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def _plain(text: str) -> str:
    return Normalised(text).text.strip(" ")


def _part_that_differs(quote: str, text: str) -> str:
    """Return a quote, or of a long one the part around the first character not in the text."""
    if len(quote) <= _LONG:
        return quote
    lengths = range(len(quote))
    held = bisect_left(lengths, True, key=lambda length: quote[: length + 1] not in text)  # noqa: FBT003
    start = max(held - _LONG // 2, 0)
    return quote[start : start + _LONG].strip()


def _reach(context: str) -> int:
    """Return how many characters may hold a context, white space included."""
    return 2 * len(context) + 100 if context else 0


def closest_places(text: str, quote: str) -> Iterator[Place]:
    """Yield up to three places where many pieces of a quote are about as far apart as in it."""
    size = min(_SEED, max(3, len(quote) // 4))
    last = max(len(quote) - size, 0)
    offsets = {last * i // max(_SEEDS - 1, 1) for i in range(_SEEDS)}
    slack = max(len(quote) // 4, 8)
    votes, begins = Counter[int](), dict[int, int]()
    for offset in sorted(offsets):
        found = [*occurrences(text, quote[offset : offset + size])]
        for start in found if len(found) <= _OFTEN else ():
            votes[(start - offset) // slack] += 1
            begins.setdefault((start - offset) // slack, start - offset)
    for bucket, _ in votes.most_common(3):
        yield _refine(text, quote, begins[bucket], slack)


def _refine(text: str, quote: str, at: int, slack: int) -> Place:
    """Return where a quote begins and ends, near a place where it may begin."""
    low, high = max(at - slack, 0), min(at + len(quote) + slack, len(text))
    wanted, there = _split(quote, quote), _split(text[low:high], quote)
    matcher = SequenceMatcher(None, wanted, there, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return low, low
    first, last = blocks[0], blocks[-1]
    start = low + _size(there[: first.b]) - _size(wanted[: first.a])
    rest = _size(wanted[last.a + last.size :])
    end = low + _size(there[: last.b + last.size]) + rest
    return max(start, 0), min(end, len(text))


def _split(text: str, quote: str) -> list[str]:
    """Return the characters of a text, or its words if the quote is long."""
    return _WORDS.findall(text) if len(quote) > _LONG else list(text)


def _size(words: Sequence[str]) -> int:
    return sum(map(len, words))


def similarity(quote: str, text: str) -> float:
    """Return how much a quote and a text have in common, from 0 to 1."""
    return SequenceMatcher(None, _split(quote, quote), _split(text, quote), autojunk=False).ratio()


def _mark_differences(quote: str, passage: str) -> str:
    """Return a passage with what only the quote has as ``[-x-]``, only the passage ``{+x+}``.

    >>> _mark_differences("It was cold.", "It is cold!")
    'It [-wa-]{+i+}s cold[-.-]{+!+}'
    """
    quote, passage = (unicodedata.normalize("NFC", text) for text in (quote, passage))
    own, there = _split(quote, quote), _split(passage, quote)
    codes = SequenceMatcher(None, own, there, autojunk=False).get_opcodes()
    marked = ""
    for number, (operation, i, j, k, m) in enumerate(codes):
        removed, added = "".join(own[i:j]), "".join(there[k:m])
        if operation == "equal":
            before = "" if number == 0 else added[:_AROUND]
            after = "" if number == len(codes) - 1 else added[-_AROUND:]
            whole = len(before) + len(after) + 10 >= len(added)
            marked += added if whole else f"{before}...{after}"
        else:
            marked += (f"[-{removed}-]" if removed else "") + (f"{{+{added}+}}" if added else "")
    return marked if len(marked) <= _LONGEST else marked[: _LONGEST - 3] + "..."


def in_unit(text: str, place: Place, unit: str) -> Place:
    """Return a place in the unit that the header of a file declares, with an exclusive end."""
    start, end = place
    if unit == "byte":
        return len(text[:start].encode()), len(text[:end].encode())
    if unit == "utf16":
        return len(text[:start].encode("utf-16-le")) // 2, len(text[:end].encode("utf-16-le")) // 2
    return start, end


# -- gold spans given by their quote ---------------------------------------------------------------

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
            problems.append(Problem("judgements.quote", source.path, line, str(error)))
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
