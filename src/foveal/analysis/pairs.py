"""Pairs of runs tested by one measure: settings, p values, verdicts, intervals, ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.analysis import significance
from foveal.analysis.score_matrix import ScoreMatrix, round_noise
from foveal.errors import UsageError
from foveal.evaluation.topic_groups import FEWEST_TOPICS
from foveal.spans import Bools, Floats, Ints


@dataclass(frozen=True, kw_only=True)
class TestSettings:
    """Settings of a comparison; the defaults are two-sided t-tests with Holm's correction.

    Parameters
    ----------
    tests : tuple of str
        Names in `TESTS`; verdicts, letters and marks use the first.
    correction : str
        Name in `CORRECTIONS`, applied over all pairs of one measure.
    tails : int
        2, or 1 to test the better mean against the worse.
    alpha, confidence, power : float
        Significance level of the corrected p values, confidence level of the intervals, and the
        power assumed when estimating the number of topics needed.
    interval : {"bootstrap", "t"}
    resamples, seed : int
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
    power: float = 0.8
    margin: float | None = None

    def __post_init__(self) -> None:
        tests, corrections = significance.TESTS, significance.CORRECTIONS
        for name, is_possible, expected in (
            ("tests", self.tests and set(self.tests) <= set(tests), " or ".join(tests)),
            ("correction", self.correction in corrections, " or ".join(corrections)),
            ("interval", self.interval in significance.INTERVALS, "bootstrap or t"),
            ("tails", self.tails in (1, 2), "1 or 2"),
            ("alpha", 0 < self.alpha < 1, "a number between 0 and 1"),
            ("confidence", 0 < self.confidence < 1, "a number between 0 and 1"),
            ("power", self.alpha < self.power < 1, "a number between alpha and 1"),
            ("resamples", self.resamples >= 1, "at least 1"),
            ("seed", self.seed >= 0, "a number from 0"),
            ("margin", self.margin is None or 0 < self.margin < np.inf, "a number above 0"),
        ):
            if not is_possible:
                value = getattr(self, name)
                raise UsageError(f"{name} {value!r} is not possible; expected {expected}")

    def p_values(self, test: str, differences: Floats) -> Floats:
        """Return the p values of one test, without correction."""
        options: dict[str, Any] = {"tails": self.tails}
        if test in ("randomisation", "bootstrap"):
            options |= {"resamples": self.resamples, "seed": self.seed}
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

    `first` and `second` are the positions of the runs of each pair; every difference is first minus
    second. `groups` is the number of groups of topics that are tested beside each other.
    """

    scores: ScoreMatrix
    first: Ints
    second: Ints
    settings: TestSettings
    groups: int = 1
    extremes: tuple[Floats, Floats] | None = None
    """Least and greatest mean difference of each pair over the unjudged text, if that is known."""

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
        """1 where the first run has the better mean, -1 where the second has, else 0."""
        return np.sign(self.scores.sign * self.effect).astype(np.int64)

    @cached_property
    def p(self) -> Mapping[str, Floats]:
        """The p values of each test."""
        tests = self.settings.tests
        return {test: self.settings.p_values(test, self.differences) for test in tests}

    @cached_property
    def adjusted(self) -> Mapping[str, Floats]:
        """The corrected p values of each test; 1 where topics are too few."""
        if self.is_too_small:
            return {test: np.ones_like(p) for test, p in self.p.items()}
        method = self.settings.correction
        return {test: significance.correct(p, method, self.groups) for test, p in self.p.items()}

    @cached_property
    def significant(self) -> Bools:
        """True for pairs that differ significantly by the first test."""
        return self.adjusted[self.settings.tests[0]] < self.settings.alpha

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
    def certain(self) -> Ints:
        """1 where the first run is better whatever the unjudged text holds, -1 the second, else 0.

        Differences that may be rounding errors do not count.
        """
        if self.extremes is None:
            return np.zeros(len(self.first), dtype=np.int64)
        least, greatest = self.extremes
        rounding = 1e-12 * np.abs(self.scores.values).max(initial=0.0)
        signs: Ints = (least > rounding).astype(np.int64) - (greatest < -rounding)
        return signs * self.scores.sign

    @cached_property
    def verdicts(self) -> tuple[str, ...]:
        """The verdict on the first run of each pair; a significant difference comes first."""
        if self.is_too_small:
            return ("too few topics",) * len(self.first)
        alike = np.ones(len(self.first)) if self.equivalence is None else self.equivalence[1]
        differs, is_equivalent = self.significant, alike < self.settings.alpha
        cases = [differs & (self.better > 0), differs & (self.better < 0), is_equivalent]
        verdicts = np.select(cases, ("better", "worse", "equivalent"), "inconclusive")
        return tuple(verdicts.tolist())

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
        settings, scores = self.settings, self.scores
        one, two = self.runs[self.first], self.runs[self.second]
        names = zip(one["run"], two["run"], self.better.tolist(), strict=True)
        # Rounding decides ties and makes sums exact; the reported difference is not rounded.
        exact = (scores.values[self.first] - scores.values[self.second]).mean(axis=1)
        difference = np.where(self.effect == 0, 0.0, exact)
        constant = np.ptp(self.differences, axis=1) == 0
        low, high = settings.limits(self.differences)
        oriented = scores.sign * self.differences
        needed = significance.topics_needed(
            self.effect, power=settings.power, alpha=settings.alpha, tails=settings.tails
        )
        pairs = {
            "measure": one["measure"],
            "run": one["run"],
            "other": two["run"],
            "topics": one["topics"].cast(pl.Int64),
            "mean": one["mean"],
            "other_mean": two["mean"],
            "difference": difference,
            "low": np.where(constant, difference, low),
            "high": np.where(constant, difference, high),
            "effect": self.effect,
            "better": [(None, run, other)[sign] for run, other, sign in names],
            "wins": (oriented > 0).sum(axis=1),
            "ties": (oriented == 0).sum(axis=1),
            "losses": (oriented < 0).sum(axis=1),
            "topics_needed": [int(n) if np.isfinite(n) else None for n in needed],
        }
        verdicts: dict[str, Any] = {"verdict": self.verdicts}
        if self.equivalence is not None:
            verdicts["p_equivalence"], verdicts["p_equivalence_corrected"] = self.equivalence
        if self.extremes is not None:
            verdicts["least_difference"], verdicts["greatest_difference"] = self.extremes
            pairs_of_names = zip(one["run"], two["run"], self.certain.tolist(), strict=True)
            beats = [(None, run, other)[sign] for run, other, sign in pairs_of_names]
            verdicts["certainly_better"] = pl.Series(beats, dtype=pl.String)
        for part, prefix in ((one, ""), (two, "other_")):
            ranks = part.select("probability_best", "rank_low", "rank_high")
            verdicts |= {f"{prefix}{column.name}": column for column in ranks}
        frames = []
        for test in settings.tests:
            adjusted = self.adjusted[test]
            tested = {"test": test, "p": self.p[test], "p_corrected": adjusted}
            columns = {**pairs, **tested, "significant": adjusted < settings.alpha, **verdicts}
            types = {"better": pl.String, "topics_needed": pl.Int64}
            frames.append(pl.DataFrame(columns, schema_overrides=types))
        return pl.concat(frames)

    def square(self, of_pairs: npt.NDArray[Any], fill: Any) -> npt.NDArray[Any]:
        """Return values of pairs as a symmetric matrix (run, run)."""
        runs = len(self.scores.runs)
        matrix = np.full((runs, runs), fill, dtype=of_pairs.dtype)
        matrix[self.first, self.second] = matrix[self.second, self.first] = of_pairs
        return matrix
