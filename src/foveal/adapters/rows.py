"""Python objects as rows: one for each result or judged span, in columns of our names.

The table is not checked beyond the types of its values; `foveal.adapters.placing` does that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl

from foveal.adapters.frameworks import DICT, TUPLE, USUAL, Kind, kind_of, read_mapping, read_object
from foveal.errors import InputError, Problem, UsageError

__all__ = ["COLUMNS", "DocOf", "is_row", "listed", "rows_of", "unlisted"]

DocOf = str | Callable[[Any], Any] | None
"""What tells the document of a result: the name of a field, or a function of the object."""

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

_LARGEST = 1 << 62


def listed(
    results: Mapping[Any, Iterable[Any]], columns: tuple[str, ...], name: str, doc: DocOf = None
) -> pl.DataFrame:
    """Rows of ``{topic: [object, ...]}`` in that order.

    >>> listed({7: [("d1", 0, 40)]}, ("doc", "start", "end", "score"), "run").to_dicts()
    [{'topic': '7', 'doc': 'd1', 'start': 0, 'end': 40, 'score': None, 'kind': 'tuple', 'line': 1}]
    """
    known: dict[str, Any] = {}
    for topic in results:
        # 7 and "7" are one topic here as they are in a file; which list is first, nobody said.
        other = known.setdefault(str(topic), topic)
        if other is not topic:
            raise UsageError(
                f"{other!r} and {topic!r} are the same topic; expected one list for each topic"
            )
    return rows_of(unlisted(results), columns, name, doc)


def unlisted(results: Mapping[Any, Iterable[Any]]) -> Iterator[tuple[Any, Any]]:
    """Pairs of topic and object, out of a list for each topic."""
    for topic, own in results.items():
        if (
            isinstance(own, (str, bytes, Mapping))
            or not isinstance(own, Iterable)
            or kind_of(type(own), own) is not None
        ):
            named = ". Several runs are a list of foveal.run_of(results, name=...)"
            raise UsageError(
                f"{topic!r} has {_shown(own)}; expected a list for each topic"
                f"{named if isinstance(own, Mapping) else ''}"
            )
        for item in own:
            yield topic, item


def is_row(item: Any) -> bool:
    """Whether an object is a row, which names its topic itself: a dict or the like, or a tuple.

    >>> is_row({"qid": 1, "docno": "d1"}), is_row(("1", "d1", 0, 40)), is_row({"1": [("d1", 0, 4)]})
    (True, True, False)
    """
    own = _as_mapping(item)
    if own is None:
        return isinstance(item, tuple) and len(item) in (4, 5) and isinstance(item[1], str)
    topic = next((own[name] for name in USUAL["topic"] if name in own), None)
    return isinstance(topic, (str, int, np.integer))


def rows_of(
    items: Iterable[tuple[Any, Any]], columns: tuple[str, ...], name: str, doc: DocOf = None
) -> pl.DataFrame:
    """Rows of pairs of topic and object; a topic of None is for the object to tell.

    The `columns` after ``doc``, ``start`` and ``end`` are those that objects may tell; the first
    of them is the fourth of a tuple.
    """
    kinds: dict[type, Kind | None] = {}
    told: list[dict[str, Any]] = []
    names: list[str] = []
    problems: list[Problem] = []
    for number, (topic, item) in enumerate(items, 1):
        try:
            kind, found = _read(item, topic, columns, doc, kinds)
        except _MisfitError as error:
            problems.append(Problem("unclassified", name, number, f"{_about(topic)}{error}"))
            kind, found = DICT, {}
        names.append(kind.name)
        told.append(found)
    table = {column: _typed_column(column, told, problems, name) for column in ("topic", *columns)}
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    try:
        frame = pl.DataFrame(table, schema={column: COLUMNS[column] for column in table})
    except UnicodeEncodeError as error:
        raise InputError.at(
            "unclassified",
            name,
            None,
            f"{_shown(error.object)} holds half a character (a lone surrogate)",
        ) from None
    number_of = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    return frame.with_columns(pl.Series("kind", names, dtype=pl.String), line=number_of)


class _MisfitError(Exception):
    """What is wrong with one object."""


def _read(
    item: Any,
    topic: Any,
    columns: tuple[str, ...],
    doc: DocOf,
    kinds: dict[type, Kind | None],
) -> tuple[Kind, dict[str, Any]]:
    """The kind of an object and what it tells; pairs of an object with its score are opened."""
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
    kind = _known_kind(item, kinds)
    if kind is None and hasattr(item, "node") and hasattr(item, "score"):
        # LlamaIndex's NodeWithScore
        given, item = {"score": item.score} | given, item.node
        kind = _known_kind(item, kinds)
    if kind is not None:
        return kind, read_object(item, kind, None if "doc" in given else doc) | given
    own = _as_mapping(item)
    if own is None:
        raise _MisfitError(
            f"{_shown(item)} is no result; expected (doc, start, end), a dict, or an object of "
            "LangChain, LlamaIndex, Haystack or Chonkie"
        )
    wanted = columns if topic is not None else ("topic", *columns)
    return DICT, read_mapping(own, wanted, None if "doc" in given else doc) | given


def _known_kind(item: Any, kinds: dict[type, Kind | None]) -> Kind | None:
    """The framework of an object, looked up once for each type."""
    own = type(item)
    if own not in kinds:
        kinds[own] = kind_of(own, item)
    return kinds[own]


def _as_mapping(item: Any) -> Mapping[str, Any] | None:
    """A dict, or the fields of a named tuple or data class."""
    if isinstance(item, Mapping):
        return item
    if isinstance(item, tuple) and hasattr(item, "_asdict"):
        fields: Mapping[str, Any] = item._asdict()
        return fields
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


_PLAIN: dict[Any, frozenset[type]] = {
    pl.String: frozenset([str, type(None)]),
    pl.Int64: frozenset([int, type(None)]),
    pl.Float64: frozenset([float, type(None)]),
}
"""The types of Python that need no second look."""


def _about(topic: Any) -> str:
    return "" if topic is None else f"topic {topic!r}: "


def _typed_column(
    column: str, told: list[dict[str, Any]], problems: list[Problem], name: str
) -> list[Any]:
    """The values of a column; those of other types one by one."""
    values = [found.get(column) for found in told]
    plain = _PLAIN.get(COLUMNS[column])
    if plain is not None and plain.issuperset(map(type, values)) and not _too_large(values, plain):
        return values
    for i, value in enumerate(values):
        try:
            values[i] = None if value is None else _typed(column, value)
        except _MisfitError as error:
            values[i] = None
            problems.append(
                Problem("unclassified", name, i + 1, f"{_about(told[i].get('topic'))}{error}")
            )
    return values


def _too_large(values: list[Any], plain: frozenset[type]) -> bool:
    """Whether any whole number is too large for a column."""
    if int not in plain:
        return False
    given = [value for value in values if value is not None]
    return bool(given) and not -_LARGEST < min(given) <= max(given) < _LARGEST


def _typed(column: str, value: Any) -> Any:
    """A value of the column's type, or what is wrong with it."""
    kind = COLUMNS[column]
    if kind == pl.String:
        # Topics are often numbered; a file has their digits.
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            if column != "text":
                with suppress(ValueError):  # more digits than Python writes
                    return str(value)
        elif isinstance(value, str):
            return value
        raise _MisfitError(f"{column} is {_shown(value)}; expected text")
    if kind == pl.Int64:
        # Some stores keep every number of the metadata as a float.
        if _is_number(value) and value == value // 1 and abs(value) < _LARGEST:
            return int(value)
        raise _MisfitError(f"{column} is {_shown(value)}; expected a whole number")
    if kind == pl.Float64:
        if _is_number(value):
            with suppress(OverflowError):
                return float(value)
        raise _MisfitError(f"{column} is {_shown(value)}; expected a number")
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [str(one) for one in value]
    raise _MisfitError(f"{column} is {_shown(value)}; expected a list of names")


def _shown(value: Any) -> str:
    """A value for messages, short.

    >>> _shown("x" * 99), _shown(None)
    ("str 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx...", 'None')
    """
    if value is None:
        return "None"
    try:
        text = repr(value)
    except ValueError:  # more digits than Python writes
        text = "of thousands of digits"
    return f"{type(value).__name__} {text if len(text) <= 34 else text[:30] + '...'}"
