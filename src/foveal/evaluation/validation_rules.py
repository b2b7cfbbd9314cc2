"""What a run must not do, whatever the format: order, repetition, number, places, tasks' rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Collection as Names

import numpy as np

from foveal import spans
from foveal.collection import Collection
from foveal.collection.xpaths import parse_ranges
from foveal.evaluation.conversion import overlap_extents
from foveal.evaluation.presets import Preset
from foveal.measures import OverlapRule
from foveal.model import Run
from foveal.spans import Ints

__all__ = [
    "BY_DOCUMENT",
    "UNCHECKED",
    "Check",
    "Fault",
    "contradictions",
    "duplicates",
    "impossible_paths",
    "order",
    "past_the_end",
    "task_checks",
    "too_many",
    "unknown_topics",
]

Fault = tuple[str, int, str]
"""Kind, row of the run, message."""

UNCHECKED = "unchecked"
"""The kind of what is not a fault: something that could not be checked."""

Check = Callable[[Run], Iterator[Fault]]

_WITHOUT_OVERLAP = ("focused", "relevantincontext")
BY_DOCUMENT = ("relevantincontext", "fetchbrowse")
_ONE_PER_DOCUMENT = ("bestincontext",)
"""What tasks asked of submissions, by the name of the task without year and kind of topics."""


def _topic(run: Run, row: int) -> str:
    return run.topics[int(run.topic[row])]


def order(run: Run, rank: Ints | None, *, by_score: bool) -> Iterator[Fault]:
    """Scores that rise down the ranking, ranks that fall."""
    same = run.topic[1:] == run.topic[:-1]
    if run.score is not None and by_score:
        rises = (run.score[1:] > run.score[:-1]) & same
        for row in (np.flatnonzero(rises) + 1).tolist():
            before, score = float(run.score[row - 1]), float(run.score[row])
            yield "order", row, f"score {score} is above {before} of the result ranked before it"
        same &= run.score[1:] != run.score[:-1]  # equal scores may stand in any order
    if rank is not None:
        for row in (np.flatnonzero((rank[1:] < rank[:-1]) & same) + 1).tolist():
            message = f"rank {rank[row]} after {rank[row - 1]}; the order of results is another"
            yield "order", row, message


def duplicates(run: Run) -> Iterator[Fault]:
    """Results that repeat an earlier one."""
    for a, b in zip(*(rows.tolist() for rows in run.duplicates), strict=True):
        yield "duplicate", b, f"repeats the result on line {int(run.line[a])}"


def too_many(run: Run, most: int) -> Iterator[Fault]:
    """Topics with more results than a submission may have."""
    for topic, start, end in zip(run.topics, run.bounds[:-1], run.bounds[1:], strict=True):
        if end - start > most:
            message = f"topic {topic!r} has {end - start} results, more than {most}"
            yield "length", int(start) + most, message


def past_the_end(run: Run) -> Iterator[Fault]:
    """Results that end after their document."""
    assert run.length is not None
    past = (run.length >= 0) & (np.maximum(run.start, run.end) > run.length)
    for row in np.flatnonzero(past).tolist():
        yield (
            "place",
            row,
            (
                f"ends at {run.end[row]}, past the end of document {run.doc[row]!r} of "
                f"{run.length[row]} characters"
            ),
        )


def contradictions(run: Run, collection: Collection) -> Iterator[Fault]:
    """Results whose path and offsets name different places."""
    if run.xpath is None:
        return
    named = np.flatnonzero(run.xpath.is_not_null().to_numpy())
    found = collection.resolve(run.doc.gather(named), run.xpath.gather(named))
    apart = (found.start != run.start[named]) | (found.end != run.end[named])
    for i in np.flatnonzero(apart & (found.start >= 0)).tolist():
        row = int(named[i])
        yield (
            "place",
            row,
            (
                f"{run.xpath[row]} is at [{found.start[i]},{found.end[i]}), but the result gives "
                f"[{run.start[row]},{run.end[row]})"
            ),
        )


def impossible_paths(run: Run) -> Iterator[Fault]:
    """Paths that no document can have, whatever it holds: steps without a name, numbers from 0."""
    if run.xpath is None:
        return
    named = np.flatnonzero(run.xpath.is_not_null().to_numpy())
    ends = parse_ranges(run.xpath.gather(named))
    wrong = np.logical_or.reduce([points.element.is_null().to_numpy() for points in ends])
    for row in named[wrong].tolist():
        message = f"no document has {run.xpath[row]!r}; expected /path[1]/of[1]/element[2]"
        yield "place", row, message


def unknown_topics(run: Run, topics: Names[str]) -> Iterator[Fault]:
    """Topics that nobody asked."""
    for topic, start in zip(run.topics, run.bounds[:-1].tolist(), strict=True):
        if topic not in topics:
            yield "topic", start, f"topic {topic!r} is not in the topic file"


def task_checks(preset: Preset | None, task: str) -> list[Check]:
    """What the measures of a preset and the rules of a task forbid."""
    measures = () if preset is None else preset.measures
    rules = {measure.overlap_rule for measure in measures}
    accepted = preset is not None and preset.overlap is not None
    checks: list[Check] = []
    if (OverlapRule.ERROR in rules or task in _WITHOUT_OVERLAP) and not accepted:
        checks.append(_overlap)
    if OverlapRule.ONE_PER_DOCUMENT in rules or task in _ONE_PER_DOCUMENT:
        checks.append(_one_per_document)
    if any(measure.grouped for measure in measures) or task in BY_DOCUMENT:
        checks.append(_interleaved)
    per_topic = None if preset is None else preset.topic_limit
    per_document = None if preset is None else preset.document_limit
    if per_topic is not None:
        checks.append(lambda run: _over_limit(run, per_topic, "topic", run.topic))
    if per_document is not None:
        checks.append(lambda run: _over_limit(run, per_document, "document", run.first))
    return checks


def _overlap(run: Run) -> Iterator[Fault]:
    """Results that share text with an earlier one that is not the same result."""
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


def _one_per_document(run: Run) -> Iterator[Fault]:
    for row in run.repeats.tolist():
        line = int(run.line[run.first[row]])
        yield "document", row, f"a second result of {run.doc[row]!r} after line {line}"


def _interleaved(run: Run) -> Iterator[Fault]:
    for row in run.returns.tolist():
        line = int(run.line[run.first[row]])
        yield "interleaved", row, f"results of {run.doc[row]!r} are apart, first on line {line}"


def _over_limit(run: Run, most: int, what: str, group: Ints) -> Iterator[Fault]:
    """Results with which a topic or document passes its limit of characters.

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
            message = f"more than {most} characters for this {what} (topic {_topic(run, row)!r})"
            yield "limit", row, message
