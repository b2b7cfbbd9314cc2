"""The naive reference of structure: quantisation and recall bases (sections 2 and 3)."""

from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_structure as ns
import trees
from naive_structure import Document, Key, Node
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
    TOY,
    A,
    close,
    exact,
    keys,
    paragraphs,
    quantised_campaigns,
)
from trees import Campaign

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
    winners = [ns.path_winner(leaf, q, "ascendant") for leaf in keys([P1, P2, P4])]
    assert winners == keys([S1, P2, P4])


def test_3_2_literal_reading_keeps_only_the_roots() -> None:
    q = ns.quantised(TOY, "spec")
    winners = {ns.path_winner(end, q, "ascendant") for end in ns.full_base(q)}
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
