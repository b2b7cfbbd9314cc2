"""Measures on trial: what is expected, what is found, and the words for it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from foveal import InputError, UsageError
from foveal.analysis.fidelity import Fidelity, fidelity, try_measures
from foveal.analysis.simulation import (
    ELEMENTS,
    PARTS,
    RANKINGS,
    Ordering,
    expected_orderings,
    orderings_between,
    part_set,
    read_orderings,
    simulate,
)
from foveal.collection import Collection, build_index
from foveal.evaluation import Options
from foveal.formats import read_judgements
from foveal.measures import Measure, OverlapRule, all_measures
from foveal.model import Judgements, Results, Run
from shared_data import DATA
from xml_trees import index_of

JATS = DATA / "evidence_inference_v2"
needs_jats = pytest.mark.skipif(
    not (JATS / "xml_files.tar.xz").exists(), reason="the JATS articles are not beside the project"
)
DOCUMENTS = 40
TABLE_2 = """
SR SLR, SR SSR, SR SRS, SR SRI, SLR SLDR, SLR SLRS, SLR SLRI, SSR SSTR, SSR SSRS, SSR SSRI,
SRS SLRS, SRS SSRS, SRS SRSI, SRI SLRI, SRI SSRI, SRI SRSI, SLDR SLDRS, SLDR SLDRI, SLRS SLDRS,
SLRS SLRSI, SLRI SLDRI, SLRI SLRSI, SSTR SSTRS, SSTR SSTRI, SSRS SSTRS, SSRS SSRSI, SSRI SSTRI,
SSRI SSRSI, SRSI SLRSI, SRSI SSRSI, SLDRS SLDRSI, SLDRI SLDRSI, SLRSI SLDRSI, SSTRS SSTRSI,
SSTRI SSTRSI, SSRSI SSTRSI
"""
"""The rows of table 2 of the study, in its order."""


def article(chance: random.Random) -> str:
    """Sections of paragraphs with mixed content."""

    def text() -> str:
        return "x" * chance.randint(1, 30)

    def paragraphs() -> str:
        return "".join(
            f"<p>{text()}<b>{text()}</b>{text()}</p>" for _ in range(chance.randint(1, 4))
        )

    sections = [f"<s><t>{text()}</t>{paragraphs()}</s>" for _ in range(chance.randint(1, 4))]
    return f"<a>{text()}{''.join(sections)}</a>"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    chance = random.Random(4)
    files = {f"d{i:02}.xml": article(chance) for i in range(DOCUMENTS)}
    return index_of(tmp_path_factory.mktemp("generated"), files)


def campaign(collection: Collection, seed: int, topics: int) -> Judgements:
    """Topics with 2 to 30 relevant documents."""
    chance = random.Random(seed)
    length = dict(collection.documents.select("doc", "length").rows())
    judged = {}
    for topic in range(topics):
        entries = {}
        for doc in chance.sample(sorted(length), chance.randint(2, 30)):
            starts = [chance.randrange(length[doc]) for _ in range(chance.randint(1, 3))]
            spans = [(a, min(a + chance.randint(1, 120), length[doc])) for a in starts]
            entries[doc] = {"spans": spans, "length": length[doc]}
        judged[str(topic)] = entries
    return Judgements.from_highlights(judged)


@pytest.fixture(scope="module")
def trial(collection: Collection) -> Fidelity:
    return fidelity(campaign(collection, 7, 60), collection.path)


# -- what is expected ----------------------------------------------------------------------------


def test_the_orderings_are_the_rows_of_the_study() -> None:
    rows = [tuple(pair.split()) for pair in TABLE_2.replace("\n", " ").split(",")]
    assert [(o.better, o.worse) for o in expected_orderings()] == rows
    assert len(rows) == 36


def test_what_must_hold_on_every_topic() -> None:
    """All but the swaps of part sets that are not the highlighted text itself."""
    loose = {(o.better, o.worse) for o in expected_orderings() if not o.every}
    assert loose == {
        (f"{part}{first}", f"{part}{second}")
        for part in ("SL", "SLD", "SS", "SST")
        for first, second in (("R", "RS"), ("RI", "RSI"))
    }
    aspects = [o.aspect for o in expected_orderings()]
    assert {a: aspects.count(a) for a in aspects} == {
        "parts": 16,
        "insertion": 10,
        "swap": 5,
        "late swap": 5,
    }


def test_a_missing_part_set_is_bridged() -> None:
    pairs = [str(o) for o in expected_orderings(["S", "SLD"], ["R", "RI"])]
    assert pairs == ["SR >= SLDR", "SR >= SRI", "SRI >= SLDRI", "SLDR >= SLDRI"]


def test_missing_rankings_are_bridged_once() -> None:
    """Two documents swapped and another put first: certain for S, else a matter of the average."""
    found = expected_orderings(["S", "SLD"], ["R", "RSI"])
    assert [(str(o), o.every, o.aspect) for o in found] == [
        ("SR >= SLDR", True, "parts"),
        ("SR >= SRSI", True, "insertion and swap"),
        ("SLDR >= SLDRSI", False, "insertion and swap"),
        ("SRSI >= SLDRSI", True, "parts"),
    ]


def test_a_ranking_that_only_one_part_set_lacks_is_bridged_there() -> None:
    found = orderings_between(["SR", "SRSI", "SLR", "SLRI", "SLRSI"])
    assert [str(o) for o in found] == [
        "SR >= SLR",
        "SR >= SRSI",
        "SLR >= SLRI",
        "SLRI >= SLRSI",
        "SRSI >= SLRSI",
    ]


SPACE = [f"{part}{ranking}" for part in PARTS for ranking in RANKINGS]


def led_to(name: str, orderings: Sequence[Ordering]) -> set[str]:
    """All runs that the orderings, one after the other, put below this one."""
    below = {o.worse for o in orderings if o.better == name}
    return below.union(*(led_to(lower, orderings) for lower in below))


@settings(max_examples=60)
@given(names=st.sets(st.sampled_from(SPACE), min_size=2), empty=st.sampled_from(["keep", "omit"]))
def test_between_some_runs_nothing_is_expected_that_does_not_follow(
    names: set[str], empty: str
) -> None:
    whole = expected_orderings(empty=empty)
    strict = [o for o in whole if o.every]
    found = orderings_between(sorted(names), empty=empty)
    assert len({(o.better, o.worse) for o in found}) == len(found)
    for ordering in found:
        assert {ordering.better, ordering.worse} <= names
        assert ordering.worse in led_to(ordering.better, whole)
        assert ordering.every == (ordering.worse in led_to(ordering.better, strict))
        others = [o for o in found if o != ordering]
        assert ordering.worse not in led_to(ordering.better, others)  # said once


def test_documents_left_out_make_room_for_others() -> None:
    """Then nothing but the average is expected where SS or SST is the worse part set."""
    keep, omit = expected_orderings(), expected_orderings(empty="omit")
    assert [str(o) for o in keep] == [str(o) for o in omit]
    loosened = {
        (part_set(a.better), part_set(a.worse)) for a, b in zip(keep, omit, strict=True) if a != b
    }
    assert loosened == {("S", "SS"), ("SS", "SST")}
    assert sum(o.every for o in omit) == 20


# -- what is found on generated collections ------------------------------------------------------


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_agp_keeps_every_ordering_on_every_topic(collection: Collection, seed: int) -> None:
    found = fidelity(campaign(collection, seed, 3), collection.path, ["AgP", "AgPw(form=11)"])
    strict = [o for o in found.outcomes if o.expected == "every"]
    assert [str(o) for o in strict if o.losses] == []
    assert found.passed
    assert {found.scores[run, "AgP"] for run in ("SR", "SRS")} == {1.0}
    level = [o for o in strict if f"{o.better} >= {o.worse}" == "SRI >= SRSI"]
    assert [o.verdict for o in level] == ["equal", "equal"]


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_agp_passes_whatever_becomes_of_empty_documents(collection: Collection, seed: int) -> None:
    assert fidelity(campaign(collection, seed, 3), collection.path, "AgP", empty="omit").passed


def test_the_study_again(trial: Fidelity) -> None:
    """AgP sees both dimensions, AP misses the parts, AgP' of equation 8 fails behind a document."""
    assert [(v.measure, v.passed) for v in trial.verdicts] == [
        ("AgP", True),
        ("AgPw", False),
        ("AP", True),
    ]
    words = trial.sentences
    assert "AgP sees the parts: the 16 orderings hold, on every topic." in words
    assert "AP does not see the parts: all 16 orderings are equal on all 60 topics." in words
    assert (
        "AP does not see the swap of the first two documents: all 5 orderings are equal"
        in "".join(words)
    )
    assert "AgPw fails: 1 of the 28 orderings that must hold on every topic is broken." in words
    late = next(
        w for w in words if w.startswith("AgPw reverses the swap of the first two relevant")
    )
    assert "SRI is below SRSI on " in late
    (broken,) = [o for o in trial.of("AgPw") if o.verdict == "broken"]
    assert (f"{broken.better} >= {broken.worse}", broken.wins) == ("SRI >= SRSI", 0)
    assert broken.losses >= 50  # "almost every topic"
    assert broken.p < 0.01


