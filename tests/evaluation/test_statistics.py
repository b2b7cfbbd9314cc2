"""``foveal stats``: what collections, topics, judgements and runs hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import foveal
from command import call
from foveal.analysis.statistics import (
    collection_statistics,
    judgement_statistics,
    run_statistics,
    topic_statistics,
)
from foveal.formats import read_topics
from inputs import judgement_losses, read_judgements, read_run, text_source
from xml_trees import index_of


def test_a_collection(tmp_path: Path) -> None:
    documents = {"d.xml": "<a>one <p>two</p><p/></a>", "e.xml": "<a><s><p>x</p></s></a>"}
    found = collection_statistics(index_of(tmp_path, documents))
    assert found["documents"] == 2
    assert found["elements"] == 6
    assert found["elements per document"] == 3
    assert found["mean depth of elements (root 1)"] == round((1 + 2 + 2 + 1 + 2 + 3) / 6, 3)
    assert found["elements by tag"] == {"p": 3, "a": 2, "s": 1}
    assert found["document length"] == {"mean": 4, "median": 4, "min": 1, "max": 7}


def test_topics() -> None:
    castitles = {
        "1": "//article[about(., a)]//sec[about(.//p, b)]",
        "2": "//(sec|p)[about(., x) and .//yr > 1999]",
        "3": "/article/sec[about(., 'x')]",
        "4": "//sec[",
    }
    lines = [{"topic": i, "title": "x", "castitle": c} for i, c in castitles.items()]
    lines.append({"topic": "5", "title": "x", "description": "y"})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    assert topic_statistics(read_topics(text_source(text))) == {
        "kind": "topics",
        "topics": 5,
        "topics by type": {"CO+S": 4, "CO": 1},
        "topics with a field": {"title": 5, "castitle": 4, "description": 1},
        "castitles": 4,
        "castitles by target": {"sec": 3, "p": 1},
        "castitles by support element": {"article": 1, "p": 1, "yr": 1},
    }


def test_evidence_sets_are_counted_by_topics(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text(
        '{"topic":"1","doc":"d","length":99,"spans":[{"start":0,"end":10,"sets":["a"]},'
        '{"start":20,"end":30,"sets":["a","b"]}]}\n'
        '{"topic":"1","doc":"e","length":99,"spans":[{"start":0,"end":10,"sets":["c"]}]}\n'
        '{"topic":"2","doc":"d","length":99,"spans":[{"start":0,"end":10}]}\n'
    )
    judgements = foveal.read_judgements(path)
    found = judgement_statistics(judgements)
    assert found["topics with evidence sets"] == 1
    assert found["sets of such a topic"]["mean"] == 3
    assert "spans of evidence sets: 3" in judgement_losses(judgements, "fol")


def test_a_run_of_elements_and_passages() -> None:
    rows: list[dict[str, Any]] = [
        {"topic": "1", "doc": "d", "start": 0, "end": 10, "xpath": "/a/p"},
        {"topic": "1", "doc": "d", "start": 5, "end": 8, "xpath": "/a/p/b[2]"},
        {"topic": "1", "doc": "e", "start": 0, "end": 4, "xpath": "/a/p[1]/text()[1].0 /a/p[2]"},
        {"topic": "2", "doc": "d", "start": 0, "end": 10, "xpath": "/a/p"},
    ]
    found = run_statistics(read_run("".join(json.dumps(row) + "\n" for row in rows)))
    assert found["results per topic"] == {"mean": 2, "median": 2, "min": 1, "max": 3}
    assert found["documents per topic"]["mean"] == 1.5
    assert found["result length"]["max"] == 10
    assert found["share of results that overlap another one"] == 0.5
    assert found["share of results that overlap an earlier one"] == 0.25
    assert found["results that are elements"] == 3
    assert found["results between two points"] == 1
    assert found["depth of elements"] == {"mean": 2.333, "median": 2, "min": 2, "max": 3}
    assert found["results by tag"] == {"p": 2, "b": 1}


def test_the_share_of_fully_highlighted_elements() -> None:
    """As the link experiment of 2006 counts: of the whole elements, which are links."""
    elements = [("/a", 90, 30), ("/a/p", 20, 20), ("/a/p/link", 5, 5), ("/a/link[2]", 9, 9)]
    elements += [("/a/p/link[3]", 0, 0), ("/a/q", 7, 0), ("/a/link[7]", 3, 1)]
    listed = [{"xpath": path, "size": size, "rsize": rsize} for path, size, rsize in elements]
    lines = [
        {"topic": "1", "doc": "d", "elements": listed},
        {"topic": "2", "doc": "d", "elements": []},
    ]
    found = judgement_statistics(read_judgements("".join(json.dumps(x) + "\n" for x in lines)))
    assert found["topics with nothing relevant"] == 1
    assert found["assessed elements"] == 7
    assert found["relevant elements"] == 5
    assert found["relevant elements per topic"] == {"mean": 2.5, "median": 2.5, "min": 0, "max": 5}
    assert found["relevant elements by tag"] == {"link": 3, "a": 1, "p": 1}
    assert found["fully highlighted elements"] == 3
    assert found["share of fully highlighted elements by tag"] == {"link": 0.6667, "p": 0.3333}


def test_the_table_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "r"
    paths = "".join(f"1 Q0 d 1 1 r /a/t{i}\n" for i in range(23))
    run.write_text(f"1 Q0 e 1 1 r /a/p\n1 Q0 d 1 1 r /a/p\n{paths}")
    lines = call(capsys, "stats", str(run), "-f", "table").out.splitlines()
    cells = [line.split() for line in lines]
    assert lines[0] == f"{run}: run"
    assert ["results", "25"] in cells
    assert ["documents", "per", "topic", "mean", "2"] in cells
    assert ["results", "by", "tag", "p", "2"] in cells
    assert lines[-1] == "results by tag: 4 more in other formats."
