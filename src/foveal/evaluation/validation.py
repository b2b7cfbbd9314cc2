"""Check a run or topics for everything that is wrong, before anything is scored."""

from __future__ import annotations

import re
from collections.abc import Collection as Names
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from foveal.collection import Collection
from foveal.collection.placement import resolve_results
from foveal.errors import InputError, Problem
from foveal.evaluation.cas import tag_classes
from foveal.evaluation.presets import PRESETS, Preset, task_key
from foveal.evaluation.validation_rules import (
    BY_DOCUMENT,
    UNCHECKED,
    find_contradictions,
    find_disorder,
    find_duplicates,
    find_excess,
    find_forbidden,
    find_impossible_paths,
    find_past_the_end,
    find_unknown_topics,
)
from foveal.evaluation.validation_targets import Classes, off_target, tags_in, unknown_tags
from foveal.files.source import Source
from foveal.formats import found_kind, read_topics
from foveal.formats.markup import is_xml, read_markup
from foveal.formats.objects import header_of
from foveal.formats.remarks import (
    find_other_names,
    find_repeated_topics,
    line_ranks,
    list_notes,
    read_tolerantly,
)
from foveal.model import Topics
from foveal.nexi import CAS, NexiError, parse

__all__ = [
    "MOST_RESULTS",
    "Finding",
    "validate",
    "validate_classes",
    "validate_file",
    "validate_topics",
]

MOST_RESULTS = 1500
"""Results per topic that INEX accepted in a submission."""

_STRICT = ("sscas", "svcas", "scas")
"""Tasks whose answers must be the targets of the castitles."""


@dataclass(frozen=True)
class Finding:
    """A problem of a file, or a check that was not possible: its kind, place and message.

    >>> print(Finding("order", "a.run", 3, "rank 2 after 3"))
    a.run:3: rank 2 after 3 [order]
    """

    kind: str
    file: str
    line: int | None
    message: str

    @property
    def is_fault(self) -> bool:
        """True if something is wrong; a check that was not possible is not a fault."""
        return self.kind != UNCHECKED

    def __str__(self) -> str:
        problem = str(Problem("unclassified", self.file, self.line, self.message))
        first, *more = problem.split("\n")  # a query, with a mark under the error
        return "\n".join([f"{first} [{self.kind}]", *more])


def validate_file(
    path: str | Path,
    *,
    preset: Preset | None = None,
    collection: Collection | None = None,
    topics: Topics | None = None,
    classes: Classes = (),
    max_results: int = MOST_RESULTS,
) -> list[Finding]:
    """List what is wrong with a file of a run or of topics, or that it cannot be opened."""
    try:
        source = Source.open(path)
    except InputError as error:
        return _findings("file", error.problems)
    try:
        source = source.in_lines()
    except InputError as error:
        return _findings("format", error.problems)
    try:
        kind = found_kind(source)
    except InputError:
        kind = None  # the reader of runs reports what is wrong
    if kind == "topics":
        return validate_topics(source, collection=collection, classes=classes)
    return validate(
        source,
        preset=preset,
        collection=collection,
        topics=None if topics is None else topics.ids,
        castitles=None if topics is None else topics.castitles,
        classes=classes,
        max_results=max_results,
    )


