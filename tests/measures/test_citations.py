"""Measures of citations: worked examples, sets of characters, and the commands that use them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.collection import build_index
from foveal.errors import InputError, UsageError
from foveal.formats import Source, read_run
from foveal.measures.measure import FAMILIES
from foveal.model import Judgements, Run

MEASURES = FAMILIES["citations"].split()
OF_ANSWERS = MEASURES[:6]
TEXTS = {"A": "abcdefghij" * 3, "B": "klmnopqrst" * 2, "𝄞": "uvwxyzuvwxyz"}


class Citation(NamedTuple):
    """A range of a document; valid if the document has it."""

    doc: str
    start: int
    end: int

    @property
    def is_valid(self) -> bool:
        return self.doc in TEXTS and 0 <= self.start < self.end <= len(TEXTS[self.doc])


Answer = Sequence[Sequence[Citation]]


def written(answers: Mapping[str, Answer], **header: Any) -> str:
    about = {"type": "header", "format": "foveal-answers", "version": 1, **header}
    records = [
        {
            "topic": topic,
            "answer": [
                {"text": "So it is.", "citations": [own._asdict() for own in sentence]}
                for sentence in answer
            ],
        }
        for topic, answer in answers.items()
    ]
    return "".join(json.dumps(own) + "\n" for own in (about, *records))


def read(answers: Mapping[str, Answer], *, texts: bool = True, **header: Any) -> Run:
    source = Source.of_text(written(answers, **header), "a.jsonl")
    return read_run(source, texts=TEXTS if texts else None)


def judged(spans: Sequence[Citation]) -> Judgements:
    docs = {
        doc: {"length": len(text), "spans": [own[1:] for own in spans if own.doc == doc]}
        for doc, text in TEXTS.items()
    }
    return Judgements.from_highlights({"t": docs})


# -- worked examples -----------------------------------------------------------------------------

GOLD = [Citation("A", 10, 20), Citation("B", 0, 5)]
ANSWER = [
    [Citation("A", 15, 25), Citation("B", 5, 10)],
    [],
    [Citation("A", 0, 900), Citation("A", 15, 25)],
    [Citation("C", 0, 5)],
]
"""Five citations, two of them invalid; A 15-25 is cited twice."""
RETRIEVED = Run.from_results({"t": [("A", 0, 20), ("A", 10, 25), ("𝄞", 0, 5)]}, name="bm25")


def test_worked_example() -> None:
    found = foveal.evaluate(read({"t": ANSWER}), judged(GOLD), MEASURES, retrieved=RETRIEVED)
    assert found.aggregate()["a"] == {
        "citeValid": 3 / 5,
        "citeP": 5 / 15,
        "citeR": 5 / 15,
        "citeF": 5 / 15,
        "cited": 3 / 4,
        "overcite": 3 / 5,
        "utilisation": 10 / 30,
        "completeness": 5 / 10,
    }


def test_no_citation_and_no_answer() -> None:
    for answers in ({"t": [[], []]}, {"t": []}, {"t": [[]], "u": [[GOLD[0]]]}):
        found = foveal.evaluate(read(answers), judged(GOLD), OF_ANSWERS)
        values = [found["a", name, "t"] for name in ("citeP", "citeR", "citeF", "cited")]
        assert values == [0, 0, 0, 0]
        assert math.isnan(found["a", "citeValid", "t"])
        assert math.isnan(found["a", "overcite", "t"])


def test_a_missing_topic_is_an_answer_that_cites_nothing() -> None:
    truth = Judgements.from_highlights({t: {"A": {"spans": [(0, 9)], "length": 30}} for t in "tu"})
    found = foveal.evaluate(read({"u": [[GOLD[0]]]}), truth, OF_ANSWERS)
    assert [found["a", name, "t"] for name in ("citeP", "citeR", "citeF", "cited")] == [0, 0, 0, 0]
    assert math.isnan(found["a", "citeValid", "t"])


def test_nothing_relevant_and_unanswerable_topics() -> None:
    truth = foveal.judgements_of(
        {"1": {"A": {"spans": [], "length": 30}}}, unanswerable=["2", "3", "4"]
    )
    run = read({"1": [[GOLD[0]], []], "2": [], "3": [[]]})
    found = foveal.evaluate(run, truth, [*OF_ANSWERS, "rejected", "accepted"])
    assert found["a", "citeValid", "1"] == 1
    assert found["a", "cited", "1"] == 0.5
    assert all(math.isnan(found["a", name, "1"]) for name in ("citeP", "citeR", "overcite"))
    # A sentence is an answer, though it cites nothing.
    assert [found["a", "rejected", topic] for topic in "234"] == [1, 0, 1]
    assert found["a", "accepted"] == 1
    assert np.isnan(found.values[0, 1:, : len(OF_ANSWERS)]).all()


def test_lengths_of_judgements_show_wrong_ranges_too() -> None:
    run = read({"t": [[Citation("A", 15, 25), Citation("A", 15, 99)]]}, texts=False)
    found = foveal.evaluate(run, judged(GOLD), ["citeValid", "citeP"])
    assert found.aggregate()["a"] == {"citeValid": 0.5, "citeP": 0.5}
    assert "a: citations past the end of their document: 1" in found.meta["warnings"]


def test_a_collection_shows_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for doc in ("A", "B"):
        (tmp_path / "docs" / f"{doc}.xml").write_text(f"<a>{TEXTS[doc]}</a>")
    index = tmp_path / "c.fvx"
    build_index(tmp_path / "docs", index)
    answer = [[Citation("A", 15, 25), Citation("A", 15, 99), Citation("nowhere", 0, 9)]]
    found = foveal.evaluate(
        read({"t": answer}, texts=False), judged(GOLD), ["citeValid", "citeP"], collection=index
    )
    assert found.aggregate()["a"] == {"citeValid": 1 / 3, "citeP": 0.5}


def test_other_measures_see_the_valid_citations() -> None:
    found = foveal.evaluate(
        read({"t": ANSWER}), judged(GOLD), ["charP", "citeP", "citeValid"], overlap="drop"
    )
    assert found.aggregate()["a"] == {"charP": 5 / 15, "citeP": 5 / 15, "citeValid": 3 / 5}


# -- naive against fast --------------------------------------------------------------------------


def chars(spans: Sequence[Citation]) -> set[tuple[str, int]]:
    return {(doc, x) for doc, start, end in spans for x in range(start, end)}


def naive(
    gold: Sequence[Citation], answer: Answer, retrieved: Sequence[Citation]
) -> dict[str, Fraction | None]:
    every = [own for sentence in answer for own in sentence]
    valid = [own for own in every if own.is_valid]
    c, g, r = chars(valid), chars(gold), chars(retrieved)

    def share(part: int, whole: int) -> Fraction | None:
        return Fraction(part, whole) if whole else None

    nothing = None if not g else Fraction(0)
    useless = sum(not (own.is_valid and chars([own]) & g) for own in every)
    return {
        "citeValid": share(len(valid), len(every)),
        "citeP": nothing if not c or not g else share(len(c & g), len(c)),
        "citeR": share(len(c & g), len(g)),
        "citeF": nothing if not c or not g else share(2 * len(c & g), len(c) + len(g)),
        "cited": share(sum(map(bool, answer)), len(answer)) or Fraction(0),
        "overcite": share(useless, len(every)) if g else None,
        "utilisation": share(len(c & r), len(r)),
        "completeness": share(len(c & g & r), len(g & r)),
    }


@st.composite
def citations(draw: st.DrawFn, *, valid: bool) -> Citation:
    doc = draw(st.sampled_from([*TEXTS] if valid else [*TEXTS, "C"]))
    length = len(TEXTS.get(doc, "0123456789"))
    start = draw(st.integers(0, length - 1))
    return Citation(doc, start, draw(st.integers(start + 1, length if valid else length + 5)))


any_answer = st.lists(st.lists(citations(valid=False), max_size=3), max_size=4)
valid_spans = st.lists(citations(valid=True), max_size=4)


@given(valid_spans, any_answer, valid_spans)
@settings(max_examples=80)
def test_fast_equals_naive(
    gold: list[Citation], answer: list[list[Citation]], retrieved: list[Citation]
) -> None:
    behind = Run.from_results({"t": [(*own,) for own in retrieved]}, name="r")
    found = foveal.evaluate(read({"t": answer}), judged(gold), MEASURES, retrieved=behind)
    for name, value in naive(gold, answer, retrieved).items():
        fast = found["a", name, "t"]
        assert math.isnan(fast) if value is None else fast == pytest.approx(float(value)), name


@given(valid_spans, any_answer, valid_spans)
@settings(max_examples=40)
def test_several_topics_are_scored_alone(
    gold: list[Citation], answer: list[list[Citation]], retrieved: list[Citation]
) -> None:
    one = judged(gold)
    docs = {doc: {"spans": one.passages(row), "length": 30} for row, doc in enumerate(one.doc)}
    truth = Judgements.from_highlights({"s": docs, "t": docs, "u": {"A": {"spans": [(0, 9)]}}})
    results = [(*own,) for own in retrieved]
    behind = Run.from_results({"u": [("A", 0, 5)], "t": results, "s": results}, name="r")
    run = read({"u": [[Citation("A", 0, 3)]], "s": answer, "x": answer, "t": answer})
    found = foveal.evaluate(run, truth, MEASURES, retrieved=behind)
    alone = foveal.evaluate(
        read({"t": answer}),
        one,
        MEASURES,
        retrieved=Run.from_results({"t": results}, name="r"),
    )
    for topic in (0, 1):
        assert np.array_equal(found.values[0, topic], alone.values[0, 0], equal_nan=True)


# -- the run that answers were made from ---------------------------------------------------------


def test_answers_name_their_run() -> None:
    other = Run.from_results({"t": [("A", 15, 25)]}, name="dense")
    runs = [read({"t": ANSWER}, run=name, retrieved=name) for name in ("bm25", "dense")]
    found = foveal.evaluate(runs, judged(GOLD), "utilisation", retrieved=[RETRIEVED, other])
    assert found.aggregate() == {"bm25": {"utilisation": 1 / 3}, "dense": {"utilisation": 1}}


@pytest.mark.parametrize(
    ("header", "given_runs"), [({}, 2), ({"retrieved": "dense"}, 1), ({"retrieved": "x"}, 2)]
)
def test_a_run_that_is_not_known_is_refused(header: dict[str, str], given_runs: int) -> None:
    others = [RETRIEVED, Run.from_results({"t": []}, name="sparse")][:given_runs]
    with pytest.raises(UsageError, match="--retrieved"):
        foveal.evaluate(
            read({"t": ANSWER}, **header), judged(GOLD), "utilisation", retrieved=others
        )


@pytest.mark.parametrize(
    ("run", "measure", "code"),
    [
        (read({"t": ANSWER}), "utilisation", "measure.needs_retrieved"),
        (RETRIEVED, "citeF", "measure.needs_answers"),
    ],
)
def test_missing_inputs_are_named(run: Run, measure: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        foveal.evaluate(run, judged(GOLD), measure)
    assert [problem.code for problem in caught.value.problems] == [code]


def test_retrieved_results_need_a_place() -> None:
    whole = Run.from_results({"t": [("C", 0, 5)]})
    whole = whole.with_columns(end=np.array([-1]))
    with pytest.raises(InputError) as caught:
        foveal.evaluate(read({"t": ANSWER}), judged(GOLD), "utilisation", retrieved=whole)
    assert [problem.code for problem in caught.value.problems] == ["measure.needs_retrieved"]
