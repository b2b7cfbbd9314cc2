"""JSON Lines judgements: one object per topic, document and assessor."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.base import Format, json_kind, parse_with
from foveal.formats.checks import (
    Defects,
    check_given,
    check_lengths,
    check_names,
    check_required,
    check_spans,
)
from foveal.formats.detection import JSON_FORMATS
from foveal.formats.fields import MAX_OFFSET, Table
from foveal.formats.graded_elements import (
    ELEMENT_COLUMNS,
    GRADES,
    UNKNOWN_GRADES,
    GradedElements,
    check_elements,
    mark_relevant,
)
from foveal.formats.objects import declared_units, header_of, loads, read_objects
from foveal.model import UNKNOWN, Judgements
from foveal.model.run import ALL

__all__ = ["FORMATS", "declared_whitespace", "read_judgements", "write_judgements"]


_VERSION = "assessments-version"
_KEPT = {
    "collection": "collection",
    "scale": "scale",
    "whitespace": "whitespace",
    _VERSION: "version",
}
"""Names in the header and ours for them; ``version`` there is that of the format."""

_SCALES = {scale: scale for scale in GRADES}
_WHITESPACE = {
    "keep": "keep",
    "merge": "merge",
    "strip": "strip",
    "merge-whitespace": "merge",
    "strip-whitespace-nodes": "strip",
}
"""Words for the rules by which white space counts, and ours for them."""

_SPAN: dict[str, Any] = {
    "start": pl.Int64,
    "end": pl.Int64,
    "grade": pl.Float64,
    "assessor": pl.String,
    "quote": pl.String,
    "prefix": pl.String,
    "suffix": pl.String,
}
_JUDGEMENT: dict[str, Any] = {
    "topic": pl.String,
    "doc": pl.String,
    "length": pl.Int64,
    "bep": pl.Int64,
    "assessor": pl.String,
    "spans": pl.List(pl.Struct(_SPAN)),
    "elements": pl.List(pl.Struct(ELEMENT_COLUMNS)),
}
_LABELS = {
    "sets": 'sets {} of a span are no evidence sets; expected a list of names, as in ["a1", "a2"]',
    "aspects": 'aspects {} of a span are no aspects; expected a list of names, as in ["p53"]',
}
"""Lists of names that a span may have, and the message for anything else."""
_IS_ODD = pl.any_horizontal(
    pl.col("topic", "doc").is_null(),
    pl.col("topic", "doc") == "",
    pl.col("topic") == ALL,
    pl.col("spans").is_null() & pl.col("elements").is_null(),
)
"""Rows without a document, and rows that cannot be judgements."""


def read_judgements(source: Source, *, texts: Mapping[str, str] | None = None) -> Judgements:
    """Read judgements with spans, best entry points, assessors and elements."""
    header, header_line = header_of(source)
    unit, end_kind = declared_units(source, header, header_line, JSON_FORMATS["judgements"])
    known = _known(source, header, header_line)
    inclusive, notes = end_kind == "inclusive", tuple[str, ...]()
    if b'"quote"' in source.data:
        from foveal.formats.quoted_spans import locate_quotes

        source, notes = locate_quotes(source, texts, unit=unit, inclusive=inclusive)
    table = read_objects(source, _JUDGEMENT, header_line)
    frame, bare, problems = table.frame, table.frame.clear(), list[Problem]()
    if frame.select(_IS_ODD.any()).item():
        problems += check_names(Defects(source, table.line), frame["topic"].fill_null(""))
        bare, table = _split_bare_topics(source, table)
        frame, defects = table.frame, Defects(source, table.line)
        problems += check_required(defects, frame)
        problems += defects.at(
            "unclassified",
            frame["spans"].is_null().to_numpy() & frame["elements"].is_null().to_numpy(),
            'spans is missing; a document without relevant text has "spans":[]',
        )
        defects.raise_if(problems)
    defects = Defects(source, table.line)
    rows, flat = _rows(frame.with_columns(line=pl.Series(table.line)))
    row = flat["row"].to_numpy()
    inner = Defects(source, table.line[flat["place"].to_numpy()])
    if flat["start"].null_count() or flat["end"].null_count():
        missing = flat["start"].is_null() | flat["end"].is_null()
        inner.raise_if(
            [*inner.at("unclassified", missing.to_numpy(), "a span lacks its start or end")]
        )
    start, end = flat["start"].to_numpy(), flat["end"].to_numpy() + inclusive
    both = np.concatenate([start, end])
    if both.min(initial=1) < inclusive or both.max(initial=0) > MAX_OFFSET:
        inner.raise_if(check_given(inner, flat["start"], flat["end"]))
    inner.raise_if(check_spans(inner, start, end))
    if unit != "codepoint":
        from foveal.formats.units import to_codepoints

        docs = rows["doc"].gather(flat["row"])
        start = to_codepoints(start, docs, unit, texts, inner)
        end = to_codepoints(end, docs, unit, texts, inner)
        outer = Defects(source, rows["line"].to_numpy())
        for name in ("length", "bep"):
            given = rows[name].fill_null(UNKNOWN).to_numpy()
            own = pl.Series(to_codepoints(given, rows["doc"], unit, texts, outer))
            rows = rows.with_columns(pl.when(pl.col(name).is_not_null()).then(own).alias(name))
    check_lengths(Defects(source, rows["line"].to_numpy()), rows, row, end)
    quotes = flat.select("quote", "prefix", "suffix")
    has_text = bool((frame if len(frame) else bare)["spans"].is_not_null().any())
    unread, elements, judged = dict[str, int](), None, None
    if frame["elements"].null_count() < len(frame) or not has_text:
        assessed = _elements(frame, defects, known.get("scale"))
        elements = _with_rows(assessed.elements, rows, frame["assessor"])
        judged = assessed.known[rows["place"].to_numpy()]
        known |= {} if assessed.scale is None else {"scale": assessed.scale}
        told = mark_relevant(assessed.elements, len(frame), assessed.scale)
        if has_text:
            _check_agreement(defects, frame, told)
        else:
            rows = rows.with_columns(relevant=pl.Series(told[rows["place"].to_numpy()]))
        unknown = int(frame["elements"].list.len().sum()) - len(assessed.elements)
        unread |= {UNKNOWN_GRADES: unknown} if unknown else {}
    if source.thorough:
        from foveal.formats.unknown import UNKNOWN_FIELD, unknown_fields

        found = unknown_fields(source, pl.concat([frame, bare]), header_line)
        for name in _LABELS:
            found.pop(f"{UNKNOWN_FIELD}spans.{name}", None)
        unread = found | unread
    judgements = Judgements.from_rows(
        rows,
        np.bincount(row, minlength=len(rows)).astype(np.int64),
        start,
        end,
        source=source.provenance,
        grade=flat["grade"].fill_null(1.0).to_numpy(),
        quotes=quotes if any(column.null_count() < len(column) for column in quotes) else None,
        sets=_labels(source, table, flat, "sets") if b'"sets"' in source.data else None,
        aspects=_labels(source, table, flat, "aspects") if b'"aspects"' in source.data else None,
        has_text=has_text,
        elements=elements,
        header=known,
        unread=unread or None,
        topics_without_documents=bare["topic"],
        notes=notes,
    )
    judgements.check_distinct()
    return judgements if judged is None or judged.all() else judgements.only(judged)


def _split_bare_topics(source: Source, table: Table) -> tuple[pl.DataFrame, Table]:
    """Split off the topics of which no document was judged: ``{"topic": "9", "spans": []}``."""
    marked = pl.col("spans", "elements")
    bare = table.frame.select(
        (pl.col("topic").fill_null("") != "")
        & pl.col("doc").is_null()
        & pl.any_horizontal(marked.is_not_null())
        & (pl.sum_horizontal(marked.list.len()) == 0)
    ).to_series()
    if bare.any():
        # Any other field shows that a document was meant, though under another name than doc.
        lines = source.data.split(b"\n")
        for at in bare.arg_true():
            names = loads(lines[source.place(int(table.line[at])) - 1]).keys()
            bare[at] = names <= {"topic", "spans", "elements"}
    left = ~bare
    return table.frame.filter(bare), Table(table.frame.filter(left), table.line[left.to_numpy()])


def _labels(source: Source, table: Table, spans: pl.DataFrame, name: str) -> pl.Series | None:
    """The evidence sets or aspects of each span; None if no span has any.

    Few files have them, and lists of names are nothing that the columnar parser checks: it takes
    whatever stands in a list for text. So the lines that have some are looked at one by one.
    """
    word = f'"{name}"'.encode()
    lines, problems = source.data.split(b"\n"), list[Problem]()
    found: list[tuple[int, int, list[str]]] = []
    for place, line in enumerate(table.line.tolist()):
        text = lines[source.place(line) - 1]
        if word not in text:
            continue
        given = [span for span in loads(text).get("spans") or () if span is not None]
        for number, span in enumerate(given):
            value = span.get(name)
            if value is None or value == []:
                continue
            if isinstance(value, list) and all(isinstance(x, str) and x for x in value):
                found.append((place, number, list(dict.fromkeys(value))))
                continue
            problems.append(
                Problem("unclassified", source.path, line, _LABELS[name].format(json.dumps(value)))
            )
    if problems:
        raise InputError(problems)
    schema: dict[str, Any] = {"place": pl.Int64, "number": pl.Int64, name: pl.List(pl.String)}
    named = pl.DataFrame(found, schema=schema, orient="row")
    key = ["place", "number"]
    return spans.join(named, on=key, how="left", maintain_order="left")[name] if found else None


def declared_whitespace(source: Source) -> str | None:
    """Return the rule for white space that the header declares."""
    rule: str | None = _known(source, *header_of(source)).get("whitespace")
    return rule


def _known(source: Source, header: Mapping[str, Any], line: int) -> dict[str, Any]:
    """What the header declares that judgements keep, checked and in our words."""
    kept = {ours: header[name] for name, ours in _KEPT.items() if name in header}
    for name, options in (("scale", _SCALES), ("whitespace", _WHITESPACE)):
        if name in kept:
            value = str(kept[name])
            if value not in options:
                raise source.error(
                    "unclassified",
                    line,
                    f"header says {name} {kept[name]!r}; expected {' or '.join(options)}",
                )
            kept[name] = options[value]
    return kept


def _rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of one topic, document and assessor; and the spans, pointing to them.

    Spans may name another assessor than their line. `place` is the number of the line's object,
    `number` that of the span in it.
    """
    placed = frame.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64))
    spans = (
        placed.select("spans", "place", line_assessor="assessor")
        .explode("spans")
        .drop_nulls("spans")
        .with_columns(number=pl.int_range(pl.len(), dtype=pl.Int64).over("place"))
        .unnest("spans")
        .with_columns(assessor=pl.coalesce("assessor", "line_assessor"))
        .sort("place", "assessor", maintain_order=True)
    )
    rows = placed.select("topic", "doc", "length", "bep", "assessor", "line", "place")
    # A row for each assessor of a line; a line whose spans name none keeps its own.
    named = spans.select("place", "assessor").unique(maintain_order=True)
    with_spans = rows.drop("assessor").join(named, on="place", how="inner", maintain_order="left")
    without = rows.join(named.select("place"), on="place", how="anti", maintain_order="left")
    both = pl.concat([with_spans, without.select(with_spans.columns)])
    rows = both.sort("place", maintain_order=True)
    number = pl.int_range(pl.len(), dtype=pl.Int64).alias("row")
    spans = spans.join(
        rows.select(number, "place", "assessor"),
        on=["place", "assessor"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return rows, spans.sort("row", maintain_order=True)


def _elements(frame: pl.DataFrame, defects: Defects, scale: str | None) -> GradedElements:
    """The elements, whose row is the object they stand in; and which objects are judgements."""
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    flat = frame.select("elements", row=place).explode("elements").drop_nulls("elements")
    flat = flat.unnest("elements").select(*ELEMENT_COLUMNS, "row")
    row = flat["row"].to_numpy()
    own = Defects(defects.source, defects.line[row])
    elements, scale, known, problems = check_elements(flat, own, scale=scale)
    own.raise_if(problems)
    # A document of which everything is unknown was not judged.
    judged = np.ones(len(frame), dtype=bool)
    judged[row] = frame["spans"].is_not_null().to_numpy()[row]
    judged[row[known]] = True
    return GradedElements(elements, scale, judged, [])


def _check_agreement(defects: Defects, frame: pl.DataFrame, told: npt.NDArray[np.bool_]) -> None:
    """Refuse elements that hold relevant text where the spans of their line hold none."""
    positive = (pl.element().struct["end"] > pl.element().struct["start"]) & (
        pl.element().struct["grade"].fill_null(1) > 0
    )
    some = frame.select(pl.col("spans").list.eval(positive).list.any().fill_null(value=False))
    bare = told & ~some.to_series().to_numpy()
    absent = frame["spans"].is_null().to_numpy()
    problems = [
        *defects.at(
            "unclassified", bare & absent, "spans is missing here, but other lines have them"
        ),
        *defects.at("unclassified", bare & ~absent, "relevant elements, but no span is relevant"),
    ]
    defects.raise_if(problems)


def _with_rows(
    elements: pl.DataFrame, rows: pl.DataFrame, assessor: pl.Series
) -> pl.DataFrame | None:
    """The elements, pointing to the rows of their line: its assessor's, else to all of them."""
    if not len(elements):
        return None
    named = rows.select(
        "assessor", "place", number=pl.int_range(pl.len(), dtype=pl.Int64)
    ).with_columns(own=pl.col("assessor").eq_missing(assessor.gather(rows["place"])))
    whose = named.filter(pl.col("own") | ~pl.col("own").any().over("place"))
    return (
        elements.rename({"row": "place"})
        .join(whose.select("place", row="number"), on="place", maintain_order="left_right")
        .drop("place")
        .sort("row", maintain_order=True)
    )


def write_judgements(judgements: Judgements) -> str:
    """Judgements with a header, one line per topic, document and assessor; nothing is lost."""
    _check_writable(judgements)
    header, names = judgements.header or {}, {ours: name for name, ours in _KEPT.items()}
    lines = [
        json.dumps(
            {
                "type": "header",
                "format": JSON_FORMATS["judgements"][0],
                "version": 1,
                "unit": "codepoint",
                "end": "exclusive",
                **{names.get(name, name): value for name, value in header.items()},
            },
            ensure_ascii=False,
        )
    ]
    elements = (
        {}
        if judgements.elements is None
        else judgements.elements.partition_by("row", as_dict=True, include_key=False)
    )
    quotes = None if judgements.quotes is None else judgements.quotes.to_dicts()
    for i in range(len(judgements)):
        own = range(int(judgements.bounds[i]), int(judgements.bounds[i + 1]))
        record: dict[str, Any] = {
            "topic": judgements.topics[judgements.topic[i]],
            "doc": judgements.doc[i],
        }
        for name in ("length", "bep"):
            value = int(getattr(judgements, name)[i])
            if value >= 0:
                record[name] = value
        if judgements.assessor is not None and judgements.assessor[i] is not None:
            record["assessor"] = judgements.assessor[i]
        if judgements.has_text:
            record["spans"] = [_span(judgements, k, quotes) for k in own]
        if (i,) in elements:
            record["elements"] = [
                {k: v for k, v in row.items() if v is not None and k in ELEMENT_COLUMNS}
                for row in elements[i,].to_dicts()
            ]
        elif not judgements.has_text:
            record["elements"] = []
        lines.append(json.dumps(record, ensure_ascii=False))
    nothing = "spans" if judgements.has_text else "elements"
    lines += [
        json.dumps({"topic": topic, nothing: []}, ensure_ascii=False)
        for topic in judgements.topics_without_documents
    ]
    return "".join(f"{line}\n" for line in lines)


def _check_writable(judgements: Judgements) -> None:
    """Refuse relevance that neither spans nor elements tell."""
    from foveal.formats.lines import check_rows

    if judgements.has_text:
        return
    if judgements.places is not None and len(judgements.places):
        what = (
            "a passage or entry point given as an XPath, which a collection must place first "
            "(-C): this format cannot hold it, INEX XML can"
        )
        raise InputError(
            judgements.problem("unclassified", row, what, line=line)
            for row, line in judgements.places.select("row", "line").rows()
        )
    scale = (judgements.header or {}).get("scale")
    told = mark_relevant(judgements.elements, len(judgements), scale)
    check_rows(
        judgements, judgements.relevant & ~told, "relevant as a whole document", instead="TREC"
    )


def _span(judgements: Judgements, k: int, quotes: list[dict[str, Any]] | None) -> dict[str, Any]:
    span: dict[str, Any] = {"start": int(judgements.start[k]), "end": int(judgements.end[k])}
    if judgements.grade is not None:
        grade = float(judgements.grade[k])
        span["grade"] = int(grade) if grade.is_integer() else grade
    if quotes is not None:
        span |= {name: value for name, value in quotes[k].items() if value is not None}
    for name in _LABELS:
        given: pl.Series | None = getattr(judgements, name)
        if given is not None and given[k] is not None and len(given[k]):
            span[name] = given[k].to_list()
    return span


FORMATS = (
    Format(
        "jsonl",
        "judgements",
        "JSON Lines: one object per topic, document and assessor.",
        '{"topic": "1", "doc": "tides", "spans": [{"start": 120, "end": 320}]}\n',
        lambda source: json_kind(source) == "judgements",
        parse_with(read_judgements),
        write_judgements,
        uses_texts=True,
    ),
)
