"""Results as data: tsv, csv, json, jsonl and parquet at full precision; saved results."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeGuard

from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Source
from foveal.formats.base import Format, Parsed, json_kind
from foveal.model import Results
from foveal.model.results import JSON_ROW, RowForm

__all__ = ["DATA_FORMATS", "EXACT_CSV", "FORMATS", "parse_saved", "read_results", "separated"]

EXACT_CSV: ContextVar[bool] = ContextVar("EXACT_CSV", default=False)
"""Write names to csv as they are, also those that a spreadsheet runs as formulas."""
_FIELDS = ("run", "topic", "measure", "value")


def separated(header: Sequence[str], rows: Iterable[Sequence[object]], form: str) -> str:
    r"""Return a table as tsv or csv, with numbers at full precision.

    A field that tsv cannot hold is refused.

    >>> separated(["run", "AP"], [("a", 0.5), ("b", float("nan"))], "tsv")
    'run\tAP\na\t0.5\nb\tnan\n'
    """
    lines = [list(header), *([_field(value) for value in row] for row in rows)]
    if form == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*map(_no_formula, line)] for line in lines)
        return text.getvalue()
    return "".join("\t".join(map(_tsv_field, line)) + "\n" for line in lines)


_UNFIT = frozenset("\t\n\r")


def _tsv_field(name: str) -> str:
    if not _UNFIT.isdisjoint(name):
        raise UsageError(f"{name!r} cannot be a field of tsv; csv and json can hold it")
    return name


def _csv_field(name: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([_no_formula(name)])
    return text.getvalue().removesuffix("\n")


def _no_formula(field: str) -> str:
    """Return a field of csv, with an apostrophe before what spreadsheets run as a formula.

    >>> [_no_formula(field) for field in ("run", "=1+1", "-0.5", "-x")]
    ['run', "'=1+1", '-0.5', "'-x"]
    """
    if EXACT_CSV.get() or not field.startswith(("=", "+", "-", "@", "\t", "\r")):
        return field
    return field if _is_number(field) else f"'{field}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _field(value: object) -> str:
    if isinstance(value, str):
        return value
    return {None: "none", True: "true", False: "false"}[value] if _is_word(value) else repr(value)


def _is_word(value: object) -> TypeGuard[bool | None]:
    return value is None or isinstance(value, bool)


def _csv(results: Results, *, per_topic: bool) -> str:
    form = RowForm(_csv_field, ("", ",", ",", ",", "\n"), repr)
    return ",".join(_FIELDS) + "\n" + "".join(results.written(form, per_topic=per_topic))


def _json(results: Results, *, per_topic: bool) -> str:  # noqa: ARG001 - always complete
    return results.to_json()


def _jsonl(results: Results, *, per_topic: bool) -> str:
    return "".join(f"{row}\n" for row in results.written(JSON_ROW, per_topic=per_topic))


def _parquet(results: Results, *, per_topic: bool) -> bytes:
    buffer = io.BytesIO()
    results.tidy(per_topic=per_topic).write_parquet(buffer)
    return buffer.getvalue()


DATA_FORMATS: dict[str, Callable[..., str | bytes]] = {
    "tsv": Results.to_tsv,
    "csv": _csv,
    "json": _json,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
"""Format to writer, ``writer(results, per_topic=...)``; json always holds every topic."""


def read_results(path: str | Path) -> Results:
    """Read results saved by ``foveal evaluate -f json``, without scoring again."""
    results: Results = parse_saved(Source.open(path)).checked()
    return results


def parse_saved(source: Source) -> Parsed:
    """Return saved results, or the problem that keeps them from being read."""
    line = None
    try:
        source.check_utf8()
        results = Results.from_json(source.data)
        _check_meta(results.meta)
        if results.runs:
            return Parsed(results, [])
        message = "the saved results are empty: they hold no score of a run"
        return Parsed(None, [Problem("results.empty", source.path, None, message)])
    except InputError as error:
        return Parsed(None, [*error.problems])
    except json.JSONDecodeError as error:
        line, found = error.lineno, f"no JSON ({error.msg} in column {error.colno})"
    except RecursionError:
        found = "brackets nested too deep"
    except (ValueError, UsageError) as error:
        found = str(error)
    message = f"these are not saved results, as 'foveal evaluate -f json' writes them: {found}"
    return Parsed(None, [Problem("results.format", source.path, line, message)])


_META: dict[str, type[Any]] = {
    **dict.fromkeys(("parts", "inputs", "warnings", "lower_is_better"), list),
    **dict.fromkeys(("options", "tasks", "topics"), dict),
}
"""Kind of JSON of the parts of a meta that are read again."""


def _check_meta(meta: Mapping[str, Any]) -> None:
    """Refuse a meta with values of another kind than those that are written."""
    for name, kind in _META.items():
        if not isinstance(meta.get(name, kind()), kind):
            expected = "a list" if kind is list else "an object"
            raise ValueError(
                f"{name!r} of the meta is {json.dumps(meta[name])}; expected {expected}"
            )
    named = {"task": meta.get("task"), "assessors": meta.get("options", {}).get("assessors")}
    named |= {f"tasks of {run!r}": task for run, task in meta.get("tasks", {}).items()}
    for name, value in named.items():
        if not isinstance(value, str | None):
            raise ValueError(f"{name} in the meta is {json.dumps(value)}; expected a name")
    for item in (*meta.get("inputs", ()), *meta.get("parts", ())):
        if not isinstance(item, dict):
            raise ValueError(f"{json.dumps(item)} found in the meta; expected an object")
    for part in meta.get("parts", ()):
        _check_meta(part)


FORMATS = (
    Format(
        "json",
        "results",
        """Results as `foveal evaluate -f json` saves them.

One object with the `scores` of every run, measure and topic at full precision, and the `meta` with
inputs, options and versions.""",
        "",
        lambda source: json_kind(source) == "results",
        parse_saved,
        Results.to_json,
    ),
)
