"""Projection of judged characters on the units of a segmentation: gains, losses and ceilings.

Text is judged once for every chunking. A projection counts the relevant text of each unit, bounds
the scores that any retriever can reach with these units, and lets tools that know only documents
score units by their names.

The ceilings are for runs of whole units that do not overlap. For one topic with Trel relevant
characters and units of s(i) characters with r(i) relevant ones, of share r(i) / s(i):

* Precision: the precision of a list is the mean of the shares of its units, weighted by their
  sizes, so the largest share is the best. Exact.
* F: 2 R / (S + Trel) is a quotient of sums. At its largest value v, adding a unit helps if and
  only if 2 r(i) > v s(i) (Dinkelbach), so that the best set is a prefix of the list by share.
  Exact; for units that overlap, the set is found by scheduling intervals for a rising v, which is
  exact as well.
* Precision at a level of recall, and recall within a budget: the best set is a knapsack. Both sides
  are given: the value of the list by share, and an upper bound.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
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

__all__ = ["LEVELS", "Projection", "Projections", "project"]

Floats = npt.NDArray[np.float64]

LEVELS = (0.1, 0.5, 1.0)
"""Levels of recall at which the best precision is bounded."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Judgements projected on a segmentation.

    Parameters
    ----------
    division : Segmentation
    gains : polars.DataFrame
        A row for each topic and unit with relevant text: ``topic``, ``unit`` (its name),
        ``doc``, ``start``, ``end``, ``size``, ``relevant`` (characters) and ``share``, relevant
        characters over size.
    topics : polars.DataFrame
        A row for each topic with relevant text, see `project`.
    """

    division: Segmentation
    gains: pl.DataFrame
    topics: pl.DataFrame

    @cached_property
    def means(self) -> dict[str, float]:
        """The mean over topics of every figure."""
        figures = self.topics.drop("topic").mean()
        return {name: float(figures[name][0]) for name in figures.columns}

    def qrels(self, *, grades: int = 1, threshold: float = 0.0) -> str:
        """Return TREC judgements of units.

        Parameters
        ----------
        grades : int
            A unit of share p has the grade p times `grades`, rounded up; 1: binary.
        threshold : float
            Units below this share are not relevant, and left out.
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


_EVIDENCE = {
    "inside": "inside",
    "whole": "whole",
    "split": "split",
    "outside": "outside",
    "split_text": "split text",
    "units": "units",
    "purity": "purity",
}
_EVIDENCE_NOTES = (
    "inside: relevant characters in any unit; split text: those of passages that are cut.",
    "whole, split, outside: relevant passages inside one unit, cut, and outside all units.",
    "units: number of units with relevant text; purity: their relevant share.",
)
_CEILING_NOTES = (
    "Best achievable scores with non-overlapping units.",
    "Of two figures a run reaches the first and none exceeds the second; single ones are exact.",
)


