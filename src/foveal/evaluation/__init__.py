"""Evaluations: official settings, topic policy, checks, and the official evaluator's tables."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foveal.evaluation.evaluation import Evaluation as Evaluation
    from foveal.evaluation.evaluation import evaluate as evaluate
    from foveal.evaluation.preparation import Options as Options
    from foveal.evaluation.presets import PRESETS as PRESETS
    from foveal.evaluation.presets import Preset as Preset
    from foveal.evaluation.presets import find_preset as find_preset

# Values of `Options` for the command line; the first policy of topics and scores is the default.
TOPIC_POLICIES = ("judged", "run", "both")
UNDEFINED_POLICIES = ("skip", "zero")
OVERLAP_POLICIES = ("error", "drop", "union", "allow")
CAS_READINGS = ("VV", "SV", "VS", "SS")

_HOME = {
    "evaluation": ("Evaluation", "evaluate"),
    "preparation": ("Options",),
    "presets": ("PRESETS", "Preset", "find_preset"),
}


def __getattr__(name: str) -> Any:
    """Load what is asked for only: a command line knows its options before it works with arrays."""
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
