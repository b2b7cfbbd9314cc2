"""Remove overlap from runs; derive assessments of elements from highlights, and filter them."""

from __future__ import annotations

from collections.abc import Collection as Names
from dataclasses import replace

import numpy as np
import polars as pl

from foveal import spans
from foveal.collection import Collection
from foveal.errors import InputError, UsageError
from foveal.evaluation.cas_filter import CasFilter, describe_unknown_tags
from foveal.evaluation.rules import find_overlap_extents
from foveal.formats.graded_elements import mark_relevant
from foveal.measures.alignment import Bools
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.judgements import PLACE_COLUMNS
from foveal.recall.forest import find_scale
from foveal.spans import Ints

_MERGED = "passages and entry points left out: no XPath names them where white space is merged"


def focus(run: Run) -> Run:
    """Keep the best ranked of the results that overlap each other.

    >>> run = Run.from_results({"1": [("d", 0, 90), ("d", 10, 20), ("d", 90, 95)]})
    >>> focus(run).to_frame()["end"].to_list()
    [90, 95]
    """
    start, end, known = find_overlap_extents(run)
    nowhere = np.flatnonzero(~known)
    if len(nowhere):
        raise InputError.at(
            "run.unknown_place",
            run.source.path,
            int(run.line[nowhere[0]]),
            "the place of the result is not known; removing overlap takes a collection "
            "(--collection)",
        )
    kept = spans.disjoint(start, end)
    kept[run.duplicates[1]] = False  # empty results overlap nothing, but may be repeated
    left = run.take(kept)
    if left.rank is None:
        return left
    # Ranks without gaps; ties stay ties.
    opens = np.ones(len(left), dtype=bool)
    opens[1:] = (left.rank[1:] != left.rank[:-1]) | (left.topic[1:] != left.topic[:-1])
    head = np.maximum.accumulate(np.where(opens, np.arange(len(left)), 0))
    return left.with_columns(rank=head - left.bounds[left.topic] + 1)


def _count_highlighted(judgements: Judgements, row: Ints, start: Ints, end: Ints) -> Ints:
    """Count the highlighted characters in spans of judged documents."""
    extent = np.zeros(len(judgements), dtype=np.int64)
    np.maximum.at(extent, judgements.row, judgements.end)
    base = spans.lay_out(extent)
    first = base[judgements.row]
    text = spans.Coverage(judgements.start + first, judgements.end + first)
    start, end = (np.minimum(offset, extent[row]) + base[row] for offset in (start, end))
    return text.within(start, end)


def list_elements_with_text(judgements: Judgements, collection: Collection) -> pl.DataFrame:
    """Return every element with highlighted text: ``row``, ``xpath``, ``size`` and ``rsize``.

    In document order, row by row; the spans of a row must be disjoint. Documents that are not in
    the collection have none.
    """
    rows = np.flatnonzero(judgements.relevant)
    trees = collection.trees(judgements.doc.gather(rows))
    row = np.repeat(rows, np.diff(trees.bounds))
    inside = _count_highlighted(judgements, row, trees.start, trees.end)
    hit = np.flatnonzero(inside > 0)
    # Parents come before their children, so this is document order.
    hit = hit[np.lexsort((-trees.end[hit], trees.start[hit], row[hit]))]
    size, xpath = (trees.end - trees.start)[hit], collection.xpaths(trees.path[hit])
    return pl.DataFrame({"row": row[hit], "xpath": xpath, "size": size, "rsize": inside[hit]})


def derive_elements(judgements: Judgements, collection: Collection) -> Judgements:
    """Derive assessments of elements from highlighted text: size and rsize of each it touches.

    Passages and best entry points get their XPaths too, as far as the index can name them.
    Assessors stay separate.
    """
    truth = judgements.united()
    lost = truth.relevant & (collection.lengths(truth.doc) < 0)
    if lost.any():
        text = "document {!r} is not in the collection"
        raise InputError(
            truth.problem("collection.unknown_document", row, text.format(truth.doc[row]))
            for row in np.flatnonzero(lost).tolist()
        )
    header = {**(judgements.header or {}), "scale": "2006", "whitespace": collection.whitespace}
    elements = list_elements_with_text(truth, collection)
    return name_passages(judgements.with_columns(elements=elements, header=header), collection)


