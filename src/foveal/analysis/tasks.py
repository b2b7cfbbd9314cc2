"""Results to compare and rank: given, or scored from runs, together with others of their task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from foveal.analysis.score_matrix import check_assessors, select_labels
from foveal.errors import UsageError, some
from foveal.evaluation import PRESETS, evaluate, find_preset
from foveal.evaluation.evaluation import RunLike
from foveal.evaluation.presets import normalise_task
from foveal.formats import read_run
from foveal.measures import Measure, parse_measures
from foveal.model import Results, Run
from foveal.model.results import list_differences

__all__ = [
    "by_task",
    "list_unscored",
    "results_by_task",
    "score_by_task",
    "take_or_score",
    "without_curves",
]

Declared = tuple[str, str | None]
"""The name of a run and the task it declares."""


def list_unscored(
    given: Any, judgements: object, options: Mapping[str, object]
) -> list[Run | str | Path]:
    """Return the runs to score if runs are given, and an empty list if results are.

    Runs need judgements. Results take none, and no options, as they are not scored again.
    """
    several = isinstance(given, Iterable) and not isinstance(given, (Results, Run, str, Path))
    listed = list(given) if several else [given]
    if isinstance(given, Mapping) or all(isinstance(item, Results) for item in listed):
        if judgements is not None or options:
            raise UsageError(
                "results are not scored again; leave out judgements, tasks and options"
            )
        return []
    strange = [item for item in listed if not isinstance(item, (Run, str, Path))]
    if strange:
        raise UsageError(f"{strange[0]!r} is not a run; expected results, or runs and judgements")
    if judgements is None:
        raise UsageError(
            "runs need judgements to be scored against, and there are none; saved results are read "
            "by read_results"
        )
    check_assessors(options)
    return listed


def take_or_score(
    given: Any,
    judgements: Any,
    measures: str | Measure | Sequence[str | Measure],
    options: Mapping[str, Any],
) -> Results:
    """Return the scores of runs, or results as they are, restricted to `measures` if any.

    Points of the curves of official tasks are dropped unless they are among `measures`.
    """
    asked = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if runs := list_unscored(given, judgements, options):
        own = [measure.label for item in asked for measure in parse_measures(str(item))]
        return without_curves(evaluate(runs, judgements, asked, **options), own)
    if not isinstance(given, Results):
        raise UsageError(f"{given!r} is not a run; expected results, or runs and judgements")
    check_assessors(given)
    labels = select_labels(given.measures, asked)
    return given.only(labels) if labels else without_curves(given)


def by_task(runs: Sequence[Run], tasks: Sequence[str], warnings: list[str]) -> dict[str, list[Run]]:
    """Return the runs of each preset or declared task; warn about runs left out or ranked alone.

    A run belongs to every one of `tasks` that it declares. If there is one task, runs that declare
    none belong to it, too.

    >>> runs = [Run.from_results({"1": [("D1", 0, 9)]}, name=name) for name in ("a", "b")]
    >>> {task: [run.name for run in group] for task, group in by_task(runs, [], []).items()}
    {'': ['a', 'b']}
    """
    presets = {find_preset(task).name: find_preset(task) for task in tasks}
    if not presets:
        places = _by_declared([(run.name, run.task) for run in runs], warnings)
        return {task: [runs[place] for place in own] for task, own in places.items()}
    groups: dict[str, list[Run]] = {name: [] for name in presets}
    others: dict[str, list[str]] = {}
    for run in runs:
        fitting = [
            name
            for name, preset in presets.items()
            if (preset.is_for(run.task) if run.task else len(presets) == 1)
        ]
        for name in fitting:
            groups[name].append(run)
        if not fitting:
            others.setdefault(run.task or "", []).append(run.name)
    for task, names in others.items():
        declared = f"the task {task}, which is none of --task" if task else "no task"
        warnings.append(f"runs left out that declare {declared}, {len(names)}: {some(names)}")
    warnings += [f"{name}: no run declares this task" for name in groups if not groups[name]]
    if not any(groups.values()):
        raise UsageError(f"no run declares a task of --task; expected {' or '.join(presets)}")
    return {name: members for name, members in groups.items() if members}


def _by_declared(runs: Sequence[Declared], warnings: list[str]) -> dict[str, list[int]]:
    """Return the positions of the runs of each task; all runs together if there is one task.

    Runs that declare no task join the others if these declare a single one, as with a single -t.
    If the others declare several, they are ranked by themselves. Foveal warns in both cases.
    """
    groups: dict[str, list[int]] = {}
    spelled: dict[str, str] = {}
    for place, (_, task) in enumerate(runs):
        key = normalise_task(task or "")
        groups.setdefault(spelled.setdefault(key, task or ""), []).append(place)
    named = [task for task in groups if task]
    silent = [runs[place][0] for place in groups.get("", ())]
    if silent and named:
        which = f"with those of {named[0]}" if len(named) == 1 else "by themselves"
        warnings.append(f"runs without a task are ranked {which}, {len(silent)}: {some(silent)}")
    return {"": list(range(len(runs)))} if len(named) < 2 else groups


def results_by_task(
    parts: Sequence[Results], warnings: list[str], names: Sequence[str] = ()
) -> dict[str, Results]:
    """Group results by the official task they were scored for, or as `by_task` groups their runs.

    Warnings name the parts by `names`, such as their files.

    >>> rows = [(run, "1", "AP", 0.5) for run in "abc"]
    >>> declared = {"a": "Focused", "b": "Thorough", "c": "FOCUSED"}
    >>> found = results_by_task([Results.from_tidy(rows, {"tasks": declared})], [])
    >>> {task: results.runs for task, results in found.items()}
    {'Focused': ('a', 'c'), 'Thorough': ('b',)}
    """
    called = list(names) or [some(part.runs) for part in parts]
    groups: dict[str, list[tuple[str, Results]]] = {}
    free: list[tuple[str, Results]] = []
    for name, part in zip(called, parts, strict=True):
        preset = part.meta.get("task")
        (groups.setdefault(preset, []) if preset else free).append((name, part))
    declared = [
        [(run, part.meta.get("tasks", {}).get(run)) for run in part.runs] for _, part in free
    ]
    # A run is in several parts if each has other measures.
    every = list(dict.fromkeys(pair for own in declared for pair in own))
    for task, places in _by_declared(every, warnings).items():
        members = {every[place] for place in places}
        for (name, part), pairs in zip(free, declared, strict=True):
            if runs := [pair[0] for pair in pairs if pair in members]:
                groups.setdefault(task, []).append((name, part.of_runs(runs)))
    found: dict[str, Results] = {}
    for task, listed in groups.items():
        own, of_task = [name for name, _ in listed], [part for _, part in listed]
        said = f"{task}: " if len(groups) > 1 and task else ""
        warnings += [f"{said}{line}" for line in list_differences(of_task, own)]
        found[task] = Results.joined(of_task, own)
    return found


def score_by_task(
    runs: Sequence[RunLike],
    judgements: Any,
    measures: Sequence[str | Measure],
    tasks: Sequence[str],
    score: Callable[..., Results],
    warnings: list[str],
) -> dict[str, Results]:
    """Score the runs of each task, without points of curves that are not among `measures`.

    ``score(runs, judgements, measures, task=preset)`` is called once for each task.
    """
    read = [run if isinstance(run, Run) else read_run(run) for run in runs]
    own = [measure.label for item in measures for measure in parse_measures(str(item))]
    groups = by_task(read, tasks, warnings)
    presets = {find_preset(task).name for task in tasks}
    found: dict[str, Results] = {}
    for task, members in groups.items():
        preset = task if task in presets else None
        results = score(members, judgements, list(measures), task=preset)
        said = f"{task}: " if len(groups) > 1 and task else ""
        warnings += [f"{said}{line}" for line in results.meta["warnings"]]
        found[task] = without_curves(results, own)
    return found


def without_curves(results: Results, own: Iterable[str] = ()) -> Results:
    """Drop the points of the curves of official tasks, except measures of `own`.

    A curve describes a run as a whole; its hundred points are not a hundred measures to compare.
    """
    tasks = {meta.get("task") for meta in results.meta.get("parts", [results.meta])}
    curves, single = set[str](), set(own)
    presets = [PRESETS[task] for task in tasks if task in PRESETS]
    for text in (text for preset in presets for text in preset.texts):
        labels = {measure.label for measure in parse_measures(text)}
        (curves if text.endswith("@curve") else single).update(labels)
    kept = [label for label in results.measures if label not in curves - single]
    return results.only(kept or results.measures)
