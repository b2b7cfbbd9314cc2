"""Gold data as parsed from a file, and the judgements and topics made of it.

JSON is parsed with msgspec: a wrong value is named by its path, such as ``$.tests[3].span``.
`build_judgements` then places all spans in the texts of their documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import polars as pl
from msgspec import Raw

from foveal.adapters.text_spans import NEAR, TextPlacer, TextSpan, UnplacedSpanError
from foveal.errors import InputError, Problem, UsageError, some
from foveal.files.source import Source, first_lines
from foveal.formats.objects import explain_json
from foveal.model import Judgements, Topics
from foveal.model.results import ALL
from foveal.model.topics import Topic

__all__ = [
    "FolderTexts",
    "GoldSpan",
    "ParsedGold",
    "Question",
    "Texts",
    "build_judgements",
    "decode",
    "decode_entries",
    "decode_file",
    "decode_lines",
    "decode_list",
    "read_texts",
]

T = TypeVar("T")
Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GoldSpan(TextSpan):
    """A span that answers a question; `sets` are the alternatives that it belongs to."""

    where: str = ""
    """The place in the file, for messages."""
    sets: tuple[str, ...] = ()
    aspects: tuple[str, ...] = ()
    assessor: str | None = None


@dataclass(slots=True)
class Question:
    """A topic with its evidence."""

    id: str
    text: str | None
    line: int
    where: str
    spans: list[GoldSpan] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    """Documents that were judged besides those of the spans."""
    relevant: set[str] = field(default_factory=set)
    """Judged documents that are relevant as a whole, in files without spans."""


class ParsedGold(NamedTuple):
    """The questions of a file, the texts that it holds, and counts of what was not read."""

    questions: Iterable[Question]
    texts: Texts | None = None
    unread: Mapping[str, int] | None = None
    has_spans: bool = True
    """False if whole documents are judged."""


# -- JSON ------------------------------------------------------------------------------------------

_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "array": "a list",
    "object": "an object",
}
"""Types as msgspec names them, and their names in messages."""


def decode(
    source: Source,
    data: bytes,
    kind: type[T],
    line: int = 1,
    path: str = "$",
    *,
    again: bool = False,
) -> T:
    """Return a JSON value of a certain kind; `line` and `path` are its place in the file."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        what, _, inner = str(error).partition(" - at `$")  # how msgspec gives the path
        found = re.sub(
            "`([^`]+)`",
            lambda names: " or ".join(_KINDS.get(n, repr(n)) for n in names[1].split(" | ")),
            what[0].lower() + what[1:],
        )
        raise source.error("gold.structure", line, f"{path}{inner[:-1]}: {found}") from None
    except (msgspec.DecodeError, RecursionError):
        if again:
            message = "not valid JSON: half of a character (a lone surrogate), or nested too deeply"
            raise source.error("json.syntax", line, message) from None
    try:
        # NaN is not JSON, but pandas writes it where there is no value.
        value = json.loads(data, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        at = line + getattr(error, "lineno", 1) - 1
        message = f"not valid JSON: {explain_json(error)}"
        raise source.error("json.syntax", at, message) from None
    return decode(source, json.dumps(value).encode(), kind, line, path, again=True)


def decode_file(source: Source, kind: type[T]) -> T:
    """Return the one JSON value of a file."""
    source.check_utf8()
    return decode(source, source.data, kind)


def decode_lines(source: Source, kind: type[T]) -> Iterator[tuple[T, int]]:
    """Yield the JSON values of a file that has one on each line, with their lines."""
    source.check_utf8()
    for number, line in first_lines(source.data, source.data.count(b"\n") + 1):
        yield decode(source, line, kind, number), number


def decode_list(source: Source, name: str, kind: type[T]) -> Iterator[tuple[T, int, str]]:
    """Yield the values of a list in the object of a file, with line and path of each."""
    root = decode_file(source, dict[str, Raw])
    if name not in root:
        raise source.error("gold.structure", 1, f"$: object missing required field {name!r}")
    entries = decode(source, bytes(root[name]), list[Raw], path=f"$.{name}")
    yield from decode_entries(source, entries, kind, f"$.{name}")


def decode_entries(
    source: Source, entries: list[Raw] | dict[str, Raw], kind: type[T], path: str
) -> Iterator[tuple[T, int, str]]:
    """Yield the values of a list or an object in a file, with line and path of each."""
    at, counted, line = 0, 0, 1
    for key, entry in entries.items() if isinstance(entries, dict) else enumerate(entries):
        data, own = bytes(entry), f"{path}[{key!r}]"
        found = source.data.find(data, at)
        if found >= 0:
            line += source.data.count(b"\n", counted, found)
            counted, at = found, found + len(data)
        yield decode(source, data, kind, line, own), line, own


# -- judgements ------------------------------------------------------------------------------------


def build_judgements(
    parsed: ParsedGold,
    source: Source,
    texts: Texts | None,
    *,
    repair: bool = False,
    drop_mismatches: bool = False,
) -> tuple[Judgements, Topics]:
    """Return judgements and topics in the order of the file, with all spans placed in the texts.

    `repair` moves a quote that occurs exactly once near its offset, `drop_mismatches` drops the
    quotes that still do not match. Without them a mismatch is an error.
    """
    if (repair or drop_mismatches) and texts is None:
        raise UsageError(
            "--repair and --drop-mismatches compare quotes with the documents; give their texts "
            "(--texts)"
        )
    placer = TextPlacer(
        texts,
        repair=repair,
        drop_mismatches=drop_mismatches,
        is_partial=True,
        what="quote",
        remedy="give prefix or suffix, or start and end",
    )
    questions, lost = list[Question](), list[str]()
    problems: list[Problem] = []
    for question in parsed.questions:
        placed: dict[Any, GoldSpan] = {}
        if question.id == ALL:
            text = f"{question.where}: a topic may not be called {ALL!r}: results use it"
            problems.append(Problem("topic.reserved", source.path, question.line, text))
        for span in question.spans:
            try:
                place = placer.place(span)
            except UnplacedSpanError as error:
                text = f"{span.where}: {error}"
                problems.append(Problem(error.code, source.path, question.line, text))
                continue
            if place is None:
                continue
            doc, start, end = place
            if not doc:
                text = f"{span.where}: the document has no name"
                problems.append(Problem("gold.structure", source.path, question.line, text))
            quote = span.quote
            if quote is not None and span.is_loose and texts is not None and doc in texts:
                quote = texts[doc][start:end]
            # A paragraph that several answers name is one span.
            key = place if span.is_paragraph else len(placed)
            sets = (*(placed[key].sets if key in placed else ()), *span.sets)
            own = placed.get(key, span)
            placed[key] = replace(
                own, doc=doc, start=start, end=end, quote=quote, sets=tuple(dict.fromkeys(sets))
            )
        if placed or not question.spans:
            questions.append(replace(question, spans=[*placed.values()]))
        else:
            lost.append(question.id)
    if problems:
        raise InputError(problems, summary=_summarise(problems, placer, source))
    if not any(own.spans or own.judged for own in questions):
        raise source.error("gold.empty", None, "no question has any evidence")
    moved, dropped = placer.counts["moved"], placer.counts["dropped"]
    notes = [
        f"quotes moved to the only place within {NEAR} characters: {moved}" if moved else "",
        f"quotes left out because they do not match their text: {dropped}" if dropped else "",
        f"questions left out with their quotes: {len(lost)} ({some(lost)})" if lost else "",
    ]
    judgements = _make_judgements(
        questions,
        source,
        texts or {},
        has_text=parsed.has_spans,
        notes=tuple(note for note in notes if note),
        unread=parsed.unread or None,
    )
    topics = [Topic(question.id, title=question.text) for question in questions]
    lines = [question.line for question in questions]
    return judgements, Topics.of(topics, line=lines, source=source.provenance)


def _summarise(problems: list[Problem], placer: TextPlacer, source: Source) -> str | None:
    """Return a last line about quotes that do not match, with the options that import them."""
    wrong = sum(problem.code == "span.quote" for problem in problems)
    if not wrong:
        return None
    movable = placer.counts["movable"]
    text = f"quotes that do not match their text: {wrong} of {placer.counts['compared']}"
    if movable:
        text += f"; --repair moves those that occur once within {NEAR} characters: {movable}"
    if movable < wrong:
        rest = f"the others: {wrong - movable}" if movable else "them"
        text += f"; --drop-mismatches leaves out {rest}"
    return f"{source.path}: {text}"


def _make_judgements(
    questions: list[Question], source: Source, texts: Texts, *, has_text: bool, **extra: Any
) -> Judgements:
    """Return one row per topic, document and assessor, with its spans."""
    rows: dict[tuple[str, str, str | None], tuple[int, list[GoldSpan]]] = {}
    for question in questions:
        for span in question.spans:
            assert span.doc is not None  # it is placed
            key = (question.id, span.doc, span.assessor)
            rows.setdefault(key, (question.line, []))[1].append(span)
        known = {span.doc for span in question.spans}
        for doc in question.judged:
            if doc not in known:
                rows.setdefault((question.id, doc, None), (question.line, []))
    flat = [span for _, spans in rows.values() for span in spans]
    frame = pl.DataFrame(
        [
            (topic, doc, len(texts[doc]) if doc in texts else None, line, assessor)
            for (topic, doc, assessor), (line, _) in rows.items()
        ],
        schema={
            "topic": pl.String,
            "doc": pl.String,
            "length": pl.Int64,
            "line": pl.Int64,
            "assessor": pl.String,
        },
        orient="row",
    )
    if frame["assessor"].null_count() == len(frame):
        frame = frame.drop("assessor")
    if not has_text:
        relevant = {question.id: question.relevant for question in questions}
        marks = [doc in relevant[topic] for topic, doc, _ in rows]
        frame = frame.with_columns(relevant=pl.Series(marks, dtype=pl.Boolean))
    quotes = pl.DataFrame(
        [(span.quote, span.prefix, span.suffix) for span in flat],
        schema=dict.fromkeys(("quote", "prefix", "suffix"), pl.String),
        orient="row",
    )
    for name in ("aspects", "sets"):
        labels = [[*getattr(span, name)] for span in flat]
        if any(labels):
            extra[name] = pl.Series(name, labels, dtype=pl.List(pl.String))
    return Judgements.from_rows(
        frame,
        np.array([len(spans) for _, spans in rows.values()], dtype=np.int64),
        np.array([span.start for span in flat], dtype=np.int64),
        np.array([span.end for span in flat], dtype=np.int64),
        source=source.provenance,
        has_text=has_text,
        quotes=quotes if any(column.count() for column in quotes) else None,
        topics_without_documents=[q.id for q in questions if not (q.spans or q.judged)],
        **extra,
    )


# -- texts -----------------------------------------------------------------------------------------


class FolderTexts(Texts):
    """The files of a folder, read when they are asked for.

    A document is named as its file below the folder, with or without the extension. If two files
    differ only in the extension, neither has the shorter name.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        names = {path.relative_to(self.folder).as_posix(): path for path in files}
        short: dict[str, list[Path]] = {}
        for name, path in names.items():
            short.setdefault(name.removesuffix(path.suffix), []).append(path)
        only = {name: paths[0] for name, paths in short.items() if len(paths) == 1}
        self._files = {**only, **names}
        self._read: dict[Path, str] = {}

    def __getitem__(self, name: str) -> str:
        path = self._files[name]
        if path not in self._read:
            source = Source.open(path)
            source.check_utf8()
            # Line ends of any kind are one character, as Python reads them.
            text = source.data.decode()
            self._read[path] = text.replace("\r\n", "\n").replace("\r", "\n")
        return self._read[path]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class _TextLine(msgspec.Struct):
    doc: str | int
    text: str


def read_texts(path: str | Path) -> Texts:
    """Return the texts of a folder of files, or of a file with ``{"doc", "text"}`` on each line."""
    if Path(path).is_dir():
        found = FolderTexts(path)
        if not found:
            raise InputError.at(
                "file.empty_directory", str(path), None, "the directory holds no file"
            )
        return found
    return {str(own.doc): own.text for own, _ in decode_lines(Source.open(path), _TextLine)}
