"""What a graph is: axes, lines, notes, and the same in words for those who do not see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = ["Axis", "Floats", "Graph", "Line", "Mark"]

Floats = npt.NDArray[np.float64]
Mark = Literal["line", "steps", "points", "bars", "level", "aid"]


@dataclass(frozen=True)
class Axis:
    """What is measured along one side.

    Parameters
    ----------
    label, unit : str
    low, high : float, optional
        Where the axis ends; None: where the data ends.
    log : bool
    names : tuple of str
        Names of the places 0, 1, ...; empty where places are numbers.
    """

    label: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The label with its unit.

        >>> Axis("rank", "results").text
        'rank (results)'
        """
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True, eq=False)
class Line:
    """Something drawn: a curve, steps, points, bars, a level, or an aid to the eye.

    Parameters
    ----------
    name : str
        For the legend; empty for what needs no entry there.
    x, y : float64 arrays
    mark : str
        How it is drawn.
    series : int, optional
        What belongs to one run has one number, and with it colour and style; None is neutral.
    """

    name: str
    x: Floats
    y: Floats
    mark: Mark = "line"
    series: int | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph as data.

    Parameters
    ----------
    kind : str
        Its name in `GRAPHS`.
    title : str
    x, y : Axis
    lines : tuple of Line
    notes : tuple of str
        Sentences that belong below it, or into its caption.
    """

    kind: str
    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()

    @property
    def text_alternative(self) -> str:
        """The graph in words, for those who do not see it.

        >>> line = Line("mine", np.array([1.0, 2.0]), np.array([0.5, 0.25]))
        >>> Graph("ep", "Two points", Axis("rank"), Axis("score"), (line,)).text_alternative
        'Two points. Across: rank. Up: score. mine: 0.5 at 1, 0.25 at 2.'
        """
        parts = [f"{self.title}.", f"Across: {self.x.text}.", f"Up: {self.y.text}."]
        parts += [said for line in self.lines if (said := self._said(line))]
        return " ".join([*parts, *self.notes])

    def _said(self, line: Line) -> str:
        """A few points of a line."""
        if not line.name or line.mark == "aid" or not len(line.x):
            return ""
        if self.y.names:  # points of a run side by side: their spread
            low, middle, high = np.nanquantile(line.x, (0, 0.5, 1)).tolist()
            return f"{line.name}: from {low:.4g} to {high:.4g}, median {middle:.4g}."
        shown = np.unique(np.linspace(0, len(line.x) - 1, 5).round().astype(int)).tolist()
        if self.x.names:
            shown = list(range(len(line.x)))
        points = [f"{_number(line.y[i])} at {self._place(line.x[i])}" for i in shown]
        return f"{line.name}: {', '.join(points)}."

    def _place(self, x: float) -> str:
        return self.x.names[int(x)] if self.x.names else _number(x)


def _number(value: float) -> str:
    return "undefined" if np.isnan(value) else f"{float(value):.4g}"
