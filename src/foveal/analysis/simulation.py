"""The S-R space: runs of known quality, made from judgements instead of by a system.

Five ways to choose the parts of a relevant document and four ways to rank the documents make 20
runs (Pehcevski, Thom and Kamps, section 4). `expected_orderings` lists which
of them must be better.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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
from foveal.evaluation.preparation import select_judgements
from foveal.formats import Source, read_judgements, read_topics
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Ints

__all__ = [
    "ELEMENTS",
    "EMPTY",
    "PARTS",
    "RANKINGS",
    "Ordering",
    "Simulation",
    "expected_orderings",
    "orderings_between",
    "part_set",
    "read_orderings",
    "simulate",
]

PARTS = {
    "S": "the highlighted passages",
    "SL": "the smallest element around each passage",
    "SLD": "the whole document",
    "SS": "the largest elements inside each passage",
    "SST": "the elements inside each passage that hold no other element",
}
"""Part sets, and the parts they return of a relevant document."""

RANKINGS = {
    "R": "documents by decreasing highlighted text",
    "RS": "the first two documents swapped",
    "RI": "a non-relevant document put first",
    "RSI": "the first two documents swapped and a non-relevant one put first",
}
"""Rankings of the documents."""

EMPTY = ("keep", "omit")
"""Treatments of a relevant document without parts in a part set."""

ELEMENTS = ("SL", "SLD", "SS", "SST")
"""Part sets that on a collection return elements only."""

_OF_ELEMENTS = ("SL", "SS", "SST")
_MAY_BE_EMPTY = ("SS", "SST")
"""Part sets that may return nothing of a relevant document."""
_MOST_PAIRS = 1 << 22
"""Pairs of passages and elements compared at once."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated runs with their topics and notes."""

    runs: tuple[Run, ...]
    """By part set, then by ranking; named after both, as in ``SLDRSI``."""
    topics: tuple[str, ...]
    skipped: tuple[str, ...]
    """Topics without a non-relevant document to put first."""
    swapped: int
    """Topics with two relevant documents or more; on the others RS is R."""
    left_out: tuple[str, ...]
    """Part sets that cannot be made without a collection."""
    notes: tuple[str, ...]
    """Notes on topics and documents left out."""
    empty: str = EMPTY[0]

    def __repr__(self) -> str:
        return f"<Simulation: {len(self.runs)} runs, {len(self.topics)} topics>"


class _RankedDocuments(NamedTuple):
    """The documents to return: relevant ones of every topic, then those to put first."""

    topics: tuple[str, ...]
    topic: Ints
    doc: pl.Series
    length: Ints
    place: Ints
    """The rank in R, from 1; 0 for a document that is not relevant."""


