"""Objects of retrieval frameworks, dicts, tuples and data frames as rows in columns of our names.

No framework is imported. Objects are recognised by their attributes, so that any version of a
framework works, and so do subclasses and objects with the same attributes. The values are checked
for their types only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem, UsageError, some

__all__ = [
    "COLUMNS",
    "DICT",
    "FRAMEWORKS",
    "TUPLE",
    "USUAL",
    "DocOf",
    "Framework",
    "flatten_topics",
    "frame_of",
    "is_row",
    "rows_of_frame",
    "rows_of_objects",
    "runs_in",
]

DocOf = str | Callable[[Any], Any] | None
"""The document of a result: the name of a field, or a function of the object."""

COLUMNS: dict[str, Any] = {
    "topic": pl.String,
    "doc": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
    "text": pl.String,
    "score": pl.Float64,
    "rank": pl.Int64,
    "xpath": pl.String,
    "tokens": pl.Int64,
    "grade": pl.Float64,
    "assessor": pl.String,
    "length": pl.Int64,
    "bep": pl.Int64,
    "sets": pl.List(pl.String),
}
"""The columns that any table may have, and their types."""

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
USUAL = {name: (name, *_OTHER_NAMES.get(name, "").split()) for name in COLUMNS}
"""Our names of columns, and the names that others give them; the first that is there counts."""

_LARGEST = 1 << 62


@dataclass(frozen=True)
class Framework:
    """The attributes that hold document, place, text and score in objects of one framework.

    Parameters
    ----------
    name : str
        For messages.
    marks : tuple of str
        The attributes by which its objects are recognised.
    metadata : str
        The attribute that holds the user's own fields.
    fields : mapping of str to str
        Our columns to its attributes; what follows a dot is a key of the metadata.
    no_doc, no_start : str
        What to do where the document or the start is missing.
    """

    name: str
    marks: tuple[str, ...] = ()
    metadata: str = "metadata"
    fields: Mapping[str, str] = field(default_factory=dict)
    no_doc: str = "name it in one of the fields " + ", ".join(USUAL["doc"][:4])
    no_start: str = "give start and end"

    @cached_property
    def paths(self) -> tuple[tuple[str, str, str], ...]:
        """Our columns, the attribute of each, and the key of the metadata or nothing."""
        split = ((name, *path.partition(".")) for name, path in self.fields.items())
        return tuple((name, attribute, key) for name, attribute, _, key in split)


DICT = Framework("dict")
TUPLE = Framework("tuple")
_NAME_FIELD = "or name the field of the {} that tells the document: run_of(results, doc='...')"
FRAMEWORKS = (
    Framework(
        "LangChain document",
        marks=("page_content", "metadata"),
        fields={"doc": "metadata.source", "start": "metadata.start_index", "text": "page_content"},
        no_doc="set metadata['source'] before splitting, " + _NAME_FIELD.format("metadata"),
        no_start="make the text splitter with add_start_index=True",
    ),
    Framework(
        "LlamaIndex node",
        marks=("ref_doc_id", "start_char_idx"),
        fields={
            "doc": "ref_doc_id",
            "start": "start_char_idx",
            "end": "end_char_idx",
            "text": "text",
        },
        no_doc="make nodes with get_nodes_from_documents, " + _NAME_FIELD.format("metadata"),
        no_start="its node parser did not find the text of the node in the document; use one that "
        "leaves the text as it is",
    ),
    Framework(
        "Haystack document",
        marks=("content", "meta"),
        metadata="meta",
        fields={
            "doc": "meta.source_id",
            "start": "meta.split_idx_start",
            "text": "content",
            "score": "score",
        },
        no_doc="split with DocumentSplitter, " + _NAME_FIELD.format("meta"),
        no_start="split with DocumentSplitter or RecursiveDocumentSplitter, which note it",
    ),
    Framework(
        "Chonkie chunk",
        marks=("start_index", "end_index", "text"),
        fields={
            "doc": "metadata.source",
            "start": "start_index",
            "end": "end_index",
            "text": "text",
            "tokens": "token_count",
        },
        no_doc="a chunk does not know its document; give pairs (document, chunk), or cut with "
        "chunk_document(Document(content=..., metadata={'source': ...}))",
    ),
)


# -- objects ---------------------------------------------------------------------------------------


class _MisfitError(Exception):
    """An object that is not a result, or a value of a wrong type."""


def flatten_topics(results: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of topic and object, out of a list for each topic."""
    for topic, own in results.items():
        if (
            isinstance(own, (str, bytes, Mapping))
            or not isinstance(own, Iterable)
            or _find_framework(own, {}) is not None
        ):
            several = ". Several runs are a list of foveal.run_of(results, name=...)"
            raise UsageError(
                f"{topic!r} has {_describe(own)}; expected a list for each topic"
                f"{several if isinstance(own, Mapping) else ''}"
            )
        for item in own:
            yield topic, item


