"""Cumulated gains and result lengths of runs, for graphs.

Runs are aligned by `Evaluation`, so that curves and scores of a run are consistent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from foveal.adapters import runs_of
from foveal.errors import UsageError, some
from foveal.evaluation.evaluation import Evaluation, RunLike, count_topics
from foveal.evaluation.preparation import AlignedRun, resolve_settings
from foveal.measures import Measure, parse_measure
from foveal.measures.xcg import Cumulated, Curves
from foveal.model import Judgements
from foveal.model.run import distinguish_names
from foveal.spans import Ints

__all__ = [
    "GainCurves",
    "RunLengths",
    "align_runs",
    "cumulate_gains",
    "gain_curves",
    "result_lengths",
]

Bools = npt.NDArray[np.bool_]
JudgementsLike = Judgements | str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class GainCurves:
    """The cumulated gains of a run beside those of the ideal list, topic by topic.

    Parameters
    ----------
    run : str
    topics : tuple of str
        The topics averaged over: counted for the run, and with something to gain.
    curves : tuple of Curves
        ``xCG`` and ``xCI`` of each topic, from rank 0 on.
    """

    run: str
    topics: tuple[str, ...]
    curves: tuple[Curves, ...]

    @classmethod
    def over_topics(cls, run: str, curves: Mapping[str, Curves], counted: Iterable[str]) -> Self:
        """Return the curves on the counted topics."""
        topics = tuple(topic for topic in counted if topic in curves)
        if not topics:
            raise UsageError(f"run {run!r}: no topic to average over has anything to gain")
        return cls(run, topics, tuple(curves[topic] for topic in topics))

    def of(self, topic: str | None = None) -> Curves:
        """Return the curves of one topic, or the means over topics; a list that ended stays flat.

        >>> short, long = (Curves(np.arange(n), np.arange(n)) for n in (2, 4))
        >>> GainCurves("mine", ("1", "2"), (short, long)).of().xCG.tolist()
        [0.0, 1.0, 1.5, 2.0]
        """
        if topic is None:
            means = []
            for column in zip(*self.curves, strict=True):
                length = max(map(len, column))
                ended = (np.pad(own, (0, length - len(own)), "edge") for own in column)
                means.append(sum(ended, np.zeros(length)) / len(column))
            return Curves(*means)
        if topic not in self.topics:
            raise UsageError(
                f"run {self.run!r} has no curve of topic {topic!r}, which is not judged, not "
                f"counted or has nothing to gain; expected one of {some(self.topics)}"
            )
        return self.curves[self.topics.index(topic)]


class RunLengths(NamedTuple):
    """The lengths of all results of a run on judged topics, in characters."""

    run: str
    lengths: Ints
    warnings: tuple[str, ...] = ()
    """Warnings about the run, as an evaluation gives them."""


def cumulate_gains(aligned: AlignedRun, measure: Cumulated) -> dict[str, Curves]:
    """Return the curves of an aligned run on every topic that has something to gain."""
    views = map(aligned.alignment_for(measure).topic, aligned.gold.topics)
    return {view.name: measure.curves(view) for view in views if measure.is_defined(view)}


def gain_curves(
    runs: RunLike | Sequence[RunLike],
    judgements: JudgementsLike,
    measure: str | Measure = "nxCG@10",
    *,
    task: str | None = None,
    collection: str | Path | None = None,
    **options: Any,
) -> tuple[GainCurves, ...]:
    """Return the cumulated gains of runs and of the ideal list.

    Parameters
    ----------
    runs, judgements, task, collection, **options
        As `foveal.evaluate` takes them.
    measure : text or Python form of a measure
        One of the XCG family; its parameters decide what is gained, its cut-off does not matter.

    Examples
    --------
    >>> from foveal.measures.toy import judgements, parse_run
    >>> from foveal.model import Run
    >>> run = Run.from_frame(parse_run("D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]"), name="mine")
    >>> (gains,) = gain_curves(run, judgements())
    >>> gains.of("toy").xCG.tolist()
    [0.0, 1.0, 2.0, 2.0, 2.25]
    """
    chosen = parse_measure(measure) if isinstance(measure, str) else measure
    if not isinstance(chosen, Cumulated):
        raise UsageError(f"{chosen} has no gains to draw; expected a measure such as nxCG or ep")
    aligned = _align_with_task(runs, judgements, chosen, task, collection, options)
    return tuple(
        GainCurves.over_topics(
            name, cumulate_gains(own, chosen), compress(own.gold.topics, counted)
        )
        for name, own, counted in aligned
    )


def result_lengths(
    runs: RunLike | Sequence[RunLike],
    judgements: JudgementsLike,
    *,
    task: str | None = None,
    collection: str | Path | None = None,
    **options: Any,
) -> tuple[RunLengths, ...]:
    """Return the lengths of the results of runs; their sum is the measure ``ret_size``.

    >>> from foveal.model import Run
    >>> run = Run.from_results({"1": [("D1", 20, 40), ("D2", 0, 50)]}, name="mine")
    >>> truth = Judgements.from_highlights({"1": {"D2": {"spans": [(0, 50)], "length": 50}}})
    >>> result_lengths(run, truth)[0].lengths.tolist()
    [20, 50]
    """
    counts = parse_measure("ret_size")
    found = []
    for name, own, _ in _align_with_task(runs, judgements, counts, task, collection, options):
        alignment = own.alignment_for(counts)
        sizes = [alignment.topic(topic).size for topic in own.gold.topics]
        warnings = tuple(f"{name}: {text}" for text in own.warnings)
        found.append(RunLengths(name, np.concatenate(sizes), warnings))
    return tuple(found)


def _align_with_task(
    runs: RunLike | Sequence[RunLike],
    judgements: JudgementsLike,
    measure: Measure,
    task: str | None,
    collection: str | Path | None,
    options: dict[str, Any],
) -> list[tuple[str, AlignedRun, Bools]]:
    # Of the task only its rules: its measures may need more than this one.
    _, settings = resolve_settings(measure, task, options)
    evaluation = Evaluation(judgements, measure, collection=collection, **settings.changed())
    return align_runs(evaluation, runs_of(runs))


def align_runs(
    evaluation: Evaluation, runs: Sequence[RunLike]
) -> list[tuple[str, AlignedRun, Bools]]:
    """Return the name, the alignment and a mask of counted topics of each run, by assessor."""
    aligned = [evaluation.align(run) for run in runs]
    names = distinguish_names((own[0].run.name, own[0].run.source) for own in aligned)
    found = []
    columns = zip(*aligned, strict=True)
    for assessor, gold, column in zip(evaluation.assessors, evaluation.golds, columns, strict=True):
        in_run = np.array([[t in own.alignment().place for t in gold.topics] for own in column])
        counts = count_topics(evaluation.options.topics, in_run)
        for name, own, counted in zip(names, column, counts, strict=True):
            found.append((name if assessor is None else f"{name}[{assessor}]", own, counted))
    return found
