"""Gold data of benchmarks, one short function per format, and the table of all gold formats.

The structs have the names that the files use.
"""

from __future__ import annotations

import csv
import io
import re
from collections import ChainMap, Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from msgspec import Raw, Struct
from msgspec import field as renamed

from foveal.adapters.annotation_formats import (
    is_web_annotation,
    read_doccano,
    read_inception,
    read_label_studio,
    read_web_annotation,
)
from foveal.adapters.gold_data import (
    GoldSpan,
    ParsedGold,
    Question,
    Texts,
    build_judgements,
    decode,
    decode_entries,
    decode_file,
    decode_lines,
    decode_list,
    read_texts,
)
from foveal.errors import InputError, UsageError, some
from foveal.files.source import Source
from foveal.formats import trec_genomics
from foveal.model import Judgements, Run, Topics

__all__ = [
    "GOLD_FORMATS",
    "RUN_FORMATS",
    "GoldFormat",
    "detect_gold",
    "read_embedded_texts",
    "read_foreign_run",
    "read_gold",
    "read_texts",
]

Name = str | int

# -- chunking_evaluation ---------------------------------------------------------------------------

_CHUNKING = ("question", "references", "corpus_id")


class _ChunkingReference(Struct):
    start_index: int
    end_index: int
    content: str | None = None


def _is_chunking_evaluation(source: Source) -> bool:
    head = source.data.partition(b"\n")[0].strip().split(b",")
    return set(head) == {name.encode() for name in _CHUNKING}


def _read_chunking_evaluation(source: Source) -> ParsedGold:
    """Topics are ``ce000``, ``ce001``, ... in the order of the file; a document is a corpus."""
    source.check_utf8()
    rows = csv.DictReader(io.StringIO(source.data.decode(), newline=""), strict=True)
    columns, questions, line = ", ".join(_CHUNKING), list[Question](), 1
    try:
        missing = [name for name in _CHUNKING if name not in (rows.fieldnames or ())]
        if missing:
            found = ", ".join(rows.fieldnames or ()) or "nothing"
            message = f"the columns are {found}; expected {columns} ({missing[0]} is missing)"
            raise source.error("csv.columns", 1, message)
        line = rows.line_num + 1
        for number, row in enumerate(rows):
            if any(row.get(name) is None for name in _CHUNKING):
                raise source.error("csv.columns", line, f"fields are missing; expected {columns}")
            data = row["references"].encode()
            references = decode(source, data, list[_ChunkingReference], line, "references")
            doc = row["corpus_id"]
            spans = [
                GoldSpan(doc, own.start_index, own.end_index, own.content, where=f"references[{i}]")
                for i, own in enumerate(references)
            ]
            text = row["question"]
            questions.append(Question(f"ce{number:03d}", text, line, f"question {number}", spans))
            line = rows.line_num + 1
    except csv.Error as error:
        raise source.error("csv.syntax", line, f"not valid CSV: {error}") from None
    return ParsedGold(questions)


# -- LegalBench-RAG --------------------------------------------------------------------------------


class _LegalSnippet(Struct):
    file_path: str
    span: tuple[int, int]
    answer: str | None = None


class _LegalTest(Struct):
    query: str
    snippets: list[_LegalSnippet]


def _is_legalbench_rag(source: Source) -> bool:
    head = source.data[:4096].split()
    return head[:1] == [b"{"] and head[1:3] == [b'"tests":', b"["] and b'"query"' in source.data


def _read_legalbench_rag(source: Source) -> ParsedGold:
    """Topics are ``STEM-0000``, ... in the order of the file; a document is named as its file."""
    questions: list[Question] = []
    for test, line, path in decode_list(source, "tests", _LegalTest):
        spans = [
            GoldSpan(own.file_path, *own.span, own.answer, where=f"{path}.snippets[{i}]")
            for i, own in enumerate(test.snippets)
        ]
        name = f"{source.stem}-{len(questions):04d}"
        questions.append(Question(name, test.query, line, path, spans))
    return ParsedGold(questions)


# -- SQuAD -----------------------------------------------------------------------------------------


class _SquadAnswer(Struct):
    answer_start: int
    text: str


class _SquadQuestion(Struct):
    id: Name
    question: str
    answers: list[_SquadAnswer] | None = None


class _SquadParagraph(Struct):
    context: str
    qas: list[_SquadQuestion]
    document_id: Name | None = None


class _SquadArticle(Struct):
    paragraphs: list[_SquadParagraph]
    title: str | None = None


