"""Graphs drawn by matplotlib (``foveal[plot]``) as SVG, PNG and PDF, or written for gnuplot.

Lines differ in colour, dashes and markers, so that they can be distinguished in grey and by every
kind of colour vision. Letters have the size for a column of a paper, whatever the width.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from html import escape
from itertools import takewhile
from math import isnan
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from foveal.errors import UsageError
from foveal.model.graphs import Axis, Graph, Line, Matrix

__all__ = [
    "DASHES",
    "GNUPLOT_FORMATS",
    "MARKERS",
    "PALETTE",
    "PICTURES",
    "draw",
    "figure",
    "form_of",
    "gnuplot",
    "picture",
]

PICTURES = ("svg", "png", "pdf")
GNUPLOT_FORMATS = ("dat", "gnuplot", "gp")

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
_LEGEND: dict[str, Any] = {
    "loc": "upper center",
    "frameon": False,
    "handlelength": 2.6,
    "columnspacing": 1.2,
    "labelspacing": 0.35,
    "borderpad": 0,
    "borderaxespad": 0,
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
    """Return graphs, one below the other, in one of `PICTURES`; `width` in inches."""
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
        drawn = figure(graphs, width=width)
        drawn.savefig(content, format=form, dpi=300, metadata=about[form])
    if form != "svg":
        return content.getvalue()
    # Add a title and a text alternative, for readers who cannot see the picture.
    before, opening, rest = re.split(r"(<svg\b[^>]*)>", content.getvalue().decode(), maxsplit=1)
    head = f'{opening} role="img" aria-labelledby="title desc">'
    words = f'<title id="title">{escape(title)}</title>\n<desc id="desc">{escape(words)}</desc>'
    return f"{before}{head}\n {words}{rest}".encode()


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


# -- one figure --------------------------------------------------------------------------------


def figure(given: Sequence[Graph | Matrix], *, width: float = 3.5) -> Any:
    """Return graphs or heat maps, one below the other, as a Figure of matplotlib."""
    mpl = _matplotlib()
    if matrices := [graph for graph in given if isinstance(graph, Matrix)]:
        return _draw_matrices(matrices)
    graphs = [graph for graph in given if isinstance(graph, Graph)]
    from matplotlib.figure import Figure

    named = [[line.name for line in graph.lines if _in_legend(graph, line)] for graph in graphs]
    shared = all(names == named[0] for names in named)
    # Legends have rows of their own: they neither cover a line nor squeeze its axes.
    body = [_measure_height(graph, width) for graph in graphs]
    rows = [
        -(-len(names) // _count_columns(names, width)) for names in (named[:1] if shared else named)
    ]
    legends = [_ROW * number + 0.1 for number in rows]
    pairs = zip(body, legends, strict=False)
    heights = [*body, *legends] if shared else [height for pair in pairs for height in pair]
    size = (width, sum(body) + _ROW * sum(rows) + 0.1 * len(rows))
    with mpl.rc_context(_STYLE):
        drawn = Figure(figsize=size, layout="constrained")
        places = iter(drawn.add_gridspec(len(heights), 1, height_ratios=heights))
        for number, graph in enumerate(graphs, 1):
            entries = _draw_graph(drawn.add_subplot(next(places)), graph, width)
            if not shared or number == len(graphs):
                _draw_legend(drawn.add_subplot(next(places)), entries, width)
        return drawn


def _in_legend(graph: Graph, line: Line) -> bool:
    """Return True for lines with a name, except runs that are named along an axis."""
    return bool(line.name) and not (line.mark == "points" and graph.y.names)


def _shorten(name: str, letters: float) -> str:
    """Leave out the middle of a name that is too long: names often differ at their ends.

    >>> _shorten("paragraphs-bm25-run-2", 12)
    'para\u20265-run-2'
    """
    name, most = _clean(name), int(letters)
    head = most // 3
    return name if len(name) <= most else f"{name[:head]}\u2026{name[head + 1 - most :]}"


def _shorten_all(names: Sequence[str], letters: float) -> list[str]:
    """Shorten names; if any is too long, leave out their common beginning, too.

    >>> _shorten_all(["lab-2009-bm25-a-k1.2", "lab-2009-bm25-b-k1.2"], 12)
    ['\u2026a-k1.2', '\u2026b-k1.2']
    >>> _shorten_all(["a", "b"], 12)
    ['a', 'b']
    """
    clean = [_clean(name) for name in names]
    alike = takewhile(lambda column: len(set(column)) == 1, zip(*clean, strict=False))
    shared = len(list(alike)) if len(clean) > 1 else 0
    if shared >= 2 and max(map(len, clean)) > letters:
        clean = [f"\u2026{name[shared:]}" for name in clean]
    return [_shorten(name, letters) for name in clean]


def _wrap(text: str, letters: float) -> str:
    """Wrap a text into lines of at most this many letters."""
    return textwrap.fill(_clean(text), max(int(letters), 10))


def _count_columns(names: Sequence[str], width: float) -> int:
    """Return the number of columns of a legend."""
    longest = min(max(map(len, names), default=1), int(_LETTERS * width))
    return max(1, min(4, len(names), int(width * 17 / (longest + 7))))


def _wrap_texts(graph: Graph, width: float) -> tuple[str, str]:
    """Return the title and the label of the x axis as they fit."""
    return _wrap(graph.title, (width - 0.6) * 14), _wrap(graph.x.text, (width - 0.6) * 17)


def _measure_height(graph: Graph, width: float) -> float:
    """Return the inches of the axes with title and labels."""
    lines = sum(text.count("\n") for text in _wrap_texts(graph, width))
    if graph.y.names:
        return 0.75 + _ROW * lines + 0.26 * len(graph.y.names)
    names = graph.x.names if len(graph.x.names) <= _MOST_NAMED else ()
    turned = 0.06 * min(max(map(len, names), default=0), _AXIS_LETTERS * min(width, 6.0))
    return 0.62 * min(width, 6.0) + 0.35 + _ROW * lines + turned


def _draw_graph(axes: Any, graph: Graph, width: float) -> list[tuple[Any, str]]:
    """Draw into the axes; return handle and name of the lines in the legend."""
    entries = []
    for line in graph.lines:
        handle = _draw_line(axes, line)
        if _in_legend(graph, line):
            entries.append((handle, _shorten(line.name, _LETTERS * width)))
    room = min(width, 6.0)
    title, across = _wrap_texts(graph, width)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_xlabel(across)
    axes.set_ylabel("" if graph.y.names else _wrap(graph.y.text, room * 9.5))
    axes.grid(color="#e3e3e3", linewidth=0.5, axis="x" if graph.y.names else "both")
    _scale_axis(axes, graph.x, "x", _AXIS_LETTERS * room)
    _scale_axis(axes, graph.y, "y", _AXIS_LETTERS * room)
    return entries


def _format_decade(value: float) -> str:
    """Format a number of a logarithmic axis, shorter than a power of ten.

    >>> [_format_decade(10.0**power) for power in (-2, 0, 2, 4, 7)]
    ['0.01', '1', '100', '10k', '10M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _scale_axis(axes: Any, axis: Axis, side: str, letters: float) -> None:
    if axis.log:
        from matplotlib.ticker import FuncFormatter

        getattr(axes, f"set_{side}scale")("log")
        shown = FuncFormatter(lambda value, _: _format_decade(float(value)))
        getattr(axes, f"{side}axis").set_major_formatter(shown)
        getattr(axes, f"{side}axis").set_minor_formatter("")
    if axis.names and len(axis.names) <= _MOST_NAMED:
        turned = {"rotation": 90} if side == "x" else {}
        names = _shorten_all(axis.names, letters)
        getattr(axes, f"set_{side}ticks")(range(len(names)), names, **turned)
        axes.tick_params(side, length=0)
    elif axis.names:
        getattr(axes, f"set_{side}ticks")([])
    low, high = getattr(axes, f"get_{side}lim")()
    # An end of the data keeps a little room, so that no marker is cut.
    getattr(axes, f"set_{side}lim")(
        low if axis.low is None else axis.low, high if axis.high is None else axis.high
    )


def _draw_legend(room: Any, entries: Sequence[tuple[Any, str]], width: float) -> None:
    room.axis("off")
    if entries:
        # Handles are named here, for matplotlib leaves out lines whose label begins with _.
        handles, names = zip(*entries, strict=True)
        columns = _count_columns(names, width)
        room.legend(handles, names, ncols=columns, **_LEGEND)


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
            red, green, blue, _ = blues((float(matrix.values[i, j]) - low) / (1 - low))
            # Black or white, whichever has the greater contrast (WCAG 2, linear light).
            light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
            ink = "black" if light > 0.18 else "white"
            axis.text(j, i, matrix.format_cell(i, j), ha="center", va="center", color=ink)
        drawn.colorbar(image, ax=axis, shrink=0.7)
    note = textwrap.fill(matrices[0].note, int(13 * (side + 0.8)))
    drawn.supxlabel(note, x=0.02, ha="left", fontsize=_SMALL)
    return drawn


# -- gnuplot ---------------------------------------------------------------------------------------

_WITH = {
    "line": "linespoints",
    "steps": "steps",
    "points": "points",
    "bars": "boxes",
    "level": "lines",
    "interval": "lines",
    "aid": "lines",
}
_DENSE = 16
"""Points of a line from which only some are marked."""
_POINTS = (7, 5, 9, 13, 11, 6, 4, 8, 12)
"""Points that can be distinguished, the filled ones first."""


def gnuplot(graphs: Sequence[Graph], form: str) -> str:
    """Return the data alone (``dat``), or a script with its data.

    EvalJ wrote both with ``-gnu``. The script names no terminal, so one file is enough for a
    window and for every kind of picture. The numbers are in full, as ``foveal evaluate`` prints.
    """
    if form != "dat":
        return _write_script(graphs)
    # Two blank lines separate blocks of two columns, so that ``index`` chooses one.
    blocks: list[str] = []
    for graph in graphs:
        opening = _describe(graph)
        for heading, *rows in _list_data(graph):
            columns = f"index {len(blocks)}, columns: {graph.x.text}; {graph.y.text}"
            blocks.append("\n".join([*opening, heading, f"# {_clean(columns)}", *rows]))
            opening = []
    return "\n\n\n".join(blocks) + "\n"


def _describe(graph: Graph) -> list[str]:
    return [f"# {_clean(text)}" for text in (graph.title, *graph.notes)]


def _list_data(graph: Graph) -> Iterator[list[str]]:
    """Yield a heading and a row for each point of each line; gnuplot leaves out those of NaN."""
    for line in graph.lines:
        rows = [f"# {_clean(line.name or f'({line.mark})')}"]
        for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
            named = f"  # {_clean(graph.x.names[int(x)])}" if graph.x.names and x == int(x) else ""
            rows.append(f"{x!r:<20} {'NaN' if isnan(y) else repr(y)}{named}")
        yield rows


def _quote(text: str) -> str:
    """Return a string as gnuplot writes it.

    >>> _quote("Kazai's run")
    "'Kazai''s run'"
    """
    return "'" + _clean(text).replace("'", "''") + "'"


def _write_script(graphs: Sequence[Graph]) -> str:
    lines = [
        "# gnuplot 5 or later. In a window: gnuplot -p FILE",
        "# As a picture: gnuplot -e \"set term pdfcairo; set output 'graph.pdf'\" FILE",
        "",
    ]
    for number, graph in enumerate(graphs):
        lines += _describe(graph)
        for i, rows in enumerate(_list_data(graph)):
            lines += [f"$data{number}_{i} << EOD", *rows, "EOD"]
        lines.append("")
    lines += ["set datafile separator whitespace", "set grid", "set rmargin 4"]
    series = [line.series for graph in graphs for line in graph.lines if line.series is not None]
    lines += [  # colour, dashes and points as in the pictures
        f"set style line {i + 1} lc rgb '{PALETTE[i % len(PALETTE)]}' lw 1.5 "
        f"dt {i % len(DASHES) + 1} pt {_POINTS[i % len(_POINTS)]} ps 0.7"
        for i in range(max(series, default=0) + 1)
    ]
    if len(graphs) > 1:
        lines.append(f"set multiplot layout {len(graphs)},1")
    for number, graph in enumerate(graphs):
        lines += [
            f"set title {_quote(graph.title)} noenhanced",
            "set key outside below center Left reverse height 1 samplen 3 noenhanced",
            *_list_axis("x", graph.x, [line.x for line in graph.lines]),
            *_list_axis("y", graph.y, [line.y for line in graph.lines]),
            "set boxwidth 0.8",
            "set style fill solid 0.7",
            "plot \\",
            ", \\\n".join(
                f"  $data{number}_{i} using 1:2 {_style_line(line)}"
                for i, line in enumerate(graph.lines)
            ),
        ]
    if len(graphs) > 1:
        lines.append("unset multiplot")
    return "\n".join(lines) + "\n"


def _list_axis(side: str, axis: Axis, values: Sequence[npt.NDArray[np.float64]]) -> list[str]:
    """Return the commands for an axis."""
    ends = ["*" if end is None else f"{end:g}" for end in (axis.low, axis.high)]
    known = np.concatenate([*values, np.zeros(0)])
    known = known[np.isfinite(known)]
    if not axis.log and (not known.size or known.min() == known.max() == axis.low):
        # gnuplot makes no room for a flat line, and refuses to plot nothing.
        low = 0.0 if axis.low is None else axis.low
        ends = [f"{low:g}", f"{low + 1 if axis.high is None else axis.high:g}"]
    found = [
        f"set {side}label {_quote(axis.text)} noenhanced",
        f"{'set' if axis.log else 'unset'} logscale {side}",
        f"set {side}range [{ends[0]}:{ends[1]}]",
    ]
    if not axis.names:
        return [*found, f"set {side}tics autofreq norotate"]
    # Labels of tics are formats, unlike all other texts.
    names = [_quote(name.replace("%", "%%")) for name in axis.names]
    places = ", ".join(f"{name} {i}" for i, name in enumerate(names))
    turned = "rotate" if side == "x" else "norotate"
    return [*found, f"set {side}tics {turned} ({places}) noenhanced"]


def _style_line(line: Line) -> str:
    """Return how a line is plotted; all lines of a run have one style."""
    drawn = _WITH[line.mark]
    look = f"ls {(line.series or 0) + 1}"
    if line.mark in ("aid", "interval"):
        look = f"lc rgb '{_AID}' lw 1"
    elif line.series is None and line.mark in ("line", "level"):
        drawn, look = "lines", "lt -1 lw 2"
    elif line.mark == "line" and len(line.x) > _DENSE:
        look += f" pi {len(line.x) // 8}"
    title = f"title {_quote(line.name)}" if line.name else "notitle"
    return f"with {drawn} {look} {title}"
