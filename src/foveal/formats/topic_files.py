"""Topics: INEX XML of all years, JSON Lines, and the SGML of TREC."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source, is_xml, list_files
from foveal.formats.base import (
    JSON_FORMATS,
    Format,
    Parsed,
    detect_format,
    found_kind,
    json_kind,
    lazy_losses,
)
from foveal.formats.checks import Defects, check_names
from foveal.formats.markup import (
    BLANKS,
    escape_xml,
    escape_xml_lines,
    find_root,
    find_unfit,
    read_markup,
)
from foveal.formats.objects import header_of, read_objects, unknown_fields
from foveal.model import Topic, Topics
from foveal.spans import Ints

__all__ = ["FORMATS", "read_topics"]

_JSON_FORMAT = JSON_FORMATS["topics"][0]

_TEXTS = ("title", "castitle", "description", "narrative", "keywords", "phrasetitle", "parent")
_DECLARED = ("query_type", "ct_no")
_TREC = {
    "num": ("id", "Number:", r"Number\s*:"),
    "title": ("title", "", r"Topic\s*:"),
    "desc": ("description", "Description:", r"Description\s*:"),
    "narr": ("narrative", "Narrative:", r"Narrative\s*:"),
    "con": ("keywords", "Concepts:", r"Concept(?:s|\(s\))?\s*:"),
}
"""Tag to field, the label written after the tag, and the pattern of the label."""
_TOP = re.compile(r"<top>(.*?)(?:</top>|(?=<top>)|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(
    r"<(/?)(top|num|title|desc|narr|con|head|dom|smry|fac|def|nat|time)>", re.IGNORECASE
)


def read_topics(
    paths: str | Path | Source | Sequence[str | Path | Source], *, thorough: bool = False
) -> Topics:
    """Read topics of any format; several files, a directory or a pattern become one set.

    With `thorough`, unknown fields are counted in `Topics.unread`.
    """
    parts = []
    for path in list_files(paths, "topics"):
        source = path if isinstance(path, Source) else Source.open(path, thorough=thorough)
        source = source.in_lines()
        number, first = source.head
        if number and not is_xml(source) and not first.startswith((b"{", b"[")):
            message = "these are no topics; expected INEX XML, TREC or JSON Lines"
            raise source.error("topics.format", number, message)
        if is_xml(source) and found_kind(source) is None:
            form = FORMATS[0]  # its parser names the unknown root, or what is wrong before it
        else:
            form = detect_format(source, "topics")
        parts.append(form.parse(source).checked())
    return Topics.merged(parts)


def _make_topics(
    source: Source,
    line: Ints,
    ids: Sequence[str | None],
    columns: Mapping[str, Sequence[str | None]],
    missing: str,
    problems: list[Problem],
) -> Parsed:
    """Return topics from columns, without those on the lines of problems; empty texts are none.

    `missing` is the message about a topic without an id.
    """
    names = pl.Series([_clean(name) for name in ids], dtype=pl.String)
    defects = Defects(source, line)
    problems += defects.at("topic.missing", names.is_null().to_numpy(), missing)
    problems += check_names(defects, names.fill_null(""))
    bad = {problem.line for problem in problems}
    topics: dict[str, Topic] = {}
    lines: dict[str, int] = {}
    for at, name, *row in zip(line.tolist(), names.to_list(), *columns.values(), strict=True):
        if name in topics:
            message = f"topic {name!r} is already given on line {lines[name]}"
            problems.append(Problem("topics.repeated", source.path, at, message))
        elif name is not None and at not in bad:
            fields = dict(zip(columns, map(_clean, row), strict=True))
            topics[name], lines[name] = Topic(name, **fields), at
    if not topics:
        message = "the topics are empty: the file holds no topic"
        return Parsed(None, problems or [Problem("topics.empty", source.path, None, message)])
    found = Topics.of(topics.values(), line=[*lines.values()], source=source.provenance)
    return Parsed(found, problems)


def _clean(text: str | None) -> str | None:
    return (text or "").strip(BLANKS) or None


def parse_xml(source: Source) -> Parsed:
    """Parse INEX files of one or many topics."""
    try:
        markup = read_markup(source)
    except InputError as error:
        return Parsed(None, [*error.problems])
    topics = markup.named("topic", "inex-topic")
    if len(topics):  # not those inside an earlier one
        reach = np.maximum.accumulate(markup.closing[topics])
        topics = topics[np.append([True], markup.closed[topics[1:]] > reach[:-1])]
    else:
        message = f"no topic in <{markup.tags[0]}>; expected <inex_topic> or <topic> elements"
        return Parsed(None, [Problem("topics.empty", source.path, int(markup.line[0]), message)])
    problems: list[Problem] = []
    columns: dict[str, list[str | None]] = {}
    bad = np.zeros(len(topics), dtype=bool)
    for name in _TEXTS:
        children = markup.named(name, *(("ontopic-keywords",) if name == "keywords" else ()))
        owner = markup.owner(topics, children)
        direct = (owner >= 0) & (markup.depth[children] == markup.depth[topics[owner]] + 1)
        children, owner = children[direct], owner[direct]
        again = np.flatnonzero(owner[1:] == owner[:-1]) + 1
        bad[owner[again]] = True
        defects = Defects(source, markup.line[children])
        problems += defects.at("topics.repeated_field", again, f"a second <{name}> in one topic")
        columns[name] = [None] * len(topics)
        for i, child, text in zip(owner, children, markup.texts(children), strict=True):
            query = ""
            if name == "title":  # in 2002 its mark-up is the query: <te>, <cw>, <ce>
                after = np.searchsorted(markup.closed, markup.closing[child], side="right")
                inside = np.arange(child + 1, after)
                parts = zip(inside, markup.texts(inside), strict=True)
                query = " ".join(
                    f"<{markup.tags[k]}>{own.strip(BLANKS)}</{markup.tags[k]}>" for k, own in parts
                )
            columns[name][i] = query or text
    columns |= {name: markup.values(topics, name.replace("_", "-")) for name in _DECLARED}
    ids = markup.values(topics, "topic-id", "id")
    missing = 'topic without an id; expected <inex_topic topic_id="..."> or <topic id="...">'
    keep = np.flatnonzero(~bad)
    kept = {name: [column[i] for i in keep] for name, column in columns.items()}
    line = markup.line[topics][keep]
    return _make_topics(source, line, [ids[i] for i in keep], kept, missing, problems)


def parse_json(source: Source) -> Parsed:
    """Parse objects, ``{"topic": ..., "title": ...}``; ``query`` is another name of title."""
    header, header_line = header_of(source)
    if header.get("format", _JSON_FORMAT) != _JSON_FORMAT:
        message = f"header says format {header['format']!r}; expected {_JSON_FORMAT}"
        return Parsed(None, [Problem("json.header", source.path, header_line, message)])
    names = ("topic", "query", *_TEXTS, *_DECLARED)
    try:
        table = read_objects(source, dict.fromkeys(names, pl.String), header_line)
    except InputError as error:
        return Parsed(None, [*error.problems])
    frame = table.frame.with_columns(title=pl.coalesce("title", "query"))
    columns = {name: frame[name].to_list() for name in (*_TEXTS, *_DECLARED)}
    ids = frame["topic"].to_list()
    found = _make_topics(source, table.line, ids, columns, "topic is missing", [])
    if found.content is None:
        return found
    unread = unknown_fields(source, table.frame, header_line) if source.thorough else None
    return found._replace(content=replace(found.content, unread=unread or None))


def parse_trec(source: Source) -> Parsed:
    """Parse the topics of TREC, whose tags need not be closed."""
    try:
        source.check_utf8()
    except InputError as error:
        return Parsed(None, [*error.problems])
    text, problems = source.data.decode(), list[Problem]()
    records: list[dict[str, str]] = []
    lines: list[int] = []
    for top in _TOP.finditer(text):
        lines.append(text.count("\n", 0, top.start()) + 1)
        records.append({})
        tags = list(_TAG.finditer(top[1]))
        for tag, following in itertools.zip_longest(tags, tags[1:]):
            name = tag[2].lower()
            if tag[1] or name not in _TREC:
                continue
            field, _, label = _TREC[name]
            if field in records[-1]:
                message = f"a second <{name}> in one topic"
                problems.append(Problem("topics.repeated_field", source.path, lines[-1], message))
                break
            value = top[1][tag.end() : following.start() if following else None].strip(BLANKS)
            records[-1][field] = re.sub(f"^{label}", "", value, flags=re.IGNORECASE)
    columns = {name: [record.get(name) for record in records] for name in (*_TEXTS, *_DECLARED)}
    ids = [record.get("id") for record in records]
    missing = "topic without a number; expected <num> Number: ..."
    line = np.array(lines, dtype=np.int64)
    return _make_topics(source, line, ids, columns, missing, problems)


# -- writing ---------------------------------------------------------------------------------------


def _list_records(topics: Topics) -> list[dict[str, str | None]]:
    """Return the topics as mappings, without blanks around their texts."""
    return [
        {name: value if name == "id" else _clean(value) for name, value in asdict(topic).items()}
        for topic in topics
    ]


def _refuse(topics: Topics, at: int, value: str, form: str) -> InputError:
    name = topics.topics[at].id
    message = f"topic {name!r}: {value!r} cannot be written as {form}; JSON Lines can hold it"
    return InputError([topics.problem("write.unfit", at, message)])


def write_xml(topics: Topics) -> str:
    """Write a file of INEX topics."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<inex-topic-file>\n']
    for at, record in enumerate(_list_records(topics)):
        bad = find_unfit([value for value in record.values() if value is not None])
        if bad is not None:
            raise _refuse(topics, at, bad, "XML")
        attributes = "".join(
            f' {name}="{escape_xml(value)}"'
            for name in ("id", "ct_no", "query_type")
            if (value := record[name]) is not None
        )
        texts = [
            f"  <{name}>{escape_xml_lines(value)}</{name}>\n"
            for name in _TEXTS
            if (value := record[name]) is not None
        ]
        parts += [f"<topic{attributes}>\n", *texts, "</topic>\n"]
    return "".join([*parts, "</inex-topic-file>\n"])