def _read_squad(source: Source) -> ParsedGold:
    """A context is a document, named by its ``document_id``, else ``TITLE/NUMBER``.

    Different answers to a question are alternatives. The context of a question without answers is
    judged, and nothing in it is relevant.
    """
    texts: dict[str, str] = {}
    questions: list[Question] = []
    for number, (article, line, path) in enumerate(decode_list(source, "data", _SquadArticle)):
        for i, paragraph in enumerate(article.paragraphs):
            own = paragraph.document_id
            doc = f"{article.title or number}/{i}" if own is None else str(own)
            where = f"{path}.paragraphs[{i}]"
            if texts.setdefault(doc, paragraph.context) != paragraph.context:
                message = f"{where}.context: document {doc!r} has another text above"
                raise source.error("gold.documents", line, message)
            for j, asked in enumerate(paragraph.qas):
                at = f"{where}.qas[{j}]"
                found: dict[tuple[int, int], GoldSpan] = {}
                for k, answer in enumerate(asked.answers or ()):
                    start, text = answer.answer_start, answer.text
                    sets = (f"a{len(found) + 1}",)
                    span = GoldSpan(doc, start, None, text, where=f"{at}.answers[{k}]", sets=sets)
                    found.setdefault((start, len(text)), span)
                spans = [*found.values()]
                questions.append(Question(str(asked.id), asked.question, line, at, spans, [doc]))
    return ParsedGold(questions, texts)


# -- BioASQ ----------------------------------------------------------------------------------------


class _BioasqSnippet(Struct):
    document: str
    beginSection: str  # noqa: N815 - the names of the file
    endSection: str  # noqa: N815
    offsetInBeginSection: int  # noqa: N815
    offsetInEndSection: int  # noqa: N815
    text: str | None = None


class _BioasqQuestion(Struct):
    id: Name
    body: str
    snippets: list[_BioasqSnippet] | None = None


def _read_bioasq(source: Source) -> ParsedGold:
    """A section is a document, ``ARTICLE/SECTION``: offsets count from its beginning.

    An article is named by the last part of its address. A snippet that ends in another section is
    two spans. A question without snippets is judged, and nothing is relevant to it.
    """
    questions: list[Question] = []
    for asked, line, path in decode_list(source, "questions", _BioasqQuestion):
        question = Question(str(asked.id), asked.body, line, path)
        for i, own in enumerate(asked.snippets or ()):
            where = f"{path}.snippets[{i}]"
            article = own.document.rstrip("/").rpartition("/")[2]
            if not article:
                message = f"{where}.document: the address has no last part to name the article by"
                raise source.error("gold.structure", line, message)
            first, last = f"{article}/{own.beginSection}", f"{article}/{own.endSection}"
            start, end = own.offsetInBeginSection, own.offsetInEndSection
            if first == last:
                question.spans.append(GoldSpan(first, start, end, own.text, where=where))
            else:
                question.spans.append(GoldSpan(first, start, where=where))
                question.spans.append(GoldSpan(last, 0, end, where=where))
        questions.append(question)
    return ParsedGold(questions)


# -- KILT ------------------------------------------------------------------------------------------


class _KiltProvenance(Struct):
    wikipedia_id: Name | None = None
    start_paragraph_id: int | None = None
    start_character: int | None = None
    end_paragraph_id: int | None = None
    end_character: int | None = None


class _KiltOutput(Struct):
    provenance: list[_KiltProvenance] | None = None


class _KiltQuestion(Struct):
    id: Name
    input: str
    output: list[_KiltOutput] | None = None


def _read_kilt(source: Source) -> ParsedGold:
    """A paragraph is a document, ``PAGE/NUMBER``: characters count from its beginning.

    Outputs with evidence are alternatives; the provenances of one output belong together. A
    provenance that names only a page is counted as not read. A question without any other evidence
    is left out.
    """
    unread: Counter[str] = Counter()
    questions: list[Question] = []
    for asked, line in decode_lines(source, _KiltQuestion):
        question = Question(str(asked.id), asked.input, line, "$")
        for i, output in enumerate(asked.output or ()):
            for j, own in enumerate(output.provenance or ()):
                where = f"$.output[{i}].provenance[{j}]"
                first, last = own.start_paragraph_id, own.end_paragraph_id
                if first is None:
                    unread["provenances that name a page only"] += 1
                    continue
                last = first if last is None else last
                for name in ("wikipedia_id", "start_character", "end_character"):
                    if getattr(own, name) is None:
                        raise source.error("gold.structure", line, f"{where}: {name!r} is missing")
                if last < first:
                    message = f"{where}: it ends in paragraph {last}, before paragraph {first}"
                    raise source.error("gold.structure", line, message)
                for number in range(first, last + 1):
                    start = own.start_character if number == first else 0
                    end = own.end_character if number == last else None
                    doc = f"{own.wikipedia_id}/{number}"
                    span = GoldSpan(doc, start, end, where=where, sets=(f"a{i + 1}",))
                    question.spans.append(span)
        if question.spans:
            questions.append(question)
    return ParsedGold(questions, unread=unread)


