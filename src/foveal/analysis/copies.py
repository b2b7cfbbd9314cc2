"""Passages with the same text, merged in runs and judgements.

News, contracts and manuals repeat themselves. A retriever that returns a passage and its copy has
found one thing, and so has one that returns only the copy. Here text in copies is moved to the
place of the first one, in runs and in judgements. A second copy then overlaps the first like any
repeated text, and is treated like it: ``overlap="union"`` rewards and charges it once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import polars as pl

from foveal.adapters import judgements_of
from foveal.analysis.segmentation import Segmentation
from foveal.errors import InputError, UsageError, some
from foveal.files.source import Source
from foveal.formats.objects import CODEPOINTS, read_header, tabulate_objects
from foveal.formats.rows import RowRule, check_rules, list_offset_rules, raise_problems
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Ints

__all__ = ["Copies", "merge_copies", "read_same_text", "same_text"]

_SCHEMA: dict[str, Any] = {
    "class": pl.String,
    "doc": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
}
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


class _Copy(NamedTuple):
    """A passage of a document, and the passage that it repeats."""

    start: int
    end: int
    doc: str
    first: int
    last: int

    def place(self, at: int) -> int:
        """Return the offset in the first copy; in proportion if lengths differ."""
        size = self.end - self.start
        return self.first + round((at - self.start) * (self.last - self.first) / size)


class Copies:
    """Classes of passages with the same text; the first of each represents all.

    Parameters
    ----------
    passages : polars.DataFrame
        A row for each passage: ``class``, ``doc``, ``start``, ``end``. No two of them overlap, so
        that a character belongs to at most one class.
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

    def move(self, doc: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
        """Yield the pieces of a span, those in copies at the offsets of the first copy."""
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
    texts: Mapping[str, str], *, at_least: int = 40, passages: Segmentation | None = None
) -> Copies:
    r"""Find the passages that occur more than once, ignoring white space and case.

    Parameters
    ----------
    texts : mapping of document to text
    at_least : int
        Minimum length of a passage, white space counted as one space: short ones are equal by
        chance.
    passages : Segmentation, optional
        The passages compared; by default paragraphs, separated by blank lines.

    Examples
    --------
    >>> texts = {"a": "One.\n\nNotice period:\n3 months.", "b": "notice period: 3 months."}
    >>> same_text(texts, at_least=20).passages.rows()
    [('1', 'a', 6, 30), ('1', 'b', 0, 24)]
    """
    found: dict[str, list[tuple[str, int, int]]] = {}
    places: Iterable[tuple[Any, ...]]
    if passages is None:
        places = ((doc, *span) for doc, text in texts.items() for span in _split_paragraphs(text))
    else:
        places = passages.to_frame().select("doc", "start", "end").iter_rows()
    for doc, start, end in places:
        if doc not in texts:
            raise UsageError(f"no text of document {doc!r} is given")
        words = " ".join(texts[doc][start:end].split()).casefold()
        if len(words) >= at_least:
            found.setdefault(words, []).append((doc, start, end))
    repeated = [own for own in found.values() if len(own) > 1]
    rows = [(str(number), *place) for number, own in enumerate(repeated, 1) for place in own]
    return Copies(pl.DataFrame(rows, schema=_SCHEMA, orient="row"))


