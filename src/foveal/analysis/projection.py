"""Segmentations of documents into chunks, windows or elements, and judgements projected on them.

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

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from foveal.collection import Collection
from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Source
from foveal.formats import read_judgements
from foveal.formats.objects import CODEPOINTS, read_header, tabulate_objects
from foveal.formats.rows import NAME_RULES, RowRule, check_rules, list_offset_rules, raise_problems
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.result_object import Result
from foveal.model.run import ALL
from foveal.model.tables import Table
from foveal.spans import Coverage, Ints

_HAS_TEXT = (pl.col("start") < pl.col("end")).fill_null(value=False)
_PLACE = {"doc": pl.String, "start": pl.Int64, "end": pl.Int64}


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Units of documents, which may leave out text and may overlap."""

    name: str
    doc: pl.Series
    start: Ints
    end: Ints
    """The place of each unit in code points."""
    id: pl.Series
    """The unique name of each unit."""

    @classmethod
    def from_chunks(
        cls, chunks: Iterable[tuple[str, int, int]], *, name: str = "chunks", ids: Any = None
    ) -> Segmentation:
        """Make a segmentation from ``(doc, start, end)``; by default offsets name a unit.

        >>> Segmentation.from_chunks([("D1", 0, 40), ("D1", 40, 90)]).id.to_list()
        ['D1:0-40', 'D1:40-90']
        """
        frame = pl.DataFrame(list(chunks), schema=_PLACE, orient="row")
        for doc, start, end in frame.filter((pl.col("start") < 0) | ~_HAS_TEXT).rows():
            raise UsageError(f"chunk [{start},{end}) of document {doc!r} holds no text")
        return _make_segmentation(name, frame, None if ids is None else pl.Series(list(ids)))

    @classmethod
    def windows(
        cls, lengths: Mapping[str, int], size: int, step: int | None = None, *, name: str = ""
    ) -> Segmentation:
        """Make windows of a fixed size; the last one of a document ends with it.

        >>> division = Segmentation.windows({"D1": 100}, 50, 30)
        >>> list(zip(division.start.tolist(), division.end.tolist()))
        [(0, 50), (30, 80), (60, 100)]
        """
        step = size if step is None else step
        if size < 1 or step < 1:
            raise UsageError(f"windows of {size} every {step} characters; expected 1 or more")
        chunks = []
        for doc, length in lengths.items():
            if length < 0:
                raise UsageError(f"windows end with document {doc!r}, whose length is unknown")
            # A window that starts after the one before has reached the end adds nothing new.
            last = max(length - size + step, 1) if step < size else length
            places = range(0, min(last, length), step)
            chunks += [(doc, at, min(at + size, length)) for at in places]
        over = "" if step == size else f"/{step}"
        return cls.from_chunks(chunks, name=name or f"windows {size}{over}")

    @classmethod
    def elements(cls, collection: Collection, tags: Sequence[str]) -> Segmentation:
        """Return the elements of these tags with text, named by document and XPath."""
        known = np.array(collection.path_tags(), dtype=object)
        missing = [tag for tag in tags if tag not in known]
        if missing:
            raise UsageError(f"the collection has no element {missing[0]!r}")
        wanted = np.isin(known, list(tags))
        docs = collection.documents["doc"]
        trees = collection.trees(docs)
        chosen = np.flatnonzero(wanted[trees.path] & (trees.end > trees.start))
        of_doc = np.repeat(np.arange(len(docs)), np.diff(trees.bounds))[chosen]
        start, end = trees.start[chosen], trees.end[chosen]
        places = pl.DataFrame({"doc": docs.gather(of_doc), "start": start, "end": end})
        ids = places["doc"] + collection.xpaths(trees.path[chosen])
        return _make_segmentation(",".join(tags), places, ids)

    def __len__(self) -> int:
        return len(self.doc)

    def to_frame(self) -> pl.DataFrame:
        """Return the units: columns id, doc, start, end."""
        return pl.DataFrame({"id": self.id, "doc": self.doc, "start": self.start, "end": self.end})

    def name_units(self, run: Run) -> Run:
        """Replace the spans of a run with unit names, for tools that know only documents.

        Every result must be a unit of the segmentation.
        """
        places = pl.DataFrame({"doc": run.doc, "start": run.start, "end": run.end})
        whole = np.full(len(run), UNKNOWN, dtype=np.int64)
        names = self._find(run, places)["id"]
        return run.with_columns(doc=names, start=np.zeros_like(whole), end=whole, xpath=None)

    def place_units(self, run: Run) -> Run:
        """Replace the unit names of a run with spans, the inverse of `name_units`."""
        found = self._find(run, pl.DataFrame({"id": run.doc}))
        start, end = (found[name].to_numpy().astype(np.int64) for name in ("start", "end"))
        return run.with_columns(doc=found["doc"], start=start, end=end)

    def _find(self, run: Run, keys: pl.DataFrame) -> pl.DataFrame:
        """Return the unit of each result by its name or place; refuse a run with other results."""
        by = keys.columns
        units = self.to_frame().unique(by, keep="first", maintain_order=True)
        found = keys.join(units, on=by, how="left", maintain_order="left")
        lost = found.select(pl.any_horizontal(pl.all().is_null())).to_series().arg_true()
        if len(lost):
            raise InputError(
                Problem(
                    "run.unknown_unit",
                    run.source.path,
                    int(run.line[i]),
                    f"{run.doc[i]!r} [{run.start[i]},{run.end[i]}) is not a unit of {self.name!r}",
                )
                for i in lost
            )
        return found


def _make_segmentation(name: str, places: pl.DataFrame, ids: pl.Series | None) -> Segmentation:
    """Make a segmentation; refuse none or equal names. Units without an id are named by place."""
    if not len(places):
        raise UsageError(f"the division {name!r} has no unit")
    by_place = pl.format("{}:{}-{}", "doc", "start", "end")
    given = pl.lit(None) if ids is None else ids
    ids = places.select(id=pl.coalesce(given, by_place)).to_series()
    if len(twice := ids.filter(ids.is_duplicated())):
        raise UsageError(f"two units of the division {name!r} are called {twice[0]!r}")
    start, end = (places[column].to_numpy().copy() for column in ("start", "end"))
    return Segmentation(name, places["doc"], start, end, ids)


_NO_TEXT = "start {start}, end {end}; expected the place of a unit, or results of a run with places"
_UNIT_RULES = (
    *NAME_RULES,
    *list_offset_rules(),
    RowRule("segmentation.offsets", ~_HAS_TEXT, _NO_TEXT),
)


def read_segmentation(path: str | Path) -> Segmentation:
    """Read units from JSON Lines: ``doc``, ``start``, ``end`` and optionally ``id`` of each.

    A run is read as the segmentation into its results, each once.
    """
    source = Source.open(str(path))
    header, line = read_header(source, **CODEPOINTS)
    table = tabulate_objects(source, {"topic": pl.String, **_PLACE, "id": pl.String}, line)
    frame = table.require_valid().frame.with_columns(pl.col("topic").fill_null("-"))
    raise_problems(check_rules(source.path, frame, _UNIT_RULES))
    units = frame.unique(["doc", "start", "end"], keep="first", maintain_order=True)
    try:
        return _make_segmentation(str(header.get("run") or source.stem), units, units["id"])
    except UsageError as error:
        raise source.error("segmentation.units", None, str(error)) from None


# -- projection --------------------------------------------------------------------------------

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
