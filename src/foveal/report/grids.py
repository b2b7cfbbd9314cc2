"""A table as text, and the ways to write it: plain, Markdown, LaTeX, HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape

from foveal.errors import escape_controls
from foveal.report.escaping import label, latex_text, markdown_paragraph, markdown_text

__all__ = ["GRID_FORMATS", "PAPER_FORMATS", "Grid", "html", "latex", "markdown", "page", "plain"]

Place = tuple[int, int]
"""Row and column."""


@dataclass(frozen=True)
class Grid:
    """A table as text: header, rows of cells, and which cells are the best of their column."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    best: frozenset[Place] = frozenset()
    """Row and column of the cells in bold."""
    labels: int = 1
    """How many of the first columns are labels."""
    title: str = ""
    notes: tuple[str, ...] = ()
    """Sentences that stand below the table."""
    marks: Mapping[Place, str] = field(default_factory=dict)
    """Signs beside cells, raised where that is possible; empty ones keep their room."""
    apart: bool = False
    """Whether plain text has a column for the marks, instead of marks right behind the cells."""
    name: str = ""
    """What a paper refers to the table by; else the beginning of the title."""

    def escaped(self) -> Grid:
        """The table with control characters escaped, fit for a terminal."""
        return replace(
            self,
            header=tuple(map(escape_controls, self.header)),
            rows=tuple(tuple(map(escape_controls, row)) for row in self.rows),
            title=escape_controls(self.title),
            notes=tuple(escape_controls(note, keep="\n") for note in self.notes),
        )

    @property
    def marked(self) -> frozenset[int]:
        """The columns with marks."""
        return frozenset(j for _, j in self.marks)

    def transposed(self) -> Grid:
        """Columns as rows, for results with more measures than fit side by side."""
        columns = list(zip(self.header, *self.rows, strict=True))
        labels, values = columns[: self.labels], columns[self.labels :]
        head = [" ".join(parts) for parts in zip(*labels, strict=True)]

        def turned(place: Place) -> Place:
            return place[1] - self.labels, place[0] + 1

        return replace(
            self,
            header=("measure", *head[1:]),
            rows=tuple(tuple(row) for row in values),
            best=frozenset(map(turned, self.best)),
            labels=1,
            marks={turned(place): mark for place, mark in self.marks.items()},
        )

    def laid_out(self) -> Grid:
        """The table with its marks as text.

        >>> table = Grid(("run", "AP"), (("a", ".3"), ("b", ".4")), marks={(1, 1): "*"})
        >>> table.laid_out().rows
        (('a', '.3 '), ('b', '.4*'))
        """
        if not self.marks:
            return self
        width = len(self.header)
        rows = range(len(self.rows))
        columns = [[row[j] for row in self.rows] for j in range(width)]
        header: list[str] = []
        found: list[list[str]] = []
        place: dict[int, int] = {}
        for j in range(width):
            marks = [self.marks.get((i, j), "") for i in rows]
            place[j] = len(header)
            header.append(self.header[j])
            if j not in self.marked:
                found.append(columns[j])
            elif self.apart:
                header.append("")
                found += [columns[j], marks]
            else:
                room = max(1, *map(len, marks))
                found.append(
                    [f"{cell}{mark:{room}}" for cell, mark in zip(columns[j], marks, strict=True)]
                )
        return replace(
            self,
            header=tuple(header),
            rows=tuple(zip(*found, strict=True)),
            best=frozenset((i, place[j]) for i, j in self.best),
            marks={},
        )

    @property
    def widths(self) -> list[int]:
        """Of the columns in plain text, in characters."""
        table = self.laid_out()
        return [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]

    @property
    def width(self) -> int:
        widths = self.widths
        return sum(widths) + 2 * (len(widths) - 1)


def plain(table: Grid, *, bold: bool = False) -> str:
    """A table for the terminal, control characters of names escaped.

    >>> print(plain(Grid(("run", "AP"), (("a", ".31"), ("second", ".4")))), end="")
    run      AP
    ------  ---
    a       .31
    second   .4
    """
    table = table.escaped().laid_out()
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


def _number(text: str) -> str:
    r"""A cell with a minus sign that is as wide as the plus, or a dash where nothing is defined.

    >>> [_number(text).encode("ascii", "namereplace") for text in ("-0.5", "+0.5", "-")]
    [b'\\N{MINUS SIGN}0.5', b'+0.5', b'\\N{EN DASH}']
    """
    if text.strip() == "-":
        return "\N{EN DASH}"
    return re.sub(r"^-(?=[0-9.<])", "\N{MINUS SIGN}", text.strip())


def _mark(text: str) -> str:
    return text.strip().replace("-", "\N{MINUS SIGN}")


# -- Markdown ----------------------------------------------------------------------------------


def markdown(table: Grid) -> str:
    r"""A pipe table as GitHub, pandoc and MkDocs read it, marks raised.

    >>> table = Grid(("run", "AP"), (("a_1", ".3"), ("b", ".4")), frozenset({(1, 1)}))
    >>> print(markdown(replace(table, marks={(1, 1): "+"})), end="")
    | run | AP |
    | --- | ---: |
    | a\_1 | .3 |
    | b | **.4**<sup>+</sup> |
    """

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |\n"

    def cell(i: int, j: int, text: str) -> str:
        shown = markdown_text(text if j < table.labels else _number(text))
        shown = f"**{shown}**" if (i, j) in table.best else shown
        mark = table.marks.get((i, j))
        return f"{shown}<sup>{markdown_text(_mark(mark))}</sup>" if mark else shown

    marks = ["---" if j < table.labels else "---:" for j in range(len(table.header))]
    body = [
        line([cell(i, j, text) for j, text in enumerate(row)]) for i, row in enumerate(table.rows)
    ]
    title = f"**{markdown_text(table.title)}**\n\n" if table.title else ""
    notes = "".join(f"\n{markdown_paragraph(note)}\n" for note in table.notes)
    return title + line([*map(markdown_text, table.header)]) + line(marks) + "".join(body) + notes


