"""The registry: every measure of this package, found by importing its modules.

A module that defines a `Measure` with a name is all it takes to add one.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import MappingProxyType

from foveal.measures.base import Measure

__all__ = ["all_measures", "registered"]


def _subclasses(cls: type[Measure]) -> Iterator[type[Measure]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _order(measure: Measure) -> tuple[float, int, str, int]:
    """By section of the specification, then by declared place, then by place in the source."""
    first_line = type(measure).calculate.__code__.co_firstlineno
    return float(measure.section), measure.place, type(measure).__module__, first_line


@cache
def registered() -> MappingProxyType[str, Measure]:
    """Name to measure, with all parameters at their defaults, in the order of listing."""
    import foveal.measures as package

    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    found = [
        cls()
        for cls in _subclasses(Measure)
        if "name" in vars(cls) and cls.__module__.startswith(package.__name__)
    ]
    return MappingProxyType({m.name: m for m in sorted(found, key=_order)})


def all_measures() -> tuple[Measure, ...]:
    """Every measure, in the order of listing."""
    return tuple(registered().values())
