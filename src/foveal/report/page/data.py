"""The data of the page, as plain values: runs, scores, answers and graphs."""

from __future__ import annotations

import math
import platform
from base64 import b64encode
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.analysis.comparison import Comparison
from foveal.analysis.correlation import kendall_tau_b
from foveal.analysis.pairs import Pairs, TestSettings
from foveal.analysis.score_matrix import compute_ranking_scores, parse_label, round_noise
from foveal.analysis.score_tables import tabulate_scores
from foveal.analysis.significance import letters, rank_intervals
from foveal.errors import plural
from foveal.evaluation.evaluation import Evaluation, RunLike, Scores
from foveal.measures import Measure, parse_measure
from foveal.measures.xcg import Curves
from foveal.model import Judgements, Results, Topics
from foveal.model.graphs import Graph
from foveal.report.graph_kinds import cumulate_gains
from foveal.report.page.document_views import select_results
from foveal.spans import Floats

# -- runs --------------------------------------------------------------------------------------

OVERLAP = ("ListOverlap", "MeanOverlap", "Redundancy")
"""The indicators of a profile, of the run as it is (``--overlap allow``)."""
_BINS = 18
"""Bins of lengths, each twice as wide as the one before: up to 128 K characters and beyond."""


class RunProfile(NamedTuple):
    """The scores of one run, and what the page shows of its results."""

    scores: tuple[Scores, ...]
    returned: dict[str, Any]
    """Number and lengths of its results."""
    characters: Floats | None
    """Characters returned for each topic; None if the span of a result is unknown."""
    tokens: Floats | None
    """Tokens returned for each topic; None if they are unknown for a result."""
    overlap: Floats | None
    """The indicators (topic, measure); None if the span of a result is unknown."""
    results: pl.DataFrame
    """Results in relevant documents and at the top ranks, as `select_results` returns them."""
    curves: dict[str, Curves]
    """Cumulated gains by topic, if the page draws them."""


def profile_run(evaluation: Evaluation, run: RunLike, gains: Measure | None = None) -> RunProfile:
    """Read and align a run once: score it and keep what a page shows of it."""
    (aligned,) = evaluation.align(run)
    unlimited = aligned.unlimited
    own = unlimited.run
    # Characters of each result, -1 where they are unknown.
    lengths = np.where((unlimited.end >= 0) & (own.start >= 0), unlimited.end - own.start, -1)
    returned: dict[str, Any] = {
        "results": len(own),
        "topics": len(own.topics),
        "length": None,
        "histogram": None,
    }
    known = lengths[lengths >= 0]
    if len(known):
        quartiles = np.percentile(known, [0, 25, 50, 75, 100])
        returned["length"] = [round(float(value), 1) for value in (known.mean(), *quartiles)]
        bins = np.minimum(np.log2(np.maximum(known, 1)).astype(np.int64), _BINS - 1)
        returned["histogram"] = np.bincount(bins, minlength=_BINS).tolist()
    overlap = characters = tokens = None
    if own.tokens is not None and (own.tokens >= 0).all():
        tokens = unlimited.spread_topics(np.bincount(own.topic, own.tokens, len(own.topics)))
    if unlimited.placed.all():
        overlap = np.column_stack([parse_measure(name).score_topics(unlimited) for name in OVERLAP])
        characters = unlimited.spread_topics(np.bincount(own.topic, lengths, len(own.topics)))
    return RunProfile(
        evaluation.score((aligned,)),
        returned,
        characters,
        tokens,
        overlap,
        select_results(unlimited, lengths),
        {} if gains is None else cumulate_gains(aligned, gains),
    )


# -- scores ------------------------------------------------------------------------------------

_VALUES = 300_000
"""Scores of single topics that the page holds: about three bytes each."""
_MOST_POINTS = 100
"""Largest number of points of a line; more are not visible."""
_MOST_LETTERS = 8
"""Largest number of runs with letters of significance; more have intervals of their ranks."""
_RULE = "paired t-test, two-sided, Holm's correction over all pairs, alpha 0.05"


