"""Scores at budgets for reading: a table of curves, and in words who leads where."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from foveal.analysis.budgets import GAIN, BudgetCurves, Crossing
from foveal.report.grids import Grid

__all__ = ["budget_grid", "budget_sentences"]

_MOST_COLUMNS = 6
"""Runs side by side; more are rows."""


def budget_grid(curves: BudgetCurves) -> Grid:
    """A row per budget and a column per run, or of many runs the other way round; areas last."""
    table = np.vstack([curves.mean.T, np.array(list(curves.area.values()))])
    names = [*map(str, curves.budgets.tolist()), "area"]
    best = np.nan_to_num(table, nan=-np.inf) == np.nanmax(table, axis=1, keepdims=True)
    places = np.argwhere(best).tolist() if len(curves.runs) > 1 else []
    digits = 1 if curves.measure == GAIN else 4
    cells = [["-" if np.isnan(v) else f"{v:.{digits}f}" for v in row] for row in table.tolist()]
    title = f"{curves.measure} at budgets of {curves.unit}, mean over topics"
    notes = tuple(budget_sentences(curves))
    if len(curves.runs) <= _MOST_COLUMNS:
        rows = tuple((name, *row) for name, row in zip(names, cells, strict=True))
        bold = frozenset((i, j + 1) for i, j in places)
        return Grid((curves.unit, *curves.runs), rows, bold, title=title, notes=notes)
    turned = zip(curves.runs, zip(*cells, strict=True), strict=True)
    bold = frozenset((j, i + 1) for i, j in places)
    return Grid(("run", *names), tuple((r, *c) for r, c in turned), bold, title=title, notes=notes)


def budget_sentences(curves: BudgetCurves) -> Iterator[str]:
    """Which run leads where, and how sure the places are at which another takes over."""
    first, last = curves.budgets[[0, -1]].tolist()
    yield f"area: mean height of a curve from {first} to {last} {curves.unit}."
    if len(curves.runs) == 1:
        return
    leaders = curves.leaders
    if len(leaders) == 1:
        yield f"{leaders[0].run} is best at every budget from {first} to {last} {curves.unit}."
        return
    for one, other in pairwise(leaders):
        own = [c for c in curves.crossings(one.run, other.run) if one.last <= c.at <= other.first]
        if own:
            yield _said(own[0], curves.unit)
        else:  # equal at the budgets between
            best = f"{one.run} is best up to {one.last} {curves.unit}"
            yield f"{best}, {other.run} from {other.first}."


def _said(crossing: Crossing, unit: str) -> str:
    low, high = crossing.low, crossing.high
    if low is None and high is None:
        where = "at any budget"
    elif low is None:
        where = f"up to {high:.0f}"
    elif high is None:
        where = f"from {low:.0f} on"
    else:
        where = f"from {low:.0f} to {high:.0f}"
    return (
        f"{crossing.below} is better below {crossing.at:.0f} {unit}, {crossing.above} above; "
        f"{where} that may be chance (95% of resampled topics)."
    )
