"""Official settings: what the organisers of each year's tasks reported."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from foveal.errors import UsageError
from foveal.measures import Measure, parse_measures

__all__ = ["PRESETS", "Preset", "find_preset"]


@dataclass(frozen=True)
class Preset:
    """The official settings of one task.

    Parameters
    ----------
    name : str
        ``YEAR.Task``.
    texts : tuple of str
        Measures in text form.
    overlap : str, optional
        Overlap policy where it is not the measure's own.
    topic_limit, document_limit : int, optional
        Most characters that may be returned per topic, or per document of a topic.
    """

    name: str
    texts: tuple[str, ...]
    overlap: str | None = None
    topic_limit: int | None = None
    document_limit: int | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        return tuple(measure for text in self.texts for measure in parse_measures(text))

    def is_for(self, declared: str) -> bool:
        """Whether a run that declares this task is meant for the preset."""
        task = _canonical("".join(declared.split())).casefold()
        return task in (self.name.casefold(), self.name.partition(".")[2].casefold())


_FOCUSED = ("iP@0.00", "iP@0.01", "iP@0.05", "iP@0.10", "AiP")


def _in_context(settings: str) -> tuple[str, ...]:
    inside = f"({settings})" if settings else ""
    return (f"AgP{inside}", *(f"gP{inside}@{k}" for k in (5, 10, 25, 50)))


def _presets() -> dict[str, Preset]:
    found = [Preset(f"{year}.Focused", _FOCUSED) for year in (2007, 2008, 2009)]
    for year in (2007, 2008, 2009):
        beta, n = ("", "score=BEP,n=1000") if year == 2007 else ("beta=0.25", "score=BEP,n=500")
        found.append(Preset(f"{year}.RelevantInContext", _in_context(beta)))
        found.append(Preset(f"{year}.BestInContext", _in_context(n)))
    found += [
        Preset("2009.Thorough", _FOCUSED, overlap="union"),
        Preset("2010.Efficiency", _FOCUSED, overlap="union"),
        Preset("2010.RelevantInContext", _in_context("score=T2I,irr=300")),
        Preset(
            "2010.RestrictedRelevantInContext",
            (*_in_context("beta=0.25"), *_in_context("score=T2I,irr=300")),
            document_limit=500,
        ),
        Preset("2010.RestrictedFocused", ("charP(budget=1000)",), topic_limit=1000),
    ]
    return {preset.name: preset for preset in sorted(found, key=lambda preset: preset.name)}


def _canonical(name: str) -> str:
    return name.replace("Focussed", "Focused").replace("AllInContext", "RelevantInContext")


PRESETS = _presets()
"""Name to preset, in the order of listing."""


def find_preset(name: str) -> Preset:
    """The preset of this name; both spellings of Focused and Relevant in Context are known.

    >>> find_preset("2008.AllInContext").name
    '2008.RelevantInContext'
    """
    canonical = _canonical(name)
    if canonical in PRESETS:
        return PRESETS[canonical]
    folded = {preset.casefold(): preset for preset in PRESETS}
    if canonical.casefold() in folded:
        return PRESETS[folded[canonical.casefold()]]
    near = get_close_matches(canonical.casefold(), folded, 3, 0.5)
    hint = f"; did you mean {' or '.join(folded[match] for match in near)}?" if near else ""
    raise UsageError(f"unknown task {name!r}{hint} ('foveal measures --presets' lists them)")
