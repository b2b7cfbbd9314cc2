"""INEX passages of 2007 and later ("FOL"): runs of 8 fields, judgements of offset:length pairs."""

from __future__ import annotations

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.formats.checks import TOO_FAR, Defects, check_names, check_scores, check_spans
from foveal.formats.fields import MAX_OFFSET, first_lines, normalised, read_fields
from foveal.formats.lines import as_lines, check_rows, one_word
from foveal.formats.source import Source
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Ints, conflicts, lay_out

__all__ = ["read_judgements", "read_run", "write_judgements", "write_run"]

RUN_FORM = "topic Q0 doc rank rsv runid start length"
JUDGEMENT_FORM = "topic Q0 doc relchars doclen [bep off:len ...]"

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
GROUPED = "the lines of a topic do not stand together; they were grouped, their order kept"


def read_run(source: Source, *, unresolved: bool = False) -> Run:
    """A passage run; the order of the lines is the ranking, rank and rsv are not.

    With `unresolved`, offsets of ``X`` or ``-1`` are results whose place is not known, and the
    score may be anything, as for the official evaluator.
    """
    schema: dict[str, type[pl.DataType]] = dict(_RUN)
    if unresolved:
        schema |= dict.fromkeys(("score", "start", "length"), pl.String)
    table = read_fields(source, schema, _KEEP, form=RUN_FORM)
    frame, defects = table.frame, Defects(source, table.line)
    problems = check_names(defects, frame["topic"])
    if unresolved:
        frame, more = _with_unresolved(frame, defects)
        problems += more
    else:
        problems += check_scores(defects, frame["score"].to_numpy())
    start, length = frame["start"].to_numpy(), frame["length"].to_numpy()
    known = start != UNKNOWN if unresolved else np.ones(1, dtype=bool)
    if length.min(initial=0) < 0 or length.max(initial=0) > MAX_OFFSET:
        problems += defects.at((length < 0) & known, "length {} is negative", length)
        problems += defects.at(length > MAX_OFFSET, f"length {{}} {TOO_FAR}", length)
        length = np.clip(length, 0, MAX_OFFSET)
    if unresolved:
        end = start + np.where(known, length, 0)
        problems += check_spans(defects, np.where(known, start, 0), np.where(known, end, 0))
    else:
        end = start + length
        problems += check_spans(defects, start, end)
    defects.raise_if(problems)
    end.flags.writeable = False  # so that the run takes it as it is
    first = first_lines(source.data)
    return Run.from_columns(
        topic=frame["topic"],
        doc=frame["doc"],
        start=start,
        end=end,
        line=table.line,
        score=None if unresolved else frame["score"].to_numpy(),
        name=first[0][1].split()[5].decode() if first else source.stem,
        source=source.provenance,
        note_grouping=GROUPED,
    )


def _with_unresolved(frame: pl.DataFrame, defects: Defects) -> tuple[pl.DataFrame, list[Problem]]:
    """Offsets as numbers, X as -1, no scores; and the offsets that are neither."""
    problems: list[Problem] = []
    for name in ("start", "length"):
        number = frame[name].replace("X", str(UNKNOWN)).cast(pl.Int64, strict=False)
        bad = number.is_null().to_numpy()
        problems += defects.at(bad, f"{name} {{!r}} is neither a whole number nor X", frame[name])
        frame = frame.with_columns(number.fill_null(0).alias(name))
    return frame.drop("score"), problems


def write_run(run: Run) -> str:
    """The run in 8 fields; every result must have a place."""
    frame = run.to_frame()
    if frame["end"].null_count():
        raise InputError.at(
            run.source.path,
            int(run.line[run.end < 0][0]),
            "result has no end; FOL needs offsets, which a collection can tell (-C)",
        )
    score = pl.col("score") if run.score is not None else -pl.col("rank")
    length = pl.col("end") - pl.col("start")
    fields = ("topic", pl.lit("Q0"), "doc", "rank", score, one_word(run.name), "start", length)
    return as_lines(frame, fields, run.source.path)


