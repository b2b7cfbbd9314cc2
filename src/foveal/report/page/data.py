"""Everything that the page shows, as one dictionary of plain values."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from foveal._version import __version__
from foveal.analysis.comparison import Comparison
from foveal.analysis.correlation import kendall_tau_b
from foveal.analysis.score_matrix import compute_ranking_scores as scores
from foveal.measures import parse_measure
from foveal.model import Judgements, Results, Topics
from foveal.report import tables
from foveal.report.graphs import Graph
from foveal.report.page.answers import answer, direction, intervals, rule
from foveal.report.page.curves import plain
from foveal.report.page.returned import OVERLAP, Returned
from foveal.report.page.scores import scaled

__all__ = ["collect"]

_VALUES = 130_000
"""Scores of single topics that the page holds: about five bytes each."""


def collect(
    results: Results,
    *,
    graphs: Sequence[Graph],
    comparison: Comparison | None,
    judgements: Judgements,
    returned: Returned,
    topics: Topics | None,
    by: str,
    command: str,
) -> dict[str, Any]:
    """The data of a page, all but the views of documents.

    `results` have the measures of the table; the answer of the first screen is by the measure `by`.
    """
    table = tables.grid(results, per_topic=False)
    labels = results.measures
    told = [intervals(results, comparison, label) for label in labels]
    per_topic = labels[: max(_VALUES // max(results.counted.size, 1), 1)]
    warnings = [*results.meta["warnings"], *(() if comparison is None else comparison.warnings)]
    shares = results.meta["unjudged"]["judged"]
    return {
        "runs": list(results.runs),
        "tasks": [results.meta["tasks"].get(run) for run in results.runs],
        "topics": _topics(results, judgements, topics),
        "measures": [
            {"label": label, "sign": direction(label), "whole": parse_measure(label).summed}
            | {"says": _says(label)}
            for label in labels
        ],
        "by": labels.index(by),
        "cells": [list(row[1:]) for row in table.rows],
        "best": sorted([i, j - 1] for i, j in table.best),
        "overall": [[None if np.isnan(v) else v for v in row] for row in results.overall.tolist()],
        "averaged": results.averaged.tolist(),
        "letters": [letters for letters, _, _ in told],
        "limits": [
            [None if pair is None else [scaled(end) for end in pair] for pair in limits]
            for _, limits, _ in told
        ],
        "p": [None if square is None else _upper(square) for _, _, square in told],
        "rule": rule(),
        "answers": [answer(results, table, comparison, label) for label in labels],
        "values": [
            [[scaled(v) for v in row] for row in results.values[:, :, k].tolist()]
            for k in range(len(per_topic))
        ],
        "counted": results.counted.astype(int).tolist(),
        "curves": [plain(graph) for graph in graphs],
        "correlation": _correlation(results),
        "profiles": returned.profiles,
        "overlap": list(OVERLAP),
        "unjudged": [
            None if (share := shares.get(run)) is None else scaled(1 - share)
            for run in results.runs
        ],
        "unjudged_k": results.meta["unjudged"]["k"],
        "warnings": warnings,
        "provenance": {
            "versions": {
                "foveal": __version__,
                "python": platform.python_version(),
                **{name: version(name) for name in ("numpy", "polars", "scipy")},
            },
            "task": results.meta["task"],
            "options": {k: _listed(v) for k, v in results.meta["options"].items()},
            "inputs": list(results.meta["inputs"]),
            "judged": len(results.topics),
        },
        "command": command,
    }


def _says(label: str) -> str:
    """The first sentence on a measure."""
    first, _, _ = (parse_measure(label).__doc__ or "").strip().partition("\n")
    return first


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _topics(
    results: Results, judgements: Judgements, topics: Topics | None
) -> list[dict[str, Any]]:
    relevant = np.bincount(
        judgements.topic[judgements.relevant], minlength=len(judgements.topics)
    ).tolist()
    counts = dict(zip(judgements.topics, relevant, strict=True))
    titles = {} if topics is None else {topic.id: topic.title for topic in topics}
    return [
        {"id": topic, "title": titles.get(topic) or "", "relevant": counts.get(topic, 0)}
        for topic in results.topics
    ]


def _upper(square: Sequence[Sequence[float | None]]) -> list[int | None]:
    """Values above the diagonal, row by row, in ten-thousandths."""
    n = len(square)
    values = [square[i][j] for i in range(n) for j in range(i + 1, n)]
    return [None if value is None else scaled(value) for value in values]


def _correlation(results: Results) -> dict[str, Any] | None:
    """Kendall's tau of the rankings of runs by every two measures that rank."""
    ranking = [label for label in results.measures if direction(label)]
    of = {label: scores(results, label) for label in ranking}
    of = {label: values for label, values in of.items() if not np.isnan(values).any()}
    if len(of) < 2 or len(results.runs) < 3:
        return None
    tau = [[kendall_tau_b(one, other) for other in of.values()] for one in of.values()]
    return {"labels": list(of), "tau": [[scaled(value) for value in row] for row in tau]}
