"""Runs and judgements from Python objects: results of frameworks, dicts, tuples, data frames.

No framework is imported. Objects are recognised by their attributes, so that any version of a
framework works, and so do subclasses and objects with the same attributes.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import polars as pl

from foveal.errors import Problem, UsageError, shorten_list
from foveal.files.source import Source
from foveal.formats.columns import parse_results
from foveal.formats.jsonl import build_judgements
from foveal.formats.locate import TextLocator, place_rows
from foveal.formats.rows import (
    NAME_RULES,
    RowRule,
    RowTable,
    check_rules,
    list_offset_rules,
    raise_problems,
)
from foveal.model import Judgements, Provenance, Run

DocOf = str | Callable[[Any], Any] | None
"""The document of a result: the name of a field, or a function of the object."""

_TEXTS = ("topic", "doc", "text", "xpath", "assessor", "run", "prefix", "suffix")
COLUMNS: dict[str, Any] = {
    **dict.fromkeys(_TEXTS, pl.String),
    **dict.fromkeys(("start", "end", "rank", "tokens", "length", "bep", "line"), pl.Int64),
    **dict.fromkeys(("score", "grade"), pl.Float64),
    **dict.fromkeys(("sets", "slots", "aspects"), pl.List(pl.String)),
}
"""The columns that any table may have, and their types."""
_PLACE = ("topic", "doc", "start", "end")
_OF_RUN = (*_PLACE, "score", "rank", "xpath", "text", "tokens")
_OF_SPAN = ("text", "prefix", "suffix", "assessor", "length", "bep", "sets", "slots", "aspects")
OF_JUDGEMENTS = (*_PLACE, "grade", *_OF_SPAN)
_USUAL = {
    "topic": "topic topic_id query_id qid question_id",
    "doc": "doc doc_id docid docno document_id source source_id ref_doc_id corpus_id file_path "
    "file_name",
    "start": "start start_index start_char_idx split_idx_start start_char char_start start_offset",
    "end": "end end_index end_char_idx end_char char_end end_offset",
    "text": "text page_content content quote",
    "tokens": "tokens token_count",
    "grade": "grade relevance label",
}
USUAL = {name: _USUAL.get(name, name).split() for name in COLUMNS}
"""Our names of columns, and the names that others give them; the first that is there counts."""


def run_of(
    results: Any,
    *,
    name: str | None = None,
    doc: DocOf = None,
    texts: Mapping[str, str] | None = None,
    unplaced: str = "error",
) -> Run:
    """Return a run from what a retriever returned.

    Parameters
    ----------
    results : mapping, data frame or sequence of rows
        ``{topic: [result, ...]}``, each list in rank order unless all results have a ``rank``. A
        result is an object of LangChain, LlamaIndex, Haystack or Chonkie, a dict, or a tuple
        ``(doc, start, end)`` with the score as an optional fourth; an object may be in a pair with
        its score. Or a frame of Polars or pandas, or a list of dicts or tuples that begin with the
        topic: rows are ordered by rank, else by descending score, else as given.
    name : str, optional
        The name of the run; by default the one in the column ``run`` of a frame, else ``run``.
    doc : str or callable, optional
        The field that names the document, or a function of the result, if it is not a usual one.
    texts : mapping of str to str, optional
        The text of each document. Results with offsets and text are compared with it; results
        with nothing but their text are placed by it.
    unplaced : {"error", "empty"}
        A text that is not in its document, or occurs there more than once, is an error, or becomes
        a result that keeps its rank and holds nothing, which is noted.

    Examples
    --------
    >>> run_of({"1": [("d1", 20, 40, 9.5), ("d2", 0, 50, 7.25)]}, name="mine").score.tolist()
    [9.5, 7.25]
    >>> run_of({"1": [{"doc": "d1", "text": "ferry"}]}, texts={"d1": "a ferry"}).start.tolist()
    [2]
    >>> run_of({"1": [("d1", 20, 40)], "2": []}).topics_without_results
    ('2',)
    """
    locator, frame = TextLocator(texts, unplaced=unplaced), make_frame(results)
    if name is None and frame is not None and "run" in frame.columns and len(frame):
        names = frame["run"].cast(pl.String).unique(maintain_order=True).to_list()
        if len(names) > 1:
            raise UsageError(
                f"the frame names the runs {shorten_list([*map(str, names)])}; expected one name "
                "in all rows. foveal.evaluate takes several runs"
            )
        name = names[0]
    name = name or "run"
    rows = read_rows(results if frame is None else frame, name, doc, is_run=True)
    if isinstance(results, Mapping) and rows["rank"].null_count():
        # The list is the order.
        rows = rows.with_columns(rank=pl.int_range(1, pl.len() + 1).over("topic"))
    rows, notes = _place_rows(rows, name, locator)
    whole = pl.col("start").is_null() & pl.col("xpath").is_null()
    if number := rows.select(whole.sum()).item():
        notes += (f"results without start and end, taken as whole documents: {number}",)
    if texts is not None:
        start, end = (pl.when(~whole).then(name) for name in ("start", "end"))
        rows = rows.with_columns(start=start.otherwise(0), end=end.otherwise("size"))
    rows = rows.with_columns(bep=pl.lit(None, dtype=pl.Int64))
    run: Run = parse_results(RowTable(rows), Source(name, b"", ""), name=name).get_content()
    lists = results.items() if isinstance(results, Mapping) else ()
    nothing = tuple(str(topic) for topic, own in lists if not own)
    length = None if texts is None else rows["size"].to_numpy()[run.line - 1]
    run = run.with_columns(length=length, notes=(*notes, *run.notes), source=Provenance(name))
    return run.with_columns(topics_without_results=nothing)


def runs_of(results: Any) -> list[Run | str | Path]:
    """Return the runs in anything that can be scored; files and runs stay as they are.

    One mapping, frame or list of rows is one run, and a frame with a column ``run`` is as many as
    it names. A sequence holds runs and names of files; several runs of Python objects are made
    with `run_of` and named there, so that no name of a run can be mistaken for a topic.

    >>> frame = pl.DataFrame({"run": ["a", "b"], "topic": "1", "doc": "d1", "start": 0, "end": 9})
    >>> runs_of(frame)
    [<Run 'a': 1 results, 1 topics>, <Run 'b': 1 results, 1 topics>]
    """
    frame = make_frame(results)
    if frame is not None and "run" in frame.columns:
        return [run_of(own) for own in frame.partition_by("run", maintain_order=True)]
    if isinstance(results, (Run, str, Path)):
        return [results]
    is_one = frame is not None or isinstance(results, (bytes, Mapping))
    if is_one or not isinstance(results, Iterable):
        return [run_of(results)]
    items = [*results]
    if items and all(isinstance(item, (Run, str, Path)) for item in items):
        return items
    for item in items:
        if make_frame(item) is not None or (isinstance(item, Mapping) and not is_row(item)):
            raise UsageError(
                "runs of Python objects in a list have no names; give each its own: "
                "foveal.run_of(results, name=...)"
            )
    return [run_of(items)]


def judgements_of(
    objects: Any,
    *,
    name: str = "judgements",
    doc: DocOf = None,
    texts: Mapping[str, str] | None = None,
    unanswerable: Iterable[str] = (),
) -> Judgements:
    """Return judgements from Python objects, called `name` in messages.

    `objects` are ``{topic: [span, ...]}`` where a span is a tuple ``(doc, start, end)`` with the
    grade as an optional fourth, a dict, which may name the evidence ``sets`` it belongs to or the
    ``slots`` it can fill, or an object of a framework; or ``{topic: {doc: [(start, end), ...]}}``,
    where an empty list is a document judged not relevant, and a dict of ``spans``, ``length`` and
    ``bep`` may replace a list. Or a frame of Polars or pandas, or a list of dicts or tuples that
    begin with the topic.
    Rows without start and end are documents judged not relevant, unless no row has them: then
    ``grade`` judges whole documents. `doc` is the field that names the document, or a function of
    the object. `texts` of documents give their lengths; spans are compared with them or placed by
    them as in `run_of`. `unanswerable` are further topics, to which the right result is none.

    >>> judgements_of({"1": [("d1", 10, 40)], "2": {"d1": [], "d2": [(0, 9)]}})
    <Judgements: 2 topics, 3 documents judged, 2 relevant>
    >>> truth = judgements_of({"1": [{"doc": "d1", "quote": "ferry"}]}, texts={"d1": "a ferry"})
    >>> truth.passages(0), truth.length.tolist()
    ([(2, 7)], [7])
    """
    rows = read_rows(objects, name, doc, is_run=False)
    rows, notes = _place_rows(rows, name, TextLocator(texts), is_judged=True)
    lists = objects.items() if isinstance(objects, Mapping) else ()
    if empty := [str(topic) for topic, own in lists if not own]:
        notes = (f"topics without any judgement, left out: {shorten_list(empty)}", *notes)
    rows = rows.with_columns(length=pl.coalesce("length", "size"))
    extra = dict.fromkeys(("topics_without_documents", "unanswerable"), frozenset(unanswerable))
    return group_spans(rows, Source(name, b"", ""), notes=notes, **extra)


def judgements_or_files(given: Any) -> Judgements | str | Path | Sequence[str | Path]:
    """Return judgements and names of files as they are, and other objects as judgements.

    >>> judgements_or_files("qrels.jsonl"), judgements_or_files({"1": [("d1", 10, 40)]})
    ('qrels.jsonl', <Judgements: 1 topics, 1 documents judged, 1 relevant>)
    """
    files = given if isinstance(given, Sequence) else [given]
    is_read = all(isinstance(own, (Judgements, str, Path)) for own in files)
    return given if is_read else judgements_of(given)


def group_spans(frame: pl.DataFrame, source: Source, **extra: Any) -> Judgements:
    """Return judgements from rows, one for each span; a row without start is a judged document.

    If no row has a start, grades above 0 tell which whole documents are relevant.
    """
    grade, code = pl.col("grade"), "judgements.grade"
    has_text = bool(frame["start"].count()) or not frame["grade"].count()
    rules = [RowRule(code, ~grade.is_finite(), "grade {grade} is not a finite number")]
    if has_text:
        message = "relevant by its grade, but without start and end; other spans have them"
        rules.append(RowRule(code, (grade > 0) & pl.col("start").is_null(), message))
    else:
        frame = frame.with_columns(relevant=(grade > 0).fill_null(value=False))
    raise_problems(check_rules(source.path, frame, rules))
    frame = frame.with_row_index("object").with_columns(
        pl.col("object").first().over("topic", "doc", "assessor"), owner="assessor"
    )
    judgements = build_judgements(frame, source, has_text=has_text, **extra)
    return judgements if frame["grade"].count() else judgements.with_columns(grade=None)


def _place_rows(
    frame: pl.DataFrame, path: str, locator: TextLocator, *, is_judged: bool = False
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the rows with start, end and size of document, and notes on those placed by text.

    A row without start, end and text has no place: a whole document, or that of an XPath. With
    texts all rows are compared with them, else ``size`` is null.
    """
    start, end, text, texts = pl.col("start"), pl.col("end"), pl.col("text"), locator.texts
    has_path = pl.col("xpath").is_not_null() if "xpath" in frame.columns else pl.lit(value=False)
    # Splitters write -1 where they did not find their own chunk again.
    lost = ((start == -1) & text.is_not_null()).fill_null(value=False)
    frame = frame.with_columns(pl.when(~lost).then(pl.col("start", "end")).name.keep())
    by_text = start.is_null() & end.is_null() & text.is_not_null() & ~has_path
    frame = frame.with_columns(by_text=by_text, chars=text.str.len_chars().cast(pl.Int64))
    frame = frame.with_columns(end=pl.coalesce(end, start + pl.col("chars")))
    frame = frame.with_columns(size=end - start)
    unnamed, rules = pl.col("doc").fill_null("") == "", [*NAME_RULES[:2], *list_offset_rules()]
    if texts is None:
        differs = "[{start},{end}) has length {size}, but its text has {chars}"
        rules.append(RowRule("span.quote", pl.col("size") != pl.col("chars"), differs))
    else:
        docs = [doc for doc in frame["doc"].unique() if doc and doc not in texts]
        message = "document {doc} is not among the texts"
        rules.append(RowRule("span.unknown_document", pl.col("doc").is_in(docs), message))
        unnamed &= ~(pl.col("by_text") & is_judged)  # the quote says which document it is
    message = "topic {topic}: the document is missing; name it doc, source or metadata['source'], "
    rules.append(RowRule("doc.missing", unnamed, f"{message}or give its field: doc='...'"))
    message = "topic {topic}: the start is missing or -1; let the splitter note it (LangChain: "
    message += "add_start_index=True), or give start and end, or texts="
    rules.append(RowRule("span.needs_text", pl.col("by_text") & (texts is None), message))
    raise_problems(check_rules(path, frame, rules))
    if texts is None:
        return frame.with_columns(size=pl.lit(None, dtype=pl.Int64)), ()
    quote = pl.when(pl.col("by_text") | start.is_not_null()).then(text)
    return place_rows(frame.with_columns(text=quote), path, locator, where="topic {topic!r}: ")


