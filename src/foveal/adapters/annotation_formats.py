"""Exports of annotation tools as gold data: Web Annotations, Label Studio, doccano, INCEpTION.

A topic is what an annotation says of a highlight. The structs have the names that the files use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from msgspec import Raw, Struct
from msgspec import field as renamed

from foveal.adapters.gold_data import (
    GoldSpan,
    ParsedGold,
    Question,
    decode_entries,
    decode_file,
    decode_lines,
    decode_list,
)
from foveal.adapters.text_spans import TextSpan
from foveal.files.source import Source

__all__ = [
    "is_web_annotation",
    "read_doccano",
    "read_inception",
    "read_label_studio",
    "read_web_annotation",
]

Name = str | int

# -- Web Annotations -------------------------------------------------------------------------------

_POSITION, _QUOTE = "TextPositionSelector", "TextQuoteSelector"
_ABOUT = ("identifying", "classifying", "tagging")
"""Purposes of a body that names the topic; where no body has one, the first body does."""


class _WebSelector(Struct):
    type: str
    start: int | None = None
    end: int | None = None
    exact: str | None = None
    prefix: str | None = None
    suffix: str | None = None
    refinedBy: _WebSelector | list[_WebSelector] | None = None  # noqa: N815


class _WebTarget(Struct):
    source: str
    selector: _WebSelector | list[_WebSelector]


class _WebBody(Struct):
    value: Any = None
    id: Any = None
    purpose: Any = None


class _WebAgent(Struct):
    name: str | None = None
    id: str | None = None


class _WebAnnotation(Struct):
    body: str | _WebBody | list[str | _WebBody]
    target: _WebTarget | list[_WebTarget]
    creator: str | _WebAgent | None = None


class _WebPage(Struct):
    first: _WebPage | None = None
    items: list[Raw] | None = None


def read_web_annotation(source: Source) -> ParsedGold:
    """A topic is what the body says, a document is named as the source of the target.

    A file is one annotation, a list, a page, or a collection with its first page. Positions count
    code points, as the recommendation has it. Several selectors of one target are the same place:
    the position is used, and the quotation compared with it.
    """
    root: Any = decode_file(source, list[Raw] | _WebPage)  # type: ignore[arg-type] # a union
    path, items = "$", root
    if isinstance(root, _WebPage):
        path = "$.items" if root.first is None else "$.first.items"
        items = (root.first or root).items
    entries: Iterable[tuple[_WebAnnotation, int, str]]
    if items is None:
        entries = [(decode_file(source, _WebAnnotation), 1, "$")]
    else:
        entries = decode_entries(source, items, _WebAnnotation, path)
    topics: dict[str, Question] = {}
    for annotation, line, where in entries:
        bodies = _as_list(annotation.body)
        named = [b for b in bodies if isinstance(b, _WebBody) and b.purpose in _ABOUT] or bodies
        topic = named[0] if named else None
        if isinstance(topic, _WebBody):
            topic = topic.value or topic.id
        if not isinstance(topic, str):
            message = f"{where}.body: the topic is missing; expected text, or a body with a value"
            raise source.error("gold.structure", line, message)
        creator = annotation.creator
        if isinstance(creator, _WebAgent):
            creator = creator.name or creator.id
        question = topics.setdefault(topic, Question(topic, topic, line, where))
        for i, target in enumerate(_as_list(annotation.target)):
            at = (
                f"{where}.target[{i}]" if isinstance(annotation.target, list) else f"{where}.target"
            )
            try:
                place = _resolve_selectors(target.source, _as_list(target.selector))
            except ValueError as error:
                message = f"{at}.selector: {error}"
                raise source.error("gold.structure", line, message) from None
            question.spans.append(GoldSpan(**place, where=at, assessor=creator, is_loose=True))
    return ParsedGold(topics.values())


def is_web_annotation(source: Source) -> bool:
    """Return True if something is selected by position or quotation."""
    words = (_POSITION.encode(), _QUOTE.encode())
    return b'"selector"' in source.data and any(word in source.data for word in words)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _resolve_selectors(
    doc: str, selectors: list[_WebSelector], within: TextSpan | None = None
) -> dict[str, Any]:
    """Return the fields of the span that the selectors of one target lead to."""
    position = next((own for own in selectors if own.type == _POSITION), None)
    quote = next((own for own in selectors if own.type == _QUOTE), None)
    place: dict[str, Any] = {"doc": doc, "within": within}
    quoted: dict[str, Any] = {}
    if position is None and quote is None:
        named = f"a {selectors[0].type} cannot be placed" if selectors else "no selector"
        raise ValueError(f"{named}; expected {_POSITION} or {_QUOTE}")
    if position is not None:
        if position.start is None or position.end is None:
            raise ValueError("start or end is missing")
        place |= {"start": position.start, "end": position.end}
    if quote is not None:
        if quote.exact is None:
            raise ValueError("'exact' is missing")
        quoted = {"quote": quote.exact, "prefix": quote.prefix, "suffix": quote.suffix}
    finer = next((own.refinedBy for own in (position, quote) if own and own.refinedBy), None)
    if finer is None:
        return place | quoted
    outer = TextSpan(**place) if position is not None else TextSpan(**place, **quoted)
    return _resolve_selectors(doc, _as_list(finer), outer)


# -- annotation tools: Label Studio, doccano, INCEpTION --------------------------------------------


class _Annotated:
    """Topics and texts of annotated documents.

    A document is named by the field ``doc`` of its record, else by the record's id. A topic is the
    field ``topic`` of the record, which judges the document, else the label of a highlight.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.topics: dict[str, Question] = {}
        self.texts: dict[str, str] = {}

    def open_record(self, fields: dict[str, Any], name: Name, line: int, path: str) -> None:
        self.doc = str(fields.get("doc") or name)
        self.line, self.path, self.topic = line, path, fields.get("topic")
        text = fields.get("text")
        if isinstance(text, str) and self.texts.setdefault(self.doc, text) != text:
            message = f"document {self.doc!r} has another text here than in an earlier record"
            raise self.source.error("document.duplicate", line, message)
        if self.topic is not None:
            self._ask(str(self.topic), fields.get("query")).judged.append(self.doc)

    def add(self, labels: Iterable[str], start: int, end: int, **more: Any) -> None:
        """Add a highlight to the topic of the record, or to the topics of its labels."""
        for name in labels if self.topic is None else [str(self.topic)]:
            self._ask(name).spans.append(GoldSpan(self.doc, start, end, **more))

    def _ask(self, name: str, query: Any = None) -> Question:
        text = query if isinstance(query, str) else name
        return self.topics.setdefault(name, Question(name, text, self.line, self.path))


