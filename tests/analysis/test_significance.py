"""Paired tests, corrections, intervals, effect sizes, power: against scipy and under the null."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from foveal.analysis.significance import (
    CORRECTIONS,
    TESTS,
    bootstrap_interval,
    bootstrap_test,
    correct,
    effect_sizes,
    letters,
    paired_differences,
    power_of,
    randomisation_test,
    sign_test,
    t_interval,
    t_test,
    topics_needed,
    wilcoxon_test,
)


def differences(x, y) -> np.ndarray:
    return paired_differences(np.array([x, y]), np.array([0]), np.array([1]))


def random_pairs(topics: int, pairs: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores of pairs of runs, correlated as those of runs are, with and without a difference."""
    random = np.random.default_rng(seed)
    base = random.beta(1, 2, (1, topics))
    shift = np.linspace(-0.1, 0.1, pairs)[:, None]
    x = base + shift + random.normal(0, 0.1, (pairs, topics))
    return x, base + random.normal(0, 0.1, (pairs, topics))


def of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rows = np.arange(len(x))
    return paired_differences(np.vstack([x, y]), rows, rows + len(x))


# -- worked examples -----------------------------------------------------------------------------


def test_the_least_p_of_a_resampling_test_is_one_in_resamples_plus_one() -> None:
    d = np.linspace(0.1, 0.2, 40)[None, :]
    assert randomisation_test(d, resamples=99)[0] == 1 / 100
    assert bootstrap_test(d, resamples=99)[0] == 1 / 100


