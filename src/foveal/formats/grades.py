"""The grades of assessed elements, scale by scale, and what they may not be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import Problem
from foveal.formats.checks import Defects

__all__ = [
    "GRADES",
    "GRADE_RULES",
    "KNOWN",
    "Rule",
    "check_rules",
    "positive",
    "relevant_rows",
]

GRADES = {
    "2002": {"relevance": "[0-3]", "coverage": "[ELSN]"},
    "2003": {"exhaustivity": "[0-3]", "specificity": "[0-3]"},
    "2005": {"exhaustivity": "[012?]"},
    "2006": {},
}
"""Scale to its grades, each with the pattern of its values."""


def positive(elements: pl.DataFrame, scale: str | None) -> pl.Series:
    """Which elements hold something relevant: a grade above 0, or highlighted text.

    >>> positive(pl.DataFrame({"exhaustivity": ["2", "?"], "rsize": [None, 0]}), "2005").to_list()
    [True, False]
    """
    grade = "relevance" if scale == "2002" else "exhaustivity"
    tells = {grade: pl.col(grade).str.contains("^[1-9]"), "rsize": pl.col("rsize") > 0}
    known = [told.fill_null(value=False) for name, told in tells.items() if name in elements]
    return elements.select(pl.any_horizontal(pl.lit(value=False), *known)).to_series()


def relevant_rows(
    elements: pl.DataFrame | None, n: int, scale: str | None
) -> npt.NDArray[np.bool_]:
    """Which of `n` rows have an element that holds something relevant."""
    relevant = np.zeros(n, dtype=bool)
    if elements is not None:
        relevant[elements["row"].filter(positive(elements, scale)).to_numpy()] = True
    return relevant


class Rule(NamedTuple):
    """What no row may be: which rows are, what to say of them, and the columns that shows."""

    broken: pl.Expr
    message: str
    shown: tuple[str, ...] = ()


def check_rules(defects: Defects, frame: pl.DataFrame, rules: Sequence[Rule]) -> list[Problem]:
    """What is wrong with the rows.

    All rules are looked at together: campaigns have thousands of small files without a defect, and
    a look costs more than what there is to see.
    """
    marks = frame.select(
        rule.broken.fill_null(value=False).alias(str(i)) for i, rule in enumerate(rules)
    )
    return [
        problem
        for mark, rule in zip(marks, rules, strict=True)
        if mark.any()
        for problem in defects.at(
            "unclassified", mark.to_numpy(), rule.message, *(frame[name] for name in rule.shown)
        )
    ]


KNOWN = ~((pl.col("exhaustivity") == "U") | (pl.col("specificity") == "U")).fill_null(value=False)
"""Elements that are judged: ``U`` is unknown."""


def _grade_rules(scale: str) -> Iterator[Rule]:
    """Grades that the scale does not have, and pairs that contradict themselves."""
    for name, pattern in GRADES[scale].items():
        grade = pl.col(name)
        absent = f"{name} is missing, the scale of {scale} has it"
        yield Rule(grade.is_null() & KNOWN, absent)
        values = " ".join(pattern.strip("[]").replace("0-3", "0123"))
        other = f"{name} {{!r}} is not a grade of {scale}; expected one of {values}"
        yield Rule(~grade.str.contains(f"^{pattern}$") & KNOWN, other, (name,))
    exhaustivity, specificity = pl.col("exhaustivity"), pl.col("specificity")
    relevance, coverage = pl.col("relevance"), pl.col("coverage")
    if scale == "2003":
        yield Rule(
            (exhaustivity == "0") & specificity.is_in(["1", "2", "3"]),
            "specificity {} with exhaustivity 0; what is not relevant is not specific",
            ("specificity",),
        )
    if scale == "2002":
        yield Rule(
            (relevance == "3") & (coverage == "S"),
            "relevance 3 with coverage S; what is too small is not highly relevant",
        )
        yield Rule(
            (relevance == "0") != (coverage == "N"),
            "relevance {} does not go with its coverage; 0 and N come together only",
            ("relevance",),
        )


GRADE_RULES = {scale: tuple(_grade_rules(scale)) for scale in GRADES}
"""Scale to what the grades of an element may not be."""