@dataclass(frozen=True, eq=False)
class Projections(Result):
    """Judgements projected on several segmentations, side by side."""

    projections: tuple[Projection, ...]
    meta: Mapping[str, Any] = field(default_factory=lambda: {"version": __version__})

    def _figures(self, *, per_topic: bool) -> Iterator[tuple[Projection, str, dict[str, float]]]:
        """Yield the figures of each projection and topic, those of all topics last."""
        for projection in self.projections:
            if per_topic:
                for row in projection.topics.iter_rows(named=True):
                    yield projection, row.pop("topic"), row
            yield projection, ALL, projection.means

    def rows(self, *, per_topic: bool = False) -> Iterator[dict[str, Any]]:
        """Yield division, topic, figure and value."""
        for projection, topic, figures in self._figures(per_topic=per_topic):
            for name, value in figures.items():
                division = projection.division.name
                yield {"division": division, "topic": topic, "figure": name, "value": value}

    def parts(self) -> dict[str, Any]:
        """Return means and topics of each division."""
        return {
            "divisions": [
                {
                    "division": projection.division.name,
                    "units": len(projection.division),
                    "means": projection.means,
                    "topics": projection.topics.to_dicts(),
                }
                for projection in self.projections
            ]
        }

    def summary(self) -> str:
        """Return which division keeps most relevant passages whole."""
        if len(self.projections) < 2:
            return ""
        whole = [projection.means["whole"] for projection in self.projections]
        best = [p.division.name for p in self.projections if p.means["whole"] >= max(whole) - 1e-12]
        if len(best) == len(whole):
            return f"All divisions keep equally many relevant passages whole: {max(whole):.4f}."
        verb = "keeps" if len(best) == 1 else "keep"
        return (
            f"{', '.join(best)} {verb} the most relevant passages whole: {max(whole):.4f} of them."
        )

    def tables(self, *, per_topic: bool = False) -> list[Table]:
        """Return what becomes of the evidence, and the ceilings of each division."""
        names = self.projections[0].topics.columns
        budgets = [n for n in names if n.startswith("charR@") and not n.endswith(" bound")]
        pairs = [*(f"iP@{level:g}" for level in LEVELS), *budgets]
        evidence, ceilings = [], []
        for projection, topic, figures in self._figures(per_topic=per_topic):
            own = projection.division
            head = (own.name, topic) if per_topic else (own.name,)
            numbers = (str(len(own)), f"{float((own.end - own.start).mean()):.0f}")
            cells = (f"{figures[n]:.{1 if n == 'units' else 4}f}" for n in _EVIDENCE)
            evidence.append((*head, *numbers, *cells))
            exact = (f"{figures[name]:.4f}" for name in ("inside", "best_P", "best_F"))
            ranges = (
                "-".join(dict.fromkeys(f"{figures[n]:.4f}" for n in (name, f"{name} bound")))
                for name in pairs
            )
            ceilings.append((*head, *exact, *ranges))
        head = ("division", "topic") if per_topic else ("division",)
        over = "" if per_topic else ", mean over topics"
        return [
            Table(
                (*head, "all units", "mean size", *_EVIDENCE.values()),
                tuple(evidence),
                labels=len(head),
                title=f"Evidence in units{over}",
                notes=_EVIDENCE_NOTES,
            ),
            Table(
                (*head, "charR", "charP", "charF", *pairs),
                tuple(ceilings),
                labels=len(head),
                title=f"Ceilings{over}",
                notes=_CEILING_NOTES,
            ),
        ]


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
    * ``iP@x`` and ``iP@x bound``, ``charR@b`` and ``charR@b bound``: a score that a run of units
      reaches, and an upper bound.

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
    units = _UnitsWithText(truth, division)
    return Projection(division, units.gains(), units.topics(tuple(budgets)))


class _UnitsWithText:
    """Units and relevant passages of all documents on one axis, and their overlaps."""

    def __init__(self, truth: Judgements, division: Segmentation) -> None:
        self.truth, self.division = truth, division
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
        # Every passage with every unit that shares text with it, and how much.
        order = np.argsort(self.unit_start, kind="stable")
        reach = np.maximum.accumulate(self.unit_end[order]) if len(order) else order
        low = np.searchsorted(reach, self.start, side="right")
        counts = np.maximum(np.searchsorted(self.unit_start[order], self.end) - low, 0)
        passage = np.repeat(np.arange(len(self.start)), counts)
        shift = np.cumsum(counts) - counts
        unit = order[np.arange(len(passage)) - shift[passage] + low[passage]]
        first = np.maximum(self.start[passage], self.unit_start[unit])
        shared = np.minimum(self.end[passage], self.unit_end[unit]) - first
        some = shared > 0
        self.passage, self.unit, self.shared = passage[some], unit[some], shared[some]

    def gains(self) -> pl.DataFrame:
        """Return a row for each topic and unit with relevant text."""
        frame = (
            pl.DataFrame(
                {"at": self.topic[self.passage], "number": self.unit, "relevant": self.shared},
                schema={"at": pl.Int64, "number": pl.Int64, "relevant": pl.Int64},
            )
            .group_by("at", "number")
            .agg(pl.col("relevant").sum())
            .sort("at", "number")
        )
        division, number = self.division, frame["number"].to_numpy()
        size = (division.end - division.start)[number]
        return pl.DataFrame(
            {
                "topic": pl.Series(self.truth.topics, dtype=pl.String).gather(frame["at"]),
                "unit": division.id.gather(number),
                "doc": division.doc.gather(number),
                "start": division.start[number],
                "end": division.end[number],
                "size": size,
                "relevant": frame["relevant"],
                "share": frame["relevant"].to_numpy() / np.maximum(size, 1),
            }
        )

    def topics(self, budgets: tuple[int, ...]) -> pl.DataFrame:
        """Return the figures of each topic with relevant text."""
        size = self.end - self.start
        inside = Coverage(self.unit_start, self.unit_end).within(self.start, self.end)
        whole = np.zeros(len(size), dtype=bool)
        whole[self.passage[self.shared == size[self.passage]]] = True
        split = (inside > 0) & ~whole
        rows = []
        for number, topic in enumerate(self.truth.topics):
            own = np.flatnonzero((self.topic == number) & (size > 0))
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
            rows.append(row | self._bound_scores(number, own, total, here, budgets))
        return pl.DataFrame(rows)

    def _bound_scores(
        self, topic: int, own: Ints, total: int, inside: int, budgets: tuple[int, ...]
    ) -> dict[str, float]:
        """Return the ceilings of runs of units on one topic."""
        meet = self.topic[self.passage] == topic
        numbers, which = np.unique(self.unit[meet], return_inverse=True)
        relevant = np.bincount(which, self.shared[meet], len(numbers)).astype(np.int64)
        units = RelevantUnits(self.unit_start[numbers], self.unit_end[numbers], relevant)
        names = [f"iP@{level:g}" for level in LEVELS] + [f"charR@{budget}" for budget in budgets]
        found: dict[str, float] = {"units": float(len(numbers))}
        if not len(numbers):
            found |= dict.fromkeys(("purity", "best_P", "best_F"), 0.0)
            return found | {name + end: 0.0 for name in names for end in ("", " bound")}
        found["purity"] = float(relevant.sum() / units.size.sum())
        found["best_P"] = float((relevant / units.size).max())
        found["best_F"] = best_f(units, total)
        highlighted = Coverage(self.start[own], self.end[own])
        at_levels = best_precision_at(units, total, np.array(LEVELS))
        limits = np.array(budgets, dtype=np.int64)
        within = best_recall_within(units, highlighted, total, inside, limits)
        reached = np.concatenate([at_levels.reached, within.reached]).tolist()
        bound = np.concatenate([at_levels.bound, within.bound]).tolist()
        for name, low, high in zip(names, reached, bound, strict=True):
            found |= {name: low, f"{name} bound": high}
        return found


