"""JSON Lines: runs with an object per result, judgements with one per topic, document, assessor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import Problem, Tally
from foveal.files.source import Source
from foveal.formats import graded_elements as graded
from foveal.formats import objects
from foveal.formats.base import JSON_FORMATS, Format, Parsed, json_kind, lazy_losses, parse_with
from foveal.formats.columns import RESULT_COLUMNS, parse_results
from foveal.formats.rows import (
    NAME_RULES,
    RowRule,
    RowTable,
    check_rows,
    check_rules,
    list_offset_rules,
    raise_problems,
    range_rule,
)
from foveal.model import UNKNOWN, Judgements, Run

# -- runs ------------------------------------------------------------------------------------------

_RUN: dict[str, Any] = RESULT_COLUMNS | {"type": pl.String}


def parse_run(source: Source, *, texts: Mapping[str, str] | None = None) -> Parsed:
    """Parse a run, ordered by rank, else by descending score, else as in the file."""
    header, header_line = objects.read_header(source, format=JSON_FORMATS["run"])
    again = RowRule("json.header", pl.col("type") == "header", "a second header; expected one run")
    table = objects.tabulate_objects(source, _RUN, header_line).check(source.path, [again])
    given_texts, located = table.frame["text"].count(), tuple[str, ...]()
    if given_texts and texts is not None:
        table, located = _place_texts(table, "text", source, texts, header)
    parsed = parse_results(
        table,
        source,
        name=str(header.get("run") or source.stem),
        task=header.get("task"),
        inclusive=header.get("end") == "inclusive",
        unit=header.get("unit", "codepoint"),
        texts=texts,
    )
    run: Run | None = parsed.content
    if run is None:
        return parsed
    notes, unread = run.notes, dict[str, int]()
    whole = run.line[(run.end < 0) & (run.start == 0)]
    if len(whole):
        # Fields that are not known may be the span of the first result that has none.
        first = int(whole.min())
        unknown = [name for name in _read_line(source, first) if name not in _RUN]
        note = Tally(taken_whole, len(whole), [(first, unknown)])
        # The first such result of the file may be in another part of it.
        notes += (note,) if note or source.lines is not None else ()
    if source.thorough and not parsed.problems:
        unread = objects.unknown_fields(source, table.frame, header_line)
    if given_texts:
        unread["texts of results"] = given_texts
    run = replace(run, notes=(*notes, *located), unread=unread or None)
    return parsed._replace(content=run)


def _read_line(source: Source, line: int) -> dict[str, Any]:
    """Return the object on a line."""
    place = source.place(line)
    record: dict[str, Any] = objects.loads(source.data.split(b"\n", place)[place - 1])
    return record


def taken_whole(number: int, firsts: Sequence[tuple[int, list[str]]]) -> str:
    """Return the note on `number` whole documents, the first of which has unknown fields."""
    line, unknown = min(firsts)
    if not unknown:
        return ""
    where = f"not understood on line {line}: {', '.join(unknown[:5])}"
    return f"results without start and end, taken as whole documents: {number}; {where}"


def write_run(run: Run) -> str:
    """Write the run with a header; nothing that Foveal knows of a run is lost."""
    header = {"type": "header", "format": JSON_FORMATS["run"][0], "version": 1, "run": run.name}
    header |= {"task": run.task, "unit": "codepoint", "end": "exclusive"}
    frame = run.to_frame()
    frame = frame.with_columns(start=pl.when(pl.col("end").is_not_null()).then("start"))
    return objects.write_objects([header, *frame.iter_rows(named=True)])


# -- spans given by their text ---------------------------------------------------------------------


def _mark_bare(frame: pl.DataFrame, key: str) -> pl.Series:
    """Mark results (`key` is ``text``) or judgements (``quote``) with a text that has no place."""
    places = pl.all_horizontal(pl.col("start", "end", "xpath", "bep").is_null())
    bare = pl.col("text").is_not_null() & places
    if key == "quote":
        field = pl.element().struct.field
        own = field("quote").is_not_null() & field("start").is_null() & field("end").is_null()
        bare = pl.col("spans").list.eval(own).list.any()
    return frame.select(bare.fill_null(value=False)).to_series()


def _nest_quotes(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return judgements in which a line that is one quote has a list of one span; mark such lines.

    The fields of that span are columns of `frame`.
    """
    is_single = frame.select(_NO_SPANS & pl.col("quote").is_not_null()).to_series()
    spans = pl.when(is_single).then(pl.concat_list(pl.struct(*_SPAN))).otherwise("spans")
    return frame.with_columns(spans=spans).select(*_JUDGEMENT), is_single


