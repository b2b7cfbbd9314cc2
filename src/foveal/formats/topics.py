"""Topics: INEX XML of all years, JSON Lines, and the SGML of TREC."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source, is_xml, list_files
from foveal.formats.base import JSON_FORMATS, detect_format
from foveal.formats.checks import Defects, check_names
from foveal.formats.markup import (
    BLANKS,
    Markup,
    escape_xml,
    escape_xml_lines,
    find_unfit,
    read_markup,
    root_tag,
)
from foveal.formats.objects import header_of, read_objects, unknown_fields
from foveal.model import Topic, Topics
from foveal.spans import Ints

__all__ = ["JSON_FORMAT", "TOPIC_FORMATS", "read_json", "read_topics", "read_xml"]

JSON_FORMAT = JSON_FORMATS["topics"][0]

_TEXTS = ("title", "castitle", "description", "narrative", "keywords", "phrasetitle", "parent")
_ELEMENTS = {name: (name,) for name in _TEXTS} | {"keywords": ("keywords", "ontopic-keywords")}
_DECLARED = ("query_type", "ct_no")
_TREC = {
    "num": ("id", "Number:", r"Number\s*:"),
    "title": ("title", "", r"Topic\s*:"),
    "desc": ("description", "Description:", r"Description\s*:"),
    "narr": ("narrative", "Narrative:", r"Narrative\s*:"),
    "con": ("keywords", "Concepts:", r"Concept(?:s|\(s\))?\s*:"),
}
"""Tag to field, the label written after the tag, and how the label is recognised."""

_TOP = re.compile(r"<top>(.*?)(?:</top>|(?=<top>)|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(
    r"<(/?)(top|num|title|desc|narr|con|head|dom|smry|fac|def|nat|time)>", re.IGNORECASE
)


def read_topics(
    paths: str | Path | Source | Sequence[str | Path | Source], *, thorough: bool = False
) -> Topics:
    """Read topics of any format; several files, a directory or a pattern become one set.

    With `thorough`, fields that are not known are counted in `Topics.unread`.
    """
    parts = []
    for path in list_files(paths, "topics"):
        source = path if isinstance(path, Source) else Source.open(path, thorough=thorough)
        source = source.in_lines()
        number, first = source.head
        if not is_xml(source) and first[:1] not in (b"", b"[", b"{"):
            message = "these are no topics; expected INEX XML, TREC or JSON Lines"
            raise source.error("unclassified", number, message)
        parts.append(detect_format(source, "topics").parse(source).checked())
    return Topics.merged(parts)


def read_xml(source: Source) -> Topics:
    """Topics in mark-up: INEX files of one or many topics, or TREC's."""
    if root_tag(source) == "top":
        return _read_trec(source)
    markup = read_markup(source)
    found = markup.named("topic", "inex-topic")
    found = found[~_within(markup, found)]
    if not len(found):
        raise source.error(
            "unclassified",
            int(markup.line[0]),
            f"no topic in <{markup.tags[0]}>; expected <inex_topic> or <topic> elements",
        )
    ids = markup.values(found, "topic-id", "id")
    columns = {name: _elements(markup, found, tags) for name, tags in _ELEMENTS.items()}
    columns |= {name: markup.values(found, name.replace("_", "-")) for name in _DECLARED}
    missing = 'topic without an id; expected <inex_topic topic_id="..."> or <topic id="...">'
    return _topics(source, markup.line[found], ids, columns, missing)


