"""Bounds of scores over unjudged text, against all completions of small campaigns."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable, Iterator
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal import Judgements, Run
from foveal.errors import UsageError
from foveal.files.source import Source
from foveal.model import Results

Char = tuple[str, int]
Result = tuple[str, int, int]
Score = Callable[[list[Result], frozenset[Char]], float]

# Judged are a and b, not judged x and y. The pieces of a run never overlap; those of two runs do.
PIECES = {"one": [(0, 2), (2, 3)], "two": [(0, 1), (1, 3)]}


def list_results(pieces: list[tuple[int, int]]) -> st.SearchStrategy[list[Result]]:
    every = [(doc, *piece) for doc in "abxy" for piece in pieces]
    return st.lists(st.sampled_from(every), min_size=1, max_size=5, unique=True)


runs = st.fixed_dictionaries({name: list_results(pieces) for name, pieces in PIECES.items()})
golds = st.sets(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), min_size=1)


def judge(gold: set[Char], topic: str = "1") -> Judgements:
    truth = {
        doc: {"length": 3, "spans": [(i, i + 1) for own, i in sorted(gold) if own == doc]}
        for doc in "ab"
    }
    return Judgements.from_highlights({topic: truth})


# -- naive scores ----------------------------------------------------------------------------------


def text(results: list[Result], rank: int | None = None, budget: int | None = None) -> list[Char]:
    """Return the characters that are read, in order."""
    return [(doc, i) for doc, start, end in results[:rank] for i in range(start, end)][:budget]


def documents(results: list[Result], rank: int | None = None) -> list[str]:
    return list(dict.fromkeys(doc for doc, _, _ in results))[:rank]


def precision(**limit: int) -> Score:
    def score(results: list[Result], relevant: frozenset[Char]) -> float:
        read = text(results, **limit)
        return len(relevant.intersection(read)) / len(read)

    return score


def recall(**limit: int) -> Score:
    def score(results: list[Result], relevant: frozenset[Char]) -> float:
        return len(relevant.intersection(text(results, **limit))) / len(relevant)

    return score


def f_score(beta: float, **limit: int) -> Score:
    def score(results: list[Result], relevant: frozenset[Char]) -> float:
        p, r = (function(**limit)(results, relevant) for function in (precision, recall))
        return (1 + beta**2) * p * r / (beta**2 * p + r) if p + r else 0.0

    return score


def hits(results: list[Result], relevant: frozenset[Char], rank: int | None = None) -> list[bool]:
    """Return for each document of a ranking if it holds relevant text."""
    known = {doc for doc, _ in relevant}
    return [doc in known for doc in documents(results, rank)]


def count(relevant: frozenset[Char]) -> int:
    return len({doc for doc, _ in relevant})


def first_hit(found: list[bool]) -> float:
    return next((1 / i for i, hit in enumerate(found, 1) if hit), 0.0)


def average_precision(results: list[Result], relevant: frozenset[Char]) -> float:
    found = hits(results, relevant)
    parts = [sum(found[:i]) / i for i, hit in enumerate(found, 1) if hit]
    return sum(parts) / count(relevant)


def expected_rank(results: list[Result], relevant: frozenset[Char]) -> float:
    total, reached = 0.0, 1.0
    for i, hit in enumerate(hits(results, relevant, 3), 1):
        total += reached * 0.5 * hit / i
        reached *= 1 - 0.5 * hit
    return total


def gain(rank: int | None = None) -> Score:
    def score(results: list[Result], relevant: frozenset[Char]) -> float:
        found = hits(results, relevant, rank)
        ideal = [True] * count(relevant)
        dcg, best = (
            sum(hit / math.log2(i + 1) for i, hit in enumerate(own, 1))
            for own in (found, ideal[:rank])
        )
        return dcg / best

    return score


def passage_gain(results: list[Result], relevant: frozenset[Char]) -> float:
    found, ideal = found_passage(results, relevant), [True] * len(list_passages(relevant))
    dcg, best = (
        sum(hit / math.log2(i + 2) for i, hit in enumerate(own[:2])) for own in (found, ideal)
    )
    return dcg / best


def interpolated(level: float) -> Score:
    def score(results: list[Result], relevant: frozenset[Char]) -> float:
        points = [
            precision(rank=r)(results, relevant)
            for r in range(1, len(results) + 1)
            if recall(rank=r)(results, relevant) >= level
        ]
        return max(points, default=0.0)

    return score


def average_interpolated(results: list[Result], relevant: frozenset[Char]) -> float:
    return sum(interpolated(j / 4)(results, relevant) for j in range(5)) / 5


def list_passages(relevant: frozenset[Char]) -> list[set[Char]]:
    passages = list[set[Char]]()
    for doc, i in sorted(relevant):
        if passages and (doc, i - 1) in passages[-1]:
            passages[-1].add((doc, i))
        else:
            passages.append({(doc, i)})
    return passages


def found_passage(results: list[Result], relevant: frozenset[Char]) -> list[bool]:
    """Return for each result if half of a passage is first covered by it."""
    passages, seen, marks = list_passages(relevant), set[Char](), list[bool]()
    for result in results:
        before = [len(p & seen) >= len(p) / 2 for p in passages]
        seen |= set(text([result]))
        marks.append(before != [len(p & seen) >= len(p) / 2 for p in passages])
    return marks


# Measure, naive score, the limit of its U, and if its bounds and its least differences are exact.
MEASURES: dict[str, tuple[Score, dict[str, int], bool, bool]] = {
    "charP": (precision(), {}, True, True),
    "charP@2": (precision(rank=2), {"rank": 2}, True, True),
    "charP(budget=3)": (precision(budget=3), {"budget": 3}, True, True),
    "charR": (recall(), {}, True, True),
    "charR@1": (recall(rank=1), {"rank": 1}, True, True),
    "charR(budget=3)": (recall(budget=3), {"budget": 3}, True, True),
    "charF": (f_score(1), {}, True, False),
    "charF(beta=0.5)@2": (f_score(0.5, rank=2), {"rank": 2}, True, False),
    "P@2": (lambda own, rel: sum(hits(own, rel, 2)) / 2, {"documents": 2}, True, True),
    "R@2": (lambda own, rel: sum(hits(own, rel, 2)) / count(rel), {"documents": 2}, True, True),
    "AP": (average_precision, {}, True, False),
    "RR": (lambda own, rel: first_hit(hits(own, rel)), {}, True, True),
    "RR@2": (lambda own, rel: first_hit(hits(own, rel, 2)), {"documents": 2}, True, True),
    "Success@2": (lambda own, rel: float(any(hits(own, rel, 2))), {"documents": 2}, True, True),
    "RBP": (
        lambda own, rel: sum(0.2 * 0.8**i for i, hit in enumerate(hits(own, rel)) if hit),
        {},
        True,
        False,
    ),
    "ERR@3": (expected_rank, {"documents": 3}, True, False),
    "nDCG": (gain(), {}, False, False),
    "nDCG@2": (gain(2), {"documents": 2}, False, False),
    "iP@0.00": (interpolated(0), {}, False, False),
    "iP@0.50": (interpolated(0.5), {}, False, False),
    "AiP(points=5)": (average_interpolated, {}, False, False),
    "RR(unit=passage)": (lambda own, rel: first_hit(found_passage(own, rel)), {}, True, False),
    "nDCG(unit=passage)@2": (passage_gain, {"rank": 2}, False, False),
    "RBP(unit=passage)": (
        lambda own, rel: sum(0.2 * 0.8**i for i, hit in enumerate(found_passage(own, rel)) if hit),
        {},
        False,
        False,
    ),
    "Success(unit=passage)@2": (
        lambda own, rel: float(any(found_passage(own, rel)[:2])),
        {"rank": 2},
        True,
        False,
    ),
}


def complete(
    gold: set[Char], results: dict[str, list[Result]], limit: dict[str, int]
) -> Iterator[frozenset[Char]]:
    """Yield all completions of the judgements."""
    limit = dict(limit)
    most = limit.pop("documents", None)
    unjudged = set[Char]()
    for own in results.values():
        kept = documents(own, most)
        unjudged |= {char for char in text(own, **limit) if char[0] in "xy" and char[0] in kept}
    listed = sorted(unjudged)
    every = chain.from_iterable(combinations(listed, n) for n in range(len(listed) + 1))
    for declared in every:
        yield frozenset(gold) | frozenset(declared)


@settings(max_examples=60, deadline=None)
@given(runs, golds)
def test_bounds_are_those_of_all_completions(
    results: dict[str, list[Result]], gold: set[Char]
) -> None:
    given = [Run.from_results({"1": own}, name=name) for name, own in results.items()]
    found = foveal.evaluate(given, judge(gold), list(MEASURES), bounds=True)
    bounds = found.bounds
    assert bounds is not None
    for name, label in zip(MEASURES, found.measures, strict=True):
        naive, limit, is_exact, is_exact_pair = MEASURES[name]
        completions = list(complete(gold, results, limit))
        scores = {run: [naive(own, rel) for rel in completions] for run, own in results.items()}
        assert found.meta["bounds"][label] == ("exact" if is_exact else "proven")
        for run, own in scores.items():
            assert found[run, label] == pytest.approx(own[0], abs=1e-12)
            ends = bounds.low[run, label], bounds.high[run, label]
            if is_exact:
                assert ends == pytest.approx((min(own), max(own)), abs=1e-12), name
            assert ends[0] <= min(own) + 1e-12, name
            assert ends[1] >= max(own) - 1e-12, name
        for run, other in (("one", "two"), ("two", "one")):
            least = min(a - b for a, b in zip(scores[run], scores[other], strict=True))
            (ours,) = bounds.find_least(label, run, other).tolist()
            assert ours <= least + 1e-12, name
            if is_exact_pair:
                assert ours == pytest.approx(least, abs=1e-12), name


def evaluate_spans(**options: object) -> Results:
    """Score two runs on three topics; nothing is relevant to the last one."""
    truth = {
        "1": {"a": {"spans": [(0, 2)], "length": 9}},
        "2": {"a": {"spans": [(1, 5)], "length": 9}, "x": {"spans": [(0, 3)], "length": 9}},
        "3": {"a": {"spans": [], "length": 9}},
    }
    one = {"1": [("a", 0, 4), ("x", 0, 3)], "2": [("x", 0, 9)], "3": [("y", 0, 5)]}
    two = {"1": [("x", 2, 6), ("y", 0, 1)], "2": [("y", 0, 4), ("a", 0, 5)]}
    given = [Run.from_results(own, name=name) for name, own in (("one", one), ("two", two))]
    measures = ["charP", "charR", "R@2", "AP", "RR", "nDCG@5", "AiP", "answered"]
    return foveal.evaluate(
        given, Judgements.from_highlights(truth), measures, bounds=True, **options
    )


def test_every_topic_has_its_own_bounds() -> None:
    together = evaluate_spans()
    assert together.bounds is not None
    for topic in ("1", "2"):
        alone = evaluate_spans(only_topics=(topic,)).bounds
        assert alone is not None
        for whole, own in ((together.bounds.low, alone.low), (together.bounds.high, alone.high)):
            at = whole.topics.index(topic)
            np.testing.assert_array_equal(whole.values[:, at], own.values[:, 0])
        for label in together.measures[:-1]:
            at = together.topics.index(topic)
            least = together.bounds.find_least(label, "one", "two")[at]
            assert least == alone.find_least(label, "one", "two")[0]


def test_topics_without_relevant_text_are_left_out_or_count_0() -> None:
    skipped, counted = evaluate_spans(), evaluate_spans(undefined="zero")
    assert skipped.bounds is not None
    assert counted.bounds is not None
    assert math.isnan(skipped.bounds.high["one", "charR", "3"])
    assert [text for text in skipped.meta["warnings"] if "left out of the bounds" in text]
    for label in ("charP", "charR", "AP", "RR"):
        ends = [part["one", label, "3"] for part in (counted.bounds.low, counted.bounds.high)]
        assert ends == [0.0, 1.0], label
        ends = [part["two", label, "3"] for part in (counted.bounds.low, counted.bounds.high)]
        assert ends == [0.0, 0.0], label


def test_each_assessor_has_bounds() -> None:
    lines = [
        {
            "topic": "1",
            "doc": "a",
            "assessor": who,
            "length": 9,
            "spans": [{"start": 0, "end": end}],
        }
        for who, end in (("ann", 2), ("bob", 4))
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    truth = foveal.read_judgements(Source.of_text(text, "made.jsonl"))
    run = Run.from_results({"1": [("a", 0, 3), ("x", 0, 3)]}, name="one")
    found = foveal.evaluate(run, truth, "charP", assessors="each", bounds=True)
    assert found.bounds is not None
    assert found.bounds.low.overall[:, 0].tolist() == [2 / 6, 3 / 6]
    assert found.bounds.high.overall[:, 0].tolist() == [5 / 6, 6 / 6]
    assert found.bounds.find_least("charP", *found.runs).tolist() == [2 / 6 - 6 / 6]


def test_repeated_text_and_judged_lists_have_no_bounds() -> None:
    run = Run.from_results({"1": [("a", 0, 3), ("x", 0, 3), ("x", 1, 4)]}, name="one")
    measures = [
        "charR",
        "AiP",
        "AP",
        "RR(judged_only=true)",
        "nDCG(unit=passage)",
        "iP(budget=9)@0.1",
    ]
    found = foveal.evaluate(run, judge({("a", 0)}), measures, overlap="allow", bounds=True)
    assert set(found.meta["bounds"].items()) == {
        *((label, "none") for label in found.measures if label != "AP"),
        ("AP", "exact"),
    }
    united = foveal.evaluate(run, judge({("a", 0)}), ["charP"], overlap="union", bounds=True)
    assert united.bounds is not None
    assert united.bounds.high["one", "charP"] == 5 / 7


def test_bounds_survive_json_and_pickle() -> None:
    found = evaluate_spans()
    for again in (Results.from_json(found.to_json()), pickle.loads(pickle.dumps(found))):
        assert again.bounds is not None
        np.testing.assert_array_equal(again.bounds.low.overall, found.bounds.low.overall)
        np.testing.assert_array_equal(again.bounds.high.values, found.bounds.high.values)
    saved = Results.from_json(found.to_json()).bounds
    assert saved is not None
    assert found.bounds is not None
    for label in found.measures[:-1]:  # what saved results know is not more than what is true
        known = saved.find_least(label, "one", "two")[:2]
        assert (known <= found.bounds.find_least(label, "one", "two")[:2] + 1e-12).all()


def test_a_limit_of_memory_is_refused() -> None:
    with pytest.raises(UsageError, match="memory"):
        evaluate_spans(memory="1G")


# -- comparison ------------------------------------------------------------------------------------


def test_a_lead_is_certain_if_no_completion_reverses_it() -> None:
    truth = {topic: {"a": {"spans": [(0, 8)], "length": 9}} for topic in ("1", "2", "3")}
    runs = [
        Run.from_results({topic: [spans] for topic in truth}, name=name)
        for name, spans in (("good", ("a", 0, 8)), ("poor", ("a", 7, 9)), ("other", ("x", 0, 3)))
    ]
    found = foveal.compare(runs, Judgements.from_highlights(truth), "charR", bounds=True)
    rows = {(row["run"], row["other"]): row for row in found.rows()}
    assert rows["good", "poor"]["certainly_better"] == "good"
    assert rows["good", "poor"]["least_difference"] == pytest.approx(7 / 11)
    assert rows["good", "poor"]["greatest_difference"] == pytest.approx(7 / 8)
    assert rows["good", "other"]["certainly_better"] == "good"
    assert rows["poor", "other"]["certainly_better"] is None
    assert rows["poor", "other"]["least_difference"] == pytest.approx((1 - 3) / 11)
    assert "whatever the unjudged text holds" in found.summary()
    without = foveal.compare(runs, Judgements.from_highlights(truth), "charR")
    assert not [name for name in next(without.rows()) if "certain" in name]
