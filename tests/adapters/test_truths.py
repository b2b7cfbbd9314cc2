"""The ground truth of other tools becomes judgements and topics, or an error that says where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.adapters.truths import (
    TRUTH_FORMS,
    found_form,
    read_foreign_run,
    read_texts,
    read_truth,
    texts_of,
)
from foveal.adapters.truths.tokens import in_tokens, words
from foveal.errors import FovealError, InputError, UsageError
from foveal.files.source import Source
from foveal.measures.others.squad import answer_f1
from foveal.model import Judgements, Run, Topics

CHUNKING = """\
question,references,corpus_id
"Who, then?","[{""content"": ""Ann"", ""start_index"": 4, ""end_index"": 7}]",speech
"Two
lines?","[{""content"": ""x"", ""start_index"": 0, ""end_index"": 1},
 {""content"": ""Ann"", ""start_index"": 4, ""end_index"": 7}]",speech
"""
LEGAL = {
    "tests": [
        {
            "query": "May they?",
            "snippets": [
                {"file_path": "nda/a.txt", "span": [0, 3], "answer": "Yes"},
                {"file_path": "nda/b.txt", "span": [2, 5], "answer": "may"},
            ],
        },
        {"query": "Must they?", "snippets": [{"file_path": "nda/a.txt", "span": [5, 9]}]},
    ]
}
CONTEXT = "The Normans came in 1066 from Normandy. Normandy is in France."
SQUAD = {
    "version": "1.1",
    "data": [
        {
            "title": "Normans",
            "paragraphs": [
                {
                    "context": CONTEXT,
                    "qas": [
                        {
                            "id": "q1",
                            "question": "Who came?",
                            "answers": [
                                {"text": "The Normans", "answer_start": 0},
                                {"text": "Normans", "answer_start": 4},
                                {"text": "Normans", "answer_start": 4},
                            ],
                        },
                        {"id": "q2", "question": "Why?", "answers": [], "is_impossible": True},
                    ],
                },
                {
                    "document_id": 630,
                    "context": "A text.",
                    "qas": [
                        {
                            "id": 12,
                            "question": "What?",
                            "answers": [{"text": "text", "answer_start": 2}],
                        }
                    ],
                },
            ],
        }
    ],
}
BIOASQ = {
    "questions": [
        {
            "id": "5a",
            "body": "Is it so?",
            "snippets": [
                {
                    "document": "http://www.ncbi.nlm.nih.gov/pubmed/23001136",
                    "beginSection": "abstract",
                    "endSection": "abstract",
                    "offsetInBeginSection": 3,
                    "offsetInEndSection": 8,
                    "text": "is so",
                },
                {
                    "document": "http://www.ncbi.nlm.nih.gov/pubmed/17/",
                    "beginSection": "title",
                    "endSection": "title",
                    "offsetInBeginSection": 0,
                    "offsetInEndSection": 4,
                },
            ],
        }
    ]
}
ACROSS = {
    "document": "pubmed/9",
    "beginSection": "title",
    "endSection": "abstract",
    "offsetInBeginSection": 6,
    "offsetInEndSection": 4,
}
KILT = [
    {
        "id": "k1",
        "input": "Where was she born?",
        "output": [
            {
                "answer": "Ulm",
                "provenance": [
                    {
                        "wikipedia_id": "736",
                        "start_paragraph_id": 2,
                        "start_character": 5,
                        "end_paragraph_id": 2,
                        "end_character": 30,
                    },
                    {
                        "wikipedia_id": "99",
                        "start_paragraph_id": 1,
                        "start_character": 0,
                        "end_character": 9,
                    },
                ],
            },
            {
                "answer": "in Ulm",
                "provenance": [
                    {
                        "wikipedia_id": "736",
                        "start_paragraph_id": 4,
                        "start_character": 1,
                        "end_paragraph_id": 4,
                        "end_character": 8,
                    },
                    {"wikipedia_id": "736", "title": "A page"},
                ],
            },
        ],
    },
    {"id": "k2", "input": "And?", "output": [{"provenance": [{"wikipedia_id": "1"}]}]},
]
QASPER = {
    "1911.10742": {
        "title": "A paper",
        "abstract": "We show things.",
        "full_text": [
            {"section_name": "Intro", "paragraphs": ["First one.", "Again.", "First  two."]},
            {"section_name": "End", "paragraphs": ["Again.", ""]},
        ],
        "qas": [
            {
                "question": "What is shown?",
                "question_id": "x1",
                "answers": [
                    {"answer": {"evidence": ["We show things.", "FLOAT SELECTED: Table 1"]}},
                    {"answer": {"evidence": ["First two.", "We show things."]}},
                ],
            },
            {
                "question": "Nothing?",
                "question_id": "x2",
                "answers": [{"answer": {"unanswerable": True, "evidence": []}}],
            },
            {
                "question": "Twice?",
                "question_id": "x3",
                "answers": [{"answer": {"evidence": ["Again."]}}],
            },
        ],
    }
}
GENOMICS = """\
200\t14747618\t64\t20\tICAM-1|CD14
200\t77\t5\t3\t
201\t77\t9\t1\tCD14
200\t14747618\t10\t5\tCD14
"""
PAGE = "To be, or not to be, that is the question: whether 'tis nobler."


def annotation(selector: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "Annotation",
        "body": {"type": "TextualBody", "value": "doubt", "purpose": "tagging"},
        "target": {"source": "hamlet", "selector": selector},
        **more,
    }


def position(start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"type": "TextPositionSelector", "start": start, "end": end, **more}


def quotation(exact: str, **more: Any) -> dict[str, Any]:
    return {"type": "TextQuoteSelector", "exact": exact, **more}


SAMPLES: dict[str, str] = {
    "chunking-evaluation": CHUNKING,
    "legalbench-rag": json.dumps(LEGAL, indent=1),
    "squad": json.dumps(SQUAD),
    "bioasq": json.dumps(BIOASQ, indent=2),
    "kilt": "".join(f"{json.dumps(line)}\n" for line in KILT),
    "qasper": json.dumps(QASPER),
    "trec-genomics": GENOMICS,
    "web-annotation": json.dumps(annotation(position(3, 5))),
}


def read(
    form: str, text: str | None = None, texts: Mapping[str, str] | None = None
) -> tuple[Judgements, Topics]:
    return read_truth(Source.of_text(text or SAMPLES[form], "truth.x"), form, texts=texts)


def rows(judgements: Judgements) -> list[tuple[str, str, list[tuple[int, int]]]]:
    return [
        (judgements.topics[judgements.topic[i]], judgements.doc[i], judgements.passages(i))
        for i in range(len(judgements))
    ]


def labels(judgements: Judgements, column: str) -> list[list[str]]:
    return [list(names or []) for names in getattr(judgements, column).to_list()]


# -- what they hold -----------------------------------------------------------------------------


def test_every_form_has_a_sample_and_is_recognised() -> None:
    assert list(SAMPLES) == list(TRUTH_FORMS)
    for form, text in SAMPLES.items():
        assert found_form(Source.of_text(text)) == form


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 Q0 D1 1 0.5 r 0 20\n",
        "1\tQ0\t12\t0\t900\n",
        "1\tQ0\t12\t10\t900\t5\t5:10\n",
        '{"topic": "1", "doc": "d", "start": 0, "end": 5}\n',
        '{"topic": "1", "doc": "d", "spans": [{"start": 0, "end": 5, "quote": "\\"data\\""}]}\n',
        "<topics/>",
    ],
)
def test_our_own_formats_are_none_of_them(text: str) -> None:
    assert found_form(Source.of_text(text)) is None


def test_chunking_evaluation() -> None:
    judgements, topics = read("chunking-evaluation")
    assert rows(judgements) == [
        ("ce000", "speech", [(4, 7)]),
        ("ce001", "speech", [(0, 1), (4, 7)]),
    ]
    assert [t.title for t in topics] == ["Who, then?", "Two\nlines?"]
    assert topics.line == (2, 3)
    assert judgements.quotes is not None
    assert judgements.quotes["quote"].to_list() == ["Ann", "x", "Ann"]


def test_legalbench_rag() -> None:
    judgements, topics = read("legalbench-rag")
    assert rows(judgements) == [
        ("truth-0000", "nda/a.txt", [(0, 3)]),
        ("truth-0000", "nda/b.txt", [(2, 5)]),
        ("truth-0001", "nda/a.txt", [(5, 9)]),
    ]
    assert topics["truth-0001"].title == "Must they?"
    lines = SAMPLES["legalbench-rag"].splitlines()
    assert [lines[n - 1] for n in topics.line] == ["  {", "  {"]


def test_answers_of_squad_are_alternatives() -> None:
    judgements, topics = read("squad")
    assert rows(judgements) == [
        ("q1", "Normans/0", [(0, 11), (4, 11)]),
        ("q2", "Normans/0", []),
        ("12", "630", [(2, 6)]),
    ]
    assert labels(judgements, "sets") == [["a1"], ["a2"], ["a1"]]
    assert judgements.length.tolist() == [len(CONTEXT), len(CONTEXT), 7]
    assert not judgements.relevant[1]
    assert topics.ids == ("q1", "q2", "12")
    documents = texts_of(Source.of_text(SAMPLES["squad"]), "squad")
    assert documents == {"Normans/0": CONTEXT, "630": "A text."}


def test_sections_of_bioasq_are_documents() -> None:
    judgements, _ = read("bioasq", texts={"23001136/abstract": "It is so."})
    assert rows(judgements) == [
        ("5a", "23001136/abstract", [(3, 8)]),
        ("5a", "17/title", [(0, 4)]),
    ]


def test_a_question_of_bioasq_without_snippets_is_a_judged_topic() -> None:
    questions = [*BIOASQ["questions"], {"id": "5b", "body": "And this?", "snippets": []}]
    questions.append({"id": "5c", "body": "Or that?", "documents": ["pubmed/1"]})
    judgements, topics = read("bioasq", json.dumps({"questions": questions}))
    assert judgements.topics == topics.ids == ("5a", "5b", "5c")
    assert {topic for topic, _, _ in rows(judgements)} == {"5a"}


def test_a_snippet_of_bioasq_across_sections_is_two_spans() -> None:
    text = json.dumps({"questions": [{"id": "1", "body": "?", "snippets": [ACROSS]}]})
    judgements, _ = read("bioasq", text, {"9/title": "A longer title", "9/abstract": "Text."})
    assert rows(judgements) == [("1", "9/title", [(6, 14)]), ("1", "9/abstract", [(0, 4)])]


def test_outputs_of_kilt_are_alternatives_of_spans_that_belong_together() -> None:
    judgements, topics = read("kilt")
    assert rows(judgements) == [
        ("k1", "736/2", [(5, 30)]),
        ("k1", "99/1", [(0, 9)]),
        ("k1", "736/4", [(1, 8)]),
    ]
    assert labels(judgements, "sets") == [["a1"], ["a1"], ["a2"]]
    assert topics.ids == ("k1",)
    assert judgements.unread == {"provenances that name a page only": 2}


def test_a_provenance_over_paragraphs_takes_their_texts() -> None:
    provenance = {
        "wikipedia_id": 5,
        "start_paragraph_id": 1,
        "start_character": 3,
        "end_paragraph_id": 3,
        "end_character": 2,
    }
    text = json.dumps({"id": 1, "input": "?", "output": [{"provenance": [provenance]}]})
    judgements, _ = read("kilt", text, {"5/1": "abcdef", "5/2": "xy", "5/3": "zzz"})
    assert rows(judgements) == [
        ("1", "5/1", [(3, 6)]),
        ("1", "5/2", [(0, 2)]),
        ("1", "5/3", [(0, 2)]),
    ]
    with pytest.raises(InputError, match=r"goes on after paragraph 1.*'5/1'.*--texts"):
        read("kilt", text)


def test_evidence_of_qasper_is_found_by_its_text() -> None:
    judgements, topics = read("qasper")
    document = texts_of(Source.of_text(SAMPLES["qasper"]), "qasper")["1911.10742"]
    found = {topic: [document[a:b] for a, b in spans] for topic, _, spans in rows(judgements)}
    # Twice.: two whole paragraphs with the same words, either of which tells it.
    assert found == {"x1": ["We show things.", "First  two."], "x2": [], "x3": ["Again."]}
    assert labels(judgements, "sets") == [["a1", "a2"], ["a2"], ["a1"]]
    assert judgements.unread == {"evidence in figures and tables": 1}
    assert topics["x2"].title == "Nothing?"


def test_evidence_that_is_not_in_the_paper_is_an_error() -> None:
    changed = SAMPLES["qasper"].replace('["Again."]}}', '["Never."]}}')
    with pytest.raises(InputError, match=r"qas\[2\].*'Never.' is not in document '1911.10742'"):
        read("qasper", changed)
    within = json.loads(SAMPLES["qasper"])
    within["1911.10742"]["qas"][2]["answers"][0]["answer"]["evidence"] = ["First"]
    with pytest.raises(InputError, match="2 times"):
        read("qasper", json.dumps(within))


def test_gold_passages_of_trec_genomics_keep_order_and_aspects() -> None:
    judgements, topics = read("trec-genomics")
    assert rows(judgements) == [
        ("200", "14747618", [(64, 84), (10, 15)]),
        ("200", "77", [(5, 8)]),
        ("201", "77", [(9, 10)]),
    ]
    assert labels(judgements, "aspects") == [["ICAM-1", "CD14"], ["CD14"], [], ["CD14"]]
    assert topics.ids == ("200", "201")


def test_runs_of_trec_genomics_are_in_order_of_rank_document_and_place() -> None:
    lines = ["7 b 2 1.5 10 5 x", "7 b 1 2 0 9 x", "7 a 2 1.5 40 5 x", "7 a 2 1.5 3 5 x"]
    run = read_foreign_run(Source.of_text("\n".join(lines)), "trec-genomics-run")
    found = zip(run.doc, run.start.tolist(), run.end.tolist(), run.line.tolist(), strict=True)
    assert list(found) == [("b", 0, 9, 2), ("a", 3, 8, 4), ("a", 40, 45, 3), ("b", 10, 15, 1)]
    assert run.name == "x"


@pytest.mark.parametrize(
    ("selector", "span"),
    [
        (position(3, 5), (3, 5)),
        (quotation("not"), (10, 13)),
        (quotation("be", prefix="not to "), (17, 19)),
        (quotation("be", suffix=", or"), (3, 5)),
        ([position(3, 5), quotation("be")], (3, 5)),
        (quotation("or  not\nto"), (7, 16)),
        (position(10, 40, refinedBy=position(4, 6)), (14, 16)),
        (position(10, 40, refinedBy=quotation("be")), (17, 19)),
        (quotation("not to be, that", refinedBy=quotation("be")), (17, 19)),
        (quotation("not to be", refinedBy=position(0, 3)), (10, 13)),
    ],
)
def test_selectors_of_web_annotations(selector: Any, span: tuple[int, int]) -> None:
    judgements, topics = read("web-annotation", json.dumps(annotation(selector)), {"hamlet": PAGE})
    assert rows(judgements) == [("doubt", "hamlet", [span])]
    assert topics.ids == ("doubt",)


def test_annotations_in_pages_lists_and_collections_by_creator() -> None:
    one = annotation(position(0, 2), creator="https://example.org/ann")
    two = annotation(position(3, 5), creator={"type": "Person", "name": "Bob"})
    two["body"] = ["a comment", {"value": "doubt", "purpose": "classifying"}]
    forms = (
        [one, two],
        {"type": "AnnotationPage", "items": [one, two]},
        {"type": "AnnotationCollection", "first": {"items": [one, two]}},
    )
    for form in forms:
        judgements, _ = read("web-annotation", json.dumps(form))
        assert judgements.assessors == ("Bob", "https://example.org/ann")
        assert [spans for _, _, spans in rows(judgements)] == [[(0, 2)], [(3, 5)]]


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        (quotation("be"), "is there 2 times in document 'hamlet'; prefix and suffix would tell"),
        (quotation("be", prefix="so "), "is not there"),
        (quotation("yes"), "is not there in document 'hamlet'"),
        ([position(3, 6), quotation("be")], "holds 'be,'; expected 'be'"),
        (position(0, 5, refinedBy=position(3, 9)), "4 characters after what it refines"),
        (position(0, 500), "ends past the 63 characters"),
        ({"type": "SvgSelector", "value": "x"}, "a SvgSelector cannot be placed"),
        (position(5, 3), "is no span"),
    ],
)
def test_selectors_that_lead_nowhere(selector: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read("web-annotation", json.dumps(annotation(selector)), {"hamlet": PAGE})
    assert said in str(caught.value)
    assert str(caught.value).startswith("truth.x:1: $.target")


def test_a_quotation_without_the_text_has_no_place() -> None:
    with pytest.raises(InputError, match=r"takes the text of document 'hamlet'.*--texts"):
        read("web-annotation", json.dumps(annotation(quotation("be"))))


# -- what is wrong with them --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "text", "said"),
    [
        ("chunking-evaluation", "question,corpus_id\nx,y\n", "1: the columns are question, corpus"),
        (
            "chunking-evaluation",
            CHUNKING.replace("4, ", '""4"", ', 1),
            "2: references[0].start_index",
        ),
        ("chunking-evaluation", CHUNKING.replace("[{", "[", 1), "2: references are not valid JSON"),
        ("chunking-evaluation", CHUNKING.partition("\n")[0] + "\nalone\n", "2: fields are missing"),
        (
            "legalbench-rag",
            '{ "tests": [\n{"query": 3}]}',
            "2: $.tests[0].query: 3 found; expected a",
        ),
        ("legalbench-rag", '{ "tests": [', "1: not valid JSON"),
        (
            "legalbench-rag",
            '{ "tests": [{"query": "q", "snippets": [{"file_path": "f", "span": [3]}]}]}',
            "tests[0].snippets[0].span: 1 numbers found; expected start and end",
        ),
        (
            "legalbench-rag",
            '{ "tests": [{"query": "q", "snippets": [{"file_path": "f", "span": [9, 3]}]}]}',
            "tests[0].snippets[0]: [9,3) is no span",
        ),
        ("legalbench-rag", '{ "tests": []}', "no question has any evidence"),
        ("squad", SAMPLES["squad"].replace("Normans came", "Romans came"), "holds 'The Romans '"),
        ("squad", SAMPLES["squad"].replace('"q2"', '"q1"'), "topic 'q1' is already given"),
        ("squad", SAMPLES["squad"].replace('"q2"', '"all"'), "may not be called 'all'"),
        (
            "squad",
            '{"data": [{"paragraphs": [{}]}]}',
            "data[0].paragraphs[0]: 'context' is missing",
        ),
        ("bioasq", SAMPLES["bioasq"].replace('"id"', '"_id"'), "3: $.questions[0]: 'id' is missi"),
        ("kilt", '{"id": 1, "input": "x"}\n{"id": 2}\n', "2: the file: 'input' is missing"),
        ("qasper", "[]", "1: the file: [] found; expected an object"),
        ("trec-genomics", "1\td\t5\tx\ta\n", "1: length 'x' is not a whole number from 0"),
        ("trec-genomics", "1\td\t5\t6\ta\n1 d 5\n", "2: 1 fields found, expected 5"),
        ("web-annotation", json.dumps({"target": "x"}), "'body' is missing"),
        ("web-annotation", json.dumps({"body": [], "target": "x"}), "body: the body is empty"),
        ("web-annotation", json.dumps({"body": "b", "target": "x"}), 'target: "x" found; expected'),
    ],
)
def test_errors_say_where_what_and_what_was_expected(form: str, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read(form, text)
    assert said in str(caught.value)
    assert str(caught.value).startswith("truth.x")


def test_a_quote_that_is_not_where_it_should_be_is_an_error() -> None:
    read("chunking-evaluation", texts={"speech": "x is Ann."[:4] + " Ann."[1:]})
    with pytest.raises(InputError, match=r"truth.x:2: references\[0\]: the span \[4,7\) of docu"):
        read("chunking-evaluation", texts={"speech": "xx is Ann."})


@pytest.mark.parametrize("form", SAMPLES)
@given(data=st.data())
@settings(max_examples=30)
def test_damage_is_an_error_of_ours_or_nothing(form: str, data: st.DataObject) -> None:
    """Whatever is cut out or put in: a message, never a traceback."""
    text = SAMPLES[form]
    at = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(at, min(at + 30, len(text))))
    put = data.draw(
        st.sampled_from(["", "null", "[]", "{}", "-1", '"', "\x00", "9" * 30, "𝄞", r"\ud800"])
    )
    try:
        judgements, topics = read(form, text[:at] + put + text[until:])
    except FovealError:
        return
    assert set(judgements.topics) <= set(topics.ids)


@pytest.mark.parametrize("form", [form for form in SAMPLES if form != "trec-genomics"])
def test_bytes_that_are_no_text_are_an_error(form: str) -> None:
    source = Source.of_text(SAMPLES[form], "truth.x")
    with pytest.raises(InputError, match="not valid UTF-8"):
        read_truth(Source(source.path, source.data + b"\xff", source.sha256), form)


def test_latin_1_is_a_character_for_each_byte() -> None:
    source = Source("gold.txt", b"1\td\t5\t6\tinterf\xe9ron\n", "")
    judgements, _ = read_truth(source)
    assert labels(judgements, "aspects") == [["interféron"]]


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(UsageError, match="unknown form 'squat'; expected chunking-evaluation or"):
        read_truth(Source.of_text("{}"), "squat")
    with pytest.raises(InputError, match="does not tell what this is; name it, one of chunking"):
        read_truth(Source.of_text("{}"))
    with pytest.raises(UsageError, match="unknown form 'fol'"):
        read_foreign_run(Source.of_text("x"), "fol")
    with pytest.raises(UsageError, match="hold no documents; those of squad and qasper do"):
        texts_of(Source.of_text("{}"), "kilt")


# -- texts and tokens ---------------------------------------------------------------------------


def test_texts_of_a_folder_go_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_bytes("é\r\nb\rc".encode())
    (tmp_path / "b.txt").write_text("text")
    (tmp_path / "b.md").write_text("markdown")
    texts = read_texts(tmp_path)
    assert texts["sub/a"] == texts["sub/a.txt"] == "é\nb\nc"
    assert texts["b.md"] == "markdown"
    assert "b" not in texts
    assert set(texts) == {"sub/a", "sub/a.txt", "b.md", "b.txt"}
    assert len(texts) == 4


def test_texts_of_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"doc": "d", "text": "one"}\n{"doc": 7, "text": "two"}\n')
    assert read_texts(path) == {"d": "one", "7": "two"}
    path.write_text('{"doc": "d"}\n')
    with pytest.raises(InputError, match="1: the file: 'text' is missing"):
        read_texts(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no file"):
        read_texts(tmp_path / "empty")


def test_tokens_for_characters() -> None:
    texts = {"Normans/0": CONTEXT, "630": "A text."}
    judgements, _ = read("squad")
    tokens = in_tokens(judgements, texts)
    # Normans came in 1066 from Normandy Normandy is in France, without articles.
    assert [spans for _, _, spans in rows(tokens)] == [[(0, 1), (0, 1)], [], [(0, 1)]]
    assert tokens.length.tolist() == [10, 10, 1]
    run = in_tokens(Run.from_results({"q1": [("Normans/0", 4, 24)]}), texts)
    assert (run.start.tolist(), run.end.tolist()) == ([0], [4])
    score = foveal.evaluate(run, tokens.for_topics(["q1"]), ["squad_f1"])["run", "squad_f1"]
    assert score == answer_f1(CONTEXT[4:24], ["The Normans", "Normans"]) == 2 / 5


def test_tokens_of_any_kind_and_spans_beside_them() -> None:
    texts = {"d": "ab  cd"}
    run = Run.from_results({"1": [("d", 2, 4), ("d", 1, 5), ("d", 0, 6), ("d", 6, 6)]})
    found = in_tokens(run, texts, lambda text: [(0, 2), (4, 6)] if text else [])
    assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == [
        (1, 1),
        (0, 2),
        (0, 2),
        (2, 2),
    ]
    with pytest.raises(InputError, match="document 'd' is not among the texts"):
        in_tokens(run, {})


@given(st.text(alphabet="ab the.,'\n_é𝄞", max_size=40))
@settings(max_examples=60)
def test_words_are_places_in_order(text: str) -> None:
    places = list(words(text))
    assert all(a < b for a, b in places)
    assert all(b <= c for (_, b), (c, _) in pairwise(places))
    assert all(text[a:b].lower() not in {"a", "an", "the"} for a, b in places)
