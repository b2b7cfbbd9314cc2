"""Score runs with bounds: what unjudged text may do to their scores and their differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from foveal.evaluation.evaluation import Evaluation, RunLike, map_runs
from foveal.evaluation.preparation import AlignedRun
from foveal.measures.alignment import Floats, Overlap
from foveal.measures.bounds import ScoreBounds, Unjudged, bound_scores
from foveal.measures.measure import Measure
from foveal.model.results import Bounds, Results


def score_with_bounds(
    evaluation: Evaluation, runs: Sequence[RunLike], progress: Callable[[], None] | None = None
) -> Results:
    """Score runs, and bound their scores by what is unjudged in any of them.

    All runs are in memory at once: a completion of the judgements is about all of them.
    """
    aligned = list(map_runs(Evaluation.align, evaluation, runs, None, progress))
    results = evaluation.results([evaluation.score(own) for own in aligned])
    ungrouped = results.without_groups()
    measures, topics = evaluation.measures, results.topics
    low, high = (np.full(ungrouped.values.shape, np.nan) for _ in range(2))
    kinds: dict[str, str] = {}
    least: dict[str, Callable[[int, int], Floats]] = {}
    for a, gold in enumerate(evaluation.golds):
        own = [of_run[a] for of_run in aligned]
        place = np.array([topics.index(topic) for topic in gold.topics], dtype=np.int64)
        rows = slice(a * len(own), (a + 1) * len(own))
        for k, (label, found) in enumerate(_bound_measures(own, measures).items()):
            kinds[label] = "none" if found is None else "exact" if found.is_exact else "proven"
            if found is not None:
                low[rows, place, k], high[rows, place, k] = found.low, found.high
                if gold.topics == topics and len(evaluation.golds) == 1:
                    least[label] = found.find_least
    is_defined = ~np.isnan(ungrouped.values)
    lowest, highest = (
        _make_results(ungrouped, np.where(is_defined, own, np.nan), measures) for own in (low, high)
    )
    bounds = Bounds(lowest, highest, least, results.runs)
    meta = dict(results.meta) | {"bounds": kinds}
    known = ~np.isnan(low) & ungrouped.counted[:, :, None]
    left_out = int((known & ~is_defined).any(axis=(0, 2)).sum())
    if left_out:
        text = "topics without relevant text are left out of the bounds, as of the scores"
        meta["warnings"] = [*meta["warnings"], f"{text}: {left_out}"]
    results = replace(results, meta=meta)
    if evaluation.topic_groups is not None:
        from foveal.evaluation.topic_groups import add_groups

        bounds = bounds.map(lambda own: add_groups(own, results.meta["groups"]))
    return replace(results, bounds=bounds)


def _bound_measures(
    runs: Sequence[AlignedRun], measures: Sequence[Measure]
) -> dict[str, ScoreBounds | None]:
    """Return the bounds of all runs by every measure."""
    unjudged: dict[Overlap, Unjudged] = {}
    found = {}
    for measure in measures:
        overlap = runs[0].overlaps[measure]
        if overlap not in unjudged:
            unjudged[overlap] = Unjudged([run.alignment(overlap) for run in runs])
        found[measure.label] = bound_scores(measure, unjudged[overlap])
    return found


def _make_results(results: Results, values: Floats, measures: Sequence[Measure]) -> Results:
    """Return results with other values, and their means or sums over the same topics."""
    used = results.counted[:, :, None] & ~np.isnan(values)
    totals, numbers = np.where(used, values, 0.0).sum(axis=1), used.sum(axis=1)
    summed = [measure.summed for measure in measures]
    with np.errstate(invalid="ignore", divide="ignore"):
        overall = np.where(summed & (numbers > 0), totals, totals / numbers)
    return replace(results, values=values, overall=overall, meta={})
