"""Comparisons of runs for people: means with letters or marks, pairs, matrices of p values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from foveal.analysis.comparison import Comparison, Pairs
from foveal.errors import UsageError
from foveal.report.grids import GRID_FORMATS, Grid

__all__ = ["PARTS", "comparison_grids", "figure", "latex", "markdown"]

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


def comparison_grids(
    found: Comparison, parts: Sequence[str] = (), *, paper: bool = False
) -> list[Grid]:
    """The tables of a comparison, in the order of `PARTS`; by default those that help.

    A matrix needs three runs to say more than the list of pairs, and a list of more than 45 pairs
    leaves the floor to the matrix. A paper has the means unless it asks for more, and marks against
    a baseline only what is significant.
    """
    every = found.baseline is None and len(found.runs) > 2
    many = len(found.measures[0].first) > _MANY
    helpful = tuple(
        part for part in PARTS if (part != "matrix" or every) and (part != "pairs" or not many)
    )
    wanted = tuple(parts) or (("means",) if paper else helpful)
    tables = [_means(found, paper=paper)] if "means" in wanted else []
    for pairs in found.measures:
        tables += [_pairs(found, pairs)] if "pairs" in wanted else []
        tables += [_matrix(found, pairs)] if "matrix" in wanted else []
    tables += [_summary(found)] if "summary" in wanted else []
    return tables


def latex(found: Comparison, parts: Sequence[str] = ()) -> str:
    """LaTeX tables with booktabs rules: the means with significance marks, or other `PARTS`."""
    return GRID_FORMATS["latex"](comparison_grids(found, parts, paper=True))


def markdown(found: Comparison, parts: Sequence[str] = ()) -> str:
    """Markdown tables: the means with significance marks, or other `PARTS`."""
    return GRID_FORMATS["markdown"](comparison_grids(found, parts, paper=True))


def _p(value: float) -> str:
    return "<0.0001" if value < 0.00005 else f"{value:.4f}"


def _rule(found: Comparison) -> str:
    """What a significant difference is, in words."""
    settings = found.settings
    tails = "two-sided" if settings.tails == 2 else "the better mean against the worse"
    corrected = _CORRECTED[settings.correction]
    over = "" if settings.correction == "none" else " over the pairs of a measure"
    return f"{_TEST[settings.tests[0]]}, {tails}, {corrected}{over}, alpha {settings.alpha:g}"


def _means(found: Comparison, *, paper: bool) -> Grid:
    """Runs by measures: the mean, and beside it letters or a mark."""
    rows = [[run] for run in found.runs]
    best: set[tuple[int, int]] = set()
    marks: dict[tuple[int, int], str] = {}
    for k, pairs in enumerate(found.measures, 1):
        shown = (found.letters if found.baseline is None else found.marks)(pairs.measure)
        means = pairs.scores.means.tolist()
        top = pairs.ranked[pairs.order[0]]
        for i, (row, run) in enumerate(zip(rows, found.runs, strict=True)):
            row.append(f"{means[i]:.4f}")
            marks[i, k] = shown.get(run, "")
            if paper and found.baseline is not None:
                marks[i, k] = marks[i, k][:1] if "*" in marks[i, k] else ""
            if pairs.ranked[i] == top:
                best.add((i, k))
    if found.baseline is None:
        note = "Runs that share a letter do not differ significantly:"
    elif paper:
        note = (
            f"Marked + are runs significantly better than {found.baseline}, \N{MINUS SIGN} those "
            "significantly worse:"
        )
    else:
        note = f"Against {found.baseline}: + better, - worse, = equal, * significant:"
    topics = {len(pairs.scores.topics) for pairs in found.measures}
    over = f"{min(topics)}" if len(topics) == 1 else f"{min(topics)} to {max(topics)}"
    return Grid(
        ("run", *(pairs.measure for pairs in found.measures)),
        tuple(map(tuple, rows)),
        frozenset(best),
        title=f"Means over {over} topics, best in bold",
        # A paper has them in one sentence of the caption, a terminal on two lines.
        notes=(f"{note} {_rule(found)}.",) if paper else (note, _rule(found)),
        marks=marks,
        apart=True,
        name="means",
    )


def _pairs(found: Comparison, pairs: Pairs) -> Grid:
    """Everything about every pair by one measure."""
    settings = found.settings
    rows = []
    marks: dict[tuple[int, int], str] = {}
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
            cells += [_p(pairs.p[test][k]), _p(pairs.adjusted[test][k])]
            marks[k, len(cells) - 1] = "*" if pairs.adjusted[test][k] < settings.alpha else ""
        rows.append(tuple(cells))
    tests = [
        name
        for test in settings.tests
        for name in (("p", "corrected") if len(settings.tests) == 1 else (test, "corrected"))
    ]
    smaller = "" if pairs.scores.higher_is_better else ", smaller is better"
    last = pairs is found.measures[-1]
    return Grid(
        ("run", "other", "difference", "low", "high", "d", "w/t/l", "topics", *tests),
        tuple(rows),
        labels=2,
        title=f"{pairs.measure}: run minus other, {len(pairs.scores.topics)} topics{smaller}",
        notes=_legend(found) if last else (),
        marks=marks,
        name=f"pairs {pairs.measure}",
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
    marks: dict[tuple[int, int], str] = {}
    for at, i in enumerate(order):
        cells = [found.runs[i]]
        for j in order:
            p = adjusted[i, j]
            cells.append("" if p > 1 else "=+-"[better[i, j]] + _p(p))
            marks[at, len(cells) - 1] = "*" if p < found.settings.alpha else ""
        rows.append(tuple(cells))
    return Grid(
        ("run", *(found.runs[j] for j in order)),
        tuple(rows),
        title=f"{pairs.measure}: corrected p of the {_TEST[test]}, best run first",
        notes=("+ the run of the row is better, - worse, = equal, * significant",)
        if pairs is found.measures[-1]
        else (),
        marks=marks,
        name=f"matrix {pairs.measure}",
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
        name="pairs that differ",
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
            "pictures of comparisons need matplotlib; install it with pip install matplotlib"
        ) from None
    panels = len(found.measures)
    drawn = Figure(
        figsize=(6.4, (0.32 * len(found.runs) + 0.9) * panels), dpi=150, layout="constrained"
    )
    axes = drawn.subplots(panels, 1, squeeze=False)[:, 0]
    for axis, pairs in zip(axes, found.measures, strict=True):
        order = pairs.order
        shown = (found.letters if found.baseline is None else found.marks)(pairs.measure)
        means = pairs.scores.means[order]
        low, high = (ends[order] for ends in pairs.limits)
        # Of few resamples an interval may leave out the mean itself.
        reach = np.maximum([means - low, high - means], 0.0)
        places = np.arange(len(order))
        axis.errorbar(means, places, xerr=reach, fmt="o", color="#08519c", capsize=3)
        names = [found.runs[i] for i in order.tolist()]
        labels = [f"{name} {shown.get(name, '')}".rstrip() for name in names]
        axis.set_yticks(places, labels)
        axis.invert_yaxis()
        smaller = "" if pairs.scores.higher_is_better else ", smaller is better"
        title = f"{pairs.measure}, {len(pairs.scores.topics)} topics{smaller}"
        axis.set_title(title, loc="left", fontweight="bold")
        axis.spines[["top", "right"]].set_visible(False)
    confidence = f"mean with {100 * found.settings.confidence:g} % confidence interval"
    axes[-1].set_xlabel(confidence, loc="left")
    return drawn