def recompute_sizes(judgements: Judgements, collection: Collection) -> Judgements:
    """Replace the sizes of assessed elements with those of collection and highlighted text.

    On the scale of 2006 all elements with highlighted text are derived; on that of 2005 the
    assessed elements keep their exhaustivity.
    """
    scale = (judgements.header or {}).get("scale", "2006")
    if scale not in ("2005", "2006"):
        raise UsageError(f"elements graded on the scale of {scale} have no sizes to recompute")
    if not judgements.has_text:
        raise UsageError("sizes can only be recomputed from highlighted text; there is none")
    if scale == "2006" or judgements.elements is None:
        return derive_elements(judgements, collection)
    return count_sizes(judgements, collection, np.ones(len(judgements), dtype=bool))


def count_sizes(judgements: Judgements, collection: Collection, rows: Bools) -> Judgements:
    """Replace the sizes of the assessed elements of the marked rows with those of the text."""
    if judgements.elements is None:
        return judgements
    truth, elements = judgements.united(), judgements.elements
    wanted = pl.Series(rows[elements["row"].to_numpy()])
    counted = elements.filter(wanted)
    row = counted["row"].to_numpy()
    found = collection.resolve(truth.doc.gather(row), counted["xpath"])
    if found.problem:
        line, file = (
            counted[name] if name in counted.columns else [None] * len(counted)
            for name in ("line", "file")
        )
        raise InputError(
            truth.problem(
                "judgements.path", int(row[i]), found.problem[i], line=line[i], file=file[i]
            )
            for i in sorted(found.problem)
        )
    inside = _count_highlighted(truth, row, found.start, found.end)
    at = np.flatnonzero(wanted.to_numpy())
    sizes = ("size", found.end - found.start), ("rsize", inside)
    columns = [elements[name].clone().scatter(at, own) for name, own in sizes]
    return judgements.with_columns(elements=elements.with_columns(columns))


def name_passages(judgements: Judgements, collection: Collection) -> Judgements:
    """Add XPaths of the relevant passages and entry points to the judgements.

    XPaths of the file stay as they are. Overlapping passages of a row become one, and places
    that the index cannot name are left out; both are noted.
    """
    if judgements.places is not None or not judgements.has_text:
        return judgements
    if collection.whitespace == "merge":
        return replace(judgements, notes=tuple(dict.fromkeys((*judgements.notes, _MERGED))))
    # Passages of a row that overlap become one; where they only touch they stay separate.
    truth, text = judgements.united(), judgements.end > judgements.start
    if judgements.grade is not None:
        text &= judgements.grade > 0
    row, start, end = (c[text] for c in (judgements.row, judgements.start, judgements.end))
    _, later = spans.find_conflicts(*spans.put_on_axis(start, end, np.searchsorted(row, row)))
    shares = np.zeros(len(judgements), dtype=bool)
    shares[row[later]] = True
    own, whole = ~shares[row], shares[truth.row]
    columns = (row, truth.row), (start, truth.start), (end, truth.end)
    row, start, end = (np.concatenate([a[own], b[whole]]) for a, b in columns)
    order = np.argsort(row, kind="stable")
    row, start, end = row[order], start[order], end[order]
    entry = np.flatnonzero(judgements.bep >= 0)
    length = collection.lengths(judgements.doc)
    past = entry[(length[entry] >= 0) & (judgements.bep[entry] > length[entry])]
    if len(past):
        raise InputError(
            judgements.problem(
                "judgements.bep",
                i,
                f"best entry point {judgements.bep[i]} is past the end of document "
                f"{judgements.doc[i]!r} of {length[i]} characters in the collection",
            )
            for i in past.tolist()
        )
    here, there = length[row] >= 0, length[entry] >= 0
    missing = int((~here).sum() + (~there).sum())
    row, start, end, entry = row[here], start[here], end[here], entry[there]
    n, rows = len(row), np.concatenate([row, row, entry])
    offset = np.concatenate([start, end, judgements.bep[entry]])
    closing = np.repeat([False, True, False], [n, n, len(entry)])
    points = collection.points(judgements.doc.gather(rows), offset, closing)
    places = pl.DataFrame(
        {
            "row": np.concatenate([row, entry]),
            "start": [*points[:n], *points[2 * n :]],
            "end": [*points[n : 2 * n], *[None] * len(entry)],
            "bep": np.repeat([False, True], [n, len(entry)]),
            "line": judgements.line[np.concatenate([row, entry])],
        },
        schema=PLACE_COLUMNS,
    ).sort("row", maintain_order=True)
    shared = "passages that overlap, written as one with those they share text with"
    absent = "passages and entry points of documents that the collection lacks, left out"
    notes = {shared: len(np.unique(later)), absent: missing}
    added = (f"{what}: {n}" for what, n in notes.items() if n)
    return judgements.with_columns(
        places=places, notes=tuple(dict.fromkeys((*judgements.notes, *added)))
    )


