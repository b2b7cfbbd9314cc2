"""Results for people: plain, Markdown, LaTeX and HTML tables, four decimals, the best in bold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from foveal.errors import UsageError
from foveal.measures import Measure, parse_measure
from foveal.model import Results
from foveal.model.run import ALL
from foveal.report import grids
from foveal.report.grids import Grid

__all__ = ["TABLE_FORMATS", "grid", "html", "latex", "markdown", "plain", "titled"]


def _parse_label(label: str) -> Measure | None:
    """Return the measure of a label; None for one of another version or a user's own column."""
    try:
        return parse_measure(label)
    except UsageError:
        return None


def grid(results: Results, *, per_topic: bool) -> Grid:
    """Return a table with a row per run (and topic) and a column per measure."""
    measures = [_parse_label(label) for label in results.measures]
    rows: list[tuple[str, ...]] = []
    best: set[tuple[int, int]] = set()
    labels = 2 if per_topic else 1
    places: dict[str, list[int]] = {}
    for i, run in enumerate(results.runs):
        blocks = [(ALL, results.overall[i])]
        if per_topic:
            shown = np.flatnonzero(results.counted[i]).tolist()
            blocks = [*((results.topics[j], results.values[i, j]) for j in shown), *blocks]
        for topic, values in blocks:
            places.setdefault(topic, []).append(len(rows))
            cells = []
            for value, measure in zip(values.tolist(), measures, strict=True):
                whole = measure is not None and measure.summed
                if np.isnan(value):
                    cells.append("-")
                else:
                    cells.append(str(round(value)) if whole else f"{value:.4f}")
            rows.append((run, topic, *cells) if per_topic else (run, *cells))
    if len(results.runs) > 1:
        for k, measure in enumerate(measures):
            better = (
                results.measures[k] not in results.lower_is_better
                if measure is None
                else measure.higher_is_better
            )
            if better is None:
                continue
            numbers = results.overall[:, k]
            if not np.isnan(numbers).all():
                top = np.nanmax(numbers) if better else np.nanmin(numbers)
                best |= {
                    (place, k + labels)
                    for place, value in zip(places[ALL], numbers.tolist(), strict=True)
                    if value == top
                }
    header = ("run", "topic") if per_topic else ("run",)
    return Grid((*header, *results.measures), tuple(rows), frozenset(best), labels)


def plain(results: Results, *, per_topic: bool, width: int = 100, bold: bool = False) -> str:
    """A table for the terminal, turned over if it is wider than the terminal."""
    table = grid(results, per_topic=per_topic)
    turned = table.transposed()
    if table.width > width and turned.width < table.width:
        table = turned
    return grids.plain(table, bold=bold)


def titled(results: Results, *, per_topic: bool) -> Grid:
    """The table with a title that says of how many topics the scores are."""
    means = [m is None or not m.summed for m in map(_parse_label, results.measures)]
    topics = results.averaged[:, means]
    over = ""
    if topics.size and topics.max():
        fewest, most = int(topics.min()), int(topics.max())
        number = str(most) if fewest == most else f"{fewest} to {most}"
        over = f", means over {number} topic{'s' if most > 1 else ''}"
    runs = "Scores of one run" if len(results.runs) == 1 else f"Scores of {len(results.runs)} runs"
    best = ", best in bold" if len(results.runs) > 1 else ""
    table = grid(results, per_topic=per_topic)
    return replace(table, title=f"{runs}{over}{best}", name="scores")


def markdown(results: Results, *, per_topic: bool = False) -> str:
    """A pipe table as GitHub, pandoc and MkDocs read it.

    Significance marks are those of a comparison: `foveal.report.comparisons.markdown`.
    """
    return grids.markdown(titled(results, per_topic=per_topic))


def latex(results: Results, *, per_topic: bool = False) -> str:
    """A LaTeX table with booktabs rules.

    Significance marks are those of a comparison: `foveal.report.comparisons.latex`.
    """
    return grids.GRID_FORMATS["latex"]([titled(results, per_topic=per_topic)])


def html(results: Results, *, per_topic: bool = False) -> str:
    """A page with one table, nothing fetched from anywhere."""
    table = titled(results, per_topic=per_topic)
    version = results.meta.get("version")
    return grids.page(
        [replace(table, title=f"{table.title}. Foveal {version}") if version else table]
    )


TABLE_FORMATS: dict[str, Callable[..., str]] = {
    "table": plain,
    "markdown": markdown,
    "latex": latex,
    "html": html,
}
"""Format to writer, ``writer(results, per_topic=...)``."""
