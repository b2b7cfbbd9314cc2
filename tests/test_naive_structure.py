"""The worked examples and invariants of the specification for the naive reference of structure.

The toy collection is the one of METRICS.md 1.4; the specification prints four decimals, hence the
tolerance. Test names begin with the section. Invariants are looked for in random campaigns.
Here are conventions, bounds and what is drawn; the sections have files of their own.
"""

import json
import math
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import naive_structure as ns
import trees
from naive_structure import Document, Node, Result
from toy_structure import (
    D2A,
    D2P1,
    D2P2,
    D3A,
    EXAMPLES,
    P1,
    P2,
    P3,
    P4,
    P5,
    S1,
    S2,
    TOY,
    A,
    binary_lists,
    close,
    floats,
    graded_2003,
    keys,
    quantisations,
    quantised_campaigns,
)
from trees import Campaign

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
