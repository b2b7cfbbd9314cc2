"""``foveal recall-base``: the worked example, every kind of judgements, plain refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import inex2005
from command import QRELS, Outcome, assert_refused, at_terminal, call
from foveal.collection import build_index

P20, P25 = f"<p>{20 * 'x'}</p>", f"<p>{25 * 'x'}</p>"
FILES = {
    "D1": f"<a><s>{3 * P20}</s><s>{2 * P20}</s></a>",
    "D2": f"<a>{2 * P25}</a>",
    "D3": f"<a>{2 * P20}</a>",
}
ASCENDANT = [("D1", "/a[1]/s[1]", 0.5), ("D1", "/a[1]/s[2]/p[1]", 0.5), ("D2", "/a[1]", 1.0)]
DEEPER = [
    ("D1", "/a[1]/s[1]/p[1]", 0.5),
    ("D1", "/a[1]/s[1]/p[2]", 1.0),
    ("D1", "/a[1]/s[2]/p[1]", 0.5),
    ("D2", "/a[1]/p[1]", 1.0),
    ("D2", "/a[1]/p[2]", 1.0),
]
TEXT = """\
Recall base of topic toy: worth by spec, ideal base, tie ascendant

element     size  rsize  specificity   worth  ideal  leaf
----------  ----  -----  -----------  ------  -----  ----
D1
a[1]         100     40       0.4000  0.4000
├─ s[1]       60     30       0.5000  0.5000    yes
│  ├─ p[1]    20     10       0.5000  0.5000          yes
│  └─ p[2]    20     20       1.0000  1.0000          yes
└─ s[2]       40     10       0.2500  0.2500
   └─ p[1]    20     10       0.5000  0.5000    yes   yes
D2
a[1]          50     50       1.0000  1.0000    yes
├─ p[1]       25     25       1.0000  1.0000          yes
└─ p[2]       25     25       1.0000  1.0000          yes

ideal: in the ideal recall base; leaf: a relevant path ends here.

9 relevant elements worth 6.1500; 3 ideal worth 2.0000.
"""
GRADES = """\
<assessments pool="1" topic="7">
<file file="co/2000/r7108">
<path path="/article[1]" exhaustiveness="3" specificity="1"/>
<path path="/article[1]/bdy[1]/sec[2]" exhaustiveness="2" specificity="3"/>
<path path="/article[1]/bdy[1]/sec[10]" exhaustiveness="1" specificity="1"/>
<path path="/article[1]/bdy[1]/sec[10]/p[1]" exhaustiveness="0" specificity="0"/>
</file>
</assessments>
"""
GRADES_TEXT = """\
Recall base of topic 7: worth by sog, ideal base, tie ascendant

element        exhaustivity  specificity   worth  ideal  leaf
-------------  ------------  -----------  ------  -----  ----
co/2000/r7108
article[1]                3            1  0.2500    yes
└─ bdy[1]                 0            0  0.0000
   ├─ sec[2]              2            3  0.9000          yes
   └─ sec[10]             1            1  0.1000          yes
