"""The graphs of the papers as data: lines, axes, notes and a text alternative.

`foveal.report.drawing`, `foveal.report.gnuplot` and the report page draw them and add no number.
Curves are read off results: a point of a graph is the row of the results that carries its name,
such as ``ep@0.10`` for the tenth point of the graph ``ep``.
"""

from __future__ import annotations

from foveal.report.graphs.kinds import GRAPHS, Axis, Graph, GraphKind, Line, find_graph
from foveal.report.graphs.run_graphs import (
    budget_graph,
    gain_graph,
    gain_measures,
    lengths_graph,
)

__all__ = [
    "GRAPHS",
    "Axis",
    "Graph",
    "GraphKind",
    "Line",
    "budget_graph",
    "find_graph",
    "gain_graph",
    "gain_measures",
    "lengths_graph",
]
