"""Comparison of runs on the topics they share: tests, verdicts, intervals, effect sizes, ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.analysis import significance
from foveal.analysis.pairs import Pairs, TestSettings
from foveal.analysis.score_matrix import (
    ScoreMatrix,
    free_name,
    select_labels,
)
from foveal.analysis.tasks import take_or_score
from foveal.errors import UsageError, counted, some
from foveal.evaluation.evaluation import RunLike
from foveal.measures import Measure
from foveal.model import Judgements, Results
from foveal.model.graphs import Axis, Graph, Line
from foveal.model.result_object import Result
from foveal.model.tables import Table

__all__ = [
    "TABLES",
    "Comparison",
    "SignificantPairs",
    "compare",
    "significant_pairs",
]

Floats = npt.NDArray[np.float64]
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
    "holm": "Holm's correction over the pairs of a measure",
    "bonferroni": "Bonferroni's correction over the pairs of a measure",
    "bh": "Benjamini and Hochberg's correction over the pairs of a measure",
    "none": "no correction",
}
_RANK_CELLS = {
    "measure": "{measure}",
    "run": "{run}",
    "mean": "{mean:.4f}",
    "low": "{low:.4f}",
    "high": "{high:.4f}",
    "rank": "{rank}",
    "best": "{probability_best:.2f}",
}
_PAIR_CELLS = {
    "run": "{run}",
    "other": "{other}",
    "difference": "{difference:+.4f}",
    "low": "{low:+.4f}",
    "high": "{high:+.4f}",
    "d": "{effect:+.2f}",
    "w/t/l": "{wins}/{ties}/{losses}",
    "topics needed": "{topics_needed}",
}
"""Columns of the tables of ranks and pairs, and how they write the values of a row."""


class SignificantPairs(NamedTuple):
    """Numbers of significant pairs and of all pairs of runs."""

    significant: int
    pairs: int


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

    def _corrected(self, measure: str, test: str | None) -> Floats:
        """Return the corrected p values of the first test or this one."""
        made = self.settings.tests
        if test is not None and test not in made:
            raise UsageError(f"unknown test {test!r}; expected {' or '.join(made)}")
        return self[measure].adjusted[test or made[0]]

    def significant(self, measure: str, test: str | None = None) -> Bools:
        """Return which pairs differ significantly, by the first test or this one."""
        differs = self._corrected(measure, test) < self.settings.alpha
        return np.asarray(differs, dtype=np.bool_)

    def matrix(self, measure: str, test: str | None = None) -> pl.DataFrame:
        """Return the corrected p values of all pairs, runs from best to worst.

        The diagonal and pairs that were not tested are null. The column of run names is called
        ``""``, or ``_`` if a run is called that.
        """
        pairs = self[measure]
        square = pairs.square(self._corrected(measure, test), np.nan)[pairs.order][:, pairs.order]
        names = [self.runs[i] for i in pairs.order.tolist()]
        values = pl.DataFrame(dict(zip(names, square, strict=True)))  # symmetric
        return pl.DataFrame({free_name("", names): names}).hstack(values.fill_nan(None))

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
        pairs, significant = self[measure], self.significant(measure, test)
        return {
            self.runs[run]: "=+-"[better] + ("*" if differs else "")
            for run, better, differs in zip(pairs.first, pairs.better, significant, strict=True)
        }

    def _signs(self, measure: str) -> dict[str, str]:
        """Return the letters of all runs, or their marks against the baseline."""
        return self.letters(measure) if self.baseline is None else self.marks(measure)

    # -- rows --------------------------------------------------------------------------------------

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each measure, test and pair; undefined values are None."""
        for pairs in self.measures:
            yield from pairs.table.iter_rows(named=True)

    def run_rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each measure and run, from best to worst."""
        yield from self.runs_frame().iter_rows(named=True)

    def summary_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the number of significant pairs for each measure and test.

        ``one_tailed`` counts pairs by the uncorrected one-tailed t-test, as the papers do.
        """
        for pairs in self.measures:
            values, first, second = pairs.scores.values, pairs.first, pairs.second
            differences = significance.paired_differences(values, first, second)
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
        """Return a row for each measure, test and pair."""
        return pl.concat(pairs.table for pairs in self.measures)

    def runs_frame(self) -> pl.DataFrame:
        """Return a row for each measure and run: mean, interval, letters or mark, rank."""
        parts = []
        for pairs in self.measures:
            signs = self._signs(pairs.measure)
            marks = pl.Series(
                "letters" if self.baseline is None else "mark",
                [signs.get(run) for run in self.runs],
                pl.String,
            )
            parts.append(pairs.runs.clone().insert_column(6, marks)[pairs.order])
        return pl.concat(parts)

    # -- the answer --------------------------------------------------------------------------------

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
        names, one = self._name_runs(leaders), len(leaders) == 1
        if pairs.is_too_small:
            return f"Too few topics to say who leads by {measure} ({len(pairs.scores.topics)})."
        # With a baseline, the best run is compared with it alone; else with all others.
        if self.baseline is not None:
            place = self.runs.index(self.baseline)
            if place in leaders[1:]:
                return f"{names} lead by {measure} on {topics}; {self.baseline} is the baseline."
            leaders, rest = (leaders[:1], rest) if place == leaders[0] else (leaders, [place])
        # A lead over a run is as certain as the least certain one of equal leaders.
        p = pairs.square(pairs.adjusted[settings.tests[0]], 0.0)[leaders].max(axis=0)
        same = np.ones(len(self.runs))
        if pairs.equivalence is not None:
            same = pairs.square(pairs.equivalence[1], 0.0)[leaders].max(axis=0)
        differs, alike = p < settings.alpha, same < settings.alpha
        near = rest[0]
        k = int(pairs.square(np.arange(len(pairs.first)), -1)[leaders[0], near])
        row = pairs.table.row(k, named=True)
        needed = row["topics_needed"]
        within = "" if settings.margin is None else f"within {settings.margin:g}"
        if differs[near]:
            verdict = f"the difference is significant, p {_format_chance(p[near])}"
            verdict += f", but {within}" if alike[near] else ""
        elif alike[near]:
            verdict = f"they are equivalent {within}, p {_format_chance(same[near])}"
        else:
            verdict = f"the difference may be chance, p {_format_chance(p[near])}"
            verdict += f", and they are not shown to be equivalent {within}" if within else ""
            if settings.tests[0] == "t" and needed is not None and needed > row["topics"]:
                verdict += f"; about {needed} topics would show it"
        text = f"{names} {'leads' if one else 'lead'} {self.runs[near]} by "
        text += f"{_format_score(abs(row['difference']))} {measure}; with {topics} {verdict}."
        it_is, its = ("it is", "its") if one else ("they are", "their")
        also = "also " if differs[near] else ""
        groups = {
            f"{it_is} {also}significantly better than {{}}": differs,
            f"{it_is} equivalent to {{}} {within}": alike & ~differs,
            f"{its} lead over {{}} may be chance": ~(alike | differs),
        }
        found = {words: [i for i in rest[1:] if group[i]] for words, group in groups.items()}
        said = "; ".join(words.format(self._name_runs(own)) for words, own in found.items() if own)
        return f"{text} {said[0].upper()}{said[1:]}." if said else text

    def _name_runs(self, places: Sequence[int]) -> str:
        return some([self.runs[i] for i in places], _MOST_NAMED)

    # -- tables ------------------------------------------------------------------------------------

    def tables(self, show: Sequence[str] = ()) -> list[Table]:
        """Return the tables of `TABLES` that `show` names; by default those that help.

        A matrix needs three runs to say more than the list of pairs, and a list of more than 45
        pairs gives way to the matrix.
        """
        if not show:
            omitted = set() if self.baseline is None and len(self.runs) > 2 else {"matrix"}
            omitted |= {"pairs"} if len(self.measures[0].first) > _MOST_PAIRS else set()
            show = [name for name in TABLES if name not in omitted]
        tables = [self._tabulate_means()] if "means" in show else []
        tables += [self._tabulate_ranks()] if "ranks" in show else []
        for pairs in self.measures:
            tables += [self._tabulate_pairs(pairs)] if "pairs" in show else []
            tables += [self._tabulate_matrix(pairs)] if "matrix" in show else []
        return tables + ([self._tabulate_counts()] if "summary" in show else [])

    def _tabulate_means(self) -> Table:
        """Return runs by measures: the mean, with letters or a mark."""
        settings, best = self.settings, set[tuple[int, int]]()
        marks: dict[tuple[int, int], str] = {}
        for k, pairs in enumerate(self.measures, 1):
            signs = self._signs(pairs.measure)
            marks |= {(i, k): f" {signs.get(run, '')}" for i, run in enumerate(self.runs)}
            best |= {(i, k) for i in np.flatnonzero(pairs.ranked == pairs.ranked.max()).tolist()}
        note = "Runs that share a letter do not differ significantly:"
        if self.baseline is not None:
            note = f"Against {self.baseline}: + better, - worse, = equal, * significant:"
        topics = {len(pairs.scores.topics) for pairs in self.measures}
        over = f"{min(topics)}" if len(topics) == 1 else f"{min(topics)} to {max(topics)}"
        tails = "two-sided" if settings.tails == 2 else "the better mean against the worse"
        test = f"{_TEST_NAMES[settings.tests[0]]}, {tails}"
        means = [pairs.scores.means.tolist() for pairs in self.measures]
        return Table(
            ("run", *(pairs.measure for pairs in self.measures)),
            tuple(
                (run, *(f"{mean:.4f}" for mean in own))
                for run, *own in zip(self.runs, *means, strict=True)
            ),
            frozenset(best),
            title=f"Means over {over} topics, best in bold",
            notes=(
                note,
                f"{test}, {_CORRECTION_NAMES[settings.correction]}, alpha {settings.alpha:g}.",
            ),
            marks=marks,
            name="means",
        )

    def _tabulate_ranks(self) -> Table:
        """Return the runs from best to worst by each measure: means, intervals, ranks."""
        rows, best = list(self.run_rows()), set()
        most = {pairs.measure: pairs.runs["probability_best"].max() for pairs in self.measures}
        for i, row in enumerate(rows):
            low, high = row["rank_low"], row["rank_high"]
            row["rank"] = f"{low}" if low == high else f"{low} to {high}"
            best |= {(i, 6)} if row["probability_best"] == most[row["measure"]] else set()
        confidence = f"{100 * self.settings.confidence:g} %"
        return Table(
            tuple(_RANK_CELLS),
            tuple(tuple(cell.format(**row) for cell in _RANK_CELLS.values()) for row in rows),
            frozenset(best),
            labels=2,
            title="Ranks of the runs",
            notes=(
                f"low to high, rank: {confidence} confidence intervals of the mean and of the rank",
                f"best: probability of being the best run ({self.settings.resamples} resamples)",
                *self._explain_groups(),
            ),
            name="ranks",
        )

    def _explain_groups(self) -> list[str]:
        """Say how intervals and p values of groups of topics are corrected."""
        groups = max(pairs.groups for pairs in self.measures)
        text = f"groups of topics: intervals and p values are corrected for {groups} groups"
        return [text] if groups > 1 else []

    def _tabulate_pairs(self, pairs: Pairs) -> Table:
        """Return everything about every pair by one measure."""
        settings, tests = self.settings, self.settings.tests
        interval = "percentiles of resamples" if settings.interval == "bootstrap" else "Student's t"
        notes = [
            f"low to high: {100 * settings.confidence:g} % confidence interval ({interval})",
            "d: mean of the differences in their standard deviations (Cohen)",
            "w/t/l: topics on which the run is better, equal, worse; *: significant",
            f"topics needed: to show such an effect (power {settings.power:g})",
            *self._explain_groups(),
        ]
        header, rows = [*_PAIR_CELLS], []
        for row in pairs.table.head(len(pairs.first)).iter_rows(named=True):
            row["topics_needed"] = row["topics_needed"] or "none"
            rows.append([cell.format(**row) for cell in _PAIR_CELLS.values()])
        marks: dict[tuple[int, int], str] = {}
        for test in tests:
            header += ["p" if len(tests) == 1 else test, "corrected"]
            for k, cells in enumerate(rows):
                p, adjusted = pairs.p[test][k], pairs.adjusted[test][k]
                cells += [_format_p(p), _format_p(adjusted)]
                marks[k, len(header) - 1] = "*" if adjusted < settings.alpha else ""
        if pairs.equivalence is not None:
            header.append("equivalence")
            test = "corrected p of two one-sided t-tests"
            notes.append(f"equivalence: {test}, margin {settings.margin:g}")
            for cells, p in zip(rows, pairs.equivalence[1], strict=True):
                cells.append(_format_p(p))
        smaller = "" if pairs.scores.higher_is_better else ", smaller is better"
        return Table(
            (*header, "verdict"),
            tuple((*cells, verdict) for cells, verdict in zip(rows, pairs.verdicts, strict=True)),
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
            tested = ["" if adjusted[i, j] > 1 else _format_p(adjusted[i, j]) for j in order]
            signs = ["=+-"[better[i, j]] if p else "" for j, p in zip(order, tested, strict=True)]
            rows.append((self.runs[i], *map(str.__add__, signs, tested)))
            for column, j in enumerate(order, 1):
                marks[at, column] = "*" if adjusted[i, j] < self.settings.alpha else ""
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
        alpha = f"alpha {self.settings.alpha:g}"
        return Table(
            ("measure", "test", "topics", "pairs", "significant", "one-tailed"),
            tuple(tuple(map(str, row.values())) for row in self.summary_rows()),
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
            signs, frame = self._signs(pairs.measure), pairs.runs[pairs.order[::-1]]
            marks = [signs.get(run) for run in frame["run"]]
            names = [
                f"{run} ({m})" if m else run for run, m in zip(frame["run"], marks, strict=True)
            ]
            means = frame.select("mean", "low", "high").rows()
            places = np.arange(len(names), dtype=np.float64)
            lines = [
                Line("", np.array(ends), np.full(2, place), "interval")
                for place, (_, *ends) in zip(places, means, strict=True)
            ]
            lines.append(Line("mean", frame["mean"].to_numpy(), places, "points", 0))
            smaller = "" if pairs.scores.higher_is_better else ", smaller is better"
            confidence = f"{100 * self.settings.confidence:g} % confidence interval"
            shown = [f"{mean:.4f} ({low:.4f} to {high:.4f})." for mean, low, high in means]
            graphs.append(
                Graph(
                    "means",
                    f"{pairs.measure}, {len(pairs.scores.topics)} topics{smaller}",
                    Axis(f"mean with {confidence}"),
                    Axis("run", names=tuple(names)),
                    tuple(lines),
                    tuple(f"{name}: {text}" for name, text in zip(names, shown, strict=True)),
                )
            )
        return graphs


def _format_p(p: float) -> str:
    """Return a p value with four decimals, for a table."""
    return "<0.0001" if p < 0.00005 else f"{p:.4f}"


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


def compare(
    runs: Results | RunLike | Sequence[RunLike],
    judgements: Judgements | str | Path | Sequence[str | Path] | None = None,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    baseline: str | None = None,
    tests: str | Sequence[str] = ("t",),
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
    tests : str or sequence of str
        Names in `foveal.analysis.significance.TESTS`; verdicts go by the first.
    tested : callable, optional
        Called after each measure.
    **options
        correction, tails, alpha, confidence, interval, resamples, seed, exact, power and margin
        as in `foveal.analysis.pairs.TestSettings`; and options of `foveal.evaluate`.

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
    own = {own.name for own in fields(TestSettings)} & options.keys()
    settings = TestSettings(
        tests=(tests,) if isinstance(tests, str) else tuple(dict.fromkeys(tests)),
        **{name: options.pop(name) for name in own},
    )
    results = take_or_score(runs, judgements, measures, options)
    names = results.runs
    if len(names) < 2:
        held = f": {', '.join(names)}" if names else ""
        raise UsageError(f"{len(names)} runs to compare{held}; expected at least two")
    first, second = np.triu_indices(len(names), 1)
    if baseline is not None:
        if baseline not in names:
            raise UsageError(f"no run {baseline!r} to be the baseline; there are {some(names)}")
        place = names.index(baseline)
        first = np.delete(np.arange(len(names)), place)
        second = np.full_like(first, place)
    found: list[Pairs] = []
    refused: dict[str, list[str]] = {}
    left_out: dict[tuple[str, ...], list[str]] = {}
    for measure in results.measures:
        scores = ScoreMatrix.from_results(results, measure)
        if (reason := _explain_refusal(results, scores)) is not None:
            refused.setdefault(reason, []).append(measure)
        else:
            if scores.left_out:
                left_out.setdefault(scores.left_out, []).append(measure)
            groups = 1 if scores.group is None else len(results.meta["groups"])
            # Intervals of groups hold for all groups together with the asked confidence.
            corrected = replace(settings, confidence=1 - (1 - settings.confidence) / groups)
            found.append(
                Pairs(scores, first, second, settings if groups == 1 else corrected, groups)
            )
            _ = found[-1].adjusted  # test now, and refuse what cannot be tested
        if tested is not None:
            tested()
    reasons = [f"{some(labels)}: {reason}" for reason, labels in refused.items()]
    if not found:
        raise UsageError("; ".join(reasons) or "no measure to compare the runs by")
    warnings = [
        f"{some(labels)}: topics on which some run has no score, not compared, {len(topics)}: "
        f"{some(topics)}"
        for topics, labels in left_out.items()
    ]
    warnings += [f"not compared: {line}" for line in reasons]
    meta = {
        "version": __version__,
        "options": {"baseline": baseline, **asdict(settings)},
        "seed": settings.seed,
        "left_out": {p.measure: list(p.scores.left_out) for p in found if p.scores.left_out},
        "scores": dict(results.meta),
        "warnings": warnings,
    }
    return Comparison(results.runs, baseline, settings, tuple(found), tuple(warnings), meta)


def significant_pairs(
    results: Results,
    measure: str | Measure,
    *,
    tails: int = 1,
    test: str = "t",
    correction: str = "none",
    **options: Any,
) -> SignificantPairs:
    """Count the significant pairs of runs, and all pairs.

    The default is a one-tailed test of the better mean against the worse without correction, as
    in the papers on the discriminative power of measures. `options` are those of
    `foveal.analysis.pairs.TestSettings`, such as ``alpha``.

    Examples
    --------
    >>> rows = [(run, str(t), "AP", level + t / 10)
    ...         for run, level in [("a", 0.5), ("b", 0.1), ("c", 0.1)] for t in range(4)]
    >>> significant_pairs(Results.from_tidy(rows, {}), "AP")
    SignificantPairs(significant=2, pairs=3)
    """
    label, *more = select_labels(results.measures, [measure])
    if more:
        raise UsageError(f"{measure} is a curve of {1 + len(more)} measures; expected one of them")
    found = compare(results, None, label, tests=test, tails=tails, correction=correction, **options)
    significant = found.significant(label)
    return SignificantPairs(int(significant.sum()), len(significant))


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
    without = [run for run, has_scores in zip(part.runs, scored, strict=True) if not has_scores]
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
