"""nDCG, RR, Success, Rprec, RBP, ERR, Bpref and infAP equal their peers and a naive computation."""

from __future__ import annotations

import math
from pathlib import Path

import ir_measures
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal import evaluate, read_judgements, read_run
from foveal.errors import InputError
from foveal.files.source import Source
from foveal.model import Judgements, Run

DOCS = "abcdefgh"
Qrels = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]
# pytrec_eval does not return from topics in which all grades are below 0.
grades = st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3)).map(lambda own: {"r": 1, **own})
scores = st.dictionaries(
    st.sampled_from(DOCS + "rxyz"), st.sampled_from([1.0, 2.0, 2.5]), min_size=1
)
qrels_of_topics = st.fixed_dictionaries({"1": grades}, optional={"2": grades, "3": grades})
runs = st.fixed_dictionaries({"1": scores}, optional={"2": scores, "4": scores})


def read_qrels(qrels: Qrels) -> Judgements:
    lines = [f"{t} 0 {d} {grade}\n" for t, docs in qrels.items() for d, grade in docs.items()]
    return read_judgements(Source.of_text("".join(lines), "made.qrels"))


def read_scores(run: Scores) -> Run:
    lines = [f"{t} Q0 {d} 1 {score} mine\n" for t, docs in run.items() for d, score in docs.items()]
    return read_run(Source.of_text("".join(lines), "made.run"))


def score(run: Run, judgements: Judgements, measures: list[str]) -> dict[str, dict[str, float]]:
    results = evaluate([run], judgements, measures)
    labels = dict(zip(measures, results.measures, strict=True))
    return {m: {t: results[run.name, labels[m], t] for t in results.topics} for m in measures}


# -- documents -------------------------------------------------------------------------------------

PEERS = {
    **{name: name for name in ("AP", "P@2", "P@5", "R@3", "R@1000")},
    "nDCG": "nDCG",
    "nDCG@3": "nDCG@3",
    "nDCG(judged_only=true)@5": "nDCG(judged_only=True)@5",
    "RR": "RR",
    "RR(rel=2)": "RR(rel=2)",
    "RR(judged_only=true)": "RR(judged_only=True)",
    "Success@2": "Success@2",
    "Success(rel=2)@3": "Success(rel=2)@3",
    "Success(judged_only=true)@2": "Success(judged_only=True)@2",
    "Rprec": "Rprec",
    "Rprec(rel=2)": "Rprec(rel=2)",
    "Rprec(judged_only=true)": "Rprec(judged_only=True)",
    "Bpref": "Bpref",
    "Bpref(rel=2)": "Bpref(rel=2)",
    "infAP": "infAP",
}
OF_GDEVAL = {"nDCG(dcg=exp-log2)@3": "nDCG(dcg='exp-log2')@3", "ERR(max_grade=4)@3": "ERR@3"}


def compare(qrels: Qrels, run: Scores, peers: dict[str, str], tolerance: float) -> None:
    """Score a run here and by ir_measures, and compare every topic."""
    measures = {name: ir_measures.parse_measure(text) for name, text in peers.items()}
    own = score(read_scores(run), read_qrels(qrels), list(peers))
    found = ir_measures.iter_calc(list(measures.values()), qrels, run)
    theirs = {(str(one.measure), one.query_id): one.value for one in found}
    for name, measure in measures.items():
        for topic, value in own[name].items():
            expected = theirs.get((str(measure), topic), 0.0)
            assert value == pytest.approx(expected, abs=tolerance), (name, topic)


@settings(max_examples=60, deadline=None)
@given(qrels_of_topics, runs)
def test_documents_are_scored_as_by_ir_measures(qrels: Qrels, run: Scores) -> None:
    compare(qrels, run, PEERS, 1e-9)


def test_exponential_gains_and_err_are_those_of_gdeval() -> None:
    """It is a program of its own, and prints five decimals."""
    qrels = {"1": {"a": 3, "b": 0, "c": 1, "d": 2}, "2": {"a": 1, "b": 1}}
    run = {"1": {"x": 5.0, "d": 4.0, "b": 3.0, "a": 2.0}, "2": {"a": 1.0, "y": 2.0}}
    compare(qrels, run, OF_GDEVAL, 1e-5)


