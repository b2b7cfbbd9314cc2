"""``foveal validate`` as it is called: what is listed, how much of it, and the exit code."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from command import call

GOOD = "1 Q0 d 1 9 mine 0 4\n1 Q0 e 2 8 mine 1 3\n"
TOPICS = '{"topic":"1","title":"x","castitle":"//article//sec[about(., x)]"}\n'
STRICT = '{"type":"header","task":"SSCAS"}\n{"topic":"1","doc":"d","xpath":"/article/ss1"}\n'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(**files: str) -> None:
    for name, text in files.items():
        Path(name).write_text(text)


def test_problems_are_listed_and_the_exit_code_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    write(good=GOOD, bad=GOOD + "1 Q0 d 3 99 mine 0 4\n")
    assert call(capsys, "validate", "good") == (0, "", "1 file, nothing wrong\n")
    assert call(capsys, "validate", "good", "bad") == (
        1,
        (
            "bad:3: repeats the result on line 1 (topic '1', document 'd') [run.duplicate]\n"
            "bad:3: score 99.0 is above 8.0 of the result ranked before it [run.order]\n"
        ),
        "2 files, 2 problems: run.duplicate 1, run.order 1\n",
    )
    outcome = call(capsys, "validate", "bad", "-f", "json")
    assert json.loads(outcome.out)[0] == {
        "code": "run.duplicate",
        "file": "bad",
        "line": 3,
        "text": "repeats the result on line 1 (topic '1', document 'd')",
    }
    assert (outcome.code, outcome.err) == (1, "")


def test_a_table_shows_20_lines_of_a_file_and_counts_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = "".join(f"1 Q0 d{i} 2 x mine 0 4\n" for i in range(50))
    write(one=GOOD + bad + "1 Q0 d 3 7 mine 0 4\n", two=GOOD + bad[: 20 * 24])
    outcome = call(capsys, "validate", "one", "two")
    lines = outcome.out.splitlines()
    ones = [line for line in lines if line.startswith("one:")]
    assert len(ones) == 21
    assert ones[18:] == [
        "one:21: score 'x' is not a finite number [run.score]",
        "one:22: score 'x' is not a finite number [run.score]",
        "one: ... and 31 more: run.score 30, run.duplicate 1; -f json has all",
    ]
    assert [line for line in lines if line.startswith("two:")] == lines[21:]
    assert outcome.err.startswith("2 files, ")
    outcome = call(capsys, "validate", "one", "-f", "json")
    assert [found["line"] for found in json.loads(outcome.out)] == [*range(3, 54)]


def test_a_file_that_cannot_be_opened_is_a_problem_among_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(good=GOOD, bad="1 Q0 d\n")
    Path("folder").mkdir()
    Path("cut.gz").write_bytes(gzip.compress(GOOD.encode())[:-4])
    outcome = call(capsys, "validate", "gone", "folder", "cut.gz", "good", "bad")
    assert outcome.code == 1
    assert outcome.out.splitlines()[:3] == [
        "gone: no such file [file.missing]",
        "folder: is a directory; expected a file [file.is_directory]",
        "cut.gz:3: the gzip data end too early; the file is truncated [file.compression]",
    ]
    assert outcome.out.splitlines()[3].startswith("bad:1: 3 fields found")
    assert outcome.err.startswith("5 files, 4 problems: file.missing 1, ")
    found = json.loads(call(capsys, "validate", "gone", "-f", "json").out)
    assert [(each["code"], each["line"]) for each in found] == [("file.missing", None)]


@pytest.mark.parametrize(
    "options",
    [("-C", "gone"), ("--topics-file", "gone"), ("-t", "2009.Fokused"), ("--tag-classes", "sec")],
)
def test_what_is_needed_for_all_files_is_refused(
    capsys: pytest.CaptureFixture[str], options: tuple[str, str]
) -> None:
    write(good=GOOD)
    outcome = call(capsys, "validate", "good", *options)
    assert (outcome.code, outcome.out) == (2, "")


def test_tags_stand_for_themselves_unless_classes_are_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(run=STRICT, topics=TOPICS)
    outcome = call(capsys, "validate", "run", "--topics-file", "topics")
    assert outcome.code == 1
    assert outcome.out == (
        "run:2: /article[1]/ss1[1] is not a target of //article//sec[about(., x)] [run.target]\n"
    )
    for classes in ("ieee", "p=q,sec=ss1"):
        outcome = call(
            capsys, "validate", "run", "--topics-file", "topics", "--tag-classes", classes
        )
        assert outcome == (0, "", "1 file, nothing wrong\n")


def test_targets_that_were_not_checked_are_said_without_a_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(run=STRICT)
    outcome = call(capsys, "validate", "run")
    assert outcome == (
        0,
        (
            "run: targets were not checked: the task is strict, and castitles are not given "
            "(--topics-file) [run.unchecked]\n"
        ),
        "1 file, nothing wrong; 1 not checked\n",
    )
    (found,) = json.loads(call(capsys, "validate", "run", "-f", "json").out)
    assert found["code"] == "run.unchecked"


def test_tags_that_the_collection_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    Path("docs").mkdir()
    Path("docs/d.xml").write_text("<article><sec>one</sec></article>")
    write(topics=TOPICS.replace("sec", "sect"))
    assert call(capsys, "index", "docs", "-o", "index").code == 0
    outcome = call(capsys, "validate", "topics", "-C", "index")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        (
            "topics:1: castitle of topic '1': no element of the collection has the tag 'sect'; "
            "did you mean 'sec'? [topics.unknown_tag]"
        ),
    ]


def test_a_limit_needs_the_length_of_every_result(capsys: pytest.CaptureFixture[str]) -> None:
    """A whole document of unknown length is refused; elements wait for the index."""
    judged = "1 Q0 d 5 30 0 0:5\n"
    write(judged=judged, whole="1 Q0 e 1 9 r\n", element="1 Q0 e 1 9 r /a[1]/b[2]\n")
    limited = "-t", "2010.RestrictedRelevantInContext"
    outcome = call(capsys, "validate", "whole", *limited)
    assert (outcome.code, outcome.out.split()[0], outcome.out.split()[-1]) == (
        1,
        "whole:1:",
        "[run.unknown_length]",
    )
    outcome = call(capsys, "validate", "element", *limited)
    assert (outcome.code, outcome.out.split()[0]) == (0, "element:1:")
    assert outcome.out.split()[-1] == "[run.unchecked]"
    for run in ("whole", "element"):
        outcome = call(capsys, "evaluate", run, "-j", "judged", *limited)
        assert outcome.code == 2
        assert f"{run}:1:" in outcome.err