# -- LaTeX -------------------------------------------------------------------------------------

_PAGE = 50
"""Rows that a page has room for."""


def latex(table: Grid, *, named: str | None = None) -> str:
    r"""A LaTeX table with booktabs rules: caption, label, numbers in line, marks raised.

    The title and the notes are the caption; without a title it is the tabular alone. A table that
    is longer than a page goes over several.

    >>> table = Grid(("run", "AP"), (("a_1", ".3"), ("b", ".4")), frozenset({(1, 1)}))
    >>> print(latex(replace(table, marks={(1, 1): "+"})), end="")
    \begin{tabular}{lr@{}l}
    \toprule
    run & \multicolumn{2}{c}{AP} \\
    \midrule
    a\_1 & .3 & \\
    b & \textbf{.4} & \textsuperscript{+} \\
    \bottomrule
    \end{tabular}
    """
    # Marks have a column of their own without space before it: numbers stay in line.
    marked = {j for (_, j), mark in table.marks.items() if mark}
    columns = "".join(
        "l" if j < table.labels else "r@{}l" if j in marked else "r"
        for j in range(len(table.header))
    )
    head = [
        rf"\multicolumn{{2}}{{c}}{{{latex_text(text)}}}" if j in marked else latex_text(text)
        for j, text in enumerate(table.header)
    ]
    body = [_latex_row(_latex_cells(table, i, marked)) for i in range(len(table.rows))]
    opening = [r"\toprule", _latex_row(head), r"\midrule"]
    if not table.title:
        return _lines(_tabular(columns, [*opening, *body, r"\bottomrule"]))
    caption = latex_text(" ".join(map(_sentence, (table.title, *table.notes))))
    caption = rf"\caption{{{caption}}}"
    name = rf"\label{{tab:{named or _name(table)}}}"
    if len(table.rows) <= _PAGE:
        inner = _tabular(columns, [*opening, *body, r"\bottomrule"])
        head_lines = [r"\begin{table}", r"\centering", caption, name]
        return _lines([*head_lines, *inner, r"\end{table}"])
    return _lines(
        [
            rf"\begin{{longtable}}{{{columns}}}",
            rf"{caption} {name} \\",
            *opening,
            r"\endfirsthead",
            *opening,
            r"\endhead",
            r"\bottomrule",
            r"\endfoot",
            *body,
            r"\end{longtable}",
        ]
    )


def _tabular(columns: str, lines: Sequence[str]) -> list[str]:
    return [rf"\begin{{tabular}}{{{columns}}}", *lines, r"\end{tabular}"]


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _latex_cells(table: Grid, i: int, marked: set[int]) -> list[str]:
    cells = []
    for j, text in enumerate(table.rows[i]):
        shown = latex_text(text if j < table.labels else _number(text))
        cells.append(rf"\textbf{{{shown}}}" if (i, j) in table.best else shown)
        if j in marked:
            mark = latex_text(_mark(table.marks.get((i, j), "")))
            cells.append(rf"\textsuperscript{{{mark}}}" if mark else "")
    return cells


def _latex_row(cells: Sequence[str]) -> str:
    row = " & ".join(cells).replace("&  &", "& &").rstrip()
    # After the end of a row LaTeX takes these for an option of it.
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def _sentence(text: str) -> str:
    return text if text.endswith((".", ":", ";", "!", "?")) else f"{text}."


def _name(table: Grid) -> str:
    return label(table.name or table.title.partition(":")[0]) or "table"


def _latex_tables(tables: Sequence[Grid]) -> str:
    """Tables one after the other, each with a label of its own."""
    used: dict[str, int] = {}
    long = any(len(table.rows) > _PAGE for table in tables)
    written = ["% \\usepackage{booktabs,longtable}\n" if long else "% \\usepackage{booktabs}\n"]
    for table in tables:
        name = _name(table)
        used[name] = used.get(name, 0) + 1
        named = name if used[name] == 1 else f"{name}-{used[name]}"
        written.append(latex(table, named=named))
    return "\n".join(written)


# -- HTML --------------------------------------------------------------------------------------

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin-bottom:1rem}"
    "th,td{padding:.25rem .75rem;border-bottom:1px solid #8884;text-align:left}"
    "td.n,th.n{text-align:right}caption{text-align:left;padding-bottom:.5rem}"
    "sup{display:inline-block;line-height:0;text-align:left}"
)


def html(table: Grid) -> str:
    """A table element; the title is its caption, notes are paragraphs below."""
    longest: dict[int, int] = {}
    for (_, j), sign in table.marks.items():
        longest[j] = max(longest.get(j, 0), len(sign.strip()))

    def cells(i: int, row: tuple[str, ...], tag: str) -> str:
        parts = []
        for j, cell in enumerate(row):
            kind = ' class="n"' if j >= table.labels else ""
            text = f"<b>{escape(cell)}</b>" if (i, j) in table.best else escape(cell)
            if room := longest.get(j):  # as much for every cell, so that numbers stay in line
                mark = escape(table.marks.get((i, j), "").strip())
                text += f'<sup style="width:{0.6 * room:.1f}em">{mark}</sup>'
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
    "latex": _latex_tables,
    "html": page,
}
"""Format to writer of one or more tables."""
PAPER_FORMATS = ("markdown", "latex")
"""Formats of tables for papers."""
