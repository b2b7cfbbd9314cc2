"""JSON Lines: runs with an object per result, judgements with one per topic, document, assessor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem, Tally
from foveal.files.source import Source
from foveal.formats import JSON_FORMATS, Format, Parsed, json_kind, lazy_losses, objects, parse_with
from foveal.formats import graded_elements as graded
from foveal.formats.columns import RESULT_COLUMNS, TEXT_ALONE, parse_results
from foveal.formats.rows import (
    NAME_RULES,
    RULES,
    RowRule,
    RowTable,
    check_rows,
    check_rules,
    list_offset_rules,
    raise_problems,
    range_rule,
)
from foveal.model import Judgements, Run

# -- runs ------------------------------------------------------------------------------------------

_RUN: dict[str, Any] = RESULT_COLUMNS | {"type": pl.String, "results": pl.List(pl.String)}
_OTHERS = pl.col(*(name for name in RESULT_COLUMNS if name != "topic"))
_EMPTY_RULES = [
    *NAME_RULES[:2],
    RowRule(
        "run.results",
        (pl.col("results").list.len() > 0)
        | pl.any_horizontal(_OTHERS.is_not_null(), "has_results"),
        "results of topic {topic}; expected [] for a topic that has none, without other fields or "
        "lines, else one result per line",
    ),
]


def parse_run(source: Source, *, texts: Mapping[str, str] | None = None) -> Parsed:
    """Parse a run, ordered by rank, else by descending score, else as in the file."""
    header, header_line = objects.read_header(source, format=JSON_FORMATS["run"])
    again = RowRule("json.header", pl.col("type") == "header", "a second header; expected one run")
    table = objects.tabulate_objects(source, _RUN, header_line).check(source.path, [again])
    nothing = tuple[str, ...]()
    if b'"results"' in source.data and (listed := table.frame["results"].is_not_null()).any():
        given = table.frame.filter(~listed)["topic"]
        named = table.frame.filter(listed).with_columns(has_results=pl.col("topic").is_in(given))
        named, problems = RowTable(named, table.problems).check(source.path, _EMPTY_RULES)
        nothing = tuple(named["topic"].unique(maintain_order=True))
        table = RowTable(table.frame.filter(~listed), problems)
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
    notes, unread = run.notes, objects.count_unknown_fields(source, _RUN, header_line)
    whole = run.line[(run.end < 0) & (run.start == 0)]
    if len(whole):
        # Fields that are not known may be the span of the first result that has none.
        first = int(whole.min())
        unknown = [name for name in _read_line(source, first) if name not in _RUN]
        note = Tally(describe_whole_documents, len(whole), [(first, unknown)])
        # The first such result of the file may be in another part of it.
        notes += (note,) if note or source.lines is not None else ()
    unread["texts of results"] = table.frame["text"].count()
    run = replace(run, notes=notes, unread=+unread or None, topics_without_results=nothing)
    return parsed._replace(content=run)


def _read_line(source: Source, line: int) -> dict[str, Any]:
    """Return the object on a line."""
    place = source.place(line)
    record: dict[str, Any] = objects.loads(source.data.split(b"\n", place)[place - 1])
    return record


def describe_whole_documents(number: int, firsts: Sequence[tuple[int, list[str]]]) -> str:
    """Return the note on `number` whole documents; the first one has unknown fields."""
    line, unknown = min(firsts)
    if not unknown:
        return ""
    where = f"not understood on line {line}: {', '.join(unknown[:5])}"
    return f"results without start and end, taken as whole documents: {number}; {where}"


def write_run(run: Run) -> str:
    """Write the run with a header; nothing that Foveal knows of a run is lost."""
    about = {"run": run.name, "task": run.task, **objects.OFFSETS}
    frame = run.to_frame()
    frame = frame.with_columns(start=pl.when(pl.col("end").is_not_null()).then("start"))
    nothing = ({"topic": topic, "results": []} for topic in run.topics_without_results)
    return objects.write_objects("run", about, chain(frame.iter_rows(named=True), nothing))


def find_needed_documents(source: Source, key: str) -> tuple[frozenset[str], bool]:
    """Return the documents whose texts a file needs, and True if it needs all documents.

    These are the documents of spans given by their text (`key` is ``text`` in runs, ``quote`` in
    judgements), or all that are named if the header declares offsets in bytes or UTF-16 units. A
    quote without ``doc`` may be in any document.
    """
    source = source.in_lines()
    if not source.head[1].startswith(b"{"):
        return frozenset(), False
    if json_kind(source) == "answers":
        from foveal.formats.answers import list_documents

        return list_documents(source), False
    header, header_line = objects.find_header(source)
    schema = _RUN if key == "text" else _JUDGEMENT | _SPAN
    frame = objects.tabulate_objects(source, schema, header_line).frame
    if key == "quote":
        frame = _list_spans(frame)
    is_bare = TEXT_ALONE if key == "text" else _IS_BARE
    unit = header.get("unit", "codepoint")
    doc = (frame.filter(is_bare) if unit == "codepoint" else frame)["doc"]
    return frozenset(doc.drop_nulls()), key == "quote" and "" in doc.fill_null("")


# -- judgements ------------------------------------------------------------------------------------

# Names in the header and ours for them; ``version`` there is that of the format.
_KEPT = {name: name for name in ("collection", "scale", "whitespace")}
_KEPT |= {"assessments-version": "version"}
_LABELS = ("sets", "slots", "aspects")  # lists of names that a span may have
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
    "answerable": pl.Boolean,
}
_OF_SPAN = ("start", "end", "grade", "prefix", "suffix", *_LABELS)
_WHOSE = ("topic", "doc", "assessor")
_NO_SPANS = pl.all_horizontal(pl.col("spans", "elements").is_null())
_NO_OFFSETS = pl.all_horizontal(pl.col("start", "end").is_null())
_IS_BARE = _NO_OFFSETS & pl.col("text").is_not_null()
_PAST = "is past the document's length {length}"
_NOWHERE = pl.col("is_span") & _NO_OFFSETS & pl.col("text").is_null()
_NO_JUDGEMENT = ~pl.any_horizontal("is_given", "has_elements")
_NONE_GIVEN = "spans is missing; expected [] if none is relevant"
_OBJECT_RULES = [
    RowRule("judgements.spans", _NO_JUDGEMENT, _NONE_GIVEN),
    RowRule("span.incomplete", _NOWHERE, "a span without start and end"),
]
_TOPIC_RULES = [
    RULES["topic"],
    RowRule(
        "judgements.answerable",
        pl.col("answerable") != pl.col("answerable").drop_nulls().first().over("topic"),
        "answerable {answerable} of topic {topic} differs from an earlier line",
    ),
]
# Empty, or an array or object, which Polars reads as text.
_NO_NAME = pl.element().is_null() | pl.element().str.contains(r"^$|^\[.*\]$|^\{.*\}$")
_RULES = [
    *NAME_RULES,
    *(
        RowRule(
            "span.names",
            pl.col(name).list.eval(_NO_NAME).list.any(),
            f'{name} must be a list of names, as in ["a", "b"]',
        )
        for name in _LABELS
    ),
    range_rule("length", "judgements.length"),
    range_rule("bep", "judgements.bep"),
    RowRule("judgements.bep", pl.col("bep") > pl.col("length"), f"bep {{bep}} {_PAST}"),
    RowRule("judgements.length", pl.col("end") > pl.col("length"), f"end {{end}} {_PAST}"),
    *(
        RowRule(
            f"judgements.{name}",
            pl.col(name) != pl.col(name).drop_nulls().first().over("row"),
            f"{name} {{{name}}} of document {{doc}}, topic {{topic}}, differs from an earlier one",
        )
        for name in ("length", "bep")
    ),
]


def read_judgements(source: Source, *, texts: Mapping[str, str] | None = None) -> Judgements:
    """Read judgements with spans, best entry points, assessors and elements."""
    header, header_line = objects.read_header(
        source, format=JSON_FORMATS["judgements"], scale=graded.GRADES, whitespace=graded.WHITESPACE
    )
    known = {ours: str(header[name]) for name, ours in _KEPT.items() if name in header}
    # A line may be one quote, with the fields of a span.
    schema = _JUDGEMENT | (_SPAN if b'"quote"' in source.data else {})
    table = objects.tabulate_objects(source, schema, header_line)
    unread = objects.count_unknown_fields(source, schema, header_line)
    is_bare = _mark_bare_topics(source, table.frame)
    topics, given = table.frame["topic"].filter(is_bare), table.frame.filter(~is_bare)
    frame = _list_spans(given)
    has_text = bool(frame["is_given"].any() if len(frame) else table.frame["spans"].count())

    path, inclusive = source.path, header.get("end") == "inclusive"
    rules = [*_OBJECT_RULES, *list_offset_rules(inclusive=inclusive)]
    problems = [*table.problems, *check_rules(path, frame, rules)]
    problems += check_rules(path, table.frame.filter(is_bare), _TOPIC_RULES)
    frame, notes = frame.with_columns(pl.col("end") + int(inclusive)), tuple[str, ...]()
    unit = header.get("unit", "codepoint")
    try:
        placed = frame.clear()
        if (bare := frame.select(_IS_BARE).to_series()).any():
            from foveal.formats.locate import TextLocator, place_rows

            placed, notes = place_rows(frame, path, TextLocator(texts), bare)
            # The quotes of an object show which document all of it is about.
            own = pl.col("doc", "size")
            placed = placed.with_columns(own.fill_null(own.drop_nulls().first().over("object")))
            frame = frame.with_columns(placed["doc"])
        names = ("start", "end", "length", "bep")
        frame = objects.to_codepoints(frame, names, unit, texts, path)
        if len(placed):
            frame = frame.with_columns(
                pl.col(name).fill_null(placed[found])
                for name, found in (("start", "start"), ("end", "end"), ("length", "size"))
            )
    except InputError as error:
        raise_problems([*problems, *error.problems])
    if frame["is_quote"].any():  # such lines belong together, under the number of the first
        first = pl.col("object").first().over(*_WHOSE, "is_quote")
        frame = frame.with_columns(object=pl.when("is_quote").then(first).otherwise("object"))

    elements = None
    if given["elements"].count() or not has_text:
        flat = given.select("elements", "line", row=pl.int_range(pl.len(), dtype=pl.Int64))
        flat = flat.explode("elements").drop_nulls("elements").unnest("elements")
        owner = flat["row"].to_numpy()
        checked = graded.check_elements(flat, path, known.get("scale"))
        problems += checked.problems
        elements = checked.elements.drop("line") if len(checked.elements) else None
        known |= {} if checked.scale is None else {"scale": checked.scale}
        unread[graded.UNKNOWN_GRADES] = len(flat) - len(checked.elements)
        relevant = graded.mark_relevant(checked.elements, len(given), checked.scale)
        if has_text:
            positive = (pl.col("end") > pl.col("start")) & (pl.col("grade").fill_null(1.0) > 0)
            relevant &= ~np.isin(range(len(given)), frame.filter(positive)["object"])
            message = "relevant elements, but no span is relevant"
            rule = RowRule("judgements.spans", pl.Series(relevant), message)
            problems += check_rules(path, given, [rule])
        else:
            frame = frame.with_columns(relevant=pl.Series(relevant).gather(frame["object"]))
        # A document of which everything is unknown was not judged.
        unknown = np.setdiff1d(owner, owner[checked.known])
        frame = frame.filter(pl.col("is_given") | ~pl.col("object").is_in(unknown.tolist()))
    return build_judgements(
        frame,
        source,
        problems=problems,
        has_text=has_text,
        elements=elements,
        header=known,
        unread=+unread or None,
        topics_without_documents=topics,
        unanswerable=frozenset(table.frame.filter(~pl.col("answerable"))["topic"].drop_nulls()),
        notes=notes,
    )


def _list_spans(given: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each span of the objects, and one for each object without spans.

    A span may name another assessor than its object, the ``owner`` of elements.
    """
    given = given.with_columns(
        object=pl.int_range(pl.len(), dtype=pl.Int64),
        is_quote=_NO_SPANS & pl.col("quote").is_not_null() if "quote" in given else False,
    )
    if "quote" in given:
        quote = pl.when("is_quote").then(pl.concat_list(pl.struct(*_SPAN)))
        given = given.with_columns(spans=quote.otherwise("spans"))
    field = pl.col("spans").struct.field
    return (
        given.with_columns(
            owner="assessor",
            is_given=pl.col("spans").is_not_null(),
            has_elements=pl.col("elements").is_not_null(),
        )
        .select(pl.exclude("elements", "quote", *_OF_SPAN))
        .explode("spans", keep_nulls=True, empty_as_null=True)
        .with_columns(
            *map(field, _OF_SPAN),
            text=field("quote"),
            assessor=pl.coalesce(field("assessor"), "owner"),
            is_span=pl.col("spans").is_not_null(),
        )
    )


