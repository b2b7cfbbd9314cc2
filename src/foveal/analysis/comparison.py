"""Comparison of runs on the topics they share: paired tests, intervals, effect sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.analysis import significance
from foveal.analysis.score_matrix import (
    ScoreMatrix,
    check_assessors,
    free_name,
    round_noise,
    select_labels,
)
from foveal.analysis.significance import TestSettings
from foveal.analysis.tasks import list_unscored, without_curves
from foveal.errors import UsageError, counted, some
from foveal.evaluation import evaluate
from foveal.evaluation.evaluation import RunLike
from foveal.measures import Measure, parse_measures
from foveal.model import Judgements, Results
from foveal.model.graphs import Axis, Graph, Line
from foveal.model.result_object import Result
from foveal.model.tables import Table

__all__ = [
    "TABLES",
    "Comparison",
    "Pairs",
    "SignificantPairs",
    "compare",
    "significant_pairs",
    "test_pairs",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


TABLES = ("means", "ranks", "pairs", "matrix", "summary")
_MOST_PAIRS = 45  # the pairs of ten runs
_MOST_NAMED = 8  # runs in a sentence
_TEST_NAMES = {
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
    "randomisation": "randomisation test",
    "bootstrap": "bootstrap test",
}
_CORRECTION_NAMES = {
    "holm": "Holm's correction",
    "bonferroni": "Bonferroni's correction",
    "bh": "Benjamini and Hochberg's correction",
    "none": "no correction",
}


class SignificantPairs(NamedTuple):
    """Numbers of significant pairs and of all pairs of runs."""

    significant: int
    pairs: int


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of runs by one measure; arrays have an entry for each pair.

    Parameters
    ----------
    scores : ScoreMatrix
        The scores that were tested.
    first, second : int arrays
        Positions of the runs; every difference is first minus second.
    difference, low, high : float arrays
        The mean difference with its confidence interval; exactly 0 where only rounding differs.
    effect : float array
        Cohen's d of the paired differences.
    wins, ties, losses : int arrays
        Numbers of topics on which the first is better, equal, worse.
    needed : float array
        Topics needed to find an effect of this size; infinite if there is none.
    p, adjusted : mappings of test to float array
        p values before and after correction over the pairs of this measure.
    equivalence : pair of float arrays, optional
        p values of equivalence within the margin, before and after correction.
    verdicts : tuple of str
        ``better`` or ``worse`` where the first test finds a significant difference; else
        ``equivalent`` where the test of equivalence does; else ``inconclusive``.
    limits : pair of float arrays
        The confidence interval of each run's mean.
    ranked : float array
        Means of the runs to rank by: greater is better, and rounding errors make no difference.
    order : int array
        Positions of the runs from best to worst; ties keep their order.
    best : float array
        Probability of each run to be the best, by resampling topics.
    ranks : pair of int arrays
        The confidence interval of each run's rank, by resampling topics.
    """

    measure: str
    scores: ScoreMatrix
    first: Ints
    second: Ints
    difference: Floats
    low: Floats
    high: Floats
    effect: Floats
    wins: Ints
    ties: Ints
    losses: Ints
    needed: Floats
    p: Mapping[str, Floats]
    adjusted: Mapping[str, Floats]
    equivalence: tuple[Floats, Floats] | None
    verdicts: tuple[str, ...]
    limits: tuple[Floats, Floats]
    ranked: Floats
    order: Ints
    best: Floats
    ranks: tuple[Ints, Ints]

    @property
    def better(self) -> Ints:
        """1 where the first run has the better mean, -1 where the second has, else 0.

        It also indexes a sequence of three: equal, first, second.
        """
        sign = 1 if self.scores.higher_is_better else -1
        return np.sign(sign * self.effect).astype(np.int64)

    def square(self, of_pairs: npt.NDArray[Any], fill: Any) -> npt.NDArray[Any]:
        """Return values of pairs as a symmetric matrix (run, run)."""
        runs = len(self.scores.runs)
        matrix = np.full((runs, runs), fill, dtype=of_pairs.dtype)
        matrix[self.first, self.second] = matrix[self.second, self.first] = of_pairs
        return matrix


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """A comparison of runs, with one `Pairs` for each measure; `compare` makes it."""

    runs: tuple[str, ...]
    baseline: str | None
    settings: TestSettings
    measures: tuple[Pairs, ...]
    warnings: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        pairs = len(self.measures[0].first)
        return f"<Comparison: {len(self.runs)} runs, {pairs} pairs, {len(self.measures)} measures>"

    def __getitem__(self, measure: str) -> Pairs:
        held = [pairs.measure for pairs in self.measures]
        try:
            (label,) = select_labels(held, [measure])
        except (UsageError, ValueError):
            raise UsageError(
                f"no measure {str(measure)!r} in the comparison; it holds {', '.join(held)}"
            ) from None
        return self.measures[held.index(label)]

    def significant(self, measure: str, test: str | None = None) -> Bools:
        """Return which pairs differ significantly, by the first test or this one."""
        made = self.settings.tests
        if test is not None and test not in made:
            raise UsageError(f"unknown test {test!r}; expected {' or '.join(made)}")
        adjusted = self[measure].adjusted[made[0] if test is None else test]
        return np.asarray(adjusted < self.settings.alpha, dtype=np.bool_)

    def matrix(self, measure: str, test: str | None = None) -> pl.DataFrame:
        """Return the corrected p values of all pairs, runs from best to worst.

        The diagonal and pairs that were not tested are null. The column of run names is called
        ``""``, or ``_`` if a run is called that.
        """
        pairs, made = self[measure], self.settings.tests
        if test is not None and test not in made:
            raise UsageError(f"unknown test {test!r}; expected {' or '.join(made)}")
        p = pairs.adjusted[made[0] if test is None else test]
        square = pairs.square(p, np.nan)[pairs.order][:, pairs.order]
        names = [self.runs[i] for i in pairs.order.tolist()]
        columns = {name: square[:, j] for j, name in enumerate(names)}
        first = pl.DataFrame({free_name("", names): names})
        return first.hstack(pl.DataFrame(columns).fill_nan(None))

    def letters(self, measure: str, test: str | None = None) -> dict[str, str]:
        """Return the letters of each run, best first; runs that share a letter do not differ."""
        if self.baseline is not None:
            raise UsageError("letters need all pairs; this comparison has a baseline")
        pairs = self[measure]
        apart = pairs.square(self.significant(measure, test), fill=False)
        named = significance.letters(apart[pairs.order][:, pairs.order])
        return {self.runs[i]: name for i, name in zip(pairs.order.tolist(), named, strict=True)}

    def marks(self, measure: str, test: str | None = None) -> dict[str, str]:
        """Return each run's mark against the baseline: + or - for the mean, * if significant."""
        if self.baseline is None:
            raise UsageError("marks are against a baseline; this comparison has none")
        pairs = self[measure]
        return {
            self.runs[run]: "=+-"[better] + ("*" if differs else "")
            for run, better, differs in zip(
                pairs.first.tolist(),
                pairs.better.tolist(),
                self.significant(measure, test).tolist(),
                strict=True,
            )
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each measure, pair and test; undefined values are None."""
        for pairs in self.measures:
            means = pairs.scores.means.tolist()
            for test in self.settings.tests:
                significant = self.significant(pairs.measure, test)
                for k, (i, j) in enumerate(
                    zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
                ):
                    better = (None, self.runs[i], self.runs[j])[pairs.better[k]]
                    needed = pairs.needed[k]
                    row = {
                        "measure": pairs.measure,
                        "run": self.runs[i],
                        "other": self.runs[j],
                        "topics": len(pairs.scores.topics),
                        "mean": means[i],
                        "other_mean": means[j],
                        "difference": float(pairs.difference[k]),
                        "low": float(pairs.low[k]),
                        "high": float(pairs.high[k]),
                        "effect": float(pairs.effect[k]),
                        "better": better,
                        "wins": int(pairs.wins[k]),
                        "ties": int(pairs.ties[k]),
                        "losses": int(pairs.losses[k]),
                        "topics_needed": int(needed) if isfinite(needed) else None,
                        "test": test,
                        "p": float(pairs.p[test][k]),
                        "p_corrected": float(pairs.adjusted[test][k]),
                        "significant": bool(significant[k]),
                        "verdict": pairs.verdicts[k],
                    }
                    if pairs.equivalence is not None:
                        row["p_equivalence"] = float(pairs.equivalence[0][k])
                        row["p_equivalence_corrected"] = float(pairs.equivalence[1][k])
                    for run, prefix in ((i, ""), (j, "other_")):
                        row[f"{prefix}probability_best"] = float(pairs.best[run])
                        row[f"{prefix}rank_low"] = int(pairs.ranks[0][run])
                        row[f"{prefix}rank_high"] = int(pairs.ranks[1][run])
                    yield row

    def run_rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each measure and run, from best to worst."""
        for pairs in self.measures:
            against = self.baseline is not None
            shown = (self.marks if against else self.letters)(pairs.measure)
            means = pairs.scores.means
            for i in pairs.order.tolist():
                yield {
                    "measure": pairs.measure,
                    "run": self.runs[i],
                    "topics": len(pairs.scores.topics),
                    "mean": float(means[i]),
                    "low": float(pairs.limits[0][i]),
                    "high": float(pairs.limits[1][i]),
                    "mark" if against else "letters": shown.get(self.runs[i]),
                    "probability_best": float(pairs.best[i]),
                    "rank_low": int(pairs.ranks[0][i]),
                    "rank_high": int(pairs.ranks[1][i]),
                }

    def summary_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the number of significant pairs for each measure and test.

        ``one_tailed`` counts pairs by the uncorrected one-tailed t-test, as the papers do.
        """
        for pairs in self.measures:
            differences = significance.paired_differences(
                pairs.scores.values, pairs.first, pairs.second
            )
            plain = significance.t_test(differences, tails=1) < self.settings.alpha
            for test in self.settings.tests:
                yield {
                    "measure": pairs.measure,
                    "test": test,
                    "topics": len(pairs.scores.topics),
                    "pairs": len(pairs.first),
                    "significant": int(self.significant(pairs.measure, test).sum()),
                    "one_tailed": int(plain.sum()),
                }

    def parts(self) -> dict[str, Any]:
        """Return the runs, the pairs and the numbers of significant pairs."""
        return {
            "runs": list(self.run_rows()),
            "pairs": list(self.rows()),
            "summary": list(self.summary_rows()),
        }

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each measure, pair and test."""
        types = {"better": pl.String, "topics_needed": pl.Int64}
        return pl.DataFrame(list(self.rows()), schema_overrides=types, infer_schema_length=None)

    def runs_frame(self) -> pl.DataFrame:
        """Return a row for each measure and run: the mean, its interval, letters or mark."""
        return pl.DataFrame(list(self.run_rows()), infer_schema_length=None)

    def summary(self) -> str:
        """Return for each measure which run leads, by how much, and if that may be chance.

        >>> rows = [(run, str(t), "AP", level + t % 3 / 10)
        ...         for run, level in [("a", 0.5), ("b", 0.1)] for t in range(6)]
        >>> compare(Results.from_tidy(rows, {})).summary()
        'a leads b by 0.4 AP; with 6 topics the difference is significant, p < 0.001.'
        """
        return "\n".join(map(self._describe_lead, self.measures))

    def _describe_lead(self, pairs: Pairs) -> str:
        """Say which run leads by one measure, and what the tests say about its lead."""
        settings, measure = self.settings, pairs.measure
        order, ranked = pairs.order.tolist(), pairs.ranked
        leaders = [i for i in order if ranked[i] == ranked[order[0]]]
        rest = order[len(leaders) :]
        topics = counted(len(pairs.scores.topics), "topic")
        if not rest:
            return f"All runs are equal by {measure} on {topics}."
        names = self._name_runs(leaders)
        # With a baseline, the best run is compared with it alone; else with all others.
        if self.baseline is not None:
            place = self.runs.index(self.baseline)
            if place in leaders[1:]:
                return f"{names} lead by {measure} on {topics}; {self.baseline} is the baseline."
            leaders, rest = (leaders[:1], rest) if place == leaders[0] else (leaders, [place])
        # A lead over a run is as certain as the least certain one of equal leaders.
        adjusted = pairs.square(pairs.adjusted[settings.tests[0]], 0.0)[leaders].max(axis=0)
        differs, alike = adjusted < settings.alpha, np.zeros(len(self.runs), dtype=np.bool_)
        if pairs.equivalence is not None:
            alike = pairs.square(pairs.equivalence[1], 0.0)[leaders].max(axis=0) < settings.alpha
        near = rest[0]
        k = int(pairs.square(np.arange(len(pairs.first)), -1)[leaders[0], near])
        gap = abs(float(pairs.difference[k]))
        text = f"{names} {'leads' if len(leaders) == 1 else 'lead'} {self.runs[near]} by "
        text += f"{_format_score(gap)} {measure}; with {topics} "
        within = f"within {settings.margin:g}" if settings.margin is not None else ""
        if differs[near]:
            text += f"the difference is significant, p {_format_chance(adjusted[near])}"
            text += f", but {within}" if alike[near] else ""
        elif alike[near] and pairs.equivalence is not None:
            p = pairs.square(pairs.equivalence[1], 0.0)[leaders, near].max()
            text += f"they are equivalent {within}, p {_format_chance(p)}"
        else:
            text += f"the difference may be chance, p {_format_chance(adjusted[near])}"
            text += f", and they are not shown to be equivalent {within}" if within else ""
            if settings.tests[0] == "t" and len(pairs.scores.topics) < pairs.needed[k] < np.inf:
                text += f"; about {pairs.needed[k]:.0f} topics would show it"
        it_is, its = ("it is", "its") if len(leaders) == 1 else ("they are", "their")
        also = "also " if differs[near] else ""
        others = [
            (f"{it_is} {also}significantly better than {{}}", [i for i in rest[1:] if differs[i]]),
            (f"{it_is} equivalent to {{}} {within}", [i for i in rest[1:] if (alike > differs)[i]]),
            (
                f"{its} lead over {{}} may be chance",
                [i for i in rest[1:] if not (alike | differs)[i]],
            ),
        ]
        said = "; ".join(words.format(self._name_runs(runs)) for words, runs in others if runs)
        return f"{text}. {said[0].upper()}{said[1:]}." if said else f"{text}."

    def _name_runs(self, places: Sequence[int]) -> str:
        return some([self.runs[i] for i in places], _MOST_NAMED)

    # -- tables ------------------------------------------------------------------------------------

    def tables(self, show: Sequence[str] = ()) -> list[Table]:
        """Return the tables of `TABLES` that `show` names; by default those that help.

        A matrix needs three runs to say more than the list of pairs, and a list of more than 45
        pairs gives way to the matrix.
        """
        if not show:
            has_matrix = self.baseline is None and len(self.runs) > 2
            has_list = len(self.measures[0].first) <= _MOST_PAIRS
            show = [
                name
                for name in TABLES
                if (name != "matrix" or has_matrix) and (name != "pairs" or has_list)
            ]
        tables = [self._tabulate_means()] if "means" in show else []
        tables += [self._tabulate_ranks()] if "ranks" in show else []
        for pairs in self.measures:
            tables += [self._tabulate_pairs(pairs)] if "pairs" in show else []
            tables += [self._tabulate_matrix(pairs)] if "matrix" in show else []
        return tables + ([self._tabulate_counts()] if "summary" in show else [])

    def _tabulate_means(self) -> Table:
        """Return runs by measures: the mean, with letters or a mark."""
        rows = [[run] for run in self.runs]
        best, marks = set(), {}
        for k, pairs in enumerate(self.measures, 1):
            shown = (self.letters if self.baseline is None else self.marks)(pairs.measure)
            for i, (row, mean) in enumerate(zip(rows, pairs.scores.means.tolist(), strict=True)):
                row.append(f"{mean:.4f}")
                marks[i, k] = f" {shown.get(self.runs[i], '')}"
                if pairs.ranked[i] == pairs.ranked[pairs.order[0]]:
                    best.add((i, k))
        note = "Runs that share a letter do not differ significantly:"
        if self.baseline is not None:
            note = f"Against {self.baseline}: + better, - worse, = equal, * significant:"
        topics = {len(pairs.scores.topics) for pairs in self.measures}
        over = f"{min(topics)}" if len(topics) == 1 else f"{min(topics)} to {max(topics)}"
        settings = self.settings
        tails = "two-sided" if settings.tails == 2 else "the better mean against the worse"
        over_pairs = "" if settings.correction == "none" else " over the pairs of a measure"
        test = f"{_TEST_NAMES[settings.tests[0]]}, {tails}"
        correction = f"{_CORRECTION_NAMES[settings.correction]}{over_pairs}"
        return Table(
            ("run", *(pairs.measure for pairs in self.measures)),
            tuple(map(tuple, rows)),
            frozenset(best),
            title=f"Means over {over} topics, best in bold",
            notes=(note, f"{test}, {correction}, alpha {settings.alpha:g}."),
            marks=marks,
            name="means",
        )

    def _tabulate_ranks(self) -> Table:
        """Return the runs from best to worst by each measure: means, intervals, ranks."""
        rows, most = [], set()
        for row in self.run_rows():
            interval = tuple(f"{row[name]:.4f}" for name in ("mean", "low", "high"))
            low, high = row["rank_low"], row["rank_high"]
            rank = f"{low}" if low == high else f"{low} to {high}"
            chance = f"{row['probability_best']:.2f}"
            rows.append((row["measure"], row["run"], *interval, rank, chance))
        first = 0
        for pairs in self.measures:
            chances = pairs.best[pairs.order]
            most |= {(first + int(i), 6) for i in np.flatnonzero(chances == chances.max())}
            first += len(self.runs)
        confidence = f"{100 * self.settings.confidence:g} %"
        return Table(
            ("measure", "run", "mean", "low", "high", "rank", "best"),
            tuple(rows),
            frozenset(most),
            labels=2,
            title="Ranks of the runs",
            notes=(
                f"low to high, rank: {confidence} confidence intervals of the mean and of the rank",
                f"best: probability of being the best run ({self.settings.resamples} resamples)",
            ),
            name="ranks",
        )

    def _tabulate_pairs(self, pairs: Pairs) -> Table:
        """Return everything about every pair by one measure."""
        settings, rows, marks = self.settings, [], {}
        for k, (i, j) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
            cells = [
                self.runs[i],
                self.runs[j],
                f"{pairs.difference[k]:+.4f}",
                f"{pairs.low[k]:+.4f}",
                f"{pairs.high[k]:+.4f}",
                f"{pairs.effect[k]:+.2f}",
                f"{pairs.wins[k]}/{pairs.ties[k]}/{pairs.losses[k]}",
                f"{pairs.needed[k]:.0f}" if isfinite(pairs.needed[k]) else "none",
            ]
            for test in settings.tests:
                cells += [_format_p(pairs.p[test][k]), _format_p(pairs.adjusted[test][k])]
                marks[k, len(cells) - 1] = "*" if pairs.adjusted[test][k] < settings.alpha else ""
            if pairs.equivalence is not None:
                cells.append(_format_p(pairs.equivalence[1][k]))
            rows.append((*cells, pairs.verdicts[k]))
        first = ["p"] if len(settings.tests) == 1 else settings.tests
        smaller = "" if pairs.scores.higher_is_better else ", smaller is better"
        interval = "percentiles of resamples" if settings.interval == "bootstrap" else "Student's t"
        notes = [
            f"low to high: {100 * settings.confidence:g} % confidence interval ({interval})",
            "d: mean of the differences in their standard deviations (Cohen)",
            "w/t/l: topics on which the run is better, equal, worse; *: significant",
            f"topics needed: to show such an effect (power {settings.power:g})",
        ]
        columns = ["run", "other", "difference", "low", "high", "d", "w/t/l", "topics needed"]
        columns += [name for test in first for name in (test, "corrected")]
        if settings.margin is not None:
            columns.append("equivalence")
            test = "corrected p of two one-sided t-tests"
            notes.append(f"equivalence: {test}, margin {settings.margin:g}")
        return Table(
            (*columns, "verdict"),
            tuple(rows),
            labels=2,
            title=f"{pairs.measure}: run minus other, {len(pairs.scores.topics)} topics{smaller}",
            notes=tuple(notes) if pairs is self.measures[-1] else (),
            marks=marks,
            name=f"pairs {pairs.measure}",
        )

    def _tabulate_matrix(self, pairs: Pairs) -> Table:
        """Return the corrected p values of all pairs by the first test."""
        test, order = self.settings.tests[0], pairs.order.tolist()
        adjusted = pairs.square(pairs.adjusted[test], 2.0)
        better = pairs.square(pairs.better, 0)
        better[pairs.second, pairs.first] *= -1  # the other side of the diagonal
        rows, marks = [], {}
        for at, i in enumerate(order):
            cells = [self.runs[i]]
            for j in order:
                p = adjusted[i, j]
                cells.append("" if p > 1 else "=+-"[better[i, j]] + _format_p(p))
                marks[at, len(cells) - 1] = "*" if p < self.settings.alpha else ""
            rows.append(tuple(cells))
        note = "+ the run of the row is better, - worse, = equal, * significant"
        return Table(
            ("run", *(self.runs[j] for j in order)),
            tuple(rows),
            title=f"{pairs.measure}: corrected p of the {_TEST_NAMES[test]}, best run first",
            notes=(note,) if pairs is self.measures[-1] else (),
            marks=marks,
            name=f"matrix {pairs.measure}",
        )

    def _tabulate_counts(self) -> Table:
        """Return how many pairs differ by each measure."""
        names = ("measure", "test", "topics", "pairs", "significant", "one_tailed")
        alpha = f"alpha {self.settings.alpha:g}"
        return Table(
            (*names[:-1], "one-tailed"),
            tuple(tuple(str(row[name]) for name in names) for row in self.summary_rows()),
            labels=2,
            title="Pairs that differ",
            notes=(f"one-tailed: better mean against worse, t-test, not corrected, {alpha}",),
            name="pairs that differ",
        )

    def graphs(self) -> list[Graph]:
        """Return the means with their intervals, a graph for each measure, the best run on top.

        An interval is that of one mean. Runs share the topics that make both means high or low, so
        that two runs may differ significantly although their intervals overlap.
        """
        graphs = []
        for pairs in self.measures:
            shown = (self.letters if self.baseline is None else self.marks)(pairs.measure)
            order = pairs.order[::-1].tolist()
            given = [(self.runs[i], shown.get(self.runs[i])) for i in order]
            names = tuple(f"{run} ({mark})" if mark else run for run, mark in given)
            places = np.arange(len(order), dtype=np.float64)
            means = pairs.scores.means[order]
            low, high = (end[order] for end in pairs.limits)
            lines = [
                Line("", np.array(ends), np.full(2, place), "interval")
                for *ends, place in zip(low, high, places, strict=True)
            ]
            lines.append(Line("mean", means, places, "points", 0))
            smaller = "" if pairs.scores.higher_is_better else ", smaller is better"
            confidence = f"{100 * self.settings.confidence:g} % confidence interval"
            graphs.append(
                Graph(
                    "means",
                    f"{pairs.measure}, {len(pairs.scores.topics)} topics{smaller}",
                    Axis(f"mean with {confidence}"),
                    Axis("run", names=names),
                    tuple(lines),
                    tuple(
                        f"{name}: {mean:.4f} ({a:.4f} to {b:.4f})."
                        for name, mean, a, b in zip(names, means, low, high, strict=True)
                    ),
                )
            )
        return graphs


def compare(
    runs: Results | RunLike | Sequence[RunLike],
    judgements: Judgements | str | Path | Sequence[str | Path] | None = None,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    baseline: str | None = None,
    tests: str | Sequence[str] = ("t",),
    correction: str = "holm",
    tails: int = 2,
    alpha: float = 0.05,
    confidence: float = 0.95,
    interval: str = "bootstrap",
    resamples: int = 10_000,
    seed: int = 0,
    exact: bool = False,
    power: float = 0.8,
    margin: float | None = None,
    tested: Callable[[], None] | None = None,
    **options: Any,
) -> Comparison:
    """Compare runs pair by pair, topic by topic.

    Parameters
    ----------
    runs : Results, or runs as for `foveal.evaluate`
        Results are not scored again.
    judgements : as for `foveal.evaluate`
        Required unless `runs` are results.
    measures : text or Python forms of measures
        Measures to compare by; by default all that the results hold. Points of an official task's
        curves are compared only if they are named here.
    baseline : str, optional
        The name of the run to compare all others with; by default all pairs are compared.
    tests, correction, tails, alpha, confidence, interval, resamples, seed, exact, power, margin
        See `TestSettings`.
    tested : callable, optional
        Called after each measure.
    **options
        Options of `foveal.evaluate`.

    Notes
    -----
    Foveal warns about a measure that it cannot test: runs share fewer than two topics, or the
    measure averages others, such as ``inex_eval(quant=mean7)``, and has no values by topic.

    Examples
    --------
    >>> x = [0.42, 0.10, 0.55, 0.31, 0.70, 0.25]
    >>> y = [0.40, 0.12, 0.45, 0.22, 0.61, 0.25]
    >>> rows = [("x", str(t), "AP", v) for t, v in enumerate(x)]
    >>> rows += [("y", str(t), "AP", v) for t, v in enumerate(y)]
    >>> found = compare(Results.from_tidy(rows, {}), tests=["t", "sign"])
    >>> found.to_frame().select("test", "wins", "ties", "losses", pl.col("p").round(4)).rows()
    [('t', 4, 1, 1, 0.0826), ('sign', 4, 1, 1, 0.375)]
    >>> found.letters("AP")
    {'x': 'a', 'y': 'a'}
    """
    if not isinstance(tests, Sequence):
        raise UsageError(f"tests {tests!r} are not possible; expected names")
    settings = TestSettings(
        tests=(tests,) if isinstance(tests, str) else tuple(dict.fromkeys(tests)),
        correction=correction,
        tails=tails,
        alpha=alpha,
        confidence=confidence,
        interval=interval,
        resamples=resamples,
        seed=seed,
        exact=exact,
        power=power,
        margin=margin,
    )
    measures = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if isinstance(runs, Results) and judgements is None and not options:
        check_assessors(runs)
        labels = select_labels(runs.measures, measures)
        results = runs.only(labels) if labels else without_curves(runs)
    else:
        unscored = list_unscored(runs, judgements, options)
        if len(unscored) < 2:
            raise UsageError(f"{len(unscored)} runs given; expected at least two to compare")
        assert judgements is not None
        own = [m.label for item in measures for m in parse_measures(str(item))]
        results = without_curves(evaluate(unscored, judgements, measures, **options), own)
    first, second = _list_pairs(results.runs, baseline)
    found, warnings = [], []
    refused: dict[str, list[str]] = {}
    left_out: dict[tuple[str, ...], list[str]] = {}
    for measure in results.measures:
        scores = ScoreMatrix.from_results(results, measure)
        reason = _explain_refusal(results, scores)
        if reason is not None:
            refused.setdefault(reason, []).append(measure)
        else:
            if scores.left_out:
                left_out.setdefault(scores.left_out, []).append(measure)
            found.append(test_pairs(scores, first, second, settings))
        if tested is not None:
            tested()
    warnings += [
        f"{some(labels)}: topics on which some run has no score, not compared, {len(topics)}: "
        f"{some(topics)}"
        for topics, labels in left_out.items()
    ]
    reasons = [f"{some(labels)}: {reason}" for reason, labels in refused.items()]
    if not found:
        raise UsageError("; ".join(reasons) or "no measure to compare the runs by")
    warnings += [f"not compared: {line}" for line in reasons]
    meta = {
        "version": __version__,
        "options": {"baseline": baseline, **asdict(settings)},
        "seed": seed,
        "left_out": {p.measure: list(p.scores.left_out) for p in found if p.scores.left_out},
        "scores": dict(results.meta),
        "warnings": warnings,
    }
    return Comparison(results.runs, baseline, settings, tuple(found), tuple(warnings), meta)


def _format_p(p: float, sign: str = "") -> str:
    """Return a p value with four decimals, after a sign such as ``=``.

    >>> _format_p(0.02), _format_p(1e-9), _format_p(1e-9, "= ")
    ('0.0200', '<0.0001', '< 0.0001')
    """
    if p < 0.00005:
        return "< 0.0001" if sign else "<0.0001"
    return f"{sign}{p:.4f}"


def _format_chance(p: float) -> str:
    """Return a p value for a sentence, after its sign.

    >>> _format_chance(0.2134), _format_chance(0.0231), _format_chance(1e-9)
    ('= 0.21', '= 0.023', '< 0.001')
    """
    return "< 0.001" if p < 0.0005 else f"= {p:.2f}" if p >= 0.0995 else f"= {p:.3f}"


def _format_score(value: float) -> str:
    """Return a difference of scores with two significant digits.

    >>> _format_score(0.1349), _format_score(0.00002), _format_score(1234.5)
    ('0.13', 'less than 0.0001', '1234')
    """
    if value < 0.0001:
        return "less than 0.0001"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def test_pairs(scores: ScoreMatrix, first: Ints, second: Ints, settings: TestSettings) -> Pairs:
    """Test pairs of runs, given by their positions."""
    values = scores.values
    differences = significance.paired_differences(values, first, second)
    low, high = settings.limits(differences)
    effect = significance.effect_sizes(differences)
    # Rounding decides ties and makes sums exact; the reported difference is not rounded.
    difference = np.where(effect == 0, 0.0, (values[first] - values[second]).mean(axis=1))
    constant = np.ptp(differences, axis=1) == 0
    sign = 1 if scores.higher_is_better else -1
    oriented = sign * differences
    p = {test: settings.p_values(test, differences) for test in settings.tests}
    adjusted = {test: significance.correct(own, settings.correction) for test, own in p.items()}
    equivalence, alike = None, np.zeros(len(first), dtype=np.bool_)
    if settings.margin is not None:
        raw = significance.equivalence_test(differences, settings.margin)
        equivalence = (raw, significance.correct(raw, settings.correction))
        alike = equivalence[1] < settings.alpha
    differs = adjusted[settings.tests[0]] < settings.alpha
    verdicts = np.select(
        [differs & (sign * effect > 0), differs & (sign * effect < 0), alike],
        ["better", "worse", "equivalent"],
        "inconclusive",
    )
    ranked = scores.orient(scores.means)
    best, *ranks = significance.rank_intervals(
        sign * values,
        confidence=settings.confidence,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    return Pairs(
        measure=scores.measure,
        scores=scores,
        first=first,
        second=second,
        difference=difference,
        low=np.where(constant, difference, low),
        high=np.where(constant, difference, high),
        effect=effect,
        wins=(oriented > 0).sum(axis=1),
        ties=(oriented == 0).sum(axis=1),
        losses=(oriented < 0).sum(axis=1),
        needed=significance.topics_needed(
            effect, power=settings.power, alpha=settings.alpha, tails=settings.tails
        ),
        p=p,
        adjusted=adjusted,
        equivalence=equivalence,
        verdicts=tuple(verdicts.tolist()),
        # Exact sums, too: the interval of a run does not depend on the others.
        limits=settings.limits(round_noise(values, np.abs(values).max(axis=1, keepdims=True))),
        ranked=ranked,
        order=np.argsort(-ranked, kind="stable"),
        best=best,
        ranks=(ranks[0], ranks[1]),
    )


def significant_pairs(
    results: Results,
    measure: str | Measure,
    *,
    tails: int = 1,
    test: str = "t",
    correction: str = "none",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> SignificantPairs:
    """Count the significant pairs of runs, and all pairs.

    The default is a one-tailed test of the better mean against the worse without correction, as
    in the papers on the discriminative power of measures.

    Examples
    --------
    >>> rows = [(run, str(t), "AP", level + t / 10)
    ...         for run, level in [("a", 0.5), ("b", 0.1), ("c", 0.1)] for t in range(4)]
    >>> significant_pairs(Results.from_tidy(rows, {}), "AP")
    SignificantPairs(significant=2, pairs=3)
    """
    settings = TestSettings(
        tests=(test,),
        correction=correction,
        tails=tails,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
    )
    check_assessors(results)
    first, second = _list_pairs(results.runs, None)
    label, *more = select_labels(results.measures, [measure])
    if more:
        raise UsageError(f"{measure} is a curve of {1 + len(more)} measures; expected one of them")
    scores = ScoreMatrix.from_results(results, label)
    if (reason := _explain_refusal(results, scores)) is not None:
        raise UsageError(f"{label}: {reason}")
    differences = significance.paired_differences(scores.values, first, second)
    adjusted = significance.correct(settings.p_values(test, differences), correction)
    return SignificantPairs(int(np.count_nonzero(adjusted < alpha)), len(first))


def _list_pairs(runs: Sequence[str], baseline: str | None) -> tuple[Ints, Ints]:
    """Return the positions of both runs of each pair: all pairs, or each run and the baseline."""
    if len(runs) < 2:
        held = f": {', '.join(runs)}" if runs else ""
        raise UsageError(f"{len(runs)} runs to compare{held}; expected at least two")
    if baseline is None:
        first, second = np.triu_indices(len(runs), 1)
        return first.astype(np.int64), second.astype(np.int64)
    if baseline not in runs:
        raise UsageError(f"no run {baseline!r} to be the baseline; there are {some(runs)}")
    place = list(runs).index(baseline)
    others = np.array([i for i in range(len(runs)) if i != place], dtype=np.int64)
    return others, np.full(len(others), place, dtype=np.int64)


def _explain_refusal(results: Results, scores: ScoreMatrix) -> str | None:
    """Return why runs cannot be compared by a measure; None if they can."""
    if scores.averages_others:
        return (
            "a mean of other measures' means, and no mean over topics that could be tested; "
            "compare the measures it averages"
        )
    number = len(scores.topics)
    if number >= 2:
        return None
    part = results.only([scores.measure])
    scored = np.any(~np.isnan(part.values[:, :, 0]) & part.counted, axis=1)
    without = [part.runs[i] for i in np.flatnonzero(~scored).tolist()]
    if without and len(without) < len(part.runs):
        return (
            f"{len(without)} of {len(part.runs)} runs have no score by it: {some(without)}; were "
            "they scored by other measures or for another task?"
        )
    found = f"{number} topics" if number != 1 else f"one topic ({scores.topics[0]})"
    cause = "" if number or without else "; were they scored on other topics, or for other tasks?"
    return (
        f"the runs have scores on {found} in common; expected at least two to compare them "
        f"by{cause}"
    )
