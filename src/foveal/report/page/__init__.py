"""A page about runs that needs nothing but itself: which is best, is it sure, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from foveal.analysis.comparison import Comparison, compare
from foveal.analysis.gain_curves import GainCurves
from foveal.analysis.score_matrix import check_assessors
from foveal.analysis.score_matrix import select_labels as chosen
from foveal.collection import SourceTexts
from foveal.collection.document_texts import TextSource
from foveal.errors import UsageError
from foveal.evaluation import find_preset
from foveal.evaluation.scoring import Evaluation, RunLike, map_runs
from foveal.formats import read_judgements, read_topics
from foveal.measures import Measure, parse_measures
from foveal.model import Judgements, Results
from foveal.report.graphs import gain_graph, gain_measures
from foveal.report.page.answers import direction
from foveal.report.page.build import LARGEST, html, size_of
from foveal.report.page.curves import gains_of, graphs_of, single_labels, wanted
from foveal.report.page.data import collect
from foveal.report.page.documents import document_views
from foveal.report.page.returned import gather_profiles, profile_run

__all__ = ["Page", "report_page"]

_CURVES = 12
"""Graphs of curves in a page."""
_RANK, _LEVEL, _RANKS = 10, 0.5, 100
"""Where nxCG and ep are read off in the graph of cumulated gain, and where that ends."""
_DOCUMENTS = 600_000
"""Bytes of document views, where the rest of the page leaves that much."""
_FURNITURE = 20_000
"""Bytes kept free for what is not data."""


class Page(NamedTuple):
    """The page as HTML, the data it holds, and what was odd but acceptable."""

    html: str
    data: dict[str, Any]
    warnings: tuple[str, ...]


def report_page(
    runs: Sequence[RunLike],
    judgements: Judgements | str | Path | Sequence[str | Path],
    measures: Sequence[str] = (),
    *,
    task: str | None = None,
    collection: str | Path | None = None,
    documents: str | None = None,
    name_from: str | None = None,
    texts: TextSource | None = None,
    by: str | None = None,
    command: str = "",
    executor: Executor | None = None,
    progress: Callable[[], None] | None = None,
    **options: Any,
) -> Page:
    """Score runs and write a page about them.

    Parameters
    ----------
    runs, judgements, task, collection, executor, progress
        As for `foveal.evaluate`.
    measures : texts of measures
        ``@curve`` makes a graph and no columns of the table.
    documents : str, optional
        The directory or archive that was indexed: its texts are shown.
    name_from : str, optional
        How documents are named, as in ``foveal index``.
    texts : TextSource, optional
        Texts to show where there is no index.
    by : str, optional
        The measure that decides which run is best; by default the first.
    command : str
        What was called, for the end of the page.
    **options
        The other options of `foveal.evaluate`.

    Examples
    --------
    >>> from foveal.model import Run
    >>> run = Run.from_results({"1": [("D2", 0, 50)]}, name="mine")
    >>> truth = Judgements.from_highlights({"1": {"D2": {"spans": [(0, 50)], "length": 50}}})
    >>> report_page([run], truth, ["AiP"]).data["answers"][0]["text"]
    'By AiP, over 1 topic, mine (1.0000) stands alone: there is no other run to compare it with.'
    """
    check_assessors(options)
    if options.get("cas"):
        options |= {"documents": documents, "name_from": name_from}
    given = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    columns = single_labels(measures, task)
    if not columns and (measures or task):
        raise UsageError("only curves are asked for; name a measure that is one number, as in AiP")
    known: tuple[Measure, ...] = () if task is None else find_preset(task).measures
    known += tuple(measure for text in measures for measure in parse_measures(text))
    asked, gained = wanted(known, _CURVES), gains_of(known)
    points = [point for graph in asked for point in graph.points]
    points += [] if gained is None else gain_measures(gained, _RANK, _LEVEL)
    evaluation = Evaluation(
        given, [*measures, *points], task=task, collection=collection, **options
    )
    profile = partial(profile_run, gains=None if gained is None else gained @ _RANK)
    profiles = list(map_runs(profile, evaluation, list(runs), executor, progress))
    everything = evaluation.results([own.scores for own in profiles])
    results = everything.only(columns)
    leading = _leading(results, by)
    (gold,) = evaluation.golds
    truth = gold.judgements
    topics_file = options.get("topics_file")
    found = gather_profiles(profiles, results)
    graphs = graphs_of(asked, everything)
    if gained is not None:
        gains = tuple(
            GainCurves.over_topics(
                name, own.curves, [t for t, use in zip(gold.topics, counted, strict=True) if use]
            )
            for name, own, counted in zip(
                everything.runs, profiles, everything.counted, strict=True
            )
        )
        graphs.append(gain_graph(gains, everything, gained, rank=_RANK, level=_LEVEL, ranks=_RANKS))
    data = collect(
        results,
        graphs=graphs,
        comparison=_compared(results),
        judgements=truth,
        returned=found,
        topics=None if topics_file is None else read_topics(topics_file),
        by=leading,
        command=command,
    )
    source = texts if documents is None else SourceTexts(documents, name_tag=name_from)
    room = LARGEST - size_of(data) - _FURNITURE
    data["documents"] = document_views(truth, found, source, budget=max(min(_DOCUMENTS, room), 0))
    return Page(html(data), data, tuple(data["warnings"]))


def _leading(results: Results, by: str | None) -> str:
    """The measure of the first screen."""
    if by is not None:
        (label, *more) = chosen(results.measures, [by])
        if more:
            raise UsageError(f"{by} is several measures; expected one to tell which run is best")
        if not direction(label):
            raise UsageError(f"{label} counts and does not rank; expected a measure that does")
        return label
    ranking = [label for label in results.measures if direction(label)]
    return ranking[0] if ranking else results.measures[0]


def _compared(results: Results) -> Comparison | None:
    """Every run against every other; None where that is not possible."""
    ranking = [label for label in results.measures if direction(label)]
    if len(results.runs) < 2 or not ranking:
        return None
    try:
        # Intervals of differences are not shown, and resampling all pairs for them takes long.
        return compare(results, measures=ranking, interval="t")
    except UsageError:  # too few topics in common, by every measure
        return None