def _within(markup: Markup, found: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of these elements lie inside an earlier one."""
    reach = np.maximum.accumulate(markup.closing[found]) if len(found) else found
    return np.concatenate([[False], markup.closed[found[1:]] <= reach[:-1]])[: len(found)]


def _elements(markup: Markup, topics: Ints, tags: tuple[str, ...]) -> list[str | None]:
    """The text of each topic's child of one of these tags."""
    children = markup.named(*tags)
    owner = markup.owner(topics, children)
    direct = (owner >= 0) & (markup.depth[children] == markup.depth[topics[owner]] + 1)
    children, owner = children[direct], owner[direct]
    again = np.flatnonzero(owner[1:] == owner[:-1]) + 1
    defects = Defects(markup.source, markup.line[children])
    defects.raise_if([*defects.at("unclassified", again, f"a second <{tags[0]}> in one topic")])
    column: list[str | None] = [None] * len(topics)
    texts = markup.texts(children)
    for i, child, text in zip(owner.tolist(), children.tolist(), texts, strict=True):
        column[i] = _title(markup, child, text) if tags[0] == "title" else text
    return column


def _title(markup: Markup, number: int, text: str) -> str:
    """The title; in 2002 its mark-up is the query: <te>, <cw>, <ce>."""
    closing, inside = int(markup.closing[number]), number + 1
    parts = []
    while inside < len(markup.tags) and markup.closed[inside] <= closing:
        (own,) = markup.texts(np.array([inside]))
        parts.append(f"<{markup.tags[inside]}>{own.strip(BLANKS)}</{markup.tags[inside]}>")
        inside += 1
    return " ".join(parts) or text


def read_json(source: Source) -> Topics:
    """Topics as objects, ``{"topic": ..., "title": ...}``; ``query`` is another name of title."""
    header, header_line = header_of(source)
    if header.get("format", JSON_FORMAT) != JSON_FORMAT:
        raise source.error(
            "unclassified",
            header_line,
            f"header says format {header['format']!r}; expected {JSON_FORMAT}",
        )
    names = ("topic", "query", *_TEXTS, *_DECLARED)
    table = read_objects(source, dict.fromkeys(names, pl.String), header_line)
    frame = table.frame.with_columns(title=pl.coalesce("title", "query"))
    columns: dict[str, list[str | None]] = {
        name: frame[name].to_list() for name in (*_TEXTS, *_DECLARED)
    }
    found = _topics(source, table.line, frame["topic"].to_list(), columns, "topic is missing")
    return replace(found, unread=unknown_fields(source, table.frame, header_line) or None)


def _read_trec(source: Source) -> Topics:
    source.check_utf8()
    text = source.data.decode()
    tops = list(_TOP.finditer(text))
    line = np.array([text.count("\n", 0, top.start()) + 1 for top in tops], dtype=np.int64)
    defects = Defects(source, line)
    records = []
    problems: list[Problem] = []
    for i, top in enumerate(tops):
        record, twice = _trec_fields(top[1])
        problems += defects.at(
            "unclassified", np.array([i] if twice else []), f"a second <{twice}> in one topic"
        )
        records.append(record)
    defects.raise_if(problems)
    columns = {name: [record.get(name) for record in records] for name in (*_TEXTS, *_DECLARED)}
    ids = [record.get("id") for record in records]
    return _topics(source, line, ids, columns, "topic without a number; expected <num> Number: ...")


def _trec_fields(body: str) -> tuple[dict[str, str], str | None]:
    """The fields of a topic, whose tags need not be closed; and a tag that comes twice."""
    tags = list(_TAG.finditer(body))
    record: dict[str, str] = {}
    for tag, following in itertools.zip_longest(tags, tags[1:]):
        name = tag[2].lower()
        if tag[1] or name not in _TREC:
            continue
        field, _, label = _TREC[name]
        if field in record:
            return record, name
        value = body[tag.end() : following.start() if following else None].strip(BLANKS)
        record[field] = re.sub(f"^{label}", "", value, flags=re.IGNORECASE)
    return record, None


def _topics(
    source: Source,
    line: Ints,
    ids: list[str | None],
    columns: Mapping[str, list[str | None]],
    missing: str,
) -> Topics:
    """Topics from columns; empty texts are none."""
    names = pl.Series([_clean(name) for name in ids], dtype=pl.String)
    defects = Defects(source, line)
    problems = [*defects.at("unclassified", names.is_null().to_numpy(), missing)]
    problems += check_names(defects, names.fill_null(""))
    defects.raise_if(problems)
    if not len(names):
        raise source.error("unclassified", None, "the topics are empty: the file holds no topic")
    rows = zip(*columns.values(), strict=True)
    return Topics.of(
        (
            Topic(name, **dict(zip(columns, map(_clean, row), strict=True)))
            for name, row in zip(names, rows, strict=True)
        ),
        line=line.tolist(),
        source=source.provenance,
    )


def _clean(text: str | None) -> str | None:
    return (text or "").strip(BLANKS) or None


def _write_xml(topics: Topics) -> str:
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<inex-topic-file>\n']
    for topic, record in zip(topics, _records(topics), strict=True):
        bad = find_unfit([value for value in record.values() if value is not None])
        if bad is not None:
            raise _unheld(topics, topic, bad, "XML")
        declared = [("id", topic.id), ("ct_no", topic.ct_no), ("query_type", topic.query_type)]
        attributes = "".join(
            f' {name}="{escape_xml(value)}"' for name, value in declared if value is not None
        )
        texts = [
            f"  <{name}>{escape_xml_lines(value)}</{name}>\n"
            for name in _TEXTS
            if (value := record[name]) is not None
        ]
        parts += [f"<topic{attributes}>\n", *texts, "</topic>\n"]
    return "".join([*parts, "</inex-topic-file>\n"])


def _write_json(topics: Topics) -> str:
    lines = [json.dumps({"type": "header", "format": JSON_FORMAT, "version": 1})]
    for record in _records(topics):
        named = {"topic": record.pop("id"), **record}
        kept = {name: value for name, value in named.items() if value is not None}
        lines.append(json.dumps(kept, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def _write_trec(topics: Topics) -> str:
    """What TREC has a field for: number, title, description, narrative, keywords."""
    parts = []
    for topic, record in zip(topics, _records(topics), strict=True):
        parts.append("<top>\n")
        for tag, (name, label, pattern) in _TREC.items():
            value = record[name]
            if value is None:
                continue
            if _TAG.search(value) or "\ufeff" in value:
                raise _unheld(topics, topic, value, "TREC topics")
            if not label and re.match(pattern, value, flags=re.IGNORECASE):
                label = "Topic:"  # noqa: PLW2901 - else it would be taken for one
            parts.append(f"<{tag}> {label}{' ' if label else ''}{value}\n")
        parts.append("</top>\n\n")
    return "".join(parts)


def _records(topics: Topics) -> list[dict[str, str | None]]:
    """The topics as mappings, without blanks around their texts."""
    return [
        {name: value if name == "id" else _clean(value) for name, value in asdict(topic).items()}
        for topic in topics
    ]


def _unheld(topics: Topics, topic: Topic, value: str, form: str) -> InputError:
    message = f"topic {topic.id!r}: {value!r} cannot be written as {form}; JSON Lines can hold it"
    return InputError([topics.problem("unclassified", topics.ids.index(topic.id), message)])


TOPIC_FORMATS: dict[str, Callable[[Topics], str]] = {
    "inex": _write_xml,
    "jsonl": _write_json,
    "trec": _write_trec,
}
"""Name of a topic format and what writes it."""
