"""Runs and judgements on the text of a collection: XPaths become spans, lengths become known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from foveal.collection import Collection
from foveal.errors import InputError, Problem
from foveal.model import UNKNOWN, Judgements, Run

__all__ = ["place_judgements", "place_run"]

_SHOWN = 3


def place_run(run: Run, collection: Collection, *, lenient: bool = False) -> Run:
    """The run with every result on the text of its document.

    Documents and paths that the collection does not hold are errors with the line; with `lenient`
    such results keep their rank, hold nothing, and are counted.
    """
    length = collection.lengths(run.doc)
    start, end = run.start.copy(), run.end.copy()
    whole = (end < 0) & (start == 0)
    end[whole] = length[whole]
    problem: dict[int, str] = {
        i: f"document {run.doc[i]!r} is not in the collection"
        for i in np.flatnonzero(length < 0).tolist()
    }
    by_path = np.flatnonzero((start < 0) & (length >= 0))
    if len(by_path) and run.xpath is not None:
        found = collection.resolve(run.doc.gather(by_path), run.xpath.gather(by_path))
        start[by_path], end[by_path] = found.start, found.end
        problem |= {int(by_path[i]): message for i, message in found.problem.items()}
    notes = run.notes
    if problem:
        problems = [Problem(run.source.path, int(run.line[i]), problem[i]) for i in sorted(problem)]
        if not lenient:
            raise InputError(problems)
        lost = np.array(sorted(problem))
        lost = lost[end[lost] < 0]
        start[lost] = end[lost] = 0
        shown = "; ".join(f"line {p.line}: {p.message}" for p in problems[:_SHOWN])
        more = "; ..." if len(problems) > _SHOWN else ""
        notes = (
            *notes,
            f"results that the collection does not hold: {len(problems)} ({shown}{more})",
        )
    return replace(run, start=start, end=end, length=length, notes=notes)


def place_judgements(judgements: Judgements, collection: Collection) -> Judgements:
    """The judgements with the lengths of their documents, checked against the collection."""
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
    if unknown.any():
        missing = pl.Series(judgements.doc).filter(pl.Series(unknown)).unique(maintain_order=True)
        shown = ", ".join(missing.head(_SHOWN).to_list())
        notes = (*notes, f"judged documents not in the collection, {len(missing)}: {shown}")
    known = np.where(unknown, judgements.length, length)
    return replace(judgements, length=np.where(known < 0, UNKNOWN, known), notes=notes)
