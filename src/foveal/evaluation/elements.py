"""Results as elements of a collection, for measures and formats that are about elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.collection import Collection
from foveal.collection.lookup import Trees, held
from foveal.collection.xpaths import owners
from foveal.errors import InputError, Problem
from foveal.evaluation.placing import place_run
from foveal.formats.xpaths import ELEMENT
from foveal.model import UNKNOWN, Run
from foveal.model.tallies import Tally
from foveal.spans import Ints

__all__ = ["CLIPPED", "MAPPED", "is_element", "is_whole_document", "place_elements"]

Bools = npt.NDArray[np.bool_]

CLIPPED = "results clipped at the end of their document: {}"
MAPPED = "results mapped to the smallest element around them: {}"
"""What may be said of results."""


def is_element(run: Run) -> Bools:
    """Return which results name an element by its XPath."""
    if run.xpath is None:
        return np.zeros(len(run), dtype=bool)
    return _is_element(run.xpath)


def _is_element(xpath: pl.Series) -> Bools:
    found: Bools = xpath.str.contains(ELEMENT).fill_null(value=False).to_numpy()
    return found


def is_whole_document(run: Run) -> Bools:
    """Which results are whole documents, as long as no collection gave them an end."""
    article: Bools = (run.start == 0) & (run.end < 0)
    return article if run.xpath is None else article & run.xpath.is_null().to_numpy()


def place_elements(
    run: Run,
    collection: Collection,
    *,
    snap: bool = False,
    lenient: bool = False,
    passages: bool = False,
) -> Run:
    """The run on the text of a collection, every result with the XPath of an element.

    Of elements with the same extent the deepest is meant, but a whole document is its root. A
    result past the end of its document is left for the measures to refuse.

    Parameters
    ----------
    run : Run
    collection : Collection
    snap : bool
        A result that is no element becomes the smallest one around it.
    lenient : bool
        Results past the end of their document are clipped, and those that the collection does not
        hold are left empty.
    passages : bool
        A result that is no element is named by the points where it starts and ends.

    With neither `snap` nor `passages`, a result that is no element is an error.
    """
    placed = place_run(run, collection, lenient=lenient)
    if lenient:
        placed = _clipped(placed)
    left = _to_name(run, placed, lenient=lenient, passages=passages)
    if not len(left):
        return placed
    docs = placed.doc.gather(left)
    names = docs.unique(maintain_order=True)
    trees, tree = collection.trees(names), _numbers(docs, names)
    element = _of_extent(trees, tree, placed.start[left], placed.end[left])
    if snap:  # a place without extent is a point, not an empty element that stands there
        element[placed.start[left] == placed.end[left]] = UNKNOWN
    articles = is_whole_document(run)[left]
    element[articles] = trees.bounds[tree[articles]]
    odd = np.flatnonzero(element < 0)
    points: list[str] = []
    if len(odd) and passages and not snap:
        points = _points(placed, collection, left[odd])
    elif len(odd):
        rows = left[odd]
        element[odd] = _around(placed, collection, trees, tree[odd], rows)
        if not snap:
            around = collection.xpaths(trees.path[element[odd]])
            raise InputError(map(_no_element, [placed] * len(odd), rows.tolist(), around))
    xpath = np.full(len(run), None, dtype=object)
    if placed.xpath is not None:
        xpath[:] = placed.xpath.to_list()
    start, end = placed.start.copy(), placed.end.copy()
    known = np.flatnonzero(element >= 0)
    rows, found = left[known], element[known]
    xpath[rows] = collection.xpaths(trees.path[found]).to_list()
    start[rows], end[rows] = trees.start[found], trees.end[found]
    assert placed.element is not None
    numbers = placed.element.copy()
    numbers[rows] = found - trees.bounds[tree[known]]
    notes = placed.notes
    if points:
        xpath[left[odd]] = points
    elif len(odd):
        notes = (*notes, Tally(MAPPED, len(odd)))
    series = pl.Series(xpath.tolist(), dtype=pl.String)
    return placed.moved(xpath=series, start=start, end=end, element=numbers, notes=notes)


def _clipped(run: Run) -> Run:
    assert run.length is not None
    past = (run.length >= 0) & ((run.end > run.length) | (run.start > run.length))
    if not past.any():
        return run
    note = Tally(CLIPPED, int(past.sum()))
    return replace(
        run,
        start=np.where(past, np.minimum(run.start, run.length), run.start),
        end=np.where(past, np.minimum(run.end, run.length), run.end),
        notes=(*run.notes, note),
    )


def _to_name(run: Run, placed: Run, *, lenient: bool, passages: bool) -> Ints:
    """Results that need the name of an element; those that have no place get none."""
    assert placed.length is not None
    if not passages and placed.element is not None and (placed.element >= 0).all():
        return np.zeros(0, dtype=np.int64)
    by_path = np.zeros(len(run), bool) if run.xpath is None else run.xpath.is_not_null().to_numpy()
    lost = by_path & (run.end < 0) & (placed.end == 0) & lenient
    inside = (placed.end <= placed.length) & (placed.start <= placed.length)
    done = by_path
    if not passages:
        assert placed.element is not None
        done = placed.element >= 0
        others = np.flatnonzero(~done & by_path)
        if len(others) and run.xpath is not None:
            done[others] = _is_element(run.xpath.gather(others))
    return np.flatnonzero(~done & ~lost & inside & (placed.length >= 0))


def _numbers(values: pl.Series, distinct: pl.Series) -> Ints:
    table = pl.DataFrame({"value": distinct, "number": np.arange(len(distinct))})
    found = pl.DataFrame({"value": values}).join(table, on="value", maintain_order="left")
    return found["number"].to_numpy()


def _of_extent(trees: Trees, tree: Ints, start: Ints, end: Ints) -> Ints:
    """The deepest element with each extent, `UNKNOWN` where there is none."""
    of_tree = np.repeat(np.arange(len(trees.bounds) - 1), np.diff(trees.bounds))
    elements = pl.DataFrame(
        {
            "tree": of_tree,
            "start": trees.start,
            "end": trees.end,
            "element": np.arange(len(trees.path)),
        }
    ).unique(["tree", "start", "end"], keep="last", maintain_order=True)
    asked = pl.DataFrame({"tree": tree, "start": start, "end": end})
    on = ["tree", "start", "end"]
    found = asked.join(elements, on=on, how="left", maintain_order="left")
    return found["element"].fill_null(UNKNOWN).to_numpy().copy()


def _around(run: Run, collection: Collection, trees: Trees, tree: Ints, rows: Ints) -> Ints:
    """The element of each attribute or point by its path, else the smallest around each result."""
    assert run.length is not None
    found = _smallest(trees, tree, *held(run.start[rows], run.end[rows], run.length[rows]))
    if run.xpath is not None:
        paths = collection.path_numbers(owners(run.xpath.gather(rows)))
        for i in np.flatnonzero(paths >= 0).tolist():
            first, last = trees.bounds[tree[i]], trees.bounds[tree[i] + 1]
            # The elements of a document are sorted by their paths.
            found[i] = first + np.searchsorted(trees.path[first:last], paths[i])
    return found


def _smallest(trees: Trees, tree: Ints, start: Ints, end: Ints) -> Ints:
    """The smallest element around each span; of equals the deepest."""
    found = np.empty(len(tree), dtype=np.int64)
    asked = zip(tree.tolist(), start.tolist(), end.tolist(), strict=True)
    for i, (number, first, after) in enumerate(asked):
        own = slice(int(trees.bounds[number]), int(trees.bounds[number + 1]))
        starts, ends = trees.start[own], trees.end[own]
        around = (starts <= first) & (ends >= after)
        size = np.where(around, ends - starts, ends[0] + 1)  # larger than the root
        # Children come after their parents; without any text the root is meant.
        found[i] = own.stop - 1 - np.argmin(size[::-1]) if ends[0] else own.start
    return found


def _points(run: Run, collection: Collection, which: Ints) -> list[str]:
    """The points between which each result lies, document by document."""
    ranges = np.empty(len(which), dtype=object)
    asked = pl.DataFrame({"doc": run.doc.gather(which), "at": np.arange(len(which))})
    for (doc,), group in asked.group_by("doc"):
        at = group["at"].to_numpy()
        start, end = run.start[which[at]], run.end[which[at]]
        opening = collection.points(str(doc), start, np.zeros(len(at), dtype=bool))
        closing = collection.points(str(doc), end, end > start)
        ranges[at] = [f"{a} {b}" for a, b in zip(opening, closing, strict=True)]
    return list(ranges.tolist())


def _no_element(run: Run, row: int, around: str) -> Problem:
    return Problem(
        run.source.path,
        int(run.line[row]),
        f"[{run.start[row]},{run.end[row]}) of {run.doc[row]!r} is no element; the smallest around "
        f"it is {around} (--snap takes it)",
    )