def describe_unknown_exclusions(
    tags: Names[str], paths: pl.Series, collection: Collection | None = None
) -> list[str]:
    """Return a message for each excluded tag that no element of collection or paths has.

    >>> paths = pl.Series(["/a[1]", "/a[1]/link[1]", "/a[1]/p[2]"])
    >>> describe_unknown_exclusions(["p", "lnik"], paths)
    ["--exclude-tags: no judged element has the tag 'lnik'; did you mean 'link'?"]
    """
    if collection is None:
        found = paths.str.extract_all(r"/[^/\[]+").explode().str.slice(1).unique().drop_nulls()
        messages = describe_unknown_tags(tags, found, where="judged element")
    else:
        messages = describe_unknown_tags(tags, collection.header["tags"])
    return [f"--exclude-tags: {message}" for message in messages]


def exclude_tags(judgements: Judgements, tags: Names[str]) -> Judgements:
    """Leave out the elements with these tags (the link experiment of 2006)."""
    last = _get_elements(judgements)["xpath"].str.extract(r"/([^/\[]+)(?:\[[^/]*)?$")
    return _only_elements(judgements, ~last.is_in(list(tags)).fill_null(value=False))


def filter_by_structure(judgements: Judgements, cas: CasFilter) -> Judgements:
    """Keep only the elements that match the structured queries of their topics."""
    elements = _get_elements(judgements)
    lists = np.zeros(len(judgements), dtype=bool)
    lists[elements["row"].to_numpy()] = True
    unlisted = np.flatnonzero(judgements.relevant & ~lists)
    if len(unlisted):
        raise InputError(
            judgements.problem(
                "judgements.unlisted_document",
                row,
                f"document {judgements.doc[row]!r} is relevant, but no element of it is assessed; "
                "derive them first (--recompute --collection)",
            )
            for row in unlisted.tolist()
        )
    keep = cas(judgements, elements["row"].to_numpy(), elements["xpath"])
    left = _only_elements(judgements, pl.Series(keep))
    if not left.relevant.any():
        raise UsageError(f"--cas {cas.reading} leaves no relevant element of any topic")
    return left


def _get_elements(judgements: Judgements) -> pl.DataFrame:
    if judgements.elements is None:
        raise UsageError(
            "there are no assessed elements to leave out; derive them first (--collection)"
        )
    return judgements.elements


def _only_elements(judgements: Judgements, keep: pl.Series) -> Judgements:
    """Keep some of the assessed elements; a document left without any is not relevant any more.

    The other documents keep their passages: only listed elements count.
    """
    before, n = _get_elements(judgements), len(judgements)
    elements, scale = before.filter(keep), find_scale(judgements)
    lost = mark_relevant(before, n, scale) & ~mark_relevant(elements, n, scale)
    if not lost.any():
        return judgements.with_columns(elements=elements)
    kept = np.flatnonzero(~lost[judgements.row])
    spans_left = {
        name: column[kept]
        for name in ("start", "end", "grade", "quotes", "sets", "slots", "aspects")
        if (column := getattr(judgements, name)) is not None
    }
    tables = {
        name: table.filter(~lost[table["row"].to_numpy()])
        for name in ("places", "evidence", "alternatives")
        if (table := getattr(judgements, name)) is not None
    }
    note = f"documents that no assessed element is left of, not relevant now: {int(lost.sum())}"
    return judgements.with_columns(
        elements=elements,
        relevant=judgements.relevant & ~lost,
        bep=np.where(lost, UNKNOWN, judgements.bep),
        bounds=np.concatenate([[0], np.cumsum(np.where(lost, 0, np.diff(judgements.bounds)))]),
        given=None,
        notes=(*judgements.notes, note),
        **spans_left,
        **tables,
    )
