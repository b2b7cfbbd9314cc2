"""TREC Genomics of 2006 and 2007: gold passages with aspects, and runs of passages.

Offsets and lengths are bytes of documents in latin-1, where a byte is a character: they are code
points of the text that is decoded so. Gold and runs count alike and need no text to be compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.base import Format, Parsed, head_fields, parse_with
from foveal.formats.checks import MAX_OFFSET, RESERVED, RULES
from foveal.formats.fields import tabulate
from foveal.model import Judgements, Run
from foveal.model.run import ALL

_RUN = {
    "topic": pl.String,
    "doc": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "start": pl.Int64,
    "length": pl.Int64,
}
_GOLD_LINE = "topic<TAB>doc<TAB>start<TAB>length<TAB>aspects"
_PASSAGE_OR_PATH = re.compile(rb"/|[0-9]+:[0-9]+$")
"""The last field of INEX judgements and element runs."""


class GoldPassage(NamedTuple):
    """One line of a gold file."""

    line: int
    topic: str
    doc: str
    start: int
    end: int
    aspects: tuple[str, ...]


def is_run_line(fields: Sequence[bytes]) -> bool:
    """Return True for the fields of a line of a TREC Genomics run, with its tag or without.

    >>> is_run_line(b"200 12595615 1 48.63 28426 295 ours".split())
    True
    >>> is_run_line(b"301 Q0 12595615 1 48.63 295".split())
    False
    """
    if len(fields) not in {6, 7} or fields[1].upper() in (b"Q0", b"0", b"1"):
        return False
    return not _PASSAGE_OR_PATH.match(fields[-1]) and all(fields[at].isdigit() for at in (2, 4, 5))


def is_gold(source: Source) -> bool:
    """Return True if the first line has five fields between tabs: start, length, no number.

    Judgements of INEX may have five fields, too, the last of them a length.
    """
    number, first = source.head
    if b"\t" not in first:
        return False
    # The aspects may be empty, so the line must keep its last tab.
    line = source.data.split(b"\n", number)[number - 1]
    fields = [field.strip() for field in line.split(b"\t")]
    numbers = [field.isdigit() for field in fields]
    return numbers[2:] == [True, True, False] and fields[1] != b"Q0"


def parse_run(source: Source) -> Parsed:
    """Parse a run, ordered by rank, then document, start and length, as the official program."""
    head = head_fields(source)
    columns = _RUN if len(head) == 6 else _RUN | {"tag": pl.String}
    rules = [RULES["start"], RULES["length"]]
    frame, line, problems = tabulate(source, columns, tuple(_RUN), " ".join(columns), rules)
    topics = frame["topic"].unique(maintain_order=True)
    frame = (
        frame.with_columns(line=pl.Series(line), end=pl.col("start") + pl.col("length"))
        .join(pl.DataFrame({"topic": topics}).with_row_index("place"), on="topic")
        .sort("place", "rank", "doc", "start", "length", "line")
        .drop("place", "length")
    )
    name = head[6].decode(errors="replace") if len(head) == 7 else source.stem
    return Parsed(Run.from_frame(frame, name=name, source=source.provenance), [*problems])


def read_run(source: Source) -> Run:
    """Read a run of passages, whatever its first line looks like."""
    run: Run = parse_run(source).checked()
    if not len(run):
        raise source.error("run.empty", None, "the run is empty: it holds no result")
    return run


def read_gold_passages(source: Source) -> list[GoldPassage]:
    """Return the passages of a gold file in its order; refuse all lines of another form."""
    passages, problems = list[GoldPassage](), list[Problem]()
    for number, text in enumerate(source.data.decode("latin-1").split("\n"), 1):
        if not text.strip() or text.startswith("#"):
            continue
        line = int(source.numbered(np.array([number]))[0])
        fields = [field.strip() for field in text.split("\t")]
        problem = None
        if len(fields) != 5:
            problem = "line.fields", f"{len(fields)} fields found, expected 5: {_GOLD_LINE}"
        elif not fields[0] or not fields[1]:
            problem = "line.fields", f"no name; expected {_GOLD_LINE}"
        elif fields[0] == ALL:
            problem = "topic.reserved", RESERVED
        else:
            for name, value in zip(("start", "length"), fields[2:4], strict=True):
                if not re.fullmatch("[0-9]{1,12}", value):
                    expected = f"expected a whole number from 0 to {MAX_OFFSET}"
                    problem = "line.number", f"{name} {value[:20]!r}; {expected}"
        if problem is not None:
            problems.append(Problem(problem[0], source.path, line, problem[1]))
            continue
        topic, doc, start, end = *fields[:2], int(fields[2]), int(fields[2]) + int(fields[3])
        aspects = dict.fromkeys(a for a in map(str.strip, fields[4].split("|")) if a)
        passages.append(GoldPassage(line, topic, doc, start, end, tuple(aspects)))
    if problems:
        raise InputError(problems)
    return passages


def read_judgements(source: Source) -> Judgements:
    """Read gold passages; their order within a document decides which one a result meets first."""
    rows: dict[tuple[str, str], list[GoldPassage]] = {}
    for passage in read_gold_passages(source):
        rows.setdefault((passage.topic, passage.doc), []).append(passage)
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
        """Passages of the TREC Genomics tracks of 2006 and 2007: 7 fields, or 6 without the tag.

`topic doc rank score start length tag`

Without a tag, the file's name is the name of the run. Results are ordered by rank, equal ranks by
document, start and length, as the official program does. Offsets count bytes of documents in
latin-1, and each byte is a character. Gold and runs of the track are therefore compared without the
documents. [Do not mix](decisions.md#genomics-bytes) them with files that count characters of UTF-8
text.""",
        "200 12595615 1 48.63 28426 295 ours\n",
        lambda source: is_run_line(head_fields(source)),
        parse_run,
    ),
    Format(
        "trec-genomics",
        "judgements",
        """Gold passages of the TREC Genomics tracks: 5 fields between tabs.

`topic<TAB>doc<TAB>start<TAB>length<TAB>aspects`

The last field is a list of aspects, separated by `|`. Offsets count bytes, as in runs.""",
        "200\t14747618\t64716\t19412\tICAM-1|TNF-ALPHA\n",
        is_gold,
        parse_with(read_judgements),
    ),
)