def test_the_tables_of_the_study(trial: Fidelity) -> None:
    assert trial.scores.runs == tuple(f"{p}{r}" for p in PARTS for r in RANKINGS)
    assert trial.scores.measures[:3] == ("gP@1", "gP@2", "gP@10")
    assert len(trial.outcomes) == 3 * 36
    assert trial.to_frame().height == 3 * 36
    scores = trial.scores
    assert {scores[run, "gP@1"] for run in scores.runs if run.endswith("I")} == {0.0}
    assert {scores[f"{part}RI", "AP"] for part in PARTS} == {scores["SRI", "AP"]}
    first = trial.of("AgP")[0]
    assert first.difference == pytest.approx(scores["SR", "AgP"] - scores["SLR", "AgP"], abs=1e-9)


def test_p_is_that_of_scipy(trial: Fidelity) -> None:
    values = trial.scores.only(["AgP"]).values[:, :, 0]
    for outcome in trial.of("AgP"):
        first, second = (
            values[trial.scores.runs.index(name)] for name in (outcome.better, outcome.worse)
        )
        if outcome.verdict == "equal":
            assert outcome.p == 1
            assert np.allclose(first, second, atol=1e-12)
        else:
            assert outcome.p == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=1e-12)
        assert outcome.wins == (first > second + 1e-12).sum()
        assert outcome.losses == (second > first + 1e-12).sum()