def write_json(topics: Topics) -> str:
    """Write JSON Lines, one object per topic."""
    lines = [json.dumps({"type": "header", "format": _JSON_FORMAT, "version": 1})]
    for record in _list_records(topics):
        named = {"topic": record.pop("id"), **record}
        kept = {name: value for name, value in named.items() if value is not None}
        lines.append(json.dumps(kept, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def write_trec(topics: Topics) -> str:
    """Write the fields that TREC has: number, title, description, narrative, keywords."""
    parts = []
    for at, record in enumerate(_list_records(topics)):
        parts.append("<top>\n")
        for tag, (name, label, pattern) in _TREC.items():
            value = record[name]
            if value is None:
                continue
            if _TAG.search(value) or "\ufeff" in value:
                raise _refuse(topics, at, value, "TREC topics")
            if not label and re.match(pattern, value, flags=re.IGNORECASE):
                label = "Topic:"  # noqa: PLW2901 - else the value would be taken for a label
            parts.append(f"<{tag}> {label}{' ' if label else ''}{value}\n")
        parts.append("</top>\n\n")
    return "".join(parts)


# -- formats ---------------------------------------------------------------------------------------


def _is_inex(source: Source) -> bool:
    tag = find_root(source)
    return tag in ("topic", "topics") or tag.startswith("inex-topic")


FORMATS = (
    Format(
        "inex",
        "topics",
        """INEX XML topics of all years, one or many in a file.

Each `<topic id="...">` or `<inex_topic topic_id="...">` holds `<title>`, `<castitle>`,
`<description>`, `<narrative>`, `<keywords>`, `<phrasetitle>` and `<parent>`, all optional.""",
        '<topic id="289">\n<title>river crossings</title>\n</topic>\n',
        _is_inex,
        parse_xml,
        write_xml,
        lazy_losses("topic_losses", form="inex"),
    ),
    Format(
        "jsonl",
        "topics",
        """JSON Lines topics, one object per topic.

`topic` is the id. `title` (or `query`), `castitle`, `description`, `narrative`, `keywords`,
`phrasetitle`, `parent`, `query_type` and `ct_no` are optional.""",
        '{"topic": "1", "title": "river crossings"}\n',
        lambda source: json_kind(source) == "topics",
        parse_json,
        write_json,
        lazy_losses("topic_losses", form="jsonl"),
    ),
    Format(
        "trec",
        "topics",
        """TREC topics in SGML.

Each `<top>` holds `<num> Number:`, `<title>`, `<desc> Description:`, `<narr> Narrative:` and
`<con> Concepts:`. Tags need not be closed.""",
        "<top>\n<num> Number: 401\n<title> river crossings\n</top>\n",
        lambda source: find_root(source) == "top",
        parse_trec,
        write_trec,
        lazy_losses("topic_losses", form="trec"),
    ),
)
