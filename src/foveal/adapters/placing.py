"""Places of rows in their documents: complete, possible, and true where the texts are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from foveal.adapters.alignment import (
    AMBIGUOUS,
    EXACT,
    NORMALISED,
    Aligner,
    Found,
)
from foveal.adapters.frameworks import DICT, FRAMEWORKS, TUPLE
from foveal.errors import InputError, Problem, UsageError
from foveal.files.source import Source
from foveal.formats.checks import Defects, check_names, check_spans
from foveal.model import UNKNOWN
from foveal.spans import Ints

__all__ = ["Texts", "defects_of", "placed", "sizes"]

_KINDS = {kind.name: kind for kind in (*FRAMEWORKS, DICT, TUPLE)}
_SHOWN = 40


class Texts(NamedTuple):
    """The texts of documents, and what to do with a result that has no single place in them."""

    texts: Mapping[str, str] | None = None
    ambiguous: str = "error"
    missing: str = "error"


def _check_policies(given: Texts) -> None:
    """Refuse texts that are no mapping, and words that are no policy."""
    if given.texts is not None and not isinstance(given.texts, Mapping):
        raise UsageError(
            f"texts is a {type(given.texts).__name__}; expected a mapping of documents to texts"
        )
    allowed = {"ambiguous": ("error", "first", "empty"), "missing": ("error", "empty")}
    for name, words in allowed.items():
        if getattr(given, name) not in words:
            raise UsageError(f"{name} {getattr(given, name)!r} is not one of {', '.join(words)}")


def defects_of(frame: pl.DataFrame, name: str) -> Defects:
    """What is wrong with rows, said by the name of the run and the number of the row."""
    return Defects(Source(name, b"", ""), frame["line"].to_numpy())


def placed(frame: pl.DataFrame, name: str, given: Texts) -> tuple[pl.DataFrame, list[str]]:
    """The rows with their start and end, and notes about those that were placed by their text.

    A row without start, end and text has none: a whole document, or the place of an XPath.
    """
    _check_policies(given)
    defects = defects_of(frame, name)
    if "assessor" in frame.columns and given.texts is not None:
        frame = _with_documents(frame, name, Aligner(given.texts))
    defects.raise_if([*_without_names(frame, name)])
    defects.raise_if(check_names(defects, frame["topic"]))
    # Splitters write -1 where they did not find their own chunk again.
    lost = (frame["start"] == -1).fill_null(value=False) & frame["text"].is_not_null()
    frame = frame.with_columns(
        pl.when(~lost).then("start").alias("start"), pl.when(~lost).then("end").alias("end")
    )
    by_text = frame["start"].is_null() & frame["end"].is_null() & frame["text"].is_not_null()
    if "xpath" in frame.columns:
        by_text &= frame["xpath"].is_null()
    notes: list[str] = []
    if by_text.any():
        if given.texts is None:
            raise InputError(_without_places(frame, by_text, lost, name))
        frame, notes = _aligned(frame, by_text, name, given)
    size = pl.col("text").str.len_chars().cast(pl.Int64)
    frame = frame.with_columns(end=pl.coalesce("end", pl.col("start") + size))
    half = frame["start"].is_null() ^ frame["end"].is_null()
    defects.raise_if(
        [
            *defects.at(
                "unclassified", half.to_numpy(), "start and end belong together; one is missing"
            )
        ]
    )
    start, end = (frame[side].fill_null(UNKNOWN).to_numpy() for side in ("start", "end"))
    known = frame["start"].is_not_null().to_numpy()
    negative = known & ((start < 0) | (end < 0))
    problems = [
        *defects.at(
            "unclassified", negative, "[{},{}) is no span; expected offsets from 0", start, end
        ),
        *check_spans(defects, np.where(negative, 0, start), np.where(negative, 0, end)),
    ]
    defects.raise_if(problems)
    if given.texts is None:
        differs = (frame["end"] - frame["start"] != frame.select(size).to_series()).fill_null(
            value=False
        )
        differs &= ~by_text
        defects.raise_if([*_misfits(frame, differs, name)])
    else:
        frame = _checked(frame, by_text, name, given.texts)
    return frame, notes


def _with_documents(frame: pl.DataFrame, name: str, aligner: Aligner) -> pl.DataFrame:
    """Name the document of each quote without one, if only one document holds the quote."""
    unnamed = (frame["doc"].fill_null("") == "") & frame["start"].is_null()
    docs, problems = frame["doc"].to_list(), list[Problem]()
    for i in (unnamed & frame["text"].is_not_null()).arg_true().to_list():
        text = frame["text"][i]
        held = aligner.holders(text)
        if len(held) == 1:
            docs[i] = held[0]
        else:
            message = aligner.message_without_document([text], [held], held)
            problems.append(_said(frame.row(i, named=True), message, name))
    if problems:
        raise InputError(problems)
    return frame.with_columns(pl.Series("doc", docs, dtype=pl.String))


def _said(row: Mapping[str, object], message: str, name: str) -> Problem:
    number = row["line"]
    assert isinstance(number, int)
    return Problem(
        "unclassified", name, number, f"topic {row['topic']!r}, {row['kind']}: {message}"
    )


def _without_names(frame: pl.DataFrame, name: str) -> Iterator[Problem]:
    """Rows that do not tell their topic or document."""
    bad = frame.filter(
        (pl.col("topic").fill_null("") == "") | (pl.col("doc").fill_null("") == "")
    ).select("topic", "doc", "kind", "line")
    for row in bad.iter_rows(named=True):
        if not row["topic"]:
            yield Problem("unclassified", name, row["line"], f"{row['kind']}: topic is missing")
        else:
            kind = _KINDS.get(row["kind"], DICT)
            yield _said(row, f"the document is missing; {kind.no_doc}", name)


def _without_places(
    frame: pl.DataFrame, rows: pl.Series, lost: pl.Series, name: str
) -> Iterator[Problem]:
    """Rows with a text and no place, each with what its framework can do about it."""
    bad = frame.select("topic", "kind", "line", lost=lost).filter(rows)
    for row in bad.iter_rows(named=True):
        kind = _KINDS.get(row["kind"], DICT)
        what = "its start is -1: the splitter changed the text and did not find it again;"
        if not row["lost"]:
            what = f"the start of its text is missing; {kind.no_start}, or"
        yield _said(row, f"{what} give the texts of the documents (texts=)", name)


def _aligned(
    frame: pl.DataFrame, rows: pl.Series, name: str, given: Texts
) -> tuple[pl.DataFrame, list[str]]:
    """The rows that have only their text at its place, if it has one."""
    assert given.texts is not None
    aligner = Aligner(given.texts)
    start, end = frame["start"].to_list(), frame["end"].to_list()
    problems: list[Problem] = []
    count: dict[str, int] = {}
    for i in rows.arg_true().to_list():
        doc, text = frame["doc"][i], frame["text"][i]
        found = aligner.find(doc, text)
        count[found.how] = count.get(found.how, 0) + 1
        place = _place(found, given)
        if place is None:
            problems.append(_said(frame.row(i, named=True), aligner.message(doc, text), name))
        else:
            start[i], end[i] = place
    if problems:
        raise InputError(problems)
    loose = count.get(NORMALISED, 0)
    sure = count.get(EXACT, 0) + loose
    how = f" ({loose} only with white space and characters normalised)" if loose else ""
    notes = [f"results given by their text, placed in their documents: {sure}{how}"] if sure else []
    several = count.get(AMBIGUOUS, 0)
    if several:
        done = "taken at the first place" if given.ambiguous == "first" else "left empty"
        notes.append(f"results whose text is in its document more than once, {done}: {several}")
    nowhere = sum(count.values()) - sure - several
    if nowhere:
        notes.append(f"results whose text is not in its document, left empty: {nowhere}")
    placed_at = [pl.Series(n, v, dtype=pl.Int64) for n, v in (("start", start), ("end", end))]
    return frame.with_columns(placed_at), notes


def _place(found: Found, given: Texts) -> tuple[int, int] | None:
    """The place of a text by the policies; None where it is an error."""
    if found.placed:
        return found.places[0]
    policy = given.ambiguous if found.how == AMBIGUOUS else given.missing
    if policy == "first":
        return found.places[0]
    return None if policy == "error" else (0, 0)


def _misfits(frame: pl.DataFrame, rows: pl.Series, name: str) -> Iterator[Problem]:
    """Rows whose text is longer or shorter than their span: one of the two is not what was read."""
    for row in frame.filter(rows).iter_rows(named=True):
        what = (
            f"[{row['start']},{row['end']}) are {row['end'] - row['start']} characters, but its "
            f"text has {len(row['text'])}; expected the text of the document as it was cut there"
        )
        yield _said(row, what, name)


def _checked(
    frame: pl.DataFrame, by_text: pl.Series, name: str, texts: Mapping[str, str]
) -> pl.DataFrame:
    """The rows, compared with the texts of their documents; whole documents get their end."""
    problems: list[Problem] = []
    lengths: list[int] = []
    size: dict[str, int] = {}
    columns = frame.select("doc", "start", "end", "text", found=by_text)
    for i, (doc, start, end, text, found_by_text) in enumerate(columns.iter_rows()):
        if doc not in size:
            size[doc] = len(texts[doc]) if doc in texts else UNKNOWN
        lengths.append(size[doc])
        message = ""
        if size[doc] < 0:
            message = f"document {doc!r} is not among the texts"
        elif end is not None and end > size[doc]:
            message = f"ends at {end}, past the {size[doc]} characters of document {doc!r}"
        elif text is not None and end is not None and not found_by_text:
            found = texts[doc][start:end]
            if found != text:
                message = (
                    f"document {doc!r} holds {_quoted(found)} at [{start},{end}); its text is "
                    f"{_quoted(text)}"
                )
        if message:
            problems.append(_said(frame.row(i, named=True), message, name))
    if problems:
        raise InputError(problems)
    return frame.with_columns(pl.Series("size", lengths, dtype=pl.Int64))


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def sizes(frame: pl.DataFrame) -> Ints | None:
    """The lengths of the rows' documents, where texts told them."""
    return frame["size"].to_numpy() if "size" in frame.columns else None
