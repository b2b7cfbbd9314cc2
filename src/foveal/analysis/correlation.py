"""Correlation of system rankings: coefficients, `correlate`, and the `Correlations` it returns.

Coefficients take rankings as scores, greater is better; equal scores are ties. If all systems of a
ranking are tied, or there are fewer than two, every coefficient is ``nan``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import isnan, nan, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.analysis.score_matrix import ScoreMatrix, compute_ranking_scores, parse_label
from foveal.analysis.tasks import group_by_task, take_or_score
from foveal.errors import UsageError, plural, shorten_list
from foveal.evaluation import evaluate
from foveal.evaluation.evaluation import RunLike
from foveal.measures import Measure
from foveal.model import Judgements, Results
from foveal.model.graphs import Matrix
from foveal.model.result_object import Result
from foveal.model.tables import Place, Table, format_cell
from foveal.spans import Floats, Ints

Scores = Sequence[float] | Floats

_BY = {
    "measure": "two measures; measures that differ in quant only are compared by quant",
    "quant": "two quantisations of a measure",
    "topics": "two topics",
}
"""What the compared rankings differ in, and what that takes."""
_NAMES = {
    "tau_b": "Kendall's tau b",
    "tau_a": "Kendall's tau a",
    "tau_ap": "tau AP",
    "spearman": "Spearman's rho",
}
_DIRECTED = "tau_ap"
"""The coefficient that is not symmetric; the ranking of the row is the reference."""
_EQUIVALENT, _NOTICEABLE = 0.9, 0.8
"""Kendall's tau from which rankings count as equivalent, and below which they notably differ."""
_MARKED = ("tau_b", "tau_a", "tau_ap")
"""The thresholds are those of Kendall's tau; rho has a scale of its own."""
_MARKS = (
    f"= from {_EQUIVALENT}: equivalent rankings; ! below {_NOTICEABLE}: noticeable differences "
    "(compared before rounding)."
)
_WORDS = {"=": ": equivalent rankings", "!": ": noticeably different rankings", "": ""}


# -- coefficients ----------------------------------------------------------------------------------


def _compare_systems(x: Scores, y: Scores) -> tuple[Ints, Ints] | None:
    """Return the signs of all differences of systems, (system, system), in both rankings.

    A sign is 1 where the system of the row is above that of the column. None if a ranking ties all
    systems.
    """
    first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(first) != len(second):
        raise UsageError(
            f"two rankings of {len(first)} and {len(second)} systems; expected the same systems"
        )
    if np.isnan(first).any() or np.isnan(second).any():
        raise UsageError("a score is nan; expected a number for every system")
    above = [(v[:, None] > v).astype(np.int64) - (v[:, None] < v) for v in (first, second)]
    return (above[0], above[1]) if above[0].any() and above[1].any() else None


def kendall_tau_a(x: Scores, y: Scores) -> float:
    """(C - D) / (n(n-1)/2): pairs in the same order less pairs in opposite order, over all pairs.

    A pair tied in either ranking counts as neither, so that rankings with ties do not reach 1.

    >>> kendall_tau_a([0.3, 0.5, 0.2, 0.9, 0.4], [0.35, 0.30, 0.1, 0.8, 0.42])
    0.6
    """
    if (signs := _compare_systems(x, y)) is None:
        return nan
    n = len(signs[0])
    return int((signs[0] * signs[1]).sum()) / (n * (n - 1))


def kendall_tau_b(x: Scores, y: Scores) -> float:
    """Kendall's tau with the pairs that a ranking ties taken out of its share of the divisor.

    (C - D) / sqrt(pairs not tied in x · pairs not tied in y). Without ties it equals tau a; a
    ranking and itself have 1, ties or not.

    >>> kendall_tau_b([1, 2, 2, 3], [1, 2, 2, 3]), kendall_tau_a([1, 2, 2, 3], [1, 2, 2, 3])
    (1.0, 0.8333333333333334)
    """
    if (signs := _compare_systems(x, y)) is None:
        return nan
    untied = [int(np.count_nonzero(ranking)) for ranking in signs]
    return int((signs[0] * signs[1]).sum()) / sqrt(untied[0] * untied[1])