class _Parts(NamedTuple):
    """The parts to return, by document and offset."""

    unit: Ints
    start: Ints
    end: Ints
    path: Ints
    """The number of the element's path in the collection; `UNKNOWN` for other parts."""

    @classmethod
    def joined(cls, *parts: _Parts) -> _Parts:
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def select(self, rows: Ints) -> _Parts:
        return _Parts(*(column[rows] for column in self))


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
    """Make the runs of the S-R space for any judgements of text.

    Parameters
    ----------
    judgements : Judgements, path, or a sequence of paths
    collection : path, optional
        A collection index; without it the part sets made of elements are left out.
    parts, rankings : str or sequence of str
        Some of `PARTS` and `RANKINGS`.
    empty : {"keep", "omit"}
        Keep a document without parts in the ranking, with a result without length at the start of
        its first passage, or leave it out.
    progress : callable, optional
        Called after each run.
    **options
        Options of `foveal.evaluate` that choose topics, pools and assessors.

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
    parts = _check_names("part set", parts, tuple(PARTS))
    rankings = _check_names("ranking", rankings, tuple(RANKINGS))
    _check_names("way with empty documents", empty, EMPTY)
    if collection is None and set(parts) <= {*_OF_ELEMENTS}:
        raise UsageError(
            f"no run to make: {', '.join(parts)} {'is' if len(parts) == 1 else 'are'} made of "
            "elements, which takes a collection (--collection)"
        )
    settings = Options(**options)
    if settings.assessors == "each":
        raise UsageError("a simulation takes one set of judgements; choose how assessors count")
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    index = None if collection is None else open_cached(collection)
    notes: list[str] = []
    topics = None if settings.topics_file is None else read_topics(settings.topics_file)
    selected = select_judgements(given, settings, index, topics, notes)
    combined = selected.combined(settings.assessors)
    if not combined.has_text:
        raise InputError.at(
            "judgements.no_text",
            combined.sources[0].path,
            None,
            "no text is highlighted; expected judged passages",
        )
    inserting = any("I" in ranking for ranking in rankings)
    units, passages, skipped = _rank_documents(combined, index, inserting=inserting)
    relevant, others = (
        _whole(units, np.flatnonzero(rows), index) for rows in (units.place > 0, units.place == 0)
    )
    sets = {"S": passages, "SLD": relevant}
    if index is not None and set(parts) & {*_OF_ELEMENTS}:
        sets |= _element_sets(units, passages, index)
    swapped = int(np.count_nonzero(units.place == 2))
    nothing = [t for t in combined.topics if t not in {*units.topics, *skipped}]
    if nothing:
        notes.append(f"topics with nothing relevant, left out, {len(nothing)}: {some(nothing, 20)}")
    if skipped:
        notes.append(
            f"topics without a non-relevant document to put first, left out, {len(skipped)}: "
            f"{some(skipped, 20)}"
        )
    if single := len(units.topics) - swapped:
        notes.append(f"topics with one relevant document, on which RS is R: {single}")
    runs = []
    for name in parts:
        if name not in sets:
            continue
        filled, lost = _fill_empty(_Parts.joined(sets[name], others), units, passages, empty)
        if lost:
            what = "kept without text" if empty == "keep" else "left out"
            notes.append(f"{name}: relevant documents of which nothing is returned, {what}: {lost}")
        for ranking in rankings:
            runs.append(_make_run(f"{name}{ranking}", filled, units, ranking, index))
            if progress is not None:
                progress()
    left_out = tuple(name for name in parts if name not in sets)
    if left_out:
        names = ", ".join(left_out)
        notes.append(f"part sets made of elements take a collection (--collection): {names}")
    unknown = int((units.length < 0).sum())
    if "SLD" in parts and unknown:
        notes.append(f"documents of unknown length, returned by name alone: {unknown}")
    return Simulation(tuple(runs), units.topics, skipped, swapped, left_out, tuple(notes), empty)


def _check_names(what: str, given: str | Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the names, each once; refuse unknown ones."""
    names = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        shown = repr(unknown[0]) if unknown else "nothing"
        raise UsageError(f"{shown} is no {what}; expected some of {', '.join(known)}")
    return names


# -- which documents ---------------------------------------------------------------------------


