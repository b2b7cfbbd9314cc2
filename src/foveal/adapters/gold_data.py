"""Gold data as parsed from a file, and the judgements and topics made of it.

JSON is parsed with msgspec: a wrong value is named by its path, such as ``$.tests[3].span``.
`build_judgements` then places all spans in the texts of their documents.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import polars as pl
from msgspec import Raw

from foveal.adapters.from_objects import group_spans
from foveal.adapters.object_rows import COLUMNS
from foveal.errors import InputError, Problem, UsageError, some
from foveal.files.source import Source, first_lines
from foveal.formats.locate import GIVEN, MOVED, NEAR, TextLocator, TextSpan, UnplacedSpanError
from foveal.model import Judgements, Topics
from foveal.model.run import ALL
from foveal.model.topics import Topic

T = TypeVar("T")
Texts = Mapping[str, str]
_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "array": "a list",
    "object": "an object",
}
"""Types as msgspec names them, and their names in messages."""
_MISMATCHES = ("span.quote", "span.not_found", "span.ambiguous")
"""Problems of quotes that may be dropped."""


@dataclass(frozen=True, slots=True)
class GoldSpan(TextSpan):
    """A span that answers a question; without offsets and quote, a judged document."""

    where: str = ""
    """The place in the file, for messages."""
    sets: tuple[str, ...] = ()
    """The alternatives that the span belongs to."""
    aspects: tuple[str, ...] = ()
    assessor: str | None = None
    grade: float | None = None


@dataclass(slots=True)
class Question:
    """A topic with its evidence."""

    id: str
    text: str | None
    line: int
    where: str = "$"
    spans: list[GoldSpan] = field(default_factory=list)

    def add(self, where: str, *place: Any, **more: Any) -> None:
        """Add a span; `place` is document, start, end and quote."""
        self.spans.append(GoldSpan(*place, **more, where=where))  # type: ignore[misc]


@dataclass
class GoldFile:
    """A file of gold data, and what its reader finds in it besides questions."""

    source: Source
    texts: dict[str, str] = field(default_factory=dict)
    """The documents that the file holds."""
    unread: Counter[str] = field(default_factory=Counter)
    """Counts of what was not read."""

    def error(self, line: int, text: str, code: str = "gold.structure") -> InputError:
        return self.source.error(code, line, text)

    def add_text(self, doc: str, text: str, line: int, where: str) -> None:
        """Note the text of a document; refuse a second one."""
        if self.texts.setdefault(doc, text) != text:
            message = f"{where}: document {doc!r} has another text above"
            raise self.error(line, message, "document.duplicate")

    def decode(
        self, data: bytes, kind: type[T], line: int = 1, path: str = "$", *, again: bool = False
    ) -> T:
        """Return a JSON value of a certain kind; `line` and `path` are its place in the file."""
        reason = "half of a character (a lone surrogate), or nested too deeply"
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.ValidationError as error:
            what, _, inner = str(error).partition(" - at `$")  # how msgspec gives the path
            found = re.sub(
                "`([^`]+)`",
                lambda names: " or ".join(_KINDS.get(n, repr(n)) for n in names[1].split(" | ")),
                what[0].lower() + what[1:],
            )
            raise self.error(line, f"{path}{inner[:-1]}: {found}") from None
        except (msgspec.DecodeError, RecursionError):
            try:
                # NaN is not JSON, but pandas writes it where there is no value.
                value = None if again else json.loads(data, parse_constant=lambda _: None)
            except (ValueError, RecursionError) as error:
                line += getattr(error, "lineno", 1) - 1
                reason, again = str(error), True
        if again:
            raise self.error(line, f"not valid JSON: {reason}", "json.syntax")
        return self.decode(json.dumps(value).encode(), kind, line, path, again=True)

    def decode_file(self, kind: type[T]) -> T:
        """Return the one JSON value of the file."""
        self.source.check_utf8()
        return self.decode(self.source.data, kind)

    def decode_lines(self, kind: type[T]) -> Iterator[tuple[T, int]]:
        """Yield the JSON values of a file that has one on each line, with their lines."""
        self.source.check_utf8()
        for number, line in first_lines(self.source.data, self.source.data.count(b"\n") + 1):
            yield self.decode(line, kind, number), number

    def decode_list(self, name: str, kind: type[T]) -> Iterator[tuple[T, int, str]]:
        """Yield the values of a list in the object of the file, with line and path of each."""
        root = self.decode_file(dict[str, Raw])
        if name not in root:
            raise self.error(1, f"$: object missing required field {name!r}")
        entries = self.decode(bytes(root[name]), list[Raw], path=f"$.{name}")
        yield from self.decode_entries(entries, kind, f"$.{name}")

    def decode_entries(
        self, entries: list[Raw] | dict[str, Raw], kind: type[T], path: str = "$"
    ) -> Iterator[tuple[T, int, str]]:
        """Yield the values of a list or an object in the file, with line and path of each."""
        whole, at, counted, line = self.source.data, 0, 0, 1
        for key, entry in entries.items() if isinstance(entries, dict) else enumerate(entries):
            data, own = bytes(entry), f"{path}[{key!r}]"
            found = whole.find(data, at)
            if found >= 0:
                line += whole.count(b"\n", counted, found)
                counted, at = found, found + len(data)
            yield self.decode(data, kind, line, own), line, own


def build_judgements(
    gold: GoldFile,
    questions: Iterable[Question],
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
    locator, known = TextLocator(texts, repair=repair), {} if texts is None else texts
    kept, lost, rows = list[Question](), list[str](), list[dict[str, Any]]()
    problems, counts = list[Problem](), Counter[str]()

    def report(question: Question, where: str, code: str, text: str) -> None:
        problems.append(Problem(code, gold.source.path, question.line, f"{where}: {text}"))

    for question in questions:
        if question.id == ALL:
            message = f"a topic may not be called {ALL!r}: results use it"
            report(question, question.where, "topic.reserved", message)
        placed, quotes = list[dict[str, Any]](), Counter[bool]()
        for span in question.spans:
            doc, start, end, how = span.doc or "", span.start, span.end, GIVEN
            is_judged = start is None and span.quote is None
            counts["compared"] += None not in (start, span.quote) and doc in known
            try:
                if not is_judged:
                    doc, start, end, how = locator.place(span)
            except UnplacedSpanError as error:
                is_dropped = drop_mismatches and error.code in _MISMATCHES
                counts["dropped"] += is_dropped
                quotes[False] += is_dropped
                if not is_dropped:
                    report(question, span.where, error.code, str(error))
                continue
            if not doc:
                report(question, span.where, "gold.structure", "the document has no name")
            counts["moved"] += how == MOVED
            quotes[True] += not is_judged
            quote = span.quote
            if quote is not None and span.is_loose and doc in known:
                quote = known[doc][start:end]
            fields = {"topic": question.id, "line": question.line, "doc": doc, "start": start}
            fields |= {"end": end, "text": quote, "sets": [*span.sets] or None}
            fields |= {"aspects": [*span.aspects]}
            for name in ("prefix", "suffix", "grade", "assessor"):
                fields[name] = getattr(span, name)
            fields["length"] = len(known[doc]) if doc in known else None
            placed.append(fields)
        if quotes[False] and not quotes[True]:
            lost.append(question.id)  # it must not look like a question without an answer
        else:
            kept.append(question)
            rows += placed
    if problems:
        wrong = sum(problem.code == "span.quote" for problem in problems)
        summary = (
            f"{gold.source.path}: quotes that do not match their text: {wrong} of "
            f"{counts['compared']}; --repair moves those that occur once within {NEAR} characters, "
            "--drop-mismatches leaves out the others"
        )
        raise InputError(problems, summary=summary if wrong else None)
    if not rows:
        raise gold.source.error("gold.empty", None, "no question has any evidence")
    moved, dropped = counts["moved"], counts["dropped"]
    notes = [
        f"quotes moved to the only place within {NEAR} characters: {moved}" if moved else "",
        f"quotes left out because they do not match their text: {dropped}" if dropped else "",
        f"questions left out with their quotes: {len(lost)} ({some(lost)})" if lost else "",
    ]
    answered = {row["topic"] for row in rows}
    judgements = group_spans(
        pl.DataFrame(rows, schema={name: COLUMNS.get(name, pl.String) for name in rows[0]}),
        gold.source,
        notes=tuple(note for note in notes if note),
        unread=+gold.unread or None,
        topics_without_documents=[own.id for own in kept if own.id not in answered],
    )
    topics = [Topic(question.id, title=question.text) for question in kept]
    lines = [question.line for question in kept]
    return judgements, Topics.of(topics, line=lines, source=gold.source.provenance)


# -- texts -----------------------------------------------------------------------------------------


class FolderTexts(Texts):
    """The files of a folder, read when they are asked for.

    A document is named as its file below the folder, with or without the extension. If two files
    differ only in the extension, neither has the shorter name.
    """

    def __init__(self, folder: str | Path) -> None:
        files = [path for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        whole = {path.relative_to(folder).as_posix(): path for path in files}
        short = [(name.removesuffix(path.suffix), path) for name, path in whole.items()]
        count = Counter(name for name, _ in short)
        self._files = {name: path for name, path in short if count[name] == 1} | whole
        self._read = cache(_read_text)

    def __getitem__(self, name: str) -> str:
        return self._read(self._files[name])

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _read_text(path: Path) -> str:
    """Return the text of a file; line ends of any kind are one character, as Python reads them."""
    source = Source.open(path)
    source.check_utf8()
    return source.data.decode().replace("\r\n", "\n").replace("\r", "\n")


class _TextLine(msgspec.Struct):
    doc: str | int
    text: str


def read_texts(path: str | Path) -> Texts:
    """Return the texts of a folder of files, or of a file with ``{"doc", "text"}`` on each line."""
    if Path(path).is_dir():
        found = FolderTexts(path)
        if not found:
            message = "the directory holds no file"
            raise InputError.at("file.empty_directory", str(path), None, message)
        return found
    lines = GoldFile(Source.open(path)).decode_lines(_TextLine)
    return {str(own.doc): own.text for own, _ in lines}
