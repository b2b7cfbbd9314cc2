"""The worked examples and invariants of the specification for the naive reference of structure.

The toy collection is the one of METRICS.md 1.4; the specification prints four decimals, hence the
tolerance. Test names begin with the section. Invariants are looked for in random campaigns.
"""

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_structure as ns
import trees
from naive_structure import Document, Key, Node, Result, Valuation
from trees import Campaign


def paragraphs(*borders: int) -> tuple[Node, ...]:
    """Neighbouring elements p with the given borders."""
    return tuple(Node("p", a, b) for a, b in pairwise(borders))


S1_NODE = Node("s", 0, 60, paragraphs(0, 20, 40, 60))
S2_NODE = Node("s", 60, 100, paragraphs(60, 80, 100))
TOY: dict[str, Document] = {
    "D1": Document(Node("a", 0, 100, (S1_NODE, S2_NODE)), ((10, 40), (70, 80)), 10),
    "D2": Document(Node("a", 0, 50, paragraphs(0, 25, 50)), ((0, 50),), 0),
    "D3": Document(Node("a", 0, 40, paragraphs(0, 20, 40))),
}
A = Result("D1", "/a[1]")
S1 = Result("D1", "/a[1]/s[1]")
P1 = Result("D1", "/a[1]/s[1]/p[1]")
P2 = Result("D1", "/a[1]/s[1]/p[2]")
P3 = Result("D1", "/a[1]/s[1]/p[3]")
S2 = Result("D1", "/a[1]/s[2]")
P4 = Result("D1", "/a[1]/s[2]/p[1]")
P5 = Result("D1", "/a[1]/s[2]/p[2]")
D2A = Result("D2", "/a[1]")
D2P1 = Result("D2", "/a[1]/p[1]")
D2P2 = Result("D2", "/a[1]/p[2]")
D3A = Result("D3", "/a[1]")
D3P1 = Result("D3", "/a[1]/p[1]")

RUN = [P2, D2A, D3A, S2]  # of sections 6 to 9
BROWSING = [D2P1, P2, D3P1, S2]  # of section 10

EXAMPLES = settings(max_examples=30)


def close(*expected: float) -> object:
    """The expected value or values up to the four decimals of the specification."""
    return pytest.approx(expected[0] if len(expected) == 1 else list(expected), abs=5e-5)


def exact(*numbers: float | str) -> list[Fraction]:
    return [Fraction(str(number)) for number in numbers]


def floats(values: Sequence[Fraction]) -> list[float]:
    return [float(value) for value in values]


def keys(results: Sequence[Result]) -> list[Key]:
    return [(result.doc, result.xpath) for result in results]


def toy_gains(results: Sequence[Result], **options: Any) -> list[float]:
    return floats(ns.gains(results, TOY, **options)[0])


def quantisations(campaign: Campaign) -> list[str]:
    """Every function that the scale of a campaign has."""
    names = set(ns.QUANTISATIONS[ns.scale_of(campaign.documents)]) - {"strict6"}
    return [*sorted(names), "strict", "gen"]


@st.composite
def quantised_campaigns(draw: st.DrawFn, **options: Any) -> tuple[Campaign, str]:
    """A campaign in which something is relevant, and a function of its scale."""
    campaign = draw(trees.campaigns(**options))
    quant = draw(st.sampled_from(quantisations(campaign)))
    assume(ns.full_base(ns.quantised(campaign.documents, quant)))
    return campaign, quant


gain_lists = st.lists(st.sampled_from(exact(0, 0, "0.25", "0.5", "0.75", 1)), max_size=7)
ideal_lists = st.lists(
    st.sampled_from(exact("0.25", "0.5", "0.75", 1)), min_size=1, max_size=6
).map(lambda values: sorted(values, reverse=True))
binary_lists = st.lists(st.sampled_from(exact(0, 1)), max_size=8)


# --------------------------------------------------------------------------------------------
# Section 1
# --------------------------------------------------------------------------------------------


