"""Judgements from Python objects: spans of documents, as mappings, rows or data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal.adapters.frames import frame_of, frame_rows
from foveal.adapters.frameworks import USUAL
from foveal.adapters.placing import Texts, defects_of, placed
from foveal.adapters.rows import DocOf, is_row, rows_of, unlisted
from foveal.errors import UsageError, counted, some
from foveal.formats.checks import check_lengths
from foveal.model import Judgements, Provenance

__all__ = ["judgements_of", "judgements_or_files"]

_COLUMNS = ("doc", "start", "end", "grade", "text", "assessor", "length", "bep", "sets")
_KEYS = ("topic", "doc", "assessor")
_ENTRY = (
    "spans",
    *(name for c in ("length", "bep", "sets", "assessor", "grade") for name in USUAL[c]),
)
"""What can be told of a document."""


def judgements_of(
    objects: Any,
    *,
    name: str = "judgements",
    doc: DocOf = None,
    texts: Mapping[str, str] | None = None,
) -> Judgements:
    """Judgements from Python objects.

    Parameters
    ----------
    objects : mapping, data frame or sequence of rows
        ``{topic: [span, ...]}`` where a span is a tuple ``(doc, start, end)`` with the grade as
        an optional fourth, a dict, which may name the evidence ``sets`` it belongs to, or an
        object of a framework; or ``{topic: {doc: [(start, end), ...]}}``, where an empty list is
        a document judged not relevant and a dict of ``spans``, ``length`` and ``bep`` may stand
        for a list. Or a frame of Polars or pandas, or a list of dicts or tuples that begin with
        the topic. Rows without start and end are documents judged not relevant, unless no row has
        them: then ``grade`` judges whole documents.
    name : str
        What messages call them.
    doc : str or callable, optional
        The field that tells the document, or a function of the object.
    texts : mapping of str to str, optional
        The text of each document. It gives their lengths, spans that quote it are compared with
        it, and those that have nothing but the quote are placed by it.

    Examples
    --------
    >>> judgements_of({"1": [("d1", 10, 40)], "2": {"d1": [], "d2": [(0, 9)]}})
    <Judgements: 2 topics, 3 documents judged, 2 relevant>
    >>> truth = judgements_of({"1": [{"doc": "d1", "quote": "ferry"}]}, texts={"d1": "a ferry"})
    >>> truth.passages(0), truth.length.tolist()
    ([(2, 7)], [7])
    """
    given = Texts(texts)
    frame = frame_of(objects)
    notes: list[str] = []
    if frame is not None:
        if callable(doc):
            raise UsageError("doc is a function; for a frame it is the name of a column")
        return _judged(frame_rows(frame, _COLUMNS, doc), name, given, notes)
    if isinstance(objects, Mapping):
        empty = [str(topic) for topic, own in objects.items() if _is_empty(own)]
        if empty:
            notes.append(f"topics without any judgement, left out: {some(empty)}")
        return _judged(rows_of(_by_document(objects), _COLUMNS, name, doc), name, given, notes)
    if isinstance(objects, (str, bytes)) or not isinstance(objects, Iterable):
        raise UsageError(
            f"{type(objects).__name__} cannot be judgements; expected {{topic: [span, ...]}}, a "
            "data frame, or rows that name their topic"
        )
    rows = list(objects)
    if not all(is_row(row) for row in rows):
        raise UsageError(
            "spans without topics; expected {topic: [span, ...]}, or rows that name their topic: "
            "dicts with a field topic, tuples (topic, doc, start, end)"
        )
    pairs = ((None, row) for row in rows)
    return _judged(rows_of(pairs, _COLUMNS, name, doc), name, given, notes)


def judgements_or_files(given: Any) -> Judgements | str | Path | Sequence[str | Path]:
    """Judgements and names of files as they are; other objects made into judgements.

    >>> judgements_or_files("qrels.jsonl")
    'qrels.jsonl'
    >>> judgements_or_files({"1": [("d1", 10, 40)]})
    <Judgements: 1 topics, 1 documents judged, 1 relevant>
    """
    if isinstance(given, (Judgements, str, Path)):
        return given
    if isinstance(given, Sequence) and all(isinstance(one, (str, Path)) for one in given):
        return given
    return judgements_of(given)


def _is_empty(own: Any) -> bool:
    return isinstance(own, (list, tuple, Mapping)) and not own


def _by_document(objects: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs of topic and span, where a topic has a list of spans or a list for each document."""
    for topic, own in objects.items():
        if not isinstance(own, Mapping):
            yield from unlisted({topic: own})
            continue
        for doc, entry in own.items():
            about = dict(entry) if isinstance(entry, Mapping) else {"spans": entry}
            unknown = [key for key in about if key not in _ENTRY]
            if unknown:
                # A misspelt "spans" would be a document that was judged not relevant.
                raise UsageError(
                    f"topic {topic!r}, document {doc!r} has the field {unknown[0]!r}; expected "
                    f"{', '.join(_ENTRY)}"
                )
            spans = about.pop("spans", ())
            if isinstance(spans, str) or not isinstance(spans, Iterable):
                raise UsageError(
                    f"topic {topic!r}, document {doc!r} has {spans!r}; expected a list of "
                    "(start, end)"
                )
            spans = [
                span if isinstance(span, Mapping) else _span(topic, doc, span) for span in spans
            ]
            sets = list(about.pop("sets", None) or [None] * len(spans))
            if len(sets) != len(spans):
                raise UsageError(
                    f"topic {topic!r}, document {doc!r}: {counted(len(sets), 'list')} of sets for "
                    f"{counted(len(spans), 'span')}; expected one for each"
                )
            for span, own_sets in zip(spans, sets, strict=True):
                yield topic, about | {"sets": own_sets} | dict(span) | {"doc": doc}
            if not spans:
                yield topic, about | {"doc": doc}


