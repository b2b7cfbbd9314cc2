"""What graphs show of runs beside their scores: cumulated gains and the lengths of results.

Runs are read, placed and prepared exactly as for an evaluation, so that a curve and a score of one
run can be drawn into one picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foveal.collection import Collection
from foveal.errors import UsageError, some
from foveal.evaluation.elements import place_elements
from foveal.evaluation.options import Options
from foveal.evaluation.placing import place_run
from foveal.evaluation.preparation import Form, prepare, without_topics
from foveal.evaluation.scoring import RunLike, plan
from foveal.evaluation.truth import Truth
from foveal.formats import read_run
from foveal.measures import Measure, parse_measure
from foveal.measures.alignment import Gold, TopicView
from foveal.measures.xcg import Cumulated, Curves
from foveal.model import Judgements, Run
from foveal.model.provenance import distinct_names
from foveal.spans import Ints

__all__ = ["GainCurves", "RunLengths", "gain_curves", "result_lengths"]

Floats = npt.NDArray[np.float64]
JudgementsLike = Judgements | str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class GainCurves:
    """The cumulated gains of a run beside those of the ideal list, topic by topic.

    Parameters
    ----------
    run : str
    topics : tuple of str
        Those that are averaged over: counted for the run, and with something to gain.
    curves : tuple of Curves
        ``xCG`` and ``xCI`` of each topic, from rank 0 on.
    """

    run: str
    topics: tuple[str, ...]
    curves: tuple[Curves, ...]

    def of(self, topic: str | None = None) -> Curves:
        """The curves of one topic, or the means over topics; a list that has ended stays flat.

        >>> short, long = (Curves(np.arange(n), np.arange(n)) for n in (2, 4))
        >>> GainCurves("mine", ("1", "2"), (short, long)).of().xCG.tolist()
        [0.0, 1.0, 1.5, 2.0]
        """
        if topic is None:
            return Curves(*(_mean(column) for column in zip(*self.curves, strict=True)))
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
    """What was mended before, as an evaluation says it."""


def gain_curves(
    runs: RunLike | Sequence[RunLike],
    judgements: JudgementsLike,
    measure: str | Measure = "nxCG@10",
    *,
    task: str | None = None,
    collection: str | Path | None = None,
    **options: Any,
) -> tuple[GainCurves, ...]:
    """Cumulated gains of runs and of the ideal list.

    Parameters
    ----------
    runs, judgements, task, collection, **options
        As `foveal.evaluate` takes them.
    measure : text or Python form of a measure
        One of the XCG family; its parameters decide what is gained, its cut-off does not matter.

    Examples
    --------
    >>> from foveal.measures.toy import judgements, parse_run
    >>> run = Run.from_frame(parse_run("D1:/a/s[1]/p[2] D2:/a D3:/a D1:/a/s[2]"), name="mine")
    >>> (gains,) = gain_curves(run, judgements())
    >>> gains.of("toy").xCG.tolist()
    [0.0, 1.0, 2.0, 2.0, 2.25]
    """
    chosen = parse_measure(measure) if isinstance(measure, str) else measure
    if not isinstance(chosen, Cumulated):
        raise UsageError(f"{chosen} has no gains to draw; expected a measure such as nxCG or ep")
    found = []
    for name, counted, views, _ in _prepared(runs, judgements, chosen, task, collection, options):
        kept = [view for view, use in zip(views, counted.tolist(), strict=True) if use]
        kept = [view for view in kept if chosen.is_defined(view)]
        if not kept:
            raise UsageError(f"run {name!r}: no topic to average over has anything to gain")
        curves = tuple(chosen.curves(view) for view in kept)
        found.append(GainCurves(name, tuple(view.name for view in kept), curves))
    return tuple(found)


def result_lengths(
    runs: RunLike | Sequence[RunLike],
    judgements: JudgementsLike,
    *,
    task: str | None = None,
    collection: str | Path | None = None,
    **options: Any,
) -> tuple[RunLengths, ...]:
    """How long the results of runs are; their sum is what the measure ``ret_size`` counts.

    >>> run = Run.from_results({"1": [("D1", 20, 40), ("D2", 0, 50)]}, name="mine")
    >>> truth = Judgements.from_highlights({"1": {"D2": {"spans": [(0, 50)], "length": 50}}})
    >>> result_lengths(run, truth)[0].lengths.tolist()
    [20, 50]
    """
    counts = parse_measure("ret_size")
    return tuple(
        RunLengths(name, np.concatenate([view.size for view in views]), said)
        for name, _, views, said in _prepared(runs, judgements, counts, task, collection, options)
    )


# -- as an evaluation does it ------------------------------------------------------------------


def _mean(curves: Sequence[Floats]) -> Floats:
    """The mean of cumulated curves at every rank of the longest."""
    longest = max(map(len, curves))
    total = np.zeros(longest)
    for curve in curves:
        total[: len(curve)] += curve
        total[len(curve) :] += curve[-1]
    return total / len(curves)


class _Views(NamedTuple):
    name: str
    counted: npt.NDArray[np.bool_]
    views: list[TopicView]
    warnings: tuple[str, ...]


def _prepared(
    runs: RunLike | Sequence[RunLike],
    judgements: JudgementsLike,
    measure: Measure,
    task: str | None,
    collection: str | Path | None,
    options: dict[str, Any],
) -> Iterator[_Views]:
    """The topics of each run as `measure` looks at them, and which of them count."""
    _, settings = plan(measure, task, options)
    given: list[RunLike] = [runs] if isinstance(runs, (Run, str, Path)) else list(runs)
    truth = Truth(judgements, settings, collection)
    read = [run if isinstance(run, Run) else read_run(run) for run in given]
    names = distinct_names((run.name, run.source) for run in read)
    for assessor in truth.assessors:
        judged = truth.judged(assessor, (measure,))
        topics = judged.judgements.topics
        left_out = truth.every_topic - frozenset(topics)
        views = [
            _topics(without_topics(run, left_out, topics), judged, measure, settings, truth.index)
            for run in read
        ]
        answered = [np.array([view.n > 0 for view in own]) for own, _ in views]
        in_all = np.logical_and.reduce(answered)
        for name, (own, said), in_run in zip(names, views, answered, strict=True):
            counted = {"judged": in_run | True, "run": in_run, "both": in_all}[settings.topics]
            label = name if assessor is None else f"{name}[{assessor}]"
            yield _Views(label, counted, own, tuple(f"{label}: {text}" for text in said))


def _topics(
    run: Run, judged: Gold, measure: Measure, options: Options, index: Collection | None
) -> tuple[list[TopicView], list[str]]:
    """The view of every judged topic, and what was mended."""
    if index is not None and measure.structural:
        run = place_elements(run, index, snap=options.snap, lenient=options.lenient)
    elif index is not None:
        run = place_run(run, index, lenient=options.lenient)
    prepared = prepare(run, judged, (measure,), options)
    (form,) = prepared.form_of
    aligned = prepared.aligned(form)
    views = [
        aligned.topic(topic, union=form is Form.UNION, again=form is Form.COUNTED_AGAIN)
        for topic in judged.judgements.topics
    ]
    return views, prepared.warnings
