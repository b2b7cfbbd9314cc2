"""slotR and slotsAll: worked examples, sets of characters, and `answered` on expanded sets."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
import scoring
from foveal.errors import InputError
from foveal.formats import Source, read_judgements
from foveal.formats.jsonl import write_judgements
from foveal.formats.losses import judgement_losses
from foveal.measures import parse_measure
from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.model import Judgements, Run

DOCS = {"A": 30, "B": 20, "𝄞": 12}
Char = tuple[str, int]
Result = tuple[str, int, int]


class Span(NamedTuple):
    """A relevant span and its slots."""

    doc: str
    start: int
    end: int
    slots: tuple[str, ...] = ()


def judged(spans: Sequence[Span], label: str = "slots") -> Judgements:
    docs: dict[str, dict[str, Any]] = {
        doc: {
            "length": length,
            "spans": [
                {"start": own.start, "end": own.end, label: own.slots}
                for own in spans
                if own.doc == doc
            ],
        }
        for doc, length in DOCS.items()
    }
    return foveal.judgements_of({"t": docs})


def view(truth: Judgements, results: Sequence[Result]) -> TopicView:
    run = Run.from_results({"t": results} if results else {})
    return Alignment(run, Gold(truth.combined())).topic("t")


def score(label: str, spans: Sequence[Span], results: Sequence[Result]) -> float:
    return scoring.score(parse_measure(label), view(judged(spans), results))


BORN_AND_DIED = [
    Span("A", 0, 10, ("born",)),
    Span("B", 0, 10, ("born",)),
    Span("B", 15, 20, ("died",)),
    Span("𝄞", 0, 12),
]
"""Two places tell the birth, one the death; a third document is relevant and not needed."""


@pytest.mark.parametrize(
    ("results", "recall", "complete"),
    [
        ([("A", 0, 10)], 1 / 2, 0),
        ([("B", 0, 10)], 1 / 2, 0),
        ([("A", 0, 10), ("B", 0, 10)], 1 / 2, 0),
        ([("A", 0, 9), ("B", 0, 9), ("B", 15, 20)], 1 / 2, 0),
        ([("A", 5, 10), ("B", 15, 20), ("A", 0, 5)], 1, 1),
        ([("B", 0, 20)], 1, 1),
        ([("𝄞", 0, 12)], 0, 0),
        ([], 0, 0),
    ],
)
def test_one_of_these_and_one_of_those(results: list[Result], recall: float, complete: int) -> None:
    assert score("slotR", BORN_AND_DIED, results) == recall
    assert score("slotsAll", BORN_AND_DIED, results) == complete


def test_ranks_and_budgets() -> None:
    results = [("𝄞", 0, 12), ("A", 0, 10), ("B", 15, 20)]
    assert [score(f"slotR@{k}", BORN_AND_DIED, results) for k in (1, 2, 3)] == [0, 0.5, 1]
    assert [score(f"slotsAll@{k}", BORN_AND_DIED, results) for k in (2, 3)] == [0, 1]
    budgets = [score(f"slotR(budget={n})", BORN_AND_DIED, results) for n in (21, 22, 26, 27)]
    assert budgets == [0, 0.5, 0.5, 1]
    assert score("slotsAll(budget=2,unit=results)", BORN_AND_DIED, results) == 0
    assert score("slotsAll(budget=3,unit=results)", BORN_AND_DIED, results) == 1


def test_without_slots_every_passage_is_one() -> None:
    spans = [Span("A", 0, 5), Span("A", 5, 10), Span("B", 0, 10)]
    assert score("slotR", spans, [("A", 0, 10)]) == 1 / 2
    assert score("slotR", spans, [("A", 0, 5)]) == 0
    run = Run.from_results({"t": [("A", 0, 10)]})
    said = foveal.evaluate(run, judged(spans), ["slotR", "slotsAll"]).meta["warnings"]
    assert any(text.startswith("slotR, slotsAll: no topic has slots") for text in said)


# -- naive against fast --------------------------------------------------------------------------


def passages(spans: Sequence[Span]) -> list[set[Char]]:
    """Maximal runs of the characters of spans."""
    found: list[set[Char]] = []
    for doc, x in sorted({(span.doc, x) for span in spans for x in range(span.start, span.end)}):
        if found and (doc, x - 1) in found[-1]:
            found[-1].add((doc, x))
        else:
            found.append({(doc, x)})
    return found


def naive_slots(spans: Sequence[Span]) -> list[list[set[Char]]]:
    """The passages of each slot."""
    real = [span for span in spans if span.start < span.end]
    names = sorted({name for span in real for name in span.slots})
    if not names:
        return [[passage] for passage in passages(real)]
    return [passages([span for span in real if name in span.slots]) for name in names]


def naive_recall(
    spans: Sequence[Span],
    results: Sequence[Result],
    share: Fraction,
    k: int | None,
    budget: int | None,
) -> Fraction | None:
    slots = naive_slots(spans)
    chars = [(doc, x) for doc, start, end in results[:k] for x in range(start, end)]
    read = set(chars[:budget])
    filled = [any(len(read & own) >= share * len(own) for own in slot) for slot in slots]
    return Fraction(sum(filled), len(filled)) if filled else None


@st.composite
def needs(draw: st.DrawFn) -> list[Span]:
    spans = []
    for _ in range(draw(st.integers(0, 6))):
        doc = draw(st.sampled_from(sorted(DOCS)))
        start = draw(st.integers(0, DOCS[doc]))
        end = draw(st.integers(start, min(DOCS[doc], start + 9)))
        slots = draw(st.lists(st.sampled_from("xyz"), max_size=2, unique=True))
        spans.append(Span(doc, start, end, tuple(slots)))
    return spans


@st.composite
def returned(draw: st.DrawFn) -> list[Result]:
    lengths = DOCS | {"U": 15}
    results = []
    for doc in draw(st.lists(st.sampled_from(sorted(lengths)), max_size=7)):
        start = draw(st.integers(0, lengths[doc]))
        results.append((doc, start, draw(st.integers(start, lengths[doc]))))
    return results


@given(needs(), returned())
@settings(max_examples=60)
def test_fast_equals_naive(spans: list[Span], results: list[Result]) -> None:
    topic = view(judged(spans), results)
    for k, budget, share in itertools.product((None, 1, 3), (None, 1, 9, 25), ("1", "0.5", "0.07")):
        at = "" if k is None else f"@{k}"
        within = "" if budget is None else f",budget={budget}"
        slow = naive_recall(spans, results, Fraction(share), k, budget)
        recall = scoring.score(parse_measure(f"slotR(share={share}{within}){at}"), topic)
        complete = scoring.score(parse_measure(f"slotsAll(share={share}{within}){at}"), topic)
        if slow is None:
            assert math.isnan(recall)
            assert math.isnan(complete)
        else:
            assert recall == pytest.approx(float(slow))
            assert complete == (slow == 1)


# -- files, assessors, larger than memory --------------------------------------------------------


def read(*lines: dict[str, Any], path: str = "j.jsonl") -> Judgements:
    text = "".join(json.dumps({"topic": "1", "doc": "d", **line}) + "\n" for line in lines)
    return read_judgements(Source.of_text(text, path))


def span(start: int, end: int, *slots: str, **more: Any) -> dict[str, Any]:
    return {"start": start, "end": end, **({"slots": [*slots]} if slots else {}), **more}


def slots_of(judgements: Judgements) -> list[list[str] | None]:
    assert judgements.slots is not None
    return judgements.slots.to_list()


def test_slots_are_read_written_merged_and_selected() -> None:
    one = read({"spans": [span(0, 5, "a", "b"), span(7, 9)]}, path="one.jsonl")
    two = read({"topic": "2", "spans": [span(1, 3)]}, path="two.jsonl")
    assert slots_of(one) == [["a", "b"], None]
    assert two.slots is None
    assert slots_of(read_judgements(Source.of_text(write_judgements(one), "k.jsonl"))) == slots_of(
        one
    )
    merged = Judgements.merged([two, one])
    assert slots_of(merged.for_topics(["1"])) == slots_of(one)
    combined = merged.combined().for_topics(["1"])
    assert combined.alternatives is not None
    assert combined.alternatives.select("row", "start", "end").rows() == [(0, 0, 5), (0, 0, 5)]
    again = combined.combined()
    assert again.alternatives is not None
    assert again.alternatives.equals(combined.alternatives)
    assert judgement_losses(one, "fol").count("spans with slots: 1") == 1
    assert not judgement_losses(one, "jsonl")


@pytest.mark.parametrize("value", ["a", 7, {"a": 1}])
def test_other_values_are_refused_with_their_line(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        read({"spans": []}, {"doc": "e", "spans": [{"start": 1, "end": 2, "slots": value}]})
    (problem,) = caught.value.problems
    assert (problem.code, problem.line) == ("json.value", 2)
    assert "spans[0].slots" in problem.text


def test_assessors_share_a_slot_of_one_name() -> None:
    truth = read(
        {"length": 30, "assessor": "ann", "spans": [span(0, 5, "a"), span(10, 15, "b")]},
        {"length": 30, "assessor": "bob", "spans": [span(20, 25, "a")]},
    )
    run = Run.from_results({"1": [("d", 20, 25)]})
    for assessors, value in (("union", 1 / 2), ("ann", 0), ("bob", 1)):
        found = foveal.evaluate(run, truth, "slotR", assessors=assessors)
        assert found["run", "slotR"] == value


def test_slots_are_cut_to_the_text_that_assessors_agree_on() -> None:
    truth = read(
        {"length": 30, "assessor": "ann", "spans": [span(0, 10, "a"), span(20, 25, "b")]},
        {"length": 30, "assessor": "bob", "spans": [span(6, 14)]},
    )
    run = Run.from_results({"1": [("d", 6, 10)]})
    assert foveal.evaluate(run, truth, "slotsAll", assessors="intersection")["run", "slotsAll"] == 1
    assert foveal.evaluate(run, truth, "slotR")["run", "slotR"] == 0