# -- QASPER ----------------------------------------------------------------------------------------


class _QasperEvidence(Struct):
    evidence: list[str] | None = None


class _QasperAnswer(Struct):
    answer: _QasperEvidence


class _QasperQuestion(Struct):
    question_id: Name
    question: str
    answers: list[_QasperAnswer]


class _QasperSection(Struct):
    paragraphs: list[str]
    section_name: str | None = None


class _QasperPaper(Struct):
    full_text: list[_QasperSection]
    qas: list[_QasperQuestion]
    abstract: str | None = None


def _read_qasper(source: Source) -> ParsedGold:
    """A paper is a document, named by its id; the answers of annotators are alternatives.

    Its text is abstract, headings and paragraphs as the file has them, an empty line between.
    Evidence is whole paragraphs, found by their text.
    """
    texts: dict[str, str] = {}
    unread: Counter[str] = Counter()
    questions: list[Question] = []
    papers = decode_file(source, dict[str, Raw])
    entries = decode_entries(source, papers, _QasperPaper, "$")
    for doc, (paper, line, path) in zip(papers, entries, strict=True):
        parts = [paper.abstract]
        for section in paper.full_text:
            parts += [section.section_name, *section.paragraphs]
        texts[doc] = "\n\n".join(part for part in parts if part)
        for i, asked in enumerate(paper.qas):
            where = f"{path}.qas[{i}]"
            name = str(asked.question_id)
            question = Question(name, asked.question, line, where, judged=[doc])
            for j, given in enumerate(asked.answers):
                for k, quote in enumerate(given.answer.evidence or ()):
                    at, sets = f"{where}.answers[{j}].answer.evidence[{k}]", (f"a{j + 1}",)
                    span = GoldSpan(
                        doc, quote=quote, where=at, sets=sets, is_paragraph=True, is_loose=True
                    )
                    if quote.startswith("FLOAT SELECTED"):
                        unread["evidence in figures and tables"] += 1
                    elif quote.strip():
                        question.spans.append(span)
            questions.append(question)
    return ParsedGold(questions, texts, unread)


# -- TREC Genomics ---------------------------------------------------------------------------------


def _read_genomics(source: Source) -> ParsedGold:
    """Passages in the order of the file, with their aspects; topics have no words."""
    topics: dict[str, Question] = {}
    for line, topic, doc, start, end, aspects in trec_genomics.read_gold_passages(source):
        where = f"line {line}"
        question = topics.setdefault(topic, Question(topic, None, line, where))
        question.spans.append(GoldSpan(doc, start, end, where=where, aspects=aspects))
    return ParsedGold(topics.values())


# -- BEIR ------------------------------------------------------------------------------------------

_BEIR_COLUMNS = ["query-id", "corpus-id", "score"]


class _BeirEntry(Struct):
    text: str
    id: str = renamed(name="_id")
    title: str | None = None


def _find_qrels(folder: Path) -> Path:
    """Return the only file of judgements in the folder of a BEIR dataset."""
    found = sorted(str(path) for path in folder.glob("qrels/*.tsv"))
    if len(found) != 1:
        named = f": {some(found)}" if found else ""
        message = f"{len(found)} files in qrels{named}; expected one, or name the file"
        raise InputError.at("gold.files", str(folder), None, message)
    return Path(found[0])


def _open_beside(source: Source, name: str) -> Source:
    """Open a file in the folder of the judgements or in the one above."""
    folder = Path(source.path).absolute().parent
    return Source.open(folder / name if (folder / name).exists() else folder.parent / name)


