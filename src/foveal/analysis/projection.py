"""Projection of judged characters on the units of a segmentation: gains, losses and ceilings.

Text is judged once for every chunking. A projection counts the relevant text of each unit, bounds
the scores that any retriever can reach with these units, and lets tools that know only documents
score units by their names.

The ceilings are for runs of whole units that do not overlap. For one topic with Trel relevant
characters and units of s(i) characters with r(i) relevant ones, the best precision is the largest
share r(i) / s(i), and F = 2 R / (S + Trel) is a quotient of sums: at its largest value v, adding a
unit helps if and only if 2 r(i) > v s(i) (Dinkelbach). Precision at a level of recall and recall
within a budget are knapsacks, which have upper bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal import spans
from foveal._version import __version__
from foveal.adapters import judgements_or_files
from foveal.analysis.segmentation import Segmentation
from foveal.errors import UsageError
from foveal.formats import read_judgements
from foveal.model import Judgements
from foveal.model.result_object import Result
from foveal.model.run import ALL
from foveal.model.tables import Table
from foveal.spans import Coverage, Ints

LEVELS = (0.1, 0.5, 1.0)
"""Levels of recall at which the best precision is bounded."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Judgements projected on a segmentation."""

    division: Segmentation
    gains: pl.DataFrame
    """A row for each topic and unit with relevant text: ``topic``, ``unit`` (its name), ``doc``,
    ``start``, ``end``, ``size``, ``relevant`` (characters) and ``share``, relevant characters over
    size."""
    topics: pl.DataFrame
    """A row for each topic with relevant text, see `project`."""

    @cached_property
    def means(self) -> dict[str, float]:
        """The mean over topics of every figure."""
        return self.topics.drop("topic").mean().row(0, named=True)

    def qrels(self, *, grades: int = 1, threshold: float = 0.0) -> str:
        """Return TREC judgements of units.

        Parameters
        ----------
        grades : int
            A unit of share p has the grade p times `grades`, rounded up; 1: binary.
        threshold : float
            Units below this share are not relevant, and left out.
        """
        if grades < 1:
            raise UsageError(f"grades {grades} is not possible; expected 1 or more")
        kept = self.gains.filter(pl.col("share") >= threshold)
        odd = kept.filter(pl.concat_str("unit", "topic").str.contains(r"\s"))
        if len(odd):
            raise UsageError(
                f"unit {odd['unit'][0]!r} of topic {odd['topic'][0]!r}: names with white space do "
                "not fit into TREC judgements"
            )
        grade = (pl.col("share") * grades - 1e-9).ceil().clip(1, grades).cast(pl.Int64)
        lines = kept.select(pl.format("{} 0 {} {}\n", "topic", "unit", grade)).to_series()
        return "".join(lines)


_DIGITS = {"all units": 0, "mean size": 0, "units": 1}
_NOTES = (
    "inside: relevant characters in any unit, the best charR; split_text: those of passages cut.",
    "whole, split, outside: relevant passages inside one unit, cut, and outside all units.",
    "units: number of units with relevant text; purity: their relevant share.",
    "best_P, best_F: best charP and charF of non-overlapping units; no run exceeds a bound.",
)


@dataclass(frozen=True, eq=False)
class Projections(Result):
    """Judgements projected on several segmentations, side by side."""

    projections: tuple[Projection, ...]
    meta: Mapping[str, Any] = field(default_factory=lambda: {"version": __version__})

    def _figures(self, *, per_topic: bool) -> Iterator[tuple[Segmentation, str, dict[str, float]]]:
        """Yield the figures of each projection and topic, those of all topics last."""
        for own in self.projections:
            for row in own.topics.iter_rows(named=True) if per_topic else ():
                yield own.division, row.pop("topic"), row
            yield own.division, ALL, own.means

    def rows(self, *, per_topic: bool = False) -> Iterator[dict[str, Any]]:
        """Yield division, topic, figure and value."""
        for own, topic, figures in self._figures(per_topic=per_topic):
            for name, value in figures.items():
                yield {"division": own.name, "topic": topic, "figure": name, "value": value}

    def parts(self) -> dict[str, Any]:
        """Return means and topics of each division."""
        return {
            "divisions": [
                {
                    "division": own.division.name,
                    "units": len(own.division),
                    "means": own.means,
                    "topics": own.topics.to_dicts(),
                }
                for own in self.projections
            ]
        }

    def summary(self) -> str:
        """Return which division keeps most relevant passages whole."""
        if len(self.projections) < 2:
            return ""
        best = max(self.projections, key=lambda own: own.means["whole"])
        return (
            f"No division keeps more relevant passages whole than {best.division.name}: "
            f"{best.means['whole']:.4f} of them."
        )

    def tables(self, *, per_topic: bool = False) -> list[Table]:
        """Return a row per figure and a column per division."""
        cells: dict[tuple[str, ...], list[str]] = {}
        for own, topic, figures in self._figures(per_topic=per_topic):
            sizes = {"all units": len(own), "mean size": (own.end - own.start).mean()}
            for name, value in (sizes | figures).items():
                key = (topic, name) if per_topic else (name,)
                cells.setdefault(key, []).append(f"{value:.{_DIGITS.get(name, 4)}f}")
        head = ("topic", "figure") if per_topic else ("figure",)
        names = (own.division.name for own in self.projections)
        rows = tuple((*key, *values) for key, values in cells.items())
        title = "Relevant text in units" + ("" if per_topic else ", mean over topics")
        return [Table((*head, *names), rows, labels=len(head), title=title, notes=_NOTES)]


