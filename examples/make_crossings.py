"""Build the derived files of the campaign in ``examples/crossings``.

Written by hand are the documents, ``topics.jsonl`` and ``judgements_source.txt``. This script
finds every quoted passage in its document, grades every element with highlighted text, and writes
``judgements.jsonl``, ``judgements.qrels`` and ``assessments/``; then it searches the documents in
eight ways and writes ``runs/``.

Everything is first made as JSON Lines; Foveal itself reads those and writes the other formats.
Offsets count Unicode code points of the document text, which is the text content of the root
element with its white space kept. The output depends on the input files only, so running the
script twice gives the same bytes.

Usage: python examples/make_crossings.py [CAMPAIGN_DIRECTORY]
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from foveal import FovealError, read_judgements, read_run, write_judgements, write_run
from foveal.collection import Collection, Element, build_index
from foveal.evaluation.conversion import name_passages
from foveal.files.source import Source
from foveal.nexi import CAS, About, And, Or, list_tags, matches, parse
from foveal.nexi import Path as Steps
from foveal.nexi.query import Clause

CAMPAIGN = Path(__file__).resolve().parent / "crossings"
COLLECTION = "crossings"
ELLIPSIS = " ... "
TOO_SMALL = 60
SMALL_TAGS = frozenset({"title", "emph", "link"})
K1, B = 1.2, 0.75
WINDOW, STRIDE = 400, 200
NOISE, SEED = 15.0, 1912
STOPPED = "a an and are as at be by can did do for from had has have how in into is it its not of"
STOPPED += " on or so that the their them then they this to was were what when which who why with"
STOP_WORDS = frozenset(STOPPED.split())


class CampaignError(Exception):
    """The hand-written input of the campaign is inconsistent."""


# -- documents -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Document:
    """The text of one document and its elements in document order."""

    name: str
    text: str
    elements: list[Element]


def read_documents(folder: Path, collection: Collection) -> dict[str, Document]:
    """Read every document; the index tells where its elements are."""
    return {
        path.stem: Document(
            path.stem,
            "".join(ET.parse(path).getroot().itertext()),
            collection.all_elements(path.stem),
        )
        for path in sorted(folder.glob("*.xml"))
    }


def is_too_small(element: Element) -> bool:
    """Whether an element says too little to stand alone."""
    return list_tags(element.xpath)[-1] in SMALL_TAGS or element.end - element.start < TOO_SMALL


# -- judgements ----------------------------------------------------------------------------------


@dataclass
class Judgement:
    """What the source file says about one document for one topic."""

    line: int
    topic: str
    doc: str
    begin: str = ""
    nothing: bool = False
    passages: list[str] = field(default_factory=list)
    grades: dict[str, int] = field(default_factory=dict)

    def error(self, message: str) -> CampaignError:
        """Say what is wrong, and where this judgement begins."""
        return CampaignError(f"line {self.line}, topic {self.topic}, {self.doc}: {message}")


def read_source(path: Path) -> list[Judgement]:
    """Read the judgements as they were written down by hand."""
    judgements: list[Judgement] = []
    latest: list[Judgement] = []
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = raw.strip()
        keyword, _, rest = line.partition(" ")
        if not line or line.startswith("#"):
            continue
        if keyword == "==" and len(rest.split()) > 1:
            topic, *docs = rest.split()
            latest = [Judgement(number, topic, doc) for doc in docs]
            judgements += latest
        elif line == "nothing" and latest:
            for judgement in latest:
                judgement.nothing = True
        elif len(latest) != 1 or not _add(latest[0], keyword, rest):
            raise CampaignError(f"{path.name}:{number}: cannot read this line: {raw}")
    return judgements


def _add(judgement: Judgement, keyword: str, rest: str) -> bool:
    """Add what a line says to a judgement; tell whether it says anything."""
    if keyword == "passage:":
        judgement.passages.append(rest)
    elif keyword == "begin:":
        judgement.begin = rest
    elif keyword == "exhaustivity:" and (said := re.fullmatch(r"([12])(?: (/\S+))?", rest)):
        judgement.grades[said[2] or "/article[1]"] = int(said[1])
    else:
        return False
    return True


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
    """Turn one hand-written judgement into a record with offsets and graded elements."""
    if judgement.nothing == bool(judgement.passages):
        raise judgement.error("give passages or 'nothing', and not both")
    record: dict[str, Any] = {"topic": judgement.topic, "doc": judgement.doc}
    record["length"] = len(document.text)
    spans = sorted(locate_passage(document, quote) for quote in judgement.passages)
    for (_, end), (start, _) in pairwise(spans):
        if start < end:
            raise judgement.error(f"passages overlap at offset {start}")
    if spans:
        record["bep"] = locate(document, judgement.begin)[0] if judgement.begin else spans[0][0]
    record["spans"] = [
        {"start": start, "end": end, "grade": 1, "quote": document.text[start:end]}
        for start, end in spans
    ]
    record["elements"] = assess(judgement, document, spans)
    return record


def assess(
    judgement: Judgement, document: Document, spans: list[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Return exhaustivity, size and rsize of every element with highlighted text."""
    held = {
        element: rsize
        for element in document.elements
        if (rsize := sum(shared_length(element[1:], span) for span in spans))
    }
    rsizes = {e.xpath: rsize for e, rsize in held.items() if not is_too_small(e)}
    grades = infer_grades(judgement, rsizes)
    return [
        {
            "xpath": element.xpath,
            "exhaustivity": str(grades.get(element.xpath, "?")),
            "size": element.end - element.start,
            "rsize": rsize,
        }
        for element, rsize in held.items()
    ]


