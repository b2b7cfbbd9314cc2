"""Runs compared on the topics they share: which differences are real, how large, how sure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal._version import __version__
from foveal.analysis import significance
from foveal.analysis.aligned import (
    Aligned,
    align,
    averages_others,
    check_assessors,
    chosen,
    free_name,
)
from foveal.analysis.pairs import Pairs, Settings, examined, one_of
from foveal.analysis.tasks import without_curves
from foveal.errors import UsageError, some
from foveal.evaluation import evaluate
from foveal.evaluation.scoring import RunLike
from foveal.measures import Measure, parse_measures
from foveal.model import Judgements, Results, Run, display

__all__ = ["Comparison", "SignificantPairs", "compare", "significant_pairs"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_SHOWN = 20
"""Runs and measures that a notebook shows."""


class SignificantPairs(NamedTuple):
    """How many pairs of runs a measure tells apart."""

    significant: int
    pairs: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs compared pair by pair, with one `Pairs` for each measure; made by `compare`."""

    runs: tuple[str, ...]
    baseline: str | None
    settings: Settings
    measures: tuple[Pairs, ...]
    warnings: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        pairs = len(self.measures[0].first)
        return f"<Comparison: {len(self.runs)} runs, {pairs} pairs, {len(self.measures)} measures>"

    def __getitem__(self, measure: str) -> Pairs:
        held = [pairs.measure for pairs in self.measures]
        try:
            (label,) = chosen(held, [measure])
        except (UsageError, ValueError):
            raise UsageError(
                f"no measure {str(measure)!r} in the comparison; it holds {', '.join(held)}"
            ) from None
        return self.measures[held.index(label)]

    def _test(self, test: str | None) -> str:
        chosen = self.settings.tests[0] if test is None else test
        one_of(chosen, self.settings.tests, "test")
        return chosen

    def significant(self, measure: str, test: str | None = None) -> Bools:
        """Which pairs differ, by the first test or this one."""
        adjusted = self[measure].adjusted[self._test(test)]
        return np.asarray(adjusted < self.settings.alpha, dtype=np.bool_)

    def matrix(self, measure: str, test: str | None = None) -> pl.DataFrame:
        """Corrected p values of every run against every other, runs from best to worst.

        A run against itself, and a pair that was not tested, is null. The column of names has none
        itself, or ``_`` where a run has none.
        """
        pairs = self[measure]
        square = pairs.square(pairs.adjusted[self._test(test)], np.nan)[pairs.order][:, pairs.order]
        names = [self.runs[i] for i in pairs.order.tolist()]
        columns = {name: square[:, j] for j, name in enumerate(names)}
        first = pl.DataFrame({free_name("", names): names})
        return first.hstack(pl.DataFrame(columns).fill_nan(None))

    def letters(self, measure: str, test: str | None = None) -> dict[str, str]:
        """Run to letters, from best to worst; runs that share a letter do not differ."""
        if self.baseline is not None:
            raise UsageError("letters need all pairs; this comparison has a baseline")
        pairs = self[measure]
        apart = pairs.square(self.significant(measure, test), fill=False)
        named = significance.letters(apart[pairs.order][:, pairs.order])
        return {self.runs[i]: name for i, name in zip(pairs.order.tolist(), named, strict=True)}

    def marks(self, measure: str, test: str | None = None) -> dict[str, str]:
        """Run to its mark against the baseline: + or - for the mean, * if significant."""
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

    def pair_rows(self) -> Iterator[dict[str, Any]]:
        """A row for each measure, pair and test; what does not exist is None."""
        for pairs in self.measures:
            means = pairs.aligned.means.tolist()
            for test in self.settings.tests:
                significant = self.significant(pairs.measure, test)
                for k, (i, j) in enumerate(
                    zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
                ):
                    better = (None, self.runs[i], self.runs[j])[pairs.better[k]]
                    yield {
                        "measure": pairs.measure,
                        "run": self.runs[i],
                        "other": self.runs[j],
                        "topics": len(pairs.aligned.topics),
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
                        "topics_needed": _whole(pairs.needed[k]),
                        "test": test,
                        "p": float(pairs.p[test][k]),
                        "p_corrected": float(pairs.adjusted[test][k]),
                        "significant": bool(significant[k]),
                    }

    def run_rows(self) -> Iterator[dict[str, Any]]:
        """A row for each measure and run, from best to worst."""
        for pairs in self.measures:
            against = self.baseline is not None
            shown = (self.marks if against else self.letters)(pairs.measure)
            means = pairs.aligned.means
            for i in pairs.order.tolist():
                yield {
                    "measure": pairs.measure,
                    "run": self.runs[i],
                    "topics": len(pairs.aligned.topics),
                    "mean": float(means[i]),
                    "low": float(pairs.limits[0][i]),
                    "high": float(pairs.limits[1][i]),
                    "mark" if against else "letters": shown.get(self.runs[i]),
                }

    def summary_rows(self) -> Iterator[dict[str, Any]]:
        """A row for each measure and test: how many of the pairs differ.

        ``one_tailed`` counts without correction the better mean against the worse, which is how
        the sources count what a measure tells apart.
        """
        for pairs in self.measures:
            differences = significance.paired_differences(
                pairs.aligned.values, pairs.first, pairs.second
            )
            plain = significance.t_test(differences, tails=1) < self.settings.alpha
            for test in self.settings.tests:
                yield {
                    "measure": pairs.measure,
                    "test": test,
                    "topics": len(pairs.aligned.topics),
                    "pairs": len(pairs.first),
                    "significant": int(self.significant(pairs.measure, test).sum()),
                    "one_tailed": int(plain.sum()),
                }

    def to_frame(self) -> pl.DataFrame:
        """A row for each measure, pair and test."""
        rows = list(self.pair_rows())
        types = {"better": pl.String, "topics_needed": pl.Int64}
        return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)

    def runs_frame(self) -> pl.DataFrame:
        """A row for each measure and run: the mean, its interval, letters or mark."""
        return pl.DataFrame(list(self.run_rows()), infer_schema_length=None)

    def summary(self) -> pl.DataFrame:
        """A row for each measure and test: how many of the pairs differ."""
        return pl.DataFrame(list(self.summary_rows()), infer_schema_length=None)

    def to_json(self) -> str:
        """The whole of it: meta, runs, pairs, summary; an infinite effect is null."""
        parts = {"runs": self.run_rows(), "pairs": self.pair_rows(), "summary": self.summary_rows()}
        blocks = [f'"meta":{json.dumps(self.meta, ensure_ascii=False, indent=1)}']
        for name, rows in parts.items():
            lines = (json.dumps(_finite(row), ensure_ascii=False) for row in rows)
            blocks.append(f'"{name}":[\n' + ",\n".join(lines) + "\n]")
        return "{" + ",\n".join(blocks) + "}\n"

    def _repr_html_(self) -> str:
        """The means, the best in bold, with letters or marks raised."""
        measures = self.measures[:_SHOWN]
        shown = range(min(len(self.runs), _SHOWN))
        rows = [
            [self.runs[i], *(f"{pairs.aligned.means[i]:.4f}" for pairs in measures)] for i in shown
        ]
        beside = [
            (self.letters if self.baseline is None else self.marks)(pairs.measure)
            for pairs in measures
        ]
        marks = {
            (i, k): found.get(self.runs[i], "") for k, found in enumerate(beside, 1) for i in shown
        }
        best = [
            (i, k)
            for k, pairs in enumerate(measures, 1)
            for i in shown
            if pairs.ranked[i] == pairs.ranked[pairs.order[0]]
        ]
        settings = self.settings
        meaning = "runs that share a letter do not differ significantly"
        if self.baseline is not None:
            meaning = f"against {self.baseline}: + better, - worse, = equal, * significant"
        tested = f"test {settings.tests[0]}, {('one tail', 'two tails')[settings.tails - 1]}"
        held = f"correction {settings.correction}, alpha {settings.alpha:g}"
        notes = (
            display.left_out(len(self.runs), "runs", _SHOWN),
            display.left_out(len(self.measures), "measures", _SHOWN),
            f"{meaning} ({tested}, {held})",
        )
        topics = dict.fromkeys(str(len(pairs.aligned.topics)) for pairs in measures)
        return display.table(
            f"{repr(self)[1:-1]}, {' or '.join(topics)} topics",
            ["run", *(pairs.measure for pairs in measures)],
            rows,
            numbers=range(1, len(measures) + 1),
            bold=best,
            marks=marks,
            notes=notes,
        )


