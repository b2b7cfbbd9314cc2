"""Scores as a table: a row for each run, a column for each measure, the best in bold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from foveal.analysis.score_matrix import parse_label
from foveal.errors import plural, shorten_list
from foveal.model import Results
from foveal.model.run import ALL
from foveal.model.tables import Table, format_cell


def tabulate_scores(
    results: Results,
    *,
    per_topic: bool = False,
    titled: bool = False,
    labels: Mapping[str, str] | None = None,
) -> Table:
    """Return a table with a row per run (and topic) and a column per measure.

    With `per_topic` a row for each topic comes before the means. A `titled` table gives the numbers
    of runs and topics. `labels` are names to show instead of the measures' names.
    """
    measures = [parse_label(label) for label in results.measures]
    sums = [measure is not None and measure.summed for measure in measures]
    rows: list[tuple[str, ...]] = []
    means: list[int] = []  # the row of each run's means
    for i, run in enumerate(results.runs):
        shown = np.flatnonzero(results.counted[i]).tolist() if per_topic else []
        lines = [(results.topics[j], results.values[i, j]) for j in shown]
        for topic, values in (*lines, (ALL, results.overall[i])):
            cells = (
                "-" if np.isnan(value) else str(round(value)) if is_sum else f"{value:.4f}"
                for value, is_sum in zip(values.tolist(), sums, strict=True)
            )
            rows.append((run, topic, *cells) if per_topic else (run, *cells))
        means.append(len(rows) - 1)
    names = ("run", "topic") if per_topic else ("run",)
    best = set()
    for k, measure in enumerate(measures):
        numbers = results.overall[:, k]
        is_better = measure.higher_is_better if measure else True
        if results.measures[k] in results.lower_is_better:
            is_better = False
        if len(results.runs) > 1 and is_better is not None and not np.isnan(numbers).all():
            top = np.nanmax(numbers) if is_better else np.nanmin(numbers)
            best |= {(means[i], k + len(names)) for i in np.flatnonzero(numbers == top).tolist()}
    title = ""
    if titled:
        runs = len(results.runs)
        title = "Scores of one run" if runs == 1 else f"Scores of {runs} runs"
        topics = results.averaged[:, [not is_sum for is_sum in sums]]
        if topics.size and topics.max():
            fewest, most = int(topics.min()), int(topics.max())
            title += f", means over {'' if fewest == most else f'{fewest} to '}"
            title += plural(most, "topic")
        title += ", best in bold" if runs > 1 else ""
    header = (*names, *((labels or {}).get(label, label) for label in results.measures))
    return Table(header, tuple(rows), frozenset(best), len(names), title, name="scores")


def tabulate_bounds(results: Results, labels: Mapping[str, str] | None = None) -> list[Table]:
    """Return a table of the bounds of means over the unjudged text; none without bounds."""
    if results.bounds is None:
        return []
    rows, without = list[tuple[str, ...]](), list[str]()
    kinds = results.meta.get("bounds", {})
    for k, label in enumerate(results.measures):
        name, kind = (labels or {}).get(label, label), kinds.get(label.partition("[")[0], "")
        if kind == "none":
            without.append(name)
            continue
        for i, run in enumerate(results.runs):
            parts = (results, results.bounds.low, results.bounds.high)
            cells = (format_cell(float(part.overall[i, k])) for part in parts)
            rows.append((name, run, *cells, kind))
    notes = ["exact: some completion of the judgements reaches it; proven: none passes it"]
    notes += [f"no bounds are known for {shorten_list(without)}"] if without else []
    header = ("measure", "run", "score", "least", "greatest", "bounds")
    title = "Least and greatest scores over the unjudged text"
    return [Table(header, tuple(rows), labels=2, title=title, notes=tuple(notes), name="bounds")]
