"""Assessed elements of any format: one scale, one entry for each path, sizes that are possible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import Problem
from foveal.formats.checks import TOO_FAR, Defects
from foveal.formats.fields import MAX_OFFSET
from foveal.formats.grades import GRADE_RULES, GRADES, KNOWN, Rule, check_rules
from foveal.formats.xpaths import ELEMENT, canonical_paths

__all__ = ["ELEMENT_COLUMNS", "OF_POOLS", "UNKNOWN_GRADES", "Assessed", "assessed_elements"]

ELEMENT_COLUMNS: dict[str, type[pl.DataType]] = {
    "xpath": pl.String,
    "exhaustivity": pl.String,
    "specificity": pl.String,
    "relevance": pl.String,
    "coverage": pl.String,
    "size": pl.Int64,
    "rsize": pl.Int64,
    "inpool": pl.String,
    "inferred": pl.String,
}
"""What an assessed element may carry."""

OF_POOLS = ("inpool", "inferred")
"""How an assessment came about; nothing depends on it, and most files do not say."""

UNKNOWN_GRADES = "elements of unknown grade (U)"

_SIZED = ("2005", "2006")
_TELLING = {"2002": ("relevance", "coverage"), "2003": ("specificity",), "2005": ("exhaustivity",)}
"""Scale to the grades of which one tells it where those of the scales before it are absent."""


_TELLS = pl.coalesce(
    *(
        pl.when(pl.any_horizontal(pl.col(grades).is_not_null())).then(pl.lit(scale))
        for scale, grades in _TELLING.items()
    ),
    pl.lit("2006"),
)

_PATH_RULES = (
    Rule(pl.col("xpath").is_null(), "element without a path"),
    Rule(
        ~pl.col("xpath").str.contains(ELEMENT),
        "{!r} is not the path of an element; expected /path[1]/of[1]/element[2]",
        ("xpath",),
    ),
    Rule(
        ~pl.struct("row", "canonical").is_first_distinct() & pl.col("xpath").is_not_null(),
        "element {!r} comes twice for one document",
        ("xpath",),
    ),
)
_SIZES = ("size", "rsize")
_SIZE_RULES = (
    *(Rule(pl.col(name) < 0, f"{name} {{}} is negative", (name,)) for name in _SIZES),
    *(Rule(pl.col(name) > MAX_OFFSET, f"{name} {{}} {TOO_FAR}", (name,)) for name in _SIZES),
    Rule(pl.col("rsize") > pl.col("size"), "rsize {} is more than size {}", ("rsize", "size")),
)
_REQUIRED = tuple(
    Rule(pl.col(name).is_null(), f"{name} is missing; expected a number of characters")
    for name in _SIZES
)


class Assessed(NamedTuple):
    """Checked elements with every ordinal in their paths, and the scale of their grades."""

    elements: pl.DataFrame
    scale: str | None
    known: npt.NDArray[np.bool_]
    """Which of the given elements these are; of the others the grades are unknown (``U``)."""


def assessed_elements(
    frame: pl.DataFrame, defects: Defects, problems: list[Problem], *, scale: str | None = None
) -> Assessed:
    """The elements of a file, refused if they contradict themselves, each other or the scale.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns of `ELEMENT_COLUMNS` and ``row``, the judgement each element belongs to.
    defects : Defects
        Where each element stands.
    problems : list of Problem
        What is wrong with them already.
    scale : str, optional
        As the file declares it; else the grades tell.
    """
    found = scale or _scale(frame, defects)
    canonical = canonical_paths(frame["xpath"])
    rules = [*_PATH_RULES]
    if found is not None:
        rules += [*GRADE_RULES[found], *_SIZE_RULES, *(_REQUIRED if found in _SIZED else ())]
    if scale is not None:
        rules += _foreign(scale)
    whole = frame.hstack([canonical.alias("canonical")])
    defects.raise_if(problems + check_rules(defects, whole, rules))
    known = frame.select(KNOWN).to_series()
    elements = frame.clone().replace_column(frame.get_column_index("xpath"), canonical)
    if not known.all():
        elements = elements.filter(known)
    for name in OF_POOLS:
        if elements[name].null_count() == len(elements):
            elements.drop_in_place(name)
    return Assessed(elements, found, known.to_numpy())


def _scale(frame: pl.DataFrame, defects: Defects) -> str | None:
    """The scale of the elements by the grades they have; one file has one."""
    if not len(frame):
        return None
    for scale, grades in _TELLING.items():
        absent = [frame[name].null_count() for name in grades]
        if 0 in absent:
            return scale
        if min(absent) < len(frame):
            break
    else:
        return "2006"
    scales = frame.select(_TELLS.alias("scale")).to_series()
    first = str(scales[0])
    other = np.flatnonzero(scales.to_numpy() != first)
    message = f"grades of the scale of {{}}, but the first element has those of {first}"
    defects.raise_if([*defects.at("unclassified", other[:1], message, scales)])
    return first


def _foreign(scale: str) -> Iterator[Rule]:
    """Grades that the declared scale does not have."""
    for name in dict.fromkeys(name for grades in GRADES.values() for name in grades):
        if name not in GRADES[scale]:
            message = (
                f"{name} {{!r}} is no grade of the scale of {scale}, which the header declares"
            )
            yield Rule(pl.col(name).is_not_null(), message, (name,))
