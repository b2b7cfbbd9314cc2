"""``foveal agree``: who is compared, which topics, what is refused."""

from __future__ import annotations

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


def test_a_row_for_each_topic_pair_and_all(capsys: pytest.CaptureFixture[str]) -> None:
    table = agreed(capsys, "-j", "carl.qrels", "-q", "-f", "table").out.partition("\n\nBest")[0]
    labels = [line.split("  ")[0] for line in table.splitlines()[4:-4]]
    assert labels == [
        *["ann - bob"] * 3,
        *["ann - carl"] * 4,
        *["bob - carl"] * 3,
        *["all"] * 4,
    ]


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