class _StudioOffsets(Struct):
    start: Any = None
    end: Any = None


class _StudioValue(_StudioOffsets):
    text: Any = None
    labels: list[str] | None = None
    hypertextlabels: list[str] | None = None
    globalOffsets: _StudioOffsets | None = None  # noqa: N815


class _StudioResult(Struct):
    type: str
    value: _StudioValue | None = None


class _StudioAnnotation(Struct):
    result: list[_StudioResult]
    completed_by: Any = None
    was_cancelled: bool | None = False


class _StudioTask(Struct):
    id: Name
    annotations: list[_StudioAnnotation]
    data: dict[str, Any] = {}


def read_label_studio(source: Source) -> ParsedGold:
    """Tasks with their highlights; an assessor is who completed an annotation.

    Regions of other kinds are counted as not read, cancelled annotations left out.
    """
    found = _Annotated(source)
    unread: Counter[str] = Counter()
    tasks = decode_file(source, list[Raw])
    for task, line, path in decode_entries(source, tasks, _StudioTask, "$"):
        found.open_record(task.data, task.id, line, path)
        for i, annotation in enumerate(task.annotations):
            who = annotation.completed_by
            who = who.get("email", who.get("id")) if isinstance(who, dict) else who
            for j, result in enumerate(annotation.result if not annotation.was_cancelled else ()):
                value = result.value or _StudioValue()
                labels = value.labels or value.hypertextlabels
                if not labels:
                    unread["regions that are not highlights"] += 1
                    continue
                where = f"{path}.annotations[{i}].result[{j}]"
                offsets = value.globalOffsets or value
                if not isinstance(offsets.start, int) or not isinstance(offsets.end, int):
                    message = f"{where}.value: expected whole numbers for start and end"
                    raise source.error("gold.structure", line, message)
                found.add(
                    labels,
                    offsets.start,
                    offsets.end,
                    quote=value.text if isinstance(value.text, str) else None,
                    assessor=None if who is None else str(who),
                    where=where,
                )
    return ParsedGold(found.topics.values(), found.texts, unread)


