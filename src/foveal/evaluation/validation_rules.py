"""Rules of runs, whatever the format: order, repetition, number, places, and those of tasks."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterator

import numpy as np

from foveal import spans
from foveal.collection import Collection
from foveal.collection.paths import parse_ranges
from foveal.evaluation.conversion import overlap_extents
from foveal.evaluation.presets import Preset
from foveal.measures import OverlapRule
from foveal.model import Run
from foveal.spans import Ints

__all__ = [
    "BY_DOCUMENT",
    "UNCHECKED",
    "Fault",
    "find_contradictions",
    "find_disorder",
    "find_duplicates",
    "find_excess",
    "find_forbidden",
    "find_impossible_paths",
    "find_past_the_end",
    "find_unknown_topics",
]

Fault = tuple[str, int, str]
"""Kind, row of the run, message."""

UNCHECKED = "unchecked"
"""The kind of findings that are not faults: a check was not possible."""

# The rules of tasks, by their names without year and kind of topics.
BY_DOCUMENT = ("relevantincontext", "fetchbrowse")
_WITHOUT_OVERLAP = ("focused", "relevantincontext")
_ONE_PER_DOCUMENT = ("bestincontext",)


def find_disorder(run: Run, rank: Ints | None, *, by_score: bool) -> Iterator[Fault]:
    """Find scores that rise down the ranking, and ranks that fall."""
    same = run.topic[1:] == run.topic[:-1]
    if run.score is not None and by_score:
        rises = (run.score[1:] > run.score[:-1]) & same
        for row in (np.flatnonzero(rises) + 1).tolist():
            before, score = float(run.score[row - 1]), float(run.score[row])
            yield "order", row, f"score {score} is above {before} of the result ranked before it"
        same &= run.score[1:] != run.score[:-1]  # equal scores may come in any order
    if rank is not None:
        for row in (np.flatnonzero((rank[1:] < rank[:-1]) & same) + 1).tolist():
            message = f"rank {rank[row]} after {rank[row - 1]}; the order of results is another"
            yield "order", row, message


def find_duplicates(run: Run) -> Iterator[Fault]:
    """Find results that repeat an earlier one."""
    for a, b in zip(*(rows.tolist() for rows in run.duplicates), strict=True):
        yield "duplicate", b, f"repeats the result on line {int(run.line[a])}"


def find_excess(run: Run, most: int) -> Iterator[Fault]:
    """Find topics with more results than a submission may have."""
    for topic, start, end in zip(run.topics, run.bounds[:-1], run.bounds[1:], strict=True):
        if end - start > most:
            message = f"topic {topic!r} has {end - start} results, more than {most}"
            yield "length", int(start) + most, message


def find_past_the_end(run: Run) -> Iterator[Fault]:
    """Find results that end after their document."""
    assert run.length is not None
    past = (run.length >= 0) & (np.maximum(run.start, run.end) > run.length)
    for row in np.flatnonzero(past).tolist():
        where = f"document {run.doc[row]!r} of {run.length[row]} characters"
        yield "place", row, f"ends at {run.end[row]}, past the end of {where}"


def find_contradictions(run: Run, collection: Collection) -> Iterator[Fault]:
    """Find results whose path and offsets name different places."""
    if run.xpath is None:
        return
    named = np.flatnonzero(run.xpath.is_not_null().to_numpy())
    found = collection.resolve(run.doc.gather(named), run.xpath.gather(named))
    differs = (found.start != run.start[named]) | (found.end != run.end[named])
    for i in np.flatnonzero(differs & (found.start >= 0)).tolist():
        row = int(named[i])
        place = f"{run.xpath[row]} is at [{found.start[i]},{found.end[i]})"
        given = f"[{run.start[row]},{run.end[row]})"
        yield "place", row, f"{place}, but the result gives {given}"


def find_impossible_paths(run: Run) -> Iterator[Fault]:
    """Find paths that no document can have: steps without a name, numbers from 0."""
    if run.xpath is None:
        return
    named = np.flatnonzero(run.xpath.is_not_null().to_numpy())
    ends = parse_ranges(run.xpath.gather(named))
    wrong = np.logical_or.reduce([points.element.is_null().to_numpy() for points in ends])
    for row in named[wrong].tolist():
        message = f"no document has {run.xpath[row]!r}; expected /path[1]/of[1]/element[2]"
        yield "place", row, message


def find_unknown_topics(run: Run, topics: Names[str]) -> Iterator[Fault]:
    """Find topics that are not in the topic file."""
    for topic, start in zip(run.topics, run.bounds[:-1].tolist(), strict=True):
        if topic not in topics:
            yield "topic", start, f"topic {topic!r} is not in the topic file"


def find_forbidden(run: Run, preset: Preset | None, task: str) -> Iterator[Fault]:
    """Find what the measures and limits of a preset or the rules of a task forbid."""
    measures = () if preset is None else preset.measures
    rules = {measure.overlap_rule for measure in measures}
    accepted = preset is not None and preset.overlap is not None
    if (OverlapRule.ERROR in rules or task in _WITHOUT_OVERLAP) and not accepted:
        yield from _find_overlap(run)
    first = run.line[run.first]
    if OverlapRule.ONE_PER_DOCUMENT in rules or task in _ONE_PER_DOCUMENT:
        for row in run.repeats.tolist():
            yield "document", row, f"a second result of {run.doc[row]!r} after line {first[row]}"
    if any(measure.grouped for measure in measures) or task in BY_DOCUMENT:
        for row in run.returns.tolist():
            message = f"results of {run.doc[row]!r} are apart, first on line {first[row]}"
            yield "interleaved", row, message
    if preset is not None and preset.topic_limit is not None:
        yield from _find_over_limit(run, preset.topic_limit, "topic", run.topic)
    if preset is not None and preset.document_limit is not None:
        yield from _find_over_limit(run, preset.document_limit, "document", run.first)


def _find_overlap(run: Run) -> Iterator[Fault]:
    """Find results that share text with an earlier one that is not the same result."""
    start, end, known = overlap_extents(run)
    rows = np.flatnonzero(known)
    pieces = spans.newly_covered(start[rows], end[rows])
    new = np.bincount(pieces.owner, pieces.end - pieces.start, len(rows))
    order = rows[np.argsort(run.first[rows], kind="stable")]
    opens, closes = (
        np.searchsorted(run.first[order], run.first, side=side) for side in ("left", "right")
    )
    result = np.arange(len(run))
    result[run.duplicates[1]] = run.duplicates[0]
    for row in rows[new < (end - start)[rows]].tolist():
        own = order[opens[row] : closes[row]]
        own = own[: np.searchsorted(own, row)]
        meets = np.minimum(end[own], end[row]) > np.maximum(start[own], start[row])
        other = own[meets & (result[own] != result[row])]
        if len(other):
            line = int(run.line[other[0]])
            yield "overlap", row, f"overlaps the result on line {line} of {run.doc[row]!r}"


def _find_over_limit(run: Run, most: int, what: str, group: Ints) -> Iterator[Fault]:
    """Find results with which a topic or document passes its limit of characters.

    A whole document counts with its length. Without a collection that length is not known and the
    document is refused, as by ``evaluate``.
    """
    unknown = run.end < 0
    for row in np.flatnonzero(unknown & (run.start == 0)).tolist():
        message = (
            f"a whole document of unknown length; the task allows {most} characters per {what}"
        )
        yield "limit", row, f"{message} (-C INDEX tells the length, start and length name a part)"
    elements = np.flatnonzero(unknown & (run.start < 0))
    if len(elements):
        message = f"the limit of {most} characters per {what} was not checked: {len(elements)}"
        yield UNCHECKED, int(elements[0]), f"{message} results are XPaths (-C INDEX tells places)"
    size = np.where(unknown, 0, run.end - run.start)
    read = np.zeros(len(run), dtype=np.int64)
    for row, (number, length) in enumerate(zip(group.tolist(), size.tolist(), strict=True)):
        before = int(read[number])
        read[number] = before + length
        if before <= most < before + length:
            topic = run.topics[int(run.topic[row])]
            yield "limit", row, f"more than {most} characters for this {what} (topic {topic!r})"
