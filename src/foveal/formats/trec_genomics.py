"""TREC Genomics of 2006 and 2007: gold passages with aspects, and runs of passages.

Offsets and lengths are bytes of documents in latin-1, where a byte is a character: they are code
points of the text that is decoded so. Gold and runs count alike and need no text to be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.base import Format, head_fields, parse_with
from foveal.formats.checks import RESERVED, Defects, check_names, check_scores, check_spans
from foveal.formats.detection import LINE_FORMS
from foveal.formats.detection import is_genomics_gold as is_gold
from foveal.formats.detection import is_genomics_run as is_run_line
from foveal.formats.fields import MAX_OFFSET, read_fields
from foveal.model import Judgements, Run
from foveal.model.run import ALL

__all__ = [
    "FORMATS",
    "GoldPassage",
    "is_gold",
    "is_run_line",
    "read_gold_passages",
    "read_judgements",
    "read_run",
    "run_name",
]

_RUN = {
    "topic": pl.String,
    "doc": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "start": pl.Int64,
    "length": pl.Int64,
}
_TAG = {"tag": pl.String}


class GoldPassage(NamedTuple):
    """One line of a gold file."""

    line: int
    topic: str
    doc: str
    start: int
    end: int
    aspects: tuple[str, ...]


def run_name(source: Source) -> str:
    """Return the tag on the first line, or without one the name of the file."""
    fields = source.head[1].split()
    return fields[6].decode() if len(fields) == 7 else source.stem


def read_run(source: Source) -> Run:
    """Read a run of passages, by rank; equal ranks by document, start and length, as officially."""
    tagged = len(source.head[1].split()) != 6
    schema = _RUN | _TAG if tagged else _RUN
    form = LINE_FORMS["genomics run"].removesuffix("" if tagged else " tag")
    table = read_fields(source, schema, tuple(_RUN), form=form)
    frame, defects = table.frame, Defects(source, table.line)
    start, length = frame["start"].to_numpy(), frame["length"].to_numpy()
    problems = check_names(defects, frame["topic"])
    problems += check_scores(defects, frame["score"].to_numpy())
    problems += defects.at("unclassified", length < 0, "length {} is negative", length)
    problems += check_spans(defects, start, start + length.clip(0))
    defects.raise_if(problems)
    if not len(frame):
        raise source.error("unclassified", None, "the run is empty: it holds no result")
    topics = frame["topic"].unique(maintain_order=True)
    frame = (
        frame.with_columns(line=pl.Series(table.line), end=pl.col("start") + pl.col("length"))
        .join(pl.DataFrame({"topic": topics}).with_row_index("place"), on="topic")
        .sort("place", "rank", "doc", "start", "length", "line")
        .drop("place", "length")
    )
    return Run.from_frame(frame, name=run_name(source), source=source.provenance)


def read_gold_passages(source: Source) -> Iterator[GoldPassage]:
    """Yield the passages of a gold file in its order; a line of another form is an error."""
    for number, text in enumerate(source.data.decode("latin-1").split("\n"), 1):
        if not text.strip() or text.startswith("#"):
            continue
        line = int(source.numbered(np.array([number], dtype=np.int64))[0])
        fields = [field.strip() for field in text.split("\t")]
        if len(fields) != 5:
            raise source.error(
                "unclassified",
                line,
                f"{len(fields)} fields found, expected 5: {LINE_FORMS['genomics gold']}",
            )
        topic, doc, start, length, aspects = fields
        for name, value in (("start", start), ("length", length)):
            if not (value.isascii() and value.isdigit()):
                raise source.error(
                    "unclassified", line, f"{name} {value!r} is not a whole number from 0"
                )
            if len(value) > len(str(MAX_OFFSET)) or int(value) > MAX_OFFSET:
                raise source.error(
                    "unclassified", line, f"{name} {value[:20]} is too large; expected an offset"
                )
        named = tuple(dict.fromkeys(a for a in map(str.strip, aspects.split("|")) if a))
        yield GoldPassage(line, topic, doc, int(start), int(start) + int(length), named)


def read_judgements(source: Source) -> Judgements:
    """Read gold passages; their order within a document decides which one a result meets first."""
    rows: dict[tuple[str, str], list[GoldPassage]] = {}
    problems = []
    for passage in read_gold_passages(source):
        rows.setdefault((passage.topic, passage.doc), []).append(passage)
        if passage.topic == ALL:
            problems.append(Problem("unclassified", source.path, passage.line, RESERVED))
        elif not passage.topic or not passage.doc:
            message = f"no name; expected {LINE_FORMS['genomics gold']}"
            problems.append(Problem("unclassified", source.path, passage.line, message))
    if problems:
        raise InputError(problems)
    flat = [passage for own in rows.values() for passage in own]
    aspects = [[*passage.aspects] for passage in flat]
    return Judgements.from_rows(
        pl.DataFrame(
            {
                "topic": [topic for topic, _ in rows],
                "doc": [doc for _, doc in rows],
                "line": [own[0].line for own in rows.values()],
            }
        ),
        np.array([len(own) for own in rows.values()], dtype=np.int64),
        np.array([passage.start for passage in flat], dtype=np.int64),
        np.array([passage.end for passage in flat], dtype=np.int64),
        source=source.provenance,
        aspects=pl.Series(aspects, dtype=pl.List(pl.String)) if any(aspects) else None,
    )


FORMATS = (
    Format(
        "trec-genomics",
        "run",
        "Passages of the TREC Genomics tracks: 7 fields, or 6 without the tag.",
        "200 12595615 1 48.63 28426 295 mine\n",
        lambda source: is_run_line(head_fields(source)),
        parse_with(read_run),
    ),
    Format(
        "trec-genomics",
        "judgements",
        "Gold passages of the TREC Genomics tracks: 5 fields between tabs.",
        "200\t14747618\t64716\t19412\tICAM-1|TNF-ALPHA\n",
        is_gold,
        parse_with(read_judgements),
    ),
)
