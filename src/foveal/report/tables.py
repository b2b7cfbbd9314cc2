"""Results for people: plain, Markdown, LaTeX and HTML tables, four decimals, the best in bold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import numpy as np

from foveal.errors import UsageError
from foveal.measures import Measure, parse_measure
from foveal.model import Results
from foveal.model.results import ALL

__all__ = ["TABLE_FORMATS", "Grid", "grid", "html", "latex", "markdown", "plain"]


@dataclass(frozen=True)
class Grid:
    """A table as text: header, rows of cells, and which cells are the best of their column."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    best: frozenset[tuple[int, int]]
    labels: int
    """How many of the first columns are labels."""

    def transposed(self) -> Grid:
        """Columns as rows, for results with more measures than fit side by side."""
        columns = list(zip(self.header, *self.rows, strict=True))
        labels, values = columns[: self.labels], columns[self.labels :]
        head = [" ".join(parts) for parts in zip(*labels, strict=True)]
        return Grid(
            ("measure", *head[1:]),
            tuple(tuple(row) for row in values),
            frozenset((j - self.labels, i + 1) for i, j in self.best),
            1,
        )


def _measure(label: str) -> Measure | None:
    try:
        return parse_measure(label)
    except UsageError:  # saved by another version, or the user's own column
        return None


def _cell(value: float, *, whole: bool) -> str:
    if np.isnan(value):
        return "-"
    return str(round(value)) if whole else f"{value:.4f}"


def grid(results: Results, *, per_topic: bool) -> Grid:
    """One row per run (and topic), one column per measure."""
    measures = [_measure(label) for label in results.measures]
    rows: list[tuple[str, ...]] = []
    best: set[tuple[int, int]] = set()
    labels = 2 if per_topic else 1
    places: dict[str, list[int]] = {}
    for i, run in enumerate(results.runs):
        blocks = [(ALL, results.overall[i])]
        if per_topic:
            shown = np.flatnonzero(results.counted[i]).tolist()
            blocks = [*((results.topics[j], results.values[i, j]) for j in shown), *blocks]
        for topic, values in blocks:
            places.setdefault(topic, []).append(len(rows))
            cells = [
                _cell(value, whole=measure is not None and measure.summed)
                for value, measure in zip(values.tolist(), measures, strict=True)
            ]
            rows.append((run, topic, *cells) if per_topic else (run, *cells))
    if len(results.runs) > 1:
        for k, measure in enumerate(measures):
            better = True if measure is None else measure.higher_is_better
            if better is None:
                continue
            numbers = results.overall[:, k]
            if not np.isnan(numbers).all():
                top = np.nanmax(numbers) if better else np.nanmin(numbers)
                best |= {
                    (place, k + labels)
                    for place, value in zip(places[ALL], numbers.tolist(), strict=True)
                    if value == top
                }
    header = ("run", "topic") if per_topic else ("run",)
    return Grid((*header, *results.measures), tuple(rows), frozenset(best), labels)


def plain(results: Results, *, per_topic: bool, width: int = 100, bold: bool = False) -> str:
    """A table for the terminal, turned over if it is wider than the terminal."""
    table = grid(results, per_topic=per_topic)
    turned = table.transposed()
    if _width(table) > width and _width(turned) < _width(table):
        table = turned
    widths = _widths(table)
    lines = [
        "  ".join(
            text.ljust(size) if j < table.labels else text.rjust(size)
            for j, (text, size) in enumerate(zip(table.header, widths, strict=True))
        ).rstrip()
    ]
    lines.append("  ".join("-" * size for size in widths))
    for i, row in enumerate(table.rows):
        cells = []
        for j, (text, size) in enumerate(zip(row, widths, strict=True)):
            cell = text.ljust(size) if j < table.labels else text.rjust(size)
            cells.append(f"\033[1m{cell}\033[0m" if bold and (i, j) in table.best else cell)
        lines.append("  ".join(cells).rstrip())
    return "".join(f"{line}\n" for line in lines)


def _widths(table: Grid) -> list[int]:
    return [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]


def _width(table: Grid) -> int:
    return sum(_widths(table)) + 2 * (len(table.header) - 1)


def markdown(results: Results, *, per_topic: bool) -> str:
    """A GitHub-flavoured Markdown table."""
    table = grid(results, per_topic=per_topic)

    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"

    marks = tuple("---" if j < table.labels else "---:" for j in range(len(table.header)))
    body = (
        tuple(f"**{cell}**" if (i, j) in table.best else cell for j, cell in enumerate(row))
        for i, row in enumerate(table.rows)
    )
    return line(table.header) + line(marks) + "".join(map(line, body))


_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}"}
)


def latex(results: Results, *, per_topic: bool) -> str:
    """A LaTeX tabular with booktabs rules."""
    table = grid(results, per_topic=per_topic)

    def line(i: int, cells: tuple[str, ...]) -> str:
        shown = [cell.translate(_LATEX) for cell in cells]
        marked = [
            rf"\textbf{{{cell}}}" if (i, j) in table.best else cell for j, cell in enumerate(shown)
        ]
        return " & ".join(marked) + r" \\"

    columns = "l" * table.labels + "r" * (len(table.header) - table.labels)
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        line(-1, table.header),
        r"\midrule",
        *(line(i, row) for i, row in enumerate(table.rows)),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "".join(f"{text}\n" for text in lines)


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .75rem;border-bottom:1px solid #8884;text-align:left}"
    "td.n,th.n{text-align:right}caption{text-align:left;padding-bottom:.5rem}"
)


def html(results: Results, *, per_topic: bool) -> str:
    """A page with one table, nothing fetched from anywhere."""
    table = grid(results, per_topic=per_topic)

    def cells(i: int, row: tuple[str, ...], tag: str) -> str:
        parts = []
        for j, cell in enumerate(row):
            kind = ' class="n"' if j >= table.labels else ""
            text = f"<b>{escape(cell)}</b>" if (i, j) in table.best else escape(cell)
            parts.append(f"<{tag}{kind}>{text}</{tag}>")
        return f"<tr>{''.join(parts)}</tr>"

    version = escape(str(results.meta.get("version", "")))
    rows = "\n".join(cells(i, row, "td") for i, row in enumerate(table.rows))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<title>Foveal results</title>"
        f"<style>{_STYLE}</style></head>\n<body><table><caption>{len(results.runs)} runs, "
        f"{len(results.topics)} topics; best in bold. Foveal {version}</caption>\n"
        f"<thead>{cells(-1, table.header, 'th')}</thead>\n<tbody>\n{rows}\n</tbody></table></body>"
        "</html>\n"
    )


TABLE_FORMATS: dict[str, Callable[..., str]] = {
    "table": plain,
    "markdown": markdown,
    "latex": latex,
    "html": html,
}
"""Format to writer, ``writer(results, per_topic=...)``."""
