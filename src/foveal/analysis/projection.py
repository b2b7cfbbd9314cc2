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


_EVIDENCE = ("inside", "whole", "split", "outside", "split_text", "units", "purity")
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
                (*head, "all units", "mean size", *(name.replace("_", " ") for name in _EVIDENCE)),
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
    files = judgements_or_files(judgements)
    given = files if isinstance(files, Judgements) else read_judgements(files)
    if not given.has_text:
        raise UsageError(
            "judgements of whole documents have no text to project; expected highlighted passages"
        )
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
        units = RelevantUnits(unit_start[met], unit_end[met], relevant)
        figures: dict[str, object] = {
            "topic": name,
            "inside": here / total,
            "whole": float(whole[own].mean()),
            "split": float(split[own].mean()),
            "outside": float((inside[own] == 0).mean()),
            "split_text": float(size[own][split[own]].sum() / total),
        }
        highlighted = Coverage(start[own], end[own])
        rows.append(figures | _bound_scores(units, highlighted, total, here, budgets))
    met = gains["unit"].to_numpy()
    size = (division.end - division.start)[met]
    named = pl.DataFrame(
        {
            "topic": pl.Series(truth.topics, dtype=pl.String).gather(gains["topic"]),
            "unit": division.id.gather(met),
            "doc": division.doc.gather(met),
            "start": division.start[met],
            "end": division.end[met],
            "size": size,
            "relevant": gains["relevant"],
            "share": gains["relevant"].to_numpy() / size,
        }
    )
    return Projection(division, named, pl.DataFrame(rows))


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


def _bound_scores(
    units: RelevantUnits, highlighted: Coverage, total: int, inside: int, budgets: Sequence[int]
) -> dict[str, float]:
    """Return the ceilings of runs of units on one topic."""
    names = [f"iP@{level:g}" for level in LEVELS] + [f"charR@{budget}" for budget in budgets]
    found: dict[str, float] = {"units": float(len(units.start))}
    if not len(units.start):
        found |= dict.fromkeys(("purity", "best_P", "best_F"), 0.0)
        return found | {name + end: 0.0 for name in names for end in ("", " bound")}
    found["purity"] = float(units.relevant.sum() / units.size.sum())
    found["best_P"] = float((units.relevant / units.size).max())
    found["best_F"] = best_f(units, total)
    at_levels = best_precision_at(units, total, np.array(LEVELS))
    limits = np.array(budgets, dtype=np.int64)
    within = best_recall_within(units, highlighted, total, inside, limits)
    reached, bound = (np.concatenate(pair).tolist() for pair in zip(at_levels, within, strict=True))
    for name, low, high in zip(names, reached, bound, strict=True):
        found |= {name: low, f"{name} bound": high}
    return found


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


def best_precision_at(units: RelevantUnits, total: int, levels: Floats) -> tuple[Floats, Floats]:
    """Return precisions reached at levels of recall or beyond, and upper bounds.

    The bound lets the last unit be cut at its mean share: with units by share the text needed for
    some relevant characters is then minimal, and precision falls as more are needed.
    """
    ordered = units.sorted_by_share()
    needed = np.maximum(np.ceil(levels * total - 1e-9), 1)
    found, read = _sums(ordered.relevant), _sums(ordered.size)
    shortest = np.interp(needed, found, read)
    bound = np.where(needed <= found[-1], needed / np.maximum(shortest, 1e-300), 0.0)
    own = ordered.without_overlap()
    found, read = np.cumsum(own.relevant), np.cumsum(own.size)
    at = np.searchsorted(found, needed)
    known = np.minimum(at, max(len(found) - 1, 0))
    reached = np.where(at < len(found), found[known] / read[known], 0.0)
    return reached, np.minimum(bound, 1.0)


def best_recall_within(
    units: RelevantUnits, highlighted: Coverage, total: int, inside: int, budgets: Ints
) -> tuple[Floats, Floats]:
    """Return recalls reached within budgets of characters, and upper bounds.

    The unit that crosses a budget is cut there.

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
    return reached / total, bound / total


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
