"""INEX passages: runs of 8 fields, judgements of offset:length pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

import foveal
from inputs import fault, highlights, read_judgements, read_run, refusal, results, rewritten
from shared_data import INEX, needs_inex

LINE = "1 Q0 D1 1 0.5 mine 0 20\n"
TWO = [("1", "D1", 0, 20), ("1", "D2", 5, 8)]
TWO_ASSESSORS = """\
{"topic":"1","doc":"D","length":9,"assessor":"a","spans":[]}
{"topic":"1","doc":"D","length":9,"assessor":"b","spans":[]}
"""


@pytest.mark.parametrize(
    "text",
    [
        "1 Q0 D1 1 0.5 mine 0 20\n1 Q0 D2 2 0.4 mine 5 3\n",
        "1 Q0 D1 1 0.5 mine 0 20\n1 Q0 D2 2 0.4 mine 5 3",
        "1 Q0 D1 1 0.5 mine 0 20\r\n1 Q0 D2 2 0.4 mine 5 3\r\n",
        "1\tQ0\tD1\t1\t0.5\tmine\t0\t20\n1\tQ0\tD2\t2\t0.4\tmine\t5\t3\n",
        "1 Q0 D1 1 0.5 mine 0 20\n1\tQ0 D2\t2 0.4 mine 5 3\n",
        " 1  Q0   D1 1 0.5 mine 0 20  \n1 Q0 D2 2 0.4 mine 5 \t 3\n",
        "\n\n1 Q0 D1 1 0.5 mine 0 20\n \n1 Q0 D2 2 0.4 mine 5 3\n\n",
        "# by hand\n1 Q0 D1 1 0.5 mine 0 20\n  # 6 other words 7 8\n1 Q0 D2 2 0.4 mine 5 3\n",
    ],
    ids=["plain", "no newline", "crlf", "tabs", "mixed", "blanks", "blank lines", "comments"],
)
def test_a_run_is_read_however_its_fields_are_separated(text: str) -> None:
    run = read_run(text)
    assert results(run) == TWO
    assert run.name == "mine"
    assert run.score is not None
    assert run.score.tolist() == [0.5, 0.4]


def test_lines_are_counted_with_comments_and_blank_lines() -> None:
    assert read_run("# 1\n\n" + LINE + "\n# 5\n" + LINE).line.tolist() == [3, 6]
    assert read_run(LINE * 3).line.tolist() == [1, 2, 3]


def test_the_order_of_the_lines_is_the_ranking() -> None:
    run = read_run("1 Q0 A 9 0.1 r 0 1\n1 Q0 B 1 0.9 r 0 1\n1 Q0 C 5 0.5 r 0 1\n")
    assert run.doc.to_list() == ["A", "B", "C"]


def test_lines_of_a_topic_that_stand_apart_are_grouped_and_noted() -> None:
    run = read_run("2 Q0 A 1 1 r 0 1\n1 Q0 B 1 1 r 0 1\n2 Q0 C 2 1 r 0 1\n")
    assert results(run) == [("2", "A", 0, 1), ("2", "C", 0, 1), ("1", "B", 0, 1)]
    assert run.line.tolist() == [1, 3, 2]
    assert len(run.notes) == 1
    assert "are not together" in run.notes[0]


def test_quotation_marks_are_letters() -> None:
    assert read_run('1 Q0 "D 1 1 r 0 1\n1 Q0 D" 1 1 r 0 1\n').doc.to_list() == ['"D', 'D"']


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("1 Q0 D1 1 0.5 r 0", "line.fields"),
        ("1 Q0 D1 1 0.5 r 0 20 9", "line.fields"),
        ("1 Q0 D1 1 0.5  0 20", "line.fields"),
        ("1 Q0\tX D1 1 0.5 r 0 20", "line.fields"),
        ("1 Q0 D1 1 high r 0 20", "run.score"),
        ("1 Q0 D1 1 nan r 0 20", "run.score"),
        ("1 Q0 D1 1 -inf r 0 20", "run.score"),
        ("1 Q0 D1 1 1e999 r 0 20", "run.score"),
        ("1 Q0 D1 1 \u0665 r 0 20", "run.score"),
        ("1 Q0 D1 1 0.5 r -3 20", "span.offset"),
        ("1 Q0 D1 1 0.5 r X 20", "line.number"),
        ("1 Q0 D1 1 0.5 r 0 -5", "span.offset"),
        ("1 Q0 D1 1 0.5 r 0 2.5", "line.number"),
        ("1 Q0 D1 1 0.5 r 0 99999999999999999999", "line.number"),
        ("1 Q0 D1 1 0.5 r 0 9223372036854775807", "span.offset"),
        ("1 Q0 D1 1 0.5 r 9223372036854775807 5", "span.offset"),
        ("all Q0 D1 1 0.5 r 0 20", "topic.reserved"),
    ],
)
def test_a_bad_line_of_a_run_is_named(line: str, code: str) -> None:
    assert fault(read_run, f"{LINE}# comment\n{line}\n") == (code, 3)


def test_judgements_give_length_best_entry_point_and_passages() -> None:
    judgements = read_judgements(
        "# topic Q0 doc relchars doclen bep passages\r\n"
        "10 Q0 D1 40 100 10 10:30 70:10\r\n"
        "9 Q0  D2\t50 50 -1 0:50\r\n"
        "9 Q0 D3 0 40\r\n"
    )
    assert judgements.topics == ("9", "10")
    assert highlights(judgements) == [
        ("10", "D1", 10, 40),
        ("10", "D1", 70, 80),
        ("9", "D2", 0, 50),
        ("9", "D3", None, None),
    ]
    assert judgements.length.tolist() == [100, 50, 40]
    assert judgements.bep.tolist() == [10, -1, -1]
    assert judgements.relevant.tolist() == [True, True, False]
    assert judgements.line.tolist() == [2, 3, 4]


def test_passages_may_touch_and_stand_in_any_order() -> None:
    judgements = read_judgements("1 Q0 D 20 50 0 10:10 0:10\n").combined()
    assert highlights(judgements) == [("1", "D", 0, 20)]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("1 Q0 D2 30", "line.fields"),
        ("1 Q0 D2 x 100", "line.number"),
        ("1 Q0 D2 -5 100", "line.number"),
        ("1 Q0 D2 10 1e2", "line.number"),
        ("1 Q0 D2 0 9223372036854775807", "line.number"),
        ("1 Q0 D2 60 50 0 0:60", "judgements.length"),
        ("1 Q0 D2 10 50 0 0:9", "judgements.sum"),
        ("1 Q0 D2 10 50", "judgements.sum"),
        ("1 Q0 D2 10 50 here 0:10", "line.number"),
        ("1 Q0 D2 10 50 60 0:10", "judgements.bep"),
        ("1 Q0 D2 10 50 0 0-10", "judgements.passage"),
        ("1 Q0 D2 10 50 0 0:10:5", "judgements.passage"),
        ("1 Q0 D2 10 50 0 9223372036854775807:9", "judgements.passage"),
        ("1 Q0 D2 10 50 0 45:10", "judgements.length"),
        ("1 Q0 D2 10 50 0 0:5 4:5", "judgements.overlap"),
        ("1 Q0 D1 0 100", "judgements.repeated"),
        ("1 Q0 D1 30 100 10 10:30", "judgements.repeated"),
        ("all Q0 D2 0 50", "topic.reserved"),
    ],
)
def test_a_bad_line_of_judgements_is_named(line: str, code: str) -> None:
    text = f"1 Q0 D1 30 100 10 10:30\n\n{line}\n"
    assert fault(read_judgements, text) == (code, 3)


def test_a_run_without_scores_is_written_with_scores_that_descend(tmp_path: Path) -> None:
    run = foveal.Run.from_results({"1": [("A", 0, 1), ("B", 2, 5)]}, name="two words")
    again = rewritten(run, tmp_path, "fol")
    assert results(again) == results(run)
    assert again.name == "two_words"
    assert again.score is not None
    assert again.score[0] > again.score[1]


def test_a_whole_document_has_no_place_in_a_line_of_offsets(tmp_path: Path) -> None:
    documents = read_run("1 Q0 A 1 0.5 r\n1 Q0 B 2 0.4 r\n")
    message = refusal(foveal.write_run, documents, tmp_path / "out", "fol")
    assert (
        message
        == "x:1: result has no end; this format needs one, a collection tells it (--collection)"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("judged", "code"),
    [
        ('{"topic":"1","doc":"D","spans":[]}', "write.unheld"),
        (TWO_ASSESSORS, "write.unheld"),
        (
            '{"topic":"1","doc":"D","length":9,"spans":[{"start":0,"end":5,"grade":0}]}',
            "write.unheld",
        ),
        (
            '{"topic":"1","doc":"D","length":9,"spans":[{"start":0,"end":5},{"start":4,"end":6}]}',
            "write.unheld",
        ),
        ('{"topic":"1","doc":"my D","length":9,"spans":[]}', "write.unfit"),
        ('{"topic":"#1","doc":"D","length":9,"spans":[]}', "write.unfit"),
    ],
)
def test_judgements_that_a_line_would_change_are_refused(
    judged: str, code: str, tmp_path: Path
) -> None:
    judgements = read_judgements(judged)
    assert fault(foveal.write_judgements, judgements, tmp_path / "out", "fol")[0] == code
    assert not (tmp_path / "out").exists()


@needs_inex
def test_the_real_judgements_survive_a_round_trip(tmp_path: Path) -> None:
    judgements = foveal.read_judgements(INEX / "qrels.txt")
    assert len(judgements.topics) == 120
    assert len(judgements) == 10_329
    foveal.write_judgements(judgements, tmp_path / "again", "fol")
    assert highlights(foveal.read_judgements(tmp_path / "again")) == highlights(judgements)


def test_overlaps_after_many_documents_without_passages_are_found() -> None:
    rows = "".join(f"1 Q0 n{i} 0 9\n" for i in range(9))
    message = refusal(read_judgements, f"{rows}1 Q0 d 5 9 0 0:3 2:2\n")
    assert message == "x:10: two passages of this line overlap"
