"""Rankings of runs by measures, quantisations and halves of the topics, in pairs to correlate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.analysis.score_matrix import (
    ScoreMatrix,
    compute_ranking_scores,
    parse_label,
)
from foveal.errors import UsageError, some
from foveal.model import Results

__all__ = ["RankingPair", "Rankings", "sample_halves", "select_rankable"]

Floats = npt.NDArray[np.float64]


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
    """Keep tasks with at least two runs, and measures that rank all of them; note what is left out.

    With `by_topics` a measure needs values on two topics, and means of other measures have none.
    """
    found: dict[str, Results] = {}
    dropped: dict[str, list[str]] = {}
    remarks: list[str] = []
    for task, results in tasks.items():
        prefix, runs, kept = f"{task}: " if task else "", len(results.runs), list[str]()
        if runs < 2:
            name = task or "runs without a task"
            remarks.append(f"{name}: only the run {some(results.runs)}, nothing to rank")
            continue
        missing = np.isnan(results.overall).sum(axis=0).tolist()
        for label, unscored in zip(results.measures, missing, strict=True):
            scores = ScoreMatrix.from_results(results, label)
            if 0 < unscored < runs:
                reason = "runs without a score by it"
            elif by_topics and scores.averages_others:
                reason = "a mean of other measures"
            elif by_topics and len(scores.topics) < 2:
                reason = "fewer than 2 topics that all runs share"
            else:
                kept.append(label)
                if scores.left_out:
                    shown = f"{len(scores.left_out)}: {some(scores.left_out)}"
                    remarks.append(f"{prefix}topics left out by some measures, {shown}")
                continue
            dropped.setdefault(f"{prefix}not used, {reason}", []).append(label)
        if kept:
            found[task] = results.only(kept)
    remarks += [f"{reason}: {some(labels)}" for reason, labels in dropped.items()]
    if not found:
        raise UsageError("; ".join(remarks) or "no runs to rank; expected at least two")
    notes += dict.fromkeys(remarks)
    return found


class Rankings:
    """The rankings of the runs of each task.

    Official tasks score the same measure with different settings (overlap, beta, n). A measure that
    occurs once in each task, with settings that differ between tasks, gets its bare name.
    """

    def __init__(self, tasks: Mapping[str, Results]) -> None:
        self.tasks = tasks
        self.families: dict[tuple[str, str], dict[str, str]] = {}
        """Task and measure without its quantisation, to the label of each quantisation."""
        for task, results in tasks.items():
            for label in results.measures:
                measure, family, quant = parse_label(label), label, ""
                group = "".join(label.partition("[")[1:])
                for parameter in () if measure is None else measure.parameters:
                    if measure is not None and parameter.name == "quant":
                        quant = parameter.show(measure.settings.get("quant", parameter.default))
                        family = measure(quant=parameter.default).label + group
                self.families.setdefault((task, family), {})[quant] = label
        # Only measures with several quantisations are folded; others keep their full spelling.
        self.name = {
            key: key[1] if len(labels) > 1 else next(iter(labels.values()))
            for key, labels in self.families.items()
        }
        """Names by task and family, under which tasks are averaged."""
        self.joined: list[str] = []
        """Bare names of measures whose settings differ between tasks."""
        by_bare: dict[str, list[tuple[str, str]]] = {}
        for key, name in self.name.items():
            measure, group = parse_label(name), "".join(name.partition("[")[1:])
            bare = name if measure is None else type(measure)({}, measure.at).label + group
            by_bare.setdefault(bare, []).append(key)
        for bare, keys in by_bare.items():
            once = len({task for task, _ in keys}) == len(keys)
            if once and len({self.name[key] for key in keys}) > 1:
                self.name |= dict.fromkeys(keys, bare)
                self.joined.append(bare)
        self.scores = {
            (task, label): compute_ranking_scores(results, label)
            for task, results in tasks.items()
            for label in results.measures
        }

    def pair_measures(self) -> Iterator[RankingPair]:
        """Yield every two measures of a task, at each quantisation they share.

        A measure with one quantisation is paired with all of another, if it shares none.
        """
        for (task, first), (other, second) in combinations(self.families, 2):
            if task != other:
                continue
            one, two = self.families[task, first], self.families[task, second]
            pairs = [(quant, quant) for quant in one if quant in two]
            if not pairs and min(len(one), len(two)) == 1:
                pairs = list(product(one, two))
            for a, b in pairs:
                yield RankingPair(
                    task,
                    a if len(one) > 1 else b,
                    self.name[task, first],
                    self.name[task, second],
                    self.scores[task, one[a]],
                    self.scores[task, two[b]],
                )

    def pair_quantisations(self) -> Iterator[RankingPair]:
        """Yield every two quantisations of each measure of a task."""
        for (task, family), labels in self.families.items():
            for a, b in combinations(labels, 2):
                rankings = (self.scores[task, labels[quant]] for quant in (a, b))
                yield RankingPair(task, self.name[task, family], a, b, *rankings)

    def pair_halves(self, samples: int, seed: int) -> Iterator[RankingPair]:
        """Yield random halves of the topics, by each measure of a task."""
        for task, results in self.tasks.items():
            for label in results.measures:
                scores = ScoreMatrix.from_results(results, label)
                halves = sample_halves(scores, samples, seed)
                for i, (first, second) in enumerate(zip(*halves, strict=True), 1):
                    yield RankingPair(task, str(i), label, label, first, second)


def sample_halves(scores: ScoreMatrix, samples: int, seed: int) -> tuple[Floats, Floats]:
    """Return scores that rank the runs by random halves of the topics, (sample, run) each.

    The draw depends on the seed and the topics, so that measures defined on the same topics use the
    same samples.
    """
    n = len(scores.topics)
    parts = [str(seed), str(n // 2), *scores.topics]
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
    random = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
    order = random.permuted(np.broadcast_to(np.arange(n), (samples, n)), axis=1)
    means = []
    for drawn in (order[:, : n // 2], order[:, n // 2 :]):
        weights = np.zeros((samples, n))
        np.put_along_axis(weights, drawn, 1.0, axis=1)
        means.append(scores.orient(weights @ scores.values.T / drawn.shape[1]))
    return means[0], means[1]
