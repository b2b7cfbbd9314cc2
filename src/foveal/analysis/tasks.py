"""Results to compare and rank: given or scored from runs, and grouped by task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from foveal.analysis.score_matrix import check_assessors, select_labels
from foveal.errors import UsageError, shorten_list
from foveal.evaluation import PRESETS, evaluate, find_preset
from foveal.evaluation.presets import normalise_task
from foveal.formats import read_run
from foveal.measures import Measure, parse_measures
from foveal.model import Results, Run


def take_or_score(
    given: Any,
    judgements: Any,
    measures: str | Measure | Sequence[str | Measure],
    options: Mapping[str, Any],
    *,
    tasks: Sequence[str] = (),
    notes: list[str] | None = None,
    score: Callable[..., Results] = evaluate,
) -> list[Results]:
    """Return the scores of runs for each task, or results as they are, by `measures` if any.

    Points of the curves of official tasks are dropped unless they are among `measures`. Runs are
    scored for the tasks that they declare; with one task, runs that declare none belong to it, too.
    Runs and tasks left out are added to `notes`. Results are not scored again.
    """
    asked = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    several = isinstance(given, Iterable) and not isinstance(given, (Results, Run, str, Path))
    listed = list(given) if several else [given]
    if listed and all(isinstance(item, Results) for item in listed):
        if judgements is not None or options or tasks:
            raise UsageError(
                "results are not scored again; leave out judgements, tasks and options"
            )
        known = list(dict.fromkeys(label for part in listed for label in part.measures))
        wanted, parts = select_labels(known, asked), list[Results]()
        for part in listed:
            check_assessors(part)
            own = [label for label in wanted if label in part.measures]
            if own or not wanted:
                parts.append(part.only(own) if own else drop_curves(part))
        return parts
    for item in listed or [None]:
        if not isinstance(item, (Run, str, Path)):
            raise UsageError(f"{item!r} is not a run; expected results, or runs and judgements")
    if judgements is None:
        raise UsageError("runs need judgements; saved results are read by read_results")
    check_assessors(options)
    if not tasks:
        return [drop_curves(score(listed, judgements, asked, **options), asked)]
    presets = {preset.name: preset for preset in map(find_preset, tasks)}
    read = [run if isinstance(run, Run) else read_run(run) for run in listed]
    parts, left_out, remarks = [], read, [] if notes is None else notes
    for name, preset in presets.items():
        members = [
            run for run in read if (preset.is_for(run.task) if run.task else len(presets) == 1)
        ]
        left_out = [run for run in left_out if run not in members]
        if members:
            results = score(members, judgements, asked, task=name, **options)
            parts.append(drop_curves(results, asked))
        else:
            remarks.append(f"{name}: no run declares this task")
    if not parts:
        raise UsageError(f"no run declares a task of --task; expected {' or '.join(presets)}")
    if left_out:
        named = shorten_list([run.name for run in left_out])
        remarks.append(f"runs left out that declare no task of --task, {len(left_out)}: {named}")
    return parts


def drop_curves(results: Results, measures: Sequence[str | Measure] = ()) -> Results:
    """Drop the points of the curves of official tasks that are not among `measures`.

    A curve describes a run as a whole; its hundred points are not a hundred measures to compare.
    """
    tasks = {meta.get("task") for meta in results.meta.get("parts", [results.meta])}
    texts = [text for task in tasks if task in PRESETS for text in PRESETS[task].texts]
    curves, single = set[str](), set[str]()
    for text in (*texts, *map(str, measures)):
        is_curve = text in texts and text.endswith("@curve")
        (curves if is_curve else single).update(measure.label for measure in parse_measures(text))
    kept = [label for label in results.measures if label not in curves - single]
    return results.only(kept or results.measures)


def group_by_task(parts: Sequence[Results], notes: list[str]) -> dict[str, Results]:
    """Group results by the official task that they were scored for, or that their runs declare.

    Runs that declare no task join the others if these declare a single one; else they are ranked
    by themselves. A note says so.

    >>> rows = [(run, "1", "AP", 0.5) for run in "abc"]
    >>> declared = {"a": "Focused", "b": "Thorough", "c": "FOCUSED"}
    >>> found = group_by_task([Results.from_tidy(rows, {"tasks": declared})], [])
    >>> {task: results.runs for task, results in found.items()}
    {'Focused': ('a', 'c'), 'Thorough': ('b',)}
    """
    official: dict[str, list[Results]] = {}
    declared: dict[str, list[Results]] = {}
    free: list[Results] = []
    spelled: dict[str, str] = {}
    for part in parts:
        check_assessors(part)
        if preset := part.meta.get("task"):
            official.setdefault(preset, []).append(part)
            continue
        free.append(part)
        runs: dict[str, list[str]] = {}
        for run in part.runs:
            task = part.meta.get("tasks", {}).get(run) or ""
            runs.setdefault(spelled.setdefault(normalise_task(task), task), []).append(run)
        for task, own in runs.items():
            declared.setdefault(task, []).append(part.of_runs(own))
    known = [task for task in declared if task]
    silent = list(dict.fromkeys(run for part in declared.get("", ()) for run in part.runs))
    if known and silent:
        which = f"with those of {known[0]}" if len(known) == 1 else "by themselves"
        notes.append(
            f"runs without a task are ranked {which}, {len(silent)}: {shorten_list(silent)}"
        )
    if free and len(known) < 2:
        declared = {"": free}
    for task, listed in declared.items():
        official.setdefault(task, []).extend(listed)
    return {task: Results.joined(listed) for task, listed in official.items()}
