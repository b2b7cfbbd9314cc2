"""What became of judged spans, for reading and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foveal.analysis.anchors import EXACT, KINDS, NO_QUOTE, Anchors
from foveal.errors import counted
from foveal.formats.result_files import separated
from foveal.report.grids import Grid

__all__ = ["anchor_data", "anchor_grids"]

_COLUMNS = (
    "file",
    "line",
    "topic",
    "doc",
    "start",
    "end",
    "kind",
    "now_start",
    "now_end",
    "shift",
    "similarity",
    "note",
)
_HASH = {None: "-", True: "same", False: "other"}
_PLACES = 4


def anchor_data(found: Anchors, form: str) -> str:
    """A row for each span, as tsv or csv; ``none`` where there is nothing to tell."""
    rows = ([_plain(row[name]) for name in _COLUMNS] for row in found.rows())
    return separated(_COLUMNS, rows, form)


def _plain(value: Any) -> Any:
    """Names of files and topics may hold what a field of tsv cannot."""
    return " ".join(value.split()) if isinstance(value, str) else value


def anchor_grids(found: Anchors) -> list[Grid]:
    """How many spans of each kind, the drift of documents, and every span that is not exact."""
    counts = found.counts
    notes = [] if not found.unchecked else [_unchecked(found)]
    grids = [
        Grid(
            ("spans", *KINDS),
            ((str(len(found.found)), *(str(counts[kind]) for kind in KINDS)),),
            labels=0,
            title="Gold spans and the text they quote",
            notes=tuple(notes),
        )
    ]
    drifted = tuple(_drifted(found))
    if drifted:
        columns = ("document", "length", "hash", "spans", *KINDS, "shift")
        title = "Documents with spans that are not exact, or with another text than was indexed"
        grids.append(Grid(columns, drifted, title=title))
    rows = tuple(_rows(found))
    if rows:
        header = ("read at", "topic", "document", "span", "is", "now", "")
        grids.append(Grid(header, rows, labels=3, title="Spans that are not exact"))
    return grids


def _unchecked(found: Anchors) -> str:
    """What was not checked, said so that nobody takes it for checked."""
    spans = counted(found.unchecked, "span")
    return f"Only the offsets of {spans} could be checked, without a quote; --quote adds them."


def _drifted(found: Anchors) -> Iterator[tuple[str, ...]]:
    for row in found.drift():
        shifts = row["shifts"]
        beyond = row["spans"] - row[EXACT] - row[NO_QUOTE] + row["outside"]
        if not beyond and row["as_indexed"] is not False and row["length"] is not None:
            continue
        span = "-" if not shifts else f"{shifts[0]:+d}" if len(shifts) == 1 else _between(shifts)
        length = "not there" if row["length"] is None else str(row["length"])
        kinds = (str(row[kind]) for kind in KINDS)
        yield row["doc"], length, _HASH[row["as_indexed"]], str(row["spans"]), *kinds, span


def _between(shifts: list[int]) -> str:
    return f"{shifts[0]:+d} to {shifts[-1]:+d}"


def _rows(found: Anchors) -> Iterator[tuple[str, ...]]:
    for row, own in zip(found.rows(), found.found, strict=True):
        if own.kind == EXACT or (own.kind == NO_QUOTE and own.places):
            continue
        now = ", ".join(f"[{a},{b})" for a, b in own.places[:_PLACES]) or "-"
        now += ", ..." if len(own.places) > _PLACES else ""
        like = [] if own.similarity is None else [f"similarity {own.similarity:.2f}"]
        yield (
            f"{row['file']}:{row['line']}",
            row["topic"],
            row["doc"],
            f"[{row['start']},{row['end']})",
            own.kind,
            now,
            "; ".join([*like, *([own.note] if own.note else [])]),
        )
