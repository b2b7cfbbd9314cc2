"""Gold data as parsed from a file, and the judgements and topics made of it.

A wrong value of JSON is named by its path, such as ``$.tests[3].span``. `build_judgements` then
places all spans in the texts of their documents.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import polars as pl

from foveal.adapters.from_objects import COLUMNS, OF_JUDGEMENTS, group_spans
from foveal.errors import InputError, UsageError, some
from foveal.files.source import Source, first_lines
from foveal.formats.locate import MOVED, NEAR, TextLocator, TextSpan
from foveal.model import Judgements, Topics
from foveal.model.run import ALL
from foveal.model.topics import Topic

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A JSON value in a file of gold data, with its path and the line where the JSON begins."""

    gold: GoldFile
    value: Any
    line: int = 1
    path: str = "$"

    def error(self, text: str, code: str = "gold.structure") -> InputError:
        return self.gold.source.error(code, self.line, f"{self.path}{text}")

    def convert(self, kind: Any) -> Any:
        """Return the value if it is of this kind; a part that is not is named by its path."""
        try:
            return msgspec.convert(self.value, kind)
        except msgspec.ValidationError as error:
            raise self.error(f": {error}") from None

    def get(self, name: str, kind: Any) -> Any:
        """Return a field of an object that must have it."""
        fields = self.convert(dict)
        if name not in fields and kind is not object and type(None) not in get_args(kind):
            raise self.error(f": {name} is missing")
        return Entry(self.gold, fields.get(name), self.line, f"{self.path}.{name}").convert(kind)

    def find(self, name: str, kind: Any) -> Any:
        """Return a field of an object, None if it is absent or null."""
        return self.get(name, kind | None)

    def name(self, name: str) -> str:
        """Return a field that is a name or number."""
        return str(self.get(name, str | int))

    def each(self, name: str, *, optional: bool = False) -> Iterator[Entry]:
        """Yield the items of a list, or the value of a field that is not a list."""
        own = Entry(self.gold, self.get(name, object), self.line, f"{self.path}.{name}")
        if isinstance(own.value, list):
            yield from own.items()
        elif own.value is not None or not optional:
            yield own

    def items(self, name: str | None = None) -> Iterator[Entry]:
        """Yield the items of a list, which may be a field."""
        path = self.path if name is None else f"{self.path}.{name}"
        for i, item in enumerate(self.convert(list) if name is None else self.get(name, list)):
            yield Entry(self.gold, item, self.line, f"{path}[{i}]")


class GoldSpan(NamedTuple):
    """A span of a topic, its path in the file, and further columns of judgements.

    Without offsets and quote it is a judged document.
    """

    topic: str
    path: str
    span: TextSpan
    columns: dict[str, Any]


@dataclass
class GoldFile:
    """A file of gold data, and what its reader finds: topics, spans, texts, counts of the unread.

    Topics have a title and a line.
    """

    source: Source
    topics: dict[str, tuple[str | None, int]] = field(default_factory=dict)
    spans: list[GoldSpan] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    unread: Counter[str] = field(default_factory=Counter)

    def ask(self, name: str | int, title: str | None, where: Entry, *, again: bool = False) -> str:
        """Note a topic, which may have been noted before if `again`, and return its name."""
        if name == ALL:
            message = f": a topic may not be called {ALL!r}: results use it"
            raise where.error(message, "topic.reserved")
        if str(name) in self.topics and not again:
            raise where.error(f": topic {name!r} is already given above", "topics.repeated")
        self.topics.setdefault(str(name), (title, where.line))
        return str(name)

    def add(self, topic: str, where: Entry, span: TextSpan, **columns: Any) -> None:
        """Add a span of a topic; `columns` are further ones of judgements, such as ``sets``."""
        self.spans.append(GoldSpan(topic, where.path, span, columns))

    def add_text(self, doc: str, text: str, where: Entry) -> None:
        """Note the text of a document; refuse a second one."""
        if self.texts.setdefault(doc, text) != text:
            raise where.error(f": document {doc!r} has another text above", "document.duplicate")

    def decode(self, data: bytes, line: int = 1) -> Any:
        """Return a JSON value that begins on this line."""
        try:
            try:
                return msgspec.json.decode(data)
            except msgspec.DecodeError:
                # NaN is not JSON, but pandas writes it where there is no value.
                value = json.loads(data, parse_constant=lambda _: None)
                return msgspec.json.decode(json.dumps(value))
        except (ValueError, RecursionError) as error:
            line += getattr(error, "lineno", 1) - 1
            raise self.source.error("json.syntax", line, f"not valid JSON: {error}") from None

    def read(self) -> Entry:
        """Return the JSON value of the whole file."""
        self.source.check_utf8()
        return Entry(self, self.decode(self.source.data))

    def read_lines(self) -> Iterator[Entry]:
        """Yield the JSON values of a file that has one on each line."""
        self.source.check_utf8()
        for number, line in first_lines(self.source.data):
            yield Entry(self, self.decode(line, number), number)


