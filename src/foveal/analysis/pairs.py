"""Pairs of runs by one measure: how they are tested, and what the tests say."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from foveal.analysis import significance
from foveal.analysis.aligned import (
    Aligned,
    rounded,
)
from foveal.analysis.significance import CORRECTIONS, INTERVALS, TESTS
from foveal.errors import UsageError

__all__ = ["Pairs", "Settings", "examined", "one_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_RESAMPLED = ("randomisation", "bootstrap")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How runs are compared; the defaults are two-sided t-tests with Holm's correction.

    Parameters
    ----------
    tests : tuple of str
        Of `TESTS`; letters, marks and the matrix go by the first.
    correction : str
        Of `CORRECTIONS`, over all pairs of one measure.
    tails : int
        2, or 1 to test the better mean against the worse.
    alpha : float
        A pair differs if its corrected p is below this.
    confidence : float
        Of the intervals.
    interval : str
        ``bootstrap`` (percentiles) or ``t``.
    resamples, seed : int
        Of the randomisation and bootstrap tests and the bootstrap intervals.
    exact : bool
        Let the randomisation test go through all flips instead of random ones.
    power : float
        Chance of finding a difference that the number of topics needed stands for.
    """

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

    def __post_init__(self) -> None:
        for test in self.tests:
            one_of(test, TESTS, "test")
        for name in ("tails", "resamples", "seed"):
            _whole_number(getattr(self, name), name)
        if not self.tests:
            raise UsageError(f"no test given; expected some of {', '.join(TESTS)}")
        one_of(self.correction, CORRECTIONS, "correction")
        one_of(self.interval, INTERVALS, "interval")
        if self.tails not in (1, 2):
            raise UsageError(f"{self.tails} tails are not possible; expected 1 or 2")
        for name in ("alpha", "confidence", "power"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0 < value < 1:
                raise UsageError(f"{name} {value} is not possible; expected between 0 and 1")
        if self.power <= self.alpha:
            raise UsageError(f"power {self.power} is not possible; expected more than alpha")
        if self.resamples < 1:
            raise UsageError(f"{self.resamples} resamples are not possible; expected at least 1")
        if self.seed < 0:
            raise UsageError(f"seed {self.seed} is not possible; expected a number from 0")

    def p_values(self, test: str, differences: Floats) -> Floats:
        """Of one test, without correction."""
        options: dict[str, Any] = {"tails": self.tails}
        if test in _RESAMPLED:
            options |= {"resamples": self.resamples, "seed": self.seed}
        if test == "randomisation":
            options["exact"] = self.exact
        return TESTS[test](differences, **options)

    def limits(self, values: Floats) -> tuple[Floats, Floats]:
        """The confidence interval of the mean of each row."""
        if self.interval == "t":
            return significance.t_interval(values, confidence=self.confidence)
        return significance.bootstrap_interval(
            values, confidence=self.confidence, resamples=self.resamples, seed=self.seed
        )


def one_of(name: str, known: Sequence[str] | Mapping[str, Any], what: str) -> None:
    """Refuse a name that is not known."""
    if not isinstance(name, str) or name not in known:
        raise UsageError(f"unknown {what} {name!r}; expected {' or '.join(known)}")


def _whole_number(value: Any, name: str) -> None:
    try:
        operator.index(value)
    except TypeError:
        raise UsageError(f"{name} {value!r} is not possible; expected a whole number") from None


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of runs by one measure; arrays have an entry for each pair.

    Parameters
    ----------
    aligned : Aligned
        The scores behind it.
    first, second : int arrays
        Places of the runs; every difference is first minus second.
    difference, low, high : float arrays
        The mean difference with its confidence interval; exactly 0 where only rounding differs.
    effect : float array
        Cohen's d of the paired differences.
    wins, ties, losses : int arrays
        Topics on which the first is better, equal, worse.
    needed : float array
        Topics needed to find an effect of this size; infinite if there is none.
    p, adjusted : mappings of test to float array
        Before and after correction over the pairs of this measure.
    limits : pair of float arrays
        The confidence interval of each run's mean.
    """

    aligned: Aligned
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
    limits: tuple[Floats, Floats]

    @property
    def measure(self) -> str:
        return self.aligned.measure

    @property
    def sign(self) -> int:
        """1 if a greater value is better, else -1."""
        return 1 if self.aligned.higher_is_better else -1

    @cached_property
    def ranked(self) -> Floats:
        """Means in which those that differ by rounding only are equal."""
        return rounded(self.aligned.means, self.aligned.greatest)

    @cached_property
    def order(self) -> Ints:
        """Places of the runs from best to worst; equal ones as they were given."""
        return np.argsort(-self.sign * self.ranked, kind="stable")

    @property
    def better(self) -> Ints:
        """1 where the first run has the better mean, -1 where the second has, else 0.

        So it is also the place in a sequence of three: equal, first, second.
        """
        return np.sign(self.sign * self.effect).astype(np.int64)

    def square(self, of_pairs: npt.NDArray[Any], fill: Any) -> npt.NDArray[Any]:
        """Values of pairs as a matrix (run, run), equal on both sides of the diagonal."""
        runs = len(self.aligned.runs)
        matrix = np.full((runs, runs), fill, dtype=of_pairs.dtype)
        matrix[self.first, self.second] = matrix[self.second, self.first] = of_pairs
        return matrix


def examined(aligned: Aligned, first: Ints, second: Ints, settings: Settings) -> Pairs:
    """The tests of these pairs of runs, given by their places."""
    differences = significance.paired_differences(aligned.values, first, second)
    low, high = settings.limits(differences)
    effect = significance.effect_sizes(differences)
    # Rounding decides on ties and makes sums exact; what is printed is the difference itself.
    exact = (aligned.values[first] - aligned.values[second]).mean(axis=1)
    difference = np.where(effect == 0, 0.0, exact)
    constant = np.ptp(differences, axis=1) == 0
    values = aligned.values
    oriented = differences if aligned.higher_is_better else -differences
    p = {test: settings.p_values(test, differences) for test in settings.tests}
    return Pairs(
        aligned=aligned,
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
        adjusted={t: significance.correct(value, settings.correction) for t, value in p.items()},
        # Exact sums, too: the interval of a run does not depend on the others.
        limits=settings.limits(rounded(values, np.abs(values).max(axis=1, keepdims=True))),
    )
