"""Pools: what each strategy takes and in which order, units, budgets, overlap of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.analysis.pooling import (
    DEPTH,
    NOT_RELEVANT,
    RELEVANT,
    STRATEGIES,
    UNJUDGED,
    Lists,
    Pooling,
    choose_units,
    pool,
)
from foveal.files.source import Source
from inputs import refusal
from xml_trees import index_of

Ranking = Sequence[str]
R, N, U = RELEVANT, NOT_RELEVANT, UNJUDGED


# -- strategies on the lists of one topic ------------------------------------------------------


def choose(
    strategy: str,
    *runs: Ranking,
    known: dict[str, int] | None = None,
    budget: int | None = None,
) -> list[str]:
    """The pool of rankings, each a string or list of names."""
    names = sorted({name for run in runs for name in run})
    rank = [[list(run).index(name) + 1 if name in run else 0 for run in runs] for name in names]
    ranks = np.array(rank, dtype=np.int64).reshape(len(names), len(runs))
    judged = np.array([(known or {}).get(name, U) for name in names], dtype=np.int64)
    chosen = choose_units(strategy, Lists(ranks, judged), budget)
    return [names[i] for i in chosen.tolist()]


def test_depth_takes_the_best_ranks_first_then_what_more_runs_return() -> None:
    assert choose("depth", "abc", "dbe", "dbf") == ["d", "a", "b", "c", "e", "f"]


rankings = st.lists(
    st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=8), min_size=1, max_size=4
)
opinions = st.dictionaries(st.sampled_from("abcdefghij"), st.sampled_from([R, N]), max_size=8)
budgets = st.none() | st.integers(1, 6)


def naive_round_robin(runs: Sequence[Ranking]) -> list[str]:
    order: list[str] = []
    for depth in range(max(map(len, runs))):
        for turn in range(len(runs)):
            run = runs[(depth + turn) % len(runs)]
            if depth < len(run) and run[depth] not in order:
                order.append(run[depth])
    return order


def naive_move_to_front(runs: Sequence[Ranking], known: dict[str, int]) -> list[str]:
    """Everything in the order it comes to light."""
    priority, waited = [0] * len(runs), list(range(len(runs), 0, -1))
    order: list[str] = []
    at_work: int | None = None
    while True:
        left = [[name for name in run if name not in order] for run in runs]
        able = [i for i, run in enumerate(left) if run]
        if not able:
            return order
        if at_work not in able:
            at_work = max(able, key=lambda i: (priority[i], waited[i]))
        name = left[at_work][0]
        order.append(name)
        if known.get(name, U) != R:
            priority[at_work] -= known.get(name, U) == N
            waited = [turns + 1 for turns in waited]
            waited[at_work] = 0
            at_work = None


def naive_hedge(runs: Sequence[Ranking], known: dict[str, int]) -> list[str]:
    """The documents that are not judged, those with the greatest weighted worth first."""
    longest = max(map(len, runs)) + 1
    names = {name for run in runs for name in run}

    def worth(run: Ranking, name: str) -> float:
        place = list(run).index(name) + 1 if name in run else longest
        return math.log(longest / place) / 2

    weight = [1.0] * len(runs)
    for name in names & set(known):
        sign = 1 if known[name] == N else -1
        weight = [w * 0.1 ** (sign * worth(run, name)) for w, run in zip(weight, runs, strict=True)]

    def best_first(name: str) -> tuple[float, int, int, str]:
        pairs = zip(weight, runs, strict=True)
        score = sum(w / sum(weight) * worth(run, name) for w, run in pairs)
        places = [list(run).index(name) for run in runs if name in run]
        return -round(score, 11), min(places), -len(places), name

    return sorted(names - set(known), key=best_first)


@given(rankings)
@settings(max_examples=60)
def test_round_robin_is_what_dealing_cards_gives(runs: list[list[str]]) -> None:
    assert choose("round-robin", *runs) == naive_round_robin(runs)


@given(rankings, opinions)
@settings(max_examples=60)
def test_move_to_front_is_what_following_its_rules_gives(
    runs: list[list[str]], known: dict[str, int]
) -> None:
    unjudged = [name for name in naive_move_to_front(runs, known) if name not in known]
    assert choose("move-to-front", *runs, known=known) == unjudged


@given(rankings, opinions)
@settings(max_examples=60)
def test_hedge_is_what_following_its_rules_gives(
    runs: list[list[str]], known: dict[str, int]
) -> None:
    assert choose("hedge", *runs, known=known) == naive_hedge(runs, known)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(runs=rankings, known=opinions, budget=budgets)
@settings(max_examples=40)
def test_every_strategy_keeps_the_terms(
    strategy: str, runs: list[list[str]], known: dict[str, int], budget: int | None
) -> None:
    whole = choose(strategy, *runs, known=known)
    assert sorted(whole) == sorted({name for run in runs for name in run} - set(known))
    assert choose(strategy, *runs, known=known, budget=budget) == whole[:budget]


# -- pools of runs -----------------------------------------------------------------------------


def run_of(name: str, **topics: str) -> foveal.Run:
    """A run of whole words: ``t1="a b:0-9"`` is document a from 0 to 5, then b from 0 to 9."""
    results = {}
    for topic, text in topics.items():
        parsed = [word.partition(":") for word in text.split()]
        places = [(doc, (place or "0-5").split("-")) for doc, _, place in parsed]
        results[topic] = [(doc, int(start), int(end)) for doc, (start, end) in places]
    return foveal.Run.from_results(results, name=name)


def docs(pooling: Pooling, topic: str = "t") -> list[str]:
    return pooling.pool.topic(topic)["doc"].to_list()


def test_support_is_all_that_any_run_returned_of_a_pooled_document() -> None:
    runs = [run_of("r", t="a:0-5 b a:7-9"), run_of("s", t="c a:0-5")]
    found = pool(runs, depth=1)
    (of_a,) = found.pool.entries.filter(doc="a")["support"].to_list()
    assert [(s["run"], s["rank"], s["start"], s["end"]) for s in of_a] == [
        ("r", 1, 0, 5),
        ("s", 2, 0, 5),
        ("r", 3, 7, 9),
    ]


def test_the_same_span_of_two_runs_is_one_and_overlapping_ones_are_two() -> None:
    runs = [run_of("r", t="a:0-5 a:0-5 a:3-9"), run_of("s", t="a:0-5 a:0-6")]
    entries = pool(runs, unit="span").pool.entries
    assert entries.select("doc", "start", "end", "rank").rows() == [
        ("a", 0, 5, 1),
        ("a", 0, 6, 2),
        ("a", 3, 9, 2),
    ]
    assert entries["runs"].list.len().to_list() == [2, 1, 1]


def elements(name: str, *results: str) -> foveal.Run:
    """A run of elements of document a."""
    lines = (f"t Q0 a {i} {-i} {name} {xpath}\n" for i, xpath in enumerate(results, 1))
    return foveal.read_run(Source.of_text("".join(lines), f"{name}.run"))


def test_elements_are_pooled_by_their_paths() -> None:
    runs = [elements("r", "/x[1]/p[1]", "/x/p[2]"), elements("s", "/x[1]/p[2]")]
    entries = pool(runs, unit="element").pool.entries
    assert entries.select("doc", "xpath", "rank").rows() == [
        ("a", "/x[1]/p[2]", 1),
        ("a", "/x[1]/p[1]", 1),
    ]
    assert entries["start"].null_count() == 2


def test_a_whole_document_is_one_element_however_it_is_named() -> None:
    """A path of one step is all of the document, and so is the document without a path."""
    whole = foveal.read_run(Source.of_text("t Q0 a 1 -1 w\nt Q0 b 2 -2 w\n", "w.run"))
    runs = [elements("r", "/x[1]", "/x[1]/p[1]"), elements("s", "/x"), whole]
    entries = pool(runs, unit="element").pool.entries
    assert entries.select("doc", "xpath", "rank").rows() == [
        ("a", None, 1),
        ("a", "/x[1]/p[1]", 2),
        ("b", None, 2),
    ]
    assert entries["runs"].list.len().to_list() == [3, 1, 1]


def test_results_of_unknown_place_need_a_collection() -> None:
    said = refusal(lambda: pool(elements("r", "/x[1]/p[1]"), unit="span"))
    assert said.startswith("r.run:1: the span of this result is not known; give a collection")
    said = refusal(lambda: pool(run_of("r", t="a:3-9"), unit="element"))
    assert said.startswith("r:1: the element of this result is not known; give a collection")


def test_a_collection_tells_what_is_the_same(tmp_path: Path) -> None:
    # The second paragraph of a is [3, 8).
    index_of(tmp_path, {"a.xml": "<x><p>one</p><p>other</p></x>"})
    index = tmp_path / "index"
    runs = [elements("r", "/x[1]/p[2]", "/x[1]"), run_of("s", t="a:3-8")]
    spans = pool(runs, unit="span", collection=index).pool.entries
    assert spans.select("start", "end", "rank").rows() == [(3, 8, 1), (0, 8, 2)]
    assert spans["runs"].list.len().to_list() == [2, 1]
    paths = pool(runs, unit="element", collection=index).pool.entries
    assert paths["xpath"].to_list() == ["/x[1]/p[2]", "/x[1]"]
    (support,) = pool(runs, collection=index).pool.entries["support"].to_list()
    assert {(s["run"], s["start"], s["end"]) for s in support} == {
        ("r", 3, 8),
        ("r", 0, 8),
        ("s", 3, 8),
    }


def test_a_passage_can_be_taken_for_the_element_around_it(tmp_path: Path) -> None:
    index_of(tmp_path, {"a.xml": "<x><p>one</p><p>other</p></x>"})
    run, index = run_of("r", t="a:4-6"), tmp_path / "index"
    assert "is not an element" in refusal(lambda: pool(run, unit="element", collection=index))
    taken = pool(run, unit="element", collection=index, snap=True)
    assert taken.pool.entries["xpath"].to_list() == ["/x[1]/p[2]"]
    assert taken.warnings == ("r: results mapped to the smallest element around them: 1",)


def judged(**topics: str) -> foveal.Judgements:
    """``t="a:0-5 b"``: text of a is relevant, b is judged not relevant."""
    entries = {}
    for topic, text in topics.items():
        parsed = [word.partition(":") for word in text.split()]
        entries[topic] = {
            doc: {"length": 50, "spans": [tuple(map(int, place.split("-")))] if place else []}
            for doc, _, place in parsed
        }
    return foveal.Judgements.from_highlights(entries)


def test_what_is_judged_is_left_out_and_costs_no_budget() -> None:
    run = run_of("r", t="a b c d", u="a")
    found = pool(run, budget=2, strategy="round-robin", judgements=judged(t="a:0-5 c"))
    assert docs(found) == ["b", "d"]
    assert docs(found, "u") == ["a"]  # judged for another topic only
    assert found.pool.entries["relevant"].null_count() == 3


def test_a_span_of_a_judged_document_is_judged() -> None:
    run = run_of("r", t="a:0-5 a:20-30 b:0-5")
    found = pool(run, unit="span", judgements=judged(t="a:0-9"))
    assert docs(found) == ["b"]
    assert found.statistics.topics.rows() == [("t", 3, 2, 1)]


def test_how_deep_a_pool_goes_by_default() -> None:
    run = foveal.Run.from_results({"t": [(f"d{i:04}", 0, 5) for i in range(500)]})
    assert DEPTH == 100
    assert len(pool(run).pool) == 100
    assert len(pool(run, budget=300).pool) == 100
    assert len(pool(run, budget=300, strategy="round-robin").pool) == 300
    assert len(pool(run, budget=300, depth=200, strategy="round-robin").pool) == 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "best"}, "unknown strategy 'best'; expected depth or round-robin or"),
        ({"unit": "word"}, "unknown unit 'word'; expected document or span or element"),
        ({"depth": 0}, "depth 0; expected a whole number from 1"),
        ({"budget": 0}, "budget 0; expected a whole number from 1"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    said = refusal(lambda: pool(run_of("r", t="a"), **options), error=foveal.UsageError)
    assert said.startswith(message)


def test_strategies_that_learn_say_what_they_do_without_judgements() -> None:
    run = run_of("r", t="a")
    assert pool(run, strategy="hedge").warnings == (
        "hedge learns from judgements, and there are none (--judgements)",
    )
    assert pool(run, strategy="hedge", judgements=judged(t="a")).warnings == ()
    assert pool(run, judgements=judged(x="a")).warnings == (
        "the judgements have no topic in common with the runs",
    )


campaigns = st.lists(
    st.dictionaries(
        st.sampled_from(["t", "u", "10", "9"]),
        st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8),
        min_size=1,
    ),
    min_size=1,
    max_size=4,
)
Campaign = list[dict[str, list[str]]]


def runs_of(campaign: Campaign) -> list[foveal.Run]:
    """The same document may come several times."""
    return [
        foveal.Run.from_results(
            {
                topic: [(doc, i, i + 5) for i, doc in enumerate(ranked)]
                for topic, ranked in t.items()
            },
            name=f"run{number}",
        )
        for number, t in enumerate(campaign)
    ]


@given(campaigns, st.integers(1, 5))
@settings(max_examples=40)
def test_a_depth_pool_is_the_union_of_the_tops(campaign: Campaign, depth: int) -> None:
    expected: dict[str, set[str]] = {}
    for run in campaign:
        for topic, ranked in run.items():
            expected.setdefault(topic, set()).update(list(dict.fromkeys(ranked))[:depth])
    entries = pool(runs_of(campaign), depth=depth).pool.entries
    found: dict[str, set[str]] = {}
    for topic, doc in entries.select("topic", "doc").iter_rows():
        found.setdefault(topic, set()).add(doc)
    assert found == expected
    assert len(entries) == sum(map(len, expected.values()))


@given(campaigns)
@settings(max_examples=30)
def test_once_a_pool_is_judged_nothing_to_its_depth_is_unjudged(campaign: Campaign) -> None:
    runs = runs_of(campaign)
    entries = pool(runs, depth=3).pool.entries
    truth: dict[str, dict[str, dict[str, object]]] = {}
    for topic, doc in entries.select("topic", "doc").iter_rows():
        truth.setdefault(topic, {})[doc] = {"spans": [], "length": 99}
    judgements = foveal.Judgements.from_highlights(truth)
    scores = foveal.evaluate(runs, judgements, "judged@3", topics="run")
    assert set(scores.overall.ravel().tolist()) == {1.0}
    again = pool(runs, depth=3, judgements=judgements)
    assert len(again.pool) == 0
    assert set(again.statistics.runs["covered"].to_list()) == {1.0}


def test_contributions_by_hand() -> None:
    runs = [run_of("r", t="a b c", u="a"), run_of("s", t="b d"), run_of("s2", t="b")]
    found = pool(runs, depth=2, judgements=judged(t="b:0-5")).statistics
    # To depth 2: topic t has a b d, b is judged; topic u has a.
    assert found.topics.rows() == [("t", 3, 1, 2), ("u", 1, 0, 1)]
    assert found.runs.rows() == [
        ("r", 2, 3, 1, 2, 2, 1.0),
        ("s", 1, 2, 1, 1, 1, 1.0),
        ("s2", 1, 1, 1, 0, 0, 1.0),
    ]
