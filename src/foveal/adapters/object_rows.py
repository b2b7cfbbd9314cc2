"""Objects of retrieval frameworks, dicts, tuples and data frames as rows in columns of our names.

No framework is imported. Objects are recognised by their attributes, so that any version of a
framework works, and so do subclasses and objects with the same attributes. The values are checked
for their types only.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.errors import Problem, UsageError, counted, some
from foveal.formats.rows import raise_problems

DocOf = str | Callable[[Any], Any] | None
"""The document of a result: the name of a field, or a function of the object."""

_TEXTS = ("topic", "doc", "text", "xpath", "assessor", "run", "prefix", "suffix")
COLUMNS: dict[str, Any] = {
    **dict.fromkeys(_TEXTS, pl.String),
    **dict.fromkeys(("start", "end", "rank", "tokens", "length", "bep", "line"), pl.Int64),
    **dict.fromkeys(("score", "grade"), pl.Float64),
    **dict.fromkeys(("sets", "aspects"), pl.List(pl.String)),
}
"""The columns that any table may have, and their types."""


def _split_names(**columns: str) -> dict[str, tuple[str, ...]]:
    """Return names of fields for each column, given with blanks between."""
    return {column: tuple(names.split()) for column, names in columns.items()}


USUAL = {name: (name,) for name in COLUMNS} | _split_names(
    topic="topic topic_id query_id qid question_id",
    doc="doc doc_id docid docno document_id source source_id ref_doc_id corpus_id file_path "
    "file_name",
    start="start start_index start_char_idx split_idx_start start_char char_start start_offset",
    end="end end_index end_char_idx end_char char_end end_offset",
    text="text page_content content quote",
    tokens="tokens token_count",
    grade="grade relevance label",
)
"""Our names of columns, and the names that others give them; the first that is there counts."""


_OF_RUN = (*("topic", "doc", "start", "end", "score"), "rank", "xpath", "text", "tokens")
OF_JUDGEMENTS = (
    *("topic", "doc", "start", "end", "grade"),
    *("text", "prefix", "suffix", "assessor", "length", "bep", "sets", "aspects"),
)
# Fields that the entry of a document may have.
_OF_DOCUMENT = ("spans", "length", "bep", "sets", "assessor", *USUAL["grade"])


class Framework(NamedTuple):
    """The names of document, place, text and score in objects of one framework.

    Objects are recognised by the attributes `marks`. Each of `fields` is an attribute, or else in
    the metadata. `no_doc` and `no_start` say what to do where they are missing (braces are double).
    """

    marks: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]
    no_doc: str
    no_start: str = "give start and end"


_NAME_FIELD = (
    "or name the field of the metadata that tells the document: run_of(results, doc='...')"
)
_PLAIN = Framework((), USUAL, f"name it in one of the fields {', '.join(USUAL['doc'][:4])}")
FRAMEWORKS = {
    "LangChain document": Framework(
        ("page_content", "metadata"),
        _split_names(doc="source", start="start_index", text="page_content"),
        f"set metadata['source'] before splitting, {_NAME_FIELD}",
        "make the text splitter with add_start_index=True",
    ),
    "LlamaIndex node": Framework(
        ("ref_doc_id", "start_char_idx"),
        _split_names(doc="ref_doc_id", start="start_char_idx", end="end_char_idx", text="text"),
        f"make nodes with get_nodes_from_documents, {_NAME_FIELD}",
        "its node parser did not find the text of the node in the document; use one that leaves "
        "the text as it is",
    ),
    "Haystack document": Framework(
        ("content", "meta"),
        _split_names(doc="source_id", start="split_idx_start", text="content", score="score"),
        f"split with DocumentSplitter, {_NAME_FIELD}",
        "split with DocumentSplitter or RecursiveDocumentSplitter, which note it",
    ),
    "Chonkie chunk": Framework(
        ("start_index", "end_index", "text"),
        _split_names(doc="source", start="start_index", end="end_index", text="text")
        | _split_names(tokens="token_count"),
        "a chunk does not know its document; give pairs (document, chunk), or cut with "
        "chunk_document(Document(content=..., metadata={{'source': ...}}))",
    ),
    **dict.fromkeys(("dict", "tuple", "row"), _PLAIN),
}
"""Kinds of objects by the names that messages give them; plain ones have the usual fields."""


# -- rows ------------------------------------------------------------------------------------------


class _MisfitError(Exception):
    """An object that is not a result, or a value of a wrong type."""


def read_rows(objects: Any, name: str, doc: DocOf = None, *, is_run: bool) -> pl.DataFrame:
    """Return the rows of a frame, of lists for each topic, or of objects that name their topic.

    A column ``kind`` names the kind of each object, ``line`` is its number.

    >>> frame = pl.DataFrame({"qid": [7], "docno": ["d1"], "score": [9.5]})
    >>> for objects in (frame, {7: [{"doc": "d1", "score": 9.5}]}, [{"qid": 7, "docno": "d1"}]):
    ...     print(read_rows(objects, "run", is_run=True)["topic", "doc", "score", "kind"].rows())
    [('7', 'd1', 9.5, 'row')]
    [('7', 'd1', 9.5, 'dict')]
    [('7', 'd1', None, 'dict')]
    """
    columns, frame = _OF_RUN if is_run else OF_JUDGEMENTS, frame_of(objects)
    found, kinds, problems = list[dict[str, Any]](), list[str](), list[Problem]()
    table: dict[str, Any]
    if frame is not None:
        table, kinds = _pick_columns(frame, columns, doc), ["row"] * len(frame)
    else:
        for number, (topic, item) in enumerate(_list_objects(objects, is_run=is_run), 1):
            kind, fields = "dict", {"topic": topic}
            try:
                kind, fields = _read_object(item, topic, columns, doc)
            except _MisfitError as error:
                text = f"{_name_topic(topic)}{error}"
                problems.append(Problem("object.type", name, number, text))
            kinds.append(kind)
            found.append(fields)
        table = {column: [own.get(column) for own in found] for column in columns}
    series = []
    for column, given in table.items():
        own = _cast_column(column, given)
        if own is None:
            values = [*given]
            for i, value in enumerate(values):
                try:
                    values[i] = _convert(column, value)
                except _MisfitError as error:
                    values[i] = None
                    text = f"{_name_topic(table['topic'][i])}{error}"
                    problems.append(Problem("object.value", name, i + 1, text))
            own = pl.Series(column, values, dtype=COLUMNS[column])
        series.append(own)
    raise_problems(problems)
    line = pl.Series("line", np.arange(1, len(kinds) + 1, dtype=np.int64))
    return pl.DataFrame([*series, pl.Series("kind", kinds, dtype=pl.String), line])


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _list_objects(objects: Any, *, is_run: bool) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of topic and object; a topic of None is named by the object itself."""
    if not isinstance(objects, Mapping):
        rows = [*objects] if _is_list(objects) else [None]
        if not all(is_row(row) for row in rows):
            item = "result" if is_run else "span"
            found = f"{item}s without topics" if _is_list(objects) else type(objects).__name__
            what = "a run (foveal.read_run reads files)" if is_run else "judgements"
            raise UsageError(
                f"{found} cannot be {what}; expected {{topic: [{item}, ...]}}, a data frame, or "
                "rows that name their topic: dicts with a field topic, tuples (topic, doc, start, "
                "end)"
            )
        yield from ((None, row) for row in rows)
        return
    known: dict[str, Any] = {}
    for topic, own in objects.items():
        # 7 and "7" are one topic here as they are in a file; which list is first is unknown.
        other = known.setdefault(str(topic), topic)
        if is_run and other is not topic:
            raise UsageError(
                f"{other!r} and {topic!r} are the same topic; expected one list for each topic"
            )
        if isinstance(own, Mapping) and not is_run:
            for doc, entry in own.items():
                yield from ((topic, span) for span in _list_spans(topic, doc, entry))
            continue
        if not _is_list(own) or _find_kind(own) is not None:
            raise UsageError(
                f"{topic!r} has {_describe(own)}; expected a list for each topic. Several runs are "
                "a list of foveal.run_of(results, name=...)"
            )
        yield from ((topic, item) for item in own)


