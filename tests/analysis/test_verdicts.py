"""Verdicts on pairs, ranks of runs, detectable losses: naive twins, scipy, error rates."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from foveal.analysis.comparison import compare
from foveal.analysis.pairs import Pairs, TestSettings
from foveal.analysis.score_matrix import ScoreMatrix
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


def many_pairs(differences: np.ndarray, **options) -> Pairs:
    """Return the tests of pairs of runs with these differences, each by itself."""
    pairs, topics = differences.shape
    values = np.vstack([differences + 5.0, np.full((pairs, topics), 5.0)])
    runs, names = tuple(map(str, range(2 * pairs))), tuple(map(str, range(topics)))
    chosen = TestSettings(correction="none", interval="t", resamples=1, **options)
    first = np.arange(pairs)
    return Pairs(ScoreMatrix("AP", runs, names, values), first, first + pairs, chosen)


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


def test_equal_runs_share_the_first_place() -> None:
    best, low, high = rank_intervals(np.array([X, X, np.zeros(6)]), resamples=99)
    assert best.tolist() == [0.5, 0.5, 0]
    assert (low.tolist(), high.tolist()) == ([1, 1, 3], [2, 2, 3])


def test_ranks_are_in_every_form_and_depend_on_the_seed_alone() -> None:
    found = compare(results({"x": X, "y": Y}), seed=4, interval="t")
    first, second = json.loads(found.to_json())["runs"]
    (row,) = found.rows()
    for name in ("probability_best", "rank_low", "rank_high"):
        assert (row[name], row[f"other_{name}"]) == (first[name], second[name])
    assert first["probability_best"] + second["probability_best"] == pytest.approx(1)
    (table,) = found.tables(["ranks"])
    assert [cells[-2:] for cells in table.rows] == [("1", "0.99"), ("2", "0.01")]
    assert found.to_json() == compare(results({"x": X, "y": Y}), seed=4, interval="t").to_json()


# -- the answer --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "options", "words"),
    [
        ({"x": X, "y": Y}, {}, ["x leads y by 0.047 AP", "chance, p = 0.083; about 13 topics"]),
        ({"x": X, "y": Y}, {"margin": 0.2}, ["they are equivalent within 0.2, p < 0.001."]),
        ({"x": X, "y": Y}, {"margin": 0.05}, ["the difference may be chance, p = 0.083"]),
        ({"x": X, "y": Y}, {"alpha": 0.1, "margin": 0.2}, ["is significant, p = 0.083."]),
        ({"x": X, "y": X}, {}, ["x and y have the same mean AP over 6 topics."]),
        ({"x": X, "y": Y, "z": Z}, {}, ["z leads x by 0.23 AP", "significant, p < 0.001."]),
        ({"x": X, "y": Y, "z": Z}, {"baseline": "y"}, ["z leads y by 0.27 AP"]),
        ({"x": X, "y": Y, "z": Z}, {"baseline": "z"}, ["z leads x by 0.23 AP"]),
    ],
)
def test_the_answer_in_a_sentence(scores, options: dict, words: list[str]) -> None:
    summary = compare(results(scores), **options).summary()
    assert [part for part in words if part not in summary] == [], summary


# -- error rates -------------------------------------------------------------------------------


@pytest.mark.parametrize("topics", [6, 40])
def test_one_in_twenty_equal_pairs_is_called_better_or_worse(topics: int) -> None:
    nulls = np.random.default_rng(topics).normal(0, 0.1, (2_000, topics))
    verdicts = many_pairs(nulls).verdicts
    for verdict in ("better", "worse"):
        assert verdicts.count(verdict) / 2_000 == pytest.approx(0.025, abs=0.01)
    assert verdicts.count("equivalent") == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_one_in_twenty_pairs_at_the_margin_is_called_equivalent(sign: int) -> None:
    """At 3.3 standard errors, hardly any difference that looks equivalent is significant."""
    margin = 3.3 * 0.1 / np.sqrt(40)
    at_margin = np.random.default_rng(40).normal(sign * margin, 0.1, (2_000, 40))
    found = many_pairs(at_margin, margin=margin)
    assert found.verdicts.count("equivalent") / 2_000 == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("topics", [5, 12, 40])
def test_the_test_of_equivalence_errs_at_the_margin_in_one_of_twenty_pairs(topics: int) -> None:
    at_margin = np.random.default_rng(topics).normal(0.3, 0.1, (4_000, topics))
    assert (equivalence_test(at_margin, 0.3) < 0.05).mean() == pytest.approx(0.05, abs=0.01)


def test_a_family_of_equal_runs_has_one_false_verdict_in_twenty_at_most() -> None:
    random = np.random.default_rng(7)
    names, topics = tuple("abcd"), tuple(map(str, range(15)))
    first, second = np.triu_indices(4, 1)
    false = 0
    for _ in range(500):
        scores = ScoreMatrix("AP", names, topics, random.normal(0.5, 0.1, (4, 15)))
        found = Pairs(scores, first, second, TestSettings(interval="t", resamples=1))
        false += set(found.verdicts) != {"inconclusive"}
    assert 0.02 <= false / 500 <= 0.07


def test_the_interval_of_the_rank_covers_the_true_rank() -> None:
    random = np.random.default_rng(8)
    true = np.linspace(0.3, 0.5, 5)[:, None]
    covered = np.zeros(5)
    for _ in range(300):
        values = true + random.normal(0, 0.15, (1, 30)) + random.normal(0, 0.15, (5, 30))
        _, low, high = rank_intervals(values, resamples=400)
        covered += (low <= np.arange(5, 0, -1)) & (np.arange(5, 0, -1) <= high)
    assert (covered / 300 >= 0.93).all()


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
