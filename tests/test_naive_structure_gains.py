"""The naive reference of structure: gains of XCG and nxCG (sections 6 and 7)."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import naive_structure as ns
import trees
from naive_structure import Document, Node, Result, Valuation
from toy_structure import (
    D2A,
    D2P1,
    D2P2,
    EXAMPLES,
    P1,
    P2,
    P4,
    RUN,
    S1,
    S2,
    TOY,
    A,
    close,
    exact,
    floats,
    gain_lists,
    graded_2003,
    ideal_lists,
    ideal_run,
    keys,
    paragraphs,
    quantised_campaigns,
    toy_gains,
)
from trees import Campaign

# --------------------------------------------------------------------------------------------
# Section 6: gains
# --------------------------------------------------------------------------------------------

UP = [P2, S1, A]


def test_6_2_focused_run() -> None:
    assert toy_gains(RUN, overlap="on", norm="none") == close(1, 1, 0, 0.25)
    assert toy_gains(RUN, overlap="on") == close(0.5, 1, 0, 0.25)
    assert [ns.xCG(RUN, TOY, k=k, overlap="on") for k in (1, 2, 3, 4)] == close(0.5, 1.5, 1.5, 1.75)
    assert floats(ns.gains(RUN, TOY, overlap="on")[1]) == close(1, 0.5, 0.5)


def test_6_2_overlapping_run() -> None:
    assert toy_gains(UP, overlap="on", norm="none") == close(1, 0.1667, 0.1)
    assert toy_gains(UP, overlap="on") == close(0.5, 0, 0.1)
    assert toy_gains(UP, overlap="on", tie="deeper") == close(1, 0.1667, 0.1)


def test_6_2_alpha() -> None:
    assert toy_gains(UP, overlap="on", norm="none", alpha=0.5) == close(1, 0.4167, 0.325)
    assert toy_gains(UP, overlap="on", norm="none", alpha=0) == close(1, 0.5, 0.4)


def test_6_2_all_text_seen_piecewise_is_fully_seen() -> None:
    run = [D2P1, D2P2, D2A]
    assert toy_gains(run, overlap="on", norm="none", alpha=0.5) == close(1, 1, 0.5)
    assert toy_gains(run, overlap="on", norm="none") == close(1, 1, 0)


def test_6_2_encyclopedia_formula() -> None:
    run = [P1, S1]
    raw: dict[str, Any] = {"overlap": "on", "norm": "none"}
    assert toy_gains(run, **raw) == close(0.5, 0.3333)
    assert toy_gains(run, formula="encyclopedia", **raw) == close(0.5, 0.1667)


def test_29_encyclopedia_formula_takes_assigned_gains_and_the_clamp() -> None:
    formula: dict[str, Any] = {"overlap": "on", "formula": "encyclopedia"}
    # p2 is assigned .5 of its 1, the budget of s1: (.5 * 20) / 100 for a.
    assert toy_gains([P2, A], **formula) == close(0.5, 0.1)
    assert toy_gains([P2, A], norm="none", **formula) == close(1, 0.2)
    documents = graded_2003(p1=(3, 3), p2=(3, 3))
    raw: dict[str, Any] = {"quant": "strict", "norm": "none", **formula}
    assert floats(ns.gains([P1, S1], documents, **raw)[0]) == close(1, 0)
    assert floats(ns.gains([P1, S1], documents, clamp=False, **raw)[0]) == close(1, 0.3333)


def test_6_2_clamp() -> None:
    tree = Node("a", 0, 10, paragraphs(0, 5, 10))
    grades = {"/a[1]": (3, 1), "/a[1]/p[1]": (3, 3), "/a[1]/p[2]": (3, 3)}
    documents = {"D": Document(tree, grades=grades, scale="2003")}
    root, child = Result("D", "/a[1]"), Result("D", "/a[1]/p[1]")
    raw: dict[str, Any] = {"overlap": "on", "quant": "strict", "norm": "none"}
    assert floats(ns.gains([root], documents, **raw)[0]) == [0]
    assert floats(ns.gains([child, root], documents, clamp=False, **raw)[0]) == [1, 0.5]
    assert floats(ns.gains([child, root], documents, **raw)[0]) == [1, 0]


LINK = Node("p", 0, 100, (Node("link", 10, 15),))


def test_6_2_mixed_content() -> None:
    documents = {"D": Document(LINK, ((0, 10), (15, 100)))}
    run = [Result("D", "/p[1]/link[1]"), Result("D", "/p[1]")]
    assert floats(ns.gains(run, documents, overlap="on")[0]) == close(0, 0.95)
    assert floats(ns.gains(run, documents, overlap="on", mixed="ignore")[0]) == [0, 0]


def test_6_2_mixed_content_of_other_quantisations_is_worth_q() -> None:
    documents = {"D": Document(LINK, grades={"/p[1]": (2, 2)}, scale="2003")}
    run = [Result("D", "/p[1]/link[1]"), Result("D", "/p[1]")]
    assert floats(ns.gains(run, documents, overlap="on", quant="gen")[0]) == close(0, 0.475)


def test_6_2_repeats() -> None:
    assert toy_gains([P2, P2], overlap="on", norm="none") == [1, 0]
    assert toy_gains([P2, P2], overlap="on", norm="none", alpha=0.5) == [1, 0.5]
    assert toy_gains([P2, P2]) == [1, 0]


def test_6_2_charging_the_gains_of_elements_above_an_ideal() -> None:
    """With norm=overlap what s2 gains is taken from p4, which has then less to give."""
    # p4 has .25 left and s1 all of .5: a takes 8/15 of each, and p4 keeps .25 * 7/15.
    run = [S2, A, P4]
    assert toy_gains(run, overlap="on", norm="overlap", alpha=0) == close(0.25, 0.4, 0.1167)
    assert toy_gains(run, overlap="on", norm="subtree", alpha=0) == close(0.25, 0.4, 0.5)


def test_6_1_thorough_gains() -> None:
    assert toy_gains(RUN) == [1, 1, 0, 0.25]
    assert floats(ns.gains(RUN, TOY)[1]) == close(1, 1, 1, 1, 0.5, 0.5, 0.5, 0.4, 0.25)


def test_6_2_subtree_budgets_do_not_bound_the_gain_in_mixed_content() -> None:
    """What s gains is not charged to its ideal p, so the text around s can be gained besides.

    The specification states gr <= 1 for alpha = 1; that needs norm=overlap, or text in leaves only.
    """
    tree = Node("a", 0, 100, (Node("s", 0, 10, (Node("p", 0, 5),)),))
    documents = {"D": Document(tree, ((0, 9), (10, 51)))}
    run = [Result("D", "/a[1]/s[1]"), Result("D", "/a[1]")]
    assert floats(ns.gains(run, documents, overlap="on")[0]) == close(0.9, 0.41)
    assert ns.gr(run, documents, k=2, overlap="on") == close(1.31)
    assert ns.gr(run, documents, k=2, overlap="on", norm="overlap") == 1
    assert ns.gr(run, documents, k=2, overlap="on", mixed="ignore") == close(0.9)


@EXAMPLES
@given(quantised_campaigns(), st.sampled_from(["ascendant", "deeper"]), st.booleans())
def test_6_2_cumulated_gain_is_at_most_ideal(
    drawn: tuple[Campaign, str], tie: Any, charge: bool
) -> None:
    (results, documents), quant = drawn
    bound: dict[str, Any] = {"norm": "overlap"} if charge else {"mixed": "ignore"}
    xG, xI = ns.gains(results, documents, quant=quant, overlap="on", tie=tie, **bound)
    for k in range(1, len(xG) + 1):
        assert sum(xG[:k]) <= sum(xI[:k])


@EXAMPLES
@given(
    quantised_campaigns(),
    st.sampled_from([0, 0.5, 1]),
    st.sampled_from(["ideal", "maxsum"]),
    st.sampled_from(["inex2005", "encyclopedia"]),
    st.booleans(),
)
def test_6_2_charged_budgets_bound_gain_recall(
    drawn: tuple[Campaign, str], alpha: float, base: Any, formula: Any, clamp: bool
) -> None:
    (results, documents), quant = drawn
    xG, xI = ns.gains(
        results,
        documents,
        quant=quant,
        overlap="on",
        norm="overlap",
        alpha=alpha,
        base=base,
        formula=formula,
        clamp=clamp,
    )
    assert min(xG, default=0) >= 0
    assert sum(xG) <= sum(xI)


@EXAMPLES
@given(quantised_campaigns())
def test_6_2_without_alpha_and_norm_gains_are_thorough(drawn: tuple[Campaign, str]) -> None:
    (results, documents), quant = drawn
    once = list(dict.fromkeys(results))
    once = [r for i, r in enumerate(once) if r[:2] not in keys(once[:i])]
    focused = ns.gains(once, documents, quant=quant, overlap="on", alpha=0, norm="none")[0]
    assert focused == ns.gains(once, documents, quant=quant)[0]


@EXAMPLES
@given(trees.campaigns(scales=["2005", "2006"]))
def test_6_2_specificity_of_what_is_unseen(campaign: Campaign) -> None:
    results, documents = campaign
    xG = ns.gains(results, documents, overlap="on", norm="none")[0]
    nodes = ns.elements(documents)
    seen: dict[str, set[int]] = {name: set() for name in documents}
    for key, gain in zip(keys(results), xG, strict=True):
        chars = set(range(nodes[key].start, nodes[key].end))
        new = (chars - seen[key[0]]) & ns.highlighted_in(documents[key[0]])
        assert gain == (Fraction(len(new), len(chars)) if chars else 0)
        seen[key[0]] |= chars


@EXAMPLES
@given(quantised_campaigns(), st.sampled_from([0, 0.3, 1]), st.sampled_from(["text", "ignore"]))
def test_6_2_clamped_value_is_at_most_that_of_the_unseen(
    drawn: tuple[Campaign, str], alpha: float, mixed: Any
) -> None:
    (results, documents), quant = drawn
    q = ns.quantised(documents, quant)
    xG = ns.gains(
        results, documents, quant=quant, overlap="on", norm="none", alpha=alpha, mixed=mixed
    )[0]
    assert all(0 <= gain <= q[key] for key, gain in zip(keys(results), xG, strict=True))


def test_6_2_value_of_a_single_result() -> None:
    valuation = Valuation(TOY, ns.quantised(TOY, "spec"), is_spec=True)
    assert valuation.rv(("D1", S1.xpath), set(range(20, 40)), []) == Fraction(1, 6)


# --------------------------------------------------------------------------------------------
# Section 7: nxCG
# --------------------------------------------------------------------------------------------


def test_7_focused() -> None:
    values = [ns.nxCG(RUN, TOY, k=k, overlap="on") for k in range(1, 6)]
    assert values == close(0.5, 1, 0.75, 0.875, 0.875)
    assert ns.MAnxCG(RUN, TOY, k=4, overlap="on") == pytest.approx(0.78125)


def test_7_thorough() -> None:
    assert [ns.nxCG(RUN, TOY, k=k) for k in range(1, 5)] == close(1, 1, 0.6667, 0.5625)


@EXAMPLES
@given(
    quantised_campaigns(),
    st.sampled_from(["off", "on"]),
    st.sampled_from(["ideal", "maxsum"]),
    st.sampled_from(["ascendant", "deeper"]),
    st.sampled_from([0, 0.5, 1]),
)
def test_7_8_9_ideal_runs_score_one(
    drawn: tuple[Campaign, str], overlap: Any, base: Any, tie: Any, alpha: float
) -> None:
    (_, documents), quant = drawn
    run = ideal_run(documents, quant, overlap=overlap, base=base, tie=tie)
    options: dict[str, Any] = {"quant": quant, "overlap": overlap, "base": base, "tie": tie}
    xG, xI = ns.gains(run, documents, alpha=alpha, **options)
    assert xG == xI
    assert {ns.nxcg(xG, xI, k) for k in range(1, len(run) + 3)} == {1}
    assert {precision for _, _, precision in ns.natural_points(xG, xI)} == {1}
    assert ns.average_effort_precision(xG, xI) == 1
    for between in ("line", "curve", "step"):
        at = [ns.effort_precision(xG, xI, x, between=between) for x in exact("0.01", "0.37", 1)]
        assert set(at) == {1}
    assert ns.interpolated_effort_precision(xG, xI) == 1
    assert ns.q_measure(xG, xI) == 1
    assert ns.r_measure(xG, xI) == 1


@EXAMPLES
@given(gain_lists, ideal_lists, st.integers(0, 5))
def test_7_nxcg_is_gain_recall_after_both_ends(
    xG: list[Fraction], xI: list[Fraction], more: int
) -> None:
    k = max(len(xG), len(xI)) + more
    assert ns.nxcg(xG, xI, k) == sum(xG, Fraction(0)) / sum(xI)


@EXAMPLES
@given(quantised_campaigns(), st.data())
def test_7_swapping_neighbours_changes_the_first_rank_only(
    drawn: tuple[Campaign, str], data: Any
) -> None:
    (results, documents), quant = drawn
    assume(len(results) > 1)
    i = data.draw(st.integers(0, len(results) - 2))
    swapped = [*results[:i], results[i + 1], results[i], *results[i + 2 :]]
    for k in range(1, len(results) + 1):
        if k != i + 1:
            value = ns.nxCG(results, documents, k=k, quant=quant)
            assert ns.nxCG(swapped, documents, k=k, quant=quant) == value


@EXAMPLES
@given(quantised_campaigns(), st.sampled_from(["off", "on"]), st.integers(1, 5))
def test_7_results_after_the_rank_are_ignored(
    drawn: tuple[Campaign, str], overlap: Any, k: int
) -> None:
    (results, documents), quant = drawn
    options: dict[str, Any] = {"k": k, "quant": quant, "overlap": overlap}
    for measure in (ns.MAnxCG, ns.nxCG, ns.xCG, ns.gr):
        assert measure(results[:k], documents, **options) == measure(results, documents, **options)
