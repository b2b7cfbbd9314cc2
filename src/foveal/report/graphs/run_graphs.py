"""Graphs that are not read off scores alone: cumulated gain, lengths of results, budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from foveal.analysis.budgets import GAIN, BudgetCurves
from foveal.analysis.gain_curves import GainCurves, RunLengths
from foveal.measures import Measure, find_measure
from foveal.model import Results
from foveal.report.graphs.kinds import GRAPHS, Axis, Floats, Graph, Line

__all__ = ["budget_graph", "gain_graph", "gain_measures", "lengths_graph"]

_MOST_POINTS = 200
"""Largest number of points of a line of lengths."""


def gain_measures(bare: Measure, rank: int, level: float) -> tuple[Measure, ...]:
    """Return the scores read off a graph of gains: nxCG at a rank, ep at a level.

    ep interpolates linearly, as the curves are drawn: ``between=curve``.
    """
    ep = find_measure("ep")(**bare.settings, between="curve")
    return find_measure("nxCG")(**bare.settings) @ rank, ep @ level


def gain_graph(
    gains: Sequence[GainCurves],
    scores: Results,
    bare: Measure,
    *,
    rank: int = 10,
    level: float = 0.5,
    topic: str | None = None,
    ranks: int | None = None,
) -> Graph:
    """Draw the cumulated gain of runs and of the ideal list, and where nxCG and ep are read off.

    Parameters
    ----------
    gains : GainCurves of each run
    scores : Results
        Scores of the same runs by `gain_measures`, for the legend.
    bare : Measure
        nxCG with the parameters of the gains.
    rank, level : where nxCG and ep are read off; a level is a share of all there is to gain
    topic : one topic instead of the mean
    ranks : the last rank drawn
    """
    curves = [own.of(topic) for own in gains]
    nxcg, ep = gain_measures(bare, rank, level)
    last = max(max(map(len, pair)) for pair in curves) - 1
    last = max(min(last, ranks or last), rank)
    lines: list[Line] = []
    for i, (own, pair) in enumerate(zip(gains, curves, strict=True)):
        values = [
            scores[own.run, m.label, topic] if topic else scores[own.run, m.label]
            for m in (nxcg, ep)
        ]
        said = f"{own.run}: nxCG@{rank} {values[0]:.4f}, ep@{level:g} {values[1]:.4f}"
        lines.append(_cumulated_line(said, pair.xCG, last, i))
    ideals: dict[bytes, list[int]] = {}
    for i, pair in enumerate(curves):
        ideals.setdefault(pair.xCI.tobytes(), []).append(i)
    for places in ideals.values():
        of = "" if len(ideals) == 1 else " of " + ", ".join(gains[i].run for i in places)
        lines.append(_cumulated_line(f"ideal{of}", curves[places[0]].xCI, last, None))
    lines += _mark_scores(curves, rank, level, last)
    title = f"Cumulated gain: {bare}, " + (f"topic {topic}" if topic else "mean over topics")
    notes = ["ep is read on straight lines between ranks: ep(between=curve)."]
    if topic is None:
        notes.append("nxCG and ep are means over topics, not quotients of the mean curves.")
    return Graph(
        "gain",
        title,
        Axis("rank", "results", 0.0, float(last)),
        Axis("cumulated gain", "sum of gains", 0.0),
        tuple(lines),
        tuple(notes),
    )


def _cumulated_line(name: str, curve: Floats, last: int, series: int | None) -> Line:
    """Return a cumulated curve up to a rank, flat after its end."""
    places = np.arange(last + 1)
    return Line(
        name, places.astype(np.float64), curve[np.minimum(places, len(curve) - 1)], "line", series
    )


def _mark_scores(curves: Sequence[Any], rank: int, level: float, last: int) -> list[Line]:
    """Return the vertical of nxCG, the horizontal of ep, and where they meet the curves."""
    lines, top, wanted = [], 0.0, level * max(float(pair.xCI[-1]) for pair in curves)
    left, right = float(last), 0.0
    for i, pair in enumerate(curves):
        gained = float(pair.xCG[min(rank, len(pair.xCG) - 1)])
        top = max(top, float(pair.xCI[min(rank, len(pair.xCI) - 1)]))
        x, y = [float(rank)], [gained]
        reached = _find_rank(pair.xCG, wanted)
        if reached is not None and reached <= last:
            x.append(reached)
            y.append(wanted)
        right = max(right, last if reached is None else min(reached, last))
        left = min(left, _find_rank(pair.xCI, wanted) or 0.0)
        lines.append(Line("", np.array(x), np.array(y), "points", i))
    return [
        Line(f"nxCG@{rank} (upright)", np.full(2, float(rank)), np.array([0.0, top]), "aid"),
        Line(f"ep@{level:g} (level)", np.array([left, right]), np.full(2, wanted), "aid"),
        *lines,
    ]


def _find_rank(curve: Floats, gain: float) -> float | None:
    """Return the interpolated rank at which a curve reaches a gain; None: never.

    >>> _find_rank(np.array([0.0, 1, 1, 2]), 1.5)
    2.5
    """
    at = int(np.searchsorted(curve, gain - 1e-12 * float(curve[-1])))
    if at >= len(curve):
        return None
    if at == 0:
        return 0.0
    step = float(curve[at] - curve[at - 1])
    return at - max(float(curve[at]) - gain, 0.0) / step


def lengths_graph(runs: Sequence[RunLengths]) -> Graph:
    """Draw the cumulative distribution of the lengths of each run's results.

    >>> (line,) = lengths_graph([RunLengths("mine", np.array([50, 20, 20, 90]))]).lines
    >>> line.x.tolist(), line.y.tolist()
    ([20.0, 50.0, 90.0], [0.5, 0.75, 1.0])
    """
    lines, notes = [], []
    for i, (run, lengths, _) in enumerate(runs):
        if not len(lengths):
            notes.append(f"{run}: no result on a judged topic.")
            continue
        place, counts = np.unique(np.maximum(lengths, 1), return_counts=True)
        share = np.cumsum(counts) / len(lengths)
        if len(place) > _MOST_POINTS:
            kept = np.unique(np.searchsorted(share, np.linspace(0, 1, _MOST_POINTS + 1)[1:] - 1e-9))
            place, share = place[kept], share[kept]
        lines.append(Line(run, place.astype(np.float64), share, "steps", i))
        if empty := int((lengths == 0).sum()):
            notes.append(f"{run}: results without length, drawn as of one character: {empty}.")
    return Graph(
        "lengths",
        "Lengths of results",
        GRAPHS["lengths"].x,
        GRAPHS["lengths"].y,
        tuple(lines),
        tuple(notes),
    )


def budget_graph(curves: BudgetCurves, notes: tuple[str, ...] = ()) -> Graph:
    """Draw the mean curve of each run, and a vertical line where another run takes the lead."""
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
