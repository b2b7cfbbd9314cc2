"""INEX elements in TREC clothes: runs of 7 fields, the last an XPath."""

from __future__ import annotations

import pytest

from inputs import read_run, results

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
