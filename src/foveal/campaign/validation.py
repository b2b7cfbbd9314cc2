"""Everything that is wrong with a run or with topics, before anything is scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Collection as Names
from dataclasses import dataclass

import numpy as np

from foveal import spans
from foveal.campaign.nesting import extents
from foveal.campaign.placing import unplaced
from foveal.campaign.presets import Preset, task_key
from foveal.collection import Collection
from foveal.errors import InputError
from foveal.formats import Source, read_run, read_topics
from foveal.formats.ranking import line_ranks
from foveal.measures import Overlap
from foveal.model import Run
from foveal.nexi import CAS, IEEE_CLASSES, NexiError, matches, parse, tags_of
from foveal.spans import Ints

__all__ = ["MOST_RESULTS", "Finding", "validate", "validate_topics"]

MOST_RESULTS = 1500
"""Results per topic that INEX accepted in a submission."""


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a run: its kind, where it is, what it is."""

    kind: str
    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        first, *more = self.message.split("\n")  # of a query, with a mark under the place
        return "\n".join([f"{where}: {first} [{self.kind}]", *more])


Check = Callable[[Run], Iterator[tuple[str, int, str]]]

_STRICT = ("sscas", "svcas", "scas")
_WITHOUT_OVERLAP = ("focused", "relevantincontext")
_BY_DOCUMENT = ("relevantincontext", "fetchbrowse")
_ONE_PER_DOCUMENT = ("bestincontext",)
"""What tasks asked of submissions, by the name of the task without year and kind of topics."""


def validate(
    path: str | Source,
    *,
    preset: Preset | None = None,
    collection: Collection | None = None,
    topics: Names[str] | None = None,
    castitles: Mapping[str, str] | None = None,
    max_results: int = MOST_RESULTS,
) -> list[Finding]:
    """What is wrong with a run, in the order of its lines.

    Parameters
    ----------
    path : path or Source of the run
    preset : Preset, optional
        The task: adds what its measures and its rules forbid, and its limits. Without one, the
        rules are those of the task that the run declares.
    collection : Collection, optional
        Adds documents and paths that it does not hold, and results past the end.
    topics : collection of str, optional
        Adds topics that are not among these.
    castitles : mapping of topic to NEXI query, optional
        Adds, for strict tasks, results that are not the target of the query.
    max_results : int
        Most results per topic.
    """
    source = path if isinstance(path, Source) else Source.open(path)
    try:
        run = read_run(source)
    except InputError as error:
        return [Finding("format", p.file, p.line, p.message) for p in error.problems]
    found = [Finding("format", source.path, None, note) for note in run.notes]
    given = line_ranks(source, run) if run.rank is None else run.rank
    if collection is not None:
        run, problems = unplaced(run, collection)
        found += [Finding("place", p.file, p.line, p.message) for p in problems]
    task = _bare(run.task or "") if preset is None else _bare(preset.name)
    checks: list[Check] = [
        # Within a document the order says nothing where results are grouped by document.
        lambda r: _order(r, given, by_score=task not in _BY_DOCUMENT),
        _duplicates,
        lambda r: _too_many(r, max_results),
    ]
    if collection is not None:
        checks += [_past_the_end, lambda r: _contradictions(r, collection)]
    if topics is not None:
        checks.append(lambda r: _unknown_topics(r, topics))
    if castitles is not None and task in _STRICT:
        checks.append(lambda r: _off_target(r, castitles))
    checks += _task_checks(preset, task)
    if preset is not None and run.task is not None and not preset.is_for(run.task):
        message = f"declares the task {run.task}, not {preset.name}"
        found.append(Finding("task", source.path, None, message))
    for check in checks:
        found += [
            Finding(kind, source.path, int(run.line[row]), message)
            for kind, row, message in check(run)
        ]
    return sorted(found, key=lambda finding: (finding.line or 0, finding.kind))


def validate_topics(path: str | Source) -> list[Finding]:
    """What is wrong with topics: their format, and castitles that are not NEXI."""
    try:
        topics = read_topics(path)
    except InputError as error:
        return [Finding("format", p.file, p.line, p.message) for p in error.problems]
    found = []
    for i, topic in enumerate(topics):
        if topic.structure is None:
            continue
        try:
            parse(topic.structure)
        except NexiError as error:
            accepted = ", accepted in lenient mode only" if _is_lenient(topic.structure) else ""
            where = topics.problem(i, f"topic {topic.id!r}{accepted}: {error}")
            found.append(Finding("castitle", where.file, where.line, where.message))
    return found


def _is_lenient(castitle: str) -> bool:
    try:
        parse(castitle, lenient=True)
    except NexiError:
        return False
    return True


