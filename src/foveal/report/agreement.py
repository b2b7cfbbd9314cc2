"""Agreement between assessors for reading and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from foveal.analysis.agreement import COUNTS, FIGURES, Agreement
from foveal.analysis.agreement_coefficients import REACH
from foveal.errors import counted
from foveal.formats.result_files import separated
from foveal.model.run import ALL
from foveal.report.grids import Grid

__all__ = ["agreement_data", "agreement_grids", "agreement_rows"]

Row = tuple[str, str, str, str, str, float | None]

_TEXT = {
    "topics": "topics",
    "documents": "docs",
    "alone": "alone",
    "observed": "observed",
    "kappa": "kappa",
    "f1": "F1",
    "jaccard": "Jaccard",
    "alpha": "alpha",
    "doc_observed": "doc obs.",
    "doc_kappa": "doc kappa",
}
_ENTRY = {
    "bep_documents": "docs",
    "bep_mean": "mean",
    "bep_median": "median",
    **{f"bep_{reach}": f"<={reach}" for reach in REACH},
}
_GRADES = {"elements": "elements", "grade_kappa": "kappa"}


def agreement_grids(found: Agreement, *, per_topic: bool = False) -> list[Grid]:
    """Tables of text and documents, of best entry points, and of grades where there are any."""
    whole = found.frame.filter(found.frame["topic"].is_null())
    grids = [
        _grid(
            found,
            _TEXT,
            f"Agreement of {len(found.assessors)} assessors on text and documents",
            (
                "docs: judged by both (all: by two or more); alone: by one, of topics both judged.",
                "observed, kappa, F1, Jaccard: of characters; alpha: Krippendorff's, of passages.",
                *_fewer(found, _TEXT),
            ),
            per_topic=per_topic,
        )
    ]
    if whole["bep_documents"].sum():
        title = "Best entry points: characters apart, and the share of documents within"
        grids.append(_grid(found, _ENTRY, title, tuple(_fewer(found, _ENTRY)), per_topic=per_topic))
    if whole["elements"].sum():
        title = "Grades of elements: kappa with linear weights"
        grids.append(
            _grid(found, _GRADES, title, tuple(_fewer(found, _GRADES)), per_topic=per_topic)
        )
    return grids


def _grid(
    found: Agreement,
    columns: Mapping[str, str],
    title: str,
    notes: tuple[str, ...],
    *,
    per_topic: bool,
) -> Grid:
    lines = []
    rows = found.rows(per_topic=per_topic)
    if len(found.averaged) == 2:  # of one pair and of all: the same twice
        rows = rows.filter(rows["first"].is_not_null())
    for row in rows.iter_rows(named=True):
        who = ALL if row["first"] is None else f"{row['first']} - {row['second']}"
        where = row["over"] if row["topic"] is None else row["topic"]
        cells = (_cell(name, row[name]) for name in columns)
        lines.append((who, where, *cells))
    header = ("assessors", "topic" if per_topic else "over", *columns.values())
    return Grid(header, tuple(lines), labels=2, title=title, notes=notes)


def _fewer(found: Agreement, columns: Mapping[str, str]) -> Iterator[str]:
    """Name the figures whose mean over all assessors lacks topics: those without a value."""
    row = found.averaged.row(-1, named=True)
    topics = int(found.value("topics"))
    fewer = [
        f"{label} {row[name]} of {counted(topics, 'topic')}"
        for name, label in columns.items()
        if row.get(name, topics) < topics
    ]
    if fewer:
        yield f"Topics without a value are not in the means of all assessors: {', '.join(fewer)}."


def _cell(name: str, value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    if name in COUNTS:
        return str(value)
    return f"{value:.1f}" if name in ("bep_mean", "bep_median") else f"{value:.4f}"


def agreement_rows(found: Agreement, *, per_topic: bool = False) -> Iterator[Row]:
    """Tidy rows: the two assessors, the topic, what the row is over, figure, value.

    ``all`` stands for all topics and for all assessors.
    """
    for row in found.rows(per_topic=per_topic).iter_rows(named=True):
        who = (row["first"] or ALL, row["second"] or ALL)
        for name in (*COUNTS, *FIGURES):
            value = math.nan if row[name] is None else row[name]
            yield *who, row["topic"] or ALL, row["over"], name, value


def agreement_data(found: Agreement, form: str, *, per_topic: bool = False) -> str:
    """The tidy rows as tsv or csv."""
    header = ("first", "second", "topic", "over", "figure", "value")
    return separated(header, agreement_rows(found, per_topic=per_topic), form)
