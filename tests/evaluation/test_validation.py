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

from command import call
from foveal.collection import Collection, build_index
from foveal.errors import Problem
from foveal.evaluation import PRESETS, find_preset
from foveal.evaluation.validation import UNCHECKED, validate, validate_topics
from foveal.files.source import Source
from foveal.model.topics import Topic, Topics
from foveal.nexi import IEEE_CLASSES

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


def test_a_task_adds_what_it_forbids() -> None:
    overlapping = "1 Q0 d 1 9 m 0 4\n1 Q0 e 2 8 m 0 1\n1 Q0 d 3 7 m 2 9\n"
    assert kinds(overlapping) == []
    assert kinds(overlapping, preset=find_preset("2009.Focused")) == [("run.overlap", 3)]
    assert kinds(overlapping, preset=find_preset("2009.Thorough")) == []
    in_context = kinds(overlapping, preset=find_preset("2009.RelevantInContext"))
    assert in_context == [("run.interleaved", 3), ("run.overlap", 3)]
    rising = "1 Q0 d 1 7 m 0 4\n1 Q0 e 2 9 m 0 4\n"
    assert kinds(rising, preset=find_preset("2009.RelevantInContext")) == []
    best = kinds(overlapping, preset=find_preset("2009.BestInContext"))
    assert best == [("run.interleaved", 3), ("run.second_result", 3)]
    long = "1 Q0 d 1 9 m 0 900\n1 Q0 d 2 8 m 900 101\n1 Q0 e 3 7 m 0 5\n"
    assert kinds(long, preset=find_preset("2010.RestrictedFocused")) == [("run.limit", 2)]
    restricted = kinds(long, preset=find_preset("2010.RestrictedRelevantInContext"))
    assert restricted == [("run.limit", 1)]


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


def test_overlap_of_elements_shows_in_their_paths() -> None:
    paths = ["/a/b[10]", "/a/b", "/a/b[10]/c[2]", "/a/b[1]", "/a", "/a/text()[1].2 /a/b"]
    lines = [{"topic": "1", "doc": "d", "xpath": path} for path in paths]
    lines.append({"topic": "1", "doc": "e", "xpath": "/a"})
    header = {"type": "header", "task": "Focused"}
    text = "".join(json.dumps(line) + "\n" for line in [header, *lines])
    assert [str(finding) for finding in findings(text)] == [
        "r:4: overlaps the result on line 2 (topic '1', document 'd')",
        "r:5: repeats the result on line 3 (topic '1', document 'd')",
        "r:6: overlaps the result on line 2 (topic '1', document 'd')",
    ]


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.sampled_from("de"), st.integers(0, 9), st.integers(0, 5)),
        min_size=1,
        max_size=8,
    )
)
def test_every_overlap_is_found_with_the_first_result_it_meets(
    places: list[tuple[str, int, int]],
) -> None:
    text = "".join(f"1 Q0 {doc} {i} 1 m {at} {n}\n" for i, (doc, at, n) in enumerate(places, 1))
    expected = {}
    for i, (doc, at, n) in enumerate(places):
        for j, (other, start, size) in enumerate(places[:i]):
            shared = min(at + n, start + size) - max(at, start)
            if doc == other and shared > 0 and places[i] not in places[:i]:
                expected.setdefault(i + 1, j + 1)
    found = findings(text, preset=find_preset("2009.Focused"))
    overlaps = [finding for finding in found if finding.code == "run.overlap"]
    assert {f.line: int(f.text.split()[5]) for f in overlaps} == expected


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


def test_a_path_and_offsets_that_disagree(collection: Collection) -> None:
    text = '{"topic":"1","doc":"d","xpath":"/a/p","start":0,"end":5}\n'
    (found,) = findings(text, collection=collection)
    assert found.text == "/a[1]/p[1] is at [0,4), but the result gives [0,5)"


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


