"""The S-R space: which documents, which parts of them, in which order."""

from __future__ import annotations

import random
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toy_elements
from foveal import InputError, UsageError
from foveal.analysis.fidelity import PARTS, RANKINGS, Simulation, simulate
from foveal.collection import Collection, build_index
from foveal.model import Judgements, Run
from inputs import read_judgements
from xml_trees import index_of

Span = tuple[int, int]
Gold = dict[str, dict[str, dict[str, object]]]

TOY: Gold = {
    "1": {
        doc: {"spans": spans, "length": toy_elements.LENGTHS[doc]}
        for doc, spans in toy_elements.HIGHLIGHTS.items()
    }
}
DOCUMENTS = 34


def random_document(chance: random.Random, depth: int = 0) -> str:
    """Mixed content, empty elements, elements that their only child fills."""
    inside = ""
    for _ in range(chance.randint(1, 4)):
        kind = chance.random()
        if depth < 4 and kind < 0.6:
            inside += random_document(chance, depth + 1)
        elif kind < 0.9:
            inside += "x" * chance.randint(1, 9)
    return f"<{'aspb'[depth % 4]}>{inside}</{'aspb'[depth % 4]}>"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    build_index(toy_elements.write_documents(folder), folder / "index")
    return folder / "index"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    chance = random.Random(22)
    files = {f"d{i:02}.xml": f"<r>x{random_document(chance)}</r>" for i in range(DOCUMENTS)}
    return index_of(tmp_path_factory.mktemp("generated"), files)


@st.composite
def campaigns(draw: st.DrawFn, collection: Collection, least: int = 2) -> Gold:
    """Topics with 2 to 30 relevant documents, passages that begin and end anywhere."""
    length = dict(collection.documents.select("doc", "length").rows())
    judged: Gold = {}
    for topic in range(draw(st.integers(1, 3))):
        docs = draw(st.permutations(sorted(length)))[: draw(st.integers(least, 30))]
        judged[str(topic)] = {}
        for doc in docs:
            seeds = draw(st.lists(st.tuples(st.integers(0, 999), st.integers(1, 60)), max_size=3))
            starts = [(a % length[doc], size) for a, size in [(0, 5), *seeds][-3:]]
            spans = [(a, min(a + size, length[doc])) for a, size in starts]
            judged[str(topic)][doc] = {"spans": spans, "length": length[doc]}
    return judged


def runs_of(made: Simulation) -> dict[str, Run]:
    return {run.name: run for run in made.runs}


def listed(run: Run, topic: str = "1") -> list[tuple[str, list[tuple[int, int, str | None]]]]:
    """The documents of a topic in their order, each with the parts returned."""
    frame = run.to_frame()
    xpath = frame["xpath"] if "xpath" in frame.columns else [None] * len(frame)
    rows = zip(frame["topic"], frame["doc"], frame["start"], frame["end"], xpath, strict=True)
    own = [row[1:] for row in rows if row[0] == topic]
    return [(doc, [row[1:] for row in rows]) for doc, rows in groupby(own, key=lambda r: r[0])]


# -- worked examples -----------------------------------------------------------------------------


def test_parts_of_the_toy_collection(toy: Path) -> None:
    """D1 is highlighted from the middle of p1 to the end of p2, and in the second half of p4."""
    runs = runs_of(simulate(Judgements.from_highlights(TOY), toy))
    parts = {name: listed(runs[f"{name}R"]) for name in PARTS}
    assert parts["S"] == [("D2", [(0, 50, None)]), ("D1", [(10, 40, None), (70, 80, None)])]
    assert parts["SL"] == [
        ("D2", [(0, 50, "/a[1]")]),
        ("D1", [(0, 60, "/a[1]/s[1]"), (60, 80, "/a[1]/s[2]/p[1]")]),
    ]
    assert parts["SLD"] == [("D2", [(0, 50, "/a[1]")]), ("D1", [(0, 100, "/a[1]")])]
    assert parts["SS"] == [("D2", [(0, 50, "/a[1]")]), ("D1", [(20, 40, "/a[1]/s[1]/p[2]")])]
    assert parts["SST"] == [
        ("D2", [(0, 25, "/a[1]/p[1]"), (25, 50, "/a[1]/p[2]")]),
        ("D1", [(20, 40, "/a[1]/s[1]/p[2]")]),
    ]