def scaled(value: float) -> int | None:
    """Return a score in ten-thousandths, rounded as it is printed; None for an undefined one.

    The page must show what ``foveal evaluate`` prints, and other languages round halves otherwise.

    >>> scaled(0.03125), f"{0.03125:.4f}", scaled(float("nan"))
    (312, '0.0312', None)
    """
    return int(f"{value:.4f}".replace(".", "")) if math.isfinite(value) else None


def pack(values: Iterable[float]) -> list[Any]:
    """Return numbers in ten-thousandths as a page holds them: the least, bytes of each, base64.

    Each number is stored as its distance from the least, plus 1; 0 is undefined.

    >>> pack([0.5, float("nan"), 0.25])
    [2500, 2, 'xQkAAAEA']
    """
    numbers = [scaled(value) for value in values]
    known = [number for number in numbers if number is not None]
    low, high = (min(known), max(known)) if known else (0, 0)
    size = next(size for size in (2, 4, 8) if high - low < 256**size - 1)
    codes = [0 if number is None else number - low + 1 for number in numbers]
    form = "<f8" if size == 8 else f"<u{size}"  # a browser has no whole numbers of 8 bytes
    return [low, size, b64encode(np.array(codes, dtype=form).tobytes()).decode()]


def direction(label: str) -> int:
    """Return 1 if higher is better, -1 if lower is, 0 if the measure does not rank runs.

    >>> direction("AiP"), direction("T2Ieffort@3"), direction("num_ret")
    (1, -1, 0)
    """
    measure = parse_label(label)
    better = True if measure is None else measure.higher_is_better
    return 0 if better is None else 1 if better else -1