def test_1_4_specificity_of_the_toy_collection() -> None:
    q = ns.quantised(TOY, "spec")
    d1 = [q[key] for key in keys([A, S1, P1, P2, P3, S2, P4, P5])]
    assert floats(d1) == close(0.4, 0.5, 0.5, 1, 0, 0.25, 0.5, 0)
    assert {q[key] for key in keys([D2A, D2P1, D2P2])} == {1}
    assert {value for (name, _), value in q.items() if name == "D3"} == {0}


def test_1_4_sizes_of_relevant_text() -> None:
    assert [ns.rsize(d.tree, d) for d in TOY.values()] == [40, 50, 0]


def test_1_1_paths_have_all_ordinals() -> None:
    assert list(ns.paths(TOY["D1"].tree)) == [
        "/a[1]",
        "/a[1]/s[1]",
        "/a[1]/s[1]/p[1]",
        "/a[1]/s[1]/p[2]",
        "/a[1]/s[1]/p[3]",
        "/a[1]/s[2]",
        "/a[1]/s[2]/p[1]",
        "/a[1]/s[2]/p[2]",
    ]


def test_1_3_zero_length_elements() -> None:
    empty = Node("p", 20, 20)
    assert ns.overlap(empty, set(range(20, 40))) == 1
    assert ns.overlap(empty, set(range(20))) == 0  # half-open: what ends at 20 does not hold it
    assert ns.spec(empty, TOY["D1"]) == 0


def test_1_3_a_result_that_is_no_element_is_refused() -> None:
    with pytest.raises(ValueError, match="not an element"):
        ns.nxCG([Result("D1", "/a[1]/s[3]")], TOY, k=1)


def test_1_3_ties_are_neighbours_of_equal_score_else_rank() -> None:
    def groups(*scored: tuple[float | None, int | None]) -> list[list[int]]:
        return ns.tie_groups([Result("D1", "/a[1]", rsv, rank) for rsv, rank in scored])

    assert groups((3, 1), (3, 2), (2, 3), (3, 4)) == [[0, 1], [2], [3]]
    assert groups((None, 1), (None, 1), (None, 2)) == [[0, 1], [2]]
    assert groups((None, None), (None, None)) == [[0], [1]]
    assert groups((3, 1), (2, 1)) == [[0], [1]]


# --------------------------------------------------------------------------------------------
# Section 2: quantisation
# --------------------------------------------------------------------------------------------

TABLE = """
3,3 1 1   1   1 1 1 1
3,2 0 .75 .75 1 1 0 0
3,1 0 .75 .25 1 0 0 0
2,3 0 .75 .9  0 0 1 1
2,2 0 .5  .5  0 0 0 0
2,1 0 .5  .1  0 0 0 0
1,3 0 .5  .75 0 0 1 0
1,2 0 .25 .25 0 0 0 0
1,1 0 .25 .1  0 0 0 0
0,0 0 0   0   0 0 0 0
"""
PAIRS_2003 = [(0, 0), *((e, s) for e in (1, 2, 3) for s in (1, 2, 3))]


@pytest.mark.parametrize("row", TABLE.strip().splitlines())
def test_2_table_of_2003(row: str) -> None:
    grades, *expected = row.split()
    e, s = map(int, grades.split(","))
    assert [ns.quant_2003(name, e, s) for name in ns.SEVEN] == exact(*expected)


def test_2_functions_of_2002() -> None:
    expected = {"3E": 1, "2E": 0.75, "3L": 0.75, "1E": 0.5, "2L": 0.5, "2S": 0.5}
    expected |= {"1L": 0.25, "1S": 0.25, "0N": 0}
    for (relevance, coverage), value in ((grades, v) for grades, v in expected.items()):
        assert ns.quant_2002("gen2", int(relevance), coverage) == value
        assert ns.quant_2002("strict2", int(relevance), coverage) == (value == 1)


