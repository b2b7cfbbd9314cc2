"""``convert`` reads published gold data: questions without answers, and quotes that are off."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import foveal
from command import Outcome, call
from foveal.adapters.gold_formats import read_gold

CONTEXT = (
    "The ferry left the harbour at noon. The crew of the ferry was tired. Nobody saw the whale."
)
FAR = f"{CONTEXT} {'It rained. ' * 20}Then the lighthouse came in sight."


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_squad(answers: dict[str, tuple[str, int]], context: str = CONTEXT) -> None:
    """Write a file of the SQuAD kind: question to its answer and the offset it is said to have."""
    questions = [
        {"id": name, "question": "?", "answers": [{"text": text, "answer_start": start}]}
        for name, (text, start) in answers.items()
    ]
    paragraphs = [{"context": context, "qas": questions}]
    Path("gold.json").write_text(
        json.dumps({"data": [{"title": "Trip", "paragraphs": paragraphs}]})
    )


def convert(capsys: pytest.CaptureFixture[str], *options: str, gold: str = "gold.json") -> Outcome:
    return call(capsys, "convert", gold, "out.jsonl", "--to", "jsonl", *options)


def spans(path: str = "out.jsonl") -> dict[str, list[tuple[int, int]]]:
    """Return the spans of each topic of a file of judgements."""
    found: dict[str, list[tuple[int, int]]] = {}
    for line in Path(path).read_text().splitlines()[1:]:
        record = json.loads(line)
        own = found.setdefault(record["topic"], [])
        own += [(span["start"], span["end"]) for span in record["spans"]]
    return found


def counts(warnings: str) -> list[int]:
    """Return the number after the last colon of each line."""
    return [int(re.findall(r": (\d+)", line)[-1]) for line in warnings.splitlines()]


def at(quote: str, text: str = CONTEXT) -> tuple[int, int]:
    start = text.index(quote)
    return start, start + len(quote)


IMPERFECT = {
    "right": ("harbour", at("harbour")[0]),
    "later": ("tired", at("tired")[0] - 1),
    "earlier": ("whale.", at("whale.")[0] + 1),
    "twice": ("ferry", at("ferry")[0] + 1),
    "absent": ("submarine", 10),
    "misspelt": ("Nobody sew the whale", at("Nobody")[0]),
}
"""Two quotes are off by one and occur once; three cannot be moved."""


def test_mismatches_are_reported_with_their_path_and_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_squad(IMPERFECT)
    done = convert(capsys)
    assert done.code == 2
    assert not Path("out.jsonl").exists()
    lines = done.err.splitlines()
    for number, line in zip((1, 2, 3, 4, 5), lines, strict=False):
        assert line.startswith("gold.json")
        assert f"$.data[0].paragraphs[0].qas[{number}].answers[0]: " in line
    assert len(lines) == 6
    assert "5 of 6" in lines[-1]


def test_quotes_that_occur_once_near_their_offset_are_moved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_squad({name: IMPERFECT[name] for name in ("right", "later", "earlier")})
    done = convert(capsys, "--repair")
    assert done.code == 0, done.err
    assert spans() == {
        "right": [at("harbour")],
        "later": [at("tired")],
        "earlier": [at("whale.")],
    }
    assert counts(done.err) == [2]
    judgements, _ = read_gold("gold.json", repair=True)
    assert judgements.start.tolist() == [own[0][0] for own in spans().values()]
    assert counts("\n".join(judgements.notes)) == [2]


def test_the_rest_is_still_an_error_or_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    write_squad(IMPERFECT)
    done = convert(capsys, "--repair")
    assert done.code == 2
    assert "3 of 6" in done.err
    done = convert(capsys, "--repair", "--drop-mismatches", "--write-topics", "topics.jsonl")
    assert done.code == 0, done.err
    assert list(spans()) == ["right", "later", "earlier"]
    assert foveal.read_topics("topics.jsonl").ids == ("right", "later", "earlier")
    assert counts(done.err) == [2, 3, 3]  # moved, left out, questions left out
    done = convert(capsys, "--drop-mismatches")
    assert done.code == 0, done.err
    assert counts(done.err) == [5, 5]
    assert list(spans()) == ["right"]


def test_a_quote_that_is_far_from_its_offset_stays_a_mismatch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_squad({"far": ("lighthouse", 3)}, FAR)
    done = convert(capsys, "--repair")
    assert done.code == 2
    assert str(at("lighthouse", FAR)[0]) in done.err


def test_repair_needs_texts_and_gold_data(capsys: pytest.CaptureFixture[str]) -> None:
    span = {"file_path": "trip", "span": at("noon"), "answer": "noon"}
    Path("gold.json").write_text(json.dumps({"tests": [{"query": "When?", "snippets": [span]}]}))
    for option in ("--repair", "--drop-mismatches"):
        done = convert(capsys, "--from", "legalbench-rag", option)
        assert done.code == 2
        assert "--texts" in done.err
    Path("run.jsonl").write_text('{"topic": "1", "doc": "d", "start": 0, "end": 5}\n')
    assert convert(capsys, "--repair", gold="run.jsonl").code == 2


# -- formats, topics and options ------------------------------------------------------------------


def test_judgements_and_topics_of_a_named_or_detected_format(
    capsys: pytest.CaptureFixture[str],
) -> None:
    snippet = {"file_path": "a.txt", "span": at("harbour"), "answer": "harbour"}
    Path("nda.json").write_text(json.dumps({"tests": [{"query": "Which?", "snippets": [snippet]}]}))
    Path("corpus").mkdir()
    Path("corpus/a.txt").write_text(CONTEXT)
    options = ("--texts", "corpus", "--write-topics", "topics.jsonl")
    for named in ((), ("--from", "legalbench-rag")):
        assert convert(capsys, *options, *named, gold="nda.json").code == 0
        judgements = foveal.read_judgements("out.jsonl")
        assert judgements.passages(0) == [at("harbour")]
        assert judgements.length.tolist() == [len(CONTEXT)]
        assert judgements.quotes is not None
        assert judgements.quotes["quote"].to_list() == ["harbour"]
        assert [own.title for own in foveal.read_topics("topics.jsonl")] == ["Which?"]
        Path("out.jsonl").unlink()
    for wrong, said in (
        (("--focus",), "--focus is for runs; nda.json holds judge"),
        (("--texts", "none"), "none: no such file"),
        (("--from", "kilt"), "nda.json:1: $: id is missing"),
        (("--from", "squat"), "unknown format 'squat'; expected"),
    ):
        done = convert(capsys, *wrong, gold="nda.json")
        assert (done.code, Path("out.jsonl").exists()) == (2, False)
        assert said in done.err


def test_runs_of_trec_genomics(capsys: pytest.CaptureFixture[str]) -> None:
    Path("genomics.run").write_text("7 d1 1 2.5 5 3 mine\n7 d1 2 1.5 0 9 mine\n")
    form = ("--from", "trec-genomics-run")
    assert convert(capsys, *form, gold="genomics.run").code == 0
    run = foveal.read_run("out.jsonl")
    assert (run.name, run.start.tolist(), run.end.tolist()) == ("mine", [5, 0], [8, 9])
    for wrong, said in (
        (("--texts", "corpus"), "--texts is for runs and judgements"),
        (("--write-topics", "t"), "--write-topics is for gold data"),
    ):
        done = convert(capsys, *form, *wrong, gold="genomics.run")
        assert done.code == 2
        assert said in done.err
