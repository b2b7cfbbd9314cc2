"""What every run returned: how much, how long, how often again, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.analysis.gain_curves import cumulate_gains
from foveal.evaluation.scoring import Evaluation, RunLike, Scores, score_aligned
from foveal.measures import Measure, parse_measure
from foveal.measures.alignment import Gold
from foveal.measures.xcg import Cumulated, Curves
from foveal.model import UNKNOWN, Judgements, Results, Run
from foveal.report.page.scores import scaled

__all__ = ["OVERLAP", "Returned", "RunProfile", "gather_profiles", "profile_run", "rows_of"]

OVERLAP = ("ListOverlap", "MeanOverlap", "Redundancy")
"""The indicators of a profile, of the run as it is (``--overlap allow``)."""
_TOP = 10
"""Ranks whose results are shown in their documents even if these are not relevant."""
_BINS = 18
"""Bins of lengths, each twice as wide as the one before: up to 128 K characters and beyond."""


class Returned(NamedTuple):
    """Profiles of runs and the results that are worth a look in their documents."""

    profiles: list[dict[str, Any]]
    results: pl.DataFrame
    """Topic, doc, run (its number), rank, start, end, of relevant documents and of the top."""


class RunProfile(NamedTuple):
    """The scores of one run, and what the page shows of its results."""

    scores: tuple[Scores, ...]
    returned: dict[str, Any]
    """Number and lengths of its results."""
    overlap: npt.NDArray[np.float64] | None
    """The indicators (topic, measure); None where the place of a result is unknown."""
    results: pl.DataFrame
    """Topic, doc, rank, start, end, of relevant documents and of the top."""
    curves: dict[str, Curves]
    """Cumulated gains by topic, if the page draws them."""


def profile_run(evaluation: Evaluation, run: RunLike, gains: Measure | None = None) -> RunProfile:
    """Read and align a run once: score it and keep what a page shows of it."""
    (aligned,) = evaluation.align(run)
    gold, unlimited = aligned.gold, aligned.unlimited
    judged = np.array([topic in gold.topic_at for topic in aligned.run.topics], dtype=bool)
    own = aligned.run.take(judged[aligned.run.topic])
    lengths = _lengths(own, gold)
    overlap = None
    if unlimited.placed.all():
        overlap = np.column_stack([parse_measure(name).score_topics(unlimited) for name in OVERLAP])
    return RunProfile(
        (score_aligned(aligned, evaluation.scored),),
        {"results": len(own), "topics": len(own.topics), **_spread(lengths)},
        overlap,
        _worth_a_look(own, lengths, _list_relevant(gold.judgements)),
        cumulate_gains(aligned, gains) if isinstance(gains, Cumulated) else {},
    )


def gather_profiles(profiles: Sequence[RunProfile], results: Results) -> Returned:
    """Return what a page shows of the results of all runs."""
    found, frames = [], []
    for number, (own, counted) in enumerate(zip(profiles, results.counted, strict=True)):
        means = None
        if own.overlap is not None and counted.any():
            means = list(map(scaled, own.overlap[counted].mean(axis=0).tolist()))
        found.append({**own.returned, "overlap": means})
        of_run = pl.lit(number, pl.Int64).alias("run")
        frames.append(own.results.select("topic", "doc", of_run, "rank", "start", "end"))
    return Returned(found, pl.concat(frames))


def _list_relevant(judgements: Judgements) -> pl.DataFrame:
    kept = pl.Series(judgements.relevant)
    topics = pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic)
    return pl.DataFrame({"topic": topics.filter(kept), "doc": judgements.doc.filter(kept)})


def _lengths(run: Run, gold: Gold) -> npt.NDArray[np.int64]:
    """Return the characters of each result, -1 where they are unknown."""
    whole = run.length
    if whole is None:
        whole = np.append(gold.doc_length, UNKNOWN)[gold.docs.find(run.doc)]
    end = np.where((run.end < 0) & (run.start == 0), whole, run.end)
    return np.where((end >= 0) & (run.start >= 0), end - run.start, -1)


def _spread(lengths: npt.NDArray[np.int64]) -> dict[str, Any]:
    known = lengths[lengths >= 0]
    if not len(known):
        return {"length": None, "histogram": None}
    quartiles = np.percentile(known, [0, 25, 50, 75, 100])
    place = np.minimum(np.log2(np.maximum(known, 1)).astype(np.int64), _BINS - 1)
    return {
        "length": [round(float(value), 1) for value in (known.mean(), *quartiles)],
        "histogram": np.bincount(place, minlength=_BINS).tolist(),
    }


def _worth_a_look(run: Run, lengths: npt.NDArray[np.int64], relevant: pl.DataFrame) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "topic": pl.Series(run.topics, dtype=pl.String).gather(run.topic),
            "doc": run.doc,
            "rank": run.position,
            "start": np.where(lengths >= 0, run.start, -1),
            "end": np.where(lengths >= 0, run.start + lengths, -1),
        },
        schema_overrides=dict.fromkeys(("rank", "start", "end"), pl.Int64),
    )
    top = frame.filter(pl.col("rank") <= _TOP)
    found = frame.join(relevant, on=["topic", "doc"], how="semi")
    return pl.concat([found, top.join(relevant, on=["topic", "doc"], how="anti")])


def rows_of(frame: pl.DataFrame) -> Iterator[tuple[str, str, list[list[int]]]]:
    """Topic, document and the results there: run, rank, start, end, the best ranked first."""
    ordered = frame.sort("topic", "doc", "rank", "run").select(
        "topic", "doc", "run", "rank", "start", "end"
    )
    for (topic, doc), rows in groupby(ordered.iter_rows(), key=itemgetter(0, 1)):
        yield topic, doc, [list(row[2:]) for row in rows]
