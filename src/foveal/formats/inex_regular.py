"""Submissions as nearly all programs write them, read without a call for every element.

Expat checks that the file is well-formed, and one pattern must then cover the topics to the last
character. Whatever else a submission may hold is left to the general reader.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from foveal.files.source import Source
from foveal.formats.markup import BLANKS, Markup, check_markup, read_markup
from foveal.spans import Ints

__all__ = ["Results", "declared", "regular_results"]

_TEXT, _VALUE, _GAP = r"([^<&\r]*)", r"([^\"<&\t\r\n]*)", r"[ \t\r\n]*"
_ITEM = re.compile(
    rf"(?:<topic topic-id=\"{_VALUE}\">|(</topic>)|<result>{_GAP}<file>{_TEXT}</file>{_GAP}"
    rf"(?:<path>{_TEXT}</path>|<passage start=\"{_VALUE}\" end=\"{_VALUE}\" ?/>){_GAP}"
    rf"(?:<rank>{_TEXT}</rank>{_GAP})?(?:<rsv>{_TEXT}</rsv>{_GAP})?</result>){_GAP}"
)
_DECLARATION = re.compile(rb"<\?xml[^>]*\bencoding=[\"'](?!utf-?8[\"'])", re.IGNORECASE)
_DOCTYPE = re.compile(rb"<!DOCTYPE\s[^<\[>]*>")
_HEAD = 1 << 14
_ANSWER = re.compile(r"<(?:result|topic(?![-_]))", re.IGNORECASE)
_END = "</inex-submission>"
_CLOSING = re.compile(rf"{_END}{_GAP}")
_FIELDS = ("name", "closing", "doc", "path", "start", "end", "rank", "score")


class Results(NamedTuple):
    """What a submission says of itself, and its results as texts with their lines.

    The columns are topic, doc, path, passage (two paths), rank and score.
    """

    header: dict[str, Any]
    frame: pl.DataFrame
    line: Ints


def declared(markup: Markup) -> dict[str, Any]:
    """What a submission says of itself: the attributes of its root, and what is not a topic.

    >>> text = '<s task="CO"><topic-fields title="yes"/><description> ours </description></s>'
    >>> declared(read_markup(Source.of_text(text)))
    {'task': 'CO', 'topic-fields': {'title': 'yes'}, 'description': 'ours'}
    """
    header: dict[str, Any] = dict(markup.attributes.get(0, {}))
    fields, about, collections = (
        numbers[markup.depth[numbers] == depth]
        for tag, depth in (("topic-fields", 1), ("description", 1), ("collection", 2))
        for numbers in [markup.named(tag)]
    )
    if len(fields):
        header["topic-fields"] = markup.attributes.get(int(fields[0]), {})
    if len(about):
        header["description"] = markup.texts(about)[0].strip(BLANKS)
    if len(collections):
        header["collections"] = [text.strip(BLANKS) for text in markup.texts(collections)]
    return header


def regular_results(source: Source) -> Results | None:
    """The results of a regular submission, None if it is not one."""
    if _has_more(source.data):
        return None
    check_markup(source)
    try:
        text = source.data.decode()
    except UnicodeDecodeError:  # the parser knows the declared encoding
        return None
    first = text.find("<topic ")
    rows = None if first < 0 or _ANSWER.search(text[:first]) else _rows(text, first)
    if rows is None:
        return None
    # Before the first topic only the root is open.
    header = declared(read_markup(Source.of_text(text[:first] + _END)))
    topics, line, values = rows
    fields = [*zip(*values, strict=True)] or [()] * len(_FIELDS)
    columns = dict(zip(_FIELDS, fields, strict=True))
    frame = pl.DataFrame(
        {"topic": topics, **columns}, schema=dict.fromkeys(("topic", *_FIELDS), pl.String)
    )
    passage = pl.format("{} {}", "start", "end").alias("passage")
    return Results(
        header,
        frame.select("topic", "doc", "path", passage, "rank", "score"),
        np.array(line, dtype=np.int64),
    )


def _has_more(data: bytes) -> bool:
    """Entities, comments, a DTD, instructions, other encodings or line ends."""
    return (
        not data.startswith(b"<")
        or b"&" in data
        or data.count(b"<!") > len(_DOCTYPE.findall(data[:_HEAD]))
        or data.find(b"<?", 1) > 0
        or data.count(b"\r") != data.count(b"\r\n")
        or _DECLARATION.match(data) is not None
    )


def _rows(
    text: str, first: int
) -> tuple[list[str], list[int], list[tuple[str | None, ...]]] | None:
    """Topic, line and fields of each result, if items of the pattern are all there is."""
    topics: list[str] = []
    lines: list[int] = []
    values: list[tuple[str | None, ...]] = []
    topic: str | None = None
    at, line = first, text.count("\n", 0, first) + 1
    for item in _ITEM.finditer(text, first):
        start, end = item.span()
        if start != at:
            return None
        found = item.groups()
        if found[0] is not None:
            if topic is not None or not found[0]:
                return None
            topic = found[0]
        elif topic is None:
            return None
        elif found[1] is not None:
            topic = None
        else:
            topics.append(topic)
            lines.append(line)
            values.append(found)
        line += text.count("\n", at, end)
        at = end
    return (topics, lines, values) if _CLOSING.fullmatch(text, at) else None
