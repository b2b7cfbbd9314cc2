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

from foveal.errors import InputError, Problem, UsageError, some

DocOf = str | Callable[[Any], Any] | None
"""The document of a result: the name of a field, or a function of the object."""

COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("topic", "doc", "text", "xpath", "assessor", "run"), pl.String),
    **dict.fromkeys(("start", "end", "rank", "tokens", "length", "bep", "line"), pl.Int64),
    **dict.fromkeys(("score", "grade"), pl.Float64),
    **dict.fromkeys(("sets", "aspects"), pl.List(pl.String)),
}
"""The columns that any table may have, and their types."""


def _split_names(**columns: str) -> dict[str, tuple[str, ...]]:
    """Return names of fields for each column, given with blanks between."""
    return {column: tuple(names.split()) for column, names in columns.items()}


_OTHER_NAMES = {
    "topic": "topic_id query_id qid question_id",
    "doc": "doc_id docid docno document_id source source_id ref_doc_id corpus_id file_path "
    "file_name",
    "start": "start_index start_char_idx split_idx_start start_char char_start start_offset",
    "end": "end_index end_char_idx end_char char_end end_offset",
    "text": "page_content content quote",
    "tokens": "token_count",
    "grade": "relevance label",
}
USUAL = _split_names(**{name: f"{name} {_OTHER_NAMES.get(name, '')}" for name in COLUMNS})
"""Our names of columns, and the names that others give them; the first that is there counts."""


class Framework(NamedTuple):
    """The names of document, place, text and score in objects of one framework."""

    name: str
    marks: tuple[str, ...]
    """The attributes by which its objects are recognised."""
    fields: Mapping[str, tuple[str, ...]]
    """Our columns to the attributes of the object, or else fields of its metadata."""
    no_doc: str
    """What to do where the document is missing, and where the start is."""
    no_start: str = "give start and end"


_NAME_FIELD = (
    "or name the field of the metadata that tells the document: run_of(results, doc='...')"
)
DICT = Framework("dict", (), USUAL, f"name it in one of the fields {', '.join(USUAL['doc'][:4])}")
_TUPLE = DICT._replace(name="tuple")
_ROW = DICT._replace(name="row")
_MAX_INT = 1 << 62
FRAMEWORKS = (
    Framework(
        "LangChain document",
        ("page_content", "metadata"),
        _split_names(doc="source", start="start_index", text="page_content"),
        f"set metadata['source'] before splitting, {_NAME_FIELD}",
        "make the text splitter with add_start_index=True",
    ),
    Framework(
        "LlamaIndex node",
        ("ref_doc_id", "start_char_idx"),
        _split_names(doc="ref_doc_id", start="start_char_idx", end="end_char_idx", text="text"),
        f"make nodes with get_nodes_from_documents, {_NAME_FIELD}",
        "its node parser did not find the text of the node in the document; use one that leaves "
        "the text as it is",
    ),
    Framework(
        "Haystack document",
        ("content", "meta"),
        _split_names(doc="source_id", start="split_idx_start", text="content", score="score"),
        f"split with DocumentSplitter, {_NAME_FIELD}",
        "split with DocumentSplitter or RecursiveDocumentSplitter, which note it",
    ),
    Framework(
        "Chonkie chunk",
        ("start_index", "end_index", "text"),
        _split_names(doc="source", start="start_index", end="end_index", text="text")
        | _split_names(tokens="token_count"),
        "a chunk does not know its document; give pairs (document, chunk), or cut with "
        "chunk_document(Document(content=..., metadata={'source': ...}))",
    ),
)
KINDS = {kind.name: kind for kind in (DICT, _TUPLE, _ROW, *FRAMEWORKS)}


# -- objects ---------------------------------------------------------------------------------------


class _MisfitError(Exception):
    """An object that is not a result, or a value of a wrong type."""