def _read_beir(source: Source) -> ParsedGold:
    """Whole documents are judged: relevant if the score is above 0.

    Topics are the queries of ``queries.jsonl`` that the judgements name.
    """
    source.check_utf8()
    topics: dict[str, Question] = {}
    judged: set[tuple[str, str]] = set()
    lines = source.data.decode().splitlines()
    expected = "expected query-id, corpus-id and score with tabs between"
    if not lines or lines[0].split("\t") != _BEIR_COLUMNS:
        raise source.error("csv.columns", 1, f"{''.join(lines[:1])[:80]!r} found; {expected}")
    for number, line in enumerate(lines[1:], 2):
        try:
            query, doc, score = line.split("\t")
            is_relevant = float(score) > 0
        except ValueError:
            message = f"{line[:80]!r} is not a judgement; {expected}"
            raise source.error("csv.columns", number, message) from None
        question = topics.setdefault(query, Question(query, None, number, f"line {number}"))
        if (query, doc) in judged:
            message = f"document {doc!r} is judged more than once for query {query!r}"
            raise source.error("judgements.repeated", number, message)
        judged.add((query, doc))
        question.judged.append(doc)
        question.relevant |= {doc} if is_relevant else set()
    for entry, _ in decode_lines(_open_beside(source, "queries.jsonl"), _BeirEntry):
        if entry.id in topics:
            topics[entry.id].text = entry.text
    return ParsedGold(topics.values(), has_spans=False)


def _read_beir_corpus(source: Source) -> Texts:
    """Return title and text of each document with a blank between."""
    entries = decode_lines(_open_beside(source, "corpus.jsonl"), _BeirEntry)
    return {entry.id: f"{entry.title or ''} {entry.text}".strip() for entry, _ in entries}


# -- MTCB ------------------------------------------------------------------------------------------


class _MtcbQuestion(Struct):
    question: str
    passage: str = renamed(name="chunk-must-contain")


def _read_mtcb(source: Source) -> ParsedGold:
    """Topics are ``STEM-0000``, ...; the document of a passage is the only one that holds it."""
    questions: list[Question] = []
    for asked, line in decode_lines(source, _MtcbQuestion):
        span = GoldSpan(None, quote=asked.passage, is_loose=True, where="$")
        name = f"{source.stem}-{len(questions):04d}"
        questions.append(Question(name, asked.question, line, "$", [span]))
    return ParsedGold(questions)


# -- the formats -----------------------------------------------------------------------------------


class GoldFormat(NamedTuple):
    """A format of gold data: how it is recognised and read."""

    explanation: str
    is_format: Callable[[Source], bool]
    read: Callable[[Source], ParsedGold]
    read_texts: Callable[[Source], Texts | None] | None = None
    """Reads the documents that a file holds."""


def _holds(*words: str) -> Callable[[Source], bool]:
    """Return a function that recognises a file by words that it holds."""
    return lambda source: all(word.encode() in source.data for word in words)


def _begins(pattern: str) -> Callable[[Source], bool]:
    """Return a function that recognises a file by its first line."""
    return lambda source: re.search(pattern.encode(), source.head[1]) is not None


_DOCCANO = r'"labels?"\s*:\s*\[\s*(\]|\[\s*\d+\s*,\s*\d+\s*,\s*")|"entities".*"start_offset"'

GOLD_FORMATS: dict[str, GoldFormat] = {
    "chunking-evaluation": GoldFormat(
        "questions of chunking_evaluation, CSV", _is_chunking_evaluation, _read_chunking_evaluation
    ),
    "legalbench-rag": GoldFormat(
        "a benchmark of LegalBench-RAG, JSON", _is_legalbench_rag, _read_legalbench_rag
    ),
    "squad": GoldFormat(
        "questions of the SQuAD kind, JSON",
        _holds('"data"', '"paragraphs"', '"answer_start"'),
        _read_squad,
        lambda source: _read_squad(source).texts,
    ),
    "bioasq": GoldFormat(
        "golden answers of BioASQ task B, JSON",
        _holds('"questions"', '"offsetInBeginSection"'),
        _read_bioasq,
    ),
    "kilt": GoldFormat(
        "a task of KILT, JSON Lines",
        _begins(r'^\{(?=.*"input")(?=.*"output")(?=.*"provenance")'),
        _read_kilt,
    ),
    "qasper": GoldFormat(
        "questions of the QASPER kind, JSON",
        _holds('"full_text"', '"qas"', '"evidence"'),
        _read_qasper,
        lambda source: _read_qasper(source).texts,
    ),
    "trec-genomics": GoldFormat(
        "gold passages of TREC Genomics", trec_genomics.is_gold, _read_genomics
    ),
    "web-annotation": GoldFormat(
        "W3C Web Annotations, JSON-LD",
        is_web_annotation,
        read_web_annotation,
    ),
    "beir": GoldFormat(
        "judgements of a BEIR dataset (TSV), or its folder",
        _begins("^" + "\t".join(_BEIR_COLUMNS) + "$"),
        _read_beir,
        _read_beir_corpus,
    ),
    "mtcb": GoldFormat(
        "questions of MTCB, JSON Lines", _begins(r'^\{.*"chunk-must-contain"'), _read_mtcb
    ),
    "label-studio": GoldFormat(
        "an export of Label Studio, JSON",
        _holds('"annotations"', '"result"', '"from_name"'),
        read_label_studio,
        lambda source: read_label_studio(source).texts,
    ),
    "doccano": GoldFormat(
        "an export of doccano, JSON Lines",
        _begins(rf'^\{{(?=.*"text"\s*:).*({_DOCCANO})'),
        read_doccano,
        lambda source: read_doccano(source).texts,
    ),
    "inception": GoldFormat(
        "a UIMA CAS in JSON, as INCEpTION exports it",
        _holds('"%FEATURE_STRUCTURES"'),
        read_inception,
        lambda source: read_inception(source).texts,
    ),
}
"""Formats of gold data by name."""