# -- ceilings ----------------------------------------------------------------------------------


class RelevantUnits(NamedTuple):
    """The units with relevant text of one topic, on one axis."""

    start: Ints
    end: Ints
    relevant: Ints
    """Relevant characters of each unit."""

    @property
    def size(self) -> Ints:
        return self.end - self.start

    def sorted_by_share(self) -> RelevantUnits:
        """Return the units with the largest share first; among equals, the larger first."""
        order = np.lexsort((-self.relevant, -self.relevant / self.size))
        return RelevantUnits(*(column[order] for column in self))

    def without_overlap(self) -> RelevantUnits:
        """Drop units that overlap an earlier one."""
        keep = spans.disjoint(self.start, self.end)
        return RelevantUnits(*(column[keep] for column in self))


class ScoreBounds(NamedTuple):
    """Scores that some run reaches, and upper bounds."""

    reached: Floats
    bound: Floats


def best_f(units: RelevantUnits, total: int) -> float:
    """Return the largest F of a set of units that do not overlap.

    >>> units = RelevantUnits(np.array([0, 10, 30]), np.array([10, 30, 60]), np.array([10, 10, 3]))
    >>> round(best_f(units, 23), 4)
    0.7547
    """
    ordered = units.sorted_by_share()
    if not len(spans.conflicts(units.start, units.end)[0]):
        found, read = np.cumsum(ordered.relevant), np.cumsum(ordered.size)
        return float((2 * found / (read + total)).max(initial=0.0))
    # Dinkelbach's method in whole numbers: F as a fraction that rises until no set is better.
    start, end = ordered.start.tolist(), ordered.end.tolist()
    above, below = 0, 1
    while True:
        worth = (2 * below * ordered.relevant - above * ordered.size).tolist()
        chosen = _best_intervals(start, end, worth)
        hits = sum(int(ordered.relevant[i]) for i in chosen)
        length = sum(end[i] - start[i] for i in chosen)
        if 2 * hits * below <= above * (length + total):
            return above / below
        above, below = 2 * hits, length + total


def _best_intervals(start: Sequence[int], end: Sequence[int], worth: Sequence[int]) -> list[int]:
    """Return intervals that do not overlap, with the largest sum of worths."""
    order = sorted(range(len(start)), key=lambda i: end[i])
    ends = [end[i] for i in order]
    best = [0]
    taken: list[int | None] = []
    for k, i in enumerate(order):
        before = bisect_right(ends, start[i], 0, k)
        with_it = best[before] + worth[i]
        taken.append(before if with_it > best[-1] else None)
        best.append(max(with_it, best[-1]))
    chosen, k = [], len(order)
    while k:
        before_k = taken[k - 1]
        if before_k is None:
            k -= 1
        else:
            chosen.append(order[k - 1])
            k = before_k
    return chosen


