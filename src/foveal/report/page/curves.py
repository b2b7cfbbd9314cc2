"""Which of the papers' graphs belong to the measures of a page, and their lines as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from foveal.evaluation import find_preset
from foveal.measures import Measure, find_measure, parse_measures
from foveal.measures.base import CURVE, OverlapRule
from foveal.measures.xcg import Cumulated
from foveal.model import Results
from foveal.report.graphs import GRAPHS, Graph, Kind, Line
from foveal.report.page.scores import scaled

__all__ = ["Wanted", "gains_of", "graphs_of", "plain", "single_labels", "wanted"]

_MOST_POINTS = 100
"""Of a line; more are not seen."""
_EFFORT, _EFFORT_POINTS = "charR", 7
_READ = ("iP", "AiP")
"""Measures of text read in order, which the graph of reading effort explains."""


def single_labels(texts: Iterable[str], task: str | None) -> list[str]:
    """Labels of the measures that are columns of a table: all but the points of curves.

    >>> single_labels(["iP@0.01", "iP@curve", "AiP", "ep@curve"], None)
    ['iP@0.01', 'AiP']
    """
    given = () if task is None else find_preset(task).texts
    single = [text for text in (*given, *texts) if not text.endswith(f"@{CURVE}")]
    labels = (measure.label for text in single for measure in parse_measures(text))
    return list(dict.fromkeys(labels))


class Wanted(NamedTuple):
    """A graph of a measure: its kind, and the scores that are its points."""

    kind: Kind
    points: tuple[Measure, ...]


def wanted(measures: Sequence[Measure], most: int) -> list[Wanted]:
    """The graphs of measures, at most so many.

    A graph asks for nothing that its measure does not ask for: where the measure can be
    calculated, so can all points.

    >>> from foveal.measures import AiP
    >>> [(graph.kind.name, str(graph.points[0])) for graph in wanted([AiP], 5)]
    [('ip', 'iP@0.00'), ('effort', 'charR(budget=100)')]
    """
    found: dict[tuple[str, str], Wanted] = {}
    for measure in measures:
        for kind, bare in _kinds(measure):
            points = kind.measures([bare.label])
            if kind.name == "effort":  # every point is a score of its own, which takes its time
                points = points[:: len(points) // _EFFORT_POINTS or 1]
            if all(_as_easy(point, measure) for point in (points[0], points[-1])):
                found.setdefault((kind.name, bare.label), Wanted(kind, points))
    return list(found.values())[:most]


def _kinds(measure: Measure) -> list[tuple[Kind, Measure]]:
    """Kinds of graphs that show what became of a measure, and what they draw."""
    if measure.averages:
        return []
    kinds = [
        (kind, _taken_over(find_measure(kind.default[0]), measure, kind.varied))
        for kind in GRAPHS.values()
        if kind.source == "results" and kind.special is None and measure.name in kind.family
    ]
    if measure.name in _READ:
        kinds.append((GRAPHS["effort"], find_measure(_EFFORT)))
    return kinds


def _taken_over(bare: Measure, measure: Measure, varied: str) -> Measure:
    """A measure with the parameters that it shares with another one."""
    known = {parameter.name for parameter in bare.parameters} - {varied}
    return bare(**{name: value for name, value in measure.settings.items() if name in known})


def _as_easy(point: Measure, measure: Measure) -> bool:
    """Whether a point can be calculated, and is not refused, wherever the measure is not."""
    return (
        set(point.needs) <= set(measure.needs)
        and point.overlap_rule in (measure.overlap_rule, OverlapRule.ALLOW)
        and point.grouped <= measure.grouped
        and point.structural == measure.structural
    )


def gains_of(measures: Sequence[Measure]) -> Measure | None:
    """What the graph of cumulated gain is about: nxCG with the parameters of the first measure.

    >>> gains_of(parse_measures("MAep(quant=gen5)")), gains_of(parse_measures("AiP"))
    (nxCG(quant=gen5), None)
    """
    first = next((measure for measure in measures if isinstance(measure, Cumulated)), None)
    return None if first is None else _taken_over(find_measure("nxCG"), first, "")


def graphs_of(asked: Sequence[Wanted], everything: Results) -> list[Graph]:
    """The graphs, read off results that hold their points."""
    found: list[Graph] = []
    for graph in asked:
        points = everything.only([point.label for point in graph.points])
        found += graph.kind.graphs(points)
    return found


def plain(graph: Graph) -> dict[str, Any]:
    """A graph as plain values; what it shows upwards in ten-thousandths."""
    drawn = [_values(line) for line in graph.lines]
    shared = drawn[0]["x"] if drawn else []
    for values in drawn:  # most graphs have one axis for all lines
        if values["x"] == shared:
            del values["x"]
    return {
        "kind": graph.kind,
        "title": graph.title,
        "across": graph.x.text,
        "up": graph.y.text,
        "log": graph.x.log,
        "x": shared,
        "lines": drawn,
        "notes": list(graph.notes),
    }


def _values(line: Line) -> dict[str, Any]:
    shown = np.arange(len(line.x))
    if len(shown) > _MOST_POINTS + 1:
        shown = np.unique(np.linspace(0, len(shown) - 1, _MOST_POINTS + 1).round().astype(int))
    return {
        "name": line.name,
        "mark": line.mark,
        "series": line.series,
        "x": [float(f"{value:.6g}") for value in line.x[shown].tolist()],
        "y": [scaled(value) for value in line.y[shown].tolist()],
    }