def test_2_functions_of_2005() -> None:
    point_eight = Fraction("0.8")

    def all_three(grade: str, s: Fraction | int) -> list[Fraction]:
        return [ns.quant_2005(n, grade, Fraction(s)) for n in ("strict5", "gen5", "genLifted")]

    assert all_three("?", point_eight) == [0, 0, point_eight]
    assert all_three("0", point_eight) == [0, 0, 0]
    assert all_three("1", point_eight) == [0, point_eight, 2 * point_eight]
    assert all_three("2", point_eight) == [0, 2 * point_eight, 3 * point_eight]
    assert all_three("2", 1) == [1, 2, 3]
    assert all_three("2", 0) == [0, 0, 0]


def test_2_encyclopedia_form_is_not_the_table() -> None:
    assert ns.quant_2003("gen3", 3, 1) == Fraction("0.75")
    assert float(ns.quant_2003("enc_gen", 3, 1)) == close(0.3333)
    assert ns.quant_2005("enc_gen", "1", Fraction(1, 2)) == Fraction(1, 4)
    assert ns.quant_2003("enc_strict", 3, 3) == ns.quant_2005("enc_strict", "2", Fraction(1)) == 1


def test_2_strict_and_gen_resolve_by_the_scale() -> None:
    assert [ns.resolve("gen", scale) for scale in trees.SCALES] == ["gen2", "gen3", "gen5", "spec"]
    strict = ns.quantised(TOY, "strict")
    assert [key for key, value in strict.items() if value] == keys([P2, D2A, D2P1, D2P2])
    assert ns.quantised(TOY, "gen") == ns.quantised(TOY, "spec")


@pytest.mark.parametrize(
    ("quant", "scale"),
    [("gen3", "2005"), ("gen5", "2003"), ("spec", "2003"), ("gen2", "2006"), ("sog", "2002")],
)
def test_2_a_function_of_another_scale_is_refused(quant: str, scale: ns.Scale) -> None:
    with pytest.raises(ValueError, match="unknown"):
        ns.resolve(quant, scale)


def test_2_grades_outside_the_scale_are_refused() -> None:
    for e, s in ((4, 1), (1, 4), (-1, 0), (0, 1)):
        with pytest.raises(ValueError, match="invalid"):
            ns.quant_2003("gen3", e, s)
    for relevance, coverage in ((3, "S"), (0, "E"), (4, "E"), (1, "X")):
        with pytest.raises(ValueError, match="invalid"):
            ns.quant_2002("gen2", relevance, coverage)
    for grade, s in (("3", 1), ("1", 2), ("x", 0)):
        with pytest.raises(ValueError, match="invalid"):
            ns.quant_2005("gen5", grade, Fraction(s))


def test_2_strict_is_below_every_other_function() -> None:
    for e, s in PAIRS_2003:
        strict = ns.quant_2003("strict3", e, s)
        assert all(strict <= ns.quant_2003(name, e, s) for name in ns.QUANTISATIONS["2003"])
        assert ns.quant_2003("e3s32", e, s) <= ns.quant_2003("e3s321", e, s)
        assert ns.quant_2003("s3e32", e, s) <= ns.quant_2003("s3e321", e, s)


@pytest.mark.parametrize("name", ["gen3", "sog", "enc_gen"])
def test_2_generalised_functions_grow_with_each_grade(name: str) -> None:
    for (e, s), (f, t) in combinations(PAIRS_2003, 2):
        if e <= f and s <= t:
            assert ns.quant_2003(name, e, s) <= ns.quant_2003(name, f, t)


def test_2_scale_of_the_gains() -> None:
    xG, xI = ns.gains(RUN, TOY, overlap="on")
    q, r = [], []
    for factor in (1, 2, 3):
        G, J = [factor * g for g in xG], [factor * g for g in xI]
        assert [ns.nxcg(G, J, k) for k in range(1, 6)] == [ns.nxcg(xG, xI, k) for k in range(1, 6)]
        assert ns.average_effort_precision(G, J) == ns.average_effort_precision(xG, xI)
        q.append(float(ns.q_measure(G, J)))
        r.append(float(ns.r_measure(G, J)))
    assert q == close(0.8472, 0.8264, 0.8167)
    assert r == close(0.7, 0.7143, 0.7222)


