"""Measures on trial: what is expected, what is found, and the words for it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from foveal import InputError, UsageError
from foveal.analysis.orderings import Ordering, expected_orderings, read_orderings
from foveal.analysis.simulation import PARTS, RANKINGS, simulate
from foveal.analysis.trials import Fidelity, fidelity, try_measures
from foveal.collection import Collection, build_index
from foveal.formats import read_judgements
from foveal.model import Judgements, Results
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
    text = lambda: "x" * chance.randint(1, 30)  # noqa: E731
    paragraphs = lambda: "".join(  # noqa: E731
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


# -- what is found on generated collections ------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_agp_keeps_every_ordering_on_every_topic(collection: Collection, seed: int) -> None:
    found = fidelity(campaign(collection, seed, 3), collection.path, ["AgP", "AgPw(form=11)"])
    strict = [o for o in found.outcomes if o.ordering.every]
    assert [str(o) for o in strict if o.losses] == []
    assert found.passed
    assert {found.scores[run, "AgP"] for run in ("SR", "SRS")} == {1.0}
    level = [o for o in strict if str(o.ordering) == "SRI >= SRSI"]
    assert [o.verdict for o in level] == ["equal", "equal"]


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
    assert (str(broken.ordering), broken.wins) == ("SRI >= SRSI", 0)
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
            values[trial.scores.runs.index(name)]
            for name in (outcome.ordering.better, outcome.ordering.worse)
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
    assert found.verdicts[1].sentences[-1] == (
        "AgPw reverses the swap of the first two relevant documents behind a non-relevant one: "
        "SRI is below SRSI on the only topic; SLDRI is below SLDRSI on average (-3.3 %)."
    )
    assert all(np.isnan(o.p) for o in found.outcomes)  # one topic tests nothing
    assert json.loads(found.to_json())["orderings"][0]["p"] is None


def test_any_measure_can_be_tried(collection: Collection) -> None:
    """Also one of elements, for which passages are snapped, and one of which less is better."""
    truth = campaign(collection, 1, 6)
    found = fidelity(truth, collection.path, ["MAep", "T2Ieffort@1"], snap=True)
    assert len(found.outcomes) == 2 * 36
    (effort,) = [o for o in found.of("T2Ieffort@1") if str(o.ordering) == "SR >= SRI"]
    scores = found.scores
    assert effort.wins > 0
    assert effort.difference == pytest.approx(
        scores["SRI", "T2Ieffort@1"] - scores["SR", "T2Ieffort@1"]
    )


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
    assert [(str(o.ordering), o.ordering.every, o.verdict) for o in found.outcomes] == [
        ("SR >= SLDR", True, "holds"),
        ("SLDR >= SLDRI", False, "holds"),
        ("SLDRI >= SR", True, "broken"),
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


def test_the_same_bytes_again(collection: Collection) -> None:
    truth = campaign(collection, 5, 4)
    first = fidelity(truth, collection.path).to_json()
    assert fidelity(truth, collection.path).to_json() == first
    meta = json.loads(first)["meta"]
    assert meta["options"]["measures"][6] == "AgP"
    assert {*meta} >= {"version", "inputs", "topics", "skipped", "warnings"}
