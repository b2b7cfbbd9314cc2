"""Swap rates and discriminative power: by hand, by a naive count, and against scipy."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.analysis.rankings import sample_means
from foveal.analysis.score_matrix import ScoreMatrix
from foveal.analysis.stability import (
    discriminative_power,
    power_of,
    swap_rate,
    swap_rates,
    swaps_of,
)
from foveal.errors import UsageError
from foveal.model import Results


def aligned(values: list[list[float]] | np.ndarray, measure: str = "AP") -> ScoreMatrix:
    table = np.asarray(values, dtype=np.float64)
    runs, topics = (tuple(map(str, range(n))) for n in table.shape)
    return ScoreMatrix(measure, runs, topics, table)


def random_scores(runs: int, topics: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).random((runs, topics)).round(2)


# -- swaps -------------------------------------------------------------------------------------


def test_one_topic_against_another() -> None:
    """Runs 0 and 1 change places between topics; on topics 1 and 2 they agree."""
    scores = aligned([[0.9, 0.1, 0.2], [0.5, 0.4, 0.6]])
    means = scores.values
    expected = np.mean(
        [
            (means[0, i] - means[1, i]) * (means[0, j] - means[1, j]) < 0
            for i, j in permutations(range(3), 2)
        ]
    )
    found = swap_rate(scores, 1, samples=4000)
    assert found.rate == pytest.approx(expected, abs=0.03)
    assert (found.comparisons, found.ties) == (4000, 0)


def test_swaps_by_a_naive_count_over_the_same_samples() -> None:
    scores = aligned(random_scores(5, 9))
    one, two = sample_means(scores, 3, 60, 4)
    swaps = ties = 0
    for a, b in zip(one, two, strict=True):
        for i, j in combinations(range(5), 2):
            swaps += (a[i] - a[j]) * (b[i] - b[j]) < 0
            ties += a[i] == a[j] or b[i] == b[j]
    found = swap_rate(scores, 3, samples=60, seed=4)
    assert (found.swaps, found.ties, found.comparisons) == (swaps, ties, 60 * 10)


def test_samples_are_means_over_disjoint_sets() -> None:
    """Each topic has a digit of its own, so that a mean tells which topics are behind it."""
    scores = aligned([[10.0**i for i in range(6)]])
    one, two = sample_means(scores, 3, 30, 1)
    for a, b in zip(one[:, 0] * 3, two[:, 0] * 3, strict=True):
        assert round(a + b) == 111111
        assert sorted(str(round(a)).zfill(6)) == list("000111")


def test_identical_runs_never_swap_and_always_tie() -> None:
    found = swap_rate(aligned([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]), 1, samples=20)
    assert (found.swaps, found.ties) == (0, 20)


def test_more_topics_swap_less() -> None:
    noisy = np.random.default_rng(5).normal(np.linspace(0, 1, 6)[:, None], 1.0, (6, 60))
    rates = [found.rate for found in swap_rates(aligned(noisy), samples=300)]
    assert len(rates) == 10
    assert rates[0] > rates[4] > rates[-1]


def test_the_safe_difference_is_the_least_from_which_few_swap() -> None:
    # On single topics the runs differ by .50 in one direction, or by .02 in either.
    scores = aligned([[0.5, 0.02, 0.0, 0.5], [0.0, 0.0, 0.02, 0.0]])
    found = swap_rate(scores, 1, samples=500)
    # A difference of .50 is never surely safe: the other topic may be the third.
    assert math.isnan(found.safe_difference)
    sure = swap_rate(aligned([[0.5, 0.4, 0.6], [0.0, 0.1, 0.2]]), 1, samples=50)
    assert sure.safe_difference == 0


def test_the_same_seed_gives_the_same_swaps() -> None:
    scores = aligned(random_scores(4, 10))

    def swaps(sizes: list[int], seed: int) -> list[int]:
        return [found.swaps for found in swap_rates(scores, sizes, seed=seed)]

    assert swaps([2, 5], 3) == swaps([2, 5], 3)
    assert swaps([2, 5], 3) != swaps([2, 5], 4)
    assert swaps([5], 3) == swaps([2, 5], 3)[1:]


@pytest.mark.parametrize("size", [0, 4])
def test_sets_that_cannot_be_disjoint_are_refused(size: int) -> None:
    with pytest.raises(UsageError, match=f"sets of {size} topics .* from 7; .* from 1 to 3"):
        swap_rate(aligned(random_scores(2, 7)), size)


def test_one_run_or_one_topic_is_refused() -> None:
    with pytest.raises(UsageError, match="AP: 1 run given; expected at least two"):
        swap_rate(aligned(random_scores(1, 7)), 1)
    with pytest.raises(UsageError, match="AP: 1 topic to sample from; expected at least two"):
        swap_rates(aligned(random_scores(3, 1)))


# -- discriminative power ----------------------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(2, 7), st.integers(2, 20), st.integers(0, 1000), st.sampled_from([1, 2]))
def test_power_counts_what_scipy_finds_significant(
    runs: int, topics: int, seed: int, tails: int
) -> None:
    values = np.random.default_rng(seed).normal(np.arange(runs)[:, None] / 3, 1, (runs, topics))
    found = discriminative_power(aligned(values), alpha=0.1, tails=tails)
    expected = 0
    for i, j in combinations(range(runs), 2):
        better, worse = sorted((values[i], values[j]), key=np.mean, reverse=True)
        side = "greater" if tails == 1 else "two-sided"
        expected += scipy.stats.ttest_rel(better, worse, alternative=side).pvalue < 0.1
    assert (found.significant, found.pairs, found.topics) == (
        expected,
        runs * (runs - 1) // 2,
        topics,
    )


def test_the_worked_example_is_significant_with_one_tail_only() -> None:
    x, y = (0.42, 0.10, 0.55, 0.31, 0.70, 0.25), (0.40, 0.12, 0.45, 0.22, 0.61, 0.25)
    both = aligned([x, y])  # p = .0826 with two tails
    assert discriminative_power(both, tails=1).share == 1
    assert discriminative_power(both, tails=2).share == 0
    assert discriminative_power(both, tails=2, alpha=0.083).share == 1


def test_a_constant_difference_is_significant_and_none_is_not() -> None:
    same = [0.1, 0.2, 0.7]
    assert discriminative_power(aligned([same, [v + 0.1 for v in same]])).share == 1
    assert discriminative_power(aligned([same, same])).share == 0


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((1, 5), {}, "AP: 1 run given"),
        ((3, 1), {}, "AP: a t-test over 1 topic; expected at least two"),
        ((3, 5), {"tails": 3}, "a test with 3 tails; expected 1 or 2"),
        ((3, 5), {"alpha": 0}, "a level of significance of 0"),
    ],
)
def test_power_refuses_what_cannot_be_tested(
    shape: tuple[int, int], options: dict, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        discriminative_power(aligned(random_scores(*shape)), **options)


# -- over all measures and tasks ---------------------------------------------------------------


def test_tables_have_a_row_for_every_task_and_measure() -> None:
    rows = [
        (run, str(topic), measure, (i * topic + len(measure)) % 7 / 7)
        for i, run in enumerate("abc", 2)
        for topic in range(1, 7)
        for measure in ("AP", "AiP")
    ]
    results = Results.from_tidy(rows, {})
    seen: list[int] = []
    swaps = swaps_of({"x": results, "y": results}, sizes=[1, 3], progress=lambda: seen.append(1))
    assert swaps.select("task", "measure", "size").rows() == [
        (task, measure, size) for task in "xy" for measure in ("AP", "AiP") for size in (1, 3)
    ]
    assert len(seen) == 4
    powers = power_of({"x": results, "y": results})
    assert powers["pairs"].to_list() == [3] * 4


def test_what_has_no_two_topics_is_left_out_and_said() -> None:
    rows = [
        (run, topic, measure, (i + 2) * len(topic + measure) % 5)
        for i, run in enumerate("abc")
        for measure, topics in (("AP", ("1", "22", "333")), ("AiP", ("1",)))
        for topic in topics
    ]
    mean = "inex_eval(quant=mean7)"
    rows += [(run, topic, mean, value) for run, topic, m, value in rows if m == "AP"]
    results = Results.from_tidy(rows, {})
    for table in (swaps_of, power_of):
        said: list[str] = []
        assert set(table(results, warnings=said)["measure"]) == {"AP"}
        assert said == [
            "not judged by topics: AiP, with 1 topic that all runs share",
            f"not judged by topics: {mean}, a mean of other measures",
        ]
        with pytest.raises(UsageError, match="AiP, with 1 topic that all runs share; expected"):
            table(results.only(["AiP"]))


def test_one_size_need_not_be_a_list() -> None:
    rows = [(run, str(t), "AP", (i * t) % 5) for i, run in enumerate("abc") for t in range(1, 9)]
    results = Results.from_tidy(rows, {})
    assert swaps_of(results, sizes=3)["size"].to_list() == [3]


@pytest.mark.parametrize("power", [-60, -13, 6])
def test_power_and_swaps_do_not_depend_on_the_scale_of_scores(power: int) -> None:
    values = random_scores(5, 12)
    plain, scaled = aligned(values), aligned(values * 2.0**power)
    assert discriminative_power(scaled) == discriminative_power(plain)
    there, here = swap_rate(scaled, 4, samples=50), swap_rate(plain, 4, samples=50)
    assert (there.swaps, there.ties) == (here.swaps, here.ties)
