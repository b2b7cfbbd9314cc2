"""Lines of INEX: passages since 2007 ("FOL"), runs and judgements; and element runs of 7 fields."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Note, Problem
from foveal.files.source import Source
from foveal.formats.base import Format, Parsed, head_fields, lazy_losses
from foveal.formats.rows import (
    MAX_OFFSET,
    RULES,
    RUN_COLUMNS,
    RowRule,
    RowTable,
    as_lines,
    check_rows,
    check_rules,
    drop_bad,
    drop_undecodable,
    has_trailing_text,
    is_genomics,
    normalise_lines,
    one_word,
    tabulate,
)
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Ints, conflicts, lay_out

_LINE = "topic Q0 doc rank rsv runid"
_PASSAGE = re.compile(rb"[0-9]+:[0-9]+$")  # ends judgements, which may have eight fields, too
GROUPED = Note(
    "run.grouping", "the lines of a topic are not together; they were grouped, their order kept"
)


# -- runs ------------------------------------------------------------------------------------------


def parse_run(source: Source, *, unresolved: bool = False) -> Parsed:
    """Parse a passage run; the order of the lines is the ranking, rank and rsv are not.

    With `unresolved`, offsets of ``X`` or ``-1`` are results whose place is not known, and the
    score may be anything, as for the official evaluator.
    """
    fields = RUN_COLUMNS | {"start": pl.Int64, "length": pl.Int64}
    rules = [RULES["start"], RULES["length"]]
    if unresolved:
        fields |= dict.fromkeys(("score", "start", "length"), pl.String)
        start, length = (
            pl.col(name).replace("X", str(UNKNOWN)).cast(pl.Int64, strict=False)
            for name in ("start", "length")
        )
        length = pl.when(start == UNKNOWN).then(0).otherwise(length)
        rules = [
            RowRule(
                "span.offset",
                ~number.is_between(least, MAX_OFFSET).fill_null(value=False),
                f"{name} {{{name}}} is neither an offset nor X",
            )
            for name, number, least in (("start", start, UNKNOWN), ("length", length, 0))
        ]
    keep = ("topic", "doc", "score", "start", "length")
    table = tabulate(source, fields, keep, f"{_LINE} start length", rules)
    if unresolved:
        table = table._replace(frame=table.frame.select("topic", "doc", start=start, length=length))
    starts, lengths = table.frame["start"].to_numpy(), table.frame["length"].to_numpy()
    return _make_run(source, table, starts, starts + lengths)


def _make_run(source: Source, table: RowTable, start: Ints, end: Ints, **columns: Any) -> Parsed:
    """Return the run of a table, whose name is that of the first line."""
    if "score" in table.frame:
        columns["score"] = table.frame["score"].to_numpy()
    start.flags.writeable = end.flags.writeable = False  # so that the run need not copy it
    words = head_fields(source)
    run = Run.from_columns(
        topic=table.frame["topic"],
        doc=table.frame["doc"],
        start=start,
        end=end,
        line=table.line,
        name=words[5].decode(errors="replace") if len(words) > 5 else source.stem,
        source=source.provenance,
        note_grouping=GROUPED,
        **columns,
    )
    return Parsed(run, [*table.problems])


def parse_element_run(source: Source) -> Parsed:
    """Parse an element run; the order of the lines is the ranking, a collection gives places."""
    from foveal.formats.xpaths import canonical_paths, is_root

    fields, keep = RUN_COLUMNS | {"xpath": pl.String}, ("topic", "doc", "score", "xpath")
    form = f"{_LINE} /path[1]/of[1]/element[2]"
    table = tabulate(source, fields, keep, form, [RULES["xpath"]])
    xpath = canonical_paths(table.frame["xpath"].rechunk())
    end = np.full(len(xpath), UNKNOWN, dtype=np.int64)
    return _make_run(source, table, np.where(is_root(xpath), 0, end), end, xpath=xpath)


def write_run(run: Run) -> str:
    """Write the run in 8 fields; every result must have a place."""
    return _write_lines(run, run.end < 0, "end", "start", pl.col("end") - pl.col("start"))


def write_element_run(run: Run) -> str:
    """Write the run in 7 fields; every result must have an XPath."""
    absent = np.ones(len(run), dtype=bool) if run.xpath is None else run.xpath.is_null().to_numpy()
    return _write_lines(run, absent, "XPath", "xpath")


def _write_lines(run: Run, absent: Any, what: str, *place: str | pl.Expr) -> str:
    """Write the run as lines that end with the place; refuse a result that has none."""
    if absent.any():
        text = f"result has no {what}; this format needs one, a collection tells it (--collection)"
        raise InputError.at("write.unheld", run.source.path, int(run.line[absent][0]), text)
    score = pl.col("score") if run.score is not None else -pl.col("rank")
    fields = ("topic", pl.lit("Q0"), "doc", "rank", score, pl.lit(one_word(run.name)), *place)
    return as_lines(run.to_frame(), fields, run.source.path)


# -- judgements of passages ------------------------------------------------------------------------

_COLUMNS = ("topic", "Q0", "doc", "relchars", "doclen", "bep", "passages")
_LINE_RULES = (
    RULES["topic"],
    RowRule(
        "line.fields",
        pl.col("doclen").is_null(),
        "{size} fields found, expected 5 or more: topic Q0 doc relchars doclen [bep off:len ...]",
    ),
    *(
        RowRule(
            "line.number",
            ~pl.col(name)
            .cast(pl.Int64, strict=False)
            .is_between(least, MAX_OFFSET)
            .fill_null(pl.any_horizontal(pl.col(name, "doclen").is_null())),
            f"{what} {{{name}}} is not a whole number from {least} to {MAX_OFFSET}",
        )
        for name, what, least in (
            ("relchars", "relevant characters", 0),
            ("doclen", "document length", 0),
            ("bep", "best entry point", UNKNOWN),
        )
    ),
)
_PAIR_RULE = RowRule(
    "judgements.passage",
    ~pl.col("pair").str.contains("^[0-9]{1,12}:[0-9]{1,12}$"),
    "passage {pair} is not of the form offset:length",
)
_FITS = pl.col("relchars") <= pl.col("doclen"), pl.col("reach") <= pl.col("doclen")
_SUM_RULES = (
    RowRule(
        "judgements.sum", ~_FITS[0], "{relchars} relevant characters in a document of {doclen}"
    ),
    RowRule(
        "judgements.sum",
        (pl.col("total") != pl.col("relchars")) & _FITS[0],
        "{relchars} relevant characters, but the passages hold {total}",
    ),
    RowRule("judgements.length", ~_FITS[1], "a passage ends past the document's length {doclen}"),
    RowRule(
        "judgements.bep",
        pl.col("bep") > pl.col("doclen"),
        "best entry point {bep} is past the document's length {doclen}",
    ),
    RowRule(
        "judgements.overlap", pl.col("overlaps") & _FITS[1], "two passages of this line overlap"
    ),
)


def parse_judgements(source: Source, *, official: bool = False) -> Parsed:
    """Parse passage judgements.

    `relchars` must be the sum of the passages and fit into the document. With `official` it is
    taken at its word, as the official evaluator does.
    """
    undecodable: tuple[Problem, ...] = ()
    if not source.data.isascii():
        source, undecodable = drop_undecodable(source)
    texts, line = normalise_lines(source.data)
    frame = texts.str.splitn(" ", len(_COLUMNS)).struct.unnest()
    frame.columns = _COLUMNS
    size = pl.sum_horizontal(pl.all().is_not_null())  # right where fields are missing
    frame = frame.with_columns(size=size, row=pl.int_range(pl.len(), dtype=pl.Int64))
    pairs = frame.select("row", pair=pl.col("passages").str.split(" "))
    pairs = pairs.drop_nulls("pair").explode("pair")
    line = source.numbered(line)
    problems = [*undecodable, *check_rules(source.path, line, frame, _LINE_RULES)]
    problems += check_rules(source.path, line[pairs["row"].to_numpy()], pairs, [_PAIR_RULE])
    if problems:
        frame, line, _ = RowTable(frame, line).without(problems)
        pairs = pairs.join(frame.select("row", at=pl.int_range(pl.len(), dtype=pl.Int64)), on="row")
        pairs = pairs.select("pair", row="at")
    number = frame.select(pl.col("relchars", "doclen", "bep").cast(pl.Int64))
    relchars, doclen, bep = (column.fill_null(UNKNOWN).to_numpy() for column in number)
    spans = pairs["pair"].str.splitn(":", 2).struct.unnest().select(pl.all().cast(pl.Int64))
    row, (start, length) = pairs["row"].to_numpy(), (column.to_numpy() for column in spans)
    end, n = start + length, len(number)
    counts = np.bincount(row, minlength=n).astype(np.int64)
    notes = list[str]()
    if official:
        alone = frame["bep"].is_not_null().to_numpy() & (counts == 0)
        text = "best entry point without a passage; it is ignored"
        notes = [f"{source.path}:{at}: {text}" for at in line[alone].tolist()]
        bep = np.where(alone, UNKNOWN, bep)
    else:
        reach = np.zeros(n, dtype=np.int64)
        np.maximum.at(reach, row, end)
        total = np.bincount(row, length, n).astype(np.int64)
        overlaps = np.zeros(n, dtype=bool)
        if ((start[1:] < end[:-1]) & (row[1:] == row[:-1])).any():  # else all are in order
            overlaps = _mark_overlaps(row, start, end, n)
        is_wrong = (
            (total != relchars) | overlaps | (np.max([reach, bep, relchars], axis=0) > doclen)
        )
        if is_wrong.any():  # a first pl.Series of an array imports numpy.ma, which takes 7 ms
            sums = number.with_columns(
                total=pl.Series(total), reach=pl.Series(reach), overlaps=pl.Series(overlaps)
            )
            problems += check_rules(source.path, line, sums, _SUM_RULES)
    rows = {
        "topic": frame["topic"],
        "doc": frame["doc"],
        "line": line,
        "length": doclen,
        "bep": np.where(relchars > 0, bep, UNKNOWN),
        "relevant": relchars > 0,
    }
    about: dict[str, Any] = {"declared": relchars, "notes": tuple(notes)}
    judgements = Judgements.from_rows(rows, counts, start, end, source=source.provenance, **about)
    problems += judgements.find_repeated()
    return drop_bad(judgements, problems) if problems else Parsed(judgements, [])


def _mark_overlaps(row: Ints, start: Ints, end: Ints, n: int) -> npt.NDArray[np.bool_]:
    """Mark the rows, of `n`, of which two spans overlap."""
    extent, overlaps = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    np.maximum.at(extent, row, end)
    base = lay_out(extent)[row] if n else start
    overlaps[row[conflicts(start + base, end + base)[1]]] = True
    return overlaps


def write_judgements(judgements: Judgements) -> str:
    """Write judgements in FOL; quotes, elements and the size of grades are left behind."""
    row, n = judgements.row, len(judgements)
    check_rows(judgements, judgements.length < 0, "the length of the document is missing")
    check_rows(judgements, judgements.pair != np.arange(n), "a second assessor")
    # A reader would misread spans graded 0 or overlapping spans.
    graded = np.zeros(n, dtype=bool)
    if judgements.grade is not None:
        graded[row[judgements.grade <= 0]] = True
    check_rows(judgements, graded, "a span of grade 0")
    overlaps = _mark_overlaps(row, judgements.start, judgements.end, n)
    check_rows(judgements, overlaps, "overlapping spans")
    spans = pl.DataFrame({"row": row, "start": judgements.start, "end": judgements.end})
    passage = pl.format("{}:{}", "start", pl.col("end") - pl.col("start")).str.join(" ")
    joined = spans.group_by("row", maintain_order=True).agg(passage=passage)
    frame = pl.DataFrame(
        {
            "topic": pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic),
            "doc": judgements.doc,
            "relchars": judgements.rel_size,
            "doclen": judgements.length,
            "bep": judgements.bep,
            "row": np.arange(n),
        }
    ).join(joined, on="row", how="left", maintain_order="left")
    fields = ("topic", pl.lit("Q0"), "doc", "relchars", "doclen")
    rest = pl.format("{} {}", "bep", "passage")
    return as_lines(frame, fields, judgements.sources[0].path, rest=rest)


# -- formats ---------------------------------------------------------------------------------------


def _is_run(source: Source) -> bool:
    """Return True for eight fields, unless the last two are a passage or text."""
    fields = head_fields(source)
    if len(fields) != 8 or _PASSAGE.match(fields[7]):
        return False
    return fields[6].isdigit() or not has_trailing_text(fields)


def _is_judgements(source: Source) -> bool:
    """Return True for five fields, or for more that end in a passage."""
    fields = head_fields(source)
    if len(fields) != 5 and (len(fields) < 7 or not _PASSAGE.match(fields[-1])):
        return False
    return fields[1] == b"Q0" or not is_genomics(source)


FORMATS = (
    Format(
        "fol",
        "run",
        """Passages of INEX since 2007, also called FOL: 8 fields.