def read_judgements(source: Source, *, official: bool = False) -> Judgements:
    """Passage judgements.

    `relchars` must be the sum of the passages and fit into the document. With `official` it is
    taken at its word, as the official evaluator does.
    """
    source.check_utf8()
    rows, numbers = normalised(source.data)
    line = source.numbered(np.array(numbers, dtype=np.int64))
    defects = Defects(source, line)
    text = pl.Series("text", rows, dtype=pl.String)
    names = ("topic", "Q0", "doc", "relchars", "doclen", "bep", "passages")
    fields = text.to_frame().select(pl.col("text").str.splitn(" ", 7).alias("f")).unnest("f")
    frame = fields.rename(dict(zip(fields.columns, names, strict=True)))
    short = frame["doclen"].is_null().to_numpy()
    problems = [
        *defects.at(
            short,
            f"{{}} fields found, expected 5 or more: {JUDGEMENT_FORM}",
            text.str.count_matches(" ") + 1,
        )
    ]
    defects.raise_if(problems)
    problems = check_names(defects, frame["topic"])
    numbers_of: dict[str, Ints] = {}
    for name, what in (("relchars", "relevant characters"), ("doclen", "document length")):
        number, bad = _numbers(frame[name], official=official)
        numbers_of[name] = number
        problems += defects.at(bad, f"{what} {{!r}} is not a whole number from 0", frame[name])
        problems += defects.at(number > MAX_OFFSET, f"{what} {{}} {TOO_FAR}", number)
    has_bep = frame["bep"].is_not_null().to_numpy()
    bep, bad = _numbers(frame["bep"].fill_null("-1"), official=True)
    problems += defects.at(
        has_bep & (bad | (bep < UNKNOWN)),
        "best entry point {!r} is not an offset (is this a run?)",
        frame["bep"],
    )
    row, start, length, more = _passages(frame["passages"], defects)
    problems += more
    defects.raise_if(problems)
    relchars, doclen = numbers_of["relchars"], numbers_of["doclen"]
    counts = np.bincount(row, minlength=len(frame)).astype(np.int64)
    notes: tuple[str, ...] = ()
    if official:
        alone = has_bep & (counts == 0)
        notes = tuple(
            f"{source.path}:{n}: best entry point without a passage; it is ignored"
            for n in line[alone].tolist()
        )
        bep = np.where(alone, UNKNOWN, bep)
    else:
        defects.raise_if(_do_not_add_up(defects, relchars, doclen, bep, row, start, length))
    table = pl.DataFrame(
        {
            "topic": frame["topic"],
            "doc": frame["doc"],
            "line": line,
            "length": doclen,
            "bep": np.where(relchars > 0, bep, UNKNOWN),
            "relevant": relchars > 0,
        }
    )
    judgements = Judgements.from_rows(
        table,
        counts,
        start,
        start + length,
        source=source.provenance,
        declared=relchars,
        notes=notes,
    )
    judgements.check_distinct()
    return judgements


def _numbers(
    column: pl.Series, *, official: bool
) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    number = column.cast(pl.Int64, strict=False)
    bad = number.is_null().to_numpy()
    values = number.fill_null(0).to_numpy()
    return values, bad if official else bad | (values < 0)


def _passages(column: pl.Series, defects: Defects) -> tuple[Ints, Ints, Ints, list[Problem]]:
    """Row, start and length of every ``off:len``, and those that are not of this form."""
    pairs = (
        pl.DataFrame({"pair": column.str.split(" "), "row": np.arange(len(column))})
        .drop_nulls("pair")
        .explode("pair")
    )
    split = pairs["pair"].str.splitn(":", 2).struct.unnest()
    start = split["field_0"].cast(pl.Int64, strict=False)
    length = split["field_1"].cast(pl.Int64, strict=False)
    possible = start.is_between(0, MAX_OFFSET) & length.is_between(0, MAX_OFFSET)
    bad = ~possible.fill_null(value=False)
    row = pairs["row"].to_numpy()
    problems = [
        Problem(
            defects.source.path,
            int(defects.line[at]),
            f"passage {pair!r} is not of the form offset:length",
        )
        for at, pair in zip(row[bad.to_numpy()].tolist(), pairs["pair"].filter(bad), strict=True)
    ]
    return row, start.fill_null(0).to_numpy(), length.fill_null(0).to_numpy(), problems


def _do_not_add_up(
    defects: Defects, relchars: Ints, doclen: Ints, bep: Ints, row: Ints, start: Ints, length: Ints
) -> list[Problem]:
    """Sums and extents that contradict each other."""
    n = len(relchars)
    total = np.bincount(row, length, n).astype(np.int64)
    problems = [
        *defects.at(
            relchars > doclen,
            "{} relevant characters in a document of {}",
            relchars,
            doclen,
        ),
        *defects.at(
            (total != relchars) & (relchars <= doclen),
            "{} relevant characters, but the passages hold {}",
            relchars,
            total,
        ),
    ]
    outside = start + length > doclen[row]
    problems += defects.at(
        np.unique(row[outside]), "a passage ends past the document's length {}", doclen
    )
    problems += defects.at(
        bep > doclen, "best entry point {} is past the document's length {}", bep, doclen
    )
    extent = np.zeros(n, dtype=np.int64)
    np.maximum.at(extent, row, start + length)
    base = lay_out(extent)[row] if n else start
    _, later = conflicts(start + base, start + length + base)
    problems += defects.at(
        np.setdiff1d(row[later], row[outside]), "two passages of this line overlap"
    )
    return problems


def write_judgements(judgements: Judgements) -> str:
    """Judgements in FOL; quotes, elements and the size of grades are left behind."""
    check_rows(judgements, judgements.length < 0, "the length of the document is missing")
    check_rows(judgements, judgements.pair != np.arange(len(judgements)), "a second assessor")
    _check_disjoint(judgements)
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


def _check_disjoint(judgements: Judgements) -> None:
    """Refuse spans that a reader would take for something else: graded 0, or overlapping."""
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
