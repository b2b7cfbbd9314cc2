"""Measures of focused retrieval: the registry, the alignment of a run, and one file per family.

Every registered measure is an attribute of this package: ``from foveal.measures import iP``.
"""

from __future__ import annotations

from foveal.errors import UsageError
from foveal.measures.measure import (
    Cutoff,
    Measure,
    Need,
    OverlapRule,
    Parameter,
    all_measures,
    find_measure,
    load_registry,
    parse_measure,
    parse_measures,
)

__all__ = [
    "Cutoff",
    "Measure",
    "Need",
    "OverlapRule",
    "Parameter",
    "all_measures",
    "find_measure",
    "load_registry",
    "parse_measure",
    "parse_measures",
]


def __getattr__(name: str) -> Measure:
    try:
        found = None if name.startswith("_") else find_measure(name)
    except UsageError:
        found = None
    if found is None or name not in (found.name, *found.aliases):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
