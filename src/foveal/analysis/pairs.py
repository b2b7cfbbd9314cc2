"""Pairs of runs tested by one measure: settings, p values, verdicts, intervals, ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.analysis import significance
from foveal.analysis.score_matrix import ScoreMatrix, round_noise
from foveal.analysis.significance import CORRECTIONS, INTERVALS
from foveal.errors import UsageError
from foveal.evaluation.topic_groups import FEWEST_TOPICS

__all__ = ["VERDICTS", "Pairs", "TestSettings"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

VERDICTS = ("better", "worse", "equivalent", "inconclusive")
TOO_FEW = "too few topics"
"""The verdict on pairs of a group of fewer topics than `FEWEST_TOPICS`."""


@dataclass(frozen=True, kw_only=True)
class TestSettings:
    """Settings of a comparison; the defaults are two-sided t-tests with Holm's correction.

    Parameters
    ----------
    tests : tuple of str
        Names in `TESTS`; letters, marks and the matrix use the first.
    correction : str
        Name in `CORRECTIONS`, applied over all pairs of one measure.
    tails : int
        2, or 1 to test the better mean against the worse.
    alpha : float
        A pair differs significantly if its corrected p is below this.
    confidence : float
        Confidence level of the intervals.
    interval : str
        ``bootstrap`` (percentiles) or ``t``.
    resamples, seed : int
        Used by the randomisation and bootstrap tests and the bootstrap intervals.
    exact : bool
        Let the randomisation test enumerate all flips instead of drawing random ones.
    power : float
        Statistical power assumed when estimating the number of topics needed.
    margin : float, optional
        Greatest difference that does not matter: runs are tested for equivalence within it.
    """

    __test__ = False  # pytest must not collect it

    tests: tuple[str, ...] = ("t",)
    correction: str = "holm"
    tails: int = 2
    alpha: float = 0.05
    confidence: float = 0.95
    interval: str = "bootstrap"
    resamples: int = 10_000
    seed: int = 0
    exact: bool = False
    power: float = 0.8
    margin: float | None = None

    def __post_init__(self) -> None:
        if not self.tests:
            raise UsageError(f"no test given; expected some of {', '.join(significance.TESTS)}")
        choices: list[tuple[str, str, Iterable[str]]] = [
            ("test", test, significance.TESTS) for test in self.tests
        ]
        choices += [("correction", self.correction, CORRECTIONS)]
        choices += [("interval", self.interval, INTERVALS)]
        for what, choice, known in choices:
            if not isinstance(choice, str) or choice not in known:
                raise UsageError(f"unknown {what} {choice!r}; expected {' or '.join(known)}")
        for name in ("tails", "resamples", "seed"):
            if not isinstance(number := getattr(self, name), (int, np.integer)):
                raise UsageError(f"{name} {number!r} is not possible; expected a whole number")
        for name in ("alpha", "confidence", "power"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0 < value < 1:
                raise UsageError(f"{name} {value} is not possible; expected between 0 and 1")
        margin = 1.0 if self.margin is None else self.margin
        is_number = isinstance(margin, (int, float)) and 0 < margin < float("inf")
        for is_possible, what, expected in (
            (self.tails in (1, 2), f"{self.tails} tails are", "1 or 2"),
            (self.power > self.alpha, f"power {self.power} is", "more than alpha"),
            (is_number, f"margin {self.margin} is", "a number above 0"),
            (self.resamples >= 1, f"{self.resamples} resamples are", "at least 1"),
            (self.seed >= 0, f"seed {self.seed} is", "a number from 0"),
        ):
            if not is_possible:
                raise UsageError(f"{what} not possible; expected {expected}")

    def p_values(self, test: str, differences: Floats) -> Floats:
        """Return the p values of one test, without correction."""
        options: dict[str, Any] = {"tails": self.tails}
        if test in ("randomisation", "bootstrap"):
            options |= {"resamples": self.resamples, "seed": self.seed}
        if test == "randomisation":
            options["exact"] = self.exact
        return significance.TESTS[test](differences, **options)

    def limits(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the confidence interval of the mean of each row."""
        if self.interval == "t":
            return significance.t_interval(values, confidence=self.confidence)
        return significance.bootstrap_interval(
            values, confidence=self.confidence, resamples=self.resamples, seed=self.seed
        )


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of runs, tested by one measure.

    Parameters
    ----------
    scores : ScoreMatrix
    first, second : int arrays
        Positions of the runs of each pair; every difference is first minus second.
    settings : TestSettings
    groups : int
        Number of groups of topics that are tested beside each other; p values are multiplied by it.
    """

    scores: ScoreMatrix
    first: Ints
    second: Ints
    settings: TestSettings
    groups: int = 1

    @property
    def measure(self) -> str:
        return self.scores.measure

    @cached_property
    def differences(self) -> Floats:
        """Differences of the scores (pair, topic), without floating-point noise."""
        return significance.paired_differences(self.scores.values, self.first, self.second)

    @cached_property
    def effect(self) -> Floats:
        """Cohen's d of the differences of each pair."""
        return significance.effect_sizes(self.differences)

    @cached_property
    def better(self) -> Ints:
        """1 where the first run has the better mean, -1 where the second has, else 0.

        It also indexes a sequence of three: equal, first, second.
        """
        return np.sign(self.scores.sign * self.effect).astype(np.int64)

    @cached_property
    def p(self) -> Mapping[str, Floats]:
        """The p values of each test."""
        tests = self.settings.tests
        return {test: self.settings.p_values(test, self.differences) for test in tests}

    @cached_property
    def adjusted(self) -> Mapping[str, Floats]:
        """The p values of each test, corrected over all pairs; 1 where topics are too few."""
        if self.is_too_small:
            return {test: np.ones_like(p) for test, p in self.p.items()}
        method = self.settings.correction
        return {test: significance.correct(p, method, self.groups) for test, p in self.p.items()}

    @cached_property
    def is_too_small(self) -> bool:
        """True for a group with too few topics to say anything."""
        return self.scores.group is not None and len(self.scores.topics) < FEWEST_TOPICS

    @cached_property
    def equivalence(self) -> tuple[Floats, Floats] | None:
        """The p values of equivalence, before and after correction; None without a margin."""
        if self.settings.margin is None:
            return None
        p = significance.equivalence_test(self.differences, self.settings.margin)
        return p, significance.correct(p, self.settings.correction, self.groups)

    @cached_property
    def verdicts(self) -> tuple[str, ...]:
        """The verdict on the first run of each pair.

        It is ``better`` or ``worse`` where the first test finds a significant difference; else
        ``equivalent`` where the test of equivalence is significant; else ``inconclusive``. In a
        group of fewer than `FEWEST_TOPICS` topics it is ``too few topics``.
        """
        if self.is_too_small:
            return (TOO_FEW,) * len(self.first)
        differs = self.adjusted[self.settings.tests[0]] < self.settings.alpha
        alike = np.zeros_like(differs)
        if self.equivalence is not None:
            alike = self.equivalence[1] < self.settings.alpha
        cases = [differs & (self.better > 0), differs & (self.better < 0), alike]
        return tuple(np.select(cases, VERDICTS[:3], VERDICTS[3]).tolist())

    @cached_property
    def ranked(self) -> Floats:
        """Means of the runs to rank by: greater is better, without floating-point noise."""
        return self.scores.orient(self.scores.means)

    @cached_property
    def order(self) -> Ints:
        """Positions of the runs from best to worst; ties keep their order."""
        return np.argsort(-self.ranked, kind="stable")

    @cached_property
    def runs(self) -> pl.DataFrame:
        """A row for each run: mean, interval, probability of being best, interval of the rank."""
        settings, values = self.settings, self.scores.values
        # Exact sums: the interval of a run does not depend on the others.
        exact = round_noise(values, np.abs(values).max(axis=1, keepdims=True))
        low, high = settings.limits(exact)
        best, rank_low, rank_high = significance.rank_intervals(
            self.scores.sign * values,
            confidence=settings.confidence,
            resamples=settings.resamples,
            seed=settings.seed,
        )
        return pl.DataFrame(
            {
                "measure": self.measure,
                "run": self.scores.runs,
                "topics": len(self.scores.topics),
                "mean": self.scores.means,
                "low": low,
                "high": high,
                "probability_best": best,
                "rank_low": rank_low,
                "rank_high": rank_high,
            }
        )

    @cached_property
    def table(self) -> pl.DataFrame:
        """A row for each test and pair; the pairs of the first test come first."""
        settings, values = self.settings, self.scores.values
        # Rounding decides ties and makes sums exact; the reported difference is not rounded.
        exact = (values[self.first] - values[self.second]).mean(axis=1)
        difference = np.where(self.effect == 0, 0.0, exact)
        constant = np.ptp(self.differences, axis=1) == 0
        limits = settings.limits(self.differences)
        low, high = (np.where(constant, difference, end) for end in limits)
        oriented = self.scores.sign * self.differences
        needed = significance.topics_needed(
            self.effect, power=settings.power, alpha=settings.alpha, tails=settings.tails
        )
        one, two = self.runs[self.first], self.runs[self.second]
        pairs = pl.DataFrame(
            {
                "measure": one["measure"],
                "run": one["run"],
                "other": two["run"],
                "topics": one["topics"].cast(pl.Int64),
                "mean": one["mean"],
                "other_mean": two["mean"],
                "difference": difference,
                "low": low,
                "high": high,
                "effect": self.effect,
                "better": [
                    (None, run, other)[better]
                    for run, other, better in zip(one["run"], two["run"], self.better, strict=True)
                ],
                "wins": (oriented > 0).sum(axis=1),
                "ties": (oriented == 0).sum(axis=1),
                "losses": (oriented < 0).sum(axis=1),
                "topics_needed": [int(n) if np.isfinite(n) else None for n in needed],
            },
            schema_overrides={"better": pl.String, "topics_needed": pl.Int64},
        )
        verdicts: dict[str, Any] = {"verdict": self.verdicts}
        if self.equivalence is not None:
            p, corrected = self.equivalence
            verdicts |= {"p_equivalence": p, "p_equivalence_corrected": corrected}
        for part, prefix in ((one, ""), (two, "other_")):
            names = ("probability_best", "rank_low", "rank_high")
            verdicts |= {f"{prefix}{name}": part[name] for name in names}
        return pl.concat(
            pairs.with_columns(
                test=pl.lit(test),
                p=self.p[test],
                p_corrected=self.adjusted[test],
                significant=self.adjusted[test] < settings.alpha,
            ).hstack(pl.DataFrame(verdicts))
            for test in settings.tests
        )

    def square(self, of_pairs: npt.NDArray[Any], fill: Any) -> npt.NDArray[Any]:
        """Return values of pairs as a symmetric matrix (run, run)."""
        runs = len(self.scores.runs)
        matrix = np.full((runs, runs), fill, dtype=of_pairs.dtype)
        matrix[self.first, self.second] = matrix[self.second, self.first] = of_pairs
        return matrix