`topic Q0 doc rank rsv runid start length`

The order of the lines is the ranking. `rank` may be anything; `rsv`, the score, must be a finite
number. `Q0` is ignored. `start` and `length` count characters of the document's text. The name of
the run is that of the first line. If the lines of a topic are not together they are grouped in
their order, with a warning.""",
        "1 Q0 reaction-ferries 1 10.7209 paragraphs 59 242\n1 Q0 fords 2 9.5 paragraphs 0 180\n",
        _is_run,
        parse_run,
        write_run,
        lazy_losses("run_losses", keeps="results offsets"),
    ),
    Format(
        "elements",
        "run",
        """Elements of INEX: 7 fields, the last an XPath.

`topic Q0 doc rank rsv runid xpath`

The order of the lines is the ranking. A path of one step, such as `/article[1]`, is the whole
document. Resolving any other path needs a collection index; without one, measures that need no
place can be computed, and the others say so. `[1]` may be left out: in all formats,
`/article/sec` and `/article[1]/sec[1]` are the same result.""",
        "289 Q0 9996 1 0.9999 ours /article[1]/body[1]/section[2]/p[1]\n",
        lambda source: len(f := head_fields(source)) == 7 and f[6].startswith(b"/"),
        parse_element_run,
        write_element_run,
        lazy_losses("run_losses", keeps="results offsets xpaths"),
    ),
    Format(
        "fol",
        "judgements",
        """Passages of INEX since 2007, also called FOL: 5 fields or more.

`topic Q0 doc relevant-characters document-length [best-entry-point offset:length ...]`

Five fields: judged, nothing relevant. The relevant characters must be the sum of the passages, and
passages must lie within the document and not overlap. One line per topic and document.""",
        "1 Q0 reaction-ferries 3117 3589 302 59:992 1082:1064 2190:708 2969:353\n"
        "1 Q0 fords 0 3579\n",
        _is_judgements,
        parse_judgements,
        write_judgements,
        lazy_losses("judgement_losses", form="fol"),
    ),
)
