"""From questions and the spans that answer them to judgements and topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.formats.fields import MAX_OFFSET
from foveal.formats.source import Source
from foveal.model import Judgements, Topics
from foveal.model.results import ALL
from foveal.model.topics import Topic

__all__ = ["Evidence", "Question", "build", "check_quote"]

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Evidence:
    """A span that answers a question; `sets` are the alternatives that it belongs to."""

    doc: str
    start: int
    end: int
    where: str
    """The place in the file, for messages."""
    quote: str | None = None
    prefix: str | None = None
    suffix: str | None = None
    sets: tuple[str, ...] = ()
    aspects: tuple[str, ...] = ()
    assessor: str | None = None


@dataclass(slots=True)
class Question:
    """A topic with its evidence; `judged` are documents that were looked at besides."""

    id: str
    text: str | None
    line: int
    where: str
    evidence: list[Evidence] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)


def check_quote(
    source: Source, line: int, found: Evidence, texts: Mapping[str, str] | None
) -> None:
    """Refuse evidence whose place does not hold the text that it quotes, where that is known."""
    text = None if texts is None else texts.get(found.doc)
    if text is None or found.quote is None:
        return
    there = text[found.start : found.end]
    if there != found.quote:
        raise source.error(
            line,
            f"{found.where}: the span [{found.start},{found.end}) of document {found.doc!r} holds "
            f"{_short(there)}; expected {_short(found.quote)} (another version of the text?)",
        )


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")


def build(
    questions: Iterable[Question],
    source: Source,
    *,
    texts: Mapping[str, str] | None = None,
    notes: tuple[str, ...] = (),
    unread: Mapping[str, int] | None = None,
) -> tuple[Judgements, Topics]:
    """Judgements and topics, in the order of the file; offsets are checked against the texts."""
    every = list(questions)
    _check(every, source, texts)
    rows: dict[tuple[str, str, str | None], list[Evidence]] = {}
    lines: dict[tuple[str, str, str | None], int] = {}
    for question in every:
        named = [(one.doc, one.assessor, one) for one in question.evidence]
        for doc, assessor, one in [*named, *((doc, None, None) for doc in question.judged)]:
            if one is None and any(known == doc for known, _, _ in named):
                continue
            key = (question.id, doc, assessor)
            lines.setdefault(key, question.line)
            own = rows.setdefault(key, [])
            own += [] if one is None else [one]
    judged = _judgements(rows, lines, source, texts, notes, unread)
    topics = [Topic(question.id, title=question.text) for question in every]
    return judged, Topics.of(topics, line=[q.line for q in every], source=source.provenance)


def _check(every: Sequence[Question], source: Source, texts: Mapping[str, str] | None) -> None:
    if not any(question.evidence or question.judged for question in every):
        raise source.error(None, "no question has any evidence")
    problems = []
    for question in every:
        if question.id == ALL:
            said = f"{question.where}: a topic may not be called {ALL!r}: results use it"
            problems.append(Problem(source.path, question.line, said))
        for one in question.evidence:
            said = _wrong(one, texts)
            if said:
                problems.append(Problem(source.path, question.line, f"{one.where}: {said}"))
    if problems:
        raise InputError(problems)


def _wrong(one: Evidence, texts: Mapping[str, str] | None) -> str:
    """What is wrong with the place of a span; empty if nothing is."""
    if not one.doc:
        return "the document has no name"
    if not 0 <= one.start <= one.end <= MAX_OFFSET:
        return f"[{one.start},{one.end}) is no span; expected 0 <= start <= end"
    text = None if texts is None else texts.get(one.doc)
    if text is not None and one.end > len(text):
        return (
            f"the span [{one.start},{one.end}) ends past the {len(text)} characters of document "
            f"{one.doc!r}"
        )
    return ""


def _judgements(
    rows: Mapping[tuple[str, str, str | None], list[Evidence]],
    lines: Mapping[tuple[str, str, str | None], int],
    source: Source,
    texts: Mapping[str, str] | None,
    notes: tuple[str, ...],
    unread: Mapping[str, int] | None,
) -> Judgements:
    keys = list(rows)
    flat = [one for key in keys for one in rows[key]]
    lengths = [None if texts is None or doc not in texts else len(texts[doc]) for _, doc, _ in keys]
    frame = pl.DataFrame(
        {
            "topic": [topic for topic, _, _ in keys],
            "doc": [doc for _, doc, _ in keys],
            "length": lengths,
            "line": [lines[key] for key in keys],
            "assessor": [assessor for _, _, assessor in keys],
        },
        schema={
            **dict.fromkeys(("topic", "doc"), pl.String),
            **dict.fromkeys(("length", "line"), pl.Int64),
            "assessor": pl.String,
        },
    )
    if frame["assessor"].null_count() == len(frame):
        frame = frame.drop("assessor")
    quotes = pl.DataFrame(
        {name: [getattr(one, name) for one in flat] for name in ("quote", "prefix", "suffix")},
        schema=dict.fromkeys(("quote", "prefix", "suffix"), pl.String),
    )
    labels = {name: [[*getattr(one, name)] for one in flat] for name in ("aspects", "sets")}
    columns: dict[str, Any] = {
        name: pl.Series(name, lists, dtype=pl.List(pl.String))
        for name, lists in labels.items()
        if any(lists)
    }
    quoted = any(column.null_count() < len(column) for column in quotes)
    return Judgements.from_rows(
        frame,
        np.array([len(rows[key]) for key in keys], dtype=np.int64),
        np.array([one.start for one in flat], dtype=np.int64),
        np.array([one.end for one in flat], dtype=np.int64),
        source=source.provenance,
        quotes=quotes if quoted else None,
        notes=notes,
        unread=unread,
        **columns,
    )