def test_the_anomaly_by_hand() -> None:
    """50, 30 and 20 relevant characters, all scores 1 (METRICS 13.2)."""
    docs = {"A": 50, "B": 30, "C": 20}
    judged = {d: {"spans": [(0, n)], "length": n} for d, n in docs.items()}
    truth = Judgements.from_highlights({"1": {**judged, "D": {"spans": [], "length": 5}}})
    found = fidelity(truth, measures=["AgP", "AgPw", "AgPw(form=11)"])
    assert [round(found.scores["SRI", m], 4) for m in found.scores.measures] == [
        0.6389,
        0.6,
        0.6389,
    ]
    assert [round(found.scores["SRSI", m], 4) for m in found.scores.measures] == [
        0.6389,
        0.6333,
        0.6389,
    ]
    assert [v.passed for v in found.verdicts] == [True, False, True]
    assert found.verdicts[1].words[-1] == (
        "AgPw reverses the swap of the first two relevant documents behind a non-relevant one: "
        "SRI is below SRSI on the only topic; SLDRI is below SLDRSI on average (-3.3 %)."
    )
    assert all(np.isnan(o.p) for o in found.outcomes)  # one topic tests nothing
    assert json.loads(found.to_json())["orderings"][0]["p"] is None


def test_a_measure_of_which_less_is_better(collection: Collection) -> None:
    found = fidelity(campaign(collection, 1, 6), collection.path, ["T2Ieffort@1"])
    (effort,) = [o for o in found.of("T2Ieffort@1") if f"{o.better} >= {o.worse}" == "SR >= SRI"]
    scores = found.scores
    assert effort.wins > 0
    assert effort.difference == pytest.approx(
        scores["SRI", "T2Ieffort@1"] - scores["SR", "T2Ieffort@1"]
    )


