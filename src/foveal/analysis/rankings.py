"""Do measures, quantisations or topics agree on which system is better: rankings, correlated."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.analysis.aligned import (
    Aligned,
    align,
    averages_others,
    check_assessors,
    chosen,
    free_name,
    rounded,
)
from foveal.analysis.correlation import RBO_P, Coefficient, coefficient
from foveal.analysis.tasks import results_by_task, scored_by_task, without_curves
from foveal.campaign import evaluate
from foveal.campaign.scoring import RunLike
from foveal.errors import UsageError
from foveal.formats import read_run
from foveal.measures import Measure, parse_measure, parse_measures
from foveal.model import Judgements, Results, Run

__all__ = [
    "BY",
    "DIRECTED",
    "EQUIVALENT",
    "NOTICEABLE",
    "SAMPLES",
    "SEED",
    "Correlations",
    "correlate",
    "means_of_samples",
    "names_of",
    "scores",
    "stream",
    "tasks_of",
    "without_curves",
]

BY = ("measure", "quant", "topics")
"""What the rankings of one correlation differ in."""
EQUIVALENT, NOTICEABLE = 0.9, 0.8
"""Kendall's tau from which rankings count as equivalent, and below which they notably differ."""
DIRECTED = frozenset({"tau_ap"})
"""Coefficients for which it matters which ranking is the reference: that of the row."""
SAMPLES, SEED = 1000, 2005

_LEVEL = 0.95
"""Share of the sampled correlations that lie within the interval."""
_SHOWN = 5

Floats = npt.NDArray[np.float64]
Progress = Callable[[], None]

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
        What was compared: measures, quantisations or sets of topics.
    coefficients : tuple of str
    singles : DataFrame
        A row for every correlation, with task, variant (what row and column have in common:
        a quantisation, a measure, a split of the topics), row, column, coefficient, value.
        Undefined values are ``nan``.
    tasks : mapping
        Task to the names of its runs, of the tasks that could be used.
    matrix : bool
        Whether every label meets every other; halves of topics meet only each other.
    notes : tuple of str
        What a reader of the table must know: what was left out, which settings were joined.
    meta : mapping
        Options that decided the numbers.
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
        """The mean correlations of a coefficient, label by label; the diagonal is 1.

        Of `DIRECTED` coefficients the row is the reference.
        """
        return self._square(self._known(name), "value", np.nan, 1.0)

    def counts(self, name: str) -> npt.NDArray[np.int64]:
        """How many correlations are behind each of `values`; 0 on the diagonal."""
        return self._square(self._known(name), "count", 0, 0).astype(np.int64)

    def frame(self, name: str) -> pl.DataFrame:
        """The matrix with the labels in its first column, named after what was compared."""
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
        table = self.frame(self.coefficients[0]) if self.matrix else self.summary
        return str(table._repr_html_())


# -- from results to rankings ------------------------------------------------------------------


Given = Results | Sequence[Results] | Mapping[str, Results]
"""Results of one task or several."""


def tasks_of(results: Given, warnings: list[str] | None = None) -> dict[str, Results]:
    """Task to results: as named, by the official task they were scored for, or as runs declare it.

    What is odd about it goes to `warnings`.

    >>> one = Results.from_tidy([("a", "1", "AP", 0.5)], {"task": "2009.Focused"})
    >>> other = Results.from_tidy([("b", "1", "AP", 0.25)], {"task": "2009.Focused"})
    >>> tasks_of([one, other])["2009.Focused"].runs
    ('a', 'b')
    """
    said: list[str] = []
    if isinstance(results, Mapping):
        found = dict(results)
    else:
        listed = [results] if isinstance(results, Results) else list(results)
        found = results_by_task(listed, said)
    for part in found.values():
        if not isinstance(part, Results):
            raise UsageError(f"{part!r} are no results; expected those of evaluate or read_results")
        for meta in part.meta.get("parts", [part.meta]):
            check_assessors(meta.get("options", {}))
    if warnings is not None:
        warnings += said
    return found


