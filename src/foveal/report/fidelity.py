"""A trial of measures for people: the two tables of the fidelity study, and what they come to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from foveal.analysis.trials import LEVEL, TOLERANCE, Fidelity, Outcome
from foveal.formats.results import separated
from foveal.report import tables
from foveal.report.grids import Grid

__all__ = ["FIDELITY_TABLES", "grids_of", "ordering_grids", "rows_of", "score_grid", "verdict_grid"]

_MARKS = {"broken": "!!", "reversed": "!", "below": "?", "equal": "", "holds": ""}
_ABREAST = 2
"""Measures side by side, as many as a terminal has room for."""
_LEAST = 2.2e-16
"""What the study printed for any p below it."""


def score_grid(trial: Fidelity) -> Grid:
    """Table 1: the means of all runs by all measures."""
    topics = len(trial.scores.topics)
    return replace(
        tables.grid(trial.scores, per_topic=False),
        title=f"Scores of {len(trial.scores.runs)} runs, {topics} topics",
    )


def ordering_grids(trial: Fidelity) -> list[Grid]:
    """Table 2: what each measure makes of every ordering, some measures to a table."""
    measures = [verdict.measure for verdict in trial.verdicts]
    return [
        _ordering_grid(trial, measures[i : i + _ABREAST], last=i + _ABREAST >= len(measures))
        for i in range(0, len(measures), _ABREAST)
    ]


def _ordering_grid(trial: Fidelity, measures: list[str], *, last: bool) -> Grid:
    header = ["ordering", "on"]
    blocks = []
    for measure in measures:
        header += [f"{measure} diff %", ">", "==", "<", "p", "!"]
        blocks.append([_cells(outcome) for outcome in trial.of(measure)])
    labels = [(str(o), "every" if o.every else "mean") for o in trial.orderings]
    lines = [
        (*label, *(cell for block in row for cell in block))
        for label, row in zip(labels, zip(*blocks, strict=True), strict=True)
    ]
    level = trial.options.get("level", LEVEL)
    equal = f"equal (within {TOLERANCE:g})"
    tested = f">, ==, <: topics on which the first run is better, {equal} and worse"
    broken = f"!!: must hold on every topic and does not; !: reversed on average (p < {level:g})"
    notes = (
        "on: expected on every topic, or of the mean over topics.",
        f"{tested}; p: paired t-test, two-sided, not corrected.",
        f"{broken}; ?: below on average, not significantly.",
    )
    return Grid(
        tuple(header),
        tuple(lines),
        labels=2,
        title=f"Expected orderings by {' and '.join(measures)}",
        notes=notes if last else (),
    )


def _cells(outcome: Outcome) -> tuple[str, ...]:
    difference = f"{100 * outcome.difference:+.2f}" if outcome.wins + outcome.losses else "0"
    counts = (str(outcome.wins), str(outcome.ties), str(outcome.losses))
    return difference, *counts, _chance(outcome), _MARKS[outcome.verdict]


def _chance(outcome: Outcome) -> str:
    if not outcome.wins + outcome.losses or math.isnan(outcome.p):
        return "-"
    if outcome.p < _LEAST:
        return f"<{_LEAST:g}"
    return f"{outcome.p:.4f}" if outcome.p >= 0.0001 else f"{outcome.p:.1e}"


def verdict_grid(trial: Fidelity) -> Grid:
    """How many orderings of each kind came out how, and the verdicts in words."""
    kinds = ("holds", "equal", "broken", "reversed", "below")
    lines = []
    for verdict in trial.verdicts:
        own = [outcome.verdict for outcome in trial.of(verdict.measure)]
        counts = (str(own.count(kind)) for kind in kinds)
        lines.append((verdict.measure, "passes" if verdict.passed else "fails", *counts))
    return Grid(
        ("measure", "verdict", *kinds),
        tuple(lines),
        labels=2,
        title="Verdict",
        notes=trial.sentences,
    )


FIDELITY_TABLES: dict[str, Callable[[Fidelity], list[Grid]]] = {
    "scores": lambda trial: [score_grid(trial)],
    "orderings": ordering_grids,
    "verdict": lambda trial: [verdict_grid(trial)],
}
"""The tables in their order."""


def grids_of(trial: Fidelity, table: str | None) -> list[Grid]:
    """One of the tables, or all."""
    wanted = FIDELITY_TABLES if table is None else [table]
    return [grid for name in wanted for grid in FIDELITY_TABLES[name](trial)]


def rows_of(trial: Fidelity, table: str | None, form: str) -> str:
    """One of the tables as tsv or csv; by default the orderings."""
    if table == "scores":
        return separated(
            ("run", "topic", "measure", "value"), trial.scores.rows(per_topic=False), form
        )
    if table == "verdict":
        lines = [(v.measure, v.passed, " ".join(v.sentences)) for v in trial.verdicts]
        return separated(("measure", "passed", "words"), lines, form)
    frame = trial.to_frame()
    return separated(frame.columns, frame.rows(), form)
