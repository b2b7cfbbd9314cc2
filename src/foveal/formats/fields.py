"""Line formats: white-space separated fields as columns, read and written.

Regular files (one blank or tab between fields, no comments) go straight through the columnar
parser. Anything irregular is normalised first. Bad lines are found one by one only if the parser
refuses the file, so that good files never pay for bad ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source, first_lines
from foveal.model import Judgements
from foveal.model.run import ALL
from foveal.spans import Ints

__all__ = [
    "MAX_OFFSET",
    "RowTable",
    "as_lines",
    "check_rows",
    "drop_undecodable",
    "find_odd_opening",
    "first_lines",
    "normalise_lines",
    "one_word",
    "read_fields",
]

MAX_OFFSET = 1 << 40
"""Offsets beyond this are a mistake: no document has a million million characters."""

_BLANKS = re.compile(r"[ \t\x0b\x0c\r]+")
_BLOCK = 1 << 18
"""Bytes looked at together; what fits into the cache is fastest."""
_GENOMICS = r"^[^ ]+ [^ ]+ [0-9]+ [^ ]+ [0-9]+ [0-9]+ [^ ]+$"
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
        if self.problems:
            raise InputError(sorted(self.problems, key=lambda problem: problem.line or 0))
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


def read_fields(
    source: Source, schema: dict[str, Any], keep: tuple[str, ...], *, form: str
) -> RowTable:
    """Read the columns `keep` of a file whose lines have the fields of `schema`.

    `form` shows the expected line in messages.
    """
    undecodable: tuple[Problem, ...] = ()
    if not source.data.isascii():
        source, undecodable = drop_undecodable(source)
    data = source.data
    separator = b"\t" if source.head[1].count(b"\t") == len(schema) - 1 else b" "
    frame = _parse_fields(data, schema, keep, separator)
    if frame is not None:
        line = np.arange(1, len(frame) + 1, dtype=np.int64)
        line = line if source.lines is None else source.lines[: len(frame)]
        line.flags.writeable = False
        return RowTable(frame, line, undecodable)
    lines, numbers = normalise_lines(data)
    rows, numbers = lines.to_list(), source.numbered(numbers)
    frame = _parse_fields("\n".join(rows).encode(), schema, keep, b" ")
    if frame is not None:
        return RowTable(frame, numbers, undecodable)
    defects = [_find_defect(row.split(" "), schema, form) for row in rows]
    problems = [
        Problem(code, source.path, number, text)
        for (code, text), number in zip(defects, numbers.tolist(), strict=True)
        if code
    ]
    is_good = [not code for code, _ in defects]
    rows = [row for row, good in zip(rows, is_good, strict=True) if good]
    frame = _parse_fields("\n".join(rows).encode(), schema, keep, b" ")
    if frame is None:
        message = f"cannot be read; expected lines of {form}"
        problems.append(Problem("line.fields", source.path, None, message))
        frame, is_good = _parse_fields(b"", schema, keep, b" "), [False] * len(is_good)
    assert frame is not None  # there is always a table without rows
    return RowTable(frame, numbers[np.array(is_good, dtype=bool)], (*undecodable, *problems))


def drop_undecodable(source: Source) -> tuple[Source, tuple[Problem, ...]]:
    """Return a source with lines that are not UTF-8 left blank, and a problem for each of them."""
    try:
        source.check_utf8()
    except InputError:
        pass
    else:
        return source, ()
    lines, problems = source.data.split(b"\n"), list[Problem]()
    for at, line in enumerate(lines):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            number = int(source.numbered(np.array([at + 1]))[0])
            message = f"byte 0x{line[error.start]:02x} is not valid UTF-8; expected UTF-8 text"
            problems.append(Problem("file.encoding", source.path, number, message))
            lines[at] = b""
    return replace(source, data=b"\n".join(lines)), tuple(problems)


def _parse_fields(
    data: bytes, schema: dict[str, Any], keep: tuple[str, ...], separator: bytes
) -> pl.DataFrame | None:
    """Return the columns, or None if any line is not of the expected shape."""
    names = list(schema)
    read = keep if names[-1] in keep else (*keep, names[-1])
    if not data:
        return pl.DataFrame(schema={name: schema[name] for name in keep})
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            separator=separator.decode(),
            quote_char=None,
            schema=schema,
            columns=[names.index(name) for name in read],
        )
    except (pl.exceptions.PolarsError, OverflowError):
        return None
    # A short line leaves its last field null, an empty field any; a comment line that happens to
    # parse shows in its first field.
    if any(column.null_count() for column in frame):
        return None
    if b"#" in data and frame[keep[0]].str.starts_with("#").any():
        return None
    # The parser does not notice too many fields: there must be as many separators as expected, each
    # of them alone, and no other blanks.
    if any(blank in data for blank in (b" ", b"\t", b"\x0b", b"\x0c") if blank != separator):
        return None
    symbols, found = np.frombuffer(data, dtype=np.uint8), 0
    for at in range(0, len(symbols), _BLOCK):
        blank = symbols[at : at + _BLOCK + 1] == separator[0]
        if (blank[1:] & blank[:-1]).any():
            return None
        found += int(np.count_nonzero(blank[:_BLOCK]))
    return frame.select(keep) if found == len(frame) * (len(schema) - 1) else None


def normalise_lines(data: bytes) -> tuple[pl.Series, Ints]:
    """Return lines with single blanks, without comments and blank lines, and their numbers.

    >>> rows, numbers = normalise_lines(b"# topics" + bytes([10]) + b" 1  Q0 d")
    >>> rows.to_list(), numbers.tolist()
    (['1 Q0 d'], [2])
    """
    symbols = np.frombuffer(data, dtype=np.uint8)
    blank = symbols <= ord(" ")
    other = (symbols < ord(" ")) & (symbols != ord("\n"))
    at_the_edge = not len(data) or blank[0] or data.endswith(b" ")
    if not (at_the_edge or other.any() or (blank[1:] & blank[:-1]).any() or b"#" in data):
        # A separator that does not occur: each line is one column of text.
        rows = pl.read_csv(
            data, has_header=False, separator="\x01", quote_char=None, schema={"row": pl.String}
        ).to_series()
        return rows, np.arange(1, len(rows) + 1, dtype=np.int64)
    found = {
        number: row
        for number, line in enumerate(data.decode().split("\n"), 1)
        if (row := _BLANKS.sub(" ", line).strip(" ")) and not row.startswith("#")
    }
    return pl.Series(found.values(), dtype=pl.String), np.fromiter(found, np.int64, len(found))


def _find_defect(fields: list[str], schema: dict[str, Any], form: str) -> tuple[str, str]:
    """Return code and text of what is wrong with a line; empty ones if nothing is."""
    if len(fields) != len(schema):
        return "line.fields", f"{len(fields)} fields found, expected {len(schema)}: {form}"
    for (name, kind), text in zip(schema.items(), fields, strict=True):
        if kind == pl.Int64 and not _is_number(int, text):
            return "line.number", f"{name} {text!r} is not a whole number"
        if kind == pl.Float64 and not _is_number(float, text):
            return "line.number", f"{name} {text!r} is not a number"
    return "", ""


def _is_number(kind: type[int] | type[float], text: str) -> bool:
    if "_" in text or not text.isascii():
        return False
    try:
        value = kind(text)
    except ValueError:
        return False
    return kind is float or abs(value) < 1 << 63


def find_odd_opening(source: Source) -> list[Problem]:
    """Find first lines with other fields than most: they disguise the format of a run.

    >>> lines = "1 Q0 d 1 9 mine", "1 Q0 d 2 8 mine 4 2", "1 Q0 e 3 7 mine 0 2"
    >>> print(*find_odd_opening(Source.of_text(chr(10).join(lines), "a.run")))
    a.run:1: 6 fields found, but most lines have 8
    """
    rows, numbers = normalise_lines(source.data)
    fields = rows.str.count_matches(" ") + 1
    seven = rows.str.contains(r" /[^ ]*$") | rows.str.contains(_GENOMICS)
    known = fields.filter(fields.is_in([6, 8]) | ((fields == 7) & seven))
    if not len(known):
        return []
    most = int(known.mode(maintain_order=True)[0])
    opening = int((fields == most).arg_max() or 0)
    return [
        Problem(
            "line.fields", source.path, number, f"{count} fields found, but most lines have {most}"
        )
        for count, number in zip(fields.head(opening), numbers[:opening].tolist(), strict=True)
    ]


# -- writing ---------------------------------------------------------------------------------------


def one_word(name: str) -> str:
    """Return a run's name without blanks.

    >>> one_word("my run")
    'my_run'
    """
    return re.sub(r"\s+", "_", name) or "run"


def as_lines(
    frame: pl.DataFrame,
    fields: Sequence[str | pl.Expr],
    path: str,
    *,
    rest: pl.Expr | None = None,
) -> str:
    """Return one line per row; `rest` ends the lines where it is not null.

    Names that white space would split are refused, with the `path` they come from.
    """
    names = {field for field in fields if isinstance(field, str)}
    for what in [name for name in _UNFIT if name in names]:
        unfit = frame[what].filter(frame[what].str.contains(_UNFIT[what]))
        if len(unfit):
            raise InputError.at(
                "write.unfit",
                path,
                None,
                f"{what} {unfit[0]!r} cannot be a field between blanks; JSON Lines can hold it",
            )
    form = pl.format(" ".join(["{}"] * len(fields)), *fields)
    if rest is not None:
        form = pl.coalesce(pl.format("{} {}", form, rest), form)
    return "".join(f"{line}\n" for line in frame.select(form).to_series())


def check_rows(
    judgements: Judgements, bad: npt.NDArray[np.bool_], what: str, *, instead: str = "JSON Lines"
) -> None:
    """Refuse to write judgements whose marked rows hold what a format cannot."""
    if bad.any():
        raise InputError(
            judgements.problem(
                "write.unheld", row, f"{what}: this format cannot hold it, {instead} can"
            )
            for row in np.flatnonzero(bad).tolist()
        )
