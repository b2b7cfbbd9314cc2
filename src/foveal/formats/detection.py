"""Kinds of files and uncommon formats, recognised by their first lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from foveal.errors import InputError
from foveal.files.source import Source, first_lines, is_xml

__all__ = [
    "JSON_FORMATS",
    "LINE_FORMS",
    "MAGIC",
    "ROOTS",
    "describe_missing_line",
    "expect",
    "found_kind",
    "has_trailing_text",
    "is_genomics_gold",
    "is_genomics_run",
]

MAGIC = (b"PAR1", b"ARROW1")
"""How Parquet and Arrow files begin."""
ROOTS = {"run": "inex-submission", "judgements": "assessments"}
"""The root elements of INEX XML."""
JSON_FORMATS: dict[str, tuple[str, ...]] = {
    "run": ("foveal-run", "focused-run"),
    "judgements": ("foveal-judgements", "focused-qrels"),
    "topics": ("foveal-topics",),
    "pool": ("foveal-pool",),
}
"""What headers of JSON Lines call their format."""
LINE_FORMS = {
    "fol run": "topic Q0 doc rank rsv runid start length",
    "elements": "topic Q0 doc rank rsv runid /path[1]/of[1]/element[2]",
    "genomics run": "topic doc rank score start length tag",
    "trec run": "topic Q0 doc rank score runid",
    "trec judgements": "topic iteration doc grade",
    "fol judgements": "topic Q0 doc relchars doclen [bep off:len ...]",
    "genomics gold": "topic<TAB>doc<TAB>start<TAB>length<TAB>aspects",
}
"""The fields of a line, for messages."""

_TOPIC_ROOTS = ("top", "topic", "topics")
_PASSAGE = re.compile(rb"\d+:\d+$")
_ASKS = {"title", "query", "castitle", "description"}
_ANSWERS = {"start", "end", "xpath", "bep", "rank", "score", "text", "spans", "elements", "quote"}
_SENTENCES = {
    "run": "this is a run",
    "judgements": "these are judgements",
    "topics": "these are topics",
    "pool": "this is a pool",
    "results": "these are saved results, as 'foveal evaluate -f json' writes them",
}
_SAVED = re.compile(rb'\s*\{\s*"meta"\s*:')
_NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_PLACE = re.compile(rb"^[-+]?[0-9]+(:[0-9]+)?$|^X$|^/|\[[0-9]+\]")
"""A part of a document: offsets, an unresolved offset, XPaths."""
_ITERATIONS = (b"Q0", b"0", b"1")
"""The second field of the line formats other than TREC Genomics."""
_PASSAGE_OR_PATH = re.compile(rb"/|[0-9]+:[0-9]+$")
"""The last field of INEX judgements and element runs."""


def describe_missing_line(source: Source, what: str) -> InputError:
    """Return the error of a file without a line of data, or that begins with a bracket."""
    number, _ = source.head
    if not number:
        verb = "is" if what == "run" else "are"
        return source.error(
            "unclassified", None, f"the {what} {verb} empty: the file holds no line of data"
        )
    return source.error(
        "unclassified",
        number,
        "a JSON array that is too large or holds no objects; expected JSON Lines, one object "
        "per line (jq -c '.[]' FILE writes them)",
    )


def has_trailing_text(fields: Sequence[bytes]) -> bool:
    """Return True if text that is not a place of a passage or element follows the six fields.

    >>> has_trailing_text(b"301 Q0 FR94 1 2.1 ours a comment".split())
    True
    >>> has_trailing_text(b"301 Q0 FR94 1 2.1 ours 20 15".split())
    False
    """
    if len(fields) <= 6 or not _NUMBER.fullmatch(fields[4]):
        return False
    # Passages have eight fields, elements seven.
    return not any(map(_PLACE.search, fields[6:8] if len(fields) <= 8 else fields[6:7]))


def is_genomics_run(fields: Sequence[bytes]) -> bool:
    """Return True for the fields of a line of a TREC Genomics run, with its tag or without.

    >>> is_genomics_run(b"200 12595615 1 48.63 28426 295 ours".split())
    True
    >>> is_genomics_run(b"301 Q0 12595615 1 48.63 295".split())
    False
    """
    if len(fields) not in {6, 7} or fields[1].upper() in _ITERATIONS:
        return False
    if _PASSAGE_OR_PATH.match(fields[-1]):
        return False
    return all(fields[at].isdigit() for at in (2, 4, 5))


def is_genomics_gold(source: Source) -> bool:
    """Return True if the first line has five fields between tabs: start, length, no number.

    Judgements of INEX may have five fields, too, the last of them a length.
    """
    number, first = source.head
    if b"\t" not in first:
        return False
    # The aspects may be empty, so the line must keep its last tab.
    line = source.data.split(b"\n", number)[number - 1]
    fields = [field.strip() for field in line.split(b"\t")]
    numbers = [field.isdigit() for field in fields]
    return numbers[2:] == [True, True, False] and fields[1] != b"Q0"


def found_kind(source: Source) -> str | None:
    """Return ``run``, ``judgements``, ``topics``, ``pool``, ``results`` or None (not recognised).

    >>> found_kind(Source.of_text("<topic id='1'><title>yoga</title></topic>"))
    'topics'
    """
    if source.data.startswith(MAGIC):
        return "run"
    if is_xml(source):
        from foveal.formats.markup import root_tag

        tag = root_tag(source)
        is_topics = tag in _TOPIC_ROOTS or tag.startswith("inex-topic")
        kinds = {root: kind for kind, root in ROOTS.items()}
        return kinds.get(tag, "topics" if is_topics else None)
    number, first = source.head
    if _SAVED.match(source.data):
        return "results"
    if first.startswith(b"{"):
        from foveal.formats.objects import header_of, loads

        header, header_line = header_of(source)
        for kind, formats in JSON_FORMATS.items():
            if header.get("format") in formats:
                return kind
        objects = first_lines(source.data, 2)[1 if header_line else 0 :]
        try:
            example = loads(objects[0][1]) if objects else None
        except ValueError:
            return None
        if not isinstance(example, dict):
            return None
        if _ASKS & example.keys() and not _ANSWERS & example.keys():
            return "topics"
        return "judgements" if {"spans", "elements", "quote"} & example.keys() else "run"
    if is_genomics_gold(source):
        return "judgements"
    if not number:
        return None
    # By the number of fields; judged passages end in ``offset:length``.
    fields = first.split()
    if has_trailing_text(fields):
        return "run"
    if len(fields) in {4, 5} or (len(fields) > 6 and _PASSAGE.match(fields[-1])):
        return "judgements"
    return "run" if len(fields) in {6, 7, 8} else None


def expect(source: Source, kind: str) -> None:
    """Refuse XML and JSON Lines of another kind, and XML with an unknown root element."""
    found = found_kind(source)
    if found is None and kind in ROOTS and is_xml(source):
        from foveal.formats.markup import root_tag

        message = f"root element <{root_tag(source)}>; expected <{ROOTS[kind]}>"
        raise source.error("unclassified", source.head[0], message)
    if found not in {None, kind}:
        what = "a run" if kind == "run" else kind
        raise source.error(
            "unclassified", source.head[0], f"{_SENTENCES[str(found)]}; expected {what}"
        )
