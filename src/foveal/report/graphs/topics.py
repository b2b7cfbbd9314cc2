"""Graphs of the scores on topics: the spread of every run, and one run against another."""

from __future__ import annotations

import numpy as np

from foveal.errors import UsageError, some
from foveal.measures import find_measure
from foveal.model import Results
from foveal.report.graphs.data import Axis, Graph, Line
from foveal.report.graphs.kinds import Kind

__all__ = ["differences", "topic_scores"]

_MOST_NAMES = 40
"""Topics that can be named along an axis."""
_WIDE = 0.3
"""Half the room of a run, of which the distance to the next one is 1."""


def _mean(results: Results, run: int, column: int) -> float:
    """What stands on topic ``all``; of what is summed there, the mean."""
    if find_measure(_name(results.measures[column])).summed:
        return float(np.nanmean(results.values[run, :, column]))
    return float(results.overall[run, column])


def _name(label: str) -> str:
    return label.partition("@")[0].partition("(")[0]


def topic_scores(kind: Kind, results: Results) -> tuple[Graph, ...]:
    """The scores of every run, a point per topic; a topic has the same height in every run."""
    runs = results.runs
    spread = np.linspace(_WIDE, -_WIDE, len(results.topics)) if len(results.topics) > 1 else [0.0]
    graphs = []
    for column, label in enumerate(results.measures):
        lines: list[Line] = []
        for i, run in enumerate(runs):
            place = len(runs) - 1 - i  # the first run on top
            own = results.values[i, :, column]
            known = ~np.isnan(own)
            if not known.any():
                continue
            lines.append(Line(run, own[known], place + np.asarray(spread)[known], "points", i))
            low, middle, high = np.quantile(own[known], (0.25, 0.5, 0.75)).tolist()
            sides = np.array([place - _WIDE, place + _WIDE])
            box = np.array([low, high, high, low, low])
            around = sides[[0, 0, 1, 1, 0]]
            named = not lines[:-1]
            lines += [
                Line("quartiles, median" if named else "", box, around, "aid"),
                Line("", np.array([middle, middle]), sides, "aid"),
                Line(
                    "mean" if named else "",
                    np.full(2, _mean(results, i, column)),
                    sides,
                    "level",
                ),
            ]
        negative = bool((results.values[:, :, column] < 0).any())
        x = Axis(label, "score on a topic", None if negative else 0.0)
        y = Axis("run", "", -0.6, len(runs) - 0.4, names=tuple(reversed(runs)))
        graphs.append(Graph(kind.name, f"{kind.title}: {label}", x, y, tuple(lines)))
    return tuple(graphs)


def differences(kind: Kind, results: Results) -> tuple[Graph, ...]:
    """What the first run has over the second, topic by topic, the largest first."""
    if len(results.runs) != 2:
        raise UsageError(
            f"the graph {kind.name} is of two runs; {len(results.runs)} given: {some(results.runs)}"
        )
    one, other = results.runs
    graphs = []
    for column, label in enumerate(results.measures):
        gap = results.values[0, :, column] - results.values[1, :, column]
        order = np.argsort(-gap, kind="stable")
        order = order[~np.isnan(gap[order])]
        if not len(order):
            raise UsageError(f"{label}: {one} and {other} have no topic with a score in common")
        named = tuple(results.topics[j] for j in order.tolist())
        unit = "" if len(named) <= _MOST_NAMES else f"{len(named)}, by difference"
        places = np.arange(len(order), dtype=np.float64)
        mean = float(gap[order].mean())
        ends = np.array([-0.5, len(order) - 0.5])
        lines = (
            Line(f"{one} - {other}", places, gap[order], "bars", 0),
            Line(f"mean {mean:.4f}", ends, np.full(2, mean), "level"),
        )
        graphs.append(
            Graph(
                kind.name,
                f"{label}: {one} minus {other}",
                Axis("topic", unit, -0.7, len(order) - 0.3, names=named),
                Axis("difference", label),
                lines,
            )
        )
    return tuple(graphs)
