"""Graphs as pictures for papers: SVG, PNG and PDF, drawn by matplotlib (``foveal[plot]``).

Lines differ in colour, dashes and markers, so that they are told apart in grey and by every kind
of colour vision. Letters are as large as a column of a paper wants them, whatever the width.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Sequence
from html import escape
from itertools import takewhile
from pathlib import PurePath
from typing import Any

import numpy as np

from foveal.errors import UsageError
from foveal.model.graphs import Axis, Graph, Line, Matrix
from foveal.report.gnuplot import GNUPLOT_FORMATS, gnuplot

__all__ = ["DASHES", "MARKERS", "PALETTE", "PICTURES", "draw", "figure", "form_of", "picture"]

PICTURES = ("svg", "png", "pdf")

PALETTE = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#000000",
    "#e69f00",
    "#56b4e9",
    "#882255",
)
"""Colours of Okabe and Ito, for all kinds of colour vision; wine replaces their faint yellow."""
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "<", ">")
"""Numbers without a common divisor, so that 360 lines differ, neighbours in all three."""

_NEUTRAL, _AID = "#222222", "#8a8a8a"
_TEXT, _SMALL = 8.0, 7.0
"""Points."""
_ROW = 0.15
"""Inches that a line of the legend takes."""
_LETTERS, _AXIS_LETTERS = 13, 7
"""Of a name in the legend and along an axis, for each inch of width."""
_MOST_NAMED = 40
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
    """The format that the name of a file asks for.

    >>> form_of("graphs/ep.PDF")
    'pdf'
    """
    form = PurePath(path).suffix[1:].lower()
    known = (*PICTURES, *GNUPLOT_FORMATS)
    if form not in known:
        expected = ", ".join(f".{name}" for name in known)
        raise UsageError(f"{path}: a graph cannot be written as this; expected one of {expected}")
    if form in PICTURES:
        _matplotlib()
    return form


def picture(graphs: Sequence[Graph | Matrix], form: str, *, width: float = 3.5) -> bytes:
    """Graphs, one below the other, in one of `PICTURES`; `width` in inches."""
    mpl = _matplotlib()
    content = io.BytesIO()
    title = _clean("; ".join(graph.title for graph in graphs))
    told = _clean(" ".join(graph.text_alternative for graph in graphs))
    # Without dates: the same numbers give the same bytes.
    about: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Title": title, "Description": told},
        "png": {"Software": None, "Title": title, "Description": told},
        "pdf": {"CreationDate": None, "Title": title, "Subject": told},
    }
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # A name may have letters that the font has not: they are boxes, and nothing is wrong.
        warnings.filterwarnings("ignore", "Glyph")
        drawn = figure(graphs, width=width)
        drawn.savefig(content, format=form, dpi=300, metadata=about[form])
    if form != "svg":
        return content.getvalue()
    return _accessible(content.getvalue().decode(), title, told).encode()


def draw(graphs: Sequence[Graph | Matrix], form: str, *, width: float = 3.5) -> str | bytes:
    """Return graphs as a picture or as data for gnuplot, whichever the format asks for."""
    if form in PICTURES:
        return picture(graphs, form, width=width)
    lines = [graph for graph in graphs if isinstance(graph, Graph)]
    if len(lines) < len(graphs):
        raise UsageError(f"a heat map is drawn as {', '.join(PICTURES)}; {form} holds curves")
    return gnuplot(lines, form)


def _matplotlib() -> Any:
    try:
        import matplotlib as mpl
    except ImportError:
        raise UsageError(
            "pictures need matplotlib; install it with pip install matplotlib, or write "
            f"gnuplot data ({', '.join(f'.{name}' for name in GNUPLOT_FORMATS)})"
        ) from None
    return mpl


def _clean(text: str) -> str:
    """Replace control characters, which no picture can hold."""
    return re.sub(r"[\x00-\x1f\x7f\ufffe\uffff]", "\ufffd", text)


def _accessible(svg: str, title: str, told: str) -> str:
    """Add a title and a text alternative to the picture, for readers who cannot see it."""
    opened = re.search(r"<svg\b[^>]*>", svg)
    assert opened is not None
    head = opened[0][:-1] + ' role="img" aria-labelledby="title desc">'
    words = f'<title id="title">{escape(title)}</title>\n<desc id="desc">{escape(told)}</desc>'
    return f"{svg[: opened.start()]}{head}\n {words}{svg[opened.end() :]}"


# -- one figure --------------------------------------------------------------------------------


def figure(given: Sequence[Graph | Matrix], *, width: float = 3.5) -> Any:
    """Return graphs or heat maps, one below the other, as a Figure of matplotlib."""
    mpl = _matplotlib()
    if matrices := [graph for graph in given if isinstance(graph, Matrix)]:
        return _draw_matrices(matrices)
    graphs = [graph for graph in given if isinstance(graph, Graph)]
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        named = [[line.name for line in graph.lines if _in_legend(graph, line)] for graph in graphs]
        shared = all(names == named[0] for names in named)
        rows = [_rows(names, width) for names in (named[:1] if shared else named)]
        body = [_height(graph, width) for graph in graphs]
        drawn = Figure(
            figsize=(width, sum(body) + _ROW * sum(rows) + 0.1 * len(rows)), layout="constrained"
        )
        # Legends have rows of their own: they neither cover a line nor squeeze its axes.
        parts = [(height, graph) for height, graph in zip(body, graphs, strict=True)]
        heights: list[float] = []
        for place, (height, _) in enumerate(parts):
            heights.append(height)
            if not shared or place == len(parts) - 1:
                heights.append(_ROW * rows[0 if shared else place] + 0.1)
        grid = drawn.add_gridspec(len(heights), 1, height_ratios=heights)
        at = 0
        for place, graph in enumerate(graphs):
            axes = drawn.add_subplot(grid[at])
            entries = _draw(axes, graph, width)
            at += 1
            if not shared or place == len(graphs) - 1:
                _legend(drawn.add_subplot(grid[at]), entries, width)
                at += 1
        return drawn


def _in_legend(graph: Graph, line: Line) -> bool:
    """Return True for lines with a name, except runs that are named along an axis."""
    return bool(line.name) and not (line.mark == "points" and graph.y.names)


def _short(name: str, letters: float) -> str:
    """A name with its middle left out where it is too long: names often differ at their ends.

    >>> _short("paragraphs-bm25-run-2", 12)
    'para\u20265-run-2'
    """
    name, most = _clean(name), int(letters)
    if len(name) <= most:
        return name
    head = most // 3
    return f"{name[:head]}\u2026{name[head + 1 - most :]}"


def _shortened(names: Sequence[str], letters: float) -> list[str]:
    """Names of a list, where too long without what all begin with: it tells none apart.

    >>> _shortened(["lab-2009-bm25-a-k1.2", "lab-2009-bm25-b-k1.2"], 12)
    ['\u2026a-k1.2', '\u2026b-k1.2']
    >>> _shortened(["a", "b"], 12)
    ['a', 'b']
    """
    clean = [_clean(name) for name in names]
    alike = takewhile(lambda column: len(set(column)) == 1, zip(*clean, strict=False))
    shared = len(list(alike)) if len(clean) > 1 else 0
    if shared < 2 or max(map(len, clean)) <= letters:
        return [_short(name, letters) for name in clean]
    return [_short(f"\u2026{name[shared:]}", letters) for name in clean]


def _columns(names: Sequence[str], width: float) -> int:
    longest = min(max(map(len, names), default=1), int(_LETTERS * width))
    return max(1, min(4, len(names), int(width * 17 / (longest + 7))))


def _rows(names: Sequence[str], width: float) -> int:
    return -(-len(names) // _columns(names, width))


def _height(graph: Graph, width: float) -> float:
    """Inches of the axes with title and labels."""
    lines = _title(graph, width).count("\n") + _across(graph, width).count("\n")
    if graph.y.names:
        return 0.75 + _ROW * lines + 0.26 * len(graph.y.names)
    names = graph.x.names if len(graph.x.names) <= _MOST_NAMED else ()
    turned = 0.06 * min(max(map(len, names), default=0), _AXIS_LETTERS * min(width, 6.0))
    return 0.62 * min(width, 6.0) + 0.35 + _ROW * lines + turned


def _title(graph: Graph, width: float) -> str:
    return _wrapped(graph.title, (width - 0.6) * 14)


def _across(graph: Graph, width: float) -> str:
    return _wrapped(graph.x.text, (width - 0.6) * 17)


def _draw(axes: Any, graph: Graph, width: float) -> list[tuple[Any, str]]:
    """Draw into the axes; returns what is drawn and has a name."""
    entries = []
    for line in graph.lines:
        handle = _MARKS[line.mark](axes, line)
        if _in_legend(graph, line):
            entries.append((handle, _short(line.name, _LETTERS * width)))
    room = min(width, 6.0)
    axes.set_title(_title(graph, width), loc="left", fontweight="bold")
    axes.set_xlabel(_across(graph, width))
    axes.set_ylabel("" if graph.y.names else _wrapped(graph.y.text, room * 9.5))
    axes.grid(color="#e3e3e3", linewidth=0.5, axis="x" if graph.y.names else "both")
    _scale(axes, graph.x, "x", _AXIS_LETTERS * room)
    _scale(axes, graph.y, "y", _AXIS_LETTERS * room)
    return entries


def _wrapped(text: str, letters: float) -> str:
    """Wrap a text into lines of at most this many letters."""
    return textwrap.fill(_clean(text), max(int(letters), 10))


def _decade(value: float) -> str:
    """A number of a logarithmic axis, read faster and shorter than a power of ten.

    >>> [_decade(10.0**power) for power in (-2, 0, 2, 4, 7)]
    ['0.01', '1', '100', '10k', '10M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _scale(axes: Any, axis: Axis, side: str, letters: float) -> None:
    if axis.log:
        from matplotlib.ticker import FuncFormatter

        getattr(axes, f"set_{side}scale")("log")
        shown = FuncFormatter(lambda value, _: _decade(float(value)))
        getattr(axes, f"{side}axis").set_major_formatter(shown)
        getattr(axes, f"{side}axis").set_minor_formatter("")
    if axis.names and len(axis.names) <= _MOST_NAMED:
        turned = {"rotation": 90} if side == "x" else {}
        names = _shortened(axis.names, letters)
        getattr(axes, f"set_{side}ticks")(range(len(names)), names, **turned)
        axes.tick_params(side, length=0)
    elif axis.names:
        getattr(axes, f"set_{side}ticks")([])
    low, high = getattr(axes, f"get_{side}lim")()
    # What ends with the data keeps a little room, so that no marker is cut.
    getattr(axes, f"set_{side}lim")(
        low if axis.low is None else axis.low, high if axis.high is None else axis.high
    )


def _legend(room: Any, entries: Sequence[tuple[Any, str]], width: float) -> None:
    room.axis("off")
    if entries:
        # Handles are named here, for matplotlib leaves out lines whose label begins with _.
        handles, names = zip(*entries, strict=True)
        room.legend(
            handles,
            names,
            loc="upper center",
            ncols=_columns(names, width),
            frameon=False,
            handlelength=2.6,
            columnspacing=1.2,
            labelspacing=0.35,
            borderpad=0,
            borderaxespad=0,
        )


# -- marks -------------------------------------------------------------------------------------


def _look(line: Line) -> dict[str, Any]:
    """Colour, dashes and marker of a series."""
    if line.series is None:
        return {"color": _NEUTRAL, "linestyle": "-", "linewidth": 1.6}
    i = line.series
    return {
        "color": PALETTE[i % len(PALETTE)],
        "linestyle": DASHES[i % len(DASHES)],
        "marker": MARKERS[i % len(MARKERS)],
    }


def _every(line: Line) -> tuple[int, int]:
    """Some eight markers to a line, at other places than those of its neighbours."""
    step = max(1, len(line.x) // 8)
    return (line.series or 0) * 2 % step, step


def _line(axes: Any, line: Line) -> Any:
    return axes.plot(line.x, line.y, markevery=_every(line), **_look(line))[0]


def _steps(axes: Any, line: Line) -> Any:
    return axes.step(line.x, line.y, where="post", markevery=_every(line), **_look(line))[0]


def _points(axes: Any, line: Line) -> Any:
    look = _look(line) | {"linestyle": "none", "linewidth": 0}
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.4}
    size = 3.5 if len(line.x) <= _MOST_NAMED else 2.2  # where there are many, they overlap less
    return axes.plot(line.x, line.y, zorder=3, clip_on=False, ms=size, **edge, **look)[0]


def _bars(axes: Any, line: Line) -> Any:
    signs = np.where(line.y >= 0, PALETTE[0], PALETTE[1])
    axes.axhline(0, color=_NEUTRAL, linewidth=0.6)
    return axes.bar(line.x, line.y, width=0.8, color=signs)


def _level(axes: Any, line: Line) -> Any:
    return axes.plot(line.x, line.y, color=_NEUTRAL, linewidth=2, zorder=4)[0]


def _interval(axes: Any, line: Line) -> Any:
    return axes.plot(line.x, line.y, color=_AID, linewidth=1.6, zorder=2)[0]


def _aid(axes: Any, line: Line) -> Any:
    dashes = (0, (2, 2)) if len(line.x) == 2 else "-"
    return axes.plot(line.x, line.y, color=_AID, linewidth=0.8, linestyle=dashes, zorder=1)[0]


_MARKS = {
    "line": _line,
    "steps": _steps,
    "points": _points,
    "bars": _bars,
    "level": _level,
    "interval": _interval,
    "aid": _aid,
}


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
            red, green, blue, _ = blues((float(matrix.values[i, j]) - low) / (1 - low))
            # Black or white, whichever has the greater contrast (WCAG 2, linear light).
            light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
            ink = "black" if light > 0.18 else "white"
            axis.text(j, i, matrix.format_cell(i, j), ha="center", va="center", color=ink)
        drawn.colorbar(image, ax=axis, shrink=0.7)
    note = textwrap.fill(matrices[0].note, int(13 * (side + 0.8)))
    drawn.supxlabel(note, x=0.02, ha="left", fontsize=_SMALL)
    return drawn