def test_a_measure_is_not_blamed_for_documents_left_out(tmp_path: Path) -> None:
    """SST returns nothing of D1, so that D2, all of which it returns, moves up."""
    index_of(
        tmp_path,
        {
            "D1.xml": f"<a>{60 * 'x'}<p>yy<br/></p>{60 * 'z'}</a>",
            "D2.xml": f"<a><p>{50 * 'a'}</p><p>bbb</p></a>",
            "D3.xml": "<a>c</a>",
        },
    )
    judged = {"D1": {"spans": [(0, 120)]}, "D2": {"spans": [(0, 50)]}, "D3": {"spans": []}}
    truth = Judgements.from_highlights({"1": judged, "2": judged})
    kept = fidelity(truth, tmp_path / "index", "AgP")
    left = fidelity(truth, tmp_path / "index", "AgP", empty="omit")
    outcome = next(o for o in left.outcomes if f"{o.better} >= {o.worse}" == "SSR >= SSTR")
    assert (outcome.losses, outcome.expected, outcome.verdict) == (2, "mean", "reversed")
    assert (kept.passed, left.passed) == (True, True)
    assert (kept.meta["options"]["empty"], left.meta["options"]["empty"]) == ("keep", "omit")


def test_what_is_seen_and_what_is_not(collection: Collection) -> None:
    """More than the highlighted text costs charR nothing, less of it does."""
    (verdict,) = fidelity(campaign(collection, 2, 20), collection.path, "charR").verdicts
    assert verdict.words[1] == (
        "charR sees 8 of the 16 orderings of the parts, on every topic; "
        "does not tell S from SL, SL from SLD: equal on all 20 topics."
    )


def test_runs_are_named_where_only_some_of_a_pair_are_equal() -> None:
    scored = results(SR=[1.0], SLR=[1.0], SRI=[0.9], SLRI=[0.8])
    outcomes = try_measures(scored, orderings_between(scored.runs))
    assert [o.verdict for o in outcomes] == ["equal", "holds", "holds", "holds"]
    truth = Judgements.from_highlights(
        {"1": {"A": {"spans": [(0, 4)], "length": 9}, "B": {"spans": [], "length": 9}}}
    )
    own = [
        Run.from_results({"1": answers}, name=name)
        for name, answers in {
            "SR": [("A", 0, 4)],
            "SLR": [("A", 0, 4)],
            "SRI": [("B", 0, 9), ("A", 0, 4)],
            "SLRI": [("B", 0, 9), ("A", 0, 9)],
        }.items()
    ]
    words = fidelity(truth, measures="charP", runs=own).sentences
    assert words[1] == (
        "charP sees 1 of the 2 orderings of the parts, on every topic; "
        "does not tell SR from SLR: equal on the only topic."
    )


# -- measures of all kinds -----------------------------------------------------------------------


def spelled(measure: Measure) -> Measure:
    return measure @ measure.cutoff.example if measure.cutoff.required else measure


@pytest.mark.parametrize("measure", [spelled(measure) for measure in all_measures()], ids=str)
def test_every_measure_gets_a_verdict_or_one_clear_sentence(
    collection: Collection, measure: Measure
) -> None:
    truth = campaign(collection, 1, 4)
    try:
        found = fidelity(truth, collection.path, [measure])
    except (UsageError, InputError) as refused:
        said = str(refused)
        assert "\n" not in said
        assert measure.name in said
        assert not re.search(r"S\w*R:\d", said)  # no line of a file that does not exist
        assert measure.overlap_rule is OverlapRule.ONE_PER_DOCUMENT or measure.name in (
            *("num_ret", "num_rel", "num_rel_ret", "ret_size", "rel_size", "rel_ret_size"),
            "inex_eval_ng",  # of grades that highlighted text has not
        )
        return
    (verdict,) = found.verdicts
    assert verdict.measure == measure.label
    assert len(found.outcomes) == (24 if measure.structural else 36)
    assert len(verdict.words) == 5


