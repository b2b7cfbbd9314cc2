"""Runs without overlap, results as elements, and assessments derived from highlighted text."""

from __future__ import annotations

from collections.abc import Collection as Names
from dataclasses import replace

import numpy as np
import polars as pl

from foveal import spans
from foveal.collection import Collection
from foveal.errors import InputError, Problem, UsageError
from foveal.measures.view import Judged
from foveal.model import Judgements, Run
from foveal.nexi import tags_of

__all__ = ["FOCUS", "derive_elements", "exclude_tags", "focus", "name_elements"]

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
    nowhere = np.flatnonzero(run.end < 0)
    if len(nowhere):
        raise InputError.at(
            run.source.path,
            int(run.line[nowhere[0]]),
            "the result has no end; removing overlap takes offsets or a collection",
        )
    start, end = spans.side_by_side(run.start, run.end, run.first)
    size = end - start
    preference = {"rank": np.zeros_like(size), "deeper": size, "higher": -size}[keep]
    order = np.argsort(preference, kind="stable")
    kept = np.empty(len(run), dtype=bool)
    kept[order] = spans.disjoint(start[order], end[order])
    return run.take(kept)


def name_elements(run: Run, collection: Collection, *, snap: bool = False) -> Run:
    """The run with the XPath of every result; `snap` takes the smallest element around it.

    A result that is no element is an error otherwise.
    """
    xpath: list[str | None] = [None] * len(run) if run.xpath is None else run.xpath.to_list()
    start, end = run.start.copy(), run.end.copy()
    problems: list[Problem] = []
    for i in [i for i, path in enumerate(xpath) if path is None]:
        try:
            element = collection.smallest_around(run.doc[i], int(start[i]), int(end[i]))
        except KeyError as error:
            problems.append(Problem(run.source.path, int(run.line[i]), str(error.args[0])))
            continue
        if not snap and (element.start, element.end) != (start[i], end[i]):
            problems.append(
                Problem(
                    run.source.path,
                    int(run.line[i]),
                    f"[{start[i]},{end[i]}) of {run.doc[i]!r} is no element; the smallest around "
                    f"it is {element.xpath} (--snap takes it)",
                )
            )
        xpath[i], start[i], end[i] = element.xpath, element.start, element.end
    if problems:
        raise InputError(problems)
    return replace(run, xpath=pl.Series(xpath, dtype=pl.String), start=start, end=end)


def derive_elements(judgements: Judgements, collection: Collection) -> Judgements:
    """Assessments of elements from highlighted text: size and rsize of every element it touches.

    Passages and best entry points get their XPaths too.
    """
    rows: list[pl.DataFrame] = []
    places: list[tuple[int, str, str | None, bool]] = []
    judged = Judged(judgements.combined(), strict=False)
    truth = judged.judgements
    for row in np.flatnonzero(truth.relevant).tolist():
        doc = str(truth.doc[row])
        try:
            everything = collection.all_elements(doc)
        except KeyError:
            message = f"document {doc!r} is not in the collection"
            raise InputError([truth.problem(row, message)]) from None
        start = np.array([element.start for element in everything], dtype=np.int64)
        end = np.array([element.end for element in everything], dtype=np.int64)
        base, extent = judged.base[row], judged.extent[row]
        inside = judged.highlighted.within(
            np.minimum(start, extent) + base, np.minimum(end, extent) + base
        )
        hit = np.flatnonzero(inside > 0)
        rows.append(
            pl.DataFrame(
                {
                    "xpath": [everything[i].xpath for i in hit.tolist()],
                    "size": (end - start)[hit],
                    "rsize": inside[hit],
                }
            ).with_columns(row=pl.lit(row, dtype=pl.Int64))
        )
        for passage_start, passage_end in truth.passages(row):
            first = collection.point(doc, passage_start)
            last = collection.point(doc, passage_end, closing=True)
            places.append((row, first, last, False))
        if truth.bep[row] >= 0:
            places.append((row, collection.point(doc, int(truth.bep[row])), None, True))
    schema = {"row": pl.Int64, "start": pl.String, "end": pl.String, "bep": pl.Boolean}
    return replace(
        truth,
        elements=pl.concat(rows) if rows else None,
        places=pl.DataFrame(places, schema=schema, orient="row"),
        header={**(judgements.header or {}), "scale": "2006"},
    )


def exclude_tags(judgements: Judgements, tags: Names[str]) -> Judgements:
    """The judgements without the elements of these tags (the link experiment of 2006)."""
    if judgements.elements is None:
        raise UsageError("there are no assessed elements to leave out; derive them first (-C)")
    kept = [tags_of(path)[-1] not in tags for path in judgements.elements["xpath"].to_list()]
    return replace(judgements, elements=judgements.elements.filter(pl.Series(kept)))
