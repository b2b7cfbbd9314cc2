"""Records of formats whose modules do not declare them yet."""

from __future__ import annotations

from typing import Any

from foveal.errors import InputError
from foveal.formats.base import Format, json_kind, lazy_losses, parse_with
from foveal.formats.source import Source, is_xml
from foveal.model import Run, Topics

__all__ = ["FORMATS"]


def _root(source: Source) -> str:
    """Return the tag of the root element; nothing if the file is not XML."""
    from foveal.formats.markup import root_tag

    try:
        return root_tag(source) if is_xml(source) else ""
    except InputError:
        return ""


def _read_inex_run(source: Source) -> Run:
    from foveal.formats.inex_runs import read_run

    return read_run(source)


def _write_inex_run(run: Run) -> str:
    from foveal.formats.inex_runs import write_run

    return write_run(run)


def _read_assessments(source: Source) -> Any:
    from foveal.formats.inex_assessments import read_judgements

    return read_judgements(source)


def _write_folder(name: str) -> Any:
    def write(judgements: Any) -> dict[str, str]:
        from foveal.formats.inex_pools import FOLDER_FORMATS

        return FOLDER_FORMATS[name](judgements)

    return write


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
        "run",
        "INEX XML submissions, 2002 to 2006.",
        "",
        lambda source: _root(source) == "inex-submission",
        parse_with(_read_inex_run),
        _write_inex_run,
        lazy_losses("run_losses", keeps="results offsets xpaths task header name"),
    ),
    Format(
        "inex",
        "judgements",
        "INEX XML assessments, 2002 to 2007.",
        "",
        lambda source: _root(source) == "assessments",
        parse_with(_read_assessments),
    ),
    *(
        Format(
            f"inex{year}",
            "judgements",
            f"INEX XML assessments on the scale of {year}, a file for each pool.",
            "",
            lambda _: False,
            parse_with(_read_assessments),
            _write_folder(f"inex{year}"),
            lazy_losses("judgement_losses", form=f"inex{year}"),
        )
        for year in (2002, 2003, 2005, 2006)
    ),
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
