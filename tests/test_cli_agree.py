"""``foveal agree``: who is compared, what the tables hold, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import Outcome, assert_refused, call

ANN = """\
7 Q0 a 40 100 0 0:40
7 Q0 b 0 50
8 Q0 a 10 100 5 5:10
"""
BOB = """\
7 Q0 a 30 100 20 20:30
7 Q0 b 0 50
8 Q0 c 10 100 5 5:10
"""
CARL = "7 Q0 a 40 100 0 0:40\n8 Q0 a 20 100 5 5:20\n"
ALONE = "warning: documents that only one assessor judged for a topic: 2; they are left out\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"ann": ANN, "bob": BOB, "carl": CARL}.items():
        (tmp_path / f"{name}.qrels").write_text(text)
    return tmp_path


def agreed(capsys: pytest.CaptureFixture[str], *args: str) -> Outcome:
    outcome = call(capsys, "agree", "-j", "ann.qrels", "-j", "bob.qrels", *args)
    assert outcome.code == 0, outcome.err
    return outcome


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_two_files_are_two_assessors(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 150 characters 40 and 30 are highlighted, 20 by both: 120 agree, 96 would by chance."""
    outcome = agreed(capsys, "-f", "table")
    assert outcome.out.startswith("Agreement on text and documents\n")
    found = lines(outcome.out)
    kappa = (120 - 96) / (150 - 96)
    assert found[4][:8] == [
        *("ann", "-", "bob", "pooled", "1", "2", "0.8000"),
        f"{kappa:.4f}",
    ]
    assert ["ann", "-", "bob", "mean", "1", "20.0", "20.0"] in [line[:7] for line in found]
    assert not any(line[:1] == ["all"] for line in found)  # the same again
    assert outcome.err == ALONE


def test_a_row_for_each_topic_pair_and_all(capsys: pytest.CaptureFixture[str]) -> None:
    table = agreed(capsys, "-j", "carl.qrels", "-q", "-f", "table").out.partition("\n\nBest")[0]
    labels = [line.split("  ")[0] for line in table.splitlines()[4:-4]]
    assert labels == [
        *["ann - bob"] * 3,
        *["ann - carl"] * 4,
        *["bob - carl"] * 3,
        *["all"] * 4,
    ]


def test_tidy_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [line.split("\t") for line in agreed(capsys).out.splitlines()]
    assert rows[0] == ["first", "second", "topic", "over", "figure", "value"]
    assert ["ann", "bob", "all", "pooled", "documents", "2"] in rows
    assert ["all", "all", "all", "mean", "f1", repr(40 / 70)] in rows
    assert {row[2] for row in rows[1:]} == {"all"}
    assert not any("7" in row for row in rows)
    per_topic = [line.split(",") for line in agreed(capsys, "-q", "-f", "csv").out.splitlines()]
    assert ["ann", "bob", "7", "topic", "bep_mean", "20.0"] in per_topic
    assert ["ann", "bob", "7", "topic", "grade_kappa", "nan"] in per_topic


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = agreed(capsys, "-f", "json", "-o", "found.json")
    assert outcome.out == ""
    data = json.loads(Path("found.json").read_text())
    assert [source["path"] for source in data["meta"]["inputs"]] == ["ann.qrels", "bob.qrels"]
    assert data["meta"]["warnings"] == [ALONE.removeprefix("warning: ").strip()]
    assert {row["topic"] for row in data["rows"]} == {"7", None}


@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_for_papers_and_pages(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = agreed(capsys, "-f", form).out
    assert "0.5714" in out
    assert "Krippendorff" in out


def test_only_some_topics(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("-j", "carl.qrels", "--only-topics", "8")
    rows = [line.split("\t") for line in agreed(capsys, *args).out.splitlines()]
    assert ["ann", "carl", "all", "pooled", "f1", repr(20 / 30)] in rows


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-j", "ann.qrels"], "foveal: all judgements are of one assessor, 'ann'"),
        (["-j", "ann.qrels", "-j", "none"], "none: no such file"),
        (["-j", "ann.qrels", "-j", "bob.qrels", "--only-topics", "8"], "foveal: no document was"),
        (["-j", "ann.qrels", "-j", "bob.qrels", "--only-topics", "9"], "foveal: topics wanted but"),
        (["-j", "ann.qrels", "-j", "bob.qrels", "-o", "./ann.qrels"], "foveal: ./ann.qrels is rea"),
    ],
)
def test_wrong_use_is_refused(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = call(capsys, "agree", *args)
    said = [line for line in outcome.err.splitlines() if not line.startswith("warning: ")]
    assert_refused(Outcome(outcome.code, outcome.out, "\n".join(said)), message)
    assert Path("ann.qrels").read_text() == ANN


def test_judgements_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = call(capsys, "agree")
    assert outcome.code == 2
    assert "Missing option '-j'" in outcome.err
