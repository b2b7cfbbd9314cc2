"""The format is told from the content; what is none of the formats is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import foveal
from foveal.formats import find_kind
from inputs import fault, highlights, refusal, text_source

READERS = {
    "run": foveal.read_run,
    "judgements": foveal.read_judgements,
    "topics": foveal.read_topics,
}
RUNS = (
    *("1 Q0 D 1 0.5 r 3 4", "1 Q0 D 1 0.5 r /a/b", "1 Q0 D 1 0.5 r", "PAR1", "<inex-submission/>"),
    *('{"topic":"1","doc":"D"}', '{"type":"header","format":"foveal-run"}'),
)
JUDGEMENTS = (
    *("1 0 D 1", "1 Q0 D 0 9", "1 Q0 D 4 9 3 3:4", "1 Q0 D 4 9 3 3:3 8:1", "<assessments/>"),
    *("7 Q0 D 20 99 5 5:10 30:10", '{"topic":"1","doc":"D","spans":[]}'),
    '{"type":"header","format":"focused-qrels"}\n{"topic":"1","doc":"D"}',
)
TOPICS = (
    *("<top>\n", "<topics/>", "<INEX-Topic/>", '{"type":"header","format":"foveal-topics"}'),
    *('{"topic":"1","query":"yoga"}', '{"topic":"1","query":"yoga","doc":"D"}'),
)
KINDS = {"run": RUNS, "judgements": JUDGEMENTS, "topics": TOPICS}
KINDS["results"] = ('{"meta":{},\n"results":[]}',)


@pytest.mark.parametrize(
    ("text", "kind"), [(text, kind) for kind, texts in KINDS.items() for text in texts]
)
def test_the_kind_of_a_file_is_told_from_its_content(text: str, kind: str) -> None:
    assert find_kind(text_source(text)) == kind
    for other, read in READERS.items():
        if other != kind:
            assert fault(read, text_source(f"\n{text}")) == (f"{other}.format", 2)


@pytest.mark.parametrize(
    ("kind", "text", "code", "line"),
    [
        ("run", "", "run.empty", None),
        ("run", "\n# only comments\n \n", "run.empty", None),
        ("run", "# c\n1 Q0 D 1 0.5 r 3 4 5", "run.format", 2),
        ("run", "1 Q0 D 1 0.5 r 3", "run.format", 1),
        ("run", "<inex-submission>", "xml.malformed", 1),
        ("run", "<", "xml.malformed", 1),
        ("run", '{"topic":"1",', "json.syntax", 1),
        ("judgements", "", "judgements.empty", None),
        ("judgements", "#\n1 Q0 D", "judgements.format", 2),
        ("judgements", "<assessments>", "xml.malformed", 1),
        ("judgements", '{"topic":"1",', "json.syntax", 1),
        ("topics", "", "topics.empty", None),
        ("topics", "<html/>", "topics.empty", None),
    ],
)
def test_what_cannot_be_read_is_refused(kind: str, text: str, code: str, line: int | None) -> None:
    assert fault(READERS[kind], text_source(text)) == (code, line)


@pytest.mark.parametrize("text", ["", "one two", "<html/>", "{}}", "[1]"])
def test_a_file_of_no_known_kind_is_refused(text: str) -> None:
    message = refusal(find_kind, text_source(text))
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


def test_no_file_and_no_format_are_refused(tmp_path: Path) -> None:
    assert fault(foveal.read_judgements, tmp_path) == ("file.empty_directory", None)
    assert refusal(foveal.read_judgements, [], error=foveal.UsageError) == "no judgements given"
    for write in (foveal.write_run, foveal.write_judgements):
        message = refusal(write, None, "out", "xml", error=foveal.UsageError)
        assert message.startswith("unknown format 'xml'; expected fol or ")


def test_a_document_in_two_files_has_two_assessors_named_after_them(tmp_path: Path) -> None:
    (tmp_path / "ann.qrels").write_text("1 Q0 D 4 9 0 0:4\n")
    (tmp_path / "bob.qrels").write_text("1 Q0 D 3 9 2 2:3\n")
    judgements = foveal.read_judgements([tmp_path / "ann.qrels", tmp_path / "bob.qrels"])
    assert judgements.assessors == ("ann", "bob")
    assert highlights(judgements.combined()) == [("1", "D", 0, 5)]


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
