"""Everything that is wrong with a run or with topics, before anything is scored."""

from __future__ import annotations

import re
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from foveal.collection import Collection
from foveal.collection.placement import resolve_results
from foveal.errors import InputError, Problem
from foveal.evaluation.cas import tag_classes
from foveal.evaluation.presets import PRESETS, Preset, task_key
from foveal.evaluation.validation_markup import topics_again
from foveal.evaluation.validation_reading import declared_at, names_apart, noted, read_through
from foveal.evaluation.validation_rules import (
    BY_DOCUMENT,
    UNCHECKED,
    Check,
    contradictions,
    duplicates,
    impossible_paths,
    order,
    past_the_end,
    task_checks,
    too_many,
    unknown_topics,
)
from foveal.evaluation.validation_targets import (
    Classes,
    off_target,
    tags_in,
    unknown_tags,
)
from foveal.formats import Source, found_kind, read_topics
from foveal.formats.markup import is_xml
from foveal.formats.ranking import line_ranks
from foveal.model import Run, Topics
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
    """One thing wrong with a file, or not checked: its kind, where it is, what it is.

    >>> print(Finding("order", "a.run", 3, "rank 2 after 3"))
    a.run:3: rank 2 after 3 [order]
    """

    kind: str
    file: str
    line: int | None
    message: str

    @property
    def is_fault(self) -> bool:
        """Whether something is wrong; what could not be checked may be right."""
        return self.kind != UNCHECKED

    def __str__(self) -> str:
        problem = str(Problem(self.file, self.line, self.message))
        first, *more = problem.split("\n")  # of a query, with a mark under the place
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
    """What is wrong with a file of a run or of topics; that it cannot be opened is one of these."""
    try:
        source = Source.open(path)
    except InputError as error:
        return _findings("file", error.problems)
    try:
        source = source.in_lines()
    except InputError as error:
        return _findings("format", error.problems)
    if _holds_topics(source):
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


def _holds_topics(source: Source) -> bool:
    try:
        return found_kind(source) == "topics"
    except InputError:
        return False  # the reader of runs says what is wrong


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
    """What is wrong with a run, in the order of its lines.

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
    given = path if isinstance(path, Source) else Source.open(path)
    source, run, problems = read_through(given)
    found = _findings("format", problems)
    if run is None:
        return _in_order(found)
    found += _findings("format", noted(run))
    found += _findings("format", topics_again(source) if is_xml(source) else ())
    found += _findings("run", names_apart(source))
    found += _findings("task", _declared(run, source, preset))
    ranks = line_ranks(source, run) if run.rank is None else run.rank
    nowhere: set[int] = set()
    if collection is not None:
        run, problems = resolve_results(run, collection)
        found += _findings("place", problems)
        nowhere = {problem.line for problem in problems if problem.line is not None}
    task = _bare(run.task or "") if preset is None else _bare(preset.name)
    checks: list[Check] = [
        # Within a document the order says nothing where results are grouped by document.
        lambda r: order(r, ranks, by_score=task not in BY_DOCUMENT),
        duplicates,
        lambda r: too_many(r, max_results),
        *task_checks(preset, task),
    ]
    if collection is not None:
        checks += [past_the_end, lambda r: contradictions(r, collection)]
    else:
        checks.append(impossible_paths)
    if topics is not None:
        checks.append(lambda r: unknown_topics(r, topics))
    if task in _STRICT:
        if castitles is None:
            message = "targets were not checked: the task is strict, and castitles are not given"
            found.append(Finding(UNCHECKED, run.source.path, None, f"{message} (--topics-file)"))
        else:
            checks.append(
                lambda r: off_target(
                    r,
                    castitles,
                    topics=topics,
                    classes=classes,
                    collection=collection,
                    skipped=nowhere,
                )
            )
    for check in checks:
        found += [
            Finding(kind, source.path, int(run.line[row]), message)
            for kind, row, message in check(run)
        ]
    return _in_order(found)


def _findings(kind: str, problems: Iterable[Problem]) -> list[Finding]:
    return [Finding(kind, *problem) for problem in problems]


def _in_order(found: Iterable[Finding]) -> list[Finding]:
    return sorted(found, key=lambda finding: (finding.line or 0, finding.kind))


# -- tasks -------------------------------------------------------------------------------------


def _bare(task: str) -> str:
    """The name of a task without year and kind of topics, whatever its spelling."""
    return re.sub(r"[^a-z]", "", task_key(task.rpartition(".")[2]))


def _declared(run: Run, source: Source, preset: Preset | None) -> Iterator[Problem]:
    """A declared task that is not the one of the preset, or that nobody knows."""
    if run.task is None or (preset is not None and preset.is_for(run.task)):
        return
    message = f"declares the task {run.task}, not {preset.name}" if preset is not None else ""
    if preset is None:
        names = {_bare(name): name.partition(".")[2] for name in PRESETS}
        key = _bare(run.task)
        if key in names:
            return
        near = get_close_matches(key, names, 1)
        hint = f"did you mean {names[near[0]]}?" if near else "as in Thorough, CO.Focussed or SSCAS"
        message = f"declares the task {run.task!r}, which is not known; {hint}"
    yield Problem(source.path, declared_at(source), message)


# -- topics and tags ---------------------------------------------------------------------------


def validate_topics(
    path: str | Source, *, collection: Collection | None = None, classes: Classes = ()
) -> list[Finding]:
    """What is wrong with topics: their format, and castitles that are not NEXI.

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
            accepted = ", accepted in lenient mode only" if _is_lenient(topic.structure) else ""
            where = topics.problem(i, f"topic {topic.id!r}{accepted}: {error}")
            found.append(Finding("castitle", *where))
            continue
        if collection is not None and isinstance(query, CAS):
            tags = [tag for part in (query.target, *query.support) for tag in tags_in(part)]
            found += [
                Finding("tag", *topics.problem(i, f"castitle of topic {topic.id!r}: {said}"))
                for said in unknown_tags(tags, collection, classes)
            ]
    return found


def _is_lenient(castitle: str) -> bool:
    try:
        parse(castitle, lenient=True)
    except NexiError:
        return False
    return True


def validate_classes(texts: Iterable[str], collection: Collection) -> list[Finding]:
    """Tags that the collection does not hold, in classes of tags that are spelled out.

    Those that go by a name, as ``ieee``, are of another collection often enough.
    """
    spelled = tag_classes(text for text in texts if "=" in text)
    tags = sorted(set().union(*spelled))
    return [Finding("tag", "--tag-classes", None, said) for said in unknown_tags(tags, collection)]
