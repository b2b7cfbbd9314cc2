"""The ground truth of other tools becomes judgements and topics, or an error that says where."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveal
from foveal.adapters.gold_formats import (
    GOLD_FORMATS,
    RUN_FORMATS,
    detect_gold,
    read_embedded_texts,
    read_gold,
    read_texts,
)
from foveal.adapters.token_offsets import in_tokens, words
from foveal.errors import InputError, UsageError
from foveal.files.source import Source
from foveal.model import Judgements, Run, Topics

CHUNKING = """\
question,references,corpus_id
"Who, then?","[{""content"": ""Ann"", ""start_index"": 4, ""end_index"": 7}]",speech
"Two
lines?","[{""content"": ""x"", ""start_index"": 0, ""end_index"": 1},
 {""content"": ""Ann"", ""start_index"": 4, ""end_index"": 7}]",speech
"""
NDA = [
    {"file_path": "nda/a.txt", "span": [0, 3], "answer": "Yes"},
    {"file_path": "nda/b.txt", "span": [2, 5], "answer": "may"},
]
MUST = {"query": "Must they?", "snippets": [{"file_path": "nda/a.txt", "span": [5, 9]}]}
LEGAL = {"tests": [{"query": "May they?", "snippets": NDA}, MUST]}
CONTEXT = "The Normans came in 1066 from Normandy. Normandy is in France."


def asked(name: str | int, question: str, **answers: int) -> dict[str, Any]:
    """Return a question of SQuAD with the offset of each answer."""
    given = [{"text": text.replace("_", " "), "answer_start": at} for text, at in answers.items()]
    return {"id": name, "question": question, "answers": given}


WHO = asked("q1", "Who came?", The_Normans=0, Normans=4)
WHO["answers"].append(WHO["answers"][-1])
PARAGRAPHS = [
    {"context": CONTEXT, "qas": [WHO, {**asked("q2", "Why?"), "is_impossible": True}]},
    {"document_id": 630, "context": "A text.", "qas": [asked(12, "What?", text=2)]},
]
SQUAD = {"version": "1.1", "data": [{"title": "Normans", "paragraphs": PARAGRAPHS}]}


def snippet(document: str, first: str, start: int, last: str, end: int, **more: str) -> Any:
    """Return a snippet of BioASQ."""
    return {
        "document": document,
        "beginSection": first,
        "endSection": last,
        "offsetInBeginSection": start,
        "offsetInEndSection": end,
        **more,
    }


PUBMED = "http://www.ncbi.nlm.nih.gov/pubmed/"
SNIPPETS = [
    snippet(f"{PUBMED}23001136", "abstract", 3, "abstract", 8, text="is so"),
    snippet(f"{PUBMED}17/", "title", 0, "title", 4),
]
BIOASQ = {"questions": [{"id": "5a", "body": "Is it so?", "snippets": SNIPPETS}]}
ACROSS = snippet("pubmed/9", "title", 6, "abstract", 4)


def provenance(page: Any, first: int, start: int, last: int, end: int) -> dict[str, Any]:
    """Return a provenance of KILT."""
    place = {"start_paragraph_id": first, "start_character": start}
    return {"wikipedia_id": page, **place, "end_paragraph_id": last, "end_character": end}


ULM = [provenance("736", 2, 5, 2, 30), provenance("99", 1, 0, 1, 9)]
IN_ULM = [provenance("736", 4, 1, 4, 8), {"wikipedia_id": "736", "title": "A page"}]
OUTPUT = [{"answer": "Ulm", "provenance": ULM}, {"answer": "in Ulm", "provenance": IN_ULM}]
KILT = [
    {"id": "k1", "input": "Where was she born?", "output": OUTPUT},
    {"id": "k2", "input": "And?", "output": [{"provenance": [{"wikipedia_id": "1"}]}]},
]


def answered(name: str, question: str, *evidence: list[str]) -> dict[str, Any]:
    """Return a question of Qasper with the evidence of each answer."""
    answers = [{"answer": {"evidence": own}} for own in evidence]
    return {"question": question, "question_id": name, "answers": answers}


SECTIONS = [
    {"section_name": "Intro", "paragraphs": ["First one.", "Again.", "First  two."]},
    {"section_name": "End", "paragraphs": ["Again.", ""]},
]
SHOWN = [["We show things.", "FLOAT SELECTED: Table 1"], ["First two.", "We show things."]]
QAS = [answered("x1", "What is shown?", *SHOWN), answered("x2", "Nothing?", [])]
QAS.append(answered("x3", "Twice?", ["Again."]))
QASPER = {"1911.10742": {"abstract": "We show things.", "full_text": SECTIONS, "qas": QAS}}
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


def studio(*values: dict[str, Any], **data: Any) -> str:
    """Return an export of Label Studio with a highlight for each value."""
    result = [
        {"id": "r", "from_name": "label", "to_name": "text", "type": "labels", "value": value}
        for value in values
    ]
    task = {"id": 4, "annotations": [{"completed_by": 1, "result": result}], "data": data}
    return json.dumps([task])


def cas(text: str = PAGE, sofa: int = 1, end: int = 5, **features: Any) -> str:
    """Return a UIMA CAS in JSON with a sentence and a highlight."""
    of_text = {"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaNum": 1, "sofaString": text}
    core = "de.tudarmstadt.ukp.dkpro.core.api"
    named = {"%ID": 2, "%TYPE": f"{core}.metadata.type.DocumentMetaData", "documentTitle": "hamlet"}
    marked = {"%ID": 3, "%TYPE": "webanno.custom.Passage", "@sofa": sofa, "begin": 3, "end": end}
    sentence = {"%ID": 4, "%TYPE": f"{core}.segmentation.type.Sentence", "begin": 0, "end": 9}
    structures = [of_text, named, marked | features, sentence]
    views = {"_InitialView": {"%SOFA": 1, "%MEMBERS": [2, 3, 4]}}
    return json.dumps({"%TYPES": {}, "%FEATURE_STRUCTURES": structures, "%VIEWS": views})


SAMPLES: dict[str, str] = {
    "chunking-evaluation": CHUNKING,
    "legalbench-rag": json.dumps(LEGAL, indent=1),
    "squad": json.dumps(SQUAD),
    "bioasq": json.dumps(BIOASQ, indent=2),
    "kilt": "".join(f"{json.dumps(line)}\n" for line in KILT),
    "qasper": json.dumps(QASPER),
    "trec-genomics": GENOMICS,
    "web-annotation": json.dumps(annotation(position(3, 5))),
    "beir": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t1\n",
    "mtcb": '{"question": "Or?", "answer": "", "chunk-must-contain": "or not to be"}\n',
    "label-studio": studio({"start": 3, "end": 5, "text": "be", "labels": ["doubt"]}, text=PAGE),
    "doccano": json.dumps({"id": 7, "text": PAGE, "label": [[3, 5, "doubt"]], "Comments": []}),
    "inception": cas(label="doubt"),
}


def read(
    form: str, text: str | None = None, texts: Mapping[str, str] | None = None
) -> tuple[Judgements, Topics]:
    return read_gold(Source.of_text(text or SAMPLES[form], "truth.x"), form, texts=texts)


def rows(judgements: Judgements) -> list[tuple[str, str, list[tuple[int, int]]]]:
    return [
        (judgements.topics[judgements.topic[i]], judgements.doc[i], judgements.passages(i))
        for i in range(len(judgements))
    ]


def refused(
    form: str, text: str, texts: Mapping[str, str] | None = None
) -> list[tuple[str, int | None]]:
    """Return codes and lines of what is wrong with a file."""
    with pytest.raises(InputError) as caught:
        read(form, text, texts)
    return [(problem.code, problem.line) for problem in caught.value.problems]


def labels(judgements: Judgements, column: str) -> list[list[str]]:
    return [list(names or []) for names in getattr(judgements, column).to_list()]


# -- what they hold -----------------------------------------------------------------------------


def test_every_form_has_a_sample_and_is_recognised() -> None:
    assert list(SAMPLES) == list(GOLD_FORMATS)
    for form, text in SAMPLES.items():
        assert detect_gold(Source.of_text(text)) == form


def test_our_own_formats_are_none_of_them() -> None:
    for text in (
        *("", "<topics/>", "1 Q0 D1 1 0.5 r 0 20", "1\tQ0\t12\t0\t900"),
        *("1\tQ0\t12\t10\t900\t5\t5:10", '{"topic": "1", "doc": "d", "start": 0, "end": 5}'),
        '{"topic": "1", "doc": "d", "spans": [{"start": 0, "end": 5, "quote": "\\"data\\""}]}',
    ):
        assert detect_gold(Source.of_text(f"{text}\n")) is None


def test_chunking_evaluation() -> None:
    judgements, topics = read("chunking-evaluation")
    assert rows(judgements) == [
        ("ce000", "speech", [(4, 7)]),
        ("ce001", "speech", [(0, 1), (4, 7)]),
    ]
    assert [t.title for t in topics] == ["Who, then?", "Two\nlines?"]
    assert topics.line == (2, 5)
    assert judgements.quotes is not None
    assert judgements.quotes["quote"].to_list() == ["Ann", "x", "Ann"]
    _, spaced = read("chunking-evaluation", CHUNKING.replace('\n"Two', '\n\n"Two'))
    assert (spaced.ids, spaced.line) == (topics.ids, (2, 6))


def test_legalbench_rag() -> None:
    judgements, topics = read("legalbench-rag")
    assert rows(judgements) == [
        ("truth-0000", "nda/a.txt", [(0, 3)]),
        ("truth-0000", "nda/b.txt", [(2, 5)]),
        ("truth-0001", "nda/a.txt", [(5, 9)]),
    ]
    assert topics["truth-0001"].title == "Must they?"


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
    documents = read_embedded_texts(Source.of_text(SAMPLES["squad"]), "squad")
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
    assert judgements.unread == {
        "provenances that name a page only": 2,
        "questions without evidence in a paragraph": 1,
    }


def test_a_provenance_over_paragraphs_takes_their_texts() -> None:
    output = [{"provenance": [provenance(5, 1, 3, 3, 2)]}]
    text = json.dumps({"id": 1, "input": "?", "output": output})
    judgements, _ = read("kilt", text, {"5/1": "abcdef", "5/2": "xy", "5/3": "zzz"})
    assert rows(judgements) == [
        ("1", "5/1", [(3, 6)]),
        ("1", "5/2", [(0, 2)]),
        ("1", "5/3", [(0, 2)]),
    ]
    assert refused("kilt", text) == [("span.needs_text", 1)] * 2
    far = text.replace('"end_paragraph_id": 3', '"end_paragraph_id": 4000000000')
    assert far != text
    assert refused("kilt", far) == [("gold.structure", 1)]


def test_evidence_of_qasper_is_found_by_its_text() -> None:
    judgements, topics = read("qasper")
    document = read_embedded_texts(Source.of_text(SAMPLES["qasper"]), "qasper")["1911.10742"]
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
    run = RUN_FORMATS["trec-genomics-run"](Source.of_text("\n".join(lines)))
    found = zip(run.doc, run.start.tolist(), run.end.tolist(), run.line.tolist(), strict=True)
    assert list(found) == [("b", 0, 9, 2), ("a", 3, 8, 4), ("a", 40, 45, 3), ("b", 10, 15, 1)]
    assert run.name == "x"


# -- gold data of BEIR and MTCB ------------------------------------------------------------------


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """Return the folder of a BEIR dataset."""
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(SAMPLES["beir"])
    asked = {"q2": "Two?", "q1": "One?", "q3": ""}
    queries = [{"_id": name, "text": text} for name, text in asked.items()]
    corpus = [{"_id": "d1", "title": "A", "text": "b."}, {"_id": "d2", "title": "", "text": "c."}]
    for name, records in (("queries", queries), ("corpus", corpus)):
        lines = (f"{json.dumps(record)}\n" for record in records)
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    return tmp_path


def test_documents_of_beir_are_judged_as_a_whole(beir: Path) -> None:
    for path in (beir, beir / "qrels" / "test.tsv"):
        judgements, topics = read_gold(path, "beir")
        assert not judgements.has_text
        judged = zip(judgements.topic, judgements.doc, judgements.relevant, strict=True)
        assert {(judgements.topics[t], d): bool(r) for t, d, r in judged} == {
            ("q1", "d1"): True,
            ("q1", "d2"): False,
            ("q2", "d2"): True,
        }
        assert [(own.id, own.title) for own in topics] == [("q1", "One?"), ("q2", "Two?")]
        assert read_embedded_texts(path, "beir") == {"d1": "A b.", "d2": "c."}
    assert read_gold(beir / "qrels" / "test.tsv")[1].ids == ("q1", "q2")
    with contextlib.chdir(beir / "qrels"):
        assert read_gold("test.tsv", "beir")[1].ids == ("q1", "q2")


def test_a_folder_of_beir_has_one_file_of_judgements(beir: Path) -> None:
    (beir / "qrels" / "dev.tsv").write_text(SAMPLES["beir"])
    with pytest.raises(InputError) as caught:
        read_gold(beir, "beir")
    assert caught.value.problems[0].code == "gold.files"


def test_judgements_of_beir_alone_can_be_read(beir: Path) -> None:
    for name in ("queries.jsonl", "corpus.jsonl"):
        (beir / name).unlink()
    judgements, topics = read_gold(beir, "beir")
    assert judgements.relevant.tolist() == [True, False, True]
    assert [(own.id, own.title) for own in topics] == [("q1", None), ("q2", None)]
    with pytest.raises(InputError, match=r"corpus\.jsonl"):
        read_embedded_texts(beir, "beir")


def test_blanks_around_a_score_of_beir_do_not_matter() -> None:
    judgements, _ = read("beir", SAMPLES["beir"].replace("\t2\n", "\t 2 \r\n"))
    assert judgements.relevant.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("q1\td9\t1", "gold.structure"),
        ("q9\td1\t1", "gold.structure"),
        ("q1\td1\tyes", "csv.columns"),
        ("q2\td1\tnan", "csv.columns"),
        ("q2\td1", "csv.columns"),
        ("q2\td2\t0", "judgements.repeated"),
    ],
)
def test_bad_lines_of_beir_are_refused(line: str, code: str, beir: Path) -> None:
    """Queries and documents are looked for in the files beside the judgements."""
    (beir / "qrels" / "test.tsv").write_text(f"{SAMPLES['beir']}{line}\n")
    with pytest.raises(InputError) as caught:
        read_gold(beir, "beir")
    assert [(own.code, own.line) for own in caught.value.problems] == [(code, 5)]
    assert caught.value.problems[0].file.endswith("test.tsv")


def test_passages_of_mtcb_are_in_the_only_document_that_holds_them() -> None:
    texts = {"hamlet": PAGE, "other": "To be sure."}
    judgements, topics = read("mtcb", texts=texts)
    assert rows(judgements) == [("truth-0000", "hamlet", [(7, 19)])]
    assert topics["truth-0000"].title == "Or?"
    line = '{"question": "?", "chunk-must-contain": "%s"}\n'
    for passage, code in (("To be", "span.ambiguous"), ("Never", "span.not_found")):
        assert refused("mtcb", line % passage, texts) == [(code, 1)]
    assert refused("mtcb", line % "be") == [("span.needs_text", 1)]
    both = Source.of_text(SAMPLES["mtcb"] + line % "Never", "truth.x")
    kept, left = read_gold(both, texts=texts, drop_mismatches=True)
    assert left.ids == ("truth-0000",)
    assert len(kept.notes) == 2


# -- exports of annotation tools -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "doc"), [("label-studio", "4"), ("doccano", "7"), ("inception", "hamlet")]
)
def test_labels_of_highlights_are_topics(form: str, doc: str) -> None:
    judgements, topics = read(form)
    assert rows(judgements) == [("doubt", doc, [(3, 5)])]
    assert judgements.length.tolist() == [len(PAGE)]
    assert topics["doubt"].title == "doubt"
    assert read_embedded_texts(Source.of_text(SAMPLES[form]), form) == {doc: PAGE}


def test_records_may_name_document_and_topic() -> None:
    named = {"doc": "hamlet", "topic": 9, "query": "To be?", "text": PAGE}
    found = {"start": 3, "end": 5, "labels": ["relevant", "sure"]}
    files = {
        "label-studio": studio(found, **named),
        "doccano": json.dumps({"label": [[3, 5, "relevant"]], **named}),
    }
    for form, text in files.items():
        judgements, topics = read(form, text)
        assert rows(judgements) == [("9", "hamlet", [(3, 5)])]
        assert topics["9"].title == "To be?"
        nothing = text.replace("[[3, 5", '[], "x": [[3, 5').replace(
            '"result": [', '"result": [], "x": ['
        )
        judgements, _ = read(form, nothing)
        assert rows(judgements) == [("9", "hamlet", [])]  # judged, and nothing is relevant


def test_documents_without_highlights_are_judged_or_counted() -> None:
    """An annotator who highlights nothing judges the topic of the record; else it is unknown."""
    (task,) = json.loads(SAMPLES["label-studio"])
    (first,) = task["annotations"]
    task["annotations"] = [first, {"completed_by": 2, "result": []}]
    empty = {"id": 5, "annotations": [{"completed_by": 2, "result": []}], "data": {"text": "No."}}
    open_task = {"id": 6, "annotations": [], "data": {"topic": "9", "text": "Later."}}
    judgements, _ = read("label-studio", json.dumps([task, empty, open_task]))
    assert rows(judgements) == [("doubt", "4", [(3, 5)])]
    missing = "documents without highlights, and without a topic that they are judged for"
    assert judgements.unread == {missing: 2, "tasks without annotations": 1}
    for one in (task, empty):
        one["data"]["topic"] = "9"
    judgements, topics = read("label-studio", json.dumps([task, empty]))
    assert judgements.assessor is not None
    judged = zip([own[1:] for own in rows(judgements)], judgements.assessor, strict=True)
    assert [*judged] == [(("4", [(3, 5)]), "1"), (("4", []), "2"), (("5", []), "2")]
    lines = [
        {"id": 1, "text": PAGE, "topic": "a", "entities": [], "relations": []},
        {"id": 2, "text": "Other.", "topic": "b", "label": []},
        {"id": 3, "text": "Third.", "label": []},
    ]
    text = "\n".join(map(json.dumps, lines))
    assert detect_gold(Source.of_text(text)) == "doccano"
    judgements, topics = read("doccano", text)
    assert rows(judgements) == [("a", "1", []), ("b", "2", [])]
    assert topics.ids == ("a", "b")
    assert judgements.unread == {missing: 1}


def test_label_studio_names_annotators_and_counts_other_regions() -> None:
    (task,) = json.loads(SAMPLES["label-studio"])
    (first,) = task["annotations"]
    page = {"globalOffsets": {"start": 10, "end": 13}, "start": "/p[1]", "end": "/p[1]"}
    marked = {"type": "hypertextlabels", "value": {**page, "hypertextlabels": ["doubt"]}}
    choice = {"type": "choices", "value": {"choices": ["yes"]}}
    second = {"completed_by": {"id": 2, "email": "bob@example.org"}, "result": [marked, choice]}
    task["annotations"] = [first, second, {**first, "was_cancelled": True}]
    judgements, _ = read("label-studio", json.dumps([task]))
    assert judgements.assessors == ("1", "bob@example.org")
    assert [spans for _, _, spans in rows(judgements)] == [[(3, 5)], [(10, 13)]]
    assert judgements.unread == {"regions that are not highlights": 1}


def test_quotes_of_label_studio_are_compared_with_the_text() -> None:
    text = studio({"start": 11, "end": 14, "text": "not", "labels": ["doubt"]}, text=PAGE)
    assert refused("label-studio", text) == [("span.quote", 1)]
    repaired, _ = read_gold(Source.of_text(text), repair=True)
    assert repaired.passages(0) == [(10, 13)]


def test_a_document_with_two_texts_is_refused() -> None:
    records = [{"id": 7, "text": text, "label": [[0, 2, "doubt"]]} for text in (PAGE, "Other.")]
    lines = "\n".join(map(json.dumps, records))
    assert refused("doccano", lines) == [("document.duplicate", 2)]


def test_doccano_with_relations_and_older_exports() -> None:
    entity = {"id": 1, "label": "doubt", "start_offset": 3, "end_offset": 5}
    for more in ({"entities": [entity], "relations": []}, {"labels": [[3, 5, "doubt"]]}):
        text = json.dumps({"id": 7, "text": PAGE, **more})
        assert detect_gold(Source.of_text(text)) == "doccano"
        assert rows(read("doccano", text)[0]) == [("doubt", "7", [(3, 5)])]


def test_inception_counts_utf16_units_and_names_layers() -> None:
    """A character outside the first plane is two units in Java and one code point here."""
    judgements, topics = read("inception", cas("𝄞 clef", end=7))
    assert rows(judgements) == [("Passage", "hamlet", [(2, 6)])]
    assert topics.ids == ("Passage",)


# -- Web Annotations -----------------------------------------------------------------------------


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
    ("selector", "code"),
    [
        (quotation("be"), "span.ambiguous"),
        (quotation("be", prefix="so "), "span.ambiguous"),
        (quotation("yes"), "span.not_found"),
        ([position(3, 6), quotation("be")], "span.quote"),
        (position(0, 5, refinedBy=position(3, 9)), "span.past_end"),
        (position(0, 500), "span.past_end"),
        (position(5, 3), "span.offset"),
        ({"type": "SvgSelector", "value": "x"}, "gold.structure"),
        ({"type": "TextPositionSelector", "start": 3}, "gold.structure"),
        ([], "gold.structure"),
    ],
)
def test_selectors_that_lead_nowhere(selector: Any, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read("web-annotation", json.dumps(annotation(selector)), {"hamlet": PAGE})
    (problem,) = caught.value.problems
    assert (problem.code, problem.line) == (code, 1)
    assert problem.text.startswith("$.target")


def test_a_quotation_without_the_text_has_no_place() -> None:
    text = json.dumps(annotation(quotation("be")))
    assert refused("web-annotation", text) == [("span.needs_text", 1)]


# -- what is wrong with them --------------------------------------------------------------------


SNIPPET = '{ "tests": [\n{"query": "q", "snippets": [{"file_path": "f", "span": %s}]}]}'
FIRST_ANSWER = "$.data[0].paragraphs[0].qas[0].answers[0]"


def changed(form: str, old: str, new: str) -> tuple[str, str]:
    """Return a format and its sample with one change."""
    assert old in SAMPLES[form]
    return form, SAMPLES[form].replace(old, new, 1)


def longer(form: str, more: str) -> tuple[str, str]:
    """Return a format and its sample with more at the end."""
    return form, SAMPLES[form] + more


@pytest.mark.parametrize(
    ("given", "code", "line", "path"),
    [
        (("chunking-evaluation", "question,corpus_id\nx,y\n"), "csv.columns", 1, ""),
        (("chunking-evaluation", "question,references,corpus_id\na\n"), "csv.columns", 2, ""),
        (longer("chunking-evaluation", '"x'), "csv.syntax", 6, ""),
        (changed("chunking-evaluation", '",speech', '"x,speech'), "csv.syntax", 2, ""),
        (changed("chunking-evaluation", "4, ", '""4"", '), "gold.structure", 2, "$.references[0]"),
        (changed("chunking-evaluation", "}]", "}"), "json.syntax", 2, ""),
        (("legalbench-rag", '{ "tests": [\n{"query": 3}]}'), "gold.structure", 1, "$.tests[0].q"),
        (("legalbench-rag", '{ "tests": ['), "json.syntax", 1, ""),
        (("legalbench-rag", '{ "test": []}'), "gold.structure", 1, "$"),
        (("legalbench-rag", SNIPPET % "[3]"), "gold.structure", 1, "$.tests[0].snippets[0].span"),
        (("legalbench-rag", SNIPPET % "[9, 3]"), "span.offset", 1, "$.tests[0].snippets[0]"),
        (("legalbench-rag", SNIPPET % '["3", 4]'), "gold.structure", 1, "$.tests[0].snippets[0].s"),
        (("legalbench-rag", '{ "tests": []}'), "gold.empty", None, ""),
        (changed("squad", "Normans came", "Romans came"), "span.quote", 1, FIRST_ANSWER),
        (changed("squad", '"q2"', '"all"'), "topic.reserved", 1, "$.data[0].par"),
        (changed("squad", '"q2"', '"q1"'), "topics.repeated", 1, "$.data[0].par"),
        (("squad", '{"data": [{"paragraphs": [{}]}]}'), "gold.structure", 1, "$.data[0].para"),
        (changed("squad", "630", '"Normans/0"'), "document.duplicate", 1, "$.data[0]"),
        (changed("bioasq", '"id"', '"_id"'), "gold.structure", 1, "$.questions"),
        (("kilt", '{"id": 1, "input": "x"}\n{"id": 2}\n'), "gold.structure", 2, "$"),
        (("qasper", "[]"), "gold.structure", 1, "$"),
        (("trec-genomics", "1\td\t5\tx\ta\n"), "line.number", 1, "length 'x'"),
        (("trec-genomics", "1\td\t5\t6\ta\n1 d 5\n"), "line.fields", 2, "1 fields found"),
        (("web-annotation", '{"target": "x"}'), "gold.structure", 1, "$"),
        (("web-annotation", '{"body": "b", "target": "x"}'), "gold.structure", 1, "$.targ"),
        (changed("web-annotation", '"body"', '"body": [], "no"'), "gold.structure", 1, "$.body"),
        (("beir", "q\td\t1\n"), "csv.columns", 1, ""),
        (("mtcb", '{"question": "q"}'), "gold.structure", 1, "$"),
        (("label-studio", '[\n{"id": 1, "annotations": 3}]'), "gold.structure", 1, "$[0].ann"),
        (("label-studio", studio({"start": "/p[1]", "labels": ["x"]})), "gold.structure", 1, "$[0"),
        (("doccano", '{"text": "x", "label": [[0, "1", "a"]]}'), "gold.structure", 1, "$.label[0]"),
        (("doccano", '{"text": "x", "label": [[0, 9, "a"]]}'), "span.past_end", 1, "$.label[0]"),
        (("inception", cas(sofa=7)), "gold.structure", 1, "$.%FEATURE_STRUCTURES[2]"),
        (("inception", cas(end=99)), "span.offset", 1, "$.%FEATURE_STRUCTURES[2]"),
    ],
)
def test_errors_have_a_code_a_line_and_a_path(
    given: tuple[str, str], code: str, line: int | None, path: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(*given)
    problem = caught.value.problems[0]
    assert (problem.code, problem.file, problem.line) == (code, "truth.x", line)
    assert problem.text.startswith(path)


def test_nan_is_no_value() -> None:
    """Frames of pandas are written with NaN where there is no value, which is not JSON."""
    text = json.dumps(LEGAL).replace('"answer": "Yes"', '"answer": NaN')
    judgements, _ = read("legalbench-rag", text)
    assert judgements.quotes is not None
    assert judgements.quotes["quote"].to_list() == [None, "may", None]


def test_a_quote_that_is_not_where_it_should_be_is_an_error() -> None:
    read("chunking-evaluation", texts={"speech": "x is Ann."[:4] + " Ann."[1:]})
    assert refused("chunking-evaluation", CHUNKING, {"speech": "xx is Ann."})[0] == (
        "span.quote",
        2,
    )


@pytest.mark.parametrize("form", [form for form in SAMPLES if form != "trec-genomics"])
def test_bytes_that_are_no_text_are_an_error(form: str) -> None:
    source = Source.of_text(SAMPLES[form], "truth.x")
    with pytest.raises(InputError, match="not valid UTF-8"):
        read_gold(Source(source.path, source.data + b"\xff", source.sha256), form)


def test_latin_1_is_a_character_for_each_byte() -> None:
    source = Source("gold.txt", b"1\td\t5\t6\tinterf\xe9ron\n", "")
    judgements, _ = read_gold(source)
    assert labels(judgements, "aspects") == [["interféron"]]


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(UsageError, match="'squat'; expected chunking-evaluation or"):
        read_gold(Source.of_text("{}"), "squat")
    with pytest.raises(InputError, match="one of chunking-evaluation") as caught:
        read_gold(Source.of_text("{}"))
    assert caught.value.problems[0].code == "gold.unknown_format"
    with pytest.raises(InputError, match="no documents in the file"):
        read_embedded_texts(Source.of_text(SAMPLES["kilt"]), "kilt")


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
    with pytest.raises(InputError) as caught:
        read_texts(path)
    assert [(own.code, own.line) for own in caught.value.problems] == [("gold.structure", 1)]


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
    assert score == 2 / 5


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
