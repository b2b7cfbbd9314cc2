"""Overlap indicators on several topics of unequal length, with results that hold no text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
import naive

INDICATORS = ("SetOverlap", "ListOverlap", "MeanOverlap", "Redundancy")
LENGTH = 5
TRUTH = foveal.Judgements.from_highlights(
    {
        topic: {doc: {"spans": [(0, 2)], "length": LENGTH} for doc in "ab"}
        for topic in ("1", "2", "3")
    }
)

results = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, LENGTH), st.integers(0, LENGTH)).map(
        lambda drawn: (drawn[0], min(drawn[1:]), max(drawn[1:]))
    ),
    max_size=8,
)


@settings(max_examples=60)
@given(st.fixed_dictionaries(dict.fromkeys(("1", "2", "3"), results)))
def test_indicators_equal_the_naive_ones(ranked: dict[str, list[naive.Result]]) -> None:
    ranked["2"] = ranked["2"] or [("a", 0, 1)]  # a run holds something
    cutoffs = (None, 1, 2, 5, 20)
    asked = [name if k is None else f"{name}@{k}" for name in INDICATORS for k in cutoffs]
    run = foveal.Run.from_results({t: own for t, own in ranked.items() if own}, name="run")
    found = foveal.evaluate(run, TRUTH, asked)
    for i, topic in enumerate(found.topics):
        own = ranked[topic]
        expected = [getattr(naive, name)(own, {}, k=k) for name in INDICATORS for k in cutoffs]
        assert found.values[0, i].tolist() == pytest.approx(expected, abs=1e-12), topic
