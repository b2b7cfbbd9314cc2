"""The invariants that the specification lists, as properties of random campaigns."""

from __future__ import annotations

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


@given(with_relevance())
@settings(max_examples=20)  # of a hundred scores each
def test_interpolated_precision_falls_with_recall(campaign: Campaign) -> None:
    curve = [score(m, *campaign, union=True) for m in parse_measures("iP@curve")]
    assert all(a >= b for a, b in pairwise(curve))
    assert get(campaign, "AiP") == pytest.approx(sum(curve) / 101, abs=TOLERANCE)
    assert get(campaign, "AiP") <= curve[0] + TOLERANCE
    ranks = range(1, len(campaign[0]) + 1)
    assert curve[0] == max([get(campaign, f"charP@{k}") for k in ranks], default=0.0)


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


def test_an_empty_part_inside_a_passage_does_not_renew_patience() -> None:
    """Found by chance once: a zero-length part is nothing to read."""
    documents = {"A": naive.Doc(16, ((3, 15),))}
    results = [("A", 14, 14), ("A", 4, 16)]
    measure = "AgP(score=T2I,irr=4,stop=consecutive)"
    options = {"score": "T2I", "irr": 4, "stop": "consecutive"}
    assert get((results, documents), measure, union=False) == pytest.approx(
        naive.AgP(results, documents, **options)  # type: ignore[arg-type]
    )
