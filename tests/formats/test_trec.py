"""TREC: runs and judgements of whole documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from inputs import read_judgements, read_run, results, rewritten, run_losses

RUN = "1 Q0 D1 1 0.5 mine\n"


def test_a_result_is_a_whole_document() -> None:
    run = read_run("\n# comment\n 1 Q0  A 1 2 mine\r\n\n1\tQ0 B 2 1 mine ")
    assert results(run) == [("1", "A", 0, None), ("1", "B", 0, None)]
    assert run.name == "mine"


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("217"),
            st.sampled_from(["a", "b", "é", "zz"]),
            st.sampled_from(["1", "-1", "0", "-0.0", "1.00000001", "-2.5", "1e300", "1e-50"]),
        ),
        min_size=1,
    )
)
def test_the_order_is_that_of_a_plain_sort(rows: list[tuple[str, str, str]]) -> None:
    run = read_run("".join(f"{topic} Q0 {doc} 1 {score} r\n" for topic, doc, score in rows))
    topics = list(dict.fromkeys(topic for topic, _, _ in rows))
    numbered = [(row, i) for i, row in enumerate(rows, 1)]
    with np.errstate(over="ignore"):  # trec_eval keeps scores in single precision
        numbered.sort(key=lambda own: own[0][1].encode(), reverse=True)
        numbered.sort(key=lambda own: np.float32(float(own[0][2])), reverse=True)
    numbered.sort(key=lambda own: topics.index(own[0][0]))
    assert run.topics == tuple(topics)
    assert run.doc.to_list() == [doc for (_, doc, _), _ in numbered]
    assert run.line.tolist() == [line for _, line in numbered]


@pytest.mark.parametrize("separator", [" ", "\t", "  "])
def test_a_grade_above_0_is_relevant(separator: str) -> None:
    lines = ["10 0 A 2", "9 0 A 0", "9 0 B 1", "9 0 C -1"]
    judgements = read_judgements("\n".join(line.replace(" ", separator) for line in lines))
    assert judgements.topics == ("9", "10")
    assert judgements.doc.to_list() == ["A", "A", "B", "C"]
    assert judgements.relevant.tolist() == [True, False, True, False]
    assert not judgements.has_text


def test_passages_become_documents_at_their_first_result(tmp_path: Path) -> None:
    run = foveal.Run.from_results({"1": [("B", 0, 5), ("A", 0, 5), ("B", 7, 9), ("C", 1, 2)]})
    again = rewritten(run, tmp_path, "trec")
    assert again.doc.to_list() == ["B", "A", "C"]


def test_tied_scores_are_replaced_so_that_the_order_stays(tmp_path: Path) -> None:
    run = read_run("1 Q0 A 1 0.5 r 0 1\n1 Q0 B 2 0.5 r 0 1\n1 Q0 C 3 0.7 r 0 1\n")
    assert rewritten(run, tmp_path, "trec").doc.to_list() == ["A", "B", "C"]


def test_judgements_survive_a_round_trip_with_their_grades(tmp_path: Path) -> None:
    judgements = read_judgements("1 0 A 2\n1 0 B 0\n2 0 é 1\n")
    foveal.write_judgements(judgements, tmp_path / "out", "trec")
    assert (tmp_path / "out").read_text() == "1 0 A 2\n1 0 B 0\n2 0 é 1\n"


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([3, 2, 1], []),
        ([3, 3, 1], ["scores, which do not fall from each result to the next: 3"]),
        ([1, 2, 3], ["scores, which do not fall from each result to the next: 3"]),
    ],
)
def test_scores_that_cannot_stay_are_said(scores: list[int], said: list[str]) -> None:
    rows = [
        {"topic": "1", "doc": f"d{i}", "rank": i, "score": score} for i, score in enumerate(scores)
    ]
    run = read_run("".join(json.dumps(row) + "\n" for row in rows))
    assert run_losses(run, "trec") == said
    assert run_losses(run, "jsonl") == []


@pytest.mark.parametrize(
    "text", ["a comment", "x", "0.5", "see 12 and /a", "# why", "ours: http://x"]
)
def test_text_after_the_sixth_field_is_ignored_as_trec_eval_does(text: str) -> None:
    lines = ["1 Q0 A 1 0.5 mine", "1 Q0 B 2 0.9 mine"]
    for plain in (lines[:0], lines[:1]):  # on all lines, on some
        cut = [line if line in plain else f"{line} {text}" for line in lines]
        run = read_run("\n".join(cut))
        assert run.doc.to_list() == ["B", "A"]
        assert run.name == "mine"
        (note,) = run.notes
        assert note.endswith(f"{2 - len(plain)}, the first is line {1 + len(plain)}")


def test_offsets_or_paths_after_the_sixth_field_are_never_ignored() -> None:
    """Else a passage run with one bad line would be scored as whole documents."""
    for places in ("4", "4 2", "X 2", "-1 -1", "/a[1]", "a[1]/b[2]", "4 two", "four 2"):
        text = f"1 Q0 A 1 0.5 mine {places}\n"
        try:
            run = read_run(text)
        except foveal.InputError:
            continue
        assert run.end[0] >= 0 or run.xpath is not None
