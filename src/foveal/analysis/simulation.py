"""The S-R space: runs of known quality, made from judgements instead of by a system.

Five ways to choose the parts of a relevant document and four ways to rank the documents make 20
runs (Pehcevski, Thom and Kamps, section 4). `foveal.analysis.trials` says which must be better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal import spans
from foveal.collection import Collection
from foveal.collection.element_index import open_cached
from foveal.errors import InputError, UsageError, some
from foveal.evaluation import Options
from foveal.evaluation.preparation import list_assessors, select_judgements
from foveal.formats import read_judgements, read_topics
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Ints

__all__ = ["ELEMENTS", "EMPTY", "MAY_BE_EMPTY", "PARTS", "RANKINGS", "Simulation", "simulate"]

PARTS = {
    "S": "the highlighted passages",
    "SL": "the smallest element around each passage",
    "SLD": "the whole document",
    "SS": "the largest elements inside each passage",
    "SST": "the elements inside each passage that hold no other element",
}
"""Part sets, and what they return of a relevant document."""

RANKINGS = {
    "R": "documents by decreasing highlighted text",
    "RS": "the first two documents swapped",
    "RI": "a non-relevant document put first",
    "RSI": "the first two documents swapped and a non-relevant one put first",
}
"""Rankings of the documents."""

EMPTY = ("keep", "omit")
"""What becomes of a document of which a part set returns nothing."""

ELEMENTS = ("SL", "SLD", "SS", "SST")
"""Part sets that on a collection return elements only."""

MAY_BE_EMPTY = ("SS", "SST")
"""Part sets that may return nothing of a relevant document."""

_OF_ELEMENTS = ("SL", "SS", "SST")
_MOST_PAIRS = 1 << 22
"""Passages times elements that are looked at in one go."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated runs, and what there is to know about them.

    Parameters
    ----------
    runs : tuple of Run
        By part set, then by ranking; named after both, as in ``SLDRSI``.
    topics : tuple of str
        The topics of the runs.
    skipped : tuple of str
        Topics for which there is no non-relevant document to put first.
    swapped : int
        Topics with two relevant documents or more; on the others RS is R.
    left_out : tuple of str
        Part sets that cannot be made without a collection.
    notes : tuple of str
        What a user should know, in words.
    empty : str
        What became of documents of which a part set returns nothing.
    """

    runs: tuple[Run, ...]
    topics: tuple[str, ...]
    skipped: tuple[str, ...]
    swapped: int
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    empty: str = EMPTY[0]

    def __repr__(self) -> str:
        return f"<Simulation: {len(self.runs)} runs, {len(self.topics)} topics>"


class _Units(NamedTuple):
    """The documents to return: the relevant ones of every topic, then those to put first."""

    topics: tuple[str, ...]
    topic: Ints
    doc: pl.Series
    length: Ints
    place: Ints
    """The rank in R, from 1; 0 for a document that is not relevant."""


class _Parts(NamedTuple):
    """What is returned, by document and offset."""

    unit: Ints
    start: Ints
    end: Ints
    path: Ints
    """The number of the element's path in the collection; `UNKNOWN` where it is no element."""

    def ordered(self) -> _Parts:
        order = np.lexsort((self.end, self.start, self.unit))
        return _Parts(*(column[order] for column in self))


class _Passages(NamedTuple):
    """The highlighted passages of the relevant documents."""

    unit: Ints
    start: Ints
    end: Ints


