"""Rank correlation: scipy and naive twins on rankings with ties, the extremes."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.analysis.correlation import (
    COEFFICIENTS,
    kendall_tau_a,
    kendall_tau_b,
    spearman,
    tau_ap,
)
from foveal.errors import UsageError

rankings = st.integers(2, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 8), min_size=n, max_size=n)] * 2)
)
"""Two rankings of the same systems, most with ties."""


# -- naive twins: every pair, every depth ------------------------------------------------------


def sign(x: float) -> int:
    return (x > 0) - (x < 0)


def naive_surplus(x: list[int], y: list[int]) -> int:
    return sum(sign(x[i] - x[j]) * sign(y[i] - y[j]) for i, j in combinations(range(len(x)), 2))


def naive_tau_ap(reference: list[int], estimate: list[int]) -> float:
    shares = []
    for i in range(len(estimate)):
        above = [j for j in range(len(estimate)) if estimate[j] > estimate[i]]
        if above:
            shares.append(sum(sign(reference[j] - reference[i]) for j in above) / len(above))
    return sum(shares) / len(shares)


def ranks_something(*scores: list[int]) -> bool:
    return all(len(set(values)) > 1 for values in scores)


# -- against scipy and the twins ---------------------------------------------------------------


@settings(max_examples=60)
@given(rankings)
def test_kendall_and_spearman_equal_scipy(pair: tuple[list[int], list[int]]) -> None:
    x, y = pair
    if not ranks_something(x, y):
        assert math.isnan(kendall_tau_b(x, y))
        assert math.isnan(spearman(x, y))
        return
    assert kendall_tau_b(x, y) == pytest.approx(scipy.stats.kendalltau(x, y).statistic, abs=1e-12)
    assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-12)


@settings(max_examples=60)
@given(rankings)
def test_fast_and_naive_agree(pair: tuple[list[int], list[int]]) -> None:
    x, y = pair
    if ranks_something(x, y):
        pairs = len(x) * (len(x) - 1) / 2
        assert kendall_tau_a(x, y) == pytest.approx(naive_surplus(x, y) / pairs, abs=1e-12)
        assert tau_ap(x, y) == pytest.approx(naive_tau_ap(x, y), abs=1e-12)


def test_many_systems() -> None:
    random = np.random.default_rng(3)
    x, y = random.integers(0, 500, 1000), random.integers(0, 500, 1000)
    assert kendall_tau_b(x, y) == pytest.approx(scipy.stats.kendalltau(x, y).statistic, abs=1e-12)
    assert tau_ap(x, y) == pytest.approx(naive_tau_ap(x.tolist(), y.tolist()), abs=1e-12)


# -- properties --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COEFFICIENTS)
@settings(max_examples=40)
@given(pair=rankings)
def test_a_ranking_agrees_with_itself_and_bounds_hold(
    name: str, pair: tuple[list[int], list[int]]
) -> None:
    x, y = pair
    function = COEFFICIENTS[name]
    if not ranks_something(x, y):
        assert math.isnan(function(x, y))
        return
    assert -1 - 1e-12 <= function(x, y) <= 1 + 1e-12
    if name != "tau_a" or len(set(x)) == len(x):
        assert function(x, x) == pytest.approx(1, abs=1e-12)
    if name != "tau_ap":
        assert function(x, y) == pytest.approx(function(y, x), abs=1e-12)
    # Only the order counts.
    assert function([math.exp(v) for v in x], y) == function(x, y)


# -- ugly inputs -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COEFFICIENTS)
@pytest.mark.parametrize(("x", "y"), [([], []), ([1.0], [2.0]), ([1, 1], [1, 2]), ([1, 2], [3, 3])])
def test_what_ranks_nothing_has_no_correlation(name: str, x: list[float], y: list[float]) -> None:
    assert math.isnan(COEFFICIENTS[name](x, y))


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_unequal_lengths_and_nan_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="two rankings of 2 and 3 systems"):
        COEFFICIENTS[name]([1, 2], [1, 2, 3])
    with pytest.raises(UsageError, match="a score is nan"):
        COEFFICIENTS[name]([1, math.nan], [1, 2])
