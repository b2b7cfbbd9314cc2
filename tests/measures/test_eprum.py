"""EPRUM and EPRUMk: worked examples, every course of events, reductions to classic measures."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaigns
import naive
import naive_user_model
import scoring
from foveal.measures import parse_measure, parse_measures
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


@pytest.mark.parametrize(
    "settings",
    [
        "targets=ideal",
        "targets=ideal,behaviour=classic",
        "targets=ideal,weight=quant",
        "targets=ideal,weight=exh",
        "targets=ideal,ideal=greedy",
        "targets=ideal,ratio=of_means",
    ],
)
def test_the_ideal_list_scores_one(settings: str) -> None:
    ideal = "D2:/a D1:/a/s[1] D1:/a/s[2]/p[1]"
    assert value(ideal, f"EPRUM({settings})") == pytest.approx(1, abs=1e-12)
    for k in (1, 2, 3):
        assert value(ideal, f"EPRUMk({settings})@{k}") == pytest.approx(1, abs=1e-12)


def test_a_place_that_leads_to_several_targets_shortens_the_greedy_list() -> None:
    """From the start of D1 a patient reader comes to both passages: two ranks are enough."""
    run, setting = "D3:0-40 D1:0-20 D2:0-50", "targets=passages,behaviour=t2i"
    assert value(run, f"EPRUM({setting})@1") == 1
    assert value(run, f"EPRUM({setting},ideal=greedy)@1") == pytest.approx(2 / 3)
    assert value(run, f"EPRUM({setting})@0.5") == pytest.approx(2 / 2)
    assert value(run, f"EPRUM({setting},ideal=greedy)@0.5") == pytest.approx(1 / 2)
    assert value(run, f"EPRUMk({setting},ideal=greedy)@2") == pytest.approx(1 / 2)
    assert value(run, f"EPRUMk({setting})@2") == 1


def test_the_curve_has_100_points_and_falls_where_targets_are_many() -> None:
    curve = parse_measures("EPRUM@curve")
    assert [str(curve[0]), str(curve[49]), str(curve[-1])] == [
        "EPRUM@0.01",
        "EPRUM@0.50",
        "EPRUM@1",
    ]
    assert len(curve) == 100
    points = [value(RUN, str(point)) for point in curve]
    assert points[:50] == [points[0]] * 50
    assert points[50:] == [points[-1]] * 50


# -- every course of events --------------------------------------------------------------------


@given(matrices())
@quick
def test_binary_targets_agree_with_the_enumeration_of_all_events(p: list[list[float]]) -> None:
    every = naive_user_model.Enumeration(p, [Fraction(1)] * len(p[0]))
    for r, (expected, of_means) in enumerate(
        zip(binary(p), binary(p, of_means=True), strict=True), start=1
    ):
        assert expected == pytest.approx(every.expected_precision(r, r), abs=1e-12)
        assert of_means == pytest.approx(every.precision_of_means(r, r), abs=1e-12)


@given(matrices(), st.lists(st.integers(1, 4), min_size=3, max_size=3))
@quick
def test_graded_targets_agree_with_the_enumeration_of_all_events(
    p: list[list[float]], grades: list[int]
) -> None:
    units = grades[: len(p[0])]
    every = naive_user_model.Enumeration(p, [Fraction(u) for u in units])
    best = np.cumsum(sorted(units, reverse=True))
    wanted = range(1, sum(units) + 1)
    shortest = [next(m for m, gain in enumerate(best, start=1) if gain >= y) for y in wanted]
    fast = compute_expected_precision(find_hits(p), np.array(units), np.array(shortest))
    slow = [every.expected_precision(y, s) for y, s in zip(wanted, shortest, strict=True)]
    assert fast.tolist() == pytest.approx(slow, abs=1e-12)


@given(matrices(targets=2), st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=2, max_size=2))
@quick
def test_random_ideality_is_the_mean_over_which_targets_are_ideal(
    p: list[list[float]], chances: list[float]
) -> None:
    n = len(p[0])
    chance = chances[:n]
    expected = np.zeros(n)
    for ideal in product([0, 1], repeat=n):
        odds = math.prod(c if i else 1 - c for c, i in zip(chance, ideal, strict=True))
        every = naive_user_model.Enumeration(p, [Fraction(i) for i in ideal])
        expected += [odds * every.expected_precision(r, r) for r in range(1, n + 1)]
    units = np.ones(n, dtype=np.int64)
    fast = compute_expected_precision(
        find_hits(p), units, np.arange(1, n + 1), ideality=np.array(chance)
    )
    assert fast.tolist() == pytest.approx(expected.tolist(), abs=1e-12)


# -- what must hold ----------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 10))
@quick
def test_one_certain_target_per_result_gives_the_classic_measures(
    ranking: list[int], n: int
) -> None:
    """Targets are numbers below n; each is found where the ranking first names it."""
    p = [[float(item == x) for x in range(n)] for item in ranking] or [[0.0] * n]
    relevant_at = [k for k, x in enumerate(ranking, start=1) if x < n and x not in ranking[: k - 1]]
    classic = [(i + 1) / k for i, k in enumerate(relevant_at)]
    assert binary(p) == pytest.approx(classic + [0.0] * (n - len(classic)), abs=1e-12)
    assert binary(p, of_means=True) == pytest.approx(binary(p), abs=1e-12)


@st.composite
def documents_of_one_passage(draw: st.DrawFn) -> campaigns.Campaign:
    """A ranking of whole documents, some of which are relevant throughout."""
    names = [f"d{i}" for i in range(8)]
    relevant = draw(st.sets(st.sampled_from(names), min_size=1))
    documents = {n: naive.Doc(5, ((0, 5),) if n in relevant else (), 0) for n in names}
    order = draw(st.lists(st.sampled_from(names), unique=True))
    return [(n, 0, 5) for n in order], documents


@given(documents_of_one_passage())
@quick
def test_whole_documents_give_document_measures(campaign: campaigns.Campaign) -> None:
    topic = campaigns.view(*campaign)

    def score(measure: str) -> float:
        return scoring.score(parse_measure(measure), topic)

    for setting in ("A=1", "behaviour=classic", "targets=passages", "behaviour=t2i"):
        assert score(f"EPRUM({setting})") == pytest.approx(score("AP"), abs=1e-12)
        for k in (1, 3, 8, 20):
            assert score(f"EPRUMk({setting})@{k}") == pytest.approx(score(f"P@{k}"), abs=1e-12)
            assert score(f"GR({setting})@{k}") == pytest.approx(score(f"R@{k}"), abs=1e-12)


@given(matrices(), st.data())
@quick
def test_precision_never_falls_where_a_probability_rises(
    p: list[list[float]], data: st.DataObject
) -> None:
    k = data.draw(st.integers(0, len(p) - 1))
    x = data.draw(st.integers(0, len(p[0]) - 1))
    higher = [list(row) for row in p]
    higher[k][x] = data.draw(st.floats(p[k][x], 1))
    pairs = zip(binary(p), binary(higher), strict=True)
    assert all(after >= before - 1e-12 for before, after in pairs)


@given(campaigns.campaigns(), st.sampled_from(["EPRUM", "EPRUM(targets=passages)"]))
@quick
def test_results_of_other_documents_change_nothing_at_the_end(
    campaign: campaigns.Campaign, name: str
) -> None:
    results, documents = campaign
    measure = parse_measure(name)
    longer = [*results, (campaigns.UNJUDGED, 0, 30)]
    short = campaigns.score(measure, results, documents)
    assert campaigns.score(measure, longer, documents) == pytest.approx(short, nan_ok=True)


def test_a_repeat_gains_nothing_but_keeps_its_rank() -> None:
    assert value("D1:10-40 D1:10-40 D2:0-50", "EPRUM(behaviour=classic)@1") == 2 / 3
    assert value("D1:10-40 D2:0-50 D2:0-50", "EPRUM(behaviour=classic)") == 1


def test_no_result_scores_zero() -> None:
    documents = {"A": naive.Doc(10, ((0, 5),), 0)}
    for name in ("EPRUM", "EPRUM@1", "EPRUM(ratio=of_means)", "EPRUMk@5", "PRUM", "GR@1"):
        assert campaigns.score(parse_measure(name), [], documents) == 0


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


@given(st.lists(st.floats(1e-3, 3), min_size=1, max_size=40))
@quick
def test_an_ideal_list_of_any_weights_scores_one(weights: list[float]) -> None:
    units = np.sort(round_to_units(np.array(weights)))[::-1]
    gain = np.cumsum(units)
    shortest = np.searchsorted(gain, np.arange(1, gain[-1] + 1)) + 1
    precision = compute_expected_precision(find_hits(np.eye(len(units))), units, shortest)
    assert precision.tolist() == pytest.approx([1.0] * int(gain[-1]), abs=1e-12)
