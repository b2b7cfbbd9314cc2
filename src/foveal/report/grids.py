"""A table as text, and the ways to write it: plain, Markdown, LaTeX, HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["GRID_FORMATS", "Grid", "html", "latex", "markdown", "page", "plain"]


@dataclass(frozen=True)
class Grid:
    """A table as text: header, rows of cells, and which cells are the best of their column."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    best: frozenset[tuple[int, int]] = frozenset()
    """Row and column of the cells in bold."""
    labels: int = 1
    """How many of the first columns are labels."""
    title: str = ""
    notes: tuple[str, ...] = ()
    """Sentences that stand below the table."""

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
            self.title,
            self.notes,
        )

    @property
    def widths(self) -> list[int]:
        """Of the columns, in characters."""
        return [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]

    @property
    def width(self) -> int:
        return sum(self.widths) + 2 * (len(self.header) - 1)


def plain(table: Grid, *, bold: bool = False) -> str:
    """A table for the terminal.

    >>> print(plain(Grid(("run", "AP"), (("a", ".31"), ("second", ".4")))), end="")
    run      AP
    ------  ---
    a       .31
    second   .4
    """
    widths = table.widths

    def line(i: int, row: tuple[str, ...]) -> str:
        cells = []
        for j, (text, size) in enumerate(zip(row, widths, strict=True)):
            cell = text.ljust(size) if j < table.labels else text.rjust(size)
            cells.append(f"\033[1m{cell}\033[0m" if bold and (i, j) in table.best else cell)
        return "  ".join(cells).rstrip()

    lines = [*([table.title, ""] if table.title else []), line(-1, table.header)]
    lines.append("  ".join("-" * size for size in widths))
    lines += [line(i, row) for i, row in enumerate(table.rows)]
    lines += ["", *table.notes] if table.notes else []
    return "".join(f"{line}\n" for line in lines)


def markdown(table: Grid) -> str:
    """A GitHub-flavoured Markdown table."""

    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"

    marks = tuple("---" if j < table.labels else "---:" for j in range(len(table.header)))
    body = (
        tuple(f"**{cell}**" if (i, j) in table.best else cell for j, cell in enumerate(row))
        for i, row in enumerate(table.rows)
    )
    title = f"**{table.title}**\n\n" if table.title else ""
    notes = "".join(f"\n{note}\n" for note in table.notes)
    return title + line(table.header) + line(marks) + "".join(map(line, body)) + notes


_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}"}
)


def latex(table: Grid) -> str:
    """A LaTeX tabular with booktabs rules; title and notes are comments."""

    def line(i: int, cells: tuple[str, ...]) -> str:
        shown = [cell.translate(_LATEX) for cell in cells]
        marked = [
            rf"\textbf{{{cell}}}" if (i, j) in table.best else cell for j, cell in enumerate(shown)
        ]
        return " & ".join(marked) + r" \\"

    columns = "l" * table.labels + "r" * (len(table.header) - table.labels)
    lines = [
        *([f"% {table.title}"] if table.title else []),
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        line(-1, table.header),
        r"\midrule",
        *(line(i, row) for i, row in enumerate(table.rows)),
        r"\bottomrule",
        r"\end{tabular}",
        *(f"% {note}" for note in table.notes),
    ]
    return "".join(f"{text}\n" for text in lines)


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin-bottom:1rem}"
    "th,td{padding:.25rem .75rem;border-bottom:1px solid #8884;text-align:left}"
    "td.n,th.n{text-align:right}caption{text-align:left;padding-bottom:.5rem}"
)


def html(table: Grid) -> str:
    """A table element; the title is its caption, notes are paragraphs below."""

    def cells(i: int, row: tuple[str, ...], tag: str) -> str:
        parts = []
        for j, cell in enumerate(row):
            kind = ' class="n"' if j >= table.labels else ""
            text = f"<b>{escape(cell)}</b>" if (i, j) in table.best else escape(cell)
            parts.append(f"<{tag}{kind}>{text}</{tag}>")
        return f"<tr>{''.join(parts)}</tr>"

    rows = "\n".join(cells(i, row, "td") for i, row in enumerate(table.rows))
    caption = f"<caption>{escape(table.title)}</caption>\n" if table.title else ""
    notes = "".join(f"\n<p>{escape(note)}</p>" for note in table.notes)
    return (
        f"<table>{caption}<thead>{cells(-1, table.header, 'th')}</thead>\n"
        f"<tbody>\n{rows}\n</tbody></table>{notes}"
    )


def page(tables: Sequence[Grid]) -> str:
    """A page of tables, nothing fetched from anywhere."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<title>Foveal results</title>"
        f"<style>{_STYLE}</style></head>\n<body>{''.join(map(html, tables))}</body></html>\n"
    )


def _each(write: Callable[[Grid], str]) -> Callable[[Sequence[Grid]], str]:
    return lambda tables: "\n".join(map(write, tables))


GRID_FORMATS: dict[str, Callable[[Sequence[Grid]], str]] = {
    "table": _each(plain),
    "markdown": _each(markdown),
    "latex": _each(latex),
    "html": page,
}
"""Format to writer of one or more tables."""
