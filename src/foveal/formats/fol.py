"""INEX passages of 2007 and later ("FOL"): runs of 8 fields, judgements of offset:length pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.base import Format, head_fields, parse_with
from foveal.formats.detection import LINE_FORMS
from foveal.formats.fields import MAX_OFFSET, Table, normalised, read_fields
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.run import ALL
from foveal.spans import Ints, conflicts, lay_out

__all__ = ["FORMATS", "GROUPED", "read_judgements", "read_run", "write_judgements", "write_run"]

_RUN = {
    "topic": pl.String,
    "Q0": pl.String,
    "doc": pl.String,
    "rank": pl.String,
    "score": pl.Float64,
    "run": pl.String,
    "start": pl.Int64,
    "length": pl.Int64,
}
_KEEP = ("topic", "doc", "score", "start", "length")
_PASSAGE = re.compile(rb"[0-9]+:[0-9]+$")
"""The last field of judgements, which may have eight fields, too."""
GROUPED = "the lines of a topic do not stand together; they were grouped, their order kept"


def read_run(source: Source, *, unresolved: bool = False) -> Run:
    """Read a passage run; the order of the lines is the ranking, rank and rsv are not.

    With `unresolved`, offsets of ``X`` or ``-1`` are results whose place is not known, and the
    score may be anything, as for the official evaluator.
    """
    if unresolved:
        table, start, end = _read_unresolved(source)
        score = None
    else:
        table = read_fields(source, _RUN, _KEEP, form=LINE_FORMS["fol run"])
        score, start, length = (table.frame[name].to_numpy() for name in _KEEP[2:])
        is_sound = (
            np.isfinite(score).all()
            and min(start.min(initial=0), length.min(initial=0)) >= 0
            and max(start.max(initial=0), length.max(initial=0)) <= MAX_OFFSET
        )
        end = start + length
        if not is_sound or end.max(initial=0) > MAX_OFFSET:
            _refuse_run(source, table, score, start, length, np.ones(1, dtype=bool))
        score.flags.writeable = False
    start.flags.writeable = end.flags.writeable = False  # so that the run need not copy them
    number, first = source.head
    run = Run.from_columns(
        topic=table.frame["topic"],
        doc=table.frame["doc"],
        start=start,
        end=end,
        line=table.line,
        score=score,
        name=first.split()[5].decode() if number else source.stem,
        source=source.provenance,
        note_grouping=GROUPED,
    )
    if ALL in run.topics:
        _refuse_run(source, table, None, start, end - start, start != UNKNOWN)
    return run


def _read_unresolved(source: Source) -> tuple[Table, Ints, Ints]:
    """Read a run in which ``X`` and -1 are unknown offsets; return its rows, starts and ends."""
    from foveal.formats.checks import Defects

    schema = _RUN | dict.fromkeys(("score", "start", "length"), pl.String)
    table = read_fields(source, schema, _KEEP, form=LINE_FORMS["fol run"])
    defects, problems, columns = Defects(source, table.line), list[Problem](), list[Ints]()
    for name in ("start", "length"):
        text = table.frame[name]
        number = text.replace("X", str(UNKNOWN)).cast(pl.Int64, strict=False)
        bad = number.is_null().to_numpy()
        problems += defects.at(
            "unclassified", bad, f"{name} {{!r}} is neither a whole number nor X", text
        )
        columns.append(number.fill_null(0).to_numpy())
    start, length = columns
    known = start != UNKNOWN
    _refuse_run(source, table, None, start, length, known, problems)
    return table, start, start + np.where(known, length, 0)


def _refuse_run(
    source: Source,
    table: Table,
    score: npt.NDArray[np.float64] | None,
    start: Ints,
    length: Ints,
    known: npt.NDArray[np.bool_],
    problems: Sequence[Problem] = (),
) -> None:
    """Raise everything that is wrong with names, scores and offsets; only `known` ones count."""
    from foveal.formats.checks import TOO_FAR, Defects, check_names, check_scores, check_spans

    defects = Defects(source, table.line)
    found = [*check_names(defects, table.frame["topic"]), *problems]
    if score is not None:
        found += check_scores(defects, score)
    found += defects.at("unclassified", (length < 0) & known, "length {} is negative", length)
    found += defects.at("unclassified", length > MAX_OFFSET, f"length {{}} {TOO_FAR}", length)
    start, length = np.where(known, start, 0), np.where(known, np.clip(length, 0, MAX_OFFSET), 0)
    found += check_spans(defects, start, start + length)
    defects.raise_if(found)


def write_run(run: Run) -> str:
    """Write the run in 8 fields; every result must have a place."""
    from foveal.formats.lines import as_lines, one_word

    frame = run.to_frame()
    if frame["end"].null_count():
        raise InputError.at(
            "unclassified",
            run.source.path,
            int(run.line[run.end < 0][0]),
            "result has no end; FOL needs offsets, which a collection can tell (-C)",
        )
    score = pl.col("score") if run.score is not None else -pl.col("rank")
    length = pl.col("end") - pl.col("start")
    fields = ("topic", pl.lit("Q0"), "doc", "rank", score, one_word(run.name), "start", length)
    return as_lines(frame, fields, run.source.path)


def read_judgements(source: Source, *, official: bool = False) -> Judgements:
    """Read passage judgements.

    `relchars` must be the sum of the passages and fit into the document. With `official` it is
    taken at its word, as the official evaluator does.
    """
    source.check_utf8()
    rows, numbers = normalised(source.data)
    line = source.numbered(np.array(numbers, dtype=np.int64))
    names = ("topic", "Q0", "doc", "relchars", "doclen", "bep", "passages")
    text = pl.Series("text", rows, dtype=pl.String)
    fields = text.str.splitn(" ", len(names)).struct.unnest()
    fields.columns = names
    number = fields.select(pl.col("relchars", "doclen", "bep").cast(pl.Int64, strict=False))
    pairs = (
        fields.select(pair=pl.col("passages").str.split(" "), row=pl.int_range(pl.len()))
        .drop_nulls("pair")
        .explode("pair")
    )
    passages = pairs["pair"].str.splitn(":", 2).struct.unnest()
    passages = passages.select(pl.all().cast(pl.Int64, strict=False))
    # A field that is not a number is null now, except that the entry point may be absent.
    absent = [fields["bep"].null_count(), number["bep"].null_count()]
    is_sound = (
        number["relchars"].is_between(0, MAX_OFFSET).sum() == len(rows)
        and number["doclen"].is_between(0, MAX_OFFSET).sum() == len(rows)
        and absent[0] == absent[1]
        and (number["bep"] >= UNKNOWN).all()
        and all(column.is_between(0, MAX_OFFSET).sum() == len(pairs) for column in passages)
    )
    if not is_sound or (fields["topic"] == ALL).any():
        _refuse_judgements(source, line, text, fields, pairs, passages, official=official)
    relchars, doclen, bep = (column.fill_null(UNKNOWN).to_numpy() for column in number)
    row = pairs["row"].to_numpy()
    start, length = (column.to_numpy() for column in passages)
    end = start + length
    counts = np.bincount(row, minlength=len(rows)).astype(np.int64)
    notes: tuple[str, ...] = ()
    if official:
        alone = fields["bep"].is_not_null().to_numpy() & (counts == 0)
        notes = tuple(
            f"{source.path}:{n}: best entry point without a passage; it is ignored"
            for n in line[alone].tolist()
        )
        bep = np.where(alone, UNKNOWN, bep)
    else:
        total = np.bincount(row, length, len(rows))
        adds_up = (total == relchars) & (relchars <= doclen) & (bep <= doclen)
        apart = (start[1:] >= end[:-1]) | (row[1:] != row[:-1])
        if not (adds_up.all() and apart.all() and (end <= doclen[row]).all()):
            _refuse_sums(source, line, relchars, doclen, bep, row, start, end)
    relevant = relchars > 0
    table = pl.DataFrame(
        {
            "topic": fields["topic"],
            "doc": fields["doc"],
            "line": line,
            "length": doclen,
            "bep": np.where(relevant, bep, UNKNOWN),
            "relevant": relevant,
        }
    )
    judgements = Judgements.from_rows(
        table, counts, start, end, source=source.provenance, declared=relchars, notes=notes
    )
    judgements.check_distinct()
    return judgements


def _refuse_judgements(
    source: Source,
    line: Ints,
    text: pl.Series,
    fields: pl.DataFrame,
    pairs: pl.DataFrame,
    passages: pl.DataFrame,
    *,
    official: bool,
) -> None:
    """Raise every field that is missing or not a number; `official` allows negative ones."""
    from foveal.formats.checks import TOO_FAR, Defects, check_names

    defects = Defects(source, line)
    message = f"{{}} fields found, expected 5 or more: {LINE_FORMS['fol judgements']}"
    short = fields["doclen"].is_null().to_numpy()
    defects.raise_if([*defects.at("unclassified", short, message, text.str.count_matches(" ") + 1)])
    problems = check_names(defects, fields["topic"])
    for name, what in (("relchars", "relevant characters"), ("doclen", "document length")):
        number = fields[name].cast(pl.Int64, strict=False)
        bad = number.is_null() if official else number.fill_null(-1) < 0
        message = f"{what} {{!r}} is not a whole number from 0"
        problems += defects.at("unclassified", bad.to_numpy(), message, fields[name])
        far = (number > MAX_OFFSET).fill_null(value=False).to_numpy()
        problems += defects.at("unclassified", far, f"{what} {{}} {TOO_FAR}", number)
    number = fields["bep"].cast(pl.Int64, strict=False)
    bad = fields["bep"].is_not_null() & (number.is_null() | (number < UNKNOWN))
    message = "best entry point {!r} is not an offset (is this a run?)"
    problems += defects.at("unclassified", bad.to_numpy(), message, fields["bep"])
    possible = passages.select(pl.all_horizontal(pl.all().is_between(0, MAX_OFFSET)))
    bad = ~possible.to_series().fill_null(value=False)
    of_pairs = Defects(source, line[pairs["row"].to_numpy()])
    message = "passage {!r} is not of the form offset:length"
    problems += of_pairs.at("unclassified", bad.to_numpy(), message, pairs["pair"])
    defects.raise_if(problems)


def _refuse_sums(
    source: Source,
    line: Ints,
    relchars: Ints,
    doclen: Ints,
    bep: Ints,
    row: Ints,
    start: Ints,
    end: Ints,
) -> None:
    """Raise sums and extents that contradict each other, and passages that overlap."""
    from foveal.formats.checks import Defects

    defects, n = Defects(source, line), len(relchars)
    total = np.bincount(row, end - start, n).astype(np.int64)
    problems = [
        *defects.at(
            "unclassified",
            relchars > doclen,
            "{} relevant characters in a document of {}",
            relchars,
            doclen,
        ),
        *defects.at(
            "unclassified",
            (total != relchars) & (relchars <= doclen),
            "{} relevant characters, but the passages hold {}",
            relchars,
            total,
        ),
    ]
    outside = end > doclen[row]
    problems += defects.at(
        "unclassified",
        np.unique(row[outside]),
        "a passage ends past the document's length {}",
        doclen,
    )
    problems += defects.at(
        "unclassified",
        bep > doclen,
        "best entry point {} is past the document's length {}",
        bep,
        doclen,
    )
    extent = np.zeros(n, dtype=np.int64)
    np.maximum.at(extent, row, end)
    base = lay_out(extent)[row] if n else start
    _, later = conflicts(start + base, end + base)
    overlapping = np.setdiff1d(row[later], row[outside])
    problems += defects.at("unclassified", overlapping, "two passages of this line overlap")
    defects.raise_if(problems)


def write_judgements(judgements: Judgements) -> str:
    """Write judgements in FOL; quotes, elements and the size of grades are left behind."""
    from foveal.formats.lines import as_lines, check_rows

    check_rows(judgements, judgements.length < 0, "the length of the document is missing")
    check_rows(judgements, judgements.pair != np.arange(len(judgements)), "a second assessor")
    # A reader would misread spans graded 0 or overlapping spans.
    bad = np.zeros(len(judgements), dtype=bool)
    if judgements.grade is not None:
        bad[judgements.row[judgements.grade <= 0]] = True
    check_rows(judgements, bad, "a span of grade 0")
    extent = np.zeros(len(judgements), dtype=np.int64)
    np.maximum.at(extent, judgements.row, judgements.end)
    base = lay_out(extent)[judgements.row] if len(extent) else judgements.start
    _, later = conflicts(judgements.start + base, judgements.end + base)
    bad[judgements.row[later]] = True
    check_rows(judgements, bad, "overlapping spans")
    row = judgements.row
    passage = pl.DataFrame(
        {"row": row, "start": judgements.start, "length": judgements.end - judgements.start}
    ).select("row", passage=pl.format("{}:{}", "start", "length"))
    joined = passage.group_by("row", maintain_order=True).agg(pl.col("passage").str.join(" "))
    frame = pl.DataFrame(
        {
            "topic": pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic),
            "doc": judgements.doc,
            "relchars": judgements.rel_size,
            "doclen": judgements.length,
            "bep": judgements.bep,
            "row": np.arange(len(judgements)),
        }
    ).join(joined, on="row", how="left", maintain_order="left")
    passages = pl.format("{} {}", "bep", "passage")
    fields = ("topic", pl.lit("Q0"), "doc", "relchars", "doclen")
    return as_lines(frame, fields, judgements.sources[0].path, rest=passages)


# -- records ---------------------------------------------------------------------------------------


def _is_run(source: Source) -> bool:
    """Return True for eight fields that end in numbers, or in what may be offsets."""
    fields = head_fields(source)
    if len(fields) != 8 or _PASSAGE.match(fields[7]):
        return False
    if fields[6].isdigit() and fields[7].isdigit():
        return True
    from foveal.formats.detection import has_trailing_text

    return not has_trailing_text(fields)


def _is_judgements(source: Source) -> bool:
    """Return True for five fields or more."""
    fields = head_fields(source)
    if len(fields) < 5:
        return False
    from foveal.formats.detection import is_genomics_gold

    return fields[1] == b"Q0" or not is_genomics_gold(source)


FORMATS = (
    Format(
        "fol",
        "run",
        "INEX passages since 2007: 8 fields, the last two offset and length.",
        "1 Q0 fords 1 10.7 mine 59 242\n1 Q0 tides 2 9.3 mine 0 180\n",
        _is_run,
        parse_with(read_run),
        write_run,
    ),
    Format(
        "fol",
        "judgements",
        "INEX passages since 2007: relevant characters, document length, offset:length pairs.",
        "1 Q0 tides 300 4068 120 120:200 900:100\n1 Q0 fords 0 3579\n",
        _is_judgements,
        parse_with(read_judgements),
        write_judgements,
    ),
)
