"""Check a run or topics for everything that is wrong, before anything is scored."""

from __future__ import annotations

import re
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal.collection import Collection
from foveal.collection.placement import is_element, place_elements, resolve_results
from foveal.errors import InputError, Problem
from foveal.evaluation import rules
from foveal.evaluation.cas_filter import describe_unknown_tags
from foveal.evaluation.presets import PRESETS, Preset, normalise_task
from foveal.evaluation.rules import BY_DOCUMENT, Rule, align_alone, list_task_rules
from foveal.files.source import Source, is_xml
from foveal.formats import detect_kind, parse_file, read_topics
from foveal.formats.inex_runs import find_repeated_topics
from foveal.formats.lines import find_other_names, line_ranks, list_notes
from foveal.formats.markup import read_markup
from foveal.formats.objects import find_header
from foveal.model import Run, Topics
from foveal.nexi import CAS, NexiError, list_tags, matches, parse
from foveal.spans import Ints

Classes = tuple[frozenset[str], ...]

MOST_RESULTS = 1500  # results per topic that INEX accepted in a submission

_STRICT = ("sscas", "svcas", "scas")  # tasks whose answers must be the targets of the castitles
UNCHECKED = "run.unchecked"  # the code of checks that were not possible; all others are faults


def validate(
    path: str | Path | Source,
    *,
    preset: Preset | None = None,
    collection: Collection | None = None,
    topics: Topics | None = None,
    classes: Classes = (),
    max_results: int = MOST_RESULTS,
    texts: Mapping[str, str] | None = None,
) -> list[Problem]:
    """List what is wrong with a run in the order of its lines, or with topics.

    Bad lines are named, and the others are checked as if these were not there. The rules are those
    of the preset, else of the task that the run declares. A collection adds documents and paths
    that it does not hold, and results past the end. In answers, citations that are not valid are
    problems; `texts` of documents show which quotes and ranges are. Topics add unknown topics and,
    for strict tasks, results that are not the target of the topic's castitle, with `classes` of
    equivalent tags.
    """
    try:
        source = path if isinstance(path, Source) else Source.open(path).in_lines()
    except InputError as error:
        return [*error.problems]
    kind: str | None = None
    with suppress(InputError):  # the reader of runs reports what is wrong
        kind = detect_kind(source)
    if kind == "topics":
        return validate_topics(source, collection=collection, classes=classes)
    run, found = parse_file(source, "run", texts)
    if run is None:
        return _sort(found)
    if run.answers is not None:
        return _sort(found + run.answers.list_problems(source.path))
    found += list_notes(run)
    ranks, declared_at = run.rank, find_header(source)[1] or None
    if is_xml(source):
        markup = read_markup(source)
        found += find_repeated_topics(markup)
        declared_at = int(markup.line[0])
    else:
        found += find_other_names(source, run)
        ranks = line_ranks(source, run) if ranks is None else ranks
    task = _find_task(run.task or "") if preset is None else _find_task(preset.name)
    wrong_task = ""
    if run.task is not None and preset is not None and not preset.is_for(run.task):
        wrong_task = f"declares the task {run.task}, not {preset.name}"
    elif run.task is not None and preset is None and task not in map(_find_task, PRESETS):
        known = "as in Thorough, CO.Focussed, SSCAS"
        wrong_task = f"declares the task {run.task!r}, which is not known; {known}"
    if wrong_task:
        found.append(Problem("run.task", source.path, declared_at, wrong_task))
    nowhere: set[int] = set()
    checks: dict[Rule, tuple[Any, ...]] = {rules.DUPLICATE: ()}
    checks |= {rules.TOO_MANY: (max_results,), rules.PAST_END: ()}
    if collection is None:
        checks[rules.IMPOSSIBLE_PATH] = ()
    else:
        found += rules.CONTRADICTION.list_problems(align_alone(run), collection)
        run, problems = resolve_results(run, collection)
        found += problems
        nowhere = {problem.line for problem in problems if problem.line is not None}
    # The order within a document is free where results are grouped by document.
    checks[rules.ORDER] = (ranks, task not in BY_DOCUMENT)
    if topics is not None:
        checks[rules.UNKNOWN_TOPIC] = (topics.ids,)
    measures, overlap = ((), None) if preset is None else (preset.measures, preset.overlap)
    checks |= dict.fromkeys(list_task_rules(task, measures, overlap), ())
    alone = align_alone(run)
    for rule, given in checks.items():
        found += rule.list_problems(alone, *given)
    for most, unit in () if preset is None else preset.limits:
        placed = align_alone(run.take(run.start >= 0))
        found += rules.UNKNOWN_LENGTH.list_problems(placed, most, unit)
        found += rules.LIMIT.list_problems(alone, most, unit)
        elements = run.line[run.start < 0]
        if len(elements):
            text = f"the limit of {most} characters per {unit} was not checked: {len(elements)}"
            text += " results are XPaths (--collection INDEX tells places)"
            found.append(Problem(UNCHECKED, source.path, int(elements[0]), text))
    if task in _STRICT and topics is not None:
        found += (
            Problem(code, source.path, int(run.line[row]), text)
            for code, row, text in find_off_target(run, topics, collection, classes, nowhere)
        )
    elif task in _STRICT:
        text = "targets were not checked: the task is strict, and castitles are not given"
        found.append(Problem(UNCHECKED, source.path, None, f"{text} (--topics-file)"))
    return _sort(found)


