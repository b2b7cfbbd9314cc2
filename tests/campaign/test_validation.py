"""``foveal validate``: everything wrong with a run, as a list and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import call
from foveal.campaign import find_preset
from foveal.campaign.validation import Finding, validate, validate_topics
from foveal.collection import Collection, build_index
from foveal.formats import Source

GOOD = "1 Q0 d 1 9 mine 0 4\n1 Q0 e 2 8 mine 1 3\n"


def findings(text: str, **options: object) -> list[Finding]:
    return validate(Source.of_text(text, "r"), **options)  # type: ignore[arg-type]


def kinds(text: str, **options: object) -> list[tuple[str, int | None]]:
    return [(finding.kind, finding.line) for finding in findings(text, **options)]


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
        ("1 Q0 d\n", {}, [("format", 1)]),
        ("1 Q0 d 1 9 m 0 4\n1 Q0 e 2 x m 0 4\n", {}, [("format", 2)]),
        ("1 Q0 d 1 8 m 0 4\n1 Q0 e 2 9 m 0 4\n", {}, [("order", 2)]),
        ("1 Q0 d 1 9 m 0 4\n1 Q0 d 2 9 m 0 4\n", {}, [("duplicate", 2)]),
        ("1 Q0 d 1 9 m 0 4\n1 Q0 e 3 8 m 0 4\n1 Q0 f 2 7 m 0 4\n", {}, [("order", 3)]),
        ("1 Q0 d 1 9 m\n1 Q0 e 3 8 m\n1 Q0 f 2 7 m\n", {}, [("order", 3)]),
        ("1 Q0 d 2 9 m\n1 Q0 e 1 9 m\n", {}, []),  # equal scores have no order of their own
        ("1 Q0 d x 9 m 0 4\n1 Q0 e y 8 m 0 4\n", {}, []),  # the rank may be anything
        (GOOD, {"max_results": 1}, [("length", 2)]),
        (GOOD, {"topics": ["2"]}, [("topic", 1)]),
        ("1 Q0 d 1 9 m 0 4\n2 Q0 d 1 9 m 0 4\n1 Q0 e 2 8 m 0 4\n", {}, [("format", None)]),
    ],
)
def test_each_kind_of_problem_is_found_on_its_line(
    text: str, options: dict[str, object], expected: list[tuple[str, int | None]]
) -> None:
    assert kinds(text, **options) == expected


def test_a_task_adds_what_it_forbids() -> None:
    overlapping = "1 Q0 d 1 9 m 0 4\n1 Q0 e 2 8 m 0 1\n1 Q0 d 3 7 m 2 9\n"
    assert kinds(overlapping) == []
    assert kinds(overlapping, preset=find_preset("2009.Focused")) == [("overlap", 3)]
    assert kinds(overlapping, preset=find_preset("2009.Thorough")) == []
    in_context = kinds(overlapping, preset=find_preset("2009.RelevantInContext"))
    assert in_context == [("interleaved", 3), ("overlap", 3)]
    rising = "1 Q0 d 1 7 m 0 4\n1 Q0 e 2 9 m 0 4\n"
    assert kinds(rising, preset=find_preset("2009.RelevantInContext")) == []
    best = kinds(overlapping, preset=find_preset("2009.BestInContext"))
    assert best == [("document", 3), ("interleaved", 3)]
    long = "1 Q0 d 1 9 m 0 900\n1 Q0 d 2 8 m 900 101\n1 Q0 e 3 7 m 0 5\n"
    assert kinds(long, preset=find_preset("2010.RestrictedFocused")) == [("limit", 2)]
    restricted = kinds(long, preset=find_preset("2010.RestrictedRelevantInContext"))
    assert restricted == [("limit", 1)]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("CO.Focussed", [("overlap", 4)]),
        ("All In Context", [("interleaved", 4), ("overlap", 4)]),
        ("COS.FetchBrowse", [("interleaved", 4)]),
        ("BestInContext", [("document", 4)]),
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
        "r:4: overlaps the result on line 2 of 'd' [overlap]",
        "r:5: repeats the result on line 3 [duplicate]",
        "r:6: overlaps the result on line 2 of 'd' [overlap]",
    ]


@settings(deadline=None, max_examples=50)
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
            if doc == other and shared > 0 and (at, n) != (start, size):
                expected.setdefault(i + 1, j + 1)
    found = findings(text, preset=find_preset("2009.Focused"))
    overlaps = [finding for finding in found if finding.kind == "overlap"]
    assert {f.line: int(f.message.split()[5]) for f in overlaps} == expected


def test_a_path_and_offsets_that_disagree(collection: Collection) -> None:
    text = '{"topic":"1","doc":"d","xpath":"/a/p","start":0,"end":5}\n'
    (found,) = findings(text, collection=collection)
    assert found.message == "/a[1]/p[1] is at [0,4), but the result gives [0,5)"


def test_a_collection_adds_documents_paths_and_ends(collection: Collection) -> None:
    text = "1 Q0 x 1 9 m /a[1]\n1 Q0 d 2 8 m /a/p[7]\n1 Q0 d 3 7 m /a/sec\n"
    assert kinds(text, collection=collection) == [("place", 1), ("place", 2)]
    assert kinds("1 Q0 d 1 9 m 0 99\n", collection=collection) == [("place", 1)]


@pytest.mark.parametrize(("task", "wrong"), [("SSCAS", [3]), ("CO.SVCAS", [3]), ("VVCAS", [])])
def test_strict_tasks_want_the_targets_of_the_castitle(task: str, wrong: list[int]) -> None:
    text = (
        f'{{"type":"header","task":"{task}"}}\n'
        '{"topic":"1","doc":"d","xpath":"/a[1]/sec[1]/p[1]"}\n'
        '{"topic":"1","doc":"d","xpath":"/a[1]/sec[1]"}\n'
    )
    found = findings(text, castitles={"1": "//sec//p[about(., x)]"})
    assert [finding.line for finding in found if finding.kind == "target"] == wrong


def test_a_castitle_that_is_no_query_is_said() -> None:
    text = '{"type":"header","task":"SSCAS"}\n{"topic":"1","doc":"d","xpath":"/a[1]/b[1]"}\n'
    (found,) = findings(text, castitles={"1": "//sec["})
    assert str(found) == (
        "r:2: castitle of topic '1': not a NEXI query, character 7: expected about(...), "
        "a comparison or '(', found the end [castitle]\n  //sec[\n        ^"
    )


def test_tags_that_mean_the_same_are_targets_too() -> None:
    text = '{"type":"header","task":"SCAS"}\n{"topic":"1","doc":"d","xpath":"/article/bdy/ss1"}\n'
    assert findings(text, castitles={"1": "//article//sec[about(., x)]"}) == []


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
            "[castitle]\n  //sec[about(.)]\n               ^\n"
        ),
        "1 file, 1 problem: castitle 1\n",
    )
    topics.write_text('{"topic":"1","title":"x"}\n{"topic":"1","title":"y"}\n')
    assert [f.kind for f in validate_topics(str(topics))] == ["format"]


def test_a_declared_task_that_is_not_the_preset() -> None:
    text = '{"type":"header","task":"Thorough"}\n{"topic":"1","doc":"d","start":0,"end":3}\n'
    (found,) = findings(text, preset=find_preset("2009.Focused"))
    assert found.message == "declares the task Thorough, not 2009.Focused"


def test_the_command_lists_and_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text(GOOD)
    bad.write_text(GOOD + "1 Q0 d 3 99 mine 0 4\n")
    assert call(capsys, "validate", str(good)) == (0, "", "1 file, nothing wrong\n")
    outcome = call(capsys, "validate", str(good), str(bad))
    assert outcome.code == 1
    assert f"{bad}:3: repeats the result on line 1 [duplicate]\n" in outcome.out
    assert outcome.err == "2 files, 2 problems: duplicate 1, order 1\n"
    outcome = call(capsys, "validate", str(bad), "-f", "json")
    assert [entry["kind"] for entry in json.loads(outcome.out)] == ["duplicate", "order"]
