"""A campaign made of random numbers: topics x results x runs of passages, and judgements.

Documents are cut into cells of equal width and a passage lies inside one cell, so the results of
a document cannot overlap and none ends past its document. Popular documents are drawn more often
than others, judged ones more often still, and relevant ones tend to stand higher.

    python -m benchmarks.generate OUT --topics 114 --results 1500 --runs 20
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks.campaign import Files, Size
from benchmarks.sizes import generate_from_shell

__all__ = ["generate", "main", "write_run"]

Ints = npt.NDArray[np.int64]

CELL = 500
"""Width of a cell in characters; no document is shorter."""

FIRST_TOPIC = 2009001
PASSAGES_PER_DOCUMENT = 3
RELEVANT_SHARE = 0.15
MOST_HIGHLIGHTS = 5


class Collection(NamedTuple):
    """Documents, by position: the most popular first."""

    name: Ints
    length: Ints

    @property
    def cells(self) -> Ints:
        return self.length // CELL


class Topic(NamedTuple):
    """The judged documents of a topic (positions in the collection) and their highlights."""

    number: int
    relevant: Ints
    other: Ints
    highlights: list[list[tuple[int, int]]]
    """(start, length) of the passages of each relevant document."""


def generate(root: Path, size: Size) -> Files:
    """Write a campaign into a directory that is empty or does not exist."""
    files = Files(root)
    files.new()
    for path in (files.judgements, files.document_judgements):
        path.parent.mkdir(parents=True, exist_ok=True)
    documents = _collection(size)
    topics = [_topic(documents, size, number) for number in range(size.topics)]
    files.judgements.write_text(_judgements(documents, topics))
    files.document_judgements.write_text(_document_judgements(documents, topics))
    for number in range(1, size.runs + 1):
        name = f"system{number:02}"
        run = _run(documents, topics, size.results, np.random.default_rng([size.seed, 2, number]))
        _write(run, name, files.judgements.with_name(f"{name}.run"))
        _write_documents(run, name, files.document_judgements.with_name(f"{name}.run"))
    results = -(-size.short // size.topics)
    short = _run(documents, topics, results, np.random.default_rng([size.seed, 3]))
    _write(short.head(size.short), "short", files.short_run)
    files.complete(size)
    return files


def _collection(size: Size) -> Collection:
    random = np.random.default_rng([size.seed, 0])
    name = random.choice(40 * size.documents, size.documents, replace=False)
    length = random.lognormal(np.log(6000), 1.0, size.documents)
    return Collection(name.astype(np.int64), np.clip(length, CELL, 200_000).astype(np.int64))


def _popular(random: np.random.Generator, n: int, documents: int) -> Ints:
    """Positions of `n` documents, the first ones far more often than the last."""
    return (documents * random.random(n) ** 3).astype(np.int64)


def _topic(documents: Collection, size: Size, number: int) -> Topic:
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


def _run(
    documents: Collection, topics: Sequence[Topic], results: int, random: np.random.Generator
) -> pl.DataFrame:
    """The results of one system: topic, doc, rank, rsv, start, length."""
    quality = random.uniform(0.3, 0.9)
    parts = []
    for topic in topics:
        doc, cell = _passages(documents, topic, results, quality, random)
        rsv = random.exponential(3.0, results) + 6 * quality * np.isin(doc, topic.relevant)
        order = np.argsort(-rsv)
        shift = random.integers(0, CELL // 4, results)
        length = random.integers(CELL // 4, CELL - CELL // 4, results)
        parts.append(
            pl.DataFrame(
                {
                    "topic": np.full(results, topic.number),
                    "doc": documents.name[doc][order],
                    "rank": np.arange(1, results + 1),
                    "rsv": rsv[order],
                    "start": (cell * CELL + shift)[order],
                    "length": length[order],
                }
            )
        )
    return pl.concat(parts)


def _passages(
    documents: Collection,
    topic: Topic,
    results: int,
    quality: float,
    random: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Distinct pairs of document and cell, as many as there are results."""
    width = int(documents.cells.max()) + 1
    pairs = np.zeros(0, dtype=np.int64)
    while len(pairs) < results:
        candidates = np.concatenate(
            [
                np.repeat(topic.relevant[random.random(len(topic.relevant)) < quality], 4),
                topic.other[random.random(len(topic.other)) < quality / 2],
                _popular(random, -(-results // PASSAGES_PER_DOCUMENT), len(documents.name)),
            ]
        )
        doc = random.choice(candidates, results)
        cell = (documents.cells[doc] * random.random(results)).astype(np.int64)
        drawn = np.concatenate([pairs, doc * width + cell])
        pairs = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    doc, cell = np.divmod(pairs[:results], width)
    return doc, cell


def _write(run: pl.DataFrame, name: str, path: Path) -> None:
    """A passage run: topic Q0 doc rank rsv runid start length."""
    write_run(run, name, path, "start", "length", decimals=6)


def _write_documents(run: pl.DataFrame, name: str, path: Path) -> None:
    """A TREC run: topic Q0 doc rank score runid."""
    first = run.unique(["topic", "doc"], keep="first", maintain_order=True)
    rank = pl.int_range(1, pl.len() + 1).over("topic")
    write_run(first.with_columns(rank=rank), name, path, decimals=6)


def write_run(
    run: pl.DataFrame, name: str, path: Path, *place: str, decimals: int | None = None
) -> None:
    """Lines of a run as TREC has them; the columns `place` follow, which tell where a result is."""
    own = {"Q0": pl.lit("Q0"), "runid": pl.lit(name)}
    fields = ("topic", "Q0", "doc", "rank", "rsv", "runid", *place)
    run.with_columns(**own).select(fields).write_csv(
        path, separator=" ", include_header=False, float_precision=decimals, quote_style="never"
    )


def _judgements(documents: Collection, topics: Sequence[Topic]) -> str:
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
