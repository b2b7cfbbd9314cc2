"""Assessed elements of any format: one scale of grades, one entry for each path, possible sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import Problem
from foveal.formats.checks import TOO_FAR, Defects
from foveal.formats.fields import MAX_OFFSET
from foveal.formats.xpaths import ELEMENT, canonical_paths

__all__ = [
    "ELEMENT_COLUMNS",
    "GRADES",
    "OF_POOLS",
    "UNKNOWN_GRADES",
    "GradedElements",
    "RowRule",
    "check_elements",
    "check_rules",
    "mark_positive",
    "mark_relevant",
]

GRADES = {
    "2002": {"relevance": "[0-3]", "coverage": "[ELSN]"},
    "2003": {"exhaustivity": "[0-3]", "specificity": "[0-3]"},
    "2005": {"exhaustivity": "[012?]"},
    "2006": {},
}
"""Scale to its grades, each with the pattern of its values."""

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
"""The columns of assessed elements."""

OF_POOLS = ("inpool", "inferred")
"""Columns that tell how an assessment came about; most files do not have them."""

UNKNOWN_GRADES = "elements of unknown grade (U)"

_SIZES = ("size", "rsize")
_TELLING = {"2002": ("relevance", "coverage"), "2003": ("specificity",), "2005": ("exhaustivity",)}
"""Scale to the grades that tell it, if those of the scales before it are absent."""


def mark_positive(elements: pl.DataFrame, scale: str | None) -> pl.Series:
    """Mark elements that hold something relevant: a grade above 0, or highlighted text.

    >>> elements = pl.DataFrame({"exhaustivity": ["2", "?"], "rsize": [None, 0]})
    >>> mark_positive(elements, "2005").to_list()
    [True, False]
    """
    grade = "relevance" if scale == "2002" else "exhaustivity"
    tells = {grade: pl.col(grade).str.contains("^[1-9]"), "rsize": pl.col("rsize") > 0}
    known = [told.fill_null(value=False) for name, told in tells.items() if name in elements]
    return elements.select(pl.any_horizontal(pl.lit(value=False), *known)).to_series()


def mark_relevant(
    elements: pl.DataFrame | None, n: int, scale: str | None
) -> npt.NDArray[np.bool_]:
    """Mark which of `n` rows have an element that holds something relevant."""
    relevant = np.zeros(n, dtype=bool)
    if elements is not None:
        relevant[elements["row"].filter(mark_positive(elements, scale)).to_numpy()] = True
    return relevant


# -- rules -----------------------------------------------------------------------------------------


class RowRule(NamedTuple):
    """A rule for rows of a table: which of them break it, and the message with their values."""

    code: str
    broken: pl.Expr
    message: str
    shown: tuple[str, ...] = ()


def check_rules(defects: Defects, frame: pl.DataFrame, rules: Sequence[RowRule]) -> list[Problem]:
    """Return a problem for each row that breaks a rule.

    All rules are evaluated in one query: campaigns have thousands of small files without a
    problem, and a query takes longer than its work.
    """
    marks = frame.select(
        rule.broken.fill_null(value=False).alias(str(i)) for i, rule in enumerate(rules)
    )
    return [
        problem
        for mark, rule in zip(marks, rules, strict=True)
        if mark.any()
        for problem in defects.at(
            rule.code, mark.to_numpy(), rule.message, *(frame[name] for name in rule.shown)
        )
    ]


_KNOWN = ~((pl.col("exhaustivity") == "U") | (pl.col("specificity") == "U")).fill_null(value=False)
"""Elements that are judged: ``U`` is unknown."""

_PATH_RULES = (
    RowRule("element.path", pl.col("xpath").is_null(), "element without a path"),
    RowRule(
        "element.path",
        ~pl.col("xpath").str.contains(ELEMENT),
        "{!r} is not the path of an element; expected /path[1]/of[1]/element[2]",
        ("xpath",),
    ),
    RowRule(
        "element.repeated",
        ~pl.struct("row", "canonical").is_first_distinct() & pl.col("xpath").is_not_null(),
        "element {!r} comes twice for one document",
        ("xpath",),
    ),
)


def _list_rules(scale: str) -> Iterator[RowRule]:
    """Yield the rules of a scale: its grades, pairs that agree, and possible sizes."""
    for name, pattern in GRADES[scale].items():
        grade = pl.col(name)
        absent = f"{name} is missing, the scale of {scale} has it"
        yield RowRule("element.grade", grade.is_null() & _KNOWN, absent)
        values = " ".join(pattern.strip("[]").replace("0-3", "0123"))
        other = f"{name} {{!r}} is not a grade of {scale}; expected one of {values}"
        is_other = ~grade.str.contains(f"^{pattern}$") & _KNOWN
        yield RowRule("element.grade", is_other, other, (name,))
    if scale == "2003":
        yield RowRule(
            "element.grade",
            (pl.col("exhaustivity") == "0") & pl.col("specificity").is_in(["1", "2", "3"]),
            "specificity {} with exhaustivity 0; what is not relevant is not specific",
            ("specificity",),
        )
    if scale == "2002":
        relevance, coverage = pl.col("relevance"), pl.col("coverage")
        yield RowRule(
            "element.grade",
            (relevance == "3") & (coverage == "S"),
            "relevance 3 with coverage S; what is too small is not highly relevant",
        )
        yield RowRule(
            "element.grade",
            (relevance == "0") != (coverage == "N"),
            "relevance {} does not go with its coverage; 0 and N come together only",
            ("relevance",),
        )
    for name in _SIZES:
        yield RowRule("element.size", pl.col(name) < 0, f"{name} {{}} is negative", (name,))
    for name in _SIZES:
        far = pl.col(name) > MAX_OFFSET
        yield RowRule("element.size", far, f"{name} {{}} {TOO_FAR}", (name,))
    more = pl.col("rsize") > pl.col("size")
    yield RowRule("element.size", more, "rsize {} is more than size {}", ("rsize", "size"))
    for name in _SIZES if scale in ("2005", "2006") else ():
        message = f"{name} is missing; expected a number of characters"
        yield RowRule("element.size", pl.col(name).is_null(), message)


_RULES = {scale: tuple(_list_rules(scale)) for scale in GRADES}


# -- checks ----------------------------------------------------------------------------------------


class GradedElements(NamedTuple):
    """The good elements of a file, with every ordinal in their paths, and the problems of others.

    `known` marks elements that are here; grades of the others are unknown (``U``) or wrong.
    """

    elements: pl.DataFrame
    scale: str | None
    known: npt.NDArray[np.bool_]
    problems: list[Problem]


def check_elements(
    frame: pl.DataFrame, defects: Defects, *, scale: str | None = None
) -> GradedElements:
    """Check the elements of a file against themselves, each other and the scale.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns of `ELEMENT_COLUMNS` and ``row``, the judgement of each element.
    defects : Defects
        The lines of the elements. All elements on the line of a problem are left out.
    scale : str, optional
        As the file declares it; else the grades tell.
    """
    found, problems = (scale, list[Problem]()) if scale else _find_scale(frame, defects)
    canonical = canonical_paths(frame["xpath"])
    rules = [*_PATH_RULES, *(_RULES[found] if found else ())]
    if scale is not None:
        message = f" {{!r}} is no grade of the scale of {scale}, which the header declares"
        rules += (
            RowRule("element.grade", pl.col(name).is_not_null(), name + message, (name,))
            for name in dict.fromkeys(name for grades in GRADES.values() for name in grades)
            if name not in GRADES[scale]
        )
    whole = frame.hstack([canonical.alias("canonical")])
    # A second scale makes every grade of its elements wrong: one message is enough.
    problems = problems or check_rules(defects, whole, rules)
    known = frame.select(_KNOWN).to_series().to_numpy()
    if problems:
        known = known & ~np.isin(defects.line, [problem.line or 0 for problem in problems])
    elements = frame.clone().replace_column(frame.get_column_index("xpath"), canonical)
    if not known.all():
        elements = elements.filter(known)
    for name in OF_POOLS:
        if elements[name].null_count() == len(elements):
            elements.drop_in_place(name)
    return GradedElements(elements, found, known, problems)


def _find_scale(frame: pl.DataFrame, defects: Defects) -> tuple[str | None, list[Problem]]:
    """Return the scale of the elements by the grades they have, and a problem if there are two."""
    if not len(frame):
        return None, []
    for scale, grades in _TELLING.items():
        absent = [frame[name].null_count() for name in grades]
        if 0 in absent:
            return scale, []
        if min(absent) < len(frame):
            break
    else:
        return "2006", []
    own = (
        pl.when(pl.any_horizontal(pl.col(grades).is_not_null())).then(pl.lit(scale))
        for scale, grades in _TELLING.items()
    )
    scales = frame.select(scale=pl.coalesce(*own, pl.lit("2006"))).to_series()
    first = str(scales[0])
    other = np.flatnonzero(scales.to_numpy() != first)
    message = f"grades of the scale of {{}}, but the first element has those of {first}"
    return first, [*defects.at("element.scale", other[:1], message, scales)]