def tau_ap(reference: Scores, estimate: Scores) -> float:
    """AP correlation: Kendall's tau with more weight on the top of the estimated ranking.

    Going down the estimate, the share of the systems above that the reference puts above as well,
    less the share that it puts below, averaged over all systems but the first. Not symmetric.

    Ties as in tau b: systems tied in the estimate are not compared with each other, those tied at
    its top have no system above and are left out of the mean, and a pair tied in the reference
    alone counts as neither. A ranking and itself have 1. (Yilmaz, Aslam, Robertson, SIGIR 2008;
    ties after Urbano and Marrero, ICTIR 2017.) A swap at the top costs more than one at the bottom:

    >>> tau_ap([4, 3, 2, 1], [3, 4, 2, 1]), tau_ap([4, 3, 2, 1], [4, 3, 1, 2])
    (0.3333333333333333, 0.7777777777777778)
    """
    if (signs := _compare_systems(reference, estimate)) is None:
        return nan
    above = signs[1] < 0  # in the estimate, the column is above the row
    number = above.sum(axis=1)
    order = np.argsort(number, kind="stable")
    order = order[number[order] > 0]
    shares = -(signs[0] * above).sum(axis=1)[order] / number[order]
    return float(sum(shares.tolist()) / len(shares))


def spearman(x: Scores, y: Scores) -> float:
    """Pearson's correlation of the ranks; tied systems share the mean of their ranks.

    >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 4]), 10)
    0.8
    """
    if (signs := _compare_systems(x, y)) is None:
        return nan
    # A mean rank less the middle of all ranks is half the sum of its signs.
    a, b = (ranking.sum(axis=1) / 2 for ranking in signs)
    return float(a @ b / sqrt(float(a @ a) * float(b @ b)))


COEFFICIENTS: dict[str, Callable[[Scores, Scores], float]] = {
    "tau_b": kendall_tau_b,
    "tau_a": kendall_tau_a,
    "tau_ap": tau_ap,
    "spearman": spearman,
}
"""Name to function of two rankings; the first is the reference of `tau_ap`."""


# -- rankings to correlate -------------------------------------------------------------------------


class RankingPair(NamedTuple):
    """Two rankings of the runs of a task; the variant is what they have in common."""

    task: str
    variant: str
    row: str
    column: str
    first: Floats
    second: Floats


def select_rankable(
    tasks: Mapping[str, Results], notes: list[str], *, by_topics: bool = False
) -> dict[str, Results]:
    """Keep tasks with at least two runs, and measures that rank all of them; note the others.

    With `by_topics` a measure needs values on two topics, and means of other measures have none.
    """
    found: dict[str, Results] = {}
    dropped: dict[str, list[str]] = {}
    for task, results in tasks.items():
        prefix, runs, kept = f"{task}: " if task else "", len(results.runs), list[str]()
        if runs < 2:
            name = task or "runs without a task"
            dropped[f"{name}: nothing to rank, a single run"] = [*results.runs]
            continue
        missing = np.isnan(results.overall).sum(axis=0).tolist()
        for label, unscored in zip(results.measures, missing, strict=True):
            scores = ScoreMatrix.from_results(results, label)
            if 0 < unscored < runs:
                reason = "runs without a score by it"
            elif by_topics and (scores.averages_others or len(scores.topics) < 2):
                reason = "no values on two topics that all runs share"
            else:
                kept.append(label)
                if scores.left_out:
                    topics = dropped.setdefault(f"{prefix}topics left out by some measures", [])
                    topics += [topic for topic in scores.left_out if topic not in topics]
                continue
            dropped.setdefault(f"{prefix}not used, {reason}", []).append(label)
        if kept:
            found[task] = results.only(kept)
    remarks = [f"{reason}: {shorten_list(names)}" for reason, names in dropped.items()]
    if not found:
        raise UsageError("; ".join(remarks) or "no runs to rank; expected at least two")
    notes += remarks
    return found