def _place_texts(
    table: RowTable,
    key: str,
    source: Source,
    texts: Mapping[str, str] | None,
    header: Mapping[str, Any],
) -> tuple[RowTable, tuple[str, ...]]:
    """Return results (`key` is ``text``) or judgements (``quote``) with offsets; and notes.

    Offsets count in the unit that the header declares.
    """
    rows = _mark_bare(table.frame, key).arg_true()
    if not len(rows):
        return table, ()
    from foveal.formats.locate import PlacedSpan, TextLocator, TextSpan, UnplacedSpanError

    locator = texts if isinstance(texts, TextLocator) else TextLocator(texts)
    unit, inclusive = header.get("unit", "codepoint"), header.get("end") == "inclusive"
    records, placed, problems = table.frame[rows].to_dicts(), list[PlacedSpan](), list[Problem]()
    for line, record in zip(table.line[rows.to_numpy()].tolist(), records, strict=True):
        spans = [record] if key == "text" else record["spans"]
        spans = [own for own in spans if own and own["start"] is None and own[key] is not None]
        try:
            if key == "quote" and not record["doc"]:
                record["doc"] = locator.find_document([span[key] for span in spans])
            for span in spans if record["doc"] is not None else ():
                context = span.get("prefix"), span.get("suffix")
                own = locator.place(TextSpan(record["doc"], None, None, span[key], *context))
                placed.append(own)
                if own.start == own.end:
                    span["bep"] = 0  # a point, which holds nothing
                    continue
                units = objects.count_units(locator[own.doc], unit)
                start, end, length = units[[own.start or 0, own.end or 0, -1]].tolist()
                span |= {"start": start, "end": end - inclusive}
                if key == "quote" and record["length"] is None:
                    record["length"] = length
        except UnplacedSpanError as error:
            problems.append(Problem(error.code, source.path, line, str(error)))
    raise_problems([*table.problems, *problems])
    found = pl.DataFrame(records, schema=table.frame.schema).with_columns(row=rows)
    frame = table.frame.with_row_index("row").update(found, on="row").sort("row").drop("row")
    return table._replace(frame=frame), locator.describe(placed)


def documents_needed(source: Source, key: str) -> tuple[frozenset[str], bool]:
    """Return the documents whose texts a file needs, and True if it needs all documents.

    These are the documents of spans given by their text (`key` is ``text`` in runs, ``quote`` in
    judgements), or all that are named if the header declares offsets in bytes or UTF-16 units. A
    quote without ``doc`` may be in any document.
    """
    source = source.in_lines()
    if not source.head[1].startswith(b"{"):
        return frozenset(), False
    header, header_line = objects.header_of(source)
    schema = _RUN if key == "text" else {**_SPAN, **_JUDGEMENT}
    frame = objects.tabulate_objects(source, schema, header_line).frame
    doc = frame["doc"]
    if header.get("unit", "codepoint") == "codepoint":
        doc = doc.filter(_mark_bare(frame if key == "text" else _nest_quotes(frame)[0], key))
    return frozenset(doc.drop_nulls()), key == "quote" and "" in doc.fill_null("")


# -- judgements ------------------------------------------------------------------------------------

