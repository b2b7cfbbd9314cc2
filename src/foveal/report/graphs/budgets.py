"""The graph of scores at budgets: a curve for each run, and where the leading ones cross."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from foveal.analysis.budgets import GAIN, BudgetCurves
from foveal.report.graphs.data import Axis, Graph, Line
from foveal.report.graphs.registry import GRAPHS

__all__ = ["budget_graph"]


def budget_graph(curves: BudgetCurves, notes: tuple[str, ...] = ()) -> Graph:
    """The mean curves of runs; upright lines stand where another run takes the lead."""
    kind = GRAPHS["budget"]
    budgets = curves.budgets.astype(np.float64)
    lines = [
        Line(f"{run}: area {curves.area[run]:.4g}", budgets, curves.mean[i], series=i)
        for i, run in enumerate(curves.runs)
    ]
    for one, other in pairwise(curves.leaders):
        for crossing in curves.crossings(one.run, other.run):
            if one.last <= crossing.at <= other.first:
                at = np.interp(crossing.at, budgets, curves.mean[curves.runs.index(one.run)])
                place, height = np.full(2, crossing.at), np.array([0.0, float(at)])
                lines.append(Line("", place, height, "aid"))
    unit = "relevant characters" if curves.measure == GAIN else "mean over topics"
    return Graph(
        kind.name,
        f"{kind.title}: {curves.measure}",
        replace(kind.x, label=f"{curves.unit} read"),
        Axis(curves.measure, unit, 0.0),
        tuple(lines),
        notes,
    )
