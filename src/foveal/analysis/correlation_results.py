"""Correlations of rankings as a result object: matrices, swap rates, discriminative power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.analysis.score_matrix import free_name
from foveal.errors import UsageError, counted
from foveal.model.graphs import Matrix
from foveal.model.result_object import Result
from foveal.model.tables import Table

__all__ = ["DIRECTED", "EQUIVALENT", "NAMES", "NOTICEABLE", "Correlations", "mark_correlation"]

Floats = npt.NDArray[np.float64]
EQUIVALENT, NOTICEABLE = 0.9, 0.8
"""Kendall's tau from which rankings count as equivalent, and below which they notably differ."""
DIRECTED = frozenset({"tau_ap"})
"""Coefficients that are not symmetric; the ranking of the row is the reference."""
_LEVEL = 0.95
"""Share of the sampled correlations within the interval."""
NAMES = {
    "tau_b": "Kendall's tau b",
    "tau_a": "Kendall's tau a",
    "tau_ap": "tau AP",
    "spearman": "Spearman's rho",
    "rbo": "rank-biased overlap",
}
_MARKED = frozenset({"tau_b", "tau_a", "tau_ap"})
"""The thresholds are those of Kendall's tau; rho and RBO have scales of their own."""
_MARKS = (
    f"= from {EQUIVALENT}: equivalent rankings; ! below {NOTICEABLE}: noticeable differences "
    "(compared before rounding)."
)
_WORDS = {"=": ", equivalent rankings", "!": ", noticeably different rankings", "": ""}


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
    return "=" if exact >= EQUIVALENT else "!" if exact < NOTICEABLE else ""


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
    labels: tuple[str, ...]
    coefficients: tuple[str, ...]
    singles: pl.DataFrame
    tasks: Mapping[str, tuple[str, ...]]
    matrix: bool = True
    notes: tuple[str, ...] = ()
    swap_rates: pl.DataFrame | None = None
    discriminative_power: pl.DataFrame | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def without_pairs(cls, by: str) -> Correlations:
        """Return correlations of nothing, for the stability of one measure alone."""
        names = dict.fromkeys(("task", "variant", "row", "column", "coefficient"), pl.String)
        return cls(by, (), (), pl.DataFrame(schema={**names, "value": pl.Float64}), {})

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
        ends = [value.min(), value.max()]
        if not self.matrix:
            below = (1 - _LEVEL) / 2
            ends = [value.quantile(q, "linear") for q in (below, 1 - below)]
        return (
            self.singles.with_columns(pl.col("value").fill_nan(None))
            .group_by("coefficient", "row", "column", maintain_order=True)
            .agg(
                value.mean(),
                ends[0].alias("low"),
                ends[1].alias("high"),
                value.count().cast(pl.Int64).alias("count"),
                value.null_count().cast(pl.Int64).alias("undefined"),
            )
            .with_columns(pl.col("value", "low", "high").fill_null(float("nan")))
        )

    def _square(self, name: str, column: str, empty: float, own: float) -> Floats:
        square = np.full((len(self.labels), len(self.labels)), empty)
        np.fill_diagonal(square, own)
        place = {label: i for i, label in enumerate(self.labels)}
        part = self.means.filter(pl.col("coefficient") == name)
        for row, other, value in part.select("row", "column", column).iter_rows():
            square[place[row], place[other]] = value
            if name not in DIRECTED:
                square[place[other], place[row]] = value
        return square

    def values(self, name: str) -> Floats:
        """Return the matrix of mean correlations (label, label); the diagonal is 1.

        The row is the reference of `DIRECTED` coefficients.
        """
        return self._square(self._known(name), "value", np.nan, 1.0)

    def counts(self, name: str) -> npt.NDArray[np.int64]:
        """Return the number of correlations averaged in each of `values`; 0 on the diagonal."""
        return self._square(self._known(name), "count", 0, 0).astype(np.int64)

    def frame(self, name: str) -> pl.DataFrame:
        """Return the matrix as a frame with the labels in its first column."""
        square = self.values(name)
        columns = {label: square[:, i] for i, label in enumerate(self.labels)}
        return pl.DataFrame({free_name(self.by, self.labels): self.labels, **columns})

    def _known(self, name: str) -> str:
        if not self.matrix:
            raise UsageError("random halves of topics make no matrix; named sets of topics do")
        if name not in self.coefficients:
            raise UsageError(f"no {name!r} here; there is {', '.join(self.coefficients)}")
        return name

    # -- every format ------------------------------------------------------------------------------

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield correlations, swap rates and powers in one shape; missing values are None."""
        fields = ("statistic", "task", "first", "second", "value", "low", "high", "count")
        names = (*fields, "undefined")
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
        yield from (dict(zip(names, row, strict=True)) for row in rows)

    def parts(self) -> dict[str, Any]:
        """Return all tables; of matrices also every single correlation.

        Those of random halves are thousands, and follow from the seed.
        """
        parts = {}
        if self.coefficients:
            parts["correlations"] = self.means.to_dicts()
            if self.matrix:
                parts["singles"] = self.singles.to_dicts()
        if self.swap_rates is not None:
            parts["swap_rates"] = self.swap_rates.to_dicts()
        if self.discriminative_power is not None:
            parts["discriminative_power"] = self.discriminative_power.to_dicts()
        return parts

    def summary(self) -> str:
        """Return which rankings agree least, by the first coefficient."""
        if not self.coefficients or not self.matrix or len(self.labels) < 2:
            return ""
        name = self.coefficients[0]
        means = self.means.filter(pl.col("coefficient") == name)
        known = means.filter(pl.col("value").is_not_nan())
        runs = counted(sum(len(runs) for runs in self.tasks.values()), "run")
        if not len(known):
            return f"No {NAMES[name]} of {runs} is defined."
        least = known.sort("value").row(0, named=True)
        value = f"{NAMES[name]} of {runs} is {_format_value(least['value'])}"
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
        runs = counted(sum(len(runs) for runs in self.tasks.values()), "run")
        persistence = f" (p = {self._option('rbo_p'):g})" if name == "rbo" else ""
        is_directed = name in DIRECTED and self.matrix
        rows = "; the row is the reference" if is_directed else ""
        title = f"{NAMES[name]}{persistence} by {self.by}: {runs}{over}{rows}"
        undefined = int(self.means.filter(pl.col("coefficient") == name)["undefined"].sum())
        undefined //= 2 if is_directed else 1  # each pair has two rows
        notes = [_MARKS] if name in _MARKED else []
        if undefined:
            reason = "a ranking ties all runs or has no score"
            notes.append(f"Not counted, because {reason}: {undefined}.")
        return title, notes + [f"{note[0].upper()}{note[1:]}." for note in self.notes]

    def _option(self, name: str) -> Any:
        return self.meta["options"][name]

    def _tabulate_matrix(self, name: str) -> Table:
        """Return a triangle, or a square where direction matters."""
        values, counts = self.values(name), self.counts(name)
        title, notes = self._describe(name)
        n, is_square = len(self.labels), name in DIRECTED
        shown = {(i, j) for i in range(n) for j in range(n if is_square else i) if i != j}
        numbers = {int(counts[place]) for place in shown}
        is_counted = len(numbers) > 1
        if is_counted:
            notes.insert(0, "In brackets: the number of correlations averaged.")
        elif numbers and numbers != {1}:
            notes.insert(0, f"Each cell is the mean of {max(numbers)} correlations.")
        rows, columns = range(0 if is_square else 1, n), range(n if is_square else n - 1)
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
        rows, marks = [], {}
        means = self.means.filter(pl.col("coefficient") == name)
        for i, row in enumerate(means.iter_rows(named=True)):
            numbers = (_format_value(row[column]) for column in ("value", "low", "high"))
            rows.append((row["row"], *numbers, str(row["count"])))
            marks[i, 1] = mark_correlation(row["value"], name)
        if name in DIRECTED:
            notes.insert(0, "Mean of both directions: neither half is the reference.")
        halves = f"Between the rankings of random halves of the topics, {self._option('samples')}"
        seed = f"splits (seed {self._option('seed')})"
        interval = "95 % of the correlations lie between low and high."
        return Table(
            ("measure", "mean", "low", "high", "correlations"),
            tuple(rows),
            frozenset(place for place, mark in marks.items() if mark == "="),
            title=title,
            notes=(f"{halves} {seed}; {interval}", *notes),
            marks=marks if name in _MARKED else {},
            name=name,
        )

    def _tabulate_swaps(self, frame: pl.DataFrame) -> Table:
        """Return swap rates: a row for each measure, a column for each size of topic sets."""
        labels = _list_labels(frame)
        sizes = frame["size"].unique().sort().to_list()
        rows = []
        for key, part in frame.group_by(labels, maintain_order=True):
            rates = dict(zip(part["size"].to_list(), part["swap_rate"].to_list(), strict=True))
            safe = part.sort("size")["safe_difference"][-1]
            cells = (f"{100 * rates[size]:.1f}" if size in rates else "" for size in sizes)
            rows.append((*map(str, key), *cells, "-" if isnan(safe) else f"{safe:.2f}"))
        drawn = f"{self._option('samples')} pairs of disjoint sets (seed {self._option('seed')})"
        return Table(
            (*labels, *map(str, sizes), "safe"),
            tuple(rows),
            labels=len(labels),
            title="Swap rate by number of topics",
            notes=(
                (
                    "Per cent of comparisons of two runs that come out the other way round on "
                    f"another set of as many topics; {drawn}."
                ),
                "Safe: difference of means on the largest sets from which at most 5 % are swapped.",
            ),
            name="swap rate",
        )

    def _tabulate_power(self, frame: pl.DataFrame) -> Table:
        """Return the share of significant pairs, the greatest of a task in bold."""
        labels = _list_labels(frame)
        rows, best = [], set()
        most = dict(frame.group_by("task").agg(pl.col("significant").max()).iter_rows())
        for i, row in enumerate(frame.iter_rows(named=True)):
            share = f"{100 * row['discriminative_power']:.1f}"
            counts = (f"{row['significant']}/{row['pairs']}", str(row["topics"]))
            rows.append((*(row[label] for label in labels), share, *counts))
            if row["significant"] == most[row["task"]]:
                best.add((i, len(labels)))
        one_tailed = "one-tailed, the better mean against the worse"
        tails = one_tailed if self._option("tails") == 1 else "two-tailed"
        test = f"p < {self._option('alpha'):g}, paired t-test, {tails}, uncorrected"
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
        return [
            Matrix(
                f"{NAMES[name]}{' (row: reference)' if name in DIRECTED else ''}",
                self.labels,
                self.values(name),
                tuple(
                    tuple(mark_correlation(value, name) for value in row)
                    for row in self.values(name).tolist()
                ),
                _MARKS if name in _MARKED else "",
            )
            for name in self.coefficients
            if self.matrix
        ]


def _list_labels(frame: pl.DataFrame) -> list[str]:
    return ["task", "measure"] if frame["task"].n_unique() > 1 else ["measure"]