def collect(
    results: Results,
    *,
    graphs: Sequence[Graph],
    comparison: Comparison | None,
    judgements: Judgements,
    profiles: Sequence[RunProfile],
    topics: Topics | None,
    by: str,
    command: str,
) -> dict[str, Any]:
    """Return the data of a page, all but the views of documents.

    `results` hold the measures of the table; the answer of the first screen uses the measure `by`.
    """
    table = tabulate_scores(results)
    labels, n = results.measures, len(results.runs)
    compared = {} if comparison is None else {own.measure: own for own in comparison.measures}
    groups = results.meta.get("groups", {})
    # A run that is alone has intervals, too.
    alone = n == 1 and not np.isinf(results.values).any()
    intervals = _find_intervals(results, [own for own in labels if alone or own in compared])
    measures: list[dict[str, Any]] = []
    stored = max(_VALUES // max(results.counted.size, 1), 1)
    for k, label in enumerate(labels):
        own, pairs = parse_label(label), compared.get(label)
        group = next((name for name in groups if label.endswith(f"[{name}]")), None)
        found: dict[str, Any] = {
            "label": label,
            "base": label if group is None else label.removesuffix(f"[{group}]"),
            "group": group,
            "sign": direction(label),
            "whole": own is not None and own.summed,
            "says": (own.__doc__ or "").strip().partition("\n")[0],
            "limits": intervals.get(label),
            "values": None,
        }
        if group is None and stored:
            found["values"], stored = pack(results.values[:, :, k].ravel().tolist()), stored - 1
        if pairs is not None:
            p = pairs.adjusted["t"]  # rounding must not turn a verdict over
            found |= {
                "means": pairs.scores.means.tolist(),
                "tested": len(pairs.scores.topics),
                "p": pack(np.where(pairs.significant, np.minimum(p, 0.0499), p).tolist()),
                "effect": pack(np.clip(pairs.effect, -99, 99).tolist()),
            }
            if n <= _MOST_LETTERS:
                apart = pairs.square(pairs.significant, fill=False)
                names = letters(apart[np.ix_(pairs.order, pairs.order)])
                found["letters"] = [names[i] for i in np.argsort(pairs.order).tolist()]
            else:
                oriented = pairs.scores.sign * pairs.scores.values
                _, low, high = rank_intervals(oriented)
                found["ranks"] = np.column_stack([low, high]).tolist()
        measures.append(found)
    relevant = np.bincount(
        judgements.topic[judgements.relevant], minlength=len(judgements.topics)
    ).tolist()
    counts = dict(zip(judgements.topics, relevant, strict=True))
    titles = {} if topics is None else {own.id: own.title or own.description for own in topics}
    shares = results.meta["unjudged"]["judged"]
    unknown = np.full(len(results.topics), np.nan)
    in_tokens = all(own.tokens is not None for own in profiles)
    return {
        "runs": list(results.runs),
        "topics": {
            "id": list(results.topics),
            "title": [titles.get(topic) or "" for topic in results.topics],
            "relevant": [counts.get(topic, 0) for topic in results.topics],
        },
        "groups": {
            name: [results.topics.index(topic) for topic in own] for name, own in groups.items()
        },
        "measures": measures,
        "by": labels.index(by),
        "cells": [list(row[1:]) for row in table.rows],
        "best": sorted([i, j - 1] for i, j in table.best),
        "overall": [
            [v if math.isfinite(v) else None for v in row] for row in results.overall.tolist()
        ],
        "rule": _RULE,
        "answers": [answer(results, compared.get(label), label) for label in labels],
        "curves": [_describe_graph(graph) for graph in graphs],
        "correlation": _correlate_measures(results),
        "profiles": [
            own.returned
            | {
                "overlap": None
                if own.overlap is None or not counts_here.any()
                else [scaled(mean) for mean in own.overlap[counts_here].mean(axis=0).tolist()],
                "unjudged": None if (share := shares.get(run)) is None else scaled(1 - share),
            }
            for run, own, counts_here in zip(results.runs, profiles, results.counted, strict=True)
        ],
        "unit": "tokens" if in_tokens else "characters",
        "amount": pack(
            value / 1e4  # whole numbers
            for own, counts_here in zip(profiles, results.counted, strict=True)
            for amount in [own.tokens if in_tokens else own.characters]
            for value in np.where(
                counts_here, unknown if amount is None else amount, np.nan
            ).tolist()
        ),
        "repeated": pack(
            value
            for own, counts_here in zip(profiles, results.counted, strict=True)
            for value in np.where(
                counts_here, unknown if own.overlap is None else own.overlap[:, 2], np.nan
            ).tolist()
        ),
        "unjudged": pack(
            1 - own.scores[0].judged_shares.get(topic, math.nan)
            for own in profiles
            for topic in results.topics
        ),
        "overlap": list(OVERLAP),
        "unjudged_k": results.meta["unjudged"]["k"],
        "warnings": [
            *results.meta["warnings"],
            *(() if comparison is None else comparison.warnings),
        ],
        "provenance": {
            "versions": {
                "foveal": __version__,
                "python": platform.python_version(),
                **{name: version(name) for name in ("numpy", "polars", "scipy")},
            },
            "task": results.meta["task"],
            "options": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in results.meta["options"].items()
            },
            "inputs": list(results.meta["inputs"]),
            "judged": len(results.topics),
        },
        "command": command,
    }


def answer(results: Results, pairs: Pairs | None, label: str) -> dict[str, Any]:
    """Return a sentence on the best run by a measure, and if the lead is sure: yes, no, unknown."""
    column, sign, sure = results.measures.index(label), direction(label), "unknown"
    means = results.overall[:, column]
    if not sign or np.isnan(means).all():
        return {"measure": label, "sure": sure, "text": f"{label} does not rank runs."}
    tested = pairs is not None and not pairs.is_too_small
    if pairs is not None and tested:
        # Means over the topics that all runs share: those of other topics may order them otherwise.
        order, means, topics = pairs.order, pairs.scores.means, len(pairs.scores.topics)
    else:
        order = np.argsort(np.where(np.isnan(means), np.inf, -sign * means), kind="stable")
        topics = int(results.averaged[order[0], column])
    best, *others = [f"{results.runs[i]} ({means[i]:.4f})" for i in order.tolist()]
    text = f"By {label}, over {plural(topics, 'topic')}, {best}"
    if not others:
        text += " is the only run."
    elif pairs is None or not tested:
        text += f" is best, before {others[0]}; too few topics to test the difference."
    else:
        p = pairs.square(pairs.adjusted["t"], np.nan)[order[0], order[1]]
        sure = "yes" if p < TestSettings().alpha else "no"
        verdict = "and" if sure == "yes" else "but not"
        chance = "p < 0.0001" if p < 0.00005 else f"p = {p:.4f}"
        text += f" is best, {verdict} significantly better than the next, {others[0]}; {chance}."
    return {"measure": label, "sure": sure, "text": text}