# -- rows of objects and frames -------------------------------------------------------------------


def read_rows(objects: Any, name: str, doc: DocOf = None, *, is_run: bool) -> pl.DataFrame:
    """Return the rows of a frame, of lists for each topic, or of objects that name their topic.

    A column ``line`` has the number of each object.
    """
    columns, frame = _OF_RUN if is_run else OF_JUDGEMENTS, make_frame(objects)
    problems, found = list[Problem](), list[dict[str, Any]]()
    table: dict[str, Any]
    if frame is not None:
        table = _pick_columns(frame, columns, doc)
    else:
        for number, (topic, item) in enumerate(_list_objects(objects, is_run=is_run), 1):
            fields = _read_object(item, topic, columns, doc)
            if fields is None:
                text = f"topic {topic!r}: {_describe(item)} is not a result; expected (doc, start, "
                text += "end), a dict, or an object of LangChain, LlamaIndex, Haystack or Chonkie"
                problems.append(Problem("object.type", name, number, text))
            found.append(fields or {"topic": topic})
        table = {column: [own.get(column) for own in found] for column in columns}
    series = list[pl.Series]()
    for column, given in table.items():
        try:
            series.append(_convert(column, given))
        except _WRONG_VALUES:
            for number, value in enumerate(given, 1):
                try:
                    _convert(column, [value])
                except _WRONG_VALUES:
                    text = f"{column} is {_describe(value)}; expected {_TYPES[COLUMNS[column]][1]}"
                    where = f"topic {table['topic'][number - 1]!r}"
                    problems.append(Problem("object.value", name, number, f"{where}: {text}"))
    raise_problems(problems)
    line = np.arange(1, len(series[0]) + 1, dtype=np.int64)
    return pl.DataFrame([*series, pl.Series("line", line)])


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _list_objects(objects: Any, *, is_run: bool) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of topic and object; a topic of None is named by the object itself."""
    if not isinstance(objects, Mapping):
        if not _is_list(objects) or not all(map(is_row, rows := [*objects])):
            raise UsageError(
                f"{_describe(objects)} cannot be {'a run' if is_run else 'judgements'}; expected "
                "{topic: [(doc, start, end), ...]}, a data frame, or rows that name their topic "
                "(foveal.read_run and foveal.read_judgements read files)"
            )
        yield from ((None, row) for row in rows)
        return
    for topic, own in objects.items():
        if isinstance(own, Mapping) and not is_run:
            for doc, entry in own.items():
                yield from ((topic, span) for span in _list_spans(topic, doc, entry))
        elif not _is_list(own) or _is_object(own):
            raise UsageError(
                f"{topic!r} has {_describe(own)}; expected a list for each topic. Several runs are "
                "a list of foveal.run_of(results, name=...)"
            )
        else:
            yield from ((topic, item) for item in own)


def _list_spans(topic: Any, doc: Any, entry: Any) -> Iterator[dict[str, Any]]:
    """Yield the spans of a document; one without any is judged, and nothing in it is relevant."""
    about = dict(entry) if isinstance(entry, Mapping) else {"spans": entry}
    spans = about.pop("spans", None)
    good = isinstance(spans, (list, tuple)) and all(
        isinstance(own, Mapping) or (isinstance(own, (list, tuple)) and len(own) in (2, 3))
        for own in spans
    )
    if not good:
        raise UsageError(
            f"topic {topic!r}, document {doc!r} has {_describe(entry)}; expected a list of (start, "
            "end) or (start, end, grade), or a dict with it as spans"
        )
    for own in spans or [{}]:
        names = ("start", "end", "grade")
        fields = own if isinstance(own, Mapping) else zip(names, own, strict=False)
        yield about | dict(fields) | {"doc": doc}


def _is_object(item: Any) -> bool:
    """Return True for a dict, a data class, a named tuple, or an object with a text."""
    is_plain = isinstance(item, Mapping) or hasattr(item, "_asdict") or is_dataclass(item)
    return is_plain or any(hasattr(item, name) for name in USUAL["text"])


def is_row(item: Any) -> bool:
    """Return True for an object that names its topic itself: a dict, a data class or a tuple."""
    if not _is_object(item):
        return isinstance(item, tuple) and len(item) in (4, 5) and isinstance(item[1], str)
    topics = map(_getter(item), USUAL["topic"])
    return any(isinstance(own, (str, int, np.integer)) for own in topics)


def _read_object(
    item: Any, topic: Any, columns: tuple[str, ...], doc: DocOf
) -> dict[str, Any] | None:
    """Return the columns of an object, None for anything else; a pair with its score is opened.

    The fifth of the `columns` is the fourth of a tuple.
    """
    given: dict[str, Any] = {} if topic is None else {"topic": topic}
    if isinstance(item, tuple) and not hasattr(item, "_fields"):
        if topic is None and len(item) in (4, 5):
            given, item = {"topic": item[0]}, item[1:]
        # The name of a document beside something that is not a place in it: a chunk, a dict.
        if len(item) in (2, 3) and isinstance(item[0], str) and not _is_number(item[1]):
            given["doc"], item, doc = item[0], item[1] if len(item) == 2 else item[1:], None
        elif len(item) in (3, 4):
            return given | dict(zip(columns[1:5], item, strict=False))
        if isinstance(item, tuple) and len(item) == 2 and _is_number(item[1]):
            item, given[columns[4]] = item
    if hasattr(item, "node") and hasattr(item, "score"):
        given, item = {"score": item.score} | given, item.node  # LlamaIndex's NodeWithScore
    if not _is_object(item):
        return None
    held = map(_getter(item), ("metadata", "meta"))
    metadata = next((own for own in held if isinstance(own, Mapping)), {})
    # Fields of the object itself come first. Metadata name the document that was split "source".
    in_metadata = USUAL | {"doc": ["source", "source_id", *USUAL["doc"]]}
    for get, names in ((_getter(item), USUAL), (metadata.get, in_metadata)):
        for column in columns:
            values = (get(name) for name in names[column]) if given.get(column) is None else ()
            given[column] = next((own for own in values if own is not None), given.get(column))
    if callable(doc):
        given["doc"] = doc(item)
    elif doc is not None:
        own = item.get(doc) if isinstance(item, Mapping) else None
        given["doc"] = metadata.get(doc) if own is None else own
    return given


def _getter(item: Any) -> Callable[[str], Any]:
    """Return a function of the name of a field to its value, None if there is none."""
    return item.get if isinstance(item, Mapping) else lambda name: getattr(item, name, None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _describe(value: Any) -> str:
    """Return type and beginning of a value, for messages."""
    try:
        return "None" if value is None else f"{type(value).__name__} {reprlib.repr(value)}"
    except ValueError:
        return "an integer of thousands of digits"


def make_frame(table: Any) -> pl.DataFrame | None:
    """Return a Polars or pandas frame as one of Polars; None for anything else.

    pandas is not imported, and neither is pyarrow, which Polars would need for it.
    """
    if isinstance(table, (pl.LazyFrame, pl.DataFrame)):
        return table.lazy().collect()
    if not (hasattr(table, "columns") and hasattr(table, "iloc")):
        return None
    columns: dict[str, pl.Series] = {}
    for name in table.columns:
        values = table[name].to_numpy()
        if values.dtype.kind not in "iuf":
            values = table[name].astype(object).where(table[name].notna(), None).tolist()
        columns[str(name)] = pl.Series(values, strict=False, nan_to_null=True)
    return pl.DataFrame(columns)


def _pick_columns(
    frame: pl.DataFrame, columns: tuple[str, ...], doc: DocOf
) -> dict[str, pl.Series]:
    """Return the `columns` of a frame under our names, null where it has none."""
    if callable(doc):
        raise UsageError("doc is a function; for a frame it is the name of a column")
    usual = USUAL | ({} if doc is None else {"doc": [doc]})
    found = {column: [n for n in usual[column] if n in frame.columns] for column in columns}
    for column in ("topic", "doc"):
        if not found[column]:
            raise UsageError(
                f"the frame has no column for the {column}: {shorten_list(frame.columns)}; "
                f"expected {' or '.join(usual[column][:5])}"
            )
    nothing = pl.Series([None] * len(frame))
    return {column: frame[own[0]] if own else nothing for column, own in found.items()}


_WRONG_VALUES = (ValueError, OverflowError, pl.exceptions.PolarsError)
# What a column of each type takes, and the words for it.
_TYPES: dict[Any, tuple[Any, str]] = {
    # Topics are often numbered; a file has their digits.
    pl.String: (str | int, "text (without half a character)"),
    pl.Int64: (Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)], "a whole number"),
    pl.Float64: (float, "a number"),
    pl.List(pl.String): (list[str], "a list of names"),
}


def _convert(column: str, given: list[Any] | pl.Series) -> pl.Series:
    """Return a column in its type; raise ValueError or an error of Polars for other values."""
    kind = COLUMNS[column]
    if isinstance(given, pl.Series):
        own = given.dtype
        is_number = own.is_integer() and kind in (pl.Int64, pl.Float64)
        if own in (kind, pl.Null) or is_number or (own.is_float() and kind == pl.Float64):
            return given.cast(kind).alias(column)
        given = given.to_list()
    values = [value.item() if isinstance(value, np.generic) else value for value in given]
    if kind != pl.Float64:  # a float that is not a number is how pandas says that there is no value
        values = [None if isinstance(v, float) and math.isnan(v) else v for v in values]
    if kind == pl.List(pl.String):
        values = [[*map(str, value)] if _is_list(value) else value for value in values]
    # Some stores keep every number of the metadata as a float: 5.0 is a whole number.
    expected: Any = str if column == "text" else _TYPES[kind][0]
    values = msgspec.convert(values, list[expected | None], strict=kind == pl.String)
    if kind == pl.String:
        values = [None if value is None else str(value) for value in values]
    return pl.Series(column, values, dtype=kind)