def best_precision_at(units: RelevantUnits, total: int, levels: Floats) -> ScoreBounds:
    """Bound the precision at levels of recall or beyond.

    The bound lets the last unit be cut at its mean share: with units by share the text needed for
    some relevant characters is then minimal, and precision falls as more are needed.
    """
    ordered = units.sorted_by_share()
    needed = np.ceil(levels * total - 1e-9)
    needed = np.maximum(needed, 1)
    found, read = _sums(ordered.relevant), _sums(ordered.size)
    shortest = np.interp(needed, found, read)
    bound = np.where(needed <= found[-1], needed / np.maximum(shortest, 1e-300), 0.0)
    own = ordered.without_overlap()
    found, read = np.cumsum(own.relevant), np.cumsum(own.size)
    at = np.searchsorted(found, needed)
    known = np.minimum(at, max(len(found) - 1, 0))
    reached = np.where(at < len(found), found[known] / read[known], 0.0)
    return ScoreBounds(reached, np.minimum(bound, 1.0))


def best_recall_within(
    units: RelevantUnits, highlighted: Coverage, total: int, inside: int, budgets: Ints
) -> ScoreBounds:
    """Bound the recall within budgets of characters; the unit that crosses a budget is cut there.

    The bound is the smallest of four: the budget, the relevant text `inside` units, and two more.
    Let g(i, x) be the relevant characters among the first x of unit i. First, each unit may
    be cut anywhere on the least concave line over g(i, .), and the steepest pieces are read first.
    Second, only one unit is cut: it adds at most the maximum by which g(i, x) exceeds the share of
    x, and the others are a knapsack whose last unit is cut at its mean share.
    """
    ordered = units.sorted_by_share()
    own = ordered.without_overlap()
    found, read = _sums(own.relevant), _sums(own.size)
    reached = np.zeros(len(budgets))
    for k, budget in enumerate(budgets.tolist()):
        at = int(np.searchsorted(read, budget, side="right")) - 1
        start, end = own.start[at:], own.end[at:]
        # The remaining unit with most relevant text at its beginning is cut.
        cut = highlighted.within(start, np.minimum(start + (budget - read[at]), end))
        reached[k] = found[at] + cut.max(initial=0)
    mean_line = np.interp(budgets, _sums(ordered.size), _sums(ordered.relevant))
    length, gain, surplus = _concave_pieces(ordered, highlighted)
    steep = np.argsort(-gain / length, kind="stable")
    envelope = np.interp(budgets, _sums(length[steep]), _sums(gain[steep]))
    bound = np.minimum.reduce(
        [budgets, envelope, mean_line + surplus, np.full(len(budgets), inside)]
    )
    return ScoreBounds(reached / total, bound / total)


def _concave_pieces(units: RelevantUnits, highlighted: Coverage) -> tuple[Ints, Ints, float]:
    """Return lengths and gains of the pieces of concave lines, and the largest surplus."""
    lengths: list[int] = []
    gains: list[int] = []
    surplus = 0.0
    for start, end, relevant in zip(*(column.tolist() for column in units), strict=True):
        low = int(np.searchsorted(highlighted.end, start, side="right"))
        high = int(np.searchsorted(highlighted.start, end))
        knots = np.minimum(highlighted.end[low:high], end)
        gained = highlighted.within(np.full(len(knots), start), knots)
        places = (knots - start).tolist()
        points = [(0, 0), *zip(places, gained.tolist(), strict=True)]
        share = relevant / (end - start)
        surplus = max(surplus, *(g - share * x for x, g in points))
        hull: list[tuple[int, int]] = []
        for x, g in points:
            while len(hull) > 1:
                (x0, g0), (x1, g1) = hull[-2:]
                if (g1 - g0) * (x - x0) > (g - g0) * (x1 - x0):
                    break  # the last point is above the line around it
                hull.pop()
            hull.append((x, g))
        for (x, g), (to, gain) in pairwise(hull):
            lengths.append(to - x)
            gains.append(gain - g)
    return np.array(lengths, dtype=np.int64), np.array(gains, dtype=np.int64), surplus


def _sums(column: Ints) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(column)])
