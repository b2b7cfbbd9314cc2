"""Gold data of other tools: one short reader per format, and the judgements and topics made of it.

A reader asks for fields by name and type; a missing or wrong one is named by its path, such as
``$.tests[3].span``. `build_judgements` then places all spans in the texts of their documents.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import msgspec
import polars as pl

from foveal.adapters.from_objects import COLUMNS, OF_JUDGEMENTS, group_spans
from foveal.errors import InputError, UsageError, shorten_list
from foveal.files.source import Source, first_lines
from foveal.formats import trec_genomics
from foveal.formats.locate import MOVED, NEAR, TextLocator, TextSpan
from foveal.model import Judgements, Run, Topic, Topics
from foveal.model.run import ALL

Texts = Mapping[str, str]

# -- what a file holds -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """A JSON value in a file of gold data, with its path and the line where the JSON begins."""

    gold: GoldFile
    value: Any
    line: int = 1
    path: str = "$"

    def error(self, text: str, code: str = "gold.structure") -> InputError:
        return self.gold.source.error(code, self.line, f"{self.path}{text}")

    def convert(self, kind: Any) -> Any:
        """Return the value if it is of this kind; a part that is not is named by its path."""
        try:
            return msgspec.convert(self.value, kind)
        except msgspec.ValidationError as error:
            raise self.error(f": {error}") from None

    def get(self, name: str, kind: Any) -> Any:
        """Return a field of an object that must have it."""
        fields = self.convert(dict)
        if name not in fields and kind is not object and type(None) not in get_args(kind):
            raise self.error(f": {name} is missing")
        return Entry(self.gold, fields.get(name), self.line, f"{self.path}.{name}").convert(kind)

    def find(self, name: str, kind: Any) -> Any:
        """Return a field of an object, None if it is absent or null."""
        return self.get(name, kind | None)

    def name(self, name: str) -> str:
        """Return a field that is a name or number."""
        return str(self.get(name, str | int))

    def each(self, name: str, *, optional: bool = False) -> Iterator[Entry]:
        """Yield the items of a list, or the value of a field that is not a list."""
        own = Entry(self.gold, self.get(name, object), self.line, f"{self.path}.{name}")
        if isinstance(own.value, list):
            yield from own.items()
        elif own.value is not None or not optional:
            yield own

    def items(self, name: str | None = None) -> Iterator[Entry]:
        """Yield the items of a list, which may be a field."""
        path = self.path if name is None else f"{self.path}.{name}"
        for i, item in enumerate(self.convert(list) if name is None else self.get(name, list)):
            yield Entry(self.gold, item, self.line, f"{path}[{i}]")


@dataclass
class GoldFile:
    """A file of gold data, and what its reader finds: topics, spans, texts, counts of the unread.

    Topics have a title and a line. Spans also have further columns of judgements, and the path in
    the file; one without offsets and quote is a judged document.
    """

    source: Source
    topics: dict[str, tuple[str | None, int]] = field(default_factory=dict)
    spans: list[tuple[TextSpan, dict[str, Any]]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    unread: Counter[str] = field(default_factory=Counter)

    def ask(self, name: str | int, title: str | None, where: Entry, *, again: bool = False) -> str:
        """Note a topic, which may have been noted before if `again`, and return its name."""
        if name == ALL:
            message = f": a topic may not be called {ALL!r}: results use it"
            raise where.error(message, "topic.reserved")
        if str(name) in self.topics and not again:
            raise where.error(f": topic {name!r} is already given above", "topics.repeated")
        self.topics.setdefault(str(name), (title, where.line))
        return str(name)

    def add(self, topic: str, where: Entry, span: TextSpan, **columns: Any) -> None:
        """Add a span of a topic; `columns` are further ones of judgements, such as ``sets``."""
        self.spans.append((span, {"topic": topic, "path": where.path, **columns}))

    def add_text(self, doc: str, text: str, where: Entry) -> None:
        """Note the text of a document; refuse a second one."""
        if self.texts.setdefault(doc, text) != text:
            raise where.error(f": document {doc!r} has another text above", "document.duplicate")

    def decode(self, data: bytes, line: int = 1) -> Any:
        """Return a JSON value that begins on this line."""
        try:
            try:
                return msgspec.json.decode(data)
            except msgspec.DecodeError:
                # NaN is not JSON, but pandas writes it where there is no value.
                value = json.loads(data, parse_constant=lambda _: None)
                return msgspec.json.decode(json.dumps(value))
        except (ValueError, RecursionError) as error:
            line += getattr(error, "lineno", 1) - 1
            message, *_ = str(error).split("; use sys.")  # a hint for programmers
            raise self.source.error("json.syntax", line, f"not valid JSON: {message}") from None

    def read(self) -> Entry:
        """Return the JSON value of the whole file."""
        self.source.check_utf8()
        return Entry(self, self.decode(self.source.data))

    def read_lines(self) -> Iterator[Entry]:
        """Yield the JSON values of a file that has one on each line."""
        self.source.check_utf8()
        for number, line in first_lines(self.source.data):
            yield Entry(self, self.decode(line, number), number)


# -- judgements ------------------------------------------------------------------------------------


def build_judgements(
    gold: GoldFile, texts: Texts | None, *, repair: bool = False, drop_mismatches: bool = False
) -> tuple[Judgements, Topics]:
    """Return judgements and topics in the order of the file, with all spans placed in the texts.

    `repair` moves a quote that occurs exactly once near its offset, `drop_mismatches` drops the
    quotes that still do not match. Without them a mismatch is an error.
    """
    if (repair or drop_mismatches) and texts is None:
        raise UsageError("--repair and --drop-mismatches take the documents (--texts)")
    locator, line = TextLocator(texts, repair=repair), {n: at for n, (_, at) in gold.topics.items()}
    # Topics may come back later in the file.
    order = {name: i for i, name in enumerate(gold.topics)}
    asked = sorted(gold.spans, key=lambda own: order[own[1]["topic"]])
    try:
        placed = locator.place_all(
            ((line[row["topic"]], f"{row['path']}: ", span) for span, row in asked),
            gold.source.path,
            ("span.quote", "span.not_found", "span.ambiguous") if drop_mismatches else (),
        )
    except InputError as error:
        wrong = sum(problem.code == "span.quote" for problem in error.problems)
        quoted = sum(None not in (span.quote, span.start) for span, _ in asked)
        summary = (
            f"{gold.source.path}: quotes that do not match their text: {wrong} of {quoted}; "
            f"--repair moves those that occur once within {NEAR} characters, --drop-mismatches "
            "leaves out the others"
        )
        raise InputError(error.problems, summary=summary if wrong else None) from None
    rows, dropped, moved = list[dict[str, Any]](), list[str](), 0
    for (span, row), found in zip(asked, placed, strict=True):
        if found is None:
            dropped.append(row["topic"])
            continue
        text, quote = locator.text(found.doc), span.quote
        if quote is not None and span.is_loose and text is not None:
            quote = text[found.start : found.end]
        own = {"doc": found.doc, "start": found.start, "end": found.end, "text": quote}
        own |= {"length": None if text is None else len(text), "line": line[row["topic"]]}
        rows.append(row | own | {"prefix": span.prefix, "suffix": span.suffix})
        moved += found.how == MOVED
    # A topic that lost all its quotes must not look like one without an answer.
    held = {row["topic"] for row in rows if row["start"] is not None}
    lost = [name for name in dict.fromkeys(dropped) if name not in held]
    kept = {name: own for name, own in gold.topics.items() if name not in lost}
    rows = [row for row in rows if row["topic"] in kept]
    if not rows:
        raise gold.source.error("gold.empty", None, "no question has any evidence")
    notes = {
        f"quotes moved to the only place within {NEAR} characters: {moved}": moved,
        f"quotes left out because they do not match their text: {len(dropped)}": dropped,
        f"questions left out with their quotes: {len(lost)} ({shorten_list(lost)})": lost,
    }
    judgements = group_spans(
        pl.DataFrame(rows, schema={name: COLUMNS[name] for name in (*OF_JUDGEMENTS, "line")}),
        gold.source,
        notes=tuple(note for note, found in notes.items() if found),
        unread=+gold.unread or None,
        topics_without_documents=kept,
    )
    topics = [Topic(name, title=title) for name, (title, _) in kept.items()]
    lines = [at for _, at in kept.values()]
    return judgements, Topics.of(topics, line=lines, source=gold.source.provenance)


def read_texts(path: str | Path) -> dict[str, str]:
    """Return the texts of a folder of files, or of a file with ``{"doc", "text"}`` on each line.

    A document is named as its file below the folder, with or without the extension. If two files
    differ only in the extension, neither has the shorter name.
    """
    if not Path(path).is_dir():
        lines = GoldFile(Source.open(path)).read_lines()
        return {own.name("doc"): own.get("text", str) for own in lines}
    texts, stems = dict[str, str](), list[tuple[str, str]]()
    for file in sorted(own for own in Path(path).rglob("*") if own.is_file()):
        source, name = Source.open(file), file.relative_to(path).as_posix()
        source.check_utf8()
        # Line ends of any kind are one character, as Python reads them.
        text = source.data.decode().replace("\r\n", "\n").replace("\r", "\n")
        stems.append((name.removesuffix(file.suffix), text))
        texts[name] = text
    count = Counter(stem for stem, _ in stems)
    return {stem: text for stem, text in stems if count[stem] == 1} | texts


# -- benchmarks ------------------------------------------------------------------------------------

_CHUNKING = ("question", "references", "corpus_id")
_CHUNKING_HEADER = f"^(({'|'.join(_CHUNKING)})(,|\\s*$)){{3}}"


def _read_chunking_evaluation(gold: GoldFile) -> None:
    """Topics are ``ce000``, ``ce001``, ... in the order of the file; a document is a corpus.

    The line of a topic is the one on which its row ends.
    """
    gold.source.check_utf8()
    table = csv.DictReader(io.StringIO(gold.source.data.decode(), newline=""), strict=True)
    try:
        for number, row in enumerate(table):
            line = table.line_num
            if missing := [name for name in _CHUNKING if row.get(name) is None]:
                message = f"{missing[0]} is missing; expected the columns {', '.join(_CHUNKING)}"
                raise gold.source.error("csv.columns", line if missing[0] in row else 1, message)
            entry = Entry(gold, {"references": gold.decode(row["references"].encode(), line)}, line)
            topic = gold.ask(f"ce{number:03d}", row["question"], entry)
            for own in entry.each("references"):
                place = (own.get("start_index", int), own.get("end_index", int))
                gold.add(topic, own, TextSpan(row["corpus_id"], *place, own.find("content", str)))
    except csv.Error as error:
        message = f"not valid CSV: {error}"
        raise gold.source.error("csv.syntax", table.line_num + 1, message) from None


def _read_legalbench_rag(gold: GoldFile) -> None:
    """Topics are ``STEM-0000``, ... in the order of the file; a document is named as its file."""
    for number, test in enumerate(gold.read().items("tests")):
        topic = gold.ask(f"{gold.source.stem}-{number:04d}", test.get("query", str), test)
        for own in test.each("snippets"):
            doc, (start, end) = own.get("file_path", str), own.get("span", tuple[int, int])
            gold.add(topic, own, TextSpan(doc, start, end, own.find("answer", str)))


def _read_squad(gold: GoldFile) -> None:
    """A context is a document, named by its ``document_id``, else ``TITLE/NUMBER``.

    Different answers to a question are alternatives. The context of a question without answers is
    judged, and nothing in it is relevant.
    """
    for number, article in enumerate(gold.read().items("data")):
        title = article.find("title", str) or number
        for i, paragraph in enumerate(article.each("paragraphs")):
            is_named = paragraph.get("document_id", object) is not None
            doc = paragraph.name("document_id") if is_named else f"{title}/{i}"
            gold.add_text(doc, paragraph.get("context", str), paragraph)
            for asked in paragraph.each("qas"):
                topic = gold.ask(asked.name("id"), asked.get("question", str), asked)
                seen: set[tuple[int, int]] = set()
                for own in asked.each("answers", optional=True):
                    start, text = own.get("answer_start", int), own.get("text", str)
                    if (start, len(text)) not in seen:
                        seen.add((start, len(text)))
                        span = TextSpan(doc, start, None, text)
                        gold.add(topic, own, span, sets=[f"a{len(seen)}"])
                gold.add(topic, asked, TextSpan(doc))


def _read_bioasq(gold: GoldFile) -> None:
    """A section is a document, ``ARTICLE/SECTION``: offsets count from its beginning.

    An article is named by the last part of its address. A snippet that ends in another section is
    two spans. A question without snippets is judged, and nothing is relevant to it.
    """
    for asked in gold.read().items("questions"):
        topic = gold.ask(asked.name("id"), asked.get("body", str), asked)
        for own in asked.each("snippets", optional=True):
            article = own.get("document", str).rstrip("/").rpartition("/")[2]
            first = f"{article}/{own.get('beginSection', str)}"
            last = f"{article}/{own.get('endSection', str)}"
            start, end = own.get("offsetInBeginSection", int), own.get("offsetInEndSection", int)
            if first == last:
                gold.add(topic, own, TextSpan(first, start, end, own.find("text", str)))
            else:
                gold.add(topic, own, TextSpan(first, start))
                gold.add(topic, own, TextSpan(last, 0, end))


def _read_kilt(gold: GoldFile) -> None:
    """A paragraph is a document, ``PAGE/NUMBER``: characters count from its beginning.

    Outputs with evidence are alternatives; the provenances of one output belong together. A
    provenance that names only a page is counted as not read, and so is a question without any
    other evidence.
    """
    for asked in gold.read_lines():
        topic = gold.ask(asked.name("id"), asked.get("input", str), asked)
        for i, output in enumerate(asked.each("output", optional=True)):
            for own in output.each("provenance", optional=True):
                first, last = own.find("start_paragraph_id", int), own.find("end_paragraph_id", int)
                if first is None:
                    gold.unread["provenances that name a page only"] += 1
                    continue
                last = first if last is None else last
                if not first <= last < first + 10_000:  # no page has as many
                    raise own.error(f": it covers the paragraphs {first} to {last}")
                page, sets = own.name("wikipedia_id"), [f"a{i + 1}"]
                for number in range(first, last + 1):
                    start = own.get("start_character", int) if number == first else 0
                    end = own.get("end_character", int) if number == last else None
                    gold.add(topic, own, TextSpan(f"{page}/{number}", start, end), sets=sets)
        if not gold.spans or gold.spans[-1][1]["topic"] != topic:
            del gold.topics[topic]
            gold.unread["questions without evidence in a paragraph"] += 1


def _read_qasper(gold: GoldFile) -> None:
    """A paper is a document, named by its id; the answers of annotators are alternatives.

    Its text is abstract, headings and paragraphs as the file has them, an empty line between.
    Evidence is whole paragraphs, the first with the same words; else it is found by its text.
    """
    papers = gold.read()
    for doc in papers.convert(dict):
        paper = Entry(gold, papers.value[doc], path=f"$[{doc!r}]")
        parts = [paper.find("abstract", str)]
        for section in paper.each("full_text"):
            parts += [section.find("section_name", str), *section.get("paragraphs", list[str])]
        text, places = "", dict[str, tuple[int, int]]()
        for part in filter(None, parts):
            text += "\n\n" if text else ""
            places.setdefault(" ".join(part.split()), (len(text), len(text) + len(part)))
            text += part
        gold.texts[doc] = text
        for asked in paper.each("qas"):
            topic = gold.ask(asked.name("question_id"), asked.get("question", str), asked)
            found: dict[str, tuple[Entry, list[str]]] = {}
            for i, given in enumerate(asked.each("answers")):
                for answer in given.each("answer"):
                    for own in answer.each("evidence", optional=True):
                        if (quote := own.convert(str)).startswith("FLOAT SELECTED"):
                            gold.unread["evidence in figures and tables"] += 1
                        elif quote.strip():
                            sets = found.setdefault(" ".join(quote.split()), (own, []))[1]
                            sets.append(f"a{i + 1}")
            for words, (own, sets) in found.items():
                start, end = places.get(words, (None, None))
                quote = own.value if start is None else text[start:end]
                span = TextSpan(doc, start, end, quote, is_loose=True)
                gold.add(topic, own, span, sets=[*dict.fromkeys(sets)])
            gold.add(topic, asked, TextSpan(doc))


def _read_genomics(gold: GoldFile) -> None:
    """Passages in the order of the file, with their aspects; topics have no words."""
    table = trec_genomics.tabulate_gold(gold.source).require_valid()
    for topic, doc, line, start, end, aspects in table.frame.iter_rows():
        where = Entry(gold, None, line, f"line {line}")
        gold.ask(topic, None, where, again=True)
        gold.add(topic, where, TextSpan(doc, start, end), aspects=[*aspects])


def _read_mtcb(gold: GoldFile) -> None:
    """Topics are ``STEM-0000``, ...; the document of a passage is the only one that holds it."""
    for number, own in enumerate(gold.read_lines()):
        topic = gold.ask(f"{gold.source.stem}-{number:04d}", own.get("question", str), own)
        quote = own.get("chunk-must-contain", str)
        gold.add(topic, own, TextSpan(None, quote=quote, is_loose=True))


_BEIR_HEADER = "query-id\tcorpus-id\tscore"


def _read_beside(gold: GoldFile, name: str, *fields: str) -> dict[str, str] | None:
    """Return fields of the entries of a file in the folder of the judgements or the one above."""
    folder = Path(gold.source.path).absolute().parent
    path = next((own / name for own in (folder, folder.parent) if (own / name).exists()), None)
    if path is None:
        return None
    lines = GoldFile(Source.open(path)).read_lines()
    return {own.get("_id", str): " ".join(own.find(f, str) or "" for f in fields) for own in lines}


def _read_beir(gold: GoldFile) -> None:
    """Whole documents are judged: relevant if the score is above 0.

    Queries and documents that are judged must be in ``queries.jsonl`` and ``corpus.jsonl``, if
    these files are there.
    """
    gold.source.check_utf8()
    header, *lines = gold.source.data.decode().splitlines() or [""]
    queries = _read_beside(gold, "queries.jsonl", "text") or {}
    corpus = _read_beside(gold, "corpus.jsonl")
    expected, judged = "expected query-id, corpus-id and score with tabs between", set[Any]()
    if header != _BEIR_HEADER:
        raise gold.source.error("csv.columns", 1, f"{header[:80]!r} found; {expected}")
    for number, line in enumerate(lines, 2):
        where = Entry(gold, None, number, f"line {number}")
        try:
            query, doc, score = line.split("\t")
            if not math.isfinite(grade := float(score)):
                raise ValueError(score)
        except ValueError:
            raise where.error(f": {line[:80]!r} found; {expected}", "csv.columns") from None
        for name, known in ((query, queries), (doc, corpus)):
            if known and name not in known:
                raise where.error(f": {name!r} is not in queries.jsonl or corpus.jsonl")
        if (query, doc) in judged:
            text = f": document {doc!r} is judged more than once for query {query!r}"
            raise where.error(text, "judgements.repeated")
        judged.add((query, doc))
        topic = gold.ask(query, queries.get(query), where, again=True)
        gold.add(topic, where, TextSpan(doc), grade=grade)


# -- annotation tools ------------------------------------------------------------------------------

_POSITION, _QUOTE = "TextPositionSelector", "TextQuoteSelector"
# Purposes of a body that names the topic; where no body has one, the first body does.
_ABOUT = ("identifying", "classifying", "tagging")


def _read_web_annotation(gold: GoldFile) -> None:
    """A topic is what the body says, a document is named as the source of the target.

    A file is one annotation, a list, a page, or a collection with its first page. Positions count
    code points, as the recommendation has it. Several selectors of one target are the same place:
    the position is used, and the quotation compared with it.
    """
    root = gold.read()
    if isinstance(root.value, dict) and "first" in root.value:
        root = next(root.each("first"))
    is_one = isinstance(root.value, dict) and "items" not in root.value
    name = "items" if isinstance(root.value, dict) else None
    for annotation in [root] if is_one else root.items(name):
        bodies = [own.value for own in annotation.each("body")]
        named = [b for b in bodies if isinstance(b, dict) and b.get("purpose") in _ABOUT] or bodies
        topic = _name_part(next(iter(named), None), "value")
        if not isinstance(topic, str):
            message = ".body: the topic is missing; expected text, or a body with a value"
            raise annotation.error(message)
        creator = _name_part(annotation.get("creator", object), "name")
        assessor = None if creator is None else str(creator)
        topic = gold.ask(topic, topic, annotation, again=True)
        for target in annotation.each("target"):
            span = _resolve_selectors(target.get("source", str), target, "selector")
            gold.add(topic, target, span, assessor=assessor)


def _name_part(value: Any, name: str) -> Any:
    """Return a field of an object, else its id; other values are names themselves."""
    return (value.get(name) or value.get("id")) if isinstance(value, dict) else value


def _resolve_selectors(
    doc: str, entry: Entry, name: str, within: TextSpan | None = None
) -> TextSpan:
    """Return the span that the selectors of one target lead to."""
    found = {own.get("type", str): own for own in reversed([*entry.each(name)])}
    position, quote = found.get(_POSITION), found.get(_QUOTE)
    if position is None and quote is None:
        message = f".{name}: no place in {', '.join(found) or 'an empty list'}"
        raise entry.error(f"{message}; expected {_POSITION} or {_QUOTE}")
    finer = next((own for own in (position, quote) if own and own.find("refinedBy", object)), None)
    place: dict[str, Any] = {"within": within, "is_loose": True}
    if position is not None:
        place |= {"start": position.get("start", int), "end": position.get("end", int)}
    if quote is not None and (position is None or finer is None):
        place |= {"quote": quote.get("exact", str)}
        place |= {"prefix": quote.find("prefix", str), "suffix": quote.find("suffix", str)}
    span = TextSpan(doc, **place)
    return span if finer is None else _resolve_selectors(doc, finer, "refinedBy", span)


def _add_record(
    record: Entry, doc: str, highlights: Sequence[Any], assessor: str | None = None
) -> None:
    """Add what an assessor highlighted in a document: entries with their labels and span.

    A topic is the field ``topic`` of the record, which judges the document, else the label of a
    highlight.
    """
    gold, topic, query = record.gold, record.value.get("topic"), record.value.get("query")
    if topic is not None:
        title = query if isinstance(query, str) else str(topic)
        topic = gold.ask(str(topic), title, record, again=True)
        gold.add(topic, record, TextSpan(doc), assessor=assessor)
    elif not highlights:
        missing = "documents without highlights, and without a topic that they are judged for"
        gold.unread[missing] += 1
    for where, labels, place in highlights:
        for name in labels if topic is None else [topic]:
            gold.ask(name, name, record, again=True)
            gold.add(name, where, TextSpan(doc, *place), assessor=assessor)


def _read_label_studio(gold: GoldFile) -> None:
    """Tasks with their highlights; an assessor is who completed an annotation.

    Each annotation judges the document. Regions of other kinds, and tasks without any annotation
    that was not cancelled, are counted as not read.
    """
    for task in gold.read().items():
        data = Entry(gold, task.find("data", dict) or {}, task.line, task.path)
        doc = str(data.value.get("doc") or task.name("id"))
        if isinstance(text := data.value.get("text"), str):
            gold.add_text(doc, text, task)
        annotations = [a for a in task.each("annotations") if not a.find("was_cancelled", bool)]
        gold.unread["tasks without annotations"] += not annotations
        for annotation in annotations:
            who, highlights = _name_part(annotation.get("completed_by", object), "email"), []
            for own in annotation.each("result"):
                value = next(own.each("value", optional=True), own)
                labels = value.find("labels", list[str]) or value.find("hypertextlabels", list[str])
                if not labels:
                    gold.unread["regions that are not highlights"] += 1
                    continue
                at, quote = next(value.each("globalOffsets", optional=True), value), value.value
                text = quote["text"] if isinstance(quote.get("text"), str) else None
                highlights.append((own, labels, (at.get("start", int), at.get("end", int), text)))
            _add_record(data, doc, highlights, None if who is None else str(who))


def _read_doccano(gold: GoldFile) -> None:
    """Documents with their highlights; ``entities`` are those of projects with relations."""
    for own in gold.read_lines():
        name = "doc" if own.get("doc", object) else "id"
        doc = str(own.line) if own.get(name, object) is None else own.name(name)
        gold.add_text(doc, own.get("text", str), own)
        highlights: list[Any] = []
        for name in ("label", "labels"):
            for one in own.each(name, optional=True):
                start, end, label = one.convert(tuple[int, int, str])
                highlights.append((one, [label], (start, end)))
        for one in own.each("entities", optional=True):
            place = (one.get("start_offset", int), one.get("end_offset", int))
            highlights.append((one, [one.get("label", str)], place))
        _add_record(own, doc, highlights)


# Types of annotations that people make; other types are tokens, sentences and the like.
_LAYERS = ("webanno.custom.", "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity")


def _read_inception(gold: GoldFile) -> None:
    """A UIMA CAS is a document, named by its title; custom layers hold the highlights.

    A topic is the feature ``topic``, ``label`` or ``value`` of a highlight, else the name of its
    layer. Offsets count UTF-16 units, as in Java.
    """
    entries = [*gold.read().items("%FEATURE_STRUCTURES")]
    texts = {own.get("%ID", int): own.find("sofaString", str) for own in entries}
    titles = (own.value.get("documentTitle") for own in entries)
    doc = str(next(filter(None, titles), gold.source.stem))
    for own in entries:
        layer = own.get("%TYPE", str)
        begin, end, sofa = (own.find(name, int) for name in ("begin", "end", "@sofa"))
        if not layer.startswith(_LAYERS) or begin is None or end is None:
            continue
        text = texts.get(sofa or 0)
        if text is None:
            raise own.error(f": its text (@sofa {sofa}) is not in the file")
        units = text.encode("utf-16-le")
        if not 0 <= begin <= end <= len(units) // 2:
            raise own.error(f": [{begin},{end}) is not a span of the text", "span.offset")
        first, last = (len(units[: 2 * at].decode("utf-16-le", "ignore")) for at in (begin, end))
        features = (own.value.get(name) for name in ("topic", "label", "value"))
        label = str(next(filter(None, features), layer.rpartition(".")[2]))
        gold.add_text(doc, text, own)
        gold.add(gold.ask(label, label, own, again=True), own, TextSpan(doc, first, last))


# -- the formats -----------------------------------------------------------------------------------


def _holds(*words: str) -> Callable[[Source], bool]:
    """Recognise a file by words that it holds."""
    return lambda source: all(word.encode() in source.data for word in words)


def _begins(pattern: str) -> Callable[[Source], bool]:
    """Recognise a file by its first line."""
    return lambda source: re.search(pattern.encode(), source.head[1]) is not None


_DOCCANO = (
    r'^\{(?=.*"text"\s*:).*'
    r'("labels?"\s*:\s*\[\s*(\]|\[\s*\d+\s*,\s*\d+\s*,\s*")|"entities"\s*:\s*\[\s*(\]|.*"start_offset"))'
)

GOLD_FORMATS: dict[str, tuple[Callable[[Source], bool], Callable[[GoldFile], None]]] = {
    "chunking-evaluation": (_begins(_CHUNKING_HEADER), _read_chunking_evaluation),
    "legalbench-rag": (_holds('"tests"', '"query"', '"snippets"'), _read_legalbench_rag),
    "squad": (_holds('"data"', '"paragraphs"', '"answer_start"'), _read_squad),
    "bioasq": (_holds('"questions"', '"offsetInBeginSection"'), _read_bioasq),
    "kilt": (_begins(r'^\{(?=.*"input")(?=.*"output")(?=.*"provenance")'), _read_kilt),
    "qasper": (_holds('"full_text"', '"qas"', '"evidence"'), _read_qasper),
    "trec-genomics": (trec_genomics.is_gold, _read_genomics),
    "web-annotation": (_holds('"selector"', 'Selector"'), _read_web_annotation),
    "beir": (_begins(f"^{_BEIR_HEADER}$"), _read_beir),
    "mtcb": (_begins(r'^\{.*"chunk-must-contain"'), _read_mtcb),
    "label-studio": (_holds('"annotations"', '"result"', '"from_name"'), _read_label_studio),
    "doccano": (_begins(_DOCCANO), _read_doccano),
    "inception": (_holds('"%FEATURE_STRUCTURES"'), _read_inception),
}
"""Formats of gold data by name: a function that recognises a file, and its reader."""
RUN_FORMATS: dict[str, Callable[[Source], Run]] = {"trec-genomics-run": trec_genomics.read_run}
"""Formats of runs of other campaigns by name."""


def detect_gold(source: Source) -> str | None:
    """Return the format that the content shows; None unless exactly one is recognised."""
    fitting = [name for name, (is_format, _) in GOLD_FORMATS.items() if is_format(source)]
    return fitting[0] if len(fitting) == 1 else None


def read_gold(
    path: str | Path | Source,
    name: str | None = None,
    *,
    texts: Texts | str | Path | None = None,
    repair: bool = False,
    drop_mismatches: bool = False,
) -> tuple[Judgements, Topics]:
    """Return the judgements and topics of gold data of another tool.

    The format is one of `GOLD_FORMATS`, by default as the content shows. Every quote is compared
    with the `texts` of the documents, a mapping, or a folder or JSON Lines file of them; by default
    those that the file itself holds. `repair` moves a quote that is not at its offset to the only
    place within 100 characters; `drop_mismatches` drops quotes that do not match the text, and
    questions that lose all of theirs. `Judgements.notes` counts both.

    >>> question = '{"query": "Who?", "snippets": [{"file_path": "a.txt", "span": [3, 9]}]}'
    >>> gold = Source.of_text('{ "tests": [' + question + "]}", "nda.json")
    >>> judgements, topics = read_gold(gold, "legalbench-rag")
    >>> judgements.passages(0), topics["nda-0000"].title
    ([(3, 9)], 'Who?')
    """
    gold = _read(path, name)
    known = read_texts(texts) if isinstance(texts, (str, Path)) else texts
    if gold.texts:
        known = ChainMap(known or {}, gold.texts)  # type: ignore[arg-type] # nothing is written
    return build_judgements(gold, known, repair=repair, drop_mismatches=drop_mismatches)


def _read(path: str | Path | Source, name: str | None) -> GoldFile:
    """Read a file of a format, which is detected by default; a folder of BEIR has one file."""
    if name is not None and name not in GOLD_FORMATS:
        known = (*GOLD_FORMATS, *RUN_FORMATS)
        raise UsageError(f"unknown format {name!r}; expected {' or '.join(known)}")
    if name == "beir" and not isinstance(path, Source) and Path(path).is_dir():
        found = sorted(Path(path).glob("qrels/*.tsv"))
        if len(found) != 1:
            message = f"{len(found)} files in qrels; expected one, or name the file"
            raise InputError.at("gold.files", str(path), None, message)
        path = found[0]
    source = Source.of(path)
    name = name or detect_gold(source)
    if name is None:
        message = "unrecognised gold data; name the format, one of " + ", ".join(GOLD_FORMATS)
        raise source.error("gold.unknown_format", None, message)
    gold = GoldFile(source)
    GOLD_FORMATS[name][1](gold)
    return gold


def read_embedded_texts(path: str | Path | Source, name: str) -> dict[str, str]:
    """Return the documents that gold data holds, or its folder holds (BEIR): name to text."""
    gold = _read(path, name)
    texts = _read_beside(gold, "corpus.jsonl", "title", "text") if name == "beir" else gold.texts
    if not texts:
        message = f"no documents in the file, as {name} may have, or in corpus.jsonl in its folder"
        raise InputError.at("gold.files", gold.source.path, None, message)
    return {doc: text.strip() for doc, text in texts.items()} if name == "beir" else texts