def test_2_normalise_divides_by_the_range() -> None:
    graded = {"D1": Document(Node("a", 0, 4), ((0, 4),), grades={"/a[1]": "2"}, scale="2005")}
    for quant, largest in (("gen5", 2), ("gen", 2), ("genLifted", 3), ("strict5", 1)):
        assert ns.xCG([A], graded, k=1, quant=quant) == largest
        assert ns.xCG([A], graded, k=1, quant=quant, normalise=True) == 1
    assert ns.inex_eval([A], graded, quant="genLifted") == 1


# --------------------------------------------------------------------------------------------
# Section 3: recall bases
# --------------------------------------------------------------------------------------------


def bases(**options: Any) -> set[Key]:
    return set(ns.ideal_base(TOY, ns.quantised(TOY, "spec"), **options))


def total(base: set[Key]) -> Fraction:
    q = ns.quantised(TOY, "spec")
    return sum((q[key] for key in base), Fraction(0))


def test_3_2_ascendant() -> None:
    assert bases() == set(keys([D2A, S1, P4]))
    assert total(bases()) == 2


def test_3_2_deeper() -> None:
    assert bases(tie="deeper") == set(keys([D2P1, D2P2, P2, P1, P4]))
    assert total(bases(tie="deeper")) == 4


def test_3_2_path_winners_of_the_first_document() -> None:
    q = ns.quantised(TOY, "spec")
    winners = [ns._path_winner(leaf, q, "ascendant") for leaf in keys([P1, P2, P4])]
    assert winners == keys([S1, P2, P4])


def test_3_2_literal_reading_keeps_only_the_roots() -> None:
    q = ns.quantised(TOY, "spec")
    winners = {ns._path_winner(end, q, "ascendant") for end in ns.full_base(q)}
    left = {key for key in winners if not any(ns.is_below(key, other) for other in winners)}
    assert left == set(keys([A, D2A]))


def test_3_2_maxsum() -> None:
    assert bases(base="maxsum") == set(keys([P1, P2, P4, D2P1, D2P2]))
    assert total(bases(base="maxsum")) == 4


@pytest.mark.parametrize(("tie", "chosen"), [("ascendant", ["/a[1]"]), ("deeper", ["/a[1]/p[1]"])])
def test_29_maxsum_of_an_element_and_descendants_of_equal_total(tie: Any, chosen: Any) -> None:
    half = {"D": Document(Node("a", 0, 10, paragraphs(0, 10)), ((0, 5),))}
    base = ns.ideal_base(half, ns.quantised(half, "spec"), base="maxsum", tie=tie)
    assert [path for _, path in base] == chosen


def test_3_2_only_the_root_is_relevant() -> None:
    tree = Node("a", 0, 10, paragraphs(0, 4))
    for base in ("ideal", "maxsum"):
        root = {"D": Document(tree, ((5, 7),))}
        assert ns.ideal_base(root, ns.quantised(root, "spec"), base=base) == [("D", "/a[1]")]
        nothing = {"D": Document(tree)}
        assert ns.ideal_base(nothing, ns.quantised(nothing, "spec"), base=base) == []


@EXAMPLES
@given(
    quantised_campaigns(),
    st.sampled_from(["ideal", "maxsum"]),
    st.sampled_from(["ascendant", "deeper"]),
)
def test_3_2_invariants(drawn: tuple[Campaign, str], base: Any, tie: Any) -> None:
    (_, documents), quant = drawn
    q = ns.quantised(documents, quant)
    full = ns.full_base(q)
    ideals = ns.ideal_base(documents, q, base=base, tie=tie)
    assert set(ideals) <= set(full)
    assert not any(ns.is_below(a, b) for a, b in permutations(ideals, 2))
    for key in full:
        assert any(key == i or ns.is_below(key, i) or ns.is_below(i, key) for i in ideals)
    if set(q.values()) <= {0, 1} and base == "ideal" and tie == "ascendant":
        assert set(ideals) == {k for k in full if not any(ns.is_below(k, other) for other in full)}


