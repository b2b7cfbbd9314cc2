"""Warnings about the scores of runs: unjudged results, undefined scores, document measures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from foveal.errors import Note, shorten_list
from foveal.measures.alignment import Bools
from foveal.measures.measure import CURVE, Measure, Need
from foveal.model.judgements import Judgements

TOP = 10  # ranks in which unjudged results are counted


def describe_unjudged(shares: Mapping[str, float]) -> Note:
    """Name the runs that return unjudged documents on top, the worst first."""
    # Two decimals, cut off: a share below 1 must not read 1.00.
    shown = [
        f"{run} {math.floor(round(100 * share, 6)) / 100:.2f}"
        for share, run in sorted((share, run) for run, share in shares.items())
    ]
    text = f"unjudged results count as not relevant; judged@{TOP} on topics with results: "
    return Note("run.unjudged", text + shorten_list(shown))


def describe_undefined(
    undefined: Bools,
    topics: Sequence[str],
    measures: Sequence[Measure],
    *,
    skipped: bool,
) -> Iterator[str]:
    """Name the topics on which measures are `undefined`, and what becomes of them."""
    by_topics: dict[tuple[str, ...], list[Measure]] = {}
    for k in np.flatnonzero(undefined.any(axis=0)).tolist():
        named = tuple(np.array(topics, dtype=object)[undefined[:, k]])
        by_topics.setdefault(named, []).append(measures[k])
    fate = "not averaged" if skipped else "counted as 0"
    for named, those in by_topics.items():
        which = (
            "all measures" if len(those) == len(measures) else shorten_list(list_measures(those))
        )
        of_answers = any(Need.ANSWERS in measure.needs for measure in those)
        why = "without a defined score" if of_answers else "with nothing relevant"
        yield f"topics {why}, {fate} ({which}), {len(named)}: {shorten_list(named)}"


def has_negative_judgements(judgements: Judgements) -> bool:
    """Return True if most topics have a document that was judged not relevant.

    Then assessors looked at a pool, and documents that are not listed were not looked at. Where
    only relevant documents are listed, everything else is unjudged by design.
    """
    topics = int((np.bincount(judgements.topic[~judgements.relevant]) > 0).sum())
    return 2 * topics > len(judgements.topics)


def explain_document_measures(measures: Sequence[Measure]) -> str:
    """Explain that P and R count documents, and name the measures that count text."""
    shown = shorten_list([measure.label for measure in measures])
    others = shorten_list([f"char{measure.name}@{measure.at}" for measure in measures])
    s = "s" if len(measures) == 1 else ""
    return f"{shown} count{s} documents, not text; {others} count{s} text"


def list_measures(measures: Sequence[Measure]) -> tuple[str, ...]:
    """Return measures for reading: each once with all its cut-offs.

    >>> from foveal.measures import parse_measures as parse
    >>> list_measures([*parse("nxCG@curve"), *parse("nxCG@10"), *parse("MAep")])
    ('nxCG@10,curve', 'MAep')
    """
    cutoffs: dict[Measure, list[Any]] = {}
    for measure in measures:
        cutoffs.setdefault(type(measure)(measure.settings), []).append(measure.at)
    names: list[str] = []
    for bare, given in cutoffs.items():
        points = {(bare @ point).at for point in bare.curve}
        points = points if points <= set(given) else set()
        shown = [f"{at:f}" for at in given if at is not None and at not in points]
        shown += [CURVE] if points else []
        names += [bare.label] if None in given else []
        names += [f"{bare}@{','.join(shown)}"] if shown else []
    return tuple(names)
