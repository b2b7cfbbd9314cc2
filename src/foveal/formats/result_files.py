"""Results as data: tsv, csv, json, jsonl and parquet at full precision; saved results."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypedDict

from foveal.errors import UsageError
from foveal.files.source import Source
from foveal.formats import Format, json_kind, parse_with
from foveal.model import Results

_WORDS = {"None": "none", "True": "true", "False": "false"}


def format_separated(header: Sequence[str], rows: Iterable[Sequence[object]], form: str) -> str:
    r"""Return a table as tsv or csv, with numbers at full precision.

    A field that tsv cannot hold is refused.
    """
    lines = [list(header)]
    lines += [
        [own if isinstance(own, str) else _WORDS.get(repr(own), repr(own)) for own in row]
        for row in rows
    ]
    if form == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*map(_no_formula, line)] for line in lines)
        return text.getvalue()
    for name in (name for line in lines for name in line if not {*"\t\n\r"}.isdisjoint(name)):
        raise UsageError(f"{name!r} cannot be a field of tsv; csv and json can hold it")
    return "".join("\t".join(line) + "\n" for line in lines)


def _no_formula(field: str) -> str:
    """Return a field of csv, with an apostrophe before what spreadsheets run as a formula."""
    try:
        float(field)
    except ValueError:
        return f"'{field}" if field.startswith(("=", "+", "-", "@", "\t", "\r")) else field
    return field


def _write_csv(results: Results, *, per_topic: bool) -> str:
    tidy = results.tidy(per_topic=per_topic)
    return format_separated(tidy.columns, tidy.iter_rows(), "csv")


def _write_parquet(results: Results, *, per_topic: bool) -> bytes:
    buffer = io.BytesIO()
    results.tidy(per_topic=per_topic).write_parquet(buffer)
    return buffer.getvalue()


DATA_FORMATS: dict[str, Callable[..., str | bytes]] = {
    "tsv": Results.to_tsv,
    "csv": _write_csv,
    "json": lambda results, **_: results.to_json(),
    "jsonl": lambda results, **topics: "\n".join([*results.written("json", **topics), ""]),
    "parquet": _write_parquet,
}
"""Format to writer, ``writer(results, per_topic=...)``; json always holds every topic."""


class _SavedOptions(TypedDict, total=False):
    assessors: str | None


class _Meta(TypedDict, total=False):
    """The parts of a meta that are read again."""

    task: str | None
    parts: list[_Meta]
    inputs: list[dict[str, Any]]
    warnings: list[Any]
    lower_is_better: list[Any]
    options: _SavedOptions
    tasks: dict[str, str | None]
    topics: dict[str, Any]


def read_results(path: str | Path | Source) -> Results:
    """Read results saved by ``foveal evaluate -f json``, without scoring again."""
    import msgspec

    source = Source.of(path)
    source.check_utf8()
    try:
        results = Results.from_json(source.data)
        msgspec.convert(results.meta, _Meta)
    except (ValueError, UsageError, RecursionError) as error:
        text = "these are not saved results, as 'foveal evaluate -f json' writes them"
        line = getattr(error, "lineno", None)
        message, *_ = str(error).split("; use sys.")  # a hint for programmers
        raise source.error("results.format", line, f"{text}: {message}") from None
    if not results.runs:
        text = "the saved results are empty: they hold no score of a run"
        raise source.error("results.empty", None, text)
    return results


FORMATS = (
    Format(
        "json",
        "results",
        """Results as `foveal evaluate -f json` saves them.

One object with the `scores` of every run, measure and topic at full precision, and the `meta` with
inputs, options and versions.""",
        "",
        lambda source: json_kind(source) == "results",
        parse_with(read_results),
        Results.to_json,
    ),
)
