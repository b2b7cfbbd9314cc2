"""Records of formats whose modules do not declare them yet."""

from __future__ import annotations

from typing import Any

from foveal.errors import InputError
from foveal.files.source import Source, is_xml
from foveal.formats.base import Format, json_kind, lazy_losses, parse_with
from foveal.model import Topics

__all__ = ["FORMATS"]


def _root(source: Source) -> str:
    """Return the tag of the root element; nothing if the file is not XML."""
    from foveal.formats.markup import root_tag

    try:
        return root_tag(source) if is_xml(source) else ""
    except InputError:
        return ""


def _is_topics(source: Source) -> bool:
    tag = _root(source)
    return tag in ("topic", "topics") or tag.startswith("inex-topic")


def _read_topics(source: Source) -> Topics:
    from foveal.formats.topics import read_json, read_xml

    return (read_xml if is_xml(source) else read_json)(source)


def _write_topics(name: str) -> Any:
    def write(topics: Topics) -> str:
        from foveal.formats.topics import TOPIC_FORMATS

        return TOPIC_FORMATS[name](topics)

    return write


def _read_pool(source: Source) -> Any:
    from foveal.formats.pools import read_pool

    return read_pool(source)


def _read_results(source: Source) -> Any:
    from foveal.formats.results import read_results

    return read_results(source.path)


FORMATS = (
    Format(
        "inex",
        "topics",
        "INEX XML topics of all years.",
        "",
        _is_topics,
        parse_with(_read_topics),
        _write_topics("inex"),
        lazy_losses("topic_losses", form="inex"),
    ),
    Format(
        "jsonl",
        "topics",
        "JSON Lines topics, one object per topic.",
        '{"topic": "1", "title": "river crossings"}\n',
        lambda source: json_kind(source) == "topics",
        parse_with(_read_topics),
        _write_topics("jsonl"),
        lazy_losses("topic_losses", form="jsonl"),
    ),
    Format(
        "trec",
        "topics",
        "TREC topics in SGML.",
        "",
        lambda source: _root(source) == "top",
        parse_with(_read_topics),
        _write_topics("trec"),
        lazy_losses("topic_losses", form="trec"),
    ),
    Format(
        "jsonl",
        "pool",
        "Pools of documents or spans to assess.",
        "",
        lambda source: json_kind(source) == "pool",
        parse_with(_read_pool),
    ),
    Format(
        "json",
        "results",
        "Results as ``foveal evaluate -f json`` saves them.",
        "",
        lambda source: json_kind(source) == "results",
        parse_with(_read_results),
    ),
)
