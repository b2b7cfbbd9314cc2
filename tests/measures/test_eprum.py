"""EPRUM and EPRUMk: worked examples, comparison with the naive recursion, weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_user_model
from foveal.measures.eprum import compute_expected_precision, round_to_units
from measures.test_user_model import find_hits, matrices, value

quick = settings(max_examples=40)
RUN = "D1:20-40 D3:0-40 D2:25-50"


def binary(p: list[list[float]], *, of_means: bool = False) -> list[float]:
    n = len(p[0])
    units = np.ones(n, dtype=np.int64)
    return compute_expected_precision(
        find_hits(p), units, np.arange(1, n + 1), of_means=of_means
    ).tolist()


# -- worked examples ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("EPRUM", 0.6545),
        ("EPRUM@0.5", 0.8962),
        ("EPRUM@0.01", 0.8962),
        ("EPRUM@0", 0.8962),
        ("EPRUM@0.51", 0.4128),
        ("EPRUM@1", 0.4128),
        ("EPRUM(ratio=of_means)@0.5", 0),
        ("EPRUM(ratio=of_means)@1", 0),
        ("EPRUMk@1", 0.8636),
        ("EPRUMk@2", 0.4318),
        ("EPRUMk@3", 0.5269),
        ("EPRUMk@6", 0.2634),
        ("EPRUMk(rounding=ceil)@1", 1),
        ("EPRUMk(rounding=ceil)@2", 0.5),
        ("EPRUMk(rounding=ceil)@3", 0.6667),
    ],
)
def test_best_entry_points_of_the_toy_campaign(measure: str, expected: float) -> None:
    assert value(RUN, measure) == pytest.approx(expected, abs=6e-5)


THREE = [[0.5, 0.2, 0.0], [0.5, 0.0, 0.3], [0.0, 1.0, 0.3]]


def test_three_targets() -> None:
    assert binary(THREE) == pytest.approx([0.7767, 0.7, 0.3825], abs=5e-5)


def test_three_graded_targets() -> None:
    hits = find_hits([[0, 1, 0], [0.8, 0, 0], [0, 0, 0.5]])
    units = round_to_units(np.array([1, 0.5, 0.5]))
    precision = compute_expected_precision(hits, units, np.array([1, 1, 2, 3]))
    assert precision == pytest.approx([1, 0.4333, 0.8, 0.4], abs=5e-5)
    natural = precision[np.cumsum(np.sort(units)[::-1]) - 1]
    assert np.dot(natural, [0.5, 0.25, 0.25]) == pytest.approx(0.5167, abs=5e-5)


# Ideal elements with q = spec: D2 1, D1 s1 .5, D1 p4 .5; the run finds D1 s1, half of D2, p4.
@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("EPRUM(targets=ideal)@0.33", 1),
        ("EPRUM(targets=ideal)@0.66", (2 / 2) * 0.5 + (2 / 3) * 0.5),
        ("EPRUM(targets=ideal)@1", (3 / 3) * 0.5),
        # in quarters: D2 2, s1 1, p4 1; half of all needs one rank at best
        ("EPRUM(targets=ideal,weight=quant)@0.25", 1),
        ("EPRUM(targets=ideal,weight=quant)@0.5", (1 / 2) * 0.5 + (1 / 3) * 0.5),
        ("EPRUM(targets=ideal,weight=quant)@0.75", (2 / 2) * 0.5),
        ("EPRUM(targets=ideal,weight=quant)@1", 0.5),
        ("EPRUM(targets=ideal,weight=quant)", 0.5 * (5 / 12) + 0.25 * 0.5 + 0.25 * 0.5),
        # recall of the first two ranks (.5 + .5) / 2: one rank of the best list
        ("EPRUMk(targets=ideal,weight=quant)@1", 0.5 * 1),
        ("EPRUMk(targets=ideal,weight=quant)@2", 1.5 / 2 / 1.5),
        ("EPRUMk(targets=ideal,weight=quant)@3", 2 / 3),
        ("EPRUMk(targets=ideal,weight=quant,rounding=ceil)@1", 1),
        # s1 and p4 are ideal with odds of one half: two of the three are expected
        ("EPRUM(targets=ideal,weight=quant,random_ideal=true)@0.5", 0.5 + 0.25 / 2 + 0.125 / 3),
    ],
)
def test_elements_of_the_ideal_recall_base(measure: str, expected: float) -> None:
    run = "D1:/a/s[1] D2:/a/p[1] D1:/a/s[2]/p[1]"
    assert value(run, measure) == pytest.approx(expected, abs=1e-12)


# -- fast and naive ----------------------------------------------------------------------------


@given(matrices(), st.lists(st.integers(1, 4), min_size=3, max_size=3))
@quick
def test_graded_targets_agree_with_the_recursion(p: list[list[float]], grades: list[int]) -> None:
    units = grades[: len(p[0])]
    every = naive_user_model.Recursion(p, units)
    best = np.cumsum(sorted(units, reverse=True))
    wanted = range(1, sum(units) + 1)
    shortest = [next(m for m, gain in enumerate(best, start=1) if gain >= y) for y in wanted]
    fast = compute_expected_precision(find_hits(p), np.array(units), np.array(shortest))
    slow = [every.expected_precision(y, s) for y, s in zip(wanted, shortest, strict=True)]
    assert fast.tolist() == pytest.approx(slow, abs=1e-12)


@given(matrices(targets=2), st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=2, max_size=2))
@quick
def test_random_ideality_agrees_with_the_recursion(
    p: list[list[float]], chances: list[float]
) -> None:
    n = len(p[0])
    chance = chances[:n]
    every = naive_user_model.Recursion(p, [1] * n, chance)
    expected = [every.expected_precision(r, r) for r in range(1, n + 1)]
    units = np.ones(n, dtype=np.int64)
    fast = compute_expected_precision(
        find_hits(p), units, np.arange(1, n + 1), ideality=np.array(chance)
    )
    assert fast.tolist() == pytest.approx(expected, abs=1e-12)


# -- weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "units"),
    [
        ([1.0], [1]),
        ([0.5, 0.5], [1, 1]),
        ([3.0, 2.0], [3, 2]),
        ([0.75, 0.25, 1.0], [3, 1, 4]),
        ([1 / 3, 1 / 2], [2, 3]),
        ([math.pi, math.e], [536, 464]),
        ([1.0, math.sqrt(2) * 1e-6], [1000, 1]),
    ],
)
def test_weights_become_whole_units(weight: list[float], units: list[int]) -> None:
    assert round_to_units(np.array(weight)).tolist() == units
