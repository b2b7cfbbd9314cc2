"""Lines of fields between blanks: passages ("FOL") and elements of INEX, documents of TREC."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Note, Problem, Tally
from foveal.files.source import Source
from foveal.formats import Format, Parsed, head_fields, lazy_losses
from foveal.formats.rows import (
    MAX_OFFSET,
    RULES,
    RowRule,
    RowTable,
    check_rows,
    check_rules,
    number_lines,
    range_rule,
)
from foveal.lookup import number_rows
from foveal.model import UNKNOWN, Judgements, Run
from foveal.spans import Ints, find_conflicts, put_on_axis

GROUPED = Note(
    "run.grouping", "the lines of a topic are not together; they were grouped, their order kept"
)
_RUN_COLUMNS: dict[str, Any] = dict.fromkeys(("topic", "Q0", "doc", "rank", "score", "run"))
_RUN_COLUMNS |= {"topic": pl.String, "doc": pl.String, "score": pl.Float64}
_PASSAGES = "topic Q0 doc rank rsv runid start length"
_ELEMENTS = "topic Q0 doc rank rsv runid /path[1]/of[1]/element[2]"
_DOCUMENTS = "topic Q0 doc rank score runid"
_START, _NOWHERE = (pl.lit(offset, pl.Int64) for offset in (0, UNKNOWN))
_GRADES = {"topic": pl.String, "iteration": None, "doc": pl.String, "grade": pl.Int64}


# -- lines as columns ------------------------------------------------------------------------------

_BLANKS = r"[ \t\x0b\x0c\r]{2,}|[\t\x0b\x0c\r]"  # anything but a single blank
_DATA = r"^[ \t\x0b\x0c\r]*[^ \t\x0b\x0c\r#]"  # the beginning of a line that is not a comment
_BLOCK = 1 << 18  # bytes looked at together; what fits into the cache is fastest


def tabulate(
    source: Source, columns: Mapping[str, Any], form: str, rules: Sequence[RowRule] = ()
) -> RowTable:
    """Read a file whose lines have the fields `columns`, given by name and Polars type.

    A line with other fields (`form` says which are expected), or with a text where a finite number
    is expected, is a problem. Fields of type None, which are not the last number, are not kept.
    """
    rules = (RULES["topic"], *rules)
    kept = {name: kind for name, kind in columns.items() if kind is not None}
    problems = tuple[Problem, ...]()
    if not source.data.isascii():
        source, problems = source.drop_undecodable()
    frame = _parse_regular(source, columns)
    if frame is not None:
        table = RowTable(frame.select(*kept, number_lines(source, len(frame))), problems)
        bad = check_rules(source.path, table.frame, rules)
        return table.without(bad) if bad else table
    expected = f"{{fields}} fields found, expected {len(columns)}: {form}"
    other = RowRule("line.fields", pl.col("fields") != len(columns), expected)
    table = split_fields(source, columns).check(source.path, [rules[0], other])
    numbers = [
        RowRule(
            "run.score" if name == "score" else "line.number",
            ~pl.col(name).cast(kind, strict=False).is_finite().fill_null(value=False),
            f"{name} {{{name}}} is not a {'whole' if kind == pl.Int64 else 'finite'} number",
        )
        for name, kind in kept.items()
        if kind != pl.String
    ]
    bad = check_rules(source.path, table.frame, numbers)
    casts = (pl.col(name).cast(kind, strict=False) for name, kind in kept.items())
    frame = table.frame.select(*casts, "line")
    bad += check_rules(source.path, frame, rules[1:])
    return RowTable(frame, problems + table.problems).without(bad)


def _parse_regular(source: Source, columns: Mapping[str, Any]) -> pl.DataFrame | None:
    """Return the columns of a file of good lines; None if any line has to be looked at.

    Good lines have single blanks or single tabs, the right number of fields, and finite numbers.
    """
    data, names = source.data, list(columns)
    blank = "\t" if source.head[1].count(b"\t") == len(names) - 1 else " "
    if any(other.encode() in data for other in " \t\x0b\x0c" if other != blank):
        return None
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            separator=blank,
            quote_char=None,
            schema={name: kind or pl.String for name, kind in columns.items()},
            columns=[i for i, kind in enumerate(columns.values()) if kind or i == len(names) - 1],
            truncate_ragged_lines=True,
        ).rechunk()
    except (pl.exceptions.PolarsError, OverflowError):  # no line, or a bad number
        return None
    # The parser ignores fields after the last, and columns that are not kept: count the blanks.
    symbols, found = np.frombuffer(data, dtype=np.uint8), 0
    for at in range(0, len(symbols), _BLOCK):
        is_blank = symbols[at : at + _BLOCK + 1] == ord(blank)
        if (is_blank[1:] & is_blank[:-1]).any():
            return None
        found += int(np.count_nonzero(is_blank[:_BLOCK]))
    numbers = (own.to_numpy() for own in frame if own.dtype.is_float())
    is_regular = (
        found == len(frame) * (len(names) - 1)
        and not any(column.null_count() for column in frame)
        and all(np.isfinite(column).all() for column in numbers)
        and not (b"#" in data and frame["topic"].str.starts_with("#").any())
    )
    return frame if is_regular else None


def split_fields(
    source: Source, names: Iterable[str], *, blank: str = " ", counted: bool = True
) -> RowTable:
    """Return the fields of all lines as texts, the last with the rest of its line.

    ``fields`` is the number of fields of the line if they are `counted`; those that it lacks are
    null. Comments and blank lines are left out. `blank` may be a tab; else any white space is one
    blank.
    """
    problems = tuple[Problem, ...]()
    if not source.data.isascii():
        source, problems = source.drop_undecodable()
    data = b"\n%b\n" % source.data.removesuffix(b"\n")
    is_blank = np.frombuffer(data, dtype=np.uint8) <= ord(" ")
    lines = pl.Series("text", [data[1:-1].decode()]).str.split("\n").explode()
    frame = lines.to_frame().with_columns(number_lines(source, len(lines)))
    if (is_blank[1:] & is_blank[:-1]).any() or any(own in data for own in b"#\t\x0b\x0c\r"):
        frame = frame.filter(pl.col("text").str.contains(_DATA))
        if blank == " ":
            single = pl.col("text").str.replace_all(_BLANKS, " ").str.strip_chars(" ")
            frame = frame.with_columns(single)
    text, names = pl.col("text"), tuple(names)
    count = text.str.count_matches(blank, literal=True) + 1
    frame = frame.select(
        text.str.splitn(blank, len(names)).struct.rename_fields(names),
        "line",
        *([count.alias("fields")] if counted else []),
    ).unnest("text")
    if blank != " ":
        frame = frame.with_columns(pl.col(names).str.strip_chars())
    return RowTable(frame, problems)


def _drop_bad(judgements: Judgements, problems: tuple[Problem, ...]) -> Parsed:
    """Return judgements without the rows of problems, and of documents that are judged again."""
    problems += tuple(judgements.find_repeated())
    if not problems:
        return Parsed(judgements, [])
    good = ~np.isin(judgements.line, [problem.line or 0 for problem in problems])
    return Parsed(judgements.only(good) if good.any() else None, [*problems])


# -- columns as lines ------------------------------------------------------------------------------

_UNFIT = dict.fromkeys(("topic", "doc", "xpath"), r"^$|[\t\n\x0b\x0c\r ]")
_UNFIT["topic"] += r"|^[#<{\x{feff}]"  # it opens the line: no comment, no JSON


def join_words(name: str) -> str:
    """Return a run's name without blanks, such as ``my_run``."""
    return re.sub(r"\s+", "_", name) or "run"


