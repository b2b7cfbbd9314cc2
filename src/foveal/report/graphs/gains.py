"""The graph of cumulated gain: runs beside the ideal one, and how nxCG and ep are read off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foveal.analysis.gain_curves import GainCurves
from foveal.measures import Measure, find_measure
from foveal.model import Results
from foveal.report.graphs.data import Axis, Floats, Graph, Line

__all__ = ["gain_graph", "gain_measures"]


def gain_measures(bare: Measure, rank: int, level: float) -> tuple[Measure, ...]:
    """The scores that are drawn into a graph of gains: nxCG at a rank, ep at a level.

    On straight lines of both curves, as they are drawn: ``between=curve``.
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
    """The cumulated gain of runs beside the ideal one, and how nxCG and ep are read off.

    Parameters
    ----------
    gains : GainCurves of each run
    scores : Results
        Of the same runs by `gain_measures`: they stand in the legend.
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
        lines.append(_gained(said, pair.xCG, last, i))
    ideals: dict[bytes, list[int]] = {}
    for i, pair in enumerate(curves):
        ideals.setdefault(pair.xCI.tobytes(), []).append(i)
    for places in ideals.values():
        of = "" if len(ideals) == 1 else " of " + ", ".join(gains[i].run for i in places)
        lines.append(_gained(f"ideal{of}", curves[places[0]].xCI, last, None))
    lines += _read_off(curves, rank, level, last)
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


def _gained(name: str, curve: Floats, last: int, series: int | None) -> Line:
    """A cumulated curve up to a rank; it stays flat after its end."""
    places = np.arange(last + 1)
    return Line(
        name, places.astype(np.float64), curve[np.minimum(places, len(curve) - 1)], "line", series
    )


def _read_off(curves: Sequence[Any], rank: int, level: float, last: int) -> list[Line]:
    """The vertical of nxCG, the horizontal of ep, and where they meet the curves."""
    lines, top, wanted = [], 0.0, level * max(float(pair.xCI[-1]) for pair in curves)
    left, right = float(last), 0.0
    for i, pair in enumerate(curves):
        gained = float(pair.xCG[min(rank, len(pair.xCG) - 1)])
        top = max(top, float(pair.xCI[min(rank, len(pair.xCI) - 1)]))
        x, y = [float(rank)], [gained]
        reached = _rank_at(pair.xCG, wanted)
        if reached is not None and reached <= last:
            x.append(reached)
            y.append(wanted)
        right = max(right, last if reached is None else min(reached, last))
        left = min(left, _rank_at(pair.xCI, wanted) or 0.0)
        lines.append(Line("", np.array(x), np.array(y), "points", i))
    return [
        Line(f"nxCG@{rank} (upright)", np.full(2, float(rank)), np.array([0.0, top]), "aid"),
        Line(f"ep@{level:g} (level)", np.array([left, right]), np.full(2, wanted), "aid"),
        *lines,
    ]


def _rank_at(curve: Floats, gain: float) -> float | None:
    """The rank at which a curve reaches a gain, on straight lines; None: never.

    >>> _rank_at(np.array([0.0, 1, 1, 2]), 1.5)
    2.5
    """
    at = int(np.searchsorted(curve, gain - 1e-12 * float(curve[-1])))
    if at >= len(curve):
        return None
    if at == 0:
        return 0.0
    step = float(curve[at] - curve[at - 1])
    return at - max(float(curve[at]) - gain, 0.0) / step
