"""Build the derived files of the example campaign in ``examples/campaign``.

Written by hand are the documents, ``topics.jsonl`` and ``judgements_source.txt``. This script
finds every quoted passage in its document and writes ``judgements.jsonl`` and
``judgements.qrels``; then it ranks four kinds of text unit with BM25 and writes ``runs/``.

All offsets count Unicode code points of the document text, which is the text content of the
root element with its white space kept. The output depends on the input files only, so running
the script twice gives the same bytes.

Usage: python examples/make_campaign.py [CAMPAIGN_DIRECTORY]
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

CAMPAIGN = Path(__file__).resolve().parent / "campaign"
K1, B = 1.2, 0.75
WINDOW = 400
RUN_DEPTH = {"paragraphs": 20, "articles": 12, "windows": 15, "sections": 16}
ELLIPSIS = " ... "
STOPPED = "a an and are as at be by can did do for from had has have how in into is it its not of"
STOPPED += " on or so that the their them then they this to was were what when which who why with"
STOP_WORDS = frozenset(STOPPED.split())


class CampaignError(Exception):
    """The hand-written input of the campaign is inconsistent."""


@dataclass(frozen=True)
class Document:
    """The text of one document and the spans of its elements by element name."""

    name: str
    text: str
    elements: dict[str, list[tuple[int, int]]]


class Unit(NamedTuple):
    """A stretch of a document that a run may retrieve."""

    doc: str
    start: int
    end: int


class Hit(NamedTuple):
    """A retrieved unit with its score."""

    unit: Unit
    score: float


@dataclass
class Judgement:
    """What the source file says about one document for one topic."""

    line: int
    topic: str
    doc: str
    begin: str = ""
    nothing: bool = False
    passages: list[str] = field(default_factory=list)


def read_document(path: Path) -> Document:
    """Parse one XML file and locate its elements on the text axis."""
    pieces: list[str] = []
    elements: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def walk(element: ET.Element, position: int) -> int:
        start = position
        pieces.append(element.text or "")
        position += len(pieces[-1])
        for child in element:
            position = walk(child, position)
            pieces.append(child.tail or "")
            position += len(pieces[-1])
        elements[element.tag].append((start, position))
        return position

    walk(ET.parse(path).getroot(), 0)
    return Document(path.stem, "".join(pieces), dict(elements))


def read_judgements(path: Path) -> list[Judgement]:
    """Read the judgements as they were written down by hand."""
    judgements: list[Judgement] = []
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = raw.strip()
        keyword, _, rest = line.partition(" ")
        if not line or line.startswith("#"):
            continue
        if keyword == "==" and len(rest.split()) == 2:
            topic, doc = rest.split()
            judgements.append(Judgement(number, topic, doc))
        elif keyword == "passage:" and judgements:
            judgements[-1].passages.append(rest)
        elif keyword == "begin:" and judgements:
            judgements[-1].begin = rest
        elif line == "nothing" and judgements:
            judgements[-1].nothing = True
        else:
            raise CampaignError(f"{path.name}:{number}: cannot read this line: {raw}")
    return judgements


def locate(document: Document, quote: str) -> tuple[int, int]:
    """Return the span of words that must occur exactly once in the document."""
    pattern = r"\s+".join(re.escape(word) for word in quote.split())
    spans = [match.span() for match in re.finditer(pattern, document.text)]
    if len(spans) != 1:
        problem = f"occurs {len(spans)} times" if spans else "not found"
        raise CampaignError(f"{document.name}: quotation {problem}: {quote!r}")
    return spans[0]


def locate_passage(document: Document, quote: str) -> tuple[int, int]:
    """Return the span of a passage given in full or by its opening and closing words."""
    opening, _, closing = quote.partition(ELLIPSIS)
    start, end = locate(document, opening)
    if closing:
        _, end = locate(document, closing)
    if end <= start:
        raise CampaignError(f"{document.name}: passage ends before it begins: {quote!r}")
    return start, end


def resolve(judgement: Judgement, document: Document) -> dict[str, Any]:
    """Turn one hand-written judgement into a record with offsets."""
    place = f"judgement at line {judgement.line}"
    if judgement.nothing == bool(judgement.passages):
        raise CampaignError(f"{place}: give passages or 'nothing', and not both")
    record: dict[str, Any] = {"topic": judgement.topic, "doc": judgement.doc}
    record["length"] = len(document.text)
    spans = sorted(locate_passage(document, quote) for quote in judgement.passages)
    for (_, end), (start, _) in pairwise(spans):
        if start < end:
            raise CampaignError(f"{place}: passages overlap at offset {start}")
    if spans:
        record["bep"] = locate(document, judgement.begin)[0] if judgement.begin else spans[0][0]
    record["spans"] = [
        {"start": start, "end": end, "grade": 1, "quote": document.text[start:end]}
        for start, end in spans
    ]
    return record


def qrels_line(record: dict[str, Any]) -> str:
    """Write one judgement as a line of offsets and lengths."""
    sizes = [(span["start"], span["end"] - span["start"]) for span in record["spans"]]
    relevant = str(sum(length for _, length in sizes))
    fields = [record["topic"], "Q0", record["doc"], relevant, str(record["length"])]
    if sizes:
        fields += [str(record["bep"]), *(f"{start}:{length}" for start, length in sizes)]
    return " ".join(fields)


def terms(text: str) -> list[str]:
    """Split text into lower-case words without stop words, plural endings cut off."""
    words = (word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS)
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]


def element_units(documents: list[Document], tag: str) -> list[Unit]:
    """Return the spans of all elements of one name."""
    return [Unit(doc.name, *span) for doc in documents for span in doc.elements.get(tag, [])]


def window_units(documents: list[Document]) -> list[Unit]:
    """Return consecutive windows of fixed size; the last one of a document may be shorter."""
    return [
        Unit(doc.name, start, min(start + WINDOW, len(doc.text)))
        for doc in documents
        for start in range(0, len(doc.text), WINDOW)
    ]


def search(units: list[tuple[Unit, Counter[str]]], query: str, depth: int) -> list[Hit]:
    """Rank units by BM25; ties go by document name and offset."""
    average = sum(counts.total() for _, counts in units) / len(units)
    frequency = Counter(term for _, counts in units for term in counts)
    weights = {
        term: math.log(1 + (len(units) - frequency[term] + 0.5) / (frequency[term] + 0.5))
        for term in sorted(set(terms(query)))
    }
    hits = []
    for unit, counts in units:
        norm = K1 * (1 - B + B * counts.total() / average)
        score = math.fsum(
            weight * counts[term] * (K1 + 1) / (counts[term] + norm)
            for term, weight in weights.items()
        )
        hits.append(Hit(unit, round(score, 4)))
    hits.sort(key=lambda hit: (-hit.score, hit.unit))
    return [hit for hit in hits[:depth] if hit.score > 0]


def group_by_document(hits: list[Hit]) -> list[Hit]:
    """Bring the hits of a document together; each takes the score of the document's best hit."""
    groups: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        groups[hit.unit.doc].append(hit)
    return [Hit(hit.unit, group[0].score) for group in groups.values() for hit in group]