def test_measures_of_elements_are_tried_with_elements(collection: Collection) -> None:
    found = fidelity(campaign(collection, 1, 6), collection.path, "MAep")
    assert found.simulation is not None
    assert (found.simulation.empty, found.meta["options"]["empty"]) == ("omit", "omit")
    assert found.scores.runs == tuple(f"{p}{r}" for p in ELEMENTS for r in RANKINGS)
    assert all(run.xpath is not None and not run.xpath.has_nulls() for run in found.simulation.runs)
    loose = {(o.better, o.worse) for o in found.orderings if o.aspect == "parts" and not o.every}
    assert loose == {(f"SS{r}", f"SST{r}") for r in RANKINGS}
    assert found.notes[0] == (
        "MAep: about elements, so tried without S, whose passages are none; documents of which "
        "nothing is returned are left out"
    )


def test_measures_of_text_and_of_elements_are_scored_with_their_own_runs(
    collection: Collection,
) -> None:
    truth = campaign(collection, 1, 6)
    both = fidelity(truth, collection.path, ["MAep", "AgP", "nxCG@10"])
    assert both.scores.measures == ("MAep", "AgP", "nxCG@10")
    assert [v.measure for v in both.verdicts] == ["MAep", "AgP", "nxCG@10"]
    for alone in (
        fidelity(truth, collection.path, ["AgP"]),
        fidelity(truth, collection.path, ["MAep", "nxCG@10"]),
    ):
        for measure in alone.scores.measures:
            assert both.of(measure) == alone.of(measure)
            for run in alone.scores.runs:
                assert both.scores[run, measure] == alone.scores[run, measure]
    assert np.isnan(both.scores["SR", "MAep"])
    titles = [table.title for table in both.tables(table="orderings")]
    assert titles == ["Expected orderings by MAep and nxCG@10", "Expected orderings by AgP"]
    scores = json.loads(both.to_json())["scores"]
    assert {"run": "SR", "measure": "MAep", "value": None} in scores


def test_options_of_elements_go_to_measures_of_elements(collection: Collection) -> None:
    truth = campaign(collection, 1, 6)
    found = fidelity(truth, collection.path, ["AgP", "MAep"], exclude_tags=("b",))
    assert found.of("AgP") == fidelity(truth, collection.path, "AgP").of("AgP")
    assert found.of("MAep") != fidelity(truth, collection.path, "MAep").of("MAep")


def test_measures_of_elements_take_a_collection(collection: Collection) -> None:
    with pytest.raises(
        UsageError, match=r"^MAep: about elements; .* take a collection \(--collection\)$"
    ):
        fidelity(campaign(collection, 1, 2), measures=["AgP", "MAep"])


def test_counts_are_scored_and_not_tried(collection: Collection) -> None:
    truth = campaign(collection, 1, 2)
    found = fidelity(truth, collection.path, ["num_ret", "AP"])
    assert found.scores.measures == ("num_ret", "AP")
    assert [v.measure for v in found.verdicts] == ["AP"]
    assert found.notes[0] == "scored, but not tried, for they only count: num_ret"
    own = fidelity(truth, collection.path, "num_ret", orderings=[Ordering("SRI", "SR")])
    assert own.passed  # who says what is expected of a count may try it


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("overlap", "drop"),
        ("regroup", True),
        ("snap", True),
        ("truncate", True),
        ("lenient", True),
        ("max_results", 5),
        ("topic_limit", 100),
        ("document_limit", 100),
    ],
)
def test_what_alters_simulated_runs_is_refused_and_own_runs_take_it(
    collection: Collection, option: str, value: object
) -> None:
    truth = campaign(collection, 1, 3)
    name = "--" + option.replace("_", "-")
    with pytest.raises(UsageError, match=f"^{name} alters runs, and the order of simulated ones"):
        fidelity(truth, collection.path, ["AgP"], **{option: value})
    runs = simulate(truth, collection.path).runs
    own = {option: value, **({"truncate": True} if option.endswith("limit") else {})}
    assert fidelity(truth, collection.path, ["AP"], runs=runs, **own).verdicts
    usual = getattr(Options(), option)
    assert fidelity(truth, collection.path, ["AP"], **{option: usual}).passed