def _format_lines(frame: pl.DataFrame, fields: Sequence[str | pl.Expr], path: str) -> str:
    """Return one line per row; refuse names that white space would split, from the file `path`."""
    for what in (field for field in fields if isinstance(field, str) and field in _UNFIT):
        unfit = frame[what].filter(frame[what].str.contains(_UNFIT[what]))
        if len(unfit):
            text = f"{what} {unfit[0]!r} cannot be a field between blanks; JSON Lines can hold it"
            raise InputError.at("write.unfit", path, None, text)
    lines = frame.select(pl.format(" ".join(["{}"] * len(fields)), *fields)).to_series()
    return "".join(f"{line}\n" for line in lines)


def _write_results(run: Run, *place: str | pl.Expr, absent: Any = False, what: str = "") -> str:
    """Write results as lines that end with their place; refuse one whose place is `absent`.

    Results without scores get falling ones.
    """
    if np.any(absent):
        text = f"result has no {what}; this format needs one, a collection tells it (--collection)"
        raise InputError.at("write.unheld", run.source.path, int(run.line[absent][0]), text)
    score = pl.col("score") if run.score is not None else -pl.col("rank")
    fields = ("topic", pl.lit("Q0"), "doc", "rank", score, pl.lit(join_words(run.name)), *place)
    return _format_lines(run.to_frame(), fields, run.source.path)