def test_corrections_by_hand() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005])
    assert correct(p, "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert correct(p, "bonferroni") == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert correct(p, "bh") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert correct(p, "none") == pytest.approx(p)


def test_power_by_the_tables() -> None:
    """Cohen's tables for paired tests: 34 and 199 topics for d = .5 and .2 at .05 and .8."""
    assert topics_needed(np.array([0.5, 0.2, -0.5])).tolist() == [34, 199, 34]
    assert topics_needed(np.array([0.5]), tails=1).tolist() == [27]
    assert topics_needed(np.array([0.0, np.inf])).tolist() == [math.inf, 2]
    assert topics_needed(np.array([1e-9]))[0] == pytest.approx(7.849e18, rel=1e-3)


# -- as scipy ------------------------------------------------------------------------------------

TOPICS = [2, 3, 8, 13, 14, 30, 50, 51, 114]


@pytest.mark.parametrize("topics", TOPICS)
@pytest.mark.parametrize("tails", [1, 2])
def test_tests_equal_those_of_scipy(topics: int, tails: int) -> None:
    # scipy goes through 2^13 flips for each row with ties
    x, y = random_pairs(topics, pairs=4 if topics == 13 else 30, seed=topics)
    x[: len(x) // 2] = x[: len(x) // 2].round(2)  # so that some rows have ties and zeros
    y[: len(x) // 2] = y[: len(x) // 2].round(2)
    d = of(x, y)
    found = {"t": t_test, "wilcoxon": wilcoxon_test, "sign": sign_test}
    found = {name: test(d, tails=tails) for name, test in found.items()}
    for i, row in enumerate(d):
        side = "two-sided" if tails == 2 else "greater" if row.sum() > 0 else "less"
        if tails == 1 and row.sum() == 0:
            assert {values[i] for values in found.values()} == {1.0}
            continue
        if np.ptp(row):
            expected = stats.ttest_rel(x[i], y[i], alternative=side).pvalue
            assert found["t"][i] == pytest.approx(expected, rel=1e-8)
        if row.any():
            expected = stats.wilcoxon(row, alternative=side).pvalue
            assert found["wilcoxon"][i] == pytest.approx(expected, rel=1e-8)
            won, lost = int((row > 0).sum()), int((row < 0).sum())
            expected = stats.binomtest(won, won + lost, alternative=side).pvalue
            assert found["sign"][i] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("topics", [2, 7, 50])
def test_bootstrap_intervals_are_those_of_scipy_for_the_same_random_numbers(topics: int) -> None:
    d = of(*random_pairs(topics, pairs=5))
    low, high = bootstrap_interval(d, confidence=0.9, resamples=999, seed=7)
    for i, row in enumerate(d):
        expected = stats.bootstrap(
            (row,),
            np.mean,
            confidence_level=0.9,
            n_resamples=999,
            method="percentile",
            rng=np.random.Generator(np.random.PCG64([7, 3])),
        ).confidence_interval
        assert (low[i], high[i]) == pytest.approx(tuple(expected), abs=1e-10)


@pytest.mark.parametrize("topics", [2, 7, 50])
def test_t_intervals_are_those_of_scipy(topics: int) -> None:
    x, y = random_pairs(topics, pairs=5)
    low, high = t_interval(of(x, y), confidence=0.9)
    for i in range(len(x)):
        expected = stats.ttest_rel(x[i], y[i]).confidence_interval(0.9)
        assert (low[i], high[i]) == pytest.approx(tuple(expected), abs=1e-10)


@pytest.mark.parametrize("tails", [1, 2])
def test_the_randomisation_test_comes_near_that_of_scipy(tails: int) -> None:
    d = of(*random_pairs(9, pairs=12))
    found = randomisation_test(d, tails=tails, resamples=20_000)
    for i, row in enumerate(d):
        side = "two-sided" if tails == 2 else "greater" if row.sum() > 0 else "less"
        expected = stats.permutation_test(
            (row,), np.mean, permutation_type="samples", alternative=side, n_resamples=np.inf
        )
        assert found[i] == pytest.approx(expected.pvalue, abs=0.015)


@given(st.floats(0.02, 100), st.sampled_from([0.5, 0.8, 0.95]), st.sampled_from([1, 2]))
@settings(max_examples=40)
def test_the_number_of_topics_needed_is_the_least(d: float, power: float, tails: int) -> None:
    effect = np.array([d])
    needed = topics_needed(effect, power=power, tails=tails)
    assert power_of(effect, needed, tails=tails) >= power
    assert needed == 2 or power_of(effect, needed - 1, tails=tails) < power


# -- under the null ------------------------------------------------------------------------------

NULLS = np.random.default_rng(2005).normal(0, 0.1, (2_000, 50))
SKEWED = np.random.default_rng(2006).exponential(0.2, (2, 2_000, 50))


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("nulls", [NULLS, SKEWED[0] - SKEWED[1]], ids=["normal", "exponential"])
def test_of_two_thousand_nulls_one_in_twenty_is_rejected(name: str, nulls: np.ndarray) -> None:
    p = TESTS[name](nulls)
    least = 0.0 if name in ("sign", "wilcoxon") else 0.04
    assert least <= (p < 0.05).mean() <= 0.06
    assert ((p > 0) & (p <= 1)).all()


# -- what must always hold -----------------------------------------------------------------------

scores = st.lists(
    st.tuples(st.integers(0, 20).map(lambda n: n / 20), st.floats(0, 1)), min_size=2, max_size=16
)


@pytest.mark.parametrize("name", TESTS)
@given(pairs=scores, tails=st.sampled_from([1, 2]))
@settings(max_examples=30)
def test_tests_do_not_care_which_run_comes_first(name: str, pairs, tails: int) -> None:
    x, y = (np.array(values) for values in zip(*pairs, strict=True))
    options = {"resamples": 199} if name in ("randomisation", "bootstrap") else {}
    there = TESTS[name](differences(x, y), tails=tails, **options)[0]
    back = TESTS[name](differences(y, x), tails=tails, **options)[0]
    assert there == back
    assert 0 <= there <= 1


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("tails", [1, 2])
@pytest.mark.parametrize("topics", [2, 5, 60])
def test_identical_runs_give_p_1(name: str, tails: int, topics: int) -> None:
    same = np.linspace(0, 1, topics)
    assert TESTS[name](differences(same, same), tails=tails)[0] == 1.0


@pytest.mark.parametrize("tails", [1, 2])
def test_a_difference_without_variance(tails: int) -> None:
    """.3 - .2 and .2 - .1 are the same difference, whatever binary makes of them."""
    d = differences([0.3, 0.2, 0.9], [0.2, 0.1, 0.8])
    assert t_test(d, tails=tails)[0] == 0.0
    assert effect_sizes(d)[0] == math.inf
    assert bootstrap_test(d, tails=tails, resamples=99)[0] == 1 / 100
    low, high = bootstrap_interval(d, resamples=99)
    assert low[0] == pytest.approx(0.1) == high[0]


@pytest.mark.parametrize("name", TESTS)
def test_equal_means_have_no_better_one(name: str) -> None:
    d = differences([0.3, 0.2, 0.1, 0.4], [0.2, 0.3, 0.4, 0.1])
    assert TESTS[name](d, tails=1)[0] == 1.0
    assert effect_sizes(d)[0] == 0.0


def test_rounding_of_scores_is_no_difference() -> None:
    x = np.array([0.1 + 0.2, 0.7, 1e6 / 3])
    assert differences(x, np.array([0.3, 0.7, 1e6 / 3])).tolist() == [[0.0, 0.0, 0.0]]
    assert differences([5e-324, 0.0], [0.0, 0.0]).shape == (1, 2)


@pytest.mark.parametrize("name", ["randomisation", "bootstrap"])
def test_the_same_seed_gives_the_same_p_whatever_else_is_compared(name: str) -> None:
    d = of(*random_pairs(20, pairs=2_000))
    all_pairs = TESTS[name](d, seed=11, resamples=2_000)  # drawn in several parts
    assert TESTS[name](d[7:8], seed=11, resamples=2_000)[0] == all_pairs[7]
    assert (TESTS[name](d[::-1], seed=11, resamples=2_000)[::-1] == all_pairs).all()
    assert (TESTS[name](d, seed=12, resamples=2_000) != all_pairs).any()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.randoms())
@settings(max_examples=40)
def test_corrections_never_help_and_keep_the_order(p: list[float], random) -> None:
    raw = np.array(p)
    adjusted = {name: correct(raw, name) for name in CORRECTIONS}
    for values in adjusted.values():
        assert ((values >= raw) & (values <= 1)).all()
        assert (np.diff(values[np.argsort(raw, kind="stable")]) >= 0).all()
    assert (adjusted["holm"] <= adjusted["bonferroni"] + 1e-15).all()
    assert (adjusted["bh"] <= adjusted["holm"] + 1e-15).all()
    order = list(range(len(p)))
    random.shuffle(order)
    for name, values in adjusted.items():
        assert correct(raw[order], name).tolist() == values[order].tolist()


# -- letters -------------------------------------------------------------------------------------


def spelled(names: tuple[str, ...]) -> list[set[str]]:
    """Letters one by one; after the alphabet they have a number."""
    return [set(re.findall(r"[a-z]\d*", name)) for name in names]


@given(st.integers(1, 12), st.data())
@settings(max_examples=60)
def test_runs_share_a_letter_if_and_only_if_they_do_not_differ(runs: int, data) -> None:
    apart = np.zeros((runs, runs), dtype=bool)
    for i, j in itertools.combinations(range(runs), 2):
        apart[i, j] = apart[j, i] = data.draw(st.booleans())
    names = spelled(letters(apart))
    assert all(names)
    for i, j in itertools.combinations(range(runs), 2):
        assert bool(names[i] & names[j]) != apart[i, j]


def test_letters_by_hand() -> None:
    assert letters(np.zeros((3, 3), dtype=bool)) == ("a", "a", "a")
    assert letters(~np.eye(3, dtype=bool)) == ("a", "b", "c")
    assert letters(~np.eye(28, dtype=bool))[25:] == ("z", "a1", "b1")
    distance = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    assert letters(distance > 1) == ("a", "ab", "bc", "cd", "d")
