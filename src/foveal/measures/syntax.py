"""The text form of a measure: ``Name(parameter=value,...)@cutoff``."""

from __future__ import annotations

import re
from difflib import get_close_matches

from foveal.errors import UsageError
from foveal.measures.base import CURVE, Measure
from foveal.measures.registry import registered

__all__ = ["find_measure", "parse_measure", "parse_measures"]

_FORM = re.compile(
    r"\s*(?P<name>[^()@\s]+)\s*(?:\((?P<settings>[^()]*)\))?\s*(?:@(?P<at>.*))?", re.DOTALL
)


def find_measure(name: str) -> Measure:
    """The measure of this name or alias; case is ignored only where one name then fits.

    >>> find_measure("MAgP"), find_measure("aip")
    (AgP, AiP)
    """
    measures = registered()
    spellings = {alias: m for m in measures.values() for alias in (m.name, *m.aliases)}
    if name in spellings:
        return spellings[name]
    folded = {s for s in spellings if s.casefold() == name.casefold()}
    distinct = {spellings[s].name for s in folded}
    if len(distinct) == 1:
        return measures[distinct.pop()]
    if distinct:
        listed = ", ".join(sorted(folded))
        raise UsageError(f"measure {name!r} could be any of {listed}; write it exactly")
    by_fold: dict[str, str] = {}
    for spelling in spellings:
        by_fold.setdefault(spelling.casefold(), spelling)
    near = [by_fold[s] for s in get_close_matches(name.casefold(), by_fold, 3, 0.5)]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UsageError(f"unknown measure {name!r}{hint} ('foveal measures' lists them)")


def parse_measures(text: str) -> tuple[Measure, ...]:
    """One measure, or with ``@curve`` all points of its curve.

    >>> parse_measures("iP@0.01")
    (iP@0.01,)
    >>> len(parse_measures("iP@curve"))
    101
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise UsageError(
            f"cannot read measure {text!r}; expected Name(parameter=value,...)@cutoff, "
            "as in gP(beta=0.25)@10"
        )
    measure = find_measure(form["name"])
    settings: dict[str, str] = {}
    for item in (form["settings"] or "").split(","):
        if not item.strip():
            continue
        name, equals, value = item.partition("=")
        if not equals or not value.strip():
            raise UsageError(f"cannot read {item.strip()!r} in {text!r}; expected parameter=value")
        if name.strip() in settings:
            raise UsageError(f"parameter {name.strip()!r} is given twice in {text!r}")
        settings[name.strip()] = value.strip().strip("\"'")
    measure = measure(**settings)
    at = None if form["at"] is None else form["at"].strip()
    if at == CURVE:
        if not measure.curve:
            raise UsageError(f"{measure.name} has no curve")
        return tuple(measure @ point for point in measure.curve)
    if at is not None:
        measure = measure @ at
    measure.check()
    return (measure,)


def parse_measure(text: str) -> Measure:
    """One measure from its text form.

    >>> parse_measure("MAgP(n=500,score=BEP)")
    AgP(score=BEP)
    """
    parsed = parse_measures(text)
    if len(parsed) > 1:
        raise UsageError(f"{text!r} is a curve of {len(parsed)} measures; use parse_measures")
    return parsed[0]