def is_row(item: Any) -> bool:
    """Return True for an object that names its topic itself: a dict, a data class or a tuple.

    >>> is_row({"qid": 1, "docno": "d1"}), is_row(("1", "d1", 0, 40)), is_row({"1": [("d1", 0, 4)]})
    (True, True, False)
    """
    own = _as_mapping(item)
    if own is None:
        return isinstance(item, tuple) and len(item) in (4, 5) and isinstance(item[1], str)
    topic = next((own[name] for name in USUAL["topic"] if name in own), None)
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
    known: dict[type, Framework | None] = {}
    found: list[dict[str, Any]] = []
    kinds: list[str] = []
    problems: list[Problem] = []
    for number, (topic, item) in enumerate(items, 1):
        try:
            kind, fields = _read(item, topic, columns, doc, known)
        except _MisfitError as error:
            about = "" if topic is None else f"topic {topic!r}: "
            problems.append(Problem("object.type", name, number, f"{about}{error}"))
            kind, fields = DICT, {}
        kinds.append(kind.name)
        found.append(fields)
    table = {}
    for column in ("topic", *columns):
        values = table[column] = [fields.get(column) for fields in found]
        if _is_plain(values, COLUMNS[column]):
            continue
        for i, value in enumerate(values):
            try:
                values[i] = None if value is None else _convert(column, value)
            except _MisfitError as error:
                values[i] = None
                topic = found[i].get("topic")
                about = "" if topic is None else f"topic {topic!r}: "
                problems.append(Problem("object.value", name, i + 1, f"{about}{error}"))
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    try:
        frame = pl.DataFrame(table, schema={column: COLUMNS[column] for column in table})
    except UnicodeEncodeError as error:
        message = f"{_describe(error.object)} holds half a character (a lone surrogate)"
        raise InputError.at("object.value", name, None, message) from None
    line = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    return frame.with_columns(pl.Series("kind", kinds, dtype=pl.String), line=line)


def _read(
    item: Any,
    topic: Any,
    columns: tuple[str, ...],
    doc: DocOf,
    known: dict[type, Framework | None],
) -> tuple[Framework, dict[str, Any]]:
    """Return the kind of an object and its columns; pairs of an object and its score are opened."""
    given: dict[str, Any] = {} if topic is None else {"topic": topic}
    if isinstance(item, tuple) and not hasattr(item, "_fields"):
        if topic is None and len(item) in (4, 5):
            given, item = {"topic": item[0]}, item[1:]
        # The name of a document beside something that is not a place in it: a chunk, a dict.
        if len(item) in (2, 3) and isinstance(item[0], str) and not _is_number(item[1]):
            given["doc"], item = item[0], item[1] if len(item) == 2 else item[1:]
        elif len(item) in (3, 4):
            return TUPLE, given | dict(zip(("doc", "start", "end", columns[3]), item, strict=False))
        if isinstance(item, tuple) and len(item) == 2 and _is_number(item[1]):
            given[columns[3]], item = item[1], item[0]
    kind = _find_framework(item, known)
    if kind is None and hasattr(item, "node") and hasattr(item, "score"):
        # LlamaIndex's NodeWithScore
        given, item = {"score": item.score} | given, item.node
        kind = _find_framework(item, known)
    if "doc" in given:
        doc = None
    if kind is not None:
        return kind, _read_attributes(item, kind, doc) | given
    own = _as_mapping(item)
    if own is None:
        raise _MisfitError(
            f"{_describe(item)} is no result; expected (doc, start, end), a dict, or an object of "
            "LangChain, LlamaIndex, Haystack or Chonkie"
        )
    wanted = columns if topic is not None else ("topic", *columns)
    return DICT, _read_mapping(own, wanted, doc) | given


