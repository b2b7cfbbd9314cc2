"""A campaign made of random numbers: topics x results x runs of passages, and judgements.

Documents are cut into cells of equal width and a passage lies inside one cell, so the results of
a document cannot overlap and none ends past its document; those of thorough runs are one, two, four
or eight cells, so that they lie inside each other. Popular documents are drawn more often than
others, judged ones more often still, and relevant ones tend to stand higher.

    python -m benchmarks.generate OUT --topics 114 --results 1500 --runs 100

Every run has random numbers of its own, so that several processes can write them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks.campaign import DOCUMENT_RUNS, KINDS, Files, Size
from benchmarks.sizes import CampaignSize, generate_from_shell

__all__ = [
    "draw_run",
    "draw_truth",
    "format_judgements",
    "generate",
    "main",
    "write_passages",
    "write_run",
]

Ints = npt.NDArray[np.int64]

CELL = 500
"""Width of a cell in characters; no document is shorter."""
LONGEST = 200_000
"""Characters of a document."""
WIDTH = LONGEST // CELL + 1
"""More than the cells of any document."""

FIRST_TOPIC = 2009001
PASSAGES_PER_DOCUMENT = 3
RELEVANT_SHARE = 0.15
MOST_HIGHLIGHTS = 5
LEVELS = 4
"""Of the passages of thorough runs; each level is twice as wide as the one before."""
WORTH_SHARING = 1_000_000
"""Results from which on several processes write them."""


class Collection(NamedTuple):
    """Documents, by position: the most popular first."""

    name: Ints
    length: Ints


class Topic(NamedTuple):
    """The judged documents of a topic (positions in the collection) and their highlights."""

    number: int
    relevant: Ints
    other: Ints
    highlights: list[list[tuple[int, int]]]
    """(start, length) of the passages of each relevant document."""


class Passages(NamedTuple):
    """Results of one topic in any order."""

    doc: Ints
    start: Ints
    length: Ints


def generate(root: Path, size: Size, workers: int | None = None) -> Files:
    """Write a campaign into a directory that is empty or does not exist.

    The number of processes that write does not change what they write.
    """
    files = Files(root)
    files.new()
    for folder in ("documents", *KINDS[: size.kinds]):
        (root / folder).mkdir(parents=True, exist_ok=True)
    documents, topics = draw_truth(size)
    files.judgements.write_text(format_judgements(documents, topics))
    files.document_judgements.write_text(_document_judgements(documents, topics))
    results = -(-size.short // size.topics)
    random = np.random.default_rng([size.seed, 3])
    short = draw_run(documents, topics, results, KINDS[0], random)
    write_passages(short.head(size.short), "short", files.short_run)
    if workers is None:
        worth = size.kinds * size.lines >= WORTH_SHARING
        workers = (os.cpu_count() or 1) if worth else 1
    if workers == 1:
        _write_runs(range(size.runs), root, size)
    else:
        shares = [range(first, size.runs, workers) for first in range(workers)]
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            list(pool.map(partial(_write_runs, root=root, size=size), shares))
    files.complete(size)
    return files


def draw_truth(size: CampaignSize) -> tuple[Collection, list[Topic]]:
    """Return the documents, and the topics with their judgements."""
    documents = _collection(size)
    return documents, [_topic(documents, size, number) for number in range(size.topics)]


def _write_runs(numbers: range, root: Path, size: Size) -> None:
    """The runs of these numbers, of every kind."""
    documents, topics = draw_truth(size)
    for kind, number in _each(numbers, size):
        # A width for all, so that the names of files are in the order of the numbers.
        name = f"system{number + 1:04}"
        random = np.random.default_rng([size.seed, 2, KINDS.index(kind), number])
        run = draw_run(documents, topics, size.results, kind, random)
        write_passages(run, name, root / kind / f"{name}.run")
        if kind == KINDS[0] and number < DOCUMENT_RUNS:
            _write_documents(run, name, root / "documents" / f"{name}.run")


def _each(numbers: range, size: Size) -> Iterator[tuple[str, int]]:
    return ((kind, number) for kind in KINDS[: size.kinds] for number in numbers)


def _collection(size: CampaignSize) -> Collection:
    random = np.random.default_rng([size.seed, 0])
    name = random.choice(40 * size.documents, size.documents, replace=False)
    length = random.lognormal(np.log(6000), 1.0, size.documents)
    return Collection(name.astype(np.int64), np.clip(length, CELL, LONGEST).astype(np.int64))


def _popular(random: np.random.Generator, n: int, documents: int) -> Ints:
    """Positions of `n` documents, the first ones far more often than the last."""
    return (documents * random.random(n) ** 3).astype(np.int64)


def _topic(documents: Collection, size: CampaignSize, number: int) -> Topic:
    random = np.random.default_rng([size.seed, 1, number])
    judged = np.zeros(0, dtype=np.int64)
    while len(judged) < size.judged:
        judged = np.unique(np.concatenate([judged, _popular(random, size.judged, size.documents)]))
    judged = random.permutation(judged)[: size.judged]
    relevant = judged[: max(1, round(RELEVANT_SHARE * len(judged)))]
    return Topic(
        FIRST_TOPIC + number,
        relevant,
        judged[len(relevant) :],
        [_highlights(random, int(documents.length[doc])) for doc in relevant],
    )


def _highlights(random: np.random.Generator, length: int) -> list[tuple[int, int]]:
    """Disjoint passages of one document, in reading order."""
    cells = length // CELL
    most = min(MOST_HIGHLIGHTS, cells)
    first = np.sort(random.choice(cells, random.integers(1, most + 1), replace=False)) * CELL
    room = np.diff(first, append=length)
    starts = first + random.integers(0, CELL // 4, len(first))
    ends = first + np.maximum(CELL // 2, (room * random.random(len(first))).astype(np.int64))
    return [(int(start), int(end - start)) for start, end in zip(starts, ends, strict=True)]


def draw_run(
    documents: Collection,
    topics: Sequence[Topic],
    results: int,
    kind: str,
    random: np.random.Generator,
) -> pl.DataFrame:
    """The results of one system: topic, doc, rank, rsv, start, length."""
    quality = random.uniform(0.3, 0.9)
    draw = {"entries": _entries, "thorough": _nested}.get(kind, _disjoint)
    found: list[Passages] = []
    scores = []
    for topic in topics:
        passages = draw(documents, topic, results, quality, random)
        rsv = random.exponential(3.0, results) + 6 * quality * np.isin(passages.doc, topic.relevant)
        order = np.argsort(-rsv)
        if kind == "context":
            order = order[_by_document(passages.doc[order])]
        found.append(Passages(*(column[order] for column in passages)))
        # Documents stand in the order of their best results; the scores of a run fall with ranks.
        scores.append(-np.sort(-rsv))
    return pl.DataFrame(
        {
            "topic": np.repeat([topic.number for topic in topics], results),
            "doc": documents.name[np.concatenate([own.doc for own in found])],
            "rank": np.tile(np.arange(1, results + 1), len(topics)),
            "rsv": np.concatenate(scores),
            "start": np.concatenate([own.start for own in found]),
            "length": np.concatenate([own.length for own in found]),
        }
    )


def _by_document(doc: Ints) -> Ints:
    """The order that brings the results of a document to the first of them."""
    _, first, which = np.unique(doc, return_index=True, return_inverse=True)
    return np.argsort(first[which], kind="stable")


def _candidates(
    documents: Collection,
    topic: Topic,
    results: int,
    quality: float,
    random: np.random.Generator,
) -> Ints:
    """Documents that a system may return, those it likes several times."""
    return np.concatenate(
        [
            np.repeat(topic.relevant[random.random(len(topic.relevant)) < quality], 4),
            topic.other[random.random(len(topic.other)) < quality / 2],
            _popular(random, -(-results // PASSAGES_PER_DOCUMENT), len(documents.name)),
        ]
    )


def _first_of_each(values: Ints) -> Ints:
    """Every value once, where it first occurs."""
    return values[np.sort(np.unique(values, return_index=True)[1])]


def _disjoint(
    documents: Collection, topic: Topic, results: int, quality: float, random: np.random.Generator
) -> Passages:
    """Distinct pairs of document and cell, as many as there are results."""
    pairs = np.zeros(0, dtype=np.int64)
    while len(pairs) < results:
        candidates = _candidates(documents, topic, results, quality, random)
        doc = random.choice(candidates, results)
        cell = (documents.length[doc] // CELL * random.random(results)).astype(np.int64)
        pairs = _first_of_each(np.concatenate([pairs, doc * WIDTH + cell]))
    doc, cell = np.divmod(pairs[:results], WIDTH)
    shift = random.integers(0, CELL // 4, results)
    length = random.integers(CELL // 4, CELL - CELL // 4, results)
    return Passages(doc, cell * CELL + shift, length)


def _nested(
    documents: Collection, topic: Topic, results: int, quality: float, random: np.random.Generator
) -> Passages:
    """Distinct passages of one, two, four or eight cells: any two are apart or one in the other."""
    drawn = np.zeros(0, dtype=np.int64)
    while len(drawn) < results:
        candidates = _candidates(documents, topic, results, quality, random)
        doc = random.choice(candidates, results)
        level = random.integers(0, LEVELS, results)
        cell = (documents.length[doc] // CELL * random.random(results)).astype(np.int64) >> level
        drawn = _first_of_each(np.concatenate([drawn, (doc * LEVELS + level) * WIDTH + cell]))
    pairs, cell = np.divmod(drawn[:results], WIDTH)
    doc, level = np.divmod(pairs, LEVELS)
    start = (cell << level) * CELL
    return Passages(doc, start, np.minimum(CELL << level, documents.length[doc] - start))


def _entries(
    documents: Collection, topic: Topic, results: int, quality: float, random: np.random.Generator
) -> Passages:
    """A passage for each of as many documents as there are results."""
    doc = np.zeros(0, dtype=np.int64)
    while len(doc) < results:
        candidates = _candidates(documents, topic, 2 * results, quality, random)
        doc = _first_of_each(np.concatenate([doc, random.permutation(candidates)]))
    doc = doc[:results]
    start = (documents.length[doc] * random.random(results) ** 2).astype(np.int64)
    length = np.minimum(random.integers(CELL // 4, CELL, results), documents.length[doc] - start)
    return Passages(doc, start, length)


def write_passages(run: pl.DataFrame, name: str, path: Path | IO[bytes]) -> None:
    """A passage run: topic Q0 doc rank rsv runid start length."""
    write_run(run, name, path, "start", "length", decimals=6)


def _write_documents(run: pl.DataFrame, name: str, path: Path) -> None:
    """A TREC run: topic Q0 doc rank score runid."""
    first = run.unique(["topic", "doc"], keep="first", maintain_order=True)
    rank = pl.int_range(1, pl.len() + 1).over("topic")
    write_run(first.with_columns(rank=rank), name, path, decimals=6)


def write_run(
    run: pl.DataFrame,
    name: str,
    path: Path | IO[bytes],
    *place: str,
    decimals: int | None = None,
) -> None:
    """Lines of a run as TREC has them; the columns `place` follow, which tell where a result is."""
    own = {"Q0": pl.lit("Q0"), "runid": pl.lit(name)}
    fields = ("topic", "Q0", "doc", "rank", "rsv", "runid", *place)
    run.with_columns(**own).select(fields).write_csv(
        path, separator=" ", include_header=False, float_precision=decimals, quote_style="never"
    )


def format_judgements(documents: Collection, topics: Sequence[Topic]) -> str:
    """Passage judgements: topic Q0 doc relchars doclen bep off:len ...; 5 fields if irrelevant."""
    lines = []
    for topic in topics:
        for doc, passages in zip(topic.relevant, topic.highlights, strict=True):
            total = sum(length for _, length in passages)
            spans = " ".join(f"{start}:{length}" for start, length in passages)
            place = f"{topic.number} Q0 {documents.name[doc]} {total} {documents.length[doc]}"
            lines.append(f"{place} {passages[0][0]} {spans}\n")
        lines += [
            f"{topic.number} Q0 {documents.name[doc]} 0 {documents.length[doc]}\n"
            for doc in topic.other
        ]
    return "".join(lines)


def _document_judgements(documents: Collection, topics: Sequence[Topic]) -> str:
    """TREC judgements: topic 0 doc relevance."""
    return "".join(
        f"{topic.number} 0 {documents.name[doc]} {relevance}\n"
        for topic in topics
        for relevance, judged in ((1, topic.relevant), (0, topic.other))
        for doc in judged
    )


def main(arguments: Sequence[str] | None = None) -> None:
    generate_from_shell("python -m benchmarks.generate", __doc__, generate, Size, arguments)


if __name__ == "__main__":
    main()
