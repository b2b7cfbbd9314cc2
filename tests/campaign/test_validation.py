"""``foveal validate``: everything wrong with a run, as a list and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import call
from foveal.campaign import find_preset
from foveal.campaign.validation import Finding, validate
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
    best = kinds(overlapping, preset=find_preset("2009.BestInContext"))
    assert best == [("document", 3), ("interleaved", 3)]
    long = "1 Q0 d 1 9 m 0 900\n1 Q0 d 2 8 m 900 101\n1 Q0 e 3 7 m 0 5\n"
    assert kinds(long, preset=find_preset("2010.RestrictedFocused")) == [("limit", 2)]
    restricted = kinds(long, preset=find_preset("2010.RestrictedRelevantInContext"))
    assert restricted == [("limit", 1)]


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
    assert found.kind == "castitle"


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
    assert call(capsys, "validate", str(good)) == (0, "", "1 runs, nothing wrong\n")
    outcome = call(capsys, "validate", str(good), str(bad))
    assert outcome.code == 1
    assert f"{bad}:3: repeats the result on line 1 [duplicate]\n" in outcome.out
    outcome = call(capsys, "validate", str(bad), "-f", "json")
    assert [entry["kind"] for entry in json.loads(outcome.out)] == ["duplicate", "order"]
