"""TREC Genomics of 2006 and 2007: gold passages with aspects, and runs of passages.

Offsets and lengths are bytes of documents in latin-1, where a byte is a character: they are code
points of the text that is decoded so. Gold and runs count alike and need no text to be compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from foveal.files.source import Source
from foveal.formats import Format, Parsed, head_fields
from foveal.formats.lines import split_fields, tabulate
from foveal.formats.rows import RULES, RowRule, RowTable, range_rule
from foveal.lookup import number_rows
from foveal.model import Judgements, Run

_RUN: dict[str, Any] = {
    "topic": pl.String,
    "doc": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "start": pl.Int64,
    "length": pl.Int64,
}
_GOLD = ("topic", "doc", "start", "length", "aspects")
_GOLD_LINE = "<TAB>".join(_GOLD)
_GOLD_RULES = (
    RULES["topic"],
    RowRule(
        "line.fields", pl.col("fields") != 5, f"{{fields}} fields found, expected 5: {_GOLD_LINE}"
    ),
    RowRule(
        "line.fields",
        (pl.col("topic") == "") | (pl.col("doc") == ""),
        f"no name; expected {_GOLD_LINE}",
    ),
    range_rule("start", "line.number"),
    range_rule("length", "line.number"),
)
_PASSAGE_OR_PATH = re.compile(rb"/|[0-9]+:[0-9]+$")  # ends INEX judgements and element runs


def is_run_line(fields: Sequence[bytes]) -> bool:
    """Return True for the fields of a line of a TREC Genomics run, with its tag or without."""
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
    columns = _RUN if len(head) == 6 else _RUN | {"tag": None}
    rules = [RULES["start"], RULES["length"]]
    frame, problems = tabulate(source, columns, " ".join(columns), rules)
    frame = frame.with_columns(
        place=pl.Series(number_rows(frame["topic"]).number), end=pl.col("start") + pl.col("length")
    )
    frame = frame.sort("place", "rank", "doc", "start", "length", "line").drop("place", "length")
    name = head[6].decode(errors="replace") if len(head) == 7 else source.stem
    return Parsed(Run.from_frame(frame, name=name, source=source.provenance), [*problems])


def read_run(source: Source) -> Run:
    """Read a run of passages, whatever its first line looks like."""
    run: Run = parse_run(source).get_content()
    if not len(run):
        raise source.error("run.empty", None, "the run is empty: it holds no result")
    return run


def tabulate_gold(source: Source) -> RowTable:
    """Return the passages of a gold file: topic, doc, line, start, end and list of aspects."""
    decoded = replace(source, data=source.data.decode("latin-1").encode())
    table = split_fields(decoded, _GOLD, blank="\t").check(source.path, _GOLD_RULES)
    start, length = pl.col("start").cast(pl.Int64), pl.col("length").cast(pl.Int64)
    aspect = pl.element().str.strip_chars()
    aspects = pl.col("aspects").str.split("|").list.eval(aspect.filter(aspect != ""))
    rows = table.frame.select(
        "topic",
        "doc",
        "line",
        start,
        end=start + length,
        aspects=aspects.list.unique(maintain_order=True),
    )
    return table._replace(frame=rows)


def parse_judgements(source: Source) -> Parsed:
    """Parse gold passages; their order within a document decides which one a result meets first."""
    frame, problems = tabulate_gold(source)
    first_rows, number = number_rows(frame["topic"], frame["doc"])
    passages = frame[np.argsort(number, kind="stable")]
    judgements = Judgements.from_rows(
        frame[first_rows].select("topic", "doc", "line"),
        np.bincount(number, minlength=len(first_rows)).astype(np.int64),
        passages["start"].to_numpy(),
        passages["end"].to_numpy(),
        source=source.provenance,
        aspects=passages["aspects"] if passages["aspects"].list.len().sum() else None,
    )
    return Parsed(judgements if len(judgements) else None, [*problems])


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
        parse_judgements,
    ),
)
