"""The invariants that the specification lists, as properties of random campaigns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import campaigns
import naive
from campaigns import Campaign, score
from foveal.measures import parse_measure, parse_measures

quick = settings(max_examples=60)
TOLERANCE = 1e-12


def get(campaign: Campaign, measure: str, *, union: bool = True) -> float:
    return score(parse_measure(measure), *campaign, union=union)


def relevant(documents: Mapping[str, naive.Doc]) -> list[str]:
    return [n for n, d in documents.items() if any(s < e for s, e in d.spans)]


@st.composite
def with_relevance(draw: st.DrawFn) -> Campaign:
    results, documents = draw(campaigns.campaigns())
    assume(relevant(documents))
    return results, documents


def disjoint(results: list[naive.Result]) -> list[naive.Result]:
    """The results without those that overlap an earlier one."""
    kept: list[naive.Result] = []
    for doc, start, end in results:
        if all(d != doc or end <= s or e <= start for d, s, e in kept):
            kept.append((doc, start, end))
    return kept


@given(with_relevance())
@settings(max_examples=20)  # of a hundred scores each
def test_interpolated_precision_falls_with_recall(campaign: Campaign) -> None:
    curve = [score(m, *campaign, union=True) for m in parse_measures("iP@curve")]
    assert all(a >= b for a, b in pairwise(curve))
    assert get(campaign, "AiP") == pytest.approx(sum(curve) / 101, abs=TOLERANCE)
    assert get(campaign, "AiP") <= curve[0] + TOLERANCE
    ranks = range(1, len(campaign[0]) + 1)
    assert curve[0] == max([get(campaign, f"charP@{k}") for k in ranks], default=0.0)


@given(with_relevance(), st.sampled_from(["iP@0.00", "iP@0.10", "iP@0.50", "AiP", "charR"]))
@quick
def test_appending_results_never_lowers_what_was_reached(campaign: Campaign, name: str) -> None:
    results, documents = campaign
    longer = get(campaign, name)
    assert get((results[:-1], documents), name) <= longer + TOLERANCE


@given(with_relevance(), st.data())
@quick
def test_splitting_a_passage_in_two_never_lowers_iP(
    campaign: Campaign, data: st.DataObject
) -> None:
    results, documents = campaign
    assume(results)
    at = data.draw(st.integers(0, len(results) - 1))
    doc, start, end = results[at]
    middle = data.draw(st.integers(start, end))
    split = [*results[:at], (doc, start, middle), (doc, middle, end), *results[at + 1 :]]
    for name in ("iP@0.00", "iP@0.25", "AiP"):
        assert get((split, documents), name) >= get(campaign, name) - TOLERANCE


@given(with_relevance())
@quick
def test_hixeval_counts_each_relevant_character_once(campaign: Campaign) -> None:
    k = max(len(campaign[0]), 1)
    assert get(campaign, f"HiR@{k}", union=False) == pytest.approx(get(campaign, "charR"))
    reverse = (campaign[0][::-1], campaign[1])
    assert get(reverse, f"HiR@{k}", union=False) == get(campaign, f"HiR@{k}", union=False)
    assert get(campaign, f"HiR@{k}", union=False) <= 1


@given(with_relevance(), st.sampled_from(["0", "0.3", "1"]))
@quick
def test_without_overlap_alpha_changes_nothing(campaign: Campaign, alpha: str) -> None:
    clean = (disjoint(campaign[0]), campaign[1])
    k = max(len(clean[0]), 1)
    assert get(clean, f"HiP(alpha={alpha})@{k}") == pytest.approx(get(clean, f"charP@{k}"))
    assert get(clean, f"HiR(alpha={alpha})@{k}") == pytest.approx(get(clean, f"charR@{k}"))


@given(with_relevance())
@quick
def test_with_whole_relevant_documents_agp_is_average_precision(campaign: Campaign) -> None:
    documents = {
        n: naive.Doc(d.length, ((0, d.length),), 0) if n in relevant(campaign[1]) else d
        for n, d in campaign[1].items()
    }
    lengths = {n: d.length for n, d in documents.items()} | {campaigns.UNJUDGED: 30}
    order = dict.fromkeys(doc for doc, _, _ in campaign[0])
    binary = ([(doc, 0, lengths[doc]) for doc in order], documents)
    for name in ("AgP", "AgP(score=BEP)"):
        assert get(binary, name) == pytest.approx(get(binary, "AP"), abs=TOLERANCE)
    for k in (1, 3, 9):
        assert get(binary, f"gP@{k}") == pytest.approx(get(binary, f"P@{k}"), abs=TOLERANCE)
        assert get(binary, f"gR@{k}") == get(binary, f"R@{k}")


@given(with_relevance())
@quick
def test_agp_never_exceeds_average_precision(campaign: Campaign) -> None:
    for name in ("AgP", "AgP(beta=0.25)", "AgP(score=BEP)", "AgP(score=T2I)"):
        assert get(campaign, name) <= get(campaign, "AP") + TOLERANCE


IN_CONTEXT = ["AgP", "AgPw", "AgPw(form=11)", "AgPw(form=interpolated)", "igP@0.50", "AP", "AiP"]


@given(with_relevance(), st.sampled_from(IN_CONTEXT))
@quick
def test_a_non_relevant_document_at_the_end_changes_nothing(campaign: Campaign, name: str) -> None:
    results, documents = campaign
    assume(all(doc != campaigns.UNJUDGED for doc, _, _ in results))
    longer = ([*results, (campaigns.UNJUDGED, 0, 30)], documents)
    assert get(longer, name) == pytest.approx(get(campaign, name), abs=TOLERANCE)


@given(with_relevance(), st.sampled_from(["AgP", "AgPw", "AgPw(form=11)", "AP", "AiP", "T2I"]))
@quick
def test_a_non_relevant_document_in_front_never_helps(campaign: Campaign, name: str) -> None:
    results, documents = campaign
    assume(all(doc != campaigns.UNJUDGED for doc, _, _ in results))
    worse = ([(campaigns.UNJUDGED, 0, 30), *results], documents)
    assert get(worse, name) <= get(campaign, name) + TOLERANCE
    if get(campaign, name) > 0:
        assert get(worse, name) < get(campaign, name)


@given(with_relevance())
@quick
def test_order_inside_a_document_does_not_matter_in_context(campaign: Campaign) -> None:
    results, documents = campaign
    order = list(dict.fromkeys(doc for doc, _, _ in results))
    grouped = [r for doc in order for r in results if r[0] == doc]
    backwards = [r for doc in order for r in results[::-1] if r[0] == doc]
    for name in ("AgP", "gP@2", "AgPw", "AgP(score=T2I,irr=5)"):
        assert get((grouped, documents), name) == pytest.approx(get((backwards, documents), name))


@given(with_relevance())
@quick
def test_unlimited_patience_reads_whole_documents(campaign: Campaign) -> None:
    results, documents = campaign
    assume(results)
    doc = results[0][0]
    assume(doc in relevant(documents))
    rel = {x for s, e in documents[doc].spans for x in range(s, e)}
    expected = len(rel) / documents[doc].length
    assert get(campaign, "gP(score=T2I,irr=99999)@1") == pytest.approx(expected)


@given(with_relevance())
@quick
def test_t2i_finds_more_with_more_patience(campaign: Campaign) -> None:
    k = max(len(campaign[0]), 1)
    found = [get(campaign, f"T2IR(T={t},mode=read)@{k}") for t in (1, 2, 5, 20, 100)]
    assert found == sorted(found)
    read = [get(campaign, f"T2IcharR(T={t},mode=read)@{k}") for t in (1, 2, 5, 20, 100)]
    assert read == sorted(read)


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from(["0.01", "1", "100"]))
@quick
def test_entry_points_score_more_the_nearer_they_are(a: int, b: int, tolerance: str) -> None:
    documents = {"A": naive.Doc(50, ((0, 50),), 20), "B": naive.Doc(50)}
    near, far = sorted((a, b), key=lambda x: abs(x - 20))
    for name in (f"BEPD(A={tolerance})", "AgP(score=BEP,n=10)"):
        one = get(([("A", near, near)], documents), name)
        assert one >= get(([("A", far, far)], documents), name)
        assert one <= 1


@given(with_relevance())
@quick
def test_bepd_grows_with_a_towards_document_recall(campaign: Campaign) -> None:
    results, documents = campaign
    one_each = [
        (d, s, e) for i, (d, s, e) in enumerate(results) if d not in [r[0] for r in results[:i]]
    ]
    values = [get((one_each, documents), f"BEPD(A={a})") for a in ("0.01", "1", "100")]
    assume(not math.isnan(values[0]))
    assert values == sorted(values)
    with_bep = [n for n in relevant(documents) if documents[n].bep is not None]
    found = sum(d in with_bep for d, _, _ in one_each)
    limit = get((one_each, documents), "BEPD(A=1000000)")
    assert limit == pytest.approx(found / len(with_bep), abs=1e-3)


@given(campaigns.campaigns())
@quick
def test_set_overlap_ignores_order_and_bounds_list_overlap(campaign: Campaign) -> None:
    results, documents = campaign
    distinct = list(dict.fromkeys(results))
    assert get((distinct, documents), "SetOverlap") == get(
        (distinct[::-1], documents), "SetOverlap"
    )
    assert get((distinct, documents), "ListOverlap") <= get((distinct, documents), "SetOverlap")


@given(campaigns.campaigns())
@quick
def test_no_overlap_means_all_indicators_are_zero(campaign: Campaign) -> None:
    clean = ([r for r in disjoint(campaign[0]) if r[1] < r[2]], campaign[1])
    for name in ("SetOverlap", "ListOverlap", "MeanOverlap", "Redundancy"):
        assert get(clean, name) == 0


@given(campaigns.campaigns())
@quick
def test_the_whole_document_makes_set_overlap_one(campaign: Campaign) -> None:
    own = [r for r in campaign[0] if r[0] == "A" and r[1] < r[2]]
    length = campaign[1]["A"].length
    assume(any(r != ("A", 0, length) for r in own))
    assert get(([*own, ("A", 0, length)], campaign[1]), "SetOverlap") == 1


def test_an_empty_part_inside_a_passage_does_not_renew_patience() -> None:
    """Found by chance once: a zero-length part is nothing to read."""
    documents = {"A": naive.Doc(16, ((3, 15),))}
    results = [("A", 14, 14), ("A", 4, 16)]
    measure = "AgP(score=T2I,irr=4,stop=consecutive)"
    options = {"score": "T2I", "irr": 4, "stop": "consecutive"}
    assert get((results, documents), measure, union=False) == pytest.approx(
        naive.AgP(results, documents, **options)  # type: ignore[arg-type]
    )
