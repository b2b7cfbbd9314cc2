"""Assessed elements of any format: one scale, one entry for each path, sizes that are possible."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import Problem
from foveal.formats.checks import TOO_FAR, Defects
from foveal.formats.fields import MAX_OFFSET
from foveal.formats.grades import GRADES, check_grades, marked
from foveal.formats.xpaths import ELEMENT, canonical_paths

__all__ = ["ELEMENT_COLUMNS", "Assessed", "assessed_elements"]

ELEMENT_COLUMNS: dict[str, type[pl.DataType]] = {
    "xpath": pl.String,
    "exhaustivity": pl.String,
    "specificity": pl.String,
    "relevance": pl.String,
    "coverage": pl.String,
    "size": pl.Int64,
    "rsize": pl.Int64,
}
"""What an assessed element may carry."""

_SIZED = ("2005", "2006")
_TELLING = {"2002": ("relevance", "coverage"), "2003": ("specificity",), "2005": ("exhaustivity",)}
"""Scale to the grades of which one tells it where those of the scales before it are absent."""


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
    problems = problems + _check_paths(defects, frame)
    known = ~(frame["exhaustivity"].eq("U") | frame["specificity"].eq("U")).fill_null(value=False)
    if found is not None:
        problems += check_grades(defects, frame, found, known.to_numpy())
        problems += _check_sizes(defects, frame, required=found in _SIZED)
    if scale is not None:
        problems += _check_foreign(defects, frame, scale)
    defects.raise_if(problems)
    elements = frame.filter(known).with_columns(canonical_paths(frame["xpath"].filter(known)))
    return Assessed(elements, found, known.to_numpy())


def _scale(frame: pl.DataFrame, defects: Defects) -> str | None:
    """The scale of the elements by the grades they have; one file has one."""
    if not len(frame):
        return None
    tells = pl.lit("2006")
    for scale, grades in reversed(_TELLING.items()):
        tells = (
            pl.when(pl.any_horizontal(pl.col(grades).is_not_null()))
            .then(pl.lit(scale))
            .otherwise(tells)
        )
    scales = frame.select(tells.alias("scale")).to_series()
    first = str(scales[0])
    other = (scales != first).to_numpy()
    message = f"grades of the scale of {{}}, but the first element has those of {first}"
    defects.raise_if([*defects.at(np.flatnonzero(other)[:1], message, scales)])
    return first


def _check_foreign(defects: Defects, frame: pl.DataFrame, scale: str) -> list[Problem]:
    """Grades that the declared scale does not have."""
    every = dict.fromkeys(name for grades in GRADES.values() for name in grades)
    return [
        problem
        for name in every
        if name not in GRADES[scale]
        for problem in defects.at(
            frame[name].is_not_null().to_numpy(),
            f"{name} {{!r}} is no grade of the scale of {scale}, which the header declares",
            frame[name],
        )
    ]


def _check_paths(defects: Defects, frame: pl.DataFrame) -> list[Problem]:
    path = frame["xpath"]
    problems = [*defects.at(path.is_null().to_numpy(), "element without a path")]
    bad = ~path.str.contains(ELEMENT).fill_null(value=True).to_numpy()
    problems += defects.at(
        bad, "{!r} is not the path of an element; expected /path[1]/of[1]/element[2]", path
    )
    entry = pl.DataFrame({"row": frame["row"], "xpath": canonical_paths(path)})
    first = entry.select(pl.struct("row", "xpath").is_first_distinct()).to_series()
    again = (~first & path.is_not_null()).to_numpy()
    return [*problems, *defects.at(again, "element {!r} comes twice for one document", path)]


def _check_sizes(defects: Defects, frame: pl.DataFrame, *, required: bool) -> list[Problem]:
    problems: list[Problem] = []
    for name in ("size", "rsize"):
        size = frame[name]
        problems += defects.at(marked(size < 0), f"{name} {{}} is negative", size)
        problems += defects.at(marked(size > MAX_OFFSET), f"{name} {{}} {TOO_FAR}", size)
        if required:
            absent = size.is_null().to_numpy()
            problems += defects.at(absent, f"{name} is missing; expected a number of characters")
    more = marked(frame["rsize"] > frame["size"])
    message = "rsize {} is more than size {}"
    return [*problems, *defects.at(more, message, frame["rsize"], frame["size"])]
