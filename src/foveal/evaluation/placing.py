"""Runs and judgements on the text of a collection: XPaths become spans, lengths become known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from foveal.collection import Collection
from foveal.errors import InputError, Problem
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.tallies import Tally
from foveal.spans import Ints

__all__ = ["not_held", "place_judgements", "place_run", "unplaced"]

_SHOWN = 3


def place_run(run: Run, collection: Collection, *, lenient: bool = False) -> Run:
    """The run with every result on the text of its document.

    Documents and paths that the collection does not hold are errors with the line; with `lenient`
    such results keep their rank, hold nothing, and are counted.
    """
    placed, problems = unplaced(run, collection)
    notes = run.notes
    if problems:
        if not lenient:
            raise InputError(problems)
        shown = [f"line {p.line}: {p.message}" for p in problems[:_SHOWN]]
        notes = (*notes, Tally(not_held, len(problems), shown))
    return placed.moved(notes=notes)


def not_held(number: int, shown: Sequence[str]) -> str:
    """What is said of `number` results that have no place."""
    more = "; ..." if number > _SHOWN else ""
    return (
        f"results that the collection does not hold: {number} ({'; '.join(shown[:_SHOWN])}{more})"
    )


def unplaced(run: Run, collection: Collection) -> tuple[Run, list[Problem]]:
    """The run on the collection's text, and the results that have no place there (left empty)."""
    # Each document of a topic is looked up once: half of the results, or a third.
    number = collection.numbers(run.doc.gather(run.heads))
    length = collection.lengths_of(number)[run.head_of]
    number = number[run.head_of]
    if run.xpath is not None and _all_by_path(run, length):
        found = collection.resolve_numbered(run.doc, number, run.xpath)
        if not found.problem:
            start, end, _, element = found
            return run.moved(start=start, end=end, length=length, element=element), []
    start, end = run.start.copy(), run.end.copy()
    element = np.full(len(run), UNKNOWN)
    # A path of one step is the whole document only if the root has that name.
    named = np.zeros(len(run), bool) if run.xpath is None else run.xpath.is_not_null().to_numpy()
    by_path = np.flatnonzero((end < 0) & named & (length >= 0))
    whole = (end < 0) & ~named
    end[whole] = length[whole]
    problem: dict[int, str] = {
        i: f"document {run.doc[i]!r} is not in the collection"
        for i in np.flatnonzero(length < 0).tolist()
    }
    if len(by_path) and run.xpath is not None:
        # To gather long texts takes as long as to look them up, and mostly it is all of them.
        some = len(by_path) < len(run)
        doc, xpath = run.doc, run.xpath
        if some:
            doc, xpath, number = doc.gather(by_path), xpath.gather(by_path), number[by_path]
        found = collection.resolve_numbered(doc, number, xpath)
        start[by_path], end[by_path] = found.start, found.end
        element[by_path] = found.element
        problem |= {int(by_path[i]): message for i, message in found.problem.items()}
    nowhere = end < 0
    start[nowhere] = end[nowhere] = 0
    problems = [Problem(run.source.path, int(run.line[i]), problem[i]) for i in sorted(problem)]
    return run.moved(start=start, end=end, length=length, element=element), problems


def _all_by_path(run: Run, length: Ints) -> bool:
    """Whether every result is a path in a document that is there."""
    assert run.xpath is not None
    given = not run.xpath.null_count() and bool((run.end < 0).all())
    return given and bool((length >= 0).all())


def place_judgements(judgements: Judgements, collection: Collection) -> Judgements:
    """The judgements on the collection's text: lengths checked, passages of XPaths placed."""
    length = collection.lengths(judgements.doc)
    declared = (judgements.header or {}).get("whitespace", collection.whitespace)
    if declared != collection.whitespace:
        raise InputError.at(
            judgements.sources[0].path,
            None,
            f"offsets count white space by the rule {declared!r}, but the index "
            f"{collection.path} was built with {collection.whitespace!r}",
        )
    reach = np.zeros(len(judgements), dtype=np.int64)
    np.maximum.at(reach, judgements.row, judgements.end)
    unknown = length < 0
    differs = ~unknown & (judgements.length >= 0) & (judgements.length != length)
    beyond = ~unknown & ~differs & (reach > length)
    problems = [
        judgements.problem(
            i,
            f"document {judgements.doc[i]!r} is {judgements.length[i]} characters long here, but "
            f"{length[i]} in the collection; the index is of other documents or white space",
        )
        for i in np.flatnonzero(differs).tolist()
    ]
    problems += [
        judgements.problem(
            i,
            f"a span ends at {reach[i]}, past the end of document {judgements.doc[i]!r} of "
            f"{length[i]} characters in the collection",
        )
        for i in np.flatnonzero(beyond).tolist()
    ]
    if problems:
        raise InputError(problems)
    notes = judgements.notes
    if unknown.all() and len(unknown):
        raise InputError.at(
            judgements.sources[0].path,
            None,
            f"none of the judged documents ({judgements.doc[0]}, ...) is in the index "
            f"{collection.path}; it is of another collection",
        )
    if unknown.any():
        missing = pl.Series(judgements.doc).filter(pl.Series(unknown)).unique(maintain_order=True)
        shown = ", ".join(missing.head(_SHOWN).to_list())
        notes = (*notes, f"judged documents not in the collection, {len(missing)}: {shown}")
    known = np.where(unknown, judgements.length, length)
    placed = replace(judgements, length=np.where(known < 0, UNKNOWN, known), notes=notes)
    return placed if judgements.places is None else _with_places(placed, collection)


def _with_places(judgements: Judgements, collection: Collection) -> Judgements:
    """Passages and best entry points that were XPaths as spans and offsets."""
    assert judgements.places is not None
    places = judgements.places.sort("row", maintain_order=True)
    row = places["row"].to_numpy()
    xpath = places.select(pl.concat_str("start", "end", separator=" ", ignore_nulls=True))
    found = collection.resolve(judgements.doc.gather(row), xpath.to_series())
    if found.problem:
        raise InputError(
            judgements.problem(int(row[i]), found.problem[i], line=int(places["line"][i]))
            for i in sorted(found.problem)
        )
    entry = places["bep"].to_numpy()
    bep = judgements.bep.copy()
    bep[row[entry]] = found.start[entry]
    counts = np.bincount(row[~entry], minlength=len(judgements))
    notes, lost = judgements.notes, np.flatnonzero(judgements.relevant & (counts == 0))
    if len(lost):
        first = judgements.problem(int(lost[0]), f"document {judgements.doc[int(lost[0])]!r}")
        notes = (
            *notes,
            (
                f"relevant elements in documents without a relevant passage: {len(lost)}; taken as "
                f"not relevant ({first}{', ...' if len(lost) > 1 else ''})"
            ),
        )
    return replace(
        judgements,
        notes=notes,
        bep=bep,
        bounds=np.concatenate([[0], np.cumsum(counts)]),
        start=found.start[~entry],
        end=found.end[~entry],
        relevant=counts > 0,
        has_text=True,
        grade=None,
        quotes=None,
    )
