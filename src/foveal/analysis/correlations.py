"""Correlations of the rankings of runs by measures, quantisations or sets of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.analysis.correlation import RBO_P, Coefficient, coefficient
from foveal.analysis.rankings import (
    SAMPLES,
    SEED,
    Given,
    Pair,
    Progress,
    Rankings,
    by_topic,
    left_out,
    of_measures,
    tasks_of,
    usable,
)
from foveal.analysis.score_matrix import check_assessors, free_name
from foveal.analysis.tasks import scored_by_task
from foveal.errors import UsageError, some
from foveal.evaluation import evaluate
from foveal.evaluation.evaluation import RunLike
from foveal.formats import read_run
from foveal.measures import Measure, parse_measures
from foveal.model import Judgements, Results, Run, display

__all__ = ["BY", "DIRECTED", "EQUIVALENT", "NOTICEABLE", "Correlations", "correlate"]

Floats = npt.NDArray[np.float64]

BY = ("measure", "quant", "topics")
"""The dimensions along which rankings are compared."""
EQUIVALENT, NOTICEABLE = 0.9, 0.8
"""Kendall's tau from which rankings count as equivalent, and below which they notably differ."""
DIRECTED = frozenset({"tau_ap"})
"""Coefficients that are not symmetric; the ranking of the row is the reference."""
_LEVEL = 0.95
"""Share of the sampled correlations within the interval."""
_SINGLE = {
    "task": pl.String,
    "variant": pl.String,
    "row": pl.String,
    "column": pl.String,
    "coefficient": pl.String,
    "value": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class Correlations:
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
    meta : mapping
        Options that the numbers depend on.
    """

    by: str
    labels: tuple[str, ...]
    coefficients: tuple[str, ...]
    singles: pl.DataFrame
    tasks: Mapping[str, tuple[str, ...]]
    matrix: bool = True
    notes: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Correlations by {self.by}: {len(self.labels)} labels, {len(self.tasks)} tasks, "
            f"{len(self.singles)} correlations>"
        )

    @cached_property
    def summary(self) -> pl.DataFrame:
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
        part = self.summary.filter(pl.col("coefficient") == name)
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

    def _repr_html_(self) -> str:
        name = self.coefficients[0]
        table = self.frame(name) if self.matrix else self.summary
        return display.frame(f"{name} by {self.by}", table, "rows", notes=self.notes)


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
        Names in `foveal.analysis.correlation.COEFFICIENTS`.
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
    >>> rows = [("a", "1", "AP", 0.5), ("b", "1", "AP", 0.4), ("c", "1", "AP", 0.1)]
    >>> rows += [("a", "1", "AiP", 0.3), ("b", "1", "AiP", 0.6), ("c", "1", "AiP", 0.2)]
    >>> found = correlate(Results.from_tidy(rows, {}))
    >>> found.values("tau_b").round(4).tolist()
    [[1.0, 0.3333], [0.3333, 1.0]]
    """
    _check_asked(by, topic_sets, samples, seed)
    named = dict.fromkeys([coefficients] if isinstance(coefficients, str) else coefficients)
    functions = {name: coefficient(name, rbo_p=rbo_p) for name in named}
    if not functions:
        raise UsageError("no coefficient given")
    notes: list[str] = []
    tasks = usable(_results(runs, judgements, measures, task, options, notes), notes)
    halves = by == "topics" and topic_sets is None
    if by == "topics":
        tasks = by_topic(tasks, 2 if halves else 1, notes)
    rankings = Rankings(tasks)
    if halves:
        pairs: Iterable[Pair] = rankings.by_halves(samples, seed, progress)
        labels = tuple(dict.fromkeys(label for part in tasks.values() for label in part.measures))
    else:
        pairs, labels = _compared(rankings, by, topic_sets, notes)
    _check_labels(by, labels, halves=halves)
    singles = _singles(pairs, functions, labels, halves=halves)
    if len(tasks) > 1 and by != "topics" and (joined := rankings.joined_settings()):
        notes.append(f"with the settings of each task: {some(joined)}")
    notes += left_out(tasks)
    meta: dict[str, Any] = {"by": by, "coefficients": list(functions)}
    meta |= {"rbo_p": rbo_p} if "rbo" in functions else {}
    meta |= {"samples": samples, "seed": seed} if halves else {}
    return Correlations(
        by,
        labels,
        tuple(functions),
        singles,
        {task: part.runs for task, part in tasks.items()},
        not halves,
        tuple(notes),
        meta,
    )


def _check_asked(
    by: str, topic_sets: Mapping[str, Sequence[str]] | None, samples: int, seed: int
) -> None:
    if by not in BY:
        raise UsageError(f"unknown comparison {by!r}; expected {' or '.join(BY)}")
    if topic_sets is not None and by != "topics":
        raise UsageError(f"sets of topics are compared by topics, and not by {by}")
    for what, number in (("samples", samples), ("seed", seed)):
        if not isinstance(number, (int, np.integer)):
            raise UsageError(f"{what} {number!r} is not possible; expected a whole number")
    if samples < 1:
        raise UsageError(f"{samples} samples asked for; expected at least 1")


def _compared(
    rankings: Rankings,
    by: str,
    topic_sets: Mapping[str, Sequence[str]] | None,
    notes: list[str],
) -> tuple[Iterable[Pair], tuple[str, ...]]:
    """Return the pairs of rankings of a matrix, and its labels."""
    if by == "measure":
        return rankings.by_measure(), tuple(dict.fromkeys(rankings.name.values()))
    if topic_sets is not None:
        sets = {
            name: (topics,) if isinstance(topics, str) else tuple(topics)
            for name, topics in topic_sets.items()
        }
        notes += _check_sets(sets, rankings.tasks)
        return rankings.by_sets(sets), tuple(sets)
    pairs = list(rankings.by_quant())
    used = {(p.task, p.variant) for p in pairs}
    unused = [name for (task, _), name in rankings.name.items() if (task, name) not in used]
    if unused:
        listed = some(list(dict.fromkeys(unused)))
        notes.append(f"not used, with one quantisation at most: {listed}")
    return pairs, tuple(dict.fromkeys(label for p in pairs for label in (p.row, p.column)))


def _results(
    runs: Given | RunLike | Sequence[RunLike],
    judgements: Judgements | str | Path | Sequence[str | Path] | None,
    measures: str | Measure | Sequence[str | Measure],
    task: str | Sequence[str],
    options: dict[str, Any],
    notes: list[str],
) -> dict[str, Results]:
    """Return the results of each task, as given or by scoring runs."""
    given: list[str | Measure] = (
        [measures] if isinstance(measures, (str, Measure)) else list(measures)
    )
    tasks = [task] if isinstance(task, str) else list(task or ())
    listed: list[Any] = [runs]
    if isinstance(runs, Iterable) and not isinstance(runs, (Mapping, Results, Run, str, Path)):
        listed = list(runs)
    if not isinstance(runs, Mapping) and not all(isinstance(run, Results) for run in listed):
        strange = [run for run in listed if not isinstance(run, (Run, str, Path))]
        if strange:
            raise UsageError(f"{strange[0]!r} is no run; expected results, or runs and judgements")
        if judgements is None:
            raise UsageError(
                "runs need judgements to be scored against, and there are none; saved results are "
                "read by read_results"
            )
        check_assessors(options)
        read = [run if isinstance(run, Run) else read_run(run) for run in listed]
        own = [m.label for item in given for m in parse_measures(str(item))]

        def score(members: list[Run], preset: str | None) -> Results:
            return evaluate(members, judgements, given, task=preset, **options)

        return scored_by_task(read, tasks, own, score, notes)
    if judgements is not None or tasks or options:
        raise UsageError("results are not scored again; leave out judgements, tasks and options")
    return of_measures(tasks_of(cast("Given", runs), notes), given)


def _check_labels(by: str, labels: tuple[str, ...], *, halves: bool) -> None:
    if len(labels) >= (1 if halves else 2):
        return
    hint = {
        "measure": "; measures that differ in quant only are compared by quant",
        "quant": "; expected measures with several values of quant",
        "topics": "",
    }[by]
    what = {"measure": "measures", "quant": "quantisations", "topics": "sets of topics"}[by]
    found = f"only {labels[0]}" if labels else "none"
    raise UsageError(f"a correlation needs at least two {what}; found {found}{hint}")


def _check_sets(sets: Mapping[str, Sequence[str]], tasks: Mapping[str, Results]) -> list[str]:
    known = {topic for part in tasks.values() for topic in part.topics}
    for name, topics in sets.items():
        strange = [topic for topic in topics if topic not in known]
        if strange:
            raise UsageError(
                f"topics of the set {name!r} that the results do not hold, {len(strange)}: "
                f"{some(strange)}"
            )
        if not topics:
            raise UsageError(f"the set {name!r} holds no topic")
    common = [
        f"{a} and {b}" for a, b in combinations(sets, 2) if not set(sets[a]).isdisjoint(sets[b])
    ]
    return [f"sets with topics in common: {some(common)}"] if common else []


def _singles(
    pairs: Iterable[Pair],
    functions: Mapping[str, Coefficient],
    labels: tuple[str, ...],
    *,
    halves: bool,
) -> pl.DataFrame:
    rows = []
    place = {label: i for i, label in enumerate(labels)}
    for given in pairs:
        # Tasks may list the same two in another order.
        turned = place[given.row] > place[given.column]
        pair = given.turned() if turned else given
        undefined = bool(np.isnan(pair.first).any() or np.isnan(pair.second).any())
        for name, function in functions.items():
            there = np.nan if undefined else function(pair.first, pair.second)
            row = (pair.task, pair.variant, pair.row, pair.column, name)
            if name not in DIRECTED:
                rows.append((*row, there))
                continue
            back = np.nan if undefined else function(pair.second, pair.first)
            if halves:  # neither half is the reference
                rows.append((*row, (there + back) / 2))
                continue
            rows.append((*row, there))
            rows.append((pair.task, pair.variant, pair.column, pair.row, name, back))
    return pl.DataFrame(rows, schema=_SINGLE, orient="row")
