"""JSON Lines runs: what a result may be, the header, the order, what is refused."""

from __future__ import annotations

import json

import pytest

import foveal
from inputs import fault, read_run, refusal, results

RESULT = '{"topic":"1","doc":"D","start":0,"end":20}'
HEADER = '{"type":"header","format":"foveal-run","version":1,"run":"bm25-p"}'


def run_of(*objects: dict[str, object]) -> foveal.Run:
    return read_run("".join(json.dumps(item) + "\n" for item in objects))


def test_a_result_is_offsets_a_path_an_entry_point_or_a_whole_document() -> None:
    run = run_of(
        {"topic": "t", "doc": "A", "start": 3, "end": 9},
        {"topic": "t", "doc": "B", "xpath": "/a[1]/b[2]"},
        {"topic": "t", "doc": "C", "xpath": "/a[1]"},
        {"topic": "t", "doc": "D", "bep": 7},
        {"topic": "t", "doc": "E"},
        {"topic": "t", "doc": "F", "start": 1, "end": 5, "xpath": "/a/c", "text": "four"},
    )
    assert results(run) == [
        ("t", "A", 3, 9),
        ("t", "B", None, None),
        ("t", "C", 0, None),
        ("t", "D", 7, 7),
        ("t", "E", 0, None),
        ("t", "F", 1, 5),
    ]
    assert run.xpath is not None
    assert run.xpath.to_list() == [None, "/a[1]/b[2]", "/a[1]", None, None, "/a[1]/c[1]"]


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADER}\n{RESULT}\n{RESULT}\n",
        f"{HEADER}\r\n{RESULT}\r\n{RESULT}",
        f"# by hand\n\n{HEADER}\n# results\n  {RESULT}  \n\n{RESULT}\n#\n",
    ],
    ids=["plain", "crlf", "comments"],
)
def test_comments_blank_lines_and_crlf_are_accepted(text: str) -> None:
    run = read_run(text)
    assert results(run) == [("1", "D", 0, 20)] * 2
    assert run.name == "bm25-p"


def test_lines_are_counted_from_the_top_of_the_file() -> None:
    assert read_run(f"{HEADER}\n{RESULT}\n{RESULT}\n").line.tolist() == [2, 3]
    assert read_run(f"#\n{HEADER}\n\n{RESULT}\n#\n{RESULT}\n").line.tolist() == [4, 6]


def test_the_older_header_name_is_known_and_the_task_is_kept() -> None:
    run = read_run(
        f'{{"type":"header","format":"focused-run","run":"r","task":"Focused"}}\n{RESULT}'
    )
    assert (run.name, run.task) == ("r", "Focused")


def test_names_may_be_any_text_and_numbers_are_names_too() -> None:
    run = read_run('{"topic":7,"doc":"with blanks, é and 𝄞"}\n{"topic":7,"doc":"\\u00e9"}\n')
    assert run.topics == ("7",)
    assert run.doc.to_list() == ["with blanks, é and 𝄞", "é"]


def test_rank_decides_the_order_even_against_scores() -> None:
    run = run_of(
        {"topic": "2", "doc": "A", "rank": 2, "score": 9},
        {"topic": "1", "doc": "B", "rank": 1, "score": 1},
        {"topic": "2", "doc": "C", "rank": 1, "score": 1},
    )
    assert [row[:2] for row in results(run)] == [("2", "C"), ("2", "A"), ("1", "B")]
    assert run.line.tolist() == [3, 1, 2]
    assert run.score is not None
    assert run.score.tolist() == [1, 9, 1]


def test_without_ranks_descending_scores_do_and_ties_stay() -> None:
    run = run_of(
        *({"topic": "1", "doc": d, "score": s} for d, s in zip("ABCD", (1, 5, 1, 7), strict=True))
    )
    assert run.doc.to_list() == ["D", "B", "A", "C"]
    assert run_of(*({"topic": "1", "doc": d} for d in "BAC")).doc.to_list() == ["B", "A", "C"]


@pytest.mark.parametrize("name", ["rank", "score"])
def test_all_results_have_a_rank_or_score_or_none_has(name: str) -> None:
    text = f'{{"topic":"1","doc":"D","{name}":1}}\n{RESULT}\n'
    assert refusal(read_run, text) == f"x:2: {name} is missing here, but other results have one"


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ('"format":"something"', "json.header"),
        ('"unit":"chars"', "json.header"),
        ('"end":"open"', "json.header"),
        ('"version":2', "json.header"),
        ('"run":["a"]', "json.header"),
        ('"run":"a\\tb"', "json.header"),
        ('"task":5', "json.header"),
    ],
)
def test_a_header_that_is_not_understood_is_refused(declared: str, code: str) -> None:
    text = f'\n{{"type":"header",{declared}}}\n{RESULT}\n'
    assert fault(read_run, text) == (code, 2)


@pytest.mark.parametrize("text", [HEADER, f"{HEADER}\n\n# nothing\n"])
def test_a_header_alone_is_an_empty_run(text: str) -> None:
    assert refusal(read_run, text) == "x: the run is empty: it holds no result"