def test_a_document_of_which_nothing_is_returned_keeps_its_rank(toy: Path) -> None:
    judged = {"1": {**TOY["1"], "D1": {"spans": [(5, 90)]}, "D2": {"spans": [(3, 9)]}}}
    truth = Judgements.from_highlights(judged)
    made = simulate(truth, toy)
    assert listed(runs_of(made)["SSR"])[1] == ("D2", [(3, 3, None)])
    assert "SS: relevant documents with nothing returned, kept without text: 1" in made.notes
    left = runs_of(simulate(truth, toy, empty="omit"))
    assert [doc for doc, _ in listed(left["SSRI"])] == ["D3", "D1"]
    assert [doc for doc, _ in listed(left["SLRI"])] == ["D3", "D1", "D2"]


# -- the non-relevant document -------------------------------------------------------------------


def first_of(made: Simulation, topic: str = "1") -> str:
    return listed(runs_of(made)["SRI"], topic)[0][0]


def test_the_first_judged_non_relevant_document_is_put_first(toy: Path) -> None:
    judged = {"1": {"D2": {"spans": []}, "D3": {"spans": [(0, 4)]}}}
    assert first_of(simulate(Judgements.from_highlights(judged), toy)) == "D2"


def test_else_the_first_that_is_not_judged(toy: Path) -> None:
    truth = Judgements.from_highlights({"1": {"D1": {"spans": [(0, 4)]}}})
    assert first_of(simulate(truth, toy)) == "D2"


def test_a_topic_without_one_is_skipped_and_named(toy: Path) -> None:
    everything = {doc: {"spans": [(0, 4)]} for doc in toy_elements.LENGTHS}
    made = simulate(Judgements.from_highlights({"7": everything, "8": TOY["1"]}), toy)
    assert made.skipped == ("7",)
    assert all(run.topics == ("8",) for run in made.runs)
    assert "topics left out, no non-relevant document: 7" in made.notes
    with pytest.raises(UsageError, match="no topic to simulate: 1 without a non-relevant document"):
        simulate(Judgements.from_highlights({"7": everything}), toy)


def test_without_a_collection_documents_of_other_topics_serve(toy: Path) -> None:
    entry = {"spans": [(0, 4)], "length": 9}
    truth = Judgements.from_highlights({"1": {"A": entry}, "2": {"B": entry}})
    made = simulate(truth)
    assert (first_of(made, "1"), first_of(made, "2")) == ("B", "A")
    assert made.notes == ("no collection (--collection): runs of SL, SS, SST are left out",)


def test_documents_of_unknown_length_are_returned_by_name() -> None:
    truth = Judgements.from_highlights({"1": {"A": {"spans": [(0, 4)]}, "B": {"spans": []}}})
    made = simulate(truth)
    assert listed(runs_of(made)["SLDR"]) == [("A", [(0, None, None)])]


# -- against a naive reading of the specification ------------------------------------------------


def naive_parts(collection: Collection, doc: str, passages: list[Span]) -> dict[str, set[str]]:
    """METRICS 22, element by element; the document's part sets as sets of paths."""
    elements = [e for e in collection.all_elements(doc) if e.end > e.start]
    every = {e.xpath for e in collection.all_elements(doc)}
    around, largest, leaves = set(), set(), set()
    for start, end in passages:
        holding = [e for e in elements if e.start <= start and e.end >= end]
        around.add(min(holding, key=lambda e: (e.end - e.start, -e.xpath.count("/"))))
        inside = {e.xpath for e in elements if e.start >= start and e.end <= end}
        largest |= {x for x in inside if x.rpartition("/")[0] not in inside}
        leaves |= {x for x in inside if not any(y.startswith(f"{x}/") for y in every)}
    outer = {
        e.xpath
        for e in around
        if not any(o.start <= e.start and e.end <= o.end and o != e for o in around)
    }
    return {"SL": outer, "SS": largest, "SST": leaves}


