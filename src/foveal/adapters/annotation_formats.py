"""Exports of annotation tools as gold data: Web Annotations, Label Studio, doccano, INCEpTION.

A topic is what an annotation says of a highlight. The structs have the names that the files use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Raw, Struct
from msgspec import field as renamed

from foveal.adapters.gold_data import GoldFile, Question
from foveal.files.source import Source
from foveal.formats.locate import TextSpan

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


def is_web_annotation(source: Source) -> bool:
    """Return True if something is selected by position or quotation."""
    words = (_POSITION.encode(), _QUOTE.encode())
    return b'"selector"' in source.data and any(word in source.data for word in words)


def read_web_annotation(gold: GoldFile) -> Iterator[Question]:
    """A topic is what the body says, a document is named as the source of the target.

    A file is one annotation, a list, a page, or a collection with its first page. Positions count
    code points, as the recommendation has it. Several selectors of one target are the same place:
    the position is used, and the quotation compared with it.
    """
    root: Any = gold.decode_file(list[Raw] | _WebPage)  # type: ignore[arg-type] # a union
    path, items = "$", root
    if isinstance(root, _WebPage):
        path = "$.items" if root.first is None else "$.first.items"
        items = (root.first or root).items
    entries: Iterable[tuple[_WebAnnotation, int, str]]
    if items is None:
        entries = [(gold.decode_file(_WebAnnotation), 1, "$")]
    else:
        entries = gold.decode_entries(items, _WebAnnotation, path)
    topics: dict[str, Question] = {}
    for annotation, line, where in entries:
        bodies = _as_list(annotation.body)
        named = [b for b in bodies if isinstance(b, _WebBody) and b.purpose in _ABOUT] or bodies
        topic = named[0] if named else None
        if isinstance(topic, _WebBody):
            topic = topic.value or topic.id
        if not isinstance(topic, str):
            message = f"{where}.body: the topic is missing; expected text, or a body with a value"
            raise gold.error(line, message)
        creator = annotation.creator
        if isinstance(creator, _WebAgent):
            creator = creator.name or creator.id
        question = topics.setdefault(topic, Question(topic, topic, line, where))
        for i, target in enumerate(_as_list(annotation.target)):
            at = f"{where}.target" + (f"[{i}]" if isinstance(annotation.target, list) else "")
            try:
                place = _resolve_selectors(target.source, _as_list(target.selector))
            except ValueError as error:
                raise gold.error(line, f"{at}.selector: {error}") from None
            question.add(at, **place, assessor=creator, is_loose=True)
    yield from topics.values()


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _resolve_selectors(
    doc: str, selectors: list[_WebSelector], within: TextSpan | None = None
) -> dict[str, Any]:
    """Return the fields of the span that the selectors of one target lead to."""
    found = {own.type: own for own in reversed(selectors)}
    position, quote = found.get(_POSITION), found.get(_QUOTE)
    place: dict[str, Any] = {"doc": doc, "within": within}
    if position is None and quote is None:
        named = f"a {selectors[0].type} cannot be placed" if selectors else "no selector"
        raise ValueError(f"{named}; expected {_POSITION} or {_QUOTE}")
    if position is not None:
        if position.start is None or position.end is None:
            raise ValueError("start or end is missing")
        place |= {"start": position.start, "end": position.end}
    finer = next((own.refinedBy for own in (position, quote) if own and own.refinedBy), None)
    if quote is not None and (position is None or finer is None):
        if quote.exact is None:
            raise ValueError("'exact' is missing")
        place |= {"quote": quote.exact, "prefix": quote.prefix, "suffix": quote.suffix}
    if finer is None:
        return place
    return _resolve_selectors(doc, _as_list(finer), TextSpan(**place))


# -- annotation tools: Label Studio, doccano, INCEpTION --------------------------------------------

_NO_HIGHLIGHTS = "documents without highlights, and without a topic that they are judged for"


class _Record:
    """A document that was annotated.

    It is named by the field ``doc`` of the record, else by the record's id. A topic is the field
    ``topic`` of the record, which judges the document, else the label of a highlight.
    """

    def __init__(
        self,
        gold: GoldFile,
        topics: dict[str, Question],
        fields: dict[str, Any],
        name: Name,
        line: int,
        path: str,
    ) -> None:
        self.topics, self.line, self.path = topics, line, path
        self.doc, topic = str(fields.get("doc") or name), fields.get("topic")
        self.topic = None if topic is None else str(topic)
        text, query = fields.get("text"), fields.get("query")
        self.query = query if isinstance(query, str) else self.topic
        if isinstance(text, str):
            gold.add_text(self.doc, text, line, path)

    def add(self, labels: Iterable[str], where: str, *place: Any, **more: Any) -> None:
        """Add a highlight to the topic of the record, or to the topics of its labels."""
        for name in labels if self.topic is None else [self.topic]:
            text = name if self.topic is None else self.query
            question = self.topics.setdefault(name, Question(name, text, self.line, self.path))
            question.add(where, self.doc, *place, **more)

    def judge(self, gold: GoldFile, assessor: str | None = None, *, is_empty: bool) -> None:
        """Note that the document is judged for its topic; count it if nothing says for which."""
        if self.topic is not None:
            self.add([], self.path, assessor=assessor)
        elif is_empty:
            gold.unread[_NO_HIGHLIGHTS] += 1


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


def read_label_studio(gold: GoldFile) -> Iterator[Question]:
    """Tasks with their highlights; an assessor is who completed an annotation.

    Each annotation judges the document. Regions of other kinds, and tasks without any annotation
    that was not cancelled, are counted as not read.
    """
    topics: dict[str, Question] = {}
    tasks = gold.decode_file(list[Raw])
    for task, line, path in gold.decode_entries(tasks, _StudioTask):
        record = _Record(gold, topics, task.data, task.id, line, path)
        gold.unread["tasks without annotations"] += all(a.was_cancelled for a in task.annotations)
        for i, annotation in enumerate(task.annotations):
            if annotation.was_cancelled:
                continue
            who = annotation.completed_by
            who = who.get("email", who.get("id")) if isinstance(who, dict) else who
            assessor, is_empty = None if who is None else str(who), True
            for j, result in enumerate(annotation.result):
                value = result.value or _StudioValue()
                labels = value.labels or value.hypertextlabels
                if not labels:
                    gold.unread["regions that are not highlights"] += 1
                    continue
                where = f"{path}.annotations[{i}].result[{j}]"
                offsets, is_empty = value.globalOffsets or value, False
                if not isinstance(offsets.start, int) or not isinstance(offsets.end, int):
                    message = f"{where}.value: expected whole numbers for start and end"
                    raise gold.error(line, message)
                quote = value.text if isinstance(value.text, str) else None
                record.add(labels, where, offsets.start, offsets.end, quote, assessor=assessor)
            record.judge(gold, assessor, is_empty=is_empty)
    yield from topics.values()


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


def read_doccano(gold: GoldFile) -> Iterator[Question]:
    """Documents with their highlights; ``entities`` are those of projects with relations."""
    topics: dict[str, Question] = {}
    for own, line in gold.decode_lines(_DoccanoRecord):
        fields = {name: getattr(own, name) for name in ("doc", "topic", "query", "text")}
        name = line if own.id is None else own.id
        record = _Record(gold, topics, fields, name, line, "$")
        for i, (start, end, label) in enumerate(own.label or own.labels or ()):
            record.add([label], f"$.label[{i}]", start, end)
        for i, one in enumerate(own.entities or ()):
            record.add([one.label], f"$.entities[{i}]", one.start_offset, one.end_offset)
        record.judge(gold, is_empty=not (own.label or own.labels or own.entities))
    yield from topics.values()


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


def read_inception(gold: GoldFile) -> Iterator[Question]:
    """A UIMA CAS is a document, named by its title; custom layers hold the highlights.

    A topic is the feature ``topic``, ``label`` or ``value`` of a highlight, else the name of its
    layer. Offsets count UTF-16 units, as in Java.
    """
    topics: dict[str, Question] = {}
    entries = [*gold.decode_list("%FEATURE_STRUCTURES", _CasFeatures)]
    texts = {own.id: own.sofaString for own, _, _ in entries if own.sofaString is not None}
    doc = next((own.documentTitle for own, _, _ in entries if own.documentTitle), gold.source.stem)
    for own, line, path in entries:
        if not own.type.startswith(_LAYERS) or own.begin is None or own.end is None:
            continue
        text = texts.get(own.sofa or 0)
        if text is None:
            raise gold.error(line, f"{path}: its text (@sofa {own.sofa}) is not in the file")
        units = text.encode("utf-16-le")
        if not 0 <= own.begin <= own.end <= len(units) // 2:
            message = f"{path}: [{own.begin},{own.end}) is not a span of the text"
            raise gold.error(line, message, "span.offset")
        place = (len(units[: 2 * at].decode("utf-16-le", "ignore")) for at in (own.begin, own.end))
        label = own.topic or own.label or own.value or own.type.rpartition(".")[2]
        record = _Record(gold, topics, {"doc": str(doc), "text": text}, "", line, path)
        record.add([str(label)], path, *place)
    yield from topics.values()