def project(
    judgements: Judgements | str | Path | Sequence[str | Path] | Mapping[Any, Any],
    division: Segmentation,
    *,
    budgets: Sequence[int] = (),
    assessors: str = "union",
) -> Projection:
    """Project judgements of characters on the units of a segmentation.

    The figures of a topic are shares:

    * ``inside``: relevant characters inside any unit, the best charR of any run;
    * ``whole``, ``split``, ``outside``: relevant passages inside one unit, cut, and outside all
      units; they add up to 1;
    * ``split_text``: relevant characters of passages that are cut;
    * ``purity``: relevant characters over all characters of the units with relevant text;
    * ``best_P``, ``best_F``: the exact best charP and charF of a run of units;
    * ``iP@x bound``, ``charR@b bound``: upper bounds for runs of units.

    ``units`` counts those with relevant text. Ceilings are for runs whose units do not overlap.

    Parameters
    ----------
    judgements : Judgements, path, a sequence of paths, or objects as for `foveal.judgements_of`
    division : Segmentation
    budgets : sequence of int
        Characters within which recall is bounded.
    assessors : str
        How to combine several assessors.

    Examples
    --------
    >>> truth = Judgements.from_highlights({"1": {"D1": {"spans": [(30, 50)], "length": 90}}})
    >>> found = project(truth, Segmentation.windows({"D1": 90}, 40))
    >>> found.gains.select("unit", "relevant", "share").rows()
    [('D1:0-40', 10, 0.25), ('D1:40-80', 10, 0.25)]
    >>> found.means["split"], found.means["best_P"]
    (1.0, 0.25)
    """
    files = judgements_or_files(judgements)
    given = files if isinstance(files, Judgements) else read_judgements(files)
    if any(budget < 1 for budget in budgets):
        raise UsageError("budgets are whole numbers of characters from 1")
    truth = given.combined(assessors)
    if not (truth.end > truth.start).any():
        raise UsageError("no relevant text in the judgements; there is nothing to project")
    # All documents lie side by side on one axis.
    docs = pl.concat([truth.doc.gather(truth.row), division.doc.rename(truth.doc.name)])
    code = docs.rank("dense").to_numpy().astype(np.int64) - 1
    extent = np.zeros(int(code.max()) + 1, dtype=np.int64)
    np.maximum.at(extent, code, np.concatenate([truth.end, division.end]))
    base = spans.lay_out(extent)[code]
    number = len(truth.start)
    start, end = truth.start + base[:number], truth.end + base[:number]
    unit_start, unit_end = division.start + base[number:], division.end + base[number:]
    # Each passage meets the units that share text with it.
    order = np.argsort(unit_start, kind="stable")
    reach = np.maximum.accumulate(unit_end[order])
    passage, at = spans.pair_overlaps(start, end, unit_start[order], reach)
    unit = order[at]
    shared = np.minimum(end[passage], unit_end[unit])
    shared = shared - np.maximum(start[passage], unit_start[unit])
    passage, unit, shared = (column[shared > 0] for column in (passage, unit, shared))
    topic, size = truth.topic[truth.row], end - start
    inside = Coverage(unit_start, unit_end).within(start, end)
    whole = np.zeros(number, dtype=bool)
    whole[passage[shared == size[passage]]] = True
    split = (inside > 0) & ~whole
    gains = (
        pl.DataFrame({"topic": topic[passage], "unit": unit, "relevant": shared})
        .cast(pl.Int64)
        .group_by("topic", "unit")
        .agg(pl.col("relevant").sum())
        .sort("topic", "unit")
    )
    rows = []
    for i, name in enumerate(truth.topics):
        own = np.flatnonzero((topic == i) & (size > 0))
        if not len(own):
            continue
        total, here = int(size[own].sum()), int(inside[own].sum())
        met, relevant = (column.to_numpy() for column in gains.filter(topic=i)[:, 1:])
        highlighted = Coverage(start[own], end[own])
        figures = {
            "inside": here / total,
            "whole": float(whole[own].mean()),
            "split": float(split[own].mean()),
            "outside": float((inside[own] == 0).mean()),
            "split_text": float(size[own][split[own]].sum() / total),
        }
        most = {budget: min(budget, here) for budget in budgets}
        figures |= _bound_scores(unit_start[met], unit_end[met], relevant, highlighted, total, most)
        rows.append({"topic": name} | figures)
    held = division.to_frame()[gains["unit"]].rename({"id": "unit"})
    sizes, relevant_text = held["end"] - held["start"], gains["relevant"]
    named = held.with_columns(
        topic=pl.Series(truth.topics, dtype=pl.String).gather(gains["topic"]),
        size=sizes,
        relevant=relevant_text,
        share=relevant_text / sizes,
    ).select("topic", pl.exclude("topic"))
    return Projection(division, named, pl.DataFrame(rows))


