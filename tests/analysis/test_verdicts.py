"""Verdicts on pairs, ranks of runs, detectable losses: naive twins and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from foveal.analysis.comparison import compare
from foveal.analysis.significance import (
    detectable_effect,
    equivalence_test,
    power_of,
    rank_intervals,
)
from foveal.bridges.gates import check_bounds, check_not_worse
from foveal.errors import UsageError
from foveal.model import Results

X = (0.42, 0.10, 0.55, 0.31, 0.70, 0.25)
Y = (0.40, 0.12, 0.45, 0.22, 0.61, 0.25)
Z = tuple(v + 0.2 + t / 100 for t, v in enumerate(X))


def results(scores: dict[str, tuple[float, ...]], measure: str = "AP") -> Results:
    rows = [(run, str(t), measure, v) for run, own in scores.items() for t, v in enumerate(own)]
    rows += [(run, "all", measure, float(np.mean(own))) for run, own in scores.items()]
    return Results.from_tidy(rows, {})


# -- equivalence -------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(2, 30), st.integers(0, 999), st.floats(0.01, 1))
def test_equivalence_is_the_greater_of_two_one_sided_tests(
    topics: int, seed: int, margin: float
) -> None:
    d = np.random.default_rng(seed).normal(0.1, 0.3, (4, topics))
    for row, p in zip(d, equivalence_test(d, margin), strict=True):
        low = stats.ttest_1samp(row, -margin, alternative="greater").pvalue
        high = stats.ttest_1samp(row, margin, alternative="less").pvalue
        assert p == pytest.approx(max(low, high), rel=1e-8)


def test_equivalence_without_variance() -> None:
    constant = np.repeat([[0.0], [0.05], [0.1], [0.2], [-0.05]], 4, axis=1)
    assert equivalence_test(constant, 0.1).tolist() == [0, 0, 1, 1, 0]


def test_each_pair_has_one_of_four_verdicts() -> None:
    near = tuple(v + (-1) ** t / 1000 for t, v in enumerate(X))
    scored = results({"x": X, "y": Y, "z": Z, "near": near})

    def verdicts(**options) -> dict[tuple[str, str], str]:
        return {(r["run"], r["other"]): r["verdict"] for r in compare(scored, **options).rows()}

    plain = verdicts()
    assert plain["x", "z"] == "worse"
    assert plain["z", "near"] == "better"
    assert plain["x", "y"] == plain["x", "near"] == "inconclusive"
    within = verdicts(margin=0.02)
    assert within["x", "near"] == "equivalent"
    assert {pair for pair in plain if plain[pair] != within[pair]} == {("x", "near")}


def test_a_significant_difference_within_the_margin_is_better_and_both_p_are_reported() -> None:
    up = tuple(v + 0.01 + t / 1000 for t, v in enumerate(X))
    (row,) = compare(results({"up": up, "x": X}), margin=0.05).rows()
    assert (row["verdict"], row["significant"]) == ("better", True)
    assert row["p_equivalence_corrected"] < 0.05


def test_equivalence_is_corrected_over_the_same_pairs() -> None:
    random = np.random.default_rng(3)
    scored = results({name: tuple(random.normal(0.5, 0.1, 12)) for name in "abcd"})
    frame = compare(scored, margin=0.1).to_frame()
    p = frame["p_equivalence"].to_numpy()
    order = np.argsort(p)
    steps = np.maximum.accumulate(p[order] * np.arange(6, 0, -1)).clip(max=1)
    assert frame["p_equivalence_corrected"].to_numpy()[order] == pytest.approx(steps)
    plain = compare(scored).to_frame()
    assert "p_equivalence" not in plain.columns
    assert plain["p_corrected"].to_list() == frame["p_corrected"].to_list()


def test_lower_may_be_better() -> None:
    found = compare(results({"x": X, "z": Z}, "T2Ieffort@3"))
    (row,) = found.rows()
    assert (row["verdict"], row["probability_best"], row["rank_high"]) == ("better", 1.0, 1)
    assert found.summary().startswith("x leads z by 0.23 T2Ieffort@3; with 6 topics")


@pytest.mark.parametrize("margin", [0, -0.1, float("inf"), float("nan")])
def test_a_margin_is_a_number_above_0(margin) -> None:
    with pytest.raises(UsageError, match="expected a number above 0"):
        compare(results({"x": X, "y": Y}), margin=margin)


# -- ranks -------------------------------------------------------------------------------------


def naive_ranks(values: np.ndarray, confidence: float, resamples: int, seed: int):
    """Return the same, resample by resample, from the same random numbers."""
    runs, topics = values.shape
    random = np.random.Generator(np.random.PCG64([seed, 3]))
    best, firsts, lasts = [0.0] * runs, [[] for _ in range(runs)], [[] for _ in range(runs)]
    for drawn in random.integers(0, topics, (resamples, topics)):
        means = [round(float(np.mean(values[i, drawn])), 9) for i in range(runs)]
        for i, own in enumerate(means):
            above, tied = sum(m > own for m in means), sum(m == own for m in means)
            best[i] += (above == 0) / tied / resamples
            firsts[i].append(above + 1)
            lasts[i].append(above + tied)
    tail = (1 - confidence) / 2
    low = [sorted(own)[int(np.ceil(tail * resamples)) - 1] for own in firsts]
    high = [sorted(own)[int(np.ceil((1 - tail) * resamples)) - 1] for own in lasts]
    return best, low, high


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(2, 8), st.integers(0, 99), st.sampled_from([0.8, 0.95]))
def test_fast_and_naive_ranks_agree(runs: int, topics: int, seed: int, confidence: float) -> None:
    values = np.random.default_rng(seed).integers(0, 4, (runs, topics)) / 4
    found = rank_intervals(values, confidence=confidence, resamples=101, seed=seed)
    best, low, high = naive_ranks(values, confidence, 101, seed)
    assert found[0] == pytest.approx(best)
    assert (found[1].tolist(), found[2].tolist()) == (low, high)
    assert found[0].sum() == pytest.approx(1)


# -- detectable losses -------------------------------------------------------------------------


@pytest.mark.parametrize("topics", [2, 5, 34, 500])
@pytest.mark.parametrize("tails", [1, 2])
def test_the_detectable_effect_has_the_asked_power(topics: int, tails: int) -> None:
    effect = detectable_effect(topics, power=0.8, alpha=0.02, tails=tails)
    power = power_of(np.array([effect]), np.array([float(topics)]), alpha=0.02, tails=tails)
    assert power[0] == pytest.approx(0.8, abs=2e-3)


@pytest.mark.parametrize(("margin", "significantly"), [(0.0, True), (0.2, True), (0.05, False)])
def test_gates_detect_the_loss_they_name_in_four_of_five_cases(
    margin: float, significantly: bool
) -> None:
    random = np.random.default_rng(9)

    def check(loss: float):
        old = random.normal(0.5, 0.1, 25)
        new = old - loss + random.normal(0, 0.15, 25)
        found = compare(
            results({"new": tuple(new), "old": tuple(old)}),
            baseline="old",
            interval="t",
            resamples=1,
        )
        return check_not_worse(found, {"AP": margin}, significantly=significantly)[0]

    named = [check(0.0).detectable for _ in range(50)]
    loss = float(np.mean([value for value in named if value is not None]))
    failed = sum(not check(loss).passed for _ in range(400))
    assert failed / 400 == pytest.approx(0.8, abs=0.06)


def test_only_gates_that_pass_name_a_loss() -> None:
    scored = results({"x": X, "y": Y, "flat": (0.4,) * 6})
    low, high = (check_bounds(scored, {"AP": bound}) for bound in (0.2, 0.9))
    assert {check.detectable for check in high} == {None}
    x, _, flat = low
    error = np.std(X, ddof=1) / np.sqrt(6)
    expected = np.mean(X) - 0.2 + stats.t.ppf(0.8, 5) * error
    assert x.detectable == pytest.approx(expected)
    assert x.sentence.endswith(f"; a loss of {expected:.2g} would have been detected")
    assert flat.detectable is None  # no spread, no power
    (rise,) = check_bounds(results({"x": X}, "T2Ieffort@3"), {"T2Ieffort@3": 1})
    assert "an increase of" in rise.sentence


def test_more_runs_against_a_baseline_detect_less() -> None:
    two = compare(results({"y": Y, "x": X}), baseline="x")
    three = compare(results({"y": Y, "z": Y, "x": X}), baseline="x")
    alone, among = (check_not_worse(found, {"AP": 0.0})[0].detectable for found in (two, three))
    assert alone is not None
    assert among is not None
    assert alone < among
    sign = compare(results({"y": Y, "x": X}), baseline="x", tests="sign")
    assert check_not_worse(sign, {"AP": 0.0})[0].detectable is None
