"""Writing line formats: fields separated by blanks, and what such a line cannot hold."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError
from foveal.model import Judgements

__all__ = ["as_lines", "check_rows", "one_word", "one_word_of"]

_UNFIT = {
    "topic": r"^$|^[#<{\x{feff}]|[\t\n\x0b\x0c\r ]",  # it opens the line: no comment, no JSON
    "doc": r"^$|[\t\n\x0b\x0c\r ]",
    "xpath": r"^$|[\t\n\x0b\x0c\r ]",
}


def one_word_of(name: str) -> str:
    """A run's name without blanks.

    >>> one_word_of("my run")
    'my_run'
    """
    return re.sub(r"\s+", "_", name) or "run"


def one_word(name: str) -> pl.Expr:
    """A run's name as one field."""
    return pl.lit(one_word_of(name))


def as_lines(
    frame: pl.DataFrame,
    fields: Sequence[str | pl.Expr],
    path: str,
    *,
    rest: pl.Expr | None = None,
) -> str:
    """One line per row; `rest` ends the lines where it is not null.

    Names that white space would split are refused, with the `path` they come from.
    """
    names = {field for field in fields if isinstance(field, str)}
    for what in [name for name in _UNFIT if name in names]:
        unfit = frame[what].filter(frame[what].str.contains(_UNFIT[what]))
        if len(unfit):
            raise InputError.at(
                "unclassified",
                path,
                None,
                f"{what} {unfit[0]!r} cannot be a field between blanks; JSON Lines can hold it",
            )
    form = pl.format(" ".join(["{}"] * len(fields)), *fields)
    if rest is not None:
        form = pl.coalesce(pl.format("{} {}", form, rest), form)
    return "".join(f"{line}\n" for line in frame.select(form).to_series())


def check_rows(
    judgements: Judgements, bad: npt.NDArray[np.bool_], what: str, *, instead: str = "JSON Lines"
) -> None:
    """Refuse judgements that hold, in the rows marked, what a format cannot."""
    if bad.any():
        raise InputError(
            judgements.problem(
                "unclassified", row, f"{what}: this format cannot hold it, {instead} can"
            )
            for row in np.flatnonzero(bad).tolist()
        )
