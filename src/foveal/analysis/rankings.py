"""Rankings of runs by measures, quantisations and sets of topics, in pairs to correlate."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.analysis.score_matrix import (
    ScoreMatrix,
    check_assessors,
    compute_ranking_scores,
    parse_label,
    round_noise,
    select_labels,
)
from foveal.analysis.tasks import results_by_task, without_curves
from foveal.errors import UsageError, counted, some
from foveal.measures import Measure
from foveal.model import Results

__all__ = [
    "SAMPLES",
    "SEED",
    "Given",
    "Progress",
    "RankingPair",
    "Rankings",
    "check_sets",
    "drop_unranked",
    "drop_unsampled",
    "list_left_out",
    "only_measures",
    "results_of_tasks",
    "sample_means",
]

SAMPLES, SEED = 1000, 2005
Floats = npt.NDArray[np.float64]
Progress = Callable[[], None]
Given = Results | Sequence[Results] | Mapping[str, Results]
"""Results of one task or several."""


# -- results of tasks --------------------------------------------------------------------------


def results_of_tasks(results: Given, warnings: list[str] | None = None) -> dict[str, Results]:
    """Return the results of each task: as named, as scored for, or as runs declare it.

    Appends warnings to `warnings`.

    >>> one = Results.from_tidy([("a", "1", "AP", 0.5)], {"task": "2009.Focused"})
    >>> other = Results.from_tidy([("b", "1", "AP", 0.25)], {"task": "2009.Focused"})
    >>> results_of_tasks([one, other])["2009.Focused"].runs
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


def only_measures(
    tasks: Mapping[str, Results], measures: Sequence[str | Measure]
) -> dict[str, Results]:
    """Keep these measures of each task; by default all but points of curves."""
    if not measures:
        return {task: without_curves(part) for task, part in tasks.items()}
    known = list(dict.fromkeys(label for part in tasks.values() for label in part.measures))
    wanted = select_labels(known, measures)
    kept = {task: [m for m in wanted if m in part.measures] for task, part in tasks.items()}
    return {task: tasks[task].only(labels) for task, labels in kept.items() if labels}


def drop_unsampled(
    tasks: Mapping[str, Results], least: int, notes: list[str]
) -> dict[str, Results]:
    """Drop measures with values on fewer than `least` topics, and add them to `notes`.

    A measure that averages the means of others has no values by topic.
    """
    found: dict[str, Results] = {}
    dropped: dict[str, list[str]] = {}
    means = "a mean of other measures"
    for task, part in tasks.items():
        kept = []
        for label in part.measures:
            scores = ScoreMatrix.from_results(part, label)
            reason = f"with {counted(len(scores.topics), 'topic')} that all runs share"
            reason = means if scores.averages_others else reason
            if scores.averages_others or len(scores.topics) < least:
                dropped.setdefault(reason, []).append(label)
            else:
                kept.append(label)
        if kept:
            found[task] = part.only(kept)
    said = [
        f"not judged by topics: {some(list(dict.fromkeys(dropped[reason])))}, {reason}"
        for reason in sorted(dropped, key=lambda reason: reason == means)
    ]
    if not found and tasks:
        needed = "a topic" if least == 1 else f"{least} topics"
        raise UsageError(f"{'; '.join(said)}; expected a measure with values on {needed}")
    notes += said
    return found


def drop_unranked(tasks: Mapping[str, Results], notes: list[str]) -> dict[str, Results]:
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


def list_left_out(tasks: Mapping[str, Results]) -> list[str]:
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


def check_sets(sets: Mapping[str, Sequence[str]], tasks: Mapping[str, Results]) -> list[str]:
    """Refuse unknown topics and empty sets; return notes on topics in several sets."""
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


# -- rankings ---------------------------------------------------------------------------------


class _Variant(NamedTuple):
    """One of several measures of a family that differ only in their quantisation."""

    quant: str
    label: str


class RankingPair(NamedTuple):
    """Two rankings of the runs of a task."""

    task: str
    variant: str
    row: str
    column: str
    first: Floats
    second: Floats