def _split_paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between blank lines, without surrounding white space."""
    gaps = [(0, 0), *(gap.span() for gap in _BLANK_LINE.finditer(text)), (len(text), len(text))]
    for (_, start), (end, _) in pairwise(gaps):
        kept = text[start:end].strip()
        if kept:
            first = start + text[start:end].index(kept)
            yield first, first + len(kept)


def read_same_text(path: str | Path) -> Copies:
    """Read classes from JSON Lines: ``class``, ``doc``, ``start``, ``end`` of each passage."""
    source = Source.open(str(path))
    table = tabulate_objects(source, _SCHEMA, read_header(source, **CODEPOINTS)[1]).checked()
    absent = [
        RowRule("copies.field", pl.col(name).is_null(), f"{name} is missing") for name in _SCHEMA
    ]
    for rules in (absent, list_offset_rules()):
        raise_problems(check_rules(source.path, table.line, table.frame, rules))
    try:
        return Copies(table.frame)
    except UsageError as error:
        raise source.error("copies.passages", None, str(error)) from None


@overload
def merge_copies(judged: Run, copies: Copies) -> Run: ...
@overload
def merge_copies(judged: Judgements, copies: Copies) -> Judgements: ...
def merge_copies(judged: Run | Judgements, copies: Copies) -> Run | Judgements:
    """Move the text of copies to the place of the first one, in a run or judgements.

    Apply it to both, and score with ``overlap="union"``. Relevant copies in several documents
    become one relevant passage; a copy counts as relevant if any of its class is.

    A result that extends beyond a copy becomes several results, one after the other, which share
    its tokens. Measures of the text read do not change: charP, charR, charF, whole or within a
    budget of characters or tokens. Ranks change: do not use rank cut-offs or budgets of results.

    Examples
    --------
    >>> copies = Copies(pl.DataFrame({"class": ["c", "c"], "doc": ["A", "B"], "start": [0, 10],
    ...                               "end": [50, 60]}))
    >>> run = merge_copies(Run.from_results({"1": [("B", 0, 60), ("A", 0, 50)]}), copies)
    >>> run.to_frame().select("doc", "start", "end").rows()
    [('B', 0, 10), ('A', 0, 50), ('A', 0, 50)]
    """
    return (
        _merge_in_run(judged, copies)
        if isinstance(judged, Run)
        else _merge_in_judgements(judged, copies)
    )


def _merge_in_run(run: Run, copies: Copies) -> Run:
    nowhere = np.flatnonzero((run.start < 0) | (run.end < 0))
    if len(nowhere):
        raise InputError.at(
            "run.unresolved",
            run.source.path,
            int(run.line[nowhere[0]]),
            "the result has no start and end; copies are found by their places",
        )
    pieces: list[tuple[str, int, int]] = []
    owner: list[int] = []
    places = zip(run.doc.to_list(), run.start.tolist(), run.end.tolist(), strict=True)
    for i, (doc, start, end) in enumerate(places):
        own = list(copies.move(doc, start, end))
        pieces += own
        owner += [i] * len(own)
    of = np.array(owner, dtype=np.int64)
    start, end = (np.array([piece[k] for piece in pieces], dtype=np.int64) for k in (1, 2))
    return run.with_columns(
        bounds=np.searchsorted(of, run.bounds),
        doc=pl.Series(run.doc.name, [piece[0] for piece in pieces], dtype=pl.String),
        start=start,
        end=end,
        line=run.line[of],
        score=None if run.score is None else run.score[of],
        rank=None,
        xpath=None,
        length=None,
        tokens=None if run.tokens is None else _share_tokens(run.tokens, end - start, of),
    )


def _share_tokens(tokens: Ints, size: Ints, owner: Ints) -> Ints:
    """Split the tokens of results among their pieces by size."""
    first = np.searchsorted(owner, owner)
    upto = np.cumsum(size) - (np.cumsum(size) - size)[first]
    last = np.searchsorted(owner, owner, side="right") - 1
    whole = last == np.arange(len(owner))
    share = np.where(whole, 1.0, upto / np.maximum(upto[last], 1))
    reached = np.floor(tokens[owner] * share).astype(np.int64)
    before = np.where(first == np.arange(len(owner)), 0, np.roll(reached, 1))
    return np.where(tokens[owner] == UNKNOWN, UNKNOWN, reached - before)


def _merge_in_judgements(judgements: Judgements, copies: Copies) -> Judgements:
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
    truth.check_lengths(ends=False)
    known = zip(truth.documents.names, truth.documents.length.tolist(), strict=True)
    length = {doc: size for doc, size in known if size >= 0}
    rows: dict[str, dict[str, dict[str, Any]]] = {topic: {} for topic in truth.topics}
    for row, doc in enumerate(truth.doc.to_list()):
        own = rows[truth.topics[truth.topic[row]]]
        own.setdefault(doc, {"spans": [], "length": length.get(doc), "bep": None})
        own[doc]["bep"] = None if truth.bep[row] < 0 else int(truth.bep[row])
        for at, (start, end) in enumerate(truth.passages(row), int(truth.bounds[row])):
            about = {
                "grade": None if truth.grade is None else float(truth.grade[at]),
                "sets": None if truth.sets is None else truth.sets[at],
            }
            for place, low, high in copies.move(doc, start, end):
                own.setdefault(place, {"spans": [], "length": length.get(place), "bep": None})
                own[place]["spans"].append({"start": low, "end": high, **about})
    moved = judgements_of(rows)
    lost = () if judgements.aspects is None else ("aspects of passages are not kept with copies",)
    return replace(
        moved, sources=truth.sources[:1], header=truth.header, notes=(*truth.notes, *lost)
    )
