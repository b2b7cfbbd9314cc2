"""Tables for notebooks and terminals: the first rows of an object, and how many more there are.

All HTML styles are in ``style`` attributes, so that a table neither needs nor changes the page
around it; colours are those of the page, light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any

import polars as pl

from foveal.errors import escape_controls

# Number of rows shown of a long list, and of characters shown of a cell.
ROWS, _LONGEST = 10, 80
_BOX = "overflow-x:auto;max-width:100%;color:inherit"
_TABLE = (
    "border-collapse:collapse;font-variant-numeric:tabular-nums;color:inherit;"
    "background:transparent;margin:.3em 0"
)
_CELL = "padding:.15em .7em;border-bottom:1px solid #8886;white-space:pre"
_MARK = "display:inline-block;line-height:0;text-align:left"
_SIDES = ("left", "right")


def table(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Collection[int] = (),
    bold: Collection[tuple[int, int]] = (),
    marks: Mapping[tuple[int, int], str] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Return an HTML table with a title above and notes below it.

    Texts are not yet escaped. `numbers` are the right-aligned columns; `bold` lists cells, and
    `marks` has superscripts of cells, each given as (row, column).

    >>> shown = table("two & two", ["run", "AP"], [["<a>", "0.5"]], numbers=[1], notes=["done"])
    >>> "two &amp; two" in shown, "&lt;a&gt;" in shown, "done" in shown
    (True, True, True)
    """
    raised = marks or {}
    longest: dict[int, int] = {}
    for (_, j), mark in raised.items():
        longest[j] = max(longest.get(j, 0), len(mark))

    def line(i: int, row: Sequence[str], tag: str) -> str:
        cells = []
        for j, text in enumerate(row):
            inner = escape(_shorten(text))
            inner = f"<b>{inner}</b>" if (i, j) in bold else inner
            if width := longest.get(j):  # the same for every cell, so that numbers stay aligned
                mark = escape(raised.get((i, j), ""))
                inner += f'<sup style="{_MARK};width:{0.6 * width:.1f}em">{mark}</sup>'
            style = f"text-align:{_SIDES[j in numbers]};{_CELL}"
            cells.append(f'<{tag} style="{style}">{inner}</{tag}>')
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line(i, row, "td") for i, row in enumerate(rows))
    below = "".join(f'<div style="opacity:.8">{escape(note)}</div>' for note in notes if note)
    return (
        f'<div style="{_BOX}"><div><b>{escape(title)}</b></div><table style="{_TABLE}">'
        f"<thead>{line(-1, header, 'th')}</thead><tbody>{body}</tbody></table>{below}</div>"
    )


def plain_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, notes: Sequence[str] = ()
) -> str:
    """Return a table for a terminal, the first column left-aligned, the others right-aligned.

    >>> print(plain_table(["run", "AP"], [["a", "0.5000"]]))
    run      AP
    a    0.5000
    """
    lines = [[escape_controls(text) for text in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in lines
    ]
    return "\n".join([*shown, *filter(None, notes)])


def frame(title: str, rows: pl.DataFrame, what: str, *, notes: Sequence[str] = ()) -> str:
    """Return an HTML table of the first rows of a frame; `what` names the rows."""
    head = rows.head(ROWS)
    numbers = [j for j, kind in enumerate(head.dtypes) if kind.is_numeric()]
    cells = [[_format_value(value) for value in row] for row in head.iter_rows()]
    return table(
        title, head.columns, cells, numbers=numbers, notes=(left_out(len(rows), what), *notes)
    )


def left_out(total: int, what: str, shown: int = ROWS) -> str:
    """Return a note on the number of rows not shown; empty if all are shown.

    >>> left_out(1500, "results"), left_out(3, "results")
    ('and 1,490 more results', '')
    """
    return f"and {total - shown:,} more {what}" if total > shown else ""


def _shorten(text: str) -> str:
    """Return a text on one line, shortened if it is long."""
    line = escape_controls(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


def _format_value(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "\N{EN DASH}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