"""


@pytest.fixture(autouse=True)
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy collection of the specification with its highlights, in a folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "documents").mkdir()
    for name, text in FILES.items():
        (tmp_path / "documents" / f"{name}.xml").write_text(text)
    build_index(Path("documents"), Path("index"))
    (tmp_path / "qrels").write_text(QRELS + "none Q0 D3 0 40\n")
    return tmp_path


def recall_base(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    return call(capsys, "recall-base", *args)


def toy(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    outcome = recall_base(capsys, "-j", "qrels", "-C", "index", "--topic", "toy", *args)
    assert outcome.code == 0
    assert "warning" not in outcome.err
    return outcome.out


def as_json(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    outcome = recall_base(capsys, *args, "-f", "json")
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def ideal(found: dict[str, Any]) -> list[tuple[str, str, float]]:
    return [(e["doc"], e["xpath"], e["worth"]) for e in found["elements"] if e["ideal"]]


# -- the worked example -----------------------------------------------------------------------


def test_the_tree_of_the_worked_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert toy(capsys) == TEXT


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ASCENDANT),
        (["--tie", "ascendant"], ASCENDANT),
        (["--tie", "deeper"], DEEPER),
        (["--base", "maxsum"], DEEPER),
        (["--quant", "strict"], [("D1", "/a[1]/s[1]/p[2]", 1.0), ("D2", "/a[1]", 1.0)]),
    ],
)
def test_the_ideal_elements_of_the_worked_example(
    options: list[str],
    expected: list[tuple[str, str, float]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = as_json(capsys, "-j", "qrels", "-C", "index", "--topic", "toy", *options)
    assert ideal(found) == expected


def test_documents_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    shown = toy(capsys, "--doc", "D2")
    assert re.findall(r"^D\d\b", shown, re.MULTILINE) == ["D2"]
    args = ["-j", "qrels", "-C", "index", "--topic", "toy", "-f", "tsv"]
    both = recall_base(capsys, *args, "--doc", "D3", "--doc", "D2")
    assert {line.split("\t")[0] for line in both.out.splitlines()} == {"doc", "D2"}


def test_excluded_tags_are_worth_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["-j", "qrels", "-C", "index", "--topic", "toy"]
    found = as_json(capsys, *args, "--exclude-tags", "p, b")
    # The path to s[2] is now won by a, which holds s[1].
    assert ideal(found) == [("D1", "/a[1]", 0.4), ("D2", "/a[1]", 1.0)]
    assert found["meta"]["exclude_tags"] == ["p", "b"]
    assert [e["xpath"] for e in found["elements"] if e["leaf"]] == [
        "/a[1]/s[1]",
        "/a[1]/s[2]",
        "/a[1]",
    ]


# -- kinds of judgements ----------------------------------------------------------------------


def test_grades_of_2003_alone(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither sizes nor places are known; bdy was not assessed, and sec[2] is before sec[10]."""
    (campaign / "grades.xml").write_text(GRADES)
    outcome = recall_base(capsys, "-j", "grades.xml", "--topic", "7", "--quant", "sog")
    assert (outcome.code, outcome.err) == (0, "")
    # sec[2] wins its path, article that of sec[10]: and article is above sec[2].
    assert outcome.out.startswith(GRADES_TEXT)
    found = as_json(capsys, "-j", "grades.xml", "--topic", "7")
    assert found["meta"]["quant"] == "gen3"
    fields = ("xpath", "size", "rsize", "exhaustivity", "specificity", "worth")
    third = tuple(found["elements"][2][field] for field in fields)
    assert third == ("/article[1]/bdy[1]/sec[2]", None, None, 2, 3, 0.75)


