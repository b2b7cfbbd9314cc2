"""Unjudged results: the share of a run's top that is judged, and when it is worth a warning."""

from __future__ import annotations

import numpy as np
import pytest
from foveal.evaluation.unjudged import (
    TOP,
    judged_share,
    lists_not_relevant,
    unjudged_meta,
    unjudged_warning,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.measures.alignment import Alignment, Gold


def judgements(**topics: str) -> foveal.Judgements:
    """Capital letters are relevant documents, small ones are judged not relevant."""
    return foveal.Judgements.from_highlights(
        {
            topic: {
                doc.lower(): {"length": 50, "spans": [(0, 9)] if doc.isupper() else []}
                for doc in docs
            }
            for topic, docs in topics.items()
        }
    )


def run_of(**topics: str) -> foveal.Run:
    return foveal.Run.from_results(
        {topic: [(doc, i, i + 5) for i, doc in enumerate(docs)] for topic, docs in topics.items()},
        name="r",
    )


def share(run: foveal.Run, truth: foveal.Judgements, k: int = TOP) -> float:
    return judged_share(Alignment(run, Gold(truth.combined())), k)


def test_the_share_of_judged_documents_is_averaged_over_topics() -> None:
    truth = judgements(t="Ab", u="a")
    # Topic t: a, b and a again of five results; topic u: a alone.
    assert share(run_of(t="abxya", u="a"), truth) == pytest.approx((3 / 5 + 1) / 2)


def test_only_the_first_results_are_looked_at() -> None:
    truth = judgements(t="A")
    assert share(run_of(t="a" * 10 + "xxx"), truth) == 1.0
    assert share(run_of(t="ax"), truth, k=1) == 1.0
    assert share(run_of(t="xa"), truth, k=1) == 0.0


def test_a_topic_without_results_says_nothing() -> None:
    assert share(run_of(t="a"), judgements(t="A", u="A")) == 1.0
    assert np.isnan(share(run_of(w="a"), judgements(t="A")))


rankings = st.dictionaries(
    st.sampled_from("tuw"), st.text("abxy", min_size=1, max_size=14), min_size=1
)


@given(rankings, st.integers(1, 12))
@settings(max_examples=50)
def test_it_is_the_measure_over_the_topics_of_the_run(topics: dict[str, str], k: int) -> None:
    truth = judgements(t="Ab", u="A", w="b")
    run = run_of(**topics)
    scored = foveal.evaluate(run, truth, f"judged@{k}", topics="run", overlap="allow")
    assert share(run, truth, k) == pytest.approx(scored["r", f"judged@{k}"])


def test_judgements_of_relevant_documents_alone_are_told_from_pooled_ones() -> None:
    assert not lists_not_relevant(judgements(t="AB", u="A"))
    assert lists_not_relevant(judgements(t="Ab", u="ab"))
    # A stray one in half of the topics is no pool.
    assert not lists_not_relevant(judgements(t="Ab", u="A"))
    assert lists_not_relevant(judgements(t="Ab", u="Ab", w="A"))


def test_runs_below_1_are_named_in_one_line_the_worst_first() -> None:
    truth = judgements(t="Ab")
    few = unjudged_warning({"good": 1.0, "bad": 0.5, "nearly": 0.9999}, truth)
    assert few == (
        "unjudged results count as not relevant; judged@10 on topics with results: "
        "bad 0.50, nearly 0.99"
    )
    many = unjudged_warning({f"r{i}": i / 10 for i in range(8)}, truth)
    assert many is not None
    assert many.endswith("r0 0.00, r1 0.10, r2 0.20, r3 0.30, r4 0.40 and 3 more runs")


def test_what_is_kept_is_not_named_like_the_measure() -> None:
    """The measure counts judged topics without results as 0, the figures leave them out."""
    truth, run = judgements(t="Ab", u="A"), run_of(t="ab")
    assert foveal.evaluate(run, truth, "judged@10")["r", "judged@10"] == 0.5
    kept = unjudged_meta({"r": share(run, truth), "s": float("nan")})
    assert kept == {"k": 10, "judged": {"r": 1.0, "s": None}}


def test_no_warning_where_it_would_say_nothing() -> None:
    assert unjudged_warning({"r": 1.0, "nothing": float("nan")}, judgements(t="Ab")) is None
    assert unjudged_warning({"r": 0.1}, judgements(t="A")) is None
