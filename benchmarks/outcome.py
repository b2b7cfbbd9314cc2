"""What a benchmark found: facts, tables, aims, curves of growth; as Markdown and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from benchmarks.processes import Report

__all__ = ["MEMORY", "Aim", "Curve", "Outcome", "Table", "exponent", "slope", "table"]

MEMORY = "peak MB"
"""The unit of memory."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table: names on the left, numbers on the right.

    >>> table(["task", "s"], [["read", "1.5"]])
    ['| task | s |', '| :-- | --: |', '| read | 1.5 |']
    """
    rule = [":--", *["--:"] * (len(head) - 1)]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


@dataclass(frozen=True)
class Table:
    """Rows of text, and above them what they are."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def lines(self) -> list[str]:
        return [*([self.caption, ""] if self.caption else []), *table(self.head, self.rows)]


@dataclass(frozen=True)
class Aim:
    """A figure and the bound it has to stay under, or to reach."""

    text: str
    value: float
    bound: float
    unit: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value < self.bound

    def cells(self) -> list[str]:
        """A row of the table of aims.

        >>> Aim("scored / read", 1.5, 2, "times").cells()
        ['scored / read', 'under 2 times', '1.50', 'met']
        >>> Aim("two processes are faster", 1.5, 1.7, "times", at_least=True).cells()
        ['two processes are faster', 'at least 1.7 times', '1.50', 'not met']
        """
        bound = f"{'at least' if self.at_least else 'under'} {self.bound:g} {self.unit}".rstrip()
        shown = f"{self.value:.0f}" if abs(self.value) >= 100 else f"{self.value:.2f}"
        return [self.text, bound, shown, "met" if self.met else "not met"]


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The power of its size that a figure grows with: the slope of a line through the logarithms.

    >>> round(exponent([1, 2, 4], [3, 6, 12]), 2), round(exponent([1, 2, 4], [1, 4, 16]), 2)
    (1.0, 2.0)
    """
    return slope([math.log(size) for size in sizes], [math.log(value) for value in values])


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """That of the line nearest to all points.

    >>> slope([1, 2, 3], [10, 12, 14])
    2.0
    """
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread


@dataclass(frozen=True)
class Curve:
    """How figures of one unit grow with one size."""

    size: str
    """What grows, such as results per topic."""
    values: Sequence[float]
    series: Mapping[str, Sequence[float]]
    unit: str = "CPU seconds"

    def power(self, name: str) -> float:
        return exponent(self.values, self.series[name])

    def last(self, name: str) -> float:
        """The power at the last step, where what does not grow counts for least."""
        return exponent(self.values[-2:], self.series[name][-2:])

    def lines(self) -> list[str]:
        """The figures; the power of the size they grow with, over all and at the last step.

        >>> for line in Curve("runs", [10, 20, 40], {"scored": [1, 2, 4]}).lines():
        ...     print(line)
        CPU seconds by runs:
        <BLANKLINE>
        | runs | 10 | 20 | 40 | power | last |
        | :-- | --: | --: | --: | --: | --: |
        | scored | 1.00 | 2.00 | 4.00 | 1.00 | 1.00 |
        """
        rows = []
        for name, found in self.series.items():
            cells = [f"{v:.0f}" if v >= 100 else f"{v:.2f}" for v in found]
            rows.append([name, *cells, f"{self.power(name):.2f}", f"{self.last(name):.2f}"])
        head = [self.size, *(f"{value:,g}" for value in self.values), "power", "last"]
        return [f"{self.unit} by {self.size}:", "", *table(head, rows)]


@dataclass(frozen=True)
class Outcome:
    """All that a benchmark found."""

    title: str
    facts: Sequence[str] = ()
    """What was measured, how large and how often."""
    tables: Sequence[Table] = ()
    aims: Sequence[Aim] = ()
    curves: Sequence[Curve] = ()
    notes: Sequence[str] = ()
    measurements: Mapping[str, Sequence[Report]] = field(default_factory=dict)
    """Every figure of every repeat, by task."""

    def markdown(self, level: int = 1, graph: str | None = None) -> str:
        """A section with a heading of this level, and with a link to the `graph` of its curves."""
        parts = [[f"{'#' * level} {self.title}"]]
        parts += [[f"- {fact}" for fact in self.facts]] if self.facts else []
        parts += [own.lines() for own in self.tables]
        if self.aims:
            head = ("aim", "bound", "measured", "")
            parts.append(table(head, [aim.cells() for aim in self.aims]))
        if self.curves:
            parts.append([f"{'#' * (level + 1)} Growth"])
            parts += [[f"![Growth]({graph})"]] if graph else []
            parts += [curve.lines() for curve in self.curves]
        parts += [[note] for note in self.notes]
        return "\n\n".join("\n".join(part) for part in parts) + "\n"

    def as_json(self) -> str:
        """All of it, the measurements too."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `as_json` wrote."""
        found: dict[str, Any] = json.loads(text)
        for name, kind in (("tables", Table), ("aims", Aim), ("curves", Curve)):
            found[name] = [kind(**own) for own in found[name]]
        return cls(**found)
