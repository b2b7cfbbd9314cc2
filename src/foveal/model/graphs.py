"""Graphs as plain data: axes, lines, notes and a text alternative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = ["Axis", "Graph", "Line", "Mark", "Matrix"]

Floats = npt.NDArray[np.float64]
Mark = Literal["line", "steps", "points", "bars", "level", "interval", "aid"]


@dataclass(frozen=True)
class Axis:
    """An axis of a graph."""

    label: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    """Ends of the axis; None: the ends of the data."""
    log: bool = False
    names: tuple[str, ...] = ()
    """Names of the positions 0, 1, ...; empty if positions are numbers."""

    @property
    def text(self) -> str:
        """The label with its unit.

        >>> Axis("rank", "results").text
        'rank (results)'
        """
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True, eq=False)
class Line:
    """A curve, steps, points, bars, a level, or an aid to the eye."""

    name: str
    """Entry of the legend; empty for none."""
    x: Floats
    y: Floats
    mark: Mark = "line"
    series: int | None = None
    """Lines of one run share a number, and with it colour and style; None is neutral."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with its axes, lines and notes."""

    kind: str
    """Its name in `GRAPHS`."""
    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    """Sentences below it or in its caption."""

    @property
    def text_alternative(self) -> str:
        """The graph in words, for readers who cannot see it.

        >>> line = Line("mine", np.array([1.0, 2.0]), np.array([0.5, 0.25]))
        >>> Graph("ep", "Two points", Axis("rank"), Axis("score"), (line,)).text_alternative
        'Two points. Across: rank. Up: score. mine: 0.5 at 1, 0.25 at 2.'
        """
        parts = [f"{self.title}.", f"Across: {self.x.text}.", f"Up: {self.y.text}."]
        for line in self.lines:
            if not line.name or line.mark == "aid" or not len(line.x):
                continue
            if self.y.names:  # points of a run side by side: their spread
                low, middle, high = np.nanquantile(line.x, (0, 0.5, 1)).tolist()
                shown = f"from {low:.4g} to {high:.4g}, median {middle:.4g}"
            else:
                names, n = self.x.names, len(line.x)
                some = (
                    np.arange(n) if names else np.linspace(0, n - 1, min(n, 5)).round().astype(int)
                )
                places = [names[int(x)] if names else _number(x) for x in line.x[some]]
                values = map(_number, line.y[some])
                shown = ", ".join(f"{y} at {x}" for y, x in zip(values, places, strict=True))
            parts.append(f"{line.name}: {shown}.")
        return " ".join([*parts, *self.notes])


def _number(value: float) -> str:
    return "undefined" if np.isnan(value) else f"{float(value):.4g}"


@dataclass(frozen=True, eq=False)
class Matrix:
    """A heat map of numbers up to 1."""

    title: str
    labels: tuple[str, ...]
    """Names of rows and columns."""
    values: Floats
    marks: tuple[tuple[str, ...], ...]
    """A sign after each number; those on the diagonal are not shown."""
    note: str
    """The meaning of the marks."""

    def format_cell(self, row: int, column: int) -> str:
        """Return the text of a cell."""
        value = float(self.values[row, column])
        mark = "" if row == column else self.marks[row][column]
        return "-" if np.isnan(value) else f"{value:.2f}{mark}"

    @property
    def text_alternative(self) -> str:
        """The matrix in words, for readers who cannot see it; pairs once if it is symmetric.

        >>> marks = (("", "="), ("=", ""))
        >>> Matrix("tau", ("AP", "AiP"), np.ones((2, 2)), marks, "= equivalent").text_alternative
        'tau. AP and AiP: 1.00=. = equivalent'
        """
        is_symmetric = np.array_equal(self.values, self.values.T, equal_nan=True)
        n = len(self.labels)
        cells = (
            f"{self.labels[i]} and {self.labels[j]}: {self.format_cell(i, j)}."
            for i in range(n)
            for j in range(n)
            if (i < j if is_symmetric else i != j)
        )
        return " ".join([f"{self.title}.", *cells, self.note])
