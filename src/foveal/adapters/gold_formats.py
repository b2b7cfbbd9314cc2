"""Gold data of benchmarks, one short generator per format, and the table of all gold formats.

The structs have the names that the files use.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import ChainMap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Raw, Struct
from msgspec import field as renamed

from foveal.adapters.annotation_formats import (
    is_web_annotation,
    read_doccano,
    read_inception,
    read_label_studio,
    read_web_annotation,
)
from foveal.adapters.gold_data import GoldFile, Question, Texts, build_judgements, read_texts
from foveal.errors import InputError, Problem, UsageError, some
from foveal.files.source import Source
from foveal.formats import trec_genomics
from foveal.model import Judgements, Run, Topics

Name = str | int

# -- chunking_evaluation ---------------------------------------------------------------------------

_CHUNKING = ("question", "references", "corpus_id")


class _ChunkingReference(Struct):
    start_index: int
    end_index: int
    content: str | None = None


def _read_chunking_evaluation(gold: GoldFile) -> Iterator[Question]:
    """Topics are ``ce000``, ``ce001``, ... in the order of the file; a document is a corpus."""
    gold.source.check_utf8()
    rows = csv.reader(io.StringIO(gold.source.data.decode(), newline=""), strict=True)
    columns: list[str] = []
    number, line = 0, 1
    try:
        for row in rows:
            if not row:  # an empty line
                line = rows.line_num + 1
                continue
            found = dict(zip(columns or row, row, strict=False))
            missing = [name for name in _CHUNKING if name not in found]
            if missing:
                message = f"{missing[0]} is missing; expected the columns {', '.join(_CHUNKING)}"
                raise gold.error(line, message, "csv.columns")
            if columns:
                question = Question(f"ce{number:03d}", found["question"], line)
                data = found["references"].encode()
                references = gold.decode(data, list[_ChunkingReference], line, "references")
                for i, own in enumerate(references):
                    place = (found["corpus_id"], own.start_index, own.end_index, own.content)
                    question.add(f"references[{i}]", *place)
                yield question
                number += 1
            columns, line = columns or row, rows.line_num + 1
    except csv.Error as error:
        raise gold.error(line, f"not valid CSV: {error}", "csv.syntax") from None
    if not columns:
        message = f"nothing found; expected the columns {', '.join(_CHUNKING)}"
        raise gold.error(1, message, "csv.columns")


# -- LegalBench-RAG --------------------------------------------------------------------------------


class _LegalSnippet(Struct):
    file_path: str
    span: tuple[int, int]
    answer: str | None = None


class _LegalTest(Struct):
    query: str
    snippets: list[_LegalSnippet]


def _read_legalbench_rag(gold: GoldFile) -> Iterator[Question]:
    """Topics are ``STEM-0000``, ... in the order of the file; a document is named as its file."""
    for number, (test, line, path) in enumerate(gold.decode_list("tests", _LegalTest)):
        question = Question(f"{gold.source.stem}-{number:04d}", test.query, line, path)
        for i, own in enumerate(test.snippets):
            question.add(f"{path}.snippets[{i}]", own.file_path, *own.span, own.answer)
        yield question


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


def _read_squad(gold: GoldFile) -> Iterator[Question]:
    """A context is a document, named by its ``document_id``, else ``TITLE/NUMBER``.

    Different answers to a question are alternatives. The context of a question without answers is
    judged, and nothing in it is relevant.
    """
    for number, (article, line, path) in enumerate(gold.decode_list("data", _SquadArticle)):
        for i, paragraph in enumerate(article.paragraphs):
            name, where = paragraph.document_id, f"{path}.paragraphs[{i}]"
            doc = f"{article.title or number}/{i}" if name is None else str(name)
            gold.add_text(doc, paragraph.context, line, f"{where}.context")
            for j, asked in enumerate(paragraph.qas):
                question = Question(str(asked.id), asked.question, line, f"{where}.qas[{j}]")
                seen: set[tuple[int, int]] = set()
                for k, own in enumerate(asked.answers or ()):
                    if (own.answer_start, len(own.text)) not in seen:
                        seen.add((own.answer_start, len(own.text)))
                        place = (doc, own.answer_start, None, own.text)
                        at, sets = f"{question.where}.answers[{k}]", (f"a{len(seen)}",)
                        question.add(at, *place, sets=sets)
                question.add(question.where, doc)
                yield question


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


def _read_bioasq(gold: GoldFile) -> Iterator[Question]:
    """A section is a document, ``ARTICLE/SECTION``: offsets count from its beginning.

    An article is named by the last part of its address. A snippet that ends in another section is
    two spans. A question without snippets is judged, and nothing is relevant to it.
    """
    for asked, line, path in gold.decode_list("questions", _BioasqQuestion):
        question = Question(str(asked.id), asked.body, line, path)
        for i, own in enumerate(asked.snippets or ()):
            where = f"{path}.snippets[{i}]"
            article = own.document.rstrip("/").rpartition("/")[2]
            if not article:
                message = f"{where}.document: the address has no last part to name the article by"
                raise gold.error(line, message)
            first, last = f"{article}/{own.beginSection}", f"{article}/{own.endSection}"
            start, end = own.offsetInBeginSection, own.offsetInEndSection
            if first == last:
                question.add(where, first, start, end, own.text)
            else:
                question.add(where, first, start)
                question.add(where, last, 0, end)
        yield question


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


def _read_kilt(gold: GoldFile) -> Iterator[Question]:
    """A paragraph is a document, ``PAGE/NUMBER``: characters count from its beginning.

    Outputs with evidence are alternatives; the provenances of one output belong together. A
    provenance that names only a page is counted as not read, and so is a question without any
    other evidence.
    """
    for asked, line in gold.decode_lines(_KiltQuestion):
        question = Question(str(asked.id), asked.input, line)
        for i, output in enumerate(asked.output or ()):
            for j, own in enumerate(output.provenance or ()):
                where = f"$.output[{i}].provenance[{j}]"
                first, last = own.start_paragraph_id, own.end_paragraph_id
                if first is None:
                    gold.unread["provenances that name a page only"] += 1
                    continue
                last = first if last is None else last
                for name in ("wikipedia_id", "start_character", "end_character"):
                    if getattr(own, name) is None:
                        raise gold.error(line, f"{where}: {name!r} is missing")
                if last < first:
                    message = f"{where}: it ends in paragraph {last}, before paragraph {first}"
                    raise gold.error(line, message)
                for number in range(first, last + 1):
                    start = own.start_character if number == first else 0
                    end = own.end_character if number == last else None
                    doc = f"{own.wikipedia_id}/{number}"
                    question.add(where, doc, start, end, sets=(f"a{i + 1}",))
        if question.spans:
            yield question
        else:
            gold.unread["questions without evidence in a paragraph"] += 1


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


def _read_qasper(gold: GoldFile) -> Iterator[Question]:
    """A paper is a document, named by its id; the answers of annotators are alternatives.

    Its text is abstract, headings and paragraphs as the file has them, an empty line between.
    Evidence is whole paragraphs, the first with the same words; else it is found by its text.
    """
    papers = gold.decode_file(dict[str, Raw])
    for doc, entry in zip(papers, gold.decode_entries(papers, _QasperPaper), strict=True):
        paper, line, path = entry
        parts = [paper.abstract]
        for section in paper.full_text:
            parts += [section.section_name, *section.paragraphs]
        places: dict[str, tuple[int, int]] = {}
        at = 0
        for part in filter(None, parts):
            places.setdefault(" ".join(part.split()), (at, at + len(part)))
            at += len(part) + 2
        text = gold.texts[doc] = "\n\n".join(filter(None, parts))
        for i, asked in enumerate(paper.qas):
            question = Question(str(asked.question_id), asked.question, line, f"{path}.qas[{i}]")
            found: dict[str, tuple[str, str, list[str]]] = {}
            for j, given in enumerate(asked.answers):
                for k, quote in enumerate(given.answer.evidence or ()):
                    if quote.startswith("FLOAT SELECTED"):
                        gold.unread["evidence in figures and tables"] += 1
                    elif quote.strip():
                        where = f"{question.where}.answers[{j}].answer.evidence[{k}]"
                        own = found.setdefault(" ".join(quote.split()), (where, quote, []))
                        own[2].append(f"a{j + 1}")
            for words, (where, quote, sets) in found.items():
                more: dict[str, Any] = {"sets": tuple(dict.fromkeys(sets)), "is_loose": True}
                if words in places:
                    start, end = places[words]
                    question.add(where, doc, start, end, text[start:end], **more)
                else:
                    question.add(where, doc, quote=quote, **more)
            question.add(question.where, doc)
            yield question


# -- TREC Genomics ---------------------------------------------------------------------------------


def _read_genomics(gold: GoldFile) -> Iterator[Question]:
    """Passages in the order of the file, with their aspects; topics have no words."""
    topics: dict[str, Question] = {}
    table = trec_genomics.tabulate_gold(gold.source).checked()
    for line, row in zip(table.line.tolist(), table.frame.rows(), strict=True):
        topic, doc, start, end, aspects = row
        question = topics.setdefault(topic, Question(topic, None, line, f"line {line}"))
        question.add(f"line {line}", doc, start, end, aspects=aspects)
    yield from topics.values()


# -- BEIR ------------------------------------------------------------------------------------------

_BEIR_COLUMNS = ["query-id", "corpus-id", "score"]


class _BeirEntry(Struct):
    text: str
    id: str = renamed(name="_id")
    title: str | None = None


def _read_beside(gold: GoldFile, name: str) -> dict[str, _BeirEntry] | None:
    """Return the entries of a file in the folder of the judgements or in the one above."""
    folder = Path(gold.source.path).absolute().parent
    path = next((own / name for own in (folder, folder.parent) if (own / name).exists()), None)
    if path is None:
        return None
    return {own.id: own for own, _ in GoldFile(Source.open(path)).decode_lines(_BeirEntry)}


def _read_beir(gold: GoldFile) -> Iterator[Question]:
    """Whole documents are judged: relevant if the score is above 0.

    Queries and documents that are judged must be in ``queries.jsonl`` and ``corpus.jsonl``, if
    these files are there.
    """
    gold.source.check_utf8()
    lines = gold.source.data.decode().splitlines()
    expected = "expected query-id, corpus-id and score with tabs between"
    if not lines or lines[0].split("\t") != _BEIR_COLUMNS:
        raise gold.error(1, f"{''.join(lines[:1])[:80]!r} found; {expected}", "csv.columns")
    queries, corpus = (_read_beside(gold, f"{name}.jsonl") for name in ("queries", "corpus"))
    topics: dict[str, Question] = {}
    judged: set[tuple[str, str]] = set()
    problems: list[Problem] = []
    for number, line in enumerate(lines[1:], 2):
        query, doc, score = (*line.split("\t"), "", "")[:3]
        try:
            grade = float(score) if line.count("\t") == 2 else math.nan
        except ValueError:
            grade = math.nan
        code, message = "gold.structure", ""
        if not math.isfinite(grade):
            code, message = "csv.columns", f"{line[:80]!r} is not a judgement; {expected}"
        elif (query, doc) in judged:
            message = f"document {doc!r} is judged more than once for query {query!r}"
            code = "judgements.repeated"
        elif queries is not None and query not in queries:
            message = f"query {query!r} is not in queries.jsonl"
        elif corpus is not None and doc not in corpus:
            message = f"document {doc!r} is not in corpus.jsonl"
        if message:
            problems.append(Problem(code, gold.source.path, number, message))
            continue
        judged.add((query, doc))
        text = None if queries is None else queries[query].text
        question = topics.setdefault(query, Question(query, text, number))
        question.add(f"line {number}", doc, grade=grade)
    if problems:
        raise InputError(problems)
    yield from topics.values()


def _read_beir_corpus(gold: GoldFile) -> Texts:
    """Return title and text of each document with a blank between."""
    corpus = _read_beside(gold, "corpus.jsonl")
    if corpus is None:
        message = "the documents are missing; expected corpus.jsonl beside the judgements"
        raise InputError.at("gold.files", gold.source.path, None, message)
    return {doc: f"{own.title or ''} {own.text}".strip() for doc, own in corpus.items()}


# -- MTCB ------------------------------------------------------------------------------------------


class _MtcbQuestion(Struct):
    question: str
    passage: str = renamed(name="chunk-must-contain")


def _read_mtcb(gold: GoldFile) -> Iterator[Question]:
    """Topics are ``STEM-0000``, ...; the document of a passage is the only one that holds it."""
    for number, (asked, line) in enumerate(gold.decode_lines(_MtcbQuestion)):
        question = Question(f"{gold.source.stem}-{number:04d}", asked.question, line)
        question.add("$", None, quote=asked.passage, is_loose=True)
        yield question


# -- the formats -----------------------------------------------------------------------------------


class GoldFormat(NamedTuple):
    """A format of gold data: how it is recognised and read."""

    is_format: Callable[[Source], bool]
    read: Callable[[GoldFile], Iterator[Question]]
    has_texts: bool = False
    """True if documents are in the file or beside it."""


def _holds(*words: str) -> Callable[[Source], bool]:
    """Return a function that recognises a file by words that it holds."""
    return lambda source: all(word.encode() in source.data for word in words)


def _begins(pattern: str) -> Callable[[Source], bool]:
    """Return a function that recognises a file by its first line."""
    return lambda source: re.search(pattern.encode(), source.head[1]) is not None


def _is_chunking_evaluation(source: Source) -> bool:
    head = source.data.partition(b"\n")[0].strip().split(b",")
    return {*head} == {name.encode() for name in _CHUNKING}


def _is_legalbench_rag(source: Source) -> bool:
    is_list = re.match(rb'\s*\{\s+"tests":\s+\[(\s|$)', source.data[:4096])
    return is_list is not None and b'"query"' in source.data


_KILT = r'^\{(?=.*"input")(?=.*"output")(?=.*"provenance")'
_DOCCANO = (
    r'^\{(?=.*"text"\s*:).*'
    r'("labels?"\s*:\s*\[\s*(\]|\[\s*\d+\s*,\s*\d+\s*,\s*")|"entities"\s*:\s*\[\s*(\]|.*"start_offset"))'
)

GOLD_FORMATS: dict[str, GoldFormat] = {
    "chunking-evaluation": GoldFormat(_is_chunking_evaluation, _read_chunking_evaluation),
    "legalbench-rag": GoldFormat(_is_legalbench_rag, _read_legalbench_rag),
    "squad": GoldFormat(
        _holds('"data"', '"paragraphs"', '"answer_start"'), _read_squad, has_texts=True
    ),
    "bioasq": GoldFormat(_holds('"questions"', '"offsetInBeginSection"'), _read_bioasq),
    "kilt": GoldFormat(_begins(_KILT), _read_kilt),
    "qasper": GoldFormat(
        _holds('"full_text"', '"qas"', '"evidence"'), _read_qasper, has_texts=True
    ),
    "trec-genomics": GoldFormat(trec_genomics.is_gold, _read_genomics),
    "web-annotation": GoldFormat(is_web_annotation, read_web_annotation),
    "beir": GoldFormat(_begins("^" + "\t".join(_BEIR_COLUMNS) + "$"), _read_beir, has_texts=True),
    "mtcb": GoldFormat(_begins(r'^\{.*"chunk-must-contain"'), _read_mtcb),
    "label-studio": GoldFormat(
        _holds('"annotations"', '"result"', '"from_name"'), read_label_studio, has_texts=True
    ),
    "doccano": GoldFormat(_begins(_DOCCANO), read_doccano, has_texts=True),
    "inception": GoldFormat(_holds('"%FEATURE_STRUCTURES"'), read_inception, has_texts=True),
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
    gold = GoldFile(_open(path, name))
    name = name or detect_gold(gold.source)
    if name is None:
        message = "unrecognised gold data; name the format, one of " + ", ".join(GOLD_FORMATS)
        raise gold.source.error("gold.unknown_format", None, message)
    questions = [*GOLD_FORMATS[name].read(gold)]
    known = read_texts(texts) if isinstance(texts, (str, Path)) else texts
    if gold.texts:
        known = ChainMap(known or {}, gold.texts)  # type: ignore[arg-type] # nothing is written
    return build_judgements(gold, questions, known, repair=repair, drop_mismatches=drop_mismatches)


def _open(path: str | Path | Source, name: str | None) -> Source:
    """Open gold data; a folder of BEIR data is opened at its judgements."""
    if isinstance(path, Source):
        return path
    if name != "beir" or not Path(path).is_dir():
        return Source.open(path)
    found = sorted(str(own) for own in Path(path).glob("qrels/*.tsv"))
    if len(found) != 1:
        named = f": {some(found)}" if found else ""
        message = f"{len(found)} files in qrels{named}; expected one, or name the file"
        raise InputError.at("gold.files", str(path), None, message)
    return Source.open(found[0])


def read_foreign_run(path: str | Path | Source, name: str) -> Run:
    """Read a run in the format of another campaign, one of `RUN_FORMATS`."""
    if name not in RUN_FORMATS:
        raise UsageError(f"unknown format {name!r}; expected {' or '.join(RUN_FORMATS)}")
    return RUN_FORMATS[name](_open(path, name))


def read_embedded_texts(path: str | Path | Source, name: str) -> dict[str, str]:
    """Return the documents that a file of gold data holds: name to text."""
    if name not in GOLD_FORMATS or not GOLD_FORMATS[name].has_texts:
        known = " and ".join(n for n, own in GOLD_FORMATS.items() if own.has_texts)
        raise UsageError(f"files of the format {name!r} hold no documents; those of {known} do")
    gold = GoldFile(_open(path, name))
    if name == "beir":
        return dict(_read_beir_corpus(gold))
    for _ in GOLD_FORMATS[name].read(gold):
        pass
    return gold.texts
