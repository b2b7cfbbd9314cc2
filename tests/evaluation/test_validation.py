"""``foveal validate``: everything wrong with a run, as a list and as JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveal.collection import Collection, build_index
from foveal.errors import Problem
from foveal.evaluation import find_preset
from foveal.evaluation.validation import UNCHECKED, validate, validate_topics
from foveal.files.source import Source
from foveal.model.topics import Topic, Topics

GOOD = "1 Q0 d 1 9 mine 0 4\n1 Q0 e 2 8 mine 1 3\n"


def findings(
    text: str,
    castitles: dict[str, str] | None = None,
    topics: Sequence[str] = (),
    **options: object,
) -> list[Problem]:
    known = None
    if castitles is not None or topics:
        known = Topics.of(Topic(t, castitle=(castitles or {}).get(t)) for t in topics or ["1"])
    return validate(Source.of_text(text, "r"), topics=known, **options)  # type: ignore[arg-type]


def kinds(text: str, **options: Any) -> list[tuple[str, int | None]]:
    return [(finding.code, finding.line) for finding in findings(text, **options)]


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    folder = tmp_path / "documents"
    folder.mkdir()
    for name in ("d", "e"):
        (folder / f"{name}.xml").write_text("<a><p>one </p><sec>two<p>three</p></sec></a>")
    build_index(folder, tmp_path / "index")
    return Collection.open(tmp_path / "index")


def test_nothing_is_wrong_with_a_good_run(collection: Collection) -> None:
    preset = find_preset("2009.RelevantInContext")
    assert findings(GOOD, preset=preset, collection=collection, topics=["1"]) == []


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("1 Q0 d\n", {}, [("run.format", 1)]),
        ("1 Q0 d 1 9 m 0 4\n1 Q0 e 2 x m 0 4\n", {}, [("run.score", 2)]),
        ("1 Q0 d 1 8 m 0 4\n1 Q0 e 2 9 m 0 4\n", {}, [("run.order", 2)]),
        ("1 Q0 d 1 9 m 0 4\n1 Q0 d 2 9 m 0 4\n", {}, [("run.duplicate", 2)]),
        ("1 Q0 d 1 9 m 0 4\n1 Q0 e 3 8 m 0 4\n1 Q0 f 2 7 m 0 4\n", {}, [("run.order", 3)]),
        ("1 Q0 d 1 9 m\n1 Q0 e 3 8 m\n1 Q0 f 2 7 m\n", {}, [("run.order", 3)]),
        ("1 Q0 d 2 9 m\n1 Q0 e 1 9 m\n", {}, []),  # equal scores have no order of their own
        ("1 Q0 d x 9 m 0 4\n1 Q0 e y 8 m 0 4\n", {}, []),  # the rank may be anything
        (GOOD, {"max_results": 1}, [("run.too_many", 2)]),
        (GOOD, {"topics": ["2"]}, [("run.unknown_topic", 1)]),
        ("1 Q0 d 1 9 m 0 4\n2 Q0 d 1 9 m 0 4\n1 Q0 e 2 8 m 0 4\n", {}, [("run.grouping", 3)]),
    ],
)
def test_each_kind_of_problem_is_found_on_its_line(
    text: str, options: dict[str, object], expected: list[tuple[str, int | None]]
) -> None:
    assert kinds(text, **options) == expected


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("CO.Focussed", [("run.overlap", 4)]),
        ("All In Context", [("run.interleaved", 4), ("run.overlap", 4)]),
        ("COS.FetchBrowse", [("run.interleaved", 4)]),
        ("BestInContext", [("run.second_result", 4)]),
        ("Thorough", []),
    ],
)
def test_the_declared_task_decides_where_none_is_given(
    task: str, expected: list[tuple[str, int]]
) -> None:
    text = (
        f'{{"type":"header","task":"{task}"}}\n'
        '{"topic":"1","doc":"d","start":0,"end":9}\n{"topic":"1","doc":"e","start":0,"end":9}\n'
        '{"topic":"1","doc":"d","start":3,"end":4}\n'
    )
    assert kinds(text) == expected


def test_a_collection_tells_which_elements_are_empty(tmp_path: Path) -> None:
    (tmp_path / "d.xml").write_text("<a><s>one<b/></s><b/><s>two</s></a>")
    build_index(tmp_path / "d.xml", tmp_path / "index")
    paths = "/a/s", "/a/s/b", "/a/b", "/a/s[2]", "/a/b"
    text = "".join(f"1 Q0 d {i} 1 m {path}\n" for i, path in enumerate(paths, 1))
    preset, index = find_preset("2009.Focused"), Collection.open(tmp_path / "index")
    assert kinds(text, preset=preset) == [("run.overlap", 2), ("run.duplicate", 5)]
    assert kinds(text, preset=preset, collection=index) == [("run.duplicate", 5)]


def test_paths_that_no_document_can_have() -> None:
    paths = "/a/p", "//p", "/a/p[0]", "/a//p", "/a/p[01]", "/a/text()[2].5", "/a/@id", "/a/p[-1]"
    text = "".join(f"1 Q0 d{i} {i} 1 m {path}\n" for i, path in enumerate(paths, 1))
    found = findings(text)
    assert [(f.code, f.line) for f in found] == [
        ("run.impossible_path", n) for n in (2, 3, 4, 5, 8)
    ]
    assert found[0].text == "no document has '//p'; expected /path[1]/of[1]/element[2]"
    passage = '{"topic":"1","doc":"d","xpath":"/a /a/p[0]"}'
    assert kinds(passage) == [("run.impossible_path", 1)]


def test_a_topic_has_one_element_in_a_submission() -> None:
    block = '<topic topic-id="{}">\n<result><file>{}</file><path>/a</path></result>\n</topic>\n'
    blocks = block.format(1, "d"), block.format(2, "d"), block.format(1, "e")
    text = "<inex-submission>\n{}</inex-submission>\n"
    assert kinds(text.format("".join(blocks[:2]))) == []
    for encoding in ("utf-8", "utf-16"):
        source = Source("r", text.format("".join(blocks)).encode(encoding), "no hash")
        assert [str(finding) for finding in validate(source)] == [
            "r:8: a second <topic> of '1'; expected one for each topic"
        ]


def test_a_collection_adds_documents_paths_and_ends(collection: Collection) -> None:
    text = "1 Q0 x 1 9 m /a[1]\n1 Q0 d 2 8 m /a/p[7]\n1 Q0 d 3 7 m /a/sec\n"
    expected = [("collection.unknown_document", 1), ("collection.unknown_path", 2)]
    assert kinds(text, collection=collection) == expected
    assert kinds("1 Q0 d 1 9 m 0 99\n", collection=collection) == [("run.past_end", 1)]


@pytest.mark.parametrize(("task", "wrong"), [("SSCAS", [3]), ("CO.SVCAS", [3]), ("VVCAS", [])])
def test_strict_tasks_want_the_targets_of_the_castitle(task: str, wrong: list[int]) -> None:
    text = (
        f'{{"type":"header","task":"{task}"}}\n'
        '{"topic":"1","doc":"d","xpath":"/a[1]/sec[1]/p[1]"}\n'
        '{"topic":"1","doc":"d","xpath":"/a[1]/sec[1]"}\n'
    )
    found = findings(text, castitles={"1": "//sec//p[about(., x)]"})
    assert [finding.line for finding in found if finding.code == "run.target"] == wrong


def strict(*results: dict[str, object]) -> str:
    lines = [{"topic": "1", "doc": "d", **result} for result in results]
    header = {"type": "header", "task": "SSCAS"}
    return "".join(json.dumps(line) + "\n" for line in [header, *lines])


def test_spans_without_a_place_are_not_said_to_miss_the_target(collection: Collection) -> None:
    text = strict(
        {"start": 8, "end": 99},
        {"doc": "x", "start": 0, "end": 5},
        {"xpath": "/a/text()[9].1 /a/sec"},
    )
    found = kinds(text, collection=collection, castitles={"1": "//sec[about(., x)]"})
    codes = "run.past_end", "collection.unknown_document", "collection.unknown_path"
    assert found == [*zip(codes, (2, 3, 4), strict=True)]


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Documents d0, d1, ... of tags p and q that hold each other in every way."""
    chance = random.Random(5)

    def tree(depth: int) -> str:
        inner = "".join(tree(depth - 1) for _ in range(chance.randint(0, 3 if depth else 0)))
        tag, text = chance.choice("pq"), "x" * chance.randint(0, 2)
        return f"<{tag}>{text}{inner}</{tag}>"

    folder = tmp_path_factory.mktemp("forest")
    for i in range(8):
        (folder / f"d{i}.xml").write_text(f"<a>{tree(3)}{tree(1)}x</a>")
    build_index(folder, folder / "index")
    return Collection.open(folder / "index")