# -- runs of passages and elements -----------------------------------------------------------------


def parse_run(source: Source, *, unresolved: bool = False) -> Parsed:
    """Parse a passage run; the order of the lines is the ranking, rank and rsv are not.

    With `unresolved`, offsets of ``X`` or ``-1`` are results whose place is not known, and the
    score may be anything, as for the official evaluator.
    """
    fields = _RUN_COLUMNS | {"start": pl.Int64, "length": pl.Int64}
    rules = [RULES["start"], RULES["length"]]
    start, length = pl.col("start"), pl.col("length")
    if unresolved:
        fields |= {"score": None, "start": pl.String, "length": pl.String}
        start, length = (
            own.replace("X", str(UNKNOWN)).cast(pl.Int64, strict=False) for own in (start, length)
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
    table = tabulate(source, fields, _PASSAGES, rules)
    return _make_run(source, table, start=start, end=start + length)


def parse_element_run(source: Source) -> Parsed:
    """Parse an element run; the order of the lines is the ranking, a collection gives places."""
    from foveal.formats.xpaths import canonical_paths, is_relative, is_root

    fields = _RUN_COLUMNS | {"xpath": pl.String}
    table = tabulate(source, fields, _ELEMENTS)
    xpath = table.frame["xpath"]
    # What is known of the XPaths of earlier runs shows whether each line has to be checked.
    if table.problems or is_relative(xpath).any():
        table = tabulate(source, fields, _ELEMENTS, [RULES["xpath"]])
        xpath = table.frame["xpath"]
    xpath = canonical_paths(xpath)
    start = pl.when(is_root(xpath)).then(_START).otherwise(_NOWHERE)
    return _make_run(source, table, xpath=xpath, start=start, end=_NOWHERE)


def _make_run(
    source: Source, table: RowTable, notes: tuple[str, ...] = (), **columns: Any
) -> Parsed:
    """Return the run of a table with more columns; its name is that of the first line."""
    words, rows = head_fields(source), table.frame.with_columns(**columns).to_dict()
    # The same column, not an equal one, so that its XPaths are looked up once (`GrowingTable`).
    rows |= {name: own for name, own in columns.items() if isinstance(own, pl.Series)}
    run = Run.from_frame(
        rows,
        name=words[5].decode(errors="replace") if len(words) > 5 else source.stem,
        source=source.provenance,
        notes=notes,
        note_grouping=GROUPED,
    )
    return Parsed(run, [*table.problems])


def write_run(run: Run) -> str:
    """Write the run in 8 fields; every result must have a place."""
    length = pl.col("end") - pl.col("start")
    return _write_results(run, "start", length, absent=run.end < 0, what="end")


def write_element_run(run: Run) -> str:
    """Write the run in 7 fields; every result must have an XPath."""
    absent = np.ones(len(run), dtype=bool) if run.xpath is None else run.xpath.is_null().to_numpy()
    return _write_results(run, "xpath", absent=absent, what="XPath")


# -- runs of documents -----------------------------------------------------------------------------


def parse_document_run(source: Source) -> Parsed:
    """Parse a document run, ordered as by trec_eval: by score, then document, both descending.

    Text after the sixth field is ignored, as by trec_eval, with a warning.
    """
    table, notes = tabulate(source, _RUN_COLUMNS, _DOCUMENTS), tuple[str, ...]()
    if table.problems:
        rows, cut = source.data.split(b"\n"), list[int]()
        for at, fields in enumerate(map(bytes.split, rows)):
            if _has_trailing_text(fields):
                rows[at] = b" ".join(fields[:6])
                cut.append(at + 1)
        if cut:
            table = tabulate(replace(source, data=b"\n".join(rows)), _RUN_COLUMNS, _DOCUMENTS)
            notes = (Tally(describe_ignored_text, len(cut), [source.number(cut[0])]),)
    frame = table.frame
    topic = number_rows(frame["topic"]).number
    in_order = (topic[1:] > topic[:-1]) | mark_falling(topic, frame["score"].to_numpy())
    if not in_order.all():
        frame = rank_results(frame.with_columns(place=pl.Series(topic)), "place", doc="doc")
    return _make_run(source, table._replace(frame=frame), notes, start=_START, end=_NOWHERE)


def describe_ignored_text(number: int, first: Sequence[int]) -> str:
    """Return the note that `number` lines have text after the sixth field."""
    return (
        f"lines with ignored text after the sixth field: {number}, the first is line {min(first)}"
    )


def mark_falling(topic: Ints, score: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Mark scores below the one before, of the same topic, in the single precision of trec_eval."""
    with np.errstate(over="ignore"):
        single = score.astype(np.float32)
    falls: npt.NDArray[np.bool_] = (single[1:] < single[:-1]) & (topic[1:] == topic[:-1])
    return falls


def rank_results(frame: pl.DataFrame, *groups: str, doc: str) -> pl.DataFrame:
    """Return the rows in the order of trec_eval: by ``score``, then by document, both descending.

    trec_eval keeps scores in single precision: scores that differ only beyond it are equal. Rows
    are ordered within `groups`.
    """
    by: list[str | pl.Expr] = [*groups, pl.col("score").cast(pl.Float32), doc]
    descending = [False] * len(groups) + [True, True]
    return frame.sort(by, descending=descending, maintain_order=True)


def write_document_run(run: Run) -> str:
    """Write documents at their first result, with scores that keep their order."""
    kept = run.take(run.first == np.arange(len(run)))
    score = kept.score if keeps_scores(kept) else None
    return _write_results(kept.with_columns(rank=None, score=score))


def keeps_scores(run: Run) -> bool:
    """Return True if scores in single precision keep the order, so that they can be written."""
    if run.score is None:
        return False
    falls = mark_falling(run.topic, run.score) | (run.topic[1:] != run.topic[:-1])
    return bool(falls.all())


# -- remarks on runs: oddities that readers accept -------------------------------------------------


def _read_field(source: Source, run: Run, at: int) -> pl.DataFrame:
    """Return a field of the lines of the run's results as ``name``, and ``line``."""
    frame, _ = split_fields(source, map(str, range(at + 2)))
    return frame.select("line", name=str(at)).filter(np.isin(frame["line"], run.line))


def line_ranks(source: Source, run: Run) -> Ints | None:
    """Return the fourth fields of a run of lines, ordered as `run`; None if not all are ranks."""
    if not head_fields(source):
        return None
    frame = _read_field(source, run, 3)
    rank = frame["name"].cast(pl.Int64, strict=False)
    return None if rank.null_count() else rank.to_numpy()[np.searchsorted(frame["line"], run.line)]


def find_other_names(source: Source, run: Run) -> list[Problem]:
    """Find names of the run other than the one on its first line, each where it first occurs."""
    from foveal.formats.trec_genomics import is_run_line

    fields = head_fields(source)
    at = 5 + is_run_line(fields)  # in TREC Genomics the name is one further
    if len(fields) <= at:  # no line has a name
        return []
    frame = _read_field(source, run, at)
    first = frame["name"][0]
    is_other = pl.col("name").is_first_distinct() & (pl.col("name") != first)
    text = f"the run is called {{name}} here, but {first!r} before; expected one run in a file"
    return check_rules(source.path, frame, [RowRule("run.name", is_other, text)])


def list_notes(run: Run) -> Iterator[Problem]:
    """List the warnings of the reader, with their lines."""
    path = run.source.path
    for note in run.notes:
        if not (isinstance(note, Note) and note.code == GROUPED.code):
            first = note.items[0] if isinstance(note, Tally) and note.items else None
            yield Problem("run.note", path, first[0] if isinstance(first, tuple) else first, note)
            continue
        order = np.argsort(run.line, kind="stable")
        topic, line = run.topic[order], run.line[order]
        opens = np.flatnonzero(np.diff(topic, prepend=-1))
        for at in opens[~pl.Series(topic[opens]).is_first_distinct().to_numpy()].tolist():
            text = f"topic {run.topics[topic[at]]!r} comes back after another one; the lines of a "
            yield Problem(note.code, path, int(line[at]), f"{text}topic are not together")


# -- judgements of passages ------------------------------------------------------------------------

_COLUMNS = ("topic", "Q0", "doc", "declared", "length", "bep", "passages")
_OFFSET_AND_LENGTH = "[0-9]{1,12}:[0-9]{1,12}"
_GOOD_PASSAGES = f"^{_OFFSET_AND_LENGTH}(?: {_OFFSET_AND_LENGTH})*$"
# The first passage that is wrong, or the last; finding it takes six times as long as checking all.
_SUSPECT = pl.col("passages").str.extract(f"^(?:{_OFFSET_AND_LENGTH} )*([^ ]+)")
_LINE_RULES = (
    RULES["topic"],
    RowRule(
        "line.fields",
        pl.col("length").is_null(),
        "fewer than 5 fields; expected topic Q0 doc relchars doclen [bep off:len ...]",
    ),
    range_rule("declared", "line.number", "relevant characters"),
    range_rule("length", "line.number", "document length"),
    range_rule("bep", "line.number", "best entry point", least=UNKNOWN),
    RowRule(
        "judgements.passage",
        ~pl.col("suspect").str.contains(f"^{_OFFSET_AND_LENGTH}$"),
        "passage {suspect} is not of the form offset:length",
    ),
)
_SUM_RULES = (
    RowRule(
        "judgements.sum",
        pl.col("total") != pl.col("declared"),
        "{declared} relevant characters, but the passages hold {total}",
    ),
    RowRule("judgements.overlap", pl.col("overlaps"), "two passages of this line overlap"),
    RowRule(
        "judgements.length",
        pl.col("reach") > pl.col("length"),
        "a passage ends past the document's length {length}",
    ),
    RowRule(
        "judgements.bep",
        pl.col("bep") > pl.col("length"),
        "best entry point {bep} is past the document's length {length}",
    ),
)


def parse_judgements(source: Source, *, official: bool = False) -> Parsed:
    """Parse passage judgements.

    The relevant characters must be the sum of the passages and fit into the document. With
    `official` they are taken as they are, as the official evaluator does.
    """
    table = split_fields(source, _COLUMNS, counted=False)
    is_good = table.frame["passages"].str.contains(_GOOD_PASSAGES).all()
    suspect = pl.lit(None, pl.String) if is_good else _SUSPECT
    table = table._replace(frame=table.frame.with_columns(suspect=suspect))
    bad = check_rules(source.path, table.frame, _LINE_RULES)
    frame, problems = table.without(bad) if bad else table
    pairs = frame.select(pl.col("passages").str.split(" "), row=pl.int_range(pl.len()))
    pairs = pairs.drop_nulls("passages").explode("passages")
    spans = pairs["passages"].str.splitn(":", 2).struct.unnest().select(pl.all().cast(pl.Int64))
    row, (start, size) = pairs["row"].to_numpy(), (column.to_numpy() for column in spans)
    end, n, notes = start + size, len(frame), tuple[str, ...]()
    counts = np.bincount(row, minlength=n).astype(np.int64)
    numbers = pl.col("declared", "length", "bep").cast(pl.Int64).fill_null(UNKNOWN)
    frame = frame.with_columns(numbers)
    declared, length, bep = (frame[name].to_numpy() for name in ("declared", "length", "bep"))
    if official:
        alone = (bep >= 0) & (counts == 0)
        text = "best entry point without a passage; it is ignored"
        notes = tuple(f"{source.path}:{at}: {text}" for at in frame["line"].filter(alone))
        frame = frame.with_columns(bep=np.where(alone, UNKNOWN, bep))
    else:
        reach = np.zeros(n, dtype=np.int64)
        np.maximum.at(reach, row, end)
        total = np.bincount(row, size, n).astype(np.int64)
        in_order = (start[1:] >= end[:-1]) | (row[1:] != row[:-1])
        overlaps = np.zeros(n, bool) if in_order.all() else _mark_overlaps(row, start, end, n)
        past = np.max([reach, bep, declared], axis=0) > length
        # Handing a first array to Polars imports numpy.ma, which takes 7 ms.
        if ((total != declared) | overlaps | past).any():
            sums = frame.with_columns(total=total, reach=reach, overlaps=overlaps)
            problems += tuple(check_rules(source.path, sums, _SUM_RULES))
    relevant = pl.col("declared") > 0
    place = pl.when(relevant).then("bep").otherwise(UNKNOWN)
    rows = frame.select("topic", "doc", "line", "length", bep=place, relevant=relevant)
    about: dict[str, Any] = {"declared": declared, "notes": notes}
    judgements = Judgements.from_rows(rows, counts, start, end, source=source.provenance, **about)
    return _drop_bad(judgements, problems)


def _mark_overlaps(row: Ints, start: Ints, end: Ints, n: int) -> npt.NDArray[np.bool_]:
    """Mark which of `n` rows have overlapping spans."""
    overlaps = np.zeros(n, dtype=bool)
    document = np.searchsorted(row, row)
    overlaps[row[find_conflicts(*put_on_axis(start, end, document))[1]]] = True
    return overlaps


def write_judgements(judgements: Judgements) -> str:
    """Write judgements in FOL; quotes, elements and the size of grades are left behind."""
    own, n = judgements, len(judgements)
    graded = np.zeros(n, dtype=bool)
    if own.grade is not None:
        graded[own.row[own.grade <= 0]] = True
    for bad, what in (
        (own.length < 0, "the length of the document is missing"),
        (own.pair != np.arange(n), "a second assessor"),
        (graded, "a span of grade 0"),
        (_mark_overlaps(own.row, own.start, own.end, n), "overlapping spans"),
    ):
        check_rows(own, bad, what)
    spans = pl.DataFrame({"row": own.row, "start": own.start, "length": own.end - own.start})
    passages = pl.format("{}:{}", "start", "length").str.join(" ").alias("passages")
    joined = spans.group_by("row", maintain_order=True).agg(passages)
    columns = {"declared": own.rel_size, "length": own.length, "bep": own.bep, "row": np.arange(n)}
    frame = _tabulate_rows(own, **columns)
    frame = frame.join(joined, on="row", how="left", maintain_order="left")
    rest = pl.format(" {} {}", "bep", "passages")
    length = pl.concat_str("length", rest, ignore_nulls=True)
    return _format_lines(
        frame, ("topic", pl.lit("Q0"), "doc", "declared", length), own.sources[0].path
    )


def _tabulate_rows(judgements: Judgements, **columns: Any) -> pl.DataFrame:
    """Return topic and document of each judgement, with other columns."""
    topic = pl.Series(judgements.topics, dtype=pl.String).gather(judgements.topic)
    return pl.DataFrame({"topic": topic, "doc": judgements.doc, **columns})


# -- judgements of documents -----------------------------------------------------------------------


def parse_grades(source: Source) -> Parsed:
    """Parse judgements of whole documents: grade above 0 is relevant."""
    frame, problems = tabulate(source, _GRADES, "topic iteration doc grade")
    grade = pl.col("grade")
    rows = frame.select(
        "topic", "doc", "line", relevant=grade > 0, document_grade=grade.cast(pl.Float64)
    )
    none = np.zeros(len(frame), dtype=np.int64)
    judgements = Judgements.from_rows(
        rows, none, none[:0], none[:0], source=source.provenance, has_text=False
    )
    return _drop_bad(judgements, problems)


def write_grades(judgements: Judgements) -> str:
    """Write one line per document; its grade is 1 or 0 if it was judged by its text."""
    check_rows(judgements, judgements.pair != np.arange(len(judgements)), "a second assessor")
    given = judgements.document_grade
    grade = judgements.relevant if given is None else given
    frame = _tabulate_rows(judgements, grade=grade.astype(np.int64))
    return _format_lines(frame, ("topic", pl.lit("0"), "doc", "grade"), judgements.sources[0].path)


# -- formats ---------------------------------------------------------------------------------------

_PASSAGE = re.compile(rb"[0-9]+:[0-9]+$")  # ends judgements, which may have eight fields, too
_PLACE = re.compile(rb"[-+]?[0-9]+(:[0-9]+)?$|X$|/|.*\[[0-9]+\]")  # offsets and XPaths


def _has_trailing_text(fields: Sequence[bytes]) -> bool:
    """Return True if six fields of a document run are followed by text that is not a place."""
    if len(fields) < 7 or fields[0].startswith(b"#") or not re.match(rb"[-+]?\.?[0-9]", fields[4]):
        return False
    # Passages have eight fields, elements seven.
    return not any(map(_PLACE.match, fields[6 : 8 if len(fields) == 8 else 7]))


def _recognise(source: Source, kind: str) -> str:
    """Return the name of the format of a run or of judgements, by the fields of the first line."""
    fields = head_fields(source)
    n, ends_in_passage = len(fields), bool(fields) and _PASSAGE.match(fields[-1]) is not None
    if kind == "judgements":
        name = "fol" if n == 5 or (n > 6 and ends_in_passage) else "trec" if n == 4 else ""
    elif n == 7 and fields[6].startswith(b"/"):
        return "elements"
    elif n == 8 and not ends_in_passage and (fields[6].isdigit() or not _has_trailing_text(fields)):
        return "fol"
    else:
        name = "trec" if n == 6 or _has_trailing_text(fields) else ""
    if name and fields[1] != b"Q0" and (n > 5 or b"\t" in source.head[1]):
        from foveal.formats.trec_genomics import is_gold, is_run_line

        # Lines of TREC Genomics may have as many fields.
        return "" if is_run_line(fields) or is_gold(source) else name
    return name


FORMATS = (
    Format(
        "fol",
        "run",
        """Passages of INEX since 2007, also called FOL: 8 fields.

`topic Q0 doc rank rsv runid start length`

The order of the lines is the ranking; lines of a topic that are not together are grouped, with a
warning. `rsv`, the score, is a finite number; `Q0` and `rank` are ignored. `start` and `length`
count characters of the document's text. The first line names the run.""",
        "1 Q0 reaction-ferries 1 10.7209 paragraphs 59 242\n1 Q0 fords 2 9.5 paragraphs 0 180\n",
        lambda source: _recognise(source, "run") == "fol",
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
document; any other path needs a collection index, except for measures that need no place. `[1]` may
be left out: in all formats, `/article/sec` and `/article[1]/sec[1]` are the same result.""",
        "289 Q0 9996 1 0.9999 ours /article[1]/body[1]/section[2]/p[1]\n",
        lambda source: _recognise(source, "run") == "elements",
        parse_element_run,
        write_element_run,
        lazy_losses("run_losses", keeps="results offsets xpaths"),
    ),
    Format(
        "fol",
        "judgements",
        """Passages of INEX since 2007, also called FOL: 5 fields or more.

`topic Q0 doc relevant-characters document-length [best-entry-point offset:length ...]`

One line per topic and document; five fields mean that nothing is relevant. Passages lie within the
document and do not overlap, and the relevant characters are their sum.""",
        "1 Q0 reaction-ferries 3117 3589 302 59:992 1082:1064 2190:708 2969:353\n"
        "1 Q0 fords 0 3579\n",
        lambda source: _recognise(source, "judgements") == "fol",
        parse_judgements,
        write_judgements,
        lazy_losses("judgement_losses", form="fol"),
    ),
    Format(
        "trec",
        "run",
        """TREC runs of whole documents: 6 fields.

`topic Q0 doc rank score runid`

Results are ordered [as by trec_eval](decisions.md#trec-ties): by score in single precision, then
document name, both descending. The rank is ignored, and so is text
after the sixth field, with a warning. Measures of text need the length of a returned
document; passage judgements give it for every judged document.""",
        "301 Q0 FR940202-2-00150 1 2.129133 STANDARD\n",
        lambda source: _recognise(source, "run") == "trec",
        parse_document_run,
        write_document_run,
        lazy_losses("run_losses", keeps=""),
    ),
    Format(
        "trec",
        "judgements",
        """TREC judgements of whole documents (qrels): 4 fields, for measures on documents.

`topic iteration doc grade`

The second field is ignored. A grade above 0 is relevant.""",
        "301 0 FR940202-2-00150 1\n301 0 FR940104-0-00001 0\n",
        lambda source: _recognise(source, "judgements") == "trec",
        parse_grades,
        write_grades,
        lazy_losses("judgement_losses", form="trec"),
    ),
)
