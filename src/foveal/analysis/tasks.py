"""Runs by task: what was submitted to one task is ranked together, and with its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from foveal.errors import UsageError, some
from foveal.evaluation import PRESETS, Preset, find_preset
from foveal.evaluation.presets import task_key
from foveal.measures import parse_measures
from foveal.model import Results, Run
from foveal.model.results import list_differences

__all__ = ["by_task", "results_by_task", "scored_by_task", "without_curves"]

Declared = tuple[str, str | None]
"""The name of a run and the task it declares."""


def by_task(runs: Sequence[Run], tasks: Sequence[str], warnings: list[str]) -> dict[str, list[Run]]:
    """Preset, or declared task, to its runs; what is left out or stands alone goes to `warnings`.

    >>> runs = [Run.from_results({"1": [("D1", 0, 9)]}, name=name) for name in ("a", "b")]
    >>> {task: [run.name for run in group] for task, group in by_task(runs, [], []).items()}
    {'': ['a', 'b']}
    """
    presets = {find_preset(task).name: find_preset(task) for task in tasks}
    if presets:
        return _by_preset(runs, presets, warnings)
    groups = _by_declared([(run.name, run.task) for run in runs], warnings)
    return {task: [runs[place] for place in places] for task, places in groups.items()}


def _by_preset(
    runs: Sequence[Run], presets: Mapping[str, Preset], warnings: list[str]
) -> dict[str, list[Run]]:
    """Each run with every task of -t that it declares; of one task, also what declares none."""
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
        declared = f"the task {task}, which is none of -t" if task else "no task"
        warnings.append(f"runs left out that declare {declared}, {len(names)}: {some(names)}")
    for name, members in groups.items():
        if not members:
            warnings.append(f"{name}: no run declares this task")
    found = {name: members for name, members in groups.items() if members}
    if not found:
        raise UsageError(f"no run declares a task of -t; expected {' or '.join(presets)}")
    return found


def _by_declared(runs: Sequence[Declared], warnings: list[str]) -> dict[str, list[int]]:
    """Task to the places of its runs; all together where there is but one task.

    A run that declares nothing may be of any task. Where others declare a single one it goes with
    them, as it would with a single -t; where they declare several it cannot, and a ranking of its
    own is made of those. Either way it is said.
    """
    groups: dict[str, list[int]] = {}
    spelled: dict[str, str] = {}
    for place, (_, task) in enumerate(runs):
        key = task_key(task or "")
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
    """Results by the official task they were scored for, or as `by_task` groups their runs.

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
    # A run stands in several parts if each has other measures.
    declared = list(dict.fromkeys(pair for _, part in free for pair in _declared(part)))
    for task, places in _by_declared(declared, warnings).items():
        members = {declared[place] for place in places}
        for name, part in free:
            runs = [pair[0] for pair in _declared(part) if pair in members]
            if runs:
                groups.setdefault(task, []).append((name, part.of_runs(runs)))
    found: dict[str, Results] = {}
    for task, listed in groups.items():
        own, of_task = [name for name, _ in listed], [part for _, part in listed]
        said = f"{task}: " if len(groups) > 1 and task else ""
        warnings += [f"{said}{line}" for line in list_differences(of_task, own)]
        found[task] = Results.joined(of_task, own)
    return found


def _declared(part: Results) -> list[Declared]:
    tasks = part.meta.get("tasks", {})
    return [(run, tasks.get(run)) for run in part.runs]


def scored_by_task(
    runs: Sequence[Run],
    tasks: Sequence[str],
    own: Sequence[str],
    score: Callable[[list[Run], str | None], Results],
    warnings: list[str],
) -> dict[str, Results]:
    """Task to the results of its runs, without points of curves that are not among `own`.

    ``score(runs, preset)`` is called once for each task.
    """
    groups = by_task(runs, tasks, warnings)
    presets = {find_preset(task).name for task in tasks}
    found: dict[str, Results] = {}
    for task, members in groups.items():
        results = score(members, task if task in presets else None)
        said = f"{task}: " if len(groups) > 1 and task else ""
        warnings += [f"{said}{line}" for line in results.meta["warnings"]]
        found[task] = without_curves(results, own)
    return found


def without_curves(results: Results, own: Iterable[str] = ()) -> Results:
    """Results of official tasks without the points of their curves, except measures of `own`.

    A curve is one picture of a run; its hundred points are not a hundred measures to compare.
    """
    tasks = {meta.get("task") for meta in results.meta.get("parts", [results.meta])}
    curves, single = set[str](), set(own)
    # A task that is not known here has no curves that could be known.
    presets = [PRESETS[task] for task in tasks if task in PRESETS]
    for text in (text for preset in presets for text in preset.texts):
        labels = {measure.label for measure in parse_measures(text)}
        (curves if text.endswith("@curve") else single).update(labels)
    kept = [label for label in results.measures if label not in curves - single]
    return results.only(kept or results.measures)
