"""Correlation of system rankings: coefficients, `correlate`, and the `Correlations` it returns.

Coefficients take rankings as scores, greater is better; equal scores are ties. If all systems of a
ranking are tied, or there are fewer than two, every coefficient is ``nan``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isnan, nan, sqrt
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.analysis.rankings import (
    SAMPLES,
    SEED,
    Given,
    Progress,
    RankingPair,
    Rankings,
    check_sets,
    drop_unranked,
    drop_unsampled,
    list_left_out,
    only_measures,
    results_of_tasks,
)
from foveal.analysis.score_matrix import free_name
from foveal.analysis.tasks import list_unscored, score_by_task
from foveal.errors import UsageError, counted, some
from foveal.evaluation import evaluate
from foveal.evaluation.evaluation import RunLike
from foveal.measures import Measure
from foveal.model import Judgements
from foveal.model.graphs import Matrix
from foveal.model.result_object import Result
from foveal.model.tables import Place, Table

__all__ = [
    "BY",
    "COEFFICIENTS",
    "RBO_P",
    "Correlations",
    "coefficient",
    "correlate",
    "kendall_tau_a",
    "kendall_tau_b",
    "mark_correlation",
    "rbo",
    "spearman",
    "tau_ap",
]

Floats = npt.NDArray[np.float64]
Scores = Sequence[float] | Floats
Coefficient = Callable[[Scores, Scores], float]

RBO_P = 0.9
"""Persistence of the reader of rankings: the first ten places carry 86 % of the weight."""
BY = ("measure", "quant", "topics")
"""The dimensions along which rankings are compared."""
_HINTS = {
    "measure": "measures; found {}; measures that differ in quant only are compared by quant",
    "quant": "quantisations; found {}; expected measures with several values of quant",
    "topics": "sets of topics; found {}",
}
_NAMES = {
    "tau_b": "Kendall's tau b",
    "tau_a": "Kendall's tau a",
    "tau_ap": "tau AP",
    "spearman": "Spearman's rho",
    "rbo": "rank-biased overlap",
}
_DIRECTED = frozenset({"tau_ap"})
"""Coefficients that are not symmetric; the ranking of the row is the reference."""
_EQUIVALENT, _NOTICEABLE = 0.9, 0.8
"""Kendall's tau from which rankings count as equivalent, and below which they notably differ."""
_MARKED = frozenset({"tau_b", "tau_a", "tau_ap"})
"""The thresholds are those of Kendall's tau; rho and RBO have scales of their own."""
_MARKS = (
    f"= from {_EQUIVALENT}: equivalent rankings; ! below {_NOTICEABLE}: noticeable differences "
    "(compared before rounding)."
)
_WORDS = {"=": ", equivalent rankings", "!": ", noticeably different rankings", "": ""}
_SINGLES = {
    **dict.fromkeys(("task", "variant", "row", "column", "coefficient"), pl.String),
    "value": pl.Float64,
}
"""Columns of the table of single correlations."""


# -- coefficients ----------------------------------------------------------------------------------