# -- ceilings ----------------------------------------------------------------------------------


def _bound_scores(
    start: Ints,
    end: Ints,
    relevant: Ints,
    highlighted: Coverage,
    total: int,
    budgets: Mapping[int, int],
) -> dict[str, float]:
    """Return the ceilings of runs of units on one topic.

    There are `relevant` characters in each unit and `total` in all; `budgets` gives how many of
    them at most are within each budget.
    """
    size = end - start
    share = relevant / size
    found = {
        "units": float(len(share)),
        "purity": float(relevant.sum() / max(size.sum(), 1)),
        "best_P": float(share.max(initial=0.0)),
        "best_F": best_f(start, end, relevant, total),
    }
    best = np.lexsort((-relevant, -share))  # the largest share first; among equals, the larger unit
    hits, read = (np.append(0, np.cumsum(column[best])) for column in (relevant, size))
    # Let the last unit be cut at its mean share: with units by share, the text needed for some
    # relevant characters is then minimal, and precision falls as more are needed.
    for level in LEVELS:
        needed = max(np.ceil(level * total - 1e-9), 1)
        shortest = max(np.interp(needed, hits, read), 1e-300)
        bound = min(needed / shortest, 1.0) if needed <= hits[-1] else 0.0
        found[f"iP@{level:g} bound"] = float(bound)
    length, gain, surplus = _concave_pieces(start[best], end[best], relevant[best], highlighted)
    steep = np.argsort(-gain / length, kind="stable")
    lengths, gains = (np.append(0, np.cumsum(column[steep])) for column in (length, gain))
    for budget, most in budgets.items():
        envelope = np.interp(budget, lengths, gains)
        one_cut = np.interp(budget, read, hits) + surplus
        found[f"charR@{budget} bound"] = float(min(most, envelope, one_cut) / total)
    return found


def best_f(start: Ints, end: Ints, relevant: Ints, total: int) -> float:
    """Return the largest F of a set of units that do not overlap.

    Dinkelbach's method in whole numbers: F as a fraction that rises until no set is better.

    >>> start, end, relevant = np.array([0, 10, 30]), np.array([10, 30, 60]), np.array([10, 10, 3])
    >>> round(best_f(start, end, relevant, 23), 4)
    0.7547
    """
    above, below = 0, 1
    while True:
        chosen = _best_intervals(start, end, 2 * below * relevant - above * (end - start))
        hits, length = (int(column[chosen].sum()) for column in (relevant, end - start))
        if 2 * hits * below <= above * (length + total):
            return above / below
        above, below = 2 * hits, length + total


def _best_intervals(start: Ints, end: Ints, worth: Ints) -> list[int]:
    """Return intervals that do not overlap, with the largest sum of worths."""
    order = np.argsort(end, kind="stable").tolist()
    before = np.searchsorted(end[order], start, side="right").tolist()  # intervals that may precede
    best = [0]
    for i in order:
        best.append(max(best[-1], best[before[i]] + int(worth[i])))
    chosen, k = [], len(order)
    while k:
        if best[k] == best[k - 1]:
            k -= 1
        else:
            chosen.append(order[k - 1])
            k = before[order[k - 1]]
    return chosen


def _concave_pieces(
    start: Ints, end: Ints, relevant: Ints, highlighted: Coverage
) -> tuple[Ints, Ints, float]:
    """Return what bounds the recall within a budget: two ways to relax the knapsack.

    Let g(i, x) be the relevant characters among the first x of unit i. First, each unit may be cut
    anywhere on the least concave line over g(i, .), and the steepest pieces are read first: return
    the lengths and gains of the pieces. Second, only one unit is cut: it adds at most the maximum
    by which g(i, x) exceeds the share of x. Return that surplus.
    """
    pieces: list[tuple[int, int]] = []
    surplus = 0.0
    low = np.searchsorted(highlighted.end, start, side="right")
    high = np.searchsorted(highlighted.start, end)
    for i, share in enumerate((relevant / (end - start)).tolist()):
        knots = np.minimum(highlighted.end[low[i] : high[i]], end[i])
        gained = highlighted.within(np.full(len(knots), start[i]), knots)
        points = [(0, 0), *zip((knots - start[i]).tolist(), gained.tolist(), strict=True)]
        surplus = max(surplus, *(g - share * x for x, g in points))
        hull: list[tuple[int, int]] = []
        for x, g in points:
            while len(hull) > 1:
                (x0, g0), (x1, g1) = hull[-2:]
                if (g1 - g0) * (x - x0) > (g - g0) * (x1 - x0):
                    break  # the last point is above the line around it
                hull.pop()
            hull.append((x, g))
        pieces += [(to - x, gain - g) for (x, g), (to, gain) in pairwise(hull)]
    lengths, gains = np.array(pieces, dtype=np.int64).reshape(-1, 2).T
    return lengths, gains, surplus