def _list_spans(topic: Any, doc: Any, entry: Any) -> Iterator[dict[str, Any]]:
    """Yield the spans of a document; one without any is judged, and nothing in it is relevant."""
    where = f"topic {topic!r}, document {doc!r}"
    about = dict(entry) if isinstance(entry, Mapping) else {"spans": entry}
    unknown = [key for key in about if key not in _OF_DOCUMENT]
    if unknown:  # a misspelt "spans" would be a document that was judged not relevant
        expected = ", ".join(_OF_DOCUMENT)
        raise UsageError(f"{where} has the field {unknown[0]!r}; expected {expected}")
    given = about.pop("spans", ())
    spans = [*given] if _is_list(given) else [given]
    pairs = [own for own in spans if isinstance(own, (tuple, list)) and len(own) in (2, 3)]
    if len(pairs) + sum(isinstance(own, Mapping) for own in spans) < len(spans):
        raise UsageError(
            f"{where} has {given!r}; expected a list of (start, end) or (start, end, grade)"
        )
    sets = [*(about.pop("sets", None) or [None] * len(spans))]
    if len(sets) != len(spans):
        raise UsageError(
            f"{where}: {counted(len(sets), 'list')} of sets for {counted(len(spans), 'span')}; "
            "expected one for each"
        )
    for own, names in zip(spans, sets, strict=True):
        is_dict = isinstance(own, Mapping)
        fields = own if is_dict else zip(("start", "end", "grade"), own, strict=False)
        yield about | {"sets": names} | dict(fields) | {"doc": doc}
    if not spans:
        yield about | {"doc": doc}


