"""Correlations as a heat map: SVG of our own, PNG and PDF by matplotlib.

One hue from light to dark, so that it survives a grey printer and every kind of colour vision;
every cell holds its number and mark, and a text alternative says the same in words.
"""

from __future__ import annotations

import io
from html import escape
from math import floor, isnan
from pathlib import PurePath
from typing import Any

import numpy as np

from foveal.analysis.rankings import DIRECTED, EQUIVALENT, NOTICEABLE, Correlations
from foveal.errors import UsageError
from foveal.report.correlations import NAMES, mark

__all__ = ["HEATMAP_FORMATS", "description", "figure", "heatmap", "svg"]

HEATMAP_FORMATS = ("svg", "png", "pdf")

_COLOURS = (
    (247, 251, 255),
    (222, 235, 247),
    (198, 219, 239),
    (158, 202, 225),
    (107, 174, 214),
    (66, 146, 198),
    (33, 113, 181),
    (8, 81, 156),
    (8, 48, 107),
)
"""Blues of even steps in lightness, from ColorBrewer."""
_INK, _PAPER, _EMPTY = "#111111", "#ffffff", "#eeeeee"
_CELL, _FONT, _LETTER = 56, 13, 8.0
"""Pixels: side of a cell, height of letters and their width on average."""
_MARKS = f"= at least {EQUIVALENT}: equivalent;  ! below {NOTICEABLE}: noticeably different"


def heatmap(found: Correlations, path: str) -> str | bytes:
    """The heat map in the format that the name of the file asks for."""
    form = PurePath(path).suffix[1:].lower()
    if form == "svg":
        return svg(found)
    if form not in HEATMAP_FORMATS:
        expected = " or ".join(f".{known}" for known in HEATMAP_FORMATS)
        raise UsageError(f"{path}: no picture of this kind can be drawn; expected {expected}")
    # Without dates: the same numbers give the same bytes.
    undated: dict[str, Any] = {"Software": None} if form == "png" else {"CreationDate": None}
    content = io.BytesIO()
    figure(found).savefig(content, format=form, metadata=undated)
    return content.getvalue()


def description(found: Correlations, name: str) -> str:
    """The matrix in words, for those who do not see it.

    >>> from foveal.analysis.rankings import correlate
    >>> from foveal.model import Results
    >>> rows = [(run, "1", m, v) for m in ("AP", "AiP") for run, v in (("a", 0.1), ("b", 0.2))]
    >>> description(correlate(Results.from_tidy(rows, {})), "tau_b")
    "Kendall's tau b by measure. AP and AiP: 1.00, equivalent."
    """
    words = {"=": ", equivalent", "!": ", noticeably different", "": ""}
    values = found.values(name)
    parts = []
    for i, j in _pairs(found, name):
        value = float(values[i, j])
        said = "undefined" if isnan(value) else f"{value:.2f}{words[mark(value, name)]}"
        parts.append(f"{found.labels[i]} and {found.labels[j]}: {said}.")
    return " ".join([f"{NAMES[name]} by {found.by}.", *parts])


def _pairs(found: Correlations, name: str) -> list[tuple[int, int]]:
    values = found.values(name)
    n = len(found.labels)
    square = not np.array_equal(values, values.T, equal_nan=True)
    return [(i, j) for i in range(n) for j in range(n) if (i != j if square else i < j)]


def _heading(name: str) -> str:
    return f"{NAMES[name]} (row: reference)" if name in DIRECTED else NAMES[name]


# -- colours -----------------------------------------------------------------------------------


def _lowest(found: Correlations) -> float:
    """Where the scale starts: a round number below all values."""
    values = np.concatenate([found.values(name).ravel() for name in found.coefficients])
    defined = values[~np.isnan(values)]
    return min(floor(float(defined.min()) * 10 + 1e-9) / 10, 0.9)


def _colour(share: float) -> tuple[int, int, int]:
    """A colour of the scale; 0 is the lightest, 1 the darkest."""
    place = min(max(share, 0.0), 1.0) * (len(_COLOURS) - 1)
    at = min(int(place), len(_COLOURS) - 2)
    low, high = np.array(_COLOURS[at]), np.array(_COLOURS[at + 1])
    red, green, blue = np.round(low + (place - at) * (high - low)).astype(int).tolist()
    return red, green, blue


def _ink(colour: tuple[int, int, int]) -> str:
    """Black or white, whichever has the greater contrast (WCAG) on this colour."""
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
        for c in (part / 255 for part in colour)
    ]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return _INK if light > 0.18 else _PAPER


