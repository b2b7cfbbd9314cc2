"""``foveal convert`` writes the ground truth of other tools as judgements and topics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foveal.cli import main
from foveal.formats import read_judgements, read_run, read_topics

TEXT = "Ann said so. Bob did not."
TESTS = {
    "tests": [
        {"query": "Who?", "snippets": [{"file_path": "a.txt", "span": [0, 3], "answer": "Ann"}]}
    ]
}
GOLD = "7\td1\t5\t3\tp53|atm\n7\td1\t0\t2\tatm\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("corpus").mkdir()
    Path("corpus/a.txt").write_text(TEXT)
    Path("nda.json").write_text(json.dumps(TESTS, indent=2))
    Path("gold.txt").write_text(GOLD)
    Path("genomics.run").write_text("7 d1 1 2.5 5 3 mine\n7 d1 2 1.5 0 9 mine\n")
    return tmp_path


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_judgements_and_topics_with_quotes(folder: Path) -> None:
    options = ["--texts", "corpus", "--write-topics", "t.jsonl"]
    main(["convert", "nda.json", "j.jsonl", "--to", "jsonl", *options])
    judgements = read_judgements("j.jsonl")
    assert judgements.passages(0) == [(0, 3)]
    assert judgements.length.tolist() == [len(TEXT)]
    assert judgements.quotes is not None
    assert judgements.quotes["quote"].to_list() == ["Ann"]
    assert [(t.id, t.title) for t in read_topics("t.jsonl")] == [("nda-0000", "Who?")]


def test_a_form_may_be_named(folder: Path) -> None:
    main(["convert", "nda.json", "a.jsonl", "--to", "jsonl", "--from", "legalbench-rag"])
    main(["convert", "nda.json", "b.jsonl", "--to", "jsonl"])
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()


def test_aspects_survive(folder: Path) -> None:
    main(["convert", "gold.txt", "j.jsonl", "--to", "jsonl"])
    judgements = read_judgements("j.jsonl")
    assert judgements.aspects is not None
    assert judgements.aspects.to_list() == [["p53", "atm"], ["atm"]]
    assert judgements.passages(0) == [(5, 8), (0, 2)]


def test_runs_of_trec_genomics(folder: Path) -> None:
    main(["convert", "genomics.run", "r.jsonl", "--from", "trec-genomics-run", "--to", "jsonl"])
    run = read_run("r.jsonl")
    assert (run.name, run.start.tolist(), run.end.tolist()) == ("mine", [5, 0], [8, 9])


def test_alternatives_survive(folder: Path) -> None:
    answers = [{"text": "Ann", "answer_start": 0}, {"text": "Bob", "answer_start": 13}]
    asked = {"id": "q", "question": "Who?", "answers": answers}
    data = [{"title": "t", "paragraphs": [{"context": TEXT, "qas": [asked]}]}]
    Path("squad.json").write_text(json.dumps({"data": data}))
    main(["convert", "squad.json", "j.jsonl", "--to", "jsonl"])
    judgements = read_judgements("j.jsonl")
    assert judgements.sets is not None
    assert judgements.sets.to_list() == [["a1"], ["a2"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nda.json", "o", "--to", "jsonl", "--from", "squat"], "unknown form 'squat' (--from)"),
        (
            ["genomics.run", "o", "--to=jsonl", "--from=trec-genomics-run", "--texts=corpus"],
            "--texts has no use here",
        ),
        (
            ["genomics.run", "o", "--to=jsonl", "--from=trec-genomics-run", "--write-topics=t"],
            "--write-topics is for the ground truth",
        ),
        (
            ["nda.json", "o", "--to", "jsonl", "--focus"],
            "--focus is for runs; nda.json holds judge",
        ),
        (["nda.json", "o", "--to", "jsonl", "--texts", "none"], "none: no such file"),
        (["nda.json", "o", "--to", "jsonl", "--from", "kilt"], "nda.json:1: not valid JSON"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in failing(["convert", *arguments], capsys)
    assert not Path("o").exists()


def test_a_text_that_does_not_hold_the_quote_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("corpus/a.txt").write_text("Eve" + TEXT[3:])
    said = failing(["convert", "nda.json", "o", "--to", "jsonl", "--texts", "corpus"], capsys)
    assert said.startswith("nda.json:3: $.tests[0].snippets[0]: the span [0,3) of document 'a.txt'")
    assert not Path("o").exists()
