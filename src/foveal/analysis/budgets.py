"""Scores against the amount of text read: curves over budgets, their area and crossings.

Chunks of different sizes are not comparable at a rank: ten of 1,000 characters are more text than
ten of 200. They are comparable at the same amount of text, which costs a reader time and a prompt
money.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foveal.adapters import runs_of
from foveal.analysis.score_tables import tabulate_scores
from foveal.analysis.significance import bootstrap_interval
from foveal.errors import InputError, UsageError
from foveal.evaluation.evaluation import Evaluation, Objects, RunLike
from foveal.measures import Measure, parse_measure
from foveal.measures.alignment import Alignment
from foveal.measures.characters import UNITS
from foveal.model import UNKNOWN, Judgements, Results, Run
from foveal.model.graphs import Axis, Graph, Line
from foveal.model.result_object import Result
from foveal.model.tables import Table, format_cell
from foveal.spans import Floats, Ints

_MEASURES = ("charR", "charP", "charF", "iP")
_STEPS = 20
_RESAMPLES = 2000
_MOST_COLUMNS = 6  # runs side by side in a table
Tokeniser = Callable[[str], "float | Sized"]


class Crossing(NamedTuple):
    """A budget at which the best run changes: one is better `below` it, another `above` it.

    From `low` to `high` neither run is significantly better; both lie among the given budgets.
    """

    below: str
    above: str
    at: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class BudgetCurves(Result):
    """Scores of runs on topics at budgets, which count characters, tokens or results (`unit`).

    `measure` is the one without budget, such as ``charR``; `results` has a measure for each budget.
    """

    measure: str
    unit: str
    budgets: Ints
    results: Results

    @property
    def runs(self) -> tuple[str, ...]:
        return self.results.runs

    @property
    def mean(self) -> Floats:
        """The curve of each run: the mean over its topics at each budget."""
        return self.results.overall

    @property
    def meta(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Provenance and warnings of the evaluation."""
        return self.results.meta

    @cached_property
    def area(self) -> dict[str, float]:
        """The mean height of each curve from the first to the last budget, on straight lines.

        All budgets in between have equal weight: this is the expected score if the budget is not
        known yet.
        """
        width = np.diff(self.budgets)
        middle = (self.mean[:, 1:] + self.mean[:, :-1]) / 2
        area = middle @ width / width.sum() if len(width) else self.mean[:, 0]
        return dict(zip(self.runs, area.tolist(), strict=True))

    def crossings(self, first: str, second: str) -> tuple[Crossing, ...]:
        """Find the budgets where the curves of two runs cross, on straight lines between budgets.

        The 95 % interval of the mean difference at each budget is by resampling topics.
        """
        a, b = self.results.of_runs([first, second]).values
        both = ~np.isnan(a).any(axis=1) & ~np.isnan(b).any(axis=1)
        if not both.any():
            raise UsageError(f"{first} and {second} have no topic with a score in common")
        gap = a[both] - b[both]
        mean = gap.mean(axis=0)
        sign = np.where(np.abs(mean) < 1e-12, 0, np.sign(mean)).astype(int)
        low, high = bootstrap_interval(np.ascontiguousarray(gap.T), resamples=_RESAMPLES)
        sure = (low > 0).astype(int) - (high < 0).astype(int)
        budgets = self.budgets.astype(np.float64)
        found = []
        for i, j in pairwise(np.flatnonzero(sign).tolist()):
            if sign[i] == sign[j]:
                continue
            step = budgets[i + 1] - budgets[i]
            at = budgets[i] + step * mean[i] / (mean[i] - mean[i + 1])
            before = budgets[: i + 1][sure[: i + 1] == sign[i]]
            after = budgets[j:][sure[j:] == sign[j]]
            names = (first, second) if sign[i] > 0 else (second, first)
            ends = [*budgets[:1], *before][-1], [*after, *budgets[-1:]][0]
            found.append(Crossing(*names, float(at), *map(float, ends)))
        return tuple(found)

    @cached_property
    def leaders(self) -> tuple[tuple[str, int, int], ...]:
        """The best run of each range of budgets, first to last, with few changes where runs tie."""
        found: list[tuple[str, int, int]] = []
        tied = np.zeros(len(self.runs), dtype=bool)
        means = np.nan_to_num(self.mean.T, nan=-np.inf)
        for budget, own in zip(self.budgets.tolist(), means, strict=True):
            best = own >= own.max() - 1e-12
            first = found.pop()[1] if (tied & best).any() else budget
            tied = tied & best if first < budget else best
            found.append((self.runs[int(tied.argmax())], first, budget))
        return tuple(found)

    @cached_property
    def _changes(self) -> list[tuple[str, Crossing | None]]:
        """A sentence on each change of the leader, and the crossing of the curves if there is one.

        Runs that are averaged over other topics may have none.
        """
        found = []
        for (one, _, last), (other, first, _) in pairwise(self.leaders):
            crossings = [c for c in self.crossings(one, other) if last <= c.at <= first]
            crossing = crossings[0] if crossings else None
            text = f"{one} is best up to {last} {self.unit}, {other} from {first}."
            if crossing is not None:
                text = f"{one} is better below {crossing.at:.0f} {self.unit}, {other} above; "
                text += f"from {crossing.low:.0f} to {crossing.high:.0f} this may be chance."
            found.append((text, crossing))
        return found

    def rows(self, *, per_topic: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the scores as `foveal.evaluate` would return them."""
        for row in self.results.rows(per_topic=per_topic):
            yield dict(zip(("run", "topic", "measure", "value"), row, strict=True))

    def parts(self) -> dict[str, Any]:
        """Return the scores on all topics."""
        return {"results": list(self.rows(per_topic=True))}

    def to_json(self) -> str:
        """Return the scores on all topics as saved results, which ``foveal plot`` draws."""
        return self.results.to_json()

    def summary(self) -> str:
        """Return which run is best at which budgets, and where that may be chance."""
        if len(self.runs) == 1:
            return ""
        if len(self.leaders) == 1:
            best, first, last = self.leaders[0]
            return f"No run beats {best} at any budget from {first} to {last} {self.unit}."
        return "\n".join(text for text, _ in self._changes)

    def tables(self, *, per_topic: bool = False) -> list[Table]:
        """Return a row per budget and a column per run, the areas last; many runs are rows."""
        if per_topic:
            return [tabulate_scores(self.results, per_topic=True)]
        values = np.vstack([self.mean.T, np.array(list(self.area.values()))])
        names = [*map(str, self.budgets.tolist()), "area"]
        is_best = np.nan_to_num(values, nan=-np.inf) == np.nanmax(values, axis=1, keepdims=True)
        best = np.argwhere(is_best).tolist() if len(self.runs) > 1 else []
        rows = (map(format_cell, row) for row in values.tolist())
        first, last = self.budgets[[0, -1]].tolist()
        table = Table(
            (self.unit, *self.runs),
            tuple((name, *row) for name, row in zip(names, rows, strict=True)),
            frozenset((i, j + 1) for i, j in best),
            title=f"{self.measure} at budgets of {self.unit}, mean over topics",
            notes=(f"area: mean height of a curve from {first} to {last} {self.unit}.",),
        )
        if len(self.runs) > _MOST_COLUMNS:
            table = replace(table.transpose(), header=("run", *names))
        return [table]

    def graphs(self) -> list[Graph]:
        """Return the mean curve of each run, with a vertical line where another takes the lead."""
        budgets = self.budgets.astype(np.float64)
        lines = [
            Line(f"{run}: area {self.area[run]:.4g}", budgets, self.mean[i], series=i)
            for i, run in enumerate(self.runs)
        ]
        for _, crossing in self._changes:
            if crossing is not None:
                height = np.interp(crossing.at, budgets, self.mean[self.runs.index(crossing.below)])
                ends = np.array([0.0, float(height)])
                lines.append(Line("", np.full(2, crossing.at), ends, "aid"))
        x = Axis(f"{self.unit} read", "per topic", 0.0)
        y = Axis(self.measure, "mean over topics", 0.0)
        title, notes = f"Scores at budgets: {self.measure}", tuple(self.summary().splitlines())
        return [Graph("budget", title, x, y, tuple(lines), notes)]


def budget_curves(
    runs: RunLike | Sequence[RunLike] | Objects,
    judgements: Judgements | str | Path | Sequence[str | Path] | Objects,
    measure: str | Measure = "charR",
    *,
    unit: str = "characters",
    budgets: Iterable[int] | None = None,
    up_to: int | None = None,
    **options: Any,
) -> BudgetCurves:
    """Score runs at many budgets.

    Parameters
    ----------
    runs, judgements, **options
        As `foveal.evaluate` takes them.
    measure : text or Python form of a measure
        ``charR``, ``charP``, ``charF`` or ``iP@x``.
    unit : {"characters", "tokens", "results"}
        What is counted. Tokens are those of the results (`foveal.with_tokens`).
    budgets : whole numbers, optional
    up_to : int, optional
        Use twenty evenly spaced budgets up to this one. By default up to the text that half of the
        topics of every run have: beyond, runs differ in how much they return.

    Examples
    --------
    >>> from foveal.model import Run
    >>> truth = Judgements.from_highlights({"1": {"D": {"spans": [(30, 50)], "length": 90}}})
    >>> small = Run.from_results({"1": [("D", 0, 10), ("D", 40, 50), ("D", 30, 40)]}, name="small")
    >>> large = Run.from_results({"1": [("D", 20, 60), ("D", 0, 20)]}, name="large")
    >>> curves = budget_curves([small, large], truth, budgets=[10, 20, 30, 40])
    >>> curves.mean.tolist()
    [[0.0, 0.5, 1.0, 1.0], [0.0, 0.5, 1.0, 1.0]]
    """
    chosen = parse_measure(measure) if isinstance(measure, str) else measure
    if chosen.name not in _MEASURES or chosen.settings.keys() & {"budget", "unit"}:
        raise UsageError(f"{chosen} has no curve; expected charR, charP, charF or iP@x, no budget")
    if unit not in UNITS:
        raise UsageError(f"unit {unit!r} is not one of {', '.join(UNITS)}")
    if budgets is not None:
        places = np.unique(np.array(list(budgets)))
        if not len(places) or not np.issubdtype(places.dtype, np.integer) or places[0] < 1:
            raise UsageError("budgets are whole numbers from 1, and at least one")
    evaluation = Evaluation(judgements, chosen, **options)
    if evaluation.assessors != (None,):
        raise UsageError("curves are of one set of judgements; choose an assessor instead of each")
    aligned = [evaluation.align(run) for run in runs_of(runs)]
    if budgets is None:
        if up_to is None:
            up_to = min(_measure_half(own.alignment_for(chosen), unit) for (own,) in aligned)
        if up_to < 1:
            raise UsageError(f"up_to {up_to} is not possible; expected 1 or more")
        places = np.unique(np.ceil(np.arange(1, _STEPS + 1) * up_to / _STEPS).astype(np.int64))
    # Every budget is a measure of its own, applied to the runs as they were aligned.
    points = tuple(chosen(budget=budget, unit=unit) for budget in places.tolist())
    for (own,) in aligned:
        own.overlaps |= dict.fromkeys(points, own.overlaps[chosen])
    evaluation.measures = evaluation.scored = points
    results = evaluation.results(map(evaluation.score, aligned))
    return BudgetCurves(chosen.label, unit, places, results)


def _measure_half(alignment: Alignment, unit: str) -> int:
    """Return how much there is to read on half of the topics, to two digits."""
    run = alignment.run
    cost: Ints | Floats = np.ones(len(run))
    if unit == "characters":
        cost = alignment.size
    elif unit == "tokens" and run.tokens is not None:
        # Under union only new text is paid for, as within a budget.
        cost = run.tokens * alignment.size / np.maximum(alignment.full_size, 1)
    total = int(np.median(np.bincount(run.topic, cost, len(run.topics))))
    digits = int(10 ** max(len(str(total)) - 2, 0))
    return max(total // digits * digits, 1)


# -- tokens --------------------------------------------------------------------------------------


def with_tokens(run: Run, tokeniser: Tokeniser, texts: Mapping[str, str]) -> Run:
    """Count the tokens of every result of a run.

    Parameters
    ----------
    run : Run
        A run with offsets; a whole document counts with all of its text.
    tokeniser : callable
        Takes a text and returns the number of its tokens, or the tokens (anything with a length):
        ``encoding.encode``, ``str.split``, ``lambda text: len(text) / 4``. A number that is not
        whole is rounded up. Equal spans are counted once.
    texts : mapping of document to text
        Offsets count their code points.

    Examples
    --------
    >>> run = Run.from_results({"1": [("D1", 0, 9), ("D1", 10, 14)]})
    >>> with_tokens(run, str.split, {"D1": "three two ones"}).tokens.tolist()
    [2, 1]
    """
    known: dict[tuple[str, int, int], int] = {}
    spans = list(zip(run.doc.to_list(), run.start.tolist(), run.end.tolist(), strict=True))
    for i, (doc, start, end) in enumerate(spans):
        if (doc, start, end) in known:
            continue
        at = (run.source.path, int(run.line[i]))
        if doc not in texts:
            raise InputError.at("texts.missing", *at, f"no text of document {doc!r} is given")
        if start == UNKNOWN:
            raise InputError.at("run.unresolved", *at, "the result has no offsets")
        if end > len(texts[doc]):
            text = f"the result ends at {end}, past the {len(texts[doc])} characters of {doc!r}"
            raise InputError.at("run.span", *at, text)
        part = texts[doc][start:] if end == UNKNOWN else texts[doc][start:end]
        known[doc, start, end] = _count_tokens(tokeniser, part)
    return run.with_columns(tokens=np.array([known[span] for span in spans], dtype=np.int64))


def _count_tokens(tokeniser: Tokeniser, text: str) -> int:
    """Return the number of tokens of a text, rounded up."""
    found = tokeniser(text)
    # The items of a mapping or text are not tokens: a tokeniser may return {"input_ids": [...]}.
    if isinstance(found, Sized) and not isinstance(found, (Mapping, str, bytes)):
        return len(found)
    if isinstance(found, (int, float, np.number)) and 0 <= found < np.inf:
        return math.ceil(found)
    raise UsageError(f"the tokeniser returned {found!r:.60}; expected the tokens or their number")