# Names in the header and ours for them; ``version`` there is that of the format.
_KEPT = {name: name for name in ("collection", "scale", "whitespace")}
_KEPT |= {"assessments-version": "version"}
# Words for the rules by which white space counts, and ours for them.
_WHITESPACE = {rule: rule for rule in ("keep", "merge", "strip")}
_WHITESPACE |= {"merge-whitespace": "merge", "strip-whitespace-nodes": "strip"}
_LABELS = ("sets", "aspects")  # lists of names that a span may have
_SPAN: dict[str, Any] = {
    **dict.fromkeys(("start", "end"), pl.Int64),
    "grade": pl.Float64,
    **dict.fromkeys(("assessor", "quote", "prefix", "suffix"), pl.String),
    **dict.fromkeys(_LABELS, pl.List(pl.String)),
}
_JUDGEMENT: dict[str, Any] = {
    **dict.fromkeys(("topic", "doc", "assessor"), pl.String),
    **dict.fromkeys(("length", "bep"), pl.Int64),
    "spans": pl.List(pl.Struct(_SPAN)),
    "elements": pl.List(pl.Struct(graded.ELEMENT_COLUMNS)),
}
_NO_SPANS = pl.all_horizontal(pl.col("spans", "elements").is_null())
_NO_OFFSETS = pl.all_horizontal(pl.col("start", "end").is_null())
_PAST = "is past the document's length {length}"
_ROW_RULES = [
    *NAME_RULES,
    RowRule("judgements.spans", _NO_SPANS, "spans is missing; expected [] if none is relevant"),
]
_LENGTH_RULES = [
    range_rule("length", "judgements.length"),
    range_rule("bep", "judgements.bep"),
    RowRule("judgements.bep", pl.col("bep") > pl.col("length"), f"bep {{bep}} {_PAST}"),
]


def read_judgements(source: Source, *, texts: Mapping[str, str] | None = None) -> Judgements:
    """Read judgements with spans, best entry points, assessors and elements."""
    allowed = {
        "format": JSON_FORMATS["judgements"],
        "scale": graded.GRADES,
        "whitespace": _WHITESPACE,
    }
    header, header_line = objects.read_header(source, **allowed)
    known = {ours: str(header[name]) for name, ours in _KEPT.items() if name in header}
    known |= {"whitespace": _WHITESPACE[known["whitespace"]]} if "whitespace" in known else {}
    has_quotes = b'"quote"' in source.data
    # A line may be one quote, with the fields of a span.
    schema = {**_SPAN, **_JUDGEMENT} if has_quotes else _JUDGEMENT
    table = objects.tabulate_objects(source, schema, header_line)
    unread = objects.unknown_fields(source, table.frame, header_line) if source.thorough else {}
    bare = _mark_bare_topics(source, table)
    topics, has_text = table.frame["topic"].filter(bare), table.frame["spans"].count() > 0
    table = RowTable(table.frame.filter(~bare), table.line[~bare], table.problems)
    is_single, notes = pl.Series([False]), tuple[str, ...]()
    if has_quotes:
        frame, is_single = _nest_quotes(table.frame)
        table, notes = _place_texts(table._replace(frame=frame), "quote", source, texts, header)
    problems = [*table.problems, *check_rules(source.path, table.line, table.frame, _ROW_RULES)]
    frame = table.frame.with_columns(line=pl.Series(table.line))
    if is_single.any():
        merged, found = merge_rows(frame.filter(is_single), source.path)
        frame = pl.concat([frame.filter(~is_single), merged]).sort("line")
        problems += found
    return build_judgements(
        _split_assessors(frame),
        source,
        unit=header.get("unit", "codepoint"),
        inclusive=header.get("end") == "inclusive",
        texts=texts,
        problems=problems,
        has_text=frame["spans"].count() > 0 if len(frame) else has_text,
        header=known,
        unread=unread,
        topics_without_documents=topics,
        notes=notes,
    )


