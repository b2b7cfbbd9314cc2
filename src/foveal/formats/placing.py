"""Where results lie, in formats with named columns: offsets, a point, a path or a document."""

from __future__ import annotations

import polars as pl

from foveal.formats.checks import (
    Defects,
    check_given,
    check_names,
    check_ranks,
    check_required,
    check_scores,
    check_xpaths,
    is_root,
)
from foveal.formats.locate import GIVE_TEXTS
from foveal.model import UNKNOWN
from foveal.spans import Ints

__all__ = ["check_results", "places"]


def check_results(defects: Defects, frame: pl.DataFrame) -> None:
    """Refuse names, scores, paths and offsets that are not possible."""
    defects.raise_if(check_required(defects, frame))
    problems = check_names(defects, frame["topic"])
    problems += check_ranks(defects, frame["rank"])
    problems += check_scores(defects, frame["score"].fill_null(0.0).to_numpy())
    problems += check_xpaths(defects, frame["xpath"])
    problems += check_given(defects, frame["start"], frame["end"])
    problems += defects.at(
        (frame["bep"] < 0).fill_null(value=False).to_numpy(),
        "best entry point {} is negative; expected an offset from 0",
        frame["bep"],
    )
    only_text = frame.select(
        pl.col("text").is_not_null() & pl.all_horizontal(pl.col("start", "xpath", "bep").is_null())
    )
    problems += defects.at(
        only_text.to_series().to_numpy(),
        f"a result given by its text alone cannot be placed; give start and end, or {GIVE_TEXTS}",
    )
    defects.raise_if(problems)


def places(frame: pl.DataFrame, *, inclusive: bool) -> tuple[Ints, Ints]:
    """Start and end of each result: offsets, an entry point, a path, or the whole document."""
    given = frame.select(
        start=pl.coalesce("start", "bep"),
        end=pl.coalesce(pl.col("end") + int(inclusive), "bep"),
    ).fill_null(UNKNOWN)
    start, end = given["start"].to_numpy().copy(), given["end"].to_numpy().copy()
    by_path = frame["xpath"].is_not_null().to_numpy()
    start[(start < 0) & (~by_path | is_root(frame["xpath"]))] = 0
    return start, end