@EXAMPLES
@given(quantised_campaigns())
def test_3_2_no_antichain_has_more_than_maxsum(drawn: tuple[Campaign, str]) -> None:
    (_, documents), quant = drawn
    q = ns.quantised(documents, quant)
    both = [
        sum(q[key] for key in ns.ideal_base(documents, q, base="maxsum", tie=tie))
        for tie in ("ascendant", "deeper")
    ]
    assert both[0] == both[1]
    for tie in ("ascendant", "deeper"):
        assert sum(q[key] for key in ns.ideal_base(documents, q, tie=tie)) <= both[0]
    leaves = [k for k in ns.full_base(q) if not any(ns.is_below(o, k) for o in ns.full_base(q))]
    assert sum(q[key] for key in leaves) <= both[0]


@EXAMPLES
@given(trees.campaigns(scales=["2006"]))
def test_3_1_ancestors_of_highlighted_elements_are_relevant(campaign: Campaign) -> None:
    full = ns.full_base(ns.quantised(campaign.documents, "spec"))
    for key in full:
        assert all(a in full for a in ns.elements(campaign.documents) if ns.is_below(key, a))


# --------------------------------------------------------------------------------------------
# Section 4: inex_eval
# --------------------------------------------------------------------------------------------

GROUPS = [exact(1), exact(0, 1, 0), exact(1)]
QUARTERS = exact("0.25", "0.5", "0.75", 1)
FIFTIETHS = ns._percents()[1::2]


def singly(*values: float) -> list[list[Fraction]]:
    return [[value] for value in exact(*values)]


def precalls(groups: Any, n: float, at: Sequence[Fraction], **options: Any) -> list[float]:
    return floats([ns.precall(groups, Fraction(str(n)), x, **options) for x in at])


def mean_100(groups: Any, n: float, **options: Any) -> float:
    return sum(precalls(groups, n, ns._percents(), **options)) / 100


def encyclopedia(values: Sequence[Fraction], n: float, at: Sequence[Fraction]) -> list[float]:
    return floats([ns.encyclopedia_precision(values, Fraction(str(n)), x) for x in at])


def encyclopedia_100(values: Sequence[Fraction], n: float) -> float:
    return sum(encyclopedia(values, n, ns._percents())) / 100


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
    assert set(precalls([[q] for q in ideal], n, ns._percents())) == {1}


@EXAMPLES
@given(gain_lists)
def test_4_encyclopedia_form_is_never_higher(values: list[Fraction]) -> None:
    n = sum(values, Fraction(0))
    assume(n > 0)
    for x in ns._percents():
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


def graded_2003(**grades: tuple[int, int]) -> dict[str, Document]:
    """The first toy document with grades by the names that the examples use."""
    named = {"a": A, "s1": S1, "p1": P1, "p2": P2, "p3": P3, "s2": S2, "p4": P4, "p5": P5}
    by_path = {named[name].xpath: grade for name, grade in grades.items()}
    return {"D1": Document(TOY["D1"].tree, grades=by_path, scale="2003"), "D3": TOY_D3_2003}


TOY_D3_2003 = Document(TOY["D3"].tree, scale="2003")


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
        new = (chars - seen[key[0]]) & ns._highlighted(documents[key[0]])
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


def ideal_run(documents: dict[str, Document], quant: str, **options: Any) -> list[Result]:
    """The recall base by decreasing value."""
    q = ns.quantised(documents, quant)
    overlap = options.pop("overlap", "off")
    base = ns.full_base(q) if overlap == "off" else ns.ideal_base(documents, q, **options)
    return [Result(*key) for key in sorted(base, key=lambda key: -q[key])]


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
    first = [Result(name, f"/{documents[name].tree.tag}[1]") for name in ns._retrieved(results)]
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