class Rankings:
    """The measures of each task, their names, and their rankings of its runs.

    Official tasks score the same measure with different settings (overlap, beta, n). A measure that
    occurs once in each task, with settings that differ between tasks, gets its bare name.
    """

    def __init__(self, tasks: Mapping[str, Results]) -> None:
        self.tasks = tasks
        self.variants: dict[tuple[str, str], list[_Variant]] = {}
        """Variants by task and family, which is the label with the default quantisation."""
        for task, results in tasks.items():
            for label in results.measures:
                measure, family, quant = parse_label(label), label, ""
                for parameter in () if measure is None else measure.parameters:
                    if measure is not None and parameter.name == "quant":
                        quant = parameter.show(measure.settings.get("quant", parameter.default))
                        family = measure(quant=parameter.default).label
                self.variants.setdefault((task, family), []).append(_Variant(quant, label))
        # Only measures with several quantisations are folded; others keep their full spelling.
        self.spelled = {
            key: key[1] if len(listed) > 1 else listed[0].label
            for key, listed in self.variants.items()
        }
        by_bare: dict[str, list[tuple[str, str]]] = {}
        for key, spelled in self.spelled.items():
            measure = parse_label(spelled)
            bare = spelled if measure is None else type(measure)({}, measure.at).label
            by_bare.setdefault(bare, []).append(key)
        self.name = dict(self.spelled)
        """Names by task and family, under which tasks are averaged."""
        for bare, keys in by_bare.items():
            once = len({task for task, _ in keys}) == len(keys)
            if once and len({self.spelled[key] for key in keys}) > 1:
                self.name |= dict.fromkeys(keys, bare)

    @cached_property
    def scores(self) -> dict[tuple[str, str], Floats]:
        """Scores of the runs of a task by a measure."""
        return {
            (task, label): compute_ranking_scores(results, label)
            for task, results in self.tasks.items()
            for label in results.measures
        }

    def pair_measures(self) -> Iterator[RankingPair]:
        """Yield every two measures of a task, at each quantisation they share.

        A measure with one quantisation is paired with all of another, if it shares none.
        """
        for (task, first), (other, second) in combinations(self.variants, 2):
            if task != other:
                continue
            one, two = self.variants[task, first], self.variants[task, second]
            every = list(product(one, two))
            shared = [(a, b) for a, b in every if a.quant == b.quant]
            for a, b in shared if shared or min(len(one), len(two)) > 1 else every:
                yield RankingPair(
                    task,
                    a.quant if len(one) > 1 else b.quant,
                    self.name[task, first],
                    self.name[task, second],
                    self.scores[task, a.label],
                    self.scores[task, b.label],
                )

    def pair_quantisations(self) -> Iterator[RankingPair]:
        """Yield every two quantisations of each measure of a task."""
        for key, listed in self.variants.items():
            for a, b in combinations(listed, 2):
                rankings = (self.scores[key[0], variant.label] for variant in (a, b))
                yield RankingPair(key[0], self.name[key], a.quant, b.quant, *rankings)

    def pair_sets(self, sets: Mapping[str, Sequence[str]]) -> Iterator[RankingPair]:
        """Yield every two sets of topics, by each measure of a task."""
        for task, results in self.tasks.items():
            for label in results.measures:
                scores = ScoreMatrix.from_results(results, label)
                means = dict.fromkeys(sets, np.full(len(scores.runs), np.nan))
                for name, topics in sets.items():
                    if (own := np.isin(scores.topics, topics)).any():
                        means[name] = scores.orient(scores.values[:, own].mean(axis=1))
                for first, second in combinations(sets, 2):
                    yield RankingPair(task, label, first, second, means[first], means[second])

    def pair_halves(
        self, samples: int, seed: int, progress: Progress | None
    ) -> Iterator[RankingPair]:
        """Yield random halves of the topics, by each measure of a task."""
        for task, results in self.tasks.items():
            for label in results.measures:
                scores = ScoreMatrix.from_results(results, label)
                n = len(scores.topics)
                sign = 1 if scores.higher_is_better else -1
                halves = sample_means(scores, n // 2, samples, seed, rest=n - n // 2)
                for i, (first, second) in enumerate(zip(*halves, strict=True), 1):
                    yield RankingPair(task, str(i), label, label, sign * first, sign * second)
                if progress is not None:
                    progress()


def sample_means(
    scores: ScoreMatrix, size: int, samples: int, seed: int, *, rest: int | None = None
) -> tuple[Floats, Floats]:
    """Return means of all runs on pairs of disjoint random sets of topics, (sample, run) each.

    Both sets have `size` topics, or the second one `rest`. The draw depends on the seed and the
    topics, so that measures defined on the same topics use the same samples.
    """
    n, other = len(scores.topics), size if rest is None else rest
    digest = hashlib.sha256("\x1f".join([str(seed), str(size), *scores.topics]).encode()).digest()
    random = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
    order = random.permuted(np.broadcast_to(np.arange(n), (samples, n)), axis=1)
    greatest = float(np.abs(scores.values).max(initial=0.0))
    means = []
    for drawn in (order[:, :size], order[:, size : size + other]):
        weights = np.zeros((samples, n))
        np.put_along_axis(weights, drawn, 1.0, axis=1)
        sums = weights @ scores.values.T
        means.append(round_noise(sums / drawn.shape[1], greatest))
    return means[0], means[1]
