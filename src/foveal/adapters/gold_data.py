"""Gold data as parsed from a file, and the judgements and topics made of it.

JSON is parsed with msgspec: a wrong value is named by its path, such as ``$.tests[3].span``.
`build_judgements` then places all spans in the texts of their documents.
"""

from __future__ import annotations

import json
import re
from collections import Counter, UserDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import polars as pl
from msgspec import Raw

from foveal.adapters.from_objects import group_spans
from foveal.adapters.object_rows import COLUMNS
from foveal.errors import InputError, UsageError, some
from foveal.files.source import Source, first_lines
from foveal.formats.locate import MOVED, NEAR, TextLocator, TextSpan
from foveal.model import Judgements, Topics
from foveal.model.run import ALL
from foveal.model.topics import Topic

T = TypeVar("T")
Texts = Mapping[str, str]
# Types as msgspec names them, and their names in messages.
_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "array": "a list",
    "object": "an object",
}


@dataclass(frozen=True, slots=True)
class GoldSpan(TextSpan):
    """A span that answers a question; without offsets and quote, a judged document.

    `where` is its place in the file, for messages; `sets` are the alternatives it belongs to.
    """

    where: str = "$"
    sets: list[str] | None = None
    aspects: list[str] | None = None
    assessor: str | None = None
    grade: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A JSON value in a file of gold data, with its line and path."""

    gold: GoldFile
    value: Any
    line: int
    path: str = "$"

    def error(self, text: str, code: str = "gold.structure") -> InputError:
        return self.gold.source.error(code, self.line, f"{self.path}{text}")

    def convert(self, kind: type[T], decode: Callable[..., T] = msgspec.convert) -> T:
        """Return the value if it is of this kind; a part that is not is named by its path."""
        try:
            return decode(self.value, type=kind)
        except msgspec.ValidationError as error:
            what, _, inner = str(error).partition(" - at `$")  # how msgspec gives the path
            found = re.sub(
                "`([^`]+)`",
                lambda names: " or ".join(_KINDS.get(n, repr(n)) for n in names[1].split(" | ")),
                what[0].lower() + what[1:],
            )
            raise self.error(f"{inner[:-1]}: {found}") from None

    def get(self, name: str, kind: type[T]) -> T | None:
        """Return a field of an object, None if it is absent or null."""
        fields = self.value if type(self.value) is dict else self.convert(dict)
        value = fields.get(name)
        if value is None or type(value) is kind:
            return value
        return Entry(self.gold, value, self.line, f"{self.path}.{name}").convert(kind)

    def need(self, name: str, kind: type[T]) -> T:
        """Return a field of an object that must have it."""
        value = self.get(name, kind)
        if value is None:
            raise self.error(f": object missing required field {name!r}")
        return value

    def name(self, name: str) -> str:
        """Return a field that is a name or number."""
        return str(self.need(name, str | int))  # type: ignore[arg-type] # a union

    def each(self, name: str, *, optional: bool = False) -> Iterator[Entry]:
        """Yield the items of a list, or the value of a field that is not a list."""
        value: Any = self.get(name, object) if optional else self.need(name, object)
        path = f"{self.path}.{name}"
        if isinstance(value, list):
            for i, item in enumerate(value):
                yield Entry(self.gold, item, self.line, f"{path}[{i}]")
        elif value is not None:
            yield Entry(self.gold, value, self.line, path)


@dataclass(slots=True)
class Question:
    """A topic with its evidence."""

    id: str
    text: str | None
    line: int
    spans: list[GoldSpan] = field(default_factory=list)

    def add(self, where: Entry, *place: Any, **more: Any) -> None:
        """Add a span; `place` is document, start, end and quote."""
        self.spans.append(GoldSpan(*place, **more, where=where.path))  # type: ignore[misc]


@dataclass
class GoldFile:
    """A file of gold data, and what its reader finds: questions, texts, counts of the unread."""

    source: Source
    questions: dict[str, Question] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    unread: Counter[str] = field(default_factory=Counter)

    def ask(
        self, name: str | int, text: str | None, where: Entry, *, again: bool = False
    ) -> Question:
        """Return a question; it may have been asked before if `again`."""
        question = self.questions.get(str(name))
        if name == ALL:
            message = f": a topic may not be called {ALL!r}: results use it"
            raise where.error(message, "topic.reserved")
        if question is None:
            question = self.questions[str(name)] = Question(str(name), text, where.line)
        elif not again:
            message = f": topic {name!r} is already given on line {question.line}"
            raise where.error(message, "topics.repeated")
        return question

    def add_text(self, doc: str, text: str, where: Entry) -> None:
        """Note the text of a document; refuse a second one."""
        if self.texts.setdefault(doc, text) != text:
            raise where.error(f": document {doc!r} has another text above", "document.duplicate")

    def decode(self, data: bytes, kind: type[T], line: int = 1, path: str = "$") -> T:
        """Return a JSON value; `line` and `path` are its place in the file."""
        try:
            return Entry(self, data, line, path).convert(kind, msgspec.json.decode)
        except (msgspec.DecodeError, RecursionError):
            try:
                # NaN is not JSON, but pandas writes it where there is no value.
                value = json.loads(data, parse_constant=lambda _: None)
                again = json.dumps(value, ensure_ascii=False).encode()
                if again == data:
                    raise ValueError("nested too deeply")
            except (ValueError, RecursionError) as error:
                line += getattr(error, "lineno", 1) - 1
                message = f"not valid JSON: {error}"
                raise self.source.error("json.syntax", line, message) from None
        return self.decode(again, kind, line, path)

    def read_lines(self) -> Iterator[Entry]:
        """Yield the JSON values of a file that has one on each line."""
        self.source.check_utf8()
        for number, line in first_lines(self.source.data, self.source.data.count(b"\n") + 1):
            yield Entry(self, self.decode(line, object, number), number)

    def read_entries(self, *names: str, kind: type = list[Raw]) -> Iterator[tuple[Any, Entry]]:
        """Yield the items of a list or object, to which `names` lead, with their keys."""
        self.source.check_utf8()
        whole = data = self.source.data
        path, at, counted, line = "$", 0, 0, 1
        for name in names:
            root = Entry(self, self.decode(data, dict[str, Raw], path=path), 1, path)
            path, data = f"{path}.{name}", bytes(root.need(name, Raw))
        entries: Any = self.decode(data, kind, path=path)
        for key, entry in entries.items() if isinstance(entries, dict) else enumerate(entries):
            data = bytes(entry)
            found = whole.find(data, at)
            if found >= 0:
                line += whole.count(b"\n", counted, found)
                counted, at = found, found + len(data)
            own = f"{path}[{key!r}]"
            yield key, Entry(self, self.decode(data, object, line, own), line, own)


def build_judgements(
    gold: GoldFile, texts: Texts | None, *, repair: bool = False, drop_mismatches: bool = False
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
    known = {} if texts is None else texts
    asked = [(question, span) for question in gold.questions.values() for span in question.spans]
    try:
        placed = TextLocator(texts, repair=repair).place_all(
            ((question.line, f"{span.where}: ", span) for question, span in asked),
            gold.source.path,
            ("span.quote", "span.not_found", "span.ambiguous") if drop_mismatches else (),
        )
    except InputError as error:
        wrong = sum(problem.code == "span.quote" for problem in error.problems)
        compared = sum(None not in (own.start, own.quote) and own.doc in known for _, own in asked)
        summary = (
            f"{gold.source.path}: quotes that do not match their text: {wrong} of {compared}; "
            f"--repair moves those that occur once within {NEAR} characters, --drop-mismatches "
            "leaves out the others"
        )
        raise InputError(error.problems, summary=summary if wrong else None) from None
    dropped, held, rows = Counter[str](), set[str](), list[dict[str, Any]]()
    for (question, span), own in zip(asked, placed, strict=True):
        if own is None:
            dropped[question.id] += 1
            continue
        held |= set() if own.start is None else {question.id}
        text, quote = known.get(own.doc), span.quote
        if quote is not None and span.is_loose and text is not None:
            quote = text[own.start : own.end]
        row = {name: getattr(span, name) for name in ("prefix", "suffix", "assessor", "grade")}
        row |= {"topic": question.id, "line": question.line, "text": quote, "sets": span.sets}
        row |= {"doc": own.doc, "start": own.start, "end": own.end, "aspects": span.aspects}
        rows.append(row | {"length": None if text is None else len(text)})
    # A question that lost all its quotes must not look like one without an answer.
    kept = [own for own in gold.questions.values() if own.id in held or not dropped[own.id]]
    lost = [name for name in dropped if name not in held]
    rows = [row for row in rows if row["topic"] in held or not dropped[row["topic"]]]
    if not rows:
        raise gold.source.error("gold.empty", None, "no question has any evidence")
    moved = sum(own is not None and own.how == MOVED for own in placed)
    notes = {
        f"quotes moved to the only place within {NEAR} characters: {moved}": moved,
        f"quotes left out because they do not match their text: {dropped.total()}": dropped,
        f"questions left out with their quotes: {len(lost)} ({some(lost)})": lost,
    }
    judgements = group_spans(
        pl.DataFrame(rows, schema={name: COLUMNS[name] for name in rows[0]}),
        gold.source,
        notes=tuple(note for note, found in notes.items() if found),
        unread=+gold.unread or None,
        topics_without_documents=[question.id for question in kept],
    )
    topics = [Topic(question.id, title=question.text) for question in kept]
    lines = [question.line for question in kept]
    return judgements, Topics.of(topics, line=lines, source=gold.source.provenance)


# -- texts -----------------------------------------------------------------------------------------


class FolderTexts(UserDict[str, Any]):
    """The files of a folder, read when they are asked for.

    A document is named as its file below the folder, with or without the extension. If two files
    differ only in the extension, neither has the shorter name.
    """

    def __init__(self, folder: str | Path) -> None:
        files = [path for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        whole = {path.relative_to(folder).as_posix(): path for path in files}
        short = [(name.removesuffix(path.suffix), path) for name, path in whole.items()]
        count = Counter(name for name, _ in short)
        self.data = {name: path for name, path in short if count[name] == 1} | whole
        self._read = cache(_read_text)

    def __getitem__(self, name: str) -> str:
        return self._read(self.data[name])


def _read_text(path: Path) -> str:
    """Return the text of a file; line ends of any kind are one character, as Python reads them."""
    source = Source.open(path)
    source.check_utf8()
    return source.data.decode().replace("\r\n", "\n").replace("\r", "\n")


def read_texts(path: str | Path) -> Texts:
    """Return the texts of a folder of files, or of a file with ``{"doc", "text"}`` on each line."""
    if Path(path).is_dir():
        found = FolderTexts(path)
        if not found:
            message = "the directory holds no file"
            raise InputError.at("file.empty_directory", str(path), None, message)
        return found
    lines = GoldFile(Source.open(path)).read_lines()
    return {own.name("doc"): own.need("text", str) for own in lines}
