"""The naive reference of structure: inex_eval and inex_eval_ng (sections 4 and 5)."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import naive_structure as ns
import trees
from naive_structure import Document, Node, Result
from toy_structure import (
    D2A,
    D3A,
    EXAMPLES,
    P1,
    P2,
    P4,
    S1,
    S2,
    TOY,
    A,
    binary_lists,
    close,
    exact,
    floats,
    gain_lists,
    graded_2003,
    keys,
)
from trees import Campaign

# --------------------------------------------------------------------------------------------
# Section 4: inex_eval
# --------------------------------------------------------------------------------------------

GROUPS = [exact(1), exact(0, 1, 0), exact(1)]
QUARTERS = exact("0.25", "0.5", "0.75", 1)
FIFTIETHS = ns.percents()[1::2]


def singly(*values: float) -> list[list[Fraction]]:
    return [[value] for value in exact(*values)]


def precalls(groups: Any, n: float, at: Sequence[Fraction], **options: Any) -> list[float]:
    return floats([ns.precall(groups, Fraction(str(n)), x, **options) for x in at])


def mean_100(groups: Any, n: float, **options: Any) -> float:
    return sum(precalls(groups, n, ns.percents(), **options)) / 100


def encyclopedia(values: Sequence[Fraction], n: float, at: Sequence[Fraction]) -> list[float]:
    return floats([ns.encyclopedia_precision(values, Fraction(str(n)), x) for x in at])


def encyclopedia_100(values: Sequence[Fraction], n: float) -> float:
    return sum(encyclopedia(values, n, ns.percents())) / 100


def test_4_groups_with_one_missed() -> None:
    assert precalls(GROUPS, 4, QUARTERS) == close(1, 0.6667, 0.6, 0)


def test_4_random_tail() -> None:
    assert precalls(GROUPS, 4, QUARTERS, tail=95) == close(1, 0.6667, 0.6, 0.0755)


def test_4_points_that_are_not_natural() -> None:
    order = singly(1, 0, 1)
    assert precalls(order, 2, QUARTERS) == close(1, 1, 0.6, 0.6667)
    assert precalls(order, 2, QUARTERS, points="ceiling") == close(1, 1, 0.6667, 0.6667)
    assert encyclopedia(exact(1, 0, 1), 2, QUARTERS) == close(0.5, 1, 0.5, 0.6667)
    assert mean_100(order, 2) == close(0.7981)
    assert mean_100(order, 2, points="ceiling") == close(0.8333)
    assert encyclopedia_100(exact(1, 0, 1), 2) == close(0.5067)


def test_4_graded() -> None:
    fifths = exact("0.2", "0.4", "0.6", "0.8", 1)
    graded = (0.75, 0.25, 0, 1)
    assert precalls(singly(*graded), 2.5, fifths) == close(0.875, 0.7143, 0.4286, 0.5, 0)
    assert mean_100(singly(*graded), 2.5) == close(0.5060)
    assert encyclopedia_100(exact(*graded), 2.5) == close(0.3119)


def test_4_graded_ideal_run_is_below_one() -> None:
    assert mean_100(singly(1, 0.5, 0.5), 2) == close(0.9224)
    assert encyclopedia_100(exact(1, 0.5, 0.5), 2) == close(0.5592)


def test_4_ideal_elements_only() -> None:
    run = [D2A, P2, S1, P4]  # of 2: 1, 0, .5, .5; with the deeper ones of 4: 0, 1, 0, .5

    def at(x: str, **options: Any) -> float:
        return ns.inex_eval(run, TOY, x=x, base="ideal", **options)

    assert [at("0.5"), at("0.75"), at("1")] == close(1, 1.5 / (8 / 3), 2 / (11 / 3))
    assert at("0.75", form="encyclopedia") == 0.5
    assert [at("0.25", tie="deeper"), at("0.5", tie="deeper")] == [0.5, 0]
    assert ns.inex_eval([P2], TOY, base="ideal") == 0 < ns.inex_eval([P2], TOY)


@pytest.mark.parametrize("r", range(1, 5))
@pytest.mark.parametrize("i", range(5))
def test_4_expected_search_length_by_enumeration(r: int, i: int) -> None:
    """s i / (r + 1) is the mean over all orders of what stands before the s-th relevant one."""
    orders = list(combinations(range(r + i), r))
    for s in range(1, r + 1):
        before = Fraction(sum(order[s - 1] - (s - 1) for order in orders), len(orders))
        assert ns.precall([exact(*[1] * r, *[0] * i)], Fraction(r), Fraction(s, r)) == s / (
            s + before
        )


@EXAMPLES
@given(st.lists(binary_lists, max_size=4), st.integers(1, 9), st.data())
def test_4_invariants_of_tie_groups(groups: list[list[Fraction]], missed: int, data: Any) -> None:
    n = sum((sum(group, Fraction(0)) for group in groups), Fraction(missed - 1))
    assume(n > 0)
    curve = precalls(groups, float(n), FIFTIETHS)
    assert all(0 <= p <= 1 for p in curve)
    shuffled = [data.draw(st.permutations(group)) for group in groups]
    assert precalls(shuffled, float(n), FIFTIETHS) == curve
    best = [[q] for group in groups for q in sorted(group, reverse=True)]
    worst = [[q] for group in groups for q in sorted(group)]
    for above, p, below in zip(
        precalls(best, float(n), FIFTIETHS),
        curve,
        precalls(worst, float(n), FIFTIETHS),
        strict=True,
    ):
        assert above >= p >= below


@EXAMPLES
@given(binary_lists)
def test_4_natural_points_of_binary_lists_are_precision(values: list[Fraction]) -> None:
    n = int(sum(values))
    assume(n)
    ranks = [k for k, q in enumerate(values, start=1) if q]
    natural = [Fraction(c, n) for c in range(1, n + 1)]
    precision = [c / k for c, k in enumerate(ranks, start=1)]
    assert precalls([[q] for q in values], n, natural) == pytest.approx(precision)
    assert encyclopedia(values, n, natural) == pytest.approx(precision)
    ideal = sorted(values, reverse=True)
    assert set(precalls([[q] for q in ideal], n, ns.percents())) == {1}


@EXAMPLES
@given(gain_lists)
def test_4_encyclopedia_form_is_never_higher(values: list[Fraction]) -> None:
    n = sum(values, Fraction(0))
    assume(n > 0)
    for x in ns.percents():
        assert ns.encyclopedia_precision(values, n, x) <= ns.precall([[q] for q in values], n, x)


def test_4_on_the_toy_collection() -> None:
    # F has 9 elements with 6.15 in all: recall .1 asks for .615, which p2 has.
    assert ns.inex_eval([P2], TOY, x="0.1") == 1
    assert ns.inex_eval([D3A, P2], TOY, x="0.1") == close(0.615 / 1.615)
    assert ns.inex_eval([P2], TOY, x="0.2") == 0
    assert ns.inex_eval([D3A, P2], TOY, x="0.1", form="encyclopedia") == close(0.615 / 2)


def test_4_ties_on_the_toy_collection() -> None:
    tied = [Result(*key, 1.0) for key in keys([D3A, P2])]
    assert ns.inex_eval(tied, TOY, x="0.1") == close(0.615 / (0.615 + 0.615 / 2))
    assert ns.inex_eval(tied[::-1], TOY, x="0.1") == ns.inex_eval(tied, TOY, x="0.1")


def test_4_a_repeat_is_not_relevant() -> None:
    # Strict: four relevant elements; the repeat is one that is not.
    assert ns.inex_eval([P2, P2, D2A], TOY, x="0.5", quant="strict") == close(2 / 3)


def test_29_random_tail_on_the_toy_collection() -> None:
    # Fourteen elements; strict: four are relevant. Of the tail of 13 three are.
    expected = 4 / (4 + 0 + 3 * 10 / 4)
    tail: dict[str, Any] = {"quant": "strict", "unretrieved": "random_tail"}
    assert ns.inex_eval([P2], TOY, x=1, **tail) == close(expected)
    assert ns.inex_eval([P2], TOY, x=1, collection_size=14, **tail) == close(expected)
    more = ns.inex_eval([P2], TOY, x=1, collection_size=100, **tail)
    assert more == close(4 / (4 + 3 * 96 / 4))


def test_29_elements_without_text_are_not_in_the_random_tail() -> None:
    tree = Node("a", 0, 10, (Node("p", 0, 5), Node("p", 5, 5)))
    documents = {"D": Document(tree, ((0, 5),))}
    tail: dict[str, Any] = {"quant": "strict", "unretrieved": "random_tail"}
    assert ns.inex_eval([], documents, x=1, **tail) == 0
    # What has no text is read in vain, and is not missing from the tail of two.
    empty = [Result("D", "/a[1]/p[2]")]
    assert ns.inex_eval(empty, documents, x=1, **tail) == close(1 / (1 + 1 + 1 / 2))


def test_2_mean_of_the_seven_functions() -> None:
    documents = graded_2003(p2=(3, 3), s1=(3, 1), p4=(1, 3))
    run = [S1, P2, P4]
    seven = [ns.inex_eval(run, documents, quant=name) for name in ns.SEVEN]
    assert not any(map(math.isnan, seven))
    assert ns.inex_eval(run, documents, quant="mean7") == pytest.approx(sum(seven) / 7)
    # Nothing is relevant to the strict functions: they are left out.
    lenient = graded_2003(s1=(2, 2))
    assert ns.inex_eval([S1], lenient, quant="mean7") == ns.inex_eval([S1], lenient, quant="sog")


# --------------------------------------------------------------------------------------------
# Section 5: inex_eval_ng
# --------------------------------------------------------------------------------------------

NG_EXH = dict(
    zip(keys([A, S1, P1, P2, S2, P4]), exact(1, 1, "1/3", "2/3", "1/3", "1/3"), strict=True)
)


def ng_curve(results: Sequence[Result], variant: Any) -> list[list[float]]:
    specificity = ns.quantised(TOY, "spec")
    points = ns.ng_points(keys(results), TOY, NG_EXH, specificity, variant)
    return [floats(point) for point in points]


def test_5_sum_of_exhaustivity() -> None:
    assert float(sum(NG_EXH.values())) == close(3.6667)


def test_5_from_the_leaf_up() -> None:
    up = [P2, S1, A]
    assert ng_curve(up, "o") == [close(0.1818, 1), close(0.3636, 0.6667), close(0.4727, 0.56)]
    assert ng_curve(up, "s") == [close(0.1818, 1), close(0.4545, 0.625), close(0.7273, 0.5)]


def test_5_from_the_root_down() -> None:
    down = [A, S1, P2]
    assert ng_curve(down, "o") == [close(0.2727, 0.4)] * 3
    assert ng_curve(down, "s") == [close(0.2727, 0.4), close(0.5455, 0.4375), close(0.7273, 0.5)]


def test_5_measure_on_the_scale_of_2003() -> None:
    documents = graded_2003(a=(3, 1), s1=(3, 2), p2=(2, 3))  # exh 1, 1, 2/3: 8/3 in all
    run = [P2, S1]
    # R = 1/4, then 1/4 + (2/3)(3/8) = 1/2; P = 1, then (20 + (2/3) 40) / 60.
    assert ns.inex_eval_ng(run, documents, x="0.25") == 1
    assert ns.inex_eval_ng(run, documents, x="0.26") == close(0.7778)
    assert ns.inex_eval_ng(run, documents, x="0.51") == 0
    assert ns.inex_eval_ng(run, documents) == close((25 + 25 * 7 / 9) / 100)
    assert ns.inex_eval_ng(run, documents, variant="s", x="0.6") == close((20 + 40) / 80)
    assert ns.inex_eval_ng([S1], documents, quant="strict", x="0.5") == 0  # exh 1 of 2, spec 0


def test_5_measure_on_the_scale_of_2005() -> None:
    grades = {S1.xpath: "2", P1.xpath: "?", P2.xpath: "1"}
    documents = {"D1": Document(TOY["D1"].tree, ((10, 40),), grades=grades, scale="2005")}
    # exh 1, 0, 1/2; spec .5, .5, 1.
    assert ns.inex_eval_ng([P1, P2], documents, x="0.33") == close(0.75)
    assert ns.inex_eval_ng([P1, P2], documents, x="0.34") == 0
    assert ns.inex_eval_ng([P2, S1], documents, quant="strict", x="0.5") == close(20 / 60)


def test_5_repeats() -> None:
    points = ng_curve([P2, P2, S1], "s")
    assert [recall for recall, _ in points] == close(0.1818, 0.1818, 0.4545)
    assert [precision for _, precision in points] == close(1, 1, 0.7)
    assert ng_curve([P2, P2, S1], "o")[1:] == [close(0.1818, 1), close(0.3636, 0.6667)]


@EXAMPLES
@given(trees.campaigns(scales=["2003", "2005"]))
def test_5_invariants(campaign: Campaign) -> None:
    exh, specificity = ns.concept_grades(campaign.documents, "gen")
    assume(any(exh.values()))
    run = keys(campaign.results)
    o = ns.ng_points(run, campaign.documents, exh, specificity, "o")
    s = ns.ng_points(run, campaign.documents, exh, specificity, "s")
    nodes = ns.elements(campaign.documents)
    for (recall_o, precision_o), (recall_s, precision_s) in zip(o, s, strict=True):
        assert recall_o <= recall_s <= 1
        assert 0 <= precision_o <= 1
        assert 0 <= precision_s <= 1
    with_text = [key for key in run if nodes[key].size]
    if len(set(run)) == len(run) and not any(
        ns.is_below(a, b) for a, b in permutations(with_text, 2)
    ):
        assert o == s