def test_ties_are_broken_as_by_trec_eval() -> None:
    qrels, run = {"1": {"a": 1, "b": 2}}, {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg", "recip_rank"}).evaluate(run)["1"]
    own = score(read_scores(run), read_qrels(qrels), ["nDCG", "RR"])
    assert own["nDCG"]["1"] == pytest.approx(theirs["ndcg"], abs=1e-12)
    assert own["RR"]["1"] == theirs["recip_rank"] == 0.5


@settings(max_examples=60, deadline=None)
@given(qrels_of_topics, runs, st.sampled_from([0.5, 0.8]), st.sampled_from([None, 1, 3]))
def test_rank_biased_precision_and_its_residual(
    qrels: Qrels, run: Scores, p: float, rank: int | None
) -> None:
    at = "" if rank is None else f"@{rank}"
    names = [f"RBP(p={p}){at}", f"RBPres(p={p}){at}"]
    found = score(read_scores(run), read_qrels(qrels), names)
    for topic, grades in qrels.items():
        ranked = sorted(run.get(topic, {}).items(), key=lambda own: (own[1], own[0]), reverse=True)
        top = [grades.get(doc, -1) for doc, _ in ranked][:rank]
        rbp = sum((1 - p) * p**i for i, grade in enumerate(top) if grade >= 1)
        rest = p ** len(top) + sum((1 - p) * p**i for i, grade in enumerate(top) if grade < 0)
        if max(grades.values()) > 0:
            assert found[names[0]][topic] == pytest.approx(rbp, abs=1e-12)
            assert found[names[1]][topic] == pytest.approx(rest, abs=1e-12)


def test_the_largest_judged_grade_is_the_highest_of_err() -> None:
    qrels, run = {"1": {"a": 2, "b": 1}}, {"1": {"b": 2.0, "a": 1.0}}
    first, second = 1 / 4, 3 / 4
    expected = first + (1 - first) * second / 2
    found = score(read_scores(run), read_qrels(qrels), ["ERR@10", "ERR(max_grade=2)@10"])
    assert [own["1"] for own in found.values()] == pytest.approx([expected, expected])
    with pytest.raises(InputError) as refused:
        score(read_scores(run), read_qrels(qrels), ["ERR(max_grade=1)@10"])
    assert [problem.code for problem in refused.value.problems] == ["judgements.unsuitable"]


def test_assessors_agree_on_a_grade(tmp_path: Path) -> None:
    for name, grade in (("one", 2), ("two", 1), ("three", 3)):
        (tmp_path / name).write_text(f"1 0 a {grade}\n1 0 b 1\n")
    judgements = read_judgements([tmp_path / name for name in ("one", "two", "three")])
    assert judgements.combined("union").document_grade.tolist() == [3, 1]
    assert judgements.combined("majority").document_grade.tolist() == [2, 1]
    assert judgements.combined("intersection").document_grade.tolist() == [1, 1]


def test_documents_of_graded_spans_have_their_highest_grade() -> None:
    text = """{"topic": "1", "doc": "a", "length": 90, "spans": [{"start": 0, "end": 9, "grade": 2},
        {"start": 5, "end": 20, "grade": 3}]}
        {"topic": "1", "doc": "b", "length": 90, "spans": [{"start": 0, "end": 9}]}"""
    judgements = read_judgements(Source.of_text(text.replace(",\n ", ", "), "made.jsonl"))
    run = Run.from_results({"1": [("b", 0, 1), ("a", 50, 60)]})
    expected = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert score(run, judgements, ["nDCG"])["nDCG"]["1"] == pytest.approx(expected)


# -- passages --------------------------------------------------------------------------------------

Span = tuple[str, int, int]
spans = st.tuples(st.sampled_from("ab"), st.integers(0, 18), st.integers(1, 9)).map(
    lambda own: (own[0], own[1], min(own[1] + own[2], 20))
)
graded = st.lists(st.tuples(spans, st.sampled_from([1, 1, 2])), min_size=1, max_size=5)
lists = st.lists(st.tuples(st.sampled_from("abz"), spans).map(lambda own: (own[0], *own[1][1:])))
PASSAGE_MEASURES = [
    "nDCG(unit=passage)",
    "nDCG(unit=passage)@2",
    "nDCG(unit=passage,share=1)",
    "nDCG(unit=passage,dcg=exp-log2)@3",
    "RR(unit=passage)",
    "RR(unit=passage,rel=2)",
    "RR(unit=passage,judged_only=true)",
    "Success(unit=passage)@2",
    "Rprec(unit=passage)",
    "RBP(unit=passage)",
    "ERR(unit=passage)@3",
]


def judge(marked: list[tuple[Span, int]]) -> Judgements:
    rows = [
        {
            "topic": "1",
            "doc": doc,
            "length": 20,
            "spans": [
                {"start": start, "end": end, "grade": grade}
                for (own, start, end), grade in marked
                if own == doc
            ],
        }
        for doc in "ab"
    ]
    from json import dumps

    text = "".join(dumps(row) + "\n" for row in rows)
    return read_judgements(Source.of_text(text, "made.jsonl"))


def merge(marked: list[tuple[Span, int]]) -> list[tuple[set[tuple[str, int]], int]]:
    """Return the passages as sets of characters, with their grades."""
    passages = []
    for doc, grade in sorted({(own[0], grade) for own, grade in marked}):
        text = {
            i for (d, low, high), g in marked if (d, g) == (doc, grade) for i in range(low, high)
        }
        while text:
            low = high = min(text)
            while high in text:
                high += 1
            passages.append(({(doc, i) for i in range(low, high)}, grade))
            text -= set(range(low, high))
    return passages


def rank_naively(
    results: list[Span], marked: list[tuple[Span, int]], share: float
) -> tuple[list[int], list[int]]:
    """Return the grade found at each rank, and the grades of the ideal list."""
    passages, seen, found = merge(marked), set[tuple[str, int]](), []
    for doc, start, end in results:
        before = {
            n for n, (text, _) in enumerate(passages) if len(text & seen) >= share * len(text)
        }
        seen |= {(doc, i) for i in range(start, end)}
        after = {n for n, (text, _) in enumerate(passages) if len(text & seen) >= share * len(text)}
        found.append(max((passages[n][1] for n in after - before), default=0))
    return found, sorted((grade for _, grade in passages), reverse=True)


def discount(grades: list[int], rank: int | None, *, exponential: bool = False) -> float:
    gains = [2**grade - 1 if exponential else grade for grade in grades[:rank]]
    return sum(gain / math.log2(i + 2) for i, gain in enumerate(gains))


@settings(max_examples=150, deadline=None)
@given(lists, graded)
def test_passages_are_found_as_by_sets_of_characters(
    results: list[Span], marked: list[tuple[Span, int]]
) -> None:
    own = (
        score(Run.from_results({"1": results}), judge(marked), PASSAGE_MEASURES) if results else {}
    )
    if not results:
        return
    found, ideal = rank_naively(results, marked, 0.5)
    whole, _ = rank_naively(results, marked, 1)
    hits = [i for i, grade in enumerate(found) if grade]
    judged = [grade for grade, (doc, *_) in zip(found, results, strict=True) if doc != "z"]
    highest, reached, err = max(ideal), 1.0, 0.0
    for i, grade in enumerate(found[:3]):
        satisfied = (2**grade - 1) / 2**highest
        err, reached = err + reached * satisfied / (i + 1), reached * (1 - satisfied)
    expected = [
        discount(found, None) / discount(ideal, None),
        discount(found, 2) / discount(ideal, 2),
        discount(whole, None) / discount(ideal, None),
        discount(found, 3, exponential=True) / discount(ideal, 3, exponential=True),
        1 / (hits[0] + 1) if hits else 0,
        next((1 / (i + 1) for i, grade in enumerate(found) if grade >= 2), 0),
        next((1 / (i + 1) for i, grade in enumerate(judged) if grade), 0),
        float(any(found[:2])),
        sum(grade > 0 for grade in found[: len(ideal)]) / len(ideal),
        sum(0.2 * 0.8**i for i in hits),
        err,
    ]
    assert [values["1"] for values in own.values()] == pytest.approx(expected, abs=1e-9)
