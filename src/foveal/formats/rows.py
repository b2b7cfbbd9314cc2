"""Rows of files: rules that no row of any format may break, and lines of fields as columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats.base import Parsed, head_fields
from foveal.model import Judgements
from foveal.model.run import ALL
from foveal.spans import Ints

# -- rules -----------------------------------------------------------------------------------------

MAX_OFFSET = 1 << 40  # more is a mistake: no document has a million million characters
RESERVED = f"a topic may not be called {ALL!r}: results use it for the mean"


class RowRule(NamedTuple):
    """A rule: the code of its problem, the rows that break it, and the message about one.

    Names of columns in the message, such as ``{rank}``, become the values of the row.
    """

    code: str
    broken: pl.Expr
    message: str


def check_rules(
    path: str, line: Ints, frame: pl.DataFrame, rules: Sequence[RowRule]
) -> list[Problem]:
    """Return a problem for each row that breaks a rule; null breaks none.

    All rules are one query: campaigns have thousands of small files without a problem, and a query
    takes longer than its work.

    >>> rule = RowRule("run.rank", pl.col("rank") < 1, "rank {rank}; expected a number from 1")
    >>> print(*check_rules("a.xml", [7, 9], pl.DataFrame({"rank": [1, 0]}), [rule]))
    a.xml:9: rank 0; expected a number from 1
    """
    broken = frame.select(rule.broken.alias(str(i)) for i, rule in enumerate(rules))
    problems = []
    for rule, rows in zip(rules, broken, strict=True):
        for row in rows.fill_null(value=False).arg_true() if rows.any() else ():
            values = frame.row(row, named=True).items()
            shown = {name: "missing" if own is None else repr(own) for name, own in values}
            text = rule.message.format(**shown)
            problems.append(Problem(rule.code, path, int(line[row]), text))
    return problems


def raise_problems(problems: Sequence[Problem]) -> None:
    """Raise the problems in line order, if there are any."""
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))


def range_rule(column: str, code: str = "span.offset", name: str = "") -> RowRule:
    """Return the rule that a column holds numbers that an offset or a length can have."""
    expected = f"is out of range; expected a number from 0 to {MAX_OFFSET}"
    possible = pl.col(column).is_between(0, MAX_OFFSET)
    return RowRule(code, ~possible, f"{name or column} {{{column}}} {expected}")


# Rows of a reserved topic that follow each other share a problem.
_IS_RESERVED = (pl.col("topic") == ALL) & pl.col("topic").shift(1).ne_missing(ALL)
_NO_PATH = "{xpath} is not an XPath; expected /path[1]/of[1]/element[2]"
_NOT_FINITE = "score {score} is not a finite number"
# The rule of each column of results.
RULES = {name: range_rule(name) for name in ("start", "end", "length", "bep")} | {
    "topic": RowRule("topic.reserved", _IS_RESERVED, RESERVED),
    "rank": range_rule("rank", "run.rank"),
    "tokens": range_rule("tokens", "run.tokens"),
    "score": RowRule("run.score", ~pl.col("score").is_finite(), _NOT_FINITE),
    "xpath": RowRule("run.xpath", ~pl.col("xpath").str.starts_with("/"), _NO_PATH),
}
NAME_RULES = (
    RULES["topic"],
    *(
        RowRule(f"{name}.missing", pl.col(name).fill_null("") == "", f"{name} is missing")
        for name in ("topic", "doc")
    ),
)


def list_offset_rules(*, inclusive: bool = False) -> list[RowRule]:
    """Return the rules for columns ``start`` and ``end``, null where a result has none."""
    start, end = pl.col("start"), pl.col("end")
    one, before = start.is_null() != end.is_null(), (end < start - int(inclusive)) & (end >= 0)
    return [
        RowRule("span.incomplete", one, "start and end belong together; one is missing"),
        RULES["start"],
        RULES["end"],
        RowRule("span.offset", before, "end {end} is before start {start}"),
    ]


class Defects(NamedTuple):
    """Makes problems of the rows of a file, whose lines it knows."""

    source: Source
    line: Ints

    def at(
        self, code: str, rows: npt.NDArray[np.bool_] | Ints, message: str, *values: Ints | pl.Series
    ) -> Iterator[Problem]:
        """Yield a problem for each marked row; ``{}`` in the message takes the row's values."""
        for row in (np.flatnonzero(rows) if rows.dtype == bool else rows).tolist():
            text = message.format(*(value[row] for value in values))
            yield Problem(code, self.source.path, int(self.line[row]), text)


# -- lines of fields -------------------------------------------------------------------------------