def _rank_documents(
    combined: Judgements, index: Collection | None, *, inserting: bool
) -> tuple[_RankedDocuments, _Parts, tuple[str, ...]]:
    """Return the documents of the runs, the passages in them, and the topics skipped."""
    rows = np.flatnonzero(combined.rel_size > 0)
    length = combined.length
    if index is not None:
        lost = rows[index.lengths(combined.doc)[rows] < 0]
        expected = f"the collection {index.path}; expected an index of the judged documents"
        problems = [
            combined.problem(
                "collection.unknown_document",
                row,
                f"relevant document {combined.doc[row]!r} is not in {expected}",
            )
            for row in lost.tolist()
        ]
        if problems:
            raise InputError(problems)
    wanted = np.unique(combined.topic[rows]).tolist()
    first = _find_non_relevant(combined, index, wanted) if inserting else dict.fromkeys(wanted, "")
    kept = [topic for topic in wanted if first[topic] is not None]
    skipped = tuple(combined.topics[topic] for topic in wanted if first[topic] is None)
    if not kept:
        lacking = f"{len(skipped)} without a non-relevant document to put first"
        raise UsageError(f"no topic to simulate: {lacking if skipped else 'nothing is relevant'}")
    rows = rows[np.isin(combined.topic[rows], kept)]
    by_name = combined.doc.gather(rows).rank("dense").to_numpy().astype(np.int64)
    rows = rows[np.lexsort((by_name, -combined.rel_size[rows], combined.topic[rows]))]
    topic = np.searchsorted(kept, combined.topic[rows])
    place = np.arange(len(rows)) - np.searchsorted(topic, topic) + 1
    inserted = [name for t in kept if (name := first[t])]
    doc = pl.concat([combined.doc.gather(rows), pl.Series(inserted, dtype=pl.String)])
    if index is None:
        combined.check_lengths(ends=False)
        known = dict(zip(combined.documents.names, combined.documents.length, strict=True))
        inserted_length = np.array([known[name] for name in inserted], dtype=np.int64)
    else:
        inserted_length = index.lengths(doc[len(rows) :])
    units = _RankedDocuments(
        topics=tuple(combined.topics[t] for t in kept),
        topic=np.concatenate([topic, np.arange(len(inserted))]),
        doc=doc,
        length=np.concatenate([length[rows], inserted_length]),
        place=np.concatenate([place, np.zeros(len(inserted), dtype=np.int64)]),
    )
    unit_of = np.full(len(combined), UNKNOWN, dtype=np.int64)
    unit_of[rows] = np.arange(len(rows))
    own = unit_of[combined.row] >= 0
    passages = _Parts(
        unit_of[combined.row[own]],
        combined.start[own],
        combined.end[own],
        np.full(np.count_nonzero(own), UNKNOWN, dtype=np.int64),
    )
    return units, passages, skipped


def _find_non_relevant(
    combined: Judgements, index: Collection | None, wanted: Sequence[int]
) -> dict[int, str | None]:
    """Return the document to put first for each topic: a judged one, else any; the first by name.

    Without a collection it is one of the documents judged for any topic.
    """
    rows = pl.DataFrame({"topic": combined.topic, "doc": combined.doc})
    known = np.ones(len(rows), bool) if index is None else index.lengths(combined.doc) >= 0
    free = rows.filter(pl.Series(known & (combined.rel_size == 0)))
    found: dict[int, str | None] = dict(free.group_by("topic").agg(pl.col("doc").min()).rows())
    others = combined.doc if index is None else index.documents["doc"]
    names = others.unique().sort().to_list()
    judged = dict(rows.group_by("topic").agg("doc").rows())
    for topic in set(wanted) - found.keys():
        own = set(judged[topic])
        found[topic] = next((name for name in names if name not in own), None)
    return found


# -- which parts of them -----------------------------------------------------------------------


def _whole(units: _RankedDocuments, unit: Ints, index: Collection | None) -> _Parts:
    """Return whole documents, which are root elements if there is a collection."""
    path = np.full(len(unit), UNKNOWN, dtype=np.int64)
    if index is not None:
        trees = index.trees(units.doc.gather(unit))
        path = trees.path[trees.bounds[:-1]] if len(unit) else path
    return _Parts(unit, np.zeros(len(unit), dtype=np.int64), units.length[unit], path)


