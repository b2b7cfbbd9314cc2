"""The base of all result objects: rows, tables, graphs and a summary, shown in every format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any

from foveal.errors import escape_controls
from foveal.model.tables import LONGEST, Table, format_tables, to_html

if TYPE_CHECKING:
    import polars as pl

    from foveal.model.graphs import Graph, Matrix

__all__ = ["Result", "to_json", "to_json_line"]

Row = Mapping[str, Any]
_MOST_ROWS = 20  # of a table in a notebook


class Result:
    """The result of an analysis: a comparison, a correlation, budget curves and so on.

    A subclass defines `rows` and `tables`, and where they make sense `parts`, `graphs` and
    `summary`. Its methods may take keywords that choose what to show, such as ``per_topic``;
    `foveal.report.write.render` passes them on.
    """

    meta: Mapping[str, Any]
    """Provenance: version, options and inputs as far as they matter, warnings."""

    def rows(self) -> Iterable[Row]:
        """Return the numbers, a mapping for each row, as tsv, csv and data frames hold them."""
        raise NotImplementedError

    def parts(self) -> Mapping[str, Any]:
        """Return everything that JSON holds beside `meta`, by name."""
        return {"rows": list(self.rows())}

    def tables(self) -> Sequence[Table]:
        """Return the tables for people."""
        raise NotImplementedError

    def graphs(self) -> Sequence[Graph | Matrix]:
        """Return the graphs; none by default."""
        return ()

    def summary(self) -> str:
        """Return the answer in one or two sentences; empty if there is none."""
        return ""

    def to_frame(self) -> pl.DataFrame:
        """Return the rows as a Polars data frame."""
        import polars as pl

        return pl.DataFrame(list(self.rows()), infer_schema_length=None)

    def to_json(self) -> str:
        """Return `meta` and all parts as JSON."""
        return to_json(self.meta, self.parts())

    def to_dict(self) -> dict[str, Any]:
        """Return `meta` and all parts as JSON types."""
        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def __str__(self) -> str:
        text = format_tables(self.tables(), "table")
        summary = escape_controls(self.summary(), keep="\n")
        return (f"{text}\n{summary}" if summary else text).rstrip("\n")

    def _repr_html_(self) -> str:
        tables = (table.shorten(_MOST_ROWS, "rows") for table in self.tables())
        shown = "".join(to_html(table, longest=LONGEST) for table in tables)
        summary = escape(escape_controls(self.summary()))
        return f"{shown}<p>{summary}</p>" if summary else shown


def to_json(meta: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    """Write a meta and parts as JSON, a line for each row; undefined numbers are null.

    >>> print(to_json({}, {"rows": [{"run": "a", "AP": float("nan")}, {"run": "b", "AP": 0.5}]}))
    {"meta":{},
    "rows":[
    {"run": "a", "AP": null},
    {"run": "b", "AP": 0.5}
    ]}
    <BLANKLINE>
    """
    written = {}
    for name, part in {"meta": meta, **parts}.items():
        if isinstance(part, Sequence) and not isinstance(part, str):
            written[name] = "[\n" + ",\n".join(map(to_json_line, part)) + "\n]"
        else:
            written[name] = json.dumps(_without_nan(part), ensure_ascii=False, indent=1)
    return "{" + ",\n".join(f"{json.dumps(n)}:{text}" for n, text in written.items()) + "}\n"


def to_json_line(row: Any) -> str:
    """Return a row as JSON on one line; undefined numbers are null."""
    return json.dumps(_without_nan(row), ensure_ascii=False)


def _without_nan(value: Any) -> Any:
    """Return a value with null for numbers that JSON cannot hold."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return value
