"""Answers with citations: detection, places of citations, problems, writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from command import call
from foveal.errors import InputError
from foveal.formats import Source, detect_format, read_run
from foveal.formats.answers import find_closest, write_answers
from foveal.formats.losses import run_losses
from foveal.model import Run

TEXTS = {
    "d7": "The bridge was planned early. It opened in 1932. In 1988 it closed.",
    "d2": "Ferries ran until it opened in 1932. Then it opened in 1932 again.",
    "é𝄞": "aé𝄞b",
}
HEADER = {"type": "header", "format": "foveal-answers", "version": 1}


def line(*citations: Any, topic: str = "1", **more: Any) -> dict[str, Any]:
    return {"topic": topic, "answer": [{"text": "So.", "citations": [*citations]}], **more}


def parse(
    *lines: Any, texts: dict[str, str] | None = TEXTS, header: dict[str, Any] | None = HEADER
) -> Run:
    rows = [own if isinstance(own, str) else json.dumps(own) for own in lines]
    rows = [json.dumps(header), *rows] if header else rows
    return read_run(Source.of_text("".join(f"{own}\n" for own in rows), "a.jsonl"), texts=texts)


def problems(run: Run) -> list[tuple[str, int | None]]:
    assert run.answers is not None
    return [(own.code, own.line) for own in run.answers.list_problems("a.jsonl")]


def test_valid_citations_are_results() -> None:
    run = parse(
        line({"doc": "d7", "start": 30, "end": 48}, {"doc": "d7", "quote": "In 1988 it closed."}),
        line({"doc": "d2"}, topic="2"),
        line(topic="3"),
        {"topic": "4", "answer": []},
    )
    assert run.name == "a"
    assert run.to_frame().select("topic", "doc", "start", "end").rows() == [
        ("1", "d7", 30, 48),
        ("1", "d7", 49, 67),
        ("2", "d2", 0, 66),
    ]
    assert run.length is not None
    assert run.length.tolist() == [67, 67, 66]
    assert run.topics_without_results == ("3", "4")
    assert run.answers is not None
    assert run.answers.topics == ("1", "2", "3", "4")
    assert run.answers.count(["1", "2", "3", "4", "5"])["sentences"].to_list() == [1, 1, 1, 0, 0]
    assert problems(run) == []


@pytest.mark.parametrize("header", [HEADER, None])
@pytest.mark.parametrize("compressed", [False, True])
def test_answers_are_recognised(header: dict[str, Any] | None, compressed: bool) -> None:
    rows = [*([header] if header else []), line({"doc": "d7"})]
    text = json.dumps(rows) if compressed else "\n".join(map(json.dumps, rows))
    source = Source.of_text(text, "a.jsonl").in_lines()
    assert detect_format(source, "run").name == "answers"


def test_runs_and_topics_are_not_taken_for_answers() -> None:
    for row, kind, name in (
        ({"topic": "1", "doc": "d", "answer": "x"}, "run", "jsonl"),
        ({"topic": "1", "title": "When?", "answer": "1932"}, "topics", "jsonl"),
    ):
        assert detect_format(Source.of_text(json.dumps(row), "x.jsonl"), kind).name == name


@pytest.mark.parametrize(
    ("citation", "code"),
    [
        ({"doc": "d7", "quote": "It closed in the year 1932."}, "span.not_found"),
        ({"doc": "d7", "quote": ""}, "span.not_found"),
        ({"doc": "d9", "quote": "It opened"}, "span.unknown_document"),
        ({"doc": "d9"}, "span.unknown_document"),
        ({"doc": "d7", "start": 60, "end": 99}, "span.past_end"),
        ({"doc": "d7", "start": -1, "end": 9}, "span.offset"),
        ({"doc": "d7", "start": 9, "end": 5}, "span.offset"),
        ({"doc": "d7", "start": 9, "end": 9}, "span.offset"),
        ({"doc": "d7", "start": 1 << 62, "end": (1 << 62) + 5}, "span.offset"),
        ({"doc": "d7", "start": 0, "end": 10, "quote": "It opened in 1932."}, "span.quote"),
    ],
)
def test_what_is_not_there_is_not_valid(citation: dict[str, Any], code: str) -> None:
    run = parse(line({"doc": "d2", "start": 0, "end": 7}, citation))
    assert problems(run) == [(code, 2)]
    assert len(run) == 1
    assert [getattr(note, "code", "") for note in run.notes] == [code]


def test_the_closest_text_is_listed() -> None:
    run = parse(line({"doc": "d7", "quote": "the bridge opened in 1932"}))
    assert run.answers is not None
    (problem,) = run.answers.list_problems("a.jsonl")
    assert "'opened in 1932' at [33,47)" in problem.text


def test_only_the_first_problems_are_noted() -> None:
    run = parse(line(*[{"doc": "d9"}] * 50))
    assert len(run.notes) == 21
    assert len(problems(run)) == 50


def test_quotes_that_occur_twice_are_valid() -> None:
    run = parse(
        line(
            {"doc": "d2", "quote": "it opened in 1932"},
            {"doc": "d2", "quote": "it opened in 1932", "prefix": "Then "},
            {"doc": "d7", "quote": "it  OPENED".lower().replace("it", "It")},
        )
    )
    assert run.start.tolist() == [18, 42, 30]


def test_without_texts_ranges_are_taken_and_quotes_need_them() -> None:
    ranges = line({"doc": "d9", "start": 5, "end": 9}, {"doc": "d7"})
    assert parse(ranges, texts=None).end.tolist() == [9, -1]
    both = line({"doc": "d9", "start": 5, "end": 9, "quote": "four"})
    assert [note.code for note in parse(both, texts=None).notes] == ["run.unchecked"]  # type: ignore[attr-defined]
    with pytest.raises(InputError) as caught:
        parse(line({"doc": "d7", "quote": "It opened"}), texts=None)
    assert [(p.code, p.line) for p in caught.value.problems] == [("span.needs_text", 2)]


@pytest.mark.parametrize(
    "entry", [{"unit": "byte"}, {"end": "inclusive"}, {"version": 2}, {"retrieved": 5}]
)
def test_other_headers_are_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        parse(line({"doc": "d7", "start": 0, "end": 2}), header=HEADER | entry)
    assert [(p.code, p.line) for p in caught.value.problems] == [("json.header", 1)]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"topic": "1"}, "answers.answer"),
        ({"topic": "1", "answer": None}, "answers.answer"),
        ({"topic": "1", "answer": "It opened."}, "json.value"),
        ({"topic": "1", "answer": [None]}, "answers.answer"),
        ({"topic": "1", "answer": [{"citations": [None]}]}, "answers.answer"),
        ({"topic": "1", "answer": ["It opened."]}, "json.value"),
        ({"topic": "1", "answer": [{"citations": "d7"}]}, "json.value"),
        ({"topic": "1", "answer": [{"citations": [{"doc": "d7", "start": "x"}]}]}, "json.value"),
        ({"answer": []}, "topic.missing"),
        ({"topic": "all", "answer": []}, "topic.reserved"),
        ({"topic": "0", "answer": []}, "answers.repeated"),
        (line({"quote": "It opened"}), "doc.missing"),
        (line({"doc": "", "quote": "It opened"}), "doc.missing"),
        (line({"doc": "d7", "start": 3}), "span.incomplete"),
        ("{", "json.syntax"),
        (HEADER, "json.header"),
    ],
)
def test_wrong_lines_are_refused(row: Any, code: str) -> None:
    with pytest.raises(InputError) as caught:
        parse({"topic": "0", "answer": []}, row)
    assert (code, 3) in [(p.code, p.line) for p in caught.value.problems]


def test_a_file_without_answers_is_empty() -> None:
    with pytest.raises(InputError) as caught:
        parse()
    assert caught.value.problems[0].code == "run.empty"


words = st.text("abc ", max_size=12)


@given(words, words)
@settings(max_examples=80)
def test_the_closest_part_shares_as_many_words_as_any(text: str, quote: str) -> None:
    found, wanted, every = find_closest(text, quote), quote.split(), text.split()
    size = min(len(wanted), len(every))

    def shared(part: list[str]) -> int:
        return sum(min(part.count(word), wanted.count(word)) for word in {*part})

    best = max((shared(every[i : i + size]) for i in range(len(every) - size + 1)), default=0)
    if found == (0, 0):
        assert best == 0
    else:
        assert shared(text[slice(*found)].split()) == best > 0


citation = st.fixed_dictionaries(
    {"doc": st.sampled_from([*TEXTS, "d9"])},
    optional={"quote": st.sampled_from(["opened", "é𝄞", "no such words"])},
)
ranged = citation | st.builds(
    lambda own, at, size: own | {"start": at, "end": at + size},
    st.fixed_dictionaries({"doc": st.sampled_from([*TEXTS])}),
    st.integers(-1, 70),
    st.integers(0, 9),
)
answer = st.lists(st.fixed_dictionaries({"text": words, "citations": st.lists(ranged, max_size=3)}))


@given(st.lists(answer, min_size=1, max_size=4))
@settings(max_examples=50)
def test_what_is_written_reads_as_it_was(answers: list[Any]) -> None:
    run = parse(*({"topic": str(i), "answer": own} for i, own in enumerate(answers)))
    again = read_run(Source.of_text(write_answers(run), "b.jsonl"), texts=TEXTS)
    assert run.answers is not None
    assert again.answers is not None
    assert again.answers.citations.drop("line", "problem").equals(
        run.answers.citations.drop("line", "problem")
    )
    assert again.answers.topics == run.answers.topics
    assert again.name == run.name
    assert again.start.tolist() == run.start.tolist()


def test_losses_of_other_formats() -> None:
    run = parse(line({"doc": "d7"}, {"doc": "d9"}), {"topic": "2", "answer": []})
    losses = run_losses(run, "results offsets name topics")
    assert losses == ["sentences of answers: 1", "citations that are not valid: 1"]
    assert run_losses(run, "results offsets name topics answers") == []


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [HEADER, line({"doc": "d7", "quote": "It opened in 1932."}, {"doc": "d9"})]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(own) + "\n" for own in rows))
    texts = [{"doc": doc, "text": text} for doc, text in TEXTS.items()]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(own) + "\n" for own in texts))
    paths = (str(tmp_path / "a.jsonl"), "--texts", str(tmp_path / "texts.jsonl"))
    done = call(capsys, "validate", *paths, "-f", "json")
    assert done.code == 1
    assert [own["code"] for own in json.loads(done.out)] == ["span.unknown_document"]
    done = call(capsys, "convert", *paths, str(tmp_path / "b.jsonl"), "--to", "answers")
    assert done.code == 0
    again = foveal.read_run(tmp_path / "b.jsonl")
    assert (again.start.tolist(), again.name) == ([30, 0], "a")  # no text shows that d9 is wrong
    done = call(capsys, "convert", str(tmp_path / "b.jsonl"), str(tmp_path / "r"), "--to", "jsonl")
    assert (done.code, "sentences of answers: 1" in done.err) == (0, True)
    done = call(capsys, "convert", str(tmp_path / "r"), str(tmp_path / "x"), "--to", "answers")
    assert (done.code, "has no answers" in done.err) == (2, True)
