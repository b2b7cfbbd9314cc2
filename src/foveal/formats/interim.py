"""Records of formats whose modules do not declare them yet."""

from __future__ import annotations

from typing import Any

from foveal.files.source import Source
from foveal.formats.base import Format, json_kind, parse_with

__all__ = ["FORMATS"]


def _read_pool(source: Source) -> Any:
    from foveal.formats.pools import read_pool

    return read_pool(source)


def _read_results(source: Source) -> Any:
    from foveal.formats.results import read_results

    return read_results(source.path)


FORMATS = (
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