def _sort(found: Iterable[Problem]) -> list[Problem]:
    return sorted(found, key=lambda problem: (problem.line or 0, problem.code))


def _find_task(name: str) -> str:
    """Return the key of a task without year and kind of topics, whatever its spelling."""
    return re.sub(r"[^a-z]", "", normalise_task(name.rpartition(".")[2]))


# -- topics and tags ---------------------------------------------------------------------------


def validate_topics(
    path: str | Source, *, collection: Collection | None = None, classes: Classes = ()
) -> list[Problem]:
    """List what is wrong with topics: their format, and castitles that are not NEXI.

    A collection adds tags in the castitles that it does not hold.
    """
    try:
        topics = read_topics(path)
    except InputError as error:
        return [*error.problems]
    found: list[Problem] = []
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
            text = f"topic {topic.id!r}{accepted}: {error}"
            found.append(topics.problem("topics.castitle", i, text))
            continue
        if collection is not None and isinstance(query, CAS):
            steps = [step for path in (query.target, *query.support) for step in path.steps]
            tags = [name for step in steps if not step.attribute for name in step.names]
            tags = [tag for tag in tags if tag != "*"]
            found += (
                topics.problem("topics.unknown_tag", i, f"castitle of topic {topic.id!r}: {text}")
                for text in describe_unknown_tags(tags, collection.header["tags"], classes)
            )
    return found


# -- targets -----------------------------------------------------------------------------------


def find_off_target(
    run: Run,
    topics: Topics,
    collection: Collection | None = None,
    classes: Classes = (),
    skipped: Names[int] = (),
) -> Iterator[tuple[str, int, str]]:
    """Find results that the castitle of their topic does not ask for, and impossible checks.

    Yields the code, the row and the text of each problem. The run is on the text of `collection`,
    which is needed for results given by offsets; `skipped` are lines of results without a place.
    """
    named, is_skipped = is_element(run), np.isin(run.line, list(skipped))
    castitles, ids = topics.castitles, set(topics.ids)
    unnamed: list[int] = []
    for topic, start, end in zip(
        run.topics, run.bounds[:-1].tolist(), run.bounds[1:].tolist(), strict=True
    ):
        if topic not in ids:
            continue
        if topic not in castitles:
            yield UNCHECKED, start, f"topic {topic!r} has no castitle; targets were not checked"
            continue
        try:
            query = parse(castitles[topic], lenient=True)
        except NexiError as error:
            yield "topics.castitle", start, f"castitle of topic {topic!r}: {error}"
            continue
        if not isinstance(query, CAS):
            message = "asks for no structure; targets were not checked"
            yield UNCHECKED, start, f"castitle of topic {topic!r} {message}"
            continue
        # Each result with the elements it may be, and the beginning of a message about it.
        candidates: list[tuple[int, list[str], str]] = []
        rows = np.arange(start, end)
        if run.xpath is not None:
            own = rows[named[start:end]].tolist()
            candidates += [(row, [run.xpath[row]], f"{run.xpath[row]} is") for row in own]
        others = rows[~(named | is_skipped)[start:end]]
        if collection is None:
            unnamed += others.tolist()
        else:
            for row, paths, exact in _find_elements(run, others, collection):
                place = f"[{run.start[row]},{run.end[row]})"
                verb = "is" if exact else "lies in"
                candidates.append((row, paths, f"{place} {verb} {paths[-1]},"))
        is_target: dict[tuple[tuple[str, ...], ...], bool] = {}
        for row, paths, beginning in candidates:
            tags = tuple(map(list_tags, paths))
            if tags not in is_target:
                is_target[tags] = any(matches(query.target, own, classes) for own in tags)
            if not is_target[tags]:
                yield "run.target", row, f"{beginning} not a target of {query}"
    if unnamed:
        what = f"targets of {len(unnamed)} results that are not named as elements were not checked"
        text = f"{what}; a collection (--collection) tells which elements they are"
        yield UNCHECKED, unnamed[0], text


def _find_elements(
    run: Run, rows: Ints, collection: Collection
) -> Iterator[tuple[int, list[str], bool]]:
    """Yield the elements of each result from the outside in, and whether they equal it.

    They are the elements of the same extent, else the smallest around. Results past the end of
    their document have none.
    """
    assert run.length is not None
    rows = rows[(run.start[rows] >= 0) & (run.end[rows] <= run.length[rows])]
    if not len(rows):
        return
    own = run.take(np.isin(np.arange(len(run)), rows))
    placed = place_elements(own, collection, snap=True)
    exact = (placed.start == own.start) & (placed.end == own.end)
    assert placed.xpath is not None
    left, above = np.arange(len(rows)), placed.xpath
    paths = [[path] for path in above.to_list()]
    while len(left):
        above = above.str.replace(r"/[^/]*$", "")
        left, above = left[(above != "").to_numpy()], above.filter(above != "")
        found = collection.resolve(placed.doc.gather(left), above)
        same = (found.start == placed.start[left]) & (found.end == placed.end[left])
        left, above = left[same], above.filter(pl.Series(same))
        for i, path in zip(left.tolist(), above, strict=True):
            paths[i].insert(0, path)
    yield from zip(rows.tolist(), paths, exact.tolist(), strict=True)
