"""The format is told from the content; what is none of the formats is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import foveal
from foveal.formats import kind_of
from inputs import fault, highlights, read_judgements, read_run, refusal, text_source


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "run.empty", None),
        ("\n# only comments\n \n", "run.empty", None),
        ("# c\n1 Q0 D 1 0.5", "run.format", 2),
        ("1 Q0 D 1 0.5 r 3 4 5", "run.format", 1),
        ("1 Q0 D 1 0.5 r 3", "run.format", 1),
        ("<inex-submission>", "xml.malformed", 1),
        ("<html/>", "run.format", 1),
        ('<assessments topic="1"/>', "run.format", 1),
        ("7 Q0 D 20 99 5 5:10 30:10", "run.format", 1),
        ('\n<topic id="1"/>', "run.format", 2),
        ("<top>\n<num> Number: 1\n", "run.format", 1),
        ('{"topic":"1","query":"yoga","doc":"D"}', "run.format", 1),
        ('{"topic":"1","doc":"D","spans":[]}', "run.format", 1),
        ('{"type":"header","format":"focused-qrels"}\n{"topic":"1","doc":"D"}', "run.format", 1),
        ('{"topic":"1",', "json.syntax", 1),
    ],
)
def test_what_is_no_run_is_refused(text: str, code: str, line: int | None) -> None:
    assert fault(read_run, text) == (code, line)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "judgements.empty", None),
        ("#\n1 Q0 D", "judgements.format", 2),
        ("1 Q0 D 1 0.5 r 3 4", "judgements.format", 1),
        ("<assessments>", "xml.malformed", 1),
        ("<html/>", "judgements.format", 1),
        ("<inex-submission/>", "judgements.format", 1),
        ('<inex_topic topic_id="1"/>', "judgements.format", 1),
        ('{"topic":"1","title":"yoga"}', "judgements.format", 1),
        ('{"topic":"1","doc":"D","start":3,"end":7}', "judgements.format", 1),
        ('{"type":"header","format":"foveal-run"}', "judgements.format", 1),
        ('{"topic":"1",', "json.syntax", 1),
    ],
)
def test_what_is_no_judgement_is_refused(text: str, code: str, line: int | None) -> None:
    assert fault(read_judgements, text) == (code, line)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "topics.empty", None),
        ("<html/>", "topics.empty", None),
        ("<inex-submission/>", "topics.format", 1),
        ('<assessments topic="1"/>', "topics.format", 1),
        ('{"topic":"1","doc":"D","spans":[]}', "topics.format", 1),
        ('{"topic":"1","doc":"D"}', "topics.format", 1),
        ("1 Q0 D 1 0.5 r", "topics.format", 1),
    ],
)
def test_what_is_no_topic_is_refused(text: str, code: str, line: int | None) -> None:
    assert fault(foveal.read_topics, text_source(text)) == (code, line)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1 Q0 D 1 0.5 r 3 4", "run"),
        ("1 Q0 D 1 0.5 r /a/b", "run"),
        ("1 Q0 D 1 0.5 r", "run"),
        ("PAR1", "run"),
        ('{"topic":"1","doc":"D"}', "run"),
        ('{"type":"header","format":"foveal-run"}', "run"),
        ("<inex-submission/>", "run"),
        ("1 0 D 1", "judgements"),
        ("1 Q0 D 0 9", "judgements"),
        ("1 Q0 D 4 9 3 3:4", "judgements"),
        ("1 Q0 D 4 9 3 3:3 8:1", "judgements"),
        ('{"topic":"1","doc":"D","spans":[]}', "judgements"),
        ("<assessments/>", "judgements"),
        ("<top>\n", "topics"),
        ("<topics/>", "topics"),
        ("<INEX-Topic/>", "topics"),
        ('{"type":"header","format":"foveal-topics"}', "topics"),
        ('{"topic":"1","query":"yoga"}', "topics"),
        ('{"meta":{},\n"results":[]}', "results"),
    ],
)
def test_the_kind_of_a_file_is_told_from_its_content(text: str, kind: str) -> None:
    assert kind_of(text_source(text)) == kind


@pytest.mark.parametrize("text", ["", "one two", "<html/>", "{}}", "[1]"])
def test_a_file_of_no_known_kind_is_refused(text: str) -> None:
    message = refusal(kind_of, text_source(text))
    assert message == "x: not recognised; expected a run, judgements or topics"


def test_a_directory_of_judgements_is_one_set(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.txt").write_text("2 Q0 D 4 9 0 0:4\n")
    (tmp_path / "one.txt").write_text("10 Q0 D 0 9\n")
    (tmp_path / ".hidden").write_text("not judgements\n")
    judgements = foveal.read_judgements(tmp_path)
    assert judgements.topics == ("2", "10")
    assert highlights(judgements) == [("2", "D", 0, 4), ("10", "D", None, None)]


def test_a_pattern_names_several_files(tmp_path: Path) -> None:
    for topic in "12":
        (tmp_path / f"{topic}.qrels").write_text(f"{topic} Q0 D 0 9\n")
    (tmp_path / "notes.md").write_text("not judgements\n")
    assert foveal.read_judgements(tmp_path / "*.qrels").topics == ("1", "2")
    message = refusal(foveal.read_judgements, tmp_path / "*.trec")
    assert message == f"{tmp_path / '*.trec'}: no file fits this pattern"


def test_a_directory_without_files_is_refused(tmp_path: Path) -> None:
    message = refusal(foveal.read_judgements, tmp_path)
    assert message == f"{tmp_path}: the directory holds no file"


def test_no_file_at_all_is_refused() -> None:
    assert refusal(foveal.read_judgements, [], error=foveal.UsageError) == "no judgements given"


def test_a_document_in_two_files_has_two_assessors_named_after_them(tmp_path: Path) -> None:
    (tmp_path / "ann.qrels").write_text("1 Q0 D 4 9 0 0:4\n")
    (tmp_path / "bob.qrels").write_text("1 Q0 D 3 9 2 2:3\n")
    judgements = foveal.read_judgements([tmp_path / "ann.qrels", tmp_path / "bob.qrels"])
    assert judgements.assessors == ("ann", "bob")
    assert highlights(judgements.combined()) == [("1", "D", 0, 5)]


def test_files_of_one_name_in_two_folders_are_two_assessors(tmp_path: Path) -> None:
    paths = [tmp_path / name / "qrels.txt" for name in ("ann", "bob")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("1 Q0 D 4 9 0 0:4\n")
    judgements = foveal.read_judgements(paths)
    assert judgements.assessors == tuple(map(str, paths))


def test_the_same_file_twice_judges_everything_twice(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("# header\n1 Q0 D 4 9 0 0:4\n")
    message = refusal(foveal.read_judgements, [path, path])
    assert message.startswith(f"{path}:2: topic '1', document 'D' is already judged on line 2 of")


def test_judgements_of_documents_and_of_passages_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1 Q0 D 4 9 0 0:4\n")
    (tmp_path / "b").write_text("1 0 D 1\n")
    message = refusal(foveal.read_judgements, tmp_path, error=foveal.UsageError)
    assert "cannot be mixed" in message


@pytest.mark.parametrize("write", [foveal.write_run, foveal.write_judgements])
def test_an_unknown_format_is_refused_with_the_known_ones(write: Callable[..., None]) -> None:
    message = refusal(write, None, "out", "xml", error=foveal.UsageError)
    assert message.startswith("unknown format 'xml'; expected fol or ")


@pytest.mark.parametrize(
    ("run", "judgements"),
    [("1 Q0 D 1 0.5 r 3 4", "1 Q0 D 4 9 3 3:4"), ("1 Q0 D 1 0.5 r", "1 0 D 1")],
)
def test_only_the_modules_of_a_format_are_loaded(tmp_path: Path, run: str, judgements: str) -> None:
    (tmp_path / "a.run").write_text(run)
    (tmp_path / "a.qrels").write_text(judgements)
    code = (
        "import foveal, sys; foveal.read_run('a.run'); foveal.read_judgements('a.qrels').combined()"
        "; print(*(m for m in sys.modules if m.startswith(('foveal.formats.', 'foveal.model.'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    formats = {f"foveal.formats.{name}" for name in ("rows", "lines")}
    model = {f"foveal.model.{name}" for name in ("judgements", "results", "run", "topics")}
    assert set(done.stdout.split()) == formats | model
