"""Rankings of runs by measures, quantisations and halves of the topics, in pairs to correlate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from foveal.analysis.score_matrix import ScoreMatrix, compute_ranking_scores, parse_label
from foveal.errors import UsageError, some
from foveal.model import Results
from foveal.spans import Floats

__all__ = ["RankingPair", "pair_halves", "pair_rankings", "select_rankable"]


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
    remarks = [f"{reason}: {some(names)}" for reason, names in dropped.items()]
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
