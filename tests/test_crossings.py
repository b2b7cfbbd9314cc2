"""The campaign "crossings": rebuilt to the byte, judged completely, its runs valid."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from examples import make_crossings
from examples.make_crossings import CAMPAIGN

import foveal
from command import call
from foveal.collection import build_index

DERIVED = ("judgements.jsonl", "judgements.qrels", "assessments", "runs")
PRESETS = {
    "articles.jsonl": "2009.BestInContext",
    "sections.xml": "2005.CO.Focussed",
    "paragraphs.run": "2009.Focused",
    "thorough.xml": "2005.CO.Thorough",
    "focused.jsonl": "2006.Focused",
    "windows.jsonl": "2009.RelevantInContext",
    "strict.xml": "2005.SSCAS",
    "noisy.jsonl": "2009.Focused",
}
"""The runs and a preset for the task that each of them declares."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("crossings") / "crossings.fvx"
    build_index(CAMPAIGN / "documents", path)
    return path


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {
        path.stem: "".join(ET.parse(path).getroot().itertext())
        for path in (CAMPAIGN / "documents").iterdir()
    }


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def copied(folder: Path, *leave_out: str) -> Path:
    target = folder / "copy"
    shutil.copytree(CAMPAIGN, target, ignore=shutil.ignore_patterns(*leave_out))
    return target


# -- rebuilding ----------------------------------------------------------------------------------


def test_a_rebuild_from_what_was_written_by_hand_gives_the_same_bytes(tmp_path: Path) -> None:
    rebuilt = copied(tmp_path, *DERIVED)
    assert not any((rebuilt / name).exists() for name in DERIVED)
    assert make_crossings.main([str(rebuilt)]) == 0
    expected = files(CAMPAIGN)
    assert files(rebuilt).keys() == expected.keys()
    assert [name for name, data in files(rebuilt).items() if data != expected[name]] == []


@pytest.mark.parametrize(
    ("found", "instead", "message"),
    [
        ("begin: The trick is to", "begin: The trick was to", "quotation not found"),
        ("... sandstone cliffs of Saxony.", "... The trick is to", "ends before it begins"),
        ("passage: In the simplest", "passage: A kite works\npassage: In the simplest", "overlap"),
        ("\nexhaustivity: 2\n", "\nexhaustivity: 1\n", "more exhaustive than /article[1]"),
        ("/sec[1]/p[2]", "/sec[4]/title[1]", "too small or holds no highlighted text"),
        ("== 1 chain-ferries", "== 1 chain-ferry", "unknown or repeated"),
        ("== 1 tides\n", "== 1\n", "cannot read this line"),
        ("not driven by it.\nnothing", "not driven by it.", "give passages or 'nothing'"),
    ],
)  # fmt: skip
def test_what_was_written_by_hand_is_checked(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    found: str,
    instead: str,
    message: str,
) -> None:
    campaign = copied(tmp_path, *DERIVED)
    source = campaign / "judgements_source.txt"
    text = source.read_text(encoding="utf-8")
    assert found in text
    source.write_text(text.replace(found, instead, 1), encoding="utf-8")
    assert make_crossings.main([str(campaign)]) == 1
    assert message in capsys.readouterr().err
    assert not any((campaign / name).exists() for name in DERIVED)


def test_a_document_that_is_not_judged_is_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = copied(tmp_path, *DERIVED)
    shutil.copy(campaign / "documents" / "tides.xml", campaign / "documents" / "ebb.xml")
    assert make_crossings.main([str(campaign)]) == 1
    assert capsys.readouterr().err == "make_crossings: not judged: topic 1, ebb\n"


# -- judgements ----------------------------------------------------------------------------------


def test_every_document_is_judged_for_every_topic(texts: dict[str, str]) -> None:
    judgements = foveal.read_judgements(CAMPAIGN / "judgements.jsonl")
    pairs = [
        (judgements.topics[topic], doc)
        for topic, doc in zip(judgements.topic.tolist(), judgements.doc, strict=True)
    ]
    assert len(texts) == 43
    assert sorted(pairs) == sorted(product(map(str, range(1, 13)), texts))
    relevant = [pair for pair, is_so in zip(pairs, judgements.relevant, strict=True) if is_so]
    per_topic = [sum(t == topic for t, _ in relevant) for topic in judgements.topics]
    assert (min(per_topic), max(per_topic), sum(per_topic)) == (3, 13, 77)


def test_qrels_and_assessments_say_the_same(index: Path) -> None:
    scores = [
        foveal.evaluate(
            CAMPAIGN / "runs" / "paragraphs.run",
            CAMPAIGN / name,
            ["AiP", "AgP(score=BEP)"],
            collection=index,
            overlap="drop",
            regroup=True,
        ).aggregate()
        for name in ("judgements.jsonl", "judgements.qrels", "assessments")
    ]
    assert scores[0] == scores[1] == scores[2]
    assert all(score > 0 for score in scores[0]["paragraphs"].values())


# -- runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "preset"), PRESETS.items())
def test_runs_are_valid_for_the_task_they_declare(
    capsys: pytest.CaptureFixture[str], index: Path, name: str, preset: str
) -> None:
    path = CAMPAIGN / "runs" / name
    more = ("-C", str(index), "--topics-file", str(CAMPAIGN / "topics.jsonl"))
    outcome = call(capsys, "validate", str(path), "-t", preset, *more)
    assert outcome.code == 0, outcome.out
    # Lines of eight fields have no place for a task.
    assert (foveal.read_run(path).task is None) == (path.suffix == ".run")
