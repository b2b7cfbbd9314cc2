"""Lines of INEX: passages since 2007 ("FOL"), runs and judgements; and element runs of 7 fields."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.base import Format, Parsed, head_fields, lazy_losses
from foveal.formats.fields import (
    MAX_OFFSET,
    RowTable,
    drop_undecodable,
    normalise_lines,
    read_fields,
)
from foveal.lookup import CachedTextFunction
from foveal.model import UNKNOWN, Judgements, Run
from foveal.model.run import ALL
from foveal.spans import Ints, conflicts, lay_out

__all__ = [
    "FORMATS",
    "GROUPED",
    "parse_element_run",
    "parse_judgements",
    "parse_run",
    "write_element_run",
    "write_judgements",
    "write_run",
]

_LINE = "topic Q0 doc rank rsv runid"
_RUN_LINE = f"{_LINE} start length"
_ELEMENT_LINE = f"{_LINE} /path[1]/of[1]/element[2]"
_JUDGEMENT_LINE = "topic Q0 doc relchars doclen [bep off:len ...]"
_FIELDS = {
    "topic": pl.String,
    "Q0": pl.String,
    "doc": pl.String,
    "rank": pl.String,
    "score": pl.Float64,
    "run": pl.String,
}
_PASSAGE_FIELDS = _FIELDS | {"start": pl.Int64, "length": pl.Int64}
_KEEP = ("topic", "doc", "score", "start", "length")
_PASSAGE = re.compile(rb"[0-9]+:[0-9]+$")
"""The last field of judgements, which may have eight fields, too."""
GROUPED = "the lines of a topic do not stand together; they were grouped, their order kept"


# -- runs of passages ------------------------------------------------------------------------------


def parse_run(source: Source, *, unresolved: bool = False) -> Parsed:
    """Parse a passage run; the order of the lines is the ranking, rank and rsv are not.

    With `unresolved`, offsets of ``X`` or ``-1`` are results whose place is not known, and the
    score may be anything, as for the official evaluator.
    """
    if unresolved:
        table = _read_unresolved(source)
    else:
        table = read_fields(source, _PASSAGE_FIELDS, _KEEP, form=_RUN_LINE)
    start, length = table.frame["start"].to_numpy(), table.frame["length"].to_numpy()
    score = None if unresolved else table.frame["score"].to_numpy()
    is_sound = (
        (score is None or np.isfinite(score).all())
        and start.min(initial=0) >= (UNKNOWN if unresolved else 0)
        and length.min(initial=0) >= 0
        and max(start.max(initial=0), length.max(initial=0)) <= MAX_OFFSET
        and (start + length).max(initial=0) <= MAX_OFFSET
        and not (table.frame["topic"] == ALL).any()
    )
    if not is_sound:
        table = table.without(_find_bad_rows(source, table, unresolved=unresolved))
        start, length = table.frame["start"].to_numpy(), table.frame["length"].to_numpy()
        score = None if unresolved else table.frame["score"].to_numpy()
    end = start + length
    for column in (start, end, score):
        if column is not None:
            column.flags.writeable = False  # so that the run need not copy it
    words = source.head[1].split()
    run = Run.from_columns(
        topic=table.frame["topic"],
        doc=table.frame["doc"],
        start=start,
        end=end,
        line=table.line,
        score=score,
        name=words[5].decode(errors="replace") if len(words) > 5 else source.stem,
        source=source.provenance,
        note_grouping=GROUPED,
    )
    return Parsed(run, [*table.problems])


def _read_unresolved(source: Source) -> RowTable:
    """Read a run in which ``X`` and -1 are unknown offsets: their start is `UNKNOWN`, length 0."""
    from foveal.formats.checks import Defects

    schema = _PASSAGE_FIELDS | dict.fromkeys(("score", "start", "length"), pl.String)
    table = read_fields(source, schema, _KEEP, form=_RUN_LINE)
    defects, problems = Defects(source, table.line), list[Problem]()
    numbers: dict[str, pl.Series] = {}
    for name in ("start", "length"):
        text = table.frame[name]
        numbers[name] = text.replace("X", str(UNKNOWN)).cast(pl.Int64, strict=False)
        message = f"{name} {{!r}} is neither a whole number nor X"
        problems += defects.at("line.number", numbers[name].is_null().to_numpy(), message, text)
    length = pl.when(pl.col("start") == UNKNOWN).then(0).otherwise("length")
    frame = table.frame.with_columns(**numbers).with_columns(length=length)
    return table._replace(frame=frame).without(problems)


def _find_bad_rows(source: Source, table: RowTable, *, unresolved: bool) -> list[Problem]:
    """Find everything that is wrong with names, scores and offsets."""
    from foveal.formats.checks import TOO_FAR, Defects, check_names, check_scores, check_spans

    defects = Defects(source, table.line)
    start, length = table.frame["start"].to_numpy(), table.frame["length"].to_numpy()
    found = check_names(defects, table.frame["topic"])
    if not unresolved:
        found += check_scores(defects, table.frame["score"].to_numpy())
    found += defects.at("span.offset", length < 0, "length {} is negative", length)
    found += defects.at("span.offset", length > MAX_OFFSET, f"length {{}} {TOO_FAR}", length)
    start = np.where(start == UNKNOWN, 0, start) if unresolved else start
    return found + check_spans(defects, start, start + np.clip(length, 0, MAX_OFFSET))


def write_run(run: Run) -> str:
    """Write the run in 8 fields; every result must have a place."""
    if (run.end < 0).any():
        raise InputError.at(
            "write.unheld",
            run.source.path,
            int(run.line[run.end < 0][0]),
            "result has no end; FOL needs offsets, which a collection can tell (-C)",
        )
    return _as_lines(run, "start", pl.col("end") - pl.col("start"))


def _as_lines(run: Run, *place: str | pl.Expr) -> str:
    from foveal.formats.fields import as_lines, one_word

    score = pl.col("score") if run.score is not None else -pl.col("rank")
    name = pl.lit(one_word(run.name))
    fields = ("topic", pl.lit("Q0"), "doc", "rank", score, name, *place)
    return as_lines(run.to_frame(), fields, run.source.path)


# -- runs of elements ------------------------------------------------------------------------------


def parse_element_run(source: Source) -> Parsed:
    """Parse an element run; the order of the lines is the ranking, a collection gives places."""
    from foveal.formats.checks import Defects, check_names, check_scores, check_xpaths
    from foveal.formats.xpaths import PATHS, canonical_paths, is_root

    schema, keep = _FIELDS | {"xpath": pl.String}, ("topic", "doc", "score", "xpath")
    table = read_fields(source, schema, keep, form=_ELEMENT_LINE)
    defects = Defects(source, table.line)
    problems = check_names(defects, table.frame["topic"])
    problems += check_scores(defects, table.frame["score"].to_numpy())
    coded = PATHS.number_repeated(table.frame["xpath"].rechunk())
    traits = None if coded is None else _path_traits(coded)
    if traits is None or (traits == _ODD).any():
        coded = traits = None
        problems += check_xpaths(defects, table.frame["xpath"])
    if problems:
        table, coded, traits = table.without(problems), None, None
    frame, xpath = table.frame, table.frame["xpath"].rechunk()
    start, end = (np.full(len(frame), UNKNOWN, dtype=np.int64) for _ in range(2))
    start[is_root(xpath) if traits is None else traits == _ROOT] = 0
    start.flags.writeable = end.flags.writeable = False
    words = source.head[1].split()
    run = Run.from_columns(
        topic=frame["topic"],
        doc=frame["doc"],
        start=start,
        end=end,
        line=table.line,
        score=frame["score"].to_numpy(),
        xpath=canonical_paths(xpath) if coded is None else xpath,
        name=words[5].decode(errors="replace") if len(words) > 5 else source.stem,
        source=source.provenance,
        note_grouping=GROUPED,
    )
    if coded is not None and run.xpath is not None and np.array_equal(run.line, table.line):
        PATHS.remember(run.xpath, coded)  # a collection looks them up
    return Parsed(run, [*table.problems])


_PLAIN, _ROOT, _ODD = 0, 1, 2


def _classify_paths(xpath: pl.Series) -> Ints:
    """Return for each path if it is a root's, or not written as it should be."""
    from foveal.formats.xpaths import canonical_paths, is_root

    odd = (canonical_paths(xpath) != xpath).to_numpy() | ~xpath.str.starts_with("/").to_numpy()
    return np.where(odd, _ODD, np.where(is_root(xpath), _ROOT, _PLAIN))