def test_elements_stay_as_they_are_when_they_snap(collection: Collection) -> None:
    truth = campaign(collection, 1, 3)
    snapped = fidelity(truth, collection.path, ["MAep", "AgP"], snap=True)
    assert snapped.outcomes == fidelity(truth, collection.path, ["MAep", "AgP"]).outcomes


def test_the_limits_of_a_task_are_for_own_runs(collection: Collection) -> None:
    truth = campaign(collection, 1, 3)
    found = fidelity(truth, collection.path, task="2010.RestrictedFocused")
    assert found.scores.measures == ("charP(budget=1000)",)
    assert found.notes[0] == (
        "2010.RestrictedFocused: simulated runs are not held to the limits of the task"
    )
    assert found.meta["options"]["task"] == "2010.RestrictedFocused"


def test_what_a_measure_lacks_is_said_of_the_simulated_run() -> None:
    entries = {"A": {"spans": [(0, 4)]}, "B": {"spans": []}}
    with pytest.raises(UsageError, match=r"^simulated run SRI: charP needs the place of every"):
        fidelity(Judgements.from_highlights({"1": entries}), measures="charP")


def test_documents_put_first_on_purpose_are_no_surprise(collection: Collection) -> None:
    """The second topic has no judged document to put first, but an unjudged one."""
    judged = {
        "1": {"d00": {"spans": [(0, 9)]}, "d01": {"spans": []}},
        "2": {"d00": {"spans": [(0, 9)]}, "d01": {"spans": []}},
        "3": {"d00": {"spans": [(0, 9)]}},
    }
    truth = Judgements.from_highlights(judged)
    found = fidelity(truth, collection.path, "AP")
    assert [note for note in found.notes if "unjudged" in note] == []
    assert found.simulation is not None
    own = fidelity(truth, collection.path, "AP", runs=found.simulation.runs)
    assert any(note.startswith("unjudged results count as not relevant") for note in own.notes)


def test_charp_does_not_see_rankings_but_the_intruder(collection: Collection) -> None:
    found = fidelity(campaign(collection, 2, 20), collection.path, ["charP"])
    words = "\n".join(found.sentences)
    assert "charP does not see the swap of the first two documents" in words
    assert "charP sees a non-relevant document put first: the 10 orderings hold" in words


# -- one relevant document a topic ---------------------------------------------------------------


def test_one_relevant_document_tries_the_parts_only(collection: Collection) -> None:
    judged = {str(t): {f"d{t:02}": {"spans": [(5, 40)]}} for t in range(8)}
    found = fidelity(Judgements.from_highlights(judged), collection.path)
    assert found.passed
    assert "AgPw is not tried on swaps: no topic has two relevant documents." in found.sentences
    assert not any("the swap" in sentence for sentence in found.sentences)


@needs_jats
def test_real_articles(tmp_path: Path) -> None:
    """Evidence Inference: one relevant article a topic."""
    build_index(JATS / "xml_files.tar.xz", tmp_path / "index")
    truth = read_judgements(JATS / "xml_qrels.jsonl")
    some = truth.for_topics(truth.topics[::4])
    found = fidelity(some, tmp_path / "index", ["AgP", "AP"])
    assert found.simulation is not None
    assert len(found.simulation.topics) == 607
    assert found.simulation.swapped == 0
    assert [o for o in found.outcomes if o.losses] == []
    words = found.sentences
    assert "AgP sees the parts: the 16 orderings hold, on every topic." in words
    assert "AP does not see the parts: all 16 orderings are equal on all 607 topics." in words
    means = [found.scores[f"{part}R", "AgP"] for part in PARTS]
    assert means[0] == 1
    assert means[0] > means[1] > means[2] > 0
    assert means[0] > means[3] > means[4] > 0


