"""Is a difference real, does a measure measure: significance, correlation, fidelity, pools."""

from __future__ import annotations

from foveal.analysis.comparison import Comparison, compare, significant_pairs
from foveal.analysis.correlation_results import Correlations
from foveal.analysis.fidelity import Fidelity, fidelity
from foveal.analysis.pooling import Pooling, pool
from foveal.analysis.rankings import correlate
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
    "fidelity",
    "pool",
    "power_of",
    "significant_pairs",
    "simulate",
    "swaps_of",
]