# --------------------------------------------------------------------------------------------
# Conventions (1.3), bounds and the classic reduction (26)
# --------------------------------------------------------------------------------------------

MEASURES: dict[str, dict[str, Any]] = {
    **{name: {"k": 2} for name in ("nxCG", "MAnxCG", "xCG", "gr")},
    **{name: {} for name in ("MAep", "iMAep", "Q", "Rmeasure", "FBarticle", "FBelement")},
    "ep": {"x": "0.5"},
    "inex_eval": {},
}


@pytest.mark.parametrize("name", MEASURES)
def test_empty_run_scores_zero(name: str) -> None:
    assert getattr(ns, name)([], TOY, **MEASURES[name]) == 0


@pytest.mark.parametrize("name", MEASURES)
def test_nothing_relevant_is_undefined(name: str) -> None:
    nothing = {"D3": TOY["D3"]}
    assert math.isnan(getattr(ns, name)([D3A], nothing, **MEASURES[name]))


def test_nothing_exhaustive_is_undefined() -> None:
    assert math.isnan(ns.inex_eval_ng([], graded_2003()))
    assert ns.inex_eval_ng([], graded_2003(a=(1, 1))) == 0


@pytest.mark.parametrize("name", MEASURES)
def test_what_was_not_judged_is_not_relevant(name: str) -> None:
    documents = {**TOY, "U": Document(TOY["D2"].tree, ((0, 50),), judged=False)}
    strange, known = Result("U", "/a[1]"), D3A
    measure = getattr(ns, name)
    value = measure([strange, P2], documents, **MEASURES[name])
    assert value == measure([known, P2], documents, **MEASURES[name])
    assert value == measure([known, P2], TOY, **MEASURES[name])


@EXAMPLES
@given(quantised_campaigns())
def test_26_all_are_between_zero_and_one(drawn: tuple[Campaign, str]) -> None:
    (results, documents), quant = drawn
    for name, options in MEASURES.items():
        if name == "xCG":
            continue
        variants: list[dict[str, Any]] = [{}]
        if name not in ("inex_eval", "FBarticle"):
            variants.append({"overlap": "on", "norm": "overlap"})
        for variant in variants:
            assert (
                0 <= getattr(ns, name)(results, documents, quant=quant, **options, **variant) <= 1
            )


@EXAMPLES
@given(binary_lists, st.integers(0, 3))
def test_26_classic_reduction(relevance: list[Fraction], missed: int) -> None:
    """Documents of one element each: MAep is average precision."""
    grades = [int(r) for r in relevance] + [1] * missed
    assume(any(grades))
    flat = {
        f"D{i}": Document(Node("a", 0, 5), ((0, 5),) if relevant else ())
        for i, relevant in enumerate(grades)
    }
    run = [Result(f"D{i}", "/a[1]") for i in range(len(relevance))]
    hits = [sum(grades[:k]) / k for k in range(1, len(run) + 1) if grades[k - 1]]
    for overlap in ("off", "on"):
        assert ns.MAep(run, flat, overlap=overlap) == pytest.approx(sum(hits) / sum(grades))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("inex_eval", {"form": "other"}),
        ("inex_eval", {"points": "other"}),
        ("inex_eval", {"unretrieved": "other"}),
        ("inex_eval", {"form": "encyclopedia", "unretrieved": "random_tail"}),
        ("inex_eval", {"x": 0}),
        ("inex_eval_ng", {}),  # 2006 has no exhaustivity
        ("nxCG", {"k": 0}),
        ("nxCG", {"k": 1, "overlap": "other"}),
        ("nxCG", {"k": 1, "alpha": 2}),
        ("nxCG", {"k": 1, "overlap": "on", "base": "other"}),
        ("nxCG", {"k": 1, "overlap": "on", "tie": "other"}),
        ("nxCG", {"k": 1, "overlap": "on", "norm": "other"}),
        ("nxCG", {"k": 1, "mixed": "other"}),
        ("nxCG", {"k": 1, "formula": "other"}),
        ("ep", {"x": "1.01"}),
        ("ep", {"x": "0.1", "ideal": "other"}),
        ("ep", {"x": "0.1", "between": "other"}),
        ("MAep", {"divisor": "other"}),
        ("Q", {"form": "other"}),
        ("Rmeasure", {"divisor": "other"}),
        ("FBarticle", {"article_gain": "other"}),
        ("FBelement", {"clusters": "other"}),
        ("FBelement", {"score": "other"}),
    ],
)
def test_unknown_option_is_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"unknown|invalid"):
        getattr(ns, name)([P1], TOY, **options)


