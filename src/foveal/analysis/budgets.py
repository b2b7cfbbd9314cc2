"""Scores against the amount of text read: curves over budgets, their area and crossings.

Chunks of different sizes are not comparable at a rank: ten of 1,000 characters are more text than
ten of 200. They are comparable at the same amount of text, which costs a reader time and a prompt
money. All budgets are computed in one pass over each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.adapters import runs_of
from foveal.analysis.gain_curves import align_runs
from foveal.analysis.score_tables import tabulate_scores
from foveal.analysis.significance import bootstrap_interval
from foveal.errors import InputError, UsageError, some
from foveal.evaluation.document_names import match_names, warn_about_names
from foveal.evaluation.evaluation import Evaluation, Objects, RunLike
from foveal.measures import Measure, parse_measure
from foveal.measures.alignment import Alignment
from foveal.measures.characters import UNITS, Readings, best_precisions_within, readings
from foveal.model import UNKNOWN, Judgements, Results, Run
from foveal.model.graphs import Axis, Graph, Line
from foveal.model.result_object import Result
from foveal.model.tables import Table
from foveal.spans import Ints

__all__ = ["GAIN", "BudgetCurves", "Crossing", "Leader", "budget_curves", "with_tokens"]

GAIN = "gain"
"""In place of a measure: the relevant characters found."""
_MEASURES = ("charR", "charP", "charF", "iP")
_STEPS = 20
_MOST_COLUMNS = 6  # runs side by side in a table
Floats = npt.NDArray[np.float64]
Tokeniser = Callable[[str], "float | Sized"]


class Crossing(NamedTuple):
    """A budget at which the mean of one run falls below that of another.

    Resampling topics moves it: between `low` and `high` neither run is significantly better. None
    is an end beyond the given budgets.
    """

    below: str
    """The run that is better at smaller budgets."""
    above: str
    """The run that is better at larger budgets."""
    at: float
    low: float | None
    high: float | None

    def describe(self, unit: str) -> str:
        """Say in a sentence which run is better where."""
        where = "at any budget"
        if self.low is not None:
            where = f"from {self.low:.0f} " + ("on" if self.high is None else f"to {self.high:.0f}")
        elif self.high is not None:
            where = f"up to {self.high:.0f}"
        return (
            f"{self.below} is better below {self.at:.0f} {unit}, {self.above} above; "
            f"{where} the difference may be chance (95 % of resampled topics)."
        )


class Leader(NamedTuple):
    """A range of budgets at which one run has the best mean."""

    run: str
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class BudgetCurves(Result):
    """Scores of runs on topics at budgets."""

    measure: str
    """What is scored, without budget: ``charR``, ``iP@0.10``, or ``gain``."""
    unit: str
    """One of ``characters``, ``tokens``, ``results``."""
    budgets: Ints
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    values: Floats
    """Of each run, topic and budget; ``nan`` on topics that do not count for the run or have
    nothing relevant."""
    counted: npt.NDArray[np.bool_]
    meta: dict[str, Any]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the evaluation."""
        return tuple(self.meta["warnings"])

    @cached_property
    def mean(self) -> Floats:
        """The curve of each run: the mean over its topics at each budget."""
        used = ~np.isnan(self.values)
        total = np.where(used, self.values, 0.0).sum(axis=1)
        with np.errstate(invalid="ignore"):  # no topic counts: not a number
            mean: Floats = total / used.sum(axis=1)
        return mean

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

    def crossings(
        self,
        first: str,
        second: str,
        *,
        confidence: float = 0.95,
        resamples: int = 2000,
        seed: int = 0,
    ) -> tuple[Crossing, ...]:
        """Find the budgets where the curves of two runs cross, on straight lines between budgets.

        The interval of the mean difference at each budget is by resampling topics (percentile
        method).
        """
        for run in (first, second):
            if run not in self.runs:
                raise UsageError(f"no run {run!r} among the curves; they are of {some(self.runs)}")
        a, b = (self.values[self.runs.index(run)] for run in (first, second))
        both = ~np.isnan(a).any(axis=1) & ~np.isnan(b).any(axis=1)
        if not both.any():
            raise UsageError(f"{first} and {second} have no topic with a score in common")
        gap = a[both] - b[both]
        mean = gap.mean(axis=0)
        sign = np.where(np.abs(mean) < 1e-12, 0, np.sign(mean)).astype(int)
        low, high = bootstrap_interval(
            np.ascontiguousarray(gap.T), confidence=confidence, resamples=resamples, seed=seed
        )
        sure = (low > 0).astype(int) - (high < 0).astype(int)
        budgets = self.budgets.astype(np.float64)
        found = []
        for i, j in pairwise(np.flatnonzero(sign).tolist()):
            if sign[i] == sign[j]:
                continue
            step = budgets[i + 1] - budgets[i]
            at = budgets[i] + step * mean[i] / (mean[i] - mean[i + 1])
            before = np.flatnonzero(sure[: i + 1] == sign[i])
            after = np.flatnonzero(sure[j:] == sign[j])
            found.append(
                Crossing(
                    *((first, second) if sign[i] > 0 else (second, first)),
                    float(at),
                    float(budgets[before[-1]]) if len(before) else None,
                    float(budgets[j + after[0]]) if len(after) else None,
                )
            )
        return tuple(found)

    @cached_property
    def leaders(self) -> tuple[Leader, ...]:
        """The best run of each range of budgets, with as few changes as ties allow."""
        found: list[Leader] = []
        first, tied = 0, np.zeros(len(self.runs), dtype=bool)
        for column, budget in enumerate(self.budgets.tolist()):
            own = np.nan_to_num(self.mean[:, column], nan=-np.inf)
            best = own >= own.max() - 1e-12
            if not (tied & best).any():
                first, tied = budget, best
                found.append(Leader("", first, budget))
            tied = tied & best
            found[-1] = Leader(self.runs[int(tied.argmax())], first, budget)
        return tuple(found)

    def to_results(self) -> Results:
        """Return the scores under the names that `foveal.evaluate` gives them."""
        budgets = self.budgets.tolist()
        if self.measure == GAIN:
            by = "" if self.unit == UNITS[0] else f",unit={self.unit}"
            names = [f"{GAIN}(budget={budget}{by})" for budget in budgets]
        else:
            measure = parse_measure(self.measure)
            names = [measure(budget=budget, unit=self.unit).label for budget in budgets]
        meta = self.meta | {"measures": names}
        return Results(
            self.runs, self.topics, tuple(names), self.values, self.counted, self.mean, meta
        )

    def to_frame(self) -> pl.DataFrame:
        """Return the means: columns run, unit, budget, measure, value."""
        return pl.DataFrame(
            {
                "run": np.repeat(self.runs, len(self.budgets)),
                "unit": self.unit,
                "budget": np.tile(self.budgets, len(self.runs)),
                "measure": self.measure,
                "value": self.mean.ravel(),
            }
        )

    def rows(self, *, per_topic: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the scores as `foveal.evaluate` would return them."""
        for row in self.to_results().rows(per_topic=per_topic):
            yield dict(zip(("run", "topic", "measure", "value"), row, strict=True))

    def parts(self) -> dict[str, Any]:
        """Return the scores on all topics."""
        return {"results": list(self.rows(per_topic=True))}

    def to_json(self) -> str:
        """Return the scores on all topics as saved results, which ``foveal plot`` draws."""
        return self.to_results().to_json()

    @cached_property
    def _changes(self) -> list[tuple[Leader, Leader, Crossing | None]]:
        """Each leader with the next one, and the crossing of their curves between them."""
        found = []
        for one, other in pairwise(self.leaders):
            crossings = self.crossings(one.run, other.run)
            between = (c for c in crossings if one.last <= c.at <= other.first)
            found.append((one, other, next(between, None)))
        return found

    def summary(self) -> str:
        """Return which run is best at which budgets, and where that may be chance."""
        first, last = self.budgets[[0, -1]].tolist()
        if len(self.runs) == 1:
            return ""
        if np.ptp(self.mean, axis=0).max() < 1e-12:
            return f"All runs are equal at every budget from {first} to {last} {self.unit}."
        if len(self.leaders) == 1:
            best = f"{self.leaders[0].run} is best at every budget"
            return f"{best} from {first} to {last} {self.unit}."
        return "\n".join(
            crossing.describe(self.unit)
            if crossing  # else they are equal at the budgets between
            else f"{one.run} is best up to {one.last} {self.unit}, {other.run} from {other.first}."
            for one, other, crossing in self._changes
        )

    def tables(self, *, per_topic: bool = False) -> list[Table]:
        """Return a row per budget and a column per run; many runs are rows. Areas come last."""
        if per_topic:
            return [tabulate_scores(self.to_results(), per_topic=True)]
        values = np.vstack([self.mean.T, np.array(list(self.area.values()))])
        names = [*map(str, self.budgets.tolist()), "area"]
        is_best = np.nan_to_num(values, nan=-np.inf) == np.nanmax(values, axis=1, keepdims=True)
        best = np.argwhere(is_best).tolist() if len(self.runs) > 1 else []
        digits = 1 if self.measure == GAIN else 4
        rows = (["-" if np.isnan(v) else f"{v:.{digits}f}" for v in row] for row in values.tolist())
        first, last = self.budgets[[0, -1]].tolist()
        table = Table(
            (self.unit, *self.runs),
            tuple((name, *row) for name, row in zip(names, rows, strict=True)),
            frozenset((i, j + 1) for i, j in best),
            title=f"{self.measure} at budgets of {self.unit}, mean over topics",
            notes=(f"area: mean height of a curve from {first} to {last} {self.unit}.",),
        )
        if len(self.runs) <= _MOST_COLUMNS:
            return [table]
        turned = table.transpose()
        return [replace(turned, header=("run", *turned.header[1:]))]

    def graphs(self) -> list[Graph]:
        """Return the mean curve of each run, with a vertical line where another takes the lead."""
        budgets = self.budgets.astype(np.float64)
        lines = [
            Line(f"{run}: area {self.area[run]:.4g}", budgets, self.mean[i], series=i)
            for i, run in enumerate(self.runs)
        ]
        for one, _, crossing in self._changes:
            if crossing is not None:
                height = np.interp(crossing.at, budgets, self.mean[self.runs.index(one.run)])
                ends = np.array([0.0, float(height)])
                lines.append(Line("", np.full(2, crossing.at), ends, "aid"))
        unit = "relevant characters" if self.measure == GAIN else "mean over topics"
        return [
            Graph(
                "budget",
                f"Scores at budgets: {self.measure}",
                Axis(f"{self.unit} read", "per topic", 0.0),
                Axis(self.measure, unit, 0.0),
                tuple(lines),
                tuple(self.summary().splitlines()),
            )
        ]


def budget_curves(
    runs: RunLike | Sequence[RunLike] | Objects,
    judgements: Judgements | str | Path | Sequence[str | Path] | Objects,
    measure: str | Measure = "charR",
    *,
    unit: str = "characters",
    budgets: Iterable[int] | None = None,
    up_to: int | None = None,
    collection: str | Path | None = None,
    **options: Any,
) -> BudgetCurves:
    """Score runs at many budgets.

    Parameters
    ----------
    runs, judgements, collection, **options
        As `foveal.evaluate` takes them.
    measure : text or Python form of a measure
        ``charR``, ``charP``, ``charF`` or ``iP@x``, or ``gain``: the relevant characters found.
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
    chosen = _check_measure(measure)
    if unit not in UNITS:
        raise UsageError(f"unit {unit!r} is not one of {', '.join(UNITS)}")
    given = runs_of(runs)
    if not given:
        raise UsageError("no run given")
    evaluation = Evaluation(judgements, chosen, collection=collection, **options)
    if evaluation.assessors != (None,):
        raise UsageError("curves are of one set of judgements; choose an assessor instead of each")
    (gold,), settings = evaluation.golds, evaluation.options
    names, aligned, counted = zip(*align_runs(evaluation, given), strict=True)
    alignments = [own.alignment_for(chosen) for own in aligned]
    places = _choose_budgets(budgets, up_to, alignments, unit)
    values = np.stack(
        [_score_budgets(own, chosen, str(measure), places, unit) for own in alignments]
    )
    if settings.undefined == "zero":
        values[np.isnan(values)] = 0.0
    values[~np.stack(counted)] = np.nan
    warnings = list(evaluation.warnings)
    shares = {}
    for name, own in zip(names, aligned, strict=True):
        match = match_names(own.alignment())
        shares[name] = {"results_in_judged_documents": match.known / match.results}
        warnings += warn_about_names(name, match, gold)
        warnings += [f"{name}: {text}" for text in own.warnings]
    sources = [*evaluation.sources, *(("run", own.run.source) for own in aligned)]
    meta = {
        "version": __version__,
        "task": None,
        "tasks": dict.fromkeys(names),
        "options": settings.changed(),
        "inputs": [{"kind": k, "path": s.path, "sha256": s.sha256} for k, s in sources],
        "topics": {"judged": len(gold.topics), "runs": shares},
        "warnings": warnings,
    }
    label = GAIN if str(measure) == GAIN else chosen.label
    return BudgetCurves(label, unit, places, names, gold.topics, values, np.stack(counted), meta)


def _check_measure(measure: str | Measure) -> Measure:
    """Return the measure to score at budgets; for the gain, charR, which counts the same text."""
    if str(measure) == GAIN:
        return parse_measure("charR")
    chosen = parse_measure(measure) if isinstance(measure, str) else measure
    if chosen.name not in _MEASURES:
        raise UsageError(
            f"{chosen} has no budget; expected {', '.join(_MEASURES[:-1])}, iP@x or {GAIN}"
        )
    for name in ("budget", "unit"):
        if name in chosen.settings:
            raise UsageError(
                f"{chosen}: {name} runs along the curve or is given apart; leave it out"
            )
    return chosen


def _choose_budgets(
    given: Iterable[int] | None, up_to: int | None, alignments: Sequence[Alignment], unit: str
) -> Ints:
    if given is not None:
        if up_to is not None:
            raise UsageError("give budgets or up_to, not both")
        places = np.unique(np.array(list(given)))
        if not len(places) or not np.issubdtype(places.dtype, np.integer) or places[0] < 1:
            raise UsageError("budgets are whole numbers from 1, and at least one")
        return places.astype(np.int64)
    if up_to is None:
        totals = []  # the median of what topics have to read, to two digits
        for own in alignments:
            run = own.run
            cost: Ints | Floats = np.ones(len(run), dtype=np.int64)
            if unit == "characters":
                cost = own.size
            elif unit == "tokens" and run.tokens is not None:
                # Under union only new text is paid for, as in `readings`.
                cost = run.tokens * own.size / np.maximum(own.full_size, 1)
            total = int(np.median(np.bincount(run.topic, cost, len(run.topics))))
            digits = int(10 ** max(len(str(total)) - 2, 0))
            totals.append(max(total // digits * digits, 1))
        up_to = min(totals)
    if up_to < 1:
        raise UsageError(f"budgets up to {up_to} are none; expected 1 or more")
    return np.unique(np.ceil(np.arange(1, _STEPS + 1) * up_to / _STEPS).astype(np.int64))


def _score_budgets(
    alignment: Alignment, measure: Measure, asked: str, budgets: Ints, unit: str
) -> Floats:
    """Return the scores on every judged topic at every budget."""
    # The cut-off of iP is a level of recall, and not a rank to stop at.
    rank = None if measure.cutoff.of_recall else measure.rank
    read = readings(alignment, budgets, unit, rank=rank)
    gold, place = alignment.gold, alignment.judged_topic
    values = np.zeros((len(gold.topics), len(budgets)))
    some_relevant = gold.trel[place] > 0
    here = place[some_relevant]
    found, size, _ = (column[some_relevant] for column in read)
    recall = found / gold.trel[here][:, None]
    precision = found / np.maximum(size, 1)
    if asked == GAIN:
        values[here] = found
    elif measure.name == "charR":
        values[here] = recall
    elif measure.name == "charP":
        values[here] = precision
    elif measure.name == "charF":
        weight = measure.settings.get("beta", 1.0) ** 2
        below = weight * precision + recall
        values[here] = (1 + weight) * precision * recall / np.where(below > 0, below, 1.0)
    else:
        for row in np.flatnonzero(some_relevant).tolist():
            view = alignment.topic(alignment.run.topics[row])
            own = Readings(*(column[row] for column in read))
            values[place[row]] = best_precisions_within(view, measure.at, own)
    values[gold.nrel == 0] = np.nan
    return values


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
    tokens = np.zeros(len(run), dtype=np.int64)
    places = zip(run.doc.to_list(), run.start.tolist(), run.end.tolist(), strict=True)
    for i, (doc, start, end) in enumerate(places):
        if (doc, start, end) not in known:
            at = (run.source.path, int(run.line[i]))
            if doc not in texts:
                raise InputError.at("texts.missing", *at, f"no text of document {doc!r} is given")
            if start == UNKNOWN:
                reason = "the result has no offsets; tokens are counted in the text"
                raise InputError.at("run.unresolved", *at, reason)
            text = texts[doc]
            if end > len(text):
                size = f"{len(text)} characters of document {doc!r}"
                raise InputError.at("run.span", *at, f"the result ends at {end}, past the {size}")
            part = text[start:] if end == UNKNOWN else text[start:end]
            known[doc, start, end] = _count_tokens(tokeniser, part)
        tokens[i] = known[doc, start, end]
    return run.with_columns(tokens=tokens)


def _count_tokens(tokeniser: Tokeniser, text: str) -> int:
    """Return the number of tokens of a text, rounded up."""
    found = tokeniser(text)
    # The items of a mapping or text are not tokens: a tokeniser may return {"input_ids": [...]}.
    if isinstance(found, Sized) and not isinstance(found, (Mapping, str, bytes)):
        return len(found)
    number = np.nan if isinstance(found, (Sized, bool)) else found
    if not (isinstance(number, (int, float, np.number)) and 0 <= number < np.inf):
        raise UsageError(
            f"the tokeniser returns {found!r:.60}; expected a number of tokens from 0, or the "
            "tokens"
        )
    return int(np.ceil(number))