_path_traits = CachedTextFunction(_classify_paths)


def write_element_run(run: Run) -> str:
    """Write the run in 7 fields; every result must have an XPath."""
    absent = np.ones(len(run), dtype=bool) if run.xpath is None else run.xpath.is_null().to_numpy()
    if absent.any():
        raise InputError.at(
            "write.unheld",
            run.source.path,
            int(run.line[absent][0]),
            "result has no XPath; this format needs one, a collection can tell it (-C)",
        )
    return _as_lines(run, "xpath")


# -- judgements of passages ------------------------------------------------------------------------


def parse_judgements(source: Source, *, official: bool = False) -> Parsed:
    """Parse passage judgements; there are none if a line is bad.

    `relchars` must be the sum of the passages and fit into the document. With `official` it is
    taken at its word, as the official evaluator does.
    """
    if not source.data.isascii() and (undecodable := drop_undecodable(source)[1]):
        return Parsed(None, [*undecodable])
    rows, numbers = normalise_lines(source.data)
    line = source.numbered(numbers)
    names = ("topic", "Q0", "doc", "relchars", "doclen", "bep", "passages")
    fields = rows.str.splitn(" ", len(names)).struct.unnest()
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
        found = _find_bad_fields(source, line, rows, fields, pairs, passages, official=official)
        if found:
            return Parsed(None, found)
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
            found = _find_bad_sums(source, line, relchars, doclen, bep, row, start, end)
            if found:
                return Parsed(None, found)
    relevant = relchars > 0
    table = {
        "topic": fields["topic"],
        "doc": fields["doc"],
        "line": line,
        "length": doclen,
        "bep": np.where(relevant, bep, UNKNOWN),
        "relevant": relevant,
    }
    judgements = Judgements.from_rows(
        table, counts, start, end, source=source.provenance, declared=relchars, notes=notes
    )
    try:
        judgements.check_distinct()
    except InputError as error:
        return Parsed(None, [*error.problems])
    return Parsed(judgements, [])