def _whole(number: float) -> int | None:
    return int(number) if math.isfinite(number) else None


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


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
    tested: Callable[[], None] | None = None,
    **options: Any,
) -> Comparison:
    """Compare runs pair by pair, topic by topic.

    Parameters
    ----------
    runs : Results, or runs as for `foveal.evaluate`
        Results are not scored again.
    judgements : as for `foveal.evaluate`
        Needed where `runs` are not results.
    measures : text or Python forms of measures
        Of results: those to compare by, and if there are none, all. Points of an official task's
        curves are compared only if they are named here.
    baseline : str, optional
        The name of a run that all others are compared with; by default all pairs are.
    tests, correction, tails, alpha, confidence, interval, resamples, seed, exact, power
        See `Settings`.
    tested : callable, optional
        Called after each measure.
    **options
        Those of `foveal.evaluate`.

    Notes
    -----
    Left out with a warning is a measure that the runs do not share two topics of, and one that
    averages other measures, such as ``inex_eval(quant=mean7)``: it is a mean of means, and no mean
    of its values by topic could be tested in its place.

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
    settings = Settings(
        tests=_listed(tests, "tests"),
        correction=correction,
        tails=tails,
        alpha=alpha,
        confidence=confidence,
        interval=interval,
        resamples=resamples,
        seed=seed,
        exact=exact,
        power=power,
    )
    results = _results(runs, judgements, measures, options)
    first, second = _pairs(results.runs, baseline)
    found, warnings = [], []
    refused: dict[str, list[str]] = {}
    left_out: dict[tuple[str, ...], list[str]] = {}
    for measure in results.measures:
        aligned = align(results, measure)
        reason = _not_compared(results, aligned)
        if reason is not None:
            refused.setdefault(reason, []).append(measure)
        else:
            if aligned.left_out:
                left_out.setdefault(aligned.left_out, []).append(measure)
            found.append(examined(aligned, first, second, settings))
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
        "left_out": {p.measure: list(p.aligned.left_out) for p in found if p.aligned.left_out},
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
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> SignificantPairs:
    """Count the pairs of runs that a measure tells apart, of all pairs.

    By default the better mean is tested against the worse with one tail and without correction,
    the way the sources judge measures by what they tell apart.

    Examples
    --------
    >>> rows = [(run, str(t), "AP", level + t / 10)
    ...         for run, level in [("a", 0.5), ("b", 0.1), ("c", 0.1)] for t in range(4)]
    >>> significant_pairs(Results.from_tidy(rows, {}), "AP")
    SignificantPairs(significant=2, pairs=3)
    """
    settings = Settings(
        tests=(test,),
        correction=correction,
        tails=tails,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
    )
    _check(results)
    first, second = _pairs(results.runs, None)
    label, *more = chosen(results.measures, [measure])
    if more:
        raise UsageError(f"{measure} is a curve of {1 + len(more)} measures; expected one of them")
    aligned = align(results, label)
    if (reason := _not_compared(results, aligned)) is not None:
        raise UsageError(f"{label}: {reason}")
    differences = significance.paired_differences(aligned.values, first, second)
    adjusted = significance.correct(settings.p_values(test, differences), correction)
    return SignificantPairs(int(np.count_nonzero(adjusted < alpha)), len(first))


def _results(
    runs: Results | RunLike | Sequence[RunLike],
    judgements: Judgements | str | Path | Sequence[str | Path] | None,
    measures: str | Measure | Sequence[str | Measure],
    options: dict[str, Any],
) -> Results:
    """What is given as results, or what scoring makes of runs."""
    given: list[str | Measure] = (
        [measures] if isinstance(measures, (str, Measure)) else list(measures)
    )
    if isinstance(runs, Results):
        if judgements is not None or options:
            raise UsageError("results are not scored again; leave out judgements and options")
        _check(runs)
        return runs.only(chosen(runs.measures, given)) if given else without_curves(runs)
    if judgements is None:
        raise UsageError(
            "runs need judgements to be scored against, and there are none; saved results are read "
            "by read_results"
        )
    if not isinstance(runs, (Run, str, Path, Sequence)):
        raise UsageError(f"{runs!r} is no run; expected results, or runs and judgements")
    check_assessors(options)
    listed = [runs] if isinstance(runs, (Run, str, Path)) else list(runs)
    if len(listed) < 2:
        raise UsageError(f"{len(listed)} runs given; expected at least two to compare")
    results = evaluate(listed, judgements, given, **options)
    own = [m.label for item in given for m in parse_measures(str(item))]
    return without_curves(results, own)


def _check(results: Results) -> None:
    for meta in results.meta.get("parts", [results.meta]):
        check_assessors(meta.get("options", {}))


def _listed(given: str | Sequence[str], what: str) -> tuple[str, ...]:
    """Names, of which one need not be in a list."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Sequence):
        raise UsageError(f"{what} {given!r} are not possible; expected names")
    return tuple(dict.fromkeys(given))


def _pairs(runs: Sequence[str], baseline: str | None) -> tuple[Ints, Ints]:
    """Places of the runs of each pair: all pairs in order, or every other run and the baseline."""
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


def _not_compared(results: Results, aligned: Aligned) -> str | None:
    """Why runs cannot be compared by a measure; None if they can."""
    if averages_others(aligned.measure):
        return (
            "a mean of other measures' means, and no mean over topics that could be tested; "
            "compare the measures it averages"
        )
    number = len(aligned.topics)
    if number >= 2:
        return None
    part = results.only([aligned.measure])
    scored = np.any(~np.isnan(part.values[:, :, 0]) & part.counted, axis=1)
    without = [part.runs[i] for i in np.flatnonzero(~scored).tolist()]
    if without and len(without) < len(part.runs):
        return (
            f"{len(without)} of {len(part.runs)} runs have no score by it: {some(without)}; were "
            "they scored by other measures or for another task?"
        )
    found = f"{number} topics" if number != 1 else f"one topic ({aligned.topics[0]})"
    cause = "" if number or without else "; were they scored on other topics, or for other tasks?"
    return (
        f"the runs have scores on {found} in common; expected at least two to compare them "
        f"by{cause}"
    )
