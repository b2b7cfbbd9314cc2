"""JSON Lines: runs with an object per result, judgements with one per topic, document, assessor."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem, Tally
from foveal.files.source import Source
from foveal.formats.base import JSON_FORMATS, Format, Parsed, json_kind, lazy_losses, parse_with
from foveal.formats.checks import (
    Defects,
    check_given,
    check_lengths,
    check_names,
    check_required,
    check_spans,
)
from foveal.formats.fields import MAX_OFFSET, RowTable
from foveal.formats.graded_elements import (
    ELEMENT_COLUMNS,
    GRADES,
    UNKNOWN_GRADES,
    GradedElements,
    check_elements,
    mark_relevant,
)
from foveal.formats.objects import (
    UNKNOWN_FIELD,
    header_of,
    header_problems,
    loads,
    tabulate_objects,
    to_codepoints,
    unknown_fields,
)
from foveal.formats.ranking import RESULT_COLUMNS, parse_results
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.run import ALL

__all__ = [
    "FORMATS",
    "declared_whitespace",
    "parse_run",
    "read_judgements",
    "taken_whole",
    "write_judgements",
    "write_run",
]

# -- runs ------------------------------------------------------------------------------------------

_RUN: dict[str, Any] = RESULT_COLUMNS | {"type": pl.String}


def parse_run(source: Source, *, texts: Mapping[str, str] | None = None) -> Parsed:
    """Parse a run, ordered by rank, else by descending score, else as in the file."""
    header, header_line = header_of(source)
    wrong = header_problems(source, header, header_line, JSON_FORMATS["run"])
    declared = {name: value for name, value in header.items() if name not in wrong}
    table = tabulate_objects(source, _RUN, header_line)
    table = table._replace(problems=(*wrong.values(), *table.problems))
    again = (table.frame["type"] == "header").fill_null(value=False)
    if again.any():
        message = "a second header; expected one run in a file"
        defects = Defects(source, table.line)
        table = table.without(defects.at("json.header", again.to_numpy(), message))
    parsed = parse_results(
        table,
        source,
        name=str(declared.get("run") or source.stem),
        task=declared.get("task"),
        inclusive=declared.get("end") == "inclusive",
        unit=declared.get("unit", "codepoint"),
        texts=texts,
    )
    run: Run | None = parsed.content
    if run is None:
        return parsed
    notes = run.notes
    whole = run.line[(run.end < 0) & (run.start == 0)]
    if len(whole):
        # Fields that are not known may be the span of the first result that has none.
        first = int(whole.min())
        place = source.place(first)
        text = source.data.split(b"\n", place)[place - 1]
        unknown = [name for name in json.loads(text) if name not in _RUN]
        note = Tally(taken_whole, len(whole), [(first, unknown)])
        # The first such result of the file may be in another part of it.
        notes += (note,) if note or source.lines is not None else ()
    unread = unknown_fields(source, table.frame, header_line) if source.thorough else {}
    if table.frame["text"].count():
        unread["texts of results"] = table.frame["text"].count()
    return parsed._replace(content=replace(run, notes=notes, unread=unread or None))


def taken_whole(number: int, firsts: Sequence[tuple[int, list[str]]]) -> str:
    """Say that `number` results are whole documents, the first of which has unknown fields."""
    line, unknown = min(firsts)
    if not unknown:
        return ""
    where = f"not understood on line {line}: {', '.join(unknown[:5])}"
    return f"results without start and end, taken as whole documents: {number}; {where}"


def write_run(run: Run) -> str:
    """Write the run with a header; nothing that Foveal knows of a run is lost."""
    header = {"type": "header", "format": JSON_FORMATS["run"][0], "version": 1, "run": run.name}
    if run.task is not None:
        header["task"] = run.task
    header |= {"unit": "codepoint", "end": "exclusive"}
    frame = run.to_frame()
    frame = frame.with_columns(start=pl.when(pl.col("end").is_not_null()).then("start"))
    rows = (
        {name: value for name, value in row.items() if value is not None}
        for row in frame.iter_rows(named=True)
    )
    return _write_objects([header, *rows])


def _write_objects(records: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


# -- judgements ------------------------------------------------------------------------------------

_KEPT = {
    "collection": "collection",
    "scale": "scale",
    "whitespace": "whitespace",
    "assessments-version": "version",
}
"""Names in the header and ours for them; ``version`` there is that of the format."""

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
_LACKS_OFFSETS = pl.all_horizontal(pl.col("spans", "elements").is_null()) | (
    pl.col("spans")
    .list.eval(
        pl.element().struct["quote"].is_not_null()
        & pl.element().struct["start"].is_null()
        & pl.element().struct["end"].is_null()
    )
    .list.any()
)
"""Lines that are one quote, or have a quote whose place is to be found."""
_IS_ODD_SPAN = pl.any_horizontal(
    pl.col("start", "end").is_null(),
    pl.col("start") < 0,
    pl.col("end") < pl.col("start"),
    pl.col("end") >= MAX_OFFSET,
)
_IS_ODD_LENGTH = pl.any_horizontal(
    pl.col("length", "bep") < 0,
    pl.col("length", "bep") > MAX_OFFSET,
    pl.col("bep") > pl.col("length"),
)


def read_judgements(source: Source, *, texts: Mapping[str, str] | None = None) -> Judgements:
    """Read judgements with spans, best entry points, assessors and elements."""
    header, header_line = header_of(source)
    if wrong := header_problems(source, header, header_line, JSON_FORMATS["judgements"]):
        raise InputError(wrong.values())
    known, notes = dict[str, Any](), tuple[str, ...]()
    if not header.keys().isdisjoint(_KEPT):
        known = _translate_header(source, header, header_line)
    unit, inclusive = header.get("unit", "codepoint"), header.get("end") == "inclusive"
    table = tabulate_objects(source, _JUDGEMENT, header_line)
    if b'"quote"' in source.data and table.frame.select(_LACKS_OFFSETS.any()).item():
        from foveal.formats.locate import locate_quotes

        source, notes = locate_quotes(source, texts, unit=unit, inclusive=inclusive)
        table = tabulate_objects(source, _JUDGEMENT, header_line)
    if table.problems:
        table.checked()
    bare = table.frame.clear()
    if table.frame.select(_IS_ODD.any()).item():
        bare, table = _split_bare_topics(source, table)
    frame, defects = table.frame, Defects(source, table.line)
    labels = [name for name in _LABELS if f'"{name}"'.encode() in source.data]
    rows = frame.select("topic", "doc", "length", "bep", "assessor", line=pl.Series(table.line))
    rows = rows.with_row_index("place").cast({"place": pl.Int64})
    spans = frame.select("spans", place=rows["place"]).explode("spans").drop_nulls("spans")
    spans = spans.unnest("spans").with_columns(row="place")
    if labels:
        spans = spans.with_columns(number=pl.int_range(pl.len(), dtype=pl.Int64).over("place"))
    if spans["assessor"].count():
        rows, spans = _split_assessors(rows, spans)
    row = spans["row"].to_numpy()
    inner = Defects(source, table.line[spans["place"].to_numpy()])
    if spans.select(_IS_ODD_SPAN.any()).item():
        _check_spans(inner, spans, inclusive=inclusive)
    start, end = spans["start"].to_numpy(), spans["end"].to_numpy() + inclusive
    outer = Defects(source, rows["line"].to_numpy())
    if unit != "codepoint":
        docs = rows["doc"].gather(spans["row"])
        start, problems = to_codepoints(start, docs, unit, texts, inner)
        inner.raise_if(problems)
        end, problems = to_codepoints(end, docs, unit, texts, inner)
        inner.raise_if(problems)
        for name in ("length", "bep"):
            given = rows[name].fill_null(UNKNOWN).to_numpy()
            own, problems = to_codepoints(given, rows["doc"], unit, texts, outer)
            outer.raise_if(problems)
            converted = pl.when(pl.col(name).is_not_null()).then(pl.Series(own)).alias(name)
            rows = rows.with_columns(converted)
    last = rows["length"].fill_null(MAX_OFFSET).to_numpy()[row]
    if (end > last).any() or rows.select(_IS_ODD_LENGTH.any()).item():
        check_lengths(outer, rows, row, end)
    has_text = bool((frame if len(frame) else bare)["spans"].is_not_null().any())
    unread = dict[str, int]()
    if source.thorough:
        unread = unknown_fields(source, pl.concat([frame, bare]), header_line)
        for name in _LABELS:
            unread.pop(f"{UNKNOWN_FIELD}spans.{name}", None)
    elements, judged = None, None
    if frame["elements"].null_count() < len(frame) or not has_text:
        assessed = _assess_elements(frame, defects, known.get("scale"))
        elements = _point_to_rows(assessed.elements, rows, frame["assessor"])
        judged = assessed.known[rows["place"].to_numpy()]
        known |= {} if assessed.scale is None else {"scale": assessed.scale}
        relevant = mark_relevant(assessed.elements, len(frame), assessed.scale)
        if has_text:
            _check_agreement(defects, frame, relevant)
        else:
            rows = rows.with_columns(relevant=pl.Series(relevant[rows["place"].to_numpy()]))
        ungraded = int(frame["elements"].list.len().sum()) - len(assessed.elements)
        unread |= {UNKNOWN_GRADES: ungraded} if ungraded else {}
    quotes = spans.select("quote", "prefix", "suffix")
    judgements = Judgements.from_rows(
        rows,
        np.bincount(row, minlength=len(rows)).astype(np.int64),
        start,
        end,
        source=source.provenance,
        grade=spans["grade"].fill_null(1.0).to_numpy(),
        quotes=quotes if any(column.null_count() < len(column) for column in quotes) else None,
        **{name: _read_labels(source, table, spans, name) for name in labels},
        has_text=has_text,
        elements=elements,
        header=known,
        unread=unread or None,
        topics_without_documents=bare["topic"],
        notes=notes,
    )
    judgements.check_distinct()
    return judgements if judged is None or judged.all() else judgements.only(judged)


def _check_spans(defects: Defects, spans: pl.DataFrame, *, inclusive: bool) -> None:
    """Refuse spans without a start or an end, and impossible offsets."""
    missing = (spans["start"].is_null() | spans["end"].is_null()).to_numpy()
    message = "a span lacks its start or end"
    defects.raise_if([*defects.at("span.incomplete", missing, message)])
    defects.raise_if(check_given(defects, spans["start"], spans["end"]))
    start, end = spans["start"].to_numpy(), spans["end"].to_numpy() + inclusive
    defects.raise_if(check_spans(defects, start, end))


def _split_bare_topics(source: Source, table: RowTable) -> tuple[pl.DataFrame, RowTable]:
    """Split off topics without a judged document, ``{"topic": "9", "spans": []}``.

    Refuses other rows without a topic, a document or spans.
    """
    problems = check_names(Defects(source, table.line), table.frame["topic"].fill_null(""))
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
    frame, defects = table.frame.filter(left), Defects(source, table.line[left.to_numpy()])
    problems += check_required(defects, frame)
    problems += defects.at(
        "judgements.spans",
        frame["spans"].is_null().to_numpy() & frame["elements"].is_null().to_numpy(),
        'spans is missing; a document without relevant text has "spans":[]',
    )
    defects.raise_if(problems)
    return table.frame.filter(bare), RowTable(frame, defects.line)


def _read_labels(
    source: Source, table: RowTable, spans: pl.DataFrame, name: str
) -> pl.Series | None:
    """Return the evidence sets or aspects of each span; None if no span has any.

    Few files have them, and the columnar parser turns anything in a list of names into text. So
    the lines that have some are looked at one by one.
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
            message = _LABELS[name].format(json.dumps(value))
            problems.append(Problem("judgements.labels", source.path, line, message))
    if problems:
        raise InputError(problems)
    schema: dict[str, Any] = {"place": pl.Int64, "number": pl.Int64, name: pl.List(pl.String)}
    named = pl.DataFrame(found, schema=schema, orient="row")
    key = ["place", "number"]
    return spans.join(named, on=key, how="left", maintain_order="left")[name] if found else None


