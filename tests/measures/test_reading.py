"""What is read within a budget: of characters, of tokens, of results."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import campaigns
import foveal
import naive
from foveal.errors import InputError
from foveal.measures.alignment import Alignment, Gold
from foveal.measures.characters import readings

TRUTH = foveal.Judgements.from_highlights(
    {"1": {"D1": {"spans": [(10, 40)], "length": 100}, "D2": {"spans": [(0, 10)], "length": 50}}}
)
RUN = replace(
    foveal.Run.from_results({"1": [("D1", 20, 40), ("D2", 0, 50), ("D1", 0, 20)]}, name="mine"),
    tokens=np.array([4, 5, 10]),
)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        # 4 tokens are the first result: 20 characters, all of 40 relevant ones that it holds.
        ("charR(budget=4,unit=tokens)", 20 / 40),
        ("charP(budget=4,unit=tokens)", 1.0),
        # One token more is a fifth of the second result: 10 characters of 50, all relevant.
        ("charR(budget=5,unit=tokens)", 30 / 40),
        ("charP(budget=6,unit=tokens)", 30 / 40),
        # Half of the third result: its first 10 characters, which are not relevant.
        ("charR(budget=14,unit=tokens)", 30 / 40),
        ("charP(budget=14,unit=tokens)", 30 / 80),
        ("charR(budget=100,unit=tokens)", 1.0),
        ("charR(budget=2,unit=results)", 30 / 40),
        ("charP(budget=1,unit=results)", 1.0),
        ("charF(budget=6,unit=tokens)", 0.75),
        # The best place to stop with half of the relevant text is after the first result.
        ("iP(budget=6,unit=tokens)@0.50", 1.0),
        ("iP(budget=6,unit=tokens)@0.75", 0.75),
        # Where the budget ends in the second result the precision is still 1.
        ("iP(budget=5,unit=tokens)@0.75", 1.0),
        ("iP(budget=6,unit=tokens)@0.76", 0.0),
        ("iP(budget=2,unit=results)@0.75", 30 / 70),
        ("iP(budget=30)@0.75", 1.0),
    ],
)
def test_worked_examples(measure: str, expected: float) -> None:
    assert foveal.evaluate(RUN, TRUTH, measure)["mine", measure] == pytest.approx(expected)


def test_without_tokens_a_budget_of_tokens_is_refused() -> None:
    bare = replace(RUN, tokens=None)
    some = replace(RUN, tokens=np.array([4, -1, 10]))
    for run, line in ((bare, 1), (some, 2)):
        with pytest.raises(InputError) as refused:
            foveal.evaluate(run, TRUTH, "charR(budget=4,unit=tokens)")
        (problem,) = refused.value.problems
        assert (problem.code, problem.file, problem.line) == ("run.tokens", "mine", line)


def test_repeated_text_is_free_under_union_at_its_share_of_tokens() -> None:
    run = replace(
        foveal.Run.from_results({"1": [("D1", 0, 20), ("D1", 10, 30), ("D2", 0, 10)]}, name="mine"),
        tokens=np.array([4, 8, 2]),
    )
    # 4 tokens, then the new half of the second result for 4 of its 8, then the third for 2.
    for budget, found in ((4, 10), (6, 15), (8, 20), (9, 25), (10, 30)):
        measure = f"charR(budget={budget},unit=tokens)"
        scores = foveal.evaluate(run, TRUTH, measure, overlap="union")
        assert scores["mine", measure] == pytest.approx(found / 40), budget


# -- naive against fast ------------------------------------------------------------------------


def naive_read(
    results: list[naive.Result], tokens: list[int], budget: int, *, union: bool
) -> list[naive.Char]:
    """The characters that the tokens pay for, one after the other."""
    left, read, seen = Fraction(budget), [], set()
    for (doc, start, end), cost in zip(results, tokens, strict=True):
        text = [(doc, at) for at in range(start, end)]
        new = [char for char in text if char not in seen] if union else text
        each = Fraction(cost, len(text)) if text else Fraction(0)
        price = each * len(new) if text or union else Fraction(cost)
        if price > left:
            return read + new[: int(left / each)] if each else read
        left -= price
        read += new
        seen.update(text)
    return read


@st.composite
def priced(draw: st.DrawFn) -> tuple[campaigns.Campaign, list[int]]:
    campaign = draw(campaigns.campaigns())
    return campaign, [draw(st.integers(0, 9)) for _ in campaign[0]]


@settings(max_examples=60)
@given(priced(), st.lists(st.integers(1, 60), min_size=1, max_size=6), st.booleans())
def test_fast_equals_naive(
    case: tuple[campaigns.Campaign, list[int]], budgets: list[int], union: bool
) -> None:
    (results, documents), tokens = case
    gold = Gold(campaigns.judgements_of(documents).combined())
    # The same results for another topic in front: places on the axis are not those of the topic.
    run = foveal.Run.from_results({"zz": results, "t": results} if results else {})
    run = replace(run, tokens=np.array(tokens * 2, dtype=np.int64))
    alignment = Alignment(run, gold, campaigns.overlap_of(union=union))
    relevant = {
        (name, at) for name, doc in documents.items() for a, b in doc.spans for at in range(a, b)
    }
    found = readings(alignment, np.array(budgets), "tokens")
    if not results:
        assert found.read.size == 0
        return
    for column, budget in enumerate(budgets):
        read = naive_read(results, tokens, budget, union=union)
        assert found.read[1, column] == found.read[0, column] == len(read)
        assert found.found[1, column] == sum(char in relevant for char in read)
        assert found.found[0, column] == 0  # nothing is relevant to the other topic