def _find_bad_fields(
    source: Source,
    line: Ints,
    text: pl.Series,
    fields: pl.DataFrame,
    pairs: pl.DataFrame,
    passages: pl.DataFrame,
    *,
    official: bool,
) -> list[Problem]:
    """Find every field that is missing or not a number; `official` allows negative ones."""
    from foveal.formats.checks import TOO_FAR, Defects, check_names

    defects = Defects(source, line)
    message = f"{{}} fields found, expected 5 or more: {_JUDGEMENT_LINE}"
    short = fields["doclen"].is_null().to_numpy()
    if short.any():
        return [*defects.at("line.fields", short, message, text.str.count_matches(" ") + 1)]
    problems = check_names(defects, fields["topic"])
    for name, what in (("relchars", "relevant characters"), ("doclen", "document length")):
        number = fields[name].cast(pl.Int64, strict=False)
        bad = number.is_null() if official else number.fill_null(-1) < 0
        message = f"{what} {{!r}} is not a whole number from 0"
        problems += defects.at("line.number", bad.to_numpy(), message, fields[name])
        far = (number > MAX_OFFSET).fill_null(value=False).to_numpy()
        problems += defects.at("judgements.length", far, f"{what} {{}} {TOO_FAR}", number)
    number = fields["bep"].cast(pl.Int64, strict=False)
    bad = fields["bep"].is_not_null() & (number.is_null() | (number < UNKNOWN))
    message = "best entry point {!r} is not an offset (is this a run?)"
    problems += defects.at("judgements.bep", bad.to_numpy(), message, fields["bep"])
    possible = passages.select(pl.all_horizontal(pl.all().is_between(0, MAX_OFFSET)))
    bad = ~possible.to_series().fill_null(value=False)
    of_pairs = Defects(source, line[pairs["row"].to_numpy()])
    message = "passage {!r} is not of the form offset:length"
    problems += of_pairs.at("judgements.passage", bad.to_numpy(), message, pairs["pair"])
    return problems