def _hex(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


# -- our own SVG -------------------------------------------------------------------------------


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'


def _panel(found: Correlations, name: str, left: float, top: float, low: float) -> list[str]:
    """One matrix, with the labels beside and above it."""
    values, counts = found.values(name), found.counts(name)
    parts = [_text(_FONT, top + _FONT * 1.6, _heading(name), ' font-weight="bold"')]
    head = top + _head(found)
    for i, label in enumerate(found.labels):
        middle = (i + 0.5) * _CELL
        parts.append(
            _text(left - 8, head + middle + _FONT * 0.35, label, ' text-anchor="end"'),
        )
        x, y = left + middle + _FONT * 0.35, head - 8
        parts.append(_text(x, y, label, f' transform="rotate(-60 {x:.1f} {y:.1f})"'))
        for j, other in enumerate(found.labels):
            value = float(values[i, j])
            colour = _hex(_colour((value - low) / (1 - low))) if not isnan(value) else _EMPTY
            ink = _ink(_colour((value - low) / (1 - low))) if not isnan(value) else _INK
            sign = "" if i == j else mark(value, name)
            shown = "-" if isnan(value) else f"{value:.2f}{sign}"
            spoken = f"{label} and {other}: {shown}"
            spoken += "" if i == j else f", {counts[i, j]} correlations"
            x, y = left + j * _CELL, head + i * _CELL
            parts += [
                f"<g><title>{escape(spoken)}</title>",
                (
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{_CELL}" height="{_CELL}" '
                    f'fill="{colour}" stroke="{_PAPER}"/>'
                ),
                _text(
                    x + _CELL / 2,
                    y + _CELL / 2 + _FONT * 0.35,
                    shown,
                    f' text-anchor="middle" fill="{ink}"',
                ),
                "</g>",
            ]
    return parts


def _head(found: Correlations) -> float:
    """Room above a matrix: its name and the slanted labels."""
    longest = max(map(len, found.labels))
    return _FONT * 2.5 + longest * _LETTER * 0.87 + 12


def _legend(left: float, top: float, width: float, low: float) -> list[str]:
    steps = 40
    parts = [
        f'<rect x="{left + i * width / steps:.1f}" y="{top:.1f}" width="{width / steps + 0.5:.1f}" '
        f'height="{_FONT}" fill="{_hex(_colour(i / (steps - 1)))}"/>'
        for i in range(steps)
    ]
    for end, anchor in ((low, "start"), (1.0, "end")):
        x = left if anchor == "start" else left + width
        parts.append(_text(x, top + 2.4 * _FONT, f"{end:g}", f' text-anchor="{anchor}"'))
    return parts


def svg(found: Correlations) -> str:
    """The heat map of every coefficient, one below the other.

    A picture that needs no script and fetches nothing; ``title`` and ``desc`` are its text
    alternative, and each cell names its rows and counts when it is pointed at.
    """
    low, n = _lowest(found), len(found.labels)
    longest = max(map(len, found.labels))
    left = longest * _LETTER + 2 * _FONT
    side = n * _CELL
    # The last slanted label leans out to the right.
    width = max(left + side + longest * _LETTER * 0.5 + _FONT, len(_MARKS) * _LETTER + 2 * _FONT)
    panel = _head(found) + side + _FONT
    height = panel * len(found.coefficients) + 5.5 * _FONT
    title = f"Correlation of system rankings by {found.by}"
    body = []
    for k, name in enumerate(found.coefficients):
        body += _panel(found, name, left, k * panel, low)
    foot = panel * len(found.coefficients) + _FONT * 0.5
    body += _legend(left, foot, min(side, 240.0), low)
    body.append(_text(_FONT, foot + 4.2 * _FONT, _MARKS, ' xml:space="preserve"'))
    told = " ".join(description(found, name) for name in found.coefficients)
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img" aria-labelledby="title desc" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="{_FONT}" fill="{_INK}">'
        ),
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(told)}</desc>',
        f'<rect width="100%" height="100%" fill="{_PAPER}"/>',
        *body,
        "</svg>",
    ]
    return "".join(f"{line}\n" for line in lines)


# -- matplotlib --------------------------------------------------------------------------------


def figure(found: Correlations) -> Any:
    """The heat map as a matplotlib Figure (``foveal[plot]`` must be installed)."""
    try:
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(
            "pictures other than .svg need matplotlib; install it with pip install matplotlib"
        ) from None
    low, n = _lowest(found), len(found.labels)
    blues = LinearSegmentedColormap.from_list(
        "blues", [tuple(part / 255 for part in colour) for colour in _COLOURS]
    ).with_extremes(bad=_EMPTY)
    side = 0.6 * n + 0.09 * max(map(len, found.labels)) + 1.2
    drawn = Figure(
        figsize=(side + 0.8, side * len(found.coefficients)), dpi=150, layout="constrained"
    )
    axes = drawn.subplots(len(found.coefficients), 1, squeeze=False)[:, 0]
    for axis, name in zip(axes, found.coefficients, strict=True):
        values = found.values(name)
        image = axis.imshow(values, cmap=blues, vmin=low, vmax=1)
        axis.set_xticks(range(n), found.labels, rotation=60, ha="left", rotation_mode="anchor")
        axis.set_yticks(range(n), found.labels)
        axis.tick_params(length=0, labeltop=True, labelbottom=False)
        axis.set_title(_heading(name), loc="left", fontweight="bold")
        axis.spines[:].set_visible(False)
        between = [i - 0.5 for i in range(1, n)]
        axis.set_xticks(between, minor=True)
        axis.set_yticks(between, minor=True)
        axis.grid(which="minor", color=_PAPER, linewidth=1)
        axis.tick_params(which="minor", length=0)
        for i, j in np.ndindex(n, n):
            value = float(values[i, j])
            sign = "" if i == j else mark(value, name)
            shown = "-" if isnan(value) else f"{value:.2f}{sign}"
            ink = _INK if isnan(value) else _ink(_colour((value - low) / (1 - low)))
            axis.text(j, i, shown, ha="center", va="center", color=ink, fontsize=9)
        drawn.colorbar(image, ax=axis, shrink=0.7)
    axes[-1].set_xlabel(_MARKS, loc="left", fontsize=8)
    return drawn
