"""INEX passages: runs of 8 fields, judgements of offset:length pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

import foveal
from inputs import highlights, read_judgements, read_run, refusal, results, rewritten
from shared_data import INEX, needs_inex

LINE = "1 Q0 D1 1 0.5 mine 0 20\n"
TWO = [("1", "D1", 0, 20), ("1", "D2", 5, 8)]


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


def test_lines_of_a_topic_that_stand_apart_are_grouped_and_noted() -> None:
    run = read_run("2 Q0 A 2 1 r 0 1\n1 Q0 B 1 1 r 0 1\n2 Q0 C 1 3 r 0 1\n")
    assert results(run) == [("2", "A", 0, 1), ("2", "C", 0, 1), ("1", "B", 0, 1)]
    assert run.line.tolist() == [1, 3, 2]
    assert len(run.notes) == 1
    assert "are not together" in run.notes[0]


def test_quotation_marks_are_letters() -> None:
    assert read_run('1 Q0 "D 1 1 r 0 1\n1 Q0 D" 1 1 r 0 1\n').doc.to_list() == ['"D', 'D"']


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("blank", [" ", "\t", " \t"])
def test_paths_of_elements_are_kept_and_the_root_is_the_document(end: str, blank: str) -> None:
    lines = ["# c", "1 Q0 D1 1 0.5 mine /a[1]/b[2]", "1 Q0 D2 2 0.4 mine /m:math[1]"]
    run = read_run(end.join(lines).replace(" ", blank))
    assert run.xpath is not None
    assert run.xpath.to_list() == ["/a[1]/b[2]", "/m:math[1]"]
    assert results(run) == [("1", "D1", None, None), ("1", "D2", 0, None)]
    assert run.name == "mine"


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


def test_a_run_without_scores_is_written_with_scores_that_descend(tmp_path: Path) -> None:
    run = foveal.Run.from_results({"1": [("A", 0, 1), ("B", 2, 5)]}, name="two words")
    again = rewritten(run, tmp_path, "fol")
    assert results(again) == results(run)
    assert again.name == "two_words"
    assert again.score is not None
    assert again.score[0] > again.score[1]


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