def shared_length(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Return how many characters two spans share."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def infer_grades(judgement: Judgement, rsizes: Mapping[str, int]) -> dict[str, int]:
    """Grade the elements that are large enough by the rules of the source file.

    The elements come in document order, so that parents stand before their children.
    """
    given = judgement.grades
    if unknown := [path for path in given if path not in rsizes]:
        raise judgement.error(f"{unknown[0]} is too small or holds no highlighted text")
    if rsizes and "/article[1]" not in given:
        raise judgement.error("the exhaustivity of the document is missing")
    grades = {path: given.get(path, 1) for path in rsizes}
    above = {path: path.rpartition("/")[0] for path in rsizes}
    for path in reversed(grades):
        parent = above[path]
        if parent in given and given[parent] < grades[path]:
            raise judgement.error(f"{path} is more exhaustive than {parent} around it")
        if parent in grades:
            grades[parent] = max(grades[parent], grades[path])
    for path in grades:
        parent = above[path]
        if parent in grades and rsizes[parent] == rsizes[path]:
            if given.get(path, grades[parent]) != grades[parent]:
                raise judgement.error(f"{path} and {parent} hold the same text, graded apart")
            grades[path] = grades[parent]
    return grades


def make_judgements(
    campaign: Path, documents: Mapping[str, Document], topics: Iterable[str], collection: Collection
) -> None:
    """Write the judgements in their three formats."""
    wanted = {(topic, doc) for topic in topics for doc in documents}
    records: dict[tuple[str, str], dict[str, Any]] = {}
    for judgement in read_source(campaign / "judgements_source.txt"):
        pair = judgement.topic, judgement.doc
        if pair not in wanted or pair in records:
            raise judgement.error("unknown or repeated")
        records[pair] = resolve(judgement, documents[judgement.doc])
    if missing := sorted(wanted - records.keys()):
        raise CampaignError(f"not judged: topic {missing[0][0]}, {missing[0][1]}")
    passages = [
        {name: value for name, value in record.items() if name != "elements"}
        for record in records.values()
    ]
    text = json_lines("judgements", passages)
    (campaign / "judgements.jsonl").write_bytes(text.encode())
    qrels = read_judgements(Source.of_text(text))
    write_judgements(qrels, campaign / "judgements.qrels", "fol")
    header = {"collection": COLLECTION, "scale": "2005", "whitespace": "keep"}
    graded = json_lines("judgements", records.values(), **header)
    assessed = name_passages(read_judgements(Source.of_text(graded)), collection)
    write_judgements(assessed, campaign / "assessments", "inex2005")


# -- search --------------------------------------------------------------------------------------


class Unit(NamedTuple):
    """A stretch of a document that a run may retrieve: an element, or a window without a path."""

    doc: str
    start: int
    end: int
    xpath: str = ""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags from the root down to the element."""
        return list_tags(self.xpath)

    def overlaps(self, other: Unit) -> bool:
        """Whether both share text."""
        return self.doc == other.doc and self.start < other.end and other.start < self.end


class Hit(NamedTuple):
    """A retrieved unit with its score."""

    unit: Unit
    score: float


def terms(text: str) -> list[str]:
    """Split text into lower-case words without stop words, plural endings cut off."""
    words = (word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS)
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]


@dataclass(frozen=True)
class Index:
    """Units to search and the statistics that BM25 takes."""

    counts: dict[Unit, Counter[str]]

    @classmethod
    def of(cls, units: Iterable[Unit], documents: Mapping[str, Document]) -> Index:
        """Count the words of the units."""
        texts = {unit: documents[unit.doc].text[unit.start : unit.end] for unit in units}
        return cls({unit: Counter(terms(text)) for unit, text in texts.items()})

    @cached_property
    def _average(self) -> float:
        return sum(counts.total() for counts in self.counts.values()) / len(self.counts)

    @cached_property
    def _frequency(self) -> Counter[str]:
        return Counter(term for counts in self.counts.values() for term in counts)

    def score(self, unit: Unit, query: str) -> float:
        """Score one unit by BM25."""
        counts = self.counts[unit]
        norm = K1 * (1 - B + B * counts.total() / self._average)
        return math.fsum(
            self._weight(term) * counts[term] * (K1 + 1) / (counts[term] + norm)
            for term in sorted(set(terms(query)))
        )

    def _weight(self, term: str) -> float:
        frequency = self._frequency[term]
        return math.log(1 + (len(self.counts) - frequency + 0.5) / (frequency + 0.5))

    def search(self, query: str) -> list[Hit]:
        """Rank the units that hold a word of the query."""
        return ranked((unit, self.score(unit, query)) for unit in self.counts)


def ranked(scored: Iterable[tuple[Unit, float]]) -> list[Hit]:
    """Put units with a score above zero in order; ties go by document, offset and path."""
    hits = [Hit(unit, round(score, 4)) for unit, score in scored]
    return sorted((h for h in hits if h.score > 0), key=lambda hit: (-hit.score, hit.unit))


def without_overlap(hits: Iterable[Hit]) -> list[Hit]:
    """Keep the better ranked of hits that overlap."""
    kept: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        if not any(hit.unit.overlaps(other.unit) for other in kept[hit.unit.doc]):
            kept[hit.unit.doc].append(hit)
    return sorted(
        (hit for own in kept.values() for hit in own), key=lambda hit: (-hit.score, hit.unit)
    )


def group_by_document(hits: Iterable[Hit]) -> list[Hit]:
    """Bring the hits of a document together; each takes the score of the document's best hit."""
    groups: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        groups[hit.unit.doc].append(hit)
    return [Hit(hit.unit, group[0].score) for group in groups.values() for hit in group]


def with_noise(hits: Iterable[Hit], units: Iterable[Unit], seed: str) -> list[Hit]:
    """Add up to `NOISE` points to the score of every unit, found or not."""
    scores = {hit.unit: hit.score for hit in hits}
    chance = random.Random(seed)
    return ranked((unit, scores.get(unit, 0.0) + NOISE * chance.random()) for unit in units)


@dataclass(frozen=True)
class Structured:
    """Answers to structured queries, taken at their word."""

    index: Index

    def search(self, castitle: str) -> list[Hit]:
        """Rank the target elements for which every part of the query finds something."""
        query = parse(castitle)
        if not isinstance(query, CAS):
            raise CampaignError(f"no structured query: {castitle}")
        by_document: dict[str, list[Unit]] = defaultdict(list)
        for unit in self.index.counts:
            by_document[unit.doc].append(unit)
        return ranked(
            (unit, self._all_parts(query, unit, own))
            for own in by_document.values()
            for unit in own
            if matches(query.target, unit.tags)
        )

    def _all_parts(self, query: CAS, target: Unit, own: list[Unit]) -> float:
        """Score the target and, for the parts before the last, the best element around it."""
        total, steps = 0.0, Steps(())
        for part in query.parts:
            steps = Steps(steps.steps + part.path.steps)
            last = part is query.parts[-1]
            around = [target] if last else [u for u in own if _is_around(u, target)]
            found = [u for u in around if matches(steps, u.tags)]
            best = max((self._clause(part.clause, u, own) for u in found), default=0.0)
            if not best:
                return 0.0
            total += best
        return total

    def _clause(self, clause: Clause | None, unit: Unit, own: list[Unit]) -> float:
        """Score one filter; an "and" of which one side finds nothing finds nothing."""
        if isinstance(clause, And | Or):
            scores = [self._clause(inner, unit, own) for inner in clause.clauses]
            return sum(scores) if isinstance(clause, Or) or all(scores) else 0.0
        if not isinstance(clause, About):
            raise CampaignError(f"cannot search for {clause}; expected about(...)")
        wanted = " ".join(w for term in clause.terms if term.sign != "-" for w in term.words)
        path = clause.path
        depth = len(unit.tags)
        looked_at = (
            [unit]
            if path is None
            else [u for u in own if _is_around(unit, u) and matches(path, u.tags[depth:])]
        )
        return max((self.index.score(u, wanted) for u in looked_at), default=0.0)


def _is_around(outer: Unit, inner: Unit) -> bool:
    return outer.doc == inner.doc and inner.xpath.startswith(f"{outer.xpath}/")


# -- runs ----------------------------------------------------------------------------------------


class Recipe(NamedTuple):
    """One run: its file, the task it declares, and how many results a topic gets."""

    file: str
    task: str
    depth: int
    about: str
    castitles: bool = False


ARTICLES = Recipe("articles.jsonl", "BestInContext", 20, "BM25 over whole articles")
SECTIONS = Recipe("sections.xml", "CO.Focussed", 25, "BM25 over sec and ss1, overlap removed")
PARAGRAPHS = Recipe("paragraphs.run", "Focused", 40, "BM25 over p")
THOROUGH = Recipe("thorough.xml", "CO.Thorough", 120, "BM25 over all elements, overlap kept")
FOCUSED = Recipe("focused.jsonl", "Focused", 40, "the ranking of thorough, overlap removed")
WINDOWS = Recipe("windows.jsonl", "RelevantInContext", 30, "BM25 over sliding windows, grouped")
STRICT = Recipe("strict.xml", "SSCAS", 60, "castitles taken at their word", castitles=True)
NOISY = Recipe("noisy.jsonl", "Focused", 40, "the scores of paragraphs with seeded noise")
FORMS = {".jsonl": "jsonl", ".xml": "inex", ".run": "fol"}


def element_units(documents: Mapping[str, Document]) -> list[Unit]:
    """Return all elements."""
    return [
        Unit(doc.name, e.start, e.end, e.xpath) for doc in documents.values() for e in doc.elements
    ]


def window_units(documents: Mapping[str, Document]) -> Iterator[Unit]:
    """Return windows of fixed size, each half covered by the next."""
    for doc in documents.values():
        for start in range(0, max(1, len(doc.text) - STRIDE), STRIDE):
            yield Unit(doc.name, start, min(start + WINDOW, len(doc.text)))


def make_runs(
    campaign: Path, documents: Mapping[str, Document], topics: Mapping[str, Mapping[str, str]]
) -> None:
    """Write the eight runs."""
    elements = element_units(documents)

    def tagged(*tags: str) -> Index:
        return Index.of((u for u in elements if u.tags[-1] in tags), documents)

    articles, sections, paragraphs = tagged("article"), tagged("sec", "ss1"), tagged("p")
    large = (u for u in elements if not is_too_small(Element(u.xpath, u.start, u.end)))
    everything = Index.of(large, documents)
    windows = Index.of(window_units(documents), documents)
    structured = Structured(Index.of(elements, documents))
    ways: dict[Recipe, Callable[[str, str], list[Hit]]] = {
        ARTICLES: lambda _, query: articles.search(query),
        SECTIONS: lambda _, query: without_overlap(sections.search(query)),
        PARAGRAPHS: lambda _, query: paragraphs.search(query),
        THOROUGH: lambda _, query: everything.search(query),
        FOCUSED: lambda _, query: without_overlap(everything.search(query)),
        WINDOWS: lambda _, query: without_overlap(windows.search(query)),
        STRICT: lambda _, query: structured.search(query),
        NOISY: lambda topic, query: with_noise(
            paragraphs.search(query), paragraphs.counts, f"{SEED} {topic}"
        ),
    }
    for recipe, way in ways.items():
        queries = {
            topic: t.get("castitle", "") if recipe.castitles else f"{t['title']} {t['description']}"
            for topic, t in topics.items()
        }
        results = {t: way(t, query)[: recipe.depth] for t, query in queries.items() if query}
        if recipe is WINDOWS:
            results = {topic: group_by_document(hits) for topic, hits in results.items()}
        write_results(campaign / "runs" / recipe.file, recipe, results)


def write_results(path: Path, recipe: Recipe, results: Mapping[str, list[Hit]]) -> None:
    """Write one run in the format that its file name asks for."""
    records = [
        {"topic": topic, "doc": unit.doc, "rank": rank, "score": score}
        | {"start": unit.start, "end": unit.end}
        | ({"xpath": unit.xpath} if unit.xpath else {})
        for topic, hits in results.items()
        for rank, (unit, score) in enumerate(hits, start=1)
    ]
    text = json_lines("run", records, run=path.stem, task=recipe.task)
    castitle, title = ("yes", "no") if recipe.castitles else ("no", "yes")
    fields = {"title": title, "castitle": castitle, "description": title, "narrative": "no"}
    header = {
        "participant-id": "0",
        "query": "automatic",
        "topic-fields": fields,
        "description": recipe.about,
        "collections": [COLLECTION],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_run(replace(read_run(Source.of_text(text)), header=header), path, FORMS[path.suffix])


# -- files ---------------------------------------------------------------------------------------


def json_lines(kind: str, records: Iterable[Mapping[str, Any]], **more: str) -> str:
    """Return a header and the records, each as one line of JSON."""
    header = {"type": "header", "format": f"foveal-{kind}", "version": 1, **more}
    header |= {"unit": "codepoint", "end": "exclusive"}
    return "".join(f"{json.dumps(r, ensure_ascii=False)}\n" for r in [header, *records])


def build(campaign: Path) -> None:
    """Build all derived files of the campaign."""
    lines = (campaign / "topics.jsonl").read_text(encoding="utf-8").splitlines()
    topics = {topic["topic"]: topic for topic in map(json.loads, lines)}
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "crossings.fvx"
        build_index(campaign / "documents", index)
        collection = Collection.open(index)
        documents = read_documents(campaign / "documents", collection)
        make_judgements(campaign, documents, topics, collection)
        make_runs(campaign, documents, topics)


def main(arguments: list[str]) -> int:
    """Build the campaign in the directory given, or in the one beside this script."""
    try:
        build(Path(arguments[0]) if arguments else CAMPAIGN)
    except (CampaignError, FovealError, OSError, ET.ParseError) as error:
        print(f"make_crossings: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