def _name_measures(tasks: Mapping[str, Results]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return name and quantisation of each measure, by task and label.

    Measures of a task that differ only in quantisation have one name. Official tasks score the same
    measure with different settings (overlap, beta, n): one that occurs once in each task, with
    settings that differ between tasks, gets its bare name.
    """
    families: dict[tuple[str, str], dict[str, str]] = {}  # labels by quantisation
    for task, results in tasks.items():
        for label in results.measures:
            measure, family, quant = parse_label(label), label, ""
            group = "".join(label.partition("[")[1:])
            for parameter in () if measure is None else measure.parameters:
                if measure is not None and parameter.name == "quant":
                    quant = parameter.show(measure.settings.get("quant", parameter.default))
                    family = measure(quant=parameter.default).label + group
            families.setdefault((task, family), {})[quant] = label
    names: dict[tuple[str, str], str] = {}
    by_bare: dict[str, list[tuple[str, str]]] = {}
    for key, labels in families.items():
        # Only measures with several quantisations are folded; others keep their full spelling.
        names[key] = key[1] if len(labels) > 1 else next(iter(labels.values()))
        measure, group = parse_label(names[key]), "".join(names[key].partition("[")[1:])
        bare = names[key] if measure is None else type(measure)({}, measure.at).label + group
        by_bare.setdefault(bare, []).append(key)
    for bare, keys in by_bare.items():
        once = len({task for task, _ in keys}) == len(keys)
        if once and len({names[key] for key in keys}) > 1:
            names |= dict.fromkeys(keys, bare)
    return {
        (key[0], label): (names[key], quant)
        for key, labels in families.items()
        for quant, label in labels.items()
    }


def pair_rankings(tasks: Mapping[str, Results], by: str) -> Iterator[RankingPair]:
    """Yield every two measures of a task at each quantisation, or two quantisations of a measure.

    A measure with one quantisation is paired with all of another, if it shares none.
    """
    named = _name_measures(tasks)
    scores = {key: compute_ranking_scores(tasks[key[0]], key[1]) for key in named}
    quants: dict[tuple[str, str], set[str]] = {}
    for (task, _), (name, quant) in named.items():
        quants.setdefault((task, name), set()).add(quant)
    for (one, (first, a)), (two, (second, b)) in combinations(named.items(), 2):
        task = one[0]
        if task != two[0] or (first == second) != (by == "quant"):
            continue
        rankings = scores[one], scores[two]
        if by == "quant":
            yield RankingPair(task, first, a, b, *rankings)
            continue
        own, others = quants[task, first], quants[task, second]
        if a == b or (own.isdisjoint(others) and 1 in (len(own), len(others))):
            yield RankingPair(task, a if len(own) > 1 else b, first, second, *rankings)


def pair_halves(tasks: Mapping[str, Results], samples: int, seed: int) -> Iterator[RankingPair]:
    """Yield random halves of the topics, by each measure of a task.

    The draw depends on the seed and the topics, so that measures defined on the same topics use the
    same samples.
    """
    for task, label in ((task, label) for task, part in tasks.items() for label in part.measures):
        scores = ScoreMatrix.from_results(tasks[task], label)
        n = len(scores.topics)
        parts = [str(seed), str(n // 2), *scores.topics]
        digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
        random = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
        order = random.permuted(np.broadcast_to(np.arange(n), (samples, n)), axis=1)
        halves = []
        for drawn in (order[:, : n // 2], order[:, n // 2 :]):
            weights = np.zeros((samples, n))
            np.put_along_axis(weights, drawn, 1.0, axis=1)
            halves.append(scores.orient(weights @ scores.values.T / drawn.shape[1]))
        for i, (first, second) in enumerate(zip(*halves, strict=True), 1):
            yield RankingPair(task, str(i), label, label, first, second)


# -- results ---------------------------------------------------------------------------------------


def _mark(value: float, name: str) -> str:
    """Return ``=`` for an equivalent ranking, ``!`` for a noticeably different one, or nothing.

    >>> [_mark(value, "tau_b") for value in (0.93, 0.85, 0.56, (0.7 + 0.8 + 0.9) / 3 - 1e-16)]
    ['=', '', '!', '']
    """
    if name not in _MARKED or isnan(value):
        return ""
    exact = round(value, 9)  # a mean of 0.8 may be stored as slightly less
    return "=" if exact >= _EQUIVALENT else "!" if exact < _NOTICEABLE else ""


@dataclass(frozen=True, eq=False)
class Correlations(Result):
    """Correlations of rankings, one by one and averaged.

    `labels` are the measures or quantisations that were compared. `singles` has a row for every
    correlation; its variant is what row and column have in common: a quantisation, a measure, or a
    split of the topics. Undefined values are ``nan``. `tasks` holds the names of the runs of each
    task that could be used, and `notes` what was left out.
    """

    by: str
    labels: tuple[str, ...]
    coefficients: tuple[str, ...]
    singles: pl.DataFrame
    tasks: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def means(self) -> pl.DataFrame:
        """Mean, smallest and greatest correlation of every pair and coefficient.

        ``count`` correlations are averaged, ``undefined`` ones are not. For random halves `low`
        and `high` bound the middle 95 % of the splits; otherwise they are the extremes.
        """
        value = pl.col("value")
        low, high = value.min(), value.max()
        if self.by == "topics":
            low, high = (value.quantile(q, "linear") for q in ((1 - 0.95) / 2, 1 - (1 - 0.95) / 2))
        return (
            self.singles.with_columns(value.fill_nan(None))
            .group_by("coefficient", "row", "column", maintain_order=True)
            .agg(
                value.mean(),
                low=low,
                high=high,
                count=value.count().cast(pl.Int64),
                undefined=value.null_count().cast(pl.Int64),
            )
            .with_columns(pl.col("value", "low", "high").fill_null(nan))
        )

    def values(self, name: str) -> Floats:
        """Return the mean correlations (label, label); for `tau_ap` the row is the reference."""
        if self.by == "topics" or name not in self.coefficients:
            raise UsageError(f"no matrix of {name!r} by {self.by}")
        square = np.full((len(self.labels), len(self.labels)), nan)
        np.fill_diagonal(square, 1.0)
        part = self.means.filter(pl.col("coefficient") == name)
        for row, other, value in part.select("row", "column", "value").iter_rows():
            i, j = self.labels.index(row), self.labels.index(other)
            square[i, j] = value
            if name != _DIRECTED:
                square[j, i] = value
        return square

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the mean of every pair and coefficient."""
        names = {"coefficient": "statistic", "row": "first", "column": "second"}
        yield from self.means.rename(names).iter_rows(named=True)

    def parts(self) -> dict[str, Any]:
        """Return the means and all correlations but those of halves, which are thousands."""
        parts = {"correlations": self.means.to_dicts()}
        return parts if self.by == "topics" else parts | {"singles": self.singles.to_dicts()}

    def summary(self) -> str:
        """Return which rankings agree least, by the first coefficient."""
        name = self.coefficients[0]
        means = self.means.filter(pl.col("coefficient") == name, pl.col("value").is_not_nan())
        if self.by == "topics" or not len(means):
            return ""
        least = means.sort("value").row(0, named=True)
        return (
            f"The lowest {_NAMES[name]} of {self._count_runs()} is "
            f"{format_cell(least['value'], 3)}, between "
            f"{least['row']} and {least['column']}{_WORDS[_mark(least['value'], name)]}."
        )

    def tables(self) -> list[Table]:
        """Return a table for each coefficient."""
        return [self._tabulate(name) for name in self.coefficients]

    def _tabulate(self, name: str) -> Table:
        """Return the mean correlations, by topics a row per measure."""
        means = self.means.filter(pl.col("coefficient") == name)
        marks, notes, rows = dict[Place, str](), list[str](), list[tuple[str, ...]]()
        reference = ""
        if self.by == "topics":
            header: tuple[str, ...] = ("measure", "mean", "low", "high", "correlations")
            shown = means.select("row", "value", "low", "high", "count").iter_rows()
            for i, (row, value, *limits, count) in enumerate(shown):
                numbers = (format_cell(own, 3) for own in (value, *limits))
                rows.append((row, *numbers, str(count)))
                marks[i, 1] = _mark(value, name)
            halves = "Between the rankings of random halves of the topics, {samples} splits"
            drawn = f"{halves} (seed {{seed}}); ".format(**self.meta["options"])
            notes.append(f"{drawn}95 % of the correlations lie between low and high.")
        else:
            values, n = self.values(name), len(self.labels)
            above = 0 if name == _DIRECTED else 1  # a square, or the triangle below the diagonal
            header = (self.by, *self.labels[: n - above])
            for i, label in enumerate(self.labels[above:]):
                cells = [""] * (n - above)
                for j in range(i + 1) if above else {*range(n)} - {i}:
                    cells[j] = format_cell(values[i + above, j], 3)
                    marks[i, j + 1] = _mark(values[i + above, j], name)
                rows.append((label, *cells))
            reference = "; the row is the reference" if name == _DIRECTED else ""
            counts = sorted(set(means["count"]))
            if counts != [1]:
                number = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
                notes.append(f"Each cell is the mean of {number} correlations.")
        notes += [_MARKS] if name in _MARKED else []
        if undefined := means["undefined"].sum():
            notes.append(f"Undefined, as a ranking ties all runs or has no score: {undefined}.")
        notes += [f"{note[0].upper()}{note[1:]}." for note in self.notes]
        over = "" if len(self.tasks) == 1 else f", {len(self.tasks)} tasks"
        return Table(
            header,
            tuple(rows),
            frozenset(place for place, mark in marks.items() if mark == "="),
            title=f"{_NAMES[name]} by {self.by}: {self._count_runs()}{over}{reference}",
            notes=tuple(notes),
            marks=marks if name in _MARKED else {},
            name=name,
        )

    def _count_runs(self) -> str:
        return plural(sum(map(len, self.tasks.values())), "run")

    def graphs(self) -> list[Matrix]:
        """Return a heat map for each coefficient; none by topics."""
        graphs = []
        for name in () if self.by == "topics" else self.coefficients:
            values = self.values(name)
            marks = tuple(tuple(_mark(cell, name) for cell in row) for row in values.tolist())
            title = f"{_NAMES[name]}{' (row: reference)' if name == _DIRECTED else ''}"
            note = _MARKS if name in _MARKED else ""
            graphs.append(Matrix(title, self.labels, values, marks, note))
        return graphs


# -- correlate -----------------------------------------------------------------------------------


def correlate(
    runs: Results | Sequence[Results] | RunLike | Sequence[RunLike],
    judgements: Judgements | str | Path | Sequence[str | Path] | None = None,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    task: str | Sequence[str] = (),
    by: str = "measure",
    coefficients: str | Sequence[str] = ("tau_b",),
    samples: int = 1000,
    seed: int = 2005,
    score: Callable[..., Results] = evaluate,
    **options: Any,
) -> Correlations:
    """Correlate the rankings of runs that measures, quantisations or halves of the topics give.

    Parameters
    ----------
    runs : runs as for `foveal.evaluate`; or Results, or a sequence of them
        Runs are ranked within their task; correlations are averaged over tasks. Results are not
        scored again.
    judgements : as for `foveal.evaluate`
        Required unless `runs` are results.
    measures : text or Python forms of measures
        Measures to rank by; by default all that the results hold. Points of an official task's
        curves are left out unless they are named here.
    task : str or sequence of str
        Official tasks; each is scored with its own settings on the runs that declare it. Without
        any, runs are grouped by what they declare.
    by : {"measure", "quant", "topics"}
        Measures that differ in their quantisation only are variants of one: averaged over with
        ``measure``, and compared with ``quant``. ``topics`` compares random halves of the topics.
    coefficients : str or sequence of str
        Names in `COEFFICIENTS`.
    samples, seed : int
        Number of random splits, and the seed of the random numbers.
    score : callable, optional
        Called as `foveal.evaluate` to score the runs of a task.
    **options
        Options of `foveal.evaluate`.

    Examples
    --------
    >>> from foveal import Results
    >>> rows = [("a", "1", "AP", 0.5), ("b", "1", "AP", 0.4), ("c", "1", "AP", 0.1)]
    >>> rows += [("a", "1", "AiP", 0.3), ("b", "1", "AiP", 0.6), ("c", "1", "AiP", 0.2)]
    >>> found = correlate(Results.from_tidy(rows, {}))
    >>> found.values("tau_b").round(4).tolist()
    [[1.0, 0.3333], [0.3333, 1.0]]
    """
    names = tuple(dict.fromkeys([coefficients] if isinstance(coefficients, str) else coefficients))
    if by not in _BY:
        raise UsageError(f"unknown comparison {by!r}; expected {' or '.join(_BY)}")
    if not names or not set(names) <= set(COEFFICIENTS):
        raise UsageError(
            f"coefficients {names} are not possible; expected some of {shorten_list([*_NAMES])}"
        )
    if samples < 1:
        raise UsageError(f"{samples} samples requested; expected at least 1")
    notes: list[str] = []
    presets = [task] if isinstance(task, str) else list(task)
    parts = take_or_score(
        runs, judgements, measures, options, tasks=presets, notes=notes, score=score
    )
    halves = by == "topics"
    tasks = select_rankable(group_by_task(parts, notes), notes, by_topics=halves)
    pairs = list(pair_halves(tasks, samples, seed) if halves else pair_rankings(tasks, by))
    labels = tuple(dict.fromkeys(end for pair in pairs for end in (pair.row, pair.column)))
    if not pairs:
        raise UsageError(f"a correlation needs at least {_BY[by]}")
    metas = [meta for part in tasks.values() for meta in part.meta.get("parts", [part.meta])]
    inputs = {tuple(item.values()): dict(item) for meta in metas for item in meta.get("inputs", ())}
    used = {name: value for meta in metas for name, value in meta.get("options", {}).items()}
    used |= {"by": by, "coefficients": list(names)}
    warnings = [line for part in tasks.values() for line in part.meta.get("warnings", ())]
    ranked = {task: part.runs for task, part in tasks.items()}
    meta = {
        "version": __version__,
        "options": used | ({"samples": samples, "seed": seed} if halves else {}),
        "tasks": {task: list(runs) for task, runs in ranked.items()},
        "measures": {task: list(part.measures) for task, part in tasks.items()},
        "inputs": list(inputs.values()),
        "notes": notes,
        "warnings": list(dict.fromkeys(warnings)),
    }
    singles = _correlate_pairs(pairs, names, labels, halves=halves)
    return Correlations(by, labels, names, singles, ranked, tuple(notes), meta)


def _correlate_pairs(
    pairs: Iterable[RankingPair], names: Sequence[str], labels: Sequence[str], *, halves: bool
) -> pl.DataFrame:
    """Return a row for every correlation."""
    rows = []
    for pair in pairs:
        ends = [(pair.row, pair.first), (pair.column, pair.second)]
        # Tasks may list the same two in another order.
        (row, first), (column, second) = sorted(ends, key=lambda end: labels.index(end[0]))
        undefined = bool(np.isnan(first).any() or np.isnan(second).any())
        for name in names:
            there = back = nan
            if not undefined:
                there = COEFFICIENTS[name](first, second)
                back = COEFFICIENTS[name](second, first) if name == _DIRECTED else there
            if halves:  # neither half is the reference
                there = (there + back) / 2
            rows.append((pair.task, pair.variant, row, column, name, there))
            if name == _DIRECTED and not halves:
                rows.append((pair.task, pair.variant, column, row, name, back))
    columns = ("task", "variant", "row", "column", "coefficient")
    schema = {**dict.fromkeys(columns, pl.String), "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
