"""The one writer: scores and every result object in every format."""

from __future__ import annotations

import io
from inspect import signature
from typing import Any

from foveal.analysis.score_tables import tabulate_bounds, tabulate_scores
from foveal.errors import UsageError
from foveal.formats.result_files import DATA_FORMATS, format_separated
from foveal.model import Results
from foveal.model.result_object import Result, to_json_line
from foveal.model.tables import TABLE_FORMATS, format_tables

FORMATS = ("table", "tsv", "csv", "json", "jsonl", "parquet", "markdown", "latex", "html")


def render(
    result: Result | Results,
    form: str,
    *,
    width: int | None = None,
    bold: bool = False,
    **shown: Any,
) -> str | bytes:
    """Return scores or another result object in one of `FORMATS`.

    Parameters
    ----------
    result : Results or Result
    form : str
    width : int, optional
        Width of the terminal: wider scores are transposed, wider matrices get numbered columns.
    bold : bool
        Print the best values in bold, for terminals.
    **shown
        Choice of what to show, passed to `tables` or `rows` of the result as far as they take it:
        ``per_topic``, or ``show``, the names of tables. For tables of scores also ``labels``,
        names to show instead of those of the measures.

    Examples
    --------
    >>> results = Results.from_tidy([("a", "all", "AP", 0.5), ("b", "all", "AP", 0.25)], {})
    >>> print(render(results, "table"), end="")
    run      AP
    ---  ------
    a    0.5000
    b    0.2500
    """
    if form not in FORMATS:
        raise UsageError(f"unknown format {form!r}; expected {' or '.join(FORMATS)}")
    if isinstance(result, Results):
        if form not in TABLE_FORMATS:
            return DATA_FORMATS[form](result, **({"per_topic": False} | shown))
        table = tabulate_scores(result, titled=form != "table", **shown)
        if width is not None and table.width > width:
            table = min(table, table.transpose(), key=lambda table: table.width)
        return format_tables(
            [table, *tabulate_bounds(result, shown.get("labels"))], form, bold=bold
        )
    of_tables, of_rows = (set(signature(part).parameters) for part in (result.tables, result.rows))
    if form in TABLE_FORMATS:
        tables = list(result.tables(**{n: v for n, v in shown.items() if n in of_tables}))
        if width is not None:
            tables = [table if table.width <= width else table.number_columns() for table in tables]
        return format_tables(tables, form, bold=bold)
    if form == "json":
        return result.to_json()
    rows = list(result.rows(**{n: v for n, v in shown.items() if n in of_rows}))
    if form in ("tsv", "csv"):
        return format_separated(
            list(rows[0]) if rows else [], (list(r.values()) for r in rows), form
        )
    if form == "jsonl":
        return "".join(f"{to_json_line(row)}\n" for row in rows)
    import polars as pl

    buffer = io.BytesIO()
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(buffer)
    return buffer.getvalue()
