"""Graphs for gnuplot, as EvalJ wrote them with ``-gnu``: the numbers, or a script that plots them.

The script holds its data and names no terminal, so one file is enough for a window and for every
kind of picture. The numbers are in full, those that ``foveal evaluate`` prints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan

import numpy as np
import numpy.typing as npt

from foveal.model.graphs import Axis, Graph, Line

__all__ = ["GNUPLOT_FORMATS", "gnuplot"]

Floats = npt.NDArray[np.float64]

GNUPLOT_FORMATS = ("dat", "gnuplot", "gp")

_WITH = {
    "line": "linespoints",
    "steps": "steps",
    "points": "points",
    "bars": "boxes",
    "level": "lines",
    "interval": "lines",
    "aid": "lines",
}
_ROOM = 20
"""Characters of a column at least."""
_DENSE = 16
"""Points of a line from which only some are marked."""
_DASHES = 5
_POINTS = (7, 5, 9, 13, 11, 6, 4, 8, 12)
"""Those that can be told apart, the filled ones first."""


def gnuplot(graphs: Sequence[Graph], form: str) -> str:
    """The data alone (``dat``), or a script with its data."""
    return _data(graphs) if form == "dat" else _script(graphs)


def _comment(text: str) -> str:
    return f"# {_one_line(text)}"


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]", "\ufffd", text)


def _quoted(text: str) -> str:
    """A string that gnuplot takes as it is.

    >>> _quoted("Kazai's run")
    "'Kazai''s run'"
    """
    return "'" + _one_line(text).replace("'", "''") + "'"


def _rows(graph: Graph, line: Line) -> list[str]:
    """A line for each point, in full; gnuplot leaves out those that are NaN."""
    rows = []
    for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
        named = f"  # {_one_line(graph.x.names[int(x)])}" if graph.x.names and x == int(x) else ""
        rows.append(f"{x!r:<{_ROOM}} {'NaN' if isnan(y) else repr(y)}{named}")
    return rows


def _heading(line: Line) -> str:
    return _comment(line.name or f"({line.mark})")


def _about(graph: Graph) -> list[str]:
    return [_comment(graph.title), *map(_comment, graph.notes)]


def _data(graphs: Sequence[Graph]) -> str:
    """Blocks of two columns; two blank lines part them, so that ``index`` chooses one."""
    blocks, index = [], 0
    for graph in graphs:
        opening = _about(graph)
        for line in graph.lines:
            columns = _comment(f"index {index}, columns: {graph.x.text}; {graph.y.text}")
            blocks.append("\n".join([*opening, _heading(line), columns, *_rows(graph, line)]))
            opening, index = [], index + 1
    return "\n\n\n".join(blocks) + "\n"


def _script(graphs: Sequence[Graph]) -> str:
    lines = [
        "# gnuplot 5 or later. In a window: gnuplot -p FILE",
        "# As a picture: gnuplot -e \"set term pdfcairo; set output 'graph.pdf'\" FILE",
        "",
    ]
    for number, graph in enumerate(graphs):
        lines += _about(graph)
        for i, line in enumerate(graph.lines):
            rows = _rows(graph, line)
            lines += [f"$data{number}_{i} << EOD", _heading(line), *rows, "EOD"]
        lines.append("")
    lines += ["set datafile separator whitespace", "set grid", "set rmargin 4", *_styles(graphs)]
    if len(graphs) > 1:
        lines.append(f"set multiplot layout {len(graphs)},1")
    for number, graph in enumerate(graphs):
        lines += [
            f"set title {_quoted(graph.title)} noenhanced",
            "set key outside below center Left reverse height 1 samplen 3 noenhanced",
            *_axis("x", graph.x, [line.x for line in graph.lines]),
            *_axis("y", graph.y, [line.y for line in graph.lines]),
            "set boxwidth 0.8",
            "set style fill solid 0.7",
            "plot \\",
            ", \\\n".join(f"  {_plotted(number, i, line)}" for i, line in enumerate(graph.lines)),
        ]
    if len(graphs) > 1:
        lines.append("unset multiplot")
    return "\n".join(lines) + "\n"


def _styles(graphs: Sequence[Graph]) -> list[str]:
    """A style for each series, with colour, dashes and point as the pictures of runs have them."""
    from foveal.report.drawing import PALETTE  # which imports the names of formats from here

    series = [line.series for graph in graphs for line in graph.lines if line.series is not None]
    return [
        f"set style line {i + 1} lc rgb '{PALETTE[i % len(PALETTE)]}' lw 1.5 dt {i % _DASHES + 1} "
        f"pt {_POINTS[i % len(_POINTS)]} ps 0.7"
        for i in range(max(series, default=0) + 1)
    ]


def _axis(side: str, axis: Axis, values: Sequence[Floats]) -> list[str]:
    ends = ["*" if end is None else f"{end:g}" for end in (axis.low, axis.high)]
    known = np.concatenate([*values, np.zeros(0)])
    known = known[np.isfinite(known)]
    if not axis.log and (not known.size or known.min() == known.max() == axis.low):
        # gnuplot makes no room for a flat line, and refuses to plot nothing.
        low = 0.0 if axis.low is None else axis.low
        ends = [f"{low:g}", f"{low + 1 if axis.high is None else axis.high:g}"]
    found = [
        f"set {side}label {_quoted(axis.text)} noenhanced",
        f"{'set' if axis.log else 'unset'} logscale {side}",
        f"set {side}range [{ends[0]}:{ends[1]}]",
    ]
    if not axis.names:
        return [*found, f"set {side}tics autofreq norotate"]
    # Labels of tics are formats, unlike all other texts.
    names = [_quoted(name.replace("%", "%%")) for name in axis.names]
    places = ", ".join(f"{name} {i}" for i, name in enumerate(names))
    turned = "rotate" if side == "x" else "norotate"
    return [*found, f"set {side}tics {turned} ({places}) noenhanced"]


def _plotted(number: int, i: int, line: Line) -> str:
    """One line of the plot command; what belongs to one run has one style."""
    drawn = _WITH[line.mark]
    look = f"ls {(line.series or 0) + 1}"
    if line.mark in ("aid", "interval"):
        look = "lc rgb '#8a8a8a' lw 1"
    elif line.series is None and line.mark in ("line", "level"):
        drawn, look = "lines", "lt -1 lw 2"
    elif line.mark == "line" and len(line.x) > _DENSE:
        look += f" pi {len(line.x) // 8}"
    title = f"title {_quoted(line.name)}" if line.name else "notitle"
    return f"$data{number}_{i} using 1:2 with {drawn} {look} {title}"
