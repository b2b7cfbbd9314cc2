"""P@k and R@k count documents: those who expect text are told which measures count it."""

from __future__ import annotations

from pathlib import Path

import pytest

import foveal
from command import call

GOLD = '{"topic":"1","doc":"a.md","length":100,"spans":[{"start":10,"end":40}]}\n'
PARTS = '{"topic":"1","doc":"a.md","start":80,"end":90}\n'
WHOLE = "1 Q0 a.md 1 0.5 whole\n"
QRELS = "1 0 a.md 1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (
        ("gold.jsonl", GOLD),
        ("parts.jsonl", PARTS),
        ("whole.run", WHOLE),
        ("documents.qrels", QRELS),
    ):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def notes(text: str) -> list[str]:
    return [line for line in text.splitlines() if "count" in line and "documents" in line]


def test_the_command_says_it_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "more.jsonl").write_text(PARTS)
    arguments = ("parts.jsonl", "more.jsonl", "-j", "gold.jsonl")
    outcome = call(capsys, "evaluate", *arguments, "-m", "recall@5", "-m", "precision@10")
    assert "parts\tall\tR@5\t1.0" in outcome.out  # no relevant text, and a perfect score
    (note,) = notes(outcome.err)
    assert "charR@5" in note
    assert "charP@10" in note
    assert call(capsys, "evaluate", *arguments, "-m", "charR@5", "-m", "AP").err == ""


@pytest.mark.parametrize(
    ("run", "judgements", "said"),
    [
        ("parts.jsonl", "gold.jsonl", True),
        ("parts.jsonl", "documents.qrels", True),
        ("whole.run", "gold.jsonl", True),
        ("whole.run", "documents.qrels", False),
    ],
)
def test_not_where_everything_is_whole_documents(
    folder: Path, run: str, judgements: str, said: bool
) -> None:
    results = foveal.evaluate(folder / run, folder / judgements, "R@5")
    assert results[results.runs[0], "R@5"] == 1
    assert len(notes("\n".join(results.meta["warnings"]))) == said