# -- verdicts ------------------------------------------------------------------------------------


def results(**scores: list[float]) -> Results:
    rows = [(run, str(t), "AP", v) for run, values in scores.items() for t, v in enumerate(values)]
    return Results.from_tidy(rows, {})


@pytest.mark.parametrize(
    ("first", "second", "every", "verdict"),
    [
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5 + 1e-13], True, "equal"),
        ([0.5, 0.5, 0.6], [0.5, 0.5, 0.5], True, "holds"),
        ([0.9, 0.9, 0.4], [0.5, 0.5, 0.5], True, "broken"),
        ([0.9, 0.9, 0.4], [0.5, 0.5, 0.5], False, "holds"),
        ([0.6, 0.4, 0.45], [0.5, 0.5, 0.5], False, "below"),
        ([0.4, 0.41, 0.42], [0.5, 0.5, 0.5], False, "reversed"),
    ],
)
def test_verdicts(first: list[float], second: list[float], every: bool, verdict: str) -> None:
    (found,) = try_measures(results(a=first, b=second), [Ordering("a", "b", every)])
    assert found.verdict == verdict
    assert found.wins + found.ties + found.losses == 3


def test_topics_that_are_undefined_for_a_run_are_left_out_for_both() -> None:
    scored = results(a=[0.5, float("nan"), 0.2], b=[0.1, 0.9, 0.1])
    (found,) = try_measures(scored, [Ordering("a", "b")])
    assert (found.wins, found.losses) == (2, 0)
    with pytest.raises(UsageError, match="AP is defined on no topic for all runs"):
        try_measures(results(a=[float("nan")], b=[0.1]), [Ordering("a", "b")])


# -- own runs and expectations -------------------------------------------------------------------


def test_own_runs_with_own_expectations(collection: Collection, tmp_path: Path) -> None:
    truth = campaign(collection, 3, 5)
    runs = {run.name: run for run in simulate(truth, collection.path).runs}
    path = tmp_path / "expected"
    path.write_text("# mine\nSR SLDR\n\nSLDR >= SLDRI mean  # loosely\nSLDRI >= SR every\n")
    own = [runs[name] for name in ("SR", "SLDR", "SLDRI")]
    found = fidelity(truth, collection.path, ["AgP"], runs=own, orderings=path)
    assert [(o.better, o.worse, o.expected, o.verdict) for o in found.outcomes] == [
        ("SR", "SLDR", "every", "holds"),
        ("SLDR", "SLDRI", "mean", "holds"),
        ("SLDRI", "SR", "every", "broken"),
    ]
    assert found.sentences == (
        "AgP fails: 1 of the 2 orderings that must hold on every topic is broken.",
        "AgP does not always see the expected differences: SLDRI is below SR on 5 of 5 topics.",
    )


def test_own_runs_named_as_in_the_space_need_no_expectations(collection: Collection) -> None:
    truth = campaign(collection, 3, 5)
    runs = [run for run in simulate(truth, collection.path).runs if run.name.startswith("SLD")]
    found = fidelity(truth, collection.path, ["AgP"], runs=runs)
    assert [str(o) for o in found.orderings] == [
        "SLDR >= SLDRS",
        "SLDR >= SLDRI",
        "SLDRS >= SLDRSI",
        "SLDRI >= SLDRSI",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"orderings": []}, "no ordering given; expected some, or None for those of the S-R space"),
        ({"level": 0.0}, "level 0.0 is not possible; expected a number between 0 and 1"),
        ({"level": 1}, "level 1 is not possible"),
        ({"empty": "drop"}, "'drop' is no way with empty documents; expected some of keep, omit"),
        ({"empty": "keep", "measures": "MAep"}, "--empty keep is for measures of text; MAep: "),
        ({"measures": "BEPD"}, "BEPD: about one entry point in each document"),
        ({"measures": "nDCG"}, "unknown measure 'nDCG'"),
    ],
)
def test_wrong_use(collection: Collection, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}"):
        fidelity(campaign(collection, 3, 2), collection.path, **options)


