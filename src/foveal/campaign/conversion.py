"""Runs without overlap, and assessments of elements: derived from highlights, filtered."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection as Names
from dataclasses import replace

import numpy as np
import polars as pl

from foveal import spans
from foveal.campaign.cas import CasFilter
from foveal.campaign.nesting import extents
from foveal.collection import Collection
from foveal.errors import InputError, UsageError
from foveal.formats.grades import relevant_rows
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.judgements import PLACE_COLUMNS
from foveal.recall.forest import scale_of
from foveal.spans import Ints

__all__ = [
    "FOCUS",
    "derive_elements",
    "elements_with_text",
    "exclude_tags",
    "filter_by_structure",
    "focus",
    "recompute_sizes",
]

FOCUS = ("rank", "deeper", "higher")
"""Which of two overlapping results stays: the better ranked, the smaller, or the larger one."""


def focus(run: Run, keep: str = "rank") -> Run:
    """The run without overlap: of overlapping results one is kept.

    >>> run = Run.from_results({"1": [("d", 0, 90), ("d", 10, 20), ("d", 30, 40)]})
    >>> focus(run).to_frame()["end"].to_list(), focus(run, "deeper").to_frame()["end"].to_list()
    ([90], [20, 40])
    """
    if keep not in FOCUS:
        raise UsageError(f"cannot keep the {keep!r} result; expected {' or '.join(FOCUS)}")
    start, end, known = extents(run)
    nowhere = np.flatnonzero(~known)
    if len(nowhere):
        raise InputError.at(
            run.source.path,
            int(run.line[nowhere[0]]),
            "the place of the result is not known; removing overlap takes a collection (-C)",
        )
    order = np.arange(len(run))
    if keep != "rank":
        # Of equal extent, the element with the longer path is the deeper one.
        depth = np.zeros(len(run), dtype=np.int64)
        if run.xpath is not None:
            depth = run.xpath.str.count_matches("/").fill_null(0).to_numpy().astype(np.int64)
        small = np.lexsort((order, -depth, end - start))
        large = np.lexsort((order, depth, start - end))
        order = small if keep == "deeper" else large
    kept = np.empty(len(run), dtype=bool)
    kept[order] = spans.disjoint(start[order], end[order])
    left = run.take(kept)
    return left if left.rank is None else replace(left, rank=_ranks(left))


def _ranks(run: Run) -> Ints:
    """Ranks without gaps for results that were left out; ties stay ties."""
    assert run.rank is not None
    opens = np.ones(len(run), dtype=bool)
    opens[1:] = (run.rank[1:] != run.rank[:-1]) | (run.topic[1:] != run.topic[:-1])
    return (
        np.maximum.accumulate(np.where(opens, np.arange(len(run)), 0)) - run.bounds[run.topic] + 1
    )


def _highlighted(judgements: Judgements) -> Callable[[Ints, Ints, Ints], Ints]:
    """How many characters are highlighted in a span of a judgement's document."""
    extent = np.zeros(len(judgements), dtype=np.int64)
    np.maximum.at(extent, judgements.row, judgements.end)
    base = spans.lay_out(extent)
    text = spans.Coverage(
        judgements.start + base[judgements.row], judgements.end + base[judgements.row]
    )

    def within(row: Ints, start: Ints, end: Ints) -> Ints:
        reach = extent[row]
        return text.within(np.minimum(start, reach) + base[row], np.minimum(end, reach) + base[row])

    return within


def elements_with_text(judgements: Judgements, collection: Collection) -> pl.DataFrame:
    """Every element that holds highlighted text: ``row``, ``xpath``, ``size`` and ``rsize``.

    In document order, row by row; the spans of a row must be disjoint. Documents that are not in
    the collection have none.
    """
    rows = np.flatnonzero(judgements.relevant)
    trees = collection.trees(judgements.doc.gather(rows))
    counts = np.diff(trees.bounds)
    row = np.repeat(rows, counts)
    inside = _highlighted(judgements)(row, trees.start, trees.end)
    hit = np.flatnonzero(inside > 0)
    # Parents come before their children, so this is document order.
    hit = hit[np.lexsort((-trees.end[hit], trees.start[hit], row[hit]))]
    return pl.DataFrame(
        {
            "row": row[hit],
            "xpath": collection.paths["xpath"].gather(trees.path[hit]),
            "size": (trees.end - trees.start)[hit],
            "rsize": inside[hit],
        }
    )


def derive_elements(judgements: Judgements, collection: Collection) -> Judgements:
    """Assessments of elements from highlighted text: size and rsize of every element it touches.

    Passages and best entry points get their XPaths too, as far as the index can name them.
    Assessors stay apart.
    """
    truth = judgements.united()
    lost = truth.relevant & (collection.lengths(truth.doc) < 0)
    if lost.any():
        raise InputError(
            truth.problem(row, f"document {truth.doc[row]!r} is not in the collection")
            for row in np.flatnonzero(lost).tolist()
        )
    notes = truth.notes
    places = None
    if collection.whitespace == "merge":
        note = "passages and entry points left out: no XPath names them where white space is merged"
        notes = (*notes, note)
    else:
        places = _places(truth, collection)
    return replace(
        truth,
        elements=elements_with_text(truth, collection),
        places=places,
        header={
            **(judgements.header or {}),
            "scale": "2006",
            "whitespace": collection.whitespace,
        },
        notes=notes,
    )


