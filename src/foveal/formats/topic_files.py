"""Topics: INEX XML of all years, JSON Lines, and the SGML of TREC."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, replace

import polars as pl

from foveal.errors import InputError, Problem
from foveal.files.source import Source
from foveal.formats import JSON_FORMATS, Format, json_kind, lazy_losses, parse_with
from foveal.formats import markup as xml
from foveal.formats.objects import (
    count_unknown_fields,
    read_header,
    tabulate_objects,
    write_objects,
)
from foveal.formats.rows import RESERVED, raise_problems
from foveal.model import Topic, Topics
from foveal.model.run import ALL

_TEXTS = ("title", "castitle", "description", "narrative", "keywords", "phrasetitle", "parent")
_DECLARED = ("query_type", "ct_no")
_TREC = {  # tag to field, the label written after the tag, and the pattern of the label
    "num": ("id", "Number:", r"Number\s*:"),
    "title": ("title", "", r"Topic\s*:"),
    "desc": ("description", "Description:", r"Description\s*:"),
    "narr": ("narrative", "Narrative:", r"Narrative\s*:"),
    "con": ("keywords", "Concepts:", r"Concept(?:s|\(s\))?\s*:"),
}
_TOP = re.compile(r"<top>(.*?)(?:</top>|(?=<top>)|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(
    r"<(/?)(top|num|title|desc|narr|con|head|dom|smry|fac|def|nat|time)>", re.IGNORECASE
)

_NOT_IN_TREC = ("castitle", "phrasetitle", "parent", *_DECLARED)
Record = dict[str, str | None]  # the fields of a topic, with its id


def _make_topics(
    source: Source, records: Iterable[tuple[int, Record]], problems: list[Problem]
) -> Topics:
    """Return topics from records with their lines; empty texts are none."""
    topics = list[tuple[int, Topic]]()
    for line, record in records:
        fields = {name: (value or "").strip(xml.BLANKS) or None for name, value in record.items()}
        if (name := fields.pop("id")) is None:
            problems.append(Problem("topic.missing", source.path, line, "topic without an id"))
        elif name == ALL:
            problems.append(Problem("topic.reserved", source.path, line, RESERVED))
        topics.append((line, Topic(name or "", **fields)))
    raise_problems(problems)
    if not topics:
        raise source.error("topics.empty", None, "the topics are empty: the file holds none")
    lines, own = zip(*topics, strict=True)
    return Topics.of(own, line=lines, source=source.provenance)


def read_xml(source: Source) -> Topics:
    """Read INEX files of one or many topics."""
    markup, records, problems, end = xml.read_markup(source), list[tuple[int, Record]](), [], 0
    for number in markup.named("topic", "inex-topic").tolist():
        if number < end:
            continue  # inside an earlier one
        end = int(markup.end[number])
        record: Record = {"id": markup.values([number], "topic-id", "id")[0]}
        record |= {name: markup.values([number], name.replace("_", "-"))[0] for name in _DECLARED}
        for child in range(number + 1, end):
            tag = xml.normalise_tag(markup.tags[child])
            name = "keywords" if tag == "ontopic-keywords" else tag
            if name not in _TEXTS or markup.depth[child] != markup.depth[number] + 1:
                continue
            if name in record:
                line, message = int(markup.line[child]), f"a second <{name}> in one topic"
                problems.append(Problem("topics.repeated_field", source.path, line, message))
            inside = range(child + 1, int(markup.end[child])) if name == "title" else ()
            # In 2002 the mark-up of the title is the query: <te>, <cw>, <ce>.
            query = (
                f"<{markup.tags[i]}>{own.strip(xml.BLANKS)}</{markup.tags[i]}>"
                for i, own in zip(inside, markup.texts(inside), strict=True)
            )
            record[name] = " ".join(query) or markup.texts([child])[0]
        records.append((int(markup.line[number]), record))
    return _make_topics(source, records, problems)


def read_json(source: Source) -> Topics:
    """Read objects, ``{"topic": ..., "title": ...}``; ``query`` is another name of title."""
    _, header_line = read_header(source, format=JSON_FORMATS["topics"])
    names = ("topic", "query", *_TEXTS, *_DECLARED)
    frame, problems = tabulate_objects(source, dict.fromkeys(names, pl.String), header_line)
    records = frame.select(
        *_TEXTS[1:], *_DECLARED, id="topic", title=pl.coalesce("title", "query")
    ).to_dicts()
    topics = _make_topics(source, zip(frame["line"], records, strict=True), [*problems])
    return replace(topics, unread=count_unknown_fields(source, names, header_line) or None)


def read_trec(source: Source) -> Topics:
    """Read the topics of TREC, whose tags need not be closed."""
    source.check_utf8()
    text = source.data.decode()
    records, problems = list[tuple[int, Record]](), list[Problem]()
    for top in _TOP.finditer(text):
        line, record = text.count("\n", 0, top.start()) + 1, Record(id=None)
        # The text between tags follows the tag's slash and name.
        parts = _TAG.split(top[1])[1:]
        for slash, tag, value in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            field, _, label = _TREC.get("" if slash else tag.lower(), ("", "", ""))
            if record.get(field) is not None:
                message = f"a second <{tag.lower()}> in one topic"
                problems.append(Problem("topics.repeated_field", source.path, line, message))
            elif field:
                record[field] = re.sub(
                    f"^{label}", "", value.strip(xml.BLANKS), flags=re.IGNORECASE
                )
        records.append((line, record))
    return _make_topics(source, records, problems)


# -- writing ---------------------------------------------------------------------------------------


def _list_records(topics: Topics) -> list[dict[str, str]]:
    """Return the fields that each topic has, without blanks around their texts."""
    return [
        {
            name: value if name == "id" else value.strip(xml.BLANKS)
            for name, value in asdict(topic).items()
            if value and value.strip(xml.BLANKS)
        }
        for topic in topics
    ]


def write_xml(topics: Topics) -> str:
    """Write a file of INEX topics."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<inex-topic-file>\n']
    for at, record in enumerate(_list_records(topics)):
        path = topics.sources[topics.file[at]].path
        xml.refuse_unfit(path, topics.line[at], pl.Series([*record.values()]))
        opened = xml.write_attributes({n: record.get(n) for n in ("id", "ct_no", "query_type")})
        texts = [
            f"  <{name}>{xml.escape_xml_lines(record[name])}</{name}>\n"
            for name in _TEXTS
            if name in record
        ]
        parts += [f"<topic{opened}>\n", *texts, "</topic>\n"]
    return "".join([*parts, "</inex-topic-file>\n"])


