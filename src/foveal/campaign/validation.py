"""Everything that is wrong with a run, before it is scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Collection as Names
from dataclasses import dataclass

import numpy as np

from foveal import spans
from foveal.campaign.placing import unplaced
from foveal.campaign.presets import Preset
from foveal.collection import Collection
from foveal.errors import InputError
from foveal.formats import Source, read_run
from foveal.measures import Overlap
from foveal.model import Run
from foveal.nexi import CAS, NexiError, matches, parse, tags_of
from foveal.spans import Ints

__all__ = ["MOST_RESULTS", "Finding", "validate"]

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
        return f"{where}: {self.message} [{self.kind}]"


Check = Callable[[Run], Iterator[tuple[str, int, str]]]


def validate(
    path: str | Source,
    *,
    preset: Preset | None = None,
    collection: Collection | None = None,
    topics: Names[str] | None = None,
    castitles: dict[str, str] | None = None,
    max_results: int = MOST_RESULTS,
) -> list[Finding]:
    """What is wrong with a run, in the order of its lines.

    Parameters
    ----------
    path : path or Source of the run
    preset : Preset, optional
        The task: adds what its measures forbid and its limits.
    collection : Collection, optional
        Adds documents and paths that it does not hold, and results past the end.
    topics : collection of str, optional
        Adds topics that are not among these.
    castitles : mapping of topic to NEXI query, optional
        Adds, for runs that declare a strict task, results that are not its target.
    max_results : int
        Most results per topic.
    """
    source = path if isinstance(path, Source) else Source.open(path)
    try:
        run = read_run(source)
    except InputError as error:
        return [Finding("format", p.file, p.line, p.message) for p in error.problems]
    found = [Finding("format", source.path, None, note) for note in run.notes]
    if collection is not None:
        run, problems = unplaced(run, collection)
        found += [Finding("place", p.file, p.line, p.message) for p in problems]
    checks: list[Check] = [_order, _duplicates, lambda r: _too_many(r, max_results)]
    if collection is not None:
        checks.append(_past_the_end)
    if topics is not None:
        checks.append(lambda r: _unknown_topics(r, topics))
    if castitles is not None and run.task is not None and _is_strict(run.task):
        checks.append(lambda r: _off_target(r, castitles))
    if preset is not None:
        checks += _task_checks(preset)
        if run.task is not None and not preset.is_for(run.task):
            message = f"declares the task {run.task}, not {preset.name}"
            found.append(Finding("task", source.path, None, message))
    for check in checks:
        found += [
            Finding(kind, source.path, int(run.line[row]), message)
            for kind, row, message in check(run)
        ]
    return sorted(found, key=lambda finding: (finding.line or 0, finding.kind))


def _topic(run: Run, row: int) -> str:
    return run.topics[int(run.topic[row])]


def _order(run: Run) -> Iterator[tuple[str, int, str]]:
    """Scores that rise down the ranking."""
    if run.score is None:
        return
    rises = (run.score[1:] > run.score[:-1]) & (run.topic[1:] == run.topic[:-1])
    for row in (np.flatnonzero(rises) + 1).tolist():
        before, score = float(run.score[row - 1]), float(run.score[row])
        yield "order", row, f"score {score} is above {before} of the result ranked before it"


def _duplicates(run: Run) -> Iterator[tuple[str, int, str]]:
    for a, b in zip(*(rows.tolist() for rows in run.duplicates), strict=True):
        yield "duplicate", b, f"repeats the result on line {int(run.line[a])}"


def _too_many(run: Run, most: int) -> Iterator[tuple[str, int, str]]:
    for topic, start, end in zip(run.topics, run.bounds[:-1], run.bounds[1:], strict=True):
        if end - start > most:
            yield "length", int(start) + most, f"topic {topic!r} has more than {most} results"


def _past_the_end(run: Run) -> Iterator[tuple[str, int, str]]:
    assert run.length is not None
    past = (run.length >= 0) & (np.maximum(run.start, run.end) > run.length)
    for row in np.flatnonzero(past).tolist():
        yield "place", row, f"ends at {run.end[row]}, past the {run.length[row]} characters of it"


def _unknown_topics(run: Run, topics: Names[str]) -> Iterator[tuple[str, int, str]]:
    for topic, start in zip(run.topics, run.bounds[:-1].tolist(), strict=True):
        if topic not in topics:
            yield "topic", start, f"topic {topic!r} is not in the topic file"


def _is_strict(task: str) -> bool:
    """Whether the task wants exactly the target elements of the query."""
    return task.rpartition(".")[2].upper() in ("SSCAS", "SVCAS", "SCAS")


def _off_target(run: Run, castitles: dict[str, str]) -> Iterator[tuple[str, int, str]]:
    for number, topic in enumerate(run.topics):
        if topic not in castitles or run.xpath is None:
            continue
        start, end = int(run.bounds[number]), int(run.bounds[number + 1])
        try:
            query = parse(castitles[topic], lenient=True)
        except NexiError as error:
            yield "castitle", start, f"castitle of topic {topic!r}: {error.message}"
            continue
        if not isinstance(query, CAS):
            continue
        for row in range(start, end):
            path = run.xpath[row]
            if path is not None and not matches(query.target, tags_of(path)):
                yield "target", row, f"{path} is not a target of {query}"


def _task_checks(preset: Preset) -> list[Check]:
    rules = {measure.overlap for measure in preset.measures}
    checks: list[Check] = []
    if Overlap.ERROR in rules and preset.overlap is None:
        checks.append(_overlap)
    if Overlap.ONE_PER_DOCUMENT in rules:
        checks.append(_one_per_document)
    if any(measure.grouped for measure in preset.measures):
        checks.append(_interleaved)
    per_topic, per_document = preset.topic_limit, preset.document_limit
    if per_topic is not None:
        checks.append(lambda run: _over_limit(run, per_topic, "topic", run.topic))
    if per_document is not None:
        checks.append(lambda run: _over_limit(run, per_document, "document", run.first))
    return checks


def _overlap(run: Run) -> Iterator[tuple[str, int, str]]:
    earlier, later = spans.conflicts(*spans.side_by_side(run.start, run.end, run.first))
    for a, b in zip(earlier.tolist(), later.tolist(), strict=True):
        yield "overlap", b, f"overlaps the result on line {int(run.line[a])} of {run.doc[b]!r}"


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