def _element_sets(
    units: _RankedDocuments, passages: _Parts, index: Collection
) -> dict[str, _Parts]:
    """Return SL, SS and SST, from every pair of a passage and an element of its document."""
    trees = index.trees(units.doc)
    leaf = np.ones(len(trees.path), dtype=bool)
    leaf[trees.parent[trees.parent >= 0]] = False
    first, counts = trees.bounds[passages.unit], np.diff(trees.bounds)[passages.unit]
    chosen: dict[str, list[_Parts]] = {name: [] for name in _OF_ELEMENTS}
    cuts = np.flatnonzero(np.diff(np.cumsum(counts) // _MOST_PAIRS)) + 1
    for batch in np.split(np.arange(len(counts)), cuts):
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
        leaves = np.flatnonzero(inside & leaf[element])
        for name, pair in zip(_OF_ELEMENTS, (smallest, largest, leaves), strict=True):
            own = element[pair]
            unit = passages.unit[passage[pair]]
            chosen[name].append(_Parts(unit, trees.start[own], trees.end[own], trees.path[own]))
    found = {name: _Parts.joined(*batches) for name, batches in chosen.items()}
    # Of SL, drop parts inside another part of the same document.
    parts = found["SL"]
    order = np.lexsort((-parts.end, parts.start, parts.unit))
    end = (parts.end + spans.lay_out(units.length)[parts.unit])[order]
    kept = order[end > np.concatenate([[UNKNOWN], np.maximum.accumulate(end)[:-1]])]
    found["SL"] = parts.select(kept)
    return found


def _fill_empty(
    parts: _Parts, units: _RankedDocuments, passages: _Parts, empty: str
) -> tuple[_Parts, int]:
    """Return the parts in order, and the number of documents without any, treated as `empty`."""
    lost = np.setdiff1d(np.arange(len(units.topic)), parts.unit)
    if len(lost) and empty == "keep":
        begins = np.full(len(units.topic), np.iinfo(np.int64).max)
        np.minimum.at(begins, passages.unit, passages.start)
        no_text = _Parts(lost, begins[lost], begins[lost], np.full(len(lost), UNKNOWN))
        parts = _Parts.joined(parts, no_text)
    return parts.select(np.lexsort((parts.end, parts.start, parts.unit))), len(lost)


# -- in which order ----------------------------------------------------------------------------


def _make_run(
    name: str, parts: _Parts, units: _RankedDocuments, ranking: str, index: Collection | None
) -> Run:
    """Return a run of the parts of each document, in the order of the ranking."""
    place = units.place.copy()
    if "S" in ranking:  # the place of a single document does not matter
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


# -- which run must be better -----------------------------------------------------------------

_LOWER_PARTS = {"S": ("SL", "SS"), "SL": ("SLD",), "SLD": (), "SS": ("SST",), "SST": ()}
_LOWER_RANKINGS = {"R": ("RS", "RI"), "RS": ("RSI",), "RI": ("RSI",), "RSI": ()}


@dataclass(frozen=True)
class Ordering:
    """An expectation: the first run is at least as good as the second.

    >>> print(Ordering("SR", "SLR"))
    SR >= SLR
    """

    better: str
    worse: str
    every: bool = True
    """On every topic, or only on average."""
    aspect: str = "given"

    def __str__(self) -> str:
        return f"{self.better} >= {self.worse}"


def expected_orderings(
    parts: Sequence[str] = tuple(PARTS),
    rankings: Sequence[str] = tuple(RANKINGS),
    *,
    empty: str = EMPTY[0],
) -> tuple[Ordering, ...]:
    """Return the orderings of the S-R space, in the order of table 2.

    More or less than the highlighted text is worse, and so is a non-relevant document put first,
    on every topic. Documents with more relevant text should come first on average; on every topic
    only with the part set S, where all documents are scored alike. With ``empty="omit"`` a
    document without parts in SS or SST makes room for others, which may more than compensate:
    only the average is expected then.

    >>> every = expected_orderings()
    >>> len(every), sum(ordering.every for ordering in every)
    (36, 28)
    >>> [str(ordering) for ordering in every[:4]]
    ['SR >= SLR', 'SR >= SSR', 'SR >= SRS', 'SR >= SRI']
    >>> sum(ordering.every for ordering in expected_orderings(empty="omit"))
    20
    """
    return orderings_between([f"{p}{r}" for p in parts for r in rankings], empty=empty)


def orderings_between(names: Sequence[str], *, empty: str = EMPTY[0]) -> tuple[Ordering, ...]:
    """Return the orderings of the S-R space between some of its runs.

    Where a run is missing, its neighbours are compared.

    >>> [str(ordering) for ordering in orderings_between(["SR", "SLDR", "SRSI"])]
    ['SR >= SLDR', 'SR >= SRSI']
    """
    there = set(names)
    found = []
    runs = [("S", "R")]
    for part, ranking in runs:  # from the best, step by step; the list grows meanwhile
        steps = [(lower, ranking) for lower in _LOWER_PARTS[part]]
        steps += [(part, lower) for lower in _LOWER_RANKINGS[ranking]]
        runs += [step for step in steps if step not in runs]
        name = f"{part}{ranking}"
        if name not in there:
            continue
        for lower in _next(part, _LOWER_PARTS, [p for p in PARTS if f"{p}{ranking}" in there]):
            every = empty == EMPTY[0] or lower not in _MAY_BE_EMPTY
            found.append(Ordering(name, f"{lower}{ranking}", every, "parts"))
        for lower in _next(ranking, _LOWER_RANKINGS, [r for r in RANKINGS if part + r in there]):
            inserts, swaps = (kind in lower and kind not in ranking for kind in ("I", "S"))
            late = "late swap" if "I" in ranking else "swap"
            aspect = ("insertion and swap" if swaps else "insertion") if inserts else late
            found.append(Ordering(name, f"{part}{lower}", not swaps or part == "S", aspect))
    return tuple(found)


def _next(one: str, below: Mapping[str, Sequence[str]], there: Sequence[str]) -> list[str]:
    """Return the next lower ones among `there`, past missing ones."""
    found: dict[str, None] = {}
    for lower in below[one]:
        found |= dict.fromkeys([lower] if lower in there else _next(lower, below, there))
    # A step that another one leads to is not next.
    return [lower for lower in found if not any(lower in below[other] for other in found)]


def part_set(name: str) -> str:
    """Return the part set of a run of the space.

    >>> part_set("SSTRSI"), part_set("SRS")
    ('SST', 'S')
    """
    return name.removesuffix(max((r for r in RANKINGS if name.endswith(r)), key=len))


# -- expectations of a user --------------------------------------------------------------------

_NAME = r"""(?:"[^"]*"|'[^']*'|[^\s"'#]\S*?)"""
"""A name with blanks is in quotes."""
_LINE = re.compile(
    rf"(?P<better>{_NAME})(?:\s*>=\s*|\s+)(?P<worse>{_NAME})(?:\s+(?P<kind>every|mean))?(?:\s+#.*)?"
)


def read_orderings(path: str | Path, runs: Sequence[str]) -> tuple[Ordering, ...]:
    """Read orderings of `runs` from a file with one on each line.

    A line is ``better worse`` or ``better >= worse``, and may end in ``every`` (topic, the default)
    or ``mean``. Names with blanks are in quotes. A ``#`` starts a comment.
    """
    source = Source.open(path)
    source.check_utf8()
    found: list[Ordering] = []
    for number, line in enumerate(source.data.decode().splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        if match is None or match["worse"] == ">=":
            problem = f"{text!r} is no ordering; expected 'better >= worse [every|mean]', names "
            raise source.error("orderings.syntax", number, f"{problem}with blanks in quotes")
        better, worse = (
            name[1:-1] if name[0] in "\"'" else name for name in (match["better"], match["worse"])
        )
        if unknown := [name for name in (better, worse) if name not in runs]:
            problem = f"no run {unknown[0]!r}; the runs are {', '.join(runs)}"
            raise source.error("orderings.unknown_run", number, problem)
        if better == worse:
            problem = f"run {better!r} is compared with itself"
            raise source.error("orderings.same_run", number, problem)
        found.append(Ordering(better, worse, match["kind"] != "mean"))
    if not found:
        problem = "no ordering in the file; expected 'better >= worse' on a line"
        raise source.error("orderings.empty", None, problem)
    return tuple(dict.fromkeys(found))
