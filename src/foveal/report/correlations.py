"""Correlations of rankings for people: who agrees with whom, how much, over how many cases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isnan
from typing import Any, NamedTuple

import polars as pl

from foveal.analysis.rankings import DIRECTED, EQUIVALENT, NOTICEABLE, Correlations
from foveal.formats.result_files import separated
from foveal.report.grids import Grid

__all__ = ["NAMES", "Findings", "correlation_grids", "mark", "power_grid", "swap_grid"]

NAMES = {
    "tau_b": "Kendall's tau b",
    "tau_a": "Kendall's tau a",
    "tau_ap": "tau AP",
    "spearman": "Spearman's rho",
    "rbo": "rank-biased overlap",
}
_MARKED = frozenset({"tau_b", "tau_a", "tau_ap"})
"""The marks were set for Kendall's tau; rho and RBO are on scales of their own."""
_MARKS = (
    f"= from {EQUIVALENT}: equivalent rankings; ! below {NOTICEABLE}: noticeable differences "
    "(compared before rounding)"
)


def mark(value: float, name: str) -> str:
    """The mark of a correlation: ``=`` equivalent, ``!`` noticeably different, or none.

    >>> mark(0.93, "tau_b"), mark(0.85, "tau_b"), mark(0.56, "tau_b"), mark(0.56, "rbo")
    ('=', '', '!', '')
    >>> mark((0.7 + 0.8 + 0.9) / 3 - 1e-16, "tau_b")
    ''
    """
    if name not in _MARKED or isnan(value):
        return ""
    exact = round(value, 9)  # a mean of 0.8 may be stored as slightly less
    return "=" if exact >= EQUIVALENT else "!" if exact < NOTICEABLE else ""


def _value(value: float) -> str:
    """A correlation.

    >>> _value(0.5625), _value(float("nan"))
    ('0.562', '-')
    """
    return "-" if isnan(value) else f"{value:.3f}"


def correlation_grids(found: Correlations, *, width: int | None = None) -> list[Grid]:
    """A table for each coefficient: a triangle, a square where direction matters, or a list.

    A table wider than `width` numbers its columns, and says once what all cells have in common;
    without a `width` it does the latter alone.
    """
    if not found.matrix:
        return [_list(found, name) for name in found.coefficients]
    return [_matrix(found, name, width) for name in found.coefficients]


def _title(found: Correlations, name: str) -> str:
    over = "" if len(found.tasks) == 1 else f", {len(found.tasks)} tasks"
    runs = sum(len(runs) for runs in found.tasks.values())
    named = f" (p = {found.meta['rbo_p']:g})" if name == "rbo" else ""
    rows = "; the row is the reference" if name in DIRECTED and found.matrix else ""
    return f"{NAMES[name]}{named} by {found.by}: {runs} runs{over}{rows}"


def _notes(found: Correlations, name: str) -> list[str]:
    undefined = int(
        found.summary.filter(pl.col("coefficient") == name)["undefined"].sum()
        # A directed coefficient stands twice for each pair.
        // (2 if name in DIRECTED and found.matrix else 1)
    )
    notes = [_MARKS + "."] if name in _MARKED else []
    if undefined:
        notes.append(f"Not counted, because a ranking ties all runs or has no score: {undefined}.")
    return notes + [f"{note[0].upper()}{note[1:]}." for note in found.notes]