def scores(results: Results, label: str) -> Floats:
    """What the runs are ranked by: their means over the topics they share, greater is better.

    A measure that averages the means of others is ranked by its value over all topics. Each run's
    value is then over the topics that count for that run, whether or not the others share them.
    """
    if averages_others(label):
        part = results.only([label])
        values = part.overall[:, 0]
        greatest = float(np.nanmax(np.abs(part.values[:, :, 0]), initial=0.0))
        return rounded(values, greatest)
    aligned = align(results, label)
    if not aligned.topics:
        return np.full(len(results.runs), np.nan)
    return _signed(aligned, aligned.means)


def _signed(aligned: Aligned, means: Floats) -> Floats:
    """Means to rank by: greater is better, and those that differ by rounding only are ties."""
    return rounded(means if aligned.higher_is_better else -means, aligned.greatest)


def _parsed(label: str) -> Measure | None:
    try:
        return parse_measure(label)
    except UsageError:  # a user's own column
        return None


class _Variant(NamedTuple):
    """A measure as one of several that differ in their quantisation only."""

    family: str
    quant: str | None
    label: str


def _variant(label: str) -> _Variant:
    measure = _parsed(label)
    if measure is None:
        return _Variant(label, None, label)
    for parameter in measure.parameters:
        if parameter.name == "quant":
            shown = parameter.show(measure.settings.get("quant", parameter.default))
            return _Variant(measure(quant=parameter.default).label, shown, label)
    return _Variant(label, None, label)


def _bare(label: str) -> str:
    """A measure by its name and cut-off alone."""
    measure = _parsed(label)
    return label if measure is None else type(measure)({}, measure.at).label


def _common_names(families: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], str]:
    """(task, family) to the name under which tasks are averaged.

    Official tasks score the same measure with settings of their own (overlap, beta, n). Where a
    measure stands once in each task that has it, and its settings differ between them, it goes by
    its bare name.
    """
    by_bare: dict[str, dict[str, list[str]]] = {}
    for task, listed in families.items():
        for family in listed:
            by_bare.setdefault(_bare(family), {}).setdefault(task, []).append(family)
    names: dict[tuple[str, str], str] = {}
    for bare, tasks in by_bare.items():
        once = all(len(listed) == 1 for listed in tasks.values())
        differ = len({family for listed in tasks.values() for family in listed}) > 1
        for task, listed in tasks.items():
            for family in listed:
                names[task, family] = bare if once and differ else family
    return names