# -- objects ---------------------------------------------------------------------------------------


def _find_kind(item: Any) -> str | None:
    """Return the kind of an object, one of `FRAMEWORKS`, by its attributes."""
    if isinstance(item, Mapping):
        return "dict"
    for kind, own in FRAMEWORKS.items():
        if own.marks and all(hasattr(item, mark) for mark in own.marks):
            return kind
    return "dict" if hasattr(item, "_asdict") or dataclasses.is_dataclass(item) else None


def is_row(item: Any) -> bool:
    """Return True for an object that names its topic itself: a dict, a data class or a tuple.

    >>> is_row({"qid": 1, "docno": "d1"}), is_row(("1", "d1", 0, 40)), is_row({"1": [("d1", 0, 4)]})
    (True, True, False)
    """
    if _find_kind(item) != "dict":
        return isinstance(item, tuple) and len(item) in (4, 5) and isinstance(item[1], str)
    topics = [own for own in map(_getter(item), USUAL["topic"]) if own is not None]
    return isinstance(next(iter(topics), None), (str, int, np.integer))


def _read_object(
    item: Any, topic: Any, columns: tuple[str, ...], doc: DocOf
) -> tuple[str, dict[str, Any]]:
    """Return the kind of an object and its columns; pairs of an object and its score are opened.

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
            return "tuple", given | dict(zip(columns[1:5], item, strict=False))
        if isinstance(item, tuple) and len(item) == 2 and _is_number(item[1]):
            item, given[columns[4]] = item
    if _find_kind(item) is None and hasattr(item, "node") and hasattr(item, "score"):
        given, item = {"score": item.score} | given, item.node  # LlamaIndex's NodeWithScore
    kind = _find_kind(item)
    if kind is None:
        raise _MisfitError(
            f"{_describe(item)} is not a result; expected (doc, start, end), a dict, or an object "
            "of LangChain, LlamaIndex, Haystack or Chonkie"
        )
    metadata = next(
        (own for own in map(_getter(item), ("metadata", "meta")) if isinstance(own, Mapping)), {}
    )
    fields = FRAMEWORKS[kind].fields
    for part in (item, metadata) if metadata else (item,):  # fields of the object itself come first
        get = _getter(part)
        for column in columns:
            for name in fields.get(column, ()) if given.get(column) is None else ():
                value = get(name)
                if value is not None:
                    given[column] = value
                    break
    if callable(doc):
        given["doc"] = doc(item)
    elif doc is not None:
        own = item.get(doc) if isinstance(item, Mapping) else None
        given["doc"] = metadata.get(doc) if own is None else own
    return kind, given


def _getter(item: Any) -> Callable[[str], Any]:
    """Return a function of the name of a field to its value, None if there is none."""
    return item.get if isinstance(item, Mapping) else lambda name: getattr(item, name, None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _describe(value: Any) -> str:
    """Return type and beginning of a value, for messages.

    >>> _describe("x" * 99), _describe(None)
    ("str 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx...", 'None')
    """
    if value is None:
        return "None"
    try:
        text = repr(value)
    except ValueError:  # more digits than Python writes
        text = "of thousands of digits"
    return f"{type(value).__name__} {text if len(text) <= 34 else text[:30] + '...'}"


def _name_topic(topic: Any) -> str:
    """Return the topic of a row, for the beginning of a message."""
    return "" if topic is None else f"topic {_describe(topic).partition(' ')[2]}: "


# -- data frames -----------------------------------------------------------------------------------


def frame_of(table: Any) -> pl.DataFrame | None:
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
            pairs = zip(table[name].tolist(), table[name].isna().tolist(), strict=True)
            values = [None if is_absent else value for value, is_absent in pairs]
        series = pl.Series(values, strict=False)
        columns[str(name)] = series.fill_nan(None) if series.dtype.is_float() else series
    return pl.DataFrame(columns)


def _pick_columns(
    frame: pl.DataFrame, columns: tuple[str, ...], doc: DocOf
) -> dict[str, pl.Series]:
    """Return the `columns` of a frame under our names, null where it has none."""
    if callable(doc):
        raise UsageError("doc is a function; for a frame it is the name of a column")
    table: dict[str, pl.Series] = {}
    for column in columns:
        names = (doc,) if column == "doc" and doc is not None else USUAL[column]
        found = next((own for own in names if own in frame.columns), None)
        if found is None and column in ("topic", "doc"):
            raise UsageError(
                f"the frame has no column for the {column}: {some(frame.columns)}; expected "
                f"{' or '.join(names[:5])}"
            )
        table[column] = pl.Series([None] * len(frame)) if found is None else frame[found]
    return table


# -- values ----------------------------------------------------------------------------------------


def _cast_column(column: str, given: list[Any] | pl.Series) -> pl.Series | None:
    """Return a column whose values all have a fitting type; None if they have not."""
    kind = COLUMNS[column]
    with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        if isinstance(given, pl.Series):
            own = given.dtype
            is_name = own in (pl.Categorical, pl.Enum) and kind == pl.String
            is_number = own.is_integer() and column != "text" and kind != pl.List
            is_float = own.is_float() and kind == pl.Float64
            if own in (kind, pl.Null) or is_name or is_number or is_float:
                return given.cast(kind).alias(column)
        # Polars would print that it cannot show a number that is too large.
        elif kind != pl.List and not any(
            isinstance(v, bool) or (isinstance(v, int) and abs(v) >> 63) for v in given
        ):
            return pl.Series(column, given, dtype=kind)
    return None


_EXPECTED = {
    pl.String: "text without half a character (a lone surrogate)",
    pl.Int64: "a whole number",
    pl.Float64: "a number",
    pl.List(pl.String): "a list of names",
}


def _convert(column: str, value: Any) -> Any:
    """Return a value in the type of its column."""
    kind = COLUMNS[column]
    if isinstance(value, np.generic):
        value = value.item()
    # A float that is not a number is how pandas says that there is no value.
    if value is None or (kind != pl.Float64 and isinstance(value, float) and math.isnan(value)):
        return None
    is_number = _is_number(value)
    with suppress(ValueError, OverflowError):
        # Topics are often numbered; a file has their digits.
        is_name = is_number and isinstance(value, int) and column != "text"
        if kind == pl.String and (isinstance(value, str) or is_name):
            return str(value).encode().decode()
        # Some stores keep every number of the metadata as a float.
        if kind == pl.Int64 and is_number and int(value) == value and abs(value) < 1 << 62:
            return int(value)
        if kind == pl.Float64 and is_number:
            return float(value)
        if kind == pl.List and isinstance(value, Iterable) and not isinstance(value, str):
            return [str(one) for one in value]
    expected = "text" if kind == pl.String and not isinstance(value, str) else _EXPECTED[kind]
    raise _MisfitError(f"{column} is {_describe(value)}; expected {expected}")
