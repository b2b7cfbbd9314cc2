"""Whatever a format can hold comes back as it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.formats import detect_kind
from foveal.model import Topic
from inputs import (
    JUDGEMENT_FORMATS,
    RUN_FORMATS,
    TOPIC_FORMATS,
    fault,
    highlights,
    read_judgements,
    text_source,
)

quick = settings(max_examples=50)
names = st.text("aZ09é漢𝄞_-./", min_size=1, max_size=4).filter(lambda name: name != "all")
any_names = st.text(min_size=1, max_size=6).filter(lambda name: name != "all")
scores = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(st.integers(0, 200))
    return start, start + draw(st.integers(0, 90))


@st.composite
def runs(
    draw: st.DrawFn,
    *,
    name: st.SearchStrategy[str] = names,
    places: st.SearchStrategy[dict[str, Any]],
) -> foveal.Run:
    """A run with results of the given kinds of place, and scores and ranks or none."""
    rows = draw(st.lists(st.tuples(name, name, places, scores), min_size=1, max_size=8))
    table = [{"topic": t, "doc": d, "start": -1, "end": -1, **p} for t, d, p, _ in rows]
    schema = {"topic": pl.String, "doc": pl.String, "start": pl.Int64, "end": pl.Int64}
    frame = pl.DataFrame(table, schema_overrides=schema | {"xpath": pl.String})
    if draw(st.booleans()):
        frame = frame.with_columns(score=pl.Series([score for *_, score in rows]))
    if draw(st.booleans()):
        steps = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
        frame = frame.with_columns(rank=pl.Series(steps).cum_sum())
    return foveal.Run.from_frame(frame, name=draw(names))


passages = spans().map(lambda span: {"start": span[0], "end": span[1]})
paths = names.map(lambda name: {"xpath": f"/a[1]/{name.replace('/', '') or 'b'}[2]"})
documents = st.just({"start": 0})


def again(run: foveal.Run, form: str) -> foveal.Run:
    content = RUN_FORMATS[form](run)
    return foveal.read_run(text_source(content))


def columns(run: foveal.Run) -> list[dict[str, Any]]:
    """The results without the columns that hold nothing."""
    frame = run.to_frame()
    kept = [name for name in frame.columns if frame[name].null_count() < len(frame)]
    return frame.select(kept).to_dicts()


def order(run: foveal.Run) -> pl.DataFrame:
    """The results without what only says their order."""
    return run.to_frame().drop("score", "rank", strict=False)


@quick
@given(runs(places=passages))
def test_passages_in_8_fields(run: foveal.Run) -> None:
    read = again(run, "fol")
    assert read.to_frame().drop("score", "rank").equals(order(run))
    if run.score is not None and read.score is not None:
        assert read.score.tolist() == run.score.tolist()
    assert read.name == run.name


@quick
@given(runs(places=paths))
def test_elements_in_7_fields(run: foveal.Run) -> None:
    read = again(run, "elements")
    assert read.to_frame().drop("score", "rank").equals(order(run))


@quick
@given(runs(places=documents))
def test_documents_in_6_fields_at_their_first_result(run: foveal.Run) -> None:
    wanted = run.take(run.first == range(len(run)))
    read = again(run, "trec")
    assert read.topics == wanted.topics
    assert read.doc.to_list() == wanted.doc.to_list()


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@quick
@given(run=runs(name=any_names, places=passages | paths | documents))
def test_everything_in_json_lines_and_parquet(run: foveal.Run, form: str) -> None:
    read = again(run, form)
    assert columns(read) == columns(run)
    assert read.name == run.name


judged_documents = st.lists(spans(), max_size=4)


@st.composite
def judgements(draw: st.DrawFn, name: st.SearchStrategy[str]) -> foveal.Judgements:
    topics: dict[str, dict[str, Any]] = {}
    for topic, doc in draw(st.lists(st.tuples(name, name), min_size=1, max_size=6, unique=True)):
        found = draw(judged_documents)
        entry: dict[str, Any] = {"spans": found, "length": 300}
        if found and draw(st.booleans()):
            entry["bep"] = draw(st.integers(0, 300))
        topics.setdefault(topic, {})[doc] = entry
    return foveal.Judgements.from_highlights(topics)


def facts(given: foveal.Judgements) -> list[tuple[Any, ...]]:
    rows = zip(highlights(given), given.to_frame().select("length", "bep").rows(), strict=True)
    return [(*place, *more) for place, more in rows]


@quick
@given(judgements(any_names))
def test_judgements_in_json_lines(judged: foveal.Judgements) -> None:
    read = read_judgements(JUDGEMENT_FORMATS["jsonl"](judged))
    assert facts(read) == facts(judged)


@quick
@given(judgements(names))
def test_combined_judgements_in_fol(judged: foveal.Judgements) -> None:
    united = judged.combined()
    read = read_judgements(JUDGEMENT_FORMATS["fol"](united))
    assert facts(read) == facts(united)


@quick
@given(judgements(names))
def test_relevance_of_documents_in_trec(judged: foveal.Judgements) -> None:
    read = read_judgements(JUDGEMENT_FORMATS["trec"](judged))
    assert read.doc.to_list() == judged.doc.to_list()
    assert read.relevant.tolist() == judged.relevant.tolist()


# -- what a format cannot hold -------------------------------------------------------------------

PASSAGE, DOCUMENT = "1 Q0 D1 1 0.5 mine 0 20\n", "1 Q0 A 1 0.5 r\n"
TWO_ASSESSORS = '{"start":0,"end":5},{"start":6,"end":7,"assessor":"b"}'
JUDGED = '{"topic":"1","doc":"D","length":9,"spans":[%s]}\n'


def in_json(xpath: str, doc: str = "D", topic: str = "1") -> str:
    return f'{{"topic":"{topic}","doc":"{doc}","xpath":"{xpath}"}}\n'


@pytest.mark.parametrize(
    ("text", "form", "code", "line"),
    [
        (DOCUMENT, "fol", "write.unheld", 1),
        (in_json("/a", "two words"), "trec", "write.unfit", None),
        (PASSAGE, "elements", "write.unheld", 1),
        (in_json("/a/b") + '{"topic":"1","doc":"D","bep":0}\n', "elements", "write.unheld", 2),
        (in_json("/a[@x = 1]/b"), "elements", "write.unfit", None),
        (PASSAGE, "inex", "write.no_xpath", 1),
        (DOCUMENT, "inex", "write.no_xpath", 1),
        (in_json("/a[@b = 1]/c"), "inex", "write.unfit", None),
        (in_json("/a", " D"), "inex", "write.unfit", None),
        (in_json("/a", topic="\\u0001"), "inex", "write.unfit", None),
        ('{"topic":"1","doc":"D","spans":[]}\n', "fol", "write.unheld", 1),
        (JUDGED % '{"start":0,"end":5,"grade":0}', "fol", "write.unheld", 1),
        (JUDGED % '{"start":0,"end":5},{"start":4,"end":6}', "fol", "write.unheld", 1),
        ((JUDGED % "").replace('"D"', '"my D"'), "fol", "write.unfit", None),
        ((JUDGED % "").replace('"1"', '"#1"'), "fol", "write.unfit", None),
        (JUDGED % TWO_ASSESSORS, "fol", "write.unheld", 1),
        (JUDGED % TWO_ASSESSORS, "trec", "write.unheld", 1),
        ("1 0 A 0\n1 0 B 1\n", "jsonl", "write.unheld", 2),
    ],
)
def test_what_a_format_cannot_hold_is_refused(
    text: str, form: str, code: str, line: int | None, tmp_path: Path
) -> None:
    """An existing file stays as it is."""
    path = tmp_path / "out"
    path.write_text("old")
    source = text_source(text)
    is_run = detect_kind(source) == "run"
    read, write = (foveal.read_run, foveal.write_run)
    if not is_run:
        read, write = (foveal.read_judgements, foveal.write_judgements)
    assert fault(write, read(source), path, form) == (code, line)
    assert (path.read_text(), [*tmp_path.iterdir()]) == ("old", [path])


@pytest.mark.parametrize(
    ("topic", "form"),
    [(("1", "a\x00"), "inex"), ((" 1", None), "inex"), (("1", "a<desc>b"), "trec")],
)
def test_topics_that_a_format_cannot_hold_are_refused(topic: Any, form: str) -> None:
    topics = foveal.Topics.of([Topic(*topic)], line=[4])
    assert fault(TOPIC_FORMATS[form], topics) == ("write.unfit", 4)