def recompute_sizes(judgements: Judgements, collection: Collection) -> Judgements:
    """The assessed elements with the sizes that collection and highlighted text give them.

    On the scale of 2006 all elements with highlighted text are derived; on that of 2005 those that
    were assessed keep their exhaustivity.
    """
    scale = (judgements.header or {}).get("scale", "2006")
    if scale not in ("2005", "2006"):
        raise UsageError(f"elements graded on the scale of {scale} have no sizes to recompute")
    if not judgements.has_text:
        raise UsageError("sizes can only be recomputed from highlighted text; there is none")
    if scale == "2006" or judgements.elements is None:
        return derive_elements(judgements, collection)
    truth, elements = judgements.united(), judgements.elements
    row = elements["row"].to_numpy()
    found = collection.resolve(truth.doc.gather(row), elements["xpath"])
    if found.problem:
        raise InputError(
            truth.problem(int(row[i]), found.problem[i]) for i in sorted(found.problem)
        )
    rsize = _highlighted(truth)(row, found.start, found.end)
    sizes = (pl.Series("size", found.end - found.start), pl.Series("rsize", rsize))
    return replace(truth, elements=elements.with_columns(*sizes))


def _places(truth: Judgements, collection: Collection) -> pl.DataFrame:
    """The passages and best entry points of relevant documents as XPaths."""
    row = truth.row
    entry = np.flatnonzero(truth.relevant & (truth.bep >= 0))
    wanted = pl.DataFrame(
        {
            "row": np.concatenate([row, row, entry]),
            "offset": np.concatenate([truth.start, truth.end, truth.bep[entry]]),
            "closing": np.repeat([False, True, False], [len(row), len(row), len(entry)]),
        }
    ).with_columns(
        doc=truth.doc.gather(np.concatenate([row, row, entry])), at=pl.int_range(pl.len())
    )
    named = np.empty(len(wanted), dtype=object)
    for (doc,), own in wanted.group_by("doc"):
        points = collection.points(str(doc), own["offset"].to_numpy(), own["closing"].to_numpy())
        named[own["at"].to_numpy()] = points
    n = len(row)
    return pl.DataFrame(
        {
            "row": np.concatenate([row, entry]),
            "start": [*named[:n], *named[2 * n :]],
            "end": [*named[n : 2 * n], *[None] * len(entry)],
            "bep": np.repeat([False, True], [n, len(entry)]),
            "line": truth.line[np.concatenate([row, entry])],
        },
        schema=PLACE_COLUMNS,
    ).sort("row", maintain_order=True)


def exclude_tags(judgements: Judgements, tags: Names[str]) -> Judgements:
    """The judgements without the elements of these tags (the link experiment of 2006)."""
    last = _listed(judgements)["xpath"].str.extract(r"/([^/\[]+)(?:\[[^/]*)?$")
    return _only_elements(judgements, ~last.is_in(list(tags)).fill_null(value=False))


def filter_by_structure(judgements: Judgements, cas: CasFilter) -> Judgements:
    """The judgements with only the elements that fit the structured queries of their topics."""
    elements = _listed(judgements)
    lists = np.zeros(len(judgements), dtype=bool)
    lists[elements["row"].to_numpy()] = True
    unlisted = np.flatnonzero(judgements.relevant & ~lists)
    if len(unlisted):
        raise InputError(
            judgements.problem(
                row,
                f"document {judgements.doc[row]!r} is relevant, but no element of it is assessed; "
                "derive them first (--recompute -C)",
            )
            for row in unlisted.tolist()
        )
    keep = cas(judgements, elements["row"].to_numpy(), elements["xpath"])
    left = _only_elements(judgements, pl.Series(keep))
    if not left.relevant.any():
        raise UsageError(f"--cas {cas.reading} leaves no relevant element of any topic")
    return left


def _listed(judgements: Judgements) -> pl.DataFrame:
    if judgements.elements is None:
        raise UsageError("there are no assessed elements to leave out; derive them first (-C)")
    return judgements.elements


def _only_elements(judgements: Judgements, keep: pl.Series) -> Judgements:
    """Only some of the assessed elements; a document left without any is not relevant any more.

    Of documents with some left, passages stay: elements that are not listed do not count.
    """
    before, n = _listed(judgements), len(judgements)
    elements, scale = before.filter(keep), scale_of(judgements)
    lost = relevant_rows(before, n, scale) & ~relevant_rows(elements, n, scale)
    if not lost.any():
        return replace(judgements, elements=elements)
    span, places = ~lost[judgements.row], judgements.places
    kept = pl.Series(span)
    return replace(
        judgements,
        elements=elements,
        relevant=judgements.relevant & ~lost,
        bep=np.where(lost, UNKNOWN, judgements.bep),
        bounds=np.concatenate([[0], np.cumsum(np.where(lost, 0, np.diff(judgements.bounds)))]),
        start=judgements.start[span],
        end=judgements.end[span],
        grade=None if judgements.grade is None else judgements.grade[span],
        quotes=None if judgements.quotes is None else judgements.quotes.filter(kept),
        places=None if places is None else places.filter(~lost[places["row"].to_numpy()]),
        notes=(
            *judgements.notes,
            f"documents that no assessed element is left of, not relevant now: {int(lost.sum())}",
        ),
    )
