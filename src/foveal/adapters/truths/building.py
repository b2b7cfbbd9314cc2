"""From questions and the spans that answer them to judgements and topics; quotes are checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem, UsageError, counted, some
from foveal.files.source import Source
from foveal.formats.fields import MAX_OFFSET
from foveal.model import Judgements, Topics
from foveal.model.results import ALL
from foveal.model.topics import Topic

__all__ = ["Evidence", "Gold", "Question", "build"]

_SHOWN = 40
_NEAR = 100
"""Characters by which a quote may be moved."""
_SIMILAR = 0.7
_COMPARED = 500
"""Characters of a quote that are compared with the text for similarity."""


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


class Gold(NamedTuple):
    """The questions of a file, the texts that they quote, and counts of what was not read."""

    questions: Iterable[Question]
    texts: Mapping[str, str] | None
    unread: Mapping[str, int] | None = None


def build(
    gold: Gold, source: Source, *, repair: bool = False, drop_mismatches: bool = False
) -> tuple[Judgements, Topics]:
    """Return judgements and topics in the order of the file; quotes are compared with the texts.

    `repair` moves a quote that occurs exactly once near its offset, `drop_mismatches` leaves out
    the quotes that still do not match. Without them a mismatch is an error.
    """
    if (repair or drop_mismatches) and gold.texts is None:
        raise UsageError(
            "--repair and --drop-mismatches compare quotes with the documents; give their texts "
            "(--texts)"
        )
    texts = gold.texts or {}
    every, notes = _matching(
        gold.questions, source, texts, repair=repair, drop_mismatches=drop_mismatches
    )
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
    judged = _judgements(
        rows,
        lines,
        source,
        texts,
        notes=notes,
        unread=gold.unread or None,
        topics_without_documents=[q.id for q in every if not q.evidence and not q.judged],
    )
    topics = [Topic(question.id, title=question.text) for question in every]
    return judged, Topics.of(topics, line=[q.line for q in every], source=source.provenance)


# -- quotes that are not at their offsets ---------------------------------------------------------


def _matching(
    questions: Iterable[Question],
    source: Source,
    texts: Mapping[str, str],
    *,
    repair: bool,
    drop_mismatches: bool,
) -> tuple[list[Question], tuple[str, ...]]:
    """Return the questions with quotes that match the texts, and notes on what was changed."""
    kept: list[Question] = []
    problems: list[Problem] = []
    lost: list[str] = []
    quotes = moved = dropped = movable = 0
    for question in questions:
        evidence = []
        for one in question.evidence:
            text = texts.get(one.doc)
            quotes += text is not None and one.quote is not None
            if text is None or one.quote is None or _holds(text, one.start, one.end, one.quote):
                evidence.append(one)
                continue
            near = [at for at in _places(text, one.quote) if abs(at - one.start) <= _NEAR]
            if repair and len(near) == 1:
                moved += 1
                evidence.append(replace(one, start=near[0], end=near[0] + len(one.quote)))
            elif drop_mismatches:
                dropped += 1
            else:
                movable += len(near) == 1
                message = f"{one.where}: {_mismatch(text, one, one.quote, near)}"
                problems.append(Problem("unclassified", source.path, question.line, message))
        if evidence or not question.evidence:
            kept.append(replace(question, evidence=evidence))
        else:
            lost.append(question.id)
    if problems:
        summary = f"quotes that do not match their text: {len(problems)} of {quotes}"
        if movable:
            summary += (
                f"; --repair moves those that occur once within {_NEAR} characters: {movable}"
            )
        if movable < len(problems):
            rest = f"the others: {len(problems) - movable}" if movable else "them"
            summary += f"; --drop-mismatches leaves out {rest}"
        raise InputError(problems, summary=f"{source.path}: {summary}")
    notes = [
        f"quotes moved to the only place within {_NEAR} characters: {moved}" if moved else "",
        f"quotes left out because they do not match their text: {dropped}" if dropped else "",
        f"questions left out with their quotes: {len(lost)} ({some(lost)})" if lost else "",
    ]
    return kept, tuple(note for note in notes if note)


def _holds(text: str, start: int, end: int, quote: str) -> bool:
    return start >= 0 and text[start:end] == quote


def _places(text: str, quote: str) -> list[int]:
    """Return where a quote begins, overlapping places included."""
    places = []
    at = text.find(quote) if quote else -1
    while at >= 0:
        places.append(at)
        at = text.find(quote, at + 1)
    return places


def _mismatch(text: str, one: Evidence, quote: str, near: Sequence[int]) -> str:
    """Describe a quote that is not at its offset, and where it is instead."""
    there = text[max(one.start, 0) : max(one.end, 0)]
    found = (
        f"the span [{one.start},{one.end}) of document {one.doc!r} holds {_short(there)}; expected "
        f"{_short(quote)}"
    )
    if len(near) > 1:
        return f"{found}, which occurs {len(near)} times within {_NEAR} characters"
    places = near or sorted(_places(text, quote), key=lambda at: abs(at - one.start))
    if places:
        by = abs(places[0] - one.start)
        side = "later" if places[0] > one.start else "earlier"
        away = f", {counted(by, 'character')} {side}" if by else ""
        return f"{found}, which is at [{places[0]},{places[0] + len(quote)}){away}"
    matcher = SequenceMatcher(None, there[:_COMPARED], quote[:_COMPARED], autojunk=False)
    close = matcher.ratio() >= _SIMILAR
    return found if close else f"{found} (another version of the text?)"


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")


# -- judgements -----------------------------------------------------------------------------------


def _check(every: Sequence[Question], source: Source, texts: Mapping[str, str]) -> None:
    if not any(question.evidence or question.judged for question in every):
        raise source.error("unclassified", None, "no question has any evidence")
    problems = []
    for question in every:
        if question.id == ALL:
            said = f"{question.where}: a topic may not be called {ALL!r}: results use it"
            problems.append(Problem("unclassified", source.path, question.line, said))
        for one in question.evidence:
            said = _wrong(one, texts)
            if said:
                problems.append(
                    Problem("unclassified", source.path, question.line, f"{one.where}: {said}")
                )
    if problems:
        raise InputError(problems)


def _wrong(one: Evidence, texts: Mapping[str, str]) -> str:
    """What is wrong with the place of a span; empty if nothing is."""
    if not one.doc:
        return "the document has no name"
    if not 0 <= one.start <= one.end <= MAX_OFFSET:
        return f"[{one.start},{one.end}) is no span; expected 0 <= start <= end"
    text = texts.get(one.doc)
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
    texts: Mapping[str, str],
    **extra: Any,
) -> Judgements:
    keys = list(rows)
    flat = [one for key in keys for one in rows[key]]
    lengths = [len(texts[doc]) if doc in texts else None for _, doc, _ in keys]
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
        **columns,
        **extra,
    )
