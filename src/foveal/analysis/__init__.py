"""Is a difference real, does a measure measure: significance, correlation, fidelity, pools."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foveal.analysis.comparison import compare
    from foveal.analysis.correlation import correlate
    from foveal.analysis.fidelity import simulate
    from foveal.analysis.pooling import pool

__all__ = ["compare", "correlate", "pool", "simulate"]

_HOME = {
    "compare": "comparison",
    "correlate": "correlation",
    "pool": "pooling",
    "simulate": "fidelity",
}


def __getattr__(name: str) -> Any:
    """Load a module only when its function is asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
