"""INEX elements in TREC clothes: runs of 7 fields, the last an XPath."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.collection.element_index import PathIndex
from foveal.collection.parsing import PathTable
from inputs import fault, read_run, refusal, results

LINE = "1 Q0 D1 1 0.5 mine /article[1]/bdy[1]\n"


@pytest.mark.parametrize(
    "text",
    [
        "1 Q0 D1 1 0.5 mine /a[1]/b[2]\n1 Q0 D2 2 0.4 mine /m:math[1]/c[1]\n",
        "1 Q0 D1 1 0.5 mine /a[1]/b[2]\r\n1 Q0 D2 2 0.4 mine /m:math[1]/c[1]\r\n",
        "1\tQ0\tD1\t1\t0.5\tmine\t/a[1]/b[2]\n1\tQ0\tD2\t2\t0.4\tmine\t/m:math[1]/c[1]",
        "#\n\n1 Q0  D1 1 0.5 mine /a[1]/b[2]\n1 Q0 D2 2 0.4 mine\t/m:math[1]/c[1]\n",
    ],
    ids=["plain", "crlf", "tabs", "irregular"],
)
def test_paths_are_kept_and_their_places_are_unknown(text: str) -> None:
    run = read_run(text)
    assert run.xpath is not None
    assert run.xpath.to_list() == ["/a[1]/b[2]", "/m:math[1]/c[1]"]
    assert results(run) == [("1", "D1", None, None), ("1", "D2", None, None)]
    assert run.name == "mine"


def test_the_root_element_is_the_whole_document() -> None:
    run = read_run("1 Q0 D1 1 0.5 r /article[1]\n1 Q0 D2 2 0.4 r /article[1]/p[1]\n")
    assert run.start.tolist() == [0, -1]
    assert run.end.tolist() == [-1, -1]


def test_the_order_of_the_lines_is_the_ranking() -> None:
    run = read_run("1 Q0 A 9 0.1 r /a\n1 Q0 B 1 0.9 r /a\n")
    assert run.doc.to_list() == ["A", "B"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("1 Q0 D1 1 0.5 r", "line.fields"),
        ("1 Q0 D1 1 0.5 r /a b", "line.fields"),
        ("1 Q0 D1 1 0.5 r article[1]", "run.xpath"),
        ("1 Q0 D1 1 nan r /a", "run.score"),
        ("1 Q0 D1 1 x r /a", "run.score"),
        ("all Q0 D1 1 1 r /a", "topic.reserved"),
    ],
)
def test_a_bad_line_is_named(line: str, code: str) -> None:
    assert fault(read_run, f"{LINE}{line}\n") == (code, 2)


def test_a_passage_cannot_be_written_as_a_path(tmp_path: Path) -> None:
    passages = read_run("1 Q0 D1 1 0.5 mine 0 20\n")
    message = refusal(foveal.write_run, passages, tmp_path / "out", "elements")
    assert (
        message
        == "x:1: result has no XPath; this format needs one, a collection tells it (--collection)"
    )


def test_a_mixed_run_names_the_first_result_without_a_path(tmp_path: Path) -> None:
    mixed = read_run(
        '{"topic":"1","doc":"D","xpath":"/a/b"}\n{"topic":"1","doc":"D","start":0,"end":5}\n'
    )
    message = refusal(foveal.write_run, mixed, tmp_path / "out", "elements")
    assert message.startswith("x:2: result has no XPath")


def test_a_path_with_blanks_cannot_be_a_field(tmp_path: Path) -> None:
    run = read_run('{"topic":"1","doc":"D","xpath":"/a[@x = 1]/b"}\n')
    message = refusal(foveal.write_run, run, tmp_path / "out", "elements")
    assert "xpath '/a[@x = 1]/b' cannot be a field between blanks" in message


PATH_OF = st.sampled_from(
    ["/a[1]", "/a", "/b[1]", "/a[1]/p[2]", "/a[1]/p", "/a/p[2]", "/a[2]", "/é[1]/p[1]", "/a[1]/@id"]
)
ROWS = st.lists(st.tuples(st.sampled_from("112"), st.sampled_from(["D", "d/1", "é"]), PATH_OF))


def as_read(tree: PathIndex, text: str) -> tuple[list[tuple[object, ...]], foveal.Run]:
    """The rows of a run with the numbers of their paths, and the run itself."""
    run = read_run(text)
    assert run.xpath is not None
    columns = (run.start, run.end, run.line, run.score, tree.numbers(run.xpath))
    lists = [column.tolist() for column in columns if column is not None]
    return list(zip(run.doc, run.xpath, *lists, strict=True)), run


@settings(max_examples=80)
@given(ROWS, st.sampled_from([" ", "\t", "  "]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_paths_that_were_met_before_are_read_as_others_are(
    rows: list[tuple[str, str, str]], blank: str, end: str, final: bool
) -> None:
    lines = [
        blank.join((topic, "Q0", doc, str(i), str(-i), "r/1", path))
        for i, (topic, doc, path) in enumerate([*rows, *rows, ("1", "D", "/a[1]/p[1]")])
    ]
    text = end.join(lines) + (end if final else "")
    fresh, used = (
        PathIndex(
            PathTable(np.array([-1, 0, 0]), np.array([0, 1, 1]), np.array([1, 1, 2]), ("a", "p"))
        )
        for _ in range(2)
    )
    as_read(used, "1 Q0 D 1 1 r /a[1]/p[2]\n1 Q0 D 2 1 r /a[1]/p[2]\n")
    (known, run), (plain, other) = as_read(used, text), as_read(fresh, text)
    assert known == plain
    assert (run.topics, run.bounds.tolist(), run.notes) == (
        other.topics,
        other.bounds.tolist(),
        other.notes,
    )