def test_a_castitle_that_is_no_query_is_said() -> None:
    text = '{"type":"header","task":"SSCAS"}\n{"topic":"1","doc":"d","xpath":"/a[1]/b[1]"}\n'
    (found,) = findings(text, castitles={"1": "//sec["})
    assert str(found) == (
        "r:2: castitle of topic '1': not a NEXI query, character 7: expected about(...), "
        "a comparison or '(', found the end\n  //sec[\n        ^"
    )


def test_tags_mean_the_same_where_classes_say_so() -> None:
    text = '{"type":"header","task":"SCAS"}\n{"topic":"1","doc":"d","xpath":"/article/bdy/ss1"}\n'
    castitles = {"1": "//article//sec[about(., x)]"}
    assert findings(text, castitles=castitles, classes=IEEE_CLASSES) == []
    assert findings(text, castitles=castitles, classes=(frozenset({"sec", "ss1"}),)) == []
    (found,) = findings(text, castitles=castitles, classes=(frozenset({"sec", "ss2"}),))
    assert found.text == (
        "/article[1]/bdy[1]/ss1[1] is not a target of //article//sec[about(., x)]"
    )


def strict(*results: dict[str, object]) -> str:
    lines = [{"topic": "1", "doc": "d", **result} for result in results]
    header = {"type": "header", "task": "SSCAS"}
    return "".join(json.dumps(line) + "\n" for line in [header, *lines])


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"start": 7, "end": 12}, None),  # <p>three</p>
        ({"start": 8, "end": 10}, None),  # within it
        ({"start": 4, "end": 12}, "[4,12) is /a[1]/sec[1], not"),
        ({"start": 5, "end": 9}, "[5,9) lies in /a[1]/sec[1], not"),
        ({}, "[0,12) is /a[1], not"),  # a whole document is its root
        ({"xpath": "/a/sec/p/text()[1].1 /a/sec/p/text()[1].3"}, None),
        ({"xpath": "/a/p /a/sec"}, "[0,12) is /a[1], not"),
        ({"start": 8, "end": 8}, None),
    ],
)
def test_spans_are_the_element_of_their_extent_or_the_smallest_around(
    collection: Collection, result: dict[str, object], said: str | None
) -> None:
    found = findings(
        strict(result), collection=collection, castitles={"1": "//sec//p[about(., x)]"}
    )
    expected = [] if said is None else [f"r:2: {said} a target of //sec//p[about(., x)]"]
    assert [str(finding) for finding in found] == expected


def test_one_of_several_elements_of_an_extent_is_enough(tmp_path: Path) -> None:
    (tmp_path / "d.xml").write_text("<a><sec><p>all of it</p></sec></a>")
    build_index(tmp_path, tmp_path / "index")
    collection = Collection.open(tmp_path / "index")
    for target in ("//a", "//sec", "//p"):
        text = strict({"start": 0, "end": 9})
        assert (
            findings(text, collection=collection, castitles={"1": f"{target}[about(., x)]"}) == []
        )


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


def test_what_could_not_be_checked_is_said_and_is_no_fault(collection: Collection) -> None:
    text = strict({"start": 4, "end": 12}, {"xpath": "/a/sec"}, {"start": 0, "end": 2})
    (found,) = findings(text)
    assert str(found) == (
        "r: targets were not checked: the task is strict, and castitles are not given "
        "(--topics-file)"
    )
    (found,) = findings(text, castitles={"1": "//sec[about(., x)]"})
    assert str(found) == (
        "r:2: targets of 2 results that are not named as elements were not checked; "
        "a collection (--collection) tells which elements they are"
    )
    (found,) = findings(text, castitles={}, collection=collection)
    assert str(found) == "r:2: topic '1' has no castitle; targets were not checked"
    (found,) = findings(text, castitles={"1": "only words"}, collection=collection)
    assert found.text == "castitle of topic '1' asks for no structure; targets were not checked"
    assert found.code == UNCHECKED
    # That there is no such topic is all there is to say.
    assert kinds(text, castitles={}, topics=["2"]) == [("run.unknown_topic", 2)]