def merge_rows(frame: pl.DataFrame, path: str) -> tuple[pl.DataFrame, list[Problem]]:
    """Return a row for each topic, document and assessor with the spans of all their rows.

    Different lengths or best entry points of one document are problems.
    """
    whose, rules = ["topic", "doc", "assessor"], list[RowRule]()
    for name in ("length", "bep"):
        first = pl.col(name).drop_nulls().first().over(whose)
        message = (
            f"{name} {{{name}}} of document {{doc}}, topic {{topic}}, differs from an earlier one"
        )
        rules.append(RowRule(f"judgements.{name}", pl.col(name) != first, message))
    problems = check_rules(path, frame["line"].to_numpy(), frame, rules)
    rows = frame.group_by(whose, maintain_order=True).agg(
        pl.exclude("length", "bep", "spans").first(),
        pl.col("length", "bep").drop_nulls().first(),
        pl.col("spans").explode().drop_nulls(),
    )
    return rows.select(frame.columns), problems


def build_judgements(
    frame: pl.DataFrame,
    source: Source,
    *,
    has_text: bool,
    unit: str = "codepoint",
    inclusive: bool = False,
    texts: Mapping[str, str] | None = None,
    problems: Iterable[Problem] = (),
    header: dict[str, str] | None = None,
    unread: dict[str, int] | None = None,
    **extra: Any,
) -> Judgements:
    """Return judgements from rows of JSON Lines or objects, which have a ``line``.

    Columns are those of `_JUDGEMENT`; ``elements`` may be missing. A column ``relevant`` tells
    which documents are relevant. All `problems` are raised together with those found here.
    """
    line, number = frame["line"].to_numpy(), pl.int_range(pl.len(), dtype=pl.Int64)
    spans = frame.select("doc", "length", "spans", row=number).explode("spans")
    spans = spans.drop_nulls("spans").unnest("spans")
    inner = line[spans["row"].to_numpy()]
    past = pl.col("end") + int(inclusive) > pl.col("length")
    rules = [
        *list_offset_rules(inclusive=inclusive),
        RowRule("span.incomplete", _NO_OFFSETS, "a span without start and end"),
        RowRule("judgements.length", past, f"end {{end}} {_PAST}"),
    ]
    problems = [*problems, *check_rules(source.path, line, frame, _LENGTH_RULES)]
    problems += check_rules(source.path, inner, spans, rules)
    spans = spans.with_columns(pl.col("end") + int(inclusive))
    rows = frame.drop("spans", "elements", strict=False)
    rows = rows.with_columns(pl.col("length", "bep").fill_null(UNKNOWN))
    judged, elements = np.ones(len(frame), dtype=bool), None
    if "elements" in frame.columns and (frame["elements"].count() or not has_text):
        flat = frame.select("elements", row=number)
        flat = flat.explode("elements").drop_nulls("elements").unnest("elements")
        owner, scale = flat["row"].to_numpy(), (header or {}).get("scale")
        checked = graded.check_elements(flat, source.path, line[owner], scale)
        problems += checked.problems
        elements = checked.elements if len(checked.elements) else None
        header = {**(header or {})} | ({} if checked.scale is None else {"scale": checked.scale})
        if len(checked.elements) < len(flat):
            unread = {**(unread or {}), graded.UNKNOWN_GRADES: len(flat) - len(checked.elements)}
        # A document of which everything is unknown was not judged.
        judged[owner] = frame["spans"].is_not_null().to_numpy()[owner]
        judged[owner[checked.known]] = True
        relevant = graded.mark_relevant(checked.elements, len(frame), checked.scale)
        if has_text:
            positive = (spans["end"] > spans["start"]) & (spans["grade"].fill_null(1.0) > 0)
            found = positive.fill_null(value=False).to_numpy()  # an end may be missing
            relevant &= ~np.isin(line, inner[found])
            message = "relevant elements, but no span is relevant"
            rule = RowRule("judgements.spans", pl.Series(relevant), message)
            problems += check_rules(source.path, line, rows, [rule])
        else:
            rows = rows.with_columns(relevant=pl.Series(relevant))
    raise_problems([*dict.fromkeys(problems)])
    spans = spans.with_columns(
        objects.to_codepoints(spans[n], spans["doc"], unit, texts, source.path, inner)
        for n in ("start", "end")
    )
    rows = rows.with_columns(
        objects.to_codepoints(rows[n], rows["doc"], unit, texts, source.path, line)
        for n in ("length", "bep")
    )
    quotes = spans.select("quote", "prefix", "suffix")
    given = [name for name in _LABELS if spans[name].list.len().sum()]
    labels = spans.select(pl.col(given).list.unique(maintain_order=True))
    labels = labels.with_columns(pl.when(pl.all().list.len() > 0).then(pl.all()))
    judgements = Judgements.from_rows(
        rows,
        np.bincount(spans["row"].to_numpy(), minlength=len(rows)).astype(np.int64),
        spans["start"].to_numpy(),
        spans["end"].to_numpy(),
        source=source.provenance,
        grade=spans["grade"].fill_null(1.0).to_numpy(),
        quotes=quotes if any(column.count() for column in quotes) else None,
        **labels.to_dict(),
        has_text=has_text,
        elements=elements,
        header=header,
        unread=unread or None,
        **extra,
    )
    judgements = judgements if judged.all() else judgements.only(judged)
    raise_problems(judgements.find_repeated())
    return judgements


