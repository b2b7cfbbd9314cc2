"""Passages that hold the same text: a copy is one more view of what is there once.

News, contracts and manuals repeat themselves. A retriever that returns a passage and its copy has
found one thing, and one that returns only the copy has found it all the same. Here text in copies
is moved to the place of the first one, in runs and in judgements. A second copy then overlaps the
first like any text that is returned twice, and the policies for overlap decide about both alike:
``union`` rewards and charges it once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import polars as pl

from foveal.adapters import judgements_of
from foveal.analysis.divisions import Division
from foveal.errors import InputError, UsageError, some
from foveal.files.source import Source
from foveal.formats.checks import Defects, check_given, check_spans
from foveal.formats.objects import check_counted, header_of, read_objects
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Ints

__all__ = ["Copies", "read_same_text", "same_text", "with_same_text"]

_SCHEMA: dict[str, Any] = {
    "class": pl.String,
    "doc": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
}
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


class _Copy(NamedTuple):
    """A stretch of a document, and the stretch that it repeats."""

    start: int
    end: int
    doc: str
    first: int
    last: int

    def place(self, at: int) -> int:
        """Where a position lies in the first copy; in proportion, where lengths differ."""
        return self.first + round((at - self.start) * (self.last - self.first) / self.size)

    @property
    def size(self) -> int:
        return self.end - self.start


class Copies:
    """Classes of passages that hold the same text; the first of each stands for all.

    Parameters
    ----------
    passages : polars.DataFrame
        A row for each passage: ``class``, ``doc``, ``start``, ``end``. No two of them overlap, so
        that a character belongs to one class at most.
    """

    def __init__(self, passages: pl.DataFrame) -> None:
        self.passages = passages.select("class", "doc", "start", "end")
        firsts: dict[str, tuple[str, int, int]] = {}
        self._of: dict[str, list[_Copy]] = {}
        for name, doc, start, end in self.passages.iter_rows():
            if not 0 <= start < end:
                raise UsageError(
                    f"passage [{start},{end}) of document {doc!r} is no text; expected "
                    "0 <= start < end"
                )
            first = firsts.setdefault(name, (doc, start, end))
            self._of.setdefault(doc, []).append(_Copy(start, end, *first))
        for doc, own in self._of.items():
            own.sort()
            for one, other in pairwise(own):
                if other.start < one.end:
                    raise UsageError(
                        f"passages of the same text overlap in document {doc!r}: "
                        f"[{one.start},{one.end}) and [{other.start},{other.end})"
                    )

    def __len__(self) -> int:
        return self.passages["class"].n_unique()

    def __repr__(self) -> str:
        return f"<Copies: {len(self)} classes, {len(self.passages)} passages>"

    def moved(self, doc: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
        """A span as pieces, those in copies at the places of the first ones."""
        at = start
        for copy in self._of.get(doc, ()):
            if copy.end <= at or copy.start >= end:
                continue
            if copy.start > at:
                yield doc, at, copy.start
            low, high = max(at, copy.start), min(end, copy.end)
            yield copy.doc, copy.place(low), copy.place(high)
            at = high
        if at < end or start == end:
            yield doc, at, end


def same_text(
    texts: Mapping[str, str], *, at_least: int = 40, passages: Division | None = None
) -> Copies:
    r"""The passages that occur more than once, white space and case aside.

    Parameters
    ----------
    texts : mapping of document to text
    at_least : int
        Characters, white space counted as one space, from which a passage counts: short ones are
        alike by chance.
    passages : Division, optional
        What is compared; by default paragraphs, which blank lines separate.

    Examples
    --------
    >>> texts = {"a": "One.\n\nNotice period:\n3 months.", "b": "notice period: 3 months."}
    >>> same_text(texts, at_least=20).passages.rows()
    [('1', 'a', 6, 30), ('1', 'b', 0, 24)]
    """
    found: dict[str, list[tuple[str, int, int]]] = {}
    for doc, start, end in _stretches(texts, passages):
        words = " ".join(texts[doc][start:end].split()).casefold()
        if len(words) >= at_least:
            found.setdefault(words, []).append((doc, start, end))
    repeated = [own for own in found.values() if len(own) > 1]
    rows = [(str(number), *place) for number, own in enumerate(repeated, 1) for place in own]
    return Copies(pl.DataFrame(rows, schema=_SCHEMA, orient="row"))


def _stretches(
    texts: Mapping[str, str], passages: Division | None
) -> Iterator[tuple[str, int, int]]:
    if passages is None:
        for doc, text in texts.items():
            yield from ((doc, *place) for place in _paragraphs(text))
        return
    for doc, start, end in passages.to_frame().select("doc", "start", "end").iter_rows():
        if doc not in texts:
            raise UsageError(f"no text of document {doc!r} is given")
        yield doc, start, end


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """What stands between blank lines, without white space around it."""
    gaps = [(0, 0), *(gap.span() for gap in _BLANK_LINE.finditer(text)), (len(text), len(text))]
    for (_, start), (end, _) in pairwise(gaps):
        kept = text[start:end].strip()
        if kept:
            first = start + text[start:end].index(kept)
            yield first, first + len(kept)


def read_same_text(path: str | Path) -> Copies:
    """Classes from JSON Lines: ``class``, ``doc``, ``start``, ``end`` of each passage."""
    source = Source.open(str(path))
    header, line = header_of(source)
    check_counted(source, header, line)
    table = read_objects(source, _SCHEMA, line)
    frame, defects = table.frame, Defects(source, table.line)
    problems = [
        problem
        for name in _SCHEMA
        for problem in defects.at(
            "unclassified", frame[name].is_null().to_numpy(), f"{name} is missing"
        )
    ]
    problems += check_given(defects, frame["start"], frame["end"]) if not problems else []
    defects.raise_if(problems)
    start, end = frame["start"].to_numpy(), frame["end"].to_numpy()
    defects.raise_if(check_spans(defects, start, end))
    try:
        return Copies(frame)
    except UsageError as error:
        raise source.error("unclassified", None, str(error)) from None


@overload
def with_same_text(judged: Run, copies: Copies) -> Run: ...
@overload
def with_same_text(judged: Judgements, copies: Copies) -> Judgements: ...
def with_same_text(judged: Run | Judgements, copies: Copies) -> Run | Judgements:
    """A run or judgements in which text of copies stands at the place of the first one.

    Do it to both, and score with ``overlap="union"``. Of relevant copies in several documents one
    relevant passage remains; a copy counts as relevant if any of its class is.

    A result that reaches beyond a copy becomes several results, one after the other, which share
    its tokens. Measures of the text that is read are not changed by that: charP, charR, charF,
    whole or within a budget of characters or tokens. Ranks are: leave out cut-offs and budgets of
    results.

    Examples
    --------
    >>> copies = Copies(pl.DataFrame({"class": ["c", "c"], "doc": ["A", "B"], "start": [0, 10],
    ...                               "end": [50, 60]}))
    >>> run = with_same_text(Run.from_results({"1": [("B", 0, 60), ("A", 0, 50)]}), copies)
    >>> run.to_frame().select("doc", "start", "end").rows()
    [('B', 0, 10), ('A', 0, 50), ('A', 0, 50)]
    """
    return _moved_run(judged, copies) if isinstance(judged, Run) else _moved(judged, copies)


def _moved_run(run: Run, copies: Copies) -> Run:
    nowhere = np.flatnonzero((run.start < 0) | (run.end < 0))
    if len(nowhere):
        raise InputError.at(
            "unclassified",
            run.source.path,
            int(run.line[nowhere[0]]),
            "the result has no start and end; copies are found by their places",
        )
    pieces: list[tuple[str, int, int]] = []
    owner: list[int] = []
    places = zip(run.doc.to_list(), run.start.tolist(), run.end.tolist(), strict=True)
    for i, (doc, start, end) in enumerate(places):
        own = list(copies.moved(doc, start, end))
        pieces += own
        owner += [i] * len(own)
    of = np.array(owner, dtype=np.int64)
    start, end = (np.array([piece[k] for piece in pieces], dtype=np.int64) for k in (1, 2))
    return replace(
        run,
        bounds=np.searchsorted(of, run.bounds),
        doc=pl.Series(run.doc.name, [piece[0] for piece in pieces], dtype=pl.String),
        start=start,
        end=end,
        line=run.line[of],
        score=None if run.score is None else run.score[of],
        rank=None,
        xpath=None,
        length=None,
        tokens=None if run.tokens is None else _shared(run.tokens, end - start, of),
    )


def _shared(tokens: Ints, size: Ints, owner: Ints) -> Ints:
    """The tokens of results shared out by size among their pieces, which add up to them."""
    first = np.searchsorted(owner, owner)
    upto = np.cumsum(size) - (np.cumsum(size) - size)[first]
    last = np.searchsorted(owner, owner, side="right") - 1
    whole = last == np.arange(len(owner))
    share = np.where(whole, 1.0, upto / np.maximum(upto[last], 1))
    reached = np.floor(tokens[owner] * share).astype(np.int64)
    before = np.where(first == np.arange(len(owner)), 0, np.roll(reached, 1))
    return np.where(tokens[owner] == UNKNOWN, UNKNOWN, reached - before)


def _moved(judgements: Judgements, copies: Copies) -> Judgements:
    if not judgements.has_text:
        raise UsageError(
            "judgements of whole documents have no text that copies could repeat; expected "
            "highlighted passages"
        )
    if judgements.several_assessors and judgements.sets is not None:
        raise UsageError(
            "evidence sets of several assessors cannot be moved together; choose one of them: "
            f"judgements.of_assessor(name), of {some(judgements.assessors)}"
        )
    truth = judgements.combined("union") if judgements.several_assessors else judgements
    docs, _, lengths = truth.documents()
    length = dict(zip(docs.to_list(), lengths.tolist(), strict=True))
    rows: dict[str, dict[str, dict[str, Any]]] = {topic: {} for topic in truth.topics}
    names = truth.doc.to_list()
    for row, doc in enumerate(names):
        own = rows[truth.topics[truth.topic[row]]]
        entry = own.setdefault(doc, _entry(length, doc))
        entry["bep"] = None if truth.bep[row] < 0 else int(truth.bep[row])
        for at, (start, end) in enumerate(truth.passages(row), int(truth.bounds[row])):
            about = _about(truth, at)
            for place, low, high in copies.moved(doc, start, end):
                spans = own.setdefault(place, _entry(length, place))["spans"]
                spans.append({"start": low, "end": high, **about})
    moved = judgements_of(rows)
    lost = () if judgements.aspects is None else ("aspects of passages are not kept with copies",)
    return replace(
        moved, sources=truth.sources[:1], header=truth.header, notes=(*truth.notes, *lost)
    )


def _about(truth: Judgements, span: int) -> dict[str, Any]:
    """What a span brings along: its grade and its evidence sets."""
    return {
        "grade": None if truth.grade is None else float(truth.grade[span]),
        "sets": None if truth.sets is None else truth.sets[span],
    }


def _entry(length: Mapping[str, int], doc: str) -> dict[str, Any]:
    known = length.get(doc, UNKNOWN)
    return {"spans": [], "length": None if known < 0 else known, "bep": None}