def _matrix(found: Correlations, name: str, width: int | None) -> Grid:
    values, counts = found.values(name), found.counts(name)
    n = len(found.labels)
    whole = name in DIRECTED
    shown = [(i, j) for i in range(n) for j in range(n if whole else i) if i != j]
    several = any(counts[at] != 1 for at in shown)
    best = frozenset(
        (i if whole else i - 1, j + 1) for i, j in shown if mark(values[i, j], name) == "="
    )
    rows, columns = range(0 if whole else 1, n), range(n if whole else n - 1)

    def grid(*, numbered: bool, counted: bool) -> Grid:
        def cell(i: int, j: int) -> str:
            if (i, j) not in wanted:
                return ""
            text = _value(float(values[i, j]))
            return f"{text}{signs[i, j] or room} ({counts[i, j]})" if counted else text

        wanted, room = set(shown), " " if name in _MARKED else ""
        signs = {at: mark(values[at], name) for at in shown}
        labels = [f"{i + 1} {x}" if numbered else x for i, x in enumerate(found.labels)]
        head = [str(j + 1) if numbered else found.labels[j] for j in columns]
        body = tuple((labels[i], *(cell(i, j) for j in columns)) for i in rows)
        raised = {(i - rows[0], j + 1): sign for (i, j), sign in signs.items()}
        marks = raised if name in _MARKED and not counted else {}
        return Grid((found.by, *head), body, best, marks=marks, name=name)

    notes = _notes(found, name)
    same = {int(counts[at]) for at in shown}
    table = grid(numbered=False, counted=several and (width is not None or len(same) > 1))
    if several:
        explained = "In brackets: the number of correlations averaged."
        wide = width is not None and table.width > width
        if wide:
            table = grid(numbered=True, counted=len(same) > 1)
        if len(same) == 1 and (wide or width is None):
            explained = f"Each cell is the mean of {same.pop()} correlations."
        notes.insert(0, explained)
    elif width is not None and table.width > width:
        table = grid(numbered=True, counted=False)
    if table.header[1:2] == ("1",) and not whole:
        notes.insert(0, f"Column 1 is {found.labels[0]}; the others are numbered like the rows.")
    return replace(table, title=_title(found, name), notes=tuple(notes))


def _list(found: Correlations, name: str) -> Grid:
    part = found.summary.filter(pl.col("coefficient") == name)
    rows, best, marks = [], set(), {}
    for i, row in enumerate(part.iter_rows(named=True)):
        numbers = [_value(row[field]) for field in ("value", "low", "high")]
        rows.append((row["row"], *numbers, str(row["count"])))
        sign = mark(row["value"], name)
        if name in _MARKED:
            marks[i, 1] = sign
        if sign == "=":
            best.add((i, 1))
    notes = [
        (
            f"Between the rankings of random halves of the topics, {found.meta['samples']} splits "
            f"(seed {found.meta['seed']}); 95 % of the correlations lie between low and high."
        ),
        *_notes(found, name),
    ]
    if name in DIRECTED:
        notes.insert(1, "Mean of both directions: neither half is the reference.")
    header = ("measure", "mean", "low", "high", "correlations")
    return Grid(
        header,
        tuple(rows),
        frozenset(best),
        title=_title(found, name),
        notes=tuple(notes),
        marks=marks,
        name=name,
    )


def _task_column(table: pl.DataFrame) -> list[str]:
    return ["task"] if table["task"].n_unique() > 1 else []


def swap_grid(table: pl.DataFrame, *, samples: int, seed: int) -> Grid:
    """Swap rates: a row for each measure, a column for each size of topic sets."""
    labels = [*_task_column(table), "measure"]
    sizes = table["size"].unique().sort().to_list()
    rows = []
    for key, part in table.group_by(labels, maintain_order=True):
        rates = dict(zip(part["size"].to_list(), part["swap_rate"].to_list(), strict=True))
        safe = part.sort("size")["safe_difference"][-1]
        cells = [f"{100 * rates[size]:.1f}" if size in rates else "" for size in sizes]
        rows.append((*map(str, key), *cells, "-" if isnan(safe) else f"{safe:.2f}"))
    notes = (
        (
            "Per cent of comparisons of two runs that come out the other way round on another set "
            f"of as many topics; {samples} pairs of disjoint sets (seed {seed})."
        ),
        "Safe: the difference of means on the largest sets from which at most 5 % are swapped.",
    )
    return Grid(
        (*labels, *map(str, sizes), "safe"),
        tuple(rows),
        labels=len(labels),
        title="Swap rate by number of topics",
        notes=notes,
        name="swap rate",
    )