# --------------------------------------------------------------------------------------------
# What the strategies draw, and its way into files
# --------------------------------------------------------------------------------------------


def placed(element: ET.Element, start: int = 0) -> Node:
    """The element of a parser with the offsets of its text."""
    at = start + len(element.text or "")
    children = []
    for child in element:
        children.append(placed(child, at))
        at = children[-1].end + len(child.tail or "")
    return Node(element.tag, start, at, tuple(children))


@EXAMPLES
@given(trees.campaigns(), st.sampled_from(["x", "é", "𝄞"]))
def test_documents_survive_as_xml(campaign: Campaign, character: str) -> None:
    files = trees.xml_files(campaign.documents, character)
    assert {f"{name}.xml" for name in campaign.documents} == set(files)
    for name, document in campaign.documents.items():
        assert placed(ET.fromstring(files[f"{name}.xml"])) == document.tree


@EXAMPLES
@given(trees.campaigns())
def test_drawn_campaigns_are_valid(campaign: Campaign) -> None:
    scale = ns.scale_of(campaign.documents)
    for document in campaign.documents.values():
        nodes = ns.paths(document.tree)
        assert max(path.count("/") for path in nodes) <= trees.MAX_DEPTH
        assert document.tree.size > 0
        for path, node in nodes.items():
            assert all(
                node.start <= child.start <= child.end <= node.end for child in node.children
            )
            assert node.size or path not in document.grades
        assert trees.united(document.highlights) == document.highlights
        assert all(0 <= a < b <= document.tree.size for a, b in document.highlights)
        assert scale in ("2005", "2006") or not document.highlights
    for quant in quantisations(campaign):
        ns.quantised(campaign.documents, quant)  # refuses grades that do not exist
    assert ns.tie_groups(campaign.results) or not campaign.results


@EXAMPLES
@given(trees.campaigns(), st.booleans())
def test_judgements_and_runs_survive_as_json_lines(campaign: Campaign, every: bool) -> None:
    results, documents = campaign
    header, *lines = map(
        json.loads,
        trees.json_lines(trees.judgement_objects(documents, list_elements=every)).splitlines(),
    )
    scale = header["scale"]
    assert [line["doc"] for line in lines] == [n for n, d in documents.items() if d.judged]
    for line in lines:
        document = documents[line["doc"]]
        spans = tuple((span["start"], span["end"]) for span in line.get("spans", ()))
        assert (line["length"], spans) == (document.tree.size, document.highlights)
        fields = {
            "2002": lambda e: (e["relevance"], e["coverage"]),
            "2003": lambda e: (e["exhaustivity"], e["specificity"]),
            "2005": lambda e: str(e["exhaustivity"]),
        }.get(scale, lambda _: None)
        listed = {element["xpath"]: fields(element) for element in line.get("elements", ())}
        assert {path: listed[path] for path in document.grades} == document.grades
        if every and scale in ("2005", "2006"):
            assert set(listed) == set(ns.paths(document.tree))
    _, *lines = trees.run_objects(results)
    assert [(line["doc"], line["xpath"]) for line in lines] == keys(results)
    assert [line["rank"] for line in lines] == sorted(line["rank"] for line in lines)
    again = [Result(e["doc"], e["xpath"], e.get("score"), e["rank"]) for e in lines]
    assert ns.tie_groups(again) == ns.tie_groups(results)
