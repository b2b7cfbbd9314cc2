"""Rankings of runs by measures and sets of topics, within tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.analysis.score_matrix import (
    ScoreMatrix,
    averages_others,
    check_assessors,
    compute_ranking_scores,
    parse_label,
    round_noise,
    select_labels,
)
from foveal.analysis.tasks import results_by_task, without_curves
from foveal.errors import UsageError, some
from foveal.measures import Measure
from foveal.model import Results

__all__ = [
    "SAMPLES",
    "SEED",
    "Given",
    "Pair",
    "Progress",
    "Rankings",
    "by_topic",
    "left_out",
    "means_of_samples",
    "names_of",
    "of_measures",
    "stream",
    "tasks_of",
    "usable",
]

SAMPLES, SEED = 1000, 2005
Floats = npt.NDArray[np.float64]
Progress = Callable[[], None]
Given = Results | Sequence[Results] | Mapping[str, Results]
"""Results of one task or several."""


def tasks_of(results: Given, warnings: list[str] | None = None) -> dict[str, Results]:
    """Return the results of each task: as named, as scored for, or as runs declare it.

    Appends warnings to `warnings`.

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
        check_assessors(part)
    if warnings is not None:
        warnings += said
    return found


class _Variant(NamedTuple):
    """One of several measures that differ only in their quantisation."""

    family: str
    quant: str | None
    label: str


def _variant(label: str) -> _Variant:
    measure = parse_label(label)
    if measure is None:
        return _Variant(label, None, label)
    for parameter in measure.parameters:
        if parameter.name == "quant":
            shown = parameter.show(measure.settings.get("quant", parameter.default))
            return _Variant(measure(quant=parameter.default).label, shown, label)
    return _Variant(label, None, label)


def _bare(label: str) -> str:
    """Return the label of a measure with its default parameters."""
    measure = parse_label(label)
    return label if measure is None else type(measure)({}, measure.at).label


def _common_names(families: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], str]:
    """Return the name of each (task, family) under which tasks are averaged.

    Official tasks score the same measure with different settings (overlap, beta, n). A measure that
    occurs once in each task, with settings that differ between tasks, gets its bare name.
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
    """Return random numbers that depend only on the seed and these names."""
    digest = hashlib.sha256("\x1f".join([str(seed), *names]).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


class Pair(NamedTuple):
    """Two rankings of the runs of a task."""

    task: str
    variant: str
    row: str
    column: str
    first: Floats
    second: Floats

    def turned(self) -> Pair:
        return Pair(self.task, self.variant, self.column, self.row, self.second, self.first)


class Rankings:
    """The measures of each task, their names, and their rankings of its runs."""

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
        """Scores of the runs of a task by a measure."""
        return {
            (task, label): compute_ranking_scores(results, label)
            for task, results in self.tasks.items()
            for label in results.measures
        }

    def joined_settings(self) -> list[str]:
        """Return the measures whose settings differ between tasks."""
        forms: dict[str, set[str]] = {}
        for key, name in self.name.items():
            forms.setdefault(name, set()).add(self.spelled[key])
        return [name for name, spelled in forms.items() if len(spelled) > 1]

    def by_measure(self) -> Iterator[Pair]:
        """Yield every two measures of a task, at each quantisation they share."""
        for task, listed in self.families.items():
            for first, second in combinations(listed, 2):
                one, other = self.variants[task, first], self.variants[task, second]
                for a, b in _partners(one, other):
                    yield Pair(
                        task,
                        (a.quant if len(one) > 1 else b.quant) or "",
                        self.name[task, first],
                        self.name[task, second],
                        self.scores[task, a.label],
                        self.scores[task, b.label],
                    )

    def by_quant(self) -> Iterator[Pair]:
        """Yield every two quantisations of each measure of a task."""
        for (task, family), listed in self.variants.items():
            for a, b in combinations(listed, 2):
                yield Pair(
                    task,
                    self.name[task, family],
                    a.quant or "",
                    b.quant or "",
                    self.scores[task, a.label],
                    self.scores[task, b.label],
                )

    def by_sets(self, sets: Mapping[str, Sequence[str]]) -> Iterator[Pair]:
        """Yield every two sets of topics, by each measure of a task."""
        for task, results in self.tasks.items():
            for label in results.measures:
                scores = ScoreMatrix.from_results(results, label)
                means = {name: _means_on(scores, topics) for name, topics in sets.items()}
                for first, second in combinations(sets, 2):
                    yield Pair(task, label, first, second, means[first], means[second])

    def by_halves(self, samples: int, seed: int, progress: Progress | None) -> Iterator[Pair]:
        """Yield random halves of the topics, by each measure of a task."""
        for task, results in self.tasks.items():
            for label in results.measures:
                scores = ScoreMatrix.from_results(results, label)
                n = len(scores.topics)
                sign = 1 if scores.higher_is_better else -1
                halves = means_of_samples(scores, n // 2, samples, seed, rest=n - n // 2)
                for i, (first, second) in enumerate(zip(*halves, strict=True), 1):
                    yield Pair(task, str(i), label, label, sign * first, sign * second)
                if progress is not None:
                    progress()


def _partners(first: list[_Variant], second: list[_Variant]) -> list[tuple[_Variant, _Variant]]:
    """Pair equal quantisations; a measure with only one is paired with all of the other's."""
    shared = [(a, b) for a, b in product(first, second) if a.quant == b.quant]
    if shared or min(len(first), len(second)) > 1:
        return shared
    return list(product(first, second))