def build_judgements(
    frame: pl.DataFrame,
    source: Source,
    *,
    has_text: bool,
    problems: Iterable[Problem] = (),
    elements: pl.DataFrame | None = None,
    **extra: Any,
) -> Judgements:
    """Return judgements from a row for each span; a row without start is a judged document.

    Rows of one ``object`` and assessor are one judgement. They may differ in the columns of a span,
    ``text`` being its quote. A column ``relevant`` marks documents that are relevant. `elements`
    point to objects by ``row``: they are of the object's ``owner``, or of all assessors if no span
    is the owner's. All `problems` are raised together with those found here.
    """
    frame = frame.sort("object", "assessor", maintain_order=True)
    frame = frame.with_columns(row=pl.struct("object", "assessor").rle_id().cast(pl.Int64))
    raise_problems([*problems, *check_rules(source.path, frame, _RULES)])
    relevant = [pl.col("relevant").any()] if "relevant" in frame.columns else []
    rows = frame.group_by("row", maintain_order=True).agg(
        pl.col(*_WHOSE, "object", "owner", "line").first(),
        pl.col("length", "bep").drop_nulls().first(),
        *relevant,
    )
    if elements is not None:
        is_own = pl.col("assessor").eq_missing(pl.col("owner"))
        holders = rows.filter(is_own | ~is_own.any().over("object")).select("object", "row")
        elements = holders.join(elements.rename({"row": "object"}), on="object")
        elements = elements.select(pl.exclude("object", "row"), "row")
    spans = frame.filter(pl.col("start").is_not_null())
    quotes = spans.select(pl.col("text").alias("quote"), "prefix", "suffix")
    given = [name for name in _LABELS if spans[name].list.len().sum()]
    labels = spans.select(pl.col(given).list.unique(maintain_order=True))
    labels = labels.with_columns(pl.when(pl.all().list.len() > 0).then(pl.all()))
    judgements = Judgements.from_rows(
        rows.drop("row", "object", "owner"),
        np.bincount(spans["row"].to_numpy(), minlength=len(rows)).astype(np.int64),
        spans["start"].to_numpy(),
        spans["end"].to_numpy(),
        source=source.provenance,
        grade=spans["grade"].fill_null(1.0).to_numpy(),
        quotes=quotes if any(column.count() for column in quotes) else None,
        **labels.to_dict(),
        has_text=has_text,
        elements=elements,
        **extra,
    )
    raise_problems([*judgements.find_repeated(), *judgements.find_answered()])
    return judgements


