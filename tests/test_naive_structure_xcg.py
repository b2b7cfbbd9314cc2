"""The naive reference of structure: effort, Q and R, Fetch & Browse (sections 8 to 10)."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import naive_structure as ns
from naive_structure import Result
from toy_structure import (
    BROWSING,
    D2A,
    D2P1,
    D3A,
    D3P1,
    EXAMPLES,
    P1,
    P2,
    P4,
    RUN,
    S1,
    S2,
    TOY,
    binary_lists,
    close,
    exact,
    floats,
    gain_lists,
    ideal_lists,
    ideal_run,
    quantised_campaigns,
)
from trees import Campaign

# --------------------------------------------------------------------------------------------
# Section 8: effort-precision
# --------------------------------------------------------------------------------------------

AT = ("0.01", "0.1", "0.25", "0.5", "0.75", "0.85", "0.875", "0.9", "1")


def ep_curve(**options: Any) -> list[float]:
    return [ns.ep(RUN, TOY, x=x, overlap="on", **options) for x in AT]


def test_8_natural_recall_points() -> None:
    xG, xI = ns.gains(RUN, TOY, overlap="on")
    points = [floats(point) for point in ns.natural_points(xG, xI)]
    assert points == [[1, 0.25, 0.5], [2, 0.75, 1], [4, 0.875, 0.625]]
    step = [float(precision) for _, _, precision in ns.natural_points(xG, xI, "step")]
    assert step == [1, 1, 0.75]
    assert [ns.gr(RUN, TOY, k=k, overlap="on") for k in (1, 2, 4)] == [0.25, 0.75, 0.875]


def test_8_average() -> None:
    assert ns.MAep(RUN, TOY, overlap="on") == close(0.7083)
    assert ns.MAep(RUN, TOY, overlap="on", ideal="step") == close(0.9167)
    assert ns.MAep(RUN, TOY) == close(0.2847)


def test_8_thorough_natural_points() -> None:
    points = ns.natural_points(*ns.gains(RUN, TOY))
    assert floats([precision for _, _, precision in points]) == close(1, 1, 0.5625)


def test_8_line() -> None:
    assert ep_curve() == close(0.5, 0.5, 0.5, 0.75, 1, 0.7, 0.625, 0, 0)
    assert ns.iMAep(RUN, TOY, overlap="on") == close(0.5991)


def test_8_curve() -> None:
    assert ep_curve(between="curve") == close(0.5, 0.5, 0.5, 0.6667, 1, 0.6316, 0.625, 0, 0)
    assert ns.iMAep(RUN, TOY, overlap="on", between="curve") == close(0.5656)


@pytest.mark.parametrize("ideal", ["line", "step"])
def test_8_step(ideal: Any) -> None:
    steps = ep_curve(ideal=ideal, between="step")
    assert steps == close(1, 1, 1, 0.5, 1, 0.75, 0.75, 0, 0)
    assert ns.iMAep(RUN, TOY, overlap="on", ideal=ideal, between="step") == close(0.7150)


def test_8_divisor() -> None:
    xG, xI = exact(1, 1, 1), exact(3)
    assert [p for _, _, p in ns.natural_points(xG, xI)] == [Fraction(1, 3)] * 3
    assert ns.average_effort_precision(xG, xI, divisor="n") == 1
    assert ns.average_effort_precision(xG, xI) == Fraction(1, 3)


@EXAMPLES
@given(binary_lists, st.integers(0, 3))
def test_8_binary_gains_make_average_precision(xG: list[Fraction], missed: int) -> None:
    n = int(sum(xG)) + missed
    assume(n)
    xI = exact(*[1] * n)
    precision = [sum(xG[:k]) / k for k in range(1, len(xG) + 1) if xG[k - 1]]
    assert [p for _, _, p in ns.natural_points(xG, xI)] == precision
    assert ns.average_effort_precision(xG, xI) == sum(precision, Fraction(0)) / n


@EXAMPLES
@given(quantised_campaigns(), st.sampled_from(["off", "on"]))
def test_8_bounds(drawn: tuple[Campaign, str], overlap: Any) -> None:
    (results, documents), quant = drawn
    xG, xI = ns.gains(results, documents, quant=quant, overlap=overlap, norm="overlap")
    line = [p for _, _, p in ns.natural_points(xG, xI)]
    step = [p for _, _, p in ns.natural_points(xG, xI, "step")]
    assert all(0 < a <= b <= 1 for a, b in zip(line, step, strict=True))
    for between in ("line", "curve", "step"):
        for x in exact("0.01", "0.3", "0.5", "0.99", 1):
            assert 0 <= ns.effort_precision(xG, xI, x, between=between) <= 1
    assert 0 <= ns.average_effort_precision(xG, xI, ideal="step") <= 1


@EXAMPLES
@given(gain_lists, ideal_lists)
def test_8_natural_points_are_on_every_curve(xG: list[Fraction], xI: list[Fraction]) -> None:
    steps = ns.natural_points(xG, xI, "step")
    for (_, recall, line), (_, _, step) in zip(ns.natural_points(xG, xI), steps, strict=True):
        assert ns.effort_precision(xG, xI, recall) == line
        assert ns.effort_precision(xG, xI, recall, between="curve") == line
        assert ns.effort_precision(xG, xI, recall, ideal="step") == step
        assert ns.effort_precision(xG, xI, recall, between="step") == step


@EXAMPLES
@given(gain_lists, ideal_lists, st.data())
def test_8_results_that_gain_nothing(xG: list[Fraction], xI: list[Fraction], data: Any) -> None:
    value = ns.average_effort_precision(xG, xI)
    assert ns.average_effort_precision([*xG, *exact(0, 0)], xI) == value
    i = data.draw(st.integers(0, len(xG)))
    delayed = ns.average_effort_precision([*xG[:i], Fraction(0), *xG[i:]], xI)
    assert delayed < value if any(xG[i:]) else delayed == value


# --------------------------------------------------------------------------------------------
# Section 9: Q and R measures
# --------------------------------------------------------------------------------------------


def test_9_focused() -> None:
    assert ns.Q(RUN, TOY, overlap="on") == close(0.8472)
    assert ns.Rmeasure(RUN, TOY, overlap="on") == close(0.7)
    assert ns.Rmeasure(RUN, TOY, overlap="on", form="printed") == close(0.5385)


def test_9_thorough() -> None:
    assert ns.Q(RUN, TOY) == close(0.2951)


def test_9_divisor() -> None:
    assert float(ns.q_measure(exact(1, 1, 1), exact(3), divisor="n")) == close(2.3)
    assert float(ns.q_measure(exact(1, 1, 1), exact(3))) == close(0.7667)


def test_9_printed_forms_deny_one_to_the_ideal_run() -> None:
    ideal = [D2A, S1, P4]
    assert ns.Rmeasure(ideal, TOY, overlap="on", form="printed") == close(0.625)
    xG, xI = ns.gains(ideal, TOY, overlap="on")
    terms = [(sum(xG[:r]) + r) / (sum(xG[:r]) + 2 * r) for r in (1, 2, 3)]
    assert ns.q_measure(xG, xI, form="printed") == sum(terms) / 3
    assert max(terms) < 1


@EXAMPLES
@given(binary_lists, st.integers(0, 3))
def test_9_binary_gains(xG: list[Fraction], missed: int) -> None:
    r = int(sum(xG)) + missed
    assume(r)
    xI = exact(*[1] * r)
    terms = [2 * sum(xG[:j]) / (min(j, r) + j) for j in range(1, len(xG) + 1) if xG[j - 1]]
    assert ns.q_measure(xG, xI) == sum(terms, Fraction(0)) / r
    assert ns.q_measure(xG[:r], xI) == ns.average_effort_precision(xG[:r], xI)  # AP up to rank R
    assert ns.r_measure(xG, xI) == sum(xG[:r], Fraction(0)) / r  # R-precision


@EXAMPLES
@given(quantised_campaigns(), st.sampled_from(["off", "on"]))
def test_9_bounds(drawn: tuple[Campaign, str], overlap: Any) -> None:
    (results, documents), quant = drawn
    xG, xI = ns.gains(results, documents, quant=quant, overlap=overlap, norm="overlap")
    for form in ("sakai", "printed"):
        assert 0 <= ns.q_measure(xG, xI, form=form) <= 1
        assert 0 <= ns.r_measure(xG, xI, form=form) <= 1
    assert ns.q_measure([*xG, Fraction(0)], xI) == ns.q_measure(xG, xI)


# --------------------------------------------------------------------------------------------
# Section 10: Fetch & Browse
# --------------------------------------------------------------------------------------------


def test_10_articles() -> None:
    assert ns.FBarticle(BROWSING, TOY) == 1
    assert ns.FBarticle(BROWSING, TOY, score="iMAep") == 1


def test_10_elements_with_overlap_off() -> None:
    assert ns.FBelement([D2P1], TOY) == close(1 / 3)
    assert ns.FBelement([P2, S2], TOY) == close(0.2917)
    assert ns.FBelement(BROWSING, TOY) == close(0.3125)


def test_10_elements_with_overlap_on() -> None:
    assert ns.FBelement([D2P1], TOY, overlap="on") == 1
    assert ns.FBelement([P2, S2], TOY, overlap="on") == 0.875
    assert ns.FBelement(BROWSING, TOY, overlap="on") == 0.9375


def test_10_clusters() -> None:
    run = [P2, D3P1, S2]
    assert ns.FBelement(run, TOY, overlap="on") == 0.875
    assert ns.FBelement(run, TOY, overlap="on", clusters="all_relevant") == 0.4375
    assert ns.FBelement(run, TOY, overlap="on", clusters="retrieved") == 0.4375
    assert ns.FBelement([D3P1], TOY) == 0
    assert ns.FBelement([], TOY, clusters="all_relevant") == 0


def test_10_gain_of_an_article() -> None:
    # Strict: the root of D1 is worth nothing, p2 inside it 1; D2 is worth 1.
    run = [D3A, P2, D2A]
    assert ns.FBarticle(run, TOY, quant="strict") == close((1 / 2 + 2 / 3) / 2)
    assert ns.FBarticle(run, TOY, quant="strict", article_gain="self") == close(1 / 3)
    # By specificity D1 is worth .4, or as much as its best element, 1.
    assert ns.FBarticle([P1, D2A], TOY) == close((0.4 + 1) / 2)
    assert ns.FBarticle([P1, D2A], TOY, ideal="step") == 1
    assert ns.FBarticle([P1, D2A], TOY, article_gain="max") == 1


def test_10_no_article_has_a_value_of_its_own() -> None:
    only_d1 = {"D1": TOY["D1"]}
    assert math.isnan(ns.FBarticle([P2], only_d1, quant="strict", article_gain="self"))
    assert ns.FBarticle([P2], only_d1, quant="strict") == 1


@EXAMPLES
@given(quantised_campaigns())
def test_10_invariants(drawn: tuple[Campaign, str]) -> None:
    (results, documents), quant = drawn
    first = [Result(name, f"/{documents[name].tree.tag}[1]") for name in ns.retrieved_docs(results)]
    article = ns.FBarticle(results, documents, quant=quant)
    assert ns.FBarticle(first, documents, quant=quant) == article
    grouped = [r for one in reversed(first) for r in results if r.doc == one.doc]
    for overlap in ("off", "on"):
        value = ns.FBelement(results, documents, quant=quant, overlap=overlap)
        again = ns.FBelement(grouped, documents, quant=quant, overlap=overlap)
        assert again == pytest.approx(value)


@EXAMPLES
@given(quantised_campaigns(), st.sampled_from(["off", "on"]))
def test_10_ideal_lists_of_documents_by_value_score_one(
    drawn: tuple[Campaign, str], overlap: Any
) -> None:
    (_, documents), quant = drawn
    q = ns.quantised(documents, quant)
    value = {name: q[name, f"/{d.tree.tag}[1]"] for name, d in documents.items()}
    best = {name: max(v for key, v in q.items() if key[0] == name) for name in documents}
    order = sorted(documents, key=lambda name: -(value[name] or best[name]))
    run = [
        result
        for name in order
        for result in ideal_run(documents, quant, overlap=overlap)
        if result.doc == name
    ]
    assert ns.FBarticle(run, documents, quant=quant) == 1
    for score in ("MAep", "iMAep"):
        assert ns.FBelement(run, documents, quant=quant, overlap=overlap, score=score) == 1
