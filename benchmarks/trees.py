"""A campaign like those of 2005 and 2006, made of random numbers: deep trees and entry points.

Documents are random trees with text of their own in leaves and between children; some elements are
empty, some have the extent of their only child. A topic's relevant documents hold a highlight or
two, each a part of the text of some element; every element that holds highlighted text is assessed.

    python -m benchmarks.trees OUT --topics 114 --results 1500 --runs 20
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks.generate import write_run
from benchmarks.sizes import generate_from_shell
from benchmarks.tree_campaign import Files, Size
from foveal.collection import build_index

__all__ = ["generate", "main"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Random = np.random.Generator

FIRST_TOPIC = 202
FILES_PER_FOLDER = 1000
DEPTH = 10
EMPTY_SHARE = 0.04
TOO_SMALL = 25
"""Elements of fewer characters are too small to be judged exhaustive."""
_TAGS = (
    ("article",),
    ("fm", "bdy", "bm"),
    ("sec", "st", "ack"),
    ("ss1", "p", "fig"),
    ("ss2", "p", "list"),
    ("p", "ip1", "item"),
    ("item", "it", "ref"),
    ("it", "b", "ref"),
)
"""By depth; deeper elements have the last ones."""


# -- documents ---------------------------------------------------------------------------------


class Documents(NamedTuple):
    """The elements of all documents, one after the other, parents before their children."""

    bounds: Ints
    """The elements of document ``i`` are ``bounds[i]:bounds[i + 1]``."""
    depth: Ints
    leaf: npt.NDArray[np.bool_]
    start: Ints
    end: Ints
    xpath: pl.Series

    def elements(self, document: int) -> slice:
        return slice(int(self.bounds[document]), int(self.bounds[document + 1]))

    def length(self, document: int) -> int:
        return int(self.end[self.bounds[document]])


class _Writer:
    """Writes one document and notes where its elements are."""

    def __init__(self, random: Random, elements: int, letters: str) -> None:
        self.random = random
        self.letters = letters
        self.children: list[list[int]] = [[] for _ in range(elements)]
        depth = np.zeros(elements, dtype=np.int64)
        for child, above in enumerate((random.random(elements) * np.arange(elements)).tolist()):
            parent = int(above) if depth[int(above)] < DEPTH else 0
            if child:
                depth[child] = depth[parent] + 1
                self.children[parent].append(child)
        # Text before the children of an element, and after them.
        inner = np.array([bool(children) for children in self.children])
        before = random.integers(10, 120, elements) * (random.random(elements) > EMPTY_SHARE)
        after = random.integers(5, 60, elements)
        self.before = np.where(inner & (random.random(elements) < 0.6), 0, before).tolist()
        self.after = np.where(inner & (random.random(elements) < 0.2), after, 0).tolist()
        self.choice = random.random(elements).tolist()
        self.position = 0
        self.parts: list[str] = []
        self.places: list[tuple[int, bool, int, int, str]] = []
        """Depth, whether it is a leaf, start, end and XPath."""

    def write(self, element: int, xpath: str, depth: int) -> None:
        tag = xpath.rpartition("/")[2].partition("[")[0]
        begin, number = self.position, len(self.places)
        self.places.append((depth, not self.children[element], begin, begin, xpath))
        self.parts.append(f"<{tag}>")
        self._text(self.before[element])
        seen: Counter[str] = Counter()
        tags = _TAGS[min(depth + 1, len(_TAGS) - 1)]
        for child in self.children[element]:
            inner = tags[int(self.choice[child] * len(tags))]
            seen[inner] += 1
            self.write(child, f"{xpath}/{inner}[{seen[inner]}]", depth + 1)
        self._text(self.after[element])
        self.parts.append(f"</{tag}>")
        self.places[number] = (depth, not self.children[element], begin, self.position, xpath)

    def _text(self, length: int) -> None:
        first = self.position % (len(self.letters) // 2)
        self.parts.append(self.letters[first : first + length])
        self.position += length


def _documents(root: Path, size: Size) -> Documents:
    random = np.random.default_rng([size.seed, 0])
    letters = "".join(random.choice(list("etaoin shrdlu"), 20_000))
    places: list[tuple[int, bool, int, int, str]] = []
    bounds = [0]
    for number in range(size.documents):
        elements = round(size.elements * 2 ** random.uniform(-1, 1))
        writer = _Writer(random, elements, letters)
        writer.write(0, "/article[1]", 0)
        folder = root / f"{number // FILES_PER_FOLDER:03}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.xml").write_text("".join(writer.parts))
        places += writer.places
        bounds.append(len(places))
    depth, leaf, start, end, xpath = zip(*places, strict=True)
    return Documents(
        np.array(bounds),
        np.array(depth),
        np.array(leaf),
        np.array(start),
        np.array(end),
        pl.Series(xpath, dtype=pl.String),
    )


def _name(document: int) -> str:
    return f"{document // FILES_PER_FOLDER:03}/{document}"


# -- judgements --------------------------------------------------------------------------------


class Gold(NamedTuple):
    """A relevant document of a topic."""

    document: int
    spans: list[tuple[int, int]]
    bep: int
    element: Ints
    """The elements that hold highlighted text."""
    rsize: Ints


class Topic(NamedTuple):
    number: int
    relevant: list[Gold]
    other: list[int]

    @property
    def documents(self) -> Ints:
        return np.array([judged.document for judged in self.relevant])


def _topic(documents: Documents, size: Size, number: int) -> Topic:
    random = np.random.default_rng([size.seed, 1, number])
    judged = random.choice(size.documents, size.judged, replace=False).tolist()
    relevant = [_judged(random, documents, document) for document in judged[: size.relevant]]
    return Topic(FIRST_TOPIC + number, relevant, judged[size.relevant :])


def _judged(random: Random, documents: Documents, document: int) -> Gold:
    """Highlights in one document: most of them in leaves, some a large element or part of one."""
    own = documents.elements(document)
    start, end = documents.start[own], documents.end[own]
    long, leaf = end - start > TOO_SMALL, documents.leaf[own]
    marked = np.zeros(end[0], dtype=bool)
    first = None
    for _ in range(1 + int(random.random() < 0.25)):
        wanted = np.flatnonzero(long & leaf if random.random() < 0.8 else long)
        # Of some drawn at random the highest: all that is above a highlight is relevant, too.
        drawn = random.choice(wanted, 3) if len(wanted) else np.zeros(1, dtype=np.int64)
        element = int(drawn[documents.depth[own][drawn].argmin()])
        size = int(end[element] - start[element])
        cut = random.integers(0, size // 3 + 1, 2) * (random.random(2) < 0.3)
        begin = int(start[element]) + int(cut[0])
        marked[begin : int(end[element]) - int(cut[1])] = True
        first = begin if first is None else min(first, begin)
    edges = np.flatnonzero(np.diff(marked, prepend=False, append=False)).tolist()
    before = np.concatenate([[0], np.cumsum(marked)])
    rsize = before[end] - before[start]
    held = np.flatnonzero(rsize > 0)
    spans = list(zip(edges[::2], edges[1::2], strict=True))
    return Gold(document, spans, first or 0, held + own.start, rsize[held])


def _write_judgements(
    documents: Documents,
    topics: Sequence[Topic],
    path: Path,
    scale: str,
    grades: Callable[[Ints, Ints], list[dict[str, Any]]],
    *,
    spans: bool,
) -> None:
    """JSON Lines; `grades` are those of elements with these sizes, the root first."""
    header = {"type": "header", "format": "foveal-judgements", "version": 1, "scale": scale}
    lines = [json.dumps(header)]
    for topic in topics:
        for judged in topic.relevant:
            size = documents.end[judged.element] - documents.start[judged.element]
            xpath = documents.xpath.gather(judged.element).to_list()
            elements = [
                {"xpath": path} | grade
                for path, grade in zip(xpath, grades(size, judged.rsize), strict=True)
            ]
            line = _line(documents, topic, judged.document) | {"elements": elements}
            if spans:
                marked = [{"start": start, "end": end} for start, end in judged.spans]
                line |= {"bep": judged.bep, "spans": marked}
            lines.append(json.dumps(line, separators=(",", ":")))
        nothing: dict[str, Any] = {"spans": []} if spans else {"elements": []}
        lines += [
            json.dumps(_line(documents, topic, document) | nothing, separators=(",", ":"))
            for document in topic.other
        ]
    path.write_text("\n".join(lines) + "\n")


def _line(documents: Documents, topic: Topic, document: int) -> dict[str, Any]:
    length = documents.length(document)
    return {"topic": str(topic.number), "doc": _name(document), "length": length}


def _of_2005(size: Ints, rsize: Ints) -> list[dict[str, Any]]:
    """Exhaustivity, which never grows on the way down, and sizes."""
    most = 1 + int(rsize[0]) % 2
    exhaustive = np.where(2 * rsize >= rsize[0], most, 1)
    return [
        {"exhaustivity": "?" if length < TOO_SMALL else str(grade), "size": length, "rsize": marked}
        for grade, length, marked in zip(
            exhaustive.tolist(), size.tolist(), rsize.tolist(), strict=True
        )
    ]


def _of_2003(size: Ints, rsize: Ints) -> list[dict[str, Any]]:
    """Exhaustivity and specificity from 1 to 3."""
    most = 1 + int(rsize[0]) % 3
    exhaustive = np.maximum(np.ceil(most * rsize / rsize[0]), 1).astype(np.int64)
    specific = np.maximum(np.ceil(3 * rsize / size), 1).astype(np.int64)
    return [
        {"exhaustivity": str(first), "specificity": str(second)}
        for first, second in zip(exhaustive.tolist(), specific.tolist(), strict=True)
    ]


# -- runs --------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """How a system behaves."""

    name: str
    task: str
    per_document: int
    """About how many results a document gets."""
    disjoint: bool = False
    grouped: bool = False
    quality: tuple[float, float] = (0.3, 0.9)
    decimals: int = 2
    """Of scores: the fewer, the more ties."""
    repeats: float = 0.0
    """Share of results that repeat another one."""


KINDS = (
    Kind("thorough", "CO.Thorough", 5),
    Kind("focused", "CO.Focussed", 3, disjoint=True),
    Kind("browse", "CO.FetchBrowse", 10, grouped=True),
    Kind("noisy", "CO.Thorough", 2, quality=(0.0, 0.3), decimals=1, repeats=0.02),
)
ENTRIES = Kind("entries", "BestInContext", 1)


def _run(
    documents: Documents, topics: Sequence[Topic], kind: Kind, results: int, random: Random
) -> pl.DataFrame:
    """The results of one system: topic, doc, rank, rsv, xpath."""
    quality = random.uniform(*kind.quality)
    parts = []
    for topic in topics:
        element, document, rsv = _ranked(documents, topic, kind, results, quality, random)
        parts.append(
            pl.DataFrame(
                {
                    "topic": np.full(len(element), topic.number),
                    "doc": [_name(number) for number in document.tolist()],
                    "rank": np.arange(1, len(element) + 1),
                    "rsv": rsv,
                    "xpath": documents.xpath.gather(element),
                }
            )
        )
    return pl.concat(parts)


def _ranked(
    documents: Documents, topic: Topic, kind: Kind, results: int, quality: float, random: Random
) -> tuple[Ints, Ints, Floats]:
    """Elements, their documents and their scores, best first."""
    n = len(documents.bounds) - 1
    liked = random.exponential(1.0, n)
    liked[topic.documents] += 4 * quality * random.random(len(topic.relevant))
    liked[topic.other] += quality
    order = np.argsort(-liked, kind="stable")
    fetched, element = results // kind.per_document, np.zeros(0, dtype=np.int64)
    while len(element) < results and fetched <= 2 * n:
        document = np.sort(order[:fetched])
        element, of = _candidates(documents, document, kind, random)
        fetched *= 2
    good = np.zeros(len(documents.depth), dtype=bool)
    good[np.concatenate([judged.element for judged in topic.relevant])] = True
    rsv = random.exponential(1.0, len(element)) + 3 * quality * good[element]
    if not kind.grouped:
        rsv += 2 * liked[of]
    if kind is ENTRIES:
        first = np.flatnonzero(np.diff(of, prepend=-1))
        most = np.repeat(np.maximum.reduceat(rsv, first), np.diff(first, append=len(of)))
        element, of, rsv = element[rsv == most], of[rsv == most], rsv[rsv == most]
    top = np.argsort(-rsv, kind="stable")[:results]
    if kind.grouped:
        top = top[np.argsort(-liked[of[top]], kind="stable")]
    again = np.flatnonzero(random.random(len(top)) < kind.repeats)
    top[again] = top[again // 2]
    if kind.grouped:
        rsv = rsv[top] + 1e3 * (results - np.cumsum(np.diff(of[top], prepend=-1) != 0))
        return element[top], of[top], np.round(rsv, kind.decimals)
    return element[top], of[top], np.sort(np.round(rsv[top], kind.decimals))[::-1]


def _candidates(
    documents: Documents, document: Ints, kind: Kind, random: Random
) -> tuple[Ints, Ints]:
    """The elements of some documents that a system may return, and their documents.

    Where results must not overlap, a document is cut at one depth: elements there, and the leaves
    above.
    """
    counts = np.diff(documents.bounds)[document]
    of = np.repeat(document, counts)
    shift = np.repeat(documents.bounds[document] - (np.cumsum(counts) - counts), counts)
    element = np.arange(len(of)) + shift
    kept = documents.end[element] > documents.start[element]
    if kind.disjoint:
        cut = np.repeat(random.integers(1, 6, len(document)), counts)
        depth = documents.depth[element]
        kept &= (depth == cut) | (documents.leaf[element] & (depth < cut))
    return element[kept], of[kept]


def _write_inex(run: pl.DataFrame, name: str, task: str, path: Path) -> None:
    """A submission in XML."""
    tagged = {"file": "doc", "path": "xpath", "rank": "rank", "rsv": "rsv"}
    inside = pl.concat_str(
        part
        for tag, column in tagged.items()
        for part in (pl.lit(f"<{tag}>"), pl.col(column), pl.lit(f"</{tag}>"))
    )
    line = pl.concat_str(pl.lit("<result>"), inside, pl.lit("</result>"))
    opening = f'<inex-submission participant-id="1" run-id="{name}" task="{task}">'
    parts = [opening]
    for (topic,), own in run.group_by("topic", maintain_order=True):
        parts.append(f'<topic topic-id="{topic}">')
        parts += own.select(line.alias("line"))["line"].to_list()
        parts.append("</topic>")
    path.write_text("\n".join([*parts, "</inex-submission>"]) + "\n")


# -- all of it ---------------------------------------------------------------------------------


def generate(root: Path, size: Size) -> Files:
    """Write a campaign and index its collection, in a directory that is empty or does not exist."""
    files = Files(root)
    files.new()
    documents = _documents(files.articles, size)
    build_index(files.articles, files.index)
    topics = [_topic(documents, size, number) for number in range(size.topics)]
    _write_judgements(documents, topics, files.judgements, "2005", _of_2005, spans=True)
    _write_judgements(documents, topics, files.grades, "2003", _of_2003, spans=False)
    for folder in ("elements", "entries", "submissions"):
        (root / folder).mkdir()
    for number in range(size.runs):
        kind = KINDS[number % len(KINDS)]
        name = f"{kind.name}{number // len(KINDS) + 1:02}"
        random = np.random.default_rng([size.seed, 2, number])
        run = _run(documents, topics, kind, size.results, random)
        write_run(run, name, root / "elements" / f"{name}.run", "xpath")
        if number < len(KINDS):
            _write_inex(run, name, kind.task, root / "submissions" / f"{name}.xml")
        name = f"entries{number + 1:02}"
        random = np.random.default_rng([size.seed, 3, number])
        run = _run(documents, topics, ENTRIES, size.results, random)
        write_run(run, name, root / "entries" / f"{name}.run", "xpath")
    files.note(_facts(documents, topics))
    files.complete(size)
    return files


def _facts(documents: Documents, topics: Sequence[Topic]) -> dict[str, float]:
    """What a reader of the figures wants to know of the campaign."""
    judged = [judged for topic in topics for judged in topic.relevant]
    return {
        "elements": len(documents.depth),
        "depth": int(documents.depth.max()),
        "relevant elements per topic": sum(len(j.element) for j in judged) / len(topics),
        "passages per topic": sum(len(j.spans) for j in judged) / len(topics),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    generate_from_shell("python -m benchmarks.trees", __doc__, generate, Size, arguments)


if __name__ == "__main__":
    main()
