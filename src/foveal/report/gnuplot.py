"""Graphs for gnuplot, as EvalJ wrote them with ``-gnu``: the numbers, or a script that plots them.

The script holds its data and names no terminal, so one file is enough for a window and for every
kind of picture. The numbers are in full, those that ``foveal evaluate`` prints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan

from foveal.report.graphs import Axis, Graph, Line

__all__ = ["GNUPLOT_FORMATS", "gnuplot"]

GNUPLOT_FORMATS = ("dat", "gnuplot", "gp")

_WITH = {
    "line": "linespoints",
    "steps": "steps",
    "points": "points",
    "bars": "boxes",
    "level": "lines",
    "aid": "lines",
}
_ROOM = 20
"""Characters of a column at least."""


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
    lines.append("set datafile separator whitespace")
    lines.append("set grid")
    if len(graphs) > 1:
        lines.append(f"set multiplot layout {len(graphs)},1")
    for number, graph in enumerate(graphs):
        lines += [
            f"set title {_quoted(graph.title)} noenhanced",
            "set key outside below noenhanced",
            *_axis("x", graph.x),
            *_axis("y", graph.y),
            "set boxwidth 0.8",
            "set style fill solid 0.7",
            "plot \\",
            ", \\\n".join(f"  {_plotted(number, i, line)}" for i, line in enumerate(graph.lines)),
        ]
    if len(graphs) > 1:
        lines.append("unset multiplot")
    return "\n".join(lines) + "\n"


def _axis(side: str, axis: Axis) -> list[str]:
    ends = ["*" if end is None else f"{end:g}" for end in (axis.low, axis.high)]
    found = [
        f"set {side}label {_quoted(axis.text)} noenhanced",
        f"{'set' if axis.log else 'unset'} logscale {side}",
        f"set {side}range [{ends[0]}:{ends[1]}]",
    ]
    if not axis.names:
        return [*found, f"set {side}tics autofreq norotate"]
    places = ", ".join(f"{_quoted(name)} {i}" for i, name in enumerate(axis.names))
    turned = "rotate" if side == "x" else "norotate"
    return [*found, f"set {side}tics {turned} ({places}) noenhanced"]


def _plotted(number: int, i: int, line: Line) -> str:
    """One line of the plot command; what belongs to one run has one style."""
    style = line.series + 1 if line.series is not None else 0
    look = f"lt {style} dt {style % 5 + 1} pt {style}" if style else "lt -1 lw 2"
    if line.mark == "aid":
        look = "lc rgb 'gray' lw 1"
    elif line.mark == "points":
        look = f"lt {max(style, 1)} pt {max(style, 1)}"
    elif line.mark == "bars":
        look = f"lt {max(style, 1)}"
    elif line.mark == "steps":
        look = f"lt {max(style, 1)} dt {max(style, 1) % 5 + 1}"
    title = f"title {_quoted(line.name)}" if line.name else "notitle"
    return f"$data{number}_{i} using 1:2 with {_WITH[line.mark]} {look} {title}"
