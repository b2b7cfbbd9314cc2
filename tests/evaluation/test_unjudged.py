"""Unjudged results: the share of a run's top that is judged, and when it is worth a warning."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.evaluation.score_warnings import has_negative_judgements


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


def run_of(name: str = "r", **topics: str) -> foveal.Run:
    return foveal.Run.from_results(
        {topic: [(doc, i, i + 5) for i, doc in enumerate(docs)] for topic, docs in topics.items()},
        name=name,
    )


def scored(truth: foveal.Judgements, *runs: foveal.Run) -> foveal.Results:
    return foveal.evaluate(list(runs), truth, "num_ret", overlap="allow")


def share(run: foveal.Run, truth: foveal.Judgements) -> float:
    found: float = scored(truth, run).meta["unjudged"]["judged"][run.name]
    return found


def warning(truth: foveal.Judgements, *runs: foveal.Run) -> str | None:
    said = scored(truth, *runs).meta["warnings"]
    return next((text for text in said if text.startswith("unjudged results")), None)


rankings = st.dictionaries(
    st.sampled_from("tuw"), st.text("abxy", min_size=1, max_size=14), min_size=1
)


@given(rankings)
@settings(max_examples=50)
def test_it_is_the_measure_over_the_topics_of_the_run(topics: dict[str, str]) -> None:
    truth = judgements(t="Ab", u="A", w="b")
    run = run_of(**topics)
    results = foveal.evaluate(run, truth, "judged@10", topics="run", overlap="allow")
    assert share(run, truth) == pytest.approx(results["r", "judged@10"])


def test_judgements_of_relevant_documents_alone_are_told_from_pooled_ones() -> None:
    assert not has_negative_judgements(judgements(t="AB", u="A"))
    assert has_negative_judgements(judgements(t="Ab", u="ab"))
    # A stray one in half of the topics does not make a pool.
    assert not has_negative_judgements(judgements(t="Ab", u="A"))
    assert has_negative_judgements(judgements(t="Ab", u="Ab", w="A"))


def test_a_share_below_1_is_not_rounded_up() -> None:
    topics = {f"t{i}": "Ab" for i in range(300)}
    run = run_of(**dict.fromkeys(topics, "ab") | {"t0": "ax"})
    said = warning(judgements(**topics), run)
    assert said is not None
    assert said.endswith("r 0.99")


def test_the_meta_figure_is_not_the_measure() -> None:
    """The measure counts judged topics without results as 0, the figure leaves them out."""
    truth, run = judgements(t="Ab", u="A"), run_of(t="ab")
    assert foveal.evaluate(run, truth, "judged@10")["r", "judged@10"] == 0.5
    assert scored(truth, run).meta["unjudged"] == {"k": 10, "judged": {"r": 1.0}}


def test_no_warning_where_it_would_mean_nothing() -> None:
    assert warning(judgements(t="Ab"), run_of(t="ab")) is None
    assert warning(judgements(t="A"), run_of(t="xxxxxxxxxa")) is None
