"""The worked examples of the specification (METRICS.md), computed by the naive reference.

The toy collection is the one of section 1.4. The specification prints four decimals, hence the
tolerance. The last part fixes the conventions of the reference at the edges.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

import pytest

import naive
from naive import Doc, Gold, ReadOptions, Result

TOY: dict[str, Doc] = {
    "D1": Doc(100, ((10, 40), (70, 80)), 10),
    "D2": Doc(50, ((0, 50),), 0),
    "D3": Doc(40),
}
A: Result = ("D1", 0, 100)
S1: Result = ("D1", 0, 60)
P1: Result = ("D1", 0, 20)
P2: Result = ("D1", 20, 40)
P3: Result = ("D1", 40, 60)
S2: Result = ("D1", 60, 100)
P4: Result = ("D1", 60, 80)
P5: Result = ("D1", 80, 100)
D2: Result = ("D2", 0, 50)
D2P1: Result = ("D2", 0, 25)
D2P2: Result = ("D2", 25, 50)
D3: Result = ("D3", 0, 40)
ELEMENTS = (A, S1, P1, P2, P3, S2, P4, P5, D2, D2P1, D2P2)  # of the relevant documents

Measure = Callable[..., float]


def close(*expected: float) -> object:
    """The expected value or values up to the four decimals of the specification."""
    return pytest.approx(expected[0] if len(expected) == 1 else list(expected), abs=5e-5)


def at_ranks(
    measure: Measure,
    results: Sequence[Result],
    last: int,
    judged: Gold = TOY,
    **options: object,
) -> list[float]:
    """The measure at the ranks 1 to last, by default on the toy collection."""
    return [measure(results, judged, k=k, **options) for k in range(1, last + 1)]


def differences(cumulated: Sequence[float]) -> list[float]:
    """The terms of a cumulated sum."""
    return [b - a for a, b in zip([0.0, *cumulated], cumulated, strict=False)]


# --------------------------------------------------------------------------------------------
# Section 1
# --------------------------------------------------------------------------------------------


def test_1_3_union_relevant_and_size() -> None:
    run = [P2, S1, D2]
    relevant = [naive.rel_ret_size(run[:k], TOY, policy="union") for k in (1, 2, 3)]
    size = [naive.ret_size(run[:k], TOY, policy="union") for k in (1, 2, 3)]
    assert differences(relevant) == [20, 10, 50]
    assert differences(size) == [20, 40, 50]


def test_1_3_union_precision_and_recall() -> None:
    run = [P2, S1, D2]
    assert at_ranks(naive.charP, run, 3, policy="union") == close(1, 0.5, 0.7273)
    assert at_ranks(naive.charR, run, 3, policy="union") == close(0.2222, 0.3333, 0.8889)


def test_1_3_ignoring_overlap_exceeds_recall_one() -> None:
    assert naive.charR([P2, S1, D2], TOY, policy="allow") == close(1.1111)


def test_1_4_specificity_of_every_element() -> None:
    spec = [naive.charP([element], TOY) for element in ELEMENTS]
    assert spec == close(0.4, 0.5, 0.5, 1, 0, 0.25, 0.5, 0, 1, 1, 1)


def test_1_4_trel_and_nrel() -> None:
    assert naive.rel_size([], TOY) == 90
    assert naive.num_rel([], TOY) == 2


# --------------------------------------------------------------------------------------------
# Section 11: HiXEval
# --------------------------------------------------------------------------------------------


def rvals(results: Sequence[Result], **options: object) -> list[float]:
    """The rval of every result, recovered from the recalls."""
    recalls = at_ranks(naive.HiR, results, len(results), TOY, **options)
    return differences([90 * recall for recall in recalls])


def test_11_alpha_1() -> None:
    run = [P2, S1, A]
    assert rvals(run) == close(20, 10, 10)
    assert at_ranks(naive.HiP, run, 3) == close(1, 0.375, 0.2222)
    assert at_ranks(naive.HiR, run, 3) == close(0.2222, 0.3333, 0.4444)
    assert at_ranks(naive.HiF, run, 3) == close(0.3636, 0.3529, 0.2963)


@pytest.mark.parametrize("rval", ["general", "printed"])
def test_11_alpha_1_forms_agree_on_elements(rval: str) -> None:
    assert rvals([P2, S1, A], rval=rval) == close(20, 10, 10)


def test_11_thorough_trel() -> None:
    assert sum(naive.rel_ret_size([element], TOY) for element in ELEMENTS) == 220


def test_11_alpha_0_with_thorough_trel() -> None:
    run = [P2, S1, A]
    assert rvals(run, alpha=0) == close(20, 30, 40)
    assert at_ranks(naive.HiP, run, 3, alpha=0) == close(1, 0.625, 0.5)
    recalls = [r * 90 / 220 for r in at_ranks(naive.HiR, run, 3, alpha=0)]
    assert recalls == close(0.0909, 0.2273, 0.4091)


def test_11_alpha_half_general_and_printed() -> None:
    run = [P2, S1, A]
    assert rvals(run, alpha=0.5, rval="general") == close(20, 20, 25)
    assert rvals(run, alpha=0.5, rval="printed") == close(20, 20, 20)


def test_11_printed_form_turns_negative() -> None:
    run = [P2] * 6 + [S1]
    assert rvals(run, alpha=0.5, rval="printed")[-1] == close(-5)
    assert rvals(run, alpha=0.5, rval="general")[-1] == close(20)


# --------------------------------------------------------------------------------------------
# Section 12: Focused
# --------------------------------------------------------------------------------------------

FOCUSED = [P2, D2, D3, S2]


def test_12_relevant_and_size() -> None:
    relevant = [naive.rel_ret_size(FOCUSED[:k], TOY) for k in (1, 2, 3, 4)]
    size = [naive.ret_size(FOCUSED[:k], TOY) for k in (1, 2, 3, 4)]
    assert differences(relevant) == [20, 50, 0, 10]
    assert differences(size) == [20, 50, 40, 40]


def test_12_precision_and_recall() -> None:
    assert at_ranks(naive.charP, FOCUSED, 4) == close(1, 1, 0.6364, 0.5333)
    assert at_ranks(naive.charR, FOCUSED, 4) == close(0.2222, 0.7778, 0.7778, 0.8889)


def test_12_interpolated_precision() -> None:
    curve = [naive.iP(FOCUSED, TOY, x=f"{j / 100:.2f}") for j in range(101)]
    assert curve == close(*[1] * 78, *[0.5333] * 11, *[0] * 12)


def test_12_average_interpolated_precision() -> None:
    assert naive.AiP(FOCUSED, TOY) == close((78 + 11 * 0.5333) / 101)
    assert naive.AiP(FOCUSED, TOY) == close(0.8304)


@pytest.mark.parametrize("hundredths", [29, 57, 58])
def test_12_recall_is_compared_exactly(hundredths: int) -> None:
    judged = {"D": Doc(100, ((0, 100),))}
    results = [("D", 0, hundredths)]
    assert naive.iP(results, judged, x=f"0.{hundredths}") == 1
    assert naive.iP(results, judged, x=f"0.{hundredths}1") == 0


# --------------------------------------------------------------------------------------------
# Section 13: Relevant in Context
# --------------------------------------------------------------------------------------------

IN_CONTEXT = [D3, P2, S2, D2P1]


def test_13_1_document_score() -> None:
    assert naive.charP([P2, S2], {"D1": TOY["D1"]}) == close(0.5)
    assert naive.charR([P2, S2], {"D1": TOY["D1"]}) == close(0.75)
    scores = [naive.gP([P2, S2], TOY, k=1, beta=beta) for beta in (1, 0.25, 0.5, 2)]
    assert scores == close(0.6, 0.51, 0.5357, 0.6818)


def test_13_2_document_scores() -> None:
    cumulated = [k * gp for k, gp in enumerate(at_ranks(naive.gP, IN_CONTEXT, 3), start=1)]
    assert differences(cumulated) == close(0, 0.6, 0.6667)


def test_13_2_generalised_precision() -> None:
    assert at_ranks(naive.gP, IN_CONTEXT, 3) == close(0, 0.3, 0.4222)


def test_13_2_generalised_recall() -> None:
    assert at_ranks(naive.gR, IN_CONTEXT, 3) == close(0, 0.5, 1)
    assert at_ranks(naive.gRw, IN_CONTEXT, 3) == close(0, 0.4444, 1)


def test_13_2_average_generalised_precision() -> None:
    assert naive.AgP(IN_CONTEXT, TOY) == close(0.3611)
    assert naive.AgPw(IN_CONTEXT, TOY, form="8") == close(0.3679)
    assert naive.AgPw(IN_CONTEXT, TOY, form="11") == close(0.3611)


def test_13_2_short_run() -> None:
    assert naive.gP(IN_CONTEXT, TOY, k=5, short="pad") == close(0.2533)
    assert naive.gP(IN_CONTEXT, TOY, k=5, short="last") == close(0.4222)


def test_13_2_eleven_point_graph() -> None:
    curve = [naive.igP(IN_CONTEXT, TOY, x=f"{j / 10:.1f}") for j in range(11)]
    assert curve == close(*[0.4222] * 11)


@pytest.mark.parametrize(
    ("ranking", "agp", "agpw8", "agpw11"),
    [("XABC", 0.6389, 0.6000, 0.6389), ("XBAC", 0.6389, 0.6333, 0.6389)],
    ids=["RI", "RSI"],
)
def test_13_2_weighted_anomaly(ranking: str, agp: float, agpw8: float, agpw11: float) -> None:
    sizes = {"A": 50, "B": 30, "C": 20}
    judged = {name: Doc(100, ((0, size),)) for name, size in sizes.items()} | {"X": Doc(100)}
    results = [(name, 0, sizes.get(name, 100)) for name in ranking]
    assert naive.AgP(results, judged) == close(agp)
    assert naive.AgPw(results, judged, form="8") == close(agpw8)
    assert naive.AgPw(results, judged, form="11") == close(agpw11)


def test_13_2_agp_of_a_perfect_run_after_a_non_relevant_document() -> None:
    judged = {name: Doc(10, ((0, 10),)) for name in "ABCD"}
    results = [(name, 0, 10) for name in "XABCD"]
    assert naive.AgP(results, judged) == pytest.approx(sum(j / (j + 1) for j in range(1, 5)) / 4)


@pytest.mark.parametrize(("tolerance", "expected"), [(15, 0.6667), (300, 0.4)])
def test_13_3_reading_model(tolerance: int, expected: float) -> None:
    assert naive.gP([P2, S2], TOY, k=1, score="T2I", irr=tolerance) == close(expected)


def test_13_3_infinite_tolerance_reads_all() -> None:
    for part in (P1, P2, P3, P4, P5):
        assert naive.gP([part], TOY, k=1, score="T2I", irr=math.inf) == close(0.4)


@pytest.mark.parametrize("tolerance", [1, 15, 59, 60, 300])
def test_13_3_exact_passages(tolerance: int) -> None:
    results = [("D1", 10, 40), ("D1", 70, 80)]
    expected = 40 / (40 + min(tolerance, 60))
    assert naive.gP(results, TOY, k=1, score="T2I", irr=tolerance) == pytest.approx(expected)


def test_13_3_parts_in_offset_order_whatever_the_run_says() -> None:
    assert naive.gP([S2, P2], TOY, k=1, score="T2I", irr=15) == close(0.6667)


def test_13_3_gaps_before_the_tail() -> None:
    # p3: 20 irrelevant; gap [0,40): 10 irrelevant, 30 relevant; tail from 60: 5 irrelevant.
    assert naive.gP([P3], TOY, k=1, score="T2I", irr=35) == pytest.approx(30 / 65)


def test_13_3_consecutive() -> None:
    # s2: 10 irrelevant, 10 relevant, then 15 of p5 in a row.
    value = naive.gP([S2], TOY, k=1, score="T2I", irr=15, stop="consecutive")
    assert value == pytest.approx(10 / 35)


# --------------------------------------------------------------------------------------------
# Section 14: Best in Context
# --------------------------------------------------------------------------------------------

ENTRY_SET = [("D1", 20, 20), ("D3", 0, 0), ("D2", 25, 25)]


@pytest.mark.parametrize(
    ("a", "expected"),
    [(0.01, 0.0421), (0.1, 0.2949), (1, 0.7903), (10, 0.9732), (100, 0.9972)],
)
def test_14_1_bepd(a: float, expected: float) -> None:
    assert naive.BEPD(ENTRY_SET, TOY, A=a, L=Fraction(190, 3)) == close(expected)
    assert naive.BEPD(ENTRY_SET, TOY, A=a) == close(expected)


def test_14_1_base_scores() -> None:
    assert 2 * naive.BEPD(ENTRY_SET[:1], TOY, L=63.33) == close(0.8636)
    assert 2 * naive.BEPD(ENTRY_SET[2:], TOY, L=63.33) == close(0.7170)


def test_14_2_document_scores() -> None:
    run = at_ranks(naive.gP, ENTRY_SET, 3, score="BEP", n=500)
    assert run == close(0.98, 0.49, 0.6433)
    assert differences([k * gp for k, gp in enumerate(run, start=1)]) == close(0.98, 0, 0.95)


@pytest.mark.parametrize(("n", "expected"), [(500, 0.8117), (1000, 0.8225), (50, 0.6167)])
def test_14_2_average(n: int, expected: float) -> None:
    assert naive.AgP(ENTRY_SET, TOY, score="BEP", n=n) == close(expected)


# --------------------------------------------------------------------------------------------
# Section 16: T2I
# --------------------------------------------------------------------------------------------

ENTRIES = [("D1", 0, 0), ("D3", 0, 0), ("D2", 25, 25), ("D1", 60, 60)]


def efforts(tolerance: int, mode: str) -> list[float]:
    """The characters read from each result."""
    return differences(at_ranks(naive.T2Ieffort, ENTRIES, 4, T=tolerance, mode=mode))


@pytest.mark.parametrize(("tolerance", "expected"), [(5, 0.1111), (15, 0.8056), (40, 0.8889)])
def test_16_read_average_precision(tolerance: int, expected: float) -> None:
    assert naive.T2I(ENTRIES, TOY, T=tolerance, mode="read") == close(expected)


def test_16_read_tolerance_15_in_detail() -> None:
    assert efforts(15, "read") == [55, 15, 25, 35]
    found = differences([3 * r for r in at_ranks(naive.T2IR, ENTRIES, 4, T=15, mode="read")])
    assert found == close(1, 0, 1, 1)
    assert naive.T2IcharP(ENTRIES, TOY, k=4, T=15, mode="read") == close(0.5)
    assert naive.T2IcharR(ENTRIES, TOY, k=4, T=15, mode="read") == close(0.7222)


@pytest.mark.parametrize(
    ("tolerance", "expected", "reads"),
    [
        (5, 0.1111, [5, 5, 1, 5]),
        (15, 0.8056, [11, 15, 1, 11]),
        (40, 0.8056, [11, 40, 1, 11]),
    ],
)
def test_16_first(tolerance: int, expected: float, reads: list[float]) -> None:
    assert naive.T2I(ENTRIES, TOY, T=tolerance, mode="first") == close(expected)
    assert efforts(tolerance, "first") == reads


def test_16_first_tolerance_15_final_recall() -> None:
    assert naive.T2IR(ENTRIES, TOY, k=4, T=15) == 1


@pytest.mark.parametrize("mode", ["first", "read"])
@pytest.mark.parametrize("reread", ["cost", "skip"])
def test_16_duplicate_entry_finds_nothing(
    mode: Literal["first", "read"], reread: Literal["cost", "skip"]
) -> None:
    run = [("D2", 0, 0), ("D2", 0, 0)]
    assert naive.T2IP(run, TOY, k=2, mode=mode, reread=reread) == 0.5


def test_16_reread_skip_jumps_over_read_text() -> None:
    # D1@0 reads [0,46). From 15 the read text is paid for, [15,41), or jumped over, [46,86).
    judged = {"D1": Doc(100, ((10, 20), (50, 60)))}
    run = [("D1", 0, 0), ("D1", 15, 15)]
    cost: ReadOptions = {"T": 26, "mode": "read", "reread": "cost"}
    skip: ReadOptions = {"T": 26, "mode": "read", "reread": "skip"}
    assert at_ranks(naive.T2Ieffort, run, 2, judged, **cost) == [46, 46 + 26]
    assert at_ranks(naive.T2Ieffort, run, 2, judged, **skip) == [46, 46 + 40]
    assert at_ranks(naive.T2IR, run, 2, judged, **cost) == [0.5, 0.5]
    assert at_ranks(naive.T2IR, run, 2, judged, **skip) == [0.5, 1]


def test_16_lengths_of_unjudged_documents() -> None:
    run = [("U", 10, 20), ("D1", 10, 20)]
    assert naive.T2Ieffort(run, TOY, k=2, T=15, lengths={"U": 12}) == 2 + 1
    assert naive.T2Ieffort(run, TOY, k=2, T=15, lengths={"U": 400}) == 15 + 1
    with pytest.raises(KeyError):
        naive.T2Ieffort(run, TOY, k=2)


# --------------------------------------------------------------------------------------------
# Section 17: documents
# --------------------------------------------------------------------------------------------


def test_17_precision() -> None:
    assert at_ranks(naive.P, [D3, P2, S2, D2], 3) == close(0, 0.5, 0.6667)


def test_17_average_precision() -> None:
    assert naive.AP([D3, P2, S2, D2], TOY) == close(0.5833)


# --------------------------------------------------------------------------------------------
# Section 18: overlap indicators
# --------------------------------------------------------------------------------------------

OVERLAPPING = [P2, S1, P4, D2, P1]


def test_18_first_example() -> None:
    assert naive.SetOverlap(OVERLAPPING, TOY) == close(0.6)
    assert naive.ListOverlap(OVERLAPPING, TOY) == close(0.4)
    assert naive.MeanOverlap(OVERLAPPING, TOY) == close(0.2667)
    assert naive.Redundancy(OVERLAPPING, TOY) == close(0.2353)


def test_18_overlap_of_each_result() -> None:
    cumulated = [
        k * mean for k, mean in enumerate(at_ranks(naive.MeanOverlap, OVERLAPPING, 5), start=1)
    ]
    assert differences(cumulated) == close(0, 0.3333, 0, 0, 1)


def test_18_second_example_and_reversed() -> None:
    run = [S1, P1, P2]
    assert naive.SetOverlap(run, TOY) == close(1)
    assert naive.ListOverlap(run, TOY) == close(0.6667)
    assert naive.SetOverlap(run[::-1], TOY) == close(1)
    assert naive.ListOverlap(run[::-1], TOY) == close(0.3333)


def test_18_repeats() -> None:
    assert naive.SetOverlap([P1, P1], TOY) == 0
    assert naive.ListOverlap([P1, P1], TOY) == 0.5
    assert naive.SetOverlap([P1, P1, S1, D2], TOY) == 0.75


def test_1_3_and_29_zero_length_results() -> None:
    empty = ("D1", 20, 20)
    assert naive.MeanOverlap([P2, empty], TOY) == 0.5
    assert naive.MeanOverlap([P1, empty], TOY) == 0  # half-open: p1 ends at 20
    assert naive.MeanOverlap([empty, P2], TOY) == 0
    assert naive.SetOverlap([empty, P2], TOY) == naive.SetOverlap([P2, empty], TOY) == 1
    assert naive.SetOverlap([P1, empty], TOY) == 0
    assert naive.ListOverlap([empty, P2], TOY) == naive.ListOverlap([P2, empty], TOY) == 0.5
    assert naive.ListOverlap([empty, empty], TOY) == 0.5  # a repeat
    assert naive.MeanOverlap([empty, empty], TOY) == 0
    assert naive.Redundancy([empty, empty], TOY) == 0
    assert naive.charP([empty], TOY) == naive.HiP([empty], TOY, k=1) == 0
    assert naive.iP([empty, P2], TOY, x=0) == 1


# --------------------------------------------------------------------------------------------
# Conventions
# --------------------------------------------------------------------------------------------

TOPIC_MEASURES: dict[str, dict[str, object]] = {
    **{name: {"k": 2} for name in ("P", "R", "HiP", "HiR", "HiF", "gP", "gR", "gRw")},
    **{name: {"k": 2} for name in ("T2IP", "T2IR", "T2Ieffort", "T2IcharP", "T2IcharR")},
    **{name: {"x": "0.5"} for name in ("iP", "igP")},
    **{name: {} for name in ("AP", "charP", "charR", "charF", "AiP", "AgP", "AgPw", "BEPD", "T2I")},
}


@pytest.mark.parametrize("name", TOPIC_MEASURES)
def test_empty_run_scores_zero(name: str) -> None:
    assert getattr(naive, name)([], TOY, **TOPIC_MEASURES[name]) == 0


def test_precision_at_a_rank_is_0_without_relevant_text() -> None:
    assert naive.P([D3], {"D3": TOY["D3"]}, k=2) == 0


@pytest.mark.parametrize("name", [name for name in TOPIC_MEASURES if name != "P"])
def test_no_relevant_text_is_undefined(name: str) -> None:
    judged = {"D3": TOY["D3"]}
    assert math.isnan(getattr(naive, name)([D3], judged, **TOPIC_MEASURES[name]))


@pytest.mark.parametrize("name", ["SetOverlap", "ListOverlap", "MeanOverlap", "Redundancy"])
def test_overlap_indicators_are_always_defined(name: str) -> None:
    assert getattr(naive, name)([], {}) == 0
    assert getattr(naive, name)([D3], {}) == 0


def test_judged() -> None:
    run = [P1, ("U", 0, 5), D3]
    assert [naive.judged(run, TOY, k=k) for k in (1, 2, 3, 9)] == close(1, 0.5, 0.6667, 0.6667)
    assert naive.judged([], TOY, k=3) == 0


def test_counts() -> None:
    run = [P5, S2, D3, ("U", 0, 5)]
    assert naive.num_ret(run, TOY) == 3
    assert naive.num_rel_ret(run, TOY) == 1
    assert naive.ret_size(run, TOY) == 20 + 40 + 40 + 5
    assert naive.ret_size(run, TOY, policy="union") == 40 + 40 + 5
    assert naive.rel_ret_size([S2, P4], TOY) == 20
    assert naive.rel_ret_size([S2, P4], TOY, policy="union") == 10


def test_beyond_the_end_of_the_run() -> None:
    run = [P2, D3]
    assert naive.P(run, TOY, k=4) == 0.25
    assert naive.R(run, TOY, k=4) == 0.5
    assert naive.charP(run, TOY, k=4) == naive.charP(run, TOY, k=2) == close(0.3333)
    assert naive.HiP(run, TOY, k=4) == naive.HiP(run, TOY, k=2) == close(0.3333)
    assert naive.T2IP(run, TOY, k=4) == 0.25
    assert naive.T2Ieffort(run, TOY, k=4) == 1 + 40


def test_budget_cuts_the_result_that_crosses_it() -> None:
    run = [P3, D2]
    assert naive.charP(run, TOY, budget=30) == close(0.3333)
    assert naive.charR(run, TOY, budget=30) == close(0.1111)
    assert naive.charF(run, TOY, budget=30) == close(0.1667)
    assert naive.charP(run, TOY, budget=30, k=1) == 0
    assert naive.charP(run, TOY, budget=1000) == naive.charP(run, TOY)


def test_budget_and_policy() -> None:
    run = [P2, P2, D2]
    assert naive.charR(run, TOY, budget=50, policy="allow") == close(50 / 90)
    assert naive.charP([D3, D3, D2], TOY, budget=50, policy="allow") == 0
    assert naive.charP([D3, D3, D2], TOY, budget=50, policy="union") == close(0.2)


def test_union_policy_in_every_measure_that_has_one() -> None:
    run = [P2, S1]
    assert naive.HiP(run, TOY, k=2, policy="union", alpha=0) == close(30 / 60)
    assert naive.HiP(run, TOY, k=2, policy="union", alpha=0, rval="printed") == close(30 / 60)
    assert naive.gP(run, TOY, k=1, policy="union") == close(0.6)  # P 30/60, R 30/40
    assert naive.gP(run, TOY, k=1, policy="allow") == close(0.8333)  # P 50/80, R 50/40
    assert naive.iP(run, TOY, x="0.5", policy="union") == 0
    assert naive.iP(run, TOY, x="0.5", policy="allow") == close(50 / 80)


def test_touching_and_overlapping_spans_are_one_passage() -> None:
    judged = {"D": Doc(50, ((0, 10), (10, 20), (15, 25)))}
    assert naive.rel_size([], judged) == 25
    assert naive.T2IR([("D", 0, 1)], judged, k=1) == 1


def test_weighted_interpolated_form() -> None:
    # gR' 0, .4444, 1 and gP 0, .3, .4222: the last rank wins at every point.
    assert naive.AgPw(IN_CONTEXT, TOY, form="interpolated") == close(0.4222)
    assert naive.igP([P2, S2], TOY, x="0.45", recall="gRw") == 0
    assert naive.igP([P2, S2], TOY, x="0.45", recall="gR") == close(0.6)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("charP", {"policy": "drop"}),
        ("HiP", {"k": 1, "rval": "other"}),
        ("gP", {"k": 1, "score": "other"}),
        ("gP", {"k": 1, "score": "T2I", "stop": "other"}),
        ("gP", {"k": 1, "short": "other"}),
        ("AgPw", {"form": "9"}),
        ("igP", {"x": 0, "recall": "other"}),
        ("T2I", {"T": 0}),
        ("T2I", {"mode": "other"}),
        ("T2I", {"reread": "other"}),
    ],
)
def test_unknown_option_is_refused(name: str, options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"unknown|invalid"):
        getattr(naive, name)([P1], TOY, **options)
