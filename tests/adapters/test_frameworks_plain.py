"""Tuples, dicts, rows and data frames as runs and judgements, and what `evaluate` takes."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from adapters.chunk_retrieval import CAMPAIGN, JUDGEMENTS
from foveal.adapters import runs_of
from inputs import highlights, results

TRUTH = {"1": [("d1", 0, 50)], "2": [("d2", 10, 30), ("d1", 60, 70)]}


def refused(objects: Any, make: Any = foveal.run_of, **options: Any) -> str:
    with pytest.raises(foveal.FovealError) as caught:
        make(objects, **options)
    return str(caught.value)


# -- worked examples ----------------------------------------------------------------------------


class Hit(NamedTuple):
    doc_id: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Chunk:
    source: str
    start_index: int
    text: str


@pytest.mark.parametrize(
    "result",
    [
        ("d1", 40, 47),
        ("d1", 40, 47, 9.5),
        {"doc": "d1", "start": 40, "end": 47},
        {"docno": "d1", "start_offset": 40, "end_offset": 47, "score": 9.5},
        {"source": "d1", "start_index": 40, "text": "a ferry"},
        {"content": "a ferry", "meta": {"source_id": "d1", "split_idx_start": 40}},
        ({"source": "d1", "start_index": 40, "text": "a ferry"}, 9.5),
        ("d1", {"start": 40, "end": 47}),
        Hit("d1", 40, 47, 9.5),
        Chunk("d1", 40, "a ferry"),
        (Chunk("d1", 40, "a ferry"), 9.5),
    ],
    ids=repr,
)
def test_one_place_said_in_many_ways(result: Any) -> None:
    run = foveal.run_of({"1": [result]}, texts={"d1": "." * 40 + "a ferry..."})
    assert results(run) == [("1", "d1", 40, 47)]
    told = "9.5" in repr(result)
    assert (None if run.score is None else run.score.tolist()) == ([9.5] if told else None)


def test_numbered_topics_and_documents_become_text() -> None:
    run = foveal.run_of({7: [(12, 0, 5)]})
    assert results(run) == [("7", "12", 0, 5)]
    assert foveal.judgements_of({7: [(12, 0, 5)]}).topics == ("7",)


def test_a_list_is_the_ranking_and_rows_are_ordered_by_rank_then_score() -> None:
    scored = [("d1", 0, 5, 1.0), ("d2", 0, 5, 2.0), ("d3", 0, 5, 3.0)]
    assert foveal.run_of({"1": scored}).doc.to_list() == ["d1", "d2", "d3"]
    rows = [("1", *result) for result in scored]
    assert foveal.run_of(rows).doc.to_list() == ["d3", "d2", "d1"]
    dicts = [
        {"topic": "1", "doc": doc, "start": start, "end": end, "score": score, "rank": rank}
        for rank, (doc, start, end, score) in zip((2, 1, 3), scored, strict=True)
    ]
    assert foveal.run_of(dicts).doc.to_list() == ["d2", "d1", "d3"]
    assert foveal.run_of({"1": dicts[1:]}).rank.tolist() == [1, 3]
    assert foveal.run_of({"1": dicts}).doc.to_list() == ["d2", "d1", "d3"]


def test_whole_documents_are_noted() -> None:
    run = foveal.run_of({"1": [{"doc": "d1"}, {"doc": "d2", "begin": 4}]})
    assert results(run) == [("1", "d1", 0, None), ("1", "d2", 0, None)]
    assert run.notes == ("results without start and end, taken as whole documents: 2",)
    placed = foveal.run_of({"1": [{"doc": "d1"}]}, texts={"d1": "twelve chars"})
    assert results(placed) == [("1", "d1", 0, 12)]


def test_xpaths_wait_for_a_collection() -> None:
    run = foveal.run_of({"1": [{"doc": "d1", "xpath": "/article[1]/sec[2]"}]})
    assert results(run) == [("1", "d1", None, None)]
    assert run.xpath is not None
    assert run.xpath.to_list() == ["/article[1]/sec[2]"]


# -- judgements ---------------------------------------------------------------------------------


def test_judgements_in_many_ways() -> None:
    expected = [("1", "d1", 0, 50), ("2", "d2", 10, 30), ("2", "d1", 60, 70)]
    rows = [(topic, *span) for topic, spans in TRUTH.items() for span in spans]
    named = [dict(zip(("qid", "docno", "start", "end"), row, strict=True)) for row in rows]
    by_document = {"1": {"d1": [(0, 50)]}, "2": {"d2": [(10, 30)], "d1": [(60, 70)]}}
    with_more = {"1": {"d1": {"spans": [(0, 50)], "length": 90, "bep": 3}}, "2": by_document["2"]}
    for objects in (TRUTH, rows, named, by_document, with_more, pl.DataFrame(named)):
        assert highlights(foveal.judgements_of(objects)) == expected
    told = foveal.judgements_of(with_more)
    assert told.length.tolist() == [90, -1, -1]
    assert told.bep.tolist() == [3, -1, -1]


def test_documents_judged_not_relevant() -> None:
    by_document = foveal.judgements_of({"1": {"d1": [(0, 5)], "d2": []}})
    frame = foveal.judgements_of(
        pl.DataFrame({"topic": "1", "doc": ["d1", "d2"], "start": [0, None], "end": [5, None]})
    )
    for judgements in (by_document, frame):
        assert highlights(judgements) == [("1", "d1", 0, 5), ("1", "d2", None, None)]
        assert judgements.relevant.tolist() == [True, False]


def test_grades_assessors_sets_and_quotes() -> None:
    spans = [
        {"doc": "d1", "start": 0, "end": 7, "grade": 2, "assessor": "a", "quote": "A ferry"},
        {"doc": "d1", "start": 12, "end": 15, "grade": 0, "assessor": "a"},
        {"doc": "d1", "start": 0, "end": 7, "assessor": "b", "sets": ["s1", "s2"]},
    ]
    judgements = foveal.judgements_of({"1": spans}, texts={"d1": "A ferry and a ford."})
    assert judgements.assessors == ("a", "b")
    assert judgements.grade is not None
    assert judgements.grade.tolist() == [2, 0, 1]
    assert judgements.length.tolist() == [19, 19]
    assert judgements.quotes is not None
    assert judgements.quotes["quote"].to_list() == ["A ferry", None, None]
    assert judgements.sets is not None
    assert judgements.sets.to_list() == [None, None, ["s1", "s2"]]
    highlighted = {"spans": [{"start": 0, "end": 7, "sets": ["s1"]}, (12, 15)]}
    assert foveal.judgements_of({"1": {"d1": highlighted}}).sets.to_list() == [["s1"], None]


def test_grades_without_offsets_judge_whole_documents() -> None:
    qrels = pd.DataFrame({"qid": ["1", "1"], "docno": ["d1", "d2"], "label": [1, 0]})
    judgements = foveal.judgements_of(qrels)
    assert not judgements.has_text
    assert judgements.relevant.tolist() == [True, False]
    run = {"1": [{"doc": "d2"}, {"doc": "d1"}]}
    assert foveal.evaluate(run, qrels, "AP").aggregate() == {"run": {"AP": 0.5}}


def test_topics_without_judgement_are_named() -> None:
    truth = foveal.judgements_of({"1": [("d1", 0, 5)], "2": [], "3": {}})
    assert truth.topics == ("1",)
    assert truth.notes == ("topics without any judgement, left out: 2, 3",)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ({"1": {"d1": 5}}, "topic '1', document 'd1' has int 5; expected a list of (start, end)"),
        ({"1": {"d1": [5]}}, "has list [5]; expected a list of (start, end) or (start, end, grade"),
        ({"1": "d1"}, "'1' has str 'd1'; expected a list for each topic"),
        ([("d1", 0, 5)], "list [('d1', 0, 5)] cannot be judgements"),
        (7, "int 7 cannot be judgements"),
        ({"1": [{"doc": "d", "start": 0, "end": 5}, {"doc": "e", "grade": 1}]}, "by its grade"),
        ({"1": [{"doc": "d", "start": 0, "end": 9, "length": 5}]}, "past the document's length 5"),
        ({"1": [{"doc": "d", "start": i, "end": 9, "length": 9 + i} for i in (0, 1)]}, "differs"),
        ({"1": {"d": {"spans": [], "length": 5, "bep": 9}}}, "bep 9 is past the document's length"),
        ({"1": {"d": {"spans": [], "length": -5}}}, "length -5 is not a whole number from"),
        ({"1": [{"doc": "d", "start": 0, "end": 9, "sets": "a"}]}, "expected a list of names"),
        ({"1": {"d": {"span": [(0, 5)]}}}, "or a dict with it as spans"),
        ({"1": [("d", 0, 5, float("nan"))]}, "judgements:1: grade nan is not a finite number"),
    ],
    ids=repr,
)
def test_refused_judgements(objects: Any, message: str) -> None:
    assert message in refused(objects, foveal.judgements_of)


# -- data frames --------------------------------------------------------------------------------

ROWS = {
    "qid": [1, 1, 2],
    "docno": ["d1", "d2", "d1"],
    "start": [10, 20, 0],
    "end": [60, 25, 5],
    "score": [1.0, 3.5, 2.0],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_frames_of_both_libraries(make: Any) -> None:
    run = foveal.run_of(make(ROWS))
    assert results(run) == [("1", "d2", 20, 25), ("1", "d1", 10, 60), ("2", "d1", 0, 5)]
    assert run.score is not None
    assert run.score.tolist() == [3.5, 1.0, 2.0]


def test_pandas_has_many_ways_to_have_nothing() -> None:
    frame = pd.DataFrame(ROWS)
    missing = frame.assign(start=[10.0, None, 0.0], end=[60.0, float("nan"), 5.0])
    nullable = missing.astype({"start": "Int64", "end": "Int64", "docno": "category"})
    for own in (missing, nullable):
        assert results(foveal.run_of(own)) == [
            ("1", "d2", 0, None),
            ("1", "d1", 10, 60),
            ("2", "d1", 0, 5),
        ]


def test_a_frame_may_hold_several_runs() -> None:
    frame = pl.DataFrame({**ROWS, "run": ["b", "a", "b"]})
    scores = foveal.evaluate(frame, TRUTH, "charR")
    assert scores.runs == ("b", "a")
    assert scores.aggregate() == {"b": {"charR": 0.4}, "a": {"charR": 0.0}}
    assert "the frame names the runs b, a; expected one name" in refused(frame)
    one = frame.filter(pl.col("run") == "b")
    assert foveal.run_of(one).name == "b"
    assert foveal.run_of(one, name="c").name == "c"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"docno": ["d"]}, "no column for the topic: docno; expected topic or topic_id"),
        ({"qid": ["1"]}, "no column for the doc: qid; expected doc or doc_id"),
        ({"qid": [1.5], "docno": ["d"]}, "run:1: topic 1.5: topic is float 1.5; expected text"),
        ({"qid": [1], "docno": ["d"], "start": [0.5], "end": [2]}, "run:1: topic 1: start is floa"),
        ({"qid": [1], "docno": ["d"], "start": ["x"], "end": [2]}, "start is str 'x'; expected a"),
        ({"qid": [1], "docno": ["d"], "start": [float("inf")], "end": [2]}, "start is float inf"),
        ({"qid": [1], "docno": ["d"], "score": ["x"]}, "score is str 'x'; expected a number"),
        ({"qid": [1], "docno": ["d"], "start": [4], "end": [2]}, "run:1: end 2 is before start 4"),
        ({"qid": [1], "docno": [None], "start": [4]}, "run:1: topic '1': the document is"),
        ({"qid": [1], "docno": ["d"], "start": [0], "end": [2**63]}, "is int 9223372036854775808"),
        ({"qid": [1], "docno": ["d"], "start": [0], "end": [10**30]}, "end is int 100000000000000"),
        ({"qid": [1, 1], "docno": "d", "run": ["a", None]}, "names the runs a, None; expected one"),
    ],
    ids=repr,
)
def test_refused_frames(columns: dict[str, list[Any]], message: str) -> None:
    assert message in refused(pl.DataFrame(columns))
    pandas = refused(pd.DataFrame(columns))
    assert message in pandas


def test_the_column_of_the_document_can_be_named() -> None:
    frame = pl.DataFrame({"topic": ["1"], "doc": ["chunk-7"], "file": ["d1"], "start": 0, "end": 5})
    assert results(foveal.run_of(frame, doc="file")) == [("1", "d1", 0, 5)]
    assert "no column for the doc" in refused(frame, doc="path")
    assert "for a frame it is the name of a column" in refused(frame, doc=str)


# -- properties ---------------------------------------------------------------------------------

spans = st.tuples(st.sampled_from(["d1", "d2", "d3"]), st.integers(0, 99), st.integers(0, 99)).map(
    lambda s: (s[0], min(s[1:]), max(s[1:]))
)
ranked = st.dictionaries(
    st.sampled_from(["1", "2", "t3"]), st.lists(spans, min_size=1, max_size=6), min_size=1
)


@settings(max_examples=50)
@given(ranked)
def test_all_forms_are_one_run(found: dict[str, list[tuple[str, int, int]]]) -> None:
    expected = results(foveal.Run.from_results(found))
    rows = [(topic, *result) for topic, own in found.items() for result in own]
    columns = ("topic", "doc", "start", "end")
    dicts = [dict(zip(columns, row, strict=True)) for row in rows]
    frame = pl.DataFrame(dicts, schema_overrides={"topic": pl.String})
    for objects in (found, rows, dicts, frame, pd.DataFrame(dicts)):
        assert results(foveal.run_of(objects)) == expected
    back = foveal.run_of(foveal.run_of(found).to_frame())
    assert results(back) == expected


@settings(max_examples=50)
@given(ranked)
def test_judgements_come_back_from_their_frame(
    found: dict[str, list[tuple[str, int, int]]],
) -> None:
    judgements = foveal.judgements_of(found)
    assert sorted(highlights(judgements)) == sorted(
        (topic, *span) for topic, own in found.items() for span in own
    )
    assert highlights(foveal.judgements_of(judgements.to_frame())) == highlights(judgements)


# -- evaluate -----------------------------------------------------------------------------------


def test_several_runs_have_names() -> None:
    first, second = {"1": [("d1", 0, 40)]}, {"1": [("d1", 0, 20)]}
    runs = [foveal.run_of(first, name="first"), foveal.run_of(second, name="second")]
    scores = foveal.evaluate(runs, {"1": [("d1", 0, 40)]}, "charR")
    assert scores.aggregate() == {"first": {"charR": 1.0}, "second": {"charR": 0.5}}
    for unnamed in ([first, second], [first], [pl.DataFrame(ROWS)], [runs[0], second]):
        assert "have no names; give each its own: foveal.run_of(results, name=...)" in refused(
            unnamed, lambda found: foveal.evaluate(found, TRUTH, "charR")
        )
    confused = {"first": first, "second": second}
    assert "Several runs are a list of foveal.run_of" in refused(
        confused, lambda found: foveal.evaluate(found, TRUTH, "charR")
    )


def test_files_and_runs_stay_what_they_are() -> None:
    run = foveal.Run.from_results({"1": [("d1", 0, 5)]})
    path = CAMPAIGN / "runs" / "paragraphs.run"
    assert runs_of(run) == [run]
    assert runs_of([run, path, str(path)]) == [run, path, str(path)]
    as_objects = foveal.run_of(foveal.read_run(path).to_frame(), name="paragraphs")
    read = foveal.evaluate(path, JUDGEMENTS, ["iP@0.01", "AiP"])
    made = foveal.evaluate(as_objects, JUDGEMENTS, ["iP@0.01", "AiP"])
    assert made.aggregate() == read.aggregate()


def test_wrong_results_are_named_by_number_and_topic() -> None:
    found = {"1": [("d1", 0, 5), ("d1", -3, 5)], "2": ["d1", ("d1", 0, "x")]}
    assert refused(found).splitlines() == [
        (
            "run:3: topic '2': str 'd1' is not a result; expected (doc, start, end), a dict, or "
            "an object of LangChain, LlamaIndex, Haystack or Chonkie"
        ),
        "run:4: topic '2': end is str 'x'; expected a whole number",
    ]
    assert "run:2: start -3 is not a whole number from" in refused({"1": found["1"]})


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"1": [("d", 5, 3)]}, "end 3 is before start 5"),
        ({"1": [{"doc": "d", "start": 3}]}, "start and end belong together; one is missing"),
        ({"1": [("d", 0, 5, float("nan"))]}, "score nan is not a finite number"),
        ({"1": [("d", 0, 10**30)]}, "expected a whole number"),
        ({"1": [("d", 0, 2**60)]}, "is not a whole number from 0 to 1099511627776"),
        ({"all": [("d", 0, 5)]}, "a topic may not be called 'all'"),
        ({1.5: [("d", 0, 5)]}, "topic is float 1.5; expected text"),
        ({"1": [("d\ud800", 0, 5)]}, "half a character"),
        ({"1": [("", 0, 5)]}, "the document is missing"),
        ({"1": [SimpleNamespace(page_content="a", metadata=["d"])]}, "name it doc, source or meta"),
        ({"1": [{"doc": "d", "start": 0, "text": 5}]}, "text is int 5; expected text"),
        ({"1": [{"doc": "d", "start": 3, "end": 4, "text": "abc"}]}, "[3,4) has length 1, but its"),
        ({"1": [{"doc": "d", "start": 3, "end": 4, "tokens": -1}]}, "tokens -1 is not a whole num"),
        ({"1": [{"doc": "d", "text": "abc"}]}, "give start and end, or texts="),
        ({"1": [{"doc": "d", "start": True, "end": 4}]}, "start is bool True"),
        ("my.run", "foveal.read_run and foveal.read_judgements read files"),
        (None, "None cannot be a run"),
        ([("d", 0, 5)], "cannot be a run; expected {topic: [(doc, start, end), ...]}"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_refused_results(found: Any, message: str) -> None:
    assert message in refused(found)


def test_texts_are_a_mapping() -> None:
    message = refused({"1": [("d1", 0, 5)]}, texts="corpus")
    assert message == "texts is a str; expected a mapping of documents to texts"


# -- no framework is needed ---------------------------------------------------------------------


def test_no_framework_is_imported() -> None:
    program = (
        "import sys, foveal\n"
        "foveal.evaluate({'1': [('d', 0, 5)]}, {'1': [('d', 0, 5)]}, 'charR')\n"
        "names = {'langchain_core', 'llama_index', 'haystack', 'chonkie', 'pandas', 'pyarrow'}\n"
        "print(sorted(names & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    adapters = Path(foveal.__file__).parent / "adapters"
    allowed = {"foveal", "msgspec", "numpy", "polars"} | sys.stdlib_module_names
    for module in adapters.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in named} <= allowed, module.name