def simulate(
    judgements: Judgements | str | Path | Sequence[str | Path],
    collection: str | Path | None = None,
    *,
    parts: str | Sequence[str] = tuple(PARTS),
    rankings: str | Sequence[str] = tuple(RANKINGS),
    empty: str = EMPTY[0],
    progress: Callable[[], None] | None = None,
    **options: Any,
) -> Simulation:
    """The runs of the S-R space for any judgements of text.

    Parameters
    ----------
    judgements : Judgements, path, or a sequence of paths
    collection : path, optional
        A collection index; without it the part sets made of elements are left out.
    parts, rankings : str or sequence of str
        Some of `PARTS` and `RANKINGS`.
    empty : {"keep", "omit"}
        A document of which nothing is returned stays in the ranking, with a result without length
        where its first passage begins, or is left out of it.
    progress : callable, optional
        Called after each run.
    **options
        Those fields of `foveal.evaluation.Options` that choose topics, pools and assessors.

    Examples
    --------
    >>> truth = Judgements.from_highlights(
    ...     {
    ...         "1": {
    ...             "D1": {"spans": [(10, 40), (70, 80)], "length": 100},
    ...             "D2": {"spans": [(0, 50)], "length": 50},
    ...             "D3": {"spans": [], "length": 40},
    ...         }
    ...     }
    ... )
    >>> made = simulate(truth)
    >>> [run.name for run in made.runs]
    ['SR', 'SRS', 'SRI', 'SRSI', 'SLDR', 'SLDRS', 'SLDRI', 'SLDRSI']
    >>> made.runs[3].to_frame().select("doc", "start", "end").rows()
    [('D3', 0, 40), ('D1', 10, 40), ('D1', 70, 80), ('D2', 0, 50)]
    >>> made.left_out
    ('SL', 'SS', 'SST')
    """
    parts = _chosen("part set", parts, tuple(PARTS))
    rankings = _chosen("ranking", rankings, tuple(RANKINGS))
    _chosen("way with empty documents", empty, EMPTY)
    if collection is None and set(parts) <= {*_OF_ELEMENTS}:
        raise UsageError(
            f"no run to make: {', '.join(parts)} {'is' if len(parts) == 1 else 'are'} made of "
            "elements, which takes a collection (-C)"
        )
    settings = Options(**options)
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    index = None if collection is None else open_cached(collection)
    warnings: list[str] = []
    topics_file = settings.topics_file
    topics = None if topics_file is None else read_topics(topics_file)
    selected = select_judgements(given, settings, index, topics, warnings)
    if list_assessors(selected, settings, warnings) != (None,):
        raise UsageError("a simulation takes one set of judgements; choose how assessors count")
    combined = selected.combined(settings.assessors)
    if not combined.has_text:
        raise InputError.at(
            "unclassified",
            combined.sources[0].path,
            None,
            "no text is highlighted; expected judged passages",
        )
    inserting = any("I" in ranking for ranking in rankings)
    units, passages, skipped = _units(combined, index, inserting=inserting)
    made = _part_sets(units, passages, index, parts)
    notes = [*warnings, *_notes(combined, units, skipped)]
    runs = []
    for name, found in made.items():
        filled, lost = _with_empty(found, units, passages, empty)
        if lost:
            what = "kept without text" if empty == "keep" else "left out"
            notes.append(f"{name}: relevant documents of which nothing is returned, {what}: {lost}")
        for ranking in rankings:
            runs.append(_run(f"{name}{ranking}", filled, units, ranking, index))
            if progress is not None:
                progress()
    left_out = tuple(name for name in parts if name not in made)
    if left_out:
        notes.append(f"part sets made of elements take a collection (-C): {', '.join(left_out)}")
    if "SLD" in made and (units.length < 0).any():
        notes.append(
            f"documents of unknown length, returned by name alone: {int((units.length < 0).sum())}"
        )
    return Simulation(
        runs=tuple(runs),
        topics=units.topics,
        skipped=skipped,
        swapped=int(np.count_nonzero(units.place == 2)),
        left_out=left_out,
        notes=tuple(notes),
        empty=empty,
    )


