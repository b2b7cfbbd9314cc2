"""Runs by task: what was submitted to one task is ranked together, and with its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foveal.campaign import Preset, find_preset
from foveal.campaign.presets import task_key
from foveal.errors import UsageError
from foveal.model import Run

__all__ = ["by_task"]


def by_task(runs: Sequence[Run], tasks: Sequence[str], warnings: list[str]) -> dict[str, list[Run]]:
    """Preset, or declared task, to its runs; what is left out or stands alone goes to `warnings`.

    >>> runs = [Run.from_results({"1": [("D1", 0, 9)]}, name=name) for name in ("a", "b")]
    >>> {task: [run.name for run in group] for task, group in by_task(runs, [], []).items()}
    {'': ['a', 'b']}
    """
    presets = {find_preset(task).name: find_preset(task) for task in tasks}
    return _by_preset(runs, presets, warnings) if presets else _by_declared(runs, warnings)


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
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        warnings.append(f"runs left out that declare {declared}, {len(names)}: {shown}")
    for name, members in groups.items():
        if not members:
            warnings.append(f"{name}: no run declares this task")
    found = {name: members for name, members in groups.items() if members}
    if not found:
        raise UsageError(f"no run declares a task of -t; expected {' or '.join(presets)}")
    return found


def _by_declared(runs: Sequence[Run], warnings: list[str]) -> dict[str, list[Run]]:
    """Runs by the task they declare; all together where there is but one task."""
    groups: dict[str, list[Run]] = {}
    spelled: dict[str, str] = {}
    for run in runs:
        key = task_key(run.task or "")
        groups.setdefault(spelled.setdefault(key, run.task or ""), []).append(run)
    named = [task for task in groups if task]
    if len(named) < 2:
        return {"": list(runs)}
    if "" in groups:
        names = ", ".join(run.name for run in groups[""][:5])
        warnings.append(f"runs without a task are ranked by themselves, {len(groups[''])}: {names}")
    return groups
