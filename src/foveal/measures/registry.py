"""The registry: every measure of this package, and those that installed packages bring along.

A module here or in a folder below that defines a `Measure` with a name is all it takes to add
one. Another package names its classes as entry points of the group ``foveal.measures``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from foveal.errors import UsageError
from foveal.measures.base import Measure

__all__ = ["GROUP", "all_measures", "registered"]

GROUP = "foveal.measures"
"""The group of entry points by which other packages register their measures."""
_DECLARED = ("name", "formula", "source", "example")


def _subclasses(cls: type[Measure]) -> Iterator[type[Measure]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _order(measure: Measure) -> tuple[float, int, str, int]:
    """By section of the specification, then by declared place, then by place in the source."""
    first_line = type(measure).score_topic.__code__.co_firstlineno
    return float(measure.section), measure.place, type(measure).__module__, first_line


def _brought_along(points: Iterable[EntryPoint], own: Iterable[Measure]) -> list[Measure]:
    """The measures of other packages, by name; a bad one is refused with who brought it."""
    taken = {word: "Foveal itself" for m in own for word in (m.name, *m.aliases)}
    found: list[Measure] = []
    for point in sorted(points, key=lambda p: (p.name, p.value)):
        origin = f"{point.name} = {point.value}"
        try:
            cls = point.load()
        except Exception as error:  # whatever the module of somebody else raises
            raise _refused(origin, f"cannot be loaded ({type(error).__name__}: {error})") from error
        if not (isinstance(cls, type) and issubclass(cls, Measure)):
            raise _refused(origin, "is not a subclass of foveal.Measure")
        lacking = [word for word in _DECLARED if not hasattr(cls, word)]
        if lacking:
            raise _refused(origin, f"does not declare {', '.join(lacking)}")
        measure = cls()
        for word in (measure.name, *measure.aliases):
            if word in taken:
                raise _refused(origin, f"takes the name {word!r}, which is that of {taken[word]}")
            taken[word] = origin
        found.append(measure)
    return found


def _refused(origin: str, why: str) -> UsageError:
    return UsageError(
        f"the measure of the entry point {origin!r} ({GROUP}) {why}; "
        "mend or remove the package that brings it"
    )


@cache
def registered() -> MappingProxyType[str, Measure]:
    """Name to measure, with all parameters at their defaults, in the order of listing.

    Measures of other packages come last.
    """
    import foveal.measures as package

    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    classes = [
        cls()
        for cls in _subclasses(Measure)
        if "name" in vars(cls) and cls.__module__.startswith(f"{package.__name__}.")
    ]
    own = sorted(classes, key=_order)
    listed = [*own, *_brought_along(entry_points(group=GROUP), own)]
    return MappingProxyType({m.name: m for m in listed})


def all_measures() -> tuple[Measure, ...]:
    """Every measure, in the order of listing."""
    return tuple(registered().values())
