"""Judgements of characters projected on units of any division: gains, losses and ceilings.

The same highlighted text is judged once and serves every chunking. A projection says how much of it
each unit holds, what a division makes impossible whatever the retriever does, and lets tools that
know only documents score units by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal import spans
from foveal.adapters import judgements_or_files
from foveal.analysis.ceilings import Units, best_f, best_precision_at, best_recall_within
from foveal.analysis.divisions import Division, read_division, read_pages
from foveal.errors import UsageError
from foveal.formats import read_judgements
from foveal.model import Judgements
from foveal.spans import Coverage, Ints

__all__ = ["LEVELS", "Division", "Projection", "project", "read_division", "read_pages"]

LEVELS = (0.1, 0.5, 1.0)
"""Of recall, at which the best precision is bounded."""


@dataclass(frozen=True, eq=False)
class Projection:
    """What a division makes of judgements.

    Parameters
    ----------
    division : Division
    gains : polars.DataFrame
        A row for each topic and unit that holds relevant text: ``topic``, ``unit`` (its name),
        ``doc``, ``start``, ``end``, ``size``, ``relevant`` (characters) and ``share``, relevant
        characters over size.
    topics : polars.DataFrame
        A row for each topic with relevant text, see `project`.
    """

    division: Division
    gains: pl.DataFrame
    topics: pl.DataFrame

    @cached_property
    def means(self) -> dict[str, float]:
        """The mean over topics of every figure."""
        figures = self.topics.drop("topic").mean()
        return {name: float(figures[name][0]) for name in figures.columns}

    def qrels(self, *, grades: int = 1, threshold: float = 0.0) -> str:
        """TREC judgements of units.

        Parameters
        ----------
        grades : int
            A unit of share p has the grade p times `grades`, rounded up; 1: relevant or not.
        threshold : float
            Units below this share are not relevant: they are left out.
        """
        if grades < 1 or not 0 <= threshold <= 1:
            raise UsageError(
                f"grades {grades} and threshold {threshold}; expected 1 or more, and 0 to 1"
            )
        kept = self.gains.filter(pl.col("share") >= threshold)
        odd = kept.filter(pl.col("unit").str.contains(r"\s") | pl.col("topic").str.contains(r"\s"))
        if len(odd):
            raise UsageError(
                f"unit {odd['unit'][0]!r} of topic {odd['topic'][0]!r}: names with white space do "
                "not fit into TREC judgements"
            )
        grade = (pl.col("share") * grades - 1e-9).ceil().clip(1, grades).cast(pl.Int64)
        lines = kept.select(pl.format("{} 0 {} {}", "topic", "unit", grade)).to_series()
        return "".join(f"{line}\n" for line in lines)


def project(
    judgements: Judgements | str | Path | Sequence[str | Path] | Mapping[Any, Any],
    division: Division,
    *,
    budgets: Sequence[int] = (),
    assessors: str = "union",
) -> Projection:
    """Project judgements of characters on the units of a division.

    The figures of a topic are shares:

    * ``inside``: relevant characters that any unit holds, the best charR of any run;
    * ``whole``, ``split``, ``outside``: relevant passages that one unit holds to the last
      character, that are cut, and that no unit touches; they add up to 1;
    * ``split_text``: relevant characters that belong to passages which are cut;
    * ``purity``: relevant characters over all characters of the units that hold any;
    * ``best_P``, ``best_F``: the best charP and charF of a run of units, exactly;
    * ``iP@x`` and ``iP@x bound``, ``charR@b`` and ``charR@b bound``: what a run of units reaches,
      and what none exceeds (`foveal.analysis.ceilings` has the proofs).

    ``units`` counts those that hold relevant text. Ceilings are for runs whose units do not overlap
    each other.

    Parameters
    ----------
    judgements : Judgements, path, a sequence of paths, or objects as for `foveal.judgements_of`
    division : Division
    budgets : whole numbers of characters for the ceiling of recall
    assessors : how several assessors are combined

    Examples
    --------
    >>> truth = Judgements.from_highlights({"1": {"D1": {"spans": [(30, 50)], "length": 90}}})
    >>> found = project(truth, Division.windows({"D1": 90}, 40))
    >>> found.gains.select("unit", "relevant", "share").rows()
    [('D1:0-40', 10, 0.25), ('D1:40-80', 10, 0.25)]
    >>> found.means["split"], found.means["best_P"]
    (1.0, 0.25)
    """
    told = judgements_or_files(judgements)
    given = told if isinstance(told, Judgements) else read_judgements(told)
    if not given.has_text:
        raise UsageError(
            "judgements of whole documents have no text to project; expected highlighted passages"
        )
    if any(budget < 1 for budget in budgets):
        raise UsageError("budgets are whole numbers of characters from 1")
    truth = given.combined(assessors)
    if not (truth.end > truth.start).any():
        raise UsageError("no relevant text in the judgements; there is nothing to project")
    axis = _Axis(truth, division)
    gains = _gains(truth, division, axis)
    return Projection(division, gains, _topics(truth, axis, tuple(budgets)))


class _Axis:
    """Units and relevant passages of all documents side by side, and which of them meet."""

    def __init__(self, truth: Judgements, division: Division) -> None:
        docs = pl.concat([truth.doc, division.doc.rename(truth.doc.name)])
        code = docs.rank("dense").to_numpy().astype(np.int64) - 1
        judged, units = code[: len(truth)], code[len(truth) :]
        extent = np.zeros(int(code.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(extent, judged[truth.row], truth.end)
        np.maximum.at(extent, units, division.end)
        base = spans.lay_out(extent)
        self.start = truth.start + base[judged[truth.row]]
        self.end = truth.end + base[judged[truth.row]]
        self.topic = truth.topic[truth.row]
        self.unit_start = division.start + base[units]
        self.unit_end = division.end + base[units]
        self.covered = Coverage(self.unit_start, self.unit_end)
        self.passage, self.unit, self.shared = self._meetings()

    def _meetings(self) -> tuple[Ints, Ints, Ints]:
        """Every passage with every unit that holds some of it, and how much."""
        order = np.argsort(self.unit_start, kind="stable")
        starts = self.unit_start[order]
        reach = np.maximum.accumulate(self.unit_end[order]) if len(order) else order
        low = np.searchsorted(reach, self.start, side="right")
        counts = np.maximum(np.searchsorted(starts, self.end) - low, 0)
        passage = np.repeat(np.arange(len(self.start)), counts)
        shift = np.cumsum(counts) - counts
        unit = order[np.arange(len(passage)) - shift[passage] + low[passage]]
        shared = np.minimum(self.end[passage], self.unit_end[unit]) - np.maximum(
            self.start[passage], self.unit_start[unit]
        )
        some = shared > 0
        return passage[some], unit[some], shared[some]


def _gains(truth: Judgements, division: Division, axis: _Axis) -> pl.DataFrame:
    frame = (
        pl.DataFrame(
            {"at": axis.topic[axis.passage], "number": axis.unit, "relevant": axis.shared},
            schema={"at": pl.Int64, "number": pl.Int64, "relevant": pl.Int64},
        )
        .group_by("at", "number")
        .agg(pl.col("relevant").sum())
        .sort("at", "number")
    )
    at, number = frame["at"].to_numpy(), frame["number"].to_numpy()
    size = (division.end - division.start)[number]
    return pl.DataFrame(
        {
            "topic": pl.Series(truth.topics, dtype=pl.String).gather(at),
            "unit": division.id.gather(number),
            "doc": division.doc.gather(number),
            "start": division.start[number],
            "end": division.end[number],
            "size": size,
            "relevant": frame["relevant"],
            "share": frame["relevant"].to_numpy() / np.maximum(size, 1),
        }
    )


def _topics(truth: Judgements, axis: _Axis, budgets: tuple[int, ...]) -> pl.DataFrame:
    size = axis.end - axis.start
    inside = axis.covered.within(axis.start, axis.end)
    whole = np.zeros(len(size), dtype=bool)
    whole[axis.passage[axis.shared == size[axis.passage]]] = True
    split = (inside > 0) & ~whole
    rows = []
    for number, topic in enumerate(truth.topics):
        own = np.flatnonzero((axis.topic == number) & (size > 0))
        if not len(own):
            continue
        total, here = int(size[own].sum()), int(inside[own].sum())
        row: dict[str, object] = {
            "topic": topic,
            "inside": here / total,
            "whole": float(whole[own].mean()),
            "split": float(split[own].mean()),
            "outside": float((inside[own] == 0).mean()),
            "split_text": float(size[own][split[own]].sum() / total),
        }
        rows.append(row | _ceilings(axis, number, own, total, here, budgets))
    return pl.DataFrame(rows)


def _ceilings(
    axis: _Axis, topic: int, own: Ints, total: int, inside: int, budgets: tuple[int, ...]
) -> dict[str, float]:
    """How much of a topic's relevant text runs of units can find."""
    meet = axis.topic[axis.passage] == topic
    numbers, which = np.unique(axis.unit[meet], return_inverse=True)
    relevant = np.bincount(which, axis.shared[meet], len(numbers)).astype(np.int64)
    units = Units(axis.unit_start[numbers], axis.unit_end[numbers], relevant)
    names = [f"iP@{level:g}" for level in LEVELS] + [f"charR@{budget}" for budget in budgets]
    found: dict[str, float] = {"units": float(len(numbers))}
    if not len(numbers):
        found |= dict.fromkeys(("purity", "best_P", "best_F"), 0.0)
        return found | {name + end: 0.0 for name in names for end in ("", " bound")}
    found["purity"] = float(relevant.sum() / units.size.sum())
    found["best_P"] = float((relevant / units.size).max())
    found["best_F"] = best_f(units, total)
    highlighted = Coverage(axis.start[own], axis.end[own])
    at_levels = best_precision_at(units, total, np.array(LEVELS))
    within = best_recall_within(
        units, highlighted, total, inside, np.array(budgets, dtype=np.int64)
    )
    reached = np.concatenate([at_levels.reached, within.reached]).tolist()
    bound = np.concatenate([at_levels.bound, within.bound]).tolist()
    for name, low, high in zip(names, reached, bound, strict=True):
        found |= {name: low, f"{name} bound": high}
    return found
