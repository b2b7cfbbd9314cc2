"""Foveal: evaluation of focused retrieval, character by character.

>>> import foveal
>>> truth = foveal.Judgements.from_highlights({"1": {"D2": {"spans": [(0, 50)], "length": 50}}})
>>> run = foveal.Run.from_results({"1": [("D2", 0, 40), ("D1", 20, 30)]})
>>> foveal.evaluate(run, truth, "charP").aggregate()
{'run': {'charP': 0.8}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foveal._version import __version__
from foveal.errors import FovealError, FovealWarning, InputError, UsageError

if TYPE_CHECKING:
    from foveal.adapters import judgements_of, run_of
    from foveal.analysis.agreement import agreement
    from foveal.analysis.axioms import axioms
    from foveal.analysis.budgets import budget_curves, with_tokens
    from foveal.analysis.comparison import compare
    from foveal.analysis.copies import merge_copies, same_text
    from foveal.analysis.correlation import correlate
    from foveal.analysis.fidelity import fidelity, simulate
    from foveal.analysis.pooling import pool
    from foveal.analysis.projection import Segmentation, project
    from foveal.evaluation import Evaluation, Options, evaluate
    from foveal.files.source import limit_bytes
    from foveal.formats import (
        read_judgements,
        read_pool,
        read_results,
        read_run,
        read_topics,
        write_judgements,
        write_pool,
        write_run,
        write_topics,
    )
    from foveal.measures import Measure, parse_measure, parse_measures
    from foveal.model import Judgements, Results, Run, Topics

__all__ = [
    "Evaluation",
    "FovealError",
    "FovealWarning",
    "InputError",
    "Judgements",
    "Measure",
    "Options",
    "Results",
    "Run",
    "Segmentation",
    "Topics",
    "UsageError",
    "__version__",
    "agreement",
    "axioms",
    "budget_curves",
    "compare",
    "correlate",
    "evaluate",
    "fidelity",
    "judgements_of",
    "limit_bytes",
    "merge_copies",
    "parse_measure",
    "parse_measures",
    "pool",
    "project",
    "read_judgements",
    "read_pool",
    "read_results",
    "read_run",
    "read_topics",
    "run_of",
    "same_text",
    "simulate",
    "with_tokens",
    "write_judgements",
    "write_pool",
    "write_run",
    "write_topics",
]

_HOME = {
    "foveal.adapters": ("judgements_of", "run_of"),
    "foveal.analysis.agreement": ("agreement",),
    "foveal.analysis.axioms": ("axioms",),
    "foveal.analysis.budgets": ("budget_curves", "with_tokens"),
    "foveal.analysis.comparison": ("compare",),
    "foveal.analysis.copies": ("merge_copies", "same_text"),
    "foveal.analysis.correlation": ("correlate",),
    "foveal.analysis.fidelity": ("fidelity", "simulate"),
    "foveal.analysis.pooling": ("pool",),
    "foveal.analysis.projection": ("Segmentation", "project"),
    "foveal.evaluation": ("Evaluation", "Options", "evaluate"),
    "foveal.formats": (
        "read_judgements",
        "read_pool",
        "read_results",
        "read_run",
        "read_topics",
        "write_judgements",
        "write_pool",
        "write_run",
        "write_topics",
    ),
    "foveal.files.source": ("limit_bytes",),
    "foveal.measures": ("Measure", "parse_measure", "parse_measures"),
    "foveal.model": ("Judgements", "Results", "Run", "Topics"),
}


def __dir__() -> list[str]:
    """List the public names, loaded or not, for completion in Python."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Load the heavy parts only when they are asked for."""
    import importlib

    for module, names in _HOME.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