def test_empty_documents_are_a_matter_of_simulated_runs(collection: Collection) -> None:
    truth = campaign(collection, 3, 2)
    runs = simulate(truth, collection.path).runs
    with pytest.raises(UsageError, match="--empty is about simulated runs; these are your own"):
        fidelity(truth, collection.path, "AgP", runs=runs, empty="keep")


def test_a_level_of_significance_is_a_probability() -> None:
    with pytest.raises(UsageError, match="level 2 is not possible"):
        try_measures(results(a=[0.5], b=[0.1]), [Ordering("a", "b")], level=2)


def test_runs_of_unknown_order_are_refused(collection: Collection) -> None:
    truth = campaign(collection, 3, 5)
    (run, *_) = simulate(truth, collection.path).runs
    with pytest.raises(UsageError, match=r"the order of these runs is not known \(SR\)"):
        fidelity(truth, collection.path, ["AgP"], runs=[run])
    with pytest.raises(UsageError, match="no run 'SX' to compare; the runs are SR"):
        fidelity(truth, collection.path, ["AgP"], runs=[run], orderings=[Ordering("SR", "SX")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n", ":1: 'a' is no ordering; expected 'better >= worse [every|mean]'"),
        ("a b\na > b x\n", ":2: 'a > b x' is no ordering"),
        ("a >=\n", ":1: 'a >=' is no ordering"),
        ("a >= b sometimes\n", ":1: 'a >= b sometimes' is no ordering"),
        ("\na >= c\n", ":2: no run 'c'; the runs are a, b"),
        ("a a\n", ":1: run 'a' is compared with itself"),
        ("# nothing\n", ": no ordering in the file"),
    ],
)
def test_bad_expectations(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "expected"
    path.write_text(text)
    with pytest.raises(InputError) as bad:
        read_orderings(path, ["a", "b"])
    assert str(bad.value).removeprefix(str(path)).startswith(message)


@pytest.mark.parametrize(
    ("line", "pair", "every"),
    [
        ("a>=b", ("a", "b"), True),
        ("a>= b mean", ("a", "b"), False),
        ("a >=b  # why", ("a", "b"), True),
        ('"my run" >= b', ("my run", "b"), True),
        ("'my run'>=\"a\" mean # why", ("my run", "a"), False),
        ('"x # y" b', ("x # y", "b"), True),
        ("it's a", ("it's", "a"), True),
    ],
)
def test_names_with_blanks_and_signs_without(
    tmp_path: Path, line: str, pair: tuple[str, str], every: bool
) -> None:
    path = tmp_path / "expected"
    path.write_text(f"{line}\n")
    (found,) = read_orderings(path, ["a", "b", "my run", "x # y", "it's"])
    assert ((found.better, found.worse), found.every) == (pair, every)


# -- the figure ----------------------------------------------------------------------------------


def test_the_figure_has_a_curve_for_each_part_set(collection: Collection) -> None:
    truth = campaign(collection, 6, 5)
    found = fidelity(truth, collection.path, ["igP@curve", "AgP"])
    (graph,) = found.graphs()
    assert [line.name for line in graph.lines] == [f"{part}R" for part in PARTS]
    assert graph.lines[0].y.tolist() == [1.0] * 11
    curve = next(line for line in graph.lines if line.name == "SLDR")
    assert curve.x.tolist() == pytest.approx([i / 10 for i in range(11)])
    assert curve.y[5] == found.scores["SLDR", found.scores.measures[5]]
    assert fidelity(truth, collection.path, "AgP").graphs() == []
    with pytest.raises(UsageError, match="unknown ranking 'RX'"):
        found.graphs(ranking="RX")


def test_the_same_bytes_again(collection: Collection) -> None:
    truth = campaign(collection, 5, 4)
    first = fidelity(truth, collection.path).to_json()
    assert fidelity(truth, collection.path).to_json() == first
    meta = json.loads(first)["meta"]
    assert meta["options"]["measures"][6] == "AgP"
    assert {*meta} >= {"version", "inputs", "topics", "skipped", "warnings"}
