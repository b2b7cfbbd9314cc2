"""L=auto, the mean document length: the same whatever part of the judgements is evaluated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import foveal
from command import call

MEASURES = ["BEPD", "EPRUM", "GR@5", "PRUM(behaviour=bep)"]
JUDGEMENTS = """\
{"topic":"1","doc":"short","length":100,"bep":10,"assessor":"ann","spans":[{"start":10,"end":40}]}
{"topic":"2","doc":"long","length":900,"bep":50,"assessor":"bob","spans":[{"start":50,"end":90}]}
{"topic":"3","doc":"other","length":500,"assessor":"bob","spans":[]}
"""
RUN = """\
{"topic":"1","doc":"short","start":30,"end":40}
{"topic":"2","doc":"long","start":0,"end":40}
"""
L = 500.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gold.jsonl").write_text(JUDGEMENTS)
    (tmp_path / "mine.jsonl").write_text(RUN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("memory", [None, 1], ids=["at once", "in slices"])
@pytest.mark.parametrize(
    "selection",
    [
        {"only_topics": ("1",)},
        {"pools": ("ann",)},
        {"assessors": "ann"},
    ],
    ids=str,
)
def test_a_selection_of_topics_changes_no_score(
    folder: Path, selection: dict[str, object], memory: int | None
) -> None:
    files = (folder / "mine.jsonl", folder / "gold.jsonl")
    whole = foveal.evaluate(*files, MEASURES)
    some = foveal.evaluate(*files, MEASURES, memory=memory, **selection)
    for measure in MEASURES:
        label = foveal.parse_measure(measure).label
        assert some.per_topic(label)["mine"]["1"] == whole.per_topic(label)["mine"]["1"]
    assert whole.per_topic("BEPD")["mine"]["1"] == pytest.approx(L / (L + 20))
    assert some.meta["mean_length"] == whole.meta["mean_length"]
    assert whole.meta["mean_length"]["L"] == L


def test_the_command_says_where_l_comes_from(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del folder
    arguments = ("mine.jsonl", "-j", "gold.jsonl", "-f", "json", "--only-topics", "1")
    outcome = call(capsys, "evaluate", *arguments, "-t", "2006.BestInContext")
    (note,) = (line for line in outcome.err.splitlines() if "L=auto" in line)
    assert "500" in note
    assert "3 judged documents" in note
    meta = json.loads(outcome.out)["meta"]
    assert meta["mean_length"]["L"] == L
    assert meta["mean_length"]["source"] in note
    # A length that is given, or not needed, has no source.
    for measure in ("BEPD(L=9)", "charR"):
        other = call(capsys, "evaluate", *arguments, "-m", measure)
        assert "L=auto" not in other.err
        assert "mean_length" not in json.loads(other.out)["meta"]


def test_with_a_collection_it_is_the_mean_of_its_documents(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "docs").mkdir()
    for name, size in (("short", 100), ("long", 900), ("other", 500), ("unjudged", 2500)):
        (folder / "docs" / f"{name}.xml").write_text(f"<a>{'x' * size}</a>")
    assert call(capsys, "index", "docs", "-o", "docs.fvx").code == 0
    results = foveal.evaluate(
        "mine.jsonl", "gold.jsonl", "BEPD", collection="docs.fvx", only_topics=("1",)
    )
    assert results.meta["mean_length"]["L"] == 1000
    assert "4 documents of the collection" in results.meta["mean_length"]["source"]
    assert results["mine", "BEPD"] == pytest.approx(1000 / 1020)
