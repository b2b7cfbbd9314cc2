"""Recall bases to be looked at: a tree per document, and the same for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from foveal._version import __version__
from foveal.analysis.recall_bases import SUMMED, RecallBase
from foveal.errors import UsageError, counted, escape_controls
from foveal.spans import Ints

__all__ = ["BASE_FORMATS", "as_json", "text", "tsv"]

# -- for programs ---------------------------------------------------------------------------------


def _rows(bases: Sequence[RecallBase], *, named: bool) -> pl.DataFrame:
    """The elements of all bases, if wanted with the assessor in front."""
    if not named:
        return pl.concat([base.elements for base in bases])
    return pl.concat(
        base.elements.select(pl.lit(base.assessors).alias("assessor"), "*") for base in bases
    )


def tsv(bases: Sequence[RecallBase], *, named: bool = False) -> str:
    """A row per element, full precision; what is not known is empty."""
    rows = _rows(bases, named=named)
    for name in ("assessor", "doc"):
        for value in rows[name].unique(maintain_order=True) if name in rows.columns else ():
            if set("\t\n\r") & set(value):
                raise UsageError(f"{value!r} cannot be a field of tsv; json can hold it")

    def cell(value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return "" if value is None else str(value)

    lines = ["\t".join(rows.columns)]
    lines += ["\t".join(map(cell, row)) for row in rows.iter_rows()]
    return "".join(f"{line}\n" for line in lines)


def as_json(bases: Sequence[RecallBase], *, named: bool = False) -> str:
    """Return inputs and options of the bases, counts of documents, and a row per element."""
    first = bases[0]
    meta = {
        "version": __version__,
        "topic": first.topic,
        "scale": first.scale,
        "quant": first.quant,
        "base": first.base,
        "tie": first.tie,
        "assessors": "each" if named else first.assessors,
        "exclude_tags": list(first.exclude_tags),
        "docs": list(first.docs),
        "complete": first.complete,
        "inputs": [{"path": path, "sha256": digest} for path, digest in first.inputs],
        "warnings": list(dict.fromkeys(w for base in bases for w in base.warnings)),
    }
    documents = [
        ({"assessor": base.assessors} if named else {}) | counts
        for base in bases
        for counts in base.documents.to_dicts()
    ]
    elements = _rows(bases, named=named).to_dicts()
    for element in elements:
        grade = element["exhaustivity"]
        if isinstance(grade, str) and grade != "?":
            element["exhaustivity"] = int(grade)
    # A line for each row: to be read by people as well, and by tools that work on lines.
    parts = [f' "meta": {json.dumps(meta, ensure_ascii=False)}']
    for name, rows in (("documents", documents), ("elements", elements)):
        inside = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
        parts.append(f' "{name}": [\n{inside}\n ]' if rows else f' "{name}": []')
    return "{\n" + ",\n".join(parts) + "\n}\n"


# -- for people -----------------------------------------------------------------------------------

_BOLD, _DIM = "1", "2"
_GAP = "  "
_BRANCHES = (("├─ ", "└─ ", "│  ", "   "), ("├ ", "└ ", "│ ", "  "), ("├", "└", "│", " "))
"""Child, last child, beside later children, below the last child: from wide to narrow."""
_LEGEND = (
    "ideal: in the ideal recall base",
    "leaf: a relevant path ends here, nothing below is relevant",
)


class _TreeLine(NamedTuple):
    """A line of a tree: an element, or how many were left out below its parent."""

    text: str
    element: int | None


class _Style:
    """Bold and dim text on a terminal, plain text elsewhere."""

    def __init__(self, *, on: bool) -> None:
        self.on = on

    def __call__(self, text: str, code: str) -> str:
        text = escape_controls(text)
        return f"\033[{code}m{text}\033[0m" if self.on and text else text


def text(
    bases: Sequence[RecallBase], *, named: bool = False, width: int = 100, styled: bool = False
) -> str:
    """A tree for each document with counts above it, and a summary of all documents."""
    style = _Style(on=styled)
    parts = [_drawn(base, width, style, named=named) for base in bases]
    if any(len(base.elements) for base in bases):
        # Last, where a terminal stands after a long output.
        parts.append("".join(f"{style(line, _DIM)}\n" for line in _folded(_LEGEND, width)))
    return "\n".join(parts)


def _drawn(base: RecallBase, width: int, style: _Style, *, named: bool) -> str:
    by = f", assessor {escape_controls(base.assessors)}" if named else ""
    if base.note is not None:
        return f"{base.note}{by}\n"
    method = "ideal base" if base.base == "ideal" else f"{base.base} base"
    title = (
        f"topic {escape_controls(base.topic)}{by}: worth by {base.quant}, {method}, tie {base.tie}"
    )
    lines = [style(title, _BOLD)]
    columns = _columns(base)
    room = width - sum(len(_GAP) + size for _, size, _ in columns) - len(_GAP) - len("ideal leaf")
    branches, size = _fitting(base.elements, room)
    first = 0
    for document, count in zip(
        base.documents.iter_rows(named=True),
        base.elements["doc"].rle().struct.field("len"),
        strict=True,
    ):
        rows = slice(first, first + count)
        lines += ["", *_document(base, document, rows, columns, branches, size, style)]
        first += count
    return "".join(f"{line}\n" for line in [*lines, "", *_summary(base, style)])


def _folded(parts: Sequence[str], width: int) -> list[str]:
    """The parts on one line if it holds them."""
    whole = "; ".join(parts)
    return [whole] if len(whole) <= width else list(parts)


Column = tuple[str, int, list[str]]
"""Header, width and cells."""


def _columns(base: RecallBase) -> list[Column]:
    """The columns beside the tree, those that the scale has and that tell something."""
    elements = base.elements
    cells: dict[str, list[str]] = {}
    if base.scale in ("2002", "2003"):
        joined = "" if base.scale == "2002" else ","
        grades = zip(elements["exhaustivity"], elements["specificity"], strict=True)
        name = "grade" if base.scale == "2002" else "e,s"
        cells[name] = [f"{e}{joined}{s}" if e else "-" for e, s in grades]
    elif base.scale == "2005":
        cells["exh"] = elements["exhaustivity"].to_list()
    for name in ("size", "rsize"):
        if elements[name].is_not_null().any():
            cells[name] = ["-" if n is None else str(n) for n in elements[name]]
    if base.scale in ("2005", "2006") and base.quant != "spec":
        cells["spec"] = ["-" if s is None else f"{s:.4f}" for s in elements["specificity"]]
    cells["worth"] = [f"{worth:.4f}" if worth else "-" for worth in elements["worth"]]
    return [(name, max(map(len, [name, *found])), found) for name, found in cells.items()]


def _fitting(elements: pl.DataFrame, room: int) -> tuple[tuple[str, ...], int]:
    """The widest branches with which all trees fit, else the narrowest; the width of the trees."""
    tag = elements["xpath"].str.extract(r"([^/]+)$").str.len_chars().to_numpy()
    above = elements["depth"].to_numpy() - 1
    for branches in _BRANCHES:
        size = int((above * len(branches[0]) + tag).max())
        if size <= room:
            break
    return branches, size


def _document(
    base: RecallBase,
    counts: dict[str, Any],
    rows: slice,
    columns: Sequence[Column],
    branches: tuple[str, ...],
    size: int,
    style: _Style,
) -> Iterator[str]:
    """The lines of one document."""
    noun = "element" if base.complete else "listed element"
    head = (
        f": {counts['relevant']} of {counted(counts['elements'], noun)} worth "
        f"{counts['worth']:.4f}; {counts['ideal']} ideal worth {counts['gain']:.4f}; "
        f"{counted(counts['paths'], 'path')}"
    )
    yield style(escape_controls(counts["doc"]), _BOLD) + head
    titles = "".join(f"{_GAP}{name:>{wide}}" for name, wide, _ in columns)
    yield style(f"{'':{size}}{titles}", _DIM)
    own = base.elements[rows]
    relevant, leaf, ideal = (own[name].to_list() for name in ("relevant", "leaf", "ideal"))
    for line in _tree(own, base.hidden[rows], branches):
        i = line.element
        if i is None:
            yield style(line.text, _DIM)
            continue
        cells = "".join(f"{_GAP}{found[rows.start + i]:>{wide}}" for _, wide, found in columns)
        marks = f"{_GAP}{'ideal' if ideal[i] else '':5} {'leaf' if leaf[i] else ''}"
        drawn = f"{line.text:{size}}{cells}{marks}".rstrip()
        yield style(drawn, _BOLD if ideal[i] else "" if relevant[i] else _DIM)


def _tree(own: pl.DataFrame, hidden: Ints, branches: tuple[str, ...]) -> Iterator[_TreeLine]:
    """The elements of one document with their branches; what is left out comes last."""
    child, last, beside, below = branches
    depth, aside = own["depth"].to_list(), hidden.tolist()
    label = own["xpath"].str.extract(r"([^/]+)$").to_list()
    left = [int(count > 0) for count in aside]  # lines that are to come below each element
    path: list[int] = []  # the element and those above it
    for i, level in enumerate(depth):
        path = [*path[: level - 1], i]
        if level > 1:
            left[path[-2]] += 1

    def branch(path: Sequence[int]) -> str:
        """Return the branches before a line below these elements, and use up one of their lines."""
        if not path:
            return ""
        left[path[-1]] -= 1
        before = "".join(beside if left[above] else below for above in path[:-1])
        return before + (child if left[path[-1]] else last)

    path = []
    for i, level in enumerate([*depth, 1]):
        while len(path) >= level:
            if aside[path[-1]]:
                said = f"... {counted(aside[path[-1]], 'element')} without relevance"
                yield _TreeLine(branch(path) + said, None)
            path.pop()
        if i < len(depth):
            yield _TreeLine(branch(path) + label[i], i)
            path.append(i)


def _summary(base: RecallBase, style: _Style) -> list[str]:
    """A table of the documents, and a line for all of them."""
    counts = base.documents
    total = counts.select(pl.lit("all").alias("doc"), pl.col(SUMMED).sum())
    table = pl.concat([counts, total])
    cells = [
        [f"{value:.4f}" if isinstance(value, float) else escape_controls(str(value))
         for value in row]
        for row in table.iter_rows()
    ]  # fmt: skip
    header = ["document", *SUMMED]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]

    def line(row: Sequence[str]) -> str:
        first = row[0].ljust(widths[0])
        return _GAP.join([first, *map(str.rjust, row[1:], widths[1:])]).rstrip()

    lines = [line(header), _GAP.join("-" * size for size in widths), *map(line, cells)]
    return [style(lines[0], _DIM), style(lines[1], _DIM), *lines[2:-1], style(lines[-1], _BOLD)]


BASE_FORMATS: dict[str, Callable[..., str]] = {"text": text, "json": as_json, "tsv": tsv}
"""Format to writer, ``writer(bases, named=...)``: whether to name the assessor of each base. Text
also takes ``width`` and ``styled``."""