def test_tasks_that_are_not_strict_need_no_castitles() -> None:
    assert findings(strict({"start": 4, "end": 12}).replace("SSCAS", "VVCAS")) == []


def test_tags_of_topics_that_no_element_has(collection: Collection) -> None:
    topics = '{"topic":"1","title":"x","castitle":"//*[about(.//(p|q), x)]//seq[about(., x)]"}\n'
    found = validate_topics(Source.of_text(topics, "t"), collection=collection)
    assert [(f.code, f.line, f.text[-7:]) for f in found] == [
        ("topics.unknown_tag", 1, " 'sec'?"),
        ("topics.unknown_tag", 1, "tag 'q'"),
    ]
    assert validate_topics(Source.of_text(topics, "t")) == []


def test_topics_are_validated_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topics = tmp_path / "topics.jsonl"
    topics.write_text(
        '{"topic":"1","title":"x","castitle":"//sec[about(., x)]"}\n'
        '{"topic":"2","title":"x","castitle":"//sec[about(.)]"}\n{"topic":"3","title":"no, CO"}\n'
    )
    outcome = call(capsys, "validate", str(topics))
    assert outcome == (
        1,
        (
            f"{topics}:2: topic '2': not a NEXI query, character 14: expected ',', found ')' "
            "[topics.castitle]\n  //sec[about(.)]\n               ^\n"
        ),
        "1 file, 1 problem: topics.castitle 1\n",
    )
    topics.write_text('{"topic":"1","title":"x"}\n{"topic":"1","title":"y"}\n')
    assert [f.code for f in validate_topics(str(topics))] == ["topics.repeated"]


def test_a_declared_task_that_is_not_the_preset() -> None:
    text = '{"type":"header","task":"Thorough"}\n{"topic":"1","doc":"d","start":0,"end":3}\n'
    (found,) = findings(text, preset=find_preset("2009.Focused"))
    assert str(found) == "r:1: declares the task Thorough, not 2009.Focused"


def test_a_task_that_nobody_knows() -> None:
    task = "COS.Through"
    expected = f"declares the task {task!r}, which is not known; as in Thorough, CO.Focussed, SSCAS"
    header = f'\n{{"type":"header","task":"{task}"}}\n{{"topic":"1","doc":"d"}}\n'
    assert [str(f) for f in findings(header)] == [f"r:2: {expected}"]
    submission = (
        f'<?xml version="1.0"?>\n\n<inex-submission task="{task}"><topic topic-id="1">\n'
        "<result><file>d</file><path>/a</path></result></topic></inex-submission>"
    )
    assert [str(f) for f in findings(submission)] == [f"r:3: {expected}"]


@pytest.mark.parametrize("name", PRESETS)
def test_every_task_with_official_settings_is_known(name: str) -> None:
    for task in (name, name.partition(".")[2]):
        text = f'{{"type":"header","task":"{task}"}}\n{{"topic":"1","doc":"d"}}\n'
        assert "task" not in [kind for kind, _ in kinds(text)]


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


def test_a_topic_that_comes_back_is_named_with_its_line() -> None:
    text = "".join(f"{t} Q0 d{i} {i} 1 m 0 4\n" for i, t in enumerate("1221132"))
    assert [str(finding) for finding in findings(text)] == [
        "r:4: topic '1' comes back after another one; the lines of a topic are not together",
        "r:7: topic '2' comes back after another one; the lines of a topic are not together",
    ]


def test_warnings_of_the_reader_stand_on_their_line() -> None:
    text = '{"topic":"1","doc":"d","offset":5}\n{"topic":"1","doc":"e"}\n'
    (found,) = findings("\n" + text)
    assert (found.code, found.line) == ("run.note", 2)
