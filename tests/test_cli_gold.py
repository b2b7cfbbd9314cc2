"""``convert`` reads published gold data: questions without answers, and quotes that are off."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def test_no_more_than_twenty_mismatches_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    write_squad({f"q{n}": ("whale", at("whale")[0] - 1) for n in range(30)})
    done = convert(capsys)
    assert done.code == 2
    assert done.err.count("$.data[0]") == 20
    assert "30 of 30" in done.err
    assert convert(capsys, "--repair").code == 0
    assert set(map(tuple, spans().values())) == {(at("whale"),)}


def moved_quotes() -> Iterator[tuple[str, Any]]:
    """Yield files of other tools whose quote begins one character too early."""
    start, end = (offset - 1 for offset in at("noon"))
    span = {"file_path": "trip", "span": [start, end], "answer": "noon"}
    yield "legalbench-rag", {"tests": [{"query": "When?", "snippets": [span]}]}
    snippet = {
        "document": "http://pubmed.example/trip",
        "beginSection": "abstract",
        "endSection": "abstract",
        "offsetInBeginSection": start,
        "offsetInEndSection": end,
        "text": "noon",
    }
    yield "bioasq", {"questions": [{"id": "q", "body": "When?", "snippets": [snippet]}]}
    selectors = [
        {"type": "TextPositionSelector", "start": start, "end": end},
        {"type": "TextQuoteSelector", "exact": "noon"},
    ]
    target = {"source": "trip", "selector": selectors}
    yield "web-annotation", {"body": "when", "target": target}
    reference = [{"content": "noon", "start_index": start, "end_index": end}]
    quoted = json.dumps(reference).replace('"', '""')
    yield "chunking-evaluation", f'question,references,corpus_id\nWhen?,"{quoted}",trip\n'


@pytest.mark.parametrize(
    ("form", "gold"), [*moved_quotes()], ids=[form for form, _ in moved_quotes()]
)
def test_quotes_of_every_format_are_moved(
    form: str, gold: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("gold.x").write_text(gold if isinstance(gold, str) else json.dumps(gold))
    texts = [{"doc": doc, "text": CONTEXT} for doc in ("trip", "trip/abstract")]
    Path("texts.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in texts))
    options = ("--from", form, "--texts", "texts.jsonl")
    assert convert(capsys, *options, gold="gold.x").code == 2
    done = convert(capsys, *options, "--repair", gold="gold.x")
    assert done.code == 0, done.err
    assert list(spans().values()) == [[at("noon")]]


def test_repair_needs_texts_and_gold_data(capsys: pytest.CaptureFixture[str]) -> None:
    form, gold = next(moved_quotes())
    Path("gold.json").write_text(json.dumps(gold))
    for option in ("--repair", "--drop-mismatches"):
        done = convert(capsys, "--from", form, option)
        assert done.code == 2
        assert "--texts" in done.err
    Path("run.jsonl").write_text('{"topic": "1", "doc": "d", "start": 0, "end": 5}\n')
    assert convert(capsys, "--repair", gold="run.jsonl").code == 2


# -- questions without golden snippets ------------------------------------------------------------


def test_questions_without_golden_snippets_stay_judged_topics(
    capsys: pytest.CaptureFixture[str],
) -> None:
    snippet = {
        "document": "http://pubmed.example/11",
        "beginSection": "abstract",
        "endSection": "abstract",
        "offsetInBeginSection": 0,
        "offsetInEndSection": 9,
    }
    questions = [
        {"id": "with", "body": "Which?", "snippets": [snippet]},
        {"id": "without", "body": "Why?", "snippets": []},
    ]
    Path("gold.json").write_text(json.dumps({"questions": questions}))
    assert convert(capsys, "--from", "bioasq").code == 0
    assert spans() == {"with": [(0, 9)], "without": []}
    again = call(capsys, "convert", "out.jsonl", "again.jsonl", "--to", "jsonl")
    assert again.code == 0, again.err
    assert spans("again.jsonl") == spans()
    judgements = foveal.read_judgements("again.jsonl")
    assert judgements.topics == ("with", "without")
    run = {topic: [("11/abstract", 0, 9)] for topic in judgements.topics}
    results = foveal.evaluate(foveal.run_of(run), judgements, ["bio_ap"])
    assert results.topics == ("with", "without")
    assert results[results.runs[0], "bio_ap", "with"] == 1
    assert math.isnan(results[results.runs[0], "bio_ap", "without"])
    # Other formats have no line for such a topic, and the warning counts it.
    assert 1 in counts(call(capsys, "convert", "again.jsonl", "-", "--to", "trec").err)


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


def test_sets_and_aspects_survive(capsys: pytest.CaptureFixture[str]) -> None:
    answers = [{"text": text, "answer_start": at(text)[0]} for text in ("harbour", "noon")]
    asked = {"id": "q", "question": "Where?", "answers": answers}
    data = [{"title": "Trip", "paragraphs": [{"context": CONTEXT, "qas": [asked]}]}]
    Path("gold.json").write_text(json.dumps({"data": data}))
    assert convert(capsys).code == 0
    judgements = foveal.read_judgements("out.jsonl")
    assert judgements.sets is not None
    assert judgements.sets.to_list() == [["a1"], ["a2"]]
    Path("gold.txt").write_text("7\td1\t5\t3\tp53|atm\n7\td1\t0\t2\tatm\n")
    assert convert(capsys, gold="gold.txt").code == 0
    judgements = foveal.read_judgements("out.jsonl")
    assert judgements.aspects is not None
    assert judgements.aspects.to_list() == [["p53", "atm"], ["atm"]]
    assert judgements.passages(0) == [(5, 8), (0, 2)]


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