def _find_framework(item: Any, known: dict[type, Framework | None]) -> Framework | None:
    """Return the framework of an object, by its attributes; `known` has one for each type."""
    kind = type(item)
    if kind not in known:
        fitting = (own for own in FRAMEWORKS if all(hasattr(item, mark) for mark in own.marks))
        is_plain = isinstance(item, (str, bytes, int, float, tuple, list, Mapping))
        known[kind] = None if is_plain else next(fitting, None)
    return known[kind]


def _read_attributes(item: Any, kind: Framework, doc: DocOf) -> dict[str, Any]:
    """Return the columns that an object of a framework has.

    >>> from types import SimpleNamespace
    >>> chunk = SimpleNamespace(page_content="words", metadata={"source": "d1", "start_index": 40})
    >>> _read_attributes(chunk, FRAMEWORKS[0], None)
    {'doc': 'd1', 'start': 40, 'text': 'words'}
    """
    held = getattr(item, kind.metadata, None)
    metadata: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
    found = {}
    for name, attribute, key in kind.paths:
        value = metadata.get(key) if key else getattr(item, attribute, None)
        if value is not None:
            found[name] = value
    if doc is not None:
        found["doc"] = doc(item) if callable(doc) else metadata.get(doc)
    return found


def _read_mapping(item: Mapping[str, Any], columns: tuple[str, ...], doc: DocOf) -> dict[str, Any]:
    """Return the `columns` of a dict under any of their usual names, its own or in its metadata.

    >>> stored = {"page_content": "words", "metadata": {"source": "d1", "start_index": 40}}
    >>> _read_mapping(stored, ("doc", "start", "text"), None)
    {'doc': 'd1', 'start': 40, 'text': 'words'}
    """
    held = (item.get(name) for name in ("metadata", "meta"))
    inner: Mapping[str, Any] = next((own for own in held if isinstance(own, Mapping)), {})
    found = {}
    for column in columns:
        for part in (item, inner):
            name = next((n for n in USUAL[column] if part.get(n) is not None), None)
            if name is not None:
                found[column] = part[name]
                break
    if doc is not None:
        found["doc"] = doc(item) if callable(doc) else item.get(doc, inner.get(doc))
    return found


def _as_mapping(item: Any) -> Mapping[str, Any] | None:
    """Return a dict, or the fields of a named tuple or data class; None for other objects."""
    if isinstance(item, Mapping):
        return item
    if isinstance(item, tuple) and hasattr(item, "_asdict"):
        fields: Mapping[str, Any] = item._asdict()
        return fields
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {own.name: getattr(item, own.name) for own in dataclasses.fields(item)}
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _is_plain(values: list[Any], kind: Any) -> bool:
    """Return True if all values are None or of the Python type of a column, and not too large."""
    plain = {pl.String: str, pl.Int64: int, pl.Float64: float}.get(kind)
    types = {*map(type, values)} - {type(None)}
    if plain is None or not types <= {plain}:
        return False
    numbers = [value for value in values if value is not None] if plain is int else []
    return not numbers or -_LARGEST < min(numbers) <= max(numbers) < _LARGEST


def _convert(column: str, value: Any) -> Any:
    """Return a value in the type of its column."""
    kind = COLUMNS[column]
    if kind == pl.String:
        if isinstance(value, str):
            return value
        # Topics are often numbered; a file has their digits.
        if (
            isinstance(value, (int, np.integer))
            and not isinstance(value, bool)
            and column != "text"
        ):
            with suppress(ValueError):  # more digits than Python writes
                return str(value)
        expected = "text"
    elif kind == pl.Int64:
        # Some stores keep every number of the metadata as a float.
        if _is_number(value) and value == value // 1 and abs(value) < _LARGEST:
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


# -- data frames -----------------------------------------------------------------------------------