def flatten_topics(results: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of topic and object, out of a list for each topic."""
    for topic, own in results.items():
        is_list = isinstance(own, Iterable) and not isinstance(own, (str, bytes, Mapping))
        if not is_list or _find_kind(own) is not None:
            raise UsageError(
                f"{topic!r} has {_describe(own)}; expected a list for each topic. Several runs are "
                "a list of foveal.run_of(results, name=...)"
            )
        for item in own:
            yield topic, item


def is_row(item: Any) -> bool:
    """Return True for an object that names its topic itself: a dict, a data class or a tuple.

    >>> is_row({"qid": 1, "docno": "d1"}), is_row(("1", "d1", 0, 40)), is_row({"1": [("d1", 0, 4)]})
    (True, True, False)
    """
    if _find_kind(item) is not DICT:
        return isinstance(item, tuple) and len(item) in (4, 5) and isinstance(item[1], str)
    topics = (_get(item, name) for name in USUAL["topic"])
    topic = next((own for own in topics if own is not None), None)
    return isinstance(topic, (str, int, np.integer))


def rows_of_objects(
    items: Iterable[tuple[Any, Any]], columns: tuple[str, ...], name: str, doc: DocOf = None
) -> pl.DataFrame:
    """Return rows of pairs of topic and object; the object itself names a topic of None.

    The `columns` after ``doc``, ``start`` and ``end`` are those that objects may have; the first
    of them is the fourth of a tuple.

    >>> pairs = [(7, ("d1", 0, 40))]
    >>> rows_of_objects(pairs, ("doc", "start", "end", "score"), "run").to_dicts()
    [{'topic': '7', 'doc': 'd1', 'start': 0, 'end': 40, 'score': None, 'kind': 'tuple', 'line': 1}]
    """
    found, kinds, problems = list[dict[str, Any]](), list[str](), list[Problem]()
    for number, (topic, item) in enumerate(items, 1):
        try:
            kind, fields = _read_object(item, topic, columns, doc)
        except _MisfitError as error:
            kind, fields = DICT, {"topic": topic}
            text = f"{_name_topic(topic)}{error}"
            problems.append(Problem("object.type", name, number, text))
        kinds.append(kind.name)
        found.append(fields)
    table = {column: [own.get(column) for own in found] for column in ("topic", *columns)}
    return _tabulate(table, kinds, name, problems)


def _read_object(
    item: Any, topic: Any, columns: tuple[str, ...], doc: DocOf
) -> tuple[Framework, dict[str, Any]]:
    """Return the kind of an object and its columns; pairs of an object and its score are opened."""
    given: dict[str, Any] = {} if topic is None else {"topic": topic}
    if isinstance(item, tuple) and not hasattr(item, "_fields"):
        if topic is None and len(item) in (4, 5):
            given, item = {"topic": item[0]}, item[1:]
        # The name of a document beside something that is not a place in it: a chunk, a dict.
        if len(item) in (2, 3) and isinstance(item[0], str) and not _is_number(item[1]):
            given["doc"], item, doc = item[0], item[1] if len(item) == 2 else item[1:], None
        elif len(item) in (3, 4):
            named = zip(("doc", "start", "end", columns[3]), item, strict=False)
            return _TUPLE, given | dict(named)
        if isinstance(item, tuple) and len(item) == 2 and _is_number(item[1]):
            item, given[columns[3]] = item
    kind = _find_kind(item)
    if kind is None and hasattr(item, "node") and hasattr(item, "score"):
        # LlamaIndex's NodeWithScore
        given, item = {"score": item.score} | given, item.node
        kind = _find_kind(item)
    if kind is None:
        raise _MisfitError(
            f"{_describe(item)} is not a result; expected (doc, start, end), a dict, or an object "
            "of LangChain, LlamaIndex, Haystack or Chonkie"
        )
    metadata = next(
        (m for n in ("metadata", "meta") if isinstance(m := _get(item, n), Mapping)), {}
    )
    found: dict[str, Any] = {}
    for part in (metadata, item):  # a field of the object itself comes first
        is_mapping = isinstance(part, Mapping)
        for column, names in kind.fields.items():
            for name in names:
                value = part.get(name) if is_mapping else getattr(part, name, None)
                if value is not None:
                    found[column] = value
                    break
    if callable(doc):
        found["doc"] = doc(item)
    elif doc is not None:
        own = item.get(doc) if isinstance(item, Mapping) else None
        found["doc"] = metadata.get(doc) if own is None else own
    return kind, found | given


def _find_kind(item: Any) -> Framework | None:
    """Return the framework of an object, by its attributes."""
    if isinstance(item, Mapping):
        return DICT
    is_record = hasattr(item, "_asdict") or dataclasses.is_dataclass(item)
    kinds = (own for own in FRAMEWORKS if all(hasattr(item, mark) for mark in own.marks))
    return next(kinds, DICT if is_record else None)


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


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
            absent = table[name].isna()
            pairs = zip(table[name].tolist(), absent.tolist(), strict=True)
            values = [None if gone else value for value, gone in pairs]
        series = pl.Series(values, strict=False)
        columns[str(name)] = series.fill_nan(None) if series.dtype.is_float() else series
    return pl.DataFrame(columns)


def runs_in(frame: pl.DataFrame) -> list[str]:
    """Return the names in the column ``run``, in their order; none without it.

    >>> runs_in(pl.DataFrame({"run": ["b", "a", "b"]}))
    ['b', 'a']
    """
    if "run" not in frame.columns:
        return []
    given = _tabulate({"run": frame["run"]}, [_ROW.name] * len(frame), "frame", [])["run"]
    if given.null_count():
        raise UsageError(
            f"row {given.is_null().arg_true()[0] + 1} of the frame has no name in the column "
            "'run'; expected one in each row, or no such column"
        )
    names: list[str] = given.unique(maintain_order=True).to_list()
    return names


def rows_of_frame(
    frame: pl.DataFrame, columns: tuple[str, ...], name: str, doc: DocOf = None
) -> pl.DataFrame:
    """Return the `columns` of a frame under our names, null where it has none.

    >>> frame = pl.DataFrame({"qid": [7], "docno": ["d1"]})
    >>> rows_of_frame(frame, ("doc", "start"), "run").to_dicts()
    [{'topic': '7', 'doc': 'd1', 'start': None, 'kind': 'row', 'line': 1}]
    """
    if callable(doc):
        raise UsageError("doc is a function; for a frame it is the name of a column")
    table: dict[str, pl.Series] = {}
    for column in ("topic", *columns):
        names = (doc,) if column == "doc" and doc is not None else USUAL[column]
        found = next((own for own in names if own in frame.columns), None)
        if found is None and column in ("topic", "doc"):
            raise UsageError(
                f"the frame has no column for the {column}: {some(frame.columns)}; expected "
                f"{' or '.join(names[:5])}"
            )
        table[column] = pl.Series([None] * len(frame)) if found is None else frame[found]
    return _tabulate(table, [_ROW.name] * len(frame), name, [])


# -- columns ---------------------------------------------------------------------------------------


def _tabulate(
    table: Mapping[str, list[Any] | pl.Series], kinds: list[str], name: str, problems: list[Problem]
) -> pl.DataFrame:
    """Return columns in our types, with the kind of each row; refuse values that do not fit."""
    columns: list[pl.Series] = []
    for column, given in table.items():
        series = _cast_plain(column, given)
        if series is None:
            values = [*given]
            for i, value in enumerate(values):
                try:
                    values[i] = _convert(column, value)
                except _MisfitError as error:
                    values[i] = None
                    text = _name_topic(table["topic"][i] if "topic" in table else None)
                    problems.append(Problem("object.value", name, i + 1, f"{text}{error}"))
            series = pl.Series(column, values, dtype=COLUMNS[column])
        columns.append(series)
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    line = pl.Series("line", np.arange(1, len(kinds) + 1, dtype=np.int64))
    return pl.DataFrame([*columns, pl.Series("kind", kinds, dtype=pl.String), line])


def _cast_plain(column: str, given: list[Any] | pl.Series) -> pl.Series | None:
    """Return a column whose values are all of its type; None if they must be converted."""
    kind = COLUMNS[column]
    if isinstance(given, pl.Series):
        own = given.dtype
        is_fit = own in (kind, pl.Null) or (kind == pl.Float64 and own.is_numeric())
        is_fit |= kind == pl.String and (own in (pl.Categorical, pl.Enum) or own.is_integer())
        is_fit |= kind == pl.Int64 and own.is_signed_integer()
        return given.cast(kind).alias(column) if is_fit else None
    plain = {pl.String: str, pl.Int64: int, pl.Float64: float}.get(kind)
    if {*map(type, given)} - {type(None), plain}:
        return None
    if kind == pl.Int64 and max(map(abs, filter(None, given)), default=0) >= _MAX_INT:
        return None
    with suppress(TypeError, UnicodeEncodeError):  # _convert explains
        return pl.Series(column, given, dtype=kind)
    return None


def _convert(column: str, value: Any) -> Any:
    """Return a value in the type of its column."""
    kind = COLUMNS[column]
    # A float that is not a number is how pandas says that there is no value.
    if value is None or (kind != pl.Float64 and isinstance(value, float) and math.isnan(value)):
        return None
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if kind == pl.String:
        expected = "text"
        # Topics are often numbered; a file has their digits.
        if isinstance(value, str) or (is_whole and column != "text"):
            with suppress(ValueError):  # half a character, or more digits than Python writes
                return str(value).encode().decode()
            expected = "text without half a character (a lone surrogate)"
    elif kind == pl.Int64:
        # Some stores keep every number of the metadata as a float.
        if _is_number(value) and value == value // 1 and abs(value) < _MAX_INT:
            return int(value)
        expected = "a whole number"
    elif kind == pl.Float64:
        if _is_number(value):
            with suppress(OverflowError):
                return float(value)
        expected = "a number"
    else:
        if isinstance(value, Iterable) and not isinstance(value, str):
            return [str(one) for one in value]
        expected = "a list of names"
    raise _MisfitError(f"{column} is {_describe(value)}; expected {expected}")
