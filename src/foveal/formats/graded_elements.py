"""Assessed elements of any format: one scale of grades, one entry for each path, possible sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import Problem
from foveal.formats.rows import RowRule, check_rules, range_rule
from foveal.formats.xpaths import ELEMENT, canonical_paths

GRADES = {  # scale to its grades, each with the pattern of its values
    "2002": {"relevance": "[0-3]", "coverage": "[ELSN]"},
    "2003": {"exhaustivity": "[0-3]", "specificity": "[0-3]"},
    "2005": {"exhaustivity": "[012?]"},
    "2006": {},
}
_GRADE_NAMES = ("exhaustivity", "specificity", "relevance", "coverage")
SIZES = ("size", "rsize")
WHITESPACE = ("keep", "merge", "strip")  # how white space counts in lengths and offsets
OF_POOLS = ("inpool", "inferred")  # how an element was assessed; most files lack them
ELEMENT_COLUMNS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("xpath", *_GRADE_NAMES), pl.String),
    **dict.fromkeys(SIZES, pl.Int64),
    **dict.fromkeys(OF_POOLS, pl.String),
}
UNKNOWN_GRADES = "elements of unknown grade (U)"


def mark_positive(elements: pl.DataFrame, scale: str | None) -> pl.Series:
    """Mark elements that hold something relevant: a grade above 0, or highlighted text."""
    grade = "relevance" if scale == "2002" else "exhaustivity"
    signs = {grade: pl.col(grade).str.contains("^[1-9]"), "rsize": pl.col("rsize") > 0}
    given = [sign.fill_null(value=False) for name, sign in signs.items() if name in elements]
    return elements.select(pl.any_horizontal(pl.lit(value=False), *given)).to_series()


def mark_relevant(
    elements: pl.DataFrame | None, n: int, scale: str | None
) -> npt.NDArray[np.bool_]:
    """Mark which of `n` rows have an element that holds something relevant."""
    relevant = np.zeros(n, dtype=bool)
    if elements is not None:
        relevant[elements["row"].filter(mark_positive(elements, scale)).to_numpy()] = True
    return relevant


# -- rules -----------------------------------------------------------------------------------------

# Elements that are judged: ``U`` is unknown.
_KNOWN = ~((pl.col("exhaustivity") == "U") | (pl.col("specificity") == "U")).fill_null(value=False)
# Pairs of grades that exclude each other: what is too small is not highly relevant; what is not
# relevant has no coverage and is not specific.
_CONTRADICTIONS = {
    "2002": ((pl.col("relevance") == "3") & (pl.col("coverage") == "S"))
    | ((pl.col("relevance") == "0") != (pl.col("coverage") == "N")),
    "2003": (pl.col("exhaustivity") == "0") & pl.col("specificity").is_in(["1", "2", "3"]),
}


def _list_rules(scale: str | None) -> Iterator[RowRule]:
    """Yield the rules of a scale: its own grades, pairs that agree, and possible sizes."""
    path = pl.col("xpath")
    bad = ~path.str.contains(ELEMENT).fill_null(value=False)
    again = ~pl.struct("row", "canonical").is_first_distinct() & path.is_not_null()
    expected = "expected /path[1]/of[1]/element[2]"
    yield RowRule("element.path", bad, f"path {{xpath}} of an element; {expected}")
    yield RowRule("element.repeated", again, "element {xpath} comes twice for one document")
    if scale is None:
        return
    grades = GRADES[scale]
    for name in _GRADE_NAMES:
        broken, expected = pl.col(name).is_not_null(), "none"
        if name in grades:
            broken = ~pl.col(name).str.contains(f"^{grades[name]}$").fill_null(value=False)
            expected = "one of " + " ".join(grades[name].strip("[]").replace("0-3", "0123"))
        message = f"{name} {{{name}}}; expected {expected} on the scale of {scale}"
        yield RowRule("element.grade", broken & _KNOWN, message)
    if scale in _CONTRADICTIONS:
        pair = " and ".join(f"{name} {{{name}}}" for name in grades)
        yield RowRule("element.grade", _CONTRADICTIONS[scale], f"{pair} exclude each other")
    for name in SIZES:
        missing = pl.col(name).is_null() & (scale not in _CONTRADICTIONS)
        yield RowRule("element.size", missing, f"{name} is missing; the scale of {scale} needs it")
    more = pl.col("rsize") > pl.col("size")
    yield RowRule("element.size", more, "rsize {rsize} is more than size {size}")


_RULES = {scale: tuple(_list_rules(scale)) for scale in (None, *GRADES)}


def find_wrong_elements(path: str, elements: pl.DataFrame, scale: str | None) -> list[Problem]:
    """Find elements that are repeated or break a rule of the scale."""
    whole = elements.with_columns(canonical=canonical_paths(elements["xpath"]))
    return check_rules(path, whole, _RULES[scale])


class GradedElements(NamedTuple):
    """The elements of known grade, with every ordinal in their paths; `known` marks their rows."""

    elements: pl.DataFrame
    scale: str | None
    known: npt.NDArray[np.bool_]
    problems: list[Problem]


def check_elements(frame: pl.DataFrame, path: str, scale: str | None = None) -> GradedElements:
    """Check the elements of a file against themselves, each other and the scale.

    `frame` has the columns of `ELEMENT_COLUMNS`, where sizes may be texts, ``line``, and ``row``,
    the judgement of each element. The grades show a scale that is not declared.
    """
    problems = check_rules(path, frame, [range_rule(name, "element.size") for name in SIZES])
    frame = frame.cast(dict.fromkeys(SIZES, pl.Int64), strict=False)
    if scale is None and len(frame):
        years = {"relevance": 2002, "coverage": 2002, "specificity": 2003, "exhaustivity": 2005}
        shown = (pl.when(pl.col(n).is_not_null()).then(pl.lit(f"{x}")) for n, x in years.items())
        scales = frame.select(pl.coalesce(*shown, pl.lit("2006"))).to_series()
        scale = str(scales[0])
        for other in (scales != scale).arg_true()[:1]:
            text = f"grades of the scale of {scales[other]}, but the first element has those of "
            problems += [Problem("element.scale", path, frame["line"][other], text + scale)]
    # A wrong size is also missing, and a second scale makes all its grades wrong: say it once.
    problems = problems or find_wrong_elements(path, frame, scale)
    known = frame.select(_KNOWN).to_series().to_numpy()
    elements = frame.with_columns(canonical_paths(frame["xpath"])).filter(known)
    unused = [name for name in OF_POOLS if elements[name].null_count() == len(elements)]
    return GradedElements(elements.drop(unused), scale, known, problems)