RUN_FORMATS: dict[str, Callable[[Source], Run]] = {"trec-genomics-run": trec_genomics.read_run}
"""Formats of runs of other campaigns by name."""


def detect_gold(source: Source) -> str | None:
    """Return the format that the content shows; None unless exactly one is recognised."""
    fitting = [name for name, own in GOLD_FORMATS.items() if own.is_format(source)]
    return fitting[0] if len(fitting) == 1 else None


def read_gold(
    path: str | Path | Source,
    name: str | None = None,
    *,
    texts: Texts | str | Path | None = None,
    repair: bool = False,
    drop_mismatches: bool = False,
) -> tuple[Judgements, Topics]:
    """Read gold data of another tool.

    Parameters
    ----------
    path : path or Source
    name : str, optional
        One of `GOLD_FORMATS`; detected from the content by default.
    texts : mapping of str to str, or path, optional
        The text of each document, or a folder or JSON Lines file of them. With it every quote is
        compared with the text; some formats cannot be placed without. By default the texts that
        the file itself holds.
    repair : bool
        Move a quote that is not at its offset to the only place within 100 characters.
    drop_mismatches : bool
        Drop quotes that do not match the text. A question that loses all its quotes is dropped,
        too. `Judgements.notes` counts what was moved and dropped.

    Returns
    -------
    Judgements, Topics

    Examples
    --------
    >>> question = '{"query": "Who?", "snippets": [{"file_path": "a.txt", "span": [3, 9]}]}'
    >>> gold = Source.of_text('{ "tests": [' + question + "]}", "nda.json")
    >>> judgements, topics = read_gold(gold, "legalbench-rag")
    >>> judgements.passages(0), topics["nda-0000"].title
    ([(3, 9)], 'Who?')
    """
    if name is not None and name not in GOLD_FORMATS:
        raise UsageError(f"unknown format {name!r}; expected {' or '.join(GOLD_FORMATS)}")
    source = _open(path, name)
    name = name or detect_gold(source)
    if name is None:
        message = "unrecognised gold data; name the format, one of " + ", ".join(GOLD_FORMATS)
        raise source.error("gold.unknown_format", None, message)
    parsed = GOLD_FORMATS[name].read(source)
    known = read_texts(texts) if isinstance(texts, (str, Path)) else texts
    if known is None:
        known = parsed.texts
    elif parsed.texts:
        known = ChainMap(known, parsed.texts)  # type: ignore[arg-type] # nothing is written
    return build_judgements(parsed, source, known, repair=repair, drop_mismatches=drop_mismatches)


def _open(path: str | Path | Source, name: str | None) -> Source:
    """Open gold data; a folder of BEIR data is opened at its judgements."""
    if isinstance(path, Source):
        return path
    return Source.open(_find_qrels(Path(path)) if name == "beir" and Path(path).is_dir() else path)


def read_foreign_run(path: str | Path | Source, name: str) -> Run:
    """Read a run in the format of another campaign, one of `RUN_FORMATS`."""
    if name not in RUN_FORMATS:
        raise UsageError(f"unknown format {name!r}; expected {' or '.join(RUN_FORMATS)}")
    return RUN_FORMATS[name](_open(path, name))


def read_embedded_texts(path: str | Path | Source, name: str) -> dict[str, str]:
    """Return the documents that a file of gold data holds: name to text."""
    read = GOLD_FORMATS[name].read_texts if name in GOLD_FORMATS else None
    if read is None:
        known = " and ".join(n for n, own in GOLD_FORMATS.items() if own.read_texts is not None)
        raise UsageError(f"files of the format {name!r} hold no documents; those of {known} do")
    return dict(read(_open(path, name)) or {})
