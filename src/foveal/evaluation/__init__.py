"""Evaluations: official settings, topic policy, checks, and the official evaluator's tables."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foveal.evaluation.evaluation import Evaluation, evaluate
    from foveal.evaluation.preparation import Options
    from foveal.evaluation.presets import PRESETS, Preset, find_preset

__all__ = [
    "CAS_READINGS",
    "OVERLAP_POLICIES",
    "PRESETS",
    "TOPIC_POLICIES",
    "UNDEFINED_POLICIES",
    "Evaluation",
    "Options",
    "Preset",
    "evaluate",
    "find_preset",
]

# Values of `Options` for the command line; the first policy of topics and scores is the default.
TOPIC_POLICIES = ("judged", "run", "both")
UNDEFINED_POLICIES = ("skip", "zero")
OVERLAP_POLICIES = ("error", "drop", "union", "allow")
CAS_READINGS = ("VV", "SV", "VS", "SS")

_HOME = {
    "Options": "foveal.evaluation.preparation",
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