# The fields that lines of runs begin with, except those of TREC Genomics.
RUN_COLUMNS: dict[str, Any] = dict.fromkeys(("topic", "Q0", "doc", "rank"), pl.String)
RUN_COLUMNS |= {"score": pl.Float64, "run": pl.String}
_BLANKS = r"[ \t\x0b\x0c\r]{2,}|[\t\x0b\x0c\r]"  # anything but a single blank
_BLOCK = 1 << 18  # bytes looked at together; what fits into the cache is fastest
_NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
# A part of a document: offsets, an unresolved offset, XPaths.
_PLACE = re.compile(rb"^[-+]?[0-9]+(:[0-9]+)?$|^X$|^/|\[[0-9]+\]")
_UNFIT = {
    "topic": r"^$|^[#<{\x{feff}]|[\t\n\x0b\x0c\r ]",  # it opens the line: no comment, no JSON
    "doc": r"^$|[\t\n\x0b\x0c\r ]",
    "xpath": r"^$|[\t\n\x0b\x0c\r ]",
}


class RowTable(NamedTuple):
    """The good rows of a file as columns, the line of each, and the problems of other lines."""

    frame: pl.DataFrame
    line: Ints
    problems: tuple[Problem, ...] = ()

    def checked(self) -> RowTable:
        """Return the table; raise its problems in line order if there are any."""
        raise_problems(self.problems)
        return self

    def without(self, problems: Iterable[Problem]) -> RowTable:
        """Return the table without the rows of these problems, which are added to its own.

        Rows of a topic with a reserved name go, too: only the first of them has a problem.
        """
        found = list(problems)
        if not found:
            return self
        bad = np.isin(self.line, [problem.line or 0 for problem in found])
        good = ~bad & (self.frame["topic"] != ALL).fill_null(value=True).to_numpy()
        return RowTable(self.frame.filter(good), self.line[good], (*self.problems, *found))


# -- reading ---------------------------------------------------------------------------------------


def tabulate(
    source: Source,
    columns: dict[str, Any],
    keep: tuple[str, ...],
    form: str,
    rules: Sequence[RowRule] = (),
) -> RowTable:
    """Read a file whose lines have the fields `columns`, given by name and Polars type.

    A line with other fields (`form` says which are expected), or with a text where a finite number
    is expected, is a problem. The table has the columns `keep`: ``topic`` and all numbers at least;
    `rules` are about them.
    """
    problems: Sequence[Problem] = ()
    if not source.data.isascii():
        source, problems = drop_undecodable(source)
    frame = _parse_regular(source, columns, keep)
    if frame is not None:
        line = source.numbered(np.arange(1, len(frame) + 1, dtype=np.int64))
        line.flags.writeable = False
    else:
        rows, line = normalise_lines(source.data)
        line = source.numbered(line)
        size, number = rows.str.count_matches(" ") + 1, len(columns)
        text = f"{{}} fields found, expected {number}: {form}"
        other = (size != number).to_numpy()
        problems = [*problems, *Defects(source, line).at("line.fields", other, text, size)]
        line = line[~other]
        texts = rows.filter(~other).str.splitn(" ", number).struct.unnest()
        frame = texts.rename(dict(zip(texts.columns, columns, strict=True))).select(
            pl.col(name).cast(columns[name], strict=False) for name in keep
        )
        for at, (name, kind) in enumerate(columns.items()):
            if kind != pl.String:
                bad = ~frame[name].is_finite().fill_null(value=False).to_numpy()
                code = "run.score" if name == "score" else "line.number"
                text = f"{name} {{!r}} is not a {'whole' if kind == pl.Int64 else 'finite'} number"
                problems += Defects(source, line).at(code, bad, text, texts.to_series(at))
    problems = [*problems, *check_rules(source.path, line, frame, (RULES["topic"], *rules))]
    table = RowTable(frame, line)
    return table.without(problems) if problems else table