def _find_intervals(
    results: Results, labels: Sequence[str]
) -> dict[str, list[list[int | None] | None]]:
    """Return the bootstrap interval of each run's mean by measures, over the topics of that mean.

    If all runs share their topics, these are the intervals of `compare`, corrected for the number
    of groups of topics where the measure is that of a group.
    """
    n = len(results.runs)
    columns = [results.measures.index(label) for label in labels]
    values = results.values[:, :, columns].transpose(2, 0, 1)
    values = values.reshape(len(columns) * n, len(results.topics))
    own = np.tile(results.counted, (len(columns), 1)) & ~np.isnan(values)
    grouped = np.repeat(np.array([label.endswith("]") for label in labels], dtype=bool), n)
    found: list[list[int | None] | None] = [None] * len(values)
    # Rows over the same topics are resampled together.
    for is_group, *mask in np.unique(np.column_stack([grouped, own]), axis=0).tolist():
        topics = np.array(mask)
        if np.count_nonzero(topics) < 2:
            continue
        groups = len(results.meta["groups"]) if is_group else 1
        settings = TestSettings(confidence=1 - 0.05 / groups)
        rows = np.flatnonzero((own == topics).all(axis=1) & (grouped == is_group))
        part = np.ascontiguousarray(values[np.ix_(rows, topics)])
        part = round_noise(part, np.abs(part).max(axis=1, keepdims=True))
        low, high = settings.limits(part)
        for i, first, last in zip(rows.tolist(), low.tolist(), high.tolist(), strict=True):
            found[i] = [scaled(first), scaled(last)]
    return {label: found[k * n : k * n + n] for k, label in enumerate(labels)}


def _describe_graph(graph: Graph) -> dict[str, Any]:
    """Return a graph as plain values, y packed."""
    lines: list[dict[str, Any]] = []
    for line in graph.lines:
        shown = np.arange(len(line.x))
        if len(shown) > _MOST_POINTS + 1:
            shown = np.unique(np.linspace(0, len(shown) - 1, _MOST_POINTS + 1).round().astype(int))
        lines.append(
            {
                "name": line.name,
                "mark": line.mark,
                "series": line.series,
                "x": [float(f"{value:.6g}") for value in line.x[shown].tolist()],
                "y": pack(line.y[shown].tolist()),
            }
        )
    shared = lines[0]["x"] if lines else []
    for values in lines:  # in most graphs all lines have the same x values
        if values["x"] == shared:
            del values["x"]
    return {
        "kind": graph.kind,
        "title": graph.title,
        "across": graph.x.text,
        "up": graph.y.text,
        "log": graph.x.log,
        "x": shared,
        "lines": lines,
        "notes": list(graph.notes),
    }


def _correlate_measures(results: Results) -> dict[str, Any] | None:
    """Return Kendall's tau of the rankings of runs by every two measures."""
    ranking = [label for label in results.measures if direction(label)]
    scores = {label: compute_ranking_scores(results, label) for label in ranking}
    scores = {label: values for label, values in scores.items() if not np.isnan(values).any()}
    if len(scores) < 2 or len(results.runs) < 3:
        return None
    tau = [
        [scaled(kendall_tau_b(one, other)) for other in scores.values()] for one in scores.values()
    ]
    return {"labels": list(scores), "tau": tau}