def stream(seed: int, *names: str) -> np.random.Generator:
    """Random numbers that depend on the seed and these names, and on nothing else."""
    digest = hashlib.sha256("\x1f".join([str(seed), *names]).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


# -- what is compared --------------------------------------------------------------------------


class _Pair(NamedTuple):
    """Two rankings of the runs of a task."""

    task: str
    variant: str
    row: str
    column: str
    first: Floats
    second: Floats

    def turned(self) -> _Pair:
        return _Pair(self.task, self.variant, self.column, self.row, self.second, self.first)


class _Rankings:
    """The measures of every task, what they are called, and how they rank its runs."""

    def __init__(self, tasks: Mapping[str, Results]) -> None:
        self.tasks = tasks
        self.variants: dict[tuple[str, str], list[_Variant]] = {}
        for task, results in tasks.items():
            for variant in map(_variant, results.measures):
                self.variants.setdefault((task, variant.family), []).append(variant)
        self.families = {task: [f for t, f in self.variants if t == task] for task in tasks}
        # Only measures with several quantisations are folded; others keep their full spelling.
        self.spelled = {
            key: key[1] if len(listed) > 1 else listed[0].label
            for key, listed in self.variants.items()
        }
        names = _common_names(
            {t: [self.spelled[t, f] for f in listed] for t, listed in self.families.items()}
        )
        self.name = {key: names[key[0], self.spelled[key]] for key in self.spelled}

    @cached_property
    def scores(self) -> dict[tuple[str, str], Floats]:
        """Of the runs of a task by a measure, calculated once."""
        return {
            (task, label): scores(results, label)
            for task, results in self.tasks.items()
            for label in results.measures
        }

    def joined_settings(self) -> list[str]:
        """Measures that tasks score with settings of their own."""
        forms: dict[str, set[str]] = {}
        for key, name in self.name.items():
            forms.setdefault(name, set()).add(self.spelled[key])
        return [name for name, spelled in forms.items() if len(spelled) > 1]

    def by_measure(self) -> Iterator[_Pair]:
        """Every two measures of a task, at each quantisation they share."""
        for task, listed in self.families.items():
            for first, second in combinations(listed, 2):
                one, other = self.variants[task, first], self.variants[task, second]
                for a, b in _partners(one, other):
                    yield _Pair(
                        task,
                        (a.quant if len(one) > 1 else b.quant) or "",
                        self.name[task, first],
                        self.name[task, second],
                        self.scores[task, a.label],
                        self.scores[task, b.label],
                    )

    def by_quant(self) -> Iterator[_Pair]:
        """Every two quantisations of each measure of a task."""
        for (task, family), listed in self.variants.items():
            for a, b in combinations(listed, 2):
                yield _Pair(
                    task,
                    self.name[task, family],
                    a.quant or "",
                    b.quant or "",
                    self.scores[task, a.label],
                    self.scores[task, b.label],
                )

    def by_sets(self, sets: Mapping[str, Sequence[str]]) -> Iterator[_Pair]:
        """Every two sets of topics, by each measure of a task."""
        for task, results in self.tasks.items():
            for label in results.measures:
                aligned = align(results, label)
                means = {name: _means_on(aligned, topics) for name, topics in sets.items()}
                for first, second in combinations(sets, 2):
                    yield _Pair(task, label, first, second, means[first], means[second])

    def by_halves(self, samples: int, seed: int, progress: Progress | None) -> Iterator[_Pair]:
        """Random halves of the topics, by each measure of a task."""
        for task, results in self.tasks.items():
            for label in results.measures:
                aligned = align(results, label)
                n = len(aligned.topics)
                sign = 1 if aligned.higher_is_better else -1
                halves = means_of_samples(aligned, n // 2, samples, seed, rest=n - n // 2)
                for i, (first, second) in enumerate(zip(*halves, strict=True), 1):
                    yield _Pair(task, str(i), label, label, sign * first, sign * second)
                if progress is not None:
                    progress()


def _partners(first: list[_Variant], second: list[_Variant]) -> list[tuple[_Variant, _Variant]]:
    """At each quantisation both have; a measure that has but one meets all of the other's."""
    shared = [(a, b) for a, b in product(first, second) if a.quant == b.quant]
    if shared or min(len(first), len(second)) > 1:
        return shared
    return list(product(first, second))


def _means_on(aligned: Aligned, topics: Iterable[str]) -> Floats:
    wanted = frozenset(topics)
    at = [i for i, topic in enumerate(aligned.topics) if topic in wanted]
    if not at:
        return np.full(len(aligned.runs), np.nan)
    return _signed(aligned, aligned.values[:, at].mean(axis=1))


def means_of_samples(
    aligned: Aligned, size: int, samples: int, seed: int, *, rest: int | None = None
) -> tuple[Floats, Floats]:
    """Means of all runs on pairs of disjoint random sets of topics, (sample, run) each.

    Both sets have `size` topics, or the second one `rest`. The draw depends on the seed and the
    topics, so that measures defined on the same topics are judged by the same samples.
    """
    n, other = len(aligned.topics), size if rest is None else rest
    random = stream(seed, str(size), *aligned.topics)
    order = random.permuted(np.broadcast_to(np.arange(n), (samples, n)), axis=1)
    means = []
    for drawn in (order[:, :size], order[:, size : size + other]):
        weights = np.zeros((samples, n))
        np.put_along_axis(weights, drawn, 1.0, axis=1)
        sums = weights @ aligned.values.T
        means.append(rounded(sums / drawn.shape[1], aligned.greatest))
    return means[0], means[1]


# -- the calculation ---------------------------------------------------------------------------


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
        Needed where `runs` are not results.
    measures : text or Python forms of measures
        Of results: those to rank by, and if there are none, all. Points of an official task's
        curves are left out unless they are named here.
    task : str or sequence of str
        Official tasks; each is scored with its own settings on the runs that declare it. Without
        any, runs are grouped by what they declare.
    by : {"measure", "quant", "topics"}
        Measures that differ in their quantisation only are variants of one: averaged over with
        ``measure``, and compared with ``quant``.
    coefficients : str or sequence of str
        Of `foveal.analysis.correlation.COEFFICIENTS`.
    topic_sets : mapping of name to topics, optional
        With ``topics``; without it the topics are split at random into halves.
    samples, seed : int
        How often topics are split, and where the random numbers start.
    progress : callable, optional
        Called after each measure that is sampled.
    **options
        Those of `foveal.evaluate`.

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
    tasks = _usable(_results(runs, judgements, measures, task, options, notes), notes)
    halves = by == "topics" and topic_sets is None
    if by == "topics":
        tasks = by_topic(tasks, 2 if halves else 1, notes)
    rankings = _Rankings(tasks)
    if halves:
        pairs: Iterable[_Pair] = rankings.by_halves(samples, seed, progress)
        labels = tuple(dict.fromkeys(label for part in tasks.values() for label in part.measures))
    else:
        pairs, labels = _compared(rankings, by, topic_sets, notes)
    _check_labels(by, labels, halves=halves)
    singles = _singles(pairs, functions, labels, halves=halves)
    if len(tasks) > 1 and by != "topics" and (joined := rankings.joined_settings()):
        notes.append(f"with the settings of each task: {_some(joined)}")
    notes += _left_out(tasks)
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
    rankings: _Rankings,
    by: str,
    topic_sets: Mapping[str, Sequence[str]] | None,
    notes: list[str],
) -> tuple[Iterable[_Pair], tuple[str, ...]]:
    """The pairs that make a matrix, and its labels."""
    if by == "measure":
        return rankings.by_measure(), tuple(dict.fromkeys(rankings.name.values()))
    if topic_sets is not None:
        sets = {name: _topics(topics) for name, topics in topic_sets.items()}
        notes += _check_sets(sets, rankings.tasks)
        return rankings.by_sets(sets), tuple(sets)
    pairs = list(rankings.by_quant())
    notes += _without_choice(rankings, {(p.task, p.variant) for p in pairs})
    return pairs, tuple(dict.fromkeys(label for p in pairs for label in (p.row, p.column)))


def names_of(results: Given) -> tuple[str, ...]:
    """What is compared by measure: those that differ in their quantisation only are one.

    >>> rows = [(run, "1", f"MAep(quant={q})", 0.5) for run in "ab" for q in ("gen5", "strict5")]
    >>> names_of(Results.from_tidy(rows, {}))
    ('MAep',)
    """
    return tuple(dict.fromkeys(_Rankings(tasks_of(results)).name.values()))


def _results(
    runs: Given | RunLike | Sequence[RunLike],
    judgements: Judgements | str | Path | Sequence[str | Path] | None,
    measures: str | Measure | Sequence[str | Measure],
    task: str | Sequence[str],
    options: dict[str, Any],
    notes: list[str],
) -> dict[str, Results]:
    """Task to results, as given or as scoring makes them of runs."""
    given: list[str | Measure] = (
        [measures] if isinstance(measures, (str, Measure)) else list(measures)
    )
    tasks = [task] if isinstance(task, str) else list(task or ())
    listed = _as_list(runs)
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


def _as_list(runs: Any) -> list[Any]:
    if isinstance(runs, Mapping):
        return list(runs.values())
    if isinstance(runs, (Results, Run, str, Path)) or not isinstance(runs, Iterable):
        return [runs]
    return list(runs)


def of_measures(
    tasks: Mapping[str, Results], measures: Sequence[str | Measure]
) -> dict[str, Results]:
    """These measures of every task that has any of them; by default all but points of curves."""
    if not measures:
        return {task: without_curves(part) for task, part in tasks.items()}
    known = list(dict.fromkeys(label for part in tasks.values() for label in part.measures))
    wanted = chosen(known, measures)
    kept = {task: [m for m in wanted if m in part.measures] for task, part in tasks.items()}
    return {task: tasks[task].only(labels) for task, labels in kept.items() if labels}


def by_topic(tasks: Mapping[str, Results], least: int, notes: list[str]) -> dict[str, Results]:
    """Without the measures that have no values on `least` topics; those go to `notes`.

    A measure that averages the means of others has no values by topic that its own would be the
    mean of.
    """
    found: dict[str, Results] = {}
    few: dict[str, list[str]] = {}
    means: list[str] = []
    for task, part in tasks.items():
        kept = []
        for label in part.measures:
            if averages_others(label):
                means.append(label)
            elif (n := len(align(part, label).topics)) < least:
                few.setdefault(f"{n} {'topic' if n == 1 else 'topics'}", []).append(label)
            else:
                kept.append(label)
        if kept:
            found[task] = part.only(kept)
    said = [
        f"not judged by topics: {_some(_once(labels))}, with {number} that all runs share"
        for number, labels in few.items()
    ]
    if means:
        said.append(f"not judged by topics: {_some(_once(means))}, a mean of other measures")
    if not found and tasks:
        needed = "a topic" if least == 1 else f"{least} topics"
        raise UsageError(f"{'; '.join(said)}; expected a measure with values on {needed}")
    notes += said
    return found


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _topics(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _usable(tasks: Mapping[str, Results], notes: list[str]) -> dict[str, Results]:
    """Tasks with runs to rank, and a word on the others."""
    alone = [
        f"{task or 'runs without a task'}: only the run {part.runs[0]}, nothing to rank"
        for task, part in tasks.items()
        if len(part.runs) < 2
    ]
    usable = {task: part for task, part in tasks.items() if len(part.runs) >= 2}
    if not usable:
        raise UsageError(
            f"a ranking needs at least two runs of a task; found "
            f"{'; '.join(alone) if alone else 'no run'}"
        )
    notes += alone
    return usable


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
                f"{_some(strange)}"
            )
        if not topics:
            raise UsageError(f"the set {name!r} holds no topic")
    common = [
        f"{a} and {b}" for a, b in combinations(sets, 2) if not set(sets[a]).isdisjoint(sets[b])
    ]
    return [f"sets with topics in common: {_some(common)}"] if common else []


def _without_choice(rankings: _Rankings, used: set[tuple[str, str]]) -> list[str]:
    alone = [name for (t, _), name in rankings.name.items() if (t, name) not in used]
    listed = list(dict.fromkeys(alone))
    return [f"not used, with one quantisation at most: {_some(listed)}"] if listed else []


def _singles(
    pairs: Iterable[_Pair],
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


def _left_out(tasks: Mapping[str, Results]) -> list[str]:
    """Topics on which some run has no score, and by how many measures."""
    found: dict[tuple[str, tuple[str, ...]], int] = {}
    for task, part in tasks.items():
        for label in part.measures:
            topics = align(part, label).left_out
            if topics:
                found[task, topics] = found.get((task, topics), 0) + 1
    return [
        f"{task + ': ' if task else ''}topics left out by {number} of {len(tasks[task].measures)} "
        f"measures, {len(topics)}: {_some(topics)}"
        for (task, topics), number in found.items()
    ]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
