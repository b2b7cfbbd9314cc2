"""Is a difference real, does a measure measure: significance, correlation, fidelity, pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foveal.analysis.comparison import Comparison, compare, significant_pairs
    from foveal.analysis.correlation import Correlations, correlate
    from foveal.analysis.fidelity import Fidelity
    from foveal.analysis.pooling import Pooling, pool
    from foveal.analysis.score_matrix import ScoreMatrix
    from foveal.analysis.simulation import Ordering, Simulation, expected_orderings, simulate
    from foveal.analysis.stability import power_of, swaps_of
    from foveal.analysis.tasks import by_task

__all__ = [
    "Comparison",
    "Correlations",
    "Fidelity",
    "Ordering",
    "Pooling",
    "ScoreMatrix",
    "Simulation",
    "by_task",
    "compare",
    "correlate",
    "expected_orderings",
    "pool",
    "power_of",
    "significant_pairs",
    "simulate",
    "swaps_of",
]

_HOME = {
    "comparison": ("Comparison", "compare", "significant_pairs"),
    "correlation": ("Correlations", "correlate"),
    "fidelity": ("Fidelity",),
    "pooling": ("Pooling", "pool"),
    "score_matrix": ("ScoreMatrix",),
    "simulation": ("Ordering", "Simulation", "expected_orderings", "simulate"),
    "stability": ("power_of", "swaps_of"),
    "tasks": ("by_task",),
}


def __getattr__(name: str) -> Any:
    """Load a module only when one of its names is asked for."""
    import importlib

    for module, names in _HOME.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