def _parse_regular(
    source: Source, columns: dict[str, Any], keep: tuple[str, ...]
) -> pl.DataFrame | None:
    """Return the columns `keep` of a file of good lines; None if any line has to be looked at.

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
            schema=columns,
            columns=[names.index(name) for name in dict.fromkeys((*keep, names[-1]))],
            truncate_ragged_lines=True,
        )
    except (pl.exceptions.PolarsError, OverflowError):  # no line, or a bad number
        return None
    # The parser ignores fields after the last, and columns that are not kept: count the blanks.
    symbols, found = np.frombuffer(data, dtype=np.uint8), 0
    for at in range(0, len(symbols), _BLOCK):
        is_blank = symbols[at : at + _BLOCK + 1] == ord(blank)
        if (is_blank[1:] & is_blank[:-1]).any():
            return None
        found += int(np.count_nonzero(is_blank[:_BLOCK]))
    if (
        found != len(frame) * (len(names) - 1)
        or any(column.null_count() for column in frame)
        or not all(
            np.isfinite(column.to_numpy()).all() for column in frame if column.dtype.is_float()
        )
        or (b"#" in data and frame["topic"].str.starts_with("#").any())
    ):
        return None
    return frame[[*keep]]


def drop_undecodable(source: Source) -> tuple[Source, tuple[Problem, ...]]:
    """Return a source with lines that are not UTF-8 left blank, and a problem for each of them."""
    try:
        source.check_utf8()
    except InputError:
        lines, problems = source.data.split(b"\n"), list[Problem]()
    else:
        return source, ()
    for at, line in enumerate(lines):
        try:
            replace(source, data=line, lines=source.numbered(np.array([at + 1]))).check_utf8()
        except InputError as error:
            problems += error.problems
            lines[at] = b""
    return replace(source, data=b"\n".join(lines)), tuple(problems)


def normalise_lines(data: bytes) -> tuple[pl.Series, Ints]:
    """Return lines with single blanks, without comments and blank lines, and their numbers.

    >>> rows, numbers = normalise_lines(b"# topics" + bytes([10]) + b" 1  Q0 d")
    >>> rows.to_list(), numbers.tolist()
    (['1 Q0 d'], [2])
    """
    is_blank = np.frombuffer(b"\n" + data, dtype=np.uint8) <= ord(" ")
    is_regular = data and not (is_blank[1:] & is_blank[:-1]).any() and not data.endswith(b" ")
    rows = pl.Series([data.decode().removesuffix("\n")]).str.split("\n").explode()
    if is_regular and not any(other in data for other in (b"#", b"\t", b"\x0b", b"\x0c", b"\r")):
        return rows, np.arange(1, len(rows) + 1, dtype=np.int64)
    rows = rows.str.replace_all(_BLANKS, " ").str.strip_chars(" ")
    kept = rows.str.contains("^[^#]")
    return rows.filter(kept), kept.arg_true().to_numpy().astype(np.int64) + 1


def has_trailing_text(fields: Sequence[bytes]) -> bool:
    """Return True if text that is not a place of a passage or element follows the six fields.

    >>> has_trailing_text(b"301 Q0 FR94 1 2.1 ours a comment".split())
    True
    >>> has_trailing_text(b"301 Q0 FR94 1 2.1 ours 20 15".split())
    False
    """
    if len(fields) <= 6 or not _NUMBER.fullmatch(fields[4]):
        return False
    # Passages have eight fields, elements seven.
    return not any(map(_PLACE.search, fields[6:8] if len(fields) <= 8 else fields[6:7]))


def is_genomics(source: Source) -> bool:
    """Return True for a line of TREC Genomics, which may have as many fields as others."""
    from foveal.formats.trec_genomics import is_gold, is_run_line

    return is_run_line(head_fields(source)) or is_gold(source)


def drop_bad(judgements: Judgements, problems: Sequence[Problem]) -> Parsed:
    """Return judgements without the rows of problems, of which there are some."""
    good = ~np.isin(judgements.line, [problem.line or 0 for problem in problems])
    return Parsed(judgements.only(good) if good.any() else None, [*problems])


# -- writing ---------------------------------------------------------------------------------------


def one_word(name: str) -> str:
    """Return a run's name without blanks, such as ``my_run``."""
    return re.sub(r"\s+", "_", name) or "run"


def as_lines(
    frame: pl.DataFrame, fields: Sequence[str | pl.Expr], path: str, rest: pl.Expr | None = None
) -> str:
    """Return one line per row; `rest` ends the lines where it is not null.

    Names that white space would split are refused, with the `path` they come from.
    """
    for what in (field for field in fields if isinstance(field, str) and field in _UNFIT):
        unfit = frame[what].filter(frame[what].str.contains(_UNFIT[what]))
        if len(unfit):
            text = f"{what} {unfit[0]!r} cannot be a field between blanks; JSON Lines can hold it"
            raise InputError.at("write.unfit", path, None, text)
    form = pl.format(" ".join(["{}"] * len(fields)), *fields)
    if rest is not None:
        form = pl.coalesce(pl.format("{} {}", form, rest), form)
    return "".join(f"{line}\n" for line in frame.select(form).to_series())


def check_rows(
    judgements: Judgements, bad: npt.NDArray[np.bool_], what: str, *, instead: str = "JSON Lines"
) -> None:
    """Refuse to write judgements whose marked rows hold what a format cannot."""
    if bad.any():
        text = f"{what}: this format cannot hold it, {instead} can"
        rows = np.flatnonzero(bad).tolist()
        raise InputError(judgements.problem("write.unheld", row, text) for row in rows)
