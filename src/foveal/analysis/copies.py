"""Passages with the same text, merged in runs and judgements.

News, contracts and manuals repeat themselves. A retriever that returns a passage and its copy has
found one thing, and so has one that returns only the copy. Here text in copies is moved to the
place of the first one, in runs and in judgements. A second copy then overlaps the first like any
repeated text, and is treated like it: ``overlap="union"`` rewards and charges it once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, overload

import numpy as np
import polars as pl

from foveal.adapters import judgements_of
from foveal.analysis.projection import Segmentation
from foveal.errors import InputError, UsageError, shorten_list
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Ints

_SCHEMA = {"class": pl.String, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
Place = tuple[str, int, int]
"""Document, start and end."""
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


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
        rows = self.passages.unique("class", keep="first").iter_rows()
        firsts: dict[str, Place] = {name: (doc, start, end) for name, doc, start, end in rows}
        self._of: dict[str, list[tuple[int, int, Place]]] = {}
        for name, doc, start, end in self.passages.sort("start", maintain_order=True).iter_rows():
            own = self._of.setdefault(doc, [])
            if not 0 <= start < end or (own and start < own[-1][1]):
                reason = "is empty, or overlaps another one"
                raise UsageError(f"passage [{start},{end}) of document {doc!r} {reason}")
            own.append((start, end, firsts[name]))

    def __len__(self) -> int:
        return self.passages["class"].n_unique()

    def move(self, doc: str, start: int, end: int) -> Iterator[Place]:
        """Yield the pieces of a span, those in copies at the offsets of the first copy.

        Where lengths differ, offsets are moved in proportion.
        """
        at = start
        for low, high, (first_doc, first, last) in self._of.get(doc, ()):
            if high <= at or low >= end:
                continue
            if low > at:
                yield doc, at, low
            cuts = (max(at, low), min(end, high))
            a, b = (first + round((cut - low) * (last - first) / (high - low)) for cut in cuts)
            yield first_doc, a, b
            at = cuts[1]
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
    if passages is None:
        passages_of = {doc: _split_paragraphs(text) for doc, text in texts.items()}
        places = [(doc, *span) for doc, spans in passages_of.items() for span in spans]
    else:
        places = passages.to_frame().select("doc", "start", "end").rows()
    found: dict[str, list[Place]] = {}
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
        if kept := text[start:end].strip():
            first = text.index(kept, start)
            yield first, first + len(kept)


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
        text = "the result has no start and end; copies are found by their places"
        raise InputError.at("run.unresolved", run.source.path, int(run.line[nowhere[0]]), text)
    spans = zip(run.doc.to_list(), run.start.tolist(), run.end.tolist(), strict=True)
    rows = [(i, *piece) for i, span in enumerate(spans) for piece in copies.move(*span)]
    schema = {"of": pl.Int64, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
    pieces = pl.DataFrame(rows, schema, orient="row")
    of, start, end = (pieces[name].to_numpy().copy() for name in ("of", "start", "end"))
    return run.with_columns(
        bounds=np.searchsorted(of, run.bounds),
        doc=pieces["doc"].rename(run.doc.name),
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
    """Split the tokens of results among their pieces by size; the last one gets the rest."""
    own = pl.DataFrame({"owner": owner, "size": size, "tokens": tokens[owner]})
    upto = pl.col("size").cum_sum() / pl.col("size").sum().clip(1)
    reached = (pl.col("tokens") * upto).floor().cast(pl.Int64)
    is_last = pl.int_range(pl.len()) == pl.len() - 1
    reached = pl.when(is_last).then("tokens").otherwise(reached)
    part = (reached - reached.shift(1, fill_value=0)).over("owner")
    known = pl.when(pl.col("tokens") == UNKNOWN).then(UNKNOWN).otherwise(part)
    return own.select(known).to_series().to_numpy().astype(np.int64)


def _merge_in_judgements(judgements: Judgements, copies: Copies) -> Judgements:
    if not judgements.has_text:
        raise UsageError("judgements of whole documents have no text that copies could repeat")
    has_labels = judgements.sets is not None or judgements.slots is not None
    if judgements.several_assessors and has_labels:
        names = shorten_list(judgements.assessors)
        raise UsageError(
            "evidence sets and slots of several assessors cannot be moved together; choose one "
            f"assessor with judgements.of_assessor(name): {names}"
        )
    truth = judgements.combined("union") if judgements.several_assessors else judgements
    truth.check_lengths(ends=False)
    lengths = zip(truth.documents.names, truth.documents.length.tolist(), strict=True)
    length = {doc: size for doc, size in lengths if size >= 0}
    rows: dict[str, dict[str, dict[str, Any]]] = {topic: {} for topic in truth.topics}
    for row, doc in enumerate(truth.doc.to_list()):
        own = rows[truth.topics[truth.topic[row]]]
        own.setdefault(doc, {"spans": [], "length": length.get(doc), "bep": None})
        own[doc]["bep"] = None if truth.bep[row] < 0 else int(truth.bep[row])
        for at, span in enumerate(truth.passages(row), int(truth.bounds[row])):
            grade = None if truth.grade is None else float(truth.grade[at])
            sets, slots = (None if own is None else own[at] for own in (truth.sets, truth.slots))
            for place, low, high in copies.move(doc, *span):
                there = own.setdefault(
                    place, {"spans": [], "length": length.get(place), "bep": None}
                )
                own_span = {"start": low, "end": high, "grade": grade, "sets": sets}
                there["spans"].append(own_span | {"slots": slots})
    lost = () if judgements.aspects is None else ("aspects of passages are not kept with copies",)
    return replace(
        judgements_of(rows, unanswerable=truth.unanswerable),
        sources=truth.sources[:1],
        header=truth.header,
        notes=(*truth.notes, *lost),
    )
