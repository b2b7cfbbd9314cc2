"""Comparisons of runs for people: means with letters or marks, pairs, matrices of p values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from foveal.analysis.comparison import Comparison
from foveal.analysis.pairs import Pairs
from foveal.errors import UsageError
from foveal.report.grids import Grid

__all__ = ["PARTS", "comparison_grids", "figure"]

PARTS = ("means", "pairs", "matrix", "summary")
"""Tables of a comparison."""

_MANY = 45
"""Pairs from which a matrix says more than a list: those of more than ten runs."""
_CORRECTED = {
    "holm": "Holm's correction",
    "bonferroni": "Bonferroni's correction",
    "bh": "Benjamini and Hochberg's correction",
    "none": "no correction",
}
_TEST = {
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
    "randomisation": "randomisation test",
    "bootstrap": "bootstrap test",
}


def comparison_grids(found: Comparison, parts: Sequence[str] = ()) -> list[Grid]:
    """The tables of a comparison, in the order of `PARTS`; by default those that help.

    A matrix needs three runs to say more than the list of pairs, and a list of more than 45 pairs
    leaves the floor to the matrix.
    """
    every = found.baseline is None and len(found.runs) > 2
    many = len(found.measures[0].first) > _MANY
    wanted = tuple(parts) or tuple(
        part for part in PARTS if (part != "matrix" or every) and (part != "pairs" or not many)
    )
    tables = [_means(found)] if "means" in wanted else []
    for pairs in found.measures:
        tables += [_pairs(found, pairs)] if "pairs" in wanted else []
        tables += [_matrix(found, pairs)] if "matrix" in wanted else []
    tables += [_summary(found)] if "summary" in wanted else []
    return tables


def _p(value: float) -> str:
    return "<0.0001" if value < 0.00005 else f"{value:.4f}"


def _rule(found: Comparison) -> str:
    """What a significant difference is, in words."""
    settings = found.settings
    tails = "two-sided" if settings.tails == 2 else "the better mean against the worse"
    corrected = _CORRECTED[settings.correction]
    over = "" if settings.correction == "none" else " over the pairs of a measure"
    return f"{_TEST[settings.tests[0]]}, {tails}, {corrected}{over}, alpha {settings.alpha:g}"


def _means(found: Comparison) -> Grid:
    """Runs by measures: the mean, and beside it letters or a mark."""
    rows = [[run] for run in found.runs]
    best: set[tuple[int, int]] = set()
    for k, pairs in enumerate(found.measures):
        shown = (found.letters if found.baseline is None else found.marks)(pairs.measure)
        means = pairs.aligned.means.tolist()
        top = pairs.ranked[pairs.order[0]]
        for i, (row, run) in enumerate(zip(rows, found.runs, strict=True)):
            row += [f"{means[i]:.4f}", shown.get(run, "")]
            if pairs.ranked[i] == top:
                best.add((i, 2 * k + 1))
    if found.baseline is None:
        note = "Runs that share a letter do not differ significantly:"
    else:
        note = f"Against {found.baseline}: + better, - worse, = equal, * significant:"
    topics = {len(pairs.aligned.topics) for pairs in found.measures}
    over = f"{min(topics)}" if len(topics) == 1 else f"{min(topics)} to {max(topics)}"
    return Grid(
        ("run", *(name for pairs in found.measures for name in (pairs.measure, ""))),
        tuple(map(tuple, rows)),
        frozenset(best),
        title=f"Means over {over} topics, best in bold",
        notes=(note, _rule(found)),
    )


def _pairs(found: Comparison, pairs: Pairs) -> Grid:
    """Everything about every pair by one measure."""
    settings = found.settings
    rows = []
    for k, (i, j) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        cells = [
            found.runs[i],
            found.runs[j],
            f"{pairs.difference[k]:+.4f}",
            f"{pairs.low[k]:+.4f}",
            f"{pairs.high[k]:+.4f}",
            f"{pairs.effect[k]:+.2f}",
            f"{pairs.wins[k]}/{pairs.ties[k]}/{pairs.losses[k]}",
            f"{pairs.needed[k]:.0f}" if math.isfinite(pairs.needed[k]) else "none",
        ]
        for test in settings.tests:
            mark = "*" if pairs.adjusted[test][k] < settings.alpha else " "
            cells += [_p(pairs.p[test][k]), _p(pairs.adjusted[test][k]) + mark]
        rows.append(tuple(cells))
    tests = [
        name
        for test in settings.tests
        for name in (("p", "corrected") if len(settings.tests) == 1 else (test, "corrected"))
    ]
    smaller = "" if pairs.aligned.higher_is_better else ", smaller is better"
    last = pairs is found.measures[-1]
    return Grid(
        ("run", "other", "difference", "low", "high", "d", "w/t/l", "topics", *tests),
        tuple(rows),
        labels=2,
        title=f"{pairs.measure}: run minus other, {len(pairs.aligned.topics)} topics{smaller}",
        notes=_legend(found) if last else (),
    )


def _legend(found: Comparison) -> tuple[str, ...]:
    """The columns of pairs."""
    settings = found.settings
    how = "percentiles of resamples" if settings.interval == "bootstrap" else "Student's t"
    topics = f"topics: how many are needed to find such an effect with power {settings.power:g}"
    return (
        f"low to high: {100 * settings.confidence:g} % confidence interval ({how})",
        "d: mean of the differences in their standard deviations (Cohen)",
        "w/t/l: topics on which the run is better, equal, worse",
        f"{topics}; *: significant",
    )


def _matrix(found: Comparison, pairs: Pairs) -> Grid:
    """Corrected p values of all pairs by the first test."""
    test, order = found.settings.tests[0], pairs.order.tolist()
    adjusted = pairs.square(pairs.adjusted[test], 2.0)
    # One side of the diagonal sees each pair from the other end.
    better = pairs.square(pairs.better, 0)
    better[pairs.second, pairs.first] *= -1
    rows = []
    for i in order:
        cells = [found.runs[i]]
        for j in order:
            p = adjusted[i, j]
            mark = "*" if p < found.settings.alpha else " "
            cells.append("" if p > 1 else "=+-"[better[i, j]] + _p(p) + mark)
        rows.append(tuple(cells))
    return Grid(
        ("run", *(found.runs[j] for j in order)),
        tuple(rows),
        title=f"{pairs.measure}: corrected p of the {_TEST[test]}, best run first",
        notes=("+ the run of the row is better, - worse, = equal, * significant",)
        if pairs is found.measures[-1]
        else (),
    )


def _summary(found: Comparison) -> Grid:
    """How many pairs every measure tells apart."""
    alpha = found.settings.alpha
    rows = tuple(
        (
            row["measure"],
            row["test"],
            *(str(row[name]) for name in ("topics", "pairs", "significant", "one_tailed")),
        )
        for row in found.summary_rows()
    )
    return Grid(
        ("measure", "test", "topics", "pairs", "significant", "one-tailed"),
        rows,
        labels=2,
        title="Pairs that differ",
        notes=(f"one-tailed: better mean against worse, t-test, not corrected, alpha {alpha:g}",),
    )


# -- matplotlib --------------------------------------------------------------------------------


def figure(found: Comparison) -> Any:
    """Means with their intervals as a matplotlib Figure (``foveal[plot]`` must be installed).

    A panel for each measure, the best run on top, and beside each run its letters or its mark. An
    interval is that of one mean: whether two runs differ is said by the letters, since runs share
    the topics that make both means high or low.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(
            "pictures of comparisons need matplotlib; install it with pip install 'foveal[plot]'"
        ) from None
    panels = len(found.measures)
    drawn = Figure(
        figsize=(6.4, (0.32 * len(found.runs) + 0.9) * panels), dpi=150, layout="constrained"
    )
    axes = drawn.subplots(panels, 1, squeeze=False)[:, 0]
    for axis, pairs in zip(axes, found.measures, strict=True):
        order = pairs.order
        shown = (found.letters if found.baseline is None else found.marks)(pairs.measure)
        means = pairs.aligned.means[order]
        low, high = (ends[order] for ends in pairs.limits)
        # Of few resamples an interval may leave out the mean itself.
        reach = np.maximum([means - low, high - means], 0.0)
        places = np.arange(len(order))
        axis.errorbar(means, places, xerr=reach, fmt="o", color="#08519c", capsize=3)
        names = [found.runs[i] for i in order.tolist()]
        labels = [f"{name} {shown.get(name, '')}".rstrip() for name in names]
        axis.set_yticks(places, labels)
        axis.invert_yaxis()
        smaller = "" if pairs.aligned.higher_is_better else ", smaller is better"
        title = f"{pairs.measure}, {len(pairs.aligned.topics)} topics{smaller}"
        axis.set_title(title, loc="left", fontweight="bold")
        axis.spines[["top", "right"]].set_visible(False)
    confidence = f"mean with {100 * found.settings.confidence:g} % confidence interval"
    axes[-1].set_xlabel(confidence, loc="left")
    return drawn