def validate(
    path: str | Source,
    *,
    preset: Preset | None = None,
    collection: Collection | None = None,
    topics: Names[str] | None = None,
    castitles: Mapping[str, str] | None = None,
    classes: Classes = (),
    max_results: int = MOST_RESULTS,
) -> list[Finding]:
    """List what is wrong with a run, in the order of its lines.

    Bad lines are named, and the others are checked as if these were not there.

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
    classes : tuple of sets of tags
        Tags that targets take for each other.
    max_results : int
        Most results per topic.
    """
    source = path if isinstance(path, Source) else Source.open(path)
    run, problems = read_tolerantly(source)
    found = _findings("format", problems)
    if run is None:
        return _sort(found)
    found += _findings("format", list_notes(run))
    ranks, declared_at = run.rank, header_of(source)[1] or None
    if is_xml(source):
        markup = read_markup(source)
        found += _findings("format", find_repeated_topics(markup))
        declared_at = int(markup.line[0])
    else:
        found += _findings("run", find_other_names(source, run))
        ranks = line_ranks(source, run) if ranks is None else ranks
    task = _find_task(run.task or "") if preset is None else _find_task(preset.name)
    wrong_task = _check_task(run.task, preset)
    if wrong_task is not None:
        found.append(Finding("task", source.path, declared_at, wrong_task))
    nowhere: set[int] = set()
    if collection is not None:
        run, problems = resolve_results(run, collection)
        found += _findings("place", problems)
        nowhere = {problem.line for problem in problems if problem.line is not None}
    faults = [
        # The order within a document is free where results are grouped by document.
        *find_disorder(run, ranks, by_score=task not in BY_DOCUMENT),
        *find_duplicates(run),
        *find_excess(run, max_results),
        *find_forbidden(run, preset, task),
    ]
    if collection is None:
        faults += find_impossible_paths(run)
    else:
        faults += find_past_the_end(run)
        faults += find_contradictions(run, collection)
    if topics is not None:
        faults += find_unknown_topics(run, topics)
    if task in _STRICT and castitles is not None:
        faults += off_target(
            run, castitles, topics=topics, classes=classes, collection=collection, skipped=nowhere
        )
    elif task in _STRICT:
        message = "targets were not checked: the task is strict, and castitles are not given"
        found.append(Finding(UNCHECKED, source.path, None, f"{message} (--topics-file)"))
    found += [
        Finding(kind, source.path, int(run.line[row]), message) for kind, row, message in faults
    ]
    return _sort(found)


def _findings(kind: str, problems: Iterable[Problem]) -> list[Finding]:
    return [Finding(kind, *problem[1:]) for problem in problems]


def _sort(found: Iterable[Finding]) -> list[Finding]:
    return sorted(found, key=lambda finding: (finding.line or 0, finding.kind))


def _find_task(name: str) -> str:
    """Return the key of a task without year and kind of topics, whatever its spelling."""
    return re.sub(r"[^a-z]", "", task_key(name.rpartition(".")[2]))


def _check_task(declared: str | None, preset: Preset | None) -> str | None:
    """Say that a declared task is not the one of the preset, or is not known."""
    if declared is None:
        return None
    if preset is not None:
        wrong = not preset.is_for(declared)
        return f"declares the task {declared}, not {preset.name}" if wrong else None
    names = {_find_task(name): name.partition(".")[2] for name in PRESETS}
    key = _find_task(declared)
    if key in names:
        return None
    near = get_close_matches(key, names, 1)
    hint = f"did you mean {names[near[0]]}?" if near else "as in Thorough, CO.Focussed or SSCAS"
    return f"declares the task {declared!r}, which is not known; {hint}"


# -- topics and tags ---------------------------------------------------------------------------


def validate_topics(
    path: str | Source, *, collection: Collection | None = None, classes: Classes = ()
) -> list[Finding]:
    """List what is wrong with topics: their format, and castitles that are not NEXI.

    A collection adds tags in the castitles that it does not hold.
    """
    try:
        topics = read_topics(path)
    except InputError as error:
        return _findings("format", error.problems)
    found = []
    for i, topic in enumerate(topics):
        if topic.structure is None:
            continue
        try:
            query = parse(topic.structure)
        except NexiError as error:
            accepted = ""
            with suppress(NexiError):
                parse(topic.structure, lenient=True)
                accepted = ", accepted in lenient mode only"
            where = topics.problem("unclassified", i, f"topic {topic.id!r}{accepted}: {error}")
            found.append(Finding("castitle", *where[1:]))
            continue
        if collection is not None and isinstance(query, CAS):
            tags = [tag for part in (query.target, *query.support) for tag in tags_in(part)]
            found += [
                Finding(
                    "tag",
                    *topics.problem(
                        "unclassified", i, f"castitle of topic {topic.id!r}: {message}"
                    )[1:],
                )
                for message in unknown_tags(tags, collection, classes)
            ]
    return found


def validate_classes(texts: Iterable[str], collection: Collection) -> list[Finding]:
    """List tags that the collection does not hold, in classes of tags that are spelled out.

    Named classes such as ``ieee`` are not checked: they were made for another collection.
    """
    spelled = tag_classes(text for text in texts if "=" in text)
    tags = sorted(set().union(*spelled))
    return [
        Finding("tag", "--tag-classes", None, message) for message in unknown_tags(tags, collection)
    ]
