"""From names to measures: the list of all measures, and their text form.

`FAMILIES` names the module of every measure, so that only the modules in use are imported. Another
package adds measures by entry points of the group ``foveal.measures``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from types import MappingProxyType

from foveal.errors import UsageError
from foveal.measures.base import CURVE, Measure

FAMILIES = {
    "precall": "inex_eval precall inex_eval_ng",
    "xcg": "xCG nxCG MAnxCG MAxCG ep gr MAep Aep iMAep Q Q-measure Rmeasure R-measure",
    "fetch_browse": "FBarticle FBelement",
    "characters": "HiP HiR HiF iP AiP MAiP charP char_prec charR char_rec charF char_f1",
    "evidence_sets": "answered evR evRR",
    "in_context": "gP gR gRw gR' AgP MAgP AgPw AgP' MAgP' igP BEPD",
    "eprum": "GR EPRUM EPRUMk PRUM",
    "t2i": "T2I T2IP T2IR T2Ieffort T2IcharP T2IcharR",
    "run_figures": (
        "P Precision R Recall AP MAP SetOverlap ListOverlap MeanOverlap Redundancy "
        "judged num_ret num_rel num_rel_ret ret_size rel_size rel_ret_size"
    ),
    "chunk_retrieval": "ce_recall ce_precision ce_iou ce_precision_omega lbr_precision lbr_recall",
    "biomedical": (
        "gen_document DOCUMENT gen_passage PASSAGE gen_aspect ASPECT gen_passage2 PASSAGE2 "
        "bio_precision bio_recall bio_f1 bio_ap bio_map"
    ),
    "answer_spans": "eraser_iou_p eraser_iou_r eraser_iou_f1 squad_f1",
}
"""Modules of this package in the order of listing, each with the names and aliases it defines."""

GROUP = "foveal.measures"
"""The group of entry points by which other packages register their measures."""
_DECLARED = ("name", "formula", "source", "example")
_FORM = re.compile(
    r"\s*(?P<name>[^()@\s]+)\s*(?:\((?P<settings>[^()]*)\))?\s*(?:@(?P<at>.*))?", re.DOTALL
)


@cache
def registered() -> MappingProxyType[str, Measure]:
    """Return all measures by name, with default parameters, in the order of listing.

    Measures of other packages come last.
    """
    from importlib.metadata import entry_points

    found = (find_exact(name) for names in FAMILIES.values() for name in names.split())
    own = list(dict.fromkeys(measure for measure in found if measure is not None))
    listed = [*own, *_load_entry_points(entry_points(group=GROUP), own)]
    return MappingProxyType({measure.name: measure for measure in listed})


def all_measures() -> tuple[Measure, ...]:
    """Return every measure in the order of listing."""
    return tuple(registered().values())


def _load_entry_points(points: Iterable[EntryPoint], own: Iterable[Measure]) -> list[Measure]:
    """Return the measures of other packages by name; refuse a bad one, naming its entry point."""
    taken = {word: "Foveal itself" for m in own for word in (m.name, *m.aliases)}
    found: list[Measure] = []
    for point in sorted(points, key=lambda p: (p.name, p.value)):
        origin = f"{point.name} = {point.value}"
        try:
            cls = point.load()
        except Exception as error:  # whatever another package's module raises
            problem = f"cannot be loaded ({type(error).__name__}: {error})"
            raise _refuse_entry_point(origin, problem) from error
        if not (isinstance(cls, type) and issubclass(cls, Measure)):
            raise _refuse_entry_point(origin, "is not a subclass of foveal.Measure")
        lacking = [word for word in _DECLARED if not hasattr(cls, word)]
        if lacking:
            raise _refuse_entry_point(origin, f"does not declare {', '.join(lacking)}")
        measure = cls()
        for word in (measure.name, *measure.aliases):
            if word in taken:
                problem = f"takes the name {word!r}, which is that of {taken[word]}"
                raise _refuse_entry_point(origin, problem)
            taken[word] = origin
        found.append(measure)
    return found


def _refuse_entry_point(origin: str, problem: str) -> UsageError:
    return UsageError(
        f"the measure of the entry point {origin!r} ({GROUP}) {problem}; "
        "mend or remove the package that brings it"
    )


def find_exact(name: str) -> Measure | None:
    """Return the measure of exactly this name or alias; only its family is imported."""
    for module, names in FAMILIES.items():
        if name in names.split():
            for cls in vars(import_module(f"foveal.measures.{module}")).values():
                if isinstance(cls, type) and issubclass(cls, Measure) and "name" in vars(cls):
                    measure = cls()
                    if name in (measure.name, *measure.aliases):
                        return measure
    return next((m for m in all_measures() if name in (m.name, *m.aliases)), None)


def find_measure(name: str) -> Measure:
    """Return the measure of this name or alias; case is ignored if only one name then fits.

    >>> find_measure("MAgP"), find_measure("aip")
    (AgP, AiP)
    """
    exact = find_exact(name)
    if exact is not None:
        return exact
    from difflib import get_close_matches

    measures = registered()
    spellings = {alias: m for m in measures.values() for alias in (m.name, *m.aliases)}
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
    """Parse one measure, or with ``@curve`` all points of its curve.

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
    measure = measure(**settings) if settings else measure
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
    """Parse one measure, written as ``Name(parameter=value,...)@cutoff``.

    >>> parse_measure("MAgP(n=500,score=BEP)")
    AgP(score=BEP)
    """
    parsed = parse_measures(text)
    if len(parsed) > 1:
        raise UsageError(f"{text!r} is a curve of {len(parsed)} measures; use parse_measures")
    return parsed[0]