class _DoccanoEntity(Struct):
    start_offset: int
    end_offset: int
    label: str


class _DoccanoRecord(Struct):
    text: str
    id: Name | None = None
    doc: Name | None = None
    topic: Name | None = None
    query: str | None = None
    label: list[tuple[int, int, str]] | None = None
    labels: list[tuple[int, int, str]] | None = None
    entities: list[_DoccanoEntity] | None = None


def read_doccano(source: Source) -> ParsedGold:
    """Documents with their highlights; ``entities`` are those of projects with relations."""
    found = _Annotated(source)
    for own, line in decode_lines(source, _DoccanoRecord):
        fields = {name: getattr(own, name) for name in ("doc", "topic", "query", "text")}
        found.open_record(fields, line if own.id is None else own.id, line, "$")
        for i, (start, end, label) in enumerate(own.label or own.labels or ()):
            found.add([label], start, end, where=f"$.label[{i}]")
        for i, entity in enumerate(own.entities or ()):
            where = f"$.entities[{i}]"
            found.add([entity.label], entity.start_offset, entity.end_offset, where=where)
    return ParsedGold(found.topics.values(), found.texts)


_LAYERS = ("webanno.custom.", "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity")
"""Types of annotations that people make; other types are tokens, sentences and the like."""


class _CasFeatures(Struct):
    id: int = renamed(name="%ID")
    type: str = renamed(name="%TYPE")
    sofa: int | None = renamed(name="@sofa", default=None)
    begin: int | None = None
    end: int | None = None
    sofaString: str | None = None  # noqa: N815
    documentTitle: Any = None  # noqa: N815
    topic: Any = None
    label: Any = None
    value: Any = None


def read_inception(source: Source) -> ParsedGold:
    """A UIMA CAS is a document, named by its title; custom layers hold the highlights.

    A topic is the feature ``topic``, ``label`` or ``value`` of a highlight, else the name of its
    layer. Offsets count UTF-16 units, as in Java.
    """
    found = _Annotated(source)
    entries = [*decode_list(source, "%FEATURE_STRUCTURES", _CasFeatures)]
    texts = {own.id: own.sofaString for own, _, _ in entries if own.sofaString is not None}
    doc = next((own.documentTitle for own, _, _ in entries if own.documentTitle), source.stem)
    for own, line, path in entries:
        if not own.type.startswith(_LAYERS) or own.begin is None or own.end is None:
            continue
        text = texts.get(own.sofa or 0)
        if text is None:
            message = f"{path}: its text (@sofa {own.sofa}) is not in the file"
            raise source.error("gold.structure", line, message)
        units = text.encode("utf-16-le")
        if not 0 <= own.begin <= own.end <= len(units) // 2:
            message = f"{path}: [{own.begin},{own.end}) is not a span of the text"
            raise source.error("span.offset", line, message)
        start, end = (
            len(units[: 2 * offset].decode("utf-16-le", "ignore"))
            for offset in (own.begin, own.end)
        )
        found.open_record({"doc": str(doc), "text": text}, "", line, path)
        label = own.topic or own.label or own.value or own.type.rpartition(".")[2]
        found.add([str(label)], start, end, where=path)
    return ParsedGold(found.topics.values(), found.texts)
