"""Comparison of runs on the topics they share: tests, verdicts, intervals, effect sizes, ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foveal._version import __version__
from foveal.analysis import significance
from foveal.analysis.pairs import Pairs, TestSettings
from foveal.analysis.score_matrix import ScoreMatrix, select_labels
from foveal.analysis.tasks import take_or_score
from foveal.errors import UsageError, plural, shorten_list
from foveal.evaluation.evaluation import RunLike
from foveal.measures import Measure
from foveal.model import Judgements, Results
from foveal.model.graphs import Axis, Graph, Line
from foveal.model.result_object import Result
from foveal.model.tables import Place, Table
from foveal.spans import Floats, Ints

TABLES = ("means", "ranks", "pairs", "summary")
_MOST_PAIRS = 45


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """A comparison of runs, with one `Pairs` for each measure; `compare` makes it."""

    runs: tuple[str, ...]
    baseline: str | None
    settings: TestSettings
    measures: tuple[Pairs, ...]
    warnings: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, measure: str) -> Pairs:
        held = {pairs.measure: pairs for pairs in self.measures}
        (label,) = select_labels([*held], [measure])
        return held[label]

    def signs(self, measure: str) -> dict[str, str]:
        """Return the letters of each run, best first, or its mark against the baseline.

        Runs that share a letter do not differ significantly. A mark is + or - for the mean, and *
        if the difference is significant.
        """
        pairs = self[measure]
        if self.baseline is None:
            apart = pairs.square(pairs.significant, fill=False)[pairs.order][:, pairs.order]
            names = [self.runs[i] for i in pairs.order.tolist()]
            return dict(zip(names, significance.letters(apart), strict=True))
        names = [self.runs[i] for i in pairs.first]
        found = zip(names, pairs.better.tolist(), pairs.significant.tolist(), strict=True)
        return {run: "=+-"[better] + "*" * differs for run, better, differs in found}

    # -- rows --------------------------------------------------------------------------------------

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each measure, test and pair; undefined values are None."""
        yield from self.to_frame().iter_rows(named=True)

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each measure, test and pair."""
        return pl.concat(pairs.table for pairs in self.measures)

    def runs_frame(self) -> pl.DataFrame:
        """Return a row for each measure and run, from best to worst, with its letters or mark."""
        name, parts = "letters" if self.baseline is None else "mark", []
        for pairs in self.measures:
            signs = self.signs(pairs.measure)
            marks = pl.Series(name, [signs.get(run) for run in self.runs], pl.String)
            parts.append(pairs.runs.clone().insert_column(6, marks)[pairs.order])
        return pl.concat(parts)

    def summary_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the number of significant pairs for each measure and test.

        ``one_tailed`` counts pairs by the uncorrected one-tailed t-test, as the papers do.
        """
        alpha = self.settings.alpha
        for pairs in self.measures:
            plain = significance.t_test(pairs.differences, tails=1) < alpha
            for test in self.settings.tests:
                yield {
                    "measure": pairs.measure,
                    "test": test,
                    "topics": len(pairs.scores.topics),
                    "pairs": len(pairs.first),
                    "significant": int((pairs.adjusted[test] < alpha).sum()),
                    "one_tailed": int(plain.sum()),
                }

    def parts(self) -> dict[str, Any]:
        """Return the runs, the pairs and the numbers of significant pairs."""
        runs, pairs = self.runs_frame().to_dicts(), self.to_frame().to_dicts()
        return {"runs": runs, "pairs": pairs, "summary": list(self.summary_rows())}

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
        """Compare the best run with the next one by a measure, or with the baseline."""
        settings, measure, names = self.settings, pairs.measure, self.runs
        topics = plural(len(pairs.scores.topics), "topic")
        if pairs.is_too_small:
            return f"Too few topics to say who leads by {measure} ({len(pairs.scores.topics)})."
        best, other = pairs.order[:2].tolist()
        if self.baseline not in (None, names[best]):
            other = names.index(str(self.baseline))
        k = int(pairs.square(np.arange(len(pairs.first)), fill=-1)[best, other])
        row, lead = pairs.table.row(k, named=True), f"{names[best]} leads {names[other]} by"
        lost = abs(row["difference"])
        if row["better"] is None:
            return f"{names[best]} and {names[other]} have the same mean {measure} over {topics}."
        p, verdict = row["p_corrected"], "the difference may be chance"
        if row["significant"]:
            verdict = "the difference is significant"
        if row["verdict"] == "equivalent":
            p = row["p_equivalence_corrected"]
            verdict = f"they are equivalent within {settings.margin:g}"
        chance = "< 0.001" if p < 0.0005 else f"= {p:.2f}" if p >= 0.0995 else f"= {p:.3f}"
        score = f"{lost:.2g}" if lost < 10 else f"{lost:.0f}"
        certainly = ", whatever the unjudged text holds" if pairs.certain[k] else ""
        text = f"{lead} {score} {measure}{certainly}; with {topics} {verdict}, p {chance}"
        needed = row["topics_needed"]
        if row["verdict"] == "inconclusive" and settings.tests[0] == "t" and needed:
            text += f"; about {needed} topics would show it" if needed > row["topics"] else ""
        if pairs.extremes is not None and not certainly:
            text += "; unjudged text may hold enough to reverse it"
        return f"{text}."

    # -- tables ------------------------------------------------------------------------------------

    def tables(self, show: Sequence[str] = ()) -> list[Table]:
        """Return the tables of `TABLES` that `show` names.

        By default all; a list of more than 45 pairs, as of ten runs, only if it is asked for.
        """
        if not show:
            many = len(self.measures[0].first) > _MOST_PAIRS
            show = [name for name in TABLES if not (many and name == "pairs")]
        tables = [self._tabulate_means()] if "means" in show else []
        tables += [self._tabulate_ranks()] if "ranks" in show else []
        tables += [self._tabulate_pairs(pairs) for pairs in self.measures if "pairs" in show]
        return tables + ([self._tabulate_counts()] if "summary" in show else [])

    def _tabulate_means(self) -> Table:
        """Return runs by measures: the mean, with letters or a mark."""
        settings, marks, best = self.settings, dict[Place, str](), set[Place]()
        for k, pairs in enumerate(self.measures, 1):
            signs = self.signs(pairs.measure)
            marks |= {(i, k): f" {signs.get(run, '')}" for i, run in enumerate(self.runs)}
            best |= {(i, k) for i in np.flatnonzero(pairs.ranked == pairs.ranked.max()).tolist()}
        note = "Runs that share a letter do not differ significantly:"
        if self.baseline is not None:
            note = f"Against {self.baseline}: + better, - worse, = equal, * significant:"
        topics = sorted({len(pairs.scores.topics) for pairs in self.measures})
        over = " to ".join(map(str, topics[:1] + topics[1:][-1:]))
        tails = "two-sided" if settings.tails == 2 else "the better mean against the worse"
        test = f"{settings.tests[0]} test, {tails}, correction: {settings.correction}"
        means = [[f"{mean:.4f}" for mean in pairs.scores.means] for pairs in self.measures]
        return Table(
            ("run", *(pairs.measure for pairs in self.measures)),
            tuple(zip(self.runs, *means, strict=True)),
            frozenset(best),
            title=f"Means over {over} topics, best in bold",
            notes=(note, f"{test}, alpha {settings.alpha:g}."),
            marks=marks,
            name="means",
        )

    def _tabulate_ranks(self) -> Table:
        """Return the runs from best to worst by each measure: means, intervals, ranks."""
        rows, best = list[tuple[str, ...]](), set[Place]()
        most = {pairs.measure: pairs.runs["probability_best"].max() for pairs in self.measures}
        for i, row in enumerate(self.runs_frame().iter_rows(named=True)):
            rank = " to ".join(map(str, dict.fromkeys((row["rank_low"], row["rank_high"]))))
            cells = (f"{row[name]:.4f}" for name in ("mean", "low", "high"))
            probability = row["probability_best"]
            rows.append((row["measure"], row["run"], *cells, rank, f"{probability:.2f}"))
            best |= {(i, 6)} if probability == most[row["measure"]] else set()
        confidence = f"{100 * self.settings.confidence:g} %"
        return Table(
            ("measure", "run", "mean", "low", "high", "rank", "best"),
            tuple(rows),
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
        groups = max(pairs.groups for pairs in self.measures)
        text = f"groups of topics: intervals and p values are corrected for {groups} groups"
        return [text] if groups > 1 else []

    def _tabulate_pairs(self, pairs: Pairs) -> Table:
        """Return everything about every pair by one measure."""
        settings, marks, rows = self.settings, dict[Place, str](), list[tuple[str, ...]]()
        header = ["run", "other", "difference", "low", "high", "d", "w/t/l", "topics needed"]
        interval = "percentiles of resamples" if settings.interval == "bootstrap" else "Student's t"
        notes = [
            f"low to high: {100 * settings.confidence:g} % confidence interval ({interval})",
            "d: mean of the differences in their standard deviations (Cohen)",
            "w/t/l: topics on which the run is better, equal, worse; *: significant",
            f"topics needed: to show such an effect (power {settings.power:g})",
            *self._explain_groups(),
        ]
        for test in settings.tests:
            header += ["p" if len(settings.tests) == 1 else test, "corrected"]
            for k in np.flatnonzero(pairs.adjusted[test] < settings.alpha).tolist():
                marks[k, len(header) - 1] = "*"
        if pairs.equivalence is not None:
            header.append("equivalence")
            test = "corrected p of two one-sided t-tests"
            notes.append(f"equivalence: {test}, margin {settings.margin:g}")
        if pairs.extremes is not None:
            header += ["least", "greatest"]
            notes.append("least to greatest: the difference over all that unjudged text may hold")
        for k, row in enumerate(pairs.table.head(len(pairs.first)).iter_rows(named=True)):
            p = [
                values[k]
                for test in settings.tests
                for values in (pairs.p[test], pairs.adjusted[test])
            ]
            p += [] if pairs.equivalence is None else [pairs.equivalence[1][k]]
            cells = [f"{row[name]:+.4f}" for name in ("difference", "low", "high")]
            cells += [f"{row['effect']:+.2f}", "{wins}/{ties}/{losses}".format(**row)]
            cells += [str(row["topics_needed"] or "none")]
            cells += ["<0.0001" if value < 0.00005 else f"{value:.4f}" for value in p]
            if pairs.extremes is not None:
                cells += [f"{ends[k]:+.4f}" for ends in pairs.extremes]
            rows.append((row["run"], row["other"], *cells, row["verdict"]))
        smaller = "" if pairs.scores.higher_is_better else ", smaller is better"
        return Table(
            (*header, "verdict"),
            tuple(rows),
            labels=2,
            title=f"{pairs.measure}: run minus other, {len(pairs.scores.topics)} topics{smaller}",
            notes=tuple(notes) if pairs is self.measures[-1] else (),
            marks=marks,
            name=f"pairs {pairs.measure}",
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
        """Return the means with their intervals, a graph for each measure, the best run on top."""
        graphs = []
        for pairs in self.measures:
            signs, rows = self.signs(pairs.measure), pairs.runs[pairs.order[::-1]].to_dicts()
            names, lines, notes = list[str](), list[Line](), list[str]()
            for place, row in enumerate(rows):
                sign = signs.get(row["run"])
                names.append(f"{row['run']} ({sign})" if sign else row["run"])
                ends = np.array([row["low"], row["high"]])
                lines.append(Line("", ends, np.full(2, float(place)), "interval"))
                shown = "{mean:.4f} ({low:.4f} to {high:.4f}).".format(**row)
                notes.append(f"{names[-1]}: {shown}")
            means = np.array([row["mean"] for row in rows])
            lines.append(Line("mean", means, np.arange(len(rows), dtype=float), "points", 0))
            smaller = "" if pairs.scores.higher_is_better else ", smaller is better"
            title = f"{pairs.measure}, {len(pairs.scores.topics)} topics{smaller}"
            x = Axis(f"mean with {100 * self.settings.confidence:g} % confidence interval")
            y = Axis("run", names=tuple(names))
            graphs.append(Graph("means", title, x, y, tuple(lines), tuple(notes)))
        return graphs


def _find_extremes(
    results: Results, scores: ScoreMatrix, first: Ints, second: Ints
) -> tuple[Floats, Floats] | None:
    """Return the least and the greatest mean difference of each pair; None without bounds."""
    bounds, names, shared = results.bounds, results.runs, np.isin(results.topics, scores.topics)
    if bounds is None or np.isnan(bounds.low.only([scores.measure]).values[:, shared]).any():
        return None

    def find_least(i: int, j: int) -> float:
        return float(bounds.find_least(scores.measure, names[i], names[j])[shared].mean())

    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    least = np.array([find_least(i, j) for i, j in pairs])
    return least, -np.array([find_least(j, i) for i, j in pairs])


def compare(
    runs: Results | RunLike | Sequence[RunLike],
    judgements: Judgements | str | Path | Sequence[str | Path] | None = None,
    measures: str | Measure | Sequence[str | Measure] = (),
    *,
    baseline: str | None = None,
    tests: str | Sequence[str] = ("t",),
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
    **options
        correction, tails, alpha, confidence, interval, resamples, seed, power and margin
        as in `foveal.analysis.pairs.TestSettings`; and options of `foveal.evaluate`. With
        ``bounds=True`` each pair has its least and greatest difference over the unjudged text.

    Examples
    --------
    >>> x = [0.42, 0.10, 0.55, 0.31, 0.70, 0.25]
    >>> y = [0.40, 0.12, 0.45, 0.22, 0.61, 0.25]
    >>> rows = [("x", str(t), "AP", v) for t, v in enumerate(x)]
    >>> rows += [("y", str(t), "AP", v) for t, v in enumerate(y)]
    >>> found = compare(Results.from_tidy(rows, {}), tests=["t", "sign"])
    >>> found.to_frame().select("test", "wins", "ties", "losses", pl.col("p").round(4)).rows()
    [('t', 4, 1, 1, 0.0826), ('sign', 4, 1, 1, 0.375)]
    >>> found.signs("AP")
    {'x': 'a', 'y': 'a'}
    """
    own = {own.name for own in fields(TestSettings)} & options.keys()
    settings = TestSettings(
        tests=(tests,) if isinstance(tests, str) else tuple(dict.fromkeys(tests)),
        **{name: options.pop(name) for name in own},
    )
    results = Results.joined(take_or_score(runs, judgements, measures, options))
    names = results.runs
    if len(names) < 2:
        raise UsageError(f"only one run to compare ({shorten_list(names)}); expected at least two")
    first, second = np.triu_indices(len(names), 1)
    if baseline is not None:
        if baseline not in names:
            raise UsageError(
                f"no run {baseline!r} for the baseline; the runs are {shorten_list(names)}"
            )
        place = names.index(baseline)
        first = np.delete(np.arange(len(names)), place)
        second = np.full_like(first, place)
    found: list[Pairs] = []
    noted: dict[str, list[str]] = {}
    left_out: dict[str, list[str]] = {}
    for measure in results.measures:
        scores = ScoreMatrix.from_results(results, measure)
        topics, remark = plural(len(scores.topics), "topic"), ""
        if scores.averages_others:
            remark = "not compared, a mean of other measures, which has no values by topic"
        elif len(scores.topics) < 2:
            remark = f"not compared, all runs have scores on {topics}, and two are needed"
        else:
            if scores.left_out:
                left_out[measure] = list(scores.left_out)
                shown = f"{len(scores.left_out)}: {shorten_list(scores.left_out)}"
                remark = f"topics on which some run has no score, not compared, {shown}"
            groups = 1 if scores.group is None else len(results.meta["groups"])
            # Intervals of groups hold for all groups together with the asked confidence.
            confidence = 1 - (1 - settings.confidence) / groups
            own_settings = replace(settings, confidence=confidence) if groups > 1 else settings
            extremes = _find_extremes(results, scores, first, second)
            found.append(Pairs(scores, first, second, own_settings, groups, extremes))
        if remark:
            noted.setdefault(remark, []).append(measure)
    warnings = [f"{shorten_list(labels)}: {remark}" for remark, labels in noted.items()]
    if not found:
        raise UsageError("; ".join(warnings) or "no measure to compare the runs by")
    meta = {
        "version": __version__,
        "options": {"baseline": baseline, **asdict(settings)},
        "seed": settings.seed,
        "left_out": left_out,
        "scores": dict(results.meta),
        "warnings": warnings,
    }
    return Comparison(results.runs, baseline, settings, tuple(found), tuple(warnings), meta)