def frame_of(table: Any) -> pl.DataFrame | None:
    """Return a Polars or pandas frame as one of Polars; None for anything else.

    pandas is not imported, and neither is pyarrow, which Polars would need for it.
    """
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, pl.DataFrame):
        return table
    if not (hasattr(table, "columns") and hasattr(table, "iloc")):
        return None
    return pl.DataFrame(
        {str(name): _from_pandas(table[name]) for name in table.columns}, strict=False
    )


def _from_pandas(series: Any) -> pl.Series:
    """Return a column of pandas, with null where it has NaN, None or NA."""
    values = series.to_numpy()
    if values.dtype.kind in "iu":
        return pl.Series(values)
    if values.dtype.kind == "f":
        return pl.Series(values).fill_nan(None)
    absent = series.isna().tolist()
    kept = [None if gone else value for gone, value in zip(absent, series.tolist(), strict=True)]
    return pl.Series(kept, strict=False)


def runs_in(frame: pl.DataFrame) -> list[str]:
    """Return the names in the column ``run``, in their order; none without it.

    >>> runs_in(pl.DataFrame({"run": ["b", "a", "b"]}))
    ['b', 'a']
    """
    if "run" not in frame.columns:
        return []
    given = _convert_column(frame, "run", "run", pl.String)
    if given.null_count():
        raise UsageError(
            f"row {given.is_null().arg_true()[0] + 1} of the frame has no name in the column "
            "'run'; expected one in each row, or no such column"
        )
    names: list[str] = given.unique(maintain_order=True).to_list()
    return names


def rows_of_frame(frame: pl.DataFrame, columns: tuple[str, ...], doc: DocOf = None) -> pl.DataFrame:
    """Return the `columns` of a frame under our names, null where it has none.

    >>> rows_of_frame(pl.DataFrame({"qid": [7], "docno": ["d1"]}), ("doc", "start")).to_dicts()
    [{'topic': '7', 'doc': 'd1', 'start': None, 'kind': 'row', 'line': 1}]
    """
    if callable(doc):
        raise UsageError("doc is a function; for a frame it is the name of a column")
    own: list[pl.Series] = []
    for column in ("topic", *columns):
        names = (doc,) if column == "doc" and doc is not None else USUAL[column]
        found = next((name for name in names if name in frame.columns), None)
        if found is not None:
            own.append(_convert_column(frame, found, column, COLUMNS[column]))
        elif column in ("topic", "doc"):
            raise UsageError(
                f"the frame has no column for the {column}: {some(frame.columns)}; expected "
                f"{' or '.join(names[:5])}"
            )
        else:
            own.append(pl.Series(column, [None] * len(frame), dtype=COLUMNS[column]))
    line = np.arange(1, len(frame) + 1, dtype=np.int64)
    kind = pl.Series("kind", ["row"], dtype=pl.String).new_from_index(0, len(frame))
    return pl.DataFrame([*own, kind, pl.Series("line", line)])


def _convert_column(frame: pl.DataFrame, name: str, column: str, kind: Any) -> pl.Series:
    """Return a column in our type; refuse the first value that does not fit."""
    given = frame[name].alias(column)
    if given.dtype == pl.Null or (isinstance(kind, pl.List) and given.dtype == kind):
        return given.cast(kind)
    expected = "a number"
    if kind == pl.String:
        if given.dtype in (pl.String, pl.Categorical, pl.Enum) or given.dtype.is_integer():
            return given.cast(pl.String)
        expected = "text or whole numbers"
    elif kind == pl.Int64:
        expected = "whole numbers"
        if given.dtype.is_integer() or given.dtype.is_float():
            given = given.fill_nan(None) if given.dtype.is_float() else given
            if given.dtype.is_float():
                wrong = (given != given.floor()) | ~(given.abs() < float(_LARGEST))
            else:
                wrong = given.cast(pl.Int64, strict=False).is_null() & given.is_not_null()
            broken = given.filter(wrong)
            if len(broken):
                raise UsageError(f"column {name!r} holds {broken[0]}; expected {expected}")
            return given.cast(pl.Int64)
    elif kind == pl.Float64 and given.dtype.is_numeric():
        return given.cast(pl.Float64)
    raise UsageError(f"column {name!r} holds {given.dtype}; expected {expected}")
