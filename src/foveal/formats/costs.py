"""What results cost to read, in formats with a column of tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from foveal.formats.checks import Defects
from foveal.model import UNKNOWN, Run

__all__ = ["with_costs"]


def with_costs(run: Run, tokens: pl.Series, defects: Defects) -> Run:
    """The run with the tokens of its rows; `tokens` and the lines of `defects` are the file's."""
    whole = defects.source.whole
    if tokens.null_count() == len(tokens) and (whole is None or "tokens" not in whole.given):
        return run
    negative = (tokens < 0).fill_null(value=False).to_numpy()
    defects.raise_if(
        [*defects.at(negative, "tokens {} is negative; expected a number from 0", tokens)]
    )
    # The run is in rank order by now, but a result still knows its line.
    known = tokens.fill_null(UNKNOWN).to_numpy()
    return replace(run, tokens=known[np.searchsorted(defects.line, run.line)])
