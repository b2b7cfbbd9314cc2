"""Objects of retrieval frameworks, dicts, tuples and data frames as rows in columns of our names.

No framework is imported. Objects are recognised by their attributes, so that any version of a
framework works, and so do subclasses and objects with the same attributes. The values are checked
for their types only.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
import polars as pl

from foveal.errors import Problem, UsageError, some
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
_OF_RUN = (*("topic", "doc", "start", "end", "score"), "rank", "xpath", "text", "tokens")
OF_JUDGEMENTS = (
    *("topic", "doc", "start", "end", "grade"),
    *("text", "prefix", "suffix", "assessor", "length", "bep", "sets", "aspects"),
)

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


def read_rows(objects: Any, name: str, doc: DocOf = None, *, is_run: bool) -> pl.DataFrame:
    """Return the rows of a frame, of lists for each topic, or of objects that name their topic.

    A column ``line`` has the number of each object.
    """
    columns, frame = _OF_RUN if is_run else OF_JUDGEMENTS, frame_of(objects)
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
                    text = f"{column} is {_describe(value)}; expected {_EXPECTED[COLUMNS[column]]}"
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
    return any(
        isinstance(own, (str, int, np.integer)) for own in map(_getter(item), USUAL["topic"])
    )


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
    metadata = next(
        (own for own in map(_getter(item), ("metadata", "meta")) if isinstance(own, Mapping)), {}
    )
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
    return "None" if value is None else f"{type(value).__name__} {reprlib.repr(value)}"


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
    usual = USUAL | ({} if doc is None else {"doc": [doc]})
    found = {column: [n for n in usual[column] if n in frame.columns] for column in columns}
    for column in ("topic", "doc"):
        if not found[column]:
            raise UsageError(
                f"the frame has no column for the {column}: {some(frame.columns)}; expected "
                f"{' or '.join(usual[column][:5])}"
            )
    nothing = pl.Series([None] * len(frame))
    return {column: frame[own[0]] if own else nothing for column, own in found.items()}


_WRONG_VALUES = (ValueError, OverflowError, pl.exceptions.PolarsError)
_MOST = 1 << 62
_TYPES: dict[Any, Any] = {
    pl.String: str | int,  # topics are often numbered; a file has their digits
    pl.Int64: Annotated[int, msgspec.Meta(ge=-_MOST, le=_MOST)],
    pl.Float64: float,
    pl.List(pl.String): list[str],
}
_EXPECTED = {
    pl.String: "text (without half a character)",
    pl.Int64: "a whole number",
    pl.Float64: "a number",
    pl.List(pl.String): "a list of names",
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
    expected: Any = str if column == "text" else _TYPES[kind]
    values = msgspec.convert(values, list[expected | None], strict=kind == pl.String)
    if kind == pl.String:
        values = [None if value is None else str(value) for value in values]
    return pl.Series(column, values, dtype=kind)