@settings(max_examples=60)
@given(data=st.data())
def test_targets_of_spans_are_those_of_a_search_through_all_elements(
    forest: Collection, data: st.DataObject
) -> None:
    doc = data.draw(st.sampled_from([f"d{i}" for i in range(8)]))
    elements = forest.all_elements(doc)
    first = data.draw(st.integers(0, elements[0].end))
    last = data.draw(st.integers(first, elements[0].end))
    text = strict({"doc": doc, "start": first, "end": last})
    if first == last:  # the element of the character after it, or of the last one
        first = min(first, elements[0].end - 1)
        last = first + 1
    around = [e for e in elements if e.start <= first and last <= e.end]
    least = min(e.end - e.start for e in around)
    own = [e.xpath.rpartition("/")[2][0] for e in around if e.end - e.start == least]
    found = kinds(text, collection=forest, castitles={"1": "//q[about(., x)]"})
    assert found == ([] if "q" in own else [("run.target", 2)])


def test_a_file_is_one_run() -> None:
    for rest in ("", " 0 4", " /a[1]"):
        lines = [f"1 Q0 d{i} {i} {9 - i} {name}{rest}\n" for i, name in enumerate("aabab")]
        (found,) = findings("# made by hand\n" + "".join(lines))
        assert str(found) == (
            "r:4: the run is called 'b' here, but 'a' before; expected one run in a file"
        )
    header, results = '{"type":"header","run":"a"}\n', '{"topic":"1","doc":"%s"}\n'
    (found,) = findings(header + results % "d" + header + results % "e")
    assert str(found) == "r:3: a second header; expected one run"