def _mark_bare_topics(source: Source, frame: pl.DataFrame) -> pl.Series:
    """Mark topics without a judged document: ``"spans": []`` or ``"answerable": false`` alone.

    Any other field shows that a document was meant, though under another name than ``doc``.
    """
    listed = pl.col("spans", "elements").list.len()
    bare = frame.select(
        pl.col("doc").is_null()
        & (pl.col("topic").fill_null("") != "")
        & (~_NO_SPANS | pl.col("answerable").is_not_null())
        & (pl.sum_horizontal(listed) == 0)
    ).to_series()
    allowed = {"topic", "spans", "elements", "answerable"}
    for at in bare.arg_true():
        bare[at] = _read_line(source, frame["line"][at]).keys() <= allowed
    return bare


def read_whitespace_rule(source: Source) -> str | None:
    """Return the rule for white space that the header declares."""
    rule = objects.find_header(source)[0].get("whitespace")
    return rule if rule in graded.WHITESPACE else None


def write_judgements(judgements: Judgements) -> str:
    """Write judgements with a header, one line per topic, document and assessor, without loss."""
    own, has_text, known = judgements, judgements.has_text, judgements.header or {}
    if not has_text:  # relevance must show in the elements
        if own.places is not None:
            is_placed = np.isin(range(len(own)), own.places["row"])
            what = "a passage or entry point by XPath, which a collection can place (--collection)"
            check_rows(own, is_placed, what, instead="INEX XML")
        shown = graded.mark_relevant(own.elements, len(own), known.get("scale"))
        check_rows(own, own.relevant & ~shown, "relevant as a whole document", instead="TREC")
    names = {ours: name for name, ours in _KEPT.items()}
    about = objects.OFFSETS | {names.get(name, name): value for name, value in known.items()}
    columns: dict[str, Any] = {"start": own.start, "end": own.end, "grade": own.grade}
    columns |= {} if own.quotes is None else own.quotes.to_dict()
    columns |= {name: getattr(own, name) for name in _LABELS}
    table = pl.DataFrame({name: column for name, column in columns.items() if column is not None})
    spans = []
    for row in table.to_dicts():
        if row.get("grade", 0.5).is_integer():
            row["grade"] = int(row["grade"])
        spans.append({k: v for k, v in row.items() if v is not None and v != []})
    elements = dict[int, list[dict[str, Any]]]()
    for row in () if own.elements is None else own.elements.iter_rows(named=True):
        element = {k: v for k, v in row.items() if v is not None and k in graded.ELEMENT_COLUMNS}
        elements.setdefault(row["row"], []).append(element)
    records = list[dict[str, Any]]()
    for i, doc in enumerate(own.doc):
        length, bep = (int(x) if x >= 0 else None for x in (own.length[i], own.bep[i]))
        record = {"topic": own.topics[own.topic[i]], "doc": doc, "length": length, "bep": bep}
        record["assessor"] = None if own.assessor is None else own.assessor[i]
        record["spans"] = spans[own.bounds[i] : own.bounds[i + 1]] if has_text else None
        record["elements"] = elements.get(i, None if has_text else [])
        records.append(record)
    nothing = "spans" if has_text else "elements"
    bare = {*own.topics_without_documents} - own.unanswerable
    records += [{"topic": topic, nothing: []} for topic in own.topics if topic in bare]
    records += [{"topic": t, "answerable": False} for t in own.topics if t in own.unanswerable]
    return objects.write_objects("judgements", about, records)


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
| `results` | `{"topic": "9", "results": []}` says that the run \
[returns nothing](unanswerable.md) for a topic |

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
        lazy_losses("run_losses", keeps="results offsets xpaths tokens task name topics"),
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
| `answerable` | `{"topic": "9", "answerable": false}` is a topic that no document answers: the \
[right result](unanswerable.md) is none |
| `assessor` | on the line or on a span; see [several assessors](evaluate.md#several-assessors) |
| `elements` | assessed elements, instead of or in addition to `spans`: `xpath` and the grades and \
sizes of [their scale](#judgements-inex) |

A span may carry `grade` (1 if absent; 0 is not relevant), `quote`, `prefix` and `suffix`, which can
be [verified](anchors.md); `sets` names its [evidence sets](evidence.md), as in `["a1", "a2"]`,
`slots` the [slots](slots.md) that it can fill, as in `["born"]`, and `aspects` its aspects, for
[measures of TREC Genomics](other-tools.md). A span with a `quote` and no
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
