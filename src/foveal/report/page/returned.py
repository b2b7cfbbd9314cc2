"""What every run returned: how much, how long, how often again, and where."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.collection import Collection
from foveal.errors import InputError
from foveal.evaluation import Options
from foveal.evaluation.placing import place_run
from foveal.evaluation.scoring import RunLike, score_run
from foveal.formats import read_run
from foveal.formats.streams import given_limit, limit_bytes
from foveal.measures import parse_measure
from foveal.measures.alignment import Gold
from foveal.model import Judgements, Results, Run
from foveal.report.page.scores import scaled

__all__ = ["OVERLAP", "Returned", "returned", "rows_of"]

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


def returned(
    runs: Sequence[RunLike],
    results: Results,
    judgements: Judgements,
    collection: str | Path | None,
) -> Returned:
    """Read the runs once more, one at a time, and keep what a page shows of them.

    `judgements` are combined and of the evaluated topics.
    """
    index = None if collection is None else Collection.open(collection)
    options = Options(**dict(results.meta.get("options", {})))
    relevant = _relevant(judgements)
    documents, _, length = judgements.documents(strict=False)
    known = pl.DataFrame({"doc": documents, "length": length})
    judged = Gold(judgements, mean_length=None if index is None else index.mean_length)

    most = given_limit()

    def look(number: int) -> tuple[dict[str, Any], pl.DataFrame]:
        given = runs[number]
        with limit_bytes(most):  # which is not known to a thread
            run = given if isinstance(given, Run) else read_run(given)
        wanted = np.isin(np.array(run.topics, dtype=object), results.topics)
        run = run.take(wanted[run.topic])
        if index is not None:
            run = place_run(run, index, lenient=options.lenient)
        lengths = _lengths(run, known)
        profile = {
            "results": len(run),
            "topics": len(run.topics),
            **_spread(lengths),
            **_overlap(run, judged, options, results.counted[number]),
        }
        return profile, _worth_a_look(run, number, lengths, relevant)

    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(runs))) as pool:
        profiles, frames = zip(*pool.map(look, range(len(runs))), strict=True)
    return Returned(list(profiles), pl.concat(frames))


def _relevant(judgements: Judgements) -> pl.DataFrame:
    kept = pl.Series(judgements.relevant)
    topics = pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic)
    return pl.DataFrame({"topic": topics.filter(kept), "doc": judgements.doc.filter(kept)})


def _lengths(run: Run, known: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Characters of each result, -1 where neither run nor judgements nor collection tell."""
    of_doc = pl.DataFrame({"doc": run.doc}).join(known, "doc", how="left", maintain_order="left")
    whole = of_doc["length"].fill_null(-1).to_numpy() if run.length is None else run.length
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


def _overlap(
    run: Run, judged: Gold, options: Options, counted: npt.NDArray[np.bool_]
) -> dict[str, Any]:
    """The means that ``foveal evaluate --overlap allow`` prints; none where places are unknown."""
    measures = [parse_measure(name) for name in OVERLAP]
    allowed = replace(options, overlap="allow", topic_limit=None, document_limit=None)
    try:
        scores = score_run(run, judged, measures, allowed)
    except InputError:  # results that nothing places, or none for a judged topic
        return {"overlap": None}
    values = scores.values[counted]
    return {"overlap": list(map(scaled, values.mean(axis=0).tolist())) if len(values) else None}


def _worth_a_look(
    run: Run, number: int, lengths: npt.NDArray[np.int64], relevant: pl.DataFrame
) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "topic": pl.Series(run.topics, dtype=pl.String).gather(run.topic),
            "doc": run.doc,
            "run": np.full(len(run), number),
            "rank": run.position,
            "start": np.where(lengths >= 0, run.start, -1),
            "end": np.where(lengths >= 0, run.start + lengths, -1),
        },
        schema_overrides=dict.fromkeys(("run", "rank", "start", "end"), pl.Int64),
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
