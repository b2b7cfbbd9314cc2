"""The same text in several places is one passage: found once, rewarded once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.analysis.copies import Copies
from foveal.errors import InputError, UsageError

CLAUSE = "The notice period is three months."
TEXTS = {
    "lease": f"Preamble.\n\n{CLAUSE}\n\nSigned.",
    "annex": f"{CLAUSE.upper()}\n\nOther matters.",
}
COPIES = Copies(
    pl.DataFrame({"class": ["c", "c"], "doc": ["A", "B"], "start": [0, 10], "end": [50, 60]})
)


def scores(run: foveal.Run, truth: foveal.Judgements) -> dict[str, float]:
    results = foveal.evaluate(run, truth, ["charP", "charR", "Redundancy"], overlap="union")
    return results.aggregate()["run"]


# -- worked examples ---------------------------------------------------------------------------


def test_paragraphs_are_compared_without_case_and_white_space() -> None:
    copies = foveal.same_text(TEXTS, at_least=20)
    assert copies.passages.rows() == [("1", "lease", 11, 45), ("1", "annex", 0, 34)]
    assert len(foveal.same_text(TEXTS, at_least=35)) == 0


def test_units_of_a_division_are_compared() -> None:
    division = foveal.Segmentation.from_chunks(
        [("lease", 11, 45), ("annex", 0, 34), ("annex", 36, 50)]
    )
    assert len(foveal.same_text(TEXTS, at_least=20, passages=division)) == 1
    with pytest.raises(UsageError, match="no text of document 'annex'"):
        foveal.same_text({"lease": TEXTS["lease"]}, passages=division)


def test_a_second_copy_is_rewarded_once() -> None:
    truth = foveal.Judgements.from_highlights(
        {"1": {"A": {"spans": [(0, 50)], "length": 80}, "B": {"spans": [(10, 60)], "length": 60}}}
    )
    both = foveal.Run.from_results({"1": [("A", 0, 50), ("B", 10, 60)]})
    one = foveal.Run.from_results({"1": [("B", 10, 60)]})
    assert scores(both, truth) == {"charP": 1.0, "charR": 1.0, "Redundancy": 0.0}
    assert scores(one, truth)["charR"] == 0.5
    moved = foveal.merge_copies(truth, COPIES)
    # One passage is relevant; one copy finds it all, and the other is context that is repeated.
    assert scores(foveal.merge_copies(one, COPIES), moved)["charR"] == 1.0
    assert scores(foveal.merge_copies(both, COPIES), moved) == {
        "charP": 1.0,
        "charR": 1.0,
        "Redundancy": 0.5,
    }


def test_judgements_go_to_documents_that_nobody_judged() -> None:
    truth = foveal.Judgements.from_highlights(
        {"1": {"B": {"spans": [(0, 30)], "length": 60, "bep": 5}}}
    )
    rows = foveal.merge_copies(truth, COPIES).to_frame().select("doc", "start", "end", "bep")
    assert rows.rows() == [("B", 0, 10, 5), ("A", 0, 20, None)]


def test_results_share_their_tokens_among_pieces() -> None:
    run = foveal.Run.from_results({"1": [("B", 0, 60), ("C", 0, 5)], "2": [("B", 50, 80)]})
    run = replace(run, tokens=np.array([13, 2, 7]))
    moved = foveal.merge_copies(run, COPIES)
    assert moved.tokens is not None
    assert moved.tokens.tolist() == [2, 11, 2, 2, 5]
    assert np.diff(moved.bounds).tolist() == [3, 2]
    unknown = foveal.merge_copies(replace(run, tokens=np.array([-1, 2, 7])), COPIES)
    assert unknown.tokens is not None
    assert unknown.tokens.tolist() == [-1, -1, 2, 2, 5]


def test_lengths_that_differ_are_mapped_in_proportion() -> None:
    longer = Copies(
        pl.DataFrame({"class": ["c", "c"], "doc": ["A", "B"], "start": [0, 0], "end": [50, 100]})
    )
    assert list(longer.move("B", 0, 100)) == [("A", 0, 50)]
    assert list(longer.move("B", 50, 120)) == [("A", 25, 50), ("B", 100, 120)]
    assert list(longer.move("B", 120, 120)) == [("B", 120, 120)]


# -- properties --------------------------------------------------------------------------------

spans = st.tuples(st.sampled_from("ABC"), st.integers(0, 70), st.integers(1, 30)).map(
    lambda t: (t[0], t[1], t[1] + t[2])
)


def naive_char(doc: str, at: int) -> tuple[str, int]:
    """Every character of the copy is the one of the first."""
    return ("A", at - 10) if doc == "B" and 10 <= at < 60 else (doc, at)


@settings(max_examples=60)
@given(st.lists(spans, min_size=1, max_size=5), st.lists(spans, min_size=1, max_size=4))
def test_fast_equals_naive(
    results: list[tuple[str, int, int]], highlighted: list[tuple[str, int, int]]
) -> None:
    relevant = {naive_char(doc, at) for doc, a, b in highlighted for at in range(a, b)}
    read = {naive_char(doc, at) for doc, a, b in results for at in range(a, b)}
    judged: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for doc, a, b in highlighted:
        judged.setdefault(doc, {"spans": []})["spans"].append((a, b))
    truth = foveal.merge_copies(foveal.Judgements.from_highlights({"1": judged}), COPIES)
    run = foveal.merge_copies(foveal.Run.from_results({"1": results}), COPIES)
    found = scores(run, truth)
    assert found["charR"] == pytest.approx(len(read & relevant) / len(relevant))
    assert found["charP"] == pytest.approx(len(read & relevant) / len(read))


# -- ugly inputs -------------------------------------------------------------------------------


def test_grades_and_evidence_sets_move_along() -> None:
    truth = foveal.judgements_of(
        {
            "1": [
                {"doc": "A", "start": 0, "end": 10, "grade": 2, "sets": ["a"]},
                {"doc": "B", "start": 30, "end": 40, "sets": ["b"]},
            ]
        }
    )
    moved = foveal.merge_copies(truth, COPIES)
    assert moved.to_frame().select("doc", "start", "end").rows()[:2] == [
        ("A", 0, 10),
        ("A", 20, 30),
    ]
    assert moved.grade is not None
    assert moved.grade.tolist() == [2, 1]
    run = foveal.merge_copies(foveal.run_of({"1": [("B", 10, 22)]}), COPIES)
    assert foveal.evaluate(run, moved, "answered")["run", "answered"] == 1
    two = foveal.judgements_of(
        {
            "1": [
                {"doc": "A", "start": 0, "end": 9, "assessor": name, "sets": ["a"]}
                for name in ("Ann", "Bob")
            ]
        }
    )
    with pytest.raises(UsageError, match=r"of several assessors cannot be moved .* Ann, Bob"):
        foveal.merge_copies(two, COPIES)


def test_what_has_no_place_is_refused(tmp_path: Path) -> None:
    whole = replace(foveal.Run.from_results({"1": [("A", 0, 1)]}, name="mine"), end=np.array([-1]))
    with pytest.raises(InputError, match="mine:1: the result has no start and end"):
        foveal.merge_copies(whole, COPIES)
    (tmp_path / "qrels").write_text("1 0 A 1\n")
    with pytest.raises(UsageError, match="judgements of whole documents have no text"):
        foveal.merge_copies(foveal.read_judgements(tmp_path / "qrels"), COPIES)
    with pytest.raises(UsageError, match=r"\[40,60\) of document 'A' is empty, or overlaps"):
        Copies(pl.DataFrame({"class": "c", "doc": "A", "start": [0, 40], "end": [50, 60]}))
    with pytest.raises(UsageError, match=r"passage \[5,5\) of document 'A' is empty"):
        Copies(pl.DataFrame({"class": ["c"], "doc": ["A"], "start": [5], "end": [5]}))