def write_lines(path: Path, lines: list[str]) -> None:
    """Write lines as UTF-8 with Unix line ends on every platform."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))


def write_json_lines(path: Path, records: list[dict[str, Any]], kind: str, **more: str) -> None:
    """Write a header and the records, each as one line of JSON."""
    header = {"type": "header", "format": f"foveal-{kind}", "version": 1, **more}
    header |= {"unit": "codepoint", "end": "exclusive"}
    write_lines(path, [json.dumps(record, ensure_ascii=False) for record in [header, *records]])


def write_run(directory: Path, name: str, results: dict[str, list[Hit]]) -> None:
    """Write one run: windows as JSON Lines, the others as lines of eight fields."""
    rows = [(t, rank, *hit) for t, hits in results.items() for rank, hit in enumerate(hits, 1)]
    if name == "windows":
        records = [
            {"topic": t, "doc": doc, "rank": rank, "score": score, "start": start, "end": end}
            for t, rank, (doc, start, end), score in rows
        ]
        write_json_lines(directory / f"{name}.jsonl", records, "run", run=name)
    else:
        lines = [
            f"{t} Q0 {doc} {rank} {score:.4f} {name} {start} {end - start}"
            for t, rank, (doc, start, end), score in rows
        ]
        write_lines(directory / f"{name}.run", lines)


def make_judgements(campaign: Path, documents: dict[str, Document], topics: set[str]) -> None:
    """Write the judgements in both formats."""
    records: dict[tuple[str, str], dict[str, Any]] = {}
    for judgement in read_judgements(campaign / "judgements_source.txt"):
        topic, doc, line = judgement.topic, judgement.doc, judgement.line
        if topic not in topics or doc not in documents or (topic, doc) in records:
            raise CampaignError(f"line {line}: unknown or repeated: topic {topic}, {doc}")
        records[topic, doc] = resolve(judgement, documents[doc])
    found = list(records.values())
    write_json_lines(campaign / "judgements.jsonl", found, "judgements")
    write_lines(campaign / "judgements.qrels", [qrels_line(record) for record in found])


def make_runs(campaign: Path, documents: list[Document], queries: dict[str, str]) -> None:
    """Write the four runs."""
    texts = {document.name: document.text for document in documents}
    units = {
        "paragraphs": element_units(documents, "p"),
        "articles": element_units(documents, "article"),
        "windows": window_units(documents),
        "sections": element_units(documents, "sec"),
    }
    for name, candidates in units.items():
        counted = [(u, Counter(terms(texts[u.doc][u.start : u.end]))) for u in candidates]
        results = {t: search(counted, query, RUN_DEPTH[name]) for t, query in queries.items()}
        if name == "sections":
            results = {topic: group_by_document(hits) for topic, hits in results.items()}
        write_run(campaign / "runs", name, results)


def build(campaign: Path) -> None:
    """Build all derived files of the campaign."""
    documents = {p.stem: read_document(p) for p in sorted(campaign.glob("documents/*.xml"))}
    lines = (campaign / "topics.jsonl").read_text(encoding="utf-8").splitlines()
    topics = [json.loads(line) for line in lines]
    queries = {t["topic"]: f"{t['title']} {t['description']}" for t in topics}
    make_judgements(campaign, documents, set(queries))
    make_runs(campaign, list(documents.values()), queries)


def main(arguments: list[str]) -> int:
    """Build the campaign in the directory given, or in the one beside this script."""
    try:
        build(Path(arguments[0]) if arguments else CAMPAIGN)
    except (CampaignError, OSError, ET.ParseError) as error:
        print(f"make_campaign: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