def power_grid(table: pl.DataFrame, *, alpha: float, tails: int) -> Grid:
    """Discriminative power: the share of significant pairs, the greatest of a task in bold."""
    labels = [*_task_column(table), "measure"]
    rows, best = [], set()
    most = dict(table.group_by("task").agg(pl.col("significant").max()).iter_rows())
    for i, row in enumerate(table.iter_rows(named=True)):
        share = f"{100 * row['discriminative_power']:.1f}"
        counts = (f"{row['significant']}/{row['pairs']}", str(row["topics"]))
        rows.append((*(row[label] for label in labels), share, *counts))
        if row["significant"] == most[row["task"]]:
            best.add((i, len(labels)))
    sided = "one-tailed, the better mean against the worse" if tails == 1 else "two-tailed"
    return Grid(
        (*labels, "power", "pairs", "topics"),
        tuple(rows),
        frozenset(best),
        len(labels),
        "Discriminative power",
        (f"Per cent of pairs of runs with p < {alpha:g}, paired t-test, {sided}, uncorrected.",),
        name="power",
    )


_FIELDS = ("statistic", "task", "first", "second", "value", "low", "high", "count", "undefined")
"""Of tsv and csv."""


class Findings(NamedTuple):
    """What one call of ``foveal correlate`` found, and the numbers that decided it."""

    found: Correlations | None
    swaps: pl.DataFrame | None
    powers: pl.DataFrame | None
    samples: int
    seed: int
    alpha: float
    tails: int

    def grids(self, width: int | None) -> list[Grid]:
        """All tables, those of measures folded to the width of the terminal, if there is one."""
        grids = [] if self.found is None else correlation_grids(self.found, width=width)
        if self.swaps is not None:
            grids.append(swap_grid(self.swaps, samples=self.samples, seed=self.seed))
        if self.powers is not None:
            grids.append(power_grid(self.powers, alpha=self.alpha, tails=self.tails))
        return grids

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """All of it in one shape, in the order of `_FIELDS`; None where a field says nothing."""
        if self.found is not None:
            for name, row, column, *rest in self.found.summary.iter_rows():
                yield (name, None, row, column, *rest)
        if self.swaps is not None:
            for task, measure, size, rate, count, *_ in self.swaps.iter_rows():
                yield ("swap_rate", task, measure, size, rate, None, None, count, None)
        if self.powers is not None:
            for task, measure, share, _, pairs, _ in self.powers.iter_rows():
                yield ("discriminative_power", task, measure, None, share, None, None, pairs, None)

    def data(self, form: str) -> str:
        """The rows as tsv or csv."""
        rows = (["" if value is None else value for value in row] for row in self.rows())
        return separated(_FIELDS, rows, form)

    def json(self, meta: Mapping[str, Any]) -> str:
        """Everything, and in `meta` where it came from.

        Of matrices every single correlation, too; those of random halves are thousands, and follow
        from the seed.
        """
        content: dict[str, Any] = {"meta": meta}
        if self.found is not None:
            content["correlations"] = _objects(self.found.summary)
            if self.found.matrix:
                content["singles"] = _objects(self.found.singles)
        if self.swaps is not None:
            content["swap_rates"] = _objects(self.swaps)
        if self.powers is not None:
            content["discriminative_power"] = _objects(self.powers)
        parts = []
        for name, value in content.items():
            if name == "meta":
                body = json.dumps(value, ensure_ascii=False, indent=1)
            else:
                rows = (json.dumps(row, ensure_ascii=False) for row in value)
                body = "[\n" + ",\n".join(rows) + "\n]"
            parts.append(f"{json.dumps(name)}:{body}")
        return "{" + ",\n".join(parts) + "}\n"


def _objects(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON objects; what is undefined is null."""
    return [
        {k: None if isinstance(v, float) and isnan(v) else v for k, v in row.items()}
        for row in table.iter_rows(named=True)
    ]
