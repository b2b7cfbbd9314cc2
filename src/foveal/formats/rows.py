"""Rows of files: rules for the rows of every format, and the problems of rows that break them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.model import Judgements
from foveal.model.run import ALL

MAX_OFFSET = 1 << 40  # more is a mistake: no document has a million million characters
RESERVED = f"a topic may not be called {ALL!r}: results use it for the mean"


# -- rules -----------------------------------------------------------------------------------------


class RowRule(NamedTuple):
    """A rule: the code of its problem, the rows that break it, and the message about one.

    Names of columns in the message, such as ``{rank}``, become the values of the row.
    """

    code: str
    broken: pl.Expr | pl.Series
    message: str


def check_rules(path: str, frame: pl.DataFrame, rules: Sequence[RowRule]) -> list[Problem]:
    """Return a problem for each row, with its ``line``, that breaks a rule; null breaks none.

    All rules are one query: campaigns have thousands of small files without a problem, and a query
    takes longer than its work.
    """
    broken = frame.select(rule.broken.alias(str(i)) for i, rule in enumerate(rules))
    problems = []
    for rule, rows in zip(rules, broken, strict=True):
        for row in rows.fill_null(value=False).arg_true() if rows.any() else ():
            values = frame.row(row, named=True).items()
            shown = {name: "missing" if own is None else repr(own) for name, own in values}
            text = rule.message.format(**shown)
            problems.append(Problem(rule.code, path, frame["line"][row], text))
    return problems


def raise_problems(problems: Iterable[Problem]) -> None:
    """Raise the problems in line order, each once, if there are any."""
    if found := sorted(dict.fromkeys(problems), key=lambda problem: problem.line or 0):
        raise InputError(found)


def range_rule(
    column: str, code: str = "span.offset", name: str = "", *, least: int = 0
) -> RowRule:
    """Return the rule that a column holds whole numbers, maybe as texts, or null."""
    own = pl.col(column)
    possible = own.cast(pl.Int64, strict=False).is_between(least, MAX_OFFSET)
    expected = f"is not a whole number from {least} to {MAX_OFFSET}"
    broken = own.is_not_null() & ~possible.fill_null(value=False)
    return RowRule(code, broken, f"{name or column} {{{column}}} {expected}")


_NO_PATH = "{xpath} is not an XPath; expected /path[1]/of[1]/element[2]"
_NOT_FINITE = "score {score} is not a finite number"
# The rule of each column of results.
RULES = {name: range_rule(name) for name in ("start", "end", "length", "bep")} | {
    "topic": RowRule("topic.reserved", pl.col("topic") == ALL, RESERVED),
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


# -- rows ------------------------------------------------------------------------------------------


class RowTable(NamedTuple):
    """The good rows of a file as columns, with the ``line`` of each, and problems of others."""

    frame: pl.DataFrame
    problems: tuple[Problem, ...] = ()

    def require_valid(self) -> RowTable:
        """Return the table; raise its problems in line order if there are any."""
        raise_problems(self.problems)
        return self

    def check(self, path: str, rules: Sequence[RowRule]) -> RowTable:
        """Return the table without the rows that break a rule."""
        return self.without(check_rules(path, self.frame, rules))

    def without(self, problems: Iterable[Problem]) -> RowTable:
        """Return the table without the rows of these problems, which are added to its own."""
        if not (found := tuple(problems)):
            return self
        bad = pl.col("line").is_in([problem.line for problem in found])
        return RowTable(self.frame.filter(~bad), (*self.problems, *found))


def number_lines(source: Source, count: int, first: int = 1) -> pl.Series:
    """Return the column ``line`` of `count` lines: their numbers in the file, which may be a part.

    `first` is the number of the first of them in the source.
    """
    if source.lines is None:
        return pl.int_range(first, first + count, dtype=pl.Int64, eager=True).alias("line")
    return pl.Series("line", source.lines[first - 1 : first - 1 + count])


def check_rows(
    judgements: Judgements, bad: npt.NDArray[np.bool_], what: str, *, instead: str = "JSON Lines"
) -> None:
    """Refuse to write judgements whose marked rows hold what a format cannot."""
    if bad.any():
        text = f"{what}: this format cannot hold it, {instead} can"
        rows = np.flatnonzero(bad).tolist()
        raise InputError(judgements.problem("write.unheld", row, text) for row in rows)
