"""What a file holds, told from its content: a run, judgements or topics."""

from __future__ import annotations

import re

from foveal.formats import (
    inex_assessments,
    inex_runs,
    jsonl,
    jsonl_judgements,
    parquet,
    pools,
    topics,
    trec,
    trec_genomics,
)
from foveal.formats.fields import first_lines
from foveal.formats.markup import is_xml, root_tag
from foveal.formats.objects import header_of, loads
from foveal.formats.source import Source

__all__ = ["expect", "found_kind"]

_ROOTS = {inex_runs.ROOT: "run", inex_assessments.ROOT: "judgements"}
_TOPIC_ROOTS = ("top", "topic", "topics")
_PASSAGE = re.compile(rb"\d+:\d+$")
_ASKS = {"title", "query", "castitle", "description"}
_ANSWERS = {"start", "end", "xpath", "bep", "rank", "score", "text", "spans", "elements", "quote"}
_JSON_FORMATS = {
    "run": jsonl.FORMATS,
    "judgements": jsonl_judgements.FORMATS,
    "topics": (topics.JSON_FORMAT,),
    "pool": (pools.FORMAT,),
}
_SENTENCES = {
    "run": "this is a run",
    "judgements": "these are judgements",
    "topics": "these are topics",
    "pool": "this is a pool",
    "results": "these are saved results, as 'foveal evaluate -f json' writes them",
}
_SAVED = re.compile(rb'\s*\{\s*"meta"\s*:')


def found_kind(source: Source) -> str | None:
    """``run``, ``judgements``, ``topics``, ``pool`` or ``results``; None if the content hides it.

    >>> found_kind(Source.of_text("<topic id='1'><title>yoga</title></topic>"))
    'topics'
    """
    if source.data.startswith(parquet.MAGIC):
        return "run"
    if is_xml(source):
        tag = root_tag(source)
        is_topics = tag in _TOPIC_ROOTS or tag.startswith("inex-topic")
        return _ROOTS.get(tag, "topics" if is_topics else None)
    lines = first_lines(source.data)
    if _SAVED.match(source.data):
        return "results"
    if lines and lines[0][1].startswith(b"{"):
        return _json_kind(source)
    if trec_genomics.is_gold(source):
        return "judgements"
    return _line_kind(lines[0][1].split()) if lines else None


def _json_kind(source: Source) -> str | None:
    header, number = header_of(source)
    for kind, formats in _JSON_FORMATS.items():
        if header.get("format") in formats:
            return kind
    objects = first_lines(source.data, 2)[1 if number else 0 :]
    try:
        first = loads(objects[0][1]) if objects else None
    except ValueError:
        first = None
    if not isinstance(first, dict):
        return None
    if _ASKS & set(first) and not _ANSWERS & set(first):
        return "topics"
    return "judgements" if {"spans", "elements", "quote"} & set(first) else "run"


def _line_kind(fields: list[bytes]) -> str | None:
    """By the number of fields; judged passages end in ``offset:length``."""
    if trec.has_trailing_text(fields):
        return "run"
    if len(fields) in {4, 5} or (len(fields) > 6 and _PASSAGE.match(fields[-1])):
        return "judgements"
    return "run" if len(fields) in {6, 7, 8} else None


def expect(source: Source, kind: str, *, root: str | None = None) -> None:
    """Refuse XML and JSON Lines of another kind, and XML with another root element than `root`."""
    found = found_kind(source)
    line = first_lines(source.data)[0][0]
    if found is None and root is not None and is_xml(source):
        raise source.error(line, f"root element <{root_tag(source)}>; expected <{root}>")
    if found not in {None, kind}:
        what = "a run" if kind == "run" else kind
        raise source.error(line, f"{_SENTENCES[str(found)]}; expected {what}")