def write_json(topics: Topics) -> str:
    """Write JSON Lines, one object per topic."""
    records = ({"topic": record.pop("id"), **record} for record in _list_records(topics))
    return write_objects("topics", {}, records)


def write_trec(topics: Topics) -> str:
    """Write the fields that TREC has: number, title, description, narrative, keywords."""
    parts = []
    for at, record in enumerate(_list_records(topics)):
        parts.append("<top>\n")
        for tag, (name, label, pattern) in _TREC.items():
            value = record.get(name)
            if value is None:
                continue
            if _TAG.search(value) or "\ufeff" in value:
                text = f"{value!r} cannot be written as TREC topics; JSON Lines can hold it"
                raise InputError([topics.problem("write.unfit", at, text)])
            is_labelled = label or re.match(pattern, value, flags=re.IGNORECASE)
            prefix = f"{label or 'Topic:'} " if is_labelled else ""
            parts.append(f"<{tag}> {prefix}{value}\n")
        parts.append("</top>\n\n")
    return "".join(parts)


# -- formats ---------------------------------------------------------------------------------------


FORMATS = (
    Format(
        "inex",
        "topics",
        """INEX XML topics of all years, one or many in a file.

Each `<topic id="...">` or `<inex_topic topic_id="...">` holds `<title>`, `<castitle>`,
`<description>`, `<narrative>`, `<keywords>`, `<phrasetitle>` and `<parent>`, all optional.""",
        '<topic id="289">\n<title>river crossings</title>\n</topic>\n',
        lambda source: re.match("topics?$|inex-topic", xml.find_root(source)) is not None,
        parse_with(read_xml),
        write_xml,
        lazy_losses("topic_losses"),
    ),
    Format(
        "jsonl",
        "topics",
        """JSON Lines topics, one object per topic.

`topic` is the id. `title` (or `query`), `castitle`, `description`, `narrative`, `keywords`,
`phrasetitle`, `parent`, `query_type` and `ct_no` are optional.""",
        '{"topic": "1", "title": "river crossings"}\n',
        lambda source: json_kind(source) == "topics",
        parse_with(read_json),
        write_json,
        lazy_losses("topic_losses"),
    ),
    Format(
        "trec",
        "topics",
        """TREC topics in SGML.

Each `<top>` holds `<num> Number:`, `<title>`, `<desc> Description:`, `<narr> Narrative:` and
`<con> Concepts:`. Tags need not be closed.""",
        "<top>\n<num> Number: 401\n<title> river crossings\n</top>\n",
        lambda source: xml.find_root(source) == "top",
        parse_with(read_trec),
        write_trec,
        lazy_losses("topic_losses", left_out=_NOT_IN_TREC),
    ),
)