def _chosen(what: str, given: str | Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """What is wanted, each once."""
    names = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        shown = repr(unknown[0]) if unknown else "nothing"
        raise UsageError(f"{shown} is no {what}; expected some of {', '.join(known)}")
    return names


def _notes(combined: Judgements, units: _Units, skipped: tuple[str, ...]) -> Iterator[str]:
    found = {*units.topics, *skipped}
    nothing = [topic for topic in combined.topics if topic not in found]
    if nothing:
        yield f"topics with nothing relevant, left out, {len(nothing)}: {some(nothing, 20)}"
    if skipped:
        yield (
            f"topics without a non-relevant document to put first, left out, {len(skipped)}: "
            f"{some(skipped, 20)}"
        )
    single = len(units.topics) - int(np.count_nonzero(units.place == 2))
    if single:
        yield f"topics with one relevant document, on which RS is R: {single}"


# -- which documents ---------------------------------------------------------------------------


def _units(
    combined: Judgements, index: Collection | None, *, inserting: bool
) -> tuple[_Units, _Passages, tuple[str, ...]]:
    """The documents of the runs, the passages in them, and the topics that are skipped."""
    rows = np.flatnonzero(combined.rel_size > 0)
    length = combined.length
    if index is not None:
        missing = rows[index.lengths(combined.doc)[rows] < 0]
        if len(missing):
            raise InputError(
                combined.problem(
                    "unclassified",
                    row,
                    f"relevant document {combined.doc[row]!r} is not in the collection "
                    f"{index.path}; expected an index of the judged documents",
                )
                for row in missing.tolist()
            )
    wanted = np.unique(combined.topic[rows]).tolist()
    first = _non_relevant(combined, index, wanted) if inserting else dict.fromkeys(wanted, "")
    kept = [topic for topic in wanted if first[topic] is not None]
    skipped = tuple(combined.topics[topic] for topic in wanted if first[topic] is None)
    if not kept:
        raise UsageError(
            f"no topic to simulate: {len(skipped)} without a non-relevant document to put first"
            if skipped
            else "no topic to simulate: nothing is relevant"
        )
    rows = rows[np.isin(combined.topic[rows], kept)]
    names = combined.doc.gather(rows)
    by_name = names.rank("dense").to_numpy().astype(np.int64)
    order = np.lexsort((by_name, -combined.rel_size[rows], combined.topic[rows]))
    rows = rows[order]
    topic = np.searchsorted(kept, combined.topic[rows])
    place = np.arange(len(rows)) - np.searchsorted(topic, topic) + 1
    inserted = [name for t in kept if (name := first[t])]
    doc = pl.concat([combined.doc.gather(rows), pl.Series(inserted, dtype=pl.String)])
    units = _Units(
        topics=tuple(combined.topics[t] for t in kept),
        topic=np.concatenate([topic, np.arange(len(inserted))]),
        doc=doc,
        length=np.concatenate([length[rows], _lengths(combined, index, doc[len(rows) :])]),
        place=np.concatenate([place, np.zeros(len(inserted), dtype=np.int64)]),
    )
    unit_of = np.full(len(combined), UNKNOWN, dtype=np.int64)
    unit_of[rows] = np.arange(len(rows))
    own = unit_of[combined.row] >= 0
    passages = _Passages(unit_of[combined.row[own]], combined.start[own], combined.end[own])
    return units, passages, skipped


def _non_relevant(
    combined: Judgements, index: Collection | None, wanted: Sequence[int]
) -> dict[int, str | None]:
    """For each topic the document to put first: a judged one, else any other; the first by name.

    Without a collection the documents that there are to choose from are those judged for any topic.
    """
    rows = pl.DataFrame({"topic": combined.topic, "doc": combined.doc})
    known = np.ones(len(rows), bool) if index is None else index.lengths(combined.doc) >= 0
    free = rows.filter(pl.Series(known & (combined.rel_size == 0)))
    found: dict[int, str | None] = dict(free.group_by("topic").agg(pl.col("doc").min()).rows())
    others = combined.doc if index is None else index.documents["doc"]
    names = others.unique().sort().to_list()
    judged = dict(rows.group_by("topic").agg("doc").rows())
    for topic in wanted:
        if topic not in found:
            own = set(judged[topic])
            found[topic] = next((name for name in names if name not in own), None)
    return found


def _lengths(combined: Judgements, index: Collection | None, docs: pl.Series) -> Ints:
    if index is not None:
        return index.lengths(docs)
    names, _, length = combined.documents()
    table = pl.DataFrame({"doc": names, "length": length})
    found = pl.DataFrame({"doc": docs}).join(table, on="doc", how="left", maintain_order="left")
    return found["length"].to_numpy().astype(np.int64)


# -- which parts of them -----------------------------------------------------------------------


def _part_sets(
    units: _Units, passages: _Passages, index: Collection | None, wanted: Sequence[str]
) -> dict[str, _Parts]:
    """The part sets that can be made, each over all relevant documents."""
    relevant = np.flatnonzero(units.place > 0)
    nowhere = np.full(len(passages.unit), UNKNOWN, dtype=np.int64)
    found = {"S": _Parts(*passages, nowhere)}
    whole = _whole(units, relevant, index)
    if index is not None and set(wanted) & {*_OF_ELEMENTS}:
        found |= _element_sets(units, passages, index)
    found["SLD"] = whole
    others = _whole(units, np.flatnonzero(units.place == 0), index)
    return {
        name: _Parts(*(np.concatenate(pair) for pair in zip(found[name], others, strict=True)))
        for name in wanted
        if name in found
    }


def _whole(units: _Units, unit: Ints, index: Collection | None) -> _Parts:
    """The documents themselves; with a collection they are its root elements."""
    path = np.full(len(unit), UNKNOWN, dtype=np.int64)
    if index is not None:
        trees = index.trees(units.doc.gather(unit))
        path = trees.path[trees.bounds[:-1]] if len(unit) else path
    return _Parts(unit, np.zeros(len(unit), dtype=np.int64), units.length[unit], path)


def _element_sets(units: _Units, passages: _Passages, index: Collection) -> dict[str, _Parts]:
    """SL, SS and SST, from every pair of a passage and an element of its document."""
    distinct = units.doc.unique(maintain_order=True)
    table = pl.DataFrame({"doc": distinct, "code": np.arange(len(distinct))})
    code = pl.DataFrame({"doc": units.doc}).join(
        table, on="doc", how="left", maintain_order="left"
    )["code"]
    trees = index.trees(distinct)
    leaf = np.ones(len(trees.path), dtype=bool)
    leaf[trees.parent[trees.parent >= 0]] = False
    doc = code.to_numpy()[passages.unit]
    first, counts = trees.bounds[doc], np.diff(trees.bounds)[doc]
    chosen: dict[str, list[tuple[Ints, Ints]]] = {name: [] for name in _OF_ELEMENTS}
    for batch in _batches(counts):
        passage = np.repeat(batch, counts[batch])
        opens = np.cumsum(counts[batch]) - counts[batch]
        element = np.arange(len(passage)) + np.repeat(first[batch] - opens, counts[batch])
        start, end = trees.start[element], trees.end[element]
        from_, to = passages.start[passage], passages.end[passage]
        around = np.flatnonzero((start <= from_) & (end >= to))
        # Those around a passage are nested, and a child comes after its parent.
        size = end[around] - start[around]
        around = around[np.lexsort((-element[around], size, passage[around]))]
        smallest = around[np.unique(passage[around], return_index=True)[1]]
        inside = (start >= from_) & (end <= to) & (end > start)
        parent = trees.parent[element]
        # The pair of the same passage and the element's parent is as far away as the parent is.
        above = np.arange(len(element)) + np.where(parent >= 0, parent - element, 0)
        largest = np.flatnonzero(inside & ~(inside[above] & (parent >= 0)))
        for name, pair in (
            ("SL", smallest),
            ("SS", largest),
            ("SST", np.flatnonzero(inside & leaf[element])),
        ):
            chosen[name].append((passage[pair], element[pair]))
    found = {}
    for name, batches in chosen.items():
        passage, element = (np.concatenate(column) for column in zip(*batches, strict=True))
        found[name] = _Parts(
            passages.unit[passage], trees.start[element], trees.end[element], trees.path[element]
        )
    found["SL"] = _outermost(found["SL"], units)
    return found


def _batches(counts: Ints) -> Iterator[Ints]:
    """The passages in lots whose pairs fit into memory."""
    lot = np.cumsum(counts) // _MOST_PAIRS
    cuts = np.flatnonzero(np.diff(lot)) + 1
    yield from np.split(np.arange(len(counts)), cuts)


def _outermost(parts: _Parts, units: _Units) -> _Parts:
    """Without what is inside another part of the same document, and every part once."""
    order = np.lexsort((-parts.end, parts.start, parts.unit))
    parts = _Parts(*(column[order] for column in parts))
    end = parts.end + spans.lay_out(units.length)[parts.unit]
    reach = np.concatenate([[UNKNOWN], np.maximum.accumulate(end)[:-1]])
    return _Parts(*(column[end > reach] for column in parts))


def _with_empty(
    parts: _Parts, units: _Units, passages: _Passages, empty: str
) -> tuple[_Parts, int]:
    """The parts in order, documents without any as `empty` says, and how many of those."""
    lost = np.setdiff1d(np.arange(len(units.topic)), parts.unit)
    if len(lost) and empty == "keep":
        begins = np.full(len(units.topic), np.iinfo(np.int64).max)
        np.minimum.at(begins, passages.unit, passages.start)
        no_text = _Parts(lost, begins[lost], begins[lost], np.full(len(lost), UNKNOWN))
        parts = _Parts(*(np.concatenate(pair) for pair in zip(parts, no_text, strict=True)))
    return parts.ordered(), len(lost)


# -- in which order ----------------------------------------------------------------------------


def _run(name: str, parts: _Parts, units: _Units, ranking: str, index: Collection | None) -> Run:
    """The parts of each document, the documents ranked."""
    place = units.place.copy()
    if "S" in ranking:  # of a document alone the place does not matter
        place[units.place == 1], place[units.place == 2] = 2, 1
    order = np.lexsort((place, units.topic))
    if "I" not in ranking:
        order = order[place[order] > 0]
    bounds = np.searchsorted(parts.unit, np.arange(len(units.topic) + 1))
    counts = np.diff(bounds)[order]
    opens = np.cumsum(counts) - counts
    row = np.arange(counts.sum()) + np.repeat(bounds[:-1][order] - opens, counts)
    unit = parts.unit[row]
    xpath, path = None, parts.path[row]
    if index is not None and (path >= 0).any():
        texts = pl.DataFrame({"xpath": index.xpaths(np.maximum(path, 0))})
        xpath = texts.select(pl.when(pl.Series(path >= 0)).then("xpath")).to_series()
    return Run.from_columns(
        topic=pl.Series(units.topics, dtype=pl.String).gather(units.topic[unit]),
        doc=units.doc.gather(unit),
        start=parts.start[row],
        end=parts.end[row],
        xpath=xpath,
        name=name,
    )