@settings(max_examples=30)
@given(data=st.data())
def test_parts_are_those_of_the_naive_reading(generated: Collection, data: st.DataObject) -> None:
    judged = data.draw(campaigns(generated))
    truth = Judgements.from_highlights(judged).combined()
    runs = runs_of(simulate(truth, generated.path))
    for row in range(len(truth)):
        topic, doc = truth.topics[truth.topic[row]], truth.doc[row]
        expected = naive_parts(generated, doc, truth.passages(row))
        for name, paths in expected.items():
            (found,) = [parts for d, parts in listed(runs[f"{name}R"], topic) if d == doc]
            assert {xpath for _, _, xpath in found if xpath is not None} == paths
            assert [part[:2] for part in found] == sorted(part[:2] for part in found)
            assert len(found) == max(len(paths), 1)


@settings(max_examples=30)
@given(data=st.data())
def test_documents_come_by_decreasing_highlighted_text(
    generated: Collection, data: st.DataObject
) -> None:
    truth = Judgements.from_highlights(data.draw(campaigns(generated, least=1))).combined()
    made = simulate(truth, generated.path)
    size = {
        (truth.topics[t], d): n
        for t, d, n in zip(truth.topic, truth.doc, truth.rel_size, strict=True)
    }
    for parts in PARTS:
        for topic in made.topics:
            runs = runs_of(made)
            ranked = {r: [d for d, _ in listed(runs[f"{parts}{r}"], topic)] for r in RANKINGS}
            sizes = [size[topic, doc] for doc in ranked["R"]]
            assert sizes == sorted(sizes, reverse=True)
            assert len(set(ranked["R"])) == len(ranked["R"])
            swapped = [*ranked["R"][:2][::-1], *ranked["R"][2:]]
            assert ranked["RS"] == swapped
            intruder = ranked["RI"][0]
            assert size.get((topic, intruder), 0) == 0
            assert ranked["RI"] == [intruder, *ranked["R"]]
            assert ranked["RSI"] == [intruder, *swapped]


# -- wrong use -----------------------------------------------------------------------------------


def test_documents_that_the_collection_does_not_hold_are_named(toy: Path) -> None:
    judged = {"1": {**TOY["1"], "D9": {"spans": [(0, 4)]}, "D8": {"spans": []}}}
    with pytest.raises(InputError, match="relevant document 'D9' is not in the collection") as bad:
        simulate(Judgements.from_highlights(judged), toy)
    assert len(bad.value.problems) == 1


def test_touching_highlights_are_one_passage(tmp_path: Path) -> None:
    """So the smallest element around both is returned, and what lies across their border."""
    index_of(tmp_path, {"d.xml": "<a><p>one</p><p>other</p>x</a>", "e.xml": "<a>y</a>"})
    touching = {"d": {"spans": [(0, 3), (3, 8)]}, "e": {"spans": []}}
    runs = runs_of(simulate(Judgements.from_highlights({"1": touching}), tmp_path / "index"))
    assert listed(runs["SR"]) == [("d", [(0, 8, None)])]
    assert listed(runs["SLR"]) == [("d", [(0, 9, "/a[1]")])]


def test_judgements_of_whole_documents_have_no_passages(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 D1 1\n1 0 D2 0\n")
    with pytest.raises(InputError, match="no text is highlighted; expected judged passages"):
        simulate(tmp_path / "qrels")


def test_assessors_are_not_simulated_one_by_one() -> None:
    line = '{"topic":"1","doc":"D1","length":9,"assessor":"a","spans":[{"start":0,"end":4}]}\n'
    with pytest.raises(UsageError, match="choose how assessors count"):
        simulate(read_judgements(line), assessors="each")
