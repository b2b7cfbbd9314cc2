"""TREC Genomics of 2006 and 2007: gold passages with aspects, and runs of passages.

Offsets and lengths are bytes of documents in latin-1, where a byte is a character: they are code
points of the text that is decoded so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import polars as pl

from foveal.adapters.truths.building import Evidence, Question, build
from foveal.formats.checks import Defects, check_names, check_scores, check_spans
from foveal.formats.fields import first_lines, read_fields
from foveal.formats.source import Source
from foveal.model import Judgements, Run, Topics

__all__ = ["looks_like", "read", "read_run"]

GOLD_FORM = "topic<TAB>doc<TAB>start<TAB>length<TAB>aspects"
RUN_FORM = "topic doc rank score start length tag"
_RUN = {
    "topic": pl.String,
    "doc": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "start": pl.Int64,
    "length": pl.Int64,
    "tag": pl.String,
}
_KEEP = ("topic", "doc", "rank", "score", "start", "length")


def looks_like(source: Source) -> bool:
    """Whether the first line has five fields between tabs: start, length, then no number.

    Judgements of INEX may have five fields, too, the last of them a length.
    """
    lines = first_lines(source.data)
    fields = [field.strip() for field in lines[0][1].split(b"\t")] if lines else []
    numbers = [field.isdigit() for field in fields]
    return numbers[2:] == [True, True, False] and fields[1] != b"Q0"


def read(source: Source, texts: Mapping[str, str] | None) -> tuple[Judgements, Topics]:
    """Passages in the order of the file, which decides which of several a result meets first.

    `Judgements.aspects` holds the aspects of each. Topics have no words.
    """
    return build(_questions(source), source, texts=texts)


def _questions(source: Source) -> Iterator[Question]:
    topics: dict[str, Question] = {}
    lines = source.data.decode("latin-1").split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 5:
            raise source.error(number, f"{len(fields)} fields found, expected 5: {GOLD_FORM}")
        topic, doc, start, length, aspects = fields
        for name, value in (("start", start), ("length", length)):
            if not re.fullmatch("[0-9]{1,18}", value):
                raise source.error(number, f"{name} {value!r} is not a whole number from 0")
        named = tuple(dict.fromkeys(a for a in map(str.strip, aspects.split("|")) if a))
        place = int(start), int(start) + int(length)
        question = topics.setdefault(topic, Question(topic, None, number, f"line {number}"))
        question.evidence.append(Evidence(doc, *place, f"line {number}", aspects=named))
    yield from topics.values()


def read_run(source: Source) -> Run:
    """A run of passages, by rank; equal ranks by document, start and length, as it was scored."""
    table = read_fields(source, _RUN, _KEEP, form=RUN_FORM)
    frame, defects = table.frame, Defects(source, table.line)
    start, length = frame["start"].to_numpy(), frame["length"].to_numpy()
    problems = check_names(defects, frame["topic"])
    problems += check_scores(defects, frame["score"].to_numpy())
    problems += defects.at(length < 0, "length {} is negative", length)
    problems += check_spans(defects, start, start + length.clip(0))
    defects.raise_if(problems)
    if not len(frame):
        raise source.error(None, "the run is empty: it holds no result")
    topics = frame["topic"].unique(maintain_order=True)
    frame = (
        frame.with_columns(line=pl.Series(table.line), end=pl.col("start") + pl.col("length"))
        .join(pl.DataFrame({"topic": topics}).with_row_index("place"), on="topic")
        .sort("place", "rank", "doc", "start", "length", "line")
        .drop("place", "length")
    )
    name = first_lines(source.data)[0][1].split()[-1].decode()
    return Run.from_frame(frame, name=name, source=source.provenance)