def _mark_bare_topics(source: Source, table: RowTable) -> npt.NDArray[np.bool_]:
    """Mark topics without a judged document, ``{"topic": "9", "spans": []}``.

    Any other field shows that a document was meant, though under another name than ``doc``.
    """
    listed = pl.col("spans", "elements").list.len()
    bare = table.frame.select(
        pl.col("doc").is_null()
        & (pl.col("topic").fill_null("") != "")
        & ~_NO_SPANS
        & (pl.sum_horizontal(listed) == 0)
    ).to_series()
    for at in bare.arg_true():
        names = _read_line(source, int(table.line[at])).keys()
        bare[at] = names <= {"topic", "spans", "elements"}
    return bare.to_numpy()


def _split_assessors(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each object and assessor.

    Spans may name another assessor than their object. Elements are those of the object's assessor,
    or of all if no span is theirs.
    """
    if not frame["spans"].explode().struct.field("assessor").count():
        return frame
    every = frame.with_columns(own="assessor", is_given=pl.col("spans").is_not_null())
    every = (
        every.with_row_index("place")
        .explode("spans", keep_nulls=True, empty_as_null=True)  # nothing relevant: still judged
        .with_columns(assessor=pl.coalesce(pl.col("spans").struct.field("assessor"), "assessor"))
    )
    every = every.sort("place", "assessor", maintain_order=True)
    rows = every.group_by("place", "assessor", maintain_order=True).agg(
        pl.exclude("spans").first(), spans=pl.col("spans").drop_nulls()
    )
    is_own = pl.col("assessor").eq_missing(pl.col("own"))
    elements = pl.when(is_own | ~is_own.any().over("place")).then("elements")
    rows = rows.with_columns(elements=elements, spans=pl.when("is_given").then("spans"))
    return rows.select(frame.columns)


def declared_whitespace(source: Source) -> str | None:
    """Return the rule for white space that the header declares."""
    return _WHITESPACE.get(str(objects.header_of(source)[0].get("whitespace")))


def write_judgements(judgements: Judgements) -> str:
    """Write judgements with a header, one line per topic, document and assessor, without loss."""
    own, has_text, known = judgements, judgements.has_text, judgements.header or {}
    if not has_text:  # relevance must show in the elements
        if own.places is not None:
            is_placed = np.isin(range(len(own)), own.places["row"])
            what = "a passage or entry point by XPath, which a collection can place (--collection)"
            check_rows(own, is_placed, what, instead="INEX XML")
        told = graded.mark_relevant(own.elements, len(own), known.get("scale"))
        check_rows(own, own.relevant & ~told, "relevant as a whole document", instead="TREC")
    names = {ours: name for name, ours in _KEPT.items()}
    header = {"type": "header", "format": JSON_FORMATS["judgements"][0], "version": 1}
    header |= {"unit": "codepoint", "end": "exclusive"}
    header |= {names.get(name, name): value for name, value in known.items()}
    columns: dict[str, Any] = {"start": own.start, "end": own.end, "grade": own.grade}
    columns |= {} if own.quotes is None else own.quotes.to_dict()
    columns |= {name: getattr(own, name) for name in _LABELS}
    table = pl.DataFrame({name: column for name, column in columns.items() if column is not None})
    spans = [
        {k: v for k, v in row.items() if v is not None and v != []} for row in table.to_dicts()
    ]
    for span in spans:
        if span.get("grade", 0.5).is_integer():
            span["grade"] = int(span["grade"])
    elements = dict[int, list[dict[str, Any]]]()
    for row in () if own.elements is None else own.elements.iter_rows(named=True):
        element = {k: v for k, v in row.items() if v is not None and k in graded.ELEMENT_COLUMNS}
        elements.setdefault(row["row"], []).append(element)
    records = [header]
    for i, doc in enumerate(own.doc):
        length, bep = (int(x) if x >= 0 else None for x in (own.length[i], own.bep[i]))
        record = {"topic": own.topics[own.topic[i]], "doc": doc, "length": length, "bep": bep}
        record["assessor"] = None if own.assessor is None else own.assessor[i]
        record["spans"] = spans[own.bounds[i] : own.bounds[i + 1]] if has_text else None
        record["elements"] = elements.get(i, None if has_text else [])
        records.append(record)
    nothing = "spans" if has_text else "elements"
    bare = [{"topic": topic, nothing: []} for topic in own.topics_without_documents]
    return objects.write_objects([*records, *bare])


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

Results are ordered by `rank`, else by falling `score`, else as in the file; equal ranks are ties if
there is no score. Header fields and their defaults: `run` (the stem of the file name), `task`
(none), `unit` (`codepoint`), `end` (`exclusive`). `focused-run` is another name of the format.""",
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
| `topic`, `doc` | required; texts. `doc` may be missing if only one document holds the quotes |
| `spans` | relevant text; `[]` is judged, nothing relevant. Spans may overlap and count once. \
`{"topic": "9", "spans": []}` alone is a judged topic with nothing relevant in any document |
| `length` | characters of the document; some measures need it |
| `bep` | best entry point |
| `assessor` | on the line or on a span; see [several assessors](evaluate.md#several-assessors) |
| `elements` | assessed elements, instead of `spans` or beside them: `xpath` and the grades and \
sizes of [their scale](#judgements-inex) |

A span may carry `grade` (1 if absent; 0 is not relevant), `quote`, `prefix` and `suffix`, which can
be [verified](anchors.md); `sets` names its [evidence sets](evidence.md), as in `["a1", "a2"]`, and
`aspects` its aspects, for [measures of TREC Genomics](other-tools.md). A span with a `quote` and no
offsets is [located](anchors.md#quotes) in the text of its document, which commands take with
`--texts`, or `-C` with `--documents`, and Python with `texts=`. A line may also be one quote,
without `spans`; lines of one topic and document belong together.

The header may also hold `collection`, `scale` (2002, 2003, 2005 or 2006; else the grades of the
elements tell), `whitespace` (`keep`, `merge` or `strip`) and `assessments-version`. `focused-qrels`
is another name of the format. Grades and sizes of elements must fit the scale. If no line has
`spans`, the elements decide if a document is relevant.""",
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
