"""Graphs drawn by matplotlib (``foveal[plot]``) as SVG, PNG and PDF, or written for gnuplot.

Lines differ in colour, dashes and markers, so that they can be distinguished in grey and by every
kind of colour vision. Letters have the size for a column of a paper, whatever the width.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Sequence
from html import escape
from math import isnan
from pathlib import PurePath
from typing import Any

import numpy as np

from foveal.errors import UsageError
from foveal.model.graphs import Axis, Graph, Line, Matrix

PICTURES = ("svg", "png", "pdf")

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#882255")
"""Colours of Okabe and Ito, for all kinds of colour vision; wine replaces their faint yellow."""
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "<", ">")
"""Numbers without a common divisor, so that 360 lines differ, neighbours in all three."""

_NEUTRAL, _AID = "#222222", "#8a8a8a"
_TEXT, _SMALL = 8.0, 7.0
"""Points."""
_ROW = 0.15
"""Inches that a line of text takes."""
_LETTERS, _AXIS_LETTERS = 13, 7
"""Of a name in the legend and along an axis, for each inch of width."""
_MOST_NAMED = 40
"""Largest number of points of a line that are drawn in their full size."""
_NAME_POINTS = 8.5
"""Points that a name beside others takes."""
_MOST_LABELS, _LABEL_LETTERS = 8, 18
"""Largest number and length of names that are written at the ends of lines."""
_LEGEND: dict[str, Any] = {
    "loc": "outside lower center",
    "frameon": False,
    "handlelength": 2.6,
    "columnspacing": 1.2,
    "labelspacing": 0.35,
}
_STYLE = {
    "font.family": "sans-serif",
    "font.size": _TEXT,
    "axes.titlesize": _TEXT,
    "axes.labelsize": _TEXT,
    "xtick.labelsize": _SMALL,
    "ytick.labelsize": _SMALL,
    "legend.fontsize": _SMALL,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "pdf.fonttype": 42,  # publishers refuse the fonts of type 3 that are the default
    "svg.hashsalt": "foveal",  # the same numbers give the same bytes
    "text.parse_math": False,  # a run may be called $x$
    "axes.unicode_minus": False,
}


def form_of(path: str) -> str:
    """Return the format that the name of a file asks for.

    >>> form_of("graphs/ep.DAT")
    'dat'
    """
    form = PurePath(path).suffix[1:].lower()
    if form not in (*PICTURES, "dat"):
        raise UsageError(f"{path}: a graph is written as .svg, .png, .pdf or .dat (gnuplot data)")
    if form in PICTURES:
        _matplotlib()
    return form


def draw(graphs: Sequence[Graph | Matrix], form: str, *, width: float = 3.5) -> bytes:
    """Return graphs, one below the other, as a picture or as ``dat``; `width` in inches."""
    if form == "dat":
        return gnuplot(graphs).encode()
    mpl = _matplotlib()
    content = io.BytesIO()
    title = _clean("; ".join(graph.title for graph in graphs))
    words = _clean(" ".join(graph.text_alternative for graph in graphs))
    # Without dates: the same numbers give the same bytes.
    about: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Title": title, "Description": words},
        "png": {"Software": None, "Title": title, "Description": words},
        "pdf": {"CreationDate": None, "Title": title, "Subject": words},
    }
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # A name may have letters that the font has not: they are boxes, and nothing is wrong.
        warnings.filterwarnings("ignore", "Glyph")
        figure(graphs, width=width).savefig(content, format=form, dpi=300, metadata=about[form])
    if form != "svg":
        return content.getvalue()
    # Refer to the title and a text alternative, for readers who cannot see the picture.
    head = '<svg role="img" aria-labelledby="title desc" '
    words = f'<desc id="desc">{escape(words)}</desc>\n <metadata>'
    svg = content.getvalue().decode().replace("<svg ", head, 1)
    svg = svg.replace("<title>", '<title id="title">', 1).replace("<metadata>", words, 1)
    return svg.encode()


def _matplotlib() -> Any:
    try:
        import matplotlib as mpl
    except ImportError:
        raise UsageError(
            "pictures need matplotlib; install it with pip install matplotlib, or write gnuplot "
            "data (.dat)"
        ) from None
    return mpl


def _clean(text: str) -> str:
    """Replace control characters, which no picture can hold."""
    return re.sub(r"[\x00-\x1f\x7f\ufffe\uffff]", "\ufffd", text)


def gnuplot(graphs: Sequence[Graph | Matrix]) -> str:
    """Return the data for gnuplot, with comments that name lines and columns.

    Two blank lines separate blocks of two columns, so that ``index`` chooses one. The numbers are
    in full, as ``foveal evaluate`` prints.
    """
    blocks: list[str] = []
    for graph in graphs:
        if isinstance(graph, Matrix):
            raise UsageError(f"a heat map is drawn as {', '.join(PICTURES)}; dat holds curves")
        texts = [graph.title, *graph.notes]
        for line in graph.lines:
            texts.append(line.name or f"({line.mark})")
            texts.append(f"index {len(blocks)}, columns: {graph.x.text}; {graph.y.text}")
            rows = [f"# {_clean(text)}" for text in texts]
            for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
                names = graph.x.names
                is_named = 0 <= x < len(names) and x == int(x)
                named = f"  # {_clean(names[int(x)])}" if is_named else ""
                rows.append(f"{x!r:<20} {'NaN' if isnan(y) else repr(y)}{named}")
            blocks.append("\n".join(rows))
            texts = []
    return "\n\n\n".join(blocks) + "\n"


# -- one figure --------------------------------------------------------------------------------


def figure(given: Sequence[Graph | Matrix], *, width: float = 3.5) -> Any:
    """Return graphs or heat maps, one below the other, as a Figure of matplotlib."""
    mpl = _matplotlib()
    if matrices := [graph for graph in given if isinstance(graph, Matrix)]:
        return _draw_matrices(matrices)
    graphs = [graph for graph in given if isinstance(graph, Graph)]
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        heights = [_measure_height(graph, width) for graph in graphs]
        drawn = Figure(figsize=(width, sum(heights)), layout="constrained")
        parts = drawn.subfigures(len(graphs), 1, height_ratios=heights, squeeze=False)[:, 0]
        for part, graph in zip(parts, graphs, strict=True):
            axes = part.add_subplot()
            entries = _draw_graph(axes, graph, width)
            if entries and not _label_lines(axes, graph, heights[0]):
                # Handles are named here, for matplotlib leaves out lines whose label begins with _.
                handles, names = zip(*entries, strict=True)
                part.legend(handles, names, ncols=_count_columns(names, width), **_LEGEND)
        return drawn


def _list_named(graph: Graph) -> list[Line]:
    """Return the lines in the legend, the highest first.

    Runs that are named along an axis are not among them.
    """
    lines = [own for own in graph.lines if not (own.mark == "points" and graph.y.names)]
    named = [line for line in lines if line.name]
    curves = [own for own in named if own.series is not None and own.mark in ("line", "steps")]
    curves.sort(key=lambda line: -float(np.nanmean(line.y)) if np.isfinite(line.y).any() else 1)
    return curves + [line for line in named if line not in curves]


def _label_lines(axes: Any, graph: Graph, height: float) -> bool:
    """Write the names of curves at their right ends if they fit there; return whether they do."""
    lines = _list_named(graph)
    ends = []
    for line in lines:
        known = np.flatnonzero(np.isfinite(line.y))
        if line.mark != "line" or line.series is None or not len(known):
            return False
        ends.append((float(line.x[known[-1]]), float(line.y[known[-1]])))
    names = [_clean(line.name) for line in lines]
    if len(lines) > _MOST_LABELS or max(map(len, names)) > _LABEL_LETTERS:
        return False
    if min(x for x, _ in ends) < max(x for x, _ in ends):
        return False
    # From the lowest up, a label that would meet the one below moves up, by less than a line.
    low, high = axes.get_ylim()
    step = (high - low) * _NAME_POINTS / (0.55 * height * 72)
    moved: dict[int, float] = {}
    below = -np.inf
    for i in sorted(range(len(ends)), key=lambda i: ends[i][1]):
        below = max(ends[i][1], below + step)
        moved[i] = below - ends[i][1]
    if max(moved.values()) > 0.8 * step:
        return False
    for i, (line, (x, y)) in enumerate(zip(lines, ends, strict=True)):
        colour = PALETTE[(line.series or 0) % len(PALETTE)]
        place = {"xytext": (6, moved[i] / step * _NAME_POINTS), "textcoords": "offset points"}
        look = {"color": colour, "fontsize": _SMALL, "va": "center", "annotation_clip": False}
        axes.annotate(names[i], (x, y), **place, **look)
    return True


def _shorten(name: str, letters: float) -> str:
    """Leave out the middle of a name that is too long: names often differ at their ends.

    >>> _shorten("paragraphs-bm25-run-2", 12)
    'para\u20265-run-2'
    """
    name, most = _clean(name), int(letters)
    head = most // 3
    return name if len(name) <= most else f"{name[:head]}\u2026{name[head + 1 - most :]}"


def _wrap(text: str, letters: float) -> str:
    """Wrap a text into lines of at most this many letters."""
    return textwrap.fill(_clean(text), max(int(letters), 10))


def _count_columns(names: Sequence[str], width: float) -> int:
    """Return the number of columns of a legend."""
    longest = min(max(map(len, names), default=1), int(_LETTERS * width))
    return max(1, min(4, len(names), int(width * 17 / (longest + 7))))


def _count_names(width: float) -> int:
    """Return how many names fit side by side below the axes, turned upright."""
    return int((width - 0.7) * 72 / _NAME_POINTS)


def _wrap_texts(graph: Graph, width: float) -> tuple[str, str]:
    """Return the title and the label of the x axis as they fit."""
    across, names = graph.x.text, graph.x.names
    if len(names) > _count_names(width) and not graph.x.unit:
        across = f"{graph.x.label} ({len(names)}, in order)"
    return _wrap(graph.title, (width - 0.6) * 14), _wrap(across, (width - 0.6) * 17)


def _measure_height(graph: Graph, width: float) -> float:
    """Return the inches of the axes with title, labels and legend."""
    legend = [line.name for line in _list_named(graph)]
    rows = -(-len(legend) // _count_columns(legend, width))
    lines = rows + sum(text.count("\n") for text in _wrap_texts(graph, width))
    if graph.y.names:
        return 0.85 + _ROW * lines + 0.26 * len(graph.y.names)
    names = graph.x.names if len(graph.x.names) <= _count_names(width) else ()
    turned = 0.06 * min(max(map(len, names), default=0), _AXIS_LETTERS * min(width, 6.0))
    return 0.62 * min(width, 6.0) + 0.45 + _ROW * lines + turned


def _draw_graph(axes: Any, graph: Graph, width: float) -> list[tuple[Any, str]]:
    """Draw into the axes; return handle and name of the lines in the legend."""
    handles = [_draw_line(axes, line) for line in graph.lines]
    room = min(width, 6.0)
    title, across = _wrap_texts(graph, width)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_xlabel(across)
    axes.set_ylabel("" if graph.y.names else _wrap(graph.y.text, room * 9.5))
    axes.grid(color="#e3e3e3", linewidth=0.5, axis="x" if graph.y.names else "both")
    _scale_axis(axes, graph.x, "x", _AXIS_LETTERS * room, _count_names(width))
    _scale_axis(axes, graph.y, "y", _AXIS_LETTERS * room, len(graph.y.names))
    if not any(np.isfinite(line.y).any() for line in graph.lines):
        axes.text(0.5, 0.5, "nothing to draw", ha="center", va="center", transform=axes.transAxes)
        axes.set_xticks([])
        axes.tick_params(which="both", length=0)
        return []
    by_line = dict(zip(map(id, graph.lines), handles, strict=True))
    return [
        (by_line[id(line)], _shorten(line.name, _LETTERS * width)) for line in _list_named(graph)
    ]


def _scale_axis(axes: Any, axis: Axis, side: str, letters: float, most: int) -> None:
    """Set the scale of an axis, and up to `most` names along it."""
    if axis.log:
        getattr(axes, f"set_{side}scale")("log")
        getattr(axes, f"{side}axis").set_major_formatter("{x:g}")
        getattr(axes, f"{side}axis").set_minor_formatter("")
    if axis.names:
        names = [_shorten(name, letters) for name in axis.names]
        if len(names) > most:
            names = []
        turned = {"rotation": 90} if side == "x" else {}
        getattr(axes, f"set_{side}ticks")(range(len(names)), names, **turned)
        axes.tick_params(side, length=0)
    low, high = getattr(axes, f"get_{side}lim")()
    # An end of the data keeps a little room, so that no marker is cut.
    getattr(axes, f"set_{side}lim")(
        low if axis.low is None else axis.low, high if axis.high is None else axis.high
    )


def _draw_line(axes: Any, line: Line) -> Any:
    """Draw a line by its mark; return its handle for the legend."""
    if line.mark == "bars":
        signs = np.where(line.y >= 0, PALETTE[0], PALETTE[1])
        axes.axhline(0, color=_NEUTRAL, linewidth=0.6)
        return axes.bar(line.x, line.y, width=0.8, color=signs)
    i = line.series or 0
    look: dict[str, Any] = {"color": _NEUTRAL, "linestyle": "-", "linewidth": 1.6}
    if line.series is not None:
        look = {
            "color": PALETTE[i % len(PALETTE)],
            "linestyle": DASHES[i % len(DASHES)],
            "marker": MARKERS[i % len(MARKERS)],
        }
    if line.mark in ("line", "steps"):
        # Some eight markers to a line, at other places than those of its neighbours.
        step = max(1, len(line.x) // 8)
        look |= {"markevery": (i * 2 % step, step)}
        look |= {"drawstyle": "steps-post"} if line.mark == "steps" else {}
    elif line.mark == "points":
        size = 3.5 if len(line.x) <= _MOST_NAMED else 2.2  # many overlap less if small
        look |= {"linestyle": "none", "linewidth": 0, "markeredgecolor": "white", "clip_on": False}
        look |= {"markeredgewidth": 0.4, "markersize": size, "zorder": 3}
    elif line.mark == "level":
        look = {"color": _NEUTRAL, "linewidth": 2, "zorder": 4}
    elif line.mark == "interval":
        look = {"color": _AID, "linewidth": 1.6, "zorder": 2}
    else:  # an aid to the eye
        dashes = (0, (2, 2)) if len(line.x) == 2 else "-"
        look = {"color": _AID, "linewidth": 0.8, "linestyle": dashes, "zorder": 1}
    return axes.plot(line.x, line.y, **look)[0]


# -- heat maps -------------------------------------------------------------------------------------

_BLUES = ("#f7fbff", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c")
_UNDEFINED = "#eeeeee"


def _draw_matrices(matrices: Sequence[Matrix]) -> Any:
    """Return heat maps as a Figure, one below the other.

    One hue from light to dark survives a grey printer and every kind of colour vision.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    blues = LinearSegmentedColormap.from_list("blues", _BLUES).with_extremes(bad=_UNDEFINED)
    known = np.concatenate([matrix.values.ravel() for matrix in matrices])
    low = min(np.floor(np.nanmin(known) * 10 + 1e-9) / 10, 0.9)
    n, labels = len(matrices[0].labels), [_clean(label) for label in matrices[0].labels]
    side = 0.6 * n + 0.09 * max(map(len, labels)) + 1.2
    drawn = Figure(figsize=(side + 0.8, side * len(matrices)), dpi=150, layout="constrained")
    axes = drawn.subplots(len(matrices), 1, squeeze=False)[:, 0]
    for axis, matrix in zip(axes, matrices, strict=True):
        image = axis.imshow(matrix.values, cmap=blues, vmin=low, vmax=1)
        axis.set_xticks(range(n), labels, rotation=60, ha="left", rotation_mode="anchor")
        axis.set_yticks(range(n), labels)
        axis.tick_params(length=0, labeltop=True, labelbottom=False)
        axis.set_title(matrix.title, loc="left", fontweight="bold")
        axis.spines[:].set_visible(False)
        axis.set_xticks(np.arange(n - 1) + 0.5, minor=True)
        axis.set_yticks(np.arange(n - 1) + 0.5, minor=True)
        axis.grid(which="minor", color="white", linewidth=1)
        axis.tick_params(which="minor", length=0)
        for i, j in np.ndindex(n, n):
            is_dark = (matrix.values[i, j] - low) / (1 - low) > 0.55
            ink = "white" if is_dark else "black"
            axis.text(j, i, matrix.format_cell(i, j), ha="center", va="center", color=ink)
        drawn.colorbar(image, ax=axis, shrink=0.7)
    note = textwrap.fill(matrices[0].note, int(13 * (side + 0.8)))
    drawn.supxlabel(note, x=0.02, ha="left", fontsize=_SMALL)
    return drawn
