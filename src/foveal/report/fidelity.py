"""A trial of measures for people: the two tables of the fidelity study, and what they come to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from foveal.analysis.fidelity import LEVEL, TOLERANCE, Fidelity, OrderingOutcome
from foveal.analysis.simulation import PARTS, RANKINGS, Ordering
from foveal.errors import UsageError
from foveal.formats.result_files import separated
from foveal.measures import parse_measure
from foveal.report.grids import Grid
from foveal.report.tables import grid

__all__ = [
    "FIDELITY_TABLES",
    "curves_of",
    "figure",
    "grids_of",
    "ordering_grids",
    "rows_of",
    "score_grid",
    "verdict_grid",
]

Curves = dict[str, list[tuple[float, float]]]

_MARKS = {"broken": "!!", "reversed": "!", "below": "?", "equal": "", "holds": ""}
_ABREAST = 2
"""Measures side by side, as many as a terminal has room for."""
_MARKERS = "osD^v"
"""One for each part set, so that curves can be told apart without colours."""
_LEAST = 2.2e-16
"""What the study printed for any p below it."""


def score_grid(trial: Fidelity) -> Grid:
    """Table 1: the means of all runs by all measures."""
    topics = len(trial.scores.topics)
    return replace(
        grid(trial.scores, per_topic=False),
        title=f"Scores of {len(trial.scores.runs)} runs, {topics} topics",
        name="scores",
    )


def ordering_grids(trial: Fidelity) -> list[Grid]:
    """Table 2: what each measure makes of every ordering, some measures to a table."""
    alike: dict[tuple[Ordering, ...], list[str]] = {}
    for verdict in trial.verdicts:
        expected = tuple(outcome.ordering for outcome in trial.of(verdict.measure))
        alike.setdefault(expected, []).append(verdict.measure)
    tables = [
        (expected, measures[i : i + _ABREAST])
        for expected, measures in alike.items()
        for i in range(0, len(measures), _ABREAST)
    ]
    return [
        _ordering_grid(trial, expected, measures, last=at == len(tables))
        for at, (expected, measures) in enumerate(tables, start=1)
    ]


def _ordering_grid(
    trial: Fidelity, expected: Sequence[Ordering], measures: list[str], *, last: bool
) -> Grid:
    header = ["ordering", "on"]
    blocks = []
    for measure in measures:
        header += [f"{measure} diff %", ">", "==", "<", "p", "!"]
        blocks.append([_cells(outcome) for outcome in trial.of(measure)])
    labels = [(str(o), "every" if o.every else "mean") for o in expected]
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
        name="orderings",
    )


def _cells(outcome: OrderingOutcome) -> tuple[str, ...]:
    difference = f"{100 * outcome.difference:+.2f}" if outcome.wins + outcome.losses else "0"
    counts = (str(outcome.wins), str(outcome.ties), str(outcome.losses))
    return difference, *counts, _chance(outcome), _MARKS[outcome.verdict]


def _chance(outcome: OrderingOutcome) -> str:
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
        name="verdict",
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


# -- the figure of the study -------------------------------------------------------------------


def curves_of(trial: Fidelity, measure: str = "igP", ranking: str = "R") -> Curves:
    """For each run with this ranking the scores of a measure by its cut-offs, in their order."""
    if ranking not in RANKINGS:
        raise UsageError(f"{ranking!r} is no ranking; expected one of {', '.join(RANKINGS)}")
    points = {}
    for label in trial.scores.measures:
        scored = parse_measure(label)
        at = scored.at
        if at is not None and type(scored)(scored.settings).label == measure:
            points[float(at)] = label
    if len(points) < 2:
        raise UsageError(
            f"{measure} has no curve in this trial; put {measure}@curve among its measures"
        )
    names = [f"{part}{ranking}" for part in PARTS if f"{part}{ranking}" in trial.scores.runs]
    return {run: [(at, trial.scores[run, points[at]]) for at in sorted(points)] for run in names}


def figure(trial: Fidelity, measure: str = "igP", ranking: str = "R") -> Any:
    """The part sets as curves in one matplotlib Figure (``foveal[plot]`` must be installed).

    With the defaults it is figure 4 of the study: generalised precision, interpolated at eleven
    points of generalised recall. The trial must have scored ``igP@curve``.
    """
    curves = curves_of(trial, measure, ranking)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(
            "figures need matplotlib; install it with pip install matplotlib"
        ) from None
    drawn = Figure(figsize=(6, 4.5), dpi=150, layout="constrained")
    axis = drawn.subplots()
    for (run, points), marker in zip(curves.items(), _MARKERS, strict=False):
        at, values = zip(*points, strict=True)
        axis.plot(at, values, label=run, marker=marker, markersize=4, linewidth=1.2)
    of_recall = all(at <= 1 for points in curves.values() for at, _ in points)
    axis.set_xlabel("recall" if of_recall else "rank")
    axis.set_ylabel(measure)
    axis.set_ylim(bottom=0)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    return drawn
