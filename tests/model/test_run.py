"""Runs: construction, order, immutability, taking rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal import InputError, Run
from foveal.model import UNKNOWN, Provenance
from foveal.model.run import distinguish_names

RESULTS = {"2": [("A", 0, 5), ("B", 1, 4), ("A", 7, 9)], "1": [("C", 0, 0)]}
FRAME = pl.DataFrame(
    {
        "topic": ["2", "1", "2"],
        "doc": ["A", "B", "C"],
        "start": [0, 1, 2],
        "end": [5, 6, 7],
        "score": [0.9, 0.8, 0.7],
        "xpath": ["/a", None, "/c"],
    }
)


def test_a_run_is_made_of_topics_and_ranked_spans() -> None:
    run = Run.from_results(RESULTS, name="mine")
    assert (run.name, run.topics, len(run)) == ("mine", ("2", "1"), 4)
    assert run.bounds.tolist() == [0, 3, 4]
    assert run.doc.to_list() == ["A", "B", "A", "C"]
    assert run.start.tolist() == [0, 1, 7, 0]
    assert run.end.tolist() == [5, 4, 9, 0]
    assert repr(run) == "<Run 'mine': 4 results, 2 topics>"


def test_rows_of_a_topic_are_brought_together_in_their_order() -> None:
    run = Run.from_frame(FRAME, name="r", note_grouping="they were grouped")
    assert run.topics == ("2", "1")
    assert run.doc.to_list() == ["A", "C", "B"]
    assert run.line.tolist() == [1, 3, 2]
    assert run.notes == ("they were grouped",)


def test_topics_that_are_together_already_are_not_noted() -> None:
    run = Run.from_frame(FRAME[:2], name="r", note_grouping="they were grouped")
    assert run.notes == ()
    assert run.line.tolist() == [1, 2]


names = st.sampled_from(["a", "b", "a name of more than twelve characters"])


@given(st.lists(st.tuples(st.sampled_from("12"), names)), st.integers(1, 4))
def test_documents_of_a_run_whatever_order_they_come_in(
    rows: list[tuple[str, str]], pieces: int
) -> None:
    rows.sort(key=lambda row: row[0])
    frame = pl.DataFrame(rows, schema={"topic": pl.String, "doc": pl.String}, orient="row")
    frame = frame.with_columns(start=pl.lit(0, pl.Int64), end=pl.lit(9, pl.Int64))
    step = max(len(rows) // pieces, 1)
    parts = [frame[i : i + step] for i in range(0, len(rows), step)] or [frame]
    run = Run.from_frame(pl.concat(parts, rechunk=False), name="r")
    first = [rows.index(row) for row in rows]
    heads = sorted(set(first))
    assert run.topics == tuple(dict.fromkeys(topic for topic, _ in rows))
    assert run.first.tolist() == first
    assert run.documents.first_rows.tolist() == heads
    assert run.documents.number.tolist() == [heads.index(i) for i in first]
    assert run.repeats.tolist() == [i for i in range(len(rows)) if first[i] != i]
    back = [i for i in range(1, len(rows)) if first[i] not in (i, first[i - 1])]
    assert run.documents.reopened_rows.tolist() == back


def test_columns_cannot_be_written() -> None:
    run = Run.from_frame(FRAME, name="r")
    assert run.score is not None
    for column in (run.bounds, run.start, run.end, run.line, run.score):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    with pytest.raises(AttributeError):
        run.name = "other"  # type: ignore[misc]


def test_a_run_does_not_share_its_columns_with_the_frame_it_came_from() -> None:
    starts = np.array([0, 1, 2])
    run = Run.from_frame(FRAME.with_columns(pl.Series("start", starts)), name="r")
    starts[0] = 99
    assert run.start.tolist() == [0, 2, 1]


def test_given_ranks_stay_with_their_results() -> None:
    run = Run.from_frame(FRAME.with_columns(rank=pl.Series([4, 1, None])), name="r")
    assert run.rank is not None
    assert run.rank.tolist() == [4, UNKNOWN, 1]
    assert run.to_frame()["rank"].to_list() == [4, 2, 1]  # the position where none is given
    assert run.position.tolist() == [1, 2, 1]
    left = run.take(np.array([True, False, True]))
    assert left.rank is not None
    assert left.rank.tolist() == [4, 1]
    with pytest.raises(ValueError, match="read-only"):
        run.rank[0] = 9
    assert Run.from_frame(FRAME, name="r").rank is None


def test_taking_nothing_leaves_an_empty_run() -> None:
    empty = Run.from_results(RESULTS).take(np.zeros(4, dtype=bool))
    assert (len(empty), empty.topics, empty.bounds.tolist()) == (0, (), [0])
    assert len(empty.take(np.zeros(0, dtype=bool))) == 0
    assert len(Run.from_results({}).to_frame()) == 0


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("123"), st.sampled_from("AB"), st.booleans()), max_size=12)
)
def test_taking_rows_is_filtering_them(rows: list[tuple[str, str, bool]]) -> None:
    schema = {"topic": pl.String, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
    table = [(topic, doc, i, i + 1) for i, (topic, doc, _) in enumerate(rows)]
    run = Run.from_frame(pl.DataFrame(table, schema=schema, orient="row"), name="r")
    marks = np.array([rows[start][2] for start in run.start.tolist()], dtype=bool)
    left = run.take(marks).to_frame().select("topic", "doc", "start").rows()
    everything = run.to_frame().select("topic", "doc", "start").rows()
    assert left == [row for row, kept in zip(everything, marks.tolist(), strict=True) if kept]


def test_the_frame_shows_ranks_and_null_where_a_place_is_not_known() -> None:
    frame = pl.DataFrame(
        {"topic": ["1", "1"], "doc": ["A", "B"], "start": [0, -1], "end": [-1, -1]}
    )
    assert Run.from_frame(frame, name="r").to_frame().rows() == [
        ("1", "A", 1, 0, None),
        ("1", "B", 2, None, None),
    ]


ELEMENTS = st.lists(st.tuples(st.sampled_from("12"), st.sampled_from("AB"), st.integers(0, 3)))


def elements_of(results: list[tuple[str, str, int]]) -> Run:
    """A run of elements, of which the first two have the same extent."""
    schema = {"topic": pl.String, "doc": pl.String, "element": pl.Int64}
    frame = pl.DataFrame(results, schema=schema, orient="row").sort("topic", maintain_order=True)
    path = pl.format("/a[1]/p[{}]", "element").alias("xpath")
    start = (pl.col("element") // 2).alias("start")
    frame = frame.with_columns(path, start, (start + 5).alias("end"))
    return replace(Run.from_frame(frame, name="r"), element=frame["element"].to_numpy())


@settings(max_examples=60)
@given(ELEMENTS, st.integers(0, 20))
def test_elements_repeat_each_other_as_their_paths_do(
    results: list[tuple[str, str, int]], shorter: int
) -> None:
    run = elements_of(results)
    cut = run.end.copy()
    cut[shorter:] -= 1
    for one in (run, replace(run, end=cut)):
        expected = replace(one, element=None).duplicates
        assert [x.tolist() for x in one.duplicates] == [x.tolist() for x in expected]


def test_a_result_that_is_no_element_is_compared_by_its_path() -> None:
    run = elements_of([("1", "A", 0)] * 3)
    some = replace(run, element=np.array([0, UNKNOWN, 0]))
    assert [x.tolist() for x in some.duplicates] == [[0, 0], [1, 2]]


@settings(max_examples=30)
@given(ELEMENTS)
def test_what_documents_decide_is_the_same_wherever_results_are(
    results: list[tuple[str, str, int]],
) -> None:
    run = elements_of(results)
    assert run.documents.number is not None
    moved, anew = run.with_columns(end=run.end + 1), replace(run, end=run.end + 1)
    assert moved.end.tolist() == anew.end.tolist()
    for name in ("topic", "position", "first", "repeats"):
        assert getattr(moved, name).tolist() == getattr(anew, name).tolist()
    assert moved.documents is run.documents
    assert [x.tolist() for x in moved.documents] == [x.tolist() for x in anew.documents]
    assert [x.tolist() for x in moved.duplicates] == [x.tolist() for x in anew.duplicates]


def test_chosen_rows_keep_every_column() -> None:
    run = replace(
        Run.from_results(RESULTS),
        score=np.array([4.0, 3.0, 2.0, 1.0]),
        rank=np.array([1, 2, 3, 1]),
        xpath=pl.Series(["/a", "/b", None, "/c"]),
        length=np.array([9, 8, 9, 7]),
        tokens=np.array([5, 6, 7, 8]),
        element=np.array([0, 1, 2, 3]),
    )
    assert set(run.columns) == {
        *("doc", "start", "end", "line", "score", "rank", "xpath", "length", "tokens", "element")
    }
    rows = [1, 2]
    taken = run.take(np.isin(np.arange(4), rows))
    assert taken.topics == ("2",)
    assert taken.bounds.tolist() == [0, 2]
    for name, column in run.columns.items():
        assert taken.columns[name].dtype == column.dtype
        assert list(taken.columns[name]) == [column[row] for row in rows]
    assert "score" not in Run.from_results(RESULTS).columns


def test_two_runs_of_one_name_and_file_stem_are_refused() -> None:
    with pytest.raises(InputError) as refused:
        distinguish_names([("x", Provenance("a/x.run")), ("x", Provenance("b/x.run"))])
    ((code, file, line, _),) = refused.value.problems
    assert (code, file, line) == ("run.name", "b/x.run", None)