def _span(topic: Any, doc: Any, span: Any) -> dict[str, Any]:
    if not isinstance(span, (tuple, list)) or len(span) not in (2, 3):
        raise UsageError(
            f"topic {topic!r}, document {doc!r}: {span!r} is no span; expected (start, end) or "
            "(start, end, grade)"
        )
    return dict(zip(("start", "end", "grade"), span, strict=False))


def _judged(frame: pl.DataFrame, name: str, given: Texts, notes: list[str]) -> Judgements:
    """One row per topic, document and assessor, with its spans."""
    frame, how = placed(frame, name, given)
    defects = defects_of(frame, name)
    odd = ~frame["grade"].is_finite().fill_null(value=True)
    defects.raise_if(
        [
            *defects.at(
                "unclassified",
                odd.to_numpy(),
                "grade {} is not a finite number",
                frame["grade"].cast(pl.String),
            )
        ]
    )
    has_text = bool(frame["start"].count()) or not frame["grade"].count()
    graded = (frame["grade"] > 0).fill_null(value=False)
    if has_text:
        bare = graded & frame["start"].is_null()
        message = "relevant by its grade, but without start and end; other spans have them"
        defects.raise_if([*defects.at("unclassified", bare.to_numpy(), message)])
    frame = frame.with_columns(relevant=graded)
    if "size" in frame.columns:
        frame = frame.with_columns(length=pl.coalesce("length", "size"))
    of_span = ("start", "end", "grade", "text", "sets")
    rows = frame.group_by(*_KEYS, maintain_order=True).agg(
        pl.col("line").first(),
        pl.col("relevant").any(),
        *(pl.col(c).drop_nulls().first() for c in ("length", "bep")),
        *(pl.col(c).drop_nulls().n_unique().alias(f"{c}s") for c in ("length", "bep")),
        *(pl.col(c).filter(pl.col("start").is_not_null()) for c in of_span),
    )
    own = defects_of(rows, name)
    for what, column in (("length", "lengths"), ("best entry point", "beps")):
        several = (rows[column] > 1).to_numpy()
        own.raise_if(
            [
                *own.at(
                    "unclassified",
                    several,
                    f"topic {{!r}}, document {{!r}} has more than one {what}",
                    rows["topic"],
                    rows["doc"],
                )
            ]
        )
    counts = rows["start"].list.len().cast(pl.Int64).to_numpy()
    flat = rows.select(of_span).filter(pl.Series(counts > 0)).explode(of_span)
    start, end = flat["start"].to_numpy().copy(), flat["end"].to_numpy().copy()
    row = np.repeat(np.arange(len(rows), dtype=np.int64), counts)
    check_lengths(own, rows, row, end)
    quotes = flat.select(
        quote="text",
        prefix=pl.lit(None, dtype=pl.String),
        suffix=pl.lit(None, dtype=pl.String),
    )
    keep = ["topic", "doc", "line", "length", "bep"]
    keep += ["assessor"] if rows["assessor"].count() else []
    keep += [] if has_text else ["relevant"]
    graded_spans = bool(flat["grade"].count())
    return Judgements.from_rows(
        rows.select(keep),
        counts,
        start,
        end,
        source=Provenance(name),
        grade=flat["grade"].fill_null(1.0).to_numpy().copy() if graded_spans else None,
        has_text=has_text,
        quotes=quotes if flat["text"].count() else None,
        sets=flat["sets"] if (flat["sets"].list.len() > 0).any() else None,
        notes=(*notes, *how),
    )