def declared_whitespace(source: Source) -> str | None:
    """Return the rule for white space that the header declares."""
    rule: str | None = _translate_header(source, *header_of(source)).get("whitespace")
    return rule


def _translate_header(source: Source, header: Mapping[str, Any], line: int) -> dict[str, Any]:
    """Return the entries of the header that judgements keep, checked and in our words."""
    kept = {ours: header[name] for name, ours in _KEPT.items() if name in header}
    for name, options in (
        ("scale", dict(zip(GRADES, GRADES, strict=True))),
        ("whitespace", _WHITESPACE),
    ):
        if name in kept:
            value = str(kept[name])
            if value not in options:
                raise source.error(
                    "json.header",
                    line,
                    f"header says {name} {kept[name]!r}; expected {' or '.join(options)}",
                )
            kept[name] = options[value]
    return kept


def _split_assessors(rows: pl.DataFrame, spans: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a row for each assessor of a line, and the spans, pointing to them.

    Spans may name another assessor than their line. `place` is the number of the line's object.
    """
    own = spans.join(
        rows.select("place", line_assessor="assessor"), on="place", maintain_order="left"
    )
    spans = (
        own.with_columns(assessor=pl.coalesce("assessor", "line_assessor"))
        .drop("line_assessor", "row")
        .sort("place", "assessor", maintain_order=True)
    )
    # A line whose spans name none keeps its own.
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


def _assess_elements(frame: pl.DataFrame, defects: Defects, scale: str | None) -> GradedElements:
    """Return the elements, whose row is their object; and which objects are judgements."""
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


def _check_agreement(
    defects: Defects, frame: pl.DataFrame, relevant: npt.NDArray[np.bool_]
) -> None:
    """Refuse elements that hold relevant text where the spans of their line hold none."""
    positive = (pl.element().struct["end"] > pl.element().struct["start"]) & (
        pl.element().struct["grade"].fill_null(1) > 0
    )
    some = frame.select(pl.col("spans").list.eval(positive).list.any().fill_null(value=False))
    bare = relevant & ~some.to_series().to_numpy()
    absent = frame["spans"].is_null().to_numpy()
    message = "spans is missing here, but other lines have them"
    problems = [*defects.at("judgements.spans", bare & absent, message)]
    message = "relevant elements, but no span is relevant"
    problems += defects.at("judgements.spans", bare & ~absent, message)
    defects.raise_if(problems)


def _point_to_rows(
    elements: pl.DataFrame, rows: pl.DataFrame, assessor: pl.Series
) -> pl.DataFrame | None:
    """Return the elements with the rows of their line: its assessor's, else all of them."""
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
    """Write judgements with a header, one line per topic, document and assessor, without loss."""
    _check_writable(judgements)
    names = {ours: name for name, ours in _KEPT.items()}
    records: list[dict[str, Any]] = [
        {
            "type": "header",
            "format": JSON_FORMATS["judgements"][0],
            "version": 1,
            "unit": "codepoint",
            "end": "exclusive",
            **{names.get(name, name): value for name, value in (judgements.header or {}).items()},
        }
    ]
    elements = (
        {}
        if judgements.elements is None
        else judgements.elements.partition_by("row", as_dict=True, include_key=False)
    )
    quotes = None if judgements.quotes is None else judgements.quotes.to_dicts()
    for i in range(len(judgements)):
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
            own = range(int(judgements.bounds[i]), int(judgements.bounds[i + 1]))
            record["spans"] = [_span(judgements, k, quotes) for k in own]
        if (i,) in elements:
            record["elements"] = [
                {k: v for k, v in row.items() if v is not None and k in ELEMENT_COLUMNS}
                for row in elements[i,].to_dicts()
            ]
        elif not judgements.has_text:
            record["elements"] = []
        records.append(record)
    nothing = "spans" if judgements.has_text else "elements"
    bare = [{"topic": topic, nothing: []} for topic in judgements.topics_without_documents]
    return _write_objects([*records, *bare])


def _check_writable(judgements: Judgements) -> None:
    """Refuse relevance that neither spans nor elements tell."""
    from foveal.formats.fields import check_rows

    if judgements.has_text:
        return
    if judgements.places is not None and len(judgements.places):
        what = (
            "a passage or entry point given as an XPath, which a collection must place first "
            "(-C): this format cannot hold it, INEX XML can"
        )
        raise InputError(
            judgements.problem("write.unheld", row, what, line=line)
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


# -- records ---------------------------------------------------------------------------------------

FORMATS = (
    Format(
        "jsonl",
        "run",
        """JSON Lines: one object per result, and optionally a header as the first line.

| Field | Meaning |
| --- | --- |
| `topic`, `doc` | required; texts |
| `start`, `end` | the span; both or neither |
| `xpath` | an element, as in [element runs](#run-elements) |
| `bep` | a point to start reading at, a span without length |
| none of these | the whole document |
| `rank`, `score` | all results have it, or none; a rank is a whole number from 0 |
| `text` | the text of the result, if nothing else places it; needs \
[the documents](anchors.md#results-that-are-only-text) |
| `tokens` | the cost of reading the whole result, for [budgets](compare-chunkers-fairly.md) in \
tokens |

Results are ordered by `rank`; without ranks by falling `score`, equal ones in the order of the
file; with neither as in the file. Ranks are kept as they are, and equal ones are ties if there is
no score. Header fields and their defaults: `run` (the stem of the file name), `task` (none; Foveal
warns when the run is scored as another), `unit` (`codepoint`), `end` (`exclusive`).
`focused-run` is another name of the format.""",
        """\
{"type": "header", "format": "foveal-run", "version": 1, "run": "chunks", "unit": "codepoint"}
{"topic": "1", "doc": "fords", "rank": 2, "score": 7.5, "start": 100, "end": 400}
{"topic": "1", "doc": "tides", "rank": 1, "score": 9.5, "xpath": "/article[1]"}
{"topic": "1", "doc": "lighthouses", "rank": 3, "score": 7.1}
{"topic": "1", "doc": "pontoon-bridges", "rank": 4, "score": 6.0, "bep": 1312}
""",
        lambda source: json_kind(source) == "run",
        parse_run,
        write_run,
        lazy_losses("run_losses", keeps="results offsets xpaths tokens task name"),
        uses_texts=True,
    ),
    Format(
        "jsonl",
        "judgements",
        """JSON Lines: one object per topic, document and assessor.

| Field | Meaning |
| --- | --- |
| `topic`, `doc` | required; texts. `doc` may be missing if only one document holds the quote |
| `spans` | relevant text; `[]` is judged, nothing relevant. Spans may overlap and count once. \
`{"topic": "9", "spans": []}` alone is a judged topic with nothing relevant in any document |
| `length` | characters of the document; some measures need it |
| `bep` | best entry point |
| `assessor` | on the line or on a span; see [several assessors](evaluate.md#several-assessors) |
| `elements` | assessed elements, instead of `spans` or beside them: `xpath` and the grades and \
sizes of [their scale](#judgements-inex) |

A span may carry `grade` (1 if absent; 0 is judged, not relevant), `quote`, `prefix` and `suffix`,
which are kept when judgements are written again and can be [verified](anchors.md). `sets` names the
[evidence sets](evidence.md) of a span, as in `["a1", "a2"]`, and `aspects` its aspects, for
[measures of TREC Genomics](other-tools.md).

The header may also hold `collection`, `scale` (2002, 2003, 2005 or 2006; else the grades of the
elements tell), `whitespace` (`keep`, `merge` or `strip`) and `assessments-version`, that of INEX
assessments. `focused-qrels` is another name of the format.

Elements are checked as [in XML](#judgements-inex): grades that the scale does not have, impossible
sizes and repeated elements are errors. If no line has `spans`, the grades or the `rsize` of the
elements decide if a document is relevant. If lines have spans, relevant elements without a relevant
span are an error.

A span may have a `quote` and no offsets. Foveal locates it in the text of its document, which
commands take with `--texts`, or `-C` with `--documents`, and Python with `texts=`
([anchors](anchors.md#quotes)). A line may also be one quote, without `spans`; lines of one topic
and document belong together.""",
        """\
{"type": "header", "format": "foveal-judgements", "version": 1, "unit": "codepoint"}
{"topic": "1", "doc": "tides", "length": 4068, "bep": 120, "assessor": "ann", \
"spans": [{"start": 120, "end": 320, "grade": 1, "quote": "optional"}]}
{"topic": "1", "doc": "tides", "assessor": "bob", "spans": [{"start": 200, "end": 420}]}
{"topic": "1", "doc": "fords", "length": 3579, "assessor": "ann", "spans": []}
""",
        lambda source: json_kind(source) == "judgements",
        parse_with(read_judgements),
        write_judgements,
        lazy_losses("judgement_losses", form="jsonl"),
        uses_texts=True,
    ),
)