def _bare(task: str) -> str:
    """The name of a task without year and kind of topics, whatever its spelling."""
    return re.sub(r"[^a-z]", "", task_key(task.rpartition(".")[2]))


def _topic(run: Run, row: int) -> str:
    return run.topics[int(run.topic[row])]


def _order(run: Run, rank: Ints | None, *, by_score: bool) -> Iterator[tuple[str, int, str]]:
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


def _duplicates(run: Run) -> Iterator[tuple[str, int, str]]:
    for a, b in zip(*(rows.tolist() for rows in run.duplicates), strict=True):
        yield "duplicate", b, f"repeats the result on line {int(run.line[a])}"


def _too_many(run: Run, most: int) -> Iterator[tuple[str, int, str]]:
    for topic, start, end in zip(run.topics, run.bounds[:-1], run.bounds[1:], strict=True):
        if end - start > most:
            message = f"topic {topic!r} has {end - start} results, more than {most}"
            yield "length", int(start) + most, message


def _past_the_end(run: Run) -> Iterator[tuple[str, int, str]]:
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


def _contradictions(run: Run, collection: Collection) -> Iterator[tuple[str, int, str]]:
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


def _unknown_topics(run: Run, topics: Names[str]) -> Iterator[tuple[str, int, str]]:
    for topic, start in zip(run.topics, run.bounds[:-1].tolist(), strict=True):
        if topic not in topics:
            yield "topic", start, f"topic {topic!r} is not in the topic file"


def _off_target(run: Run, castitles: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    for number, topic in enumerate(run.topics):
        if topic not in castitles or run.xpath is None:
            continue
        start, end = int(run.bounds[number]), int(run.bounds[number + 1])
        try:
            query = parse(castitles[topic], lenient=True)
        except NexiError as error:
            yield "castitle", start, f"castitle of topic {topic!r}: {error}"
            continue
        if not isinstance(query, CAS):
            continue
        fits: dict[tuple[str, ...], bool] = {}
        for row in range(start, end):
            path = run.xpath[row]
            if path is None:
                continue
            tags = tags_of(path)
            if tags not in fits:
                fits[tags] = matches(query.target, tags, IEEE_CLASSES)
            if not fits[tags]:
                yield "target", row, f"{path} is not a target of {query}"


def _task_checks(preset: Preset | None, task: str) -> list[Check]:
    """What the measures of a preset and the rules of a task forbid."""
    measures = () if preset is None else preset.measures
    rules = {measure.overlap for measure in measures}
    accepted = preset is not None and preset.overlap is not None
    checks: list[Check] = []
    if (Overlap.ERROR in rules or task in _WITHOUT_OVERLAP) and not accepted:
        checks.append(_overlap)
    if Overlap.ONE_PER_DOCUMENT in rules or task in _ONE_PER_DOCUMENT:
        checks.append(_one_per_document)
    if any(measure.grouped for measure in measures) or task in _BY_DOCUMENT:
        checks.append(_interleaved)
    per_topic = None if preset is None else preset.topic_limit
    per_document = None if preset is None else preset.document_limit
    if per_topic is not None:
        checks.append(lambda run: _over_limit(run, per_topic, "topic", run.topic))
    if per_document is not None:
        checks.append(lambda run: _over_limit(run, per_document, "document", run.first))
    return checks


def _overlap(run: Run) -> Iterator[tuple[str, int, str]]:
    """Results that share text with an earlier one that is not the same result."""
    start, end, known = extents(run)
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


def _one_per_document(run: Run) -> Iterator[tuple[str, int, str]]:
    for row in run.repeats.tolist():
        line = int(run.line[run.first[row]])
        yield "document", row, f"a second result of {run.doc[row]!r} after line {line}"


def _interleaved(run: Run) -> Iterator[tuple[str, int, str]]:
    for row in run.returns.tolist():
        line = int(run.line[run.first[row]])
        yield "interleaved", row, f"results of {run.doc[row]!r} are apart, first on line {line}"


def _over_limit(run: Run, most: int, what: str, group: Ints) -> Iterator[tuple[str, int, str]]:
    size = np.maximum(run.end - np.maximum(run.start, 0), 0)
    read = np.zeros(len(run), dtype=np.int64)
    over = np.zeros(len(run), dtype=bool)
    for row, (number, length) in enumerate(zip(group.tolist(), size.tolist(), strict=True)):
        before = int(read[number])
        read[number] = before + length
        over[row] = before <= most < before + length
    for row in np.flatnonzero(over).tolist():
        topic = _topic(run, row)
        yield "limit", row, f"more than {most} characters for this {what} (topic {topic!r})"
