"""Tables as plain data, and the ways to write them: terminal, Markdown, LaTeX, HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from math import isnan

from foveal._version import __version__
from foveal.errors import escape_controls

TABLE_FORMATS = ("table", "markdown", "latex", "html")
PAPER_FORMATS = ("markdown", "latex")
Place = tuple[int, int]  # row and column
LONGEST = 80  # characters of a cell in a notebook


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    best: frozenset[Place] = frozenset()
    """Cells in bold."""
    labels: int = 1
    """Number of leading columns that are left-aligned; the others are numbers."""
    title: str = ""
    notes: tuple[str, ...] = ()
    """Sentences below the table."""
    marks: Mapping[Place, str] = field(default_factory=dict)
    """Signs after cells, raised where the format can do that."""
    name: str = ""
    """Label by which a paper refers to the table; by default the beginning of the title."""

    @property
    def width(self) -> int:
        """Width in a terminal, in characters."""
        columns = zip(*_lay_out(self), strict=True)
        return sum(2 + max(map(len, column)) for column in columns) - 2

    def transpose(self) -> Table:
        """Return the table with columns as rows: measures that do not fit side by side."""
        columns = list(zip(self.header, *self.rows, strict=True))
        labels, values = columns[: self.labels], columns[self.labels :]
        head = [" ".join(parts) for parts in zip(*labels, strict=True)]
        return replace(
            self,
            header=("measure", *head[1:]),
            rows=tuple(values),
            best=frozenset((j - self.labels, i + 1) for i, j in self.best),
            labels=1,
            marks={(j - self.labels, i + 1): mark for (i, j), mark in self.marks.items()},
        )

    def number_columns(self) -> Table:
        """Return a matrix, whose rows and columns have the same names, with numbered columns.

        Return any other table unchanged.
        """
        names, columns = [row[0] for row in self.rows], self.header[1:]
        if len(columns) < 2 or not {*columns[1:]} <= {*names}:
            return self
        numbers = {name: i for i, name in enumerate(dict.fromkeys((*columns, *names)), 1)}
        note = f"Column 1 is {columns[0]}; the others are numbered like the rows."
        return replace(
            self,
            header=(self.header[0], *(str(numbers[name]) for name in columns)),
            rows=tuple((f"{numbers[row[0]]} {row[0]}", *row[1:]) for row in self.rows),
            notes=self.notes if columns[0] in names else (note, *self.notes),
        )

    def shorten(self, rows: int, what: str) -> Table:
        """Return the first rows, with a note on the number of the others."""
        if len(self.rows) <= rows:
            return self
        more = f"and {len(self.rows) - rows:,} more {what}"
        return replace(self, rows=self.rows[:rows], notes=(more, *self.notes))


def format_cell(value: object, digits: int = 4) -> str:
    """Return a cell: a fraction with so many digits, and ``-`` for an unknown value."""
    if isinstance(value, float):
        return "-" if isnan(value) else f"{value:.{digits}f}"
    return "-" if value is None else str(value)


def format_tables(tables: Sequence[Table], form: str, *, bold: bool = False) -> str:
    """Return tables as text of one of `TABLE_FORMATS`; `bold` is for terminals.

    >>> print(format_tables([Table(("run", "AP"), (("a", ".31"), ("second", ".4")))], "table"))
    run      AP
    ------  ---
    a       .31
    second   .4
    <BLANKLINE>
    """
    if form == "latex":
        return _to_latex(tables)
    if form == "html":
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="generator" content="Foveal {__version__}">'
            f"<title>Foveal results</title><style>{_STYLE}</style></head>\n"
            f"<body>{''.join(map(to_html, tables))}</body></html>\n"
        )
    if form == "markdown":
        return "\n".join(map(_to_markdown, tables))
    return "\n".join(_to_plain(table, bold=bold) for table in tables)


def _measure_marks(marks: Mapping[Place, str]) -> dict[int, int]:
    """Return the length of the longest mark of each column that has marks."""
    room: dict[int, int] = {}
    for (_, j), mark in marks.items():
        room[j] = max(room.get(j, 0), len(mark))
    return room


# -- terminal --------------------------------------------------------------------------------------


def _lay_out(table: Table) -> list[list[str]]:
    """Return header and rows with marks after cells, control characters escaped."""
    lines = [list(map(escape_controls, row)) for row in (table.header, *table.rows)]
    for j, size in _measure_marks(table.marks).items():
        for i, line in enumerate(lines[1:]):
            line[j] += table.marks.get((i, j), "").ljust(size)
    return lines


def _to_plain(table: Table, *, bold: bool) -> str:
    """Write a table for a terminal."""
    lines = _lay_out(table)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for i, line in enumerate(lines, start=-1):
        for j, (text, size) in enumerate(zip(line, widths, strict=True)):
            cell = text.ljust(size) if j < table.labels else text.rjust(size)
            line[j] = f"\033[1m{cell}\033[0m" if bold and (i, j) in table.best else cell
    shown = ["  ".join(line).rstrip() for line in lines]
    shown.insert(1, "  ".join("-" * size for size in widths))
    if table.title:
        shown = [escape_controls(table.title), "", *shown]
    if table.notes:
        shown += ["", *(escape_controls(note, keep="\n") for note in table.notes)]
    return "".join(f"{line}\n" for line in shown)


# -- Markdown --------------------------------------------------------------------------------------

_MARKDOWN = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_[]|"}
    # Not every Markdown knows a backslash before these; all know references to characters.
    | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;", "$": "&#36;"}
)


def to_one_line(text: str) -> str:
    """Return a text with line breaks, tabs and control characters as blanks."""
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", text)


def escape_markdown(text: str) -> str:
    r"""Escape a text so that Markdown shows it unchanged, also in a cell or on a line of its own.

    >>> print(escape_markdown("a_b|c <d> *e*"), escape_markdown("+ better"))
    a\_b\|c &lt;d&gt; \*e\* \+ better
    """
    return re.sub(r"^([-+#])(?=\s|#|$)", r"\\\1", to_one_line(text).translate(_MARKDOWN))


def _typeset(text: str) -> str:
    """Return a number with a real minus sign, or an en dash for an undefined one."""
    if text.strip() == "-":
        return "\N{EN DASH}"
    return re.sub(r"^-(?=[0-9.<])", "\N{MINUS SIGN}", text.strip())


def _typeset_cells(
    table: Table, escape: Callable[[str], str], bold: str, raised: str
) -> Iterator[list[str]]:
    """Yield header and rows for print: the best values as in `bold`, marks as in `raised`."""
    for i, row in enumerate((table.header, *table.rows), start=-1):
        cells = []
        for j, text in enumerate(row):
            shown = escape(_typeset(text) if i >= 0 and j >= table.labels else text)
            shown = bold % shown if (i, j) in table.best else shown
            mark = table.marks.get((i, j), "").strip().replace("-", _MINUS)
            cells.append(shown + (raised % escape(mark) if mark else ""))
        yield cells


def _to_markdown(table: Table) -> str:
    """Write a pipe table for GitHub, pandoc and MkDocs, marks raised."""
    rows = _typeset_cells(table, escape_markdown, "**%s**", "<sup>%s</sup>")
    lines = [f"| {' | '.join(cells)} |\n" for cells in rows]
    rule = ["---" if j < table.labels else "---:" for j in range(len(table.header))]
    lines.insert(1, f"| {' | '.join(rule)} |\n")
    title = f"**{escape_markdown(table.title)}**\n\n" if table.title else ""
    return title + "".join(lines) + "".join(f"\n{escape_markdown(n)}\n" for n in table.notes)


# -- LaTeX -----------------------------------------------------------------------------------------

_MINUS = "\N{MINUS SIGN}"
_ROWS_OF_A_PAGE = 50
_WIDE = 72  # characters of a row that just fit between the margins of an article
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    # In LaTeX's default encoding these three print as other characters.
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    # Babel makes the double quote a command in some languages.
    | {'"': r"\symbol{34}", "`": r"\textasciigrave{}", _MINUS: "$-$"}
    | {"\N{EN DASH}": r"\textendash{}"}
)


_BRANCH = re.compile("[│├└─ ]*[├└]─ ")  # of a tree; each level takes three characters


def escape_latex(text: str) -> str:
    r"""Escape a text so that LaTeX prints it unchanged.

    >>> print(escape_latex("50% of a_b & {c} < \\d"))
    50\% of a\_b \& \{c\} \textless{} \textbackslash{}d
    >>> print(escape_latex("no--dash, no''quote"))
    no-{}-dash, no'{}'quote
    >>> print(escape_latex("│  └─ p[2]"))
    \hspace*{2em}p[2]
    """
    if tree := _BRANCH.match(text):
        return rf"\hspace*{{{len(tree[0]) // 3}em}}{escape_latex(text[tree.end() :])}"
    return re.sub(r"([-',])(?=\1)", r"\1{}", to_one_line(text).translate(_LATEX))


def _to_latex(tables: Sequence[Table]) -> str:
    """Write tables with booktabs rules, each with a label of its own; long ones span pages."""
    is_long = any(len(table.rows) > _ROWS_OF_A_PAGE for table in tables)
    packages = "booktabs,longtable" if is_long else "booktabs"
    written, used = [f"% \\usepackage{{{packages}}}\n"], dict[str, int]()
    for table in tables:
        name = re.sub(r"[^A-Za-z0-9.]+", "-", table.name or table.title.partition(":")[0])
        name = name.strip("-.") or "table"
        used[name] = used.get(name, 0) + 1
        label = name if used[name] == 1 else f"{name}-{used[name]}"
        written.append("".join(f"{line}\n" for line in _list_latex_lines(table, label)))
    return "\n".join(written)


def _list_latex_lines(table: Table, label: str) -> list[str]:
    """Return the lines of a table: title and notes are the caption.

    Marks have a column of their own without space before it, so that numbers stay aligned.
    """
    marked = {j for (_, j), mark in table.marks.items() if mark}
    columns = "".join(
        "l" if j < table.labels else "r@{}l" if j in marked else "r"
        for j in range(len(table.header))
    )
    body, raised = list[str](), r" & \textsuperscript{%s}"
    for cells in _typeset_cells(table, escape_latex, r"\textbf{%s}", raised):
        for j in marked:
            if not body:  # the header
                cells[j] = rf"\multicolumn{{2}}{{c}}{{{cells[j]}}}"
            elif " & " not in cells[j]:
                cells[j] += " & "
        line = " & ".join(cells).replace("&  &", "& &").rstrip()
        # LaTeX takes these at the start of a line for an option of the end of the row before.
        body.append(("{}" if line.startswith(("[", "*")) else "") + line + r" \\")
    opening, body = [r"\toprule", body[0], r"\midrule"], body[1:]
    inner = [rf"\begin{{tabular}}{{{columns}}}", *opening, *body, r"\bottomrule", r"\end{tabular}"]
    if not table.title:
        return inner
    sentences = (
        text if text.endswith((".", ":", ";", "!", "?")) else f"{text}."
        for text in (table.title, *table.notes)
    )
    caption = rf"\caption{{{escape_latex(' '.join(sentences))}}}"
    label = rf"\label{{tab:{label}}}"
    if len(table.rows) <= _ROWS_OF_A_PAGE:
        # Smaller type keeps a wide table on the page.
        size = [r"\scriptsize", r"\setlength{\tabcolsep}{2pt}"] if table.width > _WIDE else []
        return [r"\begin{table}", r"\centering", caption, label, *size, *inner, r"\end{table}"]
    heads = [rf"{caption} {label} \\", *opening, r"\endfirsthead", *opening, r"\endhead"]
    feet = [r"\bottomrule", r"\endfoot"]
    return [rf"\begin{{longtable}}{{{columns}}}", *heads, *feet, *body, r"\end{longtable}"]


# -- HTML ------------------------------------------------------------------------------------------

_STYLE = "body{font:16px/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}"
_BOX = "overflow-x:auto;max-width:100%;color:inherit"
_TABLE = (
    "border-collapse:collapse;font-variant-numeric:tabular-nums;color:inherit;"
    "background:transparent;margin:.3em 0"
)
_CELL = "padding:.15em .7em;border-bottom:1px solid #8886;white-space:pre"
_CAPTION = "text-align:left;font-weight:bold;white-space:nowrap"
_MARK = "display:inline-block;line-height:0;text-align:left"


def to_html(table: Table, *, longest: int | None = None) -> str:
    """Write a table as HTML for a page or a notebook; cells are cut after `longest` characters.

    All styles are in ``style`` attributes, so that the table neither needs nor changes the page
    around it; colours are those of the page, light or dark.
    """
    room = _measure_marks({place: mark.strip() for place, mark in table.marks.items()})
    lines = []
    for i, row in enumerate((table.header, *table.rows), start=-1):
        tag, cells = "th" if i < 0 else "td", []
        for j, text in enumerate(row):
            line = escape_controls(text)
            if longest is not None and len(line) > longest:
                line = f"{line[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"
            inner = f"<b>{escape(line)}</b>" if (i, j) in table.best else escape(line)
            if room.get(j):  # the same width for every cell keeps numbers aligned
                mark = escape(table.marks.get((i, j), "").strip())
                inner += f'<sup style="{_MARK};width:{0.6 * room[j]:.1f}em">{mark}</sup>'
            side = "left" if j < table.labels else "right"
            cells.append(f'<{tag} style="text-align:{side};{_CELL}">{inner}</{tag}>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    title = f'<caption style="{_CAPTION}">{escape(table.title)}</caption>' if table.title else ""
    notes = "".join(f'<div style="opacity:.8">{escape(note)}</div>' for note in table.notes)
    return (
        f'<div style="{_BOX}"><table style="{_TABLE}">{title}<thead>{lines[0]}</thead>\n'
        "<tbody>\n" + "\n".join(lines[1:]) + f"\n</tbody></table>{notes}</div>"
    )