def build_judgements(
    gold: GoldFile, texts: Texts | None, *, repair: bool = False, drop_mismatches: bool = False
) -> tuple[Judgements, Topics]:
    """Return judgements and topics in the order of the file, with all spans placed in the texts.

    `repair` moves a quote that occurs exactly once near its offset, `drop_mismatches` drops the
    quotes that still do not match. Without them a mismatch is an error.
    """
    if (repair or drop_mismatches) and texts is None:
        raise UsageError("--repair and --drop-mismatches take the documents (--texts)")
    # Topics may come back later in the file.
    order = {name: i for i, name in enumerate(gold.topics)}
    asked = sorted(gold.spans, key=lambda own: order[own.topic])
    locator = TextLocator(texts, repair=repair)
    try:
        placed = locator.place_all(
            ((gold.topics[own.topic][1], f"{own.path}: ", own.span) for own in asked),
            gold.source.path,
            ("span.quote", "span.not_found", "span.ambiguous") if drop_mismatches else (),
        )
    except InputError as error:
        wrong = sum(problem.code == "span.quote" for problem in error.problems)
        quoted = sum(None not in (own.span.quote, own.span.start) for own in asked)
        summary = (
            f"{gold.source.path}: quotes that do not match their text: {wrong} of {quoted}; "
            f"--repair moves those that occur once within {NEAR} characters, --drop-mismatches "
            "leaves out the others"
        )
        raise InputError(error.problems, summary=summary if wrong else None) from None
    pairs = [*zip(asked, placed, strict=True)]
    # A topic that lost all its quotes must not look like one without an answer.
    held = {own.topic for own, found in pairs if found is not None and found.start is not None}
    dropped = dict.fromkeys(own.topic for own, found in pairs if found is None)
    lost = [name for name in dropped if name not in held]
    kept = {name: own for name, own in gold.topics.items() if name not in lost}
    rows = list[dict[str, Any]]()
    for own, found in pairs:
        if found is None or own.topic in lost:
            continue
        text, quote = locator.text(found.doc), own.span.quote
        if quote is not None and own.span.is_loose and text is not None:
            quote = text[found.start : found.end]
        row = {"topic": own.topic, "line": gold.topics[own.topic][1], "text": quote}
        row |= {"doc": found.doc, "start": found.start, "end": found.end}
        row |= {"prefix": own.span.prefix, "suffix": own.span.suffix, **own.columns}
        rows.append(row | {"length": None if text is None else len(text)})
    if not rows:
        raise gold.source.error("gold.empty", None, "no question has any evidence")
    moved = sum(found.how == MOVED for found in placed if found is not None)
    notes = {
        f"quotes moved to the only place within {NEAR} characters: {moved}": moved,
        f"quotes left out because they do not match their text: {placed.count(None)}": None
        in placed,
        f"questions left out with their quotes: {len(lost)} ({some(lost)})": lost,
    }
    judgements = group_spans(
        pl.DataFrame(rows, schema={name: COLUMNS[name] for name in (*OF_JUDGEMENTS, "line")}),
        gold.source,
        notes=tuple(note for note, found in notes.items() if found),
        unread=+gold.unread or None,
        topics_without_documents=kept,
    )
    topics = [Topic(name, title=title) for name, (title, _) in kept.items()]
    lines = [line for _, line in kept.values()]
    return judgements, Topics.of(topics, line=lines, source=gold.source.provenance)


def read_texts(path: str | Path) -> Texts:
    """Return the texts of a folder of files, or of a file with ``{"doc", "text"}`` on each line.

    A document is named as its file below the folder, with or without the extension. If two files
    differ only in the extension, neither has the shorter name.
    """
    if not Path(path).is_dir():
        lines = GoldFile(Source.open(path)).read_lines()
        return {own.name("doc"): own.get("text", str) for own in lines}
    texts, stems = dict[str, str](), list[tuple[str, str]]()
    for file in sorted(own for own in Path(path).rglob("*") if own.is_file()):
        source, name = Source.open(file), file.relative_to(path).as_posix()
        source.check_utf8()
        # Line ends of any kind are one character, as Python reads them.
        text = source.data.decode().replace("\r\n", "\n").replace("\r", "\n")
        stems.append((name.removesuffix(file.suffix), text))
        texts[name] = text
    count = Counter(stem for stem, _ in stems)
    return {stem: text for stem, text in stems if count[stem] == 1} | texts
