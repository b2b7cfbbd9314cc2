"""The S-R space: runs of known quality, made from judgements instead of by a system.

Five ways to choose the parts of a relevant document and four ways to rank the documents make 20
runs (Pehcevski, Thom and Kamps, section 4). `expected_orderings` lists which must be better.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
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
from foveal.formats import read_judgements, read_topics
from foveal.model import Judgements, Run
from foveal.spans import Ints

__all__ = ["Ordering", "Simulation", "expected_orderings", "simulate"]

PARTS = ("S", "SL", "SLD", "SS", "SST")
"""Part sets: of a relevant document they return the highlighted passages; the smallest element
around each; the whole document; the largest elements inside each passage; and the elements inside
them that hold no other element."""
ELEMENTS = PARTS[1:]
"""Part sets that on a collection return elements only."""
RANKINGS = ("R", "RS", "RI", "RSI")
"""Rankings of the documents: by decreasing highlighted text; the first two swapped; a non-relevant
document put first; both."""
EMPTY = ("keep", "omit")
"""Treatments of a relevant document without parts in a part set."""


class Simulation(NamedTuple):
    """Simulated runs with their topics and notes."""

    runs: tuple[Run, ...]
    """By part set, then by ranking; named after both, as in ``SLDRSI``."""
    topics: tuple[str, ...]
    skipped: tuple[str, ...]
    """Topics without a non-relevant document to put first."""
    notes: tuple[str, ...]
    """Notes on topics, documents and part sets left out."""

    def __repr__(self) -> str:
        return f"<Simulation: {len(self.runs)} runs, {len(self.topics)} topics>"


def simulate(
    judgements: Judgements | str | Path | Sequence[str | Path],
    collection: str | Path | None = None,
    *,
    parts: Sequence[str] = PARTS,
    empty: str = EMPTY[0],
    **options: Any,
) -> Simulation:
    """Make the runs of the S-R space for any judgements of text.

    Parameters
    ----------
    judgements : Judgements, path, or a sequence of paths
    collection : path, optional
        A collection index; without it the part sets made of elements are left out.
    parts : sequence of str
        Some of `PARTS`.
    empty : {"keep", "omit"}
        Keep a document without parts in the ranking, with a result without length at the start of
        its first passage, or leave it out.
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
    >>> made.notes
    ('no collection (--collection): runs of SL, SS, SST are left out',)
    """
    for name, known in ((empty, EMPTY), *((part, PARTS) for part in parts)):
        if name not in known:
            raise UsageError(f"unknown {name!r}; expected one of {', '.join(known)}")
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
        text = "no text is highlighted; expected judged passages"
        raise InputError.at("judgements.no_text", combined.sources[0].path, None, text)
    docs, kept, skipped = _rank_documents(combined, index)
    nothing = [topic for topic in combined.topics if topic not in {*kept, *skipped}]
    if nothing:
        notes.append(f"topics left out, nothing relevant: {some(nothing, 20)}")
    if skipped:
        lacking = "no non-relevant document to put first"
        notes.append(f"topics left out, {lacking}: {some(skipped, 20)}")
    sets = _list_parts(combined, docs, index)
    inserted = sets["SLD"].join(docs.filter(place=0), on="unit", how="semi")
    begins = sets["S"].group_by("unit").agg(start=pl.col("start").min(), end=pl.col("start").min())
    runs = []
    for part in (part for part in parts if part in sets):
        own = pl.concat([sets[part].join(inserted, on="unit", how="anti"), inserted])
        bare = begins.join(own, on="unit", how="anti")
        if len(bare):
            what = "kept without text" if empty == "keep" else "left out"
            lost = f"relevant documents of which nothing is returned, {what}: {len(bare)}"
            notes.append(f"{part}: {lost}")
        if empty == "keep":
            own = pl.concat([own, bare], how="diagonal")
        runs += [_make_run(f"{part}{ranking}", own, docs, kept, ranking) for ranking in RANKINGS]
    if left_out := [part for part in parts if part not in sets]:
        notes.append(f"no collection (--collection): runs of {', '.join(left_out)} are left out")
    return Simulation(tuple(runs), kept, skipped, tuple(notes))


def _rank_documents(
    combined: Judgements, index: Collection | None
) -> tuple[pl.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """Return the documents of the runs, their topics, and the topics skipped.

    ``place`` is the rank in R, and 0 for the document put first. That is the first judged
    non-relevant document by name, else the first of the collection that is not judged; without a
    collection, of the documents judged for other topics.
    """
    judged = pl.DataFrame(
        {
            "row": np.arange(len(combined)),
            "topic": combined.topic,
            "doc": combined.doc,
            "size": combined.rel_size,
        }
    )
    relevant = judged.filter(pl.col("size") > 0)
    free = judged.filter(pl.col("size") == 0)
    if index is not None:
        lost = relevant.filter(pl.Series(index.lengths(relevant["doc"]) < 0))
        if len(lost):
            raise InputError(
                combined.problem(
                    "collection.unknown_document",
                    row,
                    f"relevant document {doc!r} is not in the collection {index.path}; expected "
                    "an index of the judged documents",
                )
                for row, doc in lost.select("row", "doc").rows()
            )
        free = free.filter(pl.Series(index.lengths(free["doc"]) >= 0))
    wanted = relevant["topic"].unique().sort().to_list()
    first = dict(free.group_by("topic").agg(pl.col("doc").min()).rows())
    others = combined.doc if index is None else index.documents["doc"]
    names = others.unique().sort().to_list()
    for topic in set(wanted) - first.keys():
        own = set(judged.filter(topic=topic)["doc"])
        if unjudged := [name for name in names if name not in own]:
            first[topic] = unjudged[0]
    kept = [topic for topic in wanted if topic in first]
    skipped = tuple(combined.topics[topic] for topic in wanted if topic not in first)
    if not kept:
        lacking = f"{len(skipped)} without a non-relevant document to put first"
        raise UsageError(f"no topic to simulate: {lacking if skipped else 'nothing is relevant'}")
    ranked = relevant.filter(pl.col("topic").is_in(kept)).sort(
        "topic", "size", "doc", descending=[False, True, False]
    )
    ranked = ranked.with_columns(place=pl.int_range(1, pl.len() + 1).over("topic"))
    inserted = pl.DataFrame({"topic": kept, "doc": [first[topic] for topic in kept], "place": 0})
    docs = pl.concat([ranked, inserted], how="diagonal_relaxed")
    if index is None:
        combined.check_lengths(ends=False)
        known = {"doc": combined.documents.names, "length": combined.documents.length}
        docs = docs.join(pl.DataFrame(known), on="doc", how="left", maintain_order="left")
    else:
        docs = docs.with_columns(length=index.lengths(docs["doc"]))
    docs = docs.with_columns(
        topic=pl.col("topic").rank("dense") - 1, unit=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    return docs, tuple(combined.topics[topic] for topic in kept), skipped


def _list_parts(
    combined: Judgements, docs: pl.DataFrame, index: Collection | None
) -> dict[str, pl.DataFrame]:
    """Return the parts of each part set: unit, start, end and XPath."""
    columns = {"row": combined.row, "start": combined.start, "end": combined.end}
    passages = pl.DataFrame(columns).join(docs.select("row", "unit"), on="row")
    no_path = pl.lit(None, dtype=pl.String)
    passages = passages.select("unit", "start", "end", xpath=no_path)
    whole = docs.select("unit", start=pl.lit(0, dtype=pl.Int64), end="length", xpath=no_path)
    if index is None:
        return {"S": passages, "SLD": whole}
    trees = index.trees(docs["doc"])
    unit = np.repeat(np.arange(len(docs)), np.diff(trees.bounds))
    base = spans.lay_out(docs["length"].to_numpy())
    own, start, end = (passages[name].to_numpy() for name in ("unit", "start", "end"))
    # Passages are apart from each other, so an element of highlighted text lies in one of them.
    highlighted = spans.Coverage(start + base[own], end + base[own])
    size = trees.end - trees.start
    inside = highlighted.within(trees.start + base[unit], trees.end + base[unit]) == size
    inside &= size > 0
    has_parent = trees.parent >= 0
    is_leaf = np.ones(len(unit), dtype=bool)
    is_leaf[trees.parent[has_parent]] = False

    def list_elements(element: Ints) -> pl.DataFrame:
        places = {"unit": unit[element], "start": trees.start[element], "end": trees.end[element]}
        return pl.DataFrame({**places, "xpath": index.xpaths(trees.path[element])})

    # Of SL, drop elements inside another one of the same document.
    smallest = list_elements(np.unique(trees.find_enclosing(own, start, end)))
    smallest = smallest.sort("unit", "start", "end", descending=[False, False, True])
    reach = pl.col("end").cum_max().shift(1, fill_value=-1).over("unit")
    return {
        "S": passages,
        "SL": smallest.filter(pl.col("end") > reach),
        "SLD": list_elements(trees.bounds[:-1]),
        "SS": list_elements(np.flatnonzero(inside & ~(has_parent & inside[trees.parent]))),
        "SST": list_elements(np.flatnonzero(inside & is_leaf)),
    }


def _make_run(
    name: str, parts: pl.DataFrame, docs: pl.DataFrame, topics: Sequence[str], ranking: str
) -> Run:
    """Return a run of the parts of each document, in the order of the ranking."""
    place = pl.col("place")
    if "S" in ranking:  # the place of a single document does not matter
        place = place.replace({1: 2, 2: 1})
    ranked = docs.with_columns(place=place)
    if "I" not in ranking:
        ranked = ranked.filter(pl.col("place") > 0)
    results = ranked.join(parts, on="unit").sort("topic", "place", "start", "end")
    xpath = results["xpath"]
    return Run.from_columns(
        topic=pl.Series(topics, dtype=pl.String).gather(results["topic"]),
        doc=results["doc"],
        start=results["start"].to_numpy(),
        end=results["end"].to_numpy(),
        xpath=None if xpath.null_count() == len(xpath) else xpath,
        name=name,
    )


class Ordering(NamedTuple):
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


_PART_CHAINS = (("S", "SL", "SLD"), ("S", "SS", "SST"))
_ASPECTS = {
    ("R", "RS"): "swap",
    ("R", "RI"): "insertion",
    ("RS", "RSI"): "insertion",
    ("RI", "RSI"): "late swap",
}


def expected_orderings(
    parts: Sequence[str] = PARTS, *, empty: str = EMPTY[0]
) -> tuple[Ordering, ...]:
    """Return the orderings of the S-R space, in the order of table 2.

    More or less than the highlighted text is worse, and so is a non-relevant document put first,
    on every topic. Documents with more relevant text should come first on average; on every topic
    only with the part set S, where all documents are scored alike. With ``empty="omit"`` a
    document without parts in SS or SST makes room for others, which may more than compensate:
    only the average is expected then. Where a part set is missing, its neighbours are compared.

    >>> every = expected_orderings()
    >>> len(every), sum(ordering.every for ordering in every)
    (36, 28)
    >>> [str(ordering) for ordering in every[:4]]
    ['SR >= SLR', 'SR >= SSR', 'SR >= SRS', 'SR >= SRI']
    >>> sum(ordering.every for ordering in expected_orderings(empty="omit"))
    20
    """
    chains = [[part for part in chain if part in parts] for chain in _PART_CHAINS]
    runs = list(dict.fromkeys((chain[0], "R") for chain in chains if chain))
    found: list[Ordering] = []
    for part, ranking in runs:  # from the best, step by step; the list grows meanwhile
        name = f"{part}{ranking}"
        for lower in (low for chain in chains for up, low in pairwise(chain) if up == part):
            every = empty == EMPTY[0] or lower not in ("SS", "SST")
            found.append(Ordering(name, f"{lower}{ranking}", every, "parts"))
            runs += [] if (lower, ranking) in runs else [(lower, ranking)]
        for (upper, lower), aspect in _ASPECTS.items():
            if upper == ranking:
                every = aspect == "insertion" or part == "S"
                found.append(Ordering(name, f"{part}{lower}", every, aspect))
                runs += [] if (part, lower) in runs else [(part, lower)]
    return tuple(found)