def test_a_declared_task_must_be_known_and_be_the_preset() -> None:
    header = '{"type":"header","task":"%s"}\n{"topic":"1","doc":"d","start":0,"end":3}\n'
    assert kinds(header % "Thorough", preset=find_preset("2009.Focused")) == [("run.task", 1)]
    assert kinds("\n" + header % "COS.Through") == [("run.task", 2)]
    submission = (
        '<?xml version="1.0"?>\n\n<inex-submission task="COS.Through"><topic topic-id="1">\n'
        "<result><file>d</file><path>/a</path></result></topic></inex-submission>"
    )
    assert kinds(submission) == [("run.task", 3)]


@pytest.mark.parametrize(
    ("castitle", "code"),
    [
        (None, UNCHECKED),
        ("only words", UNCHECKED),
        ("//sec[", "topics.castitle"),
        ("//sec[about(., x)]", "run.target"),
    ],
)
def test_a_strict_task_needs_a_castitle(
    castitle: str | None, code: str, collection: Collection
) -> None:
    text, titles = strict({"start": 0, "end": 2}), {"1": castitle} if castitle else {}
    assert kinds(text, castitles=titles, collection=collection) == [(code, 2)]
    assert kinds(text.replace("SSCAS", "VVCAS"), castitles=titles, collection=collection) == []


def test_topics_are_validated_too(collection: Collection) -> None:
    castitles = "//p[about(., x)]", "//sec[about(.)]", "//seq[about(., x)]"
    lines = [{"topic": str(i), "title": "x", "castitle": c} for i, c in enumerate(castitles, 1)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    found = validate_topics(Source.of_text(text, "t"), collection=collection)
    assert [(f.code, f.line) for f in found] == [("topics.castitle", 2), ("topics.unknown_tag", 3)]
    repeated = Source.of_text(text.replace('"2"', '"1"'), "t")
    assert [f.code for f in validate_topics(repeated)] == ["topics.repeated"]
