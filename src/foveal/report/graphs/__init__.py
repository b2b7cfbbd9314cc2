"""The graphs of the papers as data: lines, axes, notes and a text alternative.

What draws them (`foveal.report.drawing`, `foveal.report.gnuplot`, the report page) adds no number
of its own. Curves are read off results, so that a point of a graph is the row of the results that
carries its name: ``ep@0.10`` is the tenth point of the graph ``ep``.
"""

from __future__ import annotations

from foveal.report.graphs.budgets import budget_graph
from foveal.report.graphs.data import Axis, Graph, Line
from foveal.report.graphs.gains import gain_graph, gain_measures
from foveal.report.graphs.kinds import Kind
from foveal.report.graphs.lengths import lengths_graph
from foveal.report.graphs.registry import GRAPHS, find_graph

__all__ = [
    "GRAPHS",
    "Axis",
    "Graph",
    "Kind",
    "Line",
    "budget_graph",
    "find_graph",
    "gain_graph",
    "gain_measures",
    "lengths_graph",
]
