"""Runs and judgements on a collection: XPaths score as the offsets they stand for."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

import foveal
from foveal.collection import Collection, build_index
from foveal.collection.placement import place_judgements
from inputs import read_judgements, refusal
from shared_data import DATA
from xml_trees import index_of

JATS = DATA / "evidence_inference_v2"
needs_jats = pytest.mark.skipif(
    not (JATS / "xml_files.tar.xz").exists(), reason="the JATS articles are not beside the project"
)
MEASURES = ["charP@5", "charR", "AgP", "HiP@10"]
ARTICLE = "<article><p>relevant</p><p>not</p><p>relevant</p></article>"  # 19 characters
LACKING: list[dict[str, object]] = [  # an element and a document that are not in the collection
    {"doc": "d", "rank": 1, "xpath": "/article/p"},
    {"doc": "d", "rank": 2, "xpath": "/article/q"},
    {"doc": "x", "rank": 3, "xpath": "/article"},
]
JUDGED = '{"topic":"1","doc":"d","spans":[{"start":0,"end":8},{"start":11,"end":19}]}\n'


@pytest.fixture
def index(tmp_path: Path) -> Path:
    index_of(tmp_path, {"d.xml": ARTICLE, "e.xml": "<article/>"})
    return tmp_path / "index"


def write(path: Path, *results: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps({"topic": "1"} | r) + "\n" for r in results))
    return path


def scores(run: Path, judged: Path | str, index: Path | None, **options: object) -> object:
    judgements = judged if isinstance(judged, Path) else read_judgements(judged)
    results = foveal.evaluate([run], judgements, ["charP", "charR"], collection=index, **options)
    return next(iter(results.aggregate().values()))


def test_xpaths_score_as_offsets(index: Path, tmp_path: Path) -> None:
    by_path = write(
        tmp_path / "by_path.jsonl",
        {"doc": "d", "rank": 1, "xpath": "/article/p"},
        {"doc": "d", "rank": 2, "xpath": "/article/p[2]/text()[1].1 /article/p[3]"},
        {"doc": "e", "rank": 3, "xpath": "/article[1]"},
    )
    by_offset = write(
        tmp_path / "by_offset.jsonl",
        {"doc": "d", "rank": 1, "start": 0, "end": 8},
        {"doc": "d", "rank": 2, "start": 9, "end": 19},
        {"doc": "e", "rank": 3, "start": 0, "end": 0},
    )
    assert scores(by_path, JUDGED, index) == scores(by_offset, JUDGED, None)


def test_a_whole_document_gets_its_length(index: Path, tmp_path: Path) -> None:
    run = write(tmp_path / "run.jsonl", {"doc": "d", "rank": 1})
    assert scores(run, JUDGED, index) == {"charP": pytest.approx(16 / 19), "charR": 1.0}


def test_what_the_collection_lacks_is_named_with_its_line(index: Path, tmp_path: Path) -> None:
    beyond = {"doc": "d", "rank": 4, "xpath": "/article/p/text()[1].9"}
    run = write(tmp_path / "run.jsonl", *LACKING, beyond)
    assert refusal(scores, run, JUDGED, index).splitlines() == [
        f"{run}:2: document 'd' has no element '/article[1]/q[1]'",
        f"{run}:3: document 'x' is not in the collection",
        f"{run}:4: '/article/p/text()[1].9' is not a place in document 'd'",
    ]


def test_a_wrong_place_of_an_assessment_has_its_own_line(index: Path, tmp_path: Path) -> None:
    run = write(tmp_path / "run.jsonl", {"doc": "d", "rank": 1, "xpath": "/article"})
    pool = (
        '<assessments topic="1">\n<file name="d">\n'
        '<passage start="/article/p[1]" end="/article/p[3]"/>\n'
        '<passage start="/article/p[1]" end="/article/p[4]"/>\n'
        '<best-entry-point path="/article/q"/>\n</file></assessments>'
    )
    assert refusal(scores, run, pool, index).splitlines() == [
        "x:4: document 'd' has no element '/article/p[1] /article/p[4]'",
        "x:5: document 'd' has no element '/article/q'",
    ]


def test_relevant_elements_without_a_passage_are_said(index: Path, tmp_path: Path) -> None:
    pool = (
        '<assessments topic="1">\n<file name="d"><passage start="/article" end="/article"/></file>'
        '<file name="e"><element path="/article" size="9" rsize="3"/></file></assessments>'
    )
    placed = place_judgements(read_judgements(pool), Collection.open(index))
    assert placed.relevant.tolist() == [True, False]
    assert placed.notes == (
        "documents with relevant elements but no relevant passage, taken as not relevant, 1: e",
    )


def test_an_index_of_another_collection_is_refused(index: Path, tmp_path: Path) -> None:
    run = write(tmp_path / "run.jsonl", {"doc": "d", "rank": 1, "xpath": "/article"})
    message = refusal(scores, run, JUDGED.replace('"d"', '"other"'), index)
    assert message == (
        f"x: none of the judged documents (other, ...) is in the index {index}; "
        "it is of another collection"
    )


def test_lenient_counts_what_the_collection_lacks(index: Path, tmp_path: Path) -> None:
    run = write(tmp_path / "run.jsonl", *LACKING)
    results = foveal.evaluate(
        [run], read_judgements(JUDGED), ["charP", "charR"], collection=index, lenient=True
    )
    assert results.aggregate()["run"] == {"charP": 1.0, "charR": 0.5}
    (warning,) = [w for w in results.meta["warnings"] if "collection" in w]
    assert "results that the collection does not hold: 2 (line 2: " in warning


def test_lengths_that_contradict_the_collection(index: Path, tmp_path: Path) -> None:
    run = write(tmp_path / "run.jsonl", {"doc": "d", "rank": 1, "xpath": "/article"})
    longer = JUDGED.replace('"spans"', '"length":20,"spans"')
    message = refusal(scores, run, longer, index)
    assert message.startswith("x:1: document 'd' is 20 characters long here, but 19 in the coll")
    beyond = JUDGED.replace('"end":19', '"end":21')
    message = refusal(scores, run, beyond, index)
    assert message == (
        "x:1: a span ends at 21, past the end of document 'd' of 19 characters in the collection"
    )


def test_judgements_that_count_white_space_otherwise(index: Path, tmp_path: Path) -> None:
    run = write(tmp_path / "run.jsonl", {"doc": "d", "rank": 1, "xpath": "/article"})
    header = '{"type":"header","format":"foveal-judgements","version":1,"whitespace":"merge"}\n'
    message = refusal(scores, run, header + JUDGED, index)
    assert "count white space by the rule 'merge'" in message
    assert "was built with 'keep'" in message


# -- the JATS runs --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("jats") / "index"
    build_index(JATS / "xml_files.tar.xz", path)
    return path


def nearest_paths(collection: Collection, record: dict[str, object]) -> str:
    """A window of text as a range between two points of the elements around its ends."""
    start, end = int(str(record["start"])), int(str(record["end"]))
    first = point(collection, str(record["doc"]), start)
    last = point(collection, str(record["doc"]), end)
    return f"{first} {last}"


def point(collection: Collection, doc: str, offset: int) -> str:
    """The first text node that holds an offset, and where in it."""
    element = collection.smallest_around(doc, offset, offset + 1)
    number, reached = 0, element.start
    every = collection.all_elements(doc)
    below = [child for child in every if child.xpath.rpartition("/")[0] == element.xpath]
    for child in [*below, None]:
        until = element.end if child is None else child.start
        if until > reached:
            number += 1
            if reached <= offset < until:
                return f"{element.xpath}/text()[{number}].{offset - reached}"
        reached = until if child is None else max(reached, child.end)
    raise AssertionError(f"no text node of {doc} holds {offset}")


@needs_jats
@pytest.mark.parametrize("name", ["bm25_p", "bm25_p_sec", "bm25_sec", "bm25_win400"])
def test_jats_runs_score_the_same_by_xpath_and_by_offset(
    name: str, jats: Path, tmp_path: Path
) -> None:
    """Windows have no XPath in the run: for some topics, points in text stand for them."""
    collection = Collection.open(jats)
    with lzma.open(JATS / f"run_{name}.jsonl.xz", "rt") as stream:
        records = [json.loads(line) for line in stream]
    if "win" in name:
        topics = sorted({record["topic"] for record in records})[:8]
        records = [record for record in records if record["topic"] in topics]
    by_offset, by_path = [], []
    for record in records:
        xpath = record.pop("xpath", None) or nearest_paths(collection, record)
        by_offset.append(record)
        by_path.append({k: v for k, v in record.items() if k not in ("start", "end")})
        by_path[-1]["xpath"] = xpath
    runs = (
        write(tmp_path / "by_offset.jsonl", *by_offset),
        write(tmp_path / "by_path.jsonl", *by_path),
    )
    results = foveal.evaluate(
        runs, JATS / "xml_qrels.jsonl", MEASURES, collection=jats, overlap="union", regroup=True
    )
    frame = results.tidy()
    parts = frame.partition_by("run", include_key=False, maintain_order=True)
    assert len(parts) == 2
    assert parts[0].equals(parts[1])
    assert parts[0]["value"].max() > 0
