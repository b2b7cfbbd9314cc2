"""Curves of growth as a graph, where matplotlib is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.outcome import MEMORY, Curve

__all__ = ["draw"]

_ACROSS = 2
"""Graphs beside each other."""
_INSIDE = 4
"""More lines than these have their legend below."""


def draw(curves: Sequence[Curve], path: Path) -> bool:
    """Write a graph for each curve, on logarithmic axes; say whether matplotlib was there.

    Memory is shown from nothing on.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    rows = -(-len(curves) // _ACROSS)
    # Names of elements in the file are made from this, so that the same figures give the same file.
    with mpl.rc_context({"svg.hashsalt": "foveal", "font.size": 8}):
        figure = Figure(figsize=(5 * _ACROSS, 3.8 * rows), layout="constrained")
        for place, curve in enumerate(curves, 1):
            axes = figure.add_subplot(rows, _ACROSS, place)
            for number, (name, values) in enumerate(curve.series.items()):
                style = {"marker": "os^Dv"[number % 5], "linestyle": ("-", "--")[number // 10 % 2]}
                label = f"{_plain(name)} (power {curve.power(name):.2f})"
                axes.plot(curve.values, values, label=label, **style)
            axes.set(xscale="log", xlabel=curve.size, ylabel=_first(curve.unit))
            axes.set_xticks(list(curve.values), [f"{value:,g}" for value in curve.values])
            if curve.unit == MEMORY:
                axes.set_ylim(bottom=0)  # whether it grows is seen from nothing on
            else:
                _proportional(axes, curve)
                axes.set_yscale("log")
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.minorticks_off()
            axes.grid(visible=True, linewidth=0.3)
            if len(curve.series) > _INSIDE:
                axes.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
            else:
                axes.legend(fontsize=7)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return True


def _proportional(axes: Any, curve: Curve) -> None:
    """A thin line of what grows in proportion, from where the first figures are."""
    low = min(values[0] for values in curve.series.values())
    line = [low * value / curve.values[0] for value in curve.values]
    axes.plot(curve.values, line, color="0.6", linewidth=0.8, linestyle=":", label="linear")


def _plain(name: str) -> str:
    return re.sub("[`]", "", name)


def _first(unit: str) -> str:
    return unit.partition(",")[0]