def _means_on(scores: ScoreMatrix, topics: Iterable[str]) -> Floats:
    wanted = frozenset(topics)
    at = [i for i, topic in enumerate(scores.topics) if topic in wanted]
    if not at:
        return np.full(len(scores.runs), np.nan)
    return scores.orient(scores.values[:, at].mean(axis=1))


def means_of_samples(
    scores: ScoreMatrix, size: int, samples: int, seed: int, *, rest: int | None = None
) -> tuple[Floats, Floats]:
    """Return means of all runs on pairs of disjoint random sets of topics, (sample, run) each.

    Both sets have `size` topics, or the second one `rest`. The draw depends on the seed and the
    topics, so that measures defined on the same topics use the same samples.
    """
    n, other = len(scores.topics), size if rest is None else rest
    random = stream(seed, str(size), *scores.topics)
    order = random.permuted(np.broadcast_to(np.arange(n), (samples, n)), axis=1)
    means = []
    for drawn in (order[:, :size], order[:, size : size + other]):
        weights = np.zeros((samples, n))
        np.put_along_axis(weights, drawn, 1.0, axis=1)
        sums = weights @ scores.values.T
        means.append(round_noise(sums / drawn.shape[1], scores.greatest))
    return means[0], means[1]


def names_of(results: Given) -> tuple[str, ...]:
    """Return the names of measures to compare; measures that differ only in quant are one.

    >>> rows = [(run, "1", f"MAep(quant={q})", 0.5) for run in "ab" for q in ("gen5", "strict5")]
    >>> names_of(Results.from_tidy(rows, {}))
    ('MAep',)
    """
    return tuple(dict.fromkeys(Rankings(tasks_of(results)).name.values()))


def of_measures(
    tasks: Mapping[str, Results], measures: Sequence[str | Measure]
) -> dict[str, Results]:
    """Keep these measures of each task; by default all but points of curves."""
    if not measures:
        return {task: without_curves(part) for task, part in tasks.items()}
    known = list(dict.fromkeys(label for part in tasks.values() for label in part.measures))
    wanted = select_labels(known, measures)
    kept = {task: [m for m in wanted if m in part.measures] for task, part in tasks.items()}
    return {task: tasks[task].only(labels) for task, labels in kept.items() if labels}


def by_topic(tasks: Mapping[str, Results], least: int, notes: list[str]) -> dict[str, Results]:
    """Drop measures with values on fewer than `least` topics, and add them to `notes`.

    A measure that averages the means of others has no values by topic.
    """
    found: dict[str, Results] = {}
    few: dict[str, dict[str, None]] = {}  # labels in order, each once
    means: dict[str, None] = {}
    for task, part in tasks.items():
        kept = []
        for label in part.measures:
            if averages_others(label):
                means[label] = None
            elif (n := len(ScoreMatrix.from_results(part, label).topics)) < least:
                few.setdefault(f"{n} {'topic' if n == 1 else 'topics'}", {})[label] = None
            else:
                kept.append(label)
        if kept:
            found[task] = part.only(kept)
    said = [
        f"not judged by topics: {some(list(labels))}, with {number} that all runs share"
        for number, labels in few.items()
    ]
    if means:
        said.append(f"not judged by topics: {some(list(means))}, a mean of other measures")
    if not found and tasks:
        needed = "a topic" if least == 1 else f"{least} topics"
        raise UsageError(f"{'; '.join(said)}; expected a measure with values on {needed}")
    notes += said
    return found


def usable(tasks: Mapping[str, Results], notes: list[str]) -> dict[str, Results]:
    """Keep tasks with at least two runs, and measures that all their runs have scores by."""
    alone = [
        f"{task or 'runs without a task'}: only the run {part.runs[0]}, nothing to rank"
        for task, part in tasks.items()
        if len(part.runs) < 2
    ]
    if len(alone) == len(tasks):
        raise UsageError(
            f"a ranking needs at least two runs of a task; found "
            f"{'; '.join(alone) if alone else 'no run'}"
        )
    notes += alone
    found: dict[str, Results] = {}
    for task, part in tasks.items():
        runs = len(part.runs)
        if runs < 2:
            continue
        missing = dict(zip(part.measures, np.isnan(part.overall).sum(axis=0).tolist(), strict=True))
        absent = [f"{m} ({n} of {runs} runs)" for m, n in missing.items() if 0 < n < runs]
        if absent:
            prefix = f"{task}: " if task else ""
            notes.append(f"{prefix}not used, runs without a score by it: {some(absent)}")
            part = part.only([m for m, n in missing.items() if not 0 < n < runs])  # noqa: PLW2901
        found[task] = part
    return found


def left_out(tasks: Mapping[str, Results]) -> list[str]:
    """List the topics on which some run has no score, and the number of measures affected."""
    found: dict[tuple[str, tuple[str, ...]], int] = {}
    for task, part in tasks.items():
        for label in part.measures:
            topics = ScoreMatrix.from_results(part, label).left_out
            if topics:
                found[task, topics] = found.get((task, topics), 0) + 1
    return [
        f"{task + ': ' if task else ''}topics left out by {number} of {len(tasks[task].measures)} "
        f"measures, {len(topics)}: {some(topics)}"
        for (task, topics), number in found.items()
    ]
