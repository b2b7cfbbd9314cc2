"""Several assessors of one document as one: the text, elements and entry point they agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from foveal import spans
from foveal.lookup import find_first_rows
from foveal.model.evidence import evidence_of
from foveal.model.run import UNKNOWN
from foveal.spans import Ints

if TYPE_CHECKING:
    from foveal.model.judgements import Judgements

__all__ = ["combined_columns", "united_columns"]

_NOWHERE = np.iinfo(np.int64).max
_STRENGTH: dict[str, tuple[str, ...]] = {
    "relevance": ("0", "1", "2", "3"),
    "coverage": ("N", "S", "L", "E"),
    "exhaustivity": ("0", "?", "1", "2", "3"),
    "specificity": ("0", "1", "2", "3"),
}
"""Grades from weak to strong, in the order in which they decide; after them rsize does.

A scale has some of these columns, and null in the others decides nothing.
"""


def combined_columns(judgements: Judgements, policy: str) -> dict[str, Any]:
    """The fields of `Judgements` in which the rows of a topic and document are one row."""
    heads = judgements.pair == np.arange(len(judgements))
    rows = np.flatnonzero(heads)
    pair = (np.cumsum(heads) - 1)[judgements.pair]  # dense number of each row's pair
    votes = np.bincount(pair, minlength=len(rows))
    needed = {
        "union": np.ones_like(votes),
        "majority": votes // 2 + 1,
        "intersection": votes,
    }[policy]
    length = np.full(len(rows), UNKNOWN, dtype=np.int64)
    np.maximum.at(length, pair, judgements.length)
    found = _agreed(judgements, needed, pair)
    return {
        **found,
        "topic": judgements.topic[rows],
        "doc": judgements.doc.gather(rows),
        "length": length,
        "bep": _first_entry_points(judgements, needed, pair, found),
        "line": judgements.line[rows],
        "file": judgements.file[rows],
        "declared": None,
        "assessor": None,
        "elements": _strongest(_with_files(judgements), needed, pair),
        "places": _agreed_places(judgements.places, needed, pair),
        "evidence": evidence_of(judgements, pair, found["bounds"], found["start"], found["end"]),
    }


def _first_entry_points(
    judgements: Judgements, needed: Ints, pair: Ints, found: dict[str, Any]
) -> Ints:
    """Return the earliest best entry point of each pair, `UNKNOWN` where there is none.

    Where a highlight needs several votes, an entry point counts only inside the remaining text.
    """
    bep, first = judgements.bep, np.full(len(needed), _NOWHERE)
    owner = np.repeat(np.arange(len(needed)), np.diff(found["bounds"]))
    extent = np.maximum(
        _extents(owner, found["end"], len(needed)), _extents(pair, bep + 1, len(needed))
    )
    base = spans.lay_out(extent)
    remaining = spans.Coverage(found["start"] + base[owner], found["end"] + base[owner])
    place = base[pair] + np.maximum(bep, 0)
    inside = remaining.within(place, place + 1) > 0
    counts = (bep >= 0) & found["relevant"][pair] & (inside | (needed[pair] == 1))
    np.minimum.at(first, pair[counts], bep[counts])
    return np.where(first < _NOWHERE, first, UNKNOWN)


def united_columns(judgements: Judgements) -> dict[str, Any]:
    """The fields of `Judgements` in which the spans of each row are united, row by row."""
    rows = np.arange(len(judgements))
    return _agreed(judgements, np.ones_like(rows), rows)


def _agreed(judgements: Judgements, needed: Ints, pair: Ints) -> dict[str, Any]:
    """Spans that at least `needed` rows of each pair highlight, and what follows from them."""
    start, end, counts = _highlighted(judgements, needed, pair)
    if judgements.has_text:
        relevant = counts > 0
    else:
        relevant = np.bincount(pair, judgements.relevant, len(needed)) >= needed
    return {
        "bounds": np.concatenate([[0], np.cumsum(counts)]),
        "start": start,
        "end": end,
        "relevant": relevant,
        "grade": None,
        "quotes": None,
        "sets": None,
    }


def _highlighted(judgements: Judgements, needed: Ints, pair: Ints) -> tuple[Ints, Ints, Ints]:
    """Spans highlighted by at least `needed` rows of each pair, and how many per pair."""
    positive = (
        np.ones(len(judgements.start), dtype=bool)
        if judgements.grade is None
        else judgements.grade > 0
    )
    start, end, row = (c[positive] for c in (judgements.start, judgements.end, judgements.row))
    # An assessor who highlights a character twice has one vote: unite within rows first.
    base = spans.lay_out(_extents(row, end, len(judgements)))
    start, end = spans.union(start + base[row], end + base[row])
    row = np.searchsorted(base, start, side="right") - 1
    start, end, owner = start - base[row], end - base[row], pair[row]
    base = spans.lay_out(_extents(owner, end, len(needed)))
    start, end = start + base[owner], end + base[owner]
    found = [
        spans.at_least(start[chosen], end[chosen], depth)
        for depth in np.unique(needed).tolist()
        for chosen in [needed[owner] == depth]
    ]
    start = np.concatenate([s for s, _ in found] or [start])
    end = np.concatenate([e for _, e in found] or [end])
    order = np.argsort(start)
    owner = np.searchsorted(base, start[order], side="right") - 1
    counts = np.bincount(owner, minlength=len(needed)).astype(np.int64)
    return start[order] - base[owner], end[order] - base[owner], counts


def _extents(group: Ints, end: Ints, n: int) -> Ints:
    extent = np.zeros(n, dtype=np.int64)
    np.maximum.at(extent, group, end)
    return extent


def _with_files(judgements: Judgements) -> pl.DataFrame | None:
    """The elements, those with lines with the file of each: a combined row may be of several."""
    elements = judgements.elements
    if elements is None or "line" not in elements.columns or "file" in elements.columns:
        return elements
    return elements.with_columns(file=judgements.file[elements["row"].to_numpy()])


def _strongest(elements: pl.DataFrame | None, needed: Ints, pair: Ints) -> pl.DataFrame | None:
    """The elements of the combined rows, each as the `needed`-th strongest of its assessments.

    At least `needed` assessors find it that strong. Who judged the document and does not list an
    element finds it weaker than any who does: listed by too few, it falls out.
    """
    if elements is None:
        return None
    moved = _pointed(elements, pair)
    if len(needed) == len(pair) and _each_once(moved):
        return moved.sort("row", maintain_order=True)
    grades = [name for name in _STRENGTH if name in moved.columns]
    strength = [
        pl.col(name).replace_strict(list(order), range(len(order)), default=None)
        for name in grades
        for order in [_STRENGTH[name]]
    ]
    strength += [pl.col(name) for name in ("rsize",) if name in moved.columns]
    ordered = moved.with_columns(
        listed=pl.int_range(pl.len()), needed=pl.Series(needed[moved["row"].to_numpy()])
    ).sort("row", *strength, descending=[False, *[True] * len(strength)], nulls_last=True)
    group = ("row", "xpath")
    chosen = ordered.filter(pl.int_range(pl.len()).over(group) == pl.col("needed") - 1)
    # In the order of the first assessor who lists each.
    return (
        chosen.join(ordered.group_by(group).agg(first=pl.col("listed").min()), on=group, how="left")
        .sort("row", "first")
        .select(moved.columns)
    )


def _each_once(elements: pl.DataFrame) -> bool:
    """Whether no row lists an element again: then there is nothing to choose from."""
    first = find_first_rows(elements.select("row", "xpath"))
    return bool((first == np.arange(len(first))).all())


def _agreed_places(places: pl.DataFrame | None, needed: Ints, pair: Ints) -> pl.DataFrame | None:
    """The places of the combined rows.

    Which of them several assessors share shows only on the text, where a collection puts them.
    """
    if places is None:
        return None
    moved = _pointed(places, pair)
    return moved.filter(pl.Series(needed[moved["row"].to_numpy()] == 1))


def _pointed(table: pl.DataFrame, row: Ints) -> pl.DataFrame:
    """The table with the new numbers of the rows it points to."""
    return table.with_columns(row=pl.Series(row[table["row"].to_numpy()], dtype=pl.Int64))