def _find_bad_sums(
    source: Source,
    line: Ints,
    relchars: Ints,
    doclen: Ints,
    bep: Ints,
    row: Ints,
    start: Ints,
    end: Ints,
) -> list[Problem]:
    """Find sums and extents that contradict each other, and passages that overlap."""
    from foveal.formats.checks import Defects

    defects, n = Defects(source, line), len(relchars)
    total = np.bincount(row, end - start, n).astype(np.int64)
    message = "{} relevant characters in a document of {}"
    problems = [*defects.at("judgements.sum", relchars > doclen, message, relchars, doclen)]
    differs = (total != relchars) & (relchars <= doclen)
    message = "{} relevant characters, but the passages hold {}"
    problems += defects.at("judgements.sum", differs, message, relchars, total)
    outside = end > doclen[row]
    message = "a passage ends past the document's length {}"
    problems += defects.at("judgements.length", np.unique(row[outside]), message, doclen)
    message = "best entry point {} is past the document's length {}"
    problems += defects.at("judgements.bep", bep > doclen, message, bep, doclen)
    overlapping = np.setdiff1d(_overlapping_rows(row, start, end, n), row[outside])
    message = "two passages of this line overlap"
    problems += defects.at("judgements.overlap", overlapping, message)
    return problems


def _overlapping_rows(row: Ints, start: Ints, end: Ints, n: int) -> Ints:
    """Return the rows, of `n`, of which two spans overlap."""
    extent = np.zeros(n, dtype=np.int64)
    np.maximum.at(extent, row, end)
    base = lay_out(extent)[row] if n else start
    _, later = conflicts(start + base, end + base)
    return row[later]


def write_judgements(judgements: Judgements) -> str:
    """Write judgements in FOL; quotes, elements and the size of grades are left behind."""
    from foveal.formats.fields import as_lines, check_rows

    check_rows(judgements, judgements.length < 0, "the length of the document is missing")
    check_rows(judgements, judgements.pair != np.arange(len(judgements)), "a second assessor")
    # A reader would misread spans graded 0 or overlapping spans.
    bad = np.zeros(len(judgements), dtype=bool)
    if judgements.grade is not None:
        bad[judgements.row[judgements.grade <= 0]] = True
    check_rows(judgements, bad, "a span of grade 0")
    row, n = judgements.row, len(judgements)
    bad[_overlapping_rows(row, judgements.start, judgements.end, n)] = True
    check_rows(judgements, bad, "overlapping spans")
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
    from foveal.formats.trec import has_trailing_text

    return not has_trailing_text(fields)


def _is_judgements(source: Source) -> bool:
    """Return True for five fields, or for more that end in a passage."""
    fields = head_fields(source)
    if len(fields) != 5 and (len(fields) < 7 or not _PASSAGE.match(fields[-1])):
        return False
    if fields[1] == b"Q0":
        return True
    from foveal.formats.trec_genomics import is_gold

    return not is_gold(source)


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
