"""Evidence sets in JSON Lines: read, kept through everything that is done with judgements."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.errors import InputError
from foveal.formats import Source, read_judgements
from foveal.formats.jsonl import write_judgements
from foveal.model import Judgements


def judged(*lines: dict[str, Any], path: str = "j.jsonl", thorough: bool = False) -> Judgements:
    text = "".join(json.dumps({"topic": "1", "doc": "d", **line}) + "\n" for line in lines)
    return read_judgements(Source.of_text(text, path, thorough=thorough))


def span(start: int, end: int, *sets: str, **more: Any) -> dict[str, Any]:
    return {"start": start, "end": end, **({"sets": [*sets]} if sets else {}), **more}


def sets_of(judgements: Judgements) -> list[list[str] | None]:
    assert judgements.sets is not None
    return judgements.sets.to_list()


def test_spans_name_the_sets_they_belong_to_each_once() -> None:
    truth = judged({"spans": [span(0, 5, "a", "b"), span(7, 9), span(9, 12, "b", "b")]})
    assert sets_of(truth) == [["a", "b"], None, ["b"]]
    assert judged({"spans": [span(0, 5), {"start": 6, "end": 7, "sets": []}]}).sets is None


def test_spans_of_other_assessors_on_a_line_keep_their_sets() -> None:
    """Rows are made of them in the order of assessors, not of the file."""
    truth = judged(
        {
            "assessor": "zoe",
            "spans": [span(0, 5, "a"), span(7, 9, "b", assessor="ann"), span(10, 12)],
        },
        {"doc": "e", "spans": [span(3, 4, "c")]},
    )
    found = [
        (None if truth.assessor is None else truth.assessor[row], start, own)
        for row, start, own in zip(
            truth.row.tolist(), truth.start.tolist(), sets_of(truth), strict=True
        )
    ]
    assert sorted(found, key=str) == sorted(
        [("ann", 7, ["b"]), ("zoe", 0, ["a"]), ("zoe", 10, None), (None, 3, ["c"])], key=str
    )


@pytest.mark.parametrize("value", ["a", 7, {"a": 1}])
def test_what_are_no_sets_is_refused_with_its_line(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        judged({"spans": []}, {"doc": "e", "spans": [{"start": 1, "end": 2, "sets": value}]})
    (problem,) = caught.value.problems
    assert (problem.code, problem.line) == ("json.value", 2)
    assert "spans[0].sets" in problem.text


names = st.text('aé𝄞"\\, ', min_size=1, max_size=4)
spans = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20), st.lists(names, max_size=3, unique=True)),
    max_size=5,
)


@given(spans)
@settings(max_examples=50)
def test_what_is_written_reads_as_it_was(given_spans: list[tuple[int, int, list[str]]]) -> None:
    truth = judged({"spans": [span(min(a, b), max(a, b), *own) for a, b, own in given_spans]})
    again = read_judgements(Source.of_text(write_judgements(truth), "k.jsonl"))
    if truth.sets is None:
        assert again.sets is None
    else:
        assert sets_of(again) == sets_of(truth)
    assert np.array_equal(again.start, truth.start)


def test_files_with_and_without_sets_make_one() -> None:
    one = judged({"spans": [span(0, 5, "a")]}, path="one.jsonl")
    two = judged({"topic": "2", "spans": [span(1, 3)]}, path="two.jsonl")
    assert sets_of(Judgements.merged([one, two])) == [["a"], None]
    assert Judgements.merged([two, two.for_topics(())]).sets is None


def test_some_topics_keep_their_sets() -> None:
    truth = judged({"spans": [span(0, 5, "a")]}, {"topic": "2", "spans": [span(1, 3, "b")]})
    assert sets_of(truth.for_topics(["2"])) == [["b"]]
    combined = truth.combined().for_topics(["2"])
    assert combined.evidence is not None
    assert combined.evidence.select("row", "start", "end").rows() == [(0, 1, 3)]


def test_combining_twice_changes_nothing() -> None:
    truth = judged({"spans": [span(0, 5, "a"), span(4, 8, "b")]}).combined()
    again = truth.combined()
    assert truth.evidence is not None
    assert again.evidence is not None
    assert truth.evidence.rows() == again.evidence.rows() == [(0, 0, 0, 5, 1.0), (0, 1, 4, 8, 1.0)]
    assert again.passages(0) == [(0, 8)]
