"""Evaluations: official settings, topic policy, checks, and the official evaluator's tables."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foveal.evaluation.evaluation import Evaluation, evaluate
    from foveal.evaluation.presets import PRESETS, Preset, find_preset
    from foveal.evaluation.settings import Options

__all__ = ["PRESETS", "Evaluation", "Options", "Preset", "evaluate", "find_preset"]

_HOME = {
    "Options": "foveal.evaluation.settings",
    "PRESETS": "foveal.evaluation.presets",
    "Preset": "foveal.evaluation.presets",
    "find_preset": "foveal.evaluation.presets",
    "Evaluation": "foveal.evaluation.evaluation",
    "evaluate": "foveal.evaluation.evaluation",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for only: a command line knows its options before it works with arrays."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
