"""answered, evR and evRR: alternatives and conjunctions, worked out, against sets of characters."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
import scoring
from campaigns import overlap_of
from foveal.errors import UsageError
from foveal.files.source import Source
from foveal.formats import read_judgements
from foveal.measures import parse_measure
from foveal.measures.alignment import Alignment, Gold, TopicView
from foveal.model import Judgements, Run

DOCS = {"A": 30, "B": 20, "𝄞": 12}
Char = tuple[str, int]
Result = tuple[str, int, int]


class Span(NamedTuple):
    """A judged span with its sets, None for all of them."""

    doc: str
    start: int
    end: int
    sets: tuple[str, ...] | None = None
    grade: float = 1.0


def judged(spans: Sequence[Span]) -> Judgements:
    """The spans of topic "t", document by document."""
    docs: dict[str, dict[str, Any]] = {}
    for doc, length in DOCS.items():
        own = [span for span in spans if span.doc == doc]
        docs[doc] = {
            "length": length,
            "spans": [(span.start, span.end) for span in own],
            "sets": [span.sets for span in own],
        }
    grade = np.array([span.grade for doc in DOCS for span in spans if span.doc == doc])
    return replace(Judgements.from_highlights({"t": docs}), grade=grade)


def view(spans: Sequence[Span], results: Sequence[Result], *, union: bool = False) -> TopicView:
    gold = Gold(judged(spans).combined())
    run = Run.from_results({"t": results} if results else {})
    return Alignment(run, gold, overlap_of(union=union)).topic("t")


def score(label: str, spans: Sequence[Span], results: Sequence[Result], **how: bool) -> float:
    return scoring.score(parse_measure(label), view(spans, results, **how))


# -- Worked examples -------------------------------------------------------------------------------

EITHER = [
    Span("A", 0, 10, ("one",)),
    Span("B", 0, 10, ("two",)),
    Span("B", 15, 20, ("two",)),
]
"""Ten characters of A answer, or two passages of B together."""


@pytest.mark.parametrize(
    ("results", "answered", "recall", "reciprocal"),
    [
        ([("A", 0, 10)], 1, 1.0, 1.0),
        ([("B", 0, 10)], 0, 10 / 15, 0.0),
        ([("B", 0, 10), ("B", 15, 20)], 1, 1.0, 1 / 2),
        ([("B", 0, 20)], 1, 1.0, 1.0),
        ([("A", 0, 9), ("B", 0, 10), ("𝄞", 0, 12)], 0, 0.9, 0.0),
        ([("A", 0, 9), ("B", 0, 10), ("A", 9, 10)], 1, 1.0, 1 / 3),
        ([], 0, 0.0, 0.0),
    ],
)
def test_any_set_answers_and_all_of_it_is_needed(
    results: list[Result], answered: int, recall: float, reciprocal: float
) -> None:
    assert score("answered", EITHER, results) == answered
    assert score("evR", EITHER, results) == pytest.approx(recall, abs=1e-15)
    assert score("evRR", EITHER, results) == pytest.approx(reciprocal, abs=1e-15)


def test_a_span_without_sets_belongs_to_every_set() -> None:
    spans = [*EITHER, Span("𝄞", 0, 4)]
    assert score("answered", spans, [("A", 0, 10)]) == 0
    assert score("answered", spans, [("A", 0, 10), ("𝄞", 0, 4)]) == 1
    assert score("evR", spans, [("A", 0, 10)]) == pytest.approx(10 / 14)


def test_a_rank_counts_results_and_a_budget_what_is_read() -> None:
    results = [("𝄞", 0, 12), ("A", 0, 10)]
    assert [score(f"answered@{k}", EITHER, results) for k in (1, 2, 9)] == [0, 1, 1]
    assert [score(f"evRR@{k}", EITHER, results) for k in (1, 2)] == [0, 0.5]
    assert score("answered(budget=21)", EITHER, results) == 0
    assert score("answered(budget=22)", EITHER, results) == 1
    assert score("evR(budget=17)", EITHER, results) == 0.5
    assert score("answered(budget=1,unit=results)", EITHER, results) == 0
    assert score("answered(budget=2,unit=results)", EITHER, results) == 1


def test_a_share_is_compared_in_whole_numbers() -> None:
    """.07 of 100 characters are 7; as a double it would be a little more."""
    truth = Judgements.from_highlights({"1": {"d": {"spans": [(0, 100)], "length": 100}}})
    run = Run.from_results({"1": [("d", 0, 7)]})
    scores = foveal.evaluate(run, truth, ["answered(share=0.07)", "answered(share=0.071)"])
    assert [*scores.aggregate()["run"].values()] == [1, 0]


# -- Several assessors -----------------------------------------------------------------------------


def by_two(ann: list[dict[str, Any]], bob: list[dict[str, Any]]) -> Judgements:
    lines = [
        json.dumps({"topic": "t", "doc": "A", "length": 30, "assessor": name, "spans": spans})
        for name, spans in (("ann", ann), ("bob", bob))
    ]
    return read_judgements(Source.of_text("\n".join(lines), "j.jsonl"))


def answered(truth: Judgements, results: list[Result], **options: str) -> float:
    run = Run.from_results({"t": results})
    return foveal.evaluate(run, truth, "answered", **options).aggregate()["run"]["answered"]


def test_a_set_belongs_to_its_assessor() -> None:
    """Both call their set "x"; they are two sets, and either answers."""
    truth = by_two(
        [{"start": 0, "end": 5, "sets": ["x"]}, {"start": 8, "end": 9, "sets": ["x"]}],
        [{"start": 20, "end": 25, "sets": ["x"]}],
    )
    assert answered(truth, [("A", 20, 25)]) == 1
    assert answered(truth, [("A", 0, 5)]) == 0
    assert answered(truth, [("A", 0, 9)], assessors="ann") == 1
    assert answered(truth, [("A", 20, 25)], assessors="ann") == 0


def test_nobody_makes_a_set_and_all_text_is_needed() -> None:
    truth = by_two([{"start": 0, "end": 5}], [{"start": 20, "end": 25}])
    assert answered(truth, [("A", 20, 25)]) == 0
    assert answered(truth, [("A", 0, 25)]) == 1


def test_sets_are_cut_to_the_text_that_is_agreed_on() -> None:
    truth = by_two(
        [{"start": 0, "end": 10, "sets": ["x"]}, {"start": 20, "end": 25, "sets": ["y"]}],
        [{"start": 6, "end": 14}],
    )
    assert answered(truth, [("A", 6, 10)], assessors="intersection") == 1
    assert answered(truth, [("A", 20, 25)], assessors="intersection") == 0
    assert answered(truth, [("A", 6, 10)]) == 0


# -- Naive against fast ----------------------------------------------------------------------------


def naive_sets(spans: Sequence[Span]) -> list[dict[Char, Fraction]]:
    """The weight of every character of every set."""
    real = [span for span in spans if span.grade > 0 and span.start < span.end]
    names = sorted({name for span in real for name in span.sets or ()}) or [""]
    found = []
    for name in names:
        weights: dict[Char, Fraction] = {}
        for span in real:
            if not span.sets or name in span.sets:
                for x in range(span.start, span.end):
                    key = (span.doc, x)
                    weights[key] = max(weights.get(key, Fraction(0)), Fraction(span.grade))
        found.append(weights)
    return [weights for weights in found if weights]


def naive_passages(chars: set[Char]) -> list[set[Char]]:
    """Maximal runs of characters."""
    found: list[set[Char]] = []
    for doc, x in sorted(chars):
        if found and (doc, x - 1) in found[-1]:
            found[-1].add((doc, x))
        else:
            found.append({(doc, x)})
    return found


def naive_read(
    results: Sequence[Result], k: int | None, budget: int | None, *, union: bool
) -> set[Char]:
    read: list[Char] = []
    for doc, start, end in results[:k]:
        own = [(doc, x) for x in range(start, end)]
        read += [char for char in own if not (union and char in read)]
    return set(read[:budget])


def naive_answered(
    spans: Sequence[Span],
    results: Sequence[Result],
    share: Fraction,
    k: int | None,
    budget: int | None,
    *,
    union: bool,
) -> bool:
    read = naive_read(results, k, budget, union=union)
    return any(
        all(len(read & p) >= share * len(p) for p in naive_passages(set(weights)))
        for weights in naive_sets(spans)
    )


@st.composite
def evidence(draw: st.DrawFn) -> list[Span]:
    spans = []
    for _ in range(draw(st.integers(0, 6))):
        doc = draw(st.sampled_from(sorted(DOCS)))
        start = draw(st.integers(0, DOCS[doc]))
        end = draw(st.integers(start, DOCS[doc]))
        sets = draw(st.none() | st.lists(st.sampled_from("xyz"), max_size=2, unique=True))
        grade = draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 3.0]))
        spans.append(Span(doc, start, end, None if sets is None else tuple(sets), grade))
    return spans


@st.composite
def returned(draw: st.DrawFn) -> list[Result]:
    lengths = DOCS | {"U": 15}
    results = []
    for doc in draw(st.lists(st.sampled_from(sorted(lengths)), max_size=7)):
        start = draw(st.integers(0, lengths[doc]))
        results.append((doc, start, draw(st.integers(start, lengths[doc]))))
    return results


@given(evidence(), returned(), st.booleans())
@settings(max_examples=40)
def test_fast_equals_naive(spans: list[Span], results: list[Result], union: bool) -> None:
    topic = view(spans, results, union=union)
    sets = naive_sets(spans)
    for k in (None, 1, 2, 5):
        at = "" if k is None else f"@{k}"
        for budget in (None, 1, 9, 25):
            given_budget = "" if budget is None else f",budget={budget}"
            read = naive_read(results, k, budget, union=union)
            shares = [Fraction(len(read & set(own)), len(own)) for own in sets]
            fast = scoring.score(parse_measure(f"evR(weight=none{given_budget}){at}"), topic)
            assert math.isnan(fast) if not sets else fast == pytest.approx(float(max(shares)))
            weighed = [
                sum((w for c, w in own.items() if c in read), Fraction(0)) / sum(own.values())
                for own in sets
            ]
            fast = scoring.score(parse_measure(f"evR(weight=grade{given_budget}){at}"), topic)
            assert math.isnan(fast) if not sets else fast == pytest.approx(float(max(weighed)))
            for share in ("1", "0.5", "0.07"):
                fast = scoring.score(
                    parse_measure(f"answered(share={share}{given_budget}){at}"), topic
                )
                slow = naive_answered(spans, results, Fraction(share), k, budget, union=union)
                assert math.isnan(fast) if not sets else fast == slow
    for share in ("1", "0.5"):
        exact = Fraction(share)
        ranks = [
            k
            for k in range(1, len(results) + 1)
            if naive_answered(spans, results, exact, k, None, union=union)
        ]
        fast = scoring.score(parse_measure(f"evRR(share={share})"), topic)
        assert math.isnan(fast) if not sets else fast == (1 / ranks[0] if ranks else 0)


# -- Ugly inputs -----------------------------------------------------------------------------------


def test_one_list_of_sets_for_each_span() -> None:
    with pytest.raises(UsageError, match="1 list of sets for 2 spans"):
        Judgements.from_highlights({"1": {"d": {"spans": [(0, 1), (2, 3)], "sets": [["a"]]}}})