def _compare_systems(
    x: Scores, y: Scores
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
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
    alone counts as neither. A ranking and itself have 1.

    References
    ----------
    Yilmaz, Aslam, Robertson, SIGIR 2008; ties for agreement after Urbano and Marrero, ICTIR 2017.

    Examples
    --------
    A swap at the top costs more than one at the bottom:

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


def rbo(x: Scores, y: Scores, *, p: float = RBO_P) -> float:
    """Rank-biased overlap of two full rankings: 1 for equal ones, and never below 0.

    At each depth d the overlap of the two tops, 2·|both| / (|top of x| + |top of y|); the mean of
    them, weighted by p^(d-1). Below the last depth both hold everything, so the agreement there
    is 1 for ever (the extrapolated form for lists of equal length). Tied systems all enter at the
    first depth of their group.

    References
    ----------
    Webber, Moffat, Zobel, ACM TOIS 28(4), 2010.

    Examples
    --------
    >>> rbo([3, 2, 1], [3, 2, 1]), round(rbo([3, 2, 1], [2, 3, 1], p=0.5), 10)
    (1.0, 0.5)
    """
    if not 0 < p < 1:
        raise UsageError(f"the persistence of RBO is {p}; expected a number between 0 and 1")
    if (signs := _compare_systems(x, y)) is None:
        return nan
    first, second = ((ranking < 0).sum(axis=1) for ranking in signs)  # depths of entry, from 0
    depth = np.arange(len(first))
    tops = [np.searchsorted(np.sort(entry), depth, side="right") for entry in (first, second)]
    both = np.searchsorted(np.sort(np.maximum(first, second)), depth, side="right")
    agreement = 2 * both / (tops[0] + tops[1])
    # 1 - (the weight of what is missing): exact for equal rankings, whatever p.
    return float(1 - (1 - p) * ((1 - agreement) * p**depth).sum())


COEFFICIENTS: dict[str, Coefficient] = {
    "tau_b": kendall_tau_b,
    "tau_a": kendall_tau_a,
    "tau_ap": tau_ap,
    "spearman": spearman,
    "rbo": rbo,
}
"""Name to function of two rankings; the first is the reference of `tau_ap`."""


def coefficient(name: str, *, rbo_p: float = RBO_P) -> Coefficient:
    """Return the coefficient of this name.

    >>> coefficient("tau_a")([1, 2, 3], [3, 2, 1])
    -1.0
    """
    if name not in COEFFICIENTS:
        raise UsageError(f"unknown coefficient {name!r}; expected {' or '.join(COEFFICIENTS)}")
    return partial(rbo, p=rbo_p) if name == "rbo" else COEFFICIENTS[name]


# -- results ---------------------------------------------------------------------------------------


def mark_correlation(value: float, name: str) -> str:
    """Return ``=`` for an equivalent ranking, ``!`` for a noticeably different one, or nothing.

    >>> [mark_correlation(value, "tau_b") for value in (0.93, 0.85, 0.56)]
    ['=', '', '!']
    >>> mark_correlation(0.56, "rbo"), mark_correlation((0.7 + 0.8 + 0.9) / 3 - 1e-16, "tau_b")
    ('', '')
    """
    if name not in _MARKED or isnan(value):
        return ""
    exact = round(value, 9)  # a mean of 0.8 may be stored as slightly less
    return "=" if exact >= _EQUIVALENT else "!" if exact < _NOTICEABLE else ""


def _format_value(value: float) -> str:
    return "-" if isnan(value) else f"{value:.3f}"


@dataclass(frozen=True, eq=False)
class Correlations(Result):
    """Correlations of rankings, one by one and averaged.

    Parameters
    ----------
    by : str
        One of `BY`.
    labels : tuple of str
        The measures, quantisations or sets of topics that were compared.
    coefficients : tuple of str
    singles : DataFrame
        A row for every correlation, with task, variant (what row and column have in common:
        a quantisation, a measure, a split of the topics), row, column, coefficient, value.
        Undefined values are ``nan``.
    tasks : mapping
        Task to the names of its runs, of the tasks that could be used.
    matrix : bool
        False for halves of topics, which are compared only with each other.
    notes : tuple of str
        Notes on data left out and settings joined.
    swap_rates, discriminative_power : DataFrame, optional
        Stability of each task and measure, if asked for.
    meta : mapping
        Options that the numbers depend on, inputs and warnings.
    """

    by: str
    labels: tuple[str, ...] = ()
    coefficients: tuple[str, ...] = ()
    singles: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_SINGLES))
    tasks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    matrix: bool = True
    notes: tuple[str, ...] = ()
    swap_rates: pl.DataFrame | None = None
    discriminative_power: pl.DataFrame | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Correlations by {self.by}: {len(self.labels)} labels, {len(self.tasks)} tasks, "
            f"{len(self.singles)} correlations>"
        )

    @cached_property
    def means(self) -> pl.DataFrame:
        """Mean, smallest and greatest correlation of every pair and coefficient.

        ``count`` correlations are averaged, ``undefined`` ones are not. For random halves `low`
        and `high` bound the middle 95 % of the splits; otherwise they are the extremes.
        """
        value = pl.col("value")
        low, high = value.min(), value.max()
        if not self.matrix:
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

    def _square(self, name: str, column: str, empty: float, own: float) -> Floats:
        """Return a column of `means` for one coefficient as a matrix (label, label)."""
        if not self.matrix:
            raise UsageError("random halves of topics make no matrix; named sets of topics do")
        if name not in self.coefficients:
            raise UsageError(f"no {name!r} here; there is {', '.join(self.coefficients)}")
        square = np.full((len(self.labels), len(self.labels)), empty)
        np.fill_diagonal(square, own)
        place = {label: i for i, label in enumerate(self.labels)}
        part = self.means.filter(pl.col("coefficient") == name)
        for row, other, value in part.select("row", "column", column).iter_rows():
            square[place[row], place[other]] = value
            if name not in _DIRECTED:
                square[place[other], place[row]] = value
        return square

    def values(self, name: str) -> Floats:
        """Return the matrix of mean correlations (label, label); the diagonal is 1.

        If a coefficient is not symmetric, the row is the reference.
        """
        return self._square(name, "value", nan, 1.0)

    def counts(self, name: str) -> npt.NDArray[np.int64]:
        """Return the number of correlations averaged in each of `values`; 0 on the diagonal."""
        return self._square(name, "count", 0, 0).astype(np.int64)

    def frame(self, name: str) -> pl.DataFrame:
        """Return the matrix as a frame with the labels in its first column."""
        columns = dict(zip(self.labels, self.values(name).T, strict=True))
        return pl.DataFrame({free_name(self.by, self.labels): self.labels, **columns})

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield correlations, swap rates and powers in one shape; missing values are None."""
        names = ("statistic", "task", "first", "second", "value", "low", "high", "count")
        rows: list[tuple[Any, ...]] = [
            (name, None, row, column, *rest) for name, row, column, *rest in self.means.iter_rows()
        ]
        if self.swap_rates is not None:
            for task, measure, size, rate, count, *_ in self.swap_rates.iter_rows():
                rows.append(("swap_rate", task, measure, str(size), rate, None, None, count, None))
        if self.discriminative_power is not None:
            kind = "discriminative_power"
            for task, measure, share, _, pairs, _ in self.discriminative_power.iter_rows():
                rows.append((kind, task, measure, None, share, None, None, pairs, None))
        yield from (dict(zip((*names, "undefined"), row, strict=True)) for row in rows)

    def parts(self) -> dict[str, Any]:
        """Return all tables; of matrices also every single correlation.

        Those of random halves are thousands, and follow from the seed.
        """
        frames = {
            "correlations": self.means if self.coefficients else None,
            "singles": self.singles if self.coefficients and self.matrix else None,
            "swap_rates": self.swap_rates,
            "discriminative_power": self.discriminative_power,
        }
        return {name: frame.to_dicts() for name, frame in frames.items() if frame is not None}

    def summary(self) -> str:
        """Return which rankings agree least, by the first coefficient."""
        if not self.coefficients or not self.matrix or len(self.labels) < 2:
            return ""
        name = self.coefficients[0]
        means = self.means.filter(pl.col("coefficient") == name)
        known = means.filter(pl.col("value").is_not_nan())
        runs = counted(sum(map(len, self.tasks.values())), "run")
        if not len(known):
            return f"No {_NAMES[name]} of {runs} is defined."
        least = known.sort("value").row(0, named=True)
        value = f"{_NAMES[name]} of {runs} is {_format_value(least['value'])}"
        mark = mark_correlation(least["value"], name)
        if len(self.labels) == 2:
            return f"{least['row']} and {least['column']}: {value}{_WORDS[mark]}."
        if mark == "=" and len(known) == len(means):
            return f"All rankings are equivalent: the lowest {value}."
        return f"{least['row']} and {least['column']} agree least: {value}{_WORDS[mark]}."

    def tables(self) -> list[Table]:
        """Return a table for each coefficient, then swap rates and discriminative power."""
        tabulate = self._tabulate_matrix if self.matrix else self._tabulate_halves
        tables = [tabulate(name) for name in self.coefficients]
        if self.swap_rates is not None:
            tables.append(self._tabulate_swaps(self.swap_rates))
        if self.discriminative_power is not None:
            tables.append(self._tabulate_power(self.discriminative_power))
        return tables

    def _describe(self, name: str) -> tuple[str, list[str]]:
        """Return the title and the notes of a table."""
        over = "" if len(self.tasks) == 1 else f", {len(self.tasks)} tasks"
        runs = counted(sum(map(len, self.tasks.values())), "run")
        persistence = f" (p = {self.meta['options']['rbo_p']:g})" if name == "rbo" else ""
        is_directed = name in _DIRECTED and self.matrix
        rows = "; the row is the reference" if is_directed else ""
        title = f"{_NAMES[name]}{persistence} by {self.by}: {runs}{over}{rows}"
        undefined = int(self.means.filter(pl.col("coefficient") == name)["undefined"].sum())
        undefined //= 2 if is_directed else 1  # each pair has two rows
        notes = [_MARKS] if name in _MARKED else []
        if undefined:
            reason = "a ranking ties all runs or has no score"
            notes.append(f"Not counted, because {reason}: {undefined}.")
        return title, notes + [f"{note[0].upper()}{note[1:]}." for note in self.notes]

    def _tabulate_matrix(self, name: str) -> Table:
        """Return a triangle, or a square where direction matters."""
        values, counts = self.values(name), self.counts(name)
        title, notes = self._describe(name)
        n, is_square = len(self.labels), name in _DIRECTED
        rows, columns = range(0 if is_square else 1, n), range(n if is_square else n - 1)
        shown = {(i, j) for i in rows for j in columns if (i != j if is_square else j < i)}
        numbers = {int(counts[place]) for place in shown}
        is_counted = len(numbers) > 1
        if is_counted:
            notes.insert(0, "In brackets: the number of correlations averaged.")
        elif numbers and numbers != {1}:
            notes.insert(0, f"Each cell is the mean of {max(numbers)} correlations.")
        marks = {
            (i - rows[0], j + 1): mark_correlation(values[i, j], name)
            + (f" ({counts[i, j]})" if is_counted else "")
            for i, j in shown
        }
        cells = [
            [_format_value(values[i, j]) if (i, j) in shown else "" for j in columns] for i in rows
        ]
        return Table(
            (self.by, *(self.labels[j] for j in columns)),
            tuple((self.labels[i], *row) for i, row in zip(rows, cells, strict=True)),
            frozenset(place for place, mark in marks.items() if mark.startswith("=")),
            title=title,
            notes=tuple(notes),
            marks=marks if name in _MARKED or is_counted else {},
            name=name,
        )

    def _tabulate_halves(self, name: str) -> Table:
        """Return the correlations between random halves of the topics, a row for each measure."""
        title, notes = self._describe(name)
        means = self.means.filter(pl.col("coefficient") == name)
        columns = means.select("row", "value", "low", "high", "count").rows()
        marks = {(i, 1): mark_correlation(row[1], name) for i, row in enumerate(columns)}
        if name in _DIRECTED:
            notes.insert(0, "Mean of both directions: neither half is the reference.")
        halves = (
            "Between the rankings of random halves of the topics, {samples} splits (seed {seed})"
        )
        interval = "95 % of the correlations lie between low and high."
        notes.insert(0, f"{halves.format(**self.meta['options'])}; {interval}")
        return Table(
            ("measure", "mean", "low", "high", "correlations"),
            tuple((row, *map(_format_value, own), str(count)) for row, *own, count in columns),
            frozenset(place for place, mark in marks.items() if mark == "="),
            title=title,
            notes=tuple(notes),
            marks=marks if name in _MARKED else {},
            name=name,
        )

    def _tabulate_swaps(self, frame: pl.DataFrame) -> Table:
        """Return swap rates: a row for each measure, a column for each size of topic sets."""
        labels = ["task", "measure"] if frame["task"].n_unique() > 1 else ["measure"]
        sizes = frame["size"].unique().sort().to_list()
        rows = []
        for key, part in frame.group_by(labels, maintain_order=True):
            rates = dict(part.select("size", "swap_rate").iter_rows())
            safe = part.sort("size")["safe_difference"][-1]
            cells = (f"{100 * rates[size]:.1f}" if size in rates else "" for size in sizes)
            rows.append((*map(str, key), *cells, "-" if isnan(safe) else f"{safe:.2f}"))
        swapped = (
            "Per cent of comparisons of two runs that come out the other way round on another set"
        )
        drawn = "{samples} pairs of disjoint sets (seed {seed}).".format(**self.meta["options"])
        safe = "difference of means on the largest sets from which at most 5 % are swapped."
        return Table(
            (*labels, *map(str, sizes), "safe"),
            tuple(rows),
            labels=len(labels),
            title="Swap rate by number of topics",
            notes=(f"{swapped} of as many topics; {drawn}", f"Safe: {safe}"),
            name="swap rate",
        )

    def _tabulate_power(self, frame: pl.DataFrame) -> Table:
        """Return the share of significant pairs, the greatest of a task in bold."""
        labels = ["task", "measure"] if frame["task"].n_unique() > 1 else ["measure"]
        rows, best = [], set[Place]()
        most = dict(frame.group_by("task").agg(pl.col("significant").max()).iter_rows())
        for i, row in enumerate(frame.iter_rows(named=True)):
            share = f"{100 * row['discriminative_power']:.1f}"
            counts = (f"{row['significant']}/{row['pairs']}", str(row["topics"]))
            rows.append((*(row[label] for label in labels), share, *counts))
            best |= {(i, len(labels))} if row["significant"] == most[row["task"]] else set()
        options = self.meta["options"]
        one_tailed = "one-tailed, the better mean against the worse"
        tails = one_tailed if options["tails"] == 1 else "two-tailed"
        test = f"p < {options['alpha']:g}, paired t-test, {tails}, uncorrected"
        return Table(
            (*labels, "power", "pairs", "topics"),
            tuple(rows),
            frozenset(best),
            len(labels),
            "Discriminative power",
            (f"Per cent of pairs of runs with {test}.",),
            name="power",
        )

    def graphs(self) -> list[Matrix]:
        """Return a heat map for each coefficient."""
        graphs = []
        for name in self.coefficients if self.matrix else ():
            values = self.values(name)
            marks = [tuple(mark_correlation(cell, name) for cell in row) for row in values.tolist()]
            title = f"{_NAMES[name]}{' (row: reference)' if name in _DIRECTED else ''}"
            note = _MARKS if name in _MARKED else ""
            graphs.append(Matrix(title, self.labels, values, tuple(marks), note))
        return graphs


# -- correlate -----------------------------------------------------------------------------------


def correlate(
    runs: Given | RunLike | Sequence[RunLike],
    judgements: Judgements | str | Path | Sequence[str | Path] | None = None,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    task: str | Sequence[str] = (),
    by: str = "measure",
    coefficients: str | Sequence[str] = ("tau_b",),
    rbo_p: float = RBO_P,
    topic_sets: Mapping[str, Sequence[str]] | None = None,
    samples: int = SAMPLES,
    seed: int = SEED,
    progress: Progress | None = None,
    **options: Any,
) -> Correlations:
    """Correlate the rankings of runs that measures, quantisations or sets of topics give.

    Parameters
    ----------
    runs : runs as for `foveal.evaluate`; or Results, a sequence of them, or task to Results
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
        ``measure``, and compared with ``quant``.
    coefficients : str or sequence of str
        Names in `COEFFICIENTS`.
    topic_sets : mapping of name to topics, optional
        Used by ``topics``; by default topics are split at random into halves.
    samples, seed : int
        Number of random splits, and the seed of the random numbers.
    progress : callable, optional
        Called after each measure that is sampled.
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
    if by not in BY:
        raise UsageError(f"unknown comparison {by!r}; expected {' or '.join(BY)}")
    if topic_sets is not None and by != "topics":
        raise UsageError(f"sets of topics are compared by topics, and not by {by}")
    for what, number in (("samples", samples), ("seed", seed)):
        if not isinstance(number, (int, np.integer)):
            raise UsageError(f"{what} {number!r} is not possible; expected a whole number")
    if samples < 1:
        raise UsageError(f"{samples} samples asked for; expected at least 1")
    named = dict.fromkeys([coefficients] if isinstance(coefficients, str) else coefficients)
    functions = {name: coefficient(name, rbo_p=rbo_p) for name in named}
    if not functions:
        raise UsageError("no coefficient given")
    notes: list[str] = []
    given = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    presets = [task] if isinstance(task, str) else list(task or ())
    if unscored := list_unscored(
        runs, judgements, options | ({"task": presets} if presets else {})
    ):
        score = partial(evaluate, **options)
        tasks = score_by_task(unscored, judgements, given, presets, score, notes)
    else:
        tasks = only_measures(results_of_tasks(cast("Given", runs), notes), given)
    tasks = drop_unranked(tasks, notes)
    halves = by == "topics" and topic_sets is None
    if by == "topics":
        tasks = drop_unsampled(tasks, 2 if halves else 1, notes)
    rankings = Rankings(tasks)
    if halves:
        pairs: Iterable[RankingPair] = rankings.pair_halves(samples, seed, progress)
        labels = tuple(dict.fromkeys(label for part in tasks.values() for label in part.measures))
    elif by == "measure":
        pairs = rankings.pair_measures()
        labels = tuple(dict.fromkeys(rankings.name.values()))
    elif topic_sets is not None:
        sets = {
            name: (topics,) if isinstance(topics, str) else tuple(topics)
            for name, topics in topic_sets.items()
        }
        notes += check_sets(sets, tasks)
        pairs, labels = rankings.pair_sets(sets), tuple(sets)
    else:
        pairs = list(rankings.pair_quantisations())
        used = {(p.task, p.variant) for p in pairs}
        unused = [name for (task, _), name in rankings.name.items() if (task, name) not in used]
        if unused:
            listed = some(list(dict.fromkeys(unused)))
            notes.append(f"not used, with one quantisation at most: {listed}")
        labels = tuple(dict.fromkeys(label for p in pairs for label in (p.row, p.column)))
    if len(labels) < (1 if halves else 2):
        found = f"only {labels[0]}" if labels else "none"
        raise UsageError(f"a correlation needs at least two {_HINTS[by].format(found)}")
    singles = _correlate_pairs(pairs, functions, labels, halves=halves)
    if len(tasks) > 1 and by != "topics":
        forms: dict[str, set[str]] = {}
        for key, name in rankings.name.items():
            forms.setdefault(name, set()).add(rankings.spelled[key])
        if joined := [name for name, spelled in forms.items() if len(spelled) > 1]:
            notes.append(f"with the settings of each task: {some(joined)}")
    notes += list_left_out(tasks)
    applied: dict[str, Any] = {"by": by, "coefficients": list(functions)}
    applied |= {"rbo_p": rbo_p} if "rbo" in functions else {}
    applied |= {"samples": samples, "seed": seed} if halves else {}
    meta = {"version": __version__, "options": applied}
    ranked = {task: part.runs for task, part in tasks.items()}
    names = tuple(functions)
    return Correlations(by, labels, names, singles, ranked, not halves, tuple(notes), meta=meta)


def _correlate_pairs(
    pairs: Iterable[RankingPair],
    functions: Mapping[str, Coefficient],
    labels: Sequence[str],
    *,
    halves: bool,
) -> pl.DataFrame:
    """Return a row for every correlation."""
    rows = []
    for pair in pairs:
        ends = [(pair.row, pair.first), (pair.column, pair.second)]
        # Tasks may list the same two in another order.
        (row, first), (column, second) = sorted(ends, key=lambda end: labels.index(end[0]))
        undefined = bool(np.isnan(first).any() or np.isnan(second).any())
        for name, function in functions.items():
            there = nan if undefined else function(first, second)
            back = function(second, first) if name in _DIRECTED and not undefined else nan
            if name in _DIRECTED and halves:  # neither half is the reference
                there = (there + back) / 2
            rows.append((pair.task, pair.variant, row, column, name, there))
            if name in _DIRECTED and not halves:
                rows.append((pair.task, pair.variant, column, row, name, back))
    return pl.DataFrame(rows, schema=_SINGLES, orient="row")