def test_grades_of_2002_are_a_number_and_a_letter(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = GRADES.replace("exhaustiveness", "relevance").replace("specificity", "coverage")
    for grade, letter in zip("0123", "NSLE", strict=True):
        text = text.replace(f'coverage="{grade}"', f'coverage="{letter}"')
    (campaign / "grades.xml").write_text(text.replace('"3" coverage="S"', '"3" coverage="L"'))
    outcome = recall_base(capsys, "-j", "grades.xml", "--topic", "7")
    assert re.findall(r"(\S+) +(\d) +([NSLE]) +(\S+)", outcome.out) == [
        ("article[1]", "3", "L", "0.7500"),
        ("bdy[1]", "0", "N", "0.0000"),
        ("sec[2]", "2", "E", "0.7500"),
        ("sec[10]", "1", "S", "0.2500"),
    ]
    found = as_json(capsys, "-j", "grades.xml", "--topic", "7")
    assert [(e["exhaustivity"], e["specificity"]) for e in found["elements"]] == [
        (3, "L"),
        (0, "N"),
        (2, "E"),
        (1, "S"),
    ]


def test_several_assessors(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        {"topic": "1", "doc": "D2", "assessor": name, "spans": [{"start": start, "end": end}]}
        for name, start, end in (("ann", 0, 25), ("bob", 0, 50))
    ]
    (campaign / "two.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    args = ["-j", "two.jsonl", "-C", "index", "--topic", "1"]
    for option, expected in (("ann", "/a[1]/p[1]"), ("bob", "/a[1]"), ("majority", "/a[1]/p[1]")):
        found = as_json(capsys, *args, "--assessors", option)
        assert ideal(found) == [("D2", expected, 1.0)]
    united = recall_base(capsys, *args)
    assert united.err.startswith("warning: 2 assessors, several for some documents")


def test_the_scale_is_that_of_all_judgements(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Topic 2 alone might be of 2006, but evaluate would score it on the scale of 2005."""
    parts = {
        "one.xml": inex2005.assessments("1", "1", {"A": {"/a[1]": (2, 10, 8)}}),
        "two.xml": inex2005.assessments("2", "2", {"B": {}}),
    }
    for name, text in parts.items():
        (campaign / name).write_text(text)
    found = as_json(capsys, "-j", "one.xml", "-j", "two.xml", "--topic", "2", "--quant", "gen")
    assert (found["meta"]["scale"], found["meta"]["quant"]) == ("2005", "gen5")


# -- nothing to show, and refusals ------------------------------------------------------------


def test_a_topic_without_relevant_elements_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["-j", "qrels", "--topic", "none"]
    for more in ([], ["-C", "index"]):
        outcome = recall_base(capsys, *args, *more)
        assert outcome.out.endswith("\n0 relevant elements worth 0.0000; 0 ideal worth 0.0000.\n")
    assert as_json(capsys, *args)["elements"] == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--topic", "tyo"], "foveal: topic 'tyo' is not one of none, toy"),
        (
            ["--topic", "toy"],
            "qrels: the judgements list no elements; give an index of the collection",
        ),
        (
            ["--topic", "toy", "-C", "index", "--quant", "sog"],
            "foveal: quant=sog is a function of the scale of 2003, but the elements are assessed",
        ),
        (
            ["--topic", "toy", "-C", "index", "--doc", "d2"],
            "foveal: document 'd2' is not judged for topic 'toy'",
        ),
        (
            ["--topic", "toy", "-C", "index", "--assessors", "ann"],
            "foveal: no assessor 'ann' in the judgements (none is named)",
        ),
        (
            ["--topic", "toy", "-C", "index", "--assessors", "each"],
            "foveal: a recall base takes one set of judgements",
        ),
        (["--topic", "toy", "-C", "qrels"], "qrels: "),
        (["--topic", "toy", "-j", "nowhere"], "nowhere: "),
        (["--topic", "toy", "-j", "-", "-j", "-"], "foveal: standard input can be read only once"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(recall_base(capsys, "-j", "qrels", "-o", "out", *args), message)


def test_a_relevant_document_that_lists_no_elements_is_warned_of(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    span = [{"start": 0, "end": 5}]
    lines = [
        {"topic": "1", "doc": "D1", "spans": span, "elements": [{"xpath": "/a[1]", "size": 100,
                                                                 "rsize": 5}]},
        {"topic": "1", "doc": "D2", "spans": span},
    ]  # fmt: skip
    (campaign / "some.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    outcome = recall_base(capsys, "-j", "some.jsonl", "--topic", "1", "-f", "tsv")
    assert outcome.err.startswith("warning: relevant documents without listed elements, 1: D2\n")
    assert outcome.out.count("\n") == 2


# -- a terminal -------------------------------------------------------------------------------


def test_only_a_terminal_sees_bold_text() -> None:
    _, shown = at_terminal("recall-base", "-j", "qrels", "-C", "index", "--topic", "toy")
    assert "\033[1m├─ s[1]   \033[0m  \033[1m  60\033[0m" in shown
    assert re.sub(r"\033\[\d*m", "", shown) == TEXT
