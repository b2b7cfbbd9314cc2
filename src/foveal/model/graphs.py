"""Graphs as plain data: axes, lines, notes and a text alternative."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np

from foveal.spans import Floats

__all__ = ["Axis", "Graph", "Line", "Mark", "Matrix"]

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
        """The label with its unit."""
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
        """The graph in words, for readers who cannot see it: the range of each line.

        >>> line = Line("mine", np.array([1.0, 2.0]), np.array([0.5, 0.25]))
        >>> Graph("ep", "Two points", Axis("rank"), Axis("score"), (line,)).text_alternative
        'Two points. Across: rank. Up: score. mine: from 0.25 to 0.5.'
        """
        parts = [f"{self.title}.", f"Across: {self.x.text}.", f"Up: {self.y.text}."]
        for line in self.lines:
            values = line.x if self.y.names else line.y  # points of a run may be side by side
            values = values[np.isfinite(values)]
            if line.name and line.mark != "aid" and len(values):
                parts.append(f"{line.name}: from {values.min():.4g} to {values.max():.4g}.")
        return " ".join([*parts, *self.notes])


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
        """The matrix in words, for readers who cannot see it.

        >>> marks = (("", "="), ("=", ""))
        >>> Matrix("tau", ("AP", "AiP"), np.ones((2, 2)), marks, "= equivalent").text_alternative
        'tau. AP and AiP: 1.00=. AiP and AP: 1.00=. = equivalent'
        """
        parts = [f"{self.title}."]
        for (i, first), (j, second) in permutations(enumerate(self.labels), 2):
            parts.append(f"{first} and {second}: {self.format_cell(i, j)}.")
        return " ".join([*parts, self.note])
