"""The grades of assessed elements, scale by scale, and what they may not be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import Problem
from foveal.formats.checks import Defects

__all__ = ["GRADES", "check_grades", "marked", "positive", "relevant_rows"]

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


def check_grades(
    defects: Defects, frame: pl.DataFrame, scale: str, known: npt.NDArray[np.bool_]
) -> list[Problem]:
    """Grades that the scale does not have, and pairs that contradict themselves."""
    problems: list[Problem] = []
    for name, pattern in GRADES[scale].items():
        grade = frame[name]
        absent = grade.is_null().to_numpy()
        problems += defects.at(absent & known, f"{name} is missing, the scale of {scale} has it")
        bad = ~grade.str.contains(f"^{pattern}$").fill_null(value=True).to_numpy()
        values = pattern.strip("[]").replace("0-3", "0123")
        message = f"{name} {{!r}} is not a grade of {scale}; expected one of {' '.join(values)}"
        problems += defects.at(bad & known, message, grade)
    if scale == "2003":
        message = "specificity {} with exhaustivity 0; what is not relevant is not specific"
        vague = (frame["exhaustivity"] == "0") & frame["specificity"].is_in(["1", "2", "3"])
        problems += defects.at(marked(vague) & known, message, frame["specificity"])
    if scale == "2002":
        small = (frame["relevance"] == "3") & (frame["coverage"] == "S")
        problems += defects.at(
            marked(small), "relevance 3 with coverage S; what is too small is not highly relevant"
        )
        apart = (frame["relevance"] == "0") != (frame["coverage"] == "N")
        message = "relevance {} does not go with its coverage; 0 and N come together only"
        problems += defects.at(marked(apart) & known, message, frame["relevance"])
    return problems


def marked(column: pl.Series) -> npt.NDArray[np.bool_]:
    """True values as an array; null is not true."""
    values: npt.NDArray[np.bool_] = column.fill_null(value=False).to_numpy()
    return values
